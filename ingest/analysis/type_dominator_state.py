"""Working arrays of `ingest.analysis.type_dominators`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.types import type_classes

if TYPE_CHECKING:
    from ingest.analysis.preorder import Preorder
    from ingest.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph

NONE = -1
USED, STAMP, HEAD, QUEUED, WORK = range(5)


class SolverState(NamedTuple):
    """What is known so far of V positions in preorder, and buffers for T types.

    D(p) is the set of types that dominate position p.

    Attributes:
        ref_start, ref_target: Of the graph.
        mask: uint64 (V,). Bits of the type classes that D can contain.
        top: int32 (V,). The nearest position with added types on the path from here
            to the super-root, including this one; 0 if there is none.
        added: int32 (V,). The types of D that are not in D of the dominator: `NONE`,
            or a list in ``pool``.
        pool: int32. Lists of types. Entry t < T is the list of type t alone; after
            these, a list is its length and its types, sorted.
        slots: int32. Hash table of the lists in ``pool``; -1 where empty.
        queue: int32 (V,). Joins to be checked again, a ring buffer.
        is_queued: bool (V,). Whether a position is in ``queue``.
        counters: int64 (5,). Entries used of ``pool``, the last stamp, head and
            length of ``queue``, steps of work.
        type_bit: uint64 (T,). The class of each type: one bit.
        single_types: int32 (at most 32,). The type of each class that has only one,
            in the order of bits.
        cover: int32 (T,). All positions below this one have the type in D.
        type_stamp: int64 (T,). Stamp of the last path on which the type was found.
        is_lost: bool (T,). Whether the type is being removed.
        current, removed, found: int32 (T,). Buffers for sets of types.
    """

    ref_start: Longs
    ref_target: Ints
    mask: Ids
    top: Ints
    added: Ints
    pool: Ints
    slots: Ints
    queue: Ints
    is_queued: Bools
    counters: Longs
    type_bit: Ids
    single_types: Ints
    cover: Ints
    type_stamp: Longs
    is_lost: Bools
    current: Ints
    removed: Ints
    found: Ints


def initial_state(
    graph: HeapGraph, tree: Preorder, capacity: int | None
) -> SolverState:
    """Allocate the arrays; ``capacity`` limits the int32 in lists of several types."""
    count, types = len(tree.object_index), len(tree.dominated_count)
    if capacity is None:
        # Pages that no list reaches are never resident.
        capacity = 4 * count + 65536
    pool = np.empty(types + capacity, np.int32)
    pool[:types] = np.arange(types, dtype=np.int32)
    counters = np.zeros(5, np.int64)
    counters[USED] = types
    type_bit, single_types = type_classes(tree.dominated_count)
    return SolverState(
        graph.ref_start,
        graph.ref_target,
        mask=np.full(count, ~np.uint64(0)),
        top=np.empty(count, np.int32),
        added=np.empty(count, np.int32),
        pool=pool,
        slots=np.full(1 << max(10, min(20, count.bit_length() - 3)), -1, np.int32),
        queue=np.empty(count, np.int32),
        is_queued=np.zeros(count, np.bool_),
        counters=counters,
        type_bit=type_bit,
        single_types=single_types,
        cover=np.zeros(types, np.int32),
        type_stamp=np.zeros(types, np.int64),
        is_lost=np.zeros(types, np.bool_),
        current=np.empty(types, np.int32),
        removed=np.empty(types, np.int32),
        found=np.empty(types, np.int32),
    )
