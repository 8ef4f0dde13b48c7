"""The columns that a reader hands to the resolver: objects, references and roots."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.arrays import array_files
from ingest.arrays.spill import NEVER
from ingest.errors import MalformedDump
from ingest.heap.graph import NO_FIELD, NO_TYPE
from ingest.system.memory import beside, trim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs

    Numbers = NDArray[Any]

MAX_SIZE_BYTES = (1 << 47) - 1
"""Larger than any address space; a larger size is a fault of the file."""

_MANY_PIECES = 32
"""With at least so many rows, two columns are joined at a time, into files."""

_LARGEST_SUM = 2.0**62
"""Limit of the sum of sizes in 64 bits, with a margin for rounding."""


class InteriorRoots(Enum):
    """Which roots may point into the middle of an object."""

    NONE = 0
    FLAGGED = 1
    ANY = 2


@dataclass(slots=True, eq=False, kw_only=True)
class ObjectColumns:
    """N objects as a dump records them, with E references: all, or one piece.

    Attributes:
        id: uint64 or uint32 (N,). Id by which references name the object. If a dump
            names objects by row number: the address, or ``None`` for the row number.
        type_id: integer (N,). Looked up in a `TypeTable`.
        size_bytes: int64 (N,).
        ref_count: int32 (N,).
        ref_id: Arrays with E ids in all, in the order of the objects.
        null_count: unsigned integer (N,). Null references, which are not in E;
            ``None`` for none.
        ref_field: int32 (E,), as in the graph; ``None`` if none is recorded.
        ref_kind: uint8 (E,), as in the graph; ``None`` if all are strong.
        scope: int32 (N,). Section of the file in which the id is unique; ``None`` in
            formats with only one section.
        line: uint32 (N,). Line of each object; ``None`` in binary formats.
        further: Other columns of the graph by name, each with its value for
            placeholders: ``{"length": (length, -1)}``.
    """

    id: NDArray[Any] | None
    type_id: NDArray[Any]
    size_bytes: Longs
    ref_count: Ints
    ref_id: list[NDArray[Any]]
    null_count: NDArray[Any] | None = None
    ref_field: Ints | None = None
    ref_kind: Bytes | None = None
    scope: Ints | None = None
    line: NDArray[np.uint32] | None = None
    further: dict[str, tuple[NDArray[Any], int]] = field(default_factory=dict)

    @classmethod
    def joined(cls, pieces: list[ObjectColumns], spill: str = NEVER) -> ObjectColumns:
        """All pieces as one; ``pieces`` is emptied.

        Each column is freed in the pieces before the next one is joined. Arrays of
        references are not joined.

        Args:
            pieces: The pieces.
            spill: Folder for ids, sizes and lines; see `GrowingColumn`.
        """
        if len(pieces) == 1:
            return pieces.pop()
        further = pieces[0].further
        if any(piece.null_count is not None for piece in pieces):
            for piece in pieces:
                if piece.null_count is None:
                    piece.null_count = np.zeros(len(piece.size_bytes), np.uint8)

        def joint(name: str, spill: str = NEVER) -> Any:  # noqa: ANN401
            column = taken(pieces, name, spill)
            trim()  # frees the small arrays in which threads made the pieces
            return column

        def both(name: str, other: str) -> tuple[Any, Any]:
            # In memory, two columns at a time would be held twice.
            if spill == NEVER or len(pieces) < _MANY_PIECES:
                return joint(name, spill), joint(other)
            with beside(lambda: joint(name, spill)) as joined:
                column = joint(other)
                return joined(), column

        null_count = joint("null_count")
        ids, type_id = both("id", "type_id")
        size_bytes, ref_count = both("size_bytes", "ref_count")
        line, scope = both("line", "scope")
        found = cls(
            null_count=null_count,
            id=ids,
            type_id=type_id,
            size_bytes=size_bytes,
            ref_count=ref_count,
            ref_id=[ids for piece in pieces for ids in piece.ref_id],
            ref_field=joint("ref_field"),
            ref_kind=joint("ref_kind"),
            scope=scope,
            line=line,
            further={
                name: (
                    np.concatenate([piece.further.pop(name)[0] for piece in pieces]),
                    value,
                )
                for name, (_, value) in list(further.items())
            },
        )
        pieces.clear()
        trim()
        return found

    def keep(self, kept: Bools) -> None:
        """Keep only these objects, with their references."""
        references = np.repeat(kept, self.ref_count)
        self.ref_id = [np.concatenate(self.ref_id)[references]]
        for name in ("ref_field", "ref_kind"):
            if (column := getattr(self, name)) is not None:
                setattr(self, name, column[references])
        for name in (
            "id", "type_id", "size_bytes", "ref_count", "null_count", "scope", "line",
        ):  # fmt: skip
            if (column := getattr(self, name)) is not None:
                setattr(self, name, column[kept])
        for name, (column, value) in self.further.items():
            self.further[name] = column[kept], value


@dataclass(slots=True, eq=False, kw_only=True)
class RootColumns:
    """R roots as a dump records them; none is null.

    Attributes:
        id: integer (R,). Id of the object that the root holds.
        kind: uint8 (R,). As in the graph.
        flags: uint8 (R,). As in the graph.
        type: int32 (R,), as in the graph; ``None`` if none is recorded.
        field: int32 (R,). Likewise.
        owner: int32 (R,). Likewise.
        frame: int32 (R,). Likewise.
        scope: int32 (R,). Section of the file; ``None`` in formats with one.
        line: integer (R,). Line of each; ``None`` in binary formats.
        is_location: bool (R,). Whether the id may be the address of the root itself; a
            root without an object is then dropped. ``None`` if it never is.
        interior: Which roots may point into the middle of an object.
        counts_missing: Whether a root is an irregularity if its object is not in the
            dump.
    """

    id: NDArray[Any]
    kind: Bytes
    flags: Bytes
    type: Ints | None = None
    field: Ints | None = None
    owner: Ints | None = None
    frame: Ints | None = None
    scope: Ints | None = None
    line: NDArray[Any] | None = None
    is_location: Bools | None = None
    interior: InteriorRoots = InteriorRoots.NONE
    counts_missing: bool = True

    def extend(self, more: int, kind: int) -> None:
        """Add ``more`` roots of a kind; the other columns get "unknown"."""
        values = {"kind": kind, "flags": 0, "type": NO_TYPE, "field": NO_FIELD,
            "owner": -1, "frame": -1}  # fmt: skip
        for name, value in values.items():
            if (column := getattr(self, name)) is not None:
                setattr(self, name, extended(column, more, value))

    def keep(self, kept: Bools) -> None:
        """Keep only these roots."""
        if kept.all():
            return
        for known in fields(self):
            column = getattr(self, known.name)
            if isinstance(column, np.ndarray):
                setattr(self, known.name, column[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Folding:
    """The objects of a dump that are left out of the graph.

    Attributes:
        stays: bool (N,). False for objects that are folded.
        placeholder: bool (N,). Objects that the dump itself records as missing;
            ``None`` if there are none.
        null_row: Row of the object that stands for null and is folded; -1 for none.
        makes_roots: Whether every root was a reference of a folded object.
    """

    stays: Bools
    placeholder: Bools | None = None
    null_row: int = -1
    makes_roots: bool = False


class GrowingColumn:
    """A column that grows at its end.

    Memory: an eighth more than its rows. Joining pieces would take twice as much; here
    the system moves a large array to a larger place without copying it.

    Args:
        dtype: Type of the column; rows of a wider type change it.
        spill: Folder for the column once it is large; see `array_files.folder_for`.
    """

    def __init__(self, dtype: np.dtype[Any] | str, spill: str = NEVER) -> None:
        self._rows = np.empty(0, dtype)
        self._count = 0
        self._spill = spill
        self._file: array_files.ArrayFile | None = None

    def add(self, rows: NDArray[Any]) -> None:
        """Add a copy of ``rows``."""
        dtype = self._rows.dtype
        if rows.dtype.itemsize > dtype.itemsize:
            self._stay_in_memory(rows.dtype)
        if self._file is not None:
            try:
                self._file.add(rows.astype(dtype, copy=False))
                self._count += len(rows)
            except OSError:
                self._stay_in_memory(dtype)
            else:
                return
        end = self._count + len(rows)
        if end > len(self._rows):
            self._rows.resize(end + end // 8, refcheck=False)
            self._move_to_file()
        if self._file is not None:
            self.add(rows)
            return
        self._rows[self._count : end] = rows
        self._count = end

    def _move_to_file(self) -> None:
        """Move a large column to a file, if that is wanted and possible."""
        folder = array_files.folder_for(self._spill, self._rows)
        if folder is None:
            return
        try:
            self._file = array_files.ArrayFile(folder)
            self._file.add(self._rows[: self._count])
        except OSError:
            self._file, self._spill = None, NEVER
        else:
            self._rows = self._rows[:0].copy()

    def _stay_in_memory(self, dtype: np.dtype[Any]) -> None:
        count = self._count
        self._rows, self._spill = self.taken().astype(dtype), NEVER
        self._count = count

    def taken(self) -> NDArray[Any]:
        """All rows, which leave the column empty."""
        rows, self._rows = self._rows, self._rows[:0].copy()
        count, self._count = self._count, 0
        if self._file is not None:
            file, self._file = self._file, None
            return file.content(rows.dtype, count)
        rows.resize(count, refcheck=False)
        return rows


def taken(
    pieces: Sequence[object],
    name: str,
    spill: str = NEVER,
) -> Any:  # noqa: ANN401
    """A column of all pieces joined, and removed from them; ``None`` if it is not set.

    Args:
        pieces: Objects with an attribute ``name``, an array or ``None``.
        name: Name of the column.
        spill: Folder for the column if it is large; see `GrowingColumn`.
    """
    arrays = [getattr(piece, name) for piece in pieces]
    for piece in pieces:
        setattr(piece, name, None)
    if arrays[0] is None:
        return None
    if spill == NEVER:
        return np.concatenate(arrays)
    column = GrowingColumn(arrays[0].dtype, spill)
    arrays.reverse()
    while arrays:
        column.add(arrays.pop())
    return column.taken()


def narrowed(counts: NDArray[Any]) -> NDArray[Any]:
    """A copy in the smallest unsigned type that has room."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def compact_counts(counts: Ints) -> NDArray[Any] | None:
    """A copy in the smallest unsigned type that has room; ``None`` if all are 0."""
    return narrowed(counts) if counts.any() else None


