"""Files made to be costly take little memory, and end."""

from __future__ import annotations

import resource
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import zstandard

from ingest.errors import DumpError
from ingest.heap.read_options import ReadOptions
from tests.dumps.hostile import HOSTILE
from tests.heaps import measure

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

MIB = 1 << 20
SMALL_BYTES = 64 << 10
LARGE_BYTES = 32 * MIB
MOST_SECONDS, MOST_MIB = 30, 1024


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_little_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is reserved for a piece of the file is counted here, whether used or not.
    monkeypatch.setattr("ingest.readers.gclog.pieces._REUSED_BUFFER_BYTES", 1)
    dump = tmp_path / "dump"
    dump.write_bytes(HOSTILE[name](SMALL_BYTES // 16))
    with suppress(DumpError):
        measure(str(dump))  # what is loaded and compiled once is not counted
    dump.write_bytes(HOSTILE[name](SMALL_BYTES))
    tracemalloc.start()
    try:
        with suppress(DumpError):
            measure(str(dump))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak <= 32 * MIB + 10 * dump.stat().st_size


_INFO = """
import sys
from pathlib import Path
from ingest.cli import main
try:
    main(["info", "--json", sys.argv[1]])
except SystemExit as end:
    assert end.code in (None, 0, 3), end.code
# Not `getrusage`, whose peak includes that of the process that started this one.
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))
"""


def _costs_of_info(dump: Path) -> tuple[float, int]:
    """Processor seconds and most memory, bytes, of ``ingest info``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", _INFO, str(dump)],
        capture_output=True,
        check=False,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert done.returncode == 0, done.stderr[-300:]
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, int(done.stdout.split()[-1]) << 10


@pytest.fixture(scope="module")
def least_bytes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What ``info`` takes for the smallest dump: the interpreter and its libraries."""
    dump = tmp_path_factory.mktemp("small") / "dump"
    dump.write_bytes(b"a 2 x\nt 1 X\no 1 1 1\nr 1 1 0\nc x\n")
    return _costs_of_info(dump)[1]


@pytest.mark.deep
@pytest.mark.parametrize("name", HOSTILE)
def test_large_hostile_files_cost_little(
    name: str, tmp_path: Path, least_bytes: int
) -> None:
    dump = tmp_path / "dump"
    dump.write_bytes(HOSTILE[name](LARGE_BYTES))

    spent, most = _costs_of_info(dump)

    assert most <= MOST_MIB * MIB
    assert most - least_bytes <= 64 * MIB + 10 * dump.stat().st_size
    assert spent <= MOST_SECONDS


def test_content_that_expands_too_much_is_read_only_if_allowed(
    ingest: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.readers.source.EXPANSION_FREE_BYTES", 1 * MIB)
    dump = tmp_path / "dump.gclog.zst"
    text = b"a 2 x\no 1 1 1\nc x\n" + b"\n" * (3 * MIB)
    dump.write_bytes(zstandard.ZstdCompressor().compress(text))

    code, _, err = ingest("info", str(dump))

    assert code == 3
    assert "200 times as large" in err
    assert "--allow-any-expansion" in err
    assert ingest("info", str(dump), "--allow-any-expansion")[0] == 0
    assert measure(str(dump), ReadOptions(any_expansion=True))[0].object_count == 1
