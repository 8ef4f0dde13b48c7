"""Every dump format we read. To add one: write its package, name it in `FORMATS`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ingest.errors import DumpError, UnknownFormat
from ingest.heap.read_options import ReadOptions
from ingest.readers import (
    clrprofiler,
    dart,
    gcdump,
    gclog,
    hprof,
    hrpy,
    mlpd,
    nettrace,
    perfetto,
    pyheap,
    ruby,
    traverseheap,
    v8,
)
from ingest.readers.archive import MAGIC, file_of, member_of, open_dump
from ingest.readers.base import (
    CapturedReader,
    PartsReader,
    PendingDump,
    TimelineReader,
)
from ingest.readers.source import COMPRESSION_SUFFIXES, STDIN
from ingest.readers.unsupported import recognised
from ingest.system.memory import trim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import GarbageCollection, HeapGraph, Part
    from ingest.progress import Progress
    from ingest.readers.base import Format, Reader
    from ingest.readers.source import Source

FORMATS: tuple[Format, ...] = (
    dart.FORMAT,
    hprof.FORMAT,
    v8.FORMAT,
    hrpy.FORMAT,
    pyheap.FORMAT,
    ruby.FORMAT,
    gcdump.FORMAT,
    nettrace.FORMAT,
    mlpd.FORMAT,
    perfetto.FORMAT,
    traverseheap.FORMAT,
    clrprofiler.FORMAT,
    gclog.FORMAT,
)
"""All formats, in the order in which they are tried."""

_ANY_SIZE = ReadOptions(any_expansion=True)

SUFFIXES = frozenset(suffix for one in FORMATS for suffix in one.suffixes)
"""Suffixes of dumps, in lower case with the dot."""
_STRIPPED = SUFFIXES | COMPRESSION_SUFFIXES | {".zip"}
_NEAR = 0.8
"""How similar to a suffix a misspelt one is, at least."""


def capture_command(format_name: str) -> str:
    """The command that takes a dump of a format; empty if there is none."""
    return next((one.capture for one in FORMATS if one.name == format_name), "")


def writer_limit(format_name: str) -> str:
    """A sentence about a writer that stops after some objects; may be empty."""
    return next((one.most_objects for one in FORMATS if one.name == format_name), "")


def format_of(source: Source) -> Format:
    """The format of ``source``, by its first bytes; names do not count.

    Raises:
        UnknownFormat: no format has such bytes.
    """
    for one in FORMATS:
        if one.sniff(source.head):
            return one
    if source.head.startswith(MAGIC):
        raise UnknownFormat(
            "a zip archive in an archive or from a pipe; unpack it first",
            path=source.name,
        )
    known = ", ".join(one.name for one in FORMATS)
    if found := recognised(source.head):
        advice = f"{found.advice} " if found.advice else ""
        raise UnknownFormat(
            f"{found.name}, a format that is not supported. {advice}Supported: {known}",
            path=source.name,
        )
    raise UnknownFormat(
        f"not a heap dump of a supported format: {known}", path=source.name
    )


def _is_dump(source: Source) -> bool:
    return any(one.sniff(source.head) for one in FORMATS)


@contextmanager
def open_source(dump: str) -> Iterator[Source]:
    """Open ``dump``: a path, ``ARCHIVE.zip::MEMBER``, or ``-`` for standard input.

    Raises:
        DumpError: it is not a file, cannot be opened, or is empty; or it is an archive
            without exactly one dump.
    """
    with open_dump(dump, _is_dump) as source:
        yield source


def has_suffix(path: str) -> bool:
    """Whether a name ends like a dump's file, be it misspelt."""
    suffix = PurePath(path).suffix.lower()
    return bool(get_close_matches(suffix, _STRIPPED, 1, _NEAR))


