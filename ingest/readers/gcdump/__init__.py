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

from ingest.readers.base import Format
from ingest.readers.dotnet.fastserialization import MAGIC
from ingest.readers.shared.binary import I32
from ingest.words.command_line import command

NAME = "gcdump"
ENTRY = "GCHeapDump"
HEAD = I32.pack(len(MAGIC)) + MAGIC


def sniff(head: bytes) -> bool:
    """Whether ``head`` has the signature of the container and of its first type."""
    return head.startswith(HEAD) and ENTRY.encode() in head[:64]


FORMAT = Format(
    NAME,
    ".NET heap dump (dotnet-gcdump, PerfView, Visual Studio)",
    suffixes=(".gcdump",),
    memory_per_byte=5.0,
    sniff=sniff,
    package=__name__,
    capture=command("capture", "dotnet", "PID"),
    most_objects="dotnet-gcdump stops after 10,000,000 objects, and would again.",
)
