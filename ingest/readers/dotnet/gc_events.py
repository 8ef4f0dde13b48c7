"""What the .NET runtime's events about garbage collections say.

A payload is packed, little-endian, of a layout that grows from version to version;
how long it is tells which it has. Addresses have as many bytes as a pointer of the
process, but those of types, and all of what is rooted by name, always eight.

Source: microsoft/perfview, src/TraceEvent/Parsers/ClrTraceEventParser.cs;
dotnet/runtime, src/coreclr/vm/eventtrace.cpp; checked against what runtimes write.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump
from ingest.readers.dotnet.event_stream import EventKind
from ingest.readers.shared.binary import U32, utf16z

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.readers.dotnet.event_stream import Event

    Rows = NDArray[Any]

PROVIDER = "Microsoft-Windows-DotNETRuntime"


class Gc(IntEnum):
    """Numbers of the events."""

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
    RUNTIME_CALLABLE = 37
    STATICS = 38


class Reason(IntEnum):
    """Why a collection happens, as far as it matters here."""

    INDUCED = 1


class Mode(IntEnum):
    """How a collection stops the program."""

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
    """A collection begins; what an old runtime does not tell is -1."""

    number: int
    generation: int
    reason: int
    mode: int


class HeapStats(NamedTuple):
    """The heap after a collection.

    Attributes:
        size_bytes: Of generations 0, 1, 2, large and, from newer runtimes, pinned
            objects.
        promoted_bytes: What survived of each.
        finalization_promoted_bytes: What lives on for its finalizer only.
        finalization_promoted_count: How many objects that are.
        pinned_count: Pinned objects.
        sink_block_count: Blocks for the runtime's own bookkeeping.
        handle_count: Handles.
    """

    size_bytes: tuple[int, ...]
    promoted_bytes: tuple[int, ...]
    finalization_promoted_bytes: int
    finalization_promoted_count: int
    pinned_count: int
    sink_block_count: int
    handle_count: int


class GenerationRange(NamedTuple):
    """A part of the heap that one generation has."""

    generation: int
    start: int
    used_bytes: int
    reserved_bytes: int


class Type(NamedTuple):
    """A type; its name is empty where the runtime does not know it."""

    id: int
    module: int
    flags: int
    name: str


class Static(NamedTuple):
    """A static field that refers to an object.

    Its type is the object's: which type declares the field, the runtime does not
    tell.
    """

    object: int
    type: int
    is_of_thread: bool
    field: str


class Bulk(NamedTuple):
    """One of the events that tell many things.

    Attributes:
        number: Its place among those of its kind, from 0.
        rows: A structured array; the fields are those of `Payloads`.
    """

    number: int
    rows: Rows


class Chunk(NamedTuple):
    """Nodes or edges of one event, decoded.

    Attributes:
        number: Its place among those of its kind, from 0.
        row_count: Nodes or edges.
        rows: Columns by name: ``address``, ``size`` (int64), ``type``, ``edges``
            (int32) of nodes; ``target`` of edges. Numbers that do not fit are
            replaced by the largest one.
    """

    number: int
    row_count: int
    rows: dict[str, Rows]


_MOST, _MOST_EDGES = (1 << 63) - 1, (1 << 31) - 1
_START = Struct("<4I")
_OLD_START = Struct("<2I")
_END = U32
_STATS_PAIRS = Struct("<8Q")
_STATS = Struct("<2Q3I")
_STATS_PINNED = Struct("<2Q")
_STATS_PINNED_AT = _STATS_PAIRS.size + _STATS.size + 2
_BULK = Struct("<IIH")
_NAMED_BULK = Struct("<IH")
_STATICS = Struct("<IQH")
_TYPE = Struct("<2Q2IB")
_STATIC = Struct("<3QI")
_OF_THREAD = 1
_CCW_BYTES = (44, 48)


def wanted(kind: EventKind) -> bool:
    """Whether an event is one of those that `Payloads` reads."""
    return kind.provider == PROVIDER and kind.number in _NUMBERS


_NUMBERS = frozenset(Gc)


class Payloads:
    """Reads payloads of one stream.

    Fields of rows: ``object``, ``kind``, ``flags``, ``id`` of roots; ``key``,
    ``value``, ``id`` of dependent handles; ``address``, ``size``, ``type``, ``edges``
    of nodes; ``target``, ``field`` of edges; ``start``, ``length`` of what survived
    in place; ``old``, ``new``, ``length`` of what moved; ``id``, ``object``, ``type``,
    ``unknown``, ``references``, ``pegged``, ``flags`` of COM-callable wrappers.

    Every method raises `MalformedDump` where a payload contradicts its layout.
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
        what = Gc(event.kind.number).name.lower().replace("_", " ")
        return MalformedDump(
            f"an event about {what} contradicts its layout; record the trace again",
            path=self._name,
            offset=event.offset,
        )

    def _unpacked(self, event: Event, layout: Struct, at: int = 0) -> tuple[Any, ...]:
        try:
            return layout.unpack_from(event.payload, at)
        except struct.error as error:
            raise self._malformed(event) from error

    def start(self, event: Event) -> Start:
        """A `Gc.START`."""
        if len(event.payload) >= _START.size:
            return Start(*self._unpacked(event, _START))
        number, reason = self._unpacked(event, _OLD_START)
        return Start(number, -1, reason, -1)

    def end(self, event: Event) -> int:
        """A `Gc.END`: the collection's number."""
        number: int = self._unpacked(event, _END)[0]
        return number

    def heap_stats(self, event: Event) -> HeapStats:
        """A `Gc.HEAP_STATS`."""
        pairs = self._unpacked(event, _STATS_PAIRS)
        rest = self._unpacked(event, _STATS, _STATS_PAIRS.size)
        if len(event.payload) >= _STATS_PINNED_AT + _STATS_PINNED.size:
            pairs += self._unpacked(event, _STATS_PINNED, _STATS_PINNED_AT)
        return HeapStats(pairs[::2], pairs[1::2], *rest)

    def generation_range(self, event: Event) -> GenerationRange:
        """A `Gc.GENERATION`."""
        return GenerationRange(*self._unpacked(event, self._range))

    def compact(self, event: Event) -> Event:
        """The same event; nodes and edges decoded to the columns that are used.

        They are nearly all of a stream, and take a third less memory so.
        """
        if event.kind.number not in (Gc.NODES, Gc.EDGES):
            return event
        number, rows = self.rows(event)
        found: dict[str, Rows] = {}
        if event.kind.number == Gc.EDGES:
            found["target"] = rows["target"].astype(np.uint64)
        else:
            found["address"] = rows["address"].astype(np.uint64)
            found["type"] = rows["type"].astype(np.uint64)
            found["size"] = np.minimum(rows["size"], _MOST).astype(np.int64)
            found["edges"] = np.minimum(rows["edges"], _MOST_EDGES).astype(np.int32)
        return event._replace(payload=b"", decoded=Chunk(number, len(rows), found))

    def rows(self, event: Event) -> Bulk:
        """A `Gc.ROOTS`, `DEPENDENT_HANDLES`, `NODES`, `EDGES`, `SURVIVING`, `MOVED`."""
        number, count, _ = self._unpacked(event, _BULK)
        layout = self._layouts[Gc(event.kind.number)]
        return Bulk(number, self._array(event, layout, count, _BULK.size))

    def _array(self, event: Event, layout: np.dtype[Any], count: int, at: int) -> Rows:
        if at + count * layout.itemsize > len(event.payload):
            raise self._malformed(event)
        return np.frombuffer(event.payload, layout, count, at)

    def com_callable(self, event: Event) -> Rows:
        """A `Gc.COM_CALLABLE`, whose rows have one of two lengths."""
        count, _ = self._unpacked(event, _NAMED_BULK)
        fields = [
            ("id", "<u8"),
            ("object", "<u8"),
            ("type", "<u8"),
            ("unknown", "<u8"),
            ("references", "<u4"),
            ("pegged", "<u4"),
            ("flags", "<u4"),
        ]
        size = (len(event.payload) - _NAMED_BULK.size) // max(count, 1)
        if size >= _CCW_BYTES[1]:
            fields.append(("more", "<u4"))
        return self._array(event, np.dtype(fields), count, _NAMED_BULK.size)

    def types(self, event: Event) -> Iterator[Type]:
        """A `Gc.TYPES`."""
        count, _ = self._unpacked(event, _NAMED_BULK)
        at = _NAMED_BULK.size
        for _ in range(count):
            id_, module, _, flags, _ = self._unpacked(event, _TYPE, at)
            name, at = self._text(event, at + _TYPE.size)
            at += U32.size + 8 * self._unpacked(event, U32, at)[0]
            if at > len(event.payload):
                raise self._malformed(event)
            yield Type(id_, module, flags, name)

    def statics(self, event: Event) -> Iterator[Static]:
        """A `Gc.STATICS`."""
        count, _, _ = self._unpacked(event, _STATICS)
        at = _STATICS.size
        for _ in range(count):
            _, object_, type_, flags = self._unpacked(event, _STATIC, at)
            name, at = self._text(event, at + _STATIC.size)
            yield Static(object_, type_, bool(flags & _OF_THREAD), name)

    def _text(self, event: Event, at: int) -> tuple[str, int]:
        try:
            return utf16z(event.payload, at)
        except ValueError as error:
            raise self._malformed(event) from error
