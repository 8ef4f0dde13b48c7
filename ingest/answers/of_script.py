"""Answers about JavaScript: functions and their contexts, collections, texts, pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.answers.frames import ordered
from ingest.answers.view import limit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value

_FUNCTION = "Function"
_NATIVE = "system / NativeContext"
_NO_EVENTS = ("__proto__", "map", "properties", "elements")
_NO_VARIABLES = ("previous", "scope_info", "map", "extension")


def _starting(heap: HeapView, text: str) -> pl.Series:
    """Reachable instances of types whose names start with a text."""
    kinds = [i for i, name in enumerate(heap.type_names) if name.startswith(text)]
    return pl.Series(heap.live(heap.instances_of(kinds)), dtype=pl.Int64)


def _to(heap: HeapView, frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """References to objects of types of these names."""
    return frame.filter(heap.types_of(frame["target"]).is_in(names))


def _is_native(heap: HeapView, rows: pl.Series) -> pl.Series:
    """Which contexts are those of the language itself."""
    said = pl.select(pl.coalesce(heap.texts(rows), heap.captions_of(rows))).to_series()
    return said.str.starts_with(_NATIVE).fill_null(value=False)


def _contexts(heap: HeapView, functions: pl.Series) -> pl.DataFrame:
    """Contexts of functions: ``f`` and ``c``, which is null if it is the language's."""
    found = heap.links(functions.unique(), "context")
    found = found.select(f="source", c="target").unique()
    native = _is_native(heap, found["c"])
    return found.with_columns(c=pl.when(native).then(None).otherwise(pl.col("c")))


def _by_context(
    heap: HeapView,
    frame: pl.DataFrame,
    keys: Sequence[str],
    limit: object,
    order: Sequence[str],
    *more: pl.Expr,
) -> list[Row]:
    """Groups of what has contexts, each of which counts once.

    Args:
        heap: The heap.
        frame: ``row``, and ``c``, its context or null.
        keys: What they are grouped by.
        limit: The most rows.
        order: See `ordered`.
        more: What else to compute of each group.

    Returns:
        Rows with ``context_count``, ``context_bytes`` and ``largest_address``.
    """
    frame = frame.with_columns(kept=heap.kept(frame["c"]).fill_null(0))
    contexts = frame.unique([*keys, "c"]).group_by(keys).agg(
        pl.col("c").count().alias("context_count"),
        pl.col("kept").sum().alias("context_bytes"),
    )  # fmt: skip
    groups = (
        ordered(frame, "-kept", "row")
        .group_by(keys, maintain_order=True)
        .agg(pl.col("row").first().alias("largest"), *more)
        .join(contexts, on=keys, nulls_equal=True)
    )
    return heap.with_largest(groups, limit, *order)


def _distinct(name: str, alias: str) -> pl.Expr:
    return pl.col(name).n_unique().alias(alias)


