"""Leak suspects: what retains a large share of the heap, and where it accumulates.

Source: heap analysers have long used these thresholds. A tenth of the reachable bytes
makes a suspect; its accumulation point is found by following the largest dominated
child while that retains most of what its parent does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.types import sum_by
from ingest.heap.graph import RefKind, RootFlag
from ingest.text import caption_of

if TYPE_CHECKING:
    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

SUSPECT_SHARE = 0.10
"""Of the reachable bytes, from which on objects are a suspect."""

ACCUMULATION_SHARE = 0.7
"""Of what an object retains, from which on its largest child is followed."""

MAX_PATH = 10_000
"""Objects of a path; a longer one is left out."""

_MAX_VALUE = 40
"""Characters of a value that are shown in a path."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """One leak suspect.

    Attributes:
        kind: ``single``, or ``group`` of objects of one type.
        object_index: The object, or the one of the group that retains most.
        object_count: 1, or how many are in the group.
        retained_bytes: Of all of them.
        share: Of the reachable bytes, 0 to 1.
        accumulation_index: The accumulation point: ``object_index`` or an object that
            it dominates.
        path: A shortest path from a strong root to ``object_index``: the root, then
            objects, each after the field that refers to it. ``None`` if it is too long.
        sentence: All that in a sentence, with short type names.
    """

    kind: str
    object_index: int
    object_count: int
    retained_bytes: int
    share: float
    accumulation_index: int
    path: tuple[str, ...] | None
    sentence: str


def leak_suspects(graph: HeapGraph, metrics: HeapMetrics) -> list[Suspect]:
    """Suspects, the largest first; at most twenty, as no object is in two.

    A single one is an object that no other object dominates and that retains at least
    `SUSPECT_SHARE` of the reachable bytes; a group is two or more smaller such objects
    of one type that do so together.
    """
    total = metrics.reachable_bytes
    if not total:
        return []
    top = np.flatnonzero(metrics.dominator == ROOT)
    top = top[graph.type_index[top] >= 0]
    retained = metrics.retained_bytes[top]
    large = retained >= SUSPECT_SHARE * total
    singles = graph.type_index[top[large]]
    found = [
        (int(index), 1, int(metrics.retained_bytes[index])) for index in top[large]
    ]
    types = len(graph.type_names)
    count = metrics.type_top_count - np.bincount(singles, minlength=types)
    together = metrics.type_top_retained_bytes - sum_by(singles, retained[large], types)
    for kind in np.flatnonzero((count > 1) & (together >= SUSPECT_SHARE * total)):
        members = top[(graph.type_index[top] == kind) & ~large]
        largest = int(members[np.argmax(metrics.retained_bytes[members])])
        found.append((largest, int(count[kind]), int(together[kind])))
    found.sort(key=lambda suspect: (-suspect[2], suspect[0]))
    return [_suspect(graph, metrics, *suspect) for suspect in found]


def _suspect(
    graph: HeapGraph, metrics: HeapMetrics, index: int, count: int, retained: int
) -> Suspect:
    share = retained / metrics.reachable_bytes
    point = accumulation_point(metrics, index)
    return Suspect(
        kind="single" if count == 1 else "group",
        object_index=index,
        object_count=count,
        retained_bytes=retained,
        share=share,
        accumulation_index=point,
        path=_steps(graph, shortest_path(metrics, index)),
        sentence=_sentence(graph, index, count, share, point),
    )


def _sentence(
    graph: HeapGraph, index: int, count: int, share: float, point: int
) -> str:
    name = caption_of(graph.type_name(index))
    part = f"{share:.0%} of the reachable heap"
    if count > 1:
        return f"{count:,} instances of {name} together retain {part}."
    if point == index:
        return f"One {name} retains {part}."
    below = caption_of(graph.type_name(point))
    return f"One {name} retains {part}, accumulated in one {below}."


def shortest_path(metrics: HeapMetrics, index: int) -> tuple[int, ...]:
    """Objects from one that a root refers to to ``index``; empty if unreachable."""
    if metrics.root_distance[index] < 0:
        return ()
    path = []
    while index != ROOT:
        path.append(index)
        index = int(metrics.path_parent[index])
    return tuple(reversed(path))


def accumulation_point(metrics: HeapMetrics, index: int) -> int:
    """Where the bytes below ``index`` accumulate: the largest child, while large."""
    while (child := int(metrics.largest_child[index])) >= 0:
        enough = ACCUMULATION_SHARE * metrics.retained_bytes[index]
        if metrics.retained_bytes[child] < enough:
            break
        index = child
    return index


def _steps(graph: HeapGraph, path: tuple[int, ...]) -> tuple[str, ...] | None:
    """A path as text, from its first strong root on; of two fields the first by name.

    Objects are written as in the queries: ``field: Type 0x10 "value"``.
    """
    if len(path) > MAX_PATH:
        return None
    strong = (graph.root_flags & RootFlag.WEAK) == 0
    root = int(np.argmax(strong & (graph.root_object == path[0])))
    fields = [None, *(_field(graph, *step) for step in pairwise(path))]
    values: list[str | None] = [None] * len(path)
    if graph.values is not None:
        values = graph.values.pick(np.array(path, np.int32))
    return (
        graph.root_name(root),
        *(
            (f"{field}: " if field else "")
            + f"{caption_of(graph.type_name(index))} {graph.address(index)}"
            + ("" if value is None else f' "{value[:_MAX_VALUE]}"')
            for index, field, value in zip(path, fields, values, strict=True)
        ),
    )


def _field(graph: HeapGraph, source: int, target: int) -> str | None:
    """The field of a strong reference from one object to another."""
    begin, end = graph.ref_start[source : source + 2].tolist()
    found = graph.ref_target[begin:end] == target
    if graph.ref_kind is not None:
        found &= graph.ref_kind[begin:end] == RefKind.STRONG
    names = [graph.field_name(begin + at) for at in np.flatnonzero(found).tolist()]
    return min((name for name in names if name is not None), default=None)
