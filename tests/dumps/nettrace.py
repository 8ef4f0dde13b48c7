"""A small writer of ``.nettrace`` streams: tests write the traces that they read."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tests.dumps.dartheap import uleb

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

RUNTIME = "Microsoft-Windows-DotNETRuntime"
TRACE, EVENTS, METADATA, POINT, STACKS, THREADS, REMOVED, LABELS = range(1, 9)
_NAMES = {
    TRACE: "Trace",
    EVENTS: "EventBlock",
    METADATA: "MetadataBlock",
    POINT: "SPBlock",
    STACKS: "StackBlock",
}
CLR = 9


def utf16(value: str) -> bytes:
    return value.encode("utf-16-le", "surrogatepass") + b"\0\0"


def utf8(value: str) -> bytes:
    return uleb(len(value.encode())) + value.encode()


@dataclass
class _Pending:
    metadata: int
    sequence: int
    thread: int
    ticks: int
    payload: bytes


@dataclass
class NetTrace:
    """One stream; events are written as they are added, 10 ticks apart.

    Args:
        version: Of the format, 4, 5 or 6.
        pointer: Bytes of a pointer.
        compressed: Whether headers tell only what is new.
    """

    version: int = 4
    pointer: int = 8
    compressed: bool = True
    process: int = 4711
    ticks: int = 1000
    ended: bool = True
    blocks: list[tuple[int, bytes]] = field(default_factory=list)
    kinds: dict[tuple[str, int], int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    pending: list[_Pending] = field(default_factory=list)

    # Events and blocks.

    def event(
        self,
        number: int,
        payload: bytes,
        *,
        provider: str = RUNTIME,
        thread: int = 1,
        ticks: int | None = None,
    ) -> None:
        """Add an event, the next one of its thread."""
        self.ticks += 10
        if (provider, number) not in self.kinds:
            self.flush()
            self.kinds[provider, number] = len(self.kinds) + 1
            self._tell_kind(provider, number)
        self.sequences[thread] = self.sequences.get(thread, 0) + 1
        self.pending.append(
            _Pending(
                self.kinds[provider, number],
                self.sequences[thread],
                thread,
                self.ticks if ticks is None else ticks,
                payload,
            )
        )

    def lose(self, events: int = 1, thread: int = 1) -> None:
        """Let the writer drop events of a thread."""
        self.sequences[thread] = self.sequences.get(thread, 0) + events

    def flush(self) -> None:
        """End a block of events."""
        if self.pending:
            self.block(EVENTS, self._events(self.pending))
            self.pending = []

    def block(self, kind: int, data: bytes) -> None:
        self.blocks.append((kind, data))

    def point(self, sequences: dict[int, int] | None = None, flags: int = 0) -> None:
        """Add a sequence point."""
        self.flush()
        told = self.sequences if sequences is None else sequences
        if self.version < 6:
            data = struct.pack("<Qi", self.ticks, len(told))
            data += b"".join(struct.pack("<QI", *pair) for pair in told.items())
        else:
            data = struct.pack("<QII", self.ticks, flags, len(told))
            data += b"".join(uleb(t) + uleb(number) for t, number in told.items())
        self.block(POINT, data)

    def threads(self, processes: dict[int, int]) -> None:
        """Tell which process each thread is of (version 6)."""
        self.flush()
        data = b""
        for thread, process in processes.items():
            row = uleb(thread) + b"\1" + utf8("worker") + b"\2" + uleb(process)
            row += (
                b"\3" + uleb(77) + b"\4" + utf8("a") + utf8("b") + b"\xee what is this"
            )
            data += struct.pack("<H", len(row)) + row
        self.block(THREADS, data)

    def removed(self, sequences: dict[int, int]) -> None:
        self.flush()
        told = (uleb(thread) + uleb(n) for thread, n in sequences.items())
        self.block(REMOVED, b"".join(told))

    def _tell_kind(self, provider: str, number: int) -> None:
        metadata = self.kinds[provider, number]
        if self.version >= 6:
            row = uleb(metadata) + utf8(provider) + uleb(number) + utf8("")
            row += struct.pack("<HH", 0, 0)
            data = struct.pack("<H", 3) + b"???" + struct.pack("<H", len(row)) + row
            self.block(METADATA, data)
            return
        told = struct.pack("<i", metadata) + utf16(provider)
        told += struct.pack("<i", number) + utf16("") + struct.pack("<qiii", 1, 1, 4, 0)
        if self.version == 5:
            told += struct.pack("<ib", 1, 1) + b"\7"
        self.block(METADATA, self._events([_Pending(0, 0, 0, self.ticks, told)]))

    def _events(self, events: Sequence[_Pending]) -> bytes:
        first, last = events[0].ticks, events[-1].ticks
        data = struct.pack("<hhqq", 24, int(self.compressed), first, last) + b"????"
        if self.compressed:
            return data + self._compressed(events)
        for at, event in enumerate(events):
            thread = event.thread
            head = struct.pack(
                "<IIQQIIQ", event.metadata | (at == 0) << 31, event.sequence,
                thread + 100, thread, 3, 0, event.ticks,
            )  # fmt: skip
            head += b"\1\0\0\0" if self.version >= 6 else bytes(32)
            head += struct.pack("<I", len(event.payload)) + event.payload
            data += struct.pack("<I", len(head)) + head
            if self.version < 6:
                data += bytes(-len(data) % 4)
        return data

    def _compressed(self, events: Sequence[_Pending]) -> bytes:
        out = []
        counts = self.version >= 6
        metadata = sequence = thread = ticks = size = 0
        for at, event in enumerate(events):
            flags, head = 0, b""
            if event.metadata != metadata:
                flags |= 1
                head += uleb(event.metadata)
            step = event.sequence - sequence - (counts or event.metadata != 0)
            if event.thread != thread or step:
                flags |= 2 | 4
                head += uleb(step % 2**32) + uleb(event.thread) + uleb(3)
                head += uleb(event.thread + 100)
            if at == 0:
                flags |= 8
                head += uleb(1)
            head += uleb((event.ticks - ticks) % 2**64)
            if at % 3 == 0:
                flags |= 16
                head += uleb(5) if counts else bytes(16)
                if not counts:
                    flags |= 32
                    head += bytes(16)
            if at % 2:
                flags |= 64
            if len(event.payload) != size:
                flags |= 128
                head += uleb(len(event.payload))
            out.append(bytes([flags]) + head + event.payload)
            metadata, sequence, thread = event.metadata, event.sequence, event.thread
            ticks, size = event.ticks, len(event.payload)
        return b"".join(out)

    def file(self) -> bytes:
        """The whole file."""
        self.flush()
        trace = struct.pack(
            "<8h2qi", 2026, 11, 6, 21, 9, 4, 38, 956, 900, 10**9, self.pointer
        )
        if self.version >= 6:
            told = {"ProcessId": str(self.process), "HardwareThreadCount": "4"}
            trace += struct.pack("<i", len(told))
            trace += b"".join(utf8(k) + utf8(v) for k, v in told.items())
            told_6 = b"Nettrace" + struct.pack("<3I", 0, 6, 0)
            for kind, data in [(TRACE, trace), *self.blocks]:
                told_6 += struct.pack("<I", len(data) | kind << 24) + data
            return told_6 + (struct.pack("<I", 0) if self.ended else b"")
        trace += struct.pack("<3i", self.process, 4, 1_000_000)
        out = bytearray(b"Nettrace" + struct.pack("<i", 20) + b"!FastSerialization.1")
        for kind, data in [(TRACE, trace), *self.blocks]:
            version = (self.version, 4) if kind == TRACE else (2, 2)
            name = _NAMES.get(kind, "LaterBlock").encode()
            out += b"\5\5\1" + struct.pack("<iii", *version, len(name)) + name + b"\6"
            if kind != TRACE:
                out += struct.pack("<i", len(data))
                out += bytes(-len(out) % 4)
            out += data + b"\6"
        return bytes(out) + (b"\1" if self.ended else b"")

    # What the runtime tells.

    def p(self, *values: int) -> bytes:
        return b"".join(value.to_bytes(self.pointer, "little") for value in values)

    def start(
        self, number: int, generation: int = 2, reason: int = 1, mode: int = 0,
        thread: int = 1,
    ) -> None:  # fmt: skip
        told = struct.pack("<4IHQ", number, generation, reason, mode, CLR, 0)
        self.event(1, told, thread=thread)

    def end(self, number: int, thread: int = 1) -> None:
        self.event(2, struct.pack("<IIH", number, 2, CLR), thread=thread)

    def types(self, types: dict[int, str], thread: int = 1) -> None:
        told = struct.pack("<IH", len(types), CLR)
        for number, name in types.items():
            told += struct.pack("<QQIIB", number, 0xAAAA, 1, 0, 0) + utf16(name)
            told += struct.pack("<IQ", 1, 0xBBBB)
        self.event(15, told, thread=thread)

    def bulk(
        self, number: int, index: int, rows: Iterable[bytes], thread: int = 1
    ) -> None:
        told = list(rows)
        head = struct.pack("<IIH", index, len(told), CLR)
        self.event(number, head + b"".join(told), thread=thread)

    def roots(
        self, roots: Iterable[tuple[int, int, int]], index: int = 0, thread: int = 1
    ) -> None:
        """Tell of objects, kinds and flags."""
        rows = (
            self.p(o) + struct.pack("<BI", k, f) + self.p(0x99) for o, k, f in roots
        )
        self.bulk(16, index, rows, thread)

    def dependent(self, pairs: Iterable[tuple[int, int]], index: int = 0) -> None:
        self.bulk(17, index, (self.p(key, value, 0x88) for key, value in pairs))

    def nodes(
        self,
        nodes: Iterable[tuple[int, int, int, int]],
        index: int = 0,
        thread: int = 1,
    ) -> None:
        """Tell of addresses, sizes, types and counts of edges."""
        rows = (self.p(node[0]) + struct.pack("<QQQ", *node[1:]) for node in nodes)
        self.bulk(18, index, rows, thread)

    def edges(self, targets: Iterable[int], index: int = 0, thread: int = 1) -> None:
        rows = (self.p(target) + struct.pack("<I", 0) for target in targets)
        self.bulk(19, index, rows, thread)

    def survived(self, ranges: Iterable[tuple[int, int]], index: int = 0) -> None:
        self.bulk(21, index, (self.p(s) + struct.pack("<Q", n) for s, n in ranges))

    def moved(self, ranges: Iterable[tuple[int, int, int]], index: int = 0) -> None:
        rows = (self.p(old, new) + struct.pack("<Q", n) for old, new, n in ranges)
        self.bulk(22, index, rows)

    def generation(self, number: int, start: int, used: int, reserved: int) -> None:
        told = struct.pack("<B", number) + self.p(start)
        self.event(23, told + struct.pack("<QQH", used, reserved, CLR))

    def wrappers(self, wrappers: Sequence[tuple[int, int]], width: int = 44) -> None:
        """Tell of objects that COM holds, and flags."""
        told = struct.pack("<IH", len(wrappers), CLR)
        for held, flags in wrappers:
            told += struct.pack("<4Q3I", 1, held, 2, 3, 1, 0, flags) + bytes(width - 44)
        self.event(36, told)

    def statics(self, statics: Sequence[tuple[int, int, int, str]]) -> None:
        """Tell of objects, their types, flags and fields."""
        told = struct.pack("<IQH", len(statics), 0x55, CLR)
        for held, kind, flags, name in statics:
            told += struct.pack("<QQQI", 0x44, held, kind, flags) + utf16(name)
        self.event(38, told)

    def heap_stats(self, *, pinned: bool = False) -> None:
        told = struct.pack("<8Q", *range(1, 9)) + struct.pack(
            "<2Q3IH", 9, 10, 11, 12, 13, CLR
        )
        self.event(4, told + (struct.pack("<2Q", 14, 15) if pinned else b""))


CACHE, ENTRIES, STRING = 0x7000_0001_0010, 0x7001, 0x7002


def program(**options: object) -> NetTrace:
    """A little of all that a real trace has: collection 2 tells of the heap.

    0x10010 is a cache that refers to its entries, a string and nothing; 0x12000 the
    entries, which refer to the cache and to 0x7fff0000, which is not there; 0x1f000
    the string; 0x40000 a large array; 0x13000 what a dependent handle keeps with the
    cache.
    """
    trace = NetTrace(**options)  # type: ignore[arg-type]
    trace.event(9, b"", provider="Another")
    trace.types({CACHE: "App.Cache`1[System.String]", STRING: "System.String"})
    trace.start(1, generation=0, reason=0)
    trace.generation(0, 0x10000, 0x8000, 0x10000)
    trace.moved([(0x10000, 0x11000, 0x40)])
    trace.heap_stats()
    trace.end(1)
    trace.point()
    trace.start(2)
    trace.generation(0, 0x10000, 0x10, 0x10)
    trace.survived([(0x40000, 0x1000)])
    trace.statics(
        [
            (0x10010, CACHE, 0, "instance"),
            (0, CACHE, 0, "nothing"),
            (0x1F000, STRING, 1, "current"),
        ]
    )
    trace.roots(
        [
            (0x12000, 0, 0), (0x40010, 0, 4), (0x1F000, 1, 0), (0x1F000, 2, 1),
            (0x12000, 2, 2), (0x1F000, 4, 8), (0x1F000, 5, 0), (0, 2, 0),
        ]
    )  # fmt: skip
    trace.wrappers([(0x12000, 1), (0x1F000, 0)])
    trace.dependent([(0x10010, 0x13000), (0x10010, 0), (0x666, 0x13000)])
    trace.nodes([(0x10010, 32, CACHE, 3), (0x12000, 48, ENTRIES, 2)])
    trace.edges([0x12000, 0x1F000, 0])
    trace.nodes(
        [
            (0x1F000, 24, STRING, 0),
            (0x40000, 9000, 0x7005, 0),
            (0x13000, 24, STRING, 0),
        ],
        index=1,
    )
    trace.edges([0x10010, 0x7FFF0000], index=1)
    trace.generation(2, 0x10000, 0x3000, 0x10000)
    trace.generation(0, 0x18000, 0x8000, 0x8000)
    trace.generation(3, 0x40000, 0x10000, 0x20000)
    trace.generation(4, 0x60000, 0x10000, 0x10000)
    trace.heap_stats(pinned=True)
    trace.end(2)
    trace.types({ENTRIES: "App.Entry[]", 0x7005: ""})
    trace.start(3)
    trace.end(3)
    trace.point()
    return trace


def large_trace(objects: int, references: int, seed: int = 1) -> bytes:
    """A trace of so many objects, written quickly: a wide tree and some more."""
    trace = NetTrace()
    rng = np.random.default_rng(seed)
    trace.types({0x1000 + 8 * row: f"App.Thing{row}" for row in range(200)})
    trace.start(2)
    address = 0x7000_0000_0000 + 24 * np.arange(objects, dtype=np.uint64)
    trace.roots([(int(address[0]), 0, 0)])
    source = np.concatenate(
        [
            (np.arange(1, objects)) // 3,
            rng.integers(0, objects, references + 1 - objects),
        ]
    )
    target = np.concatenate(
        [np.arange(1, objects), rng.integers(0, objects, references + 1 - objects)]
    )
    order = np.argsort(source, kind="stable")
    nodes = np.zeros(objects, "<u8,<u8,<u8,<u8")
    nodes["f0"], nodes["f1"] = address, rng.integers(24, 200, objects)
    nodes["f2"] = 0x1000 + 8 * rng.integers(0, 200, objects)
    nodes["f3"] = np.bincount(source, minlength=objects)
    edges = np.zeros(references, "<u8,<u4")
    edges["f0"] = address[target[order]]
    pieces = [(18, nodes, 2008), (19, edges, 5354)]
    for index in range(max(objects // 2008, references // 5354) + 1):
        for number, rows, many in pieces:
            _add_rows(trace, number, index, rows[index * many : (index + 1) * many])
        if index % 2:
            trace.flush()
    trace.end(2)
    trace.point()
    return trace.file()


def _add_rows(trace: NetTrace, number: int, index: int, rows: NDArray[np.void]) -> None:
    if len(rows):
        head = struct.pack("<IIH", index, len(rows), CLR)
        trace.event(number, head + rows.tobytes())
