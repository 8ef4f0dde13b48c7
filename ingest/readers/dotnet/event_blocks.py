"""The blocks of a ``.nettrace``, versions 4, 5 and 6, whatever wraps them.

Up to version 5 a stream is objects of FastSerialization, each a block with its size,
aligned to four bytes of the file; from 6 on blocks have a kind and a size of their
own. A program that is killed leaves a stream without its end: so do not all.

Source: microsoft/perfview, src/TraceEvent/EventPipe, NetTraceFormat_v5.md and
NetTraceFormat.md.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.readers.dotnet.fastserialization import MAGIC as CONTAINER
from ingest.readers.dotnet.fastserialization import Tag
from ingest.readers.shared.binary import I32, U8, U32, Feed

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"Nettrace"

_CONTAINER_HEAD = I32.pack(len(CONTAINER)) + CONTAINER
_TRACE = Struct("<8h2qi")
_TRACE_MORE = Struct("<3i")
_BEGIN = bytes([Tag.BEGIN_PRIVATE, Tag.BEGIN_PRIVATE, Tag.NOTHING])
_LATEST_READER, _LATEST = 5, 6
_LATEST_BLOCK_READER = 2
_LONGEST_NAME_BYTES = 256
_LONGEST_TEXT_BYTES = 1 << 16
_SIZE_6 = 0xFFFFFF


class BlockKind(IntEnum):
    """What a block has; the numbers are those of version 6."""

    END = 0
    TRACE = 1
    EVENTS = 2
    METADATA = 3
    SEQUENCE_POINT = 4
    STACKS = 5
    THREADS = 6
    REMOVED_THREADS = 7
    LABELS = 8
    UNKNOWN = 255


_NAMES = {
    "Trace": BlockKind.TRACE,
    "EventBlock": BlockKind.EVENTS,
    "MetadataBlock": BlockKind.METADATA,
    "SPBlock": BlockKind.SEQUENCE_POINT,
    "StackBlock": BlockKind.STACKS,
}


class Block(NamedTuple):
    """A block.

    Attributes:
        kind: What it has.
        data: Its bytes.
        offset: Where they stand in the file.
        whole: False where the file ends in it.
    """

    kind: BlockKind
    data: bytes
    offset: int
    whole: bool = True


class Trace(NamedTuple):
    """What a stream tells of itself.

    Attributes:
        version: Of the format.
        pointer_bytes: 4 or 8.
        process: Number of the process; -1 if not told.
        utc: Year, month, day of the week, day, hour, minute, second, millisecond.
        ticks: The clock at that moment.
        ticks_per_second: How fast it is.
    """

    version: int
    pointer_bytes: int
    process: int
    utc: tuple[int, ...]
    ticks: int
    ticks_per_second: int


class Blocks:
    """The blocks of a stream, once, in the order of the file.

    Attributes:
        trace: What the stream tells of itself; known from the beginning.
        cut_at: Where the file ends before its end was told; ``None`` if it did not.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.cut_at: int | None = None
        feed.take(len(MAGIC))
        first = feed.number(U32)
        self._is_6 = first == 0
        if self._is_6:
            version, _ = feed.fixed(Struct("<2I"))
            if version != _LATEST:
                raise self._unknown(version)
            block = self._next_6()
            if block.kind is not BlockKind.TRACE:
                raise feed.malformed("the stream does not begin with what it is")
            self.trace = self._trace_6(block)
        else:
            if U32.pack(first) + feed.take(len(CONTAINER)) != _CONTAINER_HEAD:
                raise feed.malformed("the stream is in no container that is known")
            kind, version, least_reader = self._begin()
            if kind is not BlockKind.TRACE:
                raise feed.malformed("the stream does not begin with what it is")
            if version < 4 or least_reader > _LATEST_READER:
                raise self._unknown(version)
            self.trace = self._trace(version)
            self._end()
        if self.trace.pointer_bytes not in (4, 8):
            raise feed.malformed(f"pointers have {self.trace.pointer_bytes} bytes")

    def _unknown(self, version: int) -> MalformedDump:
        return MalformedDump(
            f"version {version} of the format is not read here; update ingest, or "
            "record the trace with other tools",
            path=self._feed.name,
            offset=self._feed.offset,
        )

    def __iter__(self) -> Iterator[Block]:
        """All blocks but the first.

        Raises:
            MalformedDump: something else stands where one should.
        """
        try:
            while True:
                block = self._next_6() if self._is_6 else self._next()
                if block.kind is BlockKind.END:
                    return
                yield block
                if not block.whole:
                    self.cut_at = self._feed.offset
                    return
                if not self._is_6:
                    self._end()
        except TruncatedDump as error:
            self.cut_at = error.offset

    def _next_6(self) -> Block:
        header = self._feed.number(U32)
        size, number = header & _SIZE_6, header >> 24
        known = BlockKind(number) if number in list(BlockKind) else BlockKind.UNKNOWN
        return self._sized(known, size)

    def _next(self) -> Block:
        feed = self._feed
        kind, version, least_reader = self._begin()
        if kind is BlockKind.END:
            return Block(kind, b"", feed.offset)
        if kind is BlockKind.TRACE:
            raise feed.malformed("the stream tells twice what it is")
        if kind is not BlockKind.UNKNOWN and least_reader > _LATEST_BLOCK_READER:
            raise self._unknown(version)
        size = feed.count("bytes of a block")
        feed.take(-feed.offset % 4)
        return self._sized(kind, size)

    def _sized(self, kind: BlockKind, size: int) -> Block:
        at = self._feed.offset
        data = self._feed.up_to(size)
        return Block(kind, data, at, len(data) == size)

    def _begin(self) -> tuple[BlockKind, int, int]:
        """Kind, version and least reader of the object that begins here."""
        feed = self._feed
        tag = feed.number(U8)
        if tag == Tag.NOTHING:
            return BlockKind.END, 0, 0
        if bytes([tag]) + feed.take(len(_BEGIN) - 1) != _BEGIN:
            raise feed.malformed("no block begins where one should")
        version, least_reader, length = feed.fixed(Struct("<3i"))
        if not 0 <= length <= _LONGEST_NAME_BYTES:
            raise feed.malformed(f"the name of a block claims {length:,} bytes")
        name = feed.take(length).decode("ascii", "replace")
        self._end()
        return _NAMES.get(name, BlockKind.UNKNOWN), version, least_reader

    def _end(self) -> None:
        if self._feed.number(U8) != Tag.END:
            raise self._feed.malformed("a block does not end where it should")

    def _trace(self, version: int) -> Trace:
        feed = self._feed
        *utc, ticks, rate, pointer_bytes = feed.fixed(_TRACE)
        process, *_ = feed.fixed(_TRACE_MORE)
        return Trace(version, pointer_bytes, process, tuple(utc), ticks, rate)

    def _trace_6(self, block: Block) -> Trace:
        feed = inside(block, self._feed.name)
        try:
            *utc, ticks, rate, pointer_bytes = feed.fixed(_TRACE)
            process = -1
            for _ in range(feed.count("properties")):
                name, value = (feed.text(_LONGEST_TEXT_BYTES) for _ in range(2))
                if name == "ProcessId" and value.isdecimal() and len(value) < 10:
                    process = int(value)
        except TruncatedDump as error:
            raise cut_inside(block, self._feed.name) from error
        return Trace(_LATEST, pointer_bytes, process, tuple(utc), ticks, rate)


def inside(block: Block, name: str) -> Feed:
    """A window on a block."""
    return Feed.whole([block.data], name, block.offset)


def cut_inside(block: Block, name: str) -> DumpError:
    """An error about a block that ends before what it has, to be raised."""
    error = MalformedDump if block.whole else TruncatedDump
    return error(
        "a block ends before what it has; get the file again",
        path=name,
        offset=block.offset + len(block.data),
    )
