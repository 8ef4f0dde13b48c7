"""Dumps added by processes of this machine, as many at once as its memory allows."""

from __future__ import annotations

import os
import signal
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError
from ingest.fleet.engines import ONE_THREAD
from ingest.fleet.task import ATTEMPTS, refuse, try_dump
from ingest.fleet.workplace import FleetFolder, merge_batch
from ingest.words.command_line import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

    from pebble import ProcessPool

    from ingest.fleet.sources import FleetSource
    from ingest.fleet.task import Job, Outcome
    from ingest.fleet.workplace import DumpBatch

_BASE_BYTES = 250 << 20
_POLL_S = 0.5
_EXPANSION = {"": 8, "gz": 30, "zst": 30, "xz": 40, "bz2": 40, "zip": 30}
"""Memory for each byte of a file, by its compression: about three times the frozen
limits of the readers, for files of usual proportions."""


def estimated_need_bytes(source: FleetSource) -> int:
    """Memory that a worker is expected to need for a file."""
    suffix = source.address.rpartition(".")[2].lower()
    return _BASE_BYTES + source.size_bytes * _EXPANSION.get(suffix, _EXPANSION[""])


class _Ended(Exception):
    """The process that was reading a dump has ended; the text says how.

    Attributes:
        is_known: Whether it had begun with the dump; else some process has ended.
    """

    def __init__(self, why: str, *, is_known: bool) -> None:
        super().__init__(why)
        self.is_known = is_known


