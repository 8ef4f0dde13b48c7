"""The tables of one dump of a fleet, to be loaded without reading its file again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from ingest.dumps.dump import KeptDump
from ingest.errors import IngestError, UnknownDump
from ingest.fleet.datasets import DATASETS, HEAVY, partition
from ingest.fleet.questions import Fleet
from ingest.fleet.workplace import FleetFolder
from ingest.heap.identity import Identity
from ingest.tables.parquet import FileTables, require_columns
from ingest.tables.schema import label, table

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATASETS = {dataset.name: dataset for dataset in DATASETS}


def are_kept(about: Mapping[str, object]) -> bool:
    """Whether a fleet has all tables of a dump, by its row of ``dumps``."""
    kept = cast("list[str] | None", about["large_datasets"])
    return {dataset.name for dataset in HEAVY} <= {*(kept or ())}


def require_all(about: Mapping[str, object]) -> None:
    """Make sure that a fleet has all tables of a dump.

    Raises:
        IngestError: the fleet has only the small ones.
    """
    if not are_kept(about):
        raise IngestError(
            f"{about['source']} was added without its objects (--table all): name its "
            "file, or --read loads it from there"
        )


class FleetTables(FileTables):
    """The tables of a dump, from the datasets of its fleet.

    Args:
        fleet: The folder.
        about: The dump's row of the dataset ``dumps``, with ``program``.
    """

    def __init__(self, fleet: FleetFolder, about: Mapping[str, object]) -> None:
        super().__init__()
        self._fleet, self._about = fleet, about
        self._small: dict[str, pl.LazyFrame | None] = {}

    @property
    def identity(self) -> Identity:
        """Identifies the dump and its file."""
        return Identity(
            cast("str", self._about["sha256"]),
            cast("str | None", self._about["trace"]),
            cast("int | None", self._about["part"]),
        )

    def dump(self) -> dict[str, object]:
        """Properties of the Dump node that follow from the heap."""
        return {
            column.name: self._about[column.name]
            for column in label("Dump").properties
            if column.source is not None
        }

    def close(self) -> None:
        """Free the small tables."""
        self._small.clear()

    def absent(self, name: str) -> frozenset[str]:
        """Columns of a table that are null in every row."""
        if name not in self._absent:
            file = self._scan(name)
            if file is None:
                return frozenset()
            optional = {c.name for c in table(name).columns if c.optional}
            there = optional.intersection(file.collect_schema().names())
            counted = file.select(
                pl.col(column).is_not_null().any() for column in sorted(there)
            ).collect(engine="streaming")
            has_values = {column for column in there if counted[column].item()}
            self._absent[name] = frozenset(optional - has_values)
        return self._absent[name]

    def _scan(self, name: str) -> pl.LazyFrame | None:
        dataset, dump_id = _DATASETS[name], self._about["dump_id"]
        if dataset.is_heavy:
            require_all(self._about)
            program = partition(cast("str", self._about["program"]))
            path = self._fleet.folder / name / program / f"{dump_id}.parquet"
            if not path.is_file():
                return None
            return pl.scan_parquet(path, glob=False, hive_partitioning=False)
        if name not in self._small:
            rows = [
                pl.scan_parquet(path, glob=False, hive_partitioning=False)
                .filter(pl.col("dump_id") == dump_id)
                .collect(engine="streaming")
                for path in self._fleet.files(dataset)
            ]
            for found in rows:
                if found.height:  # else other files' column would be read as null
                    require_columns(name, found.columns)
            found = pl.concat(rows, how="diagonal") if rows else pl.DataFrame()
            row = table(name).columns[0].name
            self._small[name] = found.sort(row).lazy() if found.height else None
        return self._small[name]


class KeptByFleets:
    """The dumps of fleets, named ``FLEET::DUMP``; a `Keeper`.

    ``FLEET`` is a fleet's folder, ``DUMP`` what `Fleet.choose` takes: an address, the
    name of a file, or the beginning of an id.
    """

    def find(self, what: str) -> KeptDump | None:
        """The dump of that name; ``None`` if the name contains no folder of a fleet.

        Raises:
            UnknownDump: the fleet has no dump of that name, or several.
            IngestError: the folder is no fleet's.
        """
        folder, mark, name = what.partition("::")
        if not mark or not Path(folder).is_dir():
            return None
        chosen = Fleet(Path(folder)).choose([name])
        if len(chosen) > 1:
            ids = ", ".join(sorted(str(about["dump_id"])[:12] for about in chosen))
            raise UnknownDump(
                f"{len(chosen)} dumps of the fleet are called {name}; name one by its "
                f"id: {ids}"
            )
        (about,) = chosen
        tables = FleetTables(FleetFolder(Path(folder)), about)
        return KeptDump(
            cast("str", about["name"]),
            cast("str", about["source"]),
            tables,
            cast("str", about["format"]),
            cast("str", about.get("runtime") or ""),
            identity=tables.identity,
            strength=cast("str", about["strength_policy"] or ""),
            is_redacted=bool(about["redacted"]),
            incomplete=cast("str", about.get("incomplete") or ""),
        )
