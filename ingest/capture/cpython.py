"""Heap dumps of a running CPython program, which needs no preparation.

The text of ``heaproots_dump`` runs in a copy of the program, which writes the dump, or
with ``stop`` in a thread of the program; see `ingest.capture.injection` for how it gets
there. Nothing that the program or its user writes is believed.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.capture import QUIET_S, WHOLE_S, Captured
from ingest.capture.completeness import check_captured
from ingest.capture.elf import PROC
from ingest.capture.injection import (
    injected,
    is_there,
    kill,
    process_within,
    waits,
)
from ingest.capture.jvm_attach import acting_as, effective_id
from ingest.capture.memory_left import Room, room_of
from ingest.capture.processes import LOOK, check_answers, safe_name, status_of
from ingest.capture.ptrace import held, unsupported
from ingest.capture.python_processes import PYTHON
from ingest.capture.remote_exec import look
from ingest.capture.seccomp import check_filters
from ingest.capture.untrusted import UntrustedFolder, temporary_folder_of
from ingest.capture.workplace import work_folder
from ingest.errors import CaptureError
from ingest.progress import silent
from ingest.system.files import check_writable, output_file
from ingest.words.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.capture.injection import Injection
    from ingest.capture.processes import RunningProgram
    from ingest.progress import Progress

SUFFIX = ".hrpy"
SCRIPT = Path(__file__).parent / "python" / "heaproots_dump.py"

_PIECE_BYTES = 1 << 22
_ROUND_S, _START_S, _PENDING_S = 0.02, 10.0, 1.0
_BEGIN_S = 10.0
"""A copy that has not begun by then is ended."""
_MOST_COPIES = 3
_MOST_TOLD = 4096
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_LEAST_ROOM = 1 << 20
_ADVICE = (
    "have the program import heaproots_dump and call dump(PATH) or "
    "install(signal.SIGUSR2, PATH)"
)


@dataclass(frozen=True, slots=True)
class PythonCapture(Captured):
    """A finished capture.

    Attributes:
        pid: Process id of the program.
        name: Name of the program.
        mode: ``fork`` or ``stop``.
        pause_s: How long the program stood still.
        copied_bytes: Memory that the copy of the program took beyond what it shared;
            0 without a copy.
        duration_s: Duration of the whole capture.
        interpreter_count: How many interpreters the program has, of which only the
            main one is in the dump; 0 if it does not tell.
    """

    pid: int
    name: str
    mode: str
    pause_s: float
    copied_bytes: int
    duration_s: float
    interpreter_count: int = 0


def capture(
    wanted: str,
    output: Path | None = None,
    *,
    mode: str = "auto",
    values: bool = True,
    force: bool = False,
    timeout_s: float = WHOLE_S,
    progress: Progress = silent,
) -> PythonCapture:
    """Take a heap dump of a program that CPython runs.

    Args:
        wanted: Process id, or name of the program.
        output: The file; by default the program's name with ``.hrpy``, and compressed
            if it ends in ``.gz``.
        mode: Whether a copy of the program writes (``fork``), or the program itself
            (``stop``); ``auto`` copies if there is memory for it.
        values: Whether to write the values of texts and numbers.
        force: Overwrite the file.
        timeout_s: How long all may take.
        progress: Receives the bytes written, as stage ``capture``.

    Raises:
        CaptureError: there is no such program, it does not answer, or refuses. No file
            is written.
        IngestError: the file cannot be written.
    """
    if output is not None:
        check_writable(output, force=force)
    target = PYTHON.find(wanted)
    if why := unsupported():
        raise CaptureError(
            f"a running Python cannot be asked for its heap here: {why}; {_ADVICE}"
        )
    path = output or Path(safe_name(target.name.removesuffix(".py")) + SUFFIX)
    check_writable(path, force=force)
    began = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(_traced(target))
        stack.enter_context(_alone(target))
        check_answers(target)
        runtime = look(target.pid)
        check_filters(target)
        room = room_of(target)
        mode = room.mode() if mode == "auto" else mode
        folder, inner = stack.enter_context(_folder(target.pid))
        made, injection = "heap.hrpy", injected(target.pid)
        asked = {
            "folder": inner, "path": f"{inner}/{made}", "mode": mode, "values": values,
            "compress": path.suffix == ".gz", "malloc_at": injection.malloc_at,
        }  # fmt: skip
        run = _Run(target, injection, folder, mode, room)
        text = _bootstrap(asked, began + timeout_s)
        told, pause_s = run.dump(text, began + timeout_s, timeout_s, progress)
        with folder.opened(made) as source:
            if source is None:
                raise CaptureError(f"process {target.pid} ({target.name}) is not true")
            byte_count, sha256 = _copied(source, path, force=force)
    return PythonCapture(
        path, byte_count, sha256, target.pid, target.name, mode, pause_s,
        run.copied_bytes, time.monotonic() - began,
        max(told, runtime.interpreter_count if runtime else 0),
    )  # fmt: skip


@contextmanager
def _traced(target: RunningProgram) -> Iterator[None]:
    """Says why a program cannot be traced, if so."""
    pid = target.pid
    try:
        yield
    except PermissionError:
        tracer = (status_of(pid, "TracerPid") or ["0"])[0]
        if tracer != "0":
            raise CaptureError(
                f"process {pid} ({target.name}) is traced by process {tracer}, and "
                "nothing else can trace it meanwhile; let that detach from it"
            ) from None
        raise CaptureError(
            f"process {pid} ({target.name}) may not be traced: run this as root, set "
            "/proc/sys/kernel/yama/ptrace_scope to 0, or give the container the "
            "capability SYS_PTRACE"
        ) from None
    except (OSError, struct.error) as error:
        if not is_there(pid):  # be it not waited for yet
            raise CaptureError(f"process {pid} has ended; {LOOK}") from error
        why = getattr(error, "strerror", None) or type(error).__name__
        raise CaptureError(f"process {pid} cannot be traced ({why})") from error


@contextmanager
def _alone(target: RunningProgram) -> Iterator[None]:
    """Keep other captures on this machine from the same program.

    Whoever has a name of Linux's own, which is no file, has it to the end of the
    process, be it killed.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        try:
            lock.bind(f"\0heaproots-{os.geteuid()}-{target.pid}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise CaptureError(
                f"process {target.pid} ({target.name}) is being captured already; wait "
                "for the end of that"
            ) from None
        yield


