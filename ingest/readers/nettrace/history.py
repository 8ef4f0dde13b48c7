"""The ranges that survived the collections of a ``.nettrace``.

A collection records the ranges of generations, then those that survived, then the
ranges of generations again. During a background collection other collections run, so
that the ranges recorded at its start are out of date when it records what survived. It
does not collect generations 0 and 1.

Source: dotnet/runtime, src/coreclr/gc/gc.cpp; checked against recorded traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.history import OLDEST, History, Survival
from ingest.readers.dotnet.gc_events import Mode
from ingest.readers.nettrace.survival_events import NO_EVENTS, bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.readers.dotnet.event_stream import Gaps
    from ingest.readers.nettrace.snapshot import Collection


_NO_IDS = np.empty(0, np.uint64)


def history(
    collections: Iterable[Collection],
    chosen: Collection,
    gaps: Gaps,
    *,
    frees: bool = False,
) -> History | None:
    """The survivals up to a dump.

    Args:
        collections: All of the stream, in the order of their start.
        chosen: The collection of the dump.
        gaps: Gaps in the stream.
        frees: Whether to free the events of the other collections one by one.

    Returns:
        ``None`` if no collection recorded which ranges survived.
    """
    of_process = [c for c in collections if c.process == chosen.process]
    of_process.sort(key=_recorded_at)
    until = [c for c in of_process if _recorded_at(c) <= _recorded_at(chosen)]
    if not any(_has_ranges(c, gaps) for c in until):
        return None
    survivals = []
    for one in until:
        survivals.append(_survival(one, gaps))
        if frees and one is not chosen:
            one.survival = NO_EVENTS
    return History(tuple(survivals))


def _recorded_at(collection: Collection) -> float:
    """The time in ticks at which the surviving ranges were recorded."""
    if collection.survival.first_ticks is not None:
        return collection.survival.first_ticks
    return float("inf") if collection.end_ticks is None else collection.end_ticks


def _has_ranges(collection: Collection, gaps: Gaps) -> bool:
    """Whether all of its surviving ranges are recorded."""
    found = collection.survival
    if collection.generation < 0 or not (found.moves or found.generations):
        return False
    return not gaps.lost_by(found.threads, collection.begin_ticks, collection.end_ticks)


def _survival(collection: Collection, gaps: Gaps) -> Survival:
    found = collection.survival
    columns = [_NO_IDS] * 3  # one array for all: there may be many collections
    if found.moves:
        columns = [
            np.concatenate([_NO_IDS, *(entry[at] for entry in found.moves)])
            for at in range(3)
        ]
    old, new, length = columns
    is_background = collection.mode == Mode.BACKGROUND
    return Survival(
        number=collection.number,
        generation=collection.generation,
        youngest=OLDEST if is_background else 0,
        old_start=old,
        new_start=new,
        length=length,
        before=None if is_background else found.before(),
        after=bounds(found.after()),
        has_ranges=_has_ranges(collection, gaps),
    )
