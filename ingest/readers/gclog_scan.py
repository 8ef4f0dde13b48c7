"""The compiled scanner of gclog text: one pass over bytes, columns out.

It knows records and tokens. What ids mean (sections, types, missing objects) is
settled in `ingest.readers.gclog` once all lines are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel

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
MAX_SIZE_BYTES = (1 << 47) - 1
"""More than any process can address; a larger size is a fault of the file."""

_ENDED, _GOOD, _BAD = 0, 1, 2
_LINE, _SECTION, _STATE, _NULLS, _OFFSET = range(5)
_OUTSIDE, _INSIDE, _IMPLICIT = 0, 1, 2

_DIGIT = np.full(256, -1, np.int8)
for _i, _c in enumerate(b"0123456789abcdef"):
    _DIGIT[_c] = _i
for _i, _c in enumerate(b"ABCDEF"):
    _DIGIT[_c] = 10 + _i
_BLANK = np.zeros(256, np.bool_)
_BLANK[[0x20, 0x09]] = True
_END = np.zeros(256, np.bool_)
_END[[0x0A, 0x0D]] = True


@kernel
def _hex(data: Bytes, p: int, end: int) -> tuple[Number, int, int]:
    """The next token as a number: (value, how it went, where it ended)."""
    while p < end and _BLANK[data[p]]:
        p += 1
    if p >= end or _END[data[p]]:
        return np.uint64(0), _ENDED, p
    value = np.uint64(0)
    digits = 0
    good = _GOOD
    while p < end:
        c = data[p]
        digit = _DIGIT[c]
        if digit < 0:
            if _BLANK[c] or _END[c]:
                break
            good = _BAD
        else:
            if digits or digit:
                digits += 1
            value = (value << np.uint64(4)) | np.uint64(digit)
        p += 1
    if digits > 16:
        good = _BAD
    return value, good, p


@kernel
def _note(book: Longs, kind: int, line: int, offset: int) -> None:
    """Count an irregularity; remember the first one's line and byte."""
    if book[kind, 0] == 0:
        book[kind, 1] = line
        book[kind, 2] = offset
    book[kind, 0] += 1


