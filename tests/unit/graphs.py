"""Small heaps for tests: by hand, and drawn by hypothesis."""

from __future__ import annotations

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
        types: Type of each object; all of one type without it.
        sizes: Bytes of each object; powers of two without it, so that every set
            of objects has a sum of its own.
        missing: Placeholders; they must refer to nothing.
    """
    n = len(references)
    kinds = list(types or [0] * n)
    shallow = list(sizes or [1 << (i % 50) for i in range(n)])
    for i in range(n - missing, n):
        kinds[i], shallow[i] = -1, 0
    flat = [(i, j) for i, targets in enumerate(references) for j in targets]
    held = [*roots, *weak_roots]
    return HeapGraph(
        format_name="test",
        object_count=n - missing,
        object_id=np.arange(1, n + 1, dtype=np.uint64) * 16,
        type_index=np.array(kinds, np.int32),
        shallow_bytes=np.array(shallow, np.int64),
        ref_start=np.cumsum([0, *map(len, references)], dtype=np.int64),
        ref_target=np.array([j for _, j in flat], np.int32),
        ref_kind=np.array([pair in set(weak) for pair in flat], np.uint8),
        root_object=np.array(held, np.int32),
        root_kind=np.ones(len(held), np.uint8),
        root_flags=np.array([0] * len(roots) + [2] * len(weak_roots), np.uint8),
        root_type=np.full(len(held), -1, np.int32),
        type_names=tuple(f"T{i}" for i in range(max([*kinds, 0]) + 1)),
        type_domain=np.zeros(max([*kinds, 0]) + 1, np.int32),
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
    weak = draw(st.lists(st.sampled_from(pairs), max_size=3)) if pairs else []
    return graph_of(
        *references,
        roots=draw(st.lists(one, max_size=3)),
        weak_roots=draw(st.lists(one, max_size=1)),
        weak=weak,
        types=draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)),
        missing=missing,
    )


def alive(
    graph: HeapGraph, without: set[int] | frozenset[int] = frozenset()
) -> set[int]:
    """Objects that strong roots still hold once ``without`` is deleted.

    This is the definition that the analysis is held against.
    """
    found: set[int] = set()
    todo = graph.root_object[(graph.root_flags & 2) == 0].tolist()
    kinds = graph.ref_kind
    while todo:
        if (i := todo.pop()) in found or i in without:
            continue
        found.add(i)
        for at in range(graph.ref_start[i], graph.ref_start[i + 1]):
            if kinds is None or kinds[at] == 0:
                todo.append(int(graph.ref_target[at]))
    return found


def bytes_of(graph: HeapGraph, objects: set[int]) -> int:
    return int(sum(graph.shallow_bytes[i] for i in objects))
