"""Delegate types of a program, which no dump marks as such."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.runtime_types import TypeClass, has_delegates
from ingest.analysis.types import sum_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_DELEGATE_NAME = re.compile(r"(EventHandler|Handler|Callback|Delegate)(`|$)")
_DELEGATE_BYTES = 64


def delegate_types(
    graph: HeapGraph, metrics: HeapMetrics, classes: NDArray[np.uint8]
) -> NDArray[np.int64]:
    """Types of the program that are delegates, by their names or their shape.

    A delegate has few references and one size. One with several targets refers to an
    array of delegates of its own type. Other runtimes than .NET have closures instead.
    """
    if not has_delegates(graph.format_name):
        return np.empty(0, np.int64)
    count = metrics.instance_count
    types = len(count)
    source, target = metrics.pair_source, metrics.pair_target
    references = sum_by(source, metrics.pair_count, types)
    is_program = classes == TypeClass.PROGRAM
    small = is_program & (count > 0)
    small &= metrics.type_shallow_bytes <= _DELEGATE_BYTES * count
    small &= metrics.type_shallow_bytes % np.maximum(count, 1) == 0
    small &= references <= 2 * count + 1
    is_array = np.array([name.endswith("[]") for name in graph.type_names], np.bool_)
    is_array &= classes == TypeClass.CONTAINER
    refers_to_itself = np.zeros(types, np.bool_)
    refers_to_itself[source[source == target]] = True
    to_array = np.flatnonzero(small[source] & is_array[target])
    from_array = np.flatnonzero(is_array[source] & small[target])
    back = set(
        zip(source[from_array].tolist(), target[from_array].tolist(), strict=True)
    )
    multicast = {
        kind
        for kind, array, number in zip(
            source[to_array].tolist(),
            target[to_array].tolist(),
            metrics.pair_count[to_array].tolist(),
            strict=True,
        )
        if (array, kind) in back
        and not refers_to_itself[kind]
        and 10 * number <= count[kind] + 10
    }
    # A class of that name has collections and texts of its own; a delegate has none.
    is_own = (classes[target] == TypeClass.CONTAINER) & ~is_array[target]
    is_own |= classes[target] == TypeClass.LIBRARY
    small[source[is_own]] = False
    named = [
        kind
        for kind in np.flatnonzero(small).tolist()
        if kind in multicast or _DELEGATE_NAME.search(graph.type_names[kind])
    ]
    return np.array(named, np.int64)
