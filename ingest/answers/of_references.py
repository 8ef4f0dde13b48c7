"""Answers about references: through a field, between types, to what is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.answers.frames import ordered
from ingest.answers.view import NOT_SEEN, largest, limit_of, whole
from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.arrays.compiled import Bools, Ints, Longs
    from ingest.queries.library import Value

_FEW_NAMES = 5
"""Names of types in a list."""


def _named(heap: HeapView, rows: pl.Series) -> pl.DataFrame:
    """What most rows have of an object."""
    return pl.DataFrame(
        {
            "row": rows,
            "type": heap.type_texts(rows),
            "address": heap.addresses_of(rows),
            "shallow_bytes": heap.sizes(rows),
            "retained_bytes": heap.kept(rows),
        }
    )


def _most(
    heap: HeapView, counts: NDArray[np.int64], values: Mapping[str, Value], name: str
) -> list[Row]:
    """The objects with the largest counts."""
    rows = largest(np.flatnonzero(counts > 0), [counts], limit_of(values))
    found = _named(heap, pl.Series(rows, dtype=pl.Int64))
    return found.with_columns(pl.Series(name, counts[rows])).to_dicts()


def _held(heap: HeapView) -> NDArray[np.int64]:
    """Rows of references of reachable objects that hold their target."""
    return heap.holding_rows(np.arange(len(heap.ref_target)))


def hubs(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``hubs``."""
    targets = heap.ref_target[_held(heap)]
    counts = np.bincount(targets, minlength=heap.row_count)
    roots = heap.root_object[heap.root_holds]
    counts += np.bincount(roots, minlength=heap.row_count)
    return _most(heap, counts, values, "referrer_count")


def containers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``containers``."""
    sources = heap.sources(_held(heap))
    counts = np.bincount(sources, minlength=heap.row_count)
    return _most(heap, counts, values, "reference_count")


def type_references(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``type-references``."""
    names = pl.Series(heap.type_names, dtype=pl.String)
    found = whole(heap, "type_references", ["source", "target", "reference_count"])
    found = found.with_columns(
        from_type=names.gather(found["source"]), to_type=names.gather(found["target"])
    )
    if asked := values["type"]:
        found = found.filter(
            (pl.col("from_type") == asked) | (pl.col("to_type") == asked)
        )
    order = ("-reference_count", "source", "target")
    return ordered(found, *order).head(limit_of(values)).to_dicts()


