"""The compiled scanner of CLR Profiler logs: one pass over bytes, columns out.

It knows records and numbers. What ids mean is settled once all lines are read. Lines
with names (types, functions, static fields) are only found: there are few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import (
    BAD,
    BLANK,
    CLASS,
    DECIMAL,
    END,
    ENDED,
    NEGATIVE,
    UNTOLD,
    count,
    is_hexadecimal,
    is_number,
    note,
    number,
    skip_line,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Bytes, Ids, Ints, Longs

KINDS = (
    "unknown_record",
    "malformed_record",
    "size_out_of_range",
    "malformed_reference",
    "zero_object_id",
    "unknown_root_kind",
    "unknown_root_flags",
    "malformed_range",
    "objects_without_roots",
)
(
    UNKNOWN_RECORD,
    MALFORMED_RECORD,
    SIZE_OUT_OF_RANGE,
    MALFORMED_REFERENCE,
    ZERO_OBJECT_ID,
    UNKNOWN_ROOT_KIND,
    UNKNOWN_ROOT_FLAGS,
    MALFORMED_RANGE,
    OBJECTS_WITHOUT_ROOTS,
) = range(len(KINDS))

(
    LINE,
    OFFSET,
    CLOCK,
    EPOCH,
    DUMPS,
    HAS_OBJECT,
    IS_OVER,
    HAS_FUNCTION,
    LAST_EPOCH,
) = range(9)
"""What the scanner remembers from piece to piece.

