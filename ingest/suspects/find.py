"""Leak suspects: what accumulates, what holds it, and where to cut.

A suspect is a pile (`ingest.suspects.piles`), or a group of objects that are all held
in the same way. It retains at least a tenth of the heap. Its size is what its cut
(`ingest.suspects.cuts`) frees.

Source: leak reports of heap analysers name an accumulation point, too. The folding over
types of the runtime is our own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.analysis.fingerprints import of_suspect
from ingest.analysis.types import count_by, largest_first, rows_where, sum_by
from ingest.arrays.array_files import release_pages
from ingest.heap.graph import NO_TYPE, RefKind, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.companions import Companions
from ingest.suspects.covers import ENOUGH, MOST_LEVELS
from ingest.suspects.edges import has_bit
from ingest.suspects.ended import detached_with, held_with
from ingest.suspects.evidence import (
    Evidence,
    Wait,
    cancelled_tasks,
    evidence,
    finalizer,
    finalizer_rests,
    have_many_roots,
    have_one_root,
    place_of_threads,
    stacks_of,
    unused_slots,
    wait_of,
)
from ingest.suspects.outside import outside_of, with_outside
from ingest.suspects.own import are_scopes_of_libraries, is_collection, of_library
from ingest.suspects.ownership import from_owners, with_types_by_name
from ingest.suspects.piles import FEW_WITHOUT_CONTAINER, SAMPLE, Held, Pile, PileSearch
from ingest.suspects.words import Words, counted_objects
from ingest.what_if.places import OF_THREADS
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder

SUSPECT_SHARE = 0.10
"""A suspect has at least this share of the reachable bytes without metadata."""

LEAST_SHARE = 0.05
"""A suspect has at least this share of all reachable bytes."""

MAX_SUSPECTS = 5

SMALLER_SHARE = 0.01
"""A smaller group that is reported has at least this share of the reachable bytes."""

_LEAST_OF_SMALLER, _FEW = 100, 5
_MAX_SMALLER, _MAX_LOOKED_AT, _LOOKED_AT, _MAX_TRIED = 3, 10, 64, 12
_MAX_CONTENTS, _MAX_GARBAGE = 5, 3

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
    """

    suspects: tuple[Suspect, ...]
    metadata_bytes: int
    smaller: tuple[Suspect, ...] = ()
    garbage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """One leak suspect: objects of one type that one holder keeps alive.

    Attributes:
        type_index: Their type.
        object_count: How many there are.
        retained_bytes: Bytes of the heap that are freed with them.
        share: Share of the reachable bytes, 0 to 1; where there is much memory outside
            the heap, of both.
        object_index: The one that retains most.
        container_index: The object they accumulate in: an entry of the holder, the
            holder, or the object itself.
        pattern: How they are held, such as ``list`` or ``event handlers``; see
            `ingest.suspects.words`.
        holder: Full name of the program's type that refers to them, directly or through
            containers; ``None`` where only the runtime does.
        reference: Field or static field of the holder; ``None`` where the format
            records none.
        root_kind: Kind of the root at the start of the path, such as ``static``.
        root_name: Its static field or type, or its thread; ``None`` if not recorded.
        path: A shortest path from a root to the object that retains most: the
            root, then objects, each after the field that refers to it. Runs of one
            type and the middle of long paths are folded.
        cut: The reference to remove, as ``Holder.field -> Type``.
        cut_step: The first step of the path that the cut frees; ``None`` if it is
            folded.
        advice: What to do to free them, in a sentence.
        signs: Sentences that speak for a leak, besides the size.
        doubts: Sentences that speak against one.
        contents: Types that have most of the bytes, as ``1,200 Tile, 3.1 MiB``.
        sentence: All of this in a sentence, with short type names.
        fingerprint: Equal for the same leak in another dump, of this run or of
            another one; see `ingest.analysis.fingerprints`.
    """

    type_index: int
    object_count: int
    retained_bytes: int
    share: float
    object_index: int
    container_index: int
    pattern: str
    holder: str | None
    reference: str | None
    root_kind: str
    root_name: str | None
    path: tuple[str, ...]
    cut: str
    cut_step: int | None
    contents: tuple[str, ...]
    sentence: str
    fingerprint: str
    advice: str
    signs: tuple[str, ...]
    doubts: tuple[str, ...]


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
    outside = outside_of(graph, metrics)
    if outside is not None:
        graph, metrics = with_outside(graph, metrics, outside)
    owned = from_owners(graph, metrics, own)
    release_pages(metrics.root_distance, metrics.path_parent)
    return _Search(graph, owned, own, outside).findings()


