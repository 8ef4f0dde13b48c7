"""What a CLR Profiler log tells of collections: when, what outlived them, and where.

A ``b`` record stands where a collection begins and where it ends, and both have the
bounds of all generations. Collections nest: one that runs in the background has others
in it, and ranges are told of the one that began last and goes on. Logs of old have a
``g`` record behind each collection, with nothing but how many there were.

Source: microsoftarchive/clrprofiler, profilerOBJ/ProfilerCallback.cpp.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import GENERATIONS, GarbageCollection
from ingest.heap.history import OLDEST, UNKNOWN, Allocations, Bounds, History, Survival
from ingest.readers.clrprofiler.buffers import BOUNDS
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.id_table import IdTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ids, Longs
    from ingest.readers.clrprofiler.pieces import LoggedDump, LogScanner
    from ingest.readers.shared.irregularities import IrregularityCounter

MOST_FRAMES = 64
"""Of a site's functions the innermost are kept."""

_MOST_NESTED = 16
"""Collections that may go on at once; runtimes have two."""

_MOST_STACKS = 1000
"""Stacks that begin like one another, followed for one site."""

_MOST_BYTES = 2.0**62


@dataclass(slots=True, eq=False)
class _Collection:
    """One collection.

    Attributes:
        number: 1 for the first that begins.
        generation: The highest that it collects; `UNKNOWN` if not told.
        is_induced: Whether the program asked for it.
        began_ms, ended_ms: The clock; ``None`` for no end.
        first, last: Which events its begin and end are; ``None`` for no end.
        told: How many events were before the last of its ranges, or before its end.
        before, after: Rows of bounds.
        rows: Rows of ranges.
    """

    number: int
    generation: int
    is_induced: bool
    began_ms: int
    first: int
    ended_ms: int | None = None
    last: int | None = None
    told: int | None = None
    before: slice | None = None
    after: slice | None = None
    rows: list[slice] = field(default_factory=list)


