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
from ingest.arrays.array_files import release_pages
from ingest.arrays.compiled import kernel
from ingest.runtimes import TypeClass
from ingest.suspects.edges import has_bit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools, Ints, Starts
    from ingest.heap.graph import HeapGraph


@kernel
def _list_places(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    dominator: Ints,
    kinds: Ints,
    leads: Bools,
    is_shared: Bools,
    found: Ints,
    shared: Ints,
) -> int:
    """List what has shared objects, and these, and say how many pairs there are.

    What has one is the outermost collection that leads to it, or what refers to it if
    that is in none. ``leads`` has the types of collections, and a last row, false, for
    placeholders, which have type -1. An object that its dominator refers to is not
    shared: its mark is taken away.
    """
    used = 0
    for source in range(len(start) - 1):
        if dominator[source] < -1:
            continue
        for ref in range(start[source], start[source + 1]):
            target = targets[ref]
            if not is_shared[target] or (len(skipped) > 0 and skipped[ref]):
                continue
            row, end = source, dominator[target]
            if end == source:
                is_shared[target] = False
                continue
            while True:
                above = dominator[row]
                if above < 0 or above == end or not leads[kinds[above]]:
                    break
                row = above
            if row == target:
                continue  # what it has itself
            found[used], shared[used] = row, target
            used += 1
    return used


def shared_containers(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    skipped: Bools,
    left_out: NDArray[np.uint8],
    least: int,
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Containers of one type that one place has, and others too.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        skipped: bool (E,), or empty. References that do not hold.
        left_out: uint8. Bits of the objects that are in none.
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
    rows = np.flatnonzero(wanted[kinds])
    rows = rows[~has_bit(left_out, rows) & (dominator[rows] >= ROOT)]
    # What its dominator leads to first is in a reference of that.
    rows = rows[dominator[rows] != metrics.path_parent[rows]]
    release_pages(metrics.path_parent)
    if int(retained[rows].sum()) < least:
        return
    is_shared = np.zeros(len(dominator), np.bool_)
    is_shared[rows] = True
    # Of this room no more is ever touched than there are pairs.
    places, members = np.empty((2, graph.reference_count), np.int32)
    used = _list_places(
        graph.ref_start, graph.ref_target, skipped, dominator, kinds, is_container,
        is_shared, places, members,
    )  # fmt: skip
    is_it = is_shared[members[:used]]
    places, members = places[:used][is_it], members[:used][is_it]
    _, group = np.unique(places, return_inverse=True)
    is_it = np.bincount(group, retained[members])[group] >= least
    if not is_it.any():
        return
    places, members = places[is_it].astype(np.int64), members[is_it]
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
            alone = np.flatnonzero((dominator == place) & (kinds == kind))
            count = len(some) + int(np.count_nonzero(~has_bit(left_out, alone)))
            yield count, largest_first(heads, retained)
