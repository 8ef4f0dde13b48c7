"""Answers about holders: roots, timers, closures; and equal texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.answers.view import limit_of, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value

_STATIC, _UNKNOWN = "static", "(unknown)"


def _holding_roots(heap: HeapView, columns: Sequence[str]) -> pl.DataFrame:
    """Roots with the retained size of their object; null if they do not hold it."""
    roots = whole(heap, "roots", ["object", "holds", *columns])
    retained = pl.Series(heap.retained_bytes)
    return roots.with_columns(
        object=pl.when("holds").then("object"),
        retained=pl.when("holds").then(retained.gather(roots["object"])),
    )


def roots_by_kind(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``roots-by-kind``."""
    roots = _holding_roots(heap, ["kind", "weak", "pinned"])
    by_kind = roots.group_by("kind").agg(
        pl.len().alias("root_count"),
        pl.col("weak").sum().alias("weak_count"),
        pl.col("pinned").sum().alias("pinned_count"),
    )
    held = (
        roots.drop_nulls("object")
        .unique(["kind", "object"])
        .group_by("kind")
        .agg(
            pl.len().alias("object_count"),
            pl.col("retained").sum().alias("retained_bytes"),
        )
    )
    return (
        by_kind.join(held, on="kind", how="left")
        .with_columns(pl.col("object_count", "retained_bytes").fill_null(0))
        .sort("retained_bytes", "kind", descending=[True, False])
        .head(limit_of(values))
        .to_dicts()
    )


