"""The places through which all paths to an object lead.

All paths from the roots to an object lead through the references into it that come from
elsewhere, and so through those above, up to places that a developer can find in the
source: fields of the program's own types, static fields, variables. These places
together are its *cover*: removing them frees the object.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.analysis.trees import are_below
from ingest.heap.graph import NO_TYPE, OF_CLASS, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.edges import MANY, Edge, Referrers
from ingest.suspects.joints import is_below, some_of
from ingest.suspects.ownership import statics_of_program
from ingest.what_if.places import PROPERTY, UNNAMED_ROOT, UNNAMED_STATIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools
    from ingest.heap.graph import HeapGraph
    from ingest.what_if.places import ReferencePlaces

_TABLES = (
    RootKind.JNI_GLOBAL, RootKind.RUNTIME, RootKind.INTERNAL, RootKind.SYSTEM_CLASS,
    RootKind.INTERNED_STRING, RootKind.OTHER,
)  # fmt: skip

# Compared at each step of each path, and numpy takes long to compare with a member.
_PROGRAM, _LIBRARY = int(TypeClass.PROGRAM), int(TypeClass.LIBRARY)
_ROOTS = int(TypeClass.ROOTS)

OF_RUNTIME = (RootKind.RUNTIME, RootKind.INTERNAL)
"""Roots of the runtime itself, whatever of the program they lead to."""

_STATICS = (RootKind.STATIC, RootKind.THREAD_STATIC)

ENOUGH = 0.9
"""A cut frees at least this share of what its suspect retains."""

MAX_PLACES = 4
"""Places of a cover that are named."""

WIDE = 64
"""Objects that are looked at for one cover: what has more is shared by many."""

MOST_LEVELS = 32
_NEAR, _FEW, _CLIMBED = 4, 20, 8 * WIDE

_LONGEST_CHAIN, _MOST_BETWEEN = 8, 500
MAX_STEPS = 20_000


class Covers:
    """Covers of the objects of one heap, and words for their places.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        places: The words for what holds objects.
        own: Globs of types that are the program's own, or with ``!`` not.

    Attributes:
        native: The objects that roots of the runtime itself refer to.
        has_no_class: bool (T,). The types of objects that have a shape instead.
        has_no_name: bool (T,). Types that are known by their contents alone, as
            functions are.
    """

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        classes: NDArray[np.uint8],
        places: ReferencePlaces,
        own: Sequence[str] = (),
    ) -> None:
        self._graph, self._metrics, self._classes = graph, metrics, classes
        self._places = places
        self.referrers = Referrers(graph, metrics)
        self._runtime = runtime = named(graph.runtime)
        self._weak = np.array(
            [name in runtime.weak_holders for name in graph.type_names], np.bool_
        )
        self.has_no_class = np.array(
            [runtime.has_shape(name) for name in graph.type_names], np.bool_
        )
        no_name = re.compile(runtime.no_class).match
        self.has_no_name = np.array(
            [no_name(name) is not None for name in graph.type_names], np.bool_
        )
        self._inside: dict[str, bool] = {}
        of_runtime = np.isin(graph.root_kind, _TABLES)
        self.native = frozenset(graph.root_object[of_runtime].tolist())
        self._covers: dict[tuple[int, int, int], list[Edge] | None] = {}
        self._named_by: dict[tuple[int, str | None, int, int], bool] = {}
        self._roots: dict[int, int] = {}
        self._functions: dict[int, str | None] = {}
        self._table_objects = places.table_objects
        self._of_program = statics_of_program(graph, own)
        variables = graph.root_object[self._of_program]
        self._variables = frozenset(variables.tolist())

    # -- what refers to objects

    def _edges(
        self, at: int, target: int, inside: Bools | None = None
    ) -> list[Edge] | None:
        """What refers to an object, but for what that or a target dominates.

        Nor does it count what is ``inside``, bool (N + M,), if that is given.

        Roots are last, and of these static fields first; ``None`` where there is so
        much that it is shared by many.
        """
        rows, sources, roots = self.referrers.of(at)
        outside = np.ones(len(rows), np.bool_)
        if inside is not None:
            outside = ~inside[sources]
        if len(rows) > 1:
            for above in {at, target}:
                outside &= ~self._below(sources, above)
        rows, sources = rows[outside], sources[outside]
        if len(rows) + len(roots) > MANY:
            return None
        found = [
            Edge(source, row, (at,))
            for source, row in zip(sources.tolist(), rows.tolist(), strict=True)
        ]
        places, field_name = self._places, self._graph.field_name
        statics = [name for root in roots if (name := places.static_field(root))]
        if statics:
            found = [
                edge
                for edge in found
                if not places.is_alias(edge.source, field_name(edge.row), statics)
            ]
        is_static = self._graph.root_kind == RootKind.STATIC
        roots = sorted(roots, key=lambda root: (not is_static[root], root))
        return found + [Edge(ROOT, root, (at,)) for root in roots]

    def edge(self, source: int, target: int) -> Edge:
        """The reference of one object to another."""
        return Edge(source, self.referrers.row(source, target), (target,))

    def root_of(self, index: int) -> int:
        """The root that holds an object and says most: a static field, if any."""
        # Many paths begin at the same few objects.
        if index not in self._roots:
            graph = self._graph
            rows = self.referrers.roots_of(index)
            kinds = graph.root_kind[rows]
            says_less = 4 * (kinds != RootKind.STATIC) + ~self._of_program[rows]
            says_less -= 2 * (kinds == RootKind.THREAD)
            self._roots[index] = int(rows[int(says_less.argmin())])
        return self._roots[index]

    def _below(self, rows: NDArray[np.int32], above: int) -> Bools:
        """Bool: which objects another one dominates."""
        dominator = self._metrics.dominator
        if len(rows) > WIDE:
            return are_below(dominator, np.array([above], np.int32), rows)
        # Of few, as of most places, no column of all objects is worth it.
        found = np.zeros(len(rows), np.bool_)
        is_below(dominator, rows, above, MAX_STEPS, found)
        return found

    # -- places

    def _caption(self, type_name: str) -> str:
        """A type in a cut: any in place of a browser's own, whose names are long."""
        caption = self._graph.captions.of(type_name)
        return "*" if re.match(self._runtime.embedder, caption) else caption

    def is_weak(self, edge: Edge) -> bool:
        """Whether it is a frame or a root that says little: the last of owners."""
        if edge.source == ROOT:
            return self._graph.root_kind[edge.row] not in _STATICS
        if edge.source in self._table_objects or self._declares(edge):
            return False
        kind = int(self._graph.type_index[edge.source])
        if self._weak[kind] or self._places.part(edge.source) is not None:
            return bool(self._weak[kind])
        if self._classes[kind] == _LIBRARY:
            return not self._has_name(edge)
        return bool(self._classes[kind] != _PROGRAM)

    def _is_static_of(self, edge: Edge, member: int) -> bool:
        """Whether a static field has an object itself, which others do not share."""
        is_static = edge.source == ROOT and not self.is_weak(edge)
        return is_static and edge.below[0] == member

    def _is_library_place(self, edge: Edge) -> bool:
        """Whether it is in a class or function of a library."""
        part = self._places.part(edge.source)
        if part is None:
            return False
        return bool(self._runtime.type_classes([part])[0] != _PROGRAM)

    def _rank(self, edge: Edge) -> int:
        """How late a place is named: weak ones last, before them a library's fields."""
        if self.is_weak(edge):
            return 2
        if edge.source == ROOT:
            return int(not self._of_program[edge.row])
        kind = int(self._graph.type_index[edge.source])
        return int(self._classes[kind] == _LIBRARY or self.has_no_class[kind])

    def _is_below_program(self, edge: Edge) -> bool:
        """Whether the path to a place begins at a variable of the program's."""
        if edge.source == ROOT:
            return bool(self._of_program[edge.row])
        at = edge.source
        for _ in range(MAX_STEPS):
            above = int(self._metrics.path_parent[at])
            if above == ROOT:
                break
            at = above
        return at in self._variables

    def _says_little(self, edge: Edge) -> int:
        """How little a place says as the holder: a root without a name least."""
        is_unnamed = self.holder(edge) == UNNAMED_ROOT
        if edge.source == ROOT and self._graph.root_kind[edge.row] in OF_RUNTIME:
            is_unnamed |= self._places.root_name(edge.row) is None
        return int(self.is_weak(edge)) + int(is_unnamed)

    def _names(self, edge: Edge, kind: int, tier: int) -> bool:
        """Whether a cover ends at an edge.

        Args:
            edge: The reference or root.
            kind: The type of the suspect, whose objects do not hold it.
            tier: 0 for the program's own places, 1 for those of the runtime too, 2 for
                the program's own and variables of its functions.
        """
        if edge.source == ROOT:
            return True
        own = int(self._graph.type_index[edge.source])
        if own < 0 or (own == kind and not self._places.stands[own]):
            return False
        if self._classes[own] == _ROOTS or edge.source in self._table_objects:
            return True
        if self._declares(edge):
            return True
        field = self._graph.field_name(edge.row)
        if field == OF_CLASS:
            return False  # which no program has
        if self._places.part(edge.source) is not None:
            return tier == 1 or not self._weak[own]
        is_variable = self._is_variable(edge, self._runtime.module_prefix)
        if not is_variable and self._is_of_library(edge.below[0]):
            return False  # as the functions of the global object are
        key = own, field, int(self._graph.type_index[edge.below[0]]), tier
        if key not in self._named_by:
            self._named_by[key] = self._names_by_type(edge, tier)
        return self._named_by[key]

    def _is_mate(self, edge: Edge, kind: int) -> bool:
        """Whether two objects refer to one another, and of both kinds are as many.

        Then one is no place for the other: what holds either of them is. Not so if the
        runtime itself has one of them, as the handles of sockets.
        """
        own, at = int(self._graph.type_index[edge.source]), edge.below[0]
        if own < 0 or own == kind or edge.source in self._table_objects:
            return False
        if edge.source in self.native or at in self.native:
            return False
        targets = self._graph.targets(at)
        counts = self._metrics.type_reachable_count
        many = int(counts[kind])
        return edge.source in targets and many > _FEW <= counts[own] >= many // 2

    def _names_by_type(self, edge: Edge, tier: int) -> bool:
        """The same, as far as types and the field tell."""
        own = int(self._graph.type_index[edge.source])
        if tier != 1 and self._is_collection(edge):
            return False  # of the program's own: what has it is named
        if tier == 2 and self._is_local(edge):
            return True
        if tier != 1 and self._is_captured(edge):
            return False  # which no program can clear
        if tier != 1 and self.has_no_class[own]:
            return False
        if self._classes[own] == _PROGRAM:
            return True
        prefix = self._runtime.module_prefix
        is_module = prefix and self._graph.type_names[own].startswith(prefix)
        is_scope = self._graph.type_names[own] == self._runtime.scope_prefix
        return (
            tier == 1
            and (self._classes[own] == _LIBRARY or bool(is_module or is_scope))
            and self.field(edge) is not None
            and not self._is_collection(edge)
        )

    def _is_captured(self, edge: Edge) -> bool:
        """Whether a compiler has made the field, for what an inner class refers to."""
        captured = self._runtime.captured
        return bool(captured) and bool(re.match(captured, self.field(edge) or ""))

    def _is_local(self, edge: Edge) -> bool:
        """Whether it is a variable of a function of the program's, in its scope."""
        return self._is_variable(edge, self._runtime.scope_prefix)

    def _is_variable(self, edge: Edge, prefix: str) -> bool:
        """Whether it is a variable of the program's, in what has a type of a prefix."""
        if not prefix or edge.source == ROOT:
            return False
        name = self._graph.type_name(edge.source)
        if not name.startswith(prefix):
            return False
        if re.search(self._runtime.library_scripts, name):
            return False
        # Scopes also refer to their hidden class.
        is_hidden = self._class_of(edge.below[0]) == TypeClass.METADATA
        has_name = self.field(edge) is not None and not self._is_outer_scope(edge)
        return not is_hidden and has_name

    def _is_outer_scope(self, edge: Edge) -> bool:
        """Whether it leads from a scope to the one around it; a variable does not."""
        (field, _), name = self._runtime.outer_scope, self._graph.type_name
        if not field or edge.source == ROOT or self.field(edge) != field:
            return False
        scopes, ends = self._runtime.scopes, edge.below[:1]
        return all(name(at).startswith(scopes) for at in (edge.source, *ends))

    def _is_collection(self, edge: Edge) -> bool:
        """Whether a reference is one inside a collection, and to its entries."""
        target = self._graph.type_name(edge.below[0])
        field = self._graph.field_name(edge.row) or ""
        return self._runtime.entries_fields.get(field) == target or (
            is_inside_collection(normalised_type(target))
        )

    def _is_of_library(self, index: int) -> bool:
        """Whether an object is a function that is not the program's own."""
        graph, runtime = self._graph, self._runtime
        function = runtime.function_type or None
        if graph.type_name(index) != function or graph.values is None:
            return False
        (value,) = graph.values.pick(np.array([index], np.int32))
        return value is not None and bool(re.search(runtime.library_functions, value))

    def _has_name(self, edge: Edge) -> bool:
        """Whether the field of a reference tells more than the inside of a table."""
        if edge.source == ROOT:
            return True
        name = normalised_type(self._graph.type_name(edge.source))
        is_inside = is_inside_collection(name) or self._is_collection(edge)
        return self.field(edge) is not None and not is_inside

    def is_of_runtime(self, edge: Edge) -> bool:
        """Whether it is a root of which the runtime's own tables may hang."""
        if edge.source != ROOT or not self.is_weak(edge):
            return False
        return self._graph.root_kind[edge.row] in _TABLES

    def _declares(self, edge: Edge) -> bool:
        field = self._graph.field_name(edge.row)
        is_static = self._places.declares(edge.source, field)
        return is_static or self._property(edge) is not None

    def _property(self, edge: Edge) -> str | None:
        """A property that a program has given a function, or a static field of a class.

        Of functions that are made again and again, none has a variable of its name.
        """
        runtime, field = self._runtime, self._graph.field_name(edge.row)
        if not field or not runtime.function_fields:
            return None
        if re.match(runtime.function_fields, field):
            return None
        if self._class_of(edge.below[0]) == TypeClass.METADATA:
            return None
        index = edge.source
        if index not in self._functions:
            name = self._places.function_name(index)
            rows = self.referrers.of(index)[0][:WIDE] if name else ()
            variables = map(self._graph.field_name, rows)
            self._functions[index] = name if name in variables else None
        name = self._functions[index]
        return name and f"{PROPERTY}{name}.{field}"

    def is_of_table(self, edge: Edge) -> bool:
        """Whether it is an element of a table of static fields."""
        return edge.source in self._table_objects

    def field(self, edge: Edge) -> str | None:
        """The field of a reference, or of a static root; ``None`` if not recorded."""
        if edge.source == ROOT:
            return self._places.static_field(edge.row)
        field = self._graph.field_name(edge.row)
        return None if field is not None and field.startswith("[") else field

    def _cover(
        self, target: int, kind: int, tier: int, inside: Bools | None = None
    ) -> list[Edge] | None:
        """The places through which all paths to an object lead, or those from outside.

        Returns:
            At most `MAX_PLACES` of different words, the strongest first; ``None`` if
            there are more.
        """
        key = (target, kind, tier)
        if inside is None and key in self._covers:
            return self._covers[key]
        found: list[Edge] | None = []
        todo: list[tuple[int, tuple[int, ...]]] = [(target, (target,))]
        seen = {target}
        while todo and found is not None:
            following: list[tuple[int, tuple[int, ...]]] = []
            for at, below in todo:
                edges = self._edges(at, target, inside)
                if edges is None and tier == 1 and (own := self._shared(below)):
                    found.append(own)
                    continue
                # What objects have of their class is in the program without them.
                is_of_class = self._graph.type_name(at) == self._runtime.shape_type
                if edges is None or len(below) > MOST_LEVELS or is_of_class:
                    found = None
                    break
                for edge in edges:
                    if self._names(edge, kind, tier) and not self._is_mate(edge, kind):
                        found.append(edge._replace(below=below))
                    elif edge.source not in seen:
                        seen.add(edge.source)
                        up = self._container_of(edge.source)
                        if up[0] not in seen or len(up) == 1:
                            seen.add(up[0])
                            following.append((up[0], (*up, *below)))
            if found is None or len(seen) > WIDE or len(found) > WIDE:
                found = None
            todo = following
        if found is not None:
            found.sort(
                key=lambda edge: (
                    self._rank(edge), self._is_one_of_many(edge),
                    not self._is_below_program(edge), edge.source in self.native,
                    self._is_captured(edge), len(edge.below),
                )
            )  # fmt: skip
            if len(self._words_of(found)) > MAX_PLACES:
                ways, below = [edge.below for edge in found], found[0].below
                while any(way[-len(below) :] != below for way in ways):
                    below = below[1:]
                own = self._shared(below) if tier == 1 else None
                found = own and [own]
        if inside is None:
            self._covers[key] = found
        return found

    def _shared(self, below: tuple[int, ...]) -> Edge | None:
        """The field of an object that many share, such as an event loop, on a path.

        Of one that is no collection: of these, and of what is in them, none has a name.
        """
        if len(below) == 1 or self._class_of(below[0]) != TypeClass.CONTAINER:
            return None
        edge = self.edge(*below[:2])._replace(below=below[1:])
        is_one = self._graph.type_name(below[0]) in self._runtime.collections
        return edge if not is_one and self._has_name(edge) else None

    def _entries_below(self, target: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """What a target dominates immediately, with each of some objects below it."""
        dominator, at = self._metrics.dominator, rows.copy()
        for _ in range(MOST_LEVELS):
            up = dominator[at]
            is_below_it = (up != target) & (up >= 0)
            if not is_below_it.any():
                break
            at[is_below_it] = up[is_below_it]
        return at

    def _is_global(self, target: int) -> bool:
        """Whether only a root without a name has an object, as the global object."""
        if self._metrics.dominator[target] != ROOT:
            return False
        edges = self._edges(target, target) or []
        return self.are_unnamed(edges)

    def _fields_to(self, target: int, member: int) -> list[Edge]:
        """The fields of an object which lead to one that it dominates, nearest first.

        Empty if there is too much in between.
        """
        below: dict[int, tuple[int, ...]] = {member: (member,)}
        todo, found = [member], list[Edge]()
        for at in todo:
            rows, sources, roots = self.referrers.of(at)
            if len(rows) > MANY or roots:
                return []
            for row, source in zip(rows.tolist(), sources.tolist(), strict=True):
                if source == target:
                    found.append(Edge(target, row, below[at]))
                elif source not in below:
                    below[source] = (source, *below[at])
                    todo.append(source)
            if len(todo) > _MOST_BETWEEN:
                return []
        return found

    def _is_one_of_many(self, edge: Edge) -> bool:
        """Whether there are others of the type of what has a place.

        The only one more likely has what it holds than one of many that use it.
        """
        kind = NO_TYPE if edge.source == ROOT else self._graph.type_index[edge.source]
        return kind >= 0 and bool(self._metrics.type_reachable_count[kind] > 1)

    def _container_of(self, entry: int) -> tuple[int, ...]:
        """The only collection that has an entry, and the objects between them.

        If there is none, the entry itself. Entries may refer to one another; all paths
        to them lead through the collection.
        """
        above = int(self._metrics.dominator[entry])
        if not self._is_inside(entry):
            return (entry,)
        for _ in range(MAX_STEPS):  # up linked entries
            if above < 0 or not self._is_inside(above):
                break
            above = int(self._metrics.dominator[above])
        if above < 0 or self._class_of(above) != TypeClass.CONTAINER:
            return (entry,)
        path = [entry]
        while path[0] != above and len(path) < _LONGEST_CHAIN:
            path.insert(0, int(self._metrics.path_parent[path[0]]))
        return tuple(path) if path[0] == above else (above, entry)

    def _is_inside(self, index: int) -> bool:
        """Whether an object is an entry, a node or a table of a collection."""
        name = self._graph.type_name(index)
        if name not in self._inside:
            self._inside[name] = is_inside_collection(normalised_type(name))
        return self._inside[name]

    def _words_of(self, edges: Sequence[Edge]) -> dict[str, list[Edge]]:
        # Of threads with numbers, and frames of one thread, the role is named.
        found: dict[str, list[Edge]] = {}
        for edge in edges:
            is_weak_root = edge.source == ROOT and self.is_weak(edge)
            words = self.role(edge) if is_weak_root else self.holder(edge)
            found.setdefault(words, []).append(edge)
        return {
            words
            if len(every := {self.holder(edge) for edge in some}) > 1
            else every.pop(): some
            for words, some in found.items()
        }

    def fields_above(self, target: int, members: NDArray[np.int32]) -> list[str]:
        """The fields of an object from which many of some objects are reached.

        Args:
            target: The object, which dominates them.
            members: int32. The objects.

        Returns:
            Empty if the ways to one of them are too many to look at.
        """
        found, sample = list[str](), some_of(members, _FEW).tolist()
        for member in sample:
            fields, todo, seen = set[str](), [member], {member}
            while todo:
                edges = self._edges(at := todo.pop(), at)
                if edges is None or len(seen) > _CLIMBED:
                    return []
                for edge in edges:
                    if edge.source == target:
                        fields.add(self.field(edge) or "")
                    elif edge.source not in seen and edge.source != ROOT:
                        seen.add(edge.source)
                        top = self._container_of(edge.source)[0]
                        if top == edge.source or top not in seen:
                            seen.add(top)
                            todo.append(top)
            found += fields
        many = {field for field in found if 4 * found.count(field) >= len(sample)}
        return sorted(many) if all(found) else []

    def variable_above(self, index: int) -> str | None:
        """The nearest variable of a script of the program's that leads to an object.

        Where nothing in the dump is of scripts, ``None``.
        """
        prefix, todo, seen = self._runtime.module_prefix, [index], {index}
        names, of_document = self._graph.type_name, self._runtime.of_document
        if not prefix or names(index).startswith((prefix, *of_document)):
            return None
        for _ in range(_NEAR):
            edges = [edge for at in todo for edge in self._edges(at, at) or ()]
            for edge in edges:
                if self._is_variable(edge, prefix):
                    return self.holder(edge)
            further = {edge.source for edge in edges} - seen - {ROOT}
            # What refers to a part of a document does not hold the whole.
            further = {at for at in further if not names(at).startswith(of_document)}
            todo = list(further)[:WIDE]
            seen.update(todo)
        return None

    def places_of(self, edges: Sequence[Edge]) -> tuple[list[str], list[str]]:
        """Name all places but the first: those that hold strongly, then weak ones."""
        _, *others = self._words_of(edges).items()
        strong = [words for words, some in others if not self.is_weak(some[0])]
        weak = [
            self.role(some[0]) if self._is_of_threads(some[0]) else words
            for words, some in others
            if self.is_weak(some[0])
        ]
        return strong, weak

    def _is_of_threads(self, edge: Edge) -> bool:
        """Whether frames of several threads, all of one name, hold objects of a type.

        As each of many pools counts its threads from 1.
        """
        graph, kinds = self._graph, self._graph.type_index
        if edge.source != ROOT or graph.root_owner is None:
            return False
        owner = graph.root_owner[edge.row]
        is_like = graph.root_kind == graph.root_kind[edge.row]
        is_like &= kinds[graph.root_object] == kinds[edge.below[0]]
        found = np.unique(graph.root_owner[is_like]).tolist()
        alike = [at for at in found if graph.owners[at] == graph.owners[owner]]
        return owner >= 0 and len(alike) > 1

    def are_native(self, edges: Sequence[Edge]) -> bool:
        """Whether half of the places are of what the runtime holds, as open sockets.

        Each has its own then, of which a place below tells more. Classes are held by
        the runtime, too, but have names.
        """
        sources = [some[0].source for some in self._words_of(edges).values()]
        native = [at for at in sources if at in self.native and self._is_native(at)]
        return len(sources) > 1 and 2 * len(native) >= len(sources)

    def _is_native(self, index: int) -> bool:
        """Whether only the runtime's roots refer to an object, which has no name."""
        if self._places.part(index) is not None:
            return False
        kinds = self._graph.root_kind[self.referrers.roots_of(index)]
        return bool(np.isin(kinds, _TABLES).all())

    def are_unnamed(self, edges: Sequence[Edge]) -> bool:
        """Whether roots without a name are the only places, as of a global object."""
        return {self.holder(edge) for edge in edges} == {UNNAMED_ROOT}

    def holder(self, edge: Edge) -> str:
        """A place in words."""
        if edge.source == ROOT:
            return self._places.root(edge.row)
        if edge.source in self._table_objects:
            return UNNAMED_STATIC
        field = self._graph.field_name(edge.row)
        return self._property(edge) or self._places.holder(edge.source, field)

    def role(self, edge: Edge) -> str:
        """A place in words, with all that differ from it in numbers alone."""
        if edge.source == ROOT:
            return self._places.roots(edge.row)
        return self.holder(edge)

    def _class_of(self, index: int) -> int:
        kind = int(self._graph.type_index[index])
        return int(_LIBRARY if kind < 0 else self._classes[kind])

    def _is_private(self, edge: Edge) -> bool:
        """Whether only the library itself can refer to a field, as of a symbol."""
        prefix = self._runtime.private_prefix
        return bool(prefix) and (self.field(edge) or "").startswith(prefix)

    def _is_nearer(self, near: list[Edge], far: list[Edge]) -> bool:
        """Whether one field of a library's object is to name, not what holds that one.

        As where several places of the program refer to the object of the library, or
        one that is a library's too, or a variable, which is named as well.
        """
        kind = int(self._graph.type_index[near[0].source])
        is_field = near[0].source != ROOT and self._has_name(near[0])
        is_field &= self._classes[kind] == TypeClass.LIBRARY and not self._weak[kind]
        if not is_field or self._is_private(near[0]) or len(self._words_of(near)) > 1:
            return False
        is_named = far[0].source == ROOT or self._is_library_place(far[0])
        return is_named or len(self._words_of(far)) > 1
