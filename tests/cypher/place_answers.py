"""What queries about segments and generations must answer, from the twin."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cypher.answers import Rows
    from tests.cypher.twin import Heap, Obj

_NAMES = ("gen 0", "gen 1", "gen 2", "large objects", "pinned objects")


def _in_segment(heap: Heap, ordinal: int) -> list[Obj]:
    return [o for o in heap.objects if o.segment == ordinal]


def _bytes(objects: list[Obj]) -> int:
    return sum(o.shallow for o in objects)


def _alive(heap: Heap, objects: list[Obj]) -> list[Obj]:
    return [o for o in objects if o.index in heap.live]


def segments(heap: Heap, limit: int) -> Rows:
    rows = []
    for ordinal, s in enumerate(heap.graph.segments):
        inside = _in_segment(heap, ordinal)
        used = s.end - s.start
        rows.append(
            (
                ordinal,
                hex(s.start),
                hex(s.end),
                None if s.reserved_end is None else hex(s.reserved_end),
                str(s.kind),
                used,
                len(inside),
                _bytes(inside),
                used - _bytes(inside),
            )
        )
    return rows[:limit]


def generation_histogram(heap: Heap, limit: int) -> Rows:
    rows = []
    known = [o for o in heap.objects if o.generation is not None]
    for age in sorted({o.generation for o in known if o.generation is not None}):
        mine = [o for o in known if o.generation == age]
        live = _alive(heap, mine)
        share = _bytes(mine) / _bytes(known) if _bytes(known) else 0.0
        name = _NAMES[age]
        counts = (len(mine), _bytes(mine), len(live), _bytes(live))
        rows.append((age, name, *counts, share))
    return rows[:limit]


def large_objects(heap: Heap, limit: int) -> Rows:
    rows = []
    found = [o for o in heap.objects if o.generation == 3]
    for o in sorted(found, key=lambda o: (-o.shallow, o.index)):
        alive = o.index in heap.live
        above = heap.dominator(o.index) if alive else None
        rows.append(
            (
                heap.name_of(o.index),
                o.address,
                o.shallow,
                heap.retained_bytes(o.index),
                o.segment,
                alive,
                None if above is None else heap.name_of(above),
            )
        )
    return rows[:limit]


def across_generations(heap: Heap, holders: int, held: int, limit: int) -> Rows:
    groups: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for a in heap.objects:
        if a.generation == holders:
            for b in a.strong:
                if heap.objects[b].generation == held:
                    key = (heap.name_of(a.index), heap.name_of(b))
                    groups[key].append((a.index, b))
    rows = []
    for key, pairs in groups.items():
        kept = sum(
            heap.retained_bytes(b)
            for a, b in set(pairs)
            if b in heap.live and heap.dominator(b) == a
        )
        who, targets = ({pair[at] for pair in pairs} for at in (0, 1))
        rows.append((*key, len(pairs), len(who), len(targets), kept))
    return sorted(rows, key=lambda r: (-r[5], -r[2], r[0], r[1]))[:limit]


def walk(heap: Heap, segment: int, start: str, limit: int) -> Rows:
    inside = [
        o for o in _in_segment(heap, segment) if int(o.address, 16) >= int(start, 16)
    ]
    return [
        (
            o.address,
            o.shallow,
            o.generation,
            heap.name_of(o.index),
            o.index in heap.live,
        )
        for o in sorted(inside, key=lambda o: int(o.address, 16))
    ][:limit]


def objsize(heap: Heap, address: str, limit: int) -> Rows:
    rows = []
    for o in heap.at(address):
        found, todo = set[int](), [o.index]
        while todo:
            if (i := todo.pop()) not in found:
                found.add(i)
                todo += heap.objects[i].strong
        retained = heap.retained_bytes(o.index)
        rows.append(
            (
                o.domain,
                heap.name_of(o.index),
                len(found),
                heap.bytes(found),
                heap.retained_count(o.index),
                retained,
                heap.bytes(found) - retained,
            )
        )
    return rows[:limit]


def gc_timeline(heap: Heap, limit: int) -> Rows:
    return [
        (
            one.number,
            one.generation,
            one.reason,
            one.mode,
            one.started_us,
            one.duration_us,
            one.heap_bytes,
            one.promoted_bytes,
            one.moved_bytes,
            one.unmoved_bytes,
            one.is_dump,
        )
        for one in heap.graph.collections
    ][:limit]
