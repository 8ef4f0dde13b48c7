"""The compiled scanner of a packet of a heap graph: bytes to columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD
from ingest.readers.perfetto import BYTES, VARINT
from ingest.readers.perfetto.packets import field_at
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.leb128 import uleb

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

PID, OBJECTS_IN, FIELD_NAMES, CONTINUED, INDEX = 1, 2, 4, 5, 6
ROOTS_IN, LOCATIONS, TYPES_IN = 7, 8, 9
"""Fields of a heap graph."""

FROM_RUNTIME = (1 << 31) - 1
"""Instead of the id of a field: the runtime refers to it for the object."""

OUT_PID, OUT_CONTINUED, OUT_INDEX, OUT_OBJECTS, OUT_END = range(5)
"""What `outline` tells: the first ones as recorded, how many objects the packet has,
and up to where it can be read."""

(
    OBJECTS,
    REFS,
    EXTRAS,
    ROOTS,
    TYPES,
    TYPE_FIELDS,
    NAMES,
    BAD,
    BAD_BYTES,
    BAD_FIELDS,
    LARGE,
    WANTED,
    WANTED_BY,
) = range(13)
"""What `scan` counts: rows of its buffers; what cannot be read, and its bytes; objects
whose names of fields do not fit; sizes beyond any memory; the rows that the next field
needs, and which one it is."""
COUNTS = 13

LAST_ID, SPACE = range(2)
"""What `scan` keeps from packet to packet of a dump."""

NATIVE, BITMAP = range(2)
"""Kinds of extras."""

T_ID, T_LOCATION, T_SIZE, T_SUPER, T_KIND, T_LOADER, T_FIELDS, T_BEGIN, T_END = range(9)
"""Columns of types."""
TYPE_COLUMNS = range(T_BEGIN)
"""Those that are kept."""

_ID, _TYPE, _SIZE, _NAMES, _REFERENCES, _BASE, _DELTA, _NATIVE, _SPACE, _INTERNAL = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
)  # fmt: skip
_WIDTH, _HEIGHT = 13, 14
"""Fields of an object."""
_MOST_SPACE = 3
_MOST = np.uint64((1 << 63) - 1)


class GraphBuffers(NamedTuple):
    """Where a scan writes its columns.

    Attributes:
        id: uint64.
        type_id: uint64.
        size_bytes: int64; 0 if it is that of the type.
        ref_count: int32. References that are not null.
        null_count: int32.
        space: int8. 0 for the program's own, 1 for the zygote's, 2 for the boot
            image's; -1 if that is not recorded.
        ref_id: uint64.
        ref_slot: int32. Id of the field, `FROM_RUNTIME`, or -1 - i for the reference
            with position i, null ones included.
        extra_id: uint64. Objects with a value.
        extra_kind: uint8.
        extra_value: int64. Bytes, or width x 2^32 + height.
        root_id: uint64.
        root_kind: uint8.
        types: int64 (T, 9).
        type_field: int64. Ids of the fields of types.
        names: int64 (M, 4). Field of the heap graph, id, begin, end.
        values: uint64 (15,). Numbers of the object that is read, by their field.
    """

    id: Ids
    type_id: Ids
    size_bytes: Longs
    ref_count: Ints
    null_count: Ints
    space: NDArray[np.int8]
    ref_id: Ids
    ref_slot: Ints
    extra_id: Ids
    extra_kind: Bytes
    extra_value: Longs
    root_id: Ids
    root_kind: Bytes
    types: Longs
    type_field: Longs
    names: Longs
    values: Ids


ROWS = 1 << 11
_WIDE = 1 << 13


def buffers_for(by: int = 0, wide: int = 0) -> GraphBuffers:
    """Buffers; for a field of a heap graph with so many numbers, if one is named."""

    def rows(field: int) -> int:
        return wide if field == by else _WIDE

    refs, roots, of_types = map(rows, (OBJECTS_IN, ROOTS_IN, TYPES_IN))
    return GraphBuffers(
        np.empty(ROWS, np.uint64),
        np.empty(ROWS, np.uint64),
        np.empty(ROWS, np.int64),
        np.empty(ROWS, np.int32),
        np.empty(ROWS, np.int32),
        np.empty(ROWS, np.int8),
        np.empty(refs, np.uint64),
        np.empty(refs, np.int32),
        np.empty(2 * ROWS, np.uint64),
        np.empty(2 * ROWS, np.uint8),
        np.empty(2 * ROWS, np.int64),
        np.empty(roots, np.uint64),
        np.empty(roots, np.uint8),
        np.empty((ROWS, 9), np.int64),
        np.empty(of_types, np.int64),
        np.empty((ROWS, 4), np.int64),
        np.empty(_HEIGHT + 1, np.uint64),
    )


@kernel
def outline(data: Bytes, p: int, end: int, found: Longs) -> None:
    """Tell what a packet of a heap graph is of; see `OUT_PID`."""
    found[:] = 0
    while p < end:
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            found[OUT_END] = p
            return
        if wire == VARINT:
            value, _ = uleb(data, begin, end)
            if field == PID:
                found[OUT_PID] = np.int64(value & _MOST)
            elif field == CONTINUED:
                found[OUT_CONTINUED] = 1 if value > np.uint64(0) else 0
            elif field == INDEX:
                found[OUT_INDEX] = np.int64(value & _MOST)
        elif wire == BYTES and field == OBJECTS_IN:
            found[OUT_OBJECTS] += 1
        p = q
    found[OUT_END] = end


@kernel
def _put_references(
    data: Bytes, p: int, end: int, to: GraphBuffers, at: int, position: int
) -> tuple[int, int, int]:
    """Store some references of an object at row ``at``.

    Args:
        data: The packet.
        p: Where their numbers begin.
        end: Where they end.
        to: Gets them.
        at: Row for the next one.
        position: Position of the next one in the object.

    Returns:
        The next row, the next position, and where the numbers ended; negative for a
        fault.
    """
    while p < end:
        value, p = uleb(data, p, end)
        if p < 0:
            return at, position, p
        if value != np.uint64(0):
            to.ref_id[at] = value
            to.ref_slot[at] = -1 - position
            at += 1
        position += 1
    return at, position, p


@kernel
def _name_references(
    data: Bytes, p: int, end: int, slots: Ints, at: int, last: int, position: int
) -> tuple[int, int]:
    """Give references the ids of their fields.

    Args:
        data: The packet.
        p: Where ids begin.
        end: Where they end.
        slots: int32. Positions of references, as `GraphBuffers.ref_slot` has them.
        at: The first reference without an id.
        last: Behind the last one.
        position: Position of the first id.

    Returns:
        The first reference without an id, and the next position.
    """
    while p < end:
        value, p = uleb(data, p, end)
        if p < 0:
            break
        if at < last and slots[at] == -1 - position:
            slots[at] = NO_FIELD
            if value < np.uint64(FROM_RUNTIME):
                slots[at] = np.int32(value)
            at += 1
        position += 1
    return at, position


@kernel
def _numbers(data: Bytes, p: int, end: int) -> int:
    """How many numbers some bytes have."""
    count = 0
    for i in range(p, end):
        if data[i] < np.uint8(128):
            count += 1
    return count


@kernel
def _name_all(
    data: Bytes, p: int, end: int, slots: Ints, first: int, last: int
) -> None:
    """Give the references of an object, whose fields begin at ``p``, their names."""
    position = 0
    while p < end:
        field, _, begin, q = field_at(data, p, end)
        if field == _NAMES:
            first, position = _name_references(
                data, begin, q, slots, first, last, position
            )
        p = q


@kernel
def _object(
    data: Bytes, p: int, end: int, to: GraphBuffers, counts: Longs, state: Ids
) -> Number:
    """Store an object; negative if it cannot be read."""
    first, row, ref = p, counts[OBJECTS], counts[REFS]
    position = names = internal = 0
    values = to.values
    values[:] = 0
    values[_SPACE] = state[SPACE]
    while p < end:
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return q
        if wire in (BYTES, VARINT):
            if field == _NAMES:
                names += _numbers(data, begin, q)
            elif field == _REFERENCES:
                ref, position, p = _put_references(data, begin, q, to, ref, position)
                if p < 0:
                    return p
            elif field == _INTERNAL:
                internal += 1
            elif wire == VARINT and field < len(values):
                values[field], _ = uleb(data, begin, q)
        p = q
    ident = values[_ID]
    if values[_DELTA] > np.uint64(0):
        ident = state[LAST_ID] + values[_DELTA]
    if ident == np.uint64(0):
        return -1
    if values[_BASE] > np.uint64(0):
        for i in range(counts[REFS], ref):
            to.ref_id[i] += values[_BASE]
    if names == position and names > 0:
        _name_all(data, first, end, to.ref_slot, counts[REFS], ref)
    elif names > 0:
        counts[BAD_FIELDS] += 1
        to.ref_slot[counts[REFS] : ref] = NO_FIELD
    to.null_count[row] = position - (ref - counts[REFS])
    if internal > 0:
        ref = _put_internal(data, first, end, to, ref)
    state[LAST_ID], state[SPACE] = ident, values[_SPACE]
    to.id[row], to.type_id[row] = ident, values[_TYPE]
    to.ref_count[row] = ref - counts[REFS]
    is_known = np.uint64(0) < values[_SPACE] <= np.uint64(_MOST_SPACE)
    to.space[row] = np.int64(values[_SPACE]) - 1 if is_known else -1
    _put_values(to, counts, ident)
    counts[OBJECTS] += 1
    counts[REFS] = ref
    return end


@kernel
def _put_values(to: GraphBuffers, counts: Longs, ident: Number) -> None:
    """Store what the next object has besides references."""
    values, size = to.values, to.values[_SIZE]
    if size > np.uint64(MAX_SIZE_BYTES):
        counts[LARGE] += 1
        size = np.uint64(0)
    to.size_bytes[counts[OBJECTS]] = np.int64(size)
    native = values[_NATIVE] & (_MOST - np.uint64(1))
    if native > np.uint64(0):
        _put_extra(to, counts, ident, NATIVE, np.int64(native))
    side = np.uint64(0x7FFFFFFF)
    width, height = values[_WIDTH] & side, values[_HEIGHT] & side
    if width > np.uint64(0) and height > np.uint64(0):
        both = (width << np.uint64(32)) | height
        _put_extra(to, counts, ident, BITMAP, np.int64(both))


@kernel
def _put_extra(
    to: GraphBuffers, counts: Longs, ident: Number, kind: int, value: Number
) -> None:
    row = counts[EXTRAS]
    to.extra_id[row], to.extra_kind[row], to.extra_value[row] = ident, kind, value
    counts[EXTRAS] += 1


@kernel
def _put_internal(data: Bytes, p: int, end: int, to: GraphBuffers, ref: int) -> int:
    """Store references by the runtime for an object; return the next row."""
    while p < end:
        field, _, p, q = field_at(data, p, end)
        if field == _INTERNAL:
            while 0 <= p < q:
                value, p = uleb(data, p, q)
                if p >= 0 and value != np.uint64(0):
                    to.ref_id[ref], to.ref_slot[ref] = value, FROM_RUNTIME
                    ref += 1
        p = q
    return ref


@kernel
def _roots(data: Bytes, p: int, end: int, to: GraphBuffers, counts: Longs) -> Number:
    """Store the roots of one kind; negative if they cannot be read."""
    first, kind = p, np.uint64(0)
    row = counts[ROOTS]
    while p < end:
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return q
        if field == 1 and (wire in (BYTES, VARINT)):
            while begin < q:
                value, begin = uleb(data, begin, q)
                if begin < 0:
                    return begin
                if value != np.uint64(0):
                    to.root_id[row] = value
                    row += 1
        elif field == 2 and wire == VARINT:
            kind, _ = uleb(data, begin, q)
        p = q
    if first < end:
        for i in range(counts[ROOTS], row):
            to.root_kind[i] = min(kind, np.uint64(255))
    counts[ROOTS] = row
    return end


@kernel
def _type(data: Bytes, p: int, end: int, to: GraphBuffers, counts: Longs) -> Number:
    """Store a type; negative if it cannot be read."""
    row = to.types[counts[TYPES]]
    row[:] = 0
    row[T_LOCATION] = -1
    at = counts[TYPE_FIELDS]
    while p < end:
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return q
        if field == 6 and (wire in (BYTES, VARINT)):
            while begin < q:
                value, begin = uleb(data, begin, q)
                if begin < 0:
                    return begin
                to.type_field[at] = np.int64(value)
                at += 1
        elif field == 3 and wire == BYTES:
            row[T_BEGIN], row[T_END] = begin, q
        elif wire == VARINT:
            value, _ = uleb(data, begin, q)
            number = np.int64(value)
            if field == 1:
                row[T_ID] = number
            elif field == 2:
                row[T_LOCATION] = number
            elif field == 4:
                row[T_SIZE] = number
            elif field == 5:
                row[T_SUPER] = number
            elif field == 7:
                row[T_KIND] = number
            elif field == 8:
                row[T_LOADER] = number
        p = q
    row[T_FIELDS] = at - counts[TYPE_FIELDS]
    counts[TYPES] += 1
    counts[TYPE_FIELDS] = at
    return end


@kernel
def _name(
    data: Bytes, p: int, end: int, kind: Number, to: GraphBuffers, counts: Longs
) -> Number:
    """Store where a name is; negative if it cannot be read."""
    row = to.names[counts[NAMES]]
    row[0] = kind
    row[1] = row[2] = row[3] = 0
    while p < end:
        field, wire, begin, q = field_at(data, p, end)
        if q < 0:
            return q
        if field == 1 and wire == VARINT:
            value, _ = uleb(data, begin, q)
            row[1] = np.int64(value)
        elif field == 2 and wire == BYTES:
            row[2], row[3] = begin, q
        p = q
    counts[NAMES] += 1
    return end


@kernel
def scan(
    data: Bytes, p: int, end: int, to: GraphBuffers, counts: Longs, state: Ids
) -> int:
    """Store what a packet of a heap graph has, up to where the buffers are full.

    Args:
        data: Has the packet; `outline` has told that its fields are whole.
        p: Where a field of it begins.
        end: Where it ends.
        to: Gets what is found.
        counts: int64 (13,). How much was found.
        state: uint64 (2,). Kept from packet to packet.

    Returns:
        Where the first field that is not stored begins. If ``counts[WANTED]`` is not 0,
        it has more numbers than the buffers have room for.
    """
    counts[:] = 0
    while p < end:
        field, wire, begin, last = field_at(data, p, end)
        if wire != BYTES:
            p = last
            continue
        room = len(data)
        if field == OBJECTS_IN:
            room = len(to.ref_id) - counts[REFS]
        elif field == ROOTS_IN:
            room = len(to.root_id) - counts[ROOTS]
        elif field == TYPES_IN:
            room = len(to.type_field) - counts[TYPE_FIELDS]
        rows = max(counts[OBJECTS], counts[TYPES], counts[NAMES])
        if last - begin > room or rows == ROWS:
            if rows > 0 or counts[ROOTS] > 0:
                return p
            needed = _numbers(data, begin, last)
            if needed > room:
                counts[WANTED], counts[WANTED_BY] = needed, field
                return p
        done = last
        if field == OBJECTS_IN:
            done = _object(data, begin, last, to, counts, state)
        elif field == ROOTS_IN:
            done = _roots(data, begin, last, to, counts)
        elif field == TYPES_IN:
            done = _type(data, begin, last, to, counts)
        elif field in (FIELD_NAMES, LOCATIONS):
            done = _name(data, begin, last, field, to, counts)
        if done < 0:
            counts[BAD] += 1
            counts[BAD_BYTES] += last - p
        p = last
    return p
