"""Recognizes a ``.gcdump``."""

from __future__ import annotations

from ingest.readers.dotnet.fastserialization import MAGIC
from ingest.readers.shared.binary import I32

NAME = "gcdump"
ENTRY = "GCHeapDump"
HEAD = I32.pack(len(MAGIC)) + MAGIC


def sniff(head: bytes) -> bool:
    """Whether ``head`` has the signature of the container and of its first type."""
    return head.startswith(HEAD) and ENTRY.encode() in head[:64]
