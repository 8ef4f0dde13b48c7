"""A compiled reader of LEB128 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.shared.binary import LONGEST_ULEB_BYTES

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Number

CUT, LONG = -1, -2
"""Instead of a number's end: the bytes end within it, or it exceeds 64 bits."""


@kernel
def uleb(data: Bytes, p: int, end: int) -> tuple[Number, int]:
    """The unsigned number at ``p`` and where it ends, `CUT` or `LONG`."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for i in range(LONGEST_ULEB_BYTES):
        if p + i >= end:
            return value, CUT
        byte = np.uint64(data[p + i])
        if i == LONGEST_ULEB_BYTES - 1 and byte > np.uint64(1):
            return value, LONG
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            return value, p + i + 1
        shift += np.uint64(7)
    return value, LONG
