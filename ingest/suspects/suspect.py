"""Suspects in words: what is known of a pile and its cut, told to the user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.fingerprints import of_suspect
from ingest.analysis.types import count_by, largest_first, rows_where, sum_by
from ingest.arrays.array_files import release_pages
from ingest.heap.graph import RootKind
from ingest.runtimes import named
from ingest.suspects.companions import Companions
from ingest.suspects.covers import ENOUGH
from ingest.suspects.ended import (
    detached_with,
    held_with,
    idle_timers,
    said_of_timers,
)
from ingest.suspects.evidence import (
    Evidence,
    Wait,
    calls_nothing,
    cancelled_tasks,
    evidence,
    finalizer,
    finalizer_rests,
    have_many_roots,
    have_one_root,
    held_softly,
    place_of_threads,
    stacks_of,
    unused_slots,
    wait_of,
)
from ingest.suspects.own import (
    is_collection,
    main_type,
    of_library,
    shared_collection,
)
from ingest.suspects.pile import FEW_WITHOUT_CONTAINER, Held, Pile
from ingest.suspects.rooms import own_room
from ingest.suspects.unrecorded import with_room
from ingest.suspects.words import Words, counted_objects
from ingest.what_if.cut_parser import AND
from ingest.what_if.places import OF_THREADS, UNNAMED_ROOT
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.edges import Verified
    from ingest.suspects.holders import Holder
    from ingest.suspects.piles import PileSearch

_MAX_CONTENTS = 5

_FEW_CHAINS = 4

_FEWEST_PLACES, _LEAST_OF_ROOT = 2, 0.05
"""So many objects have the place of a cut, each with this share of what is freed, where
the roots above them are told."""

_BLOCK = 1 << 17
"""Bytes of bits of objects that are looked at together."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """One leak suspect: objects of one type that one holder keeps alive.

    Attributes:
        type_index: Their type.
        object_count: How many there are.
        retained_bytes: Bytes of the heap that are freed with them.
        share: Share of the reachable bytes, 0 to 1; if they own memory outside the
            heap, of both.
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


class Accused(NamedTuple):
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


