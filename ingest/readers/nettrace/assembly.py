"""Makes a graph from a snapshot in a ``.nettrace``, and the history before it.

Weak roots are included, and flagged. A pointer into the middle of an object is a root
of that object. Static fields, thread-static ones too, have their names, but the runtime
does not record which type declares them.

A dependent handle retains its value while its key is alive. So it becomes a reference
from key to value, in the field `EPHEMERON`.

Each address range of a generation becomes a segment: recent collectors use regions, and
older ones record no other ranges.

A collection records the ranges of generations, then those that survived, then the
ranges of generations again. Other collections run during a background collection, so
the ranges recorded at its start are out of date when it records what survived. It does
not collect generations 0 and 1.

Source: dotnet/runtime, src/coreclr/gc/gc.cpp; checked against recorded traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump
from ingest.heap.graph import EPHEMERON, NO_FIELD, Domain, RootFlag, RootKind
from ingest.heap.history import OLDEST, History, Survival
from ingest.readers.dotnet.gc_events import Gc, Mode
from ingest.readers.dotnet.segments import segment_columns
from ingest.readers.nettrace import NAME
from ingest.readers.nettrace.survival_events import NO_EVENTS, bounds
from ingest.readers.shared.columns import (
    MAX_SIZE_BYTES,
    InteriorRoots,
    ObjectColumns,
    RootColumns,
)
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import DOTNET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.history import History
    from ingest.readers.dotnet.event_stream import Gaps
    from ingest.readers.dotnet.gc_events import Bulk, Chunk, Type
    from ingest.readers.nettrace.snapshot import Collection, HeapEvents
    from ingest.readers.shared.irregularities import IrregularityCounter


PRODUCER = "EventPipe"

_KINDS = np.array(
    [
        RootKind.LOCAL,
        RootKind.FINALIZER_QUEUE,
        RootKind.HANDLE,
        RootKind.OTHER,
        RootKind.HANDLE,
        RootKind.OTHER,
    ],
    np.uint8,
)
"""Root kinds for kinds 0 to 5: stack, finalizer, handle, older generation, sized
reference handle, overflow."""

_FLAGS = RootFlag.PINNED | RootFlag.WEAK | RootFlag.INTERIOR
_STRONG_WRAPPER = 1
_NAMELESS = "<type {:#x}>"
"""The name of a type that the runtime does not name."""


class StreamColumns(NamedTuple):
    """Attributes of a graph that come from the rest of its stream.

    Attributes:
        collections: All collections of the process.
        history: The survivals up to this collection.
        part: The dump as a part of the stream.
        other_parts: The other dumps of the stream.
    """

    collections: tuple[GarbageCollection, ...]
    history: History | None
    part: Part
    other_parts: tuple[Part, ...]


def assemble(
    collection: Collection,
    events: HeapEvents,
    types: dict[int, Type],
    *,
    is_lossy: bool,
    stream: StreamColumns,
    counter: IrregularityCounter,
) -> HeapGraph:
    """Make the graph.

    Args:
        collection: The collection of the snapshot.
        events: Its heap events.
        types: Types by id.
        is_lossy: Whether any events of the stream were lost.
        stream: What the graph has of the rest of the stream.
        counter: Counts irregularities.

    Raises:
        MalformedDump: events of the snapshot were lost; or, with ``--strict``,
            anything is irregular.
    """
    snapshot = _Snapshot(collection, events, counter)
    rows = TypeTable(counter, unnamed=_NAMELESS)
    for type_id, found in types.items():
        rows.declare(type_id, found.name or _NAMELESS.format(type_id))
    heap = HeapResolver(snapshot.objects(), rows, counter)
    if rows.undeclared_count and is_lossy:
        raise snapshot.lost("types of objects")
    fields: dict[str, int] = {}
    roots = snapshot.roots(fields)
    keys, values = snapshot.dependent_handles(heap)
    if len(keys):
        field = fields.setdefault(EPHEMERON, len(fields))
        heap.add_references(keys, values, field)
    ranges = [
        (entry.start, entry.used_bytes, entry.reserved_bytes, entry.generation)
        for entry in collection.survival.after()
    ]
    return heap.graph(
        roots,
        by_id=lambda address: segment_columns(ranges, address),
        format_name=NAME,
        runtime=DOTNET.name,
        producer=PRODUCER,
        domains=(Domain(f"process {collection.process}"),),
        field_names=tuple(fields),
        **stream._asdict(),
    )


class _Snapshot:
    """Joins the chunks of a collection, and checks that they are complete."""

    def __init__(
        self, collection: Collection, events: HeapEvents, counter: IrregularityCounter
    ) -> None:
        self._collection = collection
        self._events = events
        self._counter = counter

    def lost(self, what: str) -> MalformedDump:
        """The error to raise if events were lost."""
        return MalformedDump(
            f"events were lost: {what} of collection {self._collection.number} "
            "are incomplete; record it again with a larger buffer, or under less load",
            path=self._counter.name,
            offset=self._collection.offset,
        )

    def _chunks(self, kind: Gc) -> list[Chunk | Bulk]:
        """Remove and return the chunks of a kind, which are numbered from 0."""
        chunks = sorted(self._events.chunks.pop(kind, ()), key=lambda c: c.number)
        if [chunk.number for chunk in chunks] != list(range(len(chunks))):
            raise self.lost(kind.name.lower().replace("_", " "))
        return chunks

    def _columns(self, event: Gc, **dtypes: str) -> list[NDArray[Any]]:
        """Fields of all chunks of a kind, by name and dtype."""
        chunks = self._chunks(event)
        return [
            np.concatenate(
                [np.empty(0, dtype), *(c.rows[name].astype(dtype) for c in chunks)]
            )
            for name, dtype in dtypes.items()
        ]

    def objects(self) -> list[ObjectColumns]:
        """The objects, one item per chunk; the first has all references.

        Raises:
            MalformedDump: objects or references are missing.
        """
        nodes, edges = self._chunks(Gc.NODES), self._chunks(Gc.EDGES)
        pieces = [
            ObjectColumns(
                id=chunk.rows["address"],
                type_id=chunk.rows["type"],
                size_bytes=chunk.rows["size"],
                ref_count=chunk.rows["edges"],
                ref_id=[],
            )
            for chunk in nodes
        ]
        if any(
            len(p.size_bytes) and p.size_bytes.max() > MAX_SIZE_BYTES for p in pieces
        ):
            raise MalformedDump(
                "an object is larger than any memory; record the trace again",
                path=self._counter.name,
                offset=self._collection.offset,
            )
        targets = [chunk.rows["target"] for chunk in edges]
        claimed = sum(int(p.ref_count.sum(dtype=np.int64)) for p in pieces)
        recorded = sum(map(len, targets))
        if claimed != recorded:
            if self._collection.end_ticks is not None:
                raise self.lost("references")
            self._counter.add(
                "truncated_references", max(0, claimed - recorded), 0, None
            )
            targets = _truncate(pieces, targets)
        pieces[0].ref_id = targets
        return pieces

    def dependent_handles(
        self, heap: HeapResolver
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Rows of the keys, and addresses of the values."""
        key, value = self._columns(Gc.DEPENDENT_HANDLES, key="u8", value="u8")
        is_used = (key != 0) & (value != 0)
        rows = heap.find(key[is_used])
        self._counter.add(
            "dependent_handle_without_key", int((rows < 0).sum()), 0, None
        )
        return rows[rows >= 0], value[is_used][rows >= 0]

    def roots(self, fields: dict[str, int]) -> RootColumns:
        """The roots, except null ones; ``fields`` gets the names of static fields."""
        kind, flags, held = self._columns(Gc.ROOTS, kind="u1", flags="u4", object="u8")
        statics = [static for static in self._events.statics if static.object]
        of_thread = np.array([static.is_thread_static for static in statics], np.bool_)
        wrappers = self._events.com_callable
        strong = [rows["flags"] & _STRONG_WRAPPER for rows in wrappers]
        is_strong = np.concatenate([np.empty(0, np.uint32), *strong]) > 0
        address = np.concatenate(
            [
                held,
                np.array([static.object for static in statics], np.uint64),
                *(rows["object"] for rows in wrappers),
            ]
        )
        root_field = np.full(len(address), NO_FIELD, np.int32)
        root_field[len(held) : len(held) + len(statics)] = [
            fields.setdefault(static.field, len(fields)) for static in statics
        ]
        roots = RootColumns(
            id=address,
            kind=np.concatenate(
                [
                    _KINDS[np.minimum(kind, len(_KINDS) - 1)],
                    np.where(of_thread, RootKind.THREAD_STATIC, RootKind.STATIC).astype(
                        "u1"
                    ),
                    np.full(len(is_strong), RootKind.OTHER, np.uint8),
                ]
            ),
            flags=np.concatenate(
                [
                    (flags & _FLAGS).astype(np.uint8),
                    np.zeros(len(statics), np.uint8),
                    np.where(is_strong, 0, RootFlag.WEAK).astype(np.uint8),
                ]
            ),
            field=root_field,
            interior=InteriorRoots.FLAGGED,
        )
        roots.keep(address != 0)
        return roots


