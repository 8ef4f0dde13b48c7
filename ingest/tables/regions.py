"""Columns of domains, segments, generations and garbage collections."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.types import count_by, sum_by
from ingest.heap.graph import GENERATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_AGES = ("gen 0", "gen 1", "gen 2", "large objects", "pinned objects")


class Sums(NamedTuple):
    """Objects by place: P places.

    Attributes:
        object_count: int64 (P,). Objects of the dump.
        shallow_bytes: int64 (P,). Their bytes.
        reachable_count: int64 (P,). Those that a root reaches.
        reachable_bytes: int64 (P,). Their bytes.
    """

    object_count: NDArray[np.int64]
    shallow_bytes: NDArray[np.int64]
    reachable_count: NDArray[np.int64]
    reachable_bytes: NDArray[np.int64]


class Regions:
    """Sums by region, each computed once."""

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self._graph = graph
        self._metrics = metrics

    @cached_property
    def domains(self) -> Sums:
        """By domain."""
        where = self._graph.domain_index
        if where is None:
            where = np.zeros(len(self._graph.object_id), np.int32)
        return sums(self._graph, self._metrics, where, len(self._graph.domains))

    @cached_property
    def segments(self) -> Sums:
        """By segment."""
        graph = self._graph
        return sums(graph, self._metrics, graph.segment_index, len(graph.segments))

    @cached_property
    def generation_numbers(self) -> NDArray[np.int64]:
        """int64: generations that have objects, rising."""
        known = self._graph.generation
        if known is None:
            return np.empty(0, np.int64)
        found = np.unique(known[: self._graph.object_count])
        return found[found >= 0].astype(np.int64)

    @property
    def generation_names(self) -> list[str]:
        """Their names."""
        return [_AGES[number] for number in self.generation_numbers.tolist()]

    @cached_property
    def generations(self) -> Sums:
        """Sums by generation, without those that have no objects."""
        known = self._graph.generation
        where = None if known is None else known.astype(np.int32)
        every = sums(self._graph, self._metrics, where, GENERATIONS)
        return Sums(*(column[self.generation_numbers] for column in every))

    @property
    def next_collections(self) -> list[int | None]:
        """Row of the collection after each; ``None`` after the last."""
        count = len(self._graph.collections)
        return [*range(1, count), None][:count]

    @property
    def dump_collection(self) -> int | None:
        """Number of the collection during which the dump was taken."""
        collections = self._graph.collections
        return next((one.number for one in collections if one.is_dump), None)

    @property
    def survivors_recorded(self) -> list[bool | None]:
        """Whether the trace records all survivors of each collection, where known."""
        history = self._graph.history
        known = {
            one.number: one.has_ranges
            for one in (() if history is None else history.collections)
        }
        return [known.get(one.number) for one in self._graph.collections]


def sums(
    graph: HeapGraph, metrics: HeapMetrics, where: NDArray[np.int32] | None, count: int
) -> Sums:
    """Add up objects by place.

    Args:
        graph: The heap.
        metrics: Which of its objects are reachable.
        where: int32 (N,) or longer. Place of each object; negative for none.
        count: How many places there are.
    """
    n = graph.object_count
    index = np.full(n, -1, np.int32) if where is None else where[:n]
    live = np.where(metrics.root_distance[:n] > 0, index, -1)
    live, size = live.astype(np.int32), graph.shallow_bytes[:n]
    return Sums(
        count_by(index, count),
        sum_by(index, size, count),
        count_by(live, count),
        sum_by(live, size, count),
    )
