"""The classes and objects of a Dart snapshot, as recorded in the file."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_FIELD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.values import ExternalMemory, ObjectValues

_WEAK_FIELDS = {
    ("_WeakReference", "target"),
    ("_WeakProperty", "key"),
    ("FinalizerEntry", "value"),
    ("FinalizerEntry", "detach"),
    ("FinalizerEntry", "finalizer"),
}
_WEAK_ELEMENTS = {"WeakArray"}


@dataclass(slots=True)
class SnapshotClasses:
    """The classes of a snapshot; a row is a class id less 1.

    Attributes:
        names: Simple names; empty for a hole in the VM's own table.
        libraries: Their libraries' addresses; empty for the VM's own classes.
        first_slot: Start of each class's places in ``slot_field``.
        slot_field: For each declared place of a reference the row of
            ``field_names``, or `NO_FIELD`.
        field_names: Each name once.
    """

    names: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    first_slot: list[int] = field(default_factory=lambda: [0])
    slot_field: array[int] = field(default_factory=lambda: array("i"))
    field_names: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, library: str, slots: dict[int, str]) -> None:
        """Add the next class, its fields by their places."""
        self.names.append(name)
        self.libraries.append(library)
        first = len(self.slot_field)
        places = max(slots, default=-1) + 1
        self.slot_field.extend(array("i", [NO_FIELD]) * places)
        for slot, text in slots.items():
            if text:
                row = self.field_names.setdefault(text, len(self.field_names))
                self.slot_field[first + slot] = row
        self.first_slot.append(len(self.slot_field))

    def of_runtime(self, name: str) -> list[int]:
        """Rows of the VM's or the core libraries' classes of that name."""
        return [
            row
            for row, known in enumerate(self.names)
            if known == name and self.libraries[row].partition(":")[0] in ("", "dart")
        ]

    def internal(self, name: str) -> int:
        """The VM's own class of that name; -1 if it has none."""
        return next((r for r in self.of_runtime(name) if not self.libraries[r]), -1)

    def place(self, row: int, name: str) -> int:
        """The place of a field in a class; -1 if it has none.

        The VM writes its own fields with an underscore after the name.
        """
        wanted = {self.field_names.get(text, -1) for text in (name, f"{name}_")} - {-1}
        begin, end = self.first_slot[row], self.first_slot[row + 1]
        slots = self.slot_field[begin:end]
        return next((at for at, known in enumerate(slots) if known in wanted), -1)

    def signed_integers(self) -> NDArray[np.bool_]:
        """Bool (C,): classes whose integers are signed, unlike small integers."""
        signed = np.ones(len(self.names), np.bool_)
        signed[self.of_runtime("_Smi")] = False
        return signed

    def type_names(self) -> tuple[str, ...]:
        """Names after their library, as ``dart:core::_List``."""
        return tuple(
            f"{library}::{name}" if library else name or f"<class {row + 1}>"
            for row, (name, library) in enumerate(
                zip(self.names, self.libraries, strict=True)
            )
        )

    def weak_slots(self) -> NDArray[np.bool_]:
        """Bool: which declared places hold weak references."""
        weak = np.zeros(len(self.slot_field), np.bool_)
        for name, known in _WEAK_FIELDS:
            for row in self.of_runtime(name):
                if (place := self.place(row, known)) >= 0:
                    weak[self.first_slot[row] + place] = True
        return weak

    def weak_elements(self) -> NDArray[np.bool_]:
        """Bool (C,): classes whose elements are weak."""
        weak = np.zeros(len(self.names), np.bool_)
        for name in _WEAK_ELEMENTS:
            weak[self.of_runtime(name)] = True
        return weak


@dataclass(slots=True, eq=False)
class SnapshotObjects:
    """The objects of a snapshot as recorded; a row is an id less 1.

    Attributes:
        class_index: int32 (N,). Row of the classes.
        size_bytes: int64 (N,).
        length: int64 (N,); -1 if none is recorded.
        ref_start: int64 (N + 1,).
        ref_id: int32 (E,). Ids; 0 for null.
        values: Small integers as machine words.
        claimed_count: Number of objects according to the file.
        external: Memory outside the heap, if any.
        identity_hash: int64 (N,), if the file has them.
    """

    class_index: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    length: NDArray[np.int64]
    ref_start: NDArray[np.int64]
    ref_id: NDArray[np.int32]
    values: ObjectValues
    claimed_count: int
    external: ExternalMemory | None = None
    identity_hash: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """N."""
        return len(self.class_index)

    def ref_counts(self) -> NDArray[np.int32]:
        """int32 (N,): references of each object."""
        counts = np.empty(self.count, np.int32)
        starts = self.ref_start
        np.subtract(starts[1:], starts[:-1], out=counts, casting="unsafe")
        return counts

    def discard(self) -> None:
        """Free all columns."""
        self.class_index = self.ref_id = np.empty(0, np.int32)
        self.size_bytes = self.length = self.ref_start = np.empty(0, np.int64)
        self.identity_hash = None

    def referred(self, row: int, place: int) -> int:
        """The row that an object refers to from a place; -1 for none."""
        if row < 0 or place < 0:
            return -1
        at = int(self.ref_start[row]) + place
        if at >= self.ref_start[row + 1]:
            return -1
        target = int(self.ref_id[at]) - 1
        return target if target < self.count else -1
