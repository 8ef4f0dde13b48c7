"""One of the dumps that are compared: the columns that a comparison needs.

They come from the tables of a file that was just read, of a folder that
``ingest export`` wrote, or of the graph; a comparison does not know from which.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from ingest.analysis.fingerprints import RULE_VERSION, normalised_type
from ingest.errors import DumpError
from ingest.heap.graph import MISSING_TYPE_NAME
from ingest.tables.parquet import StoredTables
from ingest.tables.schema import table
from ingest.text import Captions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingest.heap.identity import Identity
    from ingest.tables.mapping import Tables

TYPE_COLUMNS = (
    "type",
    "name",
    "reachable_count",
    "reachable_bytes",
    "retained_bytes",
)
PATH_COLUMNS = (
    "path",
    "parent",
    "type",
    "tree",
    "name",
    "fingerprint",
    "depth",
    "object_count",
    "shallow_bytes",
    "total_bytes",
    "rest_bytes",
)
SUSPECT_COLUMNS = (
    "suspect",
    "type",
    "object_count",
    "retained_bytes",
    "share",
    "pattern",
    "path",
    "cut",
    "cut_step",
    "sentence",
    "fingerprint",
)


class TypeTotals(NamedTuple):
    """The reachable instances of a type.

    Attributes:
        name: Full name; the last of several that are normalised alike.
        object_count: How many there are.
        shallow_bytes: Their size.
        retained_bytes: What they retain together.
    """

    name: str
    object_count: int
    shallow_bytes: int
    retained_bytes: int


@dataclass(frozen=True, slots=False, eq=False)
class ComparedDump:
    """One dump.

    Attributes:
        name: What to call it.
        format_name: Its format; ``None`` if that is not known.
        identity: Which dump of which file; ``None`` if that is not known.
        types: `TYPE_COLUMNS`.
        paths: `PATH_COLUMNS`; ``parent`` is a value of ``path`` or null, parents come
            first, and ``name`` is the full name of the type or the kind of root.
        suspects: `SUSPECT_COLUMNS`, the best first, and ``type_name``, the full name.
        objects: Those with an identity, as `known_objects` has them; ``None`` if there
            are none, or they were not asked for.
    """

    name: str
    format_name: str | None
    identity: Identity | None
    types: pl.DataFrame
    paths: pl.DataFrame
    suspects: pl.DataFrame
    objects: pl.DataFrame | None = None

    @property
    def reachable_count(self) -> int:
        """Objects that are reachable, without placeholders."""
        return int(self.types["reachable_count"].sum())

    @property
    def reachable_bytes(self) -> int:
        """Their shallow size, bytes."""
        return int(self.types["reachable_bytes"].sum())

    @cached_property
    def totals(self) -> Mapping[str, TypeTotals]:
        """The types that have reachable instances, by normalised name."""
        found: dict[str, TypeTotals] = {}
        for _, name, count, size, retained in self.types.iter_rows():
            if count:
                key = normalised_type(name)
                before = found.get(key, TypeTotals(name, 0, 0, 0))
                found[key] = TypeTotals(
                    name, before[1] + count, before[2] + size, before[3] + retained
                )
        return found

    @cached_property
    def captions(self) -> Captions:
        """Short names of the types."""
        return Captions.of_types(self.types["name"].to_list())

    def count_of(self, type_name: str) -> int:
        """Reachable instances of a type, by its normalised name."""
        found = self.totals.get(type_name)
        return 0 if found is None else found.object_count


def of_tables(
    name: str,
    tables: Tables,
    *,
    format_name: str | None = None,
    identity: Identity | None = None,
    objects: pl.DataFrame | None = None,
) -> ComparedDump:
    """The dump that tables are of.

    Raises:
        DumpError: they were written by a version that had no fingerprints.
    """

    def whole(entry: str, columns: tuple[str, ...]) -> pl.DataFrame:
        return tables.part(entry, 0, tables.rows(entry), columns)

    types = whole("types", TYPE_COLUMNS)
    return of_frames(
        name,
        types,
        whole("type_paths", PATH_COLUMNS),
        whole("suspects", SUSPECT_COLUMNS),
        format_name=format_name,
        identity=identity,
        objects=objects,
    )


def of_frames(
    name: str,
    types: pl.DataFrame,
    paths: pl.DataFrame,
    suspects: pl.DataFrame,
    *,
    format_name: str | None = None,
    identity: Identity | None = None,
    objects: pl.DataFrame | None = None,
) -> ComparedDump:
    """The dump of three tables; rows of paths and suspects name types by ``type``.

    Raises:
        DumpError: they were made by a version that had no fingerprints.
    """
    for frame in (paths, suspects):
        of_rule = frame["fingerprint"].str.starts_with(f"{RULE_VERSION}-")
        if not of_rule.fill_null(value=False).all():
            raise DumpError(
                f"{name} was made by a version that had no fingerprints, or those of "
                "an earlier rule; load or export it again"
            )
    names = types.select("type", pl.col("name").alias("type_name"))
    # A placeholder has no type, and a kind of root and the top have no objects.
    full = pl.coalesce(
        "type_name",
        pl.when(pl.col("object_count") > 0)
        .then(pl.lit(MISSING_TYPE_NAME))
        .otherwise("name"),
    )
    return ComparedDump(
        name,
        format_name,
        identity,
        types,
        paths.join(names, on="type", how="left", maintain_order="left")
        .with_columns(full.alias("name"))
        .drop("type_name"),
        suspects.join(names, on="type", how="left", maintain_order="left"),
        objects,
    )


def of_folder(folder: Path) -> ComparedDump:
    """The dump of a folder that ``ingest export --for parquet`` wrote.

    Raises:
        DumpError: the folder has no such tables, or they cannot be read.
    """
    needed = ("types", "type_paths", "suspects")
    missing = [one for one in needed if not (folder / f"{one}.parquet").is_file()]
    if missing:
        raise DumpError(
            f"no export of a dump: it has no {missing[0]}.parquet", path=folder
        )
    tables = StoredTables(folder)
    try:
        for one in needed:
            optional = {c.name for c in table(one).columns if c.optional}
            if lost := tables.absent(one) - optional - {"fingerprint"}:
                raise DumpError(
                    f"{one}.parquet has no column {min(lost)}; export it again",
                    path=folder,
                )
        return of_tables(folder.name, tables)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DumpError(f"tables that cannot be read: {reason}", path=folder) from error
