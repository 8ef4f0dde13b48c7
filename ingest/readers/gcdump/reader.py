"""Reads the graph of a ``.gcdump`` and the process information after it."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import MalformedDump, TruncatedDump
from ingest.readers.dotnet.fastserialization import Archive, Tag
from ingest.readers.gcdump import ENTRY, HEAD
from ingest.readers.gcdump.assembly import DumpDetails, assemble
from ingest.readers.gcdump.nodes import read_nodes
from ingest.readers.shared.binary import F32, I32, I64, U8, Feed
from ingest.readers.shared.irregularities import IrregularityCounter

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.dotnet.fastserialization import StoredType
    from ingest.readers.source import Source


_FIRST_VERSION, _REFUSED_VERSION, _OUR_VERSION = 4, 8, 10
_OLD_SEGMENT, _SEGMENT = Struct("<6Q"), Struct("<7Q")


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the dump in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: the file, 16 bytes an object and 4 a reference; without the
    file 36 and 4.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    feed = Feed.of_complete(source.chunks(progress), source.name)
    feed.take(len(HEAD))
    archive = Archive(feed)
    kind = archive.begin(ENTRY)
    _check_version(feed, kind)
    nodes = archive.read("Graphs.MemoryGraph", lambda kind: read_nodes(archive, kind))
    if nodes is None:
        raise feed.malformed("the dump contains no graph")
    info = _read_info(archive, kind.version, counter)
    if source.truncated:
        counter.add("truncated_compression", 1, 0, len(feed.data))
    if not archive.has_trailer:
        counter.add("truncated_trailer", 1, 0, len(feed.data))
    # Everything else is decoded, so the addresses move to the front, the rest is freed.
    nodes.address = feed.keep_only(nodes.address_at, nodes.count)
    return assemble(nodes, info, fold=options.fold, counter=counter)


def _check_version(feed: Feed, kind: StoredType) -> None:
    """Reject versions that are not supported.

    Raises:
        MalformedDump: the version is not supported.
    """
    version = f"version {kind.version} of the format"
    if kind.version == _REFUSED_VERSION or kind.version < _FIRST_VERSION:
        raise MalformedDump(
            f"{version} is not supported; collect the dump with a newer program",
            path=feed.name,
            offset=feed.offset,
        )
    if kind.version > _REFUSED_VERSION and kind.oldest_reader > _OUR_VERSION:
        raise MalformedDump(
            f"{version} is newer than this reader; update ingest",
            path=feed.name,
            offset=feed.offset,
        )


def _read_info(
    archive: Archive, version: int, counter: IrregularityCounter
) -> DumpDetails:
    """The information after the graph, as far as it can be read."""
    info = DumpDetails()
    try:
        if version < _REFUSED_VERSION:
            _read_old_fields(archive, version, info)
        else:
            _read_fields(archive, info)
        archive.skip_tagged()
    except TruncatedDump as error:
        counter.add("truncated_information", 1, 0, error.offset)
    except MalformedDump as error:
        counter.add("malformed_information", 1, 0, error.offset)
    return info


def _read_fields(archive: Archive, info: DumpDetails) -> None:
    """Read the fields of versions from 9 on."""
    feed = archive.feed
    feed.number(U8)  # whether the process has 64 bits
    info.average_count, info.average_size = (feed.fixed(F32)[0] for _ in range(2))
    archive.read("JSHeapInfo", lambda _: True)
    archive.read("DotNetHeapInfo", lambda _: _read_heap(archive, info))
    _read_process(archive, info)
    count = feed.count("multipliers")
    info.by_type = np.frombuffer(feed.take(count * F32.size), "<f4").astype("f8")
    if archive.take_tag(Tag.SKIP):  # COM data
        archive.skip()
    if archive.take_tag(Tag.STRING):
        info.tool = archive.text() or ""


def _read_old_fields(archive: Archive, version: int, info: DumpDetails) -> None:
    """Read the fields of versions before 8."""
    feed = archive.feed
    feed.take(3 * I64.size + U8.size)  # sizes of segments, and an unused field
    if version >= 5:
        _read_process(archive, info)
    if version >= 6:
        _read_segments(archive, info)
    if version >= 7:
        feed.number(U8)  # whether the process has 64 bits


def _read_process(archive: Archive, info: DumpDetails) -> None:
    feed = archive.feed
    archive.text()  # log of the collection
    feed.number(I64)  # time
    archive.text()  # machine
    info.process = archive.text() or ""
    feed.take(I32.size + 2 * I64.size)  # process id and memory


def _read_heap(archive: Archive, info: DumpDetails) -> bool:
    archive.feed.number(I64)  # size of the segments
    _read_segments(archive, info)
    return True


def _read_segments(archive: Archive, info: DumpDetails) -> None:
    for _ in range(archive.feed.count("segments")):
        segment = archive.read(
            "GCHeapDumpSegment", lambda kind: _read_bounds(archive, kind)
        )
        if segment is not None and segment[0] < segment[1]:
            info.segments.append(segment)


def _read_bounds(archive: Archive, kind: StoredType) -> tuple[int, ...]:
    """Start and end of a segment, and the ends of its generations; 0 for none."""
    layout = _SEGMENT if kind.version else _OLD_SEGMENT
    bounds = archive.feed.fixed(layout)
    return bounds if kind.version else (*bounds, 0)
