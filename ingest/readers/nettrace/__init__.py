"""``.nettrace``: streams of events of .NET programs, with heap snapshots in them.

dotnet-trace and EventPipe write such streams. A snapshot is what one collection of
garbage tells of the heap, where the events for that were asked for. A stream without
its end, of a program that was killed, is read as far as it goes; one whose writer had
to drop events of the snapshot is refused.

Source: microsoft/perfview, src/TraceEvent/EventPipe, NetTraceFormat_v5.md and
NetTraceFormat.md; dotnet/diagnostics, src/Tools/dotnet-gcdump/DotNetHeapDump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.nettrace.signature import NAME, sniff

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.progress import Progress
    from ingest.readers.base import PendingDump, ReadOptions
    from ingest.readers.source import Source

__all__ = [
    "NAME", "SUFFIXES", "TITLE", "parts", "read", "read_all", "sniff", "timeline",
]  # fmt: skip

TITLE = ".NET event trace with a heap snapshot (EventPipe)"
SUFFIXES = (".nettrace",)


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read one snapshot of a trace; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.nettrace import reader

    return reader.read(source, options, progress)


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps in one pass; see `ingest.readers.base.PartsReader.read_all`."""
    from ingest.readers.nettrace import reader

    return reader.read_all(source, options, progress)


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of a file; see `ingest.readers.base.PartsReader.parts`."""
    from ingest.readers.nettrace import reader

    return reader.parts(source, progress)


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections that it records; see `ingest.readers.base.TimelineReader`."""
    from ingest.readers.nettrace import reader

    return reader.timeline(source, progress)
