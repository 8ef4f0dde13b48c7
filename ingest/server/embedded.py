"""The embedded Neo4j: a Community server of one user, on loopback, from packages only.

`ingest.server.home` describes its files. ``server.json`` may outlive its process and
may be wrong, so a process is ours only if it runs as our user and has our home folder
in its command line. Start times are not compared, for they move when somebody sets the
clock. If this tool was killed between starting a server and writing ``server.json``,
the server is found by its command line, and stopped before another one starts.

A bulk load makes a new store beside the running server and swaps it in. One file,
written last, decides which store is current.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import filelock
import psutil

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server import artifacts, launch
from ingest.server.home import Home, State
from ingest.server.launch import (
    archive_flags,
    configuration,
    environment,
    free_port,
    is_archived,
    jvm_flags,
    last_words,
    main_class,
    packaged_java,
    temporary_flags,
)
from ingest.server.process import (
    PortTaken,
    alive,
    end,
    failed_start,
    full_disk,
    is_full,
    is_users_own,
    listens,
    spawn,
)
from ingest.server.target import Endpoint, Target, ask
from ingest.system import interrupts
from ingest.system.files import file_lock
from ingest.system.places import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ingest.progress import Progress
    from ingest.system.settings import Settings

DATABASE = "neo4j"

_BOLT_PORT, _HTTP_PORT = 7687, 7474
_START_S, _REFUSED_S, _POLL_S = 120.0, 10.0, 0.1
_STAGE = "start Neo4j"
_OTHER_PORTS = "start Neo4j on other ports"


class EmbeddedServer:
    """The server of one user and one series of Neo4j, running or not.

    Attributes:
        version: The version a start would run.
        home: Its folder, which is also its ``NEO4J_HOME``.
        files: The files in ``home``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.version = settings.neo4j_version
        year, month, _ = self.version.split(".")
        # Resolved, because a process is identified by this path in its command line.
        self.home = places().state.resolve() / f"neo4j-{year}.{month}"
        self._home_argument = f"--home-dir={self.home}"
        self.files = Home(self.home)

    @property
    def log_path(self) -> Path:
        """The log of the last start."""
        return self.home / "logs" / "console.log"

    def running(self) -> Endpoint | None:
        """The server, if it is running and ready; does not wait."""
        state = self.files.read_state()
        process = self._known_process(state)
        if state is None or process is None or not state.ready:
            return None
        if not listens(process, state.bolt_port):  # it is ending
            return None
        password = self.files.read_password()
        return None if password is None else state.endpoint(password)

    def is_lost(self) -> bool:
        """Whether the server has ended although nobody has stopped it."""
        state = self.files.read_state()
        return state is not None and state.pid != 0 and self.running() is None

    def has_database(self) -> bool:
        """Whether there is a database; the first start of a version makes it."""
        return self.files.has_users() or self.running() is not None

    def start(self, progress: Progress = silent) -> Endpoint:
        """Start the server, unless it is running, and wait until it is ready.

        If several commands do this at once, one starts it and the others get the
        same server. The first start of a version downloads it.

        Raises:
            EmbeddedError: If it cannot be downloaded or started, or is not ready in
                time.
        """
        if endpoint := self.running():
            return endpoint
        with self._lock(progress):
            return self._start_locked(progress)

    def restart(self, lost: int | None, progress: Progress = silent) -> Endpoint:
        """Restart a server that has met a critical error.

        If several commands do this at once, one restarts it and the others get the
        same server.

        Args:
            lost: The process that has met the error.
            progress: Receives the stages of stopping and starting.

        Raises:
            EmbeddedError: Its disk is still full, or it cannot be started.
        """
        if is_full(self.home):
            raise full_disk(self.home)
        with self._lock(progress):
            state = self.files.read_state()
            process = self._known_process(state)
            if state is not None and process is not None and state.pid == lost:
                self._stop(state, progress, at_once=True)
            return self._start_locked(progress)

    def stop(self, progress: Progress = silent, *, at_once: bool = False) -> bool:
        """Stop the server; kills it after a minute.

        Args:
            progress: Receives the stage.
            at_once: Kill it, since it has met a critical error. A server that was asked
                to end once could not read its log afterwards, perhaps because it wrote
                behind the gap that a full disk had left.

        Returns:
            Whether one was running.
        """
        if not self.home.is_dir():
            return False
        with self._lock(progress):
            state = self.files.read_state()
            stopped = self._stop(state, progress, at_once=at_once)
            if state is not None:
                self._note(replace(state, pid=0, ready=False))
            return stopped

    def admin(
        self, arguments: Sequence[str], progress: Progress = silent
    ) -> subprocess.CompletedProcess[str]:
        """Run ``neo4j-admin`` with this server's home; return its output.

        Raises:
            EmbeddedError: If no suitable Java or Neo4j is available.
        """
        java, _ = packaged_java(self.version)
        jars = self.jars(progress)
        self.files.make()
        return subprocess.run(
            [
                str(java),
                *temporary_flags(self.files.temporary),
                "org.neo4j.cli.AdminTool",
                *arguments,
            ],
            env=environment(self.home, jars),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def swap(
        self,
        data: Path,
        finish: Callable[[Endpoint], None],
        progress: Progress,
        made: Callable[[], None] = lambda: None,
    ) -> Endpoint:
        """Serve from ``data``, a folder with an imported store, from now on.

        The users are copied. If anything fails, the server runs on the old folder
        again. If this process is killed, the next start uses the old folder, or the
        new one if ``store`` names it already.

        The server is killed, unless it still has to write its archive of classes. To
        end regularly, it would write its memory to a store that is not used again,
        which takes seconds after a large load. Its logs have what it has committed, and
        either start recovers it from them.

        Args:
            data: A folder from `Home.new_data`, filled by an import.
            finish: Completes and checks the new store before others can use it.
            progress: Receives the stages of stopping and starting.
            made: Waits until the new store is complete, while the server stops.

        Raises:
            EmbeddedError: the new store is incomplete, or the server fails on it.
        """
        with self._lock(progress):
            state = self.files.read_state()
            java, _ = packaged_java(self.version)
            at_once = is_archived(java, self.jars(progress))
            self._stop(state, progress, at_once=at_once)

            def commit(endpoint: Endpoint) -> None:
                finish(endpoint)
                self.files.use_data(data)

            try:
                made()
                self.files.carry_users(data)
                return self._start_new(state, progress, data=data, commit=commit)
            except Exception:  # after Ctrl-C, the next command starts it
                if self.files.data != data:
                    self._start_new(state, progress)
                raise

    def _start_locked(self, progress: Progress) -> Endpoint:
        """Start the server, or wait until another command's start is complete."""
        state = self.files.read_state()
        process = self._known_process(state)
        if state is not None and process is not None:
            is_current = state.data == self.files.data.name
            is_ending = state.ready and not listens(process, state.bolt_port)
            if is_current and not is_ending:
                # Ready by now, or left by a command that was killed while it waited.
                return self._finish(process, state, progress, stage=_STAGE)
        # Any other server is ending, or runs on a store that was never made current.
        self._end_ours(process, progress)
        return self._start_new(state, progress)

    def _start_new(
        self,
        before: State | None,
        progress: Progress,
        *,
        data: Path | None = None,
        commit: Callable[[Endpoint], None] | None = None,
    ) -> Endpoint:
        """Start the server on its previous ports, or on others if these are taken."""
        bolt = before.bolt_port if before else _BOLT_PORT
        http = before.http_port if before else _HTTP_PORT
        try:
            return self._start_on(
                bolt, http, progress, stage=_STAGE, data=data, commit=commit
            )
        except PortTaken:  # between our check and Neo4j's start
            return self._start_on(
                0, 0, progress, stage=_OTHER_PORTS, data=data, commit=commit
            )

    def _start_on(
        self,
        bolt: int,
        http: int,
        progress: Progress,
        *,
        stage: str,
        data: Path | None,
        commit: Callable[[Endpoint], None] | None,
    ) -> Endpoint:
        java, java_major = packaged_java(self.version)
        jars = self.jars(progress)
        data = data or self.files.data
        progress(stage, 0, None)
        self.files.clear_temporary()
        sizes = launch.fit(
            self._settings.heap_mib,
            self._settings.page_cache_mib,
            total_mib=launch.total_mib(),
        )
        self.files.password()
        bolt = free_port(bolt)
        http = free_port(http, other_than=bolt)
        (self.home / "conf" / "neo4j.conf").write_text(
            configuration(
                self.version, data=data, bolt_port=bolt, http_port=http, sizes=sizes
            ),
            encoding="utf-8",
        )
        if not self.files.has_users():
            self._set_password(progress)
        command = [
            str(java),
            *jvm_flags(self.version, java_major, heap_mib=sizes.heap_mib),
            *temporary_flags(self.files.temporary),
            *archive_flags(java, jars, self.home / "run" / "classes.jsa"),
            main_class(jars, self.version),
            self._home_argument,
            f"--config-dir={self.home / 'conf'}",
            "--console-mode",
        ]
        process = spawn(command, environment(self.home, jars), self.home, self.log_path)
        try:
            state = State(
                self.version,
                bolt,
                http,
                process.pid,
                data=data.name,
            )
            self.files.write_state(state)
            with interrupts.at_the_end(process.kill):
                return self._finish(
                    process, state, progress, stage=stage, commit=commit
                )
        except Exception:
            end(process, progress)
            raise
        except BaseException:  # Ctrl-C: no time, and recovery makes it good
            process.kill()
            raise

    def _finish(
        self,
        process: psutil.Process,
        state: State,
        progress: Progress,
        *,
        stage: str,
        commit: Callable[[Endpoint], None] | None = None,
    ) -> Endpoint:
        endpoint = state.endpoint(self.files.password())
        if not (state.ready and listens(process, state.bolt_port)):
            self._wait(process, endpoint, progress, stage=stage)
            if commit is not None:
                commit(endpoint)
            self.files.write_state(replace(state, ready=True))
        return endpoint

    def _wait(
        self,
        process: psutil.Process,
        endpoint: Endpoint,
        progress: Progress,
        *,
        stage: str,
    ) -> None:
        """Wait until the database answers a query."""
        from neo4j.exceptions import AuthError, DriverError, Neo4jError

        port = urlsplit(endpoint.bolt_uri).port
        begun = time.monotonic()
        refused: float | None = None
        while (waited := time.monotonic() - begun) < _START_S:
            progress(stage, int(waited), None)
            if not alive(process):
                raise failed_start(process, self.log_path)
            try:
                # Never ask a server of another home that took the port before ours.
                if listens(process, port):
                    ask(endpoint, DATABASE)
                    return
            except AuthError as error:
                # Shortly after the start it may not have read its users yet.
                refused = waited if refused is None else refused
                if waited - refused > _REFUSED_S:
                    raise EmbeddedError(
                        "Neo4j rejects the password in "
                        f"{self.files.password_file}: correct it, or move "
                        f"{self.home} away to start with an empty database"
                    ) from error
                time.sleep(2)  # three failures in a row lock the user for a while
            except (DriverError, Neo4jError):
                pass  # not yet
            time.sleep(_POLL_S)
        raise EmbeddedError(
            f"Neo4j was not ready after {_START_S:.0f} s and has been stopped: see "
            f"{self.log_path}, and try again"
        )

    def jars(self, progress: Progress) -> tuple[Path, ...]:
        """Neo4j's class path; download missing jars."""
        url = self._settings.maven_url
        lock = artifacts.lock_for(self.version, progress, maven_url=url)
        return artifacts.fetch(lock, progress, maven_url=url)

    @contextlib.contextmanager
    def _lock(self, progress: Progress) -> Iterator[None]:
        """Hold the lock for starting and stopping; explains failed writes."""
        try:
            self.files.make()
            lock = file_lock(self.home / "server.lock")
            begun = time.monotonic()
            while True:
                try:
                    lock.acquire(timeout=_POLL_S)
                    break
                except filelock.Timeout:
                    waited = int(time.monotonic() - begun)
                    progress("wait for another command to release Neo4j", waited, None)
            try:
                yield
            finally:
                lock.release()
        except OSError as error:
            raise artifacts.disk_error(error, self.home) from error

    def _set_password(self, progress: Progress) -> None:
        # From a file: every user of the machine can read a command line.
        done = self.admin(
            ["dbms", "set-initial-password", f"@{self.files.password_file}"], progress
        )
        if done.returncode != 0:
            said = last_words(done.stderr + done.stdout) or "no output"
            raise EmbeddedError(
                f"neo4j-admin failed to set the initial password: {said}: try again or "
                f"move {self.home} away"
            )

    def _known_process(self, state: State | None) -> psutil.Process | None:
        """The process in ``server.json``, if it is running and ours."""
        if state is None or state.pid < 1:
            return None
        try:
            process = psutil.Process(state.pid)
        except (psutil.Error, OverflowError):
            return None
        return process if self._is_ours(process) else None

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            named = self._home_argument in process.cmdline()
        except psutil.Error:
            return False
        return named and is_users_own(process) and alive(process)

    def _note(self, state: State) -> None:
        """Write ``server.json``; if the disk is full, it may stay wrong."""
        try:
            self.files.write_state(state)
        except OSError:
            if not is_full(self.home):
                raise

    def _stop(
        self, state: State | None, progress: Progress, *, at_once: bool = False
    ) -> bool:
        """Stop the server; first note that nobody must use it any more.

        Returns:
            Whether one was running.
        """
        known = self._known_process(state)
        if state is not None:
            self._note(replace(state, ready=False, data=""))
        if at_once and known is not None:
            with contextlib.suppress(psutil.Error):
                known.kill()
        return self._end_ours(known, progress)

    def _end_ours(self, known: psutil.Process | None, progress: Progress) -> bool:
        """Stop this home's server, even if ``server.json`` does not name it.

        Returns:
            Whether a server was running.
        """
        if known is not None:
            end(known, progress)
        unknown = [one for one in psutil.process_iter() if self._is_ours(one)]
        for process in unknown:
            end(process, progress)
        return known is not None or bool(unknown)


def target_of(endpoint: Endpoint, database: str = DATABASE) -> Target:
    """The address and credentials of a running server."""
    return Target(
        endpoint.bolt_uri,
        endpoint.username,
        endpoint.password,
        database,
        endpoint.http_url,
        endpoint.pid,
    )
