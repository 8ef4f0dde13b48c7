"""Shortest paths between objects: of several, the first by the rows of its objects.

Each reference of a shortest path leads to an object that is one further away. So one
walk over the objects from far to near finds all that lead to an object by a shortest
path; it does so for up to 64 ends, a bit each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import fetch, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.compiled import Bools, Ints, Longs, Starts

    Marks = NDArray[np.uint64]

MOST_ENDS = 64
"""Ends of one walk."""

_AHEAD = 8
"""Steps of a loop between asking for an entry of a column and using it."""


@kernel
def _count_near(distance: Ints, counts: Longs) -> None:
    """Count the objects of each distance above 0 that ``counts`` has a place for."""
    for row in range(len(distance)):
        if 0 < distance[row] < len(counts):
            counts[distance[row]] += 1


@kernel
def _mark(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    distance: Ints,
    first_of_level: Starts,
    order: Ints,
    marks: Marks,
) -> None:
    """Give each object, from far to near, the marks of what it leads to.

    ``order`` is room for the objects that are near enough, by distance.
    """
    levels = len(first_of_level)
    for row in range(len(distance)):
        if 0 < distance[row] < levels:
            level = distance[row]
            order[first_of_level[level]] = row
            first_of_level[level] += 1
    some_skipped = len(skipped) > 0
    for at in range(len(order) - 1, -1, -1):
        # Each look-up leads to the next one: they are asked for one by one.
        fetch(start, order[max(at - 3 * _AHEAD, 0)])
        fetch(targets, start[order[max(at - 2 * _AHEAD, 0)]])
        later = order[max(at - _AHEAD, 0)]
        begin = start[later]
        for ref in range(begin, min(start[later + 1], begin + _AHEAD)):
            fetch(distance, targets[ref])
        source = order[at]
        next_distance, found = distance[source] + 1, marks[source]
        for ref in range(start[source], start[source + 1]):
            target = targets[ref]
            if distance[target] == next_distance and not (
                some_skipped and skipped[ref]
            ):
                found |= marks[target]
        marks[source] = found


def leading_to(
    references: ReferenceColumns, distance: NDArray[np.int32], ends: Sequence[int]
) -> Marks:
    """Which objects are on a shortest path to some ends.

    Args:
        references: The references that are followed.
        distance: int32 (N + M,). From `distances_from` with these references.
        ends: Rows of at most `MOST_ENDS` objects, which are reached.

    Returns:
        uint64 (N + M,): bit i is set for what is on a path to ``ends[i]``, that one
        included. Memory: that, and 4 bytes for each object that is nearer than the
        farthest end.
    """
    marks = np.zeros(len(distance), np.uint64)
    for bit, end in enumerate(ends):
        marks[end] |= np.uint64(1 << bit)
    farthest = int(distance[list(ends)].max())
    counts = np.zeros(max(farthest, 1), np.int64)
    _count_near(distance, counts)
    begins = np.cumsum(counts) - counts
    _mark(
        references.start, references.target, references.skipped, distance, begins,
        np.empty(int(counts.sum()), np.int32), marks,
    )  # fmt: skip
    return marks


def first_path(
    references: ReferenceColumns,
    distance: NDArray[np.int32],
    marks: Marks,
    way: tuple[int, int],
    bit: int,
) -> list[int]:
    """The first of the shortest paths from one object to another.

    Args:
        references: The references that are followed.
        distance: int32 (N + M,). From `distances_from` with these references.
        marks: From `leading_to`.
        way: Row of the first object, which has the mark, and of the last.
        bit: Which mark the last one has.

    Returns:
        Rows of all objects of the path.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    at, last = way
    found, mark = [at], np.uint64(1 << bit)
    while at != last:
        part = slice(start[at], start[at + 1])
        some = targets[part]
        if len(skipped):
            some = some[~skipped[part]]
        leads = (distance[some] == distance[at] + 1) & (marks[some] & mark != 0)
        at = int(some[leads].min())
        found.append(at)
    return found
