"""Reads a PyHeap file: its tables one by one, its objects window by window."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import TruncatedDump
from ingest.readers.cpython.facts import Frame, Thread
from ingest.readers.pyheap import MAGIC, VERSION
from ingest.readers.pyheap.assembly import assemble
from ingest.readers.pyheap.records import PyHeapRecords
from ingest.readers.pyheap.scan import (
    BYTES,
    FAULT,
    FAULTS,
    LENGTH,
    NAMED,
    OBJECTS,
    PLACE,
    REFERENCES,
    TEXTS,
    WELL_KNOWN,
    ObjectBuffers,
    Told,
    buffers_for,
    scan,
)
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.columns import GrowingColumn
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.words.text import counted

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

_U16, _U32, _U64, _I16 = Struct(">H"), Struct(">I"), Struct(">Q"), Struct(">h")
_WITH_TEXTS = 1
_MOST_OBJECTS = (1 << 31) - 2
_MOST_WELL_KNOWN = 1000
_MOST_FREQUENT = 1 << 15
"""The most names: a name of an attribute is a negative 16-bit number."""
_MOST_COMMON = 1 << 16
_SMALLEST_WINDOW_BYTES = 1 << 16

_COLUMNS: dict[str, type[np.generic]] = {
    "id": np.uint64,
    "type_id": np.uint64,
    "size_bytes": np.int64,
    "length": np.int64,
    "has_dict": np.bool_,
    "ref_count": np.int32,
    "ref_id": np.uint64,
    "ref_field": np.int32,
    "text_object": np.int32,
    "text_end": np.int64,
    "content": np.uint8,
}


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the dump in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 58 bytes an object and 39 a reference, and the texts.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    return assemble(_recorded(source, counter, progress), options.fold, counter)


def _recorded(
    source: Source, counter: IrregularityCounter, progress: Progress
) -> PyHeapRecords:
    """Read the whole file.

    Raises:
        MalformedDump: it contradicts the format, or has no object.
        TruncatedDump: it ends before its first object.
    """
    feed = Feed(source.chunks(progress), source.name)
    found = PyHeapRecords()
    feed.take(len(MAGIC))
    version = feed.number(_U32)
    if version != VERSION:
        raise feed.malformed(
            f"it is of version {version} of the format, not {VERSION}; take a newer "
            "ingest, or"
        )
    found.created = _text(feed)
    found.has_texts = bool(feed.number(_U64) & _WITH_TEXTS)
    for _ in range(_count(feed, "well-known types", _MOST_WELL_KNOWN)):
        name = _text(feed)
        found.well_known[name] = feed.number(_U64)
    found.threads = [_thread(feed, n) for n in range(1, feed.number(_U32) + 1)]
    frequent = [
        _short_text(feed, feed.number(_I16))
        for _ in range(_count(feed, "names of attributes", _MOST_FREQUENT))
    ]
    common = _common_types(feed, len(frequent))
    claimed = _count(feed, "objects", _MOST_OBJECTS)
    if not claimed:
        raise feed.malformed(
            "the file claims no objects, so that the program that wrote it has not "
            "ended its work"
        )
    scanned = _Scanned(found, frequent, common)
    missing = claimed - scanned.read_all(feed, claimed)
    if missing:
        counter.add("truncated_record", 1, 0, feed.offset)
    else:
        _take_end(feed, found, counter)
    scanned.finish()
    if source.truncated:
        counter.add("truncated_compression", 1, 0, feed.offset)
    return found


def _count(feed: Feed, what: str, most: int) -> int:
    count = feed.number(_U32)
    if count > most:
        raise feed.malformed(f"the file claims {counted(count, what)}")
    return count


def _text(feed: Feed) -> str:
    return feed.take(feed.number(_U16)).decode("utf-8", "replace")


def _short_text(feed: Feed, size: int) -> str:
    if size < 0:
        raise feed.malformed("a name has a negative length")
    return feed.take(size).decode("utf-8", "replace")


def _thread(feed: Feed, number: int) -> Thread:
    name = _text(feed) or f"thread {number}"
    feed.take(2)  # whether it is alive, and a daemon
    frames = []
    for _ in range(feed.number(_U32)):
        file, line, function = _text(feed), feed.number(_U32), _text(feed)
        local = [(_text(feed), feed.number(_U64)) for _ in range(feed.number(_U32))]
        frames.append(Frame(f"{function} ({file}:{line})", local))
    return Thread(name, frames)


def _common_types(feed: Feed, frequent: int) -> list[int]:
    """Types whose objects have no attributes of their own in the file."""
    found = []
    for _ in range(_count(feed, "common types", _MOST_COMMON)):
        found.append(feed.number(_U64))
        for _ in range(feed.number(_U32)):
            size = feed.number(_I16)
            if size >= 0:
                feed.take(size)
            elif -1 - size >= frequent:
                raise feed.malformed("an attribute has a name that is not declared")
            feed.take(_U64.size)
    return found


class _Scanned:
    """The columns of all objects, as they are read."""

    def __init__(
        self, found: PyHeapRecords, frequent: list[str], common: list[int]
    ) -> None:
        self._found = found
        self._columns = {
            name: GrowingColumn(np.dtype(kind)) for name, kind in _COLUMNS.items()
        }
        known = [found.well_known.get(name, 0) for name in WELL_KNOWN]
        plain = [bool(name) and not name.startswith("__") for name in frequent]
        self._told = Told(
            np.array(known, np.uint64),
            np.unique(np.array(common, np.uint64)),
            np.array(plain, np.bool_),
            frequent.index("__dict__") if "__dict__" in frequent else -1,
            found.has_texts,
        )
        # An unchecked table may have a name twice.
        self._rows: dict[bytes, int] = {}
        self._frequent = np.array(
            [self._row(name.encode("utf-8", "replace")) for name in frequent], np.int32
        )
        self._objects = self._bytes = 0

    def _row(self, name: bytes) -> int:
        return self._rows.setdefault(name, len(self._rows))

    def read_all(self, feed: Feed, claimed: int) -> int:
        """Read up to ``claimed`` objects, and return how many there are.

        Raises:
            MalformedDump: an object contradicts the format.
            TruncatedDump: there is no object.
        """
        buffers, room = buffers_for(0), 0
        counts, inner = np.zeros(LENGTH + 1, np.int64), np.zeros(LENGTH + 1, np.int64)
        if len(feed.data) - feed.position < _SMALLEST_WINDOW_BYTES:
            feed.grow(_SMALLEST_WINDOW_BYTES)
        while self._objects < claimed:
            data = np.frombuffer(feed.data, np.uint8)
            if len(data) > room:
                room = len(data)
                buffers = buffers_for(room)
            counts[:] = 0
            at = scan(
                data, feed.position, claimed - self._objects, self._told, buffers,
                counts, inner,
            )  # fmt: skip
            self._put(buffers, counts.tolist(), feed.data)
            del data
            feed.position = at
            if fault := int(counts[FAULT]):
                feed.position = int(counts[PLACE])
                raise feed.malformed(FAULTS[fault])
            if self._objects < claimed and not feed.grow():
                break
        if not self._objects:
            raise TruncatedDump(
                "the file ends before its first object; get it again",
                path=feed.name,
                offset=feed.offset,
            )
        return self._objects

    def _put(
        self, buffers: ObjectBuffers, counts: list[int], data: bytes | bytearray
    ) -> None:
        references, texts = counts[REFERENCES], counts[TEXTS]
        self._name(buffers, counts[NAMED], data)
        buffers.text_object[:texts] += self._objects
        buffers.text_end[:texts] += self._bytes
        rows = {
            "ref_id": references,
            "ref_field": references,
            "text_object": texts,
            "text_end": texts,
            "content": counts[BYTES],
        }
        for name, column in self._columns.items():
            many = rows.get(name, counts[OBJECTS])
            column.add(getattr(buffers, name)[:many])
        self._objects += counts[OBJECTS]
        self._bytes += counts[BYTES]

    def _name(
        self, buffers: ObjectBuffers, named: int, data: bytes | bytearray
    ) -> None:
        """Enter the rows of names as fields of the named references."""
        by, sizes = buffers.named_by[:named], buffers.named_bytes[:named]
        rows = np.empty(named, np.int32)
        is_frequent = by >= 0
        rows[is_frequent] = self._frequent[by[is_frequent]]
        told = zip(
            (-1 - by[~is_frequent]).tolist(), sizes[~is_frequent].tolist(), strict=True
        )
        rows[~is_frequent] = [
            self._row(bytes(data[at : at + size])) for at, size in told
        ]
        buffers.ref_field[buffers.named_ref[:named]] = rows

    def finish(self) -> None:
        """Return the columns, and the names that they refer to."""
        taken = {name: column.taken() for name, column in self._columns.items()}
        self._found.columns = taken
        self._found.names = [name.decode("utf-8", "replace") for name in self._rows]


def _take_end(feed: Feed, found: PyHeapRecords, counter: IrregularityCounter) -> None:
    """Read the names of types, and the end of the file.

    Raises:
        MalformedDump: the file does not end as it must.
    """
    try:
        for _ in range(feed.number(_U32)):
            ident = feed.number(_U64)
            name = _text(feed)
            if found.types.setdefault(ident, name) != name:
                counter.add("conflicting_type", 1, 0, feed.offset)
        ended = feed.take(len(MAGIC))
    except TruncatedDump as error:
        counter.add("truncated_record", 1, 0, error.offset)
        return
    if ended != MAGIC:
        raise feed.malformed("the file does not end with its magic number")
    end = feed.offset
    if rest := feed.drain():
        counter.add("trailing_bytes", rest, 0, end)
