"""Compiled scanners of the JSON of a snapshot: bytes to numbers, texts and columns.

Each takes a window of the file, and returns where the first token begins that the
window does not contain completely. Memory grows only with what was read, not with what
the file claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ingest.arrays.compiled import kernel
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.text_scan import escaped, hex4

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs

MORE, DONE, FAULT = range(3)
"""How a scan ended: at the end of the window or of the value, or at a fault."""

_SPACE, _TAB, _LINE, _RETURN = 0x20, 0x09, 0x0A, 0x0D
_COMMA, _QUOTE, _BACKSLASH, _MINUS = 0x2C, 0x22, 0x5C, 0x2D
_OPEN, _CLOSE, _OPEN_OBJECT, _CLOSE_OBJECT = 0x5B, 0x5D, 0x7B, 0x7D
_ZERO, _NINE = 0x30, 0x39

_MOST_DIGITS = 18
"""A number with more digits may not fit into 64 bits."""

LONGEST_TEXT_BYTES = 4096
"""The most bytes stored of a text; V8 itself cuts texts at 1,024 characters."""

NUMBER_FAULT, TEXT_FAULT = (
    "something else than a number",
    "something else than a text",
)


@kernel
def numbers(data: Bytes, at: int, out: Longs, held: int, state: Longs) -> int:
    """Read whole numbers up to the ``]`` of their array.

    Args:
        data: The window.
        at: Where to begin.
        out: int64. Filled from ``held`` on; has half as many rows as the window bytes.
        held: Rows of ``out`` that are in use.
        state: int64 (2,). Filled: rows in use afterwards, and how the scan ended.

    Returns:
        Where the rest begins; at a fault, its position.
    """
    end = len(data)
    count = held
    while at < end:
        byte = data[at]
        if byte in (_COMMA, _LINE, _SPACE, _RETURN, _TAB):
            at += 1
            continue
        if byte == _CLOSE:
            state[0], state[1] = count, DONE
            return at + 1
        begin = at
        sign = 1
        if byte == _MINUS:
            sign = -1
            at += 1
        first = at
        value = 0
        while at < end:
            digit = int(data[at]) - _ZERO
            if digit < 0 or digit > 9:
                break
            value = value * 10 + digit
            at += 1
        if at - first > _MOST_DIGITS or (at < end and at == first):
            state[0], state[1] = count, FAULT
            return begin
        if at == end:
            state[0], state[1] = count, MORE
            return begin
        out[count] = sign * value
        count += 1
    state[0], state[1] = count, MORE
    return at


@kernel
def place_of(data: Bytes, at: int, number: int) -> int:
    """Where number ``number`` of an array begins, counted from position ``at``."""
    end = len(data)
    while at < end:
        is_part = data[at] == _MINUS or _ZERO <= data[at] <= _NINE
        if is_part:
            if number == 0:
                return at
            number -= 1
            while at < end and (data[at] == _MINUS or _ZERO <= data[at] <= _NINE):
                at += 1
        else:
            at += 1
    return at


class TreeState(NamedTuple):
    """Names of the rows of the state of `trace_tree`, int64."""

    rows: int = 0
    field: int = 1
    parent: int = 2
    status: int = 3


_T = TreeState()
_ROWS, _FIELD, _PARENT, _TREE_STATUS = _T.rows, _T.field, _T.parent, _T.status
_TREE_FIELDS = 4
"""Id, function, count and size; after them the list of children."""


@kernel
def trace_tree(
    data: Bytes, at: int, ids: Longs, functions: Longs, parents: Ints, state: Longs
) -> int:
    """Read the nested lists of a trace tree up to the ``]`` of the outermost one.

    This needs no stack, for the parent of its nodes is known when a list ends.

    Args:
        data: The window.
        at: Where to begin.
        ids: int64. Filled: the id of each node; has room for half as many rows as the
            window has bytes, like the next two.
        functions: int64. Filled: the function of each node.
        parents: int32. Filled: the row of each node's caller, or -1.
        state: int64, see `TreeState`; begins with 0, 0, -1.

    Returns:
        Where the rest begins; at a fault, its position.
    """
    end = len(data)
    count, field, parent = state[_ROWS], state[_FIELD], state[_PARENT]
    status = MORE
    while at < end:
        byte = data[at]
        if byte in (_COMMA, _LINE, _SPACE, _RETURN, _TAB):
            at += 1
            continue
        if byte == _OPEN and field == _TREE_FIELDS:
            parent, field = count - 1, 0
            at += 1
            continue
        if byte == _CLOSE and field == 0:
            at += 1
            if parent < 0:
                status = DONE
                break
            parent = parents[parent]
            continue
        begin, value = at, 0
        while at < end and _ZERO <= data[at] <= _NINE:
            value = value * 10 + data[at] - _ZERO
            at += 1
        is_number = begin < at <= begin + _MOST_DIGITS
        if field == _TREE_FIELDS or (not is_number and (at < end or begin < at)):
            status, at = FAULT, begin
            break
        if at == end:
            at = begin
            break
        if field == 0:
            ids[count], parents[count] = value, parent
            count += 1
        elif field == 1:
            functions[count - 1] = value
        field += 1
    state[_ROWS], state[_FIELD], state[_PARENT] = count, field, parent
    state[_TREE_STATUS] = status
    return at


class TextState(NamedTuple):
    """Names of the rows of the state of `texts`, int64."""

    texts: int = 0
    content: int = 1
    status: int = 2
    is_within: int = 3
    kept: int = 4
    units: int = 5
    is_full: int = 6


_S = TextState()
_TEXTS, _CONTENT, _STATUS, _WITHIN = _S.texts, _S.content, _S.status, _S.is_within
_KEPT, _UNITS, _FULL = _S.kept, _S.units, _S.is_full


@kernel
def _utf8(code: int, content: Bytes, at: int) -> int:
    """Write a character, or half of one; return where it ends."""
    if code < 0x80:
        content[at] = code
        return at + 1
    if code < 0x800:
        content[at] = 0xC0 | code >> 6
        at += 1
    else:
        if code < 0x10000:
            content[at] = 0xE0 | code >> 12
        else:
            content[at] = 0xF0 | code >> 18
            at += 1
            content[at] = 0x80 | (code >> 12 & 0x3F)
        at += 1
        content[at] = 0x80 | (code >> 6 & 0x3F)
        at += 1
    content[at] = 0x80 | (code & 0x3F)
    return at + 1


@kernel
def _escape(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The character of the escape at ``at`` and where it ends.

    Returns:
        (-1, ``at``) if the window has only a part of it, (-2, ``at``) if it is invalid.
    """
    if at + 2 > end:
        return -1, at
    letter = int(data[at + 1])
    if letter != 0x75:
        code = escaped(letter)
        return (code, at + 2) if code >= 0 else (-2, at)
    if at + 6 > end:
        return -1, at
    code = hex4(data, at + 2)
    if code < 0:
        return -2, at
    at += 6
    if 0xD800 <= code < 0xDC00:
        if at + 6 > end and (at >= end or data[at] == _BACKSLASH):
            return -1, at - 6
        if at + 6 <= end and data[at] == _BACKSLASH and data[at + 1] == 0x75:
            low = hex4(data, at + 2)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00, at + 6
    return code, at


