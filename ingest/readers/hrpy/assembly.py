"""From the chunks of a heap of CPython to a graph: roots, names of entries, folding.

Roots. The variables of modules are static roots, local variables of functions are local
roots. If CPython counts more references to an object than objects and stacks explain, C
or the interpreter itself holds it: it is a root of kind ``RUNTIME``; or of kind
``LOCAL``, if it is known to be on the stack of a frame. Numbers, texts and the like are
not, since the interpreter refers to them everywhere. Immortal objects, which CPython
3.12 and later does not count, are roots of kind ``INTERNAL``. Objects that none of
these reaches wait for the collector.

Folding, unless it is turned off. A dict is the ``__dict__`` of an object if only that
object of a class, or that class, refers to it. It becomes a part of the object: its
entries are the attributes, as from CPython 3.11 on, where most objects have no dict.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.spans import rows_in
from ingest.heap.graph import NO_FIELD, Folded, RootKind, ThreadStacks
from ingest.heap.history import Allocations, History
from ingest.heap.read_options import Fold
from ingest.heap.redaction import MARK
from ingest.heap.values import ExternalMemory, ObjectValues
from ingest.readers.cpython.folding import folded, times_referenced
from ingest.readers.cpython.objects import (
    ATOMS,
    Fields,
    PythonObjects,
    columns_of,
    is_of,
    name_context_variables,
    name_entries,
    resolved,
)
from ingest.readers.cpython.roots import PythonRoots
from ingest.readers.hrpy import NAME
from ingest.readers.hrpy.chunks import NEVER, Flag, pieces, values_of
from ingest.readers.shared.columns import starts_of, taken
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import CPYTHON
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.arrays.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.readers.hrpy.facts import Recorded
    from ingest.readers.shared.irregularities import IrregularityCounter


def assemble(recorded: Recorded, fold: Fold, counter: IrregularityCounter) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes are larger than any memory, or, with ``--strict``,
            anything is irregular.
    """
    type_names = recorded.declared.type_names
    history, outside = _history(recorded), _outside(recorded)
    values, objects, table = _joined(recorded, counter)
    told_bytes = int(objects.size_bytes.sum()) + _on_host(*outside[1:])
    is_held, is_lost, stacked = _unexplained(recorded, objects, values, table)
    fields = Fields(recorded.declared.names)
    roots = PythonRoots(fields)
    is_dict = objects.type == _row_of(type_names, "dict")
    spaces, _ = table.find(np.array([m.space for m in recorded.modules], np.uint64))
    name_entries(objects, values, spaces, fields, is_dict)
    roots.add_modules(recorded.modules, spaces, objects, values)
    roots.add_stacks(recorded.threads)
    roots.add(objects.id[stacked], RootKind.LOCAL)
    is_atom = is_of(ATOMS, type_names)[objects.type]
    assert objects.refcount is not None
    is_immortal = objects.refcount >= np.uint32(1 << 30)
    name_context_variables(objects, values, type_names, fields)
    held = np.flatnonzero(is_held & ~is_atom)
    at, places = _places(recorded, objects, held, table, fields)
    roots.add(objects.id[at], RootKind.RUNTIME, places)
    if recorded.header.get("mode") == "fork" and len(recorded.threads) > 1:
        lost = objects.id[is_lost & ~is_atom]
        roots.add(lost, RootKind.RUNTIME, fields.row("another thread"))
    roots.add(objects.id[is_immortal & ~is_atom], RootKind.INTERNAL)
    is_held |= is_immortal
    del held, at, places, is_lost, is_atom, is_immortal
    left_out = Folded()
    columns = columns_of(objects)
    if fold is Fold.AUTO:
        left_out, columns, values = folded(objects, values, is_held, is_dict, fields)
    type_ids = np.array(recorded.declared.type_ids, np.uint64)
    del objects, table, is_held, is_dict
    heap = HeapResolver([columns], TypeTable.by_row(type_names, counter), counter)
    return heap.graph(
        roots.columns(),
        format_name=NAME,
        runtime=CPYTHON.name,
        is_redacted=recorded.header.get("redacted") == MARK,
        producer=_producer(recorded),
        notes=_notes(recorded, told_bytes),
        taken_ms=_taken_ms(recorded),
        collects=None
        if (told := recorded.header.get("collects")) is None
        else bool(told),
        owners=tuple(roots.owners),
        stacks=ThreadStacks.of(roots.stacks),
        field_names=tuple(fields.names),
        values=values,
        external=_external(heap, *outside),
        type_object=heap.find(type_ids),
        folded=left_out,
        history=history,
    )


