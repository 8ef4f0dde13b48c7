"""Have a thread of another process call a function, and go on as if it had not.

The process can go on from every state in between. Memory is written only below the
stack of the thread, where nothing is. Then all registers are set at once, so that the
thread runs the function, with all signals blocked. The function ends with a system
call, after which the thread gets back its registers and its mask of signals. It goes on
as after a stop: the kernel resumes a call in which it waited, which ends when it would
have ended. If this process is killed before, the kernel lets the thread go: the
function returns into ``rt_sigreturn`` with a signal frame that has the thread's whole
state, as after the handler of a signal. No code of the process is changed.

Only Linux; what depends on the processor is in `ingest.capture.machine`.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.aarch64 import AARCH64
from ingest.capture.elf import PROC, mappings
from ingest.capture.machine import (
    GENERAL,
    Libc,
    Wanted,
    named,
    set_general_registers,
)
from ingest.capture.x86_64 import X86_64
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import FileIO

    from ingest.capture.machine import Machine, ThreadState

_CONTINUE, _DETACH, _SYSCALL = 7, 17, 24
_SEIZE, _INTERRUPT, _SYSCALL_GOOD = 0x4206, 0x4207, 1
_ALL_SIGNALS = (1 << 64) - 1
_WALL, _NOHANG = 0x40000000, 1
_EVENT_STOP, _TRAP = 128, 5
_STOP_S = 2.0
_HOLD_S = 1.0
_HAVE_RETURN = ("libc", "ld-", "libpthread", "[vdso]")

MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
"""Descriptions by Linux's name of the processor."""


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


class TracedThread:
    """A thread of another process that this one traces."""

    def __init__(self, tid: int) -> None:
        self.libc, self.tid = Libc(), tid
        self.signal_number = 0
        self.libc.ptrace(_SEIZE, tid, 0, _SYSCALL_GOOD)

    def wait(self) -> int:
        """Wait for its next stop; returns the status of it.

        Raises:
            CaptureError: it does not stop, or has ended.
        """
        until = time.monotonic() + _STOP_S
        while True:
            done, status = os.waitpid(self.tid, _WALL | _NOHANG)
            if done:
                break
            if time.monotonic() > until:
                raise CaptureError(f"thread {self.tid} does not stop; try again")
            time.sleep(0.00005)
        if not os.WIFSTOPPED(status):
            raise CaptureError(f"process {self.tid} has ended")
        is_of_signal = status >> 16 != _EVENT_STOP and not _is_system_call(status)
        self.signal_number = os.WSTOPSIG(status) if is_of_signal else 0
        return status

    def interrupt(self) -> bool:
        """Stop the thread; ``False`` if a signal came first, which is passed on."""
        self.libc.ptrace(_INTERRUPT, self.tid)
        return _is_interrupted(self.wait())

    def run_until(self, number: int) -> bool:
        """Let the thread run to the end of a system call of that number, then stop it.

        Returns:
            Whether it got there; ``False`` if a signal came first.
        """
        here, is_within = machine(), False
        while True:
            self.libc.ptrace(_SYSCALL, self.tid)
            if not _is_system_call(self.wait()):
                return False
            is_within = not is_within
            if not is_within:
                data = self.libc.registers(self.tid, GENERAL, 8 * len(here.registers))
                if named(here.registers, data)[here.number] == number:
                    # It stops before its next instruction, where the kernel looks
                    # whether it has to make a system call again.
                    self.libc.ptrace(_INTERRUPT, self.tid)
                    self.libc.ptrace(_CONTINUE, self.tid)
                    return _is_interrupted(self.wait())

    def detach(self) -> None:
        """Let the thread run freely again, and pass on a signal that came for it."""
        with suppress(OSError):
            # It has ended, or has not stopped: then the end of this thread does it.
            self.libc.ptrace(_DETACH, self.tid, 0, self.signal_number)


def _is_interrupted(status: int) -> bool:
    return status >> 16 == _EVENT_STOP and os.WSTOPSIG(status) == _TRAP


def _is_system_call(status: int) -> bool:
    return os.WSTOPSIG(status) == _TRAP | 0x80


@contextmanager
def stopped(tid: int) -> Iterator[TracedThread | None]:
    """A thread that is stopped; ``None`` if a signal came first, which it gets."""
    thread = TracedThread(tid)
    try:
        yield thread if thread.interrupt() else None
    finally:
        thread.detach()


@contextmanager
def held(pid: int) -> Iterator[bool]:
    """Stop the main thread where it waits, until the block ends.

    Elsewhere it may have the interpreter's lock, and goes on.

    Args:
        pid: The process.

    Yields:
        Whether it stands still; ``False`` if it does not come to wait soon.
    """
    until = time.monotonic() + _HOLD_S
    while time.monotonic() < until:
        with stopped(pid) as thread:
            if thread is not None and _is_waiting(pid):
                yield True
                return
        time.sleep(0.001)
    yield False


def _is_waiting(pid: int) -> bool:
    """Whether the main thread, which is stopped, is in a call in which threads wait."""
    number, *_ = system_call(pid).split() or ["-1"]
    return int(number) in machine().waiting


def call(
    pid: int,
    function: int,
    arguments: Sequence[int],
    restorer: int,
    last: str,
    avoid: Sequence[tuple[int, int]] = (),
) -> bool:
    """Have the main thread of a process call a function.

    Args:
        pid: The process.
        function: Address of the function.
        arguments: At most six.
        restorer: From `restorer_of`.
        last: Name of the system call with which the function ends.
        avoid: Spans of code in which the thread must not be, because it may hold a
            lock there that the function takes.

    Returns:
        ``False`` if the thread cannot make the call at this moment; try again later.

    Raises:
        CaptureError, OSError: the thread cannot be stopped, or its memory not read.
    """
    with (
        (PROC / str(pid) / "mem").open("r+b", buffering=0) as memory,
        stopped(pid) as traced,
    ):
        if traced is None:
            return False
        here, libc = machine(), traced.libc
        thread = here.thread(libc, pid)
        if _is_within(memory, thread, avoid):
            return False
        blocked = libc.signals(pid)
        wanted = Wanted(function, arguments, restorer, blocked)
        writes, registers = here.prepared(thread, wanted)
        for at, data in writes:
            os.pwrite(memory.fileno(), data, at)
        libc.set_signals(pid, _ALL_SIGNALS)
        set_general_registers(libc, pid, here.registers, registers)
        if traced.run_until(here.numbers[last]):
            libc.set_signals(pid, blocked)
            for kind, data in thread.saved:
                libc.set_registers(pid, kind, data)
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


def restorer_of(pid: int) -> int:
    """Address of code of a process that returns from a signal.

    Raises:
        CaptureError: there is no such code.
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
    """Write to the memory of a process, even to pages that are read-only for it."""
    with (PROC / str(pid) / "mem").open("r+b", buffering=0) as memory:
        os.pwrite(memory.fileno(), data, at)


def read_memory(pid: int, at: int, size: int) -> bytes:
    """Memory of a process.

    Raises:
        OSError: it has ended, or may not be looked at.
    """
    with (PROC / str(pid) / "mem").open("rb", buffering=0) as memory:
        data = os.pread(memory.fileno(), size, at)
    if len(data) != size:
        raise OSError(f"only {len(data)} bytes")
    return data


def system_call(pid: int) -> str:
    """The call in which the main thread waits, with its arguments and where it is.

    Empty if it runs, or waits in none.
    """
    found = Path(PROC / f"{pid}/task/{pid}/syscall").read_text().strip()
    return "" if found.startswith(("running", "-1")) else found
