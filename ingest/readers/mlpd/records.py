"""What a log records: heapshots, and the classes, regions and moves around them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.readers.mlpd.scan import (
    CLASS,
    KIND,
    MARKS,
    MOVES,
    OBJECTS,
    PAIRS,
    REGISTER,
    ROOTS,
    ROW_OF,
    TEXT,
    TEXT_END,
    UNREGISTER,
    VTABLE,
    WHEN,
    A,
    B,
    C,
    follow,
)
from ingest.readers.shared.columns import GrowingColumn

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Longs
    from ingest.readers.mlpd.scan import MonoBuffers

FOLLOWED = "id", "kind", "size_bytes"
"""Columns by which objects are followed; with the generation, those that are stored of
earlier heapshots."""
_MOST_ADDRESS = (1 << 64) - 1


@dataclass(slots=True, eq=False)
class Heapshot:
    """One heapshot.

    Attributes:
        number: Its number in the log.
        began_ns: When it began.
        ended_ns: When it ended; before that, the last time that there can be.
        offset: Where its buffer begins in the file.
        columns: Those columns of `MonoBuffers` that are stored.
        object_count: Objects so far; further pieces of an object have size 0.
        root_count: Records of roots so far.
    """

    number: int
    began_ns: int
    offset: int
    columns: dict[str, GrowingColumn]
    object_count: int = 0
    root_count: int = 0
    ended_ns: int = (1 << 63) - 1
    _arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def take(
        self, out: MonoBuffers, first: Longs, end: Longs, kinds: dict[int, int]
    ) -> None:
        """Add rows of a scan: objects, references and roots from first to end.

        Args:
            out: What the scan has found.
            first: Where the rows of each count begin.
            end: Where they end.
            kinds: Rows by vtable; new ones are added.
        """
        sizes = out.size_bytes[first[OBJECTS] : end[OBJECTS]]
        self.object_count += int(np.count_nonzero(sizes))
        self.root_count += int(end[ROOTS] - first[ROOTS])
        for name, column in self.columns.items():
            rows = ROW_OF[name]
            found = getattr(out, name)[first[rows] : end[rows]]
            if name == "kind":
                used, at = np.unique(found, return_inverse=True)
                row = [kinds.setdefault(one, len(kinds)) for one in used.tolist()]
                found = np.array(row, np.int32)[at]
            column.add(found)

    def array(self, name: str) -> NDArray[Any]:
        """A whole column; nothing is added to it any more."""
        if name not in self._arrays:
            self._arrays[name] = self.columns.pop(name).taken()
        return self._arrays[name]

    def pop(self, name: str) -> NDArray[Any]:
        """A whole column, which is forgotten."""
        self.array(name)
        return self._arrays.pop(name)

    def keep_only(self, names: Collection[str]) -> None:
        """Forget all columns but some."""
        self.columns = {
            name: column for name, column in self.columns.items() if name in names
        }

    def merge(self) -> None:
        """Join the pieces of each object that is recorded in several.

        The pieces follow one another: the first has the size, and each has some of the
        references. A second call changes nothing.
        """
        ids, size = self.array("id"), self.array("size_bytes")
        if not len(ids):
            return
        goes_on = np.zeros(len(ids), np.bool_)
        goes_on[1:] = (size[1:] == 0) & (ids[1:] == ids[:-1])
        if not goes_on.any():
            return
        begins = np.flatnonzero(~goes_on)
        if "ref_count" in self.columns:
            count = np.add.reduceat(self.array("ref_count"), begins, dtype=np.int32)
            self._arrays["ref_count"] = count
        for name in (*FOLLOWED, "generation"):
            self._arrays[name] = self.array(name)[begins]

    def has(self, name: str) -> bool:
        """Whether a column is stored."""
        return name in self.columns or name in self._arrays

    @property
    def is_whole(self) -> bool:
        """Whether its end is there."""
        return self.ended_ns < (1 << 63) - 1


@dataclass(slots=True, eq=False)
class LogRecords:
    """All that a log has about its heap.

    Attributes:
        heapshots: In the order of their begins in the file.
        classes: Names, by address.
        vtables: Addresses of classes, by address.
        kinds: Rows of vtables, or classes, that objects name.
        has_moves: Whether it records moves.
        keeps_moves: Whether they are stored.
    """

    heapshots: list[Heapshot] = field(default_factory=list)
    classes: dict[int, str] = field(default_factory=dict)
    vtables: dict[int, int] = field(default_factory=dict)
    kinds: dict[int, int] = field(default_factory=dict)
    has_moves: bool = False
    keeps_moves: bool = False
    _regions: GrowingColumn = field(default_factory=lambda: GrowingColumn("i8"))
    _pairs: tuple[GrowingColumn, GrowingColumn] = field(
        default_factory=lambda: (GrowingColumn("u8"), GrowingColumn("u8"))
    )
    _moves: GrowingColumn = field(default_factory=lambda: GrowingColumn("i8"))
    _settled: tuple[Longs, Ids, Ids] | None = None
    _known: Longs | None = None
    _latest: Heapshot | None = None
    _numbers: dict[int, Longs] = field(default_factory=dict)
    _last: int = 0

    def take_marks(self, data: Bytes, out: MonoBuffers, counts: Longs) -> None:
        """Add the records that a scan has found outside of heapshots."""
        marks = out.marks[: counts[MARKS]]
        kind = marks[:, KIND]
        is_region = (kind == REGISTER) | (kind == UNREGISTER)
        self._regions.add(marks[is_region][:, [KIND, WHEN, A, B, C, TEXT]].ravel())
        for vtable, of in marks[kind == VTABLE][:, [A, B]].tolist():
            self.vtables[vtable & _MOST_ADDRESS] = of & _MOST_ADDRESS
        for at, begin, end in marks[kind == CLASS][:, [A, TEXT, TEXT_END]].tolist():
            name = data[begin:end].tobytes().decode("utf-8", "replace")
            self.classes[at & _MOST_ADDRESS] = name
        self.has_moves |= bool(counts[PAIRS])
        if self.keeps_moves:
            self._moves.add(marks[kind == MOVES][:, [WHEN, A]].ravel())
            for column, rows in zip(self._pairs, (out.old, out.new), strict=True):
                column.add(rows[: counts[PAIRS]])

    def class_of(self, address: int) -> int:
        """The class of a vtable, or of itself."""
        return self.vtables.get(address, address)

    def regions(self) -> Longs:
        """int64 (R, 6): kind of mark, time, start, size, source and owner of each."""
        if self._known is None:
            self._known = self._regions.taken().reshape(-1, 6)
        return self._known

    def _sorted_moves(self) -> tuple[Longs, Ids, Ids]:
        """When each object moved, in this order, and its old and new address."""
        if self._settled is None:
            moves = self._moves.taken().reshape(-1, 2)
            when = np.repeat(moves[:, 0], moves[:, 1])
            old, new = (column.taken() for column in self._pairs)
            if (when[1:] < when[:-1]).any():
                order = np.argsort(when, kind="stable")
                when, old, new = when[order], old[order], new[order]
            self._settled = when, old, new
        return self._settled

    def numbers_of(self, shot: Heapshot) -> Longs:
        """int64: the number of each object of a heapshot, which are forgotten."""
        self.number_up_to(shot)
        return self._numbers.pop(shot.number)

    def number_up_to(self, wanted: Heapshot) -> None:
        """Number the objects of a heapshot, and before those of all earlier ones."""
        if wanted.number in self._numbers:
            return
        shots = sorted(self.heapshots, key=lambda one: (one.began_ns, one.number))
        for shot in shots[: shots.index(wanted) + 1]:
            # One that is earlier, but later in the file, may not be stored.
            if shot.has("id") and shot.number not in self._numbers:
                self._number(shot)

    def _number(self, shot: Heapshot) -> None:
        """Number the objects of a heapshot after all earlier ones."""
        when, old, new = self._sorted_moves()
        shot.merge()
        then = self._latest
        first, end = np.searchsorted(
            when, (0 if then is None else then.began_ns, shot.ended_ns), "right"
        ).tolist()
        ids, kind, size = (shot.array(name) for name in FOLLOWED)
        if then is None:
            first, known = end, np.empty(0, np.int64)
            then_id, then_kind, then_size = ids[:0], kind[:0], size[:0]
        else:
            then_id, then_kind, then_size = (then.array(name) for name in FOLLOWED)
            known = self._numbers[then.number]
        found = np.zeros(len(ids), np.int64)
        rows = 2 * (len(known) + 2 * (end - first) + 1)
        slots = 1 << max(rows.bit_length(), 4)
        self._last = follow(
            then_id, then_kind, then_size, known, old[first:end], new[first:end], ids,
            kind, size, shot.array("generation"), self._last,
            np.empty(slots, np.int64), np.empty(slots, np.uint64), found,
        )  # fmt: skip
        self._numbers[shot.number] = found
        if then is not None and not then.has("ref_id"):
            for name in (*FOLLOWED, "generation"):
                then.pop(name)
            del self._numbers[then.number]
        self._latest = shot
