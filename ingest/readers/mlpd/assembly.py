"""From the records of a heapshot to a graph: types, roots by their regions, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import NO_TYPE, RootFlag, RootKind
from ingest.readers.mlpd import NAME
from ingest.readers.mlpd.scan import REGISTER, name_fields
from ingest.readers.shared.columns import ObjectColumns, RootColumns
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import DOTNET

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Ints
    from ingest.heap.graph import HeapGraph
    from ingest.readers.mlpd.records import Heapshot, LogRecords
    from ingest.readers.shared.irregularities import IrregularityCounter

_KINDS = np.full(256, RootKind.OTHER, np.uint8)
_KINDS[1:17] = (
    RootKind.LOCAL, RootKind.FINALIZER_QUEUE, RootKind.STATIC, RootKind.THREAD_STATIC,
    RootKind.STATIC, RootKind.HANDLE, RootKind.RUNTIME, RootKind.THREAD,
    RootKind.RUNTIME, RootKind.RUNTIME, RootKind.RUNTIME, RootKind.RUNTIME,
    RootKind.RUNTIME, RootKind.LOCAL, RootKind.RUNTIME, RootKind.HANDLE,
)  # fmt: skip
"""By the source of their region."""
_OLD_KINDS = np.full(256, RootKind.OTHER, np.uint8)
_OLD_KINDS[:3] = RootKind.LOCAL, RootKind.FINALIZER_QUEUE, RootKind.HANDLE
_OLD_FLAGS = {0x100: RootFlag.PINNED, 0x200: RootFlag.WEAK, 0x400: RootFlag.INTERIOR}

_MOST_OFFSET = 1 << 16
"""Further fields have no name."""
_NO_MOVES = (
    "Moves of objects are not recorded, so that nothing tells which of them are the "
    "same in two heapshots: mono --profile=log:gcmove."
)
_NO_ROOTS = "Roots are not recorded: mono --profile=log:gcroot."


def assemble(
    records: LogRecords,
    shot: Heapshot,
    counter: IrregularityCounter,
    *,
    has_old_roots: bool,
    spill: str,
    **facts: Any,  # noqa: ANN401
) -> HeapGraph:
    """Resolve all addresses and make the graph; frees the columns of the heapshot.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    shot.merge()
    further: dict[str, tuple[NDArray[Any], int]] = {}
    notes = [] if shot.root_count else [_NO_ROOTS]
    if records.has_moves:
        further["identity_hash"] = records.numbers_of(shot), 0
    else:
        notes.append(_NO_MOVES)
    types = _Types(records, counter)
    type_row = types.rows(shot.pop("kind"))
    roots = _old_roots(shot) if has_old_roots else _roots(shot, records, types)
    generation = shot.pop("generation")
    if (generation >= 0).any():
        further["generation"] = generation, -1
    ref_count, ref_field = shot.pop("ref_count"), shot.pop("ref_offset")
    names = _fields(types, type_row, ref_count, ref_field)
    objects = ObjectColumns(
        id=shot.pop("id"),
        type_id=type_row,
        size_bytes=shot.pop("size_bytes"),
        ref_count=ref_count,
        ref_id=[shot.pop("ref_id")],
        ref_field=ref_field,
        further=further,
    )
    del ref_count, ref_field, generation
    heap = HeapResolver(
        [objects], TypeTable.by_row(types.names, counter), counter, spill=spill
    )
    del objects
    return heap.graph(
        roots,
        records_garbage=False,
        format_name=NAME,
        runtime=DOTNET.name,
        field_names=names,
        notes=tuple(notes),
        **facts,
    )


