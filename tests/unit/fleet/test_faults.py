"""Whatever happens, a fleet ends up with the rows of an undisturbed run."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from threading import Thread

import polars as pl
import psutil
import pytest

import ingest.fleet.task
import ingest.fleet.workplace
from ingest.errors import IngestError
from ingest.fleet.add import Workers, add
from ingest.fleet.task import Job, try_dump
from ingest.fleet.workplace import FleetFolder
from ingest.heap.read_options import DEFAULTS
from tests.conftest import CHECKOUT
from tests.dumps.fleet import LABELS, write_fleet
from tests.unit.fleet.test_fleet import add_in_process, sources_in, tables

SIZE = 12


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    write_fleet(folder, SIZE, live=20)
    return folder


@pytest.fixture(scope="module")
def undisturbed(
    dumps: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pl.DataFrame]:
    target = tmp_path_factory.mktemp("undisturbed") / "fleet"
    add_in_process(dumps, target)
    return tables(target)


def same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> bool:
    return found.keys() == expected.keys() and all(
        found[name].equals(frame) for name, frame in expected.items()
    )


@pytest.mark.deep
def test_a_killed_run_is_repeated(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    target = tmp_path / "fleet"
    command = [sys.executable, "-m", "ingest", "fleet", "add", str(dumps)]
    command += ["--to", str(target), "--label", LABELS, "--processes", "2"]
    process = subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(FleetFolder(target).staged()) < 3:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < len(FleetFolder(target).staged()) < SIZE
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert (len(gone) >= 2, alive) == (True, [])
    assert subprocess.run(command, cwd=CHECKOUT, check=False).returncode == 0
    assert same(tables(target), undisturbed)
    assert not FleetFolder(target).staged()


@pytest.mark.deep
def test_two_runs_at_once_make_the_same_fleet(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    """Each has a half, and a third of the dumps is in both."""
    found, target = sources_in(dumps), tmp_path / "fleet"
    cut = SIZE // 6
    halves = (found[: SIZE // 2 + cut], found[SIZE // 2 - cut :])
    results = []

    def run(number: int) -> None:
        results.append(add(halves[number], target, DEFAULTS, Workers()))

    threads = [Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result.added_count for result in results) >= SIZE
    assert same(tables(target), undisturbed)


def test_damaged_dumps_leave_the_others_alone(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    """Truncated ones, and ones with bytes changed."""
    random = Random(3)
    for number, source in enumerate(random.sample(sources_in(dumps), 4)):
        data = bytearray(Path(source.address).read_bytes())
        if number % 2:
            del data[random.randrange(1, len(data)) :]
        for _ in range(20 * (number % 2 == 0)):
            data[random.randrange(len(data))] = random.randrange(256)
        (tmp_path / f"damaged{number}.gclog").write_bytes(bytes(data))
    target = tmp_path / "fleet"
    add_in_process(tmp_path, target)
    add_in_process(dumps, target)
    found = tables(target)
    assert (found["dumps"]["name"].str.starts_with("damaged")).sum() == 4
    of_others = ~pl.col("dump_id").is_in(undisturbed["dumps"]["dump_id"].to_list())
    rest = {name: frame.filter(~of_others) for name, frame in found.items()}
    assert same(rest, undisturbed)


@pytest.mark.parametrize("calls", [1, 4])
def test_a_full_disk_ends_the_run_and_blames_no_dump(
    dumps: Path,
    undisturbed: dict[str, pl.DataFrame],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    calls: int,
) -> None:
    fleet = FleetFolder(tmp_path / "fleet")
    fleet.prepare()
    real, left = ingest.fleet.workplace.write_rows, [calls]

    def full(*arguments: object) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("ingest.fleet.task.write_rows", full)
    with pytest.raises(IngestError, match=r"fleet cannot be written .No space left"):
        [try_dump(source, Job(fleet.folder)) for source in sources_in(dumps)]
    monkeypatch.undo()
    assert all(fleet.attempts(source.address) == 0 for source in sources_in(dumps))
    add_in_process(dumps, fleet.folder)
    assert same(tables(fleet.folder), undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "said", ["parquet: ... Invalid thrift: transport error", "No space (os error 28)"]
)
def test_a_disk_that_is_full_while_rows_are_published_is_one_line(
    dumps: Path,
    undisturbed: dict[str, pl.DataFrame],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
) -> None:
    """The first is what polars says if only the end of a file does not fit."""

    def full(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError(said)

    fleet = FleetFolder(tmp_path / "fleet")
    fleet.prepare()
    for source in sources_in(dumps):
        try_dump(source, Job(fleet.folder))
    with monkeypatch.context() as patch:
        patch.setattr(pl.LazyFrame, "sink_parquet", full)
        with pytest.raises(IngestError, match=r"cannot be written .No space left"):
            fleet.publish()
    fleet.publish()
    assert same(tables(fleet.folder), undisturbed)


def test_an_error_of_ours_is_one_row(
    dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise IndexError("7 is out of bounds")

    monkeypatch.setattr("ingest.analysis.metrics.analyse", broken)
    add_in_process(dumps / "maps" / "1.0", tmp_path / "fleet")
    (why,) = set(tables(tmp_path / "fleet")["dumps"]["error"])
    assert why == "internal error (IndexError: 7 is out of bounds)"


_MAIN = """
if __name__ == "__main__":
    from ingest.__main__ import main
    sys.argv[0] = "ingest"
    sys.exit(main())
