"""A dump whose tables are stored, as answers see it: columns are read when used."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.answers.view import HeapView
from ingest.heap.graph import MISSING_TYPE_NAME
from ingest.tables.stored_heap import starts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.tables.mapping import Tables

_AT_ONCE = 1 << 22
"""References that are looked at together."""


class StoredHeap(HeapView):
    """Columns of stored tables.

    Memory: the columns that were used, as in a heap that was read.

    Args:
        tables: All of them.
        about: Properties of the Dump node, those that are asked for.
    """

    def __init__(
        self, tables: Tables, about: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        super().__init__(tables)
        self._about = about

    def properties(self) -> dict[str, object]:
        """Properties of the Dump node."""
        return dict(self._about)

    COLUMNS = MappingProxyType(
        {
            "row_count": lambda heap: heap.tables.rows("objects"),
            "object_count": lambda heap: heap.row_count - heap.missing_count(),
            "type_names": lambda heap: tuple(heap.column("types", "name")),
            "captions": lambda heap: pl.concat(
                [heap.column("types", "caption"), pl.Series([MISSING_TYPE_NAME])]
            ),
            "type_index": lambda heap: heap.array("objects", "type"),
            "shallow_bytes": lambda heap: heap.array("objects", "shallow_bytes"),
            "dominator": lambda heap: heap.dominators_of_all(),
            "root_distance": lambda heap: heap.array("objects", "root_distance"),
            "path_parent": lambda heap: heap.parents_of_all(),
            "retained_bytes": lambda heap: heap.array("objects", "retained_bytes"),
            "retained_count": lambda heap: heap.array("objects", "retained_count"),
            "dominated": lambda heap: heap.array("dominator_tree", "object"),
            "source": lambda heap: heap.array("references", "source"),
            "ref_start": lambda heap: starts_of(heap.source, heap.row_count),
            "ref_target": lambda heap: heap.array("references", "target"),
            "skipped": lambda heap: heap.references_without_hold(),
            "root_object": lambda heap: heap.array("roots", "object"),
            "root_holds": lambda heap: heap.array("roots", "holds"),
        }
    )

    source: NDArray[np.int32]
    """Row of the object that has each reference."""

    def column(self, table: str, name: str) -> pl.Series:
        """A column of a table."""
        return self.tables.lazy(table).select(name).collect()[name]

    def array(self, table: str, name: str) -> NDArray[np.generic]:
        """A column of a table, with -1 for what is null."""
        found = self.column(table, name)
        return (found.fill_null(-1) if found.null_count() else found).to_numpy()

    def missing_count(self) -> int:
        """Placeholders."""
        if not self.has("objects", "missing"):
            return 0
        return int(self.column("objects", "missing").sum())

    def dominators_of_all(self) -> NDArray[np.int32]:
        """The column `dominator`; `ROOT` stands in the table as it is."""
        found = np.full(self.row_count, UNREACHABLE, np.int32)
        found[self.dominated] = self.array("dominator_tree", "dominator")
        return found

    def references_without_hold(self) -> NDArray[np.bool_]:
        """The column `skipped`."""
        holds = self.column("references", "holds")
        return np.empty(0, np.bool_) if holds.all() else (~holds).to_numpy()

    def parents_of_all(self) -> NDArray[np.int32]:
        """The column `path_parent`; of several shortest paths, it has any."""
        distance = self.root_distance
        found = np.where(distance > 0, ROOT, UNREACHABLE).astype(np.int32)
        for begin in range(0, len(self.ref_target), _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            source, target = self.source[part], self.ref_target[part]
            above = distance[source]
            leads = (above > 0) & (distance[target] == above + 1)
            if len(self.skipped):
                leads &= ~self.skipped[part]
            found[target[leads]] = source[leads]
        return found

    def sources(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the objects that have some references."""
        return self.source[references].astype(np.int64)

    def address(self, row: int) -> str:
        """Address of an object."""
        (found,) = self.tables.part("objects", row, row + 1, ["address"])["address"]
        return str(found)

    def objects_at(self, address: str) -> list[int]:
        """Rows of the objects of an address; each domain can have one."""
        is_there = pl.arg_where(pl.col("address") == address)
        return (
            self.tables.lazy("objects").select(is_there).collect().to_series().to_list()
        )
