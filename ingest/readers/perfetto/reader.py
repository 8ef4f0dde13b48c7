"""Reads heap graphs of a trace: which packets are of which dump, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import DumpError
from ingest.heap.graph import Part
from ingest.heap.read_options import DEFAULTS
from ingest.readers.base import PendingDump, Selection, chosen_dump, default_dump
from ingest.readers.perfetto import HEAP_GRAPH, MAPPING
from ingest.readers.perfetto.assembly import assemble
from ingest.readers.perfetto.packets import fields
from ingest.readers.perfetto.records import HeapRecords, Scanner
from ingest.readers.perfetto.renaming import TraceNames
from ingest.readers.perfetto.scan import (
    OUT_CONTINUED,
    OUT_END,
    OUT_INDEX,
    OUT_OBJECTS,
    OUT_PID,
    outline,
)
from ingest.readers.perfetto.trace import TracePackets
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.original_names import renaming

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.perfetto.trace import Packet
    from ingest.readers.source import Source

_MOST_LOST = 1 << 40
_MOST_DUMPS = 1 << 16
_LONGEST_NAME_BYTES = 1 << 10
_NO_VALUES = (
    "Numbers, texts and flags of objects are not recorded: an activity is taken to be "
    "destroyed if the main thread has no record of it; of view models nothing tells it."
)


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read a dump of ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 36 bytes an object and 13 a reference.
    """
    trace = _GraphTrace.read(source, options, progress, Selection.ONE)
    return trace.graph(trace.chosen())


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps of a process; see `ingest.readers.base.PartsReader.read_all`.

    Memory: as `read`, for all dumps.
    """
    every = replace(options, part=None)
    trace = _GraphTrace.read(source, every, progress, Selection.ALL)
    pid = trace.chosen().pid
    for dump in trace.dumps:
        if dump.pid == pid and dump.object_count:
            yield PendingDump(
                trace.part(dump), partial(trace.graph, dump, is_only=False)
            )


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of a trace, whose objects are only counted."""
    trace = _GraphTrace.read(source, DEFAULTS, progress, Selection.NONE)
    return [trace.part(dump) for dump in trace.dumps if dump.object_count]


@dataclass(slots=True, eq=False)
class _GraphDump:
    """One dump of a trace.

    Attributes:
        number: Its number among the dumps of the trace, in the order of their begins.
        pid: Its process.
        timestamp_ns: When it was taken, since the device booted; -1 if unknown.
        offset: Where it begins in the file.
        heap: Its records; ``None`` if they are only counted.
        object_count: Its objects.
        next_index: The number of its next packet.
        lost_count: Packets that are missing before that.
        is_whole: Whether its last packet is there.
    """

    number: int
    pid: int
    timestamp_ns: int
    offset: int
    heap: HeapRecords | None
    object_count: int = 0
    next_index: int = 0
    lost_count: int = 0
    is_whole: bool = False

    def goes_on(self, pid: int, timestamp_ns: int) -> bool:
        """Whether a packet of the sequence can be one of this dump."""
        is_unknown = -1 in (timestamp_ns, self.timestamp_ns)
        return pid == self.pid and (is_unknown or timestamp_ns == self.timestamp_ns)