_UNEXPLAINED_BYTES = 32 << 20
"""An interpreter with a few libraries has less memory outside its objects."""

_OF_C = {
    "context of a thread": ("Context", "_contextvars.Context"),
    "task that runs": ("_asyncio.Task",),
}
"""Words for what C holds, by types."""


def _places(
    recorded: Recorded,
    objects: PythonObjects,
    held: Longs,
    table: IdTable,
    fields: Fields,
) -> tuple[Longs, Ints]:
    """The objects that C holds, and the place of each; `NO_FIELD` if unknown.

    Args:
        recorded: The file, with the places that the program knows.
        objects: The objects.
        held: int64. Rows of objects that nothing else holds.
        table: Their ids.
        fields: Names of fields.
    """
    rows, _ = table.find(np.array([ident for _, ident in recorded.held], np.uint64))
    told = {
        row: place
        for (place, _), row in zip(recorded.held, rows.tolist(), strict=True)
        if row >= 0
    }
    at = np.union1d(held, np.array(list(told), np.int64))
    places = np.full(len(at), NO_FIELD, np.int32)
    for place, kinds in _OF_C.items():
        is_there = is_of(kinds, recorded.declared.type_names)[objects.type[at]]
        if is_there.any():
            places[is_there] = fields.row(place)
    of_greenlets = _on_greenlets(objects, fields)[at]
    if of_greenlets.any():
        places[of_greenlets] = fields.row("stack of a greenlet")
    for row, place in told.items():
        places[np.searchsorted(at, row)] = fields.row(place)
    return at, places


def _on_greenlets(objects: PythonObjects, fields: Fields) -> Bools:
    """Bool (N,): greenlets, and their bound methods.

    A greenlet that waits has its own stack in C, which refers to it and its methods.
    """
    found = np.zeros(len(objects.id), np.bool_)
    if not {"gr_context", "__self__"} <= set(fields.names):
        return found
    context, own = map(fields.row, ("gr_context", "__self__"))
    edges = np.flatnonzero(objects.ref_field == context)
    found[np.searchsorted(objects.start, edges, "right") - 1] = True
    edges = np.flatnonzero((objects.ref_field == own) & (objects.target >= 0))
    edges = edges[found[objects.target[edges]]]
    found[np.searchsorted(objects.start, edges, "right") - 1] = True
    return found


def _taken_ms(recorded: Recorded) -> int | None:
    """When the dump was begun, milliseconds since 1970; ``None`` if not recorded."""
    since_s = recorded.header.get("started")
    if not isinstance(since_s, int | float) or not 0 <= since_s < 1 << 40:
        return None
    return int(since_s * 1000)


def _producer(recorded: Recorded) -> str:
    version = recorded.header.get("python", "")
    return f"CPython {version}".strip() if isinstance(version, str) else "CPython"


def _notes(recorded: Recorded, object_bytes: int) -> tuple[str, ...]:
    """Notes from the file on the process as a whole.

    Args:
        recorded: The file.
        object_bytes: Size of all objects, with memory that they keep outside the heap.
    """
    notes = []
    if recorded.header.get("mode") == "stop" and len(recorded.threads) > 1:
        notes.append(
            "It was written while other threads could run, so it may not be of one "
            "moment; a dump by a copy of the process (fork) is."
        )
    if recorded.header.get("collects") is False:
        notes.append(
            "The program has switched its garbage collector off, so objects that "
            "refer to each other in a circle are never freed."
        )
    memory = recorded.header.get("memory")
    told = {
        name: size
        for name, size in (memory.items() if isinstance(memory, dict) else ())
        if isinstance(size, int) and 0 <= size < 1 << 62
    }
    taken = told.get("anonymous", 0) + told.get("swapped", 0)
    if taken - object_bytes > _UNEXPLAINED_BYTES and object_bytes < taken / 2:
        notes.append(
            f"Its objects explain {object_bytes / taken:.0%} of the "
            f"{human_bytes(taken)} of memory that the process had for itself "
            f"(resident {human_bytes(told.get('resident', 0))}, RSS): the rest is "
            + _rest(told, taken - object_bytes)
        )
    return tuple(notes)


