"""The analysis of one heap: distances, dominators, retained sizes, origins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import (
    ReferenceColumns,
    holding_references,
    search_roots,
)
from ingest.analysis.dominators import (
    DominatorTree,
    dominator_tree,
    records_of,
    retained_counts,
)
from ingest.analysis.preorder import preorder_of
from ingest.analysis.tracking import allocation_at, allocation_of, trace_back
from ingest.analysis.type_dominators import type_retained_bytes
from ingest.analysis.types import sum_by_type, type_references
from ingest.arrays.array_files import folder_for, in_file
from ingest.arrays.compiled import kernel
from ingest.arrays.spill import NEVER
from ingest.heap.graph import RefKind
from ingest.heap.read_options import StrengthPolicy
from ingest.progress import silent
from ingest.system.memory import beside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.tracking import Origins
    from ingest.arrays.compiled import Bools, Bytes, Ints
    from ingest.heap.graph import HeapGraph
    from ingest.progress import Progress

BYTES_PER_OBJECT, BYTES_PER_REFERENCE = 68, 5
"""Memory of the analysis at its peak, besides the graph."""


_WEAK, _PHANTOM = int(RefKind.WEAK), int(RefKind.PHANTOM)


@kernel
def _mark_freed(strength: Bytes, freed: Bools) -> None:
    """Set ``freed``, bool (N + M,), where ``strength``, uint8 (N + M,), is weak."""
    for row in range(len(strength)):
        freed[row] = strength[row] == _WEAK or strength[row] == _PHANTOM


@dataclass(frozen=True, eq=False)
class HeapMetrics:
    """Measures of a `HeapGraph` of N objects, M placeholders and T types.

    Attributes:
        policy: Which weaker references hold their target.
        strength: uint8 (N + M,). How strongly the roots reach each object, a `RefKind`
            or `NOT_REACHED`; ``None`` where nothing is weaker than strong.
        root_distance: int32 (N + M,). References from the nearest root, 1 for an
            object that a root refers to; -1 if unreachable.
        path_parent: int32 (N + M,). The previous object on a shortest path;
            `ROOT` or `UNREACHABLE` of `ingest.analysis.distances`.
        dominator: int32 (N + M,). Immediate dominator, `ROOT` or `UNREACHABLE`.
        retained_bytes: int64 (N + M,), bytes that are freed with the object,
            including its own; 0 if it is unreachable.
        reachable_count: Reachable objects, without placeholders.
        reachable_bytes: Their shallow size, bytes.
        count_by_strength: How many of those are reachable by each `RefKind` at best.
        bytes_by_strength: Their shallow size, bytes.
        instance_count: int64 (T,). Instances of each type.
        type_reachable_count: int64 (T,). Reachable instances.
        type_shallow_bytes: int64 (T,), bytes. Shallow size of all instances.
        type_reachable_bytes: int64 (T,), bytes. Shallow size of reachable instances.
        type_retained_bytes: int64 (T,), bytes that are freed with all instances.
        type_retained_exact: Whether these are exact or lower bounds; see
            `ingest.analysis.type_dominators`.
        type_top_count: int64 (T,). Instances that no other object dominates.
        type_top_retained_bytes: int64 (T,), bytes. Retained size of these, summed.
        pair_source, pair_target: int32 (P,). Pairs of types whose instances refer
            to one another.
        pair_count: int64 (P,). Number of references of each pair.
        origins: Origins of the N objects; ``None`` if no history is recorded.
        allocation: int32 (N,). Row of the history's allocations, or -1; ``None`` if
            none are recorded.
    """

    policy: StrengthPolicy
    strength: NDArray[np.uint8] | None
    root_distance: NDArray[np.int32]
    path_parent: NDArray[np.int32]
    dominator: NDArray[np.int32]
    retained_bytes: NDArray[np.int64]
    reachable_count: int
    reachable_bytes: int
    count_by_strength: tuple[int, ...]
    bytes_by_strength: tuple[int, ...]
    instance_count: NDArray[np.int64]
    type_reachable_count: NDArray[np.int64]
    type_shallow_bytes: NDArray[np.int64]
    type_reachable_bytes: NDArray[np.int64]
    type_retained_bytes: NDArray[np.int64]
    type_retained_exact: bool
    type_top_count: NDArray[np.int64]
    type_top_retained_bytes: NDArray[np.int64]
    pair_source: NDArray[np.int32]
    pair_target: NDArray[np.int32]
    pair_count: NDArray[np.int64]
    origins: Origins | None = None
    allocation: NDArray[np.int32] | None = None

    def is_freed_next(self) -> NDArray[np.bool_]:
        """Bool (N + M,): whether only weak or phantom references lead to an object.

        The next collection frees these objects, so nothing leaks or accumulates them.
        """
        freed = np.zeros(len(self.dominator), np.bool_)
        if self.strength is not None:
            _mark_freed(self.strength, freed)
        return freed

    @cached_property
    def retained_count(self) -> NDArray[np.int64]:
        """int64 (N + M,). Objects freed with each one, including itself."""
        return retained_counts(self.dominator)

    @property
    def weak_only_count(self) -> int:
        """Objects that nothing stronger than a weak reference or root holds."""
        return sum(self.count_by_strength[RefKind.WEAK :])

    @property
    def weak_only_bytes(self) -> int:
        """Their shallow size, bytes."""
        return sum(self.bytes_by_strength[RefKind.WEAK :])


def analyse(
    graph: HeapGraph,
    progress: Progress = silent,
    *,
    origins: bool = True,
    policy: StrengthPolicy = StrengthPolicy.STRONGEST,
    spill: str = NEVER,
) -> HeapMetrics:
    """Measure ``graph``.

    References between types are counted in parallel with the rest. If the columns of a
    large heap may be in files, distances and paths are so from the start.

    Args:
        graph: The heap.
        progress: Called after each step.
        origins: Whether to trace objects back through the history; takes time in
            proportion to objects times collections.
        policy: Which weaker references hold their target.
        spill: Folder for such files; see `ingest.arrays.spill.can_start`.
    """
    folder = folder_for(spill, graph.object_id)
    stage, steps = "analyse", 4
    progress(stage, 0, steps)
    with beside(lambda: records_of(graph.ref_start, graph.ref_target)) as records:
        reach = search_roots(graph, policy)
        strength = reach.strength
        # Nothing reads these columns until the tree is made.
        distance = in_file(folder, reach.distance)
        path_parent = in_file(folder, reach.parent)
        del reach
        references = holding_references(graph, strength)
    with beside(lambda: type_references(graph)) as pairs:
        tree, search = dominator_tree(references, records())
        del references
        progress(stage, 1, steps)
        preorder = preorder_of(graph, tree, search)
        del search
        pair_source, pair_target, pair_count = pairs()
    # The same tree, numbered by preorder, which is needed in any case.
    tree = DominatorTree(preorder.object_index, preorder.dominator, tree.all_count)
    progress(stage, 2, steps)
    type_bytes, exact, position_bytes = type_retained_bytes(graph, preorder)
    del preorder
    progress(stage, 3, steps)
    retained_bytes = tree.sizes_by_object(position_bytes)
    del position_bytes
    dominator = tree.by_object()
    del tree
    found_origins, allocation = _origins(graph, progress) if origins else (None, None)
    sums = _sums(graph, distance, dominator, retained_bytes)
    # Each object has a type, and no placeholder has one.
    reachable = int(sums[1].sum()), int(sums[3].sum())
    counts, sizes = _by_strength(graph, strength, *reachable)
    progress(stage, steps, steps)
    return HeapMetrics(
        policy=policy,
        strength=strength,
        root_distance=distance,
        path_parent=path_parent,
        dominator=dominator,
        retained_bytes=retained_bytes,
        reachable_count=reachable[0],
        reachable_bytes=reachable[1],
        count_by_strength=counts,
        bytes_by_strength=sizes,
        instance_count=sums[0],
        type_reachable_count=sums[1],
        type_shallow_bytes=sums[2],
        type_reachable_bytes=sums[3],
        type_retained_bytes=type_bytes,
        type_retained_exact=exact,
        type_top_count=sums[4],
        type_top_retained_bytes=sums[5],
        pair_source=pair_source,
        pair_target=pair_target,
        pair_count=pair_count,
        origins=found_origins,
        allocation=allocation,
    )


def _sums(
    graph: HeapGraph,
    distance: NDArray[np.int32],
    dominator: NDArray[np.int32],
    retained_bytes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """int64 (6, T): sums over the objects of each type; see `sum_by_type`."""
    sums = np.zeros((6, len(graph.type_names)), np.int64)
    columns = graph.type_index, graph.shallow_bytes, distance, dominator
    sum_by_type(*columns, retained_bytes, sums)
    return sums


def _by_strength(
    graph: HeapGraph,
    strength: NDArray[np.uint8] | None,
    reachable_count: int,
    reachable_bytes: int,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Count objects and bytes by the strongest way in which the roots reach them."""
    counts, sizes = [], []
    for kind in list(RefKind)[1:]:
        rows = np.empty(0, np.int64)
        if strength is not None:
            rows = np.flatnonzero(strength[: graph.object_count] == kind)
        counts.append(len(rows))
        sizes.append(int(graph.shallow_bytes[rows].sum()))
    return (
        (reachable_count - sum(counts), *counts),
        (reachable_bytes - sum(sizes), *sizes),
    )


