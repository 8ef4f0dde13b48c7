"""Bytes of columns an object and a reference, frozen."""

from __future__ import annotations

import pytest

from tests.unit.costs import Cost, measured

FROZEN = {
    "scanned pieces": Cost(36.0, 8.0),
    "reading": Cost(47.4, 12.2),
    "distances": Cost(12.0, 0.0),
    "type references": Cost(0.0, 0.0),
    "dominators": Cost(40.0, 4.0),
    "retained": Cost(20.0, 0.0),
    "places": Cost(36.0, 4.0),
    "sets of types": Cost(38.0, 0.0),
    "merged trees": Cost(15.2, 0.0),
    "analysis": Cost(98.0, 8.0),
}
"""Measured; to be changed together with what changes it, saying why in the commit."""


@pytest.fixture(scope="module")
def found() -> dict[str, Cost]:
    return measured()


@pytest.mark.parametrize("stage", FROZEN)
def test_the_bytes_of_a_stage_are_frozen(found: dict[str, Cost], stage: str) -> None:
    for name, now, then in zip(Cost._fields, found[stage], FROZEN[stage], strict=True):
        # A column more is 4 or 8 bytes: never let it hide in 5 % of a large sum.
        assert now == pytest.approx(then, abs=max(0.2, min(2.0, 0.05 * then))), (
            f"{stage}: {name} is {now:.1f} bytes, was {then:.1f}. If that is meant, "
            "write the new number into FROZEN and say in the commit why it is right"
        )


def test_every_stage_is_frozen(found: dict[str, Cost]) -> None:
    assert set(found) == set(FROZEN)