class Collections:
    """All collections of a log.

    Args:
        log: Its columns of events, bounds and ranges are taken.
        counter: Told of what is irregular.
    """

    def __init__(self, log: LogScanner, counter: IrregularityCounter) -> None:
        self._bounds = log.column("bound")
        self._ranges = log.column("range")
        self._counter = counter
        self.all: list[_Collection] = []
        event = log.column("event")
        epochs = log.column("range_epoch")
        paired = bool((event[:, 0] == BOUNDS).any())
        self._owners: dict[int, _Collection] = {}
        """Which collection goes on behind so many events, innermost."""
        if paired:
            self._pair(event)
        else:
            self._count(event)
        self._assign(epochs, paired=paired, clock=log.clock)
        for collection in self.all:
            if collection.told is None:
                collection.told = collection.last

    def _pair(self, event: Longs) -> None:
        going_on: list[_Collection] = []
        for at, row in enumerate(event.tolist()):
            kind, line, clock, begins, induced, generation, start, many = row
            if kind != BOUNDS:
                pass  # says less than the records beside it
            elif begins:
                begun = _Collection(
                    len(self.all) + 1, generation, induced > 0, clock, at
                )
                begun.before = slice(start, start + many)
                going_on.append(begun)
                self.all.append(begun)
                if len(going_on) > _MOST_NESTED:
                    self._counter.add("collection_without_end", 1, line, None)
                    del going_on[0]
            elif going_on:
                same = [c for c in going_on if c.generation == generation]
                ended = same[-1] if same else going_on[-1]
                going_on.remove(ended)
                ended.last, ended.ended_ms = at, clock
                ended.after = slice(start, start + many)
            else:
                self._counter.add("collection_without_begin", 1, line, None)
            if going_on:
                self._owners[at + 1] = going_on[-1]

    def _count(self, event: Longs) -> None:
        """One collection for each ``g``; what is told belongs to the next."""
        counts = (0, 0, 0)
        for at, row in enumerate(event.tolist()):
            clock, found = row[2], tuple(row[3:6])
            risen = [
                generation
                for generation, (now, then) in enumerate(
                    zip(found, counts, strict=True)
                )
                if now > then
            ]
            generation = max(risen) if risen else UNKNOWN
            counts = tuple(max(pair) for pair in zip(found, counts, strict=True))
            self._owners[at] = _Collection(at + 1, generation, False, clock, at)
            self._owners[at].last = at
            self.all.append(self._owners[at])

    def _assign(self, epochs: NDArray[np.int32], *, paired: bool, clock: int) -> None:
        """Give each collection its ranges."""
        turns = [*np.flatnonzero(np.diff(epochs, prepend=-1)).tolist(), len(epochs)]
        for begin, end in pairwise(turns):
            epoch = int(epochs[begin])
            owner = self._owners.get(epoch)
            if owner is None and not paired and epoch == len(self.all):
                # The log ends before it tells of that collection.
                owner = _Collection(epoch + 1, UNKNOWN, False, clock, epoch)
                self._owners[epoch] = owner
                self.all.append(owner)
            if owner is None:
                self._counter.add("range_outside_collection", end - begin, 0, None)
                continue
            owner.rows.append(slice(begin, end))
            owner.told = epoch

    def reporting_to(self, counter: IrregularityCounter) -> Collections:
        """The same, for one of the log's dumps."""
        other = copy(self)
        other._counter = counter
        return other

    @property
    def is_going_on(self) -> bool:
        """Whether one has begun, but not ended."""
        return any(c.last is None and c.before is not None for c in self.all)

    def at(self, dump: LoggedDump) -> _Collection | None:
        """The collection that a dump was taken in."""
        return self._owners.get(dump.epoch)

    def bounds_at(self, dump: LoggedDump) -> list[tuple[int, int, int, int]]:
        """Start, used and reserved bytes and generation of the heap's parts."""
        owner = self.at(dump)
        if owner is None:
            ended = [c for c in self.all if c.last is not None and c.last < dump.epoch]
            owner = max(ended, key=lambda c: c.last or 0, default=None)
        if owner is None:
            return []
        rows = owner.after or owner.before
        if rows is None:
            return []
        return [
            (start, used, reserved, generation)
            for start, used, reserved, generation in self._bounds[rows].tolist()
        ]

    def timeline(self, *dumps: LoggedDump) -> tuple[GarbageCollection, ...]:
        """All collections, and which of them have one of those dumps."""
        own = [self.at(dump) for dump in dumps]
        return tuple(
            self._told(c, is_dump=any(c is one for one in own)) for c in self.all
        )

    def _told(self, c: _Collection, *, is_dump: bool) -> GarbageCollection:
        moved = kept = None
        if c.rows:
            ranges = self._rows(c)
            stayed = ranges[:, 0] == ranges[:, 1]
            moved, kept = _sum(ranges[~stayed, 2]), _sum(ranges[stayed, 2])
        return GarbageCollection(
            number=c.number,
            generation=c.generation if c.generation >= 0 else None,
            reason="induced" if c.is_induced else "",
            mode="",
            started_us=c.began_ms * 1000,
            duration_us=None
            if c.ended_ms is None
            else max(c.ended_ms - c.began_ms, 0) * 1000,
            heap_bytes=None if c.after is None else _sum(self._bounds[c.after, 1]),
            moved_bytes=moved,
            kept_bytes=kept,
            is_dump=is_dump,
        )

    def _rows(self, c: _Collection) -> Ids:
        return np.concatenate([self._ranges[rows] for rows in c.rows])

    def _until(self, dump: LoggedDump) -> list[_Collection]:
        """Those that had told what survived when the dump was taken."""
        return sorted(
            (c for c in self.all if c.told is not None and c.told <= dump.epoch),
            key=lambda c: (c.told, c.last is None, c.last),
        )

    def history(
        self, dump: LoggedDump, allocations: Allocations | None
    ) -> History | None:
        """What went before a dump; ``None`` if nothing did."""
        survivals = tuple(self._survival(c) for c in self._until(dump))
        if not survivals and allocations is None:
            return None
        return History(survivals, allocations)

    def over(self, dump: LoggedDump, epochs: Longs) -> NDArray[np.int32]:
        """int32: how many collections were over after so many events."""
        told = np.array([c.told for c in self._until(dump)], np.int64)
        return np.searchsorted(told, epochs, "left").astype(np.int32)

    def _survival(self, c: _Collection) -> Survival:
        ranges = self._rows(c) if c.rows else np.empty((0, 3), np.uint64)
        ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
        if (ranges[1:, 0] < ranges[:-1, 0] + ranges[:-1, 2]).any():
            ranges = self._apart(ranges)
        return Survival(
            number=c.number,
            generation=min(c.generation, OLDEST),
            old_start=ranges[:, 0].copy(),
            new_start=ranges[:, 1].copy(),
            length=ranges[:, 2].copy(),
            before=self._made(c.before),
            after=self._made(c.after),
            has_ranges=bool(c.rows),
        )

    def _apart(self, ranges: Ids) -> Ids:
        """Those that do not overlap with one before; a sound log has no others."""
        kept, upto = [], 0
        for row, (start, _, length) in enumerate(ranges.tolist()):
            if start >= upto:
                kept.append(row)
                upto = start + length
        self._counter.add("overlapping_range", len(ranges) - len(kept), 0, None)
        return ranges[kept]

    def _made(self, rows: slice | None) -> Bounds | None:
        if rows is None or rows.stop == rows.start:
            return None
        bounds = self._bounds[rows]
        good = bounds[:, 3] < GENERATIONS
        good &= (bounds[:, 0] < 1 << 63) & (bounds[:, 1] <= MAX_SIZE_BYTES)
        bounds = bounds[good]
        return Bounds(
            bounds[:, 0].copy(),
            bounds[:, 0] + bounds[:, 1],
            bounds[:, 3].astype(np.int8),
        )


