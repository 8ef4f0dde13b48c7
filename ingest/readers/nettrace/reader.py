"""Reads heap snapshots of a ``.nettrace``, or its collections only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ingest.errors import DumpError
from ingest.heap.read_options import DEFAULTS
from ingest.readers.base import PendingDump, Selection
from ingest.readers.dotnet.event_stream import EventStream
from ingest.readers.dotnet.gc_events import Payloads, wanted
from ingest.readers.nettrace.assembly import StreamColumns, assemble, history
from ingest.readers.nettrace.snapshot import Snapshots
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.irregularities import IrregularityCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.dotnet.event_stream import Gaps
    from ingest.readers.nettrace.snapshot import Collection
    from ingest.readers.source import Source


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the snapshot in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 44 bytes an object and 13 a reference.
    """
    trace = _Trace.read(source, options, progress, Selection.ONE)
    return trace.graph(trace.chosen())


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all snapshots of a process; see `ingest.readers.base.PartsReader.read_all`.

    Memory: as `read`, and 32 bytes an object and 12 a reference of each other one.
    """
    every = replace(options, part=None)
    trace = _Trace.read(source, every, progress, Selection.ALL)
    process = trace.chosen().process
    for collection in trace.snapshots.dumps:
        if collection.process == process:
            make = partial(trace.graph, collection, is_only=False)
            yield PendingDump(trace.snapshots.part(collection), make)


def parts(source: Source, progress: Progress) -> list[Part]:
    """The snapshots of a stream; their nodes are counted but not stored."""
    snapshots = _Trace.read(source, DEFAULTS, progress, Selection.NONE).snapshots
    return [snapshots.part(collection) for collection in snapshots.dumps]


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections of the process that has most of them; no heap dump is read.

    Raises:
        MalformedDump: the stream contradicts its format.
    """
    trace = _Trace.read(source, DEFAULTS, progress, Selection.NONE)
    processes = Counter(c.process for c in trace.snapshots.collections)
    return [
        one
        for process, _ in processes.most_common(1)
        for one in trace.timeline(process, None)
    ]


def check_whole(source: Source, progress: Progress) -> None:
    """Read all events; see `ingest.readers.base.CapturedReader.check_whole`."""
    trace = _Trace.read(source, DEFAULTS, progress, Selection.NONE)
    trace.counter.check_end()


@dataclass(frozen=True, slots=True)
class _Trace:
    """A stream that has been read.

    Attributes:
        snapshots: Its collections and stored heap events.
        stream: Its header and gaps.
        options: The options it was read with.
        counter: The irregularities so far.
    """

    snapshots: Snapshots
    stream: EventStream
    options: ReadOptions
    counter: IrregularityCounter

    @classmethod
    def read(
        cls,
        source: Source,
        options: ReadOptions,
        progress: Progress,
        selection: Selection,
    ) -> _Trace:
        """Read all events.

        Raises:
            MalformedDump: the stream contradicts its format.
        """
        counter = IrregularityCounter(strict=options.strict, name=source.name)
        feed = Feed(source.chunks(progress), source.name)
        stream = EventStream(feed, wanted)
        payloads = Payloads(stream.header.pointer_bytes, source.name)
        snapshots = Snapshots(payloads, options.part, selection)
        snapshots.read(stream)
        if stream.truncated_at is not None:
            counter.add("truncated_stream", 1, 0, stream.truncated_at)
        elif rest := feed.drain():
            counter.add("trailing_bytes", rest, 0, feed.offset)
        if source.truncated:
            counter.add("truncated_compression", 1, 0, feed.offset)
        return cls(snapshots, stream, options, counter)

    def chosen(self) -> Collection:
        """The collection to read.

        Raises:
            DumpError: there is none.
        """
        chosen = self.snapshots.chosen
        if chosen is None or chosen.heap_events is None:
            raise DumpError(self.snapshots.not_found(), path=self.counter.name)
        return chosen

    def graph(self, collection: Collection, *, is_only: bool = True) -> HeapGraph:
        """Make the graph of a collection's snapshot, and free its events.

        Args:
            collection: A collection whose heap events are stored.
            is_only: Whether no other snapshot of the stream is read.

        Raises:
            DumpError: some of its events were lost.
        """
        counter, snapshots, gaps = self.counter.copy(), self.snapshots, self.stream.gaps
        others = [one for one in snapshots.dumps if one is not collection]
        if self.options.part is None and is_only:
            counter.add("other_heap_dump", len(others), 0, None)
        counter.add("event_outside_collection", snapshots.outside_count, 0, None)
        events, collection.heap_events = collection.heap_events, None
        assert events is not None
        _check(gaps, collection, events.threads, counter.name)
        counter.add("lost_event", int(gaps.lost.sum()), 0, None)
        if collection.end_ticks is None:
            counter.add("truncated_heap_dump", 1, 0, collection.offset)
        return assemble(
            collection,
            events,
            snapshots.types.get(collection.process, {}),
            is_lossy=len(gaps.lost) > 0,
            stream=StreamColumns(
                tuple(self.timeline(collection.process, collection)),
                history(snapshots.collections, collection, gaps, frees=is_only),
                snapshots.part(collection),
                tuple(snapshots.part(one) for one in others),
            ),
            counter=counter,
        )

    def timeline(
        self, process: int, dump: Collection | None
    ) -> list[GarbageCollection]:
        """The collections of a process; see `Snapshots.timeline`."""
        return self.snapshots.timeline(process, self.stream.header, dump=dump)


def _check(gaps: Gaps, chosen: Collection, threads: set[int], path: str) -> None:
    """Reject a snapshot during which its threads dropped events.

    Raises:
        DumpError: events were dropped.
    """
    if lost := gaps.lost_by(threads, chosen.begin_ticks, chosen.end_ticks):
        raise DumpError(
            f"{lost:,} events were lost during the heap events of collection "
            f"{chosen.number}; record it again with a larger buffer, or under "
            "less load",
            path=path,
            offset=chosen.offset,
        )
