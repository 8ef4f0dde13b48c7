"""Class data archives (CDS), which cut a third of the time that Neo4j takes to start.

The packaged Java runtime has no archive. So one of Java's own classes is made at the
first start (a second), and the server writes one of Neo4j's classes when it first
stops (five seconds); both are stored in the cache. Java checks that an archive fits
the jars and itself, and ignores it otherwise.

Source: Java's manual, ``java`` command, "Application Class Data Sharing".
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from ingest.places import places

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MAKE_S = 60.0
_SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xshare:auto")


def archive_flags(
    java: Path, jars: Sequence[Path], pending: Path | None = None
) -> list[str]:
    """Flags that make Java use the existing archives, and write a missing one.

    Args:
        java: The Java to start.
        jars: Its class path.
        pending: Where this Java writes the archive when it stops; the next call moves
            it to the cache. ``None`` to write nothing.
    """
    base, top = _paths(java, jars)
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        if pending is not None and pending.exists() and base.exists():
            part = top.with_suffix(f".{os.getpid()}.part")
            try:
                shutil.move(pending, part)
                part.replace(top)
            finally:  # such as on a full disk
                part.unlink(missing_ok=True)
        if not base.exists() and (pending is None or not _make_base(java, base)):
            return []
    except OSError:  # an unwritable cache only costs time
        return []
    if top.exists():
        return [f"-XX:SharedArchiveFile={base}{os.pathsep}{top}", *_SILENT]
    writing = [f"-XX:ArchiveClassesAtExit={pending}"] if pending else []
    return [f"-XX:SharedArchiveFile={base}", *writing, *_SILENT]


def is_archived(java: Path, jars: Sequence[Path]) -> bool:
    """Whether the archive exists, so that no server writes it when it stops."""
    return _paths(java, jars)[1].exists()


def _paths(java: Path, jars: Sequence[Path]) -> tuple[Path, Path]:
    """The archive of Java's own classes, and the one of Neo4j's."""
    folder = places().cache / "classes"
    stamp = hashlib.sha256(str(java.resolve()).encode())
    base = folder / f"java-{stamp.hexdigest()[:16]}.jsa"
    stamp.update(os.pathsep.join(map(str, jars)).encode())
    return base, folder / f"neo4j-{stamp.hexdigest()[:16]}.jsa"


def _make_base(java: Path, base: Path) -> bool:
    """Make the archive of Java's own classes; returns whether it exists."""
    part = base.with_suffix(f".{os.getpid()}.part")
    try:
        done = subprocess.run(
            [
                str(java),
                "-Xshare:dump",
                "-XX:+UseG1GC",
                f"-XX:SharedArchiveFile={part}",
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_MAKE_S,
        )
        if done.returncode == 0 and part.exists():
            part.replace(base)
        return base.exists()
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
