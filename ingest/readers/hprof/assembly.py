"""From the columns of an HPROF file to a graph: class objects, roots, strengths.

Class objects are objects of type ``java.lang.Class``. They refer to their superclass,
class loader, and constants. The values of their static fields are roots of kind
``static``, or of kind ``runtime`` if the VM made the field (``<resolved_references>``).
Classes that the collector may unload are an exception: see `hold_classes`. Android's
runtime keeps all its classes.

Referents are as strong as the class of the reference: soft, weak, finalizer or phantom.
The lists of finalizers and cleaners consist of ordinary fields.

Roots have their kinds, and belong to their thread; roots of frames and JNI calls also
to a frame of its stack. What a debugger or a cleanup holds has kind ``runtime``. Roots
of unknown kinds have kind ``other``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.arrays.array_files import release_pages
from ingest.heap.graph import (
    NO_FIELD,
    NO_TYPE,
    OF_CLASS,
    OF_LOADER,
    RootKind,
    ThreadStacks,
)
from ingest.readers.hprof import NAME, koom
from ingest.readers.hprof.classes import CLASS_ROW
from ingest.readers.hprof.fields import field_values
from ingest.readers.hprof.layout import ShallowSizes
from ingest.readers.hprof.loaders import ClassRows, hold_classes
from ingest.readers.hprof.names import java_name
from ingest.readers.hprof.records import FIRST_PRIMITIVE
from ingest.readers.hprof.reflection import Reflection, hold_reflection
from ingest.readers.hprof.values import ValueBuilder
from ingest.readers.shared.columns import ObjectColumns, RootColumns
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import JVM
from ingest.system.memory import trim
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints
    from ingest.heap.graph import HeapGraph, Part
    from ingest.heap.read_options import LayoutOption
    from ingest.readers.hprof.classes import ClassTable
    from ingest.readers.hprof.columns import RecordedHeap
    from ingest.readers.hprof.layout import Fit
    from ingest.readers.hprof.names import NameTable
    from ingest.readers.shared.irregularities import IrregularityCounter
    from ingest.readers.shared.original_names import Renaming
    from ingest.readers.shared.resolver import ResolvedHeap


ANDROID = "1.0.3"
_CLASS_ROOT, _THREAD_ROOT = 5, 8
_HAS_FRAME = np.zeros(256, np.bool_)
_HAS_FRAME[[2, 3, 0x8E]] = True
"""Whether roots have the number of their frame, by tag."""
_HAS_THREAD = _HAS_FRAME.copy()
_HAS_THREAD[[4, 6, _THREAD_ROOT]] = True
"""Whether roots have the serial number of their thread, by tag."""
_KINDS = np.full(256, RootKind.OTHER, np.uint8)
_KINDS[1] = RootKind.JNI_GLOBAL
_KINDS[2] = RootKind.JNI_LOCAL
_KINDS[3] = RootKind.JAVA_FRAME
_KINDS[4] = RootKind.NATIVE_STACK
_KINDS[_CLASS_ROOT] = RootKind.SYSTEM_CLASS
_KINDS[6] = RootKind.THREAD_BLOCK
_KINDS[[7, 0x8E]] = RootKind.MONITOR
_KINDS[_THREAD_ROOT] = RootKind.THREAD
_KINDS[0x89] = RootKind.INTERNED_STRING
_KINDS[0x8A] = RootKind.FINALIZER_QUEUE
_KINDS[[0x8B, 0x8C]] = RootKind.RUNTIME
_KINDS[0x8D] = RootKind.INTERNAL


class RecordedFile(NamedTuple):
    """What a file records besides objects, references and roots.

    Attributes:
        version: As in its first line.
        id_size: 4 or 8 bytes.
        table: The classes.
        stacks: Stack traces.
        spaces: Names of the parts of the heap, by number.
        flat_arrays: uint64 (F, 2), pairs in one column. Arrays that have values instead
            of references, each with the class of the values.
        is_redacted: Whether its values were replaced by blank ones.
        taken_ms: When it was begun, milliseconds since 1970; ``None`` if unknown.
        lacks_elements: Whether KOOM has cut the elements of primitive arrays.
    """

    version: str
    id_size: int
    table: ClassTable
    stacks: StackTable
    spaces: dict[int, str]
    flat_arrays: Sequence[NDArray[np.uint64]] = ()
    is_redacted: bool = False
    taken_ms: int | None = None
    lacks_elements: bool = False


def assemble(
    heap: RecordedHeap,
    found: RecordedFile,
    counter: IrregularityCounter,
    layout: LayoutOption | None = None,
    *,
    part: Part | None = None,
    other_parts: tuple[Part, ...] = (),
) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes are larger than any memory, or, with ``--strict``,
            anything is irregular.
    """
    table = found.table
    roots = _Roots(heap, table)
    specials = heap.specials()
    is_android = found.version == ANDROID
    sizes = ShallowSizes(
        table, id_size=found.id_size, records_sizes=is_android, given=layout
    )
    objects, mirrors, fit = _objects(heap, table, sizes)
    roots.add_not_recorded(objects, table.names())
    ids = objects.id
    assert ids is not None
    flat_note = _name_flat_arrays(objects, table, found.flat_arrays)
    resolver = HeapResolver(
        [objects], TypeTable.by_row(table.names(), counter), counter
    )
    if len(objects.size_bytes) < len(ids):
        specials.moved(resolver.find(ids))  # some ids may repeat
    del ids
    _link_classes(resolver, mirrors, table)
    length, _ = objects.further["length"]
    values = ValueBuilder(
        specials, resolver.find, objects.type_id, length, spill=heap.spill
    )
    release_pages(length)
    in_fields = field_values(specials, objects.type_id, table, found.id_size)
    del length, specials
    threads = values.thread_names()
    values.add_names(np.array(list(threads), np.int32), threads.values())
    class_rows = _class_rows(resolver, table)
    names, described = table.names(), class_rows["type_object"]
    types = np.flatnonzero(described >= 0)
    values.add_names(described[types], (names[kind] for kind in types.tolist()))
    values.add_states(table.end_words)
    external, known = values.external(), values.build()
    cut_note = koom.note(
        values.note, found.spaces.values(), is_cut=found.lacks_elements
    )
    del values
    trim()
    virtual = _virtual_threads(objects, names)
    owners, stacks = roots.owners(resolver, threads, virtual, found.stacks)
    return resolver.graph(
        roots.columns,
        complete=_completing(class_rows, table, is_android=is_android),
        format_name=NAME,
        runtime=JVM.name,
        taken_ms=found.taken_ms,
        producer=f"{_vm(found.version, names)}, HPROF {found.version}; {fit}",
        notes=(*filter(None, (cut_note, flat_note)), *fit.notes),
        part=part,
        other_parts=other_parts,
        field_names=tuple(table.field_names),
        owners=owners,
        stacks=stacks,
        **class_rows,
        spaces=_named_spaces(objects, found.spaces),
        external=external,
        values=known,
        field_values=in_fields,
        is_redacted=found.is_redacted,
    )


