"""The bytes of a binary dump from front to back, as many as a record needs.

No length is trusted: what a file claims costs nothing until its bytes are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.errors import MalformedDump, TruncatedDump

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_ULEB_BYTES = 10


class Feed:
    """A window on a dump that moves on and grows as it is asked to.

    Attributes:
        data: The bytes at hand.
        position: The next byte to read, in ``data``.
        name: Of the dump, for messages.
    """

    def __init__(self, chunks: Iterable[bytes], name: str) -> None:
        self._chunks = iter(chunks)
        self._passed = 0
        self.name = name
        self.data = b""
        self.position = 0

    @property
    def offset(self) -> int:
        """Where the next byte stands in the dump."""
        return self._passed + self.position

    def grow(self) -> bool:
        """Let go of what was read, and put more behind the rest of the window.

        A record that is larger than the window doubles it each time.

        Returns:
            Whether there was more.
        """
        parts = [self.data[self.position :]]
        wanted, got = len(parts[0]), 0
        while got <= wanted and (chunk := next(self._chunks, b"")):
            parts.append(chunk)
            got += len(chunk)
        if got:
            self._passed += self.position
            self.data, self.position = b"".join(parts), 0
        return got > 0

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes.

        Raises:
            TruncatedDump: there are not so many.
        """
        while len(self.data) - self.position < size:
            if not self.grow():
                raise TruncatedDump(
                    f"the file ends where {size:,} bytes more should stand; "
                    "get it again",
                    path=self.name,
                    offset=self._passed + len(self.data),
                )
        begin = self.position
        self.position += size
        return self.data[begin : self.position]

    def uleb(self) -> int:
        """The next unsigned LEB128 number, below 2^64.

        Raises:
            MalformedDump: it is longer than that.
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
            raise self.malformed(f"a name claims {size:,} bytes")
        return self.take(size).decode("utf-8", "replace")

    def malformed(self, what: str) -> MalformedDump:
        """An error about what stands before ``position``, to be raised."""
        return MalformedDump(
            f"{what}; get the file again", path=self.name, offset=self.offset
        )

    def drain(self) -> int:
        """Read on to the end of the file.

        Returns:
            How many bytes there were.
        """
        left = len(self.data) - self.position
        return left + sum(map(len, self._chunks))
