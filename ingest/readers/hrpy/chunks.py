"""Chunks of objects of one type, from the columns of a record to those of a heap."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import NO_FIELD
from ingest.heap.values import ValueKind
from ingest.readers.cpython.objects import ENTRY, KEY
from ingest.readers.shared.binary import U64
from ingest.readers.shared.columns import MAX_SIZE_BYTES
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Ints, Longs
    from ingest.readers.shared.binary import Feed

NEVER = 0xFFFFFFFF
"""Instead of a number: there is none, or it is too large."""

_AS_LENGTHS = NEVER - 1
_MOST_ROWS = 1 << 31
_NO_INTEGER = -(1 << 63)
_HEAD = Struct("<6IQ")


class Flag(IntFlag):
    """Columns of a chunk besides ids, reference counts and references."""

    SIZES = 1
    LENGTHS = 2
    ELEMENTS = 4
    PAIRS = 8
    TYPED = 16
    TEXTS = 32
    INTEGERS = 64
    FLOATS = 128
    OWNER = 256
    SITES = 512
    OUTSIDE = 1024


_ALL = sum(Flag)


@dataclass(slots=True, eq=False)
class HrpyChunk:
    """N objects of one type and their E references.

    Attributes:
        type_number: Their type.
        flags: Flags of the record.
        id: uint64 (N,).
        refcount: uint32 (N,). CPython's reference count; `NEVER` for immortal objects.
        size_bytes: int64 (N,).
        length: int64 (N,), or ``None``.
        ref_count: int32 (N,).
        ref_id: uint64 (E,).
        ref_field: int32 (E,). A row of the names, -1 - i for element i, `KEY`, `ENTRY`
            or `NO_FIELD`.
        texts: Sizes in bytes, `NEVER` for none; and all texts joined, in UTF-8.
        numbers: int64 or float64 (N,), or ``None``.
        site: uint32 (N,). Site that made the object, a row of the sites; `NEVER` if
            unknown; or ``None``.
        outside_bytes: int64 (N,). Memory that the object keeps outside the heap; or
            ``None``.
    """

    type_number: int
    flags: int
    id: Ids
    refcount: NDArray[np.uint32]
    size_bytes: Longs
    length: Longs | None
    ref_count: Ints
    ref_id: Ids
    ref_field: Ints
    texts: tuple[NDArray[np.uint32], bytes] | None = None
    numbers: NDArray[Any] | None = None
    site: NDArray[np.uint32] | None = None
    outside_bytes: Longs | None = None


@dataclass(slots=True)
class Declared:
    """What a file has declared so far.

    Attributes:
        names: Names of attributes.
        type_names: Names of types.
        type_ids: Ids of the types' objects.
        align_bytes: Sizes are rounded up to a multiple of this.
        sites: Sites that made objects: files with lines, innermost first.
    """

    names: list[str] = field(default_factory=list)
    type_names: list[str] = field(default_factory=list)
    type_ids: list[int] = field(default_factory=list)
    align_bytes: int = 16
    sites: list[tuple[str, ...]] = field(default_factory=list)


def chunk_of(feed: Feed, size: int, declared: Declared) -> HrpyChunk:
    """The chunk in the next ``size`` bytes, which must be in the window.

    Raises:
        MalformedDump: it contradicts the format.
    """
    end = feed.position + size
    if size < _HEAD.size:
        raise feed.malformed("a chunk is shorter than its head")
    kind, flags, many, extra, width, fixed, references = feed.fixed(_HEAD)
    if kind >= len(declared.type_names):
        raise feed.malformed("a chunk is of a type that is not declared")
    if flags & ~_ALL:
        raise feed.malformed(f"a chunk has unknown flags {flags:#x}")
    left = end - feed.position
    least = many * (12 + 8 * width) + 4 * width + 8 * references
    if many >= _MOST_ROWS or references >= _MOST_ROWS or least > left:
        raise feed.malformed(f"a chunk claims {counted(many, 'objects')}")
    columns = _Columns(feed, end)
    names = columns.take("<u4", width).astype(np.int64)
    if width and names.max() >= len(declared.names):
        raise feed.malformed("a chunk has a name that is not declared")
    ids = columns.take("<u8", many).astype(np.uint64)
    refcount = columns.take("<u4", many).astype(np.uint32)
    sizes = _sizes(columns, many if flags & Flag.SIZES else 1, extra, declared)
    length = None
    if flags & Flag.LENGTHS:
        length = columns.take("<u4", many).astype(np.int64)
    named = columns.take("<u8", many * width).reshape(width, many).T
    rest_count = _rest_counts(columns, fixed, many, flags, length)
    if int(rest_count.sum()) != references:
        raise feed.malformed(f"a chunk claims {counted(references, 'references')}")
    rest = columns.take("<u8", references).astype(np.uint64)
    chunk = HrpyChunk(kind, flags, ids, refcount, np.broadcast_to(sizes, many), length,
        rest_count.astype(np.int32), rest,
        _rest_fields(flags, length, rest_count, references))  # fmt: skip
    if width or flags & Flag.TYPED:
        own = declared.type_ids[kind] if flags & Flag.TYPED else None
        _add_named(chunk, names, named, own)
    _values(columns, chunk, flags, many)
    if flags & Flag.SITES:
        chunk.site = columns.take("<u4", many).astype(np.uint32)
        known = chunk.site[chunk.site != NEVER]
        if len(known) and known.max() >= len(declared.sites):
            raise feed.malformed("a chunk has a site that is not declared")
    if flags & Flag.OUTSIDE:
        outside = columns.take("<u8", many)
        if many and outside.max() > MAX_SIZE_BYTES:
            raise feed.malformed("an object keeps more than any memory")
        chunk.outside_bytes = outside.astype(np.int64)
    if feed.position != end:
        raise feed.malformed("a chunk is longer than its columns")
    return chunk


class _Columns:
    """The columns of one record, none of which exceeds the record."""

    def __init__(self, feed: Feed, end: int) -> None:
        self.feed, self._end = feed, end

    def take(self, dtype: str, count: int) -> NDArray[Any]:
        if count * np.dtype(dtype).itemsize > self._end - self.feed.position:
            raise self.feed.malformed("a chunk is shorter than its columns")
        return self.feed.array(dtype, count)

    def bytes(self, count: int) -> bytes:
        if count > self._end - self.feed.position:
            raise self.feed.malformed("a chunk is shorter than its texts")
        return self.feed.take(count)


def _sizes(columns: _Columns, rows: int, extra: int, declared: Declared) -> Longs:
    recorded = columns.take("<u8", rows)
    if rows and recorded.max() > MAX_SIZE_BYTES - extra - declared.align_bytes:
        raise columns.feed.malformed("an object is larger than any memory")
    align = declared.align_bytes
    return (recorded.astype(np.int64) + extra + align - 1) // align * align


def _rest_counts(
    columns: _Columns, fixed: int, many: int, flags: int, length: Longs | None
) -> Longs:
    """How many references without a name each object has."""
    factor = 2 if flags & Flag.PAIRS else 1
    collects = flags & (Flag.ELEMENTS | Flag.PAIRS)
    if fixed == _AS_LENGTHS:
        if length is None:
            raise columns.feed.malformed("a chunk has no lengths")
        return length * factor
    if fixed == NEVER:
        counts = columns.take("<u4", many).astype(np.int64)
    else:
        counts = np.full(many, fixed, np.int64)
    if collects and (length is None or (length * factor > counts).any()):
        raise columns.feed.malformed("an object has more elements than references")
    return counts


def _rest_fields(
    flags: int, length: Longs | None, counts: Longs, references: int
) -> Ints:
    if not flags & (Flag.ELEMENTS | Flag.PAIRS):
        return np.full(references, NO_FIELD, np.int32)
    assert length is not None
    begin = np.cumsum(counts) - counts
    within = np.arange(references) - np.repeat(begin, counts)
    if flags & Flag.PAIRS:
        found = np.where(within % 2, ENTRY, KEY)
        most = np.repeat(2 * length, counts)
    else:
        found, most = -1 - within, np.repeat(length, counts)
    return np.where(within < most, found, NO_FIELD).astype(np.int32)


def _add_named(
    chunk: HrpyChunk, names: Longs, named: NDArray[Any], own_type: int | None
) -> None:
    """Put named references before the others, and the reference to the type last.

    Args:
        chunk: The chunk, with the other references; changed.
        names: int64 (A,). The names.
        named: uint64 (N, A). Id to which each object refers by each name, 0 for none.
        own_type: Id of the type's object, if each object refers to it; else ``None``.
    """
    many, rest_count = len(chunk.id), chunk.ref_count.astype(np.int64)
    there = named != 0
    present = there.sum(axis=1, dtype=np.int64)
    counts = present + rest_count + (own_type is not None)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    total = int(starts[-1])
    ref_id, ref_field = np.empty(total, np.uint64), np.full(total, NO_FIELD, np.int32)
    rank = np.cumsum(there, axis=1) - 1
    place = (starts[:-1, None] + rank)[there]
    ref_id[place] = named[there]
    ref_field[place] = np.broadcast_to(names, named.shape)[there]
    within = np.arange(len(chunk.ref_id))
    within -= np.repeat(np.cumsum(rest_count) - rest_count, rest_count)
    place = np.repeat(starts[:-1] + present, rest_count) + within
    ref_id[place], ref_field[place] = chunk.ref_id, chunk.ref_field
    if own_type is not None and many:
        ref_id[starts[1:] - 1] = own_type
    chunk.ref_id, chunk.ref_field = ref_id, ref_field
    chunk.ref_count = counts.astype(np.int32)


def _values(columns: _Columns, chunk: HrpyChunk, flags: int, many: int) -> None:
    if flags & Flag.TEXTS:
        size = int(U64.unpack(columns.bytes(8))[0])
        sizes = columns.take("<u4", many).astype(np.uint32)
        if int(sizes[sizes != NEVER].sum(dtype=np.int64)) != size:
            raise columns.feed.malformed(
                f"a chunk claims {counted(size, 'bytes')} of texts"
            )
        chunk.texts = sizes, columns.bytes(size)
    if flags & Flag.INTEGERS:
        chunk.numbers = columns.take("<i8", many).copy()
    elif flags & Flag.FLOATS:
        chunk.numbers = columns.take("<f8", many).copy()


def values_of(
    chunk: HrpyChunk, first_row: int, type_name: str
) -> list[tuple[Any, ...]]:
    """The values of a chunk, as rows, kinds, sizes and content.

    Args:
        chunk: The chunk.
        first_row: Row of its first object.
        type_name: Name of its objects' type; texts are names unless it is ``str``.
    """
    rows = np.arange(first_row, first_row + len(chunk.id), dtype=np.int32)
    if chunk.texts is not None:
        return [_texts(rows, *chunk.texts, is_name=type_name != "str")]
    if chunk.numbers is None:
        return []
    if chunk.flags & Flag.FLOATS:
        kind, there = ValueKind.DOUBLE, np.ones(len(rows), np.bool_)
    else:
        kind, there = ValueKind.INTEGER, chunk.numbers != _NO_INTEGER
    shown = chunk.numbers[there]
    size = 8
    content = np.frombuffer(shown.tobytes(), np.uint8)
    if type_name == "bool":
        kind, size, content = ValueKind.BOOLEAN, 1, (shown != 0).astype(np.uint8)
    many = len(shown)
    return [
        (
            rows[there],
            np.full(many, kind, np.uint8),
            np.full(many, size, np.int64),
            content,
        )
    ]


def _texts(
    rows: Ints, sizes: NDArray[np.uint32], blob: bytes, *, is_name: bool
) -> tuple[Any, ...]:
    there = sizes != NEVER
    lengths = sizes[there].astype(np.int64)
    kinds = np.full(len(lengths), ValueKind.NAME if is_name else ValueKind.LATIN1)
    if is_name or blob.isascii():
        return (
            rows[there],
            kinds.astype(np.uint8),
            lengths,
            np.frombuffer(blob, np.uint8),
        )
    texts = []
    for row, text in enumerate(pieces(blob, sizes[there])):
        if not text.isascii():
            kinds[row] = ValueKind.UTF16
            text = text.decode("utf-8", "replace").encode("utf-16-le")
        texts.append(text)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    content = np.frombuffer(b"".join(texts), np.uint8)
    return rows[there], kinds.astype(np.uint8), lengths, content


def pieces(blob: bytes, sizes: NDArray[np.uint32]) -> Iterator[bytes]:
    """The texts that are joined in a chunk; those that are absent are empty."""
    begin = 0
    for size in sizes.tolist():
        end = begin if size == NEVER else begin + size
        yield blob[begin:end]
        begin = end
