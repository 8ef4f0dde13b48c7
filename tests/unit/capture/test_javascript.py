"""Snapshots off an inspector that behaves, and off some that do not."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response
from websockets.sync.server import serve

from ingest.capture import javascript
from ingest.capture.inspector import InspectedTarget, InspectorAddress, place_of
from ingest.capture.javascript import Series, capture, captures, choose, file_name
from ingest.errors import CaptureError
from tests.dumps.v8 import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from websockets.http11 import Request
    from websockets.sync.server import ServerConnection

HEAP = program().bytes().decode()
PAGE = InspectedTarget("A1", "page", "Shop", "https://shop.example/", "/devtools/A1")
OTHER = InspectedTarget(
    "B2", "page", "Basket", "https://shop.example/b", "/devtools/B2"
)
WORKER = InspectedTarget("C3", "worker", "Shop worker", "https://x/", "/devtools/C3")
PLACE = InspectorAddress("127.0.0.1", 9222)
MOST = 3
"""Snapshots that a connection is asked for."""


def event(method: str, **parameters: object) -> str:
    return json.dumps({"method": method, "params": parameters})


def chunk(text: str) -> str:
    return event("HeapProfiler.addHeapSnapshotChunk", chunk=text)


def behaves(connection: ServerConnection, request: int) -> None:
    connection.send(event("Runtime.consoleAPICalled", type="log"))
    for at in range(0, len(HEAP), 1000):
        connection.send(event("HeapProfiler.reportHeapSnapshotProgress", done=at))
        connection.send(chunk(HEAP[at : at + 1000]))
    connection.send(json.dumps({"id": request, "result": {}}))


@contextmanager
def inspector(
    answers: Callable[[ServerConnection, int], None] = behaves,
    listed: object = None,
    heap_bytes: object = 1000,
    parameters: list[object] | None = None,
) -> Iterator[str]:
    """The address of an inspector with one page; tells what it is asked for."""

    def list_targets(_: ServerConnection, request: Request) -> Response | None:
        if not request.path.startswith("/json"):
            return None
        page = {
            "id": "A1", "type": "page", "title": "Shop", "url": "https://shop.example/",
            "webSocketDebuggerUrl": "ws://elsewhere.example:1/devtools/A1",
        }  # fmt: skip
        body = listed if isinstance(listed, bytes) else json.dumps(listed or [page])
        data = body if isinstance(body, bytes) else body.encode()
        headers = Headers({"Content-Length": str(len(data))})
        return Response(HTTPStatus.OK, "OK", headers, data)

    def handle(connection: ServerConnection) -> None:
        try:
            for _ in range(2 * MOST):
                asked: dict[str, Any] = json.loads(connection.recv())
                if asked["method"] == "Runtime.getHeapUsage":
                    told = {"id": asked["id"], "result": {"usedSize": heap_bytes}}
                    connection.send(json.dumps(told))
                    continue
                assert asked["method"] == "HeapProfiler.takeHeapSnapshot"
                if parameters is not None:
                    parameters.append(asked["params"])
                answers(connection, asked["id"])
        except ConnectionClosed:
            pass

    with serve(handle, "127.0.0.1", 0, process_request=list_targets) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def test_a_snapshot_is_what_the_page_sends(tmp_path: Path) -> None:
    pieces: list[int] = []
    with inspector() as address:
        taken = capture(
            address, tmp_path / "x", progress=lambda _, done, __: pieces.append(done)
        )

    assert taken.path.read_text() == HEAP
    assert taken.sha256 == hashlib.sha256(HEAP.encode()).hexdigest()
    assert taken.byte_count == pieces[-1] == len(HEAP)
    assert (taken.target.title, taken.target.kind) == ("Shop", "page")
    assert taken.path.stat().st_mode & 0o077 == 0


def test_numbers_are_recorded_on_request(tmp_path: Path) -> None:
    asked: list[object] = []
    with inspector(parameters=asked) as address:
        capture(address, tmp_path / "x")
        capture(address, tmp_path / "y", numbers=True)

    plain = {"reportProgress": True}
    assert asked == [plain, plain | {"captureNumericValue": True}]


def test_where_memory_may_be_too_little_it_is_refused_with_the_figures(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.heapsnapshot"
    with inspector(heap_bytes=1 << 50) as address:
        with pytest.raises(CaptureError, match=r"1\.00 PiB|1,024 TiB|1024 TiB"):
            capture(address, path)
        assert not list(tmp_path.iterdir())
        assert capture(address, path, force=True).byte_count == len(HEAP)
    with inspector(heap_bytes="much") as address:  # which is no figure
        assert capture(address, tmp_path / "y").byte_count == len(HEAP)


def test_several_come_over_one_connection_and_those_before_a_fault_are_kept(
    tmp_path: Path,
) -> None:
    connections, waits = set(), []

    def goes_away(connection: ServerConnection, request: int) -> None:
        connections.add(connection)
        (behaves if request < 6 else closes)(connection, request)

    def note(stage: str, done: int, total: int | None) -> None:
        if stage == "wait":
            waits.append((done, total))

    with inspector(goes_away) as address:
        path = tmp_path / "x.heapsnapshot"
        found = captures(address, path, series=Series(3, 0.05), progress=note)
        taken = [next(found), next(found)]
        with pytest.raises(CaptureError, match="connection lost"):
            next(found)

    assert len(connections) == 1
    assert waits
    names = ["x-1.heapsnapshot", "x-2.heapsnapshot"]
    assert [one.path.name for one in taken] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert all(one.path.read_text() == HEAP for one in taken)


def closes(connection: ServerConnection, _: int) -> None:
    connection.send(chunk(HEAP[:2000]))
    connection.close()


def never_ends(connection: ServerConnection, _: int) -> None:
    """Chunks and pings for ever."""
    with suppress(ConnectionClosed):
        while True:
            connection.send(chunk("x" * 1000))
            connection.ping()
            time.sleep(0.001)


def test_what_never_ends_is_given_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    with inspector(never_ends) as address, pytest.raises(CaptureError, match="stopped"):
        capture(address, tmp_path / "x.heapsnapshot", timeout_s=1)
    assert time.monotonic() - began < 10
    assert capfd.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_a_snapshot_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(javascript, "_DISK_SHARE", 1e-9)
    with inspector(never_ends) as address, pytest.raises(CaptureError, match="disk"):
        capture(address, tmp_path / "x.heapsnapshot")
    assert not list(tmp_path.iterdir())


def test_a_list_that_comes_byte_by_byte_is_given_up(tmp_path: Path) -> None:
    def drip(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" * 9:
                    connection.send(bytes([byte]))
                    time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(CaptureError, match="no answer"):
            capture(address, tmp_path / "x.heapsnapshot", timeout_s=0.5)
        assert time.monotonic() - began < 10
        thread.join()


def is_gone(connection: ServerConnection, _: int) -> None:
    connection.send(event("Inspector.detached", reason="target_closed"))


def refuses(connection: ServerConnection, request: int) -> None:
    connection.send(json.dumps({"id": request, "error": {"message": "not now"}}))


def babbles(connection: ServerConnection, _: int) -> None:
    connection.send("hello")


def sends_numbers(connection: ServerConnection, _: int) -> None:
    connection.send(event("HeapProfiler.addHeapSnapshotChunk", chunk=7))


def stops(connection: ServerConnection, _: int) -> None:
    connection.send(chunk(HEAP[:2000]))
    connection.recv()


def ends_early(connection: ServerConnection, request: int) -> None:
    connection.send(chunk(HEAP[: len(HEAP) // 2]))
    connection.send(json.dumps({"id": request, "result": {}}))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (closes, "connection lost after 2,000 bytes: Shop has ended"),
        (is_gone, "connection lost after 0 bytes"),
        (refuses, "Shop refuses a snapshot: not now"),
        (babbles, "does not answer like an inspector"),
        (sends_numbers, "does not answer like an inspector"),
        (stops, "the snapshot stopped after 2,000 bytes"),
        (ends_early, "not a whole dump"),
    ],
)
def test_what_goes_wrong_is_told_and_leaves_nothing(
    answers: Callable[[ServerConnection, int], None], expected: str, tmp_path: Path
) -> None:
    with inspector(answers) as address, pytest.raises(CaptureError, match=expected):
        capture(address, tmp_path / "x", timeout_s=0.5)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("listed", [b"<html>", b"{}", b"[" * 100_000])
def test_what_is_no_inspector_is_refused(listed: bytes, tmp_path: Path) -> None:
    with (
        inspector(listed=listed) as address,
        pytest.raises(CaptureError, match="not an inspector of V8"),
    ):
        capture(address, tmp_path / "x")


def test_nothing_listens(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"nothing answers at 127\.0\.0\.1:1 "):
        capture("127.0.0.1:1", tmp_path / "x")
    with pytest.raises(CaptureError, match="no process has the id 99999999"):
        capture("99999999", tmp_path / "x")


def test_the_target_is_chosen() -> None:
    extension = InspectedTarget("D4", "page", "E", "chrome-extension://x/", "/d/D4")

    assert choose((PAGE, WORKER, extension), None, PLACE) is PAGE
    assert choose((PAGE, OTHER, WORKER), "B2", PLACE) is OTHER
    assert choose((PAGE, OTHER, WORKER), "worker", PLACE) is WORKER
    for found, wanted, expected in (
        ((PAGE, OTHER), None, r"choose one with --target: Shop \(page, A1\), Basket"),
        ((PAGE, OTHER), "zzz", r"no target zzz at 127.0.0.1:9222; there are: Shop"),
        ((), None, "nothing can be captured at 127.0.0.1:9222"),
        ((WORKER,), None, "no program or page at 127.0.0.1:9222; there are: Shop w"),
    ):
        with pytest.raises(CaptureError, match=expected):
            choose(found, wanted, PLACE)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("127.0.0.1:9229", "127.0.0.1:9229"),
        ("ws://localhost:9229/abc-def", "localhost:9229"),
        ("http://[::1]:9222/json", "[::1]:9222"),
    ],
)
def test_addresses(address: str, place: str) -> None:
    assert str(place_of(address)) == place


@pytest.mark.parametrize("address", ["", "host", "host:0", "host:99999", "http://"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(CaptureError, match="not the address of an inspector"):
        place_of(address)


def test_names_of_files() -> None:
    node = InspectedTarget("1", "node", "/srv/app/main.js[4711]", "file:///", "/1")

    assert file_name(node) == "main.heapsnapshot"
    assert file_name(PAGE) == "Shop.heapsnapshot"
