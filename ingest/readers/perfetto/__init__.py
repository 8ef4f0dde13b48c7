"""Heap graphs of the Android Runtime, in traces of Perfetto.

A trace is a protobuf message: packets, each with its length, of which those of a heap
dump have roots, objects, types and names. Every dump has a sequence of packets with one
process, one time and numbers from 0 on; several dumps may alternate, and packets may
be compressed in others. Ids of objects are addresses, divided by their alignment.
Objects have their references in the order of the fields that their types and the
superclasses of these name; numbers and texts in them are not recorded.

Source: google/perfetto, ``protos/third_party/android/art/heap_graph.proto``,
``trace_packet.proto``; the Android Runtime, ``perfetto_hprof/perfetto_hprof.cc``.
"""

from __future__ import annotations

from ingest.readers.base import Format

NAME = "perfetto"

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types."""
PROCESS_TREE, TIMESTAMP, SEQUENCE = 2, 8, 10
COMPRESSED, ZSTD_COMPRESSED, HEAP_GRAPH, MAPPING = 50, 133, 56, 64
"""Fields of a packet."""

_WIRE_TYPES = {
    1: BYTES, PROCESS_TREE: BYTES, 3: VARINT, 4: BYTES, 6: BYTES, TIMESTAMP: VARINT,
    9: BYTES, SEQUENCE: VARINT, 11: BYTES, 12: BYTES, 13: VARINT, 33: BYTES,
    35: BYTES, 36: BYTES, 42: VARINT, COMPRESSED: BYTES, HEAP_GRAPH: BYTES,
    58: VARINT, 59: BYTES, 60: BYTES, MAPPING: BYTES, 79: VARINT, 89: BYTES,
    ZSTD_COMPRESSED: BYTES,
}  # fmt: skip
"""Of common fields of packets."""
_SIGNS = frozenset(
    {3, 6, TIMESTAMP, SEQUENCE, 36, COMPRESSED, HEAP_GRAPH, 89, ZSTD_COMPRESSED}
)
"""Fields of which every trace has some near its beginning."""
_MOST_FIELD = 1 << 16
_SNIFFED_PACKETS = 32
_PACKET = 0x0A


def sniff(head: bytes) -> bool:
    """Whether ``head`` begins with packets of a trace."""
    at, found = 0, set[int]()
    try:
        for _ in range(_SNIFFED_PACKETS):
            if at == len(head):
                break
            if head[at] != _PACKET:
                return False
            size, at = _varint(head, at + 1)
            end = at + size
            while at < end:
                key, at = _varint(head, at)
                field, wire = key >> 3, key & 7
                if not 0 < field < _MOST_FIELD or _WIRE_TYPES.get(field, wire) != wire:
                    return False
                found.add(field)
                if wire == VARINT:
                    _, at = _varint(head, at)
                elif wire == BYTES:
                    length, at = _varint(head, at)
                    at += length
                elif wire in (FIXED64, FIXED32):
                    at += 8 if wire == FIXED64 else 4
                else:
                    return False
                if at > end:
                    return False
    except IndexError:
        pass  # the rest of the packet is behind the head
    return not found.isdisjoint(_SIGNS)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


FORMAT = Format(
    NAME,
    "heap graphs of Android in a Perfetto trace",
    suffixes=(".pftrace", ".perfetto-trace"),
    memory_per_byte=5.0,
    sniff=sniff,
    package=__name__,
    options=frozenset({"mapping"}),
)
