"""The compiled scanner of the sub-records of a heap dump: bytes to columns.

One call parses the sub-records of a window. Class records are only located here. Their
fields decide how instances are parsed, so the scan stops at an instance of an unknown
class, and is resumed once the class records so far are parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.hprof.records import (
    ARRAY_ROW,
    CLASSES,
    CUT,
    FIRST_PRIMITIVE,
    HEAP_INFO,
    LEFT,
    ODD,
    PRIMITIVE_ARRAY_WITHOUT_DATA,
    ROOTS,
    SEGMENT_BEGIN,
    SEGMENT_BYTES,
    SKIP,
    SPACE,
    WHY,
    WIDTHS,
    close_array,
    elements,
    instance,
    number,
    object_array,
    primitive_array,
)

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Longs, Number
    from ingest.readers.hprof.records import ClassColumns, HeapBuffers

MORE, END, CLASS, UNKNOWN = range(4)
"""Why a scan stopped: at the end of the window or of the segment, at an object that
needs its class, or at a sub-record of an unknown kind."""

(
    _ROOT_JNI_GLOBAL, _ROOT_JNI_LOCAL, _ROOT_FRAME, _ROOT_NATIVE, _ROOT_CLASS,
    _ROOT_BLOCK, _ROOT_MONITOR, _ROOT_THREAD,
) = range(1, 9)  # fmt: skip
_ROOT_JNI_MONITOR, _ROOT_FIRST_ANDROID, _ROOT_LAST_ANDROID = 0x8E, 0x89, 0x8D
_ROOT_UNREACHABLE, _ROOT_UNKNOWN = 0x90, 0xFF
_CLASS_DUMP, _INSTANCE, _OBJECT_ARRAY, _PRIMITIVE_ARRAY = 0x20, 0x21, 0x22, 0x23
_NEXT_RECORDS = (0x0C, 0x1C, 0x2C)
"""Tags that only records have; at such a tag the segment has ended."""
_SEGMENT, _HEADER_BYTES = 0x1C, 9

_OBJECT_CODES = 3


@kernel
def _width(code: int, id_size: int) -> int:
    """Bytes of a value of a type code; `ODD` for an unknown one."""
    if FIRST_PRIMITIVE <= code < FIRST_PRIMITIVE + len(WIDTHS):
        return WIDTHS[code - FIRST_PRIMITIVE]
    return id_size if 1 <= code < _OBJECT_CODES else ODD


@kernel
def class_end(data: Bytes, p: Number, id_size: int) -> Number:
    """Where the class record at ``p`` ends; `CUT` if that is outside the window."""
    end = len(data)
    p += 1 + 7 * id_size + 8
    for part in range(3):
        if p + 2 > end:
            return CUT
        count = np.int64(number(data, p, 2))
        p += 2
        if part == 2:
            p += count * (id_size + 1)
            break
        ahead = 2 if part == 0 else id_size
        for _ in range(count):
            if p + ahead + 1 > end:
                return CUT
            width = _width(data[p + ahead], id_size)
            if width < 0:
                return ODD
            p += ahead + 1 + width
    return p if p <= end else CUT


@kernel
def _root(
    data: Bytes, p: int, id_size: int, buffers: HeapBuffers, counts: Longs
) -> int:
    """Store a root; return where it ends, `CUT` or `ODD`."""
    tag = data[p]
    further = 0
    numbers = 0
    if tag == _ROOT_JNI_GLOBAL:
        further = id_size
    elif tag in (_ROOT_JNI_LOCAL, _ROOT_FRAME, _ROOT_THREAD, _ROOT_JNI_MONITOR):
        further, numbers = 8, 2
    elif tag in (_ROOT_NATIVE, _ROOT_BLOCK):
        further, numbers = 4, 1
    elif not (
        tag in (_ROOT_CLASS, _ROOT_MONITOR, _ROOT_UNKNOWN, _ROOT_UNREACHABLE)
        or _ROOT_FIRST_ANDROID <= tag <= _ROOT_LAST_ANDROID
    ):
        return ODD
    end = p + 1 + id_size + further
    if end > len(data):
        return CUT
    target = number(data, p + 1, id_size)
    if target != 0 and tag != _ROOT_UNREACHABLE:
        at = counts[ROOTS]
        buffers.root_id[at] = target
        buffers.root_tag[at] = tag
        buffers.root_thread[at] = 0
        buffers.root_frame[at] = -1
        if numbers > 0:
            buffers.root_thread[at] = np.uint32(number(data, p + 1 + id_size, 4))
        if numbers > 1:
            buffers.root_frame[at] = np.int32(number(data, end - 4, 4))
        counts[ROOTS] = at + 1
    return end


@kernel
def _continue_array(
    data: Bytes,
    p: Number,
    id_size: int,
    buffers: HeapBuffers,
    state: Longs,
    ids: Ids,
    counts: Longs,
) -> tuple[Number, bool]:
    """Parse or skip the rest of an array; return its end, and whether more is left."""
    if state[SKIP] > 0:
        step = min(state[SKIP], len(data) - p)
        state[SKIP] -= step
        return p + step, state[SKIP] > 0
    if state[ARRAY_ROW] >= 0:
        if state[LEFT] > 0:
            p = elements(data, p, id_size, buffers, state, counts)
        if state[LEFT] > 0:
            return p, True
        close_array(buffers, state, ids, counts)
    return p, False


@kernel
def _located(
    data: Bytes,
    p: Number,
    id_size: int,
    buffers: HeapBuffers,
    state: Longs,
    counts: Longs,
) -> Number:
    """Note where a class or a part of the heap is; return its end, `CUT` or `ODD`."""
    after: Number = p + 5 + id_size
    if data[p] == _CLASS_DUMP:
        after = class_end(data, p, id_size)
        if after < 0:
            return after
    elif after > len(data):
        return np.int64(CUT)
    else:
        state[SPACE] = data[p + 4]
    buffers.class_begin[counts[CLASSES]] = p
    counts[CLASSES] += 1
    return after


@kernel
def _next_segment(data: Bytes, p: Number) -> Number:
    """Bytes of the segment whose header is at ``p``; 0 if it is empty or none."""
    if p + _HEADER_BYTES > len(data) or data[p] != _SEGMENT:
        return np.int64(0)
    return np.int64(number(data, p + _HEADER_BYTES - 4, 4))


@kernel
def scan(
    data: Bytes,
    begin: int,
    segment_bytes: int,
    goes_on: bool,
    id_size: int,
    is_last: bool,
    classes: ClassColumns,
    buffers: HeapBuffers,
    state: Longs,
    ids: Ids,
    counts: Longs,
) -> Number:
    """Parse sub-records from ``begin`` on.

    Args:
        data: The window.
        begin: Where to begin.
        segment_bytes: Bytes left of the segment; a sub-record that begins in them is
            parsed even if it ends after them.
        goes_on: Whether to go on with the segments that follow. A call costs as much as
            some hundred objects, and a file may have millions of segments.
        id_size: 4 or 8.
        is_last: Whether instances of unknown classes are stored without fields.
        classes: The classes known so far.
        buffers: `buffers_for` this window.
        state: int64 (`STATE`,). Kept from one call to the next; `ARRAY_ROW` is -1 if no
            array is open.
        ids: uint64 (2,). Likewise.
        counts: int64 (`COUNTS`,). Rows written, why the scan stopped, and in which
            segment.

    Returns:
        Where the first unparsed sub-record begins.
    """
    counts[:] = 0
    p: Number = begin
    after: Number
    end = len(data)
    while True:
        p, is_open = _continue_array(data, p, id_size, buffers, state, ids, counts)
        if is_open:
            break
        if p - begin >= segment_bytes:
            size = _next_segment(data, p) if goes_on else 0
            if size > 0 and p - begin == segment_bytes:
                p += _HEADER_BYTES
                begin, segment_bytes = p, size
                counts[SEGMENT_BEGIN], counts[SEGMENT_BYTES] = p, size
                state[SPACE] = 0
                continue
            counts[WHY] = END
            break
        if p >= end:
            break
        tag = data[p]
        if tag in _NEXT_RECORDS:
            counts[WHY] = END
            break
        if tag == _INSTANCE:
            after = instance(
                data, p, id_size, is_last, classes, buffers, state, ids, counts
            )
        elif tag == _OBJECT_ARRAY:
            after = object_array(data, p, id_size, classes, buffers, state, ids, counts)
        elif tag in (_PRIMITIVE_ARRAY, PRIMITIVE_ARRAY_WITHOUT_DATA):
            after = primitive_array(data, p, id_size, buffers, state, counts)
        elif tag in (_CLASS_DUMP, HEAP_INFO):
            after = _located(data, p, id_size, buffers, state, counts)
        else:
            after = _root(data, p, id_size, buffers, counts)
        if after == CUT:
            break
        if after in (ODD, p):
            counts[WHY] = CLASS if after == p else UNKNOWN
            break
        p = after
    return p


@kernel
def scan_names(
    data: Bytes, begin: int, id_size: int, ids: Ids, spans: Longs
) -> tuple[int, int]:
    """Parse complete records of names up to the first other record.

    Args:
        data: The window.
        begin: Where the first record begins.
        id_size: 4 or 8.
        ids: uint64 (M,). Gets their ids.
        spans: int64 (M, 2). Gets begin and end of their texts.

    Returns:
        How many names there were, and where the next record begins.
    """
    p: Number = begin
    many = 0
    while many < len(ids) and p + 9 + id_size <= len(data) and data[p] == 1:
        size = np.int64(number(data, p + 5, 4))
        if size < id_size or p + 9 + size > len(data):
            break
        ids[many] = number(data, p + 9, id_size)
        spans[many, 0], spans[many, 1] = p + 9 + id_size, p + 9 + size
        many += 1
        p += 9 + size
    return many, p
