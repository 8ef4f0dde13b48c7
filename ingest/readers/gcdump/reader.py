"""Reads a ``.gcdump``'s graph and what follows it."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ingest.errors import MalformedDump, TruncatedDump
from ingest.readers.dotnet.fastserialization import Archive, Tag
from ingest.readers.gcdump.assembly import About, assemble
from ingest.readers.gcdump.nodes import read_nodes
from ingest.readers.gcdump.signature import ENTRY, HEAD
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
    feed = Feed.whole(source.chunks(progress), source.name)
    feed.take(len(HEAD))
    archive = Archive(feed)
    kind = archive.begin(ENTRY)
    _check_version(feed, kind)
    nodes = archive.read("Graphs.MemoryGraph", lambda kind: read_nodes(archive, kind))
    if nodes is None:
        raise feed.malformed("there is no graph in the dump")
    about = _about(archive, kind.version, counter)
    if source.truncated:
        counter.add("truncated_compression", 1, 0, len(feed.data))
    if not archive.is_whole:
        counter.add("truncated_trailer", 1, 0, len(feed.data))
    # All else is decoded; addresses move to the front, so that the rest is freed.
    nodes.address = feed.keep_only(nodes.address_at, nodes.count)
    return assemble(nodes, about, fold=options.fold, counter=counter)


def _check_version(feed: Feed, kind: StoredType) -> None:
    """Refuse what no reader of ours can read.

    Raises:
        MalformedDump: it is such a version.
    """
    what = f"version {kind.version} of the format"
    if kind.version == _REFUSED_VERSION or kind.version < _FIRST_VERSION:
        raise MalformedDump(
            f"{what} is read by no program; collect the dump with a newer one",
            path=feed.name,
            offset=feed.offset,
        )
    if kind.version > _REFUSED_VERSION and kind.least_reader > _OUR_VERSION:
        raise MalformedDump(
            f"{what} is newer than what is read here; update ingest",
            path=feed.name,
            offset=feed.offset,
        )


def _about(archive: Archive, version: int, counter: IrregularityCounter) -> About:
    """What stands behind the graph, as far as it can be read."""
    about = About()
    try:
        if version < _REFUSED_VERSION:
            _old_information(archive, version, about)
        else:
            _information(archive, about)
        archive.pass_tagged()
    except TruncatedDump as error:
        counter.add("truncated_information", 1, 0, error.offset)
    except MalformedDump as error:
        counter.add("malformed_information", 1, 0, error.offset)
    return about


def _information(archive: Archive, about: About) -> None:
    """The fields of versions from 9 on."""
    feed = archive.feed
    feed.number(U8)  # whether the process has 64 bits
    about.average_count, about.average_size = (feed.fixed(F32)[0] for _ in range(2))
    archive.read("JSHeapInfo", lambda _: True)
    archive.read("DotNetHeapInfo", lambda _: _heap(archive, about))
    _process(archive, about)
    count = feed.count("multipliers")
    about.by_type = np.frombuffer(feed.take(count * F32.size), "<f4").astype("f8")
    if archive.tagged(Tag.SKIP):  # what is known of COM
        archive.skip()
    if archive.tagged(Tag.STRING):
        about.tool = archive.text() or ""


def _old_information(archive: Archive, version: int, about: About) -> None:
    """The fields of versions before 8."""
    feed = archive.feed
    feed.take(3 * I64.size + U8.size)  # sizes of segments, and something unused
    if version >= 5:
        _process(archive, about)
    if version >= 6:
        _segments(archive, about)
    if version >= 7:
        feed.number(U8)  # whether the process has 64 bits


def _process(archive: Archive, about: About) -> None:
    feed = archive.feed
    archive.text()  # what the collector said
    feed.number(I64)  # when
    archive.text()  # on which machine
    about.process = archive.text() or ""
    feed.take(I32.size + 2 * I64.size)  # the process's number and memory


def _heap(archive: Archive, about: About) -> bool:
    archive.feed.number(I64)  # the segments' sizes
    _segments(archive, about)
    return True


def _segments(archive: Archive, about: About) -> None:
    for _ in range(archive.feed.count("segments")):
        segment = archive.read("GCHeapDumpSegment", lambda kind: _bounds(archive, kind))
        if segment is not None and segment[0] < segment[1]:
            about.segments.append(segment)


def _bounds(archive: Archive, kind: StoredType) -> tuple[int, ...]:
    """Start and end of a segment, and where its generations end; 0 for none."""
    layout = _SEGMENT if kind.version else _OLD_SEGMENT
    bounds = archive.feed.fixed(layout)
    return bounds if kind.version else (*bounds, 0)
