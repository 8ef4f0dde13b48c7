"""Adding dumps to a fleet: find them, leave out those it has, read, publish."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.fleet.datasets import FAILED
from ingest.fleet.engines import Engine
from ingest.fleet.task import ADDED, SKIPPED, Job
from ingest.fleet.workplace import FleetFolder, check_new_dumps
from ingest.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ingest.fleet.engines import RunningWorkers
    from ingest.fleet.sources import FleetSource
    from ingest.fleet.workplace import ReadAs
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress

_PUBLISHED_TOGETHER, _OF_A_PROCESSOR = 1000, 20
"""Dumps that are published at once: at least so many, and so many for each processor,
since all wait until the last one is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """What does the work.

    Attributes:
        engine: Processes of this machine, or a Spark cluster.
        processes: Processes of this machine, at most.
        memory_bytes: Memory for all of those together.
        timeout_s: Time limit for one dump; ``None`` for no limit.
        master: Address of the Spark cluster; ``None`` under ``spark-submit``.
    """

    engine: Engine = Engine.LOCAL
    processes: int = 1
    memory_bytes: int = 4 << 30
    timeout_s: float | None = None
    master: str | None = None


@dataclass(slots=True)
class Added:
    """What a run did.

    Attributes:
        added_count: Dumps that were read.
        differing: Addresses of skipped dumps that were read with other options, such as
            another layout, and stay as they are.
        skipped_count: Files whose dump the fleet has already.
        object_count: Objects of the dumps that were read.
        incomplete: Address and reason of each dump that is not the whole heap.
        failures: Address and error of each file that could not be added.
    """

    added_count: int = 0
    skipped_count: int = 0
    object_count: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    incomplete: list[tuple[str, str]] = field(default_factory=list)


def add(
    sources: Sequence[FleetSource],
    folder: Path,
    options: ReadOptions,
    workers: Workers,
    *,
    heavy: Sequence[str] = (),
    retry_failed: bool = False,
    progress: Progress = silent,
) -> Added:
    """Add dumps to the fleet in ``folder``.

    Dumps of the fleet are left out: a file of the same address and version without
    being opened, the same dump in another file once its digest is known. So an
    interrupted run can be repeated with the same arguments.

    Args:
        sources: What to add.
        folder: Folder of the fleet; made if it is missing.
        options: How to read dumps.
        workers: What does the work.
        heavy: Names of further datasets to write.
        retry_failed: Try files again that could not be read before.
        progress: Receives the number of files.

    Raises:
        IngestError: the folder is not a fleet's or cannot be written, its dumps have
            fingerprints of another rule, or what the work needs is not installed.
    """
    fleet = FleetFolder(folder)
    fleet.prepare()
    known = fleet.known()
    check_new_dumps(fleet)
    result = Added()
    new = []
    for source in sources:
        key = source.address, source.version
        seen = key in known.sources
        if seen and not (retry_failed and source.address in known.failed):
            result.skipped_count += 1
            if _differs(known.sources[key], options, source.address):
                result.differing.append(source.address)
        else:
            new.append(source)
    job = Job(folder.absolute(), frozenset(known.dump_ids), options, tuple(heavy))
    finished, mended = result.skipped_count, list[str]()
    progress("dumps", finished, len(sources))
    try:
        with _started(workers) if new else nullcontext() as running:
            while running is not None and new:
                some = max(_PUBLISHED_TOGETHER, _OF_A_PROCESSOR * running.processors)
                for outcome in running.add(new[:some], job):
                    finished += 1
                    progress("dumps", finished, len(sources))
                    if outcome.state == ADDED:
                        result.added_count += 1
                        result.object_count += outcome.object_count
                        if outcome.incomplete:
                            result.incomplete.append(
                                (outcome.address, outcome.incomplete)
                            )
                    elif outcome.state == SKIPPED:
                        result.skipped_count += 1
                        there = known.dump_ids.get(outcome.dump_id)
                        if _differs(there, options, outcome.address):
                            result.differing.append(outcome.address)
                        if outcome.address in known.failed:
                            mended.append(outcome.address)
                    elif outcome.state == FAILED:
                        result.failures.append((outcome.address, outcome.error))
                fleet.publish(running.merge)
                del new[:some]
    finally:
        fleet.publish()  # what was read before a run ended early
        if mended:
            fleet.forget_failures(mended)
    result.failures.sort()
    result.differing.sort()
    return result


def _differs(there: ReadAs | None, options: ReadOptions, address: str) -> bool:
    return there is not None and there.differs(options.of_dump(address))


def _started(workers: Workers) -> AbstractContextManager[RunningWorkers]:
    if workers.engine is Engine.SPARK:
        from ingest.fleet.spark import spark_workers

        return spark_workers(master=workers.master)
    from ingest.fleet.pool import local_workers

    return local_workers(
        processes=workers.processes,
        memory_bytes=workers.memory_bytes,
        timeout_s=workers.timeout_s,
    )
