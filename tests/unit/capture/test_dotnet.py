"""Heap dumps off a .NET diagnostics port that behaves, and off some that do not."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from ingest.capture import dotnet as dotnet_module
from ingest.capture import dotnet_ipc
from ingest.capture.capturers import CAPTURERS
from ingest.capture.dotnet import capture, file_name
from ingest.capture.dotnet_processes import DOTNET
from ingest.capture.gc_events import GcEvents
from ingest.capture.processes import RunningProgram
from ingest.errors import CaptureError
from ingest.system.files import OutputFile
from tests.unit.capture.fake_dotnet import (
    COLLECT,
    COLLECT_2,
    END,
    HEAP,
    INFO,
    STOP,
    TRACK,
    FakeDotnet,
    began,
    block,
    dump,
    edges,
    error,
    gc_end,
    gc_start,
    nodes,
    opening,
    reply,
    serving,
    stream,
    types,
)
from tests.unit.capture.test_jvm import listening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.conftest import Ran
    from tests.unit.capture.fake_dotnet import Piece

PID = str(os.getpid())
WHOLE = stream(*dump(1)) + END


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dotnet_ipc, "PATIENCE_S", 0.3)
    monkeypatch.setattr(dotnet_ipc, "_CLOSE_S", 0.3)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Let a socket's folder be the one for temporary files."""
    return lambda path: monkeypatch.setenv("TMPDIR", str(path.parent))


def refused(
    fake: FakeDotnet,
    use: Callable[[Path], None],
    folder: Path,
    *,
    is_silent: bool = False,
) -> str:
    """What is said when no dump comes; nothing is left behind then.

    Only what ``is_silent`` is not waited for: a busy machine is slow to answer.
    """
    with serving(fake) as path:
        use(path)
        with pytest.raises(CaptureError) as raised:
            capture(PID, folder / "x", timeout_s=0.4 if is_silent else 10.0)
    assert list(folder.iterdir()) == []
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_heap_dump_is_written_as_it_was_sent(
    ingest: Callable[..., Ran], use: Callable[[Path], None], tmp_path: Path
) -> None:
    fake = FakeDotnet()
    with serving(fake) as path:
        use(path)
        code, out, err = ingest(
            "capture", "dotnet", PID, "-o", str(tmp_path / "x"), "--json"
        )

    assert (code, err) == (0, "")
    assert (tmp_path / "x").read_bytes() == WHOLE
    facts = json.loads(out)
    assert facts["bytes"] == len(WHOLE)
    assert facts["sha256"] == hashlib.sha256(WHOLE).hexdigest()
    assert facts["dumps"] == [{"objects": 2, "references": 1}]
    assert (facts["types"], facts["types_without_name"]) == (1, 0)
    assert facts["collections"] == 1
    assert fake.asked == [
        (INFO, 0), (COLLECT_2, 1), (STOP, 1), (INFO, 0), (COLLECT_2, HEAP), (STOP, 2),
    ]  # fmt: skip


def test_in_pieces_of_one_byte_and_with_text(
    ingest: Callable[..., Ran], use: Callable[[Path], None], tmp_path: Path
) -> None:
    answer = [bytes([byte]) for byte in error(0x80131385)]
    fake = FakeDotnet([bytes([byte]) for byte in WHOLE[:-1]], {INFO: answer})
    with serving(fake) as path:
        use(path)
        code, out, _ = ingest("capture", "dotnet", PID, "-o", str(tmp_path / "x"))

    assert (code, (tmp_path / "x").read_bytes()) == (0, WHOLE)
    assert "heap dump    2 objects, 1 reference" in out
    *lines, following = out.splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert following == f"next         ingest info {tmp_path / 'x'}"


def test_tracking_stops_the_written_session_before_the_other(
    use: Callable[[Path], None], tmp_path: Path
) -> None:
    fake = FakeDotnet([stream(*dump(1), (2, gc_end(2)), *dump(3))])
    with serving(fake) as path:
        use(path)
        with pytest.raises(CaptureError, match="no more of the heap dump has arrived"):
            capture(PID, tmp_path / "x", track_s=0.2, timeout_s=0.5)
    assert list(tmp_path.iterdir()) == []

    one, two = stream(*dump(1)), stream(*dump(1), *dump(3))
    fake = FakeDotnet()
    fake.pieces = [one, fake.third, two[len(one) :]]
    with serving(fake) as path:
        use(path)
        taken = capture(PID, tmp_path / "x", track_s=0.2, timeout_s=5)
    assert taken.object_counts == (2, 2)
    assert [entry for entry in fake.asked if entry[0] != INFO][2:] == [
        (COLLECT_2, TRACK), (COLLECT_2, 1), (STOP, 2), (STOP, 3),
    ]  # fmt: skip


