"""Classes of a Ruby heap: which type each object is of, and what classes are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.readers.ruby.scan import OF_IMEMO, OF_STRUCT, OF_TYPE, TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ids, Longs
    from ingest.readers.ruby.records import RubyRecords
    from ingest.readers.shared.irregularities import IrregularityCounter

_OF_CLASSES = {"CLASS": "Class", "MODULE": "Module"}
_MOST_ANCESTORS = 10_000
_BLOCK = "Proc"
_OF_NO_CLASS = ("Object", "BasicObject", "(data)")
"""Types of objects of code in C of which only their struct says what they are."""


class RubyClasses:
    """The classes, modules and iclasses of a dump.

    Args:
        records: What the file records.
        start: int64 (N + 1,). Where the references of each object begin.

    Attributes:
        row: Row of each class.
        kind: Its type, one of ``CLASS``, ``MODULE`` and ``ICLASS``.
        superclass: Addresses; 0 for none.
        is_singleton: Whether each is the class of one object.
        attached: The address of that object, by the row of the class, where it is a
            class too.
    """

    def __init__(self, records: RubyRecords, start: Longs) -> None:
        columns = records.columns
        self._texts = records.texts
        rows = columns["class_row"]
        ids, ref_id, field = columns["id"], columns["ref_id"], columns["ref_field"]
        self.row: list[int] = rows.tolist()
        self._keys = records.type_keys
        self.kind = [
            TYPES[self._keys[at] - OF_TYPE] for at in columns["type_id"][rows].tolist()
        ]
        self.superclass: list[int] = columns.pop("superclass").tolist()
        self.is_singleton: list[bool] = columns.pop("singleton").astype(bool).tolist()
        self._name: list[int] = columns.pop("class_name").tolist()
        self._id: list[int] = ids[rows].tolist()
        self._at = {address: at for at, address in enumerate(self._id)}
        self.attached: dict[int, int] = {}
        self._blocks: list[int] = []
        for row, address in zip(self.row, self._id, strict=True):
            first = int(start[row])
            if first < start[row + 1] and field[first] == 0:
                at = self._at.get(int(ref_id[first]))
                if at is not None and self.is_singleton[at]:
                    self.attached.setdefault(self.row[at], address)
        self._instance_of: dict[int, str] = {}

    def name(self, at: int) -> str:
        """What Ruby calls a class: ``Shop::Order``, ``#<Class:0x7f00>``."""
        if self._name[at] >= 0:
            return self._texts[self._name[at]]
        word = "Class" if self.kind[at] == "CLASS" else "Module"
        return f"#<{word}:{self._id[at]:#x}>"

    def _real(self, address: int) -> int:
        """Where the class is that has no object of its own; -1 if it is not there."""
        for _ in range(_MOST_ANCESTORS):
            at = self._at.get(address, -1)
            if at < 0 or (self.kind[at] != "ICLASS" and not self.is_singleton[at]):
                return at
            address = self.superclass[at]
        return -1

    def type_rows(
        self, columns: dict[str, NDArray[Any]], counter: IrregularityCounter
    ) -> tuple[list[str], Ids]:
        """Replace the rows of classes in the columns by those of types.

        Returns:
            The names of the types, and uint64 the addresses of their classes.
        """
        rows: dict[int, int] = {}
        names: list[str] = []

        def row(key: int, name: str) -> int:
            if key not in rows:
                rows[key] = len(names)
                names.append(name)
            return rows[key]

        row_of = np.empty(len(self._keys), np.int32)
        is_absent = np.zeros(len(self._keys), np.bool_)
        for i, key in enumerate(self._keys):
            if key >= OF_TYPE:
                row_of[i] = row(key, self._internal(key))
                continue
            at = self._real(key)
            is_absent[i] = at < 0
            name = f"<type {key:#x}>" if at < 0 else self.name(at)
            row_of[i] = row(key if at < 0 else self._id[at], name)
            if key in self._at:
                self._instance_of[self.row[self._at[key]]] = name
        own = columns["type_id"]
        if is_absent.any():
            absent = np.flatnonzero(is_absent[own])
            counter.add_rows("undeclared_type", columns["line"], absent)
        columns["type_id"] = own = row_of[own]
        told = zip(
            columns.pop("data_row").tolist(),
            columns.pop("struct").tolist(),
            strict=True,
        )
        for data, struct in told:
            if names[own[data]] in _OF_NO_CLASS:
                text = self._texts[struct].lower()
                own[data] = row(OF_STRUCT + struct, f"(data {text})")
        self._blocks = [i for i, name in enumerate(names) if name == _BLOCK]
        return names, np.array(list(rows), np.uint64)

    def _internal(self, key: int) -> str:
        """The name of a type that has no class: ``(imemo ment)``, ``(array)``."""
        if key >= OF_IMEMO:
            return f"(imemo {self._texts[key - OF_IMEMO]})"
        text = self._texts[key - OF_TYPE]
        return _OF_CLASSES.get(text, f"({text.lower()})")

    def is_block(self, type_rows: NDArray[np.int32]) -> Bools:
        """Bool (N,): which objects are blocks, by the rows of their types."""
        return np.isin(type_rows, self._blocks)

    def singleton_names(self) -> dict[int, str]:
        """The names of singleton classes, by their rows: ``#<Class:Shop>``."""
        found: dict[int, str] = {}
        for at, row in enumerate(self.row):
            if not self.is_singleton[at] or self._name[at] >= 0:
                continue
            if row in self.attached:
                found[row] = f"#<Class:{self.name(self._at[self.attached[row]])}>"
            elif row in self._instance_of:
                found[row] = f"#<Class:#<{self._instance_of[row]}>>"
        return found
