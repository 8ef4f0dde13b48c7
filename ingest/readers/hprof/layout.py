"""The VM's layout of objects, and so the bytes that each one takes.

HPROF does not record the sizes of objects: instances have the bytes of their fields,
with references of the size of an id, and arrays their length. But their ids are their
addresses. A layout under which an object is larger than the gap to the next object is
wrong, and the right layout fills most gaps exactly. So each candidate is tried on the
gaps between neighbours. Garbage between two objects only makes fits rarer, and a VM
adds fields to a few of its classes. So each class has one vote, however many objects it
has: the share of its gaps that fit exactly, minus the share of gaps that are too small.

Android writes the true size of instances into their classes.

Source: the sizes of headers and the placement of fields in HotSpot (``oopDesc``,
``arrayOopDesc``, ``FieldLayoutBuilder``), JEP 450 for compact headers.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.hprof.classes import CLASS_ROW
from ingest.readers.hprof.records import FIRST_PRIMITIVE, PRIMITIVES, WIDTHS
from ingest.readers.shared.columns import MAX_SIZE_BYTES, GrowingColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.read_options import LayoutOption
    from ingest.readers.hprof.classes import ClassTable

    Size = TypeVar("Size", int, Longs)

_SAMPLE_ROWS = 1 << 10
_SAMPLES = 16
_BLOCK_ROWS = 1 << 18
_LEAST_GAPS = 64
_LEAST_OF_CLASS = 8
"""A class with this many gaps has a whole vote."""
_LEAST_VOTE = 0.2
"""With at least this vote, a layout is accepted."""
_LEAST_CERTAIN = 0.5
"""With at least this vote a layout is certain; those of real dumps get 0.6 to 0.99."""
_SHOWN = 4
"""The most candidates that are shown."""
_LARGEST_COMPRESSED = 1 << 35
"""End of the addresses that 32-bit references reach, with objects at 8 bytes."""


_METASPACE, _PACKED, _LOOM, _NO_CONTEXT = "metaspace", "packed", "loom", "no context"
"""Marks of a JDK: metadata is outside the heap (8 and later), fields fill gaps (15 and
later), threads have a holder of fields (19 and later), call sites have no object for
their context (25 and later)."""

_HIDDEN_FIELDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "java.lang.Class": (
        ("klass", "word", ""), ("array_klass", "word", ""), ("oop_size", "4", ""),
        ("static_oop_field_count", "4", ""), ("protectionDomain", "reference", ""),
        ("signers", "reference", ""), ("source_file", "reference", ""),
        ("init_lock", "reference", _LOOM),
    ),
    "java.lang.ClassLoader": (("loader_data", "word", _METASPACE),),
    "java.lang.InternalError": (("during_unsafe_access", "1", ""),),
    "java.lang.Module": (("module_entry", "word", ""),),
    "java.lang.Thread": (
        ("jvmti_thread_state", "word", _LOOM), ("jfr_epoch", "2", _LOOM),
        ("jvmti_VTMS_transition_disable_count", "4", _LOOM),
        ("jvmti_is_in_VTMS_transition", "1", _LOOM),
    ),
    "java.lang.invoke.CallSite": (
        ("vmdependencies", "word", _NO_CONTEXT), ("last_cleanup", "8", _NO_CONTEXT),
    ),
    "java.lang.invoke.MemberName": (("vmindex", "word", ""),),
    "java.lang.invoke.MethodHandleNatives$CallSiteContext": (
        ("vmdependencies", "word", ""), ("last_cleanup", "8", _PACKED),
    ),
    "java.lang.invoke.ResolvedMethodName": (
        ("vmtarget", "word", ""), ("vmholder", "reference", ""),
    ),
}  # fmt: skip
"""Fields that HotSpot adds to classes but does not dump: name, width, and the mark of
the JDK that has them. A later JDK may declare them, and so dump them."""

_TELLING = ("java.lang.Class", "java.lang.Thread", "java.lang.invoke.CallSite")
"""Classes whose fields show the version of the JDK."""

_CONTENDED = frozenset(
    {
        "threadLocalRandomSeed",
        "threadLocalRandomProbe",
        "threadLocalRandomSecondarySeed",
    }
)
"""Fields of a thread that JDKs before Loom separate from others by padding."""
_PADDING = 128


class ObjectLayout(NamedTuple):
    """One way to lay out objects; sizes in bytes.

    Attributes:
        header: Header of an instance.
        reference: Size of a reference in a field or an array.
        length_at: Offset of the length of an array.
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


