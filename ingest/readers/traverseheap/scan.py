"""The compiled scanner of what XML of SOS has most of: objects with their members.

It takes whole elements in the spelling of the writers, one behind the other, and
stops before whatever is different in any way: that is for a real parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.compiled import kernel
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import BLANK, CLASS, END

if TYPE_CHECKING:
    from ingest.compiled import Bytes, Ids, Longs, Number


def _text(text: bytes) -> Bytes:
    return np.frombuffer(text, np.uint8).copy()


_OBJECT, _OBJECT_END = _text(b"<object"), _text(b"</object>")
_MEMBER = _text(b"<member")
_ADDRESS, _TYPE, _SIZE = _text(b'address="0x'), _text(b'typeid="'), _text(b'size="')
_QUOTE, _CLOSE, _CLOSE_EMPTY = _text(b'"'), _text(b">"), _text(b"/>")

_SHORTEST_OBJECT_BYTES, _SHORTEST_MEMBER_BYTES = 42, 22


class ElementBuffers(NamedTuple):
    """Where objects go; see `ingest.readers.shared.resolver.Objects`.

    Attributes:
        address, type_id: uint64 (rows,).
        size_bytes: int64 (rows,).
        first: int64 (rows,). How many references are before its own.
        line: int64 (rows,). Line ends before it.
        target: uint64.
    """

    address: Ids
    type_id: Ids
    size_bytes: Longs
    first: Longs
    line: Longs
    target: Ids


def buffers_for(size_bytes: int) -> ElementBuffers:
    """Buffers for any text of ``size_bytes``."""
    rows = size_bytes // _SHORTEST_OBJECT_BYTES + 1
    return ElementBuffers(
        np.empty(rows, np.uint64),
        np.empty(rows, np.uint64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(size_bytes // _SHORTEST_MEMBER_BYTES + 1, np.uint64),
    )


@kernel
def _after(data: Bytes, p: int, text: Bytes) -> int:
    """Behind ``text``, which stands at ``p``; -1 if it does not."""
    if p < 0 or p + len(text) > len(data):
        return -1
    for i in range(len(text)):
        if data[p + i] != text[i]:
            return -1
    return p + len(text)


@kernel
def _space(data: Bytes, p: int) -> int:
    """Behind blanks and line ends, of which there may be none."""
    while 0 <= p < len(data) and (CLASS[data[p]] == BLANK or CLASS[data[p]] == END):
        p += 1
    return p


@kernel
def _some_space(data: Bytes, p: int) -> int:
    """Behind blanks and line ends, of which there must be some; else -1."""
    after = _space(data, p)
    return after if after > p else -1


@kernel
def _number(data: Bytes, p: int, base: int) -> tuple[Number, int]:
    """A number, and behind the quote that ends it; -1 if it is none, or too large."""
    value = np.uint64(0)
    if p < 0:
        return value, -1
    first = p
    while p < len(data) and CLASS[data[p]] < base:
        value = value * np.uint64(base) + np.uint64(CLASS[data[p]])
        p += 1
    if p == first or p - first > (16 if base == 16 else 18):
        return value, -1
    return value, _after(data, p, _QUOTE)


@kernel
def _address(data: Bytes, p: int) -> tuple[Number, int]:
    """An address as an attribute, and behind it; -1 if it is none."""
    return _number(data, _after(data, _some_space(data, p), _ADDRESS), 16)


@kernel
def skim(data: Bytes, start: int, buffers: ElementBuffers, used: Longs) -> None:
    """Take objects that follow one another, from the first that can be taken on.

    Args:
        data: uint8 (B,). Well-formed as far as it goes.
        start: Where to begin to look for them.
        buffers: Where to.
        used: int64 (6,). Filled with where they begin and end, how many objects and
            references there are, references to nothing, and line ends in them.
    """
    n = e = nulls = lines = 0
    begin = start
    while n == 0:
        while begin < len(data) and _after(data, begin, _OBJECT) < 0:
            begin += 1
        if begin >= len(data):
            break
        end = begin
        while True:
            p = _space(data, end)
            at = p
            address, p = _address(data, _after(data, p, _OBJECT))
            kind, p = _number(data, _after(data, _some_space(data, p), _TYPE), 10)
            size, p = _number(data, _after(data, _some_space(data, p), _SIZE), 10)
            p = _space(data, p)
            if p < 0 or address == 0 or size > np.uint64(MAX_SIZE_BYTES):
                break
            before, void = e, nulls
            empty = _after(data, p, _CLOSE_EMPTY)
            p = empty if empty >= 0 else _after(data, p, _CLOSE)
            while p >= 0 and empty < 0:
                p = _space(data, p)
                closed = _after(data, p, _OBJECT_END)
                if closed >= 0:
                    p = closed
                    break
                target, p = _address(data, _after(data, p, _MEMBER))
                p = _after(data, _space(data, p), _CLOSE_EMPTY)
                if p >= 0 and target:
                    buffers.target[e] = target
                    e += 1
                elif p >= 0:
                    nulls += 1
            if p < 0:
                e, nulls = before, void
                break
            for i in range(end, at):
                lines += data[i] == 0x0A
            buffers.address[n] = address
            buffers.type_id[n] = kind
            buffers.size_bytes[n] = np.int64(size)
            buffers.first[n] = before
            buffers.line[n] = lines
            n += 1
            for i in range(at, p):
                lines += data[i] == 0x0A
            end = p
        if n == 0:
            begin += 1
        else:
            used[1] = end
    used[0] = begin
    used[2] = n
    used[3] = e
    used[4] = nulls
    used[5] = lines
