"""Who holds the objects of a suspect: a path from a root, and its holder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.heap.graph import EPHEMERON, OF_KEY, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.covers import ENOUGH, OF_RUNTIME
from ingest.suspects.edges import Edge, has_bit
from ingest.suspects.joints import some_of
from ingest.suspects.role_cuts import RoleCuts
from ingest.suspects.steps import folded, shortened, with_ends
from ingest.what_if.places import NATIVE_HANDLE, UNNAMED_ROOT, ReferencePlaces
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

_MAX_STEPS = 24
"""Steps of a path that are written; what is between the ends and the cut is folded."""

_MAX_VALUE = 40
"""Characters of a value that are shown in a path."""

_MAX_FUNCTION = 80

_MOST_INNER = 4

_FEW_ENTRIES = 20
"""An object with fewer fields is no map."""

_LOOKED_AT, _FARTHEST = 200, 200
"""Objects inside of others that are looked at for the field, and steps above each."""

_PLACE = re.compile(r"\[(\d{1,9})\]")

_LINKS, _MAX_LINK = 20, 10
"""Objects of a list that are looked at for a link, and objects in it."""

COLLECTION = re.compile(
    r"(List(?!en)|Map|Set|Dictionary|Queue|Deque|Array|Hash|Vector|Stack|Bag)(?!.*\[\])"
    "|^(dict|list|set|collections\\.\\w+)$"
)
"""A type of collections, whose entries can be removed."""

_VALUES = (TypeClass.PROGRAM, TypeClass.LIBRARY)


@dataclass(frozen=True, slots=True)
class Holder:
    """What refers to the objects of a pile.

    Attributes:
        member: The object of the pile whose path this is.
        type_name: Full name of the holder's type, or of the one that declares the
            static field; ``None`` where only the runtime refers to them.
        index: The holder, or -1 if it is a static field or a root.
        name: What part of the program the holder stands for, such as a function; see
            `ingest.runtimes.base.Runtime.holders`. ``None`` for none.
        reference: Its field; ``None`` if not recorded.
        words: It and its field in words.
        role: As ``words``, but equal for holders that differ only in numbers.
        root_words: The root in words; if it says little, what the program calls
            something that leads to the holder.
        root_role: As ``root_words``, but equal for roots that differ only in numbers.
        target: The object that the reference leads to.
        between: Objects from that one down to the member, without it.
        path: Objects from a root to the member.
        root: Row of the root that the path begins at.
        root_kind: Name of its kind.
        root_name: Its static field, its type or its thread; ``None`` if not recorded.
        root_field: Its static field alone; ``None`` if not recorded.
        root_owner: Its thread or isolate; ``None`` if not recorded.
        is_statics_table: Whether the root is a pinned array, in which the runtime
            has its static fields.
    """

    member: int
    type_name: str | None
    index: int
    name: str | None
    reference: str | None
    words: str
    role: str
    root_words: str
    root_role: str
    target: int
    between: tuple[int, ...]
    path: tuple[int, ...]
    root: int
    root_kind: str
    root_name: str | None
    root_field: str | None
    root_owner: str | None
    is_statics_table: bool

    @property
    def is_shared(self) -> bool:
        """Whether they are right in such an array, as literals and interned texts."""
        is_unnamed = self.reference is None and not self.between
        return self.is_statics_table and is_unnamed

    @property
    def waits(self) -> bool:
        """Whether the objects wait for the finalizer themselves."""
        is_queue = self.root_kind == RootKind.FINALIZER_QUEUE.label
        return is_queue and self.path == (self.member,)


def shortest_path(metrics: HeapMetrics, index: int) -> tuple[int, ...]:
    """Objects from one that a root refers to to ``index``; empty if unreachable."""
    if metrics.root_distance[index] < 0:
        return ()
    path = []
    while index != ROOT:
        path.append(index)
        index = int(metrics.path_parent[index])
    return tuple(reversed(path))


class Paths:
    """Shortest paths of one heap, and the program's types on them."""

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        classes: NDArray[np.uint8],
        own: Sequence[str] = (),
    ) -> None:
        self._graph, self._metrics = graph, metrics
        # One more for placeholders, whose type is -1.
        self._classes = np.append(classes, np.uint8(TypeClass.LIBRARY))
        self.places = ReferencePlaces(graph)
        self.cuts = RoleCuts(graph, metrics, classes, self.places, own)

    def holder(self, kind: int, members: NDArray[np.int32]) -> Holder | None:
        """What holds most objects of one type; ``None`` if nothing does.

        Args:
            kind: Their type.
            members: int32. They, the one that retains most first.
        """
        found = self.cuts.nearest(kind, members)
        return None if found is None else self.of(*found)

    def of(self, edge: Edge, member: int) -> Holder:
        """The holder that a place stands for, on a path to an object."""
        graph, places = self._graph, self.places
        inner = shortest_path(self._metrics, member)
        last = edge.below[-1]
        inner = inner[inner.index(last) + 1 :] if last in inner else ()
        path: tuple[int, ...] = ()
        root = edge.row
        if edge.source != ROOT:
            path = shortest_path(self._metrics, edge.source)
            root = self.cuts.root_of(path[0])
        above = self._named_above(edge, path)
        declaring = int(graph.root_type[root])
        is_object = edge.source != ROOT and not self.cuts.is_of_table(edge)
        if is_object:
            name: str | None = graph.type_name(edge.source)
            reference = graph.field_name(edge.row)
            if places.declares(edge.source, reference):
                name = graph.type_names[places.described[edge.source]]
        else:
            name = graph.type_names[declaring] if declaring >= 0 else None
            reference = places.static_field(root)
        down = (*edge.below, *inner)
        return Holder(
            member=member,
            type_name=name,
            index=edge.source if is_object else -1,
            name=None if not is_object else places.part(edge.source),
            reference=reference,
            words=self._first_field(root, down)
            or self._variable(edge) + self.cuts.holder(edge) + self._by_key(down),
            role=self.cuts.role(edge),
            root_words=above or places.root(root),
            root_role=places.roots(root),
            target=down[0],
            between=down[:-1],
            path=(*path, *down),
            root=root,
            root_kind=RootKind(int(graph.root_kind[root])).label,
            root_name=places.root_name(root),
            root_field=places.static_field(root),
            root_owner=places.owner(root),
            is_statics_table=bool(places.tables[root]),
        )

    def _first_field(self, root: int, down: Sequence[int]) -> str | None:
        """The first field of what a holder that is not recorded has, and that holder.

        Args:
            root: The root of that holder.
            down: Objects from the first one to the suspect.
        """
        graph = self._graph
        if graph.root_kind[root] != RootKind.NOT_RECORDED or len(down) < 2:
            return None
        at, name = 0, graph.captions.of(graph.type_name(down[0]))
        is_class = graph.type_name(down[0]) == named(graph.runtime).prototype_type
        if is_class and graph.values is not None and len(down) > 2:
            (value,) = graph.values.pick(np.array([down[0]], np.int32))
            at, name = 1, value or name
        field = self.field(down[at], down[at + 1])
        if field is None or field.startswith("["):
            return None
        return f"{name}.{field}, from {self.places.root(root)}"

    def _variable(self, edge: Edge) -> str:
        """The local variable by which a coroutine is a holder; empty for none."""
        if edge.source == ROOT or not (field := self._graph.field_name(edge.row)):
            return ""
        of, others = named(self._graph.runtime).variables
        has_some = re.match(of, self._graph.type_name(edge.source)) is not None
        is_one = has_some and not re.match(others, field)
        return f"variable {printable(field)} of " if is_one else ""

    def _by_key(self, down: Sequence[int]) -> str:
        """What names an entry below a holder, as a thread-local; empty for none."""
        words = self._first_of(down, named(self._graph.runtime).keyed_by)
        return f", as by {words}" if words else ""

    def _first_of(self, path: Iterable[int], names: Container[str]) -> str | None:
        """The first object in words that is of some types and has a name."""
        found = (at for at in path if self._graph.type_name(at) in names)
        parts = (at for at in found if self.places.part(at) is not None)
        return next((self.places.holder(at, None) for at in parts), None)

    def root_above(self, index: int) -> str:
        """The root above an object in words, or what of the program leads to that."""
        path, edge = shortest_path(self._metrics, index), Edge(index, -1, (index,))
        root = self.cuts.root_of(path[0])
        return self._named_above(edge, path) or self.places.roots(root)

    def _named_above(self, edge: Edge, path: Sequence[int]) -> str | None:
        """A variable of a script, or a task of the program, that leads to a holder.

        Args:
            edge: The reference of the holder.
            path: Objects from one that a root refers to down to the holder.
        """
        root = -1 if edge.source == ROOT else self.cuts.root_of(path[0])
        variable = self._first_of(path[-2::-1], named(self._graph.runtime).named_by)
        is_static = root >= 0 and self._graph.root_kind[root] == RootKind.STATIC
        if root < 0 or is_static or variable is not None:
            return variable
        if (variable := self.cuts.variable_above(edge.source)) is not None:
            return variable
        kind = self._graph.type_index[edge.source]
        says_little = self.places.root(root).startswith((UNNAMED_ROOT, NATIVE_HANDLE))
        if says_little and self._classes[kind] == TypeClass.LIBRARY and len(path) > 1:
            field = self.field(path[-2], path[-1])
            name = self._graph.type_name(path[-2])
            is_native = path[-2] in self.cuts.native
            has_class = not re.match(named(self._graph.runtime).no_class, name)
            if field and field[0] != "[" and has_class and not is_native:
                return self.places.holder(path[-2], field)
        return self._part_above(root, path)

    def _part_above(self, root: int, path: Sequence[int]) -> str | None:
        """The nearest part of the program above a holder, where its root tells little.

        Of a root of the runtime itself also one that soon ends, as a frame or a thread.
        """
        graph = self._graph
        is_nameless = graph.root_kind[root] in OF_RUNTIME
        is_nameless &= self.places.root_name(root) is None
        if not is_nameless and graph.root_kind[root] != RootKind.LOCAL:
            return None
        weak, ending = named(graph.runtime).weak_holders, None
        for below, above in pairwise(path[::-1]):
            if self.places.part(above) is None:
                continue
            words = self.places.holder(above, self.field(above, below))
            if graph.type_name(above) not in weak:
                return words
            ending = ending or words
        return ending if is_nameless else None

    def link(self, kind: int, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """Objects from one of a list to its next one; empty if there are no two.

        Args:
            kind: Their type.
            rows: Objects, those of the list among them.
        """
        types, parents = self._graph.type_index, self._metrics.path_parent
        for row in rows[types[rows] == kind][: -_LINKS - 1 : -1].tolist():
            path, at = [row], int(parents[row])
            while at >= 0 and len(path) < _MAX_LINK and types[at] != kind:
                path.append(at)
                at = int(parents[at])
            if at >= 0 and types[at] == kind:
                return (at, *path[::-1])
        return ()

    def link_words(self, link: Sequence[int]) -> str:
        """The fields of a link, as ``method -> context -> before``; empty for none."""
        steps = [(self.field(above, below), below) for above, below in pairwise(link)]
        # Which place of an array it is tells nothing of the others.
        steps = [
            (field, below) for field, below in steps if field is None or field[0] != "["
        ] or steps
        if not any(field for field, _ in steps):
            return ""
        named_fields = [
            field or self._graph.captions.of(self._graph.type_name(below))
            for field, below in steps
        ]
        return " -> ".join(map(printable, named_fields))

    def function(self, holder: Holder, link: Sequence[int] = ()) -> str | None:
        """The function of the program that is closest above the objects of a pile.

        It is between the holder and the pile, or is called by a timer there. The text
        has its name and place.
        """
        objects = (*holder.between, *link[1:-1], holder.member)
        value = self._last_function(objects)
        prefix = named(self._graph.runtime).scope_prefix
        if value is None and prefix and (holder.type_name or "").startswith(prefix):
            at = holder.path.index(holder.index)
            value = self._last_function(holder.path[max(at - 1, 0) : at])
        if value is None and holder.index >= 0:
            value = next(
                filter(None, map(self._function, self._run_by(holder.index))), None
            )
        return None if value is None else shortened(printable(value), _MAX_FUNCTION)

    def calls(self, holder: Holder) -> str | None:
        """A function of the program's to which an object without a class refers.

        Such as what a library has made to remember a listener.
        """
        graph, member = self._graph, holder.member
        if not self.cuts.has_no_class[graph.type_index[member]]:
            return None
        targets = graph.targets(member)
        value = self._last_function(targets.tolist())
        return None if value is None else shortened(printable(value), _MAX_FUNCTION)

    def _last_function(self, objects: Sequence[int]) -> str | None:
        """Name and place of the last function among objects, or that a timer calls.

        What an object of a class below it has is no matter of that function. None of a
        library: which function has given it what it holds is not known.
        """
        in_library, found = named(self._graph.runtime).library_scripts, None
        for index in objects:
            if found and self._classes[self._graph.type_index[index]] in _VALUES:
                break
            for at in (*self._called_by(index)[::-1], index):
                value = self._function(at)
                if value is not None and not re.search(in_library, value):
                    found = value
        return found

    def source(self, holder: Holder) -> tuple[str | None, bool]:
        """Name and place of the function that holds, or of one in the module that does.

        It is the last one of the program's on the path to the objects, or a function
        that uses the scope which is there.

        Returns:
            The value of the function, ``None`` if there is none; and whether only its
            script is that of the holder, not its line.
        """
        value = self._last_function((*holder.between, holder.member))
        graph, runtime = self._graph, named(self._graph.runtime)
        scope = runtime.patterns.get("closure")
        if value is not None or not runtime.function_type or scope is None:
            return value, False
        for index in reversed(holder.path):
            if (value := self._function(index)) is not None:
                return value, False
            name = graph.type_name(index)
            is_module = bool(runtime.module_prefix) and name.startswith(
                runtime.module_prefix
            )
            if is_module or re.match(scope, name):
                rows = graph.sources(np.flatnonzero(graph.ref_target == index))
                users = filter(None, map(self._function, rows.tolist()))
                if (value := min(users, default=None)) is not None:
                    return value, is_module
        return None, False

    def inner(self, holder: Holder, freed_bytes: int) -> str:
        """The collections inside of a holder's that have nearly all, in words.

        As of a map of lists the one that is large; empty if there is none, or if each
        leads to the next one.
        """
        graph, found = self._graph, list[str]()
        runtime = named(graph.runtime)
        cell, scope = runtime.patterns.get("closure"), runtime.scope_prefix
        for at, (above, below) in enumerate(pairwise(holder.between)):
            if self._metrics.retained_bytes[below] < ENOUGH * freed_bytes:
                continue
            field = self.field(above, below) or ""
            name, kind = graph.type_name(below), graph.type_name(above)
            is_container = self._classes[graph.type_index[below]] == TypeClass.CONTAINER
            is_container &= not is_inside_collection(normalised_type(name))
            begin, end = graph.ref_start[below : below + 2].tolist()
            is_map = name in runtime.records and end - begin >= _FEW_ENTRIES
            if not is_container or not (is_map or COLLECTION.search(name)):
                continue
            words = printable(graph.captions.of(name))
            if re.match(runtime.embedder, words):
                continue
            is_scope = bool(scope) and kind.startswith(scope)
            if kind == runtime.function_type:
                found.append(f"{words} {printable(field)}")  # a static field
            elif cell is not None and re.match(cell, kind):
                found.append(f"{words} {printable(field)}" if is_scope else words)
            elif field == EPHEMERON:
                found.append(f"{words} in a weak map")
            elif field and not field.startswith("[") and self._has_no_type(kind):
                found.append(f"{words} ['{printable(field)}']")
            elif field and not field.startswith("[") and self._is_class(above):
                found.append(f"{words} {printable(self.places.holder(above, field))}")
            elif (
                field.startswith("[")
                or (not field and kind in runtime.collections)
                or is_inside_collection(normalised_type(kind))
            ):
                further = holder.between[at - 1] if at else -1
                key = self._key(above, below, further, field)
                found.append(words + (f" {key}" if key else ""))
        return " in ".join(found[::-1]) if len(found) <= _MOST_INNER else ""

    def _has_no_type(self, name: str) -> bool:
        """Whether objects of a type are only known by their fields."""
        runtime = named(self._graph.runtime)
        return name in runtime.records or runtime.has_shape(name)

    def _is_class(self, index: int) -> bool:
        """Whether an object is of a class of the program or of a library."""
        name = normalised_type(self._graph.type_name(index))
        kind = self._graph.type_index[index]
        is_value = kind >= 0 and self._classes[kind] in _VALUES
        return bool(is_value) and not is_inside_collection(name)

    def entries(self, holder: Holder, count: int) -> str:
        """The pattern of what has so many objects as its entries, or empty.

        As a class that extends a dict, or an object without a class with many fields.
        """
        graph, runtime = self._graph, named(self._graph.runtime)
        if runtime.is_listener(graph.type_name(holder.member)):
            return "event handlers"
        for above, below in pairwise((*holder.between, holder.member)):
            kind = int(graph.type_index[above])
            begin, end = graph.ref_start[above : above + 2].tolist()
            field = self.field(above, below) or ""
            is_element = field.startswith("[") or field == OF_KEY
            if graph.type_names[kind] in runtime.records:
                if end - begin >= max(count // 2, _FEW_ENTRIES):
                    return "map"
            elif is_element and self._classes[kind] == TypeClass.PROGRAM:
                keys = map(graph.field_name, range(begin, min(begin + 2, end)))
                return "map" if OF_KEY in keys else "list"
        return ""

    def inside(self, kind: int, rows: NDArray[np.int32]) -> tuple[Edge, str] | None:
        """The field whose collections in the objects of a type have some objects.

        It is a field of them, or of objects of the program that each of them has.

        Args:
            kind: The type.
            rows: int32. Objects that those of the type dominate.

        Returns:
            The field of one of them, and the key of the collections if all have the
            objects at one; ``None`` if they have the objects in several fields, if only
            one of them does, or if the type has no name.
        """
        if self.cuts.has_no_class[kind]:
            return None
        types, owners, keys = self._graph.type_index, set[int](), set[str]()
        is_called = named(self._graph.runtime).is_called
        found: dict[tuple[int, str], Edge] = {}
        for row in some_of(rows, _LOOKED_AT).tolist():
            at, below, outer = int(self._metrics.dominator[row]), row, (-1, row)
            path = [row]
            while at >= 0:
                path.append(at)
                if len(path) > _FARTHEST:
                    return None  # a list of its own, as what a lazy one has read
                is_own = self._classes[types[at]] == TypeClass.PROGRAM
                is_own &= self._classes[types[below]] == TypeClass.CONTAINER
                if is_own and not is_called(self._graph.type_name(below)):
                    outer = at, below
                if types[at] == kind:
                    break
                at, below = int(self._metrics.dominator[at]), at
            if at < 0 or outer[0] < 0:
                return None
            field = self.field(*outer)
            if field is None and self._graph.ref_field is None:
                field = ""  # of this format none is known
            if field is None or field.startswith("["):
                return None
            owners.add(at)
            inner = path[path.index(outer[1]) :: -1] if len(keys) < 2 else ()
            keys.add(self._outer_key(inner))
            place = int(types[outer[0]]), field
            if place not in found:
                found[place] = self.cuts.edge(*outer)
        is_one = len(found) == 1 and len(owners) > 1
        key = keys.pop() if len(keys) == 1 else ""
        return (next(iter(found.values())), key) if is_one else None

    def _outer_key(self, path: Sequence[int]) -> str:
        """The first key on a path from a collection to what it has; empty for none."""
        above = -1
        for entry, value in pairwise(path):
            field = self.field(entry, value) or ""
            if key := self._key(entry, value, above, field):
                return key
            above = entry
        return ""

    def part_inside(self, kind: int, rows: NDArray[np.int32]) -> str:
        """What of the program has objects inside of others, as a coroutine of a task.

        Args:
            kind: The type of the others.
            rows: int32. Objects that those of the type dominate.

        Returns:
            Words for the nearest part above each object; empty if these are several.
        """
        found = set[str]()
        for row in some_of(rows, _LOOKED_AT).tolist():
            at, below, words = int(self._metrics.dominator[row]), row, ""
            for _ in range(_FARTHEST):
                if words or at < 0 or self._graph.type_index[at] == kind:
                    break
                if self.places.part(at) is not None:
                    words = self.places.holder(at, self.field(at, below))
                at, below = int(self._metrics.dominator[at]), at
            found.add(words)
        return found.pop() if len(found) == 1 else ""

    def _key(self, entry: int, value: int, above: int, field: str) -> str:
        """The key of an entry of a map, as ``['acme']``; empty if it is no text.

        Args:
            entry: The entry, or the table that has it.
            value: Its value.
            above: What refers to the entry or table.
            field: The field by which it refers to the value.
        """
        graph = self._graph
        if field[:2] in ("['", '["'):
            return printable(field)
        rows = range(*graph.ref_start[entry : entry + 2].tolist())
        by_field = {graph.field_name(row): int(graph.ref_target[row]) for row in rows}
        key = by_field.get("key")
        of_pairs = named(graph.runtime).pairs_field
        is_pair = above >= 0 and of_pairs and self.field(above, entry) == of_pairs
        # A dominator may lead to the value by way of others.
        if is_pair and (number := _PLACE.fullmatch(field)):
            key = by_field.get(f"[{int(number[1]) - 1}]")
        if key is None or graph.values is None or key == value:
            return ""
        (text,) = graph.values.pick(np.array([key], np.int32))
        return f"['{shortened(printable(text), _MAX_VALUE)}']" if text else ""

    def _called_by(self, index: int) -> list[int]:
        """The functions that a timer refers to, or one that is suspended there."""
        graph = self._graph
        timer = named(graph.runtime).patterns.get("timer")
        if timer is None or re.match(timer, graph.type_name(index)) is None:
            return self._run_by(index)
        return [int(at) for at in graph.targets(index)]

    def _run_by(self, index: int) -> list[int]:
        """The function of a generator, of a call that waits or of a bound one."""
        graph, fields = self._graph, self._fields_called
        if graph.ref_field is None or not fields:
            return []
        begin, end = graph.ref_start[index : index + 2].tolist()
        is_it = np.isin(graph.ref_field[begin:end], fields)
        return [int(at) for at in graph.ref_target[begin:end][is_it]]

    @cached_property
    def _fields_called(self) -> list[int]:
        called, names = (
            named(self._graph.runtime).called_fields,
            self._graph.field_names,
        )
        return [at for at, name in enumerate(names) if name in called]

    def _function(self, index: int) -> str | None:
        """Name and place of a function of the program's; ``None`` for other objects."""
        graph, runtime = self._graph, named(self._graph.runtime)
        function = runtime.function_type or None
        if graph.values is None or graph.type_name(index) != function:
            return None
        (value,) = graph.values.pick(np.array([index], np.int32))
        if value is None or re.search(runtime.library_functions, value):
            return None
        return value

    def field(self, source: int, target: int) -> str | None:
        """The field that holds an object, the first by name if there are several."""
        graph = self._graph
        rows = self.cuts.referrers.between(source, target)
        names = map(graph.field_name, rows.tolist())
        return min((name for name in names if name is not None), default=None)

    def steps(
        self, holder: Holder, lost: NDArray[np.uint8] | None = None
    ) -> tuple[tuple[str, ...], int | None]:
        """The path of a holder as text, and the first step that a cut frees.

        The root comes first, then objects, each after the field that refers to it.

        Args:
            holder: The holder.
            lost: uint8. Bits of the objects that the cut frees, if there is one.
        """
        graph, path, first = self._graph, holder.path, -1
        if lost is not None and (is_lost := has_bit(lost, np.array(path))).any():
            first = int(is_lost.argmax())
        steps, cut = [printable(graph.root_name(holder.root))], None
        for at, left_out, is_one_type in folded(graph.type_index[list(path)].tolist()):
            if left_out:
                name = graph.captions.of(graph.type_name(path[at]))
                what = printable(name) if is_one_type else "steps"
                steps.append(f"… {left_out:,} more {what}")
            if at == first:
                cut = len(steps)
            steps.append(self._step(path, at))
        return with_ends(steps, cut, _MAX_STEPS)

    def _step(self, path: Sequence[int], at: int) -> str:
        graph, index = self._graph, path[at]
        field = self.field(path[at - 1], index) if at else None
        value = None
        if graph.values is not None:
            (value,) = graph.values.pick(np.array([index], np.int32))
        # The elements of a list are read by the importer, so no control characters.
        return printable(
            (f"{field}: " if field else "")
            + f"{graph.captions.of(graph.type_name(index))} {graph.address(index)}"
            + ("" if value is None else f' "{shortened(value, _MAX_VALUE)}"')
        )
