"""Names of processes: who still runs, and who has ended."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from ingest.system.process_names import NOBODY, is_alive, this_process


def test_this_process_is_alive() -> None:
    assert is_alive(this_process())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_clock_that_is_set_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = this_process()
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: 3600.0)
    monkeypatch.setattr(time, "time", lambda: 3600.0)
    assert this_process() == before
    assert is_alive(before)


def test_a_process_that_has_ended_is_dead_before_its_parent_knows() -> None:
    code = (
        "from ingest.system.process_names import *; print(this_process(), flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert is_alive(name)
        process.kill()
        deadline = time.monotonic() + 10
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
        assert is_alive(name) is False


def test_another_process_with_its_number_is_not_it() -> None:
    machine, pid, start = this_process().rsplit(":", 2)
    assert is_alive(f"{machine}:{pid}:{start}0") is False
    assert is_alive(f"{machine}:999999999:{start}") is False


def test_of_another_machine_nothing_is_known() -> None:
    assert is_alive("elsewhere:1:1") is None
    assert is_alive(NOBODY) is False
