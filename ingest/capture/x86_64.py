"""Calls of a thread of another process on x86-64.

Source: arch/x86/kernel/signal_64.c and fpu/signal.c of Linux.
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

_XSTATE, _MOST_STATE = 0x202, 1 << 16
_REGISTERS = [
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax",
    "rcx", "rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss",
    "fs_base", "gs_base", "ds", "es", "fs", "gs",
]  # fmt: skip
_ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
_IN_FRAME = [
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp",
    "rbx", "rdx", "rax", "rcx", "rsp", "rip", "eflags",
]  # fmt: skip
_RESTART, _RESTART_BLOCK, _EINTR = (512, 513, 514), 516, 4
_RESUMED, _MOVE_TO_EAX, _SYSCALL = 219, 0xB8, b"\x0f\x05"
"""A call that the kernel has resumed has this number; the code says which it was."""
_POLL = 7
_TIMES = {35: ("rdi", "rsi"), 230: ("rdx", "r10")}
"""Of ``nanosleep`` and ``clock_nanosleep``: the time to wait, and what is left."""
_MAGIC1, _MAGIC2 = 0x46505853, 0x46505845
_LARGE_STATE, _STATE_WITHOUT_AMX = 8192, 2696
_RAX = 0
_HELD = {RESULT: _RAX, KEPT: 3, KEPT_TOO: 12}
_FOR_FUNCTION, _FOR_SYSTEM = (7, 6, 2, 1, 8, 9), (7, 6, 2, 10, 8, 9)
_NUMBERS = {
    "mmap": 9, "sched_yield": 24, "clone": 56, "wait4": 61, "prctl": 157,
    "exit_group": 231, "close_range": 436, "clone3": 435,
}  # fmt: skip


def _thread(libc: Libc, tid: int) -> ThreadState:
    general = libc.registers(tid, GENERAL, 8 * len(_REGISTERS))
    state = libc.registers(tid, _XSTATE, _MOST_STATE)
    registers = named(_REGISTERS, general)
    if registers["orig_rax"] == _RESUMED:
        code = struct.pack("<Q", libc.word(tid, registers["rip"] - 8))
        if code[1] == _MOVE_TO_EAX and code.endswith(_SYSCALL):
            registers["orig_rax"] = int.from_bytes(code[2:6], "little")
    return ThreadState(
        registers, _vectors(state), registers["rsp"], (registers["rip"],),
        ((_XSTATE, state), (GENERAL, general)),
    )  # fmt: skip


def _vectors(data: bytes) -> bytes:
    """The state of floating point and vectors, as a signal frame has it."""
    state, size = bytearray(data), len(data)
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


def _prepared(
    thread: ThreadState, wanted: Wanted
) -> tuple[list[tuple[int, bytes]], dict[str, int]]:
    place = thread.stack - RED_ZONE - len(thread.vectors) & ~63
    frame = (place - 512 & ~63) - 8
    context = _context(thread.registers, place, wanted.blocked)
    writes = [
        (place, thread.vectors),
        (frame, struct.pack("<Q", wanted.restorer) + context),
    ]
    changed = dict(thread.registers)
    changed.update(
        rip=wanted.function, rsp=frame, orig_rax=(1 << 64) - 1, rax=0,
        eflags=thread.registers["eflags"] & ~0x400,
    )  # fmt: skip
    changed.update(zip(_ARGUMENTS, wanted.arguments, strict=False))
    return writes, changed


def _context(registers: Mapping[str, int], state_at: int, blocked: int) -> bytes:
    """What ``rt_sigreturn`` restores, where no tracer sets the thread back.

    A system call that was interrupted is made again, and so is one that waits for ever,
    or whose time the kernel has set to what is left (``sleep`` of the C library). Any
    other that would have to know the time left returns ``EINTR``, as it may at signals.
    """
    then = dict(registers)
    result = struct.unpack("<q", struct.pack("<Q", registers["rax"]))[0]
    number = registers["orig_rax"]
    if number < 1 << 63:
        is_timed = -result == _RESTART_BLOCK
        if -result in _RESTART or (is_timed and _can_wait_again(registers)):
            then["rax"] = number
            then["rip"] -= 2
        elif is_timed:
            then["rax"] = (1 << 64) - _EINTR
    made = struct.pack("<QQ", 7, 0) + NO_ALTERNATIVE_STACK
    made += struct.pack("<18Q", *(then[name] for name in _IN_FRAME))
    made += struct.pack("<HHHH", registers["cs"], 0, 0, registers["ss"])
    made += struct.pack("<4Q", 0, 0, 0, 0) + struct.pack("<Q", state_at) + bytes(64)
    return made + struct.pack("<Q", blocked)


def _can_wait_again(registers: Mapping[str, int]) -> bool:
    """Whether a call that waits for a time would wait no longer than it was to."""
    number = registers["orig_rax"]
    if number == _POLL:
        return bool(registers["rdx"] & 1 << 31)
    if number not in _TIMES:
        return False
    wanted, left = _TIMES[number]
    return registers[wanted] == registers[left]


def _loads(registers: Sequence[int], values: Sequence[int]) -> bytes:
    """Code that puts values into registers, which have numbers."""
    made = b""
    for register, value in zip(registers, values, strict=False):
        high = register >> 3
        if value in _HELD:  # mov register, rax or rbx or r12
            source = _HELD[value]
            prefix = 0x48 | high | (source >> 3) << 2
            made += bytes([prefix, 0x89, 0xC0 | (source & 7) << 3 | register & 7])
        else:
            made += bytes([0x48 | high, 0xB8 | register & 7])
            made += struct.pack("<Q", value & (1 << 64) - 1)
    return made


def _step(step: Step) -> bytes:
    match step:
        case FunctionCall(function, arguments, keep, returned_at):
            arguments = (returned_at, *arguments) if returned_at else arguments
            made = _loads(_FOR_FUNCTION, arguments)
            made += _loads([_RAX], [function]) + b"\xff\xd0"  # call rax
            if keep:
                made += _loads([_HELD[keep]], [RESULT])
            return made
        case SystemCall(name, arguments):
            made = _loads(_FOR_SYSTEM, arguments)
            return made + _loads([_RAX], [_NUMBERS[name]]) + b"\x0f\x05"
        case Load(at):
            return b"\x48\xa1" + struct.pack("<Q", at)
        case StoreValue(at, value):
            made = b"" if value is None else _loads([_RAX], [value])
            return made + b"\x48\xa3" + struct.pack("<Q", at)
        case If(is_zero, steps):
            inner = b"".join(map(_step, steps))
            # test eax, eax; jnz or jns
            made = b"\x85\xc0\x0f" + (b"\x85" if is_zero else b"\x89")
            return made + struct.pack("<i", len(inner)) + inner
        case Return():
            # eax = 0; add rsp, 8; pop r12; pop rbx; ret
            return b"\x31\xc0\x48\x83\xc4\x08\x41\x5c\x5b\xc3"


def _function(steps: Sequence[Step]) -> bytes:
    made = b"\x53\x41\x54\x48\x83\xec\x08"  # push rbx; push r12; sub rsp, 8
    return made + b"".join(map(_step, [*steps, Return()]))


X86_64 = Machine(
    place=0x5E0000000000,
    waiting=frozenset({
        0, 7, 17, 23, 34, 35, 42, 43, 44, 45, 46, 47, 61, 65, 73, 202, 219, 230, 232,
        247, 270, 271, 281, 288, 128, 130, 240, 243, 299, 307, 407, 416, 441, 449, 454,
        455,
    }),
    futex=frozenset({202, 449, 454, 455}),
    sigreturn=(
        bytes.fromhex("48c7c00f0000000f05"), bytes.fromhex("b80f0000000f05"),
    ),
    thread=_thread,
    prepared=_prepared,
    registers=_REGISTERS,
    number="orig_rax",
    numbers=_NUMBERS,
    audit=0xC000003E,
    mutex_bytes=40,
    function=_function,
)  # fmt: skip
