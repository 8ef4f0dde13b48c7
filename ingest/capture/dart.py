"""Heap snapshots of a running Dart or Flutter program, over its VM service.

A snapshot covers an isolate group: all isolates that share one heap. The VM stops
while it writes (0.1 s for 5 MB) and then continues by itself. The protocol is in
`ingest.capture.vm_service`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit, urlunsplit

from ingest.capture import TIMEOUT_S, Captured
from ingest.capture.completeness import check_captured
from ingest.capture.processes import safe_name
from ingest.capture.vm_service import connected, short
from ingest.errors import CaptureError
from ingest.progress import silent
from ingest.system.files import check_writable, output_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.capture.vm_service import Isolate
    from ingest.progress import Progress

SUFFIX = ".dartheap"

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_LISTED = 20


@dataclass(frozen=True, slots=True)
class DartCapture(Captured):
    """A captured snapshot.

    Attributes:
        isolates: All isolates whose heap it contains; the first was asked for it.
        vm_version: As reported by the VM.
        protocol: Version of the VM service protocol.
    """

    isolates: tuple[Isolate, ...]
    vm_version: str
    protocol: str


def capture(
    address: str,
    output: Path | None = None,
    *,
    isolate: str | None = None,
    force: bool = False,
    timeout_s: float = TIMEOUT_S,
    progress: Progress = silent,
) -> DartCapture:
    """Take a heap snapshot of the program whose VM service is at ``address``.

    Args:
        address: What the VM printed, or its WebSocket; see `websocket_address`.
        output: The file; by default the isolate's name with ``.dartheap``.
        isolate: Name, id or number of the isolate; optional if there is only one
            isolate group.
        force: Overwrite the file.
        timeout_s: How long to wait for an answer, or for more data.
        progress: Receives the bytes captured, as stage ``capture``.

    Raises:
        CaptureError: there is no VM service, it refuses, or the connection is lost.
            No file is written.
        IngestError: the file cannot be written.
    """
    place = websocket_address(address)
    if output is not None:
        check_writable(output, force=force)
    with connected(place, timeout_s) as service:
        protocol = service.protocol()
        program = service.program()
        chosen = choose(program.isolates, isolate)
        path = output or Path(file_name(chosen[0].name))
        with output_file(path, force=force, private=True) as file:
            for piece in service.snapshot(chosen[0]):
                file.write(piece)
                progress("capture", file.byte_count, None)
            check_captured(file.written())
        return DartCapture(
            path, file.byte_count, file.sha256, chosen, program.vm_version, protocol
        )


def websocket_address(address: str) -> str:
    """The WebSocket address of a VM service.

    Accepts a WebSocket (``ws://127.0.0.1:8181/TOKEN=/ws``), the address that the VM
    prints (``http://127.0.0.1:8181/TOKEN=/``), or an address of DevTools with either
    as its ``uri``.

    Raises:
        CaptureError: it is not such an address.
    """
    text = address.strip()
    try:
        parts = urlsplit(text if "://" in text else f"ws://{text}")
        if inner := parse_qs(parts.query).get("uri"):
            parts = urlsplit(inner[0])
        scheme = _SCHEMES.get(parts.scheme)
        if scheme is None or not parts.hostname or parts.port == 0:
            raise ValueError(text)
    except ValueError as error:
        raise CaptureError(
            f"{short(text)} is not an address of a VM service, such as "
            "http://127.0.0.1:8181/TOKEN=/ or ws://127.0.0.1:8181/TOKEN=/ws"
        ) from error
    path = parts.path.rstrip("/")
    if not path.endswith("/ws"):
        path += "/ws"
    return urlunsplit((scheme, parts.netloc, path, "", ""))


def file_name(isolate_name: str) -> str:
    """A valid file name for a snapshot of that isolate."""
    return safe_name(isolate_name) + SUFFIX


def choose(isolates: tuple[Isolate, ...], wanted: str | None) -> tuple[Isolate, ...]:
    """The isolates of one group; the first is the one to ask.

    Args:
        isolates: All of the program.
        wanted: Name, id or number of one; without it, any but the VM's own.

    Raises:
        CaptureError: none matches, or isolates of several groups do.
    """
    if wanted is None:
        fitting = [entry for entry in isolates if not entry.is_system]
        if not fitting:
            raise CaptureError(
                "the program has no isolate: it has ended or not started yet; try again"
            )
    else:
        fitting = [
            entry
            for entry in isolates
            if wanted in (entry.id, entry.number, entry.name)
        ]
        if not fitting:
            raise CaptureError(
                f"no isolate {wanted}; the program has: {_listed(isolates)}"
            )
    if len({entry.group for entry in fitting}) > 1:
        raise CaptureError(
            "a snapshot covers one isolate group, and several match; choose one with "
            f"--isolate: {_listed(fitting)}"
        )
    first = next((entry for entry in fitting if entry.name == "main"), fitting[0])
    others = (entry for entry in isolates if entry.group == first.group)
    return (first, *(entry for entry in others if entry != first))


def _listed(isolates: Sequence[Isolate]) -> str:
    """Names with ids; isolates of one group joined by a plus."""
    groups: dict[str, list[str]] = {}
    for entry in isolates[:_LISTED]:
        groups.setdefault(entry.group, []).append(f"{entry.name} ({entry.id})")
    more = f", and {len(isolates) - _LISTED} more" if len(isolates) > _LISTED else ""
    return ", ".join(" + ".join(names) for names in groups.values()) + more
