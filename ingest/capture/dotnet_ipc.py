"""The diagnostics port of a running .NET program: one command per connection.

A command is a header and a payload; so is the reply::

    14 bytes   DOTNET_IPC_V1 and a zero
    uint16 LE  size, including the header
    uint8      command set; 0xFF in a reply
    uint8      command; in a reply 0x00 for success and 0xFF for an error
    uint16     zero

The reply to CollectTracing is the number of a session. Its events follow on the same
connection until StopTracing, on another one, names that session. The program does not
answer before the rest of the stream is read, so both connections are served at once
here. Nothing that the program sends is trusted.

Runtime 3.1.23 crashes (SIGSEGV, reproduced) if the client disconnects between
CollectTracing and the reply. So a program must first have answered a harmless command,
and then the reply is awaited in any case, on Ctrl-C too. Disconnecting at any other
time, even within a request, does no harm (tested).

Source: dotnet/diagnostics, documentation/design-docs/ipc-protocol.md. Tested
with runtime 3.1.23, which has CollectTracing2 (0x0203) but no ProcessInfo (0x0400).
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ingest.capture.processes import LOOK, check_listener, check_socket
from ingest.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"DOTNET_IPC_V1\0"
STOP_TRACING = 0x0201
COLLECT_TRACING = 0x0202
COLLECT_TRACING_2 = 0x0203
PROCESS_INFO = 0x0400
OK, REFUSED = 0xFF00, 0xFFFF
UNKNOWN_COMMAND = 0x80131385

_HEADER = struct.Struct("<14sHBBH")
_NETTRACE = 1
_PIECE_BYTES = 1 << 20
_CLOSE_S = 3.0
PATIENCE_S = 60.0
"""Minimum time to wait for a session to begin: disconnecting earlier does harm."""
_MEANINGS = {
    0x80131384: "the request is malformed",
    UNKNOWN_COMMAND: "unknown command",
    0x80131386: "unknown version of the protocol",
    0x80131387: "internal error",
    0x80070057: "invalid argument",
    0x8007000E: "out of memory",
    0x80004001: "not implemented",
    0x80004005: "unspecified failure",
    0x80070005: "access denied",
    0x8000FFFF: "unexpected failure",
}


class Port(NamedTuple):
    """The diagnostics port of a program.

    Attributes:
        path: Its socket.
        pid: The process that must be at the other end.
    """

    path: Path
    pid: int


@dataclass(frozen=True, slots=True)
class Provider:
    """One source of events to enable.

    Attributes:
        name: Such as ``Microsoft-Windows-DotNETRuntime``.
        keywords: Bit mask of event groups.
        level: 5 for everything.
    """

    name: str
    keywords: int
    level: int = 5


class Refusal(CaptureError):
    """The program replied with an error.

    Attributes:
        code: The HRESULT.
    """

    def __init__(self, what: str, code: int) -> None:
        meaning = _MEANINGS.get(code, "unknown error")
        super().__init__(
            f"the program refuses {what}: {meaning} (0x{code:08X}); its runtime may "
            "be older than .NET Core 3.0, or be shutting down"
        )
        self.code = code


def text(value: str) -> bytes:
    """A string of the protocol: length in UTF-16 units, the units, a zero."""
    units = (value + "\0").encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def collect_request(command: int, providers: tuple[Provider, ...], mib: int) -> bytes:
    """The payload that requests a session, without rundown if that is possible."""
    payload = struct.pack("<II", mib, _NETTRACE)
    if command == COLLECT_TRACING_2:
        payload += b"\0"
    payload += struct.pack("<I", len(providers))
    for entry in providers:
        payload += struct.pack("<QI", entry.keywords, entry.level)
        payload += text(entry.name) + struct.pack("<I", 0)
    return payload


class Session:
    """A session: events of a program as they arrive.

    Attributes:
        number: Its id in the program.
    """

    def __init__(self, port: Port, connection: socket.socket, number: int) -> None:
        self._port = port
        self._connection = connection
        self._ended = False
        self.number = number

    def read(self, wait_s: float) -> bytes | None:
        """More of the stream; empty at the end, ``None`` if none arrived in time.

        Raises:
            CaptureError: the connection is lost.
        """
        self._connection.settimeout(max(wait_s, 0.001))
        try:
            piece = self._connection.recv(_PIECE_BYTES)
        except TimeoutError:
            return None
        except OSError as error:
            raise _lost(error) from error
        self._ended = not piece
        return piece

    def stop(self, timeout_s: float) -> Iterator[bytes]:
        """End the session; yields the rest of the stream.

        Raises:
            CaptureError: the program refuses, or does not answer.
        """
        with _connected(self._port, timeout_s) as other:
            _send(other, STOP_TRACING, struct.pack("<Q", self.number))
            answer = b""
            waits_until = time.monotonic() + timeout_s
            with selectors.DefaultSelector() as waiting:
                waiting.register(other, selectors.EVENT_READ)
                if not self._ended:
                    waiting.register(self._connection, selectors.EVENT_READ)
                while waiting.get_map():
                    ready = waiting.select(max(waits_until - time.monotonic(), 0))
                    if not ready:
                        raise _silent("does not end its session", timeout_s)
                    waits_until = time.monotonic() + timeout_s
                    for key, _ in ready:
                        if key.fileobj is other:
                            piece = _received(other)
                            answer += piece
                            if not piece or _is_complete(answer):
                                waiting.unregister(other)
                            continue
                        piece = self.read(timeout_s) or b""
                        if piece:
                            yield piece
                        else:
                            waiting.unregister(self._connection)
        _payload(answer, "to end the session")

    def abandon(self) -> None:
        """Stop and discard the rest, for a few seconds at most; ignores errors."""
        until = time.monotonic() + _CLOSE_S
        if self._ended:
            return
        with suppress(CaptureError, OSError):
            for _ in self.stop(_CLOSE_S):
                if time.monotonic() > until:
                    break

    def drain(self, timeout_s: float) -> None:
        """Stop, and discard the rest.

        Raises:
            CaptureError: as `stop` does.
        """
        for _ in self.stop(timeout_s):
            pass


@contextmanager
def session(
    port: Port, providers: tuple[Provider, ...], *, mib: int, timeout_s: float
) -> Iterator[Session]:
    """A session that ends with the block.

    Args:
        port: The socket of the program.
        providers: The sources of events.
        mib: How much the program may buffer.
        timeout_s: How long to wait for the answer.

    Raises:
        CaptureError: the program cannot be reached, or refuses.
    """
    _greet(port, timeout_s)
    with ExitStack() as stack:
        try:
            begun = stack.enter_context(
                _begun(port, COLLECT_TRACING_2, providers, mib, timeout_s)
            )
        except Refusal as refusal:
            if refusal.code != UNKNOWN_COMMAND:
                raise
            begun = stack.enter_context(
                _begun(port, COLLECT_TRACING, providers, mib, timeout_s)
            )
        try:
            yield begun
        finally:
            begun.abandon()


@contextmanager
def _begun(
    port: Port,
    command: int,
    providers: tuple[Provider, ...],
    mib: int,
    timeout_s: float,
) -> Iterator[Session]:
    with _connected(port, timeout_s) as connection:
        answer = bytearray()
        try:
            _send(connection, command, collect_request(command, providers, mib))
            _fill(connection, answer, max(timeout_s, PATIENCE_S))
            begun = Session(port, connection, _session_number(bytes(answer)))
        except CaptureError:
            raise
        except BaseException:
            with suppress(CaptureError, OSError):
                _fill(connection, answer, PATIENCE_S)
                Session(port, connection, _session_number(bytes(answer))).abandon()
            raise
        yield begun


def _session_number(answer: bytes) -> int:
    payload = _payload(answer, "to send events")
    if len(payload) < 8:
        raise _strange(answer)
    return int.from_bytes(payload[:8], "little")


def _greet(port: Port, timeout_s: float) -> None:
    """Check that the program answers; the answer does not matter.

    Raises:
        CaptureError: it does not.
    """
    with _connected(port, timeout_s) as connection:
        _send(connection, PROCESS_INFO, b"")
        answer = bytearray()
        _fill(connection, answer, timeout_s)
        with suppress(Refusal):
            _payload(bytes(answer), "for its process information")


@contextmanager
def _connected(port: Port, timeout_s: float) -> Iterator[socket.socket]:
    """A connection to a port, closed at the end; nobody else's is spoken to."""
    path, pid = port
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            check_socket(path, pid)
            connection.connect(os.fspath(path))
            check_listener(connection, path, pid)
        except TimeoutError as error:
            raise _silent("does not accept a connection", timeout_s) from error
        except PermissionError as error:
            raise CaptureError(
                f"{path} belongs to another user; run this as that user, or as root"
            ) from error
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise CaptureError(
                f"nothing listens at {path}: the program has ended; {LOOK}"
            ) from error
        except OSError as error:
            why = error.strerror or str(error)
            raise CaptureError(f"{path} cannot be reached ({why}); {LOOK}") from error
        yield connection


