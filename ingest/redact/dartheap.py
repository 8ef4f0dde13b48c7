"""Heap snapshots of Dart without values.

A snapshot is read twice: which numbers and texts the VM itself needs, to name static
fields and libraries, is known by the objects that refer to them. Other texts become as
many ``*``, numbers zero of the same length. Folders in addresses of libraries become
letters that tell nothing but whether they are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.hashing import FNV_OFFSET, FNV_PRIME, fnv1a
from ingest.errors import TruncatedDump
from ingest.heap.redaction import FILLER, MARK
from ingest.readers import open_source
from ingest.readers.dart import MAGIC
from ingest.readers.dart.reader import read_classes
from ingest.readers.dart.scan import (
    BOOL,
    DOUBLE,
    FAULT,
    FAULTS,
    INT,
    LATIN1,
    LENGTH,
    NAME,
    OBJECTS,
    REFERENCES,
    UTF16,
    buffers_for,
    scan,
    ulebs,
)
from ingest.readers.shared.binary import Feed
from ingest.readers.shared.leb128 import uleb
from ingest.redact.names import scrubbed
from ingest.redact.rules import Removed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ids, Number
    from ingest.progress import Progress
    from ingest.readers.dart.classes import SnapshotClasses
    from ingest.redact.rules import RedactionRules, Write

_LONGEST_NAME_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 19


@kernel
def hide(data: Bytes, begin: int, end: int, key: Number, whole: bool) -> int:
    """Replace the folders of a path by letters, or all of a name.

    Addresses of packages and of the core libraries stay.

    Returns:
        How many bytes were replaced.
    """
    last = end if whole else begin
    for i in range(begin, end):
        if data[i] == 0x2F or data[i] == 0x5C:
            last = i if i > last else last
    # dart: and package: begin like this.
    is_public = end - begin > 5 and data[begin + 4] == 0x3A and data[begin] == 0x64
    is_public = is_public or (end - begin > 8 and data[begin + 7] == 0x3A)
    if is_public and not whole:
        return 0
    state = fnv1a(data, begin, last, FNV_OFFSET ^ key)
    for i in range(begin, last):
        if data[i] not in (0x2F, 0x3A, 0x5C) or whole:
            state = state * FNV_PRIME + np.uint64(1)
            data[i] = 0x61 + int((state >> np.uint64(40)) % np.uint64(26))
    return last - begin


@kernel
def blank_objects(
    data: Bytes,
    begin: int,
    end: int,
    first_id: int,
    count: int,
    kept: Ids,
    key: Number,
    hides: bool,
    isolate: int,
) -> Number:
    """Blank the values of complete objects.

    Args:
        data: The window; changed.
        begin: Where the first object begins.
        end: Where the last one ends.
        first_id: Its number.
        count: How many there are.
        kept: uint64, ascending. Numbers of objects whose texts and numbers stay.
        key: For `hide`.
        hides: Whether names are replaced, too.
        isolate: Class of isolates, whose names are values; 0 for none.

    Returns:
        How many bytes were blanked.
    """
    p: Number = begin
    blanked = 0
    at = 0
    for i in range(count):
        ident = np.uint64(first_id + i)
        while at < len(kept) and kept[at] < ident:
            at += 1
        stays = at < len(kept) and kept[at] == ident
        kind, p = uleb(data, p, end)
        _, p = uleb(data, p, end)
        tag, p = uleb(data, p, end)
        hidden = hides or np.int64(kind) == isolate
        if tag in (BOOL, INT):
            while True:
                more = data[p] & 0x80
                if not stays:
                    data[p] = more
                    blanked += 1
                p += 1
                if more == 0:
                    break
        elif tag == DOUBLE:
            for k in range(p, p + 8):
                data[k] = 0
            p += 8
            blanked += 8
        elif tag == LENGTH:
            _, p = uleb(data, p, end)
        elif tag >= LATIN1:
            if tag != NAME:
                _, p = uleb(data, p, end)
            size, p = uleb(data, p, end)
            after: Number = p + np.int64(size) * (2 if tag == UTF16 else 1)
            if tag == NAME or stays:
                blanked += hide(data, p, after, key, hidden)
            else:
                for k in range(p, after):
                    is_high = tag == UTF16 and (k - p) % 2 == 1
                    data[k] = 0 if is_high else FILLER
                blanked += after - p
            p = after
        many, p = uleb(data, p, end)
        for _ in range(np.int64(many)):
            _, p = uleb(data, p, end)
    return blanked


def _uleb(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _text(text: bytes) -> bytes:
    return _uleb(len(text)) + text


class _DartCopy:
    """One pass over a snapshot.

    Args:
        feed: The file.
        rules: What to remove.
        write: Receives the copy.
    """

    def __init__(self, feed: Feed, rules: RedactionRules, write: Write) -> None:
        self._feed, self._rules, self._write = feed, rules, write
        self._key = np.uint64(int(rules.redaction.hashed("", rules.file_sha256), 16))
        self._hides = bool(rules.redaction.types)
        self.removed = Removed()

    def put(self, data: bytes) -> None:
        self._write(memoryview(data))

    def head(self) -> tuple[SnapshotClasses, int]:
        """Copy what precedes the objects; return the classes and the objects' number.

        Raises:
            MalformedDump, TruncatedDump: it is incomplete.
        """
        feed = self._feed
        feed.take(len(MAGIC))
        flags = feed.uleb()
        feed.text(_LONGEST_NAME_BYTES)
        self.put(MAGIC + _uleb(flags) + _text(MARK.encode()))
        self.put(b"".join(_uleb(feed.uleb()) for _ in range(3)))
        whole = _RecordingFeed(feed)
        classes = read_classes(whole)
        self._put_classes(whole)
        references, claimed = feed.uleb(), feed.uleb()
        self.put(_uleb(references) + _uleb(claimed))
        return classes, claimed

    def _put_classes(self, taken: _RecordingFeed) -> None:
        """Write the table of classes, which was just read."""
        feed = Feed(iter([bytes(taken.taken)]), taken.name)
        count = feed.uleb()
        self.put(_uleb(count))
        for _ in range(count):
            flags = feed.uleb()
            name, library, uri, _ = (feed.text(_LONGEST_NAME_BYTES) for _ in range(4))
            full = self._rules.type_name(f"{uri or library}::{name}")
            if full != f"{uri or library}::{name}":
                address, _, name = full.rpartition("::")
                uri, library = (address, "") if uri else ("", address)
            fields = feed.uleb()
            texts = name.encode(), self._address(library), self._address(uri), b""
            self.put(_uleb(flags) + b"".join(map(_text, texts)) + _uleb(fields))
            for _ in range(fields):
                numbers = _uleb(feed.uleb()) + _uleb(feed.uleb())
                field = feed.text(_LONGEST_NAME_BYTES)
                feed.text(_LONGEST_NAME_BYTES)
                self.put(numbers + _text(field.encode()) + _text(b""))

    def _address(self, text: str) -> bytes:
        data = np.frombuffer(bytearray(text.encode()), np.uint8)
        hide(data, 0, len(data), self._key, False)
        return data.tobytes()

    def objects(
        self, classes: SnapshotClasses, claimed: int, kept: NDArray[np.uint64]
    ) -> tuple[bool, NDArray[np.uint64]]:
        """Copy the objects without values.

        Returns:
            Whether all are there, and the numbers of those whose values the VM needs.
        """
        feed, needed = self._feed, _NeededValues(classes, self._rules, self._hides)
        signed, done = classes.signed_integers(), 0
        counts, span = np.zeros(5, np.int64), np.empty(3, np.int64)
        buffers = buffers_for(1 << 16)
        while done < claimed:
            window = bytearray(feed.data)
            data = np.frombuffer(window, np.uint8)
            if 4 * len(buffers.class_index) < len(data) + 4:
                buffers = buffers_for(len(data))
            begin = feed.position
            end = int(
                scan(
                    data, begin, signed, claimed - done, claimed, buffers, counts, span
                )
            )
            if counts[FAULT]:
                raise feed.malformed(FAULTS[counts[FAULT]])
            many = int(counts[OBJECTS])
            needed.add(buffers.class_index[:many], buffers.ref_count[:many],
                       buffers.ref_id[: counts[REFERENCES]])  # fmt: skip
            self.removed.blanked_bytes += int(
                blank_objects(
                    data,
                    begin,
                    end,
                    done + 1,
                    many,
                    kept,
                    self._key,
                    self._hides,
                    classes.internal("Isolate") + 1,
                )
            )
            self._write(memoryview(window)[begin:end])
            feed.position, done = end, done + many
            if done < claimed and not feed.grow():
                break
        return done == claimed, needed.all()

    def tail(self, objects: int) -> None:
        """Copy memory outside of the heap and hash codes.

        Raises:
            TruncatedDump: the file ends in them.
        """
        feed = self._feed
        many = feed.uleb()
        self.put(_uleb(many))
        for _ in range(many):
            numbers = _uleb(feed.uleb()) + _uleb(feed.uleb())
            name = scrubbed(feed.text(_LONGEST_NAME_BYTES), self._rules)
            self.put(numbers + _text(name.encode()))
        hashes = np.zeros(objects, np.int64)
        done = 0
        while done < objects:
            data = np.frombuffer(feed.data, np.uint8)
            begin = feed.position
            read_now, feed.position = ulebs(data, begin, hashes[done:])
            self.put(bytes(feed.data[begin : feed.position]))
            done += read_now
            if done < objects and not feed.grow():
                break
        self.removed.is_cut |= 0 < done < objects
        self.removed.unread_bytes += feed.drain()


class _RecordingFeed(Feed):
    """A window that also keeps the numbers and texts which are taken from it."""

    def __init__(self, feed: Feed) -> None:
        super().__init__((), feed.name)
        self._feed, self.taken = feed, bytearray()

    def uleb(self) -> int:
        value = self._feed.uleb()
        self.taken += _uleb(value)
        return value

    def text(self, most_bytes: int) -> str:
        found = self._feed.text(most_bytes)
        self.taken += _text(found.encode())
        return found

    @property
    def offset(self) -> int:
        return self._feed.offset


class _NeededValues:
    """Objects whose values the VM needs: numbers of fields, addresses of libraries."""

    def __init__(
        self, classes: SnapshotClasses, rules: RedactionRules, hides: bool
    ) -> None:
        self._wanted: dict[int, list[int]] = {}
        for name, fields in (("Field", ["host_offset_or_field_id"]),
                             ("Library", [] if hides else ["url"])):  # fmt: skip
            kind = classes.internal(name)
            if kind >= 0:
                self._wanted[kind] = [classes.place(kind, field) for field in fields]
        for kind, name in enumerate(classes.type_names() if rules.keep else ()):
            begin, end = classes.first_slot[kind : kind + 2]
            texts = list(classes.field_names)
            slots = [
                place
                for place, row in enumerate(classes.slot_field[begin:end])
                if row >= 0 and rules.keeps(name, texts[row])
            ]
            if slots:
                self._wanted.setdefault(kind, []).extend(slots)
        self._found: set[int] = set()

    def add(
        self, kinds: NDArray[np.int32], counts: NDArray[np.int32],
        targets: NDArray[np.int32],
    ) -> None:  # fmt: skip
        """Collect from objects: classes, and references one after another."""
        starts = np.cumsum(counts, dtype=np.int64) - counts
        for kind, places in self._wanted.items():
            rows = np.flatnonzero(kinds == kind)
            for place in places:
                there = rows[counts[rows] > place] if place >= 0 else rows[:0]
                self._found.update(targets[starts[there] + place].tolist())

    def all(self) -> NDArray[np.uint64]:
        return np.array(sorted(self._found - {0}), np.uint64)


def redact(
    dump: str, rules: RedactionRules, write: Write, progress: Progress
) -> Removed:
    """Copy a snapshot without values; see `ingest.redact.rules.Redactor`.

    Memory: numbers of the objects that are needed.

    Raises:
        DumpError: it cannot be opened or read.
    """
    nothing = np.empty(0, np.uint64)
    with open_source(dump) as source:
        source.allow_any_expansion()
        feed = Feed(source.chunks(progress, _CHUNK_BYTES), dump)
        first = _DartCopy(feed, rules, lambda _: None)
        _, needed = first.objects(*first.head(), nothing)
    with open_source(dump) as source:
        source.allow_any_expansion()
        feed = Feed(source.chunks(progress, _CHUNK_BYTES), dump)
        copy = _DartCopy(feed, rules, write)
        classes, claimed = copy.head()
        is_whole, _ = copy.objects(classes, claimed, needed)
        copy.removed.is_cut = not is_whole
        if is_whole:
            try:
                copy.tail(claimed)
            except TruncatedDump:
                copy.removed.is_cut = True
        copy.removed.is_cut |= source.truncated
    return copy.removed
