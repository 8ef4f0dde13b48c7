"""``make bench-captures``: what captures, and captures that are killed, do to programs.

Programs in the states of ``tests/programs/states.py`` are captured, and the tool is
killed at random moments while it captures them. Each program notices what is done to
it; its files, threads, children, handlers and mask of signals are compared from
outside.
Pythons with gevent, eventlet or uvloop are named: ``--pythons PATH ...``.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import psutil

from ingest.capture.cpython import capture
from ingest.capture.processes import status_of
from ingest.errors import CaptureError
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.pythons import minors_by_path

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = Path(__file__).parents[1] / "programs/states.py"
_KEPT = 1000
_SETTLE_S = 4.0
_MOMENTS = 30
_FIRST_THREAD = 33
"""glibc handles this signal from the first thread that a program makes (SIGSETXID)."""

# Each refuses to make processes: with an error, so that a capture that tries is seen.
_REFUSING = """
import ctypes, struct, sys
code = [(0x20, 0, 0, 0)]
for number in (56, 57, 58, 435):
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x80000000)]
code.append((0x06, 0, 0, 0x7FFF0000))
data = b"".join(struct.pack("<HBBI", *one) for one in code)
held = ctypes.create_string_buffer(data)
program = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(held))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"))
"""
_FULL_TMP = "mount -t tmpfs -o size=64k x /tmp && head -c 65536 /dev/zero > /tmp/x"
_ROOMY_TMP = "mount -t tmpfs x /tmp"


@dataclass(frozen=True)
class State:
    """How a program is started and captured.

    Attributes:
        name: In the table.
        runs: The function of the program; by default, ``name``.
        mode: Of the capture.
        before: Words before the Python.
        options: Of Python.
        environment: Variables that are added.
        refused: What a refusal says, where there has to be one.
        needs: A statement that has to succeed in the Python.
    """

    name: str
    runs: str = ""
    mode: str = "fork"
    before: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    needs: str = ""


def _in_shell(words: str, *apart: str) -> tuple[str, ...]:
    """Run in a shell before the program, with namespaces of its own, as ``unshare``."""
    return (*apart, "sh", "-c", f'{words}; exec "$@"', "sh")


_PLAIN = """
sleeping asleep busy threads locked joining polling forking running reaping children
alarmed traced masked in_c sigwaiting writing sockets deep frozen full hooked
asynchronous
"""
_REFUSED_AT_STOP = {"full": "no more files"}
_OF_LIBRARIES = "uvloop gevent_idle gevent_busy eventlet"
_ALLOCATOR = {"LD_PRELOAD": "libjemalloc.so.2"}
_HAS_ALLOCATOR = f"import ctypes; ctypes.CDLL({_ALLOCATOR['LD_PRELOAD']!r})"
_FOLDER_GONE = "d=$(mktemp -d); cd $d; rmdir $d"
_APART = ("unshare", "-m")
_NOBODY = ("setpriv", "--reuid", "65534", "--clear-groups")
STATES = [
    *map(State, _PLAIN.split()),
    *(
        State(f"{name}, stop", name, "stop", refused=_REFUSED_AT_STOP.get(name, ""))
        for name in _PLAIN.split()
    ),
    *(
        State(name, needs=f"import {name.partition('_')[0]}")
        for name in _OF_LIBRARIES.split()
    ),
    State("malloc", "busy", environment={"PYTHONMALLOC": "malloc"}),
    State("malloc debug", "busy", environment={"PYTHONMALLOC": "debug"}),
    *(
        State(f"jemalloc, {name}", name, environment=_ALLOCATOR, needs=_HAS_ALLOCATOR)
        for name in ("busy", "threads")
    ),
    State("-X dev", "sleeping", options=("-X", "dev")),
    State("-O", "busy", options=("-O",)),
    State("-I -S", "busy", options=("-I", "-S")),
    State("traced memory", "busy", options=("-X", "tracemalloc")),
    State("no environment", "busy", before=("env", "-i")),
    State("umask", "busy", before=_in_shell("umask 777")),
    State("folder gone", "busy", before=_in_shell(_FOLDER_GONE)),
    State("few files", "busy", before=("prlimit", "--nofile=32")),
    State("small stack", "busy", before=("prlimit", "--stack=262144")),
    State("nice", "busy", before=("nice", "-n", "19")),
    State(
        "no network",
        "sockets",
        before=_in_shell("ip link set lo up", *_APART, "-n"),
    ),
    State("refusing", "sleeping", options=("-c", _REFUSING), refused="seccomp"),
    State(
        "full /tmp",
        "sleeping",
        before=_in_shell(_FULL_TMP, *_APART),
        refused="no room|No sp",
    ),
    State("own /tmp", "busy", before=_in_shell(_ROOMY_TMP, *_APART)),
    State("own pids", "busy", before=("unshare", "-pf", "--kill-child")),
    State("nobody", "busy", before=_NOBODY),
]


class Noticed(Exception):
    """A program noticed something, or is not as it was."""


class Program:
    """A program in a state.

    Attributes:
        pid: Its process.
    """

    def __init__(self, state: State, python: str) -> None:
        words = [python, *state.options, str(PROGRAM), state.runs or state.name]
        self._process = subprocess.Popen(
            [*state.before, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"PYTHONWARNINGS": "ignore", **state.environment},
        )
        assert self._process.stdout is not None
        self._out = self._process.stdout
        said = self._out.readline()
        if said != b"ready\n":
            self.end()
            raise Noticed(f"did not start: {said!r}")
        self.pid = self._process.pid
        if state.before and state.before[-1] == "--kill-child":
            (child,) = psutil.Process(self.pid).children()
            self.pid = child.pid
        time.sleep(0.15)

    def seen(self) -> dict[str, object]:
        """What has to be the same afterwards."""
        folder = Path(f"/proc/{self.pid}")
        caught = int(status_of(self.pid, "SigCgt")[0], 16)
        files: Counter[str] = Counter()
        for one in (folder / "fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                files[str(one.readlink()).partition(":")[0]] += 1
        names = set()
        for child in psutil.Process(self.pid).children():
            with suppress(psutil.Error):
                names.add(child.name())
        return {
            "files": files,
            "threads": len(list((folder / "task").iterdir())),
            "children": names,
            "mask": status_of(self.pid, "SigBlk"),
            "handlers": caught & ~(1 << _FIRST_THREAD - 1),
            "tracer": status_of(self.pid, "TracerPid"),
        }

    def caught(self) -> set[int]:
        """Numbers of the signals that it handles."""
        mask = int(status_of(self.pid, "SigCgt")[0], 16)
        return {number + 1 for number in range(64) if mask >> number & 1}

    def own_bytes(self) -> int:
        """Its memory that no file has."""
        return int(status_of(self.pid, "RssAnon")[0]) << 10

    def seen_often(self) -> list[dict[str, object]]:
        """The same, at several moments."""
        found = []
        for _ in range(_MOMENTS):
            with suppress(psutil.Error, OSError):
                found.append(self.seen())
            time.sleep(0.01)
        return found

    def differs(self, before: list[dict[str, object]]) -> list[str]:
        """What is not as before, once and for all.

        Args:
            before: What `seen` found at a moment. At several, if its files and children
                come and go: they are as at one of them now and then.
        """
        until, never = time.monotonic() + _SETTLE_S, set(before[0])
        while never and time.monotonic() < until:
            with suppress(psutil.Error, OSError):
                now = self.seen()
                pairs = [(name, one[name]) for one in before for name in one]
                same = {name for name, was in pairs if now[name] == was}
                never = never - same if len(before) > 1 else set(before[0]) - same
            time.sleep(0.01)
        return sorted(never)

    def check(self) -> None:
        """It says that all was right, and nothing else.

        Raises:
            Noticed: it does not.
        """
        for _ in range(10):  # the kernel gives one that a tracer sees to another thread
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGUSR1)
            if select.select([self._out], [], [], 1)[0]:
                break
        else:
            raise Noticed("does not answer")
        said = self._out.readline()
        if said != b"right\n":
            time.sleep(0.2)
            rest = os.read(self._out.fileno(), 4096)
            raise Noticed(f"says {(said + rest).decode()!r}")

    def end(self) -> list[str]:
        """End it with all that it has started; returns how it had ended before."""
        code = self._process.poll()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        said, _ = self._process.communicate()
        return [f"ended with {code}, {said[-1200:].decode()}"] if code else []


def killed(pid: int, path: Path, mode: str, after_s: float) -> bool:
    """Capture in a process that is killed; returns whether that had not ended."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with suppress(BaseException):
            capture(str(pid), path, mode=mode, force=True)
        os._exit(0)
    time.sleep(after_s)
    done, _ = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return not done


