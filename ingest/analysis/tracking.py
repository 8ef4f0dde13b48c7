"""Objects followed through collections that move them.

The ranges of a `History`, applied to a table of objects, say where each object is now,
and which ones are gone.

The table is kept sorted by address, so a collection is one walk along objects and
ranges. What moves together stays together: blocks are put in order, not objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel
from ingest.history import OLDEST, UNKNOWN
from ingest.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints, Longs
    from ingest.history import Allocations, Bounds, Survival
    from ingest.progress import Progress

    Generations = NDArray[np.int8]
    Flags = NDArray[np.bool_]

LIVES = -1
"""In a column of deaths."""


@dataclass(frozen=True, slots=True, eq=False)
class Fate:
    """What became of N objects.

    Attributes:
        address: uint64 (N,). The last one.
        died_in: int32 (N,). Row of the collection that it did not outlive, or `LIVES`.
        generation: int8 (N,). The last one; `UNKNOWN` where nobody told.
    """

    address: Ids
    died_in: Ints
    generation: Generations

    @property
    def lives(self) -> NDArray[np.bool_]:
        """Bool (N,)."""
        return np.asarray(self.died_in == LIVES)


@kernel
def _assign(
    address: Ids, generation: Generations, start: Ids, end: Ids, of: Generations
) -> None:
    """Generations of sorted addresses from sorted bounds; others stay."""
    j = 0
    for i in range(len(address)):
        while j < len(start) and end[j] <= address[i]:
            j += 1
        if j < len(start) and start[j] <= address[i]:
            generation[i] = of[j]


@kernel
def _collect(
    address: Ids,
    generation: Generations,
    row: Ints,
    old_start: Ids,
    new_start: Ids,
    length: Ids,
    youngest: int,
    condemned: int,
    collection: int,
    died_in: Ints,
    last_address: Ids,
    last_generation: Generations,
    block: Longs,
) -> tuple[int, int]:
    """Apply one collection to a table sorted by address, in place.

    Args:
        address: The table, as are the next two; survivors come to its front.
        generation: Of each.
        row: Of each.
        old_start: Ranges, sorted by this.
        new_start: Of each range.
        length: Of each range.
        youngest: The lowest generation that was collected.
        condemned: The highest.
        collection: What to write into ``died_in``.
        died_in: By row, as are the next two; written for the dead.
        last_address: Where it was before.
        last_generation: What it was before.
        block: int64. Filled with the places where blocks of survivors begin that
            moved by the same distance.

    Returns:
        How many live, and how many blocks there are.
    """
    alive = 0
    blocks = 0
    j = 0
    distance = np.uint64(0)
    for i in range(len(address)):
        at = address[i]
        while (
            j < len(old_start)
            and at - old_start[j] >= length[j]
            and (old_start[j] <= at)
        ):
            j += 1
        moved_by = np.uint64(0)
        if j < len(old_start) and old_start[j] <= at:
            moved_by = new_start[j] - old_start[j]
        else:
            of = generation[i]
            if of >= youngest and (of <= condemned or condemned >= OLDEST):
                died_in[row[i]] = collection
                last_address[row[i]] = at
                last_generation[row[i]] = of
                continue
        if alive == 0 or moved_by != distance:
            block[blocks] = alive
            blocks += 1
            distance = moved_by
        address[alive] = at + moved_by
        generation[alive] = generation[i]
        row[alive] = row[i]
        alive += 1
    return alive, blocks


@kernel
def _in_order(
    address: Ids, block: Longs, order: Longs, place: Longs, places: int
) -> None:
    """Places of the objects once the blocks stand in ``order``."""
    done = 0
    for b in order:
        end = block[b + 1] if b + 1 < len(block) else places
        for i in range(block[b], end):
            place[done] = i
            done += 1


def replay(
    address: Ids,
    generation: Generations | None,
    collections: Sequence[Survival],
    progress: Progress = silent,
) -> Fate:
    """Follow objects through ``collections``, in their order.

    Args:
        address: uint64 (N,). Where they are before the first; in any order.
        generation: int8 (N,). The same for generations; `UNKNOWN` or ``None`` where
            that is not known: such an object is never thought dead.
        collections: What happened.
        progress: Told of collections.

    Takes one walk along all living objects a collection: a million through a hundred
    collections in about a second. Memory: 42 bytes an object.
    """
    n = len(address)
    last_address, died_in = address.copy(), np.full(n, LIVES, np.int32)
    last_generation = np.full(n, UNKNOWN, np.int8)
    if generation is not None:
        last_generation[:] = generation
    row = np.argsort(address, kind="stable").astype(np.int32)
    table, ages = address[row], last_generation[row]
    block = np.empty(n + 1, np.int64)
    for index, collection in enumerate(collections):
        progress("replay", index, len(collections))
        _age(table, ages, collection.before)
        if collection.has_ranges:
            order = np.argsort(collection.old_start, kind="stable")
            alive, blocks = _collect(
                table,
                ages,
                row,
                collection.old_start[order],
                collection.new_start[order],
                collection.length[order],
                collection.youngest,
                collection.generation,
                index,
                died_in,
                last_address,
                last_generation,
                block,
            )
            place = _by_address(table[:alive], block[:blocks])
            table, ages, row = table[place], ages[place], row[place]
        _age(table, ages, collection.after)
    last_address[row], last_generation[row] = table, ages
    progress("replay", len(collections), len(collections))
    return Fate(last_address, died_in, last_generation)


def _age(table: Ids, ages: Generations, bounds: Bounds | None) -> None:
    if bounds is not None:
        order = np.argsort(bounds.start, kind="stable")
        _assign(
            table,
            ages,
            bounds.start[order],
            bounds.end[order],
            bounds.generation[order],
        )


def _by_address(table: Ids, block: Longs) -> Longs | slice:
    """Where the rows of a table stand once they are in order, whole blocks put there.

    Args:
        table: uint64. Addresses.
        block: int64. Where blocks begin that are in order.
    """
    first = table[block]
    place: Longs | slice = slice(len(table))
    ordered = table
    if (first[1:] < first[:-1]).any():
        place = np.empty(len(table), np.int64)
        order = np.argsort(first, kind="stable")
        _in_order(table, block, order, place, len(table))
        ordered = table[place]
    if len(table) > 1 and (ordered[1:] < ordered[:-1]).any():
        # Ranges that lie over one another: the runtime never tells such.
        place = np.argsort(table, kind="stable")
    return place


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Where N objects of a dump come from.

    Two dumps of one trace have the same object where both `known_since` and
    `known_at` are the same.

    Attributes:
        known_since: int32 (N,). Row of the collection that is the first to tell of
            it; `UNTOLD` where none does.
        known_at: uint64 (N,). Its address when that one began.
        is_born: bool (N,). Whether it is known to have been allocated after the
            collection before that one.
        survived: int32 (N,). Collections since then that collected its generation.
    """

    known_since: Ints
    known_at: Ids
    is_born: NDArray[np.bool_]
    survived: Ints


