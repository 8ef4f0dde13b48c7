"""Collections that take more for their own room than for what they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.runtimes import TypeClass, named
from ingest.suspects.covers import ENOUGH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_MOST_OF_EACH = 128
"""What has more bytes for each reference has much that is none."""


def owner_of_table(graph: HeapGraph, metrics: HeapMetrics, index: int) -> int:
    """The collection whose room an object is, or the object itself."""
    above = int(metrics.dominator[index])
    is_room = _is_table(graph, index) and above >= 0
    roomy = named(graph.runtime).roomy
    return above if is_room and graph.type_name(above) in roomy else index


def _is_table(graph: HeapGraph, index: int) -> bool:
    runtime = named(graph.runtime)
    return graph.type_name(index) == runtime.entries_fields.get(runtime.pairs_field)


def own_room(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    members: NDArray[np.int32],
    freed_bytes: int,
) -> str:
    """A sentence if nearly all that is freed is the room of one collection.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        members: int32. The objects of the pile.
        freed_bytes: What is freed with them.
    """
    at = int(members[0])
    word = named(graph.runtime).roomy.get(graph.type_name(at))
    if len(members) > 1 or word is None:
        return ""
    parts = [
        one
        for one in np.unique(graph.targets(at)).tolist()
        if _is_table(graph, one) and metrics.dominator[one] == at
    ]
    rows = [at, *parts]
    size = int(graph.shallow_bytes[rows].sum())
    if size < ENOUGH * freed_bytes:
        return ""
    # The runtime's own, as what stands for undefined, is no object of the program.
    is_object = np.append(classes != TypeClass.METADATA, np.True_)
    every = np.concatenate([graph.targets(row) for row in rows])
    is_used = is_object[graph.type_index[every]] & (graph.shallow_bytes[every] > 0)
    used = int(np.count_nonzero(is_used))
    rest = ", most of which refer to no object: they are numbers, booleans or empty"
    is_sparse = size > _MOST_OF_EACH * used
    return f"Nearly all of it is its own room for {word}{rest if is_sparse else ''}."