def _send(connection: socket.socket, command: int, payload: bytes) -> None:
    size = _HEADER.size + len(payload)
    header = _HEADER.pack(MAGIC, size, command >> 8, command & 0xFF, 0)
    try:
        connection.sendall(header + payload)
    except TimeoutError as error:
        raise _silent(
            "does not accept a request", connection.gettimeout() or 0
        ) from error
    except OSError as error:
        raise _lost(error) from error


def _received(connection: socket.socket, size: int = _PIECE_BYTES) -> bytes:
    try:
        return connection.recv(size)
    except OSError as error:
        raise _lost(error) from error


def _fill(connection: socket.socket, answer: bytearray, timeout_s: float) -> None:
    """Read exactly one reply."""
    until = time.monotonic() + timeout_s
    while not _is_complete(answer):
        connection.settimeout(max(until - time.monotonic(), 0.001))
        try:
            piece = connection.recv(_size(answer) - len(answer))
        except TimeoutError as error:
            raise _silent("does not answer", timeout_s) from error
        except OSError as error:
            raise _lost(error) from error
        if not piece:
            break
        answer += piece


def _size(answer: bytes | bytearray) -> int:
    """Size of the reply that begins so; of its header, if that is incomplete.

    Raises:
        CaptureError: it is not a reply.
    """
    if not MAGIC.startswith(answer[: len(MAGIC)]):
        raise _strange(answer)
    if len(answer) < _HEADER.size:
        return _HEADER.size
    size = int.from_bytes(answer[14:16], "little")
    if size < _HEADER.size:
        raise _strange(answer)
    return size


def _is_complete(answer: bytes | bytearray) -> bool:
    return len(answer) >= _HEADER.size and len(answer) >= _size(answer)


def _payload(answer: bytes, what: str) -> bytes:
    """The payload of a reply.

    Raises:
        CaptureError: it is an error, or not a reply.
    """
    if not answer:
        raise CaptureError(
            f"the program disconnected when asked {what}; it may be ending or busy: "
            "try again"
        )
    if not _is_complete(answer):
        raise _strange(answer)
    kind = int.from_bytes(answer[16:18], "big")
    payload = answer[_HEADER.size : _size(answer)]
    if kind == REFUSED and len(payload) >= 4:
        raise Refusal(what, int.from_bytes(payload[:4], "little"))
    if kind != OK:
        raise _strange(answer)
    return payload


def _strange(answer: bytes | bytearray) -> CaptureError:
    return CaptureError(
        f"this is not a .NET diagnostics port (it answers {answer[:20].hex()}); {LOOK}"
    )


def _silent(what: str, timeout_s: float) -> CaptureError:
    return CaptureError(
        f"the program {what} within {timeout_s:g} s: it is stopped, or needs more "
        "time: --timeout"
    )


def _lost(error: OSError) -> CaptureError:
    why = error.strerror or str(error) or type(error).__name__
    return CaptureError(f"connection to the program lost ({why}); it may have ended")
