"""Objects of a dump followed back through collections that moved them.

The ranges of a `History`, undone on a table of objects, say where each object was when
it is first recorded.

The table stays sorted by address, so a collection is one walk along objects and
ranges. What moves together stays together: blocks are put in order, not objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel
from ingest.heap.history import OLDEST, UNKNOWN
from ingest.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints, Longs
    from ingest.heap.history import Allocations, Survival
    from ingest.progress import Progress

    Generations = NDArray[np.int8]
    Flags = NDArray[np.bool_]


@kernel
def _in_order(
    address: Ids, block: Longs, order: Longs, place: Longs, places: int
) -> None:
    """Places of the objects once the blocks stand in ``order``."""
    done = 0
    for row in order:
        end = block[row + 1] if row + 1 < len(block) else places
        for i in range(block[row], end):
            place[done] = i
            done += 1


def by_address(table: Ids, block: Longs) -> Longs | slice:
    """The order of the rows of a table by address, found by sorting its blocks.

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
        # Overlapping ranges, which no runtime records.
        place = np.argsort(table, kind="stable")
    return place


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Origins of the N objects of a dump.

    Two dumps of one trace have the same object where both `known_since` and
    `known_at` are the same.

    Attributes:
        known_since: int32 (N,). Row of the first collection that records it;
            `UNTOLD` if none does.
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
def _begins_here(
    generation: int, youngest: int, condemned: int, is_bounded: bool
) -> bool:
    """Whether an object in none of the ranges cannot be traced any further."""
    if youngest > 0:
        return generation >= youngest and condemned >= OLDEST
    is_collected = generation <= condemned or condemned >= OLDEST
    return is_collected or condemned < 0 or not is_bounded


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
    """Undo one collection on a table sorted by address, in place.

    Args:
        address: The table, with the next one; objects that existed before the
            collection are moved to its front.
        row: Of each.
        old_start: Ranges, sorted by their new address.
        new_start: Of each range.
        length: Of each range.
        bound_start: Generations before it, sorted by this.
        bound_end: Of each.
        bound_generation: Of each.
        youngest: The lowest generation that was collected.
        condemned: The highest.
        has_ranges: Whether all ranges are recorded. If not, what it collected is not
            traced any further; the rest did not move.
        collection: Its row.
        origin: Columns of `Origins`, by row; written for those that are younger.
        block: int64. Filled with the places where blocks begin that moved by the
            same distance.

    Returns:
        How many objects existed, and how many blocks there are.
    """
    since, at_first, is_born, survived = origin
    remaining = 0
    blocks = 0
    span = 0
    bound = 0
    distance = np.uint64(0)
    for i in range(len(address)):
        at = address[i]
        while (
            span < len(new_start)
            and at - new_start[span] >= length[span]
            and new_start[span] <= at
        ):
            span += 1
        moved_by = np.uint64(0)
        if span < len(new_start) and new_start[span] <= at:
            moved_by = old_start[span] - new_start[span]
            survived[row[i]] += 1
        else:
            while bound < len(bound_start) and bound_end[bound] <= at:
                bound += 1
            generation = UNKNOWN
            if bound < len(bound_start) and bound_start[bound] <= at:
                generation = bound_generation[bound]
            is_bounded = len(bound_start) > 0
            if _begins_here(generation, youngest, condemned, is_bounded):
                since[row[i]] = collection + 1
                at_first[row[i]] = at
                is_born[row[i]] = has_ranges and (
                    condemned >= OLDEST or (is_bounded and condemned >= 0)
                )
                continue
        if remaining == 0 or moved_by != distance:
            block[blocks] = remaining
            blocks += 1
            distance = moved_by
        address[remaining] = at + moved_by
        row[remaining] = row[i]
        remaining += 1
    return remaining, blocks


def trace_back(
    address: Ids, collections: Sequence[Survival], progress: Progress = silent
) -> Origins:
    """Trace objects of a dump back to where they are first recorded.

    Args:
        address: uint64 (N,). Where the last of ``collections`` left them.
        collections: What happened before the dump.
        progress: Receives collections.

    Takes one walk along the objects a collection: a million through a hundred in about
    a second. Memory: 41 bytes an object.
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
        place = by_address(table[:there], block[:blocks])
        table, row = table[:there][place], row[:there][place]
    at_first[row] = table
    since[since >= last] = UNTOLD
    # Overlapping ranges give two objects the same origin.
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
    """Generations before a collection, sorted; empty if not recorded."""
    found = collections[index].before
    if found is None and index:
        found = collections[index - 1].after
    if found is None:
        none = np.empty(0, np.uint64)
        return none, none, np.empty(0, np.int8)
    order = np.argsort(found.start, kind="stable")
    return found.start[order], found.end[order], found.generation[order]


def allocation_of(origins: Origins, allocations: Allocations) -> Ints:
    """The allocation of each of N objects, as far as recorded.

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
