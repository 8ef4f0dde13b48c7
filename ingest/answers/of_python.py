"""Answers about Python: modules, functions, frames, caches, arrays of numpy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from ingest.answers.frames import of_rows, shown
from ingest.answers.view import whole

if TYPE_CHECKING:
    from ingest.answers.frames import HeapView, Values

_LAZY = ("coroutine", "generator", "async_generator")
_PANDAS = re.compile(r"pandas\..*(DataFrame|Series|Index)")
_FURTHEST = 16
"""Steps up the dominator tree to a DataFrame."""


def lru_caches(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("functools._lru_cache_wrapper")
    frame = of_rows(rows).with_columns(function=heap.texts(rows))
    groups = heap.grouped(frame, "function", cache_count=pl.len())
    return shown(groups, values, "-retained_bytes", "-cache_count", "largest")


def kept_frames(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("frame")
    frame = of_rows(rows).with_columns(
        frame=heap.texts(rows), tracebacks=heap.count_from(rows, "tb_frame")
    )
    tracebacks = pl.col("tracebacks").sum()
    groups = heap.grouped(
        frame, "frame", frame_count=pl.len(), traceback_count=tracebacks
    )
    return shown(groups, values, "-retained_bytes", "-frame_count", "largest")


def coroutines(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of(*_LAZY)
    awaited = heap.links(rows, "cr_await", "gi_yieldfrom", "ag_await")
    kind = heap.types_of(awaited["target"])
    named = kind.is_in(_LAZY).fill_null(value=False)
    names = heap.texts(awaited["target"]).set(~named, None)
    awaited = (
        awaited.select(row="source", kind=kind, name=names)
        .filter(pl.col("kind") != "NoneType")
        .group_by("row")
        .agg(waits_for=pl.coalesce("name", "kind").min())
    )
    frame = of_rows(rows).with_columns(
        type=heap.types_of(rows),
        function=heap.texts(rows),
        tasks=heap.count_from(rows, "_coro"),
    )
    groups = heap.grouped(
        frame.join(awaited, on="row", how="left"), "type", "function", "waits_for",
        count=pl.len(), task_count=pl.col("tasks").sum(),
    )  # fmt: skip
    return shown(groups, values, "-retained_bytes", "-count", "largest")


def function_closures(heap: HeapView, values: Values) -> pl.DataFrame:
    held = heap.links_to(heap.live_of("function"), "__closure__", to=["tuple"])
    cells = heap.links_to(held["target"].unique(), to=["cell"])
    pairs = (
        held.select(row="source", at="target")
        .join(cells.select(at="source", cell="target"), on="at")
        .unique(["row", "cell"])
    )
    pairs = pairs.with_columns(
        function=heap.texts(pairs["row"]), cell_bytes=heap.kept(pairs["cell"])
    )
    of_cells = (
        pairs.unique(["function", "cell"])
        .group_by("function")
        .agg(pl.col("cell_bytes").sum(), cell_count=pl.len())
    )
    groups = heap.grouped(pairs, "function", closure_count=pl.col("row").n_unique())
    groups = groups.join(of_cells, on="function", nulls_equal=True)
    return shown(groups, values, "-cell_bytes", "-closure_count", "largest")


def log_records(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("logging.LogRecord")
    frame = of_rows(rows)
    for field, name in (("name", "logger"), ("msg", "message")):
        named = heap.links_to(rows, field, to=["str"])
        named = named.select(row="source", text=heap.texts(named["target"]))
        least = named.group_by("row").agg(pl.col("text").min().alias(name))
        frame = frame.join(least, on="row", how="left")
    groups = heap.grouped(frame, "logger", "message", record_count=pl.len())
    return shown(groups, values, "-retained_bytes", "-record_count", "largest")


def context_variables(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("ContextVar", "_contextvars.ContextVar")
    nodes = heap.links(rows, into=True, live=True)
    is_node = heap.types_of(nodes["source"]).is_in(
        ["hamt_bitmap_node", "hamt_collision_node"]
    )
    nodes = nodes.filter(is_node.fill_null(value=False))
    nodes = nodes.select("source", field=heap.texts(nodes["target"])).unique()
    frame = nodes.join(heap.links(nodes["source"]), on=["source", "field"])
    frame = frame.select(variable="field", row="target").unique()
    groups = heap.grouped(frame, "variable", value_count=pl.len())
    order = ("-retained_bytes", "-value_count", "largest", "variable")
    return shown(groups, values, *order)


def module_variables(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = heap.holding_roots("kind", "field").filter(
        (pl.col("kind") == "static") & pl.col("field").str.contains(".", literal=True)
    )
    each = (
        roots.with_columns(module=pl.col("field").str.replace(r"\.[^.]*$", ""))
        .group_by("module", row="object")
        .agg(variable=pl.col("field").min(), variables=pl.len())
    )
    groups = heap.grouped(
        each.with_columns(retained_bytes=heap.kept_at_top(each["row"])), "module",
        variable_count=pl.col("variables").sum(), object_count=pl.len(),
        largest_variable=pl.col("variable").first(),
    )  # fmt: skip
    return shown(groups, values, "-retained_bytes", "module")


def numpy_arrays(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("numpy.ndarray")
    has_base = rows.is_in(heap.links(rows, "base")["source"].implode())
    frame = of_rows(rows).with_columns(
        data_bytes=heap.sizes(rows),
        external_bytes=heap.texts(rows, "external_bytes").cast(pl.Int64),
        elements=heap.texts(rows),
    )
    outside = pl.col("external_bytes").fill_null(0)
    frame = frame.filter((outside > 0) | ~has_base).with_columns(
        total=pl.col("data_bytes") + outside
    )
    frame = shown(frame, values, "-total", "row")
    rows = frame["row"]
    frames = [_frame_above(heap, row) for row in rows.to_list()]
    return frame.with_columns(
        view_count=heap.count_from(rows, "base"),
        held_by=heap.types_of(heap.behind_views(rows, "base")),
        frame=pl.Series(frames, dtype=pl.Int64),
    )


def _frame_above(heap: HeapView, row: int) -> int | None:
    """The nearest object of pandas that dominates an array."""
    for above in heap.dominators(row)[1 : _FURTHEST + 1]:
        if _PANDAS.fullmatch(heap.full_type(above)):
            return above
    return None


def _local_types(heap: HeapView) -> list[int]:
    """``_thread._local`` and what derives from it: it is in their order, a tuple."""
    bases = heap.types_named("_thread._local")
    classes = whole(heap, "types", ["class_address"]).drop_nulls()
    if not bases or classes.is_empty():
        return bases
    of_base = classes.filter(pl.col("row").is_in(bases))["class_address"]
    kind_at = {address: kind for kind, address in classes.iter_rows()}
    kind_of = {row: kind_at[at] for at in kind_at for row in heap.objects_at(at)}
    orders = heap.links([*kind_of], "__mro__")
    inner = heap.links(orders["target"].unique())
    with_base = inner.filter(
        heap.addresses_of(inner["target"]).is_in(of_base.implode())
    )
    derived = orders.filter(pl.col("target").is_in(with_base["source"].implode()))
    return sorted({*bases, *(kind_of[row] for row in derived["source"].to_list())})


def thread_local_values(heap: HeapView, values: Values) -> pl.DataFrame:
    owners = heap.links(heap.live_instances(_local_types(heap)), "(threads)")
    dicts = heap.links_to(owners["target"].unique(), to=["dict"])
    each = (
        owners.select(l="source", at="target")
        .join(dicts.select(at="source", d="target"), on="at")
        .unique(["l", "d"])
    )
    held = heap.links(each["d"].unique()).filter(pl.col("field").str.starts_with("["))
    held = held.select("field", d="source", row="target").unique()
    found = each.select("l", "d").join(held, on="d")
    threads = found.group_by("l", "field").agg(thread_count=pl.col("d").n_unique())
    groups = heap.grouped(found.unique(["l", "field", "row"]), "l", "field")
    groups = groups.join(threads, on=["l", "field"])
    groups = shown(groups, values, "-retained_bytes", "l", "field")
    statics = heap.holding_roots("kind", "field").filter(pl.col("kind") == "static")
    names = statics.group_by(l="object").agg(variable=pl.col("field").min())
    key = pl.col("field")
    return groups.rename({"l": "row"}).with_columns(
        variable=groups.join(names, on="l", how="left", maintain_order="left")[
            "variable"
        ],
        attribute=pl.when(key.str.starts_with("['"))
        .then(key.str.slice(2, key.str.len_chars() - 4))
        .otherwise(key),
    )
