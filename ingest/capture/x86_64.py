"""Calls of a thread of another process on x86-64.

Source: arch/x86/kernel/signal_64.c and fpu/signal.c of Linux.
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
_MAGIC1, _MAGIC2 = 0x46505853, 0x46505845
_LARGE_STATE, _STATE_WITHOUT_AMX = 8192, 2696
_LOAD = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba")
_FROM_RESULT, _FROM_KEPT, _KEEP = b"\x48\x89\xc7", b"\x48\x89\xdf", b"\x48\x89\xc3"


def _thread(libc: Libc, tid: int) -> ThreadState:
    registers = general_registers(libc, tid, _REGISTERS)
    vectors = _vectors(libc.registers(tid, _XSTATE, _MOST_STATE))
    return ThreadState(registers, vectors, registers["rsp"], (registers["rip"],))


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
    zeros = place - wanted.room & ~63
    frame = (zeros - 512 & ~63) - 8
    context = _context(thread.registers, place, wanted.blocked)
    writes = [
        (place, thread.vectors),
        (zeros, bytes(wanted.room)),
        (frame, struct.pack("<Q", wanted.restorer) + context),
    ]
    changed = dict(thread.registers)
    changed.update(
        rip=wanted.function, rsp=frame, orig_rax=(1 << 64) - 1, rax=0,
        eflags=thread.registers["eflags"] & ~0x400,
    )  # fmt: skip
    for name, value in zip(_ARGUMENTS, wanted.arguments, strict=False):
        changed[name] = zeros if value == -1 else value
    return writes, changed


def _context(registers: Mapping[str, int], state_at: int, blocked: int) -> bytes:
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
    made = struct.pack("<QQ", 7, 0) + NO_ALTERNATIVE_STACK
    made += struct.pack("<18Q", *(then[name] for name in _IN_FRAME))
    made += struct.pack("<HHHH", registers["cs"], 0, 0, registers["ss"])
    made += struct.pack("<4Q", 0, 0, 0, 0) + struct.pack("<Q", state_at) + bytes(64)
    return made + struct.pack("<Q", blocked)


def _function(steps: Sequence[FunctionCall]) -> bytes:
    made = b"\x53"  # push rbx
    for step in steps:
        for load, value in zip(_LOAD, step.arguments, strict=False):
            if value in (RESULT, KEPT):
                made += _FROM_RESULT if value == RESULT else _FROM_KEPT
            else:
                made += load + struct.pack("<Q", value)
        made += b"\x48\xb8" + struct.pack("<Q", step.function) + b"\xff\xd0"
        made += _KEEP if step.is_kept else b""
    return made + b"\x31\xc0\x5b\xc3"  # eax = 0, pop rbx, ret


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
    function=_function,
)  # fmt: skip
