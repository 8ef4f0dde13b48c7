"""Objects that say of themselves that their work is done, and are held all the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.analysis.types import rows_where
from ingest.heap.graph import RootKind
from ingest.heap.values import ValueKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.holders import COLLECTION
from ingest.suspects.joints import some_of
from ingest.what_if.cut_parser import AND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ints
    from ingest.heap.graph import HeapGraph
    from ingest.runtimes.base import Runtime
    from ingest.suspects.edges import Verified
    from ingest.suspects.holders import Holder

_WORDS = ("cleared", "closed", "destroyed", "disposed", "finished")
_SCHEDULER = re.compile(r"Delay|Immediate|Schedul|Timer")
_SAMPLE = 1000

_MANY_ELEMENTS = 20
"""Elements in no document that are told of what has them; each may be of one part."""


def components(graph: HeapGraph, classes: NDArray[np.uint8]) -> Ints:
    """int32: the program's components that the system has ended, as values say."""
    words, values = named(graph.runtime).ended_words, graph.values
    if not words or values is None:
        return np.empty(0, np.int32)
    rows = values.object_index[values.kind == ValueKind.NAME]
    is_ended = np.isin(np.array(values.pick(rows), object), words)
    rows = rows[is_ended].astype(np.int32)
    is_own = classes[graph.type_index[rows]] == TypeClass.PROGRAM
    return np.asarray(rows[is_own])


def detached(graph: HeapGraph) -> Ints:
    """int32: elements whose type says that they are in no document, if there are."""
    over = named(graph.runtime).over
    kinds = [bool(over(name)) for name in graph.type_names]
    if not any(kinds):
        return np.empty(0, np.int32)
    return rows_where(np.array(kinds)[graph.type_index])


def detached_with(
    graph: HeapGraph, elements: Ints, lost: Bools, kind: int, count: int
) -> str:
    """A sentence if a cut frees many such elements besides those of one type.

    Args:
        graph: The heap.
        elements: What `detached` says.
        lost: Objects that the cut frees.
        kind: The type of the suspect.
        count: How many objects the suspect has: fewer elements are not told.
    """
    found, over = int(np.count_nonzero(lost[elements])), named(graph.runtime).over
    if found < max(count, _MANY_ELEMENTS) or over(graph.type_names[kind]):
        return ""
    what = over(graph.type_name(int(elements[0])))
    hold = "It holds" if count == 1 else "They hold"
    return f"{hold} {found:,} elements that are {what}."


def said_of(graph: HeapGraph, members: NDArray[np.int32]) -> tuple[str, str]:
    """The word by which most of the objects say that their work is done; a sentence."""
    if graph.values is None or not len(graph.values.object_index):
        return "", ""
    sample, values = some_of(members, _SAMPLE), graph.values
    at = np.searchsorted(values.object_index, sample)
    at = np.minimum(at, len(values.object_index) - 1)
    is_name = values.object_index[at] == sample
    is_name &= values.kind[at] == ValueKind.NAME
    names = values.pick(sample[is_name])
    found = {word: names.count(word) for word in _WORDS if word in names}
    if not found:
        return "", ""
    word = max(found, key=lambda one: found[one])
    count = found[word]
    if 2 * count < len(sample):
        return "", ""
    if len(sample) == 1:
        return word, f"It is {word}, as the dump shows, and still held."
    which = "All" if count == len(sample) else f"{count / len(sample):.0%}"
    return word, f"{which} of them are {word}, as the dump shows, and still held."


def held_with(graph: HeapGraph, ended: Ints, lost: Bools, kind: int) -> str:
    """A sentence on ended components that a cut frees, besides those of one type.

    Args:
        graph: The heap.
        ended: What `components` says.
        lost: Objects that the cut frees.
        kind: The type of the suspect.
    """
    rows = ended[lost[ended]]
    kinds = graph.type_index[rows]
    rows, kinds = rows[kinds != kind], kinds[kinds != kind]
    if not len(rows) or graph.values is None:
        return ""
    most = int(np.bincount(kinds).argmax())
    some = rows[kinds == most]
    (word,) = graph.values.pick(some[:1])
    name = graph.captions.of(graph.type_names[most])
    verb = "is" if len(some) == 1 else "are"
    return (
        f"{len(some):,} {name} among what they hold {verb} {word}, as the dump shows, "
        "and still held."
    )


def idle_timers(
    graph: HeapGraph, classes: NDArray[np.uint8], holder: Holder, cut: Verified
) -> list[int]:
    """The runtime's timers by which a place of the program has a pile, if all is over.

    Its own lists have those that are scheduled. So a cut frees none of these, if it is
    at one place of the program and no such list is below that.
    """
    runtime, kind = named(graph.runtime), int(graph.type_index[holder.index])
    scopes = filter(None, [runtime.scope_prefix])
    if holder.index < 0:
        is_own = holder.root_kind == RootKind.STATIC.label
    elif (name := graph.type_names[kind]).startswith(tuple(scopes)):
        is_own = not re.search(runtime.library_scripts, name)
    else:
        is_own = bool(classes[kind] == TypeClass.PROGRAM)
    if not is_own or AND in cut.text:
        return []
    found: list[int] = []
    for at in (*holder.between, holder.member):
        name = graph.type_name(at)
        is_of_program = classes[graph.type_index[at]] == TypeClass.PROGRAM
        if name in runtime.timers and not is_of_program and cut.lost[at]:
            found.append(at)
        elif not found and not _has_only_entries(runtime, name):
            break
    return found


def said_of_timers(idle: Sequence[int], holder: Holder) -> str:
    """A sentence on such timers of a holder; empty for none."""
    which = "them" if holder.member in idle[:1] else "their timers"
    sentence = (
        f"None of {which} is scheduled: a timer that has run, or was cancelled, is "
        "held by the program alone."
    )
    return sentence if idle else ""


def _has_only_entries(runtime: Runtime, name: str) -> bool:
    """Whether a type is one of collections, or of their parts, and of no scheduler."""
    if name.removesuffix("[]") in runtime.timers:
        return True
    is_one = name in (*runtime.records, *runtime.entries_fields.values())
    is_one |= name.endswith("[]") or is_inside_collection(normalised_type(name))
    bare = re.split("[<`]", name)[0]  # without the types of its entries
    return (is_one or COLLECTION.search(name) is not None) and not _SCHEDULER.search(
        bare
    )
