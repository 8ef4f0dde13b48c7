"""Answers about the JVM: threads, loaders, collections, finalizers, Android."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.answers.frames import ordered
from ingest.answers.of_holders import fitting
from ingest.answers.view import limit_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value

_LOCALS = ("java_frame", "jni_local", "native_stack")
_NO_OBJECTS = tuple(
    f"{name}[]"
    for name in ("boolean", "byte", "char", "double", "float", "int", "long", "short")
)
_OF_VM = "<bootstrap>"


def _fitting_live(heap: HeapView, pattern: object) -> pl.Series:
    """Reachable instances of types whose names match."""
    is_fitting = fitting(heap, str(pattern))
    rows = heap.live(np.flatnonzero(is_fitting[heap.type_index]))
    return pl.Series(rows, dtype=pl.Int64)


# ---------------------------------------------------------------- threads


def threads(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``threads``."""
    roots = heap.holding_roots("kind", "owner", "frame")
    own = roots.filter(pl.col("kind") == "thread")
    each = (
        roots.filter(
            pl.col("kind").is_in(_LOCALS)
            & ~pl.col("object").is_in(own["object"].implode())
        )
        .group_by("owner", "object")
        .agg(pl.col("row").min(), pl.col("frame").sort_by("row").first())
    )
    each = each.with_columns(
        held=pl.when(heap.are_top(each["object"]))
        .then(heap.kept(each["object"]))
        .otherwise(0)
    )
    groups = (
        ordered(each, "-held", "object")
        .group_by("owner", maintain_order=True)
        .agg(
            pl.len().alias("local_count"),
            pl.col("held").sum().alias("locals_bytes"),
            pl.col("object").first().alias("local"),
            pl.col("held").first().alias("local_bytes"),
            pl.col("frame").first(),
        )
    )
    found = own.select("owner", "object").unique().join(groups, on="owner", how="left")
    found = found.with_columns(
        pl.col("local_count", "locals_bytes").fill_null(0),
        retained_bytes=heap.kept(found["object"]),
    ).with_columns(
        pl.when(pl.col("local_bytes") > 0).then(
            pl.col("local", "local_bytes", "frame")
        ),
        total=pl.col("retained_bytes") + pl.col("locals_bytes"),
    )
    found = ordered(found, "-total", "object").head(limit_of(values))
    return found.with_columns(
        thread="owner",
        type=heap.types_of(found["object"]),
        address=heap.addresses_of(found["object"]),
        local_type=heap.types_of(found["local"]),
        local_address=heap.addresses_of(found["local"]),
    ).to_dicts()


