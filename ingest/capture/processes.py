"""Running programs: finding one by its id or name, and its ``/proc`` entries.

Programs in containers are included.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from ingest.errors import CaptureError
from ingest.words.command_line import command

if TYPE_CHECKING:
    from collections.abc import Callable, Container

PROC = Path("/proc")
LOOK = f"list what can be captured: {command('capture', 'list')}"
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A running program.

    Attributes:
        pid: Process id, as we see it.
        name: What it is listed as.
        user: Name of its user, or the number; empty if unknown.
        is_ours: Whether it may be captured by this user.
        socket: Where it listens, if it does so before it is asked to.
    """

    pid: int
    name: str
    user: str
    is_ours: bool
    socket: Path | None = None


@dataclass(frozen=True, slots=True)
class Finder:
    """How the running programs of a runtime are found.

    Attributes:
        runtime: As the command line names it.
        unsupported: Why none can be captured on this system; empty if they can.
        unknown: The beginning of a message that no program has a name.
        none_runs: Its end where none runs at all.
        programs: All of them by pid, other users' included; from the folder of all
            processes.
        of_pid: The program of a process that exists, or why it cannot be captured.
        spellings: What a program of this name may be called, in lower case.
    """

    runtime: str
    unsupported: str
    unknown: str
    none_runs: str
    programs: Callable[[Path], list[RunningProgram]]
    of_pid: Callable[[int, Path], RunningProgram]
    spellings: Callable[[str], Container[str]] = lambda name: (name.lower(),)

    def find(self, wanted: str, proc: Path = PROC) -> RunningProgram:
        """The program of that pid or name.

        Raises:
            CaptureError: there is none, or several, or it cannot be captured.
        """
        if self.unsupported:
            raise CaptureError(self.unsupported)
        if wanted.isascii() and wanted.isdigit():
            pid = int(wanted)
            if not exists(pid):
                raise CaptureError(f"no process has the id {pid}; {LOOK}")
            return self.of_pid(pid, proc)
        there = self.programs(proc)
        fitting = [one for one in there if wanted.lower() in self.spellings(one.name)]
        if len(fitting) == 1:
            return self.of_pid(fitting[0].pid, proc)
        if fitting:
            raise CaptureError(
                f"several programs are named {wanted}; choose one by process id: "
                f"{_listed(fitting)}"
            )
        running = f"; running are: {_listed(there)}" if there else self.none_runs
        raise CaptureError(f"{self.unknown} named {wanted}{running}")


@dataclass(frozen=True, slots=True)
class Figures:
    """What tells programs of one name apart, such as a server's workers.

    Attributes:
        resident_bytes: Memory that is in use.
        running_s: Seconds since its start.
        parent: Process id of the program that started it.
    """

    resident_bytes: int
    running_s: float
    parent: int


def figures_of(pid: int) -> Figures | None:
    """The figures of a process; ``None`` if it has ended."""
    try:
        process = psutil.Process(pid)
        return Figures(
            process.memory_info().rss,
            max(0.0, time.time() - process.create_time()),
            process.ppid(),
        )
    except psutil.Error:
        return None


def check_answers(target: RunningProgram) -> None:
    """Check that a program may be captured, and is not stopped.

    Raises:
        CaptureError: it may not, or is.
    """
    if not target.is_ours:
        raise CaptureError(
            f"process {target.pid} ({target.name}) belongs to {target.user}; run this "
            "as that user, or as root"
        )
    tracer = (status_of(target.pid, "TracerPid") or ["0"])[0]
    if is_stopped(target.pid):
        by, how = "by a signal", f"continue it: kill -CONT {target.pid}"
        if tracer != "0":
            by, how = f"by process {tracer}, which traces it", "let that detach from it"
        raise CaptureError(
            f"process {target.pid} ({target.name}) is stopped {by}, and cannot answer; "
            f"{how}"
        )


