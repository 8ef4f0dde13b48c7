"""Kernels that parse the records of CLR Profiler logs other than objects.

Each takes the position after the record's letter and returns where it stopped. Only the
arrays that a record fills are passed, since passing all buffers at once is slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.clrprofiler.buffers import (
    BOUND_ROWS,
    BOUNDS,
    CLOCK,
    COUNTS,
    DUMPS,
    EPOCH,
    EVENTS,
    FRAMES,
    FUNCTION,
    HAS_FUNCTION,
    IS_OVER,
    MALFORMED_RANGE,
    MALFORMED_RECORD,
    MALFORMED_REFERENCE,
    OFFSET,
    RANGES,
    ROOTS,
    STACKS,
    TEXTS,
    UNKNOWN_ROOT_FLAGS,
    UNKNOWN_ROOT_KIND,
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
    NOT_RECORDED,
    count,
    is_number,
    note,
    number,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

LAST_KIND = 3
KNOWN_FLAGS = 15
STACK = 1
LONGEST_CLOCK_MS = 1 << 40


@kernel
def pair(data: Bytes, position: int, end: int) -> tuple[Number, Number, int, int]:
    """Two numbers: (first, second, outcome of the second, where it ended).

    The outcome is `BAD` unless the first is a number without a sign.
    """
    first, before, position = number(data, position, end)
    second, outcome, position = number(data, position, end)
    return first, second, outcome if is_number(before) else BAD, position


@kernel
def triple(
    data: Bytes, position: int, end: int
) -> tuple[Number, Number, Number, int, int]:
    """Three numbers: (first, second, third, outcome of the third, where it ended).

    The outcome is `BAD` unless the first two are numbers without a sign.
    """
    first, before, position = number(data, position, end)
    second, third, outcome, position = pair(data, position, end)
    return first, second, third, outcome if is_number(before) else BAD, position


@kernel
def append_numbers(
    data: Bytes,
    position: int,
    end: int,
    line: int,
    base: int,
    column: Ids,
    row: int,
    skips_zero: bool,
    book: Longs,
) -> tuple[int, int, int]:
    """Append the rest of a line: (next row, zeros skipped, where it ended)."""
    zeros = 0
    while True:
        value, outcome, position = number(data, position, end)
        if outcome in (ENDED, NEGATIVE):
            return row, zeros, position
        if outcome == BAD:
            note(book, MALFORMED_REFERENCE, line, base + position)
        elif value == 0 and skips_zero:
            zeros += 1
        else:
            column[row] = value
            row += 1


@kernel
def root_record(
    data: Bytes,
    position: int,
    end: int,
    line: int,
    start: int,
    root_id: Ids,
    root_place: Ids,
    root_kind: Bytes,
    root_flags: Bytes,
    root_named: Bytes,
    root_line: NDArray[np.uint32],
    book: Longs,
    used: Longs,
) -> int:
    """An ``e`` record: a root with its kind."""
    ident, kind, flags, outcome, position = triple(data, position, end)
    place, how, position = number(data, position, end)
    if not is_number(outcome) or how == BAD:
        note(book, MALFORMED_RECORD, line, start)
    elif ident != 0:
        if kind > np.uint64(LAST_KIND):
            note(book, UNKNOWN_ROOT_KIND, line, start)
            kind = np.uint64(0)
        if flags > np.uint64(KNOWN_FLAGS):
            note(book, UNKNOWN_ROOT_FLAGS, line, start)
        row = used[ROOTS]
        root_id[row] = ident
        root_kind[row] = kind
        root_flags[row] = flags & np.uint64(KNOWN_FLAGS)
        root_place[row] = place
        root_named[row] = kind == np.uint64(STACK) and how == DECIMAL
        root_line[row] = line
        used[ROOTS] = row + 1
    return position


@kernel
def range_record(
    data: Bytes,
    position: int,
    end: int,
    line: int,
    start: int,
    moves: bool,
    state: Longs,
    ranges: Ids,
    range_epoch: Ints,
    book: Longs,
    used: Longs,
) -> int:
    """A ``u`` or ``v`` record: a range that survived, moved or in place."""
    if moves:
        old, new, size, outcome, position = triple(data, position, end)
    else:
        old, size, outcome, position = pair(data, position, end)
        new = old
    if not is_number(outcome):
        note(book, MALFORMED_RECORD, line, start)
    elif size > np.uint64(MAX_SIZE_BYTES) or max(old, new) >= np.uint64(1 << 63):
        note(book, MALFORMED_RANGE, line, start)
    elif size > 0:
        row = used[RANGES]
        ranges[row, 0] = old
        ranges[row, 1] = new
        ranges[row, 2] = size
        range_epoch[row] = state[EPOCH]
        used[RANGES] = row + 1
    return position


@kernel
def stack_record(
    data: Bytes,
    position: int,
    end: int,
    line: int,
    start: int,
    has_flags: bool,
    state: Longs,
    stack: Ids,
    stack_count: Ints,
    frame: Ids,
    book: Longs,
    used: Longs,
) -> int:
    """An ``n`` record, or an ``s`` record, which has no flags: a stack."""
    ident, outcome, position = number(data, position, end)
    good = is_number(outcome)
    flags = other = np.uint64(0)
    if has_flags:
        flags, outcome, position = number(data, position, end)
        good = good and is_number(outcome)
        if flags & np.uint64(1):  # a type and a size
            _, _, outcome, position = pair(data, position, end)
            good = good and outcome != BAD and outcome != ENDED
        if flags >> np.uint64(2):  # frames shared with another stack
            other, outcome, position = number(data, position, end)
            good = good and is_number(outcome)
    if not good or flags >= np.uint64(1 << 31):
        note(book, MALFORMED_RECORD, line, start)
        return position
    first, row = used[FRAMES], used[STACKS]
    base = state[OFFSET]
    used[FRAMES], _, position = append_numbers(
        data, position, end, line, base, frame, first, False, book
    )
    stack[row, 0] = ident
    stack[row, 1] = other
    stack_count[row, 0] = flags >> np.uint64(2)
    stack_count[row, 1] = used[FRAMES] - first
    used[STACKS] = row + 1
    return position


@kernel
def collection_record(
    data: Bytes,
    position: int,
    end: int,
    line: int,
    start: int,
    has_bounds: bool,
    state: Longs,
    event: Longs,
    bound: Ids,
    book: Longs,
    used: Longs,
) -> int:
    """A ``b`` record, which has bounds, or a ``g`` record: a collection."""
    row, first = used[EVENTS], used[BOUND_ROWS]
    event[row, 0] = BOUNDS if has_bounds else COUNTS
    event[row, 1] = line
    event[row, 2] = state[CLOCK]
    for column in range(3, 6):
        event[row, column], position = count(data, position, end)
    stored = first
    while has_bounds:
        address, outcome, position = number(data, position, end)
        if outcome in (ENDED, NEGATIVE):
            break
        size, reserved, generation, after, position = triple(data, position, end)
        if not is_number(outcome) or not is_number(after):
            note(book, MALFORMED_RANGE, line, start)
            break
        bound[stored, 0] = address
        bound[stored, 1] = size
        bound[stored, 2] = reserved
        bound[stored, 3] = generation
        stored += 1
    event[row, 6] = first
    event[row, 7] = stored - first
    if event[row, 3] == NOT_RECORDED:
        note(book, MALFORMED_RECORD, line, start)
    else:
        used[BOUND_ROWS] = stored
        used[EVENTS] = row + 1
        state[EPOCH] += 1
        state[IS_OVER] = 1
    return position


@kernel
def text_record(
    kind: int,
    data: Bytes,
    position: int,
    end: int,
    line: int,
    start: int,
    state: Longs,
    text: Longs,
    book: Longs,
    used: Longs,
) -> int:
    """A line with names: only its place is stored."""
    if kind == FUNCTION:
        state[HAS_FUNCTION] = 1
    while position < end and CLASS[data[position]] == BLANK:
        position += 1
    if position >= end or CLASS[data[position]] == END:
        note(book, MALFORMED_RECORD, line, start)
        return position
    row = used[TEXTS]
    text[row, 0] = kind
    text[row, 1] = position
    while position < end and CLASS[data[position]] != END:
        position += 1
    text[row, 2] = position
    text[row, 3] = line
    text[row, 4] = state[DUMPS]
    used[TEXTS] = row + 1
    return position


@kernel
def clock_record(
    data: Bytes, position: int, end: int, line: int, start: int, state: Longs,
    book: Longs,
) -> int:  # fmt: skip
    """An ``i`` record: milliseconds since the log's start."""
    value, outcome, position = number(data, position, end)
    if not is_number(outcome) or value > np.uint64(LONGEST_CLOCK_MS):
        note(book, MALFORMED_RECORD, line, start)
    else:
        state[CLOCK] = np.int64(value)
    return position
