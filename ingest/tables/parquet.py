"""The tables of each loaded dump as Parquet files, beside the embedded store.

A bulk load makes a new store, and imports the dumps that are already loaded from these
files. Each dump has a folder ``NUMBER-DIGEST`` with one Parquet file for each table and
``counts.json``, which has the version of the tables too. The folder appears complete,
or not at all. The files are those that ``ingest export --for parquet`` writes; columns
that the heap does not have are left out.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

import polars as pl

from ingest.errors import DumpError, IngestError, StoreError
from ingest.progress import OneStage, silent
from ingest.system.files import temporary_folder
from ingest.system.process_names import is_alive, this_process
from ingest.tables.manifest import EXPORT_KEY, TABLES_VERSION
from ingest.tables.mapping import Counts, counts
from ingest.tables.schema import TABLES, table
from ingest.words.text import FORMULA, NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ingest.progress import Progress
    from ingest.tables.mapping import DumpTables


_COUNTS = "counts.json"
_PART = ".part"
_STAGED = "staged-"
_ABANDONED_S = 3600.0
"""A process that writes nothing for so long has ended."""


def require_columns(name: str, stored: Iterable[str]) -> None:
    """Refuse a table without a required column; nulls instead would be wrong.

    Args:
        name: Name of the table.
        stored: Its columns.

    Raises:
        DumpError: a column is missing.
    """
    needed = {column.name for column in table(name).columns if not column.optional}
    if lost := needed.difference(stored):
        raise DumpError(
            f"the table {name} has no column {min(lost)}, as by another version of "
            "heaproots: read the dump itself, or export or load it again"
        )


class FileTables:
    """The tables of a dump from files."""

    def __init__(self) -> None:
        self._absent: dict[str, frozenset[str]] = {}
        self._frames: dict[str, pl.LazyFrame] = {}

    def _scan(self, name: str) -> pl.LazyFrame | None:
        """The file of a table; ``None`` where it has no rows."""
        raise NotImplementedError

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return int(self.lazy(name).select(pl.len()).collect().item())

    def part(
        self, name: str, begin: int, end: int, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows ``begin`` to ``end`` of a table; all columns if none are named."""
        chosen = table(name).schema.names() if columns is None else columns
        return self.lazy(name).select(chosen).slice(begin, end - begin).collect()

    def lazy(self, name: str, progress: Progress = silent) -> pl.LazyFrame:
        """A table, to be streamed from its file.

        Optional columns that the file does not have are null; a table without a file
        has no rows.

        Raises:
            DumpError: the file lacks a column that each dump has.
        """
        del progress
        # The file's metadata is read once, for rows may be read one by one.
        if name not in self._frames:
            self._frames[name] = self._whole(name)
        return self._frames[name]

    def _whole(self, name: str) -> pl.LazyFrame:
        file, entry = self._scan(name), table(name)
        if file is None:
            return pl.LazyFrame(schema=entry.schema)
        require_columns(name, file.collect_schema().names())
        absent = self.absent(name)
        file = file.with_columns(
            pl.lit(None, dtype=column.dtype.polars).alias(column.name)
            for column in entry.columns
            if column.name in absent
        )
        return file.select(entry.schema.names())

    def absent(self, name: str) -> frozenset[str]:
        """Columns that the heap does not have, or that are newer than the file.

        Raises:
            DumpError: the file lacks a column that each dump has.
        """
        if name not in self._absent:
            file = self._scan(name)
            if file is None:
                return frozenset()
            stored = file.collect_schema().names()
            require_columns(name, stored)
            self._absent[name] = frozenset(table(name).schema.names()) - {*stored}
        return self._absent[name]


