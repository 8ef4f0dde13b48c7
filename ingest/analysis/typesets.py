"""What goes if *all* instances of a type go, exactly, for every type at once.

The retained sizes of a type's instances nest and overlap, and an object that two
instances hold together belongs to neither alone. So for each object v take S(v),
the types that every way from the roots to v meets (that of v included)::

    S(v) = {type of v} + the intersection of all S(u) where u refers to v

(its largest solution). Type T retains {v : T in S(v)}. That set is closed below in
the dominator tree, so its bytes are the retained bytes of its topmost members.

S(v) contains S(idom v), so only what v adds to it is kept, and S(u) beyond S(d) is
read off on the way from u up to d, past those who add nothing. Only where the
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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.types import class_bits
from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.nesting import Nest
    from ingest.compiled import Bools, Ids, Ints, Longs, Number
    from ingest.graph import HeapGraph

_NONE = -1
_ONE = -2
_FEW = 1000
_SWEEPS = 16
_USED, _STAMP, _HEAD, _QUEUED, _WORK = range(5)


class _Work(NamedTuple):
    """The columns of a `Nest`, and what is worked out about its places.

    Attributes:
        vertex, place, end, above, kind, start, source: Of the nest.
        ref_start, ref_target: Of the graph.
        mask: uint64 (V,). Classes of types that S cannot reach beyond.
        top: int32 (V,). The nearest that adds something, from here upwards.
        added: int32 (V,). S beyond S of the dominator: `_NONE`, `_ONE` - type, or
            where it begins in ``pool``: how many, and which.
        pool: int32.
        ring: int32 (V,). Joins that are to be looked at again.
        waits: bool (V,). Whether a place is in ``ring``.
        book: int64 (5,). Pool used, last stamp, head and length of the ring, work.
    """

    vertex: Ints
    place: Ints
    end: Ints
    above: Ints
    kind: Ints
    start: Longs
    source: Ints
    ref_start: Longs
    ref_target: Ints
    mask: Ids
    top: Ints
    added: Ints
    pool: Ints
    ring: Ints
    waits: Bools
    book: Longs


class _Types(NamedTuple):
    """Room for sets of types.

    Attributes:
        bit: uint64 (T,). Its class: one bit.
        cover: int32 (T,). The type is in S of all places below this one.
        stamp: int64 (T,). When it was last seen on a way upwards.
        lost: bool (T,). Whether it is being taken back.
        first, second: int32 (T,). Sets in the making.
    """

    bit: Ids
    cover: Ints
    stamp: Longs
    lost: Bools
    first: Ints
    second: Ints


@kernel
def _bound(nest: _Work, types: _Types, most_sweeps: int) -> None:
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
def _mark(nest: _Work, types: _Types, u: int, d: int) -> Number:
    """Stamp the types of S(u) beyond S(d), where ``d`` dominates ``u``."""
    nest.book[_STAMP] += 1
    stamp = nest.book[_STAMP]
    x = nest.top[u]
    while x > d:
        nest.book[_WORK] += 1
        entry = nest.added[x]
        if entry <= _ONE:
            types.stamp[_ONE - entry] = stamp
        else:
            for k in range(entry + 1, entry + 1 + nest.pool[entry]):
                types.stamp[nest.pool[k]] = stamp
        x = nest.top[nest.above[x]]
    return stamp


@kernel
def _shared(
    nest: _Work, types: _Types, p: int, have: int, done: int
) -> tuple[int, bool]:
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
def _candidates(nest: _Work, types: _Types, p: int, mask: Number) -> int:
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
        if entry <= _ONE:
            t = _ONE - entry
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
def _add(nest: _Work, p: int, t: int) -> bool:
    """Let ``p`` add ``t`` to what it adds; false when the room runs out."""
    entry = nest.added[p]
    if entry == _NONE:
        nest.added[p] = _ONE - t
        return True
    used = nest.book[_USED]
    count = 1 if entry <= _ONE else nest.pool[entry]
    if entry <= _ONE or entry + 1 + count != used:
        # Only the last list of the pool can grow where it is.
        if used + count + 2 > len(nest.pool):
            return False
        if entry <= _ONE:
            nest.pool[used + 1] = _ONE - entry
        else:
            for k in range(count):
                nest.pool[used + 1 + k] = nest.pool[entry + 1 + k]
        entry = used
        nest.added[p] = entry
    elif used + 1 > len(nest.pool):
        return False
    nest.pool[entry] = count + 1
    nest.pool[entry + 1 + count] = t
    nest.book[_USED] = entry + count + 2
    return True


@kernel
def _wait(nest: _Work, p: int) -> None:
    if not nest.waits[p]:
        nest.waits[p] = True
        at = nest.book[_HEAD] + nest.book[_QUEUED]
        nest.ring[at if at < len(nest.ring) else at - len(nest.ring)] = p
        nest.book[_QUEUED] += 1


@kernel
def _descend(nest: _Work, types: _Types) -> bool:
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
        added[p] = _NONE
        if start[p] < start[p + 1]:
            met = ~np.uint64(0)
            for at in range(start[p], start[p + 1]):
                met &= mask[source[at]]
            have = _candidates(nest, types, p, met) if met else 0
            if have:
                have, optimistic = _shared(nest, types, p, have, p)
                for k in range(have):
                    cover[types.first[k]] = end[p]
                    if not _add(nest, p, types.first[k]):
                        return False
                if have and optimistic:
                    _wait(nest, p)
        t = kind[p]
        if t >= 0 and cover[t] <= p:
            cover[t] = end[p]
            if added[p] == _NONE:
                added[p] = _ONE - t
            elif not _add(nest, p, t):
                return False
        top[p] = top[above[p]] if added[p] == _NONE else p
    return True


@kernel
def _has_lost(nest: _Work, types: _Types, p: int, q: int) -> bool:
    """Whether ``q`` adds a type that ``p`` has lost."""
    entry = nest.added[q]
    if entry == _NONE:
        return False
    if entry <= _ONE:
        t = _ONE - entry
        return bool(types.lost[t]) and bool(types.cover[t] <= p)
    for k in range(entry + 1, entry + 1 + nest.pool[entry]):
        t = nest.pool[k]
        if types.lost[t] and types.cover[t] <= p:
            return True
    return False


@kernel
def _tell(nest: _Work, types: _Types, p: int) -> None:
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
def _take_back(nest: _Work, types: _Types, c: int, lost: int) -> bool:
    """S(c) has lost ``types.second[:lost]``: mend all that ``c`` dominates.

    There, who has a lost type between ``c`` and itself keeps it, and adds it now.
    """
    for k in range(lost):
        types.lost[types.second[k]] = True
        types.cover[types.second[k]] = 0
    nest.top[c] = nest.top[nest.above[c]] if nest.added[c] == _NONE else c
    _tell(nest, types, c)
    for p in range(c + 1, nest.end[c]):
        open_count = 0
        for k in range(lost):
            if types.cover[types.second[k]] <= p:
                types.first[open_count] = types.second[k]
                open_count += 1
        t = nest.kind[p]
        if open_count:
            if t >= 0 and types.lost[t] and types.cover[t] <= p:
                types.cover[t] = nest.end[p]
                if not _add(nest, p, t):
                    return False
            if nest.start[p] < nest.start[p + 1]:
                have, optimistic = _shared(nest, types, p, open_count, p)
                for k in range(have):
                    if types.first[k] != t:
                        types.cover[types.first[k]] = nest.end[p]
                        if not _add(nest, p, types.first[k]):
                            return False
                if have and optimistic:
                    _wait(nest, p)
        nest.top[p] = nest.top[nest.above[p]] if nest.added[p] == _NONE else p
        if open_count:
            _tell(nest, types, p)
    for k in range(lost):
        types.lost[types.second[k]] = False
    nest.book[_WORK] += nest.end[c] - c
    return True


@kernel
def _settle(nest: _Work, types: _Types, most_work: int) -> bool:
    """Look at joins again until nothing has to be taken back any more."""
    while nest.book[_QUEUED]:
        p = nest.ring[nest.book[_HEAD]]
        nest.waits[p] = False
        nest.book[_QUEUED] -= 1
        nest.book[_HEAD] += 1
        if nest.book[_HEAD] == len(nest.ring):
            nest.book[_HEAD] = 0
        if nest.book[_WORK] > most_work:
            return False
        entry = nest.added[p]
        if entry == _NONE:
            continue
        own, had = False, 0
        if entry <= _ONE:
            own = _ONE - entry == nest.kind[p]
            if not own:
                types.second[0] = _ONE - entry
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
        if left > 1:
            nest.pool[entry] = left
            for k in range(left):
                nest.pool[entry + 1 + k] = types.first[k]
        else:
            nest.added[p] = _ONE - types.first[0] if left else _NONE
        if not _take_back(nest, types, p, lost):
            return False
    return True


@kernel
def _solve(nest: _Work, types: _Types, most_work: int) -> bool:
    """Find what each place adds; false when the room, or the patience, ran out."""
    _bound(nest, types, _SWEEPS)
    nest.top[0] = 0
    nest.added[0] = _NONE
    if not _descend(nest, types):
        return False
    return _settle(nest, types, most_work)


@kernel
def _sum(
    nest: _Work,
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
        if not exact or nest.added[p] == _NONE:
            continue
        entry = nest.added[p]
        if entry <= _ONE:
            sums[_ONE - entry] += held
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
    """Bytes that go if all instances of a type go.

    Memory: 21 bytes a reached object, and what the sets need (up to 16).

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
    columns = nest.vertex, nest.place, nest.end, nest.above, nest.kind, nest.start
    work = _Work(
        *columns,
        nest.source,
        graph.ref_start,
        graph.ref_target,
        mask=np.full(count, ~np.uint64(0)),
        top=np.empty(count, np.int32),
        added=np.empty(count, np.int32),
        # Pages that no set reaches are never resident.
        pool=np.empty(16 * count + 65536 if room is None else room, np.int32),
        ring=np.empty(count, np.int32),
        waits=np.zeros(count, np.bool_),
        book=np.zeros(5, np.int64),
    )
    sets = _Types(
        bit=class_bits(nest.instances),
        cover=np.zeros(types, np.int32),
        stamp=np.zeros(types, np.int64),
        lost=np.zeros(types, np.bool_),
        first=np.empty(types, np.int32),
        second=np.empty(types, np.int32),
    )
    most_work = WORK_PER_REFERENCE * (count + graph.reference_count)
    exact = _solve(work, sets, most_work)
    if not exact:
        sets.cover[:] = 0
    _sum(work, sets.cover, graph.type_index, retained_bytes, sums, exact)
    return sums, bool(exact)
