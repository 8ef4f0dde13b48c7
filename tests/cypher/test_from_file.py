"""What a file answers is what its graph answers, query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers.asking import FUNCTIONS
from ingest.answers.opened import OpenedHeap
from ingest.database.questions import ask
from ingest.queries.library import find
from ingest.tables.heap_tables import HeapTables
from tests.cypher.asked_values import instances_by_end, some_values
from tests.deep import PROFILE

if TYPE_CHECKING:
    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.server

MOST_OBJECTS = 40 if PROFILE == "deep" else 4
HEAPS = ("main", "domains", "dart", "dotnet", "jvm", "reasons", "lattice", "python")


@pytest.fixture(scope="module")
def opened(loaded_heap: dict[str, Loaded]) -> dict[str, OpenedHeap]:
    found = {}
    for name in HEAPS:
        heap = loaded_heap[name].heap
        tables = HeapTables(heap.graph, analyse(heap.graph))
        said = {"name": heap.name, "source": f"{heap.name}.gclog"}
        found[name] = OpenedHeap(tables, said)
    return found


@pytest.mark.parametrize("query", FUNCTIONS)
@pytest.mark.parametrize("name", HEAPS)
def test_a_file_answers_as_its_graph(
    loaded_heap: dict[str, Loaded],
    opened: dict[str, OpenedHeap],
    name: str,
    query: str,
) -> None:
    loaded, view = loaded_heap[name], opened[name]
    found, asked = find(query), 0
    taken = {parameter.name for parameter in found.parameters}
    for given in some_values(
        view, taken, objects=MOST_OBJECTS, ends=4, types=len(view.type_names)
    ):
        values = found.bind(given, loaded.number)
        columns = [column.name for column in found.columns]
        mine = [
            tuple(row[column] for column in columns)
            for row in FUNCTIONS[query](view, values)
        ]
        theirs = list(ask(loaded.database, found, given, loaded.number).rows)
        if query == "root-paths-of-type":  # one of several shortest paths is used
            assert instances_by_end(mine) == instances_by_end(theirs), given
        else:
            assert mine == theirs, (given, mine, theirs)
        asked += 1
    assert asked
