"""Answers about references: through a field, between types, to what is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.answers.frames import of_rows, ordered, shares_of, shown
from ingest.answers.view import NOT_SEEN, largest, whole
from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView, Values
    from ingest.arrays.compiled import Bools, Ints, Longs

_FEW_NAMES = 5
"""Names of types in a list."""


def _most(counts: NDArray[np.int64], values: Values, name: str) -> pl.DataFrame:
    """The objects with the largest counts."""
    rows = largest(np.flatnonzero(counts > 0), [counts], values["limit"])
    return of_rows(rows).with_columns(pl.Series(name, counts[rows]))


def _holding(heap: HeapView) -> Bools:
    """Bool (E,): references of reachable objects that hold their target."""
    skipped = heap.skipped  # read with the sources
    found = (heap.root_distance >= 0)[heap.source]
    if len(skipped):
        found &= ~skipped
    return np.asarray(found)


def _root_counts(heap: HeapView) -> NDArray[np.int64]:
    """Roots that hold each object."""
    roots = heap.root_object[heap.root_holds]
    return np.bincount(roots, minlength=heap.row_count)


def hubs(heap: HeapView, values: Values) -> pl.DataFrame:
    targets = heap.ref_target[_holding(heap)]
    counts = np.bincount(targets, minlength=heap.row_count) + _root_counts(heap)
    return _most(counts, values, "referrer_count")


def containers(heap: HeapView, values: Values) -> pl.DataFrame:
    holding = _holding(heap)
    sources = heap.source[holding]
    counts = np.bincount(sources, minlength=heap.row_count)
    return _most(counts, values, "reference_count")


def type_references(heap: HeapView, values: Values) -> pl.DataFrame:
    found = whole(heap, "type_references", ["source", "target", "reference_count"])
    found = found.with_columns(
        from_type=heap.names_of(found["source"]), to_type=heap.names_of(found["target"])
    )
    if asked := values["type"]:
        found = found.filter(
            (pl.col("from_type") == asked) | (pl.col("to_type") == asked)
        )
    return shown(found, values, "-reference_count", "source", "target")


def missing_references(heap: HeapView, values: Values) -> pl.DataFrame:
    found = of_rows(np.arange(heap.object_count, heap.row_count))
    into = heap.links(found["row"], into=True, weak=True)
    into = into.with_columns(caption=heap.captions_of(into["source"]))
    counts = into.group_by(row="target").agg(
        reference_count=pl.len(),
        referrer_types=pl.col("caption").unique().sort().head(_FEW_NAMES),
    )
    roots = of_rows(heap.root_object).group_by("row").agg(root_count=pl.len())
    found = found.join(counts, on="row", how="left").join(roots, on="row", how="left")
    found = found.with_columns(
        pl.col("reference_count", "root_count").fill_null(0),
        pl.col("referrer_types").fill_null([]),
    )
    return shown(found, values, "-reference_count", "row")


def weakly_held(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = whole(heap, "roots", ["object", "weak"]).filter("weak")
    rows = heap.objects("weakly_referenced").filter("weakly_referenced")["row"]
    into = heap.links(rows, into=True, live=True, weak=True).drop_nulls("strength")
    both = {"weak_root_count": roots["object"], "weak_reference_count": into["target"]}
    each = pl.concat(
        [of_rows(rows).with_columns(by=pl.lit(name)) for name, rows in both.items()]
    )
    each = each.group_by("row").agg(
        (pl.col("by") == name).sum().alias(name) for name in both
    )
    each = each.with_columns(
        retained_bytes=heap.kept(each["row"]), shallow_bytes=heap.sizes(each["row"])
    )
    each = shown(each, values, "-retained_bytes", "-shallow_bytes", "row")
    strength = heap.texts(each["row"], "strength").cast(pl.String)
    alive = heap.are_alive(each["row"]) & strength.is_null()
    return each.with_columns(strength=strength, alive=alive)


# ---------------------------------------------------------------- dominators


def dominated_by(heap: HeapView, values: Values) -> pl.DataFrame:
    def below(row: int) -> pl.DataFrame:
        rows = heap.dominated_by(np.array([row]))["below"].sort().to_numpy()
        return of_rows(largest(rows, [heap.retained_bytes], values["limit"]))

    return heap.of_each(values, below)


def dominator_types(heap: HeapView, values: Values) -> pl.DataFrame:
    columns = ("name", "domain", "top_count", "top_retained_bytes", "reachable_bytes")
    found = whole(heap, "types", columns)
    found = found.select(
        "row", "domain", type="name", object_count="top_count",
        retained_bytes="top_retained_bytes",
        share=shares_of(found["top_retained_bytes"], found["reachable_bytes"]),
    ).filter(pl.col("object_count") > 0)  # fmt: skip
    return shown(found, values, "-retained_bytes", "row")


def by_library(heap: HeapView, values: Values) -> pl.DataFrame:
    columns = (
        "name", "namespace", "instance_count", "shallow_bytes", "reachable_bytes",
        "top_retained_bytes",
    )  # fmt: skip
    prefix, name = values["prefix"], pl.col("namespace")
    found = whole(heap, "types", columns).filter(
        (pl.col("instance_count") > 0) & name.str.starts_with(prefix)
    )
    library = name if prefix else name.str.split("/").list.first()
    groups = (
        ordered(found.with_columns(library=library), "-shallow_bytes", "row")
        .group_by("library", maintain_order=True)
        .agg(
            pl.col(*columns[2:]).sum(),
            library_count=name.n_unique(),
            type_count=pl.len(),
            largest_type=pl.col("name").first(),
        )
    )
    return shown(groups, values, "-shallow_bytes", "library")


def _is_shared(heap: HeapView, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of some reachable objects nothing holds alone.

    Below another object: unless that one holds it. At the top: unless one root holds
    it, and nothing that it does not retain.
    """
    above = heap.dominator[rows]
    holding, targets = _holding(heap), heap.ref_target
    is_held = np.zeros(heap.row_count, np.bool_)
    is_held[targets[holding & (heap.dominator[targets] == heap.source)]] = True
    place = np.full(heap.row_count, NOT_SEEN, np.int32)
    tops = np.flatnonzero(heap.dominator == ROOT)
    place[tops] = tops
    is_one = np.zeros(heap.row_count, np.bool_)
    is_one[rows[(above == ROOT) & (_root_counts(heap)[rows] == 1)]] = True
    into = np.flatnonzero(holding & is_one[targets])
    outside = heap.places_above(heap.sources(into), place) != targets[into]
    is_one[targets[into[outside]]] = False
    return np.where(above == ROOT, ~is_one[rows], ~is_held[rows])


