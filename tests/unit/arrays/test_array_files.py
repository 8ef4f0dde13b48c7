"""Columns that are files: the same as in memory, also on a full disk."""

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

from ingest.analysis.metrics import HeapMetrics, analyse
from ingest.arrays import array_files, spill
from ingest.arrays.array_files import (
    ArrayFile,
    extended,
    folder_for,
    in_file,
    release_pages,
)
from ingest.heap.graph import HeapGraph
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.shared.columns import GrowingColumn
from tests.dumps.gclog import large_gclog
from tests.dumps.hprof import program
from tests.heaps import measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="arrays are kept in files on Linux only"
)


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "LEAST_BYTES", 1)


def numbers() -> np.ndarray:
    return np.arange(1, 50_001, dtype=np.int64)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_an_array_in_a_file_is_the_same(tmp_path: Path) -> None:
    array = np.arange(1, 50_001)
    found = in_file(tmp_path, array)
    assert array_files._mapping_of(found) is not None
    assert found.tolist() == array.tolist()
    assert list(tmp_path.iterdir()) == []
    assert in_file(tmp_path / "none", array) is array
    assert in_file(None, array) is array


def test_arrays_of_heaps_that_are_in_files_already_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert folder_for(spill.NEVER, numbers()) is None
    assert folder_for(str(tmp_path), numbers()) == tmp_path
    monkeypatch.setattr(spill, "_started", [object()])
    assert folder_for(str(tmp_path), numbers()) is None


def test_the_analysis_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "heap.gclog").write_bytes(large_gclog(5_000, 12_000))
    graph = measure(str(tmp_path / "heap.gclog"))[0]
    expected, found = analyse(graph), analyse(graph, spill=str(tmp_path))
    assert array_files._mapping_of(found.path_parent) is not None
    for one in fields(HeapMetrics):
        values = getattr(found, one.name), getattr(expected, one.name)
        assert (
            np.array_equal(*values)
            if isinstance(values[0], np.ndarray)
            else (values[0] == values[1])
        ), one.name


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
    release_pages(column[5:])
    assert held - resident_files_kib() > 7 << 10  # of 8 MiB
    column[7] = 1  # it is no copy, and stays what it was made
    release_pages(column, rows)
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
    written = array_files._append
    calls = iter(range(9))

    def full(file: array_files._File, rows: NDArray[Any]) -> None:
        if next(calls) >= fails_at:
            written(file, rows[:1])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(file, rows)

    monkeypatch.setattr(array_files, "_append", full)
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
    monkeypatch.setattr(array_files, "_array_of", refused)
    found = column.taken()
    assert array_files._mapping_of(found) is None
    assert found.tolist() == list(range(20))


def test_a_heap_in_pieces_is_the_same_whose_columns_are_files(tmp_path: Path) -> None:
    path = tmp_path / "heap.gclog"
    path.write_bytes(large_gclog(5_000, 12_000))

    def heap(where: str) -> HeapGraph:
        with open_source(str(path)) as source:  # its head is a piece of its own
            return read(source, ReadOptions(spill=where), silent)

    expected, found = heap(spill.NEVER), heap(str(tmp_path))
    assert array_files._mapping_of(found.shallow_bytes) is not None
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
    assert array_files._mapping_of(found.object_id) is not None
    assert array_files._mapping_of(expected.object_id) is None
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
