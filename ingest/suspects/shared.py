"""Containers that several places hold, so that none of these owns them.

Such as rows, each a dict, that are in a list and in a map, too. Where no object of the
program is in them, no other search finds them: all of one place are a pile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.analysis.trees import outermost
from ingest.analysis.types import largest_first
from ingest.arrays.compiled import kernel
from ingest.runtimes import TypeClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools, Ints, Longs, Starts
    from ingest.heap.graph import HeapGraph


@kernel
def _place_of(
    source: int, target: int, dominator: Ints, kinds: Ints, leads: Bools
) -> int:
    """What has an object that another one refers to.

    It is the outermost collection that leads to it, or what refers to it if that is in
    none. ``leads`` has the types of collections, and a last row, false, for
    placeholders, which have type -1.
    """
    row, end = source, dominator[target]
    while True:
        above = dominator[row]
        if above < 0 or above == end or not leads[kinds[above]]:
            return row
        row = above


@kernel
def _sum_places(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    dominator: Ints,
    kinds: Ints,
    leads: Bools,
    is_shared: Bools,
    retained: Longs,
    sums: NDArray[np.float32],
) -> None:
    """Sum what shared objects of each place retain.

    What its dominator refers to is not shared: its mark is taken away.
    """
    for source in range(len(start) - 1):
        if dominator[source] < -1:
            continue
        for ref in range(start[source], start[source + 1]):
            target = targets[ref]
            if not is_shared[target] or (len(skipped) > 0 and skipped[ref]):
                continue
            if dominator[target] == source:
                is_shared[target] = False
                continue
            place = _place_of(source, target, dominator, kinds, leads)
            sums[place] += retained[target]


@kernel
def _list_places(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    dominator: Ints,
    kinds: Ints,
    leads: Bools,
    is_shared: Bools,
    is_place: Bools,
    found: Longs,
    shared: Ints,
) -> int:
    """List some places with their shared objects, and say how many pairs there are.

    If there is no room, they are counted only.
    """
    used = 0
    for source in range(len(start) - 1):
        if dominator[source] < -1:
            continue
        for ref in range(start[source], start[source + 1]):
            target = targets[ref]
            if not is_shared[target] or (len(skipped) > 0 and skipped[ref]):
                continue
            place = _place_of(source, target, dominator, kinds, leads)
            if place == target or not is_place[place]:
                continue  # what it has itself
            if len(found) > 0:
                found[used], shared[used] = place, target
            used += 1
    return used


def shared_containers(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    skipped: Bools,
    left_out: Bools,
    least: int,
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Containers of one type that one place has, and others too.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        skipped: bool (E,), or empty. References that do not hold.
        left_out: bool (N + M,). Objects that are in none.
        least: Bytes that those of a place retain.

    Yields:
        The number of objects of a place, with those that it alone has; and of the
        others those that no other one dominates, int32, the largest first.
    """
    is_container = np.append(classes == TypeClass.CONTAINER, np.False_)
    wanted = is_container.copy()
    wanted[:-1] &= metrics.type_retained_bytes >= least
    for kind in np.flatnonzero(wanted).tolist():
        # What a collection is made of is in several places of it.
        name = normalised_type(graph.type_names[kind])
        wanted[kind] = not is_inside_collection(name)
    dominator, kinds, retained = (
        metrics.dominator, graph.type_index, metrics.retained_bytes
    )  # fmt: skip
    is_shared = wanted[kinds] & ~left_out & (dominator >= ROOT)
    # What its dominator leads to first is in a reference of that.
    is_shared &= dominator != metrics.path_parent
    if int(retained[is_shared].sum()) < least:
        return
    columns = graph.ref_start, graph.ref_target, skipped, dominator, kinds, is_container
    sums = np.zeros(len(dominator), np.float32)
    _sum_places(*columns, is_shared, retained, sums)
    is_place = sums >= least
    if not is_place.any():
        return
    places, members = np.empty(0, np.int64), np.empty(0, np.int32)
    used = _list_places(*columns, is_shared, is_place, places, members)
    if not used:
        return
    places, members = np.empty(used, np.int64), np.empty(used, np.int32)
    _list_places(*columns, is_shared, is_place, places, members)
    # An object may be several times in one place.
    groups = places * len(classes) + kinds[members]
    order = np.lexsort((members, groups))
    groups, members = groups[order], members[order]
    is_first = np.append(True, (np.diff(groups) != 0) | (np.diff(members) != 0))
    groups, members = groups[is_first], members[is_first]
    starts = np.flatnonzero(np.append(True, np.diff(groups) != 0))
    sizes = np.add.reduceat(retained[members], starts)
    ends = np.append(starts[1:], len(groups))
    is_taken = np.zeros(len(dominator), np.bool_)
    for at in np.argsort(-sizes, kind="stable").tolist():
        if sizes[at] < least:
            break
        some = members[starts[at] : ends[at]]
        some = some[~is_taken[some]]
        is_taken[some] = True
        heads = outermost(dominator, some)
        if int(retained[heads].sum()) >= least:
            place, kind = divmod(int(groups[starts[at]]), len(classes))
            alone = (dominator == place) & (kinds == kind) & ~left_out
            count = len(some) + int(np.count_nonzero(alone))
            yield count, largest_first(heads, retained)
