"""gclog, version 2: heap dumps of .NET Compact Framework and XNA.

Text, one record a line, elements separated by blanks, every number but the
version hexadecimal without a prefix::

    a 2 NAME [CLOCK]            an application domain opens
    t TYPE NAME                 a type; the name is the rest of the line
    o OBJECT TYPE SIZE OBJECT*  an object and its references
    r OBJECT KIND FLAGS [TYPE]  a root; TYPE contains the static field (kind 4)
    c NAME [CLOCK]              the domain closes

Types may follow their use or be missing, objects may be missing, ids are local to
their domain. Irregularities are counted by kind and tolerated.

Source: S. Pratschner, "Write your own GC Heap Viewer for the .Net Compact
Framework" (2007), and "Heap Dump File Information" of the XNA Game Studio
documentation. Line ends, encodings and scopes are not described there: the
choices here are the most lenient ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.gclog.signature import NAME, sniff

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

__all__ = ["MEMORY_PER_BYTE", "NAME", "SUFFIXES", "TITLE", "read", "sniff"]

TITLE = ".NET Compact Framework / XNA heap dump"
SUFFIXES = (".gclog", ".txt")
MEMORY_PER_BYTE = 5.0


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a dump; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.gclog import reader

    return reader.read(source, options, progress)
