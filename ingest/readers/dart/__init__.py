"""Heap snapshots of the Dart VM: Flutter and Dart programs, exports of DevTools.

Binary, numbers in LEB128: a header, the classes with their fields, the objects
with their references, external properties, and in newer files an identity hash for
each object. The id of an object is its position in the file, from 1; object 1 is the
root.

Source: dart-lang/sdk, runtime/vm/service/heap_snapshot.md, and its writer,
runtime/vm/object_graph.cc, which is authoritative where they differ: the data of a
name have tag 8, and identity hashes are LEB128.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.dart.signature import NAME, sniff

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

__all__ = ["MEMORY_PER_BYTE", "NAME", "SUFFIXES", "TITLE", "read", "sniff"]

TITLE = "Dart VM heap snapshot"
SUFFIXES = (".dartheap",)
MEMORY_PER_BYTE = 6.0


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a snapshot; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.dart import reader

    return reader.read(source, options, progress)
