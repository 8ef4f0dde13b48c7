"""What queries about heaps of V8 must answer, from the twin."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cypher.answers import Rows
    from tests.cypher.twin import Heap, Obj

_NO_VARIABLES = {None, "previous", "scope_info", "map", "extension"}


def _live(heap: Heap, begin: str) -> list[Obj]:
    """Reachable instances of types whose names begin like that."""
    return [
        o
        for o in heap.objects
        if o.index in heap.live
        and o.type is not None
        and heap.type_name(o.type).startswith(begin)
    ]


def module_state(heap: Heap, limit: int) -> Rows:
    found = set()
    for scope in _live(heap, "module "):
        assert scope.type is not None
        pairs = [
            *zip(scope.strong, scope.strong_fields, strict=True),
            *zip(scope.weak, scope.weak_fields, strict=True),
        ]
        for target, field in pairs:
            if field not in _NO_VARIABLES:
                own = heap.dominator(target) == scope.index
                found.add(
                    (
                        heap.type_name(scope.type).removeprefix("module "),
                        str(field),
                        heap.name_of(target),
                        heap.objects[target].address,
                        heap.retained_bytes(target) if own else 0,
                        scope.index,
                        target,
                    )
                )
    ordered = sorted(found, key=lambda row: (-row[4], row[5], row[1], row[6]))
    return [row[:5] for row in ordered][:limit]


def detached_dom(heap: Heap, limit: int) -> Rows:
    groups: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for o in _live(heap, "Detached "):
        assert o.type is not None
        above = heap.dominator(o.index)
        held_by = heap.name_of(above) if above is not None and above >= 0 else None
        groups[(heap.type_name(o.type), held_by)].append(o.index)
    rows = []
    for (name, held_by), nodes in groups.items():
        largest = min(nodes, key=lambda i: (-heap.retained_bytes(i), i))
        total = sum(map(heap.retained_bytes, nodes))
        address = heap.objects[largest].address
        rows.append((name, held_by, len(nodes), total, address, largest))
    ordered = sorted(rows, key=lambda row: (-row[3], row[5]))
    return [row[:5] for row in ordered][:limit]


def script_functions(heap: Heap, limit: int) -> Rows:
    groups: dict[str | None, list[tuple[Obj, int | None]]] = defaultdict(list)
    for c in _live(heap, "Function"):
        pairs = zip(c.strong, c.strong_fields, strict=True)
        context = next((to for to, field in pairs if field == "context"), None)
        groups[c.value].append((c, context))
    rows = []
    for function, members in groups.items():
        contexts = {context for _, context in members if context is not None}

        def size(member: tuple[Obj, int | None]) -> tuple[int, int]:
            o, context = member
            held = 0 if context is None else heap.retained_bytes(context)
            return -held, o.index

        largest = min(members, key=size)[0]
        rows.append(
            (
                function,
                len(members),
                len(contexts),
                sum(map(heap.retained_bytes, contexts)),
                largest.address,
                largest.index,
            )
        )
    ordered = sorted(rows, key=lambda row: (-row[3], -row[1], row[5]))
    return [row[:5] for row in ordered][:limit]
