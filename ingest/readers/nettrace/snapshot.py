"""The heap snapshots in a ``.nettrace``: which collections there are, and one's events.

A snapshot is told by the events of one collection: roots, then nodes and edges in
chunks with numbers. The names of types come when they like, after it too. What an
event tells belongs to the collection of its process that began last and goes on.

Source: dotnet/diagnostics, src/Tools/dotnet-gcdump/DotNetHeapDump.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.heap.graph import GarbageCollection, Part
from ingest.readers.base import Selection
from ingest.readers.dotnet.gc_events import MODES, REASONS, Chunk, Gc, Mode, Reason
from ingest.readers.nettrace.survival_events import SurvivalEvents

if TYPE_CHECKING:
    from ingest.readers.dotnet.event_stream import Event, EventStream
    from ingest.readers.dotnet.gc_events import (
        Bulk,
        HeapStats,
        Payloads,
        Rows,
        Start,
        Static,
        Type,
    )

_CHUNKS = (Gc.ROOTS, Gc.DEPENDENT_HANDLES, Gc.NODES, Gc.EDGES)
_FULL = 2
_MOST_LISTED = 10


@dataclass(slots=True, eq=False)
class Told:
    """What a collection tells of the heap.

    Attributes:
        threads: Who tells it.
        chunks: Numbered pieces by kind, in the order of the stream.
        statics: Static fields that refer to objects.
        com_callable: Rows of wrappers that COM holds.
    """

    threads: set[int] = field(default_factory=set)
    chunks: dict[Gc, list[Chunk | Bulk]] = field(default_factory=dict)
    statics: list[Static] = field(default_factory=list)
    com_callable: list[Rows] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Collection:
    """One collection.

    Attributes:
        process: Number of its process.
        start: How it began.
        since: The clock then.
        is_kept: Whether what it tells of the heap is kept.
        until: The clock at its end; ``None`` where the stream ends before.
        node_count: Objects it tells of, whether they are kept or not.
        offset: Where in the file its first nodes stand.
        told: What it tells of the heap; ``None`` for nothing, or if it is not kept.
        places: What it tells of where things were and are.
        stats: The heap after it; ``None`` if not told.
    """

    process: int
    start: Start
    since: int
    is_kept: bool
    until: int | None = None
    node_count: int = 0
    offset: int = 0
    told: Told | None = None
    places: SurvivalEvents = field(default_factory=SurvivalEvents)
    stats: HeapStats | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether someone asked for it, as whoever wants a snapshot does."""
        start = self.start
        return (
            start.generation == _FULL
            and start.mode == Mode.BLOCKING
            and start.reason == Reason.INDUCED
        )


