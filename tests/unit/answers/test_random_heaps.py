"""Files and stored tables answer alike, and paths as by definition: random heaps."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers import of_contents, of_cycles, of_handlers, of_leaks, view
from ingest.answers.asking import FUNCTIONS, answered
from ingest.answers.opened import OpenedHeap
from ingest.answers.stored import StoredHeap
from ingest.queries.library import find
from ingest.tables import stored_heap
from ingest.tables.heap_tables import HeapTables
from tests.cypher import path_answers
from tests.cypher.asked_values import instances_by_end
from tests.cypher.heaps import OF_THE_NODE
from tests.cypher.python_heap import python_heap
from tests.cypher.random_heaps import questions, random_heap
from tests.cypher.twin import Ambiguous, Heap
from tests.deep import PROFILE
from tests.heaps import stored_tables

if TYPE_CHECKING:
    from pathlib import Path

HEAPS = 300 if PROFILE == "deep" else 2

PATHS = (
    "cycles", "k-shortest-root-paths", "path-between", "root-paths-of-type",
    "shortest-root-path",
)  # fmt: skip
"""Queries of which paths are the definition."""

FROM_HOW_MANY = (
    (view, "MANY_REFERENCES"), (of_cycles, "MANY_REFERENCES"),
    (of_leaks, "MANY_REFERENCES"), (of_handlers, "_MANY_HANDLERS"),
    (view, "_MANY_ROWS"), (stored_heap, "_MANY_REFERENCES"),
)  # fmt: skip
"""Numbers from which on two processors are at work."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HEAPS))
def test_files_and_stored_tables_answer_alike(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_heap(seed, most=14 if seed % 2 else 40)
    for module, name in FROM_HOW_MANY if seed % 3 else ():
        monkeypatch.setattr(module, name, 0)
    tables = HeapTables(graph, analyse(graph))
    opened, stored = OpenedHeap(tables, {}), StoredHeap(stored_tables(tmp_path, tables))
    for name in FUNCTIONS.keys() - OF_THE_NODE:
        query = find(name)
        for given in questions(Random(f"{name} {seed}"), query, graph):
            values = query.bind(given, 0)
            found, other = (
                answered(one, query, values).rows for one in (opened, stored)
            )
            if name == "root-paths-of-type":  # one of several shortest is used
                assert instances_by_end(found) == instances_by_end(other)
            else:
                assert found == other, (name, given)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("seed", range(900 if PROFILE == "deep" else 18))
def test_paths_are_those_that_trying_all_of_them_finds(seed: int) -> None:
    graph = random_heap(seed)
    opened, heap = OpenedHeap(HeapTables(graph, analyse(graph)), {}), Heap(graph, "x")
    for name in PATHS:
        query = find(name)
        for given in questions(Random(f"{name} {seed}"), query, graph):
            values = query.bind(given, 0)
            found = list(answered(opened, query, values).rows)
            del values["dump"]
            try:
                expected = getattr(path_answers, name.replace("-", "_"))(heap, **values)
            except Ambiguous:
                continue
            if name == "root-paths-of-type":
                assert instances_by_end(found) == instances_by_end(expected)
            else:
                assert found == list(expected), (name, given)


@pytest.mark.slow
def test_attributes_of_many_sets_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of more sets than a table has room for, and of more than one part."""
    graph, query = python_heap(), find("attribute-layouts")
    opened = OpenedHeap(HeapTables(graph, analyse(graph)), {})

    def layouts() -> dict[str, tuple[tuple[object, ...], ...]]:
        return {
            name: answered(
                opened, query, query.bind({"type": name, "limit": "1000"}, 0)
            ).rows
            for name in {*graph.type_names}
        }

    expected = layouts()
    monkeypatch.setattr(of_contents, "_FIRST_SLOTS", 2)
    monkeypatch.setattr(of_contents, "_AT_ONCE", 3)
    assert layouts() == expected
    assert max(map(len, expected.values())) > 2
