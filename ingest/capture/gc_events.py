"""Counts the collections and heap dumps of a stream of .NET events as it arrives.

Enough for a capture to know when it is finished and whether it is complete: events are
counted by kind, bulk events by chunk. No graph is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import CaptureError, DumpError
from ingest.readers.dotnet.event_stream import EventStream
from ingest.readers.dotnet.gc_events import PROVIDER, Gc, Mode, Payloads, Reason
from ingest.readers.shared.binary import Feed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.readers.dotnet.event_stream import Event, EventKind

_WANTED = frozenset({Gc.START, Gc.END, Gc.TYPES, Gc.NODES, Gc.EDGES, Gc.MOVED})
_FULL = 2
_NAME = "events"


@dataclass(slots=True)
class StreamedDump:
    """One heap dump in the stream, as far as it has arrived.

    Attributes:
        began: Time of its first event, in ticks of the program.
        object_count: Objects.
        edge_count: References between them.
        declared_edge_count: References according to the counts of the objects.
        node_chunks: How many chunks of objects arrived, and the highest number.
        edge_chunks: The same for references.
    """

    began: int
    object_count: int = 0
    edge_count: int = 0
    declared_edge_count: int = 0
    node_chunks: list[int] = field(default_factory=lambda: [0, -1])
    edge_chunks: list[int] = field(default_factory=lambda: [0, -1])

    @property
    def is_complete(self) -> bool:
        """Whether no chunk is missing, at the end either."""
        return self.declared_edge_count == self.edge_count and all(
            count == last + 1 for count, last in (self.node_chunks, self.edge_chunks)
        )


class GcEvents:
    """The contents of a stream so far.

    Attributes:
        dumps: Heap dumps that began, in order.
        gc_count: Collections that have ended.
        moved_count: Events with moved ranges.
        type_ids: Types with a name.
        used_type_ids: Types of objects in heap dumps.
        is_ended: Whether the end of the stream was seen.
    """

    def __init__(self) -> None:
        self._begun: dict[int, int] = {}
        self._over: dict[int, int] = {}
        self.dumps: list[StreamedDump] = []
        self.gc_count = 0
        self.moved_count = 0
        self.type_ids: set[int] = set()
        self.used_type_ids: set[int] = set()
        self.is_ended = False

    @property
    def finished_count(self) -> int:
        """Heap dumps whose collection has ended.

        Decided by time, since events of several threads arrive out of order: with
        server GC the start of a collection arrives after its objects and its end.
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

    def read(self, pieces: Iterable[bytes]) -> None:
        """Read a stream, part by part.

        All events of a part are counted before the next part is requested.

        Raises:
            CaptureError: it is not such a stream.
        """
        feed = Feed(pieces, _NAME)
        try:
            stream = EventStream(feed, _wanted)
            payloads = Payloads(stream.header.pointer_bytes, _NAME)
            for event in stream.unordered_events():
                self._take(event, payloads)
        except DumpError as error:
            what = str(error).removeprefix(f"{_NAME}: ")
            what, _, _ = what.partition(";")  # advice about files does not apply
            raise CaptureError(
                f"the program sends malformed events ({what}); try again, and report "
                "it if it persists"
            ) from error
        self.is_ended = stream.truncated_at is None
        feed.drain()

    def _take(self, event: Event, payloads: Payloads) -> None:
        kind = Gc(event.kind.number)
        if kind is Gc.START:
            start = payloads.start(event)
            asked_for = (_FULL, Reason.INDUCED, Mode.BLOCKING)
            if (start.generation, start.reason, start.mode) == asked_for:
                self._begun[start.number] = event.ticks
        elif kind is Gc.END:
            self.gc_count += 1
            self._over[payloads.end(event)] = event.ticks
        elif kind is Gc.TYPES:
            self.type_ids.update(found.id for found in payloads.types(event))
        elif kind is Gc.NODES:
            self._nodes(event, payloads)
        elif kind is Gc.MOVED:
            self.moved_count += 1
        elif kind is Gc.EDGES:
            self._edges(event, payloads)

    def _edges(self, event: Event, payloads: Payloads) -> None:
        """Count a chunk of references.

        If the first objects have very many, it arrives before any objects do.
        """
        number, rows = payloads.rows(event)
        if number == 0 and (not self.dumps or self.dumps[-1].edge_chunks[0]):
            self.dumps.append(StreamedDump(event.ticks))
        if self.dumps:
            self.dumps[-1].edge_count += len(rows)
            _note(self.dumps[-1].edge_chunks, number)

    def _nodes(self, event: Event, payloads: Payloads) -> None:
        number, rows = payloads.rows(event)
        if not self.dumps or (number == 0 and self.dumps[-1].node_chunks[0]):
            self.dumps.append(StreamedDump(event.ticks))
        dump = self.dumps[-1]
        _note(dump.node_chunks, number)
        dump.object_count += len(rows)
        dump.declared_edge_count += int(rows["edges"].sum())
        self.used_type_ids.update(np.unique(rows["type"]).tolist())


def _wanted(kind: EventKind) -> bool:
    return kind.provider == PROVIDER and kind.number in _WANTED


def _note(chunks: list[int], index: int) -> None:
    """Count the chunk with this number."""
    chunks[0] += 1
    chunks[1] = max(chunks[1], index)
