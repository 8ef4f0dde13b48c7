"""From the records of a heap graph to a graph: types, roots, strengths, native memory.

Class objects are objects of type ``java.lang.Class``, and what their static fields
refer to has roots of kind ``static``, as in Android's HPROF dumps: the runtime keeps
its classes. Referents are as strong as the kind of their reference. Flags are not
recorded, but the main thread has a record of each activity until it is destroyed.
Objects of the zygote and of the boot image are never collected: those that nothing else
holds have roots of kind ``internal``. Native memory of an object is what a cleaner of
it will free.

Source: google/perfetto, ``heap_graph_tracker.cc``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.spans import rows_in
from ingest.heap.graph import NO_FIELD, NO_TYPE, RootKind
from ingest.heap.values import ExternalMemory, ObjectValues, ValueKind
from ingest.readers.perfetto import NAME
from ingest.readers.perfetto.classes import CLASS_OBJECT, ArtTypes
from ingest.readers.perfetto.scan import BITMAP, NATIVE
from ingest.readers.shared.columns import (
    MAX_SIZE_BYTES,
    ObjectColumns,
    RootColumns,
    shortened,
    starts_of,
)
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import JVM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ids, Ints, Longs, Starts
    from ingest.heap.graph import HeapGraph
    from ingest.readers.perfetto.classes import Statics
    from ingest.readers.perfetto.records import HeapRecords
    from ingest.readers.perfetto.renaming import Renames, TraceNames
    from ingest.readers.shared.irregularities import IrregularityCounter
    from ingest.readers.shared.resolver import ResolvedHeap

_KINDS = np.full(256, RootKind.OTHER, np.uint8)
_KINDS[1:15] = (
    RootKind.JNI_GLOBAL, RootKind.JNI_LOCAL, RootKind.JAVA_FRAME,
    RootKind.NATIVE_STACK, RootKind.SYSTEM_CLASS, RootKind.THREAD_BLOCK,
    RootKind.MONITOR, RootKind.THREAD, RootKind.INTERNED_STRING,
    RootKind.FINALIZER_QUEUE, RootKind.RUNTIME, RootKind.RUNTIME, RootKind.INTERNAL,
    RootKind.MONITOR,
)  # fmt: skip

_SPACES = ("app", "zygote", "image")
_CLEANERS = ("sun.misc.Cleaner", "jdk.internal.ref.Cleaner")
_MOST_ANCESTORS = 64
_ACTIVITY = "android.app.Activity"
_RECORD = "android.app.ActivityThread$ActivityClientRecord"
"""What the main thread has of each activity that is not destroyed."""
_THUNK = "libcore.util.NativeAllocationRegistry$CleanerThunk"


def assemble(
    heap: HeapRecords,
    counter: IrregularityCounter,
    names: TraceNames | Renames,
    *,
    spill: str,
    **facts: Any,  # noqa: ANN401
) -> HeapGraph:
    """Resolve all ids and make the graph; frees the records.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    columns = heap.taken()
    types = ArtTypes(heap, columns, names, counter)
    type_row = types.row
    size_bytes, ids = columns.pop("size_bytes"), columns.pop("id")
    ref_count = columns.pop("ref_count")
    ref_id, ref_field = columns.pop("ref_id"), columns.pop("ref_slot")
    ref_kind, statics, left = types.name_references(ref_count, ref_id, ref_field)
    ref_id, ref_field = shortened(ref_id, left), shortened(ref_field, left)
    links = _Links(ids, ref_count, ref_id, ref_field, types.fields.names)
    native = _native_memory(types, type_row, links, columns)
    destroyed = _destroyed(types, type_row, links)
    del links
    is_mirror = types.manner[type_row] == CLASS_OBJECT
    mirror_id, mirror_of = ids[is_mirror], type_row[is_mirror]
    space = columns.pop("space")
    immortal = ids[space > 0]
    further: dict[str, tuple[NDArray[Any], int]] = {}
    if (space >= 0).any():
        further["space"] = space, -1
        facts["spaces"] = _SPACES
    type_out = np.empty(len(ids), np.int32)
    _complete(type_row, types.out_row, types.sizes, type_out, size_bytes)
    objects = ObjectColumns(
        id=ids,
        type_id=type_out,
        size_bytes=size_bytes,
        ref_count=ref_count,
        null_count=columns.pop("null_count"),
        ref_id=[ref_id],
        ref_field=ref_field,
        ref_kind=ref_kind,
        further=further,
    )
    del ids, type_row, size_bytes, ref_count, ref_id, ref_field, ref_kind, is_mirror
    del space, further
    types.row = type_out[:0]
    resolver = HeapResolver(
        [objects], TypeTable.by_row(types.names, counter), counter, spill=spill
    )
    del objects
    described = types.described
    at = np.searchsorted(types.mirrors, mirror_of)
    mirror_row = resolver.find(mirror_id)
    values = {
        row: types.mirror_names[place]
        for row, place in zip(mirror_row.tolist(), at.tolist(), strict=True)
    }
    values |= _bitmaps(resolver, columns)
    values |= dict.fromkeys(resolver.find(destroyed).tolist(), "destroyed")
    type_object = np.full(len(types.names), -1, np.int32)
    is_known = described[at] >= 0
    type_object[described[at[is_known]]] = mirror_row[is_known]
    rows = resolver.find(immortal)
    return resolver.graph(
        _roots(columns, statics, types),
        complete=partial(_hold_immortal, rows=rows[rows >= 0]),
        format_name=NAME,
        runtime=JVM.name,
        field_names=tuple(types.fields.names),
        type_object=type_object,
        type_loader=_loaders(types, resolver),
        values=_values(values),
        external=_external(resolver, native),
        **facts,
    )


