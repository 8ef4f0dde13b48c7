"""Whose a holder is: a field of a library is not one that a program can change."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.heap.graph import NO_TYPE, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.covers import ENOUGH
from ingest.suspects.holders import COLLECTION
from ingest.suspects.joints import some_of
from ingest.words.text import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.edges import Verified
    from ingest.suspects.holders import Holder
    from ingest.what_if.places import ReferencePlaces

_SAMPLE = 1000

_LOOKED_AT = 200
"""Steps of a path from the root on that are looked at."""

_NEAR = 4
"""Steps from a holder up to the program's own reference to it, at most."""

_VALUES = (TypeClass.PROGRAM, TypeClass.LIBRARY)

_MAIN = re.compile(r"(.+)\.main\(")
"""The outermost frame of the thread with which a program begins."""

_COMMAND = re.compile(r"(?:[^ ]+/)?([^ /]+)(?<!\.jar)(?: |$)")
_MOST_OF_PROPERTIES = 2000

_TOP = ("com", "dev", "io", "net", "org")
"""First parts of names that say nothing of whose a type is."""


def family(type_name: str) -> str:
    """The first parts of the name of a type, which those of one library share."""
    parts = type_name.split(".")[:-1]
    return ".".join(parts[: 1 + (parts[:1] != [] and parts[0] in _TOP)])


def is_collection(graph: HeapGraph, classes: NDArray[np.uint8], kind: int) -> bool:
    """Whether a type is one of the collections of the runtime and its libraries."""
    if kind < 0 or classes[kind] != TypeClass.CONTAINER:
        return False
    return COLLECTION.search(graph.type_names[kind]) is not None


def is_whole_collection(type_name: str) -> bool:
    """Whether a container's type is one of collections, not of what is inside these."""
    is_inside = is_inside_collection(normalised_type(type_name))
    return COLLECTION.search(type_name) is not None and not is_inside


def are_functions_of_library(graph: HeapGraph, members: NDArray[np.int32]) -> bool:
    """Whether most objects are functions of the runtime's own scripts."""
    runtime = named(graph.runtime)
    function = runtime.function_type or None
    if graph.type_name(int(members[0])) != function or graph.values is None:
        return False
    texts = graph.values.pick(some_of(members, _SAMPLE))
    found = [re.search(runtime.library_scripts, text or "") for text in texts]
    return 2 * sum(one is not None for one in found) > len(found)


def are_scopes_of_libraries(graph: HeapGraph) -> NDArray[np.bool_]:
    """Bool (T,): types of the variables of scripts and functions of libraries."""
    runtime = named(graph.runtime)
    prefixes = tuple(filter(None, (runtime.module_prefix, runtime.scope_prefix)))
    of_library = re.compile(runtime.library_scripts).search
    found = [
        name.startswith(prefixes) and of_library(name) is not None
        for name in graph.type_names
    ]
    return np.array(found, np.bool_)


def collection_below(
    graph: HeapGraph, classes: NDArray[np.uint8], holder: Holder, cut: str
) -> str:
    """The first collection below what a cut refers to, if that is none itself."""
    captions, first = graph.captions, ""
    of_embedder = named(graph.runtime).embedder
    for at in holder.between:
        words = printable(captions.of(graph.type_name(at)))
        first = first or words
        is_one = is_collection(graph, classes, int(graph.type_index[at]))
        if is_one and not re.match(of_embedder, words):
            is_below = f" -> {first} and " in f"{cut} and " and words != first
            return words if is_below else ""
    return ""


def shared_collection(
    graph: HeapGraph, metrics: HeapMetrics, classes: NDArray[np.uint8], cut: Verified
) -> str:
    """The type of the collection that several places of a cut lead to, in words.

    Empty if they lead to several objects, or to one that is no collection; the cell of
    a variable is none.
    """
    cell = re.compile(named(graph.runtime).patterns.get("closure", "(?!)")).match
    first, *others = (edge.below for edge in cut.edges)
    for target in first:
        name = graph.type_name(target)
        if (
            all(target in below for below in others)
            and metrics.retained_bytes[target] >= ENOUGH * cut.freed_bytes
            and classes[graph.type_index[target]] == TypeClass.CONTAINER
            and not is_inside_collection(normalised_type(name))
            and not cell(name)
        ):
            return printable(graph.captions.of(name))
    return ""


def main_type(graph: HeapGraph) -> str:
    """The type with which the program begins, as stacks or the JVM's properties say.

    Empty if neither does, or if it is a library's.
    """
    found, stacks = list[str](), graph.stacks
    if stacks is not None:
        threads = zip(stacks.start, stacks.end, strict=True)
        outer = [stacks.frames[end - 1] for start, end in threads if start < end]
        found = [frame[1] for frame in map(_MAIN.match, outer) if frame is not None]
    if not found and (command := _COMMAND.match(_command(graph))):
        found = [command[1]]
    classes = named(graph.runtime).type_classes(found) if found else ()
    of_type = zip(found, classes, strict=True)
    return next((name for name, kind in of_type if kind == TypeClass.PROGRAM), "")


