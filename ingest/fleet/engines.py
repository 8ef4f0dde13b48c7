"""What a fleet's dumps can be read by."""

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
"""The environment of what reads dumps: each processor has a dump of its own."""


class RunningWorkers(Protocol):
    """Workers of an engine that has been started."""

    @property
    def processors(self) -> int:
        """How many dumps they read at once."""

    def add(self, sources: Sequence[FleetSource], job: Job) -> Iterator[Outcome]:
        """Add dumps; yields outcomes as they come.

        Raises:
            IngestError: the fleet's folder cannot be written, or the engine ended.
        """

    def merge(self, batches: Sequence[DumpBatch]) -> None:
        """Publish some batches of dumps; what fails is left undone.

        Nothing is being added meanwhile: who publishes holds the lock that a worker
        needs when it has read a dump.
        """
