"""Leak suspects: what accumulates, what holds it, and where to cut.

The dominator tree is searched from its top for *piles*: many objects of one type that
one owner holds through one container, or one very large object. Objects of the
runtime's own types lead to piles, and are piles only where they have no object of the
program's below them. A pile is a suspect if it stands out from all others.

Source: the idea of an accumulation point is that of the leak reports of heap analysers.
The folding over runtime types and the measure of standing out are our own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.contents import contents_of
from ingest.analysis.delegates import delegate_types
from ingest.analysis.distances import ROOT
from ingest.analysis.ownership import Ownership, ownership
from ingest.analysis.runtime_types import TypeClass, type_classes
from ingest.analysis.suspect_paths import Holder, Paths
from ingest.analysis.suspect_words import Words
from ingest.analysis.types import sum_by
from ingest.heap.graph import RootFlag, RootKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

SUSPECT_SHARE = 0.10
"""Of the reachable bytes without metadata, from which on a pile can be a suspect."""

LEAST_SHARE = 0.05
"""Of all reachable bytes, from which on a pile can be a suspect."""

PILE_SHARE = 0.04
"""Likewise, from which on a pile is compared with others."""

STANDS_OUT = 1.5
"""Factor by which the score of the last suspect exceeds that of the next pile."""

MAX_SUSPECTS = 3

MOST = 0.7
"""Share of a pile that one of its objects retains, from which on it is followed."""

FEW = 3
"""Fewer objects in a container are no pile of their own."""

FEW_WITHOUT_CONTAINER = 10
"""Fewer objects that an owner's fields refer to are no pile of their own."""

SHORT_RUN = 20
"""Fewer objects that retain one another, as in a linked list, are no pile."""

_MUCH_MORE = 3

_MAX_SEARCHES = 200
_MAX_ENTRIES = 200


