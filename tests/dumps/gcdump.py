"""A small writer of ``.gcdump`` files: tests write the dumps that they read."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

MAGIC = b"!FastSerialization.1"
NULL, REFERENCE, FORWARD, BEGIN, END, DEFINITION = b"\1", b"\2", b"\3", b"\4", b"\6", 7


def i32(value: int) -> bytes:
    return struct.pack("<i", value)


def i64(value: int) -> bytes:
    return struct.pack("<q", value)


def text(value: str | None) -> bytes:
    """A length in UTF-16 units, then each unit in UTF-8."""
    if value is None:
        return i32(-1)
    wide = value.encode("utf-16-le", "surrogatepass")
    units = struct.unpack(f"<{len(wide) // 2}H", wide)
    return i32(len(units)) + b"".join(
        chr(unit).encode("utf-8", "surrogatepass") for unit in units
    )


def number(value: int) -> bytes:
    """Big-endian, seven bits a byte, the first of which is the sign."""
    out = [value & 0x7F]
    value >>= 7
    while value not in (0, -1) or (out[-1] & 0x40 != 0) != (value == -1):
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(reversed(out))


@dataclass
class GcDump:
    """One dump; types, nodes and segments are numbered from 0 as they are added.

    `file` notes in ``places`` where parts of the file begin.
    """

    version: int = 10
    least_reader: int = 8
    graph_reader: int = 0
    graph_version: int = 0
    root: int = 0
    process: str = "App"
    tool: str | None = None
    average: tuple[float, float] = (1.0, 1.0)
    by_type: Sequence[float] = ()
    log: str = "what the collector said\r\n"
    types: list[tuple[str | None, int, str | None]] = field(default_factory=list)
    nodes: list[bytes] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    undefined: set[int] = field(default_factory=set)
    segments: list[tuple[int, ...]] | None = None
    segment_version: int = 1
    deferred: list[tuple[int, str, str]] = field(default_factory=list)
    interop: bytes = NULL
    later: bytes = b""
    extra: bytes = b""
    edge_count: int = 0
    places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.type("UNDEFINED", 0)

    def type(self, name: str | None, size: int, module: str | None = None) -> int:
        self.types.append((name, size, module))
        return len(self.types) - 1

    def node(
        self,
        type_index: int,
        address: int,
        children: Iterable[int] = (),
        size: int | None = None,
    ) -> int:
        """Add a node; its size is its type's if none is given."""
        at, held = len(self.nodes), list(children)
        self.nodes.append(
            number(type_index << 1 | (size is not None))
            + (b"" if size is None else number(size))
            + number(len(held))
            + b"".join(number(child - at) for child in held)
        )
        self.addresses.append(address)
        self.edge_count += len(held)
        return at

    def missing(self, address: int) -> int:
        """Add a node that was never seen."""
        self.undefined.add(len(self.nodes))
        return self.node(0, address)

    def graph(self) -> bytes:
        blob, offsets = bytearray(b"\0\0"), []
        for row, node in enumerate(self.nodes):
            offsets.append(0 if row in self.undefined else len(blob))
            blob += b"" if row in self.undefined else node
        return b"".join(
            [
                i64(0),
                i32(self.root),
                i32(len(self.types)),
                *(text(name) + i32(size) + text(m) for name, size, m in self.types),
                i32(len(offsets)),
                *map(i32, offsets),
                i32(len(blob)),
                blob,
            ]
        )

    def addresses_told(self) -> bytes:
        told = [struct.pack("<Q", address) for address in self.addresses]
        return i32(len(told)) + b"".join(told)

    def file(self, graph: Callable[[], bytes] | None = None) -> bytes:
        """The whole file."""
        out = _Out(self.places)
        out.begin("GCHeapDump", self.version, self.least_reader)
        out.note("graph")
        out.begin("Graphs.MemoryGraph", self.graph_version, self.graph_reader)
        out.note("fields of graph")
        out += (graph or self.graph)()
        if self.graph_reader >= 1:
            end = out.region()
            out += i32(len(self.deferred))
            for type_id, path, suffix in self.deferred:
                out += i32(type_id)
                out.begin("Graphs.Module", 0, 0)
                out += text(path) + i64(1) + i64(2) + i64(3) + text("App.pdb")
                out += b"\0" * 16 + i32(7) + END
                out += text(suffix)
            out += END + self.later
            end()
        out.note("addresses")
        out += self.addresses_told()
        out.note("end of graph")
        out += b"\x08\x01" + END
        if self.version < 8:
            self._old_information(out)
        else:
            self._information(out)
        out += self.extra + END
        return out.closed()

    def _process(self) -> bytes:
        return b"".join(
            [
                text(self.log),
                i64(635_560_000_000_000_000),
                text("machine"),
                text(self.process),
                i32(4711),
                i64(1 << 30),
                i64(1 << 20),
            ]
        )

    def _old_information(self, out: _Out) -> None:
        out += 3 * i64(0) + b"\0"
        if self.version >= 5:
            out += self._process()
        if self.version >= 6:
            self._segments(out)
        if self.version >= 7:
            out += b"\1"

    def _information(self, out: _Out) -> None:
        out += b"\1" + struct.pack("<2f", *self.average) + NULL
        out.note("heap")
        if self.segments is None:
            out += NULL
        else:
            out.begin("DotNetHeapInfo", 0, 0)
            out += i64(0)
            self._segments(out)
            out += END
        out += self._process()
        out.note("multipliers")
        out += i32(len(self.by_type))
        out += struct.pack(f"<{len(self.by_type)}f", *self.by_type)
        out += b"\x0c"
        out.note("region")
        end = out.region()
        out += self.interop
        end()
        if self.tool is not None:
            out += b"\x0d" + text(self.tool)

    def _segments(self, out: _Out) -> None:
        out += i32(len(self.segments or ()))
        for segment in self.segments or ():
            out.note("segment")
            out.begin("GCHeapDumpSegment", self.segment_version, 0)
            width = 7 if self.segment_version else 6
            out += struct.pack(f"<{width}Q", *segment[:width]) + END


