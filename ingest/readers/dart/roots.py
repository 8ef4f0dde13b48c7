"""The roots of a Dart snapshot: the references of its pseudo objects."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_FIELD, NO_TYPE, RootKind
from ingest.readers.shared.columns import RootColumns
from ingest.words.text import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.readers.dart.classes import SnapshotClasses, SnapshotObjects


_MOST_DIGITS = 19


class SnapshotRoots:
    """The roots recorded by the pseudo objects of a snapshot."""

    def __init__(
        self, classes: SnapshotClasses, objects: SnapshotObjects, isolate: str
    ) -> None:
        self._classes = classes
        self._objects = objects
        self._isolate = isolate
        self._columns: list[tuple[NDArray[np.int32], ...]] = []
        self._owners: list[str] = []

    def add(
        self,
        targets: NDArray[np.int32],
        kind: RootKind,
        *,
        fields: NDArray[np.int32] | None = None,
        types: NDArray[np.int32] | None = None,
        owner: int = -1,
    ) -> None:
        """Add a root for each of ``targets``, ids of objects."""
        many = len(targets)
        self._columns.append(
            (
                targets,
                np.full(many, kind, np.int32),
                np.full(many, NO_FIELD, np.int32) if fields is None else fields,
                np.full(many, NO_TYPE, np.int32) if types is None else types,
                np.full(many, owner, np.int32),
            )
        )

    @property
    def owners(self) -> tuple[str, ...]:
        """Names of the isolates that have roots of their own."""
        return tuple(self._owners)

    def columns(self) -> RootColumns:
        """All roots."""
        ids, kind, fields, types, owner = (
            np.concatenate(column) for column in zip(*self._columns, strict=True)
        )
        return RootColumns(
            id=ids,
            kind=kind.astype(np.uint8),
            flags=np.zeros(len(ids), np.uint8),
            field=fields,
            type=types,
            owner=owner,
        )

    def unfold(self, pseudo: NDArray[np.int64]) -> None:
        """Make roots of the references of pseudo objects, the first being the root."""
        isolates = pseudo[1:]
        ports = self._objects.values.pick(isolates)
        for row in pseudo.tolist():
            begin, end = self._objects.ref_start[row : row + 2]
            ids = self._objects.ref_id[begin:end]
            place = np.flatnonzero(ids > 0)
            targets = ids[place]
            if row == 0:
                self.add(targets, RootKind.INTERNAL)
                continue
            owner = len(self._owners)
            port = ports[owner]
            self._owners.append(
                self._isolate if len(isolates) == 1 else f"isolate {port}"
            )
            self._add_isolate(targets, place, owner)

    def _add_isolate(
        self, targets: NDArray[np.int32], place: NDArray[np.int64], owner: int
    ) -> None:
        static_field, static_type = self._statics
        static = place < len(static_field)
        self.add(
            targets[static],
            RootKind.STATIC,
            fields=static_field[place[static]],
            types=static_type[place[static]],
            owner=owner,
        )
        self.add(targets[~static], RootKind.OTHER, owner=owner)

    @cached_property
    def _statics(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """int32, twice: field and type of each static's place in an isolate.

        The class ``Isolate`` has the fields' names. The VM's ``Field`` object with that
        name and the place as its id records the class that declares the field. A
        top-level variable gets its library as a prefix.
        """
        classes = self._classes
        isolate = classes.internal("Isolate")
        begin, end = classes.first_slot[isolate], classes.first_slot[isolate + 1]
        fields = np.array(classes.slot_field[begin:end], np.int32)
        types = np.full(len(fields), NO_TYPE, np.int32)
        names = list(classes.field_names)
        known = {
            (names[row], place): place
            for place, row in enumerate(fields.tolist())
            if row >= 0
        }
        owners: dict[int, set[int]] = {}
        for name, place, owner in self._static_fields():
            if (name, place) in known:
                owners.setdefault(place, set()).add(owner)
        by_name = {
            key: row
            for row, key in enumerate(
                zip(classes.names, classes.libraries, strict=True)
            )
        }
        for place, found in owners.items():
            if len(found) != 1:
                continue
            name, library = self._class_named(found.pop())
            if (name, library) in by_name:
                types[place] = by_name[(name, library)]
            elif library:  # a top-level variable
                text = f"{library}::{names[fields[place]]}"
                known_names = classes.field_names
                fields[place] = known_names.setdefault(text, len(known_names))
        return fields, types

    def _static_fields(self) -> Iterator[tuple[str | None, int, int]]:
        """Name, id and owner's row of the VM's field objects."""
        classes, objects = self._classes, self._objects
        kind = classes.internal("Field")
        if kind < 0:
            return
        owner = classes.place(kind, "owner")
        number = classes.place(kind, "host_offset_or_field_id")
        rows = np.flatnonzero(objects.class_index == kind)
        names = objects.values.pick(rows)
        numbers = np.array([objects.referred(row, number) for row in rows.tolist()])
        ids = objects.values.pick(numbers.astype(np.int64))
        for row, name, text in zip(rows.tolist(), names, ids, strict=True):
            place = whole_number(text or "", _MOST_DIGITS)
            if place is not None:
                yield name, place, objects.referred(row, owner)

    def _class_named(self, row: int) -> tuple[str, str]:
        """Name and library of the class that a VM class object represents."""
        classes, objects = self._classes, self._objects

        def follow(row: int, name: str) -> int:
            if row < 0:
                return -1
            place = classes.place(int(objects.class_index[row]), name)
            return objects.referred(row, place)

        patched = follow(row, "wrapped_class")
        row = patched if patched >= 0 else row
        library = follow(follow(row, "library"), "url")
        name, url = objects.values.pick(np.array([row, library], np.int64))
        return name or "", url or ""
