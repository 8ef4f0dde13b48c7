"""Columns in files: the same answers, nothing left behind, and one line when it fails.

Allocation is a matter of the whole process, so each test has one of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import CHECKOUT
from tests.deep import PROFILE
from tests.dumps import clrprofiler, dartheap, gcdump, hprof, hrpy, nettrace, v8
from tests.dumps.gclog import large_gclog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="columns are kept in files on Linux only"
)

LARGE = {
    "gclog": large_gclog,
    "hprof": hprof.large_dump,
    "gcdump": gcdump.large_dump,
    "nettrace": nettrace.large_trace,
    "log": clrprofiler.large_log,
    "xml": clrprofiler.large_xml,
    "dartheap": dartheap.large_snapshot,
    "hrpy": hrpy.large_dump,
    "heapsnapshot": v8.large_snapshot,
}

_TWICE = """
import contextlib, io, json, os, sys
from ingest.arrays import spill
from ingest.cli import main

spill.LEAST_BYTES = 4096
folder, *dumps = sys.argv[1:]

def answer(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main([*arguments, "--json"])
            code = 0
        except SystemExit as end:
            code = end.code
    return [code, out.getvalue()]

def answers(*options):
    for dump in dumps:
        yield dump, answer("info", dump, *options)
    yield dump, answer("what-if", dumps[0], *options)
    yield dump, answer("compare", *dumps[:2], *options)

memory = list(answers("--max-memory", "0", "--spill", folder))
assert not spill._started
files = list(answers("--max-memory", "1MiB", "--spill", folder))
print(json.dumps({
    "different": [one[0] for one, other in zip(memory, files) if one != other],
    "failed": [one for one in files if one[1][0]],
    "answers": len(files),
    "mapped": int(spill._started[0].state[1]),
    "left": os.listdir(folder),
}))
"""

_ARRAYS = """
import json, os, random, sys
from pathlib import Path
import numpy as np
from ingest.arrays import spill
from ingest.system.memory import beside
from ingest.readers.shared.resolver import in_threads

spill.LEAST_BYTES = 4096
before = np.arange(5000)
assert spill.can_start(sys.argv[1], 1, "a test")
state = spill._started[0].state
lucky = random.Random(1)
arrays, lists = [before], [list(range(5000))]
for step in range(1000):
    at = lucky.randrange(len(arrays))
    count = lucky.choice([0, 1, 400, 503, 504, 505, 512, 4096, 20_000])
    match lucky.randrange(5):
        case 0:
            arrays.append(np.zeros(count, np.int64)); lists.append([0] * count)
        case 1:
            arrays.append(np.arange(count)); lists.append(list(range(count)))
        case 2:
            had = lists[at][:count]
            arrays[at].resize(count, refcheck=False)
            lists[at] = had + [0] * (count - len(had))
        case 3:
            arrays[at] += step
            lists[at] = [value + step for value in lists[at]]
        case 4 if len(arrays) > 12:
            del arrays[at], lists[at]
equal = all(one.tolist() == other for one, other in zip(arrays, lists, strict=True))
here = int(state[1])

def large():
    return np.ones(100_000)

with beside(large) as other:
    kept = [other(), *in_threads(lambda _: large(), range(9))]
del arrays, kept, before, other
maps = Path("/proc/self/maps").read_text()
print(json.dumps({
    "equal": equal, "here": here, "in a thread": int(state[1]) - here,
    "kept": maps.count(sys.argv[1] + "/.heaproots-"), "left": os.listdir(sys.argv[1]),
}))
"""


def run(script: str, *arguments: object) -> dict[str, Any]:
    """What a script prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_answers_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "columns"
    folder.mkdir()
    dumps = []
    some = LARGE if PROFILE == "deep" else ("gclog", "heapsnapshot")
    for suffix in some:
        dumps.append(tmp_path / f"large.{suffix}")
        dumps[-1].write_bytes(LARGE[suffix](1_500, 4_000))

    told = run(_TWICE, folder, *dumps)

    assert told["different"] == told["failed"] == told["left"] == []
    assert told["answers"] == len(some) + 2
    assert told["mapped"] > 30 * len(some)


@pytest.mark.deep
def test_arrays_grow_shrink_and_end(tmp_path: Path) -> None:
    told = run(_ARRAYS, tmp_path)

    assert told["equal"]
    assert told["here"] > 150
    assert told["in a thread"] == 10
    assert told["kept"] == 0
    assert told["left"] == []


def ended(
    *arguments: object, largest_file_bytes: int | None = None
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if largest_file_bytes is not None:
            most = (largest_file_bytes, largest_file_bytes)
            resource.setrlimit(resource.RLIMIT_FSIZE, most)

    return subprocess.run(
        [sys.executable, "-m", "ingest", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=CHECKOUT,
        preexec_fn=limit,
        timeout=300,
    )


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spill") / "large.gclog"
    path.write_bytes(large_gclog(30_000, 75_000))
    return path


@pytest.mark.deep
def test_what_is_said(dump: Path, tmp_path: Path) -> None:
    done = ended("info", dump, "--max-memory", "1MiB", "--spill", tmp_path)

    (line,) = done.stderr.splitlines()
    assert done.returncode == 0
    assert line.startswith(f"{dump}: ")
    assert "of gclog need about" in line
    assert "more than the 1.0 MiB that may be used: columns are kept in files" in line
    assert f" in {tmp_path} (" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_full_disk_is_one_line(dump: Path, tmp_path: Path) -> None:
    options = ("--max-memory", "1MiB", "--spill", tmp_path)

    done = ended("info", dump, *options, largest_file_bytes=400_000)

    assert done.returncode == 12
    assert done.stdout == ""
    _, line = done.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path}: File too large, so no more columns")
    assert "--spill" in line
    assert not list(tmp_path.iterdir())


def test_a_folder_that_can_not_be_used(dump: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing"

    done = ended("info", dump, "--max-memory", "1MiB", "--spill", missing)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"error: {missing}: no files can be made there for --spill: No such file or "
        "directory\n"
    )
