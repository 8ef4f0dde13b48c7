"""Objects in groups of one type and one container, in machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import AHEAD, fetch, kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs, Starts


@kernel
def number_groups(
    rows: Ints,
    slot: Bytes,
    object_types: Ints,
    owns: Bools,
    left_out: Bools,
    group: Starts,
) -> None:
    """Fill ``group``: that of each row by slot and type, -1 for none.

    Args:
        rows: int32. Objects.
        slot: uint8. Slot of each object.
        object_types: int32 (N + M,).
        owns: bool (T,). The types that have groups.
        left_out: bool (N + M,). Objects of no group; empty for none.
        group: Filled.
    """
    types, last = len(owns), len(rows) - 1
    for at in range(len(rows)):
        fetch(object_types, rows[min(at + 2 * AHEAD, last)])
        row = rows[at]
        kind = object_types[row]
        is_in = kind >= 0 and owns[kind] and not (len(left_out) and left_out[row])
        group[at] = np.int64(slot[at]) * types + kind if is_in else -1


@kernel
def sum_heads(
    group: Starts, rows: Ints, is_inner: Bools, retained_bytes: Longs, sums: Longs
) -> None:
    """Sum the bytes of rows that no other one of their type dominates."""
    last = len(rows) - 1
    for at in range(len(rows)):
        fetch(retained_bytes, rows[min(at + 2 * AHEAD, last)])
        if group[at] >= 0 and not is_inner[at]:
            sums[group[at]] += retained_bytes[rows[at]]
