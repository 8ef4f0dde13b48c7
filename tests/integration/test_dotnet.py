"""Heap dumps of a real .NET program, held against what it says of itself.

``HEAPROOTS_DOTNET`` is a folder with ``dotnet`` and ``shared/Microsoft.NETCore.App``;
the Python package dotnetcore2 3.1.23 has one as ``dotnetcore2/bin``. The program,
``tests/programs/Leak.cs``, is compiled with ``mcs`` (Debian: mono-mcs).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.capture.dotnet import capture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.capture.dotnet import DotnetCapture
    from ingest.database.connection import Database
    from tests.conftest import Ran

SOURCE = Path(__file__).parents[1] / "programs" / "Leak.cs"
LIBRARIES = (
    "System.Private.CoreLib", "System.Runtime", "System.Runtime.Extensions",
    "System.Collections", "System.Console",
)  # fmt: skip
Places = dict[int, int]


class Program:
    """The leaking program; it answers a line with a line."""

    def __init__(self, runtime: Path, assembly: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [str(runtime / "dotnet"), str(assembly)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
                **environment,
            },
        )
        self.pid = str(self.process.pid)
        assert self.answer() == "ready"

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, command: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def where(self) -> Places:
        """Addresses of the animals that live, by tag."""
        pairs = (word.split("=") for word in self.ask("where").split()[1:])
        return {int(tag): int(address, 16) for tag, address in pairs}

    def end(self) -> None:
        """End its input, and so it; it takes its socket away then."""
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


@pytest.fixture(scope="module")
def runtime() -> Path:
    given = os.environ.get("HEAPROOTS_DOTNET")
    if not given:
        pytest.skip(
            "programs of .NET: HEAPROOTS_DOTNET names no folder (see this module)"
        )
    if shutil.which("mcs") is None:
        pytest.skip("programs of .NET: no mcs on the PATH (see this module)")
    return Path(given)


@pytest.fixture(scope="module")
def assembly(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leak")
    (framework,) = (runtime / "shared" / "Microsoft.NETCore.App").iterdir()
    made = folder / "Leak.dll"
    references = [f"-r:{framework / name}.dll" for name in LIBRARIES]
    subprocess.run(
        ["mcs", "-nostdlib", "-noconfig", "-unsafe", f"-out:{made}", *references,
         str(SOURCE)],
        check=True,
    )  # fmt: skip
    wanted = {"name": "Microsoft.NETCore.App", "version": framework.name}
    (folder / "Leak.runtimeconfig.json").write_text(
        json.dumps({"runtimeOptions": {"framework": wanted}}), encoding="utf-8"
    )
    return made


@pytest.fixture
def program(runtime: Path, assembly: Path) -> Iterator[Program]:
    running = Program(runtime, assembly)
    assert running.ask("grow 500") == "animals 500 listeners 500"
    yield running
    running.end()


class Walk:
    """The least that reads a file to its last byte: version 4, 64 bit.

    Attributes:
        names: Of types.
        steps: In order: ranges that a collection moved, as old, new and length; or
            the addresses of a heap dump, by type.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 32
        self.kinds: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.counts: Counter[int] = Counter()
        self.steps: list[list[tuple[int, int, int]] | dict[int, set[int]]] = []
        assert data[:32] == b"Nettrace\x14\0\0\0!FastSerialization.1"
        while data[self.at] == 5:
            size = struct.unpack_from("<i", data, self.at + 11)[0]
            name = data[self.at + 15 : self.at + 15 + size]
            self.at += 16 + size
            if name == b"Trace":
                self.at += 48
            else:
                size = struct.unpack_from("<i", data, self.at)[0]
                self.at = (self.at + 7) // 4 * 4
                if name in (b"EventBlock", b"MetadataBlock"):
                    self.block(self.at, self.at + size, name == b"MetadataBlock")
                self.at += size
            assert data[self.at] == 6
            self.at += 1
        assert data[self.at :] == b"\1"

    def number(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (self.data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if self.data[at - 1] < 128:
                return value, at

    def block(self, at: int, end: int, is_metadata: bool) -> None:
        at += struct.unpack_from("<h", self.data, at)[0]
        event = size = 0
        while at < end:
            flags, at = self.data[at], at + 1
            if flags & 1:
                event, at = self.number(at)
            for bit in (2, 2, 2, 4, 8, 0):
                if bit == 0 or flags & bit:
                    _, at = self.number(at)
            at += 16 * bool(flags & 16) + 16 * bool(flags & 32)
            if flags & 128:
                size, at = self.number(at)
            payload = self.data[at : at + size]
            at += size
            if is_metadata:
                name, zero, rest = payload[4:].partition(b"\0\0\0")
                assert zero
                if name + b"\0" == "Microsoft-Windows-DotNETRuntime".encode("utf-16le"):
                    self.kinds[payload[0] | payload[1] << 8] = rest[0] | rest[1] << 8
            elif event in self.kinds:
                self.event(self.kinds[event], payload)
        assert at == end

    def event(self, kind: int, payload: bytes) -> None:
        self.counts[kind] += 1
        count = struct.unpack_from("<I", payload, 4)[0] if len(payload) > 8 else 0
        if kind == 1:
            self.steps.append([])
        elif kind == 15:
            at = 6
            for _ in range(struct.unpack_from("<I", payload)[0]):
                end = at + 25
                while payload[end : end + 2] != b"\0\0":
                    end += 2
                number = struct.unpack_from("<Q", payload, at)[0]
                self.names[number] = payload[at + 25 : end].decode("utf-16-le")
                at = end + 6 + 8 * struct.unpack_from("<I", payload, end + 2)[0]
            assert at == len(payload)
        elif kind == 18:
            if struct.unpack_from("<I", payload)[0] == 0:
                self.steps.append(defaultdict(set))
            dump = self.steps[-1]
            assert isinstance(dump, dict)
            for address, _, type_, _ in struct.iter_unpack("<4Q", payload[10:]):
                dump[type_].add(address)
        elif kind == 22:
            moved = self.steps[-1]
            assert isinstance(moved, list)
            moved += struct.iter_unpack("<3Q", payload[10 : 10 + 24 * count])

    def dumps(self) -> list[dict[str, set[int]]]:
        """Addresses by type name, of each heap dump."""
        return [
            {self.names[type_]: step[type_] for type_ in step if type_ in self.names}
            for step in self.steps
            if isinstance(step, dict)
        ]


def moved(places: Places, ranges: list[tuple[int, int, int]]) -> Places:
    """Where objects are after a collection that moved these ranges."""

    def after(address: int) -> int:
        for old, new, length in ranges:
            if old <= address < old + length:
                return new + address - old
        return address

    return {tag: after(address) for tag, address in places.items()}


def test_two_heap_dumps_in_a_row_have_names_and_the_right_objects(
    ingest: Callable[..., Ran], program: Program, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        path = tmp_path / name
        code, out, err = ingest(
            "capture", "dotnet", program.pid, "-o", str(path), "--json"
        )
        assert (code, err) == (0, "")
        facts = json.loads(out)
        walk = Walk(path.read_bytes())
        (dump,) = walk.dumps()
        assert dump["Farm.Animal"] == set(program.where().values())
        assert len(dump["Farm.Animal"]) == len(dump["Farm.Listener"]) == 500
        assert "Farm.Stray" not in dump
        assert facts["dumps"][0]["objects"] == sum(
            len(addresses)
            for step in walk.steps
            if isinstance(step, dict)
            for addresses in step.values()
        )
        assert facts["types"] == len(walk.names) > 50
        assert facts["types_without_name"] == 0
        assert all(walk.counts[kind] for kind in (1, 2, 15, 18, 19))
        assert program.ask("ping") == "pong 125250"


@dataclass(frozen=True)
class Tracked:
    """A program that was tracked, and where it said that its animals were.

    Attributes:
        before: When nothing had begun.
        between: Behind the first heap dump; 500 animals until then.
        grown: Behind a collection, when there were 600.
        after: Behind another one and the second heap dump.
    """

    facts: DotnetCapture
    before: Places
    between: Places
    grown: Places
    after: Places


def track(program: Program, path: Path) -> Tracked:
    """Track while the program collects, grows by 100, and collects again."""
    before = program.where()
    tracking = threading.Event()
    taken: list[DotnetCapture] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        if stage == "track":
            tracking.set()

    def take() -> None:
        taken.append(capture(program.pid, path, track_s=3.0, progress=tell))

    thread = threading.Thread(target=take)
    thread.start()
    assert tracking.wait(30)
    between = program.where()
    assert program.ask("collect").startswith("collected")
    assert program.ask("grow 100") == "animals 600 listeners 600"
    grown = program.where()
    assert program.ask("collect").startswith("collected")
    thread.join(60)
    (facts,) = taken
    return Tracked(facts, before, between, grown, program.where())


def test_tracking_tells_where_every_object_went(
    program: Program, tmp_path: Path
) -> None:
    told = track(program, tmp_path / "t")

    walk = Walk((tmp_path / "t").read_bytes())
    first, last = walk.dumps()
    assert first["Farm.Animal"] == set(told.between.values())
    assert last["Farm.Animal"] == set(told.after.values())
    assert (len(first["Farm.Listener"]), len(last["Farm.Listener"])) == (500, 600)
    assert told.facts.gc_count == walk.counts[2] >= 4
    assert all(walk.counts[kind] for kind in (21, 22, 23))
    places = told.before
    for step in walk.steps:
        if isinstance(step, list):
            places = moved(places, step)
    assert places == {tag: told.after[tag] for tag in told.before}
    assert places != told.before
    assert {tag: told.grown[tag] for tag in told.before} != told.before
    assert program.ask("ping") == "pong 180300"


def test_what_survives_is_what_the_program_knows_to_have_survived(
    on_server: Callable[..., Ran],
    program: Program,
    empty_database: Database,
    tmp_path: Path,
) -> None:
    ingest = on_server
    told = track(program, tmp_path / "leak.nettrace")

    code, out, err = ingest("load", str(tmp_path / "leak.nettrace"), "--all-dumps")

    assert code == 0, err
    first, last = (line.partition(":")[0] for line in out.splitlines())
    _, pairs = empty_database.read(
        "MATCH (d:Dump)-[:HAS_DOMAIN]->(), (a:Object {dump: d.number, "
        "type_name: 'Animal'}) WHERE d.name = $first "
        "OPTIONAL MATCH (a)-[:SURVIVED_AS]->(b) RETURN a.address, b.address",
        {"first": first},
    )
    found = {
        (int(str(old), 16), None if new is None else int(str(new), 16))
        for old, new in pairs
    }
    assert found == {(told.between[tag], told.after[tag]) for tag in told.between}
    assert sum(old != new for old, new in found) == 500
    _, born = empty_database.read(
        "MATCH (d:Dump {name: $last}), (b:Object {dump: d.number, "
        "type_name: 'Animal'}) WHERE NOT EXISTS { ()-[:SURVIVED_AS]->(b) } "
        "RETURN b.address, b.born_in_gc IS NOT NULL, b.collections_survived",
        {"last": last},
    )
    new = {address for tag, address in told.after.items() if tag > 500}
    assert {(int(str(at), 16), known, many) for at, known, many in born} == {
        (at, True, 2) for at in new
    }

    code, out, _ = ingest("query", "born-between", "--dump", last, "--json")
    by_type = {row["type"]: row for row in json.loads(out)["rows"]}
    assert by_type["Farm.Listener"]["object_count"] == 100
    assert by_type["Farm.Animal"]["earlier"] == first
    code, out, _ = ingest("why", "Farm.Listener", "--dump", last)
    assert "static root Rung\n" in out
    code, out, _ = ingest("report", "--dump", last)
    assert "One EventHandler keeps" in out
    assert "    static root Rung\n      └ EventHandler 0x" in out


def test_ctrl_c_ends_the_session_and_leaves_nothing(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "here"
    path.mkdir()
    for wait_s in (0.0, 0.2, 0.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "ingest", "capture", "dotnet", program.pid,
             "--track", "60", "-o", str(path / "x")],
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        until = time.monotonic() + 30
        while not list(path.iterdir()) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(wait_s)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, err.count("\n")) == (130, 1)
        assert list(path.iterdir()) == []
        assert program.ask("ping") == "pong 125250"
    assert capture(program.pid, path / "x").object_counts[0] > 1000


def test_server_collections(runtime: Path, assembly: Path, tmp_path: Path) -> None:
    running = Program(runtime, assembly, COMPlus_gcServer="1")
    running.ask("grow 500")
    one = capture(running.pid, tmp_path / "one", timeout_s=20)
    two = capture(running.pid, tmp_path / "two", track_s=0.5, timeout_s=20)
    assert len(one.object_counts) == 1
    assert len(two.object_counts) == 2
    assert min(*one.object_counts, *two.object_counts) > 2000
    assert running.ask("ping") == "pong 125250"
    running.end()


def test_a_killed_capture_does_not_harm(program: Program, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", "capture", "dotnet", program.pid,
         "--track", "60", "-o", str(tmp_path / "x")],
    )  # fmt: skip
    until = time.monotonic() + 30
    while not any(part.stat().st_size for part in tmp_path.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.kill()
    process.wait()

    assert program.ask("collect").startswith("collected")
    assert capture(program.pid, tmp_path / "y").object_counts[0] > 1000
    assert program.ask("ping") == "pong 125250"


def test_a_stopped_program_is_not_asked(
    ingest: Callable[..., Ran], program: Program, tmp_path: Path
) -> None:
    path = str(tmp_path / "x")
    program.process.send_signal(signal.SIGSTOP)
    code, _, err = ingest("capture", "dotnet", program.pid, "-o", path)
    program.process.send_signal(signal.SIGCONT)

    assert (code, f"kill -CONT {program.pid}" in err) == (11, True)
    assert program.ask("ping") == "pong 125250"
    assert ingest("capture", "dotnet", program.pid, "-o", path)[0] == 0


def test_what_can_be_captured(ingest: Callable[..., Ran], program: Program) -> None:
    code, out, _ = ingest("capture", "list", "--json")
    (entry,) = [one for one in json.loads(out) if str(one["pid"]) == program.pid]
    assert (code, entry["name"], entry["can_capture"]) == (0, "Leak", True)

    program.process.kill()
    program.process.wait()
    assert program.pid not in ingest("capture", "list")[1].split()
    Path(entry["socket"]).unlink()


def test_a_port_in_another_folder_and_no_port(
    ingest: Callable[..., Ran], runtime: Path, assembly: Path, tmp_path: Path
) -> None:
    output = str(tmp_path / "x")
    with tempfile.TemporaryDirectory() as folder:  # for the path must be short
        elsewhere = Program(runtime, assembly, TMPDIR=f"{folder}/")
        code, _, err = ingest("capture", "dotnet", elsewhere.pid, "-o", output)
        assert (code, err) == (0, "")
        assert f"{elsewhere.pid}  Leak" in ingest("capture", "list")[1]
        elsewhere.end()

    mute = Program(runtime, assembly, COMPlus_EnableDiagnostics="0")
    code, _, err = ingest("capture", "dotnet", mute.pid, "-o", output, "--force")
    assert (code, "COMPlus_EnableDiagnostics=0, so it has no" in err) == (11, True)
    mute.end()
