"""Objects of a dump followed back through collections that moved them.

The ranges of a `History`, undone on a table of objects, say where each object was when
it is first told of.

The table is kept sorted by address, so a collection is one walk along objects and
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
    for b in order:
        end = block[b + 1] if b + 1 < len(block) else places
        for i in range(block[b], end):
            place[done] = i
            done += 1


def by_address(table: Ids, block: Longs) -> Longs | slice:
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
