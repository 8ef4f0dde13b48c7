"""The wheel in empty environments: each Python, newest and oldest libraries.

    make test-wheels

Each row is an environment with the wheel and what it needs, and a home of its own. The
commands of a first quarter of an hour are run in it. Whatever fails ends this with exit
code 1; so does native code that is said to be compiled more than once in a home, or at
all where the wheel brings it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil

from tests.conftest import CHECKOUT, share_jars
from tests.pythons import installed

_MINORS = (11, 12, 13)
_RESOLUTIONS = {"newest": "highest", "oldest": "lowest-direct"}
_LIBRARIES = ("numpy", "numba", "polars", "neo4j")
_NOTICE = "compiling native code"
_INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "smoke", "version": "1"},
    },
}  # fmt: skip


class Ran(NamedTuple):
    """What a command wrote, and its processor time, whatever else runs."""

    out: str
    said: str
    cpu_s: float


class Smoke:
    """The first commands of a user, with a home of their own.

    Args:
        ingest: The command.
        home: Its home, in which it is run too.
        **environment: Further variables.

    Attributes:
        ran: What each did, by its words.
    """

    def __init__(self, ingest: Path, home: Path, **environment: str) -> None:
        self._ingest, self._home = ingest, home
        self.ran: dict[str, Ran] = {}
        home.mkdir(parents=True, exist_ok=True)
        left_out = {"NUMBA_CACHE_DIR", "NEO4J_URI", "PYTHONPATH", "CI"}
        kept = {name: os.environ[name] for name in os.environ.keys() - left_out}
        self._environment = {**kept, **environment, "INGEST_HOME": str(home)}

    def without_a_server(self) -> None:
        """What needs no database.

        Raises:
            AssertionError: a command fails, or has another answer.
        """
        self._run("example")
        assert "24 LevelScreen" in self._run("info", "example.gclog")
        assert "GameEvents" in self._run("why", "LevelScreen", "--in", "example.gclog")
        assert "handlers" in self._run("report", "--in", "example.gclog")
        assert "event-handlers" in self._run("queries")
        self._run("capture", "list", "--json")

    def mcp(self) -> None:
        """An agent's client says hello.

        Raises:
            AssertionError: it is not answered.
        """
        asked = f"{json.dumps(_INITIALIZE)}\n"
        answer = json.loads(self._run("mcp", given=asked).splitlines()[0])
        assert answer["result"]["serverInfo"]["name"] == "heaproots", answer

    def with_a_server(self) -> None:
        """What starts the embedded Neo4j, which is stopped again.

        Raises:
            AssertionError: a command fails, or has another answer.
        """
        share_jars(self._home)
        try:
            self._run("load", "example.gclog", "--via", "bulk")
            assert "LevelScreen" in self._run("report")
            assert "LevelScreen" in self._run("query", "leak-suspects")
        finally:
            self._run("server", "stop")

    def notices(self) -> int:
        """How often it was said that native code is compiled."""
        return sum(one.said.count(_NOTICE) for one in self.ran.values())

    def _run(self, *words: str, given: str = "") -> str:
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [self._ingest, *words], input=given, cwd=self._home,
            env=self._environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
        self.ran[" ".join(words)] = Ran(done.stdout, done.stderr, cpu_s)
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout


def _wait_for_background(python: Path) -> None:
    """Wait until all kernels are compiled that another process compiles."""
    for one in psutil.process_iter(["cmdline"]):
        line = one.info["cmdline"] or []
        if line[-1:] == ["ingest.arrays.precompile"] and line[0] == str(python):
            one.wait(900)


def _requirements() -> list[str]:
    """What the package needs, and two extras: "lowest" is of what is asked for."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["embedded"], *extras["mcp"]]


def _row(wheel: Path, minor: int, libraries: str, folder: Path) -> list[str]:
    """Install, run, and describe one environment."""
    python = folder / "venv/bin/python"
    uv = [sys.executable, "-m", "uv"]
    for words in (
        ["venv", "--quiet", "--python", str(installed(minor)), str(folder / "venv")],
        ["pip", "install", "--quiet", "--python", str(python), "--only-binary", ":all:",
         "--resolution", _RESOLUTIONS[libraries], f"heaproots @ {wheel.as_uri()}",
         *_requirements()],
    ):  # fmt: skip
        subprocess.run([*uv, *words], check=True)
    asked = f"from importlib.metadata import version as v; print(*map(v, {_LIBRARIES}))"
    versions = subprocess.run(
        [python, "-c", asked], check=True, capture_output=True, text=True
    ).stdout.split()

    smoke = Smoke(folder / "venv/bin/ingest", folder / "home")
    smoke.without_a_server()
    smoke.mcp()
    smoke.with_a_server()
    info = smoke.ran["info example.gclog"]
    _wait_for_background(python)
    after = Smoke(folder / "venv/bin/heaproots", folder / "home")
    after.without_a_server()
    assert not after.notices(), "said again after all was compiled"
    assert smoke.notices() <= 1, "said more than once"
    return [
        f"3.{minor}", libraries,
        *versions, f"{info.cpu_s:.1f} s", str(smoke.notices()),
        f"{after.ran['info example.gclog'].cpu_s:.1f} s",
    ]  # fmt: skip


def main() -> None:
    """Try each environment, and print the table."""
    parser = argparse.ArgumentParser(prog="make test-wheels", description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--minor", type=int, action="append", choices=_MINORS)
    parser.add_argument("--libraries", action="append", choices=_RESOLUTIONS)
    chosen = parser.parse_args()
    heads = ["Python", "libraries", *_LIBRARIES, "first info", "notices", "later"]
    print("| " + " | ".join(heads) + " |")
    print("| " + " | ".join("---" for _ in heads) + " |", flush=True)
    failed = False
    for minor in chosen.minor or _MINORS:
        if installed(minor) is None:
            print(f"**** NOT RUN: there is no Python 3.{minor} ****", flush=True)
            continue
        for libraries in chosen.libraries or _RESOLUTIONS:
            with TemporaryDirectory(prefix="wheel-") as folder:
                try:
                    row = _row(chosen.wheel.resolve(), minor, libraries, Path(folder))
                except (AssertionError, subprocess.CalledProcessError) as error:
                    failed = True
                    row = [f"3.{minor}", libraries, f"FAILED: {error}"]
            print("| " + " | ".join(row) + " |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