class Findings(NamedTuple):
    """What there is to say about a heap before any table of it.

    Attributes:
        suspects: Leak suspects, the best first.
        metadata_bytes: Reachable bytes that are the runtime's metadata: classes, code,
            scripts.
    """

    suspects: tuple[Suspect, ...]
    metadata_bytes: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """One leak suspect: objects of one type that one holder keeps alive.

    Attributes:
        type_index: Their type.
        object_count: How many there are.
        retained_bytes: What is freed if they are.
        share: Of the reachable bytes, 0 to 1.
        object_index: The one that retains most.
        container_index: The object they accumulate in: an entry of the holder, the
            holder, or the object itself.
        pattern: How they are held, such as ``list`` or ``event handlers``; see
            `ingest.analysis.suspect_words`.
        holder: Full name of the program's type that refers to them, directly or through
            containers; ``None`` where only the runtime does.
        reference: Field or static field of the holder; ``None`` where the format
            records none.
        root_kind: Kind of the root at the start of the path, such as ``static``.
        root_name: Its static field or type, or its thread; ``None`` if not recorded.
        path: A shortest path from a strong root to the object that retains most: the
            root, then objects, each after the field that refers to it. Runs of one
            type and the middle of long paths are folded.
        cut: The reference to remove, as ``Holder.field -> Type``.
        cut_step: The step of the path that this reference leads to; ``None`` if it is
            folded.
        contents: What most of the bytes are, by type, as ``1,200 Tile, 3.1 MiB``.
        sentence: All that in a sentence, with short type names.
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


class _Pile(NamedTuple):
    """Objects of one type below one owner.

    Attributes:
        type_index: Their type.
        object_count: Their number.
        retained_bytes: Retained size of those that no other one dominates.
        members: Those, the one that retains most first.
        entry: The container below the owner that all are in, or -1.
        owner: The owner, or `ROOT`.
    """

    type_index: int
    object_count: int
    retained_bytes: int
    members: NDArray[np.int64]
    entry: int
    owner: int

    @property
    def is_many(self) -> bool:
        """Whether there are enough objects for a pile, not only parts of one object."""
        heads = len(self.members)
        if self.object_count - heads >= SHORT_RUN:
            return True
        return heads >= (FEW if self.entry >= 0 else FEW_WITHOUT_CONTAINER)

    @property
    def score(self) -> float:
        """Retained bytes, weighed by how much they look like a pile.

        One large object counts a third, a thousand objects count in full.
        """
        weight = 0.34 + 0.22 * math.log10(self.object_count if self.is_many else 1)
        return self.retained_bytes * min(weight, 1.0)


def find_suspects(
    graph: HeapGraph, metrics: HeapMetrics, own: Sequence[str] = ()
) -> Findings:
    """The leak suspects of a heap.

    Args:
        graph: The heap.
        metrics: Its metrics.
        own: Globs of types that are the program's own, or with ``!`` not; see
            `ingest.analysis.runtime_types.type_classes`.
    """
    if not metrics.reachable_bytes:
        return Findings((), 0)
    search = _Search(graph, metrics, own)
    piles = sorted(search.piles(), key=lambda pile: (-pile.score, pile.members[0]))
    held = [
        (pile, holder)
        for pile in piles
        if (holder := search.paths.holder(pile.type_index, pile.members, pile.entry))
        is not None
        and not (holder.is_statics_table and len(holder.path) == 1)
    ]
    least = LEAST_SHARE * metrics.reachable_bytes
    chosen = held[: _standing_out([pile for pile, _ in held], search.base, least)]
    contents = contents_of(graph, metrics, [pile.members for pile, _ in chosen])
    suspects = tuple(
        search.suspect(pile, holder, listed)
        for (pile, holder), listed in zip(chosen, contents, strict=True)
    )
    return Findings(suspects, search.metadata_bytes)


def _standing_out(piles: Sequence[_Pile], base: int, least: float) -> int:
    """How many of the piles, by descending score, stand out from the rest.

    Args:
        piles: The piles.
        base: Reachable bytes without metadata.
        least: Bytes that a suspect retains.
    """
    scores = [pile.score for pile in piles] + [PILE_SHARE * base]
    best, count = STANDS_OUT, 0
    for rank in range(min(MAX_SUSPECTS, len(piles))):
        if piles[rank].retained_bytes < max(SUSPECT_SHARE * base, least):
            break
        factor = scores[rank] / max(scores[rank + 1], 1.0)
        if factor >= best:
            best, count = factor, rank + 1
    return count


def _is_any(column: NDArray[np.int32], values: list[int]) -> NDArray[np.bool_]:
    """``np.isin``, but without sorting for one value."""
    if len(values) == 1:
        return np.asarray(column == values[0])
    return np.isin(column, values)


class _Search:
    """The search for piles in one heap."""

    def __init__(
        self, graph: HeapGraph, metrics: HeapMetrics, own: Sequence[str]
    ) -> None:
        self.graph, self.metrics = graph, metrics
        self.classes = type_classes(graph.format_name, graph.type_names, own)
        self.classes[delegate_types(graph, metrics, self.classes)] = TypeClass.CONTAINER
        self.program = ownership(graph, metrics, self.classes)
        self.metadata_bytes = int(graph.shallow_bytes[self.program.is_metadata].sum())
        self.base = max(metrics.reachable_bytes - self.metadata_bytes, 1)
        self.least = max(int(PILE_SHARE * self.base), 1)
        self.paths = Paths(graph, metrics, self.classes)
        self._searches = 0

    @cached_property
    def _libraries(self) -> Ownership:
        return ownership(self.graph, self.metrics, self.classes, libraries_own=True)

    def piles(self) -> Iterator[_Pile]:
        """Piles of at least `PILE_SHARE`, none within another one."""
        yield from self._piles_of(self.program, TypeClass.PROGRAM, [ROOT])
        yield from self._values_of_handles()

    def _values_of_handles(self) -> Iterator[_Pile]:
        """Values of the runtime that handles or the finalizer queue hold one by one."""
        graph = self.graph
        holds = (graph.root_flags & RootFlag.WEAK) == 0
        holds &= np.isin(graph.root_kind, (RootKind.HANDLE, RootKind.FINALIZER_QUEUE))
        rows = np.unique(graph.root_object[holds])
        kinds = graph.type_index[rows]
        chosen = (kinds >= 0) & (self.metrics.dominator[rows] == ROOT)
        chosen &= self.classes[kinds] == TypeClass.LIBRARY
        rows, kinds = rows[chosen], kinds[chosen]
        retained = self.metrics.retained_bytes[rows]
        sums = sum_by(kinds, retained, len(self.classes))
        for kind in np.flatnonzero(sums >= self.least).tolist():
            members = rows[kinds == kind].astype(np.int64)
            order = np.argsort(-self.metrics.retained_bytes[members], kind="stable")
            size = int(sums[kind])
            pile = _Pile(kind, len(members), size, members[order], -1, ROOT)
            if pile.is_many:
                yield pile

    def _piles_of(
        self, level: Ownership, owning: TypeClass, owners: list[int]
    ) -> Iterator[_Pile]:
        """Piles among what an object owns.

        Args:
            level: Owners of objects.
            owning: Class of the types that are searched for.
            owners: The object and those of its type that it retains, or `ROOT`.
        """
        self._searches += 1
        rows = np.flatnonzero(_is_any(level.owner, owners))
        if self._searches > _MAX_SEARCHES or not len(rows):
            return
        entry = level.entry[rows]
        is_inner = entry < 0
        entry[is_inner] = -1 - entry[is_inner]
        slots, entries = self._large_entries(rows, entry, owning)
        found: dict[int, int] = defaultdict(int)
        for pile in self._groups(
            rows, is_inner, slots[entry], entries, owning, owners[0]
        ):
            found[pile.entry] += pile.retained_bytes
            yield from self._followed(level, owning, pile)
        if owning is TypeClass.PROGRAM:
            for container in entries:
                within = rows[entry == container]
                for pile in self._values(container, within, owners):
                    # Values beside objects of the program only lead to these.
                    if pile.retained_bytes > _MUCH_MORE * found[container]:
                        yield pile

    def _large_entries(
        self, rows: NDArray[np.int64], entry: NDArray[np.int32], owning: TypeClass
    ) -> tuple[NDArray[np.uint8], list[int]]:
        """Containers that an owner dominates and that retain enough for a pile.

        Returns:
            uint8 (N + M,): 1 + the row of a container in the list, 0 for other objects;
            and that list.
        """
        tops = rows[entry == rows]
        tops = tops[self.metrics.retained_bytes[tops] >= self.least]
        kinds = self.graph.type_index[tops]
        tops = tops[(kinds >= 0) & (self.classes[kinds] != owning)][:_MAX_ENTRIES]
        slots = np.zeros(len(self.graph.type_index), np.uint8)
        slots[tops] = np.arange(1, len(tops) + 1)
        return slots, tops.tolist()

    def _groups(
        self,
        rows: NDArray[np.int64],
        is_inner: NDArray[np.bool_],
        slot: NDArray[np.uint8],
        entries: list[int],
        owning: TypeClass,
        owner: int,
    ) -> Iterator[_Pile]:
        """Objects of owning types by container and type, if they retain enough."""
        kinds = self.graph.type_index[rows]
        owns = (kinds >= 0) & (self.classes[kinds] == owning)
        if owning is TypeClass.LIBRARY:
            owns &= ~self.program.is_metadata[rows]
        rows, kinds, is_inner, slot = (
            column[owns] for column in (rows, kinds, is_inner, slot)
        )
        types = len(self.graph.type_names)
        key = slot.astype(np.int32) * types + kinds
        groups = (len(entries) + 1) * types
        held = np.where(is_inner, 0, self.metrics.retained_bytes[rows])
        sums = sum_by(key, held, groups)
        for group in np.flatnonzero(sums >= self.least).tolist():
            at = group // types
            if owning is TypeClass.LIBRARY and not at and owner == ROOT:
                continue  # shared strings and the like, which nothing has in common
            found = key == group
            members = rows[found & ~is_inner]
            order = np.argsort(-self.metrics.retained_bytes[members], kind="stable")
            yield _Pile(
                type_index=group % types,
                object_count=int(np.count_nonzero(found)),
                retained_bytes=int(sums[group]),
                members=members[order],
                entry=entries[at - 1] if at else -1,
                owner=owner,
            )

    def _followed(
        self, level: Ownership, owning: TypeClass, pile: _Pile
    ) -> Iterator[_Pile]:
        """The pile, or those below its largest object if that has most of it."""
        largest = int(pile.members[0])
        retained = int(self.metrics.retained_bytes[largest])
        if pile.is_many and retained < MOST * pile.retained_bytes:
            yield pile
            return
        owners = [largest]
        if pile.object_count > len(pile.members):
            same = level.entry == -1 - self._entry(level, largest)
            same &= self.graph.type_index == pile.type_index
            owners += np.flatnonzero(same)[:SHORT_RUN].tolist()
        below = list(self._piles_of(level, owning, owners))
        found = sum(inner.retained_bytes for inner in below)
        if pile.is_many and found < retained // 2:
            yield pile
        elif below:
            yield from below
        elif 2 * self.graph.shallow_bytes[largest] >= retained:
            yield pile

    @staticmethod
    def _entry(level: Ownership, row: int) -> int:
        entry = int(level.entry[row])
        return entry if entry >= 0 else -1 - entry

    def _values(
        self, container: int, within: NDArray[np.int64], owners: list[int]
    ) -> Iterator[_Pile]:
        """The pile of the runtime's values in a container, if it is one.

        Args:
            container: What the owner dominates.
            within: What it leads to down to the program's objects.
            owners: The owners, as in `_piles_of`.
        """
        kinds = self.graph.type_index[within]
        is_value = (kinds >= 0) & (self.classes[kinds] != TypeClass.PROGRAM)
        is_value &= ~self.program.is_metadata[within]
        values = within[is_value]
        size = int(self.graph.shallow_bytes[values].sum())
        if size < self.least:
            return
        level = self._libraries
        owner = owners[0]
        rows = np.flatnonzero(_is_any(level.owner, owners))
        entry = level.entry[rows]
        is_inner = entry < 0
        entry[is_inner] = -1 - entry[is_inner]
        rows, is_inner = rows[entry == container], is_inner[entry == container]
        slot = np.ones(len(rows), np.uint8)
        found = [
            inner._replace(retained_bytes=min(inner.retained_bytes, size))
            for pile in self._groups(
                rows, is_inner, slot, [container], TypeClass.LIBRARY, owner
            )
            for inner in self._followed(level, TypeClass.LIBRARY, pile)
        ]
        if found:
            yield max(found, key=lambda pile: pile.retained_bytes)
            return
        kinds = kinds[is_value]
        by_type = sum_by(kinds, self.graph.shallow_bytes[values], len(self.classes))
        largest = int(np.argmax(by_type))
        if 2 * by_type[largest] >= size:
            members = values[kinds == largest]
            order = np.argsort(-self.graph.shallow_bytes[members], kind="stable")
            yield _Pile(largest, len(members), size, members[order], container, owner)

    def suspect(self, pile: _Pile, holder: Holder, contents: list[str]) -> Suspect:
        """What is known of a pile."""
        name = self.graph.type_names[pile.type_index]
        share = pile.retained_bytes / self.metrics.reachable_bytes
        largest = int(pile.members[0])
        container = pile.entry if pile.entry >= 0 else holder.index
        path, cut_step = self.paths.steps(holder)
        words = Words(
            type_name=name,
            object_count=pile.object_count,
            retained_bytes=pile.retained_bytes,
            share=share,
            holder=holder,
            between=[self.graph.type_name(at) for at in holder.between],
            is_run=pile.object_count > len(pile.members),
            contents=contents,
        )
        return Suspect(
            type_index=pile.type_index,
            object_count=pile.object_count,
            retained_bytes=pile.retained_bytes,
            share=share,
            object_index=holder.member,
            container_index=container if container >= 0 else largest,
            pattern=words.pattern,
            holder=holder.type_name,
            reference=holder.reference,
            root_kind=holder.root_kind,
            root_name=holder.root_name,
            path=path,
            cut_step=cut_step,
            cut=words.cut,
            contents=tuple(contents),
            sentence=words.sentence,
        )
