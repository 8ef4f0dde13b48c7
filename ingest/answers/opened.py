"""A heap that was read and analysed, as answers see it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import holding_references
from ingest.answers.frames import HeapView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.tables.heap_tables import HeapTables


class OpenedHeap(HeapView):
    """Columns of a `HeapGraph` and its `HeapMetrics`; none is copied.

    Args:
        tables: The tables of the heap.
        about: Properties of the Dump node that the load would fill in.
    """

    COLUMNS = MappingProxyType(
        {
            "captions": lambda heap: heap.read.captions,
            "lengths": lambda heap: _lengths(heap.read.graph),
            "retained_count": lambda heap: heap.read.metrics.retained_count,
            "source": lambda heap: np.repeat(
                np.arange(heap.row_count, dtype=np.int32), np.diff(heap.ref_start)
            ),
            "dominated": lambda heap: heap.read.dominated,
            "dominating": lambda heap: heap.dominator[heap.dominated],
            "skipped": lambda heap: _skipped(heap.read),
            "root_holds": lambda heap: heap.read.roots.holding,
        }
    )

    def __init__(self, tables: HeapTables, about: Mapping[str, object]) -> None:
        super().__init__(tables)
        graph, metrics = tables.graph, tables.metrics
        self.read, self._about = tables, about
        self.row_count = len(graph.object_id)
        self.object_count = graph.object_count
        self.type_names = graph.type_names
        self.type_index = graph.type_index
        self.shallow_bytes = graph.shallow_bytes
        self.dominator = metrics.dominator
        self.root_distance = metrics.root_distance
        self.path_parent = metrics.path_parent
        self.retained_bytes = metrics.retained_bytes
        self.ref_start = graph.ref_start
        self.ref_target = graph.ref_target
        self.root_object = graph.root_object

    def sources(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the objects that have some references."""
        return self.read.graph.sources(references)

    def address(self, row: int) -> str:
        """Address of an object."""
        return self.read.graph.address(row)

    def objects_at(self, address: str) -> list[int]:
        """Rows of the objects of an address; each domain can have one."""
        try:
            number = int(address, 16)
        except ValueError:
            return []
        if number.bit_length() > 64 or address != f"{number:#x}":
            return []
        found = self.read.graph.object_id == np.array(number, np.uint64)
        return np.flatnonzero(found).tolist()

    def properties(self) -> dict[str, object]:
        """Properties of the Dump node."""
        return self.read.dump() | dict(self._about)


def _skipped(tables: HeapTables) -> NDArray[np.bool_]:
    return holding_references(tables.graph, tables.metrics.strength).skipped


def _lengths(graph: HeapGraph) -> NDArray[np.int64]:
    found = graph.length
    return np.full(len(graph.object_id), -1) if found is None else found
