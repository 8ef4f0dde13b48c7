"""Captures of real Python programs, busy and waiting, and killed while they go on."""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import ingest
from ingest.capture.cpython import PythonCapture, _alone, capture
from ingest.capture.processes import status_of
from ingest.capture.ptrace import unsupported
from ingest.capture.python_processes import PYTHON, script
from ingest.errors import CaptureError
from tests.deep import PROFILE
from tests.pythons import PYTHONS
from tests.unit.capture.test_heaproots_dump import Truth, dump_of
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())

TARGET = """
import array, gc, os, select, signal, sys, threading, time

class Session:
    def __init__(self, number):
        self.number = number

SESSIONS = [Session(number) for number in range(2000)]
count = 0

def another(number, frame):
    new = "import os, time; os.write(1, b'another' + bytes([10])); time.sleep(60)"
    os.execv(sys.executable, [sys.executable, "-c", new])

signal.signal(signal.SIGUSR2, another)

def answer(number, frame):
    os.write(1, b"%d\\n" % count)

signal.signal(signal.SIGUSR1, answer)

def work():
    global count
    while True:
        count += 1
        pairs = [(number, number + 1) for number in range(500)]
        assert sum(float(i) * 1.5 for i in range(40)) == 1170.0
        assert len(SESSIONS) == 2000

def sleeping():
    global count
    while True:
        begin = time.monotonic()
        time.sleep(0.5)
        assert time.monotonic() - begin >= 0.5
        count += 1

def uncollected():
    gc.disable()
    sleeping()

def bundled():  # as PyInstaller leaves out what a program does not use
    sys.modules["__future__"] = None
    sleeping()

def bare():
    sys.modules["array"] = None
    sleeping()

def importing():  # a thread that looks for a module has the lock of all imports
    import _imp
    for name in ("array", "gc", "_signal"):
        del sys.modules[name]
    _imp.acquire_lock()
    sleeping()

def waiting():
    done = threading.Event()
    done.wait()

def polling():
    end, other = os.pipe()
    poll = select.epoll()
    poll.register(end)
    while True:
        assert poll.poll(100) == []

def busy():
    work()

def threaded():
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    work()

def joining():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

def large():
    global count
    kept = [Session(number) for number in range(400000)]
    os.write(1, b"ready\\n")
    while True:
        count += 1
        time.sleep(0.01)

def forking():
    global count
    while True:
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0) == (child, 0)
        count += 1

def writing():
    global count
    with open(sys.argv[2], "w") as out:
        while True:
            count += 1
            out.write("line\\n" * 20)
            if count % 1000 == 0:
                out.seek(0)

if sys.argv[1] != "large":
    os.write(1, b"ready\\n")
globals()[sys.argv[1]]()
"""

KINDS = ["sleeping", "busy", "threaded"]
if PROFILE == "deep":
    KINDS += ["waiting", "polling", "writing", "joining", "forking"]