def _completing(
    class_rows: dict[str, Ints], table: ClassTable, *, is_android: bool
) -> Callable[[ResolvedHeap], None]:
    """What adds all that class objects and loaders hold without a recorded field."""
    names, loader = table.names(), class_rows["type_loader"]
    reflection, classes = Reflection.of(names, table.field_index), None
    if not is_android and (loader >= 0).any():
        fields = map(table.field_index, (OF_CLASS, OF_LOADER))
        classes = ClassRows(names, class_rows["type_object"], loader, *fields)

    def complete(heap: ResolvedHeap) -> None:
        if reflection is not None:
            hold_reflection(heap, reflection)
        if classes is not None:
            hold_classes(heap, classes)

    return complete


def _virtual_threads(objects: ObjectColumns, names: Sequence[str]) -> frozenset[int]:
    """The rows of virtual threads."""
    kinds = [row for row, name in enumerate(names) if name == _VIRTUAL_THREAD]
    return frozenset(np.flatnonzero(np.isin(objects.type_id, kinds)).tolist())


def _objects(
    heap: RecordedHeap, table: ClassTable, sizes: ShallowSizes
) -> tuple[ObjectColumns, Ints, Fit]:
    """The recorded objects, then the class objects that are not among them.

    Returns:
        The objects, the classes whose class objects are recorded, the layout.
    """
    recorded = table.recorded()
    is_known = np.isin(table.ids(recorded), heap.class_objects())
    mirrors = recorded[~is_known]
    links = table.links.of_all(table.records(mirrors))
    many = len(mirrors)
    heap.append("id", table.ids(mirrors))
    heap.append("class_row", np.full(many, CLASS_ROW, np.int32))
    heap.append("length", np.full(many, -1, np.int64))
    heap.append("space", np.zeros(many, np.uint8))
    heap.append("ref_count", links.sizes.astype(np.int32))
    heap.append("null_count", np.zeros(many, np.uint8))
    heap.append("ref_id", links.value)
    heap.append("ref_field", table.field_indexes(links.name))
    heap.append("ref_kind", np.zeros(len(links.value), np.uint8))
    ids = heap.column("id")
    class_row = heap.column("class_row")
    length = heap.column("length")
    own = heap.object_count
    fit = sizes.fit(ids[:own], class_row[:own], length[:own])
    size = sizes.sizes(fit, class_row[:own], length[:own], mirrors, heap.spill)
    release_pages(ids, length)
    space = heap.column("space")
    further: dict[str, tuple[NDArray[Any], int]] = {"length": (length, -1)}
    if space.any():
        further["space"] = space, 0
    columns = ObjectColumns(
        id=ids,
        type_id=class_row,
        size_bytes=size,
        ref_count=heap.column("ref_count"),
        null_count=heap.column("null_count"),
        ref_id=[heap.column("ref_id")],
        ref_field=heap.column("ref_field"),
        ref_kind=heap.column("ref_kind"),
        further=further,
    )
    return columns, recorded[is_known], fit


