"""Sums by type, references between types, and the rows that a flag chooses."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.arrays.spans import rows_in
from ingest.runtimes import named
from ingest.system.memory import in_ranges, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ids, Ints, Longs, Number, Starts
    from ingest.heap.graph import HeapGraph

    Listed = TypeVar("Listed", bound=np.generic)
    Row = TypeVar("Row", bound=np.integer)

_BLOCK = 1 << 18
"""Rows that are looked at together."""

_FEW = 16
"""So many objects are compared with each row faster than looked up in a table."""


@kernel
def _sum(
    group: NDArray[np.int32], values: NDArray[np.int64], sums: NDArray[np.int64]
) -> None:
    """Add int64 (N,) ``values`` to ``sums``, int64 (G,); a negative group is none.

    ``group`` is int32 (N,), the row of ``sums`` for each value.
    """
    for row in range(len(group)):
        if group[row] >= 0:
            sums[group[row]] += values[row]


@kernel
def _count(group: Ints, counts: Longs) -> None:
    """Count rows of ``group``, int32 (N,), in int64 (G,); a negative group is none."""
    for row in range(len(group)):
        if group[row] >= 0:
            counts[group[row]] += 1


def rows_where(chosen: Bools) -> Ints:
    """int32: the rows where a column is true, ascending.

    `np.flatnonzero` of all would take 8 bytes a row more at its peak.
    """
    rows, used = np.empty(np.count_nonzero(chosen), np.int32), 0
    for first in range(0, len(chosen), _BLOCK):
        some = np.flatnonzero(chosen[first : first + _BLOCK])
        rows[used : used + len(some)] = some + first
        used += len(some)
    return rows


def rows_of(wanted: Ints, column: Ints) -> NDArray[np.intp]:
    """The rows of a column in which some objects are, ascending.

    Memory: 2 bytes a row.

    Args:
        wanted: int32. The objects.
        column: int32. Objects, or negative where there is none.
    """
    if len(wanted) > _FEW:
        mark = np.zeros(
            max(int(wanted.max()), int(column.max(initial=0))) + 3, np.bool_
        )
        mark[wanted] = True  # the last two are for `ROOT` and `UNREACHABLE`
        return np.flatnonzero(mark[column])
    found = np.zeros(len(column), np.bool_)
    for row in wanted:
        found |= column == row
    return np.flatnonzero(found)


def largest_first(rows: NDArray[Row], sizes: Longs) -> NDArray[Row]:
    """Rows by their sizes, the largest first; those of one size as they are."""
    return rows[np.argsort(-sizes[rows], kind="stable")]


def listed(
    count: Callable[[int, int], int],
    listing: Callable[[int, int, NDArray[Listed]], object],
    end: int,
    dtype: type[Listed],
    *,
    least: int,
) -> NDArray[Listed]:
    """What some rows have, counted first and then listed, on all processors.

    Args:
        count: Counts it in rows from a first one to an end.
        listing: Writes it to an array that has room for it.
        end: Where the rows end.
        dtype: Of the result.
        least: See `ranges`.
    """
    counts = in_ranges(count, 0, end, least=least)
    found = np.empty(sum(counts), dtype)
    pieces = np.split(found, list(accumulate(counts))[:-1])
    piece_of = dict(zip(ranges(0, end, least=least), pieces, strict=True))

    def fill(first: int, last: int) -> None:
        listing(first, last, piece_of[first, last])

    in_ranges(fill, 0, end, least=least)
    return found


def sum_by(
    group: NDArray[np.int32], values: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """int64 (groups,): sums of ``values`` by ``group``, without negative groups."""
    sums = np.zeros(groups, np.int64)
    _sum(group, values, sums)
    return sums


def count_by(group: NDArray[np.int32], groups: int) -> NDArray[np.int64]:
    """int64 (groups,): number of rows of each group, without negative groups."""
    counts = np.zeros(groups, np.int64)
    _count(group, counts)
    return counts


@kernel
def sum_by_type(
    type_index: Ints,
    shallow_bytes: Longs,
    distance: Ints,
    dominator: Ints,
    retained_bytes: Longs,
    sums: Longs,
) -> None:
    """Sum columns of objects by type; objects without a type are left out.

    ``sums`` is int64 (6, T), initially 0: instances, reachable instances, shallow
    bytes, reachable bytes, instances that no other object dominates, their retained
    bytes.
    """
    for row in range(len(type_index)):
        kind = type_index[row]
        if kind < 0:
            continue
        sums[0, kind] += 1
        sums[2, kind] += shallow_bytes[row]
        if distance[row] >= 0:
            sums[1, kind] += 1
            sums[3, kind] += shallow_bytes[row]
        if dominator[row] == ROOT:
            sums[4, kind] += 1
            sums[5, kind] += retained_bytes[row]


@kernel
def _slot(table: Longs, key: Number) -> Number:
    """The slot of ``key`` in a hash table with linear probing, or an empty one."""
    mask = len(table) - 1
    slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while table[slot, 0] >= 0 and table[slot, 0] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def _count_pairs(
    ref_start: Starts,
    ref_target: Ints,
    type_index: Ints,
    first_object: int,
    first_reference: int,
    old: Longs,
    table: Longs,
) -> tuple[int, int]:
    """Count pairs of source and target type in a hash table.

    The tables are int64 (size, 2): key, or -1, and count; ``size`` is a power of two.
    The counts of ``old`` are copied, then references are counted until ``table`` is
    half full.

    Returns:
        The object and the reference to continue with.
    """
    used = 0
    for row in range(len(old)):
        if old[row, 0] >= 0:
            slot = _slot(table, old[row, 0])
            table[slot, 0] = old[row, 0]
            table[slot, 1] = old[row, 1]
            used += 1
    n, last = len(ref_start) - 1, len(ref_target) - 1
    for source in range(first_object, n):
        begin = max(first_reference, ref_start[source])
        for ref in range(begin, ref_start[source + 1]):
            fetch(type_index, ref_target[min(ref + 2 * AHEAD, last)])
            kind = type_index[ref_target[ref]]
            if kind < 0:
                continue
            key = (np.int64(type_index[source]) << 32) | np.int64(kind)
            slot = _slot(table, key)
            if table[slot, 0] < 0:
                if 2 * used >= len(table):
                    return source, ref
                table[slot, 0] = key
                table[slot, 1] = 0
                used += 1
            table[slot, 1] += 1
    return n, len(ref_target)


def type_references(
    graph: HeapGraph,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """References between the instances of each pair of types, including weak ones.

    References to missing objects have no target type and are left out.

    Returns:
        int32 (P,) source types, int32 (P,) target types and int64 (P,) counts, sorted
        by source, then target.
    """
    source = reference = 0
    size = 1 << 14
    table = np.empty((0, 2), np.int64)
    while source < len(graph.object_id):
        larger = np.empty((size, 2), np.int64)
        larger[:, 0] = -1
        source, reference = _count_pairs(
            graph.ref_start,
            graph.ref_target,
            graph.type_index,
            source,
            reference,
            table,
            larger,
        )
        table = larger
        size *= 4
    table = table[table[:, 0] >= 0]
    keys, counts = table[:, 0], table[:, 1]
    order = np.argsort(keys)
    keys = keys[order]
    return (
        (keys >> 32).astype(np.int32),
        (keys & 0xFFFFFFFF).astype(np.int32),
        counts[order],
    )


_MOST_ANCESTORS = 64
"""The most classes that describe no type are looked through in a row."""


def supertypes(graph: HeapGraph) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pairs of a type and one that it extends, as class objects refer to each other.

    A class that describes no type of the heap, as one without instances does in some
    formats, is looked through.

    Returns:
        int32 (S,) types and int32 (S,) types that these extend, sorted by both; none
        if the dump does not tell.
    """
    steps = named(graph.runtime).supertypes
    none = np.empty(0, np.int32)
    if graph.type_object is None or graph.ref_field is None or not steps:
        return none, none
    known = np.flatnonzero(graph.type_object >= 0)
    known = known[np.argsort(graph.type_object[known], kind="stable")]
    described = graph.type_object[known].astype(np.int64)
    types, rows = known, described
    found = [np.empty((0, 2), np.int64)]
    for _ in range(_MOST_ANCESTORS):
        for field in steps:
            types, rows = _followed(graph, types, rows, field)
        if not len(rows):
            break
        types, rows = np.unique([types, rows], axis=1)
        first = np.searchsorted(described, rows)
        counts = np.searchsorted(described, rows, "right") - first
        above = known[rows_in(first, counts)]
        found.append(np.column_stack([np.repeat(types, counts), above]))
        types, rows = types[counts == 0], rows[counts == 0]
    pairs = np.unique(np.concatenate(found), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int32)
    return pairs[:, 0], pairs[:, 1]


