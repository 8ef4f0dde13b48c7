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

from ingest.readers.base import Format
from ingest.words.command_line import command

NAME = "dartheap"
MAGIC = b"dartheap"


def sniff(head: bytes) -> bool:
    """Whether ``head`` is a Dart heap snapshot's."""
    return head.startswith(MAGIC)


FORMAT = Format(
    NAME,
    "Dart VM heap snapshot",
    suffixes=(".dartheap",),
    memory_per_byte=6.0,
    sniff=sniff,
    package=__name__,
    options=frozenset({"values"}),
    capture=command("capture", "dart", "URL"),
)
