"""Reads the lines of a Ruby heap dump, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import DumpError
from ingest.heap.completeness import UNREAD_BYTES
from ingest.readers.ruby.assembly import assemble
from ingest.readers.ruby.json_scan import text_hash
from ingest.readers.ruby.records import RubyRecords, decoded
from ingest.readers.ruby.scan import (
    BYTES,
    COLUMNS,
    KINDS,
    LINES,
    OBJECTS,
    STOPPED_AT,
    TYPES,
    RowTable,
    buffers_for,
    no_values,
    scan,
    table_of,
)
from ingest.readers.shared.columns import GrowingColumn
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.lines import complete_lines, to_utf8
from ingest.system.memory import trim

if TYPE_CHECKING:
    from ingest.arrays.compiled import Longs
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

_SLOTS = 1 << 12
_PIECE_BYTES = 256 << 10
"""Small enough that the buffers of a scan, which have room for any text, are few."""

_SPILLED = frozenset({"size_bytes", "line", "length", "content"})
_ROW_COLUMNS = frozenset({"data_row", "class_row", "shaped_row", "text_row"})


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the dump in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 50 bytes an object and 13 a reference, and the texts.

    Raises:
        DumpError: it has no objects.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    scanned = _RubyScanner(options.spill)
    cut = False
    for piece in complete_lines(
        to_utf8(source.chunks(progress, _PIECE_BYTES)), counter
    ):
        end = piece.rfind(b"\n") + 1
        scanned.take(piece[:end] if end < len(piece) else piece)
        if end < len(piece):
            # The last line. Without its end it may be cut, unless it can be read.
            before = scanned.book[0].copy()
            scanned.take(piece[end:] + b"\n")
            cut = bool(scanned.book[0, 0] > before[0])
            scanned.book[0] = before
    for kind, (count, line, _, _) in zip(KINDS, scanned.book.tolist(), strict=True):
        counter.add(kind, count, line, None)
    _, line, offset, skipped = scanned.book[0].tolist()
    counter.add(UNREAD_BYTES, skipped, line, offset)
    if cut:
        counter.add("truncated_line", 1, scanned.line, None)
    if source.truncated:
        counter.add("truncated_compression", 1, scanned.line, None)
    records = scanned.finish()
    if not len(records.columns["id"]):
        raise DumpError(
            "the dump has no objects; write it again, by ObjectSpace.dump_all",
            path=source.name,
        )
    return assemble(records, counter, options.spill)


class _RubyScanner:
    """The columns of all lines, as they are read.

    Attributes:
        book: int64. As `scan` has it.
        line: Lines so far.
    """

    def __init__(self, spill: str) -> None:
        self._columns = {
            name: GrowingColumn(np.dtype(kind), *((spill,) if name in _SPILLED else ()))
            for name, (_, kind) in COLUMNS.items()
        }
        known = np.array([text_hash(one.encode()) for one in TYPES], np.uint64)
        self._texts = table_of(known, _SLOTS)
        self._decoded = list(TYPES)
        self._sites = table_of(np.empty(0, np.uint64), _SLOTS)
        self._types = table_of(np.empty(0, np.uint64), _SLOTS)
        self._buffers, self._room = buffers_for(0), 0
        self._values = no_values()
        self._counts = np.zeros(BYTES + 1, np.int64)
        self._objects = self._bytes = self._begin = 0
        self.book: Longs = np.zeros((len(KINDS), 4), np.int64)
        self.line = 0

    def take(self, piece: bytes) -> None:
        """Scan some lines; the last byte is a line end."""
        if not piece:
            return
        if len(piece) > self._room:
            self._room = len(piece)
            self._buffers = buffers_for(self._room)
        data, at = np.frombuffer(piece, np.uint8), 0
        seen = self.book[:, 0].copy()
        while True:
            scan(
                data, at, self.line + 1, self._texts, self._sites, self._types,
                self._buffers, self._values, self._counts, self.book,
            )  # fmt: skip
            self._put(piece)
            at = int(self._counts[STOPPED_AT])
            if at >= len(piece):
                break
            self._texts = _with_room(self._texts)
            self._sites = _with_room(self._sites)
            self._types = _with_room(self._types)
        fresh = (seen == 0) & (self.book[:, 0] > 0)
        self.book[fresh, 2] += self._begin
        self._begin += len(piece)

    def _put(self, piece: bytes) -> None:
        counts, texts = self._counts, self._texts
        for row in range(len(self._decoded), int(texts.used[0])):
            text = piece[int(texts.begin[row]) : int(texts.end[row])]
            self._decoded.append(decoded(text))
        for name, column in self._columns.items():
            rows = getattr(self._buffers, name)[: counts[COLUMNS[name][0]]]
            if name in _ROW_COLUMNS:
                rows += self._objects
            elif name == "text_end":
                rows += self._bytes
            column.add(rows)
        self._objects += int(counts[OBJECTS])
        self._bytes += int(counts[BYTES])
        self.line += int(counts[LINES])

    def finish(self) -> RubyRecords:
        """All columns, which leave this empty."""
        self._buffers = buffers_for(0)
        columns = {name: column.taken() for name, column in self._columns.items()}
        trim()
        return RubyRecords(
            columns,
            self._decoded,
            self._sites.key[: int(self._sites.used[0])].tolist(),
            self._types.key[: int(self._types.used[0])].tolist(),
        )


def _with_room(table: RowTable) -> RowTable:
    """The same table, or where it is half full, one of twice the size."""
    count = int(table.used[0])
    if 2 * count < len(table.key):
        return table
    return table_of(table.key[:count], 2 * len(table.slot))
