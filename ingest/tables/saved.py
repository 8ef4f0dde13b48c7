"""The tables of each loaded dump, kept beside the embedded store.

A bulk load makes the whole store anew: these files are what it makes the dumps of
before from. One folder a dump, ``NUMBER-DIGEST``, with one Parquet file a table and
``counts.json``; it appears whole, or not at all. They can be read by anything that
reads Parquet, as what ``ingest export --for parquet`` writes.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl

from ingest.progress import silent
from ingest.tables.columns import TABLES, table
from ingest.tables.heap_tables import write_parquet
from ingest.tables.mapping import Counts, counts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.tables.heap_tables import HeapTables

_COUNTS = "counts.json"
_PART = ".part"


class KeptTables:
    """The tables in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return int(self.lazy(name).select(pl.len()).collect().item())

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table, to be streamed from its file.

        Columns that came later than the file are null, and a table that came later
        has no rows.
        """
        del progress
        path = self._path(name)
        if not path.is_file():
            return pl.LazyFrame(schema=table(name).schema)
        absent = self.absent(name)
        return pl.scan_parquet(path, glob=False).with_columns(
            pl.lit(None, dtype=column.dtype).alias(column.name)
            for column in table(name).columns
            if column.name in absent
        )

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that came later than its file."""
        if not self._path(name).is_file():
            return frozenset()
        there = pl.scan_parquet(self._path(name), glob=False).collect_schema().names()
        return frozenset(table(name).schema.names()) - frozenset(there)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def counts(self) -> Counts:
        """What the dump is in the graph."""
        return Counts(**json.loads((self.folder / _COUNTS).read_text("utf-8")))


class KeptDumps:
    """The folders of all dumps.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, number: int, sha256: str) -> Path:
        return self._folder / f"{number}-{sha256[:16]}"

    def find(self, number: int, sha256: str) -> KeptTables | None:
        """The tables of a dump, if they were kept."""
        folder = self._path(number, sha256)
        return KeptTables(folder) if (folder / _COUNTS).is_file() else None

    def keep(
        self, number: int, sha256: str, tables: HeapTables, progress: Progress = silent
    ) -> KeptTables:
        """Write the tables of a dump; what was there under its number goes.

        Raises:
            OSError: there is no room, or no right.
        """
        final = self._path(number, sha256)
        part = final.with_name(final.name + _PART)
        _remove(part)
        part.mkdir(parents=True)
        try:
            for entry in TABLES:
                path = part / f"{entry.name}.parquet"
                write_parquet(tables.lazy(entry.name, progress), path)
            text = json.dumps(asdict(counts(KeptTables(part))), indent=2)
            (part / _COUNTS).write_text(text, encoding="utf-8")
            _remove(final)
            part.rename(final)
        except BaseException:
            _remove(part)
            raise
        return KeptTables(final)

    def listed(self) -> list[str]:
        """Names of all folders, for `prune`."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.iterdir())

    def prune(self, listed: Iterable[str], dumps: Iterable[tuple[int, str]]) -> None:
        """Remove the folders of dumps that are no more.

        Args:
            listed: From `listed`, called before the database was asked for its
                dumps: a folder that came later belongs to a load that goes on.
            dumps: Number and digest of each dump of the database.
        """
        known = {self._path(number, sha256).name for number, sha256 in dumps}
        for name in listed:
            if name.removesuffix(_PART) not in known:
                _remove(self._folder / name)


def _remove(path: Path) -> None:
    """Remove a folder; another process may just do the same."""
    shutil.rmtree(path, ignore_errors=True)
