"""Heap dumps of a running CPython program, which needs no preparation.

The text of ``heaproots_dump`` runs in the program. From 3.14 on the runtime offers to
run a script (`ingest.capture.remote_exec`), in the main thread or else in another that
comes to run Python code. Before that, or where none comes, it runs as a pending call,
which the main thread makes between two instructions, or where that waits for something,
in a thread of its own that first takes the interpreter's lock like any other. See
`ingest.capture.ptrace` for how it gets there. By the same way the allocator gives back
what the dump took. By default the program makes a copy of itself, which writes the
dump, and goes on.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import struct
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.capture import TIMEOUT_S
from ingest.capture.completeness import check_captured
from ingest.capture.elf import PROC, functions, mappings
from ingest.capture.jvm_attach import acting_as, temporary_folder
from ingest.capture.machine import KEPT, RESULT, FunctionCall
from ingest.capture.processes import LOOK, check_answers, safe_name
from ingest.capture.ptrace import (
    call,
    machine,
    restorer_of,
    system_call,
    unsupported,
    write_memory,
)
from ingest.capture.python_processes import PYTHON
from ingest.capture.remote_exec import look, request, withdraw
from ingest.capture.workplace import work_folder
from ingest.errors import CaptureError
from ingest.files import check_writable, output_file
from ingest.progress import silent
from ingest.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.capture.elf import Function
    from ingest.capture.processes import RunningProgram
    from ingest.capture.remote_exec import PythonRuntime
    from ingest.progress import Progress

SUFFIX = ".hrpy"
RUN = "run.py"
SCRIPT = Path(__file__).parent / "python" / "heaproots_dump.py"
WRITES = "# What follows writes.\n"
"""Ends what of the script a program compiles that a copy is made of."""

_PIECE_BYTES = 1 << 22
_CODE_BYTES = 0x3000
_PENDING_AT, _TRIMMING_AT, _TRIMMING_PENDING_AT = 0x180, 0x200, 0x2C0
_MASK_AT, _TEXT_AT = 0x300, 0x400
_SIGNAL_SET_BYTES, _SET_MASK = 128, 2
_MAGIC = b"heaproots 1\0"
_MAGIC_AT = 0x3F0
_READ_EXECUTE, _PRIVATE_FIXED = 5, 0x100022
_MAP_S, _PENDING_S, _ROUND_S = 2.0, 1.0, 0.02
_OFFERED_S = 0.3
_NEEDED = {
    "mmap", "pthread_create", "pthread_self", "pthread_detach", "pthread_sigmask",
    "Py_AddPendingCall",
    "PyGILState_Ensure", "PyGILState_Release", "PyRun_SimpleStringFlags",
}  # fmt: skip
_TRIM = "malloc_trim"
_LOCKED = {"Py_AddPendingCall", "Py_MakePendingCalls", "PyEval_SignalReceived"}


@dataclass(frozen=True, slots=True)
class PythonCapture:
    """A finished capture.

    Attributes:
        path: The file.
        byte_count: Its size.
        sha256: Its digest.
        pid: Of the program.
        name: Of the program.
        mode: ``fork`` or ``stop``.
        pause_s: How long the program stood still.
        copied_bytes: Memory that the copy of the program took beyond what it shared;
            0 without a copy.
        duration_s: How long all took.
        interpreter_count: How many interpreters the program has, of which only the
            main one is in the dump; 0 if it does not tell.
    """

    path: Path
    byte_count: int
    sha256: str
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
    timeout_s: float = TIMEOUT_S,
    progress: Progress = silent,
) -> PythonCapture:
    """Take a heap dump of a program that CPython runs.

    Args:
        wanted: Process id, or name of the program.
        output: The file; by default the program's name with ``.hrpy``, and compressed
            if it ends in ``.gz``.
        mode: Whether a copy of the program writes (``fork``), or the program itself
            (``stop``); ``auto`` copies if there is memory for it.
        values: Whether to write what texts and numbers are.
        force: Overwrite the file.
        timeout_s: How long to wait while the program neither answers nor writes.
        progress: Receives the bytes written, as stage ``capture``.

    Raises:
        CaptureError: there is no such program, it does not answer, or refuses. No file
            is written.
        IngestError: the file cannot be written.
    """
    if output is not None:
        check_writable(output, force=force)
    target = PYTHON.find(wanted)
    check_answers(target)
    if why := unsupported():
        raise CaptureError(
            f"a running Python cannot be asked for its heap here: {why}; have the "
            "program import heaproots_dump and call dump(PATH)"
        )
    path = output or Path(safe_name(target.name.removesuffix(".py")) + SUFFIX)
    check_writable(path, force=force)
    began = time.monotonic()
    with _alone(target), _folder(target.pid) as (folder, inner):
        made = "heap.hrpy" + (".gz" if path.suffix == ".gz" else "")
        runtime = look(target.pid)
        if mode == "auto" and runtime and runtime.interpreter_count > 1:
            mode = "stop"  # a copy would not run
        text = _bootstrap(inner, made, mode, values=values)
        with acting_as(target.pid):
            (folder / RUN).write_bytes(text)
        is_offered = _run(target, text + b"\0", folder, f"{inner}/{RUN}", runtime)
        told, copied = _wait(target, folder, made, timeout_s, progress)
        if is_offered:
            _give_back(target.pid)
        check_captured(folder / made)
        byte_count, sha256 = _copied(folder / made, path, force=force)
    return PythonCapture(
        path, byte_count, sha256, target.pid, target.name, str(told["mode"]),
        float(told["pause_seconds"]), copied, time.monotonic() - began,
        max(int(told["interpreters"]), runtime.interpreter_count if runtime else 0),
    )  # fmt: skip


@contextmanager
def _alone(target: RunningProgram) -> Iterator[None]:
    """No other capture of the same program from this machine at the same time.

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
def _folder(pid: int) -> Iterator[tuple[Path, str]]:
    """A folder that the program can write to and no other user can enter.

    Yields:
        The folder as seen from here, be the program there or not, and as it sees it.
    """
    advice = "; give the program a /tmp that it can write to"
    with work_folder(pid, temporary_folder(pid), advice=advice) as folder:
        entered = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        held = PROC / "self/fd" / str(entered)
        try:
            with acting_as(pid):
                shutil.copyfile(SCRIPT, held / "dump.py")
            yield held, f"/tmp/{folder.name}"
        finally:
            if not folder.exists():  # it is seen through a program that has ended
                shutil.rmtree(held / ".." / folder.name, ignore_errors=True)
            os.close(entered)


