"""The columns that the scanner of CLR Profiler logs fills, and its codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs

KINDS = (
    "unknown_record",
    "malformed_record",
    "size_out_of_range",
    "malformed_reference",
    "zero_object_id",
    "unknown_root_kind",
    "unknown_root_flags",
    "malformed_range",
    "objects_without_roots",
)
(
    UNKNOWN_RECORD,
    MALFORMED_RECORD,
    SIZE_OUT_OF_RANGE,
    MALFORMED_REFERENCE,
    ZERO_OBJECT_ID,
    UNKNOWN_ROOT_KIND,
    UNKNOWN_ROOT_FLAGS,
    MALFORMED_RANGE,
    OBJECTS_WITHOUT_ROOTS,
) = range(len(KINDS))

(
    LINE,
    OFFSET,
    CLOCK,
    EPOCH,
    DUMPS,
    HAS_OBJECT,
    IS_OVER,
    HAS_FUNCTION,
    LAST_EPOCH,
) = range(9)
"""Rows of the scanner's state, which lasts from piece to piece.

`EPOCH` counts ``b`` and ``g`` records, `DUMPS` the heap dumps so far. For the last
dump: whether it `HAS_OBJECT` and `IS_OVER`, and the epoch of its last record.
"""

STATES = 9

(
    OBJECTS,
    REFERENCES,
    ROOTS,
    PLAIN_ROOTS,
    RANGES,
    ALLOCATIONS,
    STACKS,
    FRAMES,
    EVENTS,
    BOUND_ROWS,
    TEXTS,
    DUMP_ROWS,
) = range(12)
"""Rows of the counters of used rows."""

COUNTERS = 12

BOUNDS, COUNTS = 0, 1
"""Kinds of events: a ``b`` record, a ``g`` record."""

TYPE, FUNCTION, STATIC, LOCAL = 0x74, 0x66, 0x100, 0x101
"""Kinds of lines with names: the letters ``t`` and ``f``, and two that only SOS has."""


class LogBuffers(NamedTuple):
    """Where a scan writes its columns; the shortest records bound their rows.

    Attributes:
        object_id, object_type_id: uint64.
        object_size_bytes: int64.
        object_ref_count, object_null_count: int32.
        object_line: uint32. 1-based, modulo 2^32, like all lines here.
        reference_id: uint64.
        root_id: uint64. The object that the root holds.
        root_place: uint64. Id of a function if ``root_named``, else an address.
        root_kind, root_flags, root_named: uint8.
        root_line: uint32.
        plain_root_id: uint64. Ids in ``r`` records.
        range: uint64 (rows, 3): old start, new start, bytes.
        range_epoch: int32.
        allocation: uint64 (rows, 2): address, id of the site.
        allocation_at: int64 (rows, 2): epoch, clock.
        stack: uint64 (rows, 2): id, id of the stack that it shares frames with.
        stack_count: int32 (rows, 2): frames shared, frames of its own.
        frame: uint64. Ids of functions.
        event: int64 (rows, 8): kind, line, clock; if `BOUNDS` whether it begins,
            whether it is induced, its generation, else three counts; first row and
            number of bounds.
        bound: uint64 (rows, 4): start, used and reserved bytes, generation.
        text: int64 (rows, 5): kind, start, end, line, dumps begun.
        dump: int64 (rows, 9): line, byte, epoch; numbers of objects, references, roots,
            plain roots and allocations before it; epoch of the last record of the
            previous dump.
    """

    object_id: Ids
    object_type_id: Ids
    object_size_bytes: Longs
    object_ref_count: Ints
    object_null_count: Ints
    object_line: NDArray[np.uint32]
    reference_id: Ids
    root_id: Ids
    root_place: Ids
    root_kind: Bytes
    root_flags: Bytes
    root_named: Bytes
    root_line: NDArray[np.uint32]
    plain_root_id: Ids
    range: Ids
    range_epoch: Ints
    allocation: Ids
    allocation_at: Longs
    stack: Ids
    stack_count: Ints
    frame: Ids
    event: Longs
    bound: Ids
    text: Longs
    dump: Longs


def buffers_for(size_bytes: int) -> LogBuffers:
    """Buffers for any text of ``size_bytes``; unused pages cost nothing."""
    halves, quarters = size_bytes // 2 + 2, size_bytes // 4 + 2
    sixths, eighths = size_bytes // 6 + 2, size_bytes // 8 + 2
    return LogBuffers(
        object_id=np.empty(eighths, np.uint64),  # "o 1 1 1"
        object_type_id=np.empty(eighths, np.uint64),
        object_size_bytes=np.empty(eighths, np.int64),
        object_ref_count=np.empty(eighths, np.int32),
        object_null_count=np.empty(eighths, np.int32),
        object_line=np.empty(eighths, np.uint32),
        reference_id=np.empty(halves, np.uint64),
        root_id=np.empty(eighths, np.uint64),  # "e 1 1 1"
        root_place=np.empty(eighths, np.uint64),
        root_kind=np.empty(eighths, np.uint8),
        root_flags=np.empty(eighths, np.uint8),
        root_named=np.empty(eighths, np.uint8),
        root_line=np.empty(eighths, np.uint32),
        plain_root_id=np.empty(halves, np.uint64),
        range=np.empty((sixths, 3), np.uint64),  # "v 1 1"
        range_epoch=np.empty(sixths, np.int32),
        allocation=np.empty((sixths, 2), np.uint64),  # "a 1 1"
        allocation_at=np.empty((sixths, 2), np.int64),
        stack=np.empty((quarters, 2), np.uint64),  # "s 1"
        stack_count=np.empty((quarters, 2), np.int32),
        frame=np.empty(halves, np.uint64),
        event=np.empty((quarters, 8), np.int64),  # "g 1"
        bound=np.empty((eighths, 4), np.uint64),
        text=np.empty((quarters, 5), np.int64),  # "t 1"
        dump=np.empty((sixths, 9), np.int64),  # "g 1" and "r"
    )
