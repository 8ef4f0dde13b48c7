"""Arrays that are kept in files for a while: the same afterwards, or an error."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

from ingest import aside, spill
from ingest.analysis.metrics import HeapMetrics, analyse
from ingest.aside import ArrayFile, extended, folder_for, give_back, set_aside
from ingest.errors import IngestError
from ingest.heap.graph import HeapGraph
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.shared.columns import GrowingColumn
from ingest.suspects.find import find_suspects
from tests.dumps.gclog import Gclog, large_gclog
from tests.dumps.hprof import program
from tests.heaps import measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="arrays are kept in files on Linux only"
)


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "LEAST_BYTES", 1)
    monkeypatch.setattr(aside, "LEAST_COLUMN_BYTES", 1)


def numbers() -> np.ndarray:
    """More than some pages, of which not all bytes are whole pages."""
    made = np.arange(1, 50_001, dtype=np.int64)
    made.flags.writeable = False  # as the columns of a heap are
    return made


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_an_array_takes_no_memory_meanwhile_and_is_the_same_afterwards(
    tmp_path: Path,
) -> None:
    array, view, other = numbers(), numbers()[1:], np.arange(8)
    with set_aside(tmp_path, array, view, other):
        assert np.count_nonzero(array) < 2 * 4096 // 8
        assert view.all()  # memory of another array
        assert list(tmp_path.iterdir()) == []
    assert array.tolist() == list(range(1, 50_001))
    assert other.tolist() == list(range(8))


def test_it_is_the_same_after_an_error(tmp_path: Path) -> None:
    array = numbers()
    with pytest.raises(ZeroDivisionError), set_aside(tmp_path, array):
        raise ZeroDivisionError
    assert array.tolist() == list(range(1, 50_001))


def test_what_cannot_be_written_stays_in_memory(tmp_path: Path) -> None:
    array = numbers()
    with set_aside(tmp_path / "none", array):
        assert array.all()
    with set_aside(None, array):
        assert array.all()


def test_what_cannot_be_read_back_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shorter(*_: object) -> int:
        return 0

    monkeypatch.setattr(os, "preadv", shorter)
    before = open_files()
    with (
        pytest.raises(IngestError, match=r"cannot be read.*--spill none"),
        set_aside(tmp_path, numbers()),
    ):
        pass
    assert open_files() == before


def test_arrays_of_heaps_that_are_in_files_already_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert folder_for(spill.NEVER, numbers()) is None
    assert folder_for(str(tmp_path), numbers()) == tmp_path
    monkeypatch.setattr(spill, "_started", [object()])
    assert folder_for(str(tmp_path), numbers()) is None


def test_leak_suspects_are_the_same(tmp_path: Path) -> None:
    log = Gclog().domain("App.exe").type(1, "App.Cache").type(2, "App.Entry")
    log.object(1, 1, 24, range(2, 502)).root(1, 3)  # a static field
    for entry in range(2, 502):
        log.object(entry, 2, 100)
    (tmp_path / "heap.gclog").write_bytes(log.close("App.exe").bytes())
    graph, metrics, *_ = measure(str(tmp_path / "heap.gclog"))
    expected = find_suspects(graph, metrics)
    with mock.patch.object(aside, "_give_back", wraps=aside._give_back) as given:
        found = find_suspects(graph, metrics, spill=str(tmp_path))
    assert given.call_count == 1
    assert expected.suspects[0].path == found.suspects[0].path  # it has addresses
    assert found == expected


def test_the_analysis_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "heap.gclog").write_bytes(large_gclog(5_000, 12_000))
    graph = measure(str(tmp_path / "heap.gclog"))[0]
    ids, sizes = graph.object_id.copy(), graph.shallow_bytes.copy()
    expected = analyse(graph)
    with mock.patch.object(aside, "_give_back", wraps=aside._give_back) as given:
        found = analyse(graph, spill=str(tmp_path))
    # Ids, sizes twice, two columns of the tree, distances and paths.
    assert given.call_count == 7
    for one in fields(HeapMetrics):
        values = getattr(found, one.name), getattr(expected, one.name)
        assert (
            np.array_equal(*values)
            if isinstance(values[0], np.ndarray)
            else (values[0] == values[1])
        ), one.name
    assert np.array_equal(graph.object_id, ids)
    assert np.array_equal(graph.shallow_bytes, sizes)


def resident_files_kib() -> int:
    """What this process has in memory of files that it has mapped."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("RssFile:")[2].split()[0])


