"""Leak suspects: what accumulates, what holds it, and where to cut.

A suspect is a pile (`ingest.suspects.piles`) that stands out from all others.

Source: the idea of an accumulation point is that of the leak reports of heap analysers.
The folding over runtime types and the measure of standing out are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.fingerprints import of_suspect
from ingest.analysis.types import count_by, rows_where, sum_by
from ingest.array_files import release_pages
from ingest.runtimes import TypeClass
from ingest.suspects.evidence import Evidence, evidence
from ingest.suspects.ownership import with_types_by_name
from ingest.suspects.piles import PILE_SHARE, Pile, PileSearch, marked
from ingest.suspects.words import Words
from ingest.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder

SUSPECT_SHARE = 0.10
"""Of the reachable bytes without metadata, from which on a pile can be a suspect."""

LEAST_SHARE = 0.05
"""Of all reachable bytes, from which on a pile can be a suspect."""

STANDS_OUT = 1.5
"""Factor by which the score of the last suspect exceeds that of the next pile."""

MAX_SUSPECTS = 3

SMALLER_SHARE = 0.01
"""Of the reachable bytes, from which on a group of the program's objects is told."""

_LEAST_OF_SMALLER = 100
_MAX_SMALLER, _MAX_LOOKED_AT, _LOOKED_AT = 3, 10, 200
_IN_NONE = 255  # of what `marked` tells
_MAX_CONTENTS = 5


class Findings(NamedTuple):
    """What there is to say about a heap before any table of it.

    Attributes:
        suspects: Leak suspects, the best first.
        metadata_bytes: Reachable bytes that are the runtime's metadata: classes, code,
            scripts.
        smaller: Groups of objects of the program's own types that one holder has, in
            none of the suspects and too small for one. A leak that has begun is among
            them, and so is much that is needed.
    """

    suspects: tuple[Suspect, ...]
    metadata_bytes: int
    smaller: tuple[Suspect, ...] = ()


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
        cut_step: The step of the path that this reference leads to; ``None`` if it is
            folded.
        advice: What to do to free them, in a sentence.
        signs: Sentences that speak for a leak, besides the size.
        doubts: Sentences that speak against one.
        contents: What most of the bytes are, by type, as ``1,200 Tile, 3.1 MiB``.
        sentence: All that in a sentence, with short type names.
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
    search = PileSearch(graph, metrics, own)
    held = [
        _told(search, *found) for pile in search.piles() if (found := search.held(pile))
    ]
    search.forget_owners()
    held.sort(key=lambda found: (-found.score, found.pile.members[0]))
    least = LEAST_SHARE * metrics.reachable_bytes
    count = _standing_out(held, search.base, least)
    chosen = held[:count]
    # What says of itself that it is done is suspect, however large the rest is.
    chosen += [one for one in held[count:] if one.evidence.is_done]
    chosen.sort(key=lambda one: not one.evidence.is_done)
    del chosen[MAX_SUSPECTS:]
    smaller = _smaller(search, [found.pile.members for found in chosen])
    told = chosen + smaller
    contents = _contents_of(graph, metrics, [found.pile.members for found in told])
    suspects = tuple(
        _suspect(search, found, listed)
        for found, listed in zip(told, contents, strict=True)
    )
    count = len(chosen)
    return Findings(suspects[:count], search.metadata_bytes, suspects[count:])


def _smaller(search: PileSearch, taken: list[NDArray[np.int32]]) -> list[_Held]:
    """Groups of the program's own objects besides the piles that are taken."""
    graph, metrics = search.graph, search.metrics
    sizes = np.where(
        search.classes == TypeClass.PROGRAM, metrics.type_retained_bytes, 0
    )
    sizes[metrics.instance_count < _LEAST_OF_SMALLER] = 0
    order = np.argsort(-sizes, kind="stable")[:_MAX_LOOKED_AT]
    found: list[_Held] = []
    mark: NDArray[np.uint8] | None = None
    for kind in order[sizes[order] >= SMALLER_SHARE * metrics.reachable_bytes].tolist():
        rows = rows_where(graph.type_index == kind)
        rows = rows[metrics.root_distance[rows] >= 0]
        if mark is None and taken:
            mark = marked(metrics, taken)
        # What a pile retains is a part of it.
        if mark is not None and 2 * np.sum(mark[rows] != _IN_NONE) > len(rows):
            continue
        rows = rows[np.argsort(-metrics.retained_bytes[rows], kind="stable")]
        size = int(sizes[kind])
        pile = Pile(kind, len(rows), size, rows, -1, ROOT)
        held = search.held(pile, _LOOKED_AT)
        if held and held[0].retained_bytes >= SMALLER_SHARE * metrics.reachable_bytes:
            found.append(_told(search, *held))
            taken, mark = [*taken, held[0].members], None
        if len(found) == _MAX_SMALLER:
            break
    return found


