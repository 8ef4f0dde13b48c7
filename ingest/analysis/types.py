"""Sums by type: instances, bytes, the top of the dominator tree, who refers to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph


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
def tally(
    kind: Ints,
    shallow_bytes: Longs,
    distance: Ints,
    dominator: Ints,
    retained_bytes: Longs,
    sums: Longs,
) -> None:
    """Add up columns of objects by type, those without one left out.

    ``sums`` is int64 (6, T), all 0: instances, reached instances, bytes, reached
    bytes, instances that only the roots dominate, what those retain.
    """
    for i in range(len(kind)):
        t = kind[i]
        if t < 0:
            continue
        sums[0, t] += 1
        sums[2, t] += shallow_bytes[i]
        if distance[i] >= 0:
            sums[1, t] += 1
            sums[3, t] += shallow_bytes[i]
        if dominator[i] == ROOT:
            sums[4, t] += 1
            sums[5, t] += retained_bytes[i]


@kernel
def _count_pairs(
    ref_start: Longs,
    ref_target: Ints,
    kind: Ints,
    first: int,
    begin: int,
    old: Longs,
    table: Longs,
) -> tuple[int, int]:
    """Count (source type, target type) in an open hash table.

    The tables are int64 (size, 2): key, or -1, and count; ``size`` a power of two.
    What ``old`` holds is taken over; from object ``first`` and reference ``begin`` on
    all are counted, until the table is half full.

    Returns:
        Object and reference to continue with.
    """
    mask = len(table) - 1
    used = 0
    for row in range(len(old)):
        key = old[row, 0]
        if key >= 0:
            slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
            while table[slot, 0] >= 0:
                slot = (slot + 1) & mask
            table[slot, 0] = key
            table[slot, 1] = old[row, 1]
            used += 1
    n = len(ref_start) - 1
    for i in range(first, n):
        for at in range(max(begin, ref_start[i]), ref_start[i + 1]):
            t = kind[ref_target[at]]
            if t < 0:
                continue
            key = (np.int64(kind[i]) << 32) | np.int64(t)
            slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
            while table[slot, 0] >= 0 and table[slot, 0] != key:
                slot = (slot + 1) & mask
            if table[slot, 0] < 0:
                if 2 * used >= len(table):
                    return i, at
                table[slot, 0] = key
                table[slot, 1] = 0
                used += 1
            table[slot, 1] += 1
    return n, len(ref_target)


def type_references(
    graph: HeapGraph,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """References between the instances of each pair of types, weak ones too.

    References to missing objects have no target type and are left out.

    Returns:
        int32 source types, int32 target types, int64 counts; by source, then target.
    """
    first = begin = 0
    size = 1 << 14
    table = np.empty((0, 2), np.int64)
    while first < len(graph.object_id):
        larger = np.empty((size, 2), np.int64)
        larger[:, 0] = -1
        first, begin = _count_pairs(
            graph.ref_start,
            graph.ref_target,
            graph.type_index,
            first,
            begin,
            table,
            larger,
        )
        table = larger
        size *= 4
    table = table[table[:, 0] >= 0]
    keys, counts = table[:, 0], table[:, 1]
    order = np.argsort(keys)
    keys = keys[order]
    return (
        (keys >> 32).astype(np.int32),
        (keys & 0xFFFFFFFF).astype(np.int32),
        counts[order],
    )


ALONE = 32
"""Types, those with most instances, that are a class by themselves."""


def class_bits(instances: Longs) -> Ids:
    """uint64 (T,): one bit a type; those with most instances have theirs alone."""
    rank = np.empty(len(instances), np.uint64)
    rank[np.argsort(-instances, kind="stable")] = np.arange(len(instances))
    shared = rank >= ALONE
    rank[shared] = ALONE + rank[shared] % (64 - ALONE)
    return np.uint64(1) << rank
