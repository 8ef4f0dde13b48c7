"""The ordinary programs of ``make bench-answers``, one for each format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench.answers.ordinary import HEALTHY, LEAKS
from tests.bench.answers.verdict import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.answers.app import Ordinary

CHOSEN = [
    next(one for one in LEAKS if one.format == written)
    for written in ("hprof", "gclog", "gcdump", "dartheap")
]


@pytest.mark.parametrize("program", CHOSEN, ids=lambda one: one.format)
def test_dumps_have_what_the_program_made(program: Ordinary, tmp_path: Path) -> None:
    app, leak = program.program(1, 2)
    assert leak is not None
    assert 0.01 < app.leaked_share < 0.1
    path = tmp_path / f"dump.{program.format}"
    path.write_bytes(app.dump())
    told = answer([path])
    assert not isinstance(told, str), told
    assert told["warnings"] == {}
    assert told["missing_objects"] == 0
    assert told["objects"] > 0.95 * len(app.heap.kinds)
    assert told["shallow_bytes"] == pytest.approx(app.heap.total_bytes, rel=0.02)


def test_a_leak_grows_and_the_rest_stays() -> None:
    shares = [CHOSEN[0].program(1, step)[0] for step in range(3)]
    leaked = [app.leaked_bytes for app in shares]
    assert leaked[1] == pytest.approx(2 * leaked[0], rel=0.05)
    assert leaked[2] == pytest.approx(3 * leaked[0], rel=0.05)
    rest = [app.heap.total_bytes - app.leaked_bytes for app in shares]
    assert max(rest) < 1.05 * min(rest)


def test_there_are_thirty_of_each() -> None:
    names = [one.name for one in (*HEALTHY, *LEAKS)]
    assert (len(HEALTHY), len(LEAKS), len(set(names))) == (30, 30, 60)
