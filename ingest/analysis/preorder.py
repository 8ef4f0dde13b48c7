"""A dominator tree in preorder.

The objects that an object dominates have the positions right after its own: an
interval. Siblings are in reverse postorder of the depth-first search, so that most
references, and all in a heap without cycles, lead to a higher position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.heap.graph import NO_TYPE
from ingest.system.memory import beside, in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.dominators import DepthFirstSearch, DominatorTree
    from ingest.arrays.compiled import Ints, Longs, Starts
    from ingest.heap.graph import HeapGraph


class Preorder(NamedTuple):
    """A dominator tree of V vertices by preorder position; 0 is the super-root.

    Attributes:
        object_index: int32 (V,). Object at each position; entry 0 is unused.
        position: int32 (N + M,). Position of each object, 0 where unreachable.
        end: int32 (V,). A position dominates the positions from itself up to here.
        dominator: int32 (V,). Position of the immediate dominator.
        type_index: int32 (V,). Type; -1 for none, or for one with a single reachable
            instance.
        referrer_start: int32 or int64 (V + 1,). The referrers of a *join*, an object
            to which its immediate dominator does not refer, are the positions
            ``referrer[referrer_start[p]:referrer_start[p + 1]]``, without those that
            it dominates. For any other position the list is empty.
        referrer: int32.
        dominated_count: int64 (T,). Sum over the instances of each type of ``end``
            minus position; 0 where ``type_index`` does not have the type.
    """

    object_index: Ints
    position: Ints
    end: Ints
    dominator: Ints
    type_index: Ints
    referrer_start: Starts
    referrer: Ints
    dominated_count: Longs


@kernel
def _number(
    object_index: Ints,
    idom: Ints,
    finished: Ints,
    object_types: Ints,
    vertex_at: Ints,
    position: Ints,
    end: Ints,
    dominator: Ints,
    instance_count: Longs,
    dominated_count: Longs,
) -> None:
    """Number the vertices in preorder; fills the arrays from ``vertex_at`` on.

    ``vertex_at`` becomes the vertex at each position, ``position`` its inverse.
    """
    count = len(idom)
    # Until all positions are known, two columns hold subtree sizes and the next free
    # position below each vertex.
    size, cursor = dominator, vertex_at
    for vertex in range(count):
        size[vertex] = 1
    for vertex in range(count - 1, 0, -1):
        fetch(size, idom[max(vertex - 2 * AHEAD, 0)])
        fetch(object_types, object_index[max(vertex - 2 * AHEAD, 0)])
        size[idom[vertex]] += size[vertex]
        kind = object_types[object_index[vertex]]
        if kind >= 0:
            instance_count[kind] += 1
            dominated_count[kind] += size[vertex]
    for kind in range(len(instance_count)):
        if instance_count[kind] == 1:
            dominated_count[kind] = 0
    position[0] = 0
    cursor[0] = 1
    for i in range(len(finished) - 1, -1, -1):
        later = finished[max(i - 2 * AHEAD, 0)]
        fetch(size, later)
        fetch(cursor, later)
        fetch(position, later)
        fetch(idom, later)
        fetch(cursor, idom[finished[max(i - AHEAD, 0)]])
        vertex = finished[i]
        found = cursor[idom[vertex]]
        position[vertex] = found
        cursor[idom[vertex]] += size[vertex]
        cursor[vertex] = found + 1
    for vertex in range(count):
        end[position[vertex]] = position[vertex] + size[vertex]
    for vertex in range(count):
        found = position[vertex]
        vertex_at[found] = vertex
        dominator[found] = position[idom[vertex]]


@kernel
def _by_position(
    first: int,
    stop: int,
    vertex_at: Ints,
    objects: Ints,
    object_types: Ints,
    instance_count: Longs,
    object_index: Ints,
    position: Ints,
    type_index: Ints,
) -> None:
    """Fill the last three arguments, columns of `Preorder`, for some positions."""
    last = stop - 1
    for at in range(first, stop):
        fetch(objects, vertex_at[min(at + 4 * AHEAD, last)])
        later = objects[vertex_at[min(at + 2 * AHEAD, last)]]
        fetch(object_types, later)
        fetch(position, later)
        row = objects[vertex_at[at]]
        kind = object_types[row]
        object_index[at] = row
        position[row] = at
        type_index[at] = kind if kind >= 0 and instance_count[kind] > 1 else -1


@kernel
def _list_referrers(
    first: int,
    stop: int,
    step: int,
    vertex_at: Ints,
    position: Ints,
    end: Ints,
    idom: Ints,
    pred_start: Starts,
    pred_source: Ints,
    count: Starts,
    referrer: Ints,
) -> int:
    """List the referrers of joins, from position ``first`` on, ``step`` apart.

    Fills ``referrer`` from its begin if ``step`` is 1, from its end if it is -1, so
    that positions ascend in it; ``count`` gets the length of each list.

    Returns:
        How many referrers there are.
    """
    free = first_free = 0 if step > 0 else len(referrer) - 1
    lowest, highest = min(first, stop - step), max(first, stop - step)
    for target in range(first, stop, step):
        later = vertex_at[min(max(target + 4 * AHEAD * step, lowest), highest)]
        fetch(pred_start, later)
        fetch(idom, later)
        later = vertex_at[min(max(target + 2 * AHEAD * step, lowest), highest)]
        fetch(pred_source, pred_start[later])
        later = vertex_at[min(max(target + AHEAD * step, lowest), highest)]
        begin = pred_start[later]
        for entry in range(begin, min(pred_start[later + 1], begin + AHEAD)):
            fetch(position, pred_source[entry])
        vertex = vertex_at[target]
        before = free
        # Predecessors ascend, and no predecessor has a lower number than the
        # dominator.
        begin, last = pred_start[vertex], pred_start[vertex + 1] - 1
        if pred_source[begin] != idom[vertex]:
            if step < 0:
                begin, last = last, begin
            previous = -1
            for entry in range(begin, last + step, step):
                source = position[pred_source[entry]]
                if source != previous and not (target <= source < end[target]):
                    referrer[free] = source
                    free += step
                previous = source
        count[target] = abs(free - before)
    return abs(free - first_free)


@kernel
def _close_gap(referrer: Ints, used: int, others: int) -> None:
    """Move the last ``others`` entries to behind the first ``used`` ones."""
    begin = len(referrer) - others
    for entry in range(others):
        referrer[used + entry] = referrer[begin + entry]


def _referrers_of_joins(
    vertex_at: Ints, position: Ints, end: Ints, idom: Ints, search: DepthFirstSearch
) -> tuple[Starts, NDArray[np.int32]]:
    """``referrer_start`` and ``referrer`` of `Preorder`, listed from both ends."""
    count = len(idom)
    pred_start, pred_source = search.take_predecessors()
    start = np.zeros(count + 1, pred_start.dtype)
    referrer = np.empty(len(pred_source), np.int32)
    given = vertex_at, position, end, idom, pred_start, pred_source, start[1:], referrer
    half = (count + 1) // 2
    with beside(lambda: _list_referrers(count - 1, half - 1, -1, *given)) as others:
        used = _list_referrers(1, half, 1, *given)
        more = others()
    np.cumsum(start, dtype=start.dtype, out=start)  # in place
    _close_gap(referrer, used, more)
    referrer.resize(used + more, refcheck=False)  # in place
    return start, referrer


def preorder_of(
    graph: HeapGraph, tree: DominatorTree, search: DepthFirstSearch
) -> Preorder:
    """Number a dominator tree in preorder.

    Memory: 24 bytes a reachable object and 4 a reference to a join, besides ``search``,
    whose arrays are freed once they have been used.
    """
    count = len(tree.object_index)
    vertex_at, position, end, dominator = (np.empty(count, np.int32) for _ in range(4))
    instance_count, dominated_count = np.zeros((2, len(graph.type_names)), np.int64)
    _number(
        tree.object_index,
        tree.idom,
        search.take_finished(),
        graph.type_index,
        vertex_at,
        position,
        end,
        dominator,
        instance_count,
        dominated_count,
    )
    referrer_start, referrer = _referrers_of_joins(
        vertex_at, position, end, tree.idom, search
    )
    del position
    object_index, type_index = (np.empty(count, np.int32) for _ in range(2))
    object_index[0], type_index[0] = tree.object_index[0], NO_TYPE
    by_object = np.zeros(len(graph.object_id), np.int32)
    given = vertex_at, tree.object_index, graph.type_index, instance_count
    found = object_index, by_object, type_index
    in_ranges(lambda first, end: _by_position(first, end, *given, *found), 1, count)
    return Preorder(
        object_index,
        by_object,
        end,
        dominator,
        type_index,
        referrer_start,
        referrer,
        dominated_count,
    )
