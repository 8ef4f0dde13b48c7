"""References that hold objects, and cuts of them that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import (
    ROOT,
    UNREACHABLE,
    holding_references,
    holding_roots,
)
from ingest.analysis.trees import are_below, marked
from ingest.arrays.compiled import kernel
from ingest.heap.graph import starts_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools, Ints, Numbers, Starts
    from ingest.heap.graph import HeapGraph
    from ingest.what_if.freed import Cut


MANY = 4096
"""References into one object, from which on it is shared by many."""

BLOCK_BITS = 6
"""So many objects, as a power of two, have their referrers listed together."""


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
        is_named: Whether its text names a place, not only a root, a collection of the
            runtime or an address.
    """

    text: str
    edges: tuple[Edge, ...]
    bits: NDArray[np.uint8]
    object_count: int
    freed_bytes: int
    is_named: bool = True

    @property
    def lost(self) -> Bools:
        """Bool (N + M,). What it frees."""
        return np.unpackbits(self.bits, count=self.object_count).view(np.bool_)


def has_bit(bits: NDArray[np.uint8], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Bool: which objects have their bit set, as `numpy.packbits` orders bits."""
    return np.asarray(bits[rows >> 3] >> (7 - (rows & 7)).astype(np.uint8) & 1) > 0


@kernel
def _list(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    distance: Ints,
    used: Starts,
    rows: Starts,
) -> None:
    """List references that hold, by blocks of what they refer to.

    Those of unreachable objects are left out. ``used`` is where the next of a block
    comes; as long as ``rows`` is empty, it only counts them.
    """
    for source in range(len(start) - 1):
        if distance[source] < 0:
            continue
        for ref in range(start[source], start[source + 1]):
            if len(skipped) > 0 and skipped[ref]:
                continue
            block = targets[ref] >> BLOCK_BITS
            if len(rows) > 0:
                rows[used[block]] = ref
            used[block] += 1


class Referrers:
    """What refers to objects and holds them.

    Memory: 4 bytes a reference, from the first use on.

    Attributes:
        held: Which references hold.
        root_holds: bool (R,). Which roots hold.
    """

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self._graph, self._metrics = graph, metrics
        self.held = holding_references(graph, metrics.strength)
        self.root_holds = holding_roots(graph, metrics.strength)
        self._of: dict[int, tuple[NDArray[np.intp], NDArray[np.int32], list[int]]] = {}

    def of(self, target: int) -> tuple[NDArray[np.intp], NDArray[np.int32], list[int]]:
        """The rows of the references to an object, their sources, rows of roots."""
        if target not in self._of:
            graph, (end, listed) = self._graph, self._blocks
            at = target >> BLOCK_BITS
            rows = listed[end[at - 1] if at else 0 : end[at]]
            rows = rows[graph.ref_target[rows] == target].astype(np.intp)
            sources = graph.sources(rows).astype(np.int32)
            roots = self.roots_of(target)[: MANY + 1].tolist()
            self._of[target] = rows, sources, roots
        return self._of[target]

    def roots_of(self, target: int) -> NDArray[np.intp]:
        """The rows of the roots that hold an object."""
        rows, objects = self._roots
        return rows[slice(*np.searchsorted(objects, (target, target + 1)))]

    def row(self, source: int, target: int) -> int:
        """A row of what one object refers to another by, of a named field if it can be.

        In a heap without fields, the first of the object's references.
        """
        graph = self._graph
        if graph.ref_field is None:
            return int(graph.ref_start[source])
        rows = self.between(source, target)
        if not len(rows):  # of a dominator, which may lead to it by way of others
            return int(graph.ref_start[source])
        named_rows = [
            (name, row)
            for row in rows.tolist()
            if (name := graph.field_name(row)) is not None
        ]
        return min(named_rows)[1] if named_rows else int(rows[0])

    def is_left(self, cut: Cut, edge: Edge) -> bool:
        """Whether a place holds what it does after a cut, by the paths known before."""
        path, at = list(reversed(edge.below)), edge.source
        while at >= 0:
            path.append(at)
            at = int(self._metrics.path_parent[at])
        path.reverse()
        roots = [edge.row] if edge.source == ROOT else self.roots_of(path[0])
        has_root = bool((~cut.roots[roots]).any()) and not cut.objects[path].any()
        return has_root and all(
            not cut.references[self.between(*pair)].all() for pair in pairwise(path)
        )

    def below(self, cut: Cut) -> Bools | None:
        """Bool (N + M,). What a cut of one object frees: what it dominates.

        ``None`` if the cut leads to several objects, or leaves one a reference from
        elsewhere: then that is not all, or too much.
        """
        graph, dominator = self._graph, self._metrics.dominator
        roots = cut.roots & self.root_holds
        targets = [graph.ref_target[cut.references], graph.root_object[roots]]
        found = np.unique(np.concatenate([*targets, np.flatnonzero(cut.objects)]))
        if len(found) != 1 or dominator[found[0]] == UNREACHABLE:
            return None
        target = int(found[0])
        found = found.astype(np.int32)
        if not cut.objects[target]:
            rows, sources, _ = self.of(target)
            is_inside = are_below(dominator, found, sources[~cut.references[rows]])
            if not is_inside.all() or not cut.roots[self.roots_of(target)].all():
                return None
        freed: Bools = marked(dominator, [found]) == 1
        return freed

    def between(self, source: int, target: int) -> NDArray[np.intp]:
        """The rows of the references of one object to another that hold."""
        rows = self._graph.between(source, target)
        return rows[~self.held.skipped[rows]] if len(self.held.skipped) else rows

    @cached_property
    def _blocks(self) -> tuple[Numbers, Numbers]:
        """Where each block of objects ends, and the rows of what refers to them."""
        graph, distance = self._graph, self._metrics.root_distance
        kind = starts_type(graph.reference_count)
        columns = graph.ref_start, graph.ref_target, self.held.skipped, distance
        count = np.zeros((len(distance) >> BLOCK_BITS) + 1, kind)
        _list(*columns, count, np.empty(0, kind))
        end = count.cumsum(dtype=kind)
        rows = np.empty(int(end[-1]), kind)
        end -= count
        _list(*columns, end, rows)
        return end, rows

    @cached_property
    def _roots(self) -> tuple[NDArray[np.intp], Ints]:
        """The rows of the roots that hold, by their objects, and those."""
        rows = np.flatnonzero(self.root_holds)
        objects = self._graph.root_object[rows]
        order = np.argsort(objects, kind="stable")
        return rows[order], objects[order]
