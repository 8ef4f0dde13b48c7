"""The compiled scanner of event headers in a block of a ``.nettrace``.

A compressed header has only the fields that differ from those of the previous header.
If a block is not compressed, each header has all fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.shared.leb128 import CUT, LONG, uleb

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Longs, Number

MOST_ROWS = 1 << 15

FAULTS = {
    CUT: "a block ends inside an event",
    LONG: "a number is longer than 64 bits",
}

METADATA, SEQUENCE, THREAD, TICKS, SIZE = range(5)
STATE_ROWS = 5

_SORTED = 0x80000000
_HAS_METADATA, _HAS_WRITER, _HAS_THREAD, _HAS_STACK = 1, 2, 4, 8
_HAS_ACTIVITY, _HAS_RELATED, _HAS_SIZE = 16, 32, 128
_GUID_BYTES = 16
_FIXED_BYTES = 44
"""Size of an uncompressed header up to the activity ids."""


class EventBuffers(NamedTuple):
    """The columns that a scan fills, one row per event.

    Attributes:
        metadata: uint64. Number of the event's kind; 0 if the event defines a kind.
        sequence: uint64. Sequence number within its thread.
        thread: uint64. The thread that wrote it.
        ticks: uint64. Time.
        begin: int64. Byte offset of the payload in the block.
        size: int64. Bytes of the payload.
    """

    metadata: Ids
    sequence: Ids
    thread: Ids
    ticks: Ids
    begin: Longs
    size: Longs


def event_buffers() -> EventBuffers:
    """Buffers for `MOST_ROWS` events."""
    dtypes = ("u8", "u8", "u8", "u8", "i8", "i8")
    return EventBuffers(*(np.empty(MOST_ROWS, dtype) for dtype in dtypes))


@kernel
def _fixed(data: Bytes, begin: int, size: int) -> Number:
    """The little-endian number of ``size`` bytes."""
    value = np.uint64(0)
    for i in range(size):
        value |= np.uint64(data[begin + i]) << np.uint64(8 * i)
    return value


@kernel
def _header(data: Bytes, begin: int, labels: bool, state: Ids) -> int:
    """Apply a compressed header to ``state``.

    Returns:
        Where the payload begins, or a key of `FAULTS`.
    """
    end = len(data)
    flags = int(data[begin])
    position = begin + 1
    if flags & _HAS_METADATA:
        state[METADATA], position = uleb(data, position, end)
        if position < 0:
            return position
    if flags & _HAS_WRITER:
        delta, position = uleb(data, position, end)
        if position < 0:
            return position
        state[SEQUENCE] += delta
        state[THREAD], position = uleb(data, position, end)
        if position < 0:
            return position
        _, position = uleb(data, position, end)  # processor
        if position < 0:
            return position
    if labels or state[METADATA] != 0:
        state[SEQUENCE] += np.uint64(1)
    state[SEQUENCE] &= np.uint64(0xFFFFFFFF)
    for flag in (_HAS_THREAD, _HAS_STACK):  # the thread that the event is about
        if flags & flag:
            _, position = uleb(data, position, end)
            if position < 0:
                return position
    delta, position = uleb(data, position, end)
    if position < 0:
        return position
    state[TICKS] += delta
    if labels and flags & _HAS_ACTIVITY:
        _, position = uleb(data, position, end)
        if position < 0:
            return position
    elif not labels:
        for flag in (_HAS_ACTIVITY, _HAS_RELATED):
            if flags & flag:
                position += _GUID_BYTES
    if flags & _HAS_SIZE:
        state[SIZE], position = uleb(data, position, end)
    return position


@kernel
def _copy(numbers: Ids, into: Ids) -> None:
    """Copy uint64 (K,) numbers into a column that is at least as long."""
    for i in range(len(numbers)):
        into[i] = numbers[i]


@kernel
def scan_compressed(
    data: Bytes, begin: int, labels: bool, state: Ids, new: Ids, rows: EventBuffers
) -> tuple[int, int, int]:
    """Scan complete events from ``begin`` on, as many as fit into the buffers.

    Args:
        data: The block.
        begin: Offset of the first event.
        labels: Whether the format is version 6: every event increments the sequence
            number, and a label list index replaces the activity ids.
        state: uint64 (5,), the fields of the previous event; 0 at the block's start.
        new: uint64 (5,). Overwritten.
        rows: Filled.

    Returns:
        Number of events, offset of the next one, and 0 or a key of `FAULTS`.
    """
    at: Number = begin
    end = len(data)
    for row in range(len(rows.begin)):
        if at >= end:
            return row, at, 0
        _copy(state, new)
        payload = _header(data, at, labels, new)
        if payload < 0:
            return row, at, payload
        if payload > end or new[SIZE] > np.uint64(end - payload):
            return row, at, CUT
        _copy(new, state)
        rows.metadata[row] = new[METADATA]
        rows.sequence[row] = new[SEQUENCE]
        rows.thread[row] = new[THREAD]
        rows.ticks[row] = new[TICKS]
        rows.begin[row] = payload
        rows.size[row] = np.int64(new[SIZE])
        at = payload + np.int64(new[SIZE])
    return len(rows.begin), at, 0


@kernel
def scan_uncompressed(
    data: Bytes, begin: int, labels: bool, shift: int, rows: EventBuffers
) -> tuple[int, int, int]:
    """Scan events whose headers are not compressed.

    Args:
        data: The block.
        begin: Offset of the first event.
        labels: Whether the format is version 6, which does not align events.
        shift: Byte offset of the block in the file, to which events are aligned.
        rows: Filled.

    Returns:
        As `scan_compressed`.
    """
    at: Number = begin
    end = len(data)
    ids_bytes = 4 if labels else 2 * _GUID_BYTES
    for row in range(len(rows.begin)):
        if at >= end:
            return row, at, 0
        payload = at + _FIXED_BYTES + ids_bytes + 4
        if payload > end:
            return row, at, CUT
        size = np.int64(_fixed(data, payload - 4, 4))
        event_end = np.int64(_fixed(data, at, 4)) + at + 4
        if size > end - payload or event_end > end or event_end < payload + size:
            return row, at, CUT
        rows.metadata[row] = _fixed(data, at + 4, 4) & np.uint64(_SORTED - 1)
        rows.sequence[row] = _fixed(data, at + 8, 4)
        rows.thread[row] = _fixed(data, at + 20, 8)
        rows.ticks[row] = _fixed(data, at + 36, 8)
        rows.begin[row] = payload
        rows.size[row] = size
        at = event_end
        if not labels:
            at += -(at + shift) % 4
    return len(rows.begin), at, 0
