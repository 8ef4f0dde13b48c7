"""Reads the records of a heap of CPython, one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingest.errors import TruncatedDump
from ingest.readers.hrpy import MAGIC, VERSION
from ingest.readers.hrpy.assembly import assemble
from ingest.readers.hrpy.chunks import chunk_of
from ingest.readers.hrpy.facts import (
    Recorded,
    clean,
    held_of,
    ident_of,
    modules_of,
    threads_of,
)
from ingest.readers.shared.binary import U64, Feed
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.words.text import counted

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.hrpy.chunks import Declared
    from ingest.readers.source import Source

_TAG_BYTES = 4
_MOST_NAMES = 1 << 26
_MOST_TYPES = 1 << 26
_MOST_FRAMES = 64
_ALIGNMENTS = (1, 2, 4, 8, 16, 32)


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the dump in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 81 bytes an object and 28 a reference, and the values.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    recorded = _recorded(source, counter, progress)
    return assemble(recorded, options.fold, counter)


def check_whole(source: Source, progress: Progress) -> None:
    """Read all records; see `ingest.readers.base.CapturedReader.check_whole`."""
    counter = IrregularityCounter(strict=False, name=source.name)
    _recorded(source, counter, progress, keep=False)
    counter.check_end()


def _recorded(
    source: Source,
    counter: IrregularityCounter,
    progress: Progress,
    *,
    keep: bool = True,
) -> Recorded:
    """All records of a file.

    Raises:
        MalformedDump: a record contradicts the format, or there is no object.
        TruncatedDump: the file ends before its first object.
    """
    feed = Feed(source.chunks(progress), source.name)
    feed.take(len(MAGIC))
    version = feed.take(1)[0]
    if version != VERSION:
        raise feed.malformed(
            f"it is of version {version} of the format, not {VERSION}; take a newer "
            "ingest, or"
        )
    found = Recorded()
    objects, began = 0, feed.offset
    while not found.footer:
        began = feed.offset
        try:
            tag, (size,) = feed.take(_TAG_BYTES), feed.fixed(U64)
            _fill(feed, size)
        except TruncatedDump:
            if not objects:
                raise
            counter.add("truncated_record", 1, 0, began)
            break
        begin = feed.position
        if tag == b"OBJS":
            chunk = chunk_of(feed, size, found.declared)
            objects += len(chunk.id)
            if keep:
                found.chunks.append(chunk)
        else:
            _take(feed, tag, size, found, counter)
        feed.position = begin + size
    if not objects:
        raise feed.malformed("the file has no objects")
    if found.footer:
        claimed = found.footer.get("objects")
        if claimed != objects:
            raise feed.malformed(
                f"the file has {counted(objects, 'objects')} and claims {claimed!r:.40}"
            )
        end = feed.offset
        if rest := feed.drain():
            counter.add("trailing_bytes", rest, 0, end)
    if source.truncated:
        counter.add("truncated_compression", 1, 0, began)
    return found


def _fill(feed: Feed, size: int) -> None:
    """Read the next ``size`` bytes into the window.

    Raises:
        TruncatedDump: the file has fewer.
    """
    missing = size - len(feed.data) + feed.position
    if missing > 0:
        feed.grow(missing)
        if size > len(feed.data) - feed.position:
            raise TruncatedDump(
                f"the file ends within the next {counted(size, 'bytes')}; get it again",
                path=feed.name,
                offset=feed.offset,
            )


def _take(
    feed: Feed,
    tag: bytes,
    size: int,
    found: Recorded,
    counter: IrregularityCounter,
) -> None:
    """Read a record of facts, which is JSON.

    Raises:
        MalformedDump: the record is not JSON, or lacks required values.
    """
    if tag not in (b"HEAD", b"NAME", b"SITE", b"TYPE", b"ROOT", b"DONE"):
        if not tag.isalnum():
            raise feed.malformed("a record has an invalid tag")
        counter.add("unknown_record", 1, 0, feed.offset)
        return
    try:
        told = json.loads(feed.take(size).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise feed.malformed("a record of facts is not JSON") from None
    declared = found.declared
    try:
        if tag == b"HEAD":
            found.header = _dict(told)
            align = told.get("align_bytes", declared.align_bytes)
            if align not in _ALIGNMENTS:
                raise ValueError(align)
            declared.align_bytes = align
        elif tag == b"NAME":
            declared.names += [clean(name) for name in told]
            if len(declared.names) > _MOST_NAMES:
                raise ValueError(len(declared.names))
        elif tag == b"SITE":
            declared.sites += [tuple(map(clean, site[:_MOST_FRAMES])) for site in told]
        elif tag == b"TYPE":
            _add_types(told, declared)
        elif tag == b"ROOT":
            found.threads = threads_of(_dict(told).get("threads", []))
            found.modules = modules_of(told.get("modules", []))
            found.held = held_of(told.get("held", []))
        else:
            found.footer = _dict(told)
            if not told:
                raise ValueError(told)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
        name = tag.decode("ascii")
        raise feed.malformed(f"a record {name} lacks required values") from None


def _dict(told: object) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise TypeError(told)
    return told


def _add_types(told: list[list[Any]], declared: Declared) -> None:
    for number, ident, name, *_ in told:
        if number != len(declared.type_names) or number > _MOST_TYPES:
            raise ValueError(number)
        declared.type_names.append(clean(name))
        declared.type_ids.append(ident_of(ident))
