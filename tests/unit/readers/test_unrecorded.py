"""Roots of what nothing holds, against their definition on random heaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given

from ingest.readers.shared.unrecorded import without_holder
from tests.unit.graphs import graph_of, small_graphs

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


def found(graph: HeapGraph) -> list[int]:
    rows: list[int] = without_holder(
        graph.ref_start,
        graph.ref_target,
        graph.ref_kind,
        graph.root_object,
        graph.type_index,
    ).tolist()
    return rows


def reached(graph: HeapGraph, seeds: set[int], *, weakly: bool) -> set[int]:
    kinds = (
        np.zeros(len(graph.ref_target)) if graph.ref_kind is None else graph.ref_kind
    )
    met, todo = set(seeds), list(seeds)
    while todo:
        row = todo.pop()
        for at in range(graph.ref_start[row], graph.ref_start[row + 1]):
            to = int(graph.ref_target[at])
            if to not in met and (weakly or not kinds[at]):
                met.add(to)
                todo.append(to)
    return met


@given(small_graphs())
def test_added_roots_reach_all_and_are_as_few_as_can_be(graph: HeapGraph) -> None:
    added = found(graph)
    known = reached(graph, set(graph.root_object.tolist()), weakly=True)
    unknown = set(range(graph.object_count)) - known

    assert unknown.issuperset(added)
    assert reached(graph, set(added), weakly=False) >= unknown
    for row in added:
        # What holds one, it holds too: they are a cycle that nothing else holds.
        own = reached(graph, {row}, weakly=False)
        holders = {i for i in unknown if row in reached(graph, {i}, weakly=False)}
        assert holders <= own
        assert not holders & (set(added) - {row})


def test_an_object_without_referrers_is_a_root() -> None:
    # 0 is a root of 1; 2 -> 3 -> 1, 4 -> 3
    assert found(graph_of([1], [], [3], [1], [3], roots=[0])) == [2, 4]


def test_of_a_cycle_the_rarest_type_is_the_root() -> None:
    # 1 <-> 2, 1 <-> 3: a session, its items, and one more item elsewhere.
    graph = graph_of([], [3, 2], [1], [1], roots=[0], types=[0, 1, 0, 0])
    assert found(graph) == [1]
    assert found(graph_of([], [2], [1], roots=[0])) == [1]


def test_weakly_reached_objects_stay_so() -> None:
    graph = graph_of([1], [2], [], roots=[0], kinds=[2, 0])
    assert found(graph) == []
