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
def _mark(parent: Ints, mark: Bytes, links: Ints) -> None:
    """Give each object the mark of the nearest marked object at or above it.

    ``mark`` is 0 where it is not known; 255 is for none. ``links`` is scratch.
    """
    for first in range(len(parent)):
        row, below = first, -1
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
    _mark(parent, mark, np.empty(len(mark), np.int32))
    return mark


def outermost(parent: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Those of some objects that no other one is above, as `marked` takes them."""
    above, mark = parent[rows], marked(parent, [rows])
    return np.asarray(rows[(above < 0) | (mark[np.maximum(above, 0)] != 1)])