def _loaders(types: ArtTypes, resolver: HeapResolver) -> Ints:
    """int32: the loader of each type, or -1."""
    found = np.full(len(types.names), -1, np.int32)
    loaded, loader = types.loaders()
    found[loaded] = np.maximum(resolver.find(loader), -1)
    return found


def _roots(
    columns: dict[str, NDArray[Any]], statics: Statics, types: ArtTypes
) -> RootColumns:
    """The recorded roots, then the static fields."""
    ids, kinds = columns.pop("root_id"), _KINDS[columns.pop("root_kind")]
    declaring = field = None
    if many := len(statics.id):
        before = len(ids)
        ids = np.concatenate([ids, statics.id.astype(np.uint64)])
        kinds = np.concatenate([kinds, np.full(many, RootKind.STATIC, np.uint8)])
        declaring = np.full(before + many, NO_TYPE, np.int32)
        at = np.searchsorted(types.mirrors, statics.type_row)
        declaring[before:] = types.described[at]
        field = np.full(before + many, NO_FIELD, np.int32)
        field[before:] = statics.field
    flags = np.zeros(len(ids), np.uint8)
    return RootColumns(id=ids, kind=kinds, flags=flags, type=declaring, field=field)


def _values(names: dict[int, str]) -> ObjectValues | None:
    """Renames as values of objects, by row."""
    rows = sorted(row for row in names if row >= 0)
    if not rows:
        return None
    texts = [names[row].encode("utf-8", "replace") for row in rows]
    return ObjectValues(
        np.array(rows, np.int32),
        np.full(len(rows), ValueKind.NAME, np.uint8),
        starts_of(np.array([len(text) for text in texts], np.int32)),
        np.frombuffer(b"".join(texts), np.uint8),
    )


def _bitmaps(
    resolver: HeapResolver, columns: dict[str, NDArray[Any]]
) -> dict[int, str]:
    """Width and height of bitmaps, by row."""
    at = columns["extra_kind"] == BITMAP
    rows = resolver.find(columns["extra_id"][at]).tolist()
    sides = columns["extra_value"][at].tolist()
    return {
        row: f"{both >> 32} x {both & 0xFFFFFFFF}"
        for row, both in zip(rows, sides, strict=True)
    }


@dataclass(frozen=True, eq=False)
class _Links:
    """References by their fields.

    Attributes:
        ids: Of the objects.
        ref_count: How many references each has.
        ref_id: Ids to which they refer.
        ref_field: Their fields.
        fields: Fields by their names.
    """

    ids: NDArray[Any]
    ref_count: Ints
    ref_id: NDArray[Any]
    ref_field: Ints
    fields: Mapping[str, int]

    @cached_property
    def start(self) -> Longs:
        """int64 (N + 1,): where the references of each object begin."""
        return starts_of(self.ref_count)

    def held(self, rows: NDArray[np.intp], name: str) -> list[int]:
        """The id to which a field of each object refers; 0 for none."""
        counts = self.ref_count[rows]
        of = np.repeat(np.arange(len(rows)), counts)
        place = rows_in(self.start[rows], counts)
        found = np.zeros(len(rows), np.uint64)
        matches = self.ref_field[place] == self.fields.get(name, -1)
        found[of[matches]] = self.ref_id[place[matches]]
        return found.tolist()