`EPOCH` counts ``b`` and ``g`` records, `DUMPS` heap dumps begun. Of the last dump:
whether it `HAS_OBJECT`, `IS_OVER`, and the epoch of its last record.
"""

STATES = 9

BOUNDS, COUNTS = 0, 1
"""Kinds of events: a ``b`` record, a ``g`` record."""

TYPE, FUNCTION, STATIC, LOCAL = range(4)
"""Kinds of lines with names."""

LAST_KIND = 3
KNOWN_FLAGS = 15
STACK = 1
LONGEST_CLOCK_MS = 1 << 40


class LogBuffers(NamedTuple):
    """Where a scan writes its columns; the shortest records bound their rows.

    Attributes:
        object_id, object_type_id: uint64.
        object_size_bytes: int64.
        object_ref_count: int32.
        object_line: uint32. 1-based, modulo 2^32, like all lines here.
        reference_id: uint64.
        root_id: uint64. What it holds.
        root_place: uint64. Id of a function, where ``root_named``, or an address.
        root_kind, root_flags, root_named: uint8.
        root_line: uint32.
        plain_root_id: uint64. Of ``r`` records.
        range: uint64 (rows, 3): old start, new start, bytes.
        range_epoch: int32.
        allocation: uint64 (rows, 2): address, id of the site.
        allocation_at: int64 (rows, 2): epoch, clock.
        stack: uint64 (rows, 2): id, id of the stack it begins like.
        stack_count: int32 (rows, 2): frames it has of that one, frames of its own.
        frame: uint64. Ids of functions.
        event: int64 (rows, 8): kind, line, clock; if `BOUNDS` whether it begins,
            whether it is induced, its generation, else three counts; first row and
            number of bounds.
        bound: uint64 (rows, 4): start, used and reserved bytes, generation.
        text: int64 (rows, 5): kind, start, end, line, dumps begun.
        dump: int64 (rows, 10): line, byte, epoch; rows of objects, references, roots,
            plain roots and allocations before it, nulls before it; the epoch of the
            last record of the dump before.
    """

    object_id: Ids
    object_type_id: Ids
    object_size_bytes: Longs
    object_ref_count: Ints
    object_line: NDArray[np.uint32]
    reference_id: Ids
    root_id: Ids
    root_place: Ids
    root_kind: Bytes
    root_flags: Bytes
    root_named: Bytes
    root_line: NDArray[np.uint32]
    plain_root_id: Ids
    range: Ids
    range_epoch: Ints
    allocation: Ids
    allocation_at: Longs
    stack: Ids
    stack_count: Ints
    frame: Ids
    event: Longs
    bound: Ids
    text: Longs
    dump: Longs


def buffers_for(size_bytes: int) -> LogBuffers:
    """Buffers for any text of ``size_bytes``; pages that are not used cost nothing."""
    halves, quarters = size_bytes // 2 + 2, size_bytes // 4 + 2
    sixths, eighths = size_bytes // 6 + 2, size_bytes // 8 + 2
    return LogBuffers(
        object_id=np.empty(eighths, np.uint64),  # "o 1 1 1"
        object_type_id=np.empty(eighths, np.uint64),
        object_size_bytes=np.empty(eighths, np.int64),
        object_ref_count=np.empty(eighths, np.int32),
        object_line=np.empty(eighths, np.uint32),
        reference_id=np.empty(halves, np.uint64),
        root_id=np.empty(eighths, np.uint64),  # "e 1 1 1"
        root_place=np.empty(eighths, np.uint64),
        root_kind=np.empty(eighths, np.uint8),
        root_flags=np.empty(eighths, np.uint8),
        root_named=np.empty(eighths, np.uint8),
        root_line=np.empty(eighths, np.uint32),
        plain_root_id=np.empty(halves, np.uint64),
        range=np.empty((sixths, 3), np.uint64),  # "v 1 1"
        range_epoch=np.empty(sixths, np.int32),
        allocation=np.empty((sixths, 2), np.uint64),  # "a 1 1"
        allocation_at=np.empty((sixths, 2), np.int64),
        stack=np.empty((quarters, 2), np.uint64),  # "s 1"
        stack_count=np.empty((quarters, 2), np.int32),
        frame=np.empty(halves, np.uint64),
        event=np.empty((quarters, 8), np.int64),  # "g 1"
        bound=np.empty((eighths, 4), np.uint64),
        text=np.empty((quarters, 5), np.int64),  # "t 1"
        dump=np.empty((sixths, 10), np.int64),  # "g 1" and "r"
    )


@kernel
def scan(
    data: Bytes, state: Longs, buffers: LogBuffers, book: Longs, used: Longs
) -> None:
    """Scan whole lines.

    Args:
        data: uint8 (B,), ends at a line end.
        state: int64 (9,): see above.
        buffers: Where to.
        book: int64 (kinds, 3): count, first line, first byte offset.
        used: int64 (13,). Filled with the rows used: objects, references, roots,
            plain roots, ranges, allocations, stacks, frames, events, bounds, texts,
            dumps; and with the number of references to nothing.
    """
    n = e = r = q = v = a = k = f = g = b = t = d = nulls = 0
    end = len(data)
    p = 0
    line = state[LINE]
    base = state[OFFSET]
    while p < end:
        line += 1
        start = p
        while p < end and CLASS[data[p]] == BLANK:
            p += 1
        if p >= end or CLASS[data[p]] == END:
            p = skip_line(data, p, end)
            continue
        upper = data[p]
        letter = upper | 0x20
        p += 1
        if p < end and CLASS[data[p]] != END and CLASS[data[p]] != BLANK:
            letter = 0
        if letter == 0x6F or letter == 0x65 or letter == 0x72:
            is_object = letter == 0x6F
            if (
                state[DUMPS] == 0
                or state[IS_OVER]
                or (not is_object and state[HAS_OBJECT])
            ):
                dumps = buffers.dump
                dumps[d, 0] = line
                dumps[d, 1] = base + start
                dumps[d, 2] = state[EPOCH]
                dumps[d, 3] = n
                dumps[d, 4] = e
                dumps[d, 5] = r
                dumps[d, 6] = q
                dumps[d, 7] = a
                dumps[d, 8] = nulls
                dumps[d, 9] = state[LAST_EPOCH]
                d += 1
                state[DUMPS] += 1
                state[IS_OVER] = 0
                state[HAS_OBJECT] = 0
                if is_object:
                    note(book, OBJECTS_WITHOUT_ROOTS, line, base + start)
            state[LAST_EPOCH] = state[EPOCH]
        if letter == 0x6F:  # o: an object
            first, how, p = number(data, p, end)
            good = is_number(how)
            kind, how, p = number(data, p, end)
            good = good and is_number(how)
            size, how, p = number(data, p, end)
            if not good or not (is_number(how) or how == NEGATIVE):
                note(book, MALFORMED_RECORD, line, base + start)
            else:
                state[HAS_OBJECT] = 1
                if first == 0:
                    note(book, ZERO_OBJECT_ID, line, base + start)
                if how == NEGATIVE or size > np.uint64(MAX_SIZE_BYTES):
                    note(book, SIZE_OUT_OF_RANGE, line, base + start)
                    # SOS of old writes sizes as if they had 32 bits and a sign.
                    if how == NEGATIVE and size <= np.uint64(1 << 31):
                        size = np.uint64(1 << 32) - size
                    else:
                        size = np.uint64(0)
                buffers.object_id[n] = first
                buffers.object_type_id[n] = kind
                buffers.object_size_bytes[n] = np.int64(size)
                buffers.object_line[n] = line
                before = e
                while True:
                    target, how, p = number(data, p, end)
                    if how in (ENDED, NEGATIVE):
                        break
                    if how == BAD:
                        note(book, MALFORMED_REFERENCE, line, base + p)
                    elif target == 0:
                        nulls += 1
                    else:
                        buffers.reference_id[e] = target
                        e += 1
                buffers.object_ref_count[n] = e - before
                n += 1
        elif letter == 0x65:  # e: a root
            first, how, p = number(data, p, end)
            good = is_number(how)
            kind, how, p = number(data, p, end)
            good = good and is_number(how)
            flags, how, p = number(data, p, end)
            good = good and is_number(how)
            place, how, p = number(data, p, end)
            if not good or how == BAD:
                note(book, MALFORMED_RECORD, line, base + start)
            elif first != 0:
                if kind > np.uint64(LAST_KIND):
                    note(book, UNKNOWN_ROOT_KIND, line, base + start)
                    kind = np.uint64(0)
                if flags > np.uint64(KNOWN_FLAGS):
                    note(book, UNKNOWN_ROOT_FLAGS, line, base + start)
                buffers.root_id[r] = first
                buffers.root_kind[r] = kind
                buffers.root_flags[r] = flags & np.uint64(KNOWN_FLAGS)
                buffers.root_place[r] = place
                buffers.root_named[r] = kind == np.uint64(STACK) and how == DECIMAL
                buffers.root_line[r] = line
                r += 1
        elif letter == 0x72:  # r: roots without kinds
            while True:
                first, how, p = number(data, p, end)
                if how in (ENDED, NEGATIVE):
                    break
                if how == BAD:
                    note(book, MALFORMED_REFERENCE, line, base + p)
                elif first != 0:
                    buffers.plain_root_id[q] = first
                    q += 1
        elif letter == 0x75 or letter == 0x76:  # u, v: what outlives
            old, how, p = number(data, p, end)
            good = is_number(how)
            new = old
            if letter == 0x75:
                new, how, p = number(data, p, end)
                good = good and is_number(how)
            length, how, p = number(data, p, end)
            if not good or not is_number(how):
                note(book, MALFORMED_RECORD, line, base + start)
            elif length > np.uint64(MAX_SIZE_BYTES) or max(old, new) >= np.uint64(
                1 << 63
            ):
                note(book, MALFORMED_RANGE, line, base + start)
            elif length > 0:
                buffers.range[v, 0] = old
                buffers.range[v, 1] = new
                buffers.range[v, 2] = length
                buffers.range_epoch[v] = state[EPOCH]
                v += 1
        elif letter == 0x21 or letter == 0x61:  # !, a: an allocation
            if state[HAS_FUNCTION]:
                good = True
                if letter == 0x21:
                    _, how, p = number(data, p, end)
                    good = is_number(how)
                first, how, p = number(data, p, end)
                good = good and is_number(how)
                site, how, p = number(data, p, end)
                if not good or not is_number(how):
                    note(book, MALFORMED_RECORD, line, base + start)
                else:
                    buffers.allocation[a, 0] = first
                    buffers.allocation[a, 1] = site
                    buffers.allocation_at[a, 0] = state[EPOCH]
                    buffers.allocation_at[a, 1] = state[CLOCK]
                    a += 1
        elif letter == 0x6E or (
            letter == 0x73 and not is_hexadecimal(data, p, end)
        ):  # n, s: a stack
            if state[HAS_FUNCTION]:
                ident, how, p = number(data, p, end)
                good = is_number(how)
                flags = np.uint64(0)
                other = np.uint64(0)
                if letter == 0x6E:
                    flags, how, p = number(data, p, end)
                    good = good and is_number(how)
                    if flags & np.uint64(1):
                        _, how, p = number(data, p, end)
                        good = good and is_number(how)
                        _, how, p = number(data, p, end)
                        good = good and how != BAD and how != ENDED
                    if flags >> np.uint64(2):
                        other, how, p = number(data, p, end)
                        good = good and is_number(how)
                if not good or flags >= np.uint64(1 << 31):
                    note(book, MALFORMED_RECORD, line, base + start)
                else:
                    before = f
                    while True:
                        frame, how, p = number(data, p, end)
                        if how in (ENDED, NEGATIVE):
                            break
                        if how == BAD:
                            note(book, MALFORMED_REFERENCE, line, base + p)
                        else:
                            buffers.frame[f] = frame
                            f += 1
                    buffers.stack[k, 0] = ident
                    buffers.stack[k, 1] = other
                    buffers.stack_count[k, 0] = flags >> np.uint64(2)
                    buffers.stack_count[k, 1] = f - before
                    k += 1
        elif letter == 0x69:  # i: the clock
            value, how, p = number(data, p, end)
            if not is_number(how) or value > np.uint64(LONGEST_CLOCK_MS):
                note(book, MALFORMED_RECORD, line, base + start)
            else:
                state[CLOCK] = np.int64(value)
        elif letter == 0x62 or letter == 0x67:  # b, g: a collection
            events = buffers.event
            events[g, 0] = BOUNDS if letter == 0x62 else COUNTS
            events[g, 1] = line
            events[g, 2] = state[CLOCK]
            events[g, 3], p = count(data, p, end)
            events[g, 4], p = count(data, p, end)
            events[g, 5], p = count(data, p, end)
            events[g, 6] = b
            if letter == 0x62:
                while True:
                    first, how, p = number(data, p, end)
                    if how in (ENDED, NEGATIVE):
                        break
                    good = is_number(how)
                    length, how, p = number(data, p, end)
                    good = good and is_number(how)
                    reserved, how, p = number(data, p, end)
                    good = good and is_number(how)
                    generation, how, p = number(data, p, end)
                    if not good or not is_number(how):
                        note(book, MALFORMED_RANGE, line, base + start)
                        break
                    buffers.bound[b, 0] = first
                    buffers.bound[b, 1] = length
                    buffers.bound[b, 2] = reserved
                    buffers.bound[b, 3] = generation
                    b += 1
            events[g, 7] = b - events[g, 6]
            if events[g, 3] == UNTOLD:
                note(book, MALFORMED_RECORD, line, base + start)
                b = events[g, 6]
            else:
                g += 1
                state[EPOCH] += 1
                state[IS_OVER] = 1
        elif (
            letter == 0x74
            or letter == 0x66
            or letter == 0x73
            or (upper == 0x4C and letter and is_hexadecimal(data, p, end))
        ):  # t, f, s with an object, L with an object: a line with names
            kind_of = TYPE
            if letter == 0x66:
                kind_of = FUNCTION
                state[HAS_FUNCTION] = 1
            elif letter == 0x73:
                kind_of = STATIC
            elif upper == 0x4C:
                kind_of = LOCAL
            while p < end and CLASS[data[p]] == BLANK:
                p += 1
            if p >= end or CLASS[data[p]] == END:
                note(book, MALFORMED_RECORD, line, base + start)
            else:
                texts = buffers.text
                texts[t, 0] = kind_of
                texts[t, 1] = p
                while p < end and CLASS[data[p]] != END:
                    p += 1
                texts[t, 2] = p
                texts[t, 3] = line
                texts[t, 4] = state[DUMPS]
                t += 1
        elif not (
            letter == 0x63  # c: a call
            or letter == 0x7A  # z: a remark
            or letter == 0x68  # h: a handle made
            or letter == 0x6A  # j: a handle gone
            or letter == 0x6C  # l: an object put into the queue for finalizing
            or letter == 0x6D  # m: a module; M: the module of a type
            or letter == 0x79  # y: an assembly
            or letter == 0x64  # d: an assembly gone
        ):
            note(book, UNKNOWN_RECORD, line, base + start)
        p = skip_line(data, p, end)
    state[LINE] = line
    state[OFFSET] += end
    rows = (n, e, r, q, v, a, k, f, g, b, t, d, nulls)
    for i in range(len(rows)):
        used[i] = rows[i]