class Snapshots:
    """All collections of a stream, and what one of them tells.

    Args:
        payloads: Reads the stream's events.
        wanted: Number of the collection to choose; ``None`` for the first that was
            induced and records nodes, or else the first that records nodes.
        selection: Which collections' heap events to store: those of the chosen one,
            of all, or of none, so that nodes are only counted.

    Attributes:
        collections: In the order of their begin.
        chosen: The chosen one; ``None`` if none records nodes.
        types: By process and id; the first name that a type has.
        outside: Events of snapshots that no collection has.
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
        self._open: dict[int, dict[int, Collection]] = {}
        self._ended: dict[int, Collection] = {}
        self.collections: list[Collection] = []
        self.chosen: Collection | None = None
        self.types: dict[int, dict[int, Type]] = {}
        self.outside = 0

    def read(self, stream: EventStream) -> None:
        """Take all events of a stream.

        Raises:
            MalformedDump: one contradicts its layout.
        """
        for event in stream.events(self._payloads.compact):
            kind = Gc(event.kind.number)
            if kind is Gc.TYPES:
                known = self.types.setdefault(event.process, {})
                for found in self._payloads.types(event):
                    if found.name or found.id not in known:
                        known.setdefault(found.id, found)
            elif kind is Gc.START:
                self._begin(event)
            elif kind is Gc.END:
                going_on = self._open.get(event.process, {})
                ended = going_on.pop(self._payloads.end(event), None)
                if ended is not None:
                    ended.until = event.ticks
                    self._ended[event.process] = ended
            elif kind is Gc.HEAP_STATS:
                # It follows upon the end of the collection that it is about.
                if (last := self._ended.get(event.process)) is not None:
                    last.stats = self._payloads.heap_stats(event)
            elif kind in (Gc.MOVED, Gc.SURVIVING):
                self._survived(kind, event)
            elif kind in _CHUNKS or kind in (
                Gc.STATICS,
                Gc.COM_CALLABLE,
                Gc.GENERATION,
            ):
                self._take(kind, event)

    def _begin(self, event: Event) -> None:
        start = self._payloads.start(event)
        kept = start.number == self._wanted
        if self._wanted is None:
            kept = self.chosen is None or not self.chosen.is_asked_for
        begun = Collection(event.process, start, event.ticks, kept)
        self.collections.append(begun)
        self._open.setdefault(event.process, {})[start.number] = begun

    def _survived(self, kind: Gc, event: Event) -> None:
        """Take ranges of what outlived a collection."""
        going_on = self._open.get(event.process)
        if not going_on:
            return
        places = next(reversed(going_on.values())).places
        places.survived(kind, event, self._payloads.rows(event).rows)

    def timeline(
        self,
        process: int,
        ticks: int,
        ticks_per_second: int,
        *,
        dump: Collection | None = None,
    ) -> list[GarbageCollection]:
        """The collections of a process.

        Args:
            process: Its number.
            dump: The only one that is said to be a dump; ``None`` for all with nodes.
            ticks: The clock at the start of the trace.
            ticks_per_second: How fast it is.
        """

        def microseconds(span: int) -> int:
            return max(span, 0) * 1_000_000 // max(ticks_per_second, 1)

        return [
            GarbageCollection(
                number=c.start.number,
                generation=c.start.generation if c.start.generation >= 0 else None,
                reason=_word(REASONS, c.start.reason),
                mode=_word(MODES, c.start.mode),
                started_us=microseconds(c.since - ticks),
                duration_us=None
                if c.until is None
                else microseconds(c.until - c.since),
                heap_bytes=None if c.stats is None else _sum(c.stats.size_bytes),
                promoted_bytes=None
                if c.stats is None
                else _sum(c.stats.promoted_bytes),
                moved_bytes=_fits(c.places.moved_bytes),
                kept_bytes=_fits(c.places.kept_bytes),
                is_dump=c.node_count > 0 if dump is None else c is dump,
            )
            for c in self.collections
            if c.process == process
        ]

    def _take(self, kind: Gc, event: Event) -> None:
        """Put what an event tells to its collection."""
        going_on = self._open.get(event.process)
        if not going_on:
            self.outside += kind in _CHUNKS
            return
        collection = next(reversed(going_on.values()))
        if kind is Gc.GENERATION:
            found = self._payloads.generation_range(event)
            collection.places.placed(event, found)
            return
        chunk: Chunk | Bulk | None = event.decoded
        if kind in _CHUNKS and chunk is None:
            chunk = self._payloads.rows(event)
        if kind is Gc.NODES and isinstance(chunk, Chunk) and chunk.row_count:
            collection.offset = collection.offset or event.offset
            collection.node_count += chunk.row_count
            collection.places.part()
            self._choose(collection)
        if not self._is_stored(collection):
            return
        if collection.told is None:
            collection.told = Told()
        told = collection.told
        told.threads.add(event.thread)
        if chunk is not None:
            told.chunks.setdefault(kind, []).append(chunk)
        elif kind is Gc.STATICS:
            told.statics += self._payloads.statics(event)
        else:
            told.com_callable.append(self._payloads.com_callable(event))

    def _is_stored(self, collection: Collection) -> bool:
        if self._selection is Selection.ONE:
            return collection.is_kept
        return self._selection is Selection.ALL

    def _choose(self, collection: Collection) -> None:
        """Keep ``collection``, which tells of nodes, or the one that is kept."""
        before = self.chosen
        if collection is before or not collection.is_kept:
            return
        if before is None:
            self.chosen = collection
        elif self._wanted is None and collection.is_asked_for > before.is_asked_for:
            self._forget(before)
            self.chosen = collection
        else:
            self._forget(collection)

    def _forget(self, collection: Collection) -> None:
        collection.is_kept = False
        if self._selection is Selection.ONE:
            collection.told = None

    @property
    def dumps(self) -> list[Collection]:
        """Collections that record nodes, of all processes."""
        return [c for c in self.collections if c.node_count]

    def part(self, collection: Collection) -> Part:
        """Which dump of the stream a collection has."""
        several = len({c.process for c in self.collections}) > 1
        return Part(
            collection.start.number,
            collection.node_count,
            str(collection.process) if several else "",
            is_default=self._wanted is None and collection is self.chosen,
        )

    def explained(self) -> str:
        """What to say where nothing is chosen."""
        numbers = [c.start.number for c in self.collections]
        have = self.dumps
        if have:
            more = len(have) - _MOST_LISTED
            listed = ", ".join(
                f"{c.start.number} ({c.node_count:,} objects)"
                for c in have[:_MOST_LISTED]
            )
            listed += f" and {more:,} more" if more > 0 else ""
            without = "has no heap dump" if self._wanted in numbers else "is not there"
            return (
                f"collection {self._wanted} {without}; --part takes one that has a "
                f"dump: {listed}"
            )
        found = "no collection"
        if len(numbers) == 1:
            found = f"1 collection, {numbers[0]}"
        elif numbers:
            found = f"{len(numbers):,} collections, {min(numbers)} to {max(numbers)}"
        hint = ": ingest timeline shows them" if numbers else ""
        return (
            f"the trace has no heap dump (it has {found}{hint}); "
            "record one with ingest capture dotnet, dotnet-gcdump, or the runtime's "
            "keywords 0x1980001"
        )


def _word(words: tuple[str, ...], number: int) -> str:
    """The word for a number that the runtime tells; empty for one that it does not."""
    if number < 0:
        return ""
    return words[number] if number < len(words) else f"other ({number})"


_MOST_BYTES = (1 << 63) - 1


def _sum(sizes: tuple[int, ...]) -> int | None:
    return _fits(sum(sizes))


def _fits(size: int | None) -> int | None:
    """No size that is larger than any memory: a trace can say anything."""
    return None if size is None or size > _MOST_BYTES else size