def _truncate(
    pieces: list[ObjectColumns], targets: list[NDArray[np.uint64]]
) -> list[NDArray[np.uint64]]:
    """Reduce the reference counts, from the last object on, to those recorded."""
    left = sum(map(len, targets))
    for piece in pieces:
        ends = np.minimum(np.cumsum(piece.ref_count, dtype=np.int64), left)
        piece.ref_count = np.diff(ends, prepend=0).astype(np.int32)
        left -= int(piece.ref_count.sum(dtype=np.int64))
    joined = np.concatenate(targets) if targets else np.empty(0, np.uint64)
    return [joined[: len(joined) - left]]


_NO_IDS = np.empty(0, np.uint64)


def history(
    collections: Iterable[Collection],
    chosen: Collection,
    gaps: Gaps,
    *,
    frees: bool = False,
) -> History | None:
    """The survivals up to a dump.

    Args:
        collections: All of the stream, in the order of their start.
        chosen: The collection of the dump.
        gaps: Gaps in the stream.
        frees: Whether to free the events of the other collections one by one.

    Returns:
        ``None`` if no collection recorded which ranges survived.
    """
    of_process = [c for c in collections if c.process == chosen.process]
    of_process.sort(key=_recorded_at)
    until = [c for c in of_process if _recorded_at(c) <= _recorded_at(chosen)]
    if not any(_has_ranges(c, gaps) for c in until):
        return None
    survivals = []
    for one in until:
        survivals.append(_survival(one, gaps))
        if frees and one is not chosen:
            one.survival = NO_EVENTS
    return History(tuple(survivals))


