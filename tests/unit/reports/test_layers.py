"""Layers of small graphs: every edge points down, and nothing overlaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.reports.layers import layers, layout

Edges = list[tuple[int, int]]


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[int, Edges]:
    n = draw(st.integers(1, 9))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    return n, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(acyclic())
def test_a_layer_is_the_longest_path_to_it(graph: tuple[int, Edges]) -> None:
    count, edges = graph
    longest = [0] * count
    for end in range(count):
        above = [longest[start] for start, other in edges if other == end]
        longest[end] = max(above, default=-1) + 1

    assert layers(count, edges) == longest


@given(acyclic())
def test_nothing_overlaps_and_edges_pass_each_layer(graph: tuple[int, Edges]) -> None:
    count, edges = graph

    found = layout(count, edges, width=100, passing=10, gap=5)

    row_of = {v: row for row, members in enumerate(found.rows) for v in members}
    assert len(row_of) == len(found.x) == sum(map(len, found.rows))
    for members in found.rows:
        edge = -1e-6
        for vertex in members:
            half = 50 if vertex < count else 5
            assert found.x[vertex] - half >= edge
            edge = found.x[vertex] + half + 5 - 1e-6
        assert edge <= found.width + 5
    for (start, end), path in zip(edges, found.paths, strict=True):
        assert (path[0], path[-1]) == (start, end)
        rows = [row_of[vertex] for vertex in path]
        assert rows == list(range(rows[0], rows[-1] + 1))


def test_two_edges_do_not_cross() -> None:
    #  0 -> 3, 1 -> 2
    found = layout(4, [(0, 3), (1, 2)], width=10, passing=1, gap=1)

    assert [row.index(v) for row, v in zip(found.rows, (0, 3), strict=True)] in (
        [0, 0],
        [1, 1],
    )


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="cycle"):
        layers(2, [(0, 1), (1, 0)])
