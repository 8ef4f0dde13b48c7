"""Shortest paths between objects; among equals, the first by rows of objects.

A breadth-first search visits the objects of each distance in the order of their first
paths, so it finds each object by the first of its shortest paths. The objects that one
object leads to come ascending, after those of all objects before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.arrays.compiled import AHEAD, fetch, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.arrays.compiled import Bools, Bytes, Ints


_FEW = 16
"""Up to so many rows are sorted by insertion."""

ENDLESS = 2**31 - 1
"""Marks objects that no path has."""


@kernel
def _sink(rows: Ints, first: int, at: int, end: int) -> None:
    """Restore a binary heap of rows from ``first`` on; entry ``at`` may be small."""
    value = rows[at]
    while True:
        below = 2 * (at - first) + 1 + first
        if below >= end:
            break
        if below + 1 < end and rows[below + 1] > rows[below]:
            below += 1
        if rows[below] <= value:
            break
        rows[at] = rows[below]
        at = below
    rows[at] = value


@kernel
def sort_rows(rows: Ints, first: int, end: int) -> None:
    """Sort some rows in place; mostly they are sorted already."""
    at = first + 1
    while at < end and rows[at - 1] <= rows[at]:
        at += 1
    if at >= end:
        return
    if end - first <= _FEW:
        for place in range(at, end):
            row, free = rows[place], place
            while free > first and rows[free - 1] > row:
                rows[free] = rows[free - 1]
                free -= 1
            rows[free] = row
        return
    for top in range(first + (end - first) // 2, first - 1, -1):
        _sink(rows, first, top, end)
    for last in range(end - 1, first, -1):
        rows[first], rows[last] = rows[last], rows[first]
        _sink(rows, first, first, last)


@kernel
def _search(
    references: ReferenceColumns,
    ends: Ints,
    longest: int,
    is_found: Bytes,
    queue: Ints,
    origin: Ints,
) -> int:
    """Search from the roots until all ends, if any, or all objects are found.

    With ends, what an object refers to is in the order of rows, so that the first of
    the shortest paths is found. ``is_found`` has one bit for each object, so that it
    stays in a cache; everything else is written in order. No branch depends on whether
    an object is found, for half of such branches would be predicted wrong.

    Returns:
        How many objects are found. They are in ``queue``; ``origin`` has the place in
        ``queue`` of each one's referrer, or `ROOT`. Both need room for one more.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped, head, tail = len(skipped) > 0, 0, 0
    for row in references.roots:
        if not is_found[row >> 3] >> (row & 7) & 1:
            is_found[row >> 3] |= 1 << (row & 7)
            queue[tail], origin[tail] = row, ROOT
            tail += 1
    for _ in range(1, longest):
        left = 0
        for row in ends:
            left += 1 - (is_found[row >> 3] >> (row & 7) & 1)
        if (left == 0 and len(ends) > 0) or head == tail:
            break
        level_end = tail
        while head < level_end:
            # Each look-up needs the one before, so they are prefetched in turn.
            fetch(start, queue[min(head + 4 * AHEAD, tail - 1)])
            fetch(targets, start[queue[min(head + 2 * AHEAD, tail - 1)]])
            source, first = queue[head], tail
            for ref in range(start[source], start[source + 1]):
                row = targets[ref]
                is_new = 1 - (is_found[row >> 3] >> (row & 7) & 1)
                if some_skipped:
                    is_new &= 1 - skipped[ref]
                is_found[row >> 3] |= is_new << (row & 7)
                queue[tail], origin[tail] = row, head
                tail += is_new
            if tail > first + 1 and len(ends) > 0:
                sort_rows(queue, first, tail)
            head += 1
    return tail


def reached(
    references: ReferenceColumns, objects: int, known: Bools | None = None
) -> NDArray[np.bool_]:
    """Bool (objects,): what can be reached along ``references`` from their roots.

    Memory: 9.25 bytes an object.

    Args:
        references: What is followed, from the roots' objects on.
        objects: Number of objects.
        known: Bool (objects,). What is taken for reached, and not searched from.
    """
    is_found = np.zeros(objects // 8 + 1, np.uint8)
    if known is not None:
        bits = np.packbits(known, bitorder="little")
        is_found[: len(bits)] = bits
    queue, origin = np.empty((2, objects + 1), np.int32)
    _search(references, np.empty(0, np.int32), ENDLESS, is_found, queue, origin)
    return np.unpackbits(is_found, count=objects, bitorder="little").view(np.bool_)


def first_paths(
    references: ReferenceColumns,
    objects: int,
    ends: Sequence[int],
    *,
    around: int | None = None,
    longest: int = ENDLESS,
) -> dict[int, list[int]]:
    """The first of the shortest paths to some objects.

    Memory: 8.25 bytes an object.

    Args:
        references: What is followed, from the roots' objects on, in the order of the
            roots.
        objects: Number of objects.
        ends: Rows of the objects to reach.
        around: Row of an object that no path goes through.
        longest: The most objects of a path.

    Returns:
        Rows of the objects of each path, by its end; ends not reached are left out.
    """
    wanted = np.array(sorted({*ends} - {around}), np.int32)
    if not len(wanted):
        return {}
    is_found = np.zeros(objects // 8 + 1, np.uint8)
    if around is not None:
        is_found[around >> 3] |= 1 << (around & 7)
    queue, origin = np.empty((2, objects + 1), np.int32)
    tail = _search(references, wanted, longest, is_found, queue, origin)
    found = dict[int, list[int]]()
    for end in wanted.tolist():
        for place in np.flatnonzero(queue[:tail] == end).tolist():
            path, at = [end], int(origin[place])
            while at != ROOT:
                path.append(int(queue[at]))
                at = int(origin[at])
            found[end] = path[::-1]
    return found