def test_a_tracked_program_is_told_how_to_be_read(
    ingest: Callable[..., Ran], use: Callable[[Path], None], tmp_path: Path
) -> None:
    one, two = stream(*dump(1)), stream(*dump(1), *dump(3))
    fake = FakeDotnet()
    fake.pieces = [one, fake.third, two[len(one) :]]
    with serving(fake) as path:
        use(path)
        code, out, _ = ingest(
            "capture", "dotnet", PID, "--track", "0.2", "-o", str(tmp_path / "a b")
        )

    assert (code, out.count("heap dump    2 objects")) == (0, 2)
    assert out.endswith(f"ingest info '{tmp_path / 'a b'}'\n")


def test_a_runtime_that_knows_only_the_first_command(
    use: Callable[[Path], None], tmp_path: Path
) -> None:
    fake = FakeDotnet(answers={COLLECT_2: [error(0x80131385)]})
    with serving(fake) as path:
        use(path)
        capture(PID, tmp_path / "x", timeout_s=5)

    assert (COLLECT, HEAP) in fake.asked
    assert (tmp_path / "x").read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({INFO: [b"SSH-2.0-OpenSSH_9.2\r\n\0\0"]}, "is not a .NET diagnostics port"),
        ({INFO: [reply(size=3)]}, "is not a .NET diagnostics port"),
        ({INFO: [reply(b"x", size=65535), 5.0]}, "does not answer within 0.4 s"),
        ({INFO: [reply()[:13], None]}, "is not a .NET diagnostics port"),
        ({INFO: [None]}, "disconnected when asked for its process information"),
        ({INFO: []}, "does not answer within 0.4 s: it is stopped"),
        ({COLLECT_2: []}, "does not answer"),
        ({COLLECT_2: [None]}, "disconnected when asked to send events"),
        ({COLLECT_2: [reply(b"1234")]}, "is not a .NET diagnostics port"),
        ({COLLECT_2: [reply(b"12345678", code=0xFF07)]}, "is not a .NET"),
        ({COLLECT_2: [error(0x80131384)]}, r"the request is malformed \(0x80131384\)"),
        ({COLLECT_2: [error(0x80131387)]}, "internal error"),
        ({COLLECT_2: [error(0x12345678)]}, r"unknown error \(0x12345678\)"),
        ({STOP: []}, "does not end its session within 0.4 s"),
        ({STOP: [error(0x80131387)]}, "refuses to end the session|does not end its"),
    ],
)
def test_answers_that_are_none(
    use: Callable[[Path], None],
    tmp_path: Path,
    answers: dict[int, Sequence[Piece]],
    message: str,
) -> None:
    is_silent = "does not" in message
    said = refused(FakeDotnet(answers=answers), use, tmp_path, is_silent=is_silent)

    assert re.search(message, said), said


LOST = [(1, gc_start(1)), (15, types(7)), (18, nodes(0, (0x10, 7, 3))), (2, gc_end(1))]
GAP = [
    (1, gc_start(1)), (15, types(7)), (18, nodes(0, (0x10, 7, 1))),
    (19, edges(1, 0x10)), (2, gc_end(1)),
]  # fmt: skip


def test_a_file_that_is_not_what_was_sent(
    monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], None], tmp_path: Path
) -> None:
    """All has arrived, but what lies on the disk is cut."""
    written = OutputFile.written

    def cut(self: OutputFile) -> Path | None:
        path = written(self)
        assert path is not None
        os.truncate(path, len(WHOLE) - 30)
        return path

    monkeypatch.setattr(OutputFile, "written", cut)

    assert "is not a whole dump" in refused(FakeDotnet(), use, tmp_path)


