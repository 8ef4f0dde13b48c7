"""Which secrets of a dump a copy still has, byte for byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.arrays.hashing import FNV_OFFSET, fnv1a
from ingest.readers import open_source
from ingest.readers.shared.lines import to_utf8
from ingest.redact.names import secrets_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.arrays.compiled import Bools, Bytes, Longs
    from ingest.progress import Progress

MOST_SECRETS = 100_000
_CHUNK_BYTES = 4 << 20
_OVERLAP_BYTES = 8 << 10
"""Longer than what the patterns find."""
_SHORTEST = 8
_BITS = 22
_RUN = re.compile(rb"[\x20-\x7e\n]{8,}")
_WIDE = re.compile(rb"\x00?(?:[\x20-\x7e]\x00){8,}[\x20-\x7e]?")
_NUMBERS_ALONE = re.compile(rb"^[ \t]*[oOrR][ \t][0-9A-Fa-f \t]*\r?$", re.MULTILINE)
_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


@kernel
def _slot(data: Bytes, at: int) -> int:
    found = fnv1a(data, at, at + _SHORTEST, FNV_OFFSET)
    return int(found >> np.uint64(64 - _BITS))


@kernel
def _mark(data: Bytes, table: Bools) -> None:
    """Mark a text by its first bytes."""
    table[_slot(data, 0)] = True


@kernel
def _candidates(
    data: Bytes, begin: int, table: Bools, places: Longs
) -> tuple[int, int]:
    """Places where a marked text may begin: how many, and where the search stopped."""
    count = 0
    at = begin
    while at + _SHORTEST <= len(data) and count < len(places):
        if table[_slot(data, at)]:
            places[count] = at
            count += 1
        at += 1
    return count, at


def _pieces(dump: str, progress: Progress, *, is_text: bool) -> Iterator[bytes]:
    """The bytes of a file, each piece with the end of the one before."""
    with open_source(dump) as source:
        source.allow_any_expansion()
        chunks = source.chunks(progress, _CHUNK_BYTES)
        before = b""
        for chunk in to_utf8(chunks) if is_text else chunks:
            piece = before + chunk
            yield piece
            before = piece[-_OVERLAP_BYTES:]


def _texts(dump: str, format_name: str, progress: Progress) -> Iterator[bytes]:
    """The parts of a dump that are texts, not numbers written as text."""
    is_found = format_name != "v8"
    for piece in _pieces(dump, progress, is_text=format_name == "gclog"):
        text = piece
        if format_name == "gclog":
            text = _NUMBERS_ALONE.sub(b"", text)
        elif not is_found:
            begin = text.find(b'"strings":')
            if begin < 0:
                continue
            is_found, text = True, text[begin:]
        yield text


def found_in(dump: str, format_name: str, progress: Progress) -> set[bytes]:
    """What looks like a secret in the texts of a dump; at most `MOST_SECRETS`.

    Raises:
        DumpError: it cannot be read.
    """
    found: set[bytes] = set()
    for text in _texts(dump, format_name, progress):
        runs = set(_RUN.findall(text))
        runs |= {one.replace(b"\0", b"") for one in _WIDE.findall(text)}
        found |= secrets_in(b"\n".join(runs))
        if len(found) >= MOST_SECRETS:
            break
    return {one for one in found if len(one) >= _SHORTEST}


def left_in(dump: str, secrets: Iterable[bytes], progress: Progress) -> set[bytes]:
    """Which of some secrets, of at least 8 bytes, a file has in any encoding.

    Raises:
        DumpError: it cannot be read.
    """
    table = np.zeros(1 << _BITS, np.bool_)
    wanted: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for secret in secrets:
        for encoding in _ENCODINGS:
            text = secret.decode("utf-8", "replace").encode(encoding)
            _mark(np.frombuffer(text, np.uint8), table)
            wanted.setdefault(text[:_SHORTEST], []).append((text, secret))
    left: set[bytes] = set()
    places = np.empty(1 << 16, np.int64)
    for piece in _pieces(dump, progress, is_text=False) if wanted else ():
        data, at, count = np.frombuffer(piece, np.uint8), 0, 1
        while count:
            count, at = _candidates(data, at, table, places)
            for place in places[:count].tolist():
                for text, secret in wanted.get(piece[place : place + _SHORTEST], ()):
                    if piece.startswith(text, place):
                        left.add(secret)
    return left
