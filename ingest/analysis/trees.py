"""Trees of objects, each given by a column of parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ints


@kernel
def _mark(parent: Ints, mark: Bytes, links: Ints, rows: Ints) -> None:
    """Give some objects the mark of the nearest marked object at or above them.

    Without ``rows`` all objects have it. ``mark`` is 0 where it is not known; 255 is
    for none. ``links`` is scratch.
    """
    count = len(rows)
    for at in range(count if count > 0 else len(parent)):
        row, below = rows[at] if count > 0 else at, -1
        while row >= 0 and mark[row] == 0:
            links[row] = below
            below, row = row, parent[row]
        found = mark[row] if row >= 0 else 255
        while below >= 0:
            mark[below] = found
            below = links[below]


def marked(
    parent: NDArray[np.int32], piles: Sequence[NDArray[np.int32]]
) -> NDArray[np.uint8]:
    """uint8 (N + M,): 1 + the pile that an object is in, 255 for none.

    Memory: 5 bytes an object.

    Args:
        parent: int32 (N + M,). The object above each, as its dominator; negative where
            there is none.
        piles: Objects of at most 254 piles; a pile includes all that is below them.
    """
    mark = np.zeros(len(parent), np.uint8)
    for number, members in enumerate(piles, start=1):
        mark[members] = number
    _mark(parent, mark, np.empty(len(mark), np.int32), np.empty(0, np.int32))
    return mark


def are_below(
    parent: NDArray[np.int32], above: NDArray[np.int32], rows: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Bool (len(rows),): which objects are some others, or below them.

    Memory: at most 5 bytes an object; what is not above ``rows`` takes none.

    Args:
        parent: int32 (N + M,). The object above each; negative where there is none.
        above: int32. The others.
        rows: int32. The objects.
    """
    if not len(above) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    mark = np.zeros(len(parent), np.uint8)
    mark[above] = 1
    _mark(parent, mark, np.empty(len(mark), np.int32), rows)
    return np.asarray(mark[rows] == 1)


def outermost(parent: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Those of some objects that no other one is above."""
    above = parent[rows]
    is_inner = are_below(parent, rows, np.maximum(above, 0)) & (above >= 0)
    return np.asarray(rows[~is_inner])
