"""Calls of a thread of another process on aarch64, of either page size.

Source: arch/arm64/kernel/signal.c and ptrace.c, include/uapi/asm/sigcontext.h of Linux.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ingest.capture.machine import (
    GENERAL,
    KEPT,
    KEPT_TOO,
    NO_ALTERNATIVE_STACK,
    RED_ZONE,
    RESULT,
    FunctionCall,
    If,
    Load,
    Machine,
    Return,
    StoreValue,
    SystemCall,
    ThreadState,
    named,
)
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.capture.machine import Libc, Step, Wanted

_FLOATS, _SCALABLE = 2, 0x405
_REGISTERS = [*(f"x{number}" for number in range(31)), "sp", "pc", "pstate"]
_FLOATS_BYTES, _MOST_SCALABLE = 528, 1 << 16
_SCALABLE_HEAD = struct.Struct("<IIHHHH")
_IS_SCALABLE = 1  # of the flags of the set of scalable vectors
_FLOATS_MAGIC, _SCALABLE_MAGIC = 0x46508001, 0x53564501
_RESERVED, _INFO_BYTES = 4096, 128
_BRANCH_TYPE = 3 << 10  # of the state of the processor: how it came here
_SVC, _RET = 0xD4000001, 0xD65F03C0
_HELD = {RESULT: 0, KEPT: 19, KEPT_TOO: 20}
_NUMBERS = {
    "mmap": 222, "sched_yield": 124, "clone": 220, "wait4": 260, "prctl": 167,
    "exit_group": 94, "close_range": 436, "clone3": 435,
}  # fmt: skip
_NANOSLEEP, _FUTEX, _CLOCK_NANOSLEEP, _RESTART_SYSCALL = 101, 98, 115, 128
_OPERATION, _WAIT, _ABSOLUTE = 127, 0, 1
_EINTR = 4


def _thread(libc: Libc, tid: int) -> ThreadState:
    general = libc.registers(tid, GENERAL, 8 * len(_REGISTERS))
    registers = named(_REGISTERS, general)
    if libc.word(tid, registers["pc"]) & 0xFFFFFFFF == _SVC and _is_timed(registers):
        # What the kernel itself does: it knows how much time is left.
        again = dict(registers, x8=_RESTART_SYSCALL)
        general = struct.pack(f"<{len(again)}Q", *again.values())
        if not _has_time_left(registers):
            registers["x0"] = (1 << 64) - _EINTR
            registers["pc"] += 4
    try:
        scalable = libc.registers(tid, _SCALABLE, _MOST_SCALABLE)
    except OSError:  # this processor has none
        scalable = b""
    floats = libc.registers(tid, _FLOATS, _FLOATS_BYTES)
    vectors = _vectors(floats, scalable)
    code = (registers["pc"], registers["x30"])
    saved = [(_FLOATS, floats), (GENERAL, general)]
    if _is_in_use(scalable):
        saved.insert(1, (_SCALABLE, scalable))
    return ThreadState(registers, vectors, registers["sp"], code, tuple(saved))


def _is_in_use(scalable: bytes) -> bool:
    """Whether a thread has more in its scalable vectors than 16 bytes of each."""
    if len(scalable) < _SCALABLE_HEAD.size:
        return False
    *_, flags, _ = _SCALABLE_HEAD.unpack_from(scalable)
    return bool(flags & _IS_SCALABLE)


def _is_timed(registers: Mapping[str, int]) -> bool:
    """Whether a system call that is made again would wait too long.

    A tracer sees a thread before such a call, even if it was interrupted in it. Without
    a tracer, a call that must know how much time is left returns ``EINTR``, as it may
    at any signal. Calls that take a moment, or note the time left, are made again.
    """
    number = registers["x8"]
    if number == _CLOCK_NANOSLEEP:
        return not registers["x1"] & _ABSOLUTE
    if number == _FUTEX:
        return registers["x1"] & _OPERATION == _WAIT and bool(registers["x3"])
    return number in (_NANOSLEEP, _RESTART_SYSCALL)


def _has_time_left(registers: Mapping[str, int]) -> bool:
    """Whether the kernel has set the time to wait to what is left of it."""
    number = registers["x8"]
    if number == _CLOCK_NANOSLEEP:
        return registers["x2"] == registers["x3"]
    return number == _NANOSLEEP and registers["x0"] == registers["x1"]


def _vectors(floats: bytes, scalable: bytes) -> bytes:
    """The state of floating point and vectors, as records of a signal frame.

    Args:
        floats: Vectors of 16 bytes, state and control.
        scalable: The set of scalable vectors; of use only where the thread has more in
            them than ``floats`` tells.
    """
    made = struct.pack("<II", _FLOATS_MAGIC, _FLOATS_BYTES) + floats[512:520]
    made += floats[:512]
    if _is_in_use(scalable):
        _, _, length, _, _, _ = _SCALABLE_HEAD.unpack_from(scalable)
        size = 32 * length + 17 * length // 8  # vectors, predicates, first fault
        total = 16 + size + 15 & ~15
        made += _SCALABLE_HEAD.pack(_SCALABLE_MAGIC, total, length, 0, 0, 0)
        made += scalable[16 : 16 + size].ljust(total - 16, b"\0")
    if len(made) + 16 > _RESERVED:
        raise CaptureError("the thread computes with vectors of a kilobit; try again")
    return made.ljust(_RESERVED, b"\0")


def _prepared(
    thread: ThreadState, wanted: Wanted
) -> tuple[list[tuple[int, bytes]], dict[str, int]]:
    context = _context(thread, wanted.blocked)
    frame = thread.stack - RED_ZONE - len(context) & ~15
    changed = dict(thread.registers)
    changed.update(
        pc=wanted.function, sp=frame, x29=0, x30=wanted.restorer,
        pstate=thread.registers["pstate"] & ~_BRANCH_TYPE,
    )  # fmt: skip
    for number, value in enumerate(wanted.arguments):
        changed[f"x{number}"] = value
    return [(frame, context)], changed


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
    """Code that puts a number of 64 bits, or what is held, into a register."""
    if value in _HELD:  # mov
        return _words(0xAA0003E0 | _HELD[value] << 16 | register)
    made = [0xD2800000 | (value & 0xFFFF) << 5 | register]
    for part in range(1, 4):
        piece = value >> 16 * part & 0xFFFF
        if piece:
            made.append(0xF2800000 | part << 21 | piece << 5 | register)
    return _words(*made)


def _loads(values: Sequence[int]) -> bytes:
    """Code that sets arguments, the first one last, for its register has the result."""
    pairs = list(enumerate(values))[::-1]
    return b"".join(_load(number, value) for number, value in pairs)


def _step(step: Step) -> bytes:
    match step:
        case FunctionCall(function, arguments, keep, returned_at):
            made = _load(8, returned_at) if returned_at else b""
            made += _loads(arguments) + _load(16, function) + _words(0xD63F0200)  # blr
            return made + (_load(_HELD[keep], RESULT) if keep else b"")
        case SystemCall(name, arguments):
            return _loads(arguments) + _load(8, _NUMBERS[name]) + _words(_SVC)
        case Load(at):
            return _load(16, at) + _words(0xF9400200)  # ldr x0, [x16]
        case StoreValue(at, value):
            made = b"" if value is None else _load(0, value)
            return made + _load(16, at) + _words(0xF9000200)  # str x0, [x16]
        case If(is_zero, steps):
            inner = b"".join(map(_step, steps))
            words = len(inner) // 4 + 1
            if is_zero:  # cbnz w0
                return _words(0x35000000 | words << 5) + inner
            return _words(0x36F80000 | words << 5) + inner  # tbz w0, 31
        case Return():
            # x0 = 0; x19 and x20, x29 and x30 are as they were
            return _words(0xD2800000, 0xA94153F3, 0xA8C27BFD, _RET)


def _function(steps: Sequence[Step]) -> bytes:
    # stp x29, x30, [sp, -32]!; stp x19, x20, [sp, 16]
    made = _words(0xA9BE7BFD, 0xA90153F3)
    return made + b"".join(map(_step, [*steps, Return()]))


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
    number="x8",
    numbers=_NUMBERS,
    audit=0xC00000B7,
    mutex_bytes=48,
    function=_function,
)  # fmt: skip
