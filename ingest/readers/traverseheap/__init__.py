"""Heap dumps in XML of SOS: ``!traverseheap -xml FILE``.

Types, then roots, then objects with their references::

    <gcheap>
    <types><type id="1" name="System.String"/> ...</types>
    <roots><root kind="stack" address="0x..."/> ...</roots>
    <objects>
    <object address="0x..." typeid="1" size="24">
        <member address="0x..."/> ...
    </object> ...
    </objects>
    </gcheap>

The SOS of the .NET Framework marks members held by a dependent handle
(``dependentHandle="1"``), records the loader of a collectible type
(``<loaderallocator address="0x..."/>``), and writes names in the code page of the
machine. For a handle it writes the address of the root instead of that of its object;
the SOS of .NET does so for all roots. Roots without an object are skipped and counted.

Without ``-xml`` SOS writes a CLR Profiler log.

Source: dotnet/diagnostics, src/SOS/Strike/gcroot.cpp, HeapTraverser, and after it
Microsoft.Diagnostics.ExtensionCommands/TraverseHeapCommand.cs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.traverseheap.signature import NAME, sniff

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

__all__ = ["MEMORY_PER_BYTE", "NAME", "SUFFIXES", "TITLE", "read", "sniff"]

TITLE = "SOS !traverseheap in XML"
SUFFIXES = (".xml",)
MEMORY_PER_BYTE = 1.0


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a dump; see `ingest.readers.base.Reader.read`."""
    from ingest.readers.traverseheap import reader

    return reader.read(source, options, progress)
