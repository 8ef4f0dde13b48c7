"""Weak references: maps that hold their keys weakly, and what is left of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import RefKind
from ingest.runtimes import named
from ingest.suspects.covers import MOST_LEVELS
from ingest.suspects.joints import some_of
from ingest.what_if.places import target_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder

_SAMPLE, _ENTRIES = 1000, 20

_MANY_LOCALS = 50
"""Values of thread-locals alike that a thread has, from which on they are told."""

_NEAR = 200
"""Objects that a value holds and in which its key is looked for."""


def signs(
    graph: HeapGraph,
    metrics: HeapMetrics,
    holder: Holder,
    members: NDArray[np.int32],
) -> list[str]:
    """Sentences on what weak references tell that speak for a leak.

    Args:
        graph: The heap.
        metrics: Its metrics.
        holder: What holds the objects.
        members: int32. The objects.
    """
    found = [*_thread_locals(graph, metrics, holder, members)]
    if _are_keys_held(graph, metrics, members):
        found.append(
            "The values of the weak map refer to their own keys, so no entry ever goes."
        )
    if gone := _without_referents(graph, members):
        found.append(gone)
    return found


def _thread_locals(
    graph: HeapGraph,
    metrics: HeapMetrics,
    holder: Holder,
    members: NDArray[np.int32],
) -> list[str]:
    """Sentences if threads have many values alike, or values whose keys are gone.

    Of each thread-local a thread has but one.
    """
    keyed_by = named(graph.runtime).keyed_by
    names = [name for name in map(graph.type_name, holder.path) if name in keyed_by]
    if not names:
        return []
    kind, rows = graph.type_names.index(names[0]), members
    entries = threads = np.empty(0, np.int32)
    for _ in holder.path[:MOST_LEVELS]:
        above = metrics.path_parent[rows]
        threads = np.append(threads, rows[above < 0])
        rows = np.unique(above[above >= 0])
        entries = np.append(entries, rows[graph.type_index[rows] == kind])
    entries, few, found = np.unique(entries), len(np.unique(threads)), []
    sample = some_of(entries, _ENTRIES).tolist()
    if few and len(entries) >= _MANY_LOCALS * few:
        have = "One thread has" if few == 1 else f"{few:,} threads have"
        found.append(
            f"{have} all of them, and of each ThreadLocal a thread has one value: new "
            "ones are made again and again."
        )
        if all(_leads_to_its_key(graph, at) for at in sample):
            found.append("Each value refers to its own ThreadLocal, so none ever goes.")
    if sample and not any(_targets(graph, at, RefKind.WEAK) for at in sample):
        found.append("Their ThreadLocals are gone, and the threads still have them.")
    return found


def _leads_to_its_key(graph: HeapGraph, entry: int) -> bool:
    """Whether an entry with a weak key has a value that holds this key."""
    keys, todo = _targets(graph, entry, RefKind.WEAK), [entry]
    for at in todo:
        if at in keys:
            return True
        if len(todo) < _NEAR:
            todo += set(_targets(graph, at, RefKind.STRONG)) - {*todo}
    return False


def _targets(graph: HeapGraph, index: int, kind: RefKind) -> list[int]:
    """What an object refers to by references of a strength."""
    rows = slice(*graph.ref_start[index : index + 2].tolist())
    targets, kinds = graph.ref_target[rows], graph.ref_kind
    if kinds is None and kind != RefKind.STRONG:
        return []
    found: list[int] = targets[... if kinds is None else kinds[rows] == kind].tolist()
    return found


def _are_weak_references(graph: HeapGraph, kind: int) -> bool:
    """Whether a type is that of weak references, or extends it."""
    runtime, names = named(graph.runtime), graph.type_names
    if names[kind] == runtime.weak_type:
        return True
    described = graph.type_object
    if described is None or runtime.weak_type not in names or not runtime.supertypes:
        return False
    of, weak = int(described[kind]), int(described[names.index(runtime.weak_type)])
    for _ in range(MOST_LEVELS):
        if of in (-1, weak):
            break
        above = target_of(graph, of, runtime.supertypes[0])
        of = -1 if above is None else above
    return of == weak and of >= 0


def _without_referents(graph: HeapGraph, members: NDArray[np.int32]) -> str:
    """A sentence if most objects are weak references to objects that are gone."""
    if not _are_weak_references(graph, int(graph.type_index[members[0]])):
        return ""
    sample = some_of(members, _SAMPLE).tolist()
    gone = sum(not _targets(graph, at, RefKind.WEAK) for at in sample)
    if 2 * gone < len(sample):
        return ""
    share = f"{gone / len(sample):.0%} of " if gone < len(sample) else ""
    return f"The objects that {share}these weak references had are gone."


def _are_keys_held(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> bool:
    """Whether the objects are in values of one weak map, which hold the keys of these.

    They may be the values, or in these, as methods that a value maps.
    """
    if named(graph.runtime).weak_entry not in graph.type_names:
        return False
    kind = graph.type_names.index(named(graph.runtime).weak_entry)
    tables = set[int]()
    for at in members[:_ENTRIES].tolist():
        for _ in range(MOST_LEVELS):
            at = int(metrics.path_parent[at])
            if at < 0 or graph.type_index[at] == kind:
                break
        if at < 0 or graph.type_index[at] != kind:
            return False
        entry, at = at, next(iter(_targets(graph, at, RefKind.WEAK)), -1)
        while at >= 0 and at != entry:
            at = int(metrics.dominator[at])
        if at != entry:
            return False
        while at >= 0 and graph.type_index[at] == kind:  # others lead to it
            at = int(metrics.path_parent[at])
        tables.add(at)
    return len(tables) == 1


def stale_entries(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> str:
    """A sentence if most objects are in entries of weak maps that have no key left."""
    entry_type = named(graph.runtime).weak_entry
    if not entry_type or entry_type not in graph.type_names:
        return ""
    sample = some_of(members, _SAMPLE)
    entries = metrics.path_parent[sample]
    entries = entries[entries >= 0]
    kind = graph.type_names.index(entry_type)
    entries = entries[graph.type_index[entries] == kind]
    count = sum(not _targets(graph, at, RefKind.WEAK) for at in entries.tolist())
    if 2 * count < len(sample):
        return ""
    share = count / len(sample)
    return (
        f"The keys of {share:.0%} of them are gone: the weak map drops such entries "
        "when it is used again."
    )
