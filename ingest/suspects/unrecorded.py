"""Collections that may have what a file does not tell who holds, as maps of Bun."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.heap.graph import RootKind
from ingest.runtimes import named
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder
    from ingest.what_if.places import ReferencePlaces

_ROOM = 8
"""A table has at most so many times the room for its entries."""


class _Alike(NamedTuple):
    """Collections of one type that fields of one name refer to, or nothing.

    Attributes:
        rows: The collections.
        room: For how many entries they have room, about.
        where: What refers to the first one, in words; empty if nothing does.
    """

    rows: NDArray[np.int64]
    room: int
    where: str


def with_room(
    graph: HeapGraph, places: ReferencePlaces, holder: Holder, count: int
) -> str:
    """The collections with room for what the file does not tell who holds.

    Args:
        graph: The heap.
        places: Words for its references.
        holder: A root for what is not recorded; for others nothing is found.
        count: How many objects they have to have room for.
    """
    runtime = named(graph.runtime)
    if not runtime.unrecorded or holder.root_kind != RootKind.NOT_RECORDED.label:
        return ""
    first = holder.path[0]
    if len(holder.path) > 1:  # of lists that such a map has
        kinds = graph.type_index[graph.root_object]
        is_like = kinds == graph.type_index[first]
        is_like &= graph.root_kind == RootKind.NOT_RECORDED
        count = int(np.count_nonzero(is_like))
    every = [one for one in _collections(graph, places) if first not in one.rows]
    found = _fitting(every, count)
    likely = [one for one in found[1:2] if found[0].where and one.room <= _ROOM * count]
    texts = [_words(graph, one, every) for one in (*found[:1], *likely)]
    return f"it may be {', or '.join(texts)}" if texts else ""


def _fitting(every: Iterable[_Alike], count: int) -> list[_Alike]:
    """Those with room for so many objects, those with least room first."""
    return sorted((one for one in every if one.room >= count), key=lambda one: one.room)


def _words(graph: HeapGraph, one: _Alike, every: Sequence[_Alike]) -> str:
    """Some collections in words, and what may have these."""
    name = printable(graph.captions.of(graph.type_name(int(one.rows[0]))))
    if len(one.rows) == 1:
        address = graph.address(int(one.rows[0]))
        what = f"{one.where}, a {name}" if one.where else f"a {name}, {address},"
        return f"{what} with room for about {one.room:,}"
    what = f"{len(one.rows):,} {name}s" + (f" of {one.where}" if one.where else "")
    what += f" with room for about {one.room:,} in all"
    if not one.where:
        above = _fitting([other for other in every if other.where], len(one.rows))
        what += f", perhaps in {above[0].where}" if above else ""
    return what


def _collections(graph: HeapGraph, places: ReferencePlaces) -> Iterator[_Alike]:
    """The collections of a heap whose entries are not recorded."""
    kinds, count = graph.type_index, len(graph.field_names)
    for name in named(graph.runtime).unrecorded:
        if name not in graph.type_names:
            continue
        rows = np.flatnonzero(kinds == graph.type_names.index(name))
        room = named(graph.runtime).room(name, graph.shallow_bytes[rows])
        place, refs = np.full((2, len(rows)), -1, np.int64)
        if graph.ref_field is not None and len(rows):
            is_it = np.zeros(len(kinds), np.bool_)
            is_it[rows] = True
            held = np.flatnonzero(is_it[graph.ref_target] & (graph.ref_field >= 0))
            targets, at = np.unique(graph.ref_target[held], return_index=True)
            own = kinds[graph.sources(held[at])].astype(np.int64)
            told = np.searchsorted(rows, targets)
            place[told] = own * count + graph.ref_field[held[at]]
            refs[told] = held[at]
        for one in np.unique(place).tolist():
            alike, ref = place == one, int(refs[place == one][0])
            where = "" if ref < 0 else _where(graph, places, ref)
            yield _Alike(rows[alike], int(room[alike].sum()), where)


def _where(graph: HeapGraph, places: ReferencePlaces, ref: int) -> str:
    """What refers to a collection, in words."""
    (source,) = graph.sources(np.array([ref]))
    where = printable(places.holder(int(source), graph.field_name(ref)))
    return named(graph.runtime).speak(where)
