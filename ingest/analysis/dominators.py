"""The dominator tree.

An object dominates another if every path from the roots to it passes through the
former; the nearest such object is the immediate dominator. Freeing an object frees
exactly the objects that it dominates.

Source: semi-NCA of L. Georgiadis, Linear-Time Algorithms for Dominators and
Related Problems (2005), section 2.3, with path compression and without balance;
E. W. Myers, An applicative random-access stack (1983), for finding a dominator of a
given number in logarithmic time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE, strong_roots, weak_mask
from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Bools, Ints, Longs
    from ingest.heap.graph import HeapGraph


@kernel
def _walk(
    ref_start: Longs,
    ref_target: Ints,
    weak: Bools,
    roots: Ints,
    seen: Ints,
    vertex: Ints,
    parent: Ints,
    finished: Ints,
    cursor: Longs,
) -> int:
    """Depth-first search; fills the arrays, returns the vertices seen + 1.

    ``seen`` is (N + M, 2): the number of each object, and how many refer to it, side
    by side because every reference asks for both.
    """
    some_weak = len(weak) > 0
    # What is left and what is still open are never more than there are objects, so
    # the stack grows from the other end.
    stack = finished[::-1]
    count = 1
    done = 0
    for root in roots:
        seen[root, 1] += 1
        if seen[root, 0] > 0:
            continue
        seen[root, 0] = count
        vertex[count] = root
        parent[count] = 0
        count += 1
        depth = 0
        stack[0] = root
        cursor[0] = ref_start[root]
        while depth >= 0:
            i = stack[depth]
            at = cursor[depth]
            end = ref_start[i + 1]
            while at < end:
                if not (some_weak and weak[at]):
                    j = ref_target[at]
                    seen[j, 1] += 1
                    if seen[j, 0] == 0:
                        break
                at += 1
            if at == end:
                finished[done] = seen[i, 0]
                done += 1
                depth -= 1
                continue
            cursor[depth] = at + 1
            seen[j, 0] = count
            vertex[count] = j
            parent[count] = seen[i, 0]
            count += 1
            depth += 1
            stack[depth] = j
            cursor[depth] = ref_start[j]
    return count


@kernel
def _predecessors(
    ref_start: Longs,
    ref_target: Ints,
    weak: Bools,
    roots: Ints,
    number: Ints,
    vertex: Ints,
    start: Longs,
    source: Ints,
) -> None:
    """The reached part turned round, in DFS numbers, sources ascending.

    ``start`` comes with how many refer to vertex w in ``start[w + 1]``.
    """
    some_weak = len(weak) > 0
    count = len(vertex)
    for w in range(count):
        start[w + 1] += start[w]
    for root in roots:
        w = number[root]
        source[start[w]] = 0
        start[w] += 1
    for v in range(1, count):
        i = vertex[v]
        for at in range(ref_start[i], ref_start[i + 1]):
            if not (some_weak and weak[at]):
                w = number[ref_target[at]]
                source[start[w]] = v
                start[w] += 1
    for w in range(count, 0, -1):
        start[w] = start[w - 1]
    start[0] = 0


@kernel
def _immediate(
    parent: Ints, start: Longs, source: Ints, link: Ints, semi: Ints, idom: Ints
) -> None:
    """Fill ``idom`` with immediate dominators in DFS numbers; entry 0 is 0.

    ``link`` is (V, 2): ancestor and label, side by side because every step of a
    search asks for both.
    """
    path = idom
    for w in range(len(parent)):
        link[w, 0] = parent[w]
        link[w, 1] = w
    semi[0] = 0
    for w in range(len(parent) - 1, 0, -1):
        best = parent[w]
        for at in range(start[w], start[w + 1]):
            v = source[at]
            if v > w:
                depth = 0
                u = v
                while link[u, 0] > w:
                    path[depth] = u
                    depth += 1
                    u = link[u, 0]
                while depth:
                    depth -= 1
                    u = path[depth]
                    above = link[u, 0]
                    if link[above, 1] < link[u, 1]:
                        link[u, 1] = link[above, 1]
                    link[u, 0] = link[above, 0]
                v = link[v, 1]
            if v < best:
                best = v
        semi[w] = best
        link[w, 1] = best
    # From here on ``link`` is a dominator further up and the depth: step by step a
    # long list whose members something else holds too would take quadratic time.
    idom[0] = link[0, 0] = link[0, 1] = 0
    for w in range(1, len(parent)):
        d = parent[w]
        while d > semi[w]:
            far = link[d, 0]
            d = far if far > semi[w] else idom[d]
        idom[w] = d
        far = link[d, 0]
        further = link[far, 0]
        even = link[d, 1] - link[far, 1] == link[far, 1] - link[further, 1]
        link[w, 0] = further if even else d
        link[w, 1] = link[d, 1] + 1


@dataclass(frozen=True, slots=True, eq=False)
class DominatorTree:
    """Dominators of the reached objects, in the numbers of a depth-first search.

    V vertices: 0 is the super-root, 1 to V - 1 the reached objects, each after its
    immediate dominator.

    Attributes:
        vertex: int32 (V,). Object of each number; entry 0 means nothing.
        number: int32 (N + M,). Number of each object, 0 where unreachable.
        idom: int32 (V,). Number of the immediate dominator; 0 for entry 0.
    """

    vertex: NDArray[np.int32]
    number: NDArray[np.int32]
    idom: NDArray[np.int32]

    def by_object(self) -> NDArray[np.int32]:
        """int32 (N + M,): immediate dominator as object, `ROOT`, `UNREACHABLE`."""
        above = self.vertex[self.idom]
        above[self.idom == 0] = ROOT
        column = np.full(len(self.number), UNREACHABLE, np.int32)
        column[self.vertex[1:]] = above[1:]
        return column


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What else the depth-first search knows; as large as all references.

    Attributes:
        pred_start: int64 (V + 1,). Vertex w is referred to by
            ``pred_source[pred_start[w]:pred_start[w + 1]]``.
        pred_source: int32. Numbers, ascending within one vertex; 0 is a root.
        finished: int32 (V - 1,). Numbers in the order in which the search left
            them for good.
    """

    pred_start: NDArray[np.int64]
    pred_source: NDArray[np.int32]
    finished: NDArray[np.int32]


