"""The tables of each loaded dump as Parquet files, beside the embedded store.

A bulk load makes a new store, and imports the dumps that are already loaded from these
files. Each dump has a folder ``NUMBER-DIGEST`` with one Parquet file for each table and
``counts.json``; the folder appears complete, or not at all. The files are the same as
those that ``ingest export --for parquet`` writes.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl

from ingest.progress import silent
from ingest.tables.mapping import Counts, counts
from ingest.tables.schema import TABLES, table
from ingest.tables.sinks import write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.tables.heap_tables import HeapTables

_COUNTS = "counts.json"
_PART = ".part"


class StoredTables:
    """The tables in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return int(self.lazy(name).select(pl.len()).collect().item())

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table, to be streamed from its file.

        Columns newer than the file are null, and a table newer than the folder has
        no rows.
        """
        del progress
        path = self._path(name)
        if not path.is_file():
            return pl.LazyFrame(schema=table(name).schema)
        absent = self.absent(name)
        return pl.scan_parquet(path, glob=False).with_columns(
            pl.lit(None, dtype=column.dtype.polars).alias(column.name)
            for column in table(name).columns
            if column.name in absent
        )

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that are newer than its file."""
        if not self._path(name).is_file():
            return frozenset()
        there = pl.scan_parquet(self._path(name), glob=False).collect_schema().names()
        return frozenset(table(name).schema.names()) - frozenset(there)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def counts(self) -> Counts:
        """Nodes and relationships of the dump in the graph."""
        return Counts(**json.loads((self.folder / _COUNTS).read_text("utf-8")))


class StoredDumps:
    """The folders of all dumps.

    Args:
        folder: The folder that contains them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, number: int, sha256: str) -> Path:
        return self._folder / f"{number}-{sha256[:16]}"

    def find(self, number: int, sha256: str) -> StoredTables | None:
        """The tables of a dump, if they are stored."""
        folder = self._path(number, sha256)
        return StoredTables(folder) if (folder / _COUNTS).is_file() else None

    def store(
        self, number: int, sha256: str, tables: HeapTables, progress: Progress = silent
    ) -> StoredTables:
        """Write the tables of a dump, in place of those under its number.

        Raises:
            OSError: the disk is full, or access is denied.
        """
        final = self._path(number, sha256)
        part = final.with_name(final.name + _PART)
        _remove(part)
        part.mkdir(parents=True)
        try:
            for entry in TABLES:
                path = part / f"{entry.name}.parquet"
                write_parquet(tables.lazy(entry.name, progress), path)
            text = json.dumps(asdict(counts(StoredTables(part))), indent=2)
            (part / _COUNTS).write_text(text, encoding="utf-8")
            _remove(final)
            part.rename(final)
        except BaseException:
            _remove(part)
            raise
        return StoredTables(final)

    def listed(self) -> list[str]:
        """Names of all folders, for `prune`."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.iterdir())

    def prune(self, listed: Iterable[str], dumps: Iterable[tuple[int, str]]) -> None:
        """Remove the folders of dumps that no longer exist.

        Args:
            listed: From `listed`, called before the database was asked for its
                dumps: a newer folder belongs to a load in progress.
            dumps: Number and digest of each dump of the database.
        """
        known = {self._path(number, sha256).name for number, sha256 in dumps}
        for name in listed:
            if name.removesuffix(_PART) not in known:
                _remove(self._folder / name)


def _remove(path: Path) -> None:
    """Remove a folder; another process may be doing the same."""
    shutil.rmtree(path, ignore_errors=True)
