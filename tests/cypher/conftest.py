"""Heaps on a real server, each beside its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers.opened import OpenedHeap
from ingest.database.claims import Place, delete, unpublish
from ingest.database.store import Store
from ingest.heap.identity import Identity
from ingest.tables.heap_tables import HeapTables
from tests.cypher.dart_heap import dart_heap
from tests.cypher.dotnet_heap import dotnet_heap
from tests.cypher.garbage import with_garbage
from tests.cypher.heap import lattice, main_heap, reasons, two_domains
from tests.cypher.jvm_heap import jvm_heap
from tests.cypher.python_heap import python_heap
from tests.cypher.twin import Heap, Trace
from tests.cypher.v8_heap import v8_heap
from tests.dumps.trace import Heap as TracedHeap
from tests.dumps.trace import graphs, live

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph


@dataclass(frozen=True)
class Loaded:
    """One heap in a database.

    Attributes:
        number: What its queries find in ``$dump``.
        heap: What it is by definition.
        view: Its tables.
    """

    database: Database
    number: int
    heap: Heap
    view: OpenedHeap


def load_heap(
    database: Database, graph: HeapGraph, prefix: str, sha256: str | None = None
) -> Loaded:
    """Write ``graph`` under a name of its own."""
    name = f"{prefix}-{uuid4().hex}"
    tables = HeapTables(graph, analyse(graph))
    written = Store(database).write(
        tables,
        Place(name),
        source=f"{name}.gclog",
        identity=Identity.of(sha256 or uuid4().hex * 2, graph.part),
    )
    view = OpenedHeap(tables, {"name": name, "source": f"{name}.gclog"})
    return Loaded(database, written.number, Heap(graph, name), view)


def traced_heap() -> TracedHeap:
    """One that has three dumps."""
    return live(5, [0, 0, 1, 3, 0, 1, 0, 3, 0, 1, 0])


def load_life(database: Database, heap: TracedHeap) -> list[Loaded]:
    """Write the dumps of one trace; the last one's twin knows the others."""
    sha256 = uuid4().hex * 2
    found = [load_heap(database, graph, "trace", sha256) for graph in graphs(heap)]
    names = [loaded.heap.name for loaded in found]
    found[-1].heap.trace = Trace(heap.dumps, names, heap.made)
    return found


def drop_heap(loaded: Loaded) -> None:
    unpublish(loaded.database, loaded.number)
    delete(loaded.database, loaded.number)


@pytest.fixture(scope="package")
def loaded_heap(database: Database) -> Iterator[dict[str, Loaded]]:
    """Known heaps, loaded side by side.

    ``trace`` is the last of three dumps, ``copy`` is ``main`` once more.
    """
    *earlier, traced = load_life(database, traced_heap())
    heaps = {
        "main": load_heap(database, main_heap(), "main"),
        "domains": load_heap(database, two_domains(), "domains"),
        "dart": load_heap(database, dart_heap(), "dart"),
        "trace": traced,
        "dotnet": load_heap(database, dotnet_heap(), "dotnet"),
        "jvm": load_heap(database, jvm_heap(), "jvm"),
        "v8": load_heap(database, v8_heap(), "v8"),
        "python": load_heap(database, python_heap(), "python"),
        "reasons": load_heap(database, reasons(), "reasons"),
        "lattice": load_heap(database, lattice(), "lattice"),
        "copy": load_heap(database, main_heap(), "copy"),
    }
    yield heaps
    for loaded in (*heaps.values(), *earlier):
        drop_heap(loaded)


@pytest.fixture(scope="package")
def loaded_garbage(database: Database) -> Iterator[Loaded]:
    """The heap ``main`` with dead objects that refer to all of it."""
    loaded = load_heap(database, with_garbage(main_heap()), "garbage")
    yield loaded
    drop_heap(loaded)
