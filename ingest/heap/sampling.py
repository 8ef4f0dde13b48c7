"""Dumps that are a sample of the heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """Factors to estimate a heap from a dump that is a sample of it.

    The graph has the recorded objects with their own sizes. Their count and bytes,
    times these factors, estimate those of the heap.

    Attributes:
        count: float64 (T,), >= 0. Factor for the number of objects of each type.
        size: float64 (T,), >= 0. Factor for the bytes of each type.
        average_count: Factor for the number of all objects.
        average_size: Factor for the bytes of all objects.
    """

    count: NDArray[np.float64]
    size: NDArray[np.float64]
    average_count: float
    average_size: float
