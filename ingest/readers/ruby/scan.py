"""The compiled scanner of the lines of a Ruby heap dump.

A library for JSON takes twice as long for a million objects. It also refuses strings
that are not valid UTF-8, and Ruby writes such strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD
from ingest.heap.values import ValueKind
from ingest.readers.ruby.json_scan import (
    address,
    after_blanks,
    after_value,
    hashed_text,
    integer,
    put_text,
    text_end,
    text_hash,
    truth,
)
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import note

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs, Number

KINDS = ("malformed_record", "size_out_of_range")
"""Irregularities that a scan counts."""
_MALFORMED, _SIZE = range(2)

_KEYS = (
    "address", "class", "superclass",
    "type", "imemo_type", "struct", "root", "file", "method", "edge_name",
    "name", "value",
    "memsize", "slot_size", "line", "generation", "length", "size", "shape_id", "id",
    "parent_id",
    "singleton", "shared",
    "references",
)  # fmt: skip
(
    _ADDRESS, _CLASS, _SUPERCLASS,
    _TYPE, _IMEMO_TYPE, _STRUCT, _ROOT, _FILE, _METHOD, _EDGE_NAME,
    _NAME, _VALUE,
    _MEMSIZE, _SLOT_SIZE, _LINE, _GENERATION, _LENGTH, _SIZE_OF_HASH, _SHAPE_ID, _ID,
    _PARENT_ID,
    _SINGLETON, _SHARED,
    _REFERENCES,
) = range(len(_KEYS))  # fmt: skip

TYPES = (
    "OBJECT", "CLASS", "MODULE", "ICLASS", "IMEMO", "NODE", "ARRAY", "HASH", "STRING",
    "SYMBOL", "DATA", "ROOT", "SHAPE", "NONE", "ZOMBIE", "MOVED", "ment", "cref",
)  # fmt: skip
"""Texts that the scanner knows by their rows in the table of texts."""
(
    _OBJECT, _CLASS_TYPE, _MODULE, _ICLASS, _IMEMO, _NODE, _ARRAY, _HASH, _STRING,
    _SYMBOL, _DATA, _ROOT_TYPE, _SHAPE, _NONE, _ZOMBIE, _MOVED, _MENT, _CREF,
) = range(len(TYPES))  # fmt: skip

FIELDS = ("<class>",)
"""Names of fields that the scanner gives."""

OF_TYPE, OF_STRUCT, OF_IMEMO = 4 << 60, 5 << 60, 6 << 60
"""Added to the row of a text, makes the id of a type that has no class."""

MOST_FILES, MOST_METHODS, MOST_LINES = 1 << 22, 1 << 20, 1 << 22
"""A site is a number of 64 bits made of the rows of its texts, and its line."""

(
    STOPPED_AT, LINES, OBJECTS, REFERENCES, ROOTS, DATA, CLASSES, SHAPES, SHAPED, TEXTS,
    BYTES,
) = range(11)  # fmt: skip
"""What a scan counts."""

_SHORTEST_LINE_BYTES, _SHORTEST_REFERENCE_BYTES = 28, 6
_NO_TEXT = -1
_DEFAULT_SLOT_BYTES = 40
_LEAST_ADDRESS = 4096
"""What is below is no object: ``nil``, a small number."""


_KEY_SLOTS = 256
_KEY_HASH = np.array([text_hash(key.encode()) for key in _KEYS], np.uint64)
_KEY_AT = np.full(_KEY_SLOTS, -1, np.int32)
for _row, _hash in enumerate(_KEY_HASH.tolist()):
    while _KEY_AT[_hash % _KEY_SLOTS] >= 0:
        _hash += 1
    _KEY_AT[_hash % _KEY_SLOTS] = _row

_FIRST_TEXT, _FIRST_SPAN, _FIRST_NUMBER = _TYPE, _NAME, _MEMSIZE


class RowTable(NamedTuple):
    """Distinct numbers, each with a row, by hashing.

    Attributes:
        slot: int32. A power of two: the row in each, or -1.
        key: uint64. The number of each row.
        begin, end: int64. Where the text of a row stands in what was scanned.
        used: int64 (1,). How many rows there are.
    """

    slot: Ints
    key: Ids
    begin: Longs
    end: Longs
    used: Longs


def table_of(keys: Ids, slots: int) -> RowTable:
    """The table with these keys, at most half as many as ``slots``."""
    rows = slots // 2
    table = RowTable(
        np.full(slots, -1, np.int32),
        np.zeros(rows, np.uint64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(1, np.int64),
    )
    _add_all(table, keys)
    return table


class LineValues(NamedTuple):
    """The values of one line.

    Attributes:
        number: int64. Numbers, rows of texts, truths, and where names and values
            begin, by key; -1 for none.
        address: uint64. Addresses by key; 0 for none.
        end: int64. Where names and values end, by key.
    """

    number: Longs
    address: Ids
    end: Longs


def no_values() -> LineValues:
    """Where the values of a line are put."""
    return LineValues(
        np.empty(len(_KEYS), np.int64),
        np.empty(_FIRST_TEXT, np.uint64),
        np.empty(len(_KEYS), np.int64),
    )


class RubyBuffers(NamedTuple):
    """Where a scan writes its columns.

    Attributes:
        id: uint64.
        type_id: int32. Rows of the addresses of classes, or of what `OF_TYPE` is in.
        size_bytes: int64.
        ref_count: int32. References, that to the class first.
        length: int64. Elements of arrays and hashes, else -1.
        line: uint32. Where it stands, counted from the first line scanned.
        site, generation: int32. Row in the table of sites; -1 for none.
        ref_id: uint64. Of all references.
        ref_field: int32.
        root_id: uint64. Of all roots.
        root_kind: int32. Row of the text.
        root_line: uint32.
        data_row: int32. Rows of the objects of code in C that say what they are.
        struct: int32. What they are: rows of texts.
        class_row: int32. Rows of the objects that are classes, modules or iclasses.
        class_name: int32. Rows of texts; -1 for none.
        superclass: uint64. 0 for none.
        singleton: uint8.
        shape_id, parent_id: int64. Of the shapes.
        edge: int32. Row of the text.
        shaped_row: int32. Rows of the objects that have a shape and variables.
        shape: int64.
        text_row: int32. Rows of the objects that have a value.
        text_kind: uint8.
        text_end: int64. Where each ends in ``content``.
        content: uint8.
    """

    id: Ids
    type_id: Ints
    size_bytes: Longs
    ref_count: Ints
    length: Longs
    line: Ints
    site: Ints
    generation: Ints
    ref_id: Ids
    ref_field: Ints
    root_id: Ids
    root_kind: Ints
    root_line: Ints
    data_row: Ints
    struct: Ints
    class_row: Ints
    class_name: Ints
    superclass: Ids
    singleton: Bytes
    shape_id: Longs
    parent_id: Longs
    edge: Ints
    shaped_row: Ints
    shape: Longs
    text_row: Ints
    text_kind: Bytes
    text_end: Longs
    content: Bytes


COLUMNS: dict[str, tuple[int, type[np.generic]]] = {
    "id": (OBJECTS, np.uint64),
    "type_id": (OBJECTS, np.int32),
    "size_bytes": (OBJECTS, np.int64),
    "ref_count": (OBJECTS, np.int32),
    "length": (OBJECTS, np.int64),
    "line": (OBJECTS, np.uint32),
    "site": (OBJECTS, np.int32),
    "generation": (OBJECTS, np.int32),
    "ref_id": (REFERENCES, np.uint64),
    "ref_field": (REFERENCES, np.int32),
    "root_id": (ROOTS, np.uint64),
    "root_kind": (ROOTS, np.int32),
    "root_line": (ROOTS, np.uint32),
    "data_row": (DATA, np.int32),
    "struct": (DATA, np.int32),
    "class_row": (CLASSES, np.int32),
    "class_name": (CLASSES, np.int32),
    "superclass": (CLASSES, np.uint64),
    "singleton": (CLASSES, np.uint8),
    "shape_id": (SHAPES, np.int64),
    "parent_id": (SHAPES, np.int64),
    "edge": (SHAPES, np.int32),
    "shaped_row": (SHAPED, np.int32),
    "shape": (SHAPED, np.int64),
    "text_row": (TEXTS, np.int32),
    "text_kind": (TEXTS, np.uint8),
    "text_end": (TEXTS, np.int64),
    "content": (BYTES, np.uint8),
}
"""What a scan counts of each column, and its type."""


def buffers_for(size_bytes: int) -> RubyBuffers:
    """Buffers for any text of ``size_bytes``."""
    lines = size_bytes // _SHORTEST_LINE_BYTES + 1
    rows = dict.fromkeys(range(BYTES + 1), lines)
    rows[REFERENCES] = lines + size_bytes // _SHORTEST_REFERENCE_BYTES
    rows[ROOTS] = rows[REFERENCES]
    rows[BYTES] = 2 * size_bytes + 2
    return RubyBuffers(
        **{name: np.empty(rows[many], kind) for name, (many, kind) in COLUMNS.items()}
    )


@kernel
def _row_of(table: RowTable, key: Number, begin: int, end: int) -> Number:
    """The row of a key, which is added if it is new."""
    mask = len(table.slot) - 1
    at = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(mask))
    while table.slot[at] >= 0:
        row = table.slot[at]
        if table.key[row] == key:
            return row
        at = (at + 1) & mask
    row = table.used[0]
    table.slot[at] = row
    table.key[row] = key
    table.begin[row], table.end[row] = begin, end
    table.used[0] += 1
    return row


@kernel
def _add_all(table: RowTable, keys: Ids) -> None:
    for key in keys:
        _row_of(table, key, 0, 0)


@kernel
def _references(
    data: Bytes, at: int, buffers: RubyBuffers, row: int
) -> tuple[int, int]:
    """Put the addresses of a list into ``ref_id``; their end there, and in the text."""
    if data[at] != 0x5B:
        return row, -1
    at = after_blanks(data, at + 1)
    if data[at] == 0x5D:
        return row, at + 1
    while True:
        value, at = address(data, at)
        if at < 0:
            return row, -1
        buffers.ref_id[row] = value
        row += 1
        at = after_blanks(data, at)
        if data[at] == 0x5D:
            return row, at + 1
        if data[at] != 0x2C:
            return row, -1
        at = after_blanks(data, at + 1)


@kernel
def _record(
    data: Bytes, at: int, buffers: RubyBuffers, row: int, texts: RowTable,
    values: LineValues,
) -> tuple[int, int]:  # fmt: skip
    """Take the values of a line; where its references end, and the line; -1 if bad.

    Args:
        data: The text; its last byte is a line end.
        at: Where the line begins.
        buffers: Its references are put there.
        row: Where they begin.
        texts: Its texts are added.
        values: Filled.
    """
    number, ids = values.number, values.address
    number[:] = -1
    ids[:] = 0
    first = row
    at = after_blanks(data, at)
    if data[at] != 0x7B:
        return row, -1
    at = after_blanks(data, at + 1)
    while True:
        if data[at] != 0x22:
            return row, -1
        at, found = hashed_text(data, at + 1)
        if at < 0:
            return row, -1
        at = after_blanks(data, at + 1)
        if data[at] != 0x3A:
            return row, -1
        at = after_blanks(data, at + 1)
        slot = np.int64(found & np.uint64(_KEY_SLOTS - 1))
        while _KEY_AT[slot] >= 0 and _KEY_HASH[_KEY_AT[slot]] != found:
            slot = (slot + 1) & (_KEY_SLOTS - 1)
        key = np.int64(_KEY_AT[slot])
        begin = at
        if key < 0 or data[at] == 0x6E:
            at = after_value(data, at)
            if key >= 0 and at >= 0 and truth(data, begin, at) != 0:
                return row, -1
        elif key < _FIRST_TEXT:
            ids[key], at = address(data, at)
        elif key < _FIRST_NUMBER:
            if data[at] != 0x22:
                return row, -1
            begin = at + 1
            if key < _FIRST_SPAN:
                at, found = hashed_text(data, begin)
                if at >= 0:
                    number[key] = _row_of(texts, found, begin, at)
            else:
                at = text_end(data, begin)
                number[key] = begin
                values.end[key] = at
            at += 1 if at >= 0 else 0
        elif key < _SINGLETON:
            number[key], at = integer(data, at)
        elif key == _REFERENCES:
            row, at = _references(data, at, buffers, first)
        else:
            at = after_value(data, at)
            number[key] = truth(data, begin, at)
            if number[key] < 0:
                return row, -1
        if at < 0:
            return row, -1
        at = after_blanks(data, at)
        if data[at] == 0x7D:
            break
        if data[at] != 0x2C:
            return row, -1
        at = after_blanks(data, at + 1)
    at = after_blanks(data, at + 1)
    return row, at if data[at] == 0x0A else -1


@kernel
def _site(sites: RowTable, number: Longs) -> Number:
    """The row of the file, line and method; -1 for none."""
    file, line, method = number[_FILE], max(number[_LINE], 0), number[_METHOD] + 1
    if file < 0 or file >= MOST_FILES or method >= MOST_METHODS or line >= MOST_LINES:
        return -1
    key = (file * MOST_LINES + line) * MOST_METHODS + method
    return _row_of(sites, np.uint64(key), 0, 0)


@kernel
def _put_object(
    data: Bytes, buffers: RubyBuffers, counts: Longs, rows: int, texts: RowTable,
    sites: RowTable, types: RowTable, values: LineValues, book: Longs, line: int,
) -> None:  # fmt: skip
    """Put the object of a line, whose references end before ``rows``."""
    number, ids = values.number, values.address
    row, kind = counts[OBJECTS], number[_TYPE]
    first = counts[REFERENCES]
    of = ids[_CLASS]
    is_class = kind in (_CLASS_TYPE, _MODULE, _ICLASS)
    is_internal = kind in (_IMEMO, _NODE)
    buffers.id[row] = ids[_ADDRESS]
    told = of
    if is_internal and number[_IMEMO_TYPE] >= 0:
        told = np.uint64(OF_IMEMO + number[_IMEMO_TYPE])
    elif is_class or is_internal or of == 0:
        told = np.uint64(OF_TYPE + kind)
    buffers.type_id[row] = _row_of(types, told, 0, 0)
    if number[_STRUCT] >= 0 and not is_class:
        buffers.data_row[counts[DATA]] = row
        buffers.struct[counts[DATA]] = number[_STRUCT]
        counts[DATA] += 1
    size = number[_MEMSIZE] if number[_MEMSIZE] > 0 else number[_SLOT_SIZE]
    size = _DEFAULT_SLOT_BYTES if size < 0 else size
    if size > MAX_SIZE_BYTES:
        note(book, _SIZE, line, -1)
        size = 0
    buffers.size_bytes[row] = size
    many = rows - first
    is_list = kind == _ARRAY and many == number[_LENGTH] and number[_SHARED] < 1
    for i in range(many):
        buffers.ref_field[first + i] = -1 - i if is_list else NO_FIELD
    # The second word of a method entry, and of a scope, is a class that it keeps.
    keeps = number[_IMEMO_TYPE] in (_MENT, _CREF) if is_internal else True
    if of >= _LEAST_ADDRESS and keeps:
        for i in range(rows, first, -1):
            buffers.ref_id[i] = buffers.ref_id[i - 1]
            buffers.ref_field[i] = buffers.ref_field[i - 1]
        buffers.ref_id[first], buffers.ref_field[first] = of, 0
        many += 1
    buffers.ref_count[row] = many
    buffers.length[row] = (
        number[_LENGTH] if kind == _ARRAY
        else number[_SIZE_OF_HASH] if kind == _HASH else -1
    )  # fmt: skip
    buffers.line[row] = line
    buffers.site[row] = _site(sites, number)
    buffers.generation[row] = min(number[_GENERATION], (1 << 31) - 1)
    begin = number[_VALUE]
    if is_class:
        at = counts[CLASSES]
        begin = number[_NAME]
        buffers.class_row[at] = row
        buffers.class_name[at] = _NO_TEXT
        if begin >= 0:
            end, found = hashed_text(data, begin)
            buffers.class_name[at] = _row_of(texts, found, begin, end)
        buffers.superclass[at] = ids[_SUPERCLASS]
        buffers.singleton[at] = number[_SINGLETON] == 1
        counts[CLASSES] += 1
    if number[_SHAPE_ID] >= 0 and kind in (_OBJECT, _CLASS_TYPE, _MODULE):
        buffers.shaped_row[counts[SHAPED]] = row
        buffers.shape[counts[SHAPED]] = number[_SHAPE_ID]
        counts[SHAPED] += 1
    if begin >= 0 and (is_class or kind in (_STRING, _SYMBOL)):
        at, to = counts[TEXTS], counts[BYTES]
        if is_class:
            for i in range(begin, values.end[_NAME]):
                buffers.content[to] = data[i]
                to += 1
            coding = np.int64(ValueKind.NAME)
        else:
            coding, to = put_text(data, begin, values.end[_VALUE], buffers.content, to)
        buffers.text_row[at], buffers.text_kind[at] = row, coding
        buffers.text_end[at] = to
        counts[TEXTS], counts[BYTES] = at + 1, to
    counts[OBJECTS] += 1
    counts[REFERENCES] += many


@kernel
def scan(
    data: Bytes, at: int, line: int, texts: RowTable, sites: RowTable, types: RowTable,
    buffers: RubyBuffers, values: LineValues, counts: Longs, book: Longs,
) -> None:  # fmt: skip
    """Scan lines until the end, or until a table has no room for another one.

    Args:
        data: uint8 (B,). Lines; the last byte is a line end.
        at: Where to begin.
        line: Number of the first one.
        texts: Texts by their hashes; the first are `TYPES`.
        sites: Places of allocations.
        types: Addresses of classes, or numbers made of `OF_TYPE` and the row of a text.
        buffers: Filled from their beginning on.
        values: Used for each line.
        counts: int64 (11,). Filled with what is in them, and where the scan stopped.
        book: int64 (2, 4). The count of each of `KINDS`, the first's line, and byte;
            the bytes of malformed records.
    """
    counts[:] = 0
    number, ids = values.number, values.address
    end = len(data)
    while at < end:
        if texts.used[0] + len(_KEYS) > len(texts.key):
            break
        if max(sites.used[0], types.used[0]) + 1 > min(len(sites.key), len(types.key)):
            break
        begin, at = at, after_blanks(data, at)
        if data[at] == 0x0A:
            at += 1
            counts[LINES] += 1
            continue
        first = counts[REFERENCES]
        rows, stop = _record(data, at, buffers, first, texts, values)
        kind = number[_TYPE]
        is_root = kind == _ROOT_TYPE
        is_shape = kind == _SHAPE
        if stop >= 0 and (
            kind < 0
            or (is_root and number[_ROOT] < 0)
            or (is_shape and number[_ID] < 0)
            or (not is_root and not is_shape and ids[_ADDRESS] == 0)
        ):
            stop = -1
        if stop < 0:
            while data[at] != 0x0A:
                at += 1
            note(book, _MALFORMED, line + counts[LINES], begin)
            book[_MALFORMED, 3] += at + 1 - begin
        else:
            at = stop
            if is_root:
                to = counts[ROOTS]
                for i in range(first, rows):
                    buffers.root_id[to] = buffers.ref_id[i]
                    buffers.root_kind[to] = number[_ROOT]
                    buffers.root_line[to] = line + counts[LINES]
                    to += 1
                counts[ROOTS] = to
            elif is_shape:
                to = counts[SHAPES]
                buffers.shape_id[to] = number[_ID]
                buffers.parent_id[to] = number[_PARENT_ID]
                buffers.edge[to] = number[_EDGE_NAME]
                counts[SHAPES] += 1
            elif kind not in (_NONE, _ZOMBIE, _MOVED):
                _put_object(
                    data, buffers, counts, rows, texts, sites, types, values, book,
                    line + counts[LINES],
                )  # fmt: skip
        at += 1
        counts[LINES] += 1
    counts[STOPPED_AT] = at
