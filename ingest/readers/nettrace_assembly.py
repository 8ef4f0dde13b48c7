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

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.errors import MalformedDump
from ingest.graph import (
    EPHEMERON,
    GENERATIONS,
    NO_FIELD,
    NO_TYPE,
    Domain,
    HeapGraph,
    Part,
    RootFlag,
    RootKind,
    Segment,
    SegmentKind,
)
from ingest.readers.columns import MAX_SIZE_BYTES, check_sum, extended
from ingest.readers.gc_events import Gc
from ingest.readers.idtable import IdTable
from ingest.readers.segments import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.graph import GarbageCollection
    from ingest.history import History
    from ingest.readers.gc_events import GenerationRange, Type
    from ingest.readers.nettrace_snapshot import Collection, Told
    from ingest.readers.report import Report

NAME = "nettrace"
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
_SEGMENT_KINDS = (
    SegmentKind.EPHEMERAL,
    SegmentKind.EPHEMERAL,
    SegmentKind.GEN2,
    SegmentKind.LOH,
    SegmentKind.POH,
)


class _Nodes(NamedTuple):
    """The objects of a snapshot, and what they refer to.

    Attributes:
        address: uint64 (N,).
        size: int64 (N,).
        type: uint64 (N,). Ids.
        edges: int64 (N,). References of each.
        target: uint64 (E,). Addresses; none is 0.
        null_count: References to nothing.
    """

    address: NDArray[np.uint64]
    size: NDArray[np.int64]
    type: NDArray[np.uint64]
    edges: NDArray[np.int64]
    target: NDArray[np.uint64]
    null_count: int


class _Roots(NamedTuple):
    """Roots, by the address of what they hold."""

    address: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    field: NDArray[np.int32]


