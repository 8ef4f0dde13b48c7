"""Objects that say of themselves that their work is done, and are held all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.types import rows_where
from ingest.heap.values import ValueKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.joints import some_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ints
    from ingest.heap.graph import HeapGraph

_WORDS = ("cleared", "closed", "destroyed", "disposed", "finished")
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
