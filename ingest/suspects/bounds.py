"""Whether objects are in a cache or collection that has a bound, and keeps to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import OF_KEY
from ingest.runtimes import named
from ingest.suspects.covers import MAX_STEPS
from ingest.suspects.joints import is_below, some_of
from ingest.what_if.places import target_of
from ingest.words.text import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder

_LIMIT = re.compile(r"(max\w+) (\d+)")
"""The value of a cache that has a bound."""

_MOST_DIGITS = 18
"""No bound has more."""

_BOUND = re.compile(
    r"(?:_\w+?__|[_#@$]*)(?P<name>max(?:imum)?"
    r"(?:_?(?:size|len|length|entries|items|keys|elements|objects|count))?"
    r"|limit|capacity|bound)$",
    re.IGNORECASE,
)
"""A field in which a collection has its bound, private ones of any language too."""

_OF_SIZE = "size"
"""What the name of a bound ends with that may be one of bytes."""

_NO_BOUND = 10**9
"""A number as large says that there is no bound."""

_LEAST_ENTRIES = 20
"""What has fewer references is not taken for a collection."""

_TOO_MUCH = 2
"""A cache with more than so many times its bound does not keep to it."""

_MANY_TIMES, _FAR = 50, 4
"""Of so many collections none bounds what all have; a bound so far above comes late."""

_SAMPLE, _STEPS = 1000, 64


def _is_one_of_many(
    metrics: HeapMetrics, index: int, members: NDArray[np.int32]
) -> bool:
    """Whether next to none of some objects are in a collection that leads to one.

    As in the queue that each session has: these have a bound, and their number none.
    """
    sample = some_of(members, _SAMPLE)
    is_in = np.zeros(len(sample), np.bool_)
    is_below(metrics.dominator, sample, index, MAX_STEPS, is_in)
    at = sample
    for _ in range(_STEPS):
        is_in |= at == index
        at = np.where(at < 0, at, metrics.path_parent[at])
    return _MANY_TIMES * max(int(is_in.sum()), 1) < len(sample)


def of_cache(
    graph: HeapGraph,
    metrics: HeapMetrics,
    holder: Holder,
    members: NDArray[np.int32],
) -> tuple[str, str]:
    """What speaks for and against a leak, if a cache with a bound leads to objects.

    Returns:
        A sentence if it has far more than its bound, and one if it may be at it; one of
        them is empty, or both.
    """
    runtime = named(graph.runtime)
    for index in holder.path[:-1]:
        name = graph.type_name(index)
        limit = _limit(graph, index, runtime.limits.get(name))
        is_own = limit is None
        if is_own and runtime.is_bounded(name):
            field, number = next(_bounds_of(graph, index), ("", ""))
            of = _BOUND.fullmatch(field)
            limit = None if of is None else (of["name"], number)
        if limit is not None:
            what, bound = graph.captions.of(name), int(limit[1])
            of_bound = f"its {limit[0]} of {bound:,}"
            if _is_one_of_many(metrics, index, members):
                continue
            count = _entry_count(graph, metrics, holder, index, members)
            is_of_bytes = is_own and limit[0].lower().endswith(_OF_SIZE)
            if count > _TOO_MUCH * bound:
                if is_of_bytes:
                    break
                return f"{what} has far more entries than {of_bound}.", ""
            is_full = is_own and not runtime.entries_fields and abs(bound - count) <= 1
            has = f" and has {count:,}," if is_full else ""
            may_weigh = is_of_bytes or runtime.has_private_fields
            is_far = _FAR * max(count, len(members)) < bound and not may_weigh
            what_follows = (
                "it grows no further" if is_far else "this may be its normal size"
            )
            return "", (
                f"{what} drops entries beyond {of_bound},{has} so {what_follows}."
            )
    return "", _by_name(graph, metrics, holder, members)


def _bounds_of(graph: HeapGraph, index: int) -> Iterator[tuple[str, str]]:
    """The fields of an object that may be its bound, with their numbers."""
    if graph.values is None or graph.ref_field is None or index < 0:
        return
    for row in range(*graph.ref_start[index : index + 2].tolist()):
        found = _BOUND.fullmatch(graph.field_name(row) or "")
        if found is None:
            continue
        (value,) = graph.values.pick(graph.ref_target[row : row + 1])
        number = whole_number(value or "", _MOST_DIGITS)
        if number is not None and 0 < number < _NO_BOUND:
            yield found[0], str(number)


def _entries(graph: HeapGraph, holder: Holder, index: int) -> int:
    """How many entries an object on a path has; 0 of one that is no collection."""
    begin, end = graph.ref_start[index : index + 2].tolist()
    count = end - begin
    if count < _LEAST_ENTRIES:
        return 0
    at = holder.path.index(index)
    fields = graph.between(holder.path[at - 1], index).tolist() if at else []
    tables = named(graph.runtime).entries_fields
    if any((graph.field_name(row) or "") in tables for row in fields):
        return int(count) // 2  # keys and values
    keys = graph.field_names.index(OF_KEY) if OF_KEY in graph.field_names else -1
    if graph.ref_field is not None and keys >= 0:
        # What has a cache as a part of itself refers to more than its entries.
        return int(np.count_nonzero(graph.ref_field[begin:end] == keys)) or int(count)
    return int(count)


def _entry_count(
    graph: HeapGraph,
    metrics: HeapMetrics,
    holder: Holder,
    cache: int,
    members: NDArray[np.int32],
) -> int:
    """In about how many entries of a cache objects are; 0 if that is not known."""
    path, first = holder.path, holder.path.index(cache)
    arrays = [
        at
        for at, index in enumerate(path[:-1])
        if at > first and graph.type_name(index).endswith("[]")
    ]
    if not arrays:
        counts = (_entries(graph, holder, index) for index in path[first:-1])
        return next(filter(None, counts), 0)
    # An entry is a few steps above what is in it.
    sample = some_of(members, _SAMPLE)
    rows = sample
    for _ in range(len(path) - arrays[0] - 2):
        rows = metrics.path_parent[rows[rows >= 0]]
    return len(np.unique(rows[rows >= 0])) * len(members) // len(sample)


def _by_name(
    graph: HeapGraph,
    metrics: HeapMetrics,
    holder: Holder,
    members: NDArray[np.int32],
) -> str:
    """A sentence if a type on the path is one of caches with a bound."""
    runtime, names = named(graph.runtime), graph.type_name
    for index in holder.path[:-1]:
        is_it = runtime.is_bounded(names(index))
        if is_it and not _is_one_of_many(metrics, index, members):
            return (
                f"{graph.captions.of(names(index))} has the name of a cache with a "
                "bound: if it has one, this may be its normal size."
            )
    extended, above, at = runtime.extended_map, "", -1
    for index in holder.path[:-1]:
        name = names(index)
        if extended and name.startswith(f"{extended}$"):
            if not above or above == extended or above.startswith(f"{extended}$"):
                return ""
            if _is_one_of_many(metrics, at, members):
                return ""
            base = extended.rpartition(".")[2]
            return (
                f"{graph.captions.of(above)} extends {base}, as caches with a bound "
                "do, so this may be its normal size."
            )
        if not name.endswith("[]"):
            above, at = name, index
    return ""


def _limit(
    graph: HeapGraph, index: int, fields: Sequence[str] | None
) -> tuple[str, str] | None:
    """The name and number of a cache's bound; ``None`` if it has none.

    Args:
        graph: The heap.
        index: The cache, whose value tells both; or else
        fields: those that lead from it to the number, after the name.
    """
    if graph.values is None:
        return None
    for field in fields[1:] if fields else ():
        target = target_of(graph, index, field)
        if target is None:
            return None
        index = target
    (value,) = graph.values.pick(np.array([index], np.int32))
    if fields:
        value = f"{fields[0]} {value}"
    elif named(graph.runtime).is_bounded(graph.type_name(index)):
        value = f"maximum {value}"
    limit = _LIMIT.fullmatch(value or "")
    if limit is None or whole_number(limit[2], _MOST_DIGITS) is None:
        return None
    return limit[1], limit[2]


def full(
    graph: HeapGraph, metrics: HeapMetrics, holder: Holder, members: NDArray[np.int32]
) -> str:
    """A sentence if a field near a collection is a bound, which is its length now.

    Of what has several parts, its entries count.
    """
    if not any(map(_BOUND.fullmatch, graph.field_names)):
        return ""
    nearby = [at for at in (holder.index, *holder.between) if at in holder.path]
    counts = [
        len(members),
        *filter(None, (_entries(graph, holder, at) for at in nearby)),
    ]
    for index in nearby:
        for field, text in _bounds_of(graph, index):
            bound = int(text)
            is_full = any(abs(bound - one) <= 1 for one in counts)
            if is_full and not _is_one_of_many(metrics, index, members):
                name = graph.captions.of(graph.type_name(index))
                return (
                    f"{name}.{field} is {bound:,}, and so many are there: if it "
                    "is a bound, this may be its normal size."
                )
    return ""


def fixed(
    graph: HeapGraph, metrics: HeapMetrics, holder: Holder, members: NDArray[np.int32]
) -> str:
    """A sentence if the objects are right in a collection that cannot grow."""
    is_fixed = named(graph.runtime).is_fixed
    names = [graph.type_name(index) for index in holder.between]
    inner = [name for name in names[1:] if not name.endswith("[]")]
    if not names or not all(map(is_fixed, (names[0], *inner))):
        return ""
    if _is_one_of_many(metrics, holder.between[0], members):
        return ""
    name = graph.captions.of(names[0])
    return f"{name} cannot grow, so this may be what the program needs."
