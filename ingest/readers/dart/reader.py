"""Reads a Dart snapshot's classes and objects, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.errors import TruncatedDump
from ingest.heap.values import ExternalMemory, ObjectValues
from ingest.readers.dart import MAGIC
from ingest.readers.dart.assembly import assemble
from ingest.readers.dart.classes import SnapshotClasses, SnapshotObjects
from ingest.readers.dart.scan import (
    BYTES,
    FAULT,
    FAULTS,
    OBJECTS,
    REFERENCES,
    VALUES,
    RecordBuffers,
    buffers_for,
    scan,
    ulebs,
)
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.columns import MAX_SIZE_BYTES, GrowingColumn, starts_of
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.words.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions
    from ingest.progress import Progress
    from ingest.readers.source import Source

_MOST_OBJECTS = (1 << 31) - 2
_MOST_CLASSES = 1 << 21
"""The most classes: a class id of the VM has 20 bits."""
_MOST_FIELDS = 1 << 20
_FREE_PLACES = 1 << 16
"""Places without a field may be as many, and one more for each byte read."""
_LONGEST_NAME_BYTES = 1 << 16
_SMALLEST_WINDOW_BYTES = 1 << 16


def read(source: Source, options: ReadOptions, progress: Progress) -> HeapGraph:
    """Read the snapshot in ``source``; see `ingest.readers.base.Reader.read`.

    Memory while reading: at most 44 bytes an object and 13 a reference, and its value.
    """
    counter = IrregularityCounter(strict=options.strict, name=source.name)
    recorded = _recorded(source, counter, progress)
    return assemble(
        recorded.classes,
        recorded.objects,
        isolate=recorded.isolate,
        options=options,
        counter=counter,
    )


def check_whole(source: Source, progress: Progress) -> None:
    """Read all records; see `ingest.readers.base.CapturedReader.check_whole`.

    Memory: as much as `read` takes, because a record does not tell its own length.
    """
    counter = IrregularityCounter(strict=False, name=source.name)
    _recorded(source, counter, progress)
    counter.check_end()


class _Recorded(NamedTuple):
    """The content of a snapshot."""

    isolate: str
    classes: SnapshotClasses
    objects: SnapshotObjects


def _recorded(
    source: Source, counter: IrregularityCounter, progress: Progress
) -> _Recorded:
    """All records of a snapshot.

    Raises:
        MalformedDump, TruncatedDump: it cannot be read.
    """
    feed = Feed(source.chunks(progress), source.name)
    feed.take(len(MAGIC))
    feed.uleb()  # flags, none known
    isolate = feed.text(_LONGEST_NAME_BYTES)
    for _ in ("shallow size", "capacity", "external size"):
        feed.uleb()  # counted in pages: not the sum of the objects
    classes = read_classes(feed)
    feed.uleb()  # number of references, which each object records too
    claimed = feed.uleb()
    objects = _objects(feed, classes, claimed, counter)
    objects.external, objects.identity_hash = _tail(feed, objects, counter)
    if source.truncated:
        counter.add("truncated_compression", 1, 0, feed.offset)
    return _Recorded(isolate, classes, objects)


def read_classes(feed: Feed) -> SnapshotClasses:
    """The table of classes.

    Raises:
        MalformedDump, TruncatedDump: it is incomplete; then nothing can be read.
    """
    count = feed.uleb()
    if count > _MOST_CLASSES:
        raise feed.malformed(f"the file claims {counted(count, 'classes')}")
    classes = SnapshotClasses()
    for _ in range(count):
        feed.uleb()  # flags
        name, library, uri, _ = (feed.text(_LONGEST_NAME_BYTES) for _ in range(4))
        fields = feed.uleb()
        if fields > _MOST_FIELDS:
            raise feed.malformed(f"a class claims {fields:,} fields")
        slots: dict[int, str] = {}
        for _ in range(fields):
            feed.uleb()  # flags
            slot = feed.uleb()
            if slot > _MOST_FIELDS:
                raise feed.malformed(f"a field claims place {slot:,}")
            slots[slot] = feed.text(_LONGEST_NAME_BYTES)
            feed.text(_LONGEST_NAME_BYTES)  # reserved
        places = len(classes.slot_field) + max(slots, default=-1) + 1
        if places > _FREE_PLACES + feed.offset:
            raise feed.malformed("the classes claim too many fields")
        classes.add(name, uri or library, slots)
    return classes


_ROWS = {
    "ref_id": REFERENCES,
    "value_object": VALUES,
    "value_kind": VALUES,
    "value_end": VALUES,
    "content": BYTES,
}


class _Records:
    """The objects of a snapshot, scan by scan.

    Attributes:
        count: Objects so far.
    """

    def __init__(self) -> None:
        self._columns = {
            name: GrowingColumn(column.dtype)
            for name, column in buffers_for(0)._asdict().items()
        }
        self.count = self._content_bytes = 0

    def take(self, buffers: RecordBuffers, counts: NDArray[np.int64]) -> None:
        """Copy the rows that a scan has written into ``buffers``."""
        buffers.value_object[: counts[VALUES]] += np.int32(self.count)
        buffers.value_end[: counts[VALUES]] += self._content_bytes
        for name, column in buffers._asdict().items():
            rows = counts[_ROWS.get(name, OBJECTS)]
            if rows:
                self._columns[name].add(column[:rows])
        self.count += int(counts[OBJECTS])
        self._content_bytes += int(counts[BYTES])

    def objects(self, claimed: int) -> SnapshotObjects:
        """All objects; once only."""
        taken = {name: column.taken for name, column in self._columns.items()}
        return SnapshotObjects(
            class_index=taken["class_index"](),
            size_bytes=taken["size_bytes"](),
            length=taken["length"](),
            ref_start=starts_of(taken["ref_count"]()),
            ref_id=taken["ref_id"](),
            values=ObjectValues(
                taken["value_object"](),
                taken["value_kind"](),
                np.concatenate([np.zeros(1, np.int64), taken["value_end"]()]),
                taken["content"](),
            ),
            claimed_count=claimed,
        )


def _objects(
    feed: Feed, classes: SnapshotClasses, claimed: int, counter: IrregularityCounter
) -> SnapshotObjects:
    """All objects; fewer than claimed if the file ends too early.

    Raises:
        MalformedDump: an object contradicts the format, or there is none.
    """
    highest = min(claimed, _MOST_OBJECTS)
    signed = classes.signed_integers()
    records = _Records()
    counts, span = np.zeros(5, np.int64), np.empty(3, np.int64)
    buffers = buffers_for(_SMALLEST_WINDOW_BYTES)
    while records.count < highest:
        data = np.frombuffer(feed.data, np.uint8)
        if 4 * len(buffers.class_index) < len(data) + 4:
            buffers = buffers_for(len(data))
        feed.position = scan(
            data, feed.position, signed, highest - records.count, highest, buffers,
            counts, span,
        )  # fmt: skip
        if counts[FAULT]:
            raise feed.malformed(FAULTS[counts[FAULT]])
        records.take(buffers, counts)
        if records.count < highest and not feed.grow():
            left = claimed - records.count
            counter.add("truncated_objects", left, 0, feed.offset)
            break
    if not records.count:
        raise feed.malformed("the snapshot has no objects")
    return records.objects(claimed)


def _tail(
    feed: Feed, objects: SnapshotObjects, counter: IrregularityCounter
) -> tuple[ExternalMemory | None, NDArray[np.int64] | None]:
    """External properties and identity hashes, as far as the file has them."""
    if objects.count < objects.claimed_count:
        return None, None
    begin = feed.offset
    try:
        external = _external(feed, objects.count)
    except TruncatedDump:
        counter.add("truncated_external_memory", 1, 0, begin)
        return None, None
    if feed.position == len(feed.data) and not feed.grow():
        return external, None  # a file of a VM that recorded no identity hashes
    hashes = np.zeros(objects.count, np.int64)
    done = 0
    while done < objects.count:
        data = np.frombuffer(feed.data, np.uint8)
        read_now, feed.position = ulebs(data, feed.position, hashes[done:])
        done += read_now
        if done < objects.count and not feed.grow():
            counter.add("truncated_hashes", objects.count - done, 0, feed.offset)
            break
    end = feed.offset
    if rest := feed.drain():
        counter.add("trailing_bytes", rest, 0, end)
    return external, hashes if hashes.any() else None


def _external(feed: Feed, objects: int) -> ExternalMemory | None:
    """Sizes outside the heap, added up for each object.

    Raises:
        MalformedDump: it contradicts the objects.
        TruncatedDump: it is incomplete.
    """
    found: dict[int, list[int]] = {}
    names: dict[str, int] = {}
    for _ in range(feed.uleb()):
        owner, size = feed.uleb(), feed.uleb()
        name = feed.text(_LONGEST_NAME_BYTES)
        if not 1 <= owner <= objects:
            raise feed.malformed("external memory belongs to no object")
        if (entry := found.get(owner - 1)) is None:
            entry = found[owner - 1] = [0, names.setdefault(name, len(names))]
        entry[0] += size
        if entry[0] > MAX_SIZE_BYTES:
            raise feed.malformed("external memory is larger than any memory")
    if not found:
        return None
    rows = sorted(found)
    return ExternalMemory(
        np.array(rows, np.int32),
        np.array([found[row][0] for row in rows], np.int64),
        np.array([found[row][1] for row in rows], np.int32),
        tuple(names),
    )
