"""The objects with the most references, against counting them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis import metrics
from ingest.analysis.distances import holding_roots, holds, search_roots
from tests.unit.graphs import small_graphs

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


@given(small_graphs(), st.integers(1, 4))
def test_the_most_connected_are_those_with_the_highest_counts(
    graph: HeapGraph, most: int
) -> None:
    reach = search_roots(graph)
    incoming, outgoing = Counter[int](), Counter[int]()
    roots = graph.root_object[holding_roots(graph, reach.strength)]
    incoming.update(roots.tolist())
    sources = np.repeat(
        np.arange(len(graph.object_id), dtype=np.int32), np.diff(graph.ref_start)
    )
    rows = slice(0, len(sources))
    held = holds(graph, reach.strength, rows, sources) & (reach.distance[sources] >= 0)
    outgoing.update(sources[held].tolist())
    incoming.update(graph.ref_target[held].tolist())

    def highest(counts: Counter[int]) -> dict[int, int]:
        order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return dict(sorted(order[:most]))

    before, metrics.MOST = metrics.MOST, most
    try:
        found = metrics.most_connected(graph, reach.strength, reach.distance)
    finally:
        metrics.MOST = before

    assert [
        dict(zip(one.rows.tolist(), one.counts.tolist(), strict=True)) for one in found
    ] == [highest(incoming), highest(outgoing)]
