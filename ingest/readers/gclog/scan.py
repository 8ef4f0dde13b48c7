"""The compiled scanner of gclog text: one pass over bytes, columns out.

It parses records and tokens. Ids are resolved once all lines are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import BLANK, CLASS, END, note, skip_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

KINDS = (
    "unknown_record",
    "malformed_record",
    "size_out_of_range",
    "malformed_reference",
    "outside_domain",
    "unclosed_domain",
    "stray_close",
    "null_root",
    "unknown_root_kind",
    "unknown_root_flags",
    "static_without_container",
    "container_without_static",
    "extra_elements",
    "zero_object_id",
)
(
    UNKNOWN_RECORD,
    MALFORMED_RECORD,
    SIZE_OUT_OF_RANGE,
    MALFORMED_REFERENCE,
    OUTSIDE_DOMAIN,
    UNCLOSED_DOMAIN,
    STRAY_CLOSE,
    NULL_ROOT,
    UNKNOWN_ROOT_KIND,
    UNKNOWN_ROOT_FLAGS,
    STATIC_WITHOUT_CONTAINER,
    CONTAINER_WITHOUT_STATIC,
    EXTRA_ELEMENTS,
    ZERO_OBJECT_ID,
) = range(len(KINDS))

OPENED, CLOSED, IMPLIED = 0, 1, 2
"""Kinds of section events: an ``a`` or ``c`` record, a record outside domains."""

STATIC = 4
LAST_KIND = 5
ALL_FLAGS = 7

_ENDED, _GOOD, _BAD = 0, 1, 2
"""Outcomes of reading a token: the line has no more, a number, no number."""

LINE, SECTION, STATE, OFFSET = range(4)
"""Rows of the scanner's state."""

OUTSIDE, INSIDE, IMPLICIT = 0, 1, 2
"""States: outside any domain, in one, in records that no domain encloses."""

OBJECTS, REFERENCES, TYPES, ROOTS, EVENTS = range(5)
"""Rows of the counts of used rows."""

_ONE = np.uint64(1)
_A, _C, _O, _R, _T = 0x61, 0x63, 0x6F, 0x72, 0x74


class GclogBuffers(NamedTuple):
    """Where a scan writes its columns; the shortest records bound their rows.

    Attributes:
        object_id: uint64 (rows,).
        object_type_id: uint64 (rows,).
        object_size_bytes: int64 (rows,).
        object_section: int32 (rows,).
        object_ref_count: int32 (rows,).
        object_null_count: int32 (rows,).
        object_line: uint32 (rows,). 1-based from the piece's first line.
        reference_id: uint64 (rows,).
        type: int64 (rows, 5): id (bits), section, name's start and end, line.
        root: int64 (rows, 6): see `ingest.readers.gclog.pieces.GclogPiece`.
        root_line: int64 (rows,).
        event: int64 (rows, 5): kind, rest's start and end, line, section.
    """

    object_id: Ids
    object_type_id: Ids
    object_size_bytes: Longs
    object_section: Ints
    object_ref_count: Ints
    object_null_count: Ints
    object_line: NDArray[np.uint32]
    reference_id: Ids
    type: Longs
    root: Longs
    root_line: Longs
    event: Longs


