"""Dumps added by the executors of a Spark cluster."""

from __future__ import annotations

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.errors import IngestError
from ingest.fleet.engines import ONE_THREAD
from ingest.fleet.task import Outcome, try_dump

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark import SparkContext

    from ingest.fleet.sources import FleetSource
    from ingest.fleet.task import Job

APPLICATION = "heaproots fleet"
_POLL_S = 0.5
_LOGGING = Path(__file__).with_name("log4j2.properties").absolute()
"""For the driver's Java, before it could be told in another way."""


def add_on_spark(
    sources: Sequence[FleetSource], job: Job, *, master: str | None
) -> Iterator[Outcome]:
    """Add dumps on a cluster, each as a task; yields outcomes as they come.

    The fleet's folder must be the same on the driver and on all executors, which need
    heaproots installed. Spark repeats a task whose executor was lost.

    Args:
        sources: What to add.
        job: How.
        master: Address of the cluster; ``None`` under ``spark-submit``, which knows it.

    Raises:
        IngestError: Spark is not installed, or the cluster cannot be used.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise IngestError(
            "Spark needs further packages: pip install 'heaproots[spark]'"
        ) from error
    _find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        there = SparkSession.getActiveSession()
        builder = SparkSession.builder.appName(APPLICATION)
        if master is not None:
            builder = builder.master(master).config(
                "spark.driver.extraJavaOptions",
                f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
            )
            # Workers on this machine reach the driver by the loopback address.
            if "127.0.0.1" in master or master.startswith("local"):
                builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        for name, value in ONE_THREAD.items():
            builder = builder.config(f"spark.executorEnv.{name}", value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    except Exception as error:  # of Java, whose classes are not known here
        raise IngestError(f"Spark cannot be started: {_line(error)}") from error
    try:
        yield from _outcomes(session.sparkContext, sources, job)
    except (PySparkException, Py4JError) as error:
        raise IngestError(f"Spark ended the work: {_line(error)}") from error
    finally:
        if there is None:  # else it is somebody else's
            session.stop()


def _outcomes(
    context: SparkContext, sources: Sequence[FleetSource], job: Job
) -> Iterator[Outcome]:
    """Run all tasks, and yield what the cluster reports meanwhile."""
    from pyspark.accumulators import AccumulatorParam

    class Outcomes(AccumulatorParam):  # type: ignore[misc]
        def zero(self, value: list[Outcome]) -> list[Outcome]:
            return []

        def addInPlace(  # noqa: N802
            self, value1: list[Outcome], value2: list[Outcome]
        ) -> list[Outcome]:
            value1.extend(value2)
            return value1

    found = context.accumulator([], Outcomes())
    version = __version__

    def add(source: FleetSource) -> None:
        import ingest

        if ingest.__version__ != version:
            raise IngestError(
                f"executors have heaproots {ingest.__version__}, and the driver "
                f"{version}: install the same version everywhere"
            )
        found.add([try_dump(source, job)])

    tasks = context.parallelize(sources, max(1, len(sources)))
    reported = 0
    with ThreadPoolExecutor(1) as thread:
        work = thread.submit(tasks.foreach, add)
        while not work.done():
            yield from found.value[reported:]
            reported = len(found.value)
            wait([work], _POLL_S)
        work.result()
    yield from found.value[reported:]


def _find_java() -> None:
    """Make sure that there is a Java.

    The one of the embedded Neo4j will not do: it is without the module
    ``jdk.incubator.vector``, which Spark 4 asks for.
    """
    if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
        raise IngestError(
            "Spark needs Java 17 or later: install a JDK, or set JAVA_HOME"
        )


def _line(error: Exception) -> str:
    """What happened in one line; of an error of ours, our words."""
    text = str(error).strip()
    if ours := re.search(r"^ingest\.errors\.\w+: (.+)$", text, re.MULTILINE):
        return ours[1]
    lines = text.splitlines()
    return lines[0][:300] if lines else type(error).__name__
