"""Heap snapshots of running Node.js programs, and of pages and workers in Chrome.

The program stops while V8 writes the snapshot, for which it needs several times the
memory of its heap; then it continues. Whether it has that is looked at before. The
protocol is in `ingest.capture.inspector`.
"""

from __future__ import annotations

import math
import re
import shutil
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import psutil

from ingest.capture import EVERY_S, QUIET_S, WHOLE_S, Captured
from ingest.capture.completeness import check_captured
from ingest.capture.inspector import (
    InspectorAddress,
    get,
    inspecting,
    place_of,
    targets,
)
from ingest.capture.memory_left import left_for
from ingest.capture.processes import (
    RunningProgram,
    check_answers,
    exists,
    safe_name,
    status_of,
    user_of,
)
from ingest.errors import CaptureError
from ingest.progress import silent
from ingest.system.files import check_writable, output_file
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from ingest.capture.inspector import InspectedTarget, InspectorSession
    from ingest.progress import Progress

SUFFIX = ".heapsnapshot"

_POLL_S = 0.1
_ANSWER_S = 2.0
"""How long a port may take to say whether it is an inspector."""
_PORT, _PORT_S = 9229, 5.0
"""Where Node listens if nothing else is said, and how long it may take to begin."""
_PORT_OPTION = re.compile(
    r"--(?:(?:inspect|debug)-port|inspect(?:-brk|-wait)?)=(?:.*:)?(\d+)"
)
_LISTED = 10
_DISK_SHARE = 0.8
_MOST_TIMES = 18
"""Memory that V8 takes to write a heap, in sizes of the heap: measured with Node.js 20
for objects that have an array each, 21 MiB (15), 34 MiB (17) and 124 MiB (16); less
where they are large."""
_INTERNAL = ("devtools://", "chrome-extension://")


@dataclass(frozen=True, slots=True)
class JavaScriptCapture(Captured):
    """A captured snapshot.

    Attributes:
        target: What was captured.
        place: Where its inspector listens.
        duration_s: How long it took.
    """

    target: InspectedTarget
    place: InspectorAddress
    duration_s: float


@dataclass(frozen=True, slots=True)
class Series:
    """The snapshots that are taken over one connection.

    Attributes:
        count: How many.
        every_s: How far apart.
        numbers: Whether they record the values of numbers.
    """

    count: int = 1
    every_s: float = EVERY_S
    numbers: bool = False


_ONE = Series()


def capture(
    address: str,
    output: Path | None = None,
    *,
    target: str | None = None,
    start_inspector: bool = False,
    numbers: bool = False,
    force: bool = False,
    timeout_s: float = WHOLE_S,
    progress: Progress = silent,
) -> JavaScriptCapture:
    """Take a heap snapshot of a program or page; see `captures`."""
    (taken,) = captures(
        address,
        output,
        series=Series(numbers=numbers),
        target=target,
        start_inspector=start_inspector,
        force=force,
        timeout_s=timeout_s,
        progress=progress,
    )
    return taken


def captures(
    address: str,
    output: Path | None = None,
    *,
    series: Series = _ONE,
    target: str | None = None,
    start_inspector: bool = False,
    force: bool = False,
    timeout_s: float = WHOLE_S,
    progress: Progress = silent,
) -> Iterator[JavaScriptCapture]:
    """Take heap snapshots of a program or page over one connection.

    As long as that is open, objects keep their ids.

    Args:
        address: ``HOST:PORT`` of an inspector, or the process id of a Node program.
        output: The file; by default the target's title with ``.heapsnapshot``. Of
            several, each has its number behind the name.
        series: How many, how far apart, and what they record.
        target: Id, or part of the title or URL, of a target; optional if there is one.
        start_inspector: Have a Node program that has no inspector start one.
        force: Overwrite the file, and capture where memory may be too little.
        timeout_s: How long each snapshot may take.
        progress: Receives the bytes captured, as stage ``capture``.

    Yields:
        Each as soon as it is complete.

    Raises:
        CaptureError: there is no inspector, it refuses, or the connection is lost. No
            file is written but those that were complete before.
        IngestError: a file cannot be written.
    """
    if output is not None:
        for path in _numbered(output, series.count):
            check_writable(path, force=force)
    if address.isascii() and address.isdigit():
        pid: int | None = int(address)
        place = inspector_of(
            int(address), start_inspector=start_inspector, timeout_s=timeout_s
        )
    else:
        place = place_of(address)
        pid = _listener(place)
    answers_s = min(timeout_s, QUIET_S)
    chosen = choose(targets(place, answers_s), target, place)
    paths = _numbered(output or Path(file_name(chosen)), series.count)
    with inspecting(place, chosen, timeout_s) as session:
        for number, path in enumerate(paths):
            if number:
                _wait(series.every_s, progress)
            if pid is not None and not force:
                _check_room(session, chosen, pid)
            began = time.monotonic()
            most = int(shutil.disk_usage(path.absolute().parent).free * _DISK_SHARE)
            with output_file(path, force=force, private=True) as file:
                for piece in session.snapshot(numbers=series.numbers):
                    if file.byte_count + len(piece) > most:
                        raise CaptureError(
                            f"the snapshot of {chosen.title} takes more than "
                            f"{human_bytes(most)}, which would fill the disk; name a "
                            "file on a larger one with -o"
                        )
                    file.write(piece)
                    progress("capture", file.byte_count, None)
                taken_s = time.monotonic() - began
                check_captured(file.written())
            yield JavaScriptCapture(
                path, file.byte_count, file.sha256, chosen, place, taken_s
            )