def missing_references(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``missing-references``."""
    rows = pl.Series(np.arange(heap.object_count, heap.row_count))
    into = heap.links(rows, into=True, weak=True)
    into = into.with_columns(caption=heap.captions_of(into["source"]))
    counts = into.group_by(row="target").agg(
        pl.len().alias("reference_count"),
        pl.col("caption").unique().sort().head(_FEW_NAMES).alias("referrer_types"),
    )
    roots = pl.Series(heap.root_object).cast(pl.Int64).alias("row").to_frame()
    of_roots = roots.group_by("row").agg(pl.len().alias("root_count"))
    found = pl.DataFrame({"row": rows}).join(counts, on="row", how="left")
    found = found.join(of_roots, on="row", how="left").with_columns(
        pl.col("reference_count", "root_count").fill_null(0),
        pl.col("referrer_types").fill_null([]),
    )
    found = ordered(found, "-reference_count", "row").head(limit_of(values))
    return found.with_columns(
        domain=heap.texts(found["row"], "domain"),
        address=heap.addresses_of(found["row"]),
        alive=pl.Series(heap.root_distance).gather(found["row"]) >= 0,
    ).to_dicts()


def weakly_held(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``weakly-held``."""
    roots = whole(heap, "roots", ["object", "weak"]).filter("weak")
    counts = [
        roots.select(row=pl.col("object").cast(pl.Int64), by="weak").with_columns(
            by=pl.lit("weak_root_count")
        )
    ]
    if heap.has("objects", "weakly_referenced"):
        found = whole(heap, "objects", ["weakly_referenced"])
        rows = found.filter(pl.col("weakly_referenced"))["row"]
        into = heap.links(rows.cast(pl.Int64), into=True, live=True, weak=True)
        into = into.drop_nulls("strength").select(row="target")
        counts.append(into.with_columns(by=pl.lit("weak_reference_count")))
    each = pl.concat(counts).group_by("row").agg(
        *((pl.col("by") == name).sum().alias(name)
          for name in ("weak_root_count", "weak_reference_count")),
    )  # fmt: skip
    each = each.with_columns(
        retained_=heap.kept(each["row"]), shallow_=heap.sizes(each["row"])
    )
    each = ordered(each, "-retained_", "-shallow_", "row").head(limit_of(values))
    strength = heap.texts(each["row"], "strength").cast(pl.String)
    reached = pl.Series(heap.root_distance).gather(each["row"]) >= 0
    return (
        _named(heap, each["row"])
        .hstack(each.drop("row"))
        .with_columns(strength=strength, alive=reached & strength.is_null())
        .to_dicts()
    )


# ---------------------------------------------------------------- dominators


def dominated_by(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``dominated-by``."""
    found: list[Row] = []
    for row in heap.objects_at(str(values["address"])):
        below = heap.dominated_by(np.array([row]))["below"].to_numpy()
        limit = limit_of(values) - len(found)
        rows = largest(np.sort(below), [heap.retained_bytes], limit)
        some = _named(heap, pl.Series(rows, dtype=pl.Int64))
        some = some.with_columns(
            retained_count=heap.texts(some["row"], "retained_count")
        )
        domain = heap.object(row)["domain"]
        found += [one | {"domain": domain} for one in some.to_dicts()]
    return found


def dominator_types(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``dominator-types``."""
    columns = ("name", "domain", "top_count", "top_retained_bytes")
    found = whole(heap, "types", columns).filter(pl.col("top_count") > 0)
    found = ordered(found, "-top_retained_bytes", "row").head(limit_of(values))
    total = int(heap.of_types("reachable_bytes").sum())
    return [
        {
            "type": row["name"],
            "domain": row["domain"],
            "object_count": row["top_count"],
            "retained_bytes": row["top_retained_bytes"],
            "share": row["top_retained_bytes"] / total if total else 0.0,
        }
        for row in found.to_dicts()
    ]


def by_library(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``by-library``."""
    columns = (
        "name", "namespace", "instance_count", "shallow_bytes", "reachable_bytes",
        "top_retained_bytes",
    )  # fmt: skip
    prefix, name = str(values["prefix"]), pl.col("namespace")
    found = whole(heap, "types", columns).filter(
        (pl.col("instance_count") > 0) & name.str.starts_with(prefix)
    )
    library = name if prefix else name.str.split("/").list.first()
    groups = (
        ordered(found.with_columns(library=library), "-shallow_bytes", "row")
        .group_by("library", maintain_order=True)
        .agg(
            name.n_unique().alias("library_count"),
            pl.len().alias("type_count"),
            pl.col(*columns[2:]).sum(),
            pl.col("name").first().alias("largest_type"),
        )
    )
    return (
        ordered(groups, "-shallow_bytes", "library").head(limit_of(values)).to_dicts()
    )


def shared_by(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``shared-by``."""
    is_asked = (heap.root_distance >= 0) & (
        heap.retained_bytes >= cast("int", values["min_bytes"])
    )
    rows = np.flatnonzero(is_asked)
    above = heap.dominator[rows]
    roots = np.bincount(heap.root_object[heap.root_holds], minlength=heap.row_count)
    # Below another object: it is shared unless that one holds it.
    references = _held(heap)
    sources, targets = heap.sources(references), heap.ref_target[references]
    is_held = np.zeros(heap.row_count, np.bool_)
    is_held[targets[heap.dominator[targets] == sources]] = True
    # At the top: unless one root holds it, and what it retains.
    place = np.full(heap.row_count, NOT_SEEN, np.int32)
    tops = np.flatnonzero(heap.dominator == ROOT)
    place[tops] = tops
    is_one = np.zeros(heap.row_count, np.bool_)
    is_one[rows[(above == ROOT) & (roots[rows] == 1)]] = True
    into = is_one[targets]
    outside = heap.places_above(sources[into], place) != targets[into]
    is_one[targets[into][outside]] = False
    is_shared = np.where(above == ROOT, ~is_one[rows], ~is_held[rows])
    chosen = largest(rows[is_shared], [heap.retained_bytes], limit_of(values))
    frame = _named(heap, pl.Series(chosen, dtype=pl.Int64))
    holders = heap.links(frame["row"], into=True, live=True)
    holders = holders.filter(pl.col("source") != pl.col("target"))
    holders = holders.select(row="target", holder="source").unique()
    holders = holders.with_columns(caption=heap.captions_of(holders["holder"]))
    counts = holders.group_by("row").agg(
        pl.len().alias("holder_count"),
        pl.col("caption").unique().sort().head(_FEW_NAMES).alias("holder_types"),
    )
    upper = heap.above(frame["row"])
    return (
        frame.with_columns(
            root_count=pl.Series(roots[chosen]),
            dominator=heap.types_of(upper).fill_null("(roots)"),
            dominator_address=heap.addresses_of(upper),
        )
        .join(counts, on="row", how="left", maintain_order="left")
        .with_columns(
            pl.col("holder_count").fill_null(0), pl.col("holder_types").fill_null([])
        )
        .to_dicts()
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


def by_field(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``by-field``."""
    field, asked = str(values["field"]), values["type"]
    kinds = pl.Series(heap.type_names, dtype=pl.String)
    is_asked = (kinds == asked) if asked else kinds.is_not_null()
    if not field.startswith("["):
        fields = " " + heap.of_types("fields").fill_null("") + " "
        is_asked &= fields.str.contains(f" {field} ", literal=True)
    rows = heap.live(heap.instances_of(is_asked.arg_true().to_list()))
    every = heap.links(rows, weak=True)
    named = every.filter(pl.col("field") == field)
    others = every.filter(
        "holds" and pl.col("field").ne_missing(field) & pl.col("holds")
    )
    pairs = named.group_by("source", "target", weak=~pl.col("holds")).agg(
        pl.len().alias("references")
    )
    is_alone = pl.DataFrame({"alone": heap.above(pairs["target"]) == pairs["source"]})
    pairs = pairs.hstack(is_alone)
    mine = pairs.filter("alone").select("source", "target").unique()
    mine = mine.join(others, on=["source", "target"], how="anti")
    into = heap.links(mine["target"], into=True, live=True).select(
        "target", holder="source"
    ).unique()  # fmt: skip
    into = into.join(mine, on="target").filter(pl.col("holder") != pl.col("source"))
    below = np.zeros(into.height, np.bool_)
    tops, lower, above = (
        into[one].to_numpy() for one in ("target", "holder", "source")
    )
    _are_below(heap.dominator, tops, lower, above, below)
    mine = mine.join(
        into.filter(~pl.Series(below)), on=["source", "target"], how="anti"
    )
    pairs = pairs.drop("alone").join(
        mine.with_columns(kept=heap.kept(mine["target"])),
        on=["source", "target"], how="left",
    )  # fmt: skip
    each = pairs.with_columns(
        kind=pl.Series(heap.type_index).gather(pairs["source"])
    ).group_by("kind", "weak", row="target").agg(
        pl.col("references").sum(), pl.col("kept").fill_null(0).max()
    )  # fmt: skip
    each = each.with_columns(target_type=heap.type_texts(each["row"]))
    groups = heap.grouped(each.with_columns(type=kinds.gather(each["kind"])),
        ["type", "weak", "target_type"],
        pl.col("references").sum().alias("reference_count"),
        pl.col("kept").sum(),
    ).with_columns(target_count="count", retained_bytes="kept")  # fmt: skip
    order = ("-retained_bytes", "-reference_count", "type", "target_type", "weak")
    return heap.with_largest(groups, values["limit"], *order)