class _Types:
    """The types of a heapshot, one for each class, in the order of their use.

    Attributes:
        names: Their names.
    """

    def __init__(self, records: LogRecords, counter: IrregularityCounter) -> None:
        self._records = records
        self._counter = counter
        self._row: dict[int, int] = {}
        self.names: list[str] = []

    def row(self, address: int) -> int:
        """The row of the class at an address, or of the vtable."""
        address = self._records.class_of(address)
        if address not in self._row:
            self._row[address] = len(self.names)
            name = self._records.classes.get(address)
            self.names.append(name or f"<type {address:#x}>")
        return self._row[address]

    def rows(self, kinds: Ints) -> Ints:
        """int32: the type of each object, given the row of its vtable or class."""
        records = self._records
        count = np.bincount(kinds, minlength=len(records.kinds))
        row = np.zeros(len(records.kinds), np.int32)
        absent = 0
        for address, at in records.kinds.items():
            if not count[at]:
                continue
            row[at] = self.row(address)
            if records.class_of(address) not in records.classes:
                absent += int(count[at])
        self._counter.add("undeclared_type", absent, 0, None)
        return row[kinds]


def _fields(
    types: _Types, type_row: Ints, ref_count: Ints, offset: Ints
) -> tuple[str, ...]:
    """Replace offsets by rows of the names of fields, ``+16``; returns the names.

    Elements of arrays have none: how large each is, nothing tells.
    """
    is_array = np.array([name.endswith("]") for name in types.names], np.bool_)
    row_of = np.full(_MOST_OFFSET, -1, np.int32)
    name_fields(is_array, type_row, ref_count, row_of, offset)
    used = np.flatnonzero(row_of >= 0)
    used = used[np.argsort(row_of[used])]
    return tuple(f"+{one}" for one in used.tolist())


def _old_roots(shot: Heapshot) -> RootColumns:
    """Roots of the first formats, which have a kind instead of an address."""
    told = shot.pop("root_at")
    flags = np.zeros(len(told), np.uint8)
    for bit, flag in _OLD_FLAGS.items():
        flags[(told & np.uint64(bit)) != 0] |= np.uint8(flag)
    return RootColumns(
        id=shot.pop("root_id"),
        kind=_OLD_KINDS[(told & np.uint64(0xFF)).astype(np.intp)],
        flags=flags,
    )


def _roots(shot: Heapshot, records: LogRecords, types: _Types) -> RootColumns:
    """Each root once: its kind and its class by the region that has its address."""
    both = np.stack([shot.pop("root_at"), shot.pop("root_id")], axis=1)
    both = np.unique(both, axis=0) if len(both) else both
    at, ids = both[:, 0], both[:, 1].copy()
    start, end, source, owner = _regions_at(shot, records)
    place = np.searchsorted(start, at, "right") - 1
    inside = place >= 0
    inside[inside] = at[inside] < end[place[inside]]
    kinds = np.full(len(at), RootKind.OTHER, np.uint8)
    kinds[inside] = _KINDS[source[place[inside]]]
    declaring = np.full(len(at), NO_TYPE, np.int32)
    is_static = np.isin(kinds, (RootKind.STATIC, RootKind.THREAD_STATIC))
    for root in np.flatnonzero(inside & is_static).tolist():
        key = records.class_of(int(owner[place[root]]))
        if key in records.classes:
            declaring[root] = types.row(key)
    return RootColumns(
        id=ids, kind=kinds, flags=np.zeros(len(at), np.uint8), type=declaring
    )


def _regions_at(
    shot: Heapshot, records: LogRecords
) -> tuple[Ids, Ids, NDArray[np.intp], Ids]:
    """Start, end, source and owner of the regions during a heapshot, by address."""
    regions = records.regions()
    regions = regions[regions[:, 1] <= shot.ended_ns]
    regions = regions[np.lexsort((regions[:, 1], regions[:, 2].view(np.uint64)))]
    is_last = np.ones(len(regions), np.bool_)
    is_last[:-1] = regions[1:, 2] != regions[:-1, 2]
    regions = regions[is_last & (regions[:, 0] == REGISTER)]
    start = regions[:, 2].copy().view(np.uint64)
    return (
        start,
        start + regions[:, 3].astype(np.uint64),
        (regions[:, 4] & 0xFF).astype(np.intp),
        regions[:, 5].copy().view(np.uint64),
    )
