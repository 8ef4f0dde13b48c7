"""The classes of an HPROF file: their fields, superclasses and static fields.

A file may have a million classes, so their records are stored in columns.
"""

from __future__ import annotations

import secrets
from array import array
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.hprof.known_classes import (
    ENDING,
    INHERITED,
    OF_ANDROID,
    VALUES,
    VIEW,
    end_word,
)
from ingest.readers.hprof.names import java_name
from ingest.readers.hprof.records import (
    BITMAP,
    DESTROYED,
    DIRECT_BUFFER,
    ENDS_WITH,
    FIRST_PRIMITIVE,
    PRIMITIVES,
    VIEWED_BUFFER,
    WHOLE,
    WIDTHS,
    ClassColumns,
    class_row,
)
from ingest.readers.shared.java import REFERENCE, REFERENT_KINDS, WEAKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Ints, Longs, Number
    from ingest.readers.hprof.names import NameTable
    from ingest.readers.shared.irregularities import IrregularityCounter
    from ingest.readers.shared.original_names import Renaming


CLASS_ROW = len(PRIMITIVES)
"""Row of ``java.lang.Class``, after the arrays of primitive types."""
_RESERVED = (*(f"{name}[]" for name in PRIMITIVES), "java.lang.Class")

_LONGEST_CHAIN = 1000
"""The longest chain of superclasses; no program has as many."""

_LONG_NAME = 256
"""Names longer than this are shared; real programs have few."""

_COUNT, _CONSTANT = Struct(">H"), Struct(">HB")


@kernel
def enter(keys: Ids, key_row: Ints, seed: Ids, ids: Ids, rows: Ints) -> None:
    """Enter uint64 (M,) ``ids`` with their int32 ``rows`` in the table of classes."""
    for i in range(len(ids)):
        _, at = class_row(keys, key_row, seed[0], ids[i])
        keys[at] = ids[i]
        key_row[at] = rows[i]


