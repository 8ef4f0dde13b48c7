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

import re

from ingest.readers.base import Format
from ingest.readers.shared.lines import to_utf8

NAME = "traverseheap"

_START = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,1000}?-->\s*)?<gcheap\s*/?>", re.S
)


def sniff(head: bytes) -> bool:
    """Whether ``head`` belongs to such a file."""
    return _START.match(b"".join(to_utf8([head]))[:4096]) is not None


FORMAT = Format(
    NAME,
    "SOS !traverseheap in XML",
    suffixes=(".xml",),
    memory_per_byte=1.0,
    sniff=sniff,
    package=__name__,
)
