"""What can read a fleet's dumps."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.fleet.sources import FleetSource
    from ingest.fleet.task import Job, Outcome
    from ingest.fleet.workplace import DumpBatch


class Engine(StrEnum):
    """Processes of this machine, or a Spark cluster."""

    LOCAL = "local"
    SPARK = "spark"


ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of the workers, each of which reads its dump on one processor."""


class RunningWorkers(Protocol):
    """Workers of an engine that has been started."""

    @property
    def processors(self) -> int:
        """How many dumps the workers read at once."""

    def add(self, sources: Sequence[FleetSource], job: Job) -> Iterator[Outcome]:
        """Add dumps; yield outcomes as they come.

        Raises:
            IngestError: the fleet's folder cannot be written, or the engine ended.
        """

    def merge(self, batches: Sequence[DumpBatch]) -> None:
        """Publish some batches of dumps; those that fail are left undone.

        Nothing may be added at the same time: the publishing process holds the lock,
        which a worker needs when it has read a dump.
        """
