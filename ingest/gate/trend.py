"""Whether what grew in every dump grows like a leak, fills up, or only fluctuates.

The same work leaks the same amount. So the steps of a leak, from one dump to the next,
are alike. Those of a population that fluctuates and happens to rise are not, and those
of one that approaches a bound shrink. A step is compared with the median of all steps,
which one odd step does not move:

- The smallest step must be at least 0.95 of the median with three dumps, 0.7 with four,
  and 0.4 with five or more: more dumps leave less to chance.
- Or the last count is at least 1.5 times the first, which is more than a cache of a
  steady program fluctuates by: the work differed from dump to dump.
- If every step is smaller than the one before, and the last is at most 0.9 of the
  first, the population fills up. One that fills from nothing adds less and less in a
  way that its beginning shows, too: a step is no smaller a part of the one before than
  the first step is of what there was. If the second of two steps is less than that,
  but at least half of the first, the work differed.

Measured by ``make bench-gate``.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from math import factorial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_ALIKE = {3: 0.95, 4: 0.7}
"""Smallest step as a share of the median step, by the number of dumps."""

_LEAST_ALIKE = 0.4
"""The same for more dumps than the table has."""

SHRINKS = 0.9
"""A population fills up if its last step is at most this share of the first."""

HALF = 0.5
"""The last step of work that differs is at least this share of the first."""

RISES = 1.5
"""No fluctuation explains a last count that is this multiple of the first."""

SURE = 0.99
"""The highest confidence for what was only counted."""


class Kind(Enum):
    """How something grew in every dump."""

    LEAK = "leak"
    FILLS_UP = "fills up"
    UNEVEN = "uneven"


class Trend(NamedTuple):
    """How something grew.

    Attributes:
        kind: Whether it grew like a leak.
        confidence: 1 minus the chance that a number which only fluctuates rises in
            every dump, by steps as alike as these.
    """

    kind: Kind
    confidence: float


def trend_of(counts: Sequence[int]) -> Trend:
    """The trend of a number of objects that rose in every dump.

    Args:
        counts: Objects in each of two or more dumps. Appearing is a step.
    """
    first = next((at for at, count in enumerate(counts) if count), 0)
    told = counts[max(first - 1, 0) :]
    steps = [after - before for before, after in pairwise(told)]
    middle = median(steps)
    alike = min(steps) / middle if middle > 0 else 0.0
    spread = (1 - min(alike, 1.0)) / (1 + alike)
    chance = spread ** (len(steps) - 1) / factorial(len(told))
    confidence = min(1 - chance, SURE)
    if len(steps) == 1:
        return Trend(Kind.LEAK, confidence)
    shrinks = all(after < before for before, after in pairwise(steps))
    rises = told[-1] >= RISES * counts[first]
    if shrinks and steps[-1] <= SHRINKS * steps[0]:
        # A cache that fills adds the same part of the step before each time, or more.
        expected = steps[0] * steps[-2] / told[0] if told[0] else 0.0
        differed = len(steps) == 2 and rises
        differed &= SHRINKS * expected > steps[-1] >= HALF * steps[0]
        return Trend(Kind.LEAK if differed else Kind.FILLS_UP, confidence)
    if rises or alike >= LEAST_ALIKE.get(len(told), _LEAST_ALIKE):
        return Trend(Kind.LEAK, confidence)
    return Trend(Kind.UNEVEN, confidence)
