"""Rows of columns of which each object has a span, such as its references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


def rows_in(begin: NDArray[Any], count: NDArray[Any]) -> NDArray[np.int64]:
    """int64: the rows of several spans, one span after the other.

    Args:
        begin: First row of each span.
        count: Rows of each.
    """
    before = np.cumsum(count) - count
    return np.repeat(begin - before, count) + np.arange(count.sum())
