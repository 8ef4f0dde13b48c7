"""Dead objects hold nothing: no answer changes with them, but those about garbage.

The graph of a heap with garbage answers as its tables do: see `test_reports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers.asking import FUNCTIONS, answered
from ingest.answers.opened import OpenedHeap
from ingest.database.questions import ask
from ingest.queries.library import library
from ingest.tables.heap_tables import HeapTables
from tests.cypher.cases import EACH, HEAPS
from tests.cypher.conftest import drop_heap, load_heap
from tests.cypher.dart_heap import dart_heap
from tests.cypher.dotnet_heap import dotnet_heap
from tests.cypher.garbage import with_garbage
from tests.cypher.heap import lattice, main_heap, read_log, reasons, two_domains
from tests.cypher.heaps import OF_THE_NODE
from tests.cypher.jvm_heap import jvm_heap
from tests.cypher.python_heap import python_heap
from tests.cypher.test_reports import rows_of
from tests.cypher.v8_heap import v8_heap
from tests.dumps.gclog import Gclog

if TYPE_CHECKING:
    from ingest.database.connection import Database
    from ingest.heap.graph import HeapGraph
    from tests.cypher.conftest import Loaded

MAKERS = {
    "main": main_heap, "domains": two_domains, "dart": dart_heap,
    "dotnet": dotnet_heap, "jvm": jvm_heap, "v8": v8_heap, "python": python_heap,
    "reasons": reasons, "lattice": lattice,
}  # fmt: skip
ABOUT_GARBAGE = {
    "across-generations": "a young collection takes dead old objects for alive",
    "async-state-machines": "dead_count has those that nothing resumes",
    "by-library": "counts all instances, and the reachable bytes of them",
    "class-loaders": "counts all instances of the classes",
    "dependent-handles": "live_key_count says how many keys are alive",
    "domains": "counts all objects of the domain",
    "dump": "counts all objects of the dump",
    "finalizable-garbage": "lists what is unreachable",
    "generation-histogram": "counts all objects, and the reachable ones of them",
    "large-objects": "alive says which of them are",
    "missing-references": "about the file: what any record refers to",
    "namespace-histogram": "counts all instances, and the reachable bytes of them",
    "object": "counts all references to the object",
    "objects-of-type": "lists all instances, dead ones last",
    "referrers-of": "lists all referrers, dead ones without a distance and last",
    "repeated-classes": "counts all instances of the classes",
    "spaces": "unreachable_count has the dead ones",
    "subtypes": "counts all instances, and the reachable ones of them",
    "type-histogram": "counts all instances, and the reachable ones of them",
    "type-references": "counts all references of the dump",
    "type-totals": "counts all instances, and the reachable ones of them",
    "unreachable-types": "lists garbage",
}
"""Queries whose answers garbage changes, and why it may."""


@pytest.fixture(scope="module")
def views() -> dict[str, tuple[OpenedHeap, OpenedHeap]]:
    """The tables of the same."""
    return {
        name: (view_of(graph := make()), view_of(with_garbage(graph)))
        for name, make in MAKERS.items()
    }


def view_of(graph: HeapGraph) -> OpenedHeap:
    return OpenedHeap(HeapTables(graph, analyse(graph)), {})


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OF_THE_NODE))
def test_garbage_changes_no_answer_but_those_about_garbage(
    name: str, views: dict[str, tuple[OpenedHeap, OpenedHeap]]
) -> None:
    query, changed = library()[name], False
    for case in EACH:
        if case.query != name or case.heap not in views:
            continue
        values = query.bind(case.given, 0)
        clean, dirty = (answered(one, query, values).rows for one in views[case.heap])
        assert name in ABOUT_GARBAGE or clean == dirty, str(case)
        changed |= clean != dirty
    assert changed is (name in ABOUT_GARBAGE)


@pytest.mark.slow
@pytest.mark.server
def test_garbage_is_no_difference_between_dumps(
    loaded_heap: dict[str, Loaded], loaded_garbage: Loaded
) -> None:
    given = {"earlier": loaded_heap["main"].heap.name}
    for name in ("compare-types", "compare-paths", "new-suspects", "gone-suspects"):
        rows = ask(
            loaded_garbage.database, library()[name], given, loaded_garbage.number
        ).rows
        assert rows == (), name


@pytest.mark.slow
@pytest.mark.server
def test_a_dead_delegate_is_no_publisher(database: Database) -> None:
    log = Gclog().domain("g.exe").type(1, "System.Object[]")
    log.type(2, "System.EventHandler").type(3, "App.Screen").object(0x10, 1, 40, [0x20])
    log.object(0x20, 2, 40, [0x30]).object(0x30, 3, 5000).root(0x10, 4, container=3)
    log.object(0x90, 2, 40, [0x10])
    loaded = load_heap(database, read_log(log), "delegate")
    try:
        [(holder, *_)] = rows_of(loaded, "event-handlers", {})
    finally:
        drop_heap(loaded)
    assert holder == "System.Object[]"


def test_all_heaps_without_a_history_are_asked() -> None:
    """The objects of a trace have histories, which garbage would need too."""
    assert {*HEAPS} - {*MAKERS} == {"trace"}
    assert {*ABOUT_GARBAGE} <= {*library()}
