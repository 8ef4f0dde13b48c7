"""The dominator tree and retained sizes.

An object dominates another if every path from the roots to the other passes through
it; the nearest such object is the immediate dominator. When an object is freed, exactly
the objects that it dominates are freed with it.

Source: semi-NCA of L. Georgiadis, Linear-Time Algorithms for Dominators and
Related Problems (2005), section 2.3, with path compression and without balancing;
E. W. Myers, An applicative random-access stack (1983), for finding the nearest
dominator that is not below a given number in logarithmic time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.heap.graph import starts_type
from ingest.system.memory import beside, in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.arrays.compiled import Ints, Longs, Starts
    from ingest.heap.graph import HeapGraph


_HEAD = 3
"""Entries of a record before those of what the object refers to; see `_lay_out`."""

_VERTEX, _COUNT, _END = range(_HEAD)


@kernel
def _lay_out(
    start: Starts, targets: Ints, first: int, end: int, records: Starts
) -> None:
    """Write the records of the objects from ``first`` to ``end``.

    A record is the number that the search gives the object, how many references lead
    to it, where the record ends, and the records of what it refers to. So the search
    looks at one place for each reference, and finds there where it goes on.
    """
    last = len(targets) - 1
    for row in range(first, end):
        at = start[row] + _HEAD * row
        records[at + _VERTEX] = records[at + _COUNT] = 0
        free = at + _HEAD
        for ref in range(start[row], start[row + 1]):
            fetch(start, targets[min(ref + 4 * AHEAD, last)])
            records[free] = start[targets[ref]] + _HEAD * targets[ref]
            free += 1
        records[at + _END] = free


@kernel
def _drop_skipped(
    references: ReferenceColumns, records: Starts, first: int, end: int
) -> None:
    """Take the references that are ignored out of their records."""
    start, skipped = references.start, references.skipped
    for row in range(first, end):
        free = at = start[row] + _HEAD * (row + 1)
        for ref in range(start[row], start[row + 1]):
            if not skipped[ref]:
                if free < at:
                    records[free] = records[at]
                free += 1
            at += 1
        if free < at:
            records[start[row] + _HEAD * row + _END] = free


@kernel
def _search(
    start: Starts,
    roots: Ints,
    records: Starts,
    parent: Ints,
    finished: Ints,
    stack: Starts,
    cursor: Starts,
) -> int:
    """Search depth-first, fill the columns; return how many objects are reached, + 1.

    ``stack`` and ``cursor`` describe the open objects: where the record of each begins,
    and where its next reference is.
    """
    count = 1
    done = 0
    for root in roots:
        child = start[root] + _HEAD * root
        records[child + _COUNT] += 1
        if records[child + _VERTEX] > 0:
            continue
        records[child + _VERTEX] = count
        parent[count] = 0
        count += 1
        depth = 0
        stack[0] = child
        cursor[0] = child + _HEAD
        while depth >= 0:
            source = stack[depth]
            entry = cursor[depth]
            end = records[source + _END]
            while entry < end:
                child = records[entry]
                records[child + _COUNT] += 1
                if records[child + _VERTEX] == 0:
                    break
                entry += 1
            if entry == end:
                finished[done] = records[source + _VERTEX]
                done += 1
                depth -= 1
                # The object to go back to was used long ago.
                above = max(depth - AHEAD, 0)
                fetch(records, stack[above])
                fetch(records, cursor[above])
                fetch(records, records[cursor[max(depth - AHEAD // 2, 0)]])
                continue
            cursor[depth] = entry + 1
            records[child + _VERTEX] = count
            parent[count] = records[source + _VERTEX]
            count += 1
            end = records[child + _END]
            begin = child + _HEAD
            if begin == end:
                # It refers to nothing, as strings do: it need not be opened.
                finished[done] = count - 1
                done += 1
                continue
            depth += 1
            stack[depth] = child
            cursor[depth] = begin
            for entry in range(begin, min(end, begin + AHEAD)):
                fetch(records, records[entry])
    return count


@kernel
def _take_numbers(
    start: Starts,
    records: Starts,
    first: int,
    end: int,
    object_index: Ints,
    pred_count: Starts,
) -> None:
    """Write what the search found for the objects from ``first`` to ``end``.

    That is the object of each vertex, and how many references lead to it.
    """
    for row in range(first, end):
        later = min(row + 2 * AHEAD, end - 1)
        fetch(object_index, records[start[later] + _HEAD * later])
        fetch(pred_count, records[start[later] + _HEAD * later])
        at = start[row] + _HEAD * row
        vertex = records[at + _VERTEX]
        if vertex > 0:
            object_index[vertex] = row
            pred_count[vertex] = records[at + _COUNT]


@kernel
def _open_lists(
    object_index: Ints, pred_start: Starts, front: Starts, back: Starts
) -> None:
    """Find where the predecessors of each vertex begin and end; index both by object.

    ``pred_start[v + 1]`` initially holds the number of predecessors of vertex v.
    """
    last = len(object_index) - 1
    for vertex in range(1, len(object_index)):
        later = object_index[min(vertex + 2 * AHEAD, last)]
        fetch(front, later)
        fetch(back, later)
        pred_start[vertex + 1] += pred_start[vertex]
        front[object_index[vertex]] = pred_start[vertex]
        back[object_index[vertex]] = pred_start[vertex + 1]


@kernel
def _invert(
    references: ReferenceColumns,
    object_index: Ints,
    first: int,
    end: int,
    step: int,
    pred_source: Ints,
    slot: Starts,
) -> None:
    """Enter the vertices from ``first`` on, ``step`` apart, in lists of predecessors.

    Each list is filled from its begin if ``step`` is 1, from its end if it is -1, so
    that its vertices ascend. ``slot`` is indexed by object, not by vertex, so that a
    reference costs one look-up.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    before = (step - 1) // 2
    lowest, highest = min(first, end - step), max(first, end - step)
    for source in range(first, end, step):
        # Each look-up needs the one before, so they are prefetched in turn.
        later = min(max(source + 3 * AHEAD * step, lowest), highest)
        fetch(start, object_index[later])
        later = min(max(source + 2 * AHEAD * step, lowest), highest)
        fetch(targets, start[object_index[later]])
        later = object_index[min(max(source + AHEAD * step, lowest), highest)]
        for ref in range(start[later], min(start[later + 1], start[later] + AHEAD)):
            fetch(slot, targets[ref])
        referrer = object_index[source]
        for ref in range(start[referrer], start[referrer + 1]):
            if not (some_skipped and skipped[ref]):
                entry = slot[targets[ref]]
                pred_source[entry + before] = source
                slot[targets[ref]] = entry + step