@contextmanager
def running(
    kind: str, folder: Path, python: str = sys.executable
) -> Iterator[subprocess.Popen[bytes]]:
    path = folder / "target.py"
    path.write_text(TARGET)
    program = subprocess.Popen(
        [python, str(path), kind, str(folder / "lines")], stdout=subprocess.PIPE
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        yield program
    finally:
        program.kill()
        program.communicate()


def header(path: Path) -> dict[str, Any]:
    """The first record of a dump."""
    data = path.read_bytes()[: 1 << 16]
    (size,) = struct.unpack_from("<Q", data, 12)
    return cast("dict[str, Any]", json.loads(data[20 : 20 + size]))


def of_the_tool(names: set[str]) -> set[str]:
    """Names that only a capture makes, in whatever folder its checkout lies."""
    ours = re.compile(r"__heaproots__|<heaproots>|\bheaproots_dump\b|/\.heaproots\.\d")
    return {name for name in names if ours.search(name)}


def assert_right(program: subprocess.Popen[bytes]) -> None:
    """The program lives, and its main thread runs Python code when it is asked.

    It is asked again: the kernel gives a signal that comes while the main thread is
    still traced to another one, and Python's handler waits for the main one to wake.
    """
    assert program.stdout is not None
    for _ in range(2):
        for _ in range(20):
            program.send_signal(signal.SIGUSR1)
            if select.select([program.stdout], [], [], 1.0)[0]:
                break
        assert program.stdout.readline().strip().isdigit(), program.poll()
    status = Path(f"/proc/{program.pid}/status").read_text()
    assert "TracerPid:\t0" in status
    assert program.poll() is None


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_program_is_captured_and_goes_on(
    python: str, kind: str, tmp_path: Path
) -> None:
    with running(kind, tmp_path, python) as program:
        garbage = []
        for number in range(2):
            path = tmp_path / f"{number}.hrpy"
            taken = capture(str(program.pid), path)
            assert taken.mode == "fork"
            assert taken.pause_s < 5
            assert_right(program)
            truth = Truth(graph := dump_of(path))
            assert "repeated_object" not in {one.kind for one in graph.irregularities}
            garbage.append(np.count_nonzero(truth.metrics.root_distance < 0))

    assert header(path)["collects"] is True
    memory = header(path)["memory"]
    assert 0 < memory["blocks"] <= memory["arenas"]
    if hasattr(ctypes.CDLL(None), "mallinfo2"):
        assert 0 < memory["malloc_free"] < memory["malloc"] < memory["anonymous"]
    assert len(truth.of_type("__main__.Session")) == 2000
    assert graph.length is not None
    assert graph.length[truth.variable("__main__.SESSIONS")] == 2000
    names = {graph.root_name(at) for at in range(len(graph.root_object))}
    assert not of_the_tool(names)
    assert garbage[0] < 0.02 * graph.object_count
    assert garbage[1] - garbage[0] < 100
    # Of two captures, nothing but the line that runs now.
    codes = {truth.value(code) or "" for code in truth.of_type("code")}
    assert of_the_tool(codes) <= {"<module> (<heaproots>:1)"}
    assert not list(Path("/tmp").glob(f".heaproots.{os.getpid()}-*"))


@pytest.mark.slow
def test_the_program_itself_writes_if_asked(tmp_path: Path) -> None:
    with running("busy", tmp_path) as program:
        # As a program asks, which need not know the runtime.
        taken = ingest.capture(
            program.pid, tmp_path / "a.hrpy.gz", mode="stop", values=False
        )
        assert_right(program)

    assert isinstance(taken, PythonCapture)
    assert taken.mode == "stop"
    assert taken.copied_bytes == 0
    assert len(Truth(dump_of(taken.path)).of_type("__main__.Session")) == 2000


def test_a_program_without_collector_is_told_as_such(tmp_path: Path) -> None:
    with running("uncollected", tmp_path) as program:
        taken = capture(str(program.pid), tmp_path / "a.hrpy")
        assert_right(program)

    assert any("collector off" in note for note in dump_of(taken.path).notes)


def test_a_program_that_imports_is_captured(tmp_path: Path) -> None:
    with running("importing", tmp_path) as program:
        taken = capture(str(program.pid), tmp_path / "a.hrpy", mode="fork")
        assert_right(program)

    assert len(Truth(dump_of(taken.path)).of_type("__main__.Session")) == 2000


@pytest.mark.parametrize("mode", ["fork", "stop"])
def test_a_program_without_all_of_pythons_library(mode: str, tmp_path: Path) -> None:
    """It is captured if it has what is needed; else what is missing is told at once."""
    with running("bundled", tmp_path) as program:
        taken = capture(str(program.pid), tmp_path / "a.hrpy", mode=mode)
        assert_right(program)
    with (
        running("bare", tmp_path) as program,
        pytest.raises(CaptureError, match=r"ModuleNotFoundError: .*array"),
    ):
        capture(str(program.pid), tmp_path / "b.hrpy", mode=mode)

    assert len(Truth(dump_of(taken.path)).of_type("__main__.Session")) == 2000
    assert not (tmp_path / "b.hrpy").exists()


_TAKING = """
import sys
from pathlib import Path
from ingest.capture.cpython import capture
print("go", flush=True)
capture(sys.argv[1], Path(sys.argv[2]), force=True)
"""


def kill_a_capture(pid: int, path: Path, *, after_s: float) -> bool:
    """Start a capture and kill it; returns whether it had not ended before."""
    command = [sys.executable, "-c", _TAKING, str(pid), str(path)]
    taking = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert taking.stdout is not None
    taking.stdout.readline()
    time.sleep(after_s)
    was_running = taking.poll() is None
    taking.kill()
    taking.communicate()
    return was_running


def own_memory(pid: int) -> int:
    """Bytes of the memory of a process that no file has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) << 10


@pytest.mark.deep
@pytest.mark.parametrize("python", PYTHONS)
def test_captures_leave_a_program_its_memory(python: str, tmp_path: Path) -> None:
    """The list of 400,000 objects takes 3 MiB, compiling what writes as much or more.

    What stays is what the program's next objects are put into, and the small part of
    the text that the program itself compiles.
    """
    with running("large", tmp_path, python) as program:
        before = own_memory(program.pid)
        for _ in range(2):
            capture(str(program.pid), tmp_path / "x.hrpy", force=True)
        # Where it is given back by a thread of its own, that takes a moment.
        wait_until(lambda: own_memory(program.pid) - before < 2 << 20, 5)


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("python", PYTHONS if PROFILE != "deep" else [])
def test_a_program_goes_on_if_its_capture_is_killed(
    python: str, kind: str, tmp_path: Path
) -> None:
    rng = random.Random(kind)
    with running(kind, tmp_path, python) as program:
        kill_a_capture(
            program.pid, tmp_path / "x.hrpy", after_s=0.05 + rng.random() * 0.35
        )
        assert_right(program)
        taken = capture(str(program.pid), tmp_path / "last.hrpy")
        assert_right(program)

    assert len(Truth(dump_of(taken.path)).of_type("__main__.Session")) == 2000


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("python", PYTHONS)
def test_captures_and_killed_captures_leave_a_program_right(
    python: str, kind: str, tmp_path: Path
) -> None:
    """Four of each: 448 in all where eight Pythons are installed."""
    rng = random.Random(f"{python} {kind}")
    killed = 0
    with running(kind, tmp_path, python) as program:
        for _ in range(4):
            path = tmp_path / "killed.hrpy"
            killed += kill_a_capture(program.pid, path, after_s=rng.random() * 0.45)
            assert_right(program)
            taken = capture(str(program.pid), tmp_path / "whole.hrpy", force=True)
            assert len(Truth(dump_of(taken.path)).of_type("__main__.Session")) == 2000
            assert_right(program)
    assert killed, "each had ended before"


def test_the_thread_of_a_capture_takes_no_signal_of_the_program(tmp_path: Path) -> None:
    """Python's handlers run in the main thread, which that signal would not wake."""
    with running("waiting", tmp_path) as program, ThreadPoolExecutor(1) as pool:
        path = tmp_path / "x.hrpy"
        taking = pool.submit(capture, str(program.pid), path, mode="stop")
        blocked = []
        while not taking.done():
            for task in Path(f"/proc/{program.pid}/task").iterdir():
                with suppress(OSError):
                    status = (task / "status").read_text()
                    if int(task.name) != program.pid:
                        mask = int(status.split("SigBlk:")[1].split()[0], 16)
                        blocked.append(mask >> signal.SIGTERM - 1 & 1)
        taking.result()
        assert_right(program)

    assert sum(blocked) > 0.5 * len(blocked) > 0


@pytest.mark.slow
def test_one_capture_at_a_time(tmp_path: Path) -> None:
    with running("large", tmp_path) as program:
        with (
            _alone(PYTHON.find(str(program.pid))),  # as each capture does
            pytest.raises(CaptureError, match="being captured already"),
        ):
            capture(str(program.pid), tmp_path / "y.hrpy")
        capture(str(program.pid), tmp_path / "x.hrpy", mode="stop")
        assert_right(program)

    assert [one.name for one in tmp_path.glob("*.hrpy*")] == ["x.hrpy"]


@pytest.mark.slow(every=2)
@pytest.mark.parametrize("mode", ["fork", "stop"])
def test_a_writer_that_is_killed_is_noticed(mode: str, tmp_path: Path) -> None:
    with running("large", tmp_path) as program, ThreadPoolExecutor(1) as pool:
        path = tmp_path / "x.hrpy"
        taking = pool.submit(capture, str(program.pid), path, mode=mode)
        told = f".heaproots.{os.getpid()}-*.part/writer"
        wait_until(lambda: bool(list(Path("/tmp").glob(told))))
        (writer,) = Path("/tmp").glob(told)
        number = int(writer.read_text())
        if mode == "fork":  # an alarm ends it if nobody else does
            (blocked,), (caught,) = (
                status_of(number, "SigBlk"),
                status_of(number, "SigCgt"),
            )
            is_alarm = 1 << signal.SIGALRM - 1
            assert not (int(blocked, 16) | int(caught, 16)) & is_alarm
        os.kill(number, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(CaptureError, match="ended too early"):
            taking.result()
        assert time.monotonic() - began < 2
        if mode == "fork":
            assert_right(program)

    assert not path.exists()
    assert not list(Path("/tmp").glob(f".heaproots.{os.getpid()}-*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fork", "stop"])
def test_a_program_that_becomes_another_one_meanwhile(
    mode: str, tmp_path: Path
) -> None:
    """A copy goes on writing; who waits for a thread of its own gets signals then."""
    with running("large", tmp_path) as program, ThreadPoolExecutor(1) as pool:
        path = tmp_path / "x.hrpy"
        taking = pool.submit(capture, str(program.pid), path, mode=mode)
        names = f".heaproots.{os.getpid()}-*.part/writer"
        wait_until(lambda: bool(list(Path("/tmp").glob(names))))
        program.send_signal(signal.SIGUSR2)
        assert taking.result().mode == mode
        assert program.stdout is not None
        assert program.stdout.readline() == b"another\n"
        assert program.poll() is None


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(CaptureError, match=r"\(sleep\) does not run CPython"):
            capture(str(other.pid), tmp_path / "x.hrpy")
    finally:
        other.kill()
        other.wait()
    with pytest.raises(CaptureError, match="no process has the id"):
        capture("999999999", tmp_path / "x.hrpy")
    assert not list(tmp_path.iterdir())


def test_a_program_is_listed_by_its_script(tmp_path: Path) -> None:
    with running("sleeping", tmp_path) as program:
        found = {one.pid: one.name for one in PYTHON.programs(Path("/proc"))}

    assert found[program.pid] == "target.py"
    assert os.getpid() not in found


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("python server.py -v", "server.py"),
        ("python -X dev -u /srv/app/run.py", "run.py"),
        ("python -m flask run", "flask"),
        ("python -c pass", ""),
        ("python", ""),
    ],
)
def test_a_command_line_says_what_runs(words: str, name: str) -> None:
    assert script(words.split()) == name
