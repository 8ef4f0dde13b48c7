"""The compiled scanner of objects and their members in the XML of SOS.

It scans consecutive elements that are spelled as the writers do, and stops before
anything else, which is left to an XML parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import BLANK, CLASS, END

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number


def _text(text: bytes) -> Bytes:
    return np.frombuffer(text, np.uint8).copy()


_OBJECT, _OBJECT_END = _text(b"<object"), _text(b"</object>")
_MEMBER = _text(b"<member")
_ADDRESS, _TYPE, _SIZE = _text(b'address="0x'), _text(b'typeid="'), _text(b'size="')
_QUOTE, _CLOSE, _CLOSE_EMPTY = _text(b'"'), _text(b">"), _text(b"/>")

_SHORTEST_OBJECT_BYTES, _SHORTEST_MEMBER_BYTES = 42, 22


class ElementBuffers(NamedTuple):
    """Where a scan writes its columns; see `ObjectColumns`.

    Attributes:
        address, type_id: uint64 (rows,).
        size_bytes: int64 (rows,).
        first: int64 (rows,). Row of the first reference.
        line: int64 (rows,). Line ends before it.
        null_count: int32 (rows,). Null references.
        target: uint64.
    """

    address: Ids
    type_id: Ids
    size_bytes: Longs
    first: Longs
    line: Longs
    null_count: Ints
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
        np.empty(rows, np.int32),
        np.empty(size_bytes // _SHORTEST_MEMBER_BYTES + 1, np.uint64),
    )


@kernel
def _after(data: Bytes, position: int, text: Bytes) -> int:
    """Where ``text``, expected at ``position``, ends; -1 if it is not there."""
    if position < 0 or position + len(text) > len(data):
        return -1
    for i in range(len(text)):
        if data[position + i] != text[i]:
            return -1
    return position + len(text)


@kernel
def _space(data: Bytes, position: int) -> int:
    """Where blanks and line ends, if any, end."""
    while 0 <= position < len(data) and (
        CLASS[data[position]] == BLANK or CLASS[data[position]] == END
    ):
        position += 1
    return position


@kernel
def _some_space(data: Bytes, position: int) -> int:
    """Where blanks and line ends end; -1 if there are none."""
    after = _space(data, position)
    return after if after > position else -1


@kernel
def _number(data: Bytes, position: int, base: int) -> tuple[Number, int]:
    """A number, and where its closing quote ends; -1 if it is invalid."""
    value = np.uint64(0)
    if position < 0:
        return value, -1
    first = position
    while position < len(data) and CLASS[data[position]] < base:
        value = value * np.uint64(base) + np.uint64(CLASS[data[position]])
        position += 1
    if position == first or position - first > (16 if base == 16 else 18):
        return value, -1
    return value, _after(data, position, _QUOTE)


@kernel
def _address(data: Bytes, position: int) -> tuple[Number, int]:
    """An address attribute, and where it ends; -1 if there is none."""
    return _number(data, _after(data, _some_space(data, position), _ADDRESS), 16)


@kernel
def skim(data: Bytes, start: int, buffers: ElementBuffers, used: Longs) -> None:
    """Scan the first run of consecutive objects.

    Args:
        data: uint8 (B,). Well-formed XML that may end early.
        start: Where to begin to look for objects.
        buffers: Filled.
        used: int64 (5,). Filled with begin and end of the run, and its numbers of
            objects, references and line ends.
    """
    objects = references = lines = 0
    begin = start
    while objects == 0:
        while begin < len(data) and _after(data, begin, _OBJECT) < 0:
            begin += 1
        if begin >= len(data):
            break
        end = begin
        while True:
            position = _space(data, end)
            at = position
            address, position = _address(data, _after(data, position, _OBJECT))
            kind, position = _number(
                data, _after(data, _some_space(data, position), _TYPE), 10
            )
            size, position = _number(
                data, _after(data, _some_space(data, position), _SIZE), 10
            )
            position = _space(data, position)
            if position < 0 or address == 0 or size > np.uint64(MAX_SIZE_BYTES):
                break
            first, nulls = references, 0
            empty = _after(data, position, _CLOSE_EMPTY)
            position = empty if empty >= 0 else _after(data, position, _CLOSE)
            while position >= 0 and empty < 0:
                position = _space(data, position)
                closed = _after(data, position, _OBJECT_END)
                if closed >= 0:
                    position = closed
                    break
                target, position = _address(data, _after(data, position, _MEMBER))
                position = _after(data, _space(data, position), _CLOSE_EMPTY)
                if position >= 0 and target:
                    buffers.target[references] = target
                    references += 1
                elif position >= 0:
                    nulls += 1
            if position < 0:
                references = first
                break
            for i in range(end, at):
                lines += data[i] == 0x0A
            buffers.address[objects] = address
            buffers.type_id[objects] = kind
            buffers.size_bytes[objects] = np.int64(size)
            buffers.first[objects] = first
            buffers.line[objects] = lines
            buffers.null_count[objects] = nulls
            objects += 1
            for i in range(at, position):
                lines += data[i] == 0x0A
            end = position
        if objects == 0:
            begin += 1
        else:
            used[1] = end
    used[0] = begin
    used[2] = objects
    used[3] = references
    used[4] = lines
