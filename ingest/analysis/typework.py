"""What the search for all types' sets writes on; see `ingest.analysis.typesets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.types import class_bits

if TYPE_CHECKING:
    from ingest.analysis.nesting import Nest
    from ingest.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph

NONE = -1
ONE = -2
USED, STAMP, HEAD, QUEUED, WORK = range(5)


class Work(NamedTuple):
    """The columns of a `Nest`, and what is worked out about its places.

    Attributes:
        vertex, place, end, above, kind, start, source: Of the nest.
        ref_start, ref_target: Of the graph.
        mask: uint64 (V,). Classes of types that S cannot reach beyond.
        top: int32 (V,). The nearest that adds something, from here upwards.
        added: int32 (V,). S beyond S of the dominator: `NONE`, `ONE` - type, or
            where it begins in ``pool``: how many, and which.
        pool: int32.
        slots: int32. Where in ``pool`` a list of that hash begins, or -1.
        ring: int32 (V,). Joins that are to be looked at again.
        waits: bool (V,). Whether a place is in ``ring``.
        book: int64 (5,). Pool used, last stamp, head and length of the ring, work.
    """

    vertex: Ints
    place: Ints
    end: Ints
    above: Ints
    kind: Ints
    start: Longs
    source: Ints
    ref_start: Longs
    ref_target: Ints
    mask: Ids
    top: Ints
    added: Ints
    pool: Ints
    slots: Ints
    ring: Ints
    waits: Bools
    book: Longs


class Sets(NamedTuple):
    """Room for sets of types.

    Attributes:
        bit: uint64 (T,). Its class: one bit.
        cover: int32 (T,). The type is in S of all places below this one.
        stamp: int64 (T,). When it was last seen on a path upwards.
        lost: bool (T,). Whether it is being taken back.
        first, second, third: int32 (T,). Sets in the making.
    """

    bit: Ids
    cover: Ints
    stamp: Longs
    lost: Bools
    first: Ints
    second: Ints
    third: Ints


def work_for(graph: HeapGraph, nest: Nest, room: int | None) -> Work:
    """Columns to work on; ``room`` for so many int32 in lists."""
    count = len(nest.vertex)
    columns = nest.vertex, nest.place, nest.end, nest.above, nest.kind, nest.start
    return Work(
        *columns,
        nest.source,
        graph.ref_start,
        graph.ref_target,
        mask=np.full(count, ~np.uint64(0)),
        top=np.empty(count, np.int32),
        added=np.empty(count, np.int32),
        # Pages that no set reaches are never resident.
        pool=np.empty(4 * count + 65536 if room is None else room, np.int32),
        slots=np.full(1 << max(10, min(20, count.bit_length() - 3)), -1, np.int32),
        ring=np.empty(count, np.int32),
        waits=np.zeros(count, np.bool_),
        book=np.zeros(5, np.int64),
    )


def sets_for(nest: Nest) -> Sets:
    """Room for sets of the types of ``nest``."""
    types = len(nest.instances)
    return Sets(
        bit=class_bits(nest.instances),
        cover=np.zeros(types, np.int32),
        stamp=np.zeros(types, np.int64),
        lost=np.zeros(types, np.bool_),
        first=np.empty(types, np.int32),
        second=np.empty(types, np.int32),
        third=np.empty(types, np.int32),
    )
