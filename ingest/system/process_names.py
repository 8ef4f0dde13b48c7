"""Names of processes, which tell the owner of a dump or a file.

A name has the machine, process id and start time, so dead processes are recognized.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import psutil

NOBODY = "nobody"
"""The owner of what any process may delete."""


def this_process() -> str:
    """The name of this process."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_start(pid)}"


def is_alive(name: str) -> bool | None:
    """Whether a process runs; ``None`` if this machine cannot know."""
    if name == NOBODY:
        return False
    machine, _, start = name.rpartition(":")
    machine, _, pid = machine.rpartition(":")
    if machine != _machine():
        return None
    try:
        return _start(int(pid)) == start
    except (psutil.Error, OSError, ValueError):
        return False


def _machine() -> str:
    """This machine or container, in which a process id is unique."""
    try:
        space = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()} {space.replace(':', '')}"


def _start(pid: int) -> str:
    """Start time of a process, which does not change when somebody sets the clock.

    Source: proc(5), ``/proc/pid/stat``: the third field follows the name in brackets,
    the 22nd is the start in clock ticks since the machine was started.
    """
    if sys.platform == "linux":
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return "" if fields[0] in b"ZX" else f"{fields[19].decode()}@{boot.strip()}"
    return str(int(psutil.Process(pid).create_time()))
