"""The analysis of one heap: distances, dominators, retained sizes, origins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import root_distances, weak_only
from ingest.analysis.dominators import dominator_tree, retained_sizes
from ingest.analysis.preorder import preorder_of
from ingest.analysis.tracking import allocation_of, trace_back
from ingest.analysis.type_dominators import type_retained_bytes
from ingest.analysis.types import sum_by_type, type_references
from ingest.progress import silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.tracking import Origins
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress


BYTES_PER_OBJECT, BYTES_PER_REFERENCE = 98, 8
"""Memory of the analysis at its peak, besides the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class HeapMetrics:
    """Measures of a `HeapGraph` of N objects, M placeholders and T types.

    Attributes:
        root_distance: int32 (N + M,). References from the nearest strong root, 1
            for an object that a root refers to; -1 if unreachable.
        path_parent: int32 (N + M,). The previous object on a shortest path;
            `ROOT` or `UNREACHABLE` of `ingest.analysis.distances`.
        dominator: int32 (N + M,). Immediate dominator, `ROOT` or `UNREACHABLE`.
        retained_bytes: int64 (N + M,), bytes that are freed with the object,
            including its own; 0 if it is unreachable.
        retained_count: int64 (N + M,). Objects freed with it, including itself.
        largest_child: int32 (N + M,). Of the objects that it immediately
            dominates, the one that retains most; -1 where there is none.
        reachable_count: Strongly reachable objects, without placeholders.
        reachable_bytes: Their shallow size, bytes.
        weak_only_count: Objects that are reachable, but only through weak roots or
            references; without placeholders.
        weak_only_bytes: Their shallow size, bytes.
        instance_count: int64 (T,). Instances of each type.
        type_reachable_count: int64 (T,). Strongly reachable instances.
        type_shallow_bytes: int64 (T,), bytes. Shallow size of all instances.
        type_reachable_bytes: int64 (T,), bytes. That of the reachable ones.
        type_retained_bytes: int64 (T,), bytes that are freed with all instances.
        type_retained_exact: Whether those are exact or lower bounds; see
            `ingest.analysis.type_dominators`.
        type_top_count: int64 (T,). Instances that no other object dominates.
        type_top_retained_bytes: int64 (T,), bytes. Retained size of these, summed.
        pair_source, pair_target: int32 (P,). Pairs of types whose instances refer
            to one another.
        pair_count: int64 (P,). Number of references of each pair.
        origins: Origins of the N objects; ``None`` if no history is recorded.
        allocation: int32 (N,). Row of the history's allocations, or -1; ``None`` if
            none are recorded.
    """

    root_distance: NDArray[np.int32]
    path_parent: NDArray[np.int32]
    dominator: NDArray[np.int32]
    retained_bytes: NDArray[np.int64]
    retained_count: NDArray[np.int64]
    largest_child: NDArray[np.int32]
    reachable_count: int
    reachable_bytes: int
    weak_only_count: int
    weak_only_bytes: int
    instance_count: NDArray[np.int64]
    type_reachable_count: NDArray[np.int64]
    type_shallow_bytes: NDArray[np.int64]
    type_reachable_bytes: NDArray[np.int64]
    type_retained_bytes: NDArray[np.int64]
    type_retained_exact: bool
    type_top_count: NDArray[np.int64]
    type_top_retained_bytes: NDArray[np.int64]
    pair_source: NDArray[np.int32]
    pair_target: NDArray[np.int32]
    pair_count: NDArray[np.int64]
    origins: Origins | None = None
    allocation: NDArray[np.int32] | None = None


def analyse(
    graph: HeapGraph, progress: Progress = silent, *, origins: bool = True
) -> HeapMetrics:
    """Measure ``graph``.

    Kernels release the GIL, so the breadth-first search and the count of references
    between types run on a second thread.

    Args:
        graph: The heap.
        progress: Called after each step.
        origins: Whether to trace objects back through the history; takes time in
            proportion to objects times collections.
    """
    stage, steps = "analyse", 4
    progress(stage, 0, steps)
    types = len(graph.type_names)
    with ThreadPoolExecutor(1) as second_thread:
        distances = second_thread.submit(root_distances, graph)
        pairs = second_thread.submit(type_references, graph)
        tree, search = dominator_tree(graph)
        progress(stage, 1, steps)
        retained_bytes, retained_count, largest_child = retained_sizes(graph, tree)
        progress(stage, 2, steps)
        preorder = preorder_of(graph, tree, search)
        dominator = tree.by_object()
        del tree, search
        type_bytes, exact = type_retained_bytes(graph, preorder, retained_bytes)
        del preorder
        progress(stage, 3, steps)
        distance, path_parent = distances.result()
        pair_source, pair_target, pair_count = pairs.result()
    found_origins, allocation = _origins(graph, progress) if origins else (None, None)
    is_weak_only = weak_only(graph, distance)
    weak = (
        np.empty(0, np.int64) if is_weak_only is None else np.flatnonzero(is_weak_only)
    )
    sums = np.zeros((6, types), np.int64)
    sum_by_type(
        graph.type_index,
        graph.shallow_bytes,
        distance,
        dominator,
        retained_bytes,
        sums,
    )
    # Every object has a type and no placeholder has one: sums over types are those of
    # the objects.
    metrics = HeapMetrics(
        root_distance=distance,
        path_parent=path_parent,
        dominator=dominator,
        retained_bytes=retained_bytes,
        retained_count=retained_count,
        largest_child=largest_child,
        reachable_count=int(sums[1].sum()),
        reachable_bytes=int(sums[3].sum()),
        weak_only_count=int(np.count_nonzero(weak < graph.object_count)),
        weak_only_bytes=int(graph.shallow_bytes[weak].sum()),
        instance_count=sums[0],
        type_reachable_count=sums[1],
        type_shallow_bytes=sums[2],
        type_reachable_bytes=sums[3],
        type_retained_bytes=type_bytes,
        type_retained_exact=exact,
        type_top_count=sums[4],
        type_top_retained_bytes=sums[5],
        pair_source=pair_source,
        pair_target=pair_target,
        pair_count=pair_count,
        origins=found_origins,
        allocation=allocation,
    )
    progress(stage, steps, steps)
    return metrics


def _origins(
    graph: HeapGraph, progress: Progress
) -> tuple[Origins | None, NDArray[np.int32] | None]:
    history = graph.history
    if history is None:
        return None, None
    address = graph.object_id[: graph.object_count]
    origins = trace_back(address, history.collections, progress)
    if history.allocations is None:
        return origins, None
    return origins, allocation_of(origins, history.allocations)
