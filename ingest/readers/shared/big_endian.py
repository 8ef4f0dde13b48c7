"""Kernels for unsigned big-endian numbers.

They are written so that the compiler turns each into one instruction. For a signed
place it would check at each byte whether the place is negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Number


@kernel
def uint32(data: Bytes, p: int) -> Number:
    """The number of 4 bytes at ``p``, as uint64."""
    at = np.uint64(p)
    return (
        (np.uint64(data[at]) << np.uint64(24))
        | (np.uint64(data[at + np.uint64(1)]) << np.uint64(16))
        | (np.uint64(data[at + np.uint64(2)]) << np.uint64(8))
        | np.uint64(data[at + np.uint64(3)])
    )


@kernel
def uint64(data: Bytes, p: int) -> Number:
    """The number of 8 bytes at ``p``, as uint64."""
    return (uint32(data, p) << np.uint64(32)) | uint32(data, p + 4)
