"""Every dump format we read. To add one: write its module, name it in `readers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.errors import DumpError, UnknownFormat
from ingest.readers.base import TimelineReader
from ingest.readers.source import STDIN, open_source

if TYPE_CHECKING:
    from ingest.heap.graph import GarbageCollection, HeapGraph
    from ingest.progress import Progress
    from ingest.readers.base import Reader, ReadOptions
    from ingest.readers.source import Source

__all__ = ["open_source", "probe", "read", "reader_for", "readers", "timeline"]


def readers() -> tuple[Reader, ...]:
    """All readers, in the order in which they are asked; imported on first use."""
    from ingest.readers.clrprofiler import reader as clrprofiler
    from ingest.readers.dart import reader as dartheap
    from ingest.readers.gcdump import reader as gcdump
    from ingest.readers.gclog import reader as gclog
    from ingest.readers.nettrace import reader as nettrace
    from ingest.readers.traverseheap import reader as traverseheap

    modules = (dartheap, gcdump, nettrace, traverseheap, clrprofiler, gclog)
    return tuple(cast("Reader", module) for module in modules)


def reader_for(source: Source) -> Reader:
    """The reader that claims the first bytes of ``source``; names do not count.

    Raises:
        UnknownFormat: none does.
    """
    for reader in readers():
        if reader.sniff(source.head):
            return reader
    if source.head.startswith(b"PK\3\4"):
        raise UnknownFormat("a zip archive; unpack it first", path=source.name)
    known = ", ".join(f"{reader.NAME} ({reader.TITLE})" for reader in readers())
    raise UnknownFormat(f"not a dump that we read; known: {known}", path=source.name)


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read ``source`` with the reader that claims it.

    Raises:
        DumpError: it cannot be read, or ``options`` choose a dump in a way that
            another format has.
    """
    reader = reader_for(source)
    for option, name in _CHOICES.items():
        if getattr(options, option) is not None and name != reader.NAME:
            shown = "--" + option.replace("_", "-")
            raise DumpError(
                f"{shown} is for files of format {name}, and this is {reader.NAME}",
                path=source.name,
            )
    return reader.read(source, options, progress)


_CHOICES = {"gc": "nettrace", "dump_index": "clrprofiler"}
"""Options that choose one dump of a file, and the format that has them."""


def timeline(source: Source, progress: Progress) -> list[GarbageCollection]:
    """The collections that ``source`` tells of, whether it has a heap dump or not.

    Raises:
        UnknownFormat: no reader of such a format claims it.
        DumpError: it cannot be read.
    """
    reader = reader_for(source)
    if not isinstance(reader, TimelineReader):
        raise UnknownFormat(
            f"a file of format {reader.NAME} tells of no collections", path=source.name
        )
    return reader.timeline(source, progress)


def probe(dump: str) -> None:
    """Make sure that ``dump`` is of a format that we read; not standard input.

    Raises:
        DumpError: it is not, or cannot be opened.
    """
    if dump != STDIN:
        with open_source(dump) as source:
            reader_for(source)