UNTOLD = -1


@kernel
def _uncollect(
    address: Ids,
    row: Ints,
    old_start: Ids,
    new_start: Ids,
    length: Ids,
    bound_start: Ids,
    bound_end: Ids,
    bound_generation: Generations,
    youngest: int,
    condemned: int,
    has_ranges: bool,
    collection: int,
    origin: tuple[Ints, Ids, Flags, Ints],
    block: Longs,
) -> tuple[int, int]:
    """Put a table sorted by address back before one collection, in place.

    Args:
        address: The table, as is the next one; what was there comes to its front.
        row: Of each.
        old_start: Ranges, sorted by where they went.
        new_start: Of each range.
        length: Of each range.
        bound_start: Generations before it, sorted by this.
        bound_end: Of each.
        bound_generation: Of each.
        youngest: The lowest generation that was collected.
        condemned: The highest.
        has_ranges: Whether all ranges are told. If not, what it collected is not
            followed any further; the rest did not move.
        collection: Its row.
        origin: Columns of `Origins`, by row; written for those that are younger.
        block: int64. Filled with the places where blocks begin that moved by the
            same distance.

    Returns:
        How many were there, and how many blocks there are.
    """
    since, at_first, is_born, survived = origin
    there = 0
    blocks = 0
    j = 0
    b = 0
    distance = np.uint64(0)
    for i in range(len(address)):
        at = address[i]
        while (
            j < len(new_start) and at - new_start[j] >= length[j] and new_start[j] <= at
        ):
            j += 1
        moved_by = np.uint64(0)
        if j < len(new_start) and new_start[j] <= at:
            moved_by = old_start[j] - new_start[j]
            survived[row[i]] += 1
        else:
            while b < len(bound_start) and bound_end[b] <= at:
                b += 1
            of = UNKNOWN
            if b < len(bound_start) and bound_start[b] <= at:
                of = bound_generation[b]
            bounded = len(bound_start) > 0
            if youngest > 0:
                gone = of >= youngest and condemned >= OLDEST
            else:
                gone = of <= condemned or condemned < 0 or not bounded
                gone = gone or condemned >= OLDEST
            if gone:
                since[row[i]] = collection + 1
                at_first[row[i]] = at
                is_born[row[i]] = has_ranges and (
                    condemned >= OLDEST or (bounded and condemned >= 0)
                )
                continue
        if there == 0 or moved_by != distance:
            block[blocks] = there
            blocks += 1
            distance = moved_by
        address[there] = at + moved_by
        row[there] = row[i]
        there += 1
    return there, blocks


