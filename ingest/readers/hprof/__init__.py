"""Heap dumps of the JVM and of Android in the HPROF format.

Binary, big-endian: names, loaded classes and stack traces, then the heap dump in
one record or in segments, whose sub-records are roots, classes, instances and
arrays. Objects are named by their addresses. A file can have several heap dumps.

Source: the format's description in the JDK (``hprof_b_spec.h`` of its HPROF agent, and
``heapDumper.cpp`` of HotSpot), and ``hprof.cc`` of the Android Runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.hprof.signature import NAME, sniff

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import HeapGraph, Part
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.base import PendingDump
    from ingest.readers.source import Source

__all__ = [
    "MEMORY_PER_BYTE", "NAME", "SUFFIXES", "TITLE", "parts", "read", "read_all",
    "sniff",
]  # fmt: skip

TITLE = "Java heap dump (HPROF)"
SUFFIXES = (".hprof",)
MEMORY_PER_BYTE = 1.0
"""Arrays of numbers, often most of a file, take none."""


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a heap dump; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.hprof import reader

    source.expect_values()
    return reader.read(source, options, progress)


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps in one pass; see `ingest.readers.base.PartsReader.read_all`."""
    from ingest.readers.hprof import reader

    source.expect_values()
    return reader.read_all(source, options, progress)


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of a file; see `ingest.readers.base.PartsReader.parts`."""
    from ingest.readers.hprof import reader

    return reader.parts(source, progress)
