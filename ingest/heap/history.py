"""What a trace or log tells of the heap before a dump: what outlived collections.

A collector that compacts gives objects new addresses. What it moved, and what it left
in place, the runtime tells as ranges; all ranges of one collection apply at once.

Source: Microsoft, "Object Tracking in the Profiling API", the text that comes with
ICorProfilerCallback::MovedReferences; GarbageCollectionStarted and
GetGenerationBounds for what is not collected.
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
"""A generation that nobody told."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Which addresses belong to which generation: B ranges, as one moment has them.

    Attributes:
        start, end: uint64 (B,). From the first byte to behind the last.
        generation: int8 (B,). 0, 1, 2, `LARGE` or `PINNED`.
    """

    start: Ids
    end: Ids
    generation: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Survival:
    """One collection: K ranges of what outlived it.

    Attributes:
        number: The runtime's own.
        generation: The highest that it collected; with `OLDEST` large and pinned
            objects too.
        youngest: The lowest that it collected; a background collection leaves the
            young alone.
        old_start, new_start, length: uint64 (K,), bytes. Ranges before and after;
            the same where nothing moved. Ranges before do not overlap.
        before, after: Generations when it began and ended; ``None`` if not told, or
            if others ran in between.
        has_ranges: Whether the runtime told all that survived. Where it did not,
            nobody knows what became of the objects that it collected.
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
    """Allocations, A of them, that a log tells one by one.

    Attributes:
        heap: int32 (A,). How many of the collections of the `History` were over.
        address: uint64 (A,). Where the object was then.
        site: int32 (A,). Row of ``sites``.
        allocated_ms: int64 (A,). The log's clock then, milliseconds since its start.
        sites: Where in the program that was: functions, the innermost first.
    """

    heap: NDArray[np.int32]
    address: Ids
    site: NDArray[np.int32]
    allocated_ms: NDArray[np.int64]
    sites: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """What went before a dump.

    Attributes:
        collections: In the order in which they told what survived. The dump's
            addresses are those that the last one left.
        allocations: ``None`` if not told.
    """

    collections: tuple[Survival, ...]
    allocations: Allocations | None = None
