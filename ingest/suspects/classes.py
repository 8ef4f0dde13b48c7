"""Which types are the program's own, as their names and their objects tell it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.fingerprints import normalised_type
from ingest.analysis.types import rows_where, supertypes
from ingest.heap.graph import NO_TYPE
from ingest.runtimes import TypeClass, TypeColumns, named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_MANY_MORE, _MANY_CLASSES = 2, 500

_NUMBER = re.compile(r"\d+")

_IS_COLLECTION = re.compile(r"(?:Bag|Deque|Hash|List|Map|Queue|Set|Stack|Table)\d*$")
"""A type that is called a collection."""


def _set_by_scripts(graph: HeapGraph, classes: NDArray[np.uint8]) -> None:
    """Class types by the scripts of their constructors, which names do not tell.

    A class of a library's script is no class of the program, nor is one of that name
    that is built in. A program may have a class with the name of one of the runtime's,
    such as ``Request``.
    """
    runtime = named(graph.runtime)
    prototype = runtime.prototype_type or None
    if graph.values is None or prototype not in graph.type_names:
        return
    rows = rows_where(graph.type_index == graph.type_names.index(prototype))
    asked = (TypeClass.PROGRAM, TypeClass.LIBRARY)
    wanted = np.flatnonzero(np.isin(classes, asked)).tolist()
    kinds = {graph.type_names[kind]: kind for kind in wanted}
    found: dict[int, list[str]] = defaultdict(list)
    for row, name in zip(rows.tolist(), graph.values.pick(rows), strict=True):
        if name not in kinds:
            continue
        begin, end = graph.ref_start[row : row + 2].tolist()
        of = [at for at in range(begin, end) if graph.field_name(at) == "constructor"]
        places = graph.values.pick(graph.ref_target[of])
        found[kinds[name]] += [place or "" for place in places]
    for kind, texts in found.items():
        in_library = re.compile(runtime.library_scripts or "(?!)").search
        of_library = list(filter(in_library, texts))
        others = set(texts) - set(of_library)
        unplaced = runtime.library_functions or "(?!)"
        is_placed = any(not re.search(unplaced, place) for place in others)
        if is_placed:
            is_exact = graph.type_names[kind] in runtime.library
            if classes[kind] == TypeClass.LIBRARY and is_exact:
                classes[kind] = TypeClass.PROGRAM
        elif of_library:
            classes[kind] = TypeClass.LIBRARY


def classes_of(
    graph: HeapGraph, metrics: HeapMetrics, own: Sequence[str]
) -> NDArray[np.uint8]:
    """uint8 (T,): the `TypeClass` of each type, as its name and its objects tell it."""
    runtime = named(graph.runtime)
    classes = runtime.type_classes(graph.type_names, own)
    count = dict(zip(graph.type_names, metrics.instance_count.tolist(), strict=True))
    for name, loaders in runtime.of_loaders.items():
        if 0 < count.get(name, 0) <= _MANY_MORE * (1 + count.get(loaders, 0)):
            classes[graph.type_names.index(name)] = TypeClass.METADATA
    if not own:
        _set_by_scripts(graph, classes)
        _mark_collections(graph, metrics, classes)
    if runtime.has_structures:
        _mark_values(graph, metrics, classes)
    if runtime.delegate_types is not None:
        types = TypeColumns(
            graph.type_names,
            classes,
            metrics.instance_count,
            metrics.type_shallow_bytes,
            metrics.pair_source,
            metrics.pair_target,
            metrics.pair_count,
        )
        classes[runtime.delegate_types(types)] = TypeClass.CONTAINER
    return classes


def _mark_collections(
    graph: HeapGraph, metrics: HeapMetrics, classes: NDArray[np.uint8]
) -> None:
    """Mark collections of libraries, and their entries, which names do not tell.

    They extend what the runtime's own collections extend, or are called a collection
    and refer to parts, or a table of parts, of their own. What extends one of these, as
    a class of the program that is a map, is none.
    """
    runtime, names = named(graph.runtime), graph.type_names
    if not runtime.collection_parts:
        return
    is_own = classes == TypeClass.PROGRAM
    is_one = np.isin(names, runtime.collection_types)
    types, above = supertypes(graph) if is_one.any() else np.empty((2, 0), np.int64)
    while True:
        found = types[is_one[above] & is_own[types] & ~is_one[types]]
        if not len(found):
            break
        is_one[found] = True
    rows = {name: kind for kind, name in reversed([*enumerate(names)])}
    outer = np.full(len(names), NO_TYPE)
    is_part = re.compile(runtime.collection_parts).search
    for kind, part in enumerate(map(is_part, names)):
        if part is not None:
            outer[kind] = rows.get(names[kind][: part.start()], NO_TYPE)
    has_parts = metrics.pair_source == outer[metrics.pair_target]
    for kind in np.unique(metrics.pair_source[has_parts]).tolist():
        is_one[kind] |= _IS_COLLECTION.search(names[kind]) is not None
    is_one &= is_own
    is_one |= is_own & (outer >= 0) & is_one[outer]
    classes[is_one] = TypeClass.CONTAINER


def _mark_values(
    graph: HeapGraph, metrics: HeapMetrics, classes: NDArray[np.uint8]
) -> None:
    """Mark arrays without a reference as values: those of structures, as of numbers.

    A table of entries that are structures leads to no object that could be named in
    its place.
    """
    refers = np.zeros(len(classes), np.bool_)
    refers[metrics.pair_source] = True
    is_array = np.array([name.endswith("[]") for name in graph.type_names], np.bool_)
    is_array &= classes == TypeClass.CONTAINER
    classes[is_array & ~refers] = TypeClass.LIBRARY


def generated_classes(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    holder_of: Callable[[NDArray[np.int32]], str],
) -> tuple[str, ...]:
    """Many classes without instances whose names differ only in what is generated.

    In sentences: no object of theirs is in a suspect.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        holder_of: Words for what holds some class objects; empty if it is unknown.
    """
    if graph.type_object is None or not named(graph.runtime).of_loaders:
        return ()
    wanted = (metrics.instance_count == 0) & (graph.type_object >= 0)
    wanted &= metrics.root_distance[graph.type_object] >= 0
    wanted &= np.isin(classes, (TypeClass.PROGRAM, TypeClass.LIBRARY))
    found: dict[str, list[int]] = defaultdict(list)
    for kind in np.flatnonzero(wanted).tolist():
        name = _NUMBER.sub("#", normalised_type(graph.type_names[kind]))
        found[name].append(kind)
    told = []
    for kinds in sorted(found.values(), key=len, reverse=True):
        if len(kinds) >= _MANY_CLASSES:
            name = graph.captions.of(graph.type_names[kinds[0]])
            holder = holder_of(graph.type_object[kinds])
            held = f", and are held by {holder}" if holder else ""
            told.append(
                f"{len(kinds):,} classes such as {name} have no instances{held}. "
                "Classes also take memory outside the heap, until their loader is "
                "freed."
            )
    return tuple(told)
