"""What would be freed if references, roots or objects went.

An object is freed if no path of references that hold leads from a root to it any more.
So the answer is exact: what is reachable before, without what is reachable afterwards.
A reference that does not hold before a cut, because something stronger does, is assumed
not to hold after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import (
    ROOT,
    holding_references,
    holding_roots,
    search_roots,
)
from ingest.analysis.shortest import reached
from ingest.analysis.types import count_by, sum_by
from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.analysis.distances import Reach, ReferenceColumns
    from ingest.arrays.compiled import Bools, Ints, Longs, Starts
    from ingest.heap.graph import HeapGraph

_FEW = 4
"""Where more than this part of all objects lost its path, all is searched anew."""


@kernel
def _lead_to(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    is_source: Bools,
    is_wanted: Bools,
    found: Bools,
    first: int,
    end: int,
) -> None:
    """Mark in ``found`` what is wanted and what sources from ``first`` on refer to.

    ``skipped`` is bool (E,), the other flags are bool (N + M,).
    """
    for source in range(first, end):
        if not is_source[source]:
            continue
        for ref in range(start[source], start[source + 1]):
            if is_wanted[targets[ref]] and not skipped[ref]:
                found[targets[ref]] = True


@kernel
def _follow(
    start: Starts, targets: Ints, parent: Ints, queue: Ints, count: int, found: Bools
) -> None:
    """Mark in ``found`` what has its path through one of the first in a queue.

    ``queue`` is scratch from ``count`` on.
    """
    head, tail = 0, count
    while head < tail:
        # Each look-up needs the one before, so they are prefetched in turn.
        fetch(start, queue[min(head + 3 * AHEAD, tail - 1)])
        fetch(targets, start[queue[min(head + 2 * AHEAD, tail - 1)]])
        later = queue[min(head + AHEAD, tail - 1)]
        begin = start[later]
        for ref in range(begin, min(start[later + 1], begin + AHEAD)):
            fetch(parent, targets[ref])
        source = queue[head]
        head += 1
        for ref in range(start[source], start[source + 1]):
            row = targets[ref]
            if parent[row] == source and not found[row]:
                found[row] = True
                queue[tail] = row
                tail += 1


class Cut(NamedTuple):
    """What to remove from a heap of N objects, M placeholders, E references, R roots.

    Attributes:
        objects: Bool (N + M,). Objects to remove, with all references from and to them.
        references: Bool (E,).
        roots: Bool (R,).
    """

    objects: Bools
    references: Bools
    roots: Bools

    @classmethod
    def nothing(cls, graph: HeapGraph) -> Cut:
        """An empty cut, to which others can be added."""
        counts = (len(graph.object_id), len(graph.ref_target), len(graph.root_object))
        return cls(*(np.zeros(count, np.bool_) for count in counts))

    def with_(self, other: Cut) -> Cut:
        """Both cuts together."""
        return Cut(*(a | b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Freed:
    """What a cut frees.

    Attributes:
        object_count: Objects, without placeholders.
        shallow_bytes: Their size, bytes.
        type_count: int64 (T,). Objects of each type.
        type_bytes: int64 (T,), bytes.
        outside_bytes: What they own outside the heap.
    """

    object_count: int
    shallow_bytes: int
    type_count: Longs
    type_bytes: Longs
    outside_bytes: int = 0


class WhatIf:
    """Cuts of one heap.

    Args:
        graph: The heap.
        reach: What the roots reach, where that is known.
        held: Which references hold, where that is known, too.

    Attributes:
        graph: The heap.
    """

    def __init__(
        self,
        graph: HeapGraph,
        reach: Reach | None = None,
        held: ReferenceColumns | None = None,
    ) -> None:
        self.graph = graph
        reach = search_roots(graph) if reach is None else reach
        self._parent = reach.parent
        self._held = held or holding_references(graph, reach.strength)
        self._root_holds = holding_roots(graph, reach.strength)
        self._distance = reach.distance

    @cached_property
    def alive(self) -> Bools:
        """Bool (N + M,). What is reachable before any cut."""
        return self._distance > 0

    @cached_property
    def reachable_bytes(self) -> int:
        """Size of what is reachable before any cut, bytes."""
        return int(self.graph.shallow_bytes[self.alive].sum())

    @cached_property
    def reachable_count(self) -> int:
        """Objects that are reachable before any cut, without placeholders."""
        return int(np.count_nonzero(self.alive[: self.graph.object_count]))

    def lost(self, cut: Cut, loose: Bools | None = None) -> Bools:
        """Bool (N + M,): what is reachable before a cut but not after it.

        Only what has lost its path from a root can be, and it is not where a reference
        from elsewhere still leads to it.

        Args:
            cut: The cut.
            loose: From `loose`, if that is known.
        """
        loose = self.loose(cut) if loose is None else loose
        if not loose.any():
            return loose
        left, objects = self.left_by(cut), len(self.graph.object_id)
        if _FEW * int(np.count_nonzero(loose)) > objects:
            return self.alive & (cut.objects | ~reached(left, objects, cut.objects))
        is_wanted = loose & ~cut.objects
        is_seed = np.zeros(objects, np.bool_)
        is_seed[left.roots] = is_wanted[left.roots]
        is_source = self.alive & ~loose
        flags = left.skipped, is_source, is_wanted, is_seed
        columns = left.start, left.target, *flags
        in_ranges(lambda *rows: _lead_to(*columns, *rows), 0, objects)
        seeds = np.flatnonzero(is_seed).astype(np.int32)
        again = reached(left._replace(roots=seeds), objects, ~is_wanted)
        return np.asarray(loose & (cut.objects | ~again))

    def loose(self, cut: Cut) -> Bools:
        """Bool (N + M,): what has its path from a root through what a cut removes."""
        graph, parent = self.graph, self._parent
        rows = np.flatnonzero(cut.references)
        targets = graph.ref_target[rows]
        on_path = parent[targets] == graph.sources(rows)
        starts = np.concatenate(
            [
                targets[on_path],
                graph.root_object[cut.roots & (parent[graph.root_object] == ROOT)],
                np.flatnonzero(cut.objects & self.alive),
            ],
            dtype=np.int32,
            casting="same_kind",
        )
        found = np.zeros(len(parent), np.bool_)
        found[starts] = True
        first = np.flatnonzero(found)
        queue = np.empty(len(parent), np.int32)
        queue[: len(first)] = first
        _follow(graph.ref_start, graph.ref_target, parent, queue, len(first), found)
        return found

    def reached_from(self, objects: Bools) -> Bools:
        """Bool (N + M,): what references that hold lead to, with the objects."""
        roots = np.flatnonzero(objects).astype(np.int32)
        return reached(self._held._replace(roots=roots), len(self.graph.object_id))

    def roots_left(self, cut: Cut) -> Bools:
        """Bool (R,): the roots that still hold their objects after a cut."""
        gone = cut.roots | cut.objects[self.graph.root_object]
        return self._root_holds & ~gone

    def left_by(self, cut: Cut) -> ReferenceColumns:
        """The references and roots that still hold their targets after a cut.

        With the references of objects that go, and those to them. Memory: a byte a
        reference.
        """
        skipped = self._held.skipped
        if not len(skipped):
            skipped = cut.references
        elif cut.references.any():
            skipped = skipped | cut.references
        roots = self.graph.root_object[self.roots_left(cut)]
        return self._held._replace(skipped=skipped, roots=roots)

    def size(self, cut: Cut) -> tuple[int, int]:
        """How many objects a cut removes, and how many references and roots."""
        held = cut.references
        if len(self._held.skipped):
            held = held & ~self._held.skipped
        count = np.count_nonzero
        roots = int(count(cut.roots & self._root_holds))
        return int(count(cut.objects)), roots + int(count(held))

    def freed(self, cuts: Iterable[Cut]) -> Freed:
        """What cuts free if all are made."""
        graph, all_cuts = self.graph, Cut.nothing(self.graph)
        for cut in cuts:
            all_cuts = all_cuts.with_(cut)
        rows = np.flatnonzero(self.lost(all_cuts))
        rows = rows[rows < graph.object_count]
        kinds, sizes = graph.type_index[rows], graph.shallow_bytes[rows]
        types, external = len(graph.type_names), graph.external
        outside = 0
        if external is not None:
            is_freed = np.isin(external.object_index, rows)
            outside = int(external.size_bytes[is_freed].sum())
        return Freed(
            len(rows),
            int(sizes.sum()),
            count_by(kinds, types),
            sum_by(kinds, sizes, types),
            outside,
        )


class SetSize(NamedTuple):
    """The size of a set of objects; placeholders are objects of no bytes.

    Attributes:
        object_count: Objects of the set.
        shallow_bytes: Their size, bytes.
        reached_count: Objects of the set, and objects that references which hold lead
            to from it, each counted once.
        reached_bytes: Their size, bytes.
        retained_count: Objects that are freed if the whole set is, without those that
            are unreachable already.
        retained_bytes: Their size, bytes.
        shared_bytes: Reached bytes that are not retained.
    """

    object_count: int
    shallow_bytes: int
    reached_count: int
    reached_bytes: int
    retained_count: int
    retained_bytes: int
    shared_bytes: int


def set_size(graph: HeapGraph, chosen: Bools) -> SetSize:
    """Measure a set of objects by three searches through the heap.

    Args:
        graph: The heap.
        chosen: Bool (N + M,). The set.
    """
    heap = WhatIf(graph)
    lost = heap.lost(Cut.nothing(graph)._replace(objects=chosen))
    within = heap.reached_from(chosen)
    sizes = [
        (int(np.count_nonzero(some)), int(graph.shallow_bytes[some].sum()))
        for some in (chosen, within, lost)
    ]
    return SetSize(*sizes[0], *sizes[1], *sizes[2], sizes[1][1] - sizes[2][1])
