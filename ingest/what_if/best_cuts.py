"""Which references to remove: those that free most, the best first.

References with the same field, and the same types at both ends, are removed together:
one line of a program makes them all. After each choice the dominators of what is left
are computed anew, which also finds two references that hold something only together.

The search is greedy. What each choice frees is exact, and no other single group frees
more than the best one: groups are tried in the order of a bound on what they free,
until the bound of the next one is too low (or `MOST_TRIED` were tried). The pairs that
are tried hold most themselves, or consist of groups with the largest bounds.
"""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.dominators import dominator_tree, retained_sizes
from ingest.analysis.preorder import preorder_of
from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD, RootFlag, RootKind
from ingest.runtimes import TypeClass, named
from ingest.what_if.freed import Cut, Freed
from ingest.what_if.gains import AT_ONCE, GroupGains

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.arrays.compiled import Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.what_if.freed import WhatIf

CANDIDATES = 8
"""Cuts that are compared, for each one that is chosen."""

MOST_TRIED = 1024
"""Groups whose gain is computed for each choice, at most."""

_TOGETHER = 2
"""Two groups are a pair if both together free so much more than each alone."""

_PAIRED = 16
"""Number of groups whose pairs are all tried."""

NEARLY = 0.95
"""A cut nearer to what is held is preferred if it frees at least this share of the best
cut's bytes, since it frees only what it should."""

_UNKNOWN, _TOO_MANY = -1, -2


class BestCut(NamedTuple):
    """One choice of references to remove.

    Attributes:
        names: The references, as ``Holder.field -> Type``: mostly one; two if only both
            together free anything.
        own: What this choice removes.
        cut: What this choice and all before it remove.
        freed: What ``cut`` frees.
        gain_bytes: How much more ``cut`` frees than without this choice.
    """

    names: tuple[str, ...]
    own: Cut
    cut: Cut
    freed: Freed
    gain_bytes: int


@kernel
def _add(first: Ints, second: Ints, target: int, group: int) -> None:
    """Note that ``group`` holds position ``target``, in two columns of int32 (V,).

    A third group makes ``first`` `_TOO_MANY`.
    """
    if first[target] == _UNKNOWN or first[target] == group:
        first[target] = group
    elif first[target] != _TOO_MANY:
        if second[target] == _UNKNOWN or second[target] == group:
            second[target] = group
        else:
            first[target] = _TOO_MANY


