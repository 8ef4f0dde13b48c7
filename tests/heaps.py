"""Heaps of dumps, for tests that need no more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.dumps import Opener
from ingest.heap.read_options import DEFAULTS
from ingest.tables.parquet import StoredDumps, write_tables

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.tables.mapping import DumpTables
    from ingest.tables.parquet import StoredTables


def measure(
    dump: str, options: ReadOptions = DEFAULTS, *, origins: bool = True
) -> tuple[HeapGraph, HeapMetrics, str]:
    """The heap of a file, its metrics, and the digest of the file."""
    opened = Opener(options=options, origins=origins).open(dump)
    graph, metrics = opened.graph, opened.metrics
    assert opened.identity is not None
    return graph, metrics, opened.identity.sha256


def stored_tables(
    folder: Path, tables: DumpTables, number: int = 1, sha256: str = "a" * 64
) -> StoredTables:
    """The tables of a dump, stored in a folder like that of a server."""
    stored = StoredDumps(folder)
    with stored.staged() as staged:
        write_tables(staged, tables)
        return stored.put(staged, number, sha256)
