"""Every dump format we read. To add one: write its package, name it in `READERS`."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ingest.errors import DumpError, UnknownFormat
from ingest.readers import clrprofiler, dart, gcdump, gclog, nettrace, traverseheap
from ingest.readers.base import TimelineReader
from ingest.readers.source import COMPRESSION_SUFFIXES, STDIN, open_source

if TYPE_CHECKING:
    from ingest.heap.graph import GarbageCollection, HeapGraph
    from ingest.progress import Progress
    from ingest.readers.base import Reader, ReadOptions
    from ingest.readers.source import Source

__all__ = ["READERS", "open_source", "probe", "read", "reader_for", "stem", "timeline"]

READERS: tuple[Reader, ...] = (
    dart,
    gcdump,
    nettrace,
    traverseheap,
    clrprofiler,
    gclog,
)
"""All formats, in the order in which they are asked."""


def reader_for(source: Source) -> Reader:
    """The reader that claims the first bytes of ``source``; names do not count.

    Raises:
        UnknownFormat: none does.
    """
    for reader in READERS:
        if reader.sniff(source.head):
            return reader
    if source.head.startswith(b"PK\3\4"):
        raise UnknownFormat("a zip archive; unpack it first", path=source.name)
    known = ", ".join(f"{reader.NAME} ({reader.TITLE})" for reader in READERS)
    raise UnknownFormat(f"not a dump that we read; known: {known}", path=source.name)


def stem(path: str) -> str:
    """The name of a file without its folder and the suffixes of dumps."""
    name = PurePath(path).name
    known = {suffix for reader in READERS for suffix in reader.SUFFIXES}
    known |= COMPRESSION_SUFFIXES
    while (dot := name.rfind(".")) >= 0 and name[dot:].lower() in known:
        name = name[:dot]
    return name


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
    """The collections that ``source`` records, whether it has a heap dump or not.

    Raises:
        UnknownFormat: no reader of such a format claims it.
        DumpError: it cannot be read.
    """
    reader = reader_for(source)
    if not isinstance(reader, TimelineReader):
        raise UnknownFormat(
            f"a file of format {reader.NAME} records no collections", path=source.name
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
