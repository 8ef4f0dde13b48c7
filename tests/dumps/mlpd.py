"""Writes logs of Mono's log profiler, event by event."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from random import Random

from tests.dumps.perfetto import uleb

STACK, STATIC, THREAD_STATIC, HANDLE = 1, 3, 4, 6
"""Sources of regions."""
_GC, _METADATA, _HEAP = 1, 2, 6
_POINTERS, _OBJECTS = 0x7F00_0000_0000, 0x7F10_0000_0000 >> 3


def sleb(value: int) -> bytes:
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


def pointer(value: int) -> bytes:
    return sleb(value - _POINTERS)


def address(value: int) -> bytes:
    return sleb((value >> 3) - _OBJECTS)


def text(value: str) -> bytes:
    return value.encode() + b"\0"


@dataclass
class Buffer:
    """A buffer of a thread, in the order of its events."""

    thread: int = 1
    began_ns: int = 1000
    version: int = 17
    events: bytearray = field(default_factory=bytearray)

    def event(
        self, kind: int, more: int, content: bytes = b"", step: int = 1
    ) -> Buffer:
        self.events += bytes([kind | more << 4]) + uleb(step) + content
        return self

    def cls(self, at: int, name: str) -> Buffer:
        told = b"\1" + pointer(at) + pointer(at + 8) + text(name)
        return self.event(_METADATA, 2, told)

    def vtable(self, at: int, of: int) -> Buffer:
        return self.event(_METADATA, 2, b"\7" + pointer(at) + pointer(1) + pointer(of))

    def begin(self) -> Buffer:
        return self.event(_HEAP, 0)

    def end(self) -> Buffer:
        return self.event(_HEAP, 1)

    def obj(
        self, at: int, kind: int, size: int, *refs: tuple[int, int], young: bool = False
    ) -> Buffer:
        """An object; its references by their offsets, ascending."""
        told = address(at) + pointer(kind) + uleb(size)
        told += bytes([not young]) if self.version >= 16 else b""
        told += uleb(len(refs))
        before = 0
        for offset, target in refs:
            told += uleb(offset - before) + address(target)
            before = offset
        return self.event(_HEAP, 2, told)

    def roots(self, *held: tuple[int, int]) -> Buffer:
        """Objects by the addresses of their roots."""
        told = b"".join(pointer(at) + address(target) for at, target in held)
        return self.event(_HEAP, 3, uleb(len(held)) + told)

    def old_roots(self, *held: tuple[int, int]) -> Buffer:
        """Objects by the kinds of their roots."""
        told = b"".join(address(one) + uleb(kind) + uleb(0) for kind, one in held)
        return self.event(_HEAP, 3, uleb(len(held)) + uleb(1) + told)

    def region(self, at: int, size: int, source: int, owner: int = 0) -> Buffer:
        told = pointer(at) + uleb(size) + bytes([source]) + pointer(owner)
        return self.event(_HEAP, 4, told + text("a region"))

    def no_region(self, at: int) -> Buffer:
        return self.event(_HEAP, 5, pointer(at))

    def moves(self, *pairs: tuple[int, int]) -> Buffer:
        told = b"".join(address(one) for pair in pairs for one in pair)
        return self.event(_GC, 3, uleb(2 * len(pairs)) + told)

    def bytes(self) -> bytes:
        bases = (self.began_ns, _POINTERS, _OBJECTS, self.thread, 0)
        head = struct.pack("<Ii5q", 0x4D504C01, len(self.events), *bases)
        return head + bytes(self.events)


def log(*buffers: Buffer, version: int = 17) -> bytes:
    """A log of buffers."""
    major = 3 if version >= 17 else 2
    out = struct.pack("<I4Bq", 0x4D505A01, major, 0, version, 8, 1_700_000_000_000)
    out += struct.pack("<q", 5) if major >= 3 else b""
    out += struct.pack("<3iH", 16, 0, 4711, 0)
    for told in ("log:heapshot", "x86-64", "linux"):
        out += struct.pack("<i", len(told) + 1) + text(told)
    return out + b"".join(buffer.bytes() for buffer in buffers)


CLASS, VTABLE, STATICS = 0x7F00_0000_1000, 0x7F00_0000_2000, 0x7F00_0000_4000
STACKS, HANDLES = 0x7F00_0100_0000, 0x7F00_0200_0000
HEAP = 0x7F10_0000_0000
NAMES = (
    "Shop.Program",
    "Shop.Order",
    "System.Object[]",
    "System.Collections.Generic.List<Shop.Order>",
    "System.String",
)
PROGRAM, ORDER, ARRAY, LIST, STRING = range(len(NAMES))


def classes(buffer: Buffer) -> Buffer:
    """The classes of `NAMES`, and a vtable of each but the first."""
    for row, name in enumerate(NAMES):
        buffer.cls(CLASS + 64 * row, name)
        if row and buffer.version >= 15:
            buffer.vtable(VTABLE + 64 * row, CLASS + 64 * row)
    return buffer


def vtable(row: int, version: int = 17) -> int:
    return (VTABLE if version >= 15 else CLASS) + 64 * row


def orders(buffer: Buffer, first: int, end: int, capacity: int) -> Buffer:
    """A list, its array, and orders with a name each; returns it after the objects."""
    version = buffer.version
    held = [(32 + 8 * at, HEAP + 0x10000 + 64 * at) for at in range(first, end)]
    buffer.obj(HEAP, vtable(LIST, version), 40, (16, HEAP + (capacity << 24)))
    for at in range(0, max(len(held), 1), 100):
        size = 32 + 8 * capacity if not at else 0
        array = HEAP + (capacity << 24)
        buffer.obj(array, vtable(ARRAY, version), size, *held[at : at + 100])
    for _, order in held:
        buffer.obj(order, vtable(ORDER, version), 32, (16, order + 32))
        buffer.obj(order + 32, vtable(STRING, version), 32)
    return buffer


def shop(version: int = 17, many: int = 150) -> list[Buffer]:
    """A program whose orders are kept: two heapshots, one with twice as many.

    Its classes come after the first heapshot, in a buffer of another thread that is
    later in the file; a collection moves the array between the two.
    """
    regions = Buffer(thread=9, began_ns=500, version=version)
    regions.region(STATICS, 64, STATIC, CLASS).region(STACKS, 4096, STACK)
    regions.region(HANDLES, 8, HANDLE).no_region(HANDLES).region(HANDLES, 8, HANDLE)
    shots = [Buffer(began_ns=1000 * at, version=version) for at in (1, 9)]
    for at, buffer in enumerate(shots):
        end, capacity = many * (at + 1), 1000 + at
        buffer.begin()
        if at:
            moved = (HEAP + (1000 << 24), HEAP + (1001 << 24))
            buffer.moves(moved)
        if version >= 15:
            buffer.roots((STATICS + 8, HEAP), (STACKS + 64, HEAP + 0x10000))
            buffer.roots((HANDLES, HEAP + 0x10000), (STATICS + 8, HEAP))
        else:
            buffer.old_roots((3, HEAP), (0x100, HEAP + 0x10000))
        orders(buffer, 0, end, capacity)
        buffer.end()
    names = classes(Buffer(thread=9, began_ns=600, version=version))
    return [regions, shots[0], names, shots[1]]


def example() -> bytes:
    return log(*shop())


def large_log(objects: int, references: int, seed: int = 1) -> bytes:
    """A heapshot of so many objects: a wide tree and more references, of 4 classes."""
    rng = Random(seed)
    held: list[list[int]] = [[] for _ in range(objects)]
    for row in range(1, objects):
        held[row // 3].append(row)
    for _ in range(references - objects + 1):
        held[rng.randrange(objects)].append(rng.randrange(objects))
    buffers = [classes(Buffer().region(STACKS, 8, STACK))]
    shot = Buffer(began_ns=5000).begin().moves((8, 16)).roots((STACKS, HEAP))
    for row, targets in enumerate(held):
        if len(shot.events) > 60_000:
            buffers.append(shot)
            shot = Buffer(began_ns=5000 + row)
        refs = [(16 + 8 * i, HEAP + 32 * one) for i, one in enumerate(targets)]
        shot.obj(HEAP + 32 * row, vtable(1 + row % 4), 24 + row % 40, *refs[:120])
    return log(*buffers, shot.end())
