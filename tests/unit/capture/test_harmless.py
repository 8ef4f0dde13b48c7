"""What a capture must not do to a program: each program tells what it notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.capture.cpython import capture
from ingest.capture.elf import functions
from ingest.capture.processes import status_of
from ingest.capture.ptrace import (
    TracedThread,
    call,
    held,
    restorer_of,
    system_call,
    unsupported,
)
from ingest.capture.untrusted import UntrustedFolder
from ingest.errors import CaptureError
from tests.unit.capture.test_heaproots_dump import Truth, dump_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())

# Each line that this prints after "ready" is harm, but what it prints at SIGUSR1.
NOTICING = """
import builtins, ctypes, os, signal, sys, threading, time

class Kept: pass
KEPT = [Kept() for _ in range(1000)]
libc = ctypes.CDLL(None, use_errno=True)
sleep, ppoll = libc.sleep, libc.ppoll
say = lambda *words: os.write(1, (" ".join(map(str, words)) + chr(10)).encode())

if os.fork() == 0:
    time.sleep(600)
    os._exit(0)
def reap():
    while True:
        say("foreign child", os.wait())
threading.Thread(target=reap, daemon=True).start()
def mask():
    blocked = sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    say("mask", blocked)
signal.signal(signal.SIGUSR1, lambda *_: (sys.settrace(None), mask()))
signal.signal(signal.SIGCHLD, lambda *_: say("SIGCHLD"))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
for name in ("before", "after_in_parent", "after_in_child"):
    os.register_at_fork(**{name: lambda name=name: say("at fork", name)})
if hasattr(libc, "_Fork"):
    import numpy  # one of its libraries has handlers, so `fork` is not called
    handler = ctypes.CFUNCTYPE(None)(lambda: say("C library's handler at fork"))
    libc["__register_atfork"](handler, handler, handler, None)
for name in ("fork", "waitpid", "_exit", "open", "write", "close", "rename"):
    original = getattr(os, name)
    def replaced(*given, name=name, original=original, **named):
        if name != "write" or given[0] != 1:
            say("os", name)
        return original(*given, **named)
    if name != "write":
        setattr(os, name, replaced)
builtins.open = lambda *given: say("open", given)
sys.excepthook = lambda *given: say("excepthook", given)
def trace(frame, event, argument):
    code = frame.f_code
    if (code.co_filename, code.co_name) != ("<string>", "<lambda>"):
        say("traced", code)
threading.settrace(trace)
sys.settrace(trace)
time.sleep(0.1)
if sys.argv[1] == "sleep":
    say("ready")
    left = sleep(1000)
else:
    # poll without files, with SIGTERM blocked and nothing else
    signals = (ctypes.c_ulong * 16)(1 << signal.SIGTERM - 1)
    signals = ctypes.byref(signals)
    say("ready")
    left = ppoll(None, 0, None, signals)
say(sys.argv[1], "returned", left)
while True:
    time.sleep(1000)
