"""What a CPython tells about itself, and scripts that it runs as it offers to."""

from __future__ import annotations

import os
import struct
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from ingest.capture import python_processes, remote_exec
from ingest.capture.cpython import capture
from ingest.capture.ptrace import unsupported
from ingest.capture.python_processes import PYTHON
from ingest.capture.remote_exec import LAYOUTS, look
from ingest.errors import CaptureError
from tests.deep import PROFILE
from tests.pythons import MINORS, NEWEST, PYTHONS, installed, python
from tests.unit.capture.test_cpython import running

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())

OFFERING = [python(minor) for minor in MINORS if minor >= 14 and installed(minor)] or [
    python(14)
]
if PROFILE != "deep":
    OFFERING = [python(NEWEST)]

AT, MAIN, OTHER = 0x1000, 0x8000, 0x4000


class Fake:
    """A process whose memory is a file that begins at address 0."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "77"
        self.folder.mkdir()
        self.environ, self.cmdline = b"A=1\0", b"python\0app.py\0"
        monkeypatch.setattr(remote_exec, "PROC", folder)
        monkeypatch.setattr(remote_exec, "section", lambda pid, name: AT)

    def runtime(
        self, version: int, *, free_threaded: int = 0, enabled: int = 1
    ) -> remote_exec.PythonRuntime | None:
        layout = LAYOUTS.get((version >> 24, version >> 16 & 0xFF), {})
        offsets = {"interpreters_head": 808, "id": 16, "next": 8, "enabled": 40}
        memory = bytearray(0x10000)
        struct.pack_into("<8sQQ", memory, AT, b"xdebugpy", version, free_threaded)
        for name, place in layout.items():
            struct.pack_into("<Q", memory, AT + 8 * place, offsets.get(name, 512))
        struct.pack_into("<Q", memory, AT + 808, OTHER)
        struct.pack_into("<QQ", memory, OTHER + 8, MAIN, 3)
        struct.pack_into("<QQ", memory, MAIN + 8, 0, 0)
        struct.pack_into("<I", memory, MAIN + 40, enabled)
        (self.folder / "mem").write_bytes(memory)
        (self.folder / "environ").write_bytes(self.environ)
        (self.folder / "cmdline").write_bytes(self.cmdline)
        return look(77)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(tmp_path, monkeypatch)


@pytest.mark.parametrize("version", [0x030E0AF0, 0x030F00F0])
def test_the_main_interpreter_and_whether_it_offers_are_found(
    fake: Fake, version: int
) -> None:
    told = fake.runtime(version)
    assert told is not None
    assert told.interpreter == MAIN
    assert told.interpreter_count == 2
    assert told.is_offered is True
    refusing = fake.runtime(version, enabled=0)
    assert refusing is not None
    assert refusing.is_offered is None


def test_a_version_whose_table_is_not_known_is_asked_for_nothing(fake: Fake) -> None:
    for version in (0x030F00C3, 0x031000F0, 0x030D00F0):
        told = fake.runtime(version)
        assert told is not None
        assert told.is_offered is False
    fake.environ += b"PYTHON_DISABLE_REMOTE_DEBUG=1\0"
    told = fake.runtime(0x031000F0)
    assert told is not None
    assert told.is_offered is None
    assert fake.runtime(0x030C00F0) is None


@pytest.mark.parametrize("version", [0x030D00F0, 0x030E0AF0, 0x031000F0])
def test_a_free_threaded_build_is_told(fake: Fake, version: int) -> None:
    told = fake.runtime(version, free_threaded=1)
    assert told is not None
    assert told.is_free_threaded


def test_a_free_threaded_program_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def free_threaded(pid: int) -> remote_exec.PythonRuntime:
        del pid
        return remote_exec.PythonRuntime((3, 14), True, 0, False, 0, {})

    monkeypatch.setattr(python_processes, "look", free_threaded)
    with (
        running("sleeping", tmp_path) as program,
        pytest.raises(CaptureError, match=r"free-threaded Python 3\.14"),
    ):
        PYTHON.find(str(program.pid))


_SLEEPER = "import sys, time; print('ready', flush=True); time.sleep(2.5); print('end')"


@pytest.mark.parametrize("python", OFFERING)
def test_a_sleeping_program_is_captured_and_sleeps_on(
    python: str, tmp_path: Path
) -> None:
    program = subprocess.Popen(
        [python, "-c", _SLEEPER], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    began = time.monotonic()
    capture(str(program.pid), tmp_path / "x.hrpy")
    assert time.monotonic() - began < 2.4, "it slept to its end"
    out, errors = program.communicate(timeout=20)

    assert (out, errors, program.returncode) == (b"end\n", b"", 0)


@pytest.mark.parametrize("way", ["variable", "option"])
@pytest.mark.parametrize("python", OFFERING)
def test_who_refuses_is_not_traced_either(
    python: str, way: str, tmp_path: Path
) -> None:
    words = [python, *(["-X", "disable-remote-debug"] if way == "option" else [])]
    variables = {"PYTHON_DISABLE_REMOTE_DEBUG": "1"} if way == "variable" else {}
    program = subprocess.Popen(
        [*words, "-c", _SLEEPER], stdout=subprocess.PIPE, env=os.environ | variables
    )
    try:
        assert program.stdout is not None
        program.stdout.readline()
        with pytest.raises(CaptureError, match="refuses to be debugged"):
            capture(str(program.pid), tmp_path / "x.hrpy")
    finally:
        program.kill()
        program.communicate()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "refuses"),
    [
        (["-X", "disable-remote-debug", "a.py"], True),
        (["-IXdisable-remote-debug=1", "a.py"], True),
        (["/src/disable-remote-debug/a.py"], False),
    ],
)
def test_an_option_refuses_and_a_path_does_not(
    words: list[str], refuses: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = tmp_path / "7"
    process.mkdir()
    (process / "environ").write_bytes(b"")
    (process / "cmdline").write_text("\0".join(["python", *words, ""]))
    monkeypatch.setattr(remote_exec, "PROC", tmp_path)
    assert remote_exec._is_refused(7) == refuses


_SEVERAL = """
import time
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("python", PYTHONS if PROFILE == "deep" else OFFERING)
def test_it_is_said_that_other_interpreters_are_not_in_the_dump(
    python: str, tmp_path: Path
) -> None:
    program = subprocess.Popen([python, "-c", _SEVERAL], stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        taken = capture(str(program.pid), tmp_path / "x.hrpy")
        assert program.poll() is None
    finally:
        program.kill()
        program.communicate()

    assert taken.interpreter_count == 2
    assert taken.mode == "fork"
