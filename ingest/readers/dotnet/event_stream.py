"""The events of a ``.nettrace``, ordered by time, and the gaps between them.

Threads write in parallel: between two sequence points, events are ordered by the clock
and not by their place in the file. Each thread numbers its events, so that a gap in the
numbers shows how many events the writer dropped.

A stream of version 6 may contain the events of several processes.
"""

from __future__ import annotations

import struct
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump, TruncatedDump
from ingest.readers.dotnet.event_blocks import BlockKind, Blocks, block_feed, too_short
from ingest.readers.dotnet.event_scan import (
    FAULTS,
    STATE_ROWS,
    EventBuffers,
    event_buffers,
    scan_compressed,
    scan_uncompressed,
)
from ingest.readers.shared.binary import I16, I32, U8, U16, utf16z

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ingest.readers.dotnet.event_blocks import Block, TraceHeader
    from ingest.readers.shared.binary import Feed

_COMPRESSED = 1
_LEAST_HEADER_BYTES = 20
_LEAST_PAYLOAD_BYTES = 6
"""Shorter payloads contain no data."""
_LONGEST_TEXT_BYTES = 1 << 16
_NUMBERS = 1 << 32
_FLUSHES_THREADS, _FLUSHES_METADATA = 1, 2
_THREAD_NAME, _THREAD_PROCESS, _THREAD_ID, _THREAD_PAIR = 1, 2, 3, 4
_SEQUENCE_POINT, _SEQUENCE_POINT_6 = Struct("<Qi"), Struct("<QII")
_THREAD_SEQUENCE = Struct("<QI")


class EventKind(NamedTuple):
    """The kind of an event: its provider, and its number there."""

    provider: str
    number: int


_UNKNOWN = EventKind("", 0)


class Event(NamedTuple):
    """An event.

    Attributes:
        kind: Its kind.
        ticks: Its time, by the clock of the stream.
        thread: The thread that wrote it, by its number in the stream.
        process: Process id; that of the stream if it has only one.
        payload: Its data, as recorded.
        offset: Byte offset of the payload in the file.
        decoded: The payload as decoded by a caller of `EventStream.events`.
    """

    kind: EventKind
    ticks: int
    thread: int
    process: int
    payload: bytes
    offset: int
    decoded: Any = None


class Gaps(NamedTuple):
    """Gaps in the stream, where the writer dropped events.

    Attributes:
        thread: uint64 (G,). The thread whose events were dropped.
        since: uint64 (G,). Ticks of its last event before the gap.
        until: uint64 (G,). Ticks of its first event after the gap.
        lost: int64 (G,). Number of events dropped.
    """

    thread: NDArray[np.uint64]
    since: NDArray[np.uint64]
    until: NDArray[np.uint64]
    lost: NDArray[np.int64]

    def lost_by(self, threads: Iterable[int], begin: int, end: int | None) -> int:
        """Number of events that ``threads`` lost between two times, in ticks.

        Args:
            threads: Their numbers in the stream.
            begin: Start of the time.
            end: Its end; ``None`` for the end of the stream.
        """
        inside = np.isin(self.thread, np.array(sorted(threads), np.uint64))
        inside &= self.until > begin
        if end is not None:
            inside &= self.since < end
        return int(self.lost[inside].sum())


