"""What is freed with *all* instances of a type, exactly, for every type at once.

The retained sizes of a type's instances nest and overlap, and an object that two
instances hold together belongs to neither alone. So for each object v take S(v),
the types on every path from the roots to v (including that of v)::

    S(v) = {type of v} + the intersection of all S(u) where u refers to v

(its largest solution). Type T retains {v : T in S(v)}. That set is closed below in
the dominator tree, so its bytes are the retained bytes of its topmost members.

S(v) contains S(idom v), so only what v adds to it is stored, and S(u) beyond S(d) is
collected on the path from u up to d, skipping those that add nothing. Only where the
dominator does not refer to v itself (a *join*) can v add more than its own type:
what all who refer to v have beyond S(idom v). In preorder of the dominator tree,
siblings in reverse postorder of the search, most of them come before v: one pass
takes the rest for everything, and what was wrong in that is taken back join by join.

So that little is: the same equations with types in 64 classes, a bit each, are
solved first by plain sweeps. A type whose class is not in the mask of v is not in
S(v), and in a heap of a million objects that leaves one join in twenty.

A type with one instance retains what the instance retains and enters no set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.typework import (
    HEAD,
    NONE,
    ONE,
    QUEUED,
    STAMP,
    USED,
    WORK,
    sets_for,
    work_for,
)
from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.nesting import Nest
    from ingest.analysis.typework import Sets, Work
    from ingest.compiled import Ints, Longs, Number
    from ingest.heap.graph import HeapGraph

_FEW = 1000
_SWEEPS = 16


@kernel
def _bound(nest: Work, types: Sets, most_sweeps: int) -> None:
    """Narrow the masks, until a sweep narrows few of them."""
    # To hand on a named tuple costs more than a turn of these loops.
    start, source, mask, above = nest.start, nest.source, nest.mask, nest.above
    kind, bit = nest.kind, types.bit
    everything = ~np.uint64(0)
    mask[0] = 0
    for _ in range(most_sweeps):
        narrowed = 0
        for p in range(1, len(mask)):
            if start[p] == start[p + 1]:
                met = mask[above[p]]
            else:
                met = everything
                for at in range(start[p], start[p + 1]):
                    met &= mask[source[at]]
            if kind[p] >= 0:
                met |= bit[kind[p]]
            if met != mask[p]:
                mask[p] = met
                narrowed += 1
        if narrowed * _FEW <= len(mask):
            break


@kernel
def _mark(nest: Work, types: Sets, u: int, d: int) -> Number:
    """Stamp the types of S(u) beyond S(d), where ``d`` dominates ``u``."""
    nest.book[STAMP] += 1
    stamp = nest.book[STAMP]
    x = nest.top[u]
    while x > d:
        nest.book[WORK] += 1
        entry = nest.added[x]
        if entry <= ONE:
            types.stamp[ONE - entry] = stamp
        else:
            for k in range(entry + 1, entry + 1 + nest.pool[entry]):
                types.stamp[nest.pool[k]] = stamp
        x = nest.top[nest.above[x]]
    return stamp


@kernel
def _shared(nest: Work, types: Sets, p: int, have: int, done: int) -> tuple[int, bool]:
    """Keep of ``types.first[:have]`` what all who refer to ``p`` have.

    Places from ``done`` on count as having everything.

    Returns:
        How many are left, and whether there were places that counted so.
    """
    optimistic = False
    for at in range(nest.start[p], nest.start[p + 1]):
        u = nest.source[at]
        if u >= done:
            optimistic = True
            continue
        stamp = _mark(nest, types, u, nest.above[p])
        left = 0
        for k in range(have):
            if types.stamp[types.first[k]] == stamp:
                types.first[left] = types.first[k]
                left += 1
        have = left
        if have == 0:
            break
    return have, optimistic


@kernel
def _candidates(nest: Work, types: Sets, p: int, mask: Number) -> int:
    """Put into ``types.first`` what one who refers to ``p`` has, but p's own type.

    Only what ``mask`` allows.
    """
    d = nest.above[p]
    chosen = -1
    for at in range(nest.start[p], nest.start[p + 1]):
        u = nest.source[at]
        if u < p:
            if nest.top[u] <= d:
                return 0
            if chosen < 0:
                chosen = u
    have = 0
    x = nest.top[chosen]
    while x > d:
        entry = nest.added[x]
        if entry <= ONE:
            t = ONE - entry
            if t != nest.kind[p] and types.bit[t] & mask:
                types.first[have] = t
                have += 1
        else:
            for k in range(entry + 1, entry + 1 + nest.pool[entry]):
                t = nest.pool[k]
                if t != nest.kind[p] and types.bit[t] & mask:
                    types.first[have] = t
                    have += 1
        x = nest.top[nest.above[x]]
    return have


@kernel
def _keep(nest: Work, types: Sets, p: int, count: int) -> bool:
    """Let ``p`` add ``types.first[:count]``; false when the room runs out.

    Lists are sorted, and shared where that is cheap to see; none is ever changed.
    """
    first, pool, slots = types.first, nest.pool, nest.slots
    if count < 2:
        nest.added[p] = ONE - first[0] if count else NONE
        return True
    code = np.uint64(count)
    for k in range(count):
        t = first[k]
        before = k
        while before and first[before - 1] > t:
            first[before] = first[before - 1]
            before -= 1
        first[before] = t
        code += np.uint64(t + 1) * np.uint64(t + 1) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((code >> np.uint64(32)) & np.uint64(len(slots) - 1))
    begin = slots[slot]
    if begin >= 0 and pool[begin] == count:
        k = 0
        while k < count and pool[begin + 1 + k] == first[k]:
            k += 1
        if k == count:
            nest.added[p] = begin
            return True
    begin = nest.book[USED]
    if begin + count + 1 > len(pool):
        return False
    pool[begin] = count
    for k in range(count):
        pool[begin + 1 + k] = first[k]
    nest.book[USED] = begin + count + 1
    nest.added[p] = slots[slot] = begin
    return True


@kernel
def _add(nest: Work, types: Sets, p: int, t: int) -> bool:
    """Let ``p`` add ``t`` to what it adds; changes ``types.first``."""
    entry = nest.added[p]
    count = 0
    if entry <= ONE:
        types.first[0] = ONE - entry
        count = 1
    elif entry != NONE:
        count = nest.pool[entry]
        for k in range(count):
            types.first[k] = nest.pool[entry + 1 + k]
    types.first[count] = t
    return _keep(nest, types, p, count + 1)


@kernel
def _wait(nest: Work, p: int) -> None:
    if not nest.waits[p]:
        nest.waits[p] = True
        at = nest.book[HEAD] + nest.book[QUEUED]
        nest.ring[at if at < len(nest.ring) else at - len(nest.ring)] = p
        nest.book[QUEUED] += 1


@kernel
def _descend(nest: Work, types: Sets) -> bool:
    """The first pass: whoever comes later counts as having everything."""
    start, source, mask, above = nest.start, nest.source, nest.mask, nest.above
    kind, end, added, top, cover = (
        nest.kind,
        nest.end,
        nest.added,
        nest.top,
        types.cover,
    )
    for p in range(1, len(end)):
        have = 0
        if start[p] < start[p + 1]:
            met = ~np.uint64(0)
            for at in range(start[p], start[p + 1]):
                met &= mask[source[at]]
            have = _candidates(nest, types, p, met) if met else 0
            if have:
                have, optimistic = _shared(nest, types, p, have, p)
                for k in range(have):
                    cover[types.first[k]] = end[p]
                if have and optimistic:
                    _wait(nest, p)
        t = kind[p]
        own = t >= 0 and cover[t] <= p
        if own:
            cover[t] = end[p]
        if have:
            if own:
                types.first[have] = t
            if not _keep(nest, types, p, have + own):
                return False
        else:
            added[p] = ONE - t if own else NONE
        top[p] = top[above[p]] if added[p] == NONE else p
    return True


@kernel
def _has_lost(nest: Work, types: Sets, p: int, q: int) -> bool:
    """Whether ``q`` adds a type that ``p`` has lost."""
    entry = nest.added[q]
    if entry == NONE:
        return False
    if entry <= ONE:
        t = ONE - entry
        return bool(types.lost[t]) and bool(types.cover[t] <= p)
    for k in range(entry + 1, entry + 1 + nest.pool[entry]):
        t = nest.pool[k]
        if types.lost[t] and types.cover[t] <= p:
            return True
    return False


@kernel
def _tell(nest: Work, types: Sets, p: int) -> None:
    """Have those joins looked at again that ``p``, who lost types, refers to."""
    i = nest.vertex[p]
    for at in range(nest.ref_start[i], nest.ref_start[i + 1]):
        q = nest.place[nest.ref_target[at]]
        if (
            nest.start[q] < nest.start[q + 1]
            and not (q <= p < nest.end[q])
            and _has_lost(nest, types, p, q)
        ):
            _wait(nest, q)


@kernel
def _take_back(nest: Work, types: Sets, c: int, lost: int) -> bool:
    """S(c) has lost ``types.second[:lost]``: mend all that ``c`` dominates.

    There, who has a lost type between ``c`` and itself keeps it, and adds it now.
    """
    for k in range(lost):
        types.lost[types.second[k]] = True
        types.cover[types.second[k]] = 0
    nest.top[c] = nest.top[nest.above[c]] if nest.added[c] == NONE else c
    _tell(nest, types, c)
    for p in range(c + 1, nest.end[c]):
        open_count = 0
        for k in range(lost):
            if types.cover[types.second[k]] <= p:
                types.first[open_count] = types.second[k]
                open_count += 1
        t = nest.kind[p]
        if open_count:
            if nest.start[p] < nest.start[p + 1]:
                have, optimistic = _shared(nest, types, p, open_count, p)
                for k in range(have):
                    types.third[k] = types.first[k]
                for k in range(have):
                    if types.third[k] != t:
                        types.cover[types.third[k]] = nest.end[p]
                        if not _add(nest, types, p, types.third[k]):
                            return False
                if have and optimistic:
                    _wait(nest, p)
            if t >= 0 and types.lost[t] and types.cover[t] <= p:
                types.cover[t] = nest.end[p]
                if not _add(nest, types, p, t):
                    return False
        nest.top[p] = nest.top[nest.above[p]] if nest.added[p] == NONE else p
        if open_count:
            _tell(nest, types, p)
    for k in range(lost):
        types.lost[types.second[k]] = False
    nest.book[WORK] += nest.end[c] - c
    return True


@kernel
def _settle(nest: Work, types: Sets, most_work: int) -> bool:
    """Look at joins again until nothing has to be taken back any more."""
    while nest.book[QUEUED]:
        p = nest.ring[nest.book[HEAD]]
        nest.waits[p] = False
        nest.book[QUEUED] -= 1
        nest.book[HEAD] += 1
        if nest.book[HEAD] == len(nest.ring):
            nest.book[HEAD] = 0
        if nest.book[WORK] > most_work:
            return False
        entry = nest.added[p]
        if entry == NONE:
            continue
        own, had = False, 0
        if entry <= ONE:
            own = ONE - entry == nest.kind[p]
            if not own:
                types.second[0] = ONE - entry
                had = 1
        else:
            for k in range(entry + 1, entry + 1 + nest.pool[entry]):
                if nest.pool[k] == nest.kind[p]:
                    own = True
                else:
                    types.second[had] = nest.pool[k]
                    had += 1
        for k in range(had):
            types.first[k] = types.second[k]
        left, _ = _shared(nest, types, p, had, len(nest.end))
        if left == had:
            continue
        # What is left stands in the old order, so that one pass tells the lost.
        lost = kept = 0
        for k in range(had):
            if kept < left and types.first[kept] == types.second[k]:
                kept += 1
            else:
                types.second[lost] = types.second[k]
                lost += 1
        if own:
            types.first[left] = nest.kind[p]
            left += 1
        if not _keep(nest, types, p, left):
            return False
        if not _take_back(nest, types, p, lost):
            return False
    return True


@kernel
def _solve(nest: Work, types: Sets, most_work: int) -> bool:
    """Find what each place adds; false when the room, or the patience, ran out."""
    _bound(nest, types, _SWEEPS)
    nest.top[0] = 0
    nest.added[0] = NONE
    if not _descend(nest, types):
        return False
    return _settle(nest, types, most_work)


@kernel
def _sum(
    nest: Work,
    cover: Ints,
    type_index: Ints,
    retained_bytes: Longs,
    sums: Longs,
    exact: bool,
) -> None:
    """Sum up every type, or those instances that no other of their type dominates."""
    for p in range(1, len(nest.end)):
        i = nest.vertex[p]
        t = type_index[i]
        held = retained_bytes[i]
        if t >= 0 and (nest.kind[p] < 0 or (not exact and cover[t] <= p)):
            cover[t] = nest.end[p]
            sums[t] += held
        if not exact or nest.added[p] == NONE:
            continue
        entry = nest.added[p]
        if entry <= ONE:
            sums[ONE - entry] += held
        else:
            for k in range(entry + 1, entry + 1 + nest.pool[entry]):
                sums[nest.pool[k]] += held


WORK_PER_REFERENCE = 200
"""Steps upwards, a reference, after which a heap counts as built to be hard."""


def type_retained_bytes(
    graph: HeapGraph,
    nest: Nest,
    retained_bytes: NDArray[np.int64],
    *,
    room: int | None = None,
) -> tuple[NDArray[np.int64], bool]:
    """Bytes that are freed with all instances of a type.

    Memory: 22 bytes a reached object, and what the sets need (16 at most).

    Args:
        graph: The heap; its strong references only count where ``nest`` says so.
        nest: Its dominator tree by place.
        retained_bytes: int64 (N + M,), of each object.
        room: How many int32 the sets may take; for tests.

    Returns:
        int64 (T,), and whether it is exact: a heap built to need more room or time
        than there is gets a lower bound, the retained bytes of those instances that
        no other one of their type dominates.
    """
    types, count = len(graph.type_names), len(nest.vertex)
    sums = np.zeros(types, np.int64)
    if not types or count == 1:
        return sums, True
    work = work_for(graph, nest, room)
    sets = sets_for(nest)
    most_work = WORK_PER_REFERENCE * (count + graph.reference_count)
    exact = _solve(work, sets, most_work)
    if not exact:
        sets.cover[:] = 0
    _sum(work, sets.cover, graph.type_index, retained_bytes, sums, exact)
    return sums, bool(exact)
