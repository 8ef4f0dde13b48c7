"""Folding of CPython's objects: a ``__dict__`` becomes a part of its object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import Folded
from ingest.readers.cpython.objects import DICT_NAME, columns_of, new_rows

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.values import ObjectValues
    from ingest.readers.cpython.objects import Fields, PythonObjects
    from ingest.readers.shared.columns import ObjectColumns


@kernel
def _count(target: Ints, counts: Ints) -> None:
    """Count rows in ``target``, int32 (E,), in int32 (N,); negative ones are none."""
    for row in target:
        if row >= 0:
            counts[row] += 1


def times_referenced(objects: PythonObjects) -> Ints:
    """int32 (N,): how many references there are to each object."""
    counts = np.zeros(len(objects.id), np.int32)
    _count(objects.target, counts)
    return counts


@kernel
def _move(
    start: Longs,
    part: Ints,
    at: Longs,
    is_part: Bools,
    ref_id: Ids,
    ref_field: Ints,
    new_start: Longs,
    new_id: Ids,
    new_field: Ints,
) -> None:
    """Write each staying object's references, followed by those of its part.

    ``part`` has the row of each object's part, negative for none; ``at`` has the place
    of the reference to the part, which is left out.
    """
    end, new_row = 0, 0
    for row in range(len(part)):
        if is_part[row]:
            continue
        for old in range(start[row], start[row + 1]):
            if part[row] < 0 or old != at[row]:
                new_id[end], new_field[end] = ref_id[old], ref_field[old]
                end += 1
        if part[row] >= 0:
            for old in range(start[part[row]], start[part[row] + 1]):
                new_id[end], new_field[end] = ref_id[old], ref_field[old]
                end += 1
        new_row += 1
        new_start[new_row] = end


def folded(
    objects: PythonObjects,
    values: ObjectValues,
    is_held: Bools,
    is_dict: Bools,
    fields: Fields,
) -> tuple[Folded, ObjectColumns, ObjectValues]:
    """Make each ``__dict__`` that only its object refers to a part of it.

    Its entries follow the object's own references.

    Args:
        objects: The objects; changed.
        values: Their values.
        is_held: bool (N,). Whether something other than an object refers to it.
        is_dict: bool (N,). Whether its type is dict itself, not a subclass.
        fields: Names of fields.
    """
    start, target, many = objects.start, objects.target, len(objects.id)
    row = fields.row(DICT_NAME)
    at = np.flatnonzero((objects.ref_field == row) & (target >= 0))
    at = at[is_dict[target[at]]]
    owner = np.searchsorted(start, at, "right") - 1
    held = target[at]
    alone = (times_referenced(objects)[held] == 1) & ~is_held[held]
    alone &= objects.is_owner[owner] & (held != owner)
    at, owner, held = at[alone], owner[alone], held[alone]
    owner, chosen = np.unique(owner, return_index=True)
    at, held = at[chosen], held[chosen]
    # A dict stays if the object that it belongs to is folded itself.
    is_folded = np.zeros(many, np.bool_)
    is_folded[held] = True
    good = ~is_folded[owner]
    at, owner, held = at[good], owner[good], held[good]
    if not len(held):
        return Folded(), columns_of(objects), values
    is_folded[:] = False
    is_folded[held] = True
    part, places = np.full(many, -1, np.int32), np.full(many, -1, np.int64)
    part[owner], places[owner] = held, at
    new_start = np.zeros(many - len(held) + 1, np.int64)
    ref_id = np.empty(len(target) - len(held), np.uint64)
    ref_field = np.empty(len(target) - len(held), np.int32)
    _move(
        start, part, places, is_folded, objects.ref_id, objects.ref_field, new_start,
        ref_id, ref_field,
    )  # fmt: skip
    objects.start, objects.ref_id, objects.ref_field = new_start, ref_id, ref_field
    objects.size_bytes[owner] += objects.size_bytes[held]
    stays = ~is_folded
    objects.keep(stays)
    values = values.renumbered(new_rows(stays))
    return Folded(len(held), 0, len(held)), columns_of(objects), values
