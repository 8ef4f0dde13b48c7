"""The diagnostics port of a running .NET program: one command a connection.

A command is a header and a payload; so is the reply::

    14 bytes   DOTNET_IPC_V1 and a zero
    uint16 LE  size of all, header included
    uint8      set of commands; 0xFF in a reply
    uint8      command; in a reply 0x00 for done and 0xFF for refused
    uint16     zero

CollectTracing is answered with the number of a session, and then its events come
on the same connection until StopTracing, on another one, names that session. The
program waits with the end of the stream until it is read, so both connections are
served at once here. Nothing that the other side sends is trusted.

A runtime 3.1.23 dies (SIGSEGV, tried) when the asker hangs up after CollectTracing
and before its answer. So nothing is asked of a program before it has answered to
something harmless, and then the answer is waited for whatever happens, Ctrl-C too.
Hanging up at any other time, or in the middle of a request, does it no harm (tried).

Source: dotnet/diagnostics, documentation/design-docs/ipc-protocol.md. Seen on a
runtime 3.1.23, which knows CollectTracing2 (0x0203) but no ProcessInfo (0x0400).
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
"""Least time to wait for a session to begin, for hanging up earlier does harm."""
_MEANINGS = {
    0x80131384: "it cannot make sense of the request",
    UNKNOWN_COMMAND: "it does not know the command",
    0x80131386: "it does not know this version of the protocol",
    0x80131387: "it refuses for an error of its own",
    0x80070057: "it finds a parameter wrong",
    0x8007000E: "it has no memory left for it",
    0x80004001: "it cannot do that",
    0x80004005: "it failed, and says no more",
    0x80070005: "it denies access",
    0x8000FFFF: "it failed in a way that it did not foresee",
}


@dataclass(frozen=True, slots=True)
class Provider:
    """What to be told by one source of events.

    Attributes:
        name: Such as ``Microsoft-Windows-DotNETRuntime``.
        keywords: Bits of the groups of events.
        level: 5 for everything.
    """

    name: str
    keywords: int
    level: int = 5


class Refusal(CaptureError):
    """The program answers with an error.

    Attributes:
        code: The HRESULT.
    """

    def __init__(self, what: str, code: int) -> None:
        meaning = _MEANINGS.get(code, "an error that has no name here")
        super().__init__(
            f"the program refuses {what}: {meaning} (0x{code:08X}); its runtime may "
            "be too old (3.0 has the first diagnostics port) or be shutting down"
        )
        self.code = code


def text(value: str) -> bytes:
    """A string as the protocol has it: length in units, the units, a zero."""
    units = (value + "\0").encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def collect_request(command: int, providers: tuple[Provider, ...], mib: int) -> bytes:
    """The payload that asks for a session, without rundown where one may say so."""
    payload = struct.pack("<II", mib, _NETTRACE)
    if command == COLLECT_TRACING_2:
        payload += b"\0"
    payload += struct.pack("<I", len(providers))
    for entry in providers:
        payload += struct.pack("<QI", entry.keywords, entry.level)
        payload += text(entry.name) + struct.pack("<I", 0)
    return payload


class Session:
    """Events of a program, as they come.

    Attributes:
        number: What the program calls it.
    """

    def __init__(self, port: Path, connection: socket.socket, number: int) -> None:
        self._port = port
        self._connection = connection
        self._ended = False
        self.number = number

    def read(self, wait_s: float) -> bytes | None:
        """The next piece; empty at the end, ``None`` if none came in that time.

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
        """End the session; yields what still comes, and is done with its last byte.

        Raises:
            CaptureError: the program refuses, or falls silent.
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
                            if not piece or _is_whole(answer):
                                waiting.unregister(other)
                            continue
                        piece = self.read(timeout_s) or b""
                        if piece:
                            yield piece
                        else:
                            waiting.unregister(self._connection)
        _payload(answer, "to end the session")

    def abandon(self) -> None:
        """Stop and throw away the rest, as far as that goes in a moment."""
        until = time.monotonic() + _CLOSE_S
        if self._ended:
            return
        with suppress(CaptureError, OSError):
            for _ in self.stop(_CLOSE_S):
                if time.monotonic() > until:
                    break

    def drain(self, timeout_s: float) -> None:
        """Stop; nobody wants the rest.

        Raises:
            CaptureError: as `stop` does.
        """
        for _ in self.stop(timeout_s):
            pass


@contextmanager
def session(
    port: Path, providers: tuple[Provider, ...], *, mib: int, timeout_s: float
) -> Iterator[Session]:
    """A session, ended whatever happens in the block.

    Args:
        port: The socket of the program.
        providers: What to be told.
        mib: How much the program may buffer.
        timeout_s: How long to wait for the answer.

    Raises:
        CaptureError: there is nobody, or he refuses.
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
    port: Path,
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


