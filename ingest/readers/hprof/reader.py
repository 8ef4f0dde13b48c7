"""Reads the records of an HPROF file.

A sub-record is read by its own length; the end of its segment only tells where to look
for the next one. Heap dumps of more than 4 GiB have their length modulo 2^32, and files
whose writer could not go back have 0. Such a dump ends at the first record that cannot
be a sub-record.
"""

from __future__ import annotations

from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import Part
from ingest.heap.read_options import DEFAULTS
from ingest.heap.redaction import MARK
from ingest.readers.base import PendingDump
from ingest.readers.hprof import MAGICS
from ingest.readers.hprof.assembly import ANDROID, RecordedFile, StackTable, assemble
from ingest.readers.hprof.classes import ClassTable
from ingest.readers.hprof.columns import RecordedHeap
from ingest.readers.hprof.koom import lacks_elements
from ingest.readers.hprof.names import NameTable
from ingest.readers.hprof.records import (
    ARRAY_ROW,
    CLASSES,
    COUNTS,
    HEAP_INFO,
    NEEDED_CLASS,
    NO_ELEMENTS,
    OBJECTS,
    SEGMENT_BEGIN,
    SEGMENT_BYTES,
    SKIP,
    SPACE,
    STATE,
    WHY,
    HeapBuffers,
    buffers_for,
    close_array,
)
from ingest.readers.hprof.scan import CLASS, END, MORE, UNKNOWN, scan, scan_names
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.original_names import renaming
from ingest.system.memory import thread_count
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor

    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.shared.original_names import Renaming
    from ingest.readers.source import Source

_NAME, _LOAD_CLASS, _FRAME, _TRACE = 1, 2, 4, 5
_HEAP_DUMP, _SEGMENT, _HEAP_DUMP_END = 0x0C, 0x1C, 0x2C
_FLAT_ARRAYS = 0x12
_NOT_NEEDED = frozenset((3, 6, 7, 0x0A, 0x0B, 0x0D, 0x0E, 0x13))
"""Skipped: unloaded classes, sites, a summary, threads, CPU samples, settings, and the
fields of values within fields."""
_HEADER_BYTES = 9
_LONGEST_NAME_RECORD = 1 << 20
_LONGEST_CUT_BYTES = 1 << 20
_SMALLEST_WINDOW_BYTES = 1 << 13
_UNLIMITED, _LATEST_MS = 1 << 62, 1 << 45
_MOST_SPACES = 128
"""The most parts of a heap. Android numbers them A, I, Z, and 0 for none."""
_NAMES_AT_ONCE = 1 << 13
_MANY_OBJECTS = 1 << 10
"""With so many objects in a scan, it pays to store them on another thread."""
_PIECE_BYTES = 1 << 19
"""Small enough that the C library reuses memory, and columns stay in the cache."""


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a dump of ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 34 bytes an object and 14 a reference, and texts;
    less where large columns may be in files.
    """
    wanted = options.part or 0
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    chosen, others = None, []
    dumps = _dumps(source, counter, progress, lambda index: index == wanted, options)
    for dump in dumps:
        if dump.heap is None:
            others.append(Part(dump.number, dump.object_count))
        else:
            chosen = dump
    if chosen is None or chosen.heap is None:
        raise DumpError(
            f"the file has no heap dump {wanted}; info lists those that it has",
            path=source.name,
        )
    part = None
    if others:
        part = Part(wanted, chosen.object_count, is_default=options.part is None)
        if options.part is None:
            counter.add("other_heap_dump", len(others), 0, None)
    return assemble(
        chosen.heap, chosen.file, counter, options.layout,
        part=part, other_parts=tuple(others),
    )  # fmt: skip


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps; see `ingest.readers.base.PartsReader.read_all`.

    Memory: as `read`, for all dumps.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    dumps = _dumps(source, counter, progress, lambda _index: True, options)
    for dump in list(dumps):
        part = Part(dump.number, dump.object_count)
        assert dump.heap is not None
        graph = partial(
            assemble, dump.heap, dump.file, counter.copy(), options.layout, part=part
        )
        yield PendingDump(part, graph)


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of a file, whose objects are only counted."""
    counter = IrregularityCounter(strict=False, name=source.name)
    return [
        Part(dump.number, dump.object_count, is_default=dump.number == 0)
        for dump in _dumps(source, counter, progress, lambda _index: False)
    ]


