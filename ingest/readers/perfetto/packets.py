"""Compiled walks over messages of protobuf: packets of a trace, fields of a message.

The wire format of protobuf is numbers of LEB128, and keys of a field and one of four
kinds of values. The library of Google makes Python objects of them, which takes seven
times as long for a heap graph as reading it here takes in all.

Source: protobuf.dev, Encoding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.perfetto import (
    BYTES,
    COMPRESSED,
    FIXED32,
    FIXED64,
    HEAP_GRAPH,
    MAPPING,
    PROCESS_TREE,
    SEQUENCE,
    TIMESTAMP,
    VARINT,
    ZSTD_COMPRESSED,
)
from ingest.readers.shared.leb128 import CUT, uleb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.arrays.compiled import Bytes, Longs, Number

UNKNOWN_WIRE = -3
"""Instead of a value's end: its kind is unknown."""

COUNT, WHY, NEEDED, BAD, BAD_BYTES, BAD_AT = range(6)
"""What `find_packets` tells: packets found, why it stopped, bytes that the next packet
takes, packets that contradict the format, their bytes, and where the first begins."""
MORE, FULL, ALIEN = range(3)

KIND, BEGIN, END, OF_SEQUENCE, AT_NS = range(5)
"""Columns of packets that are found."""

_MOST = np.int64((1 << 63) - 1)


@kernel
def field_at(data: Bytes, p: Number, end: Number) -> tuple[Number, Number, int, Number]:
    """A field: its number, its kind, where its content begins, and where it ends.

    Instead of its end, `CUT`, `LONG` or `UNKNOWN_WIRE`.
    """
    key, begin = uleb(data, p, end)
    if begin < 0:
        return 0, 0, begin, begin
    field, wire = np.int64(key >> np.uint64(3)), np.int64(key & np.uint64(7))
    last: Number = UNKNOWN_WIRE
    if wire == VARINT:
        _, last = uleb(data, begin, end)
    elif wire == BYTES:
        size, begin = uleb(data, begin, end)
        if begin < 0:
            last = begin
        else:
            last = CUT if size > np.uint64(end - begin) else begin + np.int64(size)
    elif wire in (FIXED64, FIXED32):
        last = begin + (8 if wire == FIXED64 else 4)
        if last > end:
            last = CUT
    return field, wire, begin, last


@kernel
def _packet(data: Bytes, p: int, end: Number, row: Longs) -> Number:
    """Fill a row by a packet; negative if it contradicts the format."""
    row[KIND] = row[OF_SEQUENCE] = 0
    row[AT_NS] = -1
    while p < end:
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return q
        if wire == VARINT and (field in (TIMESTAMP, SEQUENCE)):
            value, _ = uleb(data, begin, end)
            at = AT_NS if field == TIMESTAMP else OF_SEQUENCE
            row[at] = np.int64(value & np.uint64(_MOST))
        elif wire == BYTES and (
            field in (HEAP_GRAPH, PROCESS_TREE, MAPPING, COMPRESSED, ZSTD_COMPRESSED)
        ):
            row[KIND], row[BEGIN], row[END] = field, begin, q
        p = q
    return p


@kernel
def find_packets(data: Bytes, p: int, rows: Longs, found: Longs) -> int:
    """Find the packets of a trace that are needed.

    Args:
        data: Some of the trace.
        p: Where a packet begins.
        rows: int64 (K, 5). Gets what is found.
        found: int64 (6,). Gets what is told of it.

    Returns:
        Where the first packet that is not complete begins.
    """
    found[:] = 0
    found[BAD_AT] = -1
    while p < len(data):
        key, q = uleb(data, p, len(data))
        if q == CUT:
            break
        if q < 0 or key != np.uint64(10):
            found[WHY] = ALIEN
            return p
        size, q = uleb(data, q, len(data))
        if q == CUT:
            break
        if q < 0 or size > np.uint64(_MOST >> 1):
            found[WHY] = ALIEN
            return p
        end: Number = q + np.int64(size)
        if end > len(data):
            found[NEEDED] = end - p
            break
        if found[COUNT] == len(rows):
            found[WHY] = FULL
            return p
        row = rows[found[COUNT]]
        if _packet(data, q, end, row) < 0:
            if found[BAD] == 0:
                found[BAD_AT] = p
            found[BAD] += 1
            found[BAD_BYTES] += end - p
        elif row[KIND] > 0:
            found[COUNT] += 1
        p = end
    found[WHY] = MORE
    return p


@kernel
def _fields(data: Bytes, p: int, end: int, rows: Longs) -> tuple[int, int]:
    """Fill rows by fields: number, value or -1, begin and end of its content.

    Returns:
        How many there are, and where the walk ended; negative for a fault.
    """
    count = 0
    while p < end and count < len(rows):
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return count, q
        row = rows[count]
        row[0], row[1], row[2], row[3] = field, -1, begin, q
        if wire == VARINT:
            value, _ = uleb(data, begin, end)
            row[1] = np.int64(value)
        count += 1
        p = q
    return count, p


_ROWS = 1 << 10


def fields(data: Bytes, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message, up to what contradicts the format.

    Yields:
        Number, value or -1, begin and end of the content.
    """
    rows = np.empty((_ROWS, 4), np.int64)
    while begin >= 0 and begin < end:
        count, begin = _fields(data, begin, end, rows)
        yield from map(tuple, rows[:count].tolist())


@kernel
def _class_names(data: Bytes, p: int, end: int, rows: Longs) -> tuple[int, int]:
    """Fill rows by fields of a mapping; see `class_names`."""
    count = 0
    while p < end and count < len(rows):
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return count, q
        if wire == BYTES and field in (1, 3):
            row = rows[count]
            row[0], row[1], row[2], row[3], row[4] = field, begin, q, begin, q
            while field == 3 and 0 <= begin < q:
                inner, kind, first, last = field_at(data, begin, q)
                if inner == 1 and kind == BYTES and last >= 0:
                    row[3], row[4] = first, last
                    break
                begin = last
            count += 1
        p = q
    return count, p


def class_names(data: Bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Find the package and the classes of a mapping.

    Yields:
        The number of the field: 1 for the package, 3 for a class. Then where the
        message begins and ends, and where the name in it begins and ends.
    """
    rows, begin = np.empty((_ROWS, 5), np.int64), 0
    while 0 <= begin < len(data):
        count, begin = _class_names(data, begin, len(data), rows)
        yield from map(tuple, rows[:count].tolist())
