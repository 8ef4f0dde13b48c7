"""What a trace records of one heap, packet by packet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.readers.perfetto.scan import (
    BAD,
    BAD_BYTES,
    BAD_FIELDS,
    COUNTS,
    EXTRAS,
    LARGE,
    NAMES,
    OBJECTS,
    REFS,
    ROOTS,
    T_BEGIN,
    T_END,
    TYPE_COLUMNS,
    TYPE_FIELDS,
    TYPES,
    WANTED,
    WANTED_BY,
    GraphBuffers,
    buffers_for,
    scan,
)
from ingest.readers.shared.columns import GrowingColumn, narrowed

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Longs
    from ingest.readers.perfetto.trace import Packet
    from ingest.readers.shared.irregularities import IrregularityCounter

_COLUMNS = {
    "id": (OBJECTS, "u4"), "type_id": (OBJECTS, "u2"), "size_bytes": (OBJECTS, "i8"),
    "ref_count": (OBJECTS, "i4"), "null_count": (OBJECTS, "u1"),
    "space": (OBJECTS, "i1"), "ref_id": (REFS, "u4"), "ref_slot": (REFS, "i4"),
    "extra_id": (EXTRAS, "u8"), "extra_kind": (EXTRAS, "u1"),
    "extra_value": (EXTRAS, "i8"), "root_id": (ROOTS, "u4"),
    "root_kind": (ROOTS, "u1"), "type_field": (TYPE_FIELDS, "i8"),
}  # fmt: skip
"""What counts the rows of each column, and its type; ids get wider if they need it."""
_NARROW = frozenset({"id", "type_id", "null_count", "ref_id", "root_id"})
_BLOCK = 1 << 16
_SPILLED = frozenset({"size_bytes"})


class Scanner:
    """Reads packets of heap graphs; the buffers serve all heaps of a trace.

    Args:
        counter: Counts what cannot be read.
    """

    def __init__(self, counter: IrregularityCounter) -> None:
        self._counter = counter
        self._buffers: GraphBuffers = buffers_for()
        self._counts = np.zeros(COUNTS, np.int64)

    def take(self, packet: Packet, end: int, heap: HeapRecords) -> None:
        """Add what a packet has, up to ``end``, to a heap."""
        at, counts, counter = packet.begin, self._counts, self._counter
        buffers = self._buffers
        while at < end:
            at = scan(packet.data, at, end, buffers, counts, heap.state)
            if counts[WANTED]:
                buffers = buffers_for(int(counts[WANTED_BY]), int(counts[WANTED]))
                continue
            place = packet.offset
            counter.add("malformed_record", int(counts[BAD]), 0, place)
            counter.add_unread(int(counts[BAD_BYTES]), place)
            counter.add("malformed_reference", int(counts[BAD_FIELDS]), 0, place)
            counter.add("size_out_of_range", int(counts[LARGE]), 0, place)
            heap.add(packet, buffers, counts)
            buffers = self._buffers


class TextTable:
    """TextTable, row by row, decoded on demand."""

    def __init__(self) -> None:
        self._content = GrowingColumn("u1")
        self._end = GrowingColumn("i8")
        self._total = 0
        self._settled = np.empty(0, np.uint8), np.zeros(1, np.int64)

    def add(self, data: Bytes, spans: Longs) -> None:
        """Add texts, each from its begin to its end in some bytes."""
        ends = np.cumsum(spans[:, 1] - spans[:, 0])
        out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
        copy_spans(data, spans, out)
        self._content.add(out)
        self._end.add(ends + self._total)
        self._total += len(out)

    def settle(self) -> None:
        """Let the texts be asked for; none may follow."""
        ends = np.concatenate([np.zeros(1, np.int64), self._end.taken()])
        self._settled = self._content.taken(), ends

    def get(self, row: int) -> str:
        """The text of a row."""
        content, start = self._settled
        return content[start[row] : start[row + 1]].tobytes().decode("utf-8", "replace")

    def begin_with(self, prefix: bytes) -> NDArray[np.int64]:
        """Rows of the texts that begin with some bytes."""
        content, start = self._settled
        wanted = np.frombuffer(prefix, np.uint8)
        rows = np.flatnonzero(np.diff(start) >= len(wanted))
        for at, byte in enumerate(wanted.tolist()):
            rows = rows[content[start[rows] + at] == byte]
        return rows


@kernel
def copy_spans(data: Bytes, spans: Longs, out: Bytes) -> None:
    """Copy some spans of bytes, one after the other."""
    at = 0
    for i in range(len(spans)):
        for place in range(spans[i, 0], spans[i, 1]):
            out[at] = data[place]
            at += 1


class HeapRecords:
    """One heap, as far as it was read.

    Attributes:
        state: uint64 (2,). What `scan` keeps from packet to packet.
        columns: The columns of `GraphBuffers`, but for types and names; those of types
            but for their names; field of the heap graph and id of each name.
        type_names: The name of each type.
        names: Renames of fields, and of locations of classes.
    """

    def __init__(self, spill: str) -> None:
        self.state = np.zeros(2, np.uint64)
        self.columns = {
            name: GrowingColumn(np.dtype(kind), *((spill,) if name in _SPILLED else ()))
            for name, (_, kind) in _COLUMNS.items()
        }
        for name in ("types", "name_id"):
            self.columns[name] = GrowingColumn("i8")
        self.columns["name_kind"] = GrowingColumn("u1")
        self.type_names, self.names = TextTable(), TextTable()

    def add(self, packet: Packet, found: GraphBuffers, counts: Longs) -> None:
        """Copy the rows that a scan has written."""
        for name, (count, _) in _COLUMNS.items():
            column = getattr(found, name)
            for at in range(0, int(counts[count]), _BLOCK):
                rows = column[at : min(at + _BLOCK, counts[count])]
                self.columns[name].add(narrowed(rows) if name in _NARROW else rows)
        if counts[TYPES]:
            types = found.types[: counts[TYPES]]
            self.columns["types"].add(types[:, list(TYPE_COLUMNS)].ravel())
            self.type_names.add(packet.data, types[:, T_BEGIN : T_END + 1])
        if counts[NAMES]:
            names = found.names[: counts[NAMES]]
            self.columns["name_kind"].add(names[:, 0].astype(np.uint8))
            self.columns["name_id"].add(names[:, 1])
            self.names.add(packet.data, names[:, 2:4])

    def taken(self) -> dict[str, NDArray[Any]]:
        """All columns, which leave this empty, but for texts."""
        self.type_names.settle()
        self.names.settle()
        return {name: column.taken() for name, column in self.columns.items()}
