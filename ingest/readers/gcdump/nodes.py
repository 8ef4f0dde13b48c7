"""The graph inside a ``.gcdump``: types, nodes, and their references.

A node is an offset into a blob. Its record consists of numbers of one to five bytes:
its type, with a bit that says whether its own size follows, the number of its children,
and each child as the difference from the node's index. Nodes that were referred to but
never visited share one record, of type 0.

Source: microsoft/perfview, src/MemoryGraph, graph.cs and MemoryGraph.cs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.shared.binary import I32, I64
from ingest.readers.shared.columns import starts_of
from ingest.words.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Ints, Longs, Number
    from ingest.readers.dotnet.fastserialization import Archive, StoredType
    from ingest.readers.shared.binary import Feed

FAULTS = (
    "",
    "a node ends after the node data",
    "a number is longer than 32 bits",
    "a node has an undefined type",
    "a node claims a negative number of children",
    "a node refers to an undefined node",
    "nodes overlap",
)
_CUT, _LONG, _TYPE, _COUNT, _CHILD, _OVERLAP = range(1, len(FAULTS))

UNDEFINED = "UNDEFINED"

_LONGEST_NUMBER_BYTES = 5
_MOST_TYPES = 1 << 20
"""The most types, many more than any program has; Visual Studio has 100,000."""
_WIDE_CHECKED = 64


@dataclass(slots=True, eq=False)
class Nodes:
    """The graph as recorded in the file.

    Attributes:
        type_names: Name of each type, as the producer spells it.
        type_modules: Module of each type; empty if not recorded.
        type_index: int32 (N,). Rows of the types.
        size_bytes: int64 (N,).
        ref_count: int32 (N,).
        ref_target: int32 (E,). Rows of the nodes.
        address: uint64 (N,); 0 if the node is not an object. Empty before it is read
            from the file.
        address_at: Byte offset of the addresses in the file.
        root: Row of the root node; -1 for none.
    """

    type_names: list[str]
    type_modules: list[str]
    type_index: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    ref_count: NDArray[np.int32]
    ref_target: NDArray[np.int32]
    address: NDArray[np.uint64]
    address_at: int
    root: int

    @property
    def count(self) -> int:
        """N."""
        return len(self.type_index)

    def ref_start(self) -> NDArray[np.int64]:
        """int64 (N + 1,): index of the first reference of each node."""
        return starts_of(self.ref_count)

    def discard(self) -> None:
        """Free all columns."""
        self.type_index = self.ref_count = self.ref_target = np.empty(0, np.int32)
        self.size_bytes = np.empty(0, np.int64)
        self.address = np.empty(0, np.uint64)


@kernel
def _number(blob: Bytes, position: Number) -> tuple[int, int]:
    """A number and the offset after it, which is negative for a fault.

    Big-endian, seven bits a byte; the first bit is the sign.
    """
    value: Number = np.int64(0)
    for i in range(_LONGEST_NUMBER_BYTES):
        if position + i >= len(blob):
            return 0, -_CUT
        byte = np.int64(blob[position + i])
        low = byte & 0x7F
        value = low - ((low & 0x40) << 1) if i == 0 else (value << 7) | low
        if byte < 0x80:
            wrapped = value & 0xFFFFFFFF
            return wrapped - ((wrapped & 0x80000000) << 1), position + i + 1
    return 0, -_LONG


@kernel
def _describe(
    blob: Bytes,
    offset: Ints,
    type_size: Ints,
    type_index: Ints,
    size_bytes: Longs,
    ref_count: Ints,
    fault_at: Longs,
) -> tuple[int, int]:
    """Fill the columns of the nodes, except their children.

    Returns:
        Index of `FAULTS`, and the number of children of all nodes; ``fault_at`` is set
        to the offset of a fault.
    """
    type_count = len(type_size)
    total = 0
    for i in range(len(offset)):
        begin = np.int64(offset[i]) & 0xFFFFFFFF
        fault_at[0] = begin
        kind, position = _number(blob, begin)
        if position < 0:
            return -position, total
        row = kind >> 1
        if not 0 <= row < type_count:
            return _TYPE, total
        size: Number = np.int64(type_size[row])
        if kind & 1:
            size, position = _number(blob, position)
            if position < 0:
                return -position, total
        children, position = _number(blob, position)
        if position < 0:
            return -position, total
        if children < 0:
            return _COUNT, total
        if children > len(blob) - position:
            return _CUT, total
        type_index[i] = row
        size_bytes[i] = size
        ref_count[i] = children
        total += children
        if total > len(blob):
            return _OVERLAP, total
    return 0, total


@kernel
def _children(
    blob: Bytes, offset: Ints, ref_count: Ints, target: Ints, fault_at: Longs
) -> int:
    """Fill the children; return an index of `FAULTS`, and set ``fault_at``."""
    count = len(offset)
    stored = 0
    for i in range(count):
        if ref_count[i] == 0:
            continue
        kind, position = _number(blob, np.int64(offset[i]) & 0xFFFFFFFF)
        if kind & 1:
            _, position = _number(blob, position)
        _, position = _number(blob, position)
        for _ in range(ref_count[i]):
            fault_at[0] = position
            delta, position = _number(blob, position)
            if position < 0:
                return -position
            if not 0 <= i + delta < count:
                return _CHILD
            target[stored] = i + delta
            stored += 1
    return 0


def read_nodes(archive: Archive, kind: StoredType) -> Nodes:
    """Read the fields of a ``Graphs.MemoryGraph``.

    Raises:
        MalformedDump: they contradict each other.
        TruncatedDump: the file ends in them.
    """
    feed = archive.feed
    feed.number(I64)  # total size
    root = feed.number(I32)
    names, modules, sizes = _read_types(archive)
    begin = feed.position
    count = feed.count("nodes")
    if _is_wide(feed):
        raise feed.malformed(
            "the dump uses a layout for very large graphs that is not supported; "
            "collect it with dotnet-gcdump or PerfView"
        )
    if not -1 <= root < count:
        feed.position = begin
        raise feed.malformed("the root is an undefined node")
    offset = feed.array("<i4", count)
    blob_size = feed.count("bytes of nodes")
    blob_at = feed.offset
    blob = feed.array("u1", blob_size)
    nodes = _decode(feed, offset, blob, blob_at, np.array(sizes, np.int32))
    nodes.type_names, nodes.type_modules, nodes.root = names, modules, root
    if kind.oldest_reader >= 1:
        _read_deferred_types(archive, nodes)
    if feed.count("addresses") != count:
        raise feed.malformed("the numbers of addresses and nodes differ")
    nodes.address_at = feed.position
    feed.array("<u8", count)  # raises if the file is truncated
    return nodes


def _read_types(archive: Archive) -> tuple[list[str], list[str], list[int]]:
    feed = archive.feed
    names, modules, sizes = [], [], []
    count = feed.count("types")
    if count > _MOST_TYPES:
        raise feed.malformed(f"the file claims {counted(count, 'types')}")
    for _ in range(count):
        names.append(archive.text() or "")
        sizes.append(feed.number(I32))
        modules.append(archive.text() or "")
    return names, modules, sizes


def _is_wide(feed: Feed) -> bool:
    """Whether counts and offsets have eight bytes, of which the high ones are 0."""
    begin = feed.position
    head = feed.data[begin : begin + 8 * _WIDE_CHECKED]
    words = np.frombuffer(head[: len(head) // 8 * 8], "<i4")
    # Only undefined nodes share byte 0.
    return len(words) >= 8 and not words[::2].any() and bool(words[1::2].all())


def _decode(
    feed: Feed,
    offset: NDArray[np.int32],
    blob: NDArray[np.uint8],
    blob_at: int,
    type_size: NDArray[np.int32],
) -> Nodes:
    count = len(offset)
    nodes = Nodes(
        type_names=[],
        type_modules=[],
        type_index=np.empty(count, np.int32),
        size_bytes=np.empty(count, np.int64),
        ref_count=np.empty(count, np.int32),
        ref_target=np.empty(0, np.int32),
        address=np.empty(0, np.uint64),
        address_at=0,
        root=-1,
    )
    at = np.zeros(1, np.int64)
    fault, total = _describe(
        blob,
        offset,
        type_size,
        nodes.type_index,
        nodes.size_bytes,
        nodes.ref_count,
        at,
    )
    if not fault:
        nodes.ref_target = np.empty(total, np.int32)
        fault = _children(blob, offset, nodes.ref_count, nodes.ref_target, at)
    if fault:
        feed.position = blob_at + min(int(at[0]), len(blob))
        raise feed.malformed(FAULTS[fault])
    return nodes


def _read_deferred_types(archive: Archive, nodes: Nodes) -> None:
    """Name the types that have only an id in the dump, such as native ones."""
    feed = archive.feed
    end = archive.region()
    for row in range(feed.count("types")):
        type_id = feed.number(I32)
        path = archive.read("Graphs.Module", lambda _: _read_module(archive)) or ""
        suffix = archive.text() or ""
        if row < len(nodes.type_names) and not nodes.type_names[row]:
            short = path.replace("\\", "/").rpartition("/")[2]
            where = f"{short}!" if short else ""
            nodes.type_names[row] = f"<{where}{type_id & 0xFFFFFFFF:#x}>{suffix}"
            nodes.type_modules[row] = path
    archive.skip_tagged()
    if end is not None:
        feed.position = end


def _read_module(archive: Archive) -> str:
    """Read a ``Graphs.Module``, and return its path."""
    feed = archive.feed
    path = archive.text() or ""
    feed.take(3 * I64.size)  # base, size, build time
    archive.text()  # symbol file
    feed.take(16 + I32.size)  # id and age of the symbols
    return path