class Candidate(NamedTuple):
    """How well a layout explains the gaps behind objects, each class counted once.

    Attributes:
        layout: The layout.
        exact: Share of the gaps that it fills exactly.
        overlaps: Share of the gaps that are too small for it.
    """

    layout: ObjectLayout
    exact: float
    overlaps: float

    @property
    def vote(self) -> float:
        """Share of exact gaps minus share of too small gaps; at most 1."""
        return self.exact - self.overlaps

    @property
    def how(self) -> str:
        """How it was found, in words."""
        fits = "fits" if self.vote >= _LEAST_CERTAIN else "uncertain: fits only"
        return f"{fits} {self.exact:.1%} of the gaps between objects"

    def __str__(self) -> str:
        packs = "" if self.layout.packs else ", fields before JDK 15"
        return (
            f"{self.layout}{packs}: fits {self.exact:.1%} of the gaps between "
            f"objects; {self.overlaps:.1%} are too small for it"
        )


class Fit(NamedTuple):
    """The layout of a dump.

    Attributes:
        layout: The layout.
        alignment: Alignment of objects, bytes.
        how: How it was found, in words.
        candidates: All layouts that were tried, the best first.
        is_certain: Whether the gaps between objects leave no doubt.
    """

    layout: ObjectLayout
    alignment: int
    how: str
    candidates: tuple[Candidate, ...] = ()
    is_certain: bool = False

    def __str__(self) -> str:
        return f"{self.layout}, alignment {self.alignment} bytes ({self.how})"

    @property
    def notes(self) -> tuple[str, ...]:
        """How well each layout fits the classes; empty if there is no doubt."""
        if self.is_certain:
            return ()
        shown = dict.fromkeys(f"layout tried: {one}" for one in self.candidates)
        return tuple(shown)[:_SHOWN]


_COMPRESSED = ObjectLayout(12, 4, 12)
_UNCOMPRESSED = ObjectLayout(16, 8, 16, element_at=8)
_CANDIDATES_64 = (
    _COMPRESSED,
    _COMPRESSED._replace(packs=False),
    ObjectLayout(12, 8, 12),
    ObjectLayout(16, 4, 16),
    ObjectLayout(16, 4, 16, element_at=8),
    ObjectLayout(16, 4, 16, packs=False, element_at=8),
    ObjectLayout(8, 4, 8),
    ObjectLayout(8, 8, 8),
    _UNCOMPRESSED,
    _UNCOMPRESSED._replace(packs=False),
    ObjectLayout(16, 8, 16),
)
_CANDIDATES_32 = (ObjectLayout(8, 4, 8, packs=False), ObjectLayout(8, 4, 8))


