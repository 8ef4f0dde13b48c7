"""The columns of a heap as it is scanned, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.memory import trim
from ingest.readers.hprof.records import (
    BYTES,
    CONTENTS,
    DEFERRED,
    HEAP_INFO,
    OBJECTS,
    REFERENCES,
    ROOTS,
    SHORT,
    SPECIALS,
)
from ingest.readers.hprof.values import Specials
from ingest.readers.shared.columns import narrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ids, Longs
    from ingest.readers.hprof.records import HeapBuffers

_ROWS = {
    "id": OBJECTS,
    "class_row": OBJECTS,
    "length": OBJECTS,
    "ref_count": OBJECTS,
    "null_count": OBJECTS,
    "space": OBJECTS,
    "ref_id": REFERENCES,
    "ref_field": REFERENCES,
    "ref_kind": REFERENCES,
    "root_id": ROOTS,
    "root_tag": ROOTS,
    "root_thread": ROOTS,
    "root_frame": ROOTS,
    "special_row": SPECIALS,
    "special_kind": SPECIALS,
    "special_bits": SPECIALS,
    "special_coder": SPECIALS,
    "special_slice": SPECIALS,
    "content_row": CONTENTS,
    "content_end": CONTENTS,
    "content": BYTES,
}
_SMALL_PIECE, _MOST_SMALL_PIECES = 256, 128
"""Rows of a piece that is joined with others, and how many of them at a time."""


class RecordedHeap:
    """The objects, references and roots of a dump.

    Args:
        id_size: 4 or 8 bytes.
        stores: Whether objects are stored, not only counted.

    Attributes:
        object_count: Objects so far.
        short_count: Instances so far that lack some of the fields of their class.
    """

    def __init__(self, id_size: int, *, stores: bool = True) -> None:
        self._stores = stores
        self._id_size = id_size
        self._deferred_space = 0
        self.object_count = self.short_count = 0
        self._content_bytes = 0
        self._deferred = bytearray()
        self._pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in _ROWS}
        self._small_count = dict.fromkeys(_ROWS, 0)

    def take(
        self, data: bytes | bytearray, buffers: HeapBuffers, counts: Longs
    ) -> None:
        """Copy what a scan of ``data`` has written into ``buffers``."""
        added = {
            "special_row": np.int32(self.object_count),
            "content_row": np.int32(self.object_count),
            "content_end": self._content_bytes,
        }
        for name, kind in _ROWS.items():
            if (count := counts[kind]) and self._stores:
                rows = getattr(buffers, name)[:count]
                copied = narrowed(rows) if name == "null_count" else rows.copy()
                if name in added:
                    copied += added[name]
                self.append(name, copied)
        for begin, end, space in buffers.deferred[: counts[DEFERRED]].tolist():
            if space != self._deferred_space:
                info = bytes([HEAP_INFO]) + space.to_bytes(4, "big")
                self._deferred += info + bytes(self._id_size)
                self._deferred_space = space
            self._deferred += data[begin:end]
        self.object_count += int(counts[OBJECTS])
        self._content_bytes += int(counts[BYTES])
        self.short_count += int(counts[SHORT])

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to a column; the counts stay those of the scan."""
        # A scan that stops at every class would leave a piece for each.
        pieces = self._pieces[name]
        pieces.append(rows)
        is_small = len(rows) < _SMALL_PIECE
        self._small_count[name] = self._small_count[name] + 1 if is_small else 0
        if (count := self._small_count[name]) == _MOST_SMALL_PIECES:
            pieces[-count:] = [np.concatenate(pieces[-count:])]
            self._small_count[name] = 0

    def ids_of(self, class_row: int) -> Ids:
        """uint64: the ids of all objects of a class."""
        columns = zip(self._pieces["id"], self._pieces["class_row"], strict=True)
        found = [ids[rows == class_row] for ids, rows in columns]
        return np.concatenate([np.empty(0, np.uint64), *found])

    def take_deferred(self) -> bytes:
        """The records that had to wait for their classes; they are freed here."""
        found, self._deferred = bytes(self._deferred), bytearray()
        return found

    def pieces(self, name: str) -> list[NDArray[Any]]:
        """The pieces of a column, which are freed here."""
        found = self._pieces[name]
        self._pieces[name], self._small_count[name] = [], 0
        return found

    def column(self, name: str, dtype: str) -> NDArray[Any]:
        """A column, which is freed here."""
        pieces = self.pieces(name)
        if not pieces:
            return np.empty(0, dtype)
        joined = np.concatenate(pieces)
        if len(pieces) > 1:
            del pieces
            trim()
        return joined

    def specials(self) -> Specials:
        """What is recorded of objects with values."""
        ends = self.column("content_end", "i8")
        slices = self.pieces("special_slice")
        return Specials(
            self.column("special_row", "i4"),
            self.column("special_kind", "u1"),
            self.column("special_bits", "u8"),
            self.column("special_coder", "u1"),
            np.concatenate([np.empty((0, 2), np.int32), *slices]),
            self.column("content_row", "i4"),
            np.concatenate([np.zeros(1, np.int64), ends]),
            self.column("content", "u1"),
        )