@kernel
def _scan(
    data: Bytes,
    state: Longs,
    object_columns: Ids,
    object_sizes: Longs,
    object_places: Ints,
    object_lines: NDArray[np.uint32],
    references: Ids,
    types: Longs,
    roots: Longs,
    root_lines: Longs,
    events: Longs,
    book: Longs,
) -> tuple[int, int, int, int, int]:
    """Scan whole lines; returns the rows used of each column.

    Args:
        data: uint8 (B,), ends at a line end or at the end of the file.
        state: int64 (5,): line, section, state, null references, offset.
        object_columns: uint64 (rows, 2): id, type id.
        object_sizes: int64 (rows,).
        object_places: int32 (rows, 2): section, references.
        object_lines: uint32 (rows,).
        references: uint64 (rows,).
        types: int64 (rows, 5): id (bits), section, name's start and end, line.
        roots: int64 (rows, 6): see `Piece`.
        root_lines: int64 (rows,).
        events: int64 (rows, 5): kind, rest's start and end, line, section.
        book: int64 (kinds, 3): count, first line, first byte offset.
    """
    n = e = t = r = v = 0
    end = len(data)
    p = 0
    line = state[_LINE]
    base = state[_OFFSET]
    while p < end:
        line += 1
        start = p
        while p < end and _BLANK[data[p]]:
            p += 1
        if p < end and not _END[data[p]]:
            letter = data[p] | 0x20
            p += 1
            alone = p >= end or _END[data[p]] or _BLANK[data[p]]
            record = alone and (
                letter == 0x61
                or letter == 0x63
                or letter == 0x6F
                or letter == 0x72
                or letter == 0x74
            )
            if not record:
                _note(book, UNKNOWN_RECORD, line, base + start)
            elif letter == 0x61:  # a: a domain opens
                if state[_STATE] == _INSIDE:
                    _note(book, UNCLOSED_DOMAIN, line, base + start)
                state[_SECTION] += 1
                state[_STATE] = _INSIDE
                events[v, 0] = OPENED
                events[v, 1] = p
                while p < end and not _END[data[p]]:
                    p += 1
                events[v, 2] = p
                events[v, 3] = line
                events[v, 4] = state[_SECTION]
                v += 1
            elif letter == 0x63:  # c: it closes
                if state[_STATE] != _INSIDE:
                    _note(book, STRAY_CLOSE, line, base + start)
                else:
                    events[v, 0] = CLOSED
                    events[v, 1] = p
                    while p < end and not _END[data[p]]:
                        p += 1
                    events[v, 2] = p
                    events[v, 3] = line
                    events[v, 4] = state[_SECTION]
                    v += 1
                state[_STATE] = _OUTSIDE
            else:
                if state[_STATE] == _OUTSIDE:
                    state[_SECTION] += 1
                    state[_STATE] = _IMPLICIT
                    events[v, 0] = IMPLIED
                    events[v, 1] = p
                    events[v, 2] = p
                    events[v, 3] = line
                    events[v, 4] = state[_SECTION]
                    v += 1
                if state[_STATE] == _IMPLICIT:
                    _note(book, OUTSIDE_DOMAIN, line, base + start)
                first, good, p = _hex(data, p, end)
                if good != _GOOD:
                    _note(book, MALFORMED_RECORD, line, base + start)
                elif letter == 0x74:  # t: a type; its name is the rest of the line
                    while p < end and _BLANK[data[p]]:
                        p += 1
                    types[t, 0] = np.int64(first)
                    types[t, 1] = state[_SECTION]
                    types[t, 2] = p
                    while p < end and not _END[data[p]]:
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
                        _note(book, MALFORMED_RECORD, line, base + start)
                    else:
                        if first == 0:
                            _note(book, ZERO_OBJECT_ID, line, base + start)
                        if size > np.uint64(MAX_SIZE_BYTES):
                            _note(book, SIZE_OUT_OF_RANGE, line, base + start)
                            size = np.uint64(0)
                        object_columns[n, 0] = first
                        object_columns[n, 1] = kind
                        object_sizes[n] = np.int64(size)
                        object_places[n, 0] = state[_SECTION]
                        object_lines[n] = line
                        before = e
                        while True:
                            target, good, p = _hex(data, p, end)
                            if good == _ENDED:
                                break
                            if good == _BAD:
                                _note(book, MALFORMED_REFERENCE, line, base + p)
                            elif target == 0:
                                state[_NULLS] += 1
                            else:
                                references[e] = target
                                e += 1
                        object_places[n, 1] = e - before
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
                        _note(book, MALFORMED_RECORD, line, base + start)
                    elif first == 0:
                        _note(book, NULL_ROOT, line, base + start)
                    else:
                        if kind > np.uint64(LAST_KIND):
                            _note(book, UNKNOWN_ROOT_KIND, line, base + start)
                            kind = np.uint64(LAST_KIND + 1)
                        if flags > np.uint64(ALL_FLAGS):
                            _note(book, UNKNOWN_ROOT_FLAGS, line, base + start)
                        if kind == np.uint64(STATIC) and contained == _ENDED:
                            _note(book, STATIC_WITHOUT_CONTAINER, line, base + start)
                        if kind != np.uint64(STATIC) and contained == _GOOD:
                            _note(book, CONTAINER_WITHOUT_STATIC, line, base + start)
                        roots[r, 0] = np.int64(first)
                        roots[r, 1] = np.int64(kind)
                        roots[r, 2] = np.int64(flags & np.uint64(ALL_FLAGS))
                        roots[r, 3] = contained == _GOOD
                        roots[r, 4] = np.int64(container)
                        roots[r, 5] = state[_SECTION]
                        root_lines[r] = line
                        r += 1
                        if contained == _GOOD:
                            _, more, p = _hex(data, p, end)
                            if more != _ENDED:
                                _note(book, EXTRA_ELEMENTS, line, base + start)
        while p < end and not _END[data[p]]:
            p += 1
        if p < end:
            p += 1
            if data[p - 1] == 0x0D and p < end and data[p] == 0x0A:
                p += 1
    state[_LINE] = line
    state[_OFFSET] += end
    return n, e, t, r, v


