"""Scans the pieces of a gclog in parallel, and returns them in order.

A record belongs to the open domain, which is known only when all earlier pieces are
scanned. Domains are few. So a piece is scanned as if none opened or closed in the
pieces still being scanned, and scanned again if one did.
"""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from dataclasses import dataclass
from itertools import chain, islice
from threading import local
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import MalformedDump
from ingest.readers.gclog.scan import (
    INSIDE,
    KINDS,
    LINE,
    OFFSET,
    SECTION,
    STATE,
    GclogBuffers,
    buffers_for,
    scan,
)
from ingest.readers.shared.columns import ObjectColumns, compact_counts
from ingest.system.memory import thread_count, threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Longs

_REUSED_BUFFER_BYTES = 4 << 20
_ROWS = 1 << 12
_MOST_TYPES = 1 << 20
_MOST_DOMAINS = 1 << 16
"""The most records of types and domains; real dumps have far fewer."""


@dataclass(slots=True)
class GclogPiece:
    """The columns of one piece of the file; ids are the dump's own.

    Attributes:
        objects: Null references left out; lines are 1-based, modulo 2^32.
        root_id: uint64 (R,). Ids of the objects.
        root_kind, root_flags: uint8 (R,). As in the file.
        root_has_type: bool (R,). Whether a type contains the static field.
        root_type_id: uint64 (R,). That type.
        root_section: int32 (R,).
        root_line: uint32 (R,). 1-based, modulo 2^32.
    """

    objects: ObjectColumns
    root_id: NDArray[np.uint64]
    root_kind: NDArray[np.uint8]
    root_flags: NDArray[np.uint8]
    root_has_type: NDArray[np.bool_]
    root_type_id: NDArray[np.uint64]
    root_section: NDArray[np.int32]
    root_line: NDArray[np.uint32]


@dataclass(slots=True)
class _Scan:
    """One piece scanned on its own: its lines count from 0.

    Attributes:
        piece: Its columns.
        types: Count and first line of the ``t`` records by section, id and name.
        type_count: How many ``t`` records there are.
        events: As in `GclogScanner`.
        before: The (section, state) that was assumed at its begin.
        state: int64 (4,): lines, section, state, offset, after the piece.
        book: As in `GclogScanner`.
    """

    piece: GclogPiece
    types: dict[tuple[int, int, bytes], list[int]]
    type_count: int
    events: list[tuple[int, int, bytes, int]]
    before: tuple[int, int]
    state: Longs
    book: Longs


