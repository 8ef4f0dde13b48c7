"""What of a class a pile is told by, if its own objects say little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.types import largest_first
from ingest.heap.graph import NO_TYPE
from ingest.runtimes import TypeClass, named
from ingest.suspects.joints import crowd_first, nearest_above, some_of
from ingest.what_if.places import target_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.covers import Covers
    from ingest.suspects.pile import Pile

_SAMPLE = 1000

_NEAR, _STEPS_ABOVE = 4, 3

_NEARLY_ALL = 0.95

_MANY_CLASSES = 100
"""A program makes so many classes only if it makes them again and again."""


def by_owners(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    cuts: Covers,
    pile: Pile,
) -> Pile:
    """The pile, or of objects without a class what of a class has each of them.

    As the headers of responses: each has them in an object of its own. Or the classes
    of a script that have them in static fields.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        cuts: The cuts of the heap, which know types without a class or a name.
        pile: The pile.
    """
    members = pile.members
    if not cuts.has_no_class[pile.type_index] or not pile.is_many:
        return pile
    found = _classes_with_statics(graph, metrics, members)
    if not len(found):
        is_passed = cuts.has_no_name | (classes == TypeClass.CONTAINER)
        further = members
        for _ in range(_NEAR):
            further = _owners_of_each(graph, metrics, classes, is_passed, further)
            if not len(further):
                break
            found = further
    if not len(found):
        kinds = graph.type_index
        return pile._replace(members=crowd_first(kinds, metrics, members))
    retained = metrics.retained_bytes
    return pile._replace(
        type_index=int(graph.type_index[found[0]]),
        object_count=len(found),
        retained_bytes=int(retained[found].sum()),
        members=largest_first(found, retained),
        is_run=False,
    )


def _owners_of_each(
    graph: HeapGraph,
    metrics: HeapMetrics,
    classes: NDArray[np.uint8],
    is_passed: NDArray[np.bool_],
    members: NDArray[np.int32],
) -> NDArray[np.int32]:
    """What of a library's class has each of some objects, if anything has.

    That is so many steps above at most, without those of some types.
    """
    kinds, passed = graph.type_index, np.append(is_passed, np.False_)
    heads = nearest_above(metrics.dominator, kinds, members, passed, _STEPS_ABOVE)
    kind = int(kinds[heads[0]]) if heads[0] >= 0 else NO_TYPE
    is_class = kind not in (NO_TYPE, kinds[members[0]]) and not is_passed[kind]
    is_class = is_class and classes[kind] == TypeClass.LIBRARY
    found = np.unique(heads[(heads >= 0) & (kinds[heads] == kind)])
    # A few have two, as a state that they have begun with.
    is_of_each = is_class and len(found) >= _NEARLY_ALL * len(members)
    return found if is_of_each else found[:0]


def _classes_with_statics(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The classes of a script in whose static fields most of some objects are.

    Empty if none are, or if the classes are as few as a program has by itself.
    """
    runtime, kinds, nobody = named(graph.runtime), graph.type_index, members[:0]
    function = runtime.function_type
    if not function or function not in graph.type_names:
        return nobody
    is_scope = np.array([name.startswith(runtime.scopes) for name in graph.type_names])
    of_functions = graph.type_names.index(function)

    def functions_above(members: NDArray[np.int32]) -> NDArray[np.int32]:
        rows = metrics.dominator[members]
        for _ in range(_NEAR):
            rows = rows[rows >= 0]
            rows = rows[~is_scope[kinds[rows]]]
            is_on = kinds[rows] != of_functions
            rows[is_on] = metrics.dominator[rows[is_on]]
        rows = rows[rows >= 0]
        functions: NDArray[np.int32] = rows[kinds[rows] == of_functions]
        return functions

    # Only a class has a prototype from the start on.
    sample = some_of(members, _SAMPLE)
    found = functions_above(sample)
    rows = np.unique(found)
    if 2 * len(found) <= len(sample) or len(rows) < _MANY_CLASSES:
        return nobody
    told = [target_of(graph, row, "prototype") for row in rows[:_NEAR].tolist()]
    return nobody if None in told else np.unique(functions_above(members))