@dataclass(slots=True)
class Piece:
    """The columns of one piece of the file; ids are the dump's own.

    Attributes:
        object_id: uint64 (N,).
        object_type_id: uint64 (N,).
        object_size_bytes: int64 (N,).
        object_section: int32 (N,).
        object_ref_count: int32 (N,).
        object_line: uint32 (N,). 1-based, modulo 2^32.
        reference_id: uint64 (E,), nulls left out.
        root: int64 (R, 6): object id, kind, flags, has a container, container's
            type id, section. Ids are the bits of a uint64.
        root_line: int64 (R,).
    """

    object_id: NDArray[np.uint64]
    object_type_id: NDArray[np.uint64]
    object_size_bytes: NDArray[np.int64]
    object_section: NDArray[np.int32]
    object_ref_count: NDArray[np.int32]
    object_line: NDArray[np.uint32]
    reference_id: NDArray[np.uint64]
    root: NDArray[np.int64]
    root_line: NDArray[np.int64]


class Scanner:
    """Scans a gclog piece by piece and keeps what outlives a piece.

    Attributes:
        types: (id, section, name as bytes, line) of each ``t`` record.
        events: (kind, section, rest of the line as bytes, line) of each ``a`` and
            ``c`` record, and of each record that stands outside any domain first.
        book: int64 (kinds, 3): count, first line and first byte offset of each of
            `KINDS`; the offset counts decompressed bytes, without a byte order mark.
    """

    def __init__(self) -> None:
        self._state = np.zeros(5, np.int64)
        self._state[_SECTION] = -1
        self.book = np.zeros((len(KINDS), 3), np.int64)
        self.types: list[tuple[int, int, bytes, int]] = []
        self.events: list[tuple[int, int, bytes, int]] = []

    @property
    def line(self) -> int:
        """Lines scanned so far."""
        return int(self._state[_LINE])

    @property
    def offset(self) -> int:
        """Bytes scanned so far."""
        return int(self._state[_OFFSET])

    @property
    def null_reference_count(self) -> int:
        """References to id 0 so far."""
        return int(self._state[_NULLS])

    @property
    def is_open(self) -> bool:
        """Whether a domain is open, so that the file ended without closing it."""
        return bool(self._state[_STATE] == _INSIDE)

    def scan(self, data: bytes) -> Piece:
        """Scan ``data``, which ends at a line end or at the end of the file."""
        size = len(data)
        # The shortest records bound the rows: "o 1 1 1", "r 1 1 1", "t 1", "a",
        # each with a line end but the last. Untouched pages cost nothing.
        n, r, t, v = size // 8 + 1, size // 8 + 1, size // 4 + 1, size // 2 + 2
        columns = np.empty((n, 2), np.uint64)
        sizes = np.empty(n, np.int64)
        places = np.empty((n, 2), np.int32)
        object_lines = np.empty(n, np.uint32)
        references = np.empty(size // 2 + 1, np.uint64)
        types = np.empty((t, 5), np.int64)
        roots = np.empty((r, 6), np.int64)
        root_lines = np.empty(r, np.int64)
        events = np.empty((v + t, 5), np.int64)
        n, e, t, r, v = _scan(
            np.frombuffer(data, np.uint8),
            self._state,
            columns,
            sizes,
            places,
            object_lines,
            references,
            types,
            roots,
            root_lines,
            events,
            self.book,
        )
        for id_bits, section, start, end, line in types[:t].tolist():
            self.types.append((id_bits % 2**64, section, data[start:end], line))
        for kind, start, end, line, section in events[:v].tolist():
            self.events.append((kind, section, data[start:end], line))
        return Piece(
            columns[:n, 0].copy(),
            columns[:n, 1].copy(),
            sizes[:n].copy(),
            places[:n, 0].copy(),
            places[:n, 1].copy(),
            object_lines[:n].copy(),
            references[:e].copy(),
            roots[:r].copy(),
            root_lines[:r].copy(),
        )
