"""Has a running CPython run a text: in a copy of the program, or in a thread of it.

Machine code is put into the program, in extra memory that stays for the next capture.
The main thread makes a thread; if it is computing, a pending call makes it. No Python
code runs in either. The new thread blocks all signals and takes the interpreter's lock
like any other. Then it runs the text itself, or has the program copied:

- The thread makes a process that shares all memory with the program, and waits for its
  end. No ``wait`` of the program finds this process, for its end sends no signal.
- The process calls ``fork`` of the C library, so that the locks of the allocator are
  free in the copy, releases the interpreter's lock, and waits for the end of the copy.
  Where libraries may have handlers of ``fork``, it is ``_Fork``, which calls none:
  those of gRPC end the threads of the program, whose memory the process shares.
- The copy closes all files. It has no threads that wait for the interpreter's lock, so
  their traces in the lock are overwritten, and the copy takes the lock again. It runs
  the text and ends. CPython does not learn of the copying: no handler of the program
  runs, and the states of all threads can still be read.

If another thread had one of CPython's inner locks, or of the allocator's, the copy
halts. It is then killed, and another copy is made. An alarm ends a copy for which
nobody waits any more.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from ingest.capture.elf import PROC, functions, has_fork_handlers, mappings
from ingest.capture.machine import (
    KEPT,
    KEPT_TOO,
    RESULT,
    FunctionCall,
    If,
    Load,
    Return,
    StoreValue,
    SystemCall,
)
from ingest.capture.processes import status_of
from ingest.capture.ptrace import (
    call,
    machine,
    read_memory,
    restorer_of,
    system_call,
    write_memory,
)
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.capture.elf import Function
    from ingest.capture.machine import Step

_CODE_BYTES, _DATA_BYTES = 0x1000, 0x3000
# In the code: what a thread runs, what the main thread runs, and what is read.
_THREADS = {"fork": 0x0, "stop": 0x600}
_STARTS = {"fork": 0x800, "stop": 0x880}
_ADDS = {"fork": 0x900, "stop": 0x980}
_PENDING = {"fork": 0xA00, "stop": 0xA80}
_TRIMMING, _TRIM_START = 0xB80, 0xC00
_MASK_AT, _ALARM_MASK_AT, _MAGIC_AT = 0xE00, 0xE80, 0xFF0
_MAGIC = b"heaproots 3\0"
# In the data.
_IS_ASKED, _THREAD, _COPY, _BEGAN, _COPIED, _MALLOC, _TEXT = 0, 8, 16, 32, 48, 128, 256
_SIGNAL_SET_BYTES, _SET_MASK, _FILE_INPUT = 128, 2, 257
_SHARED_MEMORY, _ANY_CHILD, _DEATH_SIGNAL, _KILL = 0x100, 0x80000000, 1, 9
_MONOTONIC, _NO_PROCESS = 1, (1 << 32) - 1
_ALL_FILES = (1 << 32) - 1
_READ_EXECUTE, _READ_WRITE = 5, 3
_PRIVATE_FIXED, _NO_FILE = 0x100022, (1 << 64) - 1
_MAP_S, _PENDING_S, _ROUND_S = 2.0, 1.0, 0.02
_NEEDED = {
    "mmap", "fork", "_exit", "clock_gettime", "pthread_create", "pthread_join",
    "pthread_detach", "pthread_sigmask", "Py_AddPendingCall", "PyGILState_Ensure",
    "PyGILState_Release", "PyEval_SaveThread", "PyEval_RestoreThread", "PyDict_New",
    "Py_DecRef", "PyRun_StringFlags", "PyErr_Clear", "PyThreadState_Swap", "alarm",
    "signal",
}  # fmt: skip
_TRIM, _RUNTIME, _ALLOCATED, _VERSION, _PLAIN_FORK = (
    "malloc_trim", "_PyRuntime", "mallinfo2", "Py_Version", "_Fork",
)  # fmt: skip
_OPTIONAL = {_TRIM, _RUNTIME, _ALLOCATED, _VERSION, _PLAIN_FORK}
_NO_LONGER_WAITS = 0x030C0000
"""From that version on, a thread that ends releases the lock without waiting."""
_ALARM, _BEGIN_S = 14, 30
_LOCKED = {"Py_AddPendingCall", "Py_MakePendingCalls", "PyEval_SignalReceived"}
_INTERVAL_US, _CONDITION_BYTES = 1_000_000_000, 48
_FEWEST_OF_ADDRESSES, _MOST_WAITERS = 1 << 44, 1 << 16
_IS_LOCKED_AT, _LOCK_AT = 16, 32
"""Offsets in the interpreter's lock: whether it is taken, and its condition."""


