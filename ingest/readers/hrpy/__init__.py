"""Heaps of CPython programs, as ``heaproots_dump`` writes them.

Binary, little-endian: a magic number, then records, each with a tag of four letters and
a length. After a header and the roots come chunks of objects of one type, in columns,
preceded by the names and types that they need. The last record has totals.

Source: our own format, which ``readers/README.md`` describes and
``capture/python/heaproots_dump.py`` writes.
"""

from __future__ import annotations

from ingest.readers.base import Format
from ingest.words.command_line import command

NAME = "hrpy"
MAGIC = b"\x89HRPY\r\n"
VERSION = 1


def sniff(head: bytes) -> bool:
    """Whether ``head`` belongs to such a file."""
    return head.startswith(MAGIC)


FORMAT = Format(
    NAME,
    "heap of a CPython program",
    suffixes=(".hrpy",),
    memory_per_byte=4.0,
    sniff=sniff,
    package=__name__,
    options=frozenset({"values"}),
    capture=command("capture", "python", "PID"),
)
