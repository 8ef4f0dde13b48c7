"""What queries about Java heaps must answer, from the twin."""

from __future__ import annotations

from collections import Counter, defaultdict
from re import fullmatch
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.values import ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.cypher.answers import Rows
    from tests.cypher.twin import Heap, Obj

_NUMBERS = {"boolean", "byte", "char", "double", "float", "int", "long", "short"}
_NO_OBJECTS = {f"{name}[]" for name in _NUMBERS}


def _name(heap: Heap, o: Obj) -> str:
    return "" if o.type is None else heap.type_name(o.type)


def _live(heap: Heap, pattern: str) -> list[Obj]:
    """Reachable instances of types whose names match."""
    return [
        o
        for o in heap.objects
        if o.index in heap.live and fullmatch(pattern, _name(heap, o))
    ]


def _through(o: Obj, *fields: str, weak: bool = False) -> list[int]:
    """What an object refers to through these fields."""
    pairs = list(zip(o.strong, o.strong_fields, strict=True))
    if weak:
        pairs += zip(o.weak, o.weak_fields, strict=True)
    return [target for target, field in pairs if field in fields]


def _largest(heap: Heap, objects: Iterable[int]) -> str:
    first = min(objects, key=lambda i: (-heap.retained_bytes(i), i))
    return heap.objects[first].address


def sparse_arrays(
    heap: Heap, min_length: int, max_fill: float, pattern: str, limit: int
) -> Rows:
    groups: dict[tuple[str | None, str], list[tuple[int, int, Obj]]] = defaultdict(list)
    for a in _live(heap, pattern):
        used = len(a.strong) + len(a.weak)
        if a.length is None or a.length < min_length or used > max_fill * a.length:
            continue
        owner = heap.dominator(a.index)
        of = None if owner is None else heap.name_of(owner)
        wasted = a.shallow // a.length * (a.length - used)
        groups[(of, _name(heap, a))].append((wasted, used, a))
    rows = []
    for (of, name), found in groups.items():
        first = min(found, key=lambda one: (-one[0], one[2].index))
        rows.append(
            (
                of,
                name,
                len(found),
                sum(used == 0 for _, used, _ in found),
                sum(a.length or 0 for _, _, a in found),
                sum(used for _, used, _ in found),
                sum(wasted for wasted, _, _ in found),
                first[2].address,
            )
        )
    return sorted(rows, key=lambda r: (-r[6], -r[2], r[0] is None, r[0] or "", r[1]))[
        :limit
    ]


def collections(heap: Heap, pattern: str, nodes: str, limit: int) -> Rows:
    groups: dict[int, list[tuple[int, int, int, bool, Obj]]] = defaultdict(list)
    for c in _live(heap, pattern):
        slots = used = unused = 0
        for i in set(c.strong):
            a, name = heap.objects[i], heap.name_of(i)
            is_array = name.endswith("[]") and name not in _NO_OBJECTS
            if a.length and (is_array or name == "dart:core::_List"):
                here = len(a.strong) + len(a.weak)
                slots, used = slots + a.length, used + here
                unused += a.shallow // a.length * (a.length - here)
        empty = used == 0 and not _through(c, *nodes.split())
        wasted = heap.retained_bytes(c.index) if empty else unused
        assert c.type is not None
        groups[c.type].append((wasted, slots, used, empty, c))
    rows = []
    for kind, found in groups.items():
        slots, used = sum(one[1] for one in found), sum(one[2] for one in found)
        first = min(found, key=lambda one: (-one[0], one[4].index))
        row = (
            heap.type_name(kind),
            len(found),
            sum(one[3] for one in found),
            sum(wasted for wasted, _, _, empty, _ in found if empty),
            slots,
            used,
            100 * used // slots if slots else None,
            sum(one[0] for one in found),
            first[4].address,
        )
        rows.append((-row[7], -row[1], kind, row))
    return [row for *_, row in sorted(rows)][:limit]


def boxed_numbers(heap: Heap, limit: int) -> Rows:
    rows = []
    kinds = {t for t in range(len(heap.graph.type_names)) if _is_number(heap, t)}
    for kind in kinds:
        found = [o for o in heap.instances([kind]) if o.index in heap.live]
        counts = Counter(o.value for o in found if o.value is not None)
        if not counts:
            continue
        value, most = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        size = max(o.shallow for o in found)
        assert all(o.shallow == size for o in found)
        row = (
            heap.type_name(kind),
            counts.total(),
            counts.total() * size,
            len(counts),
            (counts.total() - len(counts)) * size,
            value,
            most,
        )
        rows.append((-row[4], -row[1], kind, row))
    return [row for *_, row in sorted(rows)][:limit]


def _is_number(heap: Heap, kind: int) -> bool:
    """Whether the first instance of a type that has a value has a number."""
    g = heap.graph
    if g.values is None:
        return False
    at = np.flatnonzero(g.type_index[g.values.object_index] == kind)
    numbers = (ValueKind.INTEGER, ValueKind.DOUBLE, ValueKind.BOOLEAN)
    return len(at) > 0 and g.values.kind[at[0]] in numbers


