"""The plugin: a leak fails a test with what to do, and only then dumps are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import shutil

import ingest


def copied(heaproots, *names):
    return [shutil.copy(name, heaproots.path(name)) for name in names]


def test_leaks(heaproots):
    both = copied(heaproots, "earlier.gclog", "example.gclog")
    assert not heaproots.check(both).findings


def test_is_clean(heaproots):
    both = copied(heaproots, "earlier.gclog", "earlier.gclog")
    assert not heaproots.check(both).findings


def test_leaks_without_the_fixture():
    assert not ingest.check(["earlier.gclog", "example.gclog"]).findings


class Order:
    pass


ORDERS = []


def test_a_block_leaks(heaproots):
    assert not heaproots.repeat(lambda: ORDERS.append(Order()), dumps=2).findings
"""


@pytest.mark.slow
def test_a_leak_fails_with_its_place_and_its_dumps(example: Path) -> None:
    (example / "test_levels.py").write_text(TESTS, encoding="utf-8")
    ran = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            "-p", "ingest.api.pytest_plugin", f"--basetemp={example / 'kept'}",
        ],
        cwd=example, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip

    assert "3 failed, 1 passed" in ran.stdout, ran.stdout
    assert "assert not <" in ran.stdout
    assert ran.stdout.count("ScoreChangedEventHandler") >= 2
    assert "12, 24 objects" in ran.stdout
    assert "21 Order are held in list test_levels.ORDERS" in " ".join(
        ran.stdout.split()
    )
    assert "the dumps are kept in" in ran.stdout
    kept = sorted(path.name for path in (example / "kept").rglob("*.*"))
    assert kept == ["0.hrpy", "1.hrpy", "earlier.gclog", "example.gclog"]
