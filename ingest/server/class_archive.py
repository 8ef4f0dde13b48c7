"""Neo4j's classes in an archive, from which its Java starts in two thirds of the time.

The Java runtime comes without any archive. So one of Java's own classes is made at
the first start (a second), and the server writes one of Neo4j's when it first stops
(five seconds); both lie in the cache. Java checks that an archive fits its jars and
itself, and does without it if not.

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
    """Flags that make Java use the archives there are, and write what is missing.

    Args:
        java: The Java that is to start.
        jars: Its class path.
        pending: Where this Java writes the archive as it stops; the next call takes
            it into the cache. Without it nothing is written.
    """
    folder = places().cache / "classes"
    stamp = hashlib.sha256(str(java.resolve()).encode())
    base = folder / f"java-{stamp.hexdigest()[:16]}.jsa"
    stamp.update(os.pathsep.join(map(str, jars)).encode())
    top = folder / f"neo4j-{stamp.hexdigest()[:16]}.jsa"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if pending is not None and pending.exists() and base.exists():
            part = top.with_suffix(f".{os.getpid()}.part")
            shutil.move(pending, part)
            part.replace(top)
        if not base.exists() and (pending is None or not _make_base(java, base)):
            return []
    except OSError:  # a cache that cannot be written to only costs time
        return []
    if top.exists():
        return [f"-XX:SharedArchiveFile={base}{os.pathsep}{top}", *_SILENT]
    writing = [f"-XX:ArchiveClassesAtExit={pending}"] if pending else []
    return [f"-XX:SharedArchiveFile={base}", *writing, *_SILENT]


def _make_base(java: Path, base: Path) -> bool:
    """Make the archive of Java's own classes; returns whether it is there."""
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