@dataclass(frozen=True, slots=True)
class Injection:
    """Machine code in a program.

    Attributes:
        pid: The program.
        place: Where the code is; behind it is memory to write to.
        restorer: Code of the program that returns from a signal.
        known: Functions of the program.
    """

    pid: int
    place: int
    restorer: int
    known: Mapping[str, Function]

    def ask(self, text: bytes) -> None:
        """Set the text that the next thread is to run.

        Raises:
            CaptureError: the text is too long.
        """
        if len(text) >= _DATA_BYTES - _TEXT:
            raise CaptureError("the folder of the program has too long a name")
        self._write(_TEXT, text + b"\0")
        self._write(0, struct.pack("<Q", 1).ljust(_TEXT, b"\0"))

    def withdraw(self) -> None:
        """Keep a thread that starts late from running anything."""
        with suppress(OSError):
            self._write(_IS_ASKED, bytes(8))

    def is_begun(self) -> bool:
        """Whether a thread has the interpreter's lock, and has begun its work."""
        return not self._word(_IS_ASKED)

    def copy(self) -> int | None:
        """The copy's id, as the program sees it; 0 if none could be made."""
        found = self._word(_COPY) & _NO_PROCESS
        return 0 if found == _NO_PROCESS else found or None

    def pause_s(self) -> float:
        """How long the interpreter's lock was held to make the copy."""
        data = read_memory(self.pid, self._data + _BEGAN, 32)
        began_s, began_ns, then_s, then_ns = struct.unpack("<4Q", data)
        return float(then_s - began_s + (then_ns - began_ns) / 1e9)

    @property
    def malloc_at(self) -> int:
        """Address of the result of ``mallinfo2`` in a copy; 0 without one."""
        return self._data + _MALLOC if _ALLOCATED in self.known else 0

    def start(self, mode: str) -> bool:
        """Have the waiting main thread make a thread; return whether it does."""
        return self._call(_STARTS[mode])

    def add_pending(self, mode: str) -> bool:
        """Have the main thread make a thread at its next pending call, if possible.

        As it goes on only when that thread has ended, if that runs the text itself.
        """
        locked = [self.known[name] for name in _LOCKED & self.known.keys()]
        return self._call(_ADDS[mode], locked)

    def trim(self) -> None:
        """Have the allocator give back the text's memory, if the main thread waits."""
        if _TRIM in self.known and waits(self.pid):
            self._call(_TRIM_START)

    @property
    def _data(self) -> int:
        return self.place + _CODE_BYTES

    def _word(self, at: int) -> int:
        data = read_memory(self.pid, self._data + at, 8)
        return int.from_bytes(data, "little")

    def _write(self, at: int, data: bytes) -> None:
        write_memory(self.pid, self._data + at, data)

    def _call(self, at: int, avoid: Sequence[tuple[int, int]] = ()) -> bool:
        at += self.place
        return call(self.pid, at, (), self.restorer, "sched_yield", avoid)


def injected(pid: int) -> Injection:
    """Put the code into a program, unless it is there.

    Raises:
        CaptureError: it cannot be there.
        OSError: the program has ended, or may not be traced.
    """
    known = functions(pid, {*_NEEDED, *_LOCKED, *_OPTIONAL})
    if missing := _NEEDED - known.keys():
        raise CaptureError(
            f"process {pid} does not export {min(missing)}, so it cannot be asked; "
            "have the program import heaproots_dump and call dump(PATH)"
        )
    restorer = restorer_of(pid)
    taken = mappings(pid)
    for one in taken:
        if not one.path and one.mode.startswith("r-x"):
            with suppress(OSError):
                if read_memory(pid, one.start + _MAGIC_AT, len(_MAGIC)) == _MAGIC:
                    return Injection(pid, one.start, restorer, known)
    place = machine().place
    size = _CODE_BYTES + _DATA_BYTES
    while any(one.start < place + size and place < one.end for one in taken):
        place += 1 << 24
    mmap = known["mmap"].start
    _map(pid, mmap, place, _CODE_BYTES, _READ_EXECUTE, restorer)
    _map(pid, mmap, place + _CODE_BYTES, _DATA_BYTES, _READ_WRITE, restorer)
    lock = _lock_of(pid, known.get(_RUNTIME))
    is_swapped = bool(lock) and _version(pid, known) < _NO_LONGER_WAITS
    at = {name: one.start for name, one in known.items()}
    if _PLAIN_FORK in at and has_fork_handlers(pid):
        at["fork"] = at[_PLAIN_FORK]
    write_memory(pid, place, _Code(at, place, lock, is_swapped).assembled())
    return Injection(pid, place, restorer, known)


