"""Heaps on a real server, each beside its twin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from ingest.analysis.metrics import analyse
from ingest.pipeline import write
from ingest.store.dumps import delete, unpublish
from ingest.store.tables import HeapTables
from tests.cypher.dart_heap import dart_heap
from tests.cypher.heap import main_heap, two_domains
from tests.cypher.twin import Heap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.graph import HeapGraph
    from ingest.store.connection import Database


@dataclass(frozen=True)
class Loaded:
    """One heap in a database.

    Attributes:
        number: What its queries find in ``$dump``.
    """

    database: Database
    number: int
    heap: Heap


def load_heap(database: Database, graph: HeapGraph, prefix: str) -> Loaded:
    """Write ``graph`` under a name of its own."""
    name = f"{prefix}-{uuid4().hex}"
    written = write(
        HeapTables(graph, analyse(graph)),
        database,
        name=name,
        source=f"{name}.gclog",
        sha256=uuid4().hex * 2,
    )
    return Loaded(database, written.number, Heap(graph, name))


def drop_heap(loaded: Loaded) -> None:
    unpublish(loaded.database, loaded.number)
    delete(loaded.database, loaded.number)


@pytest.fixture(scope="module")
def loaded_heap(database: Database) -> Iterator[dict[str, Loaded]]:
    """``main``, ``domains`` and ``dart``, three known heaps, loaded side by side."""
    heaps = {
        "main": load_heap(database, main_heap(), "main"),
        "domains": load_heap(database, two_domains(), "domains"),
        "dart": load_heap(database, dart_heap(), "dart"),
    }
    yield heaps
    for loaded in heaps.values():
        drop_heap(loaded)
