"""Dead objects hold nothing: no answer changes with them, but those about garbage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.questions import ask
from ingest.queries.library import library
from tests.cypher.cases import EACH, HEAPS
from tests.cypher.conftest import drop_heap, load_heap
from tests.cypher.garbage import with_garbage
from tests.cypher.heap import read_log
from tests.cypher.test_reports import rows_of, table_rows
from tests.dumps.gclog import Gclog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.connection import Database
    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.server

NAMES = (
    *("main", "domains", "dart", "dotnet", "jvm", "v8", "python"),
    *("reasons", "lattice"),
)

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
    "type-histogram": "counts all instances, and the reachable ones of them",
    "type-references": "counts all references of the dump",
    "type-totals": "counts all instances, and the reachable ones of them",
    "unreachable-types": "lists garbage",
}
"""Queries whose answers garbage changes, and why it may."""


@pytest.fixture(scope="module")
def pairs(
    loaded_heap: dict[str, Loaded], database: Database
) -> Iterator[dict[str, tuple[Loaded, Loaded]]]:
    """Each known heap, and the same with garbage."""
    found = {}
    for name in NAMES:
        clean = loaded_heap[name]
        dirty = load_heap(database, with_garbage(clean.heap.graph), "garbage")
        found[name] = (clean, dirty)
    yield found
    for _, dirty in found.values():
        drop_heap(dirty)


@pytest.mark.parametrize("name", sorted({case.query for case in EACH}))
def test_garbage_changes_no_answer_but_those_about_garbage(
    name: str, pairs: dict[str, tuple[Loaded, Loaded]]
) -> None:
    changed = False
    for case in EACH:
        if case.query != name or case.heap not in pairs:
            continue
        clean, dirty = pairs[case.heap]
        rows = rows_of(dirty, name, case.given)
        if name in ABOUT_GARBAGE:
            assert rows == table_rows(dirty, name, case.given), str(case)
            changed |= rows != rows_of(clean, name, case.given)
        else:
            assert rows == rows_of(clean, name, case.given), str(case)
    assert changed is (name in ABOUT_GARBAGE)


@pytest.mark.parametrize(
    "name", ["compare-types", "compare-paths", "new-suspects", "gone-suspects"]
)
def test_garbage_is_no_difference_between_dumps(
    name: str, pairs: dict[str, tuple[Loaded, Loaded]]
) -> None:
    for clean, dirty in pairs.values():
        given = {"earlier": clean.heap.name}
        assert ask(dirty.database, library()[name], given, dirty.number).rows == ()


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
    assert {*HEAPS} - {*NAMES} == {"trace"}
    assert {*ABOUT_GARBAGE} <= {*library()}
