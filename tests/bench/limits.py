"""What may be used, by size: set on two cores, with other work on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits for one size of heap; ``None`` where there is none.

    Attributes:
        tree_info_mib: Memory of ``info`` of the other shape.
        info_of_igraph: Time of ``info`` to that of igraph's graph and dominators.
        bulk_ratio: Of a bulk load to Neo4j's import of the same files alone.
        bulk_mib: Peak memory of all processes of a bulk load.
        bolt_us: Wall clock for each node or relationship over Bolt, microseconds.
        bolt_client_us: CPU time of the tool for each of them while it writes.
        drop_s: To drop the only dump.
        dominators_speed: How many times faster than igraph, at least.
        dominators_memory: What part of igraph's peak memory, at most.
        report_s: For the first report after a bulk load.
        first_s: For each query that reports show first.
        query_s: For each other query.
    """

    info_s: float | None = None
    info_mib: float | None = None
    tree_info_mib: float | None = None
    info_of_igraph: float | None = None
    bulk_s: float | None = None
    bulk_ratio: float | None = None
    bulk_mib: float | None = None
    bolt_mib: float | None = None
    bolt_us: float | None = None
    bolt_client_us: float | None = None
    drop_s: float | None = None
    dominators_speed: float | None = None
    dominators_memory: float | None = None
    report_s: float | None = None
    first_s: float | None = None
    query_s: float | None = None


_LIMITS = {
    1_000_000: Limits(
        info_s=1.8,
        info_mib=250,
        tree_info_mib=250,
        info_of_igraph=0.38,
        bulk_s=32,
        bulk_ratio=1.6,
        bolt_mib=600,
        bolt_us=8,
        bolt_client_us=1,
        drop_s=8,
        report_s=2,
        first_s=1,
        query_s=1,
    ),
    10_000_000: Limits(
        info_s=20,
        info_mib=800,
        tree_info_mib=1150,
        info_of_igraph=0.20,
        bulk_s=210,
        bulk_ratio=1.6,
        bulk_mib=6144,
        dominators_speed=5,
        dominators_memory=0.25,
        first_s=1,
        query_s=1,
    ),
    100_000_000: Limits(info_s=240, info_mib=6656),
}


def limits_for(objects: int) -> Limits:
    """The limits of heaps of that size; none for other sizes."""
    return _LIMITS.get(objects, Limits())
