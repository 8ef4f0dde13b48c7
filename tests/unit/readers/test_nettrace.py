"""The reader of event traces against traces that say what they hold."""

from __future__ import annotations

import struct
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import EPHEMERON, SegmentKind
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers.dotnet.event_stream import Event, EventKind, EventStream
from ingest.readers.dotnet.gc_events import (
    Gc,
    GenerationRange,
    HeapStats,
    Payloads,
    Start,
    wanted,
)
from ingest.readers.nettrace import sniff
from ingest.readers.nettrace.reader import read
from ingest.readers.shared.binary import Feed
from tests.deep import cuts
from tests.dumps.dartheap import uleb
from tests.dumps.nettrace import (
    EVENTS,
    LABELS,
    METADATA,
    POINT,
    RUNTIME,
    STACKS,
    THREADS,
    TRACE,
    NetTrace,
    program,
)
from tests.unit.readers.shared import (
    Pieces,
    alive,
    by_id,
    roots,
    same,
    targets,
    warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph

    Reading = Callable[..., HeapGraph]


def small(**options: object) -> NetTrace:
    """Collection 2 with two objects, of which a root holds the first."""
    trace = NetTrace(**options)  # type: ignore[arg-type]
    trace.types({0x7000: "App.Thing"})
    dump(trace, 2)
    return trace


def dump(trace: NetTrace, number: int, **options: int) -> None:
    """Add a collection with a heap dump, whose first object is at 0x100 times it."""
    first = 0x100 * number
    trace.start(number, **options)
    trace.roots([(first, 0, 0)])
    trace.nodes([(first, 16, 0x7000, 1), (first + 0x10, 16, 0x7000, 0)])
    trace.edges([first + 0x10])
    trace.end(number)


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("pointer", [4, 8])
@pytest.mark.parametrize("compressed", [True, False])
def test_everything_that_a_trace_tells(
    reading: Reading, version: int, pointer: int, compressed: bool
) -> None:
    trace = program(version=version, pointer=pointer, compressed=compressed)

    graph = reading(trace.file())

    row = by_id(graph)
    assert graph.format_name == "nettrace"
    assert graph.producer == "EventPipe"
    assert graph.domains[0].name == "process 4711"
    assert list(row) == [0x10010, 0x12000, 0x1F000, 0x40000, 0x13000, 0x7FFF0000]
    assert (graph.object_count, graph.missing_count) == (5, 1)
    assert [graph.type_name(i) for i in range(6)] == [
        "App.Cache`1[System.String]",
        "App.Entry[]",
        "System.String",
        "<type 0x7005>",
        "System.String",
        "<missing>",
    ]
    assert len(graph.type_names) == 4
    assert graph.shallow_bytes.tolist() == [32, 48, 24, 9000, 24, 0]
    assert targets(graph, row[0x10010]) == [0x12000, 0x1F000, 0x13000]
    assert targets(graph, row[0x12000]) == [0x10010, 0x7FFF0000]
    assert graph.null_reference_count == 1
    assert roots(graph) == [
        (0x12000, "local", ""),
        (0x40000, "local interior", ""),
        (0x1F000, "finalizer_queue", ""),
        (0x1F000, "handle pinned", ""),
        (0x12000, "handle weak", ""),
        (0x1F000, "handle", ""),
        (0x1F000, "other", ""),
        (0x10010, "static", ".instance"),
        (0x1F000, "thread_static", ".current"),
        (0x12000, "other", ""),
        (0x1F000, "other weak", ""),
    ]
    assert alive(graph) == set(row)
    assert warnings(graph) == {"missing_object": 1, "dependent_handle_without_key": 1}


def test_what_a_dependent_handle_keeps_is_a_reference_of_its_key(
    reading: Reading,
) -> None:
    trace = program()

    graph = reading(trace.file())

    assert graph.ref_field is not None
    names = [graph.field_names[f] if f >= 0 else "" for f in graph.ref_field.tolist()]
    assert names == ["", "", EPHEMERON, "", ""]
    without = small()
    assert reading(without.file()).ref_field is None


def test_segments_and_generations_are_those_behind_the_objects(
    reading: Reading,
) -> None:
    graph = reading(program().file())

    assert [(s.start, s.end, s.reserved_end, s.kind) for s in graph.segments] == [
        (0x10000, 0x13000, 0x20000, SegmentKind.GEN2),
        (0x18000, 0x20000, 0x20000, SegmentKind.EPHEMERAL),
        (0x40000, 0x50000, 0x60000, SegmentKind.LOH),
        (0x60000, 0x70000, 0x70000, SegmentKind.POH),
    ]
    assert graph.segment_index is not None
    assert graph.segment_index.tolist() == [0, 0, 1, 2, -1, -1]
    assert graph.generation is not None
    assert graph.generation.tolist() == [2, 2, 0, 3, -1, -1]
    assert reading(small().file()).segments == ()


def test_a_background_collection_goes_on_around_the_dump(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(1, mode=1, reason=0)
    dump(trace, 2)
    trace.end(1)

    graph = reading(trace.file(), strict=True)

    assert list(by_id(graph)) == [0x200, 0x210]


@pytest.mark.parametrize(
    ("first", "chosen"),
    [
        ({}, 3),
        ({"reason": 0}, 4),
        ({"mode": 1}, 4),
        ({"generation": 1}, 4),
    ],
)
def test_the_first_dump_that_was_asked_for_is_taken(
    reading: Reading, first: dict[str, int], chosen: int
) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.end(2)
    dump(trace, 3, **first)
    dump(trace, 4)
    dump(trace, 5)
    data = trace.file()

    graph = reading(data)

    assert list(by_id(graph)) == [0x100 * chosen, 0x100 * chosen + 0x10]
    assert warnings(graph) == {"other_heap_dump": 2}
    for number in (3, 4, 5):
        graph = reading(data, part=number, strict=True)
        assert list(by_id(graph)) == [0x100 * number, 0x100 * number + 0x10]
        assert roots(graph) == [(0x100 * number, "local", "")]


def test_the_timeline_has_all_collections_of_the_process(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(6, generation=0, reason=0)
    trace.moved([(0x10, 0x50, 30), (0x90, 0x90, 4)])
    trace.moved([(0x200, 0x300, 5)], index=1)
    trace.survived([(0x400, 7)])
    trace.ticks += 10**8
    trace.end(6)
    trace.heap_stats()
    trace.ticks += 10**8
    trace.start(7, generation=1, reason=99, mode=1)
    dump(trace, 8)
    trace.start(9, generation=2, reason=2, mode=2)
    trace.survived([(0x0, 2**64 - 1), (0x0, 1)])

    first, second, third, last = reading(trace.file()).collections

    assert (first.number, first.generation, first.mode) == (6, 0, "blocking")
    assert first.reason == "small objects allocated"
    assert first.duration_us is not None
    assert second.started_us > first.started_us + first.duration_us > 0
    assert (first.moved_bytes, first.unmoved_bytes) == (35, 11)
    assert first.heap_bytes == 1 + 3 + 5 + 7
    assert first.promoted_bytes == 2 + 4 + 6 + 8
    assert (second.reason, second.mode) == ("other (99)", "background")
    assert (second.duration_us, second.heap_bytes) == (None, None)
    assert [c.is_dump for c in (first, second, third, last)] == [0, 0, 1, 0]
    assert (last.reason, last.mode) == ("low memory", "foreground")
    assert last.unmoved_bytes is None or last.unmoved_bytes < 2**63


def test_a_generation_that_no_runtime_has_is_not_known(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(7, generation=2**32 - 1)
    trace.survived([(0x10, 8)])
    trace.end(7)
    dump(trace, 8)

    first = reading(trace.file()).collections[0]
    assert (first.number, first.generation) == (7, None)


def test_a_dump_that_nobody_asked_for_is_better_than_none(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    dump(trace, 2, reason=4)
    dump(trace, 3, reason=4)

    assert list(by_id(reading(trace.file()))) == [0x200, 0x210]


def test_a_collection_without_a_dump_is_refused_with_those_that_have_one(
    reading: Reading,
) -> None:
    trace = small()
    trace.start(3)
    trace.end(3)
    dump(trace, 7)

    with pytest.raises(
        DumpError, match=r"3 has no heap dump; --part .*2 \(2 objects\), 7"
    ):
        reading(trace.file(), part=3)
    with pytest.raises(DumpError, match=r"collection 4 is not in the trace"):
        reading(trace.file(), part=4)


def test_a_trace_without_a_dump_says_what_it_has(reading: Reading) -> None:
    trace = NetTrace()
    with pytest.raises(
        DumpError, match=r"no heap dump \(it has no collection\); record one"
    ):
        reading(trace.file())
    for number in range(3, 8):
        trace.start(number)
        trace.end(number)
    with pytest.raises(DumpError, match="it has 5 collections, 3 to 7"):
        reading(trace.file())


def test_threads_write_side_by_side(reading: Reading) -> None:
    """The file has the dump's events before the collection's begin and end."""
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    base = trace.ticks
    row = trace.p(0x100) + struct.pack("<QQQ", 16, 0x7000, 0)
    head = struct.pack("<IIH", 0, 1, 9)
    trace.event(18, head + row, thread=2, ticks=base + 500)
    trace.event(1, struct.pack("<4IHQ", 2, 2, 1, 0, 9, 0), ticks=base + 400)
    trace.event(2, struct.pack("<IIH", 2, 2, 9), ticks=base + 600)
    trace.ticks += 1000
    trace.point()

    graph = reading(trace.file(), strict=True)

    assert list(by_id(graph)) == [0x100]


def test_each_process_of_a_trace_has_its_own_heap(reading: Reading) -> None:
    trace = NetTrace(version=6)
    trace.threads({1: 10, 2: 20})
    trace.types({0x7000: "One"})
    trace.types({0x7000: "Two"}, thread=2)
    trace.start(2, thread=2)
    trace.start(2)
    trace.nodes([(0x200, 16, 0x7000, 0)], thread=2)
    trace.nodes([(0x100, 24, 0x7000, 0)])
    trace.end(2)
    trace.end(2, thread=2)

    graph = reading(trace.file())

    assert list(by_id(graph)) == [0x200]
    assert graph.domains[0].name == "process 20"
    assert graph.type_name(0) == "Two"
    assert warnings(graph) == {"other_heap_dump": 1}


@pytest.mark.parametrize("version", [4, 6])
def test_what_is_between_the_blocks_is_passed_over(
    reading: Reading, version: int
) -> None:
    trace = NetTrace(version=version)
    trace.block(STACKS, b"what stacks")
    trace.block(LABELS if version == 6 else 77, b"what labels")
    trace.types({0x7000: "App.Thing"})
    trace.flush()
    trace.block(99 if version == 6 else 77, b"of a later version")
    dump(trace, 2)
    trace.event(200, b"", provider="Another", thread=2**40)
    trace.event(18, b"", provider="Another")
    trace.event(240, b"\1" * 99)

    assert reading(trace.file(), strict=True).object_count == 2


def test_a_sequence_point_may_make_kinds_and_threads_unknown(reading: Reading) -> None:
    trace = NetTrace(version=6)
    trace.threads({1: 10})
    trace.event(18, b"", provider="Another")
    trace.point(flags=3)
    trace.kinds.clear()
    trace.sequences.clear()
    trace.types({0x7000: "App.Thing"})
    dump(trace, 2)
    trace.removed({1: trace.sequences[1]})

    graph = reading(trace.file(), strict=True)

    assert graph.domains[0].name == "process 4711"


def test_numbers_of_threads_begin_anew(reading: Reading) -> None:
    trace = NetTrace()
    trace.sequences[1] = 2**32 - 3
    trace.types({0x7000: "App.Thing"})
    trace.event(4, b"", provider="Another")
    trace.flush()
    trace.sequences[1] = -1
    dump(trace, 2)

    assert reading(trace.file(), strict=True).object_count == 2


@pytest.mark.parametrize("where", ["roots", "nodes", "edges", "dependent", "first"])
def test_a_chunk_that_is_missing_is_told(reading: Reading, where: str) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.roots([(0x100, 0, 0)], index=int(where == "first"))
    trace.roots([(0x100, 0, 0)], index=1 + (where == "roots"))
    trace.dependent([(0x100, 0x100)], index=int(where == "dependent"))
    trace.nodes([(0x100, 16, 0x7000, 1)], index=int(where == "nodes"))
    trace.edges([0x100], index=int(where == "edges"))
    trace.end(2)

    with pytest.raises(MalformedDump, match=r"byte \d+: events were lost: .* larger"):
        reading(trace.file())


@pytest.mark.parametrize("edges", [0, 1, 3, 2**40])
def test_references_that_do_not_fit_are_told(reading: Reading, edges: int) -> None:
    trace = NetTrace()
    trace.start(2)
    trace.nodes([(0x100, 16, 0x7000, edges), (0x200, 16, 0x7000, 0)])
    trace.edges([0x100, 0x200])
    trace.end(2)

    with pytest.raises(MalformedDump, match="events were lost: references"):
        reading(trace.file())


@pytest.mark.parametrize("version", [4, 6])
def test_events_that_were_dropped_in_the_dump_are_told(
    reading: Reading, version: int
) -> None:
    trace = NetTrace(version=version)
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.nodes([(0x100, 16, 0x7000, 0)])
    trace.lose(5)
    trace.end(2)

    with pytest.raises(DumpError, match=r"byte \d+: 5 events were lost during the hea"):
        reading(trace.file())


def test_a_collection_may_tell_of_no_objects(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.roots([(0x90, 0, 4)])
    trace.nodes([])
    trace.end(2)
    with pytest.raises(DumpError, match="no heap dump"):
        reading(trace.file())
    dump(trace, 3)

    assert list(by_id(reading(trace.file(), strict=True))) == [0x300, 0x310]


@pytest.mark.parametrize("number", [0, 1, 77, 2**32 - 1])
def test_the_first_event_of_a_thread_may_have_any_number(
    reading: Reading, number: int
) -> None:
    trace = NetTrace()
    trace.sequences[1] = number - 1
    trace.types({0x7000: "App.Thing"})
    dump(trace, 2)

    assert reading(trace.file(), strict=True).object_count == 2


def test_events_that_were_dropped_elsewhere_are_counted(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.event(4, b"", provider="Another", thread=2)
    trace.lose(3)
    trace.lose(2, thread=2)
    dump(trace, 2)
    trace.event(4, b"", provider="Another", thread=2)
    trace.lose(7)
    trace.point()

    graph = reading(trace.file())

    assert warnings(graph) == {"lost_event": 12}
    with pytest.raises(MalformedDump, match="lost event"):
        reading(trace.file(), strict=True)


def test_types_that_were_dropped_are_told(reading: Reading) -> None:
    trace = NetTrace()
    trace.event(4, b"", provider="Another")
    trace.lose()
    dump(trace, 2)

    with pytest.raises(MalformedDump, match="events were lost: types of objects"):
        reading(trace.file())


def test_a_runtime_may_never_tell_its_types(reading: Reading) -> None:
    trace = NetTrace()
    dump(trace, 2)

    graph = reading(trace.file())

    assert graph.type_names == ("<type 0x7000>",)
    assert warnings(graph) == {"undeclared_type": 2}


def test_a_thread_that_ends_tells_what_it_had_to_drop(reading: Reading) -> None:
    trace = small(version=6)
    trace.event(4, b"", provider="Another", thread=2)
    trace.removed({2: 4, 9: 9})

    assert warnings(reading(trace.file())) == {"lost_event": 3}


def test_two_objects_at_one_address_are_one(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.nodes(
        [(0x100, 16, 0x7000, 1), (0x100, 99, 0x7000, 2), (0x200, 16, 0x7000, 1)]
    )
    trace.edges([0x200, 0x100, 0x100, 0x300])
    trace.end(2)

    graph = reading(trace.file())

    assert graph.shallow_bytes.tolist() == [16, 16, 0]
    assert [targets(graph, row) for row in (0, 1)] == [[0x200], [0x300]]
    assert warnings(graph) == {"repeated_object": 1, "missing_object": 1}


def test_events_outside_of_any_collection_are_counted(reading: Reading) -> None:
    trace = NetTrace()
    trace.nodes([(0x900, 16, 0x7000, 0)])
    trace.types({0x7000: "App.Thing"})
    dump(trace, 2)
    trace.end(77)

    graph = reading(trace.file())

    assert graph.object_count == 2
    assert warnings(graph) == {"event_outside_collection": 1}


@pytest.mark.parametrize("width", [44, 48])
def test_wrappers_have_two_lengths(reading: Reading, width: int) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.wrappers([(0x100, 1), (0x100, 3), (0, 1)], width)
    trace.nodes([(0x100, 16, 0x7000, 0)])
    trace.end(2)

    assert roots(reading(trace.file(), strict=True)) == 2 * [(0x100, "other", "")]


def event(number: int, payload: bytes) -> Event:
    return Event(EventKind(RUNTIME, number), 0, 1, 1, payload, 0)


def test_beginnings_of_collections_of_all_runtimes() -> None:
    payloads = Payloads(8, "test")

    def start(layout: str, *values: int) -> Start:
        return payloads.start(event(1, struct.pack(layout, *values)))

    assert start("<II", 3, 1) == Start(3, -1, 1, -1)
    assert start("<4I", 3, 2, 1, 0) == Start(3, 2, 1, 0)
    assert start("<4IH", 3, 2, 1, 0, 9) == Start(3, 2, 1, 0)
    assert start("<4IHQ", 3, 2, 1, 0, 9, 7) == Start(3, 2, 1, 0)
    assert payloads.end(event(2, struct.pack("<IH", 3, 2))) == 3


@pytest.mark.parametrize("pointer", [4, 8])
def test_the_events_of_a_timeline(pointer: int) -> None:
    trace = program(pointer=pointer)
    stream = EventStream(Feed([trace.file()], "test"), wanted)
    payloads = Payloads(stream.header.pointer_bytes, "test")
    found = [(Gc(event.kind.number), event) for event in stream.events()]

    def first(kind: Gc) -> Event:
        return next(event for known, event in found if known is kind)

    assert stream.header.ticks_per_second == 10**9
    assert [event.ticks for _, event in found] == sorted(e.ticks for _, e in found)
    assert payloads.generation_range(first(Gc.GENERATION)) == GenerationRange(
        0, 0x10000, 0x8000, 0x10000
    )
    assert payloads.rows(first(Gc.MOVED)).rows.tolist() == [(0x10000, 0x11000, 0x40)]
    assert payloads.rows(first(Gc.SURVIVING)).rows.tolist() == [(0x40000, 0x1000)]
    stats = [payloads.heap_stats(e) for kind, e in found if kind is Gc.HEAP_STATS]
    assert stats == [
        HeapStats((1, 3, 5, 7), (2, 4, 6, 8)),
        HeapStats((1, 3, 5, 7, 14), (2, 4, 6, 8, 15)),
    ]


@pytest.mark.parametrize(
    "number",
    [
        Gc.START, Gc.TYPES, Gc.ROOTS, Gc.DEPENDENT_HANDLES, Gc.NODES, Gc.EDGES,
        Gc.GENERATION, Gc.COM_CALLABLE, Gc.STATICS,
    ],
)  # fmt: skip
def test_payloads_that_are_too_short_are_refused(reading: Reading, number: int) -> None:
    trace = NetTrace()
    trace.start(2)
    trace.nodes([(0x100, 16, 0x7000, 0)])
    trace.event(number, b"\1\0\0\0\1\0" + b"\1\0\0\0" * (number != Gc.START))

    with pytest.raises(MalformedDump, match=r"byte \d+: the payload of a "):
        reading(trace.file())


@pytest.mark.parametrize("number", [Gc.SURVIVING, Gc.MOVED, Gc.HEAP_STATS])
def test_payloads_of_a_timeline_that_are_too_short_are_refused(number: int) -> None:
    payloads = Payloads(8, "test")
    told = event(number, b"\0\0\0\0\1\0\0\0\x09\0")
    with pytest.raises(MalformedDump, match="byte 0: the payload of a"):
        (payloads.heap_stats if number == Gc.HEAP_STATS else payloads.rows)(told)


@pytest.mark.parametrize("version", [4, 6])
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused(
    reading: Reading, version: int
) -> None:
    data = small(version=version).file()
    read_at_all = 0
    for end in cuts(8, len(data), every=29):
        with pytest.raises(DumpError):
            reading(data[:end], strict=True)
        try:
            graph = reading(data[:end])
        except TruncatedDump:
            assert end < 130  # the stream has not told yet what it is
        except DumpError as error:
            if "no heap dump" not in str(error) or read_at_all:
                raise
        else:
            read_at_all += 1
            assert "truncated_stream" in warnings(graph)
            assert graph.object_count == 2
            analyse(graph)
    assert read_at_all > 5


def test_a_dump_whose_end_is_cut_off_has_what_is_there(reading: Reading) -> None:
    trace = NetTrace(ended=False)
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.roots([(0x100, 0, 0)])
    trace.nodes([(0x100, 16, 0x7000, 2), (0x200, 16, 0x7000, 2)])
    trace.edges([0x200, 0x100, 0x300])

    graph = reading(trace.file())

    assert [targets(graph, row) for row in (0, 1)] == [[0x200, 0x100], [0x300]]
    assert warnings(graph) == {
        "truncated_heap_dump": 1,
        "truncated_stream": 1,
        "truncated_references": 1,
        "missing_object": 1,
    }
    with pytest.raises(TruncatedDump, match=r"byte \d+"):
        reading(trace.file(), strict=True)


def test_references_whose_objects_are_cut_off_are_left_out(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({0x7000: "App.Thing"})
    trace.start(2)
    trace.nodes([(0x100, 16, 0x7000, 1)])
    trace.edges([0x100, 0x300])

    graph = reading(trace.file())

    assert targets(graph, 0) == [0x100]
    assert warnings(graph) == {"truncated_heap_dump": 1}


def test_trailing_bytes_are_counted(reading: Reading) -> None:
    assert warnings(reading(small().file() + b"more")) == {"trailing_bytes": 4}


@pytest.mark.parametrize("size", [1, 3, 64, 4096])
@pytest.mark.parametrize("version", [4, 6])
def test_the_pieces_of_a_file_do_not_matter(
    reading: Reading, size: int, version: int
) -> None:
    data = program(version=version).file()

    graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]

    assert same(graph, reading(data))


def hostile(version: int, kind: int, data: bytes) -> bytes:
    trace = NetTrace(version=version)
    trace.types({0x7000: "App.Thing"})
    trace.flush()
    trace.block(kind, data)
    dump(trace, 2)
    return trace.file()


HUGE = 2**31 - 1
GOOD_4, GOOD_6 = program().file(), program(version=6).file()
BLOCK_HEAD = struct.pack("<hhqq", 20, 1, 0, 0)
FIRST_4 = GOOD_4.index(b"MetadataBlock")
CLAIMS = {
    "container": GOOD_4[:12] + b"!FastSerialization.2" + GOOD_4[32:],
    "container's length": GOOD_4[:8] + b"\x15" + GOOD_4[9:],
    "no trace": GOOD_4.replace(b"Trace\6", b"Track\6", 1),
    "name": GOOD_4[:FIRST_4 - 4] + struct.pack("<i", HUGE) + GOOD_4[FIRST_4:],
    "less name": GOOD_4[:FIRST_4 - 4] + struct.pack("<i", -1) + GOOD_4[FIRST_4:],
    "no block": GOOD_4[:FIRST_4 - 15] + b"\7" + GOOD_4[FIRST_4 - 14 :],
    "size": GOOD_4[: FIRST_4 + 14] + struct.pack("<i", -1) + GOOD_4[FIRST_4 + 18 :],
    "no end": GOOD_4[: FIRST_4 + 13] + b"\7" + GOOD_4[FIRST_4 + 14 :],
    "pointers": program(pointer=8).file().replace(
        struct.pack("<qi", 10**9, 8), struct.pack("<qi", 10**9, 3), 1
    ),
    "version 3": GOOD_4.replace(b"\5\5\1\4\0\0\0\4", b"\5\5\1\3\0\0\0\3", 1),
    "version 7": GOOD_4.replace(b"\5\5\1\4\0\0\0\4", b"\5\5\1\7\0\0\0\7", 1),
    "version 3 of a block": GOOD_4.replace(
        struct.pack("<iii", 2, 2, 10), struct.pack("<iii", 3, 3, 10), 1
    ),
    "two traces": hostile(4, TRACE, bytes(48)),
    "version 7 of 6": GOOD_6[:12] + b"\7" + GOOD_6[13:],
    "no trace of 6": GOOD_6[:23] + b"\2" + GOOD_6[24:],
    "short trace of 6": GOOD_6[:20] + b"\x14\0\0\1" + GOOD_6[24:],
    "properties of 6": GOOD_6.replace(
        struct.pack("<ii", 8, 2), struct.pack("<ii", 8, HUGE), 1
    ),
    "no events": hostile(4, EVENTS, b"\x14\0"),
    "header": hostile(4, EVENTS, b"\0\0\1\0" + bytes(40)),
    "header behind the block": hostile(6, EVENTS, b"\xff\x7f\1\0" + bytes(15)),
    "event is cut": hostile(4, EVENTS, BLOCK_HEAD + b"\x81"),
    "payload": hostile(4, EVENTS, BLOCK_HEAD + b"\x81\1\0" + uleb(2**63)),
    "long number": hostile(6, EVENTS, BLOCK_HEAD + b"\1" + b"\xff" * 30),
    "whole event": hostile(4, EVENTS, BLOCK_HEAD[:2] + b"\0\0" + bytes(16 + 90)),
    "whole payload": hostile(
        6, EVENTS,
        BLOCK_HEAD[:2] + b"\0\0" + bytes(16) + struct.pack("<I", HUGE) + b"\xff" * 60,
    ),
    "kind": hostile(4, METADATA, BLOCK_HEAD + b"\x80\0\4\1\0\0\0"),
    "kind without end": hostile(4, METADATA, BLOCK_HEAD + b"\x80\0\x08\1\0\0\0abc\0"),
    "kind of 6": hostile(6, METADATA, b"\0\0\xff\xff\1" + uleb(2**40) + b"abc"),
    "kinds of 6": hostile(6, METADATA, b"\xff\xff"),
    "threads": hostile(6, THREADS, b"\xff\xff\1\1" + uleb(2**60)),
    "threads at a point": hostile(4, POINT, struct.pack("<Qi", 1, HUGE)),
    "threads at a point of 6": hostile(6, POINT, struct.pack("<QII", 1, 0, HUGE)),
}  # fmt: skip


@pytest.mark.parametrize("what", CLAIMS)
def test_what_a_file_claims_costs_nothing(reading: Reading, what: str) -> None:
    reading(GOOD_4)
    reading(small(compressed=False).file())
    tracemalloc.start()
    try:
        with pytest.raises(DumpError, match=r"byte \d+"):
            reading(CLAIMS[what], strict=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 << 20


@pytest.mark.parametrize(
    ("number", "payload"),
    [
        (Gc.TYPES, struct.pack("<IH", HUGE, 9)),
        (Gc.TYPES, struct.pack("<IHQQIIBHI", 1, 9, 1, 1, 1, 1, 1, 0, HUGE)),
        (Gc.STATICS, struct.pack("<IQH", HUGE, 9, 9)),
        (Gc.NODES, struct.pack("<IIH", 0, 2**32 - 1, 9)),
        (Gc.EDGES, struct.pack("<IIH", 0, HUGE, 9)),
        (Gc.COM_CALLABLE, struct.pack("<IH", HUGE, 9)),
    ],
)
def test_what_an_event_claims_costs_nothing(
    reading: Reading, number: int, payload: bytes
) -> None:
    trace = small()
    trace.start(3)
    trace.nodes([(0x100, 16, 0x7000, 0)])
    trace.event(number, payload)
    data = trace.file()
    tracemalloc.start()
    try:
        with pytest.raises(MalformedDump, match=r"byte \d+: the payload of a"):
            reading(data, part=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 << 20


def test_sizes_larger_than_any_memory_are_refused(reading: Reading) -> None:
    trace = NetTrace()
    trace.start(2)
    trace.nodes([(0x100, 2**62, 0x7000, 0)])
    trace.end(2)

    with pytest.raises(MalformedDump, match=r"byte \d+: an object is larger"):
        reading(trace.file())


@given(st.sampled_from([GOOD_4, GOOD_6]), st.data())
def test_damage_is_refused_or_read_never_worse(
    good: bytes, data: st.DataObject
) -> None:
    broken = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(broken) - 1))
        broken[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        graph = read(Pieces(bytes(broken), 99), ReadOptions(), silent)  # type: ignore[arg-type]
    except DumpError as error:
        if error.offset is None and "no heap dump" not in str(error):
            raise
        return
    analyse(graph)
    assert len(np.unique(graph.object_id)) == len(graph.object_id)


def test_it_is_known_by_its_first_bytes() -> None:
    assert sniff(GOOD_4)
    assert sniff(GOOD_6)
    assert not sniff(b"Nettraces"[1:])
