"""What the collections in a ``.nettrace`` left alive, where it went, and how old it is.

A collection tells the places of generations, then what survived in ranges, then the
places again. A background one goes on while others run, so that the places told at its
begin are no longer true when it tells what survived; it leaves the young alone.

Source: dotnet/runtime, src/coreclr/gc/gc.cpp, as the events of runtimes show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.history import OLDEST, History, Survival
from ingest.readers.dotnet.gc_events import Mode
from ingest.readers.nettrace.survival_events import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.readers.dotnet.event_stream import Gaps
    from ingest.readers.nettrace.snapshot import Collection


def history(
    collections: Iterable[Collection], chosen: Collection, gaps: Gaps
) -> History | None:
    """What is told of what survived, up to a dump.

    Args:
        collections: Of the stream, in the order of their begin.
        chosen: The one that the dump is of.
        gaps: Where events are missing.

    Returns:
        ``None`` where no collection tells what survived it.
    """
    of_process = [c for c in collections if c.process == chosen.process]
    of_process.sort(key=_told_when)
    before = [c for c in of_process if _told_when(c) <= _told_when(chosen)]
    found = tuple(_survival(c, gaps) for c in before)
    return History(found) if any(one.has_ranges for one in found) else None


def _told_when(collection: Collection) -> float:
    """The clock when it told what survived."""
    if collection.places.told_at is not None:
        return collection.places.told_at
    return float("inf") if collection.until is None else collection.until


def _survival(collection: Collection, gaps: Gaps) -> Survival:
    places, start = collection.places, collection.start
    none = np.empty(0, np.uint64)
    old, new, length = (
        np.concatenate([none, *(entry[at] for entry in places.moves)])
        for at in range(3)
    )
    is_background = start.mode == Mode.BACKGROUND
    told = bool(places.moves or places.places) and start.generation >= 0
    return Survival(
        number=start.number,
        generation=start.generation,
        youngest=OLDEST if is_background else 0,
        old_start=old,
        new_start=new,
        length=length,
        before=None if is_background else places.before(),
        after=bounds(places.after()),
        has_ranges=told and not _lost(collection, gaps),
    )


def _lost(collection: Collection, gaps: Gaps) -> bool:
    """Whether anything is missing that it may have told."""
    threads = np.array(sorted(collection.places.threads), np.uint64)
    inside = np.isin(gaps.thread, threads) & (gaps.until > collection.since)
    if collection.until is not None:
        inside &= gaps.since < collection.until
    return bool(inside.any())
