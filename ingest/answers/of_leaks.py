"""Answers about objects that pile up below others, and sole holders."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from ingest.analysis.types import count_by
from ingest.answers.of_holders import fitting
from ingest.answers.view import (
    MANY_REFERENCES,
    bits_of,
    largest,
    limit_of,
    numbered,
    row_of,
)
from ingest.arrays.compiled import kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.arrays.compiled import Bytes, Ints, Longs, Starts
    from ingest.queries.library import Value


def _children(heap: HeapView, rows: NDArray[np.int64]) -> pl.DataFrame:
    """What objects immediately dominate: ``above``, ``below`` and its ``bytes``."""
    found = heap.dominated_by(rows)
    retained = pl.Series(heap.retained_bytes)
    return found.with_columns(bytes=retained.gather(found["below"]))


def _parents(heap: HeapView, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Objects with how many others each immediately dominates, and the largest.

    Columns: ``row``, ``held``, what it retains, ``child_count``, and
    ``largest_bytes``, 0 where there is none.

    Args:
        heap: The heap.
        rows: The objects, ascending.
    """
    start, held = heap.dominated_start, heap.retained_bytes
    counts = (start[rows + 1] - start[rows]).astype(np.int64)
    largest_bytes = np.zeros(len(rows), np.int64)
    _find_largest(start, heap.dominated, rows, held, largest_bytes)
    return pl.DataFrame(
        {
            "row": rows,
            "held": held[rows],
            "child_count": counts,
            "largest_bytes": largest_bytes,
        }
    )


@kernel
def _find_largest(
    start: Starts, dominated: Ints, rows: Longs, retained: Longs, largest_bytes: Longs
) -> None:
    """Find the bytes of the largest object that each row immediately dominates."""
    for place in range(len(rows)):
        row = rows[place]
        for at in range(start[row], start[row + 1]):
            kept = retained[dominated[at]]
            largest_bytes[place] = max(largest_bytes[place], kept)