class _Process(SpawnProcess):
    """A process that its context remembers, unless all are ended."""

    def __init__(self, *args: Any, context: _Context, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._of = context

    def start(self) -> None:
        context = self._of
        del self._of  # all attributes are sent to the process
        with context.lock:
            if context.is_ended:
                raise BrokenProcessPool("its processes are ended")
            super().start()
            context.started.append(self)


class _Context(SpawnContext):
    """Starts the processes of one pool, and ends them whatever the pool knows of them.

    Attributes:
        lock: Held while a process starts.
        started: Processes that have started; some may have ended.
        is_ended: Whether no process can start any more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lock = Lock()
        self.started: list[_Process] = []
        self.is_ended = False

    def Process(self, *args: Any, **kwargs: Any) -> _Process:  # type: ignore[override]  # noqa: ANN401, N802
        """A new process, as of `multiprocessing.Process`."""
        return _Process(*args, context=self, **kwargs)

    def end(self) -> None:
        """End all processes; the pool cannot start another one."""
        with self.lock:
            self.is_ended = True
        for process in self.started:
            process.kill()
            process.join()


class LocalWorkers:
    """Processes of this machine.

    Attributes:
        processors: The most processes.
    """

    def __init__(
        self,
        new_pool: Callable[[_Context], ProcessPool],
        processes: int,
        memory_bytes: int,
        timeout_s: float | None,
    ) -> None:
        self.processors = processes
        self._new_pool = new_pool
        self._context = _Context()
        self._pool = new_pool(self._context)
        self._memory_bytes = memory_bytes
        self._timeout_s = timeout_s

    def add(self, sources: Sequence[FleetSource], job: Job) -> Iterator[Outcome]:
        """Add dumps; yield outcomes as they come.

        A dump that takes too long is tried again, `ATTEMPTS` times in all. A dump whose
        process ends, for example killed for lack of memory, is tried once more while
        nothing else runs. Then it is set aside with its error.
        """
        again: list[FleetSource] = []
        yield from self._together(sources, job, again)
        for source in again:
            yield from self._alone(source, job)

    def _together(
        self, sources: Sequence[FleetSource], job: Job, again: list[FleetSource]
    ) -> Iterator[Outcome]:
        """Add dumps, several at a time.

        Args:
            sources: The dumps.
            job: What to do.
            again: Receives the dumps whose process has ended.
        """
        waiting = [(source, 1) for source in reversed(sources)]
        running: dict[Future[Outcome], tuple[FleetSource, int, int]] = {}
        while waiting or running:
            if not running:
                self._repair()
            free = self._memory_bytes - sum(need for _, _, need in running.values())
            # One more than there are processes, so that no process waits for a dump.
            while waiting and len(running) <= self.processors:
                source, attempt = waiting[-1]
                need = estimated_need_bytes(source)
                if running and need > free:
                    break
                if (future := self._scheduled(source, job)) is None:
                    break
                running[future] = (source, attempt, need)
                waiting.pop()
                free -= need
            for future in self._done(running):
                source, attempt, _ = running.pop(future)
                try:
                    yield _outcome(future)
                except _Ended:
                    again.append(source)
                except TimeoutError:
                    if attempt < ATTEMPTS:
                        waiting.insert(0, (source, attempt + 1))
                    else:
                        yield self._late(source, job)

    def _alone(self, source: FleetSource, job: Job) -> Iterator[Outcome]:
        """Add one dump while nothing else runs."""
        why = "its process cannot be started"
        for _ in range(ATTEMPTS):
            self._repair()
            if (future := self._scheduled(source, job)) is None:
                continue
            while not (done := self._done([future])):
                pass
            try:
                yield _outcome(*done)
            except _Ended as error:
                why = str(error)
                if error.is_known:
                    break
            except TimeoutError:
                yield self._late(source, job)
                return
            else:
                return
        FleetFolder(job.folder).forget_attempts(source.address)
        yield refuse(source, job, f"{why}, also when nothing else ran", 0.0)

    def _late(self, source: FleetSource, job: Job) -> Outcome:
        """Set aside a dump that takes too long."""
        why = f"not finished after {self._timeout_s:g} s ({ATTEMPTS} attempts)"
        return refuse(source, job, why, 0.0)

    def merge(self, batches: Sequence[DumpBatch]) -> None:
        """Publish some batches of dumps; those that fail are left undone."""
        self._repair()
        try:
            left = {self._pool.schedule(merge_batch, args=(one,)) for one in batches}
        except RuntimeError:  # its processes have just ended
            return
        while left:
            left -= self._done(left)

    def _scheduled(self, source: FleetSource, job: Job) -> Future[Outcome] | None:
        """A dump that a process will add; ``None`` if all processes have ended."""
        try:
            future: Future[Outcome] = self._pool.schedule(
                try_dump, args=(source, job), timeout=self._timeout_s
            )
        except RuntimeError:
            return None
        return future

    def _done(self, running: Collection[Future[Any]]) -> set[Future[Any]]:
        """The futures that have ended; all of them if the pool is broken.

        A pool breaks when a process ends while it is unknown what it was doing. Some
        futures of a broken pool would never end.
        """
        done, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        return done if self._pool.active else {*running}

    def _repair(self) -> None:
        """Start processes again if the pool is broken; nothing may be running."""
        if not self._pool.active:
            self.end()
            self._context = _Context()
            self._pool = self._new_pool(self._context)

    def end(self) -> None:
        """End the processes at once."""
        # First, because the pool removes its locks: a process that is just starting
        # would look for them in vain, and end with a traceback.
        self._context.end()
        self._pool.stop()
        self._pool.join()


def _outcome(future: Future[Outcome]) -> Outcome:
    """The outcome of a dump.

    Raises:
        _Ended: its process has ended, or the pool is broken.
        TimeoutError: it has taken too long.
    """
    from pebble import ProcessExpired

    if not future.done():
        raise _Ended(_ENDED, is_known=False)
    try:
        return future.result()
    except ProcessExpired as error:
        raise _Ended(_how(int(error.exitcode)), is_known=True) from error
    except (BrokenProcessPool, CancelledError) as error:
        raise _Ended(_ENDED, is_known=False) from error


_ENDED = "the process that read it has ended"


def _how(code: int) -> str:
    """How a process has ended."""
    if code == -signal.SIGKILL:
        return f"{_ENDED} (SIGKILL), perhaps for lack of memory"
    return f"{_ENDED} with code {code}"


@contextmanager
def local_workers(
    *, processes: int, memory_bytes: int, timeout_s: float | None = None
) -> Iterator[LocalWorkers]:
    """Start processes of this machine.

    Args:
        processes: The most processes.
        memory_bytes: Memory for all of them together. A dump that needs more is read
            alone.
        timeout_s: Time limit for one dump.

    Raises:
        IngestError: a package that runs the processes is not installed.
    """
    try:
        from pebble import ProcessPool
    except ImportError as error:
        raise IngestError(
            f"a fleet needs more packages; {install_command('fleet')}"
        ) from error

    def new_pool(context: _Context) -> ProcessPool:
        return ProcessPool(processes, context=context, initializer=_start_worker)

    with _one_thread_each():
        workers = LocalWorkers(new_pool, processes, memory_bytes, timeout_s)
        try:
            yield workers
        finally:
            workers.end()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that start within the block use one processor each.

    Their libraries read this setting when imported, before an initializer runs.
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
    """Let the kernel kill this worker first if memory is short."""
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
