"""Search among ascending numbers in kernels, which loads less of numba than numpy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Number


@kernel
def place_of(ascending: NDArray[Any], wanted: Number) -> int:
    """Where ascending numbers have one; -1 if they do not."""
    begin, end = 0, len(ascending)
    while begin < end:
        middle = (begin + end) // 2
        if ascending[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < len(ascending) and ascending[begin] == wanted else -1
