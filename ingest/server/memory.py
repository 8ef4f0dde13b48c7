"""How much memory the embedded Neo4j may use.

About a fifth of the machine's memory each for the Java heap and the page cache,
never more than half together: other programs and the analysis run beside the
server. The limit of a container counts as the machine's memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from ingest.errors import EmbeddedError
from ingest.memory import cgroup_limit

_MIB = 1 << 20
_HEAP_MIB = (256, 8 << 10)
_PAGE_CACHE_MIB = (64, 16 << 10)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the server."""

    heap_mib: int
    page_cache_mib: int


def fit(heap_mib: int | None, page_cache_mib: int | None, *, total_mib: int) -> Memory:
    """Divide ``total_mib``; values that the user has set are not changed.

    Raises:
        EmbeddedError: If there is too little.
    """
    least = _HEAP_MIB[0] + _PAGE_CACHE_MIB[0]
    if heap_mib is None and page_cache_mib is None and total_mib < 2 * least:
        raise EmbeddedError(
            f"{total_mib} MiB of memory is too little for the embedded Neo4j, which "
            f"needs {2 * least} MiB: set INGEST_NEO4J_HEAP_MIB and "
            "INGEST_NEO4J_PAGECACHE_MIB to try anyway, or use your own server "
            "(NEO4J_URI)"
        )
    half = total_mib // 2
    heap = heap_mib
    if heap is None:
        rest = half - (page_cache_mib or _PAGE_CACHE_MIB[0])
        heap = _between(_HEAP_MIB, min(total_mib // 5, rest))
    cache = page_cache_mib
    if cache is None:
        cache = _between(_PAGE_CACHE_MIB, min(total_mib // 5, half - heap))
    if heap + cache > total_mib:
        raise EmbeddedError(
            f"a heap of {heap} MiB and a page cache of {cache} MiB exceed the "
            f"{total_mib} MiB of memory: lower INGEST_NEO4J_HEAP_MIB or "
            "INGEST_NEO4J_PAGECACHE_MIB"
        )
    return Memory(heap, cache)


def for_import(*, total_mib: int) -> Memory:
    """Memory for ``neo4j-admin`` beside a running server and this tool."""
    return Memory(
        _between((256, 2 << 10), total_mib // 8),
        _between((512, 64 << 10), total_mib * 3 // 10),
    )


def _between(bounds: tuple[int, int], value: int) -> int:
    return max(bounds[0], min(bounds[1], value))


def total_mib() -> int:
    """Memory of the machine, or the limit of the container if that is less."""
    total = psutil.virtual_memory().total
    limit = cgroup_limit()
    return (total if limit is None else min(total, limit)) // _MIB