def _name_flat_arrays(
    objects: ObjectColumns, table: ClassTable, found: Sequence[NDArray[np.uint64]]
) -> str:
    """Give arrays of values, which are recorded as arrays of bytes, their class.

    Returns:
        A sentence on what is unknown about them; empty if nothing is.
    """
    if not found:
        return ""
    flat = np.concatenate(found)
    flat = flat[np.argsort(flat[:, 0], kind="stable")]
    assert objects.id is not None
    at = np.searchsorted(flat[:, 0], objects.id)
    rows = np.flatnonzero(flat[np.minimum(at, len(flat) - 1), 0] == objects.id)
    element = flat[at[rows], 1]
    recorded = table.recorded()
    row_of = dict(zip(table.ids(recorded).tolist(), recorded.tolist(), strict=True))
    lost = 0
    for class_id in np.unique(element).tolist():
        if (kind := row_of.get(class_id)) is None:
            continue
        of_kind = rows[element == class_id]
        objects.type_id[of_kind] = table.array_row(kind)
        objects.further["length"][0][of_kind] = -1
        if any(code < FIRST_PRIMITIVE for one in table.chain(kind)
               for _, code in table.fields(one)):  # fmt: skip
            lost += len(of_kind)
    if not lost:
        return ""
    return (
        f"the bytes of {counted(lost, 'arrays')} of values are recorded, and not what "
        "the values refer to: that is unreachable if nothing else holds it"
    )


def _named_spaces(objects: ObjectColumns, names: dict[int, str]) -> tuple[str, ...]:
    """The parts of the heap by name; numbers in the column become their rows."""
    if "space" not in objects.further:
        return ()
    column, _ = objects.further["space"]
    row = np.full(256, -1, np.int8)
    used = [number for number in np.unique(column).tolist() if number]
    row[used] = np.arange(len(used))
    objects.further["space"] = row[column], -1
    return tuple(names.get(number, f"heap {number}") for number in used)


def _link_classes(resolver: HeapResolver, classes: Ints, table: ClassTable) -> None:
    """Give class objects that are recorded as instances the references of classes."""
    links = table.links.of_all(table.records(classes))
    resolver.add_references(
        np.repeat(resolver.find(table.ids(classes)), links.sizes),
        links.value,
        table.field_indexes(links.name),
    )


