"""A fleet on a real Spark cluster: a master and two workers, as processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from ingest.fleet.add import Workers, add
from ingest.fleet.engines import Engine
from ingest.fleet.labels import LabelPattern
from ingest.fleet.sources import find_sources
from ingest.fleet.workplace import FleetFolder
from ingest.heap.read_options import DEFAULTS
from tests.dumps.fleet import LABELS, write_fleet
from tests.spark_cluster import spark_cluster
from tests.unit.fleet.test_fleet import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("pyspark", reason="no PySpark: make test-fleet installs it")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with spark_cluster(tmp_path_factory.mktemp("spark")) as started:
        yield started.address


def test_a_cluster_makes_the_same_tables_as_this_machine(
    cluster: str, tmp_path: Path
) -> None:
    write_fleet(tmp_path / "in", 24, live=20)
    bad = tmp_path / "in" / "shop" / "2.1" / "host9-20261130T000000.gclog"
    bad.write_bytes(b"\0" * 99)
    sources = find_sources([str(tmp_path / "in")], LabelPattern(LABELS))
    on_spark = Workers(engine=Engine.SPARK, master=cluster)
    result = add(sources, tmp_path / "spark", DEFAULTS, on_spark)
    add(sources, tmp_path / "local", DEFAULTS, Workers(processes=2))
    assert (result.added_count, len(result.failures)) == (24, 1)
    known = tables(tmp_path / "local")
    assert known["dumps"].height == 25
    found = tables(tmp_path / "spark")
    assert all(found[name].equals(known[name]) for name in known)
    again = add(sources, tmp_path / "spark", DEFAULTS, on_spark)
    assert (again.added_count, again.skipped_count) == (0, 25)


def test_spark_reads_the_datasets(cluster: str, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    write_fleet(tmp_path / "in", 8, live=20)
    sources = find_sources([str(tmp_path / "in")], LabelPattern(LABELS))
    add(sources, tmp_path / "fleet", DEFAULTS, Workers())
    session = SparkSession.builder.master(cluster).getOrCreate()
    try:
        rows = session.read.parquet(str(tmp_path / "fleet" / "suspects"))
        rows.createOrReplaceTempView("suspects")
        counted = session.sql(
            "SELECT program, count(*) AS n FROM suspects GROUP BY program"
        )
        found = {row["program"]: row["n"] for row in counted.collect()}
    finally:
        session.stop()
    paths = [
        str(path)
        for path in FleetFolder(tmp_path / "fleet").folder.glob("suspects/*/*.parquet")
    ]
    frame = pl.read_parquet(paths, hive_partitioning=True)
    assert found == dict(frame["program"].value_counts().iter_rows())