def kept(path: Path) -> int:
    """How many of the program's objects are in a dump."""
    with open_source(str(path)) as source:
        heap = read(source, DEFAULTS, silent)
    at = [row for row, name in enumerate(heap.type_names) if name.endswith(".Kept")]
    return int(np.isin(heap.type_index, at).sum())


@dataclass
class Row:
    """What was seen of one program.

    Attributes:
        wrong: What was not as it has to be.
        pause_s: Of the last capture.
        stays_bytes: Memory of the program that it did not have before.
        kills: Captures that were killed while they went on.
        first_thread: Whether it handles the signal of its first thread only now.
    """

    wrong: list[str]
    pause_s: float = 0.0
    stays_bytes: int = 0
    kills: int = 0
    first_thread: bool = False


def tried(state: State, python: str, path: Path, kills: int, rng: random.Random) -> Row:
    """Capture one program in one state, and have captures of it killed."""
    row = Row([])
    program = Program(state, python)
    try:
        changing = (state.runs or state.name) in _CHANGING
        before = program.seen_often() if changing else [program.seen()]
        caught, own = program.caught(), program.own_bytes()
        length_s = 0.3
        for number in range(kills + 1):
            if number:
                after_s = rng.random() * length_s
                row.kills += killed(program.pid, path, state.mode, after_s)
            if number in (0, kills):
                began = time.monotonic()
                try:
                    taken = capture(str(program.pid), path, mode=state.mode, force=True)
                    row.pause_s = taken.pause_s
                    if state.refused:
                        row.wrong.append("was not refused")
                    elif (count := kept(path)) != _KEPT:
                        row.wrong.append(f"{count} objects in the dump")
                except CaptureError as error:
                    if not state.refused or not re.search(state.refused, str(error)):
                        row.wrong.append(str(error))
                length_s = 1.1 * (time.monotonic() - began)
        row.wrong += program.differs(before)
        row.stays_bytes = program.own_bytes() - own
        row.first_thread = _FIRST_THREAD in program.caught() - caught
        program.check()
    except (Noticed, psutil.Error, OSError, IndexError) as error:
        row.wrong.append(f"{type(error).__name__}: {error}")
    finally:
        row.wrong += program.end()
    return row


