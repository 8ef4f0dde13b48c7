"""Processes that go on after the command that started them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def start_detached(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output: BinaryIO | int = subprocess.DEVNULL,
) -> int:
    """Start a process that Ctrl-C does not reach, and for which nobody waits.

    Args:
        command: Its command line.
        environment: Its environment; by default this process's.
        folder: Its working folder; by default this process's.
        output: Receives what it prints.

    Returns:
        Its process id.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    process.returncode = 0  # it outlives us on purpose, and Popen would warn
    return process.pid
