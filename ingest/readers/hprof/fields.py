"""Numbers and truth values in the fields of instances, where they were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.values import FieldValues, ValueKind
from ingest.readers.hprof.records import FIRST_PRIMITIVE, PRIMITIVES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints
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


def field_values(
    specials: Specials, class_row: Ints, table: ClassTable
) -> FieldValues | None:
    """The values of all instances whose fields were taken; ``None`` if there are none.

    Args:
        specials: Records of the dump, by rows of the graph.
        class_row: int32. The class of each object.
        table: The classes.
    """
    if not table.whole:
        return None
    names: dict[str, int] = {}
    texts: dict[str, int] = {}
    columns: list[tuple[NDArray[Any], ...]] = []
    kinds = class_row[specials.content_row]
    sizes = np.diff(specials.content_end, prepend=0)
    for row in table.whole:
        fields, size = table.numbers(row)
        at = np.flatnonzero((kinds == row) & (sizes == size))
        begin, rows = specials.content_end[at] - size, specials.content_row[at]
        for name, place, code in fields:
            form, kind = _FORMS[PRIMITIVES[code - FIRST_PRIMITIVE]]
            width = np.dtype(form).itemsize
            taken = (begin + place)[:, None] + np.arange(width)
            found = specials.content[taken].view(form)[:, 0]
            if kind is ValueKind.NAME:
                used, of = np.unique(found, return_inverse=True)
                known = [texts.setdefault(chr(one), len(texts)) for one in used]
                found = np.array(known, np.int64)[of]
            if kind is ValueKind.DOUBLE:
                with np.errstate(invalid="ignore"):  # a signalling NaN is a value, too
                    found = found.astype(np.float64).view(np.int64)
            number = names.setdefault(name, len(names))
            columns.append(
                (
                    rows,
                    np.full(len(at), number, np.int32),
                    np.full(len(at), kind, np.uint8),
                    found.astype(np.int64),
                )
            )
    if not columns:
        return None
    index, field, kind_of, bits = map(np.concatenate, zip(*columns, strict=True))
    order = np.argsort(index, kind="stable")
    return FieldValues(
        index[order], field[order], kind_of[order], bits[order],
        tuple(names), tuple(texts),
    )  # fmt: skip
