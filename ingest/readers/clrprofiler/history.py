"""The collections of a CLR Profiler log, and the ranges that survived them.

A ``b`` record marks the begin and the end of a collection, each with the bounds of all
generations. Collections nest: one in the background may contain others, and ranges
belong to the innermost one that has not ended. Old logs have only a ``g`` record after
each collection, which counts the collections so far.

Source: microsoftarchive/clrprofiler, profilerOBJ/ProfilerCallback.cpp.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import GENERATIONS, GarbageCollection
from ingest.heap.history import (
    OLDEST,
    UNKNOWN,
    Allocations,
    Bounds,
    History,
    Survival,
    collected_generation,
)
from ingest.readers.clrprofiler.buffers import BOUNDS
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.readers.shared.id_table import IdTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Longs
    from ingest.readers.clrprofiler.pieces import LoggedDump, LogScanner
    from ingest.readers.shared.irregularities import IrregularityCounter

MOST_FRAMES = 64
"""The most functions of a site that are stored, innermost first."""

_MOST_NESTED = 16
"""The most collections that may run at once; runtimes have two."""

_MOST_STACKS = 1000
"""The longest chain of stacks that share frames, followed for one site."""

_MOST_BYTES = 2.0**62
_NO_IDS = np.empty(0, np.uint64)


@dataclass(slots=True, eq=False)
class _Collection:
    """One collection.

    Attributes:
        number: 1 for the first collection that begins.
        generation: The highest generation that it collects, or `UNKNOWN`.
        is_induced: Whether the program asked for it.
        began_ms, ended_ms: The clock; ``None`` without an end.
        first, last: Events that begin and end it; ``None`` without an end.
        recorded: Epoch of its last range, or of its end if it has none.
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
    recorded: int | None = None
    before: slice | None = None
    after: slice | None = None
    rows: list[slice] = field(default_factory=list)