@kernel
def _row_of(keys: Ids, key_row: Ints, seed: Ids, wanted: Ids) -> Number:
    """The row of an id, uint64 (1,), in the table of classes; -1 if it is missing."""
    row, _ = class_row(keys, key_row, seed[0], wanted[0])
    return row


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

    A class that the file only names is not *recorded*: it has no class record.

    Args:
        id_size: 4 or 8 bytes.
        names: Names by id.
        counter: Counts irregularities.
        renaming: Original names of what was shortened; ``None`` for none.
        is_whole: Whether the fields of instances of a class are taken, by its name.

    Attributes:
        columns: Columns for the scan.
        field_names: Names of all fields that are references, static ones included.
        links: Non-null references of each recorded class itself.
        statics: Non-null static fields of each recorded class that are references.
        whole: Rows of classes of whose instances all fields are taken.
        end_words: Words such as ``closed``, by rows of classes whose instances tell
            that their work is done.
    """

    def __init__(
        self,
        id_size: int,
        names: NameTable,
        counter: IrregularityCounter,
        renaming: Renaming | None = None,
        is_whole: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.columns = _empty(64, 256)
        self._renaming = renaming
        self._is_whole = is_whole
        self.whole: list[int] = []
        self.field_names: dict[str, int] = {}
        self.end_words: dict[int, str] = {}
        self._id_size = id_size
        number = "Q" if id_size == 8 else "I"
        self._fixed = Struct(f">x{number}I6{number}I")
        self._field = Struct(f">{number}B")
        self._names = names
        self._counter = counter
        self._row_names: list[str] = list(_RESERVED)
        self._name_ids: dict[int, int] = {}
        self._long_names: dict[int, str] = {}
        self._wanted = np.empty(1, np.uint64)
        self._slot_count = 0
        rows = len(_RESERVED)
        self._is_named = bytearray(rows)
        """Reserved rows whose class the file names."""
        # Columns by row.
        self._id = array("Q", [0]) * rows
        self._record = array("i", [-1]) * rows
        self._depth = array("H", [0]) * rows
        self._next_waiting = array("i", [-1]) * rows
        self._named = array("i")
        """Rows in the order in which the file names the classes."""
        self._waiting: dict[int, int] = {}
        """The last class that waits for each superclass; it leads to the others."""
        # Columns by record.
        self._loader_id = array("Q")
        self._instance_bytes = array("I")
        self._static_references = array("I")
        self._static_bytes = array("I")
        self._texts = DistinctNames()
        self.links = NamedLists("Q", self._texts)
        self.statics = NamedLists("Q", self._texts)
        self._fields = NamedLists("B", self._texts)
        self._found: dict[tuple[str, ...], dict[int, tuple[int, ...]]] = {}

    def renewed(self) -> ClassTable:
        """A table for the next dump of the file, which knows the names so far."""
        other = ClassTable(
            self._id_size, self._names, self._counter, self._renaming, self._is_whole
        )
        other._name_ids = dict(self._name_ids)
        return other

    def load(self, class_id: int, name_id: int) -> None:
        """Take note of the name of a class."""
        self._name_ids.setdefault(class_id, name_id)
        row = self._known_row(class_id)
        if row >= 0 and self._row_names[row].startswith("<class "):
            name = self._spelled(name_id)
            if name is not None:
                self._row_names[row] = name

    def names(self) -> list[str]:
        """The name of each row."""
        return self._row_names

    def missing_count(self) -> int:
        """Classes of objects that the heap dump does not have."""
        return len(self._named) - len(self._loader_id)

    def recorded(self) -> Ints:
        """int32: rows of the recorded classes, in the order in which they are named."""
        rows = np.array(self._named, np.int32)
        return rows[np.array(self._record, np.int32)[rows] >= 0]

    def ids(self, rows: Ints) -> Ids:
        """uint64: the ids of the class objects of some rows."""
        return np.array(self._id, np.uint64)[rows]

    def records(self, rows: Ints) -> Ints:
        """int32: the numbers of the records of recorded rows."""
        return np.array(self._record, np.int32)[rows]

    def loader_ids(self, rows: Ints) -> Ids:
        """uint64: the class loaders of recorded rows; 0 for the boot loader."""
        return np.array(self._loader_id, np.uint64)[self.records(rows)]

    def static_sizes(self, rows: Ints) -> tuple[Longs, Longs]:
        """int64, twice: number of static references, and bytes of static numbers.

        For recorded rows, without the fields of the VM.
        """
        records = self.records(rows)
        return (
            np.array(self._static_references, np.int64)[records],
            np.array(self._static_bytes, np.int64)[records],
        )

    def end_scan(self) -> None:
        """Free what only the scan of objects needs; no class may follow."""
        parent = self.columns.parent
        self.columns = _empty(1, 1)._replace(parent=parent)

    def is_class(self, row: int) -> bool:
        """Whether the file names the class of a row."""
        return row >= len(_RESERVED) or self._is_named[row] > 0

    def instance_bytes(self, row: int) -> int:
        """The size of an instance, as recorded; 0 if not recorded."""
        record = self._record[row]
        return self._instance_bytes[record] if record >= 0 else 0

    def fields(self, row: int) -> list[tuple[str, int]]:
        """Names and type codes of the fields that a class declares, in their order."""
        record = self._record[row]
        return [] if record < 0 else list(self._fields.of(record))

    def chain(self, row: int) -> Iterator[int]:
        """The rows of a class and its superclasses, as far as they are known."""
        while row >= 0 and self.is_class(row):
            yield row
            row = int(self.columns.parent[row])

    def row_of(self, class_id: int) -> int:
        """The row of a class, which is added if the file has not named it."""
        row = self._known_row(class_id)
        return self._add(class_id) if row < 0 else row

    def array_row(self, row: int) -> int:
        """The row of the arrays of a class, which is added if it is missing."""
        name = f"{self._row_names[row]}[]"
        if name in self._row_names:
            return self._row_names.index(name)
        self._row_names.append(name)
        self._id.append(0)
        self._record.append(-1)
        self._depth.append(0)
        self._next_waiting.append(-1)
        return len(self._row_names) - 1

    def field_index(self, name: str) -> int:
        """The row of a field name."""
        return self.field_names.setdefault(name, len(self.field_names))

    def field_indexes(self, texts: Ints) -> Ints:
        """int32: the rows of names in one of the lists, as `field_index` has them."""
        used, first, of = np.unique(texts, return_index=True, return_inverse=True)
        rows = np.empty(len(used), np.int32)
        for at in np.argsort(first).tolist():
            rows[at] = self.field_index(self._texts.all[used[at]])
        return rows[of]

    def are_hidden(self, texts: Ints) -> NDArray[np.bool_]:
        """bool: which names in one of the lists belong to fields that the VM made."""
        hidden = [name.startswith("<") for name in self._texts.all]
        return np.array(hidden, np.bool_)[texts]

    def _spelled(self, name_id: int) -> str | None:
        """The name of a class as Java spells it; classes share a long name."""
        if (found := self._long_names.get(name_id)) is not None:
            return found
        name = self._names.get(name_id)
        if name is None:
            return None
        name = java_name(name)
        if self._renaming is not None:
            name = self._renaming.class_name(name)
        if len(name) >= _LONG_NAME:
            self._long_names[name_id] = name
        return name

    def _known_row(self, class_id: int) -> int:
        columns = self.columns
        self._wanted[0] = class_id
        return int(_row_of(columns.key, columns.key_row, columns.seed, self._wanted))

    def _add(self, class_id: int) -> int:
        name = self._spelled(self._name_ids.get(class_id, 0))
        shown = f"<class {class_id:#x}>" if name is None else name
        row = len(self._row_names)
        if shown in _RESERVED and not self.is_class(_RESERVED.index(shown)):
            row = _RESERVED.index(shown)
            self._id[row], self._is_named[row] = class_id, 1
        else:
            self._row_names.append(shown)
            self._id.append(class_id)
            self._record.append(-1)
            self._depth.append(0)
            self._next_waiting.append(-1)
        self._named.append(row)
        self._make_room()
        columns = self.columns
        self._wanted[0] = class_id
        enter(
            columns.key, columns.key_row, columns.seed, self._wanted,
            np.array([row], np.int32),
        )  # fmt: skip
        return row

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
        named = np.array(self._named, np.int32)
        enter(new.key, new.key_row, new.seed, self.ids(named), named)

    def parse(self, data: bytes | bytearray, begin: int) -> None:
        """Parse the complete class record at ``begin``; a repeated one is skipped."""
        size = self._id_size
        class_id, _, super_id, loader_id, signers, domain, _, _, instance_bytes = (
            self._fixed.unpack_from(data, begin)
        )
        row = self.row_of(class_id)
        if self._record[row] >= 0:
            self._counter.add("repeated_class", 1, 0, None)
            return
        self._record[row] = len(self._loader_id)
        self._loader_id.append(loader_id)
        self._instance_bytes.append(instance_bytes)
        for name, target in (
            ("<super>", super_id), ("<loader>", loader_id),
            ("<signers>", signers), ("<protection domain>", domain),
        ):  # fmt: skip
            if target:
                self.links.add(name, target)
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
                self.links.add(f"<constant {index:,}>", value)
        self.links.close()
        references = number_bytes = 0
        owner = ""
        if self._renaming is not None:
            owner = java_name(self._names.get(self._name_ids.get(class_id, 0)) or "")
        for name_id, code, end in values(self._field):
            name = self._field_name(name_id, owner, code)
            is_reference = code < FIRST_PRIMITIVE
            if not name.startswith("<"):
                references += is_reference
                number_bytes += 0 if is_reference else self._width(code)
            if is_reference:
                value = int.from_bytes(data[end - size : end], "big")
                if value:
                    self.statics.add(name, value)
        self.statics.close()
        self._static_references.append(references)
        self._static_bytes.append(number_bytes)
        self._parse_fields(data, p, owner)
        self._declare(row)
        self._link_to_super(row, super_id)

    def _parse_fields(self, data: bytes | bytearray, begin: int, owner: str) -> None:
        """Store the fields of the record that is parsed."""
        (count,) = _COUNT.unpack_from(data, begin)
        begin += _COUNT.size
        records = data[begin : begin + count * self._field.size]
        found = list(self._field.iter_unpack(records))
        if all(self._width(code) for _, code in found):
            for name_id, code in found:
                self._fields.add(self._field_name(name_id, owner, code), code)
        else:
            # The widths of the fields are unknown, so none can be located.
            self._counter.add("unknown_field_type", 1, 0, None)
        self._fields.close()

    def _width(self, code: int) -> int:
        if FIRST_PRIMITIVE <= code < FIRST_PRIMITIVE + len(WIDTHS):
            return WIDTHS[code - FIRST_PRIMITIVE]
        return self._id_size if code in (1, 2) else 0

    def _field_name(self, name_id: int, owner: str, code: int) -> str:
        name = self._names.get(name_id) or f"<field {name_id:#x}>"
        if self._renaming is None or name.startswith("<"):
            return name
        return self._renaming.field_name(owner, name, code)

    def _declare(self, row: int) -> None:
        """Store the slots of the fields that the class itself declares."""
        fields = self.fields(row)
        self._make_room(sum(code < FIRST_PRIMITIVE for _, code in fields))
        columns = self.columns
        is_reference = self._row_names[row] == REFERENCE
        columns.slot_start[row] = self._slot_count
        offset = 0
        for name, code in fields:
            if code < FIRST_PRIMITIVE:
                slot = self._slot_count
                columns.slot_offset[slot] = offset
                columns.slot_field[slot] = self.field_index(name)
                columns.slot_is_referent[slot] = is_reference and name in WEAKER
                self._slot_count += 1
            offset += self._width(code)
        columns.slot_end[row] = self._slot_count
        columns.own_bytes[row] = columns.field_bytes[row] = offset

    def complete(self) -> None:
        """Link the remaining classes after the last one; count what is wrong."""
        for super_id in list(self._waiting):
            above = self._known_row(super_id)
            if above < 0 or self._record[above] < 0:
                waiting = self._take_waiting(super_id)
                self._counter.add("missing_superclass", len(waiting), 0, None)
                for row in waiting:
                    self._link(row, -1)
        circular = [
            row for one in list(self._waiting) for row in self._take_waiting(one)
        ]
        self._counter.add("cyclic_superclass", len(circular), 0, None)
        for row in circular:
            self._link(row, -1)

    def _take_waiting(self, super_id: int) -> list[int]:
        """The rows that wait for a superclass, in order."""
        found = []
        row = self._waiting.pop(super_id, -1)
        while row >= 0:
            found.append(row)
            row = self._next_waiting[row]
        return found[::-1]

    def _link_to_super(self, row: int, super_id: int) -> None:
        """Link a class once its superclass is, and then its own subclasses."""
        if not super_id:
            self._link(row, -1)
            return
        above = self._known_row(super_id)
        if above < 0 or not self.columns.is_known[above]:
            self._next_waiting[row] = self._waiting.get(super_id, -1)
            self._waiting[super_id] = row
        else:
            self._link(row, above)

    def _link(self, row: int, above: int) -> None:
        todo = [(row, above)]
        while todo:
            row, above = todo.pop()
            self._inherit(row, above)
            todo += [(below, row) for below in self._take_waiting(self._id[row])]

    def _inherit(self, row: int, above: int) -> None:
        """Complete a class from its complete superclass; -1 for none."""
        columns = self.columns
        if above >= 0 and self._depth[above] >= _LONGEST_CHAIN:
            self._counter.add("too_many_superclasses", 1, 0, None)
            above = -1
        if above >= 0:
            self._depth[row] = self._depth[above] + 1
            columns.parent[row] = above
            columns.field_bytes[row] += columns.field_bytes[above]
            columns.referent_kind[row] = columns.referent_kind[above]
            if above in self.end_words:
                self.end_words[row] = self.end_words[above]
            kind = columns.special[above] & ~np.uint8(WHOLE)
            if kind in INHERITED:
                columns.special[row] = kind
                offsets = columns.special_offset[above]
                own = np.where(offsets >= 0, columns.own_bytes[row], 0)
                columns.special_offset[row] = offsets + own
        columns.is_known[row] = 1
        name = self._row_names[row]
        if name in REFERENT_KINDS:
            columns.referent_kind[row] = REFERENT_KINDS[name]
        if name in VALUES:
            kind, wanted = VALUES[name]
            if kind == DIRECT_BUFFER and self._tells_views(row):
                kind, wanted = VIEWED_BUFFER, VIEW
            if wanted == ("mCleared",) and self._places(row, wanted) == (-1,):
                kind, wanted = ENDS_WITH, ("impl",)
            self._locate(row, kind, wanted)
            if wanted[0] in ENDING:
                self.end_words[row] = ENDING[wanted[0]]
        elif not columns.special[row]:
            self._locate_end(row)
        if self._is_whole(name):
            columns.special[row] |= WHOLE
            self.whole.append(row)

    def _tells_views(self, row: int) -> bool:
        """Whether direct buffers tell of which buffer they are views."""
        is_of_android = self._places(row, OF_ANDROID)[0] >= 0
        return self._places(row, VIEW)[0] >= 0 and not is_of_android

    def _locate_end(self, row: int) -> None:
        """Note where an instance has the flag that its work is done."""
        for name, code in self.fields(row):
            if code == FIRST_PRIMITIVE and (word := end_word(name)):
                self._locate(row, DESTROYED, (name,))
                self.end_words[row] = word
                return

    def _locate(self, row: int, kind: int, wanted: tuple[str, ...]) -> None:
        """Note where the value of an instance is."""
        places = dict(zip(wanted, self._places(row, wanted), strict=True))
        if places[wanted[0]] >= 0 or kind == BITMAP:
            self.columns.special[row] = kind
            self.columns.special_offset[row, : len(wanted)] = list(places.values())
            if kind == VIEWED_BUFFER and places["fd"] >= 0:
                # The last 4 bytes of the id; the first are equal for all objects.
                self.columns.special_offset[row, 3] += self._id_size - 4
            if "offset" in places and -1 in (places["offset"], places["count"]):
                self.columns.special_offset[row, 2:] = -1

    def _places(self, row: int, wanted: tuple[str, ...]) -> tuple[int, ...]:
        """Places of fields in an instance, or -1; the class's own fields come first.

        The result for a class is kept for the classes below it.
        """
        known = self._found.setdefault(wanted, {-1: (-1,) * len(wanted)})
        waiting = []
        for one in self.chain(row):
            if one in known:
                break
            waiting.append(one)
        above = int(self.columns.parent[waiting[-1]]) if waiting else row
        found = known.get(above, known[-1])
        for one in reversed(waiting):
            offset, own = 0, dict[str, int]()
            for name, code in self.fields(one):
                own.setdefault(name, offset)
                offset += self._width(code)
            found = tuple(
                own.get(name, place + offset if place >= 0 else -1)
                for name, place in zip(wanted, found, strict=True)
            )
            known[one] = found
        return found


class DistinctNames:
    """Names, numbered in the order in which they are first used.

    Attributes:
        all: The name of each number.
    """

    def __init__(self) -> None:
        self.all: list[str] = []
        self._number: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of a name."""
        found = self._number.setdefault(name, len(self.all))
        if found == len(self.all):
            self.all.append(name)
        return found


