"""CLR Profiler logs, and the heap dumps that SOS writes for the CLR Profiler.

Text, one record a line, known by its first character; numbers with ``0x`` are
hexadecimal, all others decimal::

    t TYPE FINALIZABLE NAME           a type
    f FUNCTION NAME SIGNATURE ...     a function
    n STACK FLAGS ... FUNCTION*       a stack, of an allocation or not; s in old logs
    ! THREAD OBJECT STACK             an allocation; a in old logs, without a thread
    i MILLISECONDS                    the clock
    b BEFORE INDUCED GENERATION (START USED RESERVED GENERATION)*
                                      a collection begins or ends
    u OLD NEW BYTES, v START BYTES    a range that survived it
    g COUNT COUNT COUNT               it has ended; the only record of it in old logs
    e OBJECT KIND FLAGS ID            a root; ID is a function's or an address
    r OBJECT*                         roots without kinds
    o OBJECT TYPE SIZE OBJECT*        an object and its references
    s OBJECT FIELD TYPE THREAD DOMAIN           a static field, of SOS only
    L OBJECT VARIABLE METHOD TYPE THREAD DOMAIN  a variable, of SOS only

A log may have many heap dumps, each with its roots first and its objects after them. By
default the last complete one is read. If roots are recorded with kinds, those without
kinds repeat them. Calls, handles, modules, assemblies and comments are skipped.

SOS (``!traverseheap``) writes the address of most roots instead of that of their
object, and an invented allocation for each object: both are skipped.

Source: microsoftarchive/clrprofiler, profilerOBJ/ProfilerCallback.cpp (the writer) and
CLRProfiler/ReadNewLog.cs; microsoft/perfview, src/PerfView/memory/ClrProfilerParser.cs;
dotnet/diagnostics, TraverseHeapCommand.cs, and before it gcroot.cpp, HeapTraverser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.clrprofiler.signature import NAME, sniff

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

TITLE = "CLR Profiler log, or SOS !traverseheap"
SUFFIXES = (".log",)
MEMORY_PER_BYTE = 2.5


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read one heap dump of a log; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.clrprofiler import reader

    return reader.read(source, options, progress)


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps in one pass; see `ingest.readers.base.PartsReader.read_all`."""
    from ingest.readers.clrprofiler import reader

    return reader.read_all(source, options, progress)


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of a file; see `ingest.readers.base.PartsReader.parts`."""
    from ingest.readers.clrprofiler import reader

    return reader.parts(source, progress)


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections that it records; see `ingest.readers.base.TimelineReader`."""
    from ingest.readers.clrprofiler import reader

    return reader.timeline(source, progress)
