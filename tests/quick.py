"""What servers get that live for a few tests, also in processes that a test starts."""

from __future__ import annotations

from typing import Any

from ingest.server.launch import configuration, jvm_flags

QUICK = "-XX:TieredStopAtLevel=1"
"""Without the optimising compiler, which takes two fifths of the time of a start."""

_KEPT_PLANS = """\
dbms.cypher.statistics_divergence_threshold=1.0
dbms.cypher.min_replan_interval=1d
"""
"""A plan stays as it is: the tests load small heaps of one kind again and again, and
planning the library anew took a third of their time. Users' servers plan anew."""


def quick_flags(version: str, java_major: int, *, heap_mib: int) -> list[str]:
    """What `ingest.server.embedded` uses instead of its own flags."""
    return [*jvm_flags(version, java_major, heap_mib=heap_mib), QUICK]


def quick_configuration(version: str, **facts: Any) -> str:  # noqa: ANN401
    """What `ingest.server.embedded` uses instead of its own configuration."""
    return configuration(version, **facts) + _KEPT_PLANS
