"""Snapshots of a real Dart VM, idle and busy.

``HEAPROOTS_DART_VM`` is a folder with ``dart`` and ``sass.snapshot``: a VM in JIT
mode and a program for it. The npm packages sass-embedded-linux-* have one as
``dart-sass/src`` where their platform has no ahead-of-time build, such as
sass-embedded-linux-ia32 1.89.0 (which needs 32-bit libc and libstdc++).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Ran

DEADLINE_S = 60.0


class Program:
    """Sass, watching a file, in a VM with its service on."""

    def __init__(self, vm: Path, folder: Path) -> None:
        self.source, self.made = folder / "in.scss", folder / "out.css"
        self.log = folder / "log"
        self.source.write_text("a {b: 1 + 2}", encoding="utf-8")
        command = [
            str(vm / "dart"), "--enable-vm-service=0", "--no-dds",
            "--no-serve-devtools", "--disable-dart-dev", str(vm / "sass.snapshot"),
            "--watch", "--poll", str(self.source), str(self.made),
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.wait_for(lambda: self.address != "" and "b: 3" in self.css)

    @property
    def address(self) -> str:
        found = re.search(r"http://\S+", self.log.read_text(encoding="utf-8"))
        return found[0] if found else ""

    @property
    def css(self) -> str:
        return self.made.read_text(encoding="utf-8") if self.made.exists() else ""

    def wait_for(self, what: Callable[[], bool]) -> None:
        until = time.monotonic() + DEADLINE_S
        while not what():
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            assert time.monotonic() < until, self.log.read_text(encoding="utf-8")
            time.sleep(0.1)

    def works(self, value: int) -> None:
        """Hold that it still recompiles what changes."""
        self.source.write_text(f"a {{b: {value - 7} + 7}}", encoding="utf-8")
        self.wait_for(lambda: f"b: {value};" in self.css)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    given = os.environ.get("HEAPROOTS_DART_VM")
    if not given:
        pytest.skip(
            "programs of Dart: HEAPROOTS_DART_VM names no folder (see this module)"
        )
    running = Program(Path(given), tmp_path)
    yield running
    running.process.kill()
    running.process.wait()


class Walk:
    """The least that reads a snapshot to its last byte."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 8
        assert data[:8] == b"dartheap"
        self.number()
        self.name = self.text()
        self.header_bytes = self.number()
        self.skip(2)
        self.classes = [self.class_name() for _ in range(self.number())]
        self.reference_count = self.number()
        self.objects: Counter[str] = Counter()
        self.shallow_bytes = references = 0
        for _ in range(count := self.number()):
            references += self.object()
        assert references == self.reference_count
        for _ in range(self.number()):
            self.skip(2)
            self.text()
        self.skip(count)  # identity hash codes
        assert self.at == len(data)

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def skip(self, numbers: int) -> None:
        for _ in range(numbers):
            self.number()

    def text(self) -> str:
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at].decode("utf-8", "replace")

    def class_name(self) -> str:
        self.number()
        name = self.text()
        for _ in range(3):
            self.text()
        for _ in range(self.number()):
            self.skip(2)
            self.text()
            self.text()
        return name

    def object(self) -> int:
        self.objects[self.classes[self.number() - 1]] += 1
        self.shallow_bytes += self.number()
        tag = self.number()
        if tag in (2, 3, 7):
            self.number()
        elif tag == 4:
            self.at += 8
        elif tag in (5, 6):
            self.number()
            units = self.number()
            self.at += units * (tag - 4)
        elif tag == 8:
            self.text()
        else:
            assert tag < 2
        references = self.number()
        self.skip(references)
        return references


def test_two_snapshots_of_an_idle_program(
    ingest: Callable[..., Ran], program: Program, tmp_path: Path
) -> None:
    walks = []
    for name, value in (("one", 10), ("two", 11)):
        path = tmp_path / name
        code, out, err = ingest(
            "capture", "dart", program.address, "-o", str(path), "--json"
        )
        assert (code, err) == (0, "")
        facts = json.loads(out)
        assert facts["bytes"] == path.stat().st_size > 1_000_000
        assert [entry["name"] for entry in facts["isolates"]] == ["main"]
        assert re.match(r"\d+\.\d+\.\d+", facts["vm_version"])
        walks.append(Walk(path.read_bytes()))
        program.works(value)

    for walk in walks:
        assert walk.name == "main"
        assert walk.objects["Root"] == walk.objects["Isolate"] == 1
        assert walk.objects["_OneByteString"] > 1000
        assert 0.8 < walk.shallow_bytes / walk.header_bytes < 1.2


def test_a_snapshot_that_is_not_waited_for(
    ingest: Callable[..., Ran], program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    program.process.send_signal(signal.SIGSTOP)
    code, _, err = ingest(
        "capture", "dart", program.address, "-o", str(path), "--timeout", "0.5"
    )
    program.process.send_signal(signal.SIGCONT)

    assert (code, err.count("\n")) == (11, 1)
    assert "the program is stopped" in err
    assert not path.exists()
    program.works(12)
    assert ingest("capture", "dart", program.address, "-o", str(path))[0] == 0


def test_a_wrong_token_and_an_ended_program(
    ingest: Callable[..., Ran], program: Program, tmp_path: Path
) -> None:
    path = str(tmp_path / "x")
    bare = re.sub(r"[^/]*=/$", "", program.address)
    code, _, err = ingest("capture", "dart", bare, "-o", path)
    assert (code, "denies access (403): the token" in err) == (11, True)

    address = program.address
    program.process.kill()
    program.process.wait()
    code, _, err = ingest("capture", "dart", address, "-o", path)
    assert (code, "nothing answers" in err) == (11, True)
