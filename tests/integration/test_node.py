"""Real Node programs that leak: what is said of their snapshots, and live captures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from ingest.errors import FINDINGS, CaptureError
from tests.summary import note_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Ran

NODE = shutil.which("node")
PROGRAMS = Path(__file__).parents[1] / "programs"

pytestmark = pytest.mark.skipif(
    NODE is None, reason="programs of Node.js: no node on the PATH"
)

SENTENCES = {
    "map": "held in a map by module-level sessions of programs/leaks.js",
    "emitter": "held as event handlers by module-level bus of programs/leaks.js",
    "closure": "by module-level handlers of programs/leaks.js",
    "timers": "held through timers",
}
LINES = {
    "emitter": '"onTick leaks.js:20:',
    "closure": '"handle leaks.js:21:',
    "timers": '"later leaks.js:22:',
}
"""Where the function is that holds a session, as the path shows it."""


@pytest.mark.deep
@pytest.mark.parametrize("way", SENTENCES)
def test_a_leak_is_named_with_its_line(
    way: str, tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    assert NODE is not None
    subprocess.run([NODE, str(PROGRAMS / "leaks.js"), way, str(tmp_path)], check=True)
    dumps = [str(tmp_path / f"{step}.heapsnapshot") for step in (1, 2, 3)]

    told = " ".join(ingest("info", dumps[-1])[1].split())
    code, checked, _ = ingest("check", *dumps)
    compared = " ".join(ingest("compare", *dumps)[1].split())

    assert code == FINDINGS
    assert "1. 4,500 Session" in told
    assert SENTENCES[way] in told
    assert LINES.get(way, "") in told
    grew = "Session grew in every dump: 1,500, 3,000, 4,500"
    assert grew in " ".join(checked.split())
    assert "Known by identity" in compared
    assert "3,000 0 1,500" in compared


@pytest.mark.deep
def test_what_allocated_objects_is_told_by_a_snapshot_with_tracked_allocations(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    assert NODE is not None
    dump = tmp_path / "tracked.heapsnapshot"
    subprocess.run([NODE, str(PROGRAMS / "sites.js"), str(dump)], check=True)

    code, _, said = ingest("export", str(dump), str(tmp_path / "out"))

    assert code == 0, said
    sites = pl.read_parquet(tmp_path / "out" / "allocation_sites.parquet")
    stack = sites.sort("reachable_bytes")["stack"][-1].split(" < ")
    assert stack[0].startswith("Session sites.js:8:14 (")
    assert stack[1].startswith("open sites.js:13:14 (")
    assert stack[2].startswith("(anonymous) sites.js:1:1 (")


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    assert NODE is not None
    with subprocess.Popen(
        [NODE, str(PROGRAMS / "server.js")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        note_use("Node.js")
        yield program
        program.kill()


@pytest.mark.deep
def test_a_running_program_is_captured(
    server: subprocess.Popen[str], tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    dump = tmp_path / "heap.heapsnapshot"
    code, _, said = ingest("capture", "node", str(server.pid), "-o", str(dump))
    assert code == CaptureError.exit_code
    assert "has no inspector" in said
    assert not dump.exists()
    assert server.poll() is None

    os.kill(server.pid, signal.SIGUSR2)
    code, out, _ = ingest(
        "capture", "node", str(server.pid), "--start-inspector", "-o", str(dump),
        "--json",
    )  # fmt: skip

    assert code == 0
    facts = json.loads(out)
    assert facts["bytes"] == dump.stat().st_size
    assert facts["target"]["type"] == "node"
    told = json.loads(ingest("info", str(dump), "--json")[1])
    assert told["format"] == told["runtime"] == "v8"
    assert server.poll() is None


@pytest.mark.deep
def test_snapshots_over_one_connection_have_the_same_ids(
    server: subprocess.Popen[str], tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    def captured(name: str, *options: str) -> list[str]:
        code, out, said = ingest(
            "capture", "node", str(server.pid), "--start-inspector",
            "-o", str(tmp_path / f"{name}.heapsnapshot"), "--json", *options,
        )  # fmt: skip
        assert code == 0, said
        found = json.loads(out)
        return [one["file"] for one in (found if options else [found])]

    one, two, three = captured("a", "--count", "3", "--every", "0.5")
    (later,) = captured("b")
    lives = [
        json.loads(ingest("compare", before, after, "--json")[1])["lives"]
        for before, after in ((one, two), (one, three), (three, later))
    ]

    assert lives[0]["known"][0] > 20_000
    assert all(sum(of["born"][0] for of in each["types"]) < 5_000 for each in lives[:2])
    # The connection of the first three is closed, and V8 has numbered all anew.
    assert lives[2] is None


@pytest.mark.deep
def test_no_signal_is_sent_to_other_programs(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        _, _, said = ingest(
            "capture", "node", str(other.pid), "--start-inspector",
            "-o", str(tmp_path / "x"),
        )  # fmt: skip
        assert "nothing was sent" in said
        assert other.poll() is None
        other.kill()