@pytest.mark.parametrize(
    ("pieces", "tail", "message"),
    [
        ([], END, "no more of the heap dump has arrived for 0.4 s"),
        ([stream((1, gc_start(1)))], END, "no more of the heap dump has arrived"),
        ([stream(*dump(1)[:-1])], END, "no more of the heap dump has arrived"),
        ([stream(*dump(1)[:-1]), None], END, "the stream ended after"),
        ([stream(*dump(1))], b"", "the stream ended after"),
        ([stream(*LOST)], END, "lost events"),
        ([stream(*GAP)], END, "lost events"),
        ([stream(*dump(1, is_named=False))], END, "names no types"),
        (
            [b"Nettrace" + bytes(24)],
            END,
            "(byte 20: version 0 of ",
        ),
        ([opening(3)], END, "a pointer size of 3 bytes"),
        ([opening() + b"\x09"], END, "no more of the heap dump has arrived"),
        (
            [opening() + struct.pack("<BBBiii", 5, 5, 1, 1, 1, 1 << 30)],
            END,
            "the name of a block claims 1,073,741,824 bytes",
        ),
        (
            [opening() + block(b"EventBlock", b"", 0, size=0x7FFFFFFF)],
            END,
            "no more of the heap dump has arrived",
        ),
        (
            [opening() + block(b"EventBlock", b"", 0, size=-1)],
            END,
            "the file claims -1 bytes of a block",
        ),
        (
            [(made := opening()) + block(b"EventBlock", b"\x04\0\1\0\xff", len(made))],
            END,
            "(byte 137: a block is too short for its contents)",
        ),
        ([stream((18, struct.pack("<IIH", 0, 1 << 31, 1)))], END, "of a nodes event"),
        ([stream((15, struct.pack("<IH", 1 << 31, 1)))], END, "of a types event"),
    ],
)
def test_streams_that_are_none(
    use: Callable[[Path], None],
    tmp_path: Path,
    pieces: Sequence[Piece],
    tail: bytes,
    message: str,
) -> None:
    is_silent = "has arrived" in message
    fake = FakeDotnet(pieces, tail=tail)
    assert message in refused(fake, use, tmp_path, is_silent=is_silent)


def test_collections_of_others_are_not_waited_for() -> None:
    events = GcEvents()
    begun = [(1, gc_start(1, depth=0)), (2, gc_end(1)), (1, gc_start(2, type_=1))]
    events.read([stream(*begun, (2, gc_end(2)), (1, gc_start(3)), (2, gc_end(3)))])
    assert (events.gc_count, events.finished_count) == (3, 0)


def test_events_of_several_threads_come_in_any_order() -> None:
    events = GcEvents()
    told = stream(*dump(1), order=(1, 2, 3, 4, 0))

    def pieces() -> Iterator[bytes]:
        yield told[:-30]
        assert events.finished_count == 0
        yield told[-30:]
        assert events.finished_count == 1

    events.read(pieces())
    assert events.finished_count == 1


@pytest.mark.parametrize(("pointer_bytes", "letter"), [(4, "I"), (8, "Q")])
@pytest.mark.parametrize("is_short", [True, False])
def test_events_in_every_form(
    pointer_bytes: int, letter: str, *, is_short: bool
) -> None:
    told = [
        (1, gc_start(1)),
        (18, nodes(0, (1, 7, 1), (2, 8, 0), pointer=letter)),
        (19, edges(0, 2, pointer=letter)),
        (18, nodes(1, (3, 7, 1), pointer=letter)),
        (19, edges(1, 1, pointer=letter)),
        (2, gc_end(1)),
        (15, types(7, 9)),
    ]
    data = stream(*told, pointer_bytes=pointer_bytes, is_short=is_short) + END
    for step in (1, 7, len(data)):
        events = GcEvents()
        events.read(data[at : at + step] for at in range(0, len(data), step))
        (only,) = events.dumps
        assert (only.object_count, only.edge_count, only.is_complete) == (3, 2, True)
        assert (events.type_ids, events.used_type_ids) == ({7, 9}, {7, 8})
        assert (events.finished_count, events.is_ended) == (1, True)


def test_references_that_arrive_before_any_objects() -> None:
    """So do those of the first objects, if these have thousands."""
    of_dump = [(19, edges(0, 2, 1)), (18, nodes(0, (1, 7, 2), (2, 8, 1)))]
    told = [(1, gc_start(1)), *of_dump, (19, edges(1, 1)), (2, gc_end(1))]
    events = GcEvents()
    events.read([stream(*told, (1, gc_start(2)), *told[1:-1], (2, gc_end(2))) + END])

    assert [one.edge_count for one in events.dumps] == [3, 3]
    assert all(one.is_complete for one in events.dumps)
    assert events.finished_count == 2


