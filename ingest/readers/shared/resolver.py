"""From a heap told by addresses to a graph, whatever tells it.

A root may point into the middle of an object: it is a root of that object. Some
writers tell where a root stands, not what it holds: what no object has is then of no
use, and left out. Else it is a missing object, as what objects refer to is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import (
    GENERATIONS,
    NO_FIELD,
    NO_TYPE,
    Domain,
    HeapGraph,
    RootFlag,
    Segment,
    SegmentKind,
)
from ingest.readers.shared.address_ranges import within
from ingest.readers.shared.columns import MAX_SIZE_BYTES, check_sum, extended
from ingest.readers.shared.id_table import IdTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ingest.compiled import Bools, Bytes, Ids, Ints, Longs
    from ingest.heap.graph import GarbageCollection, Part
    from ingest.heap.history import History
    from ingest.readers.shared.irregularities import Lines, Report

FREE = "Free Space"
"""What type 0 may be where nobody declares it: gaps between objects."""

_SEGMENT_KINDS = (
    SegmentKind.EPHEMERAL,
    SegmentKind.EPHEMERAL,
    SegmentKind.GEN2,
    SegmentKind.LOH,
    SegmentKind.POH,
)


@dataclass(slots=True, eq=False)
class Objects:
    """N objects, as a dump tells them, and their E references; none is null.

    Attributes:
        address: uint64 (N,).
        type_id: uint64 (N,).
        size_bytes: int64 (N,).
        ref_count: int32 (N,).
        line: uint32 (N,). Where each stands; ``None`` in a dump without lines.
        target: uint64 (E,). Addresses.
        field: int32 (E,), or ``None``. As in the graph.
    """

    address: Ids
    type_id: Ids
    size_bytes: Longs
    ref_count: Ints
    line: NDArray[np.uint32] | None
    target: Ids
    field: Ints | None = None

    def keep(self, kept: Bools) -> None:
        """Drop the others, with their references."""
        references = np.repeat(kept, self.ref_count)
        self.target = self.target[references]
        if self.field is not None:
            self.field = self.field[references]
        if self.line is not None:
            self.line = self.line[kept]
        for name in ("address", "type_id", "size_bytes", "ref_count"):
            setattr(self, name, getattr(self, name)[kept])

    def refer(self, rows: Ints, targets: Ids, field: int) -> None:
        """Let the objects ``rows`` refer to ``targets`` too, behind all others."""
        order = np.argsort(rows, kind="stable")
        place = np.cumsum(self.ref_count, dtype=np.int64)[rows[order]]
        if self.field is None:
            self.field = np.full(len(self.target), NO_FIELD, np.int32)
        self.target = np.insert(self.target, place, targets[order])
        self.field = np.insert(self.field, place, field)
        more = np.bincount(rows, minlength=len(self.ref_count))
        self.ref_count = self.ref_count + more.astype(np.int32)


@dataclass(slots=True, eq=False)
class Roots:
    """R roots, by the address of what they hold; none is null.

    Attributes:
        address: uint64 (R,).
        kind, flags: uint8 (R,). As in the graph.
        line: uint32 (R,). Where each stands; ``None`` in a dump without lines.
        is_place: bool (R,). Whether the address may be where the root stands;
            ``None`` for nowhere.
        type, field, owner: int32 (R,). As in the graph; ``None`` for none.
        tells_interior: Whether the flags tell of all that point into the middle of
            an object.
    """

    address: Ids
    kind: Bytes
    flags: Bytes
    line: NDArray[np.uint32] | None
    is_place: Bools | None
    type: Ints | None = None
    field: Ints | None = None
    owner: Ints | None = None
    tells_interior: bool = False

    def keep(self, kept: Bools) -> None:
        """Drop the others."""
        for name in self.__slots__:
            column = getattr(self, name)
            if isinstance(column, np.ndarray):
                setattr(self, name, column[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What else is told of a dump; see `ingest.heap.graph.HeapGraph`.

    Attributes:
        domain: What the heap is of.
        ranges: Rows of start, used and reserved bytes, generation.
    """

    format_name: str
    producer: str
    domain: str = "process"
    ranges: Iterable[tuple[int, int, int, int]] = ()
    field_names: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    null_reference_count: int = 0
    collections: tuple[GarbageCollection, ...] = ()
    history: History | None = None
    part: Part | None = None
    other_parts: tuple[Part, ...] = ()


class TypeRows:
    """Rows of types, those that the dump does not declare made when they are needed.

    Args:
        declared: Names by id.
        nameless: How to name what is not declared.
        free: What type 0 is; ``None`` for a type like all others.

    Attributes:
        names: Of each row.
    """

    def __init__(
        self,
        declared: Mapping[int, str],
        *,
        nameless: str = "<type {}>",
        free: str | None = FREE,
    ) -> None:
        self.names = list(declared.values())
        self._ids = list(declared)
        self._rows: dict[str, int] = {}
        self._nameless, self._free = nameless, free

    def named(self, name: str) -> int:
        """The row of the first type of that name; a new one if there is none."""
        if not self._rows:
            for row, known in enumerate(self.names):
                self._rows.setdefault(known, row)
        if name not in self._rows:
            self._rows[name] = len(self.names)
            self.names.append(name)
        return self._rows[name]

    def need(self, ids: Ids, lines: Lines | None, report: Report) -> int:
        """Make what is missing of ``ids``; call it before `named`.

        Returns how many of them are not declared, as the report is told.
        """
        rows, _ = self._table().find(ids)
        absent = np.flatnonzero(rows < 0)
        undeclared = absent if self._free is None else absent[ids[absent] != 0]
        _count(report, "undeclared_type", lines, undeclared)
        for number in np.unique(ids[absent]).tolist():
            free = None if number else self._free
            self._ids.append(number)
            self.names.append(free or self._nameless.format(number))
        return len(undeclared)

    def of(self, ids: Ids) -> Ints:
        """int32: the row of each id, all of which are there."""
        return self._table().find(ids)[0]

    def _table(self) -> IdTable:
        return IdTable(np.array(self._ids, np.uint64))


