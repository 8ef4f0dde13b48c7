"""Answers about one address: each domain can have an object with it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT, ReferenceColumns, distances_from
from ingest.answers.view import limit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ingest.answers.view import HeapView, Row
    from ingest.queries.library import Value

_LONGEST = 10_000
"""References of a path that is followed."""


def object_(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``object``."""
    found = []
    for row in heap.objects_at(str(values["address"]))[: limit_of(values)]:
        own = heap.object(row)
        dominator = int(heap.dominator[row])
        site = own["site"]
        stack = None
        if site is not None:
            (stack,) = heap.frame("allocation_sites", [site], ["stack"])["stack"]
        names = (
            "shallow_bytes", "retained_bytes", "retained_count", "root_distance",
            "strength", "value", "length", "external_bytes", "identity_hash",
            "generation", "segment", "born_in_gc", "collections_survived",
            "allocated_ms",
        )  # fmt: skip
        missing = row >= heap.object_count
        found.append(
            {name: own[name] for name in names}
            | {
                "domain": own["domain"],
                "type": heap.full_type(row),
                "missing": missing,
                "reference_count": 0
                if missing
                else int(heap.ref_start[row + 1] - heap.ref_start[row]),
                "referrer_count": len(heap.references_to([row])),
                "root_count": int(np.count_nonzero(heap.root_object == row)),
                "dominator_type": "(roots)"
                if dominator == ROOT
                else heap.full_type(dominator)
                if dominator >= 0
                else None,
                "dominator_address": heap.address(dominator)
                if dominator >= 0
                else None,
                "allocation_stack": stack,
                "earlier_addresses": [],
            }
        )
    return found