_PATIENT = """
from ingest.system import interrupts
from ingest.__main__ import main
interrupts.GRACE_S = 10  # a busy machine does not end it in disorder
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("is_slow", "wait_s"), [(False, 0.2), (True, 0.1)])
def test_ctrl_c_stops_the_session(
    use: Callable[[Path], None], tmp_path: Path, *, is_slow: bool, wait_s: float
) -> None:
    late = threading.Event()

    class Slow(FakeDotnet):
        """Answers a moment after Ctrl-C; hanging up before would kill it."""

        def send(self, peer: socket.socket, pieces: Sequence[Piece]) -> None:
            if is_slow and self.asked[-1] == (COLLECT_2, TRACK):
                late.wait(20)
            super().send(peer, pieces)

    fake = Slow([stream(*dump(1))])
    with serving(fake) as path:
        process = subprocess.Popen(
            [sys.executable, "-c", _PATIENT, "capture", "dotnet", PID, "--track", "60",
             "-o", str(tmp_path / "x")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(path.parent)},
        )  # fmt: skip
        while (COLLECT_2, TRACK) not in fake.asked and process.poll() is None:
            threading.Event().wait(0.02)
        threading.Event().wait(wait_s)
        process.send_signal(signal.SIGINT)
        threading.Event().wait(0.1)
        late.set()
        _, err = process.communicate(timeout=20)
        end = time.monotonic() + 5
        while fake.asked[-1] != (STOP, 2) and time.monotonic() < end:
            threading.Event().wait(0.02)  # for the thread that reads it

    assert (process.returncode, err.count("\n")) == (130, 1), err
    assert fake.asked[-1] == (STOP, 2)
    assert list(tmp_path.iterdir()) == []


# Programs and their ports


def test_list(ingest: Callable[..., Ran], use: Callable[[Path], None]) -> None:
    with serving(FakeDotnet()) as path:
        use(path)
        dead = path.with_name(f"dotnet-diagnostic-{PID}-1-socket")
        other = path.with_name("dotnet-diagnostic-4194305-1-socket")
        listeners = []
        for stale in (dead, other):
            listeners.append(socket.socket(socket.AF_UNIX))
            listeners[-1].bind(str(stale))
        path.with_name("dotnet-diagnostic-x-1-socket").touch()
        path.with_name(path.name + ".txt").touch()
        code, out, _ = ingest("capture", "list", "--json")
        ours = [entry for entry in json.loads(out) if entry["pid"] == os.getpid()]
        text = ingest("capture", "list")[1]
        for listener in listeners:
            listener.close()

    assert code == 0
    assert [entry["socket"] for entry in ours] == [str(path)]
    assert ours[0]["can_capture"] is True
    assert "4194305" not in out
    assert str(path) in text


def test_a_port_that_nobody_listens_at(
    use: Callable[[Path], None], tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"dotnet-diagnostic-{PID}-{began()}-socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
        use(path)
        with pytest.raises(CaptureError, match=r"nothing listens at .* list$"):
            capture(PID, tmp_path / "x")


def test_a_port_of_somebody_else_is_not_listed(
    use: Callable[[Path], None], ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    fake = FakeDotnet()
    with serving(fake) as path:
        use(path)
        assert str(path) in ingest("capture", "list")[1]
        path.chmod(0o777)
        assert str(path) not in ingest("capture", "list")[1]
        with pytest.raises(CaptureError, match="has no diagnostics port"):
            capture(PID, tmp_path / "x")
        path.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
            assert str(path) not in ingest("capture", "list")[1]
    assert fake.asked == []


@pytest.mark.skipif(sys.platform != "linux", reason="SO_PEERCRED")
def test_another_process_at_the_port_gets_no_byte(
    use: Callable[[Path], None], tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"dotnet-diagnostic-{PID}-{began()}-socket"
        use(path)
        with listening(path) as other:
            with pytest.raises(CaptureError, match=f"process {other.pid} listens at"):
                capture(PID, tmp_path / "x")
            assert other.stdout is not None
            assert other.stdout.readline() == "0\n"


@pytest.mark.slow
def test_a_program_of_another_user(
    monkeypatch: pytest.MonkeyPatch, ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    theirs = RunningProgram(77, "Shop", "eve", is_ours=False, socket=Path("/tmp/s"))
    found = replace(DOTNET, programs=lambda _: [theirs])
    monkeypatch.setattr(dotnet_module, "DOTNET", Mock(find=lambda _: theirs))
    capturer = replace(CAPTURERS["dotnet"], finder=found)
    monkeypatch.setitem(CAPTURERS, "dotnet", capturer)

    code, _, err = ingest("capture", "dotnet", "77", "-o", str(tmp_path / "x"))
    assert (code, "(Shop) belongs to eve; run this as that user" in err) == (11, True)
    assert "(belongs to eve: run this as that user)" in ingest("capture", "list")[1]


def made_proc(folder: Path, maps: str, environ: bytes = b"") -> Path:
    process = folder / PID
    (process / "root" / "tmp").mkdir(parents=True)
    (process / "maps").write_text(maps, encoding="utf-8")
    (process / "environ").write_bytes(environ)
    (process / "stat").write_text(f"{PID} (a b) c) " + "0 " * 19 + f"{began()} 0\n")
    (process / "status").write_text(f"Name:\tx\nNSpid:\t{PID}\t7\n", encoding="utf-8")
    return folder


def test_what_is_no_program_with_a_port(
    use: Callable[[Path], None], tmp_path: Path
) -> None:
    use(tmp_path / "x")
    proc = made_proc(tmp_path / "proc", "7f00 r-xp /src/libcoreclr.old/libc.so\n")
    with pytest.raises(CaptureError, match=r"is not a \.NET program"):
        DOTNET.find(PID, proc)

    maps = proc / PID / "maps"
    maps.write_text("7f00 r-xp /x/libcoreclr.so\n", encoding="utf-8")
    with pytest.raises(CaptureError, match="has no diagnostics port in"):
        DOTNET.find(PID, proc)
    (proc / PID / "environ").write_bytes(b"A=1\0DOTNET_EnableDiagnostics=0\0")
    with pytest.raises(CaptureError, match="DOTNET_EnableDiagnostics=0"):
        DOTNET.find(PID, proc)
    with pytest.raises(CaptureError, match="no process has the id 4194305"):
        DOTNET.find("4194305", proc)
    with pytest.raises(CaptureError, match="no process has the id"):
        DOTNET.find("9" * 30, proc)
    with pytest.raises(CaptureError, match=r"no .NET program is named Shop"):
        DOTNET.find("Shop", proc)


def test_a_port_in_a_container(use: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        use(Path(folder) / "x")
        proc = made_proc(Path(folder), "/x/libcoreclr.so", b"TMPDIR=/var/t/\0")
        inner = proc / PID / "root" / "var" / "t"
        inner.mkdir(parents=True)
        path = inner / f"dotnet-diagnostic-7-{began()}-socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            assert DOTNET.find(PID, proc).socket == path
            sockets = {entry.pid: entry.socket for entry in DOTNET.programs(proc)}
            assert sockets[int(PID)] == path  # beside those of others


def test_names() -> None:
    two = [
        RunningProgram(n, "Shop", "me", is_ours=True, socket=Path("/s")) for n in (5, 6)
    ]
    dotnet = replace(DOTNET, programs=lambda _: two, of_pid=lambda *_: two[0])

    with pytest.raises(CaptureError, match=r"by process id: Shop \(5\), Shop \(6\)"):
        dotnet.find("shop")
    with pytest.raises(CaptureError, match=r"named Bar; running are: Shop \(5\)"):
        dotnet.find("Bar")
    two.pop()
    assert dotnet.find("SHOP").pid == 5


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Shop.Web", "Shop.Web.nettrace"),
        ("../..", "heap.nettrace"),
        ("", "heap.nettrace"),
    ],
)
def test_names_of_files(name: str, file: str) -> None:
    assert file_name(name) == file


def test_one_dump_or_two(ingest: Callable[..., Ran]) -> None:
    code, _, err = ingest("capture", "dotnet", "x", "--heap", "--track", "1")
    assert (code, "--heap captures one dump and --track two" in err) == (2, True)
