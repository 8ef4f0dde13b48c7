"""Tables of where objects are or come from, and of the trace; one row per column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.tables.column import FLAG, INT32, INT64, TEXT, Column, Table
from ingest.tables.object_tables import row_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ingest.tables.column import Source
    from ingest.tables.derived import HeapColumns
    from ingest.tables.regions import Sums


def _sums(of: Callable[[HeapColumns], Sums]) -> dict[str, Column]:
    """Columns with the objects in each place, by name."""
    columns = (
        Column(
            "object_count",
            INT64,
            "objects of the dump in it",
            lambda heap: of(heap).object_count,
        ),
        Column(
            "shallow_bytes",
            INT64,
            "shallow size of those",
            lambda heap: of(heap).shallow_bytes,
        ),
        Column(
            "reachable_count",
            INT64,
            "of those, objects reachable from a root",
            lambda heap: of(heap).reachable_count,
        ),
        Column(
            "reachable_bytes",
            INT64,
            "shallow size of the reachable ones",
            lambda heap: of(heap).reachable_bytes,
        ),
    )
    return {column.name: column for column in columns}


_DOMAIN_SUMS = _sums(lambda heap: heap.regions.domains)
_SEGMENT_SUMS = _sums(lambda heap: heap.regions.segments)

# fmt: off
DOMAINS = Table(
    "domains",
    "application domains",
    lambda heap: len(heap.graph.domains),
    (
        Column("ordinal", INT32, "position in the dump, from 0", row_number),
        Column("name", TEXT, "empty for records outside any domain",
            lambda heap: [domain.name for domain in heap.graph.domains]),
        Column("started_ms", INT64,
            "clock of the device when its dump began, since boot",
            lambda heap: [domain.started_ms for domain in heap.graph.domains],
            absent=None),
        Column("ended_ms", INT64, "clock of the device when its dump ended",
            lambda heap: [domain.ended_ms for domain in heap.graph.domains],
            absent=None),
        Column("duration_ms", INT64, "time between the two",
            lambda heap: [domain.duration_ms for domain in heap.graph.domains],
            absent=None),
        Column("complete", FLAG, "whether its section of the dump is closed",
            lambda heap: [domain.complete for domain in heap.graph.domains]),
        _DOMAIN_SUMS["object_count"],
        _DOMAIN_SUMS["shallow_bytes"],
        _DOMAIN_SUMS["reachable_bytes"],
    ),
)


def _hexadecimal(values: Sequence[int | None]) -> list[str | None]:
    return [value if value is None else hex(value) for value in values]


SEGMENTS = Table(
    "segments",
    "contiguous parts of the heap, by address",
    lambda heap: len(heap.graph.segments),
    (
        Column("ordinal", INT32, "position by address, from 0", row_number),
        Column(
            "name",
            TEXT,
            "kind and ordinal, for captions",
            lambda heap: [
                f"{segment.kind} segment {ordinal}"
                for ordinal, segment in enumerate(heap.graph.segments)
            ],
        ),
        Column("kind", TEXT, "`ephemeral`, `gen2`, `loh`, `poh` or `unknown`",
            lambda heap: [str(segment.kind) for segment in heap.graph.segments]),
        Column("start", TEXT, "first address, hexadecimal",
            lambda heap: _hexadecimal([s.start for s in heap.graph.segments])),
        Column("end", TEXT, "address after its last object",
            lambda heap: _hexadecimal([s.end for s in heap.graph.segments])),
        Column("reserved_end", TEXT, "address after its reserved memory",
            lambda heap: _hexadecimal([s.reserved_end for s in heap.graph.segments]),
            absent=None),
        Column("used_bytes", INT64, "size from start to end",
            lambda heap: [s.end - s.start for s in heap.graph.segments]),
        _SEGMENT_SUMS["object_count"],
        _SEGMENT_SUMS["shallow_bytes"],
        _SEGMENT_SUMS["reachable_bytes"],
    ),
)

GENERATIONS = Table(
    "generations",
    "generations that have objects",
    lambda heap: len(heap.regions.generation_numbers),
    (
        Column("generation", INT32, "row number, from 0", row_number,
            is_property=False),
        Column("number", INT64, "0, 1 or 2; 3 for large objects, 4 for pinned ones",
            lambda heap: heap.regions.generation_numbers),
        Column("name", TEXT, "such as `gen 2` or `large objects`",
            lambda heap: heap.regions.generation_names),
        *_sums(lambda heap: heap.regions.generations).values(),
    ),
)


def _collection(attribute: str) -> Source:
    """Source of an attribute of `GarbageCollection`."""
    return lambda heap: [getattr(one, attribute) for one in heap.graph.collections]


COLLECTIONS = Table(
    "collections",
    "garbage collections of the trace that contains the dump",
    lambda heap: len(heap.graph.collections),
    (
        Column("collection", INT32, "row number, from 0", row_number,
            is_property=False),
        Column("next", INT32, "row of the next collection; null for the last",
            lambda heap: heap.regions.next_collections, absent=None, is_property=False),
        Column("number", INT64, "the runtime's own number", _collection("number")),
        Column("name", TEXT, "the number as a name, for captions",
            lambda heap: [f"GC {one.number}" for one in heap.graph.collections]),
        Column("generation", INT32, "oldest generation that was collected",
            _collection("generation"), absent=None),
        Column("reason", TEXT, "what triggered it; empty if not recorded",
            _collection("reason")),
        Column("mode", TEXT, "`blocking`, `background` or `foreground`",
            _collection("mode")),
        Column("started_us", INT64, "from the start of the trace",
            _collection("started_us")),
        Column("duration_us", INT64, "how long it took", _collection("duration_us"),
            absent=None),
        Column("heap_bytes", INT64, "size of the heap after it",
            _collection("heap_bytes"), absent=None),
        Column("promoted_bytes", INT64,
            "size of what survived in the collected generations",
            _collection("promoted_bytes"), absent=None),
        Column("moved_bytes", INT64, "size of the survivors that it moved",
            _collection("moved_bytes"), absent=None),
        Column("unmoved_bytes", INT64, "size of the survivors that it left in place",
            _collection("unmoved_bytes"), absent=None),
        Column("is_dump", FLAG, "whether the dump was taken during this collection",
            _collection("is_dump")),
        Column("records_survivors", FLAG,
            "whether the trace records all its survivors; absent after the dump",
            lambda heap: heap.regions.survivors_recorded, absent=None),
    ),
)

ALLOCATION_SITES = Table(
    "allocation_sites",
    "call stacks that allocated objects of the dump",
    lambda heap: heap.origins.site_count,
    (
        Column("site", INT32, "row number, from 0", row_number, is_property=False),
        Column("name", TEXT, "the innermost function, for captions",
            lambda heap: heap.origins.site_names),
        Column("stack", TEXT, "the 32 innermost functions, separated by ` < `",
            lambda heap: heap.origins.site_stacks),
        *_sums(lambda heap: heap.origins.sites).values(),
    ),
)
