"""Answers about one address: each domain can have an object with it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT
from ingest.analysis.shortest import first_paths, reached
from ingest.answers.view import NOT_SEEN, VALUE_LENGTH, largest, limit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.queries.library import Value

_LONGEST = 10_000
"""The most references of a path."""


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
        limit = limit_of(values)
        both = [*_root_referrers(heap, row), *_object_referrers(heap, row, limit)]
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


def _object_referrers(heap: HeapView, row: int, limit: int) -> list[Row]:
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


def references_of(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``references-of``."""
    limit = limit_of(values)
    found: list[Row] = []
    for row in heap.objects_at(str(values["address"])):
        if row >= heap.object_count:
            continue  # a placeholder has no references
        domain = heap.object(row)["domain"]
        begin, end = heap.span_of(row)
        columns = ["target", "holds", "strength", "field"]
        references = heap.tables.part("references", begin, end, columns)
        # Each of these is on a row, and no other one: few are left to be grouped.
        is_target = np.zeros(heap.row_count, np.bool_)
        is_target[references["target"].to_numpy()] = True
        targets = np.flatnonzero(is_target)
        shown = largest(targets, [heap.retained_bytes], limit - len(found))
        references = references.filter(pl.col("target").is_in(shown))
        groups = (
            references.with_columns(
                held=pl.Series(heap.retained_bytes[references["target"].to_numpy()]),
                strength=pl.col("strength").cast(pl.String),
            )
            .group_by("target", "holds", "strength")
            .agg(pl.len().alias("count"), pl.col("field").min(), pl.col("held").first())
            .sort(
                "held", "target", "holds", "strength",
                descending=[True, False, True, False], nulls_last=True,
            )
            .head(limit - len(found))
        )  # fmt: skip
        below = heap.dominated_by(np.array([row]))["below"]
        own = heap.frame(
            "objects", groups["target"].to_list(), ["address", "shallow_bytes"]
        )
        found += [
            {
                "domain": domain,
                "type": heap.full_type(one["target"]),
                "address": address,
                "weak": not one["holds"],
                "strength": one["strength"],
                "field": one["field"],
                "reference_count": one["count"],
                "shallow_bytes": shallow_bytes,
                "retained_bytes": one["held"],
                "dominated": is_below,
            }
            for one, (address, shallow_bytes), is_below in zip(
                groups.to_dicts(),
                own.iter_rows(),
                groups["target"].cast(pl.Int64).is_in(below.implode()),
                strict=True,
            )
        ]
    return found


def k_shortest_root_paths(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``k-shortest-root-paths``."""
    limit = limit_of(values)
    ways: list[tuple[int, int, list[int]]] = []
    for row in heap.objects_at(str(values["address"])):
        if not heap.is_reachable(row):
            continue
        below, holders = _fork(heap, row)
        fork = below[0]
        chosen = limit - len(ways)
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
    shown = [
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
        "steps": shown,
        "types": [heap.full_type(step) for step in steps],
        "addresses": [*addresses],
        "retained_bytes": [heap.retained(step) for step in steps],
        "fields": fields,
        "values": texts,
    }


def shortest_root_path(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``shortest-root-path``."""
    found: list[Row] = []
    for row in heap.objects_at(str(values["address"])):
        if not heap.is_reachable(row):
            continue
        steps = [row]
        while heap.first_holders[steps[-1]] >= 0:
            steps.append(int(heap.first_holders[steps[-1]]))
        steps.reverse()
        (root,) = heap.frame(
            "roots", heap.roots_of(steps[0])[:1], ["name", "field", "type"]
        ).to_dicts()
        kind = root["type"]
        path = [
            {
                "what": root["name"],
                "field": root["field"],
                "type": None if kind is None else heap.type_names[kind],
                **dict.fromkeys(("address", "shallow_bytes", "retained_bytes")),
            },
            *_steps(heap, steps[: limit_of(values)]),
        ]
        domain = heap.object(row)["domain"]
        found += [one | {"step": at, "domain": domain} for at, one in enumerate(path)]
    return found[: limit_of(values)]


def objsize(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``objsize``."""
    found = []
    for row in heap.objects_at(str(values["address"]))[: limit_of(values)]:
        own = heap.object(row)
        start = heap.references._replace(roots=np.array([row], np.int32))
        below = reached(start, heap.row_count)
        reached_bytes = int(heap.shallow_bytes[below].sum())
        found.append(
            {
                "domain": own["domain"],
                "type": heap.full_type(row),
                "reached_count": int(np.count_nonzero(below)),
                "reached_bytes": reached_bytes,
                "retained_count": own["retained_count"],
                "retained_bytes": own["retained_bytes"],
                "shared_bytes": reached_bytes - own["retained_bytes"],
            }
        )
    return found


def path_between(heap: HeapView, values: Mapping[str, Value]) -> list[Row]:
    """Rows of ``path-between``."""
    found: list[Row] = []
    limit = limit_of(values)
    ends, firsts = heap.objects_at_each([str(values["to"]), str(values["from"])])
    for first in firsts:
        roots = np.array([first], np.int32)
        references = heap.references._replace(roots=roots)
        others = [end for end in ends if end != first]
        paths = first_paths(references, heap.row_count, others)
        for end in others:
            if end in paths and len(found) < limit:
                rows = _steps(heap, paths[end][: limit - len(found)])
                found += [row | {"domain": rows[0]["domain"]} for row in rows]
    return found


def _steps(heap: HeapView, steps: list[int]) -> list[Row]:
    """A path, a row for each of its objects."""
    columns = ("address", "domain", "shallow_bytes", "retained_bytes")
    fields = [None, *(one or None for one in _fields(heap, steps))]
    return [
        own
        | {
            "step": step,
            "field": field,
            "type": heap.full_type(row),
            "what": "missing object" if row >= heap.object_count else "object",
        }
        for step, (row, field, own) in enumerate(
            zip(
                steps,
                fields,
                heap.frame("objects", steps, columns).to_dicts(),
                strict=True,
            )
        )
    ]


_MOST_ALIKE = 20
"""The most steps between objects of one type that count as one."""


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
