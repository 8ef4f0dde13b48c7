"""Answers about holders: roots, timers, closures; and equal texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from ingest.answers.frames import of_rows, shown
from ingest.answers.view import whole

if TYPE_CHECKING:
    from ingest.answers.frames import HeapView, Values

_STATIC, _UNKNOWN = "static", "(unknown)"


def roots_by_kind(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = whole(heap, "roots", ["object", "holds", "kind", "weak", "pinned"])
    by_kind = roots.group_by("kind").agg(
        root_count=pl.len(),
        weak_count=pl.col("weak").sum(),
        pinned_count=pl.col("pinned").sum(),
    )
    held = roots.filter("holds").unique(["kind", "object"])
    held = held.with_columns(retained_bytes=heap.kept(held["object"]))
    held = held.group_by("kind").agg(
        pl.col("retained_bytes").sum(), object_count=pl.len()
    )
    groups = by_kind.join(held, on="kind", how="left").with_columns(
        pl.col("object_count", "retained_bytes").fill_null(0)
    )
    return shown(groups, values, "-retained_bytes", "kind")


def static_roots(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = heap.holding_roots("kind", "type", "field")
    named = pl.when(pl.col("type").is_null()).then(pl.col("field").fill_null(_UNKNOWN))
    each = (
        roots.filter(pl.col("kind") == _STATIC)
        .group_by("type", field=named, row="object")
        .agg(roots=pl.len())
    )
    groups = heap.grouped(
        each, "type", "field", root_count=pl.col("roots").sum(), object_count=pl.len()
    )
    groups = shown(groups, values, "-retained_bytes", "type", "field")
    return groups.with_columns(
        type=pl.coalesce("field", heap.names_of(groups["type"])),
        largest_type=heap.type_texts(groups["largest"]),
        largest_bytes=heap.kept(groups["largest"]),
    )


def isolates(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = heap.holding_roots("kind", "owner").drop_nulls("owner")
    each = roots.group_by("owner", row="object").agg(
        roots=pl.len(), statics=(pl.col("kind") == _STATIC).sum()
    )
    groups = heap.grouped(
        each.with_columns(retained_bytes=heap.kept_at_top(each["row"])), "owner",
        root_count=pl.col("roots").sum(), static_count=pl.col("statics").sum(),
        object_count=pl.len(),
    )  # fmt: skip
    return shown(groups, values, "-retained_bytes", "owner")


def timers(heap: HeapView, values: Values) -> pl.DataFrame:
    held = heap.pairs(heap.live_fitting(values["pattern"])).unique()
    held = held.filter(pl.col("source") != pl.col("target"))
    callbacks = heap.fitting(values["callback"])
    by_callback = pl.Series(callbacks[heap.kinds_of(held["target"]).to_numpy()])
    held = held.select(timer="source", row="target", by_callback=by_callback)
    inner = heap.pairs(held.filter("by_callback")["row"]).unique()
    inner = inner.filter(pl.col("source") != pl.col("target"))
    behind = (
        held.filter("by_callback")
        .join(inner.select(row="source", x="target"), on="row")
        .select("timer", "by_callback", row="x")
    )
    found = pl.concat([held.filter(~pl.col("by_callback")), behind], how="diagonal")
    found = found.filter(pl.col("timer") != pl.col("row"))
    held_type = heap.type_texts(found["row"])
    skips = re.compile(values["skip"], re.ASCII).fullmatch
    skipped = [name for name in held_type.unique() if skips(name)]
    found = found.with_columns(
        held_type=held_type, timer_type=heap.types_of(found["timer"])
    ).filter(~held_type.is_in(skipped))
    keys = ["timer_type", "held_type", "by_callback"]
    timers = found.group_by(keys).agg(timer_count=pl.col("timer").n_unique())
    groups = heap.grouped(found.unique([*keys, "row"]), *keys, held_count=pl.len())
    groups = groups.join(timers, on=keys)
    return shown(groups, values, "-retained_bytes", "-timer_count", *keys)


def closures(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of(values["type"])
    functions = heap.links(rows, "function_").select(row="source", f="target")
    owners = heap.links(functions["f"], "owner_").select(f="source", owner="target")
    contexts = heap.links(rows, "context_").select(row="source", c="target")
    frame = (
        of_rows(rows)
        .with_columns(bytes=heap.kept(rows))
        .join(functions, on="row", how="left")
        .join(owners, on="f", how="left")
        .join(contexts, on="row", how="left")
    )
    groups = heap.by_context(
        frame, ["f", "owner"], values, ["-closure_count", "largest"],
        closure_count=pl.len(), retained_bytes=pl.col("bytes").sum(),
    )  # fmt: skip
    return groups.with_columns(
        function=heap.texts(groups["f"]), declared_in=heap.texts(groups["owner"])
    )


def strings(heap: HeapView, values: Values) -> pl.DataFrame:
    kinds = whole(heap, "types", ["value_kind"]).filter(
        pl.col("value_kind") == "string"
    )
    groups = (
        heap.objects("value", "length", "type", "retained_bytes", "root_distance")
        .filter(pl.col("type").is_in(kinds["row"].implode()))
        .drop_nulls(["value", "root_distance"])
        .group_by("value", "length")
        .agg(
            pl.col("retained_bytes").sum(),
            string_count=pl.len(),
            largest=pl.col("retained_bytes").max(),
            sample=pl.col("row").min(),
        )
        .filter(pl.col("string_count") >= values["min_count"])
        .with_columns(wasted_bytes=pl.col("retained_bytes") - pl.col("largest"))
    )
    groups = shown(groups, values, "-wasted_bytes", "-string_count", "sample")
    into = heap.pairs(groups["sample"], into=True, live=True)
    into = into.select(sample="target", holder="source").with_columns(
        distance=pl.Series(heap.root_distance[into["source"].to_numpy()])
    )
    nearest = into.sort("distance", "holder").unique(
        "sample", keep="first", maintain_order=True
    )
    return groups.join(nearest, on="sample", how="left", maintain_order="left")
