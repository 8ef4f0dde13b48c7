"""What a reader provides."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source


class Selection(Enum):
    """Which dumps of a file that has several are stored while it is read."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


class PendingDump(NamedTuple):
    """One dump of a file, read but not yet made into a graph.

    Attributes:
        part: Which one it is.
        graph: Makes the graph, once; raises `DumpError` where the dump cannot be read.
    """

    part: Part | None
    graph: Callable[[], HeapGraph]


class Reader(Protocol):
    """One dump format: a package whose face has these names.

    The face imports nothing that a file of another format does not need: numpy,
    kernels and the format's other modules are imported inside its functions.

    Attributes:
        NAME: As messages, JSON and the database have it.
        TITLE: For a person.
        SUFFIXES: Of its files, in lower case with the dot; names of dumps are made
            without them. A file is recognised by `sniff`, never by its suffix.
        MEMORY_PER_BYTE: Bytes of memory that reading and analysing a usual dump takes
            for each byte of the file, at the peak.
    """

    @property
    def NAME(self) -> str: ...  # noqa: D102, N802
    @property
    def TITLE(self) -> str: ...  # noqa: D102, N802
    @property
    def SUFFIXES(self) -> tuple[str, ...]: ...  # noqa: D102, N802
    @property
    def MEMORY_PER_BYTE(self) -> float: ...  # noqa: D102, N802

    def sniff(self, head: bytes) -> bool:
        """Whether ``head``, the first bytes of a file, is of this format."""

    def read(
        self, source: Source, options: ReadOptions, progress: Progress
    ) -> HeapGraph:
        """Read one dump.

        Args:
            source: The file, nothing of it consumed yet.
            options: How to read it.
            progress: Receives the bytes read.

        Raises:
            MalformedDump: the dump contradicts its format beyond reading.
            TruncatedDump: with ``options.strict``, the dump ends too early.
        """


@runtime_checkable
class PartsReader(Reader, Protocol):
    """A format whose files may have several dumps."""

    def parts(self, source: Source, progress: Progress) -> list[Part]:
        """The dumps of the file, in their order; no graph is made.

        Raises:
            MalformedDump: the file contradicts its format beyond reading.
        """

    def read_all(
        self, source: Source, options: ReadOptions, progress: Progress
    ) -> Iterator[PendingDump]:
        """Read all dumps of the process that `read` would choose, in one pass.

        The columns that the file has of each stay in memory until its graph is made.

        Args:
            source: The file, nothing of it consumed yet.
            options: How to read it; ``part`` is not used.
            progress: Receives the bytes read.

        Raises:
            DumpError: there is no dump, or the file contradicts its format.
        """


@runtime_checkable
class TimelineReader(Reader, Protocol):
    """A format whose files record garbage collections."""

    def timeline(self, source: Source, progress: Progress) -> list[GarbageCollection]:
        """The collections of the file's process, in their order.

        ``is_dump`` says which of them have a heap dump.

        Raises:
            MalformedDump: the file contradicts its format beyond reading.
        """
