"""What to remove to free the objects of a suspect, and what that frees, exactly.

All paths from the roots to an object lead through the references into it that come from
elsewhere, and so through those above, up to places that a developer can find in the
source: fields of the program's own types, static fields, variables. These places
together are its *cover*: removing them frees the object. Where one place alone does,
it is the holder; where only several together do, all of them are named.

What a cut frees is computed from its text, by the parser of ``what-if --cut``: so what
is printed is what that command answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT, Reach, holding_references, holding_roots
from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.errors import NotFound
from ingest.heap.graph import OF_CLASS, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.edges import Edge, Verified
from ingest.suspects.joints import by_size, is_below, join, marked, some_of
from ingest.suspects.ownership import statics_of_program
from ingest.what_if.cut_parser import AND, CutParser
from ingest.what_if.freed import WhatIf
from ingest.what_if.places import UNNAMED_ROOT, UNNAMED_STATIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools
    from ingest.heap.graph import HeapGraph
    from ingest.what_if.places import ReferencePlaces

_TABLES = (
    RootKind.JNI_GLOBAL, RootKind.RUNTIME, RootKind.INTERNAL, RootKind.SYSTEM_CLASS,
    RootKind.INTERNED_STRING, RootKind.OTHER,
)  # fmt: skip

_STATICS = (RootKind.STATIC, RootKind.THREAD_STATIC)

ENOUGH = 0.9
"""A cut frees at least this share of what its suspect retains."""

TOO_MUCH = 1.3
"""What a cut may free of what the container of a suspect retains."""

MAX_PLACES = 4
"""Places of a cover that are named."""

_WIDE = 64
"""Objects that are looked at for one cover: what has more is shared by many."""

_MANY = 4096
"""References into one object, from which on it is shared by many."""

_MUCH_MORE, _NEARLY = 3, 0.97
_MOST_LEVELS = 32
_WHOLE = 1 << 24
_SAMPLE = 256
_MAX_STEPS = 20_000
_LONGEST_PATH = 100_000


class Cuts:
    """Cuts of one heap.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        places: The words for what holds objects.
    """

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        classes: NDArray[np.uint8],
        places: ReferencePlaces,
    ) -> None:
        self._graph, self._metrics, self._classes = graph, metrics, classes
        self._places = places
        self._parser = CutParser(graph, places=places)
        self._held = holding_references(graph, metrics.strength)
        self._root_holds = holding_roots(graph, metrics.strength)
        reach = Reach(metrics.root_distance, metrics.path_parent, metrics.strength)
        self._what_if = WhatIf(graph, reach)
        self._runtime = runtime = named(graph.runtime)
        self._weak = np.array(
            [name in runtime.weak_holders for name in graph.type_names], np.bool_
        )
        self._into: dict[
            int, tuple[NDArray[np.intp], NDArray[np.int32], list[int]]
        ] = {}
        self._subtrees: dict[int, Bools] = {}
        self._covers: dict[tuple[int, int, int], list[Edge] | None] = {}
        self._roots: dict[int, int] = {}
        self._places_above: dict[tuple[int, int], dict[int, Edge | None]] = {}
        self._table_objects = places.table_objects
        self._of_program = statics_of_program(graph)

    # -- what refers to objects

    def _find_into(self, targets: Iterable[int]) -> None:
        """Note what refers to some objects from outside of what they dominate."""
        graph, metrics = self._graph, self._metrics
        wanted = np.array(sorted({*targets} - self._into.keys()), np.int32)
        if not len(wanted):
            return
        mark = np.zeros(len(graph.object_id), np.bool_)
        mark[wanted] = True
        rows = np.flatnonzero(mark[graph.ref_target])
        if len(self._held.skipped):
            rows = rows[~self._held.skipped[rows]]
        rows = rows[np.argsort(graph.ref_target[rows], kind="stable")]
        sources = graph.sources(rows).astype(np.int32)
        alive = metrics.root_distance[sources] >= 0
        rows, sources = rows[alive], sources[alive]
        first = np.searchsorted(graph.ref_target[rows], wanted, "left").tolist()
        end = np.searchsorted(graph.ref_target[rows], wanted, "right").tolist()
        roots = np.flatnonzero(mark[graph.root_object] & self._root_holds)
        rooted = graph.root_object[roots]
        for target, begin, after in zip(wanted.tolist(), first, end, strict=True):
            held_by = roots[rooted == target][: _MANY + 1].tolist()
            self._into[target] = rows[begin:after], sources[begin:after], held_by

    def look_at(self, piles: Iterable[tuple[NDArray[np.int32], int]]) -> None:
        """Note at once what refers to the containers of piles and to what is above.

        Args:
            piles: Objects of each pile, and what they retain.
        """
        found: set[int] = set()
        for members, size in piles:
            at = self._joint(members, size)
            for parents in (self._metrics.dominator, self._metrics.path_parent):
                row, steps = ROOT if at is None else at, 0
                while row != ROOT and steps < _MOST_LEVELS:
                    found.add(row)
                    row, steps = int(parents[row]), steps + 1
        self._find_into(found)

    def _edges(self, at: int, target: int) -> list[Edge] | None:
        """What refers to an object, but for what that or a target dominates.

        Roots are last, and of these static fields first; ``None`` where there is so
        much that it is shared by many.
        """
        self._find_into([at])
        rows, sources, roots = self._into[at]
        outside = np.ones(len(rows), np.bool_)
        if len(rows) > 1:
            for above in {at, target}:
                outside &= ~self._below(sources, above)
        rows, sources = rows[outside], sources[outside]
        if len(rows) + len(roots) > _MANY:
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

    def _below(self, rows: NDArray[np.int32], above: int) -> Bools:
        """Bool: which objects another one dominates."""
        if len(rows) > _WIDE or above in self._subtrees:
            if above not in self._subtrees:
                inside = marked(self._metrics, [np.array([above], np.int32)]) == 1
                self._subtrees = {above: inside}  # of one object at a time
            return np.asarray(self._subtrees[above][rows])
        found = np.zeros(len(rows), np.bool_)
        is_below(self._metrics.dominator, rows, above, _MAX_STEPS, found)
        return found

    # -- places

    def is_weak(self, edge: Edge) -> bool:
        """Whether it is a frame or a root that says little: the last of owners."""
        if edge.source == ROOT:
            return self._graph.root_kind[edge.row] not in _STATICS
        if edge.source in self._table_objects or self._declares(edge):
            return False
        kind = int(self._graph.type_index[edge.source])
        return bool(self._weak[kind] or self._classes[kind] != TypeClass.PROGRAM) and (
            self._places.part(edge.source) is None or bool(self._weak[kind])
        )

    def _rank(self, edge: Edge) -> int:
        """How late a place is named: weak ones last, before them a library's fields."""
        if self.is_weak(edge):
            return 2
        return int(edge.source == ROOT and not self._of_program[edge.row])

    def _says_little(self, edge: Edge) -> int:
        """How little a place says as the holder: a root without a name least."""
        return int(self.is_weak(edge)) + (self.holder(edge) == UNNAMED_ROOT)

    def _names(self, edge: Edge, kind: int, tier: int) -> bool:
        """Whether a cover ends at an edge.

        Args:
            edge: The reference or root.
            kind: The type of the suspect, whose objects do not hold it.
            tier: 0 for the program's own places, 1 for those of the runtime too.
        """
        if edge.source == ROOT:
            return True
        own = int(self._graph.type_index[edge.source])
        if own < 0 or (own == kind and not self._places.stands[own]):
            return False
        if self._classes[own] == TypeClass.ROOTS or edge.source in self._table_objects:
            return True
        if self._declares(edge):
            return True
        if self._graph.field_name(edge.row) == OF_CLASS:
            return False  # which no program has
        if self._places.part(edge.source) is not None:
            return tier > 0 or not self._weak[own]
        if self._is_of_library(edge.below[0]):
            return False  # as the functions of the global object are
        if tier == 0 and self._is_collection(edge):
            return False  # of the program's own: what has it is named
        if self._classes[own] == TypeClass.PROGRAM:
            return True
        prefix = self._runtime.module_prefix
        is_module = prefix and self._graph.type_names[own].startswith(prefix)
        return (
            tier > 0
            and (self._classes[own] == TypeClass.LIBRARY or bool(is_module))
            and self.field(edge) is not None
        )

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
        return self.field(edge) is not None and not is_inside_collection(name)

    def is_of_runtime(self, edge: Edge) -> bool:
        """Whether it is a root of which the runtime's own tables may hang."""
        if edge.source != ROOT or not self.is_weak(edge):
            return False
        return self._graph.root_kind[edge.row] in _TABLES

    def _declares(self, edge: Edge) -> bool:
        field = self._graph.field_name(edge.row)
        return self._places.declares(edge.source, field)

    def is_of_table(self, edge: Edge) -> bool:
        """Whether it is an element of a table of static fields."""
        return edge.source in self._table_objects

    def field(self, edge: Edge) -> str | None:
        """The field of a reference, or of a static root; ``None`` if not recorded."""
        if edge.source == ROOT:
            return self._places.static_field(edge.row)
        field = self._graph.field_name(edge.row)
        return None if field is not None and field.startswith("[") else field

    def _cover(self, target: int, kind: int, tier: int) -> list[Edge] | None:
        """The places through which all paths to an object lead.

        Returns:
            At most `MAX_PLACES` of different words, the strongest first; ``None`` if
            there are more.
        """
        key = (target, kind, tier)
        if key in self._covers:
            return self._covers[key]
        found: list[Edge] | None = []
        todo: list[tuple[int, tuple[int, ...]]] = [(target, (target,))]
        seen = {target}
        while todo and found is not None:
            self._find_into(at for at, _ in todo)
            following: list[tuple[int, tuple[int, ...]]] = []
            for at, below in todo:
                edges = self._edges(at, target)
                if edges is None or len(below) > _MOST_LEVELS:
                    found = None
                    break
                for edge in edges:
                    if self._names(edge, kind, tier):
                        found.append(edge._replace(below=below))
                    elif edge.source not in seen:
                        seen.add(edge.source)
                        following.append((edge.source, (edge.source, *below)))
            if found is None or len(seen) > _WIDE or len(found) > _WIDE:
                found = None
            todo = following
        if found is not None:
            found.sort(key=lambda edge: (self._rank(edge), len(edge.below)))
            if len(self._words_of(found)) > MAX_PLACES:
                found = None
        self._covers[key] = found
        return found

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

    def places_of(self, edges: Sequence[Edge]) -> tuple[list[str], list[str]]:
        """What to name besides the first of some places, and of that what is weak."""
        _, *others = self._words_of(edges).items()
        strong = [words for words, some in others if not self.is_weak(some[0])]
        weak = [words for words, some in others if self.is_weak(some[0])]
        return strong, weak

    def holder(self, edge: Edge) -> str:
        """A place in words."""
        if edge.source == ROOT:
            return self._places.root(edge.row)
        if edge.source in self._table_objects:
            return UNNAMED_STATIC
        return self._places.holder(edge.source, self._graph.field_name(edge.row))

    def _text(self, edges: Sequence[Edge], *, by_address: bool = False) -> str:
        """The cut of some edges, as ``Holder.field -> Type and ...``."""
        graph, parts = self._graph, []
        for words, some in self._words_of(edges).items():
            targets = {graph.type_name(edge.below[0]) for edge in some}
            target = graph.captions.of(targets.pop()) if len(targets) == 1 else "*"
            if by_address and some[0].source != ROOT:
                for edge in some:
                    field = self.field(edge)
                    parts.append(
                        f"{graph.address(edge.source)}{f'.{field}' if field else ''}"
                        f" -> {graph.captions.of(graph.type_name(edge.below[0]))}"
                    )
                continue
            parts.append(f"{words} -> {target}")
        return AND.join(dict.fromkeys(parts))

    # -- what cuts free

    def _tried(self, text: str, edges: Sequence[Edge]) -> Verified | None:
        """What the cut of a text frees; ``None`` where it cannot be read."""
        try:
            cut = self._parser.cut(text)
        except NotFound:
            return None
        lost = self._what_if.lost(cut)
        size = int(self._graph.shallow_bytes[lost].sum())
        return Verified(text, tuple(edges), lost, size)

    def of(
        self, kind: int, members: NDArray[np.int32], retained_bytes: int
    ) -> Verified | None:
        """The cut that frees a pile with least besides; ``None`` if none does.

        Args:
            kind: Its type.
            members: int32. Its objects, the one that retains most first.
            retained_bytes: What they retain.
        """
        target = self._joint(members, retained_bytes)
        if target is None:
            return None
        least = ENOUGH * retained_bytes
        for one in islice(self._upwards(target, least), _MOST_LEVELS):
            most = TOO_MUCH * int(self._metrics.retained_bytes[one])
            for found in self._candidates(one, kind, int(members[0])):
                if found is not None and least <= found.freed_bytes <= most:
                    return found
        return None

    def _candidates(
        self, target: int, kind: int, member: int
    ) -> Iterator[Verified | None]:
        """Cuts that may free an object, the best ones to name first."""
        own = int(self._graph.type_index[target])
        part = None if own < 0 or self._weak[own] else self._places.part(target)
        if part is not None and target != member:
            path, at = [member], member
            while (at := int(self._metrics.path_parent[at])) not in (target, ROOT):
                path.append(at)
            # Of functions that wrap one another, each holds the next one.
            if at == target and part not in map(self._places.part, path):
                row = self._reference(target, path[-1])
                edge = Edge(target, row, tuple(path[::-1]))
                yield self._tried(f"{self.holder(edge)} -> *", [edge])
        cover = self._best_cover(target, kind)
        if cover:
            places = self._words_of(cover)
            if len(places) > 1:
                for some in places.values():
                    if not self.is_weak(some[0]):
                        yield self._tried(self._text(some), some)
            yield self._tried(self._text(cover), cover)
            if any(edge.source != ROOT for edge in cover):
                yield self._tried(self._text(cover, by_address=True), cover)
        on_path = [self._on_path(target, kind, tier) for tier in (0, 1)]
        on_path.sort(key=lambda edge: 3 if edge is None else self._says_little(edge))
        shown = cover or [edge for edge in on_path[:1] if edge is not None]
        edges = self._edges(target, target) or []
        if 0 < len(self._words_of(edges)) <= MAX_PLACES:
            if all(self._has_name(edge) for edge in edges):
                if not shown or self.is_weak(shown[0]):
                    shown = edges
                yield self._tried(self._text(edges), shown)
            yield self._tried(self._text(edges, by_address=True), shown)
        yield self._tried(self._graph.address(target), shown[:1])

    def _upwards(self, target: int, least_bytes: float) -> Iterator[int]:
        """An object and those above it that retain little more, but enough."""
        retained = self._metrics.retained_bytes
        most = int(TOO_MUCH * retained[target])
        while target != ROOT and retained[target] <= most:
            if TOO_MUCH * int(retained[target]) >= least_bytes:
                yield target
            target = int(self._metrics.dominator[target])

    def _joint(self, members: NDArray[np.int32], retained_bytes: int) -> int | None:
        """The nearest object that dominates nearly all members; ``None`` if none does.

        It is the container, or the member if there is but one. What retains much
        besides is one only where each member is below an entry of its own.
        """
        graph, metrics = self._graph, self._metrics
        sample = some_of(members, _SAMPLE)
        size = np.maximum(metrics.retained_bytes[sample], 1)
        weight = np.maximum(size * _WHOLE // int(size.sum()), 1).astype(np.int32)
        total = np.zeros(len(metrics.dominator), np.int32)
        least = int(ENOUGH * int(weight.sum()))
        found, entry = np.full((2, len(sample)), ROOT, np.int32)
        join(metrics.dominator, sample, weight, least, total, found, entry)
        if not (found >= 0).any():
            return None
        at = found[found >= 0]
        target = int(at[int(metrics.retained_bytes[at].argmin())])
        if self._class_of(target) == TypeClass.ROOTS:
            return None
        if metrics.retained_bytes[target] > _MUCH_MORE * retained_bytes:
            entries = np.unique(entry[found == target])
            if 2 * len(entries) < len(sample):
                return None
        if self._places.stands[graph.type_index[target]]:
            return target
        # Of a list of nodes, the first one.
        above = int(metrics.dominator[target])
        while above >= 0 and graph.type_index[above] == graph.type_index[target]:
            target, above = above, int(metrics.dominator[above])
        return target

    def _class_of(self, index: int) -> int:
        kind = int(self._graph.type_index[index])
        return int(TypeClass.LIBRARY if kind < 0 else self._classes[kind])

    def nearest(self, kind: int, members: NDArray[np.int32]) -> tuple[Edge, int] | None:
        """What to name as the holder of objects, untried, and one of them.

        Args:
            kind: Their type.
            members: int32. They, the one that retains most first.
        """
        size = int(self._metrics.retained_bytes[members].sum())
        target = self._joint(members, size)
        if target is not None and (cover := self._best_cover(target, kind)):
            return cover[0], int(members[0])
        found = self._common(kind, members, _SAMPLE)
        return None if found is None else (found[0], int(found[1][0]))

    def member_below(self, edge: Edge, members: NDArray[np.int32]) -> int:
        """One of some objects that is below a place: the first where that is known."""
        below = edge.below[-1]
        if below in members[:1] or (len(edge.below) == 1 and below in members):
            return below
        some = members[:_WIDE]
        inside = np.zeros(len(some), np.bool_)
        is_below(self._metrics.dominator, some, below, _MAX_STEPS, inside)
        return int(some[int(np.argmax(inside))])

    def _best_cover(self, target: int, kind: int) -> list[Edge] | None:
        covers = [self._cover(target, kind, tier) for tier in (0, 1)]
        found = [cover for cover in covers if cover]
        found.sort(key=lambda cover: self._says_little(cover[0]))
        return found[0] if found else None

    # -- objects that are held one by one, in the same role

    def of_group(
        self, kind: int, members: NDArray[np.int32], most: int = _SAMPLE
    ) -> tuple[Verified, NDArray[np.int32]] | None:
        """The cut of objects that many places of one role hold, and which of them.

        Args:
            kind: The type of the objects.
            members: int32. The objects, the one that retains most first.
            most: How many are looked at.

        Returns:
            The cut, and the objects that the places hold: all of them if there are
            more than ``most``; ``None`` if most of them have no place in common.
        """
        common = self._common(kind, members, most)
        if common is None:
            return None
        edge, held = common
        if self._classes[kind] != TypeClass.PROGRAM and self._is_of_values(edge):
            return None
        size = int(self._metrics.retained_bytes[held].sum())
        least = ENOUGH * size
        texts = [f"{self.role(edge)} -> {self._target(edge)}"]
        if self._classes[kind] == TypeClass.PROGRAM:
            texts.append(self._graph.captions.of(self._graph.type_names[kind]))
        for text in texts:
            found = self._tried(text, [edge])
            if found is not None and least <= found.freed_bytes <= TOO_MUCH * size:
                return found, held
        return None

    def _is_of_values(self, edge: Edge) -> bool:
        """Whether the runtime's values hold: texts, which all parts of it have."""
        if edge.source == ROOT or self._places.part(edge.source) is not None:
            return False
        return self._class_of(edge.source) != TypeClass.PROGRAM

    def of_waiting(self, kind: int, members: NDArray[np.int32]) -> Verified | None:
        """The cut of objects that wait for the finalizer.

        Args:
            kind: Their type.
            members: int32. They, the one that retains most first.
        """
        member = int(members[0])
        source = int(self._metrics.dominator[member])
        if source < 0:
            return None
        edge = Edge(source, self._reference(source, member), (member,))
        size = int(self._metrics.retained_bytes[members].sum())
        for text in (
            self._target(edge),
            f"{self.holder(edge)} -> {self._target(edge)}",
        ):
            found = self._tried(text, [edge])
            if (
                found is not None
                and ENOUGH * size <= found.freed_bytes <= TOO_MUCH * size
            ):
                return found
        return None

    def _common(
        self, kind: int, members: NDArray[np.int32], most: int
    ) -> tuple[Edge, NDArray[np.int32]] | None:
        """The place, in words, that most objects have in common, and those that do."""
        members = self._most_of(members)
        sample, sizes = by_size(members, self._metrics.retained_bytes[members], most)
        for tier in (0, 1):
            edges = [self._above(index, kind, tier) for index in sample.tolist()]
            keys = [
                None
                if edge is None or self._is_static_of(edge, index)
                else (self.role(edge), self._target(edge))
                for edge, index in zip(edges, sample.tolist(), strict=True)
            ]
            total: dict[tuple[str, str] | None, float] = defaultdict(float)
            for key, size in zip(keys, sizes.tolist(), strict=True):
                total[key] += size
            common = max(total, key=total.__getitem__)
            if common is None or 2 * total[common] < sum(total.values()):
                continue
            is_held = np.array([key == common for key in keys], np.bool_)
            edge = self._on_path(int(sample[int(np.argmax(is_held))]), kind, tier)
            assert edge is not None
            if self.is_weak(edge) and tier == 0:
                continue
            return edge, members[is_held] if sample is members else members
        return None

    def _is_static_of(self, edge: Edge, member: int) -> bool:
        """Whether a static field has an object itself, which others do not share."""
        is_static = edge.source == ROOT and not self.is_weak(edge)
        return is_static and edge.below[0] == member

    def _most_of(self, members: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of some objects, the largest first, that have nearly all bytes."""
        sums = np.cumsum(self._metrics.retained_bytes[members])
        return members[: int(np.searchsorted(sums, _NEARLY * sums[-1])) + 1]

    def _on_path(self, member: int, kind: int, tier: int) -> Edge | None:
        """The nearest place on a shortest path to an object."""
        edge = self._above(member, kind, tier)
        if edge is None:
            return None
        below, at = [member], member
        while at != edge.below[0]:
            at = int(self._metrics.path_parent[at])
            below.append(at)
        return edge._replace(below=tuple(below[::-1]))

    def _above(self, member: int, kind: int, tier: int) -> Edge | None:
        """The same, with only the object that the place refers to below it."""
        graph, metrics = self._graph, self._metrics
        # Many objects of a list have one path, of all before them.
        known = self._places_above.setdefault((kind, tier), {})
        passed: list[int] = []
        at, found = member, None
        while at not in known and len(passed) < _LONGEST_PATH:
            passed.append(at)
            source = int(metrics.path_parent[at])
            if source < 0:
                if source == ROOT:
                    found = Edge(ROOT, self.root_of(at), (at,))
                break
            if int(graph.type_index[source]) != kind or self._places.stands[kind]:
                edge = Edge(source, self._reference(source, at), (at,))
                if self._names(edge, kind, tier):
                    found = edge
                    break
            at = source
        else:
            found = known.get(at)
        known.update(dict.fromkeys(passed, found))
        return found

    def root_of(self, index: int) -> int:
        """The root that holds an object and says most: a static field, if any."""
        # Many paths begin at the same few objects.
        if index not in self._roots:
            graph = self._graph
            rows = np.flatnonzero((graph.root_object == index) & self._root_holds)
            says_less = 2 * (graph.root_kind[rows] != RootKind.STATIC)
            says_less += ~self._of_program[rows]
            self._roots[index] = int(rows[int(says_less.argmin())])
        return self._roots[index]

    def _reference(self, source: int, target: int) -> int:
        """The row of a reference that holds, one of a named field if there is one."""
        graph = self._graph
        begin, end = graph.ref_start[source : source + 2].tolist()
        rows = begin + np.flatnonzero(graph.ref_target[begin:end] == target)
        if len(self._held.skipped):
            rows = rows[~self._held.skipped[rows]]
        named_rows = [
            (name, row)
            for row in rows.tolist()
            if (name := graph.field_name(row)) is not None
        ]
        return min(named_rows)[1] if named_rows else int(rows[0])

    def role(self, edge: Edge) -> str:
        """A place in words, with all that differ from it in numbers alone."""
        if edge.source == ROOT:
            return self._places.roots(edge.row)
        return self.holder(edge)

    def _target(self, edge: Edge) -> str:
        return self._graph.captions.of(self._graph.type_name(edge.below[0]))
