"""What one collection's events say of what survived it, and of where things are."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.history import Bounds
from ingest.readers.dotnet.gc_events import Gc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.readers.dotnet.event_stream import Event
    from ingest.readers.dotnet.gc_events import GenerationRange, Rows

    Moves = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(slots=True, eq=False)
class SurvivalEvents:
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
        return bounds(entry for _, entry in self.places[: self._parting()])

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


def bounds(ranges: Iterable[GenerationRange]) -> Bounds | None:
    """Ranges of generations as columns; ``None`` where none has objects."""
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
