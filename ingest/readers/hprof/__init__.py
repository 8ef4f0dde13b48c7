"""Heap dumps of the JVM and of Android in the HPROF format.

Binary, big-endian: names, loaded classes and stack traces, then the heap dump in
one record or in segments, whose sub-records are roots, classes, instances and
arrays. Objects are named by their addresses. A file can have several heap dumps.

Source: the format's description in the JDK (``hprof_b_spec.h`` of its HPROF agent, and
``heapDumper.cpp`` of HotSpot), and ``hprof.cc`` of the Android Runtime.
"""

from __future__ import annotations

from ingest.readers.base import Format
from ingest.words.command_line import command

NAME = "hprof"
_VERSIONS = ("1.0", "1.0.1", "1.0.2", "1.0.3")
MAGICS = tuple(f"JAVA PROFILE {version}\0".encode() for version in _VERSIONS)


def sniff(head: bytes) -> bool:
    """Whether ``head`` is an HPROF file's."""
    return head.startswith(MAGICS)


FORMAT = Format(
    NAME,
    "Java heap dump (HPROF)",
    suffixes=(".hprof",),
    # Arrays of numbers, often most of a file, take no memory.
    memory_per_byte=1.0,
    sniff=sniff,
    package=__name__,
    options=frozenset({"layout", "mapping", "values"}),
    has_large_values=True,
    capture=command("capture", "jvm", "PID"),
)
