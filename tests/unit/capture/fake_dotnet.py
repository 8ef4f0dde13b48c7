"""A .NET diagnostics port in threads: a real Unix socket that speaks the protocol.

What it does wrong, a test says: other answers, another stream, pauses.
"""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC = b"DOTNET_IPC_V1\0"
STOP, COLLECT, COLLECT_2, INFO = 0x0201, 0x0202, 0x0203, 0x0400
RUNTIME = "Microsoft-Windows-DotNETRuntime"
HEAP, TRACK = 0x1980001, 0x1D80001
END = b"\1"


def reply(payload: bytes = b"", code: int = 0xFF00, size: int | None = None) -> bytes:
    """One reply; ``size`` lies about its length."""
    told = 20 + len(payload) if size is None else size
    return MAGIC + struct.pack("<HBBH", told, code >> 8, code & 255, 0) + payload


def error(hresult: int) -> bytes:
    return reply(struct.pack("<I", hresult), 0xFFFF)


def tagged(name: bytes, version: int, payload: bytes) -> bytes:
    """One object of the container."""
    head = struct.pack("<BBBiii", 5, 5, 1, version, 0, len(name))
    return head + name + b"\6" + payload + b"\6"


def opening(pointer_bytes: int = 8) -> bytes:
    trace = struct.pack("<8hqq4i", *[1] * 8, 0, 1, pointer_bytes, 1, 1, 0)
    head = b"Nettrace" + struct.pack("<i", 20) + b"!FastSerialization.1"
    return head + tagged(b"Trace", 4, trace)


def block(name: bytes, content: bytes, at: int, size: int | None = None) -> bytes:
    """One block that begins ``at`` that offset of the stream."""
    padding = b"\0" * (-(at + 15 + len(name) + 1 + 4) % 4)
    told = struct.pack("<i", len(content) if size is None else size)
    return tagged(name, 2, told + padding + content)


def short_event(metadata_id: int, payload: bytes, time: int = 5) -> bytes:
    size = bytes([len(payload) & 127 | 128, len(payload) >> 7])
    return bytes([1 | 128, metadata_id, time]) + size + payload


def long_event(metadata_id: int, payload: bytes, time: int = 5) -> bytes:
    head = struct.pack("<iiiqqiiq", 76 + len(payload), metadata_id, 1, 1, 1, 0, 0, time)
    body = head + bytes(32) + struct.pack("<i", len(payload)) + payload
    return body + bytes(-len(body) % 4)


def metadata(number: int, kind: int, provider: str = RUNTIME) -> bytes:
    name = (provider + "\0").encode("utf-16-le")
    rest = struct.pack("<i", kind) + b"\0\0" + struct.pack("<qiii", 0, 1, 5, 0)
    return struct.pack("<i", number) + name + rest


def gc_start(count: int, *, depth: int = 2, reason: int = 1, type_: int = 0) -> bytes:
    return struct.pack("<IIIIHQ", count, depth, reason, type_, 1, 0)


def gc_end(count: int) -> bytes:
    return struct.pack("<IIH", count, 2, 1)


def types(*numbers: int) -> bytes:
    made = struct.pack("<IH", len(numbers), 1)
    for number in numbers:
        name = f"T{number}\0".encode("utf-16-le")
        made += struct.pack("<QQIIB", number, 0, 0, 0, 0) + name + struct.pack("<I", 0)
    return made


def nodes(index: int, *objects: tuple[int, int, int], pointer: str = "Q") -> bytes:
    """Objects as address, type and count of references."""
    made = struct.pack("<IIH", index, len(objects), 1)
    for address, type_, count in objects:
        made += struct.pack(f"<{pointer}QQQ", address, 24, type_, count)
    return made


def edges(index: int, *addresses: int, pointer: str = "Q") -> bytes:
    made = struct.pack("<IIH", index, len(addresses), 1)
    for address in addresses:
        made += struct.pack(f"<{pointer}I", address, 0)
    return made


def stream(
    *events: tuple[int, bytes],
    pointer_bytes: int = 8,
    is_short: bool = True,
    order: Sequence[int] | None = None,
) -> bytes:
    """All of a stream but its end; ``order`` is that of the blocks, not of time."""
    made = opening(pointer_bytes)
    write = short_event if is_short else long_event
    head = struct.pack("<hhqq", 20, int(is_short), 0, 0)
    kinds = sorted({kind for kind, _ in events})
    declared = b"".join(
        write(0, metadata(number, kind)) for number, kind in enumerate(kinds, 1)
    )
    made += block(b"MetadataBlock", head + declared, len(made))
    made += block(b"StackBlock", b"123", len(made))
    for number in order or range(len(events)):
        kind, payload = events[number]
        event = write(kinds.index(kind) + 1, payload, number + 1)
        made += block(b"EventBlock", head + event, len(made))
    return made


