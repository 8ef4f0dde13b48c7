"""What each query must answer, from the twin: objects, paths and dominators.

Each function has the name of its query and takes the query's parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from re import fullmatch
from typing import TYPE_CHECKING

from ingest.analysis.metrics import analyse
from ingest.suspects.find import find_suspects
from tests.cypher.trace_answers import origin
from tests.cypher.twin import Ambiguous

if TYPE_CHECKING:
    from tests.cypher.twin import Heap, Obj

Row = tuple[object, ...]
Rows = Sequence[Row]
ROOTS = "(roots)"


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


def dominator_chain(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in heap.at(address):
        i = o.index if o.index in heap.live else None
        step = 0
        while i is not None:
            row = (o.domain, step, *facts(heap, i), heap.retained_count(i))
            rows.append(row)
            i, step = heap.dominator(i), step + 1
    return rows[:limit]


def dominated_by(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in heap.at(address):
        if o.index in heap.live:
            children = [heap.objects[i] for i in heap.children(o.index)]
            for child in by_retained(heap, children):
                i = child.index
                rows.append((o.domain, *facts(heap, i), heap.retained_count(i)))
    return rows[:limit]


def dominated_types(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[tuple[Row, Row]] = []
    for o in heap.at(address):
        if o.index not in heap.live:
            continue
        found: dict[tuple[str, ...], list[tuple[int, bool]]] = defaultdict(list)
        waiting: list[tuple[int, tuple[str, ...], int]] = [
            (i, (heap.name_of(i),), 0) for i in heap.children(o.index)
        ]
        for i, path, run in waiting:
            found[path].append((i, run == 0))
            for child in heap.children(i):
                name = heap.name_of(child)
                if name != path[-1] and len(path) < 3:
                    waiting.append((child, (*path, name), 0))
                elif name == path[-1] and len(path) == 1 and run < 20:
                    waiting.append((child, path, run + 1))
        for steps, members in found.items():
            heads = [i for i, is_head in members if is_head]
            retained = sum(map(heap.retained_bytes, heads))
            row = (
                o.domain,
                list(steps),
                len(members),
                heap.bytes(i for i, _ in members),
                sum(map(heap.retained_count, heads)),
                retained,
            )
            rows.append(((o.index, -retained, len(steps), steps), row))
    return [row for _, row in sorted(rows)][:limit]


def dominator_treemap(heap: Heap, limit: int) -> Rows:
    def order(i: int) -> tuple[int, ...]:
        return (-heap.retained_bytes(i), -heap.retained_count(i), i)

    rows: list[Row] = []
    for i in sorted(filter(heap.retained_bytes, heap.live), key=order):
        kind = heap.objects[i].type
        rows.append(
            (
                i,
                heap.dominator(i),
                heap.name_of(i),
                "" if kind is None else heap.namespace(kind),
                heap.objects[i].address,
                (heap.objects[i].value or "")[:40],
                *sizes(heap, i)[1:],
                heap.retained_count(i),
                heap.distance[i],
                heap.objects[i].generation,
            )
        )
    return rows[:limit]


def retained_objects(heap: Heap, min_bytes: int, limit: int) -> Rows:
    found = by_retained(heap, [heap.objects[i] for i in heap.live])
    rows: list[Row] = [
        (
            *facts(heap, o.index),
            heap.retained_count(o.index),
            heap.distance[o.index],
            o.value,
        )
        for o in found
        if heap.retained_bytes(o.index) >= min_bytes
    ]
    return rows[:limit]


def leak_suspects(heap: Heap, limit: int) -> Rows:
    """Rows of what the analysis finds, which has tests of its own."""
    found = find_suspects(heap.graph, analyse(heap.graph)).suspects
    rows: list[Row] = [
        (
            heap.type_name(s.type_index),
            s.object_count,
            s.retained_bytes,
            s.share,
            s.pattern,
            s.holder,
            s.reference,
            s.root_kind,
            s.root_name,
            list(s.path),
            s.cut,
            s.cut_step,
            list(s.contents),
            heap.objects[s.object_index].address,
            heap.name_of(s.container_index),
            heap.objects[s.container_index].address,
            s.sentence,
            s.advice,
            list(s.signs) or None,
            list(s.doubts) or None,
            s.fingerprint,
        )
        for s in found
    ]
    return rows[:limit]


def accumulation_points(
    heap: Heap, share: float, pile_share: float, limit: int
) -> Rows:
    rows: list[Row] = []
    for o in by_retained(heap, [heap.objects[i] for i in heap.live]):
        held, children = heap.retained_bytes(o.index), heap.children(o.index)
        largest = max(map(heap.retained_bytes, children), default=0)
        enough = held > 0 and held >= share * heap.bytes(heap.live)
        if not enough or len(children) < 2 or largest >= pile_share * held:
            continue
        piles: dict[int, list[int]] = defaultdict(list)
        for c in children:
            if (kind := heap.objects[c].type) is not None:
                piles[kind].append(heap.retained_bytes(c))
        kind, pile = min(piles.items(), key=lambda pair: (-sum(pair[1]), pair[0]))
        rows.append(
            (
                heap.name_of(o.index),
                o.address,
                held,
                len(children),
                largest,
                heap.type_name(kind),
                len(pile),
                sum(pile),
            )
        )
    return rows[:limit]


def big_drops(heap: Heap, min_drop_bytes: int, limit: int) -> Rows:
    found = []
    for i in heap.live:
        children = by_retained(heap, [heap.objects[c] for c in heap.children(i)])
        largest = children[0] if children else None
        below = heap.retained_bytes(largest.index) if largest else 0
        held = heap.retained_bytes(i)
        if held >= min_drop_bytes and held - below >= min_drop_bytes:
            row = (
                heap.name_of(i),
                heap.objects[i].address,
                held,
                len(children),
                heap.name_of(largest.index) if largest else None,
                largest.address if largest else None,
                below,
                held - below,
            )
            found.append((below - held, i, row))
    return [row for _, _, row in sorted(found, key=lambda f: f[:2])][:limit]


def owners_of_type(heap: Heap, type: str, skip: str, limit: int) -> Rows:
    owned: dict[int | str, list[int]] = defaultdict(list)
    for o in heap.instances(heap.types_named(type)):
        if o.index in heap.live:
            owned[_owner(heap, o.index, skip)].append(o.index)
    kinds: dict[str, list[int | str]] = defaultdict(list)
    for owner in owned:
        kinds[owner if isinstance(owner, str) else heap.name_of(owner)].append(owner)
    rows: list[Row] = []
    for name, owners in kinds.items():
        members = [i for owner in owners for i in owned[owner]]
        real = [owner for owner in owners if isinstance(owner, int)]
        largest = min(real, key=lambda w: (-heap.bytes(owned[w]), w), default=None)
        address = None if largest is None else heap.objects[largest].address
        rows.append((name, len(real), len(members), heap.bytes(members), address))
    return sorted(rows, key=lambda r: (-r[3], r[0]))[:limit]  # type: ignore[operator]


def _owner(heap: Heap, i: int, skip: str) -> int | str:
    """The nearest dominator whose short type name is not to be looked through."""
    for _ in range(11):
        above = heap.dominator(i)
        if above is None:
            return ROOTS
        if not fullmatch(skip, heap.caption(above)):
            return above
        i = above
    return "(further up)"


def shared_by(heap: Heap, min_bytes: int, limit: int) -> Rows:
    """By deletion: no holder's end is the object's end, and two are independent."""
    rows: list[Row] = []
    for o in by_retained(heap, [heap.objects[i] for i in heap.live]):
        i = o.index
        holders, roots = heap.holders(i), heap.roots_of(i)
        without = heap.alive([i])
        independent = [h for h in holders if h in without]
        if heap.retained_bytes(i) < min_bytes:
            continue
        if len(independent) + len(roots) < 2 or holders & heap.dominators(i):
            continue
        above = heap.dominator(i)
        rows.append(
            (
                *facts(heap, i),
                len(roots),
                len(holders),
                sorted({heap.caption(h) for h in holders})[:5],
                ROOTS if above is None else heap.name_of(above),
                None if above is None else heap.objects[above].address,
            )
        )
    return rows[:limit]


def object(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in heap.at(address):
        i, alive = o.index, o.index in heap.live
        above = heap.dominator(i) if alive else None
        name = heap.name_of(above) if above is not None else ROOTS
        rows.append(
            (
                o.domain,
                heap.name_of(i),
                o.shallow,
                heap.retained_bytes(i),
                heap.retained_count(i),
                heap.distance.get(i),
                o.strength,
                o.type is None,
                len(o.strong) + len(o.weak),
                sum((*p.strong, *p.weak).count(i) for p in heap.objects),
                sum(r.object == i for r in heap.roots),
                name if alive else None,
                None if above is None else heap.objects[above].address,
                o.value,
                o.length,
                o.external[1],
                o.identity_hash,
                o.generation,
                o.segment,
                *origin(heap, i),
            )
        )
    return rows[:limit]


def objects_of_type(heap: Heap, type: str, limit: int) -> Rows:
    rows: list[Row] = [
        (
            o.domain,
            *sizes(heap, o.index),
            heap.retained_count(o.index),
            heap.distance.get(o.index),
            o.value,
            o.length,
        )
        for o in by_retained(heap, heap.instances(heap.types_named(type)))
    ]
    return rows[:limit]


def _ways(o: Obj, i: int) -> list[tuple[bool, str | None, list[str | None]]]:
    """The references to ``i``: whether they do not hold it, strength, fields."""
    found: dict[tuple[bool, str | None], list[str | None]] = {}
    for weak, those, kinds, fields in (
        (False, o.strong, o.strong_kinds, o.strong_fields),
        (True, o.weak, o.weak_kinds, o.weak_fields),
    ):
        for target, kind, field in zip(those, kinds, fields, strict=True):
            if target == i:
                found.setdefault((weak, kind), []).append(field)
    order = sorted(found, key=lambda key: (key[0], key[1] is None, key[1] or ""))
    return [(*key, found[key]) for key in order]


def references_of(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in heap.at(address):
        targets = [heap.objects[i] for i in {*o.strong, *o.weak}]
        for n in by_retained(heap, targets):
            for weak, strength, fields in _ways(o, n.index):
                _, shallow, retained = sizes(heap, n.index)
                alive = n.index in heap.live
                rows.append(
                    (
                        o.domain,
                        heap.name_of(n.index),
                        n.address,
                        weak,
                        strength,
                        min((f for f in fields if f is not None), default=None),
                        len(fields),
                        shallow,
                        retained,
                        alive and heap.dominator(n.index) == o.index,
                    )
                )
    return rows[:limit]


def referrers_of(heap: Heap, address: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in heap.at(address):
        for root in [r for r in heap.roots if r.object == o.index]:
            name = None if root.type is None else heap.type_name(root.type)
            what = heap.root_name(root)
            field = root.field
            strength = "weak" if root.weak else None
            rows.append(
                (
                    o.domain, what, name, None, not root.holds, strength, field, 1,
                    None, 0,
                )
            )  # fmt: skip
        far = len(heap.objects)
        for p in sorted(
            heap.objects, key=lambda p: (heap.distance.get(p.index, far), p.index)
        ):
            for weak, strength, fields in _ways(p, o.index):
                rows.append(
                    (
                        o.domain,
                        "object",
                        heap.name_of(p.index),
                        p.address,
                        weak,
                        strength,
                        min((f for f in fields if f is not None), default=None),
                        len(fields),
                        heap.retained_bytes(p.index),
                        heap.distance.get(p.index),
                    )
                )
    return rows[:limit]