def _rest(told: Mapping[str, int], rest: int) -> str:
    """Memory that no object explains, from what allocators tell."""
    free = {
        "CPython's allocator": max(told.get("arenas", 0) - told.get("blocks", 0), 0),
        "the C library's": told.get("malloc_free", 0),
    }
    if not {"arenas", "malloc"} <= told.keys():
        return "of libraries in C, or free in an allocator."
    parts = [f"{human_bytes(size)} free in {name}" for name, size in free.items()]
    others = human_bytes(max(rest - sum(free.values()), 0))
    return f"{' and '.join(parts)}, and {others} of libraries in C."


def _row_of(names: list[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _history(recorded: Recorded) -> History | None:
    """The sites that made objects, if the program traced them."""
    known = [chunk for chunk in recorded.chunks if chunk.site is not None]
    if not known:
        return None
    site = np.concatenate([chunk.site for chunk in known if chunk.site is not None])
    is_told = site != NEVER
    address = np.concatenate([chunk.id for chunk in known])[is_told]
    allocations = Allocations(
        heap=np.zeros(len(address), np.int32),
        address=address,
        site=site[is_told].astype(np.int32),
        allocated_ms=None,
        sites=tuple(recorded.declared.sites),
    )
    return History((), allocations)


_STORAGE = "torch.storage.UntypedStorage"
_DEVICE_LENGTH = 32
_TENSORS, _ON_CPU = "tensors on ", "tensors on cpu"


def _outside(recorded: Recorded) -> tuple[Ids, Longs, list[str]]:
    """Objects with memory outside the heap: ids, bytes, and what that is."""
    ids, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    names: list[str] = []
    for chunk in recorded.chunks:
        if chunk.outside_bytes is None:
            continue
        there = chunk.outside_bytes > 0
        ids.append(chunk.id[there])
        sizes.append(chunk.outside_bytes[there])
        kind = recorded.declared.type_names[chunk.type_number]
        if kind == _STORAGE and chunk.texts is not None:
            text_sizes, joined = chunk.texts
            for device in compress(pieces(joined, text_sizes), there):
                text = device.decode("utf-8", "replace")
                names.append(_TENSORS + text[:_DEVICE_LENGTH])
        else:
            what = "mapped memory" if kind == "mmap.mmap" else "data of an array"
            names += [what] * int(there.sum())
    return np.concatenate(ids), np.concatenate(sizes), names


def _on_host(sizes: Longs, names: list[str]) -> int:
    """Bytes of that memory that are not those of a device."""
    on_device = [name.startswith(_TENSORS) and name != _ON_CPU for name in names]
    return int(sizes[~np.array(on_device, bool)].sum())


def _external(
    heap: HeapResolver, ids: Ids, sizes: Longs, names: list[str]
) -> ExternalMemory | None:
    """This memory by object; ``None`` if there is none."""
    rows = heap.find(ids)
    _, first = np.unique(rows, return_index=True)
    first = first[rows[first] >= 0]
    if not len(first):
        return None
    known, kind = np.unique(np.array(names, object)[first], return_inverse=True)
    return ExternalMemory(
        rows[first].astype(np.int32),
        sizes[first],
        kind.astype(np.int32),
        tuple(known.tolist()),
    )


def _joined(
    recorded: Recorded, counter: IrregularityCounter
) -> tuple[ObjectValues, PythonObjects, IdTable]:
    """All chunks joined, without objects that repeat an id; the chunks are freed."""
    chunks, names = recorded.chunks, recorded.declared.type_names
    many = np.array([len(chunk.id) for chunk in chunks])
    first = starts_of(many)
    found = [
        row
        for chunk, begin in zip(chunks, first.tolist(), strict=False)
        for row in values_of(chunk, begin, names[chunk.type_number])
    ]
    nothing = (np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.int64))
    found.append((*nothing, np.empty(0, np.uint8)))
    rows, kinds, sizes, content = map(np.concatenate, zip(*found, strict=True))
    values = ObjectValues(rows, kinds, starts_of(sizes), content)
    del found
    kinds = np.array([chunk.type_number for chunk in chunks], np.int32)
    owns = np.array([bool(chunk.flags & Flag.OWNER) for chunk in chunks])
    for chunk in chunks:
        chunk.texts = chunk.numbers = None
        if chunk.length is None:
            chunk.length = np.broadcast_to(np.array([-1]), len(chunk.id))
    objects = PythonObjects(
        ref_id=taken(chunks, "ref_id"),
        ref_field=taken(chunks, "ref_field"),
        start=starts_of(taken(chunks, "ref_count")),
        id=taken(chunks, "id"),
        type=np.repeat(kinds, many),
        size_bytes=taken(chunks, "size_bytes"),
        refcount=taken(chunks, "refcount"),
        length=taken(chunks, "length"),
        is_owner=np.repeat(owns, many),
        target=np.empty(0, np.int32),
    )
    chunks.clear()
    table = IdTable(objects.id)
    values, table = resolved(objects, values, table, counter)
    return values, objects, table


def _by_frames(recorded: Recorded, objects: PythonObjects) -> Longs:
    """int64 (N,): references of frames that run, of which CPython tells nobody.

    What a frame gives to the one that it calls is on its stack as well as in a local of
    that one, and what runs a frame refers to it.
    """
    type_names, names = recorded.declared.type_names, recorded.declared.names
    frames = np.flatnonzero(objects.type == _row_of(type_names, "frame"))
    begin, many = objects.start[frames], np.diff(objects.start)[frames]
    at = rows_in(begin, many)
    own = [row for row, name in enumerate(names) if name in ("f_code", "f_globals")]
    is_local = (objects.ref_field[at] >= 0) & ~np.isin(objects.ref_field[at], own)
    target = objects.target[at[is_local]]
    count = np.bincount(target[target >= 0], minlength=len(objects.id))
    count[frames] += 1
    return count.astype(np.int64)


_ENDS = ("__exit__", "__aexit__")
"""Methods that a frame has on its stack until a ``with`` ends."""


def _on_stacks(
    recorded: Recorded,
    objects: PythonObjects,
    values: ObjectValues,
    table: IdTable,
    excess: Longs,
) -> list[int]:
    """Cells and methods that only stacks of frames explain, which CPython tells nobody.

    A frame refers by a cell to a local that an inner function captures. Its stack has
    the bound method that it calls, and the one that ends its ``with``.

    Args:
        recorded: The file.
        objects: The objects.
        values: Their values.
        table: Their ids.
        excess: int64 (N,). How many references to each object are not explained.
    """
    names, type_names = recorded.declared.names, recorded.declared.type_names
    functions: dict[int, list[str]] = {}
    for thread in recorded.threads:
        for frame in thread.frames:
            name = frame.text.split(" (", 1)[0].rsplit(".", 1)[-1]
            rows, _ = table.find(np.array([at for _, at in frame.locals], np.uint64))
            for row in rows[rows >= 0].tolist():
                functions.setdefault(row, []).append(name)
    is_asked = (excess > 0) & is_of(("cell", "method"), type_names)[objects.type]
    found = []
    for row in np.flatnonzero(is_asked).tolist():
        part = slice(int(objects.start[row]), int(objects.start[row + 1]))
        pairs = zip(
            objects.ref_field[part].tolist(), objects.target[part].tolist(), strict=True
        )
        told = {names[field]: target for field, target in pairs if field >= 0}
        of = functions.get(told.get("cell_contents", told.get("__self__", -1)), [])
        if of and "__func__" in told:
            text = values.pick(np.array([told["__func__"]], np.int32))[0] or ""
            called = text.rsplit(".", 1)[-1]
            of = [name for name in of if called in (name, *_ENDS)]
        if excess[row] <= len(of):
            found.append(row)
    return found


def _unexplained(
    recorded: Recorded, objects: PythonObjects, values: ObjectValues, table: IdTable
) -> tuple[Bools, Bools, list[int]]:
    """Objects with more references than those found.

    Returns:
        bool (N,): objects for which CPython counts more references than were found;
        bool (N,): objects without any reference. CPython frees the latter at once, so
        in a copy of a process, other threads, which the copy lacks, have referred to
        them; and rows of objects which are neither, since stacks refer to them.
    """
    explained, stacked = times_referenced(objects), []
    assert objects.refcount is not None
    excess = objects.refcount.astype(np.int64) - recorded.number("own_references", 0)
    excess -= explained
    if recorded.header.get("frames_are_objects", False):
        given = _by_frames(recorded, objects)
        excess[(explained > 0) & (excess > 0) & (excess <= given)] = 0
    else:
        held = [
            at
            for thread in recorded.threads
            for frame in thread.frames
            for _, at in frame.locals
        ]
        rows, _ = table.find(np.array(held, np.uint64))
        np.add.at(explained, rows[rows >= 0], 1)
        np.subtract.at(excess, rows[rows >= 0], 1)
        stacked = _on_stacks(recorded, objects, values, table, excess)
        excess[stacked] = -1
    excess[objects.refcount >= recorded.number("immortal_references", NEVER)] = -1
    return excess > 0, (excess == 0) & (explained == 0), stacked
