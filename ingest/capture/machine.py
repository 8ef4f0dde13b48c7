"""Descriptions of kinds of processors, for `ingest.capture.ptrace`.

The kinds are `ingest.capture.x86_64` and `ingest.capture.aarch64`.
"""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PEEK, _GETREGSET, _SETREGSET = 1, 0x4204, 0x4205
_GETSIGMASK, _SETSIGMASK = 0x420A, 0x420B
GENERAL = 1
"""The kind of the general registers."""
RED_ZONE = 128
"""Bytes below the stack that a function may use without saying so."""
NO_ALTERNATIVE_STACK = struct.pack("<QiIQ", 0, 0x7FFFFFFF, 0, 0)
"""The part of a signal frame about the alternate stack that keeps the present one."""
RESULT: Final = -1
"""Stands for the result of the previous step."""
KEPT: Final = -2
KEPT_TOO: Final = -3
"""Stand for the result of a step that keeps it."""


class Libc:
    """``ptrace``, with errors."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None, use_errno=True)
        self._c.ptrace.restype = ctypes.c_long
        self._c.ptrace.argtypes = [
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]

    def ptrace(self, request: int, tid: int, address: int = 0, data: int = 0) -> int:
        """Make a request that returns nothing, or a number from 0 on."""
        done: int = self._c.ptrace(request, tid, address, data)
        if done < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return done

    def word(self, tid: int, at: int) -> int:
        """Eight bytes of the memory of a stopped thread."""
        ctypes.set_errno(0)
        value: int = self._c.ptrace(_PEEK, tid, at, 0)
        if value == -1 and (number := ctypes.get_errno()):
            raise OSError(number, os.strerror(number))
        return value & (1 << 64) - 1

    def signals(self, tid: int) -> int:
        """The signals that a thread blocks, or will when its system call has ended."""
        mask = ctypes.c_uint64()
        self.ptrace(_GETSIGMASK, tid, 8, ctypes.addressof(mask))
        return mask.value

    def set_signals(self, tid: int, blocked: int) -> None:
        """Have a thread block these signals from now on."""
        mask = ctypes.c_uint64(blocked)
        self.ptrace(_SETSIGMASK, tid, 8, ctypes.addressof(mask))

    def registers(self, tid: int, kind: int, most: int) -> bytes:
        """A set of registers, at most so many bytes of it."""
        buffer = ctypes.create_string_buffer(most)
        vector = _Vector(ctypes.addressof(buffer), most)
        self.ptrace(_GETREGSET, tid, kind, ctypes.addressof(vector))
        return buffer.raw[: vector.length]

    def set_registers(self, tid: int, kind: int, data: bytes) -> None:
        """Write a set of registers."""
        buffer = ctypes.create_string_buffer(data, len(data))
        vector = _Vector(ctypes.addressof(buffer), len(data))
        self.ptrace(_SETREGSET, tid, kind, ctypes.addressof(vector))


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def named(names: Sequence[str], data: bytes) -> dict[str, int]:
    """General registers by their names, which are in the order of the kernel."""
    return dict(zip(names, struct.unpack(f"<{len(names)}Q", data), strict=True))


def set_general_registers(
    libc: Libc, tid: int, names: Sequence[str], registers: Mapping[str, int]
) -> None:
    """Write all general registers of a thread that stands still."""
    values = [registers[name] for name in names]
    libc.set_registers(tid, GENERAL, struct.pack(f"<{len(values)}Q", *values))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that made code does.

    Attributes:
        function: Its address.
        arguments: At most five: numbers, `RESULT`, `KEPT`, `KEPT_TOO`.
        keep: `KEPT` or `KEPT_TOO` if its result is kept.
        returned_at: Where it puts the structure that it returns, if it does; then it
            takes at most four arguments.
    """

    function: int
    arguments: tuple[int, ...] = ()
    keep: int = 0
    returned_at: int = 0


@dataclass(frozen=True, slots=True)
class SystemCall:
    """A system call that made code does, which writes nothing to the stack.

    Attributes:
        name: Name in `Machine.numbers`.
        arguments: As of a `FunctionCall`.
    """

    name: str
    arguments: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """The result is what 8 bytes of memory say."""

    at: int


@dataclass(frozen=True, slots=True)
class StoreValue:
    """Store 8 bytes in memory: a number, or the result of the step before."""

    at: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class If:
    """Steps for a result, of 32 bits, that is 0, or else one that is below.

    Attributes:
        is_zero: Which of them.
        steps: What is done then, before going on behind them.
    """

    is_zero: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """The function returns 0."""


Step = FunctionCall | SystemCall | Load | StoreValue | If | Return


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread that stands still.

    Attributes:
        registers: By name, as it would go on with if it did after a signal.
        vectors: Its state of floating point and vectors, as a signal frame has it.
        stack: Its stack pointer.
        code: Where it is, and where it would return to if a register says so.
        saved: Sets of registers by kind, in order, with which a tracer has it go on
            as if nothing had been: a call that waits knows how much time is left.
    """

    registers: Mapping[str, int]
    vectors: bytes
    stack: int
    code: tuple[int, ...]
    saved: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a thread is to make.

    Attributes:
        function: Its address.
        arguments: At most six.
        restorer: Address of code that returns from a signal.
        blocked: The signals that the thread blocks, a bit each.
    """

    function: int
    arguments: Sequence[int]
    restorer: int
    blocked: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of processor, with Linux.

    Attributes:
        place: Where memory for code is first looked for.
        waiting: Numbers of the system calls in which a thread waits for something from
            outside; none is made by the allocator or the loader: read, poll, select,
            sleep, recv, futex, wait and so on.
        futex: Those of them whose first argument is a lock.
        sigreturn: Code that returns from a signal, in one of several spellings.
        thread: Reads a thread that stands still.
        prepared: From a thread and a call, what its memory must have below its stack,
            and the registers with which it makes the call and then goes on.
        registers: The names of the general registers, in the order of the kernel.
        number: The register that tells the number of a system call.
        numbers: Numbers of system calls, by name.
        audit: Number by which filters of system calls know this kind.
        mutex_bytes: Size of a ``pthread_mutex_t``.
        function: Code of a function that does steps and returns 0.
    """

    place: int
    waiting: frozenset[int]
    futex: frozenset[int]
    sigreturn: tuple[bytes, ...]
    thread: Callable[[Libc, int], ThreadState]
    prepared: Callable[
        [ThreadState, Wanted], tuple[list[tuple[int, bytes]], dict[str, int]]
    ]
    registers: Sequence[str]
    number: str
    numbers: Mapping[str, int]
    audit: int
    mutex_bytes: int
    function: Callable[[Sequence[Step]], bytes]
