"""Answers about contents of objects: attributes, and slots of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.answers.frames import of_rows, shown
from ingest.answers.view import numbered
from ingest.arrays.compiled import kernel
from ingest.heap.graph import OF_KEY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView, Values
    from ingest.arrays.compiled import Ints, Longs

_AT_ONCE = 1 << 20
"""References whose fields are read together."""

_FIRST_SLOTS = 1 << 10
"""Initial size of a hash table of sets, a power of two."""


@kernel
def _next(table: Longs, before: int, name: int) -> int:
    """The slot of a set after another one, in a hash table, or an empty slot.

    Linear probing; ``table`` is int64 (size, 3): set before, name, and set or -1.
    """
    mask = len(table) - 1
    slot = ((before * 0x9E3779B97F4A7C1 + name * 0x2545F4914F6CDD1) >> 20) & mask
    while table[slot, 2] >= 0 and (table[slot, 0] != before or table[slot, 1] != name):
        slot = (slot + 1) & mask
    return slot


@kernel
def _copy(old: Longs, table: Longs) -> None:
    """Copy the sets of a hash table to a larger one."""
    for row in range(len(old)):
        if old[row, 2] >= 0:
            slot = _next(table, old[row, 0], old[row, 1])
            for column in range(3):
                table[slot, column] = old[row, column]


@kernel
def _find_sets(
    keys: Longs, first: int, used: int, table: Longs, set_of: Ints
) -> tuple[int, int]:
    """Find the set of names that each owner has, until the table is half full.

    Set 0 is empty, and each other one has one name more than the set before it.

    Args:
        keys: Owner and name in the upper and lower 32 bits, ascending.
        first: The key to begin with.
        used: Number of sets so far.
        table: See `_next`.
        set_of: The set of each owner until now; it changes.

    Returns:
        The key to go on with, and the sets that there are now.
    """
    for at in range(first, len(keys)):
        if at > 0 and keys[at - 1] == keys[at]:
            continue
        owner, name = keys[at] >> 32, keys[at] & 0xFFFFFFFF
        slot = _next(table, set_of[owner], name)
        if table[slot, 2] < 0:
            if 2 * used >= len(table):
                return at, used
            table[slot, 0], table[slot, 1] = set_of[owner], name
            table[slot, 2] = used
            used += 1
        set_of[owner] = table[slot, 2]
    return len(keys), used


def attribute_layouts(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live(heap.instances(values["type"]))
    set_of, attributes = np.zeros(len(rows), np.int32), [list[str]()]
    if len(rows) and heap.has("references", "field"):
        set_of, attributes = _attributes(heap, rows)
    groups = (
        of_rows(rows)
        .with_columns(set=pl.Series(set_of), shallow_bytes=heap.sizes(rows))
        .group_by("set")
        .agg(
            pl.col("shallow_bytes").sum(),
            object_count=pl.len(),
            sample=pl.col("row").min(),
        )
    )
    groups = shown(groups, values, "-object_count", "-shallow_bytes", "sample")
    names = [attributes[one] for one in groups["set"]]
    return groups.with_columns(
        attributes=pl.Series([", ".join(some) for some in names], dtype=pl.String),
        attribute_count=pl.Series(map(len, names), dtype=pl.Int64),
    )


def _attributes(
    heap: HeapView, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], list[list[str]]]:
    """The attributes that each of some objects has.

    Returns:
        int32: a row of the other one for each object; and names, ascending.
    """
    ends = np.cumsum(heap.ref_start[rows + 1].astype(np.int64) - heap.ref_start[rows])
    set_of, used, numbers = np.zeros(len(rows), np.int32), 1, dict[str, int]()
    table = np.full((_FIRST_SLOTS, 3), -1, np.int64)
    begin = 0
    while begin < len(rows):
        most = (int(ends[begin - 1]) if begin else 0) + _AT_ONCE
        end = max(begin + 1, int(np.searchsorted(ends, most, "right")))
        keys, at = _keys(heap, rows[begin:end], numbers), 0
        while True:
            at, used = _find_sets(keys, at, used, table, set_of[begin:end])
            if at == len(keys):
                break
            larger = np.full((4 * len(table), 3), -1, np.int64)
            _copy(table, larger)
            table = larger
        begin = end
    names = [*numbers]
    attributes = [set[str]()] * used
    slots = table[table[:, 2] >= 0]
    for before, name, found in slots[np.argsort(slots[:, 2])].tolist():
        attributes[found] = attributes[before] | {names[name]}
    return set_of, [sorted(one) for one in attributes]


def _keys(
    heap: HeapView, rows: NDArray[np.int64], numbers: dict[str, int]
) -> NDArray[np.int64]:
    """Attributes of some objects, by the places of these; see `_find_sets`.

    New names get numbers.
    """
    references = heap.references_from(rows)
    fields = heap.frame("references", references.tolist(), ["field"])["field"]
    is_kept = fields.is_not_null() & ~fields.str.starts_with("[") & (fields != OF_KEY)
    of_chunk, names = numbered(fields.filter(is_kept))
    known = [numbers.setdefault(name, len(numbers)) for name in names.to_list()]
    number = np.array(known, np.int64)[of_chunk.to_numpy()]
    owners = np.searchsorted(rows, heap.sources(references[is_kept.to_numpy()]))
    return np.sort((owners << 32) | number)


def sparse_arrays(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_fitting(values["pattern"]).to_numpy()
    length = heap.lengths[rows]
    used = heap.ref_start[rows + 1].astype(np.int64) - heap.ref_start[rows]
    is_sparse = (
        (length >= max(values["min_length"], 0))
        & (used <= values["max_fill"] * length)
    )  # fmt: skip
    rows, length, used = rows[is_sparse], length[is_sparse], used[is_sparse]
    owner = heap.dominator[rows]
    # Texts are numbers until the end; the last one is of no owner and of placeholders.
    code, names = numbered(pl.Series(heap.type_names, dtype=pl.String))
    code_of = np.append(code.to_numpy(), len(names))
    frame = of_rows(rows).with_columns(
        owner=pl.Series(code_of[np.where(owner >= 0, heap.type_index[owner], -1)]),
        array=pl.Series(code_of[heap.type_index[rows]]),
        length=pl.Series(length),
        used=pl.Series(used),
    )
    each = heap.sizes(rows) // pl.Series(np.maximum(length, 1))
    groups = heap.grouped(
        frame.with_columns(wasted_bytes=each * pl.Series(length - used)),
        "owner", "array", most="wasted_bytes", array_count=pl.len(),
        empty_count=(pl.col("used") == 0).sum(), slot_count=pl.col("length").sum(),
        used_count=pl.col("used").sum(),
    )  # fmt: skip
    groups = shown(groups, values, "-wasted_bytes", "-array_count", "owner", "array")
    owner_code = groups["owner"].set(groups["owner"] == len(names), None)
    return groups.with_columns(
        owner_type=names.gather(owner_code), array_type=names.gather(groups["array"])
    )
