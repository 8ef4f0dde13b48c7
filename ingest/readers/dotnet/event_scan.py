"""The compiled scanner of event headers in a block of a ``.nettrace``.

A header says what is new against the one before it; all that is not told stays.
Where a block is not compressed, each header is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel
from ingest.readers.shared.leb128 import CUT, LONG, uleb

if TYPE_CHECKING:
    from ingest.compiled import Bytes, Ids, Longs, Number

MOST_ROWS = 1 << 15

FAULTS = {
    CUT: "a block ends inside an event",
    LONG: "a number is longer than 64 bits",
}

(METADATA, SEQUENCE, CAPTURE, PROCESSOR, THREAD, STACK, TICKS, SIZE) = range(8)
STATE_ROWS = 8

_SORTED = 0x80000000
_HAS_METADATA, _HAS_CAPTURE, _HAS_THREAD, _HAS_STACK = 1, 2, 4, 8
_HAS_ACTIVITY, _HAS_RELATED, _HAS_SIZE = 16, 32, 128
_GUID_BYTES = 16
_WHOLE_BYTES = 44
"""Of a header that is not compressed, up to the ids of activities."""


class EventBuffers(NamedTuple):
    """Where a scan writes its columns.

    Attributes:
        metadata: uint64. What kind of event it is; 0 where it tells of a kind.
        sequence: uint64. Its number among those of its thread.
        thread: uint64. The thread that wrote it.
        ticks: uint64. When.
        begin: int64. Where its payload starts, in the block.
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
    return EventBuffers(
        np.empty(MOST_ROWS, np.uint64),
        np.empty(MOST_ROWS, np.uint64),
        np.empty(MOST_ROWS, np.uint64),
        np.empty(MOST_ROWS, np.uint64),
        np.empty(MOST_ROWS, np.int64),
        np.empty(MOST_ROWS, np.int64),
    )


@kernel
def _fixed(data: Bytes, p: int, size: int) -> Number:
    value = np.uint64(0)
    for i in range(size):
        value |= np.uint64(data[p + i]) << np.uint64(8 * i)
    return value


@kernel
def scan_compressed(
    data: Bytes, begin: int, labels: bool, state: Ids, rows: EventBuffers
) -> tuple[int, int, int]:
    """Read whole events from ``begin`` on, as many as fit into the buffers.

    Args:
        data: The block.
        begin: Where the first event starts.
        labels: Whether version 6 has written it: each event counts, and a number of
            labels stands in place of activities.
        state: uint64 (8,), what the event before had; 0 at the block's start.
        rows: Filled.

    Returns:
        How many were read, where the next one stands, and 0 or a key of `FAULTS`.
    """
    at: Number = begin
    end = len(data)
    for n in range(len(rows.begin)):
        if at >= end:
            return n, at, 0
        flags = int(data[at])
        p = at + 1
        new = state.copy()
        if flags & _HAS_METADATA:
            new[METADATA], p = uleb(data, p, end)
            if p < 0:
                return n, at, p
        if flags & _HAS_CAPTURE:
            delta, p = uleb(data, p, end)
            if p < 0:
                return n, at, p
            new[SEQUENCE] += delta
            new[CAPTURE], p = uleb(data, p, end)
            if p < 0:
                return n, at, p
            new[PROCESSOR], p = uleb(data, p, end)
            if p < 0:
                return n, at, p
        if labels or new[METADATA] != 0:
            new[SEQUENCE] += np.uint64(1)
        if flags & _HAS_THREAD:
            new[THREAD], p = uleb(data, p, end)
            if p < 0:
                return n, at, p
        if flags & _HAS_STACK:
            new[STACK], p = uleb(data, p, end)
            if p < 0:
                return n, at, p
        delta, p = uleb(data, p, end)
        if p < 0:
            return n, at, p
        new[TICKS] += delta
        if labels:
            if flags & _HAS_ACTIVITY:
                _, p = uleb(data, p, end)
                if p < 0:
                    return n, at, p
        else:
            if flags & _HAS_ACTIVITY:
                p += _GUID_BYTES
            if flags & _HAS_RELATED:
                p += _GUID_BYTES
        if flags & _HAS_SIZE:
            new[SIZE], p = uleb(data, p, end)
            if p < 0:
                return n, at, p
        if p > end or new[SIZE] > np.uint64(end - p):
            return n, at, CUT
        new[SEQUENCE] &= np.uint64(0xFFFFFFFF)
        state[:] = new
        rows.metadata[n] = new[METADATA]
        rows.sequence[n] = new[SEQUENCE]
        rows.thread[n] = new[CAPTURE]
        rows.ticks[n] = new[TICKS]
        rows.begin[n] = p
        rows.size[n] = np.int64(new[SIZE])
        at = p + np.int64(new[SIZE])
    return len(rows.begin), at, 0


@kernel
def scan_whole(
    data: Bytes, begin: int, labels: bool, shift: int, rows: EventBuffers
) -> tuple[int, int, int]:
    """The same where headers are not compressed.

    Args:
        data: The block.
        begin: Where the first event starts.
        labels: Whether version 6 has written it: nothing is aligned then.
        shift: Where the block stands in the file; events are aligned there.
        rows: Filled.

    Returns:
        As `scan_compressed`.
    """
    at: Number = begin
    end = len(data)
    ids = 4 if labels else 2 * _GUID_BYTES
    for n in range(len(rows.begin)):
        if at >= end:
            return n, at, 0
        p = at + _WHOLE_BYTES + ids
        if p + 4 > end:
            return n, at, CUT
        size = np.int64(_fixed(data, p, 4))
        p += 4
        whole = np.int64(_fixed(data, at, 4)) + at + 4
        if size > end - p or whole > end or whole < p + size:
            return n, at, CUT
        rows.metadata[n] = _fixed(data, at + 4, 4) & np.uint64(_SORTED - 1)
        rows.sequence[n] = _fixed(data, at + 8, 4)
        rows.thread[n] = _fixed(data, at + 20, 8)
        rows.ticks[n] = _fixed(data, at + 36, 8)
        rows.begin[n] = p
        rows.size[n] = size
        at = whole
        if not labels:
            at += -(at + shift) % 4
    return len(rows.begin), at, 0
