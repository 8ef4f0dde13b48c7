"""Which objects of a dump get the labels of `SIZES`, and `MOST`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.tables.mapping import row_column
from ingest.tables.schema import MAX_OF_A_SIZE, MAX_OF_MOST, MOST, SIZES, label

if TYPE_CHECKING:
    from ingest.tables.mapping import Tables


def rows_by_size(tables: Tables, reachable_bytes: int) -> dict[str, list[int]]:
    """Rows of `objects` by further label, those that retain most first.

    Each label of `SIZES` has at most `MAX_OF_A_SIZE` rows. `MOST` has all that retain
    more than some size, which is such that they are at most `MAX_OF_MOST`.

    Args:
        tables: The dump.
        reachable_bytes: Of the whole dump.
    """
    row, retained = row_column(label("Object")), "retained_bytes"
    large = (
        tables.lazy("objects")
        .select(row, retained)
        .filter(pl.col(retained) > 0)
        .top_k(MAX_OF_MOST + 1, by=retained)
        .collect(engine="streaming")
        .sort(retained, row, descending=[True, False])
    )
    least = large[retained][-1] if large.height > MAX_OF_MOST else 0
    return {
        name: large.filter(100 * pl.col(retained) >= percent * reachable_bytes)[row]
        .head(MAX_OF_A_SIZE)
        .to_list()
        for name, percent in SIZES
    } | {MOST: large.filter(pl.col(retained) > least)[row].to_list()}