class _Out:
    """A file as it grows; types are told once."""

    def __init__(self, places: dict[str, int]) -> None:
        self.data = bytearray(i32(len(MAGIC)) + MAGIC)
        self._places = places
        self._types: dict[str, int] = {}
        self._forward: list[int] = []

    def __iadd__(self, more: bytes) -> _Out:
        self.data += more
        return self

    def note(self, what: str) -> None:
        self._places[what] = len(self.data)

    def begin(self, name: str, version: int, least_reader: int) -> None:
        self.data += BEGIN
        if name in self._types:
            self.data += REFERENCE + i32(self._types[name])
            return
        self._types[name] = len(self.data)
        self.data += BEGIN + NULL + i32(version) + i32(least_reader) + text(name) + END

    def region(self) -> Callable[[], None]:
        """Begin a region that a reader can pass over; what is returned ends it."""
        at = len(self._forward)
        self._forward.append(0)
        self.data += i32(at)

        def end() -> None:
            self._forward[at] = len(self.data)

        return end

    def closed(self) -> bytes:
        self.data += END
        table = len(self.data)
        self.note("table")
        self.data += i32(len(self._forward)) + b"".join(map(i32, self._forward))
        trailer = len(self.data)
        self.data += i32(table) + i32(trailer)
        return bytes(self.data)


