"""The events of a ``.nettrace``, in the order of time, and how many are missing.

Threads write their events side by side: between two sequence points of a stream
their order is that of the clock, not of the file. Each thread numbers its events, so
that what the writer had to drop is told by a gap.

A stream may have the events of several processes (version 6); each event tells its
own.
"""

from __future__ import annotations

import struct
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump, TruncatedDump
from ingest.readers.dotnet.event_blocks import BlockKind, Blocks, cut_inside, inside
from ingest.readers.dotnet.event_scan import (
    FAULTS,
    STATE_ROWS,
    EventBuffers,
    event_buffers,
    scan_compressed,
    scan_whole,
)
from ingest.readers.shared.binary import I16, I32, U8, U16, utf16z

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ingest.readers.dotnet.event_blocks import Block, Trace
    from ingest.readers.shared.binary import Feed

_COMPRESSED = 1
_LEAST_HEADER_BYTES = 20
_LEAST_PAYLOAD_BYTES = 6
"""No event that tells anything has less."""
_LONGEST_TEXT_BYTES = 1 << 16
_NUMBERS = 1 << 32
_FLUSHES_THREADS, _FLUSHES_METADATA = 1, 2
_THREAD_NAME, _THREAD_PROCESS, _THREAD_ID, _THREAD_PAIR = 1, 2, 3, 4
_SEQUENCE_POINT, _SEQUENCE_POINT_6 = Struct("<Qi"), Struct("<QII")
_SEQUENCE_OF = Struct("<QI")


class EventKind(NamedTuple):
    """What kind of event one is: who writes it, and its number there."""

    provider: str
    number: int


_UNKNOWN = EventKind("", 0)


class Event(NamedTuple):
    """An event.

    Attributes:
        kind: What kind it is.
        ticks: When it was written, by the stream's clock.
        thread: Who wrote it, by the stream's own number.
        process: Number of its process; that of the stream if it has only one.
        payload: Its data, as recorded.
        offset: Byte offset of the payload in the file.
        decoded: What a caller of `EventStream.events` has made of the payload.
    """

    kind: EventKind
    ticks: int
    thread: int
    process: int
    payload: bytes
    offset: int
    decoded: Any = None


class Gaps(NamedTuple):
    """Where the writer has dropped events.

    Attributes:
        thread: uint64 (G,). Whose they were.
        since: uint64 (G,). The clock at the last one before them.
        until: uint64 (G,). At the first one behind them.
        lost: int64 (G,). How many.
    """

    thread: NDArray[np.uint64]
    since: NDArray[np.uint64]
    until: NDArray[np.uint64]
    lost: NDArray[np.int64]


