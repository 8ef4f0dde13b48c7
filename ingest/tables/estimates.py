"""What the objects of a dump that is a sample stand for, in whole objects and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.tables.series import nulls

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

MOST = 2**62
"""What an estimate is at most: a broken multiplier makes no number too large."""


def columns(
    graph: HeapGraph, metrics: HeapMetrics, begin: int, end: int
) -> dict[str, pl.Series | NDArray[Any]]:
    """Columns of the rows ``begin`` to ``end`` of the table ``types``."""
    if found := of_types(graph, metrics):
        return {name: column[begin:end] for name, column in found.items()}
    nothing = nulls(end - begin, pl.Int64)
    return {"estimated_count": nothing, "estimated_bytes": nothing}


def of_types(graph: HeapGraph, metrics: HeapMetrics) -> dict[str, NDArray[np.int64]]:
    """Int64 (T,): objects and bytes of each type; empty where the dump has all."""
    if (sampling := graph.sampling) is None:
        return {}
    return {
        "estimated_count": _rounded(metrics.instance_count * sampling.count),
        "estimated_bytes": _rounded(metrics.type_shallow_bytes * sampling.size),
    }


def of_heap(graph: HeapGraph) -> dict[str, int]:
    """The same of the whole heap; empty where the dump has all of it."""
    if (sampling := graph.sampling) is None:
        return {}
    size = int(graph.shallow_bytes.sum())
    sums = [graph.object_count * sampling.average_count, size * sampling.average_size]
    count, size = _rounded(np.array(sums)).tolist()
    return {"estimated_count": count, "estimated_bytes": size}


def _rounded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.minimum(np.rint(values), MOST).astype(np.int64)