def _bootstrap(inner: str, made: str, mode: str, *, values: bool) -> bytes:
    """What the program runs, in one line that leaves no name behind.

    Objects are listed before the text is compiled, so that they are the program's; the
    larger part of it is compiled by the copy of the program if one is made. From
    then on nothing is collected: what a collection takes out of the list of what it
    looks at would be found a second time.
    """
    space = {
        "__name__": "__heaproots__",
        "_ASKED": {
            "folder": inner,
            "path": f"{inner}/{made}",
            "mode": mode,
            "values": values,
        },
    }
    script = f"{inner}/dump.py"
    text = f"import gc, time\nspace = {space!r}\nis_on = gc.isenabled()\ngc.disable()\n"
    text += "try:\n space['_BEGAN'] = time.perf_counter()\n"
    text += " space['_BEFORE'] = gc.get_objects()\n"
    text += f" with open({script!r}) as f: text = f.read()\n"
    text += f" text, space['_REST'] = text.split({WRITES!r})\n"
    text += " exec(compile(text, '<heaproots>', 'exec'), space)\n"
    text += "finally:\n if is_on: gc.enable()"
    line = f"exec(compile({text!r}, '<heaproots>', 'exec'), {{}})"
    return line.encode("ascii")


def _run(
    target: RunningProgram,
    text: bytes,
    folder: Path,
    script: str,
    runtime: PythonRuntime | None,
) -> bool:
    """Have the program run a line of Python, and wait until it has begun to.

    Args:
        target: The program.
        text: The line, ended by a zero.
        folder: In which it begins by making a file ``started``.
        script: A file with the same line, as the program sees it.
        runtime: What its runtime tells.

    Returns:
        Whether it runs it as its runtime offers.

    Raises:
        CaptureError: it does not.
    """
    pid = target.pid
    try:
        if _runs_as_offered(pid, folder / "started", script, runtime):
            return True
        known = functions(pid, {*_NEEDED, *_LOCKED, _TRIM})
        if missing := _NEEDED - known.keys():
            raise CaptureError(
                f"process {pid} does not export {min(missing)}, so it cannot be asked; "
                "have the program import heaproots_dump and call dump(PATH)"
            )
        restorer, place = _placed(pid, known, text)
        _start(target, known, restorer, place, folder)
        return False
    except PermissionError:
        raise CaptureError(
            f"process {pid} ({target.name}) may not be traced: run this as root, set "
            "/proc/sys/kernel/yama/ptrace_scope to 0, or give the container the "
            "capability SYS_PTRACE"
        ) from None
    except (OSError, struct.error) as error:
        is_gone = isinstance(error, ProcessLookupError)  # be it not waited for yet
        if is_gone or not (PROC / str(pid)).exists():
            raise CaptureError(f"process {pid} has ended; {LOOK}") from error
        why = getattr(error, "strerror", None) or type(error).__name__
        raise CaptureError(f"process {pid} cannot be traced ({why})") from error


