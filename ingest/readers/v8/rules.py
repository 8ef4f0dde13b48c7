"""DevTools' rules for retaining edges, detached nodes, and owners of sizes.

Source: Chrome DevTools, front_end/entrypoints/heap_snapshot_worker/HeapSnapshot.ts:
computeIsEssentialEdge, markPageOwnedNodes, propagateDOMState, calculateShallowSizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.heap.graph import RefKind

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ids, Ints, Longs

_WEAK = int(RefKind.WEAK)

ATTACHED, DETACHED = 1, 2
"""States of a DOM node, as recorded; 0 is unknown."""

_NOBODY, _SEVERAL = -1, -2


class Edges(NamedTuple):
    """The edges of N nodes.

    Attributes:
        start: int64 (N + 1,). Begin of each node's edges.
        type: uint8 (E,). As recorded.
        name: int32 (E,). As recorded.
        to: int32 (E,).
    """

    start: Longs
    type: Bytes
    name: Ints
    to: Ints


class EdgeTypes(NamedTuple):
    """Numbers of the types of edges; -1 for a type that the snapshot does not have."""

    context: int
    element: int
    property: int
    internal: int
    hidden: int
    shortcut: int
    weak: int
    invisible: int


class NodeTypes(NamedTuple):
    """Numbers of the types of nodes; -1 for a type that the snapshot does not have."""

    hidden: int
    array: int
    string: int
    object: int
    code: int
    closure: int
    regexp: int
    number: int
    native: int
    synthetic: int
    concatenated: int
    sliced: int
    symbol: int
    bigint: int
    shape: int


@kernel
def mark_page(
    edges: Edges, weak: int, kind: Bytes, first: Ints, is_page: Bools, stack: Ints
) -> None:
    """Mark the nodes that a page, or the program, reaches, and so owns.

    A value of a WeakMap is the page's if its key is. DevTools follows the edge from the
    table as well, which does not hold the value; then the edge from a key that only the
    stack or a handle holds would lead to a node of the page, and not hold it either.

    Args:
        edges: The edges.
        weak: The type of weak edges.
        kind: uint8 (E,). Weak for further edges that are not followed.
        first: int32. The nodes to start with, each once.
        is_page: bool (N,), false at first. Filled.
        stack: int32 (N,). Overwritten.
    """
    top = len(first)
    for i in range(top):
        is_page[first[i]] = True
        stack[i] = first[i]
    while top > 0:
        top -= 1
        node = stack[top]
        for e in range(edges.start[node], edges.start[node + 1]):
            to = edges.to[e]
            if is_page[to] or edges.type[e] == weak or kind[e] == _WEAK:
                continue
            is_page[to] = True
            stack[top] = to
            top += 1


@kernel
def strengths(edges: Edges, types: EdgeTypes, is_page: Bools, kind: Bytes) -> None:
    """Make edges weak in uint8 (E,) ``kind`` that do not retain their targets."""
    last = len(edges.to) - 1
    for node in range(len(edges.start) - 1):
        for e in range(edges.start[node], edges.start[node + 1]):
            fetch(is_page, edges.to[min(e + 2 * AHEAD, last)])
            weak = edges.type[e] == types.weak
            if node > 0 and not weak:
                weak = edges.type[e] == types.shortcut or (
                    is_page[edges.to[e]] and not is_page[node]
                )
            if weak:
                kind[e] = _WEAK


@kernel
def mark_repeated(
    edges: Edges,
    property_type: int,
    owner: Longs,
    table: Longs,
    of_owner: Longs,
    is_repeated: Bools,
) -> None:
    """Mark the edges of tables of properties that their owners have as properties.

    Args:
        edges: The edges.
        property_type: The type of properties.
        owner: int64. Objects that have a table.
        table: int64. The table of each.
        of_owner: int64 (N,). Room for the owner that has seen each node; all -1.
        is_repeated: bool (E,). Filled.
    """
    for at in range(len(owner)):
        for e in range(edges.start[owner[at]], edges.start[owner[at] + 1]):
            if edges.type[e] == property_type:
                of_owner[edges.to[e]] = owner[at]
        for e in range(edges.start[table[at]], edges.start[table[at] + 1]):
            if of_owner[edges.to[e]] == owner[at]:
                is_repeated[e] = True


@kernel
def spread_detachedness(
    edges: Edges,
    types: EdgeTypes,
    node_type: Bytes,
    native: int,
    state: Bytes,
    is_seen: Bools,
    queue: Ints,
) -> None:
    """Spread the states attached and detached along references of native nodes.

    Args:
        edges: The edges.
        types: Their types.
        node_type: uint8 (N,).
        native: The type of native nodes.
        state: uint8 (N,). Changed.
        is_seen: bool (N,), false at first. Overwritten.
        queue: int32 (N,). Overwritten.
    """
    for node in range(len(state)):
        is_seen[node] = state[node] != 0
    for wanted in (ATTACHED, DETACHED):
        top = 0
        for node in range(len(state)):
            if state[node] == wanted and node_type[node] == native:
                queue[top] = node
                top += 1
        while top > 0:
            top -= 1
            node = queue[top]
            for e in range(edges.start[node], edges.start[node + 1]):
                kind = edges.type[e]
                if kind in (types.hidden, types.weak, types.invisible):
                    continue
                to = edges.to[e]
                if is_seen[to]:
                    continue
                is_seen[to] = True
                if node_type[to] == native:
                    state[to] = wanted
                    queue[top] = to
                    top += 1


@kernel
def give_sizes_to_owners(
    edges: Edges,
    weak: int,
    node_type: Bytes,
    synthetic: int,
    is_part: Bools,
    size_bytes: Longs,
    owner: Ints,
    stack: Ints,
) -> int:
    """Add the sizes of parts that only one node owns to the size of that node.

    Args:
        edges: The edges.
        weak: The type of weak edges.
        node_type: uint8 (N,).
        synthetic: The type of pseudo nodes, which own no sizes.
        is_part: bool (N,). Whether a node may be part of another one.
        size_bytes: int64 (N,). Changed.
        owner: int32 (N,). Overwritten.
        stack: int32 (1 + 2 * parts,). Overwritten.

    Returns:
        Bytes that moved to another node.
    """
    for node in range(len(owner)):
        owner[node] = _NOBODY if is_part[node] else node
    last = len(edges.to) - 1
    for first in range(len(owner)):
        if is_part[first]:
            continue
        top = 1
        stack[0] = first
        while top > 0:
            top -= 1
            node = stack[top]
            own = owner[node]
            for e in range(edges.start[node], edges.start[node + 1]):
                fetch(owner, edges.to[min(e + 2 * AHEAD, last)])
                if edges.type[e] == weak:
                    continue
                to = edges.to[e]
                known = owner[to]
                if known == _SEVERAL or known in (to, own):
                    continue
                # A part changes at most twice: to one owner, then to several.
                owner[to] = own if known == _NOBODY else _SEVERAL
                stack[top] = to
                top += 1
    moved = 0
    for node in range(len(owner)):
        own = owner[node]
        if own < 0 or own == node or own == 0 or node_type[own] == synthetic:
            continue
        moved += size_bytes[node]
        size_bytes[own] += size_bytes[node]
        size_bytes[node] = 0
    return moved


@kernel
def targets_of(
    rows: Ints, edges: Edges, kind: int, name: int, other: int, found: Ints
) -> None:
    """Fill int32 ``found``: the target of an edge of each of ``rows``, or -1.

    Args:
        rows: int32. Nodes.
        edges: The edges.
        kind: The type of the edge.
        name: Its name.
        other: Another name that it may have.
        found: Filled.
    """
    for i in range(len(rows)):
        found[i] = -1
        for e in range(edges.start[rows[i]], edges.start[rows[i] + 1]):
            if edges.type[e] == kind and edges.name[e] in (name, other):
                found[i] = edges.to[e]
                break


@kernel
def mark_fields(
    edges: Edges, types: EdgeTypes, number_of: Ints, is_used: Bools
) -> None:
    """Mark strings that are names of edges in ``is_used``, bool (S + 1,).

    Names that are numbers are left out if `fields` turns them into elements.
    """
    last = len(is_used) - 1
    for e in range(len(edges.type)):
        kind, name = edges.type[e], edges.name[e]
        if kind == types.element or kind == types.hidden or name >= last:
            continue
        if number_of[name] < 0 or (kind != types.internal and kind != types.weak):
            is_used[name] = True


@kernel
def fields(
    edges: Edges, types: EdgeTypes, row_of: Ints, number_of: Ints, none: int
) -> None:
    """Replace the names of edges by fields, in place.

    Args:
        edges: The edges.
        types: Their types.
        row_of: int32 (S,). Row of the field names, for each string that is one.
        number_of: int32 (S,). The number that a string spells, or -1.
        none: Value for edges without a name.
    """
    strings = len(row_of)
    for e in range(len(edges.type)):
        kind, name = edges.type[e], edges.name[e]
        if kind == types.element:
            edges.name[e] = -1 - name
        elif kind == types.hidden or name >= strings:
            edges.name[e] = none
        elif number_of[name] >= 0 and kind in (types.internal, types.weak):
            edges.name[e] = -1 - number_of[name]
        else:
            edges.name[e] = row_of[name]


@kernel
def numbers_of(content: Bytes, end: Longs, number_of: Ints) -> None:
    """Fill int32 ``number_of`` with the number that each text spells, or -1.

    Args:
        content: uint8. Joined texts.
        end: int64. End of each text.
        number_of: Filled.
    """
    begin = 0
    for i in range(len(end)):
        value = -1
        if 0 < end[i] - begin < 10:
            value = 0
            for at in range(begin, end[i]):
                digit = int(content[at]) - 0x30
                if digit < 0 or digit > 9:
                    value = -1
                    break
                value = value * 10 + digit
        number_of[i] = value
        begin = end[i]


@kernel
def repeats_any(ids: Ids, seen: Bools) -> bool:
    """Whether an id occurs twice; ``seen`` has a row for each id up to the highest."""
    for i in range(len(ids)):
        if seen[ids[i]]:
            return True
        seen[ids[i]] = True
    return False
