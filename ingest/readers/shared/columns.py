"""What all readers do to columns before they become a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.errors import MalformedDump

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_SIZE_BYTES = (1 << 47) - 1
"""More than any process can address; a larger size is a fault of the file."""

_LARGEST_SUM = 2.0**62
"""Leaves a sum of sizes room in 64 bits, however it is rounded."""


def check_sum(size_bytes: NDArray[Any], path: str) -> None:
    """Make sure that no sum over objects of the dump at ``path`` overflows.

    Raises:
        MalformedDump: only absurdly many absurd sizes do.
    """
    if float(size_bytes.sum(dtype=np.float64)) >= _LARGEST_SUM:
        raise MalformedDump(
            "the sizes add up to more than any memory; get the file again", path=path
        )


def extended(column: NDArray[Any], more: int, value: int) -> NDArray[Any]:
    """``column`` with ``more`` rows of ``value``, for missing objects."""
    if not more:
        return column
    return np.concatenate([column, np.full(more, value, column.dtype)])
