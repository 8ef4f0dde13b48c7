"""Whether a program's filters of system calls let it be copied.

A filter may kill the program for a call that it does not expect. So the filters are
read, if that is allowed, and run for the calls that a capture makes.

Source: seccomp(2), PTRACE_SECCOMP_GET_FILTER in ptrace(2), linux/bpf_common.h.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING

import psutil

from ingest.capture.processes import status_of
from ingest.capture.ptrace import machine, stopped
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.capture.machine import Libc
    from ingest.capture.processes import RunningProgram

_GET_FILTER, _MOST = 0x420C, 4096
_ALLOWED, _LOGGED = 0x7FFF0000, 0x7FFC0000
_ERROR, _ACTION, _NO_SUCH_CALL = 0x00050000, 0xFFFF0000, 38
_INSTRUCTION = struct.Struct("<HBBI")
_THREAD_FLAGS, _FORK_FLAGS, _SHARING_FLAGS = 0x3D0F00, 0x1200011, 0x100

Filter = list[tuple[int, int, int, int]]
"""Instructions: code, distances if true and if false, constant."""


def check_filters(target: RunningProgram) -> None:
    """Check that the filters of a program allow the calls of a capture.

    Raises:
        CaptureError: they do not, or cannot be read.
        OSError: the program has ended, or may not be traced.
    """
    if status_of(target.pid, "Seccomp") in ([], ["0"]):
        return
    shown = f"process {target.pid} ({target.name})"
    advice = (
        "have it import heaproots_dump and call dump(PATH, mode='stop') or "
        "install(signal.SIGUSR2, PATH, 'stop')"
    )
    try:
        filters = _filters(target.pid)
    except OSError:  # only who may administrate may read them
        if _has_forked_with_them(target.pid):
            return
        raise CaptureError(
            f"{shown} has a filter of system calls (seccomp) that only root can read, "
            f"and that may kill it for being captured; run this as root, or {advice}"
        ) from None
    for name, number, arguments in _calls():
        actions = [_run(one, number, arguments) for one in filters]
        action = min(actions, key=_strictness)
        is_fine = action in (_ALLOWED, _LOGGED)
        if name == "clone3":  # the C library then makes the other call
            is_fine = is_fine or action == _ERROR | _NO_SUCH_CALL
        if not is_fine:
            raise CaptureError(
                f"{shown} has a filter of system calls (seccomp) that does not allow "
                f"{name}, so it was not touched; {advice}"
            )


def _strictness(action: int) -> int:
    """The lower of two actions counts, as signed numbers."""
    return (action & _ACTION ^ 1 << 31) - (1 << 31)


def _calls() -> list[tuple[str, int, Sequence[int]]]:
    """The system calls of a capture that filters may refuse."""
    numbers = machine().numbers
    made: list[tuple[str, Sequence[int]]] = [
        ("clone", (_THREAD_FLAGS,)), ("clone", (_SHARING_FLAGS,)),
        ("clone", (_FORK_FLAGS,)), ("clone3", ()), ("mmap", (0, 1, 5, 0x100022)),
        ("wait4", ()), ("prctl", (1, 9)), ("exit_group", ()), ("sched_yield", ()),
        ("close_range", ()),
    ]  # fmt: skip
    return [(name, numbers[name], arguments) for name, arguments in made]


def _has_forked_with_them(pid: int) -> bool:
    """Whether its parent, or this process, has as many filters, and has forked."""
    theirs = status_of(pid, "Seccomp_filters")
    try:
        around = (psutil.Process(pid).ppid(), psutil.Process().pid)
    except psutil.Error:
        return False
    return bool(theirs) and any(
        status_of(one, "Seccomp_filters") == theirs for one in around
    )


def _filters(pid: int) -> list[Filter]:
    """All filters of the main thread.

    Raises:
        OSError: they may not be read.
    """
    found: list[Filter] = []
    with stopped(pid) as thread:
        while thread is not None and len(found) < _MOST:
            try:
                found.append(_filter(thread.libc, pid, len(found)))
            except FileNotFoundError:  # there are no more
                break
    if not found:
        raise PermissionError
    return found


def _filter(libc: Libc, pid: int, at: int) -> Filter:
    buffer = ctypes.create_string_buffer(_INSTRUCTION.size * _MOST)
    count = libc.ptrace(_GET_FILTER, pid, at, ctypes.addressof(buffer))
    return list(_INSTRUCTION.iter_unpack(buffer.raw[: count * _INSTRUCTION.size]))


def _run(program: Filter, number: int, arguments: Sequence[int]) -> int:
    """The action of a filter, a classic BPF program, for a system call."""
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<iIQ6Q", number, machine().audit, 0, *padded)
    accumulator = index = at = 0
    memory = [0] * 16
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        kind, operand = code & 7, index if code & 8 else constant
        if kind == 0:  # load
            mode = code & 0xE0
            if mode == 0x20:
                (accumulator,) = struct.unpack_from("<I", data, constant)
            elif mode == 0x60:
                accumulator = memory[constant]
            else:
                accumulator = len(data) if mode == 0x80 else constant
        elif kind == 1:
            mode = code & 0xE0
            index = memory[constant] if mode == 0x60 else constant
            index = len(data) if mode == 0x80 else index
        elif kind == 2:
            memory[constant] = accumulator
        elif kind == 3:
            memory[constant] = index
        elif kind == 4:
            accumulator = _computed(code & 0xF0, accumulator, operand)
        elif kind == 5:
            test = code & 0xF0
            if test == 0:
                at += constant
                continue
            is_true = (
                accumulator == operand if test == 0x10
                else accumulator > operand if test == 0x20
                else accumulator >= operand if test == 0x30
                else bool(accumulator & operand)
            )  # fmt: skip
            at += if_true if is_true else if_false
        elif kind == 6:
            return accumulator if code & 0x18 == 0x10 else constant
        elif code & 0xF8:
            accumulator = index
        else:
            index = accumulator


def _computed(operation: int, left: int, right: int) -> int:
    made = {
        0x00: left + right, 0x10: left - right, 0x20: left * right,
        0x30: left // (right or 1), 0x40: left | right, 0x50: left & right,
        0x60: left << (right & 31), 0x70: left >> (right & 31), 0x80: -left,
        0xA0: left ^ right,
    }  # fmt: skip
    return made[operation] & 0xFFFFFFFF
