"""Dumps added by the executors of a Spark cluster."""

from __future__ import annotations

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.errors import IngestError
from ingest.fleet.engines import ONE_THREAD
from ingest.fleet.task import Outcome, try_dump
from ingest.fleet.workplace import merge_batch
from ingest.words.command_line import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark import SparkContext

    from ingest.fleet.sources import FleetSource
    from ingest.fleet.task import Job
    from ingest.fleet.workplace import DumpBatch

APPLICATION = "heaproots fleet"
_POLL_S = 0.5
_QUICK = "-XX:TieredStopAtLevel=1"
"""Java has little to do here, and its better compiler would take processors from the
work of reading dumps."""

_TASK_BYTES, _TASKS_OF_A_PROCESSOR = 16 << 20, 4
"""Total size of small dumps that are read in one task, if enough tasks are left."""

_LOGGING = Path(__file__).with_name("log4j2.properties").absolute()
"""Options for the driver's Java that take effect from its start."""


class SparkWorkers:
    """Executors of a cluster.

    Attributes:
        processors: How many tasks they run at once, as far as known.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self.processors = context.defaultParallelism

    def add(self, sources: Sequence[FleetSource], job: Job) -> Iterator[Outcome]:
        """Add dumps; yield outcomes as the cluster reports them.

        Raises:
            IngestError: the cluster ended the work.
        """
        from pyspark.accumulators import AccumulatorParam

        class Outcomes(AccumulatorParam):  # type: ignore[misc]
            def zero(self, value: list[Outcome]) -> list[Outcome]:
                return []

            def addInPlace(  # noqa: N802
                self, value1: list[Outcome], value2: list[Outcome]
            ) -> list[Outcome]:
                value1.extend(value2)
                return value1

        found = self._context.accumulator([], Outcomes())
        version = __version__

        def add(some: Sequence[FleetSource]) -> None:
            import ingest

            if ingest.__version__ != version:
                raise IngestError(
                    f"executors have heaproots {ingest.__version__}, but the driver "
                    f"has {version}: install the same version everywhere"
                )
            for source in some:
                found.add([try_dump(source, job)])

        tasks = tasks_of(sources, self.processors)
        reported = 0
        with _words_of_spark(), ThreadPoolExecutor(1) as thread:
            rows = self._context.parallelize(tasks, max(1, len(tasks)))
            work = thread.submit(rows.foreach, add)
            while not work.done():
                yield from found.value[reported:]
                reported = len(found.value)
                wait([work], _POLL_S)
            work.result()
        yield from found.value[reported:]

    def merge(self, batches: Sequence[DumpBatch]) -> None:
        """Publish some batches of dumps; those that fail are left undone."""
        with suppress(Exception):  # errors of Java, whose classes are not known here
            tasks = min(len(batches), _TASKS_OF_A_PROCESSOR * self.processors)
            self._context.parallelize(batches, tasks).foreach(merge_batch)


def tasks_of(
    sources: Sequence[FleetSource], processors: int
) -> list[tuple[FleetSource, ...]]:
    """Divide dumps into tasks: each has one large dump, or some small ones.

    Spark takes as long for a task as for reading a small dump.

    Args:
        sources: All dumps.
        processors: How many tasks run at once; each gets several.
    """
    most = max(1, len(sources) // (_TASKS_OF_A_PROCESSOR * processors))
    tasks: list[tuple[FleetSource, ...]] = []
    some: list[FleetSource] = []
    size_bytes = 0
    for source in sources:
        is_full = len(some) >= most or size_bytes + source.size_bytes > _TASK_BYTES
        if some and is_full:
            tasks.append(tuple(some))
            some, size_bytes = [], 0
        some.append(source)
        size_bytes += source.size_bytes
    return [*tasks, tuple(some)] if some else tasks


@contextmanager
def spark_workers(*, master: str | None) -> Iterator[SparkWorkers]:
    """Use the executors of a cluster.

    The fleet's folder must be the same on the driver and on all executors, which need
    heaproots installed. Spark repeats a task whose executor was lost.

    Args:
        master: Address of the cluster; ``None`` under ``spark-submit``, which knows it.

    Raises:
        IngestError: Spark is not installed, or the cluster cannot be used.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise IngestError(
            f"Spark needs more packages; {install_command('spark')}"
        ) from error
    _find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        there = SparkSession.getActiveSession()
        builder = SparkSession.builder.appName(APPLICATION)
        if master is not None:
            builder = builder.master(master).config(
                "spark.driver.extraJavaOptions",
                f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {_QUICK}",
            )
            builder = builder.config("spark.executor.extraJavaOptions", _QUICK)
            # Workers on this machine reach the driver by the loopback address.
            if "127.0.0.1" in master or master.startswith("local"):
                builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        for name, value in ONE_THREAD.items():
            builder = builder.config(f"spark.executorEnv.{name}", value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    except Exception as error:  # errors of Java, whose classes are not known here
        raise IngestError(f"Spark cannot be started: {_line(error)}") from error
    try:
        yield SparkWorkers(session.sparkContext)
    finally:
        if there is None:  # else it is somebody else's
            session.stop()


@contextmanager
def _words_of_spark() -> Iterator[None]:
    """Raise an error that ends a job as a message of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise IngestError(f"Spark ended the work: {_line(error)}") from error


def _find_java() -> None:
    """Make sure that a suitable Java is installed.

    The embedded Neo4j's Java is not suitable: it lacks the module
    ``jdk.incubator.vector``, which Spark 4 needs.
    """
    if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
        raise IngestError(
            "Spark needs Java 17 or later: install a JDK, or set JAVA_HOME"
        )


def _line(error: Exception) -> str:
    """An error in one line; the words of our own errors stay."""
    text = str(error).strip()
    if ours := re.search(r"^ingest\.errors\.\w+: (.+)$", text, re.MULTILINE):
        return ours[1]
    lines = text.splitlines()
    return lines[0][:300] if lines else type(error).__name__
