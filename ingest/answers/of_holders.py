"""Answers about what holds: roots, handlers, timers, closures, equal texts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT, ReferenceColumns
from ingest.answers.view import limit_of, numbered, whole
from ingest.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.answers.view import HeapView, Row
    from ingest.compiled import Bools, Ints, Longs
    from ingest.queries.library import Value

_MOST_KEYS = 1 << 62
"""Of a number that stands for several columns."""

_STATIC, _UNKNOWN = "static", "(unknown)"


def _holding_roots(heap: HeapView, columns: Sequence[str]) -> pl.DataFrame:
    """Roots with the retained size of what they hold; null where they do not."""
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
    """Bool (T + 1,): which types have a name like that; no placeholder has."""
    fits = re.compile(pattern, re.ASCII).fullmatch
    return np.array([*(bool(fits(name)) for name in heap.type_names), False])


def references_from(
    heap: HeapView, rows: NDArray[np.int64], *, into: bool = False
) -> NDArray[np.int64]:
    """Rows of `references` that hold, from or to some objects."""
    if not len(rows):  # as of a query about another runtime: no column is read
        return np.empty(0, np.int64)
    if into:
        chosen = np.zeros(heap.row_count, np.bool_)
        chosen[rows] = True
        references = np.flatnonzero(chosen[heap.ref_target])
    else:
        begin, end = (heap.ref_start[at].astype(np.int64) for at in (rows, rows + 1))
        counts = end - begin
        ends = np.cumsum(counts)
        references = np.arange(int(ends[-1])) + np.repeat(
            begin - (ends - counts), counts
        )
    return heap.holding(references)


def _edges(
    heap: HeapView, rows: NDArray[np.int64], *, into: bool = False
) -> pl.DataFrame:
    """References that hold, from or to some objects: ``source`` and ``target``."""
    references = references_from(heap, rows, into=into)
    return pl.DataFrame(
        {
            "source": heap.sources(references),
            "target": heap.ref_target[references].astype(np.int64),
        }
    )


_LIST = r"System[.](Object|Delegate)\[].*"
_METHOD = r"System\.Reflection\..*"


def event_handlers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``event-handlers``."""
    kinds = heap.type_index
    is_delegate = fitting(heap, str(values["pattern"]))
    is_list = fitting(heap, _LIST)
    is_other = is_delegate | is_list | fitting(heap, _METHOD)
    delegates = np.flatnonzero(is_delegate[kinds])
    live = heap.live(delegates)
    if not len(live):
        return []
    targets_of = _edges(heap, live)
    is_a_list = np.zeros(heap.row_count, np.bool_)
    is_a_list[targets_of["target"].to_numpy()] = True
    is_a_list &= is_list[kinds]
    lists = np.flatnonzero(is_a_list)

    held = _edges(heap, live, into=True)
    sources = held["source"].to_numpy()
    keep = (
        (heap.root_distance[sources] >= 0)
        & ~is_a_list[sources]
        & (sources != held["target"].to_numpy())
    )
    held = held.filter(pl.Series(keep))
    is_live = np.zeros(heap.row_count, np.bool_)
    is_live[live] = True
    roots = np.flatnonzero(heap.root_holds & is_live[heap.root_object])
    # Texts are numbers until the end.
    code, texts = numbered(pl.concat([heap.captions, heap.root_names.gather(roots)]))
    captions = code[: len(heap.captions)]
    kind_code, kind_names = numbered(pl.Series(heap.type_names, dtype=pl.String))
    of_object = held.select(
        pl.col("target").alias("handler"),
        captions.gather(_types_of(heap, held["source"])).alias("held_by"),
        pl.col("source").alias("one"),
    )
    of_root = pl.DataFrame(
        {
            "handler": heap.root_object[roots].astype(np.int64),
            "held_by": code[len(heap.captions) :],
            "one": pl.Series([None] * len(roots), dtype=pl.Int64),
        }
    )
    rows_of = {"handler": heap.row_count, "held_by": len(texts)}
    holders = _grouped(pl.concat([of_object, of_root]), rows_of, pl.col("one").min())
    handlers = holders["handler"].to_numpy()
    holders = holders.with_columns(
        kind=pl.Series(kinds[handlers].astype(np.int64)), delegate="handler"
    )

    if len(lists):
        inner = targets_of.filter(
            pl.Series(is_a_list[targets_of["target"].to_numpy()])
        ).join(_edges(heap, lists), left_on="target", right_on="source", how="inner")
        inner = inner.filter(
            pl.Series(is_delegate[kinds[inner["target_right"].to_numpy()]])
        ).select(handler="source", called="target_right")
        holders = _grouped(
            holders.join(inner.unique(), on="handler", how="left").with_columns(
                delegate=pl.coalesce("called", "handler")
            ),
            {
                "kind": len(heap.type_names),
                "held_by": len(texts),
                "delegate": heap.row_count,
            },
            pl.col("one").min(),
        )
    target = _called(heap, holders["delegate"].to_numpy(), is_other)
    retained = heap.retained_bytes
    # By type, as the names of types and not their numbers are told.
    found = holders.with_columns(
        kind=kind_code.gather(holders["kind"]),
        target=pl.Series(target.astype(np.int64)),
        kept=pl.Series(retained[holders["delegate"].to_numpy()]),
    ).filter(pl.col("target") >= 0)
    rows_of = {
        "kind": len(kind_names), "held_by": len(texts), "target": heap.row_count,
    }  # fmt: skip
    found = _grouped(
        found,
        rows_of,
        pl.col("one").min(), pl.len().alias("handlers"), pl.col("kept").sum(),
    )  # fmt: skip
    found = found.with_columns(
        of_target=pl.Series(retained[found["target"].to_numpy()]),
        called=captions.gather(_types_of(heap, found["target"])),
    )
    is_largest = pl.col("of_target") == pl.col("of_target").max()
    groups = found.group_by("kind", "held_by", "called").agg(
        pl.col("one").min(),
        pl.col("handlers").sum().alias("handler_count"),
        pl.len().alias("target_count"),
        pl.col("kept").sum().alias("retained_bytes"),
        pl.col("of_target").sum().alias("target_bytes"),
        pl.col("target").filter(is_largest).min().alias("largest"),
    )
    groups = groups.with_columns(
        kind=kind_names.gather(groups["kind"]),
        held_by=texts.gather(groups["held_by"]),
        called=texts.gather(groups["called"]),
    )
    rows: list[Row] = [
        row
        | {
            "holder": row["held_by"]
            if row["one"] is None
            else heap.declared_type(row["one"]) or row["held_by"],
            "delegate_type": row["kind"],
            "target_type": heap.declared_type(row["largest"]) or row["called"],
            "largest_address": heap.address(row["largest"]),
        }
        for row in groups.to_dicts()
    ]
    rows.sort(
        key=lambda row: (
            -row["retained_bytes"], -row["handler_count"], row["holder"],
            row["delegate_type"], row["target_type"],
        )
    )  # fmt: skip
    return rows[: limit_of(values)]


