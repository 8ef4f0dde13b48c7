"""Values of objects: texts of strings, numbers in boxes, names of threads and classes.

The text of a string is in an array, before or after the string in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.array_files import release_pages
from ingest.arrays.compiled import kernel
from ingest.arrays.search import place_of
from ingest.arrays.spill import NEVER
from ingest.heap.values import ExternalMemory, ObjectValues, ValueKind
from ingest.readers.hprof.records import (
    BITMAP,
    BOOL,
    CHAR,
    CHARS_ROW,
    DESTROYED,
    DIRECT_BUFFER,
    ENDS_WITH,
    FLOAT4,
    FLOAT8,
    LIMIT,
    LIMIT_4,
    SIGNED,
    SIGNED_1,
    SIGNED_2,
    SIGNED_4,
    STORED_BYTES,
    TEXT,
    THREAD,
    UNMANAGED,
    VIEWED_BUFFER,
)
from ingest.readers.shared.columns import GrowingColumn
from ingest.readers.shared.cut_texts import MARK_UNITS, write_mark
from ingest.readers.shared.resolver import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

_PIXEL_BYTES = 4
_MOST_PIXELS = 1 << 20
_NATIVE = ("direct buffer", "bitmap")
_LIMITS = (
    (LIMIT, "maxWeight", (1 << 63) - 1),
    (LIMIT_4, "maxSize", (1 << 31) - 1),
)
"""Bounds of caches: their fields, and the highest value that is not negative."""


_BLOCK = 1 << 16
"""Objects with values that are handled together."""


@dataclass(slots=True, eq=False)
class Specials:
    """The records of objects with values, in the order of the objects.

    Attributes:
        row: int32 (S,). Rows of the objects.
        kind: uint8 (S,).
        bits: uint64 (S,).
        coder: uint8 (S,).
        slice: int32 (S, 2). Offset and count in the array; -1 for all of it.
        content_row: int32 (C,). Rows of the arrays.
        content_end: int64 (C,). End of the first bytes of each array, and of its digest
            if it has more.
        content: uint8. These bytes, from 0 on.
        is_moved: Whether objects that repeat an id were dropped.
    """

    row: Ints
    kind: Bytes
    bits: Ids
    coder: Bytes
    slice: Ints
    content_row: Ints
    content_end: Longs
    content: Bytes
    is_moved: bool = False

    def moved(self, new_row: Ints) -> None:
        """Renumber the objects; the first counts if several become one."""
        self.is_moved = True
        rows, first = np.unique(new_row[self.row], return_index=True)
        self.row = rows.astype(np.int32)
        self.kind, self.bits = self.kind[first], self.bits[first]
        self.coder, self.slice = self.coder[first], self.slice[first]
        starts = np.concatenate([[0], self.content_end])
        rows, first = np.unique(new_row[self.content_row], return_index=True)
        sizes = np.diff(starts)[first]
        self.content_end = np.cumsum(sizes)
        content = np.empty(int(sizes.sum()), np.uint8)
        _gather(self.content, starts[first], sizes, content)
        self.content = content
        self.content_row = rows.astype(np.int32)


_LONGEST_NAME = 256
"""Letters stored of an object's name; a type has the whole name."""
_LONG_NAME = 128
"""A name of at least so many letters that many objects share is encoded once."""

_NONE, _CUT = 255, 64

_QUESTION = ord("?")
_TELLING = 4
"""A text that repeats one character at least so often was removed."""
_FEWEST_REMOVED = 20
"""The least number of such texts in a dump with removed texts."""
_LATIN1, _UTF16, _NAME = map(int, (ValueKind.LATIN1, ValueKind.UTF16, ValueKind.NAME))
_INTEGER, _DOUBLE = int(ValueKind.INTEGER), int(ValueKind.DOUBLE)
_BOOLEAN = int(ValueKind.BOOLEAN)


@kernel
def _gather(content: Bytes, begin: Longs, size: Longs, gathered: Bytes) -> None:
    """Join slices of ``content``, uint8, given by int64 (V,) begins and sizes."""
    at = 0
    for i in range(len(begin)):
        for j in range(begin[i], begin[i] + size[i]):
            gathered[at] = content[j]
            at += 1


