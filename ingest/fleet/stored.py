"""The tables of one dump of a fleet, to be loaded without reading its file again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import polars as pl

from ingest.errors import IngestError
from ingest.fleet.datasets import DATASETS, HEAVY, partition
from ingest.heap.identity import Identity
from ingest.tables.parquet import FileTables
from ingest.tables.schema import label, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.fleet.workplace import FleetFolder

_DATASETS = {dataset.name: dataset for dataset in DATASETS}


def are_kept(about: Mapping[str, object]) -> bool:
    """Whether a fleet has all tables of a dump, by its row of ``dumps``."""
    kept = cast("list[str] | None", about["large_datasets"])
    return {dataset.name for dataset in HEAVY} <= {*(kept or ())}


class FleetTables(FileTables):
    """The tables of a dump, from the datasets of its fleet.

    Args:
        fleet: The folder.
        about: The dump's row of the dataset ``dumps``, with ``program``.

    Raises:
        IngestError: not all of its tables are there.
    """

    def __init__(self, fleet: FleetFolder, about: Mapping[str, object]) -> None:
        super().__init__()
        if not are_kept(about):
            raise IngestError(
                f"{about['source']} was added without its objects (--table all): "
                "--read loads it from its file"
            )
        self._fleet, self._about = fleet, about
        self._small: dict[str, pl.LazyFrame | None] = {}

    @property
    def identity(self) -> Identity:
        """Which dump of which file they are."""
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
            found = pl.concat(rows, how="diagonal") if rows else pl.DataFrame()
            row = table(name).columns[0].name
            self._small[name] = found.sort(row).lazy() if found.height else None
        return self._small[name]
