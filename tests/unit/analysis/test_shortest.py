"""The parts of a search for first paths that small heaps do not come to."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from ingest.analysis.shortest import sort_rows


@pytest.mark.parametrize("count", [*range(6), 15, 16, 17, 40, 1000])
def test_some_rows_are_sorted_where_they_lie(count: int) -> None:
    chance = Random(count)
    for _ in range(20):
        rows = np.array(
            [chance.randrange(2 * count + 1) for _ in range(count + 4)], np.int32
        )
        expected = [*rows[:2], *sorted(rows[2 : count + 2]), *rows[count + 2 :]]
        sort_rows(rows, 2, count + 2)
        assert rows.tolist() == expected
