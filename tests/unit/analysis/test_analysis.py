"""The analysis against its definition: delete objects, see what is unreachable."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from unittest import mock

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.analysis.distances import (
    ROOT,
    UNREACHABLE,
    holding_references,
    holds,
    search_roots,
)
from ingest.analysis.dominators import (
    DepthFirstSearch,
    DominatorTree,
    dominator_tree,
)
from ingest.analysis.metrics import analyse
from ingest.analysis.preorder import preorder_of
from ingest.analysis.type_dominators import type_retained_bytes
from ingest.analysis.types import rows_of, rows_where, type_references
from ingest.answers.opened import OpenedHeap
from ingest.arrays.compiled import Kernel
from ingest.heap.graph import HeapGraph, RefKind, RootKind, starts_type
from ingest.heap.read_options import StrengthPolicy
from ingest.suspects.holders import shortest_path
from ingest.tables.heap_tables import HeapTables
from tests.deep import THOROUGH
from tests.unit.graphs import Held, alive, bytes_of, graph_of, small_graphs


def dominators_of(graph: HeapGraph) -> tuple[DominatorTree, DepthFirstSearch]:
    strength = search_roots(graph).strength
    return dominator_tree(holding_references(graph, strength))


def test_a_diamond_is_dominated_by_its_top() -> None:
    #  0 -> 1 -> 3
    #   `-> 2 --^
    graph = graph_of([1, 2], [3], [3], [], roots=[0])

    assert dominators_of(graph)[0].by_object().tolist() == [ROOT, 0, 0, 0]


def test_a_live_thread_is_not_what_a_static_field_leads_to() -> None:
    #  static -> 0 -> 1, a thread -> 2
    graph = graph_of([1], [2], [], roots=[0, 1])
    kinds = np.array([RootKind.STATIC, RootKind.THREAD], np.uint8)
    graph = replace(graph, root_kind=kinds)

    reach = search_roots(graph, best=np.array([True, False]))

    assert reach.parent.tolist() == [ROOT, ROOT, 1]
    assert reach.distance.tolist() == [1, 1, 2]


def test_a_module_that_only_a_variable_has_is_reached() -> None:
    graph = graph_of([1], [], roots=[0])
    kinds = np.array([RootKind.STATIC], np.uint8)
    graph = replace(
        graph, root_kind=kinds, runtime="python", type_names=("module",),
        type_index=np.zeros(2, np.int32),
    )  # fmt: skip

    reach = search_roots(graph, best=np.array([True]))

    assert reach.parent.tolist() == [ROOT, 0]


def test_garbage_has_no_dominator_no_distance_and_retains_nothing() -> None:
    graph = graph_of([], [0, 2], [1], roots=[0])

    metrics = analyse(graph)

    assert metrics.dominator.tolist() == [ROOT, UNREACHABLE, UNREACHABLE]
    assert metrics.root_distance.tolist() == [1, -1, -1]
    assert metrics.retained_bytes.tolist() == [1, 0, 0]
    assert (metrics.reachable_count, metrics.reachable_bytes) == (1, 1)


def test_a_weak_root_holds_what_nothing_stronger_does() -> None:
    #  0 -> 1 <- 2     0 has a weak root, 2 a strong one
    graph = graph_of([1], [], [1], roots=[2], weak_roots=[0])
    metrics = analyse(graph)

    assert metrics.root_distance.tolist() == [1, 2, 1]
    assert metrics.dominator.tolist() == [ROOT, 2, ROOT]
    assert (metrics.reachable_count, metrics.weak_only_count) == (3, 1)


def test_what_is_softly_reachable_takes_nothing_from_what_is_stronger() -> None:
    #  0 -> 1 -> 2           2 is held by 1, although 4 refers to it, too
    #  0 -> 3 ~soft~> 4 -> 2
    #       3 ~weak~> 5 ~phantom~> 6
    graph = graph_of(
        [1, 3], [2], [], [4, 5], [2], [6], [], roots=[0],
        kinds=[0, 0, 0, RefKind.SOFT, RefKind.WEAK, 0, RefKind.PHANTOM],
    )  # fmt: skip
    metrics = analyse(graph)

    assert metrics.dominator.tolist() == [ROOT, 0, 1, 0, 3, 3, 5]
    assert metrics.root_distance.tolist() == [1, 2, 3, 2, 3, 3, 4]
    assert metrics.count_by_strength == (4, 1, 1, 0, 1)
    as_mat = analyse(graph, policy=StrengthPolicy.MAT)
    assert as_mat.dominator.tolist() == [ROOT, 0, 0, 0, 3, 3, 5]
    assert as_mat.count_by_strength == (7, 0, 0, 0, 0)


@THOROUGH
@given(small_graphs())
def test_strengths_agree_with_the_strongest_path(graph: HeapGraph) -> None:
    held, metrics = Held(graph), analyse(graph)
    n = len(graph.object_id)

    if metrics.strength is not None:
        expected = [held.strength.get(i, 255) for i in range(n)]
        assert metrics.strength.tolist() == expected
    sources = np.repeat(np.arange(n), np.diff(graph.ref_start)).astype(np.int32)
    found = holds(graph, metrics.strength, slice(0, len(sources)), sources)
    assert set(np.flatnonzero(found).tolist()) == held.references
    for i in range(n):
        if i in held.strength and (path := shortest_path(metrics, i)):
            assert len(path) == metrics.root_distance[i]
            for at, to in pairwise(path):
                rows = range(graph.ref_start[at], graph.ref_start[at + 1])
                assert any(
                    row in held.references and graph.ref_target[row] == to
                    for row in rows
                )


@pytest.mark.parametrize(
    "graph",
    [
        graph_of([], [], roots=[0, 1]),
        graph_of([0], roots=[0], types=[0]),
        graph_of([1, 2], [2, 3], [3], [0], roots=[0], types=[0, 1, 0, 1]),
        graph_of([1], [2], [0, 3], [3], roots=[2], weak=[(2, 3)]),
    ],
)
def test_kernels_stay_in_their_columns(graph: HeapGraph) -> None:
    """As plain Python they would raise where machine code reads something else."""
    expected = analyse(graph)

    def interpreted(self: Kernel, *args: object) -> object:
        return self.py_func(*args)

    with mock.patch.object(Kernel, "__call__", interpreted), np.errstate(all="ignore"):
        found = analyse(graph)
    assert found.dominator.tolist() == expected.dominator.tolist()
    assert found.retained_bytes.tolist() == expected.retained_bytes.tolist()


def test_a_heap_without_objects() -> None:
    metrics = analyse(graph_of(roots=[]))

    assert metrics.reachable_bytes == 0
    assert metrics.dominator.tolist() == []


@THOROUGH
@given(small_graphs())
def test_dominators_agree_with_deletion(graph: HeapGraph) -> None:
    """An object dominates exactly what is lost, itself included, without it."""
    live = alive(graph)
    above = {v: {d for d in live if v not in alive(graph, {d})} for v in live}

    for v, idom in enumerate(dominators_of(graph)[0].by_object().tolist()):
        if v not in live:
            assert idom == UNREACHABLE
        else:
            assert above[v] - {v} == (above[idom] if idom != ROOT else set())


@THOROUGH
@given(small_graphs())
def test_retained_is_what_is_lost(graph: HeapGraph) -> None:
    live = alive(graph)
    metrics = analyse(graph)

    for v in range(len(graph.object_id)):
        lost = live - alive(graph, {v})
        assert metrics.retained_bytes[v] == bytes_of(graph, lost)
        assert metrics.retained_count[v] == len(lost)


def assert_that_types_are_exact(graph: HeapGraph) -> None:
    """Each type retains what is lost without all its instances."""
    live, metrics = alive(graph), analyse(graph)
    assert metrics.type_retained_exact
    for t in range(len(graph.type_names)):
        instances = set(np.flatnonzero(graph.type_index == t).tolist())
        lost = live - alive(graph, instances)
        assert metrics.type_retained_bytes[t] == bytes_of(graph, lost)


@THOROUGH
@given(small_graphs(most=12), st.sampled_from([0, 1 << 16]))
def test_a_type_retains_what_is_lost_without_its_instances(
    graph: HeapGraph, swept_in_ranges_from: int
) -> None:
    with mock.patch(
        "ingest.analysis.type_dominators._MANY_POSITIONS", swept_in_ranges_from
    ):
        assert_that_types_are_exact(graph)


def test_two_instances_together_retain_what_neither_does_alone() -> None:
    #  0 -> 1 (A) -> 3 <-> 4      1 and 2 are of type 1, 3 and 4 form a cycle
    #   `-> 2 (A) -> 4
    graph = graph_of(
        [1, 2], [3], [4], [4], [3], roots=[0], types=[0, 1, 1, 2, 3], sizes=[1] * 5
    )

    metrics = analyse(graph)

    assert metrics.retained_bytes.tolist() == [5, 1, 1, 1, 1]
    assert metrics.type_retained_bytes[1] == 4


@given(small_graphs(most=12))
def test_with_too_little_capacity_the_bytes_of_a_type_are_a_lower_bound(
    graph: HeapGraph,
) -> None:
    tree, search = dominators_of(graph)
    preorder = preorder_of(graph, tree, search)

    exact = type_retained_bytes(graph, preorder).type_bytes
    bound, is_exact, _ = type_retained_bytes(graph, preorder, capacity=4)

    assert (bound <= exact).all()
    if is_exact:
        assert bound.tolist() == exact.tolist()


@pytest.mark.deep
@settings(max_examples=8)
@given(small_graphs())
def test_more_references_than_32_bits_count_give_the_same(graph: HeapGraph) -> None:
    def found() -> list[list[int]]:
        tree, search = dominators_of(graph)
        preorder = preorder_of(graph, tree, search)
        sets = type_retained_bytes(graph, preorder).type_bytes
        columns = (tree.object_index[1:], tree.idom, preorder.referrer_start, sets)
        return [column.tolist() for column in columns]

    short = found()
    with mock.patch("ingest.heap.graph._MAX_SHORT", 0):
        assert found() == short
    assert starts_type(2**31 - 1) is np.int32
    assert starts_type(2**31) is np.int64


@settings(max_examples=10)
@given(small_graphs(), st.sampled_from([2, 3, 8]))
def test_any_number_of_processors_gives_the_same(graph: HeapGraph, count: int) -> None:
    def found(processors: int) -> list[object]:
        with (
            mock.patch("ingest.system.memory.thread_count", return_value=processors),
            mock.patch("ingest.analysis.type_dominators._MANY_POSITIONS", 0),
            mock.patch("ingest.answers.view.MANY_REFERENCES", 0),
        ):
            metrics = analyse(graph)
            columns = [getattr(metrics, field.name) for field in fields(metrics)]
            rows = list(range(0, len(graph.object_id), 2))
            view = OpenedHeap(HeapTables(graph, metrics), {})
            columns += [rows_where(graph.type_index == 0), view.references_to(rows)]
        return [one.tolist() if isinstance(one, np.ndarray) else one for one in columns]

    assert found(count) == found(1)


@pytest.mark.deep
@settings(max_examples=30)
@given(small_graphs())
def test_a_graph_of_more_references_than_32_bits_count(graph: HeapGraph) -> None:
    def columns(known: HeapGraph) -> list[object]:
        metrics = analyse(known)
        found = [getattr(metrics, field.name) for field in fields(metrics)]
        found.append(metrics.retained_count)
        return [one.tolist() if isinstance(one, np.ndarray) else one for one in found]

    with mock.patch("ingest.heap.graph._MAX_SHORT", -1):
        long = replace(graph)
        assert long.ref_start.dtype == np.int64
        found = columns(long)
    assert graph.ref_start.dtype == np.int32
    assert found == columns(graph)


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("types", [1, 2, 5, 30])
@pytest.mark.parametrize("both_ends", [False, True])
def test_a_doubly_linked_list(types: int, both_ends: bool) -> None:
    """A change at one end reaches the other end one object at a time."""
    count = 60
    links = [
        [j for j in (i - 1, i + 1) if 0 <= j < count] + [count + 2 + i]
        for i in range(count)
    ]
    holders = [[0], [count - 1 if both_ends else 1]]
    items: list[list[int]] = [[] for _ in range(count)]
    graph = graph_of(
        *links,
        *holders,
        *items,
        roots=[count, count + 1, count + 2, 2 * count],
        types=[i % types for i in range(count)]
        + [types, types if both_ends else types + 1]
        + [i % 3 for i in range(count)],
        sizes=[1 + i * i for i in range(2 * count + 2)],
    )
    assert_that_types_are_exact(graph)


def test_long_chains_with_shared_leaves_take_no_quadratic_time() -> None:
    #  0 -> 1 -> 2 -> ...    one object of each chain refers to each leaf
    #   `-> n+1 -> n+2 ...
    n = 50_000
    upper, lower = np.arange(1, n + 1), np.arange(n + 1, 2 * n + 1)
    leaves = np.arange(2 * n + 1, 3 * n + 1)
    rows = [[1, n + 1]]
    for chain in (upper, lower):
        rows += np.column_stack([chain + 1, leaves]).tolist()
        rows[-1] = [int(leaves[-1])]
    graph = graph_of(*rows, *([[]] * n), roots=[0], sizes=[1] * (3 * n + 1))

    dominator = dominators_of(graph)[0].by_object()

    assert (dominator[leaves] == 0).all()
    assert (dominator[upper[1:]] == upper[:-1]).all()


def test_exceeding_the_capacity_is_reported() -> None:
    #  0 -> 1 (A) -> 2 (B) -> 3 (C) -.
    #   `-> 4 (A) -> 5 (B) -> 6 (C) --> 7
    graph = graph_of(
        [1, 4],
        [2],
        [3],
        [7],
        [5],
        [6],
        [7],
        [],
        roots=[0],
        types=[3, 0, 1, 2, 0, 1, 2, 4],
    )
    tree, search = dominators_of(graph)
    preorder = preorder_of(graph, tree, search)

    exact, is_exact, _ = type_retained_bytes(graph, preorder)
    bound, bound_is_exact, _ = type_retained_bytes(graph, preorder, capacity=3)

    assert is_exact
    assert not bound_is_exact
    assert (exact - bound).tolist() == [graph.shallow_bytes[7]] * 3 + [0, 0]


@given(small_graphs())
def test_distances_and_paths_agree_with_igraph(graph: HeapGraph) -> None:
    n = len(graph.object_id)
    metrics = analyse(graph)
    held = Held(graph)
    edges = [(n, int(graph.root_object[at])) for at in held.roots]
    edges += [
        (i, int(graph.ref_target[at]))
        for i in range(n)
        for at in range(graph.ref_start[i], graph.ref_start[i + 1])
        if at in held.references
    ]
    oracle = igraph.Graph(n + 1, edges, directed=True).distances(n)[0]

    for v in range(n):
        far = oracle[v]
        assert metrics.root_distance[v] == (-1 if far == float("inf") else far)
        path = shortest_path(metrics, v)
        assert len(path) == max(metrics.root_distance[v], 0)
        for a, b in pairwise(path):
            assert (a, b) in edges


@given(small_graphs())
def test_type_references_count_every_reference_to_an_object(graph: HeapGraph) -> None:
    expected: dict[tuple[int, int], int] = {}
    for i in range(len(graph.object_id)):
        for at in range(graph.ref_start[i], graph.ref_start[i + 1]):
            j = int(graph.ref_target[at])
            if graph.type_index[j] >= 0:
                pair = (int(graph.type_index[i]), int(graph.type_index[j]))
                expected[pair] = expected.get(pair, 0) + 1

    source, target, count = type_references(graph)

    found = dict(
        zip(
            zip(source.tolist(), target.tolist(), strict=True),
            count.tolist(),
            strict=True,
        )
    )
    assert found == expected


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("count", [0, 1, 7, 101])
def test_rows_are_listed_alike_in_blocks_of_any_size(count: int, block: int) -> None:
    chosen = np.random.default_rng(count).random(count) < 0.5

    with mock.patch("ingest.analysis.types._BLOCK", block):
        rows = rows_where(chosen)

    assert rows.dtype == np.int32
    assert rows.tolist() == np.flatnonzero(chosen).tolist()


@pytest.mark.parametrize("count", [0, 1, 16, 17, 100])
def test_rows_of_some_objects(count: int) -> None:
    """Few and many are looked for in two ways; `ROOT` and the like are no objects."""
    column = np.random.default_rng(1).integers(-2, 200, 1000).astype(np.int32)
    wanted = np.arange(count, dtype=np.int32) * 2 + 1

    found = rows_of(wanted, column)

    assert found.tolist() == np.flatnonzero(np.isin(column, wanted)).tolist()
