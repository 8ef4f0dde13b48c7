"""Scans the pieces of a gclog in parallel, and returns them in order.

A record belongs to the open domain, which is known only when all earlier pieces are
scanned. Domains are few: a piece is scanned as if none opened or closed in the pieces
still being scanned, and scanned again if one did.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import TYPE_CHECKING

import numpy as np

from ingest.readers.gclog.scan import (
    INSIDE,
    KINDS,
    LINE,
    NULLS,
    OFFSET,
    SECTION,
    STATE,
    GclogBuffers,
    buffers_for,
    scan,
)
from ingest.readers.shared.columns import ObjectColumns
from ingest.readers.shared.threads import thread_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from ingest.compiled import Longs

_ANY_SECTION = -2
_REUSED_BUFFER_BYTES = 4 << 20


@dataclass(slots=True)
class GclogPiece:
    """The columns of one piece of the file; ids are the dump's own.

    Attributes:
        objects: Null references left out; lines are 1-based, modulo 2^32.
        root: int64 (R, 6): object id, kind, flags, has a container, container's
            type id, section. Ids are the bits of a uint64.
        root_line: int64 (R,).
    """

    objects: ObjectColumns
    root: NDArray[np.int64]
    root_line: NDArray[np.int64]


@dataclass(slots=True)
class _Scan:
    """One piece scanned on its own: its lines count from 0.

    Attributes:
        piece: Its columns.
        types, events: As in `GclogScanner`.
        before: (section, state) assumed at its begin.
        state: int64 (5,): lines, section, state, null references, offset, after it.
        book: As in `GclogScanner`.
    """

    piece: GclogPiece
    types: list[tuple[int, int, bytes, int]]
    events: list[tuple[int, int, bytes, int]]
    before: tuple[int, int]
    state: Longs
    book: Longs


class GclogScanner:
    """Scans a gclog piece by piece, and collects its types and events.

    Attributes:
        types: (id, section, name as bytes, line) of each ``t`` record, repetitions of
            the first one left out.
        events: (kind, section, rest of the line as bytes, line) of each ``a`` and
            ``c`` record, and of the first record of each run outside any domain.
        book: int64 (kinds, 3): count, first line and first byte offset of each of
            `KINDS`; the offset counts decompressed bytes, without a byte order mark.
    """

    def __init__(self) -> None:
        self._state = np.zeros(5, np.int64)
        self._state[SECTION] = -1
        self._own = local()
        self.book = np.zeros((len(KINDS), 3), np.int64)
        self.types: list[tuple[int, int, bytes, int]] = []
        self._first_names: dict[tuple[int, int], bytes] = {}
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
    def null_reference_count(self) -> int:
        """References to id 0 so far."""
        return int(self._state[NULLS])

    @property
    def is_open(self) -> bool:
        """Whether a domain is open, so that the file ended without closing it."""
        return bool(self._state[STATE] == INSIDE)

    def scan(self, texts: Iterable[bytes]) -> Iterator[GclogPiece]:
        """Scan ``texts``, each ending at a line end or at the end of the file.

        At most one more than there are cores are in memory at a time.
        """
        workers = thread_count()
        running: deque[tuple[bytes, int, Future[_Scan]]] = deque()
        offset = self.offset
        with ThreadPoolExecutor(workers) as pool:
            for text in texts:
                before = self._before()
                running.append(
                    (text, offset, pool.submit(self._scan, text, offset, before))
                )
                offset += len(text)
                # All others depend on the domain that the first piece opens.
                while len(running) > (workers if self.offset else 0):
                    yield self._take(*running.popleft())
            while running:
                yield self._take(*running.popleft())

    def _before(self) -> tuple[int, int]:
        return int(self._state[SECTION]), int(self._state[STATE])

    def _scan(self, text: bytes, offset: int, before: tuple[int, int]) -> _Scan:
        """Scan one piece, on a worker thread."""
        buffers = self._buffers(len(text))
        state = np.array([0, *before, 0, offset], np.int64)
        book = np.zeros((len(KINDS), 3), np.int64)
        used = np.zeros(5, np.int64)
        scan(np.frombuffer(text, np.uint8), state, buffers, book, used)
        objects, references, types, roots, events = used.tolist()
        return _Scan(
            GclogPiece(
                ObjectColumns(
                    id=buffers.object_id[:objects].copy(),
                    type_id=buffers.object_type_id[:objects].copy(),
                    size_bytes=buffers.object_size_bytes[:objects].copy(),
                    ref_count=buffers.object_ref_count[:objects].copy(),
                    ref_id=[buffers.reference_id[:references].copy()],
                    scope=buffers.object_section[:objects].copy(),
                    line=buffers.object_line[:objects].copy(),
                ),
                buffers.root[:roots].copy(),
                buffers.root_line[:roots].copy(),
            ),
            [
                (id_bits % 2**64, section, text[start:end], line)
                for id_bits, section, start, end, line in buffers.type[:types].tolist()
            ],
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

    def _take(self, text: bytes, offset: int, future: Future[_Scan]) -> GclogPiece:
        """The next piece, its lines numbered from the start of the file."""
        found = future.result()
        if found.before != self._before():
            found = self._scan(text, offset, self._before())
        lines = self.line
        for type_id, section, name, line in found.types:
            self._add_type(type_id, section, name, line + lines)
        self.events += [(k, s, rest, line + lines) for k, s, rest, line in found.events]
        fresh = (self.book[:, 0] == 0) & (found.book[:, 0] > 0)
        self.book[fresh, 1] = found.book[fresh, 1] + lines
        self.book[fresh, 2] = found.book[fresh, 2]
        self.book[:, 0] += found.book[:, 0]
        found.state[[LINE, NULLS]] += self._state[[LINE, NULLS]]
        self._state = found.state
        assert found.piece.objects.line is not None
        found.piece.objects.line += np.uint32(lines % 2**32)
        found.piece.root_line += lines
        return found.piece

    def _add_type(self, type_id: int, section: int, name: bytes, line: int) -> None:
        """Keep a declaration unless it repeats the first in its section and the file.

        A file of nothing else would take a hundred times its size.
        """
        anywhere = self._first_names.setdefault((type_id, _ANY_SECTION), name)
        here = self._first_names.get((type_id, section))
        if name == here == anywhere:
            return
        if here is None:
            self._first_names[type_id, section] = name
        self.types.append((type_id, section, name, line))
