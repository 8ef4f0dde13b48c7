"""Reads the heapshots of a log: buffers of several threads, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import DumpError
from ingest.heap.graph import Part
from ingest.heap.read_options import DEFAULTS
from ingest.readers.base import PendingDump, Selection, chosen_dump
from ingest.readers.mlpd import BUFFER, HEADER
from ingest.readers.mlpd.assembly import assemble
from ingest.readers.mlpd.records import FOLLOWED, Heapshot, LogRecords
from ingest.readers.mlpd.scan import (
    BAD_SIZES,
    BEGIN,
    COUNTS,
    DTYPES,
    END,
    KIND,
    MARKS,
    MOST_MARKS,
    OBJECTS,
    OBJECTS_BEFORE,
    REFS,
    REFS_BEFORE,
    ROOTS,
    ROOTS_BEFORE,
    ROW_OF,
    STOPPED,
    WHEN,
    buffers_for,
    scan,
)
from ingest.readers.shared.binary import I32, I64, U8, U16, Feed
from ingest.readers.shared.columns import GrowingColumn
from ingest.readers.shared.irregularities import IrregularityCounter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.arrays.compiled import Longs
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.mlpd.scan import MonoBuffers
    from ingest.readers.source import Source

_FIRST_FORMAT, _LAST_FORMAT = 13, 17
_WITH_REGIONS = 15
_LONGEST_TEXT_BYTES = 1 << 16
_LONGEST_BUFFER_BYTES = 16 << 20
"""Mono's have 64 KiB, or one larger event."""
_HEADER_BYTES = 48
_OF_EARLIER = *FOLLOWED, "generation"
"""Columns of the heapshots before the one that is read."""
_MOST_HEAPSHOTS = 1 << 16


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a heapshot of ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: 29 bytes an object and 12 a reference, also of the last whole
    heapshot before it if none is asked for; 24 for each object of those before it, and
    16 for each move.
    """
    log = _MonoLog.read(source, options, progress, Selection.ONE)
    return log.graph(log.chosen())


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all heapshots; see `ingest.readers.base.PartsReader.read_all`.

    Memory: as `read`, for all of them.
    """
    every = replace(options, part=None)
    log = _MonoLog.read(source, every, progress, Selection.ALL)
    log.chosen()
    shots = [shot for shot in log.records.heapshots if shot.object_count]
    if log.records.has_moves:
        for shot in shots:
            log.records.number_up_to(shot)
    for shot in shots:
        yield PendingDump(log.part(shot), partial(log.graph, shot, is_only=False))


def parts(source: Source, progress: Progress) -> list[Part]:
    """The heapshots of a log, whose objects are only counted."""
    log = _MonoLog.read(source, DEFAULTS, progress, Selection.NONE)
    return [log.part(shot) for shot in log.records.heapshots if shot.object_count]


def _latest(shots: Sequence[Heapshot]) -> Heapshot | None:
    """The heapshot to read if the user chooses none: the last whole one with objects.

    If none is whole, the last one with objects.
    """
    some = [shot for shot in shots if shot.object_count]
    return max(some, key=lambda shot: (shot.is_whole, shot.number), default=None)


class _Buffer:
    """A buffer of events.

    Attributes:
        bases: uint64 (3,). For `scan`.
        thread: Which thread wrote it.
        data: uint8. Its events.
        place: Where it begins in the file.
    """

    def __init__(self, head: bytes, content: bytes, place: int) -> None:
        self.bases = np.frombuffer(head, "<u8", 3, 8).astype(np.uint64)
        self.thread = I64.unpack_from(head, 32)[0]
        self.data = np.frombuffer(content, np.uint8)
        self.place = place


