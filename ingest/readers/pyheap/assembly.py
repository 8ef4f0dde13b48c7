"""From the objects of a PyHeap file to a graph: roots, names, folding.

Roots. The file has no roots but the local variables of functions. All its modules are
taken as roots, with what they have under each name. So is every object without a
referrer: CPython frees an object when the last reference goes, so C or the interpreter
must hold it. In a cycle of which C holds a part, this cannot be seen, and the cycle
looks as if it waited for the collector.

Names. Entries of dicts have their keys if texts are recorded. Types have only their
last name; the texts of type objects tell the module.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import NO_FIELD, Folded, RootKind, ThreadStacks
from ingest.heap.read_options import Fold
from ingest.heap.values import ObjectValues, ValueKind
from ingest.readers.cpython.facts import Frame, Module, Thread
from ingest.readers.cpython.folding import folded
from ingest.readers.cpython.objects import (
    ATOMS,
    Fields,
    PythonObjects,
    columns_of,
    is_of,
    name_entries,
    resolved,
)
from ingest.readers.cpython.roots import PythonRoots
from ingest.readers.pyheap import NAME
from ingest.readers.shared.columns import starts_of
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import CPYTHON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.arrays.compiled import Bools, Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.readers.pyheap.records import PyHeapRecords
    from ingest.readers.shared.irregularities import IrregularityCounter

_LARGEST_BYTES = (1 << 32) - 1
_CLASS = re.compile(r"<class '([^']+)'>")
_OF_FUNCTION = re.compile(r"<function (.+?) at 0x[0-9a-fA-F]+>")
_OF_COROUTINE = re.compile(r"<(?:coroutine|(?:async_)?generator) object (.+?) at 0x")
_OF_TASK = re.compile(r"<\w*Task .*?\bcoro=<([^()]+)\(\)")
_NAMES = {
    "type": _CLASS,
    "function": _OF_FUNCTION,
    "builtin_function_or_method": re.compile(r"<built-in (?:function|method) (\S+?)>"),
    "module": re.compile(r"<module '([^']+)'"),
    "coroutine": _OF_COROUTINE,
    "generator": _OF_COROUTINE,
    "async_generator": _OF_COROUTINE,
    "Task": _OF_TASK,
    "_asyncio.Task": _OF_TASK,
}
"""Expressions that find names in the texts of objects, by type."""

_PLACES = {
    "frame": re.compile(r"<frame at .*?, file '(.*?)', line (\d+), code (.+?)>"),
    "code": re.compile(r'<code object (.+?) at .*?, file "(.*?)", line (\d+)>'),
}

_FIELDS = (
    ("function", "code", "__code__"),
    ("function", "dict", "__globals__"),
    ("method", "function", "__func__"),
    ("traceback", "traceback", "tb_next"),
    ("traceback", "frame", "tb_frame"),
    ("frame", "code", "f_code"),
    ("frame", "frame", "f_back"),
    ("Task", "coroutine", "_coro"),
    ("_asyncio.Task", "coroutine", "_coro"),
    ("cell", "", "cell_contents"),
    ("", "traceback", "__traceback__"),
)
"""Fields of runtime objects, by their type and the type of the target."""


def assemble(
    recorded: PyHeapRecords, fold: Fold, counter: IrregularityCounter
) -> HeapGraph:
    """Resolve all ids and make the graph; the columns are freed.

    Raises:
        MalformedDump: the sizes are larger than any memory, or, with ``--strict``,
            anything is irregular.
    """
    objects, type_names, type_ids = _typed(recorded, counter)
    texts = _Texts(recorded)
    table = IdTable(objects.id)
    rows, _ = table.find(type_ids)
    _qualify(type_names, rows, texts)
    values = texts.values(objects.type, type_names, rows)
    del texts
    values, table = resolved(objects, values, table, counter)
    has_largest = bool((objects.size_bytes == _LARGEST_BYTES).any())
    fields = Fields(recorded.names)
    kinds = _Kinds(objects, type_names)
    modules, spaces = _modules(objects, values, kinds)
    kinds.find_owners()
    name_entries(objects, values, spaces, fields, kinds.of("dict"))
    kinds.name_fields(fields)
    roots = PythonRoots(fields)
    roots.add_modules(modules, spaces, objects, values)
    roots.add_stacks(_without_modules(recorded.threads, objects, spaces, fields))
    roots.add(kinds.held_by_nothing(roots, table), RootKind.RUNTIME)
    left_out, columns = Folded(), columns_of(objects)
    if fold is Fold.AUTO:
        is_held = np.zeros(len(objects.id), np.bool_)
        is_dict = kinds.of("dict")
        left_out, columns, values = folded(objects, values, is_held, is_dict, fields)
        del is_held, is_dict
    del objects, kinds, table
    heap = HeapResolver([columns], TypeTable.by_row(type_names, counter), counter)
    return heap.graph(
        roots.columns(),
        format_name=NAME,
        runtime=CPYTHON.name,
        producer="PyHeap",
        notes=_notes(recorded, has_largest=has_largest),
        owners=tuple(roots.owners),
        stacks=ThreadStacks.of(roots.stacks),
        field_names=tuple(fields.names),
        values=values,
        type_object=heap.find(type_ids),
        folded=left_out,
    )


def _notes(recorded: PyHeapRecords, *, has_largest: bool) -> tuple[str, ...]:
    found = [
        "The format has no roots but the locals of functions. Modules, and what no "
        "object refers to, are taken as roots; what C holds otherwise looks as if it "
        "waited for the collector.",
        "Sizes are those of sys.getsizeof, which leave out about a quarter of the "
        "memory.",
    ]
    if not recorded.has_texts:
        found.append(
            "It was written without texts, so that keys of dicts, modules and "
            "functions have no names."
        )
    if has_largest:
        found.append("An object of 4 GiB or more is recorded with 4 GiB.")
    return tuple(found)


def _typed(
    recorded: PyHeapRecords, counter: IrregularityCounter
) -> tuple[PythonObjects, list[str], Ids]:
    """The objects, with the names and ids of their types."""
    columns = recorded.columns
    table = TypeTable(counter, unnamed="<type {:#x}>")
    declared = dict(recorded.types)
    for name, ident in recorded.well_known.items():
        declared.setdefault(ident, name)
    for ident, name in declared.items():
        table.declare(ident, name or f"<type {ident:#x}>")
    own = columns.pop("type_id")
    kinds = table.rows(own)
    ids = np.zeros(len(table.names), np.uint64)
    ids[: len(declared)] = np.array(list(declared), np.uint64)
    ids[kinds] = own
    counts = columns.pop("ref_count")
    objects = PythonObjects(
        id=columns.pop("id"),
        type=kinds,
        size_bytes=columns.pop("size_bytes"),
        refcount=None,
        length=columns.pop("length"),
        is_owner=columns.pop("has_dict"),
        start=starts_of(counts),
        ref_id=columns.pop("ref_id"),
        ref_field=columns.pop("ref_field"),
        target=np.empty(0, np.int32),
    )
    return objects, table.names, ids


class _Texts:
    """Texts of objects, as in the file."""

    def __init__(self, recorded: PyHeapRecords) -> None:
        self._object: Ints = recorded.columns.pop("text_object")
        self._start = np.concatenate([[0], recorded.columns.pop("text_end")])
        self._content = recorded.columns.pop("content").tobytes()

    def of(self, row: int) -> str:
        """The text of an object; empty if it has none."""
        at = int(np.searchsorted(self._object, row))
        if at == len(self._object) or self._object[at] != row:
            return ""
        return self._bytes(at).decode("utf-8", "replace")

    def _bytes(self, at: int) -> bytes:
        return self._content[int(self._start[at]) : int(self._start[at + 1])]

    def values(
        self, kinds: Ints, type_names: Sequence[str], type_rows: Ints
    ) -> ObjectValues:
        """The texts as values: texts, numbers, names.

        Args:
            kinds: int32 (N,). Type of each object.
            type_names: Names of the types.
            type_rows: int32. Rows of the objects that are types.
        """
        own = kinds[self._object]
        is_class = np.isin(self._object, type_rows)
        is_told = is_of(_READERS.keys() | {"str"}, type_names)[own] | is_class
        rows, sizes, found = [], [], []
        told: list[int] = []
        chosen = np.flatnonzero(is_told)
        pairs = zip(
            chosen.tolist(),
            own[chosen].tolist(),
            is_class[chosen].tolist(),
            strict=True,
        )
        for at, kind, is_type in pairs:
            text = self._bytes(at)
            name = "type" if is_type else type_names[kind]
            value = _text(text) if name == "str" else _READERS[name](name, text)
            if value is not None:
                rows.append(at)
                told.append(value[0])
                found.append(value[1])
                sizes.append(len(value[1]))
        return ObjectValues(
            self._object[np.array(rows, np.int64)],
            np.array(told, np.uint8),
            starts_of(np.array(sizes, np.int32)),
            np.frombuffer(b"".join(found), np.uint8),
        )


def _text(text: bytes) -> tuple[int, bytes]:
    if text.isascii():
        return ValueKind.LATIN1, text
    wide = text.decode("utf-8", "replace").encode("utf-16-le", "replace")
    return ValueKind.UTF16, wide


def _integer(_kind: str, text: bytes) -> tuple[int, bytes] | None:
    if not re.fullmatch(rb"-?[0-9]{1,19}", text):
        return None
    value = int(text)
    if not -(1 << 63) <= value < 1 << 63:
        return None
    return ValueKind.INTEGER, value.to_bytes(8, "little", signed=True)


def _float(_kind: str, text: bytes) -> tuple[int, bytes] | None:
    try:
        return ValueKind.DOUBLE, np.float64(text.decode("ascii", "replace")).tobytes()
    except ValueError:
        return None


def _bool(_kind: str, text: bytes) -> tuple[int, bytes] | None:
    if text not in (b"True", b"False"):
        return None
    return ValueKind.BOOLEAN, bytes([text == b"True"])


def _name(kind: str, text: bytes) -> tuple[int, bytes] | None:
    match = _NAMES[kind].match(text.decode("utf-8", "replace"))
    return None if match is None else (ValueKind.NAME, match[1].encode())


def _place(kind: str, text: bytes) -> tuple[int, bytes] | None:
    match = _PLACES[kind].match(text.decode("utf-8", "replace"))
    if match is None:
        return None
    file, line, name = match.groups()
    if kind == "code":
        name, file, line = match.groups()
    return ValueKind.NAME, f"{name} ({file}:{line})".encode()


_READERS = {
    "int": _integer,
    "float": _float,
    "bool": _bool,
    **dict.fromkeys(_NAMES, _name),
    **dict.fromkeys(_PLACES, _place),
}


def _qualify(type_names: list[str], rows: Ints, texts: _Texts) -> None:
    """Put the module before the name of each type whose object tells it."""
    for kind, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        match = _CLASS.fullmatch(texts.of(row))
        plain = type_names[kind]
        if match is not None and (
            match[1].rpartition(".")[2] == plain or plain.startswith("<type 0x")
        ):
            type_names[kind] = match[1]


def _modules(
    objects: PythonObjects, values: ObjectValues, kinds: _Kinds
) -> tuple[list[Module], Ints]:
    """All modules, and the rows of the dicts that they own."""
    rows = np.flatnonzero(kinds.of("module"))
    is_dict = kinds.of("dict")
    names = values.pick(rows)
    found: list[Module] = []
    spaces: list[int] = []
    for row, name in zip(rows.tolist(), names, strict=True):
        targets = objects.target[objects.start[row] : objects.start[row + 1]]
        targets = targets[targets >= 0]
        dicts = targets[is_dict[targets]]
        ident = int(objects.id[row])
        found.append(Module(name or f"module {ident:#x}", ident, 0))
        spaces.append(int(dicts[0]) if len(dicts) else -1)
    objects.is_owner[rows] = True
    return found, np.array(spaces, np.int32)


def _without_modules(
    threads: list[Thread], objects: PythonObjects, spaces: Ints, fields: Fields
) -> list[Thread]:
    """The stacks without local variables of module frames, which are roots already."""
    told: set[tuple[str, int]] = set()
    for space in spaces.tolist():
        if space >= 0:
            part = slice(int(objects.start[space]), int(objects.start[space + 1]))
            rows = objects.ref_field[part].tolist()
            told.update(
                (fields.names[row], ident)
                for row, ident in zip(rows, objects.ref_id[part].tolist(), strict=True)
                if row >= 0
            )
    return [
        Thread(
            thread.name,
            [
                Frame(
                    frame.text,
                    [one for one in frame.locals if one not in told]
                    if frame.text.startswith("<module> (")
                    else frame.locals,
                )
                for frame in thread.frames
            ],
        )
        for thread in threads
    ]


class _Kinds:
    """Objects by the names of their types."""

    def __init__(self, objects: PythonObjects, type_names: list[str]) -> None:
        self._objects, self._names = objects, type_names

    def of(self, name: str) -> Bools:
        """Bool (N,): which objects have the type with that name."""
        return is_of((name,), self._names)[self._objects.type]

    def _unnamed(self) -> Longs:
        """int64: positions of nameless references to objects of the dump."""
        objects = self._objects
        return np.flatnonzero((objects.ref_field == NO_FIELD) & (objects.target >= 0))

    def _sources(self, at: Longs) -> Longs:
        return np.searchsorted(self._objects.start, at, "right") - 1

    def find_owners(self) -> None:
        """Keep as owners only objects with a ``__dict__`` and one nameless dict.

        A function refers to the dict of its module.
        """
        objects = self._objects
        at = self._unnamed()
        at = at[self.of("dict")[objects.target[at]]]
        many = np.bincount(self._sources(at), minlength=len(objects.id))
        objects.is_owner &= (many == 1) & ~self.of("function")

    def name_fields(self, fields: Fields) -> None:
        """Name the references of objects of the runtime's own types."""
        objects = self._objects
        at = self._unnamed()
        source = objects.type[self._sources(at)]
        target = objects.type[objects.target[at]]
        for one, other, name in _FIELDS:
            fits = np.ones(len(at), np.bool_)
            if one:
                fits &= is_of((one,), self._names)[source]
            if other:
                fits &= is_of((other,), self._names)[target]
            fits &= objects.ref_field[at] == NO_FIELD
            if fits.any():
                objects.ref_field[at[fits]] = fields.row(name)
        fits = is_of(("function",), self._names)[source]
        fits &= is_of(("tuple",), self._names)[target]
        at = at[fits]
        if not len(at):
            return
        first = objects.start[objects.target[at]]
        full = first < objects.start[objects.target[at] + 1]
        is_closure = np.zeros(len(at), np.bool_)
        held = objects.target[first[full]]
        is_closure[full] = (held >= 0) & self.of("cell")[held]
        objects.ref_field[at[is_closure]] = fields.row("__closure__")
        objects.ref_field[at[~is_closure]] = fields.row("__defaults__")

    def held_by_nothing(self, roots: PythonRoots, table: IdTable) -> Ids:
        """uint64: ids of objects without referrer or root, except numbers and texts."""
        objects = self._objects
        is_held = is_of(ATOMS, self._names)[objects.type]
        is_held[objects.target[objects.target >= 0]] = True
        rows, _ = table.find(roots.columns().id)
        is_held[rows[rows >= 0]] = True
        return objects.id[~is_held]
