"""Splits a ``.nettrace`` of version 4, 5 or 6 into blocks.

Up to version 5 a block is a FastSerialization object with a size, aligned to four bytes
of the file; from version 6 on it has a header with its kind and size. The stream of a
program that was killed is truncated.

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
from ingest.words.text import counted, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"Nettrace"

_CONTAINER_HEAD = I32.pack(len(CONTAINER)) + CONTAINER
_TRACE = Struct("<16x2qi")  # after the date and time
_TRACE_MORE = Struct("<3i")
_BEGIN = bytes([Tag.BEGIN_PRIVATE, Tag.BEGIN_PRIVATE, Tag.NOTHING])
_LATEST_READER, _LATEST = 5, 6
_LATEST_BLOCK_READER = 2
_LONGEST_NAME_BYTES, _MOST_DIGITS = 256, 9
_LONGEST_TEXT_BYTES = 1 << 16
_SIZE_MASK = 0xFFFFFF


class BlockKind(IntEnum):
    """The contents of a block; the numbers are those of version 6."""

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
        kind: Kind of its contents.
        data: Its bytes.
        offset: Byte offset of ``data`` in the file.
        is_complete: False if the file ends in it.
    """

    kind: BlockKind
    data: bytes
    offset: int
    is_complete: bool = True


class TraceHeader(NamedTuple):
    """The header of a stream.

    Attributes:
        version: Version of the format.
        pointer_bytes: 4 or 8.
        process: Process id; -1 if not recorded.
        ticks: The clock at the start of the trace.
        ticks_per_second: Frequency of the clock.
    """

    version: int
    pointer_bytes: int
    process: int
    ticks: int
    ticks_per_second: int


class Blocks:
    """Iterates once over the blocks of a stream, in file order.

    Attributes:
        header: The header, which is read first.
        truncated_at: Byte offset where a truncated file ends; ``None`` if complete.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.truncated_at: int | None = None
        feed.take(len(MAGIC))
        first = feed.number(U32)
        self._is_6 = first == 0
        if self._is_6:
            version, _ = feed.fixed(Struct("<2I"))
            if version != _LATEST:
                raise self._unsupported(version)
            block = self._next_6()
            if block.kind is not BlockKind.TRACE:
                raise feed.malformed("the stream does not begin with a trace header")
            self.header = self._header_6(block)
        else:
            if U32.pack(first) + feed.take(len(CONTAINER)) != _CONTAINER_HEAD:
                raise feed.malformed("the container of the stream is unknown")
            kind, version, oldest_reader = self._begin()
            if kind is not BlockKind.TRACE:
                raise feed.malformed("the stream does not begin with a trace header")
            if version < 4 or oldest_reader > _LATEST_READER:
                raise self._unsupported(version)
            self.header = self._header(version)
            self._end()
        if self.header.pointer_bytes not in (4, 8):
            raise feed.malformed(
                f"a pointer size of {counted(self.header.pointer_bytes, 'bytes')}"
            )

    def _unsupported(self, version: int) -> MalformedDump:
        return MalformedDump(
            f"version {version} of the format is not supported; update ingest, or "
            "record the trace with other tools",
            path=self._feed.name,
            offset=self._feed.offset,
        )

    def __iter__(self) -> Iterator[Block]:
        """All blocks after the header.

        Raises:
            MalformedDump: a block is malformed.
        """
        try:
            while True:
                block = self._next_6() if self._is_6 else self._next()
                if block.kind is BlockKind.END:
                    return
                yield block
                if not block.is_complete:
                    self.truncated_at = self._feed.offset
                    return
                if not self._is_6:
                    self._end()
        except TruncatedDump as error:
            self.truncated_at = error.offset

    def _next_6(self) -> Block:
        header = self._feed.number(U32)
        size, number = header & _SIZE_MASK, header >> 24
        kind = BlockKind(number) if number in list(BlockKind) else BlockKind.UNKNOWN
        return self._sized(kind, size)

    def _next(self) -> Block:
        feed = self._feed
        kind, version, oldest_reader = self._begin()
        if kind is BlockKind.END:
            return Block(kind, b"", feed.offset)
        if kind is BlockKind.TRACE:
            raise feed.malformed("the stream has two trace headers")
        if kind is not BlockKind.UNKNOWN and oldest_reader > _LATEST_BLOCK_READER:
            raise self._unsupported(version)
        size = feed.count("bytes of a block")
        feed.take(-feed.offset % 4)
        return self._sized(kind, size)

    def _sized(self, kind: BlockKind, size: int) -> Block:
        offset = self._feed.offset
        data = self._feed.up_to(size)
        return Block(kind, data, offset, len(data) == size)

    def _begin(self) -> tuple[BlockKind, int, int]:
        """Kind, version and oldest reader version of the object that begins here."""
        feed = self._feed
        tag = feed.number(U8)
        if tag == Tag.NOTHING:
            return BlockKind.END, 0, 0
        if bytes([tag]) + feed.take(len(_BEGIN) - 1) != _BEGIN:
            raise feed.malformed("expected the start of a block")
        version, oldest_reader, length = feed.fixed(Struct("<3i"))
        if not 0 <= length <= _LONGEST_NAME_BYTES:
            raise feed.malformed(
                f"the name of a block claims {counted(length, 'bytes')}"
            )
        name = feed.take(length).decode("ascii", "replace")
        self._end()
        return _NAMES.get(name, BlockKind.UNKNOWN), version, oldest_reader

    def _end(self) -> None:
        if self._feed.number(U8) != Tag.END:
            raise self._feed.malformed("expected the end of a block")

    def _header(self, version: int) -> TraceHeader:
        ticks, rate, pointer_bytes = self._feed.fixed(_TRACE)
        process, *_ = self._feed.fixed(_TRACE_MORE)
        return TraceHeader(version, pointer_bytes, process, ticks, rate)

    def _header_6(self, block: Block) -> TraceHeader:
        feed = block_feed(block, self._feed.name)
        try:
            ticks, rate, pointer_bytes = feed.fixed(_TRACE)
            process = -1
            for _ in range(feed.count("properties")):
                name, value = (feed.text(_LONGEST_TEXT_BYTES) for _ in range(2))
                number = whole_number(value, _MOST_DIGITS)
                if name == "ProcessId" and number is not None:
                    process = number
        except TruncatedDump as error:
            raise too_short(block, self._feed.name) from error
        return TraceHeader(_LATEST, pointer_bytes, process, ticks, rate)


def block_feed(block: Block, name: str) -> Feed:
    """A cursor over the bytes of a block."""
    return Feed.of_complete([block.data], name, block.offset)


def too_short(block: Block, name: str) -> DumpError:
    """The error to raise for a block that ends before its contents do."""
    error = MalformedDump if block.is_complete else TruncatedDump
    return error(
        "a block is too short for its contents; get the file again",
        path=name,
        offset=block.offset + len(block.data),
    )
