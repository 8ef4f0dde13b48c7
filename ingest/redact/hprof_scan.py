"""The compiled pass over the records of an HPROF file that blanks values in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.search import place_of
from ingest.heap.redaction import FILLER
from ingest.readers.hprof.records import (
    CUT,
    FIRST_PRIMITIVE,
    HEAP_INFO,
    ODD,
    PRIMITIVE_ARRAY_WITHOUT_DATA,
    WIDTHS,
    class_row,
    number,
)
from ingest.readers.hprof.scan import class_end

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

MORE, END, UNKNOWN = range(3)
"""Why a pass stopped: at the end of the window, of the segment, or at a sub-record of
an unknown kind."""

COPY, BLANK, WHY, CLASSES, FOUND, BLANKED, STATE = range(7)
"""Rows of the state: bytes of an open array to copy or to blank, why the pass stopped,
classes and followed references found, and bytes blanked so far."""

MOST_INSTANCE_BYTES = 1 << 20
"""Of a larger instance, what is beyond is blanked."""

FOLLOW, FOLLOW_KEPT = 1, 2
"""Marks of references whose target is kept: always, or if the object itself is."""

_NAME, _HEADER_BYTES = 1, 9
_CLASS, _INSTANCE, _OBJECTS, _NUMBERS = 0x20, 0x21, 0x22, 0x23
_RECORDS = (0x0C, 0x1C, 0x2C)
_ONE_ID, _TWO_IDS = (5, 7, 0x90, 0xFF), 1
_ONE_NUMBER, _TWO_NUMBERS = (4, 6), (2, 3, 8, 0x8E)
_FIRST_OF_ANDROID, _LAST_OF_ANDROID = 0x89, 0x8D
_DEEPEST = 1000


class Masks(NamedTuple):
    """Which bytes of instances stay.

    Attributes:
        key, key_row, seed: Rows of classes by id; see `records.class_row`.
        parent: int32 (C,). Row of the superclass, or -1.
        start: int64 (C + 1,). Fields of class i are ``keep[start[i]:start[i + 1]]``.
        keep: uint8. 1 for bytes that stay, 0 for others.
        follow: uint8. At the first byte of a reference, how it is followed.
        kept: uint64. Ids of objects and arrays whose values stay, ascending.
    """

    key: Ids
    key_row: Ints
    seed: Ids
    parent: Ints
    start: Longs
    keep: Bytes
    follow: Bytes
    kept: Ids


@kernel
def _instance(
    data: Bytes, p: Number, id_size: int, masks: Masks, found: Ids, state: Longs
) -> Number:
    """Blank the numbers of an instance; return its end, or `CUT`."""
    body = p + 1 + 2 * id_size + 8
    if body > len(data):
        return CUT
    size: Number = np.int64(number(data, body - 4, 4))
    near: Number = min(size, MOST_INSTANCE_BYTES)
    if body + near > len(data):
        return CUT
    is_kept = place_of(masks.kept, number(data, p + 1, id_size)) >= 0
    class_id = number(data, body - 4 - id_size, id_size)
    row, _ = class_row(masks.key, masks.key_row, masks.seed[0], class_id)
    at = 0
    for _ in range(_DEEPEST):
        if row < 0 or at >= near:
            break
        for i in range(masks.start[row], masks.start[row + 1]):
            if at >= near:
                break
            if not is_kept and masks.keep[i] == 0:
                data[body + at] = 0
                state[BLANKED] += 1
            mark = masks.follow[i]
            follows = mark == FOLLOW or (mark == FOLLOW_KEPT and is_kept)
            if follows and at + id_size <= near:
                found[state[FOUND]] = number(data, body + at, id_size)
                state[FOUND] += 1
            at += 1
        row = masks.parent[row]
    for i in range(at, near):
        data[body + i] = 0
        state[BLANKED] += 1
    state[BLANK] = size - near
    return body + near


@kernel
def _array(data: Bytes, p: Number, id_size: int, masks: Masks, state: Longs) -> Number:
    """Open an array, whose elements are to be copied or blanked."""
    tag = data[p]
    body: Number = p + 1 + id_size + 8 + (id_size if tag == _OBJECTS else 1)
    if body > len(data):
        return np.int64(CUT)
    length = np.int64(number(data, p + 1 + id_size + 4, 4))
    if tag == _OBJECTS:
        state[COPY] = length * id_size
        return body
    kind = np.int64(data[body - 1]) - FIRST_PRIMITIVE
    if kind < 0 or kind >= len(WIDTHS):
        return np.int64(ODD)
    if tag == _NUMBERS:
        is_kept = place_of(masks.kept, number(data, p + 1, id_size)) >= 0
        state[COPY if is_kept else BLANK] = length * WIDTHS[kind]
    return body


@kernel
def _root_end(data: Bytes, p: Number, id_size: int) -> Number:
    tag = data[p]
    size = 1 + id_size
    if tag == _TWO_IDS:
        size += id_size
    elif tag in _TWO_NUMBERS:
        size += 8
    elif tag in _ONE_NUMBER:
        size += 4
    elif tag not in _ONE_ID and not _FIRST_OF_ANDROID <= tag <= _LAST_OF_ANDROID:
        return ODD
    return p + size if p + size <= len(data) else CUT


@kernel
def _open_array(data: Bytes, p: Number, state: Longs) -> Number:
    """Copy or blank what is left of an array, as far as the window has it."""
    step = min(state[COPY], len(data) - p)
    state[COPY] -= step
    p += step
    step = min(state[BLANK], len(data) - p)
    for i in range(p, p + step):
        data[i] = 0
    state[BLANK] -= step
    state[BLANKED] += step
    return p + step


@kernel
def blank_heap(
    data: Bytes,
    begin: int,
    segment_bytes: int,
    id_size: int,
    masks: Masks,
    classes: Longs,
    found: Ids,
    state: Longs,
) -> Number:
    """Blank the values of sub-records.

    Args:
        data: The window; changed.
        begin: Where the first sub-record begins, or an open array goes on.
        segment_bytes: Bytes left of the segment.
        id_size: 4 or 8.
        masks: What stays.
        classes: int64. Gets the places of class records, whose values are not blanked,
            and of names of parts of the heap.
        found: uint64. Gets the references to follow.
        state: int64 (`STATE`,). An open array is kept from one call to the next.

    Returns:
        Where the first sub-record begins that is not complete, or not known.
    """
    state[CLASSES] = state[FOUND] = 0
    state[WHY] = MORE
    p: Number = begin
    after: Number
    while True:
        p = _open_array(data, p, state)
        if state[COPY] > 0 or state[BLANK] > 0:
            break
        if p - begin >= segment_bytes:
            state[WHY] = END
            break
        if p >= len(data):
            break
        tag = data[p]
        if tag in _RECORDS:
            state[WHY] = END
            break
        if tag == _INSTANCE:
            after = _instance(data, p, id_size, masks, found, state)
        elif tag in (_OBJECTS, _NUMBERS, PRIMITIVE_ARRAY_WITHOUT_DATA):
            after = _array(data, p, id_size, masks, state)
        elif tag in (_CLASS, HEAP_INFO):
            after = np.int64(p + 5 + id_size)
            if tag == _CLASS:
                after = class_end(data, p, id_size)
            elif after > len(data):
                after = np.int64(CUT)
            if after >= 0:
                classes[state[CLASSES]] = p
                state[CLASSES] += 1
        else:
            after = _root_end(data, p, id_size)
        if after < 0:
            state[WHY] = UNKNOWN if after == ODD else MORE
            break
        p = after
    return p


@kernel
def blank_names(
    data: Bytes, begin: int, id_size: int, used: Ids, renamed: Ids, state: Longs
) -> Number:
    """Blank complete records of names that nothing uses.

    Returns:
        Where the first other record begins: an incomplete one, or a name in
        ``renamed``.
    """
    p: Number = begin
    while p + _HEADER_BYTES + id_size <= len(data) and data[p] == _NAME:
        size = np.int64(number(data, p + 5, 4))
        if size < id_size or p + _HEADER_BYTES + size > len(data):
            break
        name_id = number(data, p + _HEADER_BYTES, id_size)
        if place_of(renamed, name_id) >= 0:
            break
        if place_of(used, name_id) < 0:
            for i in range(p + _HEADER_BYTES + id_size, p + _HEADER_BYTES + size):
                data[i] = FILLER
            state[BLANKED] += size - id_size
        p += _HEADER_BYTES + size
    return p