class StoredTables(FileTables):
    """The tables in one folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def _scan(self, name: str) -> pl.LazyFrame | None:
        path = self.folder / f"{name}.parquet"
        return pl.scan_parquet(path, glob=False) if path.is_file() else None

    def counts(self) -> Counts:
        """Nodes and relationships of the dump in the graph.

        Raises:
            StoreError: the file with the counts is damaged.
        """
        found = self._recorded()
        return Counts(found["nodes"], found["relationships"])

    def _recorded(self) -> dict[str, Any]:
        """The content of the file with the counts.

        Raises:
            StoreError: the file is damaged.
        """
        try:
            found = json.loads((self.folder / _COUNTS).read_text("utf-8"))
            Counts(found["nodes"], found["relationships"]).total  # noqa: B018
            int(found.get("version", 0))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{self.folder / _COUNTS} cannot be read") from error
        return cast("dict[str, Any]", found)

    def fault(self) -> str | None:
        """Why stored tables are not the whole dump; ``None`` if they are.

        Tables of the version before, which have no number, are whole if no table lacks
        a required column.
        """
        try:
            found = self._recorded()
            if (version := int(found.get("version", 0))) > TABLES_VERSION:
                return f"a newer version of heaproots has stored them ({version})"
            rows = found.get("rows", {})
            for entry in TABLES:
                file = self._scan(entry.name)
                if file is None and rows and entry.name not in rows:
                    continue  # a table that is newer than these
                if file is None:
                    return f"{entry.name}.parquet is missing"
                stored = file.collect_schema()
                require_columns(entry.name, stored.names())
                for column, dtype in entry.schema.items():
                    if stored.get(column, dtype) != dtype:
                        return f"{entry.name}.{column} is {stored[column]}, not {dtype}"
                if self.rows(entry.name) != rows.get(entry.name, self.rows(entry.name)):
                    return f"{entry.name}.parquet is cut"
        except IngestError as error:
            return str(error).partition(":")[0]
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            return str(error).partition("\n")[0]
        return None


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

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """A folder for the tables of a dump that has no number yet; see `put`.

        The folder is removed when the block ends, unless `put` has moved it. If this
        process is killed, the next call removes it.

        Raises:
            OSError: the disk is full, or access is denied.
        """
        for name in self.listed():
            if name.startswith(_STAGED) and not self._is_in_use(name):
                shutil.rmtree(self._folder / name, ignore_errors=True)
        owner = quote(this_process(), safe="")
        name = f"{_STAGED}{secrets.token_hex(4)}-{owner}{_PART}"
        with temporary_folder(self._folder / name) as folder:
            yield folder

    def put(self, staged: Path, number: int, sha256: str) -> StoredTables:
        """Replace the folder of a number by a staged one, which `write_tables` filled.

        Raises:
            OSError: access is denied.
        """
        final = self._path(number, sha256)
        _remove(final)
        staged.rename(final)
        return StoredTables(final)

    def listed(self) -> list[str]:
        """Names of all folders, for `prune`."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.iterdir())

    def prune(self, listed: Iterable[str], dumps: Iterable[tuple[int, str]]) -> None:
        """Remove the folders of dumps that no longer exist, but no staged one.

        Args:
            listed: From `listed`, called before the database was asked for its
                dumps: a newer folder belongs to a load in progress.
            dumps: Number and digest of each dump of the database.
        """
        known = {self._path(number, sha256).name for number, sha256 in dumps}
        for name in listed:
            if name not in known and not self._is_in_use(name):
                _remove(self._folder / name)

    def _is_in_use(self, name: str) -> bool:
        """Whether a folder is one that a process is writing."""
        if not name.startswith(_STAGED):
            return False
        owner = name.removeprefix(_STAGED).removesuffix(_PART).partition("-")[2]
        alive = is_alive(unquote(owner))
        if alive is None:  # it may run in another container
            paths = [self._folder / name, *(self._folder / name).glob("*")]
            newest = max((_changed_s(path) for path in paths), default=0.0)
            return time.time() - newest < _ABANDONED_S
        return alive


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it is just being removed
        return 0.0


def write_tables(folder: Path, tables: DumpTables, progress: Progress = silent) -> None:
    """Write the tables of a dump into an empty folder.

    Raises:
        OSError: the disk is full, or access is denied.
    """
    rows = sum(tables.rows(entry.name) for entry in TABLES)
    stage = OneStage(progress, "store", rows)
    for entry in TABLES:
        frame = tables.lazy(entry.name, stage)
        stored = frame.drop(tables.absent(entry.name))
        write_parquet(stored, folder / f"{entry.name}.parquet")
    written = StoredTables(folder)
    about = {
        "version": TABLES_VERSION,
        "rows": {entry.name: written.rows(entry.name) for entry in TABLES},
        **asdict(counts(written)),
    }
    text = json.dumps(about, indent=2)
    (folder / _COUNTS).write_text(text, encoding="utf-8")


def _remove(path: Path) -> None:
    """Remove a folder; another process may be doing the same.

    It is renamed first, so a part of it is never found, even if this is killed.
    """
    gone = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_PART}")
    try:
        path.rename(gone)
    except OSError:
        gone = path
    shutil.rmtree(gone, ignore_errors=True)


LIST_SEPARATOR = "\x1f"
"""Between the elements of a list in a CSV file: U+001F, the unit separator."""


_ROW_GROUP_ROWS = 1 << 16
"""Few enough rows that reading a slice decodes little more than the slice."""


def write_parquet(
    frame: pl.LazyFrame, path: Path, *, export_id: str | None = None
) -> None:
    """Stream a table into a Parquet file.

    Args:
        frame: The table.
        path: The file.
        export_id: Id of the export that the file belongs to.

    Raises:
        OSError: it cannot be written.
    """
    with as_os_errors():
        frame.sink_parquet(
            path,
            compression="zstd",
            compression_level=1,
            row_group_size=_ROW_GROUP_ROWS,
            metadata=None if export_id is None else {EXPORT_KEY: export_id},
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
    """As `write_csv`, with text for spreadsheets: see `text.for_spreadsheet`.

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
    """Raise system errors with their number, which polars has only in its texts.

    Polars omits the number if the end of a Parquet file does not fit on the disk.
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