def dominate(graph: HeapGraph) -> tuple[DominatorTree, Search]:
    """Dominators along strong references from the strong roots, and their search.

    Memory: 40 bytes an object and 4 a reference at the peak.
    """
    n = len(graph.object_id)
    roots, weak = strong_roots(graph), weak_mask(graph)
    seen = np.zeros((n, 2), np.int32)
    vertex = np.zeros(n + 1, np.int32)
    parent = np.zeros(n + 1, np.int32)
    finished = np.empty(n, np.int32)
    count = _walk(
        graph.ref_start,
        graph.ref_target,
        weak,
        roots,
        seen,
        vertex,
        parent,
        finished,
        np.empty(n, np.int64),
    )
    vertex, parent, finished = vertex[:count], parent[:count], finished[: count - 1]
    number = np.ascontiguousarray(seen[:, 0])
    start = np.zeros(count + 1, np.int64)
    start[2:] = seen[vertex[1:], 1]
    del seen
    source = np.empty(int(start.sum()), np.int32)
    _predecessors(
        graph.ref_start, graph.ref_target, weak, roots, number, vertex, start, source
    )
    idom = np.empty(count, np.int32)
    link, semi = np.empty((count, 2), np.int32), np.empty(count, np.int32)
    _immediate(parent, start, source, link, semi, idom)
    return DominatorTree(vertex, number, idom), Search(start, source, finished)


@kernel
def _accumulate(
    vertex: NDArray[np.int32],
    idom: NDArray[np.int32],
    shallow_bytes: NDArray[np.int64],
    retained_bytes: NDArray[np.int64],
    retained_count: NDArray[np.int64],
    largest_child: NDArray[np.int32],
) -> None:
    for w in range(1, len(vertex)):
        retained_bytes[vertex[w]] = shallow_bytes[vertex[w]]
        retained_count[vertex[w]] = 1
    # A vertex has a higher number than its dominator: one pass, children first.
    for w in range(len(vertex) - 1, 0, -1):
        if idom[w]:
            i, above = vertex[w], vertex[idom[w]]
            retained_bytes[above] += retained_bytes[i]
            retained_count[above] += retained_count[i]
            best = largest_child[above]
            if best < 0 or retained_bytes[i] >= retained_bytes[best]:
                largest_child[above] = i


def retained(
    graph: HeapGraph, tree: DominatorTree
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The retained size of each object.

    Returns:
        int64 (N + M,) bytes and int64 (N + M,) objects, the object itself
        included, 0 where it is unreachable; and int32 (N + M,) the dominated child
        that retains most (of equals the first found), -1 where there is none.
    """
    n = len(graph.object_id)
    retained_bytes = np.zeros(n, np.int64)
    retained_count = np.zeros(n, np.int64)
    largest_child = np.full(n, -1, np.int32)
    _accumulate(
        tree.vertex,
        tree.idom,
        graph.shallow_bytes,
        retained_bytes,
        retained_count,
        largest_child,
    )
    return retained_bytes, retained_count, largest_child
