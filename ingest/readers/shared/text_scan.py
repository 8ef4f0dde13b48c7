"""What compiled scanners of line-oriented text share: classes of bytes, and a book."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from ingest.compiled import Bytes, Longs, Number

BLANK, END, OTHER = 16, 17, 18
CLASS = np.full(256, OTHER, np.uint8)
"""What a byte is: a digit below 16, or one of the above."""
for _i, _c in enumerate(b"0123456789abcdef"):
    CLASS[_c] = _i
for _i, _c in enumerate(b"ABCDEF"):
    CLASS[_c] = 10 + _i
CLASS[[0x20, 0x09]] = BLANK
CLASS[[0x0A, 0x0D]] = END


ENDED, DECIMAL, HEX, NEGATIVE, BAD = range(5)
"""How reading a number went; the writers say no number and -1 for the same."""

NOT_RECORDED = -1
"""A count that a line does not have."""


@kernel
def note(book: Longs, kind: int, line: int, offset: int) -> None:
    """Count an irregularity; remember the first one's line and byte."""
    if book[kind, 0] == 0:
        book[kind, 1] = line
        book[kind, 2] = offset
    book[kind, 0] += 1


@kernel
def skip_line(data: Bytes, p: int, end: int) -> int:
    """Where the next line begins: any line end counts, CR LF once."""
    while p < end and CLASS[data[p]] != END:
        p += 1
    if p < end:
        p += 1
        if data[p - 1] == 0x0D and p < end and data[p] == 0x0A:
            p += 1
    return p


@kernel
def number(data: Bytes, p: int, end: int) -> tuple[Number, int, int]:
    """The next number of a line: (value without sign, how it went, where it ended)."""
    while p < end and CLASS[data[p]] == BLANK:
        p += 1
    if p >= end or CLASS[data[p]] == END:
        return np.uint64(0), ENDED, p
    value = np.uint64(0)
    how = DECIMAL
    if data[p] == 0x2D:
        how = NEGATIVE
        p += 1
    if p + 1 < end and data[p] == 0x30 and (data[p + 1] | 0x20) == 0x78:
        p += 2
        if how == DECIMAL:
            how = HEX
        if p >= end or CLASS[data[p]] >= BLANK:
            how = BAD
        while p < end and data[p] == 0x30:
            p += 1
        first = p
        while p < end and CLASS[data[p]] < BLANK:
            value = (value << np.uint64(4)) | np.uint64(CLASS[data[p]])
            p += 1
        if p - first > 16:
            how = BAD
    else:
        if p >= end or CLASS[data[p]] >= 10:
            how = BAD
        while p < end and data[p] == 0x30:
            p += 1
        first = p
        while p < end and CLASS[data[p]] < 10:
            digit = np.uint64(CLASS[data[p]])
            # The largest number of 64 bits has 20 digits and ends in 5.
            if p - first == 19 and (
                value > np.uint64(1844674407370955161)
                or (value == np.uint64(1844674407370955161) and digit > np.uint64(5))
            ):
                how = BAD
            value = value * np.uint64(10) + digit
            p += 1
        if p - first > 20:
            how = BAD
    while p < end and CLASS[data[p]] not in (BLANK, END):
        how = BAD
        p += 1
    return value, how, p


@kernel
def is_hexadecimal(data: Bytes, p: int, end: int) -> bool:
    """Whether what comes next begins with ``0x``."""
    while p < end and CLASS[data[p]] == BLANK:
        p += 1
    return p + 1 < end and data[p] == 0x30 and (data[p + 1] | 0x20) == 0x78


@kernel
def is_number(how: int) -> bool:
    """Whether a number without a sign was read."""
    return how in (DECIMAL, HEX)


@kernel
def count(data: Bytes, p: int, end: int) -> tuple[Number, int]:
    """The next number, `NOT_RECORDED` for none, and where it ended."""
    value, how, p = number(data, p, end)
    if is_number(how) and value < np.uint64(1 << 62):
        return np.int64(value), p
    return NOT_RECORDED, p
