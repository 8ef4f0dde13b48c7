"""The bar of a load: its share moves and never falls, its estimate never rises."""

from __future__ import annotations

import re
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.cli.load_bar import STEPS, LoadBar, TimeOfLoad
from ingest.database.writing import Via

ENTITIES = 5_500_000
MOST = 0.99
# What a million objects took: seconds, and whether the stage says how far it is.
BULK = [
    ("store", 0.5, True),
    ("write import files", 0.5, True),
    ("import", 7.1, True),
    ("stop Neo4j", 0.3, False),
    ("start Neo4j", 2.3, False),
    ("index", 0.8, False),
]
BOLT = [("store", 0.8, True), ("write", 68.0, True), ("index", 1.5, True)]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def followed(
    via: Via, stages: list[tuple[str, float, bool]], slowness: float = 1.0
) -> list[tuple[float, float, float | None]]:
    """Each half second: the true seconds left, the share and the estimate."""
    clock = Clock()
    load = TimeOfLoad(clock)
    load.report("read", 0, 100)
    clock.now += 2.0
    load.report("analyse", 1, 1)
    load.report("store", 0, 100)  # while the server is asked how to write
    load.begin_writing(via, ENTITIES)
    end = clock.now + slowness * sum(seconds for _, seconds, _ in stages)
    found = []
    for stage, seconds, reports in stages:
        began, last = clock.now, clock.now + slowness * seconds
        while clock.now < last - 0.01:
            part = 100 * (clock.now - began) / (last - began)
            # The import says nothing at first, and then much at once.
            heard = 0 if stage == "import" and part < 50 else int(part)
            load.report(stage, heard if reports else 0, 100 if reports else None)
            found.append((end - clock.now, load.share(), load.seconds_left()))
            clock.now += 0.5
    return found


@pytest.mark.parametrize("slowness", [0.7, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("via", "stages"), [(Via.BULK, BULK), (Via.BOLT, BOLT)])
def test_the_share_moves_and_the_estimate_does_not_rise(
    via: Via, stages: list[tuple[str, float, bool]], slowness: float
) -> None:
    found = followed(via, stages, slowness)

    shares = [share for _, share, _ in found]
    assert all(a < b or b == MOST for a, b in pairwise(shares)), (
        "it moves each half second"
    )
    shown = [left for _, _, left in found if left is not None]
    assert all(a >= b for a, b in pairwise(shown))
    assert shares[-1] > 0.9


@pytest.mark.parametrize(("via", "stages"), [(Via.BULK, BULK), (Via.BOLT, BOLT)])
def test_the_estimate_is_near_the_truth(
    via: Via, stages: list[tuple[str, float, bool]]
) -> None:
    found = followed(via, stages)

    shown = [(true, left) for true, _, left in found if left is not None]
    assert len(shown) > 0.7 * len(found)
    assert all(abs(left - true) <= 0.25 * true + 3 for true, left in shown)


def test_an_estimate_that_was_too_low_is_not_shown_on() -> None:
    clock = Clock()
    load = TimeOfLoad(clock)
    load.begin_writing(Via.BOLT, ENTITIES)
    load.report("write", 0, 100)
    first = load.seconds_left()
    clock.now = 100.0
    load.report("write", 10, 100)  # 900 s will follow

    assert first is not None
    assert load.seconds_left() is None
    assert load.share() < 0.9


@given(
    st.sampled_from([Via.BOLT, Via.BULK]),
    st.lists(
        st.tuples(
            st.sampled_from([*(s.stage for s in STEPS[Via.BULK]), "write", "remove"]),
            st.integers(0, 100),
            st.sampled_from([None, 0, 100]),
            st.floats(0, 60),
        )
    ),
)
def test_no_order_of_stages_moves_it_back(
    via: Via, reports: list[tuple[str, int, int | None, float]]
) -> None:
    clock = Clock()
    load = TimeOfLoad(clock)
    load.begin_writing(via, ENTITIES)
    shares, estimates = [0.0], []
    for stage, done, total, seconds in reports:
        load.report(stage, done, total)
        clock.now += seconds
        shares.append(load.share())
        estimates.append(load.seconds_left())

    assert shares == sorted(shares)
    assert shares[-1] < 1
    shown = [left for left in estimates if left is not None]
    assert shown == sorted(shown, reverse=True)


def test_a_load_is_one_line_on_a_terminal_and_leaves_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with LoadBar() as progress:
        progress("read", 1, 2)
        time.sleep(0.7)
        progress("analyse", 4, 4)
        with progress.aside():
            sys.stderr.write("what was found\n")
        progress.begin_writing(Via.BULK, ENTITIES)
        progress("import", 0, 100)
        time.sleep(1.2)

    shown = capsys.readouterr().err
    assert "load           8 % |█▋                  | read, 1 s" in shown
    assert re.search(r"\| import, 2 s, about [12]\d s left", shown)
    assert shown.count("\n") == 1, "only what was written aside stays"
    assert "what was found\n" in shown
