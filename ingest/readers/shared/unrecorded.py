"""Roots for objects that are alive although nothing in the dump holds them.

Some formats record only what has survived a collection, but leave out references. Then
an object that no root reaches is not garbage, but held by something that is not
recorded. Among such objects, each one without strong referrers gets a root of its own,
and so does one object of each cycle to which nothing outside refers. Then roots reach
all of them. Objects to which only weak references lead stay as they are, for the dump
says what refers to them.

Source: R. Tarjan, Depth-First Search and Linear Graph Algorithms (1972), for the
strongly connected components.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ints, Starts

_NONE, _REACHED = -1, -2


@kernel
def mark_reached(
    starts: Starts, targets: Ints, roots: Ints, found: Bools, stack: Ints
) -> int:
    """Mark all objects that references reach from ``roots``; return how many.

    ``stack`` is overwritten.
    """
    count = 0
    for root in roots:
        if found[root]:
            continue
        found[root] = True
        stack[0] = root
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            count += 1
            for ref in range(starts[node], starts[node + 1]):
                to = targets[ref]
                if not found[to]:
                    found[to] = True
                    stack[top] = to
                    top += 1
    return count


@kernel
def _components(
    starts: Starts,
    targets: Ints,
    kinds: Bytes,
    rows: Ints,
    component: Ints,
    order: Ints,
    low: Ints,
    open_nodes: Ints,
    path: Ints,
    cursor: Starts,
) -> int:
    """Number the strongly connected components of ``rows``; return how many.

    Args:
        starts: (N + 1,).
        targets: int32 (E,).
        kinds: uint8 (E,); empty if all references are strong.
        rows: int32. Objects to look at.
        component: int32 (N,). `_NONE` for these, `_REACHED` for others. Filled.
        order: int32 (N,), zeros. Overwritten, like all columns after it.
        low: int32 (N,).
        open_nodes: int32, as long as ``rows``.
        path: Likewise.
        cursor: Likewise.
    """
    count = number = top = 0
    for first in rows:
        if order[first] > 0:
            continue
        number += 1
        order[first] = low[first] = number
        open_nodes[top] = first
        top += 1
        path[0] = first
        cursor[0] = starts[first]
        depth = 0
        while depth >= 0:
            node = path[depth]
            if cursor[depth] < starts[node + 1]:
                ref = cursor[depth]
                cursor[depth] += 1
                to = targets[ref]
                # A target that is reached, or of a finished component, is not new.
                if component[to] != _NONE or (len(kinds) > 0 and kinds[ref] > 0):
                    continue
                if order[to] > 0:
                    low[node] = min(low[node], order[to])
                    continue
                number += 1
                order[to] = low[to] = number
                open_nodes[top] = to
                top += 1
                depth += 1
                path[depth] = to
                cursor[depth] = starts[to]
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[node])
            if low[node] == order[node]:
                while True:
                    top -= 1
                    component[open_nodes[top]] = count
                    if open_nodes[top] == node:
                        break
                count += 1
    return count


@kernel
def _mark_held(
    starts: Starts,
    targets: Ints,
    kinds: Bytes,
    rows: Ints,
    component: Ints,
    is_held: Bools,
) -> None:
    """Mark the components to which another one refers."""
    for node in rows:
        for ref in range(starts[node], starts[node + 1]):
            other = component[targets[ref]]
            if len(kinds) > 0 and kinds[ref] > 0:
                continue
            if other >= 0 and other != component[node]:
                is_held[other] = True


def without_holder(
    starts: Starts,
    targets: Ints,
    kinds: Bytes | None,
    roots: Ints,
    type_index: Ints,
) -> Ints:
    """int32: the objects that need a root so that roots reach all objects.

    The root of a cycle goes to an object of the type with fewest objects, since the
    others are often parts of it; the first one among equals.

    Args:
        starts: (N + 1,). Where the references of each object begin.
        targets: int32 (E,). Objects.
        kinds: uint8 (E,). Their `RefKind`; ``None`` if all are strong.
        roots: int32. Objects with a root.
        type_index: int32 (N,). Type of each object, negative for placeholders.
    """
    n = len(starts) - 1
    found, stack = np.zeros(n, np.bool_), np.empty(n, np.int32)
    if mark_reached(starts, targets, roots, found, stack) == n:
        return np.empty(0, np.int32)
    kinds = np.empty(0, np.uint8) if kinds is None else kinds
    found |= type_index < 0
    rows = np.flatnonzero(~found).astype(np.int32)
    component = np.where(found, np.int32(_REACHED), np.int32(_NONE))
    count = _components(
        starts, targets, kinds, rows, component, np.zeros(n, np.int32), stack,
        np.empty_like(rows), np.empty_like(rows), np.empty(len(rows), starts.dtype),
    )  # fmt: skip
    is_held = np.zeros(count, np.bool_)
    _mark_held(starts, targets, kinds, rows, component, is_held)
    rows = rows[~is_held[component[rows]]]
    instances = np.bincount(type_index[type_index >= 0])
    order = np.lexsort((rows, instances[type_index[rows]], component[rows]))
    _, first = np.unique(component[rows[order]], return_index=True)
    return np.sort(rows[order[first]])