_CHANGING = {"forking", "running", "sockets", "asynchronous", "uvloop"}


def can(python: str, statement: str) -> bool:
    """Whether a Python runs a statement."""
    words = [python, "-c", statement]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def main() -> None:
    """Print a table, and what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", nargs="*", help="their paths")
    parser.add_argument("--kills", type=int, default=8, help="for each program")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--states", help="those whose names begin so; commas between")
    asked = parser.parse_args()
    # Programs are ended also where this is ended, for instance by `timeout`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    pythons = asked.pythons or [str(path) for path in minors_by_path()]
    until = time.monotonic() + 60 * asked.minutes
    wanted = tuple((asked.states or "").split(","))
    states = [one for one in STATES if one.name.startswith(wanted)]
    pairs = [
        (state, python)
        for state in states
        for python in pythons
        if can(python, state.needs)
    ]
    rng = random.Random(1)
    rng.shuffle(pairs)
    rows: dict[tuple[str, str], Row] = {}
    with TemporaryDirectory() as folder:
        for state, python in pairs:
            if time.monotonic() > until:
                break
            path = Path(folder) / "x.hrpy"
            try:
                row = tried(state, python, path, asked.kills, rng)
            except Noticed as error:
                print(f"{state.name:16}{python}: not tried, {error}")
                continue
            minor = subprocess.run(
                [python, "-V"], capture_output=True, text=True, check=True
            ).stdout.split()[1]
            rows[state.name, minor] = row
            print(
                f"{state.name:16}{minor:9}kills {row.kills:3}  "
                f"pause {row.pause_s * 1e3:7.1f} ms  "
                f"stays {row.stays_bytes >> 10:6} KiB  "
                f"{'signal 33' if row.first_thread else '':9}  "
                + ("; ".join(row.wrong) or "right"),
                flush=True,
            )
    bad = sum(bool(row.wrong) for row in rows.values())
    kills = sum(row.kills for row in rows.values())
    left = [str(one) for one in Path("/tmp").glob(".heaproots.*")]
    print(f"{len(rows)} pairs, {kills} kills, {bad} wrong, left in /tmp: {left}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
