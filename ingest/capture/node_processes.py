"""Which running programs are run by Node.js or Deno, and what they run."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import psutil

from ingest.capture.processes import RunningProgram, user_of

_PROGRAMS = ("node", "nodejs", "deno")
_WITH_VALUE = (
    "-r", "--require", "--import", "--loader", "--experimental-loader", "-C",
    "--conditions", "--env-file", "--input-type", "--title",
)  # fmt: skip
"""Options whose value is the next word."""


def programs(proc: Path) -> list[RunningProgram]:
    """All of them by pid, other users' included; of the machine, whatever ``proc``."""
    del proc
    found = []
    for process in psutil.process_iter():
        try:
            if _file(process) in _PROGRAMS:
                found.append(_program(process))
        except psutil.Error:  # it has ended
            continue
    return sorted(found, key=lambda one: one.pid)


def script(arguments: list[str]) -> str:
    """What the command line of ``node`` or ``deno run`` runs; empty if no file."""
    rest = iter(arguments[2:] if arguments[1:2] == ["run"] else arguments[1:])
    for word in rest:
        if word in ("-e", "--eval", "-p", "--print"):
            return ""
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return PurePath(word).name
    return ""


def _file(process: psutil.Process) -> str:
    """The name of the file that a process runs, or of the process."""
    try:
        return PurePath(process.exe()).name or process.name()
    except psutil.AccessDenied:
        return process.name()


def _program(process: psutil.Process) -> RunningProgram:
    is_ours = os.geteuid() in (0, process.uids().effective)
    name = script(process.cmdline()) or process.name()
    return RunningProgram(process.pid, name, user_of(process.pid), is_ours)
