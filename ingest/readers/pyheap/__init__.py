"""Heaps of CPython programs, as PyHeap, its forks and pydump write them (``.pyheap``).

Binary, big-endian: a magic number, the version, types known by name, the stacks of
threads, tables of names; then objects with their sizes, references and attributes; then
the names of types, and the magic number again. A length precedes each text.

Source: the writers of ivanyu/pyheap (``dumper_inferior.py``) and compforge/pydump
(``heap_writer.py``, ``contracts/heap-v1.md``).
"""

from __future__ import annotations

from ingest.readers.base import Format

NAME = "pyheap"
MAGIC = (123_000_321).to_bytes(8, "big")
VERSION = 1


def sniff(head: bytes) -> bool:
    """Whether ``head`` belongs to such a file, of any version below 256."""
    return head.startswith(MAGIC + b"\0\0\0")


FORMAT = Format(
    NAME,
    "heap of a CPython program (PyHeap, pydump)",
    suffixes=(".pyheap",),
    memory_per_byte=4.0,
    sniff=sniff,
    package=__name__,
    options=frozenset({"values"}),
)
