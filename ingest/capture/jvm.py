"""Heap dumps of a running JVM, over its attach socket; no JDK is needed.

The JVM writes the file itself, as its own user and in its own file system, and stops
meanwhile. It writes into a folder that only its user can enter: beside the output
file if it sees that place, else in its ``/tmp``, from where the file is copied. A
JVM cannot be told to stop writing: on Ctrl-C the folder is removed, and what the JVM
still writes goes nowhere. The protocol is in `ingest.capture.jvm_attach`.
"""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.capture import TIMEOUT_S, Captured
from ingest.capture.completeness import check_captured
from ingest.capture.jvm_attach import effective_id, execute, temporary_folder
from ingest.capture.jvm_processes import JVM
from ingest.capture.processes import PROC, check_answers, safe_name
from ingest.capture.untrusted import UntrustedFolder
from ingest.capture.workplace import work_folder
from ingest.errors import CaptureError
from ingest.progress import silent
from ingest.system.files import check_writable, output_file, publish
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.capture.processes import RunningProgram
    from ingest.progress import Progress

SUFFIX = ".hprof"
_FILE = "heap.hprof"
_GZIP = b"\x1f\x8b"
_LEVEL = "1"
_NEWS, _CREATED = "Dumping heap to", "Heap dump file created"
"""What HotSpot tells when it begins, and when all is written (heapDumper.cpp)."""
_PIECE_BYTES = 1 << 22
INNER = Path("/tmp")
"""As a JVM sees its folder for temporary files."""


@dataclass(frozen=True, slots=True)
class JvmCapture(Captured):
    """A finished capture.

    Attributes:
        pid: Of the program.
        name: Of the program.
        vm_version: As the JVM prints it; empty if it does not.
        is_compressed: Whether the JVM compressed the file.
        duration_s: How long the JVM took, its garbage collection included.
    """

    pid: int
    name: str
    vm_version: str
    is_compressed: bool
    duration_s: float


def capture(
    wanted: str,
    output: Path | None = None,
    *,
    all_objects: bool = False,
    gzip: bool = False,
    force: bool = False,
    timeout_s: float = TIMEOUT_S,
    progress: Progress = silent,
) -> JvmCapture:
    """Take a heap dump of a program that runs in a JVM.

    Args:
        wanted: Process id, or name of the program.
        output: The file; by default the program's name with ``.hprof``, and ``.gz``
            if it is compressed.
        all_objects: Include what no root reaches, and do not collect garbage first.
        gzip: Have the JVM compress the file; older ones than 17 do not. Implied by
            an ``output`` that ends in ``.gz``.
        force: Overwrite the file.
        timeout_s: How long to wait while the JVM neither answers nor writes.
        progress: Receives the bytes written, as stage ``capture``.

    Raises:
        CaptureError: there is no such program, it refuses, or it ends. No file is
            written.
        IngestError: the file cannot be written.
    """
    if output is not None:
        check_writable(output, force=force)
        gzip = gzip or output.suffix == ".gz"
    target = JVM.find(wanted)
    check_answers(target)
    is_device = output is not None and output.exists() and not output.is_file()
    place = None if is_device else (output or Path("heap")).absolute().parent
    with _folder(target.pid, place) as (folder, name_within):
        version = _version(target.pid, timeout_s)
        start = time.monotonic()
        _dump(
            target,
            folder,
            name_within,
            ["-all" if all_objects else "-live", *([_LEVEL] if gzip else [])],
            timeout_s,
            progress,
        )
        took_s = time.monotonic() - start
        made = folder / _FILE
        if folder.parent == place:  # it is of this user
            check_captured(made)
            with made.open("rb") as file:
                is_compressed = file.read(2) == _GZIP
            path = output or Path(file_name(target.name, is_compressed=is_compressed))
            check_writable(path, force=force)
            byte_count, sha256 = publish(made, path, force=force)
        else:
            user = effective_id(target.pid, "Uid")
            with (
                closing(UntrustedFolder(folder, user)) as held,
                held.opened(_FILE) as source,
            ):
                if source is None:
                    raise CaptureError(
                        f"process {target.pid} ({target.name}) has left no file of its "
                        "user, but something else of that name"
                    )
                is_compressed = os.pread(source, 2, 0) == _GZIP
                path = output or Path(
                    file_name(target.name, is_compressed=is_compressed)
                )
                check_writable(path, force=force)
                byte_count, sha256 = _copied(source, path, force=force)
    return JvmCapture(
        path, byte_count, sha256, target.pid, target.name, version, is_compressed,
        took_s,
    )  # fmt: skip


