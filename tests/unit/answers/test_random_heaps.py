"""What is answered without a database is what the twin answers, on random heaps."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers import of_contents, of_cycles, of_handlers, of_leaks, stored, view
from ingest.answers.asking import FUNCTIONS, answered
from ingest.answers.opened import OpenedHeap
from ingest.answers.stored import StoredHeap
from ingest.queries.library import find
from ingest.tables import stored_heap
from ingest.tables.heap_tables import HeapTables
from tests.cypher.asked_values import instances_by_end
from tests.cypher.python_heap import python_heap
from tests.cypher.random_heaps import questions, random_heap
from tests.cypher.test_reports import twin_of
from tests.cypher.twin import Ambiguous, Heap
from tests.deep import PROFILE
from tests.heaps import stored_tables

if TYPE_CHECKING:
    from pathlib import Path

HEAPS = 300 if PROFILE == "deep" else 24

LEFT_OUT = {"dump", "warnings", "instances-by-root-path", "root-path-tree"}
"""What the node of the dump is asked for, and what is about any of several paths."""

NAMES = [
    name
    for name in FUNCTIONS
    if find(name).group != "Comparison" and name not in LEFT_OUT
]


FROM_HOW_MANY = (
    (view, "MANY_REFERENCES"), (of_cycles, "MANY_REFERENCES"),
    (of_leaks, "MANY_REFERENCES"), (of_handlers, "_MANY_HANDLERS"),
    (stored, "_MANY_ROWS"), (stored_heap, "_MANY_REFERENCES"),
)  # fmt: skip
"""Numbers from which on two processors are at work."""


@pytest.mark.parametrize("seed", range(HEAPS))
def test_files_and_stored_tables_answer_as_the_twin(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_heap(seed, most=14 if seed % 2 else 40)
    for module, name in FROM_HOW_MANY if seed % 3 else ():
        monkeypatch.setattr(module, name, 0)
    tables = HeapTables(graph, analyse(graph))
    views = (
        OpenedHeap(tables, {}),
        StoredHeap(stored_tables(tmp_path, tables)),
    )
    for name in NAMES:
        query, twin = find(name), Heap(graph, "random")
        for given in questions(Random(f"{name} {seed}"), query, graph):
            values = query.bind(given, 0)
            try:
                expected = twin_of(twin, name, values)
            except Ambiguous:
                continue
            for one in views:
                found = list(answered(one, query, values).rows)
                if name == "root-paths-of-type":  # one of several shortest is used
                    assert instances_by_end(found) == instances_by_end(expected)
                else:
                    assert found == expected, (name, given)


def test_attributes_of_many_sets_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of more sets than a table has room for, and of more than one part."""
    monkeypatch.setattr(of_contents, "_FIRST_SLOTS", 2)
    monkeypatch.setattr(of_contents, "_AT_ONCE", 3)
    graph = python_heap()
    opened, twin = OpenedHeap(HeapTables(graph, analyse(graph)), {}), Heap(graph, "x")
    query, most = find("attribute-layouts"), 0
    for name in sorted({*graph.type_names}):
        values = query.bind({"type": name, "limit": "1000"}, 0)
        found = list(answered(opened, query, values).rows)
        assert found == twin_of(twin, "attribute-layouts", values), name
        most = max(most, len(found))
    assert most > 2
