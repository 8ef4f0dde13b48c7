"""Values of objects: texts of strings, numbers in boxes, names of threads and classes.

The text of a string is in an array, which the file may have before or after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel
from ingest.heap.values import ExternalMemory, ObjectValues, ValueKind
from ingest.readers.hprof.records import (
    BITMAP,
    BOOL,
    CHAR,
    CHARS_ROW,
    DESTROYED,
    DIRECT_BUFFER,
    FLOAT4,
    FLOAT8,
    SIGNED,
    SIGNED_1,
    SIGNED_2,
    SIGNED_4,
    TEXT,
    THREAD,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from ingest.compiled import Bytes, Ids, Ints, Longs

_PIXEL_BYTES = 4
_MOST_PIXELS = 1 << 20
_NATIVE = ("direct buffer", "bitmap")
_INTEGERS = {SIGNED: 8, SIGNED_4: 4, SIGNED_2: 2, SIGNED_1: 1}


@dataclass(slots=True, eq=False)
class Specials:
    """What is recorded of the objects that have values, in the order of the objects.

    Attributes:
        row: int32 (S,). Rows of the objects.
        kind: uint8 (S,).
        bits: uint64 (S,).
        coder: uint8 (S,).
        slice: int32 (S, 2). Offset and count in the array; -1 for all of it.
        content_row: int32 (C,). Rows of the arrays.
        content_start: int64 (C + 1,).
        content: uint8. The first bytes of each.
    """

    row: Ints
    kind: Bytes
    bits: Ids
    coder: Bytes
    slice: Ints
    content_row: Ints
    content_start: Longs
    content: Bytes

    def moved(self, new_row: Ints) -> None:
        """Renumber the objects; of those that become one the first is used."""
        rows, first = np.unique(new_row[self.row], return_index=True)
        self.row = rows.astype(np.int32)
        self.kind, self.bits = self.kind[first], self.bits[first]
        self.coder, self.slice = self.coder[first], self.slice[first]
        sizes = np.diff(self.content_start)
        rows, first = np.unique(new_row[self.content_row], return_index=True)
        start = np.concatenate([[0], np.cumsum(sizes[first])])
        content = np.empty(start[-1], np.uint8)
        _gather(self.content, self.content_start[first], sizes[first], content)
        self.content, self.content_start = content, start
        self.content_row = rows.astype(np.int32)


_LONGEST_NAME = 256
"""Letters of the name of an object that are stored; a type has the whole name."""
_LONG_NAME = 128
"""Letters from which on a name that many objects have is encoded once."""


@kernel
def _gather(content: Bytes, begin: Longs, size: Longs, gathered: Bytes) -> None:
    at = 0
    for i in range(len(begin)):
        for j in range(begin[i], begin[i] + size[i]):
            gathered[at] = content[j]
            at += 1


class ValueBuilder:
    """Finds the texts of strings, and makes the column of values.

    Args:
        specials: Of the dump, by rows of the graph.
        find: The rows of objects by id, negative for none.
        class_row: int32. The class of each object.
        length: int64. The length of each array; gets those of strings.
    """

    def __init__(
        self,
        specials: Specials,
        find: Callable[[NDArray[np.uint64]], Ints],
        class_row: Ints,
        length: Longs,
    ) -> None:
        self._specials = specials
        self._find = find
        self._parts: list[tuple[Ints, Bytes, Longs, Longs]] = []
        self._content = [specials.content]
        self._size = len(specials.content)
        self._texts(class_row, length)
        self._numbers()
        has_ended = (specials.kind == DESTROYED) & (specials.bits != 0)
        self._ended = specials.row[has_ended]
        self._ended_class = class_row[self._ended]

    def _texts(self, class_row: Ints, length: Longs) -> None:
        found = self._specials
        is_text = np.flatnonzero(found.kind == TEXT)
        array = self._find(found.bits[is_text])
        at = np.searchsorted(found.content_row, array)
        at = np.minimum(at, max(len(found.content_row) - 1, 0))
        has = np.zeros(len(at), np.bool_)
        if len(found.content_row):
            has = (array >= 0) & (found.content_row[at] == array)
        is_text, array, at = is_text[has], array[has], at[has]
        is_chars = class_row[array] == CHARS_ROW
        wide = is_chars | (found.coder[is_text] == 1)
        unit = np.where(wide, 2, 1)
        begin, end = found.content_start[at], found.content_start[at + 1]
        part = found.slice[is_text].astype(np.int64)
        is_part = part[:, 1] >= 0
        # An instance that repeats the id of an array has its content, but no length.
        units = np.maximum(length[array], 0) // np.where(wide & ~is_chars, 2, 1)
        units = np.where(is_part, np.minimum(part[:, 1], units), units)
        offset = np.where(is_part, np.maximum(part[:, 0], 0), 0)
        begin = np.minimum(begin + offset * unit, end)
        size = np.minimum(end - begin, units * unit)
        size -= size % unit
        rows = found.row[is_text]
        length[rows] = units
        kind = np.where(wide, ValueKind.UTF16, ValueKind.LATIN1).astype(np.uint8)
        self._parts.append((rows, kind, begin, size))

    def _numbers(self) -> None:
        found = self._specials
        for kind, width in _INTEGERS.items():
            at = np.flatnonzero(found.kind == kind)
            values = found.bits[at].astype(f"u{width}").view(f"i{width}").astype("<i8")
            self._add(found.row[at], ValueKind.INTEGER, values.view(np.uint8), 8)
        at = np.flatnonzero(found.kind == FLOAT8)
        self._add(found.row[at], ValueKind.DOUBLE, found.bits[at].view(np.uint8), 8)
        at = np.flatnonzero(found.kind == FLOAT4)
        floats = found.bits[at].astype(np.uint32).view(np.float32)
        with np.errstate(invalid="ignore"):  # a signalling NaN is a value, too
            doubles = floats.astype("<f8")
        self._add(found.row[at], ValueKind.DOUBLE, doubles.view(np.uint8), 8)
        at = np.flatnonzero(found.kind == BOOL)
        self._add(found.row[at], ValueKind.BOOLEAN, found.bits[at].astype(np.uint8), 1)
        at = np.flatnonzero(found.kind == CHAR)
        chars = found.bits[at].astype("<u2").view(np.uint8)
        self._add(found.row[at], ValueKind.UTF16, chars, 2)

    def _add(self, rows: Ints, kind: ValueKind, data: Bytes, width: int) -> None:
        begin = self._size + width * np.arange(len(rows), dtype=np.int64)
        sizes = np.full(len(rows), width, np.int64)
        self._parts.append((rows, np.full(len(rows), kind, np.uint8), begin, sizes))
        self._content.append(data)
        self._size += len(data)

    def add_names(self, rows: Ints, names: Iterable[str]) -> None:
        """Add names of objects; of several values of one object the first counts.

        Args:
            rows: int32 (K,). The objects.
            names: K names.
        """
        data = bytearray()
        shared: dict[str, tuple[int, int]] = {}
        begin, size = np.empty((2, len(rows)), np.int64)
        for i, name in enumerate(names):
            if (place := shared.get(name)) is None:
                shown = name
                if len(name) > _LONGEST_NAME:
                    shown = name[: _LONGEST_NAME - 1] + "…"
                text = shown.encode("utf-8", "replace")
                place = len(data), len(text)
                data.extend(text)
                if len(name) >= _LONG_NAME:
                    shared[name] = place
            begin[i], size[i] = place
        kind = np.full(len(rows), ValueKind.NAME, np.uint8)
        self._parts.append((rows, kind, self._size + begin, size))
        self._content.append(np.frombuffer(data, np.uint8))
        self._size += len(data)

    def thread_names(self) -> dict[int, str]:
        """The name of each thread object that has one, by row."""
        found = self._specials
        at = np.flatnonzero(found.kind == THREAD)
        rows, kinds, begins, sizes = self._parts[0]
        names: dict[int, str] = {}
        held = self._find(found.bits[at]).tolist()
        for row, text_row in zip(found.row[at].tolist(), held, strict=True):
            i = int(np.searchsorted(rows, text_row))
            if i == len(rows) or rows[i] != text_row:
                name = self._of_chars(text_row)
            else:
                end = begins[i] + sizes[i]
                wide = kinds[i] == ValueKind.UTF16
                data = found.content[begins[i] : end].tobytes()
                name = data.decode("utf-16-le" if wide else "latin-1", "replace")
            if name:
                names[row] = name
        return names

    def add_states(self, end_words: Mapping[int, str]) -> None:
        """Add the sizes of bitmaps, and which objects have done their work, as names.

        Args:
            end_words: What that is called, by the class.
        """
        found = self._specials
        at = np.flatnonzero(found.kind == BITMAP)
        sides = found.slice[at].tolist()
        self.add_names(
            found.row[at], (f"{width} x {height}" for width, height in sides)
        )
        words = map(end_words.__getitem__, self._ended_class.tolist())
        self.add_names(self._ended, words)

    def external(self) -> ExternalMemory | None:
        """Memory outside the heap: of direct buffers, and of bitmaps since Android 8.

        A buffer that is a view of another one owns none: it has nothing to free it.
        """
        found = self._specials
        size = found.slice.astype(np.int64)
        owns = (found.kind == DIRECT_BUFFER) & (found.bits != 0) & (size[:, 0] > 0)
        drawn = (found.kind == BITMAP) & (found.bits == 0) & (size > 0).all(axis=1)
        at = np.flatnonzero(owns | drawn)
        if not len(at):
            return None
        at = at[np.argsort(found.row[at])]
        sides = np.minimum(size[at], _MOST_PIXELS)
        pixels = _PIXEL_BYTES * sides[:, 0] * sides[:, 1]
        return ExternalMemory(
            found.row[at].astype(np.int32),
            np.where(owns[at], size[at, 0], pixels),
            drawn[at].astype(np.int32),
            _NATIVE,
        )

    def _of_chars(self, row: int) -> str:
        """The name of a thread of Java 8 or older, which is an array of chars."""
        found = self._specials
        at = int(np.searchsorted(found.content_row, row))
        if row < 0 or at == len(found.content_row) or found.content_row[at] != row:
            return ""
        begin, end = found.content_start[at : at + 2]
        return found.content[begin:end].tobytes().decode("utf-16-le", "replace")

    def build(self) -> ObjectValues | None:
        """All values; ``None`` if there are none. Once only."""
        rows, kinds, begins, sizes = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        self._parts.clear()
        if not len(rows):
            return None
        rows, first = np.unique(rows, return_index=True)
        kinds, begins, sizes = kinds[first], begins[first], sizes[first]
        start = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=start[1:])
        gathered = np.empty(int(start[-1]), np.uint8)
        used = [content for content in self._content if len(content)]
        content = used[0] if len(used) == 1 else np.concatenate(self._content)
        _gather(content, begins, sizes, gathered)
        return ObjectValues(rows.astype(np.int32), kinds, start, gathered)
