"""All that the analysis knows of one heap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import root_distances, weak_only
from ingest.analysis.dominators import dominate, retained
from ingest.analysis.nesting import nest_of
from ingest.analysis.tracking import allocation_of, trace_back
from ingest.analysis.types import tally, type_references
from ingest.analysis.typesets import type_retained_bytes
from ingest.progress import silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.tracking import Origins
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class HeapMetrics:
    """Columns beside those of a `HeapGraph`: N objects, M placeholders, T types.

    Attributes:
        root_distance: int32 (N + M,). References from the nearest strong root, 1
            for an object that a root refers to; -1 if unreachable.
        path_parent: int32 (N + M,). The previous object on a shortest path;
            `ROOT` or `UNREACHABLE` of `ingest.analysis.distances`.
        dominator: int32 (N + M,). Immediate dominator; the same two marks.
        retained_bytes: int64 (N + M,), bytes that are freed with the object; 0 if
            it is unreachable.
        retained_count: int64 (N + M,). Objects freed with it, including itself.
        largest_child: int32 (N + M,). Of the objects that it immediately
            dominates, the one that retains most; -1 where there is none.
        reachable_count: Objects of the dump (no placeholders) that are reached.
        reachable_bytes: Their bytes.
        weak_only_count: Objects of the dump that only weak roots or references, and
            what those lead to, still see.
        weak_only_bytes: Their bytes.
        instance_count, type_reachable_count: int64 (T,).
        type_shallow_bytes, type_reachable_bytes: int64 (T,), bytes.
        type_retained_bytes: int64 (T,), bytes that are freed with all instances.
        type_retained_exact: Whether those are exact, see `typesets`.
        type_top_count: int64 (T,). Instances that only the roots dominate.
        type_top_retained_bytes: int64 (T,). Retained bytes of those, summed.
        pair_source, pair_target: int32 (P,). Types that refer to one another.
        pair_count: int64 (P,). How many references.
        origins: Of the N objects; ``None`` if no history is recorded.
        allocation: int32 (N,). Row of the history's allocations, or -1; ``None`` where
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

    Args:
        graph: The heap.
        progress: Told of steps.
        origins: Whether to follow objects back; costs objects times collections.

    The searches run beside the dominators, on a thread of
    their own: kernels release the GIL.
    """
    stage, steps = "analyse", 4
    progress(stage, 0, steps)
    types = len(graph.type_names)
    kinds = graph.type_index
    with ThreadPoolExecutor(1) as beside:
        searched = beside.submit(root_distances, graph)
        paired = beside.submit(type_references, graph)
        tree, search = dominate(graph)
        progress(stage, 1, steps)
        retained_bytes, retained_count, largest_child = retained(graph, tree)
        progress(stage, 2, steps)
        nest = nest_of(graph, tree, search)
        dominator = tree.by_object()
        del tree, search
        of_types, exact = type_retained_bytes(graph, nest, retained_bytes)
        del nest
        progress(stage, 3, steps)
        distance, path_parent = searched.result()
        pair_source, pair_target, pair_count = paired.result()
    found_origins, allocation = _origins(graph, progress) if origins else (None, None)
    found = weak_only(graph, distance)
    seen = np.empty(0, np.int64) if found is None else np.flatnonzero(found)
    sums = np.zeros((6, types), np.int64)
    tally(kinds, graph.shallow_bytes, distance, dominator, retained_bytes, sums)
    # Placeholders have no type, and every object of the dump has one.
    metrics = HeapMetrics(
        root_distance=distance,
        path_parent=path_parent,
        dominator=dominator,
        retained_bytes=retained_bytes,
        retained_count=retained_count,
        largest_child=largest_child,
        reachable_count=int(sums[1].sum()),
        reachable_bytes=int(sums[3].sum()),
        weak_only_count=int(np.count_nonzero(seen < graph.object_count)),
        weak_only_bytes=int(graph.shallow_bytes[seen].sum()),
        instance_count=sums[0],
        type_reachable_count=sums[1],
        type_shallow_bytes=sums[2],
        type_reachable_bytes=sums[3],
        type_retained_bytes=of_types,
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
