"""Heap dumps of a running .NET program, over its diagnostics port.

A session with the runtime's heap keywords triggers a full blocking collection that
reports every object; the program stops for that collection and then continues. The
protocol is in `ingest.capture.dotnet_ipc`.

Two things are not obvious. The runtime names each type only once, so a second dump
would have no type names: before each capture, a short session without the keyword for
types makes it name them again (seen on 3.1.23, where a session of another provider
does not; newer runtimes are said to have the same table). And whenever any session
begins or ends while another has the heap keywords, the runtime makes another dump:
this is how `track` gets its second one into the same stream. So the session that
triggered it must end after the one that is being written.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture import TIMEOUT_S, Captured
from ingest.capture.completeness import check_captured
from ingest.capture.dotnet_ipc import Port, Provider, session
from ingest.capture.dotnet_processes import DOTNET
from ingest.capture.gc_events import GcEvents
from ingest.capture.processes import check_answers, safe_name
from ingest.errors import CaptureError
from ingest.progress import silent
from ingest.readers.dotnet.gc_events import PROVIDER
from ingest.system.files import check_writable, output_file
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from ingest.capture.dotnet_ipc import Session
    from ingest.progress import Progress
    from ingest.system.files import OutputFile

SUFFIX = ".nettrace"
BUFFER_MIB = 1024
"""How much the runtime may buffer; it uses only what it needs."""

_GC = 0x1
_HEAP = 0x198_0001
"""GC, GCHeapDump, GCHeapCollect, GCHeapAndTypeNames, Type."""
_MOVES = 0x40_0000
"""GCHeapSurvivalAndMovement."""
_TICK_S = 0.1
_SMALL_MIB = 16
_FORGET_TRIES = 3
_FORGET_S = 0.3


@dataclass(frozen=True, slots=True)
class DotnetCapture(Captured):
    """A finished capture.

    Attributes:
        pid: Process id of the program.
        name: Name of the program.
        object_counts: Objects of each heap dump in the file.
        edge_counts: References of each.
        gc_count: Collections in the file, including those of the heap dumps.
        moved_count: Events with moved ranges, some hundreds in each.
        type_count: Types with a name.
        nameless_count: Types of objects without one.
    """

    pid: int
    name: str
    object_counts: tuple[int, ...]
    edge_counts: tuple[int, ...]
    gc_count: int
    moved_count: int
    type_count: int
    nameless_count: int


def capture(
    wanted: str,
    output: Path | None = None,
    *,
    track_s: float | None = None,
    force: bool = False,
    timeout_s: float = TIMEOUT_S,
    buffer_mib: int = BUFFER_MIB,
    progress: Progress = silent,
) -> DotnetCapture:
    """Take a heap dump of a .NET program, or two with all collections between.

    Args:
        wanted: Process id, or name of the program.
        output: The file; by default the program's name with ``.nettrace``.
        track_s: Seconds from the first dump to the second; ``None`` for one dump.
        force: Overwrite the file.
        timeout_s: How long to wait for an answer, or for more data.
        buffer_mib: How much the program may buffer.
        progress: Receives the bytes captured, as stage ``capture``, and the seconds
            between two dumps, as ``track``.

    Raises:
        CaptureError: there is no such program, it refuses, the connection is lost,
            or the dump is incomplete. No file is written.
        IngestError: the file cannot be written.
    """
    if output is not None:
        check_writable(output, force=force)
    target = DOTNET.find(wanted)
    check_answers(target)
    assert target.socket is not None
    port = Port(target.socket, target.pid)
    path = output or Path(file_name(target.name))
    with output_file(path, force=force, private=True) as file:
        forget_types(port, timeout_s)
        taking = _Taking(port, file, timeout_s, buffer_mib, progress)
        events = taking.track(track_s) if track_s else taking.heap()
        _check(events, 2 if track_s else 1)
        check_captured(file.written())
        return DotnetCapture(
            path,
            file.byte_count,
            file.sha256,
            target.pid,
            target.name,
            tuple(dump.object_count for dump in events.dumps),
            tuple(dump.edge_count for dump in events.dumps),
            events.gc_count,
            events.moved_count,
            len(events.type_ids),
            len(events.used_type_ids - events.type_ids),
        )


def forget_types(port: Port, timeout_s: float) -> None:
    """Make the runtime name all types again.

    Raises:
        CaptureError: it cannot be reached, or refuses.
    """
    providers = (Provider(PROVIDER, _GC),)
    for _ in range(_FORGET_TRIES):
        events = GcEvents()
        with session(port, providers, mib=_SMALL_MIB, timeout_s=timeout_s) as short:
            events.read(short.stop(timeout_s))
        if not events.gc_count:
            return
        # It dumped its heap for the session of another tool. If that was killed, the
        # runtime has noticed by now, and names types again only after it.
        time.sleep(_FORGET_S)


def file_name(program: str) -> str:
    """A valid file name for a capture of that program."""
    return safe_name(program) + SUFFIX


class _Taking:
    """One capture of one program."""

    def __init__(
        self,
        port: Port,
        file: OutputFile,
        timeout_s: float,
        buffer_mib: int,
        progress: Progress,
    ) -> None:
        self._port = port
        self._file = file
        self._timeout_s = timeout_s
        self._buffer_mib = buffer_mib
        self._progress = progress
        self._events = GcEvents()

    def heap(self) -> GcEvents:
        """Write one heap dump; returns the events of the stream."""
        return self._written(self._heap())

    def track(self, seconds: float) -> GcEvents:
        """Write a heap dump, the collections of some seconds, and another dump."""
        return self._written(self._track(seconds))

    def _written(self, pieces: Generator[bytes]) -> GcEvents:
        """Read all parts; the sessions are ended in any case."""
        with closing(pieces):
            self._events.read(pieces)
        if not self._events.is_ended:
            raise self._ended()
        return self._events

    def _heap(self) -> Generator[bytes]:
        with self._session(_HEAP, self._buffer_mib) as main:
            yield from self._until_dump(main, 1)
            yield from self._last(main)

    def _track(self, seconds: float) -> Generator[bytes]:
        with self._session(_HEAP | _MOVES, self._buffer_mib) as main:
            yield from self._until_dump(main, 1)
            yield from self._for(main, seconds)
            with self._session(_GC, _SMALL_MIB) as second:
                count = self._events.finished_count + 1
                yield from self._until_dump(main, count, second)
                yield from self._last(main)
                second.drain(self._timeout_s)

    def _session(self, keywords: int, mib: int) -> AbstractContextManager[Session]:
        providers = (Provider(PROVIDER, keywords),)
        return session(self._port, providers, mib=mib, timeout_s=self._timeout_s)

    def _until_dump(
        self, main: Session, dump_count: int, other: Session | None = None
    ) -> Generator[bytes]:
        """Parts of the stream, until it has ``count`` complete heap dumps."""
        waits_until = time.monotonic() + self._timeout_s
        while self._events.finished_count < dump_count:
            piece = main.read(_TICK_S)
            if other is not None:
                other.read(0)
            if piece:
                yield self._saved(piece)
                waits_until = time.monotonic() + self._timeout_s
            elif piece is not None:
                raise self._ended()
            elif time.monotonic() > waits_until:
                raise CaptureError(
                    "no more of the heap dump has arrived for "
                    f"{self._timeout_s:g} s: the program is stopped, or needs more "
                    "time: --timeout"
                )

    def _for(self, main: Session, seconds: float) -> Generator[bytes]:
        """Parts of the stream that arrive within ``seconds``."""
        start = time.monotonic()
        while (passed := time.monotonic() - start) < seconds:
            piece = main.read(min(_TICK_S, seconds - passed))
            if piece:
                self._file.write(piece)
                yield piece
            elif piece is not None:
                raise self._ended()
            self._progress("track", int(passed), int(seconds))

    def _last(self, main: Session) -> Generator[bytes]:
        """The rest of the stream, after asking the session to end."""
        for piece in main.stop(self._timeout_s):
            yield self._saved(piece)

    def _saved(self, piece: bytes) -> bytes:
        self._file.write(piece)
        self._progress("capture", self._file.byte_count, None)
        return piece

    def _ended(self) -> CaptureError:
        return CaptureError(
            f"the stream ended after {counted(self._file.byte_count, 'bytes')}, "
            "before the "
            "capture was complete; the program has ended, or another tool stopped "
            "the session: try again"
        )


def _check(events: GcEvents, dump_count: int) -> None:
    """Check that the capture is complete.

    Raises:
        CaptureError: it is incomplete.
    """
    if len(events.dumps) < dump_count or not all(
        dump.is_complete for dump in events.dumps
    ):
        raise CaptureError(
            "the program lost events while it wrote its heap; try again when it is "
            "less busy, or with a larger --buffer"
        )
    if not events.type_ids:
        raise CaptureError(
            "the program names no types while another tool captures its events; stop "
            "that tool (such as dotnet-trace, dotnet-monitor) and try again"
        )
