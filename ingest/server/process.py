"""The process of a server: whose it is, whether it listens, how it is ended."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

import psutil

from ingest.errors import EmbeddedError

if TYPE_CHECKING:
    from ingest.progress import Progress

_STOP_S, _POLL_S = 60.0, 0.25


def alive(process: psutil.Process) -> bool:
    """Whether it runs: a zombie, whose parent has not waited for it, has ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_users_own(process: psutil.Process) -> bool:
    """Whether it runs as this user; one of another user can have any arguments."""
    if not hasattr(os, "getuid"):
        return True
    try:
        return process.uids().real == os.getuid()
    except psutil.Error:
        return False


def listens(process: psutil.Process, port: int | None) -> bool:
    """Whether this process has opened the port.

    Raises:
        EmbeddedError: That cannot be seen, so that the password must not be sent.
    """
    try:
        connections = process.net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    except psutil.Error as error:
        raise EmbeddedError(
            f"it cannot be seen whether Neo4j (process {process.pid}) listens on port "
            f"{port}, so the password is not sent: use your own server (NEO4J_URI)"
        ) from error
    return any(
        one.status == psutil.CONN_LISTEN and one.laddr.port == port
        for one in connections
    )


def end(process: psutil.Process, progress: Progress) -> None:
    """Ask it to end, and kill it after a minute.

    Raises:
        EmbeddedError: It runs even so.
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
    """Wait for a minute at most."""
    begun = time.monotonic()
    while (waited := time.monotonic() - begun) < _STOP_S:
        progress("stop Neo4j", int(waited), None)
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(_POLL_S)
        if not alive(process):
            return True
    return False
