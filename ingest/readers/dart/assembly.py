"""From the ids of a Dart snapshot to a graph: roots, fields, weak references.

Weak references. The target of a weak reference, the elements of a weak array, and what
a finalizer watches are held weakly. A weak property (an entry of an `Expando`) is an
ephemeron: its value lives while its key does. So the reference to the value is recorded
as one of the key, in a field named `EPHEMERON`. A property that the snapshot does not
reach holds nothing.

Folding, unless it is turned off. The pseudo objects of classes ``Root`` and ``Isolate``
become roots: a static field is a static root of its isolate. An object without size and
references (each small integer, ``null``, ``true``, what the VM shares between its
isolates) is a value, and is removed. A reference to ``null`` is a null reference, any
other is counted as folded.

Source: dart-lang/sdk, runtime/vm/object_graph.cc and raw_object.h.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import EPHEMERON, Domain, RefKind, RootKind
from ingest.heap.read_options import Fold
from ingest.heap.redaction import MARK
from ingest.heap.values import ValueKind
from ingest.readers.dart import NAME
from ingest.readers.dart.fields import field_values
from ingest.readers.dart.roots import SnapshotRoots
from ingest.readers.shared.columns import Folding, ObjectColumns
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import DART

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.heap.values import ExternalMemory
    from ingest.readers.dart.classes import SnapshotClasses, SnapshotObjects
    from ingest.readers.shared.irregularities import IrregularityCounter


_EPHEMERON_CLASS = "_WeakProperty"


def assemble(
    classes: SnapshotClasses,
    objects: SnapshotObjects,
    *,
    isolate: str,
    options: ReadOptions,
    counter: IrregularityCounter,
) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    _sign_small_integers(classes, objects)
    stays = np.ones(objects.count, np.bool_)
    pseudo = np.empty(0, np.int64)
    null_row = -1
    if options.fold is Fold.AUTO:
        stays = (objects.size_bytes > 0) | (
            objects.ref_start[1:] > objects.ref_start[:-1]
        )
        if objects.external is not None:
            stays[objects.external.object_index] = True
        stays[0] = True
        pseudo = _pseudo_objects(classes, objects)
        stays[pseudo] = False
        if nulls := classes.of_runtime("Null"):
            folded = (objects.class_index == nulls[0]) & ~stays
            null_row = int(np.argmax(folded)) if folded.any() else -1
    roots = SnapshotRoots(classes, objects, isolate)
    if len(pseudo):
        roots.unfold(pseudo)
    else:
        roots.add(np.ones(1, np.int32), RootKind.INTERNAL)
    field, kind = _described(classes, objects)
    ephemerons = _ephemerons(classes, objects, stays)
    columns = ObjectColumns(
        id=None,
        type_id=objects.class_index,
        size_bytes=objects.size_bytes,
        ref_count=objects.ref_counts(),
        ref_id=[objects.ref_id],
        ref_field=field,
        ref_kind=kind,
        further=_further(objects),
    )
    values, external = objects.values, objects.external
    in_fields, notes = field_values(classes, objects, options)
    objects.discard()
    heap = HeapResolver(
        [columns],
        TypeTable.by_row(classes.type_names(), counter),
        counter,
        by_row_number=1,
        folding=Folding(stays, null_row=null_row, makes_roots=len(pseudo) > 0),
    )
    del columns, field, kind
    heap.add_references(
        ephemerons.key,
        ephemerons.value_id,
        len(classes.field_names),
        is_first=ephemerons.is_first,
        instead_of=ephemerons.position,
    )
    return heap.graph(
        roots.columns(),
        format_name=NAME,
        runtime=DART.name,
        is_redacted=isolate == MARK,
        producer="Dart VM",
        owners=roots.owners,
        field_names=(*classes.field_names, EPHEMERON),
        values=values.renumbered(heap.new_row),
        external=_moved(external, heap.new_row),
        field_values=in_fields and in_fields.renumbered(heap.new_row),
        notes=notes,
        domains=(Domain(isolate),),
    )


def _further(objects: SnapshotObjects) -> dict[str, tuple[NDArray[Any], int]]:
    """Columns that only some snapshots have; see `ObjectColumns.further`."""
    further: dict[str, tuple[NDArray[Any], int]] = {}
    if objects.length.max() >= 0:
        further["length"] = (objects.length, -1)
    if objects.identity_hash is not None:
        further["identity_hash"] = (objects.identity_hash, 0)
    return further


def _moved(
    external: ExternalMemory | None, new_row: NDArray[np.int32]
) -> ExternalMemory | None:
    if external is None:
        return None
    return replace(external, object_index=new_row[external.object_index])


def _sign_small_integers(classes: SnapshotClasses, objects: SnapshotObjects) -> None:
    """Sign-extend small integers, which are recorded as machine words.

    The machine has 32-bit words if all of them are signed 31-bit numbers, and at least
    one is negative.
    """
    values = objects.values
    small = np.zeros(len(classes.names), np.bool_)
    small[classes.of_runtime("_Smi")] = True
    at = np.flatnonzero(
        small[objects.class_index[values.object_index]]
        & (values.kind == ValueKind.INTEGER)
    )
    if not len(at):
        return
    places = values.start[at][:, None] + np.arange(8)
    words = values.content[places].view("<u8")[:, 0]
    negative = (words >= 2**32 - 2**30) & (words < 2**32)
    if negative.any() and (negative | (words < 2**30)).all():
        words = words - np.where(negative, np.uint64(2**32), np.uint64(0))
        values.content[places] = words[:, None].view(np.uint8)


def _pseudo_objects(
    classes: SnapshotClasses, objects: SnapshotObjects
) -> NDArray[np.int64]:
    """Rows of the root and of the isolates; empty unless the first object is a root."""
    root, isolate = classes.internal("Root"), classes.internal("Isolate")
    if root < 0 or objects.class_index[0] != root:
        return np.empty(0, np.int64)
    # No object has row -1 as its class.
    isolates = np.flatnonzero(objects.class_index == isolate)
    return np.concatenate([np.zeros(1, np.int64), isolates])


def _described(
    classes: SnapshotClasses, objects: SnapshotObjects
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Field and kind of each reference."""
    many = len(objects.ref_id)
    field, kind = np.empty(many, np.int32), np.empty(many, np.uint8)
    describe(
        objects.class_index,
        objects.ref_start,
        np.array(classes.first_slot, np.int64),
        np.array(classes.slot_field, np.int32),
        classes.weak_slots(),
        classes.weak_elements(),
        field,
        kind,
    )
    return field, kind