def check_sum(size_bytes: NDArray[Any], path: str) -> None:
    """Make sure that no sum over objects of the dump at ``path`` overflows.

    Raises:
        MalformedDump: the sizes add up to more than 2^62 bytes.
    """
    if float(size_bytes.sum(dtype=np.float64)) >= _LARGEST_SUM:
        raise MalformedDump(
            "the sizes add up to more than any memory; get the file again", path=path
        )


def starts_of(counts: Ints, dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """(N + 1,): where the rows of each of N objects begin, then the end of all."""
    starts = np.zeros(len(counts) + 1, dtype)
    starts[1:] = counts
    # In place: `cumsum` would copy counts of another type, or add in one.
    return np.cumsum(starts, dtype=starts.dtype, out=starts)


def extended(column: NDArray[Any], more: int, value: int) -> NDArray[Any]:
    """``column`` with ``more`` rows of ``value``, for placeholders."""
    if not more:
        return column
    return array_files.extended(column, np.full(more, value, column.dtype))


def grown(column: NDArray[Any], more: int, value: int) -> NDArray[Any]:
    """As `extended`, for a column without other users, which is not copied."""
    if not more or column.base is not None or not column.flags.owndata:
        return extended(column, more, value)
    column.resize(len(column) + more, refcheck=False)
    column[-more:] = value
    return column


def shortened(column: NDArray[Any], rows: int) -> NDArray[Any]:
    """The first ``rows`` of ``column``; the rest of its memory is freed."""
    if rows == len(column):
        return column
    if column.base is not None or not column.flags.owndata:
        return column[:rows].copy()
    column.resize(rows, refcheck=False)
    return column
