"""Recognizes a ``.nettrace``."""

from __future__ import annotations

from ingest.readers.dotnet.event_blocks import MAGIC

NAME = "nettrace"


def sniff(head: bytes) -> bool:
    """Whether ``head`` has the signature of the format."""
    return head.startswith(MAGIC)
