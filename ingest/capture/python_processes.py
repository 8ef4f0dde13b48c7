"""Which running programs are run by CPython, and what they run."""

from __future__ import annotations

import os
import re
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

import psutil

from ingest.capture.elf import functions
from ingest.capture.processes import (
    LOOK,
    PROC,
    Finder,
    RunningProgram,
    has_mapped,
    status_of,
    user_of,
)
from ingest.capture.remote_exec import look
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from ingest.capture.remote_exec import PythonRuntime

_LIBRARY = re.compile(r"/libpython3\.\d+t?[.\w-]*\.so")
_PROGRAM = re.compile(r"/(?:python|uwsgi|pypy)[\d.]*t?$")
_ENTRY = "Py_AddPendingCall"
_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")


def _programs(proc: object) -> list[RunningProgram]:
    del proc
    return [
        _target(pid)
        for pid in sorted(psutil.pids())
        if pid != os.getpid() and _is_python(pid)
    ]


def _is_python(pid: int) -> bool:
    """Whether a process runs Python, as its maps tell; else as its name tells."""
    try:
        text = (PROC / str(pid) / "maps").read_text(errors="replace")
    except PermissionError:
        return _name(pid).startswith("python")
    except OSError:
        return False
    if _LIBRARY.search(text):
        return True
    paths = {line.split(maxsplit=5)[-1] for line in text.splitlines() if "/" in line}
    return any(_PROGRAM.search(path) for path in paths)


def _of_pid(pid: int, proc: object) -> RunningProgram:
    del proc
    target = _target(pid)
    shown = f"process {pid} ({target.name})"
    if status_of(pid, "State")[:1] in ([], ["Z"]):
        raise CaptureError(f"process {pid} has ended; {LOOK}")
    if not target.is_ours:
        return target
    try:
        found = functions(pid, {_ENTRY})
        runtime = look(pid)
    except PermissionError:
        raise CaptureError(
            f"{shown} may not be looked at; run this as root, or have the program "
            "import heaproots_dump and call install(signal.SIGUSR2, PATH)"
        ) from None
    except OSError:
        raise CaptureError(f"process {pid} has ended; {LOOK}") from None
    if has_mapped(pid, "libpypy"):
        raise CaptureError(f"{shown} runs PyPy, whose own dumps have another format")
    if runtime is not None:
        _check(shown, runtime)
    if _ENTRY not in found:
        raise CaptureError(f"{shown} does not run CPython; {LOOK}")
    return target


def _check(shown: str, runtime: PythonRuntime) -> None:
    """Check that the runtime's own description allows a capture.

    Raises:
        CaptureError: it does not.
    """
    if runtime.is_free_threaded:
        major, minor = runtime.version
        raise CaptureError(
            f"{shown} is a free-threaded Python {major}.{minor}, which cannot be "
            "captured; run it with the usual build"
        )
    if runtime.is_offered is None:
        raise CaptureError(
            f"{shown} refuses to be debugged (PYTHON_DISABLE_REMOTE_DEBUG, -X "
            "disable-remote-debug, or its build); have it import heaproots_dump and "
            "call install(signal.SIGUSR2, PATH)"
        )


def _target(pid: int) -> RunningProgram:
    try:
        words = psutil.Process(pid).cmdline()
        is_ours = os.geteuid() in (0, psutil.Process(pid).uids().effective)
    except psutil.Error:
        words, is_ours = [], False
    name = script(words) if _is_python(pid) else ""
    return RunningProgram(pid, name or _name(pid), user_of(pid), is_ours)


def script(arguments: list[str]) -> str:
    """What the command line of ``python`` runs: a script or a module."""
    rest = iter(arguments[1:])
    for word in rest:
        if word == "-m":
            return next(rest, "")
        if word == "-c":
            return ""
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return PurePath(word).name
    return ""


def _name(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return "?"


def _spellings(name: str) -> set[str]:
    return {name.lower(), name.lower().removesuffix(".py")}


PYTHON = Finder(
    runtime="python",
    unsupported=""
    if sys.platform == "linux"
    else "capturing Python is supported on Linux only; import heaproots_dump in the "
    "program instead, and call dump(PATH)",
    unknown="no Python program is",
    none_runs=", and none is running",
    programs=_programs,
    of_pid=_of_pid,
    spellings=_spellings,
)
