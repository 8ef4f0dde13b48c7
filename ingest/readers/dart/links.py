"""Kernels over the references of a Dart snapshot: fields, kinds, reachability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.compiled import kernel
from ingest.heap.graph import RefKind

if TYPE_CHECKING:
    from ingest.compiled import Bools, Bytes, Ints, Longs

_STRONG, _WEAK = int(RefKind.STRONG), int(RefKind.WEAK)


@kernel
def describe(
    class_index: Ints,
    ref_start: Longs,
    first_slot: Longs,
    slot_field: Ints,
    weak_slot: Bools,
    weak_element: Bools,
    field: Ints,
    kind: Bytes,
) -> None:
    """Find each reference's field and kind by its place in its object.

    Args:
        class_index: int32 (N,).
        ref_start: int64 (N + 1,).
        first_slot: int64 (C + 1,). Where a class's declared places start.
        slot_field: int32. The field of each declared place.
        weak_slot: Bool. Whether it is weak.
        weak_element: Bool (C,). Whether what follows the declared places is weak.
        field: int32 (E,), filled: a field, or -1 - i for element i.
        kind: uint8 (E,), filled.
    """
    for i in range(len(class_index)):
        c = class_index[i]
        first = first_slot[c]
        declared = first_slot[c + 1] - first
        begin = ref_start[i]
        for at in range(begin, ref_start[i + 1]):
            place = at - begin
            if place < declared:
                field[at] = slot_field[first + place]
                kind[at] = _WEAK if weak_slot[first + place] else _STRONG
            else:
                field[at] = declared - place - 1
                kind[at] = _WEAK if weak_element[c] else _STRONG


@kernel
def reached(ref_start: Longs, ref_id: Ints, seen: Bools, queue: Ints) -> None:
    """Mark what row 0 reaches along all references; ``queue`` is int32 (N,)."""
    n = len(seen)
    head, tail = 0, 1
    queue[0] = 0
    seen[0] = True
    while head < tail:
        i = queue[head]
        head += 1
        for at in range(ref_start[i], ref_start[i + 1]):
            row = ref_id[at] - 1
            if 0 <= row < n and not seen[row]:
                seen[row] = True
                queue[tail] = row
                tail += 1
