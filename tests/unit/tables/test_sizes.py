"""Which objects get further labels."""

from __future__ import annotations

import pytest

from ingest.analysis.metrics import analyse
from ingest.tables import mapping
from ingest.tables.heap_tables import HeapTables
from ingest.tables.schema import MOST
from tests.cypher.random_heaps import random_heap


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("most", [0, 1, 2, 5, 17, 1_000])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_object_retains_as_much_as_those_that_retain_most(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping, "MAX_OF_MOST", most)
    tables = HeapTables(graph := random_heap(seed, 60), analyse(graph))
    rows = tables.part("objects", 0, tables.rows("objects"))
    retained = rows["retained_bytes"].fill_null(0).to_list()

    chosen = mapping.rows_by_size(tables, 1)[MOST]

    least = min((retained[row] for row in chosen), default=max(retained) + 1)
    others = [size for row, size in enumerate(retained) if row not in set(chosen)]
    assert max(others, default=0) < least
    assert len(chosen) == len(set(chosen)) <= most
    # As many as can be: those that retain as much as the next one are too many.
    if next_size := max(others, default=0):
        assert len(chosen) + others.count(next_size) > most