def dominator_chain(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``dominator-chain``."""
    found: list[Row] = []
    for row in heap.objects_at(str(values["address"])):
        domain = heap.object(row)["domain"]
        chain = heap.dominators(row)[: limit_of(values) - len(found)]
        found += [
            {
                "domain": domain,
                "step": step,
                "type": heap.full_type(above),
                "address": heap.address(above),
                "shallow_bytes": int(heap.shallow_bytes[above]),
                "retained_bytes": heap.retained(above),
                "retained_count": int(heap.retained_count[above]),
            }
            for step, above in enumerate(chain)
        ]
    return found


_FAR = 1 << 60


def referrers_of(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``referrers-of``."""
    found: list[Row] = []
    for row in heap.objects_at(str(values["address"])):
        domain = heap.object(row)["domain"]
        both = [*_root_referrers(heap, row), *_object_referrers(heap, row)]
        both.sort(
            key=lambda one: (
                _FAR if one["root_distance"] is None else one["root_distance"],
                one.pop("row"),
                one["weak"],
                one["strength"] is None,
                one["strength"] or "",
            )
        )
        found += [{"domain": domain} | one for one in both]
    return found[: limit_of(values)]


def _root_referrers(heap: HeapView, row: int) -> list[Row]:
    roots = np.flatnonzero(heap.root_object == row).tolist()
    return [
        {
            "row": at,
            "what": one["name"],
            "type": None if one["type"] is None else heap.type_names[one["type"]],
            "address": None,
            "weak": not one["holds"],
            "strength": "weak" if one["weak"] else None,
            "field": one["field"],
            "reference_count": 1,
            "retained_bytes": None,
            "root_distance": 0,
        }
        for at, one in zip(roots, heap.frame("roots", roots).to_dicts(), strict=True)
    ]


def _object_referrers(heap: HeapView, row: int) -> list[Row]:
    references = heap.references_to([row]).tolist()
    columns = ["source", "holds", "strength", "field"]
    groups = (
        heap.frame("references", references, columns)
        .group_by("source", "holds", "strength", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("field").min())
    )
    return [
        {
            "row": source,
            "what": "object",
            "type": None if source >= heap.object_count else heap.full_type(source),
            "address": heap.address(source),
            "weak": not holds,
            "strength": strength,
            "field": field,
            "reference_count": count,
            "retained_bytes": heap.retained(source),
            "root_distance": heap.distance(source),
        }
        for source, holds, strength, count, field in groups.iter_rows()
    ]


def k_shortest_root_paths(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``k-shortest-root-paths``."""
    limit = limit_of(values)
    found: list[tuple[tuple[object, ...], Row]] = []
    asked = 0
    for row in heap.objects_at(str(values["address"])):
        if not heap.is_reachable(row):
            continue
        domain = heap.object(row)["domain"]
        below, holders = _fork(heap, row)
        fork = below[0]
        roots = [(0, root, True) for root in heap.roots_of(fork)]
        objects = [
            (int(heap.root_distance[holder]), holder, False) for holder in holders
        ]
        chosen = sorted(roots + objects)[: limit - asked]
        asked += len(chosen)
        paths = _PathsAround(heap, fork)
        for _, holder, is_root in chosen:
            way = (holder, []) if is_root else paths.to(holder)
            if way is not None:
                root, above = way
                steps = [*above, *below]
                key = (row, len(steps), root, *steps)
                found.append((key, _path(heap, root, steps) | {"domain": domain}))
    found.sort(key=lambda one: one[0])
    return [row for _, row in found[:limit]]


def _fork(heap: HeapView, row: int) -> tuple[list[int], list[int]]:
    """Where several holders meet: from there to the object, and the holders there."""
    chain = heap.dominators(row)[:1001]
    for step, fork in enumerate(chain):
        references = heap.holding_rows(heap.references_to([fork]))
        sources = np.unique(heap.sources(references)).tolist()
        holders = [one for one in sources if not heap.is_below(one, fork)]
        is_last = step == len(chain) - 1
        if is_last or heap.roots_of(fork) or holders != [chain[step + 1]]:
            return chain[step::-1], holders
    raise AssertionError("a chain has an end")


class _PathsAround:
    """Shortest paths from roots that do not go through one object.

    The first one by rows is chosen: that of the root, then those of the objects.
    """

    def __init__(self, heap: HeapView, fork: int) -> None:
        self._heap = heap
        self._fork = fork
        self._distance: NDArray[np.int32] | None = None

    def to(self, holder: int) -> tuple[int, list[int]] | None:
        """The root, and the objects down to ``holder``; ``None`` if they are many."""
        heap = self._heap
        distance = heap.root_distance
        if distance[holder] > distance[self._fork]:
            distance = self._around()
        length = int(distance[holder])
        if not 0 < length < _LONGEST:
            return None
        levels = [np.array([holder], np.int64)]
        for level in range(length - 1, 0, -1):
            above = heap.holding_rows(heap.references_to(levels[-1].tolist()))
            sources = np.unique(heap.sources(above))
            sources = sources[distance[sources] == level]
            levels.append(sources[sources != self._fork])
        root = min(at for one in levels[-1].tolist() for at in heap.roots_of(one))
        way = [int(heap.root_object[root])]
        for level_rows in reversed(levels[:-1]):
            start = heap.ref_start[way[-1]], heap.ref_start[way[-1] + 1]
            out = heap.holding_rows(np.arange(*start))
            targets = np.intersect1d(heap.ref_target[out], level_rows)
            way.append(int(targets[0]))
        return root, way

    def _around(self) -> NDArray[np.int32]:
        if self._distance is None:
            heap = self._heap
            skipped = heap.skipped.copy()
            if not len(skipped):
                skipped = np.zeros(len(heap.ref_target), np.bool_)
            skipped[heap.ref_target == self._fork] = True
            roots = heap.root_object[heap.root_holds]
            columns = ReferenceColumns(
                heap.ref_start, heap.ref_target, skipped, roots[roots != self._fork]
            )
            self._distance = distances_from(columns, heap.row_count)
        return self._distance


def _path(heap: HeapView, root: int, steps: list[int]) -> Row:
    fields = [""]
    for source, target in pairwise(steps):
        begin, end = heap.ref_start[source], heap.ref_start[source + 1]
        rows = np.flatnonzero(heap.ref_target[begin:end] == target) + begin
        named = heap.frame("references", heap.holding_rows(rows).tolist(), ["field"])[
            "field"
        ].min()
        fields.append("" if named is None else str(named))
    texts = [heap.value(step) for step in steps]
    shown = [
        (f"{field}: " if field else "")
        + f"{heap.short_type(step)} {heap.address(step)}"
        + (f' "{text}"' if text or heap.object(step)["value"] is not None else "")
        for field, step, text in zip(fields, steps, texts, strict=True)
    ]
    return {
        "length": len(steps),
        "root": heap.root_names[root],
        "steps": shown,
        "types": [heap.full_type(step) for step in steps],
        "addresses": [heap.address(step) for step in steps],
        "retained_bytes": [heap.retained(step) for step in steps],
        "fields": fields,
        "values": texts,
    }


_MOST_ALIKE = 20
"""Steps from an object to another one of its type that are one step."""


def dominated_types(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``dominated-types``."""
    found: list[tuple[tuple[object, ...], Row]] = []
    kind = pl.Series(heap.type_index)
    for row in heap.objects_at(str(values["address"])):
        domain = heap.object(row)["domain"]
        heads = heap.dominated_by(np.array([row], np.int64))["below"]
        alike, level = [heads], heads
        for _ in range(_MOST_ALIKE):
            pairs = heap.dominated_by(level.to_numpy())
            same = kind.gather(pairs["above"]) == kind.gather(pairs["below"])
            level = pairs["below"].filter(same)
            if level.is_empty():
                break
            alike.append(level)
        first = pl.DataFrame({"b": pl.concat(alike)}).with_columns(
            pl.col("b").alias("at")
        )
        first = first.with_columns(is_head=pl.Series(range(first.height)) < len(heads))
        second = _below(heap, first.drop("is_head"))
        third = _below(heap, second.with_columns(pl.col("at").alias("c")))
        for table, keys in (
            (first, ["b"]),
            (second, ["b", "at"]),
            (third, ["b", "c", "at"]),
        ):
            for group in _merged(heap, table, keys):
                path = [heap.full_type(at) for at in group.pop("keys")]
                order = (row, -group["retained_bytes"], len(path), path)
                found.append((order, group | {"domain": domain, "path": path}))
    found.sort(key=lambda one: one[0])
    return [row for _, row in found[: limit_of(values)]]


def _below(heap: HeapView, table: pl.DataFrame) -> pl.DataFrame:
    """The rows once for each object that ``at`` dominates, of another type."""
    pairs = heap.dominated_by(table["at"].to_numpy())
    kind = pl.Series(heap.type_index)
    other = kind.gather(pairs["above"]) != kind.gather(pairs["below"])
    joined = table.join(pairs.filter(other), left_on="at", right_on="above")
    return joined.drop("at").rename({"below": "at"})


def _merged(
    heap: HeapView, table: pl.DataFrame, keys: list[str]
) -> Iterator[dict[str, Any]]:
    """Groups of equal types of ``keys``, with the first object of each."""
    kind, at = pl.Series(heap.type_index), table["at"]
    retains = table["is_head"] if "is_head" in table.columns else pl.lit(True)
    sums = (
        table.with_columns(
            *(kind.gather(table[key]).alias(f"kind_{key}") for key in keys),
            shallow_bytes=pl.Series(heap.shallow_bytes).gather(at),
            retained_count=pl.Series(heap.retained_count).gather(at),
            retained_bytes=pl.Series(heap.retained_bytes).gather(at),
        )
        .with_columns(
            pl.when(retains)
            .then(pl.col("retained_count", "retained_bytes"))
            .otherwise(0)
        )
        .group_by([f"kind_{key}" for key in keys])
        .agg(
            *(pl.col(key).min() for key in keys),
            pl.len().alias("object_count"),
            pl.col("shallow_bytes", "retained_count", "retained_bytes").sum(),
        )
    )
    for row in sums.to_dicts():
        yield row | {"keys": [row[key] for key in keys]}