def dump(count: int, *, is_named: bool = True) -> list[tuple[int, bytes]]:
    """The events of one heap dump of two objects, in collection ``count``."""
    return [
        (1, gc_start(count)),
        *([(15, types(7))] if is_named else []),
        (18, nodes(0, (0x10, 7, 1), (0x20, 7, 0))),
        (19, edges(0, 0x20)),
        (2, gc_end(count)),
    ]


Piece: TypeAlias = "bytes | float | threading.Event | None"


class FakeDotnet:
    """Answers as a runtime does.

    Attributes:
        pieces: What a heap session sends before it is stopped; a number is a pause
            in seconds, an event is waited for, ``None`` ends the connection.
        answers: Replies that differ, by command, as pieces; empty is silence.
        asked: Commands that came, each with its keywords or its session.
        third: Set when a session is the third one: that which calls another dump.
    """

    def __init__(
        self,
        pieces: Sequence[Piece] | None = None,
        answers: dict[int, Sequence[Piece]] | None = None,
        tail: bytes = END,
    ) -> None:
        self.pieces = [stream(*dump(1))] if pieces is None else pieces
        self.answers = answers or {}
        self.tail = tail
        self.asked: list[tuple[int, int]] = []
        self.hurry, self.third = threading.Event(), threading.Event()
        self.stopped: dict[int, threading.Event] = {}

    def handle(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            header = peer.recv(20, socket.MSG_WAITALL)
            if len(header) < 20:
                return
            size, set_, command, _ = struct.unpack("<HBBH", header[14:])
            command |= set_ << 8
            payload = peer.recv(size - 20, socket.MSG_WAITALL) if size > 20 else b""
            self.answer(peer, command, payload)

    def answer(self, peer: socket.socket, command: int, payload: bytes) -> None:
        number = 0
        if command in (COLLECT, COLLECT_2):
            at = 13 if command == COLLECT_2 else 12
            number = struct.unpack_from("<Q", payload, at)[0]
        elif command == STOP:
            number = struct.unpack("<Q", payload)[0]
        self.asked.append((command, number))
        if command in self.answers:
            self.send(peer, self.answers[command])
            if not self.answers[command]:
                self.hurry.wait(20)
        elif command == INFO:
            self.send(peer, [error(0x80131385)])
        elif command == STOP:
            self.send(peer, [reply(payload)])
            self.stopped[number].set()
        else:
            id_ = len(self.stopped) + 1
            self.stopped[id_] = threading.Event()
            if id_ == 3:
                self.third.set()
            self.send(peer, [reply(struct.pack("<Q", id_))])
            if number == 1:
                self.send(peer, [stream()])
            else:
                self.send(peer, self.pieces)
            while not self.stopped[id_].wait(0.05) and not self.hurry.is_set():
                pass
            self.send(peer, [END if number == 1 else self.tail])

    def send(self, peer: socket.socket, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if piece is None:
                peer.shutdown(socket.SHUT_RDWR)
            elif isinstance(piece, bytes):
                peer.sendall(piece)
            elif isinstance(piece, threading.Event):
                piece.wait(20)
            else:
                self.hurry.wait(piece)


@contextmanager
def serving(fake: FakeDotnet) -> Iterator[Path]:
    """``fake`` at a socket that bears our own number; yields the socket.

    ``TMPDIR`` must name its folder for it to be found.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as server,
    ):
        path = Path(folder) / f"dotnet-diagnostic-{os.getpid()}-{began()}-socket"
        server.bind(str(path))
        server.listen()
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=fake.handle, args=(peer,)))
                threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield path
        finally:
            fake.hurry.set()
            server.shutdown(socket.SHUT_RDWR)
            acceptor.join()
            for thread in threads:
                thread.join()


def began() -> int:
    """When we began, in ticks, as the socket's name has it on Linux."""
    stat = Path("/proc/self/stat")
    if not stat.exists():
        return int(psutil.Process().create_time())
    return int(stat.read_text().rpartition(")")[2].split()[19])
