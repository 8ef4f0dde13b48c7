"""The dominator tree folded over the types that are not the program's own.

Each object has an *owner*: the nearest object of an owning type that dominates it, or
`ROOT`. What an owner refers to leads to its objects through containers, delegates and
values of the runtime; the first of these is the object's *entry*.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE, search_roots
from ingest.analysis.types import rows_where
from ingest.arrays.compiled import kernel
from ingest.arrays.search import place_of
from ingest.arrays.spans import rows_in
from ingest.heap.graph import NO_TYPE, OF_LOADER, RefKind, RootKind
from ingest.runtimes import TypeClass, named
from ingest.system.memory import in_ranges
from ingest.what_if.places import described_types, statics_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools, Bytes, Ints
    from ingest.heap.graph import HeapGraph

_UNKNOWN = -3

_OWNS, _IS_METADATA, _IS_ROOT, _STANDS, _IS_SCOPE, _LINKS = 1, 2, 4, 8, 16, 32


class Ownership(NamedTuple):
    """Owners of the N objects and M placeholders of a heap.

    Attributes:
        owner: int32 (N + M,). The owner, `ROOT` or `UNREACHABLE`, also for what weak,
            finalizer and phantom references alone lead to. Objects of one type that
            own one another, such as the nodes of a list, all have the owner of the
            first one.
        entry: int32 (N + M,). The object that is, or dominates, this one, and that the
            owner dominates immediately. It is stored as ``-1 - entry`` for an object of
            an owning type that another object of the same type owns.
        is_metadata: bool (N + M,). Whether the object is the runtime's metadata, or
            a value that only metadata dominates; without `texts_of_code`, and without
            the variables of functions, which a call of the program may have made.
    """

    owner: Ints
    entry: Ints
    is_metadata: Bools


@kernel
def _fill(
    dominator: Ints,
    type_index: Ints,
    flags: Bytes,
    is_table: Bools,
    is_static: Bools,
    owner: Ints,
    entry: Ints,
    is_metadata: Bools,
) -> None:
    """Fill the columns of an `Ownership`; ``owner`` is `_UNKNOWN` at first.

    ``flags`` has a row for each type, and a last one of 0 for placeholders, which have
    type -1. ``is_table`` marks arrays of static fields, and ``is_static`` what is in
    those of class objects.
    """
    for first in range(len(dominator)):
        # Climb to an object that is done; ``entry`` links back to where we came from.
        row, below = first, -1
        while row != ROOT and owner[row] == _UNKNOWN:
            if dominator[row] == UNREACHABLE:
                owner[row] = UNREACHABLE
                entry[row] = row
                break
            entry[row] = below
            below, row = row, dominator[row]
        while below >= 0:
            row, below = below, entry[below]
            above = dominator[row]
            own = flags[type_index[row]]
            if above == ROOT:
                is_metadata[row] = (own & _IS_METADATA) != 0
                owner[row], entry[row] = ROOT, row
                continue
            over = flags[type_index[above]]
            is_metadata[row] = (own & _IS_METADATA) != 0 or (
                is_metadata[above]
                and (own & (_OWNS | _IS_SCOPE)) == 0
                and (over & _LINKS) == 0
                and not is_static[row]
            )
            stands_for_roots = (over & _IS_ROOT) != 0 or is_table[above]
            if stands_for_roots and owner[above] == ROOT and entry[above] == above:
                found, at = ROOT, row
            elif (over & _OWNS) != 0:
                found, at = above, row
            else:
                found, at = owner[above], entry[above]
            if (
                (own & _OWNS) != 0
                and (own & _STANDS) == 0
                and found >= 0
                and type_index[found] == type_index[row]
            ):
                at = entry[found]
                at = at if at < 0 else -1 - at
                found = owner[found]
            owner[row], entry[row] = found, at


def unloads_types(graph: HeapGraph) -> bool:
    """Whether types of one name may be of several loaders, which can be unloaded."""
    return OF_LOADER in graph.field_names or named(graph.runtime).unloads_types


def with_types_by_name(graph: HeapGraph) -> HeapGraph:
    """The heap with one type for all of a name, where loaders can be unloaded.

    Each loader of an application that was loaded again and again has types of its own,
    as has each load context of a plug-in.
    """
    if not unloads_types(graph):
        return graph
    first: dict[str, int] = {}
    row = [first.setdefault(name, i) for i, name in enumerate(graph.type_names)]
    if len(first) == len(row):
        return graph
    # The last one is for placeholders.
    of_name = np.array([*row, NO_TYPE], np.int32)
    return replace(graph, type_index=of_name[graph.type_index])


def statics_of_program(graph: HeapGraph, own: Sequence[str] = ()) -> Bools:
    """Bool (R,): static fields and module variables that are no library's.

    Where the dump has no type for one, its name begins with that of its module, if it
    is known.

    Args:
        graph: The heap.
        own: Globs, as `ingest.runtimes.Runtime.type_classes` takes them.
    """
    is_static = np.isin(graph.root_kind, (RootKind.STATIC, RootKind.THREAD_STATIC))
    runtime = named(graph.runtime)
    of_types = runtime.type_classes(graph.type_names, own) == TypeClass.PROGRAM
    is_own = np.append(of_types, True)[graph.root_type]
    if graph.root_field is not None:
        has_name = is_static & (graph.root_type < 0) & (graph.root_field >= 0)
        fields, row = np.unique(graph.root_field[has_name], return_inverse=True)
        names = [graph.field_names[field] for field in fields.tolist()]
        of_fields = runtime.type_classes(names, own) == TypeClass.PROGRAM
        is_own[has_name] = of_fields[row]
    return np.asarray(is_static & is_own)


def from_owners(
    graph: HeapGraph, metrics: HeapMetrics, own: Sequence[str] = ()
) -> HeapMetrics:
    """The metrics with paths from the best owners instead of shortest ones."""
    best = statics_of_program(graph, own)
    reach = search_roots(graph, metrics.policy, best=best)
    return replace(metrics, root_distance=reach.distance, path_parent=reach.parent)


def _statics(graph: HeapGraph) -> Bools:
    """Bool (N + M,): what is in static fields of class objects, and in variables."""
    found = np.zeros(len(graph.object_id), np.bool_)
    if graph.ref_field is None:
        return found
    is_field = np.array(
        [not name.startswith("<") for name in graph.field_names], np.bool_
    )
    rows = np.fromiter(described_types(graph), np.int64)
    _mark(graph, rows, is_field, found)
    runtime = named(graph.runtime)
    asked = {name for name in (*runtime.holders, runtime.variables_type) if name}
    for kind, name in enumerate(graph.type_names):
        if name not in asked:
            continue
        if runtime.type_classes([name])[0] != TypeClass.METADATA:
            continue
        words = runtime.holders.get(name)
        rows = np.flatnonzero(graph.type_index == kind)
        if words:
            # Of its other fields its own name is told.
            told = {field for field, text in words.items() if text != "{name}"}
            is_field = np.array([name in told for name in graph.field_names], np.bool_)
            rows = rows[_are_of_program(graph, rows)]
        _mark(graph, rows, is_field if words else None, found)
    _mark_collections(graph, found)
    return found


def _mark_collections(graph: HeapGraph, found: Bools) -> None:
    """Mark the collections in variables of the runtime's own modules.

    Each may have something for each of the program's calls.
    """
    runtime, names = named(graph.runtime), graph.type_names
    if not runtime.module_prefix:
        return
    is_module = runtime.type_classes(names) == TypeClass.METADATA
    is_module &= [name.startswith(runtime.module_prefix) for name in names]
    rows = np.flatnonzero(np.append(is_module, False)[graph.type_index])
    in_variables = np.zeros(len(found), np.bool_)
    _mark(graph, rows, None, in_variables)
    word = re.compile("|".join(runtime.patterns[one] for one in ("map", "list")))
    is_one = [word.search(name) is not None for name in names]
    found |= in_variables & np.array([*is_one, False], np.bool_)[graph.type_index]


def _are_of_program(graph: HeapGraph, rows: NDArray[np.int64]) -> Bools:
    """Whether class objects are of the program or a package of it, by their names."""
    runtime = named(graph.runtime)
    values = [""] * len(rows) if graph.values is None else graph.values.pick(rows)
    texts = [text or "" for text in values]
    within = runtime.type_classes([f"{text}::" for text in texts])
    is_own = runtime.type_classes(texts) == TypeClass.PROGRAM
    is_own &= within == TypeClass.PROGRAM  # no module of a library
    is_own |= np.array([text == runtime.top_class for text in texts], np.bool_)
    return np.asarray(is_own)


def _mark(
    graph: HeapGraph, rows: NDArray[np.int64], is_field: Bools | None, found: Bools
) -> None:
    """Mark what objects have in some fields, or all that they have."""
    assert graph.ref_field is not None
    begin = graph.ref_start[rows]
    held = rows_in(begin, graph.ref_start[rows + 1] - begin)
    if is_field is not None:
        fields = graph.ref_field[held]
        held = held[(fields >= 0) & is_field[np.maximum(fields, 0)]]
    found[graph.ref_target[held]] = True


def ownership(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    stands: Bools,
    *,
    libraries_own: bool = False,
) -> Ownership:
    """Owners of all objects.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        stands: Bool (T + 1,). Types whose objects stand for parts of the program, such
            as classes: what one of them has in a field is no list of its own.
        libraries_own: Whether values of libraries are owners too, not only the
            program's objects.
    """
    flags = np.zeros(len(classes) + 1, np.uint8)
    owns = classes == TypeClass.PROGRAM
    if libraries_own:
        owns |= classes == TypeClass.LIBRARY
    flags[:-1] = (
        owns * _OWNS
        + (classes == TypeClass.METADATA) * _IS_METADATA
        + (classes == TypeClass.ROOTS) * _IS_ROOT
        + stands[:-1] * _STANDS
    )
    runtime, names = named(graph.runtime), graph.type_names
    flags[:-1] += np.isin(names, runtime.links) * np.uint8(_LINKS)
    if prefix := runtime.scope_prefix:
        are_scopes = [name.startswith(prefix) for name in names]
        flags[:-1] += np.array(are_scopes, np.bool_) * np.uint8(_IS_SCOPE)
    rows = len(metrics.dominator)
    is_table = np.zeros(rows, np.bool_)
    is_table[graph.root_object[statics_tables(graph)]] = True
    found = Ownership(
        np.full(rows, _UNKNOWN, np.int32),
        np.empty(rows, np.int32),
        np.zeros(rows, np.bool_),
    )
    kinds = _kinds(graph)
    _fill(metrics.dominator, kinds, flags, is_table, _statics(graph), *found)
    if metrics.strength is not None:
        found.owner[metrics.strength >= RefKind.WEAK] = UNREACHABLE
    return found


def _kinds(graph: HeapGraph) -> Ints:
    """int32 (N + M,): types, with the links of a future as of the future's type.

    By these the runtime leads from one, such as a promise, to what waits for it.
    """
    kinds, runtime = graph.type_index, named(graph.runtime)
    for name, (field, link, *_) in runtime.waiting.items():
        if field is None or link is None or link not in graph.type_names:
            continue
        if runtime.type_classes([link])[0] != TypeClass.METADATA:
            continue
        rows = _targets(graph, {name: field})
        rows = rows[graph.type_index[rows] == graph.type_names.index(link)]
        if len(rows):
            kinds = kinds.copy()
            kinds[rows] = graph.type_names.index(name)
    return kinds


def texts_of_code(graph: HeapGraph) -> tuple[NDArray[np.int32], Bools]:
    """int32: texts of code; bool: which of them only their parts have besides.

    Functions that a library asked for their text have such parts.
    """
    of_code, of_parts = named(graph.runtime).code_texts
    from_code = _targets(graph, of_code)
    texts = np.unique(from_code)
    if not len(texts):
        return texts, np.empty(0, np.bool_)
    is_text = np.zeros(len(graph.type_index), np.bool_)
    is_text[texts] = True
    every = np.bincount(graph.ref_target[is_text[graph.ref_target]])
    for targets in (from_code, _targets(graph, of_parts)):
        every -= np.bincount(targets[is_text[targets]], minlength=len(every))
    return texts, every[texts] == 0


def _targets(graph: HeapGraph, fields: Mapping[str, str]) -> NDArray[np.int32]:
    """int32: what fields of objects refer to, given by type; with repetitions."""
    found = [np.zeros(0, np.int32)]
    if graph.ref_field is not None:
        for type_name, name in fields.items():
            if type_name in graph.type_names and name in graph.field_names:
                kind = graph.type_names.index(type_name)
                rows = np.flatnonzero(graph.ref_field == graph.field_names.index(name))
                rows = rows[graph.type_index[graph.sources(rows)] == kind]
                found.append(graph.ref_target[rows])
    return np.concatenate(found)


@kernel
def _mark_owned(
    owner: Ints,
    entry: Ints,
    owners: Ints,
    container: int,
    is_owned: Bools,
    first: int,
    end: int,
) -> None:
    """Mark objects that others own, in one container or, if it is -1, anywhere.

    The entry of an object below another one of its type is ``-1 - entry``.
    """
    for row in range(first, end):
        is_there = container < 0 or entry[row] in (container, -1 - container)
        is_owned[row] = is_there and place_of(owners, owner[row]) >= 0


def owned(
    level: Ownership, owners: list[int], container: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The objects that some objects own.

    Memory: 9 bytes an object, and 1 for each of the heap.

    Args:
        level: Owners of objects.
        owners: The objects, in any order.
        container: The only entry whose objects are wanted; ``None`` for all.

    Returns:
        The objects; the entry of each; whether one of its type is above it.
    """
    is_owned = np.zeros(len(level.owner), np.bool_)
    of, only = np.array(owners, np.int32), -1 if container is None else container
    columns = level.owner, level.entry, np.sort(of), only, is_owned
    in_ranges(lambda *rows: _mark_owned(*columns, *rows), 0, len(is_owned))
    rows = rows_where(is_owned)
    del is_owned
    entry = level.entry[rows]
    is_inner = entry < 0
    np.invert(entry, out=entry, where=is_inner)  # ~entry is -1 - entry
    return rows, entry, is_inner
