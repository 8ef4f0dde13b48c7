"""The start of a server's process, and what it printed if it failed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import psutil

from ingest.errors import EmbeddedError
from ingest.server import artifacts
from ingest.server.launch import last_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LEAST_FREE_BYTES = 24 << 20
"""Neo4j neither starts nor commits on a disk with less."""

_PORT_TAKEN = re.compile(r"Address already in use|PortBindException")
_TAIL_BYTES = 65536


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
            child = subprocess.Popen(
                command,
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C does not reach the server
            )
        except OSError as error:
            raise EmbeddedError(
                f"{command[0]} cannot be started ({error.strerror}): reinstall "
                "heaproots[embedded]"
            ) from error
    # It outlives us on purpose, and Popen would warn; psutil reaps it.
    child.returncode = 0
    return psutil.Process(child.pid)


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
