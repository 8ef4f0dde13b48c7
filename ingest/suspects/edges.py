"""References that hold objects, and cuts of them that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import holding_references, holding_roots
from ingest.analysis.types import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools
    from ingest.heap.graph import HeapGraph


MANY = 4096
"""References into one object, from which on it is shared by many."""


class Edge(NamedTuple):
    """A reference or a root that holds an object.

    Attributes:
        source: The object that refers; `ROOT` for a root.
        row: Row of the reference, or of the root.
        below: Objects from the one that is held down to that which the cover is of.
    """

    source: int
    row: int
    below: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """A cut that was tried.

    Attributes:
        text: As ``what-if --cut`` takes it.
        edges: The places that it removes, the one to name first.
        bits: uint8. What it frees, as `numpy.packbits` orders bits.
        object_count: N + M.
        freed_bytes: The size of what it frees.
    """

    text: str
    edges: tuple[Edge, ...]
    bits: NDArray[np.uint8]
    object_count: int
    freed_bytes: int

    @property
    def lost(self) -> Bools:
        """Bool (N + M,). What it frees."""
        return np.unpackbits(self.bits, count=self.object_count).view(np.bool_)


class Referrers:
    """What refers to objects and holds them.

    Attributes:
        held: Which references hold.
        root_holds: bool (R,). Which roots hold.
    """

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self._graph, self._metrics = graph, metrics
        self.held = holding_references(graph, metrics.strength)
        self.root_holds = holding_roots(graph, metrics.strength)
        self._into: dict[
            int, tuple[NDArray[np.intp], NDArray[np.int32], list[int]]
        ] = {}

    def of(self, target: int) -> tuple[NDArray[np.intp], NDArray[np.int32], list[int]]:
        """The rows of the references to an object, their sources, rows of roots."""
        self.find([target])
        return self._into[target]

    def find(self, targets: Iterable[int]) -> None:
        """Note what refers to some objects, in one pass over the references."""
        graph, metrics = self._graph, self._metrics
        wanted = np.array(sorted({*targets} - self._into.keys()), np.int32)
        if not len(wanted):
            return
        rows = rows_of(wanted, graph.ref_target)
        if len(self.held.skipped):
            rows = rows[~self.held.skipped[rows]]
        rows = rows[np.argsort(graph.ref_target[rows], kind="stable")]
        sources = graph.sources(rows).astype(np.int32)
        alive = metrics.root_distance[sources] >= 0
        rows, sources = rows[alive], sources[alive]
        first = np.searchsorted(graph.ref_target[rows], wanted, "left").tolist()
        end = np.searchsorted(graph.ref_target[rows], wanted, "right").tolist()
        roots = rows_of(wanted, graph.root_object)
        roots = roots[self.root_holds[roots]]
        rooted = graph.root_object[roots]
        for target, begin, after in zip(wanted.tolist(), first, end, strict=True):
            held_by = roots[rooted == target][: MANY + 1].tolist()
            self._into[target] = rows[begin:after], sources[begin:after], held_by
