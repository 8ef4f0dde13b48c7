"""What a trace tells of the collections before its dump, and the list of them all."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.graph import Part
from ingest.heap.identity import Identity
from tests.dumps.nettrace import NetTrace, program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.heap.graph import HeapGraph
    from ingest.heap.history import Bounds, Survival
    from tests.conftest import Ran

    Reading = Callable[..., HeapGraph]

TYPE = 0x7000


def ranges(one: Survival) -> list[tuple[int, int, int]]:
    columns = (one.old_start, one.new_start, one.length)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def places(bounds: Bounds | None) -> list[tuple[int, int, int]] | None:
    if bounds is None:
        return None
    columns = (bounds.start, bounds.end, bounds.generation)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def young(trace: NetTrace, number: int) -> None:
    """Collection of generation 0 that moves 0x100 to 0x500 and tells all of it."""
    trace.start(number, generation=0, reason=0)
    trace.generation(0, 0x100, 0x100, 0x200)
    trace.generation(2, 0x500, 0x80, 0x100)
    trace.moved([(0x100, 0x580, 0x40)])
    trace.generation(0, 0x100, 0, 0x200)
    trace.generation(1, 0x580, 0x40, 0x200)
    trace.end(number)


def full(trace: NetTrace, number: int, *objects: int) -> None:
    """Collection with a heap dump that leaves everything where it is."""
    trace.start(number)
    trace.generation(1, 0x580, 0x40, 0x200)
    trace.survived([(0x500, 0x200)])
    trace.survived([(0x100, 0x100)], index=1)
    trace.roots([(objects[0], 0, 0)])
    trace.nodes([(at, 16, TYPE, 0) for at in objects])
    trace.generation(2, 0x500, 0x200, 0x200)
    trace.end(number)


def two_dumps(**options: object) -> NetTrace:
    trace = NetTrace(**options)  # type: ignore[arg-type]
    trace.types({TYPE: "App.Thing"})
    full(trace, 1, 0x110, 0x130)
    young(trace, 2)
    full(trace, 3, 0x590, 0x100)
    return trace


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("pointer", [4, 8])
def test_all_that_collections_tell_up_to_the_dump(
    reading: Reading, version: int, pointer: int
) -> None:
    graph = reading(two_dumps(version=version, pointer=pointer).file(), part=3)

    assert graph.history is not None
    first, second, third = graph.history.collections
    assert [one.number for one in (first, second, third)] == [1, 2, 3]
    assert [one.generation for one in (first, second, third)] == [2, 0, 2]
    assert ranges(first) == [(0x500, 0x500, 0x200), (0x100, 0x100, 0x100)]
    assert ranges(second) == [(0x100, 0x580, 0x40)]
    assert places(second.before) == [(0x100, 0x200, 0), (0x500, 0x580, 2)]
    assert places(second.after) == [(0x580, 0x5C0, 1)]
    assert places(third.before) == [(0x580, 0x5C0, 1)]
    assert all(one.has_ranges for one in (first, second, third))
    assert (graph.part, graph.other_parts) == (Part(3, 2), (Part(1, 2),))


def test_an_object_has_one_origin_in_both_dumps(reading: Reading) -> None:
    data = two_dumps().file()

    origins = [analyse(reading(data, part=number)).origins for number in (1, 3)]

    assert origins[0] is not None
    assert origins[1] is not None
    assert origins[0].known_at.tolist() == [0x110, 0x130]
    assert origins[0].known_since.tolist() == [0, 0]
    assert origins[1].known_at.tolist() == [0x110, 0x100]
    assert origins[1].known_since.tolist() == [0, 2]
    assert origins[1].is_born.tolist() == [False, True]
    assert origins[1].survived.tolist() == [3, 1]
    assert analyse(reading(data, part=3), origins=False).origins is None


def test_a_collection_that_nothing_outlived_tells_so(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    trace.start(1, generation=0, reason=0)
    trace.generation(0, 0x100, 0x100, 0x200)
    trace.generation(2, 0x500, 0x80, 0x100)
    trace.ticks += 100_000
    trace.generation(0, 0x100, 0, 0x200)
    trace.end(1)
    full(trace, 2, 0x110)

    history = reading(trace.file()).history

    assert history is not None
    first = history.collections[0]
    assert (first.has_ranges, ranges(first)) == (True, [])
    assert places(first.before) == [(0x100, 0x200, 0), (0x500, 0x580, 2)]
    assert first.after is None


def test_a_pause_within_the_first_half_does_not_split_it(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    trace.start(1, generation=0, reason=0)
    trace.generation(0, 0x100, 0x100, 0x200)
    trace.ticks += 900_000
    trace.generation(2, 0x500, 0x80, 0x100)
    trace.ticks += 100_000
    trace.generation(0, 0x100, 0, 0x200)
    trace.generation(2, 0x500, 0x80, 0x100)
    trace.end(1)
    full(trace, 2, 0x510)

    history = reading(trace.file()).history

    assert history is not None
    first = history.collections[0]
    assert places(first.before) == [(0x100, 0x200, 0), (0x500, 0x580, 2)]


def test_a_background_collection_tells_late_and_leaves_the_young(
    reading: Reading,
) -> None:
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    trace.start(1, mode=1, reason=0)
    trace.generation(2, 0x500, 0x80, 0x100)
    young(trace, 2)
    trace.survived([(0x500, 0x40)])
    trace.generation(2, 0x500, 0x40, 0x100)
    trace.end(1)
    full(trace, 3, 0x590)

    history = reading(trace.file()).history

    assert history is not None
    numbers = [(one.number, one.youngest) for one in history.collections]
    assert numbers == [(2, 0), (1, 2), (3, 0)]
    assert history.collections[1].before is None


def test_nobody_knows_what_went_through_a_collection_that_lost_events(
    reading: Reading,
) -> None:
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    full(trace, 1, 0x110)
    trace.start(2, generation=0, reason=0)
    trace.generation(0, 0x100, 0x100, 0x200)
    trace.lose(2)
    trace.moved([(0x100, 0x580, 0x40)])
    trace.end(2)
    full(trace, 3, 0x590)

    graph = reading(trace.file(), part=3)

    assert graph.history is not None
    assert [one.has_ranges for one in graph.history.collections] == [1, 0, 1]
    origins = analyse(graph).origins
    assert origins is not None
    assert origins.known_since.tolist() == [2]
    assert origins.is_born.tolist() == [False]


def test_each_process_has_a_trace_of_its_own(reading: Reading) -> None:
    trace = NetTrace(version=6)
    trace.threads({1: 100, 2: 200})
    trace.types({TYPE: "App.Thing"})
    for number in (1, 2):
        full(trace, number, 0x110)
    trace.event(1, struct.pack("<4IH", 7, 2, 1, 0, 0), thread=2)

    graph = reading(trace.file(), part=2)

    assert (graph.part, graph.other_parts) == (Part(2, 1, "100"), (Part(1, 1, "100"),))
    assert Identity.of("ab", graph.part) == Identity("ab", "ab/100", 2)
    single = reading(two_dumps().file(), part=3)
    assert Identity.of("ab", single.part) == Identity("ab", "ab", 3)


def test_without_ranges_there_is_no_history(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    trace.start(1)
    trace.nodes([(0x100, 16, TYPE, 0)])
    trace.end(1)

    graph = reading(trace.file())

    assert graph.history is None
    assert analyse(graph).origins is None


def test_places_that_make_no_sense_have_no_objects(reading: Reading) -> None:
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    trace.start(1)
    trace.generation(255, 2**64 - 16, 2**64 - 1, 0)
    trace.survived([(0, 2**64 - 1)])
    trace.nodes([(2**64 - 8, 16, TYPE, 0)])
    trace.end(1)

    graph = reading(trace.file())

    assert graph.history is not None
    (only,) = graph.history.collections
    assert places(only.before) == [(2**64 - 16, 2**64 - 16, 127)]
    assert analyse(graph).origins is not None


# The list of collections


def test_the_timeline_of_a_trace_with_and_without_dumps(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "x.nettrace"
    path.write_bytes(program().file())
    code, out, err = ingest("timeline", str(path), "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert [(one["number"], one["is_dump"]) for one in found] == [
        (1, False), (2, True), (3, False),
    ]  # fmt: skip
    assert (found[0]["moved_bytes"], found[1]["unmoved_bytes"]) == (0x40, 0x1000)

    trace = NetTrace()
    trace.start(7, generation=1, reason=4)
    trace.end(7)
    path.write_bytes(trace.file())
    code, out, _ = ingest("timeline", str(path))
    assert (code, out.splitlines()[-1].split()[:2]) == (0, ["7", "1"])
    assert "ingest timeline FILE" in ingest("info", str(path))[2]


def test_a_format_without_collections_has_no_timeline(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "x.gclog"
    path.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    code, _, err = ingest("timeline", str(path))
    assert (code, "a file of format gclog records no collections" in err) == (3, True)


def test_addresses_are_followed_as_unsigned(reading: Reading) -> None:
    high = 2**64 - 0x1000
    trace = NetTrace()
    trace.types({TYPE: "App.Thing"})
    trace.start(1)
    trace.moved([(0x100, high, 0x40)])
    trace.nodes([(high + 8, 16, TYPE, 0)])
    trace.end(1)

    origins = analyse(reading(trace.file())).origins

    assert origins is not None
    assert origins.known_at.dtype == np.uint64
    assert origins.known_at.tolist() == [0x108]
