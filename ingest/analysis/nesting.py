"""The dominator tree in preorder, and who refers to whom in it.

A vertex's number there is its *place*: what it dominates stands right behind it.
Siblings stand in reverse postorder of the depth-first search, so that most
references, and all of a heap without cycles, lead to a later place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from ingest.analysis.dominators import DominatorTree
    from ingest.compiled import Bools, Ids, Ints, Longs
    from ingest.graph import HeapGraph

NONE = -1
ONE = -2


class Nest(NamedTuple):
    """V vertices by *place*, and what each adds to a set; place 0 is the super-root.

    Attributes:
        number: int32 (V,). Number of each place in the `DominatorTree`.
        place: int32 (V,). Place of each number.
        end: int32 (V,). What a place dominates is the places from it up to here.
        above: int32 (V,). Place of the immediate dominator.
        kind: int32 (V,). Type, -1 for none that enters a set.
        start: int64 (V + 1,). A join is referred to by the places
            ``source[start[p]:start[p + 1]]``, those left out that it dominates
            itself; what is no join has none.
        source: int32.
        mask: uint64 (V,). Classes of types that S cannot reach beyond.
        top: int32 (V,). The nearest that adds something, from here upwards.
        added: int32 (V,). S beyond S of the dominator: `NONE`, `ONE` - type, or
            where it begins in ``pool``: how many, and which.
        pool: int32.
        ring: int32 (V,). Joins that are to be looked at again.
        waits: bool (V,). Whether a place is in ``ring``.
        book: int64 (5,). Pool used, last stamp, head and length of the ring, work.
    """

    number: Ints
    place: Ints
    end: Ints
    above: Ints
    kind: Ints
    start: Longs
    source: Ints
    mask: Ids
    top: Ints
    added: Ints
    pool: Ints
    ring: Ints
    waits: Bools
    book: Longs


@kernel
def _number(
    nest: Nest,
    vertex: Ints,
    idom: Ints,
    finished: Ints,
    type_index: Ints,
    instances: Longs,
) -> None:
    """Number the places, and count each type's reached instances."""
    count = len(idom)
    number, place, end, above = nest.number, nest.place, nest.end, nest.above
    kind, waits, mask = nest.kind, nest.waits, nest.mask
    size, cursor = nest.added, nest.ring
    for w in range(count):
        size[w] = 1
    for w in range(count - 1, 0, -1):
        size[idom[w]] += size[w]
        t = type_index[vertex[w]]
        if t >= 0:
            instances[t] += 1
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
        t = type_index[vertex[w]] if w > 0 else -1
        number[p] = w
        end[p] = p + size[w]
        above[p] = place[idom[w]]
        kind[p] = t if t >= 0 and instances[t] > 1 else -1
        waits[p] = False
        mask[p] = ~np.uint64(0)


@kernel
def _refer(nest: Nest, idom: Ints, pred_start: Longs, pred_source: Ints) -> None:
    """Fill ``start`` and ``source``."""
    number, place, end = nest.number, nest.place, nest.end
    start, source = nest.start, nest.source
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


def nest_of(graph: HeapGraph, tree: DominatorTree, room: int) -> tuple[Nest, Longs]:
    """Places of a tree, nothing added yet; and int64 (T,): reached instances.

    Memory: 50 bytes a reached object, 4 a reference to a join.

    Args:
        graph: The heap.
        tree: Its dominators.
        room: How many int32 ``pool`` has.
    """
    count = len(tree.vertex)
    nest = Nest(
        number=np.empty(count, np.int32),
        place=np.empty(count, np.int32),
        end=np.empty(count, np.int32),
        above=np.empty(count, np.int32),
        kind=np.empty(count, np.int32),
        start=np.empty(count + 1, np.int64),
        source=np.empty(len(tree.pred_source), np.int32),
        mask=np.empty(count, np.uint64),
        top=np.empty(count, np.int32),
        added=np.empty(count, np.int32),
        pool=np.empty(room, np.int32),
        ring=np.empty(count, np.int32),
        waits=np.empty(count, np.bool_),
        book=np.zeros(5, np.int64),
    )
    instances = np.zeros(len(graph.type_names), np.int64)
    _number(nest, tree.vertex, tree.idom, tree.finished, graph.type_index, instances)
    _refer(nest, tree.idom, tree.pred_start, tree.pred_source)
    return nest, instances