"""


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    program = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert program.stdout is not None
        while program.stdout.readline() not in (b"ready\n", b""):
            pass
        yield program
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


def state(pid: int) -> dict[str, object]:
    """What of a process is to be the same afterwards."""
    folder = Path(f"/proc/{pid}")
    return {
        "files": sorted(str(one.readlink()) for one in (folder / "fd").iterdir()),
        "threads": len(list((folder / "task").iterdir())),
        "blocked": status_of(pid, "SigBlk"),
        "caught": status_of(pid, "SigCgt"),
        "tracer": status_of(pid, "TracerPid"),
    }


MASKS = {
    "sleep": f"{1 << signal.SIGHUP - 1:016x}",
    "ppoll": f"{1 << signal.SIGTERM - 1:016x}",  # as long as the call lasts
}


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("waits", MASKS)
def test_a_program_notices_nothing(waits: str, tmp_path: Path) -> None:
    with started("-c", NOTICING, waits) as program:
        until = time.monotonic() + 5
        while (before := state(program.pid))["blocked"] != [MASKS[waits]]:
            assert time.monotonic() < until  # it is on its way into the call
        taken = capture(str(program.pid), tmp_path / "x.hrpy", mode="fork")
        until = time.monotonic() + 5
        while (after := state(program.pid)) != before and time.monotonic() < until:
            time.sleep(0.05)
        assert after == before
        program.send_signal(signal.SIGUSR1)
        assert program.stdout is not None
        said = [program.stdout.readline()]
        if waits == "ppoll":
            assert b"returned -1" in program.stdout.readline()

    assert said == [b"mask [%d]\n" % signal.SIGHUP]
    assert len(Truth(dump_of(taken.path)).of_type("__main__.Kept")) == 1000


SLEEPING = """
import ctypes
sleep = ctypes.CDLL(None).sleep
print("ready", flush=True)
print("left", sleep(2), flush=True)
"""


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("resumed", [0, 1, 2])
def test_a_sleep_in_c_is_not_cut_short_by_a_kill(resumed: int) -> None:
    with started("-c", SLEEPING) as program:
        began, last = time.monotonic(), "sched_yield"
        restorer = restorer_of(program.pid)
        function = functions(program.pid, {last})[last].start
        while not system_call(program.pid):
            time.sleep(0.001)
        for _ in range(resumed):
            assert call(program.pid, function, (), restorer, last)
        if (tool := os.fork()) == 0:
            TracedThread.run_until = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment, method-assign]
            call(program.pid, function, (), restorer, last)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(tool, 0)[1]) == -signal.SIGKILL
        assert program.stdout is not None
        assert program.stdout.readline() == b"left 0\n"
        assert time.monotonic() - began > 1.5


BUSY = "import sys; print('ready', flush=True)\nwhile True: pass"


@pytest.mark.parametrize(("text", "waits"), [(SLEEPING, True), (BUSY, False)])
def test_only_a_thread_that_waits_is_held(text: str, waits: bool) -> None:
    """Another one may have the interpreter's lock, for which the writer would wait."""
    with started("-c", text) as program:
        time.sleep(0.1)
        with held(program.pid) as is_held:
            assert is_held is waits
            traced = status_of(program.pid, "TracerPid") != ["0"]
            assert traced is waits


HURRIED = """
import sys, threading
class Kept: pass
KEPT = [Kept() for _ in range(1000)]
sys.setswitchinterval(1e-5)
def work():
    while True: sum(range(100))
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
work()
"""


def test_a_copy_runs_whose_lock_others_wait_for(tmp_path: Path) -> None:
    """Before 3.12, who is asked for the lock waits until another thread has had it."""
    with started("-c", HURRIED) as program:
        began = time.monotonic()
        taken = capture(str(program.pid), tmp_path / "x.hrpy", mode="fork")
        # A copy that comes to a halt is given up after ten seconds.
        assert time.monotonic() - began < 9

    assert len(Truth(dump_of(taken.path)).of_type("__main__.Kept")) == 1000


FILTERED = """
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None)
allow, kill = 0x7FFF0000, 0x80000000
code = [(0x20, 0, 0, 0)]
for number in (56, 57, 58, 435):
    code.append((0x15, 0, 1, number))
    code.append((0x06, 0, 0, kill))
code.append((0x06, 0, 0, allow))
data = b"".join(struct.pack("<HBBI", *one) for one in code)
held = ctypes.create_string_buffer(data)
program = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(held))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
print("ready", flush=True)
while True: time.sleep(1)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
def test_a_filter_that_would_kill_a_program_is_seen_before(tmp_path: Path) -> None:
    with started("-c", FILTERED) as program:
        began = time.monotonic()
        with pytest.raises(CaptureError, match="seccomp"):
            capture(str(program.pid), tmp_path / "x.hrpy")
        assert time.monotonic() - began < 10
        time.sleep(0.1)
        assert program.poll() is None


def test_nothing_that_is_not_a_file_of_the_user_is_read(tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    folder.mkdir()
    secret.write_text("secret")
    (folder / "link").symlink_to(secret)
    os.mkfifo(folder / "pipe")
    (folder / "told").write_text("12345")
    (folder / "dir").mkdir()
    held = UntrustedFolder(folder, os.geteuid())
    try:
        names = ("link", "pipe", "dir", "none")
        assert [held.text(name, 100) for name in names] == ["", "", "", ""]
        assert held.text("told", 3) == "123"
        assert [held.has(name) for name in (*names, "told")] == [False] * 4 + [True]
    finally:
        held.close()
    other = UntrustedFolder(folder, os.geteuid() + 1)
    try:
        assert other.text("told", 3) == "", "of another user"
    finally:
        other.close()
    (tmp_path / "way").symlink_to(folder)
    with pytest.raises(OSError, match="Not a directory"):
        UntrustedFolder(tmp_path / "way", os.geteuid())