"""
_DEADLY = (
    """
import os, signal, sys
from ingest.fleet import pool, task

def deadly(source, job, real=task.try_dump):
    if "deadly" in source.address:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(source, job)

pool.try_dump = deadly
"""
    + _MAIN
)
"""The command line, where a dump kills whatever process reads it."""
_EARLY = (
    """
import os, signal, sys
from pathlib import Path
from ingest.fleet import pool

def start(real=pool._start_worker):
    dead = Path(os.environ["DEAD"])
    if len(list(dead.iterdir())) < 4:
        (dead / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    real()

pool._start_worker = start
"""
    + _MAIN
)
"""The same, where processes are killed before they have a dump."""


def add_by(script: str, folder: Path, *named: Path) -> dict[str, pl.DataFrame]:
    """Add dumps by a changed command line; returns the tables of the fleet."""
    path, dead, target = folder / "changed.py", folder / "dead", folder / "fleet"
    path.write_text(script, encoding="utf-8")
    dead.mkdir()
    done = subprocess.run(
        [sys.executable, str(path), "fleet", "add", *map(str, named), "--to",
         str(target), "--label", LABELS, "--processes", "2"],
        env={**os.environ, "DEAD": str(dead)},
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return tables(target)


def check_killed(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], folder: Path
) -> None:
    deadly = folder / "deadly.gclog"
    deadly.write_text("a 2 x\nc x\n", encoding="utf-8")
    found = add_by(_DEADLY, folder, deadly, dumps)
    failed = found["dumps"].filter(pl.col("state") == "failed")
    (why,) = failed["error"]
    assert "has ended" in why
    assert "also when nothing else ran" in why
    of_others = ~pl.col("dump_id").is_in(failed["dump_id"].to_list())
    rest = {name: frame.filter(of_others) for name, frame in found.items()}
    assert same(rest, undisturbed)


@pytest.mark.slow
def test_a_dump_that_kills_its_process(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    check_killed(dumps, undisturbed, tmp_path)


@pytest.mark.deep
def test_processes_that_are_killed_before_they_have_a_dump(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    assert same(add_by(_EARLY, tmp_path, dumps), undisturbed)


@pytest.mark.deep
@pytest.mark.parametrize("attempt", range(20))
def test_a_dump_that_kills_its_process_many_times(
    dumps: Path, undisturbed: dict[str, pl.DataFrame], tmp_path: Path, attempt: int
) -> None:
    check_killed(dumps, undisturbed, tmp_path)
