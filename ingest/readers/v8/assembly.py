"""From the nodes of a V8 snapshot to a graph: roots, strengths, sizes, fields.

References hold if DevTools counts them as retaining. All others are recorded as weak:
weak references; shortcuts, which stand for other references; references of the runtime
to objects that the page or the program itself holds; and those of a WeakMap to its
values, where the reference from the key, an ephemeron, is strong.

Folding, unless it is turned off. Pseudo nodes (type ``synthetic``) become roots. Sizes
of arrays and hidden nodes that only one node owns are counted with that node, as
DevTools does: the elements of an array with the array.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ingest.heap.graph import EPHEMERON, NO_FIELD, RefKind, RootFlag, RootKind
from ingest.heap.read_options import Fold
from ingest.readers.shared.columns import (
    Folding,
    ObjectColumns,
    RootColumns,
    starts_of,
)
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.readers.v8 import FORMAT, NAME
from ingest.readers.v8.bun import is_of_bun, note, repeated
from ingest.readers.v8.naming import NodeNames, text_lengths
from ingest.readers.v8.numbers import Numbers, missing_values
from ingest.readers.v8.originals import restore
from ingest.readers.v8.rules import (
    Edges,
    EdgeTypes,
    NodeTypes,
    fields,
    give_sizes_to_owners,
    mark_fields,
    mark_page,
    mark_repeated,
    numbers_of,
    repeats_any,
    spread_detachedness,
    strengths,
)
from ingest.readers.v8.sites import allocations
from ingest.runtimes import BUN, V8
from ingest.system.memory import beside
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ints
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.readers.shared.irregularities import IrregularityCounter
    from ingest.readers.v8.document import Snapshot

_EPHEMERON_NAME = re.compile(
    rb"\d+ / part of key \(.*? @\d+\) -> value \(.*? @\d+\) pair in WeakMap "
    rb"\(table @(\d{1,18})\)",
    re.DOTALL,
)
_EPHEMERON_SIGN = b" / part of key ("
_CELL, _HELD_VALUE = "system / WeakCell", "held value"
_TABLE_VALUE = "(value)"
"""The field of a reference from a WeakMap to a value."""

_ROOTS = {
    "(Stack roots)": RootKind.LOCAL,
    "(Handle scope)": RootKind.LOCAL,
    "(Global handles)": RootKind.HANDLE,
    "(Eternal handles)": RootKind.HANDLE,
    "(Traced handles)": RootKind.HANDLE,
    "(Persistent roots)": RootKind.HANDLE,
    "C++ Persistent roots": RootKind.HANDLE,
    "(Strong roots)": RootKind.RUNTIME,
    "(Strong root list)": RootKind.RUNTIME,
    "(Builtins)": RootKind.RUNTIME,
    "(Bootstrapper)": RootKind.RUNTIME,
    "(Compilation cache)": RootKind.RUNTIME,
    "(Debugger)": RootKind.RUNTIME,
    "(Internalized strings)": RootKind.RUNTIME,
    "(Read-only roots)": RootKind.RUNTIME,
    "(Micro tasks)": RootKind.RUNTIME,
}
"""Kinds of roots by their pseudo node; roots of other nodes have kind other."""

_NUMBERED = re.compile(r"\d+ / (.+)", re.DOTALL)
"""The name of a reference from a list of roots: its place and its purpose."""

_FEW_TIMES = 8

_NODE_WORDS = {"concatenated": "concatenated string", "sliced": "sliced string",
    "shape": "object shape"}  # fmt: skip


def assemble(
    snapshot: Snapshot,
    *,
    options: ReadOptions,
    counter: IrregularityCounter,
) -> HeapGraph:
    """Make the graph of a snapshot, which is used up.

    Raises:
        DumpError: values of fields are asked for, and the writer records none.
        MalformedDump: the sizes are larger than any memory, or, with ``--strict``,
            anything is irregular.
    """
    meta, fold = snapshot.meta, options.fold
    kinds = NodeTypes(*_numbers(NodeTypes._fields, meta.node_types, _NODE_WORDS))
    types = EdgeTypes(*_numbers(EdgeTypes._fields, meta.edge_types, {}))
    start = starts_of(snapshot.edge_count)
    edges = Edges(start, snapshot.edge_type, snapshot.edge_name, snapshot.edge_to)
    _put_accessors_last(snapshot, edges, types)
    _settle_detachedness(snapshot, edges, types, kinds)
    nameless = int(np.count_nonzero(snapshot.name >= len(snapshot.strings)))
    counter.add("missing_name", nameless, 0, None)
    # One more for the strings that a truncated file lacks.
    np.minimum(snapshot.name, len(snapshot.strings), out=snapshot.name)
    stays = _without_repeats(snapshot, counter)
    maps = _weak_maps(snapshot, edges, types)
    # Work that needs no names, in parallel with them.
    with beside(partial(_folded, snapshot, edges, types, kinds, fold, maps)) as folding:
        names = NodeNames(snapshot, edges, kinds, types)
        closures = np.flatnonzero(snapshot.type == kinds.closure).astype(np.int32)
        scripts = names.scripts_of(closures)
        sources, said = None, list[str]()
        if options.source_map is not None:
            sources, said = restore(
                snapshot, edges, types, closures, scripts, options.source_map
            )
            names = NodeNames(snapshot, edges, kinds, types)
        names.name_scopes(closures, scripts, sources)
        names.name_exports()
        numbers = Numbers.of(snapshot, edges, kinds, types)
        values = names.values(
            closures, scripts, sources, numbers=numbers,
            with_synthetic=fold is Fold.NONE,
        )  # fmt: skip
        kind, notes, pseudo = folding()
        notes += said
    stays[pseudo] = fold is Fold.NONE
    stays[numbers.texts] &= fold is Fold.NONE
    producer, lacking = _writer(snapshot, edges, types, kinds)
    notes += lacking
    if options.values:
        notes += missing_values(numbers, producer)
    if producer == "Bun":
        kind[repeated(snapshot, edges)] = RefKind.WEAK
    field_names = _name_fields(snapshot, edges, types, kind, maps)
    roots = _PseudoNodes(names, edges, kind, field_names, stays)
    found = roots.of(pseudo) if fold is Fold.AUTO else roots.of_first()
    history = allocations(snapshot)
    columns = _object_columns(snapshot, names, kinds, kind)
    type_names = names.type_names
    del names, roots, edges, snapshot, closures, scripts, kind
    types_by_row = TypeTable.by_row(type_names, counter)
    heap = HeapResolver(
        [columns], types_by_row, counter, by_row_number=0,
        folding=Folding(stays, makes_roots=fold is Fold.AUTO),
    )  # fmt: skip
    del columns
    return heap.graph(
        found,
        format_name=NAME,
        records_garbage=FORMAT.records_garbage,
        runtime=_RUNTIMES[producer],
        producer=producer,
        is_redacted=meta.is_redacted,
        field_names=tuple(field_names),
        history=history,
        values=None if values is None else values.renumbered(heap.new_row),
        spaces=tuple(meta.node_types),
        notes=tuple(notes),
    )


_RUNTIMES = {"V8": V8.name, "Bun": BUN.name, "Julia": ""}
"""Runtimes by the programs that write snapshots."""


def _writer(
    snapshot: Snapshot, edges: Edges, types: EdgeTypes, kinds: NodeTypes
) -> tuple[str, list[str]]:
    """The program that wrote a snapshot, and notes on what it leaves out."""
    if snapshot.meta.is_of_julia:
        return "Julia", []
    if is_of_bun(snapshot, edges, kinds):
        return "Bun", [note(snapshot, edges, types, kinds)]
    return "V8", []


class _WeakMaps(NamedTuple):
    """References to values of WeakMaps: two of each, from its key and from the table.

    Attributes:
        pairs: Names of these edges: one for each value.
        of_tables: int64. The edges from tables, which do not hold.
    """

    pairs: frozenset[int]
    of_tables: NDArray[np.int64]


def _weak_maps(snapshot: Snapshot, edges: Edges, types: EdgeTypes) -> _WeakMaps:
    """Find the edges to values of WeakMaps."""
    strings = snapshot.strings
    content = strings.content[: strings.used].data
    table_of: dict[int, int] = {}
    for sign in re.finditer(re.escape(_EPHEMERON_SIGN), content):
        row = int(np.searchsorted(strings.end, sign.start(), "right"))
        if row in table_of:
            continue
        if match := _EPHEMERON_NAME.fullmatch(strings.raw(row)):
            table_of[row] = int(match[1])
    if not table_of:
        return _WeakMaps(frozenset(), np.empty(0, np.int64))
    is_pair = np.zeros(len(strings) + 1, np.bool_)
    is_pair[list(table_of)] = True
    at = np.flatnonzero(edges.type == types.internal)
    at = at[is_pair[np.minimum(edges.name[at], len(strings))]]
    source = snapshot.id[np.searchsorted(edges.start, at, "right") - 1]
    table = np.array([table_of[n] for n in edges.name[at].tolist()], np.uint64)
    return _WeakMaps(frozenset(table_of), at[source == table])


def _folded(
    snapshot: Snapshot,
    edges: Edges,
    types: EdgeTypes,
    kinds: NodeTypes,
    fold: Fold,
    weak_maps: _WeakMaps,
) -> tuple[Bytes, list[str], NDArray[np.int64]]:
    """Find the strengths of edges; count sizes with owners, if folding is on.

    Returns:
        uint8 (E,): the `RefKind` of each edge; notes about the heap; and int64: the
        pseudo nodes, of which node 0 is the first.
    """
    kind = _strengths(snapshot, edges, types, kinds, weak_maps)
    notes = []
    pseudo = np.zeros(1, np.int64)
    if fold is Fold.AUTO:
        if moved := _give_sizes(snapshot, edges, types, kinds):
            notes.append(
                f"{human_bytes(moved)} of arrays and hidden objects are counted with "
                "the objects that they are part of, as DevTools does"
            )
        others = np.flatnonzero(snapshot.type[1:] == kinds.synthetic) + 1
        pseudo = np.concatenate([pseudo, others])
    if native := snapshot.meta.extra_native_bytes:
        notes.append(
            f"{human_bytes(native)} of native memory belong to none of its objects"
        )
    return kind, notes, pseudo


def _object_columns(
    snapshot: Snapshot, names: NodeNames, kinds: NodeTypes, kind: Bytes
) -> ObjectColumns:
    """The nodes as columns for the resolver."""
    further: dict[str, tuple[NDArray[Any], int]] = {}
    strings = snapshot.type == kinds.string
    if strings.any() and len(snapshot.strings):
        length = np.full(len(strings), -1, np.int64)
        rows = np.flatnonzero(strings & (snapshot.name < len(snapshot.strings)))
        length[rows] = text_lengths(snapshot.strings, snapshot.name[rows])
        further["length"] = length, -1
    further["space"] = snapshot.type.view(np.int8), -1
    return ObjectColumns(
        id=snapshot.id,
        type_id=names.type_row,
        size_bytes=snapshot.size_bytes,
        ref_count=snapshot.edge_count,
        ref_id=[snapshot.edge_to],
        ref_field=snapshot.edge_name,
        ref_kind=kind,
        further=further,
    )


def _numbers(
    names: tuple[str, ...], known: list[str], words: dict[str, str]
) -> list[int]:
    """The number of each name in a list of types; -1 for a name that is not in it."""
    # Julia writes "String".
    place = {name.lower(): at for at, name in reversed(list(enumerate(known)))}
    return [place.get(words.get(name, name), -1) for name in names]


def _settle_detachedness(
    snapshot: Snapshot, edges: Edges, types: EdgeTypes, kinds: NodeTypes
) -> None:
    """Find which native nodes are detached from documents."""
    if snapshot.detachedness.any():
        n = len(snapshot.type)
        spread_detachedness(
            edges, types, snapshot.type, kinds.native, snapshot.detachedness,
            np.zeros(n, np.bool_), np.empty(n, np.int32),
        )  # fmt: skip


def _strengths(
    snapshot: Snapshot,
    edges: Edges,
    types: EdgeTypes,
    kinds: NodeTypes,
    weak_maps: _WeakMaps,
) -> Bytes:
    """uint8 (E,): the `RefKind` of each edge."""
    n = len(snapshot.type)
    kind = np.full(len(edges.to), RefKind.STRONG, np.uint8)
    kind[weak_maps.of_tables] = RefKind.WEAK
    is_page = np.zeros(n, np.bool_)
    first = _of_page(snapshot, edges, types, kinds)
    mark_page(edges, types.weak, kind, first, is_page, np.empty(n, np.int32))
    strengths(edges, types, is_page, kind)
    return kind


def _of_page(
    snapshot: Snapshot, edges: Edges, types: EdgeTypes, kinds: NodeTypes
) -> Ints:
    """int32: the global objects, and what has the trees of documents."""
    own = slice(edges.start[0], edges.start[1])
    to, kind = edges.to[own], edges.type[own]
    trees = snapshot.strings.find("(Document DOM trees)")
    has_trees = (snapshot.type[to] == kinds.synthetic) & (snapshot.name[to] == trees)
    is_first = (kind == types.shortcut) | (kind == types.element) & has_trees
    return np.unique(to[is_first]).astype(np.int32)


def _without_repeats(
    snapshot: Snapshot, counter: IrregularityCounter
) -> NDArray[np.bool_]:
    """Bool (N,): nodes without an earlier node of the same id."""
    stays = np.ones(len(snapshot.id), np.bool_)
    # V8's ids grow with the allocations of the process. A table up to the highest id
    # often costs less than hashing.
    highest = int(snapshot.id.max())
    if highest < _FEW_TIMES * len(snapshot.id) and not repeats_any(
        snapshot.id, np.zeros(highest + 1, np.bool_)
    ):
        return stays
    table = IdTable(snapshot.id)
    if len(table.duplicate_of):
        repeated = table.duplicate_of >= 0
        repeated[0] = False
        stays[repeated] = False
        counter.add("repeated_object", int(np.count_nonzero(repeated)), 0, None)
    return stays


def _give_sizes(
    snapshot: Snapshot, edges: Edges, types: EdgeTypes, kinds: NodeTypes
) -> int:
    """Count sizes with owners; return the bytes that moved to another node."""
    first = edges.to[edges.start[0] : edges.start[1]]
    if not (snapshot.type[first] != kinds.synthetic).any():
        return 0  # made with internals exposed, so everything stays as recorded
    is_part = (snapshot.type == kinds.hidden) | (snapshot.type == kinds.array)
    if (outside := snapshot.strings.find("system / ExternalStringData")) >= 0:
        is_part |= (snapshot.type == kinds.native) & (snapshot.name == outside)
    return int(
        give_sizes_to_owners(
            edges,
            types.weak,
            snapshot.type,
            kinds.synthetic,
            is_part,
            snapshot.size_bytes,
            np.empty(len(is_part), np.int32),
            np.empty(1 + 2 * int(np.count_nonzero(is_part)), np.int32),
        )
    )


def _name_fields(
    snapshot: Snapshot,
    edges: Edges,
    types: EdgeTypes,
    kind: Bytes,
    weak_maps: _WeakMaps,
) -> list[str]:
    """Replace names of edges by fields, and make edges that repeat others weak.

    Returns:
        The names of fields.
    """
    strings = snapshot.strings
    row_of = np.full(len(strings), NO_FIELD, np.int32)
    number_of = np.full(len(strings), -1, np.int32)
    numbers_of(strings.content, strings.end, number_of)
    is_used = np.zeros(len(strings) + 1, np.bool_)
    mark_fields(edges, types, number_of, is_used)
    pairs = weak_maps.pairs
    names: list[str] = [EPHEMERON, _TABLE_VALUE] if pairs else []
    known: dict[str, int] = {name: row for row, name in enumerate(names)}
    for name in np.flatnonzero(is_used[:-1]).tolist():
        if name in pairs:
            row_of[name] = 0
            continue
        text = strings.text(name)
        if not text:
            continue  # edges of Bun that only repeat the one beside them
        row = known.setdefault(text, len(names))
        if row == len(names):
            names.append(text)
        row_of[name] = row
    held_values = _held_values(snapshot, edges, types)
    repeated = np.concatenate(
        (_repeated(snapshot, edges, types), _in_tables(snapshot, edges, types))
    )
    fields(edges, types, row_of, number_of, NO_FIELD)
    kind[repeated] = RefKind.WEAK
    if len(held_values):
        edges.name[held_values] = len(names)
        names.append(_HELD_VALUE)
    edges.name[weak_maps.of_tables] = names.index(_TABLE_VALUE) if pairs else NO_FIELD
    return names


def _of_nodes(snapshot: Snapshot, edges: Edges, name: str) -> NDArray[np.int64]:
    """int64: the edges of the nodes with a name."""
    row = snapshot.strings.find(name)
    if row < 0:
        return np.empty(0, np.int64)
    nodes = np.flatnonzero(snapshot.name == row)
    count = edges.start[nodes + 1] - edges.start[nodes]
    first = np.repeat(edges.start[nodes] - np.cumsum(count) + count, count)
    return np.asarray(first + np.arange(len(first)), np.int64)


def _held_values(
    snapshot: Snapshot, edges: Edges, types: EdgeTypes
) -> NDArray[np.int64]:
    """int64: the edges to the held values of FinalizationRegistries.

    A cell refers by number to the registry, the value, and the cells before and after.
    """
    at = _of_nodes(snapshot, edges, _CELL)
    at = at[edges.type[at] == types.hidden]
    others = (_CELL, "FinalizationRegistry", "system / Oddball")
    known = [snapshot.strings.find(name) for name in others]
    return np.asarray(at[~np.isin(snapshot.name[edges.to[at]], known)])


def _repeated(snapshot: Snapshot, edges: Edges, types: EdgeTypes) -> NDArray[np.int64]:
    """int64: the edges to values of globals that are also recorded as properties.

    V8 records a global variable as a property of the global object, and again through
    the cell that has its value.
    """
    value = snapshot.strings.find("value")
    at = _of_nodes(snapshot, edges, "system / PropertyCell")
    at = at[(edges.type[at] == types.internal) & (edges.name[at] == value)]
    is_value = np.zeros(len(snapshot.type), np.bool_)
    for own in _globals(snapshot, edges, types) if len(at) else ():
        is_value[edges.to[own][edges.type[own] == types.property]] = True
    return np.asarray(at[is_value[edges.to[at]]])


_TABLES = ("(object properties)", "system / PropertyArray")


def _in_tables(snapshot: Snapshot, edges: Edges, types: EdgeTypes) -> NDArray[np.int64]:
    """int64: the edges of tables of properties that objects also have as such.

    V8 records what an object has in a table twice, as that of ``process``, or what a
    library has put into a document.
    """
    field, *tables = map(snapshot.strings.find, ("properties", *_TABLES))
    if field < 0:
        return np.empty(0, np.int64)
    at = np.flatnonzero((edges.type == types.internal) & (edges.name == field))
    at = at[
        np.isin(snapshot.name[edges.to[at]], [name for name in tables if name >= 0])
    ]
    owner = np.searchsorted(edges.start, at, "right") - 1
    is_repeated = np.zeros(len(edges.to), np.bool_)
    mark_repeated(
        edges, types.property, owner.astype(np.int64),
        edges.to[at].astype(np.int64),
        np.full(len(snapshot.type), -1, np.int64), is_repeated,
    )  # fmt: skip
    return np.flatnonzero(is_repeated)


def _globals(snapshot: Snapshot, edges: Edges, types: EdgeTypes) -> Iterator[slice]:
    """The edges of each global object."""
    proxy = snapshot.strings.find("global_proxy")
    if proxy < 0:
        return
    named = np.flatnonzero((edges.name == proxy) & (edges.type == types.internal))
    for node in np.unique(np.searchsorted(edges.start, named, "right") - 1).tolist():
        yield slice(*edges.start[node : node + 2].tolist())


def _put_accessors_last(snapshot: Snapshot, edges: Edges, types: EdgeTypes) -> None:
    """Put references of globals to accessors behind the others.

    V8 keeps the properties of a global by hashes that differ from process to process.
    Of equally short paths the one by an earlier reference is shown, and an accessor
    such as ``get process`` tells least of what keeps an object.
    """
    texts = snapshot.strings
    for own in _globals(snapshot, edges, types):
        is_last = [
            kind == types.property
            and name < len(texts)
            and texts.raw(name).startswith((b"get ", b"set "))
            for kind, name in zip(
                edges.type[own].tolist(), edges.name[own].tolist(), strict=True
            )
        ]
        order = np.argsort(is_last, kind="stable")
        for column in (edges.type, edges.name, edges.to):
            column[own] = column[own][order]


class _PseudoNodes:
    """The roots of a snapshot: the references of its pseudo nodes.

    Args:
        names: Texts of the snapshot.
        edges: The edges, with fields as names.
        kind: uint8 (E,). Their strengths.
        field_names: Names of fields; more are added.
        stays: bool (N,). False for pseudo nodes.
    """

    def __init__(
        self,
        names: NodeNames,
        edges: Edges,
        kind: Bytes,
        field_names: list[str],
        stays: NDArray[np.bool_],
    ) -> None:
        self._names, self._edges, self._kind = names, edges, kind
        self._field_names, self._stays = field_names, stays

    def of_first(self) -> RootColumns:
        """The first node as the only root."""
        return RootColumns(
            id=np.zeros(1, np.int32),
            kind=np.full(1, RootKind.INTERNAL, np.uint8),
            flags=np.zeros(1, np.uint8),
        )

    def of(self, pseudo: NDArray[np.int64]) -> RootColumns:
        """The references of pseudo nodes as roots."""
        found: list[tuple[Ints, Bytes, Bytes, Ints]] = []
        edges = self._edges
        for node in pseudo.tolist():
            begin, end = edges.start[node : node + 2].tolist()
            at = begin + np.flatnonzero(self._stays[edges.to[begin:end]])
            if not len(at):
                continue
            name = self._names.node_name(node)
            kind = _ROOTS.get(name, RootKind.OTHER)
            field = edges.name[at].copy()
            if node == 0:
                field[:] = NO_FIELD  # global objects, by number
            elif name and (field < 0).any():
                # The name of a list of roots says something, numbers in it do not.
                field[field < 0] = self._field(name)
            self._drop_places(field)
            flags = np.where(self._kind[at] == RefKind.WEAK, RootFlag.WEAK, 0)
            found.append(
                (
                    edges.to[at],
                    np.full(len(at), kind, np.uint8),
                    flags.astype(np.uint8),
                    field,
                )
            )
        if not found:
            none = np.empty(0, np.int32)
            return RootColumns(
                id=none, kind=none.astype(np.uint8), flags=none.astype(np.uint8)
            )
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        field = columns[3]
        field[field < 0] = NO_FIELD
        return RootColumns(
            id=columns[0], kind=columns[1], flags=columns[2], field=field
        )

    def _drop_places(self, field: Ints) -> None:
        """Name roots by their purpose, since their places differ from dump to dump."""
        rows, at = np.unique(field, return_inverse=True)
        known: dict[str, int] = {}
        for place, row in enumerate(rows.tolist()):
            if row >= 0 and (found := _NUMBERED.fullmatch(self._field_names[row])):
                if found[1] not in known:
                    known[found[1]] = self._field(found[1])
                rows[place] = known[found[1]]
        field[:] = rows[at]

    def _field(self, name: str) -> int:
        names = self._field_names
        if name not in names[-64:]:
            names.append(name)
        return len(names) - 1 - names[::-1].index(name)
