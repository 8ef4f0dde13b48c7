"""Answers about a dump as a whole: its figures, types, regions and largest objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.answers.frames import ordered
from ingest.answers.view import VALUE_LENGTH, largest, limit_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value


def _sorted(
    frame: pl.DataFrame, by: Sequence[str], limit: int, *, last: str = "row"
) -> pl.DataFrame:
    """The rows with most of some columns; equal ones in the order of ``last``."""
    descending = [*(True for _ in by), False]
    return frame.sort([*by, last], descending=descending, nulls_last=True).head(limit)


def dump(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """The row of ``dump``."""
    del values
    return [heap.properties()]


def leak_suspects(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``leak-suspects``."""
    names = (
        "object", "type", "container", "object_count", "retained_bytes", "share",
        "pattern", "holder", "reference", "root_kind", "root_name", "path", "cut",
        "cut_step", "contents", "sentence", "advice", "fingerprint", "signs", "doubts",
    )  # fmt: skip
    found = whole(heap, "suspects", names).head(limit_of(values)).to_dicts()
    return [
        one
        | {
            "type": heap.type_names[one["type"]],
            "address": heap.address(one["object"]),
            "container_type": heap.full_type(one["container"]),
            "container_address": heap.address(one["container"]),
        }
        for one in found
    ]


