"""Hashes of bytes within compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Number

FNV_OFFSET, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@kernel
def fnv1a(data: Bytes, begin: Number, end: Number, state: Number) -> Number:
    """FNV-1a, 64 bits, of some bytes; ``state`` is `FNV_OFFSET` for the first ones.

    Source: draft-eastlake-fnv, section 5.
    """
    for i in range(begin, end):
        state = (state ^ np.uint64(data[i])) * FNV_PRIME
    return state
