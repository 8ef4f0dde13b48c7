"""Every command that the tool prints works when it is pasted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.words.command_line import quoted
from tests.conftest import use_server
from tests.hints import (
    CONTEXT,
    ODD,
    Printed,
    filled,
    pasted_from,
    printed_by,
    ran,
    words_of,
    write_dumps,
)
from tests.readme import COMMANDS, README

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.connection import Database
    from ingest.server.target import Target

pytestmark = [pytest.mark.server, pytest.mark.deep]

_CLEAR = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"
NOT_RUN = ("capture dotnet", "capture jvm", "capture dart", "browse")
"""They need a running program or an embedded server, and have tests of their own."""


LOADED = ("example", "shop", "it's $HOME & more")
"""The newest comes last."""

PRINTING = [
    ["info", "example.gclog"],
    ["info", ODD],
    ["info", "shop"],
    ["info", "level8.gclog", "level16.gclog"],
    ["info", "level8.gclog", "level16.gclog", "level24.gclog"],
    ["export", "shop.hprof", "exported", "--for", "neo4j-admin"],
    ["compare", "level8.gclog", "level24.gclog"],
    ["compare", "level8.gclog", "level24.gclog", "--html", "compare.html"],
    ["check", "level8.gclog", "level24.gclog"],
    ["check", "level8.gclog", "level24.gclog", "--format", "sarif"],
    ["what-if", "shop"],
    ["objsize", "shop", CONTEXT],
    ["report"],
    ["report", "--dump", "shop"],
    ["report", "--dump", "shop", "--format", "markdown"],
    ["report", "--dump", "shop", "--html", "report.html"],
    ["why", CONTEXT, "--dump", "shop"],
    ["why", CONTEXT, "--dump", "shop", "--html", "why.html"],
    ["why", "LevelScreen"],
    ["why", "RequestContxt", "--dump", "shop"],
    ["why", "0x1c1773", "--dump", "shop"],
    ["browse", "--print", "guide", "--dump", "shop"],
    ["list"],
    ["load", "example.gclog"],
    ["load", "two.nettrace"],
    ["queries"],
    ["queries", "path", "--dump", "shop"],
    ["queries", "JVM"],
    ["queries", "nosuchword"],
    ["query", "nosuchquery"],
    ["query", "survivors-of-dump", "--dump", "two"],
    ["query", "fleet-leaks"],
    ["query", "new-suspects", "--dump", "shop"],
    ["report", "--dump", "nosuchdump"],
    ["timeline", "two.nettrace"],
    ["fleet", "report", "nofleet"],
    ["fleet", "report", "fleet"],
    ["fleet", "report", "fleet", "--html", "fleet.html"],
    ["fleet", "add", "dumps", "--to", "fleet"],
    ["capture", "jvm", "4194304"],
    ["server", "logs"],
]


@pytest.fixture(scope="module")
def folder(
    database: Database,
    neo4j_target: Target,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """A folder with dumps, most of them loaded."""
    place = tmp_path_factory.mktemp("hints")
    database.run(_CLEAR)
    write_dumps(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(place / "home"))
        use_server(patch, neo4j_target)
        bin_ = Path(sys.executable).parent
        patch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
        patch.chdir(place)
        yield place


@pytest.fixture(autouse=True)
def no_server_is_left(home: Path) -> Iterator[None]:
    """One of the printed commands starts a server in the test's own home."""
    yield
    if home.exists():
        code, said = ran(["server", "stop"])
        assert code == 0, said


@pytest.mark.parametrize(("page", "least"), [(README, 9), (COMMANDS, 6)])
def test_a_page_can_be_pasted(
    page: Path, least: int, folder: Path, database: Database
) -> None:
    """In its order, in an empty folder, and with nothing loaded."""
    place = folder / f"pasted{least}"
    place.mkdir()
    lines = pasted_from(page.read_text(encoding="utf-8"))
    script = "set -e\n"
    for line in lines:
        # It is told by its exit code that the example leaks.
        ends = " || [ $? = 20 ]" if line.startswith("ingest check") else ""
        script += f"echo ... {quoted(line.splitlines()[0])}\n{line}{ends}\n"

    database.run(_CLEAR)
    try:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    finally:
        database.run(_CLEAR)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert len(lines) >= least
    assert "handlers" in done.stdout


@pytest.fixture(scope="module")
def printed(folder: Path) -> list[Printed]:
    """All commands that are printed by `PRINTING`, each once."""
    first = ["load", "example.gclog", "shop.hprof", ODD]
    fleet = ["fleet", "add", "dumps", "--to", "fleet"]
    return printed_by(folder, [first, fleet, *PRINTING])


def _runnable(printed: list[Printed]) -> list[tuple[str, Printed]]:
    """Each with the values that only the user knows."""
    return [
        (filled(one.line), one)
        for one in printed
        if not any(f"ingest {name}" in one.line for name in NOT_RUN)
    ]


def _fault(code: int, said: str, words: list[str], one: Printed) -> str:
    """What is wrong: it does not work, or is not about the dump that the text was."""
    if code not in ({0, 20} if words[0] == "check" else {0}):
        return f"exit {code}: {said}"
    if words[0] not in ("why", "report", "query") or "fleet" in " ".join(words):
        return ""
    if "--dump" not in words:
        return "it is about any dump"
    name = words[words.index("--dump") + 1]
    if "--dump" in one.by and one.by[one.by.index("--dump") + 1] != name:
        return f"it is about {name}"
    return "" if f"dump {name}, " in said else f"it does not say of which dump: {said}"


def test_every_printed_command_works(printed: list[Printed]) -> None:
    runnable = _runnable(printed)
    all_words = words_of(line for line, _ in runnable)

    faults = [
        (line, one.by, fault)
        for (line, one), words in zip(runnable, all_words, strict=True)
        if (fault := _fault(*ran(words), words, one))
    ]
    assert not faults, "\n".join(map(str, faults))
    kinds = {words[0] for words in all_words}
    assert {"compare", "check", "why", "report", "load", "query", "queries"} <= kinds
    assert any(CONTEXT in words for words in all_words)
    assert any(LOADED[-1] in words for words in all_words)


def _faults_of_pasted(chosen: list[tuple[str, Printed]]) -> list[tuple[str, str]]:
    faults = []
    for line, one in chosen:
        done = subprocess.run(
            ["bash", "-c", line],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        (words,) = words_of([line])
        fault = _fault(done.returncode, done.stdout + done.stderr, words, one)
        faults += [(line, fault)] if fault else []
    return faults


def test_a_shell_runs_what_is_hardest_to_quote(printed: list[Printed]) -> None:
    runnable = _runnable(printed)
    hard = [(line, one) for line, one in runnable if "$" in line or '"' in line]
    chosen = {line.split()[1]: (line, one) for line, one in hard}  # one of a command

    assert {"compare", "why"} <= chosen.keys()
    assert not _faults_of_pasted([chosen["compare"], chosen["why"]])


def test_a_shell_runs_all(printed: list[Printed]) -> None:
    assert not _faults_of_pasted(_runnable(printed))
