"""The compiled scanner of the objects of a PyHeap file: bytes to columns.

One call parses the complete objects of a window.

The attributes of an object are those that ``dir`` lists, most of them its class's. So a
reference gets the name of the first attribute whose value is its target. Names that
begin with two underscores nearly all belong to classes, and are not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD
from ingest.readers.cpython.objects import ENTRY, KEY
from ingest.readers.shared.big_endian import uint32, uint64

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ids, Ints, Longs, Number

FAULTS = (
    "",
    "an attribute has a name that is not declared",
    "an object has more elements or references than any memory holds",
)
_NAME, _COUNT = range(1, len(FAULTS))

WELL_KNOWN = ("dict", "list", "tuple", "set", "str", "int", "float", "bool")
"""Types whose objects are recognised while they are read, in this order."""

_DICT, _LIST, _TUPLE, _SET, _STR = range(5)

OBJECTS, REFERENCES, NAMED, TEXTS, BYTES, FAULT, PLACE, LENGTH = range(8)

_LEAST_RECORD_BYTES = 24
_MAX_COUNT = (1 << 31) - 2
_MOST_NAMED = 64
"""The most references of an object that are compared with its attributes; otherwise the
time could be the square of a file's size."""

STORED_BYTES = 256
"""The most bytes stored of a text."""

_LESS_THAN, _UNDERSCORE = 0x3C, 0x5F
_DICT_NAME = np.frombuffer(b"__dict__", np.uint8)
_CUT = -1


class ObjectBuffers(NamedTuple):
    """Where a scan writes its columns; the shortest objects bound their rows.

    Attributes:
        id: uint64.
        type_id: uint64.
        size_bytes: int64.
        length: int64; -1 for objects that are no collections.
        has_dict: bool. Whether the object has an attribute ``__dict__``.
        ref_count: int32.
        ref_id: uint64.
        ref_field: int32. As in `ingest.readers.cpython.objects`.
        named_ref: int64. References that have a name.
        named_by: int64. The name: a row of the frequent names, or -1 - the byte of the
            window at which the name begins.
        named_bytes: int64. Its length, in the second case.
        text_object: int32. Rows of objects that have a text.
        text_end: int64. Where each ends in ``content``.
        content: uint8.
    """

    id: Ids
    type_id: Ids
    size_bytes: Longs
    length: Longs
    has_dict: Bools
    ref_count: Ints
    ref_id: Ids
    ref_field: Ints
    named_ref: Longs
    named_by: Longs
    named_bytes: Longs
    text_object: Ints
    text_end: Longs
    content: Bytes


class Told(NamedTuple):
    """Facts of a file about all objects.

    Attributes:
        well_known: uint64 (8,). Ids of the types of `WELL_KNOWN`; 0 for none.
        common: uint64. Ids of types whose objects have no attributes, ascending.
        is_plain: bool (A,). Frequent names that may name a reference.
        dict_row: The frequent name ``__dict__``, or -1.
        has_texts: Whether objects have texts.
    """

    well_known: Ids
    common: Ids
    is_plain: Bools
    dict_row: int
    has_texts: bool


