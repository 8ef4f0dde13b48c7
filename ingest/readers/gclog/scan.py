"""The compiled scanner of gclog text: one pass over bytes, columns out.

It knows records and tokens. What ids mean (sections, types, missing objects) is
settled in `ingest.readers.gclog.assembly` once all lines are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import BLANK, CLASS, END, note, skip_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Bytes, Ids, Ints, Longs, Number

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
"""Kinds of section events: an ``a`` record, a ``c`` record, neither."""

STATIC = 4
LAST_KIND = 5
ALL_FLAGS = 7

_ENDED, _GOOD, _BAD = 0, 1, 2
LINE, SECTION, STATE, NULLS, OFFSET = range(5)
OUTSIDE, INSIDE, IMPLICIT = 0, 1, 2


@kernel
def _hex(data: Bytes, p: int, end: int) -> tuple[Number, int, int]:
    """The next token as a number: (value, how it went, where it ended)."""
    while p < end and CLASS[data[p]] == BLANK:
        p += 1
    if p >= end or CLASS[data[p]] == END:
        return np.uint64(0), _ENDED, p
    while p < end and data[p] == 0x30:
        p += 1
    value = np.uint64(0)
    first = p
    while p < end:
        digit = CLASS[data[p]]
        if digit >= BLANK:
            break
        value = (value << np.uint64(4)) | np.uint64(digit)
        p += 1
    good = _GOOD if p - first <= 16 else _BAD
    while p < end and CLASS[data[p]] not in (BLANK, END):
        good = _BAD
        p += 1
    return value, good, p


class Room(NamedTuple):
    """Where a scan writes its columns; the shortest records bound their rows.

    Attributes:
        object_id, object_type_id: uint64 (rows,).
        object_size_bytes: int64 (rows,).
        object_section, object_ref_count: int32 (rows,).
        object_line: uint32 (rows,). 1-based from the piece's first line.
        reference_id: uint64 (rows,).
        type: int64 (rows, 5): id (bits), section, name's start and end, line.
        root: int64 (rows, 6): see `ingest.readers.gclog.pieces.Piece`.
        root_line: int64 (rows,).
        event: int64 (rows, 5): kind, rest's start and end, line, section.
    """

    object_id: Ids
    object_type_id: Ids
    object_size_bytes: Longs
    object_section: Ints
    object_ref_count: Ints
    object_line: NDArray[np.uint32]
    reference_id: Ids
    type: Longs
    root: Longs
    root_line: Longs
    event: Longs


def room_for(size_bytes: int) -> Room:
    """Room for any text of ``size_bytes``; pages that are not used cost nothing."""
    # "o 1 1 1", "r 1 1 1", "t 1" and "a", each with a line end but the last.
    objects = roots = size_bytes // 8 + 1
    types = size_bytes // 4 + 1
    return Room(
        object_id=np.empty(objects, np.uint64),
        object_type_id=np.empty(objects, np.uint64),
        object_size_bytes=np.empty(objects, np.int64),
        object_section=np.empty(objects, np.int32),
        object_ref_count=np.empty(objects, np.int32),
        object_line=np.empty(objects, np.uint32),
        reference_id=np.empty(size_bytes // 2 + 1, np.uint64),
        type=np.empty((types, 5), np.int64),
        root=np.empty((roots, 6), np.int64),
        root_line=np.empty(roots, np.int64),
        event=np.empty((size_bytes // 2 + 2 + types, 5), np.int64),
    )


@kernel
def scan(
    data: Bytes, state: Longs, room: Room, book: Longs
) -> tuple[int, int, int, int, int]:
    """Scan whole lines; returns the rows used of each column.

    Args:
        data: uint8 (B,), ends at a line end or at the end of the file.
        state: int64 (5,): line, section, state, null references, offset.
        room: Where to.
        book: int64 (kinds, 3): count, first line, first byte offset.
    """
    object_id, object_type_id = room.object_id, room.object_type_id
    object_size_bytes, object_section = room.object_size_bytes, room.object_section
    object_ref_count, object_line = room.object_ref_count, room.object_line
    reference_id, types, events = room.reference_id, room.type, room.event
    roots, root_lines = room.root, room.root_line
    n = e = t = r = v = 0
    end = len(data)
    p = 0
    line = state[LINE]
    base = state[OFFSET]
    while p < end:
        line += 1
        start = p
        while p < end and CLASS[data[p]] == BLANK:
            p += 1
        if p < end and CLASS[data[p]] != END:
            letter = data[p] | 0x20
            p += 1
            alone = p >= end or CLASS[data[p]] == END or CLASS[data[p]] == BLANK
            record = alone and (
                letter == 0x61
                or letter == 0x63
                or letter == 0x6F
                or letter == 0x72
                or letter == 0x74
            )
            if not record:
                note(book, UNKNOWN_RECORD, line, base + start)
            elif letter == 0x61:  # a: a domain opens
                if state[STATE] == INSIDE:
                    note(book, UNCLOSED_DOMAIN, line, base + start)
                state[SECTION] += 1
                state[STATE] = INSIDE
                events[v, 0] = OPENED
                events[v, 1] = p
                while p < end and CLASS[data[p]] != END:
                    p += 1
                events[v, 2] = p
                events[v, 3] = line
                events[v, 4] = state[SECTION]
                v += 1
            elif letter == 0x63:  # c: it closes
                if state[STATE] != INSIDE:
                    note(book, STRAY_CLOSE, line, base + start)
                else:
                    events[v, 0] = CLOSED
                    events[v, 1] = p
                    while p < end and CLASS[data[p]] != END:
                        p += 1
                    events[v, 2] = p
                    events[v, 3] = line
                    events[v, 4] = state[SECTION]
                    v += 1
                state[STATE] = OUTSIDE
            else:
                if state[STATE] == OUTSIDE:
                    state[SECTION] += 1
                    state[STATE] = IMPLICIT
                    events[v, 0] = IMPLIED
                    events[v, 1] = p
                    events[v, 2] = p
                    events[v, 3] = line
                    events[v, 4] = state[SECTION]
                    v += 1
                if state[STATE] == IMPLICIT:
                    note(book, OUTSIDE_DOMAIN, line, base + start)
                first, good, p = _hex(data, p, end)
                if good != _GOOD:
                    note(book, MALFORMED_RECORD, line, base + start)
                elif letter == 0x74:  # t: a type; its name is the rest of the line
                    while p < end and CLASS[data[p]] == BLANK:
                        p += 1
                    types[t, 0] = np.int64(first)
                    types[t, 1] = state[SECTION]
                    types[t, 2] = p
                    while p < end and CLASS[data[p]] != END:
                        p += 1
                    types[t, 3] = p
                    types[t, 4] = line
                    t += 1
                elif letter == 0x6F:  # o: an object
                    kind, good, p = _hex(data, p, end)
                    size = np.uint64(0)
                    if good == _GOOD:
                        size, good, p = _hex(data, p, end)
                    if good != _GOOD:
                        note(book, MALFORMED_RECORD, line, base + start)
                    else:
                        if first == 0:
                            note(book, ZERO_OBJECT_ID, line, base + start)
                        if size > np.uint64(MAX_SIZE_BYTES):
                            note(book, SIZE_OUT_OF_RANGE, line, base + start)
                            size = np.uint64(0)
                        object_id[n] = first
                        object_type_id[n] = kind
                        object_size_bytes[n] = np.int64(size)
                        object_section[n] = state[SECTION]
                        object_line[n] = line
                        before = e
                        while True:
                            target, good, p = _hex(data, p, end)
                            if good == _ENDED:
                                break
                            if good == _BAD:
                                note(book, MALFORMED_REFERENCE, line, base + p)
                            elif target == 0:
                                state[NULLS] += 1
                            else:
                                reference_id[e] = target
                                e += 1
                        object_ref_count[n] = e - before
                        n += 1
                else:  # r: a root
                    kind, good, p = _hex(data, p, end)
                    flags = np.uint64(0)
                    if good == _GOOD:
                        flags, good, p = _hex(data, p, end)
                    container = np.uint64(0)
                    contained = _ENDED
                    if good == _GOOD:
                        container, contained, p = _hex(data, p, end)
                    if good != _GOOD or contained == _BAD:
                        note(book, MALFORMED_RECORD, line, base + start)
                    elif first == 0:
                        note(book, NULL_ROOT, line, base + start)
                    else:
                        if kind > np.uint64(LAST_KIND):
                            note(book, UNKNOWN_ROOT_KIND, line, base + start)
                            kind = np.uint64(LAST_KIND + 1)
                        if flags > np.uint64(ALL_FLAGS):
                            note(book, UNKNOWN_ROOT_FLAGS, line, base + start)
                        if kind == np.uint64(STATIC) and contained == _ENDED:
                            note(book, STATIC_WITHOUT_CONTAINER, line, base + start)
                        if kind != np.uint64(STATIC) and contained == _GOOD:
                            note(book, CONTAINER_WITHOUT_STATIC, line, base + start)
                        roots[r, 0] = np.int64(first)
                        roots[r, 1] = np.int64(kind)
                        roots[r, 2] = np.int64(flags & np.uint64(ALL_FLAGS))
                        roots[r, 3] = contained == _GOOD
                        roots[r, 4] = np.int64(container)
                        roots[r, 5] = state[SECTION]
                        root_lines[r] = line
                        r += 1
                        if contained == _GOOD:
                            _, more, p = _hex(data, p, end)
                            if more != _ENDED:
                                note(book, EXTRA_ELEMENTS, line, base + start)
        p = skip_line(data, p, end)
    state[LINE] = line
    state[OFFSET] += end
    return n, e, t, r, v