@kernel
def _find_holders(
    references: ReferenceColumns,
    position: Ints,
    end: Ints,
    group: Ints,
    root_group: Ints,
    first: Ints,
    second: Ints,
) -> None:
    """Find the groups of references that hold each position, if at most two do.

    References from what an object dominates do not hold it.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    for row in range(len(references.roots)):
        _add(first, second, position[references.roots[row]], root_group[row])
    for source in range(len(position)):
        at = position[source]
        if at == 0:
            continue
        for ref in range(start[source], start[source + 1]):
            if skipped[ref]:
                continue
            target = position[targets[ref]]
            if not (target <= at < end[target]):
                _add(first, second, target, group[ref])


@kernel
def _sum_gains(key: Ints, size: Longs, end: Ints, gain: Longs, until: Ints) -> None:
    """Sum up what each pair holds; what is below an object counts once."""
    for position in range(1, len(key)):
        candidate = key[position]
        if candidate >= 0 and position >= until[candidate]:
            gain[candidate] += size[position]
            until[candidate] = end[position]


class _ReferenceGroups:
    """References and roots of a heap by owner, field and type of the target.

    Attributes:
        group: int32 (E,). Group of each reference.
        root_group: int32 (R,). Group of each root, numbered after those of references.
        is_offered: Bool. Whether a program can remove each group.
    """

    def __init__(self, graph: HeapGraph, own: Sequence[str]) -> None:
        self._graph = graph
        types = len(graph.type_names) + 1
        sources = np.repeat(graph.type_index, np.diff(graph.ref_start)).astype(np.int64)
        targets = graph.type_index[graph.ref_target].astype(np.int64)
        field = np.full(len(targets), NO_FIELD, np.int64)
        if graph.ref_field is not None:
            # All elements of a list share one field.
            field = np.maximum(graph.ref_field, -1).astype(np.int64)
        field = np.maximum(field, -2) + 2
        fields = len(graph.field_names) + 2
        key = ((sources + 1) * fields + field) * types + targets + 1
        _, self.first, self.group = _numbered(key)
        root_field = np.full(len(graph.root_object), NO_FIELD, np.int64)
        if graph.root_field is not None:
            root_field = graph.root_field.astype(np.int64)
        root_field = np.maximum(root_field, -2) + 2
        root_key = graph.root_kind.astype(np.int64) * types + graph.root_type + 1
        root_target = graph.type_index[graph.root_object].astype(np.int64)
        root_key = (root_key * fields + root_field) * types + root_target + 1
        _, self.first_root, self.root_group = _numbered(root_key)
        self.root_group += len(self.first)
        self.is_offered = np.concatenate([self._of_program(own), self._of_statics()])

    def _of_program(self, own: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the owner's type is the program's, and not that of the target."""
        graph = self._graph
        classes = named(graph.runtime).type_classes(graph.type_names, own)
        sources = graph.sources(self.first)
        kinds = graph.type_index[sources]
        targets = graph.type_index[graph.ref_target[self.first]]
        found = (kinds >= 0) & (kinds != targets)
        found[found] = classes[kinds[found]] == TypeClass.PROGRAM
        return np.asarray(found)

    def _of_statics(self) -> NDArray[np.bool_]:
        """Whether the owner is a static field or a handle that is not weak."""
        graph = self._graph
        kinds = graph.root_kind[self.first_root]
        offered = (RootKind.STATIC, RootKind.HANDLE)
        strong = self.root_group[~RootFlag.WEAK.is_in(graph.root_flags)]
        strong_count = np.bincount(
            strong - len(self.first), minlength=len(self.first_root)
        )
        return np.isin(kinds, [int(kind) for kind in offered]) & (strong_count > 0)

    def cut(self, groups: Sequence[int]) -> Cut:
        """The cut that removes some groups."""
        found = Cut.nothing(self._graph)
        for group in groups:
            found.references[self.group == group] = True
            found.roots[self.root_group == group] = True
        return found

    def name(self, group: int) -> str:
        """A group as ``Holder.field -> Type``."""
        graph = self._graph
        caption = graph.captions.of
        if group >= len(self.first):
            root = int(self.first_root[group - len(self.first)])
            target = graph.type_name(int(graph.root_object[root]))
            return f"{graph.root_name(root)} -> {caption(target)}"
        row = int(self.first[group])
        source = int(graph.sources(row))
        field = graph.field_name(row)
        if field is not None and field.startswith("["):
            field = None
        holder = caption(graph.type_name(source))
        target = graph.type_name(int(graph.ref_target[row]))
        return f"{holder}{f'.{field}' if field else ''} -> {caption(target)}"


