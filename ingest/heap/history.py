"""The history of a heap before a dump: survivals of collections, and allocations.

A compacting collector moves objects to new addresses. The runtime reports the ranges
that moved or survived in place; all ranges of one collection apply at once.

Source: Microsoft, "Object Tracking in the Profiling API", the text that comes with
ICorProfilerCallback::MovedReferences; GarbageCollectionStarted and
GetGenerationBounds for generations that are not collected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.uint64]

OLDEST = 2
LARGE, PINNED = 3, 4
UNKNOWN = -1
"""A generation that is not recorded."""


def collected_generation(number: int) -> int | None:
    """The highest generation collected; ``None`` if no runtime has that number."""
    return number if 0 <= number <= OLDEST else None


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The address ranges of the generations at one time: B ranges.

    Attributes:
        start, end: uint64 (B,). Half-open ranges: first byte, and end.
        generation: int8 (B,). 0, 1, 2, `LARGE` or `PINNED`.
    """

    start: Ids
    end: Ids
    generation: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Survival:
    """One collection and the K ranges that survived it.

    Attributes:
        number: Number in the process, from the runtime.
        generation: Highest generation collected; `OLDEST` includes large and pinned
            objects.
        youngest: Lowest generation collected; a background collection does not
            collect the young ones.
        old_start, new_start, length: uint64 (K,), bytes. Ranges before and after the
            collection; equal if nothing moved. Old ranges do not overlap.
        before, after: Address ranges of the generations at its start and end; ``None``
            if not recorded, or if other collections ran in between.
        has_ranges: Whether all surviving ranges are recorded. If not, it is unknown
            which objects of the collected generations survived.
    """

    number: int
    generation: int
    old_start: Ids
    new_start: Ids
    length: Ids
    before: Bounds | None = None
    after: Bounds | None = None
    has_ranges: bool = True
    youngest: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Allocations:
    """A allocations recorded in a log.

    Attributes:
        heap: int32 (A,). Number of collections of the `History` before each allocation.
        address: uint64 (A,). Address of the object at its allocation.
        site: int32 (A,). Row of ``sites``.
        allocated_ms: int64 (A,). Time by the clock of the log, milliseconds since its
            start; ``None`` if not recorded.
        sites: Call stacks of the allocation sites, innermost function first.
    """

    heap: NDArray[np.int32]
    address: Ids
    site: NDArray[np.int32]
    allocated_ms: NDArray[np.int64] | None
    sites: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The history before a dump.

    Attributes:
        collections: Collections in the order of their records. Addresses in the dump
            are those after the last one. Empty if objects do not move, or no
            collections are recorded.
        allocations: Allocations; ``None`` if not recorded.
    """

    collections: tuple[Survival, ...]
    allocations: Allocations | None = None