@kernel
def texts(
    data: Bytes, at: int, content: Bytes, ends: Longs, units: Ints, state: Longs
) -> int:
    """Read texts up to the ``]`` of their array, as UTF-8.

    A half of a surrogate pair becomes three bytes, which no valid UTF-8 has. A text may
    be longer than any window.

    Args:
        data: The window.
        at: Where to begin.
        content: uint8. Filled; has as many rows as the window bytes.
        ends: int64. Filled: the end, in ``content``, of each text that ends here.
        units: int32. Filled: its length in UTF-16 units, including what is left out.
        state: int64 (7,), see `TextState`. The numbers of texts and bytes are zero
            when called; the last four are kept from call to call.

    Returns:
        Where the rest begins; at a fault, its position.
    """
    end = len(data)
    stored = count = 0
    state[_STATUS] = MORE
    while at < end:
        byte = data[at]
        if state[_WITHIN] == 0:
            if byte in (_COMMA, _LINE, _SPACE, _RETURN, _TAB):
                at += 1
            elif byte == _QUOTE:
                state[_WITHIN] = 1
                state[_KEPT] = state[_UNITS] = state[_FULL] = 0
                at += 1
            else:
                state[_STATUS] = DONE if byte == _CLOSE else FAULT
                at += byte == _CLOSE
                break
            continue
        kept, length, is_full = state[_KEPT], state[_UNITS], state[_FULL]
        halts = False
        while at < end:
            byte = data[at]
            if byte == _QUOTE:
                break
            if byte == _BACKSLASH:
                code, after = _escape(data, at, end)
                if code < 0:
                    halts = True
                    if code == -2:
                        state[_STATUS] = FAULT
                    break
                size = 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)
                length += 1 + (code >= 0x10000)
                at = after
                if kept + size > LONGEST_TEXT_BYTES:
                    is_full = 1
                if is_full == 0:
                    stored = _utf8(code, content, stored)
                    kept += size
                continue
            if byte < 0x80 or byte >= 0xC0:  # a character begins
                length += 1 + (byte >= 0xF0)
                if kept + 4 > LONGEST_TEXT_BYTES:
                    is_full = 1
            if is_full == 0:
                content[stored] = byte
                stored += 1
                kept += 1
            at += 1
        state[_KEPT], state[_UNITS], state[_FULL] = kept, length, is_full
        if halts or at == end:
            break
        at += 1  # the closing quote
        state[_WITHIN] = 0
        ends[count] = stored
        units[count] = min(length, 0x7FFFFFFF)
        count += 1
    state[_TEXTS], state[_CONTENT] = count, stored
    return at


