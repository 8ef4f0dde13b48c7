"""The retained size of all instances of a type together, for every type at once.

Retained sizes of the instances of a type overlap, and an object that two instances
Retained sizes of a type's instances overlap, and an object that two instances hold
together is retained by neither alone. So for each object v the set of types that
dominate it is computed: D(v) has each type with an instance on every path from the
roots to v, which includes the type of v itself::

    D(v) = {type of v} + the intersection of D(u) over all referrers u of v

(the largest solution). Type T retains the set {v : T in D(v)}. The set has, with an
object, all that the object dominates. So its size is the sum of the retained bytes of
those members whose immediate dominator is not a member.

D(v) contains D(idom(v)), so only the types that v adds to it are stored. D(u) without
D(d), where d dominates u, is collected on the path from u up to d, skipping objects
that add nothing. Only a *join*, an object to which its immediate dominator does not
refer, can add more than its own type: the types that all its referrers have beyond
D(idom(v)). In preorder of the dominator tree, with siblings in reverse postorder of
the depth-first search, most referrers come before v. One pass assumes that the others
have all types; types that this assumption added wrongly are then removed, join by join.

To leave little to remove, the same equations are first solved for 64 classes of types,
a bit each, by sweeps over all objects. A type whose class is not in the mask of v is
not in D(v). The types that dominate most objects are alone in their classes: their bits
are in most masks, and would say nothing about other types of the class.

A type with a single instance retains what the instance retains, and is in no set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.dominators import sum_retained
from ingest.analysis.types import type_classes
from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from ingest.analysis.preorder import Preorder
    from ingest.arrays.compiled import Bools, Ids, Ints, Longs, Number, Starts
    from ingest.heap.graph import HeapGraph

NONE = -1
USED, STAMP, HEAD, QUEUED, WORK = range(5)


class SolverState(NamedTuple):
    """State of the solver: V positions in preorder, and buffers for T types.

    D(p) is the set of types that dominate position p.

    Attributes:
        ref_start, ref_target: Columns of the graph.
        mask: uint64 (V,). Bits of the type classes that D can contain.
        top: int32 (V,). The nearest position with added types on the path from here
            to the super-root, including this one; 0 if there is none.
        added: int32 (V,). The types of D that are not in D of the dominator: `NONE`,
            or a list in ``pool``.
        pool: int32. Lists of types. Entry t < T is the list of type t alone; after
            these, a list is its length and its types, sorted.
        slots: int32. Hash table of the lists in ``pool``; -1 where empty.
        queue: int32 (V,). Joins to be checked again, a ring buffer.
        is_queued: bool (V,). Whether a position is in ``queue``.
        counters: int64 (5,). Entries used of ``pool``, the last stamp, head and
            length of ``queue``, steps of work.
        type_bit: uint64 (T,). The class of each type: one bit.
        single_types: int32 (at most 32,). The type of each class that has only one,
            in the order of bits.
        cover: int32 (T,). All positions below this one have the type in D.
        type_stamp: int64 (T,). Stamp of the last path on which the type was found.
        is_lost: bool (T,). Whether the type is being removed.
        current, removed, found: int32 (T,). Buffers for sets of types.
    """

    ref_start: Starts
    ref_target: Ints
    mask: Ids
    top: Ints
    added: Ints
    pool: Ints
    slots: Ints
    queue: Ints
    is_queued: Bools
    counters: Longs
    type_bit: Ids
    single_types: Ints
    cover: Ints
    type_stamp: Longs
    is_lost: Bools
    current: Ints
    removed: Ints
    found: Ints


def initial_state(
    graph: HeapGraph, tree: Preorder, capacity: int | None
) -> SolverState:
    """Allocate the arrays; ``capacity`` limits the int32 in lists of several types."""
    count, types = len(tree.object_index), len(tree.dominated_count)
    if capacity is None:
        # Pages that no list reaches are never resident.
        capacity = 4 * count + 65536
    pool = np.empty(types + capacity, np.int32)
    pool[:types] = np.arange(types, dtype=np.int32)
    counters = np.zeros(5, np.int64)
    counters[USED] = types
    type_bit, single_types = type_classes(tree.dominated_count)
    return SolverState(
        graph.ref_start,
        graph.ref_target,
        mask=np.full(count, ~np.uint64(0)),
        top=np.empty(count, np.int32),
        added=np.empty(count, np.int32),
        pool=pool,
        slots=np.full(1 << max(10, min(20, count.bit_length() - 3)), -1, np.int32),
        queue=np.empty(count, np.int32),
        is_queued=np.zeros(count, np.bool_),
        counters=counters,
        type_bit=type_bit,
        single_types=single_types,
        cover=np.zeros(types, np.int32),
        type_stamp=np.zeros(types, np.int64),
        is_lost=np.zeros(types, np.bool_),
        current=np.empty(types, np.int32),
        removed=np.empty(types, np.int32),
        found=np.empty(types, np.int32),
    )


_MAX_SWEEPS = 16
_MIN_NARROWED = 25
"""Sweeps end when another one is expected to narrow fewer than one mask in so many:
narrowing the last ones takes longer than it saves."""

_MANY_POSITIONS = 1 << 16
"""With at least so many masks, two processors narrow them."""

_WORK_PER_REFERENCE = 200
"""Steps for each object or reference after which the exact computation is given up."""


@kernel
def _narrow(tree: Preorder, state: SolverState, first: int, end: int) -> int:
    """Narrow the masks from ``first`` to ``end`` once; return how many changed."""
    # Passing a named tuple costs more than an iteration of these loops.
    start, referrer, mask = tree.referrer_start, tree.referrer, state.mask
    dominator, type_index, type_bit = tree.dominator, tree.type_index, state.type_bit
    everything = ~np.uint64(0)
    last, last_entry = len(mask) - 1, len(referrer) - 1
    narrowed = 0
    for position in range(first, end):
        fetch(mask, dominator[min(position + 2 * AHEAD, last)])
        if start[position] == start[position + 1]:
            common = mask[dominator[position]]
        else:
            common = everything
            for entry in range(start[position], start[position + 1]):
                fetch(mask, referrer[min(entry + 2 * AHEAD, last_entry)])
                common &= mask[referrer[entry]]
        if type_index[position] >= 0:
            common |= type_bit[type_index[position]]
        if common != mask[position]:
            mask[position] = common
            narrowed += 1
    return narrowed


def _narrow_masks(tree: Preorder, state: SolverState, max_sweeps: int) -> None:
    """Narrow the masks until a sweep narrows few of them.

    The masks of a large heap are swept in ranges, all at once. Chance decides whether
    one range sees a mask of another before or after it is narrowed. Both masks are
    valid bounds of D, so chance changes how long the rest takes, not the result.
    """
    count = len(state.mask)
    state.mask[0] = 0
    for _ in range(max_sweeps):
        sweep = partial(_narrow, tree, state)
        narrowed = sum(in_ranges(sweep, 1, count, least=_MANY_POSITIONS))
        if narrowed * _MIN_NARROWED <= count:
            break


@kernel
def _bounds(pool: Ints, types: int, added: int) -> tuple[int, int]:
    """The types of list ``added`` are ``pool[begin:end]``; see `SolverState`."""
    if added == NONE:
        return 0, 0
    if added < types:
        return added, added + 1
    return added + 1, added + 1 + pool[added]


@kernel
def _stamp_types(
    tree: Preorder, state: SolverState, position: int, dominator: int
) -> Number:
    """Stamp the types of D(position) that are not in D(dominator)."""
    state.counters[STAMP] += 1
    stamp = state.counters[STAMP]
    node = state.top[position]
    while node > dominator:
        state.counters[WORK] += 1
        begin, end = _bounds(state.pool, len(state.cover), state.added[node])
        for i in range(begin, end):
            state.type_stamp[state.pool[i]] = stamp
        node = state.top[tree.dominator[node]]
    return stamp


@kernel
def _has_type(
    tree: Preorder, state: SolverState, position: int, dominator: int, kind: int
) -> bool:
    """Whether type ``kind`` is in D(position) but not in D(dominator)."""
    top, added, pool = state.top, state.added, state.pool
    node = top[position]
    steps = 0
    while node > dominator:
        steps += 1
        begin, end = _bounds(pool, len(state.cover), added[node])
        for i in range(begin, end):
            if pool[i] == kind:
                state.counters[WORK] += steps
                return True
        node = top[tree.dominator[node]]
    state.counters[WORK] += steps
    return False


@kernel
def _intersect(
    tree: Preorder, state: SolverState, position: int, count: int, visited: int
) -> tuple[int, bool]:
    """Reduce ``state.current[:count]`` to the types of all referrers of ``position``.

    Referrers from position ``visited`` on are assumed to have all types.

    Returns:
        How many types remain, and whether there were such referrers.
    """
    current = state.current
    optimistic = False
    for entry in range(
        tree.referrer_start[position], tree.referrer_start[position + 1]
    ):
        referrer = tree.referrer[entry]
        if referrer >= visited:
            optimistic = True
            continue
        if count == 1:
            if not _has_type(
                tree, state, referrer, tree.dominator[position], current[0]
            ):
                return 0, optimistic
            continue
        stamp = _stamp_types(tree, state, referrer, tree.dominator[position])
        remaining = 0
        for i in range(count):
            if state.type_stamp[current[i]] == stamp:
                current[remaining] = current[i]
                remaining += 1
        count = remaining
        if count == 0:
            break
    return count, optimistic


@kernel
def _candidates(tree: Preorder, state: SolverState, position: int, mask: Number) -> int:
    """Put the types of one referrer of ``position`` into ``state.current``.

    Types of the dominator, of ``position`` itself or not in ``mask`` are left out.
    """
    dominator = tree.dominator[position]
    chosen = -1
    for entry in range(
        tree.referrer_start[position], tree.referrer_start[position + 1]
    ):
        referrer = tree.referrer[entry]
        if referrer < position:
            if state.top[referrer] <= dominator:
                return 0
            if chosen < 0:
                chosen = referrer
    count = 0
    node = state.top[chosen]
    while node > dominator:
        begin, end = _bounds(state.pool, len(state.cover), state.added[node])
        for i in range(begin, end):
            kind = state.pool[i]
            if kind != tree.type_index[position] and state.type_bit[kind] & mask:
                state.current[count] = kind
                count += 1
        node = state.top[tree.dominator[node]]
    return count


@kernel
def _store(state: SolverState, position: int, count: int) -> bool:
    """Let ``position`` add ``state.current[:count]``; false when the pool is full.

    Lists are sorted and never changed. Equal lists are shared unless their hashes
    collide.
    """
    current, pool, slots = state.current, state.pool, state.slots
    if count < 2:
        state.added[position] = current[0] if count else NONE
        return True
    code = np.uint64(count)
    for i in range(count):
        kind = current[i]
        j = i
        while j and current[j - 1] > kind:
            current[j] = current[j - 1]
            j -= 1
        current[j] = kind
        factor = np.uint64(kind + 1)
        code += factor * factor * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((code >> np.uint64(32)) & np.uint64(len(slots) - 1))
    begin = slots[slot]
    if begin >= 0 and pool[begin] == count:
        i = 0
        while i < count and pool[begin + 1 + i] == current[i]:
            i += 1
        if i == count:
            state.added[position] = begin
            return True
    begin = state.counters[USED]
    if begin + count + 1 > len(pool):
        return False
    pool[begin] = count
    for i in range(count):
        pool[begin + 1 + i] = current[i]
    state.counters[USED] = begin + count + 1
    state.added[position] = slots[slot] = begin
    return True


@kernel
def _add_type(state: SolverState, position: int, kind: int) -> bool:
    """Let ``position`` add another type; overwrites ``state.current``."""
    begin, end = _bounds(state.pool, len(state.cover), state.added[position])
    for i in range(begin, end):
        state.current[i - begin] = state.pool[i]
    state.current[end - begin] = kind
    return _store(state, position, end - begin + 1)


@kernel
def _enqueue(state: SolverState, position: int) -> None:
    """Queue a join to be checked again."""
    if not state.is_queued[position]:
        state.is_queued[position] = True
        tail = state.counters[HEAD] + state.counters[QUEUED]
        state.queue[tail % len(state.queue)] = position
        state.counters[QUEUED] += 1


@kernel
def _first_pass(tree: Preorder, state: SolverState) -> bool:
    """Find what each position adds, assuming that later ones have all types."""
    start, referrer, mask = tree.referrer_start, tree.referrer, state.mask
    dominator, type_index, end = tree.dominator, tree.type_index, tree.end
    added, top, cover = state.added, state.top, state.cover
    single_types = state.single_types
    alone = ~np.uint64(0) >> np.uint64(64 - len(single_types))
    last, last_entry = len(end) - 1, len(referrer) - 1
    for position in range(1, len(end)):
        count = 0
        fetch(top, dominator[min(position + 2 * AHEAD, last)])
        if start[position] < start[position + 1]:
            common = ~np.uint64(0)
            for entry in range(start[position], start[position + 1]):
                later = referrer[min(entry + 2 * AHEAD, last_entry)]
                fetch(mask, later)
                fetch(top, later)
                common &= mask[referrer[entry]]
            # In a class with one type, this type adds nothing if it is the object's
            # own, or one that its dominator has.
            left, bit = common & alone, np.uint64(1)
            for kind in single_types:
                if left < bit:
                    break
                if left & bit and (
                    cover[kind] > position or kind == type_index[position]
                ):
                    common ^= bit
                bit <<= np.uint64(1)
            count = _candidates(tree, state, position, common) if common else 0
            if count:
                count, optimistic = _intersect(tree, state, position, count, position)
                for i in range(count):
                    cover[state.current[i]] = end[position]
                if count and optimistic:
                    _enqueue(state, position)
        kind = type_index[position]
        is_new = kind >= 0 and cover[kind] <= position
        if is_new:
            cover[kind] = end[position]
        if count:
            if is_new:
                state.current[count] = kind
            if not _store(state, position, count + is_new):
                return False
        else:
            added[position] = kind if is_new else NONE
        top[position] = (
            top[dominator[position]] if added[position] == NONE else position
        )
    return True


@kernel
def _adds_lost_type(state: SolverState, join: int, source: int) -> bool:
    """Whether ``join`` adds a type that ``source`` has lost."""
    begin, end = _bounds(state.pool, len(state.cover), state.added[join])
    for i in range(begin, end):
        kind = state.pool[i]
        if state.is_lost[kind] and state.cover[kind] <= source:
            return True
    return False


@kernel
def _enqueue_targets(tree: Preorder, state: SolverState, source: int) -> None:
    """Queue the joins that ``source`` refers to, since it lost types."""
    referrer = tree.object_index[source]
    for ref in range(state.ref_start[referrer], state.ref_start[referrer + 1]):
        join = tree.position[state.ref_target[ref]]
        if (
            tree.referrer_start[join] < tree.referrer_start[join + 1]
            and not (join <= source < tree.end[join])
            and _adds_lost_type(state, join, source)
        ):
            _enqueue(state, join)


@kernel
def _remove_types(tree: Preorder, state: SolverState, join: int, count: int) -> bool:
    """Update all that ``join`` dominates: it lost ``state.removed[:count]``.

    A position that has such a type also without ``join`` adds it from now on.
    """
    top, cover = state.top, state.cover
    for i in range(count):
        state.is_lost[state.removed[i]] = True
        cover[state.removed[i]] = 0
    top[join] = top[tree.dominator[join]] if state.added[join] == NONE else join
    _enqueue_targets(tree, state, join)
    for position in range(join + 1, tree.end[join]):
        open_count = 0
        for i in range(count):
            if cover[state.removed[i]] <= position:
                state.current[open_count] = state.removed[i]
                open_count += 1
        kind = tree.type_index[position]
        if open_count:
            if tree.referrer_start[position] < tree.referrer_start[position + 1]:
                found, optimistic = _intersect(
                    tree, state, position, open_count, position
                )
                for i in range(found):
                    state.found[i] = state.current[i]
                for i in range(found):
                    if state.found[i] != kind:
                        cover[state.found[i]] = tree.end[position]
                        if not _add_type(state, position, state.found[i]):
                            return False
                if found and optimistic:
                    _enqueue(state, position)
            if kind >= 0 and state.is_lost[kind] and cover[kind] <= position:
                cover[kind] = tree.end[position]
                if not _add_type(state, position, kind):
                    return False
        above = top[tree.dominator[position]]
        top[position] = above if state.added[position] == NONE else position
        if open_count:
            _enqueue_targets(tree, state, position)
    for i in range(count):
        state.is_lost[state.removed[i]] = False
    state.counters[WORK] += tree.end[join] - join
    return True


@kernel
def _check_again(tree: Preorder, state: SolverState, join: int) -> bool:
    """Remove from ``join`` the types that some referrer of it does not have."""
    begin, end = _bounds(state.pool, len(state.cover), state.added[join])
    adds_own, count = False, 0
    for i in range(begin, end):
        if state.pool[i] == tree.type_index[join]:
            adds_own = True
        else:
            state.current[count] = state.removed[count] = state.pool[i]
            count += 1
    if not count:
        return True
    remaining, _ = _intersect(tree, state, join, count, len(tree.end))
    if remaining == count:
        return True
    # Both sets are in the same order, so one pass finds the difference.
    lost = matched = 0
    for i in range(count):
        if matched < remaining and state.current[matched] == state.removed[i]:
            matched += 1
        else:
            state.removed[lost] = state.removed[i]
            lost += 1
    if adds_own:
        state.current[remaining] = tree.type_index[join]
        remaining += 1
    return _store(state, join, remaining) and _remove_types(tree, state, join, lost)


@kernel
def _solve(tree: Preorder, state: SolverState, max_work: int) -> bool:
    """Find what each position adds; false at the limit of the pool or of work."""
    state.top[0] = 0
    state.added[0] = NONE
    if not _first_pass(tree, state):
        return False
    counters = state.counters
    while counters[QUEUED]:
        join = state.queue[counters[HEAD]]
        state.is_queued[join] = False
        counters[QUEUED] -= 1
        counters[HEAD] = (counters[HEAD] + 1) % len(state.queue)
        if counters[WORK] > max_work or not _check_again(tree, state, join):
            return False
    return True


@kernel
def _sum_types(
    tree: Preorder,
    state: SolverState,
    object_types: Ints,
    retained_bytes: Longs,
    exact: bool,
    sums: Longs,
    first: int,
    end: int,
) -> None:
    """Add the retained bytes of each type at positions from ``first`` to ``end``.

    If not ``exact``, count only instances that none of their type dominates.
    """
    cover, last = state.cover, len(tree.end) - 1
    for position in range(first, end):
        fetch(object_types, tree.object_index[min(position + 2 * AHEAD, last)])
        kind = object_types[tree.object_index[position]]
        if exact:
            if kind >= 0 and tree.type_index[position] < 0:
                sums[kind] += retained_bytes[position]
            begin, stop = _bounds(state.pool, len(cover), state.added[position])
            for i in range(begin, stop):
                sums[state.pool[i]] += retained_bytes[position]
        elif kind >= 0 and (tree.type_index[position] < 0 or cover[kind] <= position):
            cover[kind] = tree.end[position]
            sums[kind] += retained_bytes[position]


class TypesRetained(NamedTuple):
    """Retained bytes of T types, and of V positions.

    Attributes:
        type_bytes: int64 (T,). Bytes that are freed if all instances of a type are.
        is_exact: Whether they are exact. If lists of types or steps exceed their limit,
            as in heaps built for that purpose, they are lower bounds: the retained
            bytes of instances that no other instance of the type dominates.
        position_bytes: int64 (V,). Retained bytes of each position.
    """

    type_bytes: Longs
    is_exact: bool
    position_bytes: Longs


def type_retained_bytes(
    graph: HeapGraph,
    tree: Preorder,
    *,
    capacity: int | None = None,
) -> TypesRetained:
    """Bytes that are freed if all instances of a type are freed.

    Memory: 8 bytes a reachable object while masks are narrowed, then 22, and at most
    16 for the lists of types.

    Args:
        graph: The heap.
        tree: Its dominator tree.
        capacity: Limit for the int32 in lists of types; for tests.
    """
    types, count = len(graph.type_names), len(tree.object_index)
    sums = np.zeros(types, np.int64)
    if not types or count == 1:
        return TypesRetained(sums, True, np.zeros(count, np.int64))
    max_work = _WORK_PER_REFERENCE * (count + graph.reference_count)
    state = initial_state(graph, tree, capacity)
    _narrow_masks(tree, state, _MAX_SWEEPS)
    exact = _solve(tree, state, max_work)
    if not exact:
        state.cover[:] = 0
    none = state.queue[:0].copy()
    state = state._replace(top=none, queue=none, is_queued=none.astype(np.bool_))
    # The masks, 8 bytes a position, are no longer needed.
    sizes = state.mask.view(np.int64)
    sum_retained(tree.object_index, tree.dominator, graph.shallow_bytes, sizes)
    columns = tree, state, graph.type_index, sizes, exact
    if not exact:
        _sum_types(*columns, sums, 1, count)
        return TypesRetained(sums, False, sizes)

    def summed(first: int, end: int) -> Longs:
        some = np.zeros(types, np.int64)
        _sum_types(*columns, some, first, end)
        return some

    for some in in_ranges(summed, 1, count):
        sums += some
    return TypesRetained(sums, True, sizes)
