"""Flags for servers that live for a few tests, also in processes that a test starts."""

from __future__ import annotations

from ingest.server.launch import jvm_flags

QUICK = "-XX:TieredStopAtLevel=1"
"""Without the optimising compiler, which takes two fifths of the time of a start."""


def quick_flags(version: str, java_major: int, *, heap_mib: int) -> list[str]:
    """What `ingest.server.embedded` uses instead of its own flags."""
    return [*jvm_flags(version, java_major, heap_mib=heap_mib), QUICK]
