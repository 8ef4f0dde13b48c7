"""Answers about a dump as a whole: its figures, types, regions and largest objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.answers.frames import of_rows, ordered, shares_of, shown
from ingest.answers.view import VALUE_LENGTH, largest, whole

if TYPE_CHECKING:
    from ingest.answers.frames import HeapView, Values
    from ingest.answers.view import Row


def dump(heap: HeapView, values: Values) -> list[Row]:
    return [heap.properties()][: values["limit"]]


def leak_suspects(heap: HeapView, values: Values) -> pl.DataFrame:
    names = (
        "object", "type", "container", "object_count", "retained_bytes", "share",
        "pattern", "holder", "reference", "root_kind", "root_name", "path", "cut",
        "cut_step", "contents", "sentence", "advice", "fingerprint", "signs", "doubts",
    )  # fmt: skip
    found = whole(heap, "suspects", names, values["limit"])
    return found.with_columns(
        row="object",
        type=heap.names_of(found["type"]),
        container_type=heap.type_texts(found["container"]),
    )


def warnings(heap: HeapView, values: Values) -> list[Row]:
    texts = cast("list[str] | None", heap.properties()["warnings"]) or []
    return [
        {"position": position, "warning": text}
        for position, text in enumerate(texts[: values["limit"]], start=1)
    ]


# ---------------------------------------------------------------- largest objects


def retained_objects(heap: HeapView, values: Values) -> pl.DataFrame:
    is_large = heap.retained_bytes >= values["min_bytes"]
    rows = np.flatnonzero((heap.root_distance >= 0) & is_large)
    return of_rows(largest(rows, [heap.retained_bytes], values["limit"]))


def dominator_treemap(heap: HeapView, values: Values) -> pl.DataFrame:
    sizes = [heap.retained_bytes, heap.retained_count]
    rows = largest(np.flatnonzero(sizes[0] > 0), sizes, values["limit"])
    found = of_rows(rows)
    texts = heap.texts(found["row"])
    namespaces = pl.concat([heap.of_types("namespace"), pl.Series([""])])
    return found.with_columns(
        object="row",
        dominator=heap.above(found["row"]),
        namespace=namespaces.gather(heap.kinds_of(found["row"])),
        value=texts.fill_null("").str.slice(0, VALUE_LENGTH),
    )


def external_bytes(heap: HeapView, values: Values) -> pl.DataFrame:
    found = heap.objects("external_bytes").filter(pl.col("external_bytes") > 0)
    found = shown(found, values, "-external_bytes", "row")
    rows = found["row"]
    return found.with_columns(type=heap.types_of(rows), owner=heap.above(rows))


# ---------------------------------------------------------------- types

_TYPES = (
    "name", "domain", "namespace", "instance_count", "shallow_bytes",
    "reachable_count", "reachable_bytes", "retained_bytes", "estimated_count",
    "estimated_bytes",
)  # fmt: skip


def _types(heap: HeapView) -> pl.DataFrame:
    return whole(heap, "types", _TYPES).with_columns(type="name")


def retained_types(heap: HeapView, values: Values) -> pl.DataFrame:
    found = _types(heap).filter(
        (pl.col("reachable_count") > 0)
        & (pl.col("retained_bytes") >= values["min_bytes"])
    )
    return shown(found, values, "-retained_bytes", "row")


def type_histogram(heap: HeapView, values: Values) -> pl.DataFrame:
    found = _types(heap).filter(pl.col("instance_count") > 0)
    return shown(found, values, "-shallow_bytes", "-instance_count", "row")


def namespace_histogram(heap: HeapView, values: Values) -> pl.DataFrame:
    used = _types(heap).filter(pl.col("instance_count") > 0)
    groups = (
        ordered(used, "-shallow_bytes", "row")
        .group_by("namespace", maintain_order=True)
        .agg(
            pl.col("instance_count", "shallow_bytes", "reachable_bytes").sum(),
            type_count=pl.len(),
            largest_type=pl.col("type").first(),
        )
    )
    return shown(groups, values, "-shallow_bytes", "namespace")


def unreachable_types(heap: HeapView, values: Values) -> pl.DataFrame:
    found = _types(heap).with_columns(
        unreachable_count=pl.col("instance_count") - pl.col("reachable_count"),
        unreachable_bytes=pl.col("shallow_bytes") - pl.col("reachable_bytes"),
    )
    found = found.filter(pl.col("unreachable_count") > 0)
    return shown(found, values, "-unreachable_bytes", "-unreachable_count", "row")


def async_state_machines(heap: HeapView, values: Values) -> pl.DataFrame:
    name = pl.col("name")
    found = (
        _types(heap)
        .filter(
            (pl.col("instance_count") > 0)
            & name.str.contains(">d__", literal=True)
            & ~name.str.ends_with("[]")
        )
        .with_columns(
            method=name.str.split(">d__").list.first().str.split("<").list.last(),
            kind=pl.when(name.str.contains("AsyncStateMachineBox|MethodBuilder"))
            .then(pl.lit("task"))
            .otherwise(pl.lit("task or iterator")),
            live_count=pl.col("reachable_count"),
            dead_count=pl.col("instance_count") - pl.col("reachable_count"),
            live_bytes=pl.col("reachable_bytes"),
        )
    )
    return shown(found, values, "-retained_bytes", "-live_count", "row")


# ---------------------------------------------------------------- merged trees


_PATHS = (
    "parent", "type", "tree", "name", "fingerprint", "depth", "object_count",
    "shallow_bytes", "total_count", "total_bytes", "rest_count", "rest_bytes",
)  # fmt: skip


def _tree(heap: HeapView, values: Values, name: str) -> pl.DataFrame:
    found = whole(heap, "type_paths", _PATHS).filter(pl.col("tree") == name)
    found = shown(found, values, "-total_bytes", "row")
    kinds = found["type"]
    return found.with_columns(
        path="row",
        type=pl.coalesce(heap.names_of(kinds), "name"),
        namespace=heap.of_types("namespace").gather(kinds).fill_null(""),
    )


def type_tree(heap: HeapView, values: Values) -> pl.DataFrame:
    return _tree(heap, values, "dominators")


def root_path_tree(heap: HeapView, values: Values) -> pl.DataFrame:
    return _tree(heap, values, "root_paths")


# ---------------------------------------------------------------- regions


def _table(heap: HeapView, values: Values, name: str) -> pl.DataFrame:
    """The first rows of a table."""
    end = min(heap.tables.rows(name), values["limit"])
    return heap.tables.part(name, 0, end)


def generation_histogram(heap: HeapView, values: Values) -> pl.DataFrame:
    columns = (
        "number", "name", "object_count", "shallow_bytes", "reachable_count",
        "reachable_bytes",
    )  # fmt: skip
    found = whole(heap, "generations", columns)
    share = shares_of(found["shallow_bytes"], found["shallow_bytes"])
    return shown(found.with_columns(generation="number", share=share), values, "number")


def segments(heap: HeapView, values: Values) -> pl.DataFrame:
    return _table(heap, values, "segments").with_columns(
        segment="ordinal", other_bytes=pl.col("used_bytes") - pl.col("shallow_bytes")
    )


_FREE = ("Free", "System.Free", "Free Space", "Free Object")


def free_space(heap: HeapView, values: Values) -> list[Row]:
    counts = heap.of_types("instance_count")
    free = [
        kind for name in _FREE for kind in heap.types_named(name) if counts[kind] > 0
    ]
    is_hole = np.isin(heap.type_index, free) & (heap.root_distance < 0)
    holes = np.flatnonzero(is_hole)
    in_segment = whole(heap, "objects", ["segment"])["segment"].fill_null(-1).to_numpy()
    found = []
    for row in segments(heap, values).to_dicts():
        mine = holes[in_segment[holes] == row["ordinal"]]
        hole_bytes, live = int(heap.shallow_bytes[mine].sum()), row["reachable_bytes"]
        empty, used = row["other_bytes"] + hole_bytes, row["used_bytes"]
        found.append(
            row
            | {
                "live_bytes": live,
                "dead_bytes": row["shallow_bytes"] - live - hole_bytes,
                "free_count": len(mine) if free else None,
                "free_bytes": hole_bytes if free else None,
                "empty_share": empty / used if used else 0.0,
            }
        )
    return found


def domains(heap: HeapView, values: Values) -> pl.DataFrame:
    declared = whole(heap, "types", ["domain"]).group_by(ordinal="domain")
    found = _table(heap, values, "domains").cast({"ordinal": pl.Int64})
    counts = declared.agg(type_count=pl.len()).cast({"ordinal": pl.Int64})
    found = found.join(counts, on="ordinal", how="left", maintain_order="left")
    return found.with_columns(pl.col("type_count").fill_null(0))


def gc_timeline(heap: HeapView, values: Values) -> pl.DataFrame:
    return _table(heap, values, "collections")


def allocation_sites(heap: HeapView, values: Values) -> pl.DataFrame:
    columns = ("name", "stack", "object_count", "reachable_count", "reachable_bytes")
    sites = whole(heap, "allocation_sites", columns).rename({"row": "at"})
    sites = shown(sites, values, "-reachable_bytes", "-object_count", "at")
    made = heap.objects("site", "type").drop_nulls(["site", "type"])
    made = made.filter(pl.col("site").is_in(sites["at"].implode()))
    most = (
        made.with_columns(type=heap.names_of(made["type"]))
        .group_by("type", at="site")
        .agg(many=pl.len())
        .sort("many", "type", descending=[True, False])
        .unique("at", keep="first", maintain_order=True)
    )
    sites = sites.join(most.cast({"at": pl.Int64}), on="at", maintain_order="left")
    return sites.with_columns(site="name")


_LIBRARIES = (
    "/gems/",
    "/site-packages/",
    "/dist-packages/",
    "/lib/ruby/",
    "/lib/python",
)
"""In the path of a file: what follows is of a library, or it is of the standard one."""
_LINE = re.compile(r"(?s)(.+):[0-9]+( in .*)?")
_COLUMN = re.compile(r"(?s).*:[0-9]+:[0-9]+.*")


def _allocated_by(site: str) -> tuple[str, str] | None:
    """The library and the file of a site; ``None`` if it names no line of a file."""
    if not _LINE.fullmatch(site) or _COLUMN.fullmatch(site):
        return None
    file = site.split(" in ")[0].rpartition(":")[0]
    for mark in _LIBRARIES:
        if mark in file:
            if mark.startswith("/lib/"):
                return "(standard library)", file
            return file.split(mark)[-1].split("/")[0], file
    return "(standard library)" if file.startswith("<") else "(program)", file


def allocation_files(heap: HeapView, values: Values) -> pl.DataFrame:
    wanted = values["library"]
    sums = ["object_count", "reachable_count", "reachable_bytes"]
    found = [
        (row["row"], file if wanted else library, file, *(row[one] for one in sums))
        for row in whole(heap, "allocation_sites", ["name", *sums]).to_dicts()
        for library, file in filter(None, [_allocated_by(row["name"])])
        if wanted in ("", library)
    ]
    texts, numbers = (
        dict.fromkeys(["allocated_by", "file"], pl.String),
        dict.fromkeys(sums, pl.Int64),
    )
    sites = pl.DataFrame(found, {"site": pl.Int64, **texts, **numbers}, orient="row")
    groups = sites.group_by("allocated_by").agg(
        pl.col(*sums).sum(), file_count=pl.col("file").n_unique()
    )
    sites = sites.with_columns(
        group=pl.col("allocated_by").rank("dense").cast(pl.Int32)
    )
    made = heap.objects("site").cast({"site": pl.Int64})
    made = made.join(sites, "site", maintain_order="left")
    group_of = np.zeros(heap.row_count + 1, np.int32)
    group_of[made["row"]] = made["group"]
    rows = heap.live(made["row"].to_numpy())
    above = heap.above(rows).fill_null(heap.row_count).to_numpy()
    rows = rows[group_of[rows] != group_of[above]]
    tops = of_rows(rows).with_columns(group=pl.Series(group_of[rows]))
    tops = tops.join(sites.select("group", "allocated_by").unique(), "group")
    groups = groups.join(heap.grouped(tops, "allocated_by"), "allocated_by", "left")
    groups = groups.with_columns(pl.col("retained_bytes").fill_null(0))
    order = ("-retained_bytes", "-reachable_bytes", "-object_count", "allocated_by")
    return shown(groups, values, *order)


def native_memory(heap: HeapView, values: Values) -> pl.DataFrame:
    found = heap.objects("space", "type", "shallow_bytes", "root_distance").filter(
        pl.col("space") == "native"
    )
    groups = heap.grouped(
        found.drop_nulls(["type", "root_distance"]), "type", most="shallow_bytes",
        object_count=pl.len(),
    )  # fmt: skip
    groups = shown(groups, values, "-shallow_bytes", "-object_count", "type")
    return groups.with_columns(type=heap.names_of(groups["type"]))
