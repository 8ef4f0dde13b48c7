"""Reads one heap snapshot of a ``.nettrace``, or its collections only."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import DumpError
from ingest.readers.dotnet.event_stream import EventStream
from ingest.readers.dotnet.gc_events import Payloads, wanted
from ingest.readers.nettrace.assembly import assemble
from ingest.readers.nettrace.history import history
from ingest.readers.nettrace.snapshot import Snapshots
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.irregularities import Report

if TYPE_CHECKING:
    from ingest.heap.graph import GarbageCollection, HeapGraph
    from ingest.progress import Progress
    from ingest.readers.base import ReadOptions
    from ingest.readers.dotnet.event_stream import Gaps
    from ingest.readers.nettrace.snapshot import Collection
    from ingest.readers.source import Source


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the snapshot in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: about 100 bytes an object and 31 a reference.
    """
    report = Report(strict=options.strict, name=source.name)
    feed = Feed(source.chunks(progress), source.name)
    stream = EventStream(feed, wanted)
    payloads = Payloads(stream.trace.pointer_bytes, source.name)
    snapshots = Snapshots(payloads, options.gc)
    snapshots.read(stream)
    if stream.cut_at is not None:
        report.add("truncated_stream", 1, 0, stream.cut_at)
    elif rest := feed.drain():
        report.add("bytes_behind_the_end", rest, 0, feed.offset)
    if source.truncated:
        report.add("truncated_compression", 1, 0, feed.offset)
    chosen = snapshots.chosen
    if chosen is None or chosen.told is None:
        raise DumpError(snapshots.explained(), path=source.name)
    if options.gc is None:
        report.add("other_heap_dump", snapshots.dump_count - 1, 0, None)
    report.add("event_outside_collection", snapshots.outside, 0, None)
    gaps = stream.gaps
    _check(gaps, chosen, chosen.told.threads, source.name)
    report.add("lost_event", int(gaps.lost.sum()), 0, None)
    if chosen.until is None:
        report.add("truncated_heap_dump", 1, 0, chosen.offset)
    return assemble(
        chosen,
        chosen.told,
        snapshots.types.get(chosen.process, {}),
        lossy=len(gaps.lost) > 0,
        timeline=_timeline(snapshots, stream, chosen.process),
        others=snapshots.others(),
        is_shared=snapshots.has_processes,
        before=history(snapshots.collections, chosen, gaps),
        report=report,
    )


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections of the process that has most of them; no heap dump is read.

    Raises:
        MalformedDump: the stream contradicts its format.
    """
    stream = EventStream(Feed(source.chunks(progress), source.name), wanted)
    payloads = Payloads(stream.trace.pointer_bytes, source.name)
    snapshots = Snapshots(payloads, _NONE)
    snapshots.read(stream)
    of = Counter(collection.process for collection in snapshots.collections)
    return [
        one
        for process, _ in of.most_common(1)
        for one in _timeline(snapshots, stream, process)
    ]


_NONE = -1
"""No collection has this number."""


def _timeline(
    snapshots: Snapshots, stream: EventStream, process: int
) -> list[GarbageCollection]:
    trace = stream.trace
    return snapshots.timeline(process, trace.ticks, trace.ticks_per_second)


def _check(gaps: Gaps, chosen: Collection, threads: set[int], path: str) -> None:
    """Refuse a snapshot while which its own thread had to drop events.

    Raises:
        DumpError: it is such a one.
    """
    inside = np.isin(gaps.thread, np.array(sorted(threads), np.uint64))
    inside &= gaps.until > chosen.since
    if chosen.until is not None:
        inside &= gaps.since < chosen.until
    if lost := int(gaps.lost[inside].sum()):
        raise DumpError(
            f"{lost:,} events were lost while collection {chosen.start.number} told of "
            "the heap; record it again with a larger buffer, or while less runs",
            path=path,
            offset=chosen.offset,
        )
