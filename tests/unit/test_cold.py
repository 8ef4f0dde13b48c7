"""Kernels: compiled once, into a folder that can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from ingest.cli import main
main(["info", sys.argv[1], "--json"])
"""


def start(dump: Path, cache: Path, home: Path) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(cache),
        "INGEST_HOME": str(home),
    }
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(dump)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_compile_at_once_and_a_third_need_not(tmp_path: Path) -> None:
    dump = tmp_path / "d.gclog"
    dump.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    cache = tmp_path / "kernels"
    cache.mkdir()

    both = [start(dump, cache, tmp_path) for _ in range(2)]
    first = [process.communicate(timeout=300) for process in both]
    third = start(dump, cache, tmp_path)
    out, err = third.communicate(timeout=300)

    assert [process.returncode for process in both] == [0, 0]
    assert {text for text, _ in first} == {out}
    assert all("compiling" in warning for _, warning in first)
    assert "compiling" not in err


def test_a_cache_that_cannot_be_made_does_not_stop_the_tool(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    dump = tmp_path / "d.gclog"
    dump.write_text("a 2 x\nt 1 T\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")
    environment = {**os.environ, "INGEST_HOME": str(blocked / "home")}
    environment.pop("NUMBA_CACHE_DIR", None)

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(dump)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    assert '"objects": 1' in done.stdout