class Collections:
    """All collections of a log.

    Args:
        log: Its columns of events, bounds and ranges are taken.
        counter: Counts what is irregular.
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
        """The innermost collection that is running after ``epoch`` events."""
        if paired:
            self._pair(event)
        else:
            self._count(event)
        self._assign(epochs, paired=paired, clock=log.clock)
        for collection in self.all:
            if collection.recorded is None:
                collection.recorded = collection.last

    def _pair(self, event: Longs) -> None:
        running: list[_Collection] = []
        for at, row in enumerate(event.tolist()):
            kind, line, clock, begins, induced, generation, start, many = row
            if kind != BOUNDS:
                pass  # tells less than the records beside it
            elif begins:
                begun = _Collection(
                    len(self.all) + 1, generation, induced > 0, clock, at
                )
                begun.before = slice(start, start + many)
                running.append(begun)
                self.all.append(begun)
                if len(running) > _MOST_NESTED:
                    self._counter.add("collection_without_end", 1, line, None)
                    del running[0]
            elif running:
                same = [c for c in running if c.generation == generation]
                ended = same[-1] if same else running[-1]
                running.remove(ended)
                ended.last, ended.ended_ms = at, clock
                ended.after = slice(start, start + many)
            else:
                self._counter.add("collection_without_begin", 1, line, None)
            if running:
                self._owners[at + 1] = running[-1]

    def _count(self, event: Longs) -> None:
        """Add a collection for each ``g``; ranges belong to the next one."""
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
                # The log ends before the record of that collection.
                owner = _Collection(epoch + 1, UNKNOWN, False, clock, epoch)
                self._owners[epoch] = owner
                self.all.append(owner)
            if owner is None:
                self._counter.add("range_outside_collection", end - begin, 0, None)
                continue
            owner.rows.append(slice(begin, end))
            owner.recorded = epoch

    def reporting_to(self, counter: IrregularityCounter) -> Collections:
        """The same collections, for one of the log's dumps."""
        other = copy(self)
        other._counter = counter
        return other

    @property
    def is_running(self) -> bool:
        """Whether a collection has begun but not ended."""
        return any(c.last is None and c.before is not None for c in self.all)

    def at(self, dump: LoggedDump) -> _Collection | None:
        """The collection during which a dump was taken."""
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
        """All collections, marked if they have one of these dumps."""
        own = [self.at(dump) for dump in dumps]
        return tuple(
            self._as_recorded(c, is_dump=any(c is one for one in own)) for c in self.all
        )

    def _as_recorded(self, c: _Collection, *, is_dump: bool) -> GarbageCollection:
        moved = in_place = None
        if c.rows:
            ranges = self._rows(c)
            stayed = ranges[:, 0] == ranges[:, 1]
            moved, in_place = _sum(ranges[~stayed, 2]), _sum(ranges[stayed, 2])
        return GarbageCollection(
            number=c.number,
            generation=collected_generation(c.generation),
            reason="induced" if c.is_induced else "",
            mode="",
            started_us=_microseconds(c.began_ms),
            duration_us=None
            if c.ended_ms is None
            else _microseconds(c.ended_ms - c.began_ms),
            heap_bytes=None if c.after is None else _sum(self._bounds[c.after, 1]),
            moved_bytes=moved,
            unmoved_bytes=in_place,
            is_dump=is_dump,
        )

    def _rows(self, c: _Collection) -> Ids:
        return np.concatenate([self._ranges[rows] for rows in c.rows])

    def _until(self, dump: LoggedDump) -> list[_Collection]:
        """Collections whose survivors were recorded before the dump."""
        return sorted(
            (
                c
                for c in self.all
                if c.recorded is not None and c.recorded <= dump.epoch
            ),
            key=lambda c: (c.recorded, c.last is None, c.last),
        )

    def history(
        self, dump: LoggedDump, allocations: Allocations | None
    ) -> History | None:
        """Collections and allocations before a dump; ``None`` if there are none."""
        survivals = tuple(self._survival(c) for c in self._until(dump))
        if not survivals and allocations is None:
            return None
        return History(survivals, allocations)

    def over(self, dump: LoggedDump, epochs: Longs) -> NDArray[np.int32]:
        """int32: how many collections had been recorded after each number of events."""
        recorded = np.array([c.recorded for c in self._until(dump)], np.int64)
        return np.searchsorted(recorded, epochs, "left").astype(np.int32)

    def _survival(self, c: _Collection) -> Survival:
        columns = [_NO_IDS] * 3  # one array for all: there may be many collections
        if c.rows:
            ranges = self._rows(c)
            ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
            if (ranges[1:, 0] < ranges[:-1, 0] + ranges[:-1, 2]).any():
                ranges = self._apart(ranges)
            columns = [ranges[:, column].copy() for column in range(3)]
        old, new, length = columns
        return Survival(
            number=c.number,
            generation=min(c.generation, OLDEST),
            old_start=old,
            new_start=new,
            length=length,
            before=self._made(c.before),
            after=self._made(c.after),
            has_ranges=bool(c.rows),
        )

    def _apart(self, ranges: Ids) -> Ids:
        """Drop ranges that overlap an earlier one, and count them."""
        good, upto = [], 0
        for row, (start, _, length) in enumerate(ranges.tolist()):
            if start >= upto:
                good.append(row)
                upto = start + length
        self._counter.add("overlapping_range", len(ranges) - len(good), 0, None)
        return ranges[good]

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


def _microseconds(milliseconds: int) -> int:
    """Limited to 0 and what 63 bits hold, since a damaged log may have any number."""
    return min(max(milliseconds, 0) * 1000, (1 << 63) - 1)


def _sum(sizes: Ids) -> int | None:
    """The sum, or ``None`` if it is larger than any memory."""
    if float(sizes.sum(dtype=np.float64)) >= _MOST_BYTES:
        return None
    return int(sizes.sum())


def allocations_of(
    log: LogScanner, dump: LoggedDump, collections: Collections
) -> Allocations | None:
    """The allocations before a dump; ``None`` if none is recorded."""
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
    """Stacks of a log; each may share frames with another one."""

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