def _destroyed(types: ArtTypes, type_row: Ints, links: _Links) -> NDArray[Any]:
    """Ids of activities that no record of the main thread has, if it has records."""
    records = np.flatnonzero(np.isin(type_row, types.named(_RECORD)))
    is_activity = np.zeros(len(types.parent), np.bool_)
    is_activity[types.named(_ACTIVITY)] = True
    if not len(records) or not is_activity.any():
        return links.ids[:0]
    above = np.arange(len(types.parent))
    for _ in range(_MOST_ANCESTORS):
        above = np.where(above < 0, above, types.parent[above])
        is_activity |= (above >= 0) & is_activity[above]
    rows = np.flatnonzero(is_activity[type_row])
    shown = np.array(links.held(records, "activity"), np.uint64)
    return links.ids[rows[~np.isin(links.ids[rows].astype(np.uint64), shown)]]


def _native_memory(
    types: ArtTypes,
    type_row: Ints,
    links: _Links,
    columns: dict[str, NDArray[Any]],
) -> tuple[Ids, Longs]:
    """Ids of objects, and bytes that a cleaner of each will free; ids may repeat.

    A cleaner that has run is the only one of its list.
    """
    at = columns["extra_kind"] == NATIVE
    sizes = dict(
        zip(
            columns["extra_id"][at].tolist(), columns["extra_value"][at].tolist(),
            strict=True,
        )
    )  # fmt: skip
    if not sizes:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    rows = np.flatnonzero(np.isin(type_row, types.named(*_CLEANERS)))
    thunks = np.flatnonzero(np.isin(type_row, types.named(_THUNK)))
    registry = dict(
        zip(links.ids[thunks].tolist(), links.held(thunks, "this$0"), strict=True)
    )
    found = [
        (referent, size)
        for own, referent, thunk, after in zip(
            links.ids[rows].tolist(), links.held(rows, "referent"),
            links.held(rows, "thunk"), links.held(rows, "next"), strict=True,
        )
        if referent and after != own
        if (size := sizes.get(registry.get(thunk, 0), 0)) > 0
    ]  # fmt: skip
    return (
        np.array([one for one, _ in found], np.uint64),
        np.array([size for _, size in found], np.int64).clip(0, MAX_SIZE_BYTES),
    )


def _external(
    resolver: HeapResolver, native: tuple[Ids, Longs]
) -> ExternalMemory | None:
    rows = resolver.find(native[0])
    used, of = np.unique(rows[rows >= 0], return_inverse=True)
    if not len(used):
        return None
    size = np.zeros(len(used), np.int64)
    np.add.at(size, of, native[1][rows >= 0])
    return ExternalMemory(
        used.astype(np.int32), size, np.zeros(len(used), np.int32), ("native memory",)
    )


@kernel
def _complete(
    type_row: Ints, out_row: Ints, sizes: Longs, type_out: Ints, size_bytes: Longs
) -> None:
    """Give objects the types of the graph, and without a size that of their type."""
    for i in range(len(type_row)):
        type_out[i] = out_row[type_row[i]]
        if size_bytes[i] == 0:
            size_bytes[i] = sizes[type_row[i]]


def _hold_immortal(heap: ResolvedHeap, rows: Ints) -> None:
    """Give objects that are never collected roots, where nothing else holds them."""
    if not len(rows):
        return
    links = heap.links
    many = len(links.start) - 1
    seen, stack = np.zeros(many, np.bool_), np.empty(many, np.int32)
    kinds = np.empty(0, np.uint8) if links.kind is None else links.kind
    held = heap.root_object
    _reach(links.start, links.target, kinds, held, seen, stack, held[:0])
    more = np.empty(len(rows), np.int32)
    count = _reach(links.start, links.target, kinds, rows, seen, stack, more)
    heap.roots.extend(count, RootKind.INTERNAL)
    heap.root_object = np.concatenate([held, more[:count]])


@kernel
def _reach(
    start: Starts,
    target: Ints,
    kinds: Bytes,
    rows: Ints,
    seen: Bools,
    stack: Ints,
    fresh: Ints,
) -> int:
    """Mark what strong references reach from some objects.

    Fills ``fresh``, as far as it has room, by those of ``rows`` that were not reached
    before; returns how many.
    """
    count = 0
    for first in rows:
        if first >= len(seen) or seen[first]:
            continue
        seen[first] = True
        if count < len(fresh):
            fresh[count] = first
        count += 1
        stack[0] = first
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            for ref in range(start[node], start[node + 1]):
                to = target[ref]
                if to >= len(seen) or seen[to]:
                    continue
                if len(kinds) == 0 or kinds[ref] == 0:
                    seen[to] = True
                    stack[top] = to
                    top += 1
    return count
