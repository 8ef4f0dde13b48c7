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
from ingest.heap.graph import EPHEMERON, NO_FIELD, RootFlag, RootKind
from ingest.readers.dotnet.gc_events import Gc
from ingest.readers.nettrace.signature import NAME
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.resolver import Objects, Roots, TypeRows, graph_of, rows_of
from ingest.readers.shared.resolver import Told as Heap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.history import History
    from ingest.readers.dotnet.gc_events import Type
    from ingest.readers.nettrace.snapshot import Collection, Told
    from ingest.readers.shared.id_table import IdTable
    from ingest.readers.shared.irregularities import Report

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
    report: Report,
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
        report: Told of what is irregular.

    Raises:
        MalformedDump: something of the snapshot was lost; or, with ``--strict``,
            anything irregular.
    """
    snapshot = _Snapshot(collection, told, report)
    objects = snapshot.objects()
    table = rows_of(objects, report)
    rows = TypeRows(
        {
            number: known.name or _NAMELESS.format(number)
            for number, known in types.items()
        },
        nameless=_NAMELESS,
        free=None,
    )
    if rows.need(objects.type_id, None, report) and lossy:
        raise snapshot.lost("types of objects")
    fields: dict[str, int] = {}
    roots = snapshot.roots(fields)
    keys, values = snapshot.dependent_handles(table)
    if len(keys):
        objects.refer(keys, values, fields.setdefault(EPHEMERON, len(fields)))
    return graph_of(
        objects,
        table,
        roots,
        rows,
        Heap(
            format_name=NAME,
            producer=PRODUCER,
            domain=f"process {collection.process}",
            ranges=(
                (known.start, known.used_bytes, known.reserved_bytes, known.generation)
                for known in collection.places.after()
            ),
            field_names=tuple(fields),
            null_reference_count=snapshot.null_count,
            collections=tuple(timeline),
            history=before,
            part=part,
            other_parts=tuple(other_parts),
        ),
        report,
    )


class _Snapshot:
    """The chunks of a collection put together, and what is wrong with them.

    Attributes:
        null_count: References to nothing, once the `objects` are read.
    """

    def __init__(self, collection: Collection, told: Told, report: Report) -> None:
        self._collection = collection
        self._told = told
        self._report = report
        self._is_cut = collection.until is None
        self.null_count = 0

    def lost(self, what: str) -> MalformedDump:
        """An error to be raised."""
        return MalformedDump(
            f"events were lost: {what} of collection {self._collection.start.number} "
            "are not whole; record it again with a larger buffer, or while less runs",
            path=self._report.name,
            offset=self._collection.offset,
        )

    def _column(self, kind: Gc, name: str, dtype: type[np.generic]) -> NDArray[Any]:
        """A field of all chunks of a kind, which have the numbers 0, 1, 2 and on."""
        chunks = sorted(self._told.chunks.get(kind, ()), key=lambda c: c.number)
        if [chunk.number for chunk in chunks] != list(range(len(chunks))):
            raise self.lost(kind.name.lower().replace("_", " "))
        empty = np.empty(0, dtype)
        return np.concatenate(
            [empty, *(chunk.rows[name].astype(dtype) for chunk in chunks)]
        )

    def objects(self) -> Objects:
        """The objects.

        Raises:
            MalformedDump: some are missing, or not all references are there.
        """
        size = self._column(Gc.NODES, "size", np.uint64)
        many = self._column(Gc.NODES, "edges", np.uint64)
        target = self._column(Gc.EDGES, "target", np.uint64)
        if len(size) and size.max() > MAX_SIZE_BYTES:
            raise MalformedDump(
                "an object is larger than any memory; record the trace again",
                path=self._report.name,
                offset=self._collection.offset,
            )
        # A count that is too large makes the sum so, but must not overflow it.
        claimed = np.cumsum(np.minimum(many, len(target) + 1).astype(np.int64))
        if len(claimed) and claimed[-1] != len(target):
            if not self._is_cut:
                raise self.lost("references")
            lacking = max(0, int(claimed[-1]) - len(target))
            self._report.add("truncated_references", lacking, 0, None)
            claimed = np.minimum(claimed, len(target))
            target = target[: claimed[-1]]
        count = np.diff(claimed, prepend=0)
        nothing = target == 0
        self.null_count = int(nothing.sum())
        if self.null_count:
            owner = np.repeat(np.arange(len(count)), count)
            count = np.bincount(owner[~nothing], minlength=len(count))
            target = target[~nothing]
        return Objects(
            address=self._column(Gc.NODES, "address", np.uint64),
            type_id=self._column(Gc.NODES, "type", np.uint64),
            size_bytes=size.astype(np.int64),
            ref_count=count.astype(np.int32),
            line=None,
            target=target,
        )

    def dependent_handles(
        self, table: IdTable
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Rows of keys, and addresses of what lives as long."""
        key = self._column(Gc.DEPENDENT_HANDLES, "key", np.uint64)
        value = self._column(Gc.DEPENDENT_HANDLES, "value", np.uint64)
        told = (key != 0) & (value != 0)
        rows, _ = table.find(key[told])
        self._report.add("dependent_handle_without_key", int((rows < 0).sum()), 0, None)
        return rows[rows >= 0], value[told][rows >= 0]

    def roots(self, fields: dict[str, int]) -> Roots:
        """The roots; those of nothing are left out."""
        statics = [static for static in self._told.statics if static.object]
        thread = np.array([static.is_of_thread for static in statics], np.bool_)
        wrappers = self._told.com_callable
        wrapped = [rows["object"] for rows in wrappers]
        strong = [rows["flags"] & _STRONG_WRAPPER for rows in wrappers]
        is_strong = np.concatenate([np.empty(0, np.uint32), *strong]) > 0
        kind = self._column(Gc.ROOTS, "kind", np.uint8)
        flags = self._column(Gc.ROOTS, "flags", np.uint32)
        s, w, r = len(statics), len(is_strong), len(kind)
        address = np.concatenate(
            [
                self._column(Gc.ROOTS, "object", np.uint64),
                np.array([static.object for static in statics], np.uint64),
                np.empty(0, np.uint64),
                *wrapped,
            ]
        )
        root_field = np.full(r + s + w, NO_FIELD, np.int32)
        root_field[r : r + s] = [
            fields.setdefault(static.field, len(fields)) for static in statics
        ]
        found = Roots(
            address,
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
            line=None,
            is_place=None,
            field=root_field,
            tells_interior=True,
        )
        found.keep(address != 0)
        return found