def program() -> GcDump:
    """A little of all that a real dump has.

    Nodes 0 to 8 are pseudo nodes, 9 a cache, 10 its entries, 11 a large array of the
    same type, 12 a string, 13 garbage, 14 was never seen.
    """
    dump = GcDump(
        tool="dotnet-gcdump",
        segments=[
            (0x10000, 0x20000, 0x20000, 0x18000, 0x11000, 0, 0),
            (0x40000, 0x50000, 0, 0, 0, 0x50000, 0),
            (0x60000, 0x70000, 0, 0, 0, 0, 0x70000),
            (0x30000, 0x38000, 0, 0, 0x38000, 0, 0),
        ],
    )
    pseudo = [
        "[.NET Roots]",
        "[static vars]",
        "[static var App.Cache.<App.ICache.Entries>k__BackingField]",
        "[other roots]",
        "[Pinned handles]",
        "[finalizer Handles]",
        "[local vars]",
        "[COM/WinRT Objects]",
        "[appdomain App]",
    ]
    kinds = [dump.type(name, 0) for name in pseudo]
    cache = dump.type("App.Cache", 32, "App.dll")
    array = dump.type("System.Object[]", -1, "mscorlib.dll")
    large = dump.type(
        "System.Object[] (Bytes > 10K,Ptrs,ElemSize=8)", -1, "mscorlib.dll"
    )
    string = dump.type("System.String", 24, "mscorlib.dll")
    for kind, children in zip(
        kinds,
        [[1, 3, 6, 9], [2], [10, 9], [4, 5, 7, 8], [11], [12], [12, 14], [12], [9]],
        strict=True,
    ):
        dump.node(kind, 0, children)
    dump.node(cache, 0x10010, [10, 12])
    dump.node(array, 0x12000, [11, 12, 12, 14], 48)
    dump.node(large, 0x40000, [9, 0], 20_000)
    dump.node(string, 0x1F000)
    dump.node(cache, 0x30000, [9])
    dump.missing(0x7FFF0000)
    return dump


def large_dump(objects: int, references: int, seed: int = 1) -> bytes:
    """A dump of so many objects, written quickly: a wide tree and some more.

    Each node has a size of its own and says so in a fixed number of bytes.
    """
    dump = GcDump(tool="dotnet-gcdump")
    dump.type("[.NET Roots]", 0)
    for row in range(200):
        dump.type(f"App.Thing{row}", -1, "App.dll")
    rng = np.random.default_rng(seed)
    parent = np.arange(1, objects + 1) // 3
    more = rng.integers(0, objects + 1, (2, references - objects))
    source = np.concatenate([parent, more[0]])
    target = np.concatenate([np.arange(1, objects + 1), np.maximum(more[1], 1)])
    order = np.argsort(source, kind="stable")
    source, target = source[order], target[order]
    counts = np.bincount(source, minlength=objects + 1)
    kind = rng.integers(2, 202, objects + 1)
    kind[0] = 1
    blob, offsets = _blob(kind, counts, source, target, rng)

    def graph() -> bytes:
        return b"".join(
            [
                i64(0),
                i32(0),
                i32(len(dump.types)),
                *(text(name) + i32(size) + text(m) for name, size, m in dump.types),
                i32(objects + 1),
                offsets.astype("<u4").tobytes(),
                i32(len(blob)),
                blob,
            ]
        )

    address = 0x10000 + 24 * np.arange(objects + 1, dtype=np.uint64)
    address[0] = 0
    told = i32(objects + 1) + address.astype("<u8").tobytes()
    dump.addresses_told = lambda: told  # type: ignore[method-assign]
    return dump.file(graph)


def _blob(
    kind: NDArray[np.int64],
    counts: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[bytes, NDArray[np.int64]]:
    """Records whose numbers all have five bytes, but for the root's size of 0."""
    size = rng.integers(24, 200, len(kind))
    size[0] = 0
    begin = np.cumsum(3 + counts) - (3 + counts)
    numbers = np.empty(int((3 + counts).sum()), np.int64)
    numbers[begin], numbers[begin + 1], numbers[begin + 2] = kind << 1 | 1, size, counts
    place = (
        begin[source]
        + 3
        + np.arange(len(source))
        - (np.cumsum(counts) - counts)[source]
    )
    numbers[place] = target - source
    width = np.where((numbers >= -64) & (numbers < 64), 1, 5)
    out = np.empty((len(numbers), 5), np.uint8)
    for byte in range(5):
        part = numbers >> (7 * (4 - byte)) & 0x7F
        out[:, byte] = part | (0x80 if byte < 4 else 0)
    keep = np.arange(5) >= (5 - width)[:, None]
    ends = np.cumsum(width)
    return b"\0\0" + out[keep].tobytes(), 2 + (ends - width)[begin]
