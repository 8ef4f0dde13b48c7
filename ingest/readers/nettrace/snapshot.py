"""The collections in a ``.nettrace``, and the events of their heap snapshots.

A snapshot consists of the events of one collection: roots, then numbered chunks of
nodes and edges. Names of types may come at any time, even afterwards. An event belongs
to the collection of its process that started last and has not ended.

Source: dotnet/diagnostics, src/Tools/dotnet-gcdump/DotNetHeapDump.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.heap.graph import GarbageCollection, Part
from ingest.heap.history import collected_generation
from ingest.readers.base import Selection
from ingest.readers.dotnet.gc_events import MODES, REASONS, Chunk, Gc, Mode, Reason
from ingest.readers.nettrace.survival_events import NO_EVENTS, SurvivalEvents
from ingest.words.command_line import command
from ingest.words.text import counted

if TYPE_CHECKING:
    from ingest.readers.dotnet.event_blocks import TraceHeader
    from ingest.readers.dotnet.event_stream import Event, EventStream
    from ingest.readers.dotnet.gc_events import (
        Bulk,
        HeapStats,
        Payloads,
        Rows,
        Static,
        Type,
    )

_CHUNKS = (Gc.ROOTS, Gc.DEPENDENT_HANDLES, Gc.NODES, Gc.EDGES)
_FULL = 2
_MOST_LISTED = 10
_MOST_BYTES = (1 << 63) - 1


@dataclass(slots=True, eq=False)
class HeapEvents:
    """The events of a heap snapshot.

    Attributes:
        threads: The threads that wrote them.
        chunks: Numbered chunks by kind, in the order of the stream.
        statics: Static fields that refer to objects.
        com_callable: Rows of wrappers that COM may hold.
    """

    threads: set[int] = field(default_factory=set)
    chunks: dict[Gc, list[Chunk | Bulk]] = field(default_factory=dict)
    statics: list[Static] = field(default_factory=list)
    com_callable: list[Rows] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Collection:
    """One collection.

    Attributes:
        process: Process id.
        number, generation, reason, mode: Fields of its start event.
        begin_ticks: Time of its start.
        is_candidate: Whether it may still be the chosen one.
        end_ticks: Time of its end; ``None`` if the stream ends earlier.
        node_count: Objects in its events, whether stored or not.
        offset: Byte offset of its first nodes in the file.
        heap_events: Its snapshot; ``None`` if there is none or it is not stored.
        survival: Surviving ranges and ranges of generations.
        stats: The heap after the collection; ``None`` if not recorded.
    """

    process: int
    number: int
    generation: int
    reason: int
    mode: int
    begin_ticks: int
    is_candidate: bool
    end_ticks: int | None = None
    node_count: int = 0
    offset: int = 0
    heap_events: HeapEvents | None = None
    survival: SurvivalEvents = NO_EVENTS
    stats: HeapStats | None = None

    def events_of_survival(self) -> SurvivalEvents:
        """``survival``, made if missing, as in most collections of large traces."""
        if self.survival is NO_EVENTS:
            self.survival = SurvivalEvents()
        return self.survival

    @property
    def is_requested(self) -> bool:
        """Whether it was induced, full and blocking, as tools request a snapshot."""
        return (
            self.generation == _FULL
            and self.mode == Mode.BLOCKING
            and self.reason == Reason.INDUCED
        )


class Snapshots:
    """All collections of a stream, and the heap events of the selected ones.

    Args:
        payloads: Parses the events of the stream.
        wanted: Number of the collection to choose; ``None`` for the first that was
            induced and records nodes, or, without one, the first that records nodes.
        selection: The collections whose heap events are stored: the chosen one, all, or
            none, so that nodes are only counted.

    Attributes:
        collections: In the order of their start.
        chosen: The chosen one; ``None`` if none records nodes.
        types: By process and id, with the first name of each type.
        outside_count: Heap events outside any collection.
    """

    def __init__(
        self,
        payloads: Payloads,
        wanted: int | None,
        selection: Selection = Selection.ONE,
    ) -> None:
        self._payloads = payloads
        self._wanted = wanted
        self._selection = selection
        self._running: dict[int, dict[int, Collection]] = {}
        self._ended: dict[int, Collection] = {}
        self.collections: list[Collection] = []
        self.chosen: Collection | None = None
        self.types: dict[int, dict[int, Type]] = {}
        self.outside_count = 0

    def read(self, stream: EventStream) -> None:
        """Read all events of a stream.

        Raises:
            MalformedDump: the payload of an event is too short.
        """
        for event in stream.events(self._payloads.compact):
            kind = Gc(event.kind.number)
            if kind is Gc.TYPES:
                known = self.types.setdefault(event.process, {})
                for found in self._payloads.types(event):
                    if found.name or found.id not in known:
                        known.setdefault(found.id, found)
            elif kind is Gc.START:
                self._add_collection(event)
            elif kind is Gc.END:
                running = self._running.get(event.process, {})
                ended = running.pop(self._payloads.end(event), None)
                if ended is not None:
                    ended.end_ticks = event.ticks
                    self._ended[event.process] = ended
            elif kind is Gc.HEAP_STATS:
                # This event follows the end of its collection.
                if (last := self._ended.get(event.process)) is not None:
                    last.stats = self._payloads.heap_stats(event)
            else:
                self._add_to_running(kind, event)

    def _add_collection(self, event: Event) -> None:
        start = self._payloads.start(event)
        is_candidate = start.number == self._wanted
        if self._wanted is None:
            is_candidate = self.chosen is None or not self.chosen.is_requested
        found = Collection(event.process, *start, event.ticks, is_candidate)
        self.collections.append(found)
        self._running.setdefault(event.process, {})[start.number] = found

    def timeline(
        self, process: int, header: TraceHeader, *, dump: Collection | None = None
    ) -> list[GarbageCollection]:
        """The collections of a process.

        Args:
            process: Process id.
            header: Header of the stream, with the clock at its start.
            dump: The only one to be marked as a dump; ``None`` for all with nodes.
        """

        def microseconds(ticks: int) -> int:
            return max(ticks, 0) * 1_000_000 // max(header.ticks_per_second, 1)

        return [
            GarbageCollection(
                number=c.number,
                generation=collected_generation(c.generation),
                reason=_word(REASONS, c.reason),
                mode=_word(MODES, c.mode),
                started_us=microseconds(c.begin_ticks - header.ticks),
                duration_us=None
                if c.end_ticks is None
                else microseconds(c.end_ticks - c.begin_ticks),
                heap_bytes=_fits(sum(c.stats.size_bytes)) if c.stats else None,
                promoted_bytes=_fits(sum(c.stats.promoted_bytes)) if c.stats else None,
                moved_bytes=_fits(c.survival.surviving_bytes(moved=True)),
                unmoved_bytes=_fits(c.survival.surviving_bytes(moved=False)),
                is_dump=c.node_count > 0 if dump is None else c is dump,
            )
            for c in self.collections
            if c.process == process
        ]

    def _add_to_running(self, kind: Gc, event: Event) -> None:
        """Add the data of an event to the collection that it belongs to."""
        running = self._running.get(event.process)
        if not running:
            self.outside_count += kind in _CHUNKS
            return
        collection = next(reversed(running.values()))
        if kind in (Gc.MOVED, Gc.SURVIVING):
            rows = self._payloads.rows(event).rows
            collection.events_of_survival().add_moves(kind, event, rows)
        elif kind is Gc.GENERATION:
            found = self._payloads.generation_range(event)
            collection.events_of_survival().add_generation(event, found)
        elif kind in _CHUNKS or kind in (Gc.STATICS, Gc.COM_CALLABLE):
            self._add_heap_event(collection, kind, event)

    def _add_heap_event(self, collection: Collection, kind: Gc, event: Event) -> None:
        chunk: Chunk | Bulk | None = event.decoded
        if kind in _CHUNKS and chunk is None:
            chunk = self._payloads.rows(event)
        if kind is Gc.NODES and isinstance(chunk, Chunk) and chunk.row_count:
            collection.offset = collection.offset or event.offset
            collection.node_count += chunk.row_count
            collection.events_of_survival().end_before()
            self._choose(collection)
        if not self._is_stored(collection):
            return
        if collection.heap_events is None:
            collection.heap_events = HeapEvents()
        events = collection.heap_events
        events.threads.add(event.thread)
        if chunk is not None:
            events.chunks.setdefault(kind, []).append(chunk)
        elif kind is Gc.STATICS:
            events.statics += self._payloads.statics(event)
        else:
            events.com_callable.append(self._payloads.com_callable(event))

    def _is_stored(self, collection: Collection) -> bool:
        if self._selection is Selection.ONE:
            return collection.is_candidate
        return self._selection is Selection.ALL

    def _choose(self, collection: Collection) -> None:
        """Choose between ``collection``, which records nodes, and the chosen one."""
        before = self.chosen
        if collection is before or not collection.is_candidate:
            return
        if before is None:
            self.chosen = collection
        elif self._wanted is None and collection.is_requested > before.is_requested:
            self._reject(before)
            self.chosen = collection
        else:
            self._reject(collection)

    def _reject(self, collection: Collection) -> None:
        collection.is_candidate = False
        if self._selection is Selection.ONE:
            collection.heap_events = None

    @property
    def dumps(self) -> list[Collection]:
        """Collections that record nodes, of all processes."""
        return [c for c in self.collections if c.node_count]

    def part(self, collection: Collection) -> Part:
        """Describe the dump of a collection as a part of the stream."""
        several = len({c.process for c in self.collections}) > 1
        return Part(
            collection.number,
            collection.node_count,
            str(collection.process) if several else "",
            is_default=self._wanted is None and collection is self.chosen,
        )

    def not_found(self) -> str:
        """The error message if no collection is chosen."""
        numbers = [c.number for c in self.collections]
        if dumps := self.dumps:
            more = len(dumps) - _MOST_LISTED
            listed = ", ".join(
                f"{c.number} ({counted(c.node_count, 'objects')})"
                for c in dumps[:_MOST_LISTED]
            )
            listed += f" and {more:,} more" if more > 0 else ""
            is_known = self._wanted in numbers
            problem = "has no heap dump" if is_known else "is not in the trace"
            return (
                f"collection {self._wanted} {problem}; --part accepts those that have "
                f"one: {listed}"
            )
        found = "no collection"
        if len(numbers) == 1:
            found = f"only collection {numbers[0]}"
        elif numbers:
            found = (
                f"{counted(len(numbers), 'collections')}, "
                f"{min(numbers)} to {max(numbers)}"
            )
        shown = f"; to see them: {command('timeline', 'FILE')}" if numbers else ""
        return (
            f"the trace has no heap dump (it has {found}); record one with "
            "dotnet-gcdump, with the runtime's keywords 0x1980001, or: "
            f"{command('capture', 'dotnet', 'PID')}{shown}"
        )


def _word(words: tuple[str, ...], number: int) -> str:
    """The word for a number; empty if it is negative, which means not recorded."""
    if number < 0:
        return ""
    return words[number] if number < len(words) else f"other ({number})"


def _fits(size: int | None) -> int | None:
    """The size; ``None`` for more than 63 bits, which only a damaged trace has."""
    return None if size is None or size > _MOST_BYTES else size