@kernel
def _place_of(rows: Ints, row: Number, after: Number) -> Number:
    """The place of a row in ascending rows, or -1; it is often ``after``."""
    if after < len(rows) and rows[after] == row:
        return after
    return place_of(rows, row)


@kernel
def _number(kind: int, bits: Number) -> tuple[int, int, Number]:
    """The kind of a value, its bytes, and its bits; `_NONE` if it is not a number."""
    if kind == SIGNED:
        return _INTEGER, 8, bits
    if kind == SIGNED_4:
        return _INTEGER, 8, np.uint64(np.int64(np.int32(bits)))
    if kind == SIGNED_2:
        return _INTEGER, 8, np.uint64(np.int64(np.int16(bits)))
    if kind == SIGNED_1:
        return _INTEGER, 8, np.uint64(np.int64(np.int8(bits)))
    if kind in (FLOAT4, FLOAT8):
        return _DOUBLE, 8, bits
    if kind == BOOL:
        return _BOOLEAN, 1, bits
    if kind == CHAR:
        return _UTF16, 2, bits
    return _NONE, 0, np.uint64(0)


@kernel
def _find_values(
    row: Ints,
    special: Bytes,
    bits: Ids,
    coder: Bytes,
    part: Ints,
    array: Ints,
    content_row: Ints,
    content_end: Longs,
    class_row: Ints,
    length: Longs,
    lengths: Longs,
    kind: Bytes,
    at: Ids,
    size: NDArray[np.uint16],
) -> None:
    """Find where values are, and give strings their length.

    Args:
        row: Rows of some objects; for this and the next columns see `Specials`.
        special: Their kinds.
        bits: Bits of numbers; `FLOAT4` is widened.
        coder: Likewise.
        part: Likewise.
        array: int32. Rows of the arrays of texts; negative for none.
        content_row: Likewise.
        content_end: Likewise.
        class_row: int32. Classes of all objects.
        length: int64. Lengths of all arrays.
        lengths: int64. Lengths of all objects; gets those of strings.
        kind: uint8. Gets the `ValueKind`, with `_CUT` for a text that is longer than
            its stored part and has a digest, or `_NONE`.
        at: uint64. Gets the position of a text in the content, or a number's bits.
        size: uint16. Gets the bytes of the value.
    """
    place: Number = -1
    for i in range(len(row)):
        if special[i] != TEXT:
            kind[i], size[i], at[i] = _number(special[i], bits[i])
            continue
        kind[i], size[i], at[i] = _NONE, 0, 0
        one = array[i]
        if one < 0:
            continue
        found = _place_of(content_row, one, place + 1)
        if found < 0:
            continue
        place = found
        is_chars = class_row[one] == CHARS_ROW
        wide = is_chars or coder[i] == 1
        unit = 2 if wide else 1
        # An instance with the id of an array finds its content, but has no length.
        units = max(length[one], 0) // (2 if wide and not is_chars else 1)
        offset = np.int64(0)
        if part[i, 1] >= 0:
            units = min(np.int64(part[i, 1]), units)
            offset = max(np.int64(part[i, 0]), np.int64(0))
        end: Number = content_end[place]
        begin = content_end[place - 1] if place > 0 else 0
        is_cut = end - begin > STORED_BYTES
        if is_cut:
            end = begin + STORED_BYTES
        begin = min(begin + offset * unit, end)
        used = min(end - begin, units * unit)
        lengths[row[i]] = units
        if used < unit <= units:
            continue
        kind[i] = _UTF16 if wide else _LATIN1
        if is_cut and part[i, 1] < 0:
            kind[i] |= _CUT
        at[i] = begin
        size[i] = used - used % unit


@kernel
def _count_removed(
    special: Bytes, kind: Bytes, at: Ids, size: NDArray[np.uint16], content: Bytes
) -> tuple[int, int, int]:
    """Count texts, those of zeros alone, and those of question marks alone."""
    texts = zeros = marks = 0
    for i in range(len(kind)):
        unit = 2 if kind[i] & ~_CUT == _UTF16 else 1
        if special[i] != TEXT or kind[i] == _NONE or size[i] < _TELLING * unit:
            continue
        texts += 1
        begin = np.int64(at[i])
        first = content[begin]
        end = begin + np.int64(size[i])
        place = begin
        while place < end and content[place] == first:
            place += unit
        if place >= end:
            zeros += first == 0
            marks += first == _QUESTION
    return texts, zeros, marks