def trace_back(
    address: Ids, collections: Sequence[Survival], progress: Progress = silent
) -> Origins:
    """Follow objects of a dump back to where they are first told of.

    Args:
        address: uint64 (N,). Where the last of ``collections`` left them.
        collections: What happened before the dump.
        progress: Told of collections.

    Takes one walk along the objects a collection, as `replay` does. Memory: 41 bytes
    an object.
    """
    n, last = len(address), len(collections)
    since, at_first = np.zeros(n, np.int32), address.copy()
    is_born, survived = np.zeros(n, np.bool_), np.zeros(n, np.int32)
    row = np.argsort(address, kind="stable").astype(np.int32)
    table = address[row]
    block = np.empty(n + 1, np.int64)
    for index in range(last - 1, -1, -1):
        progress("trace back", last - 1 - index, last)
        one = collections[index]
        order = np.argsort(one.new_start, kind="stable")
        order = order if one.has_ranges else order[:0]
        there, blocks = _uncollect(
            table,
            row,
            one.old_start[order],
            one.new_start[order],
            one.length[order],
            *_bounds_before(collections, index),
            one.youngest,
            one.generation,
            one.has_ranges,
            index,
            (since, at_first, is_born, survived),
            block,
        )
        place = _by_address(table[:there], block[:blocks])
        table, row = table[:there][place], row[:there][place]
    at_first[row] = table
    since[since >= last] = UNTOLD
    # Ranges that lie over one another lead two objects to one place.
    order = np.lexsort((at_first, since))
    same = since[order][1:] == since[order][:-1]
    same &= at_first[order][1:] == at_first[order][:-1]
    since[order[1:][same]] = UNTOLD
    since[order[:-1][same]] = UNTOLD
    progress("trace back", last, last)
    return Origins(since, at_first, is_born, survived)


def _bounds_before(
    collections: Sequence[Survival], index: int
) -> tuple[Ids, Ids, Generations]:
    """Generations before a collection, sorted; empty if they are not told."""
    found = collections[index].before
    if found is None and index:
        found = collections[index - 1].after
    if found is None:
        none = np.empty(0, np.uint64)
        return none, none, np.empty(0, np.int8)
    order = np.argsort(found.start, kind="stable")
    return found.start[order], found.end[order], found.generation[order]


def allocation_of(origins: Origins, allocations: Allocations) -> Ints:
    """The allocation that made each of N objects, as far as they are told.

    Returns:
        int32 (N,). Row of ``allocations``, or `UNTOLD`.
    """
    order = np.lexsort((allocations.address, allocations.heap)).astype(np.int32)
    found = np.full(len(origins.known_at), UNTOLD, np.int32)
    _last_equal(
        allocations.heap[order],
        allocations.address[order],
        origins.known_since,
        origins.known_at,
        found,
    )
    hits = np.flatnonzero(found >= 0)
    found[hits] = order[found[hits]]
    return found


@kernel
def _last_equal(
    heap: Ints, address: Ids, wanted_heap: Ints, wanted_address: Ids, found: Ints
) -> None:
    """The last place of each wanted pair in sorted pairs; others stay."""
    for i in range(len(found)):
        low, high = 0, len(heap)
        while low < high:
            middle = (low + high) // 2
            if heap[middle] < wanted_heap[i] or (
                heap[middle] == wanted_heap[i] and address[middle] <= wanted_address[i]
            ):
                low = middle + 1
            else:
                high = middle
        if (
            low > 0
            and heap[low - 1] == wanted_heap[i]
            and address[low - 1] == wanted_address[i]
        ):
            found[i] = low - 1
