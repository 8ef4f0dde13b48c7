"""Which objects of a dump get the labels of `SIZES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ingest.tables.mapping import row_column
from ingest.tables.schema import MAX_OF_A_SIZE, SIZES, label

if TYPE_CHECKING:
    from ingest.tables.mapping import Tables


def rows_by_size(tables: Tables, reachable_bytes: int) -> dict[str, list[int]]:
    """Rows of `objects` by further label, those that retain most first.

    Each label has at most `MAX_OF_A_SIZE` rows. Objects that have the label of a larger
    share are among the first that have that of a smaller one.

    Args:
        tables: The dump.
        reachable_bytes: Of the whole dump.
    """
    row, retained = row_column(label("Object")), "retained_bytes"
    least = min(percent for _, percent in SIZES) * reachable_bytes
    large = (
        tables.lazy("objects")
        .select(row, retained)
        .filter((pl.col(retained) > 0) & (100 * pl.col(retained) >= least))
        .collect(engine="streaming")
        .sort(retained, row, descending=[True, False])
    )
    return {
        name: large.filter(100 * pl.col(retained) >= percent * reachable_bytes)[row]
        .head(MAX_OF_A_SIZE)
        .to_list()
        for name, percent in SIZES
    }
