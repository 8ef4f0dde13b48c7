"""Ctrl-C: the main thread ends in order, or is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys, threading, time
from pathlib import Path
from ingest.system import interrupts

def hang(said):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            print(said, flush=True)
            time.sleep(60)
        except interrupts.Interrupted:
            pass

interrupts.install()
action = lambda: Path(sys.argv[2]).write_text("done")
try:
    with interrupts.leaving("nothing is left"), interrupts.at_the_end(action):
        if sys.argv[1] == "hangs":
            hang("ready")
        print("ready", flush=True)
        time.sleep(60)
except interrupts.Interrupted as interrupted:
    interrupts.say(*interrupted.args)
    if sys.argv[1] == "waits for a thread":
        threading.Thread(target=hang, args=("",)).start()
    sys.exit(interrupted.exit_code)
"""


def interrupted(
    way: str, file: str, by: signal.Signals = signal.SIGINT
) -> tuple[int, str, float]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, way, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    process.send_signal(by)
    _, said = process.communicate(timeout=20)
    return process.returncode, said, time.monotonic() - begun


def test_a_main_thread_that_can_end_does_so(tmp_path: Path) -> None:
    code, said, seconds = interrupted("ends", str(tmp_path / "action"))

    assert (code, said) == (130, "interrupted; nothing is left\n")
    assert seconds < 2
    assert not (tmp_path / "action").exists()


def test_a_main_thread_that_hangs_is_ended(tmp_path: Path) -> None:
    code, said, seconds = interrupted("hangs", str(tmp_path / "action"))

    assert (code, said) == (130, "interrupted; nothing is left\n")
    assert seconds < 2
    assert (tmp_path / "action").read_text() == "done"


def test_no_thread_is_waited_for_at_exit(tmp_path: Path) -> None:
    code, said, seconds = interrupted("waits for a thread", str(tmp_path / "action"))

    assert (code, said) == (130, "interrupted; nothing is left\n")
    assert seconds < 2


@pytest.mark.parametrize(
    ("by", "expected"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("way", ["ends", "hangs"])
def test_other_signals_do_the_same(
    tmp_path: Path, way: str, by: signal.Signals, expected: int
) -> None:
    code, said, seconds = interrupted(way, str(tmp_path / "action"), by)

    assert (code, said) == (expected, "interrupted; nothing is left\n")
    assert seconds < 2
    assert (tmp_path / "action").exists() == (way == "hangs")


def test_what_nohup_has_ignored_stays_ignored() -> None:
    code = (
        "import os, signal; from ingest.system import interrupts; "
        "interrupts.install(); "
        "os.kill(os.getpid(), signal.SIGHUP)"
    )
    done = subprocess.run(["nohup", sys.executable, "-c", code], check=False)
    assert done.returncode == 0


def test_ctrl_c_before_anything_is_imported_is_no_traceback() -> None:
    code = (
        "import sys, os, signal, builtins\n"
        "real = builtins.__import__\n"
        "def press(name, *rest):\n"
        "    if name == 'ingest.system' and 'interrupts' in str(rest[2:3]):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "import ingest\n"
        "builtins.__import__ = press\n"
        "import ingest.__main__\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


IMPORT = """
import os, signal
from ingest.system import interrupts

def import_extension():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
    except BaseException:  # as an extension in C does
        print("printed and forgotten")
    else:
        return
    raise ImportError("failed to import")

interrupts.install()
try:
    with interrupts.kept():
        HELD
            import_extension()
            print("imported")
        print("goes on")
except interrupts.Interrupted as interrupted:
    print(interrupted.exit_code)
"""


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ("with interrupts.held():", "imported 130"),
        ("if 1:", "printed and forgotten 130"),
    ],
)
def test_an_extension_that_is_imported_does_not_lose_it(
    held: str, expected: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT.replace("HELD", held)],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert done.stdout.split("\n") == [*expected.rsplit(" ", 1), ""]
    assert done.stderr == ""


def test_an_interruption_in_what_c_calls_is_not_printed() -> None:
    code = (
        "import ctypes, os, signal, time\n"
        "from ingest.system import interrupts\n"
        "interrupts.install()\n"
        "def called():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(1)\n"
        "ctypes.CFUNCTYPE(None)(called)()\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")
