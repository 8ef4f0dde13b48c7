"""Answers about .NET: handles, pins, the queue of finalizers, generations, segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.answers.frames import ordered
from ingest.answers.view import NOT_SEEN, limit_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value

_QUEUE = "finalizer_queue"
_MOST_ASKED, _ROUNDS = 500, 30
"""Objects of the queue that others hold, and how often they are gone through."""

_LARGE = 3
"""The generation of large objects."""

_PRECISE = 18
"""Characters of addresses that do not fit 60 bits."""


def _named(heap: HeapView, frame: pl.DataFrame, row: str = "row") -> pl.DataFrame:
    """With the columns that most rows about an object have."""
    rows = frame[row]
    return frame.with_columns(
        type=heap.type_texts(rows),
        address=heap.addresses_of(rows),
        shallow_bytes=heap.sizes(rows),
        retained_bytes=heap.kept(rows),
    )


def _objects(heap: HeapView, *columns: str) -> pl.DataFrame:
    """Columns of all objects; none if the heap has one of them not at all."""
    if not all(heap.has("objects", column) for column in columns):
        return whole(heap, "objects", columns).head(0)
    return whole(heap, "objects", columns).with_columns(pl.col("row").cast(pl.Int64))


# ---------------------------------------------------------------- roots


def thread_statics(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``thread-statics``."""
    roots = heap.holding_roots("kind", "field", "type").filter(
        (pl.col("kind") == "thread_static") & pl.col("field").is_not_null()
    )
    each = roots.group_by("field", "type", row="object").agg(pl.len().alias("roots"))
    groups = heap.grouped(
        each, ["field", "type"], pl.col("roots").sum().alias("thread_count")
    ).with_columns(object_count="count")
    order = ("-retained_bytes", "-thread_count", "field", "type")
    groups = ordered(groups, *order).head(limit_of(values))
    names = pl.Series(heap.type_names, dtype=pl.String)
    return groups.with_columns(
        type=names.gather(groups["type"]),
        largest_type=heap.type_texts(groups["largest"]),
        largest_address=heap.addresses_of(groups["largest"]),
        largest_bytes=heap.kept(groups["largest"]),
    ).to_dicts()


