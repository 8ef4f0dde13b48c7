"""Calls of a thread of another process on aarch64, of either page size.

Source: arch/arm64/kernel/signal.c and ptrace.c, include/uapi/asm/sigcontext.h of Linux.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ingest.capture.machine import (
    KEPT,
    NO_ALTERNATIVE_STACK,
    RED_ZONE,
    RESULT,
    Machine,
    ThreadState,
    general_registers,
)
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.capture.machine import FunctionCall, Libc, Wanted

_FLOATS, _SCALABLE = 2, 0x405
_REGISTERS = [*(f"x{number}" for number in range(31)), "sp", "pc", "pstate"]
_FLOATS_BYTES, _MOST_SCALABLE = 528, 1 << 16
_IS_SCALABLE = 1  # of the flags of the set of scalable vectors
_FLOATS_MAGIC, _SCALABLE_MAGIC = 0x46508001, 0x53564501
_RESERVED, _INFO_BYTES = 4096, 128
_BRANCH_TYPE = 3 << 10  # of the state of the processor: how it came here
_SVC = 0xD4000001
_NANOSLEEP, _FUTEX, _CLOCK_NANOSLEEP, _RESTART_SYSCALL = 101, 98, 115, 128
_OPERATION, _WAIT, _ABSOLUTE = 127, 0, 1
_EINTR = 4


def _thread(libc: Libc, tid: int) -> ThreadState:
    registers = general_registers(libc, tid, _REGISTERS)
    if libc.word(tid, registers["pc"]) & 0xFFFFFFFF == _SVC and _is_timed(registers):
        registers["x0"] = (1 << 64) - _EINTR
        registers["pc"] += 4
    try:
        scalable = libc.registers(tid, _SCALABLE, _MOST_SCALABLE)
    except OSError:  # this processor has none
        scalable = b""
    vectors = _vectors(libc.registers(tid, _FLOATS, _FLOATS_BYTES), scalable)
    code = (registers["pc"], registers["x30"])
    return ThreadState(registers, vectors, registers["sp"], code)


def _is_timed(registers: Mapping[str, int]) -> bool:
    """Whether a system call that is made again would wait too long.

    A tracer sees a thread before such a call, be it interrupted there. One that would
    have to know how much time is left returns ``EINTR``, as it may at any signal; those
    that take a moment, or note what is left, are made again.
    """
    number = registers["x8"]
    if number == _CLOCK_NANOSLEEP:
        return not registers["x1"] & _ABSOLUTE
    if number == _FUTEX:
        return registers["x1"] & _OPERATION == _WAIT and bool(registers["x3"])
    return number in (_NANOSLEEP, _RESTART_SYSCALL)


def _vectors(floats: bytes, scalable: bytes) -> bytes:
    """The state of floating point and vectors, as records of a signal frame.

    Args:
        floats: Vectors of 16 bytes, state and control.
        scalable: The set of scalable vectors; of use only where the thread has more in
            them than ``floats`` tells.
    """
    made = struct.pack("<II", _FLOATS_MAGIC, _FLOATS_BYTES) + floats[512:520]
    made += floats[:512]
    if len(scalable) >= 16:
        _, _, length, _, flags, _ = struct.unpack_from("<IIHHHH", scalable)
        if flags & _IS_SCALABLE:
            size = 32 * length + 17 * length // 8  # vectors, predicates, first fault
            total = 16 + size + 15 & ~15
            made += struct.pack("<IIHHHH", _SCALABLE_MAGIC, total, length, 0, 0, 0)
            made += scalable[16 : 16 + size].ljust(total - 16, b"\0")
    if len(made) + 16 > _RESERVED:
        raise CaptureError("the thread computes with vectors of a kilobit; try again")
    return made.ljust(_RESERVED, b"\0")


def _prepared(
    thread: ThreadState, wanted: Wanted
) -> tuple[list[tuple[int, bytes]], dict[str, int]]:
    context = _context(thread, wanted.blocked)
    zeros = thread.stack - RED_ZONE - wanted.room & ~15
    frame = zeros - len(context) & ~15
    changed = dict(thread.registers)
    changed.update(
        pc=wanted.function, sp=frame, x29=0, x30=wanted.restorer,
        pstate=thread.registers["pstate"] & ~_BRANCH_TYPE,
    )  # fmt: skip
    for number, value in enumerate(wanted.arguments):
        changed[f"x{number}"] = zeros if value == -1 else value
    return [(zeros, bytes(wanted.room)), (frame, context)], changed


def _context(thread: ThreadState, blocked: int) -> bytes:
    """What ``rt_sigreturn`` restores, behind the description of a signal."""
    values = [thread.registers[name] for name in _REGISTERS]
    made = bytes(_INFO_BYTES) + struct.pack("<QQ", 0, 0) + NO_ALTERNATIVE_STACK
    made += struct.pack("<Q", blocked) + bytes(120 + 8)
    made += struct.pack(f"<Q{len(values)}Q", 0, *values) + bytes(8)
    return made + thread.vectors


def _words(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def _load(register: int, value: int) -> bytes:
    """Code that puts a number of 64 bits into a register."""
    made = [0xD2800000 | (value & 0xFFFF) << 5 | register]
    for part in range(1, 4):
        piece = value >> 16 * part & 0xFFFF
        if piece:
            made.append(0xF2800000 | part << 21 | piece << 5 | register)
    return _words(*made)


def _function(steps: Sequence[FunctionCall]) -> bytes:
    # x29, x30 and x19 are saved.
    made = _words(0xA9BE7BFD, 0xF9000BF3)
    for step in steps:
        for number, value in enumerate(step.arguments):
            if value == KEPT:
                made += _words(0xAA1303E0)  # x0 = x19
            elif value != RESULT:
                made += _load(number, value)
        made += _load(16, step.function) + _words(0xD63F0200)  # blr x16
        made += _words(0xAA0003F3) if step.is_kept else b""  # x19 = x0
    return made + _words(0xD2800000, 0xF9400BF3, 0xA8C27BFD, 0xD65F03C0)


AARCH64 = Machine(
    place=0x3E00000000,
    waiting=frozenset({
        4, 22, 32, 63, 65, 67, 72, 73, 95, 98, 101, 115, 128, 133, 137, 188, 192, 193,
        202, 203, 206, 207, 211, 212, 242, 243, 260, 269, 292, 441, 449, 455,
    }),
    futex=frozenset({98, 449, 455}),
    sigreturn=(bytes.fromhex("681180d2010000d4"),),
    thread=_thread,
    prepared=_prepared,
    registers=_REGISTERS,
    function=_function,
)  # fmt: skip