class Ephemerons(NamedTuple):
    """References to ephemerons' values that become references of the keys.

    Attributes:
        position: int64 (P,). Positions of the references to the values.
        key: int64 (P,). Rows of the keys.
        value_id: int32 (P,). Ids of the values.
        is_first: bool (P,). Whether the ephemeron precedes its key.
    """

    position: NDArray[np.int64]
    key: NDArray[np.int64]
    value_id: NDArray[np.int32]
    is_first: NDArray[np.bool_]


def _ephemerons(
    classes: SnapshotClasses, objects: SnapshotObjects, stays: NDArray[np.bool_]
) -> Ephemerons:
    """The ephemerons whose values become references of their keys.

    An ephemeron that the snapshot does not reach holds nothing. If its key was folded,
    and so is never freed, the ephemeron holds its value itself.
    """
    none = np.empty(0, np.int64)
    moved, keys = [none], [none]
    seen: NDArray[np.bool_] | None = None
    for row in classes.of_runtime(_EPHEMERON_CLASS):
        entries = np.flatnonzero(objects.class_index == row)
        key, value = (classes.place(row, name) for name in ("key", "value"))
        if not len(entries) or min(key, value) < 0:
            continue
        if seen is None:
            seen = np.zeros(objects.count, np.bool_)
            queue = np.empty(objects.count, np.int32)
            reached(objects.ref_start, objects.ref_id, seen, queue)
        begin, end = objects.ref_start[entries], objects.ref_start[entries + 1]
        complete = seen[entries] & (begin + max(key, value) < end)
        begin = begin[complete]
        key_row = objects.ref_id[begin + key].astype(np.int64) - 1
        held = (key_row >= 0) & (key_row < objects.count)
        held[held] = stays[key_row[held]]
        moved.append(begin[held] + value)
        keys.append(key_row[held])
    position, owner = np.concatenate(moved), np.concatenate(keys)
    is_first = position < objects.ref_start[owner]
    return Ephemerons(position, owner, objects.ref_id[position], is_first)


_STRONG, _WEAK = int(RefKind.STRONG), int(RefKind.WEAK)


@kernel
def describe(
    class_index: Ints,
    ref_start: Longs,
    first_slot: Longs,
    slot_field: Ints,
    weak_slot: Bools,
    weak_element: Bools,
    field: Ints,
    kind: Bytes,
) -> None:
    """Find each reference's field and kind by its place in its object.

    Args:
        class_index: int32 (N,).
        ref_start: int64 (N + 1,).
        first_slot: int64 (C + 1,). Start of each class's declared places.
        slot_field: int32. The field of each declared place.
        weak_slot: Bool. Whether each declared place is weak.
        weak_element: Bool (C,). Whether references after the declared places are weak.
        field: int32 (E,), filled: a field, or -1 - i for element i.
        kind: uint8 (E,), filled.
    """
    for i in range(len(class_index)):
        c = class_index[i]
        first = first_slot[c]
        declared = first_slot[c + 1] - first
        begin = ref_start[i]
        for at in range(begin, ref_start[i + 1]):
            place = at - begin
            if place < declared:
                field[at] = slot_field[first + place]
                kind[at] = _WEAK if weak_slot[first + place] else _STRONG
            else:
                field[at] = declared - place - 1
                kind[at] = _WEAK if weak_element[c] else _STRONG


@kernel
def reached(ref_start: Longs, ref_id: Ints, seen: Bools, queue: Ints) -> None:
    """Mark what row 0 reaches along all references; ``queue`` is int32 (N,)."""
    n = len(seen)
    head, tail = 0, 1
    queue[0] = 0
    seen[0] = True
    while head < tail:
        i = queue[head]
        head += 1
        for at in range(ref_start[i], ref_start[i + 1]):
            row = ref_id[at] - 1
            if 0 <= row < n and not seen[row]:
                seen[row] = True
                queue[tail] = row
                tail += 1