def _map(pid: int, mmap: int, place: int, size: int, mode: int, restorer: int) -> None:
    """Have a program make a mapping there."""
    arguments = (place, size, mode, _PRIVATE_FIXED, _NO_FILE, 0)
    until = time.monotonic() + _MAP_S
    while time.monotonic() < until:
        if call(pid, mmap, arguments, restorer, "mmap"):
            for _ in range(50):
                if any(one.start <= place < one.end for one in mappings(pid)):
                    return
                time.sleep(0.002)
        time.sleep(_ROUND_S)
    raise CaptureError(
        f"process {pid} does not run: it got no memory for the question; try again"
    )


def _version(pid: int, known: Mapping[str, Function]) -> int:
    """Which CPython runs, as its ``PY_VERSION_HEX``; 0 before 3.11."""
    if _VERSION not in known:
        return 0
    return int.from_bytes(read_memory(pid, known[_VERSION].start, 8), "little")


@dataclass(frozen=True, slots=True)
class _Code:
    """The machine code; the same for each capture of one process.

    Attributes:
        at: Addresses of functions of the process.
        place: Where the code is to be.
        lock: What the interpreter's lock is where nobody waits for it.
        is_swapped: Whether the copy says that the lock is free and takes it. Before
            CPython 3.12, who is asked for the lock and releases it waits until another
            thread has had it, of which the copy has none.
    """

    at: Mapping[str, int]
    place: int
    lock: Sequence[tuple[int, int]]
    is_swapped: bool

    def assembled(self) -> bytes:
        """All functions and data, each where it is looked for."""
        parts = [
            (begin, machine().function(steps))
            for begin, steps in self._functions().items()
        ]
        every = (1 << 8 * _SIGNAL_SET_BYTES) - 1
        masks = {_MASK_AT: every, _ALARM_MASK_AT: every ^ 1 << _ALARM - 1}
        for begin, mask in masks.items():
            parts.append((begin, mask.to_bytes(_SIGNAL_SET_BYTES, "little")))
        parts.append((_MAGIC_AT, _MAGIC))
        code = b""
        for begin, part in sorted(parts):
            assert len(code) <= begin
            code = code.ljust(begin, b"\0") + part
        return code

    @property
    def _data(self) -> int:
        return self.place + _CODE_BYTES

    def _functions(self) -> dict[int, list[Step]]:
        """The steps of each function, by its offset."""
        thread, last = Load(self._data + _THREAD), SystemCall("sched_yield")
        let_go = (thread, FunctionCall(self.at["pthread_detach"], (RESULT,)))
        await_end = (thread, FunctionCall(self.at["pthread_join"], (RESULT, 0)))
        detached = If(is_zero=True, steps=let_go)
        made = {_THREADS["fork"]: self._fork(), _THREADS["stop"]: self._stop()}
        for mode, function in _THREADS.items():
            made[_STARTS[mode]] = [self._make(function), detached, last]
            pending = (self.place + _PENDING[mode], 0)
            made[_ADDS[mode]] = [
                FunctionCall(self.at["Py_AddPendingCall"], pending), last,
            ]  # fmt: skip
        made[_PENDING["fork"]] = [self._make(_THREADS["fork"]), detached]
        made[_PENDING["stop"]] = [
            FunctionCall(self.at["PyEval_SaveThread"], keep=KEPT),
            self._make(_THREADS["stop"]),
            If(is_zero=True, steps=await_end),
            FunctionCall(self.at["PyEval_RestoreThread"], (KEPT,)),
        ]
        made[_TRIMMING] = self._trim()
        made[_TRIM_START] = [self._make(_TRIMMING), detached, last]
        return made

    def _make(self, function: int) -> FunctionCall:
        """Make a thread that runs the function at an offset."""
        arguments = (self._data + _THREAD, 0, self.place + function, 0)
        return FunctionCall(self.at["pthread_create"], arguments)

    def _trim(self) -> list[Step]:
        return [FunctionCall(self.at[_TRIM], (0,))] if _TRIM in self.at else []

    def _release(self) -> FunctionCall:
        return FunctionCall(self.at["PyGILState_Release"], (KEPT,))

    def _ensure(self) -> FunctionCall:
        return FunctionCall(self.at["PyGILState_Ensure"], keep=KEPT)

    def _begin(self) -> list[Step]:
        """Take the interpreter's lock, and return if nothing is asked any more."""
        # A signal that the thread got would not wake the main one, which runs the
        # handlers of Python.
        mask = (_SET_MASK, self.place + _MASK_AT, 0)
        return [
            FunctionCall(self.at["pthread_sigmask"], mask),
            self._ensure(),
            Load(self._data + _IS_ASKED),
            If(is_zero=True, steps=(self._release(), Return())),
            StoreValue(self._data + _IS_ASKED, 0),
        ]

    def _run(self) -> tuple[Step, ...]:
        """Run the text in a namespace of its own."""
        text = (self._data + _TEXT, _FILE_INPUT, KEPT_TOO, KEPT_TOO, 0)
        return (
            FunctionCall(self.at["PyDict_New"], keep=KEPT_TOO),
            FunctionCall(self.at["PyRun_StringFlags"], text),
        )

    def _stop(self) -> list[Step]:
        """What a thread does in which the program itself writes."""
        return [
            *self._begin(),
            *self._run(),
            FunctionCall(self.at["PyErr_Clear"]),
            FunctionCall(self.at["Py_DecRef"], (KEPT_TOO,)),
            self._release(),
            *self._trim(),
        ]

    def _fork(self) -> list[Step]:
        """What a thread does that makes a copy, by a process between that ends."""
        began = (_MONOTONIC, self._data + _BEGAN)
        copied = (_MONOTONIC, self._data + _COPIED)
        between: tuple[Step, ...] = (
            SystemCall("prctl", (_DEATH_SIGNAL, _KILL)),
            FunctionCall(self.at["fork"], keep=KEPT_TOO),
            If(is_zero=True, steps=self._copy()),
            StoreValue(self._data + _COPY),
            FunctionCall(self.at["clock_gettime"], copied),
            self._release(),
            SystemCall("wait4", (KEPT_TOO, 0, 0, 0)),
            SystemCall("exit_group", (0,)),
        )
        no_process = StoreValue(self._data + _COPY, _NO_PROCESS)
        return [
            *self._begin(),
            FunctionCall(self.at["clock_gettime"], began),
            SystemCall("clone", (_SHARED_MEMORY, 0, 0, 0, 0)),
            If(is_zero=True, steps=between),
            If(is_zero=False, steps=(no_process, self._release(), Return())),
            SystemCall("wait4", (RESULT, 0, _ANY_CHILD, 0)),
        ]

    def _copy(self) -> tuple[Step, ...]:
        """What the copy does."""
        # Both also take back that others wait for the lock.
        again: tuple[Step, ...] = (self._release(), self._ensure())
        if self.is_swapped:
            again = (
                FunctionCall(self.at["PyThreadState_Swap"], (0,), keep=KEPT),
                StoreValue(self.lock[0][0] + _IS_LOCKED_AT - _LOCK_AT, 0),
                FunctionCall(self.at["PyEval_RestoreThread"], (KEPT,)),
            )
        allocated: tuple[Step, ...] = ()
        if _ALLOCATED in self.at:
            told = self._data + _MALLOC
            allocated = (FunctionCall(self.at[_ALLOCATED], returned_at=told),)
        mask = (_SET_MASK, self.place + _ALARM_MASK_AT, 0)
        return (
            FunctionCall(self.at["signal"], (_ALARM, 0)),
            FunctionCall(self.at["alarm"], (_BEGIN_S,)),
            FunctionCall(self.at["pthread_sigmask"], mask),
            *(StoreValue(address, value) for address, value in self.lock),
            SystemCall("close_range", (0, _ALL_FILES, 0)),
            *again,
            *allocated,
            *self._run(),
            FunctionCall(self.at["_exit"], (1,)),
        )


