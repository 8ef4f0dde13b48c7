"""From the lines of a Ruby heap dump to a graph: types, names, roots, sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import NO_FIELD, RootKind
from ingest.heap.history import Allocations, History
from ingest.heap.values import ObjectValues, ValueKind
from ingest.readers.ruby import NAME
from ingest.readers.ruby.classes import RubyClasses
from ingest.readers.ruby.fields import FieldNames
from ingest.readers.shared.columns import ObjectColumns, RootColumns, starts_of
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from ingest.runtimes import RUBY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.readers.ruby.records import RubyRecords
    from ingest.readers.shared.irregularities import IrregularityCounter

_ROOT_KINDS = {
    "vm": RootKind.INTERNAL,
    "machine_context": RootKind.LOCAL,
    "global_tbl": RootKind.STATIC,
    "global_list": RootKind.HANDLE,
    "finalizers": RootKind.FINALIZER_QUEUE,
}
"""Any other one is of the runtime: ``end_proc``, ``trap``, ``symbols``."""

_ROOT_NAMES = {"end_proc": "blocks of at_exit", "trap": "blocks of trap"}

_GENERATION_SHIFT = 44
"""Above all bits of an address of user space, of which the last three are 0."""

_BLOCK = 1 << 12

_NO_TRACE = (
    "Allocations were not traced: objects have no file and line, and nothing tells "
    "which of them are the same in two dumps. To trace them, call "
    "ObjectSpace.trace_object_allocations_start when the program begins."
)
_NO_SHAPES = "The dump has no names of variables: Ruby writes them from 3.2 on."


def assemble(
    records: RubyRecords, counter: IrregularityCounter, spill: str
) -> HeapGraph:
    """Resolve all ids and make the graph; frees the columns.

    Raises:
        MalformedDump: the sizes overflow any memory; or, with ``--strict``, anything
            irregular.
    """
    columns = records.columns
    table = _without_repeats(columns, counter)
    start = starts_of(columns["ref_count"])
    classes = RubyClasses(records, start)
    type_names, type_ids = classes.type_rows(columns, counter)
    fields = FieldNames(records, start, table, classes)
    fields.name_variables()
    values = _values(records, classes)
    fields.name_parts(values, type_names)
    names = list(fields.names)
    del start, table, classes, fields
    site = columns.pop("site")
    history = _history(records, columns["id"], site)
    generation = columns.pop("generation")
    further: dict[str, tuple[NDArray[Any], int]] = {
        "length": (columns.pop("length"), -1)
    }
    if history is not None:
        further["identity_hash"] = (_identities(columns["id"], generation), 0)
    del site, generation
    notes = [_NO_TRACE] if history is None else []
    notes += [] if len(columns["shape_id"]) else [_NO_SHAPES]
    roots = _roots(records, names)
    objects = ObjectColumns(
        id=columns.pop("id"),
        type_id=columns.pop("type_id"),
        size_bytes=columns.pop("size_bytes"),
        ref_count=columns.pop("ref_count"),
        ref_id=[columns.pop("ref_id")],
        ref_field=columns.pop("ref_field"),
        line=columns.pop("line"),
        further=further,
    )
    del further
    types = TypeTable.by_row(type_names, counter)
    heap = HeapResolver([objects], types, counter, spill=spill)
    del objects
    return heap.graph(
        roots,
        format_name=NAME,
        runtime=RUBY.name,
        producer="ObjectSpace.dump_all",
        notes=tuple(notes),
        field_names=tuple(names),
        values=values,
        history=history,
        type_object=heap.find(type_ids),
    )


def _without_repeats(
    columns: dict[str, NDArray[Any]], counter: IrregularityCounter
) -> IdTable:
    """Drop objects that repeat an address, and return the table of all."""
    table = IdTable(columns["id"])
    if not len(table.duplicate_of):
        return table
    kept = table.duplicate_of < 0
    counter.add_rows("repeated_object", columns["line"], np.flatnonzero(~kept))
    references = np.repeat(kept, columns["ref_count"])
    for name in ("ref_id", "ref_field"):
        columns[name] = columns[name][references]
    new_row = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, -1).astype(np.int32)
    values = ObjectValues(
        columns["text_row"],
        columns["text_kind"],
        np.concatenate([[0], columns["text_end"]]),
        columns["content"],
    ).renumbered(new_row)
    columns["text_row"], columns["text_kind"] = values.object_index, values.kind
    columns["text_end"], columns["content"] = values.start[1:], values.content
    for row, others in (
        ("class_row", ("class_name", "superclass", "singleton")),
        ("shaped_row", ("shape",)),
        ("data_row", ("struct",)),
    ):
        moved = new_row[columns[row]]
        for name in others:
            columns[name] = columns[name][moved >= 0]
        columns[row] = moved[moved >= 0]
    for name in (
        "id", "type_id", "size_bytes", "ref_count", "length", "line", "site",
        "generation",
    ):  # fmt: skip
        columns[name] = columns[name][kept]
    return IdTable(columns["id"])


def _values(records: RubyRecords, classes: RubyClasses) -> ObjectValues:
    """Texts of strings and symbols; names of classes, and of blocks by their sites."""
    columns = records.columns
    more: dict[int, str] = classes.singleton_names()
    for row in np.flatnonzero(classes.is_block(columns["type_id"])).tolist():
        if (site := int(columns["site"][row])) >= 0:
            place = records.site(site)
            more[row] = f"block in {place.file}:{place.line}"
    values = ObjectValues(
        columns.pop("text_row"),
        columns.pop("text_kind"),
        np.concatenate([[0], columns.pop("text_end")]),
        columns.pop("content"),
    )
    return _with_names(values, more)


def _with_names(values: ObjectValues, names: Mapping[int, str]) -> ObjectValues:
    """The values with names of further objects, which have none among them."""
    rows = np.array(sorted(names), np.int32)
    at = np.searchsorted(values.object_index, rows)
    is_free = np.ones(len(rows), np.bool_)
    inside = at < len(values.object_index)
    is_free[inside] = values.object_index[at[inside]] != rows[inside]
    rows, at = rows[is_free], at[is_free]
    if not len(rows):
        return values
    texts = [names[row].encode("utf-8", "replace") for row in rows.tolist()]
    cuts = values.start[at].tolist()
    pieces: list[NDArray[np.uint8]] = []
    before = 0
    for cut, text in zip(cuts, texts, strict=True):
        pieces += [values.content[before:cut], np.frombuffer(text, np.uint8)]
        before = cut
    pieces.append(values.content[before:])
    sizes = np.insert(np.diff(values.start), at, [len(text) for text in texts])
    return ObjectValues(
        np.insert(values.object_index, at, rows),
        np.insert(values.kind, at, np.uint8(ValueKind.NAME)),
        starts_of(sizes),
        np.concatenate(pieces),
    )


def _roots(records: RubyRecords, names: list[str]) -> RootColumns:
    """The roots; adds those of the runtime by their kinds to the names of fields."""
    columns = records.columns
    texts = columns.pop("root_kind")
    kinds = np.array(
        [_ROOT_KINDS.get(text, RootKind.RUNTIME) for text in records.texts], np.uint8
    )
    field = np.full(len(texts), NO_FIELD, np.int32)
    for text in np.unique(texts[kinds[texts] == RootKind.RUNTIME]).tolist():
        field[texts == text] = len(names)
        names.append(_ROOT_NAMES.get(records.texts[text], records.texts[text]))
    return RootColumns(
        id=columns.pop("root_id"),
        kind=kinds[texts],
        flags=np.zeros(len(texts), np.uint8),
        field=field,
        line=columns.pop("root_line"),
    )


def _history(records: RubyRecords, ids: Ids, site: Ints) -> History | None:
    """Where objects were allocated; ``None`` if that was not traced."""
    rows = np.flatnonzero(site >= 0)
    if not len(rows):
        return None
    sites = map(records.site, range(len(records.site_keys)))
    return History(
        collections=(),
        allocations=Allocations(
            heap=np.zeros(len(rows), np.int32),
            address=ids[rows],
            site=site[rows],
            allocated_ms=None,
            sites=tuple((one.label,) for one in sites),
        ),
    )


def _identities(ids: Ids, generation: Ints) -> Longs:
    """int64: the address, and the collections before the allocation; 0 for nothing.

    Objects do not move, unless the program compacts its heap, and a place is free for
    another object only after a later collection.
    """
    found = generation.astype(np.int64)
    found += 1
    found <<= _GENERATION_SHIFT
    for at in range(0, len(ids), _BLOCK):  # no further column
        found[at : at + _BLOCK] ^= (ids[at : at + _BLOCK] >> np.uint64(3)).view(
            np.int64
        )
    found &= (1 << 63) - 1
    found[generation < 0] = 0
    return found
