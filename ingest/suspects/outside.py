"""Memory outside the heap, in the sizes by which suspects are found.

What an object owns outside the heap is freed with it, so it is added to its size and to
what those that dominate it retain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.dominators import add_to_dominators
from ingest.runtimes import named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_LEAST_SHARE = 0.1
"""Memory outside counts if it is at least this share of the reachable bytes."""


def outside_of(graph: HeapGraph, metrics: HeapMetrics) -> NDArray[np.int64] | None:
    """int64 (N + M,), bytes that each object owns outside the heap, if they are many.

    Files that the runtime itself has mapped are none.
    """
    external = graph.external
    if external is None:
        return None
    found = np.zeros(len(graph.object_id), np.int64)
    found[external.object_index] = external.size_bytes
    found[metrics.root_distance < 0] = 0
    prefix = named(graph.runtime).mapped_prefix
    kinds = [
        row
        for row, name in enumerate(graph.type_names)
        if prefix and name.startswith(prefix)
    ]
    rows = np.flatnonzero(np.isin(graph.type_index, kinds)).tolist() if kinds else []
    for _ in range(2):  # a view, and the buffer that has the memory
        parts = [slice(*graph.ref_start[row : row + 2].tolist()) for row in rows]
        rows = [at for part in parts for at in graph.ref_target[part].tolist()]
        found[rows] = 0
    is_much = found.sum() >= _LEAST_SHARE * metrics.reachable_bytes
    return found if is_much else None


def with_outside(
    graph: HeapGraph, metrics: HeapMetrics, outside: NDArray[np.int64]
) -> tuple[HeapGraph, HeapMetrics]:
    """The heap and its metrics with memory outside as part of the objects' sizes."""
    retained = add_to_dominators(metrics.dominator, outside.copy())
    types = len(graph.type_names)
    rows = np.flatnonzero(retained[: graph.object_count])
    # Of objects in one another, what the inner ones have counts once.
    above = metrics.dominator[rows]
    tops = rows[(above < 0) | (graph.type_index[above] != graph.type_index[rows])]
    by_type = np.bincount(graph.type_index[tops], retained[tops], types)
    total = int(outside.sum())
    return (
        replace(graph, shallow_bytes=graph.shallow_bytes + outside),
        replace(
            metrics,
            retained_bytes=metrics.retained_bytes + retained,
            reachable_bytes=metrics.reachable_bytes + total,
            type_retained_bytes=metrics.type_retained_bytes + by_type.astype(np.int64),
        ),
    )
