"""Kernels for the parts of a line of JSON: texts, numbers, addresses.

What they are given ends with a line end, where each of them stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.hashing import FNV_OFFSET, FNV_PRIME
from ingest.heap.values import ValueKind
from ingest.readers.shared.cut_texts import MARK_UNITS, store_digest, write_mark
from ingest.readers.shared.text_scan import CLASS, escaped, hex4

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Number

_MOST_HEX_DIGITS = 15
_LARGEST = 1 << 58
_MOST_TEXT_BYTES, _CUT_CHARACTERS = 256, 128


def text_hash(text: bytes) -> int:
    """The hash by which texts are told apart (FNV-1a, 64 bits)."""
    found = int(FNV_OFFSET)
    for byte in text:
        found = ((found ^ byte) * int(FNV_PRIME)) & ((1 << 64) - 1)
    return found


@kernel
def after_blanks(data: Bytes, at: int) -> int:
    """Where blanks end; the last byte of ``data`` is a line end."""
    while data[at] == 0x20 or data[at] == 0x09 or data[at] == 0x0D:
        at += 1
    return at


@kernel
def hashed_text(data: Bytes, at: int) -> tuple[int, Number]:
    """Where a text that begins behind a quote ends, and its hash; -1 for nowhere."""
    found = FNV_OFFSET
    while data[at] != 0x22:
        byte = data[at]
        if byte == 0x0A:
            return -1, found
        found = (found ^ np.uint64(byte)) * FNV_PRIME
        at += 1
        if byte == 0x5C:
            if data[at] == 0x0A:
                return -1, found
            found = (found ^ np.uint64(data[at])) * FNV_PRIME
            at += 1
    return at, found


@kernel
def text_end(data: Bytes, at: int) -> int:
    """Where a text that begins behind a quote ends; -1 for nowhere."""
    while data[at] != 0x22:
        if data[at] == 0x5C:
            at += 1
        if data[at] == 0x0A:
            return -1
        at += 1
    return at


@kernel
def address(data: Bytes, at: int) -> tuple[Number, int]:
    """The number in a text such as ``"0x7f00"``, and where it ends; -1 for none."""
    value = np.uint64(0)
    if data[at] != 0x22 or data[at + 1] != 0x30 or data[at + 2] != 0x78:
        return value, -1
    first = at = at + 3
    while CLASS[data[at]] < 16:
        value = (value << np.uint64(4)) | np.uint64(CLASS[data[at]])
        at += 1
    if data[at] != 0x22 or at == first or at - first > _MOST_HEX_DIGITS:
        return value, -1
    return value, at + 1


@kernel
def integer(data: Bytes, at: int) -> tuple[Number, int]:
    """A number without sign or fraction, and where it ends; -1 for none."""
    value: Number = 0
    first = at
    while CLASS[data[at]] < 10:
        value = min(value * 10 + np.int64(CLASS[data[at]]), _LARGEST)
        at += 1
    if at == first or data[at] == 0x2E or data[at] == 0x65 or data[at] == 0x45:
        return value, -1
    return value, at


@kernel
def after_value(data: Bytes, at: int) -> int:
    """Where a value ends, of any kind; -1 for nowhere."""
    depth = 0
    while True:
        byte = data[at]
        if byte == 0x22:
            at = text_end(data, at + 1)
            if at < 0:
                return -1
            at += 1
        elif byte in (0x7B, 0x5B):
            depth += 1
            at += 1
        elif byte in (0x7D, 0x5D):
            if depth == 0:
                return -1
            depth -= 1
            at += 1
        elif byte == 0x0A:
            return -1
        elif depth > 0:
            at += 1
            continue
        else:
            first = at
            while data[at] not in (0x2C, 0x7D, 0x5D, 0x20, 0x09, 0x0D, 0x0A):
                at += 1
            return at if at > first else -1
        if depth == 0:
            return at


@kernel
def truth(data: Bytes, at: int, end: int) -> int:
    """1 for ``true``, 0 for ``false`` and ``null``, else -1."""
    if end - at == 4 and data[at] == 0x74 and data[at + 1] == 0x72:
        return 1
    if end - at == 4 and data[at] == 0x6E and data[at + 1] == 0x75:
        return 0
    if end - at == 5 and data[at] == 0x66 and data[at + 1] == 0x61:
        return 0
    return -1


@kernel
def _code(data: Bytes, at: int, end: int) -> tuple[Number, int]:
    """The code of a character, and where it ends; what is no UTF-8 is U+FFFD."""
    byte: Number = np.int64(data[at])
    value: Number = 0
    if byte == 0x5C and at + 1 < end:
        byte = np.int64(data[at + 1])
        if byte == 0x75:
            value = hex4(data, at + 2) if at + 6 <= end else -1
            return (value, at + 6) if value >= 0 else (0xFFFD, at + 2)
        value = escaped(byte)
        return (value if value >= 0 else byte), at + 2
    if byte < 0x80:
        return byte, at + 1
    more = 3 if byte >= 0xF0 else 2 if byte >= 0xE0 else 1
    if byte < 0xC2 or byte > 0xF4 or at + more >= end:
        return 0xFFFD, at + 1
    value = byte & (0x3F >> more)
    for i in range(at + 1, at + 1 + more):
        if data[i] & 0xC0 != 0x80:
            return 0xFFFD, at + 1
        value = value << 6 | np.int64(data[i] & 0x3F)
    least = 0x10000 if more == 3 else 0x800 if more == 2 else 0x80
    if value < least or value > 0x10FFFF or 0xD800 <= value < 0xE000:
        return 0xFFFD, at + 1
    return value, at + 1 + more


@kernel
def _put_rest(
    data: Bytes, begin: int, end: int, last: int, content: Bytes, to: int, unit: int
) -> int:
    """Put the digest of a text of which only a part is there; where it ends."""
    if end == last:
        return to
    after = to + MARK_UNITS * unit
    store_digest(data, begin, last, content, after)
    write_mark(content, after, content, to, unit)
    return after


@kernel
def put_text(
    data: Bytes, at: int, end: int, content: Bytes, to: int
) -> tuple[Number, int]:
    """Write a text as Latin-1 or, failing that, UTF-16; return its kind and its end.

    A text of more than `_MOST_TEXT_BYTES` becomes its first characters and a digest.
    """
    start, begin, last = to, at, end
    if end - at > _MOST_TEXT_BYTES:
        end = at
        for _ in range(_CUT_CHARACTERS):
            _, end = _code(data, end, last)
    while at < end:
        value, at = _code(data, at, end)
        if value > 0xFF:
            break
        content[to] = value
        to += 1
    else:
        to = _put_rest(data, begin, end, last, content, to, 1)
        return np.int64(ValueKind.LATIN1), to
    at, to = begin, start
    while at < end:
        value, at = _code(data, at, end)
        if value >= 0x10000:
            high = 0xD800 + ((value - 0x10000) >> 10)
            content[to], content[to + 1] = high & 0xFF, high >> 8
            to += 2
            value = 0xDC00 + (value & 0x3FF)
        content[to], content[to + 1] = value & 0xFF, value >> 8
        to += 2
    to = _put_rest(data, begin, end, last, content, to, 2)
    return np.int64(ValueKind.UTF16), to
