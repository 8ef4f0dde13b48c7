"""What paths are by definition, found by trying all of them in tiny heaps.

Each function has the name of its query and takes the query's parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.cypher.twin import Ambiguous

if TYPE_CHECKING:
    from tests.cypher.twin import Heap, Obj

Row = tuple[object, ...]
Rows = Sequence[Row]


def facts(heap: Heap, i: int) -> Row:
    return (heap.name_of(i), *sizes(heap, i))


def sizes(heap: Heap, i: int) -> Row:
    o = heap.objects[i]
    return (o.address, o.shallow, heap.retained_bytes(i))


def by_retained(heap: Heap, objects: list[Obj]) -> list[Obj]:
    return sorted(objects, key=lambda o: (-heap.retained_bytes(o.index), o.index))


def shortest_root_path(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in heap.at(address):
        if o.index not in heap.live:
            continue
        ways = heap.shortest_root_paths(o.index)
        root, path = min(ways, key=lambda way: (way[1][::-1], way[0].index))
        container = None if root.type is None else heap.type_name(root.type)
        name = heap.root_name(root)
        rows.append((o.domain, 0, name, root.field, container, None, None, None))
        fields = [None, *(heap.field_to(i, j) for i, j in pairwise(path))]
        for step, i in enumerate(path, 1):
            missing = heap.objects[i].type is None
            what = "missing object" if missing else "object"
            rows.append((o.domain, step, what, fields[step - 1], *facts(heap, i)))
    return rows[:limit]


def _reasons(heap: Heap, i: int) -> set[int]:
    """Objects that keep ``i`` alive: reachable without it."""
    return {h for h in heap.holders(i) if i not in heap.dominators(h)}


def _fork(heap: Heap, i: int) -> tuple[int, ...]:
    """From the first object above ``i`` that not only one object keeps, down."""
    below = [i]
    while len(above := _reasons(heap, below[0])) == 1 and not heap.roots_of(below[0]):
        below[:0] = above
    return tuple(below)


def k_shortest_root_paths(heap: Heap, address: str, limit: int) -> Rows:
    found: list[tuple[int, int, int, tuple[int, ...], Row]] = []
    for o in heap.at(address):
        if o.index not in heap.live:
            continue
        below = _fork(heap, o.index)
        fork = below[0]
        holders = sorted(_reasons(heap, fork), key=lambda h: (heap.distance[h], h))
        ways = [(root, below) for root in heap.roots_of(fork)]
        for holder in holders:
            paths = [way for way in heap.root_paths(holder) if fork not in way[1]]
            root, path = min(paths, key=lambda w: (len(w[1]), w[0].index, w[1]))
            ways.append((root, path + below))
        for root, path in ways[: limit - len(found)]:
            row = (
                o.domain,
                len(path),
                heap.root_name(root),
                heap.steps(path),
                list(map(heap.name_of, path)),
                [heap.objects[i].address for i in path],
                list(map(heap.retained_bytes, path)),
                ["", *(heap.field_to(i, j) or "" for i, j in pairwise(path))],
                [(heap.objects[i].value or "")[:40] for i in path],
            )
            found.append((o.index, len(path), root.index, path, row))
    return [row for *_, row in sorted(found)][:limit]


def root_paths_of_type(heap: Heap, type: str, instances: int, limit: int) -> Rows:
    found = heap.instances(heap.types_named(type))
    found = by_retained(heap, [o for o in found if o.index in heap.live])
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for o in found[:instances]:
        merged = set()
        for root, path in heap.shortest_root_paths(o.index):
            names: list[str] = []
            for i in path:
                if [heap.name_of(i)] != names[-1:]:
                    names.append(heap.name_of(i))
            merged.add((heap.root_name(root), *names))
        if len(merged) > 1:
            raise Ambiguous("several shortest paths")
        groups[merged.pop()].append(o.index)
    rows: list[Row] = [
        (
            list(path),
            len(members),
            heap.bytes(members),
            sum(map(heap.retained_bytes, members)),
        )
        for path, members in groups.items()
    ]
    return sorted(rows, key=lambda r: (-r[1], -r[3], r[0]))[:limit]  # type: ignore[operator]


def path_between(heap: Heap, to: str, limit: int, **others: str) -> Rows:
    rows: list[Row] = []
    for a in heap.at(others["from"]):
        for b in heap.at(to):
            if a == b or not (paths := heap.shortest(a.index, b.index)):
                continue
            path = min(paths)
            fields = [None, *(heap.field_to(i, j) for i, j in pairwise(path))]
            for step, i in enumerate(path):
                rows.append((a.domain, step, fields[step], *facts(heap, i)))
    return rows[:limit]


def cycles(heap: Heap, candidates: int, type: str, limit: int) -> Rows:
    objects = heap.instances(heap.types_named(type)) if type else heap.objects
    found = set()
    for o in by_retained(heap, objects)[:candidates]:
        circles = [c[1:] for c in heap.shortest(o.index, o.index)]
        if circles and len(circles[0]) <= 8:
            circle = min(circles)
            first = circle.index(min(circle))
            found.add(circle[first:] + circle[:first])
    rows = []
    for circle in found:
        most = max(map(heap.retained_bytes, circle))
        labels = [heap.label(i) for i in circle]
        row = (len(circle), most, circle[0] in heap.live, labels)
        rows.append((-most, len(circle), circle, row))
    return [row for *_, row in sorted(rows)][:limit]