@dataclass(slots=True, eq=False)
class _MonoLog:
    """A log that has been read.

    Attributes:
        counter: The irregularities so far.
        records: What it has.
        producer: Who wrote it.
    """

    options: ReadOptions
    selection: Selection
    counter: IrregularityCounter
    records: LogRecords = field(default_factory=LogRecords)
    producer: str = ""
    _format: int = 0
    _open: dict[int, Heapshot] = field(default_factory=dict)
    _last: Heapshot | None = None

    @classmethod
    def read(
        cls,
        source: Source,
        options: ReadOptions,
        progress: Progress,
        selection: Selection,
    ) -> _MonoLog:
        """Read all buffers.

        Raises:
            DumpError: the format is another one.
            TruncatedDump: the file ends in its header.
        """
        counter = IrregularityCounter(strict=options.strict, name=source.name)
        log = cls(options, selection, counter)
        is_first = selection is Selection.ONE and options.part == 0
        log.records.keeps_moves = selection is not Selection.NONE and not is_first
        feed = Feed(source.chunks(progress), source.name)
        log._take_header(feed)
        log._take_buffers(feed)
        counter.file_bytes = feed.offset
        if source.truncated:
            counter.add("truncated_compression", 1, 0, feed.offset)
        log._last = _latest(log.records.heapshots)
        return log

    def _take_header(self, feed: Feed) -> None:
        feed.take(len(HEADER))
        major, minor, self._format, _ = (feed.number(U8) for _ in range(4))
        if not _FIRST_FORMAT <= self._format <= _LAST_FORMAT:
            raise DumpError(
                f"format {self._format} of Mono's log profiler is not read, only "
                f"{_FIRST_FORMAT} to {_LAST_FORMAT}: record it with Mono 5.4 or later",
                path=feed.name,
            )
        feed.take(16 if major >= 3 else 8)
        feed.take(I32.size * 3 + U16.size)
        texts = []
        for _ in range(3):
            size = feed.count("bytes of a text")
            if size > _LONGEST_TEXT_BYTES:
                raise feed.malformed(f"a text of its header has {size:,} bytes")
            texts.append(feed.take(size).rstrip(b"\0").decode("utf-8", "replace"))
        self.producer = f"Mono log profiler {major}.{minor}, {texts[2]} {texts[1]}"

    def _take_buffers(self, feed: Feed) -> None:
        counter, counts = self.counter, np.zeros(COUNTS, np.int64)
        room = 1 << 16
        out = buffers_for(room)
        while True:
            head = feed.up_to(_HEADER_BYTES)
            if len(head) < _HEADER_BYTES:
                if head:
                    counter.add("truncated_buffer", 1, 0, feed.offset)
                    counter.add_unread(len(head), feed.offset)
                return
            place = feed.offset - _HEADER_BYTES
            length = I32.unpack_from(head, 4)[0]
            if head[:4] != BUFFER or not 0 <= length <= _LONGEST_BUFFER_BYTES:
                counter.add("unknown_record", 1, 0, place)
                counter.add_unread(_HEADER_BYTES + feed.drain(), place)
                return
            content = feed.up_to(length)
            if len(content) < length:
                counter.add("truncated_buffer", 1, 0, place)
                counter.add_unread(length - len(content), place)
            while room < length:
                room *= 2
            if len(out.ref_id) <= room // 2:
                out = buffers_for(room)
            self._take_events(_Buffer(head, content, place), out, counts)

    def _take_events(self, buffer: _Buffer, out: MonoBuffers, counts: Longs) -> None:
        """Take all events of a buffer, up to one that cannot be decoded."""
        is_old, end = self._layout(buffer, out, counts), len(buffer.data)
        at, bases = 0, buffer.bases.copy()
        while at < end:
            scan(buffer.data, at, end, bases, self._format, is_old, out, counts)
            self.counter.add(
                "size_out_of_range", int(counts[BAD_SIZES]), 0, buffer.place
            )
            self.records.take_marks(buffer.data, out, counts)
            self._take_heapshots(buffer, out, counts)
            at = int(counts[STOPPED])
            if at < end and counts[MARKS] < MOST_MARKS:
                place = buffer.place + _HEADER_BYTES + at
                self.counter.add("malformed_record", 1, 0, place)
                self.counter.add_unread(end - at, place)
                return

    def _layout(self, buffer: _Buffer, out: MonoBuffers, counts: Longs) -> bool:
        """Whether roots have their old layout: more can be decoded with it.

        Early builds of a later profiler have the number of an older format.
        """
        if self._format >= _WITH_REGIONS:
            return False
        reached = []
        for is_old in (True, False):
            at, bases = 0, buffer.bases.copy()
            counts[MARKS] = MOST_MARKS
            while at < len(buffer.data) and counts[MARKS] == MOST_MARKS:
                scan(
                    buffer.data, at, len(buffer.data), bases, self._format, is_old, out,
                    counts,
                )  # fmt: skip
                at = int(counts[STOPPED])
            reached.append(at)
        return reached[0] >= reached[1]

    def _take_heapshots(self, buffer: _Buffer, out: MonoBuffers, counts: Longs) -> None:
        """Give each heapshot of the buffer's thread its objects and roots."""
        thread, before = buffer.thread, np.zeros(COUNTS, np.int64)
        marks = out.marks[: counts[MARKS]]
        for mark in marks[(marks[:, KIND] == BEGIN) | (marks[:, KIND] == END)]:
            after = before.copy()
            after[[OBJECTS, ROOTS, REFS]] = mark[
                [OBJECTS_BEFORE, ROOTS_BEFORE, REFS_BEFORE]
            ]
            if (shot := self._open.pop(thread, None)) is not None:
                shot.take(out, before, after, self.records.kinds)
                if mark[KIND] == END:
                    shot.ended_ns = int(mark[WHEN])
                self._forget(shot)
            if mark[KIND] == BEGIN:
                self._open[thread] = self._begun(int(mark[WHEN]), buffer.place)
            before = after
        if thread in self._open:
            self._open[thread].take(out, before, counts, self.records.kinds)

    def _forget(self, ended: Heapshot) -> None:
        """Forget most of a heapshot that has ended, or of the one to read so far."""
        if self.selection is not Selection.ONE or self.options.part is not None:
            return
        both = [shot for shot in (self._last, ended) if shot is not None]
        self._last = _latest(both)
        for shot in both:
            if shot is not self._last:
                shot.keep_only(_OF_EARLIER)

    def _begun(self, began_ns: int, place: int) -> Heapshot:
        shots, wanted = self.records.heapshots, self.options.part
        number = len(shots)
        if number >= _MOST_HEAPSHOTS:
            raise DumpError(
                f"it has more than {_MOST_HEAPSHOTS:,} heapshots",
                path=self.counter.name,
            )
        stored: tuple[str, ...] = ()
        if self.selection is Selection.ALL:
            stored = tuple(ROW_OF)
        elif self.selection is Selection.ONE:
            if wanted is None or number == wanted:
                stored = tuple(ROW_OF)
            elif number < wanted:
                stored = _OF_EARLIER
        columns = {
            name: GrowingColumn("i4" if name == "kind" else DTYPES[name])
            for name in stored
            if name not in ("old", "new")
        }
        shots.append(Heapshot(number, began_ns, place, columns))
        return shots[-1]

    def chosen(self) -> Heapshot:
        """The heapshot to read.

        Raises:
            DumpError: there is none.
        """
        shots = self.records.heapshots
        latest, wanted = self._last, self.options.part
        return chosen_dump(
            shots,
            latest.number if latest and wanted is None else wanted,
            self.counter.name,
            "the log has no heapshot",
            "record one: mono --profile=log:nodefaults,gc,gcmove,gcroot,"
            "heapshot=2gc,output=FILE",
        )

    def part(self, shot: Heapshot) -> Part:
        """Describe a heapshot as a part of the log."""
        is_default = self.options.part is None and shot is self._last
        return Part(shot.number, shot.object_count, is_default=is_default)

    def graph(self, shot: Heapshot, *, is_only: bool = True) -> HeapGraph:
        """Make the graph of a heapshot, and free its records.

        Args:
            shot: A heapshot whose records are stored.
            is_only: Whether no other heapshot of the log is read.

        Raises:
            MalformedDump: with ``--strict``, for anything irregular.
        """
        counter = self.counter.copy()
        shots = self.records.heapshots
        others = [one for one in shots if one is not shot and one.object_count]
        if self.options.part is None and is_only:
            counter.add("other_heap_dump", len(others), 0, None)
        if not shot.is_whole:
            counter.add("truncated_heap_dump", 1, 0, shot.offset)
        return assemble(
            self.records,
            shot,
            counter,
            has_old_roots=self._format < _WITH_REGIONS,
            spill=self.options.spill,
            producer=self.producer,
            part=self.part(shot) if others else None,
            other_parts=tuple(map(self.part, others)),
        )
