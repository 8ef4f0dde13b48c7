"""Garbage that grows: a finding where the collector will not free it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ingest.gate.findings import Judged, Rule, judge
from ingest.gate.rules import Rules
from tests.bench.gate import compared
from tests.dumps.programs import STATIC, Program, background


def judged(
    counts: list[int], *, runtime: str = "python", collects: bool | None = True
) -> Judged:
    """Dumps with so many circles that nothing holds, beside 1,000 other objects."""
    dumps = []
    for step, count in enumerate(counts):
        program = Program(step, random.Random(1), random.Random(step))
        background(program, 1000)
        program.root(program.things("shop.App", 1)[0], STATIC, "shop")
        for _ in range(count):
            back = program.obj("dict", 200, len(program.objects) + 1)
            program.obj("shop.Response", 64, back)
        dump = compared(program.dump(), step)
        dumps.append(replace(dump, runtime=runtime, collects=collects))
    return judge(dumps, Rules(suspects=False))


def test_without_a_collector_it_is_a_finding() -> None:
    (found,) = judged([100, 200, 300], collects=False).findings

    assert found.rule is Rule.GARBAGE
    assert found.counts == (100, 200, 300)
    assert found.path == ("garbage", "Response")
    assert found.message == (
        "Response that nothing holds grew in every dump: 100, 200, 300 objects, "
        "51.6 KiB more in all, with dict (confidence 99%). The collector is switched "
        "off, so it frees no circles."
    )


@pytest.mark.parametrize("counts", [[100, 300, 200], [300, 300, 300], [300, 200, 100]])
def test_garbage_that_does_not_grow_is_none(counts: list[int]) -> None:
    found = judged(counts, collects=False)

    assert (found.findings, found.notes) == ([], [])


def test_what_a_collector_may_free_is_a_note() -> None:
    found = judged([100, 200, 300])

    assert found.findings == []
    (note,) = found.notes
    assert "300 objects" in note
    assert "call gc.collect() before each dump to see what stays" in note


def test_more_than_a_collector_leaves_is_a_finding() -> None:
    (found,) = judged([2000, 4000, 6000]).findings

    assert found.rule is Rule.GARBAGE
    assert "it may be unable to free it" in found.message


def test_other_runtimes_leave_garbage_as_they_like() -> None:
    found = judged([2000, 4000, 6000], runtime="jvm", collects=None)

    assert (found.findings, found.notes) == ([], [])
