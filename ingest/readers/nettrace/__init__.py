"""``.nettrace``: event streams of .NET programs that contain heap snapshots.

dotnet-trace and EventPipe write such streams. A snapshot consists of the heap events of
one garbage collection, if those events were enabled. A truncated stream, of a program
that was killed, is read as far as possible; one whose writer dropped events of the
snapshot is rejected.

Source: microsoft/perfview, src/TraceEvent/EventPipe, NetTraceFormat_v5.md and
NetTraceFormat.md; dotnet/diagnostics, src/Tools/dotnet-gcdump/DotNetHeapDump.
"""

from __future__ import annotations

from ingest.readers.base import Format
from ingest.readers.dotnet.event_blocks import MAGIC
from ingest.words.command_line import command

NAME = "nettrace"


def sniff(head: bytes) -> bool:
    """Whether ``head`` has the signature of the format."""
    return head.startswith(MAGIC)


FORMAT = Format(
    NAME,
    ".NET event trace with a heap snapshot (EventPipe)",
    suffixes=(".nettrace",),
    memory_per_byte=2.5,
    sniff=sniff,
    package=__name__,
    capture=command("capture", "dotnet", "PID"),
)
