"""Reads, and decompresses, the packets of a trace that heap graphs need."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import zstandard

from ingest.errors import DumpError
from ingest.readers.perfetto import COMPRESSED, ZSTD_COMPRESSED
from ingest.readers.perfetto.packets import (
    ALIEN,
    BAD,
    BAD_AT,
    BAD_BYTES,
    COUNT,
    FULL,
    NEEDED,
    WHY,
    find_packets,
)
from ingest.readers.shared.binary import Feed
from ingest.readers.source import EXPANSION_FREE_BYTES, MOST_EXPANSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.arrays.compiled import Bytes
    from ingest.readers.shared.irregularities import IrregularityCounter

_ROWS = 256
_STEP_BYTES = 1 << 12
"""Compressed bytes that are decompressed at once: a few can become many."""
_COMPRESSIONS = frozenset({COMPRESSED, ZSTD_COMPRESSED})


class Packet(NamedTuple):
    """A packet of a trace.

    Attributes:
        data: uint8. Has its content.
        kind: Which field of a packet the content is.
        begin: Where the content begins.
        end: Where it ends.
        sequence: The sequence of the packet.
        timestamp_ns: -1 if it has none.
        offset: Where the packets around it begin in the file.
    """

    data: Bytes
    kind: int
    begin: int
    end: int
    sequence: int
    timestamp_ns: int
    offset: int


class TracePackets:
    """The packets of a trace.

    Args:
        feed: The trace.
        counter: Counts what cannot be read.
        any_expansion: Whether compressed packets may become as large as they like.
    """

    def __init__(
        self, feed: Feed, counter: IrregularityCounter, *, any_expansion: bool
    ) -> None:
        self._feed = feed
        self._counter = counter
        self._any_expansion = any_expansion
        self._stored_bytes = self._content_bytes = 0

    def __iter__(self) -> Iterator[Packet]:
        """All packets, once, also those that are compressed in others.

        Raises:
            DumpError: compressed packets are much larger than any real ones.
        """
        self._feed.grow()
        for packet in self._walk(self._feed):
            if packet.kind not in _COMPRESSIONS:
                yield packet
                continue
            inner = Feed(self._decompressed(packet), self._feed.name)
            inner.grow()
            for one in self._walk(inner, packet.offset):
                if one.kind in _COMPRESSIONS:
                    self._counter.add("malformed_record", 1, 0, packet.offset)
                else:
                    yield one

    def _walk(self, feed: Feed, outer: int | None = None) -> Iterator[Packet]:
        """The packets of a feed, at ``outer`` in the file if they were compressed."""
        counter = self._counter
        rows, found = np.empty((_ROWS, 5), np.int64), np.zeros(6, np.int64)
        while True:
            data, first = np.frombuffer(feed.data, np.uint8), feed.position
            at = feed.offset if outer is None else outer
            stop = find_packets(data, first, rows, found)
            if found[BAD]:
                place = at if outer is not None else at + int(found[BAD_AT]) - first
                counter.add("malformed_record", int(found[BAD]), 0, place)
                counter.add_unread(int(found[BAD_BYTES]), place)
            for kind, begin, end, sequence, time_ns in rows[: found[COUNT]].tolist():
                place = at if outer is not None else at + begin - first
                yield Packet(data, kind, begin, end, sequence, time_ns, place)
            feed.position = stop
            if found[WHY] == FULL:
                continue
            at = feed.offset if outer is None else outer
            if found[WHY] == ALIEN:
                counter.add("unknown_record", 1, 0, at)
                counter.add_unread(feed.drain(), at)
                return
            left = len(data) - stop
            if not feed.grow(max(int(found[NEEDED]) - left, 0) or None):
                if left:
                    kind = "malformed_record" if outer else "truncated_packet"
                    counter.add(kind, 1, 0, at)
                    counter.add_unread(left, at)
                return

    def _decompressed(self, packet: Packet) -> Iterator[bytes]:
        """The content of compressed packets, in pieces.

        Raises:
            DumpError: it is too large.
        """
        stored = packet.data[packet.begin : packet.end]
        decompress: Callable[[bytes], bytes]
        if packet.kind == COMPRESSED:
            decompress = zlib.decompressobj().decompress
        else:
            window = zstandard.ZstdDecompressor(max_window_size=1 << 27)
            decompress = window.decompressobj().decompress
        for at in range(0, len(stored), _STEP_BYTES):
            step = stored[at : at + _STEP_BYTES].tobytes()
            try:
                piece = decompress(step)
            except (zlib.error, zstandard.ZstdError):
                self._counter.add("malformed_record", 1, 0, packet.offset)
                self._counter.add_unread(len(stored) - at, packet.offset)
                return
            self._stored_bytes += len(step)
            self._content_bytes += len(piece)
            most = max(EXPANSION_FREE_BYTES, MOST_EXPANSION * self._stored_bytes)
            if self._content_bytes > most and not self._any_expansion:
                raise DumpError(
                    f"packets are more than {MOST_EXPANSION} times as large as they "
                    "are compressed, which those of no trace are: if you trust it, "
                    "add --allow-any-expansion",
                    path=self._feed.name,
                    offset=packet.offset,
                )
            if piece:
                yield piece