def check_whole(source: Source, progress: Progress) -> None:
    """Read all records; see `ingest.readers.base.CapturedReader.check_whole`."""
    counter = IrregularityCounter(strict=False, name=source.name)
    for _ in _dumps(source, counter, progress, lambda _index: False):
        pass
    counter.check_end()


class _Dump(NamedTuple):
    """One heap dump of a file.

    Attributes:
        number: Its number, from 0.
        object_count: Its objects.
        heap: Its objects; ``None`` if they were only counted.
        file: The rest of what the file records.
    """

    number: int
    object_count: int
    heap: RecordedHeap | None
    file: RecordedFile


def _dumps(
    source: Source,
    counter: IrregularityCounter,
    progress: Progress,
    wanted: Callable[[int], bool],
    options: ReadOptions = DEFAULTS,
) -> Iterator[_Dump]:
    """The dumps of a file; only wanted ones are stored.

    Args:
        source: The file.
        counter: Counts what is irregular.
        progress: Receives what is read.
        wanted: Whether to store a dump, by its number.
        options: How to read them.

    Raises:
        MalformedDump, TruncatedDump: no dump has objects.
        DumpError: the mapping of names is that of another program.
    """
    names = renaming(options.mapping)
    feed = Feed(source.chunks(progress, _PIECE_BYTES), source.name)
    parser = _Parser(feed, counter, options.spill, names, options.keeps_values)
    index = 0
    while parser.parse(stores=wanted(index)):
        heap = parser.finished()
        counter.file_bytes = parser.feed.offset
        if names is not None:
            names.check()
        if heap.object_count or wanted(index):
            yield _Dump(
                index,
                heap.object_count,
                heap if wanted(index) else None,
                RecordedFile(
                    parser.version, parser.id_size, parser.table, parser.stacks,
                    parser.spaces, parser.flat_arrays, parser.is_redacted,
                    parser.taken_ms, bool(parser.lacks_elements),
                ),
            )  # fmt: skip
        index += 1
    if source.truncated:
        counter.add("truncated_compression", 1, 0, parser.feed.offset)


