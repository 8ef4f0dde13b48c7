"""One heap as tables: what is exported, stored beside the embedded server, and loaded.

Rows refer to rows of other tables by number, counted from 0 in the order of the
dump. `ingest.tables.schema` declares the columns and what they become in the graph. A
table is made slice by slice, with only the columns that are asked for, so that no heap
is in memory twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from ingest.progress import silent
from ingest.tables.column import NEVER
from ingest.tables.derived import HeapColumns
from ingest.tables.schema import label, table
from ingest.tables.series import nulls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.progress import Progress
    from ingest.tables.column import Column

SLICE_ROWS = 1 << 18


class HeapTables(HeapColumns):
    """The tables of a heap that has been read and analysed."""

    def close(self) -> None:
        """Free the heap; no table can be made any more."""
        self.__dict__.clear()

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return table(name).rows(self)

    def part(
        self, name: str, begin: int, end: int, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows ``begin`` to ``end`` of a table; all columns if none are named."""
        entry, rows = table(name), slice(begin, end)
        chosen = entry.columns
        if columns is not None:
            chosen = tuple(entry.column(column) for column in columns)
        return pl.DataFrame([self._series(column, rows) for column in chosen])

    def _series(self, column: Column, rows: slice) -> pl.Series:
        """Some rows of a column."""
        dtype, count = column.dtype.polars, rows.stop - rows.start
        found = self._values(column)
        if callable(found):
            found = found(rows)
        elif found is not None:
            found = found[rows]  # type: ignore[index]
        if found is None:
            return nulls(count, dtype).alias(column.name)
        if isinstance(found, list | tuple):
            series = pl.Series(found, dtype=dtype)
        else:
            series = pl.Series(found).cast(dtype)
        if column.absent is not NEVER and column.absent is not None:
            series = pl.select(
                pl.when(series != column.absent).then(series)
            ).to_series()
        if missing := count - len(series):
            series = series.append(nulls(missing, dtype))
        return series.alias(column.name)

    def _values(self, column: Column) -> object:
        assert column.source is not None
        return column.source(self)

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table that is made in slices while it is written somewhere."""
        rows = self.rows(name)

        def slices(
            with_columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            del batch_size
            needed = with_columns
            if needed is not None and predicate is not None:
                needed = list(dict.fromkeys(needed + predicate.meta.root_names()))
            last = rows if n_rows is None else min(rows, n_rows)
            for begin in range(0, last, SLICE_ROWS):
                end = min(begin + SLICE_ROWS, last)
                frame = self.part(name, begin, end, needed)
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if with_columns is None else frame.select(with_columns)
                progress(name, end, rows)

        return register_io_source(slices, schema=table(name).schema)

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that this heap does not have: null in every row."""
        return frozenset(
            column.name
            for column in table(name).columns
            if column.optional and self._values(column) is None
        )

    def dump(self) -> dict[str, object]:
        """Properties of the Dump node that follow from the heap."""
        return {
            column.name: self._values(column)
            for column in label("Dump").properties
            if column.source is not None
        }
