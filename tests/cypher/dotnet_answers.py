"""What queries about .NET's own ways to keep things must answer, from the twin.

Each function has the name of its query and takes the query's parameters.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from re import DOTALL, fullmatch, match
from typing import TYPE_CHECKING

from ingest.heap.graph import EPHEMERON

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.cypher.answers import Row, Rows
    from tests.cypher.twin import Heap

_LIST = r"System[.](Object|Delegate)\[].*"


def _retained(heap: Heap, objects: Iterable[int]) -> int:
    return sum(map(heap.retained_bytes, objects))


def _largest(heap: Heap, objects: Iterable[int]) -> str:
    first = min(objects, key=lambda i: (-heap.retained_bytes(i), i))
    return heap.objects[first].address


def _of_kind(heap: Heap, pattern: str) -> set[int]:
    return {o.index for o in heap.objects if fullmatch(pattern, heap.name_of(o.index))}


def _others(heap: Heap, i: int) -> list[int]:
    """What an object refers to, itself left out."""
    return sorted(set(heap.objects[i].strong) - {i})


def event_handlers(heap: Heap, pattern: str, limit: int) -> Rows:
    delegates = _of_kind(heap, pattern)
    lists = {
        i
        for d in delegates
        for i in heap.objects[d].strong
        if match(_LIST, heap.name_of(i))
    }

    def target(d: int) -> int | None:
        for x in _others(heap, d):
            method = heap.name_of(x).startswith("System.Reflection.")
            if x not in delegates and not method and not match(_LIST, heap.name_of(x)):
                return x
        return None

    groups: dict[tuple[str, str, str], dict[int, int]] = defaultdict(dict)
    for g in delegates & heap.live:
        names = {heap.name_of(h) for h in heap.holders(g) if h not in lists}
        names |= {heap.root_name(r) for r in heap.roots_of(g)}
        called = {
            d
            for i in heap.objects[g].strong
            if i in lists
            for d in heap.objects[i].strong
            if d in delegates
        }
        for d in called or {g}:
            if (x := target(d)) is not None:
                for name in names:
                    key = (name, heap.name_of(g), heap.name_of(x))
                    groups[key][d] = x
    rows: list[Row] = []
    for key, calls in groups.items():
        targets = set(calls.values())
        kept = _retained(heap, calls), _retained(heap, targets)
        rows.append((*key, len(calls), len(targets), *kept, _largest(heap, targets)))
    return sorted(rows, key=lambda r: (-r[5], -r[3], r[:3]))[:limit]  # type: ignore[operator]


def timers(heap: Heap, pattern: str, callback: str, skip: str, limit: int) -> Rows:
    delegates = _of_kind(heap, callback)
    groups: dict[tuple[str, str, bool], list[tuple[int, int]]] = defaultdict(list)
    for timer in _of_kind(heap, pattern) & heap.live:
        for a in _others(heap, timer):
            for x in _others(heap, a) if a in delegates else [a]:
                name = heap.name_of(x)
                if x != timer and not fullmatch(skip, name):
                    key = (heap.name_of(timer), name, a in delegates)
                    groups[key].append((timer, x))
    rows: list[Row] = []
    for key, pairs in groups.items():
        held = {x for _, x in pairs}
        count = len({timer for timer, _ in pairs})
        kept = _retained(heap, held)
        rows.append((*key, count, len(held), kept, _largest(heap, held)))
    return sorted(rows, key=lambda r: (-r[5], -r[3], r[:3]))[:limit]  # type: ignore[operator]


def dependent_handles(heap: Heap, limit: int) -> Rows:
    groups: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for o in heap.objects:
        for x, name in zip(o.strong, o.strong_fields, strict=True):
            if name == EPHEMERON:
                pair = (heap.name_of(o.index), heap.name_of(x))
                groups[pair].append((o.index, x))
    rows: list[Row] = []
    for names, pairs in groups.items():
        keys, values = ({pair[at] for pair in pairs} for at in (0, 1))
        alone = {b for a, b in pairs if b in heap.live and heap.dominator(b) == a}
        rows.append(
            (
                *names,
                len(pairs),
                len(keys),
                len(values),
                len(keys & heap.live),
                sum(a in heap.objects[b].strong for a, b in pairs),
                _retained(heap, alone),
                _largest(heap, values),
            )
        )
    return sorted(rows, key=lambda r: (-r[7], -r[2], r[:2]))[:limit]  # type: ignore[operator]


def async_state_machines(heap: Heap, limit: int) -> Rows:
    rows = []
    for t, name in enumerate(heap.graph.type_names):
        members = {o.index for o in heap.instances([t])}
        found = match(r".*?>d__", name, DOTALL)
        if not members or not found or name.endswith("[]"):
            continue
        live = members & heap.live
        is_task = "AsyncStateMachineBox" in name or "MethodBuilder" in name
        row = (
            found[0].removesuffix(">d__").rpartition("<")[2],
            "task" if is_task else "task or iterator",
            name,
            len(live),
            len(members - live),
            heap.bytes(live),
            heap.bytes(heap.live - heap.alive(members)),
        )
        rows.append((-row[6], -row[3], t, row))
    return [row for *_, row in sorted(rows)][:limit]


def thread_statics(heap: Heap, limit: int) -> Rows:
    groups: dict[tuple[str, int | None], list[int]] = defaultdict(list)
    for r in heap.roots:
        if r.kind == "thread_static" and r.field is not None and r.holds:
            groups[r.field, r.type].append(r.object)
    rows = []
    for (field, kind), held in groups.items():
        first = min(held, key=lambda i: (-heap.retained_bytes(i), i))
        row = (
            field,
            None if kind is None else heap.type_name(kind),
            len(held),
            len(set(held)),
            _retained(heap, set(held)),
            heap.name_of(first),
            heap.objects[first].address,
            heap.retained_bytes(first),
        )
        last = len(heap.graph.type_names) if kind is None else kind
        rows.append((-row[4], -row[2], field, last, row))
    return [row for *_, row in sorted(rows)][:limit]


def pinned_fragmentation(heap: Heap, limit: int) -> Rows:
    pins = {r.object for r in heap.roots if r.pinned}
    rows = []
    for ordinal, s in enumerate(heap.graph.segments):
        inside = [o for o in heap.objects if o.segment == ordinal]
        mine = [o for o in inside if o.index in pins]
        if not mine:
            continue
        places = sorted(
            (int(o.address, 16), int(o.address, 16) + o.shallow) for o in mine
        )
        gaps = [after[0] - before[1] for before, after in pairwise(places)]
        held = sum(o.shallow for o in mine)
        span = places[-1][1] - places[0][0]
        used = s.end - s.start
        indexes = {o.index for o in mine}
        row = (
            ordinal,
            str(s.kind),
            len(mine),
            held,
            span,
            span - held,
            max([0, *gaps]),
            used,
            used - sum(o.shallow for o in inside),
            sorted({r.kind for r in heap.roots if r.pinned and r.object in indexes}),
            sorted({heap.caption(i) for i in indexes})[:5],
        )
        rows.append((held - span, ordinal, row))
    return [row for *_, row in sorted(rows)][:limit]


def free_space(heap: Heap, limit: int) -> Rows:
    names = ("Free", "System.Free", "Free Space", "Free Object")
    told = any(heap.name_of(o.index) in names for o in heap.objects)
    rows: list[Row] = []
    for ordinal, s in enumerate(heap.graph.segments):
        inside = {o.index for o in heap.objects if o.segment == ordinal}
        live = inside & heap.live
        free = {i for i in inside - live if heap.name_of(i) in names}
        used = s.end - s.start
        empty = used - heap.bytes(inside - free)
        rows.append(
            (
                ordinal,
                str(s.kind),
                used,
                heap.bytes(live),
                heap.bytes(inside - live - free),
                len(free) if told else None,
                heap.bytes(free) if told else None,
                used - heap.bytes(inside),
                empty / used if used else 0.0,
            )
        )
    return rows[:limit]


def string_duplicates(heap: Heap, type: str, min_count: int, limit: int) -> Rows:
    rows = []
    for t in heap.types_named(type):
        members = heap.instances([t])
        if any(o.value is not None for o in members):
            continue
        sizes: dict[int, list[int]] = defaultdict(list)
        for o in members:
            if o.index in heap.live:
                sizes[o.shallow].append(o.index)
        for size, alike in sizes.items():
            n, first = len(alike), min(alike)
            if n >= min_count:
                address = heap.objects[first].address
                row = (type, size, n, n * size, (n - 1) * size, address)
                rows.append((-row[4], -n, first, row))
    return [row for *_, row in sorted(rows)][:limit]


def finalizable_unreachable(heap: Heap, limit: int) -> Rows:
    """Those that go together, by definition: what other roots reach is none of it."""
    roots = [r for r in heap.roots if r.holds]
    queued = {r.object for r in roots if r.kind == "finalizer_queue"}
    queued -= {r.object for r in roots if r.kind != "finalizer_queue"}
    tops = set(heap.children(None))
    found = set(queued)
    while True:
        # Whatever is above a holder in the tree keeps it; of those one is at the top.
        lost = {
            i
            for i in found
            for h in heap.holders(i)
            if not ({h, *heap.dominators(h)} & tops) <= found
        }
        if not lost:
            break
        found -= lost
    otherwise, todo = set[int](), [r.object for r in roots if r.object not in queued]
    while todo:
        if (i := todo.pop()) not in otherwise:
            otherwise.add(i)
            todo += heap.objects[i].strong
    assert not found & otherwise
    groups: dict[str, set[int]] = defaultdict(set)
    for i in found:
        groups[heap.name_of(i)].add(i)
    rows: list[Row] = [
        (
            name,
            len(members),
            heap.bytes(members),
            _retained(heap, members),
            _largest(heap, members),
        )
        for name, members in groups.items()
    ]
    return sorted(rows, key=lambda r: (-r[3], -r[1], r[0]))[:limit]  # type: ignore[operator]
