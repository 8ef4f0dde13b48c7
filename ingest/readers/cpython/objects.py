"""Objects of CPython by rows, and names of the entries of dicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_FIELD, OF_KEY
from ingest.heap.values import ValueKind
from ingest.readers.shared.columns import ObjectColumns, starts_of
from ingest.readers.shared.id_table import IdTable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.values import ObjectValues
    from ingest.readers.shared.irregularities import IrregularityCounter

KEY, ENTRY = NO_FIELD + 1, NO_FIELD + 2
"""Instead of a field: the key of a dict's entry, and its value, which follows."""

DICT_NAME = "__dict__"

_MOST_NAMED_ENTRIES = 1000
"""Entries of a program's dict are named by their keys if there are at most so many."""

_LONGEST_KEY = 100


ATOMS = frozenset({
    "str", "int", "bool", "float", "complex", "bytes", "NoneType", "ellipsis",
    "NotImplementedType",
})  # fmt: skip
"""Types whose objects the interpreter refers to from its own tables and code."""


@dataclass(slots=True, eq=False)
class PythonObjects:
    """N objects, and their E references by the rows of the targets.

    Attributes:
        id: uint64 (N,).
        type: int32 (N,).
        size_bytes: int64 (N,).
        refcount: uint32 (N,); ``None`` if the dump lacks it.
        length: int64 (N,).
        is_owner: bool (N,). Whether the object may have a ``__dict__``.
        start: int64 (N + 1,).
        ref_id: uint64 (E,).
        ref_field: int32 (E,).
        target: int32 (E,). Rows, negative if the dump lacks the object.
    """

    id: Ids
    type: Ints
    size_bytes: Longs
    refcount: NDArray[np.uint32] | None
    length: Longs
    is_owner: Bools
    start: Longs
    ref_id: Ids
    ref_field: Ints
    target: Ints

    def keep(self, kept: Bools) -> None:
        """Keep only the rows of these objects; references stay."""
        for name in ("id", "type", "size_bytes", "refcount", "length", "is_owner"):
            if (column := getattr(self, name)) is not None:
                setattr(self, name, column[kept])


def is_of(kinds: Collection[str], type_names: Sequence[str]) -> Bools:
    """Bool (T,): whether each type is one of ``kinds``."""
    return np.array([name in kinds for name in type_names], np.bool_)


def resolved(
    objects: PythonObjects,
    values: ObjectValues,
    table: IdTable,
    counter: IrregularityCounter,
) -> tuple[ObjectValues, IdTable]:
    """Drop objects that repeat an id, and find the targets of references.

    Args:
        objects: The objects; changed.
        values: Their values.
        table: Their ids.
        counter: Counts the repeated ones.

    Returns:
        The values, and the table of ids, of the remaining objects.
    """
    if len(table.duplicate_of):
        repeated = table.duplicate_of >= 0
        counter.add("repeated_object", int(repeated.sum()), 0, None)
        values = without(objects, values, ~repeated)
        table = IdTable(objects.id)
    objects.target, _ = table.find(objects.ref_id)
    return values, table


def without(objects: PythonObjects, values: ObjectValues, kept: Bools) -> ObjectValues:
    """Keep only these objects, with their references and values."""
    counts = np.diff(objects.start)
    references = np.repeat(kept, counts)
    objects.keep(kept)
    objects.start = starts_of(counts[kept])
    objects.ref_id = objects.ref_id[references]
    objects.ref_field = objects.ref_field[references]
    return values.renumbered(new_rows(kept))


def new_rows(kept: Bools) -> Ints:
    """int32: the new row of each kept object, -1 for dropped ones."""
    new = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    new[~kept] = -1
    return new


class Fields:
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


def name_entries(
    objects: PythonObjects,
    values: ObjectValues,
    spaces: Ints,
    fields: Fields,
    is_dict: Bools,
) -> None:
    """Name the values of dicts by those keys that are texts or numbers.

    Values of large dicts are named by their position, like elements of a list.

    Args:
        objects: The objects; the fields of their references are changed.
        values: Their values.
        spaces: int32. Rows of the dicts of modules; negative for none.
        fields: Names of fields.
        is_dict: bool (N,). Whether its type is dict itself, not a subclass.
    """
    field, target = objects.ref_field, objects.target
    own = fields.row(DICT_NAME)
    told = np.flatnonzero((field == own) & (target >= 0))
    at = np.flatnonzero(field == ENTRY)
    owner = (np.searchsorted(objects.start, at, "right") - 1).astype(np.int32)
    is_space = np.zeros(len(objects.id), np.bool_)
    is_space[spaces[spaces >= 0]] = True
    unnamed = (field == NO_FIELD) & (target >= 0)
    unnamed[unnamed] = is_dict[target[unnamed]]
    holders = np.flatnonzero(unnamed)
    held_by = np.searchsorted(objects.start, holders, "right") - 1
    is_own = objects.is_owner[held_by]
    holders, held_by = holders[is_own], held_by[is_own]
    # What C keeps for a module, such as a cache, is not its variables.
    of_module = is_space[target[holders]]
    kept = of_module | ~np.isin(held_by, held_by[of_module])
    holders, held_by = holders[kept], held_by[kept]
    # Of several, it is not known which one it is.
    holders = holders[np.bincount(held_by)[held_by] == 1]
    is_space[target[holders]] = True
    is_space[target[told]] = True
    field[holders] = own
    objects.is_owner[np.searchsorted(objects.start, told, "right") - 1] = True
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
        field[keys] = fields.row(OF_KEY)


def _name_by_keys(
    values: ObjectValues,
    at: NDArray[np.intp],
    key: Ints,
    in_space: Bools,
    field: Ints,
    fields: Fields,
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


_NODES = ("hamt_bitmap_node", "hamt_collision_node")
_VARIABLES = ("ContextVar", "_contextvars.ContextVar")


def name_context_variables(
    objects: PythonObjects,
    values: ObjectValues,
    type_names: Sequence[str],
    fields: Fields,
) -> None:
    """Name the values in contexts by their context variables.

    A node of such a table refers to values, each followed by its variable, and to
    further nodes.
    """
    rows = np.flatnonzero(is_of(_NODES, type_names)[objects.type])
    if not len(rows):
        return
    is_variable = is_of(_VARIABLES, type_names)
    is_node = is_of((*_NODES, "hamt_array_node"), type_names)
    pairs: list[tuple[int, int]] = []
    for row in rows.tolist():
        at, end = int(objects.start[row]), int(objects.start[row + 1])
        while at + 1 < end:
            one, other = objects.target[at : at + 2].tolist()
            if one >= 0 and is_node[objects.type[one]]:
                at += 1
                continue
            if other >= 0 and is_variable[objects.type[other]]:
                pairs.append((at, other))
            at += 2
    names = values.pick(np.array([variable for _, variable in pairs], np.int32))
    for (at, _), name in zip(pairs, names, strict=True):
        objects.ref_field[at] = fields.row(name or "(variable)")
        objects.ref_field[at + 1] = fields.row(OF_KEY)


def columns_of(objects: PythonObjects) -> ObjectColumns:
    """The columns that the resolver takes; the others are freed."""
    return ObjectColumns(
        id=objects.id,
        type_id=objects.type,
        size_bytes=objects.size_bytes,
        ref_count=np.diff(objects.start).astype(np.int32),
        ref_id=[objects.ref_id],
        ref_field=objects.ref_field,
        further={"length": (objects.length, -1)},
    )