def _lock_of(pid: int, runtime: Function | None) -> list[tuple[int, int]]:
    """The content of the interpreter's lock without waiters: addresses and words.

    It is found by its look: how long a thread may have the lock, who had it last,
    whether somebody has it; then twice a condition, whose clock is the monotonic one,
    and a mutex of the usual kind. None where it does not look so. Numbers that could be
    addresses are refused: CPython 3.11 has objects beside it.

    Source: CPython, Include/internal/pycore_gil.h; glibc, struct_mutex.h and
    thread-shared-types.h.
    """
    if runtime is None:
        return []
    size, mutex_bytes = runtime.end - runtime.start, machine().mutex_bytes
    data = read_memory(pid, runtime.start, size)
    first, second = _LOCK_AT, _LOCK_AT + _CONDITION_BYTES + mutex_bytes
    length = second + _CONDITION_BYTES + mutex_bytes
    found = []
    for at in range(0, size - length, 8):
        interval, holder, is_locked = struct.unpack_from("<3Q", data, at)
        is_it = 0 < interval <= _INTERVAL_US and is_locked <= 1 and holder > 1 << 16
        if is_it and all(_is_lock(data, at + begin) for begin in (first, second)):
            found.append(at)
    if len(found) != 1:
        return []
    fresh = bytearray(length - _LOCK_AT)
    for begin in (first, second):
        struct.pack_into("<I", fresh, begin - _LOCK_AT + 36, 2)
    base = runtime.start + found[0] + _LOCK_AT
    words = struct.unpack(f"<{len(fresh) // 8}Q", fresh)
    return [(base + 8 * number, word) for number, word in enumerate(words)]


