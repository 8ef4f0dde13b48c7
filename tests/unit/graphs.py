"""Small heaps for tests: by hand, and drawn by hypothesis."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from ingest.heap.graph import Domain, HeapGraph

if TYPE_CHECKING:
    from collections.abc import Sequence


def graph_of(
    *references: Sequence[int],
    roots: Sequence[int],
    weak_roots: Sequence[int] = (),
    weak: Sequence[tuple[int, int]] = (),
    kinds: Sequence[int] | None = None,
    types: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    missing: int = 0,
) -> HeapGraph:
    """A heap of ``len(references)`` objects, the last ``missing`` placeholders.

    Args:
        references: For each object, what it refers to.
        roots: Objects that strong roots hold.
        weak_roots: Objects that weak roots see.
        weak: (source, target) of weak references; all such references are weak.
        kinds: Strength of each reference, in the order of ``references``.
        types: Type of each object; all of one type without it.
        sizes: Bytes of each object; powers of two without it, so that every set
            of objects has a sum of its own.
        missing: Placeholders; they must refer to nothing.
    """
    n = len(references)
    of_type = list(types or [0] * n)
    shallow = list(sizes or [1 << (i % 50) for i in range(n)])
    for i in range(n - missing, n):
        of_type[i], shallow[i] = -1, 0
    flat = [(i, j) for i, targets in enumerate(references) for j in targets]
    held = [*roots, *weak_roots]
    return HeapGraph(
        format_name="test",
        object_count=n - missing,
        object_id=np.arange(1, n + 1, dtype=np.uint64) * 16,
        type_index=np.array(of_type, np.int32),
        shallow_bytes=np.array(shallow, np.int64),
        ref_start=np.cumsum([0, *map(len, references)], dtype=np.int64),
        ref_target=np.array([j for _, j in flat], np.int32),
        ref_kind=np.array(
            [2 * (pair in set(weak)) for pair in flat] if kinds is None else kinds,
            np.uint8,
        ),
        root_object=np.array(held, np.int32),
        root_kind=np.ones(len(held), np.uint8),
        root_flags=np.array([0] * len(roots) + [2] * len(weak_roots), np.uint8),
        root_type=np.full(len(held), -1, np.int32),
        type_names=tuple(f"T{i}" for i in range(max([*of_type, 0]) + 1)),
        type_domain=np.zeros(max([*of_type, 0]) + 1, np.int32),
        domains=(Domain("test"),),
    )


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 9) -> HeapGraph:
    """Any shape: cycles, self-references, garbage, weak and double references."""
    n = draw(st.integers(1, most))
    one = st.integers(0, n - 1)
    missing = draw(st.integers(0, min(2, n - 1)))
    references = [draw(st.lists(one, max_size=4)) for _ in range(n - missing)]
    references += [[]] * missing
    pairs = [(i, j) for i, targets in enumerate(references) for j in targets]
    kinds = [0] * len(pairs)
    weaker = st.integers(0, max(len(pairs) - 1, 0))
    for at in draw(st.lists(weaker, max_size=4)) if pairs else []:
        kinds[at] = draw(st.integers(1, 4))
    return graph_of(
        *references,
        roots=draw(st.lists(one, max_size=3)),
        weak_roots=draw(st.lists(one, max_size=1)),
        kinds=kinds,
        types=draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)),
        missing=missing,
    )


class Held:
    """What the roots hold, by definition: paths as strong as possible.

    Attributes:
        strength: Of each reachable object.
        roots: Rows of the roots that hold their object.
        references: Rows of the references that hold their target; those of
            unreachable objects where they are strong.
    """

    def __init__(self, graph: HeapGraph) -> None:
        self._graph = graph
        starts = graph.ref_start.tolist()
        self._rows = [range(*ends) for ends in pairwise(starts)]
        kinds = [0] * starts[-1] if graph.ref_kind is None else graph.ref_kind.tolist()
        weak = [2 if flag & 2 else 0 for flag in graph.root_flags.tolist()]
        entries = list(zip(graph.root_object.tolist(), weak, strict=True))
        found: dict[int, int] = {}
        edges = [
            (i, graph.ref_target[at], at)
            for i, rows in enumerate(self._rows)
            for at in rows
        ]
        for _ in range(len(self._rows) + 1):
            for i, kind in entries:
                found[i] = min(found.get(i, 9), kind)
            for i, j, at in edges:
                if i in found:
                    found[int(j)] = min(found.get(int(j), 9), max(found[i], kinds[at]))
        self.strength = found
        self.roots = {at for at, (i, kind) in enumerate(entries) if kind == found[i]}
        self.references = {
            at
            for i, j, at in edges
            if (
                max(found[i], kinds[at]) == found[int(j)]
                if i in found
                else not kinds[at]
            )
        }

    def alive(self, without: set[int] | frozenset[int] = frozenset()) -> set[int]:
        """Objects that roots still hold once ``without`` is deleted."""
        graph, found = self._graph, set[int]()
        todo = [int(graph.root_object[at]) for at in self.roots]
        while todo:
            if (i := todo.pop()) not in found and i not in without:
                found.add(i)
                held = [at for at in self._rows[i] if at in self.references]
                todo += graph.ref_target[held].tolist()
        return found


def alive(
    graph: HeapGraph, without: set[int] | frozenset[int] = frozenset()
) -> set[int]:
    """As `Held.alive`: the definition that the analysis is held against."""
    return Held(graph).alive(without)


def bytes_of(graph: HeapGraph, objects: set[int]) -> int:
    return int(sum(graph.shallow_bytes[i] for i in objects))
