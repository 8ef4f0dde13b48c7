"""What the collections in a ``.nettrace`` left alive, where it went, and how old it is.

A collection tells the places of generations, then what survived in ranges, then the
places again. A background one goes on while others run, so that the places told at its
begin are no longer true when it tells what survived; it leaves the young alone.

Source: dotnet/runtime, src/coreclr/gc/gc.cpp, as the events of runtimes show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ingest.history import OLDEST, Bounds, History, Survival
from ingest.readers.gc_events import Gc, Mode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.readers.gc_events import GenerationRange, Rows
    from ingest.readers.nettrace_snapshot import Collection
    from ingest.readers.nettrace_stream import Event, Gaps

    Moves = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(slots=True, eq=False)
class Places:
    """What one collection tells of where things are.

    Attributes:
        moves: Old start, new start and length of ranges, as uint64, event by event.
        places: Parts of generations and the clock when each was told.
        parted_at: How many of those were told before anything else.
        told_at: The clock at the first of ``moves``.
        threads: Who told it.
    """

    moves: list[Moves] = field(default_factory=list)
    places: list[tuple[int, GenerationRange]] = field(default_factory=list)
    parted_at: int | None = None
    told_at: int | None = None
    threads: set[int] = field(default_factory=set)

    def part(self) -> None:
        """What is told from here on is the heap as the collection leaves it."""
        if self.parted_at is None:
            self.parted_at = len(self.places)

    def survived(self, kind: Gc, event: Event, rows: Rows) -> None:
        """Take ranges of what outlived the collection."""
        old, new = ("old", "new") if kind is Gc.MOVED else ("start", "start")
        columns = (rows[old], rows[new], rows["length"])
        first, second, third = (column.astype(np.uint64) for column in columns)
        self.part()
        if self.told_at is None:
            self.told_at = event.ticks
        self.threads.add(event.thread)
        self.moves.append((first, second, third))

    def placed(self, event: Event, found: GenerationRange) -> None:
        """Take a part of a generation."""
        self.threads.add(event.thread)
        self.places.append((event.ticks, found))

    @property
    def moved_bytes(self) -> int | None:
        """What outlived it in another place; ``None`` if not told."""
        return self._sum(moved=True)

    @property
    def kept_bytes(self) -> int | None:
        """What outlived it where it was; ``None`` if not told."""
        return self._sum(moved=False)

    def _sum(self, *, moved: bool) -> int | None:
        if not self.moves:
            return None
        return sum(
            int(length[(old != new) == moved].sum(dtype=np.uint64))
            for old, new, length in self.moves
        )

    def before(self) -> Bounds | None:
        """Where generations were when it began; ``None`` if not told."""
        return _bounds(entry for _, entry in self.places[: self._parting()])

    def after(self) -> list[GenerationRange]:
        """Where they are when it has ended."""
        return [entry for _, entry in self.places[self._parting() :]]

    def _parting(self) -> int:
        """How many of the places are of the time before it.

        Where it told of nothing that survived, the longest pause tells.
        """
        if self.parted_at is not None or len(self.places) < 2:
            return len(self.places) if self.parted_at is None else self.parted_at
        ticks = [at for at, _ in self.places]
        pauses = [after - before for before, after in pairwise(ticks)]
        return pauses.index(max(pauses)) + 1


def _bounds(ranges: Iterable[GenerationRange]) -> Bounds | None:
    told = [entry for entry in ranges if entry.used_bytes]
    if not told:
        return None
    start = np.array([entry.start for entry in told], np.uint64)
    used = np.array([entry.used_bytes for entry in told], np.uint64)
    return Bounds(
        start,
        np.maximum(start, start + used),  # a sum that wraps has no objects
        np.array([entry.generation & 0x7F for entry in told], np.int8),
    )


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
        after=_bounds(places.after()),
        has_ranges=told and not _lost(collection, gaps),
    )


def _lost(collection: Collection, gaps: Gaps) -> bool:
    """Whether anything is missing that it may have told."""
    threads = np.array(sorted(collection.places.threads), np.uint64)
    inside = np.isin(gaps.thread, threads) & (gaps.until > collection.since)
    if collection.until is not None:
        inside &= gaps.since < collection.until
    return bool(inside.any())