def _command(graph: HeapGraph) -> str:
    """What a process runs, with arguments, as its properties have it; else empty."""
    values, fields = graph.values, graph.field_names
    properties, command = named(graph.runtime).command
    if not command or values is None or graph.root_field is None:
        return ""
    if properties not in fields:
        return ""
    is_props = graph.root_field == fields.index(properties)
    found = graph.root_object[is_props].tolist()
    for at in islice(found, _MOST_OF_PROPERTIES):
        rows = range(*graph.ref_start[at : at + 2].tolist())
        by_field = {graph.field_name(row): int(graph.ref_target[row]) for row in rows}
        key, value = by_field.get("key"), by_field.get("val", by_field.get("value"))
        if key is None or value is None:
            found += by_field.values()
        elif values.pick(np.array([key])) == [command]:
            return values.pick(np.array([value]))[0] or ""
        elif "next" in by_field:
            found.append(by_field["next"])
    return ""


def _own_reference(
    graph: HeapGraph,
    places: ReferencePlaces,
    classes: NDArray[np.uint8],
    holder: Holder,
    held: int,
) -> str:
    """The program's own reference that leads to a holder of a library's.

    Or to one that is of the type of what it holds, as of a set of sets the field that
    has it. Empty if it is not near, or told as what leads to the holder.
    """
    path, kinds, runtime = holder.path, graph.type_index, named(graph.runtime)

    def is_of_library(index: int) -> bool:
        if kinds[index] < 0 or classes[kinds[index]] == TypeClass.LIBRARY:
            return True
        return graph.type_name(index).partition(".")[0] in places.packages

    if holder.index not in path:
        return ""
    is_like = kinds[holder.index] == held
    if not is_like and (holder.name or not is_of_library(holder.index)):
        return ""
    most = _LOOKED_AT if is_like else _NEAR
    above = path[: path.index(holder.index) + 1][-most - 1 :]
    for source, below in list(pairwise(above))[::-1]:
        kind = kinds[source]
        if kind in (-1, held) or classes[kind] != TypeClass.PROGRAM:
            continue
        if not is_like and is_of_library(source):
            continue
        if not is_like and runtime.has_shape(graph.type_name(source)):
            continue
        fields = map(graph.field_name, graph.between(source, below).tolist())
        field = next((one for one in fields if one and one[0] not in "[(<"), None)
        if field is None and not is_like:
            return ""
        place = places.holder(source, field)
        return "" if place == holder.root_words else place
    return ""


def of_library(
    graph: HeapGraph,
    places: ReferencePlaces,
    classes: NDArray[np.uint8],
    holder: Holder,
    held: int,
    main: str,
) -> tuple[str, str]:
    """The type of a holder in words if it is of a library, and what is nearest to it.

    Libraries that are not the runtime's are known by the type with which the program
    begins, or by the static field of the program that leads to them.

    Args:
        graph: The heap.
        places: Words for its references.
        classes: uint8. The class of each type.
        holder: What holds the objects.
        held: Their type.
        main: What `main_type` says.

    Returns:
        The type of what the program has of the library, empty if the holder is the
        program's or nothing tells; and the program's own reference to that, or to a
        holder of the type of what it holds, empty if it is none but the root.
    """
    runtime, at = named(graph.runtime), holder.index
    name = holder.type_name or ""
    is_thread = at >= 0 and holder.root_kind == RootKind.THREAD.label
    if not runtime.has_private_fields or holder.name or not name:
        return "", _own_reference(graph, places, classes, holder, held)
    if is_thread and holder.path[0] == at:
        return "", ""
    declaring = int(graph.root_type[holder.root])
    is_static = declaring != NO_TYPE and holder.root_kind == RootKind.STATIC.label
    own = graph.type_names[declaring] if is_static else ""
    if not own or runtime.type_classes([own])[0] != TypeClass.PROGRAM:
        own = name

    def is_own(kind: int) -> bool:
        is_program = kind >= 0 and classes[kind] == TypeClass.PROGRAM
        return is_program and family(graph.type_names[kind]) == family(own)

    kind = int(graph.type_index[at]) if at >= 0 else declaring
    above = holder.path[: holder.path.index(at) + 1] if at in holder.path else ()
    if main:
        known, own = own, main
        if not any(map(is_own, {kind, *graph.type_index[list(above)].tolist()})):
            own = known
    if is_own(kind):
        return "", ""
    place, first = "", 0
    for step, (source, below) in enumerate(pairwise(above[:_LOOKED_AT]), start=1):
        fields = map(graph.field_name, graph.between(source, below).tolist())
        field = next(fields, None)
        is_static = places.declares(source, field)
        kinds = places.described[source] if is_static else graph.type_index[source]
        if is_own(int(kinds)) and not (field or "").startswith("<"):
            place, first = places.holder(source, field), step
    # What the program's own reference leads to has the methods, unless the holder is
    # but one of many in a collection of that.
    told = [
        kind for kind in graph.type_index[list(above[first:])].tolist() if kind >= 0
    ]
    if any(is_collection(graph, classes, kind) for kind in told[:-1]):
        return "", place
    names = [graph.type_names[kind] for kind in told if classes[kind] in _VALUES]
    if not names or not (place or own != name):
        names = [name.partition("$")[0] or name]
    return graph.captions.of(names[0]), place
