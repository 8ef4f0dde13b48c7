"""Stored tables answer what the heap answers that they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.answers.asking import FUNCTIONS, answered
from ingest.answers.opened import OpenedHeap
from ingest.answers.stored import StoredHeap
from ingest.queries.library import find
from ingest.tables.heap_tables import HeapTables
from tests.cypher.asked_values import instances_by_end, some_values
from tests.cypher.heaps import HEAPS, OF_THE_NODE
from tests.deep import PROFILE
from tests.heaps import stored_tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.heap.graph import HeapGraph

IS_DEEP = PROFILE == "deep"
MOST = 20 if IS_DEEP else 1
"""Objects and types that are asked about."""


@pytest.mark.slow
@pytest.mark.parametrize("heap", HEAPS if IS_DEEP else HEAPS[:7:3])
def test_stored_tables_answer_as_the_heap(
    heap: Callable[[], HeapGraph], tmp_path: Path
) -> None:
    graph = heap()
    tables = HeapTables(graph, analyse(graph))
    opened = OpenedHeap(tables, {})
    stored = StoredHeap(stored_tables(tmp_path, tables))
    for name in FUNCTIONS.keys() - OF_THE_NODE:
        query = find(name)
        taken = {one.name for one in query.parameters}
        for given in some_values(opened, taken, objects=MOST, ends=MOST, types=MOST):
            values = query.bind(given, 0)
            found = answered(stored, query, values).rows
            expected = answered(opened, query, values).rows
            if name == "root-paths-of-type":  # one of several shortest paths is used
                assert instances_by_end(found) == instances_by_end(expected), given
            else:
                assert found == expected, (name, given)
