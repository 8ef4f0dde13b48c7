"""From a Dart snapshot's own ids to one graph: roots, fields, weak references.

What keeps alive. A weak reference's target, the elements of a weak array, and what
a finalizer watches are weak. A weak property (an entry of an `Expando`) is an
ephemeron: its value lives while its key does, so the reference to the value is told
as one of the key, in a field named `EPHEMERON`; where the snapshot itself does not
reach the property it holds nothing.

What is folded, unless all is asked for. The pseudo objects of classes ``Root`` and
``Isolate`` become roots: a static field is a static root of its isolate. An object
without size and without references (each small integer, ``null``, ``true``, what
the VM shares between its isolates) is a value, and goes: a reference to ``null`` is
a reference to nothing, any other is counted as folded.

Source: dart-lang/sdk, runtime/vm/object_graph.cc and raw_object.h.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import (
    EPHEMERON,
    NO_TYPE,
    Domain,
    ExternalMemory,
    Folded,
    HeapGraph,
    RootKind,
)
from ingest.heap.values import ValueKind
from ingest.readers.base import Fold
from ingest.readers.dart.links import compact, describe, reached
from ingest.readers.dart.roots import Roots
from ingest.readers.dart.signature import NAME
from ingest.readers.shared.columns import check_sum, extended

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.readers.dart.classes import Classes, Objects
    from ingest.readers.shared.irregularities import Report


_EPHEMERON_CLASS = "_WeakProperty"


def assemble(
    classes: Classes,
    objects: Objects,
    *,
    isolate: str,
    external: ExternalMemory | None,
    identity_hash: NDArray[np.int64] | None,
    fold: Fold,
    report: Report,
) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    n = objects.count
    check_sum(objects.size_bytes, report.name)
    _mend_small_integers(classes, objects)
    missing = _renumber_missing(objects)
    m = len(missing)
    report.add("missing_object", m, 0, None)
    stays = np.ones(n, np.bool_)
    pseudo = np.empty(0, np.int64)
    if fold is Fold.AUTO:
        stays = (objects.size_bytes > 0) | (np.diff(objects.ref_start) > 0)
        if external is not None:
            stays[external.object_index] = True
        stays[0] = True
        pseudo = _pseudo_objects(classes, objects)
        stays[pseudo] = False
    rows = np.flatnonzero(stays)
    new_row = np.full(n + m, -1, np.int32)
    new_row[rows] = np.arange(len(rows), dtype=np.int32)
    new_row[n:] = len(rows) + np.arange(m, dtype=np.int32)
    roots = Roots(classes, objects, isolate)
    if len(pseudo):
        roots.unfold(pseudo, new_row)
    else:
        roots.add(np.zeros(1, np.int32), RootKind.INTERNAL)
    references = len(objects.ref_id)
    null_row = -1
    if fold is Fold.AUTO and (nulls := classes.of_runtime("Null")):
        null_row = int(np.argmax(objects.class_index == nulls[0]))
    field_of, kind, ref_start, null_count = _link(
        classes, objects, new_row, null_row, len(rows)
    )
    kept = int(ref_start[-1])
    lost = references - kept - null_count
    return HeapGraph(
        format_name=NAME,
        producer="Dart VM",
        object_count=len(rows),
        object_id=np.concatenate([rows.astype(np.uint64) + np.uint64(1), missing]),
        type_index=extended(objects.class_index[rows], m, NO_TYPE),
        shallow_bytes=extended(objects.size_bytes[rows], m, 0),
        ref_start=extended(ref_start, m, kept),
        ref_target=objects.ref_id[:kept].copy(),
        ref_kind=kind if kind.any() else None,
        ref_field=field_of,
        **roots.columns(),
        type_names=classes.type_names(),
        type_domain=np.zeros(len(classes.names), np.int32),
        field_names=(*classes.field_names, EPHEMERON),
        values=objects.values.renumbered(new_row),
        length=extended(objects.length[rows], m, -1),
        external=_moved(external, new_row),
        identity_hash=None
        if identity_hash is None
        else extended(identity_hash[rows], m, 0),
        domains=(Domain(isolate),),
        null_reference_count=null_count,
        folded=Folded(
            n - len(rows),
            int(objects.size_bytes[~stays].sum()),
            lost - (roots.count if len(pseudo) else 0),
        ),
        irregularities=report.finish(),
    )


def _moved(
    external: ExternalMemory | None, new_row: NDArray[np.int32]
) -> ExternalMemory | None:
    if external is None:
        return None
    return replace(external, object_index=new_row[external.object_index])


def _mend_small_integers(classes: Classes, objects: Objects) -> None:
    """Give small integers their signs; they stand as the machine's words.

    A machine word has 32 bits where all of them are such as 31 bits with a sign give,
    and at least one is negative.
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