@kernel
def _add_roots(roots: Ints, pred_source: Ints, slot: Starts) -> None:
    """Enter the super-root, vertex 0, as a predecessor of what the roots refer to.

    Args:
        roots: int32 (R,). Objects that the roots refer to.
        pred_source: int32 (E' + R,). Filled.
        slot: int32 or int64 (N + M,). Next free entry of each object's list; advanced.
    """
    for root in roots:
        pred_source[slot[root]] = 0
        slot[root] += 1


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
            # The first steps up are prefetched in turn.
            fetch(link, 2 * pred_source[max(entry - 8 * AHEAD, 0)])
            later = link[pred_source[max(entry - 6 * AHEAD, 0)], 0]
            fetch(link, 2 * later)
            later = link[link[pred_source[max(entry - 4 * AHEAD, 0)], 0], 0]
            fetch(link, 2 * later)
            later = link[pred_source[max(entry - 2 * AHEAD, 0)], 0]
            fetch(link, 2 * link[link[later, 0], 0])
            label = pred_source[entry]
            if label > vertex:
                depth = 0
                node = label
                while link[node, 0] > vertex:
                    path[depth] = node
                    depth += 1
                    node = link[node, 0]
                label = link[node, 1]
                while depth:
                    depth -= 1
                    below = path[depth]
                    label = min(label, link[below, 1])
                    link[below, 0], link[below, 1] = link[node, 0], label
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
    """Fill ``dominator`` for all reachable objects."""
    last = len(object_index) - 1
    for vertex in range(1, len(object_index)):
        fetch(object_index, idom[min(vertex + 2 * AHEAD, last)])
        fetch(dominator, object_index[min(vertex + 2 * AHEAD, last)])
        above = idom[vertex]
        found = object_index[above] if above > 0 else ROOT
        dominator[object_index[vertex]] = found


