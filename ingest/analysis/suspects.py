"""Leak suspects: what holds a large share of the heap, and where it piles up.

Source: the thresholds are those that heap analysers have long used: a tenth of
the reachable bytes makes a suspect, and a pile is found by following the largest
dominated child while it holds most of its parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.types import sum_by
from ingest.text import caption_of

if TYPE_CHECKING:
    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

SUSPECT_SHARE = 0.10
PILE_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Suspect:
    """One leak suspect.

    Attributes:
        kind: ``single`` or ``group``.
        object_index: The object, or the largest of the group.
        type_name: Of it, or of all in the group.
        object_count: 1, or how many are in the group.
        retained_bytes: Of all of them.
        share: Of the reachable bytes, 0 to 1.
        pile_index: The accumulation point below ``object_index``.
        path: Objects on a shortest way from a root to ``object_index``.
        why: One sentence, with short type names.
    """

    kind: str
    object_index: int
    type_name: str
    object_count: int
    retained_bytes: int
    share: float
    pile_index: int
    path: tuple[int, ...]
    why: str


def shortest_path(metrics: HeapMetrics, index: int) -> tuple[int, ...]:
    """Objects from one that a root holds to ``index``; empty where unreachable."""
    if metrics.root_distance[index] < 0:
        return ()
    path = []
    while index != ROOT:
        path.append(index)
        index = int(metrics.path_parent[index])
    return tuple(reversed(path))


def accumulation_point(
    metrics: HeapMetrics, index: int, share: float = PILE_SHARE
) -> int:
    """Where the bytes below ``index`` pile up: the largest child, while large."""
    while (child := int(metrics.largest_child[index])) >= 0:
        if metrics.retained_bytes[child] < share * metrics.retained_bytes[index]:
            break
        index = child
    return index


def leak_suspects(
    graph: HeapGraph, metrics: HeapMetrics, share: float = SUSPECT_SHARE
) -> list[Suspect]:
    """Suspects, the largest first.

    A single one is an object that only the roots dominate and that retains at
    least ``share`` of the reachable bytes; a group is two or more smaller such
    objects of one type that do so together.
    """
    total = metrics.reachable_bytes
    if not total:
        return []
    top = np.flatnonzero(metrics.dominator == ROOT)
    top = top[graph.type_index[top] >= 0]
    held = metrics.retained_bytes[top]
    large = held >= share * total
    found = [_single(graph, metrics, int(index)) for index in top[large]]
    singles = graph.type_index[top[large]]
    types = len(graph.type_names)
    count = metrics.type_top_count - np.bincount(singles, minlength=types)
    together = metrics.type_top_retained_bytes - sum_by(singles, held[large], types)
    for kind in np.flatnonzero((count > 1) & (together >= share * total)):
        members = top[(graph.type_index[top] == kind) & ~large]
        largest = int(members[np.argmax(metrics.retained_bytes[members])])
        found.append(
            _group(graph, metrics, largest, int(count[kind]), int(together[kind]))
        )
    return sorted(found, key=lambda s: (-s.retained_bytes, s.object_index))


def _single(graph: HeapGraph, metrics: HeapMetrics, index: int) -> Suspect:
    retained = int(metrics.retained_bytes[index])
    share = retained / metrics.reachable_bytes
    pile = accumulation_point(metrics, index)
    name = graph.type_name(index)
    why = f"One {caption_of(name)} keeps {share:.0%} of the reachable heap alive"
    if pile != index:
        why += f"; it piles up in one {caption_of(graph.type_name(pile))} below it"
    return Suspect(
        "single",
        index,
        name,
        1,
        retained,
        share,
        pile,
        shortest_path(metrics, index),
        why + ".",
    )


def _group(
    graph: HeapGraph, metrics: HeapMetrics, largest: int, count: int, together: int
) -> Suspect:
    share = together / metrics.reachable_bytes
    name = graph.type_name(largest)
    return Suspect(
        "group",
        largest,
        name,
        count,
        together,
        share,
        accumulation_point(metrics, largest),
        shortest_path(metrics, largest),
        f"{count} instances of {caption_of(name)} together keep {share:.0%} of the "
        "reachable heap alive.",
    )