def big_drops(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``big-drops``."""
    least = cast("int", values["min_drop_bytes"])
    chosen = heap.retained_bytes >= least
    if least <= 0:  # nothing unreachable retains more
        chosen &= heap.root_distance >= 0
    tops = (
        _parents(heap, np.flatnonzero(chosen))
        .with_columns(drop=pl.col("held") - pl.col("largest_bytes"))
        .filter(pl.col("drop") >= least)
        .sort("drop", "row", descending=[True, False])
        .head(limit_of(values))
    )
    largest_first = _children(heap, tops["row"].sort().to_numpy()).sort(
        "bytes", "below", descending=[True, False]
    )
    firsts = largest_first.unique("above", keep="first", maintain_order=True)
    child_of = dict(firsts.select("above", "below").iter_rows())
    found: list[Row] = []
    for row, held, child_count, largest_bytes, drop in tops.iter_rows():
        child = child_of.get(row)
        found.append(
            {
                "type": heap.full_type(row),
                "address": heap.address(row),
                "retained_bytes": held,
                "child_count": child_count,
                "largest_child_type": None if child is None else heap.full_type(child),
                "largest_child_address": None if child is None else heap.address(child),
                "largest_child_bytes": largest_bytes,
                "drop_bytes": drop,
            }
        )
    return found


def accumulation_points(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``accumulation-points``."""
    reachable = int(heap.of_types("reachable_bytes").sum())
    held = heap.retained_bytes
    enough = cast("float", values["share"]) * reachable
    rows = np.flatnonzero((held >= enough) & (held > 0))
    share = cast("float", values["pile_share"])
    tops = (
        _parents(heap, rows)
        .filter(
            (pl.col("child_count") > 1)
            & (pl.col("largest_bytes") < share * pl.col("held"))
        )
        .sort("held", "row", descending=[True, False])
        .head(limit_of(values))
    )
    found: list[Row] = []
    for row, retained, child_count, largest_bytes in tops.iter_rows():
        pile = _pile(heap, row)
        if pile is not None and row < heap.object_count:
            kind, count, size = pile
            found.append(
                {
                    "type": heap.full_type(row),
                    "address": heap.address(row),
                    "retained_bytes": retained,
                    "child_count": child_count,
                    "largest_child_bytes": largest_bytes,
                    "piled_type": heap.type_names[kind],
                    "piled_count": count,
                    "piled_bytes": size,
                }
            )
    return found


def _pile(heap: HeapView, row: int) -> tuple[int, int, int] | None:
    """The type with most bytes below an object: its row, count and bytes."""
    children = heap.dominated_by(np.array([row]))["below"].to_numpy()
    by_type = (
        pl.DataFrame(
            {"kind": heap.type_index[children], "bytes": heap.retained_bytes[children]}
        )
        .filter(pl.col("kind") >= 0)
        .group_by("kind")
        .agg(pl.len().cast(pl.Int64).alias("count"), pl.col("bytes").sum())
        .sort("bytes", "kind", descending=[True, False])
    )
    if by_type.is_empty():
        return None
    kind, count, size = by_type.row(0)
    return int(kind), int(count), int(size)


@kernel
def _follow(dominator: Ints, kind: Ints, head: Ints, depth: Ints) -> None:
    """Find the head of the chain of one kind that an object is in, and its depth.

    ``head`` is -1 at first, and ``depth`` has the object below meanwhile. Unreachable
    objects are heads of their own.
    """
    for first in range(len(dominator)):
        row, below = first, -1
        while head[row] < 0:
            above = dominator[row]
            if above < 0 or kind[above] != kind[row]:
                head[row], depth[row] = row, 0
                break
            depth[row] = below
            below, row = row, above
        while below >= 0:
            row, below = below, depth[below]
            above = dominator[row]
            head[row], depth[row] = head[above], depth[above] + 1


@kernel
def _deepest(head: Ints, depth: Ints, length: Ints) -> None:
    """The objects from each head to the deepest below it, in int32 (N + M,)."""
    for row in range(len(head)):
        length[head[row]] = max(length[head[row]], depth[row] + 1)


def single_type_chains(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``single-type-chains``."""
    rows = heap.row_count
    names = numbered(heap.captions)[0].to_numpy().astype(np.int32)
    head, depth = np.full(rows, -1, np.int32), np.empty(rows, np.int32)
    _follow(heap.dominator, names[heap.type_index], head, depth)
    length = np.zeros(rows, np.int32)
    _deepest(head, depth, length)
    chosen = (length >= max(cast("int", values["min_length"]), 2)) & (
        heap.retained_bytes >= cast("int", values["min_bytes"])
    )
    heads = np.flatnonzero(chosen)
    order = np.argsort(-length[heads], kind="stable")[: limit_of(values)]
    members = count_by(head, rows)
    return [
        {
            "type": heap.full_type(row),
            "address": heap.address(row),
            "length": int(length[row]),
            "member_count": int(members[row]),
            "retained_bytes": heap.retained(row),
        }
        for row in heads[order].tolist()
    ]


def delegate_only(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``delegate-only``."""
    is_delegate = fitting(heap, str(values["pattern"]))[heap.type_index]
    # A negative dominator is no object.
    is_below = np.append(is_delegate, [False, False])[heap.dominator]
    rows = largest(np.flatnonzero(is_below), [heap.retained_bytes], limit_of(values))
    delegates = heap.dominator[rows].tolist()
    references = heap.holding_rows(heap.references_to([*{*delegates}]))
    sources, targets = heap.sources(references), heap.ref_target[references]
    is_other = sources != targets
    holder_of = dict[int, int]()
    for source, target in zip(
        sources[is_other].tolist(), targets[is_other].tolist(), strict=True
    ):
        holder_of[target] = min(source, holder_of.get(target, source))
    mentioned = sorted({*rows, *delegates, *holder_of.values()})
    address = dict(zip(mentioned, heap.addresses(mentioned), strict=True))
    found: list[Row] = []
    for delegate, row in zip(delegates, rows, strict=True):
        holder = holder_of.get(delegate)
        found.append(
            {
                "type": heap.full_type(row),
                "address": address[row],
                "shallow_bytes": int(heap.shallow_bytes[row]),
                "retained_bytes": heap.retained(row),
                "delegate_type": heap.full_type(delegate),
                "delegate_address": address[delegate],
                "referrer_type": None if holder is None else heap.declared_type(holder),
                "referrer_address": None if holder is None else address[holder],
            }
        )
    return found


_MORE = 2
"""Counting ends here, since none of several references is the only one."""


@kernel
def _count_holders(
    references: ReferenceColumns,
    is_asked: Bytes,
    distance: Ints,
    dominator: Ints,
    first: int,
    end: int,
    count: Bytes,
) -> None:
    """Count references to objects from others that they do not dominate.

    Those from ``first`` to ``end``, up to `_MORE`, to objects with their bit.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped, row = len(skipped) > 0, 0
    for ref in range(first, end):
        target = targets[ref]
        if (
            is_asked[target >> 3] >> (target & 7) & 1
            and count[target] < _MORE
            and not (some_skipped and skipped[ref])
        ):
            row = row_of(start, ref, row)
            if distance[row] >= 0 and row != target and dominator[row] != target:
                count[target] += 1


def sole_references(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``sole-references``."""
    held, distance = heap.retained_bytes, heap.root_distance
    is_asked = (held >= cast("int", values["min_bytes"])) & (distance >= 0)
    counts = np.zeros(heap.row_count, np.uint8)
    for row in heap.root_object[heap.root_holds].tolist():
        counts[row] = min(counts[row] + 1, _MORE)
    columns = heap.references, bits_of(is_asked), distance, heap.dominator

    def counted(first: int, end: int) -> NDArray[np.uint8]:
        some = np.zeros(heap.row_count, np.uint8)
        _count_holders(*columns, first, end, some)
        return some

    for some in in_ranges(counted, 0, len(heap.ref_target), least=MANY_REFERENCES):
        counts += np.minimum(some, _MORE)
    is_sole = is_asked & (counts == 1)
    rows = largest(np.flatnonzero(is_sole), [held], limit_of(values))
    references = heap.holding_rows(heap.references_to(rows))
    sources, targets = heap.sources(references), heap.ref_target[references]
    is_holder = (sources != targets) & (heap.dominator[sources] != targets)
    holders, into = sources[is_holder].tolist(), targets[is_holder].tolist()
    fields = heap.frame("references", references[is_holder].tolist(), ["field"])[
        "field"
    ]
    field_of = dict(zip(into, fields.to_list(), strict=True))
    holder_of = dict(zip(into, holders, strict=True))
    own_columns = heap.frame("objects", rows, ["address", "retained_count"])
    addresses = dict(zip(holders, heap.addresses(holders), strict=True))
    found: list[Row] = []
    for row, (address, freed_count) in zip(rows, own_columns.iter_rows(), strict=True):
        holder = holder_of.get(row)
        own: Row = {
            "type": heap.full_type(row),
            "address": address,
            "freed_bytes": heap.retained(row),
            "freed_count": freed_count,
        }
        if holder is None:
            (root,) = heap.roots_of(row)
            (field,) = heap.frame("roots", [root], ["field"])["field"]
            own |= {"holder": heap.root_names[root], "field": field}
            own |= {"holder_address": None}
        else:
            own |= {"holder": heap.full_type(holder), "field": field_of[row]}
            own |= {"holder_address": addresses[holder]}
        found.append(own)
    return found


def string_duplicates(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``string-duplicates``."""
    name = str(values["type"])
    kinds = heap.types_named(name)
    if heap.has("types", "value_kind") and kinds:
        value_kinds = heap.of_types("value_kind")
        kinds = [kind for kind in kinds if value_kinds[kind] is None]
    rows = heap.live(heap.instances_of(kinds))
    size = pl.col("each_bytes")
    groups = (
        pl.DataFrame(
            {
                "kind": heap.type_index[rows],
                "each_bytes": heap.shallow_bytes[rows].astype(np.int64),
                "row": rows,
            }
        )
        .group_by("kind", "each_bytes")
        .agg(pl.len().cast(pl.Int64).alias("string_count"), pl.col("row").min())
        .filter(pl.col("string_count") >= values["min_count"])
        .with_columns(
            shallow_bytes=pl.col("string_count") * size,
            wasted_bytes=(pl.col("string_count") - 1) * size,
        )
        .sort("wasted_bytes", "string_count", "row", descending=[True, True, False])
        .head(limit_of(values))
    )
    return [
        one | {"type": name, "sample_address": heap.address(one["row"])}
        for one in groups.to_dicts()
    ]


def finalizable_garbage(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``finalizable-garbage``."""
    if not heap.has("references", "field"):
        return []

    def named(field: str) -> NDArray[np.int64]:
        is_named = pl.arg_where(pl.col("field") == field)
        rows = heap.tables.lazy("references").select(is_named).collect().to_series()
        return heap.holding(rows.to_numpy().astype(np.int64))

    def referrers(of: NDArray[np.int64]) -> NDArray[np.int64]:
        return heap.sources(heap.holding(heap.references_to(of.tolist())))

    bases = heap.sources(named("__del__"))  # of classes, in the tuples of their orders
    is_order = np.zeros(heap.row_count, np.bool_)
    is_order[referrers(bases)] = True
    orders = named("__mro__")
    classes = heap.sources(orders[is_order[heap.ref_target[orders]]])
    objects = np.unique(referrers(classes))
    objects = objects[
        (heap.root_distance[objects] < 0) & (heap.type_index[objects] >= 0)
    ]
    groups = (
        pl.DataFrame(
            {
                "row": objects,
                "kind": heap.type_index[objects].astype(np.int64),
                "shallow_bytes": heap.shallow_bytes[objects],
            }
        )
        .group_by("kind")
        .agg(
            pl.len().cast(pl.Int64).alias("object_count"),
            pl.col("shallow_bytes").sum(),
            pl.col("row").min(),
        )
        .sort("object_count", "shallow_bytes", "kind", descending=[True, True, False])
        .head(limit_of(values))
    )
    return [
        row
        | {
            "type": heap.type_names[row["kind"]],
            "sample_address": heap.address(row["row"]),
        }
        for row in groups.to_dicts()
    ]
