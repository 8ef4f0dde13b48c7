"""The identity of a dump, by which two loads are known to be of the same dump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.heap.graph import Part


@dataclass(frozen=True, slots=True)
class Identity:
    """Dumps with equal identities are the same dump.

    Attributes:
        sha256: Digest of the decompressed file.
        trace: Equal for the dumps of one process in one file; ``None`` if files of the
            format have only one dump.
        part: Number of the dump in its file; ``None`` likewise.
    """

    sha256: str
    trace: str | None = None
    part: int | None = None

    @classmethod
    def of(cls, sha256: str, part: Part | None) -> Identity:
        """The identity of a file's dump.

        Args:
            sha256: Digest of the decompressed file.
            part: Which dump of the file; ``None`` if files of the format have only one.
        """
        if part is None:
            return cls(sha256)
        trace = f"{sha256}/{part.process}" if part.process else sha256
        return cls(sha256, trace, part.number)
