"""Every dump format we read. To add one: write its package, name it in `READERS`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ingest.errors import DumpError, NotEnoughMemory, UnknownFormat
from ingest.heap.read_options import Fold
from ingest.memory import trim
from ingest.readers import (
    clrprofiler,
    dart,
    gcdump,
    gclog,
    hprof,
    nettrace,
    traverseheap,
)
from ingest.readers.archive import MAGIC, file_of, member_of, open_dump
from ingest.readers.base import PartsReader, PendingDump, TimelineReader
from ingest.readers.source import COMPRESSION_SUFFIXES, STDIN
from ingest.readers.unsupported import name_of
from ingest.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.base import Reader
    from ingest.readers.source import Source

__all__ = [
    "READERS", "open_source", "parts", "probe", "read", "read_all", "reader_for",
    "stem", "timeline",
]  # fmt: skip

_BASE_BYTES = 150 << 20
"""What Python, numpy, numba and polars take."""

READERS: tuple[Reader, ...] = (
    dart,
    hprof,
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
    if source.head.startswith(MAGIC):
        raise UnknownFormat(
            "a zip archive in an archive or from a pipe; unpack it first",
            path=source.name,
        )
    known = ", ".join(reader.NAME for reader in READERS)
    if name := name_of(source.head):
        raise UnknownFormat(
            f"{name}, a format that is not supported; supported: {known}",
            path=source.name,
        )
    raise UnknownFormat(
        f"not a heap dump of a supported format: {known}", path=source.name
    )


def _is_dump(source: Source) -> bool:
    return any(reader.sniff(source.head) for reader in READERS)


@contextmanager
def open_source(dump: str) -> Iterator[Source]:
    """Open ``dump``: a path, ``ARCHIVE.zip::MEMBER``, or ``-`` for standard input.

    Raises:
        DumpError: it is no file, cannot be opened, or is empty; or it is an archive
            that has not exactly one dump.
    """
    with open_dump(dump, _is_dump) as source:
        yield source


def stem(path: str) -> str:
    """The name of a file without its folder and the suffixes of dumps."""
    name = PurePath(member_of(path) or path).name
    known = {suffix for reader in READERS for suffix in reader.SUFFIXES}
    known |= COMPRESSION_SUFFIXES | {".zip"}
    while (dot := name.rfind(".")) >= 0 and name[dot:].lower() in known:
        name = name[:dot]
    return name


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read ``source`` with the reader that claims it.

    Raises:
        DumpError: it cannot be read, or ``options`` choose a part of a file that has
            one dump.
    """
    reader = reader_for(source)
    if options.part is not None and not isinstance(reader, PartsReader):
        raise DumpError(
            f"a file of format {reader.NAME} has one dump; leave out --part",
            path=source.name,
        )
    _prepare(source, reader, options)
    graph = reader.read(source, options, progress)
    source.drain()
    trim()
    return _as_asked(graph, options, source.sha256)


def _as_asked(graph: HeapGraph, options: ReadOptions, sha256: str) -> HeapGraph:
    """A heap of the runtime that the user names, without what is to be removed."""
    if options.runtime not in (None, graph.runtime):
        graph = replace(graph, runtime=options.runtime)
    return options.redacted(graph, sha256)


def _prepare(source: Source, reader: Reader, options: ReadOptions) -> None:
    """Apply what the user allows.

    Raises:
        NotEnoughMemory: the dump is too large.
    """
    if options.force:
        source.allow_any_expansion()
    most, content = options.max_memory_bytes, source.content_bytes
    source.max_memory_bytes = most
    if most is None or content is None:
        return
    needed = int(_BASE_BYTES + reader.MEMORY_PER_BYTE * content)
    if needed > most:
        helps = "free some, read it on a larger machine, or try with --max-memory "
        helps += human_bytes(needed).replace(" ", "")
        if options.fold is Fold.NONE:
            helps = f"leave out --fold none, {helps}"
        raise NotEnoughMemory(
            f"{source.name}: {human_bytes(content)} of {reader.NAME} need about "
            f"{human_bytes(needed)} of memory, more than the {human_bytes(most)} that "
            f"may be used: {helps}"
        )


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps of ``source`` in one pass.

    Raises:
        DumpError: it cannot be read, or has no dump.
    """
    reader = reader_for(source)
    _prepare(source, reader, options)
    if not isinstance(reader, PartsReader):
        only = reader.read(source, options, progress)
        source.drain()
        graph = _as_asked(only, options, source.sha256)
        yield PendingDump(None, lambda: graph)
        return
    for pending in reader.read_all(source, options, progress):
        source.drain()
        yield _pending(pending, options, source.sha256)


def _pending(pending: PendingDump, options: ReadOptions, sha256: str) -> PendingDump:
    """One of several dumps, as it is asked for."""
    part = pending.part
    if part is not None:
        part = options.redacted_part(part, sha256)
    return PendingDump(part, lambda: _as_asked(pending.graph(), options, sha256))


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of ``source``; empty where files of the format have one.

    Raises:
        DumpError: it cannot be read.
    """
    reader = reader_for(source)
    found = reader.parts(source, progress) if isinstance(reader, PartsReader) else []
    source.drain()
    return found


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
    """Make sure that ``dump`` is of a format that we read; pipes are not looked at.

    Raises:
        DumpError: it is not, or cannot be opened.
    """
    if dump != STDIN and not Path(file_of(dump)).is_fifo():
        with open_source(dump) as source:
            reader_for(source)
