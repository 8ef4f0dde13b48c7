"""Heaps of CPython programs, as ``heaproots_dump`` writes them.

Binary, little-endian: a magic number, then records, each with a tag of four letters and
a length. A header and the roots, then chunks of objects of one type in columns, with
the names and types that they need before them; a record with totals is the last.

Source: our own. ``readers/README.md`` describes it, and
``capture/python/heaproots_dump.py`` writes it.
"""

from __future__ import annotations

from ingest.readers.base import Format
from ingest.words.command_line import command

NAME = "hrpy"
MAGIC = b"\x89HRPY\r\n"
VERSION = 1


def sniff(head: bytes) -> bool:
    """Whether ``head`` is such a file's."""
    return head.startswith(MAGIC)


FORMAT = Format(
    NAME,
    "heap of a CPython program",
    suffixes=(".hrpy",),
    memory_per_byte=4.0,
    sniff=sniff,
    package=__name__,
    capture=command("capture", "python", "PID"),
)
