"""A dump whose tables are stored, as answers see it: columns are read when used."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.analysis.distances import UNREACHABLE
from ingest.answers.frames import HeapView
from ingest.heap.graph import MISSING_TYPE_NAME
from ingest.tables.stored_heap import starts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.tables.mapping import Tables


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
            "lengths": lambda heap: heap.array("objects", "length"),
            "dominator": lambda heap: heap.dominators_of_all(),
            "root_distance": lambda heap: heap.array("objects", "root_distance"),
            "path_parent": lambda heap: heap.first_holders,
            "retained_bytes": lambda heap: heap.array("objects", "retained_bytes"),
            "retained_count": lambda heap: heap.array("objects", "retained_count"),
            "dominated": lambda heap: heap.array("dominator_tree", "object"),
            "dominating": lambda heap: heap.array("dominator_tree", "dominator"),
            "source": lambda heap: heap.array("references", "source"),
            "ref_start": lambda heap: starts_of(heap.source, heap.row_count),
            "ref_target": lambda heap: heap.referred("ref_target"),
            "skipped": lambda heap: heap.referred("skipped"),
            "root_object": lambda heap: heap.array("roots", "object"),
            "root_holds": lambda heap: heap.array("roots", "holds"),
        }
    )

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
        found[self.dominated] = self.dominating
        return found

    def span_of(self, row: int) -> tuple[int, int]:
        """The first reference of an object, and where they end."""
        rows = np.array([row, row + 1], np.int32)
        begin, end = np.searchsorted(self.source, rows).tolist()
        return begin, end

    def sources(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the objects that have some references."""
        return self.source[references].astype(np.int64)

    def referred(self, name: str) -> NDArray[np.generic]:
        """A column of references, which are read together as soon as targets alone."""
        names = ["source", "target", "holds"]
        frame = self.tables.lazy("references").select(names).collect()
        self.source, self.ref_target = (frame[one].to_numpy() for one in names[:2])
        holds = frame["holds"]
        all_hold = np.empty(0, np.bool_)
        self.skipped = all_hold if holds.all() else (~holds).to_numpy()
        return cast("NDArray[np.generic]", getattr(self, name))

    def address(self, row: int) -> str:
        """Address of an object."""
        (found,) = self.tables.part("objects", row, row + 1, ["address"])["address"]
        return str(found)

    def objects_at(self, address: str) -> list[int]:
        """Rows of the objects of an address; each domain can have one."""
        return self.objects_at_each([address])[0]

    def objects_at_each(self, addresses: Sequence[str]) -> list[list[int]]:
        """Rows of the objects of each of some addresses, from one look at all."""
        found = (
            self.tables.lazy("objects")
            .select("address")
            .with_row_index("row")
            .filter(pl.col("address").is_in(addresses))
            .collect()
        )
        rows = [*found.select("address", "row").iter_rows()]
        return [[row for one, row in rows if one == asked] for asked in addresses]
