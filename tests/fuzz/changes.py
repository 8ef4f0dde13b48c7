"""Random changes of a dump: of its bytes, its numbers, its lines and its elements."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = frozenset({"gclog", "clrprofiler", "traverseheap"})

_NUMBERS = tuple(
    sorted(
        {
            (value + step) % (1 << 64)
            for bits in (0, 7, 8, 15, 16, 24, 30, 31, 32, 40, 47, 48, 62, 63, 64)
            for value in ((1 << bits) % (1 << 64),)
            for step in (-1, 0, 1)
        }
    )
)
_BYTES = (0, 1, 2, 4, 6, 12, 14, 0x21, 0x40, 0x7F, 0x80, 0xC0, 0xE0, 0xFE, 0xFF)
_TOKEN = re.compile(rb"[^\s\"'<>=/]+")
_PIECE = re.compile(rb"[^\n\r>]*[\n\r>]+")
_LARGEST_BYTES = 40_000


def changed(seeds: Sequence[bytes], package: str, random: Random) -> bytes:
    """One of ``seeds`` after some changes."""
    data = bytearray(random.choice(seeds))
    changes = _OF_TEXT if package in TEXT else _OF_BYTES
    for _ in range(min(int(random.expovariate(0.4)) + 1, 12)):
        random.choice(changes)(data, random, seeds)
        if len(data) > _LARGEST_BYTES:
            del data[_LARGEST_BYTES:]
    return bytes(data)


def _span(data: bytearray, random: Random) -> tuple[int, int]:
    begin = random.randint(0, len(data))
    longest = 1 << random.randint(0, 9)
    return begin, min(len(data), begin + random.randint(0, longest))


def _flip(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    if data:
        value = (
            random.choice(_BYTES) if random.random() < 0.7 else random.randrange(256)
        )
        data[random.randrange(len(data))] = value


def _step(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    if data:
        at = random.randrange(len(data))
        data[at] = (data[at] + random.choice((-1, 1))) % 256


def _cut(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    if random.random() < 0.3:
        del data[random.randint(0, len(data)) :]
    else:
        begin, end = _span(data, random)
        del data[begin:end]


def _repeat(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    begin, end = _span(data, random)
    times = random.choice((1, 1, 2, 5, 50))
    data[end:end] = data[begin:end] * times


def _splice(data: bytearray, random: Random, seeds: Sequence[bytes]) -> None:
    other = bytearray(random.choice(seeds))
    begin, end = _span(other, random)
    at, upto = _span(data, random)
    data[at : upto if random.random() < 0.5 else at] = other[begin:end]


def _blank(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    begin, end = _span(data, random)
    data[begin:end] = bytes([random.choice(_BYTES)]) * (end - begin)


def _number(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    """Write a number of a fixed size, or in LEB128, over what is there."""
    value, width = random.choice(_NUMBERS), random.choice((2, 4, 4, 8, 0))
    if width:
        order = random.choice(("little", "little", "big"))
        told = (value % (1 << 8 * width)).to_bytes(width, order)  # type: ignore[arg-type]
    else:
        told = b""
        while value >= 0x80:
            told += bytes([value & 0x7F | 0x80])
            value >>= 7
        told += bytes([value])
    at = random.randint(0, len(data))
    over = len(told) if width or random.random() < 0.3 else 1
    data[at : at + over] = told


def _swap(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    pieces = _PIECE.findall(bytes(data))
    if len(pieces) > 1:
        one, two = random.randrange(len(pieces)), random.randrange(len(pieces))
        pieces[one], pieces[two] = pieces[two], pieces[one]
        data[:] = b"".join(pieces)


def _lines(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    """Repeat or leave out a line or an element."""
    pieces = _PIECE.findall(bytes(data))
    if pieces:
        at = random.randrange(len(pieces))
        pieces[at : at + 1] = pieces[at : at + 1] * random.choice((0, 2, 2, 3, 40))
        data[:] = b"".join(pieces)


def _token(data: bytearray, random: Random, _: Sequence[bytes]) -> None:
    """Write a number, or another token of the file, over a token."""
    found = list(_TOKEN.finditer(bytes(data)))
    if found:
        one, two = random.choice(found), random.choice(found)
        value = random.choice(_NUMBERS)
        told = random.choice(
            (two[0], b"%x" % value, b"%d" % value, b"0x%x" % value, b"-%d" % value, b"")
        )
        data[one.start() : one.end()] = told


_OF_BYTES = (_flip, _set, _set, _step, _cut, _repeat, _splice, _blank, _number, _number)
_OF_TEXT = (_flip, _set, _cut, _repeat, _splice, _swap, _lines, _lines, _token, _token)
