"""Answers about one address: each domain can have an object with it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ingest.analysis.shortest import first_paths, reached
from ingest.answers.frames import of_rows, ordered
from ingest.answers.view import NOT_SEEN, VALUE_LENGTH, largest, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView, Values
    from ingest.answers.view import Row

_LONGEST = 10_000
"""The most references of a path."""


def object_(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = heap.objects_at(values["address"])[: values["limit"]]
    dominator, site = heap.above(rows), heap.texts(rows, "site")
    counts = {
        "reference_count": [
            heap.ref_start[row + 1] - heap.ref_start[row] for row in rows
        ],
        "referrer_count": [len(heap.references_to([row])) for row in rows],
        "root_count": [np.count_nonzero(heap.root_object == row) for row in rows],
    }
    return of_rows(rows).with_columns(
        *(pl.Series(name, found, dtype=pl.Int64) for name, found in counts.items()),
        missing=pl.col("row") >= heap.object_count,
        dominator=dominator,
        dominator_type=heap.type_texts(dominator).set(heap.are_top(rows), "(roots)"),
        allocation_stack=whole(heap, "allocation_sites", ["stack"])["stack"].gather(
            site
        ),
        earlier_addresses=pl.Series([[]] * len(rows), dtype=pl.List(pl.String)),
    )


def dominator_chain(heap: HeapView, values: Values) -> pl.DataFrame:
    def chain(row: int) -> pl.DataFrame:
        found = of_rows(heap.dominators(row)[: values["limit"]])
        return found.with_columns(step=pl.int_range(pl.len()))

    return heap.of_each(values, chain)


_FAR = 1 << 60


def referrers_of(heap: HeapView, values: Values) -> pl.DataFrame:
    def referrers(row: int) -> pl.DataFrame:
        both = [
            _root_referrers(heap, row),
            _object_referrers(heap, row, values["limit"]),
        ]
        found = pl.concat(both, how="diagonal_relaxed")
        return ordered(found, "root_distance", "at", "weak", "strength")

    return heap.of_each(values, referrers)


def _root_referrers(heap: HeapView, row: int) -> pl.DataFrame:
    roots = np.flatnonzero(heap.root_object == row).tolist()
    found = heap.frame("roots", roots, ["name", "type", "holds", "weak", "field"])
    return found.select(
        "field", what="name", at=pl.Series(roots, dtype=pl.Int64),
        row=pl.lit(None, pl.Int64), type=heap.names_of(found["type"]),
        weak=~pl.col("holds"), strength=pl.when("weak").then(pl.lit("weak")),
        reference_count=pl.lit(1, pl.UInt32), root_distance=pl.lit(0, pl.Int64),
    )  # fmt: skip


def _object_referrers(heap: HeapView, row: int, limit: int) -> pl.DataFrame:
    """Objects that refer to one; if they are too many, the nearest to a root."""
    references = heap.references_to([row])
    sources = heap.sources(references)
    distance = heap.root_distance[sources].astype(np.int64)  # `_FAR` is no int32
    order = np.lexsort((sources, np.where(distance < 0, _FAR, distance)))
    # What comes after as many other objects is on no row of the answer.
    others = np.flatnonzero(np.diff(sources[order])) + 1
    references = references[
        order[: others[limit - 1] if 0 < limit <= len(others) else None]
    ]
    columns = ["source", "holds", "strength", "field"]
    groups = (
        heap.frame("references", references.tolist(), columns)
        .cast({"source": pl.Int64, "strength": pl.String})
        .group_by("strength", weak=~pl.col("holds"), row="source")
        .agg(pl.col("field").min(), reference_count=pl.len())
    )
    return groups.with_columns(
        at="row", what=pl.lit("object"), type=heap.types_of(groups["row"]),
        root_distance=heap.texts(groups["row"], "root_distance").cast(pl.Int64),
    )  # fmt: skip


def references_of(heap: HeapView, values: Values) -> pl.DataFrame:
    def referred(row: int) -> pl.DataFrame:
        columns = ["target", "holds", "strength", "field"]
        references = heap.tables.part("references", *heap.span_of(row), columns)
        # Each of these is on a row, and no other one: few are left to be grouped.
        targets = references["target"].unique().sort().to_numpy()
        shown = largest(targets, [heap.retained_bytes], values["limit"])
        groups = (
            references.filter(pl.col("target").is_in(shown))
            .cast({"target": pl.Int64, "strength": pl.String})
            .group_by("strength", weak=~pl.col("holds"), row="target")
            .agg(pl.col("field").min(), reference_count=pl.len())
        )
        groups = groups.with_columns(
            retained_bytes=heap.kept(groups["row"]),
            dominated=heap.above(groups["row"]).eq_missing(row),
        )
        return ordered(groups, "-retained_bytes", "row", "weak", "strength")

    return heap.of_each(values, referred)


def k_shortest_root_paths(heap: HeapView, values: Values) -> list[Row]:
    ways: list[tuple[int, int, list[int]]] = []
    for row in heap.objects_at(values["address"]):
        if not heap.is_reachable(row):
            continue
        below, holders = _fork(heap, row)
        fork = below[0]
        chosen = values["limit"] - len(ways)
        at_fork = heap.roots_of(fork)[:chosen]
        ways += [(row, root, below) for root in at_fork]
        distances = heap.root_distance[holders]
        nearest = np.argsort(distances, kind="stable")[: chosen - len(at_fork)]
        ways += [
            (row, root, [*above, *below])
            for root, above in _ways_around(heap, fork, holders[nearest].tolist())
        ]
    ways.sort(key=lambda way: (way[0], len(way[2]), way[1], way[2]))
    return _paths(heap, ways)


def _fork(heap: HeapView, row: int) -> tuple[list[int], NDArray[np.int64]]:
    """Where several holders meet: from there to the object, and the holders there."""
    chain = heap.dominators(row)[:1001]
    place = np.full(heap.row_count, NOT_SEEN, np.int32)
    place[chain] = np.arange(len(chain))
    # One scan of all references for the object, one for the few next above it, and one
    # for all others.
    for begin, end in ((0, 1), (1, 32), (32, len(chain))):
        some = chain[begin:end]
        if not some:
            break
        references = heap.holding_rows(heap.references_to(some))
        steps = place[heap.ref_target[references]]
        order = np.argsort(steps, kind="stable")
        sources, steps = heap.sources(references)[order], steps[order]
        is_outside = heap.places_above(sources, place) > steps
        sources, steps = sources[is_outside], steps[is_outside]
        ends = np.searchsorted(steps, np.arange(begin, begin + len(some) + 1))
        for step, fork in enumerate(some, start=begin):
            # Ascending, as references are by source.
            holders = sources[ends[step - begin] : ends[step - begin + 1]]
            holders = holders[np.diff(holders, prepend=-1) > 0]
            is_last = step == len(chain) - 1
            if is_last or heap.roots_of(fork) or holders.tolist() != [chain[step + 1]]:
                return chain[step::-1], holders
    raise AssertionError("a chain has an end")


def _ways_around(
    heap: HeapView, fork: int, holders: list[int]
) -> list[tuple[int, list[int]]]:
    """Shortest paths from roots to objects that do not go through another one.

    Among equals, the first one by rows of the root, then of the objects.

    Returns:
        The root, and the rows down to the object; nothing for a path of `_LONGEST`
        references or more.
    """
    # No way around an object is shorter than the shortest of all.
    near = [one for one in holders if heap.root_distance[one] < _LONGEST]
    paths = dict[int, list[int]]()
    if near:
        paths = first_paths(
            heap.references, heap.row_count, near, around=fork, longest=_LONGEST - 1
        )
    return [(heap.roots_of(path[0])[0], path) for path in paths.values()]


def _fields(heap: HeapView, steps: list[int]) -> list[str]:
    """The field through which each object refers to the next; empty if unnamed."""
    if not heap.has("references", "field"):
        return [""] * (len(steps) - 1)
    rows, ends = list[int](), list[int]()
    for source, target in pairwise(steps):
        begin, end = heap.ref_start[source], heap.ref_start[source + 1]
        leads = np.flatnonzero(heap.ref_target[begin:end] == target) + begin
        rows += heap.holding(leads).tolist()
        ends.append(len(rows))
    named = heap.frame("references", rows, ["field"])["field"]
    found = [named[begin:end].min() for begin, end in pairwise([0, *ends])]
    return ["" if one is None else str(one) for one in found]


def _paths(heap: HeapView, ways: list[tuple[int, int, list[int]]]) -> list[Row]:
    """Rows of paths to objects, each with its root and the rows of its steps."""
    rows = sorted({step for _, _, steps in ways for step in steps})
    names = ["address", "value", "domain"]
    own = dict(zip(rows, heap.frame("objects", rows, names).iter_rows(), strict=True))
    return [
        _path(heap, root, steps, own) | {"domain": own[row][2]}
        for row, root, steps in ways
    ]


def _path(
    heap: HeapView, root: int, steps: list[int], own: Mapping[int, tuple[Any, ...]]
) -> Row:
    fields = ["", *_fields(heap, steps)]
    addresses, values, _ = zip(*(own[step] for step in steps), strict=True)
    texts = ["" if value is None else str(value)[:VALUE_LENGTH] for value in values]
    texts_of_steps = [
        (f"{field}: " if field else "")
        + f"{heap.short_type(step)} {address}"
        + ("" if value is None else f' "{text}"')
        for field, step, address, text, value in zip(
            fields, steps, addresses, texts, values, strict=True
        )
    ]
    return {
        "length": len(steps),
        "root": heap.root_names[root],
        "steps": texts_of_steps,
        "types": [heap.full_type(step) for step in steps],
        "addresses": [*addresses],
        "retained_bytes": [heap.retained(step) for step in steps],
        "fields": fields,
        "values": texts,
    }


def _steps(heap: HeapView, steps: list[int]) -> pl.DataFrame:
    """A path, a row for each of its objects."""
    fields = [None, *(one or None for one in _fields(heap, steps))][: len(steps)]
    is_missing = pl.col("row") >= heap.object_count
    return of_rows(steps).with_columns(
        field=pl.Series(fields, dtype=pl.String),
        type=heap.type_texts(steps),
        what=pl.when(is_missing)
        .then(pl.lit("missing object"))
        .otherwise(pl.lit("object")),
    )


def shortest_root_path(heap: HeapView, values: Values) -> pl.DataFrame:
    def path(row: int) -> pl.DataFrame:
        if not heap.is_reachable(row):
            return of_rows([])
        steps = [row]
        while heap.first_holders[steps[-1]] >= 0:
            steps.append(int(heap.first_holders[steps[-1]]))
        roots = heap.roots_of(steps[-1])[:1]
        root = heap.frame("roots", roots, ["name", "field", "type"])
        root = root.select("field", what="name", type=heap.names_of(root["type"]))
        below = _steps(heap, steps[::-1][: values["limit"]])
        found = pl.concat([of_rows([]), root, below], how="diagonal")
        return found.with_columns(step=pl.int_range(pl.len()))

    return heap.of_each(values, path)


def objsize(heap: HeapView, values: Values) -> pl.DataFrame:
    def size(row: int) -> pl.DataFrame:
        start = heap.references._replace(roots=np.array([row], np.int32))
        below = reached(start, heap.row_count)
        reached_bytes = int(heap.shallow_bytes[below].sum())
        return of_rows([row]).with_columns(
            reached_count=pl.lit(int(np.count_nonzero(below))),
            reached_bytes=pl.lit(reached_bytes),
            shared_bytes=pl.lit(reached_bytes - heap.retained(row)),
        )

    return heap.of_each(values, size)


def path_between(heap: HeapView, values: Values) -> pl.DataFrame:
    found = [of_rows([])]
    ends, firsts = heap.objects_at_each([values["to"], values["from"]])
    for first in firsts:
        references = heap.references._replace(roots=np.array([first], np.int32))
        others = [end for end in ends if end != first]
        paths = first_paths(references, heap.row_count, others)
        domain = pl.lit(heap.object(first)["domain"], pl.Int64)
        for end in others:
            if end in paths:
                steps = _steps(heap, paths[end][: values["limit"]])
                found.append(
                    steps.with_columns(domain=domain, step=pl.int_range(pl.len()))
                )
    return pl.concat(found, how="diagonal").head(values["limit"])


_MOST_ALIKE = 20
"""The most steps between objects of one type that count as one."""


def _alike(heap: HeapView, heads: pl.Series) -> pl.Series:
    """Objects, and what they dominate by way of objects of their own type."""
    alike, level = [heads], heads
    for _ in range(_MOST_ALIKE):
        pairs = heap.dominated_by(level.to_numpy())
        same = heap.kinds_of(pairs["above"]) == heap.kinds_of(pairs["below"])
        level = pairs["below"].filter(same)
        if level.is_empty():
            break
        alike.append(level)
    return pl.concat(alike)


def dominated_types(heap: HeapView, values: Values) -> pl.DataFrame:
    def merged(row: int) -> pl.DataFrame:
        heads = heap.dominated_by(np.array([row], np.int64))["below"]
        rows = _alike(heap, heads)
        is_head = pl.Series(range(len(rows)), dtype=pl.Int64) < len(heads)
        first = pl.DataFrame({"b": rows, "at": rows, "counts": is_head})
        second = _below(heap, first.with_columns(counts=pl.lit(value=True)))
        third = _below(heap, second.with_columns(c="at"))
        tables = ((first, ["b"]), (second, ["b", "at"]), (third, ["b", "c", "at"]))
        found = [_merged(heap, table, keys) for table, keys in tables]
        return ordered(pl.concat(found), "-retained_bytes", "length", "path")

    return heap.of_each(values, merged)


def _below(heap: HeapView, table: pl.DataFrame) -> pl.DataFrame:
    """The rows once for each object that ``at`` dominates, of another type."""
    pairs = heap.dominated_by(table["at"].to_numpy())
    is_other = heap.kinds_of(pairs["above"]) != heap.kinds_of(pairs["below"])
    joined = table.join(pairs.filter(is_other), left_on="at", right_on="above")
    return joined.drop("at").rename({"below": "at"})


def _merged(heap: HeapView, table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Groups of equal types of ``keys``, with the names of these as ``path``."""
    at, kept = table["at"], pl.col("retained_count", "retained_bytes")
    groups = (
        table.with_columns(
            *(heap.kinds_of(table[key]).alias(f"kind_{key}") for key in keys),
            shallow_bytes=heap.sizes(at),
            retained_count=pl.Series(heap.retained_count[at.to_numpy()]),
            retained_bytes=heap.kept(at),
        )
        .with_columns(pl.when("counts").then(kept).otherwise(0))
        .group_by([f"kind_{key}" for key in keys])
        .agg(
            pl.col(keys).min(),
            pl.col("shallow_bytes", "retained_count", "retained_bytes").sum(),
            object_count=pl.len(),
        )
    )
    names = pl.DataFrame([heap.type_texts(groups[key]).alias(key) for key in keys])
    return groups.select(
        "object_count", "shallow_bytes", "retained_count", "retained_bytes",
        path=names.select(pl.concat_list(keys)).to_series(), length=pl.lit(len(keys)),
    )  # fmt: skip