def buffers_for(size: int) -> ObjectBuffers:
    """Buffers for any window of ``size`` bytes."""
    rows, references = size // _LEAST_RECORD_BYTES + 1, size // 8 + 1
    return ObjectBuffers(
        np.empty(rows, np.uint64),
        np.empty(rows, np.uint64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.bool_),
        np.empty(rows, np.int32),
        np.empty(references, np.uint64),
        np.empty(references, np.int32),
        np.empty(references, np.int64),
        np.empty(references, np.int64),
        np.empty(references, np.int64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(size + 1, np.uint8),
    )


@kernel
def _u16(data: Bytes, p: int) -> int:
    """The big-endian number of 2 bytes at ``p``."""
    return int((np.int64(data[p]) << 8) | np.int64(data[p + 1]))


@kernel
def _u32(data: Bytes, p: int) -> int:
    """The big-endian number of 4 bytes at ``p``, as int64."""
    return int(np.int64(uint32(data, p)))


@kernel
def _elements(
    data: Bytes,
    p: int,
    end: int,
    kind: int,
    buffers: ObjectBuffers,
    stored: int,
    counts: Longs,
) -> int:
    """Parse the content of a collection; return where it ends, or `_CUT`."""
    if p + 4 > end:
        return _CUT
    many = _u32(data, p)
    p += 4
    width = 2 if kind == _DICT else 1
    if many * width > _MAX_COUNT:
        counts[FAULT] = _COUNT
        return _CUT
    if many * width * 8 > end - p:
        return _CUT
    for i in range(many * width):
        buffers.ref_id[stored + i] = uint64(data, p)
        field = -1 - i
        if kind == _DICT:
            field = ENTRY if i % 2 else KEY
        elif kind == _SET:
            field = NO_FIELD
        buffers.ref_field[stored + i] = field
        p += 8
    counts[LENGTH] = many
    counts[REFERENCES] = many * width
    return p


@kernel
def _others(
    data: Bytes, p: int, end: int, buffers: ObjectBuffers, stored: int, counts: Longs
) -> int:
    """Parse further references, and add them to ``counts``; like `_elements`."""
    if p + 4 > end:
        return _CUT
    many = _u32(data, p)
    p += 4
    if many + counts[REFERENCES] > _MAX_COUNT:
        counts[FAULT] = _COUNT
        return _CUT
    if many * 8 > end - p:
        return _CUT
    for i in range(many):
        buffers.ref_id[stored + i] = uint64(data, p)
        buffers.ref_field[stored + i] = NO_FIELD
        p += 8
    counts[REFERENCES] += many
    return p


@kernel
def _attributes(
    data: Bytes,
    p: int,
    end: int,
    told: Told,
    buffers: ObjectBuffers,
    first: int,
    last: int,
    counts: Longs,
) -> int:
    """Parse the attributes of an object, and name references from ``first`` on.

    Returns:
        Where the attributes end, or `_CUT`. ``counts`` has whether there is a
        ``__dict__`` (`OBJECTS`), and the number of names (`NAMED`).
    """
    if p + 4 > end:
        return _CUT
    many = _u32(data, p)
    p += 4
    begin = named = counts[NAMED]
    for _ in range(many):
        if p + 2 > end:
            return _CUT
        size = _u16(data, p)
        p += 2
        at, row = p, -1
        if size >= 1 << 15:
            row, size = (1 << 16) - 1 - size, 0
            if row >= len(told.is_plain):
                counts[FAULT] = _NAME
                counts[PLACE] = p
                return _CUT
            plain = told.is_plain[row]
            is_dict = row == told.dict_row
        else:
            if p + size > end:
                return _CUT
            plain = size > 0 and not (
                size > 1 and data[p] == _UNDERSCORE and data[p + 1] == _UNDERSCORE
            )
            is_dict = size == len(_DICT_NAME)
            for i in range(len(_DICT_NAME)):
                if not is_dict:
                    break
                is_dict = data[p + i] == _DICT_NAME[i]
        p += size
        if p + 8 > end:
            return _CUT
        if is_dict:
            counts[OBJECTS] = 1
        if plain and last - first <= _MOST_NAMED:
            value = uint64(data, p)
            for i in range(first, last):
                if buffers.ref_id[i] == value:
                    is_named = False
                    for k in range(begin, named):
                        is_named = is_named or buffers.named_ref[k] == i
                    if not is_named:
                        buffers.named_ref[named] = i
                        buffers.named_by[named] = row if row >= 0 else -1 - at
                        buffers.named_bytes[named] = size
                        named += 1
                    break
        p += 8
    counts[NAMED] = named
    return p


@kernel
def _text(
    data: Bytes,
    p: int,
    end: int,
    is_value: bool,
    buffers: ObjectBuffers,
    stored: int,
    counts: Longs,
) -> int:
    """Parse the text of an object, and store it if it may be useful.

    Returns:
        Where the text ends, or `_CUT`. ``counts`` has whether it is stored (`TEXTS`),
        and where the stored text ends (`BYTES`).
    """
    counts[TEXTS] = 0
    if p + 2 > end:
        return _CUT
    size = _u16(data, p)
    begin = p + 2
    after = begin + size
    if after > end:
        return _CUT
    if not is_value and (size == 0 or data[begin] != _LESS_THAN):
        return after
    last = after
    if size > STORED_BYTES:
        last = begin + STORED_BYTES
        while last > begin and data[last] & 0xC0 == 0x80:
            last -= 1
    for i in range(begin, last):
        buffers.content[stored] = data[i]
        stored += 1
    counts[TEXTS], counts[BYTES] = 1, stored
    return after


@kernel
def _kind(type_id: Number, well_known: Ids) -> int:
    """The row of a type in `WELL_KNOWN`, or -1."""
    for i in range(len(well_known)):
        if well_known[i] == type_id and type_id != 0:
            return i
    return -1


@kernel
def _object(
    data: Bytes,
    at: int,
    told: Told,
    kind: int,
    buffers: ObjectBuffers,
    done: Longs,
    counts: Longs,
) -> int:
    """Parse the object at ``at`` from its content on.

    Args:
        data: The window.
        at: Where it starts.
        told: Facts of the file about all objects.
        kind: Its type: a row of `WELL_KNOWN`, or -1.
        buffers: Columns to write to.
        done: Rows of each kind written so far.
        counts: Filled with its number of references, the totals after it (names,
            bytes), whether it has a text and a ``__dict__`` (`OBJECTS`), its length
            (`LENGTH`), and a fault with its place.

    Returns:
        Where it ends, or `_CUT`.
    """
    end = len(data)
    p = at + 20
    counts[:] = 0
    counts[NAMED], counts[PLACE], counts[LENGTH] = done[NAMED], at, -1
    is_collection = 0 <= kind <= _SET
    if is_collection:
        p = _elements(data, p, end, kind, buffers, done[REFERENCES], counts)
        if p < 0:
            return _CUT
    first = done[REFERENCES] + counts[REFERENCES]
    p = _others(data, p, end, buffers, first, counts)
    if p < 0:
        return _CUT
    type_id = uint64(data, at + 8)
    place = np.searchsorted(told.common, type_id)
    if place == len(told.common) or told.common[place] != type_id:
        last = done[REFERENCES] + counts[REFERENCES]
        p = _attributes(data, p, end, told, buffers, first, last, counts)
        if p < 0:
            return _CUT
    if told.has_texts and not is_collection:
        p = _text(data, p, end, kind >= _STR, buffers, done[BYTES], counts)
    return p


@kernel
def scan(
    data: Bytes,
    begin: int,
    objects_left: int,
    told: Told,
    buffers: ObjectBuffers,
    counts: Longs,
    inner: Longs,
) -> int:
    """Read complete objects from ``begin`` on, as many as there are.

    Args:
        data: The window.
        begin: Where the first object starts.
        objects_left: How many there may still be.
        told: Facts of the file about all objects.
        buffers: `buffers_for` this window.
        counts: int64 (8,): rows of each kind written, the fault met, an index of
            `FAULTS`, and its place; all zero when called.
        inner: int64 (8,). Overwritten.

    Returns:
        Where the first incomplete or faulty object starts.
    """
    at, row = begin, 0
    while row < objects_left and at + 20 <= len(data):
        type_id = uint64(data, at + 8)
        kind = _kind(type_id, told.well_known)
        p = _object(data, at, told, kind, buffers, counts, inner)
        if p < 0:
            counts[FAULT], counts[PLACE] = inner[FAULT], inner[PLACE]
            break
        if inner[TEXTS]:
            buffers.text_object[counts[TEXTS]] = row
            buffers.text_end[counts[TEXTS]] = inner[BYTES]
            counts[TEXTS] += 1
            counts[BYTES] = inner[BYTES]
        buffers.id[row] = uint64(data, at)
        buffers.type_id[row] = type_id
        buffers.size_bytes[row] = _u32(data, at + 16)
        buffers.length[row] = inner[LENGTH]
        buffers.has_dict[row] = inner[OBJECTS] != 0
        buffers.ref_count[row] = inner[REFERENCES]
        counts[REFERENCES] += inner[REFERENCES]
        counts[NAMED] = inner[NAMED]
        row += 1
        at = p
    counts[OBJECTS] = row
    return at
