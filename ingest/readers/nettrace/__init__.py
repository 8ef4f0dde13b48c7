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
    from ingest.heap.graph import GarbageCollection, HeapGraph
    from ingest.progress import Progress
    from ingest.readers.base import ReadOptions
    from ingest.readers.source import Source

__all__ = ["NAME", "SUFFIXES", "TITLE", "read", "sniff", "timeline"]

TITLE = ".NET event trace with a heap snapshot (EventPipe)"
SUFFIXES = (".nettrace",)


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read one snapshot of a trace; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.nettrace import reader

    return reader.read(source, options, progress)


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections that it records; see `ingest.readers.base.TimelineReader`."""
    from ingest.readers.nettrace import reader

    return reader.timeline(source, progress)