def _recorded_at(collection: Collection) -> float:
    """The time in ticks at which the surviving ranges were recorded."""
    if collection.survival.first_ticks is not None:
        return collection.survival.first_ticks
    return float("inf") if collection.end_ticks is None else collection.end_ticks


def _has_ranges(collection: Collection, gaps: Gaps) -> bool:
    """Whether all of its surviving ranges are recorded."""
    found = collection.survival
    if collection.generation < 0 or not (found.moves or found.generations):
        return False
    return not gaps.lost_by(found.threads, collection.begin_ticks, collection.end_ticks)


def _survival(collection: Collection, gaps: Gaps) -> Survival:
    found = collection.survival
    columns = [_NO_IDS] * 3  # one array for all: there may be many collections
    if found.moves:
        columns = [
            np.concatenate([_NO_IDS, *(entry[at] for entry in found.moves)])
            for at in range(3)
        ]
    old, new, length = columns
    is_background = collection.mode == Mode.BACKGROUND
    return Survival(
        number=collection.number,
        generation=collection.generation,
        youngest=OLDEST if is_background else 0,
        old_start=old,
        new_start=new,
        length=length,
        before=None if is_background else found.before(),
        after=bounds(found.after()),
        has_ranges=_has_ranges(collection, gaps),
    )
