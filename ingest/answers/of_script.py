"""Answers about JavaScript: functions and their contexts, collections, texts, pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.answers.frames import of_rows, shown

if TYPE_CHECKING:
    from ingest.answers.frames import HeapView, Values

_FUNCTION = ("Function",)
_NATIVE = "system / NativeContext"
_NO_EVENTS = ("__proto__", "map", "properties", "elements")
_NO_VARIABLES = ("previous", "scope_info", "map", "extension")


def _starting(heap: HeapView, text: str) -> pl.Series:
    """Reachable instances of types whose names start with a text."""
    names = enumerate(heap.type_names)
    return heap.live_instances([i for i, name in names if name.startswith(text)])


def _without_native(heap: HeapView, contexts: pl.Series) -> pl.Series:
    """Contexts, with null for those of the language itself."""
    said = pl.select(
        pl.coalesce(heap.texts(contexts), heap.captions_of(contexts))
    ).to_series()
    return contexts.set(said.str.starts_with(_NATIVE).fill_null(value=False), None)


def _contexts(heap: HeapView, functions: pl.Series) -> pl.DataFrame:
    """Contexts of functions: ``f`` and ``c``, which is null if it is the language's."""
    found = heap.links(functions.unique(), "context")
    found = found.select(f="source", c="target").unique()
    return found.with_columns(c=_without_native(heap, found["c"]))


