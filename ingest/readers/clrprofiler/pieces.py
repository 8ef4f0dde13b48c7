"""Scans a CLR Profiler log piece by piece, and assigns columns to heap dumps.

Unless all dumps are read, at most two are stored at a time: the last complete one
and the one being read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump
from ingest.readers.base import Selection
from ingest.readers.clrprofiler.buffers import (
    ALLOCATIONS,
    BOUND_ROWS,
    CLOCK,
    COUNTERS,
    DUMP_ROWS,
    DUMPS,
    EPOCH,
    EVENTS,
    FRAMES,
    FUNCTION,
    HAS_FUNCTION,
    KINDS,
    LAST_EPOCH,
    LINE,
    LOCAL,
    OBJECTS,
    OFFSET,
    PLAIN_ROOTS,
    RANGES,
    REFERENCES,
    ROOTS,
    STACKS,
    STATES,
    STATIC,
    TEXTS,
    LogBuffers,
    buffers_for,
)
from ingest.readers.clrprofiler.names import (
    Functions,
    ident_of,
    local_of,
    static_of,
)
from ingest.readers.clrprofiler.scan import scan
from ingest.readers.shared.columns import ObjectColumns, compact_counts
from ingest.words.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.readers.clrprofiler.names import NamedRoot
    from ingest.readers.shared.irregularities import IrregularityCounter

_SMALL_BYTES, _STEP_BYTES = 1 << 14, 1 << 18
_MOST_LISTED = 10

MOST_EVENTS = 1 << 18
"""The most begins and ends of collections that are stored: an hour at 36 a second."""
_MOST_DUMPS = 1 << 16

_ROOT = (
    "root_id",
    "root_place",
    "root_kind",
    "root_flags",
    "root_named",
    "root_line",
)


@dataclass(slots=True, eq=False)
class LoggedDump:
    """One heap dump of a log.

    Attributes:
        index: 0 for the first.
        line, offset: Where it begins.
        epoch: How many ``b`` and ``g`` records are before it.
        allocation_count: How many allocations are before it.
        last_epoch: The same at its last record.
        object_count: Its objects, stored or not.
        pieces: Its objects; ``None`` if they are not stored.
        roots: Its roots, columns in pieces by name.
    """

    index: int
    line: int
    offset: int
    epoch: int
    allocation_count: int
    last_epoch: int
    object_count: int = 0
    pieces: list[ObjectColumns] | None = None
    roots: dict[str, list[NDArray[Any]]] = field(default_factory=dict)

    def root_column(self, name: str) -> NDArray[Any]:
        """A column of `ingest.readers.clrprofiler.scan.LogBuffers`; once only."""
        return np.concatenate(self.roots.pop(name))

    def discard(self) -> None:
        """Free its columns."""
        self.pieces = None
        self.roots = {}


class RowCounts(NamedTuple):
    """Rows of each group of columns: a position in the buffers."""

    objects: int = 0
    references: int = 0
    roots: int = 0
    plain: int = 0


@dataclass(slots=True, eq=False)
class LogScanner:
    """Scans a log piece by piece and stores its columns.

    Attributes:
        path: Path of the log, for messages.
        wanted: Index of the dump to choose; ``None`` for the last complete one.
        selection: The dumps whose columns are stored.
        dumps: All dumps of the log.
        types: The rest of each ``t`` line, by id; the first line counts.
        functions: The functions of ``f`` lines.
        named: Roots with names, and the dump that each belongs to.
        book: int64 (kinds, 3): count, first line and byte of each of `KINDS`.
    """

    path: str
    wanted: int | None
    selection: Selection = Selection.ONE
    dumps: list[LoggedDump] = field(default_factory=list)
    types: dict[int, bytes] = field(default_factory=dict)
    functions: Functions = field(default_factory=Functions)
    named: list[tuple[int, NamedRoot]] = field(default_factory=list)
    book: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((len(KINDS), 3), np.int64)
    )
    _best: LoggedDump | None = None
    _state: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(STATES, np.int64)
    )
    _buffers: LogBuffers | None = None
    _buffer_bytes: int = 0
    _parts: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    _bound_count: int = 0
    _event_count: int = 0
    _allocation_count: int = 0

    @property
    def line(self) -> int:
        """Lines scanned so far."""
        return int(self._state[LINE])

    @property
    def offset(self) -> int:
        """Bytes scanned so far."""
        return int(self._state[OFFSET])

    @property
    def epoch(self) -> int:
        """How many ``b`` and ``g`` records there are so far."""
        return int(self._state[EPOCH])

    @property
    def clock(self) -> int:
        """Milliseconds since the log's start, as last recorded."""
        return int(self._state[CLOCK])

    @property
    def has_functions(self) -> bool:
        """Whether there are functions: the profiler writes them, SOS does not."""
        return bool(self._state[HAS_FUNCTION])

    def column(self, name: str) -> NDArray[Any]:
        """A column of the log; once only, unless all dumps are read."""
        if name not in self._parts:
            return getattr(buffers_for(0), name)[:0].copy()  # type: ignore[no-any-return]
        joined = np.concatenate(self._parts.pop(name))
        if self.selection is Selection.ALL:
            self._parts[name] = [joined]
        return joined

    def take(self, text: bytes, counter: IrregularityCounter) -> None:
        """Scan complete lines."""
        at = 0
        while at < len(text):
            cut = len(text)
            if cut - at > _STEP_BYTES:
                cut = text.rfind(b"\n", at, at + _STEP_BYTES) + 1
                cut = cut or text.find(b"\n", at + _STEP_BYTES) + 1 or len(text)
            self._take(text[at:cut], counter)
            at = cut

    def _take(self, text: bytes, counter: IrregularityCounter) -> None:
        buffers = self._buffers_for(len(text))
        used = np.zeros(COUNTERS, np.int64)
        scan(np.frombuffer(text, np.uint8), self._state, buffers, self.book, used)
        rows = used.tolist()
        end = RowCounts(rows[OBJECTS], rows[REFERENCES], rows[ROOTS], rows[PLAIN_ROOTS])
        self._split(buffers, buffers.dump[: rows[DUMP_ROWS]].tolist(), end)
        events, bounds = rows[EVENTS], rows[BOUND_ROWS]
        buffers.event[:events, 6] += self._bound_count
        self._bound_count += bounds
        if self._event_count + events > MOST_EVENTS:
            over = max(self._event_count, MOST_EVENTS) - self._event_count
            line = int(buffers.event[over, 1])
            counter.add("too_many_collections", events - over, line, None)
            self._event_count += events - over
            events, bounds = over, bounds if over else 0
        self._event_count += events
        self._allocation_count += rows[ALLOCATIONS]
        for name, count in (
            ("range", rows[RANGES]),
            ("range_epoch", rows[RANGES]),
            ("allocation", rows[ALLOCATIONS]),
            ("allocation_at", rows[ALLOCATIONS]),
            ("stack", rows[STACKS]),
            ("stack_count", rows[STACKS]),
            ("frame", rows[FRAMES]),
            ("event", events),
            ("bound", bounds),
        ):
            if count:
                self._parts.setdefault(name, []).append(
                    getattr(buffers, name)[:count].copy()
                )
        for kind, start, stop, line, dumps in buffers.text[: rows[TEXTS]].tolist():
            if not self._name(kind, text[start:stop], line, max(dumps - 1, 0), counter):
                counter.add("malformed_record", 1, line, None)

    def _name(
        self,
        kind: int,
        rest: bytes,
        line: int,
        index: int,
        counter: IrregularityCounter,
    ) -> bool:
        """Parse a line with names; false if it is malformed."""
        if kind in (STATIC, LOCAL):
            root = static_of(rest, line) if kind == STATIC else local_of(rest, line)
            if root is not None:
                self.named.append((index, root))
            return root is not None
        found = ident_of(rest)
        if found is None:
            return False
        if kind == FUNCTION:
            self.functions.add(*found)
        elif self.types.setdefault(*found) != found[1]:
            counter.add("conflicting_type", 1, line, None)
        return True

    def _buffers_for(self, size_bytes: int) -> LogBuffers:
        """Buffers, reused so that their pages are mapped only once."""
        if size_bytes > _STEP_BYTES:
            return buffers_for(size_bytes)
        if self._buffers is None or size_bytes > self._buffer_bytes:
            small = size_bytes <= _SMALL_BYTES
            self._buffer_bytes = _SMALL_BYTES if small else _STEP_BYTES
            self._buffers = None
            self._buffers = buffers_for(self._buffer_bytes)
        return self._buffers

    def _split(
        self, buffers: LogBuffers, begun: list[list[int]], upto: RowCounts
    ) -> None:
        """Assign the rows of a piece to their dumps."""
        before = RowCounts()
        for line, offset, epoch, n, e, r, q, a, last_epoch in begun:
            here = RowCounts(n, e, r, q)
            self._put(buffers, before, here)
            if self.dumps:
                self.dumps[-1].last_epoch = last_epoch
            self._begin(line, offset, epoch, self._allocation_count + a)
            before = here
        self._put(buffers, before, upto)
        if self.dumps:
            self.dumps[-1].last_epoch = int(self._state[LAST_EPOCH])
        assert len(self.dumps) == self._state[DUMPS]

    def _begin(self, line: int, offset: int, epoch: int, allocations: int) -> None:
        before = self.dumps[-1] if self.dumps else None
        if self.wanted is None and before is not None:
            if not before.object_count:
                before.discard()
            else:
                if self._best is not None and self.selection is not Selection.ALL:
                    self._best.discard()
                self._best = before
        index = len(self.dumps)
        if index >= _MOST_DUMPS:
            raise MalformedDump(
                "more heap dumps than any log has; get the file again",
                path=self.path,
                line=line,
            )
        begun = LoggedDump(index, line, offset, epoch, allocations, epoch)
        if self.selection is not Selection.NONE and self.wanted in (None, index):
            begun.pieces = []
        self.dumps.append(begun)

    def _put(self, buffers: LogBuffers, begin: RowCounts, end: RowCounts) -> None:
        """Add rows to the last dump, if there is one."""
        if not self.dumps:
            return
        dump = self.dumps[-1]
        dump.object_count += end.objects - begin.objects
        if dump.pieces is None:
            return
        if end.objects > begin.objects or not dump.pieces:
            dump.pieces.append(_objects(buffers, begin, end))
        for names, first, last in (
            (_ROOT, begin.roots, end.roots),
            (("plain_root_id",), begin.plain, end.plain),
        ):
            for name in names:
                if last > first or name not in dump.roots:
                    column = getattr(buffers, name)[first:last].copy()
                    dump.roots.setdefault(name, []).append(column)

    def chosen(self, *, cut: bool) -> LoggedDump | None:
        """The dump to read; ``None`` if there is none with objects.

        Args:
            cut: Whether the file ends too early, perhaps in its last dump.
        """
        if self.wanted is not None:
            if self.wanted >= len(self.dumps):
                return None
            wanted = self.dumps[self.wanted]
            return wanted if wanted.object_count else None
        last = self.dumps[-1] if self.dumps else None
        if last is None or not last.object_count:
            return self._best
        is_complete = not (cut and self.is_cut(last))
        return last if is_complete or self._best is None else self._best

    def with_objects(self) -> list[LoggedDump]:
        """The dumps that have objects."""
        return [dump for dump in self.dumps if dump.object_count]

    def is_cut(self, dump: LoggedDump) -> bool:
        """Whether a truncated file ends in this dump."""
        return dump is self.dumps[-1] and dump.last_epoch == self.epoch

    def explained(self) -> str:
        """The message if no dump can be chosen."""
        have = self.with_objects()
        if not have:
            return (
                "the log has no heap dump; let the profiler write one (Show Heap now), "
                "or use the debugger's !traverseheap"
            )
        more = len(have) - _MOST_LISTED
        listed = ", ".join(
            f"{dump.index} ({counted(dump.object_count, 'objects')})"
            for dump in have[:_MOST_LISTED]
        )
        listed += f" and {more:,} more" if more > 0 else ""
        assert self.wanted is not None
        there = self.wanted < len(self.dumps)
        what = "has no objects" if there else "does not exist"
        return f"heap dump {self.wanted} {what}; choose --part from: {listed}"


def _objects(buffers: LogBuffers, begin: RowCounts, end: RowCounts) -> ObjectColumns:
    """The scanned objects from ``begin`` to ``end``."""
    rows = slice(begin.objects, end.objects)
    references = slice(begin.references, end.references)
    return ObjectColumns(
        id=buffers.object_id[rows].copy(),
        type_id=buffers.object_type_id[rows].copy(),
        size_bytes=buffers.object_size_bytes[rows].copy(),
        ref_count=buffers.object_ref_count[rows].copy(),
        ref_id=[buffers.reference_id[references].copy()],
        null_count=compact_counts(buffers.object_null_count[rows]),
        line=buffers.object_line[rows].copy(),
    )
