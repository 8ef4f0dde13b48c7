"""Texts stored in part, followed by a digest of the whole text.

`MARK` and the digest follow the first characters of such a text. So texts with the same
beginning are equal only if the whole texts are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.shared.big_endian import uint64

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Number

MARK = b"... #"
_MARK = np.frombuffer(MARK, np.uint8)
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_HEX = 12
MARK_UNITS = len(MARK) + _HEX
"""Characters of the mark and the digest."""

DIGEST_BYTES = 8


@kernel
def store_digest(data: Bytes, begin: int, end: int, out: Bytes, at: int) -> None:
    """Store the digest of some bytes, `DIGEST_BYTES`, in a byte column."""
    found = np.uint64(0xCBF29CE484222325)
    prime = np.uint64(0x9E3779B97F4A7C15)
    place: Number = begin
    while place + 8 <= end:
        found = (found ^ uint64(data, place)) * prime
        found ^= found >> np.uint64(32)
        place += 8
    while place < end:
        found = (found ^ np.uint64(data[place])) * prime
        found ^= found >> np.uint64(32)
        place += 1
    found *= prime
    found ^= found >> np.uint64(29)
    for i in range(DIGEST_BYTES):
        out[at + i] = (found >> np.uint64(8 * i)) & np.uint64(255)


@kernel
def write_mark(digest: Bytes, begin: Number, out: Bytes, at: Number, unit: int) -> None:
    """Write the mark of the text whose digest is at ``begin``.

    Args:
        digest: A column with stored digests.
        begin: Position of the text's digest.
        out: uint8. Gets the mark, in Latin-1 or UTF-16-LE.
        at: Position of the mark.
        unit: Bytes of a character, 1 or 2.
    """
    place = at
    for i in range(MARK_UNITS):
        if i < len(_MARK):
            out[place] = _MARK[i]
        else:
            digit = i - len(_MARK)
            byte = np.int64(digest[begin + digit // 2])
            out[place] = _DIGITS[(byte >> 4) if digit % 2 == 0 else (byte & 15)]
        if unit > 1:
            out[place + 1] = 0
        place += unit
