"""The compiled scanner of CLR Profiler logs: one pass over bytes, columns out.

It parses records and numbers. Ids are resolved once all lines are read. Lines with
names (types, functions, static fields) are only located: there are few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.clrprofiler.buffers import (
    ALLOCATIONS,
    CLOCK,
    DUMP_ROWS,
    DUMPS,
    EPOCH,
    FUNCTION,
    HAS_FUNCTION,
    HAS_OBJECT,
    IS_OVER,
    LAST_EPOCH,
    LINE,
    LOCAL,
    MALFORMED_RECORD,
    MALFORMED_REFERENCE,
    OBJECTS,
    OBJECTS_WITHOUT_ROOTS,
    OFFSET,
    PLAIN_ROOTS,
    REFERENCES,
    SIZE_OUT_OF_RANGE,
    STATIC,
    TYPE,
    UNKNOWN_RECORD,
    ZERO_OBJECT_ID,
    LogBuffers,
)
from ingest.readers.clrprofiler.records import (
    append_numbers,
    clock_record,
    collection_record,
    range_record,
    root_record,
    stack_record,
    text_record,
)
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import (
    BAD,
    BLANK,
    CLASS,
    DECIMAL,
    END,
    ENDED,
    NEGATIVE,
    is_hexadecimal,
    is_number,
    note,
    number,
    skip_line,
)

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Longs, Number

_A, _B, _C, _D, _E, _F, _G, _H, _I, _J = range(0x61, 0x6B)
_L, _M, _N, _O, _R, _S, _T, _U, _V = 0x6C, 0x6D, 0x6E, 0x6F, *range(0x72, 0x77)
_Y, _Z, _BANG, _NO_RECORD = 0x79, 0x7A, 0x21, -1

_SKIPPED = (
    _NO_RECORD,
    _C,  # a call
    _Z,  # a comment
    _H,  # a handle is created
    _J,  # a handle is freed
    _L,  # an object is queued for finalization
    _M,  # a module; M: the module of a type
    _Y,  # an assembly
    _D,  # an assembly is unloaded
)


@kernel
def _letter(data: Bytes, position: int, end: int) -> tuple[int, Number]:
    """The kind of record in a line: (where its rest begins, its letter)."""
    while position < end and CLASS[data[position]] == BLANK:
        position += 1
    if position >= end or CLASS[data[position]] == END:
        return position, _NO_RECORD
    upper = np.int64(data[position])
    letter: Number = upper | 0x20
    position += 1
    if position < end and CLASS[data[position]] not in (BLANK, END):
        return position, np.int64(0)
    if letter in (_S, _L) and is_hexadecimal(data, position, end):
        if letter == _S:
            letter = STATIC
        elif upper != letter:
            letter = LOCAL
    return position, letter


@kernel
def _begin_dump(
    is_object: bool, line: int, start: int, state: Longs, dump: Longs, book: Longs,
    used: Longs,
) -> None:  # fmt: skip
    """Begin a heap dump; rows so far belong to the previous dump."""
    row = used[DUMP_ROWS]
    dump[row, 0] = line
    dump[row, 1] = start
    dump[row, 2] = state[EPOCH]
    for i in range(4):
        dump[row, 3 + i] = used[OBJECTS + i]
    dump[row, 7] = used[ALLOCATIONS]
    dump[row, 8] = state[LAST_EPOCH]
    used[DUMP_ROWS] = row + 1
    state[DUMPS] += 1
    state[IS_OVER] = 0
    state[HAS_OBJECT] = 0
    if is_object:
        note(book, OBJECTS_WITHOUT_ROOTS, line, start)


@kernel
def _checked_size(
    ident: Number, size: Number, outcome: int, line: int, start: int, book: Longs
) -> Number:
    """The size of an object, or 0 if it is impossible; count odd ids and sizes."""
    if ident == 0:
        note(book, ZERO_OBJECT_ID, line, start)
    if outcome == NEGATIVE or size > np.uint64(MAX_SIZE_BYTES):
        note(book, SIZE_OUT_OF_RANGE, line, start)
        # Old versions of SOS write sizes as signed 32-bit numbers.
        if outcome == NEGATIVE and size <= np.uint64(1 << 31):
            return np.int64(np.uint64(1 << 32) - size)
        return np.int64(0)
    return np.int64(size)


@kernel
def _heap_lines(
    data: Bytes,
    position: int,
    state: Longs,
    buffers: LogBuffers,
    book: Longs,
    used: Longs,
) -> Number:
    """Parse lines of heap dumps; return where the first other line begins."""
    end = len(data)
    line, base = state[LINE], state[OFFSET]
    objects, references = used[OBJECTS], used[REFERENCES]
    while position < end:
        start = base + position
        position, letter = _letter(data, position, end)
        if letter not in (_O, _E, _R, _NO_RECORD):
            position = start - base
            break
        line += 1
        if letter != _NO_RECORD:
            if (
                not state[DUMPS]
                or state[IS_OVER]
                or (letter != _O and state[HAS_OBJECT])
            ):
                used[OBJECTS], used[REFERENCES] = objects, references
                _begin_dump(letter == _O, line, start, state, buffers.dump, book, used)
            state[LAST_EPOCH] = state[EPOCH]
        if letter == _O:
            ident, before, position = number(data, position, end)
            type_id, between, position = number(data, position, end)
            size, outcome, position = number(data, position, end)
            good = is_number(before) and is_number(between)
            if not good or not (is_number(outcome) or outcome == NEGATIVE):
                note(book, MALFORMED_RECORD, line, start)
            else:
                state[HAS_OBJECT] = 1
                buffers.object_id[objects] = ident
                buffers.object_type_id[objects] = type_id
                buffers.object_size_bytes[objects] = _checked_size(
                    ident, size, outcome, line, start, book
                )
                buffers.object_line[objects] = line
                first, nulls = references, 0
                while True:
                    target, outcome, position = number(data, position, end)
                    if outcome in (ENDED, NEGATIVE):
                        break
                    if outcome == BAD:
                        note(book, MALFORMED_REFERENCE, line, base + position)
                    elif target == 0:
                        nulls += 1
                    else:
                        buffers.reference_id[references] = target
                        references += 1
                buffers.object_ref_count[objects] = references - first
                buffers.object_null_count[objects] = nulls
                objects += 1
        elif letter == _E:
            position = root_record(
                data, position, end, line, start, buffers.root_id, buffers.root_place,
                buffers.root_kind, buffers.root_flags, buffers.root_named,
                buffers.root_line, book, used,
            )  # fmt: skip
        elif letter == _R:
            used[PLAIN_ROOTS], _, position = append_numbers(
                data, position, end, line, base, buffers.plain_root_id,
                used[PLAIN_ROOTS], True, book,
            )  # fmt: skip
        position = skip_line(data, position, end)
    state[LINE] = line
    used[OBJECTS], used[REFERENCES] = objects, references
    return position


@kernel
def _log_lines(
    data: Bytes,
    position: int,
    state: Longs,
    buffers: LogBuffers,
    book: Longs,
    used: Longs,
) -> Number:
    """Parse lines outside heap dumps; return where the first line of a dump begins."""
    end = len(data)
    line, base, allocations = state[LINE], state[OFFSET], used[ALLOCATIONS]
    while position < end:
        start = base + position
        position, letter = _letter(data, position, end)
        if letter in (_O, _E, _R):
            position = start - base
            break
        line += 1
        if letter in (_BANG, _A):
            if state[HAS_FUNCTION]:
                before = DECIMAL
                if letter == _BANG:
                    _, before, position = number(data, position, end)
                ident, between, position = number(data, position, end)
                site, outcome, position = number(data, position, end)
                good = is_number(before) and is_number(between)
                if not good or not is_number(outcome):
                    note(book, MALFORMED_RECORD, line, start)
                else:
                    buffers.allocation[allocations, 0] = ident
                    buffers.allocation[allocations, 1] = site
                    buffers.allocation_at[allocations, 0] = state[EPOCH]
                    buffers.allocation_at[allocations, 1] = state[CLOCK]
                    allocations += 1
        elif letter in (_U, _V):
            position = range_record(
                data, position, end, line, start, letter == _U, state, buffers.range,
                buffers.range_epoch, book, used,
            )  # fmt: skip
        elif letter in (_N, _S):
            if state[HAS_FUNCTION]:
                position = stack_record(
                    data, position, end, line, start, letter == _N, state,
                    buffers.stack, buffers.stack_count, buffers.frame, book, used,
                )  # fmt: skip
        elif letter == _I:
            position = clock_record(data, position, end, line, start, state, book)
        elif letter in (_B, _G):
            position = collection_record(
                data, position, end, line, start, letter == _B, state, buffers.event,
                buffers.bound, book, used,
            )  # fmt: skip
        elif letter in (TYPE, FUNCTION, STATIC, LOCAL):
            position = text_record(
                letter, data, position, end, line, start, state, buffers.text, book,
                used,
            )  # fmt: skip
        elif letter not in _SKIPPED:
            note(book, UNKNOWN_RECORD, line, start)
        position = skip_line(data, position, end)
    state[LINE] = line
    used[ALLOCATIONS] = allocations
    return position


@kernel
def scan(
    data: Bytes, state: Longs, buffers: LogBuffers, book: Longs, used: Longs
) -> None:
    """Scan complete lines.

    Args:
        data: uint8 (B,), ends at a line end.
        state: int64 (`STATES`,).
        buffers: Filled.
        book: int64 (kinds, 3): count, first line, first byte offset.
        used: int64 (`COUNTERS`,), 0. Filled with the rows used.
    """
    position = 0
    while position < len(data):
        position = _heap_lines(data, position, state, buffers, book, used)
        position = _log_lines(data, position, state, buffers, book, used)
    state[OFFSET] += len(data)
