"""Which collections and heap dumps a stream of .NET events holds, while it comes.

Just enough of the nettrace container (versions 4 and 5) for a capture to know when
it is done and whether it is whole: objects and blocks are framed, events counted by
their kind, bulk events by their chunks. No graph is made, and no byte is changed.

Source: microsoft/perfview, src/TraceEvent/EventPipe/NetTraceFormat_v5.md;
src/TraceEvent/Parsers/ClrTraceEventParser.cs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

RUNTIME = "Microsoft-Windows-DotNETRuntime"
OPENING = b"Nettrace" + struct.pack("<I", 20) + b"!FastSerialization.1"
GC_START, GC_END, BULK_TYPE, BULK_NODE, BULK_EDGE, MOVED = 1, 2, 15, 18, 19, 22

_BEGIN, _NULL, _END = 5, 1, 6
_BLOCK_BYTES = 256 << 20
"""Most that one block may have; runtimes make blocks of some 100 KiB."""
_NAME_BYTES = 64
_TIME_BITS = (1 << 64) - 1
_FULL, _BLOCKING, _INDUCED = 2, 0, 1
_NODE = {
    size: np.dtype(
        [("address", f"<u{size}"), ("bytes", "<u8"), ("type", "<u8"), ("edges", "<u8")]
    )
    for size in (4, 8)
}
_READ = ("EventBlock", "MetadataBlock")


@dataclass(slots=True)
class HeapDump:
    """One heap dump in the stream, as far as it came.

    Attributes:
        began: When its first objects were told, in ticks of the program.
        object_count: Objects.
        edge_count: References between them.
        told_edge_count: The references that the objects say they have.
        node_chunks: Chunks of objects that came, and the highest number of one.
        edge_chunks: The same of references.
    """

    began: int
    object_count: int = 0
    edge_count: int = 0
    told_edge_count: int = 0
    node_chunks: list[int] = field(default_factory=lambda: [0, -1])
    edge_chunks: list[int] = field(default_factory=lambda: [0, -1])

    @property
    def is_whole(self) -> bool:
        """Whether every chunk is there, none is missing between or at the end."""
        return self.told_edge_count == self.edge_count and all(
            count == last + 1 for count, last in (self.node_chunks, self.edge_chunks)
        )


class GcEvents:
    """A stream, fed in pieces of any size.

    Attributes:
        dumps: Heap dumps that began, in order.
        gc_count: Collections that are over.
        type_ids: Types that were named.
        used_type_ids: Types of objects in heap dumps.
        counts: Events of the runtime by number.
        is_ended: Whether the end of the stream was seen.
    """

    def __init__(self) -> None:
        self._steps = self._stream()
        self._need = next(self._steps)
        self._rest = bytearray()
        self._offset = 0
        self._kinds: dict[int, int] = {}
        self._begun: dict[int, int] = {}
        self._over: dict[int, int] = {}
        self._pointer_bytes = 8
        self.dumps: list[HeapDump] = []
        self.gc_count = 0
        self.type_ids: set[int] = set()
        self.used_type_ids: set[int] = set()
        self.counts: dict[int, int] = {}
        self.is_ended = False

    @property
    def moved_count(self) -> int:
        """Events that tell of moved objects."""
        return self.counts.get(MOVED, 0)

    @property
    def finished_count(self) -> int:
        """Heap dumps whose collection is over.

        Told by time, for events of several threads do not come in their order: with
        server collections the start of one comes after its objects and its end.
        """
        spans = [
            (start, self._over[count])
            for count, start in self._begun.items()
            if count in self._over
        ]
        return sum(
            any(start <= dump.began <= end for start, end in spans)
            for dump in self.dumps
        )

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the stream.

        Raises:
            CaptureError: they are no such stream.
        """
        self._rest += piece
        while not self.is_ended and len(self._rest) >= self._need:
            taken = bytes(self._rest[: self._need])
            del self._rest[: self._need]
            self._offset += len(taken)
            try:
                self._need = self._steps.send(taken)
            except StopIteration:
                self.is_ended = True
            except (struct.error, IndexError, ValueError) as error:
                raise self._strange("an event is cut short") from error

    def _stream(self) -> Generator[int, bytes, None]:
        """The container; yields the bytes it needs next, and is sent them."""
        if (yield len(OPENING)) != OPENING:
            raise self._strange("it does not begin as a stream of events")
        while (tag := (yield 1)[0]) != _NULL:
            if tag != _BEGIN:
                raise self._strange(f"tag {tag} where an object begins")
            _, _, _, _, length = struct.unpack("<BBiii", (yield 14))
            if not 0 < length <= _NAME_BYTES:
                raise self._strange(f"a name of {length} bytes")
            name = ((yield length + 1)[:-1]).decode("ascii", "replace")
            if name == "Trace":
                self._pointer_bytes = struct.unpack_from("<i", (yield 48), 32)[0]
                if self._pointer_bytes not in (4, 8):
                    raise self._strange(f"pointers of {self._pointer_bytes} bytes")
            else:
                size = struct.unpack("<i", (yield 4))[0]
                if not 0 <= size <= _BLOCK_BYTES:
                    raise self._strange(f"a block of {size} bytes")
                yield -self._offset % 4
                block = yield size
                if name in _READ:
                    self._read_block(block, is_metadata=name == "MetadataBlock")
            if (tag := (yield 1)[0]) != _END:
                raise self._strange(f"tag {tag} where an object ends")

    def _read_block(self, block: bytes, *, is_metadata: bool) -> None:
        header_bytes, flags = struct.unpack_from("<hh", block)
        blobs = _compressed if flags & 1 else _plain
        for metadata_id, time, payload in blobs(block, header_bytes):
            if is_metadata:
                self._declare(payload)
            elif kind := self._kinds.get(metadata_id):
                self._event(kind, time, payload)

    def _declare(self, payload: bytes) -> None:
        """Learn the number of an event of the runtime."""
        start = 4
        provider = RUNTIME.encode("utf-16-le") + b"\0\0"
        if payload[start : start + len(provider)] == provider:
            metadata_id, kind = struct.unpack("<i", payload[:4])[0], len(provider) + 4
            self._kinds[metadata_id] = struct.unpack_from("<i", payload, kind)[0]

    def _event(self, kind: int, time: int, payload: bytes) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if kind == GC_START and len(payload) >= 16:
            count, generation, reason, type_ = struct.unpack_from("<4I", payload)
            if (generation, reason, type_) == (_FULL, _INDUCED, _BLOCKING):
                self._begun[count] = time
        elif kind == GC_END:
            self.gc_count += 1
            self._over[struct.unpack_from("<I", payload)[0]] = time
        elif kind == BULK_TYPE:
            self._types(payload)
        elif kind == BULK_NODE:
            self._nodes(time, payload)
        elif kind == BULK_EDGE and self.dumps:
            index, count = struct.unpack_from("<II", payload)
            dump = self.dumps[-1]
            dump.edge_count += count
            _note(dump.edge_chunks, index)

    def _nodes(self, time: int, payload: bytes) -> None:
        index, count = struct.unpack_from("<II", payload)
        if index == 0 or not self.dumps:
            self.dumps.append(HeapDump(time))
        dump = self.dumps[-1]
        _note(dump.node_chunks, index)
        layout = _NODE[self._pointer_bytes]
        nodes = np.frombuffer(payload, layout, count, offset=10)
        dump.object_count += count
        dump.told_edge_count += int(nodes["edges"].sum())
        self.used_type_ids.update(np.unique(nodes["type"]).tolist())

    def _types(self, payload: bytes) -> None:
        at = 6
        for _ in range(struct.unpack_from("<I", payload)[0]):
            self.type_ids.add(struct.unpack_from("<Q", payload, at)[0])
            at += 25
            while payload[at] or payload[at + 1]:
                at += 2
            at += 6 + 8 * struct.unpack_from("<I", payload, at + 2)[0]

    def _strange(self, why: str) -> CaptureError:
        return CaptureError(
            f"the events that the program sends make no sense at byte "
            f"{self._offset:,} ({why}); try again, and report it if it stays"
        )