class EventStream:
    """The events of a stream, once.

    Args:
        feed: The stream, nothing of it read yet.
        wanted: Which kinds of events to tell of.

    Attributes:
        trace: What the stream tells of itself.
    """

    def __init__(self, feed: Feed, wanted: Callable[[EventKind], bool]) -> None:
        self._blocks = Blocks(feed)
        self._name = feed.name
        self._wanted = wanted
        self._kinds: dict[int, EventKind] = {}
        self._wanted_ids: set[int] = set()
        self._processes: dict[int, int] = {}
        self._last: dict[int, tuple[int, int]] = {}
        self._gaps: list[Gaps] = []
        self._buffers = event_buffers()
        self.trace: Trace = self._blocks.trace

    @property
    def cut_at(self) -> int | None:
        """Once all are read, where the file ends too early, or ``None``."""
        return self._blocks.cut_at

    @property
    def gaps(self) -> Gaps:
        """Where events are missing, as far as has been read."""
        none = Gaps(*(np.empty(0, dtype) for dtype in ("u8", "u8", "u8", "i8")))
        columns = zip(none, *self._gaps, strict=True)
        return Gaps(*(np.concatenate(column) for column in columns))

    def events(self, decode: Callable[[Event], Event] | None = None) -> Iterator[Event]:
        """The wanted events, by time, those of one time as the file has them.

        Args:
            decode: Called with each event as it is read; gives one that takes less
                memory.

        Memory: the events between two sequence points.

        Raises:
            MalformedDump: a block contradicts the format.
        """
        pending: list[Event] = []
        for kind, found in self._by_block():
            pending += found if decode is None else map(decode, found)
            if kind is BlockKind.SEQUENCE_POINT:
                yield from _by_time(pending)
        yield from _by_time(pending)

    def as_they_come(self) -> Iterator[Event]:
        """The same in the order of the stream; none is waited for behind a block.

        Raises:
            MalformedDump: a block contradicts the format.
        """
        for _, told in self._by_block():
            yield from told

    def _by_block(self) -> Iterator[tuple[BlockKind, Iterator[Event]]]:
        """Each block's kind and wanted events; all that it tells is learnt."""
        is_6 = self.trace.version >= 6
        for block in self._blocks:
            told: Iterator[Event] = iter(())
            if block.kind is BlockKind.EVENTS:
                told = self._scanned(block, every=False)
            elif block.kind is BlockKind.METADATA and not is_6:
                for event in self._scanned(block, every=True):
                    self._learn(event)
            elif block.whole and block.kind in _PARSED:
                feed = inside(block, self._name)
                try:
                    _PARSED[block.kind](self, feed)
                except TruncatedDump as error:
                    raise cut_inside(block, self._name) from error
            yield block.kind, told

    def _scanned(self, block: Block, *, every: bool) -> Iterator[Event]:
        """The events of a block: all, or the wanted ones."""
        data = np.frombuffer(block.data, np.uint8)
        if len(data) < _LEAST_HEADER_BYTES:
            if block.whole:
                raise cut_inside(block, self._name)
            return
        header = I16.unpack_from(block.data, 0)[0]
        flags = I16.unpack_from(block.data, I16.size)[0]
        if header < 2 * I16.size:
            raise cut_inside(block, self._name)
        is_6 = self.trace.version >= 6
        state = np.zeros(STATE_ROWS, np.uint64)
        at, fault = header, 0
        while at < len(data) and not fault:
            if flags & _COMPRESSED:
                many, at, fault = scan_compressed(data, at, is_6, state, self._buffers)
            else:
                many, at, fault = scan_whole(
                    data, at, is_6, block.offset, self._buffers
                )
            rows = EventBuffers._make(column[:many] for column in self._buffers)
            if not every:
                self._number(rows)
            yield from self._picked(block, rows, every=every)
        if fault and block.whole:
            raise MalformedDump(
                f"{FAULTS[fault]}; get the file again",
                path=self._name,
                offset=block.offset + at,
            )

    def _picked(
        self, block: Block, rows: EventBuffers, *, every: bool
    ) -> Iterator[Event]:
        if every:
            picked = np.arange(len(rows.begin))
        else:
            ids = np.array(sorted(self._wanted_ids), np.uint64)
            told = rows.size >= _LEAST_PAYLOAD_BYTES
            picked = np.flatnonzero(told & np.isin(rows.metadata, ids))
        columns = (
            column[picked].tolist()
            for column in (
                rows.metadata,
                rows.ticks,
                rows.thread,
                rows.begin,
                rows.size,
            )
        )
        for metadata, ticks, thread, begin, size in zip(*columns, strict=True):
            yield Event(
                self._kinds.get(metadata, _UNKNOWN),
                ticks,
                thread,
                self._processes.get(thread, self.trace.process),
                block.data[begin : begin + size],
                block.offset + begin,
            )

    def _number(self, rows: EventBuffers) -> None:
        """Look for gaps in the numbers that threads give to their events."""
        at = np.flatnonzero(rows.metadata) if self.trace.version < 6 else slice(None)
        thread, sequence, ticks = rows.thread[at], rows.sequence[at], rows.ticks[at]
        if not len(thread):
            return
        order = np.argsort(thread, kind="stable")
        thread, sequence, ticks = thread[order], sequence[order], ticks[order]
        fresh = np.append(True, thread[1:] != thread[:-1])
        before, since = np.roll(sequence, 1), np.roll(ticks, 1)
        for row in np.flatnonzero(fresh).tolist():
            unseen = ((int(sequence[row]) - 1) % _NUMBERS, int(ticks[row]))
            before[row], since[row] = self._last.get(int(thread[row]), unseen)
        last = np.flatnonzero(np.append(fresh[1:], True))
        for row in last.tolist():
            self._last[int(thread[row])] = int(sequence[row]), int(ticks[row])
        lost = (sequence - before - np.uint64(1)) % np.uint64(_NUMBERS)
        # A thread's number may be given to another thread, which begins anew.
        gap = np.flatnonzero((lost > 0) & (lost < _NUMBERS // 2))
        if len(gap):
            counts = lost[gap].astype(np.int64)
            self._gaps.append(Gaps(thread[gap], since[gap], ticks[gap], counts))

    def _reached(self, thread: int, sequence: int, ticks: int) -> None:
        """Learn how far a thread has numbered its events, though none may be there."""
        if thread not in self._last:
            return
        before, since = self._last[thread]
        lost = (sequence - before) % _NUMBERS
        if 0 < lost < _NUMBERS // 2:
            columns = ((thread, "u8"), (since, "u8"), (ticks, "u8"), (lost, "i8"))
            self._gaps.append(Gaps(*(np.array([v], d) for v, d in columns)))
            self._last[thread] = sequence, ticks

    def _know(self, number: int, kind: EventKind) -> None:
        self._kinds[number] = kind
        self._wanted_ids.discard(number)
        if self._wanted(kind):
            self._wanted_ids.add(number)

    def _learn(self, event: Event) -> None:
        """A kind of event, as versions before 6 tell it.

        Raises:
            MalformedDump: it is not told.
        """
        data = event.payload
        try:
            number = I32.unpack_from(data, 0)[0]
            provider, at = utf16z(data, I32.size)
            kind = EventKind(provider, I32.unpack_from(data, at)[0])
        except (ValueError, struct.error) as error:
            raise MalformedDump(
                "a kind of event is not told; get the file again",
                path=self._name,
                offset=event.offset,
            ) from error
        self._know(number & (_NUMBERS - 1), kind)

    def _learn_all(self, feed: Feed) -> None:
        """Kinds of events, as version 6 tells them."""
        feed.take(feed.number(U16))
        while feed.position < len(feed.data):
            end = feed.number(U16) + feed.position
            number, provider = feed.uleb(), feed.text(_LONGEST_TEXT_BYTES)
            self._know(number, EventKind(provider, feed.uleb()))
            feed.position = max(end, feed.position)

    def _threads(self, feed: Feed) -> None:
        """Which process each thread is of (version 6)."""
        while feed.position < len(feed.data):
            end = feed.number(U16) + feed.position
            index = feed.uleb()
            self._processes.pop(index, None)
            while feed.position < end:
                what = feed.number(U8)
                if what == _THREAD_PROCESS:
                    self._processes[index] = feed.uleb()
                elif what == _THREAD_ID:
                    feed.uleb()
                elif what in (_THREAD_NAME, _THREAD_PAIR):
                    for _ in range(1 if what == _THREAD_NAME else 2):
                        feed.text(_LONGEST_TEXT_BYTES)
                else:
                    break
            feed.position = end

    def _removed(self, feed: Feed) -> None:
        while feed.position < len(feed.data):
            thread, sequence = feed.uleb(), feed.uleb()
            self._reached(thread, sequence, self._last.get(thread, (0, 0))[1])
            self._last.pop(thread, None)
            self._processes.pop(thread, None)

    def _sequence_point(self, feed: Feed) -> None:
        if self.trace.version < 6:
            ticks, threads = feed.fixed(_SEQUENCE_POINT)
            for _ in range(threads):
                thread, sequence = feed.fixed(_SEQUENCE_OF)
                self._reached(thread, sequence, ticks)
            return
        ticks, flags, threads = feed.fixed(_SEQUENCE_POINT_6)
        for _ in range(threads):
            thread = feed.uleb()
            self._reached(thread, feed.uleb() % _NUMBERS, ticks)
        if flags & _FLUSHES_THREADS:
            self._processes.clear()
            self._last.clear()
        if flags & _FLUSHES_METADATA:
            self._kinds.clear()
            self._wanted_ids.clear()


def _by_time(events: list[Event]) -> Iterator[Event]:
    """The events by time; each is removed from the list before it is used."""
    events.sort(key=attrgetter("ticks"))
    events.reverse()
    while events:
        yield events.pop()


_PARSED: dict[BlockKind, Callable[[EventStream, Feed], None]] = {
    BlockKind.METADATA: EventStream._learn_all,
    BlockKind.THREADS: EventStream._threads,
    BlockKind.REMOVED_THREADS: EventStream._removed,
    BlockKind.SEQUENCE_POINT: EventStream._sequence_point,
}
"""How blocks are read that have no events."""
