"""Which running programs have a .NET diagnostics port, and where it is.

The port is a Unix socket ``dotnet-diagnostic-PID-KEY-socket`` in the program's
``$TMPDIR``, else in ``/tmp``. PID is the one that the program sees, which differs
from ours if it runs in a container; KEY is the start time of the process in ticks, as
in ``/proc/PID/stat`` on Linux. A killed program leaves its socket behind.

Source: dotnet/diagnostics, documentation/design-docs/ipc-protocol.md.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import psutil

from ingest.capture.processes import (
    LOOK,
    Finder,
    RunningProgram,
    environment_of,
    has_mapped,
    is_socket_of,
    number_within,
    user_of,
)
from ingest.errors import CaptureError

RUNTIME_LIBRARY = "libcoreclr."
_SOCKET = re.compile(r"dotnet-diagnostic-(\d+)-(\d+)-socket")
_SWITCHES = ("DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics",
             "DOTNET_EnableDiagnostics_IPC")  # fmt: skip


def _programs(proc: Path) -> list[RunningProgram]:
    """All that have a port; sockets of ended ones are ignored."""
    found: dict[int, RunningProgram] = {}
    alive = sorted(psutil.pids())
    for folder in _common_folders():
        for socket, pid, key in _sockets_in(folder):
            began = _began(pid, proc)
            is_its = pid in alive and (began is None or began == key)
            if is_its and _is_of(socket, pid):
                found.setdefault(pid, _target(pid, socket))
    for pid in alive:
        if pid not in found and has_mapped(pid, RUNTIME_LIBRARY, proc):
            socket_ = _socket_of(pid, proc)
            if socket_ is not None:
                found[pid] = _target(pid, socket_)
    return [found[pid] for pid in sorted(found)]


def _of_pid(pid: int, proc: Path) -> RunningProgram:
    socket = _socket_of(pid, proc)
    if socket is not None:
        return _target(pid, socket)
    name = _name(pid)
    has_runtime = has_mapped(pid, RUNTIME_LIBRARY, proc)
    if has_runtime is None:
        raise CaptureError(
            f"process {pid} ({name}) cannot be inspected, and no diagnostics port of "
            "it was found; if it runs .NET, run this as its user, or as root"
        )
    if not has_runtime:
        raise CaptureError(
            f"process {pid} ({name}) is not a .NET program: it has not loaded "
            f"{RUNTIME_LIBRARY}so, and has no diagnostics port; {LOOK}"
        )
    environment = environment_of(pid, proc)
    for switch in _SWITCHES:
        if environment.get(switch) == "0":
            raise CaptureError(
                f"process {pid} ({name}) runs .NET with {switch}=0, so it has no "
                "diagnostics port; start it without that setting"
            )
    folders = ", ".join(str(folder) for folder in _folders_of(pid, proc))
    raise CaptureError(
        f"process {pid} ({name}) runs .NET but has no diagnostics port in {folders}: "
        "the socket was deleted, or its runtime is older than 3.0; restart it"
    )


def _name(pid: int) -> str:
    """The name of the program of that process, for display."""
    try:
        process = psutil.Process(pid)
        name = process.name()
        with suppress(psutil.Error):
            arguments = process.cmdline()
            assembly = next(
                (word for word in arguments[1:] if word.endswith((".dll", ".exe"))), ""
            )
            if name.startswith("dotnet") and assembly:
                return Path(assembly).stem
            # The system truncates names to 15 letters.
            if arguments and len(name) == 15:
                full = Path(arguments[0]).name
                return full if full.startswith(name) else name
    except psutil.Error:
        return "?"
    else:
        return name


def _target(pid: int, socket: Path) -> RunningProgram:
    user = user_of(pid)
    if not user:
        with suppress(OSError):
            user = str(socket.stat().st_uid)
    return RunningProgram(
        pid, _name(pid), user, os.access(socket, os.R_OK | os.W_OK), socket
    )


def _common_folders() -> list[Path]:
    """Folders with the ports of programs that have our environment, or none."""
    named = os.environ.get("TMPDIR")
    return list(dict.fromkeys(Path(name) for name in (named, "/tmp") if name))


def _sockets_in(folder: Path) -> list[tuple[Path, int, int]]:
    """Sockets in a folder, each with its pid and key."""
    try:
        return [
            (path, int(match[1]), int(match[2]))
            for path in sorted(folder.iterdir())
            if (match := _SOCKET.fullmatch(path.name)) and path.is_socket()
        ]
    except OSError:
        return []


def _socket_of(pid: int, proc: Path) -> Path | None:
    """The port of a process, also in a container; ``None`` if not found."""
    began = _began(pid, proc)
    number = number_within(pid, proc)
    for folder in (*_folders_of(pid, proc), *_common_folders()):
        is_its_own = folder.is_relative_to(proc)
        for path, of, key in _sockets_in(folder):
            is_its = of == (number if is_its_own else pid) and began in (None, key)
            if is_its and _is_of(path, pid):
                return path
    return None


def _is_of(path: Path, pid: int) -> bool:
    try:
        return is_socket_of(path, pid)
    except OSError:
        return False


def _folders_of(pid: int, proc: Path) -> list[Path]:
    """The temporary folders of a process, seen through its own root."""
    root = proc / str(pid) / "root"
    named = environment_of(pid, proc).get("TMPDIR", "")
    return [root / name.strip("/") for name in dict.fromkeys((named, "/tmp")) if name]


def _began(pid: int, proc: Path) -> int | None:
    """Start time of a process in ticks since boot; ``None`` if unknown."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


DOTNET = Finder(
    runtime="dotnet",
    unsupported=""
    if os.name == "posix"
    else "capturing is not supported on Windows; take a .gcdump there instead",
    unknown="no .NET program is",
    none_runs=", and none that can be captured is running; if one is, give its "
    "process id",
    programs=_programs,
    of_pid=_of_pid,
)
