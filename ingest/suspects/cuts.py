"""What to remove to free the objects of a suspect, and what that frees, exactly.

Where one place of a cover (`ingest.suspects.covers`) alone frees an object, it is the
holder; where only several together do, all of them are named.

What a cut frees is computed from its text, by the parser of ``what-if --cut``: so what
is printed is what that command answers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from ingest.analysis.distances import ROOT, Reach
from ingest.analysis.trees import marked
from ingest.arrays.array_files import release_pages
from ingest.errors import NotFound
from ingest.heap.graph import EPHEMERON
from ingest.runtimes import TypeClass
from ingest.suspects.covers import (
    ENOUGH,
    MAX_PLACES,
    MAX_STEPS,
    MOST_LEVELS,
    WIDE,
    Covers,
)
from ingest.suspects.edges import Edge, Verified, has_bit
from ingest.suspects.joints import first_of_chain, is_below, join, some_of
from ingest.what_if.cut_parser import AND, CutParser
from ingest.what_if.freed import WhatIf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools
    from ingest.heap.graph import HeapGraph
    from ingest.what_if.places import ReferencePlaces

TOO_MUCH = 1.3
"""What a cut may free of what the container of a suspect retains."""

MUCH_MORE, FAR_MORE = 3, 5
"""What it may free where that is also known to be of the suspect, or maps of a map."""

SAMPLE = 256
"""Objects of a suspect that are looked at."""

NEARLY = 0.97
"""So much of the bytes of some objects is nearly all."""

_WHOLE = 1 << 24
_LONGEST_PATH = 100_000
_FEW_PLACES, _MANY = 2, 100
_NEARLY_ALL, _MOST_ALIKE, _ALONE = 0.99, 8, 0.01


class Cuts(Covers):
    """Cuts of one heap; the arguments are those of `Covers`."""

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        classes: NDArray[np.uint8],
        places: ReferencePlaces,
        own: Sequence[str] = (),
    ) -> None:
        super().__init__(graph, metrics, classes, places, own)
        self._parser = CutParser(graph, places=places)
        reach = Reach(metrics.root_distance, metrics.path_parent, metrics.strength)
        self._what_if = WhatIf(graph, reach, self.referrers.held)
        self._freed: dict[str, tuple[NDArray[np.uint8], int]] = {}
        self._loose: dict[str, NDArray[np.uint8]] = {}
        self._left: set[tuple[str, Edge]] = set()
        self._places_above: dict[tuple[int, int], dict[int, Edge | None]] = {}

    # -- what cuts free

    def _text(self, edges: Sequence[Edge], *, by_address: bool = False) -> str:
        """The cut of some edges, as ``Holder.field -> Type and ...``."""
        graph, parts = self._graph, []
        for words, some in self._words_of(edges).items():
            targets = {graph.type_name(edge.below[0]) for edge in some}
            target = self._caption(targets.pop()) if len(targets) == 1 else "*"
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

    def _tried(
        self,
        text: str,
        edges: Sequence[Edge],
        members: NDArray[np.int32],
        others: Sequence[Edge] = (),
    ) -> Verified | None:
        """What the cut of a text frees.

        ``None`` where it cannot be read, leaves most of some objects their path, or
        leaves one of ``others``, which hold all of them, too.
        """
        if text not in self._freed:  # groups of different types have the same places
            known = self._loose.get(text)
            if known is not None and not self._has_most(known, members):
                return None
            if any((text, other) in self._left for other in others):
                return None
            try:
                cut = self._parser.cut(text)
            except NotFound:
                return None
            for other in others:
                if self.referrers.is_left(cut, other):
                    self._left.add((text, other))
                    return None
            lost = self.referrers.below(cut)
            if lost is None:
                loose = self._what_if.loose(cut)
                self._loose[text] = np.packbits(loose)
                if not self._has_most(self._loose[text], members):
                    return None
                lost = self._what_if.lost(cut, loose)
            size = int(self._graph.shallow_bytes[lost].sum())
            release_pages(self._graph.shallow_bytes)
            self._freed[text] = np.packbits(lost), size
        bits, size = self._freed[text]
        return Verified(text, tuple(edges), bits, len(self._graph.object_id), size)

    def of(
        self,
        kind: int,
        members: NDArray[np.int32],
        retained_bytes: int,
        *,
        is_of_own_type: bool = False,
    ) -> Verified | None:
        """The cut that frees a pile with least besides; ``None`` if none does.

        Args:
            kind: Its type.
            members: int32. Its objects, the one that retains most first.
            retained_bytes: What they retain.
            is_of_own_type: Whether an object of their type holds them.
        """
        own, kind = kind, -1 if is_of_own_type else kind
        target, member = self._joint(members, retained_bytes), int(members[0])
        least, limit = ENOUGH * retained_bytes, MUCH_MORE * retained_bytes
        upwards = () if target is None else self._upwards(target, least)
        above = list(islice(upwards, MOST_LEVELS))
        cover = self._shared_cover(members, ROOT if target is None else target, kind)
        share = 1.0  # of what has them; the rest is what leads to them, as keys
        if above:  # a cut of what is above them all would free as much
            most = int(self._metrics.retained_bytes[above[0]])
            limit, share = max(limit, most), min(retained_bytes / most, 1.0)
        is_small = cover and self._metrics.retained_bytes[cover[0].below[-1]] <= limit
        of_cover: Iterator[Verified] = (
            found
            for found in self._of_cover(cover if is_small else None, members)
            if self._frees(found, members, least, limit)
        )
        unnamed: list[Verified] = []

        def of_one(
            candidates: Callable[[int], Iterable[Verified | None]],
        ) -> Iterator[Verified]:
            for one in above:
                most = TOO_MUCH * int(self._metrics.retained_bytes[one])
                for found in candidates(one):
                    if not self._frees(found, members, least):
                        continue
                    is_of_one = all(edge.below[0] == one for edge in found.edges)
                    least_of_type = ENOUGH * (share if is_of_one else 1)
                    is_more = found.freed_bytes > most
                    if is_more and not self._frees_alike(found, own, least_of_type):
                        continue
                    if self.are_unnamed(found.edges):
                        unnamed.append(found)
                    else:
                        yield found

        shared = next(of_cover, None)
        ways = [
            filter(None, [shared]),
            of_one(
                lambda one: self._of_fields(one, kind, members) if one == target else ()
            ),
            of_one(lambda one: self._candidates(one, kind, members)),
            of_one(lambda one: self._of_entries(one, kind, members)),
        ]
        is_one = shared is not None and len(self._words_of(shared.edges)) == 1
        if is_one or len(self._words_of(cover)) > _FEW_PLACES:
            # What has many places that hold them, as a session, is named first; so is
            # a nearer place, if one of several is enough that is above it.
            ways[:3] = [*ways[1:3], ways[0]]
        if (best := next(chain.from_iterable(ways), None)) is not None:
            sharers = self._of_sharers(best, own, member)
            return sharers or self._of_collections(best, own, members) or best
        by_address = of_one(lambda one: self._by_address(one, kind, members))
        last = next(chain(unnamed, by_address), None)
        is_named = not unnamed and last is not None and AND not in last.text
        return last and replace(last, is_named=is_named)

    def of_text(
        self,
        text: str,
        edges: Sequence[Edge],
        members: NDArray[np.int32],
        retained_bytes: int,
        enough: float = ENOUGH,
        most: float = TOO_MUCH,
    ) -> Verified | None:
        """The cut of a text, if it frees some objects and little besides."""
        found, size = self._tried(text, edges, members), retained_bytes
        is_good = self._frees(found, members, enough * size, most * size)
        return found if is_good else None

    def of_alike(
        self, cuts: Sequence[Verified], members: NDArray[np.int32]
    ) -> Verified | None:
        """The cut of the places of some cuts in one, if it frees no more than these.

        It also frees what several of them lead to, as messages in several queues.

        Args:
            cuts: The cuts.
            members: int32. The objects that they free.
        """
        edges = [edge for cut in cuts for edge in cut.edges]
        texts, text = {cut.text: None for cut in cuts}, self._text(edges)
        if len(texts) > _MOST_ALIKE or AND in text:
            return None
        every = self._tried(AND.join(texts), edges, members)
        size = 0 if every is None else every.freed_bytes
        return self.of_text(text, edges, members, size) if size else None

    def _of_sharers(self, cut: Verified, kind: int, member: int) -> Verified | None:
        """The cut of objects of the program that all hold the same, each of a pile.

        As events of several objects, to which each view listens: what has these objects
        is needed, and none of them alone holds a view.

        Args:
            cut: The cut that was found.
            kind: The type of the pile.
            member: The object of it that retains most.
        """
        path, at = [member], int(self._metrics.path_parent[member])
        while at >= 0 and self._class_of(at) != TypeClass.PROGRAM:
            path.append(at)
            at = int(self._metrics.path_parent[at])
        ends = {edge.source for edge in cut.edges} | {ROOT}
        if at in ends or self._graph.type_index[at] == kind:
            return None
        row = member
        while row >= 0 and row != at:
            row = int(self._metrics.dominator[row])
        if row == at:
            return None
        edge = Edge(at, self.referrers.row(at, path[-1]), tuple(path[::-1]))
        if self.is_weak(edge):
            return None
        text = f"{self.holder(edge)} -> {self._target(edge)}"
        rows = np.flatnonzero(cut.lost & (self._graph.type_index == kind))
        return self.of_text(text, [edge], rows.astype(np.int32), cut.freed_bytes)

    def _of_collections(
        self, cut: Verified, kind: int, members: NDArray[np.int32]
    ) -> Verified | None:
        """The cut of collections of what leads to some objects, if one is of fields.

        As of requests, each of which a session has by a field: a map has the sessions.
        Or of the nodes of a tree, which the only object that has its root also has in
        a map: that object is needed.

        Args:
            cut: The cut that was found.
            kind: The type of the objects.
            members: int32. The objects.
        """
        kinds = self._graph.type_index
        are_of_collections = all(
            edge.source != ROOT
            and kinds[edge.below[0]] != kind
            and self._class_of(edge.below[0]) == TypeClass.CONTAINER
            for edge in cut.edges
        )
        if len(members) < _MANY or are_of_collections:
            return None
        found: list[Edge] = []
        todo: list[tuple[int, ...]] = [(int(members[len(members) // 2]),)]
        for path in todo:
            cover = self._best_cover(path[0], -1)
            if not cover or len(todo) > MAX_PLACES:
                return None
            for edge in cover:
                below = (*edge.below[:-1], *path)
                if self._is_element(edge):
                    return None  # of a collection of the program's own
                if self._is_of_collection(edge):
                    found.append(edge._replace(below=below))
                elif edge.source == ROOT or not self._is_one_of_many(edge):
                    return None
                else:
                    todo.append((edge.source, *below))
        is_tree = all(self._graph.type_index[edge.source] == kind for edge in found)
        if is_tree or len(self._words_of(found)) > _FEW_PLACES:
            return None
        return self.of_text(self._text(found), found, members, cut.freed_bytes)

    def _is_element(self, edge: Edge) -> bool:
        """Whether a place is an element of a list, as the dump tells it."""
        field = None if edge.source == ROOT else self._graph.field_name(edge.row)
        return field is not None and field.startswith("[")

    def _is_of_collection(self, edge: Edge) -> bool:
        """Whether a place refers to a collection that has objects, or an array."""
        is_it = len(edge.below) == 1  # one of the objects, which may be collections
        return not is_it and self._class_of(edge.below[0]) == TypeClass.CONTAINER

    def alone_bytes(self, cut: Verified) -> int:
        """What one place of a cut alone frees at most; 0 if that is next to nothing."""
        dominator, least = self._metrics.dominator, _ALONE * cut.freed_bytes
        if all(dominator[below] != source for source, _, (below, *_) in cut.edges):
            return 0  # all lead to the same
        texts = map(self._text, self._words_of(cut.edges).values())
        try:
            lost = [self._what_if.lost(self._parser.cut(text)) for text in texts]
        except NotFound:
            return 0  # a place that is named, and that the cut itself is not at
        most = max(int(self._graph.shallow_bytes[one].sum()) for one in lost)
        return most if most >= least else 0

    def of_many(self, edges: Sequence[Edge]) -> bool:
        """Whether several objects have the first place, each its own."""
        words = self.holder(edges[0])
        if self._places.part(edges[0].source) is not None:
            found = self._places.objects_named(words)
            return found is not None and len(found.objects) > 1
        return len({edge.source for edge in edges if self.holder(edge) == words}) > 1

    def fields(
        self, kind: int, members: NDArray[np.int32], retained_bytes: int
    ) -> list[str]:
        """The fields of one object that together hold some objects, if several do.

        Args:
            kind: The type of the objects.
            members: int32. The objects, the one that retains most first.
            retained_bytes: What they retain.
        """
        target = self._joint(members, retained_bytes)
        cover = self._shared_cover(members, ROOT if target is None else target, kind)
        names = [self._graph.field_name(edge.row) for edge in cover]
        if len({edge.source for edge in cover}) != 1 or cover[0].source == ROOT:
            return []
        fields = [name for name in names if name is not None and name[0] != "["]
        cut = self._tried(self._text(cover), cover, members)
        is_all = self._frees(cut, members, ENOUGH * retained_bytes)
        return fields if is_all and len(fields) == len(names) else []

    def _frees(
        self,
        cut: Verified | None,
        members: NDArray[np.int32],
        least: float,
        most: float = math.inf,
    ) -> TypeGuard[Verified]:
        """Whether a cut frees so many bytes, and most of some objects with them.

        The values of one map may be held by another one, too: to drop one then frees
        its keys only, which may be as large.
        """
        if cut is None or not least <= cut.freed_bytes <= most:
            return False
        return self._has_most(cut.bits, members)

    def _has_most(self, bits: NDArray[np.uint8], members: NDArray[np.int32]) -> bool:
        """Whether most of some objects, by what they retain, have their bits set."""
        sizes = self._metrics.retained_bytes[members]
        return 2 * int(sizes[has_bit(bits, members)].sum()) > int(sizes.sum())

    def _frees_alike(self, cut: Verified, kind: int, least: float) -> bool:
        """Whether so large a share of what a cut frees are objects of one type.

        With theirs, and beside what leads to them: the table of a map may be larger
        than its keys.
        """
        kinds, retained = self._graph.type_index, self._metrics.retained_bytes
        rows = np.flatnonzero(cut.lost & (kinds == kind))
        above = self._metrics.dominator[rows]
        heads = rows[(above < 0) | (kinds[above] != kind)]
        table = self._graph.shallow_bytes[list(cut.edges[0].below[:-1])].sum()
        size, most = int(retained[heads].sum()), cut.freed_bytes
        return size >= least * (most - int(table)) and size >= most / MUCH_MORE

    def _shared_cover(
        self, members: NDArray[np.int32], target: int, kind: int
    ) -> list[Edge]:
        """Several places that each hold all of some objects; empty if there are none.

        Args:
            members: int32. The objects, the one that retains most first.
            target: What is above them all.
            kind: Their type.
        """
        entry = int(self._entries_below(target, members[:1])[0])
        if int(self._metrics.dominator[entry]) != target:
            return []
        cover = self._best_cover(entry, kind)
        if cover is None and target != ROOT:
            # Those that refer to one another, as tasks that wait for one event.
            entries = self._entries_below(target, members)
            inside = marked(self._metrics.dominator, [entries]) == 1
            cover = self._best_cover(entry, kind, inside)
        if not cover or len(self._words_of(cover)) < 2 or self.is_weak(cover[0]):
            return []
        return cover

    def _of_cover(
        self, cover: list[Edge] | None, members: NDArray[np.int32]
    ) -> Iterator[Verified | None]:
        """The cuts of a cover: of each place where one may be enough, and of all."""
        if not cover:
            return
        places = self._words_of(cover)
        if len(places) > 1:
            for some in places.values():
                if not self.is_weak(some[0]):
                    others = [edge for edge in cover if edge not in some]
                    yield self._tried(self._text(some), some, members, others)
        yield self._tried(self._text(cover), cover, members)

    def _candidates(
        self, target: int, kind: int, members: NDArray[np.int32]
    ) -> Iterator[Verified | None]:
        """Cuts that may free an object, the best ones to name first."""
        member = int(members[0])
        cover = self._best_cover(target, kind)
        own = int(self._graph.type_index[target])
        part = None if own < 0 or self._weak[own] else self._places.part(target)
        path, at = [member], int(self._metrics.path_parent[member])
        while at not in (target, ROOT):
            path.append(at)
            at = int(self._metrics.path_parent[at])
        if at == target:
            edge = Edge(target, self.referrers.row(target, path[-1]), tuple(path[::-1]))
            if self._graph.field_name(edge.row) == EPHEMERON:
                # The key is needed; what a weak map has for it may not be.
                yield self._tried(self._text([edge]), [edge], members)
            # Of functions that wrap one another, each holds the next one.
            if part is not None and part not in map(self._places.part, path):
                yield self._tried(f"{self.holder(edge)} -> *", [edge], members)
        cover = cover or self._best_cover(member, kind)
        yield from self._of_cover(cover, members)
        edges = self._few_edges(target)
        if edges and self._have_names(edges):
            shown = self._shown(target, kind, edges)
            yield self._tried(self._text(edges), shown, members)

    def _of_fields(
        self, target: int, kind: int, members: NDArray[np.int32]
    ) -> Iterator[Verified | None]:
        """The cut of fields of an object which together lead to all of some objects.

        Where too many places hold that object, as the scope of a script.
        """
        if self._best_cover(target, kind) is None:
            edges = self._fields_to(target, int(members[0]))
            is_named = all(self._names(edge, kind, 0) for edge in edges)
            if edges and is_named and len(self._words_of(edges)) <= MAX_PLACES:
                yield self._tried(self._text(edges), edges, members)

    def _of_entries(
        self, target: int, kind: int, members: NDArray[np.int32]
    ) -> Iterator[Verified | None]:
        """The cut of a container's entries, where its holders are too many to name."""
        if self._class_of(target) == TypeClass.CONTAINER:
            places = filter(self._has_name, self._edges(target, target) or ())
            for edge in sorted(places, key=self._rank)[:1]:
                shown = self._shown(target, kind, [])[:1] or [edge]
                yield self._tried(f"{self._text([edge])} -> *", shown, members)

    def _few_edges(self, target: int) -> list[Edge]:
        """What refers to an object, unless it is too much to name."""
        edges = self._edges(target, target) or []
        if any(self._is_outer_scope(edge) for edge in edges):
            return []  # by which functions only find the variables around them
        return edges if 0 < len(self._words_of(edges)) <= MAX_PLACES else []

    def _have_names(self, edges: Sequence[Edge]) -> bool:
        """Whether all have names, and are not fields that only a library can clear."""
        of_library = [edge.source != ROOT and self._rank(edge) == 1 for edge in edges]
        is_private = self._runtime.has_private_fields and all(of_library)
        return not is_private and all(map(self._has_name, edges))

    def _shown(self, target: int, kind: int, edges: list[Edge]) -> list[Edge]:
        """The best places to name for what holds an object: edges if none is good."""
        on_path = [self._on_path(target, kind, tier) for tier in (0, 1)]
        on_path.sort(key=lambda edge: 3 if edge is None else self._says_little(edge))
        cover = self._best_cover(target, kind)
        shown = cover or [edge for edge in on_path[:1] if edge is not None]
        return edges if edges and (not shown or self._rank(shown[0]) > 0) else shown

    def _by_address(
        self, target: int, kind: int, members: NDArray[np.int32]
    ) -> Iterator[Verified | None]:
        """Cuts of an object by addresses, for what no words tell apart."""
        cover, edges = self._best_cover(target, kind), self._few_edges(target)
        has_names = self._have_names(edges)
        shown = self._shown(target, kind, edges if has_names else [])
        if edges and not has_names:
            # What a collection has, of which there may be no other one.
            yield self._tried(self._text(edges), shown, members)
        if cover and any(edge.source != ROOT for edge in cover):
            yield self._tried(self._text(cover, by_address=True), cover, members)
        if edges:
            yield self._tried(self._text(edges, by_address=True), shown, members)
        yield self._tried(self._graph.address(target), shown[:1], members)

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
        sample = some_of(members, SAMPLE)
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
        if metrics.retained_bytes[target] > MUCH_MORE * retained_bytes:
            is_below = found == target
            entries = np.unique(entry[is_below])
            if self._is_global(target):
                return None
            is_far_more = metrics.retained_bytes[target] > FAR_MORE * retained_bytes
            if 2 * len(entries) < len(sample) and (
                is_far_more or not self._are_nested(target, entries, sample[is_below])
            ):
                return None
        if self._places.stands[graph.type_index[target]]:
            return target
        # Of a list of nodes, the first one.
        above = int(metrics.dominator[target])
        while above >= 0 and graph.type_index[above] == graph.type_index[target]:
            target, above = above, int(metrics.dominator[above])
        columns = metrics.dominator, graph.type_index, self._classes
        return self._with_rest(first_of_chain(*columns, target), sample)

    def _are_nested(
        self, target: int, entries: NDArray[np.int32], members: NDArray[np.int32]
    ) -> bool:
        """Whether a few collections are most of another one, and have some objects.

        As the maps of a map: what they retain besides is what these are held by.
        """
        retained, at = self._metrics.retained_bytes, members
        if int(retained[entries].sum()) < ENOUGH * int(retained[target]):
            return False
        for _ in range(MOST_LEVELS):
            at = np.unique(self._metrics.dominator[at])
            if any(self._class_of(one) != TypeClass.CONTAINER for one in at.tolist()):
                break
            if not len(at := at[at != target]):
                return True
        return False

    def _with_rest(self, target: int, members: NDArray[np.int32]) -> int:
        """What has all of some objects, if it has little besides; else a target.

        As a queue of blocks, the last of which it holds by a field of its own.
        """
        sizes = self._metrics.retained_bytes[members]
        size = int(sizes[self._below(members, target)].sum())
        if size >= _NEARLY_ALL * int(sizes.sum()):
            return target  # another one may be the next of a chain
        above = islice(self._upwards(target, 0), 1, MOST_LEVELS)
        return next((at for at in above if self._below(members, at).all()), target)

    def member_below(self, edge: Edge, members: NDArray[np.int32]) -> int:
        """One of some objects that is below a place: the first where that is known."""
        below = edge.below[-1]
        if below in members[:1] or (len(edge.below) == 1 and below in members):
            return below
        some = members[:WIDE]
        inside = np.zeros(len(some), np.bool_)
        is_below(self._metrics.dominator, some, below, MAX_STEPS, inside)
        return int(some[int(np.argmax(inside))])

    def _best_cover(
        self, target: int, kind: int, inside: Bools | None = None
    ) -> list[Edge] | None:
        far, near = (self._cover(target, kind, tier, inside) for tier in (0, 1))
        if far and near and self._is_nearer(near, far):
            return near
        if far and len(self._words_of(far)) > 1 and self._runtime.scope_prefix:
            # What several places lead to may be one variable of a function.
            local = self._cover(target, kind, 2, inside)
            if local and len(self._words_of(local)) == 1 and self._is_local(local[0]):
                return local
        found = filter(None, (far, near))
        return min(found, key=lambda one: self._says_little(one[0]), default=None)

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
                edge = self.edge(source, at)
                if self._names(edge, kind, tier):
                    found = edge
                    break
            at = source
        else:
            found = known.get(at)
        known.update(dict.fromkeys(passed, found))
        return found

    def _target(self, edge: Edge) -> str:
        return self._graph.captions.of(self._graph.type_name(edge.below[0]))
