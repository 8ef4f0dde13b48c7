"""Which of a list of address ranges contains each address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_BLOCK_ROWS = 1 << 16


def within(
    address: NDArray[np.uint64], starts: Sequence[int], ends: Sequence[int]
) -> NDArray[np.int32]:
    """int32 (N,): the range that contains each address, -1 where none does.

    Args:
        address: uint64 (N,).
        starts: First address of each of R ranges, ascending.
        ends: One past the last address of each. Where two ranges contain an address,
            the later one counts.
    """
    found = np.full(len(address), -1, np.int32)
    if not len(starts):
        return found
    low, high = np.array(starts, np.uint64), np.array(ends, np.uint64)
    # Block by block: positions have eight bytes each.
    for begin in range(0, len(address), _BLOCK_ROWS):
        block = address[begin : begin + _BLOCK_ROWS]
        row = np.searchsorted(low, block, "right") - 1
        inside = (row >= 0) & (block < high[row])
        found[begin : begin + _BLOCK_ROWS] = np.where(inside, row, -1)
    return found
