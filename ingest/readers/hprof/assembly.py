"""From the columns of an HPROF file to a graph: class objects, roots, strengths.

Class objects are objects of type ``java.lang.Class``. They refer to their superclass
and class loader; what their static fields hold are roots of kind ``static``, and
roots of kind ``runtime`` where the VM made the field (``<resolved_references>``).

The referents of weak and phantom references are weak. Those of soft references and of
finalizers are strong: the collector keeps a softly reachable object until memory is
short, and finalizable objects until they are finalized.

Roots. JNI globals are handles. JNI locals, frames, native stacks, blocked threads and
thread objects are local, and belong to their thread. System classes, interned strings,
and what a debugger or a cleanup holds are of the runtime. Monitors and unknown roots
are of kind other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_FIELD, NO_TYPE, RootKind
from ingest.readers.hprof.classes import CLASS_ROW
from ingest.readers.hprof.layout import ShallowSizes
from ingest.readers.hprof.signature import NAME
from ingest.readers.hprof.values import ValueBuilder
from ingest.readers.shared.columns import ObjectColumns, RootColumns
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.readers.hprof.classes import ClassTable
    from ingest.readers.hprof.columns import RecordedHeap
    from ingest.readers.hprof.layout import Fit
    from ingest.readers.shared.irregularities import IrregularityCounter

ANDROID = "1.0.3"
_CLASS_ROOT, _THREAD_ROOT = 5, 8
_KINDS = np.full(256, RootKind.OTHER, np.uint8)
_KINDS[1] = RootKind.HANDLE
_KINDS[[2, 3, 4, 6, _THREAD_ROOT]] = RootKind.LOCAL
_KINDS[[_CLASS_ROOT, 0x89, 0x8B, 0x8C]] = RootKind.RUNTIME
_KINDS[0x8A] = RootKind.FINALIZER_QUEUE
_KINDS[0x8D] = RootKind.INTERNAL


def assemble(
    heap: RecordedHeap,
    table: ClassTable,
    *,
    version: str,
    id_size: int,
    counter: IrregularityCounter,
) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    roots = _Roots(heap, table)
    specials = heap.specials()
    sizes = ShallowSizes(table, id_size=id_size, records_sizes=version == ANDROID)
    objects, fit = _objects(heap, table, sizes)
    ids = objects.id
    assert ids is not None
    resolver = HeapResolver(
        [objects], TypeTable.by_row(table.names(), counter), counter
    )
    if len(objects.size_bytes) < len(ids):
        specials.moved(resolver.find(ids))  # some ids are repeated
    del ids
    length, _ = objects.further["length"]
    values = ValueBuilder(specials, resolver.find, objects.type_id, length)
    del length, specials
    threads = values.thread_names()
    values.add_names(_class_names(resolver, table) | threads)
    vm = "Android Runtime" if version == ANDROID else "JVM"
    return resolver.graph(
        roots.columns,
        format_name=NAME,
        producer=f"{vm}, HPROF {version}; {fit}",
        field_names=tuple(table.field_names),
        owners=roots.owners(resolver, threads),
        values=values.build(),
        null_reference_count=heap.null_count,
    )


def _objects(
    heap: RecordedHeap, table: ClassTable, sizes: ShallowSizes
) -> tuple[ObjectColumns, Fit]:
    """The objects as recorded, then the class objects that are not among them."""
    known = heap.ids_of(CLASS_ROW)
    mirrors = [
        found for found in table.classes if found.is_recorded and found.id not in known
    ]
    links = [link for found in mirrors for link in found.links]
    many, count = len(mirrors), heap.object_count
    heap.append("id", np.array([found.id for found in mirrors], np.uint64))
    heap.append("class_row", np.full(many, CLASS_ROW, np.int32))
    heap.append("length", np.full(many, -1, np.int64))
    heap.append("ref_count", np.array([len(one.links) for one in mirrors], np.int32))
    heap.append("ref_id", np.array([target for _, target in links], np.uint64))
    fields = [table.field_index(name) for name, _ in links]
    heap.append("ref_field", np.array(fields, np.int32))
    heap.append("ref_kind", np.zeros(len(links), np.uint8))
    ids = heap.column("id", "u8")
    class_row = heap.column("class_row", "i4")
    length = heap.column("length", "i8")
    fit = sizes.fit(ids[:count], class_row[:count], length[:count])
    size = sizes.sizes(fit, class_row, length)
    size[count:] = [sizes.class_object(fit, found) for found in mirrors]
    columns = ObjectColumns(
        id=ids,
        type_id=class_row,
        size_bytes=size,
        ref_count=heap.column("ref_count", "i4"),
        ref_id=heap.pieces("ref_id"),
        ref_field=heap.column("ref_field", "i4"),
        ref_kind=heap.column("ref_kind", "u1"),
        further={"length": (length, -1)},
    )
    return columns, fit


def _class_names(resolver: HeapResolver, table: ClassTable) -> dict[int, str]:
    """The name of the class of each class object, by row."""
    found = [one for one in table.classes if one.is_recorded]
    rows = resolver.find(np.array([one.id for one in found], np.uint64)).tolist()
    names = table.names()
    return {
        row: names[one.row] for row, one in zip(rows, found, strict=True) if row >= 0
    }


class _Roots:
    """The roots of a dump, static fields included.

    Attributes:
        columns: For the resolver; ``owner`` is set by `owners`.
    """

    def __init__(self, heap: RecordedHeap, table: ClassTable) -> None:
        ids, tags = heap.column("root_id", "u8"), heap.column("root_tag", "u1")
        threads = heap.column("root_thread", "i8")
        recorded = [found for found in table.classes if found.is_recorded]
        system = []
        if not (tags == _CLASS_ROOT).any():
            # Writers that name no system classes: those of the boot loader are.
            system = [found.id for found in recorded if not found.loader_id]
        statics = [
            (found.row, name, held)
            for found in recorded
            for name, held in found.statics
        ]
        self._thread = threads
        self._is_thread = tags == _THREAD_ROOT
        self._thread_id = ids[self._is_thread]
        before, many = len(ids) + len(system), len(ids) + len(system) + len(statics)
        kind = np.full(many, RootKind.RUNTIME, np.uint8)
        kind[: len(ids)] = _KINDS[tags]
        kind[before:] = [
            RootKind.RUNTIME if name.startswith("<") else RootKind.STATIC
            for _, name, _ in statics
        ]
        field = np.full(many, NO_FIELD, np.int32)
        field[before:] = [table.field_index(name) for _, name, _ in statics]
        declaring = np.full(many, NO_TYPE, np.int32)
        declaring[before:] = [row for row, _, _ in statics]
        held = np.array([*system, *(held for _, _, held in statics)], np.uint64)
        self.columns = RootColumns(
            id=np.concatenate([ids, held]),
            kind=kind,
            flags=np.zeros(many, np.uint8),
            type=declaring,
            field=field,
        )

    def owners(self, resolver: HeapResolver, names: dict[int, str]) -> tuple[str, ...]:
        """The names of the threads that own roots, which the roots then refer to.

        Args:
            resolver: Of the objects.
            names: The names of thread objects, by row.
        """
        serials = self._thread[self._is_thread].tolist()
        rows = resolver.find(self._thread_id).tolist()
        of_serial = dict(zip(serials, rows, strict=True))
        used, owner = np.unique(self._thread, return_inverse=True)
        found: list[str] = []
        place = np.full(len(used), -1, np.int32)
        for i, serial in enumerate(used.tolist()):
            if serial >= 0:
                place[i] = len(found)
                found.append(names.get(of_serial.get(serial, -1), f"thread {serial:,}"))
        column = np.full(len(self.columns.id), -1, np.int32)
        column[: len(owner)] = place[owner] if len(used) else -1
        self.columns.owner = column
        return tuple(found)
