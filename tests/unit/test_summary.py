"""The last lines of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.test_inherited import ran

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import sys
import pytest
from tests.summary import note_use

@pytest.fixture(scope="module")
def server():
    note_use("Neo4j 5")
    note_use("Neo4j 10")

@pytest.mark.parametrize("python", [sys.executable])
def test_passes(server, python):
    pass

@pytest.mark.parametrize("number", range(3))
def test_is_skipped(number):
    pytest.skip("moons: none seen")

@pytest.mark.skipif(True, reason="stars: it is day")
def test_is_skipped_too():
    pass

def test_fails():
    raise ValueError("is said")
"""


@pytest.mark.slow
def test_reasons_are_grouped_and_programs_named(tmp_path: Path) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(TESTS, encoding="utf-8")
    done = ran("-p", "tests.summary", "-rfE", "--rootdir", tmp_path, path)
    *before, moons, stars, tested, _, failed, _ = done.stdout.splitlines()

    begin = "\n".join(before)
    assert "what was tested, and what was not" in begin, done.stdout + done.stderr
    assert moons == "not run:   3  moons: none seen"
    assert stars == "not run:   1  stars: it is day"
    assert tested.startswith("tested by Python 3.")
    assert ", Neo4j 5, Neo4j 10, programs of Python 3." in tested
    assert tested.endswith("; WITHOUT JVM, Chromium")
    assert failed.startswith("FAILED ")
