"""How a ``.nettrace`` begins."""

from __future__ import annotations

from ingest.readers.dotnet.event_blocks import MAGIC

NAME = "nettrace"


def sniff(head: bytes) -> bool:
    """Whether ``head`` is such a stream's."""
    return head.startswith(MAGIC)
