"""What ``/proc`` says of running programs, also of those in containers."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil

from ingest.errors import CaptureError

PROC = Path("/proc")
_LONGEST_NAME = 60


class CaptureTarget(Protocol):
    """A program that is to be captured."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def name(self) -> str:
        """What it is listed as."""

    @property
    def user(self) -> str:
        """Who runs it."""

    @property
    def is_ours(self) -> bool:
        """Whether this user may capture it."""


def check_answers(target: CaptureTarget) -> None:
    """Check that a program may be captured, and is not stopped.

    Raises:
        CaptureError: it may not, or is.
    """
    if not target.is_ours:
        raise CaptureError(
            f"process {target.pid} ({target.name}) belongs to {target.user}; run this "
            "as that user, or as root"
        )
    if is_stopped(target.pid):
        raise CaptureError(
            f"process {target.pid} ({target.name}) is stopped, by a signal or a "
            f"debugger, and cannot answer; continue it: kill -CONT {target.pid}"
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


def has_mapped(pid: int, library: str, proc: Path = PROC) -> bool | None:
    """Whether a process has a library loaded; ``None`` if that is not readable.

    Args:
        pid: The process.
        library: Part of its file name.
        proc: The folder of all processes.
    """
    try:
        with (proc / str(pid) / "maps").open(
            encoding="utf-8", errors="replace"
        ) as file:
            return any(library in line for line in file)
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


def listed(programs: list[tuple[str, int]], most: int = 10) -> str:
    """Programs in a row of an error message, each a name and an id."""
    names = ", ".join(f"{name} ({pid})" for name, pid in programs[:most])
    more = len(programs) - most
    return names + (f", and {more} more" if more > 0 else "")
