"""Growth from dump to dump: what grows in each one, how fast, and how evenly."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ingest.runtimes import TypeClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Flags = NDArray[np.bool_]

FEWEST_DUMPS = 3
"""With two dumps, all that grew did so in every dump."""


def is_metadata(type_names: Sequence[str], classes: NDArray[np.uint8]) -> Flags:
    """Bool (T,): types of the runtime's metadata, which do not count as growing.

    Newly compiled code is no leak; a class loader may be one.

    Args:
        type_names: T full names.
        classes: uint8 (T,). Their `TypeClass`.
    """
    is_loader = np.array(["Loader" in name for name in type_names], np.bool_)
    return np.asarray((classes == TypeClass.METADATA) & ~is_loader)


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth from dump to dump, by a line of least squares over all dumps.

    Attributes:
        objects_per_dump, bytes_per_dump: Slopes of the line.
        fit: How much of the variation the line explains (R²), 0 to 1: for the objects,
            or for the bytes if the number of objects stays the same.
        since: The first dump that has the objects, from 0.
    """

    objects_per_dump: float
    bytes_per_dump: float
    fit: float
    since: int


@dataclass(frozen=True, slots=True)
class Step:
    """How much must be added from one dump to the next; one condition suffices.

    Attributes:
        objects: At least so many objects, which are also
        percent: so many percent of those before; or
        heap_share: one object, if its bytes are this share of the reachable bytes.
    """

    objects: int = 1
    percent: float = 0.0
    heap_share: float = inf


def growing(
    counts: Counts,
    sizes: Counts,
    step: Step | None = None,
    reachable_bytes: Sequence[int] | None = None,
) -> tuple[Flags, Flags]:
    """Find what grew in every dump since the first one that has it.

    There must be at least two steps of growth; appearing is one. With two dumps, one
    step is enough for what the first dump has.

    Args:
        counts: int64 (G, D). Objects in each dump.
        sizes: int64 (G, D). Their bytes.
        step: The smallest step of growth; one object if ``None``.
        reachable_bytes: Reachable bytes of each dump, for ``step.heap_share``.

    Returns:
        Bool (G,) twice: what has more objects in each dump; and what has more bytes in
        each, but as many objects in the last dump as in the first.
    """
    step = step or Step()
    more, bytes_more = np.diff(counts), np.diff(sizes)
    least = np.maximum(step.objects, counts[:, :-1] * (step.percent / 100))
    if reachable_bytes is not None:
        large = step.heap_share * np.array(reachable_bytes[:-1], np.float64)
        least = np.where(bytes_more >= large, 1, least)
    is_counted = counts[:, 0] != counts[:, -1]
    return (
        is_counted & _in_each_step(counts, more >= least),
        ~is_counted & _in_each_step(sizes, bytes_more > 0),
    )


def _in_each_step(values: Counts, enough: Flags) -> Flags:
    """Bool (G,): whether each step since the first value is large enough."""
    steps = enough.shape[1]
    since = np.argmax(values > 0, axis=1)
    matters = np.arange(steps) >= since[:, None] - (steps > 1)
    is_enough = matters.sum(axis=1) >= min(steps, FEWEST_DUMPS - 1)
    return np.asarray((enough | ~matters).all(axis=1) & is_enough)


def growth_of(
    counts: Sequence[int], sizes: Sequence[int], of: Sequence[int] | None = None
) -> Growth | None:
    """The growth of what grew in every dump, as `growing` says; else ``None``.

    Args:
        counts: Objects in each dump; fewer than three dumps give ``None``.
        sizes: Bytes in each dump.
        of: Bytes for the slope; those of ``sizes`` if ``None``.
    """
    if len(counts) < FEWEST_DUMPS:
        return None
    by_count, by_size = growing(np.array([counts]), np.array([sizes]))
    if not (by_count[0] or by_size[0]):
        return None
    measure = counts if by_count[0] else sizes
    since = next(at for at, value in enumerate(measure) if value)
    slope, fit = _line(measure)
    of_bytes, _ = _line(sizes if of is None else of)
    return Growth(slope if by_count[0] else 0.0, of_bytes, fit, since)


def _line(values: Sequence[int]) -> tuple[float, float]:
    """Slope and R² of the line of least squares."""
    y = np.array(values, np.float64)
    x = np.arange(len(y)) - (len(y) - 1) / 2
    deviation = y - y.mean()
    slope = float((x * deviation).sum() / (x * x).sum())
    variation = float((deviation * deviation).sum())
    residual = float(((deviation - slope * x) ** 2).sum())
    return slope, 1 - residual / variation if variation else 1.0
