"""Kernels for text: classes of bytes, numbers, escapes of JSON, irregularities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Longs, Number

BLANK, END, OTHER = 16, 17, 18
CLASS = np.full(256, OTHER, np.uint8)
"""Class of each byte: the value of a digit, or a class above."""
for _i, _c in enumerate(b"0123456789abcdef"):
    CLASS[_c] = _i
for _i, _c in enumerate(b"ABCDEF"):
    CLASS[_c] = 10 + _i
CLASS[[0x20, 0x09]] = BLANK
CLASS[[0x0A, 0x0D]] = END


ENDED, DECIMAL, HEX, NEGATIVE, BAD = range(5)
"""Outcomes of parsing a number. A list ends with the line, or with -1."""

NOT_RECORDED = -1
"""Instead of a count that a line lacks."""


@kernel
def hex4(data: Bytes, at: int) -> int:
    """The number of four hexadecimal digits; -1 if they are not digits."""
    value = 0
    for i in range(at, at + 4):
        if CLASS[data[i]] >= 16:
            return -1
        value = value * 16 + int(CLASS[data[i]])
    return value


@kernel
def escaped(letter: int) -> int:
    """The character that JSON writes as a backslash and a letter; -1 for none.

    Source: RFC 8259, section 7; ``u`` begins a number and is none of these.
    """
    if letter in (0x22, 0x5C, 0x2F):
        return letter
    if letter == 0x6E:
        return 0x0A
    if letter == 0x74:
        return 0x09
    if letter == 0x72:
        return 0x0D
    if letter == 0x62:
        return 0x08
    return 0x0C if letter == 0x66 else -1


@kernel
def note(book: Longs, kind: int, line: int, offset: int) -> None:
    """Count an irregularity; remember the first one's line and byte."""
    if book[kind, 0] == 0:
        book[kind, 1] = line
        book[kind, 2] = offset
    book[kind, 0] += 1


@kernel
def skip_line(data: Bytes, position: int, end: int) -> int:
    """Where the next line begins, after LF, CR or CR LF."""
    while position < end and CLASS[data[position]] != END:
        position += 1
    if position < end:
        position += 1
        if data[position - 1] == 0x0D and position < end and data[position] == 0x0A:
            position += 1
    return position


@kernel
def number(data: Bytes, position: int, end: int) -> tuple[Number, int, int]:
    """The next number of a line: (value without sign, outcome, where it ended)."""
    while position < end and CLASS[data[position]] == BLANK:
        position += 1
    if position >= end or CLASS[data[position]] == END:
        return np.uint64(0), ENDED, position
    value = np.uint64(0)
    outcome = DECIMAL
    if data[position] == 0x2D:
        outcome = NEGATIVE
        position += 1
    if (
        position + 1 < end
        and data[position] == 0x30
        and (data[position + 1] | 0x20) == 0x78
    ):
        position += 2
        if outcome == DECIMAL:
            outcome = HEX
        if position >= end or CLASS[data[position]] >= BLANK:
            outcome = BAD
        while position < end and data[position] == 0x30:
            position += 1
        first = position
        while position < end and CLASS[data[position]] < BLANK:
            value = (value << np.uint64(4)) | np.uint64(CLASS[data[position]])
            position += 1
        if position - first > 16:
            outcome = BAD
    else:
        if position >= end or CLASS[data[position]] >= 10:
            outcome = BAD
        while position < end and data[position] == 0x30:
            position += 1
        first = position
        while position < end and CLASS[data[position]] < 10:
            digit = np.uint64(CLASS[data[position]])
            # The largest number of 64 bits has 20 digits and ends in 5.
            if position - first == 19 and (
                value > np.uint64(1844674407370955161)
                or (value == np.uint64(1844674407370955161) and digit > np.uint64(5))
            ):
                outcome = BAD
            value = value * np.uint64(10) + digit
            position += 1
        if position - first > 20:
            outcome = BAD
    while position < end and CLASS[data[position]] not in (BLANK, END):
        outcome = BAD
        position += 1
    return value, outcome, position


@kernel
def is_hexadecimal(data: Bytes, position: int, end: int) -> bool:
    """Whether the next token begins with ``0x``."""
    while position < end and CLASS[data[position]] == BLANK:
        position += 1
    return (
        position + 1 < end
        and data[position] == 0x30
        and (data[position + 1] | 0x20) == 0x78
    )


@kernel
def is_number(outcome: int) -> bool:
    """Whether a number without a sign was read."""
    return outcome in (DECIMAL, HEX)


@kernel
def count(data: Bytes, position: int, end: int) -> tuple[Number, int]:
    """The next number, `NOT_RECORDED` for none, and where it ended."""
    value, outcome, position = number(data, position, end)
    if is_number(outcome) and value < np.uint64(1 << 62):
        return np.int64(value), position
    return NOT_RECORDED, position