def gc_handles(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``gc-handles``."""
    roots = whole(heap, "roots", ["object", "kind", "weak", "pinned"])
    each = (
        roots.filter(pl.col("kind") == "handle")
        .group_by(pl.col("object").cast(pl.Int64).alias("row"))
        .agg(
            pl.len().alias("handles"),
            (~pl.col("weak") & ~pl.col("pinned")).sum().alias("strong"),
            (pl.col("pinned") & ~pl.col("weak")).sum().alias("pinned"),
            pl.col("weak").sum().alias("weak"),
        )
    )
    is_held = pl.col("handles") > pl.col("weak")
    each = each.with_columns(
        kind=pl.Series(heap.type_index).gather(each["row"]),
        bytes=pl.when(is_held).then(heap.kept(each["row"])).otherwise(0),
    )
    groups = each.group_by("kind").agg(
        pl.col("row").first(),
        pl.col("handles").sum().alias("handle_count"),
        pl.col("strong").sum().alias("strong_count"),
        pl.col("pinned").sum().alias("pinned_count"),
        pl.col("weak").sum().alias("weak_count"),
        pl.len().alias("object_count"),
        pl.col("bytes").sum().alias("retained_bytes"),
    )
    groups = groups.with_columns(
        type=heap.type_texts(groups["row"]), kind=pl.col("kind").replace(-1, None)
    )
    order = ("-retained_bytes", "-handle_count", "kind")
    return ordered(groups, *order).head(limit_of(values)).to_dicts()


def _pinned(heap: HeapView) -> pl.DataFrame:
    """What roots pin: ``row``, the number of its pins, and their kinds, sorted."""
    roots = whole(heap, "roots", ["object", "kind", "pinned"]).filter("pinned")
    return roots.group_by(pl.col("object").cast(pl.Int64).alias("row")).agg(
        pl.len().alias("pin_count"),
        pl.col("kind").cast(pl.String).unique().sort().alias("kinds"),
    )


def pinned_objects(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``pinned-objects``."""
    frame = _pinned(heap)
    frame = frame.with_columns(shallow_bytes=heap.sizes(frame["row"]))
    frame = ordered(frame, "-shallow_bytes", "row").head(limit_of(values))
    return _named(heap, frame).to_dicts()


def pinned_fragmentation(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``pinned-fragmentation``."""
    frame = _pinned(heap)
    frame = frame.with_columns(
        address=heap.addresses_of(frame["row"]),
        segment=heap.texts(frame["row"], "segment"),
        bytes=heap.sizes(frame["row"]),
        caption=heap.captions_of(frame["row"]),
    ).filter(
        pl.col("segment").is_not_null() & (pl.col("address").str.len_chars() < _PRECISE)
    )
    frame = frame.with_columns(
        start=pl.col("address").str.slice(2).str.to_integer(base=16)
    ).sort("start", "row")
    segments = whole(
        heap, "segments", ["ordinal", "kind", "used_bytes", "shallow_bytes"]
    )
    known = {row["ordinal"]: row for row in segments.to_dicts()}
    found: list[Row] = []
    for (ordinal,), group in frame.group_by("segment"):
        starts, sizes = group["start"].to_list(), group["bytes"].to_list()
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        gaps = [begin - end for begin, end in zip(starts[1:], ends, strict=False)]
        segment, span = known[ordinal], ends[-1] - starts[0]
        found.append(
            {
                "segment": ordinal,
                "kind": segment["kind"],
                "pinned_count": len(starts),
                "pinned_bytes": sum(sizes),
                "span_bytes": span,
                "gap_bytes": span - sum(sizes),
                "largest_gap_bytes": max([0, *gaps]),
                "used_bytes": segment["used_bytes"],
                "empty_bytes": segment["used_bytes"] - segment["shallow_bytes"],
                "kinds": sorted({one for some in group["kinds"] for one in some}),
                "types": sorted({*group["caption"]})[:5],
            }
        )
    found.sort(key=lambda row: (-row["gap_bytes"], row["segment"]))
    return found[: limit_of(values)]


# ---------------------------------------------------------------- finalizers


def _queued(heap: HeapView) -> tuple[pl.DataFrame, pl.Series]:
    """Objects of the queue, as ``row``; and what other roots hold, once for each."""
    roots = heap.holding_roots("kind")
    is_queue = roots["kind"] == _QUEUE
    return (
        roots.filter(is_queue).select(row="object").unique(),
        roots.filter(~is_queue)["object"],
    )


def _held_by(heap: HeapView, rows: pl.Series) -> pl.DataFrame:
    """Reachable objects that hold some others, once each: ``row`` and ``holder``."""
    held = heap.links(rows, into=True, live=True)
    held = held.filter(pl.col("source") != pl.col("target"))
    return held.select(row="target", holder="source").unique()


def finalizer_queue(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``finalizer-queue``."""
    frame, others = _queued(heap)
    frame = frame.with_columns(bytes=heap.kept(frame["row"]))
    frame = ordered(frame, "-bytes", "row").head(limit_of(values))
    count = pl.len()
    for name, rows in (
        ("other_root_count", others.alias("row").to_frame()),
        ("holder_count", _held_by(heap, frame["row"])),
    ):
        counts = rows.group_by("row").agg(count.alias(name))
        frame = frame.join(counts, on="row", how="left", maintain_order="left")
    return (
        _named(heap, frame)
        .with_columns(pl.col("other_root_count", "holder_count").fill_null(0))
        .to_dicts()
    )


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


def finalizable_unreachable(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``finalizable-unreachable``."""
    frame, others = _queued(heap)
    frame = frame.filter(~pl.col("row").is_in(others.implode()))
    holders = _tops(heap, _held_by(heap, frame["row"]))
    alone = frame.filter(~pl.col("row").is_in(holders["row"].implode()))["row"]
    above = holders["top"].unique()
    waiting = pl.concat([others, _tops(heap, _held_by(heap, above))["row"]])
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
    own = pl.DataFrame(
        {"row": rows, "type": heap.type_texts(rows), "bytes": heap.sizes(rows)}
    )
    groups = heap.grouped(own, ["type"], pl.col("bytes").sum().alias("shallow_bytes"))
    groups = groups.with_columns(object_count="count")
    order = ("-retained_bytes", "-count", "type")
    return heap.with_largest(groups, values["limit"], *order)


# ---------------------------------------------------------------- references


def dependent_handles(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``dependent-handles``."""
    field = "(ephemeron)"
    fields = " " + heap.of_types("fields").fill_null("") + " "
    kinds = fields.str.contains(f" {field} ", literal=True).arg_true().to_list()
    held = heap.links(heap.instances_of(kinds), field).select("source", "target")
    back = heap.links(held["target"]).select(source="target", target="source")
    pairs = held.group_by("source", "target").agg(pl.len().alias("handles"))
    pairs = pairs.join(
        back.unique().with_columns(back=1), on=["source", "target"], how="left"
    ).with_columns(
        key_type=heap.types_of(pairs["source"]),
        value_type=heap.type_texts(pairs["target"]),
    )
    pairs = pairs.with_columns(
        kept=pl.when(heap.above(pairs["target"]) == pairs["source"])
        .then(heap.kept(pairs["target"]))
        .otherwise(0),
        live=pl.Series(heap.root_distance).gather(pairs["source"]) >= 0,
    )
    keys = ["key_type", "value_type"]
    of_values = pairs.group_by(*keys, row="target").agg(
        pl.col("kept").max(),
        pl.col("handles").sum(),
        (pl.col("handles") * pl.col("back").fill_null(0)).sum().alias("backs"),
    )
    of_keys = (
        pairs.unique([*keys, "source"])
        .group_by(keys)
        .agg(
            pl.len().alias("key_count"),
            pl.col("live").sum().alias("live_key_count"),
        )
    )
    groups = heap.grouped(of_values, keys,
        pl.col("handles").sum().alias("handle_count"),
        pl.col("backs").sum().alias("back_count"),
        pl.col("kept").sum(),
    ).join(of_keys, on=keys)  # fmt: skip
    groups = groups.with_columns(value_count="count", retained_bytes="kept")
    order = ("-retained_bytes", "-handle_count", *keys)
    return heap.with_largest(groups, values["limit"], *order)


def across_generations(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``across-generations``."""
    found = _objects(heap, "generation", "type").filter(
        pl.col("type").is_not_null()
    ).select("row", "generation")  # fmt: skip
    holders = found.filter(pl.col("generation") == values["holders"])["row"]
    held = found.filter(pl.col("generation") == values["held"])["row"]
    pairs = (
        heap.links(holders)
        .filter(pl.col("target").is_in(held.implode()))
        .group_by("source", "target")
        .agg(pl.len().alias("references"))
    )
    is_own = heap.above(pairs["target"]) == pairs["source"]
    groups = (
        pairs.with_columns(
            holder_type=heap.types_of(pairs["source"]),
            type=heap.types_of(pairs["target"]),
            held=pl.when(is_own).then(heap.kept(pairs["target"])).otherwise(0),
        )
        .group_by("holder_type", "type")
        .agg(
            pl.col("references").sum().alias("reference_count"),
            pl.col("source").n_unique().alias("holder_count"),
            pl.col("target").n_unique().alias("object_count"),
            pl.col("held").sum().alias("retained_bytes"),
        )
    )
    order = ("-retained_bytes", "-reference_count", "holder_type", "type")
    return ordered(groups, *order).head(limit_of(values)).to_dicts()


# ---------------------------------------------------------------- places, lifetimes


def large_objects(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``large-objects``."""
    frame = _objects(heap, "generation").filter(pl.col("generation") == _LARGE)
    frame = frame.with_columns(shallow_bytes=heap.sizes(frame["row"]))
    frame = ordered(frame, "-shallow_bytes", "row").head(limit_of(values))
    rows = frame["row"]
    return (
        _named(heap, frame)
        .with_columns(
            type=heap.types_of(rows),
            segment=heap.texts(rows, "segment"),
            alive=pl.Series(heap.root_distance).gather(rows) >= 0,
            holder_type=heap.types_of(heap.above(rows)),
        )
        .to_dicts()
    )


def walk(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``walk``."""
    start, size = str(values["start"]), pl.col("address").str.len_chars()
    frame = (
        _objects(heap, "segment", "address")
        .filter(
            (pl.col("segment") == values["segment"])
            & (
                (size > len(start))
                | ((size == len(start)) & (pl.col("address") >= start))
            )
        )
        .sort(size, "address")
        .head(limit_of(values))
    )
    return (
        _named(heap, frame)
        .with_columns(
            type=heap.types_of(frame["row"]),
            generation=heap.texts(frame["row"], "generation"),
            alive=pl.Series(heap.root_distance).gather(frame["row"]) >= 0,
        )
        .to_dicts()
    )


def oldest_objects(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``oldest-objects``."""
    frame = _objects(heap, "collections_survived", "born_in_gc").filter(
        pl.col("collections_survived") >= 0
    )
    if values["born"]:
        frame = frame.filter(pl.col("born_in_gc").is_not_null())
    frame = frame.with_columns(bytes=heap.kept(frame["row"]))
    order = ("-collections_survived", "-bytes", "row")
    frame = ordered(frame, *order).head(limit_of(values))
    return (
        _named(heap, frame)
        .with_columns(
            type=heap.types_of(frame["row"]),
            generation=heap.texts(frame["row"], "generation"),
            known_at=heap.texts(frame["row"], "known_at"),
        )
        .to_dicts()
    )


def promoted_to_gen2(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``promoted-to-gen2``."""
    frame = _objects(heap, "generation", "born_in_gc", "collections_survived").filter(
        (pl.col("generation") == 2) & pl.col("born_in_gc").is_not_null()
    )
    groups = (
        frame.with_columns(
            type=heap.types_of(frame["row"]),
            bytes=heap.sizes(frame["row"]),
            live=pl.Series(heap.root_distance).gather(frame["row"]) >= 0,
        )
        .drop_nulls("type")
        .group_by("type")
        .agg(
            pl.len().alias("object_count"),
            pl.col("bytes").sum().alias("shallow_bytes"),
            pl.col("born_in_gc").min().alias("first_born_in_gc"),
            pl.col("born_in_gc").max().alias("last_born_in_gc"),
            pl.col("collections_survived").min().alias("fewest_collections"),
            pl.col("live").sum().alias("reachable_count"),
        )
    )
    order = ("-shallow_bytes", "-object_count", "type")
    return ordered(groups, *order).head(cast("int", values["limit"])).to_dicts()
