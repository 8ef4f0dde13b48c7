"""Estimates of the heap behind a sampled dump, in objects and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

MOST = 2**62
"""The largest estimate: a broken multiplier must not overflow."""


def of_types(graph: HeapGraph, metrics: HeapMetrics) -> dict[str, NDArray[np.int64]]:
    """Int64 (T,): objects and bytes of each type; empty if the dump is no sample."""
    if (sampling := graph.sampling) is None:
        return {}
    return {
        "estimated_count": _rounded(metrics.instance_count * sampling.count),
        "estimated_bytes": _rounded(metrics.type_shallow_bytes * sampling.size),
    }


def of_heap(graph: HeapGraph) -> dict[str, int]:
    """Objects and bytes of the heap; empty if the dump is no sample."""
    if (sampling := graph.sampling) is None:
        return {}
    size = int(graph.shallow_bytes.sum())
    sums = [graph.object_count * sampling.average_count, size * sampling.average_size]
    count, size = _rounded(np.array(sums)).tolist()
    return {"estimated_count": count, "estimated_bytes": size}


def _rounded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.minimum(np.rint(values), MOST).astype(np.int64)
