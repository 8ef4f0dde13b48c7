"""Distance of each object from the roots, and a shortest path to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel
from ingest.heap.graph import RefKind, RootFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph

ROOT = -1
"""In a column of objects: the super-root above all strong roots."""

UNREACHABLE = -2
"""In a column of objects: this object is not strongly reachable."""


def strong_roots(graph: HeapGraph) -> NDArray[np.int32]:
    """int32: objects that strong roots refer to, in the order of the dump."""
    strong = (graph.root_flags & RootFlag.WEAK) == 0
    return np.ascontiguousarray(graph.root_object[strong])


def weak_mask(graph: HeapGraph) -> NDArray[np.bool_]:
    """Bool (E,): which references are weak; empty where all are strong."""
    if graph.ref_kind is None:
        return np.empty(0, np.bool_)
    return np.asarray(graph.ref_kind != RefKind.STRONG)


@kernel
def _search(
    ref_start: NDArray[np.int64],
    ref_target: NDArray[np.int32],
    weak: NDArray[np.bool_],
    roots: NDArray[np.int32],
    distance: NDArray[np.int32],
    parent: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> None:
    """Breadth-first search; fills ``distance``, initially -1, and ``parent``."""
    head = tail = 0
    for root in roots:
        if distance[root] < 0:
            distance[root] = 1
            parent[root] = ROOT
            queue[tail] = root
            tail += 1
    some_weak = len(weak) > 0
    while head < tail:
        source = queue[head]
        head += 1
        for ref in range(ref_start[source], ref_start[source + 1]):
            target = ref_target[ref]
            if distance[target] < 0 and not (some_weak and weak[ref]):
                distance[target] = distance[source] + 1
                parent[target] = source
                queue[tail] = target
                tail += 1


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
    _search(
        graph.ref_start,
        graph.ref_target,
        weak_mask(graph),
        strong_roots(graph),
        distance,
        parent,
        np.empty(n, np.int32),
    )
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
    _search(
        graph.ref_start,
        graph.ref_target,
        np.empty(0, np.bool_),
        np.ascontiguousarray(graph.root_object),
        seen,
        np.empty(n, np.int32),
        np.empty(n, np.int32),
    )
    return (seen >= 0) & (distance < 0)
