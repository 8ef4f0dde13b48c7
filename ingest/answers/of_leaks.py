"""Answers about objects that pile up below others, and sole holders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.types import count_by
from ingest.answers.frames import of_rows, shown
from ingest.answers.view import MANY_REFERENCES, bits_of, largest, numbered, row_of
from ingest.arrays.compiled import kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.answers.frames import HeapView, Values
    from ingest.arrays.compiled import Bytes, Ints, Longs, Starts


def _parents(heap: HeapView, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Objects with how many others each immediately dominates, and the largest.

    Columns: ``row``, ``retained_bytes``, ``child_count``, and ``largest_child_bytes``,
    0 where there is none.

    Args:
        heap: The heap.
        rows: The objects, ascending.
    """
    start, held = heap.dominated_start, heap.retained_bytes
    largest_bytes = np.zeros(len(rows), np.int64)
    _find_largest(start, heap.dominated, rows, held, largest_bytes)
    return of_rows(rows).with_columns(
        retained_bytes=pl.Series(held[rows]),
        child_count=pl.Series((start[rows + 1] - start[rows]).astype(np.int64)),
        largest_child_bytes=pl.Series(largest_bytes),
    )


@kernel
def _find_largest(
    start: Starts, dominated: Ints, rows: Longs, retained: Longs, largest_bytes: Longs
) -> None:
    """Find the bytes of the largest object that each row immediately dominates."""
    for place in range(len(rows)):
        row = rows[place]
        for at in range(start[row], start[row + 1]):
            kept = retained[dominated[at]]
            largest_bytes[place] = max(largest_bytes[place], kept)


def big_drops(heap: HeapView, values: Values) -> pl.DataFrame:
    least = values["min_drop_bytes"]
    chosen = heap.retained_bytes >= least
    if least <= 0:  # nothing unreachable retains more
        chosen &= heap.root_distance >= 0
    tops = _parents(heap, np.flatnonzero(chosen)).with_columns(
        drop_bytes=pl.col("retained_bytes") - pl.col("largest_child_bytes")
    )
    tops = tops.filter(pl.col("drop_bytes") >= least)
    tops = shown(tops, values, "-drop_bytes", "row")
    below = heap.dominated_by(tops["row"].sort().to_numpy())
    below = below.select(above="above", row="below")
    children = heap.grouped(below, "above").select(row="above", largest_child="largest")
    tops = tops.join(children, on="row", how="left", maintain_order="left")
    child_type = heap.type_texts(tops["largest_child"])
    return tops.with_columns(largest_child_type=child_type)


def accumulation_points(heap: HeapView, values: Values) -> pl.DataFrame:
    enough = values["share"] * int(heap.of_types("reachable_bytes").sum())
    held = heap.retained_bytes
    tops = _parents(heap, np.flatnonzero((held >= enough) & (held > 0))).filter(
        (pl.col("child_count") > 1)
        & (
            pl.col("largest_child_bytes")
            < values["pile_share"] * pl.col("retained_bytes")
        )
    )
    tops = shown(tops, values, "-retained_bytes", "row")
    # The type with most bytes below each.
    below = heap.dominated_by(tops["row"].sort().to_numpy())
    kind, kept = heap.kinds_of(below["below"]), heap.kept(below["below"])
    piles = (
        below.select(row="above", kind=kind, kept=kept)
        .filter(pl.col("kind") >= 0)
        .group_by("row", "kind")
        .agg(piled_count=pl.len(), piled_bytes=pl.col("kept").sum())
        .sort("piled_bytes", "kind", descending=[True, False])
        .unique("row", keep="first", maintain_order=True)
    )
    tops = tops.filter(pl.col("row") < heap.object_count)
    tops = tops.join(piles, on="row", maintain_order="left")
    return tops.with_columns(piled_type=heap.names_of(tops["kind"]))


@kernel
def _follow(dominator: Ints, kind: Ints, head: Ints, depth: Ints) -> None:
    """Find the head of the chain of one kind that an object is in, and its depth.

    ``head`` is -1 at first, and ``depth`` has the object below meanwhile. Unreachable
    objects are heads of their own.
    """
    for first in range(len(dominator)):
        row, below = first, -1
        while head[row] < 0:
            above = dominator[row]
            if above < 0 or kind[above] != kind[row]:
                head[row], depth[row] = row, 0
                break
            depth[row] = below
            below, row = row, above
        while below >= 0:
            row, below = below, depth[below]
            above = dominator[row]
            head[row], depth[row] = head[above], depth[above] + 1


@kernel
def _deepest(head: Ints, depth: Ints, length: Ints) -> None:
    """The objects from each head to the deepest below it, in int32 (N + M,)."""
    for row in range(len(head)):
        length[head[row]] = max(length[head[row]], depth[row] + 1)