@kernel
def _sizes_to_objects(object_index: Ints, by_vertex: Longs, by_object: Longs) -> None:
    """Fill ``by_object`` for all reachable objects."""
    last = len(object_index) - 1
    for vertex in range(1, len(object_index)):
        fetch(by_object, object_index[min(vertex + 2 * AHEAD, last)])
        by_object[object_index[vertex]] = by_vertex[vertex]


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

    def sizes_by_object(self, by_vertex: Longs) -> Longs:
        """int64 (N + M,), bytes: the size of each object, 0 where unreachable."""
        column = np.zeros(self.all_count, np.int64)
        _sizes_to_objects(self.object_index, by_vertex, column)
        return column


@dataclass(slots=True, eq=False)
class DepthFirstSearch:
    """Further results of the search, which followed E' references.

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
    references: ReferenceColumns, records: Starts | None = None
) -> tuple[DominatorTree, DepthFirstSearch]:
    """The dominator tree of the references, and what the search found on the way.

    Memory: 32 bytes an object and 4 a reference at the peak; 12 more a reference if
    their number needs more than 32 bits.

    Args:
        references: What the search follows.
        records: The result of `records_of`, computed if ``None``. It is used up.
    """
    start, targets, skipped, roots = references
    n = len(start) - 1
    if records is None:
        records = records_of(start, targets)
    if len(skipped):
        in_ranges(lambda *rows: _drop_skipped(references, records, *rows), 0, n)
    parent = np.zeros(n + 1, np.int32)
    finished = np.empty(n, np.int32)
    # Finished and open objects are never more than N + M together, so the stack grows
    # from the other end of the same column, where its entries have room.
    stack = finished if records.dtype == np.int32 else np.empty(n, records.dtype)
    cursor = np.empty(n, records.dtype)
    count = _search(start, roots, records, parent, finished, stack[::-1], cursor)
    del stack, cursor
    parent, finished = parent[:count], finished[: count - 1]
    object_index = np.zeros(count, np.int32)
    of_starts = starts_type(len(targets) + len(roots))
    pred_start = np.zeros(count + 1, of_starts)
    found = object_index, pred_start[1:]
    in_ranges(
        lambda first, end: _take_numbers(start, records, first, end, *found), 0, n
    )
    records.resize(0, refcheck=False)  # freed, whoever else refers to it
    pred_source = _predecessors(references, object_index, pred_start)
    idom = np.empty(count, np.int32)
    link, semi = np.empty((count, 2), np.int32), np.empty(count, np.int32)
    _immediate_dominators(parent, pred_start, pred_source, link, semi, idom)
    search = DepthFirstSearch(pred_start, pred_source, finished)
    return DominatorTree(object_index, idom, n), search


def records_of(start: Starts, targets: Ints) -> Starts:
    """Lay out what the search for dominators follows; see `_lay_out`.

    Args:
        start: Column ``ref_start`` of a graph.
        targets: Column ``ref_target``.
    """
    n = len(start) - 1
    entries = len(targets) + _HEAD * n
    # One more entry, since the search looks behind a record before it goes on.
    records = np.empty(entries + 1, starts_type(entries))
    in_ranges(lambda first, end: _lay_out(start, targets, first, end, records), 0, n)
    return records


def _predecessors(
    references: ReferenceColumns,
    object_index: NDArray[np.int32],
    pred_start: Starts,
) -> NDArray[np.int32]:
    """``pred_source`` of `DepthFirstSearch`; completes ``pred_start``.

    The lists are filled from both ends at once.
    """
    n, count = len(references.start) - 1, len(object_index)
    front, back = np.empty((2, n), pred_start.dtype)
    _open_lists(object_index, pred_start, front, back)
    pred_source = np.empty(int(pred_start[-1]), np.int32)
    half = (count + 1) // 2
    backwards = object_index, count - 1, half - 1, -1, pred_source, back
    with beside(lambda: _invert(references, *backwards)) as others:
        _add_roots(references.roots, pred_source, front)
        _invert(references, object_index, 1, half, 1, pred_source, front)
        others()
    return pred_source


@kernel
def _take_sizes(
    object_index: Ints, shallow_bytes: Longs, sizes: Longs, first: int, end: int
) -> None:
    """Fill ``sizes`` with the shallow sizes of vertices from ``first`` to ``end``."""
    last = len(object_index) - 1
    for vertex in range(first, end):
        fetch(shallow_bytes, object_index[min(vertex + AHEAD, last)])
        sizes[vertex] = shallow_bytes[object_index[vertex]]


@kernel
def _sum_subtrees(idom: Ints, sizes: Longs) -> None:
    """Add the size of each vertex to that of its dominator."""
    # A vertex has a higher number than its dominator: one pass, children first.
    for vertex in range(len(idom) - 1, 0, -1):
        fetch(sizes, idom[max(vertex - AHEAD, 0)])
        sizes[idom[vertex]] += sizes[vertex]


def sum_retained(
    object_index: Ints, idom: Ints, shallow_bytes: Longs, sizes: Longs
) -> None:
    """Fill ``sizes``, int64 (V,), with the retained bytes of each vertex.

    Args:
        object_index: As in `DominatorTree`.
        idom: Likewise.
        shallow_bytes: int64 (N + M,). Sizes of the objects.
        sizes: Filled; row 0 gets the sum of all reachable objects.
    """
    sizes[0] = 0
    in_ranges(
        lambda *rows: _take_sizes(object_index, shallow_bytes, sizes, *rows),
        1,
        len(object_index),
    )
    _sum_subtrees(idom, sizes)


def retained_sizes(graph: HeapGraph, tree: DominatorTree) -> NDArray[np.int64]:
    """int64 (N + M,), bytes: the retained size of each object, 0 where unreachable."""
    sizes = np.empty(len(tree.object_index), np.int64)
    sum_retained(tree.object_index, tree.idom, graph.shallow_bytes, sizes)
    return tree.sizes_by_object(sizes)


@kernel
def _add_to_dominators(dominator: Ints, pending: Ints, sums: Longs) -> None:
    """Add the sum of each object to that of its dominator, once it is complete.

    ``pending`` is 0 at first, and gets the objects below each one whose own sums have
    not been added yet.
    """
    for row in range(len(dominator)):
        if dominator[row] >= 0:
            pending[dominator[row]] += 1
    done = -1
    for first in range(len(dominator)):
        row = first
        while pending[row] == 0 and dominator[row] >= 0:
            above = dominator[row]
            sums[above] += sums[row]
            pending[row] = done
            pending[above] -= 1
            row = above


def add_to_dominators(
    dominator: NDArray[np.int32], sums: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add to the figure of each object those of all that it dominates, in place.

    Args:
        dominator: int32 (N + M,). The immediate dominators; see `by_object`.
        sums: int64 (N + M,). A figure of each object alone.

    Returns:
        ``sums``.
    """
    _add_to_dominators(dominator, np.zeros(len(dominator), np.int32), sums)
    return sums


def retained_counts(dominator: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64 (N + M,): objects that each one retains, with itself; 0 where unreachable.

    Memory: 12 bytes an object.

    Args:
        dominator: As in `add_to_dominators`.
    """
    return add_to_dominators(dominator, (dominator != UNREACHABLE).astype(np.int64))
