"""Dumps added by processes of this machine, as many as fit its memory."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.errors import IngestError
from ingest.fleet.engines import ONE_THREAD
from ingest.fleet.task import ATTEMPTS, refuse, try_dump
from ingest.fleet.workplace import merge_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from pebble import ProcessPool

    from ingest.fleet.sources import FleetSource
    from ingest.fleet.task import Job, Outcome
    from ingest.fleet.workplace import DumpBatch

_BASE_BYTES = 250 << 20
_EXPANSION = {"": 8, "gz": 30, "zst": 30, "xz": 40, "bz2": 40, "zip": 30}
"""Memory for each byte of a file, by its compression: about three times what the
frozen limits of the readers are for files of usual proportions."""


def estimated_need_bytes(source: FleetSource) -> int:
    """Memory that a worker is expected to need for a file."""
    suffix = source.address.rpartition(".")[2].lower()
    return _BASE_BYTES + source.size_bytes * _EXPANSION.get(suffix, _EXPANSION[""])


class LocalWorkers:
    """Processes of this machine.

    Attributes:
        processors: How many there are at most.
    """

    def __init__(
        self,
        pool: ProcessPool,
        processes: int,
        memory_bytes: int,
        timeout_s: float | None,
    ) -> None:
        self.processors = processes
        self._pool = pool
        self._memory_bytes = memory_bytes
        self._timeout_s = timeout_s

    def add(self, sources: Sequence[FleetSource], job: Job) -> Iterator[Outcome]:
        """Add dumps; yields outcomes as they come.

        A dump that kills its process, takes too long or fails for a reason outside of
        it is tried again, `ATTEMPTS` times in all, and then set aside with its error.
        """
        from pebble import ProcessExpired

        waiting = [(source, 1) for source in reversed(sources)]
        running: dict[Future[Outcome], tuple[FleetSource, int, int]] = {}
        while waiting or running:
            free = self._memory_bytes - sum(need for _, _, need in running.values())
            # One more than there are processes, so that none waits for the next.
            while waiting and len(running) <= self.processors:
                need = estimated_need_bytes(waiting[-1][0])
                if running and need > free:
                    break
                source, attempt = waiting.pop()
                future = self._pool.schedule(
                    try_dump, args=(source, job), timeout=self._timeout_s
                )
                running[future] = (source, attempt, need)
                free -= need
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                source, attempt, _ = running.pop(future)
                try:
                    yield future.result()
                    continue
                except TimeoutError:
                    why = f"not finished after {self._timeout_s:g} s"
                except ProcessExpired as error:
                    why = f"its process ended with code {error.exitcode}"
                if attempt < ATTEMPTS:
                    waiting.insert(0, (source, attempt + 1))
                else:
                    yield refuse(source, job, f"{why} ({attempt} attempts)", 0.0)

    def merge(self, batches: Sequence[DumpBatch]) -> None:
        """Publish some batches of dumps; what fails is left undone."""
        wait([self._pool.schedule(merge_batch, args=(batch,)) for batch in batches])


@contextmanager
def local_workers(
    *, processes: int, memory_bytes: int, timeout_s: float | None = None
) -> Iterator[LocalWorkers]:
    """Start processes of this machine.

    Args:
        processes: How many at most.
        memory_bytes: For all of them together. A dump that needs more by itself is read
            alone.
        timeout_s: For one dump.

    Raises:
        IngestError: what runs the processes is not installed.
    """
    try:
        from pebble import ProcessPool
    except ImportError as error:
        raise IngestError(
            "a fleet needs more packages: pip install 'heaproots[fleet]'"
        ) from error
    context = multiprocessing.get_context("spawn")
    with (
        _one_thread_each(),
        ProcessPool(processes, context=context, initializer=_start_worker) as pool,
    ):
        try:
            yield LocalWorkers(pool, processes, memory_bytes, timeout_s)
        except BaseException:
            pool.stop()
            raise


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile use one processor each.

    Their libraries read it when they are imported, before an initializer runs.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_worker() -> None:
    """Let a worker be the first that the kernel ends."""
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