def file_name(program: str, *, is_compressed: bool) -> str:
    """A valid file name for a capture of that program."""
    suffix = SUFFIX + (".gz" if is_compressed else "")
    return safe_name(program.rpartition("/")[2]) + suffix


def _dump(
    target: RunningProgram,
    folder: Path,
    name_within: str,
    options: list[str],
    timeout_s: float,
    progress: Progress,
) -> None:
    """Have the JVM write its heap to a file in ``folder``.

    Raises:
        CaptureError: it does not.
    """

    def written() -> int:
        size = 0
        with os.scandir(folder) as entries:  # newer JVMs write several, and join them
            size = sum(entry.stat().st_size for entry in entries)
        progress("capture", size, None)
        return size

    reply = execute(
        target.pid, "dumpheap", name_within, *options, timeout_s=timeout_s,
        while_waiting=written,
    )  # fmt: skip
    made = folder / _FILE
    is_there = made.is_file() and made.stat().st_size > 0
    # The code is 0 even where the disk was full: only the text tells.
    if reply.code != 0 or _CREATED not in reply.text or not is_there:
        said = " ".join(line for line in reply.text.splitlines() if _NEWS not in line)
        said = printable(" ".join(said.split())[:200])
        raise CaptureError(
            f"process {target.pid} ({target.name}) has not written its whole heap"
            + (f": {said}" if said else "; it may be ending, or its disk full")
        )


def _version(pid: int, timeout_s: float) -> str:
    """What the JVM prints of its version, in one line."""
    reply = execute(pid, "jcmd", "VM.version", timeout_s=timeout_s)
    lines = reply.text.splitlines() if reply.code == 0 else []
    return next((line.strip() for line in lines if " VM version " in line), "")


@contextmanager
def _folder(pid: int, place: Path | None) -> Iterator[tuple[Path, str]]:
    """A folder that only the user of the JVM can enter, removed at the end.

    Args:
        pid: The JVM.
        place: The folder of the output file; ``None`` if that is a device.

    Yields:
        The folder, and the name of the file in it as the JVM sees it.
    """
    parent = temporary_folder(pid)
    if place is not None and _sees_the_same(pid):
        parent = place
    with work_folder(pid, parent) as folder:
        inner = folder if parent == place else INNER / folder.name
        yield folder, os.fspath(inner / _FILE)


def _sees_the_same(pid: int) -> bool:
    """Whether a process is of this user, and has the same root folder and mounts."""
    theirs, ours = PROC / str(pid), PROC / "self"
    try:
        return (
            effective_id(pid, "Uid") == os.geteuid()
            and (theirs / "root").samefile("/")
            and (theirs / "ns/mnt").readlink() == (ours / "ns/mnt").readlink()
        )
    except OSError:
        return False


def _copied(source: int, path: Path, *, force: bool) -> tuple[int, str]:
    """Copy the dump of a JVM to its place, and read it there; its size and digest."""
    with output_file(path, force=force, private=True) as out:
        while piece := os.read(source, _PIECE_BYTES):
            out.write(piece)
        check_captured(out.written() or Path(f"/dev/fd/{source}"))
    return out.byte_count, out.sha256
