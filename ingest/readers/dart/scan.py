"""The compiled scanner of the objects of a Dart heap snapshot: bytes to columns.

One call parses the complete records of a window; `ingest.readers.dart.assembly`
resolves them once all are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.values import ValueKind
from ingest.readers.shared.binary import LONGEST_ULEB_BYTES
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.leb128 import CUT, LONG, uleb

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs, Number

FAULTS = (
    "",
    "a number is longer than 64 bits",
    "an object has an unknown class",
    "an object is larger than any memory",
    "an object's data are of an unknown kind",
    "a reference is to an unknown object",
    "an object has more references than any memory holds",
    "a text or name is longer than any that the VM writes",
)
_LONG, _CLASS, _SIZE, _TAG, _TARGET, _COUNT, _TEXT = range(1, len(FAULTS))

_MAX_COUNT = (1 << 31) - 2
_LEAST_RECORD_BYTES = 4
_STORED_UNITS = 128
"""The most units stored of a string; the VM cuts strings there, too."""
_STORED_NAME_BYTES = 512
_LONGEST_TEXT = 1 << 20

(NO_DATA, NULL, BOOL, INT, DOUBLE, LATIN1, UTF16, LENGTH, NAME) = range(9)
"""Tags of the data of an object."""

_TOO_LONG = -3
OBJECTS, REFERENCES, VALUES, BYTES, FAULT = range(5)

_K_LATIN1, _K_UTF16, _K_NAME = ValueKind.LATIN1, ValueKind.UTF16, ValueKind.NAME
_K_INTEGER, _K_DOUBLE = ValueKind.INTEGER, ValueKind.DOUBLE
_K_BOOLEAN = ValueKind.BOOLEAN


class RecordBuffers(NamedTuple):
    """Where a scan writes its columns; the shortest records bound their rows.

    Attributes:
        class_index: int32. Class id of the file, less 1.
        size_bytes: int64.
        ref_count: int32.
        length: int64; -1 if none is recorded.
        ref_id: int32. Object ids of the file, 0 for null.
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


def buffers_for(size: int) -> RecordBuffers:
    """Buffers for any window of ``size`` bytes."""
    rows = size // _LEAST_RECORD_BYTES + 1
    return RecordBuffers(
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(size + 1, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.uint8),
        np.empty(rows, np.int64),
        # A number of one byte is stored in eight; its record has five.
        np.empty(2 * size + 8, np.uint8),
    )


@kernel
def _sleb(data: Bytes, p: int, end: int) -> tuple[Number, int]:
    """Like `uleb` for a signed number, as the bits of an unsigned one."""
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
def _skip_value(data: Bytes, p: int, end: int, tag: int, span: Longs) -> int:
    """Where the text or name at ``p`` ends; fills ``span``: length, begin, end."""
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
    most = np.uint64(_STORED_NAME_BYTES if tag == NAME else _STORED_UNITS)
    span[0] = np.int64(min(length, np.uint64(MAX_SIZE_BYTES)))
    span[1] = p
    span[2] = p + np.int64(min(size, most) * unit)
    return p + int(size * unit)


@kernel
def _fixed_value(
    data: Bytes, position: int, end: int, tag: int, is_signed: bool
) -> tuple[Number, int, int, int]:
    """A number or a boolean: (its bits, `ValueKind`, bytes, where it ends)."""
    bits = np.uint64(0)
    if tag == BOOL:
        bits, position = uleb(data, position, end)
        return bits, _K_BOOLEAN, 1, position
    if tag == INT:
        if is_signed:
            bits, position = _sleb(data, position, end)
        else:
            bits, position = uleb(data, position, end)
        return bits, _K_INTEGER, 8, position
    if position + 8 > end:
        return bits, _K_DOUBLE, 8, CUT
    for i in range(8):
        bits |= np.uint64(data[position + i]) << np.uint64(8 * i)
    return bits, _K_DOUBLE, 8, position + 8


