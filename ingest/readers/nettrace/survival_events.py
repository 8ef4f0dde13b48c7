"""Events of one collection about surviving ranges and the ranges of generations."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
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


_FEW_THREADS = 16


@lru_cache(maxsize=1 << 12)
def _extended(threads: frozenset[int], thread: int) -> frozenset[int]:
    """A cached set, since most collections of a program have the same threads."""
    return threads | {thread}


@dataclass(slots=True, eq=False)
class SurvivalEvents:
    """The address ranges in the events of one collection.

    Attributes:
        moves: Old start, new start and length of surviving ranges, as uint64, one entry
            per event.
        generations: Ranges of generations, each with its time in ticks.
        count_before: How many of ``generations`` precede all other events; ``None``
            until another event arrives.
        first_ticks: Time of the first of ``moves``.
        threads: The threads that wrote the events; one set for many collections.
    """

    moves: list[Moves] = field(default_factory=list)
    generations: list[tuple[int, GenerationRange]] = field(default_factory=list)
    count_before: int | None = None
    first_ticks: int | None = None
    threads: frozenset[int] | set[int] = frozenset()

    def end_before(self) -> None:
        """Note that later ranges of generations are those after the collection."""
        if self.count_before is None:
            self.count_before = len(self.generations)

    def add_moves(self, kind: Gc, event: Event, rows: Rows) -> None:
        """Add ranges that survived the collection."""
        old, new = ("old", "new") if kind is Gc.MOVED else ("start", "start")
        columns = (rows[old], rows[new], rows["length"])
        first, second, third = (column.astype(np.uint64) for column in columns)
        self.end_before()
        if self.first_ticks is None:
            self.first_ticks = event.ticks
        self._note(event.thread)
        self.moves.append((first, second, third))

    def add_generation(self, event: Event, found: GenerationRange) -> None:
        """Add a range of a generation."""
        self._note(event.thread)
        self.generations.append((event.ticks, found))

    def _note(self, thread: int) -> None:
        known = self.threads
        if thread in known:
            return
        if isinstance(known, set):
            known.add(thread)
        elif len(known) < _FEW_THREADS:
            self.threads = _extended(known, thread)
        else:
            self.threads = {*known, thread}

    def surviving_bytes(self, *, moved: bool) -> int | None:
        """Bytes that survived elsewhere, or in place; ``None`` if not recorded."""
        if not self.moves:
            return None
        return sum(
            int(length[(old != new) == moved].sum(dtype=np.uint64))
            for old, new, length in self.moves
        )

    def before(self) -> Bounds | None:
        """The generations at the start of the collection; ``None`` if not recorded."""
        return bounds(entry for _, entry in self.generations[: self._split()])

    def after(self) -> list[GenerationRange]:
        """The generations at the end of the collection."""
        return [entry for _, entry in self.generations[self._split() :]]

    def _split(self) -> int:
        """How many ranges of generations describe the heap before the collection.

        If no other events are in between, a range that is recorded a second time, with
        the same generation and start, describes the heap afterwards. If that leaves
        several places, the longest pause is chosen: a thread may stall while it writes
        either half.
        """
        if self.count_before is not None:
            return self.count_before
        if len(self.generations) < 2:
            return len(self.generations)
        first: dict[tuple[int, int], int] = {}
        low, high = 1, len(self.generations) - 1
        for at, (_, entry) in enumerate(self.generations):
            key = (entry.generation, entry.start)
            if not entry.start:
                continue
            if key in first:
                low, high = max(low, first[key] + 1), min(high, at)
            first.setdefault(key, at)
        low = min(low, high)
        ticks = [at for at, _ in self.generations]
        pauses = [after - before for before, after in pairwise(ticks)]
        return max(range(low, high + 1), key=lambda at: pauses[at - 1])


NO_EVENTS = SurvivalEvents()
"""The events of collections without any; do not change it."""


def bounds(ranges: Iterable[GenerationRange]) -> Bounds | None:
    """Ranges of generations as columns; ``None`` if all are empty."""
    used = [entry for entry in ranges if entry.used_bytes]
    if not used:
        return None
    start = np.array([entry.start for entry in used], np.uint64)
    length = np.array([entry.used_bytes for entry in used], np.uint64)
    return Bounds(
        start,
        np.maximum(start, start + length),  # a range that wraps around is empty
        np.array([entry.generation & 0x7F for entry in used], np.int8),
    )
