"""Leak suspects: what accumulates, what holds it, and where to cut.

A suspect is a pile (`ingest.suspects.piles`), or a group of objects that are all held
in the same way. It retains at least a tenth of the heap. Its size is what its cut
(`ingest.suspects.cuts`) frees.

Source: leak reports of heap analysers name an accumulation point, too. The folding over
types of the runtime is our own.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.types import count_by, largest_first, rows_where
from ingest.arrays.array_files import release_pages
from ingest.heap.graph import NO_TYPE, RefKind, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.classes import generated_classes
from ingest.suspects.covers import ENOUGH, MOST_LEVELS
from ingest.suspects.edges import has_bit
from ingest.suspects.garbage import garbage_types
from ingest.suspects.outside import outside_of, with_outside
from ingest.suspects.own import are_scopes_of_libraries
from ingest.suspects.ownership import from_owners, with_types_by_name
from ingest.suspects.pile import FEW_WITHOUT_CONTAINER, Held, Pile
from ingest.suspects.piles import SAMPLE, PileSearch
from ingest.suspects.rooms import owner_of_table
from ingest.suspects.shared import shared_containers
from ingest.suspects.suspect import Accused, Suspect, Telling, is_one_of_several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

SUSPECT_SHARE = 0.10
"""A suspect has at least this share of the reachable bytes without metadata."""

LEAST_SHARE = 0.05
"""A suspect has at least this share of all reachable bytes."""

MAX_SUSPECTS = 5

SMALLER_SHARE = 0.01
"""A smaller group that is reported has at least this share of the reachable bytes."""

_LEAST_OF_SMALLER, _FEW, _MANY_THREADS = 100, 5, 50
_MAX_SMALLER, _MAX_LOOKED_AT, _LOOKED_AT, _MAX_TRIED = 3, 10, 64, 12

_BLOCK = 1 << 17
"""Bytes of bits of objects that are looked at together."""


class Findings(NamedTuple):
    """The first results for a heap, before its tables.

    Attributes:
        suspects: Leak suspects, the best first.
        metadata_bytes: Reachable bytes that are the runtime's metadata: classes, code,
            scripts.
        smaller: Groups of objects of the program's own types that one holder has, in
            none of the suspects and too small for one. A leak that has begun is among
            them, and so is much that is needed.
        garbage: What most of the garbage is, as ``6,000 Response``: of the program's
            own types if it has any.
        generated: Sentences about many classes without instances.
    """

    suspects: tuple[Suspect, ...]
    metadata_bytes: int
    smaller: tuple[Suspect, ...] = ()
    garbage: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()


def find_suspects(
    graph: HeapGraph,
    metrics: HeapMetrics,
    own: Sequence[str] = (),
) -> Findings:
    """The leak suspects of a heap.

    Args:
        graph: The heap.
        metrics: Its metrics.
        own: Globs of types that are the program's own, or with ``!`` not; see
            `ingest.runtimes.Runtime.type_classes`.
    """
    if not metrics.reachable_bytes:
        return Findings((), 0)
    graph = with_types_by_name(graph)
    release_pages(graph.object_id, graph.shallow_bytes)
    heap_bytes, outside = metrics.reachable_bytes, outside_of(graph, metrics)
    if outside is not None:
        graph, metrics = with_outside(graph, metrics, outside)
    owned = from_owners(graph, metrics, own)
    release_pages(metrics.root_distance, metrics.path_parent)
    inside = heap_bytes / metrics.reachable_bytes
    search = PileSearch(graph, owned, own, inside)
    return _Search(search, Telling(graph, owned, search, outside)).findings()


class _Search:
    """The search for the suspects of one heap."""

    def __init__(self, search: PileSearch, telling: Telling) -> None:
        self._graph, self._metrics = search.graph, search.metrics
        self._search, self._telling = search, telling
        self._taken = np.zeros(0, np.uint8)
        self._steps: list[NDArray[np.int32]] = []

    def findings(self) -> Findings:
        """All findings."""
        search, metrics = self._search, self._metrics
        piles = sorted(search.piles(), key=lambda pile: -pile.score)[:_MAX_TRIED]
        search.forget_owners()
        # A few objects without a container are parts of what refers to them.
        piles = [few for pile in piles if (few := self._many_or_one(pile)) is not None]
        told = [one for pile in piles if (one := self._told(search.held(pile)))]
        least = max(SUSPECT_SHARE * search.base, LEAST_SHARE * metrics.reachable_bytes)
        if self._graph.incomplete:
            # Roots may be lost: little of much that none reaches says nothing.
            least = max(least, SUSPECT_SHARE * int(self._graph.shallow_bytes.sum()))
        # One of several in the same role may be a part of what the program has made.
        several, whole = list[Accused](), list[Accused]()
        for one in told:
            is_part = is_one_of_several(one.held.pile) and not one.evidence.is_done
            (several if is_part else whole).append(one)
        chosen = self._chosen(whole, least)
        chosen += self._groups(least, _MAX_LOOKED_AT, MAX_SUSPECTS - len(chosen))
        chosen += self._threads(
            least, FEW_WITHOUT_CONTAINER, MAX_SUSPECTS - len(chosen)
        )
        chosen += self._chosen(self._shared(least), least)[: MAX_SUSPECTS - len(chosen)]
        chosen += self._chosen(several, least)[: MAX_SUSPECTS - len(chosen)]
        chosen = self._outer(chosen)
        chosen.sort(key=lambda one: (not one.evidence.is_done, -one.score))
        least = SMALLER_SHARE * metrics.reachable_bytes
        smaller = self._groups(least, _MAX_LOOKED_AT, _MAX_SMALLER, only_own=True)
        smaller += self._threads(0, _MANY_THREADS, _MAX_SMALLER - len(smaller))
        return Findings(
            tuple(map(self._telling.suspect, chosen)),
            search.metadata_bytes - self._metadata_in(chosen),
            tuple(
                self._telling.suspect(one) for one in smaller if not one.evidence.doubts
            ),
            garbage_types(self._graph, self._metrics, search.classes),
            generated_classes(
                self._graph, self._metrics, search.classes, self._holder_of
            ),
        )

    def _metadata_in(self, chosen: Sequence[Accused]) -> int:
        """Bytes of the runtime's metadata that are told as a part of suspects.

        As what a class of a library has in a field of the class.
        """
        told = np.zeros_like(self._search.metadata)
        for one in chosen:
            told |= one.lost
        told &= self._search.metadata
        if not told.any():
            return 0
        rows = np.flatnonzero(np.unpackbits(told))
        size = int(self._graph.shallow_bytes[rows].sum())
        release_pages(self._graph.shallow_bytes)
        return size

    def _many_or_one(self, pile: Pile) -> Pile | None:
        """The pile, or of a few objects the one that has nearly all."""
        if pile.object_count == 1:
            at = owner_of_table(self._graph, self._metrics, int(pile.members[0]))
            return pile._replace(
                type_index=int(self._graph.type_index[at]),
                retained_bytes=int(self._metrics.retained_bytes[at]),
                members=np.array([at], np.int32),
            )
        if pile.is_many:
            return pile
        largest = int(self._metrics.retained_bytes[pile.members[0]])
        if largest < ENOUGH * pile.retained_bytes:
            return None
        one = pile.members[:1]
        return pile._replace(object_count=1, retained_bytes=largest, members=one)

    def _is_large(self, one: Accused, least: float) -> bool:
        """Whether a pile has enough bytes; all of it, if it has some outside the heap.

        Args:
            one: The pile.
            least: The fewest bytes, if memory outside the heap counts.
        """
        inside = 1.0 if one.words.outside_bytes else self._search.inside
        return one.held.pile.retained_bytes >= inside * least

    def _chosen(self, told: list[Accused], least: float) -> list[Accused]:
        """The suspects among piles, the best first; none within another one."""
        # Of what is in one container, the program's own objects are named.
        classes = self._search.classes
        by_cut: dict[str, Accused] = {}
        told = self._joined(told)

        def worth(one: Accused) -> tuple[bool, bool, float]:
            is_of_library = classes[one.held.pile.type_index] != TypeClass.PROGRAM
            return bool(is_of_library), not one.evidence.is_done, -one.score

        for one in sorted(told, key=worth):
            by_cut.setdefault(one.words.cut, one)
        found: list[Accused] = []
        # Objects whose own state says that they are done are suspect, however large.
        order = sorted(
            by_cut.values(), key=lambda one: (not one.evidence.is_done, -one.score)
        )
        for one in order:
            if not self._is_large(one, least) and not one.evidence.is_done:
                continue
            if len(found) < MAX_SUSPECTS and self._take(one):
                found.append(one)
                if one.held.holder.root_kind == RootKind.NOT_RECORDED.label:
                    self._take_unrecorded()
        # Of collections whose entries the file does not record, these are told.
        tables = named(self._graph.runtime).unrecorded
        is_told = any(
            one.held.holder.root_kind == RootKind.NOT_RECORDED.label
            and one.words.type_name not in tables
            for one in found
        )
        if tables and is_told:
            found = [one for one in found if one.words.type_name not in tables]
        return found

    def _take_unrecorded(self) -> None:
        """Note collections whose entries are told: what has them is a part of these."""
        tables = list(named(self._graph.runtime).unrecorded)
        is_table = np.append(np.isin(self._graph.type_names, tables), np.False_)
        self._note(np.packbits(is_table[self._graph.type_index]))

    def _note(self, bits: NDArray[np.uint8]) -> None:
        """Note objects that are told already, or that are no suspects."""
        self._taken = self._taken | bits if len(self._taken) else bits

    def _outer(self, chosen: list[Accused]) -> list[Accused]:
        """The suspects without those of which a larger one frees most as well."""

        def is_inside(one: Accused, other: Accused) -> bool:
            is_larger = other.held.pile.retained_bytes > one.held.pile.retained_bytes
            return is_larger and self._is_most_in(one, other.lost)

        return [
            one
            for one in chosen
            if one.evidence.is_done
            or not any(is_inside(one, other) for other in chosen)
        ]

    def _joined(self, told: list[Accused]) -> list[Accused]:
        """The same, with one for all that places of one role hold, as many threads."""
        alike: dict[tuple[int, str], list[Accused]] = {}
        for one in told:
            pile, holder = one.held.pile, one.held.holder
            alike.setdefault((pile.type_index, holder.role), []).append(one)
        found: list[Accused] = []
        for some in alike.values():
            found += some
            if len(some) == 1:
                continue
            piles = [one.held.pile for one in some]
            rows = np.unique(np.concatenate([pile.members for pile in piles]))
            rows = largest_first(rows, self._metrics.retained_bytes)
            # One cut may free the objects of several places, if words name all of them.
            size = sum(
                {one.words.cut: one.held.cut.freed_bytes for one in some}.values()
            )
            pile = piles[0]._replace(
                object_count=len(rows), retained_bytes=size, members=rows, entry=-1
            )
            ways = self._of_alike(pile, some), self._search.held(pile)
            nearest = sorted(
                filter(None, ways), key=lambda one: len(one.holder.between)
            )
            for held in (*nearest, self._of_inner(pile, some)):
                every = self._told(held)
                if every and every.held.pile.retained_bytes >= ENOUGH * size:
                    del found[-len(some) :]
                    found.append(every)
                    break
        return found

    def _of_alike(self, pile: Pile, some: Sequence[Accused]) -> Held | None:
        """The pile of several collections, by the place that each of them has."""
        first, cuts = some[0].held, [one.held.cut for one in some]
        cut = self._search.paths.cuts.of_alike(cuts, pile.members)
        if cut is None:
            return None
        pile = pile._replace(retained_bytes=cut.freed_bytes)
        return Held(pile, first.holder, cut, is_group=True)

    def _of_inner(self, pile: Pile, some: Sequence[Accused]) -> Held | None:
        """The pile of several collections of one type, by the cut of that type.

        As the lists of timers: each period has one, and only its address tells it.
        """
        inner = {one.words.inner for one in some}
        first, name = some[0].held, next(iter(inner))
        if len(inner) > 1 or not name or any(" -> " in one.words.cut for one in some):
            return None
        members, size = pile.members, pile.retained_bytes
        cut = self._search.paths.cuts.of_text(name, first.cut.edges, members, size)
        if cut is None:
            return None
        pile = pile._replace(retained_bytes=cut.freed_bytes)
        return Held(pile, first.holder, cut, is_group=False)

    def _take(self, one: Accused) -> bool:
        """Note what a suspect frees; false if most of it is already reported.

        So it is if it is a part of each object that leads to those of another one, as
        the timers of what they call.
        """
        if one.held.is_group:
            steps = self._own_steps(one.held.pile.members)
            for other in self._steps:
                if 2 * len(np.intersect1d(steps, other)) > len(steps):
                    return False
            self._steps.append(steps)
        if len(self._taken) and self._is_most_in(one, self._taken):
            return False
        self._note(one.lost)
        return True

    def _is_most_in(self, one: Accused, bits: NDArray[np.uint8]) -> bool:
        """Whether most of what a suspect frees is among the objects of some bits."""
        both = one.lost & bits
        if not both.any():
            return False
        rows = np.unpackbits(both, count=len(self._graph.object_id)).view(np.bool_)
        size = int(self._graph.shallow_bytes[rows].sum())
        release_pages(self._graph.shallow_bytes)
        return 2 * size > one.held.pile.retained_bytes

    def _own_steps(self, members: NDArray[np.int32]) -> NDArray[np.int32]:
        """What is on the path to one of some objects and on that to no other one.

        Without the objects themselves.
        """
        steps: list[NDArray[np.int32]] = []
        rows = members[: 10 * SAMPLE]
        for _ in range(MOST_LEVELS):
            rows = self._metrics.path_parent[rows]
            rows = rows[rows >= 0]
            steps.append(rows)
        found, count = np.unique(np.concatenate(steps), return_counts=True)
        return np.asarray(found[count == 1])

    def _groups(
        self, least: float, most_looked_at: int, most: int, *, only_own: bool = False
    ) -> list[Accused]:
        """Objects of one type that places of one role hold, besides reported ones.

        Args:
            least: Bytes that they retain.
            most_looked_at: Types.
            most: The most groups.
            only_own: Whether only types of the program are looked at.
        """
        graph, metrics, classes = self._graph, self._metrics, self._search.classes
        wanted = classes == TypeClass.PROGRAM
        if only_own:
            wanted &= ~are_scopes_of_libraries(graph)
        else:
            wanted |= classes == TypeClass.LIBRARY
        sizes = np.where(wanted, metrics.type_retained_bytes, 0)
        fewest = _LEAST_OF_SMALLER if only_own else _FEW
        sizes[metrics.type_reachable_count < fewest] = 0
        order = np.flatnonzero(sizes >= self._search.inside * least)
        # The program's own come first: what they have may be of a type as large.
        order = order[np.lexsort((-sizes[order], classes[order]))][:most_looked_at]
        # What a suspect frees is a part of it.
        is_part = 2 * self._taken_count() > metrics.type_reachable_count
        found: list[Accused] = []
        for kind in order[~is_part[order]].tolist():
            if len(found) >= most:
                break
            rows = rows_where(graph.type_index == kind)
            rows = rows[metrics.root_distance[rows] >= 0]
            if metrics.strength is not None:
                rows = rows[metrics.strength[rows] < RefKind.WEAK]
            rows = rows[~has_bit(self._search.metadata, rows)]
            if not len(rows):
                continue
            is_taken = len(self._taken) and has_bit(self._taken, rows)
            if 2 * np.count_nonzero(is_taken) > len(rows):
                continue
            rows = largest_first(rows, metrics.retained_bytes)
            pile = Pile(kind, len(rows), int(sizes[kind]), rows, -1, ROOT)
            one = self._told(self._search.held(pile, _LOOKED_AT))
            if one is None or not self._is_large(one, least):
                continue
            if only_own and self._is_of_library(one.held):
                continue
            if self._take(one):
                found.append(one)
        return found

    def _threads(self, least: float, fewest: int, most: int) -> list[Accused]:
        """Threads whose names differ only in numbers, besides reported ones.

        Args:
            least: Bytes that they retain.
            fewest: How many threads are told.
            most: The most groups.
        """
        search, found = self._search, list[Accused]()
        for pile in self._alike_threads:
            is_large = pile.retained_bytes >= search.inside * least
            if len(found) >= most or pile.object_count < fewest or not is_large:
                continue
            one = self._told(search.held(pile))
            if one is not None and one.words.are_threads and self._take(one):
                found.append(one)
        return found

    @cached_property
    def _alike_threads(self) -> list[Pile]:
        """Threads whose names differ only in numbers, the most ones first."""
        graph, retained = self._graph, self._metrics.retained_bytes
        alike: dict[str, list[int]] = defaultdict(list)
        for root in np.flatnonzero(graph.root_kind == RootKind.THREAD).tolist():
            words = self._search.paths.places.roots(root)
            alike[words].append(int(graph.root_object[root]))
        piles: list[Pile] = []
        for rows in sorted(alike.values(), key=len, reverse=True)[:_MAX_LOOKED_AT]:
            members = largest_first(np.unique(rows).astype(np.int32), retained)
            kind, size = int(graph.type_index[members[0]]), int(retained[members].sum())
            piles.append(Pile(kind, len(members), size, members, -1, ROOT))
        return piles

    def _shared(self, least: float) -> list[Accused]:
        """Containers that several places hold, besides reported ones."""
        graph, metrics, search = self._graph, self._metrics, self._search
        left_out = search.metadata
        if len(self._taken):
            left_out = left_out | self._taken
        if metrics.strength is not None:
            left_out = left_out | np.packbits(metrics.strength >= RefKind.WEAK)
        skipped = search.paths.cuts.referrers.held.skipped
        found: list[Accused] = []
        for count, members in shared_containers(
            graph,
            metrics,
            search.classes,
            skipped,
            left_out,
            int(search.inside * least),
        ):
            kind = int(graph.type_index[members[0]])
            if graph.type_names[kind] in named(graph.runtime).named_by:
                continue  # variables of the program
            size = int(metrics.retained_bytes[members].sum())
            pile = Pile(kind, count, size, members, -1, ROOT)
            one = self._told(search.held(pile)) if pile.is_many else None
            found += [] if one is None else [one]
        return found

    def _taken_count(self) -> NDArray[np.int64]:
        """int64 (T,): how many objects of each type the suspects free."""
        graph, types = self._graph, len(self._graph.type_names)
        if not len(self._taken):
            return np.zeros(types, np.int64)
        taken = np.unpackbits(self._taken, count=len(graph.object_id)).view(np.bool_)
        return count_by(graph.type_index[taken], types)

    def _is_of_library(self, held: Held) -> bool:
        """Whether objects without a class are held by an object of a library."""
        search, index = self._search, held.holder.index
        if not search.paths.cuts.has_no_class[held.pile.type_index] or index < 0:
            return False
        return bool(search.classes[self._graph.type_index[index]] == TypeClass.LIBRARY)

    def _is_of_start(self, held: Held) -> bool:
        """Whether these are values that the runtime begins with, in its own fields."""
        if self._is_archived(held):
            return True
        if self._is_read_once(held):  # what is inside of them is no suspect either
            self._note(held.cut.bits)
            return True
        runtime, classes = named(self._graph.runtime), self._search.classes
        if held.cut.freed_bytes >= runtime.own_bytes:
            return False
        on_path = self._graph.type_index[list(held.holder.path)]
        return not (classes[on_path] == TypeClass.PROGRAM).any()

    def _is_archived(self, held: Held) -> bool:
        """Whether all are right in a table of what a JVM has in its archive.

        Only it also refers to classes that the program has not used, which no dump has.
        What the program adds is further down, in objects of the archive.
        """
        graph, path = self._graph, held.holder.path
        if held.holder.root_kind != RootKind.JNI_GLOBAL.label or graph.incomplete:
            return False
        if not all(graph.type_name(index).endswith("[]") for index in path[:-1]):
            return False
        return bool((graph.targets(path[0]) >= graph.object_count).any())

    def _is_read_once(self, held: Held) -> bool:
        """Whether all are in a field that the runtime fills by itself.

        The program may refer to them as well. Of several objects with such a field each
        fills its own: then they are as many as the program has made.
        """
        graph, paths, edges = self._graph, self._search.paths, held.cut.edges
        read_once, metrics = named(graph.runtime).read_once, self._metrics
        if self._search.classes[held.pile.type_index] == TypeClass.PROGRAM:
            return False
        roots = [held.holder.root, *(edge.row for edge in edges if edge.source == ROOT)]
        field_of = paths.places.static_field
        found = [(int(graph.root_type[root]), field_of(root)) for root in roots]
        steps = [*pairwise(held.holder.path)]
        for edge in edges:
            steps += pairwise((edge.source, *edge.below))
        for above, below in steps:
            kind = NO_TYPE if above == ROOT else int(graph.type_index[above])
            is_one = kind >= 0 and metrics.type_reachable_count[kind] == 1
            if is_one and graph.type_names[kind] in read_once:
                found.append((kind, paths.field(above, below)))
        known = (
            (field, *read_once[graph.type_names[kind]])
            for kind, field in found
            if kind >= 0 and graph.type_names[kind] in read_once
        )
        count = held.pile.object_count
        return any(name in ("", field) and count <= most for field, name, most in known)

    def _holder_of(self, members: NDArray[np.int32]) -> str:
        """What holds some objects of one type, in words; empty if no cut frees them."""
        paths, sizes = self._search.paths, self._metrics.retained_bytes
        members = largest_first(members, sizes)
        kind, size = int(self._graph.type_index[members[0]]), int(sizes[members].sum())
        cut = paths.cuts.of(kind, members, size)
        if cut is None or not cut.is_named:
            return ""
        edge, (also, _) = cut.edges[0], paths.cuts.places_of(cut.edges)
        first = paths.of(edge, paths.cuts.member_below(edge, members)).words
        return " and by ".join((first, *also))

    def _told(self, held: Held | None) -> Accused | None:
        """A pile in words; ``None`` if it is no suspect."""
        if held is None or self._is_of_start(held):
            return None
        return self._telling.told(held)
