"""Arrays that are kept in files for a while: the same afterwards, or an error."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from ingest import aside, spill
from ingest.analysis.metrics import HeapMetrics, analyse
from ingest.aside import folder_for, set_aside
from ingest.errors import IngestError
from ingest.suspects.find import find_suspects
from tests.dumps.gclog import Gclog, large_gclog
from tests.heaps import measure

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="arrays are kept in files on Linux only"
)


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "LEAST_BYTES", 1)


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