def subtypes_of(graph: HeapGraph, names: Sequence[str]) -> Longs:
    """int64: rows of types of these names, and of those that extend one of them."""
    types, above = supertypes(graph)
    found = np.array([one in names for one in graph.type_names], np.bool_)
    for _ in range(_MOST_ANCESTORS):
        below = types[found[above]]
        if found[below].all():
            break
        found[below] = True
    return np.flatnonzero(found)


def _followed(
    graph: HeapGraph, types: Longs, rows: Longs, field: str
) -> tuple[Longs, Longs]:
    """The types again, and where a field of these rows leads; ``[]`` for elements."""
    assert graph.ref_field is not None
    first = graph.ref_start[rows].astype(np.int64)
    counts = graph.ref_start[rows + 1] - first
    at = rows_in(first, counts)
    names = [row for row, name in enumerate(graph.field_names) if name == field]
    fields = graph.ref_field[at]
    chosen = fields < 0 if field == "[]" else np.isin(fields, names)
    above = graph.ref_target[at[chosen]].astype(np.int64)
    return np.repeat(types, counts)[chosen], above


SINGLE_TYPE_CLASSES = 32
"""Number of types with classes of their own: those that dominate most objects."""


def type_classes(dominated_count: Longs) -> tuple[Ids, Ints]:
    """Divide T types into 64 classes.

    Returns:
        uint64 (T,), the class of each type, a bit; and int32 (at most 32,), the types
        that are alone in their class, in the order of bits.
    """
    order = np.argsort(-dominated_count, kind="stable")
    rank = np.empty(len(order), np.uint64)
    rank[order] = np.arange(len(order))
    shared = rank >= SINGLE_TYPE_CLASSES
    rank[shared] = SINGLE_TYPE_CLASSES + rank[shared] % (64 - SINGLE_TYPE_CLASSES)
    return np.uint64(1) << rank, order[:SINGLE_TYPE_CLASSES].astype(np.int32)
