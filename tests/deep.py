"""Which tests a run has, and how many examples they try."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
SUITE = "deep" if PROFILE == "deep" else os.environ.get("INGEST_TESTS", "quick")
"""``quick``, ``slow``, ``both`` or ``deep``."""
_MAY_BE_SLOW = {"quick": {False}, "slow": {True}, "both": {False, True}}
# The quick suite tries the same examples each time; the deep one more, and others. A
# shared machine is slow at times: no example is timed.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("deep", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(PROFILE)
THOROUGH = settings(max_examples=5000 if PROFILE == "deep" else 50)
"""For what is held against a twin or a definition: its faults are rare."""


def runs(marks: Iterable[str]) -> bool:
    """Whether this run has what is marked so.

    The deep suite has all tests, ``make test-slow`` those marked ``slow``,
    ``make test`` those without either mark, and CI both in one run.
    """
    has = {*marks}
    return SUITE == "deep" or (
        "deep" not in has and ("slow" in has) in _MAY_BE_SLOW[SUITE]
    )


MOST_CUTS = 60


def cuts(start: int, stop: int, *, every: int) -> list[int]:
    """Where a file is truncated: at each of its bytes, or in steps and at the end.

    The steps are odd, so that records of a power of two are cut anywhere.
    """
    few = (stop - start) // MOST_CUTS | 1
    step = 1 if PROFILE == "deep" else max(every, few)
    return sorted({*range(start, stop, step), *range(max(start, stop - 3), stop)})


def sampled(values: Sequence[int], every: int) -> Sequence[int]:
    """Parameters: all in the deep suite, else each ``every``-th and the last."""
    if PROFILE == "deep":
        return values
    return sorted({*values[::every], values[-1]})
