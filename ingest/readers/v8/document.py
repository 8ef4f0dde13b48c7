"""The JSON document of a snapshot, read from front to back into columns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump, TruncatedDump
from ingest.heap.redaction import MARK
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.columns import GrowingColumn
from ingest.readers.v8.scan import (
    DONE,
    FAULT,
    MORE,
    NUMBER_FAULT,
    TEXT_FAULT,
    EdgeColumns,
    EdgeFields,
    NodeColumns,
    NodeFields,
    TextState,
    TreeState,
    edges,
    nodes,
    numbers,
    place_of,
    skip,
    texts,
    trace_tree,
)
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Ints, Longs
    from ingest.readers.shared.irregularities import IrregularityCounter

_LONGEST_META_BYTES = 1 << 20
_UNEXPECTED = ValueError, OverflowError, KeyError, TypeError, IndexError
"""What other values than those of V8 end in; 1e999 is infinite."""
_LONGEST_KEY_BYTES = 256
_MOST_NODES = (1 << 31) - 2
_MOST_KINDS = 126
"""The most types of nodes, which are stored in a byte; V8 has 16."""

FUNCTION_FIELDS = {"name", "script_name", "line", "column"}
"""The needed fields of a function; its line and column count from 1."""

_TREE_FIELDS = ["id", "function_info_index", "count", "size", "children"]
_SPACES = b" \t\r\n"


@dataclass(slots=True, eq=False)
class Meta:
    """The description of a snapshot.

    Attributes:
        node_fields: Names of the fields of a node, in their order.
        node_types: Names of the types of nodes.
        edge_fields: Names of the fields of an edge.
        edge_types: Names of the types of edges.
        location_fields: Names of the fields of a location; empty for none.
        function_fields: Names of the fields of a function that allocated; empty if
        allocations were not tracked.
        node_count: Claimed number of nodes; -1 if the snapshot claims none.
        edge_count: Likewise.
        extra_native_bytes: Native memory that belongs to no node; 0 if not recorded.
        is_of_julia: Whether Julia wrote it.
        is_redacted: Whether its values were replaced by blank ones.
    """

    node_fields: list[str]
    node_types: list[str]
    edge_fields: list[str]
    edge_types: list[str]
    location_fields: list[str]
    function_fields: list[str]
    node_count: int
    edge_count: int
    extra_native_bytes: int
    is_of_julia: bool
    is_redacted: bool


class TraceTree(NamedTuple):
    """The calls that led to allocations, as a tree: C calls of F functions.

    Attributes:
        id: int64 (C,). Id by which nodes name a call.
        function: int64 (C,). Row of ``functions``; not checked.
        parent: int32 (C,). The call that made this one, or -1.
        functions: int64 (F, fields).
    """

    id: Longs
    function: Longs
    parent: Ints
    functions: Longs


class Texts:
    """The table of strings, joined as UTF-8.

    Attributes:
        content: uint8.
        end: int64 (S,). End of each string.
        units: int32 (S,). Length in UTF-16 units, including what was left out.
    """

    def __init__(self, content: Bytes, end: Longs, units: Ints) -> None:
        self.content, self.end, self.units = content, end, units

    def __len__(self) -> int:
        return len(self.end)

    @property
    def used(self) -> int:
        """Bytes of ``content`` that belong to strings."""
        return int(self.end[-1]) if len(self.end) else 0

    def find(self, text: str) -> int:
        """The first row that has this text; -1 if none has."""
        wanted = np.frombuffer(text.encode(), np.uint8)
        rows = np.flatnonzero(np.diff(self.end, prepend=0) == len(wanted))
        begin = self.end[rows] - len(wanted)
        for at, byte in enumerate(wanted.tolist()):
            same = self.content[begin + at] == byte
            rows, begin = rows[same], begin[same]
        return int(rows[0]) if len(rows) else -1

    def raw(self, row: int) -> bytes:
        """The bytes of a string."""
        begin = int(self.end[row - 1]) if row else 0
        return self.content[begin : int(self.end[row])].tobytes()

    def text(self, row: int) -> str:
        """A string; one that the file lacks is named by its number."""
        if not 0 <= row < len(self.end):
            return f"<string {row}>"
        return self.raw(row).decode("utf-8", "replace")


@dataclass(slots=True, eq=False)
class Snapshot:
    """The content of a snapshot: N nodes, E edges, S strings, L locations.

    Attributes:
        meta: Its description.
        type, name, id, size_bytes, edge_count, detachedness: (N,), see `NodeColumns`.
        trace: int32 (N,). See `NodeColumns`; empty if allocations were not tracked.
        edge_type, edge_name, edge_to: (E,), see `EdgeColumns`.
        location: int64 (L, fields).
        tree: Tree of allocations; empty if they were not tracked.
        strings: The strings.
    """

    meta: Meta
    type: Bytes
    name: Ints
    id: Ids
    size_bytes: Longs
    edge_count: Ints
    detachedness: Bytes
    trace: Ints
    edge_type: Bytes
    edge_name: Ints
    edge_to: Ints
    location: Longs
    tree: TraceTree
    strings: Texts


@dataclass(slots=True)
class _GrowingColumns:
    """Columns that grow, by name."""

    columns: dict[str, GrowingColumn] = field(default_factory=dict)

    def add(self, rows: dict[str, NDArray[Any]], count: int) -> None:
        for name, column in rows.items():
            if name not in self.columns:
                self.columns[name] = GrowingColumn(column.dtype)
            self.columns[name].add(column[:count])

    def taken(self, name: str, dtype: type) -> Any:  # noqa: ANN401
        if name not in self.columns:
            return np.empty(0, dtype)
        return self.columns[name].taken()


class Document:
    """A snapshot that is being read.

    Args:
        chunks: The bytes of the file.
        counter: Counts what is irregular.
    """

    def __init__(self, chunks: Iterable[bytes], counter: IrregularityCounter) -> None:
        self._feed = Feed(chunks, counter.name)
        self._counter = counter
        self._meta: Meta | None = None
        self._node_count = self._edge_count = 0
        self._nodes, self._edges = _GrowingColumns(), _GrowingColumns()
        self._locations, self._strings = _GrowingColumns(), _GrowingColumns()
        self._functions = _GrowingColumns()
        none = np.empty(0, np.int64)
        self._tree = none, none, none.astype(np.int32)
        self._rows = np.empty(0, np.int64)
        self._content_bytes = 0
        self._places: dict[str, int] = {}
        self._begins: dict[str, int] = {}

    def read(self, *, is_cut: Callable[[], bool]) -> Snapshot:
        """Read the whole snapshot.

        Args:
            is_cut: Tells, after reading, whether the compressed file was truncated.

        Raises:
            MalformedDump: it is not JSON, or contradicts itself.
            TruncatedDump: it ends before the first node.
        """
        feed = self._feed
        try:
            self._expect(b"{", "an object")
            while self._member():
                pass
            self._trailing()
        except TruncatedDump as error:
            if self._meta is None or not self._node_count:
                raise
            self._counter.add("truncated_document", 1, 0, error.offset)
        if is_cut():
            self._counter.add("truncated_compression", 1, 0, feed.offset)
        if self._meta is None:
            raise feed.malformed("the file has no description of a snapshot")
        if not self._node_count:
            raise feed.malformed("the snapshot has no nodes")
        return self._snapshot(self._meta)

    def _snapshot(self, meta: Meta) -> Snapshot:
        take, edge = self._nodes.taken, self._edges.taken
        found = Snapshot(
            meta=meta,
            type=take("type", np.uint8),
            name=take("name", np.int32),
            id=take("id", np.uint64),
            size_bytes=take("size_bytes", np.int64),
            edge_count=take("edge_count", np.int32),
            detachedness=take("detachedness", np.uint8),
            trace=take("trace", np.int32),
            edge_type=edge("type", np.uint8),
            edge_name=edge("name", np.int32),
            edge_to=edge("to", np.int32),
            location=self._locations.taken("rows", np.int64).reshape(
                -1, max(len(meta.location_fields), 1)
            ),
            tree=TraceTree(
                *self._tree,
                self._functions.taken("rows", np.int64).reshape(
                    -1, max(len(meta.function_fields), 1)
                ),
            ),
            strings=Texts(
                self._strings.taken("content", np.uint8),
                self._strings.taken("end", np.int64),
                self._strings.taken("units", np.int32),
            ),
        )
        self._check_counts(found)
        return found

    def _check_counts(self, found: Snapshot) -> None:
        """Check that the parts agree.

        Raises:
            MalformedDump: there are more edges than the nodes have, or fewer in a file
                that is not truncated.
        """
        meta, counter = found.meta, self._counter
        for kind, claimed, count in (
            ("wrong_node_count", meta.node_count, len(found.type)),
            ("wrong_edge_count", meta.edge_count, len(found.edge_type)),
        ):
            if claimed not in (-1, count) and "strings" in self._places:
                counter.add(kind, 1, 0, 0)
        expected = int(found.edge_count.sum(dtype=np.int64))
        there = len(found.edge_type)
        at = self._places.get("edges")
        if there > expected or (there < expected and at is not None):
            raise MalformedDump(
                f"its nodes have {counted(expected, 'edges')}, "
                f"and it has {there:,}; get the "
                "file again",
                path=counter.name,
                offset=at,
            )
        if there < expected:
            counter.add("truncated_edges", expected - there, 0, self._feed.offset)
            before = np.cumsum(found.edge_count, dtype=np.int64) - found.edge_count
            left = np.clip(there - before, 0, found.edge_count)
            found.edge_count = left.astype(np.int32)

    # ------------------------------------------------------------- tokens

    def _peek(self) -> bytes:
        """The next byte that is not a space, without consuming it.

        Raises:
            TruncatedDump: the file ends first.
        """
        feed = self._feed
        while True:
            data = feed.data
            while feed.position < len(data):
                byte = data[feed.position : feed.position + 1]
                if byte not in _SPACES:
                    return bytes(byte)
                feed.position += 1
            if not feed.grow():
                raise self._ends()

    def _ends(self) -> TruncatedDump:
        return TruncatedDump(
            "the file ends too early; get it again",
            path=self._counter.name,
            offset=self._feed.offset,
        )

    def _expect(self, byte: bytes, what: str) -> None:
        if self._peek() == b"\xef" and self._feed.offset == 0:
            self._feed.take(3)  # the mark of UTF-8
        if self._peek() != byte:
            raise self._feed.malformed(f"it is not JSON: {what} should be here")
        self._feed.position += 1

    def _gather(self, most: int, what: str) -> bytes:
        """The bytes of the next value, of any kind.

        Raises:
            MalformedDump: the value is longer than ``most``.
        """
        feed = self._feed
        self._peek()
        parts, size = [], 0
        state = np.zeros(4, np.int64)
        while True:
            begin = feed.position
            feed.position = skip(np.frombuffer(feed.data, np.uint8), begin, state)
            parts.append(bytes(feed.data[begin : feed.position]))
            size += len(parts[-1])
            if size > most:
                raise feed.malformed(f"{what} has more than {counted(most, 'bytes')}")
            if state[3] == DONE:
                return b"".join(parts)
            if not feed.grow():
                raise self._ends()

    def _skip(self) -> None:
        feed = self._feed
        state = np.zeros(4, np.int64)
        self._peek()
        while state[3] != DONE:
            feed.position = skip(
                np.frombuffer(feed.data, np.uint8), feed.position, state
            )
            if state[3] == MORE and not feed.grow():
                raise self._ends()

    def _member(self) -> bool:
        """Read a member of the document; false at its end."""
        feed = self._feed
        if self._peek() == b"}":
            feed.position += 1
            return False
        if self._peek() == b",":
            feed.position += 1
        if self._peek() != b'"':
            raise feed.malformed("it is not JSON: a name should be here")
        key = self._gather(_LONGEST_KEY_BYTES, "a name")[1:-1].decode(
            "utf-8", "replace"
        )
        self._expect(b":", "a colon")
        if key in self._places:
            raise feed.malformed(f"the file has {key!r} twice")
        reading = {
            "snapshot": self._read_meta,
            "nodes": self._read_nodes,
            "edges": self._read_edges,
            "trace_function_infos": self._read_functions,
            "trace_tree": self._read_trace_tree,
            "locations": self._read_locations,
            "strings": self._read_strings,
        }.get(key, self._skip)
        self._peek()
        self._begins[key] = feed.offset
        reading()
        self._places[key] = feed.offset
        return True

    def _trailing(self) -> None:
        """Make sure that nothing follows the snapshot.

        Raises:
            MalformedDump: something follows, such as a second snapshot.
        """
        try:
            self._peek()
        except TruncatedDump:
            return
        raise self._feed.malformed("something follows the snapshot")

    # ------------------------------------------------------------- members

    def _read_meta(self) -> None:
        begin = self._feed.offset
        data = self._gather(_LONGEST_META_BYTES, "the description of the snapshot")
        try:
            self._meta = _meta(json.loads(data))
        except (*_UNEXPECTED, RecursionError) as error:
            raise MalformedDump(
                "the description of the snapshot cannot be read; get the file again",
                path=self._counter.name,
                offset=begin,
            ) from error

    def _described(self, what: str) -> Meta:
        if self._meta is None:
            raise self._feed.malformed(f"{what} come before their description")
        return self._meta

    def _numbers(
        self, stride: int, take: Callable[[Longs, int], int], what: str
    ) -> None:
        """Read an array of rows of ``stride`` numbers.

        Args:
            stride: Numbers in a row.
            take: Takes rows and their number; returns the position of an impossible
                number, or -1.
            what: The rows, for messages.

        Raises:
            MalformedDump: something else is in it, or the last row is incomplete.
        """
        feed = self._feed
        self._expect(b"[", "an array")
        held, state = 0, np.zeros(2, np.int64)
        while True:
            data = np.frombuffer(feed.data, np.uint8)
            if len(self._rows) < len(data) // 2 + stride + 1:
                rows = self._rows
                self._rows = np.empty(len(data) // 2 + stride + 1, np.int64)
                self._rows[:held] = rows[:held]
            rows, begin = self._rows, feed.position
            feed.position = numbers(data, begin, rows, held, state)
            count = int(state[0])
            if state[1] == FAULT:
                raise feed.malformed(f"{NUMBER_FAULT} is among the {what}")
            whole = count // stride
            bad = take(rows, whole)
            if bad >= 0:
                feed.position = place_of(data, begin, max(bad - held, 0))
                raise feed.malformed(f"a number of the {what} cannot be")
            held = count - whole * stride
            rows[:held] = rows[whole * stride : count].copy()
            if state[1] == DONE:
                break
            if not feed.grow():
                raise self._ends()
        if held:
            raise feed.malformed(f"the last of the {what} is incomplete")

    def _read_nodes(self) -> None:
        meta = self._described("the nodes")
        stride, of = len(meta.node_fields), _node_fields(meta)

        def take(rows: Longs, count: int) -> int:
            into = NodeColumns(
                np.empty(count, np.uint8),
                np.empty(count, np.int32),
                np.empty(count, np.uint64),
                np.empty(count, np.int64),
                np.empty(count, np.int32),
                np.empty(count, np.uint8),
                np.empty(count if of.trace_node_id >= 0 else 0, np.int32),
            )
            bad = nodes(rows, count, stride, len(meta.node_types), of, into)
            if bad < 0:
                self._nodes.add(into._asdict(), count)
                self._node_count += count
                if self._node_count > _MOST_NODES:
                    raise self._feed.malformed("it has more than 2^31 nodes")
            return int(bad)

        self._numbers(stride, take, "nodes")

    def _read_edges(self) -> None:
        meta = self._described("the edges")
        if not self._node_count:
            raise self._feed.malformed("the edges come before the nodes")
        stride = len(meta.edge_fields)
        of = EdgeFields(*(meta.edge_fields.index(name) for name in EdgeFields._fields))

        def take(rows: Longs, count: int) -> int:
            into = EdgeColumns(
                np.empty(count, np.uint8),
                np.empty(count, np.int32),
                np.empty(count, np.int32),
            )
            bad = edges(
                rows, count, stride, len(meta.edge_types), len(meta.node_fields),
                self._node_count, of, into,
            )  # fmt: skip
            if bad < 0:
                self._edges.add(into._asdict(), count)
            return int(bad)

        self._numbers(stride, take, "edges")

    def _read_locations(self) -> None:
        fields = self._described("the locations").location_fields
        self._read_rows(len(fields), self._locations, "locations")

    def _read_functions(self) -> None:
        fields = self._described("the functions").function_fields
        self._read_rows(len(fields), self._functions, "functions")

    def _read_rows(self, stride: int, into: _GrowingColumns, what: str) -> None:
        """Keep rows of ``stride`` numbers as they are; skip them if that is 0."""
        if not stride:
            self._skip()
            return

        def take(rows: Longs, count: int) -> int:
            into.add({"rows": rows}, count * stride)
            return -1

        self._numbers(stride, take, what)

    def _read_trace_tree(self) -> None:
        feed = self._feed
        if not self._described("the allocations").function_fields:
            self._skip()
            return
        self._expect(b"[", "an array")
        of, state = TreeState(), np.zeros(len(TreeState()), np.int64)
        state[of.parent] = -1
        ids, functions = np.empty(0, np.int64), np.empty(0, np.int64)
        parents = np.empty(0, np.int32)
        while state[of.status] != DONE:
            data = np.frombuffer(feed.data, np.uint8)
            count, room = int(state[of.rows]), len(data) // 2 + 1
            if len(ids) < count + room:
                ids, functions, parents = (
                    np.concatenate(
                        [column[:count], np.empty(count + room, column.dtype)]
                    )
                    for column in (ids, functions, parents)
                )
            feed.position = trace_tree(
                data, feed.position, ids, functions, parents, state
            )
            if state[of.status] == FAULT:
                raise feed.malformed(f"{NUMBER_FAULT} is in the tree of allocations")
            if state[of.rows] > _MOST_NODES:
                raise feed.malformed("its tree of allocations has more than 2^31 calls")
            if state[of.status] == MORE and not feed.grow():
                raise self._ends()
        count = int(state[of.rows])
        # Copies, to free what is not used.
        self._tree = (
            ids[:count].copy(),
            functions[:count].copy(),
            parents[:count].copy(),
        )

    def _read_strings(self) -> None:
        feed = self._feed
        self._expect(b"[", "an array")
        state = np.zeros(len(TextState()), np.int64)
        of = TextState()
        content, ends = np.empty(0, np.uint8), np.empty(0, np.int64)
        units = np.empty(0, np.int32)
        while True:
            data = np.frombuffer(feed.data, np.uint8)
            if len(content) < len(data):
                content = np.empty(len(data), np.uint8)
                ends = np.empty(len(data) // 2 + 1, np.int64)
                units = np.empty(len(data) // 2 + 1, np.int32)
            state[of.texts] = state[of.content] = 0
            feed.position = texts(data, feed.position, content, ends, units, state)
            if state[of.status] == FAULT:
                raise feed.malformed(f"{TEXT_FAULT} is among the strings")
            count, stored = int(state[of.texts]), int(state[of.content])
            ends[:count] += self._content_bytes
            self._strings.add({"end": ends, "units": units}, count)
            self._strings.add({"content": content}, stored)
            self._content_bytes += stored
            if state[of.status] == DONE:
                return
            if not feed.grow():
                raise self._ends()


def _meta(found: dict[str, Any]) -> Meta:
    """The description of a snapshot.

    Raises:
        ValueError, KeyError, TypeError, IndexError: it is incomplete.
    """
    meta = found["meta"]
    edge_types = meta["edge_types"]
    result = Meta(
        node_fields=_names(meta["node_fields"]),
        node_types=_names(meta["node_types"][0]),
        edge_fields=_names(meta["edge_fields"]),
        edge_types=_names(edge_types[0]),
        location_fields=_names(meta.get("location_fields", [])),
        function_fields=_function_fields(found),
        node_count=int(found.get("node_count", -1)),
        edge_count=int(found.get("edge_count", -1)),
        extra_native_bytes=max(int(found.get("extra_native_bytes", 0)), 0),
        # Where V8 has "node", Julia has the name of the source of its edges.
        is_of_julia="from_node" in edge_types or "jl_datatype_t" in str(meta),
        is_redacted=found.get("redacted") == MARK,
    )
    for name in ("type", "name", "id", "self_size", "edge_count"):
        result.node_fields.index(name)
    for name in EdgeFields._fields:
        result.edge_fields.index(name)
    if not result.node_types or not result.edge_types:
        raise ValueError("no types")
    return result


def _function_fields(found: dict[str, Any]) -> list[str]:
    """Names of the fields of functions; empty if allocations were not tracked.

    A tree with unknown fields is not read.
    """
    meta = found["meta"]
    fields = _names(meta.get("trace_function_info_fields", []))
    tree = meta.get("trace_node_fields")
    known = not FUNCTION_FIELDS - set(fields) and tree == _TREE_FIELDS
    return fields if known and int(found.get("trace_function_count", 0)) > 0 else []


def _names(found: list[str]) -> list[str]:
    if len(found) > _MOST_KINDS or not all(isinstance(name, str) for name in found):
        raise ValueError("not a list of names")
    return list(found)


def _node_fields(meta: Meta) -> NodeFields:
    places = {name: at for at, name in enumerate(meta.node_fields)}
    if not meta.function_fields:
        places.pop("trace_node_id", None)
    return NodeFields(*(places.get(name, -1) for name in NodeFields._fields))