def _is_lock(data: bytes, at: int) -> bool:
    """Whether a condition of the monotonic clock and a usual mutex may be there."""
    waited, first_of_group = struct.unpack_from("<2Q", data, at)
    (waiters,) = struct.unpack_from("<I", data, at + 36)
    state, _, _, users, kind = struct.unpack_from("<5I", data, at + _CONDITION_BYTES)
    others = struct.unpack_from("<2Q", data, at + _CONDITION_BYTES + 24)
    return (
        first_of_group <= waited < _FEWEST_OF_ADDRESSES
        and waiters & 7 == 2
        and waiters < _MOST_WAITERS << 3
        and state <= 2
        and users < _MOST_WAITERS
        and kind == 0
        and others == (0, 0)
    )


def waits(pid: int) -> bool:
    """Whether the main thread waits for something from outside, twice in a row."""
    seen = []
    for _ in range(2):
        now = system_call(pid)
        number, *arguments = now.split() or ["-1"]
        here = machine()
        if int(number) not in here.waiting:
            return False
        if int(number) in here.futex and _is_of_library(pid, int(arguments[0], 16)):
            return False
        seen.append(now)
        time.sleep(_ROUND_S)
    return seen[0] == seen[1]


def _is_of_library(pid: int, address: int) -> bool:
    """Whether a lock is of the C library or the loader, which a new thread needs."""
    last = ""
    for one in mappings(pid):
        last = one.path or last
        if one.start <= address < one.end:
            name = last.rpartition("/")[2]
            return name.startswith(("libc.", "libc-", "ld-", "libpthread"))
    return True


def process_within(pid: int, number: int) -> int | None:
    """The process that a program numbers so, which it has made, as numbered here."""
    with suppress(psutil.Error):
        for one in psutil.Process(pid).children(recursive=True):
            if status_of(one.pid, "NSpid")[-1:] == [str(number)]:
                return one.pid
    return None


def kill(pid: int) -> None:
    """Kill a copy of a program."""
    with suppress(OSError):
        os.kill(pid, _KILL)


def is_there(pid: int) -> bool:
    """Whether a process is there, be it one that has ended and is not waited for."""
    return (PROC / str(pid)).exists()
