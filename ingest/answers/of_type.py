"""Answers about a type: each domain can declare one of that name."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.analysis.types import count_by, sum_by
from ingest.answers.frames import of_rows, shares_of, shown
from ingest.answers.view import whole
from ingest.tables.field_values import PREFIX, property_name
from ingest.tables.object_tables import FIELD_VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.answers.frames import HeapView, Values
    from ingest.answers.view import Row

_OF_TYPES = (
    "name", "domain", "instance_count", "shallow_bytes", "reachable_count",
    "reachable_bytes", "retained_bytes",
)  # fmt: skip


def type_totals(heap: HeapView, values: Values) -> pl.DataFrame:
    found = whole(heap, "types", _OF_TYPES)
    share = shares_of(found["retained_bytes"], found["reachable_bytes"])
    found = found.with_columns(share=share).filter(pl.col("name") == values["type"])
    return shown(found, values, "-retained_bytes", "row")


def subtypes(heap: HeapView, values: Values) -> pl.DataFrame:
    pairs = whole(heap, "supertypes", ["type", "supertype"])
    below, above = dict[int, list[int]](), dict[int, list[str]]()
    for kind, base in pairs.select("type", "supertype").iter_rows():
        below.setdefault(base, []).append(kind)
        above.setdefault(kind, []).append(heap.type_names[base])
    level = heap.types_named(values["type"])
    level = [kind for kind in level if kind in below or kind in above]
    found = set(level)
    while level:
        level = [kind for base in level for kind in below.get(base, ())
                 if kind not in found]  # fmt: skip
        found |= {*level}
    types = whole(heap, "types", _OF_TYPES).filter(pl.col("row").is_in(found))
    rows = shown(types.rename({"name": "type"}), values, "-retained_bytes", "row")
    names = [sorted(above.get(kind, ())) for kind in rows["row"]]
    return rows.with_columns(extends=pl.Series(names, dtype=pl.List(pl.String)))


def instances_by_root_path(heap: HeapView, values: Values) -> list[Row]:
    kinds = heap.types_named(values["type"])
    reachable = int(heap.of_types("reachable_count")[kinds].sum())
    columns = ("parent", "type", "tree", "name", "object_count", "shallow_bytes")
    paths = whole(heap, "type_paths", columns)
    names = pl.select(pl.coalesce(heap.names_of(paths["type"]), paths["name"]))
    texts, parents = names.to_series().to_list(), paths["parent"].to_list()
    chosen = paths.filter(
        (pl.col("tree") == "root_paths")
        & pl.col("type").is_in(kinds)
        & (pl.col("object_count") > 0)
        & pl.col("parent").is_not_null()
    ).select("row", "object_count", "shallow_bytes")
    merged: dict[tuple[str, ...], list[int]] = {}
    for row, count, size in chosen.iter_rows():
        steps, at = list[str](), row
        while parents[at] is not None:
            steps.append(texts[at])
            at = parents[at]
        total = merged.setdefault(tuple(reversed(steps)), [0, 0])
        total[0] += count
        total[1] += size
    found: list[Row] = [
        {
            "path": list(path),
            "instance_count": count,
            "shallow_bytes": size,
            "share": count / reachable,
        }
        for path, (count, size) in merged.items()
    ]
    found.sort(key=lambda row: (-row["instance_count"], row["path"]))
    return found[: values["limit"]]


def _by_retained(heap: HeapView, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(-heap.retained_bytes[rows], kind="stable")
    return rows[order]


def root_paths_of_type(heap: HeapView, values: Values) -> list[Row]:
    """Of several shortest paths, one is used."""
    rows = heap.live(heap.instances(values["type"]))
    parent, kinds = heap.path_parent, heap.type_index
    first_root: dict[int, int] = {}
    merged: dict[tuple[str, ...], list[int]] = {}
    for row in _by_retained(heap, rows)[: values["instances"]].tolist():
        steps, at = [row], int(parent[row])
        while at >= 0:
            if heap.full_type(at) != heap.full_type(steps[-1]):
                steps.append(at)
            else:
                steps[-1] = at
            at = int(parent[at])
        first = steps[-1]
        if first not in first_root:
            first_root[first] = heap.roots_of(first)[0]
        path = (
            str(heap.root_names[first_root[first]]),
            *(heap.full_type(step) for step in reversed(steps) if kinds[step] >= 0),
        )
        total = merged.setdefault(path, [0, 0, 0])
        total[0] += 1
        total[1] += int(heap.shallow_bytes[row])
        total[2] += heap.retained(row)
    found: list[Row] = [
        {
            "path": list(path),
            "instance_count": count,
            "shallow_bytes": size,
            "retained_bytes": retained,
        }
        for path, (count, size, retained) in merged.items()
    ]
    found.sort(
        key=lambda row: (-row["instance_count"], -row["retained_bytes"], row["path"])
    )
    return found[: values["limit"]]


_MOST_SKIPPED = 10
_LOST = -3
_ABOVE = {ROOT: "(roots)", _LOST: "(further up)"}
"""Text instead of an owner's type."""