def colliding_keys(heap: Heap, min_chain: int, pattern: str, limit: int) -> Rows:
    rows = []
    for table in _live(heap, pattern):
        chains = []
        for i in table.strong:
            found, todo = dict[int, None](), [i]
            while todo:
                if (at := todo.pop(0)) not in found:
                    found[at] = None
                    others = _through(heap.objects[at], "next", "first")
                    todo += set(others) - set(table.strong)
            chain = [o for o in map(heap.objects.__getitem__, found) if _has_key(o)]
            chains.append((-len(chain), i, chain[0]))
        if not chains or -min(chains)[0] < min_chain:
            continue
        longest, _, first = min(chains)
        keys = _through(first, "key", "referent", weak=True)
        live = map(heap.objects.__getitem__, sorted(heap.live))
        maps = [m for m in live if table.index in _through(m, "table")]
        count = -sum(one[0] for one in chains)
        row = (
            _name(heap, maps[0]),
            maps[0].address,
            count,
            table.length,
            len(chains),
            -longest,
            heap.name_of(keys[0]) if keys else None,
            heap.retained_bytes(maps[0].index),
        )
        rows.append((longest, -count, table.index, row))
    return [row for *_, row in sorted(rows)][:limit]


def _has_key(node: Obj) -> bool:
    """The head of a tree in a ConcurrentHashMap has none."""
    return not _through(node, "first")


def thread_locals(heap: Heap, limit: int) -> Rows:
    rows = []
    for entry in _live(heap, r"java\.lang\.ThreadLocal\$ThreadLocalMap\$Entry"):
        for value in _through(entry, "value"):
            (table,) = heap.holders(entry.index)
            (map_,) = heap.holders(table)
            (thread,) = heap.holders(map_)
            local = _through(entry, "referent", weak=True)
            names = [
                f"static root in {heap.graph.captions.of(_declaring(heap, r.type))}"
                f".{r.field}"
                for r in heap.roots
                if local and r.object == local[0] and r.kind == "static"
            ]
            held = local and heap.is_held(local[0], not_by=("weak", "phantom"))
            row = (
                heap.objects[thread].value,
                names[0] if names else None,
                heap.name_of(local[0]) if local else None,
                heap.name_of(value),
                heap.objects[value].address,
                heap.retained_bytes(value),
                not held,
            )
            rows.append((-row[5], value, thread, entry.index, row))
    return [row for *_, row in sorted(rows)][:limit]


def _declaring(heap: Heap, kind: int | None) -> str:
    return "" if kind is None else heap.graph.type_names[kind]


def java_finalizers(heap: Heap, limit: int) -> Rows:
    groups: dict[str, list[tuple[int, bool, bool]]] = defaultdict(list)
    for f in _live(heap, r"java\.lang\.ref\.Finalizer"):
        waiting = any(
            heap.name_of(q).startswith("java.lang.ref.ReferenceQueue$")
            for q in _through(f, "queue")
        )
        for o in _through(f, "referent", weak=True):
            only = not heap.is_held(o, by_others_than=f.index)
            groups[heap.name_of(o)].append((o, waiting, only))
    rows = [
        (
            name,
            len(found),
            sum(waiting for _, waiting, _ in found),
            sum(only for *_, only in found),
            sum(heap.retained_bytes(o) for o, *_ in found),
            _largest(heap, [o for o, *_ in found]),
        )
        for name, found in groups.items()
    ]
    return sorted(rows, key=lambda r: (-r[4], -r[1], r[0]))[:limit]


def _loaded_types(heap: Heap) -> list[tuple[int, int | None]]:
    """Types that have a class object, each with its loader."""
    g = heap.graph
    if g.type_object is None or g.type_loader is None:
        return []
    return [
        (t, int(g.type_loader[t]) if g.type_loader[t] >= 0 else None)
        for t in range(len(g.type_names))
        if g.type_object[t] >= 0
    ]


def class_loaders(heap: Heap, limit: int) -> Rows:
    types = _loaded_types(heap)
    if all(loader is None for _, loader in types):
        return []
    seen: dict[tuple[str | None, str], set[int | None]] = defaultdict(set)
    for t, loader in types:
        of = None if loader is None else heap.name_of(loader)
        seen[(of, heap.type_name(t))].add(loader)
    rows = []
    for loader in {loader for _, loader in types}:
        mine = [t for t, of in types if of == loader]
        found = heap.instances(mine)
        of = None if loader is None else heap.name_of(loader)
        repeated = sum(len(seen[(of, heap.type_name(t))]) > 1 for t in mine)
        retained = 0 if loader is None else heap.retained_bytes(loader)
        row = (
            "<bootstrap>" if loader is None else of,
            None if loader is None else heap.objects[loader].address,
            len(mine),
            repeated,
            len(found),
            sum(o.shallow for o in found),
            None if loader is None else retained,
            loader is None or loader in heap.live,
        )
        rows.append((-repeated, -retained, -len(mine), loader or 0, row))
    return [row for *_, row in sorted(rows)][:limit]


