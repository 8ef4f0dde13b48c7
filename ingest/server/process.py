"""The process of a server: its start, end, user, port, and output if it failed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from ingest.errors import EmbeddedError
from ingest.server import artifacts
from ingest.server.launch import last_words
from ingest.system.detached import start_detached
from ingest.words.command_line import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.progress import Progress

LEAST_FREE_BYTES = 24 << 20
"""Neo4j needs this much free space on its disk to start and to commit."""

_PORT_TAKEN = re.compile(r"Address already in use|PortBindException")
_TAIL_BYTES = 65536
_STOP_S, _POLL_S = 60.0, 0.25
_ENDING_S = 3.0
"""More time than a process takes to end."""


class PortTaken(EmbeddedError):
    """Another process listens on the port that Neo4j was to use."""


def spawn(
    command: Sequence[str], environment: Mapping[str, str], home: Path, log: Path
) -> psutil.Process:
    """Start a server that outlives this process.

    Args:
        command: Its command line.
        environment: Its environment.
        home: Its working folder.
        log: Receives what it prints, and is emptied before.

    Raises:
        EmbeddedError: The program cannot be started.
    """
    with log.open("wb") as output:
        try:
            pid = start_detached(
                command, environment=environment, folder=home, output=output
            )
        except OSError as error:
            raise EmbeddedError(
                f"{command[0]} cannot be started ({error.strerror}); "
                f"{install_command('embedded')}"
            ) from error
    return psutil.Process(pid)  # psutil reaps it


def failed_start(process: psutil.Process, log: Path) -> EmbeddedError:
    """The error for a server that has ended instead of starting."""
    code: int | None = None
    with contextlib.suppress(psutil.Error):
        code = process.wait(0)
    how = "" if code is None else f" (exit {code})"
    if code == -9:
        how = " (killed, perhaps for lack of memory: see INGEST_NEO4J_HEAP_MIB)"
    said = _tail(log)
    if _PORT_TAKEN.search(said):
        kind: type[EmbeddedError] = PortTaken
    elif is_full(log.parent):
        return full_disk(log.parent.parent)
    else:
        kind = EmbeddedError
        artifacts.distrust()
    return kind(
        f"Neo4j failed to start{how}: {last_words(said) or 'no output'}: see {log}"
    )


def is_full(folder: Path) -> bool:
    """Whether Neo4j cannot work on the disk of a folder."""
    try:
        return shutil.disk_usage(folder).free < LEAST_FREE_BYTES
    except OSError:
        return False


def full_disk(folder: Path) -> EmbeddedError:
    """The error for a folder whose disk is full."""
    return artifacts.disk_error(OSError(errno.ENOSPC, ""), folder)


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def alive(process: psutil.Process) -> bool:
    """Whether a process runs; a zombie has ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_users_own(process: psutil.Process) -> bool:
    """Whether a process runs as this user; another user's can have any arguments."""
    if not hasattr(os, "getuid"):
        return True
    try:
        return process.uids().real == os.getuid()
    except psutil.Error:
        return False


def listens(process: psutil.Process, port: int | None) -> bool:
    """Whether this process has opened the port.

    Raises:
        EmbeddedError: This cannot be seen, so the password must not be sent.
    """
    return Listener(process, port).is_open()


class Listener:
    """The socket with which a process listens on a port.

    Args:
        process: The process.
        port: The port; ``None`` is never open.
    """

    def __init__(self, process: psutil.Process, port: int | None) -> None:
        self._process = process
        self._port = port
        self._fd = -1
        self._socket = ""

    def _connections(self) -> list[Any]:
        """Its sockets.

        The superuser owns the files of a process that is ending, or that is a zombie:
        nobody else can see them.

        Raises:
            psutil.Error: The process is gone, or its sockets cannot be seen.
        """
        end = time.monotonic() + _ENDING_S
        while True:
            try:
                return self._process.net_connections("tcp")
            except psutil.AccessDenied:
                if not alive(self._process):
                    raise psutil.NoSuchProcess(self._process.pid) from None
                if time.monotonic() > end:
                    raise
            time.sleep(_POLL_S)

    def is_open(self) -> bool:
        """Whether the process listens on the port.

        Finding out takes ten milliseconds or more; checking that the same socket is
        still open takes almost no time.

        Raises:
            EmbeddedError: This cannot be seen, so the password must not be sent.
        """
        if self._socket and self._open_file() == self._socket:
            return True
        try:
            connections = self._connections()
        except psutil.NoSuchProcess:
            return False
        except psutil.Error as error:
            raise EmbeddedError(
                "it cannot be seen whether Neo4j (process "
                f"{self._process.pid}) listens on port {self._port}, so the password "
                "is not sent: use your own server (NEO4J_URI)"
            ) from error
        for one in connections:
            if one.status == psutil.CONN_LISTEN and one.laddr.port == self._port:
                self._fd = one.fd
                self._socket = self._open_file()
                return True
        return False

    def _open_file(self) -> str:
        """The present file of the descriptor; each socket has a number of its own.

        Empty if the system does not say.

        Source: proc(5), ``/proc/pid/fd``.
        """
        try:
            return str(Path(f"/proc/{self._process.pid}/fd/{self._fd}").readlink())
        except OSError:
            return ""


def end(process: psutil.Process, progress: Progress) -> None:
    """Ask a process to end, and kill it after a minute.

    Raises:
        EmbeddedError: It still runs.
    """
    with contextlib.suppress(psutil.Error):
        process.terminate()
        if _ends(process, progress):
            return
        process.kill()
        _ends(process, progress)
    if alive(process):
        raise EmbeddedError(
            f"Neo4j (process {process.pid}) does not end: kill it, and try again"
        )


def _ends(process: psutil.Process, progress: Progress) -> bool:
    """Wait a minute at most for a process to end."""
    begun = time.monotonic()
    while (waited := time.monotonic() - begun) < _STOP_S:
        progress("stop Neo4j", int(waited), None)
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(_POLL_S)
        if not alive(process):
            return True
    return False
