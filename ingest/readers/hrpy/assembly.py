"""From the chunks of a heap of CPython to a graph: roots, names of entries, folding.

Roots. What a module has under a name is a static root, locals of functions are local
roots. Each reference that CPython counts to an object and that neither the objects nor
the stacks explain is held by C, or by the interpreter itself: that object is a root of
kind ``RUNTIME``. Numbers, texts and the like, to which the interpreter refers all over,
are none. Immortal objects, which CPython 3.12 and later does not count, are roots of
kind ``INTERNAL``. What none of these reaches waits for the collector.

Folding, unless it is turned off: a dict that only one object of a class, or one class,
refers to is its ``__dict__``, and becomes part of it: its entries are the attributes,
as they are from CPython 3.11 on, where most objects have no dict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import NO_FIELD, Folded, RootKind, ThreadStacks
from ingest.heap.read_options import Fold
from ingest.heap.values import ObjectValues, ValueKind
from ingest.readers.hrpy import NAME
from ingest.readers.hrpy.chunks import ENTRY, KEY, NEVER, Flag, values_of
from ingest.readers.shared.columns import (
    ObjectColumns,
    RootColumns,
    starts_of,
    taken,
)
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import CPYTHON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.readers.hrpy.facts import Recorded
    from ingest.readers.shared.irregularities import IrregularityCounter

KEY_NAME = "(key)"
DICT_NAME = "__dict__"

_MOST_NAMED_ENTRIES = 1000
"""Entries of a dict of the program, up to which they are named by their keys."""

_LONGEST_KEY = 100

_ATOMS = frozenset({
    "str", "int", "bool", "float", "complex", "bytes", "NoneType", "ellipsis",
    "NotImplementedType",
})  # fmt: skip
"""Types whose objects the interpreter refers to from its own tables and code."""

_RELOADED = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__",
    "__cached__", "__builtins__", "__path__")  # fmt: skip
"""Names that every module has."""


@dataclass(slots=True, eq=False)
class _Objects:
    """N objects, and their E references by the rows of what they refer to.

    Attributes:
        id: uint64 (N,).
        type: int32 (N,).
        size_bytes: int64 (N,).
        refcount: uint32 (N,).
        length: int64 (N,).
        is_owner: bool (N,). Whether a dict may be its ``__dict__``.
        start: int64 (N + 1,).
        ref_id: uint64 (E,).
        ref_field: int32 (E,).
        target: int32 (E,). Rows, negative where the dump lacks the object.
    """

    id: Ids
    type: Ints
    size_bytes: Longs
    refcount: NDArray[np.uint32]
    length: Longs
    is_owner: Bools
    start: Longs
    ref_id: Ids
    ref_field: Ints
    target: Ints


def assemble(recorded: Recorded, fold: Fold, counter: IrregularityCounter) -> HeapGraph:
    """Resolve all ids and make the graph.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    type_names = recorded.declared.type_names
    values, objects, table = _joined(recorded, counter)
    excess = _excess(recorded, objects, table)
    fields = _Fields(recorded.declared.names)
    roots = _HrpyRoots(fields)
    is_dict = objects.type == _row_of(type_names, "dict")
    _name_entries(recorded, objects, values, table, fields, is_dict)
    roots.add_modules(recorded, objects, values, table)
    roots.add_stacks(recorded)
    is_atom = np.array([name in _ATOMS for name in type_names], np.bool_)[objects.type]
    roots.add_rest(objects, excess, is_atom)
    folded = Folded()
    columns = _columns(objects)
    if fold is Fold.AUTO:
        folded, columns, values = _folded(objects, values, excess, is_dict, fields)
    type_ids = np.array(recorded.declared.type_ids, np.uint64)
    del objects, table, excess, is_dict, is_atom
    heap = HeapResolver([columns], TypeTable.by_row(type_names, counter), counter)
    return heap.graph(
        roots.columns(),
        format_name=NAME,
        runtime=CPYTHON.name,
        producer=_producer(recorded),
        notes=_notes(recorded),
        owners=tuple(roots.owners),
        stacks=ThreadStacks.of(roots.stacks),
        field_names=tuple(fields.names),
        values=values,
        type_object=heap.find(type_ids),
        folded=folded,
    )


def _producer(recorded: Recorded) -> str:
    version = recorded.header.get("python", "")
    return f"CPython {version}".strip() if isinstance(version, str) else "CPython"


