"""A full disk: no dump is lost, and once there is space the next command works.

Needs root, to mount a small disk in memory. Each test prints a line of a table; pytest
shows it with ``-s``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from ingest.server.embedded import EmbeddedServer
from ingest.system.settings import settings
from tests.bench.heaps import write_heap
from tests.conftest import embedded_only, share_jars
from tests.integration.commands import counted, ended, listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    pytest.mark.deep,
    embedded_only("fills the disk of its own server"),
    pytest.mark.skipif(
        sys.platform != "linux" or os.getuid() != 0, reason="only root can mount a disk"
    ),
]

DISK_MIB = 400
OBJECTS, REFERENCES = 60_000, 150_000
SMALL = {"objects": 1_000, "references": 2_500}
FREE_MIB = [2, 6, 10, 16, 24, 32, 40]
"""On the disk when the load begins; it needs about 100 MiB."""

_REMOVAL_S = 60.0


@pytest.fixture(scope="module")
def _disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=700", "tmpfs"]
    if subprocess.run([*mount, str(folder)], check=False).returncode != 0:
        pytest.skip("this container may not mount a disk")
    yield folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder / "home"))
        EmbeddedServer(settings()).stop()
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(_disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small disk with a home, in which a small dump is loaded."""
    monkeypatch.setenv("INGEST_HOME", str(_disk / "home"))
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", "512")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "128")
    if not (_disk / "home").exists():
        share_jars(_disk / "home")
        small = tmp_path / "small.gclog"
        write_heap(small, *SMALL.values())
        assert ended("load", str(small)).returncode == 0
    return _disk


def fill(disk: Path, *, free_mib: int) -> None:
    count = shutil.disk_usage(disk).free - (free_mib << 20)
    with (disk / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, count)


def wait_for_removal() -> None:
    """Wait until dropped dumps take no room, which the next load needs."""
    deadline = time.monotonic() + _REMOVAL_S
    while "is being removed" in ended("list").stderr and time.monotonic() < deadline:
        time.sleep(0.5)


@pytest.mark.parametrize(
    ("way", "free_mib"),
    [
        *(("bolt", free) for free in FREE_MIB),
        *(("bulk", free) for free in (2, 10, 32)),
    ],
)
def test_a_full_disk_loses_nothing(
    disk: Path, tmp_path: Path, way: str, free_mib: int
) -> None:
    heap = tmp_path / "heap.gclog"
    write_heap(heap, OBJECTS, REFERENCES)
    fill(disk, free_mib=free_mib)
    try:
        load = ended("load", str(heap), "--via", way)
        full = ended("list", "--json")
    finally:
        (disk / "filler").unlink()

    begun = time.monotonic()
    after = ended("list")
    seconds = time.monotonic() - begun
    names = listed()

    said = (load.stderr.strip().splitlines() or [""])[-1]
    sys.stdout.write(
        f"{way} {free_mib:>3} MiB free: load {load.returncode}, list while full "
        f"{full.returncode}, then {after.returncode} after {seconds:4.1f} s: {said}\n"
        f"{'':16}{after.stderr.strip()}\n"
    )
    assert "Traceback" not in load.stderr + full.stderr + after.stderr
    assert after.returncode == 0, after.stderr
    assert after.stderr.count("restarted") <= 1
    assert (load.returncode == 0) == ("heap" in names)
    advice = {0: "", 6: "use --via bolt", 8: "free some space"}[load.returncode]
    assert advice in load.stderr
    assert names - {"heap"} == {"small"}
    assert counted("small", tmp_path) == SMALL
    again = ended("load", str(heap), "--via", way)
    assert again.returncode == 0, again.stderr
    assert counted("heap", tmp_path) == {"objects": OBJECTS, "references": REFERENCES}
    assert ended("drop", "heap").returncode == 0
    wait_for_removal()


@pytest.mark.parametrize("is_full", [False, True])
def test_a_server_that_a_full_disk_has_stopped_from_working_can_be_stopped(
    disk: Path, tmp_path: Path, *, is_full: bool
) -> None:
    heap = tmp_path / "heap.gclog"
    write_heap(heap, OBJECTS, REFERENCES)
    fill(disk, free_mib=6)
    load = ended("load", str(heap), "--via", "bolt")
    if not is_full:
        (disk / "filler").unlink()

    begun = time.monotonic()
    stop = ended("server", "stop")
    seconds = time.monotonic() - begun
    (disk / "filler").unlink(missing_ok=True)
    after = ended("list")

    sys.stdout.write(
        f"stop, disk {'full' if is_full else 'free again'}: load {load.returncode}, "
        f"stop {stop.returncode} after {seconds:4.1f} s, then {after.returncode}\n"
    )
    assert (load.returncode, stop.returncode, after.returncode) == (8, 0, 0)
    assert "Traceback" not in load.stderr + stop.stderr + after.stderr
    assert stop.stdout == "stopped\n"
    assert listed() == {"small"}
    assert counted("small", tmp_path) == SMALL