def single_type_chains(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.row_count
    names = numbered(heap.captions)[0].to_numpy().astype(np.int32)
    head, depth = np.full(rows, -1, np.int32), np.empty(rows, np.int32)
    _follow(heap.dominator, names[heap.type_index], head, depth)
    length = np.zeros(rows, np.int32)
    _deepest(head, depth, length)
    is_long = length >= max(values["min_length"], 2)
    heads = np.flatnonzero(is_long & (heap.retained_bytes >= values["min_bytes"]))
    heads = heads[np.argsort(-length[heads], kind="stable")[: values["limit"]]]
    return of_rows(heads).with_columns(
        length=pl.Series(length[heads]), member_count=count_by(head, rows)[heads]
    )


def delegate_only(heap: HeapView, values: Values) -> pl.DataFrame:
    is_delegate = heap.fitting(values["pattern"])[heap.type_index]
    # A negative dominator is no object.
    is_below = np.append(is_delegate, [False, False])[heap.dominator]
    rows = largest(np.flatnonzero(is_below), [heap.retained_bytes], values["limit"])
    frame = of_rows(rows).with_columns(delegate=heap.above(rows))
    holders = heap.holders_of(frame["delegate"])
    referrers = holders.group_by(delegate="row").agg(referrer=pl.col("holder").min())
    return frame.join(referrers, on="delegate", how="left", maintain_order="left")


_MORE = 2
"""Counting ends here, since none of several references is the only one."""


@kernel
def _count_holders(
    references: ReferenceColumns,
    is_asked: Bytes,
    distance: Ints,
    dominator: Ints,
    first: int,
    end: int,
    count: Bytes,
) -> None:
    """Count references to objects from others that they do not dominate.

    Those from ``first`` to ``end``, up to `_MORE`, to objects with their bit.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped, row = len(skipped) > 0, 0
    for ref in range(first, end):
        target = targets[ref]
        if (
            is_asked[target >> 3] >> (target & 7) & 1
            and count[target] < _MORE
            and not (some_skipped and skipped[ref])
        ):
            row = row_of(start, ref, row)
            if distance[row] >= 0 and row != target and dominator[row] != target:
                count[target] += 1


def sole_references(heap: HeapView, values: Values) -> pl.DataFrame:
    held, distance = heap.retained_bytes, heap.root_distance
    is_asked = (held >= values["min_bytes"]) & (distance >= 0)
    roots = heap.root_object[heap.root_holds]
    counts = (
        np.bincount(roots, minlength=heap.row_count).clip(0, _MORE).astype(np.uint8)
    )
    columns = heap.references, bits_of(is_asked), distance, heap.dominator

    def counted(first: int, end: int) -> NDArray[np.uint8]:
        some = np.zeros(heap.row_count, np.uint8)
        _count_holders(*columns, first, end, some)
        return some

    for some in in_ranges(counted, 0, len(heap.ref_target), least=MANY_REFERENCES):
        counts += np.minimum(some, _MORE)
    rows = largest(np.flatnonzero(is_asked & (counts == 1)), [held], values["limit"])
    frame = of_rows(rows).with_columns(
        freed_bytes=heap.kept(rows), freed_count=heap.texts(rows, "retained_count")
    )
    into = heap.links(rows, into=True, live=True)
    is_below = heap.above(into["source"]).eq_missing(into["target"])
    into = into.filter((pl.col("source") != pl.col("target")) & ~is_below)
    into = into.select(
        "field", row="target", source="source", holder=heap.type_texts(into["source"])
    )
    of_roots = heap.holding_roots("name", "field").join(
        frame, left_on="object", right_on="row", how="semi"
    )
    of_roots = of_roots.select("field", row="object", holder="name")
    holders = pl.concat([into, of_roots], how="diagonal_relaxed")
    frame = frame.join(holders, on="row", how="left", maintain_order="left")
    return frame.with_columns(holder_address=heap.addresses_of(frame["source"]))


def string_duplicates(heap: HeapView, values: Values) -> pl.DataFrame:
    kinds = heap.of_types("value_kind")
    texts = [one for one in heap.types_named(values["type"]) if kinds[one] is None]
    rows = heap.live_instances(texts)
    size, count = pl.col("each_bytes"), pl.col("string_count")
    groups = (
        of_rows(rows)
        .with_columns(kind=heap.kinds_of(rows), each_bytes=heap.sizes(rows))
        .group_by("kind", "each_bytes")
        .agg(string_count=pl.len().cast(pl.Int64), sample=pl.col("row").min())
        .filter(count >= values["min_count"])
        .with_columns(
            type=pl.lit(values["type"]),
            shallow_bytes=count * size,
            wasted_bytes=(count - 1) * size,
        )
    )
    return shown(groups, values, "-wasted_bytes", "-string_count", "sample")


def finalizable_garbage(heap: HeapView, values: Values) -> pl.DataFrame:
    def named(field: str) -> NDArray[np.int64]:
        if not heap.has("references", "field"):
            return np.empty(0, np.int64)
        is_named = pl.arg_where(pl.col("field") == field)
        rows = heap.tables.lazy("references").select(is_named).collect().to_series()
        return heap.holding(rows.to_numpy().astype(np.int64))

    bases = heap.sources(named("__del__"))  # of classes, in the tuples of their orders
    is_order = np.zeros(heap.row_count, np.bool_)
    is_order[heap.pairs(bases, into=True)["source"]] = True
    orders = named("__mro__")
    classes = heap.sources(orders[is_order[heap.ref_target[orders]]])
    rows = heap.pairs(classes, into=True)["source"].unique()
    rows = rows.filter(~heap.are_alive(rows) & (heap.kinds_of(rows) >= 0))
    groups = (
        of_rows(rows)
        .with_columns(kind=heap.kinds_of(rows), shallow_bytes=heap.sizes(rows))
        .group_by("kind")
        .agg(
            pl.col("shallow_bytes").sum(),
            object_count=pl.len(),
            sample=pl.col("row").min(),
        )
    )
    groups = shown(groups, values, "-object_count", "-shallow_bytes", "kind")
    return groups.with_columns(type=heap.names_of(groups["kind"]))
