"""The folder in which another program writes its dump, and what killed captures left.

Its name says which process made it: ``.heaproots.PID-NAMESPACE.RANDOM.part``. A killed
process cannot remove its folder, so the next capture in the same place removes the
folders of processes that have ended. Processes of other containers cannot be seen from
here, so their folders stay.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from ingest.capture.jvm_attach import acting_as
from ingest.capture.processes import PROC
from ingest.errors import CaptureError
from ingest.system import interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"\.heaproots\.(\d+)-(\d+)\.[0-9a-f]+\.part")
_MOST_TRIES = 20
_CLOCKS_S = 5.0
"""The largest difference between the clocks of a file system and of the kernel."""


@contextmanager
def work_folder(pid: int, parent: Path, *, advice: str = "") -> Iterator[Path]:
    """A folder that only the user of a program can enter, removed at the end.

    Folders in the same place, of the same user, whose captures were killed are removed
    too.

    Args:
        pid: The program.
        parent: Where to make it.
        advice: What to do if it cannot be made.

    Raises:
        CaptureError: it cannot be made.
    """
    name = f".heaproots.{os.getpid()}-{_namespace()}.{secrets.token_hex(8)}.part"
    folder = parent / name

    def remove() -> None:
        # A program that still writes can make a file while others are removed.
        for _ in range(_MOST_TRIES):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break

    try:
        with interrupts.at_the_end(remove):  # before it is made
            try:
                with acting_as(pid):
                    remove_abandoned(parent)
                    folder.mkdir(mode=0o700)
            except OSError as error:
                why = error.strerror or type(error).__name__
                raise CaptureError(
                    f"no folder for the dump can be made in {parent} ({why}){advice}"
                ) from error
            yield folder
    finally:
        remove()


def remove_abandoned(parent: Path) -> None:
    """Remove this user's work folders whose processes have ended."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and int(found[2]) == _namespace() and _is_ours(entry):
                made_s = entry.stat(follow_symlinks=False).st_mtime
                if not _is_running(int(found[1]), made_s):
                    shutil.rmtree(entry.path, ignore_errors=True)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    found = entry.stat(follow_symlinks=False)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_running(pid: int, since_s: float) -> bool:
    """Whether a process still runs, not a later one with the same number."""
    try:
        return psutil.Process(pid).create_time() <= since_s + _CLOCKS_S
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def _namespace() -> int:
    """Which numbers of processes this process sees; 0 where all see the same."""
    try:
        return (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return 0