class GclogScanner:
    """Scans a gclog piece by piece, and collects its types and events.

    Attributes:
        types: Name, as bytes, of the first ``t`` record of each section and id.
        conflict_count: How many ``t`` records give a type another name than the first.
        conflict_line: Line of the first of these records.
        events: (kind, section, rest of the line as bytes, line) of each ``a`` and
            ``c`` record, and of the first record of each run outside any domain.
        book: int64 (kinds, 3): count, first line and first byte offset of each of
            `KINDS`; the offset counts decompressed bytes, without a byte order mark.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._state = np.zeros(4, np.int64)
        self._state[SECTION] = -1
        self._own = local()
        self.book = np.zeros((len(KINDS), 3), np.int64)
        self.types: dict[tuple[int, int], bytes] = {}
        self.conflict_count = self.conflict_line = 0
        self._type_count = 0
        self.events: list[tuple[int, int, bytes, int]] = []

    @property
    def line(self) -> int:
        """Lines scanned so far."""
        return int(self._state[LINE])

    @property
    def offset(self) -> int:
        """Bytes scanned so far."""
        return int(self._state[OFFSET])

    @property
    def is_open(self) -> bool:
        """Whether a domain is open, so that the file ended without closing it."""
        return bool(self._state[STATE] == INSIDE)

    def scan(self, texts: Iterable[bytes]) -> Iterator[GclogPiece]:
        """Scan ``texts``, each ending at a line end or at the end of the file.

        At most one more than the number of cores are in memory at a time.

        Raises:
            MalformedDump: more records of types or domains than any dump has.
        """
        pieces = iter(texts)
        # All other pieces depend on the domain that the first one opens. A small file
        # has only one piece, and is read without another thread.
        for text in islice(pieces, 1 if thread_count() > 1 else None):
            yield self._take(text, self._scan(text, self.offset, self._before()))
        self._own = local()  # this thread's buffers; other threads have their own
        for text in islice(pieces, 1):
            yield from self._scan_in_threads(chain([text], pieces))

    def _scan_in_threads(self, texts: Iterable[bytes]) -> Iterator[GclogPiece]:
        workers = thread_count()
        running: deque[tuple[bytes, Future[_Scan]]] = deque()
        offset = self.offset
        with threads(workers) as pool:
            for text in texts:
                scan = copy_context().run  # the context says how arrays are allocated
                work = pool.submit(scan, self._scan, text, offset, self._before())
                running.append((text, work))
                offset += len(text)
                while len(running) > workers:
                    text, work = running.popleft()
                    yield self._take(text, work.result())
            while running:
                text, work = running.popleft()
                yield self._take(text, work.result())

    def _before(self) -> tuple[int, int]:
        return int(self._state[SECTION]), int(self._state[STATE])

    def _scan(self, text: bytes, offset: int, before: tuple[int, int]) -> _Scan:
        """Scan one piece, on a worker thread."""
        buffers = self._buffers(len(text))
        state = np.array([0, *before, offset], np.int64)
        book = np.zeros((len(KINDS), 3), np.int64)
        used = np.zeros(5, np.int64)
        scan(np.frombuffer(text, np.uint8), state, buffers, book, used)
        objects, references, types, roots, events = used.tolist()
        if events > 2 * _MOST_DOMAINS:
            raise self._refused("domains")
        found: dict[tuple[int, int, bytes], list[int]] = {}
        for begin in range(0, types, _ROWS):
            rows = buffers.type[begin : min(types, begin + _ROWS)].tolist()
            for id_bits, section, start, end, line in rows:
                key = (section, id_bits % 2**64, text[start:end])
                found.setdefault(key, [0, line])[0] += 1
        root = buffers.root[:roots]
        return _Scan(
            GclogPiece(
                ObjectColumns(
                    id=buffers.object_id[:objects].copy(),
                    type_id=buffers.object_type_id[:objects].copy(),
                    size_bytes=buffers.object_size_bytes[:objects].copy(),
                    ref_count=buffers.object_ref_count[:objects].copy(),
                    ref_id=[buffers.reference_id[:references].copy()],
                    null_count=compact_counts(buffers.object_null_count[:objects]),
                    scope=buffers.object_section[:objects].copy(),
                    line=buffers.object_line[:objects].copy(),
                ),
                root_id=root[:, 0].astype(np.uint64),
                root_kind=root[:, 1].astype(np.uint8),
                root_flags=root[:, 2].astype(np.uint8),
                root_has_type=root[:, 3].astype(np.bool_),
                root_type_id=root[:, 4].astype(np.uint64),
                root_section=root[:, 5].astype(np.int32),
                root_line=buffers.root_line[:roots].astype(np.uint32),
            ),
            found,
            types,
            [
                (kind, section, text[start:end], line)
                for kind, start, end, line, section in buffers.event[:events].tolist()
            ],
            before,
            state,
            book,
        )

    def _buffers(self, size_bytes: int) -> GclogBuffers:
        """Buffers of this thread, reused so that their pages are mapped only once."""
        if size_bytes > _REUSED_BUFFER_BYTES:
            return buffers_for(size_bytes)
        reused: GclogBuffers | None = getattr(self._own, "buffers", None)
        if reused is None:
            reused = self._own.buffers = buffers_for(_REUSED_BUFFER_BYTES)
        return reused

    def _take(self, text: bytes, found: _Scan) -> GclogPiece:
        """The next piece, its lines numbered from the start of the file."""
        if found.before != self._before():
            found = self._scan(text, self.offset, self._before())
        lines = self.line
        self._type_count += found.type_count
        if self._type_count > _MOST_TYPES:
            raise self._refused("records of types")
        if found.state[SECTION] > _MOST_DOMAINS:
            raise self._refused("domains")
        for (section, type_id, name), (count, line) in found.types.items():
            if self.types.setdefault((section, type_id), name) != name:
                self.conflict_line = self.conflict_line or line + lines
                self.conflict_count += count
        self.events += [(k, s, rest, line + lines) for k, s, rest, line in found.events]
        fresh = (self.book[:, 0] == 0) & (found.book[:, 0] > 0)
        self.book[fresh, 1] = found.book[fresh, 1] + lines
        self.book[fresh, 2] = found.book[fresh, 2]
        self.book[:, 0] += found.book[:, 0]
        found.state[LINE] += self._state[LINE]
        self._state = found.state
        assert found.piece.objects.line is not None
        found.piece.objects.line += np.uint32(lines % 2**32)
        found.piece.root_line += np.uint32(lines % 2**32)
        return found.piece

    def _refused(self, what: str) -> MalformedDump:
        return MalformedDump(
            f"more {what} than any dump has; get the file again", path=self._path
        )
