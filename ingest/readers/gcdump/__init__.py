"""``.gcdump``: heap dumps of .NET, by dotnet-gcdump, PerfView and Visual Studio.

Binary: serialized objects in a container that names their types. The first one,
``GCHeapDump``, contains the graph, the process and the segments of the heap. Roots are
nodes of the graph, with names in brackets.

Layouts of versions 4 to 7, and from 9 on; additions of later versions are skipped. Data
after the graph may be missing, which is counted.

Source: microsoft/perfview, src/HeapDump/GCHeapDump.cs, src/MemoryGraph,
src/HeapDumpCommon/DotNetHeapInfo.cs; dotnet/diagnostics, src/Tools/dotnet-gcdump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.gcdump.signature import NAME, sniff

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

__all__ = ["MEMORY_PER_BYTE", "NAME", "SUFFIXES", "TITLE", "read", "sniff"]

TITLE = ".NET heap dump (dotnet-gcdump, PerfView, Visual Studio)"
SUFFIXES = (".gcdump",)
MEMORY_PER_BYTE = 5.0


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a dump; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.gcdump import reader

    return reader.read(source, options, progress)
