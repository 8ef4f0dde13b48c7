"""From one snapshot in a ``.nettrace`` to a graph: order, types, roots, ephemerons.

Roots that the collector only looks at weakly are kept, and say so. A pointer into
the middle of an object is a root of that object. A static field has its name, but the
runtime does not tell which type declares it; a thread's static field is a local root.

A dependent handle keeps its value alive while its key is: it is told as a reference
from key to value, in the field `EPHEMERON`.

Each part of the heap that one generation has is a segment, for a collector of today
has regions, and one of yesterday tells of no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.errors import MalformedDump
from ingest.heap.graph import EPHEMERON, NO_FIELD, Domain, RootFlag, RootKind
from ingest.readers.dotnet.gc_events import Gc
from ingest.readers.dotnet.segments import segment_columns
from ingest.readers.nettrace.signature import NAME
from ingest.readers.shared.columns import (
    MAX_SIZE_BYTES,
    InteriorRoots,
    ObjectColumns,
    RootColumns,
)
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.history import History
    from ingest.readers.dotnet.gc_events import Bulk, Chunk, Type
    from ingest.readers.nettrace.snapshot import Collection, Told
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
"""What kinds 0 to 5 are: stack, finalizer, handle, older generation, a handle that
counts sizes, overflow."""

_FLAGS = RootFlag.PINNED | RootFlag.WEAK | RootFlag.INTERIOR
_STRONG_WRAPPER = 1
_NAMELESS = "<type {:#x}>"
"""How a type is named that the runtime does not name."""


def assemble(
    collection: Collection,
    told: Told,
    types: dict[int, Type],
    *,
    lossy: bool,
    timeline: Sequence[GarbageCollection],
    before: History | None,
    part: Part,
    other_parts: Sequence[Part],
    counter: IrregularityCounter,
) -> HeapGraph:
    """Make the graph.

    Args:
        collection: What tells of the heap.
        told: What it tells.
        types: By id.
        lossy: Whether anything of the stream was lost.
        timeline: All collections of the process.
        before: What outlived them, up to this one.
        part: Which dump of the stream it is.
        other_parts: Its others.
        counter: Told of what is irregular.

    Raises:
        MalformedDump: something of the snapshot was lost; or, with ``--strict``,
            anything irregular.
    """
    snapshot = _Snapshot(collection, told, counter)
    rows = TypeTable(counter, unnamed=_NAMELESS)
    for number, known in types.items():
        rows.declare(number, known.name or _NAMELESS.format(number))
    heap = HeapResolver(snapshot.objects(), rows, counter)
    if rows.undeclared_count and lossy:
        raise snapshot.lost("types of objects")
    fields: dict[str, int] = {}
    roots = snapshot.roots(fields)
    keys, values = snapshot.dependent_handles(heap)
    if len(keys):
        field = fields.setdefault(EPHEMERON, len(fields))
        heap.add_references(keys, values, field)
    ranges = [
        (known.start, known.used_bytes, known.reserved_bytes, known.generation)
        for known in collection.places.after()
    ]
    return heap.graph(
        roots,
        by_id=lambda address: segment_columns(ranges, address),
        format_name=NAME,
        producer=PRODUCER,
        domains=(Domain(f"process {collection.process}"),),
        field_names=tuple(fields),
        collections=tuple(timeline),
        history=before,
        part=part,
        other_parts=tuple(other_parts),
    )


class _Snapshot:
    """The chunks of a collection put together, and what is wrong with them."""

    def __init__(
        self, collection: Collection, told: Told, counter: IrregularityCounter
    ) -> None:
        self._collection = collection
        self._told = told
        self._counter = counter
        self._is_cut = collection.until is None

    def lost(self, what: str) -> MalformedDump:
        """An error to be raised."""
        return MalformedDump(
            f"events were lost: {what} of collection {self._collection.start.number} "
            "are not whole; record it again with a larger buffer, or while less runs",
            path=self._counter.name,
            offset=self._collection.offset,
        )

    def _chunks(self, kind: Gc) -> list[Chunk | Bulk]:
        """All chunks of a kind, which have the numbers 0, 1, 2 and on; once only."""
        chunks = sorted(self._told.chunks.pop(kind, ()), key=lambda c: c.number)
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
        """The objects, chunk by chunk; the references are in the first one.

        Raises:
            MalformedDump: some are missing, or not all references are there.
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
            if not self._is_cut:
                raise self.lost("references")
            self._counter.add(
                "truncated_references", max(0, claimed - recorded), 0, None
            )
            targets = _cut(pieces, targets)
        pieces[0].ref_id = targets
        return pieces

    def dependent_handles(
        self, heap: HeapResolver
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Rows of keys, and addresses of what lives as long."""
        key, value = self._columns(Gc.DEPENDENT_HANDLES, key="u8", value="u8")
        told = (key != 0) & (value != 0)
        rows = heap.find(key[told])
        self._counter.add(
            "dependent_handle_without_key", int((rows < 0).sum()), 0, None
        )
        return rows[rows >= 0], value[told][rows >= 0]

    def roots(self, fields: dict[str, int]) -> RootColumns:
        """The roots; those of nothing are left out."""
        statics = [static for static in self._told.statics if static.object]
        thread = np.array([static.is_thread_static for static in statics], np.bool_)
        wrappers = self._told.com_callable
        wrapped = [rows["object"] for rows in wrappers]
        strong = [rows["flags"] & _STRONG_WRAPPER for rows in wrappers]
        is_strong = np.concatenate([np.empty(0, np.uint32), *strong]) > 0
        kind, flags, held = self._columns(Gc.ROOTS, kind="u1", flags="u4", object="u8")
        s, w, r = len(statics), len(is_strong), len(kind)
        address = np.concatenate(
            [
                held,
                np.array([static.object for static in statics], np.uint64),
                np.empty(0, np.uint64),
                *wrapped,
            ]
        )
        root_field = np.full(r + s + w, NO_FIELD, np.int32)
        root_field[r : r + s] = [
            fields.setdefault(static.field, len(fields)) for static in statics
        ]
        found = RootColumns(
            id=address,
            kind=np.concatenate(
                [
                    _KINDS[np.minimum(kind, len(_KINDS) - 1)],
                    np.where(thread, RootKind.LOCAL, RootKind.STATIC).astype(np.uint8),
                    np.full(w, RootKind.OTHER, np.uint8),
                ]
            ),
            flags=np.concatenate(
                [
                    (flags & _FLAGS).astype(np.uint8),
                    np.zeros(s, np.uint8),
                    np.where(is_strong, 0, RootFlag.WEAK).astype(np.uint8),
                ]
            ),
            field=root_field,
            interior=InteriorRoots.FLAGGED,
        )
        found.keep(address != 0)
        return found


def _cut(
    pieces: list[ObjectColumns], targets: list[NDArray[np.uint64]]
) -> list[NDArray[np.uint64]]:
    """Let objects have as many references as there are, the first ones all."""
    left = sum(map(len, targets))
    for piece in pieces:
        ends = np.minimum(np.cumsum(piece.ref_count, dtype=np.int64), left)
        piece.ref_count = np.diff(ends, prepend=0).astype(np.int32)
        left -= int(piece.ref_count.sum(dtype=np.int64))
    whole = np.concatenate(targets) if targets else np.empty(0, np.uint64)
    return [whole[: len(whole) - left]]
