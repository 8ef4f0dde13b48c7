"""Merged trees against their definition: chains of types, one object at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis import merged as module
from ingest.analysis.distances import ROOT, UNREACHABLE, holding_roots
from ingest.analysis.merged import (
    MAX_DEPTH,
    TURNS_FROM,
    MergedTree,
    merged_tree,
    root_roles,
)
from ingest.analysis.metrics import analyse
from tests.unit.graphs import Held, graph_of, small_graphs

if TYPE_CHECKING:
    from ingest.arrays.compiled import Ints
    from ingest.heap.graph import HeapGraph

Chain = tuple[int, ...]


def chain_of(graph: HeapGraph, parent: Ints, i: int) -> Chain:
    """Types from the top down to object ``i``, without repetitions."""
    kinds = []
    while i != ROOT:
        kinds.append(int(graph.type_index[i]))
        i = int(parent[i])
    chain: list[int] = []
    for kind in reversed(kinds):
        if kind in chain[TURNS_FROM:]:
            del chain[chain.index(kind, TURNS_FROM) + 1 :]
        elif [kind] != chain[-1:] and len(chain) < MAX_DEPTH:
            chain.append(kind)
    return tuple(chain)


def sums(graph: HeapGraph, parent: Ints) -> dict[Chain, list[int]]:
    """Of each chain: objects and bytes, then the same including descendants."""
    found: dict[Chain, list[int]] = {(): [0, 0, 0, 0]}
    for i in range(len(parent)):
        if parent[i] == UNREACHABLE:
            continue
        size, chain = int(graph.shallow_bytes[i]), chain_of(graph, parent, i)
        for end in range(len(chain) + 1):
            entry = found.setdefault(chain[:end], [0, 0, 0, 0])
            entry[2] += 1
            entry[3] += size
        found[chain][0] += 1
        found[chain][1] += size
    return found


def rows(tree: MergedTree) -> dict[Chain, list[int]]:
    """The same from the columns of ``tree``."""
    chains: list[Chain] = []
    found = {}
    for at in range(len(tree.parent)):
        above = int(tree.parent[at])
        assert above < at
        chain = () if above < 0 else (*chains[above], int(tree.type_index[at]))
        chains.append(chain)
        assert tree.depth[at] == len(chain)
        columns = (
            tree.object_count,
            tree.shallow_bytes,
            tree.total_count,
            tree.total_bytes,
        )
        found[chain] = [int(column[at]) for column in columns]
    assert len(found) == len(chains)
    return found


@given(small_graphs(most=12))
def test_groups_are_chains_of_types(graph: HeapGraph) -> None:
    metrics = analyse(graph)
    for parent in (metrics.dominator, metrics.path_parent):
        tree = merged_tree(graph, parent)

        assert rows(tree) == sums(graph, parent)
        assert not tree.rest_bytes.any()
        assert not tree.rest_count.any()


@given(small_graphs(most=12), st.integers(1, 6))
def test_groups_beyond_the_limit_are_summed_in_their_parents(
    graph: HeapGraph, limit: int
) -> None:
    parent = analyse(graph).dominator
    everything = rows(merged_tree(graph, parent))

    tree = merged_tree(graph, parent, limit=limit)

    some = rows(tree)
    assert some.items() <= everything.items()
    assert len(some) == min(limit, len(everything))
    least = min(values[3] for values in some.values())
    left = {chain: v for chain, v in everything.items() if chain not in some}
    assert all(values[3] <= least for values in left.values())
    for at, chain in enumerate(some):
        below = [
            v for c, v in left.items() if len(c) == len(chain) + 1 and c[:-1] == chain
        ]
        assert tree.rest_count[at] == sum(v[2] for v in below)
        assert tree.rest_bytes[at] == sum(v[3] for v in below)


@given(small_graphs(most=12))
def test_the_first_level_of_root_paths_is_the_first_root_s_kind(
    graph: HeapGraph,
) -> None:
    kinds = np.arange(len(graph.root_object)) % 7
    graph = graph_with(graph, kinds.astype(np.uint8))
    parent = analyse(graph).path_parent

    tree = merged_tree(
        graph, parent, by_root=holding_roots(graph, analyse(graph).strength)
    )

    holding = Held(graph).roots
    expected: Counter[int] = Counter()
    for i in range(len(parent)):
        if parent[i] == UNREACHABLE:
            continue
        while parent[i] != ROOT:
            i = parent[i]
        first = min(at for at in holding if graph.root_object[at] == i)
        expected[int(kinds[first])] += 1
    found = {
        int(tree.root_kind[at]): int(tree.total_count[at])
        for at in np.flatnonzero(tree.depth == 1)
    }
    assert found == dict(expected)
    assert (tree.root_kind[tree.depth != 1] == -1).all()
    assert tree.total_count[0] == np.count_nonzero(parent != UNREACHABLE)


def graph_with(graph: HeapGraph, root_kind: np.ndarray) -> HeapGraph:
    from dataclasses import replace

    return replace(graph, root_kind=root_kind)


def chain(types: list[int]) -> HeapGraph:
    """Each object refers to the one before it; a root refers to the last one."""
    below = [[i - 1] if i else [] for i in range(len(types))]
    return graph_of(*below, roots=[len(types) - 1], types=types, sizes=[1] * len(types))


def test_a_list_of_any_length_is_one_group() -> None:
    graph = chain([0] * 5000 + [1])

    tree = merged_tree(graph, analyse(graph).dominator)

    assert tree.type_index.tolist() == [-2, 1, 0]
    assert tree.object_count.tolist() == [0, 1, 5000]


def test_types_that_take_turns_in_a_long_chain_are_one_group_each() -> None:
    graph = chain([i % 3 for i in range(300)])

    tree = merged_tree(graph, analyse(graph).dominator)

    assert len(tree.parent) == TURNS_FROM + 3 + 1
    assert (tree.object_count[1 : TURNS_FROM + 1] == 1).all()
    assert tree.object_count[-3:].tolist() == [92, 92, 92]
    assert tree.total_bytes[0] == 300


def test_objects_below_the_maximum_depth_are_in_the_last_group() -> None:
    graph = chain([100 + i for i in range(100)])

    tree = merged_tree(graph, analyse(graph).dominator)

    assert tree.object_count[-1] == 100 - MAX_DEPTH + 1


@pytest.mark.parametrize("capacity", [1 << 3, 1 << 6])
def test_the_table_of_groups_grows(capacity: int) -> None:
    rng = np.random.default_rng(3)
    n = 4000
    graph = graph_of(
        *[[j for j in (2 * i + 1, 2 * i + 2) if j < n] for i in range(n)],
        roots=[0],
        types=rng.integers(0, 5, n).tolist(),
        sizes=[1] * n,
    )
    parent = analyse(graph).dominator
    expected = sums(graph, parent)
    with mock.patch.object(module, "_FIRST_CAPACITY", capacity):
        assert rows(merged_tree(graph, parent, limit=n)) == expected


def test_a_path_longer_than_the_stack() -> None:
    n = 3 * module._STACK // 2
    graph = chain([0] * n)

    tree = merged_tree(graph, analyse(graph).dominator)

    assert tree.total_count.tolist() == [n, n]


def test_an_empty_heap() -> None:
    graph = graph_of([], roots=[], types=[0])

    for by_root in (None, np.zeros(0, np.bool_)):
        tree = merged_tree(graph, analyse(graph).dominator, by_root=by_root)
        assert tree.total_bytes[0] == 0


def test_types_that_differ_in_their_numbers_have_roles_of_their_own() -> None:
    graph = replace(
        graph_of([], [], [], roots=[0, 1, 2]),
        type_names=("T0", "<type 0x96>", "<type 0x23e>"),
        type_domain=np.zeros(3, np.int32),
        root_type=np.array([1, 2, 1], np.int32),
    )
    found = root_roles(graph, np.ones(3, np.bool_))

    assert [found.roles[at].type_index for at in found.role] == [1, 2, 1]
