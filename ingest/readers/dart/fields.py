"""Numbers, truth values and enum constants in the fields of instances, on request.

Objects of small integers and truth values are folded, so fields are read before. The
VM keeps some numbers in the object itself, mostly doubles: the snapshot has the place
of such a field, but nothing in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.spans import rows_in
from ingest.heap.values import NO_VALUE, FieldValues, ValueKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.read_options import ReadOptions
    from ingest.readers.dart.classes import SnapshotClasses, SnapshotObjects

    Longs = NDArray[np.int64]

_ENUM = ["index", "_name"]
"""The first fields of an enum constant."""
_MOST_NAMED = 10


def field_values(
    classes: SnapshotClasses, objects: SnapshotObjects, options: ReadOptions
) -> tuple[FieldValues | None, tuple[str, ...]]:
    """The values in fields of the types that are asked for.

    Args:
        classes: The classes.
        objects: The objects as recorded, none folded.
        options: The types.

    Returns:
        The values, of rows as recorded, with nulls that hide fields; ``None`` if no
        type is asked for. Then notes on fields that the snapshot does not record.
    """
    if not options.values:
        return None, ()
    type_names = classes.type_names()
    kinds = [row for row, name in enumerate(type_names) if options.keeps_values(name)]
    rows = np.flatnonzero(np.isin(objects.class_index, kinds))
    kind = objects.class_index[rows]
    slots = np.array(classes.first_slot, np.int64)
    begin = objects.ref_start[rows]
    count = objects.ref_start[rows + 1] - begin
    count = np.minimum(count, slots[kind + 1] - slots[kind])
    at = rows_in(begin, count)
    slot, row = rows_in(slots[kind], count), np.repeat(rows, count)
    visible = _visible(classes, kinds)
    field = visible[slot]
    at, row, field = at[field >= 0], row[field >= 0], field[field >= 0]
    target = objects.ref_id[at].astype(np.int64) - 1
    names = list(classes.field_names)

    known = np.full(len(at), NO_VALUE, np.uint8)
    bits = np.zeros(len(at), np.int64)
    which, known_kind, known_bits = objects.values.numbers(target)
    known[which], bits[which] = known_kind, known_bits
    constants, texts = _constants(classes, objects, target, names)
    known[constants >= 0] = ValueKind.NAME
    bits[constants >= 0] = constants[constants >= 0]
    absent = np.stack([objects.class_index[row], field])[:, target < 0]
    lacking = [
        f"{type_names[one]}.{names[two]}"
        for one, two in np.unique(absent, axis=1).T.tolist()
    ]
    notes = list[str]()
    if lacking:
        more = len(lacking) - _MOST_NAMED
        notes.append(
            "the snapshot has no values of fields that the VM keeps in the objects: "
            + ", ".join(lacking[:_MOST_NAMED])
            + (f", and {more:,} more" if more > 0 else "")
        )
    hiding = np.array(classes.slot_field, np.int32)[visible < 0]
    kept = (known != NO_VALUE) | np.isin(field, hiding)
    used, number = np.unique(field[kept], return_inverse=True)
    found = FieldValues(
        row[kept].astype(np.int32), number.astype(np.int32), known[kept], bits[kept],
        tuple(names[one] for one in used.tolist()), texts,
    )  # fmt: skip
    return found, tuple(notes)


def _visible(classes: SnapshotClasses, kinds: list[int]) -> NDArray[np.int32]:
    """The field of each place, but -1 where one of a subclass has its name."""
    found = np.array(classes.slot_field, np.int32)
    for row in kinds:
        begin, end = classes.first_slot[row : row + 2]
        own = found[begin:end]
        _, last = np.unique(own[::-1], return_index=True)
        hidden = np.ones(len(own), np.bool_)
        hidden[len(own) - 1 - last] = False
        own[hidden] = -1
    return found


def _constants(
    classes: SnapshotClasses, objects: SnapshotObjects, target: Longs, names: list[str]
) -> tuple[Longs, tuple[str, ...]]:
    """Which targets are enum constants: rows of their names or -1, and the names."""
    enums = [
        row
        for row in np.unique(objects.class_index[target[target >= 0]]).tolist()
        if [
            names[one] if one >= 0 else ""
            for one in classes.slot_field[slice(*classes.first_slot[row : row + 2])][:2]
        ]
        == _ENUM
    ]
    found = np.full(len(target), -1, np.int64)
    is_one = (target >= 0) & np.isin(objects.class_index[target], enums)
    ones, of = np.unique(target[is_one], return_inverse=True)
    texts: dict[str, int] = {}
    place = np.array([objects.referred(one, 1) for one in ones.tolist()], np.int64)
    found[is_one] = np.array(
        [
            -1 if text is None else texts.setdefault(text, len(texts))
            for text in objects.values.pick(place)
        ],
        np.int64,
    )[of]
    return found, tuple(texts)
