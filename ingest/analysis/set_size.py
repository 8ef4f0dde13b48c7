"""What a set of objects reaches, and what it retains."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.what_if import Cut, WhatIf

if TYPE_CHECKING:
    from ingest.compiled import Bools
    from ingest.heap.graph import HeapGraph


class SetSize(NamedTuple):
    """The size of a set of objects; placeholders are objects of no bytes.

    Attributes:
        object_count: Objects of the set.
        shallow_bytes: Their size, bytes.
        reached_count: Objects that references which hold lead to from the set, with it.
            One that several lead to counts once.
        reached_bytes: Their size, bytes.
        retained_count: Objects that are freed if all of the set are; those that are
            unreachable already are not.
        retained_bytes: Their size, bytes.
        shared_bytes: Reached bytes that are not retained.
    """

    object_count: int
    shallow_bytes: int
    reached_count: int
    reached_bytes: int
    retained_count: int
    retained_bytes: int
    shared_bytes: int


def set_size(graph: HeapGraph, chosen: Bools) -> SetSize:
    """Measure a set of objects by three searches through the heap.

    Args:
        graph: The heap.
        chosen: Bool (N + M,). The set.
    """
    heap = WhatIf(graph)
    lost = heap.lost(Cut.nothing(graph)._replace(objects=chosen))
    within = heap.reached_from(chosen)
    sizes = [
        (int(np.count_nonzero(some)), int(graph.shallow_bytes[some].sum()))
        for some in (chosen, within, lost)
    ]
    return SetSize(*sizes[0], *sizes[1], *sizes[2], sizes[1][1] - sizes[2][1])