def _runs_as_offered(
    pid: int, started: Path, script: str, runtime: PythonRuntime | None
) -> bool:
    """Whether the runtime has begun to run the script, as it offers to since 3.14."""
    if runtime is None or not runtime.is_offered:
        return False
    try:
        return any(
            request(pid, runtime, script, main=main) > 0
            and _exists_within(started, _OFFERED_S)
            for main in (True, False)
        )
    finally:
        withdraw(pid, runtime)


def _exists_within(path: Path, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def _give_back(pid: int) -> None:
    """Have the allocator give back what a list of all objects was in, if that works.

    What the runtime offers cannot ask for that.
    """
    try:
        known = functions(pid, {*_NEEDED, *_LOCKED, _TRIM})
        if not known.keys() >= {*_NEEDED, _TRIM}:
            return
        restorer, place = _placed(pid, known, b"\0")
        until = time.monotonic() + _PENDING_S
        while time.monotonic() < until:
            if _waits(pid):
                done = _make_thread(pid, known, restorer, place + _TRIMMING_AT)
            else:
                pending = place + _TRIMMING_PENDING_AT
                done = _add_pending(pid, known, restorer, pending)
            if done:
                return
    except (OSError, struct.error, CaptureError):  # the dump is there
        return


def _placed(pid: int, known: dict[str, Function], text: bytes) -> tuple[int, int]:
    """Put code and a text into a program; what returns from a signal, and the place."""
    restorer = restorer_of(pid)
    place = _place(pid, known, restorer)
    write_memory(pid, place, _code(known, place, text))
    return restorer, place


def _place(pid: int, known: dict[str, Function], restorer: int) -> int:
    """Memory of the program for code, which stays for the next capture."""
    taken = mappings(pid)
    for one in taken:
        if not one.path and one.mode.startswith("r-x"):
            with (PROC / str(pid) / "mem").open("rb", buffering=0) as memory:
                if os.pread(memory.fileno(), len(_MAGIC), one.start + _MAGIC_AT) == (
                    _MAGIC
                ):
                    return one.start
    place = machine().place
    while any(one.start < place + _CODE_BYTES and place < one.end for one in taken):
        place += 1 << 24
    arguments = (place, _CODE_BYTES, _READ_EXECUTE, _PRIVATE_FIXED, (1 << 64) - 1, 0)
    until = time.monotonic() + _MAP_S
    while time.monotonic() < until:
        if not call(pid, known["mmap"].start, arguments, restorer):
            time.sleep(_ROUND_S)
            continue
        for _ in range(50):
            if any(one.start == place for one in mappings(pid)):
                write_memory(pid, place + _MAGIC_AT, _MAGIC)
                return place
            time.sleep(0.002)
    raise CaptureError(
        f"process {pid} does not run: it got no memory for the question; try again"
    )


def _code(known: dict[str, Function], place: int, text: bytes) -> bytes:
    """Machine code of four functions, and the text that two of them run.

    For a thread of their own and for a pending call: one runs the text, and the other
    only gives memory back.
    """
    at = {name: one.start for name, one in known.items()}
    # The thread blocks all signals: one that it got would not wake the main thread,
    # which runs the handlers of Python.
    alone = [
        FunctionCall(at["pthread_sigmask"], (_SET_MASK, place + _MASK_AT, 0)),
        FunctionCall(at["pthread_self"]),
        FunctionCall(at["pthread_detach"], (RESULT,)),
    ]
    run = FunctionCall(at["PyRun_SimpleStringFlags"], (place + _TEXT_AT, 0))
    # The list of all objects was in memory that the allocator would keep, in each
    # capture of another thread's share.
    trim = [FunctionCall(at[_TRIM], (0,))] if _TRIM in at else []
    ensure = FunctionCall(at["PyGILState_Ensure"], is_kept=True)
    release = FunctionCall(at["PyGILState_Release"], (KEPT,))
    parts = [
        (0, machine().function([*alone, ensure, run, release, *trim])),
        (_PENDING_AT, machine().function([run, *trim])),
        (_TRIMMING_AT, machine().function([*alone, *trim])),
        (_TRIMMING_PENDING_AT, machine().function(trim)),
        (_MASK_AT, b"\xff" * _SIGNAL_SET_BYTES),
        (_MAGIC_AT, _MAGIC),
        (_TEXT_AT, text),
    ]
    if len(text) > _CODE_BYTES - _TEXT_AT:
        raise CaptureError("the folder of the program has too long a name")
    made = b""
    for begin, part in parts:
        assert len(made) <= begin
        made = made.ljust(begin, b"\0") + part
    return made


def _start(
    target: RunningProgram,
    known: dict[str, Function],
    restorer: int,
    place: int,
    folder: Path,
) -> None:
    """Have the main thread make a thread if it waits, else a pending call."""
    pid, started = target.pid, folder / "started"
    has_pending = False
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if _waits(pid):
            done = _make_thread(pid, known, restorer, place)
        elif not has_pending:
            pending = place + _PENDING_AT
            has_pending = done = _add_pending(pid, known, restorer, pending)
        else:
            done = True
        if _exists_within(started, _PENDING_S if done else _ROUND_S):
            return
        if not (PROC / str(pid)).exists():
            raise CaptureError(f"process {pid} has ended; {LOOK}")
    raise CaptureError(
        f"process {pid} ({target.name}) does not come to run Python code: it is inside "
        "an extension, or holds the interpreter's lock; try again later"
    )


def _make_thread(
    pid: int, known: dict[str, Function], restorer: int, function: int
) -> bool:
    """Have the main thread make one that runs a function; whether it could be asked."""
    maker = known["pthread_create"].start
    return call(pid, maker, (-1, 0, function, 0), restorer, room=64)


def _add_pending(
    pid: int, known: dict[str, Function], restorer: int, function: int
) -> bool:
    """Have the main thread run a function soon; whether it could be asked."""
    locked = [known[name] for name in _LOCKED & known.keys()]
    adder = known["Py_AddPendingCall"].start
    return call(pid, adder, (function, 0), restorer, locked)


def _waits(pid: int) -> bool:
    """Whether the main thread waits for something from outside, twice in a row."""
    seen = []
    for _ in range(2):
        now = system_call(pid)
        if now is None or now[0] not in machine().waiting:
            return False
        if now[0] in machine().futex and _is_of_library(pid, now[1]):
            return False
        seen.append((now, (PROC / f"{pid}/task/{pid}/syscall").read_text()))
        time.sleep(_ROUND_S)
    return seen[0] == seen[1]


def _is_of_library(pid: int, address: int) -> bool:
    """Whether a lock is of the C library or the loader, which a new thread needs."""
    last = ""
    for one in mappings(pid):
        last = one.path or last
        if one.start <= address < one.end:
            name = last.rpartition("/")[2]
            return name.startswith(("libc.", "libc-", "ld-", "libpthread"))
    return True


def _wait(
    target: RunningProgram,
    folder: Path,
    made: str,
    timeout_s: float,
    progress: Progress,
) -> tuple[dict[str, Any], int]:
    """Wait for the dump; returns what the program told, and what its copy took.

    Raises:
        CaptureError: it is not written.
    """
    size, changed, copied = 0, time.monotonic(), 0
    while not (folder / made).exists():
        if (failed := folder / "failed").exists():
            time.sleep(_ROUND_S)
            why = printable(failed.read_text(errors="replace"))[:200]
            raise CaptureError(f"process {target.pid} ({target.name}): {why}")
        writing = next(folder.glob(f"{made}.*.part"), None)
        try:
            now = writing.stat().st_size if writing else 0
        except OSError:
            now = size
        if now != size:
            size, changed = now, time.monotonic()
            progress("capture", size, None)
        copied = max(copied, _private_bytes(folder))
        if writing and _is_abandoned(folder, writing) and not (folder / made).exists():
            raise CaptureError(
                f"process {target.pid} ({target.name}): what wrote its heap has ended "
                "before it was done, as if it was killed; a program with little memory "
                "left can write itself: --mode stop"
            )
        if time.monotonic() - changed > timeout_s:
            raise CaptureError(
                f"process {target.pid} ({target.name}) has not written its heap within "
                f"{timeout_s:g} s; it may wait for memory or its disk, or hold its "
                "lock: try again, with --timeout"
            )
        time.sleep(_ROUND_S)
    until = time.monotonic() + timeout_s
    told: dict[str, Any] = {}
    while not told and time.monotonic() < until:
        try:
            told = json.loads((folder / "told").read_text())
        except (OSError, ValueError):
            time.sleep(_ROUND_S)
    if not told:
        raise CaptureError(f"process {target.pid} ({target.name}) has ended meanwhile")
    return told, copied if told["mode"] == "fork" else 0


def _is_abandoned(folder: Path, writing: Path) -> bool:
    """Whether the process that writes a file, which has a lock on it, has ended."""
    if not (folder / "writer").exists():
        return False
    try:
        file = os.open(writing, os.O_RDONLY)
    except OSError:  # it has its name by now
        return False
    try:
        os.lockf(file, os.F_TEST, 0)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(file)


def _private_bytes(folder: Path) -> int:
    """Memory of the copy of a program that it does not share."""
    try:
        pid = int((folder / "writer").read_text())
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except (OSError, ValueError):
        return 0
    for line in text.splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) << 10
    return 0


def _copied(made: Path, path: Path, *, force: bool) -> tuple[int, str]:
    with made.open("rb") as source, output_file(path, force=force, private=True) as out:
        while piece := source.read(_PIECE_BYTES):
            out.write(piece)
    return out.byte_count, out.sha256
