"""``neo4j-admin database import full`` for the embedded server, beside it."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import psutil

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server import memory
from ingest.server.artifacts import disk_error
from ingest.server.class_archive import archive_flags
from ingest.server.embedded import DATABASE
from ingest.server.launch import environment, last_words, packaged_java

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.server.embedded import EmbeddedServer

_KILLED_S = 30.0
_FULL_BYTES = 128 << 20
_STEP = re.compile(r"\((\d)/(\d)\) ")
_PERCENT = re.compile(r"\s(\d{1,3})%")
_SHARES = (0.45, 0.15, 0.25, 0.15)
"""Of the time: nodes, relationships, linking, counting (measured at 1 and 10 M)."""


class ImportMeter:
    """How far an import is, from what it prints.

    It prints ``(1/4) Node import``, then a line of dots behind which stands each
    further twentieth as ``5%``; and so on for four steps.
    """

    def __init__(self) -> None:
        self._step = 0
        self.done = 0.0

    def read(self, line: str) -> float:
        """Take one line; returns the part of the import that is done, 0 to 1."""
        if step := _STEP.match(line):
            self._step = min(int(step[1]), len(_SHARES))
            self.done = max(self.done, sum(_SHARES[: self._step - 1]))
        elif self._step and (percent := _PERCENT.search(line)):
            before, share = sum(_SHARES[: self._step - 1]), _SHARES[self._step - 1]
            self.done = max(self.done, before + share * min(int(percent[1]), 100) / 100)
        return self.done


def run_import(
    server: EmbeddedServer,
    work: Path,
    data: Path,
    arguments: Sequence[str],
    on_share: Callable[[float], None],
    progress: Progress = silent,
) -> None:
    """Import into a new data folder; the server may run on its own folder.

    Args:
        server: Whose Java and Neo4j to use.
        work: A folder in the server's home with the input files; paths in
            ``arguments`` start there.
        data: The data folder to make.
        arguments: Behind the database's name.
        on_share: Told how much is done, 0 to 1.
        progress: Told of fetching, where something is missing.

    Raises:
        EmbeddedError: If it cannot be run, or fails.
    """
    java, _ = packaged_java(server.version)
    jars = server.jars(progress)
    conf = work / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "neo4j.conf").write_text(
        f"server.directories.data={data}\n", encoding="utf-8"
    )
    sizes = memory.for_import(total_mib=memory.total_mib())
    command = [
        str(java),
        f"-Xmx{sizes.heap_mib}m",
        "-XX:+UseParallelGC",
        *archive_flags(java, jars),
        "org.neo4j.cli.AdminTool",
        *("database", "import", "full", DATABASE),
        *arguments,
        f"--max-off-heap-memory={sizes.page_cache_mib}m",
        f"{_mark(server.home)}{work.name}/import.report",
    ]
    with subprocess.Popen(
        command,
        env=environment(server.home, jars, conf),
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # a Ctrl-C is for us, and we end it
    ) as process:
        assert process.stdout is not None
        meter, said = ImportMeter(), []
        try:
            for line in process.stdout:
                said.append(line)
                on_share(meter.read(line))
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        if shutil.disk_usage(work).free < _FULL_BYTES:  # it does not say so itself
            raise disk_error(OSError(errno.ENOSPC, ""), server.home)
        words = last_words("".join(said)) or "it said nothing"
        raise EmbeddedError(f"neo4j-admin could not import: {words}")


def end_importers(home: Path) -> None:
    """End imports of this home whose command was killed."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(part.startswith(_mark(home)) for part in process.cmdline()):
                process.kill()
                process.wait(_KILLED_S)


def _mark(home: Path) -> str:
    """By which an importer of this home is known in a list of processes."""
    return f"--report-file={home}/"
