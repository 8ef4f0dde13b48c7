"""Heaps of dumps, for tests that need no more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.dumps import Opener
from ingest.heap.read_options import DEFAULTS

if TYPE_CHECKING:
    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions


def measure(
    dump: str, options: ReadOptions = DEFAULTS, *, origins: bool = True
) -> tuple[HeapGraph, HeapMetrics, str]:
    """The heap of a file, its metrics, and the digest of the file."""
    opened = Opener(options=options, origins=origins).open(dump)
    graph, metrics = opened.graph, opened.metrics
    assert opened.identity is not None
    return graph, metrics, opened.identity.sha256
