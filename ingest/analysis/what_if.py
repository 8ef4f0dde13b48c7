"""What would be freed if references, roots or objects went.

An object is freed if no path from a strong root reaches it any more. So the answer is
exact: what is reachable before, without what is reachable afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ReferenceColumns, reached
from ingest.analysis.types import count_by, sum_by
from ingest.heap.graph import RefKind, RootFlag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.compiled import Bools, Longs
    from ingest.heap.graph import HeapGraph


class Cut(NamedTuple):
    """What goes, of a heap of N objects, M placeholders, E references and R roots.

    Attributes:
        objects: Bool (N + M,). Objects that go, with all references from and to them.
        references: Bool (E,).
        roots: Bool (R,).
    """

    objects: Bools
    references: Bools
    roots: Bools

    @classmethod
    def nothing(cls, graph: HeapGraph) -> Cut:
        """A cut of a heap to which more can be added."""
        counts = (len(graph.object_id), len(graph.ref_target), len(graph.root_object))
        return cls(*(np.zeros(count, np.bool_) for count in counts))

    def with_(self, other: Cut) -> Cut:
        """Both cuts together."""
        return Cut(*(a | b for a, b in zip(self, other, strict=True)))

    def size(self, graph: HeapGraph) -> tuple[int, int]:
        """How many objects, and how many strong references and roots, it takes away."""
        held = self.roots & ((graph.root_flags & RootFlag.WEAK) == 0)
        cut = self.references
        if graph.ref_kind is not None:
            cut = cut & (graph.ref_kind == RefKind.STRONG)
        count = np.count_nonzero
        return int(count(self.objects)), int(count(held)) + int(count(cut))


@dataclass(frozen=True, slots=True)
class Freed:
    """What a cut frees.

    Attributes:
        object_count: Objects, without placeholders.
        shallow_bytes: Their size, bytes.
        type_count: int64 (T,). Objects of each type.
        type_bytes: int64 (T,), bytes.
    """

    object_count: int
    shallow_bytes: int
    type_count: Longs
    type_bytes: Longs


def left_by(graph: HeapGraph, cut: Cut) -> ReferenceColumns:
    """The strong references and strong roots that a cut leaves.

    Memory: 2 bytes a reference.
    """
    skipped = cut.references
    if graph.ref_kind is not None:
        skipped = skipped | (graph.ref_kind != RefKind.STRONG)
    weak = (graph.root_flags & RootFlag.WEAK) != 0
    if cut.objects.any():
        skipped = skipped | cut.objects[graph.ref_target]
        weak = weak | cut.objects[graph.root_object]
    roots = graph.root_object[~(weak | cut.roots)]
    return ReferenceColumns(graph.ref_start, graph.ref_target, skipped, roots)


class WhatIf:
    """Cuts of one heap.

    Attributes:
        graph: The heap.
        alive: Bool (N + M,). What is reachable before any cut.
        reachable_bytes: Its size, bytes.
        reachable_count: Its objects, without placeholders.
    """

    def __init__(self, graph: HeapGraph) -> None:
        self.graph = graph
        self.alive = self._alive(Cut.nothing(graph))
        self.reachable_bytes = int(graph.shallow_bytes[self.alive].sum())
        self.reachable_count = int(np.count_nonzero(self.alive[: graph.object_count]))

    def _alive(self, cut: Cut) -> Bools:
        return reached(left_by(self.graph, cut), len(self.graph.object_id))

    def freed(self, cuts: Iterable[Cut]) -> Freed:
        """What all of some cuts free together."""
        graph, all_cuts = self.graph, Cut.nothing(self.graph)
        for cut in cuts:
            all_cuts = all_cuts.with_(cut)
        rows = np.flatnonzero(self.alive & ~self._alive(all_cuts))
        rows = rows[rows < graph.object_count]
        kinds, sizes = graph.type_index[rows], graph.shallow_bytes[rows]
        types = len(graph.type_names)
        return Freed(
            len(rows),
            int(sizes.sum()),
            count_by(kinds, types),
            sum_by(kinds, sizes, types),
        )