@kernel
def _merge(
    row: Ints,
    special: Bytes,
    kind: Bytes,
    at: Ids,
    size: NDArray[np.uint16],
    content: Bytes,
    name_row: Ints,
    name_begin: Longs,
    name_end: Longs,
    names: Bytes,
    base: int,
    rows: Ints,
    kinds: Bytes,
    ends: Longs,
    gathered: Bytes,
) -> tuple[int, int]:
    """Merge values of `_find_values` with names, by ascending rows.

    If an object has both, its value is used.

    Args:
        row: Rows of some objects; for this and the next columns see `_find_values`.
        special: Likewise.
        kind: Likewise.
        at: Likewise.
        size: Likewise.
        content: Bytes of texts.
        name_row: int32. Rows that have names, ascending.
        name_begin: int64. Begins of these names.
        name_end: int64. Ends of these names.
        names: uint8. The names.
        base: Bytes of all values before these.
        rows: int32. Gets the objects with values or names.
        kinds: uint8. Gets their kinds.
        ends: int64. Gets where their bytes end.
        gathered: uint8. Gets the bytes, from 0 on.

    Returns:
        How many values there are, and how many bytes.
    """
    used = 0
    many = 0
    name = 0
    i = 0
    while i < len(row) or name < len(name_row):
        if i < len(row) and kind[i] == _NONE:
            i += 1
            continue
        if i == len(row) or (name < len(name_row) and name_row[name] < row[i]):
            for j in range(name_begin[name], name_end[name]):
                gathered[used] = names[j]
                used += 1
            rows[many], kinds[many] = name_row[name], _NAME
            name += 1
        else:
            if name < len(name_row) and name_row[name] == row[i]:
                name += 1
            is_cut = (kind[i] & _CUT) != 0
            known = kind[i] & ~_CUT
            unit = 2 if known == _UTF16 else 1
            stored = np.int64(size[i])
            if is_cut:
                stored -= MARK_UNITS * unit
            for j in range(stored):
                if special[i] == TEXT:
                    gathered[used] = content[np.int64(at[i]) + j]
                else:
                    gathered[used] = (at[i] >> np.uint64(8 * j)) & np.uint64(255)
                used += 1
            if is_cut:
                digest = np.int64(at[i]) + STORED_BYTES
                write_mark(content, digest, gathered, used, unit)
                used += MARK_UNITS * unit
            rows[many], kinds[many] = row[i], known
            i += 1
        ends[many] = base + used
        many += 1
    return many, used


