"""What is told of a kind of processor, so that `ingest.capture.ptrace` works on it.

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
_GENERAL = 1
RED_ZONE = 128
"""Bytes below the stack that a function may use without saying so."""
NO_ALTERNATIVE_STACK = struct.pack("<QiIQ", 0, 0x7FFFFFFF, 0, 0)
"""What a signal frame says of the other stack, so that the one there is stays."""
RESULT: Final = -1
"""Stands for what the step before has returned; only as the first argument."""
KEPT: Final = -2
"""Stands for what the step that keeps it has returned; only as the first argument."""


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

    def ptrace(self, request: int, tid: int, address: int = 0, data: int = 0) -> None:
        """Make a request that returns nothing."""
        if self._c.ptrace(request, tid, address, data) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def word(self, tid: int, at: int) -> int:
        """Eight bytes of the memory of a thread that stands still."""
        ctypes.set_errno(0)
        value: int = self._c.ptrace(_PEEK, tid, at, 0)
        if value == -1 and (number := ctypes.get_errno()):
            raise OSError(number, os.strerror(number))
        return value & (1 << 64) - 1

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


def general_registers(libc: Libc, tid: int, names: Sequence[str]) -> dict[str, int]:
    """The general registers of a thread that stands still, by their names in order."""
    data = libc.registers(tid, _GENERAL, 8 * len(names))
    return dict(zip(names, struct.unpack(f"<{len(names)}Q", data), strict=True))


def set_general_registers(
    libc: Libc, tid: int, names: Sequence[str], registers: Mapping[str, int]
) -> None:
    """Write all general registers of a thread that stands still."""
    values = [registers[name] for name in names]
    libc.set_registers(tid, _GENERAL, struct.pack(f"<{len(values)}Q", *values))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that made code does.

    Attributes:
        function: Its address.
        arguments: At most three: numbers, `RESULT`, `KEPT`.
        is_kept: Whether its result is kept.
    """

    function: int
    arguments: tuple[int, ...] = ()
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread that stands still.

    Attributes:
        registers: By name, as it would go on with if it did after a signal.
        vectors: Its state of floating point and vectors, as a signal frame has it.
        stack: Its stack pointer.
        code: Where it is, and where it would return to if a register says so.
    """

    registers: Mapping[str, int]
    vectors: bytes
    stack: int
    code: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a thread is to make.

    Attributes:
        function: Its address.
        arguments: At most six; -1 stands for the address of ``room`` bytes of zeros.
        restorer: Address of code that returns from a signal.
        room: Bytes on the stack that the function may write to.
        blocked: The signals that the thread blocks, a bit each.
    """

    function: int
    arguments: Sequence[int]
    restorer: int
    room: int
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
        function: Code of a function that makes calls and returns 0.
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
    function: Callable[[Sequence[FunctionCall]], bytes]
