"""The compiled decoder of a buffer of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.leb128 import CUT, uleb

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ids, Ints, Longs, Number

TIME, POINTER, OBJECT = range(3)
"""Bases of a buffer; the first is the time of the last event that was scanned."""

BEGIN, END, REGISTER, UNREGISTER, CLASS, VTABLE, MOVES = range(7)
"""Kinds of marks: what is in them, see `MonoBuffers`."""

KIND, WHEN, A, B, C, TEXT, TEXT_END, OBJECTS_BEFORE, ROOTS_BEFORE, REFS_BEFORE = range(
    10
)
MARK_COLUMNS = 10

OBJECTS, REFS, ROOTS, PAIRS, MARKS, STOPPED, BAD_SIZES = range(7)
COUNTS = 7

MOST_MARKS = 1 << 12
_WITH_VTABLES, _WITH_GENERATIONS, _WITH_OWNERS = 15, 16, 14
"""Formats from which on objects name vtables, and their generation, and assemblies
their image."""

_ALLOC, _GC, _METADATA, _METHOD, _EXCEPTION, _MONITOR, _HEAP, _SAMPLE, _RUNTIME = range(
    9
)
_META = 10
_USER_SECTION = 0x8000
_TRAMPOLINE = 5
"""The kind of code that has a name."""
_NAMED_CODE_OF_OLD = 6


class MonoBuffers(NamedTuple):
    """What a scan finds.

    Attributes:
        id: uint64. Address of each object.
        kind: uint64. Its vtable, or class.
        size_bytes: int64.
        generation: int8. -1 where the format has none.
        ref_count: int32.
        ref_id: uint64.
        ref_offset: int32. Bytes from the begin of the object.
        root_at: uint64. Address of each root; of old formats, its kind.
        root_id: uint64.
        old, new: uint64. Moves of objects.
        marks: int64 (M, 10). Kind and time, and by kind: of a region its start, size,
            and source, its owner instead of the text; of a class its address, and the
            text; of a vtable its address and class; the number of moves. Then objects,
            roots and references that the buffer has before.
    """

    id: Ids
    kind: Ids
    size_bytes: Longs
    generation: NDArray[np.int8]
    ref_count: Ints
    ref_id: Ids
    ref_offset: Ints
    root_at: Ids
    root_id: Ids
    old: Ids
    new: Ids
    marks: Longs


ROW_OF = {
    "id": OBJECTS, "kind": OBJECTS, "size_bytes": OBJECTS, "generation": OBJECTS,
    "ref_count": OBJECTS, "ref_id": REFS, "ref_offset": REFS, "root_at": ROOTS,
    "root_id": ROOTS, "old": PAIRS, "new": PAIRS,
}  # fmt: skip
"""What counts the rows of each column."""
DTYPES = {
    "id": "u8", "kind": "u8", "size_bytes": "i8", "generation": "i1",
    "ref_count": "i4", "ref_id": "u8", "ref_offset": "i4", "root_at": "u8",
    "root_id": "u8", "old": "u8", "new": "u8",
}  # fmt: skip


def buffers_for(size_bytes: int) -> MonoBuffers:
    """Room for all that any ``size_bytes`` can have, but for marks."""
    rows = {OBJECTS: size_bytes // 5, REFS: size_bytes // 2, ROOTS: size_bytes // 2,
        PAIRS: size_bytes // 2}  # fmt: skip
    columns = {
        name: np.empty(rows[count] + 1, DTYPES[name]) for name, count in ROW_OF.items()
    }
    return MonoBuffers(**columns, marks=np.zeros((MOST_MARKS, MARK_COLUMNS), np.int64))


@kernel
def _sleb(data: Bytes, p: int, end: int) -> tuple[Number, int]:
    """The signed number at ``p``, and where it ends; negative if it is cut."""
    value, at = uleb(data, p, end)
    if at < 0:
        return value, at
    bits = np.uint64(7 * (at - p))
    if bits < np.uint64(64) and data[at - 1] & 0x40:
        value |= ~np.uint64(0) << bits
    return value, at


@kernel
def _skipped(data: Bytes, p: int, end: int, many: Number) -> int:
    """Where so many numbers end; negative if they are cut."""
    for _ in range(many):
        while p < end and data[p] & 0x80:
            p += 1
        if p >= end:
            return CUT
        p += 1
    return p


@kernel
def _after_text(data: Bytes, p: int, end: int) -> int:
    """Where the text at ``p`` ends, after its zero; negative if it is cut."""
    if p < 0:
        return p
    while p < end and data[p] != 0:
        p += 1
    return p + 1 if p < end else CUT


@kernel
def _after_list(data: Bytes, p: int, end: int) -> int:
    """Where a count and so many numbers end; negative if they are cut."""
    if p < 0:
        return p
    many, p = uleb(data, p, end)
    if p < 0 or many > np.uint64(end - p):
        return CUT
    return _skipped(data, p, end, np.int64(many))


@kernel
def _object(
    data: Bytes,
    p: int,
    end: int,
    bases: Ids,
    form: int,
    out: MonoBuffers,
    counts: Longs,
) -> int:
    """Put an object of a heapshot; where it ends; negative if it is cut."""
    row, ref = counts[OBJECTS], counts[REFS]
    value, p = _sleb(data, p, end)
    if p < 0:
        return p
    out.id[row] = (bases[OBJECT] + value) << np.uint64(3)
    value, p = _sleb(data, p, end)
    if p < 0:
        return p
    out.kind[row] = bases[POINTER] + value
    size, p = uleb(data, p, end)
    if p < 0:
        return p
    out.generation[row] = -1
    if form >= _WITH_GENERATIONS:
        if p >= end:
            return CUT
        out.generation[row] = min(data[p], 2)
        p += 1
    many, p = uleb(data, p, end)
    if p < 0 or many > np.uint64(end - p):
        return CUT
    offset = np.uint64(0)
    for _ in range(np.int64(many)):
        step, p = uleb(data, p, end)
        if p < 0:
            return p
        value, p = _sleb(data, p, end)
        if p < 0:
            return p
        offset += step
        out.ref_id[ref] = (bases[OBJECT] + value) << np.uint64(3)
        out.ref_offset[ref] = min(offset, np.uint64((1 << 31) - 1))
        ref += 1
    if size > np.uint64(MAX_SIZE_BYTES):
        counts[BAD_SIZES] += 1
        size = np.uint64(0)
    out.size_bytes[row] = size
    out.ref_count[row] = ref - counts[REFS]
    counts[OBJECTS], counts[REFS] = row + 1, ref
    return p


@kernel
def _roots(
    data: Bytes, p: int, end: int, bases: Ids, is_old: bool, out: MonoBuffers,
    counts: Longs,
) -> int:  # fmt: skip
    """Put the roots of a collection; where they end; negative if they are cut.

    Formerly a root had an object, its kind and more, of which `root_at` gets the kind.
    """
    many, p = uleb(data, p, end)
    if p < 0 or many > np.uint64(end - p):
        return CUT
    row = counts[ROOTS]
    if is_old:
        _, p = uleb(data, p, end)
    for _ in range(np.int64(many)):
        if p < 0:
            return p
        first, p = _sleb(data, p, end)
        if p < 0:
            return p
        if is_old:
            second = first
            first, p = uleb(data, p, end)
            p = _skipped(data, p, end, 1) if p >= 0 else p
        else:
            first += bases[POINTER]
            second, p = _sleb(data, p, end)
        out.root_at[row] = first
        out.root_id[row] = (bases[OBJECT] + second) << np.uint64(3)
        row += 1
    if p >= 0:
        counts[ROOTS] = row
    return p


@kernel
def _moves(
    data: Bytes, p: int, end: int, bases: Ids, out: MonoBuffers, counts: Longs
) -> int:
    """Put pairs of old and new addresses; where they end; negative if they are cut."""
    many, p = uleb(data, p, end)
    if p < 0 or many > np.uint64(end - p) or many & np.uint64(1):
        return CUT
    row = counts[PAIRS]
    for _ in range(np.int64(many) // 2):
        one, p = _sleb(data, p, end)
        if p < 0:
            return p
        two, p = _sleb(data, p, end)
        if p < 0:
            return p
        out.old[row] = (bases[OBJECT] + one) << np.uint64(3)
        out.new[row] = (bases[OBJECT] + two) << np.uint64(3)
        row += 1
    out.marks[counts[MARKS], A] = row - counts[PAIRS]
    counts[PAIRS] = row
    return p


@kernel
def _region(data: Bytes, p: int, end: int, more: int, bases: Ids, mark: Longs) -> int:
    """Fill the mark of a region; where its event ends; negative if it is cut."""
    value, p = _sleb(data, p, end)
    if p < 0:
        return p
    mark[KIND], mark[A] = UNREGISTER, np.int64(bases[POINTER] + value)
    if more == 5:
        return p
    size, p = uleb(data, p, end)
    if p < 0 or p >= end:
        return CUT
    mark[KIND], mark[B] = REGISTER, np.int64(min(size, np.uint64(1 << 62)))
    mark[C] = data[p]
    value, p = _sleb(data, p + 1, end)
    mark[TEXT] = np.int64(bases[POINTER] + value)
    return _after_text(data, p, end)


@kernel
def _metadata(
    data: Bytes, p: int, end: int, more: int, bases: Ids, form: int, mark: Longs
) -> int:
    """Where an event about a class or another thing ends; negative if it is cut.

    Fills the mark of a class or vtable.
    """
    if p >= end:
        return CUT
    kind = data[p]
    value, p = _sleb(data, p + 1, end)
    if p < 0:
        return p
    if kind == 1 or kind == 7:
        other, p = _sleb(data, p, end)
        if p < 0:
            return p
        mark[A] = np.int64(bases[POINTER] + value)
        if kind == 7:
            if more == 2:
                mark[KIND] = VTABLE
            other, p = _sleb(data, p, end)
            mark[B] = np.int64(bases[POINTER] + other)
            return p
        if more == 2:
            mark[KIND] = CLASS
        mark[TEXT] = p
        p = _after_text(data, p, end)
        mark[TEXT_END] = p - 1
        return p
    if kind == 2:
        p = _after_text(data, p, end)
        return _after_text(data, p, end) if form >= _WITH_GENERATIONS else p
    if kind == 3:
        if form >= _WITH_OWNERS:
            p = _skipped(data, p, end, 1)
        return _after_text(data, p, end)
    if kind == 4 or kind == 5:
        return _after_text(data, p, end) if more == 0 else p
    return _skipped(data, p, end, 1) if kind == 6 else CUT


@kernel
def _after_collection(data: Bytes, p: int, end: int, more: int) -> int:
    """Where an event about a collection, handle or finalizer ends."""
    if more == 1:
        return p + 2 if p + 2 <= end else CUT
    if more in (8, 9):
        return p
    if more in (2, 10, 11):
        return _skipped(data, p, end, 1)
    if not 4 <= more <= 7:
        return CUT
    many = 3 if more in (4, 6) else 2
    p = _skipped(data, p, end, many)
    return _after_list(data, p, end) if more >= 6 else p


@kernel
def _after_counters(data: Bytes, p: int, end: int, more: int) -> int:
    """Where descriptions or values of counters end; negative if they are cut."""
    if more == 3:
        many, p = uleb(data, p, end)
        if p < 0 or many > np.uint64(end - p):
            return CUT
        for _ in range(np.int64(many)):
            section, p = uleb(data, p, end)
            if p >= 0 and section == np.uint64(_USER_SECTION):
                p = _after_text(data, p, end)
            p = _after_text(data, p, end)
            if p < 0:
                return p
            p = _skipped(data, p, end, 4)
            if p < 0:
                return p
        return p
    while p < end:
        index, p = uleb(data, p, end)
        if p < 0 or index == np.uint64(0):
            return p
        kind, p = uleb(data, p, end)
        if p < 0:
            return p
        if kind == np.uint64(5):
            p += 8
        elif kind == np.uint64(6):
            if p >= end:
                return CUT
            p = _after_text(data, p + 1, end) if data[p] else p + 1
        else:
            p = _skipped(data, p, end, 1)
        if p < 0:
            return p
    return CUT


@kernel
def _after_sample(data: Bytes, p: int, end: int, more: int, form: int) -> int:
    """Where a sample ends; negative if it is cut."""
    if more == 0:
        p += 1 if form < _WITH_OWNERS else 0
        p = _skipped(data, p, end, 1)
        return _after_list(data, _after_list(data, p, end), end)
    if more == 1 or more == 2:
        p = _skipped(data, p, end, 1 + more)
        return _after_text(data, p, end)
    return _after_counters(data, p, end, more) if more < 5 else CUT


@kernel
def _after_other(data: Bytes, p: int, end: int, kind: int, more: int, form: int) -> int:
    """Where an event that says nothing about the heap ends; negative if it is cut."""
    if kind == _ALLOC:
        p = _skipped(data, p, end, 3)
        return _after_list(data, p, end) if more == 1 else p
    if kind == _METHOD:
        many = 3 if more == 4 else 1
        p = _skipped(data, p, end, many)
        return _after_text(data, p, end) if more == 4 else p
    if kind == _EXCEPTION:
        if more == 1:
            many = 3 if form >= _WITH_OWNERS else 2
            return _skipped(data, p + 1, end, many)
        p = _skipped(data, p, end, 1)
        return _after_list(data, p, end) if more == 8 else p
    if kind == _MONITOR:
        p += 1 if form >= _WITH_OWNERS else 0
        p = _skipped(data, p, end, 1)
        return _after_list(data, p, end) if more >= 8 else p
    if kind == _SAMPLE:
        return _after_sample(data, p, end, more, form)
    if kind == _RUNTIME and more == 1 and p < end:
        named = _TRAMPOLINE if form >= _WITH_OWNERS else _NAMED_CODE_OF_OLD
        has_name = data[p] == named
        p = _skipped(data, p + 1, end, 2)
        return _after_text(data, p, end) if has_name else p
    if kind == _META and more < 2 and p < end:
        return p + 1 if more == 0 else _after_text(data, p, end)
    return CUT


@kernel
def scan(
    data: Bytes, at: int, end: int, bases: Ids, form: int, is_old: bool,
    out: MonoBuffers, counts: Longs,
) -> None:  # fmt: skip
    """Decode events until the end, one that cannot be decoded, or enough marks.

    Args:
        data: The log.
        at: Where events begin.
        end: Where those of the buffer end.
        bases: uint64 (3,). Of the buffer; changed.
        form: Number of the format.
        is_old: Whether roots have the layout of the first formats.
        out: Filled.
        counts: int64 (7,). Filled with what is in it, where the scan stopped, and sizes
            that are out of range.
    """
    counts[:] = 0
    while at < end and counts[MARKS] < len(out.marks):
        mark = out.marks[counts[MARKS]]
        mark[:] = 0
        mark[KIND] = -1
        kind, more = data[at] & 0xF, data[at] >> 4
        step, p = uleb(data, at + 1, end)
        if p < 0:
            break
        before = bases[TIME]
        bases[TIME] += step
        if kind == _HEAP and more == 2:
            p = _object(data, p, end, bases, form, out, counts)
        elif kind == _HEAP and more == 3:
            p = _roots(data, p, end, bases, is_old, out, counts)
        elif kind == _HEAP and more < 2:
            mark[KIND] = BEGIN if more == 0 else END
        elif kind == _HEAP and more < 6:
            p = _region(data, p, end, more, bases, mark)
        elif kind == _GC and more == 3:
            p = _moves(data, p, end, bases, out, counts)
            mark[KIND] = MOVES
        elif kind == _GC:
            p = _after_collection(data, p, end, more)
        elif kind == _METADATA:
            p = _metadata(data, p, end, more, bases, form, mark)
        else:
            p = _after_other(data, p, end, kind, more, form)
        if p < 0 or p > end:
            bases[TIME] = before
            break
        at = p
        if mark[KIND] >= 0:
            mark[WHEN] = np.int64(bases[TIME])
            mark[OBJECTS_BEFORE] = counts[OBJECTS]
            mark[ROOTS_BEFORE] = counts[ROOTS]
            mark[REFS_BEFORE] = counts[REFS]
            counts[MARKS] += 1
    counts[STOPPED] = at


@kernel
def name_fields(
    is_array: Bools, type_row: Ints, ref_count: Ints, row_of: Ints, offset: Ints
) -> None:
    """Replace offsets by rows of their names, as far as there are any.

    Args:
        is_array: Types whose references have no names.
        type_row: int32 (N,). The type of each object.
        ref_count: int32 (N,).
        row_of: int32. Rows by offset; empty rows are filled, in the order of their use.
        offset: int32 (E,). Changed.
    """
    at = used = 0
    for i in range(len(type_row)):
        for _ in range(ref_count[i]):
            place = offset[at]
            offset[at] = NO_FIELD
            if not is_array[type_row[i]] and place < len(row_of):
                if row_of[place] < 0:
                    row_of[place] = used
                    used += 1
                offset[at] = row_of[place]
            at += 1


@kernel
def _place(key: Ids, slot: Longs, address: Number, mask: int) -> Number:
    """The place of an address in the table, which is free if its slot is 0."""
    mixed = (address >> np.uint64(3)) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64(mixed >> np.uint64(20)) & mask
    while slot[at] != 0 and key[at] != address:
        at = (at + 1) & mask
    key[at] = address
    return at


@kernel
def follow(
    then: Ids, then_kind: Ints, then_size: Longs, known: Longs, old: Ids, new: Ids,
    now: Ids, kind: Ints, size: Longs, generation: NDArray[np.int8], last: int,
    slot: Longs, key: Ids, found: Longs,
) -> int:  # fmt: skip
    """Number the objects of a heapshot as in the one before, new ones from ``last`` on.

    An object of the youngest generation that no collection has moved is pinned, or at
    the place of another one: it gets no number, 0.

    Args:
        then: uint64. Addresses of the objects before.
        then_kind: int32. Rows of their vtables.
        then_size: int64. Their sizes.
        known: int64. Their numbers.
        old: uint64. From where objects moved since then, in the order of the moves.
        new: uint64. Where to.
        now: uint64. Addresses of the objects of this heapshot.
        kind: int32. Rows of their vtables.
        size: int64. Their sizes.
        generation: int8. Their generations.
        last: The highest number so far.
        slot: int64. Empty rows of a table: a power of two, at least twice as many as
            objects before and addresses of moves.
        key: uint64. As many.
        found: int64. Filled with the numbers.

    Returns:
        The highest number.
    """
    slot[:] = 0
    mask = len(slot) - 1
    for i in range(len(then)):
        slot[_place(key, slot, then[i], mask)] = i + 2
    for i in range(len(old)):
        at = _place(key, slot, old[i], mask)
        moved = slot[at]
        if moved:
            slot[at] = 1
        at = _place(key, slot, new[i], mask)
        slot[at] = -abs(moved) if abs(moved) > 1 else 1
    for i in range(len(now)):
        row = slot[_place(key, slot, now[i], mask)]
        before = abs(row) - 2
        if (
            before >= 0
            and then_kind[before] == kind[i]
            and then_size[before] == size[i]
        ):
            found[i] = 0 if row > 0 and generation[i] == 0 else known[before]
        elif row == 0 and generation[i] == 0:
            found[i] = 0
        else:
            last += 1
            found[i] = last
    return last
