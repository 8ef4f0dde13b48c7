"""Memory outside the heap, in the sizes by which suspects are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given

from ingest.analysis.metrics import analyse
from ingest.heap.graph import HeapGraph
from ingest.heap.values import ExternalMemory
from ingest.reports.suspects import of_heap, suspects_text
from ingest.suspects.find import find_suspects
from ingest.suspects.outside import outside_of, with_outside
from ingest.what_if.freed import Cut, WhatIf
from tests.deep import THOROUGH
from tests.unit.graphs import graph_of, small_graphs


def owning(graph: HeapGraph, size_bytes: int) -> HeapGraph:
    """The heap; each of its objects has as much memory outside."""
    rows = np.arange(graph.object_count, dtype=np.int32)
    external = ExternalMemory(
        rows, np.full(len(rows), size_bytes), np.zeros_like(rows), ("buffer",)
    )
    return replace(graph, external=external)


@THOROUGH
@given(small_graphs())
def test_all_that_dominate_an_object_retain_what_it_owns_outside(
    graph: HeapGraph,
) -> None:
    graph = owning(graph, 1 << 40)
    metrics = analyse(graph)
    outside = outside_of(graph, metrics)
    assert outside is not None or not metrics.reachable_count
    if outside is None:
        return
    larger, measured = with_outside(graph, metrics, outside)

    expected = analyse(larger)

    assert measured.retained_bytes.tolist() == expected.retained_bytes.tolist()
    assert measured.reachable_bytes == expected.reachable_bytes


def test_a_few_bytes_outside_change_nothing() -> None:
    graph = owning(graph_of([1], [], roots=[0], sizes=[500, 500]), 40)

    assert outside_of(graph, analyse(graph)) is None


def test_a_suspect_is_told_with_its_memory_outside() -> None:
    children = list(range(1, 201))
    graph = graph_of(children, *([] for _ in children), roots=[0], sizes=[16] * 201)
    graph = owning(graph, 1 << 20)

    first, *_ = find_suspects(graph, analyse(graph)).suspects

    assert "MiB outside the heap, 100% of both)" in first.sentence
    assert first.retained_bytes <= graph.shallow_bytes.sum()


def test_what_has_nothing_outside_is_measured_by_the_heap() -> None:
    """Shares of both would hide it behind a large buffer."""
    of_list, of_buffers = list(range(3, 203)), list(range(203, 403))
    refs = [[1, 2], of_list, of_buffers, *([] for _ in (*of_list, *of_buffers))]
    types = [0, 1, 2, *(3 for _ in of_list), *(4 for _ in of_buffers)]
    graph = graph_of(*refs, roots=[0], sizes=[16] * 403, types=types)
    rows = np.array(of_buffers, np.int32)
    external = ExternalMemory(
        rows, np.full(len(rows), 1 << 20), np.zeros_like(rows), ("buffer",)
    )
    graph = replace(graph, external=external)

    suspects = find_suspects(graph, analyse(graph)).suspects
    sentences = [found.sentence for found in suspects]

    assert any("200 MiB outside the heap, 100% of both)" in one for one in sentences)
    assert any("50% of the reachable heap)" in one for one in sentences)
    assert "Together" not in suspects_text(of_heap(graph, suspects), None)


def test_what_a_cut_frees_outside_is_counted() -> None:
    graph = owning(graph_of([1, 2], [], [], [], roots=[0], sizes=[16] * 4), 1 << 20)
    nothing = Cut.nothing(graph)
    is_first = np.array([True, False])

    freed = WhatIf(graph).freed([nothing._replace(references=is_first)])

    assert (freed.object_count, freed.outside_bytes) == (1, 1 << 20)