@kernel
def _references(
    data: Bytes,
    position: int,
    end: int,
    highest_id: int,
    ref_id: Ints,
    stored: int,
) -> tuple[Number, int, int]:
    """Parse an object's references: (how many, a fault, where they end)."""
    count, position = uleb(data, position, end)
    if position < 0:
        return 0, 0, position
    if count > np.uint64(_MAX_COUNT):
        return 0, _COUNT, position
    if count > np.uint64(end - position):
        return 0, 0, CUT
    for i in range(np.int64(count)):
        target, position = uleb(data, position, end)
        if position < 0:
            return 0, 0, position
        if target > np.uint64(highest_id):
            return 0, _TARGET, position
        ref_id[stored + i] = np.int32(target)
    return np.int64(count), 0, position


@kernel
def _store_value(
    data: Bytes, bits: Number, width: int, span: Longs, content: Bytes, stored: int
) -> int:
    """Store a value of ``width`` bytes, or a text if that is 0; return its end."""
    for i in range(width):
        content[stored + i] = np.uint8((bits >> np.uint64(8 * i)) & np.uint64(0xFF))
    if width:
        return stored + width
    for i in range(span[1], span[2]):
        content[stored] = data[i]
        stored += 1
    return stored


@kernel
def _head(
    data: Bytes, position: int, end: int, class_count: int
) -> tuple[Number, Number, Number, int, int]:
    """The head of a record: (class, size, tag of the data, a fault, where it ends)."""
    none = np.uint64(0)
    kind, position = uleb(data, position, end)
    if position < 0:
        return none, none, none, 0, position
    if kind == 0 or kind > np.uint64(class_count):
        return none, none, none, _CLASS, position
    size, position = uleb(data, position, end)
    if position < 0:
        return none, none, none, 0, position
    if size > np.uint64(MAX_SIZE_BYTES):
        return none, none, none, _SIZE, position
    tag, position = uleb(data, position, end)
    if position >= 0 and tag > np.uint64(NAME):
        return none, none, none, _TAG, position
    return kind, size, tag, 0, position


@kernel
def scan(
    data: Bytes,
    begin: int,
    signed_class: Bools,
    objects_left: int,
    highest_id: int,
    buffers: RecordBuffers,
    counts: Longs,
    span: Longs,
) -> int:
    """Read complete records from ``begin`` on, as many as there are.

    Args:
        data: The window.
        begin: Where the first record starts.
        signed_class: Bool (C,). Classes whose integers are signed LEB128.
        objects_left: How many records there may still be.
        highest_id: The highest id that a reference may have.
        buffers: `buffers_for` this window.
        counts: int64 (5,): rows of each kind written, and the fault met, an index
            of `FAULTS`; all zero when called.
        span: int64 (3,). Overwritten.

    Returns:
        Where the first incomplete or faulty record starts.
    """
    end = len(data)
    at = position = begin
    objects = references = values = stored = fault = 0
    while objects < objects_left:
        kind, size, tag, fault, position = _head(data, at, end, len(signed_class))
        if position < 0 or fault:
            break
        length, value_kind, width = -1, -1, 0
        bits = np.uint64(0)
        if tag == LENGTH:
            bits, position = uleb(data, position, end)
            length = int(min(bits, np.uint64(MAX_SIZE_BYTES)))
        elif tag in (BOOL, INT, DOUBLE):
            bits, value_kind, width, position = _fixed_value(
                data, position, end, int(tag), signed_class[kind - np.uint64(1)]
            )
        elif tag >= LATIN1:
            position = _skip_value(data, position, end, int(tag), span)
            value_kind = _K_NAME
            if tag != NAME:
                value_kind = _K_LATIN1 if tag == LATIN1 else _K_UTF16
                length = span[0]
        if position < 0:
            break
        many, fault, position = _references(
            data, position, end, highest_id, buffers.ref_id, references
        )
        if position < 0 or fault:
            break
        if value_kind >= 0:
            stored = _store_value(data, bits, width, span, buffers.content, stored)
            buffers.value_object[values] = objects
            buffers.value_kind[values] = value_kind
            buffers.value_end[values] = stored
            values += 1
        buffers.class_index[objects] = np.int32(kind) - 1
        buffers.size_bytes[objects] = np.int64(size)
        buffers.length[objects] = length
        buffers.ref_count[objects] = np.int32(many)
        references += many
        objects += 1
        at = position
    if objects < objects_left and fault == 0 and position < CUT:
        fault = _LONG if position == LONG else _TEXT
    counts[OBJECTS], counts[REFERENCES] = objects, references
    counts[VALUES], counts[BYTES], counts[FAULT] = values, stored, fault
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
