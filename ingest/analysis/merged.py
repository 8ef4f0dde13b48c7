"""Trees of objects merged by type: dominator trees and shortest root paths.

A *group* is a chain of types from the top of a tree. Two objects are in one group if
they have the same type and their parents are in one group. An object of the same type
as its parent is in the group of its parent, so a linked list of any length is one
group. In a chain that is longer than `TURNS_FROM`, in which types take turns, those of
one type are one group from there on, however long the chain is. Only the groups with
most bytes, their descendants included, are returned; for each the rest of its
descendants is summed.

Root paths begin with the kind of root and its role, where the dump records one: roots
of one kind are told apart by the type that declares a static field, the name of the
field, and the name of the thread or isolate without its numbers. Types whose names
differ only from run to run have roles of their own, with one fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.analysis.fingerprints import (
    normalised_owner,
    normalised_reference,
)
from ingest.analysis.types import count_by, sum_by
from ingest.arrays.compiled import kernel
from ingest.heap.graph import RootKind

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs
    from ingest.heap.graph import HeapGraph


class Role(NamedTuple):
    """The purpose of some roots.

    Attributes:
        type_index: Type that declares the static field, or -1.
        reference: Name of the static field; empty if there is none.
        owner: Thread or isolate, without numbers; empty if there is none.
    """

    type_index: int
    reference: str
    owner: str

    def named(self, type_name: str) -> str:
        """The role as text, given the name of its type: no full name of a type."""
        field = " in ".join(name for name in (self.reference, type_name) if name)
        return " of ".join(name for name in (field, self.owner) if name)


class RootRoles(NamedTuple):
    """S roots of a heap, in the order of the dump, and their L roles.

    Attributes:
        root_object: int32 (S,). Object that each refers to.
        root_kind: uint8 (S,). Its kind.
        role: int32 (S,). Its row in ``roles``, or -1.
        roles: L roles; roles of different kinds of root are different.
        role_kind: uint8 (L,). The kind of the roots of each.
    """

    root_object: Ints
    root_kind: Bytes
    role: Ints
    roles: tuple[Role, ...]
    role_kind: Bytes


def root_roles(graph: HeapGraph, chosen: Bools) -> RootRoles:
    """Find the roles of roots.

    Time: that of sorting the roots.

    Args:
        graph: The heap.
        chosen: bool (R,). The roots.
    """
    kind = graph.root_kind[chosen]
    columns = [
        np.full(len(kind), -1) if column is None else np.maximum(column[chosen], -1)
        for column in (graph.root_type, graph.root_field, graph.root_owner)
    ]
    # One number for each combination; they sort as kind, type, field and owner do.
    number = kind.astype(np.int64)
    for column, names in zip(
        columns, (graph.type_names, graph.field_names, graph.owners), strict=True
    ):
        number = number * (len(names) + 1) + column + 1
    _, first, of = np.unique(number, return_index=True, return_inverse=True)
    place: dict[tuple[int, tuple[str, str, str]], int] = {}
    roles: list[Role] = []
    kinds: list[int] = []
    role = np.full(len(first), -1, np.int32)
    for row, at in enumerate(first.tolist()):
        declaring, field, owner = (int(column[at]) for column in columns)
        names = (
            "" if declaring < 0 else graph.type_names[declaring],
            "" if field < 0 else normalised_reference(graph.field_names[field]),
            "" if owner < 0 else normalised_owner(graph.owners[owner]),
        )
        if any(names):
            key = (int(kind[at]), names)
            if key not in place:
                place[key] = len(roles)
                roles.append(Role(declaring, *names[1:]))
                kinds.append(int(kind[at]))
            role[row] = place[key]
    return RootRoles(
        graph.root_object[chosen],
        kind,
        role[of],
        tuple(roles),
        np.array(kinds, np.uint8),
    )


MAX_DEPTH = 64
"""Types in a chain; deeper objects are in its last group."""

TURNS_FROM = 24
"""Below so many types in a chain none is there twice: an object whose type is there is
in that group. So a chain of promises, iterators or closures ends in as many groups as
it has types, and each of these has all that the chain has."""

TREES = ("dominators", "root_paths")
"""Names of the merged trees of a heap."""

OWNER_PATHS = "owner_paths"
"""The tree of paths from the best owners, which no thread changes that only looks at
objects while the dump is taken."""

MAX_GROUPS = 2000
"""Groups of one tree that are returned."""

NOT_A_TYPE = -2
"""In a column of types: the group is the top of a tree, or a kind of root."""

_FIRST_CAPACITY = 1 << 12
_STACK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class MergedTree:
    """The G largest groups of a tree; row 0 is its top, which has all objects below.

    Sorted by descending ``total_bytes``; a parent precedes its children.

    Attributes:
        parent: int32 (G,). Row of the parent; -1 for row 0.
        type_index: int32 (G,). Row of the graph's ``type_names``; -1 for placeholders,
            `NOT_A_TYPE` for the top and for kinds and roles of roots.
        root_kind: int32 (G,). `RootKind` of a group that is a kind of root, else -1.
        role: int32 (G,). Row of ``roles`` of a group that is a role, else -1.
        roles: What roots are for; see `ingest.analysis.merged`.
        depth: int32 (G,). Number of ancestors.
        object_count, shallow_bytes: int64 (G,). Objects in the group, and their bytes.
        total_count, total_bytes: int64 (G,). The same including all descendants.
        rest_count, rest_bytes: int64 (G,). The same for its children that are not
            among the G groups, including their descendants.
        row: int32 (N + M,). Row of each object's group, or of the nearest group above
            it that is among the G; -1 if it is unreachable. ``None`` if not asked for.
    """

    parent: Ints
    type_index: Ints
    root_kind: Ints
    role: Ints
    roles: tuple[Role, ...]
    depth: Ints
    object_count: Longs
    shallow_bytes: Longs
    total_count: Longs
    total_bytes: Longs
    rest_count: Longs
    rest_bytes: Longs
    row: Ints | None = None


class GroupTable(NamedTuple):
    """Groups found so far; a parent precedes its children.

    Attributes:
        parent: int32. Row of the parent; -1 for row 0.
        type_index: int32. Type of the group; `NOT_A_TYPE` or less for none.
        depth: uint8. Number of ancestors.
        slots: int32. Hash table of the rows by parent and type; -1 where empty.
    """

    parent: Ints
    type_index: Ints
    depth: Bytes
    slots: Ints


@kernel
def _slot(table: GroupTable, parent: int, kind: int) -> int:
    """The slot of the group of type ``kind`` below ``parent``, or an empty one."""
    slots = table.slots
    mask = len(slots) - 1
    mixed = (parent * 0x9E3779B1 + (kind + 2) * 0x85EBCA6B) & 0x7FFFFFFFFFFF
    slot = (mixed ^ (mixed >> 15)) & mask
    while slots[slot] >= 0 and not (
        table.parent[slots[slot]] == parent and table.type_index[slots[slot]] == kind
    ):
        slot = (slot + 1) & mask
    return slot


@kernel
def _find(table: GroupTable, used: int, parent: int, kind: int) -> int:
    """The group of type ``kind`` below ``parent``; row ``used`` if it is a new one."""
    if table.type_index[parent] == kind:
        return parent
    above: int = table.parent[parent]
    while above > 0 and table.depth[above] > TURNS_FROM:
        if table.type_index[above] == kind:
            return above
        above = table.parent[above]
    if table.depth[parent] == MAX_DEPTH:
        return parent
    slot = _slot(table, parent, kind)
    there: int = table.slots[slot]
    if there >= 0:
        return there
    table.slots[slot] = used
    table.parent[used] = parent
    table.type_index[used] = kind
    table.depth[used] = table.depth[parent] + 1
    return used


@kernel
def _fill(table: GroupTable, used: int) -> None:
    """Insert all groups except the top into empty slots."""
    for row in range(1, used):
        slot = _slot(table, table.parent[row], table.type_index[row])
        table.slots[slot] = row


@kernel
def _group_roots(
    root_object: Ints,
    root_group: Ints,
    type_index: Ints,
    group: Ints,
    table: GroupTable,
    used: int,
) -> int:
    """Group the objects of roots below the group of their first root."""
    for root in range(len(root_object)):
        index = root_object[root]
        if group[index] < 0:
            group[index] = _find(table, used, root_group[root], type_index[index])
            if group[index] == used:
                used += 1
    return used


@kernel
def _group_objects(
    parent: Ints,
    type_index: Ints,
    first: int,
    group: Ints,
    table: GroupTable,
    used: int,
    stack: Ints,
) -> tuple[int, int]:
    """Group the objects from ``first`` on, until the table is full.

    The order of objects is arbitrary: go up from an object to an ancestor that is in a
    group, then down again.

    Returns:
        The object to continue with, and the number of groups.
    """
    capacity = len(table.parent)
    index = first
    while index < len(parent):
        if parent[index] == UNREACHABLE or group[index] >= 0:
            index += 1
            continue
        height = 0
        ancestor = index
        while ancestor != ROOT and group[ancestor] < 0:
            # Only the upper end of a path longer than the stack is stored; the rest is
            # found when ``index`` is visited again.
            stack[height & (_STACK - 1)] = ancestor
            height += 1
            ancestor = parent[ancestor]
        above = 0 if ancestor == ROOT else group[ancestor]
        for _ in range(min(height, _STACK)):
            if used == capacity:
                return index, used
            height -= 1
            current = stack[height & (_STACK - 1)]
            above = _find(table, used, above, type_index[current])
            group[current] = above
            if above == used:
                used += 1
    return index, used


@kernel
def _add_to_parents(parent: Ints, total: Longs) -> None:
    """Add the total of each row to its ancestors."""
    for row in range(len(parent) - 1, 0, -1):
        total[parent[row]] += total[row]


class _Groups:
    """A `GroupTable` that grows."""

    def __init__(self, capacity: int, role_kind: Bytes | None) -> None:
        self.parent = np.empty(capacity, np.int32)
        self.type_index = np.empty(capacity, np.int32)
        self.depth = np.empty(capacity, np.uint8)
        self.parent[0], self.type_index[0], self.depth[0] = -1, NOT_A_TYPE, 0
        self.used = 1
        if role_kind is not None:
            roles = slice(1 + len(RootKind), 1 + len(RootKind) + len(role_kind))
            self.parent[: roles.start], self.depth[1 : roles.start] = 0, 1
            self.parent[roles], self.depth[roles] = 1 + role_kind.astype(np.int32), 2
            self.parent[0], self.used = -1, roles.stop
            # Below every type, so that no object can be in the same group.
            self.type_index[1 : self.used] = NOT_A_TYPE - np.arange(1, self.used)
        self._index()

    def table(self) -> GroupTable:
        """The groups as columns."""
        return GroupTable(self.parent, self.type_index, self.depth, self.slots)

    def _index(self) -> None:
        self.slots = np.full(2 * len(self.parent), -1, np.int32)
        _fill(self.table(), self.used)

    def grow(self) -> None:
        """Double the capacity."""
        capacity = 2 * len(self.parent)
        self.slots = np.empty(0, np.int32)
        self.parent = np.resize(self.parent, capacity)
        self.type_index = np.resize(self.type_index, capacity)
        self.depth = np.resize(self.depth, capacity)
        self._index()

    def trim(self) -> None:
        """Free unused capacity and the slots; no group can be found any more."""
        self.slots = np.empty(0, np.int32)
        self.parent = self.parent[: self.used].copy()
        self.type_index = self.type_index[: self.used].copy()
        self.depth = self.depth[: self.used].copy()


def merged_tree(
    graph: HeapGraph,
    parent: Ints,
    *,
    by_root: Bools | None = None,
    rank: Bytes | None = None,
    limit: int = MAX_GROUPS,
    rows: bool = False,
) -> MergedTree:
    """Merge a tree of objects by type.

    Time: one lookup in a hash table for each object. Memory: 4 bytes an object; 17 to
    34 bytes a group while groups are found, then 25.

    Args:
        graph: The heap.
        parent: int32 (N + M,). Parent of each object; `ROOT` or `UNREACHABLE`.
        by_root: bool (R,). Roots whose kinds are the first level, and whose roles, if
            they have any, are the second. An object at the top belongs to the first of
            these roots, in the dump's order, that refers to it. ``None``: no such
            levels.
        rank: uint8 (R,). Roots of a lower rank come before the others, and those count
            that are the parents of their objects.
        limit: Groups to return, including the top.
        rows: Whether to return the row of each object too.
    """
    group = np.full(len(parent), -1, np.int32)
    roots = None if by_root is None else root_roles(graph, by_root)
    if roots is not None and rank is not None:
        first = np.argsort(rank[by_root], kind="stable")
        first = first[parent[roots.root_object[first]] == ROOT]
        roots = roots._replace(
            root_object=roots.root_object[first],
            root_kind=roots.root_kind[first],
            role=roots.role[first],
        )
    capacity = _FIRST_CAPACITY
    if roots is not None:
        above = len(RootKind) + len(roots.roles)
        most = min(above * (len(graph.type_names) + 1), len(roots.root_object))
        capacity = max(capacity, 1 << (1 + above + most).bit_length())
    groups = _Groups(capacity, None if roots is None else roots.role_kind)
    if roots is not None:
        groups.used = _group_roots(
            roots.root_object,
            np.where(
                roots.role >= 0, 1 + len(RootKind) + roots.role, 1 + roots.root_kind
            ).astype(np.int32),
            graph.type_index,
            group,
            groups.table(),
            groups.used,
        )
    stack = np.empty(_STACK, np.int32)
    index = 0
    while True:
        index, groups.used = _group_objects(
            parent,
            graph.type_index,
            index,
            group,
            groups.table(),
            groups.used,
            stack,
        )
        if index == len(parent):
            break
        groups.grow()
    groups.trim()
    roles = () if roots is None else roots.roles
    return _largest(graph, group, groups, limit, roles, rows=rows)


def _largest(
    graph: HeapGraph,
    group: Ints,
    groups: _Groups,
    limit: int,
    roles: tuple[Role, ...],
    *,
    rows: bool,
) -> MergedTree:
    """The groups with most total bytes; no parent has less than its children."""
    shallow_bytes = sum_by(group, graph.shallow_bytes, groups.used)
    total_bytes = shallow_bytes.copy()
    _add_to_parents(groups.parent, total_bytes)
    # The first found wins among equals: parents are found before their children.
    chosen = np.argsort(-total_bytes, kind="stable")[:limit]
    own_bytes, all_bytes = shallow_bytes[chosen], total_bytes[chosen]
    del shallow_bytes, total_bytes
    object_count = count_by(group, groups.used)
    total_count = object_count.copy()
    _add_to_parents(groups.parent, total_count)
    # Only kinds of roots that hold nothing are empty.
    some = (total_count[chosen] > 0) | (chosen == 0)
    chosen, own_bytes, all_bytes = chosen[some], own_bytes[some], all_bytes[some]
    own_count, all_count = object_count[chosen], total_count[chosen]
    row = np.full(groups.used, -1, np.int32)
    row[chosen] = np.arange(len(chosen), dtype=np.int32)
    parent = row[groups.parent[chosen]]
    parent[0] = -1
    types = groups.type_index[chosen]
    place = np.where(types < NOT_A_TYPE, NOT_A_TYPE - 1 - types, -1).astype(np.int32)
    is_kind = place < len(RootKind)
    return MergedTree(
        parent=parent,
        type_index=np.maximum(types, NOT_A_TYPE),
        root_kind=np.where(is_kind, place, np.int32(-1)),
        role=np.where(is_kind, np.int32(-1), place - np.int32(len(RootKind))),
        roles=roles,
        depth=groups.depth[chosen].astype(np.int32),
        object_count=own_count,
        shallow_bytes=own_bytes,
        total_count=all_count,
        total_bytes=all_bytes,
        rest_count=_rest(parent, all_count, own_count),
        rest_bytes=_rest(parent, all_bytes, own_bytes),
        row=_rows(group, groups, row) if rows else None,
    )


def _rows(group: Ints, groups: _Groups, row: Ints) -> Ints:
    """int32 (N + M,): the row of each object's group, or of the nearest above it."""
    for depth in range(1, MAX_DEPTH + 2):
        left_out = np.flatnonzero((groups.depth == depth) & (row < 0))
        row[left_out] = row[groups.parent[left_out]]
    return np.where(group < 0, np.int32(-1), row[group])


def _rest(parent: Ints, total: Longs, own: Longs) -> Longs:
    """int64 (G,): what neither the own row nor children's totals have of each total."""
    return total - own - sum_by(parent, total, len(parent))
