"""Sizes of sets against their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.heap.graph import HeapGraph
from ingest.what_if.freed import SetSize, set_size
from tests.unit.graphs import Held, alive, bytes_of, small_graphs


def _reached(graph: HeapGraph, chosen: set[int]) -> set[int]:
    """What references that hold lead to from some objects."""
    held = sorted(Held(graph).references)
    rows = np.searchsorted(graph.ref_start, held, "right") - 1
    pairs = list(zip(rows.tolist(), graph.ref_target[held].tolist(), strict=True))
    found, before = set(chosen), set[int]()
    while found != before:
        before = found
        found = before | {target for source, target in pairs if source in before}
    return found


@given(small_graphs(), st.data())
def test_a_set_reaches_and_retains_what_the_definitions_say(
    graph: HeapGraph, data: st.DataObject
) -> None:
    n = len(graph.object_id)
    chosen = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    column = np.zeros(n, np.bool_)
    column[list(chosen)] = True

    within, lost = _reached(graph, chosen), alive(graph) - alive(graph, chosen)

    assert set_size(graph, column) == SetSize(
        len(chosen),
        bytes_of(graph, chosen),
        len(within),
        bytes_of(graph, within),
        len(lost),
        bytes_of(graph, lost),
        bytes_of(graph, within) - bytes_of(graph, lost),
    )
