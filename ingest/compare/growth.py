"""Growth over three dumps or more: does it grow in each one, how fast, how evenly?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_DUMPS = 3
"""With two dumps everything that grew did so in each one."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth from dump to dump, by a line of least squares over all dumps.

    Attributes:
        objects_per_dump, bytes_per_dump: Its slopes.
        fit: How much of the variation the line explains (R²), 0 to 1: of the objects,
            or of the bytes where the number of objects is the same.
        since: The first dump that has it, from 0.
    """

    objects_per_dump: float
    bytes_per_dump: float
    fit: float
    since: int


def growth_of(
    counts: Sequence[int], sizes: Sequence[int], of: Sequence[int] | None = None
) -> Growth | None:
    """The growth of what grew in every dump since the first one that has it.

    It has more objects in each, or as many and more bytes. There must be two steps of
    growth at least; to appear is one.

    Args:
        counts: Objects in each dump.
        sizes: Bytes in each dump.
        of: Bytes whose slope is asked for; without it those of ``sizes``.
    """
    if len(counts) < FEWEST_DUMPS:
        return None
    measure = counts if counts[0] != counts[-1] else sizes
    since = next((at for at, value in enumerate(measure) if value), len(measure))
    steps = [after - before for before, after in pairwise(measure)]
    grown = steps[max(since - 1, 0) :]
    if len(grown) < FEWEST_DUMPS - 1 or min(grown) <= 0:
        return None
    slope, fit = _line(measure)
    of_bytes, _ = _line(sizes if of is None else of)
    return Growth(slope if measure is counts else 0.0, of_bytes, fit, since)


def _line(values: Sequence[int]) -> tuple[float, float]:
    """Slope and R² of the line of least squares."""
    y = np.array(values, np.float64)
    x = np.arange(len(y)) - (len(y) - 1) / 2
    deviation = y - y.mean()
    slope = float((x * deviation).sum() / (x * x).sum())
    variation = float((deviation * deviation).sum())
    residual = float(((deviation - slope * x) ** 2).sum())
    return slope, 1 - residual / variation if variation else 1.0