def shared_by(heap: HeapView, values: Values) -> pl.DataFrame:
    is_asked = (heap.root_distance >= 0) & (heap.retained_bytes >= values["min_bytes"])
    rows = np.flatnonzero(is_asked)
    shared = rows[_is_shared(heap, rows)]
    frame = of_rows(largest(shared, [heap.retained_bytes], values["limit"]))
    holders = heap.holders_of(frame["row"])
    holders = holders.with_columns(caption=heap.captions_of(holders["holder"]))
    counts = holders.group_by("row").agg(
        holder_count=pl.len(),
        holder_types=pl.col("caption").unique().sort().head(_FEW_NAMES),
    )
    upper = heap.above(frame["row"])
    return (
        frame.with_columns(
            root_count=pl.Series(_root_counts(heap)[frame["row"].to_numpy()]),
            dominator=heap.types_of(upper).fill_null("(roots)"),
            dominator_address=heap.addresses_of(upper),
        )
        .join(counts, on="row", how="left", maintain_order="left")
        .with_columns(
            pl.col("holder_count").fill_null(0), pl.col("holder_types").fill_null([])
        )
    )


@kernel
def _are_below(
    dominator: Ints, tops: Longs, lower: Longs, above: Longs, found: Bools
) -> None:
    """Which of some objects are below others that ``above`` immediately dominate."""
    for at in range(len(tops)):
        row = lower[at]
        while row >= 0 and row != tops[at] and row != above[at]:
            row = dominator[row]
        found[at] = row == tops[at]


def _held_alone(
    heap: HeapView, pairs: pl.DataFrame, others: pl.DataFrame
) -> pl.DataFrame:
    """Pairs whose ``source`` alone, and by no other field, holds the ``target``.

    Args:
        heap: The heap.
        pairs: References by a field.
        others: References by other fields.
    """
    is_above = heap.above(pairs["target"]) == pairs["source"]
    mine = pairs.filter(is_above).select("source", "target").unique()
    mine = mine.join(others, on=["source", "target"], how="anti")
    into = heap.holders_of(mine["target"]).rename({"row": "target"})
    into = into.join(mine, on="target").filter(pl.col("holder") != pl.col("source"))
    below = np.zeros(into.height, np.bool_)
    tops, lower, above = into.select("target", "holder", "source").to_numpy().T.copy()
    _are_below(heap.dominator, tops, lower, above, below)
    return mine.join(
        into.filter(~pl.Series(below)), on=["source", "target"], how="anti"
    )


def by_field(heap: HeapView, values: Values) -> pl.DataFrame:
    field, asked = values["field"], values["type"]
    kinds = {*heap.types_named(asked)} if asked else {*range(len(heap.type_names))}
    if not field.startswith("["):
        kinds &= {*heap.types_with(field)}
    every = heap.links(heap.live_instances(sorted(kinds)), weak=True)
    others = every.filter(pl.col("field").ne_missing(field) & pl.col("holds"))
    named = every.filter(pl.col("field") == field)
    pairs = named.group_by("source", "target", weak=~pl.col("holds")).agg(
        references=pl.len()
    )
    mine = _held_alone(heap, pairs, others)
    mine = mine.with_columns(kept=heap.kept(mine["target"]))
    pairs = pairs.join(mine, on=["source", "target"], how="left")
    each = (
        pairs.with_columns(kind=heap.kinds_of(pairs["source"]))
        .group_by("kind", "weak", row="target")
        .agg(pl.col("references").sum(), pl.col("kept").fill_null(0).max())
    )
    each = each.with_columns(
        type=heap.names_of(each["kind"]), target_type=heap.type_texts(each["row"])
    )
    groups = heap.grouped(
        each, "type", "weak", "target_type",
        reference_count=pl.col("references").sum(), kept=pl.col("kept").sum(),
        target_count=pl.len(),
    ).with_columns(retained_bytes="kept")  # fmt: skip
    order = ("-retained_bytes", "-reference_count", "type", "target_type", "weak")
    return shown(groups, values, *order)