def _class_rows(resolver: HeapResolver, table: ClassTable) -> dict[str, Any]:
    """Columns with each type's class object and class loader; -1 for none."""
    rows = table.recorded()
    columns = {}
    for name, ids in (
        ("type_object", table.ids(rows)),
        ("type_loader", table.loader_ids(rows)),
    ):
        column = np.full(len(table.names()), -1, np.int32)
        column[rows] = np.maximum(resolver.find(ids), -1)
        columns[name] = column
    return columns


def _vm(version: str, names: Iterable[str]) -> str:
    """What has written a dump: its version and classes tell, if it was converted."""
    known = {"android.app.ActivityThread", "java.lang.DexCache", "java.lang.Module"}
    found = known.intersection(names)
    is_android = bool(found) and "java.lang.Module" not in found
    return "Android Runtime" if is_android or version == ANDROID else "JVM"


_VIRTUAL_THREAD = "java.lang.VirtualThread"
_CLASS_VALUES = "java.lang.ClassValue$ClassValueMap"


class _Roots:
    """The roots of a dump, static fields included.

    Attributes:
        columns: Columns for the resolver; `owners` sets ``owner``.
    """

    def __init__(self, heap: RecordedHeap, table: ClassTable) -> None:
        recorded = table.recorded()
        self._tag = heap.column("root_tag")
        self._thread = heap.column("root_thread")
        self._frame = heap.column("root_frame")
        system = np.empty(0, np.uint64)
        if not (self._tag == _CLASS_ROOT).any():
            # If the writer names no system classes, the boot loader's are.
            system = table.ids(recorded[table.loader_ids(recorded) == 0])
        statics = table.statics.of_all(table.records(recorded))
        heap.append("root_id", system)
        heap.append("root_id", statics.value)
        ids = heap.column("root_id")
        self._thread_id = ids[: len(self._tag)][self._tag == _THREAD_ROOT]
        before, many = len(self._tag) + len(system), len(ids)
        kind = np.full(many, RootKind.SYSTEM_CLASS, np.uint8)
        kind[: len(self._tag)] = _KINDS[self._tag]
        kind[before:] = np.where(
            table.are_hidden(statics.name), RootKind.RUNTIME, RootKind.STATIC
        )
        field = np.full(many, NO_FIELD, np.int32)
        field[before:] = table.field_indexes(statics.name)
        declaring = np.full(many, NO_TYPE, np.int32)
        declaring[before:] = np.repeat(recorded, statics.sizes)
        self.columns = RootColumns(
            id=ids,
            kind=kind,
            flags=np.zeros(many, np.uint8),
            type=declaring,
            field=field,
        )

    def add_not_recorded(self, objects: ObjectColumns, names: list[str]) -> None:
        """Add roots for the values that class objects have by `ClassValue`.

        No JVM writes the field of a class object that holds them.
        """
        if _CLASS_VALUES in names and objects.id is not None:
            ids = objects.id[objects.type_id == names.index(_CLASS_VALUES)]
            self.columns.id = np.concatenate([self.columns.id, ids])
            self.columns.extend(len(ids), RootKind.NOT_RECORDED)

    def owners(
        self,
        resolver: HeapResolver,
        names: dict[int, str],
        virtual: frozenset[int],
        traces: StackTable,
    ) -> tuple[tuple[str, ...], ThreadStacks]:
        """The names and stacks of the threads that own roots, for ``columns``.

        Args:
            resolver: Resolver of the objects.
            names: The names of thread objects, by row.
            virtual: The rows of virtual threads, most of which have no name.
            traces: The stack traces of the file.
        """
        is_thread = self._tag == _THREAD_ROOT
        serials = self._thread[is_thread].tolist()
        rows = resolver.find(self._thread_id).tolist()
        of_serial = dict(zip(serials, rows, strict=True))
        trace_of = dict(zip(serials, self._frame[is_thread].tolist(), strict=True))
        owned = np.flatnonzero(_HAS_THREAD[self._tag])
        used, owner = np.unique(self._thread[owned], return_inverse=True)
        column = np.full(len(self.columns.id), -1, np.int32)
        column[owned] = owner
        self.columns.owner = column
        row_of = [of_serial.get(serial, -1) for serial in used.tolist()]
        found = tuple(
            names.get(row) or f"{'virtual ' if row in virtual else ''}thread {serial:,}"
            for row, serial in zip(row_of, used.tolist(), strict=True)
        )
        stacks = ThreadStacks.of(
            [traces.trace(trace_of.get(serial, -1)) for serial in used.tolist()]
        )
        self._place_locals(stacks)
        return found, stacks

    def _place_locals(self, stacks: ThreadStacks) -> None:
        """Give roots that are local variables the row of their frame."""
        assert self.columns.owner is not None
        at = np.flatnonzero(_HAS_FRAME[self._tag] & (self._frame >= 0))
        owner = self.columns.owner[at]
        frame = np.array(stacks.start, np.int64)[owner] + self._frame[at]
        is_local = frame < np.array(stacks.end, np.int64)[owner]
        column = np.full(len(self.columns.id), -1, np.int32)
        column[at[is_local]] = frame[is_local]
        self.columns.frame = column


