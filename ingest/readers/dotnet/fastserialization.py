"""FastSerialization, the container of ``.gcdump``: objects, labels, tagged fields.

A file is its version in a string, one object, an end, a table of forward references
and where that stands. An object is its type, its fields and an end; a type is told
once and referred to by its place later. Fields that a version has added stand behind
the others with a tag each, so that a reader can pass over what it does not know.

No place that a file names is trusted: an object may not contain itself, and passing
over something leads forward only.

Source: microsoft/perfview, src/FastSerialization, FastSerialization.cs and
StreamReaderWriter.cs.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from ingest.errors import TruncatedDump
from ingest.readers.shared.binary import I32, U8, U32

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.readers.shared.binary import Feed

T = TypeVar("T")

MAGIC = b"!FastSerialization.1"

_VERSIONS = Struct("<ii")
_LABEL_BYTES = 4
_PASSED_BYTES = {8: 1, 9: 2, 10: 4, 11: 8}


class Tag(IntEnum):
    """What the next bytes are."""

    NOTHING = 1
    REFERENCE = 2
    FORWARD_REFERENCE = 3
    BEGIN = 4
    BEGIN_PRIVATE = 5
    END = 6
    FORWARD_DEFINITION = 7
    BYTE = 8
    SKIP = 12
    STRING = 13
    BLOB = 14


class StoredType(NamedTuple):
    """The type of an object."""

    name: str
    version: int
    least_reader: int


class Archive:
    """The objects of a file.

    Attributes:
        feed: All of the file; ``feed.position`` is the next byte.
        is_whole: Whether the file has the table at its end.
    """

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._kinds: dict[int, StoredType] = {}
        self._objects: dict[int, object] = {}
        self._open: set[int] = set()
        self._forward = self._forward_table()
        self.is_whole = self._forward is not None

    def _forward_table(self) -> tuple[int, ...] | None:
        """Where each forward reference leads; ``None`` if the end is not there."""
        data = self.feed.data

        def label(at: int) -> int:
            known = 0 <= at <= len(data) - _LABEL_BYTES
            return int(U32.unpack_from(data, at)[0]) if known else len(data)

        trailer = label(len(data) - _LABEL_BYTES)
        table = label(trailer)
        count = label(table)
        begin = table + _LABEL_BYTES
        if trailer + 2 * _LABEL_BYTES != len(data):
            return None
        if begin + count * _LABEL_BYTES != trailer:
            return None
        return Struct(f"<{count}I").unpack_from(data, begin)

    def tag(self) -> int:
        """The next tag."""
        return self.feed.number(U8)

    def text(self) -> str | None:
        """The next string, ``None`` if it is null.

        Its length counts UTF-16 code units; each of them stands as UTF-8 of its own,
        halves of surrogate pairs too.

        Raises:
            MalformedDump: it is no such text.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        units = feed.number(I32)
        if units < 0:
            return None
        begin = feed.position
        data = feed.take(units)
        if data.isascii():
            return data.decode("ascii")
        feed.position = begin
        wide = bytearray()
        for _ in range(units):
            unit = first = feed.number(U8)
            if first >= 0x80:
                more = 1 if first < 0xE0 else 2
                if not 0xC0 <= first < 0xF0:
                    raise feed.malformed("a text is not encoded as it should be")
                unit = first & (0x3F >> more)
                for byte in feed.take(more):
                    unit = unit << 6 | byte & 0x3F
            wide += unit.to_bytes(2, "little")
        return wide.decode("utf-16-le", "replace")

    def read(self, name: str, fields: Callable[[StoredType], T]) -> T | None:
        """The next object, which is of type ``name``, or null.

        Args:
            name: The only type that may stand here.
            fields: Reads an object's own fields; what stands tagged behind them is
                passed over.

        Raises:
            MalformedDump: something else stands here.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        at = feed.position
        tag = self.tag()
        if tag == Tag.NOTHING:
            return None
        if tag in (Tag.REFERENCE, Tag.FORWARD_REFERENCE):
            return self._referred(self._target(tag), name, fields)
        if at in self._open:
            raise feed.malformed(f"a {name} contains itself")
        self._open.add(at)
        feed.position = at
        read = fields(self.begin(name))
        self.pass_tagged()
        self._open.discard(at)
        self._objects[at] = read
        return read

    def begin(self, name: str) -> StoredType:
        """The type of the object that begins here, which is called ``name``.

        Raises:
            MalformedDump: something else stands here.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        tag = self.tag()
        if tag not in (Tag.BEGIN, Tag.BEGIN_PRIVATE):
            raise feed.malformed(f"a {name} begins with {tag}")
        kind = self._kind()
        if kind.name != name:
            raise feed.malformed(f"a {kind.name[:80]!r} stands where a {name} should")
        return kind

    def _referred(
        self, target: int, name: str, fields: Callable[[StoredType], T]
    ) -> T | None:
        """The object at ``target``, read only once."""
        feed = self.feed
        if target not in self._objects:
            end, feed.position = feed.position, target
            if self.tagged(Tag.FORWARD_DEFINITION):
                feed.take(I32.size)
            if self._follows(Tag.REFERENCE) or self._follows(Tag.FORWARD_REFERENCE):
                raise feed.malformed("a reference leads to another one")
            self._objects[target] = self.read(name, fields)
            feed.position = end
        return cast("T | None", self._objects[target])

    def _target(self, tag: int) -> int:
        feed = self.feed
        if tag == Tag.REFERENCE:
            return feed.number(U32)
        target = self._forwarded()
        self._kind()
        return target

    def _forwarded(self, *, inside: bool = False) -> int:
        """Where the forward reference leads whose number comes next.

        Args:
            inside: Whether that has to be between here and the end of the file.
        """
        feed = self.feed
        number = feed.number(I32)
        if self._forward is None:
            raise TruncatedDump(
                "the file lacks the table at its end; get it again",
                path=feed.name,
                offset=feed.offset,
            )
        if not 0 <= number < len(self._forward):
            raise feed.malformed(f"there is no forward reference {number}")
        end = self._forward[number]
        if inside and not feed.position <= end <= len(feed.data):
            raise feed.malformed(f"a region that begins here ends at byte {end:,}")
        return end

    def _kind(self) -> StoredType:
        """The next type, or the one that is referred to."""
        feed = self.feed
        at, tag = feed.position, self.tag()
        if tag == Tag.REFERENCE:
            label = feed.number(U32)
            if label not in self._kinds:
                raise feed.malformed(f"no type begins at byte {label:,}")
            return self._kinds[label]
        if tag not in (Tag.BEGIN, Tag.BEGIN_PRIVATE) or self.tag() != Tag.NOTHING:
            raise feed.malformed("an object has no type")
        version, least_reader = feed.fixed(_VERSIONS)
        name = self.text()
        if self.tag() != Tag.END:
            raise feed.malformed("a type does not end where it should")
        self._kinds[at] = kind = StoredType(name or "", version, least_reader)
        return kind

    def tagged(self, tag: Tag) -> bool:
        """Whether a field with ``tag`` comes next; then its tag has been read."""
        if self._follows(tag):
            self.feed.position += 1
            return True
        return False

    def _follows(self, tag: Tag) -> bool:
        at = self.feed.position
        return self.feed.data[at : at + 1] == bytes([tag])

    def pass_tagged(self) -> None:
        """Pass over tagged fields and the end behind them.

        Raises:
            MalformedDump: something else stands here.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        while (tag := self.tag()) != Tag.END:
            if tag in _PASSED_BYTES:
                feed.take(_PASSED_BYTES[tag])
            elif tag == Tag.STRING:
                self.text()
            elif tag == Tag.BLOB:
                feed.take(feed.count("bytes of something unknown"))
            elif tag == Tag.SKIP:
                self.skip()
            elif tag == Tag.REFERENCE:
                feed.take(U32.size)
            elif tag != Tag.NOTHING:
                raise feed.malformed(f"an object has {tag} where it should end")

    def skip(self) -> None:
        """Go to the end of the region whose number comes next.

        Raises:
            MalformedDump: it ends before its beginning, or behind the file.
            TruncatedDump: the file's own end is missing.
        """
        self.feed.position = self._forwarded(inside=True)

    def region(self) -> int | None:
        """The end of the region whose number comes next, if the file has its own end.

        Raises:
            MalformedDump: it ends before its beginning, or behind the file.
        """
        if self.is_whole:
            return self._forwarded(inside=True)
        self.feed.number(I32)
        return None
