"""Heap dumps of running programs: one module for each runtime.

A capture does not harm the program, and never leaves an incomplete file: what was
written is read to its end before it gets its name, see `ingest.capture.completeness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 60.0
"""Seconds to wait for a response of the program."""

EVERY_S = 10.0
"""Seconds between two snapshots over one connection."""

WHOLE_S = 600.0
"""Seconds that a capture may take, if nothing else limits it."""

QUIET_S = 60.0
"""Seconds within which something must arrive during a capture."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A heap dump of a running program, whole.

    Attributes:
        path: The file.
        byte_count: Its size.
        sha256: Its digest.
    """

    path: Path
    byte_count: int
    sha256: str
