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


def attribute_layouts(heap: Heap, type: str, limit: int) -> Rows:
    groups: dict[tuple[str, ...], list[Obj]] = defaultdict(list)
    for o in _of(heap, type):
        found = {name for name in o.strong_fields if name is not None}
        own = sorted(n for n in found if n != "(key)" and not n.startswith("["))
        groups[tuple(own)].append(o)
    rows = []
    for names, some in groups.items():
        size = sum(o.shallow for o in some)
        row = (", ".join(names), len(names), len(some), size, some[0].address)
        rows.append((-len(some), -size, some[0].index, row))
    return [row for *_, row in sorted(rows)][:limit]


def context_variables(heap: Heap, limit: int) -> Rows:
    found: dict[str, set[int]] = defaultdict(set)
    variables = _of(heap, "ContextVar", "_contextvars.ContextVar")
    for node in _of(heap, "hamt_bitmap_node", "hamt_collision_node"):
        for variable in variables:
            if variable.index in _to(node) and variable.value is not None:
                found[variable.value] |= _to(node, variable.value)
    rows = []
    for name, held in found.items():
        values = [heap.objects[i] for i in held]
        if values:
            total, largest = _sum(heap, held), _largest(heap, values)
            row = (name, len(values), total, largest.address)
            rows.append((-total, -len(values), largest.index, name, row))
    return [row for *_, row in sorted(rows)][:limit]


def _locals(heap: Heap) -> list[Obj]:
    """Reachable instances of ``threading.local`` and of classes that extend it."""
    graph, name = heap.graph, "_thread._local"
    described = [] if graph.type_object is None else graph.type_object.tolist()
    bases = {described[t] for t in heap.types_named(name) if described}
    kinds = {
        graph.type_names[t]
        for t, k in enumerate(described)
        if k >= 0
        for order in _to(heap.objects[k], "__mro__")
        if bases & _to(heap.objects[order])
    }
    return _of(heap, name, *kinds) if heap.types_named(name) else []


def thread_local_values(heap: Heap, limit: int) -> Rows:
    rows = []
    for o in _locals(heap):
        dicts = {
            d
            for table in _to(o, "(threads)")
            for d in _to(heap.objects[table])
            if heap.name_of(d) == "dict"
        }
        fields = {f for d in dicts for f in heap.objects[d].strong_fields}
        variables = [r.field for r in heap.roots_of(o.index) if r.kind == "static"]
        for field in fields:
            if field is None or not field.startswith("["):
                continue
            having = [d for d in dicts if _to(heap.objects[d], field)]
            values = {v for d in having for v in _to(heap.objects[d], field)}
            held = _sum(heap, values)
            row = (
                min((v for v in variables if v is not None), default=None),
                heap.name_of(o.index),
                o.address,
                field[2:-2] if field.startswith("['") else field,
                len(having),
                held,
                _largest(heap, [heap.objects[v] for v in values]).address,
            )
            rows.append((-held, o.index, field, row))
    return [row for *_, row in sorted(rows)][:limit]


def _type_name(heap: Heap, i: int | None) -> str | None:
    return None if i is None or heap.objects[i].type is None else heap.name_of(i)


def numpy_arrays(heap: Heap, limit: int) -> Rows:
    def size(a: Obj) -> int:
        return a.shallow + (a.external[1] or 0)

    arrays = _of(heap, "numpy.ndarray")
    arrays = [a for a in arrays if a.external[1] or not _to(a, "base")]
    rows = []
    for a in sorted(arrays, key=lambda a: (-size(a), a.index))[:limit]:
        above = heap.dominator(a.index)
        holder = above
        if above is not None and a.index in _to(heap.objects[above], "base"):
            further = heap.dominator(above)
            holder = above if further is None else further
        frame, steps = above, 1
        while frame is not None and not _is_frame(_type_name(heap, frame)):
            frame, steps = heap.dominator(frame), steps + 1
        frame = frame if steps <= 16 else None
        rows.append(
            (
                a.address,
                a.value,
                a.shallow,
                a.external[1],
                _from(heap, a.index, "base"),
                _type_name(heap, holder),
                _type_name(heap, frame),
                None if frame is None else heap.objects[frame].address,
            )
        )
    return rows


def _is_frame(name: str | None) -> bool:
    words = ("DataFrame", "Series", "Index")
    return name is not None and name.startswith("pandas.") and name.endswith(words)
