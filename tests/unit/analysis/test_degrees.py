"""The objects with the most references, against counting them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis import degrees
from tests.unit.graphs import small_graphs

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


@given(small_graphs(), st.integers(1, 4))
def test_the_most_connected_are_those_with_the_highest_counts(
    graph: HeapGraph, most: int
) -> None:
    incoming, outgoing = Counter[int](), Counter[int]()
    incoming.update(graph.root_object[(graph.root_flags & 2) == 0].tolist())
    for source in range(len(graph.object_id)):
        for at in range(graph.ref_start[source], graph.ref_start[source + 1]):
            if graph.ref_kind is None or not graph.ref_kind[at]:
                incoming[int(graph.ref_target[at])] += 1
                outgoing[source] += 1

    def highest(counts: Counter[int]) -> dict[int, int]:
        order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return dict(sorted(order[:most]))

    before, degrees.MOST = degrees.MOST, most
    try:
        found = degrees.most_connected(graph)
    finally:
        degrees.MOST = before

    assert [
        dict(zip(one.rows.tolist(), one.counts.tolist(), strict=True)) for one in found
    ] == [highest(incoming), highest(outgoing)]