class _Parser:
    """Parses a file record by record.

    Attributes:
        feed: The file.
        version: As in its first line.
        id_size: 4 or 8.
        taken_ms: When the file was begun, milliseconds since 1970; ``None`` if unknown.
        table: The classes.
        stacks: Stack traces.
        spaces: Names of the parts of the heap, by number.
        flat_arrays: uint64 (F, 2), pairs in one column. Arrays that have values instead
            of references, each with the class of the values.
        lacks_elements: Whether primitive arrays have none; ``None`` until one is met.
    """

    def __init__(
        self,
        feed: Feed,
        counter: IrregularityCounter,
        spill: str,
        names: Renaming | None,
        is_whole: Callable[[str], bool],
    ) -> None:
        self.feed = feed
        self._counter = counter
        magic = feed.up_to(max(map(len, MAGICS)))
        magic = next(known for known in MAGICS if magic.startswith(known))
        feed.position = len(magic)
        self.version = magic[:-1].decode().rpartition(" ")[2]
        self.id_size = int.from_bytes(feed.take(4), "big")
        if self.id_size not in (4, 8):
            raise feed.malformed(
                f"ids have {counted(self.id_size, 'bytes')}, not 4 or 8"
            )
        taken_ms = int.from_bytes(feed.take(8), "big")
        self.taken_ms = taken_ms if 0 < taken_ms < _LATEST_MS else None
        self._names = NameTable()
        self.table = ClassTable(self.id_size, self._names, counter, names, is_whole)
        self.spaces: dict[int, str] = {}
        self.flat_arrays: list[NDArray[np.uint64]] = []
        self.stacks = StackTable(self._names, self.id_size, names)
        self._spill = spill
        self._heap = RecordedHeap(self.id_size)
        self._dump_count = 0
        self._buffers: HeapBuffers = buffers_for(_SMALLEST_WINDOW_BYTES)
        self._others: HeapBuffers | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._taking: Future[None] | None = None
        self._window = _SMALLEST_WINDOW_BYTES
        self._counts = np.zeros(COUNTS, np.int64)
        self._state = np.zeros(STATE, np.int64)
        self._state[ARRAY_ROW] = -1
        self._ids = np.zeros(2, np.uint64)
        self._is_truncated = False
        self._last_segment_bytes = 0
        self.lacks_elements = None if self.version == ANDROID else False

    @property
    def is_redacted(self) -> bool:
        """Whether the name with the last id says so."""
        return self._names.get((1 << 8 * self.id_size) - 1) == MARK

    def parse(self, *, stores: bool) -> bool:
        """Read up to the end of the next dump.

        Args:
            stores: Whether its objects are stored, or only counted.

        Returns:
            Whether there is another dump.

        Raises:
            MalformedDump: it contradicts the format.
        """
        has_heap = has_segments = False
        self._heap = RecordedHeap(self.id_size, stores=stores, spill=self._spill)
        if self._dump_count:
            self.table = self.table.renewed()
        while not self._is_truncated and self._has(1, is_needed=False):
            if not self._has(_HEADER_BYTES):
                break
            at = self.feed.position
            head = self.feed.data[at : at + _HEADER_BYTES]
            tag, size = head[0], int.from_bytes(head[5:], "big")
            if tag == _NAME and self.id_size <= size <= _LONGEST_NAME_RECORD:
                if not self._has(_HEADER_BYTES + size):
                    break
                self._take_names()
                continue
            if has_heap and tag == _HEAP_DUMP:
                break  # the next dump
            self.feed.position += _HEADER_BYTES
            if tag in (_HEAP_DUMP, _SEGMENT):
                has_heap, has_segments = True, tag == _SEGMENT
                if size or tag == _HEAP_DUMP:
                    self._read_segment(size, may_wrap=tag == _HEAP_DUMP)
            elif tag == _HEAP_DUMP_END:
                self._skip(size)
                if has_heap:
                    has_segments = False
                    break
            elif tag == _LOAD_CLASS and size >= 8 + 2 * self.id_size:
                self._load_class(size)
            elif tag == _FLAT_ARRAYS:
                self._read_flat_arrays(size)
            elif tag in (_FRAME, _TRACE) and 12 <= size <= _LONGEST_NAME_RECORD:
                if not self._has(size):
                    break
                add = self.stacks.add_frame if tag == _FRAME else self.stacks.add_trace
                add(self.feed.take(size))
            else:
                if tag not in _NOT_NEEDED:
                    self._counter.add("unknown_record", 1, 0, self.feed.offset)
                    self._counter.add_unread(_HEADER_BYTES + size, self.feed.offset)
                self._skip(size)
        if has_segments and not self._is_truncated:
            self._counter.add("truncated_heap_dump", 1, 0, self.feed.offset)
        self._dump_count += has_heap
        # A file without dumps counts as one empty dump, which `finished` refuses.
        return has_heap or not self._dump_count

    def finished(self) -> RecordedHeap:
        """The heap, after the instances that had to wait for their classes are read.

        Raises:
            MalformedDump, TruncatedDump: there are no objects.
        """
        self.table.complete()
        self._wait()
        waiting = self._heap.take_deferred()
        if waiting:
            feed, self.feed = self.feed, Feed(iter([waiting]), self.feed.name)
            self.feed.grow()
            self._state[SKIP] = 0
            self._scan(len(waiting), goes_on=False, is_last=True)
            self.feed = feed
        self.table.end_scan()
        self._wait()
        if not self._heap.object_count and self._dump_count < 2:
            error = TruncatedDump if self._is_truncated else MalformedDump
            raise error(
                "the file has no heap dump with objects; get it again",
                path=self.feed.name,
                offset=self.feed.offset,
            )
        self._counter.add("short_instance", self._heap.short_count, 0, None)
        self._counter.add("missing_class", self.table.missing_count(), 0, None)
        return self._heap

    def _has(self, size: int, *, is_needed: bool = True) -> bool:
        """Whether the file has ``size`` more bytes, and put them into the window."""
        feed = self.feed
        while (missing := size - len(feed.data) + feed.position) > 0:
            if not feed.grow(missing):
                if is_needed:
                    self._truncated()
                return False
        return True

    def _truncated(self) -> None:
        if not self._is_truncated:
            end = self.feed.offset + len(self.feed.data) - self.feed.position
            self._counter.add("truncated_record", 1, 0, end)
        self._is_truncated = True

    def _skip(self, size: int) -> None:
        feed = self.feed
        while (left := len(feed.data) - feed.position) < size:
            size -= left
            feed.position = len(feed.data)
            if not feed.grow():
                self._truncated()
                return
        feed.position += size

    def _take_names(self) -> None:
        """Read the complete name records at the start of the window."""
        data = np.frombuffer(self.feed.data, np.uint8)
        many = min(_NAMES_AT_ONCE, len(data) // _HEADER_BYTES)
        ids, spans = np.empty(many, np.uint64), np.empty((many, 2), np.int64)
        begin = self.feed.position
        count, self.feed.position = scan_names(data, begin, self.id_size, ids, spans)
        self._names.add(self.feed.data, ids[:count], spans[:count])

    def _load_class(self, size: int) -> None:
        wanted = 8 + 2 * self.id_size
        if not self._has(wanted):
            return
        data, width = self.feed.take(wanted), self.id_size
        class_id = int.from_bytes(data[4 : 4 + width], "big")
        name_id = int.from_bytes(data[8 + width :], "big")
        self.table.load(class_id, name_id)
        self.stacks.add_class(int.from_bytes(data[:4], "big"), name_id)
        self._skip(size - wanted)

    def _read_flat_arrays(self, size: int) -> None:
        """Read the classes of values that arrays have instead of references.

        Each pair of ids may have its own tag.
        """
        if not size or not self._has(1):
            return
        pair = 2 * self.id_size
        tagged = size % (1 + pair) == 0 and self.feed.data[self.feed.position] == 1
        width = pair + tagged
        while size >= width:
            part = min(size, _LONGEST_NAME_RECORD) // width * width
            if not self._has(part):
                return
            data = np.frombuffer(self.feed.take(part), np.uint8)
            ids = np.ascontiguousarray(data.reshape(-1, width)[:, int(tagged) :])
            self.flat_arrays.append(ids.view(f">u{self.id_size}").astype(np.uint64))
            size -= part
        self._skip(size)

    def _read_segment(self, size: int, *, may_wrap: bool) -> None:
        """Read a segment, or a heap dump in one record.

        Args:
            size: Its length as recorded.
            may_wrap: Whether the length may be 0 or modulo 2^32.
        """
        begin = self.feed.offset
        self._state[SPACE] = 0
        if self.lacks_elements is None:
            self._has(min(size, _LONGEST_CUT_BYTES) + 1, is_needed=False)
            self.lacks_elements = lacks_elements(
                self.feed.data, self.feed.position, size, self.id_size
            )
            self._state[NO_ELEMENTS] = bool(self.lacks_elements)
        goes_on = not may_wrap and self.lacks_elements is not None
        limit = size or (_UNLIMITED if may_wrap else 0)
        while True:
            why, left = self._scan(
                limit - (self.feed.offset - begin), goes_on=goes_on, is_last=False
            )
            if self._last_segment_bytes:
                size = limit = self._last_segment_bytes
            done = limit - left
            if why == END and may_wrap and limit <= done and self._continues():
                # The length is modulo 2^32, or wrong.
                limit += -(-max(done + 1 - limit, 1) >> 32) * (1 << 32)
                continue
            if why == UNKNOWN:
                self._counter.add("unknown_record", 1, 0, self.feed.offset)
                self._skip_unknown(limit - done)
            elif why == END and size and done != size and done < limit:
                if not self.lacks_elements:
                    self._counter.add("early_end_of_segment", 1, 0, self.feed.offset)
            elif why == END and size and done > limit:
                self._counter.add("record_beyond_segment", 1, 0, self.feed.offset)
            elif why == MORE and limit < _UNLIMITED:
                self._truncated()
            return

    def _skip_unknown(self, size: int) -> None:
        """Skip unreadable bytes, and count them, since they may contain objects."""
        begin = self.feed.offset
        if size < _UNLIMITED >> 1:
            self._skip(size)
        else:
            self.feed.position = len(self.feed.data)
            while self.feed.grow():
                self.feed.position = len(self.feed.data)
            self._is_truncated = True
        self._counter.add_unread(self.feed.offset - begin, begin)

    def _continues(self) -> bool:
        """Whether more sub-records follow the recorded end of a heap dump."""
        if not self._has(1, is_needed=False):
            return False
        # Tags of sub-records that no other record has.
        tag = self.feed.data[self.feed.position]
        return tag in (0x20, 0x21, 0x22, 0x23, 0xC3, 0xFE, 0xFF) or 0x89 <= tag <= 0x90

    def _scan(self, size: int, *, goes_on: bool, is_last: bool) -> tuple[int, int]:
        """Read ``size`` bytes of sub-records and, with ``goes_on``, following segments.

        Returns:
            Why the scan stopped, and how many bytes of the last segment are left.
        """
        feed, counts = self.feed, self._counts
        self._last_segment_bytes = 0
        while True:
            data = np.frombuffer(feed.data, np.uint8)
            if len(data) > self._window:
                self._window = len(data)
                self._buffers = buffers_for(self._window)
                self._others = None
            begin = feed.position
            feed.position = scan(
                data, begin, size, goes_on, self.id_size, is_last,
                self.table.columns, self._buffers, self._state, self._ids, counts,
            )  # fmt: skip
            if counts[SEGMENT_BEGIN]:
                begin = int(counts[SEGMENT_BEGIN])
                size = self._last_segment_bytes = int(counts[SEGMENT_BYTES])
            size -= feed.position - begin
            found = self._buffers
            self._take(feed.data)
            for at in found.class_begin[: counts[CLASSES]].tolist():
                if feed.data[at] == HEAP_INFO:
                    self._name_space(feed.data[at + 1 : at + 5 + self.id_size])
                else:
                    self.table.parse(feed.data, at)
            why = int(counts[WHY])
            if why == CLASS:
                self.table.row_of(int(self._ids[NEEDED_CLASS]))
            elif why != MORE:
                return why, size
            elif not feed.grow():
                if feed.position < len(feed.data) or self._state[SKIP] > 0:
                    self._truncated()
                self._end_array()
                return MORE, size

    def _take(self, data: bytes | bytearray) -> None:
        """Store what was found; if it is much, in parallel with the next scan."""
        counts, heap = self._counts, self._heap
        self._wait()
        if counts[OBJECTS] < _MANY_OBJECTS or thread_count() == 1:
            heap.take(data, self._buffers, counts)
            return
        if self._thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1)
        # Our context says how arrays are allocated.
        self._taking = self._thread.submit(
            copy_context().run, heap.take, data, self._buffers, counts.copy()
        )
        others = self._others or buffers_for(self._window)
        self._buffers, self._others = others, self._buffers

    def _wait(self) -> None:
        """Wait until everything found is stored."""
        if self._taking is not None:
            self._taking.result()
            self._taking = None

    def _name_space(self, data: bytes | bytearray) -> None:
        """Note the name of a part of the heap.

        Raises:
            MalformedDump: its number is higher than any that Android uses.
        """
        number = int.from_bytes(data[:4], "big")
        if number >= _MOST_SPACES:
            raise self.feed.malformed(
                f"a part of the heap has number {number:,}, and there are at most "
                f"{_MOST_SPACES}"
            )
        name = self._names.get(int.from_bytes(data[4:], "big"))
        if name is not None:
            self.spaces.setdefault(number, name)

    def _end_array(self) -> None:
        """Store an array if the file ends within its elements."""
        if self._state[ARRAY_ROW] >= 0:
            self._truncated()
            self._counts[:] = 0
            close_array(self._buffers, self._state, self._ids, self._counts)
            self._take(b"")