def buffers_for(size_bytes: int) -> GclogBuffers:
    """Buffers for any text of ``size_bytes``; pages that are not used cost nothing."""
    # "o 1 1 1", "r 1 1 1", "t 1" and "a", each with a line end but the last.
    objects = roots = size_bytes // 8 + 1
    types = size_bytes // 4 + 1
    return GclogBuffers(
        object_id=np.empty(objects, np.uint64),
        object_type_id=np.empty(objects, np.uint64),
        object_size_bytes=np.empty(objects, np.int64),
        object_section=np.empty(objects, np.int32),
        object_ref_count=np.empty(objects, np.int32),
        object_null_count=np.empty(objects, np.int32),
        object_line=np.empty(objects, np.uint32),
        reference_id=np.empty(size_bytes // 2 + 1, np.uint64),
        type=np.empty((types, 5), np.int64),
        root=np.empty((roots, 6), np.int64),
        root_line=np.empty(roots, np.int64),
        event=np.empty((size_bytes // 2 + 2 + types, 5), np.int64),
    )


@kernel
def _hex(data: Bytes, position: int, end: int) -> tuple[Number, int, Number]:
    """The next token as a number: (value, outcome, where it ends)."""
    # For an unsigned place the compiler need not check whether it is negative.
    at, last = np.uint64(position), np.uint64(end)
    while at < last and CLASS[data[at]] == BLANK:
        at += _ONE
    if at >= last or CLASS[data[at]] == END:
        return np.uint64(0), _ENDED, np.int64(at)
    while at < last and data[at] == 0x30:
        at += _ONE
    value = np.uint64(0)
    first = at
    digit = np.uint8(END)
    while at < last:
        digit = CLASS[data[at]]
        if digit >= BLANK:
            break
        value = (value << np.uint64(4)) | np.uint64(digit)
        at += _ONE
    outcome = _GOOD if at - first <= np.uint64(16) else _BAD
    while at < last and CLASS[data[at]] not in (BLANK, END):
        outcome = _BAD
        at += _ONE
    return value, outcome, np.int64(at)


@kernel
def _line_end(data: Bytes, position: int, end: int) -> int:
    """Where the line ends."""
    while position < end and CLASS[data[position]] != END:
        position += 1
    return position


@kernel
def _event(
    kind: int, begin: int, end: int, line: int, section: Number, event: Longs, row: int
) -> None:
    """Write a row of ``event``, int64 (rows, 5): kind, begin, end, line, section."""
    event[row, 0] = kind
    event[row, 1] = begin
    event[row, 2] = end
    event[row, 3] = line
    event[row, 4] = section


@kernel
def _object_head(data: Bytes, position: int, end: int) -> tuple[Number, Number, int]:
    """Type and size of an ``o`` record, and where they end; -1 if one is missing."""
    type_id, outcome, position = _hex(data, position, end)
    if outcome != _GOOD:
        return type_id, type_id, -1
    size, outcome, position = _hex(data, position, end)
    return type_id, size, position if outcome == _GOOD else -1


@kernel
def _references(
    data: Bytes,
    position: int,
    end: int,
    line: int,
    state: Longs,
    reference_id: Ids,
    stored: int,
    book: Longs,
) -> tuple[int, int, int]:
    """Parse the references of an ``o`` record: (how many are stored, nulls, end)."""
    nulls = 0
    while True:
        target, outcome, position = _hex(data, position, end)
        if outcome == _ENDED:
            return stored, nulls, position
        if outcome == _BAD:
            note(book, MALFORMED_REFERENCE, line, state[OFFSET] + position)
        elif target == 0:
            nulls += 1
        else:
            reference_id[stored] = target
            stored += 1


@kernel
def _checked_size(
    number: Number, size: Number, line: int, start: int, book: Longs
) -> Number:
    """The size of an object, or 0 if it is impossible; count bad ids and sizes."""
    if number == 0:
        note(book, ZERO_OBJECT_ID, line, start)
    if size > np.uint64(MAX_SIZE_BYTES):
        note(book, SIZE_OUT_OF_RANGE, line, start)
        return np.int64(0)
    return np.int64(size)


@kernel
def _root(
    data: Bytes,
    position: int,
    end: int,
    number: Number,
    line: int,
    start: int,
    section: Number,
    root: Longs,
    root_line: Longs,
    book: Longs,
    used: Longs,
) -> int:
    """Parse an ``r`` record after its first number; return where it ends."""
    kind, outcome, position = _hex(data, position, end)
    flags = np.uint64(0)
    if outcome == _GOOD:
        flags, outcome, position = _hex(data, position, end)
    container = np.uint64(0)
    contained = _ENDED
    if outcome == _GOOD:
        container, contained, position = _hex(data, position, end)
    if outcome != _GOOD or contained == _BAD:
        note(book, MALFORMED_RECORD, line, start)
        return position
    if number == 0:
        note(book, NULL_ROOT, line, start)
        return position
    if kind > np.uint64(LAST_KIND):
        note(book, UNKNOWN_ROOT_KIND, line, start)
        kind = np.uint64(LAST_KIND + 1)
    if flags > np.uint64(ALL_FLAGS):
        note(book, UNKNOWN_ROOT_FLAGS, line, start)
    if kind == np.uint64(STATIC) and contained == _ENDED:
        note(book, STATIC_WITHOUT_CONTAINER, line, start)
    if kind != np.uint64(STATIC) and contained == _GOOD:
        note(book, CONTAINER_WITHOUT_STATIC, line, start)
    row = used[ROOTS]
    root[row, 0] = np.int64(number)
    root[row, 1] = np.int64(kind)
    root[row, 2] = np.int64(flags & np.uint64(ALL_FLAGS))
    root[row, 3] = contained == _GOOD
    root[row, 4] = np.int64(container)
    root[row, 5] = section
    root_line[row] = line
    used[ROOTS] = row + 1
    if contained == _GOOD:
        _, more, position = _hex(data, position, end)
        if more != _ENDED:
            note(book, EXTRA_ELEMENTS, line, start)
    return position


@kernel
def _type(
    data: Bytes,
    position: int,
    end: int,
    number: Number,
    line: int,
    section: Number,
    types: Longs,
    used: Longs,
) -> int:
    """Parse a ``t`` record after its number; the name is the rest of the line."""
    while position < end and CLASS[data[position]] == BLANK:
        position += 1
    row = used[TYPES]
    types[row, 0] = np.int64(number)
    types[row, 1] = section
    types[row, 2] = position
    position = _line_end(data, position, end)
    types[row, 3] = position
    types[row, 4] = line
    used[TYPES] = row + 1
    return position


@kernel
def _domain(
    opens: bool,
    data: Bytes,
    position: int,
    end: int,
    line: int,
    start: int,
    state: Longs,
    event: Longs,
    book: Longs,
    used: Longs,
) -> int:
    """Parse an ``a`` or a ``c`` record after its letter."""
    if opens:
        if state[STATE] == INSIDE:
            note(book, UNCLOSED_DOMAIN, line, start)
        state[SECTION] += 1
    elif state[STATE] != INSIDE:
        note(book, STRAY_CLOSE, line, start)
        state[STATE] = OUTSIDE
        return position
    state[STATE] = INSIDE if opens else OUTSIDE
    after = _line_end(data, position, end)
    kind = OPENED if opens else CLOSED
    _event(kind, position, after, line, state[SECTION], event, used[EVENTS])
    used[EVENTS] += 1
    return after


@kernel
def _imply_domain(
    position: int, line: int, state: Longs, event: Longs, used: Longs
) -> None:
    """Begin a section for records that no domain encloses."""
    state[SECTION] += 1
    state[STATE] = IMPLICIT
    row = used[EVENTS]
    _event(IMPLIED, position, position, line, state[SECTION], event, row)
    used[EVENTS] = row + 1


@kernel
def scan(
    data: Bytes, state: Longs, buffers: GclogBuffers, book: Longs, used: Longs
) -> None:
    """Scan complete lines.

    Args:
        data: uint8 (B,), ends at a line end or at the end of the file.
        state: int64 (4,): line, section, state, offset.
        buffers: Filled.
        book: int64 (kinds, 3): count, first line, first byte offset.
        used: int64 (5,), 0. Filled with the rows used: objects, references, types,
            roots, events.
    """
    end = len(data)
    position = 0
    line = state[LINE]
    objects = references = 0
    while position < end:
        line += 1
        start = state[OFFSET] + position
        while position < end and CLASS[data[position]] == BLANK:
            position += 1
        if position >= end or CLASS[data[position]] == END:
            position = skip_line(data, position, end)
            continue
        letter = data[position] | 0x20
        position += 1
        if position < end and CLASS[data[position]] not in (BLANK, END):
            letter = 0
        if letter in (_A, _C):
            position = _domain(
                letter == _A, data, position, end, line, start, state,
                buffers.event, book, used,
            )  # fmt: skip
        elif letter in (_O, _R, _T):
            if state[STATE] == OUTSIDE:
                _imply_domain(position, line, state, buffers.event, used)
            if state[STATE] == IMPLICIT:
                note(book, OUTSIDE_DOMAIN, line, start)
            number, outcome, position = _hex(data, position, end)
            if outcome != _GOOD:
                note(book, MALFORMED_RECORD, line, start)
            elif letter == _O:
                type_id, size, after = _object_head(data, position, end)
                if after < 0:
                    note(book, MALFORMED_RECORD, line, start)
                else:
                    buffers.object_id[objects] = number
                    buffers.object_type_id[objects] = type_id
                    buffers.object_size_bytes[objects] = _checked_size(
                        number, size, line, start, book
                    )
                    buffers.object_section[objects] = state[SECTION]
                    buffers.object_line[objects] = line
                    first = references
                    references, nulls, position = _references(
                        data, after, end, line, state, buffers.reference_id,
                        references, book,
                    )  # fmt: skip
                    buffers.object_ref_count[objects] = references - first
                    buffers.object_null_count[objects] = nulls
                    objects += 1
            elif letter == _T:
                position = _type(
                    data, position, end, number, line, state[SECTION], buffers.type,
                    used,
                )  # fmt: skip
            else:
                position = _root(
                    data, position, end, number, line, start, state[SECTION],
                    buffers.root, buffers.root_line, book, used,
                )  # fmt: skip
        else:
            note(book, UNKNOWN_RECORD, line, start)
        position = skip_line(data, position, end)
    state[LINE] = line
    state[OFFSET] += end
    used[OBJECTS] = objects
    used[REFERENCES] = references