class _Told(NamedTuple):
    """A pile and its cut, in words, with evidence besides the size.

    Attributes:
        held: The pile and the cut.
        words: Words for both.
        evidence: What speaks for and against a leak.
        lost: uint8. Bits of the objects that the cut frees.
    """

    held: Held
    words: Words
    evidence: Evidence
    lost: NDArray[np.uint8]

    @property
    def score(self) -> float:
        """The score of the pile, lower if something speaks against a leak."""
        return self.held.pile.score * self.evidence.factor


class _Search:
    """The search for the suspects of one heap."""

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        own: Sequence[str],
        outside: NDArray[np.int64] | None,
    ) -> None:
        self._graph, self._metrics, self._outside = graph, metrics, outside
        self._search = search = PileSearch(graph, metrics, own)
        self._companions = Companions(graph, metrics, search.classes, search.paths)
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
        several, whole = list[_Told](), list[_Told]()
        for one in told:
            is_part = _is_one_of_several(one.held.pile) and not one.evidence.is_done
            (several if is_part else whole).append(one)
        chosen = self._chosen(whole, least)
        chosen += self._groups(least, _MAX_LOOKED_AT, MAX_SUSPECTS - len(chosen))
        chosen += self._chosen(several, least)[: MAX_SUSPECTS - len(chosen)]
        chosen = self._outer(chosen)
        chosen.sort(key=lambda one: (not one.evidence.is_done, -one.score))
        least = SMALLER_SHARE * metrics.reachable_bytes
        smaller = self._groups(least, _MAX_LOOKED_AT, _MAX_SMALLER, only_own=True)
        return Findings(
            tuple(map(self._suspect, chosen)),
            search.metadata_bytes,
            tuple(self._suspect(one) for one in smaller if not one.evidence.doubts),
            self._garbage(),
        )

    def _many_or_one(self, pile: Pile) -> Pile | None:
        """The pile, or of a few objects the one that has nearly all."""
        if pile.is_many or pile.object_count == 1:
            return pile
        largest = int(self._metrics.retained_bytes[pile.members[0]])
        if largest < ENOUGH * pile.retained_bytes:
            return None
        one = pile.members[:1]
        return pile._replace(object_count=1, retained_bytes=largest, members=one)

    def _garbage(self) -> tuple[str, ...]:
        """The types that most of the garbage is of."""
        graph, classes = self._graph, self._search.classes
        rows = np.flatnonzero(
            self._metrics.dominator[: graph.object_count] == UNREACHABLE
        )
        kinds, types = graph.type_index[rows], len(graph.type_names)
        sizes = sum_by(kinds, graph.shallow_bytes[rows], types)
        count = count_by(kinds, types)
        order = np.lexsort((-sizes, classes != TypeClass.PROGRAM))[:_MAX_GARBAGE]
        is_own = classes[order[0]] == TypeClass.PROGRAM and bool(count[order[0]])
        return tuple(
            counted_objects(int(count[kind]), graph.captions.of(graph.type_names[kind]))
            for kind in order.tolist()
            if count[kind] and (classes[kind] == TypeClass.PROGRAM) == is_own
        )

    def _chosen(self, told: list[_Told], least: float) -> list[_Told]:
        """The suspects among piles, the best first; none within another one."""
        # Of what is in one container, the program's own objects are named.
        classes = self._search.classes
        by_cut: dict[str, _Told] = {}
        told = self._joined(told)

        def worth(one: _Told) -> tuple[bool, bool, float]:
            is_of_library = classes[one.held.pile.type_index] != TypeClass.PROGRAM
            return bool(is_of_library), not one.evidence.is_done, -one.score

        for one in sorted(told, key=worth):
            by_cut.setdefault(one.words.cut, one)
        found: list[_Told] = []
        # Objects whose own state says that they are done are suspect, however large.
        order = sorted(
            by_cut.values(), key=lambda one: (not one.evidence.is_done, -one.score)
        )
        for one in order:
            is_large = one.held.pile.retained_bytes >= least
            if not is_large and not one.evidence.is_done:
                continue
            if len(found) < MAX_SUSPECTS and self._take(one):
                found.append(one)
                if one.held.holder.root_kind == RootKind.NOT_RECORDED.label:
                    self._take_unrecorded()
        # Of collections whose entries the file does not record, these are told.
        tables = named(self._graph.runtime).unrecorded
        is_told = any(
            one.held.holder.root_kind == RootKind.NOT_RECORDED.label for one in found
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

    def _outer(self, chosen: list[_Told]) -> list[_Told]:
        """The suspects without those of which a larger one frees most as well."""

        def is_inside(one: _Told, other: _Told) -> bool:
            is_larger = other.held.pile.retained_bytes > one.held.pile.retained_bytes
            return is_larger and self._is_most_in(one, other.lost)

        return [
            one
            for one in chosen
            if one.evidence.is_done
            or not any(is_inside(one, other) for other in chosen)
        ]

    def _joined(self, told: list[_Told]) -> list[_Told]:
        """The same, with one for all that places of one role hold, as many threads."""
        alike: dict[tuple[int, str], list[_Told]] = {}
        for one in told:
            pile, holder = one.held.pile, one.held.holder
            alike.setdefault((pile.type_index, holder.role), []).append(one)
        found: list[_Told] = []
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
            for held in (self._search.held(pile), self._of_inner(pile, some)):
                every = self._told(held)
                if every and every.held.pile.retained_bytes >= ENOUGH * size:
                    del found[-len(some) :]
                    found.append(every)
                    break
        return found

    def _of_inner(self, pile: Pile, some: Sequence[_Told]) -> Held | None:
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

    def _take(self, one: _Told) -> bool:
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

    def _is_most_in(self, one: _Told, bits: NDArray[np.uint8]) -> bool:
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
    ) -> list[_Told]:
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
        order = np.flatnonzero(sizes >= least)
        # The program's own come first: what they have may be of a type as large.
        order = order[np.lexsort((-sizes[order], classes[order]))][:most_looked_at]
        # What a suspect frees is a part of it.
        is_part = 2 * self._taken_count() > metrics.type_reachable_count
        found: list[_Told] = []
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
            if one is None or one.held.pile.retained_bytes < least:
                continue
            if only_own and self._is_of_library(one.held):
                continue
            if self._take(one):
                found.append(one)
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
        if self._is_read_once(held):  # what is inside of them is no suspect either
            self._note(held.cut.bits)
            return True
        runtime, classes = named(self._graph.runtime), self._search.classes
        if held.cut.freed_bytes >= runtime.own_bytes:
            return False
        on_path = self._graph.type_index[list(held.holder.path)]
        return not (classes[on_path] == TypeClass.PROGRAM).any()

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

    def _told(self, held: Held | None) -> _Told | None:
        """A pile in words, and what speaks for and against a leak."""
        if held is None:
            return None
        graph, metrics = self._graph, self._metrics
        pile, holder, cut, is_group, is_mostly = held
        lost, waits = cut.lost, pile.waits or holder.waits
        if self._is_of_start(held) or (waits and finalizer_rests(graph)):
            return None
        is_few = pile.object_count < FEW_WITHOUT_CONTAINER
        if is_few and stacks_of(graph, metrics, pile.members):
            return None  # a pool has so many
        paths = self._search.paths
        also, meanwhile = paths.cuts.places_of(cut.edges)
        link = paths.link(pile.type_index, np.flatnonzero(lost)) if pile.is_run else ()
        slots = unused_slots(graph, pile.members)
        wait = wait_of(graph, metrics, holder)
        cancelled = cancelled_tasks(graph, holder, pile.members)
        outside_bytes = self._outside_bytes(lost)
        companions, inside_cut = self._companions.told(held)
        inner, spread = self._companions.inner(held)
        has_many = holder.index >= 0 and paths.cuts.of_many(cut.edges)
        of_threads = holder.root_kind in OF_THREADS
        has_many |= of_threads and have_many_roots(metrics, pile.members)
        of_threads &= has_many or is_group

        def have_all(rows: Iterable[int]) -> list[int]:
            least = ENOUGH * cut.freed_bytes
            return [row for row in rows if metrics.retained_bytes[row] >= least]

        words = Words(
            type_name=graph.type_names[pile.type_index],
            object_count=pile.object_count,
            retained_bytes=cut.freed_bytes - outside_bytes,
            outside_bytes=outside_bytes,
            share=cut.freed_bytes / metrics.reachable_bytes,
            holder=holder,
            between=[graph.type_name(at) for at in holder.between],
            outer=[] if is_group else [*map(graph.type_name, have_all(holder.between))],
            is_run=pile.is_run,
            is_chain=pile.is_run and bool(have_all(pile.members[:1])),
            is_collection=is_collection(graph, self._search.classes, pile.type_index),
            captions=graph.captions,
            runtime=graph.runtime,
            function=paths.function(holder, link),
            calls=paths.calls(holder),
            link=paths.link_words(link),
            cut=cut.text,
            also=also,
            meanwhile=meanwhile,
            is_group=is_group,
            is_mostly=is_mostly,
            companions=companions,
            direct_count=self._companions.direct_count(held),
            are_keys_too=self._companions.are_keys_too(pile),
            inside_cut=inside_cut,
            waits_for=finalizer(graph) if waits else None,
            has_many=has_many,
            has_one_root=is_group
            and holder.root_kind == RootKind.STATIC.label
            and have_one_root(metrics, pile.members),
            is_sparse=bool(slots),
            is_cancelled=bool(cancelled),
            inner=inner,
            spread=spread,
            shared=paths.cuts.shared(cut) if also else "",
            alone_bytes=paths.cuts.alone_bytes(cut) if also else 0,
            future=wait.future,
            has_room=paths.with_room(holder, pile.object_count),
            entries=paths.entries(holder, pile.object_count),
            place=place_of_threads(graph, metrics, pile.members) if of_threads else "",
            library=of_library(
                graph, paths.places, self._search.classes, holder, pile.type_index
            ),
        )
        found = self._evidence(held, words.pattern, slots, wait, cancelled)
        release_pages(graph.shallow_bytes)
        if found.is_done:
            words = replace(words, inside_cut="")  # they are to go themselves
        return _Told(held, words, found, cut.bits)

    def _evidence(
        self, held: Held, pattern: str, slots: str, wait: Wait, cancelled: str
    ) -> Evidence:
        """What speaks for and against a leak; see `evidence` for the arguments."""
        graph, search = self._graph, self._search
        pile, lost = held.pile, held.cut.lost
        members, kind = pile.members, pile.type_index
        if _is_one_of_several(pile):
            # What frees one of them frees the others, too.
            members = rows_where(lost & (graph.type_index == kind))
        known = (
            slots,
            held_with(graph, search.ended, lost, kind),
            detached_with(graph, search.detached, lost, kind, pile.object_count),
        )
        return evidence(
            graph, self._metrics, held.holder, members, pattern, known, wait, cancelled
        )

    def _outside_bytes(self, lost: NDArray[np.bool_]) -> int:
        """Bytes that some objects own outside the heap."""
        return 0 if self._outside is None else int(self._outside[lost].sum())

    def _suspect(self, found: _Told) -> Suspect:
        """Make a suspect of a pile."""
        (pile, holder, cut, *_), words, told, lost = found
        graph = self._graph
        largest = int(pile.members[0])
        container = pile.entry if pile.entry >= 0 else holder.index
        path, cut_step = self._search.paths.steps(holder, lost)
        return Suspect(
            type_index=pile.type_index,
            object_count=pile.object_count,
            retained_bytes=words.retained_bytes or 0,
            share=words.share,
            object_index=holder.member,
            container_index=container if container >= 0 else largest,
            pattern=words.pattern,
            holder=holder.type_name,
            reference=holder.reference,
            root_kind=holder.root_kind,
            root_name=holder.root_name,
            path=path,
            cut_step=cut_step,
            cut=cut.text,
            contents=tuple(_contents_of(graph, lost)),
            sentence=words.sentence,
            advice=words.advice,
            signs=told.signs,
            doubts=told.doubts,
            fingerprint=of_suspect(
                holder=_told_apart(holder) if holder.index >= 0 else None,
                reference=holder.reference,
                root_kind=holder.root_kind,
                root_type=holder.type_name if holder.index < 0 else None,
                root_owner=holder.root_owner,
                target=words.between[0] if words.between else words.type_name,
                type_name=words.type_name,
            ),
        )


