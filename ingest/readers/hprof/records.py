"""Kernels that parse instances and arrays: bytes to columns.

Arrays may be longer than a window; the scan's state describes the rest of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD
from ingest.readers.shared.big_endian import uint32, uint64
from ingest.readers.shared.cut_texts import DIGEST_BYTES, store_digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

(
    OBJECTS, REFERENCES, ROOTS, SPECIALS, CONTENTS, BYTES, CLASSES, DEFERRED, SHORT,
    WHY, SEGMENT_BEGIN, SEGMENT_BYTES,
) = range(12)  # fmt: skip
"""Indexes of the counts of a scan: rows; why it stopped; where in the window the last
segment begins into which it continued, 0 for none; and the length of that segment."""
COUNTS = 12

SKIP, LEFT, INDEX, HELD, ARRAY_ROW, ARRAY_LENGTH, SPACE, NO_ELEMENTS = range(8)
"""Indexes of the state of a scan. For an array longer than a window: bytes to skip,
elements left, the index of the next one, non-null elements so far, the row of its
class, its length. Also the number of the part of the heap to which the next objects
belong, and whether primitive arrays have no elements."""
STATE = 8

ARRAY_ID, NEEDED_CLASS = range(2)
"""Indexes of the ids in the state of a scan."""

(
    NOTHING, TEXT, SIGNED, SIGNED_4, SIGNED_2, SIGNED_1, CHAR, BOOL, FLOAT4, FLOAT8,
    THREAD, DIRECT_BUFFER, BITMAP, DESTROYED, VIEWED_BUFFER, LIMIT, ENDS_WITH,
    UNMANAGED, LIMIT_4,
) = range(19)  # fmt: skip
"""What the scan takes from instances of a class besides their references. A
`VIEWED_BUFFER` says whether it is a view, a `DIRECT_BUFFER` only what frees it. Work is
done if `DESTROYED` is true, with the object of `ENDS_WITH`, or without the manager of
`UNMANAGED`, which has been called."""

WHOLE = 128
"""A bit beside these: the bytes of all fields are taken, too."""

STORED_BYTES = 256
"""Bytes stored of the text in an array: 128 characters, or 256 in Latin-1. A digest
follows those of a longer text."""

DIGESTED_BYTES = 1 << 16
"""Bytes of a text in its digest. Texts with equal first 64 KiB and equal lengths count
as equal."""

MOST_DEFERRED_BYTES = 1 << 20
"""A larger instance that comes before its class is read without fields."""

PRIMITIVES = ("boolean", "char", "float", "double", "byte", "short", "int", "long")
FIRST_PRIMITIVE = 4
"""Type codes 4 to 11 are `PRIMITIVES`, rows 0 to 7 of the types."""
WIDTHS = (1, 2, 4, 8, 1, 2, 4, 8)
CHARS_ROW, _BYTES = 1, 4

PRIMITIVE_ARRAY_WITHOUT_DATA = 0xC3
HEAP_INFO = 0xFE

CUT, ODD = -1, -2
_SMALLEST_OBJECT_BYTES = 14
_SMALLEST_ROOT_BYTES = 5
_SMALLEST_CLASS_BYTES = 9


class HeapBuffers(NamedTuple):
    """Where a scan writes its columns; the shortest sub-records bound their rows.

    Attributes:
        id: uint64. Ids of objects.
        class_row: int32. Rows of the classes.
        length: int64. Length of arrays; -1 for instances.
        ref_count: int32. Without null references.
        null_count: uint32. Null references.
        space: uint8. Part of the heap, by number; 0 if none is recorded.
        ref_id: uint64.
        ref_field: int32, as in the graph.
        ref_kind: uint8, as in the graph.
        root_id: uint64.
        root_tag: uint8. Tag of the sub-record.
        root_thread: uint32. Serial number of the thread; 0 if none is recorded.
        root_frame: int32. Number of the frame in the stack of the thread, or -1; the
            serial number of the stack of a thread object.
        special_row: int32. Rows of this scan: objects with a value or memory.
        special_kind: uint8. `TEXT` and the kinds after it.
        special_bits: uint64. The number, or the id of the array, of the name, or of
            what frees the memory.
        special_coder: uint8. 1 for UTF-16 in an array of bytes.
        special_slice: int32 (rows, 2). Offset and count, -1 for the whole array; bytes
            of a buffer and half of the id of its file; width and height of a bitmap.
        content_row: int32. Rows of this scan: arrays that may have text, and instances
            of which all fields are taken.
        content_end: int64. End of each one's bytes in ``content``.
        content: uint8. First bytes of these arrays, then a digest if they have more;
            characters are little-endian. Of an instance, the fields.
        class_begin: int64. Positions in the window of records that are parsed after the
            scan: classes, and names of parts of the heap.
        deferred: int64 (rows, 3). Begin and end, in the window, of instances that have
            to wait for their classes, and their part of the heap.
    """

    id: Ids
    class_row: Ints
    length: Longs
    ref_count: Ints
    null_count: NDArray[np.uint32]
    space: Bytes
    ref_id: Ids
    ref_field: Ints
    ref_kind: Bytes
    root_id: Ids
    root_tag: Bytes
    root_thread: NDArray[np.uint32]
    root_frame: Ints
    special_row: Ints
    special_kind: Bytes
    special_bits: Ids
    special_coder: Bytes
    special_slice: Ints
    content_row: Ints
    content_end: Longs
    content: Bytes
    class_begin: Longs
    deferred: Longs


class ClassColumns(NamedTuple):
    """The columns of classes that a scan needs.

    Attributes:
        key: uint64. Hash table: ids of classes.
        key_row: int32. Row of each id; -1 for free places.
        seed: uint64 (1,).
        is_known: bool. Whether all fields are known, inherited ones included.
        field_bytes: int64. Bytes of all fields in an instance record.
        own_bytes: int64. Bytes of the fields that the class itself declares.
        parent: int32. Row of the superclass, or -1.
        slot_start: int32. First slot of the fields with references that it declares.
        slot_end: int32.
        referent_kind: uint8. Strength of `Reference.referent`, as in the graph.
        special: uint8. What the scan takes from instances besides references.
        special_offset: int32 (rows, 4). Offsets of these fields; -1 for absent ones.
        slot_offset: int32. Offset of each slot in the fields of its class.
        slot_field: int32. Row of the field names.
        slot_is_referent: uint8.
    """

    key: Ids
    key_row: Ints
    seed: Ids
    is_known: Bytes
    field_bytes: Longs
    own_bytes: Longs
    parent: Ints
    slot_start: Ints
    slot_end: Ints
    referent_kind: Bytes
    special: Bytes
    special_offset: Ints
    slot_offset: Ints
    slot_field: Ints
    slot_is_referent: Bytes


def buffers_for(size: int) -> HeapBuffers:
    """Buffers for any window of ``size`` bytes."""
    rows = size // _SMALLEST_OBJECT_BYTES + 2
    references = size // 4 + 2
    roots = size // _SMALLEST_ROOT_BYTES + 1
    return HeapBuffers(
        np.empty(rows, np.uint64),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(rows, np.int32),
        np.empty(rows, np.uint32),
        np.empty(rows, np.uint8),
        np.empty(references, np.uint64),
        np.empty(references, np.int32),
        np.empty(references, np.uint8),
        np.empty(roots, np.uint64),
        np.empty(roots, np.uint8),
        np.empty(roots, np.uint32),
        np.empty(roots, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.uint8),
        np.empty(rows, np.uint64),
        np.empty(rows, np.uint8),
        np.empty((rows, 2), np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int64),
        np.empty(size + 1, np.uint8),
        np.empty(size // _SMALLEST_CLASS_BYTES + 1, np.int64),
        np.empty((rows, 3), np.int64),
    )


@kernel
def number(data: Bytes, p: int, size: int) -> Number:
    """The unsigned big-endian number of ``size`` bytes at ``p``."""
    if size == 8:
        return uint64(data, p)
    if size == 4:
        return uint32(data, p)
    value = np.uint64(0)
    for i in range(size):
        value = (value << np.uint64(8)) | np.uint64(data[p + i])
    return value


@kernel
def class_row(
    keys: Ids, rows: Ints, seed: Number, class_id: Number
) -> tuple[Number, Number]:
    """The row of a class, or -1, and the place of its id in the table."""
    mixed = class_id ^ seed
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mask = len(keys) - 1
    at = np.int64(mixed & np.uint64(mask))
    while rows[at] >= 0 and keys[at] != class_id:
        at = (at + 1) & mask
    return np.int64(rows[at]), at


@kernel
def _special(
    data: Bytes,
    body: int,
    size: int,
    id_size: int,
    kind: int,
    offsets: Ints,
    buffers: HeapBuffers,
    at: int,
) -> None:
    """Store the value of the instance with fields at ``body``, or where it is."""
    width = id_size
    if kind in (SIGNED, FLOAT8, LIMIT):
        width = 8
    elif kind in (FLOAT4, SIGNED_4, LIMIT_4):
        width = 4
    elif kind in (SIGNED_2, CHAR):
        width = 2
    elif kind in (SIGNED_1, BOOL, DESTROYED):
        width = 1
    bits = np.uint64(0)
    if offsets[0] >= 0 and offsets[0] + width <= size:
        bits = number(data, body + offsets[0], width)
    buffers.special_kind[at] = kind
    buffers.special_bits[at] = bits
    buffers.special_coder[at] = 0
    if offsets[1] >= 0 and offsets[1] < size:
        buffers.special_coder[at] = data[body + offsets[1]]
    for i in range(2):
        place = offsets[2 + i]
        buffers.special_slice[at, i] = -1
        if place >= 0 and place + 4 <= size:
            buffers.special_slice[at, i] = np.int32(number(data, body + place, 4))


@kernel
def _fields(
    data: Bytes,
    body: int,
    size: int,
    id_size: int,
    row: int,
    classes: ClassColumns,
    buffers: HeapBuffers,
    counts: Longs,
) -> tuple[Number, Number]:
    """Store the references of an instance; return how many, and how many are null."""
    stored = counts[REFERENCES]
    first = stored
    nulls = 0
    referent_kind = classes.referent_kind[row]
    offset = 0
    while row >= 0:
        for slot in range(classes.slot_start[row], classes.slot_end[row]):
            place = offset + classes.slot_offset[slot]
            if place + id_size > size:
                break
            target = number(data, body + place, id_size)
            if target == 0:
                nulls += 1
                continue
            buffers.ref_id[stored] = target
            buffers.ref_field[stored] = classes.slot_field[slot]
            buffers.ref_kind[stored] = classes.slot_is_referent[slot] * referent_kind
            stored += 1
        offset += classes.own_bytes[row]
        row = classes.parent[row]
    counts[REFERENCES] = stored
    return stored - first, nulls


@kernel
def elements(
    data: Bytes, p: int, id_size: int, buffers: HeapBuffers, state: Longs, counts: Longs
) -> Number:
    """Store elements of the open array, as many as the window has; return the end."""
    stored = counts[REFERENCES]
    many = min(state[LEFT], (len(data) - p) // id_size)
    index = state[INDEX]
    for i in range(many):
        target = number(data, p, id_size)
        p += id_size
        if target == 0:
            continue
        buffers.ref_id[stored] = target
        at = index + i
        buffers.ref_field[stored] = NO_FIELD if at >= 2**31 - 2 else -1 - at
        buffers.ref_kind[stored] = 0
        stored += 1
        state[HELD] += 1
    state[LEFT] -= many
    state[INDEX] += many
    counts[REFERENCES] = stored
    return p


@kernel
def _store_object(
    object_id: Number,
    row: Number,
    length: Number,
    ref_count: Number,
    null_count: Number,
    buffers: HeapBuffers,
    state: Longs,
    counts: Longs,
) -> None:
    """Store the row of an object: its id, class, length, and numbers of references.

    ``state`` is int64 (`STATE`,), ``counts`` int64 (`COUNTS`,); the latter is advanced.
    """
    at = counts[OBJECTS]
    buffers.id[at] = object_id
    buffers.class_row[at] = row
    buffers.length[at] = length
    buffers.ref_count[at] = ref_count
    buffers.null_count[at] = null_count
    buffers.space[at] = state[SPACE]
    counts[OBJECTS] = at + 1


@kernel
def _body_end(body: int, size: Number, end: int, state: Longs) -> Number:
    """Where a body ends; what is beyond the window is noted to be skipped."""
    if size > end - body:
        state[SKIP] = size - (end - body)
        return end
    return body + size


@kernel
def close_array(buffers: HeapBuffers, state: Longs, ids: Ids, counts: Longs) -> None:
    """Store the row of the open array, after its elements."""
    _store_object(
        ids[ARRAY_ID], state[ARRAY_ROW], state[ARRAY_LENGTH], state[HELD],
        state[INDEX] - state[HELD], buffers, state, counts,
    )  # fmt: skip
    state[ARRAY_ROW] = -1


@kernel
def _store_content(
    data: Bytes, p: int, read: int, is_chars: bool, buffers: HeapBuffers, counts: Longs
) -> None:
    """Store the first bytes of an array of bytes or chars, and a digest of ``read``."""
    stored = counts[BYTES]
    size = min(read, STORED_BYTES)
    if is_chars:
        for i in range(0, size - 1, 2):
            buffers.content[stored + i] = data[p + i + 1]
            buffers.content[stored + i + 1] = data[p + i]
    else:
        for i in range(size):
            buffers.content[stored + i] = data[p + i]
    counts[BYTES] = stored + size
    if read > size:
        store_digest(data, p, p + read, buffers.content, stored + size)
        counts[BYTES] += DIGEST_BYTES
    at = counts[CONTENTS]
    buffers.content_row[at] = counts[OBJECTS]
    buffers.content_end[at] = counts[BYTES]
    counts[CONTENTS] = at + 1


@kernel
def _store_fields(
    data: Bytes, p: int, size: int, buffers: HeapBuffers, counts: Longs
) -> None:
    """Store the bytes of all fields of an instance, as those of an array."""
    stored = counts[BYTES]
    for i in range(size):
        buffers.content[stored + i] = data[p + i]
    counts[BYTES] = stored + size
    at = counts[CONTENTS]
    buffers.content_row[at] = counts[OBJECTS]
    buffers.content_end[at] = counts[BYTES]
    counts[CONTENTS] = at + 1


@kernel
def primitive_array(
    data: Bytes,
    p: int,
    id_size: int,
    buffers: HeapBuffers,
    state: Longs,
    counts: Longs,
) -> Number:
    """Store an array of numbers; return where its data end, `CUT` or `ODD`."""
    end = len(data)
    size: Number
    first: Number
    body = p + 1 + id_size + 9
    if body > end:
        return CUT
    length = np.int64(number(data, p + 1 + id_size + 4, 4))
    kind = np.int64(data[body - 1]) - FIRST_PRIMITIVE
    if kind < 0 or kind >= len(WIDTHS):
        return ODD
    size = length * WIDTHS[kind]
    if data[p] == PRIMITIVE_ARRAY_WITHOUT_DATA or state[NO_ELEMENTS]:
        size = 0
    if kind in (CHARS_ROW, _BYTES):
        first = min(size, DIGESTED_BYTES)
        if body + first > end:
            return CUT
        _store_content(data, body, first, kind == CHARS_ROW, buffers, counts)
    object_id = number(data, p + 1, id_size)
    _store_object(object_id, kind, length, 0, 0, buffers, state, counts)
    return _body_end(body, size, end, state)


@kernel
def instance(
    data: Bytes,
    p: int,
    id_size: int,
    is_last: bool,
    classes: ClassColumns,
    buffers: HeapBuffers,
    state: Longs,
    ids: Ids,
    counts: Longs,
) -> Number:
    """Store an instance; return where it ends, `CUT`, or ``p`` to wait for a class."""
    end = len(data)
    body = p + 1 + 2 * id_size + 8
    if body > end:
        return CUT
    size = np.int64(number(data, body - 4, 4))
    class_id = number(data, p + 1 + id_size + 4, id_size)
    row, _ = class_row(classes.key, classes.key_row, classes.seed[0], class_id)
    is_known = row >= 0 and classes.is_known[row]
    if row < 0 or (not is_known and counts[CLASSES] > 0):
        ids[NEEDED_CLASS] = class_id
        return p
    if not is_known and not is_last and size <= MOST_DEFERRED_BYTES:
        if body + size > end:
            return CUT
        at = counts[DEFERRED]
        buffers.deferred[at, 0], buffers.deferred[at, 1] = p, body + size
        buffers.deferred[at, 2] = state[SPACE]
        counts[DEFERRED] = at + 1
        return body + size
    needed: Number = min(size, classes.field_bytes[row])
    if body + needed > end:
        return CUT
    counts[SHORT] += size < classes.field_bytes[row]
    held, nulls = _fields(data, body, needed, id_size, row, classes, buffers, counts)
    kind: Number = classes.special[row]
    if kind >= WHOLE:
        _store_fields(data, body, needed, buffers, counts)
        kind -= WHOLE
    if kind != NOTHING:
        special = counts[SPECIALS]
        buffers.special_row[special] = counts[OBJECTS]
        places = classes.special_offset[row]
        _special(data, body, needed, id_size, kind, places, buffers, special)
        counts[SPECIALS] = special + 1
    object_id = number(data, p + 1, id_size)
    _store_object(object_id, row, -1, held, nulls, buffers, state, counts)
    return _body_end(body, size, end, state)


@kernel
def object_array(
    data: Bytes,
    p: int,
    id_size: int,
    classes: ClassColumns,
    buffers: HeapBuffers,
    state: Longs,
    ids: Ids,
    counts: Longs,
) -> Number:
    """Open an array of objects, and store the elements that the window has."""
    body = p + 1 + 2 * id_size + 8
    if body > len(data):
        return CUT
    class_id = number(data, body - id_size, id_size)
    row, _ = class_row(classes.key, classes.key_row, classes.seed[0], class_id)
    if row < 0:
        ids[NEEDED_CLASS] = class_id
        return p
    length = np.int64(number(data, p + 1 + id_size + 4, 4))
    ids[ARRAY_ID] = number(data, p + 1, id_size)
    state[ARRAY_ROW], state[ARRAY_LENGTH] = row, length
    state[LEFT], state[INDEX], state[HELD] = length, 0, 0
    return elements(data, body, id_size, buffers, state, counts)