def thread_locals(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``thread-locals``."""
    entries = heap.live_of("java.lang.ThreadLocal$ThreadLocalMap$Entry")
    chain = pl.DataFrame({"entry": pl.Series(entries, dtype=pl.Int64)})
    chain = chain.with_columns(at="entry")
    for fields in ((), ("table",), ("threadLocals", "inheritableThreadLocals")):
        above = heap.links(chain["at"], *fields, into=True, live=True)
        pairs = above.select(at="target", up="source").unique()
        chain = chain.join(pairs, on="at").select("entry", at="up").unique()
    held = heap.links(entries, "value").select(entry="source", value="target").unique()
    chain = chain.join(held, on="entry")
    chain = chain.with_columns(retained_bytes=heap.kept(chain["value"]))
    order = ("-retained_bytes", "value", "at", "entry")
    chain = ordered(chain, *order).head(limit_of(values))
    keys = heap.links(chain["entry"], "referent", weak=True)
    chain = chain.join(
        keys.select(entry="source", key="target"),
        on="entry", how="left", maintain_order="left",
    )  # fmt: skip
    roots = heap.holding_roots("kind", "weak", "name").filter(
        pl.col("object").is_in(chain["key"].drop_nulls().implode())
    )
    names = (
        roots.filter(pl.col("kind") == "static")
        .group_by("object")
        .agg(pl.col("name").sort_by("row").first())
    )
    holders = heap.links(chain["key"], into=True, live=True)
    strong = pl.col("strength").is_null() | ~pl.col("strength").is_in(
        ["weak", "phantom"]
    )
    below = heap.above(holders["source"]) == holders["target"]
    holders = holders.filter(
        strong & (pl.col("source") != pl.col("target")) & ~below.fill_null(value=False)
    )
    kept = pl.concat([holders["target"], roots.filter(~pl.col("weak"))["object"]])
    name_of = dict(names.iter_rows())
    return chain.with_columns(
        thread=heap.texts(chain["at"]),
        field=chain["key"].replace_strict(
            name_of, default=None, return_dtype=pl.String
        ),
        local_type=heap.types_of(chain["key"]),
        value_type=heap.types_of(chain["value"]),
        value_address=heap.addresses_of(chain["value"]),
        stale=~chain["key"].is_in(kept.implode()).fill_null(value=False),
    ).to_dicts()


def java_finalizers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``java-finalizers``."""
    finalizers = heap.live_of(
        "java.lang.ref.Finalizer", "java.lang.ref.FinalizerReference"
    )
    found = heap.links(finalizers, "referent", weak=True).select(
        f="source", row="target"
    )
    queues = heap.links(finalizers, "queue")
    is_queue = heap.types_of(queues["target"]).str.starts_with(
        "java.lang.ref.ReferenceQueue$"
    )
    queued = queues.filter(is_queue)["source"]
    holders = heap.links(found["row"], into=True, live=True)
    below = heap.above(holders["source"]) == holders["target"]
    holders = holders.filter(
        (pl.col("source") != pl.col("target")) & ~below.fill_null(value=False)
    )
    others = holders.group_by(row="target").agg(
        pl.col("source").n_unique().alias("holders"),
        pl.col("source").first().alias("holder"),
    )
    found = found.join(others, on="row", how="left").with_columns(
        is_root=pl.col("row").is_in(heap.holding_roots()["object"].implode()),
        waiting=pl.col("f").is_in(queued.implode()),
    )
    is_only = pl.col("holders").is_null() | (
        (pl.col("holders") == 1) & (pl.col("holder") == pl.col("f"))
    )
    found = found.with_columns(
        only=is_only & ~pl.col("is_root"), type=heap.type_texts(found["row"])
    )
    groups = heap.grouped(found, ["type"],
        pl.col("waiting").sum().alias("waiting_count"),
        pl.col("only").sum().alias("only_count"),
    ).with_columns(object_count="count")  # fmt: skip
    order = ("-retained_bytes", "-count", "type")
    return heap.with_largest(groups, values["limit"], *order)


# ---------------------------------------------------------------- loaders


def _loaded_types(heap: HeapView) -> pl.DataFrame:
    """Types that an object describes, each with the address of its loader."""
    columns = (
        "name", "class_address", "loader_address", "instance_count", "shallow_bytes",
    )  # fmt: skip
    found = whole(heap, "types", columns).drop_nulls("class_address")
    return found.with_columns(pl.col("loader_address").cast(pl.String))


def class_loaders(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``class-loaders``."""
    found = _loaded_types(heap)
    loaders = found["loader_address"].drop_nulls().unique().to_list()
    at = {one: heap.objects_at(one) for one in loaders}
    found = found.with_columns(
        loader=found["loader_address"].replace_strict(
            {one: rows[0] for one, rows in at.items() if rows},
            default=None, return_dtype=pl.Int64,
        )
    )  # fmt: skip
    found = found.with_columns(loader_type=heap.types_of(found["loader"]))
    repeated = pl.col("loader").n_unique().over("loader_type", "name") > 1
    groups = (
        found.with_columns(repeated=repeated & pl.col("loader_type").is_not_null())
        .group_by("loader_address", "loader", "loader_type")
        .agg(
            pl.len().alias("class_count"),
            pl.col("repeated").sum().alias("repeated_count"),
            pl.col("instance_count", "shallow_bytes").sum(),
        )
    )
    is_of_vm = pl.col("loader_address").is_null()
    distance = pl.Series(heap.root_distance).gather(groups["loader"])
    groups = groups.with_columns(
        retained_bytes=heap.kept(groups["loader"]),
        address=heap.addresses_of(groups["loader"]),
        alive=is_of_vm | (distance >= 0).fill_null(value=False),
        loader_type=pl.when(is_of_vm).then(pl.lit(_OF_VM)).otherwise("loader_type"),
    ).with_columns(kept=pl.col("retained_bytes").fill_null(0))
    order = ("-repeated_count", "-kept", "-class_count", "loader")
    return ordered(groups, *order).head(limit_of(values)).to_dicts()


def repeated_classes(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``repeated-classes``."""
    groups = (
        _loaded_types(heap)
        .group_by("name", maintain_order=True)
        .agg(
            pl.col("loader_address").n_unique().alias("loader_count"),
            pl.col("loader_address").drop_nulls().unique(maintain_order=True)
            .alias("loaders"),
            pl.col("instance_count", "shallow_bytes").sum(),
        )
        .filter(pl.col("loader_count") > 1)
    )  # fmt: skip
    order = ("-loader_count", "-shallow_bytes", "name")
    return [
        row
        | {
            "type": row["name"],
            "loader_addresses": row["loaders"][:5],
            "loader_types": sorted(
                {
                    str(heap.declared_type(one))
                    for address in row["loaders"]
                    for one in heap.objects_at(address)
                }
            ),
        }
        for row in ordered(groups, *order).head(limit_of(values)).to_dicts()
    ]


# ---------------------------------------------------------------- contents


def collections(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``collections``."""
    rows = _fitting_live(heap, values["pattern"])
    held = heap.links(rows)
    nodes = str(values["nodes"]).split(" ")
    with_nodes = held.filter(pl.col("field").is_in(nodes))["source"]
    arrays = held.select("source", "target").unique()
    name, target = heap.types_of(arrays["target"]), arrays["target"]
    is_array = (name.str.ends_with("[]") & ~name.is_in(_NO_OBJECTS)) | (
        name == "dart:core::_List"
    )
    arrays, target = arrays.filter(is_array), target.filter(is_array)
    start = pl.Series(heap.ref_start).cast(pl.Int64)
    length = heap.texts(target, "length").cast(pl.Int64)
    used = start.gather(target + 1) - start.gather(target)
    each = (
        heap.sizes(target)
        // pl.select(pl.when(length > 0).then(length).otherwise(1)).to_series()
    )
    slots = (
        arrays.with_columns(slots=length, used=used, unused=each * (length - used))
        .filter(pl.col("slots") > 0)
        .group_by("source")
        .agg(pl.col("slots", "used", "unused").sum())
    )
    frame = (
        pl.DataFrame({"row": rows, "bytes": heap.kept(rows)})
        .with_columns(kind=pl.Series(heap.type_index).gather(rows))
        .join(slots, left_on="row", right_on="source", how="left")
        .with_columns(pl.col("slots", "used", "unused").fill_null(0))
    )
    is_empty = (pl.col("used") == 0) & ~pl.col("row").is_in(with_nodes.implode())
    frame = frame.with_columns(empty=is_empty).with_columns(
        wasted=pl.when("empty").then("bytes").otherwise("unused")
    )
    slot_count, used_count = pl.col("slot_count"), pl.col("used_count")
    groups = (
        ordered(frame, "-wasted", "row")
        .group_by("kind", maintain_order=True)
        .agg(
            pl.len().alias("collection_count"),
            pl.col("empty").sum().alias("empty_count"),
            pl.col("bytes").filter("empty").sum().alias("empty_bytes"),
            pl.col("slots").sum().alias("slot_count"),
            pl.col("used").sum().alias("used_count"),
            pl.col("wasted").sum().alias("wasted_bytes"),
            pl.col("row").first().alias("largest"),
        )
        .with_columns(
            fill_percent=pl.when(slot_count > 0).then(100 * used_count // slot_count)
        )
    )
    names = pl.Series(heap.type_names, dtype=pl.String)
    groups = groups.with_columns(type=names.gather(groups["kind"]))
    order = ("-wasted_bytes", "-collection_count", "kind")
    return heap.with_largest(groups, values["limit"], *order)


def boxed_numbers(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``boxed-numbers``."""
    kinds = heap.of_types("value_kind").cast(pl.String)
    numbers = kinds.is_in(["integer", "double", "boolean"]).fill_null(value=False)
    rows = heap.live(heap.instances_of(numbers.arg_true().to_list()))
    equal = (
        pl.DataFrame(
            {
                "kind": heap.type_index[rows],
                "value": heap.texts(rows),
                "bytes": heap.sizes(rows),
            }
        )
        .drop_nulls("value")
        .group_by("kind", "value")
        .agg(
            pl.len().alias("equal"),
            pl.col("bytes").sum(),
            pl.col("bytes").max().alias("one"),
        )
    )
    groups = (
        ordered(equal, "-equal", "value")
        .group_by("kind", maintain_order=True)
        .agg(
            pl.col("equal").sum().alias("object_count"),
            pl.col("bytes").sum().alias("shallow_bytes"),
            pl.len().alias("value_count"),
            (pl.col("bytes") - pl.col("one")).sum().alias("wasted_bytes"),
            pl.col("value").first().alias("frequent_value"),
            pl.col("equal").first().alias("frequent_count"),
        )
    )
    names = pl.Series(heap.type_names, dtype=pl.String)
    groups = groups.with_columns(type=names.gather(groups["kind"]))
    order = ("-wasted_bytes", "-object_count", "kind")
    return ordered(groups, *order).head(limit_of(values)).to_dicts()


def _keys_of(heads: list[int], after: dict[int, list[int]]) -> dict[int, list[int]]:
    """The nodes of each bucket: what follows its head, other heads left out."""
    others, found = {*heads}, dict[int, list[int]]()
    for head in heads:
        seen, todo = {head}, [head]
        while todo:
            for one in after.get(todo.pop(), ()):
                if one not in seen and one not in others:
                    seen.add(one)
                    todo.append(one)
        found[head] = sorted(seen)
    return found


def colliding_keys(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``colliding-keys``."""
    least, limit = cast("int", values["min_chain"]), limit_of(values)
    tables = heap.links(_fitting_live(heap, values["pattern"]))
    tables = tables.select("source", "target").unique().sort("source", "target")
    # What is asked for nodes is read for all instances of their types at once.
    kinds, wanted = set[int](), {*heap.type_index[tables["target"].to_numpy()].tolist()}
    parts = [heap.links(tables["target"], "next", "first")]
    while more := wanted - kinds - {-1}:
        kinds |= more
        parts.append(heap.links(heap.instances_of(sorted(more)), "next", "first"))
        wanted = {*heap.type_index[parts[-1]["target"].to_numpy()].tolist()}
    chained = pl.concat(parts).select("source", "target", "field").unique()
    without_key = {*chained.filter(pl.col("field") == "first")["source"]}
    after: dict[int, list[int]] = {}
    for source, target in chained.select("source", "target").iter_rows():
        after.setdefault(source, []).append(target)
    found = []
    for (table,), group in tables.group_by("source", maintain_order=True):
        chains = _keys_of(group["target"].to_list(), after)
        keys = {
            head: sum(one not in without_key for one in nodes)
            for head, nodes in chains.items()
        }
        fullest = min(keys, key=lambda head: (-keys[head], head))
        if keys[fullest] >= least:
            nodes = {one for some in chains.values() for one in some}
            count = len(nodes - without_key)
            found.append((-keys[fullest], -count, table, len(keys), fullest))
    rows: list[Row] = []
    for longest, count, table, used, fullest in sorted(found)[:limit]:
        maps = heap.links(pl.Series([table]), "table", into=True, live=True)
        owner = min(maps["source"].to_list(), default=None)
        firsts = heap.links(pl.Series([fullest]), "first")["target"].to_list()
        inner = pl.Series([fullest, *firsts])
        of_keys = heap.links(inner, "key", "referent", weak=True)["target"]
        key = min(of_keys.to_list(), default=None)
        rows.append(
            {
                "map_type": None if owner is None else heap.declared_type(owner),
                "address": None if owner is None else heap.address(owner),
                "key_count": -count,
                "slot_count": heap.object(table)["length"],
                "used_count": used,
                "longest_chain": -longest,
                "key_type": None if key is None else heap.declared_type(key),
                "retained_bytes": None if owner is None else heap.retained(owner),
            }
        )
    return rows


# ---------------------------------------------------------------- strengths, Android


def held_by_strength(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``held-by-strength``."""
    if not heap.has("objects", "strength"):
        return []
    found = whole(heap, "objects", ["strength", "shallow_bytes"]).drop_nulls("strength")
    found = found.with_columns(
        pl.col("row").cast(pl.Int64), pl.col("strength").cast(pl.String)
    )
    found = found.with_columns(
        type=heap.type_texts(found["row"]), bytes=heap.kept(found["row"])
    )
    groups = heap.grouped(found, ["strength", "type"],
        pl.col("shallow_bytes").sum(),
        pl.col("bytes").max().alias("largest_bytes"),
    ).with_columns(object_count="count")  # fmt: skip
    order = ("-shallow_bytes", "-count", "strength", "type")
    return heap.with_largest(groups, values["limit"], *order)


def spaces(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``spaces``."""
    if not heap.has("objects", "space"):
        return []
    top = pl.Series(heap.dominator == ROOT)
    groups = (
        whole(heap, "objects", ["space", "shallow_bytes"])
        .with_columns(
            unreachable=pl.Series(heap.root_distance) < 0,
            top=pl.Series(heap.retained_bytes) * top.cast(pl.Int64),
        )
        .drop_nulls("space")
        .group_by(pl.col("space").cast(pl.String))
        .agg(
            pl.len().alias("object_count"),
            pl.col("shallow_bytes").sum(),
            pl.col("unreachable").sum().alias("unreachable_count"),
            pl.col("top").sum().alias("top_bytes"),
        )
    )
    return ordered(groups, "-shallow_bytes", "space").head(limit_of(values)).to_dicts()


def destroyed_components(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``destroyed-components``."""
    if not heap.has("types", "class_address"):
        return []
    classes = whole(heap, "types", ["class_address"]).drop_nulls()
    frames = [pl.DataFrame(schema={"kind": pl.String, "row": pl.Int64})]
    for base in str(values["bases"]).split(" "):
        known = [
            heap.of_types("class_address")[kind] for kind in heap.types_named(base)
        ]
        level = [row for one in known if one for row in heap.objects_at(one)]
        below = set(level)
        while level:
            into = heap.links(pl.Series(level), "<super>", into=True, weak=True)
            level = [one for one in into["source"].unique() if one not in below]
            below |= {*level}
        named = heap.addresses_of(pl.Series(sorted(below), dtype=pl.Int64)).to_list()
        kinds = classes.filter(pl.col("class_address").is_in(named))["row"].to_list()
        rows = pl.Series(heap.live(heap.instances_of(kinds)), dtype=pl.Int64)
        is_gone = (heap.texts(rows) == "destroyed").fill_null(value=False)
        if base.endswith("Fragment"):
            managed = heap.links(rows, "mFragmentManager", weak=True)["source"]
            is_gone |= ~rows.is_in(managed.implode())
        frames.append(
            pl.DataFrame({"row": rows.filter(is_gone)})
            .with_columns(kind=pl.lit(base))
            .select("kind", "row")
        )
    found = pl.concat(frames)
    found = found.with_columns(retained_bytes=heap.kept(found["row"]))
    found = ordered(found, "-retained_bytes", "row").head(limit_of(values))
    holder = heap.above(found["row"])
    return found.with_columns(
        type=heap.types_of(found["row"]),
        address=heap.addresses_of(found["row"]),
        holder_type=heap.types_of(holder),
        holder_address=heap.addresses_of(holder),
    ).to_dicts()


def bitmaps(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``bitmaps``."""
    rows = heap.live_of("android.graphics.Bitmap")
    frame = pl.DataFrame(
        {
            "row": pl.Series(rows, dtype=pl.Int64),
            "dimensions": heap.texts(rows),
            "outside": heap.texts(rows, "external_bytes").cast(pl.Int64).fill_null(0),
        }
    )
    groups = heap.grouped(
        frame, ["dimensions"], pl.col("outside").sum().alias("external_bytes")
    ).with_columns(bitmap_count="count")
    groups = groups.with_columns(
        total=pl.col("external_bytes") + pl.col("retained_bytes"),
        holder_type=heap.types_of(heap.above(groups["largest"])),
    )
    return heap.with_largest(groups, values["limit"], "-total", "dimensions")