@contextmanager
def _folder(pid: int) -> Iterator[tuple[UntrustedFolder, str]]:
    """A folder that the program can write to and no other user can enter.

    Yields:
        The folder, be the program there or not, and its path as the program sees it.
    """
    advice = "; give the program a /tmp that it can write to"
    with (
        temporary_folder_of(pid) as parent,
        work_folder(pid, parent, advice=advice) as path,
        closing(UntrustedFolder(path, effective_id(pid, "Uid"))) as folder,
    ):
        left = folder.free_bytes()
        try:
            if left < _LEAST_ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            with acting_as(pid):
                folder.write("dump.py", SCRIPT.read_bytes())
        except OSError as error:
            raise CaptureError(
                f"process {pid} has no room for its dump in its /tmp: {error.strerror} "
                f"({human_bytes(left)} are free)"
            ) from error
        yield folder, f"/tmp/{path.name}"


def _load_unlocked(*names: str) -> list[str]:
    """Lines that load modules of the runtime without the lock of the import system.

    In a copy it stays locked for ever if a thread of the program held it, as one that
    looks for a module in vain at each request mostly does.
    """
    return [
        "import sys, _frozen_importlib, _frozen_importlib_external",
        "if '_collections_abc' in sys.modules:",  # which `array` imports by this name
        " sys.modules.setdefault('collections.abc', sys.modules['_collections_abc'])",
        f"for name in {names!r}:",
        " if name not in sys.modules:",
        "  spec = _frozen_importlib.BuiltinImporter.find_spec(name)",
        "  spec = spec or _frozen_importlib_external.PathFinder.find_spec(name)",
        "  spec and _frozen_importlib._load_unlocked(spec)",
    ]