def _grouped(
    frame: pl.DataFrame, sizes: Mapping[str, int], *sums: pl.Expr
) -> pl.DataFrame:
    """Group by columns of small numbers.

    By one number for all of them, since that takes many times less.

    Args:
        frame: The rows.
        sizes: The columns to group by, each with a number above all of its values.
        sums: What to compute of a group.
    """
    if math.prod(sizes.values()) > _MOST_KEYS:
        return frame.group_by(*sizes).agg(*sums)
    key = pl.lit(0, pl.Int64)
    for name, size in sizes.items():
        key = key * size + pl.col(name)
    columns, left = dict[str, pl.Expr](), pl.col("key")
    for name, size in reversed([*sizes.items()]):
        columns[name], left = left % size, left // size
    found = frame.group_by(key.alias("key")).agg(*sums)
    return found.with_columns(**columns).drop("key")


def _called(
    heap: HeapView, delegates: NDArray[np.int64], is_other: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """int32: the first object that each delegate refers to, in the order of the dump.

    Not the delegate itself, nor one of a type in ``is_other``; -1 where there is none.
    """
    found = np.full(len(delegates), -1, np.int32)
    _find_called(heap.references, delegates, heap.type_index, is_other, found)
    return found


@kernel
def _find_called(
    references: ReferenceColumns,
    delegates: Longs,
    type_index: Ints,
    is_other: Bools,
    found: Ints,
) -> None:
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    for at in range(len(delegates)):
        row = delegates[at]
        for ref in range(start[row], start[row + 1]):
            target = targets[ref]
            if (
                target != row
                and not (some_skipped and skipped[ref])
                and not is_other[type_index[target]]
                and (found[at] < 0 or target < found[at])
            ):
                found[at] = target


def _types_of(heap: HeapView, objects: pl.Series) -> pl.Series:
    """Rows of `captions` of the types of some objects; the last one of placeholders."""
    kinds = heap.type_index[objects.to_numpy()].astype(np.int64)
    kinds[kinds < 0] = len(heap.type_names)
    return pl.Series(kinds)


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
    for timer, to in _edges(heap, found).unique(maintain_order=True).iter_rows():
        if to == timer:
            continue
        by_callback = bool(is_callback[kinds[to]])
        held: Iterable[int] = [to]
        if by_callback:
            further = _edges(heap, np.array([to]))["target"].unique().to_list()
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
    """What objects refer to through a field that holds, by their rows."""
    references = references_from(heap, rows)
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
