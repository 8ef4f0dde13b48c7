"""The inspector of V8: its targets, and heap snapshots of one of them.

HTTP tells the targets (``/json/list``); each has a WebSocket for requests and events in
JSON. ``HeapProfiler.takeHeapSnapshot`` sends the snapshot as events with text before it
answers. Nothing that the program sends is trusted: texts and waits are bounded.

Source: the Chrome DevTools Protocol, domain HeapProfiler; nodejs/node,
src/inspector_socket_server.cc. Seen on Node 20.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ingest.capture import QUIET_S
from ingest.capture.web_socket import open_socket
from ingest.errors import CaptureError
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from websockets.sync.client import ClientConnection

_LIST_BYTES = 4 << 20
"""Largest list of targets: some ten thousand pages."""
_MOST_TEXT = 200
_CHUNK = "HeapProfiler.addHeapSnapshotChunk"
_PROGRESS = "HeapProfiler.reportHeapSnapshotProgress"
_GONE = ("Inspector.detached", "Inspector.targetCrashed")
_ATTACHED, _DETACHED = "Target.attachedToTarget", "Target.detachedFromTarget"


@dataclass(frozen=True, slots=True)
class InspectedTarget:
    """A target of an inspector: a program, a page, a worker.

    Attributes:
        id: Id in the inspector.
        kind: ``node``, ``page``, ``worker``, ...
        title: Title of the page, or the program's script.
        url: URL of what it runs.
        path: Path of its WebSocket.
    """

    id: str
    kind: str
    title: str
    url: str
    path: str


@dataclass(frozen=True, slots=True)
class InspectorAddress:
    """Where an inspector listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """As in an address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def place_of(address: str) -> InspectorAddress:
    """Parse ``HOST:PORT``, or the address of an inspector that a program has printed.

    Raises:
        CaptureError: it is no such address.
    """
    text = address.strip()
    try:
        parts = urlsplit(text if "://" in text else f"ws://{text}")
        if not parts.hostname or not parts.port:
            raise ValueError(text)
    except ValueError as error:
        raise CaptureError(
            f"{_short(text)} is not the address of an inspector, such as 127.0.0.1:9229"
        ) from error
    return InspectorAddress(parts.hostname, parts.port)


def get(place: InspectorAddress, path: str, timeout_s: float) -> Any:  # noqa: ANN401
    """What an inspector answers to a request, as JSON.

    Raises:
        CaptureError: nothing answers there, or it is no inspector.
    """
    connection = http.client.HTTPConnection(place.host, place.port, timeout=timeout_s)
    # A byte now and then would restart the timeout of the socket.
    late = threading.Event()
    timer = threading.Timer(timeout_s, _shut, (connection, late))
    timer.daemon = True
    try:
        timer.start()
        connection.request("GET", path)
        response = connection.getresponse()
        data = response.read(_LIST_BYTES + 1)
        status = response.status
        if late.is_set():
            raise TimeoutError
    except (OSError, http.client.HTTPException) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise CaptureError(
                f"no answer from {place} within {timeout_s:g} s: the program is "
                "stopped or busy, or this is no inspector"
            ) from error
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CaptureError(f"nothing answers at {place} ({_short(why)})") from error
    finally:
        timer.cancel()
        connection.close()
    try:
        if status != http.HTTPStatus.OK or len(data) > _LIST_BYTES:
            raise ValueError(status)
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{place} is not an inspector of V8") from error


def _shut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    late.set()
    with suppress(OSError, AttributeError):  # it is not connected, or no more
        connection.sock.shutdown(socket.SHUT_RDWR)


def targets(place: InspectorAddress, timeout_s: float) -> tuple[InspectedTarget, ...]:
    """What can be inspected at a place.

    Raises:
        CaptureError: nothing answers there, or it is no inspector.
    """
    listed = get(place, "/json/list", timeout_s)
    if not isinstance(listed, list):
        raise CaptureError(f"{place} is not an inspector of V8")
    found = []
    for entry in listed:
        if not isinstance(entry, dict):
            continue
        address = entry.get("webSocketDebuggerUrl")
        if not isinstance(address, str):
            continue  # another client has it
        words = [_short(str(entry.get(name) or "")) for name in ("id", "type", "title")]
        url = _short(str(entry.get("url") or ""))
        path = urlsplit(address).path
        found.append(InspectedTarget(words[0], words[1], words[2], url, path))
    return tuple(found)


class InspectorSession:
    """One connection to a target, or by way of the page that has started it."""

    def __init__(
        self, connection: ClientConnection, target: InspectedTarget, timeout_s: float
    ) -> None:
        self._connection, self._target = connection, target
        self._timeout_s = timeout_s
        self._session: str | None = None
        self._waits_until = self._until = 0.0
        self._requests = 0

    def heap_bytes(self) -> int | None:
        """What the target's heap has in use; ``None`` if it does not tell.

        Raises:
            CaptureError: it does not answer, or ends.
        """
        self._until = time.monotonic() + self._timeout_s
        request = self._send("Runtime.getHeapUsage", {})
        while (message := self._receive(0)).get("id") != request:
            if self._is_gone(message):
                raise self._ended(0)
        told = message.get("result")
        used = told.get("usedSize") if isinstance(told, dict) else None
        is_size = isinstance(used, int | float) and 0 <= used < 1 << 62
        return int(used) if used is not None and is_size else None

    def attach(self, worker: InspectedTarget) -> bool:
        """Go on with a worker that this page has started; whether it has.

        A browser does not answer at the worker's own address.
        """
        self._until = time.monotonic() + self._timeout_s
        how = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        request = self._send("Target.setAutoAttach", how)
        while (message := self._receive(0)).get("id") != request:
            told = message.get("params") if message.get("method") == _ATTACHED else {}
            told = told if isinstance(told, dict) else {}
            info, session = told.get("targetInfo"), told.get("sessionId")
            is_it = isinstance(info, dict) and info.get("targetId") == worker.id
            if is_it and isinstance(session, str):
                self._session, self._target = session, worker
        return self._session is not None

    def _is_gone(self, message: dict[str, Any]) -> bool:
        """Whether an event says that the target has ended, not another worker."""
        method, of = message.get("method"), message
        if method == _DETACHED:  # told in the session of the page
            of = message["params"] if isinstance(message.get("params"), dict) else {}
        return method in (*_GONE, _DETACHED) and of.get("sessionId") == self._session

    def snapshot(self, *, numbers: bool = False) -> Iterator[bytes]:
        """Parts of a snapshot of the target's heap, none of them empty.

        Args:
            numbers: Whether V8 records the values of numbers.

        Raises:
            CaptureError: it does not arrive, or the target ends.
        """
        self._until = time.monotonic() + self._timeout_s
        asked = {"reportProgress": True}
        if numbers:
            asked["captureNumericValue"] = True
        request = self._send("HeapProfiler.takeHeapSnapshot", asked)
        byte_count = 0
        while True:
            message = self._receive(byte_count)
            method = message.get("method")
            if method in (_CHUNK, _PROGRESS):
                self._wait_anew()
            if self._is_gone(message):
                raise self._ended(byte_count)
            if method == _CHUNK:
                parameters = message.get("params")
                text = parameters.get("chunk") if isinstance(parameters, dict) else None
                if not isinstance(text, str):
                    raise self._is_none()
                if text:
                    piece = text.encode("utf-8", "replace")
                    byte_count += len(piece)
                    yield piece
            elif message.get("id") == request:
                if (error := message.get("error")) is not None:
                    why = error.get("message") if isinstance(error, dict) else error
                    raise CaptureError(
                        f"{self._target.title} refuses a snapshot: {_short(str(why))}"
                    )
                return

    def _send(self, method: str, parameters: dict[str, Any]) -> int:
        from websockets.exceptions import ConnectionClosed

        self._requests += 1
        message = {"id": self._requests, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        try:
            self._connection.send(json.dumps(message))
        except ConnectionClosed as error:
            raise self._ended(0) from error
        self._wait_anew()
        return self._requests

    def _wait_anew(self) -> None:
        """Wait anew, after something of the snapshot has arrived, but not for ever."""
        self._waits_until = min(time.monotonic() + QUIET_S, self._until)

    def _receive(self, byte_count: int) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        try:
            left = self._waits_until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            text = self._connection.recv(timeout=left)
        except TimeoutError as error:
            raise CaptureError(
                f"the snapshot stopped after {counted(byte_count, 'bytes')} (waited "
                f"{self._timeout_s:g} s); the program may be stopped in a debugger, or "
                "need more time: --timeout"
            ) from error
        except ConnectionClosed as error:
            raise self._ended(byte_count) from error
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._is_none() from error
        if not isinstance(found, dict):
            raise self._is_none()
        return found

    def _ended(self, byte_count: int) -> CaptureError:
        return CaptureError(
            f"connection lost after {counted(byte_count, 'bytes')}: "
            f"{self._target.title} has "
            "ended, was closed, or ran out of memory while it wrote its heap"
        )

    def _is_none(self) -> CaptureError:
        return CaptureError(
            f"{self._target.title} does not answer like an inspector of V8"
        )


@contextmanager
def inspecting(
    place: InspectorAddress, target: InspectedTarget, timeout_s: float
) -> Iterator[InspectorSession]:
    """A connection to a target, closed at the end.

    Raises:
        CaptureError: none can be made.
    """
    pages = targets(place, timeout_s) if target.kind == "worker" else ()
    for page in [one for one in pages if one.kind in ("page", "iframe")]:
        with inspecting(place, page, timeout_s) as session:
            if session.attach(target):
                yield session
                return
    from websockets.exceptions import InvalidHandshake, InvalidURI

    try:  # only errors of opening are explained here
        connection = open_socket(f"ws://{place}{target.path}", timeout_s)
    except (InvalidHandshake, InvalidURI, EOFError, OSError) as error:
        raise CaptureError(
            f"{place} does not let {target.title} be inspected "
            f"({_short(str(error) or type(error).__name__)}); another debugger may "
            "be connected to it"
        ) from error
    with connection:
        try:
            yield InspectorSession(connection, target, timeout_s)
        finally:
            # Without a farewell, which a program that goes on sending would not hear.
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"
