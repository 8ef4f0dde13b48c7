"""What a file answers is what its graph answers, query by query."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers.asking import FUNCTIONS
from ingest.answers.opened import OpenedHeap
from ingest.database.questions import ask
from ingest.queries.library import find
from ingest.tables.heap_tables import HeapTables
from tests.deep import PROFILE

if TYPE_CHECKING:
    from ingest.answers.view import HeapView
    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.server

MOST_OBJECTS = 40 if PROFILE == "deep" else 7
HEAPS = ("main", "domains", "dart", "dotnet", "jvm", "reasons", "lattice")


@pytest.mark.parametrize("query", FUNCTIONS)
@pytest.mark.parametrize("name", HEAPS)
def test_a_file_answers_as_its_graph(
    loaded_heap: dict[str, Loaded], name: str, query: str
) -> None:
    loaded = loaded_heap[name]
    graph = loaded.heap.graph
    view = OpenedHeap(
        HeapTables(graph, analyse(graph)),
        {"name": loaded.heap.name, "source": f"{loaded.heap.name}.gclog"},
    )
    found, asked = find(query), 0
    taken = {parameter.name for parameter in found.parameters}
    for given in _all_values(view, taken):
        values = found.bind(given, loaded.number)
        columns = [column.name for column in found.columns]
        mine = [
            tuple(row[column] for column in columns)
            for row in FUNCTIONS[query](view, values)
        ]
        theirs = list(ask(loaded.database, found, given, loaded.number).rows)
        if query == "root-paths-of-type":  # one of several shortest paths is used
            mine, theirs = _lengths(mine), _lengths(theirs)
        assert mine == theirs, (given, mine, theirs)
        asked += 1
    assert asked


def _all_values(view: HeapView, taken: set[str]) -> list[dict[str, str]]:
    if "from" in taken:
        rows = range(0, view.row_count, max(1, view.row_count // 4))
        return [
            {"from": view.address(a), "to": view.address(b)} for a in rows for b in rows
        ]
    if "address" in taken:
        rows = range(view.row_count)
        step = max(1, len(rows) // MOST_OBJECTS)
        return [{"address": view.address(row)} for row in rows[::step]]
    if "type" in taken:
        return [{"type": name} for name in sorted(set(view.type_names))]
    return [{}]


def _lengths(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    found: Counter[object] = Counter()
    for path, count, *_ in rows:
        found[cast("list[str]", path)[-1]] += cast("int", count)
    return sorted(found.items())
