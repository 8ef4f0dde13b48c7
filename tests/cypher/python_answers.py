"""What queries about heaps of CPython must answer, from the twin."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.cypher.answers import Rows
    from tests.cypher.twin import Heap, Obj

_SUSPENDED = {"coroutine", "generator", "async_generator"}
_AWAITED = {"cr_await", "gi_yieldfrom", "ag_await"}


def _of(heap: Heap, *names: str) -> list[Obj]:
    """Reachable instances of types of these names."""
    return [
        o
        for o in heap.objects
        if o.index in heap.live and heap.name_of(o.index) in names
    ]


def _to(o: Obj, *fields: str) -> set[int]:
    """What an object refers to by one of these fields; by any if there are none."""
    targets, names = (*o.strong, *o.weak), (*o.strong_fields, *o.weak_fields)
    return {
        to
        for to, name in zip(targets, names, strict=True)
        if not fields or name in fields
    }


def _from(heap: Heap, i: int, field: str) -> int:
    """Number of reachable objects that refer to one by this field."""
    return sum(o.index in heap.live and i in _to(o, field) for o in heap.objects)


def _sum(heap: Heap, objects: Iterable[int]) -> int:
    return sum(map(heap.retained_bytes, objects))


def _largest(heap: Heap, members: list[Obj]) -> Obj:
    return min(members, key=lambda o: (-heap.retained_bytes(o.index), o.index))


def _groups(pairs: Iterable[tuple[Any, Obj]]) -> dict[Any, list[Obj]]:
    found: dict[Any, list[Obj]] = defaultdict(list)
    for key, o in pairs:
        found[key].append(o)
    return found


def _indexes(members: list[Obj]) -> list[int]:
    return [o.index for o in members]


def _sorted(
    heap: Heap, groups: Sequence[tuple[tuple[object, ...], list[Obj], int, int]], n: int
) -> Rows:
    """Rows, each with its members, its bytes and its number."""
    ordered = sorted(groups, key=lambda g: (-g[2], -g[3], _largest(heap, g[1]).index))
    return [(*row, _largest(heap, members).address) for row, members, *_ in ordered][:n]


def lru_caches(heap: Heap, limit: int) -> Rows:
    caches = _of(heap, "functools._lru_cache_wrapper")
    rows = []
    for function, members in _groups((c.value, c) for c in caches).items():
        held = _sum(heap, _indexes(members))
        rows.append(((function, len(members), held), members, held, len(members)))
    return _sorted(heap, rows, limit)


def function_closures(heap: Heap, limit: int) -> Rows:
    cells_of = {}
    for f in _of(heap, "function"):
        cells = {
            cell
            for tuples in _to(f, "__closure__")
            if heap.name_of(tuples) == "tuple"
            for cell in _to(heap.objects[tuples])
            if heap.name_of(cell) == "cell"
        }
        if cells:
            cells_of[f.index] = cells
    closures = [heap.objects[i] for i in cells_of]
    rows = []
    for function, members in _groups((f.value, f) for f in closures).items():
        cells = set[int]().union(*(cells_of[f.index] for f in members))
        held, many = _sum(heap, cells), len(members)
        rows.append(((function, many, len(cells), held), members, held, many))
    return _sorted(heap, rows, limit)


def kept_frames(heap: Heap, limit: int) -> Rows:
    rows = []
    for frame, members in _groups((f.value, f) for f in _of(heap, "frame")).items():
        tracebacks = sum(_from(heap, f.index, "tb_frame") for f in members)
        held, many = _sum(heap, _indexes(members)), len(members)
        rows.append(((frame, many, tracebacks, held), members, held, many))
    return _sorted(heap, rows, limit)


def _waits_for(heap: Heap, c: Obj) -> str | None:
    found = []
    for to in _to(c, *_AWAITED):
        name = heap.name_of(to)
        value = heap.objects[to].value if name in _SUSPENDED else None
        if heap.objects[to].type is not None and name != "NoneType":
            found.append(name if value is None else value)
    return min(found, default=None)


def coroutines(heap: Heap, limit: int) -> Rows:
    groups = _groups(
        ((heap.name_of(c.index), c.value, _waits_for(heap, c)), c)
        for c in _of(heap, *_SUSPENDED)
    )
    rows = []
    for key, members in groups.items():
        tasks = sum(_from(heap, c.index, "_coro") for c in members)
        held, many = _sum(heap, _indexes(members)), len(members)
        rows.append(((*key, many, tasks, held), members, held, many))
    return _sorted(heap, rows, limit)


def _text(heap: Heap, o: Obj, field: str) -> str | None:
    texts = [to for to in _to(o, field) if heap.name_of(to) == "str"]
    values = [heap.objects[to].value for to in texts]
    return min((v for v in values if v is not None), default=None)


def log_records(heap: Heap, limit: int) -> Rows:
    groups = _groups(
        ((_text(heap, r, "name"), _text(heap, r, "msg")), r)
        for r in _of(heap, "logging.LogRecord")
    )
    rows = []
    for key, members in groups.items():
        held, many = _sum(heap, _indexes(members)), len(members)
        rows.append(((*key, many, held), members, held, many))
    return _sorted(heap, rows, limit)


def module_variables(heap: Heap, limit: int) -> Rows:
    found: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for root in heap.roots:
        if root.kind == "static" and root.holds and "." in (root.field or ""):
            assert root.field is not None
            module = root.field.rpartition(".")[0]
            found[module][root.object].append(root.field)
    rows = []
    for module, objects in found.items():
        own = {
            o: heap.retained_bytes(o) if heap.dominator(o) is None else 0
            for o in objects
        }
        largest = min(objects, key=lambda o: (-own[o], o))
        row = (
            module,
            sum(map(len, objects.values())),
            len(objects),
            sum(own.values()),
            min(objects[largest]),
            heap.objects[largest].address,
        )
        rows.append(row)
    return sorted(rows, key=lambda row: (-row[3], row[0]))[:limit]


def finalizable_garbage(heap: Heap, limit: int) -> Rows:
    groups: dict[int, list[Obj]] = defaultdict(list)
    for o in heap.objects:
        orders = {m for k in _to(o) for m in _to(heap.objects[k], "__mro__")}
        kinds = {kind for order in orders for kind in _to(heap.objects[order])}
        has_finalizer = any(_to(heap.objects[kind], "__del__") for kind in kinds)
        if o.index not in heap.live and o.type is not None and has_finalizer:
            groups[o.type].append(o)
    rows = []
    for kind, some in groups.items():
        size = sum(o.shallow for o in some)
        row = (heap.type_name(kind), len(some), size, some[0].address)
        rows.append((-len(some), -size, kind, row))
    return [row for *_, row in sorted(rows, key=lambda row: row[:3])][:limit]