def static_roots(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``static-roots``."""
    roots = (
        _holding_roots(heap, ["kind", "type", "field"])
        .filter((pl.col("kind") == _STATIC) & pl.col("object").is_not_null())
        .with_columns(
            field=pl.when(pl.col("type").is_null()).then(
                pl.col("field").fill_null(_UNKNOWN)
            )
        )
    )
    groups = (
        roots.group_by("type", "field", "object")
        .agg(pl.len().alias("roots"), pl.col("retained").first())
        .sort("retained", "object", descending=[True, False])
        .group_by("type", "field", maintain_order=True)
        .agg(
            pl.col("roots").sum().alias("root_count"),
            pl.len().alias("object_count"),
            pl.col("retained").sum().alias("retained_bytes"),
            pl.col("object").first().alias("largest"),
        )
        .sort(
            "retained_bytes", "type", "field",
            descending=[True, False, False], nulls_last=True,
        )
        .head(limit_of(values))
    )  # fmt: skip
    return [
        row
        | {
            "type": row["field"]
            if row["type"] is None
            else heap.type_names[row["type"]],
            "largest_type": heap.full_type(row["largest"]),
            "largest_address": heap.address(row["largest"]),
            "largest_bytes": heap.retained(row["largest"]),
        }
        for row in groups.to_dicts()
    ]


def isolates(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``isolates``."""
    roots = _holding_roots(heap, ["kind", "owner"]).filter(
        pl.col("owner").is_not_null() & pl.col("object").is_not_null()
    )
    is_top = pl.Series(heap.dominator == ROOT)
    roots = roots.with_columns(
        held=pl.when(is_top.gather(roots["object"])).then("retained").otherwise(0)
    )
    groups = (
        roots.group_by("owner", "object")
        .agg(
            pl.len().alias("roots"),
            (pl.col("kind") == _STATIC).sum().alias("statics"),
            pl.col("held").first(),
        )
        .sort("held", "object", descending=[True, False])
        .group_by("owner", maintain_order=True)
        .agg(
            pl.col("roots").sum().alias("root_count"),
            pl.col("statics").sum().alias("static_count"),
            pl.len().alias("object_count"),
            pl.col("held").sum().alias("retained_bytes"),
            pl.col("object").first().alias("largest"),
        )
        .sort("retained_bytes", "owner", descending=[True, False])
        .head(limit_of(values))
    )
    return [
        row
        | {
            "largest_type": heap.declared_type(row["largest"]),
            "largest_address": heap.address(row["largest"]),
        }
        for row in groups.to_dicts()
    ]


# ---------------------------------------------------------------- references


def fitting(heap: HeapView, pattern: str) -> NDArray[np.bool_]:
    """Bool (T + 1,): which types match a pattern; placeholders do not."""
    fits = re.compile(pattern, re.ASCII).fullmatch
    return np.array([*(bool(fits(name)) for name in heap.type_names), False])


def edges(
    heap: HeapView, rows: NDArray[np.int64], *, into: bool = False
) -> pl.DataFrame:
    """References that hold, from or to some objects: ``source`` and ``target``."""
    if into:
        references = heap.holding(heap.references_to(rows))
    else:
        references = heap.references_from(rows)
    return pl.DataFrame(
        {
            "source": heap.sources(references),
            "target": heap.ref_target[references].astype(np.int64),
        }
    )


def timers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``timers``."""
    kinds = heap.type_index
    is_timer = fitting(heap, str(values["pattern"]))
    is_callback = fitting(heap, str(values["callback"]))
    skips = re.compile(str(values["skip"]), re.ASCII).fullmatch
    found = heap.live(np.flatnonzero(is_timer[kinds]))
    if not len(found):
        return []
    groups: dict[tuple[str, str, bool], dict[int, set[int]]] = {}
    for timer, to in edges(heap, found).unique(maintain_order=True).iter_rows():
        if to == timer:
            continue
        by_callback = bool(is_callback[kinds[to]])
        held: Iterable[int] = [to]
        if by_callback:
            further = edges(heap, np.array([to]))["target"].unique().to_list()
            held = [one for one in further if one != to]
        for one in held:
            name = heap.full_type(one)
            if one != timer and not skips(name):
                group = groups.setdefault(
                    (heap.full_type(timer), name, by_callback), {}
                )
                group.setdefault(one, set()).add(timer)
    rows: list[Row] = []
    for (timer_type, held_type, by_callback), group in groups.items():
        top = min(group, key=lambda one: (-heap.retained_bytes[one], one))
        rows.append(
            {
                "timer_type": timer_type,
                "held_type": held_type,
                "by_callback": by_callback,
                "timer_count": len(set[int]().union(*group.values())),
                "held_count": len(group),
                "retained_bytes": sum(map(heap.retained, group)),
                "largest_address": heap.address(top),
            }
        )
    rows.sort(
        key=lambda row: (
            -row["retained_bytes"], -row["timer_count"], row["timer_type"],
            row["held_type"], row["by_callback"],
        )
    )  # fmt: skip
    return rows[: limit_of(values)]


# ---------------------------------------------------------------- closures, texts


def _through(
    heap: HeapView, rows: NDArray[np.int64], field: str
) -> dict[int, list[int | None]]:
    """Targets of references through a field that hold, by row of the source."""
    references = heap.references_from(rows)
    fields = heap.frame("references", references.tolist(), ["field"])["field"]
    chosen = references[(fields == field).fill_null(value=False).to_numpy()]
    found: dict[int, list[int | None]] = {}
    sources, targets = heap.sources(chosen), heap.ref_target[chosen]
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        found.setdefault(source, []).append(target)
    return found


def closures(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``closures``."""
    groups: dict[tuple[int | None, int | None], list[tuple[int, int | None]]] = {}
    found = heap.live(heap.instances(str(values["type"])))
    functions = _through(heap, found, "function_")
    contexts_of = _through(heap, found, "context_")
    with_owner = {one for some in functions.values() for one in some if one is not None}
    owners = _through(heap, np.array(sorted(with_owner), np.int64), "owner_")
    nothing: list[int | None] = [None]
    for closure in found.tolist():
        for function in functions.get(closure, nothing):
            above = nothing if function is None else owners.get(function, nothing)
            for owner in above:
                for context in contexts_of.get(closure, nothing):
                    groups.setdefault((function, owner), []).append((closure, context))
    rows: list[tuple[int, Row]] = []
    for (function, owner), pairs in groups.items():
        contexts = {context for _, context in pairs if context is not None}
        pairs.sort(key=lambda pair: (-_kept(heap, pair[1]), pair[0]))
        rows.append(
            (
                pairs[0][0],
                {
                    "function": _text(heap, function),
                    "declared_in": _text(heap, owner),
                    "closure_count": len(pairs),
                    "context_count": len(contexts),
                    "retained_bytes": sum(heap.retained(one) for one, _ in pairs),
                    "context_bytes": sum(map(heap.retained, contexts)),
                    "largest_address": heap.address(pairs[0][0]),
                },
            )
        )
    rows.sort(
        key=lambda one: (-one[1]["context_bytes"], -one[1]["closure_count"], one[0])
    )
    return [row for _, row in rows[: limit_of(values)]]


def _kept(heap: HeapView, row: int | None) -> int:
    return 0 if row is None else heap.retained(row)


def _text(heap: HeapView, row: int | None) -> str | None:
    if row is None:
        return None
    (value,) = heap.tables.part("objects", row, row + 1, ["value"])["value"]
    return None if value is None else str(value)


def strings(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``strings``."""
    if not heap.has("objects", "value"):
        return []
    texts = whole(heap, "types", ["value_kind"]).filter(
        pl.col("value_kind") == "string"
    )
    columns = ["type", "value", "length", "retained_bytes", "root_distance"]
    groups = (
        whole(heap, "objects", columns)
        .filter(
            pl.col("type").is_in(texts["row"].to_list())
            & pl.col("value").is_not_null()
            & pl.col("root_distance").is_not_null()
        )
        .group_by("value", "length")
        .agg(
            pl.len().alias("string_count"),
            pl.col("retained_bytes").sum(),
            pl.col("retained_bytes").max().alias("largest"),
            pl.col("row").min(),
        )
        .filter(pl.col("string_count") >= values["min_count"])
        .with_columns(wasted_bytes=pl.col("retained_bytes") - pl.col("largest"))
        .sort("wasted_bytes", "string_count", "row", descending=[True, True, False])
        .head(limit_of(values))
    )
    found = []
    for row in groups.to_dicts():
        references = heap.holding_rows(heap.references_to([row["row"]]))
        holders = np.unique(heap.sources(references)).tolist()
        holder = min(holders, key=lambda one: (heap.distance(one), one), default=None)
        found.append(
            row
            | {
                "sample_address": heap.address(row["row"]),
                "holder_type": None if holder is None else heap.declared_type(holder),
            }
        )
    return found
