"""The datasets of a fleet, column by column.

A dataset is a folder of Parquet files, partitioned by program as Hive does it
(``types/program=shop/part-….parquet``), so ``program`` is a column of the path, not of
the file. Columns are added, and never change their meaning; rows of older files have
nulls in newer columns.

Rows of a dump may be in a dataset before the dump is complete. It is complete when
`DUMPS` has its row: join with that, as the library's own SQL does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.tables.column import FLOAT, INT64, TEXT, TEXTS, TIME, Column
from ingest.tables.dump_properties import DUMP_PROPERTIES
from ingest.tables.schema import TABLES, table

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 1
"""Raised when a column changes its meaning or goes away; not when one is added."""

VERSION_KEY = "heaproots.fleet_schema"
"""The key of the version in the metadata of each Parquet file."""

READY, INCOMPLETE, FAILED = "ready", "incomplete", "failed"
NO_PROGRAM = "unknown"

# fmt: off
_ABOUT = (
    Column("dump_id", TEXT,
        "digest of the decompressed file, 32 hexadecimal digits; or `failed-` and a "
        "digest of the address, where the dump could not be read"),
    Column("name", TEXT, "name of the file without its suffixes"),
    Column("source", TEXT, "its location when it was read: a path or an address"),
    Column("source_bytes", INT64, "size of the file"),
    Column("source_version", TEXT,
        "time of modification in nanoseconds, or the object store's tag; shows "
        "whether the file has changed"),
    Column("version", TEXT, "version of the program, from a label", absent=None),
    Column("host", TEXT, "from a label", absent=None),
    Column("taken_at", TIME, "when the dump was taken, from the label `time`",
        absent=None),
    Column("uptime_s", FLOAT,
        "how long the program had run, in seconds, from the label `uptime`",
        absent=None),
    Column("labels", TEXT, "all labels as a JSON object"),
    Column("state", TEXT,
        "`ready`; `incomplete` where the dump is not the whole heap, so that it counts "
        "in no share; or `failed`"),
    Column("error", TEXT, "reason why it could not be read", absent=None),
    Column("read_s", FLOAT, "how long reading and analysing took, in seconds"),
    Column("large_datasets", TEXTS,
        "large datasets that were also written, such as `objects`; with all of them, "
        "the dump can be loaded into Neo4j", absent=None),
)
# fmt: on

_OF_STORE = {
    "number", "name", "state", "source", "loaded_at", "loading_since", "loader",
    "heartbeat", "exclusive",
}  # fmt: skip
"""Properties of a Dump node that belong to a database, or that `_ABOUT` has."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset.

    Attributes:
        name: Name of its folder.
        meaning: What its rows are.
        columns: In order, without ``program``.
        order: Columns that the rows of a file are sorted by.
        is_heavy: Whether it has as many rows as a dump has objects. Then each dump has
            a file of its own, and only if that was asked for.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    is_heavy: bool = False

    @property
    def schema(self) -> pl.Schema:
        """Names and types of the columns."""
        import polars as pl

        return pl.Schema({column.name: column.dtype.polars for column in self.columns})


_DUMP_ID = _ABOUT[0]

DUMPS = Dataset(
    "dumps",
    "dumps, including those that could not be read",
    _ABOUT + tuple(c for c in DUMP_PROPERTIES if c.name not in _OF_STORE),
    ("dump_id",),
)


def _of_table(name: str, *order: str, is_heavy: bool = False) -> Dataset:
    entry = table(name)
    columns = (_DUMP_ID, *entry.columns)
    return Dataset(name, entry.meaning, columns, order, is_heavy)


LIGHT = (
    _of_table("types", "name", "dump_id"),
    _of_table("type_paths", "fingerprint", "dump_id", "path"),
    _of_table("suspects", "fingerprint", "dump_id", "rank"),
)
"""Datasets with rows of every dump, besides `DUMPS`."""

HEAVY = tuple(
    _of_table(entry.name, *entry.schema.names()[:1], is_heavy=True)
    for entry in TABLES
    if entry.name not in {dataset.name for dataset in LIGHT}
)
"""Datasets that are written on request, such as all objects."""

DATASETS = (DUMPS, *LIGHT, *HEAVY)


def partition(program: str | None) -> str:
    """The folder of a program in a dataset, as Hive spells it."""
    quoted = re.sub(
        rb"[^A-Za-z0-9_.-]",
        lambda found: b"%%%02X" % found[0][0],
        (program or NO_PROGRAM).encode(),
    ).decode()
    if quoted.strip(".") == "":
        quoted = quoted.replace(".", "%2E")
    return f"program={quoted}"


def datasets_markdown() -> str:
    """Tables that describe all columns, for a README."""
    lines = []
    for dataset in DATASETS:
        lines += [
            f"### `{dataset.name}`",
            "",
            f"Rows: {dataset.meaning}.",
            "",
            "| column | type | unit | meaning |",
            "| --- | --- | --- | --- |",
        ]
        for column in dataset.columns:
            dtype = column.dtype.polars
            meaning = column.meaning.replace("|", "\\|")
            lines.append(f"| `{column.name}` | {dtype} | {column.unit} | {meaning} |")
        lines.append("")
    return "\n".join(lines)
