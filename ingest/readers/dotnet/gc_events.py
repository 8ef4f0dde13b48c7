"""Parses the payloads of the .NET runtime's garbage collection events.

A payload is packed and little-endian. Versions append fields, so that its length shows
which fields it has. Addresses are as wide as a pointer of the process, except type ids
and the addresses in events about static fields and wrappers, which have eight bytes.

Source: microsoft/perfview, src/TraceEvent/Parsers/ClrTraceEventParser.cs;
dotnet/runtime, src/coreclr/vm/eventtrace.cpp; checked against recorded traces.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump
from ingest.readers.dotnet.event_stream import EventKind
from ingest.readers.shared.binary import U16, U32, utf16z

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.readers.dotnet.event_stream import Event

    Rows = NDArray[Any]

PROVIDER = "Microsoft-Windows-DotNETRuntime"


class Gc(IntEnum):
    """Event numbers."""

    START = 1
    END = 2
    HEAP_STATS = 4
    TYPES = 15
    ROOTS = 16
    DEPENDENT_HANDLES = 17
    NODES = 18
    EDGES = 19
    SURVIVING = 21
    MOVED = 22
    GENERATION = 23
    COM_CALLABLE = 36
    STATICS = 38


class Reason(IntEnum):
    """Why a collection was triggered; others are in `REASONS`."""

    INDUCED = 1


class Mode(IntEnum):
    """How a collection suspends the program."""

    BLOCKING = 0
    BACKGROUND = 1
    FOREGROUND = 2


REASONS = (
    "small objects allocated",
    "induced",
    "low memory",
    "empty",
    "large objects allocated",
    "no space for small objects",
    "no space for large objects",
    "induced, not forced",
    "stress test",
    "low memory, blocking",
    "induced, compacting",
    "low memory of the host",
    "provisional mode",
    "low memory of the host, blocking",
    "background tuning",
    "background tuning of large objects",
    "background step",
    "induced, aggressive",
)
MODES = ("blocking", "background", "foreground")


class Start(NamedTuple):
    """The start of a collection; -1 for what old runtimes do not record."""

    number: int
    generation: int
    reason: int
    mode: int


class HeapStats(NamedTuple):
    """The heap after a collection.

    Attributes:
        size_bytes: Sizes of generations 0, 1, 2, large and, from newer runtimes, pinned
            objects.
        promoted_bytes: Bytes that survived in each.
    """

    size_bytes: tuple[int, ...]
    promoted_bytes: tuple[int, ...]


class GenerationRange(NamedTuple):
    """An address range of one generation."""

    generation: int
    start: int
    used_bytes: int
    reserved_bytes: int


class Type(NamedTuple):
    """A type; its name is empty if the runtime does not know it."""

    id: int
    name: str


class Static(NamedTuple):
    """A static field that refers to an object; its declaring type is not recorded."""

    object: int
    is_thread_static: bool
    field: str


class Bulk(NamedTuple):
    """The rows of a bulk event.

    Attributes:
        number: Index among the events of its kind, from 0.
        rows: A structured array; the fields are those of `Payloads`.
    """

    number: int
    rows: Rows


class Chunk(NamedTuple):
    """The decoded nodes or edges of one event.

    Attributes:
        number: Index among the events of its kind, from 0.
        row_count: Nodes or edges.
        rows: Columns by name: ``address``, ``type`` (uint64), ``size`` (int64) and
            ``edges`` (int32) of nodes; ``target`` (uint64) of edges. Numbers that do
            not fit are replaced by the largest one.
    """

    number: int
    row_count: int
    rows: dict[str, Rows]


_MOST, _MOST_EDGES = (1 << 63) - 1, (1 << 31) - 1
_START = Struct("<4I")
_OLD_START = Struct("<2I")
_END = U32
_STATS = Struct("<8Q28x")  # finalization, pinned objects, sync blocks and handles
_STATS_PINNED = Struct("<2Q")
_STATS_PINNED_AT = _STATS.size + U16.size
_BULK = Struct("<IIH")
_NAMED_BULK = Struct("<IH")
_STATICS = Struct("<IQH")
_TYPE = Struct("<Q17x")
_STATIC = Struct("<8xQ8xI")
_THREAD_STATIC = 1
_WRAPPER_BYTES = (44, 48)


def wanted(kind: EventKind) -> bool:
    """Whether `Payloads` parses events of this kind."""
    return kind.provider == PROVIDER and kind.number in _NUMBERS


_NUMBERS = frozenset(Gc)


class Payloads:
    """Parses the payloads of one stream.

    Fields of rows: ``object``, ``kind``, ``flags``, ``id`` of roots; ``key``,
    ``value``, ``id`` of dependent handles; ``address``, ``size``, ``type``, ``edges``
    of nodes; ``target``, ``field`` of edges; ``start``, ``length`` of ranges that
    survived in place; ``old``, ``new``, ``length`` of moved ranges; ``object``,
    ``flags`` of COM-callable wrappers.

    Every method raises `MalformedDump` if a payload is too short.
    """

    def __init__(self, pointer_bytes: int, name: str) -> None:
        self._name = name
        pointer = f"<u{pointer_bytes}"
        layouts: dict[Gc, list[tuple[str, str]]] = {
            Gc.ROOTS: [
                ("object", pointer),
                ("kind", "u1"),
                ("flags", "<u4"),
                ("id", pointer),
            ],
            Gc.DEPENDENT_HANDLES: [
                ("key", pointer),
                ("value", pointer),
                ("id", pointer),
            ],
            Gc.NODES: [
                ("address", pointer),
                ("size", "<u8"),
                ("type", "<u8"),
                ("edges", "<u8"),
            ],
            Gc.EDGES: [("target", pointer), ("field", "<u4")],
            Gc.SURVIVING: [("start", pointer), ("length", "<u8")],
            Gc.MOVED: [("old", pointer), ("new", pointer), ("length", "<u8")],
        }
        self._layouts = {kind: np.dtype(fields) for kind, fields in layouts.items()}
        self._range = Struct("<BIQQ" if pointer_bytes == 4 else "<BQQQ")

    def _malformed(self, event: Event) -> MalformedDump:
        kind = Gc(event.kind.number).name.lower().replace("_", " ")
        return MalformedDump(
            f"the payload of a {kind} event is too short; record the trace again",
            path=self._name,
            offset=event.offset,
        )

    def _unpacked(self, event: Event, layout: Struct, at: int = 0) -> tuple[Any, ...]:
        try:
            return layout.unpack_from(event.payload, at)
        except struct.error as error:
            raise self._malformed(event) from error

    def start(self, event: Event) -> Start:
        """Parse a `Gc.START`."""
        if len(event.payload) >= _START.size:
            return Start(*self._unpacked(event, _START))
        number, reason = self._unpacked(event, _OLD_START)
        return Start(number, -1, reason, -1)

    def end(self, event: Event) -> int:
        """Parse a `Gc.END`: the number of the collection."""
        number: int = self._unpacked(event, _END)[0]
        return number

    def heap_stats(self, event: Event) -> HeapStats:
        """Parse a `Gc.HEAP_STATS`."""
        pairs = self._unpacked(event, _STATS)
        if len(event.payload) >= _STATS_PINNED_AT + _STATS_PINNED.size:
            pairs += self._unpacked(event, _STATS_PINNED, _STATS_PINNED_AT)
        return HeapStats(pairs[::2], pairs[1::2])

    def generation_range(self, event: Event) -> GenerationRange:
        """Parse a `Gc.GENERATION`."""
        return GenerationRange(*self._unpacked(event, self._range))

    def compact(self, event: Event) -> Event:
        """Decode events of nodes and edges into columns; return others unchanged.

        They make up most of a stream, and take a third less memory once decoded.
        """
        if event.kind.number not in (Gc.NODES, Gc.EDGES):
            return event
        number, rows = self.rows(event)
        columns: dict[str, Rows] = {}
        if event.kind.number == Gc.EDGES:
            columns["target"] = rows["target"].astype(np.uint64)
        else:
            columns["address"] = rows["address"].astype(np.uint64)
            columns["type"] = rows["type"].astype(np.uint64)
            columns["size"] = np.minimum(rows["size"], _MOST).astype(np.int64)
            columns["edges"] = np.minimum(rows["edges"], _MOST_EDGES).astype(np.int32)
        return event._replace(payload=b"", decoded=Chunk(number, len(rows), columns))

    def rows(self, event: Event) -> Bulk:
        """Parse a bulk event: roots, handles, nodes, edges, or ranges that survived."""
        number, count, _ = self._unpacked(event, _BULK)
        layout = self._layouts[Gc(event.kind.number)]
        return Bulk(number, self._array(event, layout, count, _BULK.size))

    def _array(self, event: Event, layout: np.dtype[Any], count: int, at: int) -> Rows:
        if at + count * layout.itemsize > len(event.payload):
            raise self._malformed(event)
        return np.frombuffer(event.payload, layout, count, at)

    def com_callable(self, event: Event) -> Rows:
        """Parse a `Gc.COM_CALLABLE`, whose rows have one of two lengths."""
        count, _ = self._unpacked(event, _NAMED_BULK)
        short, long = _WRAPPER_BYTES
        size = (len(event.payload) - _NAMED_BULK.size) // max(count, 1)
        layout = np.dtype(
            {
                "names": ["object", "flags"],
                "formats": ["<u8", "<u4"],
                "offsets": [8, 40],
                "itemsize": long if size >= long else short,
            }
        )
        return self._array(event, layout, count, _NAMED_BULK.size)

    def types(self, event: Event) -> Iterator[Type]:
        """Parse a `Gc.TYPES`."""
        count, _ = self._unpacked(event, _NAMED_BULK)
        at = _NAMED_BULK.size
        for _ in range(count):
            (type_id,) = self._unpacked(event, _TYPE, at)
            name, at = self._text(event, at + _TYPE.size)
            at += U32.size + 8 * self._unpacked(event, U32, at)[0]
            if at > len(event.payload):
                raise self._malformed(event)
            yield Type(type_id, name)

    def statics(self, event: Event) -> Iterator[Static]:
        """Parse a `Gc.STATICS`."""
        count, _, _ = self._unpacked(event, _STATICS)
        at = _STATICS.size
        for _ in range(count):
            address, flags = self._unpacked(event, _STATIC, at)
            name, at = self._text(event, at + _STATIC.size)
            yield Static(address, bool(flags & _THREAD_STATIC), name)

    def _text(self, event: Event, at: int) -> tuple[str, int]:
        try:
            return utf16z(event.payload, at)
        except ValueError as error:
            raise self._malformed(event) from error