def repeated_classes(heap: Heap, limit: int) -> Rows:
    by_name: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
    for t, loader in _loaded_types(heap):
        by_name[heap.type_name(t)].append((t, loader))
    rows = []
    for name, found in by_name.items():
        loaders = list(dict.fromkeys(loader for _, loader in found))
        named = [loader for loader in loaders if loader is not None]
        if len(loaders) > 1:
            members = heap.instances([t for t, _ in found])
            rows.append(
                (
                    name,
                    len(loaders),
                    sorted({heap.name_of(loader) for loader in named}),
                    len(members),
                    sum(o.shallow for o in members),
                    [heap.objects[loader].address for loader in named][:5],
                )
            )
    return sorted(rows, key=lambda r: (-r[1], -r[4], r[0]))[:limit]


_LOCALS = ("java_frame", "jni_local", "native_stack")


def threads(heap: Heap, limit: int) -> Rows:
    top, rows = set(heap.children(None)), []
    found = {r.object: r for r in heap.roots if r.kind == "thread"}
    for root in found.values():
        mine = [
            r
            for r in heap.roots
            if r.kind in _LOCALS and r.owner == root.owner and r.object not in found
        ]
        held = {r.object: 0 for r in mine}
        held |= {i: heap.retained_bytes(i) for i in held if i in top}
        first = min(held, key=lambda i: (-held[i], i), default=None)
        o = None if first is None or not held[first] else heap.objects[first]
        frame = None
        if o is not None and heap.graph.root_frame is not None:
            at = min(r.index for r in mine if r.object == o.index)
            assert heap.graph.stacks is not None
            frame = heap.graph.stacks.frames[heap.graph.root_frame[at]]
        thread, sums = heap.objects[root.object], sum(held.values())
        retained = heap.retained_bytes(thread.index)
        row = (
            root.owner,
            _name(heap, thread),
            thread.address,
            retained,
            len(held),
            sums,
            None if o is None else _name(heap, o),
            None if o is None else o.address,
            None if o is None else held[o.index],
            frame,
        )
        rows.append((-retained - sums, thread.index, row))
    return [row for *_, row in sorted(rows)][:limit]


def held_by_strength(heap: Heap, limit: int) -> Rows:
    groups: dict[tuple[str, str], list[Obj]] = defaultdict(list)
    for o in heap.objects:
        if o.strength is not None:
            groups[(o.strength, heap.name_of(o.index))].append(o)
    rows = [
        (
            strength,
            name,
            len(found),
            sum(o.shallow for o in found),
            max(heap.retained_bytes(o.index) for o in found),
            _largest(heap, [o.index for o in found]),
        )
        for (strength, name), found in groups.items()
    ]
    return sorted(rows, key=lambda r: (-r[3], -r[2], r[0], r[1]))[:limit]


def spaces(heap: Heap, limit: int) -> Rows:
    g, rows = heap.graph, []
    if g.space is None:
        return []
    top = set(heap.children(None))
    for number, name in enumerate(g.spaces):
        found = [o for o in heap.objects if g.space[o.index] == number]
        if found:
            rows.append(
                (
                    name,
                    len(found),
                    sum(o.shallow for o in found),
                    sum(o.index not in heap.live for o in found),
                    sum(heap.retained_bytes(o.index) for o in found if o.index in top),
                )
            )
    return sorted(rows, key=lambda r: (-r[2], r[0]))[:limit]


def destroyed_components(heap: Heap, bases: str, limit: int) -> Rows:
    types = {heap.type_name(t): t for t in range(len(heap.graph.type_names))}
    objects = heap.graph.type_object
    rows = []
    for base in bases.split() if objects is not None else []:
        for o in heap.objects:
            if base not in types or o.type is None or o.index not in heap.live:
                continue
            assert objects is not None
            at, names = [int(objects[o.type])], []
            while at and at[0] >= 0:
                names.append(heap.objects[at[0]].value)
                at = _through(heap.objects[at[0]], "<super>", weak=True)
            gone = o.value == "destroyed" or (
                "Fragment" in base and not _through(o, "mFragmentManager", weak=True)
            )
            if base in names and gone:
                holder = heap.dominator(o.index)
                row = (
                    base,
                    _name(heap, o),
                    o.address,
                    heap.retained_bytes(o.index),
                    None if holder is None else heap.name_of(holder),
                    None if holder is None else heap.objects[holder].address,
                )
                rows.append((-row[3], o.index, row))
    return [row for *_, row in sorted(rows)][:limit]


def bitmaps(heap: Heap, limit: int) -> Rows:
    groups: dict[str, list[Obj]] = defaultdict(list)
    for o in _live(heap, r"android\.graphics\.Bitmap"):
        groups[o.value or ""].append(o)
    rows = []
    for size, found in groups.items():
        external = sum(o.external[1] or 0 for o in found)
        retained = sum(heap.retained_bytes(o.index) for o in found)
        largest = min(found, key=lambda o: (-heap.retained_bytes(o.index), o.index))
        holder = heap.dominator(largest.index)
        of = None if holder is None else heap.name_of(holder)
        row = (size, len(found), external, retained, largest.address, of)
        rows.append((-external - retained, size, row))
    return [row for *_, row in sorted(rows)][:limit]
