"""``.nettrace``: event streams of .NET programs that contain heap snapshots.

dotnet-trace and EventPipe write such streams. A snapshot consists of the heap events of
one garbage collection, if those events were enabled. A truncated stream, of a program
that was killed, is read as far as possible; one whose writer dropped events of the
snapshot is rejected.

Source: microsoft/perfview, src/TraceEvent/EventPipe, NetTraceFormat_v5.md and
NetTraceFormat.md; dotnet/diagnostics, src/Tools/dotnet-gcdump/DotNetHeapDump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.nettrace.signature import NAME, sniff

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.base import PendingDump
    from ingest.readers.source import Source

__all__ = [
    "MEMORY_PER_BYTE", "NAME", "SUFFIXES", "TITLE", "parts", "read", "read_all",
    "sniff", "timeline",
]  # fmt: skip

TITLE = ".NET event trace with a heap snapshot (EventPipe)"
SUFFIXES = (".nettrace",)
MEMORY_PER_BYTE = 2.5


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
