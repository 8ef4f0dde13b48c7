"""Values stored in objects: texts, numbers, names."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class ValueKind(IntEnum):
    """Encoding of the bytes of a value."""

    LATIN1 = 0
    UTF16 = 1
    NAME = 2
    INTEGER = 3
    DOUBLE = 4
    BOOLEAN = 5

    @property
    def label(self) -> str:
        """Name of the kind in the graph; both encodings of text have one name."""
        return _LABELS[self]


_LABELS = {
    ValueKind.LATIN1: "string",
    ValueKind.UTF16: "string",
    ValueKind.NAME: "name",
    ValueKind.INTEGER: "integer",
    ValueKind.DOUBLE: "double",
    ValueKind.BOOLEAN: "boolean",
}


_NUMBERS = (ValueKind.INTEGER, ValueKind.DOUBLE, ValueKind.BOOLEAN)


@dataclass(frozen=True, slots=True, eq=False)
class ExternalMemory:
    """Memory outside the heap that is freed with an object.

    Attributes:
        object_index: int32 (X,). The objects, strictly ascending.
        size_bytes: int64 (X,), bytes, >= 0.
        name_index: int32 (X,). Row of ``names``.
        names: What the memory is used for, as named by the runtime.
    """

    object_index: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    name_index: NDArray[np.int32]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectValues:
    """Values of some objects as bytes, decoded to text on demand.

    Attributes:
        object_index: int32 (V,). The objects, strictly ascending.
        kind: uint8 (V,). `ValueKind` values.
        start: int64 (V + 1,). Value i is ``content[start[i]:start[i + 1]]``.
        content: uint8. Latin-1, UTF-16-LE, UTF-8 (names, possibly malformed),
            int64 and float64 little-endian, or one byte.
    """

    object_index: NDArray[np.int32]
    kind: NDArray[np.uint8]
    start: NDArray[np.int64]
    content: NDArray[np.uint8]

    def between(self, begin: int, end: int) -> tuple[NDArray[np.int32], list[str]]:
        """Return the objects with a value from ``begin`` to ``end``, and the values."""
        first, last = np.searchsorted(self.object_index, [begin, end])
        starts = self.start[first : last + 1].tolist()
        base = starts[0]
        content = self.content[base : starts[-1]].tobytes()
        texts = [
            _READ[kind](content[starts[i] - base : starts[i + 1] - base])
            for i, kind in enumerate(self.kind[first:last].tolist())
        ]
        return self.object_index[first:last], texts

    def pick(self, rows: NDArray[np.integer[Any]]) -> list[str | None]:
        """Return the values of the objects in ``rows``, in their order."""
        at = np.searchsorted(self.object_index, rows)
        found: list[str | None] = []
        for row, i in zip(rows.tolist(), at.tolist(), strict=True):
            if i == len(self.object_index) or self.object_index[i] != row:
                found.append(None)
                continue
            content = self.content[self.start[i] : self.start[i + 1]].tobytes()
            found.append(_READ[int(self.kind[i])](content))
        return found

    def numbers(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
        """The numbers and truth values among some objects.

        Returns:
            Which of ``rows`` they are; their `ValueKind` values; and their bits, as in
            `FieldValues`.
        """
        if not len(self.object_index):
            none = np.empty(0, np.int64)
            return none, none.astype(np.uint8), none
        at = np.searchsorted(self.object_index, rows)
        at = np.minimum(at, len(self.object_index) - 1)
        sizes = self.start[at + 1] - self.start[at]
        is_number = (self.object_index[at] == rows) & np.isin(self.kind[at], _NUMBERS)
        is_number &= sizes <= 8
        at, sizes = at[is_number], sizes[is_number]
        data = np.zeros((len(at), 8), np.uint8)
        for size in np.unique(sizes).tolist():
            some = sizes == size
            places = self.start[at[some]][:, None] + np.arange(size)
            data[some, :size] = self.content[places]
        bits = data.view("<i8")[:, 0].astype(np.int64)
        return np.flatnonzero(is_number), self.kind[at], bits

    def renumbered(self, new_index: NDArray[np.int32]) -> ObjectValues:
        """Return the values after rows have been renumbered.

        Args:
            new_index: int32. New row of each old row, ascending; negative for objects
                that are removed.
        """
        moved = new_index[self.object_index]
        remaining = moved >= 0
        if remaining.all():
            return ObjectValues(moved, self.kind, self.start, self.content)
        sizes = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(sizes[remaining])])
        return ObjectValues(
            moved[remaining],
            self.kind[remaining],
            start,
            self.content[np.repeat(remaining, sizes)],
        )


NO_VALUE = 255
"""In place of a `ValueKind`: a null, which hides another field of its name."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldValues:
    """Numbers, truth values and names of enum constants in fields of some objects.

    An object has at most one value of a name.

    Attributes:
        object_index: int32 (F,). The objects, ascending.
        field: int32 (F,). Row of ``names``.
        kind: uint8 (F,). `ValueKind` values, but for the encodings of texts; from
            readers also `NO_VALUE`.
        bits: int64 (F,). The integer, the bits of the float64, 0 or 1, or the row of
            ``texts`` of a name.
        names: Names of the fields.
        texts: Names of constants, and characters.
    """

    object_index: NDArray[np.int32]
    field: NDArray[np.int32]
    kind: NDArray[np.uint8]
    bits: NDArray[np.int64]
    names: tuple[str, ...]
    texts: tuple[str, ...]

    def renumbered(self, new_index: NDArray[np.int32]) -> FieldValues:
        """Return the values after rows have been renumbered; see `ObjectValues`."""
        moved = new_index[self.object_index]
        stays = moved >= 0
        return FieldValues(
            moved[stays], self.field[stays], self.kind[stays], self.bits[stays],
            self.names, self.texts,
        )  # fmt: skip


_READ: dict[int, Callable[[bytes], str]] = {
    ValueKind.LATIN1: lambda data: data.decode("latin-1"),
    ValueKind.UTF16: lambda data: data.decode("utf-16-le", "replace"),
    ValueKind.NAME: lambda data: data.decode("utf-8", "replace"),
    ValueKind.INTEGER: lambda data: str(int.from_bytes(data, "little", signed=True)),
    ValueKind.DOUBLE: lambda data: repr(struct.unpack("<d", data)[0]),
    ValueKind.BOOLEAN: lambda data: "true" if data[0] else "false",
}