class EventStream:
    """The events of a stream; they can be read once.

    Args:
        feed: The stream, from its first byte.
        wanted: Selects the kinds of events to return.

    Attributes:
        header: The header of the stream.
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
        self.header: TraceHeader = self._blocks.header

    @property
    def truncated_at(self) -> int | None:
        """Byte offset where a truncated file ends, once read; ``None`` if complete."""
        return self._blocks.truncated_at

    @property
    def gaps(self) -> Gaps:
        """The gaps found so far."""
        none = Gaps(*(np.empty(0, dtype) for dtype in ("u8", "u8", "u8", "i8")))
        columns = zip(none, *self._gaps, strict=True)
        return Gaps(*(np.concatenate(column) for column in columns))

    def events(self, decode: Callable[[Event], Event] | None = None) -> Iterator[Event]:
        """The wanted events, ordered by time, then by place in the file.

        Args:
            decode: Called with each event as it is read; returns one that takes less
                memory.

        Memory: the events between two sequence points.

        Raises:
            MalformedDump: a block contradicts the format.
        """
        pending: list[Event] = []
        for kind, events in self._by_block():
            pending += events if decode is None else map(decode, events)
            if kind is BlockKind.SEQUENCE_POINT:
                yield from _by_time(pending)
        yield from _by_time(pending)

    def unordered_events(self) -> Iterator[Event]:
        """The wanted events in file order, each as soon as its block is complete.

        Raises:
            MalformedDump: a block contradicts the format.
        """
        for _, events in self._by_block():
            yield from events

    def _by_block(self) -> Iterator[tuple[BlockKind, Iterator[Event]]]:
        """The kind and the wanted events of each block; others only get parsed."""
        is_6 = self.header.version >= 6
        for block in self._blocks:
            events: Iterator[Event] = iter(())
            if block.kind is BlockKind.EVENTS:
                events = self._scan(block, every=False)
            elif block.kind is BlockKind.METADATA and not is_6:
                for event in self._scan(block, every=True):
                    self._parse_metadata_event(event)
            elif block.is_complete and block.kind in _PARSERS:
                feed = block_feed(block, self._name)
                try:
                    _PARSERS[block.kind](self, feed)
                except TruncatedDump as error:
                    raise too_short(block, self._name) from error
            yield block.kind, events

    def _scan(self, block: Block, *, every: bool) -> Iterator[Event]:
        """The events of a block: all, or the wanted ones."""
        data = np.frombuffer(block.data, np.uint8)
        if len(data) < _LEAST_HEADER_BYTES:
            if block.is_complete:
                raise too_short(block, self._name)
            return
        header = I16.unpack_from(block.data, 0)[0]
        flags = I16.unpack_from(block.data, I16.size)[0]
        if header < 2 * I16.size:
            raise too_short(block, self._name)
        is_6, buffers = self.header.version >= 6, self._buffers
        state, new = np.zeros((2, STATE_ROWS), np.uint64)
        at, fault = header, 0
        while at < len(data) and not fault:
            if flags & _COMPRESSED:
                count, at, fault = scan_compressed(data, at, is_6, state, new, buffers)
            else:
                count, at, fault = scan_uncompressed(
                    data, at, is_6, block.offset, buffers
                )
            rows = EventBuffers._make(column[:count] for column in buffers)
            if not every:
                self._find_gaps(rows)
            yield from self._select(block, rows, every=every)
        if fault and block.is_complete:
            raise MalformedDump(
                f"{FAULTS[fault]}; get the file again",
                path=self._name,
                offset=block.offset + at,
            )

    def _select(
        self, block: Block, rows: EventBuffers, *, every: bool
    ) -> Iterator[Event]:
        """Make events of scanned rows: of all, or of the wanted ones."""
        selected = np.arange(len(rows.begin))
        if not every:
            ids = np.array(sorted(self._wanted_ids), np.uint64)
            has_data = rows.size >= _LEAST_PAYLOAD_BYTES
            selected = np.flatnonzero(has_data & np.isin(rows.metadata, ids))
        columns = (rows.metadata, rows.ticks, rows.thread, rows.begin, rows.size)
        for metadata, ticks, thread, begin, size in zip(
            *(column[selected].tolist() for column in columns), strict=True
        ):
            yield Event(
                self._kinds.get(metadata, _UNKNOWN),
                ticks,
                thread,
                self._processes.get(thread, self.header.process),
                block.data[begin : begin + size],
                block.offset + begin,
            )

    def _find_gaps(self, rows: EventBuffers) -> None:
        """Find gaps in the sequence numbers of each thread."""
        at = np.flatnonzero(rows.metadata) if self.header.version < 6 else slice(None)
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
        # A thread number may be reused by a new thread, whose sequence starts again.
        gap = np.flatnonzero((lost > 0) & (lost < _NUMBERS // 2))
        if len(gap):
            counts = lost[gap].astype(np.int64)
            self._gaps.append(Gaps(thread[gap], since[gap], ticks[gap], counts))

    def _reach(self, thread: int, sequence: int, ticks: int) -> None:
        """Find a gap before the last sequence number of a thread."""
        if thread not in self._last:
            return
        before, since = self._last[thread]
        lost = (sequence - before) % _NUMBERS
        if 0 < lost < _NUMBERS // 2:
            columns = ((thread, "u8"), (since, "u8"), (ticks, "u8"), (lost, "i8"))
            self._gaps.append(Gaps(*(np.array([v], d) for v, d in columns)))
            self._last[thread] = sequence, ticks

    def _define(self, number: int, kind: EventKind) -> None:
        self._kinds[number] = kind
        self._wanted_ids.discard(number)
        if self._wanted(kind):
            self._wanted_ids.add(number)

    def _parse_metadata_event(self, event: Event) -> None:
        """Define a kind of event (versions before 6).

        Raises:
            MalformedDump: the definition is incomplete.
        """
        data = event.payload
        try:
            number = I32.unpack_from(data, 0)[0]
            provider, at = utf16z(data, I32.size)
            kind = EventKind(provider, I32.unpack_from(data, at)[0])
        except (ValueError, struct.error) as error:
            raise MalformedDump(
                "the definition of an event kind is incomplete; get the file again",
                path=self._name,
                offset=event.offset,
            ) from error
        self._define(number & (_NUMBERS - 1), kind)

    def _parse_metadata(self, feed: Feed) -> None:
        """Define kinds of events (version 6)."""
        feed.take(feed.number(U16))
        while feed.position < len(feed.data):
            end = feed.number(U16) + feed.position
            number, provider = feed.uleb(), feed.text(_LONGEST_TEXT_BYTES)
            self._define(number, EventKind(provider, feed.uleb()))
            feed.position = max(end, feed.position)

    def _parse_threads(self, feed: Feed) -> None:
        """Read the process of each thread (version 6)."""
        while feed.position < len(feed.data):
            end = feed.number(U16) + feed.position
            index = feed.uleb()
            self._processes.pop(index, None)
            while feed.position < end:
                field = feed.number(U8)
                if field == _THREAD_PROCESS:
                    self._processes[index] = feed.uleb()
                elif field == _THREAD_ID:
                    feed.uleb()
                elif field in (_THREAD_NAME, _THREAD_PAIR):
                    for _ in range(1 if field == _THREAD_NAME else 2):
                        feed.text(_LONGEST_TEXT_BYTES)
                else:
                    break
            feed.position = end

    def _parse_removed_threads(self, feed: Feed) -> None:
        while feed.position < len(feed.data):
            thread, sequence = feed.uleb(), feed.uleb()
            self._reach(thread, sequence, self._last.get(thread, (0, 0))[1])
            self._last.pop(thread, None)
            self._processes.pop(thread, None)

    def _parse_sequence_point(self, feed: Feed) -> None:
        if self.header.version < 6:
            ticks, threads = feed.fixed(_SEQUENCE_POINT)
            for _ in range(threads):
                thread, sequence = feed.fixed(_THREAD_SEQUENCE)
                self._reach(thread, sequence, ticks)
            return
        ticks, flags, threads = feed.fixed(_SEQUENCE_POINT_6)
        for _ in range(threads):
            thread = feed.uleb()
            self._reach(thread, feed.uleb() % _NUMBERS, ticks)
        if flags & _FLUSHES_THREADS:
            self._processes.clear()
            self._last.clear()
        if flags & _FLUSHES_METADATA:
            self._kinds.clear()
            self._wanted_ids.clear()


def _by_time(events: list[Event]) -> Iterator[Event]:
    """Yield the events by time, and remove each from the list before it is used."""
    events.sort(key=attrgetter("ticks"))
    events.reverse()
    while events:
        yield events.pop()


_PARSERS: dict[BlockKind, Callable[[EventStream, Feed], None]] = {
    BlockKind.METADATA: EventStream._parse_metadata,
    BlockKind.THREADS: EventStream._parse_threads,
    BlockKind.REMOVED_THREADS: EventStream._parse_removed_threads,
    BlockKind.SEQUENCE_POINT: EventStream._parse_sequence_point,
}
"""Parsers of blocks that contain no events."""
