"""What goes if *all* instances of a type go, exactly, for every type at once.

The retained sizes of a type's instances nest and overlap, and an object that two
instances hold together belongs to neither alone. So for each object v take S(v),
the types that every way from the roots to v meets (that of v included)::

    S(v) = {type of v} + the intersection of all S(u) where u refers to v

(its largest solution). Type T retains {v : T in S(v)}. That set is closed below in
the dominator tree, so its bytes are the retained bytes of its topmost members. Two
facts make it cheap: S(v) contains S(idom v), so where the dominator refers to v
itself nothing is to be intersected; and real heaps have few distinct S, so they are
stored once, and their unions and intersections remembered.

A type with one instance retains what the instance retains and enters no set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.dominators import DominatorTree
    from ingest.compiled import Ints, Longs, Number
    from ingest.graph import HeapGraph

_UNKNOWN = -1
_FULL = -1
_SMALL = 24
_POOL, _SETS, _MEMOS = 0, 1, 2


@kernel
def _hash(a: Number, b: Number) -> Number:
    x = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(b) * np.uint64(
        0xC2B2AE3D27D4EB4F
    )
    x ^= x >> np.uint64(31)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(x >> np.uint64(20))


@kernel
def _intern(
    used: Longs, pool: Ints, starts: Longs, slots: Ints, length: Number
) -> Number:
    """The id of the set written behind the pool's end; -1 when room runs out."""
    begin = used[_POOL]
    code: Number = np.int64(length)
    for at in range(begin, begin + length):
        code = _hash(code, pool[at])
    mask = len(slots) - 1
    slot = code & mask
    while slots[slot] >= 0:
        other = slots[slot]
        first = starts[other]
        if starts[other + 1] - first == length:
            same = True
            for k in range(length):
                if pool[first + k] != pool[begin + k]:
                    same = False
                    break
            if same:
                return other
        slot = (slot + 1) & mask
    new = used[_SETS]
    if new + 2 >= len(starts):
        return _FULL
    slots[slot] = new
    used[_POOL] = begin + length
    used[_SETS] = new + 1
    starts[new + 1] = begin + length
    return new


@kernel
def _combine(
    used: Longs,
    pool: Ints,
    starts: Longs,
    slots: Ints,
    memo_keys: Longs,
    memo_values: Ints,
    a: Number,
    b: Number,
    joined: bool,
) -> Number:
    """Set ``a`` with type ``b`` added (joined), or with set ``b`` intersected."""
    if joined:
        key = (np.int64(a) << 32) | np.int64(b) << 1 | 1
    else:
        if a > b:
            a, b = b, a
        key = (np.int64(a) << 32) | np.int64(b) << 1
    begin = used[_POOL]
    p, p_end = starts[a], starts[a + 1]
    # Small sets are intersected faster than an answer is looked up.
    remembered = joined or p_end - p + starts[b + 1] - starts[b] > _SMALL
    mask = len(memo_keys) - 1
    slot = _hash(key, 7) & mask
    while remembered and memo_keys[slot] >= 0:
        if memo_keys[slot] == key:
            return memo_values[slot]
        slot = (slot + 1) & mask
    out = begin
    if begin + (p_end - p) + 1 > len(pool) or 4 * used[_MEMOS] > 3 * len(memo_keys):
        return _FULL
    if joined:
        while p < p_end and pool[p] < b:
            pool[out] = pool[p]
            out += 1
            p += 1
        pool[out] = b
        out += 1
        if p < p_end and pool[p] == b:
            p += 1
        while p < p_end:
            pool[out] = pool[p]
            out += 1
            p += 1
    else:
        q, q_end = starts[b], starts[b + 1]
        while p < p_end and q < q_end:
            if pool[p] == pool[q]:
                pool[out] = pool[p]
                out += 1
                p += 1
                q += 1
            elif pool[p] < pool[q]:
                p += 1
            else:
                q += 1
        if out - begin == p_end - starts[a]:
            return a
        if out - begin == q_end - starts[b]:
            return b
    value = _intern(used, pool, starts, slots, out - begin)
    if value != _FULL and remembered:
        memo_keys[slot] = key
        memo_values[slot] = value
        used[_MEMOS] += 1
    return value