def warnings(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``warnings``."""
    texts = cast("list[str] | None", heap.properties()["warnings"]) or []
    return [
        {"position": position, "warning": text}
        for position, text in enumerate(texts[: limit_of(values)], start=1)
    ]


# ---------------------------------------------------------------- largest objects


def retained_objects(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``retained-objects``."""
    least = cast("int", values["min_bytes"])
    is_chosen = (heap.root_distance >= 0) & (heap.retained_bytes >= least)
    rows = largest(np.flatnonzero(is_chosen), [heap.retained_bytes], limit_of(values))
    columns = (
        "address", "shallow_bytes", "retained_bytes", "retained_count",
        "root_distance", "value",
    )  # fmt: skip
    return [
        found | {"type": heap.full_type(row)}
        for row, found in zip(
            rows, heap.frame("objects", rows, columns).to_dicts(), strict=True
        )
    ]


def dominator_treemap(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``dominator-treemap``."""
    rows = largest(
        np.flatnonzero(heap.retained_bytes > 0),
        [heap.retained_bytes, heap.retained_count],
        limit_of(values),
    )
    columns = (
        "address", "value", "shallow_bytes", "retained_bytes", "retained_count",
        "root_distance", "generation",
    )  # fmt: skip
    found = heap.frame("objects", rows, columns).to_dicts()
    dominators = heap.dominator[rows].tolist()
    namespaces, kinds = heap.of_types("namespace"), heap.type_index[rows].tolist()
    return [
        own
        | {
            "object": row,
            "dominator": dominator if dominator >= 0 else None,
            "type": heap.full_type(row),
            "namespace": namespaces[kind] if kind >= 0 else "",
            "value": (own["value"] or "")[:VALUE_LENGTH],
        }
        for row, dominator, kind, own in zip(
            rows, dominators, kinds, found, strict=True
        )
    ]


def external_bytes(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``external-bytes``."""
    if not heap.has("objects", "external_bytes"):
        return []
    outside = whole(heap, "objects", ["external_bytes"])
    chosen = _sorted(
        outside.filter(pl.col("external_bytes") > 0),
        ["external_bytes"],
        limit_of(values),
    )["row"].to_list()
    columns = ("address", "external_name", "external_bytes", "shallow_bytes")
    found = []
    for row, own in zip(
        chosen, heap.frame("objects", chosen, columns).to_dicts(), strict=True
    ):
        owner = int(heap.dominator[row])
        found.append(
            own
            | {
                "type": heap.declared_type(row),
                "alive": heap.distance(row) is not None,
                "owner_type": heap.declared_type(owner) if owner >= 0 else None,
                "owner_address": heap.address(owner) if owner >= 0 else None,
            }
        )
    return found


# ---------------------------------------------------------------- types

_TYPES = (
    "name", "domain", "namespace", "instance_count", "shallow_bytes",
    "reachable_count", "reachable_bytes", "retained_bytes", "estimated_count",
    "estimated_bytes",
)  # fmt: skip


def _types(heap: HeapView) -> pl.DataFrame:
    return whole(heap, "types", _TYPES).with_columns(pl.col("name").alias("type"))


def retained_types(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``retained-types``."""
    chosen = _types(heap).filter(
        (pl.col("reachable_count") > 0)
        & (pl.col("retained_bytes") >= values["min_bytes"])
    )
    return _sorted(chosen, ["retained_bytes"], limit_of(values)).to_dicts()


def type_histogram(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``type-histogram``."""
    chosen = _types(heap).filter(pl.col("instance_count") > 0)
    by = ["shallow_bytes", "instance_count"]
    return _sorted(chosen, by, limit_of(values)).to_dicts()


def namespace_histogram(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``namespace-histogram``."""
    used = _types(heap).filter(pl.col("instance_count") > 0)
    groups = (
        used.sort("shallow_bytes", "row", descending=[True, False])
        .group_by("namespace", maintain_order=True)
        .agg(
            pl.len().alias("type_count"),
            pl.col("instance_count", "shallow_bytes", "reachable_bytes").sum(),
            pl.col("type").first().alias("largest_type"),
        )
    )
    return _sorted(
        groups, ["shallow_bytes"], limit_of(values), last="namespace"
    ).to_dicts()


def unreachable_types(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``unreachable-types``."""
    chosen = (
        _types(heap)
        .filter(pl.col("instance_count") > pl.col("reachable_count"))
        .with_columns(
            unreachable_count=pl.col("instance_count") - pl.col("reachable_count"),
            unreachable_bytes=pl.col("shallow_bytes") - pl.col("reachable_bytes"),
        )
    )
    by = ["unreachable_bytes", "unreachable_count"]
    return _sorted(chosen, by, limit_of(values)).to_dicts()


def async_state_machines(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``async-state-machines``."""
    name = pl.col("name")
    chosen = (
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
    by = ["retained_bytes", "live_count"]
    return _sorted(chosen, by, limit_of(values)).to_dicts()


# ---------------------------------------------------------------- merged trees


_PATHS = (
    "parent", "type", "tree", "name", "fingerprint", "depth", "object_count",
    "shallow_bytes", "total_count", "total_bytes", "rest_count", "rest_bytes",
)  # fmt: skip


def _tree(heap: HeapView, values: Mapping[str, Value], name: str) -> list[Row]:
    namespaces = [*heap.of_types("namespace").to_list(), ""]
    frame = whole(heap, "type_paths", _PATHS).filter(pl.col("tree") == name)
    rows = _sorted(frame, ["total_bytes"], limit_of(values)).to_dicts()
    for row in rows:
        row["path"], kind = row["row"], row["type"]
        row["type"] = row["name"] if kind is None else heap.type_names[kind]
        row["namespace"] = "" if kind is None else namespaces[kind]
    return rows


def type_tree(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``type-tree``."""
    return _tree(heap, values, "dominators")


def root_path_tree(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``root-path-tree``."""
    return _tree(heap, values, "root_paths")


# ---------------------------------------------------------------- regions


def _table(heap: HeapView, values: Mapping[str, Value], name: str) -> list[Row]:
    """The first rows of a table."""
    end = min(heap.tables.rows(name), limit_of(values))
    return heap.tables.part(name, 0, end).to_dicts()


def generation_histogram(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``generation-histogram``."""
    frame = whole(
        heap, "generations",
        ["number", "name", "object_count", "shallow_bytes", "reachable_count",
         "reachable_bytes"],
    )  # fmt: skip
    total = int(frame["shallow_bytes"].sum())
    rows = frame.sort("number").head(limit_of(values)).to_dicts()
    return [
        row
        | {
            "generation": row["number"],
            "share": row["shallow_bytes"] / total if total else 0.0,
        }
        for row in rows
    ]


def segments(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``segments``."""
    return [
        row
        | {
            "segment": row["ordinal"],
            "other_bytes": row["used_bytes"] - row["shallow_bytes"],
        }
        for row in _table(heap, values, "segments")
    ]


_FREE = ("Free", "System.Free", "Free Space", "Free Object")


def free_space(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``free-space``."""
    counts = heap.of_types("instance_count")
    free = [
        kind for name in _FREE for kind in heap.types_named(name) if counts[kind] > 0
    ]
    is_hole = np.isin(heap.type_index, free) & (heap.root_distance < 0)
    holes = np.flatnonzero(is_hole)
    in_segment = whole(heap, "objects", ["segment"])["segment"].fill_null(-1).to_numpy()
    found = []
    for row in _table(heap, values, "segments"):
        mine = holes[in_segment[holes] == row["ordinal"]]
        hole_bytes = int(heap.shallow_bytes[mine].sum())
        other, used = row["used_bytes"] - row["shallow_bytes"], row["used_bytes"]
        found.append(
            row
            | {
                "segment": row["ordinal"],
                "live_bytes": row["reachable_bytes"],
                "dead_bytes": row["shallow_bytes"]
                - row["reachable_bytes"]
                - hole_bytes,
                "free_count": len(mine) if free else None,
                "free_bytes": hole_bytes if free else None,
                "other_bytes": other,
                "empty_share": (other + hole_bytes) / used if used else 0.0,
            }
        )
    return found


def domains(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``domains``."""
    declared = whole(heap, "types", ["domain"])["domain"]
    return [
        row | {"type_count": int((declared == row["ordinal"]).sum())}
        for row in _table(heap, values, "domains")
    ]


def gc_timeline(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``gc-timeline``."""
    return _table(heap, values, "collections")


def allocation_sites(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``allocation-sites``."""
    if not heap.tables.rows("allocation_sites"):
        return []
    columns = ["name", "stack", "object_count", "reachable_count", "reachable_bytes"]
    by = ["reachable_bytes", "object_count"]
    chosen = _sorted(
        whole(heap, "allocation_sites", columns), by, limit_of(values)
    ).to_dicts()
    objects = whole(heap, "objects", ["site", "type"]).drop_nulls(["site", "type"])
    names = pl.Series(heap.type_names, dtype=pl.String)
    most = (
        objects.filter(pl.col("site").is_in([row["row"] for row in chosen]))
        .with_columns(name=names.gather(objects.filter(
            pl.col("site").is_in([row["row"] for row in chosen]))["type"]))
        .group_by("site", "name")
        .agg(pl.len().alias("many"))
        .sort("many", "name", descending=[True, False])
        .group_by("site", maintain_order=True)
        .agg(pl.col("name").first())
    )  # fmt: skip
    of = dict(most.iter_rows())
    return [
        row | {"site": row["name"], "type": of[row["row"]]}
        for row in chosen
        if row["row"] in of
    ]


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


def allocation_files(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``allocation-files``."""
    if not heap.tables.rows("allocation_sites"):
        return []
    wanted = values["library"]
    sums = ["object_count", "reachable_count", "reachable_bytes"]
    found = [
        (row["row"], file if wanted else library, file, *(row[one] for one in sums))
        for row in whole(heap, "allocation_sites", ["name", *sums]).to_dicts()
        for library, file in filter(None, [_allocated_by(row["name"])])
        if wanted in ("", library)
    ]
    sites = pl.DataFrame(
        found, ["site", "allocated_by", "file", *sums], orient="row",
    )  # fmt: skip
    if not found:
        return []
    groups = sites.group_by("allocated_by").agg(
        pl.col("file").n_unique().alias("file_count"), pl.col(*sums).sum()
    )
    sites = sites.with_columns(
        group=pl.col("allocated_by").rank("dense").cast(pl.Int32)
    )
    made = whole(heap, "objects", ["site"]).join(sites, "site", maintain_order="left")
    group_of = np.zeros(heap.tables.rows("objects") + 1, np.int32)
    group_of[made["row"]] = made["group"]
    rows = heap.live(made["row"].to_numpy())
    above = heap.above(rows).fill_null(len(group_of) - 1).to_numpy()
    rows = rows[group_of[rows] != group_of[above]]
    tops = pl.DataFrame(
        {"row": rows, "group": group_of[rows], "retained_bytes": heap.kept(rows)}
    ).join(sites.select("group", "allocated_by").unique(), "group")
    tops = (
        ordered(tops, "-retained_bytes", "row")
        .group_by("allocated_by", maintain_order=True)
        .agg(pl.col("retained_bytes").sum(), pl.col("row").first())
    )
    groups = groups.join(tops, "allocated_by", "left").with_columns(
        pl.col("retained_bytes").fill_null(0)
    )
    order = ("-retained_bytes", "-reachable_bytes", "-object_count", "allocated_by")
    groups = ordered(groups, *order).head(limit_of(values))
    return groups.with_columns(
        largest_address=heap.addresses_of(groups["row"])
    ).to_dicts()


def native_memory(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``native-memory``."""
    if not heap.has("objects", "space"):
        return []
    groups = (
        whole(heap, "objects", ["type", "space", "shallow_bytes", "root_distance"])
        .filter(
            pl.col("type").is_not_null()
            & (pl.col("space") == "native")
            & pl.col("root_distance").is_not_null()
        )
        .sort("shallow_bytes", "row", descending=[True, False])
        .group_by("type", maintain_order=True)
        .agg(
            pl.len().alias("object_count"),
            pl.col("shallow_bytes").sum(),
            pl.col("row").first(),
        )
    )
    by = ("shallow_bytes", "object_count")
    return [
        row
        | {
            "type": heap.type_names[row["type"]],
            "largest_address": heap.address(row["row"]),
        }
        for row in _sorted(groups, by, limit_of(values), last="type").to_dicts()
    ]