def _notes(recorded: Recorded) -> tuple[str, ...]:
    if recorded.header.get("mode") == "stop" and len(recorded.threads) > 1:
        return (
            "It was written while other threads could run, so it may not be of one "
            "moment; a dump by a copy of the process (fork) is.",
        )
    return ()


def _row_of(names: list[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _joined(
    recorded: Recorded, counter: IrregularityCounter
) -> tuple[ObjectValues, _Objects, IdTable]:
    """All chunks as one, without objects that repeat an id; frees the chunks."""
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
    objects = _Objects(
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
    if len(table.duplicate_of):
        repeated = table.duplicate_of >= 0
        counter.add("repeated_object", int(repeated.sum()), 0, None)
        values = _without(objects, values, ~repeated)
        table = IdTable(objects.id)
    objects.target, _ = table.find(objects.ref_id)
    return values, objects, table


def _without(objects: _Objects, values: ObjectValues, kept: Bools) -> ObjectValues:
    """Drop the other objects, with their references and values."""
    counts = np.diff(objects.start)
    references = np.repeat(kept, counts)
    for name in ("id", "type", "size_bytes", "refcount", "length", "is_owner"):
        setattr(objects, name, getattr(objects, name)[kept])
    objects.start = starts_of(counts[kept])
    objects.ref_id = objects.ref_id[references]
    objects.ref_field = objects.ref_field[references]
    return values.renumbered(_new_rows(kept))


def _new_rows(kept: Bools) -> Ints:
    new = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    new[~kept] = -1
    return new


def _excess(recorded: Recorded, objects: _Objects, table: IdTable) -> Longs:
    """int64 (N,): references that CPython counts and nothing found explains.

    -1 where all are explained, or it counts none.
    """
    targets = objects.target[objects.target >= 0]
    explained = np.bincount(targets, minlength=len(objects.id))
    if not recorded.header.get("frames_are_objects", False):
        held = [
            at
            for thread in recorded.threads
            for frame in thread.frames
            for _, at in frame.locals
        ]
        rows, _ = table.find(np.array(held, np.uint64))
        explained += np.bincount(rows[rows >= 0], minlength=len(objects.id))
    excess = objects.refcount.astype(np.int64) - recorded.number("own_references", 0)
    excess -= explained
    excess[objects.refcount >= recorded.number("immortal_references", NEVER)] = -1
    return np.maximum(excess, -1)


class _Fields:
    """Names of fields, each with its row."""

    def __init__(self, names: list[str]) -> None:
        self.names = list(names)
        self._rows = {name: row for row, name in enumerate(names)}

    def row(self, name: str) -> int:
        """The row of a name, which is added if it is new."""
        found = self._rows.setdefault(name, len(self.names))
        if found == len(self.names):
            self.names.append(name)
        return found


def _name_entries(
    recorded: Recorded,
    objects: _Objects,
    values: ObjectValues,
    table: IdTable,
    fields: _Fields,
    is_dict: Bools,
) -> None:
    """Name the values of dicts by their keys, as far as these are texts or numbers.

    Those of large dicts are named by their position, as elements of a list are.
    """
    field, target = objects.ref_field, objects.target
    at = np.flatnonzero(field == ENTRY)
    owner = (np.searchsorted(objects.start, at, "right") - 1).astype(np.int32)
    is_space = np.zeros(len(objects.id), np.bool_)
    spaces, _ = table.find(np.array([m.space for m in recorded.modules], np.uint64))
    is_space[spaces[spaces >= 0]] = True
    unnamed = (field == NO_FIELD) & (target >= 0)
    unnamed[unnamed] = is_dict[target[unnamed]]
    holders = np.flatnonzero(unnamed)
    held_by = np.searchsorted(objects.start, holders, "right") - 1
    holders = holders[objects.is_owner[held_by]]
    is_space[target[holders]] = True
    if len(holders):
        field[holders] = fields.row(DICT_NAME)
    position = (at - objects.start[owner]) // 2
    field[at] = (-1 - position).astype(np.int32)
    small = is_space[owner] | (objects.length[owner] <= _MOST_NAMED_ENTRIES)
    at, owner = at[small], owner[small]
    key = target[at - 1]
    known = key >= 0
    at, owner, key = at[known], owner[known], key[known]
    _name_by_keys(values, at, key, is_space[owner], field, fields)
    keys = np.flatnonzero(field == KEY)
    if len(keys):
        field[keys] = fields.row(KEY_NAME)


def _name_by_keys(
    values: ObjectValues,
    at: NDArray[np.intp],
    key: Ints,
    in_space: Bools,
    field: Ints,
    fields: _Fields,
) -> None:
    """Name the references at ``at`` by the values of their keys."""
    if not len(values.object_index):
        return
    place = np.searchsorted(values.object_index, key)
    place = np.minimum(place, len(values.object_index) - 1)
    has = values.object_index[place] == key
    kind = values.kind[place]
    is_text = has & ((kind == ValueKind.LATIN1) | (kind == ValueKind.UTF16))
    length = values.start[place + 1] - values.start[place]
    is_text &= (length > 0) & (length <= 2 * _LONGEST_KEY)
    code = 2 * key[is_text].astype(np.int64) + in_space[is_text]
    codes, inverse = np.unique(code, return_inverse=True)
    texts = values.pick((codes // 2).astype(np.int32))
    rows = [
        fields.row(text or "" if plain else f"[{text!r}]")
        for text, plain in zip(texts, (codes % 2).tolist(), strict=True)
    ]
    field[at[is_text]] = np.array(rows, np.int32)[inverse]
    numbers = np.flatnonzero(has & (kind == ValueKind.INTEGER))
    words = values.start[place[numbers]][:, None] + np.arange(8)
    value = values.content[words].view("<i8")[:, 0] if len(numbers) else words[:, 0]
    fits = (value >= 0) & (value < 2**31 - 8)
    field[at[numbers[fits]]] = (-1 - value[fits]).astype(np.int32)


class _HrpyRoots:
    """The roots of a heap, found one kind after another."""

    def __init__(self, fields: _Fields) -> None:
        self._fields = fields
        self._pieces: list[tuple[NDArray[Any], ...]] = []
        self.owners: list[str] = []
        self.stacks: list[tuple[str, ...]] = []

    def _add(
        self,
        ids: NDArray[Any] | list[int],
        kind: RootKind,
        field: list[int] | int = NO_FIELD,
        owner: list[int] | int = -1,
        frame: list[int] | int = -1,
    ) -> None:
        many = len(ids)
        self._pieces.append(
            (
                np.array(ids, np.uint64),
                np.full(many, kind, np.uint8),
                *(
                    np.broadcast_to(np.array(column, np.int32), many)
                    for column in (field, owner, frame)
                ),
            )
        )

    def add_modules(
        self,
        recorded: Recorded,
        objects: _Objects,
        values: ObjectValues,
        table: IdTable,
    ) -> None:
        """The modules, and what they have under each name.

        An object of several modules comes first under the name of the one that it says
        it is of, else of the one that was imported last: a module that takes a name
        from another one is imported before that.
        """
        modules = [m for m in reversed(recorded.modules) if m.ident]
        spaces, _ = table.find(np.array([m.space for m in modules], np.uint64))
        ids: list[int] = []
        names: list[str] = []
        foreign: list[bool] = []
        for module, space in zip(modules, spaces.tolist(), strict=True):
            if space < 0:
                continue
            part = slice(int(objects.start[space]), int(objects.start[space + 1]))
            field = objects.ref_field[part].tolist()
            target = objects.target[part]
            texts = values.pick(target)
            told = zip(
                field,
                objects.ref_id[part].tolist(),
                target.tolist(),
                texts,
                strict=True,
            )
            for row, ident, at, text in told:
                key = self._fields.names[row] if row >= 0 else ""
                if not key or key == KEY_NAME or key in _RELOADED or at < 0:
                    continue
                ids.append(ident)
                names.append(f"{module.name}.{key}")
                home = f"{module.name}."
                foreign.append(
                    text is None
                    or not text.startswith(home)
                    or "." in text[len(home) :]
                )
        order = np.argsort(np.array(foreign, np.bool_), kind="stable").tolist()
        self._add(
            [ids[at] for at in order],
            RootKind.STATIC,
            [self._fields.row(names[at]) for at in order],
        )
        self._add(
            [m.ident for m in modules],
            RootKind.STATIC,
            [self._fields.row(m.name) for m in modules],
        )

    def add_stacks(self, recorded: Recorded) -> None:
        """The locals of the frames of all threads."""
        ids: list[int] = []
        columns: tuple[list[int], list[int], list[int]] = ([], [], [])
        frames = 0
        for thread in recorded.threads:
            owner = len(self.owners)
            self.owners.append(thread.name)
            stack = tuple(frame.text for frame in thread.frames)
            self.stacks.append(stack)
            for number, frame in enumerate(thread.frames):
                for name, at in frame.locals:
                    ids.append(at)
                    for column, value in zip(
                        columns,
                        (self._fields.row(name), owner, frames + number),
                        strict=True,
                    ):
                        column.append(value)
            frames += len(stack)
        self._add(ids, RootKind.LOCAL, *columns)

    def add_rest(self, objects: _Objects, excess: Longs, is_atom: Bools) -> None:
        """What C holds, and immortal objects."""
        self._add(objects.id[(excess > 0) & ~is_atom], RootKind.RUNTIME)
        immortal = (objects.refcount >= np.uint32(1 << 30)) & ~is_atom
        self._add(objects.id[immortal], RootKind.INTERNAL)

    def columns(self) -> RootColumns:
        """All of them."""
        ids, kind, field, owner, frame = map(
            np.concatenate, zip(*self._pieces, strict=True)
        )
        return RootColumns(
            id=ids,
            kind=kind,
            flags=np.zeros(len(ids), np.uint8),
            field=field,
            owner=owner,
            frame=frame,
        )


def _columns(objects: _Objects) -> ObjectColumns:
    return ObjectColumns(
        id=objects.id,
        type_id=objects.type,
        size_bytes=objects.size_bytes,
        ref_count=np.diff(objects.start).astype(np.int32),
        ref_id=[objects.ref_id],
        ref_field=objects.ref_field,
        further={"length": (objects.length, -1)},
    )


def _folded(
    objects: _Objects,
    values: ObjectValues,
    excess: Longs,
    is_dict: Bools,
    fields: _Fields,
) -> tuple[Folded, ObjectColumns, ObjectValues]:
    """Make each ``__dict__`` that only its object refers to a part of it.

    Its entries follow the object's own references, without their keys' references where
    the key is a text.
    """
    start, target = objects.start, objects.target
    row = fields.row(DICT_NAME)
    at = np.flatnonzero((objects.ref_field == row) & (target >= 0))
    at = at[is_dict[target[at]]]
    owner = np.searchsorted(start, at, "right") - 1
    held = target[at]
    times = np.bincount(target[target >= 0], minlength=len(objects.id))
    alone = (times[held] == 1) & (excess[held] <= 0) & objects.is_owner[owner]
    alone &= (objects.refcount[held] < (1 << 30)) & (held != owner)
    at, owner, held = at[alone], owner[alone], held[alone]
    owner, chosen = np.unique(owner, return_index=True)
    at, held = at[chosen], held[chosen]
    # A dict that would be folded into an object which is folded itself stays.
    is_folded = np.zeros(len(objects.id), np.bool_)
    is_folded[held] = True
    good = ~is_folded[owner]
    at, owner, held = at[good], owner[good], held[good]
    if not len(held):
        return Folded(), _columns(objects), values
    is_folded[:] = False
    is_folded[held] = True
    counts = np.diff(start)
    kept = np.ones(len(target), np.bool_)
    kept[at] = False
    moved = np.repeat(is_folded, counts)
    new_owner = np.arange(len(counts), dtype=np.int32)
    new_owner[held] = owner
    own = counts.copy()
    own[owner] -= 1
    total = own.copy()
    total[owner] += counts[held]
    total[is_folded] = 0
    new_start = starts_of(total)
    # Where each reference goes: after those of its object that stay before it.
    rank = np.cumsum(kept) - 1
    before = np.concatenate([[0], np.cumsum(kept)])[start[:-1]]
    base = new_start[new_owner] - before
    base[held] += own[owner]
    place = np.repeat(base, counts) + rank
    del moved, rank
    place = place[kept]
    ref_id = np.empty(len(place), np.uint64)
    ref_field = np.empty(len(place), np.int32)
    ref_id[place], ref_field[place] = objects.ref_id[kept], objects.ref_field[kept]
    objects.size_bytes[owner] += objects.size_bytes[held]
    stays = ~is_folded
    objects.start = starts_of(total[stays])
    objects.ref_id, objects.ref_field = ref_id, ref_field
    for name in ("id", "type", "size_bytes", "refcount", "length", "is_owner"):
        setattr(objects, name, getattr(objects, name)[stays])
    values = values.renumbered(_new_rows(stays))
    return Folded(len(held), 0, len(held)), _columns(objects), values
