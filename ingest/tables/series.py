"""From columns of a heap to columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from polars._typing import PolarsDataType


def addresses(ids: NDArray[np.uint64]) -> pl.Series:
    """Identities in hexadecimal, as ``hex`` writes them."""
    big_endian = ids.astype(">u8").view(np.uint8).reshape(len(ids), 8)
    digits = (
        pl.Series(big_endian, dtype=pl.Array(pl.UInt8, 8))
        .arr.to_list()
        .cast(pl.Binary)
        .bin.encode("hex")
        .str.strip_chars_start("0")
    )
    return pl.select(
        "0x" + pl.when(digits == "").then(pl.lit("0")).otherwise(digits)
    ).to_series()


def not_negative(values: NDArray[np.int32] | NDArray[np.int64]) -> pl.Series:
    """The values, null where they are negative."""
    series = pl.Series(values)
    return pl.select(pl.when(series >= 0).then(series)).to_series()


def from_end(rows: NDArray[np.int32], count: int) -> NDArray[np.uint32]:
    """Row -1 as the last of ``count``."""
    return np.where(rows < 0, count - 1, rows).astype(np.uint32)


def true_or_null(flags: NDArray[np.bool_]) -> pl.Series:
    """True where a flag is set, else null."""
    series = pl.Series(flags)
    return pl.select(pl.when(series).then(pl.lit(value=True))).to_series()


def texts_of(
    rows: NDArray[np.int32] | None, texts: Sequence[str], part: slice
) -> pl.Series:
    """The texts of some rows; null where a row is negative or none is told."""
    if rows is None:
        return nulls(part.stop - part.start, pl.String)
    known = pl.Series([*texts, None], dtype=pl.String)
    return known.gather(from_end(np.maximum(rows[part], -1), len(known)))


def scattered(at: NDArray[np.int32], values: pl.Series, rows: int) -> pl.Series:
    """The values in their places, null everywhere else."""
    return nulls(rows, values.dtype).scatter(at, values)


def nulls(rows: int, dtype: PolarsDataType) -> pl.Series:
    """That many nulls."""
    return pl.Series([None], dtype=dtype).new_from_index(0, rows)
