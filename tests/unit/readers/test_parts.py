"""Files with several dumps: listing them, and reading all of them in one pass."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.errors import DumpError
from ingest.heap.graph import HeapGraph, Part
from ingest.heap.read_options import DEFAULTS, ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, parts, read, read_all
from tests.dumps.clrprofiler import Log
from tests.dumps.gclog import Gclog
from tests.dumps.nettrace import NetTrace

if TYPE_CHECKING:
    from pathlib import Path


def trace(*, lost_in: int = 0) -> NetTrace:
    """Dumps of collections 2 and 5, with 1 and 3 objects."""
    made = NetTrace()
    made.types({0x7000: "App.Thing"})
    for number, objects in ((2, 1), (5, 3)):
        made.start(number)
        made.nodes([(16 * i, 16, 0x7000, 0) for i in range(1, objects + 1)])
        if number == lost_in:
            made.lose(2)
        made.end(number)
    return made


def log() -> Log:
    """Dumps 0 and 2 with 1 and 3 objects; dump 1 has none."""
    made = Log().type(1, "T").function(1, "F").site(1, [1])
    for objects in (1, 0, 3):
        made.begin().root(0x10).allocation(0x10 + 16 * objects, 1)
        for row in range(objects):
            made.object(0x10 + 16 * row, 1, 16)
        made.end()
    return made


@pytest.fixture(params=["nettrace", "clrprofiler"])
def several(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[int]]:
    """The path of a file with two dumps of 1 and 3 objects, and their numbers."""
    path = tmp_path / "several"
    if request.param == "nettrace":
        path.write_bytes(trace().file())
        return str(path), [2, 5]
    path.write_bytes(log().bytes())
    return str(path), [0, 2]


def same(left: HeapGraph, right: HeapGraph, *ignored: str) -> bool:
    """Whether two graphs are equal, column by column."""
    for column in fields(HeapGraph):
        a, b = getattr(left, column.name), getattr(right, column.name)
        if isinstance(a, np.ndarray):
            if not np.array_equal(a, b):
                return False
        elif column.name not in (*ignored, "history", "values") and a != b:
            return False
    return True


def test_parts_are_listed(several: tuple[str, list[int]]) -> None:
    path, numbers = several
    with open_source(path) as source:
        listed = parts(source, silent)
        digest = source.sha256
    with open_source(path) as source:
        chosen = read(source, DEFAULTS, silent)

    assert [(part.number, part.object_count) for part in listed] == [
        (numbers[0], 1),
        (numbers[1], 3),
    ]
    assert [part for part in listed if part.is_default] == [chosen.part]
    assert digest == source.sha256


def test_all_dumps_are_read_in_one_pass(several: tuple[str, list[int]]) -> None:
    path, numbers = several
    with open_source(path) as source:
        pending = list(read_all(source, DEFAULTS, silent))
    # Another pass would find an exhausted source; order does not matter.
    graphs = {p.part.number: p.graph() for p in reversed(pending) if p.part}

    assert sorted(graphs) == numbers
    for number, graph in graphs.items():
        with open_source(path) as source:
            alone = read(source, ReadOptions(part=number), silent)
        assert same(graph, alone, "part", "other_parts")
        assert (graph.history is None) == (alone.history is None)


def test_one_of_the_dumps_may_be_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.nettrace"
    path.write_bytes(trace(lost_in=2).file())
    with open_source(str(path)) as source:
        first, second = read_all(source, DEFAULTS, silent)

    with pytest.raises(DumpError, match="during the heap events of collection 2"):
        first.graph()
    assert second.graph().object_count == 3


def test_a_file_with_one_dump_has_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.gclog"
    path.write_bytes(Gclog().domain("x").type(1, "A").object(16, 1, 8).bytes())

    with open_source(str(path)) as source:
        assert parts(source, silent) == []
        digest = source.sha256
    with open_source(str(path)) as source:
        (only,) = read_all(source, DEFAULTS, silent)
        assert only.part is None
        assert only.graph().object_count == 1
        assert source.sha256 == digest
    with (
        open_source(str(path)) as source,
        pytest.raises(DumpError, match="gclog has one dump; leave out --part"),
    ):
        read(source, ReadOptions(part=0), silent)


def test_parts_of_several_processes_name_them(tmp_path: Path) -> None:
    made = NetTrace(version=6)
    made.threads({1: 100, 2: 200})
    for thread, number in ((1, 1), (2, 4)):
        made.start(number, thread=thread)
        made.nodes([(16, 16, 0x7000, 0)], thread=thread)
        made.end(number, thread=thread)
    path = tmp_path / "a.nettrace"
    path.write_bytes(made.file())

    with open_source(str(path)) as source:
        listed = parts(source, silent)
    with open_source(str(path)) as source:
        loaded = [pending.part for pending in read_all(source, DEFAULTS, silent)]

    assert listed == [Part(1, 1, "100", is_default=True), Part(4, 1, "200")]
    assert loaded == listed[:1]
