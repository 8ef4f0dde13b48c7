"""What the garbage of a heap is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import UNREACHABLE
from ingest.analysis.types import count_by, sum_by
from ingest.runtimes import TypeClass, named
from ingest.suspects.words import counted_objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_MOST = 3


def garbage_types(
    graph: HeapGraph, metrics: HeapMetrics, classes: NDArray[np.uint8]
) -> tuple[str, ...]:
    """The types that most of the garbage is of, as ``6,000 Response``.

    Also arrays that have most of it, if the collector fills gaps with such: a dump does
    not tell these from others.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
    """
    rows = np.flatnonzero(metrics.dominator[: graph.object_count] == UNREACHABLE)
    kinds, names = graph.type_index[rows], graph.type_names
    sizes = sum_by(kinds, graph.shallow_bytes[rows], len(names))
    count = count_by(kinds, len(names))
    order = np.lexsort((-sizes, classes != TypeClass.PROGRAM))[:_MOST]
    is_own = classes[order[0]] == TypeClass.PROGRAM and bool(count[order[0]])
    found = [
        counted_objects(int(count[kind]), graph.captions.of(names[kind]))
        for kind in order.tolist()
        if count[kind] and (classes[kind] == TypeClass.PROGRAM) == is_own
    ]
    sign, filler = named(graph.runtime).filler
    if sign in names and filler in names:
        kind = names.index(filler)
        if 2 * sizes[kind] >= sizes.sum() > 0:
            filled = counted_objects(int(count[kind]), filler)
            found.append(f"{filled}, with which the collector also fills gaps")
    return tuple(found)
