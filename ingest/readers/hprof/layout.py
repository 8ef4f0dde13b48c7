"""How the VM lays out objects, and so how many bytes each one takes.

HPROF does not record the sizes of objects: instances have the bytes of their fields
with references of the size of an id, arrays their length. But objects are named by
their addresses. A layout under which an object is larger than the gap to the next one
is wrong, and the right layout fills most gaps exactly. So each candidate is
tried on the gaps between neighbours, and the one with the fewest overlaps, then with
the most exact fits is chosen. Garbage between two objects that are dumped only makes
fits rarer.

Android writes the true size of instances into their classes.

Source: the sizes of headers and the placement of fields in HotSpot (``oopDesc``,
``arrayOopDesc``, ``FieldLayoutBuilder``), JEP 450 for compact headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.readers.hprof.classes import CLASS_ROW
from ingest.readers.hprof.records import FIRST_PRIMITIVE, PRIMITIVES, WIDTHS
from ingest.readers.shared.columns import MAX_SIZE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints, Longs
    from ingest.readers.hprof.classes import ClassTable, HeapClass

_SAMPLE_ROWS = 1 << 10
_SAMPLES = 16
_BLOCK_ROWS = 1 << 14
_LEAST_GAPS = 64
_LEAST_EXACT = 0.2
_MOST_OVERLAPS = 0.001
_LARGEST_COMPRESSED = 1 << 35
"""End of the addresses that 32-bit references reach, with objects at 8 bytes."""


class ObjectLayout(NamedTuple):
    """One way to lay out objects; sizes in bytes.

    Attributes:
        header: Of an instance.
        reference: Of a reference in a field or an array.
        length_at: Where the length of an array is.
        packs: Whether fields fill the gaps that superclasses leave (JDK 15 and later).
        element_at: Alignment of the first element of an array at least.
    """

    header: int
    reference: int
    length_at: int
    packs: bool = True
    element_at: int = 4

    def first_element(self, width: int) -> int:
        """Where the elements of an array begin."""
        return _aligned(self.length_at + 4, max(width, self.element_at))

    def __str__(self) -> str:
        return (
            f"object header {self.header}, array header "
            f"{self.first_element(self.reference)}, reference {self.reference} bytes"
        )


class Fit(NamedTuple):
    """The layout of a dump.

    Attributes:
        layout: The layout.
        alignment: Of objects, bytes.
        exact: Share of the gaps that it fills exactly; ``None`` if it is assumed
            because there are too few gaps, or none that fit.
    """

    layout: ObjectLayout
    alignment: int
    exact: float | None

    def __str__(self) -> str:
        how = "assumed" if self.exact is None else f"{self.exact:.1%} of gaps fit"
        return f"{self.layout}, alignment {self.alignment} bytes ({how})"


_COMPRESSED = ObjectLayout(12, 4, 12)
_UNCOMPRESSED = ObjectLayout(16, 8, 16, element_at=8)
_CANDIDATES_64 = (
    _COMPRESSED,
    _COMPRESSED._replace(packs=False),
    ObjectLayout(12, 8, 12),
    ObjectLayout(8, 4, 8),
    ObjectLayout(8, 8, 8),
    _UNCOMPRESSED,
    _UNCOMPRESSED._replace(packs=False),
    ObjectLayout(16, 8, 16),
)
_CANDIDATES_32 = (ObjectLayout(8, 4, 8, packs=False), ObjectLayout(8, 4, 8))


def _aligned(size: int, to: int) -> int:
    return -(-size // to) * to


class ShallowSizes:
    """The sizes of the objects of a dump.

    Args:
        table: The classes.
        id_size: 4 or 8 bytes.
        records_sizes: Whether the classes have the true sizes of instances.
    """

    def __init__(self, table: ClassTable, *, id_size: int, records_sizes: bool) -> None:
        self._table = table
        self._id_size = id_size
        self._records_sizes = records_sizes

    def fit(self, ids: Ids, class_row: Ints, length: Longs) -> Fit:
        """Choose the layout from the gaps between objects.

        Args:
            ids: uint64 (N,). Addresses.
            class_row: int32 (N,).
            length: int64 (N,). Of arrays; -1 for instances.
        """
        gap, row, items = _gaps(ids, class_row, length)
        alignment = 8
        if len(gap) >= _LEAST_GAPS:
            common = int(np.gcd.reduce(gap))
            alignment = max(8, min(256, common & -common))
        candidates = _CANDIDATES_64 if self._id_size == 8 else _CANDIDATES_32
        best: tuple[float, float] | None = None
        chosen = candidates[0]
        for layout in candidates if len(gap) >= _LEAST_GAPS else ():
            size = self._of(layout, alignment, row, items)
            overlaps = float((size > gap).mean())
            exact = float((size == gap).mean())
            overlaps = 0.0 if overlaps <= _MOST_OVERLAPS else overlaps
            if best is None or (-overlaps, exact) > best:
                best, chosen = (-overlaps, exact), layout
        if best is not None and best[0] == 0 and best[1] >= _LEAST_EXACT:
            return Fit(chosen, alignment, best[1])
        assumed = candidates[0]
        if self._id_size == 8 and len(ids) and int(ids.max()) >= _LARGEST_COMPRESSED:
            assumed = _UNCOMPRESSED
        return Fit(assumed, 8, None)

    def sizes(self, fit: Fit, class_row: Ints, length: Longs) -> Longs:
        """int64 (N,): the size of each object, bytes."""
        return self._of(fit.layout, fit.alignment, class_row, length)

    def class_object(self, fit: Fit, found: HeapClass) -> int:
        """The size of a class object, with its static fields, bytes."""
        mirror = self._table.of_row(CLASS_ROW)
        size = fit.layout.header
        if mirror is not None:
            size = self._instance(fit.layout, mirror)
        return _aligned(size + found.static_bytes, fit.alignment)

    def _of(
        self, layout: ObjectLayout, alignment: int, row: Ints, length: Longs
    ) -> Longs:
        rows = len(self._table.names())
        fixed = np.full(rows, layout.header, np.int64)
        for found in self._table.classes:
            fixed[found.row] = self._instance(layout, found)
        first = np.full(rows, layout.first_element(layout.reference), np.int64)
        width = np.full(rows, layout.reference, np.int64)
        for code in range(len(PRIMITIVES)):
            width[code] = WIDTHS[code]
            first[code] = layout.first_element(WIDTHS[code])
        sizes = np.empty(len(row), np.int64)
        for begin in range(0, len(row), _BLOCK_ROWS):  # small temporary arrays
            kinds = row[begin : begin + _BLOCK_ROWS]
            items = length[begin : begin + _BLOCK_ROWS]
            size = np.where(
                items < 0, fixed[kinds], first[kinds] + width[kinds] * items
            )
            size = (size + alignment - 1) & -alignment
            sizes[begin : begin + _BLOCK_ROWS] = np.minimum(size, MAX_SIZE_BYTES)
        return sizes

    def _instance(self, layout: ObjectLayout, found: HeapClass) -> int:
        """Bytes of an instance, not aligned."""
        if self._records_sizes and found.instance_bytes:
            return found.instance_bytes
        end, holes = layout.header, 0
        for one in reversed(self._table.chain(found)):
            widths = [self._width(layout, code) for code in one.codes]
            if not widths:
                continue
            if not layout.packs:
                end, holes = _aligned(end, layout.reference), 0
            largest = max(widths)
            small = sum(width for width in widths if width < largest)
            large = sum(widths) - small
            filled = min(holes // largest * largest, large)
            large, holes = large - filled, holes - filled
            filled = min(holes, small)
            small, holes = small - filled, holes - filled
            if not large + small:
                continue
            if gap := _aligned(end, largest) - end:
                filled = min(gap, small)
                small, holes = small - filled, holes + gap - filled
            end = _aligned(end, largest) + large + small
        return end

    def _width(self, layout: ObjectLayout, code: int) -> int:
        if code < FIRST_PRIMITIVE:
            return layout.reference
        return WIDTHS[code - FIRST_PRIMITIVE]


def _gaps(
    ids: Ids, class_row: Ints, length: Longs
) -> tuple[Longs, NDArray[np.int32], Longs]:
    """Gaps to the next object, of blocks of objects spread over the dump.

    Objects of a block are sorted by address. An object of another block between two of
    them makes the gap wider, never narrower.
    """
    count = len(ids)
    step = max(_SAMPLE_ROWS, -(-count // _SAMPLES))
    gaps, at = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin in range(0, count, step):
        block = ids[begin : begin + _SAMPLE_ROWS]
        order = np.argsort(block, kind="stable")
        gap = np.diff(block[order]).view(np.int64)
        usable = (gap > 0) & (class_row[begin + order[:-1]] != CLASS_ROW)
        gaps.append(gap[usable])
        at.append(begin + order[:-1][usable])
    rows = np.concatenate(at)
    return np.concatenate(gaps), class_row[rows], length[rows]
