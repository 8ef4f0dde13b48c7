"""Distance of each object from the roots, and a shortest path to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel
from ingest.heap.graph import RefKind, RootFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Bools, Ints, Longs
    from ingest.heap.graph import HeapGraph

ROOT = -1
"""In a column of objects: the super-root above all strong roots."""

UNREACHABLE = -2
"""In a column of objects: this object is not strongly reachable."""


class ReferenceColumns(NamedTuple):
    """The references and roots that a search follows.

    Attributes:
        start, target: Columns ``ref_start`` and ``ref_target`` of the graph.
        skipped: bool (E,). References to ignore; empty if there are none.
        roots: int32. Objects that roots refer to, in the order of the dump.
    """

    start: Longs
    target: Ints
    skipped: Bools
    roots: Ints


def strong_references(graph: HeapGraph) -> ReferenceColumns:
    """The strong references and strong roots of ``graph``."""
    skipped = np.empty(0, np.bool_)
    if graph.ref_kind is not None:
        skipped = np.asarray(graph.ref_kind != RefKind.STRONG)
    roots = graph.root_object[(graph.root_flags & RootFlag.WEAK) == 0]
    return ReferenceColumns(graph.ref_start, graph.ref_target, skipped, roots)


@kernel
def _search(
    references: ReferenceColumns, distance: Ints, parent: Ints, queue: Ints
) -> None:
    """Breadth-first search; fills ``distance``, initially -1, and ``parent``."""
    start, targets, skipped = references.start, references.target, references.skipped
    head = tail = 0
    for root in references.roots:
        if distance[root] < 0:
            distance[root] = 1
            parent[root] = ROOT
            queue[tail] = root
            tail += 1
    some_skipped = len(skipped) > 0
    while head < tail:
        source = queue[head]
        head += 1
        for ref in range(start[source], start[source + 1]):
            target = targets[ref]
            if distance[target] < 0 and not (some_skipped and skipped[ref]):
                distance[target] = distance[source] + 1
                parent[target] = source
                queue[tail] = target
                tail += 1


def reached(references: ReferenceColumns, objects: int) -> NDArray[np.bool_]:
    """Bool (objects,): what can be reached along ``references`` from their roots.

    Memory: 12 bytes an object.
    """
    distance = np.full(objects, -1, np.int32)
    parent, queue = np.empty((2, objects), np.int32)
    _search(references, distance, parent, queue)
    return np.asarray(distance >= 0)


def root_distances(graph: HeapGraph) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Breadth-first search along strong references from the strong roots.

    Returns:
        int32 (N + M,): length of a shortest path from a root in references, 1 for
        an object that a root refers to, -1 if unreachable; and int32 (N + M,):
        the previous object on that path, `ROOT`, or `UNREACHABLE`.
    """
    n = len(graph.object_id)
    distance = np.full(n, -1, np.int32)
    parent = np.full(n, UNREACHABLE, np.int32)
    _search(strong_references(graph), distance, parent, np.empty(n, np.int32))
    return distance, parent


def weak_only(
    graph: HeapGraph, distance: NDArray[np.int32]
) -> NDArray[np.bool_] | None:
    """Objects that are reachable, but not strongly.

    Args:
        graph: The heap.
        distance: From `root_distances`.

    Returns:
        Bool (N + M,); ``None`` if nothing is weak.
    """
    weak_roots = (graph.root_flags & RootFlag.WEAK) != 0
    if graph.ref_kind is None and not weak_roots.any():
        return None
    n = len(graph.object_id)
    seen = np.full(n, -1, np.int32)
    references = ReferenceColumns(
        graph.ref_start,
        graph.ref_target,
        skipped=np.empty(0, np.bool_),
        roots=np.array(graph.root_object),
    )
    _search(references, seen, np.empty(n, np.int32), np.empty(n, np.int32))
    return (seen >= 0) & (distance < 0)