class ValueBuilder:
    """Finds the texts of strings, and makes the column of values.

    Args:
        specials: Records of the dump, by rows of the graph.
        find: The rows of objects by id, negative for none.
        class_row: int32. The class of each object.
        length: int64. The length of each array; gets those of strings.
        spill: Folder for large columns; see `ingest.arrays.array_files.folder_for`.
    """

    def __init__(
        self,
        specials: Specials,
        find: Callable[[NDArray[np.uint64]], Ints],
        class_row: Ints,
        length: Longs,
        *,
        spill: str = NEVER,
    ) -> None:
        self._specials = specials
        self._find = find
        self._spill = spill
        self._names: list[tuple[Ints, Longs, Longs]] = []
        self._name_data = bytearray()
        self._kind, self._at, self._size = self._values(class_row, length)
        self.note = self._forget_removed()
        self._ended = self._rows_of_ended()
        self._ended_class = class_row[self._ended]

    def _values(
        self, class_row: Ints, length: Longs
    ) -> tuple[Bytes, Ids, NDArray[np.uint16]]:
        """Kinds, places and sizes of values; see `_find_values`."""
        found = self._specials
        kind, at, size = (GrowingColumn(one, self._spill) for one in ("u1", "u8", "u2"))
        begins = range(0, len(found.row), _BLOCK)
        # A string with the id of an array has the row of the array.
        of_arrays = length.copy() if found.is_moved else length

        def arrays(begin: int) -> Ints:
            return self._find(found.bits[begin : begin + _BLOCK])

        for begin, array in zip(begins, in_threads(arrays, begins), strict=True):
            part = slice(begin, begin + _BLOCK)
            special, bits = found.kind[part], found.bits[part]
            if (short := special == FLOAT4).any():
                bits = bits.copy()
                floats = bits[short].astype(np.uint32).view(np.float32)
                with np.errstate(invalid="ignore"):  # a signalling NaN is a value, too
                    bits[short] = floats.astype(np.float64).view(np.uint64)
            made: tuple[Bytes, Ids, NDArray[np.uint16]] = (
                np.empty(len(bits), np.uint8),
                np.empty(len(bits), np.uint64),
                np.empty(len(bits), np.uint16),
            )
            _find_values(
                found.row[part], special, bits, found.coder[part], found.slice[part],
                array, found.content_row, found.content_end, class_row, of_arrays,
                length, *made,
            )  # fmt: skip
            kind.add(made[0])
            at.add(made[1])
            size.add(made[2])
        return kind.taken(), at.taken(), size.taken()

    def _forget_removed(self) -> str:
        """Drop the texts of a dump if another tool has overwritten them.

        Overwritten texts of the same length would all be equal.
        """
        found = self._specials
        texts, zeros, marks = _count_removed(
            found.kind, self._kind, self._at, self._size, found.content
        )
        removed = max(zeros, marks)
        if removed < _FEWEST_REMOVED or 2 * removed < texts:
            return ""
        self._kind[found.kind == TEXT] = _NONE
        by = "zeros" if zeros > marks else "question marks, as LeakCanary writes them,"
        return (
            f"the texts were removed from this dump before it was read: {removed:,} of "
            f"{texts:,} are {by} alone. None is shown, or compared with others"
        )

    def _rows_of_ended(self) -> Ints:
        """int32: rows of the objects that tell that their work is done."""
        found = self._specials
        is_set = found.bits != 0
        ended = found.row[
            ((found.kind == DESTROYED) & is_set)
            | ((found.kind == UNMANAGED) & ~is_set & (found.coder != 0))
        ]
        others = np.flatnonzero((found.kind == ENDS_WITH) & is_set)
        with_them = np.isin(self._find(found.bits[others]), ended)
        return np.concatenate([ended, found.row[others[with_them]]])

    def add_names(self, rows: Ints, names: Iterable[str]) -> None:
        """Add names of objects; if an object has several values, the first counts.

        Args:
            rows: int32 (K,). The objects.
            names: K names.
        """
        data = self._name_data
        shared: dict[str, tuple[int, int]] = {}
        begin, end = np.empty((2, len(rows)), np.int64)
        for i, name in enumerate(names):
            if (place := shared.get(name)) is None:
                shown = name
                if len(name) > _LONGEST_NAME:
                    shown = name[: _LONGEST_NAME - 1] + "…"
                text = shown.encode("utf-8", "replace")
                place = len(data), len(data) + len(text)
                data.extend(text)
                if len(name) >= _LONG_NAME:
                    shared[name] = place
            begin[i], end[i] = place
        self._names.append((rows, begin, end))

    def thread_names(self) -> dict[int, str]:
        """Names of thread objects, by row."""
        found = self._specials
        at = np.flatnonzero(found.kind == THREAD)
        names: dict[int, str] = {}
        held = self._find(found.bits[at]).tolist()
        for row, text_row in zip(found.row[at].tolist(), held, strict=True):
            i = _row_at(found.row, text_row)
            if i < 0 or found.kind[i] != TEXT or self._kind[i] == _NONE:
                name = self._of_chars(text_row)
            else:
                begin, size = int(self._at[i]), int(self._size[i])
                wide = self._kind[i] & ~np.uint8(_CUT) == ValueKind.UTF16
                data = found.content[begin : begin + size].tobytes()
                name = data.decode("utf-16-le" if wide else "latin-1", "replace")
            if name:
                names[row] = name
        return names

    def add_states(self, end_words: Mapping[int, str]) -> None:
        """Add states as names: sizes of bitmaps, bounds of caches, ``destroyed``.

        Args:
            end_words: What an object is called whose work is done, by class.
        """
        found = self._specials
        at = np.flatnonzero(found.kind == BITMAP)
        sides = found.slice[at].tolist()
        self.add_names(
            found.row[at], (f"{width} x {height}" for width, height in sides)
        )
        for kind, field, most in _LIMITS:
            at = np.flatnonzero(found.kind == kind)
            limits = found.bits[at].astype(np.int64)
            is_set = (limits >= 0) & (limits <= most)
            names = (f"{field} {limit}" for limit in limits[is_set].tolist())
            self.add_names(found.row[at[is_set]], names)
        words = map(end_words.__getitem__, self._ended_class.tolist())
        self.add_names(self._ended, words)

    def external(self) -> ExternalMemory | None:
        """Memory outside the heap: direct buffers, and bitmaps since Android 8.

        A buffer that is a view of another one owns no memory. A mapped file belongs to
        the system, which takes it back. Memory that nothing frees is counted, since a
        library such as Netty, or native code, may free it.
        """
        found = self._specials
        of_native = (DIRECT_BUFFER, VIEWED_BUFFER, BITMAP)
        at = np.flatnonzero(np.isin(found.kind, of_native))
        kind, size = found.kind[at], found.slice[at].astype(np.int64)
        is_set = found.bits[at] != 0
        drawn = kind == BITMAP
        owns = np.where(kind == DIRECT_BUFFER, is_set, ~is_set) & (size[:, 0] > 0)
        owns &= ~drawn | (size[:, 1] > 0)
        is_mapped = ~np.isin(size[:, 1], (0, -1))
        owns &= (kind != VIEWED_BUFFER) | ~is_mapped
        at, size, drawn = at[owns], size[owns], drawn[owns]
        if not len(at):
            return None
        sides = np.minimum(size, _MOST_PIXELS)
        pixels = _PIXEL_BYTES * sides[:, 0] * sides[:, 1]
        return ExternalMemory(
            found.row[at],
            np.where(drawn, pixels, size[:, 0]),
            drawn.astype(np.int32),
            _NATIVE,
        )

    def _of_chars(self, row: int) -> str:
        """The name of a thread in Java 8 or older, where it is an array of chars."""
        found = self._specials
        at = _row_at(found.content_row, row)
        if at < 0:
            return ""
        begin, end = found.content_end[at - 1] if at else 0, found.content_end[at]
        end = min(end, begin + STORED_BYTES)
        return found.content[begin:end].tobytes().decode("utf-16-le", "replace")

    def build(self) -> ObjectValues | None:
        """All values; ``None`` if there are none. Call it once."""
        found, rows = self._specials, self._specials.row
        named, name_begin, name_end = self._all_names()
        data = np.frombuffer(bytes(self._name_data), np.uint8)
        index, kind, start, content = (
            GrowingColumn(dtype, self._spill) for dtype in ("i4", "u1", "i8", "u1")
        )
        total = before = 0
        start.add(np.zeros(1, np.int64))
        for begin in range(0, max(len(rows), 1), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            after = len(named)
            if begin + _BLOCK < len(rows):
                after = int(np.searchsorted(named, rows[part][-1], "right"))
            names = slice(before, after)
            before = after
            many = len(rows[part]) + len(named[names])
            size = int(self._size[part].sum(dtype=np.int64))
            size += int((name_end[names] - name_begin[names]).sum())
            made: tuple[Ints, Bytes, Longs, Bytes] = (
                np.empty(many, np.int32),
                np.empty(many, np.uint8),
                np.empty(many, np.int64),
                np.empty(size, np.uint8),
            )
            many, size = _merge(
                rows[part], found.kind[part], self._kind[part], self._at[part],
                self._size[part], found.content, named[names], name_begin[names],
                name_end[names], data, total, *made,
            )  # fmt: skip
            index.add(made[0][:many])
            kind.add(made[1][:many])
            start.add(made[2][:many])
            content.add(made[3][:size])
            total += size
        values = ObjectValues(
            index.taken(), kind.taken(), start.taken(), content.taken()
        )
        release_pages(values.object_index, values.kind, values.start, values.content)
        return values if len(values.kind) else None

    def _all_names(self) -> tuple[Ints, Longs, Longs]:
        """The rows with names, ascending, and begins and ends of the names."""
        rows, begin, end = (
            np.concatenate(column) for column in zip(*self._names, strict=True)
        )
        rows, first = np.unique(rows, return_index=True)
        return rows.astype(np.int32), begin[first], end[first]


def _row_at(rows: Ints, row: int) -> int:
    """The place of a row among ascending ones; -1 if it is not there."""
    at = int(np.searchsorted(rows, np.int32(row)))
    return at if at < len(rows) and rows[at] == row else -1
