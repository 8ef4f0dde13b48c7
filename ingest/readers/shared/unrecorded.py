"""Roots for objects that are alive and that nothing in the dump holds.

Some formats record what has survived a collection, and leave out references: then an
object that no root reaches is no garbage, but held by something that is not recorded.
Of such objects, those without strong referrers get a root of their own, and so does one
of each cycle that nothing outside it refers to, so that roots reach all of them. What
only weak references lead to is left as it is: the dump tells what refers to it.

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
    """Mark what references lead to from ``roots``; returns how many objects.

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
    """Number the strongly connected components of ``rows``; returns how many.

    Args:
        starts: (N + 1,).
        targets: int32 (E,).
        kinds: uint8 (E,); empty where all references are strong.
        rows: int32. Objects that are looked at.
        component: int32 (N,). `_NONE` for them, `_REACHED` for others. Filled.
        order: int32 (N,), zeros. Overwritten, as all that follow.
        low: int32 (N,).
        open_nodes: As long as ``rows``.
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
                # One of a finished component, or reached, leads nowhere new.
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
    """Mark the components that another one refers to."""
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
    """int32: the objects that are to be roots so that roots reach all objects.

    One of a cycle is of the type with fewest objects, for that is often what the others
    are part of; of equals, the first.

    Args:
        starts: (N + 1,). Where the references of each object begin.
        targets: int32 (E,). Objects.
        kinds: uint8 (E,). Their `RefKind`; ``None`` where all are strong.
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
