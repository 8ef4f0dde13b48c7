"""The dominator tree in preorder, and who refers to whom in it.

A vertex's number there is its *place*: what it dominates stands right behind it.
Siblings stand in reverse postorder of the depth-first search, so that most
references, and all of a heap without cycles, lead to a later place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from ingest.analysis.dominators import DominatorTree, Search
    from ingest.compiled import Ints, Longs
    from ingest.heap.graph import HeapGraph


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """V vertices by place; place 0 is the super-root.

    Attributes:
        vertex: int32 (V,). Object of each place; entry 0 means nothing.
        place: int32 (N + M,). Place of each object, 0 where unreachable.
        end: int32 (V,). What a place dominates is the places from it up to here.
        above: int32 (V,). Place of the immediate dominator.
        kind: int32 (V,). Type, -1 for none, or for one with a single instance.
        start: int64 (V + 1,). A *join*, whose dominator does not refer to it itself,
            is referred to by the places ``source[start[p]:start[p + 1]]``, those left
            out that it dominates; what is no join has none.
        source: int32.
        instances: int64 (T,). Reached instances of each type.
    """

    vertex: Ints
    place: Ints
    end: Ints
    above: Ints
    kind: Ints
    start: Longs
    source: Ints
    instances: Longs


@kernel
def _number(
    vertex: Ints,
    idom: Ints,
    finished: Ints,
    type_index: Ints,
    number: Ints,
    place: Ints,
    end: Ints,
    above: Ints,
    kind: Ints,
    instances: Longs,
) -> None:
    count = len(idom)
    # Until all places are known, their columns hold sizes and next free places.
    size, cursor = above, number
    for w in range(count):
        size[w] = 1
    for w in range(count - 1, 0, -1):
        size[idom[w]] += size[w]
        type_ = type_index[vertex[w]]
        if type_ >= 0:
            instances[type_] += 1
    place[0] = 0
    cursor[0] = 1
    for k in range(len(finished) - 1, -1, -1):
        w = finished[k]
        p = cursor[idom[w]]
        place[w] = p
        cursor[idom[w]] += size[w]
        cursor[w] = p + 1
    for w in range(count):
        p = place[w]
        type_ = type_index[vertex[w]] if w > 0 else -1
        end[p] = p + size[w]
        kind[p] = type_ if type_ >= 0 and instances[type_] > 1 else -1
    for w in range(count):
        p = place[w]
        number[p] = w
        above[p] = place[idom[w]]


@kernel
def _refer(
    number: Ints,
    place: Ints,
    end: Ints,
    idom: Ints,
    pred_start: Longs,
    pred_source: Ints,
    start: Longs,
    source: Ints,
) -> None:
    used = 0
    start[0] = start[1] = 0
    for p in range(1, len(idom)):
        w = number[p]
        # Sources ascend, and the dominator has the lowest number of them all, if it
        # is one of them.
        if pred_source[pred_start[w]] != idom[w]:
            before = -1
            for at in range(pred_start[w], pred_start[w + 1]):
                u = place[pred_source[at]]
                if u != before and not (p <= u < end[p]):
                    source[used] = u
                    used += 1
                before = u
        start[p + 1] = used


def nest_of(graph: HeapGraph, tree: DominatorTree, search: Search) -> Nest:
    """The places of a tree.

    Memory: 36 bytes a reached object, and 4 a reference that leads to a join.
    """
    count = len(tree.vertex)
    number, place, end, above, kind = (np.empty(count, np.int32) for _ in range(5))
    instances = np.zeros(len(graph.type_names), np.int64)
    _number(
        tree.vertex,
        tree.idom,
        search.finished,
        graph.type_index,
        number,
        place,
        end,
        above,
        kind,
        instances,
    )
    start = np.empty(count + 1, np.int64)
    source = np.empty(len(search.pred_source), np.int32)
    _refer(
        number,
        place,
        end,
        tree.idom,
        search.pred_start,
        search.pred_source,
        start,
        source,
    )
    return Nest(
        tree.vertex[number],
        place[tree.number],
        end,
        above,
        kind,
        start,
        source,
        instances,
    )