def stem(path: str) -> str:
    """The name of a file without its folder and the suffixes of dumps."""
    name = PurePath(member_of(path) or path).name
    while (dot := name.rfind(".")) >= 0 and name[dot:].lower() in _STRIPPED:
        name = name[:dot]
    return name


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the dump of ``source``, or the one that ``options`` choose.

    Raises:
        DumpError: it cannot be read, or its format does not have what ``options`` ask
            for.
    """
    reader = _prepared(source, options)
    graph = reader.read(source, options, progress)
    source.drain()
    trim()
    return _as_asked(graph, options, source.sha256)


def _as_asked(graph: HeapGraph, options: ReadOptions, sha256: str) -> HeapGraph:
    """A heap with the runtime that the user names, redacted as the options say."""
    if graph.is_redacted:
        from ingest.heap.redaction import of_redacted_file

        graph = of_redacted_file(graph)
    if options.runtime not in (None, graph.runtime):
        graph = replace(graph, runtime=options.runtime)
    if options.values:
        from ingest.readers.field_values import with_field_values

        graph = with_field_values(graph, options)
    return options.redacted(graph, sha256)


def _prepared(source: Source, options: ReadOptions) -> Reader:
    """The reader of a file, after its options are checked.

    Raises:
        DumpError: the format does not have what ``options`` ask for.
    """
    of_file = format_of(source)
    reader = of_file.reader
    if options.part is not None and not isinstance(reader, PartsReader):
        raise DumpError(
            f"a file of format {of_file.name} has one dump; leave out --part",
            path=source.name,
        )
    if options.layout is not None and "layout" not in of_file.options:
        raise DumpError(
            f"a dump of format {of_file.name} records the sizes of its objects; leave "
            "out --layout",
            path=source.name,
        )
    is_asked = not options.is_of_build
    if is_asked and options.mapping is not None and "mapping" not in of_file.options:
        raise DumpError(
            f"a dump of format {of_file.name} has no names that R8 or ProGuard "
            "shortens; leave out --mapping",
            path=source.name,
        )
    has_scripts = "source_map" in of_file.options
    if is_asked and options.source_map is not None and not has_scripts:
        raise DumpError(
            f"a dump of format {of_file.name} has no scripts with source maps; leave "
            "out --source-map",
            path=source.name,
        )
    if options.values and "values" not in of_file.options:
        raise DumpError(
            f"a dump of format {of_file.name} has no values of fields; leave out "
            "--values",
            path=source.name,
        )
    if options.any_expansion:
        source.allow_any_expansion()
    if of_file.has_large_values:
        source.expect_values()
    source.max_memory_bytes, source.spill = options.max_memory_bytes, options.spill
    return reader


def read_all(
    source: Source, options: ReadOptions, progress: Progress
) -> Iterator[PendingDump]:
    """Read all dumps of ``source`` in one pass.

    Raises:
        DumpError: it cannot be read, or has no dump.
    """
    reader = _prepared(source, options)
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
    """One of several dumps, prepared as the options say."""
    part = pending.part
    if part is not None:
        part = options.redacted_part(part, sha256)
    return PendingDump(part, lambda: _as_asked(pending.graph(), options, sha256))


def parts(source: Source, progress: Progress) -> list[Part]:
    """The dumps of ``source``; empty if files of the format have only one.

    Raises:
        DumpError: it cannot be read.
    """
    reader = format_of(source).reader
    found = reader.parts(source, progress) if isinstance(reader, PartsReader) else []
    source.drain()
    return found


def timeline(
    source: Source, options: ReadOptions, progress: Progress
) -> list[GarbageCollection]:
    """The collections that ``source`` records, whether it has a heap dump or not.

    Raises:
        UnknownFormat: its format has none.
        DumpError: it cannot be read.
    """
    name = format_of(source).name
    if not isinstance(format_of(source).reader, TimelineReader):
        raise UnknownFormat(
            f"a file of format {name} records no collections", path=source.name
        )
    reader = _prepared(source, options)
    assert isinstance(reader, TimelineReader)
    return reader.timeline(source, progress)


def check_whole(dump: str, progress: Progress) -> None:
    """Make sure that a captured ``dump`` has all its records; no graph is made.

    Raises:
        TruncatedDump: it ends too early.
        DumpError: programs are not captured in its format, or it contradicts its
            format.
    """
    with open_source(dump) as source:
        reader = _prepared(source, _ANY_SIZE)
        if not isinstance(reader, CapturedReader):
            raise UnknownFormat("no program is captured in this format", path=dump)
        reader.check_whole(source, progress)


def probe(dump: str) -> None:
    """Make sure that we can read the format of ``dump``; pipes are not looked at.

    Raises:
        DumpError: its format is unknown, or it cannot be opened.
    """
    if dump != STDIN and not Path(file_of(dump)).is_fifo():
        with open_source(dump) as source:
            format_of(source)
