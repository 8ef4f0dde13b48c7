"""The dominator tree and retained sizes.

An object dominates another if every path from the roots to the other passes through
it; the nearest such object is the immediate dominator. When an object is freed, exactly
the objects that it dominates are freed with it.

In preorder, the objects that an object dominates have the positions right after its
own: an interval. Siblings are in reverse postorder of the depth-first search, so that
most references, and all in a heap without cycles, lead to a higher position.

Source: semi-NCA of L. Georgiadis, Linear-Time Algorithms for Dominators and
Related Problems (2005), section 2.3, with path compression and without balancing;
E. W. Myers, An applicative random-access stack (1983), for finding the nearest
dominator that is not below a given number in logarithmic time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.compiled import fetch, kernel
from ingest.heap.graph import NO_TYPE, starts_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.compiled import Ints, Longs, Starts
    from ingest.heap.graph import HeapGraph


_AHEAD = 8
"""Steps of a loop between asking for an entry of a column and using it."""


@kernel
def _search(
    references: ReferenceColumns,
    visits: Ints,
    object_index: Ints,
    parent: Ints,
    finished: Ints,
    cursor: Starts,
) -> int:
    """Depth-first search; fills the arrays, returns the objects reached + 1.

    ``visits`` is (N + M, 2): the number of each object, and how many references lead
    to it, side by side because every reference needs both.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    # Finished and open objects are never more than N + M together, so the stack grows
    # from the other end of the same array.
    stack = finished[::-1]
    count = 1
    done = 0
    for root in references.roots:
        visits[root, 1] += 1
        if visits[root, 0] > 0:
            continue
        visits[root, 0] = count
        object_index[count] = root
        parent[count] = 0
        count += 1
        depth = 0
        stack[0] = root
        cursor[0] = start[root]
        while depth >= 0:
            source = stack[depth]
            ref = cursor[depth]
            end = start[source + 1]
            while ref < end:
                if not (some_skipped and skipped[ref]):
                    target = targets[ref]
                    visits[target, 1] += 1
                    if visits[target, 0] == 0:
                        break
                ref += 1
            if ref == end:
                finished[done] = visits[source, 0]
                done += 1
                depth -= 1
                # What is open above was used long ago.
                above = max(depth - _AHEAD, 0)
                fetch(visits, 2 * stack[above])
                fetch(start, stack[above])
                fetch(targets, cursor[above])
                ref = cursor[max(depth - _AHEAD // 2, 0)]
                if ref < len(targets):
                    fetch(visits, 2 * targets[ref])
                continue
            cursor[depth] = ref + 1
            visits[target, 0] = count
            object_index[count] = target
            parent[count] = visits[source, 0]
            count += 1
            begin = start[target]
            if begin == start[target + 1]:
                # It refers to nothing, as strings do: it need not be opened.
                finished[done] = count - 1
                done += 1
                continue
            depth += 1
            stack[depth] = target
            cursor[depth] = begin
            for ref in range(begin, min(start[target + 1], begin + _AHEAD)):
                fetch(visits, 2 * targets[ref])
                fetch(start, targets[ref])
    return count


@kernel
def _invert(
    references: ReferenceColumns,
    object_index: Ints,
    pred_start: Starts,
    pred_source: Ints,
    slot: Starts,
) -> None:
    """List the predecessors of each vertex, ascending.

    ``pred_start[v + 1]`` initially holds the number of predecessors of vertex v.
    ``slot`` is for the next entry of each object: by object, not by vertex, so that a
    reference costs one look-up.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    count = len(object_index)
    for vertex in range(1, count):
        pred_start[vertex + 1] += pred_start[vertex]
        slot[object_index[vertex]] = pred_start[vertex]
    for root in references.roots:
        pred_source[slot[root]] = 0
        slot[root] += 1
    for source in range(1, count):
        # Each look-up leads to the next one: they are asked for one after the other.
        fetch(start, object_index[min(source + 3 * _AHEAD, count - 1)])
        later = object_index[min(source + 2 * _AHEAD, count - 1)]
        fetch(targets, start[later])
        later = object_index[min(source + _AHEAD, count - 1)]
        for ref in range(start[later], min(start[later + 1], start[later] + _AHEAD)):
            fetch(slot, targets[ref])
        referrer = object_index[source]
        for ref in range(start[referrer], start[referrer + 1]):
            if not (some_skipped and skipped[ref]):
                entry = slot[targets[ref]]
                pred_source[entry] = source
                slot[targets[ref]] = entry + 1


@kernel
def _immediate_dominators(
    parent: Ints,
    pred_start: Starts,
    pred_source: Ints,
    link: Ints,
    semi: Ints,
    idom: Ints,
) -> None:
    """Fill ``idom`` with immediate dominators; entry 0 is 0.

    ``link`` is (V, 2): ancestor and label, side by side because every step up the
    search tree needs both.
    """
    path = idom
    for vertex in range(len(parent)):
        link[vertex, 0] = parent[vertex]
        link[vertex, 1] = vertex
    semi[0] = 0
    for vertex in range(len(parent) - 1, 0, -1):
        lowest = parent[vertex]
        for entry in range(pred_start[vertex], pred_start[vertex + 1]):
            fetch(link, 2 * pred_source[max(entry - 4 * _AHEAD, 0)])
            fetch(link, 2 * link[pred_source[max(entry - 2 * _AHEAD, 0)], 0])
            label = pred_source[entry]
            if label > vertex:
                depth = 0
                node = label
                while link[node, 0] > vertex:
                    path[depth] = node
                    depth += 1
                    node = link[node, 0]
                while depth:
                    depth -= 1
                    node = path[depth]
                    ancestor = link[node, 0]
                    if link[ancestor, 1] < link[node, 1]:
                        link[node, 1] = link[ancestor, 1]
                    link[node, 0] = link[ancestor, 0]
                label = link[label, 1]
            if label < lowest:
                lowest = label
        semi[vertex] = lowest
        link[vertex, 1] = lowest
    # From here on ``link`` holds a dominator further up and the depth. Going up step
    # by step would take quadratic time on a long list with other referrers.
    idom[0] = link[0, 0] = link[0, 1] = 0
    for vertex in range(1, len(parent)):
        dominator = parent[vertex]
        while dominator > semi[vertex]:
            jump = link[dominator, 0]
            dominator = jump if jump > semi[vertex] else idom[dominator]
        idom[vertex] = dominator
        jump = link[dominator, 0]
        next_jump = link[jump, 0]
        equal = link[dominator, 1] - link[jump, 1] == link[jump, 1] - link[next_jump, 1]
        link[vertex, 0] = next_jump if equal else dominator
        link[vertex, 1] = link[dominator, 1] + 1


@kernel
def _to_objects(object_index: Ints, idom: Ints, dominator: Ints) -> None:
    """Fill ``dominator`` of all reachable objects."""
    last = len(object_index) - 1
    for vertex in range(1, len(object_index)):
        fetch(object_index, idom[min(vertex + 2 * _AHEAD, last)])
        fetch(dominator, object_index[min(vertex + 2 * _AHEAD, last)])
        above = idom[vertex]
        found = object_index[above] if above > 0 else ROOT
        dominator[object_index[vertex]] = found


@dataclass(frozen=True, slots=True, eq=False)
class DominatorTree:
    """Dominators of the reachable objects, numbered by a depth-first search.

    There are V vertices: 0 is the super-root, 1 to V - 1 are the reachable objects.
    Each has a higher number than its immediate dominator.

    Attributes:
        object_index: int32 (V,). Object of each vertex; entry 0 is unused.
        idom: int32 (V,). Vertex of the immediate dominator; 0 for entry 0.
        all_count: N + M.
    """

    object_index: NDArray[np.int32]
    idom: NDArray[np.int32]
    all_count: int

    def by_object(self) -> NDArray[np.int32]:
        """int32 (N + M,): immediate dominator as object, `ROOT` or `UNREACHABLE`."""
        column = np.full(self.all_count, UNREACHABLE, np.int32)
        _to_objects(self.object_index, self.idom, column)
        return column


@dataclass(slots=True, eq=False)
class DepthFirstSearch:
    """Further results of the search: E' references followed from reachable objects.

    Attributes:
        pred_start: int32 or int64 (V + 1,); see `starts_type`. The predecessors of
            vertex v are ``pred_source[pred_start[v]:pred_start[v + 1]]``.
        pred_source: int32 (E' + roots,). Vertices, ascending for each v; 0 is
            a root.
        finished: int32 (V - 1,). Vertices in postorder.
    """

    pred_start: Starts
    pred_source: NDArray[np.int32]
    finished: NDArray[np.int32]

    def take_finished(self) -> NDArray[np.int32]:
        """``finished``, which is then the caller's only."""
        finished, self.finished = self.finished, self.finished[:0].copy()
        return finished

    def take_predecessors(self) -> tuple[Starts, NDArray[np.int32]]:
        """``pred_start`` and ``pred_source``, which are then the caller's only."""
        start, source = self.pred_start, self.pred_source
        self.pred_start, self.pred_source = start[:0].copy(), source[:0].copy()
        return start, source


def dominator_tree(
    references: ReferenceColumns,
) -> tuple[DominatorTree, DepthFirstSearch]:
    """Dominators along the references, and the search.

    Memory: 32 bytes an object and 4 a reference at the peak, 12 more where 32 bits do
    not count the references.
    """
    n = len(references.start) - 1
    of_starts = starts_type(len(references.target) + len(references.roots))
    visits = np.zeros((n, 2), np.int32)
    object_index = np.zeros(n + 1, np.int32)
    parent = np.zeros(n + 1, np.int32)
    finished = np.empty(n, np.int32)
    cursor = np.empty(n, of_starts)
    count = _search(references, visits, object_index, parent, finished, cursor)
    object_index, parent = object_index[:count], parent[:count]
    finished = finished[: count - 1]
    pred_start = np.zeros(count + 1, of_starts)
    pred_start[2:] = visits[object_index[1:], 1]
    del visits
    pred_source = np.empty(int(pred_start.sum(dtype=np.int64)), np.int32)
    _invert(references, object_index, pred_start, pred_source, cursor)
    del cursor
    idom = np.empty(count, np.int32)
    link, semi = np.empty((count, 2), np.int32), np.empty(count, np.int32)
    _immediate_dominators(parent, pred_start, pred_source, link, semi, idom)
    search = DepthFirstSearch(pred_start, pred_source, finished)
    return DominatorTree(object_index, idom, n), search


@kernel
def _sum_subtrees(
    object_index: Ints,
    idom: Ints,
    shallow_bytes: Longs,
    retained_bytes: Longs,
) -> None:
    last = len(object_index) - 1
    for vertex in range(1, len(object_index)):
        later = object_index[min(vertex + 2 * _AHEAD, last)]
        fetch(shallow_bytes, later)
        fetch(retained_bytes, later)
        retained_bytes[object_index[vertex]] = shallow_bytes[object_index[vertex]]
    # A vertex has a higher number than its dominator: one pass, children first.
    for vertex in range(len(object_index) - 1, 0, -1):
        later = max(vertex - 2 * _AHEAD, 0)
        fetch(retained_bytes, object_index[later])
        fetch(object_index, idom[later])
        fetch(retained_bytes, object_index[idom[max(vertex - _AHEAD, 0)]])
        if idom[vertex]:
            child, parent = object_index[vertex], object_index[idom[vertex]]
            retained_bytes[parent] += retained_bytes[child]


def retained_sizes(graph: HeapGraph, tree: DominatorTree) -> NDArray[np.int64]:
    """int64 (N + M,), bytes: the retained size of each object, 0 where unreachable."""
    retained_bytes = np.zeros(len(graph.object_id), np.int64)
    _sum_subtrees(tree.object_index, tree.idom, graph.shallow_bytes, retained_bytes)
    return retained_bytes


@kernel
def _count_subtrees(dominator: Ints, pending: Ints, counts: Longs) -> None:
    """Add the count of each object to that of its dominator, once it is complete.

    ``pending`` is 0 at first, and gets the objects below each one whose own counts
    have not been added yet.
    """
    for row in range(len(dominator)):
        if dominator[row] != UNREACHABLE:
            counts[row] = 1
            if dominator[row] >= 0:
                pending[dominator[row]] += 1
    done = -1
    for first in range(len(dominator)):
        row = first
        while pending[row] == 0 and dominator[row] >= 0:
            above = dominator[row]
            counts[above] += counts[row]
            pending[row] = done
            pending[above] -= 1
            row = above


def retained_counts(dominator: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64 (N + M,): objects that each one retains, with itself; 0 where unreachable.

    Memory: 12 bytes an object.

    Args:
        dominator: int32 (N + M,). The immediate dominators; see `by_object`.
    """
    counts = np.zeros(len(dominator), np.int64)
    _count_subtrees(dominator, np.zeros(len(dominator), np.int32), counts)
    return counts


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
        fetch(size, idom[max(vertex - 2 * _AHEAD, 0)])
        fetch(object_types, object_index[max(vertex - 2 * _AHEAD, 0)])
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
        later = finished[max(i - 2 * _AHEAD, 0)]
        fetch(size, later)
        fetch(cursor, later)
        fetch(position, later)
        fetch(idom, later)
        fetch(cursor, idom[finished[max(i - _AHEAD, 0)]])
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
    vertex_at: Ints,
    objects: Ints,
    object_types: Ints,
    instance_count: Longs,
    object_index: Ints,
    position: Ints,
    type_index: Ints,
) -> None:
    """Fill the last three arrays, the columns of `Preorder`; position 0 is given."""
    last = len(vertex_at) - 1
    for at in range(1, len(vertex_at)):
        fetch(objects, vertex_at[min(at + 4 * _AHEAD, last)])
        later = objects[vertex_at[min(at + 2 * _AHEAD, last)]]
        fetch(object_types, later)
        fetch(position, later)
        row = objects[vertex_at[at]]
        kind = object_types[row]
        object_index[at] = row
        position[row] = at
        type_index[at] = kind if kind >= 0 and instance_count[kind] > 1 else -1


@kernel
def _list_referrers(
    vertex_at: Ints,
    position: Ints,
    end: Ints,
    idom: Ints,
    pred_start: Starts,
    pred_source: Ints,
    referrer_start: Starts,
    referrer: Ints,
) -> int:
    """List the referrers of joins: fills the last two arrays, returns how many."""
    used, last = 0, len(idom) - 1
    referrer_start[0] = referrer_start[1] = 0
    for target in range(1, len(idom)):
        later = vertex_at[min(target + 4 * _AHEAD, last)]
        fetch(pred_start, later)
        fetch(idom, later)
        fetch(pred_source, pred_start[vertex_at[min(target + 2 * _AHEAD, last)]])
        later = vertex_at[min(target + _AHEAD, last)]
        begin = pred_start[later]
        for entry in range(begin, min(pred_start[later + 1], begin + _AHEAD)):
            fetch(position, pred_source[entry])
        vertex = vertex_at[target]
        # Predecessors ascend, and no predecessor has a lower number than the
        # dominator.
        if pred_source[pred_start[vertex]] != idom[vertex]:
            previous = -1
            for entry in range(pred_start[vertex], pred_start[vertex + 1]):
                source = position[pred_source[entry]]
                if source != previous and not (target <= source < end[target]):
                    referrer[used] = source
                    used += 1
                previous = source
        referrer_start[target + 1] = used
    return used


def preorder_of(
    graph: HeapGraph, tree: DominatorTree, search: DepthFirstSearch
) -> Preorder:
    """Number a dominator tree in preorder.

    Memory: 24 bytes a reachable object, and 4 a reference to a join; besides,
    ``search``, whose arrays are freed once they have been used.
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
    pred_start, pred_source = search.take_predecessors()
    referrer_start = np.empty(count + 1, pred_start.dtype)
    referrer = np.empty(len(pred_source), np.int32)
    used = _list_referrers(
        vertex_at,
        position,
        end,
        tree.idom,
        pred_start,
        pred_source,
        referrer_start,
        referrer,
    )
    del pred_start, pred_source, position
    referrer.resize(used, refcheck=False)  # in place
    object_index, type_index = np.empty((2, count), np.int32)
    object_index[0], type_index[0] = tree.object_index[0], NO_TYPE
    by_object = np.zeros(len(graph.object_id), np.int32)
    _by_position(
        vertex_at,
        tree.object_index,
        graph.type_index,
        instance_count,
        object_index,
        by_object,
        type_index,
    )
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
