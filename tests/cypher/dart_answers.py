"""What queries about fields, values and owners must answer, from the twin."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.cypher.more_answers import _types

if TYPE_CHECKING:
    from tests.cypher.answers import Rows
    from tests.cypher.twin import Heap, Obj, Root


def _freed(heap: Heap, holder: Obj, field: str) -> set[int]:
    """What is no longer reachable once a field of ``holder`` is cleared."""
    found, todo = set[int](), [r.object for r in heap.roots if r.holds]
    while todo:
        if (i := todo.pop()) not in found:
            found.add(i)
            o = heap.objects[i]
            pairs = zip(o.strong, o.strong_fields, strict=True)
            todo += [to for to, via in pairs if o is not holder or via != field]
    return heap.live - found


def by_field(heap: Heap, field: str, type: str, limit: int) -> Rows:
    counts: Counter[tuple[str, bool, str, int]] = Counter()
    held: dict[tuple[str, bool, str, int], int] = defaultdict(int)
    for o in heap.objects:
        if o.index not in heap.live:
            continue
        if o.type is None or (type and heap.type_name(o.type) != type):
            continue
        for weak, targets, fields in (
            (False, o.strong, o.strong_fields),
            (True, o.weak, o.weak_fields),
        ):
            for target, via in zip(targets, fields, strict=True):
                if via == field:
                    key = (heap.type_name(o.type), weak, heap.name_of(target), target)
                    counts[key] += 1
                    if target in _freed(heap, o, field):
                        held[key] = heap.retained_bytes(target)
    groups: dict[tuple[str, bool, str], list[int]] = defaultdict(list)
    for name, weak, target_name, target in counts:
        groups[(name, weak, target_name)].append(target)
    rows = []
    for (name, weak, target_name), led_to in groups.items():
        keys = [(name, weak, target_name, target) for target in led_to]
        largest = min(led_to, key=lambda t: (-heap.retained_bytes(t), t))
        rows.append(
            (
                name,
                weak,
                target_name,
                sum(counts[key] for key in keys),
                len(led_to),
                sum(held[key] for key in keys),
                heap.objects[largest].address,
            )
        )
    return sorted(rows, key=lambda r: (-r[5], -r[3], r[0], r[2], r[1]))[:limit]


def by_library(heap: Heap, prefix: str, limit: int) -> Rows:
    groups: dict[str, list[tuple[int, list[int], list[int]]]] = defaultdict(list)
    for entry in _types(heap):
        library = heap.namespace(entry[0])
        if library.startswith(prefix):
            groups[library if prefix else library.split("/")[0]].append(entry)
    top = set(heap.children(None))
    rows = []
    for library, types in groups.items():
        largest = min(types, key=lambda entry: (-heap.bytes(entry[1]), entry[0]))
        rows.append(
            (
                library,
                len({heap.namespace(t) for t, _, _ in types}),
                len(types),
                sum(len(members) for _, members, _ in types),
                sum(heap.bytes(members) for _, members, _ in types),
                sum(heap.bytes(live) for _, _, live in types),
                sum(
                    heap.retained_bytes(i)
                    for _, _, live in types
                    for i in live
                    if i in top
                ),
                heap.type_name(largest[0]),
            )
        )
    return sorted(rows, key=lambda r: (-r[4], r[0]))[:limit]


def external_bytes(heap: Heap, limit: int) -> Rows:
    found = [o for o in heap.objects if o.external[1]]
    rows = []
    for o in sorted(found, key=lambda o: (-(o.external[1] or 0), o.index)):
        alive = o.index in heap.live
        above = heap.dominator(o.index) if alive else None
        rows.append(
            (
                heap.name_of(o.index),
                o.address,
                *o.external,
                o.shallow,
                alive,
                None if above is None else heap.name_of(above),
                None if above is None else heap.objects[above].address,
            )
        )
    return rows[:limit]


def strings(heap: Heap, min_count: int, limit: int) -> Rows:
    groups: dict[tuple[str | None, int | None], list[Obj]] = defaultdict(list)
    for o in heap.objects:
        has_text = "String" in heap.name_of(o.index) and o.value is not None
        if has_text and o.index in heap.live:
            groups[(o.value, o.length)].append(o)
    rows = []
    for (value, length), alike in groups.items():
        sizes = [heap.retained_bytes(o.index) for o in alike]
        if len(alike) < min_count:
            continue
        first = alike[0].index
        holders = heap.holders(first) | ({first} & set(heap.objects[first].strong))
        nearest = min(holders, key=lambda p: (heap.distance[p], p), default=None)
        rows.append(
            (
                value,
                length,
                len(alike),
                sum(sizes),
                sum(sizes) - max(sizes),
                alike[0].address,
                None if nearest is None else heap.name_of(nearest),
                alike[0].index,
            )
        )
    found = sorted(rows, key=lambda r: (-r[4], -r[2], r[7]))
    return [row[:7] for row in found][:limit]


def _through(heap: Heap, o: Obj | None, field: str) -> Obj | None:
    if o is None:
        return None
    pairs = zip(o.strong, o.strong_fields, strict=True)
    return next((heap.objects[t] for t, f in pairs if f == field), None)


def closures(heap: Heap, type: str, limit: int) -> Rows:
    groups: dict[int, list[tuple[Obj, Obj | None]]] = defaultdict(list)
    functions: dict[int, Obj | None] = {}
    for c in heap.instances(heap.types_named(type)):
        if c.index in heap.live:
            function = _through(heap, c, "function_")
            key = -1 if function is None else function.index
            functions[key] = function
            groups[key].append((c, _through(heap, c, "context_")))
    rows = []
    for key, members in groups.items():
        function = functions[key]
        owner = _through(heap, function, "owner_")
        contexts = {x.index for _, x in members if x is not None}
        largest, _ = min(
            members,
            key=lambda m: (
                0 if m[1] is None else -heap.retained_bytes(m[1].index),
                m[0].index,
            ),
        )
        rows.append(
            (
                None if function is None else function.value,
                None if owner is None else owner.value,
                len(members),
                len(contexts),
                sum(heap.retained_bytes(c.index) for c, _ in members),
                sum(map(heap.retained_bytes, contexts)),
                largest.address,
                largest.index,
            )
        )
    found = sorted(rows, key=lambda r: (-r[5], -r[2], r[7]))
    return [row[:7] for row in found][:limit]


def isolates(heap: Heap, limit: int) -> Rows:
    groups: dict[str | None, list[Root]] = defaultdict(list)
    for root in heap.roots:
        if root.holds and root.owner is not None:
            groups[root.owner].append(root)
    top = set(heap.children(None))
    rows = []
    for owner, roots in groups.items():
        objects = {root.object for root in roots}
        held = {i: heap.retained_bytes(i) if i in top else 0 for i in objects}
        largest = min(objects, key=lambda i: (-held[i], i))
        missing = heap.objects[largest].type is None
        rows.append(
            (
                owner,
                len(roots),
                sum(root.kind == "static" for root in roots),
                len(objects),
                sum(held.values()),
                None if missing else heap.name_of(largest),
                heap.objects[largest].address,
            )
        )
    return sorted(rows, key=lambda r: (-r[4], r[0] or ""))[:limit]
