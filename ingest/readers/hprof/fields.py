"""Numbers and truth values in the fields of instances, where they were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.heap.values import NO_VALUE, FieldValues, ValueKind
from ingest.readers.hprof.records import FIRST_PRIMITIVE, PRIMITIVES, WIDTHS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ints, Longs
    from ingest.readers.hprof.classes import ClassTable
    from ingest.readers.hprof.values import Specials

_FORMS = {
    "boolean": ("u1", ValueKind.BOOLEAN),
    "char": (">u2", ValueKind.NAME),
    "float": (">f4", ValueKind.DOUBLE),
    "double": (">f8", ValueKind.DOUBLE),
    "byte": ("i1", ValueKind.INTEGER),
    "short": (">i2", ValueKind.INTEGER),
    "int": (">i4", ValueKind.INTEGER),
    "long": (">i8", ValueKind.INTEGER),
}


class _Layout(NamedTuple):
    """Where an instance has the fields of its class.

    A field hides those of superclasses that have its name.

    Attributes:
        numbers: Name, place and type code of those with numbers that none hides.
        hiding: Places of references that hide others, by name.
        size: Bytes of all fields.
    """

    numbers: list[tuple[str, int, int]]
    hiding: dict[str, int]
    size: int

    @classmethod
    def of(cls, table: ClassTable, row: int, id_size: int) -> _Layout:
        numbers, references, hiding = [], dict[str, int](), dict[str, int]()
        place, seen = 0, set[str]()
        for one in table.chain(row):
            own = table.fields(one)
            for name, code in own:
                is_number = code >= FIRST_PRIMITIVE
                if name in seen and name in references:
                    hiding[name] = references[name]
                elif name not in seen and is_number:
                    numbers.append((name, place, code))
                elif name not in seen:
                    references[name] = place
                place += WIDTHS[code - FIRST_PRIMITIVE] if is_number else id_size
            seen |= {name for name, _ in own}
        return cls(numbers, hiding, place)


def field_values(
    specials: Specials, class_row: Ints, table: ClassTable, id_size: int
) -> FieldValues | None:
    """The values of all instances whose fields were taken; ``None`` if there are none.

    Args:
        specials: Records of the dump, by rows of the graph.
        class_row: int32. The class of each object.
        table: The classes.
        id_size: 4 or 8 bytes.
    """
    if not table.whole:
        return None
    names: dict[str, int] = {}
    texts: dict[str, int] = {}
    columns: list[tuple[NDArray[Any], ...]] = []
    kinds = class_row[specials.content_row]
    sizes = np.diff(specials.content_end, prepend=0)
    for row in table.whole:
        layout = _Layout.of(table, row, id_size)
        at = np.flatnonzero((kinds == row) & (sizes == layout.size))
        begin, rows = specials.content_end[at] - layout.size, specials.content_row[at]

        def taken(place: int, width: int, begin: Longs = begin) -> Bytes:
            found = specials.content[(begin + place)[:, None] + np.arange(width)]
            return np.ascontiguousarray(found)

        for name, place in layout.hiding.items():
            nulls = rows[~taken(place, id_size).any(axis=1)]
            number = names.setdefault(name, len(names))
            columns.append(_column(nulls, number, NO_VALUE, np.zeros(len(nulls))))
        for name, place, code in layout.numbers:
            form, kind = _FORMS[PRIMITIVES[code - FIRST_PRIMITIVE]]
            found = taken(place, np.dtype(form).itemsize).view(form)[:, 0]
            if kind is ValueKind.NAME:
                used, of = np.unique(found, return_inverse=True)
                known = [texts.setdefault(chr(one), len(texts)) for one in used]
                found = np.array(known, np.int64)[of]
            if kind is ValueKind.DOUBLE:
                with np.errstate(invalid="ignore"):  # a signalling NaN is a value, too
                    found = found.astype(np.float64).view(np.int64)
            number = names.setdefault(name, len(names))
            columns.append(_column(rows, number, kind, found))
    if not columns:
        return None
    index, field, kind_of, bits = map(np.concatenate, zip(*columns, strict=True))
    order = np.argsort(index, kind="stable")
    return FieldValues(
        index[order], field[order], kind_of[order], bits[order],
        tuple(names), tuple(texts),
    )  # fmt: skip


def _column(
    rows: Ints, field: int, kind: int, bits: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Values of one field, as columns of `FieldValues`."""
    fields, kinds = np.full(len(rows), field, np.int32), np.full(len(rows), kind)
    return rows, fields, kinds.astype(np.uint8), bits.astype(np.int64)