def safe_name(name: str) -> str:
    """The start of a valid file name, made from that of a program."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")
    return safe[:_LONGEST_NAME] or "heap"


def exists(pid: int) -> bool:
    """Whether there is a process of that id."""
    try:
        return psutil.pid_exists(pid)
    except OverflowError:
        return False


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal or a debugger."""
    try:
        status = psutil.Process(pid).status()
    except psutil.Error:
        return False
    return status in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


def user_of(pid: int) -> str:
    """The name of the user of a process; its number or nothing if unknown."""
    try:
        return psutil.Process(pid).username()
    except (psutil.Error, KeyError):
        return ""


def is_socket_of(path: Path, pid: int) -> bool:
    """Whether a file is a socket that the user of a process has made.

    Anyone can make a file of that name in ``/tmp``. A link is none, and neither is a
    socket that others may write to.

    Raises:
        OSError: it is not there, or cannot be looked at.
    """
    found = path.lstat()
    return (
        stat.S_ISSOCK(found.st_mode)
        and found.st_uid == _effective_user(pid)
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def check_socket(path: Path, pid: int) -> None:
    """Make sure of `is_socket_of`, before it is connected to.

    Raises:
        CaptureError: it is not so.
        OSError: it is not there, or cannot be looked at.
    """
    if not is_socket_of(path, pid):
        raise CaptureError(
            f"{path} was not made by the user of process {pid}, or others may write to "
            "it, so nothing was sent: somebody may pretend to be that process; look at "
            "it, and remove it"
        )


def check_listener(connection: socket.socket, path: Path, pid: int) -> None:
    """Make sure that a process is at the other end, before anything is sent.

    A process that is not seen from here has the number 0; then its user counts.

    Source: unix(7), ``SO_PEERCRED``: who called ``listen``.

    Raises:
        CaptureError: it is another one.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return
    layout = struct.Struct("3i")
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, layout.size)
    peer, user, _ = layout.unpack(told)
    if user != _effective_user(pid) or peer not in (0, pid):
        raise CaptureError(
            f"process {peer} listens at {path}, not process {pid}, so nothing was "
            "sent: somebody may pretend to be that process; look at what it is"
        )


def _effective_user(pid: int) -> int | None:
    """The number of the user of a process; ``None`` if it has ended."""
    try:
        return int(psutil.Process(pid).uids().effective)
    except psutil.Error:
        return None


def has_mapped(pid: int, library: str, proc: Path = PROC) -> bool | None:
    """Whether a process has a library loaded; ``None`` if that is not readable.

    Args:
        pid: The process.
        library: What its file name begins with.
        proc: The folder of all processes.
    """
    try:
        with (proc / str(pid) / "maps").open(
            encoding="utf-8", errors="replace"
        ) as file:
            return any(line.rpartition("/")[2].startswith(library) for line in file)
    except PermissionError:
        return None
    except OSError:
        return False


def environment_of(pid: int, proc: Path = PROC) -> dict[str, str]:
    """The initial environment of a process; empty if not readable."""
    try:
        raw = (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in os.fsdecode(raw).split("\0"))
    return {name: value for name, _, value in pairs if name}


def status_of(pid: int, field: str, proc: Path = PROC) -> list[str]:
    """The words after a field of ``/proc/PID/status``; none if not readable."""
    with suppress(OSError):
        status = (proc / str(pid) / "status").read_text("utf-8", errors="replace")
        for line in status.splitlines():
            name, _, words = line.partition(":")
            if name == field:
                return words.split()
    return []


def number_within(pid: int, proc: Path = PROC) -> int:
    """The id of a process in its own container."""
    numbers = status_of(pid, "NSpid", proc)
    return int(numbers[-1]) if numbers and numbers[-1].isdigit() else pid


def _listed(programs: list[RunningProgram], most: int = 10) -> str:
    """Programs in a row of an error message."""
    names = ", ".join(f"{one.name} ({one.pid})" for one in programs[:most])
    more = len(programs) - most
    return names + (f", and {more} more" if more > 0 else "")
