"""A cursor over the bytes of a binary dump.

No length is trusted: memory is allocated only for bytes that were read.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from ingest.errors import MalformedDump, TruncatedDump
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

LONGEST_ULEB_BYTES = 10

U8, I16, I32, I64 = Struct("<B"), Struct("<h"), Struct("<i"), Struct("<q")
U16, U32, U64, F32 = Struct("<H"), Struct("<I"), Struct("<Q"), Struct("<f")
"""Numbers of a fixed size, little-endian, not aligned."""


def utf16z(data: bytes, begin: int) -> tuple[str, int]:
    """The UTF-16 text from ``begin`` up to its zero, and where it ends.

    Raises:
        ValueError: the text has no zero.
    """
    end = data.index(b"\0\0", begin)
    while (end - begin) % 2:
        end = data.index(b"\0\0", end + 1)
    return data[begin:end].decode("utf-16-le", "replace"), end + 2


class Feed:
    """A window on a dump that is moved and grown on demand.

    Attributes:
        data: The bytes of the window.
        position: The next byte to read, in ``data``.
        name: Name of the dump, for messages.
    """

    def __init__(self, chunks: Iterable[bytes], name: str) -> None:
        self._chunks = iter(chunks)
        self._passed = 0
        self.name = name
        self.data: bytes | bytearray = b""
        self.position = 0

    @classmethod
    def of_complete(cls, chunks: Iterable[bytes], name: str, begin: int = 0) -> Feed:
        """A window on a complete dump, in which ``position`` may be set anywhere.

        Or on a complete part of a dump that begins at byte ``begin``.
        """
        feed = cls((), name)
        data = bytearray()
        for chunk in chunks:  # not joined, since that would hold them twice
            data += chunk
        feed.data, feed._passed = data, begin
        return feed

    @property
    def offset(self) -> int:
        """Offset of the next byte in the dump."""
        return self._passed + self.position

    def grow(self, least: int | None = None) -> bool:
        """Drop the bytes that were read, and append more to the window.

        Args:
            least: Number of bytes to append at least. Without it, the size of the
                window doubles.

        Returns:
            Whether any bytes were left.
        """
        parts = [self.data[self.position :]]
        wanted, got = least or len(parts[0]) + 1, 0
        while got < wanted and (chunk := next(self._chunks, b"")):
            parts.append(chunk)
            got += len(chunk)
        if got:
            self._passed += self.position
            self.data, self.position = b"".join(parts), 0
        return got > 0

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes.

        Raises:
            TruncatedDump: the file has fewer.
        """
        while (missing := size - len(self.data) + self.position) > 0:
            if not self.grow(missing):
                raise TruncatedDump(
                    f"the file ends within the next {counted(size, 'bytes')}; "
                    "get it again",
                    path=self.name,
                    offset=self._passed + len(self.data),
                )
        begin = self.position
        self.position += size
        return bytes(self.data[begin : self.position])

    def up_to(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer if the file ends before."""
        missing = size - len(self.data) + self.position
        if missing > 0:
            self.grow(missing)
        return self.take(min(size, len(self.data) - self.position))

    def fixed(self, layout: Struct) -> tuple[Any, ...]:
        """The next numbers of a fixed size.

        Raises:
            TruncatedDump: the file ends in them.
        """
        return layout.unpack(self.take(layout.size))

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        """The next ``count`` numbers, read-only, in the memory of the window.

        Raises:
            TruncatedDump: the file ends in them.
        """
        import numpy as np

        layout = np.dtype(dtype)
        size = count * layout.itemsize
        if size > len(self.data) - self.position:
            return np.frombuffer(self.take(size), layout)
        begin = self.position
        self.position += size
        return np.frombuffer(self.data, layout, count, begin)

    def keep_only(self, begin: int, count: int) -> NDArray[Any]:
        """uint64 (count,): the numbers at ``begin``; the rest of the window is freed.

        Only for a window of `of_complete`, while no array of it is in use.
        """
        import numpy as np

        data, self.data = self.data, b""
        assert isinstance(data, bytearray)
        words = np.frombuffer(data, np.uint8)
        words[: 8 * count] = words[begin : begin + 8 * count]
        del words
        del data[8 * count :]
        return np.frombuffer(data, "<u8")

    def number(self, layout: Struct) -> int:
        """The next number, for a layout with only one.

        Raises:
            TruncatedDump: the file ends in it.
        """
        value: int = self.fixed(layout)[0]
        return value

    def count(self, what: str) -> int:
        """The next int32, which counts something and so is not negative.

        Raises:
            MalformedDump: it is negative.
            TruncatedDump: the file ends in it.
        """
        value = self.number(I32)
        if value < 0:
            raise self.malformed(f"the file claims {value:,} {what}")
        return value

    def uleb(self) -> int:
        """The next unsigned LEB128 number, below 2^64.

        Raises:
            MalformedDump: it is larger.
            TruncatedDump: the file ends in it.
        """
        value = 0
        for shift in range(0, 7 * LONGEST_ULEB_BYTES, 7):
            if self.position < len(self.data):
                byte = self.data[self.position]
                self.position += 1
            else:
                byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    break
                return value
        raise self.malformed("a number is longer than 64 bits")

    def text(self, most_bytes: int) -> str:
        """The next length and as many bytes of UTF-8, malformed ones replaced.

        Raises:
            MalformedDump: the text claims to be longer than ``most_bytes``.
            TruncatedDump: the file ends in it.
        """
        size = self.uleb()
        if size > most_bytes:
            raise self.malformed(f"a name claims {counted(size, 'bytes')}")
        return self.take(size).decode("utf-8", "replace")

    def malformed(self, what: str) -> MalformedDump:
        """An error about the bytes before ``position``, to be raised."""
        return MalformedDump(
            f"{what}; get the file again", path=self.name, offset=self.offset
        )

    def drain(self) -> int:
        """Read on to the end of the file.

        Returns:
            Number of bytes read.
        """
        left = len(self.data) - self.position
        return left + sum(map(len, self._chunks))