_NATIVE = -3


class StackTable:
    """The stack traces of a file.

    Args:
        names: Names by id.
        id_size: 4 or 8 bytes.
        renaming: Original names of what was shortened; ``None`` for none.
    """

    def __init__(
        self, names: NameTable, id_size: int, renaming: Renaming | None = None
    ) -> None:
        self._names = names
        self._renaming = renaming
        self._id_size = id_size
        self._classes: dict[int, int] = {}
        self._frames: dict[int, tuple[int, int, int, int]] = {}
        self._traces: dict[int, list[int]] = {}
        self._shown: dict[int, tuple[str, ...]] = {}

    def add_class(self, serial: int, name_id: int) -> None:
        """Take note of the name of a class by its serial number."""
        self._classes[serial] = name_id

    def add_frame(self, data: bytes) -> None:
        """Parse a frame record of 4 ids and 8 bytes."""
        size = self._id_size
        frame, method, _, source = (
            int.from_bytes(data[i * size : (i + 1) * size], "big") for i in range(4)
        )
        serial = int.from_bytes(data[4 * size : 4 * size + 4], "big")
        line = int.from_bytes(data[4 * size + 4 : 4 * size + 8], "big", signed=True)
        self._frames[frame] = method, source, serial, line

    def add_trace(self, data: bytes) -> None:
        """Parse a trace record: serial numbers, a count, and frames."""
        size, count = self._id_size, int.from_bytes(data[8:12], "big")
        ids = (data[at : at + size] for at in range(12, len(data) - size + 1, size))
        frames = [int.from_bytes(frame, "big") for frame in ids]
        self._traces[int.from_bytes(data[:4], "big")] = frames[:count]

    def trace(self, serial: int) -> tuple[str, ...]:
        """The frames of a trace, innermost first; empty if the file has none.

        Threads that share a trace get the same object.
        """
        if serial not in self._traces:
            return ()
        if serial not in self._shown:
            shown = cache(self._frame)
            self._shown[serial] = tuple(map(shown, self._traces[serial]))
        return self._shown[serial]

    def _frame(self, frame: int) -> str:
        """A frame as the JVM prints it: ``app.Main.run(Main.java:12)``."""
        if frame not in self._frames:
            return f"<frame {frame:#x}>"
        method, source, serial, line = self._frames[frame]
        owner = self._names.get(self._classes.get(serial, 0))
        owner = f"<class {serial:,}>" if owner is None else java_name(owner)
        name = self._names.get(method) or f"<method {method:#x}>"
        place = self._names.get(source) or "Unknown Source"
        if self._renaming is not None and line != _NATIVE:
            return self._renaming.frame(owner, name, place, line)
        if line == _NATIVE:
            place = "Native Method"
        elif line > 0:
            place += f":{line}"
        return f"{owner}.{name}({place})"
