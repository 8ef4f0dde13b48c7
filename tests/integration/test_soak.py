"""Loads, answers and drops for half an hour: memory and disk stay bounded.

``INGEST_SOAK_MINUTES`` sets how long. Prints a line of a table a minute; pytest shows
it with ``-s``.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from ingest.server.embedded import EmbeddedServer
from tests.bench.heaps import write_heap
from tests.conftest import embedded_only
from tests.integration.commands import ended, started

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    pytest.mark.deep,
    embedded_only("looks at its own server's process and files"),
    pytest.mark.usefixtures("own_home"),
]

MINUTES = float(os.environ.get("INGEST_SOAK_MINUTES", "30"))
DATA_MIB, LOG_MIB, GROWTH_MIB, DESCRIPTORS = 600, 150, 256, 64
"""At most: data folder, transaction logs in it, and what memory and open files of the
server grow by between a fifth of the time and its end."""


def run(*arguments: str) -> None:
    done = ended(*arguments)
    assert done.returncode == 0, (arguments, done.stderr)


def storm(commands: list[list[str]]) -> None:
    """Run commands at the same time."""
    processes = [started(*command) for command in commands]
    for command, process in zip(commands, processes, strict=True):
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, (command, said)


def test_memory_and_disk_stay_bounded(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    dumps = [tmp_path / f"soak{i}.gclog" for i in range(3)]
    for i, dump in enumerate(dumps):
        write_heap(dump, 4_000 * (i + 1), 10_000 * (i + 1), seed=i)
    begun, rounds, printed = time.monotonic(), 0, 0.0
    early: tuple[int, int] | None = None
    rss = descriptors = 0
    while (elapsed := time.monotonic() - begun) < MINUTES * 60:
        storm([["load", str(dump), "--via", "bolt"] for dump in dumps])
        storm([["report"], ["list"], ["query", "type-histogram"]])
        storm([["drop", dump.stem] for dump in dumps])
        rounds += 1
        state = own_server.files.read_state()
        assert state is not None
        process = psutil.Process(state.pid)
        rss, descriptors = process.memory_info().rss, process.num_fds()
        data, logs = own_server.files.sizes()
        if elapsed > MINUTES * 12 and early is None:
            early = rss, descriptors
        if time.monotonic() - printed > 60:
            printed = time.monotonic()
            sys.stdout.write(
                f"{elapsed / 60:5.1f} min, round {rounds:>3}: resident {rss >> 20:>4} "
                f"MiB, {descriptors} files open, {process.num_threads()} threads, "
                f"data {data >> 20:>3} MiB, of which logs {logs >> 20:>3} MiB\n"
            )
            sys.stdout.flush()
        assert data < DATA_MIB << 20
        assert logs < LOG_MIB << 20
    assert early is not None
    assert rss - early[0] < GROWTH_MIB << 20
    assert descriptors - early[1] < DESCRIPTORS


def test_no_command_fails_while_the_server_stops_or_is_exchanged(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.gclog", tmp_path / "second.gclog"
    write_heap(first, 1_000, 2_500)
    write_heap(second, 2_000, 5_000)
    run("load", str(first), "--via", "bolt")
    for change in (["server", "stop"], ["load", str(second), "--via", "bulk"]):
        changing = started(*change)
        count = 0
        while changing.poll() is None or count < 8:
            storm([["list"], ["query", "type-histogram", "--dump", "first"]])
            count += 2
        _, said = changing.communicate()
        sys.stdout.write(f"{' '.join(change[:2])}: {count} commands beside it\n")
        assert changing.returncode == 0, said
    assert own_server.running() is not None
