"""Bytes of columns an object and a reference, frozen."""

from __future__ import annotations

import pytest

from tests.unit.costs import WRITERS, Cost, measured, reading

READING = {
    "gclog": Cost(39.0, 9.2),
    "clrprofiler": Cost(42.9, 12.5),
    "traverseheap": Cost(39.2, 12.5),
    "nettrace": Cost(30.8, 12.4),
    "gcdump": Cost(42.7, 8.7),
    "dart": Cost(41.0, 8.8),
    "hprof": Cost(32.6, 12.9),
    "v8": Cost(64.8, 9.9),
    "hrpy": Cost(70.5, 22.0),
    "pyheap": Cost(48.9, 38.0),
    "ruby": Cost(65.8, 16.0),
    "perfetto": Cost(32.5, 12.1),
    "mlpd": Cost(26.3, 14.0),
}
"""Of each format; measured, and below `MOST`. A gcdump is held while it is decoded:
its file is in these, with as many bytes as the test's writer takes for a number."""

MOST = Cost(44.0, 13.0)
MOST_OF = {
    "hprof": Cost(34.0, 13.5), "v8": Cost(67.0, 13.0), "hrpy": Cost(74.0, 29.0),
    "pyheap": Cost(51.0, 39.0), "ruby": Cost(68.0, 17.0), "mlpd": Cost(44.0, 14.5),
}  # fmt: skip
"""HPROF: references have ids of 8 bytes, a field and a kind; objects have a length.
V8: objects have ids of 8 bytes beside their row, a name, a kind, a length; the strings
are there until all is named. CPython: objects have a reference count besides, and
references the rows that they lead to; those of PyHeap without a name also the rows of
what refers, from which they get one. Ruby: objects have a line, a length, a site, a
generation and an identity. Mono: references have ids of 8 bytes and an offset."""

FROZEN = {
    "distances": Cost(16.1, 0.0),
    "type references": Cost(0.0, 0.0),
    "dominators": Cost(32.0, 4.0),
    "retained": Cost(16.0, 0.0),
    "preorder": Cost(16.0, 4.0),
    "type dominators": Cost(38.0, 0.0),
    "merged trees": Cost(10.5, 0.0),
    "analysis": Cost(67.5, 4.0),
}
"""Measured; to be changed together with what changes it, saying why in the commit."""


OFTEN = ("gclog", "hprof", "hrpy")
"""Formats whose costs are measured each time."""


@pytest.fixture(scope="module")
def found() -> dict[str, Cost]:
    return measured()


def assert_frozen(what: str, now: Cost, then: Cost) -> None:
    for name, bytes_now, bytes_then in zip(Cost._fields, now, then, strict=True):
        # A column more is 4 or 8 bytes: never let it hide in 5 % of a large sum.
        margin = max(0.2, min(2.0, 0.05 * bytes_then))
        assert bytes_now == pytest.approx(bytes_then, abs=margin), (
            f"{what}: {name} is {bytes_now:.1f} bytes, was {bytes_then:.1f}. If that "
            "is meant, freeze the new number and say in the commit why it is right"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "package",
    [
        pytest.param(one, marks=() if one in OFTEN else pytest.mark.deep)
        for one in WRITERS
    ],
)
def test_the_bytes_of_reading_a_format_are_frozen(package: str) -> None:
    now = reading(package)

    assert_frozen(f"reading {package}", now, READING[package])
    most = MOST_OF.get(package, MOST)
    assert now.per_object <= most.per_object
    assert now.per_reference <= most.per_reference


@pytest.mark.slow
@pytest.mark.parametrize("stage", FROZEN)
def test_the_bytes_of_a_stage_are_frozen(found: dict[str, Cost], stage: str) -> None:
    assert_frozen(stage, found[stage], FROZEN[stage])


def test_every_stage_and_every_format_is_frozen(found: dict[str, Cost]) -> None:
    assert set(found) == set(FROZEN)
    assert set(READING) == set(WRITERS)
