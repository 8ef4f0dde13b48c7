"""Logs of Mono's log profiler, with its heapshots.

A log has buffers of events, each buffer of one thread, with the bases from which times,
pointers, objects and methods in it differ. A heapshot is what one thread writes between
its begin and its end: the moves of the collection before it, the roots, then each
object with its references by their offsets in it. What a root is, the region tells that
was registered around its address; the names of classes may come after the objects.

Source: mono/mono and dotnet/runtime, ``mono/profiler/log.h`` and ``log.c``, formats 13
to 17.
"""

from __future__ import annotations

from ingest.readers.base import Format

NAME = "mlpd"

HEADER = b"\x01\x5a\x50\x4d"
BUFFER = b"\x01\x4c\x50\x4d"


def sniff(head: bytes) -> bool:
    """Whether ``head`` is the beginning of such a log."""
    return head.startswith(HEADER)


FORMAT = Format(
    NAME,
    "heapshots in a log of the Mono profiler",
    suffixes=(".mlpd",),
    memory_per_byte=6.0,
    sniff=sniff,
    package=__name__,
    records_garbage=False,
)
