"""Whether a program has memory for a copy of itself, or for its own list of objects.

The limit of its control group counts like the memory of the system. Both are checked
again while a copy writes: if little is left, the copy is ended before the kernel ends
the program.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.elf import PROC
from ingest.errors import CaptureError
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.capture.processes import RunningProgram

GROUPS = Path("/sys/fs/cgroup")
_SPARE_BYTES, _LEAST_BYTES = 64 << 20, 24 << 20
_LIST_SHARE = 4
"""A program that writes itself takes at most a quarter of its memory. Measured: a third
of a heap of small objects, less of others; the heap is only a part of the memory."""


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that a program has, and may take.

    Attributes:
        target: The program.
        resident_bytes: Memory that it has, including shared memory.
        free_bytes: Memory that is left for it.
        groups: Its control groups with a limit.
    """

    target: RunningProgram
    resident_bytes: int
    free_bytes: int
    groups: tuple[tuple[Path, str, str], ...]

    def mode(self) -> str:
        """Whether a copy of it writes, or the program itself.

        Raises:
            CaptureError: there is room for neither.
        """
        if self.free_bytes >= self.resident_bytes + _SPARE_BYTES:
            return "fork"
        if self.free_bytes >= self.resident_bytes // _LIST_SHARE + _LEAST_BYTES:
            return "stop"
        raise CaptureError(
            f"process {self.target.pid} ({self.target.name}) has "
            f"{human_bytes(self.resident_bytes)} of memory and may take only "
            f"{human_bytes(self.free_bytes)} more, so a capture could end it; raise "
            "its limit, or take that risk with --mode stop"
        )

    def check(self, shown: str) -> None:
        """Check that memory is left.

        Raises:
            CaptureError: hardly any memory is left.
        """
        left = _free_bytes(self.groups)
        if left < min(_LEAST_BYTES, self.free_bytes // 2):
            raise CaptureError(
                f"{shown}: its copy was ended, for {human_bytes(left)} of memory were "
                "left; raise its limit, or have it write itself: --mode stop"
            )

    def why_it_ended(self) -> str:
        """The end of a message that the writing process has ended."""
        return (
            "perhaps killed; a program with little memory left can write itself: "
            "--mode stop"
        )


def room_of(target: RunningProgram) -> Room:
    """What room a program has now."""
    pages = int((PROC / str(target.pid) / "statm").read_text().split()[1])
    groups = tuple(_groups(target.pid))
    resident = pages * os.sysconf("SC_PAGE_SIZE")
    return Room(target, resident, _free_bytes(groups), groups)


def _groups(pid: int) -> Iterator[tuple[Path, str, str]]:
    """The control groups of a process that can be seen, with names of their files.

    Source: cgroups(7); Documentation/admin-guide/cgroup-v2.rst of Linux.
    """
    for line in (PROC / str(pid) / "cgroup").read_text().splitlines():
        number, kinds, path = line.split(":", 2)
        if number == "0":
            base, names = GROUPS, ("memory.max", "memory.current")
        elif "memory" in kinds.split(","):
            base = GROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        folder = base / path.lstrip("/")
        if ".." in folder.parts or not folder.is_dir():
            folder = base  # of a container, seen from within
        while True:
            if (folder / names[0]).exists():
                yield folder, *names
            if folder == base:
                break
            folder = folder.parent


def _free_bytes(groups: tuple[tuple[Path, str, str], ...]) -> int:
    """Memory of the system and of all groups that is left, with what files take."""
    free = 1 << 62
    for line in (PROC / "meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) << 10
    for folder, limit, used in groups:
        with suppress(OSError, ValueError):  # "max" is no number
            most = int((folder / limit).read_text())
            taken = int((folder / used).read_text())
            for line in (folder / "memory.stat").read_text().splitlines():
                if line.startswith(("inactive_file ", "total_inactive_file ")):
                    taken -= int(line.split()[1])
                    break
            free = min(free, max(most - taken, 0))
    return free
