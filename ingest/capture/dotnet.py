"""Heap dumps of a running .NET program, over its diagnostics port.

A session with the runtime's heap keywords makes it collect its garbage once and tell
every object on the way; the program stands still for that collection, which is full
and blocking, and goes on. How the bytes come: `ingest.capture.dotnet_ipc`.

Two things are not obvious. The runtime names a type once and then never again, so
a second dump would be nameless: before each capture a short session without the
keyword for types makes it forget which it named (seen on 3.1.23, where a session of
another provider does not; newer runtimes are said to have the same table). And
whenever any session begins or ends while one asks for a heap dump, the runtime makes
another dump: that is how the second one of `track` comes, into the same stream. So
the session that called it forth must end after the one that is written.
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture import TIMEOUT_S
from ingest.capture.dotnet_ipc import Provider, session
from ingest.capture.dotnet_processes import find, is_stopped
from ingest.capture.gc_events import GcEvents
from ingest.errors import CaptureError
from ingest.files import check_writable, output_file
from ingest.progress import silent
from ingest.readers.dotnet.gc_events import PROVIDER

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from ingest.capture.dotnet_ipc import Session
    from ingest.capture.dotnet_processes import Target
    from ingest.files import OutputFile
    from ingest.progress import Progress

SUFFIX = ".nettrace"
BUFFER_MIB = 1024
"""How much the runtime may keep back; it takes as much as it needs."""

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
class DotnetCapture:
    """A capture that was taken.

    Attributes:
        path: The file.
        byte_count: Its size.
        sha256: Its digest.
        pid: Of the program.
        name: Of the program.
        object_counts: Objects of each heap dump in the file.
        edge_counts: References of each.
        gc_count: Collections in the file, those of the heap dumps too.
        moved_count: Events that tell of moved objects, some hundreds in each.
        type_count: Types that are named in it.
        nameless_count: Types of objects that are not.
    """

    path: Path
    byte_count: int
    sha256: str
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
        wanted: Number of the process, or name of the program.
        output: The file; by default the program's name with ``.nettrace``.
        track_s: Seconds from the first dump to the second; without it there is one.
        force: Overwrite the file.
        timeout_s: How long to wait for an answer, or for the next piece.
        buffer_mib: How much the program may buffer.
        progress: Told the bytes received, as stage ``capture``, and the seconds
            between two dumps, as ``track``.

    Raises:
        CaptureError: there is no such program, it refuses, the connection is lost,
            or the dump is not whole. There is no file then.
        IngestError: the file cannot be written.
    """
    if output is not None:
        check_writable(output, force=force)
    target = find(wanted)
    if not target.is_ours:
        raise CaptureError(
            f"process {target.pid} ({target.name}) belongs to {target.user}; run this "
            "as that user, or as root"
        )
    if is_stopped(target.pid):
        raise CaptureError(
            f"process {target.pid} ({target.name}) is stopped, by a signal or a "
            f"debugger, and cannot answer; let it go on: kill -CONT {target.pid}"
        )
    path = output or Path(file_name(target.name))
    with output_file(path, force=force, private=True) as file:
        forget_types(target, timeout_s)
        taking = _Taking(target, file, timeout_s, buffer_mib, progress)
        events = taking.track(track_s) if track_s else taking.heap()
        _check(events, 2 if track_s else 1)
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


def forget_types(target: Target, timeout_s: float) -> None:
    """Make the runtime name all types anew.

    Raises:
        CaptureError: it cannot be reached, or refuses.
    """
    providers = (Provider(PROVIDER, _GC),)
    for _ in range(_FORGET_TRIES):
        events = GcEvents()
        with session(
            target.socket, providers, mib=_SMALL_MIB, timeout_s=timeout_s
        ) as short:
            events.read(short.stop(timeout_s))
        if not events.gc_count:
            return
        # It dumped its heap for a session of someone else. If that one was killed,
        # the runtime has noticed by now, and forgets only in a session after it.
        time.sleep(_FORGET_S)


def file_name(program: str) -> str:
    """A file name for a capture of that program, whatever its name is."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", program).strip("._-")
    return (safe[:60] or "heap") + SUFFIX


class _Taking:
    """One capture of one program, from its first byte to its last."""

    def __init__(
        self,
        target: Target,
        file: OutputFile,
        timeout_s: float,
        buffer_mib: int,
        progress: Progress,
    ) -> None:
        self._port = target.socket
        self._file = file
        self._timeout_s = timeout_s
        self._buffer_mib = buffer_mib
        self._progress = progress
        self._events = GcEvents()

    def heap(self) -> GcEvents:
        """Write one heap dump; returns what is in the stream."""
        return self._written(self._heap())

    def track(self, seconds: float) -> GcEvents:
        """Write a heap dump, the collections of some seconds, and another dump."""
        return self._written(self._track(seconds))

    def _written(self, pieces: Generator[bytes]) -> GcEvents:
        """Take all pieces; sessions end with them, whatever happens."""
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
        """Pieces until so many heap dumps are over."""
        waits_until = time.monotonic() + self._timeout_s
        while self._events.finished_count < dump_count:
            piece = main.read(_TICK_S)
            if other is not None:
                other.read(0)
            if piece:
                yield self._kept(piece)
                waits_until = time.monotonic() + self._timeout_s
            elif piece is not None:
                raise self._ended()
            elif time.monotonic() > waits_until:
                raise CaptureError(
                    "the heap dump does not come to its end, for "
                    f"{self._timeout_s:g} s now: the program is stopped, or needs "
                    "more time: --timeout"
                )

    def _for(self, main: Session, seconds: float) -> Generator[bytes]:
        """Pieces for so long, whether one comes or not."""
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
        """Pieces until the session is at its end, which is asked for."""
        for piece in main.stop(self._timeout_s):
            yield self._kept(piece)

    def _kept(self, piece: bytes) -> bytes:
        self._file.write(piece)
        self._progress("capture", self._file.byte_count, None)
        return piece

    def _ended(self) -> CaptureError:
        return CaptureError(
            f"the program ended its events after {self._file.byte_count:,} bytes, "
            "before the capture was whole; it has ended itself, or another tool "
            "stopped the session: try again"
        )


def _check(events: GcEvents, dump_count: int) -> None:
    """See that what was asked for is there, and whole.

    Raises:
        CaptureError: it is not.
    """
    if len(events.dumps) < dump_count or not all(
        dump.is_whole for dump in events.dumps
    ):
        raise CaptureError(
            "the program lost events while it wrote its heap; try again when it is "
            "less busy, or with a larger --buffer"
        )
    if not events.type_ids:
        raise CaptureError(
            "the program names no types, for another tool gets its events just now; "
            "end that (such as dotnet-trace, dotnet-monitor) and try again"
        )
