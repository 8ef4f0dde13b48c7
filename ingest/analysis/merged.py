"""Trees of objects merged by type: what stands alike below what stands alike is one.

A *group* is a chain of types from the top of a tree; objects are in one group whose
parents are in one group and which are of one type. An object of its parent's own type
is in its parent's group, so that a linked list of any length is one. The groups with
the most bytes below them are kept; of each of those it is known what else is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.analysis.types import count_by, sum_by
from ingest.compiled import kernel
from ingest.heap.graph import RootFlag, RootKind

if TYPE_CHECKING:
    from ingest.compiled import Bytes, Ints, Longs
    from ingest.heap.graph import HeapGraph

DEEPEST = 64
"""Groups in a chain; what is deeper is in the last one."""

KEPT = 2000
"""Groups of one tree that are returned."""

NOTHING = -2
"""In a column of kinds: the top of a tree, or a kind of root."""

_FIRST_ROOM = 1 << 12
_STACK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class MergedTree:
    """G groups of one tree, those with most bytes first; row 0 is all of it.

    Parents are in front of their children.

    Attributes:
        parent: int32 (G,). Row of the group above; -1 for row 0.
        kind: int32 (G,). Row of the graph's ``type_names``; -1 where its objects are
            placeholders, `NOTHING` where it is no type.
        root_kind: int32 (G,). `RootKind` of a group of roots; -1 elsewhere.
        depth: int32 (G,). Groups above it.
        object_count, shallow_bytes: int64 (G,). Objects in the group itself.
        total_count, total_bytes: int64 (G,). The same, and all below it.
        rest_count, rest_bytes: int64 (G,). Of those, what is in groups right below
            that were not kept, and further down from there.
    """

    parent: Ints
    kind: Ints
    root_kind: Ints
    depth: Ints
    object_count: Longs
    shallow_bytes: Longs
    total_count: Longs
    total_bytes: Longs
    rest_count: Longs
    rest_bytes: Longs


@kernel
def _slot(above: int, kind: int, over: Ints, kinds: Ints, slots: Ints) -> int:
    """Where the group of ``kind`` below ``above`` stands in the table, or would."""
    mask = len(slots) - 1
    mixed = (above * 0x9E3779B1 + (kind + 2) * 0x85EBCA6B) & 0x7FFFFFFFFFFF
    slot = (mixed ^ (mixed >> 15)) & mask
    while slots[slot] >= 0 and not (
        over[slots[slot]] == above and kinds[slots[slot]] == kind
    ):
        slot = (slot + 1) & mask
    return slot


@kernel
def _find(
    above: int, kind: int, over: Ints, kinds: Ints, depth: Bytes, slots: Ints, used: int
) -> int:
    """The group of ``kind`` below ``above``; it is ``used`` where it is a new one."""
    if kinds[above] == kind or depth[above] == DEEPEST:
        return above
    slot = _slot(above, kind, over, kinds, slots)
    found: int = slots[slot]
    if found >= 0:
        return found
    slots[slot] = used
    over[used] = above
    kinds[used] = kind
    depth[used] = depth[above] + 1
    return used


@kernel
def _fill(over: Ints, kinds: Ints, slots: Ints, used: int) -> None:
    """Put all groups but the top into an empty table."""
    for group in range(1, used):
        slots[_slot(over[group], kinds[group], over, kinds, slots)] = group


@kernel
def _seed(
    held: Ints,
    root_kind: Bytes,
    kind: Ints,
    group: Ints,
    over: Ints,
    kinds: Ints,
    depth: Bytes,
    slots: Ints,
    used: int,
) -> int:
    """Put what roots refer to below the group of the first root's kind."""
    for at in range(len(held)):
        i = held[at]
        if group[i] < 0:
            above = 1 + root_kind[at]
            group[i] = _find(above, kind[i], over, kinds, depth, slots, used)
            if group[i] == used:
                used += 1
    return used


@kernel
def _merge(
    parent: Ints,
    kind: Ints,
    begin: int,
    group: Ints,
    over: Ints,
    kinds: Ints,
    depth: Bytes,
    slots: Ints,
    used: int,
    stack: Ints,
) -> tuple[int, int]:
    """Give every object its group, from ``begin`` on, until there is no more room.

    Parents come in any order: from an object up until one is known, then down again.

    Returns:
        The object to continue with, and how many groups there are.
    """
    room = len(over)
    i = begin
    while i < len(parent):
        if parent[i] == UNREACHABLE or group[i] >= 0:
            i += 1
            continue
        high = 0
        j = i
        while j != ROOT and group[j] < 0:
            # Of a very long path the upper end remains, and ``i`` comes again.
            stack[high & (_STACK - 1)] = j
            high += 1
            j = parent[j]
        above = 0 if j == ROOT else group[j]
        for _ in range(min(high, _STACK)):
            if used == room:
                return i, used
            high -= 1
            j = stack[high & (_STACK - 1)]
            above = _find(above, kind[j], over, kinds, depth, slots, used)
            group[j] = above
            if above == used:
                used += 1
    return i, used


@kernel
def _below(over: Ints, total: Longs) -> None:
    for group in range(len(over) - 1, 0, -1):
        total[over[group]] += total[group]


