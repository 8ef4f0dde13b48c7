"""Ctrl-C: the main thread ends in order, or is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys, threading, time
from pathlib import Path
from ingest import interrupts

def hang():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

interrupts.install()
action = lambda: Path(sys.argv[2]).write_text("done")
try:
    with interrupts.leaving("nothing is left"), interrupts.at_the_end(action):
        print("ready", flush=True)
        if sys.argv[1] == "hangs":
            hang()
        time.sleep(60)
except interrupts.Interrupted as interrupted:
    interrupts.say(*interrupted.args)
    if sys.argv[1] == "waits for a thread":
        threading.Thread(target=hang).start()
    sys.exit(130)
"""


def interrupted(way: str, file: str) -> tuple[int, str, float]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, way, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
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
