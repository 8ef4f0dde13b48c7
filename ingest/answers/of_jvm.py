"""Answers about the JVM: threads, loaders, collections, finalizers, Android."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.answers.frames import of_rows, ordered, shown
from ingest.answers.view import whole

if TYPE_CHECKING:
    from ingest.answers.frames import HeapView, Values
    from ingest.answers.view import Row

_LOCALS = ("java_frame", "jni_local", "native_stack")
_NO_OBJECTS = tuple(
    f"{name}[]"
    for name in ("boolean", "byte", "char", "double", "float", "int", "long", "short")
)
_OF_VM = "<bootstrap>"


# ---------------------------------------------------------------- threads


def threads(heap: HeapView, values: Values) -> pl.DataFrame:
    roots = heap.holding_roots("kind", "owner", "frame")
    own = roots.filter(pl.col("kind") == "thread")
    each = (
        roots.filter(
            pl.col("kind").is_in(_LOCALS)
            & ~pl.col("object").is_in(own["object"].implode())
        )
        .group_by("owner", "object")
        .agg(pl.col("frame").sort_by("row").first())
        .rename({"object": "row"})
    )
    each = each.with_columns(locals_bytes=heap.kept_at_top(each["row"]))
    groups = heap.grouped(
        each, "owner", most="locals_bytes", local_count=pl.len(),
        local_bytes=pl.col("locals_bytes").first(), frame=pl.col("frame").first(),
    )  # fmt: skip
    found = own.select("owner", row="object").unique()
    found = found.join(groups.rename({"largest": "local"}), on="owner", how="left")
    found = found.with_columns(
        pl.col("local_count", "locals_bytes").fill_null(0),
        pl.when(pl.col("local_bytes") > 0).then(
            pl.col("local", "local_bytes", "frame")
        ),
        retained_bytes=heap.kept(found["row"]),
    )
    total = pl.col("retained_bytes") + pl.col("locals_bytes")
    found = shown(found.with_columns(total=total), values, "-total", "row")
    return found.with_columns(thread="owner", type=heap.types_of(found["row"]))


def _local_values(heap: HeapView) -> pl.DataFrame:
    """Values in maps of threads: ``entry``, ``at``, the thread, and ``value``."""
    entries = heap.live_of("java.lang.ThreadLocal$ThreadLocalMap$Entry")
    chain = pl.DataFrame({"entry": entries, "at": entries})
    for fields in ((), ("table",), ("threadLocals", "inheritableThreadLocals")):
        above = heap.links(chain["at"], *fields, into=True, live=True)
        pairs = above.select(at="target", up="source").unique()
        chain = chain.join(pairs, on="at").select("entry", at="up").unique()
    held = heap.links(entries, "value").select(entry="source", value="target").unique()
    return chain.join(held, on="entry")


def thread_locals(heap: HeapView, values: Values) -> pl.DataFrame:
    chain = _local_values(heap)
    chain = chain.with_columns(retained_bytes=heap.kept(chain["value"]))
    chain = shown(chain, values, "-retained_bytes", "value", "at", "entry")
    keys = heap.links(chain["entry"], "referent", weak=True)
    keys = keys.select(entry="source", local="target")
    chain = chain.join(keys, on="entry", how="left", maintain_order="left")
    roots = heap.holding_roots("kind", "weak", "name").filter(
        pl.col("object").is_in(chain["local"].drop_nulls().implode())
    )
    names = (
        roots.filter(pl.col("kind") == "static")
        .group_by(local="object")
        .agg(field=pl.col("name").sort_by("row").first())
    )
    is_strong = ~pl.col("strength").is_in(["weak", "phantom"]).fill_null(value=False)
    holders = heap.links(chain["local"], into=True, live=True).filter(is_strong)
    below = heap.above(holders["source"]).eq_missing(holders["target"])
    holders = holders.filter((pl.col("source") != pl.col("target")) & ~below)
    kept = pl.concat([holders["target"], roots.filter(~pl.col("weak"))["object"]])
    return chain.join(
        names, on="local", how="left", maintain_order="left"
    ).with_columns(
        thread=heap.texts(chain["at"]),
        stale=~chain["local"].is_in(kept.implode()).fill_null(value=False),
    )


def java_finalizers(heap: HeapView, values: Values) -> pl.DataFrame:
    finalizers = heap.live_of(
        "java.lang.ref.Finalizer", "java.lang.ref.FinalizerReference"
    )
    found = heap.links(finalizers, "referent", weak=True)
    found = found.select(f="source", row="target")
    queues = heap.links(finalizers, "queue")
    is_queue = heap.types_of(queues["target"]).str.starts_with(
        "java.lang.ref.ReferenceQueue$"
    )
    queued = queues.filter(is_queue)["source"]
    holders = heap.holders_of(found["row"], outside=True)
    others = holders.group_by("row").agg(pl.col("holder").first(), holders=pl.len())
    is_only = pl.col("holders").is_null() | (
        (pl.col("holders") == 1) & (pl.col("holder") == pl.col("f"))
    )
    is_root = pl.col("row").is_in(heap.holding_roots()["object"].implode())
    found = found.with_columns(type=heap.type_texts(found["row"]))
    groups = heap.grouped(
        found.join(others, on="row", how="left"), "type", object_count=pl.len(),
        waiting_count=pl.col("f").is_in(queued.implode()).sum(),
        only_count=(is_only & ~is_root).sum(),
    )  # fmt: skip
    return shown(groups, values, "-retained_bytes", "-object_count", "type")


# ---------------------------------------------------------------- loaders


def _loaded_types(heap: HeapView) -> pl.DataFrame:
    """Types that an object describes, each with its ``loader``, a row, and its type."""
    columns = (
        "name", "class_address", "loader_address", "instance_count", "shallow_bytes",
    )  # fmt: skip
    found = whole(heap, "types", columns).drop_nulls("class_address")
    addresses = found["loader_address"].cast(pl.String)
    at = {one: heap.objects_at(one) for one in addresses.drop_nulls().unique()}
    loaders = addresses.replace_strict(at, default=[], return_dtype=pl.List(pl.Int64))
    return found.with_columns(loader_address=addresses, loaders=loaders)


def class_loaders(heap: HeapView, values: Values) -> pl.DataFrame:
    found = _loaded_types(heap).with_columns(
        row=pl.col("loaders").list.get(0, null_on_oob=True)
    )
    found = found.with_columns(loader_type=heap.types_of(found["row"]))
    is_repeated = pl.col("row").n_unique().over("loader_type", "name") > 1
    found = found.with_columns(again=is_repeated & pl.col("loader_type").is_not_null())
    groups = found.group_by("loader_address", "row", "loader_type").agg(
        pl.col("instance_count", "shallow_bytes").sum(),
        class_count=pl.len(),
        repeated_count=pl.col("again").sum(),
    )
    is_of_vm, retained = pl.col("loader_address").is_null(), heap.kept(groups["row"])
    groups = groups.with_columns(
        alive=is_of_vm | heap.are_alive(groups["row"]).fill_null(value=False),
        loader_type=pl.when(is_of_vm).then(pl.lit(_OF_VM)).otherwise("loader_type"),
        retained_bytes=retained,
        kept=retained.fill_null(0),
    )
    return shown(groups, values, "-repeated_count", "-kept", "-class_count", "row")


def repeated_classes(heap: HeapView, values: Values) -> list[Row]:
    address = pl.col("loader_address")
    groups = (
        _loaded_types(heap)
        .group_by("name", maintain_order=True)
        .agg(
            pl.col("instance_count", "shallow_bytes").sum(),
            pl.col("loaders").explode().drop_nulls(),
            loader_count=address.n_unique(),
            loader_addresses=address.drop_nulls().unique(maintain_order=True).head(5),
        )
        .filter(pl.col("loader_count") > 1)
    )
    found = shown(groups, values, "-loader_count", "-shallow_bytes", "name")
    return [
        row
        | {
            "type": row["name"],
            "loader_types": sorted({*map(heap.full_type, row["loaders"])}),
        }
        for row in found.to_dicts()
    ]


# ---------------------------------------------------------------- contents


def collections(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_fitting(values["pattern"])
    held = heap.links(rows)
    nodes = values["nodes"].split(" ")
    with_nodes = held.filter(pl.col("field").is_in(nodes))["source"]
    arrays = held.select(row="source", at="target").unique()
    name = heap.types_of(arrays["at"])
    is_array = (name.str.ends_with("[]") & ~name.is_in(_NO_OBJECTS)) | (
        name == "dart:core::_List"
    )
    arrays = arrays.filter(is_array)
    start, at = pl.Series(heap.ref_start).cast(pl.Int64), arrays["at"]
    slots, used = pl.col("slots"), pl.col("used")
    arrays = (
        arrays.with_columns(
            slots=heap.texts(at, "length").cast(pl.Int64),
            used=start.gather(at + 1) - start.gather(at),
            bytes=heap.sizes(at),
        )
        .filter(slots > 0)
        .with_columns(unused=pl.col("bytes") // slots * (slots - used))
        .group_by("row")
        .agg(pl.col("slots", "used", "unused").sum())
    )
    frame = of_rows(rows).with_columns(kind=heap.kinds_of(rows), bytes=heap.kept(rows))
    frame = frame.join(arrays, on="row", how="left").with_columns(
        pl.col("slots", "used", "unused").fill_null(0)
    )
    is_empty = (used == 0) & ~pl.col("row").is_in(with_nodes.implode())
    frame = frame.with_columns(empty=is_empty).with_columns(
        wasted_bytes=pl.when("empty").then("bytes").otherwise("unused")
    )
    groups = heap.grouped(
        frame, "kind", most="wasted_bytes", collection_count=pl.len(),
        empty_count=pl.col("empty").sum(),
        empty_bytes=pl.col("bytes").filter("empty").sum(),
        slot_count=slots.sum(), used_count=used.sum(),
        fill_percent=pl.when(slots.sum() > 0).then(100 * used.sum() // slots.sum()),
    )  # fmt: skip
    groups = shown(groups, values, "-wasted_bytes", "-collection_count", "kind")
    return groups.with_columns(type=heap.names_of(groups["kind"]))


def boxed_numbers(heap: HeapView, values: Values) -> pl.DataFrame:
    kinds = heap.of_types("value_kind").cast(pl.String)
    numbers = kinds.is_in(["integer", "double", "boolean"]).fill_null(value=False)
    rows = heap.live_instances(numbers.arg_true().to_list())
    frame = pl.DataFrame(
        {
            "kind": heap.kinds_of(rows),
            "value": heap.texts(rows),
            "bytes": heap.sizes(rows),
        }
    )
    equal = (
        frame.drop_nulls("value")
        .group_by("kind", "value")
        .agg(pl.col("bytes").sum(), equal=pl.len(), one=pl.col("bytes").max())
    )
    groups = (
        ordered(equal, "-equal", "value")
        .group_by("kind", maintain_order=True)
        .agg(
            object_count=pl.col("equal").sum(),
            shallow_bytes=pl.col("bytes").sum(),
            value_count=pl.len(),
            wasted_bytes=(pl.col("bytes") - pl.col("one")).sum(),
            frequent_value=pl.col("value").first(),
            frequent_count=pl.col("equal").first(),
        )
    )
    groups = shown(groups, values, "-wasted_bytes", "-object_count", "kind")
    return groups.with_columns(type=heap.names_of(groups["kind"]))


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


def _chained(heap: HeapView, tables: pl.DataFrame) -> pl.DataFrame:
    """What follows the nodes of tables, and so on: ``source``, ``target``, ``field``.

    It is read for all instances of the types of nodes at once.
    """
    kinds, wanted = set[int](), {*heap.kinds_of(tables["target"])}
    parts = [heap.links(tables["target"], "next", "first")]
    while more := wanted - kinds - {-1}:
        kinds |= more
        parts.append(heap.links(heap.instances_of(sorted(more)), "next", "first"))
        wanted = {*heap.kinds_of(parts[-1]["target"])}
    return pl.concat(parts).select("source", "target", "field").unique()


def colliding_keys(heap: HeapView, values: Values) -> list[Row]:
    tables = heap.links(heap.live_fitting(values["pattern"]))
    tables = tables.select("source", "target").unique().sort("source", "target")
    chained = _chained(heap, tables)
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
        if keys[fullest] >= values["min_chain"]:
            nodes = {one for some in chains.values() for one in some}
            count = len(nodes - without_key)
            found.append((-keys[fullest], -count, table, len(keys), fullest))
    rows: list[Row] = []
    for longest, count, table, used, fullest in sorted(found)[: values["limit"]]:
        maps = heap.links([table], "table", into=True, live=True)
        owner = min(maps["source"].to_list(), default=None)
        inner = [fullest, *heap.links([fullest], "first")["target"]]
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


def held_by_strength(heap: HeapView, values: Values) -> pl.DataFrame:
    found = heap.objects("strength", "shallow_bytes").drop_nulls("strength")
    rows = found["row"]
    found = found.with_columns(
        pl.col("strength").cast(pl.String),
        type=heap.type_texts(rows),
        kept=heap.kept(rows),
    )
    groups = heap.grouped(
        found, "strength", "type", object_count=pl.len(),
        shallow_bytes=pl.col("shallow_bytes").sum(), largest_bytes=pl.col("kept").max(),
    )  # fmt: skip
    order = ("-shallow_bytes", "-object_count", "strength", "type")
    return shown(groups, values, *order)


def spaces(heap: HeapView, values: Values) -> pl.DataFrame:
    found = heap.objects("space", "shallow_bytes").drop_nulls("space")
    groups = (
        found.with_columns(
            unreachable=~heap.are_alive(found["row"]),
            top=heap.kept_at_top(found["row"]),
        )
        .group_by(pl.col("space").cast(pl.String))
        .agg(
            pl.col("shallow_bytes").sum(),
            object_count=pl.len(),
            unreachable_count=pl.col("unreachable").sum(),
            top_bytes=pl.col("top").sum(),
        )
    )
    return shown(groups, values, "-shallow_bytes", "space")


def destroyed_components(heap: HeapView, values: Values) -> pl.DataFrame:
    classes = whole(heap, "types", ["class_address"]).drop_nulls()
    frames = [pl.DataFrame(schema={"row": pl.Int64, "kind": pl.String})]
    for base in f"{values['bases']} {values['models']}".split(" "):
        known = classes.filter(pl.col("row").is_in(heap.types_named(base)))
        level = [row for one in known["class_address"] for row in heap.objects_at(one)]
        below = set(level)
        while level:
            into = heap.links(level, "<super>", into=True, weak=True)
            level = [one for one in into["source"].unique() if one not in below]
            below |= {*level}
        named = heap.addresses_of(sorted(below))
        kinds = classes.filter(pl.col("class_address").is_in(named.implode()))["row"]
        rows = heap.live_instances(kinds.to_list())
        is_gone = (
            heap.texts(rows).is_in(["destroyed", "cleared"]).fill_null(value=False)
        )
        if base.endswith("Fragment"):
            managed = heap.links(rows, "mFragmentManager", weak=True)["source"]
            is_gone |= ~rows.is_in(managed.implode())
        frames.append(of_rows(rows.filter(is_gone)).with_columns(kind=pl.lit(base)))
    found = pl.concat(frames)
    found = found.with_columns(retained_bytes=heap.kept(found["row"]))
    found = shown(found, values, "-retained_bytes", "row")
    return found.with_columns(holder=heap.above(found["row"]))


def bitmaps(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.live_of("android.graphics.Bitmap")
    frame = of_rows(rows).with_columns(
        dimensions=heap.texts(rows),
        outside=heap.texts(rows, "external_bytes").cast(pl.Int64).fill_null(0),
    )
    groups = heap.grouped(
        frame, "dimensions",
        external_bytes=pl.col("outside").sum(), bitmap_count=pl.len(),
    )  # fmt: skip
    groups = groups.with_columns(
        total=pl.col("external_bytes") + pl.col("retained_bytes"),
        holder=heap.above(groups["largest"]),
    )
    return shown(groups, values, "-total", "dimensions")