def script_functions(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of(*_FUNCTION)
    contexts = _contexts(heap, rows).drop_nulls("c")
    frame = of_rows(rows).with_columns(function=heap.texts(rows))
    return heap.by_context(
        frame.join(contexts, left_on="row", right_on="f", how="left"),
        ["function"], values, ["-closure_count", "largest"],
        closure_count=pl.col("row").n_unique(),
    )  # fmt: skip


def pending_timers(heap: HeapView, values: Values) -> pl.DataFrame:
    own = heap.links(heap.live_of("Timeout", "Immediate"), "_onTimeout", "_onImmediate")
    actions = heap.links_to(heap.live_of("DOMTimer"), to=["ScheduledAction"])
    wrappers = heap.links_to(actions["target"], to=["V8Function"])
    of_page = (
        actions.select(row="source", at="target")
        .join(wrappers.select(at="source", to="target"), on="at")
        .join(heap.links(wrappers["target"]).select(to="source", f="target"), on="to")
    )
    frame = pl.concat(
        [own.select(row="source", f="target"), of_page.select("row", "f")]
    ).unique()
    frame = frame.filter(heap.types_of(frame["f"]).is_in(_FUNCTION))
    frame = frame.with_columns(
        timer=heap.types_of(frame["row"]), function=heap.texts(frame["f"])
    ).join(_contexts(heap, frame["f"]), on="f", how="left")
    return heap.by_context(
        frame, ["timer", "function"], values,
        ["-timer_count", "largest", "timer", "function"],
        timer_count=pl.col("row").n_unique(),
    )  # fmt: skip


def pending_promises(heap: HeapView, values: Values) -> pl.DataFrame:
    name = "system / PromiseReaction"
    rows = heap.live_of("(system)", name)
    said = pl.select(pl.coalesce(heap.texts(rows), heap.types_of(rows))).to_series()
    to = heap.links_to(rows.filter(said == name), to=_FUNCTION)
    frame = to.select(row="source", f="target").unique()
    contexts = heap.links(frame["f"], "context").select(f="source", c="target").unique()
    # What an async function waits in has its generator, and that its function.
    inner = heap.links(contexts["c"], "extension").select(c="source", g="target")
    outer = heap.links_to(inner["g"], "function", to=_FUNCTION)
    waiting = inner.join(outer.select(g="source", w="target"), on="g")
    waiting = waiting.select("c", "w").unique()
    frame = frame.join(contexts, on="f", how="left").join(waiting, on="c", how="left")
    frame = frame.with_columns(
        function=pl.coalesce(heap.texts(frame["w"]), heap.texts(frame["f"])),
        awaits=pl.col("w").is_not_null(),
        c=_without_native(heap, frame["c"]),
    )
    return heap.by_context(
        frame, ["function", "awaits"], values,
        ["-reaction_count", "largest", "function", "awaits"],
        reaction_count=pl.col("row").n_unique(),
    )  # fmt: skip


def _emitted(heap: HeapView) -> pl.DataFrame:
    """Listeners of emitters, as ``row``: ``one``, the emitter, and ``event``."""
    fields = heap.of_types("fields").fill_null("")
    kinds = fields.str.contains("_events", literal=True).arg_true().to_list()
    lists = heap.links(heap.live_instances(kinds), "_events")
    lists = lists.select(one="source", at="target")
    held = heap.links_to(lists["at"], to=[*_FUNCTION, "Array"])
    held = held.filter(~pl.col("field").is_in(_NO_EVENTS))
    each = lists.join(held.select(event="field", at="source", x="target"), on="at")
    each = each.unique(["one", "event", "x"])
    is_alone = heap.types_of(each["x"]).is_in(_FUNCTION)
    arrays = each.filter(~is_alone)
    elements = heap.links_to(arrays["x"], to=_FUNCTION)
    elements = elements.filter(pl.col("field").str.starts_with("["))
    elements = elements.select(x="source", f="target").unique()
    found = pl.concat(
        [
            each.filter(is_alone).select("one", "event", f="x"),
            arrays.join(elements, on="x").select("one", "event", "f"),
        ]
    )
    # What `once` adds has the listener.
    once = heap.links_to(found["f"], "listener", to=_FUNCTION)
    found = found.join(once.select(f="source", o="target"), on="f", how="left")
    return found.select("one", "event", row=pl.coalesce("o", "f"))


def listeners(heap: HeapView, values: Values) -> pl.DataFrame:
    emitted = _emitted(heap)
    of_page = pl.concat(
        [
            heap.links_to(heap.live_of("Listener"), "callback", to=_FUNCTION),
            heap.links_to(
                heap.live_of("V8EventListener", "V8EventHandlerNonNull"), to=_FUNCTION
            ),
        ]
    ).unique(["source", "target"])
    frame = pl.concat([emitted, of_page.select(row="target")], how="diagonal")
    frame = frame.with_columns(
        emitter=heap.types_of(frame["one"]), function=heap.texts(frame["row"])
    ).join(_contexts(heap, frame["row"]), left_on="row", right_on="f", how="left")
    return heap.by_context(
        frame, ["emitter", "event", "function"], values,
        ["-listener_count", "largest", "emitter", "event"],
        listener_count=pl.len(), emitter_count=pl.col("one").drop_nulls().n_unique(),
    )  # fmt: skip


def react_fibers(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("FiberNode")
    made = heap.links_to(rows, "type", to=[*_FUNCTION, "(string)"])
    named = made.select(row="source", component=heap.texts(made["target"]))
    named = named.group_by("row").agg(pl.col("component").min())
    above = heap.links_to(rows, "return", to=["FiberNode"])["source"]
    frame = of_rows(rows).with_columns(shallow_bytes=heap.sizes(rows))
    groups = heap.grouped(
        frame.join(named, on="row", how="left"), "component",
        parentless_count=(~pl.col("row").is_in(above.implode())).sum(),
        fiber_count=pl.len(), shallow_bytes=pl.col("shallow_bytes").sum(),
    )  # fmt: skip
    groups = groups.with_columns(retained_bytes=heap.kept(groups["largest"]))
    return shown(groups, values, "-fiber_count", "-parentless_count", "largest")


def module_state(heap: HeapView, values: Values) -> pl.DataFrame:
    held = heap.links(_starting(heap, "module ")).filter(
        ~pl.col("field").is_in(_NO_VARIABLES)
    )
    held = held.select("source", variable="field", row="target").unique()
    held = held.with_columns(
        retained_bytes=heap.kept_by(held["source"], held["row"]),
        script=heap.types_of(held["source"]).str.slice(len("module ")),
    )
    return shown(held, values, "-retained_bytes", "source", "variable", "row")


# ---------------------------------------------------------------- one row each


def _with_holder(heap: HeapView, frame: pl.DataFrame) -> pl.DataFrame:
    """``row`` with ``held_by`` and ``variable``, from its dominator."""
    above = heap.above(frame["row"])
    return frame.with_columns(
        held_by=heap.types_of(above), variable=heap.variables(above, frame["row"])
    )


def concatenated_strings(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("(concatenated string)")
    held = heap.links(rows).filter(pl.col("source") != pl.col("target"))
    rows = rows.filter(~rows.is_in(held["target"].implode()))
    frame = of_rows(rows).with_columns(retained_bytes=heap.kept(rows))
    frame = shown(frame, values, "-retained_bytes", "row")
    return _with_holder(heap, frame).with_columns(
        object_count=heap.texts(frame["row"], "retained_count")
    )


def sliced_strings(heap: HeapView, values: Values) -> pl.DataFrame:
    name = "(sliced string)"
    slices = heap.links(heap.live_of(name), "parent")
    groups = slices.group_by(row="target").agg(slice_count=pl.col("source").n_unique())
    groups = groups.with_columns(shallow_bytes=heap.sizes(groups["row"]))
    groups = shown(groups, values, "-shallow_bytes", "-slice_count", "row")
    into = heap.links(groups["row"], into=True, live=True)
    is_other = heap.types_of(into["source"]).ne_missing(name)
    others = pl.concat(
        [into.filter(is_other)["target"], heap.holding_roots()["object"]]
    )
    return groups.with_columns(
        only_slices=~pl.col("row").is_in(others.implode()),
        text=heap.texts(groups["row"]),
    )


def maps_and_sets(heap: HeapView, values: Values) -> pl.DataFrame:
    frame = heap.links(heap.live_of("Map", "Set"), "table")
    frame = frame.select(row="source", table="target").unique()
    entries = heap.links(frame["table"]).filter(pl.col("field").str.starts_with("["))
    counts = entries.group_by(table="source").agg(reference_count=pl.len())
    frame = frame.join(counts, on="table", how="left")
    frame = frame.with_columns(
        pl.col("reference_count").fill_null(0), retained_bytes=heap.kept(frame["row"])
    )
    frame = shown(frame, values, "-retained_bytes", "-reference_count", "row")
    return _with_holder(heap, frame).with_columns(
        table_bytes=heap.sizes(frame["row"]) + heap.sizes(frame["table"])
    )


def array_buffers(heap: HeapView, values: Values) -> pl.DataFrame:
    data = heap.links(heap.live_of("ArrayBuffer", "SharedArrayBuffer"), "backing_store")
    frame = (
        data.select(row="source", data_bytes=heap.sizes(data["target"]))
        .group_by("row")
        .agg(pl.col("data_bytes").max())
    )
    frame = shown(frame, values, "-data_bytes", "row")
    views = heap.links(frame["row"], "buffer", into=True, live=True)
    views = views.select(row="target", view_type=heap.types_of(views["source"]))
    kinds = views.group_by("row").agg(pl.col("view_type").min())
    return frame.with_columns(
        view_count=heap.count_from(frame["row"], "buffer"),
        held_by=heap.types_of(heap.behind_views(frame["row"], "buffer")),
    ).join(kinds, on="row", how="left", maintain_order="left")


def detached_dom(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = _starting(heap, "Detached ")
    rows = rows.filter(~heap.types_of(rows).str.starts_with("Detached Node / "))
    is_below = heap.types_of(heap.above(rows)).str.starts_with("Detached ")
    rows = rows.filter(~is_below.fill_null(value=False))
    above = heap.above(rows)
    further = heap.above(above)
    frame = of_rows(rows).with_columns(
        type=heap.types_of(rows),
        held_by=heap.types_of(above),
        variable=heap.variables(above, rows),
        above=heap.types_of(further),
        above_variable=heap.variables(further, above),
        objects=heap.texts(rows, "retained_count").cast(pl.Int64),
    )
    groups = heap.grouped(
        frame, "type", "held_by", "variable", "above", "above_variable",
        object_count=pl.col("objects").sum(), tree_count=pl.len(),
    )  # fmt: skip
    return shown(groups, values, "-retained_bytes", "largest")
