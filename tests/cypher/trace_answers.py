"""What queries about a trace must answer, from the heap that lived it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.dumps.trace import TYPES

if TYPE_CHECKING:
    from tests.cypher.path_answers import Rows
    from tests.cypher.twin import Heap, Obj
    from tests.dumps.trace import Seen


def _then_and_now(
    heap: Heap, earlier: str | None
) -> tuple[dict[int, Seen], dict[int, Seen], str] | None:
    """What was seen in the earlier dump and in this one, by identity; its name."""
    trace = heap.trace
    if trace is None or not trace.names[:-1]:
        return None
    name = trace.names[-2] if earlier is None else earlier
    if name not in trace.names[:-1]:
        return None
    then, now = (
        {id(seen.thing): seen for seen in trace.dumps[at].objects}
        for at in (trace.names.index(name), -1)
    )
    return then, now, name


def _rows_of_now(heap: Heap) -> list[tuple[Obj, Seen]]:
    """Objects of the dump, each with the thing that it is."""
    if heap.trace is None:
        return []
    return list(zip(heap.objects, heap.trace.dumps[-1].objects, strict=True))


def survivors_of_dump(heap: Heap, earlier: str | None, limit: int) -> Rows:
    if (found := _then_and_now(heap, earlier)) is None:
        return []
    then, now, name = found
    groups: dict[int, list[int]] = defaultdict(list)
    for who in then.keys() & now.keys():
        groups[then[who].thing.type].append(who)
    rows = []
    for kind, both in groups.items():
        before = sum(seen.thing.type == kind for seen in then.values())
        rows.append(
            (
                TYPES[kind],
                len(both),
                sum(now[who].thing.size for who in both),
                sum(now[who].at != then[who].at for who in both),
                before,
                len(both) / before,
                name,
            )
        )
    return sorted(rows, key=lambda r: (-r[2], -r[1], r[0]))[:limit]


def born_between(heap: Heap, earlier: str | None, limit: int) -> Rows:
    if (found := _then_and_now(heap, earlier)) is None:
        return []
    then, _, name = found
    groups: dict[int, list[tuple[Obj, Seen]]] = defaultdict(list)
    for pair in _rows_of_now(heap):
        if id(pair[1].thing) not in then:
            groups[pair[1].thing.type].append(pair)
    rows = []
    for kind, new in groups.items():
        largest = max(new, key=lambda p: (heap.retained_bytes(p[0].index), -p[0].index))
        rows.append(
            (
                TYPES[kind],
                len(new),
                sum(seen.thing.size for _, seen in new),
                sum(seen.survived > 1 for _, seen in new),
                largest[0].address,
                heap.retained_bytes(largest[0].index),
                name,
            )
        )
    return sorted(rows, key=lambda r: (-r[2], -r[1], r[0]))[:limit]


def died_between(heap: Heap, earlier: str | None, limit: int) -> Rows:
    if (found := _then_and_now(heap, earlier)) is None:
        return []
    then, now, name = found
    gone = Counter(then[who].thing.type for who in then.keys() - now.keys())
    rows = []
    for kind, many in gone.items():
        size = sum(
            then[who].thing.size
            for who in then.keys() - now.keys()
            if then[who].thing.type == kind
        )
        before = sum(seen.thing.type == kind for seen in then.values())
        share = many / before
        rows.append((TYPES[kind], many, size, before, share, name))
    return sorted(rows, key=lambda r: (-r[2], -r[1], r[0]))[:limit]


def survivors_of_three(
    heap: Heap, first: str | None, second: str | None, limit: int
) -> Rows:
    trace = heap.trace
    if trace is None or second not in (None, trace.names[-2]):
        return []
    assert first is None
    one, two = trace.names[-3:-1]
    last = {id(seen.thing): row for row, (_, seen) in enumerate(_rows_of_now(heap))}
    before, middle = (
        {id(seen.thing): seen for seen in trace.dumps[at].objects} for at in (-3, -2)
    )
    groups: dict[int, list[int]] = defaultdict(list)
    for who in middle.keys() - before.keys():
        groups[middle[who].thing.type].append(who)
    rows = []
    for kind, new in groups.items():
        if kept := [last[who] for who in new if who in last]:
            largest = max(kept, key=lambda row: (heap.retained_bytes(row), -row))
            rows.append(
                (
                    TYPES[kind],
                    len(kept),
                    sum(heap.objects[row].shallow for row in kept),
                    len(new),
                    len(kept) / len(new),
                    heap.objects[largest].address,
                    heap.retained_bytes(largest),
                    one,
                    two,
                )
            )
    return sorted(rows, key=lambda r: (-r[2], -r[1], r[0]))[:limit]