class NamedValues(NamedTuple):
    """Some of the lists, joined.

    Attributes:
        sizes: int64. How many values each list has.
        name: int32. Number of the name of each value.
        value: The values.
    """

    sizes: Longs
    name: Ints
    value: NDArray[Any]


class NamedLists:
    """A list of named values for each record.

    Args:
        code: Type code of the values, as of `array`.
        names: Names of the values.
    """

    def __init__(self, code: str, names: DistinctNames) -> None:
        self._names = names
        self._end = array("I", [0])
        self._name = array("i")
        self._value: array[int] = array(code)

    def add(self, name: str, value: int) -> None:
        """Add a value to the list of the next record."""
        self._name.append(self._names.number(name))
        self._value.append(value)

    def close(self) -> None:
        """End the list of the next record."""
        self._end.append(len(self._name))

    def of(self, record: int) -> Iterator[tuple[str, int]]:
        """Names and values of a record."""
        begin, end = self._end[record], self._end[record + 1]
        for at in range(begin, end):
            yield self._names.all[self._name[at]], self._value[at]

    def of_all(self, records: Ints) -> NamedValues:
        """The lists of some records."""
        end = np.array(self._end, np.int64)
        begin, count = end[records], end[records + 1] - end[records]
        ahead = np.cumsum(count) - count
        at = np.repeat(begin - ahead, count)
        at += np.arange(len(at))
        name, value = np.array(self._name, np.int32), np.array(self._value)
        return NamedValues(count, name[at], value[at])