@kernel
def _children(idom: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The dominator tree downwards: first child and next sibling, -1 for none."""
    child = np.full(len(idom), -1, np.int32)
    sibling = np.full(len(idom), -1, np.int32)
    for w in range(len(idom) - 1, 0, -1):
        sibling[w] = child[idom[w]]
        child[idom[w]] = w
    return child, sibling


@kernel
def _solve(
    tree_vertex: NDArray[np.int32],
    number: NDArray[np.int32],
    idom: NDArray[np.int32],
    pred_start: NDArray[np.int64],
    pred_source: NDArray[np.int32],
    finished: NDArray[np.int32],
    ref_start: NDArray[np.int64],
    ref_target: NDArray[np.int32],
    member: NDArray[np.int32],
    capacity: int,
    pool_size: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], bool]:
    """S of every vertex as a set id, the sets, and whether there was room."""
    count = len(tree_vertex)
    used = np.zeros(3, np.int64)
    pool = np.empty(pool_size, np.int32)
    starts = np.zeros(capacity // 2, np.int64)
    slots = np.full(capacity, -1, np.int32)
    memo_keys = np.full(capacity, -1, np.int64)
    memo_values = np.empty(capacity, np.int32)
    used[_SETS] = 0
    empty = _intern(used, pool, starts, slots, 0)
    sets = np.full(count, _UNKNOWN, np.int32)
    sets[0] = empty
    joins = np.zeros(count, np.bool_)
    dirty = np.ones(count, np.bool_)
    for w in range(1, count):
        # Sources ascend and the dominator has the lowest number of them all, if it
        # is one of them.
        joins[w] = pred_source[pred_start[w]] != idom[w]
    child, sibling = _children(idom)
    again = True
    first = True
    while again:
        again = False
        for k in range(len(finished) - 1, -1, -1):
            w = finished[k]
            if not dirty[w]:
                continue
            dirty[w] = False
            below = sets[idom[w]]
            value = below
            if joins[w]:
                value = _UNKNOWN
                for at in range(pred_start[w], pred_start[w + 1]):
                    other = sets[pred_source[at]]
                    if other in (_UNKNOWN, value):
                        continue
                    if value == _UNKNOWN or other == below:
                        value = other
                    else:
                        value = _combine(
                            used,
                            pool,
                            starts,
                            slots,
                            memo_keys,
                            memo_values,
                            value,
                            other,
                            False,
                        )
                        if value == _FULL:
                            return sets, pool, starts, False
                    if value == below:
                        break
            if member[w] >= 0:
                value = _combine(
                    used,
                    pool,
                    starts,
                    slots,
                    memo_keys,
                    memo_values,
                    value,
                    member[w],
                    True,
                )
                if value == _FULL:
                    return sets, pool, starts, False
            if value == sets[w]:
                continue
            sets[w] = value
            # On the first pass only references against the order were taken for
            # everything; later, all that depends on w is to be seen again.
            i = tree_vertex[w]
            for at in range(ref_start[i], ref_start[i + 1]):
                x = number[ref_target[at]]
                if x > 0 and joins[x] and sets[x] != _UNKNOWN and x != w:
                    dirty[x] = True
                    again = True
            if not first:
                x = child[w]
                while x >= 0:
                    dirty[x] = True
                    again = True
                    x = sibling[x]
        first = False
    return sets, pool, starts, True


@kernel
def _sum_topmost(
    vertex: NDArray[np.int32],
    idom: NDArray[np.int32],
    sets: NDArray[np.int32],
    pool: NDArray[np.int32],
    starts: NDArray[np.int64],
    retained_bytes: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    for w in range(1, len(vertex)):
        a, b = sets[w], sets[idom[w]]
        if a == b:
            continue
        q, q_end = starts[b], starts[b + 1]
        for p in range(starts[a], starts[a + 1]):
            while q < q_end and pool[q] < pool[p]:
                q += 1
            if q == q_end or pool[q] != pool[p]:
                sums[pool[p]] += retained_bytes[vertex[w]]


@kernel
def _sum_outermost(
    vertex: NDArray[np.int32],
    idom: NDArray[np.int32],
    kind: NDArray[np.int32],
    retained_bytes: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """A lower bound: instances that no other instance of their type dominates."""
    child, sibling = _children(idom)
    open_count = np.zeros(len(sums), np.int64)
    w = child[0]
    while w > 0:
        t = kind[vertex[w]]
        if t >= 0:
            if open_count[t] == 0:
                sums[t] += retained_bytes[vertex[w]]
            open_count[t] += 1
        if child[w] >= 0:
            w = child[w]
            continue
        while w > 0:
            t = kind[vertex[w]]
            if t >= 0:
                open_count[t] -= 1
            if sibling[w] >= 0:
                w = sibling[w]
                break
            w = idom[w]


LARGEST_CAPACITY = 1 << 23
LARGEST_POOL = 1 << 26


def type_retained_bytes(
    graph: HeapGraph,
    tree: DominatorTree,
    retained_bytes: NDArray[np.int64],
    *,
    capacity: int | None = None,
) -> tuple[NDArray[np.int64], bool]:
    """Bytes that go if all instances of a type go.

    Args:
        graph: The heap; its strong references only count where ``tree`` says so.
        tree: Its dominators.
        retained_bytes: int64 (N + M,), of each object.
        capacity: Room for distinct sets, a power of two; for tests.

    Returns:
        int64 (T,), and whether it is exact: a heap built to have more distinct
        sets than there is room for gets a lower bound, the retained bytes of those
        instances that no other one of their type dominates.
    """
    types = len(graph.type_names)
    kinds = graph.type_index
    sums = np.zeros(types, np.int64)
    if not types or not len(kinds):
        return sums, True
    of_vertex = kinds[tree.vertex]
    of_vertex[0] = -1
    instances = np.bincount(of_vertex[of_vertex >= 0], minlength=types)
    alone = of_vertex.copy()
    alone[(of_vertex < 0) | (instances[of_vertex] != 1)] = -1
    single = np.flatnonzero(alone >= 0)
    sums[alone[single]] = retained_bytes[tree.vertex[single]]
    member = of_vertex
    member[alone >= 0] = -1
    if not (member >= 0).any():
        return sums, True
    room = 1 << max(12, (4 * len(tree.vertex)).bit_length())
    sets, pool, starts, exact = _solve(
        tree.vertex,
        tree.number,
        tree.idom,
        tree.pred_start,
        tree.pred_source,
        tree.finished,
        graph.ref_start,
        graph.ref_target,
        member,
        capacity or min(room, LARGEST_CAPACITY),
        min(64 * room, LARGEST_POOL),
    )
    if exact:
        _sum_topmost(tree.vertex, tree.idom, sets, pool, starts, retained_bytes, sums)
        return sums, True
    sums[:] = 0
    _sum_outermost(tree.vertex, tree.idom, kinds, retained_bytes, sums)
    return sums, False
