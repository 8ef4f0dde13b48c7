"""Answers about Python: modules, functions, frames, caches, arrays of numpy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from ingest.answers.frames import ordered
from ingest.answers.view import limit_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value

_LAZY = ("coroutine", "generator", "async_generator")
_PANDAS = re.compile(r"pandas\..*(DataFrame|Series|Index)")
_FURTHEST = 16
"""Steps up the dominator tree to a DataFrame."""


def lru_caches(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``lru-caches``."""
    rows = heap.live_of("functools._lru_cache_wrapper")
    frame = pl.DataFrame({"row": rows, "function": heap.texts(rows)})
    groups = heap.grouped(frame, ["function"]).with_columns(cache_count="count")
    order = ("-retained_bytes", "-count", "largest")
    return heap.with_largest(groups, values["limit"], *order)


def kept_frames(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``kept-frames``."""
    rows = heap.live_of("frame")
    frame = pl.DataFrame(
        {
            "row": rows,
            "frame": heap.texts(rows),
            "tracebacks": heap.count_from(rows, "tb_frame"),
        }
    )
    groups = heap.grouped(
        frame, ["frame"], pl.col("tracebacks").sum().alias("traceback_count")
    ).with_columns(frame_count="count")
    order = ("-retained_bytes", "-count", "largest")
    return heap.with_largest(groups, values["limit"], *order)


def coroutines(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``coroutines``."""
    rows = heap.live_of(*_LAZY)
    awaited = heap.links(rows, "cr_await", "gi_yieldfrom", "ag_await")
    target = awaited["target"]
    awaited = awaited.select("source").with_columns(
        kind=heap.types_of(target), value=heap.texts(target)
    )
    awaited = (
        awaited.filter(pl.col("kind") != "NoneType")
        .with_columns(
            name=pl.coalesce(pl.when(pl.col("kind").is_in(_LAZY)).then("value"), "kind")
        )
        .group_by("source")
        .agg(pl.col("name").min().alias("waits_for"))
    )
    frame = pl.DataFrame(
        {
            "row": rows,
            "type": heap.types_of(rows),
            "function": heap.texts(rows),
            "tasks": heap.count_from(rows, "_coro"),
        }
    ).join(awaited, left_on="row", right_on="source", how="left")
    keys = ["type", "function", "waits_for"]
    groups = heap.grouped(frame, keys, pl.col("tasks").sum().alias("task_count"))
    order = ("-retained_bytes", "-count", "largest")
    return heap.with_largest(groups, values["limit"], *order)


def function_closures(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``function-closures``."""
    held = heap.links(heap.live_of("function"), "__closure__")
    held = held.filter(heap.types_of(held["target"]) == "tuple")
    cells = heap.links(held["target"].unique())
    cells = cells.filter(heap.types_of(cells["target"]) == "cell")
    pairs = (
        held.select("source", "target")
        .join(
            cells.select("source", cell="target"), left_on="target", right_on="source"
        )
        .unique(["source", "cell"])
    )
    pairs = pairs.with_columns(
        function=heap.texts(pairs["source"]), row="source"
    ).with_columns(cell_bytes_=heap.kept(pairs["cell"]))
    of_cells = (
        pairs.unique(["function", "cell"])
        .group_by("function")
        .agg(
            pl.len().alias("cell_count"),
            pl.col("cell_bytes_").sum().alias("cell_bytes"),
        )
    )
    groups = heap.grouped(pairs, ["function"],
        pl.col("row").n_unique().alias("closure_count"),
    ).join(of_cells, on="function", nulls_equal=True)  # fmt: skip
    order = ("-cell_bytes", "-closure_count", "largest")
    return heap.with_largest(groups, values["limit"], *order)


def log_records(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``log-records``."""
    rows = heap.live_of("logging.LogRecord")
    frame = pl.DataFrame({"row": rows})
    for field, name in (("name", "logger"), ("msg", "message")):
        named = heap.links(rows, field)
        named = named.filter(heap.types_of(named["target"]) == "str")
        named = named.select("source", **{name: heap.texts(named["target"])})
        least = named.group_by("source").agg(pl.col(name).min())
        frame = frame.join(least, left_on="row", right_on="source", how="left")
    groups = heap.grouped(frame, ["logger", "message"])
    groups = groups.with_columns(record_count="count")
    order = ("-retained_bytes", "-count", "largest")
    return heap.with_largest(groups, values["limit"], *order)


def context_variables(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``context-variables``."""
    rows = heap.live_of("ContextVar", "_contextvars.ContextVar")
    nodes = heap.links(rows, into=True, live=True)
    is_node = heap.types_of(nodes["source"]).is_in(
        ["hamt_bitmap_node", "hamt_collision_node"]
    )
    nodes = nodes.filter(is_node.fill_null(value=False))
    nodes = nodes.select("source", variable=heap.texts(nodes["target"])).unique()
    frame = (
        nodes.join(
            heap.links(nodes["source"]),
            left_on=["source", "variable"],
            right_on=["source", "field"],
        )
        .select("variable", row="target")
        .unique()
    )
    groups = heap.grouped(frame, ["variable"]).with_columns(value_count="count")
    order = ("-retained_bytes", "-count", "largest", "variable")
    return heap.with_largest(groups, values["limit"], *order)


def module_variables(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``module-variables``."""
    roots = heap.holding_roots("kind", "field").filter(
        (pl.col("kind") == "static") & pl.col("field").str.contains(".", literal=True)
    )
    each = (
        roots.with_columns(module=pl.col("field").str.replace(r"\.[^.]*$", ""))
        .group_by("module", "object")
        .agg(
            pl.col("field").min().alias("variable"),
            pl.len().alias("variables"),
        )
    )
    kept = heap.kept(each["object"])
    each = each.with_columns(
        bytes=pl.when(heap.are_top(each["object"])).then(kept).otherwise(0)
    )
    groups = (
        ordered(each, "-bytes", "object")
        .group_by("module", maintain_order=True)
        .agg(
            pl.col("variables").sum().alias("variable_count"),
            pl.len().alias("object_count"),
            pl.col("bytes").sum().alias("retained_bytes"),
            pl.col("variable").first().alias("largest_variable"),
            pl.col("object").first().alias("largest"),
        )
    )
    return heap.with_largest(groups, values["limit"], "-retained_bytes", "module")


def numpy_arrays(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``numpy-arrays``."""
    rows = heap.live_of("numpy.ndarray")
    has_base = pl.Series(rows).is_in(heap.links(rows, "base")["source"].implode())
    frame = pl.DataFrame(
        {
            "row": rows,
            "data_bytes": heap.sizes(rows),
            "external_bytes": heap.texts(rows, "external_bytes").cast(pl.Int64),
            "elements": heap.texts(rows),
        }
    )
    outside = pl.col("external_bytes").fill_null(0)
    frame = frame.filter((outside > 0) | ~has_base).with_columns(
        total=pl.col("data_bytes") + outside
    )
    frame = ordered(frame, "-total", "row").head(limit_of(values))
    chosen = frame["row"]
    above = heap.above(chosen)
    pairs = pl.DataFrame({"source": above, "target": chosen})
    is_view = pairs.join(
        heap.links(above, "base").select("source", "target").unique(),
        on=["source", "target"], how="semi",
    )["target"]  # fmt: skip
    further = heap.above(above).set(~chosen.is_in(is_view.implode()), None)
    frames = [_frame_above(heap, row) for row in chosen.to_list()]
    holder = pl.select(pl.coalesce(further, above)).to_series()
    return frame.with_columns(
        address=heap.addresses_of(chosen),
        view_count=heap.count_from(chosen, "base"),
        held_by=heap.types_of(holder),
        frame_type=heap.types_of(pl.Series(frames, dtype=pl.Int64)),
        frame_address=heap.addresses_of(pl.Series(frames, dtype=pl.Int64)),
    ).to_dicts()


def _frame_above(heap: HeapView, row: int) -> int | None:
    """The nearest object of pandas that dominates an array."""
    for above in heap.dominators(row)[1 : _FURTHEST + 1]:
        if _PANDAS.fullmatch(heap.full_type(above)):
            return above
    return None


def thread_local_values(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``thread-local-values``."""
    bases = heap.types_named("_thread._local")
    if not bases:
        return []
    classes = whole(heap, "types", ["class_address"])
    of_base = set(classes["class_address"].gather(bases).drop_nulls())
    # A class has its bases in its order of resolution, a tuple.
    at = {
        address: kind
        for kind, address in zip(*classes.get_columns(), strict=True)
        if address is not None
    }
    objects = {row: address for address in at for row in heap.objects_at(address)}
    orders = heap.links(pl.Series([*objects], dtype=pl.Int64), "__mro__")
    inner = heap.links(orders["target"].unique())
    inner = inner.with_columns(address=heap.addresses_of(inner["target"]))
    with_base = inner.filter(pl.col("address").is_in(of_base))["source"]
    derived = orders.filter(pl.col("target").is_in(with_base.implode()))["source"]
    kinds = {*bases, *(at[objects[row]] for row in derived.to_list())}
    owners = heap.links(heap.live(heap.instances_of(sorted(kinds))), "(threads)")
    dicts = heap.links(owners["target"].unique())
    dicts = dicts.filter(heap.types_of(dicts["target"]) == "dict")
    each = (
        owners.select(l="source", at="target")
        .join(dicts.select(at="source", d="target"), on="at")
        .unique(["l", "d"])
    )
    held = heap.links(each["d"].unique()).filter(pl.col("field").str.starts_with("["))
    found = each.select("l", "d").join(
        held.select("field", d="source", row="target").unique(), on="d"
    )
    threads = found.group_by("l", "field").agg(
        pl.col("d").n_unique().alias("thread_count")
    )
    groups = heap.grouped(found.unique(["l", "field", "row"]), ["l", "field"])
    groups = groups.join(threads, on=["l", "field"])
    groups = ordered(groups, "-retained_bytes", "l", "field").head(limit_of(values))
    names = (
        heap.holding_roots("kind", "field")
        .filter(pl.col("kind") == "static")
        .group_by("object")
        .agg(pl.col("field").min())
    )
    variable = dict(names.iter_rows())
    return [
        row
        | {
            "variable": variable.get(row["l"]),
            "type": heap.full_type(row["l"]),
            "address": heap.address(row["l"]),
            "attribute": field[2:-2] if field.startswith("['") else field,
            "largest_address": heap.address(row["largest"]),
        }
        for row in groups.to_dicts()
        for field in [row["field"]]
    ]