def assemble(
    collection: Collection,
    told: Told,
    types: dict[int, Type],
    *,
    lossy: bool,
    timeline: Sequence[GarbageCollection],
    before: History | None,
    others: Sequence[int],
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
        others: Numbers of more collections with a heap dump.
        report: Told of what is irregular.

    Raises:
        MalformedDump: something of the snapshot was lost; or, with ``--strict``,
            anything irregular.
    """
    snapshot = _Snapshot(collection, told, report)
    nodes = snapshot.nodes()
    table = IdTable(nodes.address)
    if len(table.twin):
        nodes = _without(nodes, table.twin >= 0, report)
        table = IdTable(nodes.address)
    rows = _TypeRows(types)
    type_index = rows.of(nodes.type)
    if rows.undeclared and lossy:
        raise snapshot.lost("types of objects")
    report.add("undeclared_type", rows.undeclared, 0, None)
    fields: dict[str, int] = {}
    roots = snapshot.roots(fields)
    _settle_interior(roots, nodes, table)
    keys, values = snapshot.dependent_handles(table)
    n, e = len(nodes.address), len(nodes.target)
    wanted = np.concatenate([nodes.target, roots.address, values])
    found, missing = _found(table, wanted, n)
    report.add("missing_object", len(missing), 0, None)
    count, target, field = nodes.edges, found[:e], None
    if len(keys):
        ephemeron = fields.setdefault(EPHEMERON, len(fields))
        count, target, field = _with_ephemerons(
            nodes.edges, target, keys, found[e + len(roots.address) :], ephemeron
        )
    ref_start = np.zeros(n + len(missing) + 1, np.int64)
    np.cumsum(count, out=ref_start[1 : n + 1])
    ref_start[n + 1 :] = ref_start[n]
    object_id = np.concatenate([nodes.address, missing])
    segments, segment_index, generation = _places(collection.places.after(), object_id)
    names = tuple(rows.names)
    return HeapGraph(
        format_name=NAME,
        producer=PRODUCER,
        object_count=n,
        object_id=object_id,
        type_index=extended(type_index, len(missing), NO_TYPE),
        shallow_bytes=extended(nodes.size, len(missing), 0),
        ref_start=ref_start,
        ref_target=target,
        ref_field=field,
        root_object=found[e : e + len(roots.address)],
        root_kind=roots.kind,
        root_flags=roots.flags,
        root_type=np.full(len(roots.address), NO_TYPE, np.int32),
        root_field=roots.field,
        field_names=tuple(fields),
        type_names=names,
        type_domain=np.zeros(len(names), np.int32),
        domains=(Domain(f"process {collection.process}"),),
        generation=generation,
        segment_index=segment_index,
        segments=segments,
        null_reference_count=nodes.null_count,
        collections=tuple(timeline),
        history=before,
        part=Part("gc", collection.start.number),
        other_parts=tuple(Part("gc", number) for number in others),
        irregularities=report.finish(),
    )


class _Snapshot:
    """The chunks of a collection put together, and what is wrong with them."""

    def __init__(self, collection: Collection, told: Told, report: Report) -> None:
        self._collection = collection
        self._told = told
        self._report = report
        self._is_cut = collection.until is None

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

    def nodes(self) -> _Nodes:
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
        check_sum(size, self._report.name)
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
        if nulls := int(nothing.sum()):
            owner = np.repeat(np.arange(len(count)), count)
            count = np.bincount(owner[~nothing], minlength=len(count))
            target = target[~nothing]
        return _Nodes(
            self._column(Gc.NODES, "address", np.uint64),
            size.astype(np.int64),
            self._column(Gc.NODES, "type", np.uint64),
            count.astype(np.int64),
            target,
            nulls,
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

    def roots(self, fields: dict[str, int]) -> _Roots:
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
        found = _Roots(
            address,
            np.concatenate(
                [
                    _KINDS[np.minimum(kind, len(_KINDS) - 1)],
                    np.where(thread, RootKind.LOCAL, RootKind.STATIC).astype(np.uint8),
                    np.full(w, RootKind.OTHER, np.uint8),
                ]
            ),
            np.concatenate(
                [
                    (flags & _FLAGS).astype(np.uint8),
                    np.zeros(s, np.uint8),
                    np.where(is_strong, 0, RootFlag.WEAK).astype(np.uint8),
                ]
            ),
            root_field,
        )
        return _Roots._make(column[address != 0] for column in found)


def _without(nodes: _Nodes, twins: NDArray[np.bool_], report: Report) -> _Nodes:
    """The objects without those whose address another has before."""
    report.add("repeated_object", int(twins.sum()), 0, None)
    kept = ~twins
    return _Nodes(
        nodes.address[kept],
        nodes.size[kept],
        nodes.type[kept],
        nodes.edges[kept],
        nodes.target[np.repeat(kept, nodes.edges)],
        nodes.null_count,
    )


class _TypeRows:
    """Rows of types, those that the stream does not tell made where they are needed.

    Attributes:
        names: Of each row.
        undeclared: Objects whose type the stream does not tell.
    """

    def __init__(self, types: dict[int, Type]) -> None:
        self.names = [
            known.name or f"<type {number:#x}>" for number, known in types.items()
        ]
        self.undeclared = 0
        self._ids = list(types)
        self._make_table()

    def _make_table(self) -> None:
        self._table = IdTable(np.array(self._ids, np.uint64))

    def of(self, ids: NDArray[np.uint64]) -> NDArray[np.int32]:
        """int32: the row of each id."""
        rows, _ = self._table.find(ids)
        absent = np.flatnonzero(rows < 0)
        if len(absent):
            self.undeclared += len(absent)
            for number in np.unique(ids[absent]).tolist():
                self._ids.append(number)
                self.names.append(f"<type {number:#x}>")
            self._make_table()
            rows[absent], _ = self._table.find(ids[absent])
        return rows


def _settle_interior(roots: _Roots, nodes: _Nodes, table: IdTable) -> None:
    """Let roots that point into an object point at it."""
    at = np.flatnonzero(roots.flags & RootFlag.INTERIOR)
    inner = at[table.find(roots.address[at])[0] < 0]
    if len(inner):
        order = np.argsort(nodes.address)
        starts = nodes.address[order]
        before = np.searchsorted(starts, roots.address[inner], "right") - 1
        end = starts[before] + nodes.size[order[before]].astype(np.uint64)
        held = (before >= 0) & (roots.address[inner] < end)
        roots.address[inner[held]] = starts[before[held]]


def _found(
    table: IdTable, wanted: NDArray[np.uint64], first: int
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Rows of addresses, and which addresses have the rows from ``first`` on."""
    rows, _ = table.find(wanted)
    absent = np.flatnonzero(rows < 0)
    missing, rank = np.unique(wanted[absent], return_inverse=True)
    rows[absent] = first + rank
    return rows, missing


def _with_ephemerons(
    count: NDArray[np.int64],
    target: NDArray[np.int32],
    keys: NDArray[np.int32],
    values: NDArray[np.int32],
    field: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Counts, targets and fields, with a reference from each key to its value."""
    source = np.concatenate([np.repeat(np.arange(len(count), dtype="i4"), count), keys])
    order = np.argsort(source, kind="stable")
    fields = np.full(len(source), NO_FIELD, np.int32)
    fields[len(target) :] = field
    return (
        count + np.bincount(keys, minlength=len(count)),
        np.concatenate([target, values])[order],
        fields[order],
    )


def _places(
    told: list[GenerationRange], address: NDArray[np.uint64]
) -> tuple[tuple[Segment, ...], NDArray[np.int32] | None, NDArray[np.int8] | None]:
    """The segments, and which of them and which generation has each address."""
    ranges = sorted(
        {
            (known.start, known.used_bytes, known.reserved_bytes, known.generation)
            for known in told
            if known.generation < GENERATIONS
            and 0 < known.used_bytes <= MAX_SIZE_BYTES
            and known.reserved_bytes <= MAX_SIZE_BYTES
            and known.start < 1 << 63
        }
    )
    if not ranges:
        return (), None, None
    segments = tuple(
        Segment(
            start,
            start + used,
            reserved_end=start + max(used, reserved),
            kind=_SEGMENT_KINDS[generation],
        )
        for start, used, reserved, generation in ranges
    )
    index = within(address, [s.start for s in segments], [s.end for s in segments])
    numbers = np.array([r[3] for r in ranges], np.int8)
    generation = np.where(index >= 0, numbers[index], np.int8(-1))
    return segments, index, generation
