"""What CLR Profiler logs tell of collections and allocations before a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.heap.graph import GarbageCollection
from ingest.heap.history import UNKNOWN
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers.clrprofiler.history import MOST_FRAMES
from ingest.readers.clrprofiler.reader import read
from tests.dumps.clrprofiler import Log, program
from tests.unit.readers.shared import Pieces, warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph
    from ingest.heap.history import Allocations, Bounds, Survival

    Reading = Callable[..., HeapGraph]


def survivals(graph: HeapGraph) -> list[Survival]:
    assert graph.history is not None
    return list(graph.history.collections)


def allocations(graph: HeapGraph) -> Allocations:
    assert graph.history is not None
    assert graph.history.allocations is not None
    return graph.history.allocations


def ranges(survival: Survival) -> list[tuple[int, int, int]]:
    columns = (survival.old_start, survival.new_start, survival.length)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def bounds(told: Bounds | None) -> list[tuple[int, int, int]]:
    assert told is not None
    columns = (told.start, told.end, told.generation)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def dumped(log: Log) -> Log:
    return log.root(0x10).object(0x10, 1, 16)


def test_the_timeline(reading: Reading) -> None:
    assert reading(program().bytes()).collections == (
        GarbageCollection(
            1, 0, "", "", 10_000, 2000,
            heap_bytes=0x150, moved_bytes=0x50, unmoved_bytes=0,
        ),
        GarbageCollection(
            2, 2, "induced", "", 20_000, 10_000,
            heap_bytes=0xC0, moved_bytes=0x68, unmoved_bytes=0x40, is_dump=True,
        ),
    )  # fmt: skip


def test_numbers_that_no_runtime_has_are_not_known(reading: Reading) -> None:
    log = Log().clock(2**62).begin(2**40).survived(0x300, 8).end(2**40)
    graph = reading(dumped(log).bytes())

    first = graph.collections[0]
    assert first.generation is None
    assert 0 <= first.started_us < 2**63


def test_what_outlived_collections(reading: Reading) -> None:
    one, two = survivals(reading(program().bytes()))

    assert (one.number, one.generation, one.has_ranges) == (1, 0, True)
    assert ranges(one) == [(0x1000, 0x1800, 0x50)]
    assert bounds(one.before) == [(0x1000, 0x1100, 0), (0x9000, 0x9100, 3)]
    assert bounds(one.after) == [(0x1800, 0x1850, 1), (0x9000, 0x9100, 3)]
    assert (two.number, two.generation) == (2, 2)
    assert ranges(two) == [
        (0x1800, 0x2000, 0x50), (0x1900, 0x2050, 0x18), (0x9000, 0x9000, 0x40),
    ]  # fmt: skip


def test_allocations_have_their_heap_time_and_functions(reading: Reading) -> None:
    told = allocations(reading(program().bytes()))

    assert told.heap.tolist() == [0, 0, 0, 1]
    assert told.address.tolist() == [0x1000, 0x1020, 0x1050, 0x1900]
    assert told.allocated_ms is not None
    assert told.allocated_ms.tolist() == [5, 7, 7, 15]
    assert told.sites == (
        ("App.Cache::.ctor void ()", "App.Program::Main static void (String[])"),
        ("App.Program::Main static void (String[])",),
    )
    assert told.site.tolist() == [0, 1, 1, 0]


def test_a_collection_within_another(reading: Reading) -> None:
    """One in the background tells what survived when the inner one is over."""
    log = Log().type(1, "T").clock(1).begin(2).allocation(0x1, 9)
    log.clock(2).begin(0).moved(0x100, 0x200, 8).clock(3).end(0).allocation(0x2, 9)
    log.survived(0x200, 8).clock(5).end(2).allocation(0x3, 9)
    log.begin(1).survived(0x300, 8).end(1)
    log.begin(2).end(2).begin(2, induced=1)
    dumped(log).end(2).begin(0).survived(0x1, 1).end(0)

    graph = reading(log.bytes())

    assert [
        (c.number, c.generation, c.started_us, c.is_dump) for c in graph.collections
    ] == [
        (1, 2, 1000, False), (2, 0, 2000, False), (3, 1, 5000, False),
        (4, 2, 5000, False), (5, 2, 5000, True), (6, 0, 5000, False),
    ]  # fmt: skip
    assert [c.duration_us for c in graph.collections[:2]] == [4000, 1000]
    told = survivals(graph)
    assert [(s.number, s.has_ranges) for s in told] == [
        (2, True), (1, True), (3, True), (4, False), (5, False),
    ]  # fmt: skip
    assert ranges(told[1]) == [(0x200, 0x200, 8)]
    assert told[3].before is None
    assert allocations(graph).heap.tolist() == [0, 1, 2]


def test_one_that_goes_on_beside_the_dump_is_not_over(reading: Reading) -> None:
    log = Log().type(1, "T").begin(2).begin(1, induced=1).survived(0x10, 16)
    dumped(log).end(1).survived(0x10, 16).end(2)

    graph = reading(log.bytes())

    assert [c.is_dump for c in graph.collections] == [False, True]
    assert [s.number for s in survivals(graph)] == [2]
    assert not graph.irregularities


def test_logs_of_old_only_count(reading: Reading) -> None:
    log = Log().type(1, "T").line("s 9 1").function(1, "A::B").clock(3)
    log.allocation(0x100, 9, None).counts(1).allocation(0x200, 9, None)
    log.moved(0x200, 0x300, 8).clock(4).counts(2, 1, 0).counts(2, 1, 1)
    log.moved(0x300, 0x10, 8)
    dumped(log).clock(6).counts(3, 2, 2)

    graph = reading(log.bytes())

    assert [(c.number, c.generation, c.started_us, c.duration_us, c.is_dump)
            for c in graph.collections] == [
        (1, 0, 3000, None, False), (2, 1, 4000, None, False),
        (3, 2, 4000, None, False), (4, 2, 6000, None, True),
    ]  # fmt: skip
    told = survivals(graph)
    assert [(s.number, s.has_ranges) for s in told] == [
        (1, False), (2, True), (3, False), (4, True),
    ]  # fmt: skip
    assert ranges(told[3]) == [(0x300, 0x10, 8)]
    assert told[3].before is None
    assert allocations(graph).heap.tolist() == [0, 1]
    assert allocations(graph).sites == (("A::B void ()",),)
    assert graph.generation is None


def test_ranges_of_a_collection_that_nobody_counted(reading: Reading) -> None:
    log = dumped(Log().type(1, "T").clock(3).moved(0x20, 0x10, 16))

    graph = reading(log.bytes())

    assert [(s.number, s.generation) for s in survivals(graph)] == [(1, UNKNOWN)]
    assert graph.collections == (
        GarbageCollection(
            1, None, "", "", 3000, moved_bytes=16, unmoved_bytes=0, is_dump=True
        ),
    )


def test_counts_say_nothing_beside_bounds(reading: Reading) -> None:
    log = Log().type(1, "T").counts(4, 3, 2).survived(0x1, 5).begin()

    graph = reading(dumped(log).end().counts(5, 4, 3).bytes())

    assert len(graph.collections) == 1
    assert warnings(graph) == {"range_outside_collection": 1}


def test_ranges_do_not_overlap(reading: Reading) -> None:
    log = Log().type(1, "T").begin().moved(0x100, 0x500, 0x20).moved(0x80, 0x400, 0x80)
    log.survived(0x11F, 1).survived(0x120, 0x10).survived(0x90, 0x200)

    graph = reading(dumped(log).end().bytes())

    assert ranges(survivals(graph)[0]) == [
        (0x80, 0x400, 0x80), (0x100, 0x500, 0x20), (0x120, 0x120, 0x10),
    ]  # fmt: skip
    assert warnings(graph) == {"overlapping_range": 2}


def test_bounds_that_cannot_be_are_left_out(reading: Reading) -> None:
    told = [(0x10, 0x100, 0x100, 0), (0x20, 2**50, 1, 1), (2**63, 1, 1, 1)]
    log = Log().type(1, "T").begin(9, [*told, (0x200, 1, 1, 9)])

    graph = reading(dumped(log).end().bytes())

    (survival,) = survivals(graph)
    assert survival.generation == 2
    assert bounds(survival.before) == [(0x10, 0x110, 0)]
    assert survival.after is None


@pytest.mark.parametrize(
    ("lines", "frames"),
    [
        (["n 9 1 1 8 1 2 3"], "c b a"),
        (["n 9 0 1 2"], "b a"),
        (["n 8 0 1 2 3", "n 9 9 1 8 8 4"], "d b a"),
        (["n 8 1 1 8 1 2", "n 9 11 1 8 8 4"], "d b a"),
        (["n 7 0 1 2", "n 8 8 7 3 4", "n 9 12 8 3"], "c c b a"),
        (["n 7 0 1 2", "n 8 4 7", "n 9 400 8 4"], "d a"),
        (["n 8 0 1", "n 9 9 1 8 88 4"], "d"),
        (["n 9 9 1 8 9 4"], "d"),
        (["n 9 1 1 8"], ""),
        (["s 9 1 2 3"], "c b a"),
        (["s 9 -1"], ""),
        ([], ""),
        (["n 9 1 1 8 77"], "<function 77>"),
        (["n 9 1 1 8 0"], "NATIVE FUNCTION"),
        (["n 9 1 1 8 1", "n 9 1 1 8 2"], "a"),
    ],
)
def test_stacks_begin_like_others(
    reading: Reading, lines: list[str], frames: str
) -> None:
    log = Log().type(1, "T")
    for ident, name in enumerate("abcd", 1):
        log.line(f"f {ident} {name}")
    log.lines += lines

    graph = reading(dumped(log.allocation(0x10, 9)).bytes())

    assert " ".join(allocations(graph).sites[0]) == frames


def test_stacks_without_an_end(reading: Reading) -> None:
    """Each begins like the one before, and has a frame more: kept are the innermost."""
    log = Log().type(1, "T").line("n 1 0 1")
    for ident in range(2, 5000):
        log.line(f"n {ident} {4 * (ident - 1)} {ident - 1} {ident}")
        log.allocation(0x10, ident)

    told = allocations(reading(dumped(log).bytes()))

    assert {len(site) for site in told.sites} <= set(range(2, MOST_FRAMES + 1))
    assert told.sites[-1][:2] == ("<function 4999>", "<function 4998>")
    assert len(told.sites[-1]) == MOST_FRAMES


def test_allocations_behind_the_dump_are_left_out(reading: Reading) -> None:
    log = Log().type(1, "T").allocation(0x1, 1).begin()
    dumped(log).end().allocation(0x2, 1).begin()
    dumped(log).end().allocation(0x3, 1)

    for index in (0, 1):
        told = allocations(reading(log.bytes(), part=index))
        assert told.address.tolist() == [1, 2][: index + 1]
        assert told.heap.tolist() == [0, 1][: index + 1]


_EVENTS = st.sampled_from(
    ["b 1 0 0", "b 1 1 2", "b 0 0 0", "b 0 0 2 0x10 9 9 2", "g 1", "g 2 1 1", "i 7",
     "u 0x10 0x20 8", "v 0x10 16", "v 0x18 16", "a 0x10 5", "! 1 0x20 6", "n 5 1 1 8 1",
     "n 6 5 1 8 5 2", "e 0x10 0 0x0 0x0", "o 0x10 1 16", "r 0x10"]
)  # fmt: skip


@given(st.lists(_EVENTS, max_size=30), st.integers(0, 3))
def test_a_history_is_in_order(lines: list[str], index: int) -> None:
    log = Log()
    log.lines += [*lines, "o 0x10 1 16"]
    pieces = Pieces(log.bytes(), 40)
    options = ReadOptions(part=index if lines.count("o 0x10 1 16") > 9 else None)

    graph = read(pieces, options, silent)  # type: ignore[arg-type]

    assert [c.number for c in graph.collections] == list(
        range(1, len(graph.collections) + 1)
    )
    assert sum(c.is_dump for c in graph.collections) <= 1
    if graph.history is None:
        return
    numbers = [s.number for s in survivals(graph)]
    assert len(set(numbers)) == len(numbers)
    for survival in survivals(graph):
        assert survival.has_ranges == (len(survival.length) > 0)
        ends = survival.old_start + survival.length
        assert (survival.old_start[1:] >= ends[:-1]).all()
    if graph.history.allocations is not None:
        told = graph.history.allocations
        assert (np.diff(told.heap) >= 0).all()
        assert told.heap.max() <= len(numbers)
        assert told.site.max() < len(told.sites)