def _greet(port: Path, timeout_s: float) -> None:
    """See that the program answers at all; what it says does not matter.

    Raises:
        CaptureError: it does not.
    """
    with _connected(port, timeout_s) as connection:
        _send(connection, PROCESS_INFO, b"")
        answer = bytearray()
        _fill(connection, answer, timeout_s)
        with suppress(Refusal):
            _payload(bytes(answer), "who it is")


@contextmanager
def _connected(port: Path, timeout_s: float) -> Iterator[socket.socket]:
    """A connection to the socket at ``port``, closed at the end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(os.fspath(port))
        except TimeoutError as error:
            raise _silent("takes no connection", timeout_s) from error
        except PermissionError as error:
            raise CaptureError(
                f"{port} belongs to another user; run this as that user, or as root"
            ) from error
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise CaptureError(
                f"nobody listens at {port}: its program is gone; see what runs with "
                "ingest capture list"
            ) from error
        except OSError as error:
            why = error.strerror or str(error)
            raise CaptureError(
                f"{port} cannot be reached ({why}); see what runs with ingest "
                "capture list"
            ) from error
        yield connection


def _send(connection: socket.socket, command: int, payload: bytes) -> None:
    size = _HEADER.size + len(payload)
    header = _HEADER.pack(MAGIC, size, command >> 8, command & 0xFF, 0)
    try:
        connection.sendall(header + payload)
    except TimeoutError as error:
        raise _silent("takes no request", connection.gettimeout() or 0) from error
    except OSError as error:
        raise _lost(error) from error


def _received(connection: socket.socket, size: int = _PIECE_BYTES) -> bytes:
    try:
        return connection.recv(size)
    except OSError as error:
        raise _lost(error) from error


def _fill(connection: socket.socket, answer: bytearray, timeout_s: float) -> None:
    """Read one reply to its end, and not a byte of what follows it."""
    until = time.monotonic() + timeout_s
    while not _is_whole(answer):
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
    """How long a reply is that begins so; of the header, if that is not whole.

    Raises:
        CaptureError: it is none.
    """
    if not MAGIC.startswith(answer[: len(MAGIC)]):
        raise _strange(answer)
    if len(answer) < _HEADER.size:
        return _HEADER.size
    size = int.from_bytes(answer[14:16], "little")
    if size < _HEADER.size:
        raise _strange(answer)
    return size


def _is_whole(answer: bytes | bytearray) -> bool:
    return len(answer) >= _HEADER.size and len(answer) >= _size(answer)


def _payload(answer: bytes, what: str) -> bytes:
    """What a reply says.

    Raises:
        CaptureError: it is a refusal, or no reply.
    """
    if not answer:
        raise CaptureError(
            f"the program hangs up when asked {what}; it may be ending, or too busy: "
            "try again"
        )
    if not _is_whole(answer):
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
        "what answers there is no .NET diagnostics port (it says "
        f"{answer[:20].hex()}); see what runs with ingest capture list"
    )


def _silent(what: str, timeout_s: float) -> CaptureError:
    return CaptureError(
        f"the program {what}, for {timeout_s:g} s now: it is stopped, or needs more "
        "time: --timeout"
    )


def _lost(error: OSError) -> CaptureError:
    why = error.strerror or str(error) or type(error).__name__
    return CaptureError(f"the connection to the program is lost ({why}): has it ended?")
