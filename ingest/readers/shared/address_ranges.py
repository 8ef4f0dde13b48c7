"""Where in the heap objects lie: the segment of an address, and its generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def within(
    address: NDArray[np.uint64], starts: Sequence[int], ends: Sequence[int]
) -> NDArray[np.int32]:
    """int32 (N,): the range that has each address, -1 where none has.

    Args:
        address: uint64 (N,).
        starts: First addresses of R ranges, rising.
        ends: Behind their last ones. Where two have an address, the later counts.
    """
    none = np.full(len(address), -1, np.int32)
    if not len(starts):
        return none
    low, high = np.array(starts, np.uint64), np.array(ends, np.uint64)
    found = (np.searchsorted(low, address, "right") - 1).astype(np.int32)
    return np.where((found >= 0) & (address < high[found]), found, none)
