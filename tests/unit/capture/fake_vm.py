"""A VM service in a thread: a real WebSocket server that speaks the protocol.

What it does wrong, a test says: a subclass, or a `Script` of frames.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from tests.dumps.dartheap import large_snapshot, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

TOKEN = "/s3cret="
MAIN = {
    "type": "@Isolate",
    "id": "isolates/11",
    "name": "main",
    "number": "11",
    "isSystemIsolate": False,
    "isolateGroupId": "isolateGroups/1",
}
WORKER = {**MAIN, "id": "isolates/12", "name": "worker", "number": "12"}
OTHER = {
    **MAIN,
    "id": "isolates/21",
    "name": "plugin",
    "number": "21",
    "isolateGroupId": "isolateGroups/2",
}
SERVICE = {
    **MAIN,
    "id": "isolates/99",
    "name": "vm-service",
    "number": "99",
    "isSystemIsolate": True,
    "isolateGroupId": "isolateGroups/9",
}
HEAP = large_snapshot(600, 1500, kinds=20)
SMALL = program().bytes()


def frame(
    piece: bytes,
    *,
    last: bool,
    isolate: dict[str, Any] | None = MAIN,
    padding: int = 0,
    kind: str = "HeapSnapshot",
    offset: int | None = None,
) -> bytes:
    """One binary frame as the VM makes it."""
    event: dict[str, Any] = {"type": "Event", "kind": kind, "last": last}
    if isolate is not None:
        event["isolate"] = isolate
    parameters = {"streamId": kind, "event": event}
    told = {"jsonrpc": "2.0", "method": "streamNotify", "params": parameters}
    text = json.dumps(told).encode() + b" " * padding
    start = 4 + len(text) if offset is None else offset
    return start.to_bytes(4, "little") + text + piece


def split(heap: bytes, *sizes: int) -> list[bytes]:
    """``heap`` as frames of those sizes, and one with the rest."""
    pieces, at = [], 0
    for size in sizes:
        pieces.append(heap[at : at + size])
        at += size
    pieces.append(heap[at:])
    return [
        frame(piece, last=number == len(pieces), padding=37 * number)
        for number, piece in enumerate(pieces, start=1)
    ]


class FakeVm:
    """Answers as a VM does; sends ``frames`` when a snapshot is asked for.

    Attributes:
        frames: Binary and text frames, in order; a number is a pause in seconds,
            ``None`` closes the connection.
        results: Answers that differ, by method: an object to send as ``result``,
            or with ``error`` in it as it is.
        asked: Methods that came, each with its parameters.
    """

    def __init__(
        self,
        frames: Sequence[bytes | str | float | None] | None = None,
        results: dict[str, Any] | None = None,
        isolates: tuple[dict[str, Any], ...] = (MAIN,),
    ) -> None:
        self.frames = split(HEAP) if frames is None else frames
        self.results = results or {}
        self.isolates = isolates
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.closed = threading.Event()
        self.hurry = threading.Event()

    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]

    def answer(self, method: str) -> dict[str, Any] | None:
        """The result, or something with ``error``; ``None`` is silence."""
        if method in self.results:
            found: dict[str, Any] | None = self.results[method]
            return found
        if method == "getVersion":
            return {"type": "Version", "major": 4, "minor": 16}
        if method == "getVM":
            return {
                "type": "VM",
                "version": "3.7.3 (stable)",
                "isolates": list(self.isolates),
                "systemIsolates": [SERVICE],
            }
        return {"type": "Success"}

    def handle(self, connection: ServerConnection) -> None:
        try:
            for text in connection:
                request = json.loads(text)
                method = request["method"]
                self.asked.append((method, request["params"]))
                result = self.answer(method)
                if result is None:
                    continue
                told = result if "error" in result else {"result": result}
                connection.send(
                    json.dumps({"jsonrpc": "2.0", "id": request["id"], **told})
                )
                if method == "requestHeapSnapshot" and "error" not in told:
                    self.send_snapshot(connection)
        except ConnectionClosed:
            pass
        finally:
            self.closed.set()

    def send_snapshot(self, connection: ServerConnection) -> None:
        for entry in self.frames:
            if entry is None:
                connection.close()
            elif isinstance(entry, bytes | str):
                connection.send(entry)
            else:
                self.hurry.wait(entry)


@contextmanager
def serving(
    vm: FakeVm,
    refuse: Callable[[ServerConnection, Request], Response | None] | None = None,
) -> Iterator[str]:
    """``vm`` on a port of loopback; yields the address as a VM prints it."""

    def check_token(connection: ServerConnection, request: Request) -> Response | None:
        if request.path != f"{TOKEN}/ws":
            return connection.respond(403, "missing or invalid authentication code")
        return None

    with serve(
        vm.handle,
        "127.0.0.1",
        0,
        process_request=refuse or check_token,
        compression=None,
        max_size=None,
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}{TOKEN}/"
        finally:
            vm.hurry.set()
            server.shutdown()
            thread.join()
