"""Text dumps of any encoding, in pieces that end at a line end."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from ingest.errors import MalformedDump

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.readers.shared.irregularities import IrregularityCounter

LONGEST_LINE_BYTES = 1 << 30
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def to_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text without a byte order mark; UTF-16 (with its mark) becomes UTF-8.

    Bytes of other encodings pass as they are: see `decode`.
    """
    pieces = iter(chunks)
    first = next(pieces, b"")
    if not first.startswith(_UTF16):
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def complete_lines(
    chunks: Iterable[bytes], counter: IrregularityCounter
) -> Iterator[bytes]:
    """The same bytes, cut only after line ends; the last piece may lack one.

    Zeros, which no text contains, are a hole in the file.

    Args:
        chunks: The text.
        counter: Counts the bytes of the text, and of holes.

    Raises:
        MalformedDump: a line of more than `LONGEST_LINE_BYTES`.
    """
    carry: list[bytes] = []
    carried = begin = holes = first = 0
    for chunk in chunks:
        if zeros := chunk.count(b"\0"):
            first = first if holes else begin + chunk.index(b"\0")
            holes += zeros
        begin += len(chunk)
        cut = chunk.rfind(b"\n") + 1
        if not cut and len(chunk) > 1:
            # Line ends are those of old Macintoshes; the last byte may be half a CR LF.
            cut = chunk.rfind(b"\r", 0, len(chunk) - 1) + 1
        if cut:
            yield b"".join([*carry, chunk[:cut]]) if carry else chunk[:cut]
            carry, carried = [], 0
        carry.append(chunk[cut:])
        carried += len(chunk) - cut
        if carried > LONGEST_LINE_BYTES:
            raise MalformedDump("a line of more than 1 GiB", path=counter.name)
    if carried:
        yield b"".join(carry)
    counter.file_bytes = begin
    counter.add_unread(holes, first)


def complete_bytes(text: bytes) -> int:
    """How many bytes of ``text`` are complete lines."""
    return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1


def decode(name: bytes) -> str:
    """A name as text: UTF-8, or else cp1252, which old Windows programs write."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("cp1252", "replace")
