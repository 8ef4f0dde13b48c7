"""From columns of a heap to columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.heap.graph import RefKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def from_end(rows: NDArray[np.int32], count: int) -> NDArray[np.uint32]:
    """Rows in which -1 becomes the last of ``count``."""
    return np.where(rows < 0, count - 1, rows).astype(np.uint32)


def texts_of(rows: NDArray[np.int32], texts: Sequence[str | None]) -> pl.Series:
    """The texts of some rows; null where a row is negative."""
    known = pl.Series([*texts, None], dtype=pl.String)
    return known.gather(from_end(rows, len(known)))


def shared_texts(texts: Iterable[str]) -> pl.Series:
    """A series that has each different text in memory once."""
    all_of_them = list(texts)
    place = {text: row for row, text in enumerate(dict.fromkeys(all_of_them))}
    known = pl.Series(list(place), dtype=pl.String)
    return known.gather([place[text] for text in all_of_them])


def strengths(kinds: NDArray[np.uint8]) -> pl.Series:
    """The names of strengths weaker than strong; null for all others."""
    labels = [None, *(kind.label for kind in list(RefKind)[1:])]
    known = pl.Series(labels, dtype=pl.String)
    return known.gather(np.where(kinds < len(labels), kinds, 0).astype(np.uint32))


def scattered(at: NDArray[np.int32], values: pl.Series, rows: int) -> pl.Series:
    """A series with ``values`` in the rows ``at``, and null in all others."""
    return nulls(rows, values.dtype).scatter(at, values)


def nulls(rows: int, dtype: PolarsDataType) -> pl.Series:
    """A series of nulls."""
    return pl.Series([None], dtype=dtype).new_from_index(0, rows)
