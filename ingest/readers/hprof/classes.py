"""The classes of an HPROF file: their fields, superclasses and static fields."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel
from ingest.heap.graph import RefKind
from ingest.readers.hprof.names import java_name
from ingest.readers.hprof.records import (
    BITMAP,
    BOOL,
    CHAR,
    DESTROYED,
    DIRECT_BUFFER,
    FIRST_PRIMITIVE,
    FLOAT4,
    FLOAT8,
    PRIMITIVES,
    SIGNED,
    SIGNED_1,
    SIGNED_2,
    SIGNED_4,
    TEXT,
    THREAD,
    WIDTHS,
    ClassColumns,
    class_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.compiled import Ids, Ints
    from ingest.readers.hprof.names import NameTable
    from ingest.readers.shared.irregularities import IrregularityCounter

CLASS_ROW = len(PRIMITIVES)
"""Row of ``java.lang.Class``, after the arrays of primitive types."""
_RESERVED = (*(f"{name}[]" for name in PRIMITIVES), "java.lang.Class")

_LONGEST_CHAIN = 1000
"""More superclasses than any program has."""

_COUNT, _CONSTANT = Struct(">H"), Struct(">HB")

_REFERENCE = "java.lang.ref.Reference"
_REFERENT_KINDS = {
    "java.lang.ref.SoftReference": RefKind.SOFT,
    "java.lang.ref.WeakReference": RefKind.WEAK,
    "java.lang.ref.FinalReference": RefKind.FINALIZER,
    "java.lang.ref.FinalizerReference": RefKind.FINALIZER,  # Android's
    "java.lang.ref.PhantomReference": RefKind.PHANTOM,
}
_THREAD = "java.lang.Thread"
_VALUES = {
    "java.lang.String": (TEXT, ("value", "coder", "offset", "count")),
    "java.lang.Integer": (SIGNED_4, ("value",)),
    "java.lang.Long": (SIGNED, ("value",)),
    "java.lang.Short": (SIGNED_2, ("value",)),
    "java.lang.Byte": (SIGNED_1, ("value",)),
    "java.lang.Character": (CHAR, ("value",)),
    "java.lang.Boolean": (BOOL, ("value",)),
    "java.lang.Float": (FLOAT4, ("value",)),
    "java.lang.Double": (FLOAT8, ("value",)),
    _THREAD: (THREAD, ("name",)),
    "java.nio.DirectByteBuffer": (DIRECT_BUFFER, ("cleaner", "", "capacity")),
    "android.graphics.Bitmap": (BITMAP, ("mBuffer", "", "mWidth", "mHeight")),
    "android.app.Activity": (DESTROYED, ("mDestroyed",)),
}
"""Classes whose instances have a value, and the fields that make it."""


@dataclass(slots=True)
class HeapClass:
    """One class.

    Attributes:
        row: Its row.
        id: Of its class object.
        is_recorded: Whether the heap dump has its record.
        super_id: Of the superclass; 0 for none.
        loader_id: Of the class loader; 0 for the boot loader.
        links: Names and ids of what the class itself refers to, not null.
        instance_bytes: As recorded.
        codes: Type codes of the fields that it declares, in their order.
        names: Their names.
        static_codes: Type codes of its static fields, without those of the VM.
        statics: Names and ids of static fields that are references, not null.
        depth: Number of superclasses.
    """

    row: int
    id: int
    is_recorded: bool = False
    super_id: int = 0
    loader_id: int = 0
    links: list[tuple[str, int]] = field(default_factory=list)
    instance_bytes: int = 0
    codes: bytes = b""
    names: list[str] = field(default_factory=list)
    static_codes: bytearray = field(default_factory=bytearray)
    statics: list[tuple[str, int]] = field(default_factory=list)
    depth: int = 0


@kernel
def _enter(columns: ClassColumns, first: int, ids: Ids, rows: Ints) -> None:
    for i in range(first, len(ids)):
        _, at = class_row(columns.key, columns.key_row, columns.seed[0], ids[i])
        columns.key[at] = ids[i]
        columns.key_row[at] = rows[i]


def _empty(rows: int, slots: int) -> ClassColumns:
    return ClassColumns(
        np.zeros(4 * rows, np.uint64),
        np.full(4 * rows, -1, np.int32),
        np.array([secrets.randbits(64)], np.uint64),
        np.zeros(rows, np.uint8),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.full(rows, -1, np.int32),
        np.zeros(rows, np.int32),
        np.zeros(rows, np.int32),
        np.zeros(rows, np.uint8),
        np.zeros(rows, np.uint8),
        np.full((rows, 4), -1, np.int32),
        np.zeros(slots, np.int32),
        np.zeros(slots, np.int32),
        np.zeros(slots, np.uint8),
    )


class ClassTable:
    """All classes, row by row, in the order in which the file names them.

    Args:
        id_size: 4 or 8 bytes.
        names: Names by id.
        counter: Counts irregularities.

    Attributes:
        columns: For the scan.
        classes: Those with an id.
        field_names: Of all fields that are references, static ones included.
    """

    def __init__(
        self, id_size: int, names: NameTable, counter: IrregularityCounter
    ) -> None:
        self.columns = _empty(64, 256)
        self.classes: list[HeapClass] = []
        self.field_names: dict[str, int] = {}
        self._id_size = id_size
        number = "Q" if id_size == 8 else "I"
        self._fixed = Struct(f">x{number}I6{number}I")
        self._field = Struct(f">{number}B")
        self._names = names
        self._counter = counter
        self._row_names: list[str] = list(_RESERVED)
        self._by_id: dict[int, HeapClass] = {}
        self._by_row: list[HeapClass | None] = [None] * len(_RESERVED)
        self._name_ids: dict[int, int] = {}
        self._waiting: dict[int, list[HeapClass]] = {}
        self._slot_count = 0

    def renewed(self) -> ClassTable:
        """A table for the next dump of the file, which knows the names so far."""
        other = ClassTable(self._id_size, self._names, self._counter)
        other._name_ids = dict(self._name_ids)
        return other

    def load(self, class_id: int, name_id: int) -> None:
        """Take note of the name of a class."""
        self._name_ids.setdefault(class_id, name_id)
        found = self._by_id.get(class_id)
        if found and self._row_names[found.row].startswith("<class "):
            name = self._names.get(name_id)
            if name is not None:
                self._row_names[found.row] = java_name(name)

    def names(self) -> list[str]:
        """The name of each row."""
        return self._row_names

    def missing_count(self) -> int:
        """Classes of objects that the heap dump does not have."""
        return sum(not found.is_recorded for found in self.classes)

    def of_row(self, row: int) -> HeapClass | None:
        """The class of a row; ``None`` if the file does not have it."""
        return self._by_row[row]

    def chain(self, found: HeapClass) -> list[HeapClass]:
        """A class and its superclasses, as far as they are known."""
        row, chain = found.row, []
        while row >= 0:
            one = self._by_row[row]
            if one is None:
                break
            chain.append(one)
            row = int(self.columns.parent[row])
        return chain

    def row_of(self, class_id: int) -> int:
        """The row of a class, which is added if the file has not named it."""
        return self._class(class_id).row

    def field_index(self, name: str) -> int:
        """The row of a field name."""
        return self.field_names.setdefault(name, len(self.field_names))

    def _class(self, class_id: int) -> HeapClass:
        if found := self._by_id.get(class_id):
            return found
        name = self._names.get(self._name_ids.get(class_id, 0))
        shown = f"<class {class_id:#x}>" if name is None else java_name(name)
        row = len(self._row_names)
        if shown in _RESERVED and self._by_row[_RESERVED.index(shown)] is None:
            row = _RESERVED.index(shown)
        else:
            self._row_names.append(shown)
            self._by_row.append(None)
        made = self._by_id[class_id] = HeapClass(row, class_id)
        self._by_row[row] = made
        self.classes.append(made)
        self._make_room()
        _enter(
            self.columns, 0, np.array([class_id], np.uint64), np.array([row], np.int32)
        )
        return made

    def _make_room(self, slots: int = 0) -> None:
        """Double the columns when they are full."""
        old = self.columns
        rows, places = len(old.is_known), len(old.slot_field)
        wanted_rows = 2 * rows if len(self._row_names) > rows else rows
        while places < self._slot_count + slots:
            places *= 2
        if (wanted_rows, places) == (rows, len(old.slot_field)):
            return
        new = _empty(wanted_rows, places)
        for name in ClassColumns._fields:
            if not name.startswith("key") and name != "seed":
                column = getattr(old, name)
                getattr(new, name)[: len(column)] = column
        self.columns = new
        entered = [one for one in self.classes if one.row < wanted_rows]
        _enter(
            new,
            0,
            np.array([one.id for one in entered], np.uint64),
            np.array([one.row for one in entered], np.int32),
        )

    def parse(self, data: bytes | bytearray, begin: int) -> None:
        """Parse the complete class record at ``begin``; a repeated one is skipped."""
        size = self._id_size
        class_id, _, super_id, loader_id, signers, domain, _, _, instance_bytes = (
            self._fixed.unpack_from(data, begin)
        )
        found = self._class(class_id)
        if found.is_recorded:
            self._counter.add("repeated_class", 1, 0, None)
            return
        found.is_recorded = True
        found.super_id, found.loader_id = super_id, loader_id
        found.instance_bytes = instance_bytes
        links = (
            ("<super>", super_id), ("<loader>", loader_id),
            ("<signers>", signers), ("<protection domain>", domain),
        )  # fmt: skip
        found.links = [link for link in links if link[1]]
        p = begin + self._fixed.size

        def values(ahead: Struct) -> Iterator[tuple[int, int, int]]:
            """Number, type code and end of each constant or static field."""
            nonlocal p
            (count,) = _COUNT.unpack_from(data, p)
            p += _COUNT.size
            for _ in range(count):
                number, code = ahead.unpack_from(data, p)
                p += ahead.size + self._width(code)
                yield number, code, p

        for index, code, end in values(_CONSTANT):
            value = int.from_bytes(data[end - size : end], "big")
            if 0 < code < FIRST_PRIMITIVE and value:
                found.links.append((f"<constant {index:,}>", value))
        for name_id, code, end in values(self._field):
            name = self._field_name(name_id)
            if not name.startswith("<"):
                found.static_codes.append(code)
            if code < FIRST_PRIMITIVE:
                value = int.from_bytes(data[end - size : end], "big")
                if value:
                    found.statics.append((name, value))
        (count,) = _COUNT.unpack_from(data, p)
        p += _COUNT.size
        fields = data[p : p + count * self._field.size]
        codes = bytearray()
        for name_id, code in self._field.iter_unpack(fields):
            found.names.append(self._field_name(name_id))
            codes.append(code)
        found.codes = bytes(codes)
        if any(self._width(code) == 0 for code in codes):
            # The widths of the fields are not known: none can be located.
            self._counter.add("unknown_field_type", 1, 0, None)
            found.codes, found.names = b"", []
        self._declare(found)
        self._link_to_super(found)

    def _width(self, code: int) -> int:
        if FIRST_PRIMITIVE <= code < FIRST_PRIMITIVE + len(WIDTHS):
            return WIDTHS[code - FIRST_PRIMITIVE]
        return self._id_size if code in (1, 2) else 0

    def _field_name(self, name_id: int) -> str:
        return self._names.get(name_id) or f"<field {name_id:#x}>"

    def _declare(self, found: HeapClass) -> None:
        """Store the slots of the fields that the class itself declares."""
        self._make_room(sum(code < FIRST_PRIMITIVE for code in found.codes))
        columns, row = self.columns, found.row
        is_reference = self._row_names[row] == _REFERENCE
        columns.slot_start[row] = self._slot_count
        offset = 0
        for name, code in zip(found.names, found.codes, strict=True):
            if code < FIRST_PRIMITIVE:
                slot = self._slot_count
                columns.slot_offset[slot] = offset
                columns.slot_field[slot] = self.field_index(name)
                columns.slot_is_referent[slot] = is_reference and name == "referent"
                self._slot_count += 1
            offset += self._width(code)
        columns.slot_end[row] = self._slot_count
        columns.own_bytes[row] = columns.field_bytes[row] = offset

    def complete(self) -> None:
        """Link what is left once no more classes follow; counts what is wrong."""
        for super_id in list(self._waiting):
            if super_id not in self._by_id or not self._by_id[super_id].is_recorded:
                waiting = self._waiting.pop(super_id)
                self._counter.add("missing_superclass", len(waiting), 0, None)
                for found in waiting:
                    self._link(found, None)
        circular = [found for waiting in self._waiting.values() for found in waiting]
        self._counter.add("cyclic_superclass", len(circular), 0, None)
        self._waiting.clear()
        for found in circular:
            self._link(found, None)

    def _link_to_super(self, found: HeapClass) -> None:
        """Link a class once its superclass is, and then its own subclasses."""
        if not found.super_id:
            self._link(found, None)
            return
        above = self._by_id.get(found.super_id)
        if above is None or not self.columns.is_known[above.row]:
            self._waiting.setdefault(found.super_id, []).append(found)
        else:
            self._link(found, above)

    def _link(self, found: HeapClass, above: HeapClass | None) -> None:
        todo = [(found, above)]
        while todo:
            found, above = todo.pop()
            self._inherit(found, above)
            below = self._waiting.pop(found.id, ())
            todo += [(one, found) for one in below]

    def _inherit(self, found: HeapClass, above: HeapClass | None) -> None:
        """Complete a class from its superclass, which is complete."""
        columns, row = self.columns, found.row
        if above is not None and above.depth >= _LONGEST_CHAIN:
            self._counter.add("too_many_superclasses", 1, 0, None)
            above = None
        if above is not None:
            found.depth = above.depth + 1
            columns.parent[row] = above.row
            columns.field_bytes[row] += columns.field_bytes[above.row]
            columns.referent_kind[row] = columns.referent_kind[above.row]
            if columns.special[above.row] in (THREAD, DESTROYED):
                columns.special[row] = columns.special[above.row]
                columns.special_offset[row] = columns.special_offset[above.row]
                columns.special_offset[row, 0] += columns.own_bytes[row]
        columns.is_known[row] = 1
        name = self._row_names[row]
        if name in _REFERENT_KINDS:
            columns.referent_kind[row] = _REFERENT_KINDS[name]
        if name in _VALUES:
            kind, wanted = _VALUES[name]
            self._locate(found, kind, wanted)

    def _locate(self, found: HeapClass, kind: int, wanted: tuple[str, ...]) -> None:
        """Note where the value of an instance is."""
        offset, places = 0, dict.fromkeys(wanted, -1)
        for one in self.chain(found):
            for name, code in zip(one.names, one.codes, strict=True):
                if places.get(name, 0) < 0:
                    places[name] = offset
                offset += self._width(code)
        if places[wanted[0]] >= 0 or kind == BITMAP:
            self.columns.special[found.row] = kind
            self.columns.special_offset[found.row, : len(wanted)] = list(
                places.values()
            )
            if "offset" in places and -1 in (places["offset"], places["count"]):
                self.columns.special_offset[found.row, 2:] = -1
