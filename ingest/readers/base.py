"""What a format declares, and what its reader provides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

from ingest.errors import DumpError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source


class Selection(Enum):
    """Which dumps of a file with several are stored while it is read."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


class PendingDump(NamedTuple):
    """One dump of a file, read but not yet made into a graph.

    Attributes:
        part: Which one it is.
        graph: Makes the graph, once; raises `DumpError` if the dump cannot be read.
    """

    part: Part | None
    graph: Callable[[], HeapGraph]


class CountedDump(Protocol):
    """One dump of a file, whose objects have been counted."""

    object_count: int


OneDump = TypeVar("OneDump", bound=CountedDump)


def default_dump(dumps: Iterable[OneDump]) -> OneDump | None:
    """The dump to read if the user chooses none: the first one with objects."""
    return next((dump for dump in dumps if dump.object_count), None)


def chosen_dump(
    dumps: Sequence[OneDump], wanted: int | None, path: str, absent: str, advice: str
) -> OneDump:
    """The dump to read.

    Args:
        dumps: Those of the file, by their numbers.
        wanted: The number of the part that the user has chosen.
        path: The file.
        absent: Says that it has no dump, such as "the log has no heapshot".
        advice: How to get a file with one.

    Raises:
        DumpError: there is none.
    """
    default = default_dump(dumps)
    if default is None:
        raise DumpError(f"{absent}; {advice}", path=path)
    if wanted is None:
        return default
    if wanted >= len(dumps) or not dumps[wanted].object_count:
        raise DumpError(
            f"{absent} {wanted} with objects; info lists those that it has", path=path
        )
    return dumps[wanted]


@runtime_checkable
class Reader(Protocol):
    """The module ``reader`` of a format's package."""

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

        The recorded columns of each dump stay in memory until its graph is made.

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


@runtime_checkable
class CapturedReader(Reader, Protocol):
    """A format in which running programs are captured."""

    def check_whole(self, source: Source, progress: Progress) -> None:
        """Read all records of the file; no graph is made.

        Raises:
            TruncatedDump: the file ends too early.
            MalformedDump: it contradicts its format beyond reading.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """One dump format: the face of its package.

    The face imports nothing that a file of another format does not need. The module
    ``reader`` of the package reads the format; it is imported when the first file of
    the format is opened.

    Attributes:
        name: Name in messages, in JSON and in the database.
        title: For a person.
        suffixes: Suffixes of its files, in lower case with the dot; names of dumps are
            made without them. `sniff` recognizes a file, its suffix never does.
        memory_per_byte: Bytes of memory at the peak, for each byte of the file, to read
            and analyse a usual dump.
        sniff: Whether the first bytes of a file are of this format.
        package: Name of the package.
        options: Fields of `ReadOptions` that this format has, but not every one.
        has_large_values: Whether most of a file may be arrays of values, which are
            skipped and compress well.
        capture: The command that takes such a dump; empty if there is none.
        most_objects: A sentence about a writer that stops after so many objects; empty
            if there is none.
        records_garbage: Whether a dump may contain garbage. If not, every object that
            no root reaches is held by something that is not recorded.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    memory_per_byte: float
    sniff: Callable[[bytes], bool]
    package: str
    options: frozenset[str] = frozenset()
    has_large_values: bool = False
    capture: str = ""
    most_objects: str = ""
    records_garbage: bool = True

    @property
    def reader(self) -> Reader:
        """The module that reads it; a `PartsReader` if files may have several dumps."""
        found: object = import_module(f"{self.package}.reader")
        assert isinstance(found, Reader)
        return found
