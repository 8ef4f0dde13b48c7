"""Tables of what the analysis finds in a heap: one row for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.tables.column import INT32, INT64, TEXT, Column, Table
from ingest.tables.object_tables import row_number

if TYPE_CHECKING:
    from ingest.tables.column import Source


DOMINATOR_TREE = Table(
    "dominator_tree",
    "reachable objects by dominator",
    lambda heap: heap.dominated_count,
    (
        Column(
            "object",
            INT32,
            "row of `objects`",
            lambda heap: heap.dominated,
            is_property=False,
        ),
        Column(
            "dominator",
            INT32,
            "row of `objects`; -1 if no object dominates it",
            lambda heap: heap.dominator,
            is_property=False,
        ),
    ),
    of_nodes=False,
)

TYPE_REFERENCES = Table(
    "type_references",
    "pairs of types whose instances refer to one another",
    lambda heap: len(heap.metrics.pair_count),
    (
        Column(
            "source",
            INT32,
            "row of `types`",
            lambda heap: heap.metrics.pair_source,
            is_property=False,
        ),
        Column(
            "target",
            INT32,
            "row of `types`",
            lambda heap: heap.metrics.pair_target,
            is_property=False,
        ),
        Column(
            "reference_count",
            INT64,
            "number of references",
            lambda heap: heap.metrics.pair_count,
        ),
    ),
    of_nodes=False,
)


def _type_path(name: str) -> Source:
    return lambda heap: heap.type_paths[name]


TYPE_PATHS = Table(
    "type_paths",
    "trees of objects merged by type, the largest groups of each; parents come first",
    lambda heap: len(heap.type_paths),
    (
        Column("path", INT32, "row number, from 0", row_number, is_property=False),
        Column(
            "parent",
            INT32,
            "row of this table; null at the top of a tree",
            _type_path("parent"),
            absent=None,
            is_property=False,
        ),
        Column(
            "type",
            INT32,
            "row of `types`, else null",
            _type_path("type"),
            absent=None,
            is_property=False,
        ),
        Column(
            "tree",
            TEXT,
            "`dominators`, or `root_paths`: shortest paths, by kind of root",
            _type_path("tree"),
        ),
        Column(
            "name",
            TEXT,
            "short name of the type, or the kind of root",
            _type_path("name"),
            free_text=True,
        ),
        Column("depth", INT32, "steps from the top, which is 0", _type_path("depth")),
        Column(
            "object_count",
            INT64,
            "objects in this group",
            _type_path("object_count"),
        ),
        Column(
            "shallow_bytes",
            INT64,
            "shallow size of those",
            _type_path("shallow_bytes"),
        ),
        Column(
            "total_count",
            INT64,
            "objects in this group and all groups below",
            _type_path("total_count"),
        ),
        Column(
            "total_bytes",
            INT64,
            "shallow size of those",
            _type_path("total_bytes"),
        ),
        Column(
            "rest_count",
            INT64,
            "of those, objects in smaller groups that are left out",
            _type_path("rest_count"),
        ),
        Column(
            "rest_bytes",
            INT64,
            "shallow size of those",
            _type_path("rest_bytes"),
        ),
    ),
)