def rows_of(objects: Objects, report: Report) -> IdTable:
    """The row of each address; drops objects whose address another has before.

    Raises:
        MalformedDump: the sizes overflow any memory.
    """
    check_sum(objects.size_bytes, report.name)
    table = IdTable(objects.address)
    if not len(table.twin):
        return table
    _count(report, "repeated_object", objects.line, np.flatnonzero(table.twin >= 0))
    objects.keep(table.twin < 0)
    return IdTable(objects.address)


def graph_of(
    objects: Objects,
    table: IdTable,
    roots: Roots,
    types: TypeRows,
    told: Told,
    report: Report,
) -> HeapGraph:
    """Resolve all addresses and make the graph.

    A missing object counts as often as it is referred to where lines tell of that,
    else once.

    Args:
        objects: What the dump has.
        table: Of `rows_of` them.
        roots: What holds them.
        types: Has the types of all of them.
        told: What else there is.
        report: Told of what is irregular.

    Raises:
        MalformedDump: with ``--strict``, anything irregular.
    """
    root_object = _held(objects, roots, table, report)
    type_index = types.of(objects.type_id)
    n = len(objects.address)
    ref_target, _ = table.find(objects.target)
    absent = np.flatnonzero(ref_target < 0)
    ref_start = np.zeros(n + 1, np.int64)
    np.cumsum(objects.ref_count, out=ref_start[1:])
    rootless = np.flatnonzero(root_object < 0)
    missing, rank = np.unique(
        np.concatenate([objects.target[absent], roots.address[rootless]]),
        return_inverse=True,
    )
    ref_target[absent] = n + rank[: len(absent)]
    root_object[rootless] = n + rank[len(absent) :]
    m = len(missing)
    if objects.line is None or roots.line is None:
        report.add("missing_object", m, 0, None)
    else:
        owner = np.searchsorted(ref_start, absent, "right") - 1
        report.add_lines("missing_object", objects.line[owner])
        report.add_lines("missing_object", roots.line[rootless])
    object_id = np.concatenate([objects.address, missing]) if m else objects.address
    segments, segment_index, generation = _places(told.ranges, object_id)
    r = len(root_object)
    named = tuple(types.names)
    return HeapGraph(
        format_name=told.format_name,
        producer=told.producer,
        object_count=n,
        object_id=object_id,
        type_index=extended(type_index, m, NO_TYPE),
        shallow_bytes=extended(objects.size_bytes, m, 0),
        ref_start=extended(ref_start, m, int(ref_start[n])),
        ref_target=ref_target,
        ref_field=objects.field,
        root_object=root_object,
        root_kind=roots.kind,
        root_flags=roots.flags,
        root_type=np.full(r, NO_TYPE, np.int32) if roots.type is None else roots.type,
        root_field=roots.field,
        root_owner=roots.owner,
        owners=told.owners,
        field_names=told.field_names,
        type_names=named,
        type_domain=np.zeros(len(named), np.int32),
        domains=(Domain(told.domain),),
        generation=generation,
        segment_index=segment_index,
        segments=segments,
        null_reference_count=told.null_reference_count,
        collections=told.collections,
        history=told.history,
        part=told.part,
        other_parts=told.other_parts,
        irregularities=report.finish(),
    )


def _count(
    report: Report, kind: str, lines: Lines | None, rows: NDArray[np.intp]
) -> None:
    """Count one for each of ``rows``, in their lines if there are any."""
    if lines is None:
        report.add(kind, len(rows), 0, None)
    else:
        report.add_lines(kind, lines[rows])


def _held(objects: Objects, roots: Roots, table: IdTable, report: Report) -> Ints:
    """int32: the object of each root, -1 for a missing one; drops those of none."""
    rows, _ = table.find(roots.address)
    absent = np.flatnonzero(rows < 0)
    if not len(absent):
        return rows
    inner = absent
    if roots.tells_interior:
        inner = absent[roots.flags[absent] & RootFlag.INTERIOR > 0]
    if len(inner) and len(objects.address):
        order = np.argsort(objects.address, kind="stable")
        starts = objects.address[order]
        wanted = roots.address[inner]
        before = np.maximum(np.searchsorted(starts, wanted, "right") - 1, 0)
        held = order[before]
        inside = (starts[before] <= wanted) & (
            wanted - starts[before] < objects.size_bytes[held].astype(np.uint64)
        )
        rows[inner[inside]] = held[inside]
        roots.flags[inner[inside]] |= np.uint8(RootFlag.INTERIOR)
    if roots.is_place is None:
        return rows
    useless = np.flatnonzero(roots.is_place & (rows < 0))
    _count(report, "root_without_object", roots.line, useless)
    kept = np.ones(len(rows), np.bool_)
    kept[useless] = False
    roots.keep(kept)
    return rows[kept]


def _places(
    told: Iterable[tuple[int, int, int, int]], address: Ids
) -> tuple[tuple[Segment, ...], Ints | None, NDArray[np.int8] | None]:
    """The segments, and which of them and which generation has each address."""
    ranges = sorted(
        {
            (start, used, reserved, generation)
            for start, used, reserved, generation in told
            if generation < GENERATIONS
            and 0 < used <= MAX_SIZE_BYTES
            and reserved <= MAX_SIZE_BYTES
            and start < 1 << 63
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
    numbers: NDArray[Any] = np.array([r[3] for r in ranges], np.int8)
    return segments, index, np.where(index >= 0, numbers[index], np.int8(-1))