def test_a_column_is_its_file_and_takes_no_memory_once_it_is_given_back(
    tmp_path: Path,
) -> None:
    rows = np.arange(1 << 20, dtype=np.int64)
    before = open_files()
    file = ArrayFile(tmp_path)
    for part in np.split(rows, 4):
        file.add(part)

    column = file.content(rows.dtype, len(rows))
    assert np.array_equal(column, rows)
    held = resident_files_kib()
    with set_aside(None, column[5:]):
        assert held - resident_files_kib() > 7 << 10  # of 8 MiB
    column[7] = 1  # it is no copy, and stays what it was made
    give_back(column, rows)
    assert column[6:9].tolist() == [6, 1, 8]

    more = extended(column, np.array([-1, -2]))
    assert [*more[6:9], *more[-3:]] == [6, 1, 8, rows[-1], -1, -2]
    assert list(tmp_path.iterdir()) == []
    del file, column, more
    assert open_files() == before


def test_a_column_that_grows_is_the_same_in_a_file(tmp_path: Path) -> None:
    column = GrowingColumn("u1", str(tmp_path))
    column.add(np.arange(9, dtype=np.uint8))
    column.add(np.arange(7, dtype=np.uint8))
    assert column._file is not None
    column.add(np.array([1 << 20], np.uint32))  # rows of a wider type
    column.add(np.arange(3, dtype=np.uint8))
    assert column.taken().tolist() == [*range(9), *range(7), 1 << 20, *range(3)]
    assert not len(column.taken())


@pytest.mark.parametrize("fails_at", range(4))
def test_a_column_stays_in_memory_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    written = aside._append
    calls = iter(range(9))

    def full(file: aside._File, rows: NDArray[Any]) -> None:
        if next(calls) >= fails_at:
            written(file, rows[:1])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(file, rows)

    monkeypatch.setattr(aside, "_append", full)
    column = GrowingColumn("i8", str(tmp_path))
    for begin in range(0, 40, 10):
        column.add(np.arange(begin, begin + 10))
    found = column.taken()
    assert found.tolist() == list(range(40))
    assert extended(found, np.array([7])).tolist() == [*range(40), 7]


def test_a_column_is_read_into_memory_where_no_more_files_can_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> NDArray[Any]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    column = GrowingColumn("i8", str(tmp_path))
    column.add(np.arange(20))
    monkeypatch.setattr(aside, "_array_of", refused)
    found = column.taken()
    assert aside._mapping_of(found) is None
    assert found.tolist() == list(range(20))


def test_a_heap_in_pieces_is_the_same_whose_columns_are_files(tmp_path: Path) -> None:
    path = tmp_path / "heap.gclog"
    path.write_bytes(large_gclog(5_000, 12_000))

    def heap(where: str) -> HeapGraph:
        with open_source(str(path)) as source:  # its head is a piece of its own
            return read(source, ReadOptions(spill=where), silent)

    expected, found = heap(spill.NEVER), heap(str(tmp_path))
    assert aside._mapping_of(found.shallow_bytes) is not None
    for name, column in vars(expected).items():
        if isinstance(column, np.ndarray):
            assert np.array_equal(column, getattr(found, name)), name


def test_a_heap_is_the_same_whose_columns_are_files(tmp_path: Path) -> None:
    """Written beside the scan; with texts, numbers, names and missing objects."""
    dump = program()
    for at in range(1, 300):
        chars = dump.numbers(0x9000 + 64 * at, 8, bytes(range(at % 90, at % 90 + 9)))
        dump.obj(0x9000 + 64 * at + 32, "java/lang/String", value=chars)
        dump.obj(0x90000 + 64 * at, "java/lang/Integer", value=-at)
        dump.array(0x90020 + 64 * at, "[Ljava/lang/Object;", [chars, 0, 0x70000 + at])
    path = tmp_path / "heap.hprof"
    path.write_bytes(dump.bytes())

    def heap(where: str) -> HeapGraph:
        with open_source(str(path)) as source:
            return read(source, ReadOptions(spill=where), silent)

    expected = heap(spill.NEVER)
    with mock.patch("ingest.readers.hprof.reader._MANY_OBJECTS", 0):
        found = heap(str(tmp_path))
    assert aside._mapping_of(found.object_id) is not None
    assert aside._mapping_of(expected.object_id) is None
    assert expected.missing_count == 299
    for one in fields(HeapGraph):
        values = getattr(found, one.name), getattr(expected, one.name)
        if isinstance(values[0], np.ndarray):
            assert np.array_equal(*values), one.name
        elif one.name not in ("values", "stacks"):
            assert values[0] == values[1], one.name
    assert found.values is not None
    assert expected.values is not None
    rows = np.arange(found.object_count)
    assert found.values.pick(rows) == expected.values.pick(rows)
    assert "-299" in expected.values.pick(rows)