class Telling:
    """Puts piles of one heap in words.

    Args:
        graph: The heap.
        metrics: Its metrics.
        search: The search that has found the piles.
        outside: int64 (N + M,). Bytes that each object owns outside the heap; ``None``
            if these do not matter.
    """

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        search: PileSearch,
        outside: NDArray[np.int64] | None,
    ) -> None:
        self._graph, self._metrics, self._outside = graph, metrics, outside
        self._search = search
        self._main = main_type(graph)
        self._companions = Companions(
            graph, metrics, search.classes, search.paths, self._main
        )

    def told(self, held: Held) -> Accused | None:
        """A pile in words, and what speaks for and against a leak.

        ``None`` where it is none, as of what the finalizer has not come to yet.
        """
        graph, metrics = self._graph, self._metrics
        pile, holder, cut, is_group, is_mostly = held
        lost, waits = cut.lost, pile.waits or holder.waits
        if waits and finalizer_rests(graph):
            return None
        is_few = pile.object_count < FEW_WITHOUT_CONTAINER
        if is_few and stacks_of(graph, metrics, pile.members):
            return None  # a pool has so many
        paths = self._search.paths
        also, meanwhile = paths.cuts.places_of(cut.edges)
        link = paths.link(pile.type_index, np.flatnonzero(lost)) if pile.is_run else ()
        slots, wait = unused_slots(graph, pile.members), wait_of(graph, metrics, holder)
        idle = idle_timers(graph, self._search.classes, holder, cut)
        cancelled = cancelled_tasks(graph, holder, pile.members)
        outside_bytes = self._outside_bytes(lost)
        inside = 1.0 if outside_bytes else self._search.inside
        companions, inside_cut = self._companions.told(held)
        inner, spread = self._companions.inner(held)
        direct_count, there_count = self._companions.in_collection(held)
        has_many = holder.index >= 0 and paths.cuts.of_many(cut.edges)
        of_threads = holder.root_kind in OF_THREADS
        has_many |= of_threads and have_many_roots(metrics, pile.members)
        of_threads &= has_many or is_group
        words = Words(
            type_name=graph.type_names[pile.type_index],
            object_count=pile.object_count,
            retained_bytes=cut.freed_bytes - outside_bytes,
            outside_bytes=outside_bytes,
            share=cut.freed_bytes / (metrics.reachable_bytes * inside),
            holder=holder,
            between=self._between(held, idle),
            outer=self._outer(held),
            is_run=pile.is_run,
            is_chain=_has_chains(metrics, pile),
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
            others=paths.cuts.others_of(holder.path, pile.members) if is_group else (),
            companions=companions,
            direct_count=direct_count,
            there_count=there_count,
            are_keys_too=self._companions.are_keys_too(pile),
            inside_cut=inside_cut,
            waits_for=finalizer(graph) if waits else None,
            has_many=has_many,
            roots=self._roots(held),
            has_one_root=is_group
            and holder.root_kind == RootKind.STATIC.label
            and have_one_root(metrics, pile.members),
            is_sparse=bool(slots),
            is_cancelled=bool(cancelled),
            inner=inner,
            spread=spread,
            shared=self._shared(cut) if also else "",
            alone_bytes=paths.cuts.alone_bytes(cut) if also else 0,
            future=wait.future,
            has_room=with_room(graph, paths.places, holder, pile.object_count),
            entries=paths.entries(holder, pile.object_count),
            frame=paths.places.frame(holder.root) or "",
            place=place_of_threads(graph, metrics, pile.members) if of_threads else "",
            library=self._library(held),
        )
        found = self._evidence(held, words.pattern, slots, wait, cancelled, idle)
        release_pages(graph.shallow_bytes)
        if found.is_done:
            words = replace(words, inside_cut="")  # they are to go themselves
        return Accused(held, words, found, cut.bits)

    def _library(self, held: Held) -> tuple[str, str]:
        """What the program has of a library that is the holder; see `of_library`."""
        places, classes = self._search.paths.places, self._search.classes
        kind, holder, graph = held.pile.type_index, held.holder, self._graph
        has_many = holder.index >= 0 and self._search.paths.cuts.of_many(held.cut.edges)
        if has_many and not named(graph.runtime).has_private_fields:
            return "", ""  # each of them has its own
        return of_library(graph, places, classes, holder, kind, self._main)

    def _roots(self, held: Held) -> Sequence[str]:
        """The roots below which several objects have the place of the cut, in words.

        The one that retains most is first; empty if one object has nearly all, or if
        one of the roots has no name.
        """
        graph, metrics, cut = self._graph, self._metrics, held.cut
        if held.holder.index < 0 or held.is_group or AND in cut.text:
            return ()
        kind, retained = graph.type_index[held.holder.index], metrics.retained_bytes
        if kind < 0 or metrics.type_reachable_count[kind] < _FEWEST_PLACES:
            return ()
        rows = rows_where(graph.type_index == kind)
        rows = rows[retained[rows] >= _LEAST_OF_ROOT * cut.freed_bytes]
        rows = largest_first(rows[metrics.root_distance[rows] >= 0], retained)
        found = [row for row in rows.tolist() if cut.lost[graph.targets(row)].any()]
        roots = dict.fromkeys(map(self._search.paths.root_above, found))
        are_named = len(found) >= _FEWEST_PLACES and UNNAMED_ROOT not in roots
        return [*roots] if are_named else ()

    def _shared(self, cut: Verified) -> str:
        classes = self._search.classes
        return shared_collection(self._graph, self._metrics, classes, cut)

    def _between(self, held: Held, idle: Sequence[int]) -> list[str]:
        """The types from what the cut refers to down to a pile, and what has that."""
        between = held.holder.between
        if not held.is_group and " -> " in held.cut.text:
            # A cut that is below the place that is told, as one of a library's own.
            kept = int(np.argmax([*held.cut.lost[list(between)], True]))
            between = between[max(kept - 1, 0) :]
        graph = self._graph
        if idle and idle[0] in between:
            # What such a timer leads to is its own, and an array has any.
            names = map(graph.type_name, between[: between.index(idle[0])])
            timers = named(graph.runtime).timers
            return ["[]" if name[:-2] in timers else name for name in names]
        return [graph.type_name(at) for at in between if not calls_nothing(graph, at)]

    def _outer(self, held: Held) -> list[str]:
        """The types of what has nearly all that is freed, from the cut to a pile."""
        least, retained = ENOUGH * held.cut.freed_bytes, self._metrics.retained_bytes
        between = () if held.is_group else held.holder.between
        return [self._graph.type_name(at) for at in between if retained[at] >= least]

    def _evidence(
        self,
        held: Held,
        pattern: str,
        slots: str,
        wait: Wait,
        cancelled: str,
        idle: Sequence[int],
    ) -> Evidence:
        """What speaks for and against a leak.

        See `evidence` for the arguments, and `idle_timers` for the last one.
        """
        graph, search = self._graph, self._search
        pile, lost = held.pile, held.cut.lost
        members, kind = pile.members, pile.type_index
        if is_one_of_several(pile):
            # What frees one of them frees the others, too.
            members = rows_where(lost & (graph.type_index == kind))
        known = (
            slots,
            held_with(graph, search.ended, lost, kind),
            detached_with(graph, search.detached, lost, kind, pile.object_count),
            "" if wait.end else said_of_timers(idle, held.holder),
        )
        found = evidence(
            graph, self._metrics, held.holder, members, pattern, known, wait, cancelled
        )
        soft = held_softly(graph, self._metrics, lost)
        room = own_room(
            graph, self._metrics, search.classes, pile.members, held.cut.freed_bytes
        )
        return found._replace(
            signs=(*filter(None, [room]), *found.signs),
            doubts=(*filter(None, [soft]), *found.doubts),
        )

    def _outside_bytes(self, lost: NDArray[np.bool_]) -> int:
        """Bytes that some objects own outside the heap."""
        return 0 if self._outside is None else int(self._outside[lost].sum())

    def suspect(self, found: Accused) -> Suspect:
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
                target=graph.type_name(holder.target),
                type_name=words.type_name,
            ),
        )


def is_one_of_several(pile: Pile) -> bool:
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


def _has_chains(metrics: HeapMetrics, pile: Pile) -> bool:
    """Whether a few objects of a pile retain nearly all of it, each a chain."""
    sizes = metrics.retained_bytes[pile.members]
    most = int(sizes[:_FEW_CHAINS].sum())
    return pile.is_run and most >= ENOUGH * int(sizes.sum())
