"""What captures that were killed have left is removed by the next one, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ingest.capture.workplace import remove_abandoned, work_folder
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from pathlib import Path

LEFT_BY_A_KILLED_PROCESS = """
import os, signal, sys
from pathlib import Path
from ingest.capture.workplace import work_folder
with work_folder(os.getpid(), Path(sys.argv[1])) as folder:
    (folder / "heap").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def leave(parent: Path) -> Path:
    subprocess.run(
        [sys.executable, "-c", LEFT_BY_A_KILLED_PROCESS, str(parent)], check=False
    )
    (left,) = parent.iterdir()
    return left


def test_the_next_capture_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left = leave(tmp_path)
    assert (left / "heap").read_bytes() == b"half"

    with work_folder(os.getpid(), tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert folder.stat().st_mode & 0o777 == 0o700
        with work_folder(os.getpid(), tmp_path) as other:
            assert folder.exists(), "its process is alive"
            assert other != folder
    assert list(tmp_path.iterdir()) == []


def test_of_a_later_process_of_that_number_is_nothing(tmp_path: Path) -> None:
    left = leave(tmp_path)
    parts = left.name.split(".")
    parts[2] = f"{os.getpid()}-{parts[2].partition('-')[2]}"
    reused = left.rename(tmp_path / ".".join(parts))
    os.utime(reused, (1e9, 1e9))

    remove_abandoned(tmp_path)

    assert not reused.exists()


def test_what_may_be_of_somebody_else_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave(tmp_path)
    elsewhere = tmp_path / f".heaproots.{2**22 + 1}-1.00000000.part"
    elsewhere.mkdir()
    target = tmp_path / "kept"
    target.mkdir()
    link = tmp_path / left.name.replace(left.name.split(".")[-2], "0123456789abcdef")
    link.symlink_to(target)
    (tmp_path / ".heaproots.x.part").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)

    remove_abandoned(tmp_path)
    assert left.exists()

    monkeypatch.undo()
    remove_abandoned(tmp_path)
    assert not left.exists()
    assert elsewhere.exists(), "in another container"
    assert link.is_symlink()
    assert target.exists()
    assert (tmp_path / ".heaproots.x.part").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(CaptureError, match=r"no folder .*none \(No such file .*; do so"),
        work_folder(os.getpid(), tmp_path / "none", advice="; do so"),
    ):
        pass


def test_a_file_made_while_the_folder_is_removed_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, real = iter(["late.hprof"]), os.rmdir

    def rmdir(path: str | Path, *, dir_fd: int | None = None) -> None:
        for name in late:  # as by a JVM, after the others were listed
            (folder / name).touch()
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", rmdir)
    with work_folder(os.getpid(), tmp_path) as folder:
        (folder / "heap.hprof").touch()

    assert list(tmp_path.iterdir()) == []
