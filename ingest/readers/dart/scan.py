"""The compiled scanner of a Dart heap snapshot's objects: bytes in, columns out.

One call reads the whole records of a window; what a record means is settled in
`ingest.readers.dart.assembly` once all are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel
from ingest.heap.values import ValueKind
from ingest.readers.shared.binary import LONGEST_ULEB_BYTES
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.leb128 import CUT, LONG, uleb

if TYPE_CHECKING:
    from ingest.compiled import Bools, Bytes, Ints, Longs, Number

FAULTS = (
    "",
    "a number is longer than 64 bits",
    "an object's class is none of the file's",
    "an object is larger than any memory",
    "an object's data are of an unknown kind",
    "a reference leads to none of the file's objects",
    "an object has more references than any memory holds",
    "a text or name is longer than the VM writes any",
)
_LONG, _CLASS, _SIZE, _TAG, _TARGET, _COUNT, _TEXT = range(1, len(FAULTS))

_MAX_COUNT = (1 << 31) - 2
_LEAST_RECORD_BYTES = 4
_KEPT_UNITS = 128
"""Of a longer string; the VM cuts there itself."""
_KEPT_NAME_BYTES = 512
_LONGEST_TEXT = 1 << 20

(NO_DATA, NULL, BOOL, INT, DOUBLE, LATIN1, UTF16, LENGTH, NAME) = range(9)
"""Tags of the data of an object."""

_TOO_LONG = -3
OBJECTS, REFERENCES, VALUES, BYTES, FAULT = range(5)

_K_LATIN1, _K_UTF16, _K_NAME = ValueKind.LATIN1, ValueKind.UTF16, ValueKind.NAME
_K_INTEGER, _K_DOUBLE = ValueKind.INTEGER, ValueKind.DOUBLE
_K_BOOLEAN = ValueKind.BOOLEAN


class Room(NamedTuple):
    """Where a scan writes its columns; the shortest records bound their rows.

    Attributes:
        class_index: int32. Class id of the file, less 1.
        size_bytes: int64.
        ref_count: int32.
        length: int64; -1 where an object tells none.
        ref_id: int32. Object ids of the file, 0 for nothing.
        value_object: int32. Rows of this scan.
        value_kind: uint8. `ValueKind` values.
        value_end: int64. Where each value ends in ``content``.
        content: uint8.
    """

    class_index: Ints
    size_bytes: Longs
    ref_count: Ints
    length: Longs
    ref_id: Ints
    value_object: Ints
    value_kind: Bytes
    value_end: Longs
    content: Bytes


def room_for(size: int) -> Room:
    """Room for all that ``size`` bytes can hold."""
    rows = size // _LEAST_RECORD_BYTES + 1
    return Room(
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(size + 1, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.uint8),
        np.empty(rows, np.int64),
        # A number of one byte is kept in eight; its record has five.
        np.empty(2 * size + 8, np.uint8),
    )


@kernel
def _sleb(data: Bytes, p: int, end: int) -> tuple[Number, int]:
    """The same for a signed number, as the bits of an unsigned one."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for i in range(LONGEST_ULEB_BYTES):
        if p + i >= end:
            return value, CUT
        byte = np.uint64(data[p + i])
        value |= (byte & np.uint64(0x7F)) << shift
        shift += np.uint64(7)
        if byte < np.uint64(0x80):
            if byte & np.uint64(0x40) and shift < np.uint64(64):
                value |= ~np.uint64(0) << shift
            return value, p + i + 1
    return value, LONG


@kernel
def _skip_value(data: Bytes, p: int, end: int, tag: int, kept: Longs) -> int:
    """Where the text or name at ``p`` ends; ``kept`` gets length, begin, end of it."""
    length, p = uleb(data, p, end)
    if p < 0:
        return p
    size = length
    if tag != NAME:
        size, p = uleb(data, p, end)
        if p < 0:
            return p
    unit = np.uint64(2) if tag == UTF16 else np.uint64(1)
    if size > np.uint64(_LONGEST_TEXT):
        return _TOO_LONG
    if size * unit > np.uint64(end - p):
        return CUT
    most = np.uint64(_KEPT_NAME_BYTES if tag == NAME else _KEPT_UNITS)
    kept[0] = np.int64(min(length, np.uint64(MAX_SIZE_BYTES)))
    kept[1] = p
    kept[2] = p + np.int64(min(size, most) * unit)
    return p + int(size * unit)


