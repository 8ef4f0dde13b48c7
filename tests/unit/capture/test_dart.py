"""Dart snapshots off a VM service that behaves, and off some that do not."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.capture import vm_service, web_socket
from ingest.capture.dart import capture, choose, file_name, websocket_address
from ingest.capture.vm_service import Isolate
from ingest.errors import CaptureError, IngestError
from tests.unit.capture.fake_vm import (
    HEAP,
    MAIN,
    OTHER,
    SERVICE,
    SMALL,
    TOKEN,
    WORKER,
    FakeVm,
    frame,
    serving,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

    from tests.conftest import Ran


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    empty = tmp_path / "here"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return empty


def refused(vm: FakeVm, folder: Path, timeout_s: float = 5.0) -> str:
    """What is said when no snapshot comes; nothing is left behind then."""
    with serving(vm) as address, pytest.raises(CaptureError) as error:
        capture(address, folder / "x.dartheap", timeout_s=timeout_s)
    assert list(folder.iterdir()) == []
    return str(error.value)


def test_a_snapshot_is_written_as_it_was_sent(
    ingest: Callable[..., Ran], folder: Path
) -> None:
    vm = FakeVm(isolates=(WORKER, MAIN))
    with serving(vm) as address:
        code, out, err = ingest("capture", "dart", address)

    assert (code, err) == (0, "")
    assert [path.name for path in folder.iterdir()] == ["main.dartheap"]
    assert (folder / "main.dartheap").read_bytes() == HEAP
    assert f"wrote main.dartheap, {len(HEAP):,} bytes" in out
    assert "isolates  main (isolates/11), worker (isolates/12)" in out
    assert max(map(len, out.splitlines())) <= 80


def test_facts_as_json(ingest: Callable[..., Ran], folder: Path) -> None:
    with serving(FakeVm()) as address:
        code, out, _ = ingest("capture", "dart", address, "-o", "a b", "--json")

    assert code == 0
    assert json.loads(out) == {
        "file": "a b",
        "bytes": len(HEAP),
        "sha256": hashlib.sha256(HEAP).hexdigest(),
        "isolates": [{"id": "isolates/11", "name": "main", "number": "11"}],
        "vm_version": "3.7.3 (stable)",
        "protocol": "4.16",
    }
    assert (folder / "a b").read_bytes() == HEAP


def test_the_program_is_asked_for_nothing_else_and_left_as_it_was(
    folder: Path,
) -> None:
    vm = FakeVm()
    with serving(vm) as address:
        capture(address)
        assert vm.closed.wait(5)

    assert vm.asked == [
        ("getVersion", {}),
        ("getVM", {}),
        ("streamListen", {"streamId": "HeapSnapshot"}),
        ("requestHeapSnapshot", {"isolateId": "isolates/11"}),
        ("streamCancel", {"streamId": "HeapSnapshot"}),
    ]


@settings(max_examples=15)
@given(st.lists(st.integers(0, 60), max_size=12))
def test_pieces_are_split_anywhere(sizes: list[int]) -> None:
    vm = FakeVm(split(SMALL, *sizes))
    with serving(vm) as address, tempfile.TemporaryDirectory() as name:
        taken = capture(address, Path(name) / "x")
        assert taken.path.read_bytes() == SMALL
        assert taken.sha256 == hashlib.sha256(SMALL).hexdigest()


def test_other_frames_in_between_do_not_matter(folder: Path) -> None:
    first, rest = HEAP[:1000], HEAP[1000:]
    event = {"method": "streamNotify", "params": {"event": {"kind": "GC"}}}
    frames: list[bytes | str | float | None] = [
        json.dumps(event),
        frame(b"dartheap of another", last=True, isolate=OTHER),
        frame(first, last=False),
        frame(b"a graph", last=True, kind="_Graph"),
        json.dumps({"jsonrpc": "2.0", "id": "4", "result": {"type": "Success"}}),
        json.dumps({"jsonrpc": "2.0", "id": "77", "error": {"code": 1}}),
        frame(b"", last=False),
        frame(rest, last=True, isolate=None),
    ]
    with serving(FakeVm(frames)) as address:
        assert capture(address).path.read_bytes() == HEAP


def test_progress_tells_bytes(folder: Path) -> None:
    told: list[tuple[str, int, int | None]] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        told.append((stage, done, total))

    with serving(FakeVm(split(HEAP, 8, 92))) as address:
        capture(address, progress=tell)

    assert told == [("capture", n, None) for n in (8, 100, len(HEAP))]


def test_the_file_is_its_owners_only(folder: Path) -> None:
    with serving(FakeVm()) as address:
        taken = capture(address)

    assert taken.path.stat().st_mode & 0o777 == 0o600


# Files that are in the way


def test_nothing_is_overwritten(ingest: Callable[..., Ran], folder: Path) -> None:
    kept = folder / "main.dartheap"
    kept.write_text("kept")
    vm = FakeVm()
    with serving(vm) as address:
        for options in ([], ["-o", "main.dartheap"]):
            code, out, err = ingest("capture", "dart", address, *options)
            assert (code, out) == (1, "")
            assert err.startswith("error: main.dartheap already exists; --force")
            assert kept.read_text() == "kept"
        assert "requestHeapSnapshot" not in vm.methods()
        assert ingest("capture", "dart", address, "--force")[0] == 0

    assert kept.read_bytes() == HEAP
    assert list(folder.iterdir()) == [kept]


def test_a_file_that_comes_meanwhile_is_not_overwritten(folder: Path) -> None:
    path = folder / "x.dartheap"

    def meanwhile(stage: str, done: int, total: int | None) -> None:
        path.write_text("faster")

    with serving(FakeVm()) as address, pytest.raises(IngestError, match="--force"):
        capture(address, path, progress=meanwhile)

    assert path.read_text() == "faster"
    assert list(folder.iterdir()) == [path]


@pytest.mark.slow
def test_where_nothing_can_be_written(ingest: Callable[..., Ran], folder: Path) -> None:
    vm = FakeVm()
    with serving(vm) as address:
        for path, why in ((".", "is a folder"), ("no/x", "no folder no")):
            code, _, err = ingest("capture", "dart", address, "-o", path)
            assert (code, why in err, err.count("\n")) == (1, True, 1)
        code, _, err = ingest("capture", "dart", address, "-o", "x" * 300)
        assert (code, "cannot be written" in err) == (1, True)

    assert "requestHeapSnapshot" not in vm.methods()


@pytest.mark.slow
def test_a_full_disk(
    ingest: Callable[..., Ran], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")

    opened = os.open

    def on_a_full_disk(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if not str(path).endswith(".part"):
            return opened(path, flags, mode)
        Path(path).symlink_to("/dev/full")
        return opened(path, os.O_WRONLY)

    monkeypatch.setattr("os.open", on_a_full_disk)
    with serving(FakeVm(split(HEAP * 100))) as address:
        code, _, err = ingest("capture", "dart", address)

    assert (code, err.count("\n")) == (1, 1)
    assert "No space left" in err
    assert list(folder.iterdir()) == []


# What goes wrong on the way


def test_a_connection_that_is_lost(folder: Path) -> None:
    first, *_ = split(HEAP, 100)

    assert "after 100 bytes: connection lost" in refused(FakeVm([first, None]), folder)
    assert "connection lost" in refused(FakeVm([None]), folder)


@pytest.mark.slow
def test_a_program_that_stands_still(folder: Path) -> None:
    first, second = split(HEAP, 100)
    noise = frame(b"x", last=False, kind="GC")

    for frames in ([first], [first, noise, 0.4, noise, 0.4, noise, 0.4, noise]):
        said = refused(FakeVm([*frames, 60.0, second]), folder, timeout_s=1)
        assert "stopped after 100 bytes (waited 1 s)" in said
        assert "--timeout" in said
    said = refused(FakeVm(results={"getVM": None}), folder, timeout_s=1)
    assert "no answer to getVM (waited 1 s)" in said
    assert "main does not start" in refused(FakeVm([60.0]), folder, timeout_s=1)


def test_a_slow_program_is_waited_for(folder: Path) -> None:
    pieces = split(HEAP, 100, 100, 100, 100)
    frames: list[bytes | str | float | None] = []
    for piece in pieces:
        frames += [0.6, piece]
    with serving(FakeVm(frames)) as address:
        assert capture(address, timeout_s=2).byte_count == len(HEAP)


def test_last_that_is_missing(folder: Path) -> None:
    frames = [frame(HEAP, last=False), frame(b"", last=False)]

    assert "stopped after" in refused(FakeVm(frames), folder, timeout_s=1)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"dartheaX, and more"],
        [b"dar", b"theep"],
        [b"d"],
        [b"", b""],
        [b"dartheadartheap"],
    ],
)
def test_what_is_no_snapshot(folder: Path, pieces: list[bytes]) -> None:
    frames = [frame(p, last=p is pieces[-1]) for p in pieces[:-1]]
    frames.append(frame(pieces[-1], last=True))

    said = refused(FakeVm(frames), folder)
    assert "does not send a heap snapshot" in said or "has only" in said


@pytest.mark.parametrize(
    "bad",
    [b"", b"\x04", b"\x04\x00\x00", frame(HEAP, last=True, offset=3),
     frame(HEAP, last=True, offset=0), frame(b"", last=True, offset=5000),
     frame(HEAP, last=True, offset=2**32 - 1)],
)  # fmt: skip
def test_a_data_offset_out_of_its_frame(folder: Path, bad: bytes) -> None:
    assert "has its data at offset" in refused(FakeVm([bad]), folder)


@pytest.mark.parametrize("byte_count", [20, 60, len(SMALL) - 20])
def test_a_snapshot_that_is_cut(folder: Path, byte_count: int) -> None:
    """The VM says that this was the last piece, but records are missing."""
    vm = FakeVm([frame(SMALL[:byte_count], last=True)])

    assert "is not a whole dump" in refused(vm, folder)


def test_a_data_offset_at_the_end_is_an_empty_piece(folder: Path) -> None:
    with serving(FakeVm([frame(HEAP, last=False), frame(b"", last=True)])) as address:
        assert capture(address).byte_count == len(HEAP)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", "[" * 100_000, '{"id": "4", "result": 7}', '{"id": "4"}'],
)
def test_text_that_is_no_answer(folder: Path, text: str) -> None:
    assert "is not a Dart VM service" in refused(FakeVm([text]), folder)


def test_json_without_bounds(folder: Path) -> None:
    blank = " " * (vm_service._JSON_BYTES + 1)
    in_frame = (4 + len(blank)).to_bytes(4, "little") + blank.encode()

    for bad in (blank, in_frame):
        assert "JSON larger than 4 MiB" in refused(FakeVm([bad]), folder)


def test_a_frame_without_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_socket, "FRAME_BYTES", 1 << 20)

    said = refused(FakeVm([frame(HEAP * 200, last=True)]), folder)
    assert "a frame larger than 1 MiB" in said


def test_errors_of_the_vm(folder: Path) -> None:
    gone = {"type": "Sentinel", "kind": "Collected", "valueAsString": "<collected>"}
    disabled = {
        "code": 100,
        "message": "Feature is disabled",
        "data": {"details": "x y"},
    }

    said = refused(FakeVm(results={"requestHeapSnapshot": gone}, frames=[]), folder)
    assert "the isolate has ended (requestHeapSnapshot returned <collected>)" in said
    said = refused(FakeVm(results={"requestHeapSnapshot": {"error": disabled}}), folder)
    assert said == "the VM refuses requestHeapSnapshot: x y"
    said = refused(FakeVm(results={"streamListen": {"error": {"message": 8}}}), folder)
    assert said == "the VM refuses streamListen: 8"
    said = refused(FakeVm(results={"getVersion": {"error": "a" * 10_000}}), folder)
    assert len(said) < 300
    said = refused(FakeVm(results={"getVersion": {"type": "Pong"}}), folder)
    assert "is not a Dart VM service" in said


def test_hostile_words_are_shown_escaped(
    ingest: Callable[..., Ran], folder: Path
) -> None:
    evil = {**MAIN, "name": "\x1b[2J/../../etc/passwd"}
    vm = FakeVm(isolates=(evil,))
    with serving(vm) as address:
        code, out, _ = ingest("capture", "dart", address)

    assert code == 0
    assert "\x1b" not in out
    assert [path.name for path in folder.iterdir()] == ["2J_.._.._etc_passwd.dartheap"]


@pytest.mark.parametrize(
    "vm",
    [
        {"type": "VM"},
        {"type": "VM", "isolates": 7},
        {"type": "VM", "isolates": [7, {}, {"id": 8}]},
        {"type": "VM", "isolates": [], "systemIsolates": [SERVICE]},
    ],
)
def test_a_program_without_isolates(folder: Path, vm: dict[str, Any]) -> None:
    assert "has no isolate" in refused(FakeVm(results={"getVM": vm}), folder)


def test_a_stream_that_cannot_be_left_does_not_matter(folder: Path) -> None:
    for answer in ({"error": {"code": 104}}, None):
        vm = FakeVm(results={"streamCancel": answer})
        with serving(vm) as address:
            taken = capture(address, force=True, timeout_s=0.5)
        assert taken.path.read_bytes() == HEAP


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(folder: Path) -> None:
    vm = FakeVm([*split(HEAP, 100)[:1], 60.0])
    with serving(vm) as address:
        process = subprocess.Popen(
            [sys.executable, "-m", "ingest", "capture", "dart", address],
            stderr=subprocess.PIPE,
            text=True,
        )
        while not any(p.stat().st_size == 0 for p in folder.iterdir()):
            if process.poll() is not None:
                break
            threading.Event().wait(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        vm.hurry.set()
        assert vm.closed.wait(10)

    assert process.returncode == 130
    assert err.startswith("interrupted")
    assert err.count("\n") == 1
    assert list(folder.iterdir()) == []


# Addresses, and what answers at them


@pytest.mark.parametrize(
    ("given_", "place"),
    [
        ("http://127.0.0.1:8181/t0k=/", "ws://127.0.0.1:8181/t0k=/ws"),
        ("http://127.0.0.1:8181/t0k=", "ws://127.0.0.1:8181/t0k=/ws"),
        (" ws://127.0.0.1:8181/t0k=/ws\n", "ws://127.0.0.1:8181/t0k=/ws"),
        ("ws://localhost:8181/ws/", "ws://localhost:8181/ws"),
        ("http://[::1]:8181/", "ws://[::1]:8181/ws"),
        ("https://host/a=/", "wss://host/a=/ws"),
        ("127.0.0.1:8181/t0k=/", "ws://127.0.0.1:8181/t0k=/ws"),
        (
            "http://127.0.0.1:9100?uri=http://127.0.0.1:8181/t0k=/",
            "ws://127.0.0.1:8181/t0k=/ws",
        ),
        (
            "http://127.0.0.1:8181/t0k=/devtools/?uri=ws%3A%2F%2F127.0.0.1%3A8181%2Ft0k%3D%2Fws",
            "ws://127.0.0.1:8181/t0k=/ws",
        ),
    ],
)
def test_addresses(given_: str, place: str) -> None:
    assert websocket_address(given_) == place


@pytest.mark.parametrize(
    "bad",
    ["", "http://", "ftp://host/", "ws://host:x/", "ws://host:99999/", "http://[::1/"],
)
def test_what_is_no_address(ingest: Callable[..., Ran], bad: str, folder: Path) -> None:
    code, _, err = ingest("capture", "dart", bad)

    assert code == 11
    assert "is not an address of a VM service, such as" in err
    assert err.count("\n") == 1


def test_nothing_answers(ingest: Callable[..., Ran], folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    code, _, err = ingest("capture", "dart", f"http://127.0.0.1:{port}/")

    assert code == 11
    assert f"nothing answers at ws://127.0.0.1:{port}/ws (Connection refused)" in err
    assert "dart run --enable-vm-service" in err
    assert err.count("\n") == 1


def test_a_token_that_is_missing(ingest: Callable[..., Ran], folder: Path) -> None:
    with serving(FakeVm()) as address:
        code, _, err = ingest("capture", "dart", address.replace(TOKEN, ""))

    assert (code, err.count("\n")) == (11, 1)
    assert "denies access (403): the token" in err


def test_a_web_server_that_is_no_vm(ingest: Callable[..., Ran], folder: Path) -> None:
    def not_found(connection: ServerConnection, _request: Request) -> Response:
        return connection.respond(404, "no")

    with serving(FakeVm(), not_found) as address:
        code, _, err = ingest("capture", "dart", address)

    assert (code, err.count("\n")) == (11, 1)
    assert "is not a Dart VM service (HTTP 404); start the program" in err


@pytest.mark.parametrize("greeting", [b"SSH-2.0-x\r\n", b"", None])
def test_a_port_that_speaks_something_else(
    ingest: Callable[..., Ran], folder: Path, greeting: bytes | None
) -> None:
    done = threading.Event()

    def greet(server: socket.socket) -> None:
        peer, _ = server.accept()
        with peer:
            peer.recv(4096)
            if greeting is None:
                done.wait(20)
            else:
                peer.sendall(greeting)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet, args=(server,))
        thread.start()
        port = server.getsockname()[1]
        code, _, err = ingest(
            "capture", "dart", f"ws://127.0.0.1:{port}", "--timeout", "0.5"
        )
        done.set()
        thread.join()

    assert (code, err.count("\n")) == (11, 1)
    assert "is not a Dart VM service; start the program" in err
    assert (greeting is None) is ("no answer from ws://" in err)


# Isolates


def test_several_groups_must_be_chosen_from(
    ingest: Callable[..., Ran], folder: Path
) -> None:
    vm = FakeVm([frame(HEAP, last=True, isolate=OTHER)], isolates=(MAIN, WORKER, OTHER))
    with serving(vm) as address:
        code, _, err = ingest("capture", "dart", address)
        assert (code, err.count("\n")) == (11, 1)
        assert (
            "choose one with --isolate: main (isolates/11) + worker (isolates/12), "
            "plugin (isolates/21)"
        ) in err
        assert "requestHeapSnapshot" not in vm.methods()
        for wanted in ("plugin", "21", "isolates/21"):
            code, out, _ = ingest(
                "capture", "dart", address, "--isolate", wanted, "--force"
            )
            assert (code, "isolates  plugin (isolates/21)" in out) == (0, True)
        code, _, err = ingest("capture", "dart", address, "--isolate", "plug")
        assert (code, "no isolate plug; the program has: main" in err) == (11, True)

    assert [path.name for path in folder.iterdir()] == ["plugin.dartheap"]


def isolate(number: int, name: str, group: str, *, is_system: bool = False) -> Isolate:
    return Isolate(f"isolates/{number}", name, str(number), group, is_system)


def test_choosing() -> None:
    a, b = isolate(1, "worker", "g"), isolate(2, "main", "g")
    c, own = isolate(3, "worker", "h"), isolate(4, "vm-service", "s", is_system=True)

    assert choose((a, b, own), None) == (b, a)
    assert choose((a, own), None) == (a,)
    assert choose((a, b, c, own), "3") == (c,)
    assert choose((a, b, c, own), "1") == (a, b)
    assert choose((a, b, c, own), "vm-service") == (own,)
    with pytest.raises(CaptureError, match=r"worker \(isolates/1\), worker"):
        choose((a, b, c), "worker")
    many = tuple(isolate(n, "w", f"g{n}") for n in range(500))
    with pytest.raises(CaptureError, match="and 480 more"):
        choose(many, None)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("main", "main.dartheap"),
        ("", "heap.dartheap"),
        ("../..", "heap.dartheap"),
        (".hidden", "hidden.dartheap"),
        ("a b/c\n", "a_b_c.dartheap"),
        ("x" * 500, "x" * 60 + ".dartheap"),
        ("日本", "heap.dartheap"),
    ],
)
def test_names_of_files(name: str, file: str) -> None:
    assert file_name(name) == file
