"""Objects in the dominator tree: below another one, or jointly below one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import OF_KEY
from ingest.runtimes import TypeClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools, Ints
    from ingest.heap.graph import HeapGraph

_LONGEST_LINK = 4


@kernel
def is_below(dominator: Ints, rows: Ints, above: int, most: int, found: Bools) -> None:
    """Fill ``found``: whether ``above`` is a row or dominates it."""
    for at in range(len(rows)):
        row = rows[at]
        for _ in range(most):
            if row < 0 or row == above:
                break
            row = dominator[row]
        found[at] = row == above


@kernel
def join(
    dominator: Ints,
    rows: Ints,
    weight: Ints,
    least: int,
    total: Ints,
    found: Ints,
    entry: Ints,
) -> None:
    """Fill ``found``: the nearest object at or above each row that has the weight.

    ``total`` is scratch of zeros; ``entry`` is the object below the one found.
    """
    for at in range(len(rows)):
        row = rows[at]
        while row >= 0:
            total[row] += weight[at]
            row = dominator[row]
    for at in range(len(rows)):
        row, below = rows[at], rows[at]
        while row >= 0 and total[row] < least:
            below, row = row, dominator[row]
        found[at], entry[at] = row, below


def nearest_above(
    dominator: NDArray[np.int32],
    kinds: NDArray[np.int32],
    rows: NDArray[np.int32],
    is_passed: Bools,
    most: int,
) -> NDArray[np.int32]:
    """What dominates each of some objects, without those of some types in between.

    Args:
        dominator: int32. The immediate dominator of each object.
        kinds: int32. The type of each.
        rows: int32. The objects.
        is_passed: Bool (T + 1,). These types; the last one is for placeholders.
        most: So many are passed at most.
    """
    found = dominator[rows]
    for _ in range(most):
        is_on = (found >= 0) & is_passed[kinds[found]]
        if not is_on.any():
            break
        found[is_on] = dominator[found[is_on]]
    return found


KEY_FIELDS = frozenset(("key", "_key", "referent", OF_KEY))
"""Fields in which entries of maps have their keys."""


def is_key(graph: HeapGraph, entry: int, row: int) -> bool:
    """Whether an entry of a map has an object as its key."""
    at = graph.between(entry, row).tolist() if entry >= 0 else ()
    return not KEY_FIELDS.isdisjoint(map(graph.field_name, at))


def some_of(rows: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """At most so many of some rows, evenly chosen."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).astype(int)])


def crowd_first(
    kinds: NDArray[np.int32], metrics: HeapMetrics, members: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Some objects, the first of those first that most of them are like.

    That is, by what leads to them: of objects without a class the largest may only
    have the same fields.
    """
    parents = metrics.path_parent
    above = parents[members]
    ways = np.stack([kinds[above], kinds[parents[above]]])
    ways[:, above < 0] = -1
    _, way, count = np.unique(ways, axis=1, return_inverse=True, return_counts=True)
    is_like = way.reshape(-1) == int(np.argmax(count))
    if is_like[0] or 2 * np.count_nonzero(is_like) <= len(members):
        return members
    at = int(np.argmax(is_like))
    return np.concatenate([members[at : at + 1], members[:at], members[at + 1 :]])


def by_size(
    rows: NDArray[np.int32], size_bytes: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """At most so many of some rows, one for each of equal parts of their bytes.

    Returns:
        The rows, some perhaps repeatedly, and int64, bytes that each one stands for.
    """
    if len(rows) <= most:
        return rows, size_bytes + 1
    sums = np.cumsum(size_bytes + 1)
    at = np.searchsorted(sums, (2 * np.arange(most) + 1) * sums[-1] // (2 * most))
    return rows[at], np.full(most, max(int(sums[-1]) // most, 1))


def first_of_chain(
    dominator: NDArray[np.int32],
    kinds: NDArray[np.int32],
    classes: NDArray[np.uint8],
    target: int,
) -> int:
    """Of links of several objects of the runtime, as of futures, the first one."""
    above = [target]
    while len(above) <= 2 * _LONGEST_LINK and above[-1] >= 0:
        kind = int(kinds[above[-1]])
        if kind >= 0 and classes[kind] == TypeClass.PROGRAM:
            break
        above.append(int(dominator[above[-1]]))
    types = [int(kinds[at]) for at in above if at >= 0]
    for length in range(2, _LONGEST_LINK + 1):
        if len(types) > 2 * length and types[:length] == types[length : 2 * length]:
            break
    else:
        return target
    while True:
        at = target
        for _ in range(length):
            at = int(dominator[at]) if at >= 0 else at
        if at < 0 or int(kinds[at]) != types[0]:
            return target
        target = at
