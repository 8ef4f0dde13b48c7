"""What queries are asked about in a heap, and how paths are compared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.answers.frames import HeapView


LEAST = {"min_bytes": "1", "min_drop_bytes": "1", "share": "0.001"}
"""So low that small heaps have rows."""


def some_values(
    heap: HeapView, taken: set[str], *, objects: int, ends: int, types: int
) -> list[dict[str, str]]:
    """Parameters for a query: of so many objects, ends of paths, and types with most.

    Args:
        heap: What is asked.
        taken: Names of the parameters of the query.
        objects: About how many objects, from the first to the last one.
        ends: About how many objects of which each pair is taken.
        types: The most types, those with most instances.
    """
    least = {name: value for name, value in LEAST.items() if name in taken}
    return [least | one for one in _subjects(heap, taken, objects, ends, types)]


def _subjects(
    heap: HeapView, taken: set[str], objects: int, ends: int, types: int
) -> list[dict[str, str]]:
    if "from" in taken:
        ways = range(0, heap.row_count, max(1, heap.row_count // ends))
        return [
            {"from": heap.address(a), "to": heap.address(b)} for a in ways for b in ways
        ]
    if "address" in taken:
        step = max(1, heap.row_count // objects)
        rows = [*range(0, heap.row_count, step), heap.row_count - 1]
        return [{"address": heap.address(row)} for row in dict.fromkeys(rows)]
    if "value" in taken:
        known = heap.tables.lazy("field_values").select("object", "field").collect()
        fields = {(heap.full_type(row), field) for row, field in known.iter_rows()}
        return [
            {"type": kind, "field": quote(field)}
            for kind, field in sorted(fields)[:types]
        ]
    if "field" in taken:
        names = heap.of_types("fields").drop_nulls().str.split(" ").explode().unique()
        return [{"field": name} for name in [*names.sort().to_list()[:types], "[0]"]]
    if "type" in taken:
        counts = heap.instance_counts()
        most = sorted(counts, key=lambda name: (-counts[name], name))
        return [{"type": name} for name in most[:types]]
    return [{}]


def instances_by_end(rows: Iterable[tuple[object, ...]]) -> Counter[object]:
    """Of paths with their counts, how many instances end at each type.

    Of several shortest paths any may be used, so that the paths themselves differ.
    """
    found: Counter[object] = Counter()
    for path, count, *_ in rows:
        found[cast("list[str]", path)[-1]] += cast("int", count)
    return found