@kernel
def scan(
    data: Bytes,
    begin: int,
    signed_class: Bools,
    objects_left: int,
    highest_id: int,
    room: Room,
    counts: Longs,
) -> int:
    """Read whole records from ``begin`` on, as many as there are.

    Args:
        data: The window.
        begin: Where the first record starts.
        signed_class: Bool (C,). Classes whose integers are signed LEB128.
        objects_left: How many records there may still be.
        highest_id: The highest id that a reference may have.
        room: `room_for` this window.
        counts: int64 (5,): rows of each kind written, and the fault met, an index
            of `FAULTS`; all zero when called.

    Returns:
        Where the first record stands that is not whole, or is at fault.
    """
    end = len(data)
    at = p = begin
    n = e = v = b = 0
    kept = np.zeros(3, np.int64)
    fault = 0
    while n < objects_left:
        kind, p = uleb(data, at, end)
        if p < 0:
            break
        if kind == 0 or kind > np.uint64(len(signed_class)):
            fault = _CLASS
            break
        size, p = uleb(data, p, end)
        if p < 0:
            break
        if size > np.uint64(MAX_SIZE_BYTES):
            fault = _SIZE
            break
        tag, p = uleb(data, p, end)
        if p < 0:
            break
        if tag > np.uint64(NAME):
            fault = _TAG
            break
        length = -1
        value_kind = -1
        bits = np.uint64(0)
        width = 0
        if tag in (LENGTH, BOOL):
            bits, p = uleb(data, p, end)
            if p < 0:
                break
            if tag == BOOL:
                value_kind, width = _K_BOOLEAN, 1
            else:
                length = int(min(bits, np.uint64(MAX_SIZE_BYTES)))
        elif tag == INT:
            if signed_class[kind - np.uint64(1)]:
                bits, p = _sleb(data, p, end)
            else:
                bits, p = uleb(data, p, end)
            if p < 0:
                break
            value_kind, width = _K_INTEGER, 8
        elif tag == DOUBLE:
            if p + 8 > end:
                p = CUT
                break
            for i in range(8):
                bits |= np.uint64(data[p + i]) << np.uint64(8 * i)
            p += 8
            value_kind, width = _K_DOUBLE, 8
        elif tag >= LATIN1:
            p = _skip_value(data, p, end, int(tag), kept)
            if p < 0:
                break
            value_kind = _K_NAME
            if tag != NAME:
                value_kind = _K_LATIN1 if tag == LATIN1 else _K_UTF16
                length = kept[0]
        many, p = uleb(data, p, end)
        if p < 0:
            break
        if many > np.uint64(_MAX_COUNT):
            fault = _COUNT
            break
        if many > np.uint64(end - p):
            p = CUT
            break
        for i in range(np.int64(many)):
            target, p = uleb(data, p, end)
            if p < 0:
                break
            if target > np.uint64(highest_id):
                fault = _TARGET
                break
            room.ref_id[e + i] = np.int32(target)
        if p < 0 or fault:
            break
        if value_kind >= 0:
            if width:
                for i in range(width):
                    room.content[b + i] = np.uint8(
                        (bits >> np.uint64(8 * i)) & np.uint64(0xFF)
                    )
                b += width
            else:
                for i in range(kept[1], kept[2]):
                    room.content[b] = data[i]
                    b += 1
            room.value_object[v] = n
            room.value_kind[v] = value_kind
            room.value_end[v] = b
            v += 1
        room.class_index[n] = np.int32(kind) - 1
        room.size_bytes[n] = np.int64(size)
        room.length[n] = length
        room.ref_count[n] = np.int32(many)
        e += int(many)
        n += 1
        at = p
    if n < objects_left and fault == 0 and p < CUT:
        fault = _LONG if p == LONG else _TEXT
    counts[OBJECTS], counts[REFERENCES] = n, e
    counts[VALUES], counts[BYTES], counts[FAULT] = v, b, fault
    return at


@kernel
def ulebs(data: Bytes, begin: int, numbers: Longs) -> tuple[int, int]:
    """Read LEB128 numbers into ``numbers`` as far as they go.

    Returns:
        How many were read, and where the next one starts.
    """
    end = len(data)
    at = begin
    for i in range(len(numbers)):
        value, p = uleb(data, at, end)
        if p < 0:
            return i, at
        numbers[i] = np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))
        at = p
    return len(numbers), at
