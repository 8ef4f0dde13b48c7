"""Real Python programs: a suspect says what leaks, and healthy ones have no finding."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

import ingest
from ingest.analysis.metrics import analyse
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.suspects.find import find_suspects
from tests.bench.answers.cpython import HOLDERS, SOURCE, truths
from tests.deep import PROFILE
from tests.pythons import PYTHONS

if TYPE_CHECKING:
    from pathlib import Path

HEALTHY = SOURCE.parent / "healthy.py"

QUICK = ("module_dict", "lru_cache", "closure", "traceback", "running_local")


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOLDERS if PROFILE == "deep" else QUICK)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_leak_is_named_with_what_holds_it(
    python: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "leak.hrpy"
    command = [python, str(SOURCE), kind, str(path)]
    subprocess.run(command, check=True, timeout=60)
    with open_source(str(path)) as source:
        graph = read(source, DEFAULTS, silent)
    first, *_ = find_suspects(graph, analyse(graph)).suspects

    right = truths(kind)
    leaks = right[0].type.removeprefix("__main__.")
    assert first.sentence.startswith(f"4,000 {leaks} (")
    assert any(str(one.words) in first.sentence for one in right)


REPORTED = SOURCE.parent / "reported.py"

WORDS = tomllib.loads(REPORTED.with_suffix(".toml").read_text())["python"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ("waiting-clients", "large-cache", "wrapped-again", "queued-work", "kept-errors")
    if PROFILE == "quick"
    else [
        kind
        for kind, truth in WORDS.items()
        if kind != "cycles-without-collector" and not truth.get("is_open")
    ],
)
def test_a_program_after_a_report_is_told_as_it_is(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "leak.hrpy"
    command = [sys.executable, str(REPORTED), kind, str(path)]
    subprocess.run(command, check=True, timeout=60)
    with open_source(str(path)) as source:
        graph = read(source, DEFAULTS, silent)
    first, *_ = find_suspects(graph, analyse(graph)).suspects

    text = " ".join((first.sentence, *first.signs, *first.doubts, *first.path))
    assert all(re.search(words, text) for words in WORDS[kind]["says"]), text


@pytest.mark.slow
def test_garbage_that_nothing_collects_is_told(tmp_path: Path) -> None:
    path = tmp_path / "leak.hrpy"
    command = [sys.executable, str(REPORTED), "cycles-without-collector", str(path)]
    subprocess.run(command, check=True, timeout=60)
    with open_source(str(path)) as source:
        graph = read(source, DEFAULTS, silent)

    first, *_ = find_suspects(graph, analyse(graph)).garbage
    assert re.fullmatch(r"7,99\d Node|8,000 Node", first)
    assert any("collector off" in note for note in graph.notes)


@pytest.mark.deep
@pytest.mark.parametrize(
    "kind", ["echoes", "caches", "parsers", "simulation", "threads", "suite"]
)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_healthy_program_has_no_finding(
    python: str, kind: str, tmp_path: Path
) -> None:
    command = [python, str(HEALTHY), kind, str(tmp_path / "x")]
    subprocess.run(command, check=True, timeout=120)
    dumps = sorted(map(str, tmp_path.glob("*.hrpy")))

    assert len(dumps) == 3
    assert not ingest.check(dumps).findings
