"""Whether a program has memory for a copy of itself, or for its own list of objects.

The limit of its control group counts like the memory of the system. Both are checked
again while a copy writes: if little is left, the copy is ended before the kernel ends
the program.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.capture.elf import PROC
from ingest.errors import CaptureError
from ingest.system.memory import free_bytes
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from ingest.capture.processes import RunningProgram

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
    """

    target: RunningProgram
    resident_bytes: int
    free_bytes: int

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
        left = left_for(self.target.pid)
        if left < min(_LEAST_BYTES, self.free_bytes // 2):
            raise CaptureError(
                f"{shown}: its copy was ended, for {human_bytes(left)} of memory were "
                "left; raise its limit, or have it write itself: --mode stop"
            )


def room_of(target: RunningProgram) -> Room:
    """What room a program has now."""
    pages = int((PROC / str(target.pid) / "statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE")
    return Room(target, resident, left_for(target.pid))


def left_for(pid: int) -> int:
    """Bytes of memory that a process may take, by the system and its control groups."""
    return free_bytes(membership=PROC / str(pid) / "cgroup")
