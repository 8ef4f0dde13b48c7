"""Tables of what the analysis finds in a heap: one row for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.tables.column import FLOAT, INT32, INT64, TEXT, TEXTS, Column, Table
from ingest.tables.object_tables import row_number

if TYPE_CHECKING:
    from ingest.tables.column import Source


# fmt: off
DOMINATOR_TREE = Table(
    "dominator_tree",
    "reachable objects by dominator",
    lambda heap: heap.dominated_count,
    (
        Column("object", INT32, "row of `objects`", lambda heap: heap.dominated,
            is_property=False),
        Column("dominator", INT32, "row of `objects`; -1 if no object dominates it",
            lambda heap: heap.dominator, is_property=False),
    ),
    of_nodes=False,
)

TYPE_REFERENCES = Table(
    "type_references",
    "pairs of types whose instances refer to one another",
    lambda heap: len(heap.metrics.pair_count),
    (
        Column("source", INT32, "row of `types`",
            lambda heap: heap.metrics.pair_source, is_property=False),
        Column("target", INT32, "row of `types`",
            lambda heap: heap.metrics.pair_target, is_property=False),
        Column("reference_count", INT64, "number of references",
            lambda heap: heap.metrics.pair_count),
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
        Column("parent", INT32, "row of this table; null at the top of a tree",
            _type_path("parent"), absent=None, is_property=False),
        Column("type", INT32, "row of `types`, else null", _type_path("type"),
            absent=None, is_property=False),
        Column("tree", TEXT,
            "`dominators`, or `root_paths`: shortest paths, by kind of root",
            _type_path("tree")),
        Column("name", TEXT,
            "short name of the type, the kind of root, or its static field or thread",
            _type_path("name")),
        Column("fingerprint", TEXT,
            "equal for the same path in another dump",
            _type_path("fingerprint")),
        Column("depth", INT32, "steps from the top, which is 0", _type_path("depth")),
        Column("object_count", INT64, "objects in this group",
            _type_path("object_count")),
        Column("shallow_bytes", INT64, "shallow size of those",
            _type_path("shallow_bytes")),
        Column("total_count", INT64, "objects in this group and all groups below",
            _type_path("total_count")),
        Column("total_bytes", INT64, "shallow size of those",
            _type_path("total_bytes")),
        Column("rest_count", INT64,
            "of those, objects in smaller groups that are left out",
            _type_path("rest_count")),
        Column("rest_bytes", INT64, "shallow size of those", _type_path("rest_bytes")),
    ),
)


def _suspect(attribute: str) -> Source:
    """Source of an attribute of `Suspect`."""
    return lambda heap: [getattr(suspect, attribute) for suspect in heap.suspects]


SUSPECTS = Table(
    "suspects",
    "leak suspects, the best first",
    lambda heap: len(heap.suspects),
    (
        Column("suspect", INT32, "row number, from 0", row_number, is_property=False),
        Column("object", INT32, "row of `objects`: the one that retains most",
            _suspect("object_index"), is_property=False),
        Column("type", INT32, "row of `types`: what accumulates",
            _suspect("type_index"), is_property=False),
        Column("container", INT32,
            "row of `objects`: what they accumulate in, which may be the object itself",
            _suspect("container_index"), is_property=False),
        Column("rank", INT64, "1 for the best", lambda heap: range(
            1, len(heap.suspects) + 1)),
        Column("type_name", TEXT, "short name of the type, for captions",
            lambda heap: [heap.captions[found.type_index] for found in heap.suspects]),
        Column("object_count", INT64, "how many objects of the type accumulate",
            _suspect("object_count")),
        Column("retained_bytes", INT64, "what they retain together",
            _suspect("retained_bytes")),
        Column("share", FLOAT, "of the reachable bytes, 0 to 1", _suspect("share")),
        Column("pattern", TEXT, "how they are held, such as `list`, `map` or "
            "`event handlers`", _suspect("pattern")),
        Column("holder", TEXT,
            "full name of the type that refers to them, directly or through "
            "collections; absent where only the runtime does",
            _suspect("holder"), absent=None),
        Column("reference", TEXT,
            "its field or static field; absent where the format records none",
            _suspect("reference"), absent=None),
        Column("root_kind", TEXT, "kind of the root that the path begins at",
            _suspect("root_kind")),
        Column("root_name", TEXT, "its static field, type or thread, if recorded",
            _suspect("root_name"), absent=None),
        Column("path", TEXTS,
            "a shortest path from a root to the object that retains most, each object "
            "after its field; runs of one type are folded", _suspect("path")),
        Column("cut", TEXT, "the reference to remove", _suspect("cut")),
        Column("cut_step", INT64,
            "which step of the path it leads to, the root being 0; absent if folded",
            _suspect("cut_step"), absent=None),
        Column("contents", TEXTS, "the types that have most of the bytes, with counts",
            _suspect("contents")),
        Column("fingerprint", TEXT,
            "equal for the same leak in another dump",
            _suspect("fingerprint")),
        Column("sentence", TEXT, "the suspect in a sentence", _suspect("sentence")),
        Column("advice", TEXT,
            "what to do to free them, in a sentence; absent in dumps of an earlier "
            "version", _suspect("advice"), absent=None),
        Column("signs", TEXTS, "sentences that speak for a leak, besides the size",
            lambda heap: [list(one.signs) or None for one in heap.suspects],
            absent=None),
        Column("doubts", TEXTS, "sentences that speak against a leak",
            lambda heap: [list(one.doubts) or None for one in heap.suspects],
            absent=None),
    ),
)
