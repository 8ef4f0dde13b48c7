"""Tables written to files, a slice at a time."""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from ingest.text import FORMULA, NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIST_SEPARATOR = "\x1f"
"""Between the elements of a list in a CSV file: U+001F, the unit separator."""


_ROW_GROUP_ROWS = 1 << 16
"""Few enough that a slice of a file is read without decoding much more."""


def write_parquet(frame: pl.LazyFrame, path: Path) -> None:
    """Stream a table into a Parquet file.

    Raises:
        OSError: it cannot be written.
    """
    with as_os_errors():
        frame.sink_parquet(
            path,
            compression="zstd",
            compression_level=1,
            row_group_size=_ROW_GROUP_ROWS,
        )


def write_csv(frame: pl.LazyFrame, path: Path, *, header: bool = True) -> None:
    """Stream a table into a CSV file.

    Raises:
        OSError: it cannot be written.
    """
    lists = pl.col(pl.List(pl.String)).list.join(LIST_SEPARATOR)
    with as_os_errors():
        frame.with_columns(lists).sink_csv(path, include_header=header)


def write_spreadsheet_csv(frame: pl.LazyFrame, path: Path) -> None:
    """As `write_csv`, with text for spreadsheets: see `ingest.text.for_spreadsheet`.

    Raises:
        OSError: it cannot be written.
    """
    lists = pl.col(pl.List(pl.String)).list.join(LIST_SEPARATOR)
    frame = frame.with_columns(lists)
    text = pl.col(pl.String)
    is_formula = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    safe = pl.when(is_formula).then(pl.lit("'") + text).otherwise(text)
    write_csv(frame.with_columns(safe.name.keep()), path)


@contextmanager
def as_os_errors() -> Iterator[None]:
    """The system's errors by their number, which polars has in its texts only.

    Where the end of a Parquet file does not fit on the disk, it leaves the number out.
    """
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            number = int(found[1])
            raise OSError(number, os.strerror(number)) from error
        if "thrift: transport error" in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise
