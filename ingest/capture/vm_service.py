"""The VM service of a running Dart program: requests and events of one connection.

JSON-RPC over a WebSocket: ``streamListen`` to the stream HeapSnapshot, then
``requestHeapSnapshot`` for one isolate. The snapshot arrives in binary frames::

    uint32 LE  data offset, counted from the start of the frame
    UTF-8      JSON of a ``streamNotify``, padded with blanks up to that offset
    bytes      the next part of the snapshot, split anywhere

The last one has ``"last": true``. Nothing that the program sends is trusted: frames,
texts and waits are bounded.

Source: dart-lang/sdk, runtime/vm/service/service.md (protocol 4),
runtime/vm/service.cc, runtime/vm/object_graph.cc. Seen on a VM 3.7.3.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.capture import web_socket
from ingest.errors import CaptureError
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import ClientConnection

MAGIC = b"dartheap"
STREAM = "HeapSnapshot"

_JSON_BYTES = 4 << 20
"""Largest JSON text: some ten thousand isolates."""
_TOO_BIG = 1009
"""WebSocket status for a frame over the limit (RFC 6455, section 7.4.1)."""
_SHOWN_LENGTH = 200
_START = (
    "start the program with `dart run --enable-vm-service` (or --observe) and copy "
    "the address that it prints"
)


@dataclass(frozen=True, slots=True)
class Isolate:
    """One isolate of a running program.

    Attributes:
        id: Id in the VM service, such as ``isolates/123``.
        name: Such as ``main``; not unique.
        number: The digits of the id.
        group: Id of its isolate group, which shares a heap.
        is_system: Whether it belongs to the VM, such as the service itself.
    """

    id: str
    name: str
    number: str
    group: str
    is_system: bool


@dataclass(frozen=True, slots=True)
class Program:
    """The program in the VM.

    Attributes:
        vm_version: As reported by the VM.
        isolates: The program's, then the VM's own.
    """

    vm_version: str
    isolates: tuple[Isolate, ...]


class VmService:
    """One connection to a VM service."""

    def __init__(
        self, connection: ClientConnection, place: str, timeout_s: float
    ) -> None:
        self._connection = connection
        self._place = place
        self._timeout_s = timeout_s
        self._waits_until = 0.0
        self._requests = 0

    def protocol(self) -> str:
        """Version of the protocol, which only a VM service reports.

        Raises:
            CaptureError: this is not a VM service, or it does not answer.
        """
        version = self.call("getVersion")
        if version.get("type") != "Version":
            raise self._is_none()
        return f"{_text(version.get('major'))}.{_text(version.get('minor'))}"

    def program(self) -> Program:
        """The program in the VM.

        Raises:
            CaptureError: there is no answer.
        """
        vm = self.call("getVM")
        isolates: list[Isolate] = []
        for key in ("isolates", "systemIsolates"):
            entries = vm.get(key)
            isolates += [
                _isolate(entry, is_system=key != "isolates")
                for entry in (entries if isinstance(entries, list) else ())
                if isinstance(entry, dict) and isinstance(entry.get("id"), str)
            ]
        return Program(_text(vm.get("version")), tuple(isolates))

    def call(self, method: str, **parameters: str) -> dict[str, Any]:
        """Send a request, and wait for the result.

        Raises:
            CaptureError: the answer is an error or a sentinel, or there is none.
        """
        request = self._send(method, parameters)
        while True:
            message = self._receive(f"no answer to {method}")
            if isinstance(message, str):
                answer = self._object(message)
                if answer.get("id") == request:
                    return self._result(answer, method)

    def snapshot(self, isolate: Isolate) -> Iterator[memoryview]:
        """Parts of a snapshot of ``isolate``'s heap, none of them empty.

        Raises:
            CaptureError: it does not arrive, is incomplete, or is not a snapshot.
        """
        self.call("streamListen", streamId=STREAM)
        method = "requestHeapSnapshot"
        request = self._send(method, {"isolateId": isolate.id})
        begun = b""
        byte_count = 0
        last = False
        while not last:
            message = self._receive(
                f"the snapshot stopped after {counted(byte_count, 'bytes')}"
                if byte_count
                else f"isolate {isolate.name} does not start its snapshot"
            )
            if isinstance(message, str):
                answer = self._object(message)
                if answer.get("id") == request:
                    self._result(answer, method)
                continue
            event, piece = self._event(message)
            if not _is_piece(event, isolate):
                continue
            last = event.get("last") is True
            if not piece:
                continue
            begun += bytes(piece[: len(MAGIC) - len(begun)])
            if not MAGIC.startswith(begun):
                raise CaptureError(
                    f"{self._place} does not send a heap snapshot; if another client "
                    "is capturing one, try again later"
                )
            byte_count += len(piece)
            self._wait_anew()
            yield piece
        if begun != MAGIC:
            raise CaptureError(f"the snapshot has only {counted(byte_count, 'bytes')}")
        self._cancel()

    def _cancel(self) -> None:
        """Leave the stream; the snapshot is complete, so errors are ignored."""
        self._timeout_s = min(self._timeout_s, web_socket.CLOSE_S)
        with suppress(CaptureError):
            self.call("streamCancel", streamId=STREAM)

    def _send(self, method: str, parameters: dict[str, str]) -> str:
        from websockets.exceptions import ConnectionClosed

        self._requests += 1
        request = str(self._requests)
        message = {
            "jsonrpc": "2.0",
            "id": request,
            "method": method,
            "params": parameters,
        }
        try:
            self._connection.send(json.dumps(message))
        except ConnectionClosed as error:
            raise self._lost(f"no answer to {method}", error) from error
        self._wait_anew()
        return request

    def _wait_anew(self) -> None:
        """Restart the timeout, after something has arrived."""
        self._waits_until = time.monotonic() + self._timeout_s

    def _receive(self, missing: str) -> str | bytes:
        """The next frame; unrelated events do not restart the timeout."""
        from websockets.exceptions import ConnectionClosed

        left = self._waits_until - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            return self._connection.recv(timeout=left)
        except TimeoutError as error:
            raise CaptureError(
                f"{missing} (waited {self._timeout_s:g} s); the program may be running "
                "native code, or need more time: --timeout"
            ) from error
        except ConnectionClosed as error:
            raise self._lost(missing, error) from error

    def _lost(self, missing: str, error: ConnectionClosed) -> CaptureError:
        if error.sent is not None and error.sent.code == _TOO_BIG:
            most = web_socket.FRAME_BYTES >> 20
            return CaptureError(
                f"{self._place} sends a frame larger than {most} MiB; it is not a VM "
                "service"
            )
        return CaptureError(f"{missing}: connection lost; the program may have ended")

    def _event(self, frame: bytes) -> tuple[dict[str, Any], memoryview]:
        """The event of a binary frame, and the data after it."""
        offset = int.from_bytes(frame[:4], "little")
        if len(frame) < 4 or not 4 <= offset <= len(frame):
            raise CaptureError(
                f"a frame of {counted(len(frame), 'bytes')} "
                f"has its data at offset {offset:,}; "
                f"{self._place} is not a supported VM service"
            )
        message = self._object(frame[4:offset])
        parameters = message.get("params")
        event = parameters.get("event") if isinstance(parameters, dict) else None
        return event if isinstance(event, dict) else {}, memoryview(frame)[offset:]

    def _object(self, text: str | bytes) -> dict[str, Any]:
        """A JSON object; a VM service sends nothing else."""
        if len(text) > _JSON_BYTES:
            raise CaptureError(
                f"{self._place} sends JSON larger than {_JSON_BYTES >> 20} MiB; it is "
                "not a VM service"
            )
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._is_none() from error
        if not isinstance(found, dict):
            raise self._is_none()
        return found

    def _result(self, answer: dict[str, Any], method: str) -> dict[str, Any]:
        if (error := answer.get("error")) is not None:
            refusal = error if isinstance(error, dict) else {"message": error}
            data = refusal.get("data")
            details = data.get("details") if isinstance(data, dict) else None
            why = _text(details or refusal.get("message"))
            raise CaptureError(f"the VM refuses {method}: {why or 'no reason given'}")
        result = answer.get("result")
        if not isinstance(result, dict):
            raise self._is_none()
        if result.get("type") == "Sentinel":
            raise CaptureError(
                f"the isolate has ended ({method} returned "
                f"{_text(result.get('valueAsString'))}); try again"
            )
        return result

    def _is_none(self) -> CaptureError:
        return CaptureError(_no_service(self._place))


def _isolate(entry: dict[str, Any], *, is_system: bool) -> Isolate:
    """An isolate from ``getVM``; an old VM has no groups, but a heap for each."""
    return Isolate(
        entry["id"],
        _text(entry.get("name")),
        _text(entry.get("number")),
        _text(entry.get("isolateGroupId")) or entry["id"],
        is_system or entry.get("isSystemIsolate") is True,
    )


def _is_piece(event: dict[str, Any], isolate: Isolate) -> bool:
    """Whether an event belongs to our snapshot, not to another client's."""
    if event.get("kind") != STREAM:
        return False
    sender = event.get("isolate")
    sender_id = sender.get("id") if isinstance(sender, dict) else None
    return sender_id is None or sender_id == isolate.id


@contextmanager
def connected(place: str, timeout_s: float) -> Iterator[VmService]:
    """A connection to the VM service at ``place``, closed at the end.

    Raises:
        CaptureError: none can be made.
    """
    from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

    try:  # only errors of opening are explained here
        connection = web_socket.open_socket(place, timeout_s)
    except InvalidStatus as error:
        raise CaptureError(_refusal(place, error.response.status_code)) from error
    except TimeoutError as error:
        raise CaptureError(
            f"no answer from {place} within {timeout_s:g} s: the program is "
            f"stopped, or this is not a Dart VM service; {_START}"
        ) from error
    except (InvalidHandshake, InvalidURI, EOFError) as error:
        raise CaptureError(_no_service(place)) from error
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise CaptureError(f"nothing answers at {place} ({why}); {_START}") from error
    with connection:
        yield VmService(connection, place, timeout_s)


def _no_service(place: str, also: str = "") -> str:
    return f"{place} is not a Dart VM service{also}; {_START}"


def _refusal(place: str, status: int) -> str:
    if status == 403:
        return (
            f"the VM service at {place} denies access (403): the token in the address "
            "is missing or outdated; copy the complete address that the program "
            "printed, including TOKEN=/"
        )
    return _no_service(place, f" (HTTP {status})")


def _text(value: object) -> str:
    """A value of an answer as text, of bounded length."""
    return "" if value is None else short(str(value))


def short(text: str) -> str:
    """``text``, or its beginning if it is long."""
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"