def _origins(
    graph: HeapGraph, progress: Progress
) -> tuple[Origins | None, NDArray[np.int32] | None]:
    history = graph.history
    if history is None:
        return None, None
    address = graph.object_id[: graph.object_count]
    if not history.collections:
        made = history.allocations
        return None, None if made is None else allocation_at(address, made)
    origins = trace_back(address, history.collections, progress)
    if history.allocations is None:
        return origins, None
    return origins, allocation_of(origins, history.allocations)


MOST = 10_000
"""Objects whose counts are stored: enough for any list that somebody reads."""


class Counted(NamedTuple):
    """Some objects and a count of each.

    Attributes:
        rows: int32, ascending. The objects; at most `MOST`.
        counts: int32, > 0.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int32]


@kernel
def _count(
    references: ReferenceColumns, distance: Ints, incoming: Ints, outgoing: Ints
) -> None:
    """Count roots and references from reachable objects in int32 (N + M,) columns."""
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    for source in range(len(outgoing)):
        if distance[source] < 0:
            continue
        for ref in range(start[source], start[source + 1]):
            if not (some_skipped and skipped[ref]):
                incoming[targets[ref]] += 1
                outgoing[source] += 1
    for root in references.roots:
        incoming[root] += 1


def most_connected(
    graph: HeapGraph,
    strength: NDArray[np.uint8] | None,
    root_distance: NDArray[np.int32],
) -> tuple[Counted, Counted]:
    """Count references that hold their target, roots included.

    An unreachable object holds nothing.

    Args:
        graph: The heap.
        strength: From `ingest.analysis.distances.search_roots`.
        root_distance: Likewise; -1 for objects that no root reaches.

    Returns:
        The objects with the most references to them, and those with the most references
        from them. Objects with equal counts are taken in the order of the dump.
    """
    n = len(graph.object_id)
    incoming, outgoing = np.zeros(n, np.int32), np.zeros(n, np.int32)
    _count(holding_references(graph, strength), root_distance, incoming, outgoing)
    return _highest(incoming), _highest(outgoing)


def _highest(counts: NDArray[np.int32]) -> Counted:
    least = 1
    if len(counts) > MOST:
        least = max(1, int(np.partition(counts, -MOST)[-MOST]))
    above = np.flatnonzero(counts > least)
    equal = np.flatnonzero(counts == least)[: max(0, MOST - len(above))]
    rows = np.sort(np.concatenate([above, equal])).astype(np.int32)
    return Counted(rows, counts[rows])
