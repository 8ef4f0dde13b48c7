"""What each query must answer, from the twin: roots, types, shapes, the dump.

Each function has the name of its query and takes the query's parameters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from re import fullmatch
from typing import TYPE_CHECKING

from ingest.analysis.fingerprints import (
    normalised_owner,
    normalised_reference,
    normalised_type,
    of_tree,
)
from ingest.analysis.metrics import analyse
from ingest.heap.graph import RootKind
from ingest.suspects.find import find_suspects
from tests.cypher.answers import by_retained, facts, sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cypher.answers import Row, Rows
    from tests.cypher.twin import Heap, Root


def roots_by_kind(heap: Heap, limit: int) -> Rows:
    rows = []
    for kind in {r.kind for r in heap.roots}:
        roots = [r for r in heap.roots if r.kind == kind]
        held = {r.object for r in roots if r.holds}
        weak, pinned = sum(r.weak for r in roots), sum(r.pinned for r in roots)
        retained = sum(map(heap.retained_bytes, held))
        rows.append((kind, len(roots), weak, pinned, len(held), retained))
    return [*sorted(rows, key=lambda r: (-r[5], r[0]))][:limit]


def static_roots(heap: Heap, limit: int) -> Rows:
    fields: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    for r in heap.roots:
        if r.kind == "static" and r.holds:
            name = (r.field or "(unknown)") if r.type is None else ""
            fields[(r.type, name)].append(r.object)
    found = []
    for (kind, field), held in fields.items():
        retained = sum(map(heap.retained_bytes, set(held)))
        largest = min(held, key=lambda i: (-heap.retained_bytes(i), i))
        row = (
            field if kind is None else heap.type_name(kind),
            len(held),
            len(set(held)),
            retained,
            heap.name_of(largest),
            heap.objects[largest].address,
            heap.retained_bytes(largest),
        )
        last = len(heap.graph.type_names) if kind is None else kind
        found.append((-retained, last, field, row))
    return [row for *_, row in sorted(found)][:limit]


def _behind(heap: Heap, wanted: Callable[[Root], bool]) -> dict[int, list[Root]]:
    found: dict[int, list[Root]] = defaultdict(list)
    for r in heap.roots:
        if wanted(r):
            found[r.object].append(r)
    return found


def pinned_objects(heap: Heap, limit: int) -> Rows:
    pins = _behind(heap, lambda r: r.pinned)
    order = sorted(pins, key=lambda i: (-heap.objects[i].shallow, i))
    return [
        (*facts(heap, i), len(pins[i]), sorted({r.kind for r in pins[i]}))
        for i in order
    ][:limit]


def finalizer_queue(heap: Heap, limit: int) -> Rows:
    queue = _behind(heap, lambda r: r.kind == "finalizer_queue" and r.holds)
    rows: list[Row] = []
    for o in by_retained(heap, [heap.objects[i] for i in queue]):
        others = len(heap.roots_of(o.index)) - len(queue[o.index])
        rows.append((*facts(heap, o.index), others, len(heap.holders(o.index))))
    return rows[:limit]


def gc_handles(heap: Heap, limit: int) -> Rows:
    handles = _behind(heap, lambda r: r.kind == "handle")
    by_type: dict[int | None, list[int]] = defaultdict(list)
    for i in handles:
        by_type[heap.objects[i].type].append(i)
    found = []
    for kind, objects in by_type.items():
        roots = [r for i in objects for r in handles[i]]
        strong = [i for i in objects if any(not r.weak for r in handles[i])]
        retained = sum(map(heap.retained_bytes, strong))
        row = (
            heap.type_name(kind),
            len(roots),
            sum(not r.weak and not r.pinned for r in roots),
            sum(not r.weak and r.pinned for r in roots),
            sum(r.weak for r in roots),
            len(objects),
            retained,
        )
        last = len(heap.graph.type_names) if kind is None else kind
        found.append((-retained, -len(roots), last, row))
    return [row for *_, row in sorted(found)][:limit]


def weakly_held(heap: Heap, limit: int) -> Rows:
    rows = []
    for o in heap.objects:
        by_root = sum(r.weak and r.object == o.index for r in heap.roots)
        by_object = sum(
            target == o.index and kind is not None
            for p in map(heap.objects.__getitem__, heap.live)
            for target, kind in zip(
                (*p.strong, *p.weak), (*p.strong_kinds, *p.weak_kinds), strict=True
            )
        )
        if by_root or by_object:
            alive = o.index in heap.live and o.strength is None
            row = (*facts(heap, o.index), alive, o.strength, by_root, by_object)
            rows.append((-heap.retained_bytes(o.index), -o.shallow, o.index, row))
    return [row for *_, row in sorted(rows)][:limit]


def _types(
    heap: Heap, *, unused: bool = False
) -> list[tuple[int, list[int], list[int]]]:
    """Each type that has instances, with all of them and the live ones."""
    everything = range(len(heap.graph.type_names))
    members = {t: [o.index for o in heap.instances([t])] for t in everything}
    return [
        (t, mine, [i for i in mine if i in heap.live])
        for t, mine in members.items()
        if mine or unused
    ]


Step = str | int | None
"""A kind of root, or a type; placeholders have none."""


def _merged(
    heap: Heap, ways: dict[int, list[Step]], tops: list[int], first_row: int
) -> list[Row]:
    """Objects by the chain of types on the way to each, runs as one step.

    Args:
        heap: Whose objects.
        ways: From the top to each object.
        tops: Objects whose chains are found first, in that order.
        first_row: Number of the first row.
    """
    groups: dict[tuple[Step, ...], list[int]] = {(): []}
    if tops:
        groups |= {(kind.label,): [] for kind in RootKind}
        groups |= {(kind, role): [] for kind, role in _roles(heap).values() if role}
    for i in [*tops, *sorted(ways)]:
        chain: tuple[Step, ...] = ()
        for step in ways[i]:
            if (step,) != chain[-1:]:
                chain = (*chain, step)
                groups.setdefault(chain, [])
        if i not in groups[chain]:
            groups[chain].append(i)
    below = {
        chain: [i for c, own in groups.items() for i in own if c[: len(chain)] == chain]
        for chain in groups
    }
    order = [c for c in groups if below[c] or not c]
    order.sort(key=lambda c: -heap.bytes(below[c]))
    number = {chain: first_row + row for row, chain in enumerate(order)}
    fingerprints = of_tree(
        "root_paths" if first_row else "dominators",
        [order.index(chain[:-1]) if chain else -1 for chain in order],
        [
            getattr(end, "full", end) if isinstance(end, str) else heap.type_name(end)
            for end in (chain[-1] if chain else "" for chain in order)
        ],
        [
            ("root" if len(chain) == 1 else "role")
            if chain and isinstance(chain[-1], str)
            else ""
            for chain in order
        ],
    )
    rows: list[Row] = []
    for chain, fingerprint in zip(order, fingerprints, strict=True):
        end = chain[-1] if chain else ""
        name = end if isinstance(end, str) else heap.type_name(end)
        rows.append(
            (
                number[chain],
                number[chain[:-1]] if chain else None,
                len(chain),
                name,
                heap.namespace(end) if isinstance(end, int) else "",
                len(groups[chain]),
                heap.bytes(groups[chain]),
                len(below[chain]),
                heap.bytes(below[chain]),
                0,
                0,
                fingerprint,
            )
        )
    return rows


def _by_dominators(heap: Heap) -> list[Row]:
    ways: dict[int, list[Step]] = {}
    for i in heap.live:
        chain: list[Step] = []
        at: int | None = i
        while at is not None:
            chain.insert(0, heap.objects[at].type)
            at = heap.dominator(at)
        ways[i] = chain
    return _merged(heap, ways, [], 0)


def type_tree(heap: Heap, limit: int) -> Rows:
    return _by_dominators(heap)[:limit]


class _RoleName(str):
    """What a root is for.

    Attributes:
        full: The same with the type's normalised name, as fingerprints have it.
    """

    __slots__ = ("full",)
    full: str


def _roles(heap: Heap) -> dict[int, tuple[str, _RoleName | None]]:
    """Kind and role of each strong root, sorted by kind, type, field and owner."""
    g = heap.graph
    found: dict[int, tuple[str, _RoleName | None]] = {}

    def numbers(root: Root) -> tuple[int, int, int, int]:
        at = root.index
        field = -1 if g.root_field is None else max(int(g.root_field[at]), -1)
        owner = -1 if g.root_owner is None else int(g.root_owner[at])
        return int(g.root_kind[at]), int(g.root_type[at]), field, owner

    for root in sorted((r for r in heap.roots if r.holds), key=numbers):
        owner = normalised_owner(root.owner or "")
        field = normalised_reference(root.field or "")
        texts = []
        for name in (
            "" if root.type is None else g.captions.of(g.type_names[root.type]),
            "" if root.type is None else normalised_type(g.type_names[root.type]),
        ):
            static = " in ".join(filter(None, (field, name)))
            texts.append(" of ".join(filter(None, (static, owner))))
        role = _RoleName(texts[0])
        role.full = texts[1]
        found[root.index] = (root.kind, role if role else None)
    return found


def _root_ways(heap: Heap) -> tuple[dict[int, list[Step]], list[int]]:
    """A shortest path to each reachable object; and the objects of roots."""
    ways: dict[int, list[Step]] = {}
    queue = []
    roles = _roles(heap)
    for root in heap.roots:
        if root.holds and root.object not in ways:
            names = [name for name in roles[root.index] if name]
            ways[root.object] = [*names, heap.objects[root.object].type]
            queue.append(root.object)
    tops = list(queue)
    for i in queue:
        for j in heap.objects[i].strong:
            if j not in ways:
                ways[j] = [*ways[i], heap.objects[j].type]
                queue.append(j)
    return ways, tops


def root_path_tree(heap: Heap, limit: int) -> Rows:
    ways, tops = _root_ways(heap)
    return _merged(heap, ways, tops, len(_by_dominators(heap)))[:limit]


def instances_by_root_path(heap: Heap, type: str, limit: int) -> Rows:
    ways, _ = _root_ways(heap)
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for o in heap.instances(heap.types_named(type)):
        if o.index in ways:
            steps = [step for step, _ in groupby(ways[o.index])]
            names = (s if isinstance(s, str) else heap.type_name(s) for s in steps)
            groups[tuple(names)].append(o.index)
    reachable = sum(map(len, groups.values()))
    rows: list[Row] = [
        (list(path), len(members), heap.bytes(members), len(members) / reachable)
        for path, members in groups.items()
    ]
    return sorted(rows, key=lambda r: (-r[1], r[0]))[:limit]  # type: ignore[operator]


def type_totals(heap: Heap, type: str, limit: int) -> Rows:
    rows = []
    for t, members, live in _types(heap, unused=True):
        if heap.type_name(t) == type:
            held = _of_all(heap, members)
            row = (
                _domain(heap, t),
                len(members),
                heap.bytes(members),
                len(live),
                heap.bytes(live),
                held,
                heap.share(held),
            )
            rows.append((-held, t, row))
    return [row for *_, row in sorted(rows)][:limit]


def _domain(heap: Heap, t: int) -> int:
    return int(heap.graph.type_domain[t])


def _of_all(heap: Heap, members: list[int]) -> int:
    """Bytes that go if all of these go."""
    return heap.bytes(heap.live - heap.alive(members))


def estimates(heap: Heap, t: int, members: list[int]) -> Row:
    if (told := heap.graph.sampling) is None:
        return (None, None)
    counts = len(members) * float(told.count[t])
    return (round(counts), round(heap.bytes(members) * float(told.size[t])))


def type_histogram(heap: Heap, limit: int) -> Rows:
    rows = []
    for t, members, live in _types(heap):
        row = (
            heap.type_name(t),
            _domain(heap, t),
            len(members),
            heap.bytes(members),
            len(live),
            heap.bytes(live),
            _of_all(heap, members),
            *estimates(heap, t, members),
        )
        rows.append((-heap.bytes(members), -len(members), t, row))
    return [row for *_, row in sorted(rows)][:limit]


def retained_types(heap: Heap, min_bytes: int, limit: int) -> Rows:
    rows = []
    for t, members, live in _types(heap):
        held = _of_all(heap, members)
        if live and held >= min_bytes:
            name, domain = heap.type_name(t), _domain(heap, t)
            row = (name, domain, held, len(live), heap.bytes(live))
            rows.append((-held, t, row))
    return [row for *_, row in sorted(rows)][:limit]


def dominator_types(heap: Heap, limit: int) -> Rows:
    rows, top = [], set(heap.children(None))
    for t, _, live in _types(heap):
        if mine := top & set(live):
            held = sum(map(heap.retained_bytes, mine))
            share = heap.share(held)
            row = (heap.type_name(t), _domain(heap, t), len(mine), held, share)
            rows.append((-held, t, row))
    return [row for *_, row in sorted(rows)][:limit]


def namespace_histogram(heap: Heap, limit: int) -> Rows:
    groups: dict[str, list[tuple[int, list[int], list[int]]]] = defaultdict(list)
    for entry in _types(heap):
        groups[heap.namespace(entry[0])].append(entry)
    rows = []
    for name, types in groups.items():
        largest = min(types, key=lambda entry: (-heap.bytes(entry[1]), entry[0]))
        rows.append(
            (
                name,
                len(types),
                sum(len(members) for _, members, _ in types),
                sum(heap.bytes(members) for _, members, _ in types),
                sum(heap.bytes(live) for _, _, live in types),
                heap.type_name(largest[0]),
            )
        )
    return [*sorted(rows, key=lambda r: (-r[3], r[0]))][:limit]


def unreachable_types(heap: Heap, limit: int) -> Rows:
    rows = []
    for t, members, live in _types(heap):
        dead = set(members) - set(live)
        if dead:
            name, domain = heap.type_name(t), _domain(heap, t)
            row = (name, domain, len(dead), heap.bytes(dead), len(members))
            rows.append((-row[3], -row[2], t, row))
    return [row for *_, row in sorted(rows)][:limit]


def type_references(heap: Heap, type: str, limit: int) -> Rows:
    count: Counter[tuple[int, int]] = Counter()
    for o in heap.objects:
        for i in (*o.strong, *o.weak):
            if o.type is not None and (kind := heap.objects[i].type) is not None:
                count[o.type, kind] += 1
    order = sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))
    rows: Rows = [
        (heap.type_name(a), heap.type_name(b), n)
        for (a, b), n in order
        if type in ("", heap.type_name(a), heap.type_name(b))
    ]
    return rows[:limit]


def cycles(heap: Heap, candidates: int, type: str, limit: int) -> Rows:
    objects = heap.instances(heap.types_named(type)) if type else heap.objects
    found = set()
    for o in by_retained(heap, objects)[:candidates]:
        circles = [c[1:] for c in heap.shortest(o.index, o.index)]
        if circles and len(circles[0]) <= 8:
            circle = min(circles)
            first = circle.index(min(circle))
            found.add(circle[first:] + circle[:first])
    rows = []
    for circle in found:
        most = max(map(heap.retained_bytes, circle))
        labels = [heap.label(i) for i in circle]
        row = (len(circle), most, circle[0] in heap.live, labels)
        rows.append((-most, len(circle), circle, row))
    return [row for *_, row in sorted(rows)][:limit]


def _most(heap: Heap, count: Counter[int], limit: int) -> Rows:
    order = sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))
    rows: list[Row] = []
    for i, n in order[:limit]:
        address, shallow, retained = sizes(heap, i)
        rows.append((heap.name_of(i), address, n, shallow, retained))
    return rows


def hubs(heap: Heap, limit: int) -> Rows:
    count = Counter(r.object for r in heap.roots if r.holds)
    for i in heap.live:
        count.update(heap.objects[i].strong)
    return _most(heap, count, limit)


def containers(heap: Heap, limit: int) -> Rows:
    count = {i: len(heap.objects[i].strong) for i in heap.live}
    return _most(heap, +Counter(count), limit)


def single_type_chains(heap: Heap, min_bytes: int, min_length: int, limit: int) -> Rows:
    def same(i: int) -> list[int]:
        return [c for c in heap.children(i) if heap.caption(c) == heap.caption(i)]

    rows = []
    for i in heap.live:
        above = heap.dominator(i)
        if above is not None and heap.caption(above) == heap.caption(i):
            continue
        length, members, level = 0, 0, [i]
        while level:
            length, members = length + 1, members + len(level)
            level = [c for j in level for c in same(j)]
        held = heap.retained_bytes(i)
        if length >= max(min_length, 2) and held >= min_bytes:
            address = heap.objects[i].address
            row = (heap.name_of(i), address, length, members, held)
            rows.append((-length, i, row))
    return [row for *_, row in sorted(rows)][:limit]


def delegate_only(heap: Heap, pattern: str, limit: int) -> Rows:
    rows: list[Row] = []
    for o in by_retained(heap, [heap.objects[i] for i in heap.live]):
        d = heap.dominator(o.index)
        if d is None or not fullmatch(pattern, heap.name_of(d)):
            continue
        holder = min(heap.holders(d), default=None)
        rows.append(
            (
                *facts(heap, o.index),
                heap.name_of(d),
                heap.objects[d].address,
                None if holder is None else heap.name_of(holder),
                None if holder is None else heap.objects[holder].address,
            )
        )
    return rows[:limit]


def missing_references(heap: Heap, limit: int) -> Rows:
    rows = []
    for o in heap.objects:
        if o.type is not None:
            continue
        i = o.index
        count = {p.index: (*p.strong, *p.weak).count(i) for p in heap.objects}
        names = {heap.caption(p) for p, n in count.items() if n}
        total = sum(count.values())
        roots = sum(r.object == i for r in heap.roots)
        short = sorted(names)[:5]
        row = (o.domain, o.address, total, roots, short, i in heap.live)
        rows.append((-total, i, row))
    return [row for *_, row in sorted(rows)][:limit]


def domains(heap: Heap, limit: int) -> Rows:
    rows: list[Row] = []
    for ordinal, domain in enumerate(heap.graph.domains):
        here = [
            o.index
            for o in heap.objects
            if (o.domain or 0) == ordinal and o.type is not None
        ]
        rows.append(
            (
                ordinal,
                domain.name,
                len(here),
                heap.bytes(here),
                heap.bytes(set(here) & heap.live),
                heap.graph.type_domain.tolist().count(ordinal),
                domain.duration_ms,
                domain.complete,
            )
        )
    return rows[:limit]


def dump(heap: Heap, limit: int) -> Rows:
    present = {o.index for o in heap.objects if o.type is not None}
    weak = sum(r.weak for r in heap.roots)
    soft = {i for i in heap.live if heap.objects[i].strength == "soft"}
    weak_only = {i for i in heap.live if heap.objects[i].strength} - soft
    told = heap.graph.sampling
    findings = find_suspects(heap.graph, analyse(heap.graph))
    row = (
        heap.name,
        heap.graph.format_name,
        heap.graph.runtime or None,
        heap.graph.producer,
        f"{heap.name}.gclog",
        len(present),
        heap.bytes(present),
        len(present & heap.live),
        heap.bytes(heap.live),
        sum(len(o.strong) + len(o.weak) for o in heap.objects),
        len(heap.graph.type_names),
        len(heap.roots),
        weak,
        len(heap.objects) - len(present),
        sum(i.count for i in heap.graph.irregularities),
        heap.graph.incomplete or None,
        "strongest",
        len(soft & present),
        heap.bytes(soft),
        len(weak_only & present),
        heap.bytes(weak_only),
        sum(o.external[1] or 0 for o in heap.objects),
        findings.metadata_bytes,
        [one.sentence for one in findings.smaller] or None,
        [heap.graph.address(one.object_index) for one in findings.smaller] or None,
        heap.graph.folded.object_count,
        None if told is None else round(len(present) * told.average_count),
        None if told is None else round(heap.bytes(present) * told.average_size),
    )
    return [row][:limit]


def warnings(heap: Heap, limit: int) -> Rows:
    return [
        (
            position,
            f"{i.kind.replace('_', ' ')}: {i.count}"
            + (f", first in line {i.line}" if i.line else ""),
        )
        for position, i in enumerate(heap.graph.irregularities, 1)
    ][:limit]


def sole_references(heap: Heap, min_bytes: int, limit: int) -> Rows:
    found: list[tuple[int, int, Row]] = []
    for i in heap.live:
        below = {i, *heap.children(i)}
        held: list[tuple[str, str | None, str | None]] = [
            (heap.root_name(root), None, root.field) for root in heap.roots_of(i)
        ]
        for p in (heap.objects[j] for j in heap.live - below):
            for target, field in zip(p.strong, p.strong_fields, strict=True):
                if target == i:
                    held.append((heap.name_of(p.index), p.address, field))
        freed = heap.retained_bytes(i)
        if len(held) == 1 and freed >= min_bytes:
            what = (heap.name_of(i), heap.objects[i].address)
            row = (*held[0], *what, freed, heap.retained_count(i))
            found.append((-freed, i, row))
    return [row for *_, row in sorted(found)][:limit]
