"""Kills at many moments: the old state or the new one, and the next command works.

Each prints a line of a table; pytest shows it with ``-s``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, cast

import psutil
import pytest

from ingest.database.connection import connect
from ingest.database.dump_list import list_dumps
from ingest.server.embedded import EmbeddedServer, target_of
from ingest.system.settings import settings
from tests.bench.heaps import write_heap
from tests.conftest import embedded_only, share_jars, start_quickly, take_any_ports
from tests.integration.commands import ended, listed, started
from tests.waiting import is_tidy, wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    pytest.mark.deep,
    embedded_only("kills its own server, which only the embedded provider can start"),
]

OBJECTS = int(os.environ.get("INGEST_KILL_OBJECTS", "100000"))
SIZES = {"heap": (OBJECTS, 5 * OBJECTS // 2), "small": (1_000, 2_500)}
SIGNALS = [
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")
    if hasattr(signal, name)
]
CASES = sorted(
    [
        *product(("bolt", "bulk", "drop"), ("loader", "server"), SIGNALS, (0.3, 0.7)),
        *product(("bulk",), ("importer",), SIGNALS, (0.1, 0.5)),
        *product(("bulk",), ("loader",), SIGNALS, (0.95,)),
    ],
    key=lambda case: case[3],
)
"""What is done, which process is killed, how, and at which share of its time."""


COUNT = """
MATCH (o:Object {dump: $dump})
RETURN count(o), sum(COUNT { (o)-[:REFERENCES|WEAKLY_REFERENCES]->(:Object) })
"""


class Ground:
    """A home with a small dump, and how long each command takes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.heap, small = folder / "heap.gclog", folder / "small.gclog"
        write_heap(self.heap, *SIZES["heap"])
        write_heap(small, *SIZES["small"])
        self.seconds: dict[str, float] = {}
        self.run("load", str(small))
        for way, arguments in (
            ("bolt", self.arguments("bolt")),
            ("drop", self.arguments("drop")),
            ("bulk", self.arguments("bulk")),
        ):
            begun = time.monotonic()
            self.run(*arguments)
            self.seconds[way] = time.monotonic() - begun

    def arguments(self, way: str) -> list[str]:
        if way == "drop":
            return ["drop", "heap"]
        return ["load", str(self.heap), "--via", way]

    def run(self, *arguments: str) -> None:
        done = ended(*arguments)
        assert done.returncode == 0, done.stderr

    def prepare(self, way: str) -> None:
        """Have the heap loaded where it is to be dropped, else not."""
        is_loaded = "heap" in self.counted()
        if is_loaded and way != "drop":
            self.run("drop", "heap")
        elif not is_loaded and way == "drop":
            self.run("load", str(self.heap), "--via", "bolt")

    def counted(self) -> dict[str, tuple[int, int]]:
        """Objects and references of each dump."""
        with connect(target_of(self.server.start())) as database:
            return {
                dump.name: cast(
                    "tuple[int, int]", database.read(COUNT, {"dump": dump.number})[1][0]
                )
                for dump in list_dumps(database)
            }

    @property
    def server(self) -> EmbeddedServer:
        return EmbeddedServer(settings())


@pytest.fixture(scope="module")
def _ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("kills")
    share_jars(folder / "home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder / "home"))
        patch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
        patch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "128")
        take_any_ports(patch)
        start_quickly(patch)
        ground = Ground(folder)
    yield ground
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder / "home"))
        EmbeddedServer(settings()).stop()


@pytest.fixture
def ground(_ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("INGEST_HOME", str(_ground.folder / "home"))
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "128")
    take_any_ports(monkeypatch)
    start_quickly(monkeypatch)
    return _ground


def importers(server: EmbeddedServer) -> list[int]:
    mark = f"--report-file={server.home}/"
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(part.startswith(mark) for part in process.info["cmdline"] or [])
        and process.status() != psutil.STATUS_ZOMBIE
    ]


def wait_for_victim(
    ground: Ground, process: subprocess.Popen[str], victim: str, pause_s: float
) -> int | None:
    """The process to kill, when its time has come; ``None`` if it has ended."""
    if victim == "importer":
        while not (found := importers(ground.server)):
            if process.poll() is not None:
                return None
            time.sleep(0.05)
        time.sleep(pause_s)
        return found[0]
    time.sleep(pause_s)
    if victim == "loader":
        return None if process.poll() is not None else process.pid
    state = ground.server.files.read_state()
    return None if state is None else state.pid


@pytest.mark.parametrize(
    ("way", "victim", "how", "share"),
    CASES,
    ids=[f"{a}-{b}-{c.name}-{d}" for a, b, c, d in CASES],
)
def test_a_kill_leaves_the_old_state_or_the_new_one(
    ground: Ground, way: str, victim: str, how: signal.Signals, share: float
) -> None:
    ground.prepare(way)
    pause_s = share * (6.0 if victim == "importer" else ground.seconds[way])
    process = started(*ground.arguments(way))
    pid = wait_for_victim(ground, process, victim, pause_s)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, how)
    _, said = process.communicate(timeout=300)

    begun = time.monotonic()
    names = listed()  # the next command, whatever has happened
    seconds = time.monotonic() - begun

    state = "with heap" if "heap" in names else "without"
    last = (said.strip().splitlines() or [""])[-1]
    sys.stdout.write(
        f"\n{way:<5} {victim:<9} {how.name:<8} {pause_s:5.1f} s: exit "
        f"{process.returncode:>3}, {state}, next command {seconds:4.1f} s: "
        f"{last[:90]}"
    )
    sys.stdout.flush()
    assert names - {"heap"} == {"small"}
    assert "Traceback" not in said
    assert ground.counted() == {name: SIZES[name] for name in names}
    if victim == "loader" and pid is not None and process.returncode != 0:
        expected = -how if how == signal.SIGKILL else 128 + how
        assert process.returncode == expected
    if process.returncode == 0:
        assert ("heap" in names) == (way != "drop")
    assert importers(ground.server) == []


def test_nothing_is_left_in_the_end(ground: Ground) -> None:
    ground.prepare("bolt")
    ground.run(*ground.arguments("bulk"))
    server, query = ground.server, ground.folder / "left.cypher"
    query.write_text(
        "OPTIONAL MATCH (d:Dump) WHERE d.state <> 'ready' "
        "OPTIONAL MATCH (o:Object) WHERE NOT EXISTS {(:Dump {number: o.dump, "
        "state: 'ready'})} RETURN count(d) + count(o) AS left",
        encoding="utf-8",
    )
    wait_until(lambda: is_tidy(server))
    answer = json.loads(ended("query", str(query), "--json").stdout)
    assert answer["rows"] == [{"left": 0}]
    assert len(list((server.home / "dumps").iterdir())) == 2