def _bootstrap(asked: dict[str, object], until: float) -> bytes:
    """The Python text that the copy or the thread runs.

    Objects are listed before the text is compiled, so that they are the program's. From
    then on nothing is collected: what a collection takes out of the list of what it
    looks at would be found a second time.
    """
    is_copy = asked["mode"] == "fork"
    script, failed = (f"{asked['folder']}/{name}" for name in ("dump.py", "failed"))
    loaded = _load_unlocked("_signal", "gc", "posix", "time") if is_copy else []
    lines = [
        *loaded,
        "import _signal, gc, posix, time",
        "is_on = gc.isenabled()",
        "gc.disable()",
        "try:",
    ]
    lines.append(f" if time.monotonic() < {until!r}:")
    if is_copy:
        # It ends then if nobody waits for it.
        lines.append(f"  _signal.alarm(max(1, int({until!r} - time.monotonic()) + 1))")
        lines.append("  gc.get_freeze_count() and gc.unfreeze()")
    lines.append("  before = gc.get_objects()")
    if is_copy:
        # Where the kernel is too old to close all files at once. What has the numbers
        # of the usual files has to be nothing that is written to by mistake. If memory
        # ends, the copy is to end, not the program.
        lines += [
            "  for number in posix.listdir('/proc/self/fd'):",
            "   try: posix.close(int(number))",
            "   except OSError: pass",
            "  for _ in range(3): posix.open('/dev/null', 2)",
            "  try: posix.write(posix.open('/proc/self/oom_score_adj', 1), b'1000')",
            "  except OSError: pass",
        ]
    lines += [
        f"  file, text = posix.open({script!r}, 0), b''",
        "  while len(text) == 0 or piece:",
        "   piece = posix.read(file, 1 << 20)",
        "   text += piece",
        "  posix.close(file)",
        f"  space = {{'__name__': '__heaproots__', '_ASKED': {asked!r}}}",
        "  space['_ASKED']['collects'] = is_on",
        "  space['_BEFORE'] = before",
        "  del before",
        *(
            f"  {line}"
            for line in _load_unlocked("array", "itertools", "zlib")
            if is_copy
        ),
        "  exec(compile(text, '<heaproots>', 'exec'), space)",
        "except BaseException as error:",
        " try:",
        f"  file = posix.open({failed!r}, {_NEW_FILE}, 0o600)",
        "  why = type(error).__name__ + ': ' + str(error)",
        "  posix.write(file, why.encode('utf-8', 'replace'))",
        " except BaseException: pass",
        "finally:",
        " posix._exit(0)" if is_copy else " if is_on: gc.enable()",
    ]
    return "\n".join(lines).encode("ascii")


