"""A few of the inputs of ``make fuzz``, without the checks of bounds."""

from __future__ import annotations

import pytest

from tests.fuzz.seeds import SEEDS, seeds_of
from tests.fuzz.worker import input_of, outcome

INPUTS = 40


@pytest.mark.slow
@pytest.mark.parametrize("package", SEEDS)
def test_changed_dumps_are_read_or_refused(package: str) -> None:
    seeds = seeds_of(package)
    outcomes = {
        number: outcome(package, input_of(package, seeds, 7, number), number)
        for number in range(INPUTS)
    }

    assert not {n: what for n, what in outcomes.items() if what[0].startswith("!")}
    assert any(what == "ok" for what, _ in outcomes.values())
    assert any(what != "ok" for what, _ in outcomes.values())


@pytest.mark.parametrize("package", SEEDS)
def test_the_seeds_can_be_read(package: str) -> None:
    made = SEEDS[package]()

    assert {outcome(package, data, 2)[0] for data in made} == {"ok"}
