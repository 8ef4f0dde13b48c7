"""Heaps with dead objects that refer to all that is alive."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import NO_FIELD
from ingest.heap.values import ObjectValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph

_COPIED = (
    "type_index",
    "shallow_bytes",
    "domain_index",
    "space",
    "length",
    "identity_hash",
    "generation",
)


def with_garbage(graph: HeapGraph, seed: int = 1) -> HeapGraph:
    """``graph`` with a dead copy of each object, and a dead collector of each type.

    A copy refers to the same live objects through the same fields; a collector refers
    to all objects, through any fields and by any kinds of reference. No root reaches
    them, nothing alive refers to them, and they are in no segment.
    """
    n, m = graph.object_count, len(graph.object_id) - graph.object_count
    chance = Random(seed)
    first = {int(kind): i for i, kind in reversed([*enumerate(graph.type_index[:n])])}
    like = np.array([*range(n), *sorted(first.values())], np.int64)
    dead = len(like)

    def moved(rows: NDArray[Any]) -> NDArray[Any]:
        return np.where(rows >= n, rows + dead, rows).astype(rows.dtype)

    def spread(column: NDArray[Any], some: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([column[:n], some, column[n:]]).astype(column.dtype)

    at = np.concatenate([_references(graph, i) for i in [*range(n), *range(n)]])
    everything = np.arange(n + m)
    many = len(first) * (n + m)
    targets = np.concatenate(
        [graph.ref_target[at], *[everything] * len(first)], dtype=np.int64
    )
    counts = np.diff(graph.ref_start)
    counts = np.concatenate(
        [counts[:n], counts[:n], np.full(len(first), n + m), np.zeros(m, np.int64)]
    )

    def of_references(column: NDArray[Any] | None, drawn: list[int]) -> Any:  # noqa: ANN401
        if column is None:
            return None
        some = np.array([chance.choice(drawn) for _ in range(many)], column.dtype)
        return np.concatenate([column[at], some])

    ids = int(graph.object_id.max()) + 0x1000
    fields = [*range(len(graph.field_names)), NO_FIELD]
    changed: dict[str, Any] = {
        name: spread(column, column[like])
        for name in _COPIED
        if (column := getattr(graph, name)) is not None
    }
    if graph.segment_index is not None:
        changed["segment_index"] = spread(graph.segment_index, np.full(dead, -1))
    for name in ("root_object", "type_object", "type_loader"):
        if (column := getattr(graph, name)) is not None:
            changed[name] = moved(column)
    if graph.values is not None:
        changed["values"] = _twice(graph.values, n)
    return replace(
        graph,
        object_count=n + dead,
        object_id=spread(graph.object_id, ids + 16 * np.arange(dead)),
        ref_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        ref_target=moved(targets.astype(np.int32)),
        ref_kind=of_references(graph.ref_kind, [0, 0, 1, 2]),
        ref_field=of_references(graph.ref_field, fields),
        **changed,
    )


def _twice(values: ObjectValues, n: int) -> ObjectValues:
    """Those of the first ``n`` objects, and the same of their copies."""
    assert values.object_index.max(initial=0) < n
    last = values.start[-1]
    return ObjectValues(
        np.concatenate([values.object_index, values.object_index + n]).astype(np.int32),
        np.concatenate([values.kind, values.kind]),
        np.concatenate([values.start, values.start[1:] + last]),
        np.concatenate([values.content[:last], values.content[:last]]),
    )


def _references(graph: HeapGraph, i: int) -> NDArray[np.int64]:
    return np.arange(graph.ref_start[i], graph.ref_start[i + 1])