def _renumber_missing(objects: Objects) -> NDArray[np.uint64]:
    """Ids of objects that a cut file lacks; they follow upon the last in ``ref_id``."""
    n = objects.count
    if n == objects.claimed_count:
        return np.empty(0, np.uint64)
    beyond = objects.ref_id > n
    missing, rank = np.unique(objects.ref_id[beyond], return_inverse=True)
    objects.ref_id[beyond] = rank + n + 1
    return missing.astype(np.uint64)


def _pseudo_objects(classes: Classes, objects: Objects) -> NDArray[np.int64]:
    """Rows of the root and of the isolates; none where the first is no root."""
    root, isolate = classes.internal("Root"), classes.internal("Isolate")
    if root < 0 or objects.class_index[0] != root:
        return np.empty(0, np.int64)
    # No object has row -1 as its class.
    isolates = np.flatnonzero(objects.class_index == isolate)
    return np.concatenate([np.zeros(1, np.int64), isolates])


def _link(
    classes: Classes,
    objects: Objects,
    new_row: NDArray[np.int32],
    null_row: int,
    kept_objects: int,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], int]:
    """Fields, kinds and starts of the references that stay, and the nulls' count.

    ``objects.ref_id`` becomes the targets' new rows, those that stay in front.
    """
    n, e = objects.count, len(objects.ref_id)
    field_of, kind = np.empty(e, np.int32), np.empty(e, np.uint8)
    describe(
        objects.class_index,
        objects.ref_start,
        np.array(classes.first_slot, np.int64),
        np.array(classes.slot_field, np.int32),
        classes.weak_slots(),
        classes.weak_elements(),
        field_of,
        kind,
    )
    moved, keys = _ephemerons(classes, objects, new_row)
    if len(moved):
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(objects.ref_start))
        source[moved] = keys
        field_of[moved] = len(classes.field_names)
        order = np.argsort(source, kind="stable")
        field_of, kind = field_of[order], kind[order]
        objects.ref_id = objects.ref_id[order]
        objects.ref_start = np.searchsorted(source[order], np.arange(n + 1)).astype(
            np.int64
        )
    start = np.zeros(kept_objects + 1, np.int64)
    nulls = compact(
        objects.ref_start, objects.ref_id, field_of, kind, new_row, null_row, start
    )
    kept = int(start[-1])
    return field_of[:kept].copy(), kind[:kept].copy(), start, nulls


def _ephemerons(
    classes: Classes, objects: Objects, new_row: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """References to ephemerons' values, and rows of the keys that hold them.

    An ephemeron that the snapshot does not reach holds nothing; one whose key was
    folded, and so lives for ever, holds its value itself.
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
        whole = seen[entries] & (begin + max(key, value) < end)
        begin = begin[whole]
        key_row = objects.ref_id[begin + key].astype(np.int64) - 1
        held = (key_row >= 0) & (key_row < objects.count)
        held[held] = new_row[key_row[held]] >= 0
        moved.append(begin[held] + value)
        keys.append(key_row[held])
    return np.concatenate(moved), np.concatenate(keys)