def _numbered(
    key: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Unique keys, the first row of each key, and the number of each row's key."""
    keys, first, number = np.unique(key, return_index=True, return_inverse=True)
    return keys, first, number.astype(np.int32)


def best_cuts(
    what_if: WhatIf,
    *,
    before: Cut | None = None,
    most: int = 3,
    enough: float = 1.0,
    own: Sequence[str] = (),
) -> Iterator[BestCut]:
    """Choose references to remove, the best first.

    Time: each choice takes one computation of dominators, `CANDIDATES` searches, and a
    few passes over the references for each 64 groups that are tried.
    Memory: 60 bytes a reference while the references are grouped.

    Args:
        what_if: The heap.
        before: What is cut already.
        most: How many cuts to choose.
        enough: Share of the reachable bytes, 0 to 1, at which the search stops.
        own: Globs of types that are the program's own; see
            `ingest.runtimes.Runtime.type_classes`. Only references of the
            program's types and of static fields are chosen.
    """
    graph = what_if.graph
    groups = _ReferenceGroups(graph, own)
    done = Cut.nothing(graph) if before is None else before
    freed_bytes = what_if.freed([done]).shallow_bytes
    for _ in range(most):
        if freed_bytes >= enough * what_if.reachable_bytes:
            return
        tried = []
        for candidate, nearness in _candidates(what_if, groups, done):
            own_cut = groups.cut(candidate)
            cut = done.with_(own_cut)
            freed = what_if.freed([cut])
            gain = freed.shallow_bytes - freed_bytes
            names = tuple(map(groups.name, candidate))
            tried.append((nearness, BestCut(names, own_cut, cut, freed, gain)))
        tried = [one for one in tried if one[1].gain_bytes > 0]
        if not tried:
            return
        # Each of two groups that free something only together is worth half of it.
        worth = [found.gain_bytes / len(found.names) for _, found in tried]
        good = [
            one
            for one, bytes_each in zip(tried, worth, strict=True)
            if bytes_each >= NEARLY * max(worth)
        ]
        chosen = max(good, key=lambda one: (one[0], one[1].gain_bytes))[1]
        yield chosen
        done, freed_bytes = chosen.cut, chosen.freed.shallow_bytes


def _candidates(
    what_if: WhatIf, groups: _ReferenceGroups, done: Cut
) -> list[tuple[tuple[int, ...], int]]:
    """The groups, or pairs of them, that free most, and how near they are.

    Returns:
        Groups, and how many objects are above the first one that they free.
    """
    graph = what_if.graph
    references = what_if.left_by(done)
    tree, search = dominator_tree(references)
    size = retained_sizes(graph, tree)
    order = preorder_of(graph, tree, search)
    del tree, search
    count = len(order.object_index)
    first, second = np.full((2, count), _UNKNOWN, np.int32)
    is_left = what_if.roots_left(done)
    _find_holders(
        references,
        order.position,
        order.end,
        groups.group,
        groups.root_group[is_left],
        first,
        second,
    )
    low, high = np.minimum(first, second), np.maximum(first, second)
    gains = GroupGains(
        references,
        order,
        graph.shallow_bytes,
        groups.group,
        groups.root_group[is_left],
        len(groups.is_offered),
    )
    bounds = np.where(groups.is_offered, gains.bounds(), 0.0)
    by_bound = np.argsort(-bounds, kind="stable")
    largest = by_bound[groups.is_offered[by_bound]].tolist()
    # A group whose bound is zero frees nothing alone, but may with another one.
    most = min(int(np.count_nonzero(bounds)), MOST_TRIED)
    found = _singles(largest[:most], bounds, gains)
    pairs = _pairs(groups, low, high, size[order.object_index], order.end)
    pairs += combinations(sorted(largest[:_PAIRED]), 2)
    alone = {group: freed for (group,), (freed, _) in found}
    singles = [(group,) for group in sorted({*chain(*pairs)} - alone.keys())]
    alone |= {group: freed for (group,), (freed, _) in gains.of_all(singles)}
    for pair, (freed, position) in gains.of_all(dict.fromkeys(pairs)):
        # Two groups that do not affect each other are two cuts.
        if freed >= _TOGETHER * (alone[pair[0]] + alone[pair[1]]):
            found.append((pair, (freed, position)))
    found.sort(key=lambda one: (-one[1][0] / len(one[0]), one[0]))
    depth = _depths(order.dominator)
    return [
        (cut, int(depth[position]))
        for cut, (freed_bytes, position) in found[:CANDIDATES]
        if freed_bytes
    ]


def _singles(
    order: Sequence[int], bounds: NDArray[np.float64], gains: GroupGains
) -> list[tuple[tuple[int, ...], tuple[int, int]]]:
    """The groups that free most, with what they free.

    Args:
        order: Groups by what they free at most.
        bounds: float64 (G,). These bounds.
        gains: What groups free.
    """
    found: list[tuple[tuple[int, ...], tuple[int, int]]] = []
    best = 0
    for begin in range(0, len(order), AT_ONCE):
        if bounds[order[begin]] < NEARLY * best:
            break
        found += gains.of_all([(one,) for one in order[begin : begin + AT_ONCE]])
        best = max(freed for _, (freed, _) in found)
    return found


def _pairs(
    groups: _ReferenceGroups, low: Ints, high: Ints, size: Longs, end: Ints
) -> list[tuple[int, ...]]:
    """Pairs of groups that seem to free most.

    Args:
        groups: All groups.
        low: int32 (V,). The lower one of the groups that hold each position, if they
            are at most two; else negative.
        high: The other one, likewise.
        size: int64 (V,). What each position retains, bytes.
        end: int32 (V,). End of each position's subtree in the dominator tree.
    """
    offered, total = groups.is_offered, len(groups.is_offered)
    held = low >= 0
    held[0] = False
    held[held] &= offered[low[held]] & offered[high[held]]
    pairs = low[held].astype(np.int64) * total + high[held]
    keys, number = np.unique(pairs, return_inverse=True)
    key = np.full(len(low), -1, np.int32)
    key[held] = number
    gain, until = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int32)
    _sum_gains(key, size, end, gain, until)
    chosen = np.argsort(-gain, kind="stable")[:AT_ONCE]
    return [divmod(int(keys[at]), total) for at in chosen]


def _depths(dominator: Ints) -> Ints:
    """int32 (V,): how many vertices are above each position of a dominator tree."""
    depth = np.zeros(len(dominator), np.int32)
    _fill_depths(dominator, depth)
    return depth


@kernel
def _fill_depths(dominator: Ints, depth: Ints) -> None:
    """Fill ``depth``, int32 (V,), with the steps from the top of a dominator tree.

    ``dominator`` is int32 (V,); each position comes after its dominator.
    """
    for position in range(1, len(dominator)):
        depth[position] = depth[dominator[position]] + 1
