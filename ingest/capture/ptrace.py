"""Have a thread of another process call a function, and go on as if it had not.

At no moment is the process in a state from which it could not go on: memory is written
below the stack of the thread, where nothing is; then all its registers are set at once,
so that it runs the function, which returns into ``rt_sigreturn`` with a signal frame
that has all the thread was: as after the handler of a signal. If this process is killed
at any point, the kernel lets the thread go, and it either never sees the call or ends
it. No code of the process is changed, and it is stopped for microseconds.

Only Linux; what depends on the processor is in `ingest.capture.machine`.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.aarch64 import AARCH64
from ingest.capture.elf import PROC, mappings
from ingest.capture.machine import Libc, Wanted, set_general_registers
from ingest.capture.x86_64 import X86_64
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import FileIO

    from ingest.capture.machine import Machine, ThreadState

_DETACH, _SEIZE, _INTERRUPT = 17, 0x4206, 0x4207
_WALL, _NOHANG = 0x40000000, 1
_EVENT_STOP, _TRAP = 128, 5
_STOP_S = 2.0
_HAVE_RETURN = ("libc", "ld-", "libpthread", "[vdso]")

MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
"""By what Linux calls them."""


def unsupported() -> str:
    """Why no call is possible on this machine; empty if one is."""
    if sys.platform != "linux":
        return "this works on Linux only"
    if platform.machine() not in MACHINES:
        return "this works on x86-64 and aarch64 only"
    return ""


def machine() -> Machine:
    """This machine, on which the other process runs too.

    Raises:
        CaptureError: it is none that is known.
    """
    if why := unsupported():
        raise CaptureError(why)
    return MACHINES[platform.machine()]


@contextmanager
def _stopped(tid: int) -> Iterator[Libc | None]:
    """A thread that is stopped; ``None`` if a signal came first, which it gets."""
    libc = Libc()
    libc.ptrace(_SEIZE, tid)
    signal_number = 0
    try:
        libc.ptrace(_INTERRUPT, tid)
        until = time.monotonic() + _STOP_S
        while True:
            done, status = os.waitpid(tid, _WALL | _NOHANG)
            if done:
                break
            if time.monotonic() > until:
                raise CaptureError(f"thread {tid} does not stop; try again")
            time.sleep(0.0002)
        if not os.WIFSTOPPED(status):
            raise CaptureError(f"process {tid} has ended")
        if status >> 16 == _EVENT_STOP and os.WSTOPSIG(status) == _TRAP:
            yield libc
        else:
            if status >> 16 != _EVENT_STOP:
                signal_number = os.WSTOPSIG(status)
            yield None
    finally:
        _detach(libc, tid, signal_number)


def _detach(libc: Libc, tid: int, signal_number: int) -> None:
    try:
        libc.ptrace(_DETACH, tid, 0, signal_number)
    except (
        OSError
    ):  # it has ended, or has not stopped: then the end of this thread does
        return


@contextmanager
def all_stopped(pid: int) -> Iterator[bool]:
    """All threads of a process stand still; ``False`` if now is no good moment."""
    with ExitStack() as stack:
        seen: set[int] = set()
        is_stopped = True
        while is_stopped:
            folder = PROC / str(pid) / "task"
            new = {int(one.name) for one in folder.iterdir()} - seen
            if not new:
                break
            seen |= new
            for tid in sorted(new):
                try:
                    libc = stack.enter_context(_stopped(tid))
                except ProcessLookupError:  # that thread has ended
                    continue
                is_stopped = is_stopped and libc is not None
        yield is_stopped


def call(
    pid: int,
    function: int,
    arguments: Sequence[int],
    restorer: int,
    avoid: Sequence[tuple[int, int]] = (),
    room: int = 0,
) -> bool:
    """Have the main thread of a process call a function; do not wait for its end.

    Args:
        pid: The process.
        function: Address of the function.
        arguments: At most six; -1 stands for the address of ``room`` bytes of zeros.
        restorer: From `restorer_of`.
        avoid: Spans of code in which the thread must not be, because it may hold a
            lock there that the function takes.
        room: Bytes for the function to write to, on the stack.

    Returns:
        Whether it does; ``False`` if now is no good moment.

    Raises:
        CaptureError, OSError: it cannot be.
    """
    with (
        (PROC / str(pid) / "mem").open("r+b", buffering=0) as memory,
        _stopped(pid) as libc,
    ):
        if libc is None:
            return False
        here = machine()
        thread = here.thread(libc, pid)
        if _is_within(memory, thread, avoid):
            return False
        wanted = Wanted(function, arguments, restorer, room, _blocked(pid))
        writes, registers = here.prepared(thread, wanted)
        for at, data in writes:
            os.pwrite(memory.fileno(), data, at)
        set_general_registers(libc, pid, here.registers, registers)
    return True


def _is_within(
    memory: FileIO, thread: ThreadState, avoid: Sequence[tuple[int, int]]
) -> bool:
    """Whether the thread is in one of the functions, or was called from one."""
    if not avoid:
        return False
    stack = os.pread(memory.fileno(), 4096, thread.stack)
    count = len(stack) // 8
    values = [*thread.code, *struct.unpack(f"<{count}Q", stack[: 8 * count])]
    return any(start <= value < end for value in values for start, end in avoid)


def _blocked(pid: int) -> int:
    """Which signals the main thread blocks."""
    for line in (PROC / f"{pid}/task/{pid}/status").read_text().splitlines():
        if line.startswith("SigBlk:"):
            return int(line.split()[1], 16)
    return 0


def restorer_of(pid: int) -> int:
    """Where a process has code that returns from a signal.

    Raises:
        CaptureError: nowhere.
    """
    with (PROC / str(pid) / "mem").open("rb", buffering=0) as memory:
        for one in mappings(pid):
            name = one.path.rpartition("/")[2]
            if "x" not in one.mode or not name.startswith(_HAVE_RETURN):
                continue
            data = os.pread(memory.fileno(), one.end - one.start, one.start)
            for code in machine().sigreturn:
                if (at := data.find(code)) >= 0:
                    return one.start + at
    raise CaptureError(f"process {pid} has no C library that is known")


def write_memory(pid: int, at: int, data: bytes) -> None:
    """Write to the memory of a process, also where it may only read itself."""
    with (PROC / str(pid) / "mem").open("r+b", buffering=0) as memory:
        os.pwrite(memory.fileno(), data, at)


def system_call(pid: int) -> tuple[int, int] | None:
    """Number and first argument of the call in which the main thread waits.

    ``None`` if it runs, or waits in none.
    """
    text = Path(PROC / f"{pid}/task/{pid}/syscall").read_text().split()
    if text[0] == "running" or int(text[0]) < 0:
        return None
    return int(text[0]), int(text[1], 16)