def _is_one_of_several(pile: Pile) -> bool:
    """Whether what frees the object that was found frees others of its type, too."""
    return len(pile.members) == 1 < pile.object_count and not pile.is_run


def _told_apart(holder: Holder) -> str | None:
    """The type of a holder, with the part of the program that it stands for."""
    if not holder.name:
        return holder.type_name
    return f"{holder.type_name} {holder.name}"


def _contents_of(graph: HeapGraph, bits: NDArray[np.uint8]) -> list[str]:
    """The types with most bytes of the objects of some bits, as ``9 Tile, 3.1 MiB``."""
    types = len(graph.type_names)
    size, count = np.zeros((2, types), np.int64)
    for begin in range(0, len(bits), _BLOCK):
        rows = np.flatnonzero(np.unpackbits(bits[begin : begin + _BLOCK])) + 8 * begin
        rows = rows[rows < graph.object_count]
        kinds = graph.type_index[rows]
        size += sum_by(kinds, graph.shallow_bytes[rows], types)
        count += count_by(kinds, types)
    release_pages(graph.shallow_bytes)
    order, caption = np.argsort(-size, kind="stable")[:_MAX_CONTENTS], graph.captions.of
    return [
        f"{counted_objects(int(count[kind]), caption(graph.type_names[kind]))}, "
        f"{human_bytes(int(size[kind]))}"
        for kind in order.tolist()
        if size[kind]
    ]