def owners_of_type(heap: HeapView, values: Values) -> list[Row]:
    skip = re.compile(values["skip"])
    captions = heap.captions.to_list()
    # The last one is that of placeholders, which belong to no type.
    skipped_names = {one for one in captions[:-1] if skip.fullmatch(one)}
    skipped = np.array([one in skipped_names for one in captions])
    rows = heap.instances(values["type"])
    dominator, kinds = heap.dominator, heap.type_index
    above = dominator[rows]
    rows, above = rows[above != UNREACHABLE], above[above != UNREACHABLE]

    def to_skip(of: NDArray[np.int32]) -> NDArray[np.bool_]:
        return np.asarray((of >= 0) & skipped[kinds[np.maximum(of, 0)]])

    owner = above.copy()
    left = np.flatnonzero(to_skip(owner))
    for _ in range(_MOST_SKIPPED):
        owner[left] = dominator[owner[left]]
        left = left[to_skip(owner[left])]
    owner[left] = _LOST
    slot = owner - _LOST
    slots = len(dominator) - _LOST
    instances = count_by(slot, slots)
    size = sum_by(slot, heap.shallow_bytes[rows], slots)
    owners = np.flatnonzero(instances)
    owners = owners[np.lexsort((owners, -size[owners]))]
    instances, size, owners = instances[owners], size[owners], owners + _LOST
    # Types whose short names are alike are one row, with the largest owner of all.
    names, code = np.unique(captions, return_inverse=True)
    code = np.where(owners < 0, len(names) - 1 - owners, code[kinds[owners]])
    codes, first, group = np.unique(code, return_index=True, return_inverse=True)
    owner_count = count_by(group[owners >= 0].astype(np.int32), len(codes))
    instance_count, bytes_of = (
        sum_by(group.astype(np.int32), column, len(codes))
        for column in (instances, size)
    )
    groups: list[Row] = []
    for i, at in enumerate(owners[first].tolist()):
        full = _full(heap, at)
        groups.append(
            {
                "owner_type": full if at >= 0 else _ABOVE[at],
                "owner_count": int(owner_count[i]),
                "instance_count": int(instance_count[i]),
                "shallow_bytes": int(bytes_of[i]),
                "largest_owner": None if full is None else heap.address(at),
            }
        )
    found = sorted(
        groups,
        key=lambda row: (
            -row["shallow_bytes"],
            row["owner_type"] is None,
            row["owner_type"] or "",
        ),
    )
    return found[: values["limit"]]


def _full(heap: HeapView, row: int) -> str | None:
    """Full name of an object's type; ``None`` for a placeholder and for no object."""
    return None if row < 0 else heap.declared_type(row)


def objects_of_type(heap: HeapView, values: Values) -> pl.DataFrame:
    rows = _by_retained(heap, heap.instances(values["type"]))
    return of_rows(rows[: values["limit"]])


def objects_by_value(heap: HeapView, values: Values) -> list[Row]:
    rows = heap.instances(values["type"])
    chosen = {row: one for row, one in _values_of(heap, rows, values["field"])
              if _is_asked(one, values)}  # fmt: skip
    found = _by_retained(heap, np.array(sorted(chosen), np.int64))[: values["limit"]]
    columns = (
        "domain", "address", "shallow_bytes", "retained_bytes", "root_distance",
    )  # fmt: skip
    frame = heap.completed(of_rows(found), columns)
    return [
        row | {"value": one if _is_finite(one := chosen[row["row"]]) else None}
        for row in frame.iter_rows(named=True)
    ]


def _values_of(
    heap: HeapView, rows: NDArray[np.int64], field: str
) -> Iterator[tuple[int, object]]:
    """Objects and the values of a field, by the rest of the property's name."""
    table = heap.tables.lazy(FIELD_VALUES.name)
    names = table.select(pl.col("field").unique()).collect()["field"].to_list()
    names = [name for name in names if property_name(name) == PREFIX + field]
    wanted = pl.col("field").is_in(names) & pl.col("object").is_in(rows.tolist())
    for row, *found in table.filter(wanted).drop("field").collect().iter_rows():
        yield row, next(one for one in found if one is not None)


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _is_asked(value: object, values: Values) -> bool:
    """Whether a value is the one that is asked for, and in the range."""
    low, high, wanted = (values[name] for name in ("min", "max", "value"))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if (low, high) != (None, None):
        if not is_number:
            return False
        assert isinstance(value, int | float)
        if low is not None and not value >= float(low):
            return False
        if high is not None and not value <= float(high):
            return False
    if wanted is None:
        return True
    text = str(wanted)
    if isinstance(value, float):
        return bool(_FLOAT.fullmatch(text)) and value == float(text)
    return text == (str(value).lower() if isinstance(value, bool) else str(value))
