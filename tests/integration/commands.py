"""The tool as its user runs it, most often as a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ingest.cli import main
from tests.conftest import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KILLING = """
import contextlib, os, signal, sys
from ingest.__main__ import main
from ingest.database import bolt, connection

victim, *arguments = sys.argv[1:]
count = bolt._Graph._count

def count_and_kill(self, counters):
    count(self, counters)
    if self.done > self._total / 2:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(victim) or os.getpid(), signal.SIGKILL)

bolt.BATCH_ROWS = 500
bolt._Graph._count = count_and_kill
connection.RETRY_SECONDS = 2.0  # whoever is dead stays dead
sys.argv = ["ingest", "load", *arguments]
sys.exit(main())
"""


QUICK_MAIN = """
import sys
from ingest.__main__ import main
from ingest.server import embedded
from tests.quick import quick_flags

embedded.jvm_flags = quick_flags
embedded._BOLT_PORT = embedded._HTTP_PORT = 0
sys.exit(main())
"""
"""The command line; a server that it starts is one for tests."""


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start a command as a process that can be killed."""
    return subprocess.Popen(
        [sys.executable, "-c", QUICK_MAIN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=CHECKOUT,
    )


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The same, and wait until it has ended."""
    process = started(*arguments)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def listed() -> set[str]:
    """Names of the loaded dumps, from the very next command."""
    done = ended("list", "--json")
    assert done.returncode == 0, done.stderr
    return {dump["name"] for dump in json.loads(done.stdout)}


def load_and_kill(
    path: Path, victim: int = 0, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Load over Bolt; when half is written, kill -9 a process, or the load itself."""
    return subprocess.run(
        [sys.executable, "-c", _KILLING, str(victim), str(path), "--via", "bolt"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=CHECKOUT,
        check=False,
        timeout=300,
    )


def output(*arguments: str) -> str:
    """What a command prints that must go well, and needs no process of its own."""
    printed = io.StringIO()
    with pytest.raises(SystemExit) as exit_, contextlib.redirect_stdout(printed):
        main(arguments)
    assert not exit_.value.code
    return printed.getvalue()


def counted(name: str, folder: Path) -> dict[str, int]:
    """Objects and references of a dump, counted in the graph."""
    own = folder / "count.cypher"
    own.write_text(
        "MATCH (o:Object {dump: $dump}) RETURN count(o) AS objects, "
        "sum(COUNT { (o)-[:REFERENCES]->(:Object) }) AS references",
        encoding="utf-8",
    )
    answer = json.loads(output("query", str(own), "--dump", name, "--json"))
    (row,) = answer["rows"]
    return dict(row)
