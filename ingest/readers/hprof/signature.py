"""Recognizes HPROF heap dumps by their first bytes."""

from __future__ import annotations

NAME = "hprof"
_VERSIONS = ("1.0", "1.0.1", "1.0.2", "1.0.3")
MAGICS = tuple(f"JAVA PROFILE {version}\0".encode() for version in _VERSIONS)


def sniff(head: bytes) -> bool:
    """Whether ``head`` is an HPROF file's."""
    return head.startswith(MAGICS)
