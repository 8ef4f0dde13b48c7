"""What class objects hold of reflection, by a field that no JVM writes.

``Class.reflectionData`` is a soft reference to the members that the program has asked
for. A member refers to its class, which tells whose data they are: those of classes
that are garbage are garbage, too.

Source: java.lang.Class of OpenJDK 8 to 25.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.spans import rows_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ingest.arrays.compiled import Bools, Ints
    from ingest.readers.shared.resolver import ResolvedHeap

_DATA, _SOFT = "java.lang.Class$ReflectionData", "java.lang.ref.SoftReference"
_MEMBERS = (
    "declaredConstructors",
    "declaredFields",
    "declaredMethods",
    "declaredPublicFields",
    "declaredPublicMethods",
    "publicConstructors",
)
"""The fields that have members of the class itself, not inherited ones."""


class Reflection(NamedTuple):
    """Rows of the names by which data of reflection are found.

    Attributes:
        data, soft: Types of the data, and of what refers to them.
        members: Fields of the data with members.
        of_class: The field of a member that refers to its class.
        field: That of a class object.
    """

    data: int
    soft: int
    members: list[int]
    of_class: int
    field: int

    @classmethod
    def of(cls, names: Sequence[str], row: Callable[[str], int]) -> Reflection | None:
        """The rows of a heap; ``None`` if it has no such data.

        Args:
            names: The names of its types.
            row: Gives the row of the name of a field.
        """
        if _DATA not in names or _SOFT not in names:
            return None
        return cls(
            names.index(_DATA),
            names.index(_SOFT),
            [*map(row, _MEMBERS)],
            row("clazz"),
            row("reflectionData"),
        )


def hold_reflection(heap: ResolvedHeap, names: Reflection) -> None:
    """Let class objects refer to the soft references with their data of reflection."""
    links, kinds = heap.links, heap.type_index
    soft, data = _follow(heap, _rows(kinds == names.soft))
    is_data = kinds[data] == names.data
    soft_of = dict(zip(data[is_data].tolist(), soft[is_data].tolist(), strict=True))
    data, lists = _follow(heap, np.array([*soft_of], np.int32), names.members)
    has_any = links.start[lists] < links.start[lists + 1]
    data, first = data[has_any], links.target[links.start[lists[has_any]]]
    is_object = first < len(kinds)
    data, first = data[is_object], first[is_object]
    members, classes = _follow(heap, first, [names.of_class])
    class_of = dict(zip(members.tolist(), classes.tolist(), strict=True))
    found = {
        soft_of[at]: class_of[member]
        for at, member in zip(data.tolist(), first.tolist(), strict=True)
        if member in class_of
    }
    if not found:
        return
    links.append(
        np.array([*found.values()], np.int32),
        np.array([*found], np.int32),
        np.full(len(found), names.field, np.int32),
    )


def _rows(is_it: Bools) -> Ints:
    return np.flatnonzero(is_it).astype(np.int32)


def _follow(
    heap: ResolvedHeap, rows: Ints, fields: Sequence[int] | None = None
) -> tuple[Ints, Ints]:
    """The references of some objects to others in the dump: who refers, and to what.

    Args:
        heap: The heap.
        rows: The objects.
        fields: Only references by these fields; all if ``None``.
    """
    links = heap.links
    start = links.start[rows]
    counts = links.start[rows + 1] - start
    source, at = np.repeat(rows, counts), rows_in(start, counts)
    if fields is not None and links.field is not None:
        is_it = np.isin(links.field[at], fields)
        source, at = source[is_it], at[is_it]
    target = links.target[at]
    is_object = target < len(heap.type_index)
    return source[is_object], target[is_object]
