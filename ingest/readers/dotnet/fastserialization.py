"""FastSerialization, the container of ``.gcdump``: objects, labels, tagged fields.

A file consists of a version string, one object, an end tag, a table of forward
references and the offset of that table. An object consists of its type, its fields and
an end tag. A type is defined once, and referred to later by its offset. Fields that a
later version added follow the others, each with a tag, so that a reader can skip
unknown ones.

No offset in a file is trusted: an object may not contain itself, and skipping only
moves forward.

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
_SKIPPED_BYTES = {8: 1, 9: 2, 10: 4, 11: 8}


class Tag(IntEnum):
    """Kinds of what follows in the file."""

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
    oldest_reader: int


class Archive:
    """The objects of a file.

    Attributes:
        feed: All of the file; ``feed.position`` is the next byte.
        has_trailer: Whether the table at the end of the file is there.
    """

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._kinds: dict[int, StoredType] = {}
        self._objects: dict[int, object] = {}
        self._open: set[int] = set()
        self._forward = self._forward_table()
        self.has_trailer = self._forward is not None

    def _forward_table(self) -> tuple[int, ...] | None:
        """The target of each forward reference; ``None`` if the table is missing."""
        data = self.feed.data

        def label(at: int) -> int:
            is_inside = 0 <= at <= len(data) - _LABEL_BYTES
            return int(U32.unpack_from(data, at)[0]) if is_inside else len(data)

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
        """Read a tag."""
        return self.feed.number(U8)

    def text(self) -> str | None:
        """Read a string; ``None`` if it is null.

        Its length counts UTF-16 code units. Each unit is encoded in UTF-8 separately,
        including each half of a surrogate pair.

        Raises:
            MalformedDump: the encoding is invalid.
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
                count = 1 if first < 0xE0 else 2
                if not 0xC0 <= first < 0xF0:
                    raise feed.malformed("the encoding of a string is invalid")
                unit = first & (0x3F >> count)
                for byte in feed.take(count):
                    unit = unit << 6 | byte & 0x3F
            wide += unit.to_bytes(2, "little")
        return wide.decode("utf-16-le", "replace")

    def read(self, name: str, fields: Callable[[StoredType], T]) -> T | None:
        """Read an object of type ``name``; ``None`` if it is null.

        Args:
            name: The expected type.
            fields: Reads the object's fields; tagged fields after them are skipped.

        Raises:
            MalformedDump: no object of this type is here.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        at = feed.position
        tag = self.tag()
        if tag == Tag.NOTHING:
            return None
        if tag in (Tag.REFERENCE, Tag.FORWARD_REFERENCE):
            return self._read_at(self._target(tag), name, fields)
        if at in self._open:
            raise feed.malformed(f"a {name} contains itself")
        self._open.add(at)
        feed.position = at
        read = fields(self.begin(name))
        self.skip_tagged()
        self._open.discard(at)
        self._objects[at] = read
        return read

    def begin(self, name: str) -> StoredType:
        """Read the beginning of an object of type ``name``, and return its type.

        Raises:
            MalformedDump: no object of this type is here.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        tag = self.tag()
        if tag not in (Tag.BEGIN, Tag.BEGIN_PRIVATE):
            raise feed.malformed(f"a {name} begins with tag {tag}")
        kind = self._read_type()
        if kind.name != name:
            raise feed.malformed(f"expected a {name}, found a {kind.name[:80]!r}")
        return kind

    def _read_at(
        self, target: int, name: str, fields: Callable[[StoredType], T]
    ) -> T | None:
        """The object at ``target``, which is read once."""
        feed = self.feed
        if target not in self._objects:
            end, feed.position = feed.position, target
            if self.take_tag(Tag.FORWARD_DEFINITION):
                feed.take(I32.size)
            if self._is_next(Tag.REFERENCE) or self._is_next(Tag.FORWARD_REFERENCE):
                raise feed.malformed("a reference refers to another reference")
            self._objects[target] = self.read(name, fields)
            feed.position = end
        return cast("T | None", self._objects[target])

    def _target(self, tag: int) -> int:
        feed = self.feed
        if tag == Tag.REFERENCE:
            return feed.number(U32)
        target = self._forward_target()
        self._read_type()
        return target

    def _forward_target(self, *, is_ahead: bool = False) -> int:
        """Read the number of a forward reference, and return its target.

        Args:
            is_ahead: Whether it has to be between here and the end of the file.
        """
        feed = self.feed
        number = feed.number(I32)
        if self._forward is None:
            raise TruncatedDump(
                "the table at the end of the file is missing; get it again",
                path=feed.name,
                offset=feed.offset,
            )
        if not 0 <= number < len(self._forward):
            raise feed.malformed(f"there is no forward reference {number}")
        end = self._forward[number]
        if is_ahead and not feed.position <= end <= len(feed.data):
            raise feed.malformed(f"a region that begins here ends at byte {end:,}")
        return end

    def _read_type(self) -> StoredType:
        """Read a type, or a reference to one."""
        feed = self.feed
        at, tag = feed.position, self.tag()
        if tag == Tag.REFERENCE:
            label = feed.number(U32)
            if label not in self._kinds:
                raise feed.malformed(f"no type begins at byte {label:,}")
            return self._kinds[label]
        if tag not in (Tag.BEGIN, Tag.BEGIN_PRIVATE) or self.tag() != Tag.NOTHING:
            raise feed.malformed("an object has no type")
        version, oldest_reader = feed.fixed(_VERSIONS)
        name = self.text()
        if self.tag() != Tag.END:
            raise feed.malformed("expected the end of a type")
        self._kinds[at] = kind = StoredType(name or "", version, oldest_reader)
        return kind

    def take_tag(self, tag: Tag) -> bool:
        """Read ``tag`` if it is the next one, and return whether it is."""
        if self._is_next(tag):
            self.feed.position += 1
            return True
        return False

    def _is_next(self, tag: Tag) -> bool:
        at = self.feed.position
        return self.feed.data[at : at + 1] == bytes([tag])

    def skip_tagged(self) -> None:
        """Skip tagged fields and the end tag after them.

        Raises:
            MalformedDump: no tagged field or end tag is here.
            TruncatedDump: the file ends in it.
        """
        feed = self.feed
        while (tag := self.tag()) != Tag.END:
            if tag in _SKIPPED_BYTES:
                feed.take(_SKIPPED_BYTES[tag])
            elif tag == Tag.STRING:
                self.text()
            elif tag == Tag.BLOB:
                feed.take(feed.count("bytes of an unknown field"))
            elif tag == Tag.SKIP:
                self.skip()
            elif tag == Tag.REFERENCE:
                feed.take(U32.size)
            elif tag != Tag.NOTHING:
                raise feed.malformed(f"expected the end of an object, found tag {tag}")

    def skip(self) -> None:
        """Skip the region whose forward reference is next.

        Raises:
            MalformedDump: it ends before its beginning, or after the file.
            TruncatedDump: the table at the end of the file is missing.
        """
        self.feed.position = self._forward_target(is_ahead=True)

    def region(self) -> int | None:
        """The end of the region whose forward reference is next.

        ``None`` if the table at the end of the file is missing.

        Raises:
            MalformedDump: it ends before its beginning, or after the file.
        """
        if self.has_trailer:
            return self._forward_target(is_ahead=True)
        self.feed.number(I32)
        return None
