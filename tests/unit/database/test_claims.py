"""Whose a dump is, and where it may be: loaders are known by process and start."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from ingest.database.claims import NOBODY, Place, is_alive, place_for, this_process
from ingest.database.dump_list import DumpInfo
from ingest.errors import StoreError
from ingest.heap.identity import Identity


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
    code = "from ingest.database.claims import *; print(this_process(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        loader = process.stdout.readline().strip()
        assert is_alive(loader)
        process.kill()
        deadline = time.monotonic() + 10
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
        assert is_alive(loader) is False


def test_another_process_with_its_number_is_not_it() -> None:
    machine, pid, start = this_process().rsplit(":", 2)
    assert is_alive(f"{machine}:{pid}:{start}0") is False
    assert is_alive(f"{machine}:999999999:{start}") is False


def test_of_another_machine_nothing_is_known() -> None:
    assert is_alive("elsewhere:1:1") is None
    assert is_alive(NOBODY) is False


A, B, C = (Identity(letter * 64) for letter in "abc")


def loaded(number: int, name: str, identity: Identity) -> DumpInfo:
    return DumpInfo(
        number, name, "f", "s", identity.sha256, None, None,
        1, 1, 0, 0, 0, 0, 0, [], 0, 0, False, "strongest", "2026-01-02T03:04:05Z",
    )  # fmt: skip


PRESENT = [loaded(2, "x-2", B), loaded(1, "x", A)]


@pytest.mark.parametrize(
    ("identity", "wished", "replace", "expected"),
    [
        (A, None, False, PRESENT[1]),
        (A, "x", False, PRESENT[1]),
        (A, "new", False, PRESENT[1]),
        (C, None, False, Place("x-3")),
        (C, "new", False, Place("new", is_exact=True)),
        (None, "new", False, Place("new", is_exact=True)),
        (B, None, True, Place("x-2", replaced=(PRESENT[0],))),
        (C, "x", True, Place("x", is_exact=True, replaced=(PRESENT[1],))),
        (B, "x", True, Place("x", is_exact=True, replaced=(*PRESENT,))),
        (C, None, True, Place("x-3")),
    ],
)
def test_the_place_of_a_dump(
    identity: Identity | None, wished: str | None, replace: bool, expected: object
) -> None:
    assert place_for(PRESENT, identity, wished, "x", replace=replace) == expected


@pytest.mark.parametrize("identity", [None, A, C])
def test_a_name_of_another_dump_is_taken(identity: Identity | None) -> None:
    with pytest.raises(StoreError, match="another dump is named 'x-2'"):
        place_for(PRESENT, identity, "x-2")


@pytest.mark.parametrize(("there", "now"), [("", "--fold none"), ("--fold none", "")])
def test_what_was_read_otherwise_is_not_there_already(there: str, now: str) -> None:
    present = [replace(PRESENT[1], read_options=there)]

    with pytest.raises(StoreError, match=r"already loaded as x, .*--replace"):
        place_for(present, A, None, "x", options=now)
    assert place_for(present, A, None, "x", options=there) == present[0]
    found = place_for(present, A, None, "x", options=now, replace=True)
    assert found == Place("x", replaced=(present[0],))
