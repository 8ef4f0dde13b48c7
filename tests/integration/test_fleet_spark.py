"""A fleet on a real Spark cluster: a master and two workers, as processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING

import polars as pl
import psutil
import pytest

from ingest.errors import IngestError
from ingest.fleet.add import Workers, add
from ingest.fleet.engines import Engine
from ingest.fleet.sources import LabelPattern, find_sources
from ingest.fleet.workplace import FleetFolder
from ingest.heap.read_options import DEFAULTS
from tests.dumps.fleet import LABELS, write_fleet
from tests.spark_cluster import Cluster, spark_cluster
from tests.unit.fleet.test_fleet import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip(
    "pyspark", reason="fleets on Spark: no PySpark (make test-fleet installs it)"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with spark_cluster(tmp_path_factory.mktemp("spark")) as started:
        yield started


def test_a_cluster_makes_the_same_tables_as_this_machine(
    cluster: Cluster, tmp_path: Path
) -> None:
    write_fleet(tmp_path / "in", 24, live=20)
    bad = tmp_path / "in" / "shop" / "2.1" / "host9-20261130T000000.gclog"
    bad.write_bytes(b"\0" * 99)
    sources = find_sources([str(tmp_path / "in")], LabelPattern(LABELS))
    on_spark = Workers(engine=Engine.SPARK, master=cluster.address)
    result = add(sources, tmp_path / "spark", DEFAULTS, on_spark)
    add(sources, tmp_path / "local", DEFAULTS, Workers(processes=2))
    assert (result.added_count, len(result.failures)) == (24, 1)
    known = tables(tmp_path / "local")
    assert known["dumps"].height == 25
    found = tables(tmp_path / "spark")
    assert all(found[name].equals(known[name]) for name in known)
    again = add(sources, tmp_path / "spark", DEFAULTS, on_spark)
    assert (again.added_count, again.skipped_count) == (0, 25)


def test_a_killed_executor_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    write_fleet(tmp_path / "in", 40, live=20)
    sources = find_sources([str(tmp_path / "in")], LabelPattern(LABELS))
    add(sources, tmp_path / "local", DEFAULTS, Workers(processes=2))
    target, results = tmp_path / "spark", []
    on_spark = Workers(engine=Engine.SPARK, master=cluster.address)

    def run() -> None:
        results.append(add(sources, target, DEFAULTS, on_spark))

    thread = Thread(target=run)
    thread.start()
    while thread.is_alive() and len(FleetFolder(target).staged()) < 4:
        time.sleep(0.02)
    executor = _executor(cluster)
    for process in (*executor.children(recursive=True), executor):
        process.kill()
    assert len(FleetFolder(target).staged()) < 40
    thread.join()
    (result,) = results
    assert result.failures == []
    known, found = tables(tmp_path / "local"), tables(target)
    assert all(found[name].equals(known[name]) for name in known)


def _executor(cluster: Cluster) -> psutil.Process:
    """One that runs."""
    for worker in cluster.processes[1:]:
        for process in psutil.Process(worker.pid).children(recursive=True):
            if any(
                "CoarseGrainedExecutorBackend" in word for word in process.cmdline()
            ):
                return process
    pytest.fail("no executor runs")


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="only root can mount a disk"
)
def test_a_full_disk_is_one_line(cluster: Cluster, tmp_path: Path) -> None:
    write_fleet(tmp_path / "in", 12, live=20)
    sources = find_sources([str(tmp_path / "in")], LabelPattern(LABELS))
    disk, filler = tmp_path / "disk", tmp_path / "disk" / "filler"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("this container may not mount a disk")
    try:
        FleetFolder(disk / "fleet").prepare()
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - 60_000)
        on_spark = Workers(engine=Engine.SPARK, master=cluster.address)
        with pytest.raises(IngestError, match=r"cannot be written \(No space left"):
            add(sources, disk / "fleet", DEFAULTS, on_spark)
        filler.unlink()
        result = add(sources, disk / "fleet", DEFAULTS, on_spark)
        assert result.failures == []
        add(sources, tmp_path / "local", DEFAULTS, Workers())
        known, found = tables(tmp_path / "local"), tables(disk / "fleet")
        assert all(found[name].equals(known[name]) for name in known)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_spark_reads_the_datasets(cluster: Cluster, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    write_fleet(tmp_path / "in", 8, live=20)
    sources = find_sources([str(tmp_path / "in")], LabelPattern(LABELS))
    add(sources, tmp_path / "fleet", DEFAULTS, Workers())
    session = SparkSession.builder.master(cluster.address).getOrCreate()
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
