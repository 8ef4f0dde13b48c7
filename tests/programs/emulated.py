"""Captures of running Pythons on the machine that the test of aarch64 emulates.

python3 emulated.py TARGET KIND... NUMBER: a target of each kind is captured, then by so
many captures that are killed, then again; it has to go on each time. A line for each.
"""

from __future__ import annotations

import os
import platform
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, "/project")

from ingest.capture import cpython

MADE = Path("/tmp/x.hrpy")


def is_whole(path: Path) -> None:
    """As the reader would say, which needs libraries that are not there."""
    data = path.read_bytes()
    assert data.startswith(b"\x89HRPY")
    assert b"DONE" in data[-400:]


def right(program: subprocess.Popen[bytes]) -> None:
    """The main thread runs Python code when it is asked."""
    assert program.stdout is not None
    for _ in range(2):
        for _ in range(60):
            program.send_signal(signal.SIGUSR1)
            if select.select([program.stdout], [], [], 1.0)[0]:
                break
        assert program.stdout.readline().strip().isdigit(), program.poll()
    assert "TracerPid:\t0" in Path(f"/proc/{program.pid}/status").read_text()


def captured(pid: int, mode: str = "auto") -> str:
    done = cpython.capture(str(pid), MADE, mode=mode, force=True, timeout_s=100)
    assert done.byte_count > 100_000
    return done.mode


def killed(pid: int, after_s: float) -> bool:
    """Whether a capture was killed before its end."""
    child = os.fork()
    if child == 0:
        try:
            captured(pid)
        finally:
            os._exit(0)
    time.sleep(after_s)
    is_running = os.waitpid(child, os.WNOHANG) == (0, 0)
    if is_running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return is_running


def main(target: str, kind: str, times: int) -> None:
    rng = random.Random(kind)
    command = [sys.executable, target, kind, "/tmp/lines"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    try:
        modes = []
        for mode in ("auto", "stop"):
            modes.append(captured(program.pid, mode))
            right(program)
        count = 0
        for _ in range(times):
            count += killed(program.pid, rng.random() * 2)
            right(program)
        captured(program.pid)
        right(program)
    finally:
        program.kill()
        program.wait()
    print(f"RIGHT {platform.machine()} {kind} {modes} killed {count}", flush=True)


if __name__ == "__main__":
    vars(cpython)["check_captured"] = is_whole
    for each in sys.argv[2:-1]:
        main(sys.argv[1], each, int(sys.argv[-1]))
    print("ALL RIGHT", flush=True)
