"""What a reader is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ingest.graph import HeapGraph
    from ingest.progress import Progress
    from ingest.readers.source import Source


class Reader(Protocol):
    """One dump format: a module with these four names."""

    NAME: str
    TITLE: str

    def sniff(self, head: bytes) -> bool:
        """Whether ``head``, the first bytes of a file, is of this format."""

    def read(self, source: Source, *, strict: bool, progress: Progress) -> HeapGraph:
        """Read the whole dump.

        Args:
            source: The dump, nothing of it consumed yet.
            strict: Refuse at the first irregularity instead of counting it.
            progress: Told of bytes read.

        Raises:
            MalformedDump: the dump contradicts its format beyond reading.
            TruncatedDump: with ``strict``, the dump ends too early.
        """