class _Held(NamedTuple):
    """A pile, what holds it, and what is known of it besides its size."""

    pile: Pile
    holder: Holder
    words: Words
    evidence: Evidence

    @property
    def score(self) -> float:
        """That of the pile, less where something speaks against a leak."""
        return self.pile.score * self.evidence.factor


def _told(search: PileSearch, pile: Pile, holder: Holder) -> _Held:
    """A pile in words, and what speaks for and against a leak."""
    graph, metrics = search.graph, search.metrics
    words = Words(
        type_name=graph.type_names[pile.type_index],
        object_count=pile.object_count,
        retained_bytes=pile.retained_bytes,
        share=pile.retained_bytes / metrics.reachable_bytes,
        holder=holder,
        between=[graph.type_name(at) for at in holder.between],
        is_run=pile.is_run,
        captions=graph.captions,
        runtime=graph.runtime,
        function=search.paths.function(holder),
    )
    found = evidence(graph, metrics, holder, pile.members, words.pattern)
    return _Held(pile, holder, words, found)


def _standing_out(piles: Sequence[_Held], base: int, least: float) -> int:
    """How many of the piles, by descending score, stand out from the rest.

    Args:
        piles: The piles.
        base: Reachable bytes without metadata.
        least: Bytes that a suspect retains.
    """
    scores = [pile.score for pile in piles] + [PILE_SHARE * base]
    best, count = STANDS_OUT, 0
    for rank in range(min(MAX_SUSPECTS, len(piles))):
        if piles[rank].pile.compared_bytes < max(SUSPECT_SHARE * base, least):
            break
        factor = scores[rank] / max(scores[rank + 1], 1.0)
        if factor >= best:
            best, count = factor, rank + 1
    return count


def _suspect(search: PileSearch, found: _Held, contents: list[str]) -> Suspect:
    """What is known of a pile."""
    pile, holder, words, told = found
    largest = int(pile.members[0])
    container = pile.entry if pile.entry >= 0 else holder.index
    path, cut_step = search.paths.steps(holder)
    return Suspect(
        type_index=pile.type_index,
        object_count=pile.object_count,
        retained_bytes=pile.retained_bytes,
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
        cut=words.cut,
        contents=tuple(contents),
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


def _told_apart(holder: Holder) -> str | None:
    """The type of a holder, with the part of the program that it stands for."""
    if holder.name is None:
        return holder.type_name
    return f"{holder.type_name} {holder.name}"


def _contents_of(
    graph: HeapGraph, metrics: HeapMetrics, piles: Sequence[NDArray[np.int32]]
) -> list[list[str]]:
    """The types that have most bytes of each pile, as ``1,200 Tile, 3.1 MiB``.

    Args:
        graph: The heap.
        metrics: Its metrics.
        piles: Objects of each pile; a pile includes all that they dominate.
    """
    if not piles:
        return []
    mark = marked(metrics, piles)
    types, listed = len(graph.type_names), []
    for number in range(1, len(piles) + 1):
        rows = rows_where(mark == number)
        kinds = graph.type_index[rows]
        size = sum_by(kinds, graph.shallow_bytes[rows], types)
        del rows
        count = count_by(kinds, types)
        order = np.argsort(-size, kind="stable")[:_MAX_CONTENTS]
        listed.append(
            [
                f"{count[kind]:,} "
                f"{printable(graph.captions.of(graph.type_names[kind]))}, "
                f"{human_bytes(int(size[kind]))}"
                for kind in order.tolist()
                if size[kind]
            ]
        )
    return listed