def _check_room(session: InspectorSession, target: InspectedTarget, pid: int) -> None:
    """There is memory for V8 to write the heap.

    Raises:
        CaptureError: there may be too little.
    """
    heap, free = session.heap_bytes() or 0, left_for(pid)
    if heap * _MOST_TIMES > free:
        raise CaptureError(
            f"{target.title} has {human_bytes(heap)} in its heap, and V8 may take "
            f"{human_bytes(heap * _MOST_TIMES)} to write that, but only "
            f"{human_bytes(free)} are left for it, so a snapshot could end it; raise "
            "its limit, or take that risk with --force"
        )


def _listener(place: InspectorAddress) -> int | None:
    """Which process of this machine listens there; ``None`` if that is not known."""
    if place.host not in ("127.0.0.1", "localhost", "::1"):
        return None
    with suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            port = getattr(one.laddr, "port", None)
            if one.status == psutil.CONN_LISTEN and port == place.port:
                return one.pid
    return None


def _numbered(path: Path, count: int) -> list[Path]:
    """The files of so many snapshots."""
    if count == 1:
        return [path]
    return [
        path.with_name(f"{path.stem}-{number}{path.suffix}")
        for number in range(1, count + 1)
    ]


def _wait(seconds: float, progress: Progress) -> None:
    """Wait between two snapshots."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        progress("wait", int(waited), math.ceil(seconds))
        time.sleep(min(_POLL_S, seconds - waited))


def file_name(target: InspectedTarget) -> str:
    """A valid file name for a snapshot of that target."""
    name = target.title
    if target.kind == "node":
        # The title is the script with the pid: ``/srv/app/main.js[4711]``.
        name = PurePath(name.partition("[")[0]).stem or name
    return safe_name(name) + SUFFIX


def choose(
    found: tuple[InspectedTarget, ...], wanted: str | None, place: InspectorAddress
) -> InspectedTarget:
    """The one target to capture.

    Args:
        found: All targets.
        wanted: Id, or part of the title or URL; ``None`` for the only one that is no
            part of the browser itself.
        place: Where they are.

    Raises:
        CaptureError: none matches, or several do.
    """
    if wanted is None:
        fitting = [
            one
            for one in found
            if one.kind in ("node", "page") and not one.url.startswith(_INTERNAL)
        ]
    else:
        fitting = [one for one in found if one.id == wanted] or [
            one for one in found if wanted in one.title or wanted in one.url
        ]
    if len(fitting) == 1:
        return fitting[0]
    if not found:
        raise CaptureError(
            f"nothing can be captured at {place}: no program or page is open there, or "
            "another debugger is connected to it"
        )
    if not fitting:
        what = "no program or page" if wanted is None else f"no target {wanted}"
        raise CaptureError(f"{what} at {place}; there are: {_listed(found)}")
    raise CaptureError(
        f"several targets at {place}; choose one with --target: {_listed(fitting)}"
    )


def _listed(found: Iterable[InspectedTarget]) -> str:
    known = list(found)
    names = [f"{one.title or one.url} ({one.kind}, {one.id})" for one in known]
    more = len(known) - _LISTED
    return ", ".join(names[:_LISTED]) + (f", and {more} more" if more > 0 else "")


def inspector_of(
    pid: int, *, start_inspector: bool, timeout_s: float
) -> InspectorAddress:
    """Where the inspector of a Node program listens.

    Args:
        pid: The process.
        start_inspector: Send it ``SIGUSR1`` if it has none, which starts one on a port
            of this machine until the program ends.
        timeout_s: How long to wait until it is there.

    Raises:
        CaptureError: the process has none, or is no Node program.
    """
    if not exists(pid):
        raise CaptureError(f"no process has the id {pid}")
    user = user_of(pid)
    try:
        process = psutil.Process(pid)
        name = process.name()
        ours = process.uids().effective == psutil.Process().uids().effective
        ours = ours or psutil.Process().uids().effective == 0
    except psutil.Error as error:
        raise CaptureError(f"process {pid} cannot be looked at; try again") from error
    check_answers(RunningProgram(pid, name, user, is_ours=ours))
    port = _inspector_port(process)
    if (place := _listening(process, port)) is not None:
        return place
    for other, how in _OTHERS.items():
        if _file_of(process).startswith(other):
            raise CaptureError(f"process {pid} ({name}) {how}")
    if not start_inspector:
        where = f" on port {port}" if port else ""
        raise CaptureError(
            f"process {pid} ({name}) has no inspector{where}: "
            "start it with node --inspect, or add --start-inspector, which sends it "
            "SIGUSR1; until it ends, programs of this machine can then debug it. If it "
            "has one on another port, name HOST:PORT instead of the process"
        )
    if not _starts_inspector(pid, name):
        raise CaptureError(
            f"process {pid} ({name}) is not a Node program that starts an inspector on "
            "SIGUSR1, and nothing was sent: another program may end at it"
        )
    before = _sockets(process)
    process.send_signal(signal.SIGUSR1)
    begun = asked = time.monotonic()
    while (now := time.monotonic()) < begun + timeout_s:
        if (place := _listening(process, port, before)) is not None:
            return place
        if now > asked + _PORT_S:  # Node tries once, and tells only its own output
            if _is_taken(port):
                raise CaptureError(
                    f"process {pid} ({name}) cannot start an inspector: another "
                    f"program listens on port {port}; end that program's inspector, or "
                    "start this one with --inspect-port=0"
                )
            process.send_signal(signal.SIGUSR1)
            asked = now
        time.sleep(_POLL_S)
    raise CaptureError(
        f"process {pid} ({name}) has started no inspector within {timeout_s:g} s: its "
        "port may be taken by another program, or it is busy; --timeout waits longer"
    )


_OTHERS = {
    "deno": "has no inspector: start it with deno run --inspect",
    "bun": "is run by Bun, whose inspector has no snapshots of V8's kind: have it call "
    "v8.writeHeapSnapshot() of node:v8 and load that file, in which there are no roots "
    "and nothing that a Map or Set holds",
}
"""What to do with programs of other runtimes, by the names of their files."""


def _inspector_port(process: psutil.Process) -> int:
    """The port on which a program starts its inspector; 0 for any that is free."""
    try:
        told = [*process.cmdline(), *process.environ().get("NODE_OPTIONS", "").split()]
    except psutil.Error:
        return _PORT
    found = [one[1] for text in told if (one := _PORT_OPTION.fullmatch(text))]
    return int(found[-1]) if found else _PORT


def _is_taken(port: int) -> bool:
    """Whether a program listens on a port of this machine."""
    with socket.socket() as one:
        one.settimeout(_ANSWER_S)
        return port > 0 and one.connect_ex(("127.0.0.1", port)) == 0


def _file_of(process: psutil.Process) -> str:
    try:
        return PurePath(process.exe()).name
    except psutil.Error:
        return process.name()


def _sockets(process: psutil.Process) -> set[tuple[str, int]]:
    """Addresses and ports on which a process listens."""
    try:
        connections = process.net_connections("tcp")
    except psutil.Error:
        return set()
    return {
        (one.laddr.ip, one.laddr.port)
        for one in connections
        if one.status == psutil.CONN_LISTEN
    }


def _listening(
    process: psutil.Process, port: int, before: Container[tuple[str, int]] = ()
) -> InspectorAddress | None:
    """Where a process listens as an inspector; ``None`` for nowhere.

    The sockets of the program's own are asked nothing: a server would count it, log it
    and keep what it keeps of each request.

    Args:
        process: The process.
        port: The port of its inspector; 0 if it has chosen one.
        before: Where it listened before the inspector was started.
    """
    for host, number in sorted(_sockets(process)):
        if number != port if port else (host, number) in before:
            continue
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        place = InspectorAddress(host, number)
        try:
            told = get(place, "/json/version", _ANSWER_S)
        except CaptureError:
            continue
        browser = str(told.get("Browser", "")) if isinstance(told, dict) else ""
        if browser.lower().startswith(("node", "deno")):
            return place
    return None


def _starts_inspector(pid: int, name: str) -> bool:
    """Whether a process is Node's, and catches the signal that others end at."""
    caught = status_of(pid, "SigCgt")
    catches = bool(caught) and bool(int(caught[0], 16) >> (signal.SIGUSR1 - 1) & 1)
    return catches and name.startswith(("node", "electron", "MainThread"))
