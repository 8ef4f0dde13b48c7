"""What queries about heaps of V8 must answer, from the twin."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

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


def _of(heap: Heap, *names: str) -> list[Obj]:
    """Reachable instances of types of these names."""
    return [
        o
        for o in heap.objects
        if o.index in heap.live
        and o.type is not None
        and heap.type_name(o.type) in names
    ]


def _to(heap: Heap, o: Obj, field: str | None = None, *kinds: str) -> list[int]:
    """What an object refers to: through that field, of those types."""
    return [
        to
        for to, by in zip(o.strong, o.strong_fields, strict=True)
        if (field is None or by == field) and (not kinds or heap.name_of(to) in kinds)
    ]


def _variable(heap: Heap, above: int | None, o: int) -> str | None:
    """The field through which a dominator refers to an object."""
    if above is None:
        return None
    holder = heap.objects[above]
    fields = [
        field
        for to, field in zip(holder.strong, holder.strong_fields, strict=True)
        if to == o and field is not None and not field.startswith("[")
    ]
    return min(fields, default=None)


def _above(heap: Heap, i: int | None) -> int | None:
    """The object that dominates another."""
    above = None if i is None else heap.dominator(i)
    return above if above is not None and above >= 0 else None


def _name(heap: Heap, i: int | None) -> str | None:
    return None if i is None else heap.name_of(i)


def _contexts(heap: Heap, function: int) -> list[int]:
    """The context of a function, if it is not that of the language itself."""
    return [
        to
        for to in _to(heap, heap.objects[function], "context")
        if not (heap.objects[to].value or heap.caption(to)).startswith(
            "system / NativeContext"
        )
    ]


def _held_by_functions(
    heap: Heap, found: list[tuple[tuple[Any, ...], int, list[int]]]
) -> list[tuple[tuple[Any, ...], int, int, Obj]]:
    """Groups of what functions hold.

    Args:
        heap: The heap.
        found: A group, the object to name, and contexts, for each.

    Returns:
        The group, how many were found, the bytes of their contexts, and the object
        whose context is the largest.
    """
    groups: dict[tuple[Any, ...], list[tuple[int, list[int]]]] = defaultdict(list)
    for group, o, contexts in found:
        groups[group].append((o, contexts))
    answer = []
    for group, members in groups.items():

        def size(member: tuple[int, list[int]]) -> tuple[int, int]:
            return -sum(map(heap.retained_bytes, member[1])), member[0]

        distinct = {context for _, contexts in members for context in contexts}
        total = sum(map(heap.retained_bytes, distinct))
        largest = heap.objects[min(members, key=size)[0]]
        answer.append((group, len(members), total, largest))
    return answer


def _last(text: str | None) -> tuple[bool, str]:
    """Orders absent ones last."""
    return text is None, text or ""


def detached_dom(heap: Heap, limit: int) -> Rows:
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for o in _live(heap, "Detached "):
        name, above = heap.name_of(o.index), _above(heap, o.index)
        held_by = _name(heap, above)
        if name.startswith("Detached Node / ") or (held_by or "").startswith(
            "Detached "
        ):
            continue
        top = _above(heap, above)
        group: tuple[str | None, ...] = (
            name,
            held_by,
            _variable(heap, above, o.index),
            _name(heap, top),
            None if above is None else _variable(heap, top, above),
        )
        groups[group].append(o.index)
    rows = []
    for group, nodes in groups.items():
        largest = min(nodes, key=lambda i: (-heap.retained_bytes(i), i))
        count = sum(map(heap.retained_count, nodes))
        total = sum(map(heap.retained_bytes, nodes))
        address = heap.objects[largest].address
        rows.append((-total, largest, (*group, len(nodes), count, total, address)))
    return [row for *_, row in sorted(rows, key=lambda row: row[:2])][:limit]


def listeners(heap: Heap, limit: int) -> Rows:
    taken = []
    emitters = [o for o in heap.objects if o.index in heap.live]
    for e in emitters:
        for events in dict.fromkeys(_to(heap, e, "_events")):
            of = heap.objects[events]
            pairs = dict.fromkeys(zip(of.strong, of.strong_fields, strict=True))
            for x, event in pairs:
                if event in {None, "__proto__", "map", "properties", "elements"}:
                    continue
                found = [x]
                if heap.name_of(x) == "Array":
                    array = heap.objects[x]
                    found = [
                        to
                        for to, by in dict.fromkeys(
                            zip(array.strong, array.strong_fields, strict=True)
                        )
                        if by is not None and by.startswith("[")
                    ]
                for f in dict.fromkeys(found):
                    if heap.name_of(f) == "Function":
                        own = _to(heap, heap.objects[f], "listener", "Function") or [f]
                        taken += [(heap.name_of(e.index), e, event, one) for one in own]
    pages: list[tuple[tuple[str | None, str | None], Obj | None, int]] = [
        ((name, event), e, f) for name, e, event, f in taken
    ]
    for o in _of(heap, "Listener", "V8EventListener", "V8EventHandlerNonNull"):
        field = "callback" if heap.name_of(o.index) == "Listener" else None
        own = list(dict.fromkeys(_to(heap, o, field, "Function")))
        pages += [((None, None), None, f) for f in own]
    emitting: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    held = []
    for (name, event), emitter, f in pages:
        group = (name, event, heap.objects[f].value)
        emitting[group] |= set() if emitter is None else {emitter.index}
        held.append((group, f, _contexts(heap, f)))
    answer = [
        ((*group, count, len(emitting[group]), total, largest.address), largest.index)
        for group, count, total, largest in _held_by_functions(heap, held)
    ]
    ordered = sorted(
        answer,
        key=lambda row: (-row[0][5], -row[0][3], row[1], *map(_last, row[0][:2])),
    )
    return [row for row, _ in ordered][:limit]


def pending_timers(heap: Heap, limit: int) -> Rows:
    found = []
    for timer in _of(heap, "Timeout", "Immediate"):
        for field in ("_onTimeout", "_onImmediate"):
            found += [(timer, f) for f in _to(heap, timer, field, "Function")]
    for timer in _of(heap, "DOMTimer"):
        for action in _to(heap, timer, None, "ScheduledAction"):
            for wrapper in _to(heap, heap.objects[action], None, "V8Function"):
                of = _to(heap, heap.objects[wrapper], None, "Function")
                found += [(timer, f) for f in of]
    held = [
        (
            (heap.name_of(timer.index), heap.objects[f].value),
            timer.index,
            _contexts(heap, f),
        )
        for timer, f in dict.fromkeys(found)
    ]
    rows = [
        ((*group, count, total, largest.address), largest.index)
        for group, count, total, largest in _held_by_functions(heap, held)
    ]
    ordered = sorted(rows, key=lambda row: (-row[0][3], -row[0][2], row[1]))
    return [row for row, _ in ordered][:limit]


def pending_promises(heap: Heap, limit: int) -> Rows:
    found: dict[tuple[Any, ...], list[int]] = {}
    for x in _of(heap, "(system)", "system / PromiseReaction"):
        if (x.value or heap.name_of(x.index)) != "system / PromiseReaction":
            continue
        for f in _to(heap, x, None, "Function"):
            contexts = _to(heap, heap.objects[f], "context")
            waiting = [
                heap.objects[w].value
                for c in contexts
                for g in _to(heap, heap.objects[c], "extension")
                for w in _to(heap, heap.objects[g], "function", "Function")
            ]
            name = waiting[0] if waiting else heap.objects[f].value
            known = found.setdefault((name, bool(waiting), x.index), [])
            known += _contexts(heap, f)
    held = [
        (
            (
                name,
                is_,
            ),
            x,
            held,
        )
        for (name, is_, x), held in found.items()
    ]
    rows = [
        ((*group, count, total, largest.address), largest.index)
        for group, count, total, largest in _held_by_functions(
            heap, [(group, x, list(set(of))) for group, x, of in held]
        )
    ]
    ordered = sorted(
        rows, key=lambda row: (-row[0][3], -row[0][2], row[1], _last(row[0][0]))
    )
    return [row for row, _ in ordered][:limit]


def maps_and_sets(heap: Heap, limit: int) -> Rows:
    rows = []
    for m in _of(heap, "Map", "Set"):
        for table in dict.fromkeys(_to(heap, m, "table")):
            of = heap.objects[table]
            count = sum((by or "").startswith("[") for by in of.strong_fields)
            above = _above(heap, m.index)
            row = (
                heap.name_of(m.index),
                m.address,
                _name(heap, above),
                _variable(heap, above, m.index),
                count,
                m.shallow + of.shallow,
                heap.retained_bytes(m.index),
            )
            rows.append((row, m.index))
    ordered = sorted(rows, key=lambda row: (-row[0][6], -row[0][4], row[1]))
    return [row for row, _ in ordered][:limit]


def array_buffers(heap: Heap, limit: int) -> Rows:
    rows = []
    for b in _of(heap, "ArrayBuffer", "SharedArrayBuffer"):
        data = [heap.objects[d].shallow for d in _to(heap, b, "backing_store")]
        if not data:
            continue
        views = [
            v.index
            for v in heap.objects
            if v.index in heap.live and b.index in _to(heap, v, "buffer")
        ]
        above = _above(heap, b.index)
        if above is not None and above in views:
            above = _above(heap, above) if _above(heap, above) is not None else above
        row = (
            heap.name_of(b.index),
            b.address,
            max(data),
            len(views),
            min(map(heap.name_of, views), default=None),
            _name(heap, above),
        )
        rows.append((row, b.index))
    ordered = sorted(rows, key=lambda row: (-row[0][2], row[1]))
    return [row for row, _ in ordered][:limit]


def native_memory(heap: Heap, limit: int) -> Rows:
    graph = heap.graph
    groups: dict[int, list[Obj]] = defaultdict(list)
    for o in heap.objects:
        if o.index in heap.live and o.type is not None and graph.space is not None:
            space = int(graph.space[o.index])
            if space >= 0 and graph.spaces[space] == "native":
                groups[o.type].append(o)
    rows = []
    for kind, members in groups.items():
        largest = min(members, key=lambda o: (-o.shallow, o.index))
        total = sum(o.shallow for o in members)
        row = (heap.type_name(kind), len(members), total, largest.address)
        rows.append((row, kind))
    ordered = sorted(rows, key=lambda row: (-row[0][2], -row[0][1], row[1]))
    return [row for row, _ in ordered][:limit]


def sliced_strings(heap: Heap, limit: int) -> Rows:
    slices: dict[int, set[int]] = defaultdict(set)
    for s in _of(heap, "(sliced string)"):
        for parent in _to(heap, s, "parent"):
            slices[parent].add(s.index)
    rows = []
    for parent, of in slices.items():
        p = heap.objects[parent]
        others = {o.index for o in heap.objects if parent in o.strong} & heap.live
        is_root = any(r.object == parent and r.holds for r in heap.roots)
        kinds = {heap.name_of(o) for o in others} - {"(sliced string)"}
        row = (p.address, p.shallow, len(of), not kinds and not is_root, p.value)
        rows.append((row, parent))
    ordered = sorted(rows, key=lambda row: (-row[0][1], -row[0][2], row[1]))
    return [row for row, _ in ordered][:limit]


def concatenated_strings(heap: Heap, limit: int) -> Rows:
    chains = _of(heap, "(concatenated string)")
    parts = {to for o in chains for to in o.strong if to != o.index}
    rows = []
    for s in chains:
        if s.index in parts:
            continue
        above = _above(heap, s.index)
        row = (
            s.address,
            _name(heap, above),
            _variable(heap, above, s.index),
            heap.retained_count(s.index),
            heap.retained_bytes(s.index),
        )
        rows.append((row, s.index))
    ordered = sorted(rows, key=lambda row: (-row[0][4], row[1]))
    return [row for row, _ in ordered][:limit]


def react_fibers(heap: Heap, limit: int) -> Rows:
    groups: dict[str | None, list[Obj]] = defaultdict(list)
    for f in _of(heap, "FiberNode"):
        kinds = _to(heap, f, "type", "Function", "(string)")
        values = [heap.objects[to].value or "" for to in kinds]
        groups[min(values, default=None)].append(f)
    rows = []
    for component, fibers in groups.items():
        largest = min(fibers, key=lambda f: (-heap.retained_bytes(f.index), f.index))
        without = sum(not _to(heap, f, "return", "FiberNode") for f in fibers)
        row = (
            component,
            len(fibers),
            without,
            sum(f.shallow for f in fibers),
            heap.retained_bytes(largest.index),
            largest.address,
        )
        rows.append((row, largest.index))
    ordered = sorted(rows, key=lambda row: (-row[0][1], -row[0][2], row[1]))
    return [row for row, _ in ordered][:limit]


def script_functions(heap: Heap, limit: int) -> Rows:
    groups: dict[str | None, list[tuple[Obj, int | None]]] = defaultdict(list)
    for c in _live(heap, "Function"):
        context = next(iter(_contexts(heap, c.index)), None)
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