class _GraphTrace:
    """A trace that has been read.

    Attributes:
        dumps: Its dumps, in the order of their begins.
        counter: The irregularities so far.
    """

    def __init__(self, options: ReadOptions, name: str, selection: Selection) -> None:
        self._options = options
        self._selection = selection
        self.counter = IrregularityCounter(strict=options.strict, name=name)
        self.dumps: list[_GraphDump] = []
        self._names = TraceNames()
        self._processes: dict[int, str] = {}
        self._open: dict[int, _GraphDump] = {}
        self._several = False
        self._scanner = Scanner(self.counter)

    @classmethod
    def read(
        cls,
        source: Source,
        options: ReadOptions,
        progress: Progress,
        selection: Selection,
    ) -> _GraphTrace:
        """Read all packets.

        Raises:
            DumpError: they expand too much.
        """
        trace = cls(options, source.name, selection)
        feed = Feed(source.chunks(progress), source.name)
        packets = TracePackets(feed, trace.counter, any_expansion=options.any_expansion)
        for packet in packets:
            if packet.kind == HEAP_GRAPH:
                trace._take(packet)
            elif packet.kind == MAPPING:
                trace._names.add(packet.data, packet.begin, packet.end)
            else:
                trace._take_processes(packet)
        trace.counter.file_bytes = feed.offset
        if source.truncated:
            trace.counter.add("truncated_compression", 1, 0, feed.offset)
        return trace

    def _take(self, packet: Packet) -> None:
        """Add a packet of a heap graph to its dump."""
        found = np.zeros(5, np.int64)
        outline(packet.data, packet.begin, packet.end, found)
        end = int(found[OUT_END])
        if end < packet.end:
            self.counter.add("malformed_record", 1, 0, packet.offset)
            self.counter.add_unread(packet.end - end, packet.offset)
        pid, index = int(found[OUT_PID]), int(found[OUT_INDEX])
        dump = self._open.get(packet.sequence)
        if dump is None or not dump.goes_on(pid, packet.timestamp_ns):
            if len(self.dumps) >= _MOST_DUMPS:
                raise DumpError(
                    f"it has more than {_MOST_DUMPS:,} dumps", path=self.counter.name
                )
            dump = self._begun(pid, packet)
            self._open[packet.sequence] = dump
        missing = index - dump.next_index
        dump.lost_count += min(missing, _MOST_LOST) if missing >= 0 else 1
        dump.next_index = index + 1
        if dump.timestamp_ns < 0:
            dump.timestamp_ns = packet.timestamp_ns
        dump.object_count += int(found[OUT_OBJECTS])
        if dump.heap is not None:
            self._scanner.take(packet, end, dump.heap)
        if not found[OUT_CONTINUED]:
            dump.is_whole = True
            del self._open[packet.sequence]

    def _begun(self, pid: int, packet: Packet) -> _GraphDump:
        number = len(self.dumps)
        first = default_dump(self.dumps)
        stored = self._selection is Selection.ALL and (
            first is None or pid == first.pid
        )
        if self._selection is Selection.ONE:
            wanted = self._options.part
            # Where the user chooses none: the first one that has objects.
            stored = (
                default_dump(self.dumps) is None if wanted is None else number == wanted
            )
        heap = HeapRecords(self._options.spill) if stored else None
        dump = _GraphDump(number, pid, packet.timestamp_ns, packet.offset, heap)
        self.dumps.append(dump)
        self._several |= pid != self.dumps[0].pid
        return dump

    def _take_processes(self, packet: Packet) -> None:
        """Note the names of processes."""
        for field, _, begin, end in fields(packet.data, packet.begin, packet.end):
            if field != 1:
                continue
            pid, name = 0, ""
            for inner, value, first, last in fields(packet.data, begin, end):
                if inner == 1:
                    pid = value
                elif inner == 3 and not name:
                    last = min(last, first + _LONGEST_NAME_BYTES)
                    name = packet.data[first:last].tobytes().decode("utf-8", "replace")
            if name:
                self._processes.setdefault(pid, name)

    def chosen(self) -> _GraphDump:
        """The dump to read.

        Raises:
            DumpError: there is none.
        """
        return chosen_dump(
            self.dumps,
            self._options.part,
            self.counter.name,
            "the trace has no heap graph",
            "record one with the data source android.java_hprof, as "
            "tools/java_heap_dump of Perfetto does",
        )

    def part(self, dump: _GraphDump) -> Part:
        """Describe a dump as a part of the trace."""
        return Part(
            dump.number,
            dump.object_count,
            self._process(dump.pid) if self._several else "",
            is_default=self._options.part is None and dump is default_dump(self.dumps),
        )

    def _process(self, pid: int) -> str:
        name = self._processes.get(pid)
        return f"{name} ({pid})" if name else str(pid)

    def graph(self, dump: _GraphDump, *, is_only: bool = True) -> HeapGraph:
        """Make the graph of a dump, and free its records.

        Args:
            dump: A dump whose records are stored.
            is_only: Whether no other dump of the trace is read.

        Raises:
            MalformedDump: with ``--strict``, for anything irregular.
            DumpError: the mapping of names is that of another program.
        """
        counter = self.counter.copy()
        others = [one for one in self.dumps if one is not dump and one.object_count]
        if self._options.part is None and is_only:
            counter.add("other_heap_dump", len(others), 0, None)
        counter.add("lost_packet", dump.lost_count, 0, dump.offset)
        if not dump.is_whole:
            counter.add("truncated_heap_dump", 1, 0, dump.offset)
        heap, dump.heap = dump.heap, None
        assert heap is not None
        given = renaming(self._options.mapping)
        graph = assemble(
            heap,
            counter,
            given or self._names,
            spill=self._options.spill,
            producer=f"Android Runtime, {self._process(dump.pid)}",
            notes=(_NO_VALUES,),
            part=self.part(dump) if others else None,
            other_parts=tuple(map(self.part, others)),
        )
        if given is not None:
            given.check()
        return graph