def _aligned(size: Size, to: int) -> Size:
    return -(-size // to) * to


def _is_like(layout: ObjectLayout, given: LayoutOption) -> bool:
    array = layout.first_element(layout.reference)
    return given[:3] == (layout.header, layout.reference, array)


def _is_tie(tried: list[Candidate]) -> bool:
    """Whether two layouts fit the gaps equally well, as if all gaps are equal."""
    best = {
        (one.layout.header, one.layout.reference)
        for one in tried
        if one.vote == tried[0].vote
    }
    return len(best) > 1


def _made(given: LayoutOption) -> ObjectLayout:
    return ObjectLayout(given.header, given.reference, given.array - 4)


@kernel
def _mark_used(row: Ints, used: Bools) -> None:
    """Set ``used``, bool (C,), at each class in ``row``, int32 (N,)."""
    for one in row:
        used[one] = True


@kernel
def _fill_sizes(
    fixed: Longs,
    first: Longs,
    width: Longs,
    alignment: int,
    row: Ints,
    length: Longs,
    sizes: Longs,
) -> None:
    """Fill ``sizes`` for objects with these classes and lengths."""
    for i in range(len(row)):
        kind = row[i]
        size = fixed[kind]
        if length[i] >= 0:
            size = first[kind] + width[kind] * length[i]
        sizes[i] = min((size + alignment - 1) & -alignment, MAX_SIZE_BYTES)


class ShallowSizes:
    """The sizes of the objects of a dump.

    Args:
        table: The classes.
        id_size: 4 or 8 bytes.
        records_sizes: Whether class records have the true sizes of instances.
        given: The layout that the user gives.
    """

    def __init__(
        self,
        table: ClassTable,
        *,
        id_size: int,
        records_sizes: bool,
        given: LayoutOption | None = None,
    ) -> None:
        self._given = given
        self._ends: dict[ObjectLayout, dict[int, tuple[int, int]]] = {}
        self._table = table
        self._id_size = id_size
        self._records_sizes = records_sizes

    def fit(self, ids: Ids, class_row: Ints, length: Longs) -> Fit:
        """Choose the layout from the gaps between objects.

        Args:
            ids: uint64 (N,). Addresses.
            class_row: int32 (N,).
            length: int64 (N,). Length of arrays; -1 for instances.
        """
        gap, row, items = _gaps(ids, class_row, length)
        alignment = 8
        if self._given is not None and self._given.alignment:
            alignment = self._given.alignment
        elif len(gap) >= _LEAST_GAPS:
            common = int(np.gcd.reduce(gap))
            alignment = max(8, min(256, common & -common))
        layouts = _CANDIDATES_64 if self._id_size == 8 else _CANDIDATES_32
        tried = [
            self._judged(layout, alignment, gap, row, items)
            for layout in (layouts if len(gap) >= _LEAST_GAPS else ())
        ]
        tried.sort(key=lambda one: -one.vote)
        candidates = tuple(tried)
        if self._given is not None:
            return self._as_given(self._given, alignment, candidates, (gap, row, items))
        if tried and tried[0].vote >= _LEAST_VOTE and not _is_tie(tried):
            is_certain = tried[0].vote >= _LEAST_CERTAIN
            return Fit(tried[0].layout, alignment, tried[0].how, candidates, is_certain)
        assumed = layouts[0]
        if self._id_size == 8 and len(ids) and int(ids.max()) >= _LARGEST_COMPRESSED:
            assumed = _UNCOMPRESSED
        how = "assumed"
        if tried and tried[0].vote >= _LEAST_VOTE:
            how = "assumed: several layouts fit equally well"
        return Fit(assumed, 8, how, candidates)

    def _judged(
        self,
        layout: ObjectLayout,
        alignment: int,
        gap: Longs,
        row: NDArray[np.int32],
        items: Longs,
    ) -> Candidate:
        """How well a layout explains these gaps, class by class."""
        size = self._of(layout, alignment, row, items)
        count = np.bincount(row)
        exact = np.bincount(row, size == gap) / np.maximum(count, 1)
        overlaps = np.bincount(row, size > gap) / np.maximum(count, 1)
        votes = np.minimum(count, _LEAST_OF_CLASS)
        return Candidate(
            layout,
            float(np.average(exact, weights=votes)),
            float(np.average(overlaps, weights=votes)),
        )

    def _as_given(
        self,
        given: LayoutOption,
        alignment: int,
        tried: tuple[Candidate, ...],
        gaps: tuple[Longs, NDArray[np.int32], Longs],
    ) -> Fit:
        """The layout that the user gives, and how well it fits."""
        matching = [one for one in tried if _is_like(one.layout, given)]
        layout = matching[0].layout if matching else _made(given)
        if not tried:
            return Fit(layout, alignment, "as given")
        own = matching[0] if matching else self._judged(layout, alignment, *gaps)
        others = (one for one in tried if one is not own)
        how = f"as given, fits {own.exact:.1%} of the gaps between objects"
        return Fit(layout, alignment, how, (own, *others))

    def sizes(
        self, fit: Fit, class_row: Ints, length: Longs, mirrors: Ints, spill: str
    ) -> Longs:
        """int64 (N + C,): the size of each object, then of class objects, bytes.

        Args:
            fit: The layout.
            class_row: int32 (N,).
            length: int64 (N,). Length of arrays; -1 for instances.
            mirrors: int32 (C,). The classes of further class objects.
            spill: Folder for the column; see `GrowingColumn`.
        """
        used = np.zeros(len(self._table.names()), np.bool_)
        _mark_used(class_row, used)
        rows = self._rows_sizes(fit.layout, np.flatnonzero(used))
        found = GrowingColumn(np.dtype(np.int64), spill)
        block = np.empty(_BLOCK_ROWS, np.int64)
        for begin in range(0, len(class_row), _BLOCK_ROWS):
            part = slice(begin, begin + _BLOCK_ROWS)
            kinds = class_row[part]
            size = block[: len(kinds)]
            _fill_sizes(*rows, fit.alignment, kinds, length[part], size)
            found.add(size)
        found.add(self._class_objects(fit, mirrors))
        return found.taken()

    def _class_objects(self, fit: Fit, rows: Ints) -> Longs:
        """int64: the sizes of the objects of recorded classes, with static fields."""
        layout, alignment = fit.layout, fit.alignment
        size = layout.header
        if self._table.is_class(CLASS_ROW):
            size = self._instance(layout, CLASS_ROW)
        references, statics = self._table.static_sizes(rows)
        width = layout.reference
        statics = np.where(
            references > 0, _aligned(statics, width) + references * width, statics
        )
        return _aligned(_aligned(size, alignment) + statics, alignment)

    def _of(
        self, layout: ObjectLayout, alignment: int, row: Ints, length: Longs
    ) -> Longs:
        """int64: the sizes of some objects, bytes."""
        sizes = np.empty(len(row), np.int64)
        rows = self._rows_sizes(layout, np.unique(row))
        _fill_sizes(*rows, alignment, row, length, sizes)
        return sizes

    def _rows_sizes(
        self, layout: ObjectLayout, used: NDArray[Any]
    ) -> tuple[Longs, Longs, Longs]:
        """For each class: bytes of an instance, offset and bytes of elements.

        Instances of classes that are not in ``used`` are as large as their header.
        """
        rows = len(self._table.names())
        fixed = np.full(rows, layout.header, np.int64)
        for row in used.tolist():
            if self._table.is_class(row):
                fixed[row] = self._instance(layout, row)
        first = np.full(rows, layout.first_element(layout.reference), np.int64)
        width = np.full(rows, layout.reference, np.int64)
        for code in range(len(PRIMITIVES)):
            width[code] = WIDTHS[code]
            first[code] = layout.first_element(WIDTHS[code])
        return fixed, first, width

    def _instance(self, layout: ObjectLayout, row: int) -> int:
        """Bytes of an instance, not aligned."""
        if self._records_sizes and (recorded := self._table.instance_bytes(row)):
            return recorded
        ends = self._ends.setdefault(layout, {})
        waiting = []
        for one in self._table.chain(row):
            if one in ends:
                break
            waiting.append(one)
        for one in reversed(waiting):
            above = int(self._table.columns.parent[one])
            ends[one] = self._extended(
                layout, one, *ends.get(above, (layout.header, 0))
            )
        return ends[row][0]

    def _extended(
        self, layout: ObjectLayout, row: int, end: int, holes: int
    ) -> tuple[int, int]:
        """The end of a class's fields, and the gaps before it.

        Args:
            layout: The layout.
            row: The class.
            end: The end of its superclass's fields.
            holes: The gaps of its superclass.
        """
        fields = self._table.fields(row)
        widths, apart = self._hidden(layout, row, {name for name, _ in fields}), 0
        for name, code in fields:
            if name in _CONTENDED and _LOOM not in self._marks:
                apart += self._width(layout, code)
            else:
                widths.append(self._width(layout, code))
        if not widths:
            return end, holes
        if not layout.packs:
            end, holes = _aligned(end, layout.reference), 0
        largest = max(widths)
        small = sum(width for width in widths if width < largest)
        large = sum(widths) - small
        filled = min(holes // largest * largest, large)
        large, holes = large - filled, holes - filled
        filled = min(holes, small)
        small, holes = small - filled, holes - filled
        if large + small:
            if gap := _aligned(end, largest) - end:
                filled = min(gap, small)
                small, holes = small - filled, holes + gap - filled
            end = _aligned(end, largest) + large + small
        if apart:
            end, holes = _aligned(end + _PADDING, 8) + apart + _PADDING, 0
        return end, holes

    def _hidden(self, layout: ObjectLayout, row: int, declared: set[str]) -> list[int]:
        """Widths of the fields that HotSpot adds to a class."""
        if self._records_sizes:
            return []
        widths = {"word": self._id_size, "reference": layout.reference}
        hidden = _HIDDEN_FIELDS.get(self._table.names()[row], ())
        marks = self._marks | ({_PACKED} if layout.packs else set())
        return [
            widths.get(kind) or int(kind)
            for name, kind, mark in hidden
            if name not in declared and (not mark or mark in marks)
        ]

    @cached_property
    def _marks(self) -> set[str]:
        """The marks of the JDK that its classes show."""
        fields = {
            name: [field for field, _ in self._table.fields(row)]
            for row, name in enumerate(self._table.names())
            if name in _TELLING
        }
        marks = set()
        if "annotations" not in fields.get("java.lang.Class", ()):  # until JDK 7
            marks.add(_METASPACE)
        if "holder" in fields.get("java.lang.Thread", ()):
            marks.add(_LOOM)
        if "context" not in fields.get("java.lang.invoke.CallSite", ("context",)):
            marks.add(_NO_CONTEXT)
        return marks

    def _width(self, layout: ObjectLayout, code: int) -> int:
        if code < FIRST_PRIMITIVE:
            return layout.reference
        return WIDTHS[code - FIRST_PRIMITIVE]


def _gaps(
    ids: Ids, class_row: Ints, length: Longs
) -> tuple[Longs, NDArray[np.int32], Longs]:
    """Gaps to the next object, in blocks of objects spread over the dump.

    Objects of a block are sorted by address. An object of another block that lies
    between two of them only makes the gap wider.
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
