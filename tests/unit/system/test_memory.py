"""How much memory a dump may take: what is said before it is read, and while it is."""

from __future__ import annotations

import gzip
import threading
from itertools import islice
from typing import TYPE_CHECKING

import pytest
import zstandard

from ingest.errors import DumpError, NotEnoughMemory
from ingest.heap.read_options import Fold, ReadOptions
from ingest.readers import open_source
from ingest.system.memory import available_bytes, in_ranges, one_ahead, used_bytes
from tests.dumps.gclog import large_gclog
from tests.heaps import measure
from tests.unit.readers.test_gclog import EXCERPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Ran

MIB = 1 << 20


def test_a_dump_that_does_not_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    dump = tmp_path / "big.gclog"
    dump.write_text(EXCERPT, encoding="utf-8")
    with dump.open("r+b") as file:
        file.truncate(3 << 30)  # the system stores none of it
    options = ReadOptions(fold=Fold.NONE, max_memory_bytes=2 << 30)

    with pytest.raises(NotEnoughMemory) as error:
        measure(str(dump), options)

    told = str(error.value)
    assert told.startswith(f"{dump}: 3.0 GiB of gclog need about ")
    assert "more than the 2.0 GiB that may be used" in told
    assert "--fold none" in told
    assert "--max-memory" in told


@pytest.mark.slow
@pytest.mark.parametrize("used", [1000 * MIB, 100 * MIB])
def test_reading_stops_before_the_memory_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: int
) -> None:
    dump = tmp_path / "big.gclog.zst"
    packer = zstandard.ZstdCompressor(write_content_size=False)
    dump.write_bytes(packer.compress(large_gclog(80_000, 250_000)))
    monkeypatch.setattr("ingest.readers.source.used_bytes", lambda: used)
    monkeypatch.setattr("ingest.dumps.memory.used_bytes", lambda: used)
    options = ReadOptions(max_memory_bytes=used + 200 * MIB)

    if used == 100 * MIB:
        assert measure(str(dump), options)[0].object_count == 80_000
    else:
        with pytest.raises(NotEnoughMemory, match=r"after .* MiB of it"):
            measure(str(dump), options)


def test_what_the_analysis_takes_is_known_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "dump.gclog"
    dump.write_bytes(large_gclog(3000, 6000))
    monkeypatch.setattr("ingest.dumps.memory.used_bytes", lambda: 1 << 40)
    options = ReadOptions(max_memory_bytes=1 << 40)

    with pytest.raises(NotEnoughMemory, match="its 3,000 objects and 6,0"):
        measure(str(dump), options)


def test_the_size_of_compressed_content_is_read_where_it_is_recorded(
    tmp_path: Path,
) -> None:
    text = EXCERPT.encode() * 100
    made = {
        "plain": (text, len(text)),
        "gz": (gzip.compress(text), len(text)),
        "zst": (zstandard.ZstdCompressor().compress(text), len(text)),
    }
    unknown = zstandard.ZstdCompressor(write_content_size=False).compress(text)
    made["unknown"] = (unknown, len(unknown))
    members = gzip.compress(text) + gzip.compress(b"x")
    made["members"] = (members, len(members))
    for name, (data, expected) in made.items():
        path = tmp_path / name
        path.write_bytes(data)
        with open_source(str(path)) as source:
            assert source.content_bytes == expected, name
            assert b"".join(source.chunks()).startswith(text)


@pytest.mark.parametrize(
    ("given", "code"), [("1KiB", 12), ("1k", 12), ("4 GiB", 0), ("0", 0), ("many", 2)]
)
def test_max_memory(
    ingest: Callable[..., Ran], tmp_path: Path, given: str, code: int
) -> None:
    dump = tmp_path / "dump.gclog"
    dump.write_text(EXCERPT, encoding="utf-8")

    found, out, err = ingest(
        "info", str(dump), "--max-memory", given, "--spill", "none"
    )

    assert found == code
    assert bool(out) == (code == 0)
    if code == 12:
        assert err.count("\n") == 1
        assert "need about" in err


def test_what_a_container_has_left_counts(tmp_path: Path) -> None:
    membership, root = tmp_path / "self", tmp_path / "fs"
    membership.write_text("0::/job\n")
    (root / "job").mkdir(parents=True)
    (root / "job" / "memory.max").write_text("1000\n")
    (root / "job" / "memory.current").write_text("900\n")
    (root / "job" / "memory.stat").write_text("anon 700\ninactive_file 200\n")

    left = available_bytes(root, membership) - used_bytes()

    assert left == pytest.approx(300, abs=MIB)
    (root / "job" / "memory.max").write_text("max\n")
    assert available_bytes(root, membership) > 100 * MIB


def test_what_is_made_one_ahead_is_all_there_in_its_order_and_so_is_its_fault() -> None:
    def some() -> Iterator[int]:
        yield from range(5)
        raise DumpError("no more")

    found = one_ahead(some())

    assert list(islice(found, 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(DumpError, match="no more"):
        next(found)
    assert list(one_ahead([])) == []


@pytest.mark.parametrize("processors", [1, 2, 3, 8])
@pytest.mark.parametrize(("first", "end"), [(0, 0), (1, 1), (0, 5), (3, 100)])
def test_ranges_are_all_rows_once_in_their_order(
    processors: int, first: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.system.memory.thread_count", lambda: processors)

    given = in_ranges(lambda *rows: [*range(*rows)], first, end)

    assert [row for rows in given for row in rows] == [*range(first, end)]
    assert 1 <= len(given) <= processors
    assert in_ranges(lambda *rows: rows, first, end, least=1000) == [(first, end)]


def test_what_is_given_up_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # The collector closes it, perhaps while a thread is being started: to wait for
    # another one then would never end.
    monkeypatch.setattr("ingest.system.memory.thread_count", lambda: 2)
    gate, closed = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        gate.wait(20)
        yield 2

    ahead = one_ahead(items())
    next(ahead)

    def close() -> None:
        ahead.close()  # type: ignore[attr-defined]
        closed.set()

    threading.Thread(target=close, daemon=True).start()
    assert closed.wait(10)
    gate.set()
