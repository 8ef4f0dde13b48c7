"""Have a thread of another process call a function, and go on as if it had not.

At no moment is the process in a state from which it could not go on: memory is written
below the stack of the thread, where nothing is; then all its registers are set at once,
so that it runs the function, which returns into ``rt_sigreturn`` with a signal frame
that has all the thread was: as after the handler of a signal. If this process is killed
at any point, the kernel lets the thread go, and it either never sees the call or ends
it. No code of the process is changed, and it is stopped for microseconds.

Only x86-64 with Linux. Source: arch/x86/kernel/signal_64.c and fpu/signal.c of Linux.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture.elf import PROC, mappings
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GETREGS, _SETREGS, _DETACH = 12, 13, 17
_GETREGSET, _SEIZE, _INTERRUPT = 0x4204, 0x4206, 0x4207
_XSTATE = 0x202
_WALL, _NOHANG = 0x40000000, 1
_EVENT_STOP, _TRAP = 128, 5
_REGISTERS = [
    "r15",
    "r14",
    "r13",
    "r12",
    "rbp",
    "rbx",
    "r11",
    "r10",
    "r9",
    "r8",
    "rax",
    "rcx",
    "rdx",
    "rsi",
    "rdi",
    "orig_rax",
    "rip",
    "cs",
    "eflags",
    "rsp",
    "ss",
    "fs_base",
    "gs_base",
    "ds",
    "es",
    "fs",
    "gs",
]
_ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
_IN_FRAME = [
    "r8",
    "r9",
    "r10",
    "r11",
    "r12",
    "r13",
    "r14",
    "r15",
    "rdi",
    "rsi",
    "rbp",
    "rbx",
    "rdx",
    "rax",
    "rcx",
    "rsp",
    "rip",
    "eflags",
]
_RESTART, _RESTART_BLOCK, _EINTR = (512, 513, 514), 516, 4
_RED_ZONE = 128
_SIGRETURN = bytes.fromhex("48c7c00f0000000f05"), bytes.fromhex("b80f0000000f05")
_MAGIC1, _MAGIC2 = 0x46505853, 0x46505845
_LARGE_STATE, _STATE_WITHOUT_AMX = 8192, 2696
_STOP_S = 2.0


def unsupported() -> str:
    """Why no call is possible on this machine; empty if one is."""
    if sys.platform != "linux":
        return "this works on Linux only"
    if platform.machine() != "x86_64":
        return "this works on x86-64 only"
    return ""


class _Libc:
    """``ptrace`` and ``waitpid``, with errors."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None, use_errno=True)
        self._c.ptrace.restype = ctypes.c_long
        self._c.ptrace.argtypes = [
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]

    def ptrace(self, request: int, tid: int, address: int = 0, data: int = 0) -> None:
        if self._c.ptrace(request, tid, address, data) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


@contextmanager
def _stopped(tid: int) -> Iterator[_Libc | None]:
    """A thread that is stopped; ``None`` if a signal came first, which it gets."""
    libc = _Libc()
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


def _detach(libc: _Libc, tid: int, signal_number: int) -> None:
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
        buffer = (ctypes.c_uint64 * len(_REGISTERS))()
        libc.ptrace(_GETREGS, pid, 0, ctypes.addressof(buffer))
        registers = dict(zip(_REGISTERS, buffer, strict=True))
        if _is_within(memory, registers, avoid):
            return False
        state = _vector_state(libc, pid)
        place = registers["rsp"] - _RED_ZONE - len(state) & ~63
        zeros = place - room & ~63
        frame = zeros - 512 & ~63
        _write(memory, place, state)
        if room:
            _write(memory, zeros, bytes(room))
        context = _context(registers, place, _blocked(pid))
        _write(memory, frame - 8, struct.pack("<Q", restorer) + context)
        changed = dict(registers, rip=function, rsp=frame - 8, orig_rax=(1 << 64) - 1)
        changed["rax"] = 0
        changed["eflags"] &= ~0x400
        for name, value in zip(_ARGUMENTS, arguments, strict=False):
            changed[name] = zeros if value == -1 else value
        buffer[:] = [changed[name] for name in _REGISTERS]
        libc.ptrace(_SETREGS, pid, 0, ctypes.addressof(buffer))
    return True


def _write(memory: object, at: int, data: bytes) -> None:
    os.pwrite(memory.fileno(), data, at)  # type: ignore[attr-defined]


def _is_within(
    memory: object, registers: dict[str, int], avoid: Sequence[tuple[int, int]]
) -> bool:
    """Whether the thread is in one of the functions, or was called from one."""
    if not avoid:
        return False
    stack = os.pread(memory.fileno(), 4096, registers["rsp"])  # type: ignore[attr-defined]
    count = len(stack) // 8
    values = [registers["rip"], *struct.unpack(f"<{count}Q", stack[: 8 * count])]
    return any(start <= value < end for value in values for start, end in avoid)


def _vector_state(libc: _Libc, pid: int) -> bytes:
    """The state of floating point and vectors, as a signal frame has it."""
    buffer = ctypes.create_string_buffer(1 << 16)
    span = struct.pack("@PN", ctypes.addressof(buffer), len(buffer))
    vector = ctypes.create_string_buffer(span, len(span))
    libc.ptrace(_GETREGSET, pid, _XSTATE, ctypes.addressof(vector))
    size = struct.unpack("@PN", vector.raw[: len(span)])[1]
    state = bytearray(buffer.raw[:size])
    (features,) = struct.unpack_from("<Q", state, 464)
    if size > _LARGE_STATE:
        # Tiles have a state of their own, which a thread has only if it asked for it.
        used = struct.unpack_from("<Q", state, 512)[0]
        if used >> 17 & 3:
            raise CaptureError("the thread computes with matrices (AMX); try again")
        size, features = _STATE_WITHOUT_AMX, features & ~(3 << 17)
        state = state[:size]
    struct.pack_into("<IIQI", state, 464, _MAGIC1, size + 4, features, size)
    state[484:512] = bytes(28)
    return bytes(state) + struct.pack("<I", _MAGIC2)


def _context(registers: dict[str, int], state_at: int, blocked: int) -> bytes:
    """What ``rt_sigreturn`` restores.

    A system call that was interrupted is made again; one that would have to know how
    much time is left returns ``EINTR``, as it may at any signal.
    """
    then = dict(registers)
    result = struct.unpack("<q", struct.pack("<Q", registers["rax"]))[0]
    if struct.unpack("<q", struct.pack("<Q", registers["orig_rax"]))[0] >= 0:
        if -result in _RESTART:
            then["rax"] = registers["orig_rax"]
            then["rip"] -= 2
        elif -result == _RESTART_BLOCK:
            then["rax"] = (1 << 64) - _EINTR
    # The alternative stack stays: what is no valid one is not set.
    made = struct.pack("<QQQiIQ", 7, 0, 0, 0x7FFFFFFF, 0, 0)
    made += struct.pack("<18Q", *(then[name] for name in _IN_FRAME))
    made += struct.pack("<HHHH", registers["cs"], 0, 0, registers["ss"])
    made += struct.pack("<4Q", 0, 0, 0, 0) + struct.pack("<Q", state_at) + bytes(64)
    return made + struct.pack("<Q", blocked)


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
            if "x" not in one.mode or not name.startswith(
                ("libc", "ld-", "libpthread")
            ):
                continue
            data = os.pread(memory.fileno(), one.end - one.start, one.start)
            for code in _SIGRETURN:
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
