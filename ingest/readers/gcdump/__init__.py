"""``.gcdump``: heap dumps of .NET, by dotnet-gcdump, PerfView and Visual Studio.

Binary: objects in a container that names their types. The one at its begin,
``GCHeapDump``, has the graph, what the process was, and the heap's segments. Roots
are nodes of the graph like all others, with names in brackets.

Layouts of versions 4 to 7, and from 9 on; what later versions add is passed over.
What stands behind the graph may be missing: it is counted then.

Source: microsoft/perfview, src/HeapDump/GCHeapDump.cs, src/MemoryGraph,
src/HeapDumpCommon/DotNetHeapInfo.cs; dotnet/diagnostics, src/Tools/dotnet-gcdump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.gcdump.signature import NAME, sniff

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress
    from ingest.readers.base import ReadOptions
    from ingest.readers.source import Source

__all__ = ["NAME", "SUFFIXES", "TITLE", "read", "sniff"]

TITLE = ".NET heap dump (dotnet-gcdump, PerfView, Visual Studio)"
SUFFIXES = (".gcdump",)


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a dump; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.gcdump import reader

    return reader.read(source, options, progress)