def script_functions(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``script-functions``."""
    rows = pl.Series(heap.live_of(_FUNCTION), dtype=pl.Int64)
    contexts = _contexts(heap, rows).drop_nulls("c")
    frame = pl.DataFrame({"row": rows, "function": heap.texts(rows)}).join(
        contexts, left_on="row", right_on="f", how="left"
    )
    return _by_context(
        heap, frame, ["function"], values["limit"],
        ["-context_bytes", "-closure_count", "largest"],
        _distinct("row", "closure_count"),
    )  # fmt: skip


def pending_timers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``pending-timers``."""
    own = heap.links(heap.live_of("Timeout", "Immediate"), "_onTimeout", "_onImmediate")
    actions = _to(heap, heap.links(heap.live_of("DOMTimer")), "ScheduledAction")
    wrappers = _to(heap, heap.links(actions["target"]), "V8Function")
    of_page = (
        actions.select(row="source", at="target")
        .join(wrappers.select(at="source", to="target"), on="at")
        .join(heap.links(wrappers["target"]).select(to="source", f="target"), on="to")
    )
    frame = pl.concat(
        [own.select(row="source", f="target"), of_page.select("row", "f")]
    ).unique()
    frame = frame.filter(heap.types_of(frame["f"]) == _FUNCTION)
    frame = frame.with_columns(
        timer=heap.types_of(frame["row"]), function=heap.texts(frame["f"])
    ).join(_contexts(heap, frame["f"]), on="f", how="left")
    return _by_context(
        heap, frame, ["timer", "function"], values["limit"],
        ["-context_bytes", "-timer_count", "largest", "timer", "function"],
        _distinct("row", "timer_count"),
    )  # fmt: skip


def pending_promises(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``pending-promises``."""
    name = "system / PromiseReaction"
    rows = pl.Series(heap.live_of("(system)", name), dtype=pl.Int64)
    said = pl.select(pl.coalesce(heap.texts(rows), heap.types_of(rows))).to_series()
    to = _to(heap, heap.links(rows.filter(said == name)), _FUNCTION)
    frame = to.select(row="source", f="target").unique()
    contexts = heap.links(frame["f"], "context").select(f="source", c="target").unique()
    # What an async function waits in has its generator, and that its function.
    inner = heap.links(contexts["c"], "extension").select(c="source", g="target")
    outer = _to(heap, heap.links(inner["g"], "function"), _FUNCTION)
    waiting = inner.join(outer.select(g="source", w="target"), on="g").unique(
        ["c", "w"]
    )
    frame = frame.join(contexts, on="f", how="left").join(
        waiting.select("c", "w"), on="c", how="left"
    )
    frame = frame.with_columns(
        function=pl.coalesce(heap.texts(frame["w"]), heap.texts(frame["f"])),
        awaits=pl.col("w").is_not_null(),
        c=pl.when(_is_native(heap, frame["c"])).then(None).otherwise(pl.col("c")),
    )
    return _by_context(
        heap, frame, ["function", "awaits"], values["limit"],
        ["-context_bytes", "-reaction_count", "largest", "function", "awaits"],
        _distinct("row", "reaction_count"),
    )  # fmt: skip


def listeners(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``listeners``."""
    fields = heap.of_types("fields").fill_null("")
    kinds = fields.str.contains("_events", literal=True).arg_true().to_list()
    lists = heap.links(heap.live(heap.instances_of(kinds)), "_events")
    lists = lists.select(one="source", at="target")
    held = heap.links(lists["at"]).filter(~pl.col("field").is_in(_NO_EVENTS))
    held = _to(heap, held, _FUNCTION, "Array")
    each = lists.join(held.select("field", at="source", x="target"), on="at").unique(
        ["one", "field", "x"]
    )
    is_alone = heap.types_of(each["x"]) == _FUNCTION
    arrays = each.filter(~is_alone)
    elements = heap.links(arrays["x"]).filter(pl.col("field").str.starts_with("["))
    elements = _to(heap, elements, _FUNCTION).select(x="source", f="target").unique()
    emitted = pl.concat(
        [
            each.filter(is_alone).select("one", "field", f="x"),
            arrays.join(elements, on="x").select("one", "field", "f"),
        ]
    )
    # What `once` adds has the listener.
    once = _to(heap, heap.links(emitted["f"], "listener"), _FUNCTION)
    emitted = emitted.join(once.select(f="source", o="target"), on="f", how="left")
    emitted = emitted.select(
        "one", emitter=heap.types_of(emitted["one"]), event="field",
        row=pl.coalesce("o", "f"),
    )  # fmt: skip
    of_page = pl.concat(
        [
            heap.links(heap.live_of("Listener"), "callback"),
            heap.links(heap.live_of("V8EventListener", "V8EventHandlerNonNull")),
        ]
    )
    of_page = _to(heap, of_page, _FUNCTION).unique(["source", "target"])
    frame = pl.concat([emitted, of_page.select(row="target")], how="diagonal")
    frame = frame.with_columns(function=heap.texts(frame["row"])).join(
        _contexts(heap, frame["row"]), left_on="row", right_on="f", how="left"
    )
    return _by_context(
        heap, frame, ["emitter", "event", "function"], values["limit"],
        ["-context_bytes", "-listener_count", "largest", "emitter", "event"],
        pl.len().alias("listener_count"),
        pl.col("one").drop_nulls().n_unique().alias("emitter_count"),
    )  # fmt: skip


def react_fibers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``react-fibers``."""
    rows = heap.live_of("FiberNode")
    made = _to(heap, heap.links(rows, "type"), _FUNCTION, "(string)")
    named = made.select("source", component=heap.texts(made["target"]))
    named = named.group_by("source").agg(pl.col("component").min())
    above = _to(heap, heap.links(rows, "return"), "FiberNode")["source"]
    frame = pl.DataFrame(
        {
            "row": pl.Series(rows, dtype=pl.Int64),
            "bytes": heap.sizes(rows),
        }
    ).join(named, left_on="row", right_on="source", how="left")
    groups = heap.grouped(frame, ["component"],
        (~pl.col("row").is_in(above.implode())).sum()
        .alias("parentless_count"),
        pl.col("bytes").sum().alias("shallow_bytes"),
    ).with_columns(fiber_count="count")  # fmt: skip
    groups = groups.with_columns(retained_bytes=heap.kept(groups["largest"]))
    order = ("-fiber_count", "-parentless_count", "largest")
    return heap.with_largest(groups, values["limit"], *order)


def module_state(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``module-state``."""
    held = heap.links(_starting(heap, "module ")).filter(
        ~pl.col("field").is_in(_NO_VARIABLES)
    )
    held = held.unique(["source", "field", "target"])
    is_own = heap.above(held["target"]) == held["source"]
    held = held.with_columns(
        retained_bytes=pl.when(is_own).then(heap.kept(held["target"])).otherwise(0)
    )
    order = ("-retained_bytes", "source", "field", "target")
    found = ordered(held, *order).head(limit_of(values))
    return found.with_columns(
        script=heap.types_of(found["source"]).str.slice(len("module ")),
        variable="field",
        type=heap.type_texts(found["target"]),
        address=heap.addresses_of(found["target"]),
    ).to_dicts()


# ---------------------------------------------------------------- one row each


def _with_holder(heap: HeapView, frame: pl.DataFrame) -> pl.DataFrame:
    """``row`` with ``address``, ``held_by`` and ``variable``, from its dominator."""
    above = heap.above(frame["row"])
    return frame.with_columns(
        address=heap.addresses_of(frame["row"]),
        held_by=heap.types_of(above),
        variable=heap.variables(above, frame["row"]),
        retained_bytes=heap.kept(frame["row"]),
    )


def concatenated_strings(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``concatenated-strings``."""
    rows = heap.live_of("(concatenated string)")
    held = heap.links(rows).filter(pl.col("source") != pl.col("target"))
    frame = pl.DataFrame({"row": pl.Series(rows, dtype=pl.Int64)})
    frame = frame.filter(~pl.col("row").is_in(held["target"].implode()))
    frame = frame.with_columns(bytes=heap.kept(frame["row"]))
    frame = ordered(frame, "-bytes", "row").head(limit_of(values))
    count = heap.texts(frame["row"], "retained_count")
    return _with_holder(heap, frame).with_columns(object_count=count).to_dicts()


def sliced_strings(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``sliced-strings``."""
    name = "(sliced string)"
    groups = (
        heap.links(heap.live_of(name), "parent")
        .group_by("target")
        .agg(_distinct("source", "slice_count"))
        .rename({"target": "row"})
    )
    groups = groups.with_columns(shallow_bytes=heap.sizes(groups["row"]))
    order = ("-shallow_bytes", "-slice_count", "row")
    groups = ordered(groups, *order).head(limit_of(values))
    into = heap.links(groups["row"], into=True, live=True)
    is_other = heap.types_of(into["source"]).ne_missing(name)
    others = pl.concat(
        [into.filter(is_other)["target"], heap.holding_roots()["object"]]
    )
    return groups.with_columns(
        address=heap.addresses_of(groups["row"]),
        only_slices=~pl.col("row").is_in(others.implode()),
        text=heap.texts(groups["row"]),
    ).to_dicts()


def maps_and_sets(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``maps-and-sets``."""
    frame = heap.links(heap.live_of("Map", "Set"), "table")
    frame = frame.select(row="source", table="target").unique()
    entries = heap.links(frame["table"]).filter(pl.col("field").str.starts_with("["))
    counts = entries.group_by("source").agg(pl.len().alias("reference_count"))
    frame = frame.join(
        counts, left_on="table", right_on="source", how="left"
    ).with_columns(pl.col("reference_count").fill_null(0))
    frame = frame.with_columns(bytes=heap.kept(frame["row"]))
    order = ("-bytes", "-reference_count", "row")
    frame = ordered(frame, *order).head(limit_of(values))
    return (
        _with_holder(heap, frame)
        .with_columns(
            type=heap.types_of(frame["row"]),
            table_bytes=heap.sizes(frame["row"]) + heap.sizes(frame["table"]),
        )
        .to_dicts()
    )


def array_buffers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``array-buffers``."""
    data = heap.links(heap.live_of("ArrayBuffer", "SharedArrayBuffer"), "backing_store")
    frame = (
        data.select(row="source", data_bytes=heap.sizes(data["target"]))
        .group_by("row")
        .agg(pl.col("data_bytes").max())
    )
    frame = ordered(frame, "-data_bytes", "row").head(limit_of(values))
    views = heap.links(frame["row"], "buffer", into=True, live=True)
    kinds = (
        views.select(row="target", view_type=heap.types_of(views["source"]))
        .group_by("row")
        .agg(pl.col("view_type").min())
    )
    above = heap.above(frame["row"])
    pairs = pl.DataFrame({"source": above, "target": frame["row"]})
    is_view = pairs.join(views, on=["source", "target"], how="semi")["target"]
    further = heap.above(above).set(~frame["row"].is_in(is_view.implode()), None)
    holder = pl.select(pl.coalesce(further, above)).to_series()
    return (
        frame.with_columns(
            type=heap.types_of(frame["row"]),
            address=heap.addresses_of(frame["row"]),
            view_count=heap.count_from(frame["row"], "buffer"),
            held_by=heap.types_of(holder),
        )
        .join(kinds, on="row", how="left", maintain_order="left")
        .to_dicts()
    )


def detached_dom(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``detached-dom``."""
    rows = _starting(heap, "Detached ")
    rows = rows.filter(~heap.types_of(rows).str.starts_with("Detached Node / "))
    above = heap.above(rows)
    is_below = heap.types_of(above).str.starts_with("Detached ").fill_null(value=False)
    rows, above = rows.filter(~is_below), above.filter(~is_below)
    further = heap.above(above)
    frame = pl.DataFrame(
        {
            "row": rows,
            "type": heap.types_of(rows),
            "held_by": heap.types_of(above),
            "variable": heap.variables(above, rows),
            "above": heap.types_of(further),
            "above_variable": heap.variables(further, above),
            "objects": heap.texts(rows, "retained_count").cast(pl.Int64),
        }
    )
    keys = ["type", "held_by", "variable", "above", "above_variable"]
    groups = heap.grouped(
        frame, keys, pl.col("objects").sum().alias("object_count")
    ).with_columns(tree_count="count")
    return heap.with_largest(groups, values["limit"], "-retained_bytes", "largest")