@kernel
def skip(data: Bytes, at: int, state: Longs) -> int:
    """Skip a value of any kind.

    Args:
        data: The window.
        at: Where to begin.
        state: int64 (4,), kept from call to call, zero at first: depth, whether in a
            text, whether after a backslash, how the scan ended.

    Returns:
        Where the rest begins; after a number or word, the byte that follows.
    """
    end = len(data)
    depth, within, escaped = state[0], state[1], state[2]
    state[3] = MORE
    while at < end:
        byte = data[at]
        at += 1
        if within:
            if escaped:
                escaped = 0
            elif byte == _BACKSLASH:
                escaped = 1
            elif byte == _QUOTE:
                within = 0
                if depth == 0:
                    state[3] = DONE
                    break
        elif byte == _QUOTE:
            within = 1
        elif byte in (_OPEN, _OPEN_OBJECT):
            depth += 1
        elif byte in (_CLOSE, _CLOSE_OBJECT):
            depth -= 1
            if depth <= 0:
                state[3] = DONE
                at -= depth < 0
                break
        elif byte == _COMMA and depth == 0:
            state[3] = DONE
            at -= 1
            break
    state[0], state[1], state[2] = depth, within, escaped
    return at


class NodeFields(NamedTuple):
    """Positions of the fields of a node in its row; -1 for missing fields."""

    type: int
    name: int
    id: int
    self_size: int
    edge_count: int
    detachedness: int
    trace_node_id: int


class NodeColumns(NamedTuple):
    """Some nodes as they are recorded.

    Attributes:
        type: uint8. Row of the types of nodes.
        name: int32. Row of the strings.
        id: uint64.
        size_bytes: int64.
        edge_count: int32.
        detachedness: uint8. 0 unknown, 1 attached, 2 detached.
        trace: int32. Id in the trace tree, 0 for none; empty if there is no tree.
    """

    type: Bytes
    name: Ints
    id: Ids
    size_bytes: Longs
    edge_count: Ints
    detachedness: Bytes
    trace: Ints


@kernel
def nodes(
    rows: Longs, count: int, stride: int, types: int, of: NodeFields, into: NodeColumns
) -> int:
    """Sort the numbers of ``count`` nodes into columns.

    Returns:
        The position of an impossible number, or -1.
    """
    for i in range(count):
        row = i * stride
        kind = rows[row + of.type]
        if kind < 0 or kind >= types:
            return row + of.type
        name = rows[row + of.name]
        if name < 0 or name > 0x7FFFFFFF:
            return row + of.name
        if rows[row + of.id] < 0:
            return row + of.id
        size = rows[row + of.self_size]
        if size < 0 or size > MAX_SIZE_BYTES:
            return row + of.self_size
        edges = rows[row + of.edge_count]
        if edges < 0 or edges > 0x7FFFFFFF:
            return row + of.edge_count
        into.type[i] = kind
        into.name[i] = name
        into.id[i] = rows[row + of.id]
        into.size_bytes[i] = size
        into.edge_count[i] = edges
        into.detachedness[i] = 0
        if of.detachedness >= 0:
            into.detachedness[i] = rows[row + of.detachedness] & 3
        if len(into.trace):
            trace = rows[row + of.trace_node_id]
            into.trace[i] = trace if 0 < trace <= 0x7FFFFFFF else 0
    return -1


class EdgeFields(NamedTuple):
    """Positions of the fields of an edge in its row."""

    type: int
    name_or_index: int
    to_node: int


class EdgeColumns(NamedTuple):
    """Some edges as they are recorded.

    Attributes:
        type: uint8. Row of the types of edges.
        name: int32. Row of the strings, or an index.
        to: int32. Number of the node that they lead to.
    """

    type: Bytes
    name: Ints
    to: Ints


@kernel
def edges(
    rows: Longs,
    count: int,
    stride: int,
    types: int,
    node_stride: int,
    node_count: int,
    of: EdgeFields,
    into: EdgeColumns,
) -> int:
    """Sort the numbers of ``count`` edges into columns.

    Returns:
        The position of an impossible number, or -1.
    """
    for i in range(count):
        row = i * stride
        kind = rows[row + of.type]
        if kind < 0 or kind >= types:
            return row + of.type
        name = rows[row + of.name_or_index]
        if name < 0 or name >= 0x7FFFFFFF:
            return row + of.name_or_index
        target = rows[row + of.to_node]
        number = target // node_stride
        if target < 0 or number >= node_count or number * node_stride != target:
            return row + of.to_node
        into.type[i] = kind
        into.name[i] = name
        into.to[i] = number
    return -1
