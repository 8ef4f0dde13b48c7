"""A heap in plain Python, and what its graph means by definition.

Slow and readable on purpose: dominance is deletion, paths are enumerated. What
queries about paths must answer is in `tests.cypher.path_answers`, which asks it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.heap.graph import NO_FIELD
from tests.unit.graphs import Held

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ingest.heap.graph import HeapGraph
    from tests.dumps.trace import Dump, Thing


class Ambiguous(Exception):
    """Several answers are right."""


@dataclass(frozen=True)
class Obj:
    """One object, or a placeholder (``type`` is ``None``).

    Attributes:
        strong: What it refers to by references that hold.
        fields: Through which, one for each reference.
    """

    index: int
    address: str
    type: int | None
    shallow: int
    domain: int | None
    strong: tuple[int, ...]
    fields: tuple[str | None, ...]
    value: str | None


@dataclass(frozen=True)
class Root:
    """One root that holds its object; ``type`` contains the static field."""

    index: int
    object: int
    type: int | None
    field: str | None


@dataclass(frozen=True)
class Trace:
    """The dumps of a trace, up to the heap's own.

    Attributes:
        names: Of the dumps in the database.
        made: All objects that were allocated, in their order.
    """

    dumps: Sequence[Dump]
    names: Sequence[str]
    made: Sequence[Thing]


@dataclass
class Heap:
    """One dump; objects, types and roots are their indexes.

    Attributes:
        name: Of the dump in the database.
        trace: What it comes from; ``None`` for a dump that stands alone.
    """

    graph: HeapGraph
    name: str
    trace: Trace | None = None
    _lost: dict[int, set[int]] = field(default_factory=dict)

    @cached_property
    def objects(self) -> list[Obj]:
        g, found = self.graph, []
        values = (
            dict(zip(*g.values.between(0, 1 << 30), strict=True)) if g.values else {}
        )
        for i in range(len(g.object_id)):
            places = range(int(g.ref_start[i]), int(g.ref_start[i + 1]))
            strong = [at for at in places if at in self._held.references]
            found.append(
                Obj(
                    index=i,
                    address=hex(int(g.object_id[i])),
                    type=int(g.type_index[i]) if g.type_index[i] >= 0 else None,
                    shallow=int(g.shallow_bytes[i]),
                    domain=None if g.domain_index is None else int(g.domain_index[i]),
                    strong=tuple(int(g.ref_target[at]) for at in strong),
                    fields=tuple(map(g.field_name, strong)),
                    value=values.get(i),
                )
            )
        return found

    @cached_property
    def _held(self) -> Held:
        return Held(self.graph)

    @cached_property
    def roots(self) -> list[Root]:
        g, found = self.graph, []
        for i in sorted(self._held.roots):
            field = NO_FIELD if g.root_field is None else int(g.root_field[i])
            kind = int(g.root_type[i])
            found.append(
                Root(
                    index=i,
                    object=int(g.root_object[i]),
                    type=kind if kind >= 0 else None,
                    field=None if field == NO_FIELD else g.field_names[field],
                )
            )
        return found

    # ------------------------------------------------------------ names

    def at(self, address: str) -> list[Obj]:
        """Objects of that address, one for each domain at most."""
        return [o for o in self.objects if o.address == address]

    def type_name(self, type_index: int | None) -> str:
        return "<missing>" if type_index is None else self.graph.type_names[type_index]

    def name_of(self, i: int) -> str:
        return self.type_name(self.objects[i].type)

    def caption(self, i: int) -> str:
        name = self.name_of(i)
        return name if self.objects[i].type is None else self.graph.captions.of(name)

    def label(self, i: int) -> str:
        """An object as it stands in a list of steps."""
        value = self.objects[i].value
        shown = "" if value is None else f' "{value[:40]}"'
        return f"{self.caption(i)} {self.objects[i].address}{shown}"

    def root_name(self, root: Root) -> str:
        return self.graph.root_name(root.index)

    def field_to(self, i: int, j: int) -> str | None:
        """Through which field ``i`` keeps ``j``; of several the first by name."""
        o = self.objects[i]
        pairs = zip(o.strong, o.fields, strict=True)
        return min((f for t, f in pairs if t == j and f is not None), default=None)

    def steps(self, path: Sequence[int]) -> list[str]:
        """Objects of a path, each with the field that the one before has."""
        fields = [None, *(self.field_to(i, j) for i, j in pairwise(path))]
        return [
            f"{field}: {self.label(i)}" if field else self.label(i)
            for i, field in zip(path, fields, strict=True)
        ]

    def types_named(self, name: str) -> set[int]:
        return {t for t, known in enumerate(self.graph.type_names) if known == name}

    def instances(self, types: Iterable[int]) -> list[Obj]:
        wanted = set(types)
        return [o for o in self.objects if o.type in wanted]

    # ------------------------------------------------------------ life

    def alive(self, without: Iterable[int] = ()) -> set[int]:
        """What roots hold once ``without`` is deleted."""
        gone, found = set(without), set[int]()
        todo = [r.object for r in self.roots]
        while todo:
            if (i := todo.pop()) not in found and i not in gone:
                found.add(i)
                todo += self.objects[i].strong
        return found

    @cached_property
    def live(self) -> set[int]:
        return self.alive()

    def retained(self, i: int) -> set[int]:
        """What dies with ``i``, itself too; empty where it is dead already."""
        if i not in self._lost:
            self._lost[i] = self.live - self.alive([i])
        return self._lost[i]

    def bytes(self, objects: Iterable[int]) -> int:
        return sum(self.objects[i].shallow for i in objects)

    def retained_bytes(self, i: int) -> int:
        return self.bytes(self.retained(i))

    @cached_property
    def _dominators(self) -> dict[int, set[int]]:
        return {
            i: {d for d in self.live if d != i and i in self.retained(d)}
            for i in self.live
        }

    @cached_property
    def _nearest(self) -> dict[int, int | None]:
        above = self._dominators
        return {
            i: max(above[i], key=lambda d: len(above[d]), default=None)
            for i in sorted(self.live)
        }

    def dominators(self, i: int) -> set[int]:
        """Objects whose deletion kills ``i``, itself left out."""
        return self._dominators.get(i, set())

    def dominator(self, i: int) -> int | None:
        """The nearest of those: the one that all others dominate."""
        return self._nearest.get(i)

    # ------------------------------------------------------------ neighbours

    def holders(self, i: int) -> set[int]:
        """Live objects with a strong reference to ``i``, itself left out."""
        return {h for h in self.live - {i} if i in self.objects[h].strong}

    def roots_of(self, i: int) -> list[Root]:
        """The roots that hold it."""
        return [r for r in self.roots if r.object == i]

    @cached_property
    def distance(self) -> dict[int, int]:
        """References from the nearest root, 1 at a root."""
        found: dict[int, int] = {}
        level = {r.object for r in self.roots}
        while level:
            step = max(found.values(), default=0) + 1
            found |= dict.fromkeys(level, step)
            level = {j for i in level for j in self.objects[i].strong} - set(found)
        return found

    # ------------------------------------------------------------ paths

    def walks(self, start: int, end: int, most: int) -> Iterator[tuple[int, ...]]:
        """Simple ways from ``start`` to ``end`` of at most ``most`` references."""
        todo: list[tuple[int, ...]] = [(start,)]
        while todo:
            path = todo.pop()
            if path[-1] == end and len(path) > 1:
                yield path
            elif len(path) <= most and (len(path) == 1 or path[-1] != start):
                steps = set(self.objects[path[-1]].strong) - set(path[1:])
                todo += [(*path, step) for step in steps]

    def shortest(self, start: int, end: int) -> list[tuple[int, ...]]:
        """All shortest ways; with ``start`` as ``end``, circles."""
        found = sorted(self.walks(start, end, len(self.objects)), key=len)
        return [path for path in found if len(path) == len(found[0])]

    def root_paths(self, i: int) -> list[tuple[Root, tuple[int, ...]]]:
        """All simple paths from roots, the shortest first."""
        found: list[tuple[Root, tuple[int, ...]]] = []
        for root in self.roots:
            if root.object == i:
                found.append((root, (i,)))
            walks = self.walks(root.object, i, len(self.objects))
            found += [(root, path) for path in walks if root.object != i]
        return sorted(found, key=lambda pair: (len(pair[1]), pair[0].index, pair[1]))

    def shortest_root_paths(self, i: int) -> list[tuple[Root, tuple[int, ...]]]:
        found = self.root_paths(i)
        return [pair for pair in found if len(pair[1]) == len(found[0][1])]