def _sum(sizes: Ids) -> int | None:
    """No sum that is larger than any memory: a log can say anything."""
    if float(sizes.sum(dtype=np.float64)) >= _MOST_BYTES:
        return None
    return int(sizes.sum())


def allocations_of(
    log: LogScanner, dump: LoggedDump, collections: Collections
) -> Allocations | None:
    """The allocations before a dump; ``None`` if the log tells none."""
    count = dump.allocation_count
    allocation = log.column("allocation")[:count]
    at = log.column("allocation_at")[:count]
    if not len(allocation):
        return None
    used, rank = np.unique(allocation[:, 1], return_inverse=True)
    rows, sites = _Stacks(log).sites(used)
    return Allocations(
        heap=collections.over(dump, at[:, 0]),
        address=allocation[:, 0].copy(),
        site=rows[rank],
        allocated_ms=at[:, 1].copy(),
        sites=sites,
    )


class _Stacks:
    """Stacks of a log; each may begin like another one."""

    def __init__(self, log: LogScanner) -> None:
        self._functions = log.functions
        stack = log.column("stack")
        count = log.column("stack_count")
        self._table = IdTable(stack[:, 0].copy())
        self._other: NDArray[Any] = self._table.find(stack[:, 1].copy())[0]
        self._common, self._own = count[:, 0], count[:, 1]
        self._end = np.cumsum(self._own, dtype=np.int64)
        self._frame = log.column("frame")

    def sites(
        self, idents: Ids
    ) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...]]:
        """The row of each stack, and the functions of each row, innermost first."""
        found: dict[tuple[int, ...], int] = {}
        rows = [
            found.setdefault(self._innermost(row), len(found))
            for row in self._table.find(idents)[0].tolist()
        ]
        name = self._functions.full_name
        return np.array(rows, np.int32), tuple(
            tuple(name(ident) for ident in site) for site in found
        )

    def _innermost(self, row: int) -> tuple[int, ...]:
        frames: list[int] = []
        upto = -1
        for _ in range(_MOST_STACKS):
            if row < 0 or len(frames) >= MOST_FRAMES:
                break
            common, own = int(self._common[row]), int(self._own[row])
            taken = own if upto < 0 else min(max(upto - common, 0), own)
            first = int(self._end[row]) - own
            last = first + taken
            first = max(first, last - (MOST_FRAMES - len(frames)))
            frames += self._frame[first:last][::-1].tolist()
            upto = common if upto < 0 else min(common, upto)
            row = int(self._other[row]) if upto else -1
        return tuple(frames)
