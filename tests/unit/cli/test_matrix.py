"""Every command on a dump of every format, however it is kept: each refusal is meant.

The quick suite tries each command on some; the deep suite on all, and prints the table.
Loaded dumps are in `tests/integration/test_matrix_of_loaded.py`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from ingest.errors import FINDINGS
from tests.deep import PROFILE
from tests.fuzz.seeds import SEEDS
from tests.hints import ran

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WAYS = ("file", "export", "fleet")
"""How a dump is kept where no server is needed."""


class Kept(NamedTuple):
    """Two dumps of a format, one way or another."""

    format: str
    way: str
    first: str
    second: str
    type: str


def commands(kept: Kept, new: str) -> dict[str, list[str]]:
    """Each command that takes a dump.

    Args:
        kept: Of what.
        new: A path that is free.
    """
    first, second = kept.first, kept.second
    asked = "--dump" if kept.way == "loaded" else "--in"
    return {
        "info": ["info", first],
        "info of two": ["info", first, second],
        "why": ["why", kept.type, asked, first],
        "objsize": ["objsize", first, kept.type],
        "what-if": ["what-if", first],
        "report": ["report", asked, first],
        "query": ["query", "type-histogram", asked, first],
        "compare": ["compare", first, second],
        "check": ["check", first, second, "--allow-incomplete"],
        "timeline": ["timeline", first],
        "export": ["export", first, f"{new}-tables"],
        "export to Neo4j": ["export", first, f"{new}-in", "--for", "neo4j-admin"],
        "fleet add": ["fleet", "add", first, "--to", f"{new}-fleet"],
    }


TIMELINES = {"nettrace", "clrprofiler"}
"""Formats that record collections."""


def refusal(kept: Kept, command: str) -> str | None:
    """Why a command refuses a dump, in words of its message; ``None`` if it does not.

    - Collections are no part of the tables of a dump, and few formats record them.
    - A fleet and an export are made of files: what they keep was read before.
    """
    if command == "timeline" and kept.way != "file":
        return "collections are read from a dump's file"
    if command == "timeline" and kept.format not in TIMELINES:
        return "records no collections"
    if command == "fleet add" and kept.way == "loaded":
        return "no such file or folder"
    if command == "fleet add" and kept.way != "file":
        return "was read before, and a fleet takes the files of dumps"
    if command.startswith("export") and kept.way in ("fleet", "loaded"):
        return "dumps that a database or a fleet keeps are not taken here"
    return None


def made(folder: Path, package: str, ways: Sequence[str]) -> Iterator[Kept]:
    """Dumps of a format in a folder."""
    a, b = f"a-{package}", f"b-{package}"
    for path in (a, b):
        (folder / path).write_bytes(SEEDS[package]()[0])
    one = ["query", "type-histogram", "--in", a, "-p", "limit=1", "--json"]
    code, said = ran(one)
    assert code == 0, said
    name = json.loads(said[said.index("{") :])["rows"][0]["type"]
    if "file" in ways:
        yield Kept(package, "file", a, b, name)
    if "export" in ways:
        for path in (a, b):
            assert ran(["export", path, f"export-{path}"])[0] == 0
        yield Kept(package, "export", f"export-{a}", f"export-{b}", name)
    if "fleet" in ways:
        add = ["fleet", "add", a, "--to", f"fleet-{package}", "--table", "all"]
        code, said = ran(add)
        assert code == 0, said
        kept = f"fleet-{package}::{a}"
        yield Kept(package, "fleet", kept, kept, name)


CHOSEN = dict.fromkeys(SEEDS, WAYS) if PROFILE == "deep" else {"v8": WAYS}


def faults_of(
    dumps: Sequence[Kept], run: Callable[..., tuple[int, str]] = ran
) -> tuple[list[object], Counter[tuple[str, str, str]]]:
    """Commands that refuse what they should take or take what they should refuse.

    Returns:
        These, and how often each command has refused a dump, by way and reason.
    """
    faults, refused = list[object](), Counter[tuple[str, str, str]]()
    for number, kept in enumerate(dumps):
        for command, words in commands(kept, f"new{number}").items():
            code, said = run(words)
            is_refused = bool(code) and not (command == "check" and code == FINDINGS)
            expected = refusal(kept, command)
            if is_refused != (expected is not None) or (expected or "") not in said:
                faults.append((kept, command, code, expected, said))
            if is_refused:
                refused[command, kept.way, expected or said] += 1
    return faults, refused


def table(refused: Counter[tuple[str, str, str]]) -> str:
    """What was refused, a line each."""
    return "".join(
        f"{command:<16} {way:<7} {count:>3}  {why}\n"
        for (command, way, why), count in sorted(refused.items())
    )


@pytest.mark.slow
def test_each_refusal_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dumps = [
        kept
        for package, ways in CHOSEN.items()
        for kept in made(tmp_path, package, ways)
    ]
    faults, refused = faults_of(dumps)
    if PROFILE == "deep":
        with capsys.disabled():
            sys.stdout.write(
                f"\n{len(dumps)} dumps, {len(commands(dumps[0], ''))} commands\n"
            )
            sys.stdout.write(table(refused))
    assert not faults, "\n".join(map(str, faults))
    assert refused
