"""Tests of the tests: what they inherit changes nothing, and they leave nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.conftest import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

FAILING = """
import subprocess, sys

pytest_plugins = ["tests.inherited"]

def test_fails():
    asleep = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
    print(f"started {asleep.pid}")
    assert False
"""


def ran(*arguments: str | Path, under: str = "") -> subprocess.CompletedProcess[str]:
    """Run tests by a shell that does something first."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        ["/bin/sh", "-c", f'{under}\nexec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
        env=os.environ | {"INGEST_TESTS": "quick"},
        timeout=120,
    )


@pytest.mark.slow
def test_ignored_signals_a_mask_and_a_narrow_terminal() -> None:
    """As in ``nohup make test &``."""
    done = ran(
        "tests/unit/system/test_interrupts.py", "tests/unit/cli/test_main.py",
        "-k", "can_end or ends and not 143 or no_dump and empty", "--tb=short",
        under="trap '' INT HUP QUIT; umask 077; export FORCE_COLOR=1 COLUMNS=40",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " 3 passed" in done.stdout


@pytest.mark.slow
def test_a_test_that_fails_ends_what_it_has_started(tmp_path: Path) -> None:
    failing = tmp_path / "test_failing.py"
    failing.write_text(FAILING, encoding="utf-8")
    done = ran(failing, "--rootdir", tmp_path)
    (line,) = [line for line in done.stdout.splitlines() if line[:8] == "started "]
    assert done.returncode == 1
    assert not psutil.pid_exists(int(line.split()[1])), done.stdout


def test_signals_pass_by_the_process_of_the_tests() -> None:
    """Its own handler, if any, is none that a process it starts would inherit."""
    for number in (signal.SIGINT, signal.SIGHUP):
        assert signal.getsignal(number) is not signal.SIG_IGN
    mask = os.umask(0o022)
    os.umask(mask)
    assert mask == 0o022
