"""The columns of a heap as it is scanned, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.arrays.spill import NEVER
from ingest.readers.hprof.classes import CLASS_ROW
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
from ingest.readers.shared.columns import GrowingColumn, narrowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Longs
    from ingest.readers.hprof.records import HeapBuffers

_ROWS = {
    "id": (OBJECTS, "u8"),
    "class_row": (OBJECTS, "i4"),
    "length": (OBJECTS, "i8"),
    "ref_count": (OBJECTS, "i4"),
    "null_count": (OBJECTS, "u1"),
    "space": (OBJECTS, "u1"),
    "ref_id": (REFERENCES, "u8"),
    "ref_field": (REFERENCES, "i4"),
    "ref_kind": (REFERENCES, "u1"),
    "root_id": (ROOTS, "u8"),
    "root_tag": (ROOTS, "u1"),
    "root_thread": (ROOTS, "u4"),
    "root_frame": (ROOTS, "i4"),
    "special_row": (SPECIALS, "i4"),
    "special_kind": (SPECIALS, "u1"),
    "special_bits": (SPECIALS, "u8"),
    "special_coder": (SPECIALS, "u1"),
    "special_slice": (SPECIALS, "u8"),
    "content_row": (CONTENTS, "i4"),
    "content_end": (CONTENTS, "i8"),
    "content": (BYTES, "u1"),
}
"""The count that each column belongs to, and its type."""

_IN_MEMORY = ("class_row", "ref_count", "ref_kind")
"""Columns that are read again at once, so they stay in memory, however large."""


class RecordedHeap:
    """The objects, references and roots of a dump.

    Args:
        id_size: 4 or 8 bytes.
        stores: Whether objects are stored, or only counted.
        spill: Folder for large columns; see `ingest.arrays.array_files.folder_for`.

    Attributes:
        spill: As given.
        object_count: Objects so far.
        short_count: Instances so far that lack some of the fields of their class.
    """

    def __init__(
        self, id_size: int, *, stores: bool = True, spill: str = NEVER
    ) -> None:
        self._stores = stores
        self._id_size = id_size
        self._deferred_space = 0
        self.spill = spill
        self.object_count = self.short_count = 0
        self._content_bytes = 0
        self._deferred = bytearray()
        self._described: list[Ids] = []
        self._columns = {
            name: GrowingColumn(dtype, NEVER if name in _IN_MEMORY else spill)
            for name, (_, dtype) in _ROWS.items()
        }

    def take(
        self, data: bytes | bytearray, buffers: HeapBuffers, counts: Longs
    ) -> None:
        """Copy the rows that a scan of ``data`` has written into ``buffers``."""
        buffers.special_row[: counts[SPECIALS]] += np.int32(self.object_count)
        buffers.content_row[: counts[CONTENTS]] += np.int32(self.object_count)
        buffers.content_end[: counts[CONTENTS]] += self._content_bytes
        for name, (kind, _) in _ROWS.items():
            if (count := counts[kind]) and self._stores:
                rows = getattr(buffers, name)[:count]
                if name == "special_slice":
                    rows = rows.view(np.uint64)[:, 0]
                self.append(name, narrowed(rows) if name == "null_count" else rows)
        for begin, end, space in buffers.deferred[: counts[DEFERRED]].tolist():
            if space != self._deferred_space:
                info = bytes([HEAP_INFO]) + space.to_bytes(4, "big")
                self._deferred += info + bytes(self._id_size)
                self._deferred_space = space
            self._deferred += data[begin:end]
        objects = int(counts[OBJECTS])
        is_class = buffers.class_row[:objects] == CLASS_ROW
        if is_class.any():
            self._described.append(buffers.id[:objects][is_class])
        self.object_count += objects
        self._content_bytes += int(counts[BYTES])
        self.short_count += int(counts[SHORT])

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Add rows to a column; the scan's counts do not change."""
        self._columns[name].add(rows)

    def class_objects(self) -> Ids:
        """uint64: the ids of recorded objects that are classes."""
        return np.concatenate([np.empty(0, np.uint64), *self._described])

    def take_deferred(self) -> bytes:
        """The records that had to wait for their classes, which are freed here."""
        found, self._deferred = bytes(self._deferred), bytearray()
        return found

    def column(self, name: str) -> NDArray[Any]:
        """A column, which is emptied here."""
        return self._columns[name].taken()

    def specials(self) -> Specials:
        """The records of objects with values."""
        return Specials(
            self.column("special_row"),
            self.column("special_kind"),
            self.column("special_bits"),
            self.column("special_coder"),
            self.column("special_slice").view(np.int32).reshape(-1, 2),
            self.column("content_row"),
            self.column("content_end"),
            self.column("content"),
        )