class _Run:
    """One dump of a program, from asking for it to its last byte.

    Attributes:
        copied_bytes: Memory that a copy took beyond what it shared, so far.
    """

    def __init__(
        self,
        target: RunningProgram,
        injection: Injection,
        folder: UntrustedFolder,
        mode: str,
        room: Room,
    ) -> None:
        self._target, self._injection, self._folder = target, injection, folder
        self._mode, self._room = mode, room
        self._shown = f"process {target.pid} ({target.name})"
        self._writer: int | None = None
        self.copied_bytes = 0

    def dump(
        self, text: bytes, until: float, timeout_s: float, progress: Progress
    ) -> tuple[int, float]:
        """Have the program write; return its number of interpreters, and its pause.

        Raises:
            CaptureError: it does not.
        """
        try:
            with ExitStack() as stack:
                for _ in range(_MOST_COPIES if self._mode == "fork" else 1):
                    self._injection.ask(text)
                    waiting = self._start(until)
                    begun = time.monotonic()
                    # It stands still while a thread of it writes, and goes on to wait.
                    is_held = (
                        self._mode == "stop"
                        and waiting
                        and stack.enter_context(held(self._target.pid))
                    )
                    if self._has_begun(until):
                        break
                else:
                    raise CaptureError(
                        f"{self._shown}: no copy of it can run; try --mode stop"
                        if self._mode == "fork"
                        else f"{self._shown} does not begin to write: it is busy, or "
                        "can open no more files; try without --mode stop"
                    )
                is_copy, pause_s = self._mode == "fork", 0.0
                with suppress(OSError):  # it has become another program by now
                    pause_s = self._injection.pause_s() if is_copy else 0.0
                told = self._wait(until, timeout_s, progress)
                if not is_copy and (is_held or not waiting):
                    pause_s = time.monotonic() - begun
            if is_held:
                self._injection.trim()
        except BaseException:
            if self._mode == "fork" and (copy := self._copy()):
                kill(copy)
            raise
        finally:
            self._injection.withdraw()
        return told, pause_s

    def _start(self, until: float) -> bool:
        """Have a thread of the program begin.

        Returns:
            Whether the main thread waits; it computes otherwise.
        """
        injection, pid = self._injection, self._target.pid
        is_pending = False
        until = min(until, time.monotonic() + _START_S)
        while time.monotonic() < until:
            waiting = waits(pid)
            is_asked = True
            if waiting:
                is_asked = injection.start(self._mode)
            elif not is_pending:
                is_pending = is_asked = injection.add_pending(self._mode)
            ends = time.monotonic() + (_PENDING_S if is_asked else _ROUND_S)
            while time.monotonic() < ends:
                if injection.is_begun():
                    return waiting
                time.sleep(0.001)
        raise CaptureError(
            f"{self._shown} does not come to run Python code: it is inside an "
            "extension, or holds the interpreter's lock; try again later"
        )

    def _has_begun(self, whole: float) -> bool:
        """Whether the text runs; a copy that does not run it is killed."""
        times = 1 if self._mode == "fork" else _MOST_COPIES  # one that has to do
        until = min(whole, time.monotonic() + times * _BEGIN_S)
        while not self._folder.has("started"):
            self._check_failed()
            if self._mode == "fork":
                copy: int | None = 1
                with suppress(OSError):
                    copy = self._injection.copy()
                if copy == 0:
                    raise CaptureError(
                        f"{self._shown} cannot be copied: it may make no more "
                        "processes, or there is no memory; try --mode stop"
                    )
                if copy is None:  # it is being made
                    until = min(whole, time.monotonic() + _BEGIN_S)
            if not is_there(self._target.pid):
                raise CaptureError(f"process {self._target.pid} has ended; {LOOK}")
            if time.monotonic() > until:
                if copy_pid := self._copy():
                    kill(copy_pid)
                return False
            time.sleep(0.002)
        return True

    def _copy(self) -> int | None:
        """The copy of the program, or what writes, by its number here."""
        with suppress(OSError):
            if copy := self._injection.copy():
                return process_within(self._target.pid, copy)
        return None

    def _check_failed(self) -> None:
        """Raise what the program or its copy tells of why it cannot write."""
        if failed := self._folder.text("failed", _MOST_TOLD):
            raise CaptureError(f"{self._shown}: {printable(failed)[:200]}")

    def _wait(self, until: float, timeout_s: float, progress: Progress) -> int:
        """Wait for the whole dump; return the number of interpreters, as told.

        Raises:
            CaptureError: the dump is not written.
        """
        folder = self._folder
        size, changed = 0, time.monotonic()
        copy = self._copy() if self._mode == "fork" else None
        while not folder.has("heap.hrpy"):
            self._check_failed()
            now = folder.size("heap.hrpy.part") or size
            if now != size:
                size, changed = now, time.monotonic()
                progress("capture", size, None)
            if copy is not None:
                self.copied_bytes = max(self.copied_bytes, _private_bytes(copy))
                self._room.check(self._shown)
            if folder.is_abandoned("heap.hrpy.part") and not folder.has("heap.hrpy"):
                raise CaptureError(
                    f"{self._shown}: the process that wrote its heap ended too early, "
                    "perhaps killed; a program with little memory left can write "
                    "itself: --mode stop"
                )
            if not is_there(self._target.pid) and copy is None:
                raise CaptureError(f"process {self._target.pid} has ended; {LOOK}")
            if (now_s := time.monotonic()) > until or now_s - changed > QUIET_S:
                limit_s = timeout_s if now_s > until else QUIET_S
                raise CaptureError(
                    f"{self._shown} has not written its heap within {limit_s:g} s; it "
                    "may wait for memory or its disk, or hold its lock: try again, "
                    "with --timeout"
                )
            time.sleep(_ROUND_S)
        told: Any = None
        with suppress(ValueError, RecursionError):
            told = json.loads(folder.text("told", _MOST_TOLD) or "")
        count = told.get("interpreters") if isinstance(told, dict) else 0
        return count if isinstance(count, int) and 0 <= count < 1 << 31 else 0


def _private_bytes(copy: int) -> int:
    """Memory of the copy of a program that it does not share."""
    try:
        text = (PROC / str(copy) / "smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) << 10
    return 0


def _copied(source: int, path: Path, *, force: bool) -> tuple[int, str]:
    """Copy the dump to its place, and read it there before it has its name."""
    with output_file(path, force=force, private=True) as out:
        while piece := os.read(source, _PIECE_BYTES):
            out.write(piece)
        check_captured(out.written() or Path(f"/dev/fd/{source}"))
    return out.byte_count, out.sha256