class _Groups:
    """Groups while they are found, with room for some more."""

    def __init__(self, room: int, *, by_root: bool) -> None:
        self.over = np.empty(room, np.int32)
        self.kinds = np.empty(room, np.int32)
        self.depth = np.empty(room, np.uint8)
        self.over[0], self.kinds[0], self.depth[0] = -1, NOTHING, 0
        self.used = 1
        if by_root:
            self.used += len(RootKind)
            kinds = slice(1, self.used)
            self.over[kinds], self.depth[kinds] = 0, 1
            # Below every type, so that no object's type is the same.
            self.kinds[kinds] = NOTHING - 1 - np.arange(len(RootKind))
        self._index()

    def _index(self) -> None:
        self.slots = np.full(2 * len(self.over), -1, np.int32)
        _fill(self.over, self.kinds, self.slots, self.used)

    def widen(self) -> None:
        """Make room for as many groups again."""
        room = len(self.over)
        self.slots = np.empty(0, np.int32)
        self.over = np.concatenate([self.over, np.empty(room, np.int32)])
        self.kinds = np.concatenate([self.kinds, np.empty(room, np.int32)])
        self.depth = np.concatenate([self.depth, np.empty(room, np.uint8)])
        self._index()

    def cut(self) -> None:
        """Keep what is used only, and nothing to find it by."""
        self.slots = np.empty(0, np.int32)
        self.over = self.over[: self.used].copy()
        self.kinds = self.kinds[: self.used].copy()
        self.depth = self.depth[: self.used].copy()


def merged(
    graph: HeapGraph, parent: Ints, *, by_root: bool = False, kept: int = KEPT
) -> MergedTree:
    """Merge a tree of objects.

    Args:
        graph: Whose objects.
        parent: int32 (N + M,). The object above; `ROOT` or `UNREACHABLE`.
        by_root: Whether the first level is the kind of the root that holds the
            object at the top: of several, the first strong one in the dump's order.
        kept: Groups to keep, the top among them.

    Time: one look into a hash table for each object. Memory: 4 bytes an object; 17 to
    34 bytes a group while groups are found, then 25.
    """
    group = np.full(len(parent), -1, np.int32)
    least = 1 << (len(RootKind) * (len(graph.type_names) + 2)).bit_length()
    groups = _Groups(max(_FIRST_ROOM, least), by_root=by_root)
    if by_root:
        strong = (graph.root_flags & RootFlag.WEAK) == 0
        groups.used = _seed(
            graph.root_object[strong],
            graph.root_kind[strong],
            graph.type_index,
            group,
            groups.over,
            groups.kinds,
            groups.depth,
            groups.slots,
            groups.used,
        )
    stack = np.empty(_STACK, np.int32)
    at = 0
    while True:
        at, groups.used = _merge(
            parent,
            graph.type_index,
            at,
            group,
            groups.over,
            groups.kinds,
            groups.depth,
            groups.slots,
            groups.used,
            stack,
        )
        if at == len(parent):
            break
        groups.widen()
    groups.cut()
    return _largest(graph, group, groups, by_root=by_root, kept=kept)


def _largest(
    graph: HeapGraph, group: Ints, groups: _Groups, *, by_root: bool, kept: int
) -> MergedTree:
    """The groups with most bytes below them; a group's parent has at least as many."""
    over = groups.over
    shallow_bytes = sum_by(group, graph.shallow_bytes, groups.used)
    total_bytes = shallow_bytes.copy()
    _below(over, total_bytes)
    # Of equals the first that was found: parents are found before their children.
    chosen = np.argsort(-total_bytes, kind="stable")[:kept]
    own_bytes, all_bytes = shallow_bytes[chosen], total_bytes[chosen]
    del shallow_bytes, total_bytes
    object_count = count_by(group, groups.used)
    total_count = object_count.copy()
    _below(over, total_count)
    # Kinds of roots that hold nothing; nothing else is empty.
    some = (total_count[chosen] > 0) | (chosen == 0)
    chosen, own_bytes, all_bytes = chosen[some], own_bytes[some], all_bytes[some]
    own_count, all_count = object_count[chosen], total_count[chosen]
    row = np.full(groups.used, -1, np.int32)
    row[chosen] = np.arange(len(chosen), dtype=np.int32)
    parent = row[over[chosen]]
    parent[0] = -1
    kinds = groups.kinds[chosen]
    return MergedTree(
        parent=parent,
        kind=np.maximum(kinds, NOTHING),
        root_kind=np.where(kinds < NOTHING, NOTHING - 1 - kinds, -1).astype(np.int32),
        depth=groups.depth[chosen].astype(np.int32),
        object_count=own_count,
        shallow_bytes=own_bytes,
        total_count=all_count,
        total_bytes=all_bytes,
        rest_count=_rest(parent, all_count, own_count),
        rest_bytes=_rest(parent, all_bytes, own_bytes),
    )


def _rest(parent: Ints, total: Longs, own: Longs) -> Longs:
    """Of each total what is neither its own nor in a row below."""
    return total - own - sum_by(parent, total, len(parent))
