"""Answers about .NET: handles, pins, the queue of finalizers, generations, segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.answers.frames import of_rows, ordered, shown
from ingest.answers.view import NOT_SEEN, whole

if TYPE_CHECKING:
    from ingest.answers.frames import HeapView, Values

_QUEUE = "finalizer_queue"
_MOST_ASKED, _ROUNDS = 500, 30
"""Objects of the queue that others hold, and how often they are gone through."""

_LARGE = 3
"""The generation of large objects."""

_PRECISE = 18
"""Characters of addresses that do not fit 60 bits."""


# ---------------------------------------------------------------- roots


def thread_statics(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = heap.holding_roots("kind", "field", "type").filter(
        (pl.col("kind") == "thread_static") & pl.col("field").is_not_null()
    )
    each = roots.group_by("field", "type", row="object").agg(roots=pl.len())
    groups = heap.grouped(
        each, "field", "type",
        thread_count=pl.col("roots").sum(), object_count=pl.len(),
    )  # fmt: skip
    order = ("-retained_bytes", "-thread_count", "field", "type")
    groups = shown(groups, values, *order)
    return groups.with_columns(
        type=heap.names_of(groups["type"]),
        largest_type=heap.type_texts(groups["largest"]),
        largest_bytes=heap.kept(groups["largest"]),
    )


def gc_handles(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = whole(heap, "roots", ["object", "kind", "weak", "pinned"])
    weak, pinned = pl.col("weak"), pl.col("pinned")
    each = (
        roots.filter(pl.col("kind") == "handle")
        .group_by(row="object")
        .agg(
            handles=pl.len(),
            strong=(~weak & ~pinned).sum(),
            pinned=(pinned & ~weak).sum(),
            weak=weak.sum(),
        )
    )
    kind = heap.kinds_of(each["row"])
    each = each.with_columns(
        kind=kind.set(kind < 0, None),
        retained_bytes=pl.when(pl.col("handles") > weak)
        .then(heap.kept(each["row"]))
        .otherwise(0),
    )
    groups = heap.grouped(
        each, "kind",
        handle_count=pl.col("handles").sum(), strong_count=pl.col("strong").sum(),
        pinned_count=pinned.sum(), weak_count=weak.sum(), object_count=pl.len(),
    )  # fmt: skip
    groups = shown(groups, values, "-retained_bytes", "-handle_count", "kind")
    return groups.with_columns(type=heap.type_texts(groups["largest"]))


def _pinned(heap: HeapView) -> pl.DataFrame:
    """What roots pin: ``row``, the number of its pins, and their kinds, sorted."""
    roots = whole(heap, "roots", ["object", "kind", "pinned"]).filter("pinned")
    return roots.group_by(row="object").agg(
        pin_count=pl.len(), kinds=pl.col("kind").cast(pl.String).unique().sort()
    )


def pinned_objects(heap: HeapView, values: Values) -> pl.DataFrame:
    frame = _pinned(heap)
    frame = frame.with_columns(shallow_bytes=heap.sizes(frame["row"]))
    return shown(frame, values, "-shallow_bytes", "row")


def pinned_fragmentation(heap: HeapView, values: Values) -> pl.DataFrame:
    frame = _pinned(heap)
    rows = frame["row"]
    address = heap.addresses_of(rows)
    frame = frame.with_columns(
        segment=heap.texts(rows, "segment"),
        bytes=heap.sizes(rows),
        caption=heap.captions_of(rows),
    ).filter(pl.col("segment").is_not_null() & (address.str.len_chars() < _PRECISE))
    start = heap.addresses_of(frame["row"]).str.slice(2).str.to_integer(base=16)
    frame = frame.with_columns(start=start, end=start + frame["bytes"])
    gap = pl.col("start") - pl.col("end").shift()
    groups = (
        frame.sort("start", "row")
        .group_by("segment")
        .agg(
            pinned_count=pl.len(),
            pinned_bytes=pl.col("bytes").sum(),
            span_bytes=pl.col("end").last() - pl.col("start").first(),
            largest_gap_bytes=pl.max_horizontal(gap.max().fill_null(0), 0),
            kinds=pl.col("kinds").explode().unique().sort(),
            types=pl.col("caption").unique().sort().head(5),
        )
        .with_columns(gap_bytes=pl.col("span_bytes") - pl.col("pinned_bytes"))
    )
    columns = ("ordinal", "kind", "used_bytes", "shallow_bytes")
    segments = whole(heap, "segments", columns).with_columns(
        empty_bytes=pl.col("used_bytes") - pl.col("shallow_bytes")
    )
    groups = groups.join(segments, left_on="segment", right_on="ordinal")
    return shown(groups, values, "-gap_bytes", "segment")


# ---------------------------------------------------------------- finalizers


def _queued(heap: HeapView) -> tuple[pl.DataFrame, pl.Series]:
    """Objects of the queue, as ``row``; and what other roots hold, once for each."""
    roots = heap.holding_roots("kind")
    is_queue = roots["kind"] == _QUEUE
    return (
        roots.filter(is_queue).select(row="object").unique(),
        roots.filter(~is_queue)["object"],
    )


def finalizer_queue(heap: HeapView, values: Values) -> pl.DataFrame:
    frame, others = _queued(heap)
    frame = frame.with_columns(retained_bytes=heap.kept(frame["row"]))
    frame = shown(frame, values, "-retained_bytes", "row")
    counts = {
        "other_root_count": of_rows(others),
        "holder_count": heap.holders_of(frame["row"]),
    }
    for name, rows in counts.items():
        counted = rows.group_by("row").agg(pl.len().alias(name))
        frame = frame.join(counted, on="row", how="left", maintain_order="left")
    return frame.with_columns(pl.col(*counts).fill_null(0))


def _tops(heap: HeapView, held: pl.DataFrame) -> pl.DataFrame:
    """Of what holds objects, what is above it and nothing above that: ``top``."""
    place = np.full(heap.row_count, NOT_SEEN, np.int32)
    is_above = heap.are_top(np.arange(heap.row_count)).to_numpy()
    place[is_above] = np.flatnonzero(is_above)
    tops = heap.places_above(held["holder"].to_numpy(), place)
    return (
        held.select("row", top=pl.Series(tops).cast(pl.Int64))
        .filter(pl.col("top") != pl.col("row"))
        .unique()
    )


def finalizable_unreachable(heap: HeapView, values: Values) -> pl.DataFrame:
    frame, others = _queued(heap)
    frame = frame.filter(~pl.col("row").is_in(others.implode()))
    holders = _tops(heap, heap.holders_of(frame["row"]))
    alone = frame.filter(~pl.col("row").is_in(holders["row"].implode()))["row"]
    above = holders["top"].unique()
    waiting = pl.concat([others, _tops(heap, heap.holders_of(above))["row"]])
    waits = holders.filter(pl.col("top").is_in(waiting.implode()))
    then = holders.filter(~pl.col("row").is_in(waits["row"].implode()))["row"].unique()
    asked = waits.select("row").unique()
    asked = asked.with_columns(bytes=heap.kept(asked["row"]))
    left = {*ordered(asked, "-bytes", "row").head(_MOST_ASKED)["row"]}
    waits = waits.filter(~pl.col("top").is_in(then.implode()))
    needed: dict[int, set[int]] = {one: set() for one in left}
    for row, top in waits.iter_rows():
        if row in needed:
            needed[row].add(top)
    for _ in range(_ROUNDS):
        fewer = {one for one in left if needed[one] <= left}
        if fewer == left:
            break
        left = fewer
    rows = pl.concat([alone, then, pl.Series(sorted(left), dtype=pl.Int64)])
    own = of_rows(rows).with_columns(
        type=heap.type_texts(rows), shallow_bytes=heap.sizes(rows)
    )
    groups = heap.grouped(
        own, "type", object_count=pl.len(), shallow_bytes=pl.col("shallow_bytes").sum()
    )
    return shown(groups, values, "-retained_bytes", "-object_count", "type")


# ---------------------------------------------------------------- references


def dependent_handles(heap: HeapView, values: Values) -> pl.DataFrame:
    field = "(ephemeron)"
    handles = heap.instances_of(heap.types_with(field))
    held = heap.links(handles, field).select("source", row="target")
    back = heap.links(held["row"]).select(row="source", source="target").unique()
    pairs = held.group_by("source", "row").agg(handles=pl.len())
    pairs = pairs.join(back.with_columns(back=1), on=["source", "row"], how="left")
    source, row = pairs["source"], pairs["row"]
    pairs = pairs.with_columns(
        pl.col("back").fill_null(0),
        key_type=heap.types_of(source),
        value_type=heap.type_texts(row),
        kept=heap.kept_by(source, row),
        live=heap.are_alive(source),
    )
    keys = ["key_type", "value_type"]
    of_values = pairs.group_by(*keys, "row").agg(
        pl.col("kept").max(),
        pl.col("handles").sum(),
        backs=(pl.col("handles") * pl.col("back")).sum(),
    )
    of_keys = (
        pairs.unique([*keys, "source"])
        .group_by(keys)
        .agg(key_count=pl.len(), live_key_count=pl.col("live").sum())
    )
    groups = heap.grouped(
        of_values, *keys,
        handle_count=pl.col("handles").sum(), back_count=pl.col("backs").sum(),
        kept=pl.col("kept").sum(), value_count=pl.len(),
    ).join(of_keys, on=keys)  # fmt: skip
    groups = groups.with_columns(retained_bytes="kept")
    return shown(groups, values, "-retained_bytes", "-handle_count", *keys)


def across_generations(heap: HeapView, values: Values) -> pl.DataFrame:
    found = heap.objects("generation", "type").drop_nulls("type")
    holders, held = (
        found.filter(pl.col("generation") == values[one])["row"]
        for one in ("holders", "held")
    )
    pairs = (
        heap.links(holders)
        .filter(pl.col("target").is_in(held.implode()))
        .group_by("source", "target")
        .agg(references=pl.len())
    )
    groups = (
        pairs.with_columns(
            holder_type=heap.types_of(pairs["source"]),
            type=heap.types_of(pairs["target"]),
            held=heap.kept_by(pairs["source"], pairs["target"]),
        )
        .group_by("holder_type", "type")
        .agg(
            reference_count=pl.col("references").sum(),
            holder_count=pl.col("source").n_unique(),
            object_count=pl.col("target").n_unique(),
            retained_bytes=pl.col("held").sum(),
        )
    )
    order = ("-retained_bytes", "-reference_count", "holder_type", "type")
    return shown(groups, values, *order)


# ---------------------------------------------------------------- places, lifetimes


def large_objects(heap: HeapView, values: Values) -> pl.DataFrame:
    frame = heap.objects("generation").filter(pl.col("generation") == _LARGE)
    frame = frame.with_columns(shallow_bytes=heap.sizes(frame["row"]))
    frame = shown(frame, values, "-shallow_bytes", "row")
    rows = frame["row"]
    return frame.with_columns(type=heap.types_of(rows), holder=heap.above(rows))


def walk(heap: HeapView, values: Values) -> pl.DataFrame:
    start, size = values["start"], pl.col("address").str.len_chars()
    frame = heap.objects("segment", "address").filter(
        (pl.col("segment") == values["segment"])
        & ((size > len(start)) | ((size == len(start)) & (pl.col("address") >= start)))
    )
    frame = frame.sort(size, "address").head(values["limit"])
    return frame.with_columns(type=heap.types_of(frame["row"]))


def oldest_objects(heap: HeapView, values: Values) -> pl.DataFrame:
    frame = heap.objects("collections_survived", "born_in_gc").filter(
        pl.col("collections_survived") >= 0
    )
    if values["born"]:
        frame = frame.drop_nulls("born_in_gc")
    frame = frame.with_columns(retained_bytes=heap.kept(frame["row"]))
    frame = shown(frame, values, "-collections_survived", "-retained_bytes", "row")
    return frame.with_columns(type=heap.types_of(frame["row"]))


def promoted_to_gen2(heap: HeapView, values: Values) -> pl.DataFrame:
    frame = heap.objects("generation", "born_in_gc", "collections_survived").filter(
        (pl.col("generation") == 2) & pl.col("born_in_gc").is_not_null()
    )
    groups = (
        frame.with_columns(
            type=heap.types_of(frame["row"]),
            bytes=heap.sizes(frame["row"]),
            live=heap.are_alive(frame["row"]),
        )
        .drop_nulls("type")
        .group_by("type")
        .agg(
            object_count=pl.len(),
            shallow_bytes=pl.col("bytes").sum(),
            first_born_in_gc=pl.col("born_in_gc").min(),
            last_born_in_gc=pl.col("born_in_gc").max(),
            fewest_collections=pl.col("collections_survived").min(),
            reachable_count=pl.col("live").sum(),
        )
    )
    return shown(groups, values, "-shallow_bytes", "-object_count", "type")
