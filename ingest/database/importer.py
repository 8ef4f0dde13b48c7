"""``neo4j-admin database import full`` for the embedded server."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psutil

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server import launch
from ingest.server.artifacts import disk_error
from ingest.server.embedded import DATABASE
from ingest.server.launch import (
    archive_flags,
    environment,
    import_flags,
    last_words,
    packaged_java,
    temporary_flags,
)
from ingest.server.process import is_users_own
from ingest.system import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.server.embedded import EmbeddedServer

_ARGUMENTS = "arguments"
_KILLED_S, _POLL_S = 30.0, 0.02
_WITH_ITS_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Replaces itself by a program, which the kernel kills when the parent ends.

Source: prctl(2), ``PR_SET_PDEATHSIG``, which ``execve`` keeps.
"""
_FULL_BYTES = 128 << 20
_DONE = "IMPORT DONE"
"""Java needs half a second more to close the store and to end."""
_STEP = re.compile(r"\((\d)/(\d)\) ")
_PERCENT = re.compile(r"\s(\d{1,3})%")
_SHARES = (0.45, 0.15, 0.25, 0.15)
"""Measured share of time of each step: nodes, relationships, linking, counting."""


class ImportMeter:
    """Finds the progress of an import in its output.

    Each of four steps prints a heading like ``(1/4) Node import``, then lines of dots
    that end in a percentage, every 5 %.
    """

    def __init__(self) -> None:
        self._step = 0
        self.done = 0.0

    def read(self, line: str) -> float:
        """Parse one line; returns the share of the import that is done, 0 to 1."""
        if step := _STEP.match(line):
            self._step = min(int(step[1]), len(_SHARES))
            self.done = max(self.done, sum(_SHARES[: self._step - 1]))
        elif self._step and (percent := _PERCENT.search(line)):
            before, share = sum(_SHARES[: self._step - 1]), _SHARES[self._step - 1]
            self.done = max(self.done, before + share * min(int(percent[1]), 100) / 100)
        return self.done


class StartedImport:
    """An import whose Java process starts while its input is still being written.

    Java opens the file of its arguments, which is a pipe, and waits there. Without such
    pipes, Java is started when the arguments are known.
    """

    def __init__(
        self, home: Path, work: Path, command: list[str], variables: dict[str, str]
    ) -> None:
        self._home = home
        self._work = work
        self._command = command
        self._variables = variables
        self._arguments = work / _ARGUMENTS
        self._process: subprocess.Popen[str] | None = None
        self._output: list[str] = []
        try:
            os.mkfifo(self._arguments, 0o600)
        except (
            AttributeError,
            OSError,
        ):  # neither Windows nor every file system has it
            return
        self._start()

    def run(self, arguments: Sequence[str], on_share: Callable[[float], None]) -> None:
        """Import, and wait until only closing the store is left; see `finish`.

        Args:
            arguments: Arguments of the command after the name of the database. Paths in
                them are relative to the folder of the input.
            on_share: Called with the share that is done, 0 to 1.

        Raises:
            EmbeddedError: The import cannot be started, or fails.
        """
        text = "".join(f"{argument}\n" for argument in arguments)
        if self._process is None:
            self._arguments.write_text(text, encoding="utf-8")
            process = self._start()
        else:
            process = self._process
            _write_to_pipe(self._arguments, text, process)
        meter = ImportMeter()
        assert process.stdout is not None
        for line in process.stdout:
            self._output.append(line)
            on_share(meter.read(line))
            if line.startswith(_DONE):
                return
        self.finish()

    def finish(self) -> None:
        """Wait until the new store is closed.

        Raises:
            EmbeddedError: The import has failed.
        """
        process = self._process
        assert process is not None
        assert process.stdout is not None
        self._output += process.stdout
        process.wait()
        if process.returncode != 0:
            if shutil.disk_usage(self._work).free < _FULL_BYTES:  # no output says it
                raise disk_error(OSError(errno.ENOSPC, ""), self._home)
            raise EmbeddedError(_failure(process.returncode, "".join(self._output)))

    def end(self) -> None:
        """End the import, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            with self._process:  # closes the pipe of its output, and waits
                pass
        self._arguments.unlink(missing_ok=True)

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            _ended_with_us(self._command),
            env=self._variables,
            cwd=self._work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches only us, and we kill Java
        )
        return self._process


@contextmanager
def started_import(
    server: EmbeddedServer, work: Path, data: Path, progress: Progress = silent
) -> Iterator[StartedImport]:
    """Start an import into a new data folder; the import ends with the block.

    Args:
        server: The server whose Java and Neo4j are used. It may be running.
        work: A folder in the server's home for the input files.
        data: The data folder to create.
        progress: Called while missing jars are downloaded.

    Raises:
        EmbeddedError: There is no Java or Neo4j for it.
    """
    java, _ = packaged_java(server.version)
    jars = server.jars(progress)
    conf = work / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "neo4j.conf").write_text(
        f"server.directories.data={data.name}\n", encoding="utf-8"
    )
    sizes = launch.for_import(total_mib=launch.total_mib())
    command = [
        str(java),
        *import_flags(heap_mib=sizes.heap_mib),
        *temporary_flags(work),
        *archive_flags(java, jars),
        "org.neo4j.cli.AdminTool",
        *("database", "import", "full", DATABASE),
        f"--max-off-heap-memory={sizes.page_cache_mib}m",
        f"{_mark(server.home)}{work.name}/import.report",
        f"@{_ARGUMENTS}",
    ]
    variables = environment(server.home, jars, conf)
    started = StartedImport(server.home, work, command, variables)
    try:
        with interrupts.at_the_end(started.end):
            yield started
    finally:
        started.end()


def _write_to_pipe(pipe: Path, text: str, process: subprocess.Popen[str]) -> None:
    """Write all of a text, unless the process that should read it has ended."""
    while process.poll() is None:
        try:
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # it has not opened the pipe yet
                raise
            time.sleep(_POLL_S)
            continue
        os.set_blocking(descriptor, True)
        with (
            suppress(BrokenPipeError),
            os.fdopen(descriptor, "w", encoding="utf-8") as f,
        ):
            f.write(text)
        return


def _ended_with_us(command: Sequence[str]) -> list[str]:
    """``command``, changed to end with this process where the system can do that.

    Elsewhere the next load or start of the server ends it: see `end_importers`.
    """
    if sys.platform != "linux":
        return [*command]
    ours = [sys.executable, "-I", "-S", "-c", _WITH_ITS_PARENT, str(os.getpid())]
    return [*ours, *command]


def _failure(code: int, output: str) -> str:
    """The message for an import with this exit code, or the negative of a signal."""
    how = f"exit code {code}"
    if code < 0:
        how = f"killed by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:
        how += ", perhaps for lack of memory"
    words = last_words(output)
    return f"neo4j-admin import failed ({how})" + (f": {words}" if words else "")


def end_importers(home: Path) -> None:
    """Kill imports of this home that outlived the command that started them."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            named = any(part.startswith(_mark(home)) for part in process.cmdline())
            if named and is_users_own(process):
                process.kill()
                process.wait(_KILLED_S)


def _mark(home: Path) -> str:
    """The argument by which an import of this home is found among processes."""
    return f"--report-file={home}/"
