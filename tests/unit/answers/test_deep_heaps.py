"""Questions about deep lists are answered in one pass, not in one for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.answers.frames import HeapView
from ingest.answers.of_object import k_shortest_root_paths
from ingest.answers.opened import OpenedHeap
from ingest.answers.view import NOT_SEEN
from ingest.queries.library import find
from ingest.tables.heap_tables import HeapTables
from tests.cypher.hard_heaps import plain_list, twin_chain, two_way_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph


def opened(graph: HeapGraph) -> OpenedHeap:
    return OpenedHeap(HeapTables(graph, analyse(graph)), {})


def test_the_referrers_of_a_whole_chain_are_found_at_once() -> None:
    heap = opened(plain_list(2_000))
    query = find("k-shortest-root-paths")
    values = query.bind({"address": heap.address(1_999)}, 0)
    with mock.patch.object(
        HeapView, "references_to", autospec=True, side_effect=HeapView.references_to
    ) as scanned:
        [path] = k_shortest_root_paths(heap, values)
    assert path["length"] == 2_000
    assert scanned.call_count <= 3


@pytest.mark.parametrize("make", [two_way_list, twin_chain])
def test_what_is_below_an_object(make: Callable[[int], HeapGraph]) -> None:
    heap = opened(make(40))
    rows = np.arange(heap.row_count)
    for top in rows.tolist():
        expected = [top in heap.dominators(row) for row in rows.tolist()]
        for some in (rows, rows[::-1][:5]):
            place = np.full(heap.row_count, NOT_SEEN, np.int32)
            place[top] = 0
            is_below = heap.places_above(some, place) == 0
            assert is_below.tolist() == [expected[row] for row in some.tolist()]
