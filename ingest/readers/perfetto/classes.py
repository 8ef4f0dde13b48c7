"""The types of a heap graph: names, fields, strengths; the class objects of each.

The runtime writes a type of its own, ``java.lang.Class<Order>``, for each class object,
whose static fields then have their names. Here all class objects are of the type
``java.lang.Class``, as in other dumps, and static fields are roots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.search import place_of
from ingest.heap.graph import NO_FIELD, RefKind
from ingest.readers.perfetto.renaming import TraceNames
from ingest.readers.perfetto.scan import (
    FIELD_NAMES,
    FROM_RUNTIME,
    LOCATIONS,
    T_FIELDS,
    T_ID,
    T_KIND,
    T_LOADER,
    T_LOCATION,
    T_SIZE,
    T_SUPER,
    TYPE_COLUMNS,
)
from ingest.readers.shared.columns import MAX_SIZE_BYTES, starts_of
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.java import REFERENCE, REFERENT_KINDS, WEAKER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ints, Longs
    from ingest.readers.perfetto.records import HeapRecords, TextTable
    from ingest.readers.perfetto.renaming import Renames
    from ingest.readers.shared.irregularities import IrregularityCounter

_CLASS = "java.lang.Class"
_OF_CLASS = f"{_CLASS}<"
_NO_REFERENCES, _STRING, _ARRAY = 2, 3, 4
_STRENGTHS = {
    8: RefKind.SOFT, 9: RefKind.WEAK, 10: RefKind.FINALIZER, 11: RefKind.PHANTOM
}  # fmt: skip
"""By the kind of a type, which traces before Android 12 do not have."""
_HIDDEN = {"superClass": "<super>", "classLoader": "<loader>"}
"""Fields of class objects, as dumps of Java name them."""
_OBJECT_CODE = 2

PLAIN, ARRAY, NAMELESS, CLASS_OBJECT = range(4)
"""How the references of the objects of a type have their names."""
_REFERENT, _STATIC = 1, 2


class FieldTable(NamedTuple):
    """The fields of a heap graph that something uses.

    Attributes:
        id: int64 (F,). Ids, ascending.
        row: int32 (F,). Rows of `names`.
        flag: uint8 (F,). Whether it is a referent, or static in a class object.
        names: Renames of fields.
        runtime: Row of the name of what the runtime refers to for an object.
    """

    id: Longs
    row: Ints
    flag: Bytes
    names: dict[str, int]
    runtime: int


class ArtTypes:
    """The types of a heap graph, row by row: declared ones, and others that it uses.

    A file can declare many that nothing uses; these have no names.

    Args:
        heap: Its records.
        columns: Its columns; ``types``, ``type_id`` and those of names are taken out.
        given: Original names.
        counter: Counts what is irregular.

    Attributes:
        row: int32 (N,). The type of each object.
        names: Renames of the types of the graph.
        out_row: int32. Row of ``names`` of each type that has one.
        mirrors: int32 (M,). Types of class objects, ascending.
        described: int32 (M,). Row of ``names`` of the type that each is of, or -1.
        mirror_names: Renames of these types.
        sizes: int64, bytes. Size of the objects of each type.
        manner: uint8. How references have their names.
        fields: Their fields.
    """

    def __init__(
        self,
        heap: HeapRecords,
        columns: dict[str, NDArray[Any]],
        given: TraceNames | Renames,
        counter: IrregularityCounter,
    ) -> None:
        self._given, self._texts = given, heap.type_names
        types = columns.pop("types").reshape(-1, len(TYPE_COLUMNS))
        table = IdTable(types[:, T_ID].astype(np.uint64))
        counter.add("repeated_class", int((table.duplicate_of >= 0).sum()), 0, None)
        self.row, more = _rows(table, columns.pop("type_id"), len(types))
        counter.add("undeclared_type", more.object_count, 0, None)
        self._declared_count = len(types)
        self._undeclared = more.ids
        self._start = starts_of(types[:, T_FIELDS].astype(np.int32))
        self._end = self._start[1:]
        self._start = self._start[:-1]
        self._types = types
        if many := len(more.ids):
            self._types = np.concatenate(
                [types, np.zeros((many, types.shape[1]), np.int64)]
            )
            nothing = np.zeros(many, np.int64)
            self._start = np.concatenate([self._start, nothing])
            self._end = np.concatenate([self._end, nothing])
        self.sizes = self._types[:, T_SIZE].clip(0, MAX_SIZE_BYTES)
        self._above(table, counter)
        places = heap.names
        kind, ident = columns.pop("name_kind"), columns.pop("name_id")
        at = np.flatnonzero(kind == LOCATIONS)
        self._places = {
            int(ident[row]): places.get(row)
            for row in at[np.isin(ident[at], self._types[:, T_LOCATION])][::-1].tolist()
        }
        used = np.unique(self.row).tolist()
        self._describe(used)
        at = np.flatnonzero(kind == FIELD_NAMES)
        fields = columns.pop("type_field")
        self.fields = self._field_table(at, ident, fields, columns["ref_slot"], places)
        found = np.full(len(fields), -1, np.int32)
        if len(self.fields.id):
            place = np.searchsorted(self.fields.id, fields)
            place[place == len(self.fields.id)] = 0
            is_known = self.fields.id[place] == fields
            found[is_known] = place[is_known]
        self._field_at = found

    def _raw(self, row: int) -> str:
        """The name of a type, as recorded."""
        if row < self._declared_count:
            return self._texts.get(row)
        return f"<type {self._undeclared[row - self._declared_count]}>"

    def _place(self, row: int) -> str:
        return self._places.get(int(self._types[row, T_LOCATION]), "")

    def _names_at(self, place: str) -> Renames:
        given = self._given
        return given.at(place) if isinstance(given, TraceNames) else given

    def _above(self, table: IdTable, counter: IrregularityCounter) -> None:
        """Set the nearest superclass with fields, and the strength of referents."""
        kinds = self._types[:, T_KIND]
        own = np.full(len(kinds), -1, np.int8)
        for kind, strength in _STRENGTHS.items():
            own[kinds == kind] = strength
        for row in self._texts.begin_with(b"java.lang.ref.").tolist():
            if own[row] < 0 and (known := REFERENT_KINDS.get(self._raw(row))):
                own[row] = known
        above_id = self._types[:, T_SUPER].astype(np.uint64)
        above = np.where(above_id == 0, -1, table.find(above_id)[0]).astype(np.int32)
        self.parent = np.full(len(kinds), -1, np.int32)
        self.strength = np.zeros(len(kinds), np.uint8)
        circles = _inherit(
            above, self._end - self._start, own, self.parent, self.strength,
            np.zeros(len(kinds), np.uint8), np.empty(len(kinds), np.int32),
        )  # fmt: skip
        counter.add("cyclic_superclass", int(circles), 0, None)

    def _describe(self, used: list[int]) -> None:
        """Name the types that objects are of, and those that class objects are of."""
        raw = {row: self._raw(row) for row in used}
        inner = {
            row: name[len(_OF_CLASS) : -1]
            for row, name in raw.items()
            if name.startswith(_OF_CLASS) and name.endswith(">")
        }
        self.mirrors = np.array(sorted(inner), np.int32)
        of_name = self._of_names(raw, inner)
        for row in of_name.values():
            raw.setdefault(row, self._raw(row))
        if isinstance(self._given, TraceNames):
            self._given.want([*raw.values(), *inner.values()])
        self.names = list[str]()
        self.out_row = np.full(len(self._types), -1, np.int32)
        for row in sorted(raw.keys() - inner.keys()):
            self.out_row[row] = len(self.names)
            self.names.append(self._names_at(self._place(row)).class_name(raw[row]))
        if inner:
            if _CLASS not in self.names:
                self.names.append(_CLASS)
            self.out_row[self.mirrors] = self.names.index(_CLASS)
        self.described = np.full(len(self.mirrors), -1, np.int32)
        self.mirror_names = list[str]()
        for at, mirror in enumerate(self.mirrors.tolist()):
            place = self._place(mirror)
            row = of_name.get((inner[mirror], place), -1)
            self.described[at] = self.out_row[row] if row >= 0 else -1
            self.mirror_names.append(self._names_at(place).class_name(inner[mirror]))
        kinds = self._types[:, T_KIND]
        self.manner = np.full(len(kinds), PLAIN, np.uint8)
        self.manner[(kinds == _NO_REFERENCES) | (kinds == _STRING)] = NAMELESS
        self.manner[kinds == _ARRAY] = ARRAY
        for row, name in raw.items():
            if kinds[row] == 0 and name.endswith("[]"):
                self.manner[row] = ARRAY
        self.manner[self.mirrors] = CLASS_OBJECT
        self._raw_names = raw

    def _of_names(
        self, raw: dict[int, str], inner: dict[int, str]
    ) -> dict[tuple[str, str], int]:
        """The types with the name and location of those of class objects."""
        wanted = set(inner.values())
        found: dict[tuple[str, str], int] = {}
        for row in range(len(self._types) if wanted else 0):
            name = raw[row] if row in raw else self._raw(row)
            if name in wanted and row not in inner:
                found.setdefault((name, self._place(row)), row)
        return found

    def _field_table(
        self,
        at: NDArray[np.int64],
        ident: Longs,
        of_types: Longs,
        slots: Ints,
        texts: TextTable,
    ) -> FieldTable:
        """Split names such as ``int[] app.Order.lines``, as far as they are used."""
        own = np.unique(slots[slots >= 0]).astype(np.int64)
        used = np.concatenate([np.unique(of_types), own])
        at = at[np.isin(ident[at], used)]
        ids, first = np.unique(ident[at], return_index=True)
        split = [
            texts.get(row).rpartition(" ")[2].rpartition(".")[::2]
            for row in at[first].tolist()
        ]
        if isinstance(self._given, TraceNames):
            self._given.want({owner for owner, _ in split})
        places = {name: self._place(row) for row, name in self._raw_names.items()}
        names: dict[str, int] = {}
        row, flag = np.empty(len(ids), np.int32), np.zeros(len(ids), np.uint8)
        for i, (owner, name) in enumerate(split):
            if owner == _CLASS:
                shown = _HIDDEN.get(name, name)
            elif owner == REFERENCE and name in WEAKER:
                flag[i], shown = _REFERENT, name
            else:
                flag[i] = _STATIC
                of_place = self._names_at(places.get(owner, ""))
                shown = of_place.field_name(owner, name, _OBJECT_CODE)
            row[i] = names.setdefault(shown, len(names))
        runtime = names.setdefault("<runtime>", len(names))
        return FieldTable(ids, row, flag, names, runtime)

    def loaders(self) -> tuple[Ints, NDArray[np.uint64]]:
        """Types of the graph that have a class loader, and its id."""
        ids = self._types[:, T_LOADER]
        is_known = (ids != 0) & (self.out_row >= 0) & (self.manner != CLASS_OBJECT)
        return self.out_row[is_known], ids[is_known].astype(np.uint64)

    def named(self, *names: str) -> Ints:
        """int32: the types of objects that have one of some names."""
        rows = [row for row, name in self._raw_names.items() if name in names]
        return np.array(rows, np.int32)

    def name_references(
        self,
        ref_count: Ints,
        ref_id: NDArray[np.unsignedinteger],
        ref_slot: Ints,
    ) -> tuple[Bytes | None, Statics, int]:
        """Turn slots into names of fields, in place, and take static fields out.

        Args:
            ref_count: int32 (N,).
            ref_id: unsigned (E,).
            ref_slot: int32 (E,). As of `GraphBuffers`.

        Returns:
            uint8 strengths of references; static fields; how many references are left.
        """
        is_mirror = self.manner[self.row] == CLASS_OBJECT
        most = int(ref_count[is_mirror].sum(dtype=np.int64))
        weaker = bool((self.strength[self.row] > 0).any())
        kinds = np.zeros(len(ref_id) if weaker else 0, np.uint8)
        statics = Statics(
            np.empty(most, np.int32),
            np.empty(most, np.uint64),
            np.empty(most, np.int32),
        )
        table = self.fields
        found = np.zeros(2, np.int64)
        _name_references(
            self.row, ref_count, ref_id, ref_slot, kinds,
            self.manner, self.parent, self.strength, self._start, self._end,
            self._field_at, table.id, table.row, table.flag, table.runtime,
            *statics, found,
        )  # fmt: skip
        left, many = found.tolist()
        of_type, ids, fields = statics
        statics = Statics(of_type[:many], ids[:many], fields[:many])
        return kinds[:left] if weaker else None, statics, left


class Statics(NamedTuple):
    """Static fields that are not null.

    Attributes:
        type_row: int32 (S,). Types of the class objects.
        id: uint64 (S,). To what they refer.
        field: int32 (S,). Rows of names.
    """

    type_row: Ints
    id: NDArray[np.uint64]
    field: Ints


class _Added(NamedTuple):
    """Types that objects have and that are not declared.

    Attributes:
        ids: Their ids.
        object_count: How many objects have one.
    """

    ids: list[int]
    object_count: int


_BLOCK = 1 << 16


def _rows(
    table: IdTable, type_ids: NDArray[np.unsignedinteger], declared: int
) -> tuple[Ints, _Added]:
    """The type of each object; types that are not declared follow the declared ones."""
    found = np.empty(len(type_ids), np.int32)
    for at in range(0, len(type_ids), _BLOCK):
        block = type_ids[at : at + _BLOCK].astype(np.uint64)
        found[at : at + _BLOCK] = table.find(block)[0]
    absent = found < 0
    ids, of = np.unique(type_ids[absent], return_inverse=True)
    found[absent] = declared + of
    return found, _Added(ids.tolist(), len(of))


@kernel
def _inherit(
    above: Ints,
    own_fields: Longs,
    own_strength: NDArray[np.int8],
    parent: Ints,
    strength: Bytes,
    state: Bytes,
    path: Ints,
) -> int:
    """Set the nearest superclass with fields, and the strength, of each type.

    Args:
        above: int32 (T,). Superclasses, or -1; cut where they are in a circle.
        own_fields: int64 (T,). How many fields each declares.
        own_strength: int8 (T,). That of the type itself, or -1.
        parent: int32 (T,). Filled where there is one.
        strength: uint8 (T,). Filled.
        state: uint8 (T,), zeros. Overwritten.
        path: int32 (T,). Overwritten.

    Returns:
        How many circles there are.
    """
    circles = 0
    for first in range(len(above)):
        count, row = 0, first
        while row >= 0 and state[row] == 0:
            state[row] = 1
            path[count] = row
            count += 1
            row = above[row]
        if row >= 0 and state[row] == 1:
            circles += 1
            above[path[count - 1]] = -1
        for at in range(count - 1, -1, -1):
            one = path[at]
            state[one] = 2
            up = above[one]
            found = own_strength[one]
            if up >= 0:
                parent[one] = up if own_fields[up] > 0 else parent[up]
                if found < 0:
                    found = np.int8(strength[up])
            strength[one] = max(found, 0)
    return circles


@kernel
def _name_references(
    type_row: Ints,
    ref_count: Ints,
    ref_id: NDArray[np.unsignedinteger],
    slot: Ints,
    kinds: Bytes,
    manner: Bytes,
    parent: Ints,
    strength: Bytes,
    start: Longs,
    end: Longs,
    field_at: Ints,
    ids: Longs,
    rows: Ints,
    flags: Bytes,
    runtime: int,
    static_type: Ints,
    static_id: NDArray[np.uint64],
    static_field: Ints,
    found: Longs,
) -> None:
    """See `ArtTypes.name_references`."""
    stored = statics = ref = 0
    for i in range(len(type_row)):
        kind = type_row[i]
        above, before = kind, 0
        kept = 0
        for _ in range(ref_count[i]):
            wanted, at, field = slot[ref], -1, NO_FIELD
            if wanted == FROM_RUNTIME:
                field = runtime
            elif wanted >= 0:
                at = place_of(ids, wanted)
            elif wanted != NO_FIELD and manner[kind] == ARRAY:
                field = wanted
            elif wanted != NO_FIELD and manner[kind] == PLAIN:
                position = -1 - wanted - before
                while above >= 0 and position >= end[above] - start[above]:
                    position -= end[above] - start[above]
                    before += end[above] - start[above]
                    above = parent[above]
                if above >= 0:
                    at = field_at[start[above] + position]
            is_referent = False
            if at >= 0:
                field = rows[at]
                is_referent = flags[at] == _REFERENT
                if manner[kind] == CLASS_OBJECT and flags[at] != 0:
                    static_type[statics] = kind
                    static_id[statics] = ref_id[ref]
                    static_field[statics] = field
                    statics += 1
                    ref += 1
                    continue
            ref_id[stored] = ref_id[ref]
            slot[stored] = field
            if len(kinds) > 0:
                kinds[stored] = strength[kind] if is_referent else 0
            stored += 1
            kept += 1
            ref += 1
        ref_count[i] = kept
    found[0] = stored
    found[1] = statics
