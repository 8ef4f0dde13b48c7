"""Sums by type: instances, bytes, the top of the dominator tree, who refers to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.graph import HeapGraph


@kernel
def _sum(
    group: NDArray[np.int32], values: NDArray[np.int64], sums: NDArray[np.int64]
) -> None:
    for i in range(len(group)):
        if group[i] >= 0:
            sums[group[i]] += values[i]


def sum_by(
    group: NDArray[np.int32], values: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """int64 (groups,): sums of ``values`` by ``group``; a negative group is none."""
    sums = np.zeros(groups, np.int64)
    _sum(group, values, sums)
    return sums


def count_by(group: NDArray[np.int32], groups: int) -> NDArray[np.int64]:
    """int64 (groups,): rows of each group; a negative group is none."""
    return sum_by(group, np.ones(len(group), np.int64), groups)


@kernel
def _count_pairs(
    ref_start: NDArray[np.int64],
    ref_target: NDArray[np.int32],
    kind: NDArray[np.int32],
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts of (source type, target type), in an open hash table of ``size``."""
    keys = np.full(size, -1, np.int64)
    counts = np.zeros(size, np.int64)
    mask = size - 1
    used = 0
    for i in range(len(ref_start) - 1):
        for at in range(ref_start[i], ref_start[i + 1]):
            t = kind[ref_target[at]]
            if t < 0:
                continue
            key = (np.int64(kind[i]) << 32) | np.int64(t)
            slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
            while keys[slot] >= 0 and keys[slot] != key:
                slot = (slot + 1) & mask
            if keys[slot] < 0:
                keys[slot] = key
                used += 1
                if 2 * used > size:
                    return keys[:0], counts[:0]
            counts[slot] += 1
    filled = keys >= 0
    return keys[filled], counts[filled]


def type_references(
    graph: HeapGraph,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """References between the instances of each pair of types, weak ones too.

    References to missing objects have no target type and are left out.

    Returns:
        int32 source types, int32 target types, int64 counts; by source, then target.
    """
    size = 1 << 16
    while True:
        keys, counts = _count_pairs(
            graph.ref_start, graph.ref_target, graph.type_index, size
        )
        if len(keys) or not graph.reference_count or size > 4 * graph.reference_count:
            break
        size *= 4
    order = np.argsort(keys)
    keys = keys[order]
    return (
        (keys >> 32).astype(np.int32),
        (keys & 0xFFFFFFFF).astype(np.int32),
        counts[order],
    )
