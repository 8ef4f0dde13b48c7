"""Recognizes Dart heap snapshots by their first bytes."""

from __future__ import annotations

NAME = "dartheap"
MAGIC = b"dartheap"


def sniff(head: bytes) -> bool:
    """Whether ``head`` is a Dart heap snapshot's."""
    return head.startswith(MAGIC)