def _note(chunks: list[int], index: int) -> None:
    """Count a chunk of that number."""
    chunks[0] += 1
    chunks[1] = max(chunks[1], index)


def _number(block: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = block[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _compressed(block: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    """Events of a block with short headers: what is not told stays as before."""
    metadata_id = payload_bytes = time = 0
    while at < len(block):
        flags = block[at]
        at += 1
        if flags & 1:
            metadata_id, at = _number(block, at)
        numbers = 3 * (flags >> 1 & 1) + (flags >> 2 & 1) + (flags >> 3 & 1)
        for _ in range(numbers):  # sequence, threads, processor, stack
            at = _number(block, at)[1]
        passed, at = _number(block, at)
        time = (time + passed) & _TIME_BITS  # it may go back, too
        at += 16 * ((flags >> 4 & 1) + (flags >> 5 & 1))
        if flags & 128:
            payload_bytes, at = _number(block, at)
        if at + payload_bytes > len(block):
            raise ValueError(at)
        yield metadata_id & 0x7FFF_FFFF, time, block[at : at + payload_bytes]
        at += payload_bytes


def _plain(block: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    """Events of a block with whole headers."""
    while at < len(block):
        metadata_id = struct.unpack_from("<I", block, at + 4)[0]
        time = struct.unpack_from("<q", block, at + 36)[0]
        payload_bytes = struct.unpack_from("<i", block, at + 76)[0]
        start = at + 80
        if not 0 <= payload_bytes <= len(block) - start:
            raise ValueError(payload_bytes)
        yield metadata_id & 0x7FFF_FFFF, time, block[start : start + payload_bytes]
        at = start + payload_bytes
        at += -at % 4
