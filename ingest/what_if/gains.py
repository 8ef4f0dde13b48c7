"""What the removal of each of many groups of references would free, exactly.

A group frees an object if every path from the roots to it has a reference of the group.
Such groups of all objects at once are the largest solution of a data flow: a path to an
object has the groups of the path to its referrer and the group of its last reference;
the object gets the groups that are common to all its referrers. 64 groups are solved at
once, a bit each, by sweeps over the references.

A bound tells which groups are worth it: the bytes of each object are divided among the
references to it, then among the references to their sources, and so on up to the roots.
What a group frees has passed through its references at least once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.analysis.preorder import Preorder
    from ingest.arrays.compiled import Bools, Ids, Ints, Longs, Starts

AT_ONCE = 64
"""Groups whose gains are computed together."""

_MAX_SWEEPS = 64
"""Sweeps over the references, after which the result is only an upper bound."""


class GroupGains:
    """What each group of references and roots of a heap would free.

    Args:
        references: The references that hold.
        order: The dominator tree of what they hold.
        sizes: int64 (N + M,). Bytes of each object.
        group: int32 (E,). Group of each reference, of G.
        root_group: int32 (R,). Group of each root of ``references``.
        group_count: G.
    """

    def __init__(
        self,
        references: ReferenceColumns,
        order: Preorder,
        sizes: Longs,
        group: Ints,
        root_group: Ints,
        group_count: int,
    ) -> None:
        self._references, self._order = references, order
        self._group, self._root_group = group, root_group
        self._count = group_count
        self._bytes = sizes[order.object_index]
        self._bytes[0] = 0

    def bounds(self) -> NDArray[np.float64]:
        """float64 (G,): bytes that each group frees at most."""
        flow = self._bytes.astype(np.float64)
        bound = np.zeros(self._count)
        _flow(
            *self._references[:3],
            self._references.roots,
            self._order.object_index,
            self._order.position,
            self._group,
            self._root_group,
            np.zeros(len(flow), np.int32),
            flow,
            bound,
        )
        return bound

    def of_all(
        self, cuts: Iterable[tuple[int, ...]]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, int]]]:
        """The bytes that each cut frees; a cut has one group or several.

        Yields:
            Each cut with the bytes that it frees, and the position of the first
            object that it frees; 0 if it frees none.
        """
        left = list(cuts)
        for begin in range(0, len(left), AT_ONCE):
            some = left[begin : begin + AT_ONCE]
            yield from zip(some, self._of(some), strict=True)

    def _of(self, cuts: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
        """The same for at most `AT_ONCE` cuts."""
        bits = np.zeros(self._count, np.uint64)
        for number, cut in enumerate(cuts):
            bits[list(cut)] |= np.uint64(1 << number)
        mask = np.full(len(self._bytes), ~np.uint64(0))
        _narrow(
            *self._references[:3],
            self._references.roots,
            self._order.object_index,
            self._order.position,
            self._group,
            self._root_group,
            bits,
            mask,
        )
        found = []
        for number in range(len(cuts)):
            freed = (mask >> np.uint64(number)) & np.uint64(1) == 1
            freed[0] = False
            found.append((int(self._bytes[freed].sum()), int(np.argmax(freed))))
        return found


@kernel
def _flow(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    roots: Ints,
    objects: Ints,
    position: Ints,
    group: Ints,
    root_group: Ints,
    referrers: Ints,
    flow: NDArray[np.float64],
    bound: NDArray[np.float64],
) -> None:
    """Divide bytes among references to later positions, which reach every object."""
    for row in range(len(roots)):
        referrers[position[roots[row]]] += 1
    for at in range(1, len(objects)):
        for ref in range(start[objects[at]], start[objects[at] + 1]):
            target = position[targets[ref]]
            if target > at and not skipped[ref]:
                referrers[target] += 1
    for at in range(len(objects) - 1, 0, -1):
        for ref in range(start[objects[at]], start[objects[at] + 1]):
            target = position[targets[ref]]
            if target > at and not skipped[ref]:
                part = flow[target] / referrers[target]
                flow[at] += part
                bound[group[ref]] += part
    for row in range(len(roots)):
        target = position[roots[row]]
        bound[root_group[row]] += flow[target] / referrers[target]


@kernel
def _narrow(
    start: Starts,
    targets: Ints,
    skipped: Bools,
    roots: Ints,
    objects: Ints,
    position: Ints,
    group: Ints,
    root_group: Ints,
    bits: Ids,
    mask: Ids,
) -> None:
    """Leave in the mask of each position the bits that all paths to it have."""
    for row in range(len(roots)):
        mask[position[roots[row]]] &= bits[root_group[row]]
    for _ in range(_MAX_SWEEPS):
        narrowed = False
        for at in range(1, len(objects)):
            held = mask[at]
            for ref in range(start[objects[at]], start[objects[at] + 1]):
                target = position[targets[ref]]
                if target == 0 or skipped[ref]:
                    continue
                left = mask[target] & (held | bits[group[ref]])
                if left != mask[target]:
                    mask[target] = left
                    narrowed = True
        if not narrowed:
            break
