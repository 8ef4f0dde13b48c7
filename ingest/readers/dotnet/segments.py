"""Segments of a .NET heap, from the address ranges of its generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import GENERATIONS, Segment, SegmentKind
from ingest.readers.shared.columns import MAX_SIZE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids


FREE_SPACE = {0: "Free Space"}
"""The name of type 0 if the dump declares none: gaps between objects."""

_KIND = (
    SegmentKind.EPHEMERAL,
    SegmentKind.EPHEMERAL,
    SegmentKind.GEN2,
    SegmentKind.LOH,
    SegmentKind.POH,
)


def segment_columns(
    ranges: Iterable[tuple[int, int, int, int]], address: Ids
) -> dict[str, Any]:
    """Columns of the graph: the segments, and segment and generation of each object.

    Args:
        ranges: Start, used and reserved bytes, and generation of each address range;
            empty and impossible ones are ignored.
        address: uint64 (N,).
    """
    known = sorted(
        {
            (start, used, reserved, generation)
            for start, used, reserved, generation in ranges
            if generation < GENERATIONS
            and 0 < used <= MAX_SIZE_BYTES
            and reserved <= MAX_SIZE_BYTES
            and start < 1 << 63
        }
    )
    if not known:
        return {}
    segments = tuple(
        Segment(
            start,
            start + used,
            reserved_end=start + max(used, reserved),
            kind=_KIND[generation],
        )
        for start, used, reserved, generation in known
    )
    index = within(address, [s.start for s in segments], [s.end for s in segments])
    generations = np.array([-1, *(generation for *_, generation in known)], np.int8)
    return {
        "segments": segments,
        "segment_index": index,
        "generation": generations[index + np.int32(1)],
    }


_BLOCK_ROWS = 1 << 16


def within(
    address: NDArray[np.uint64], starts: Sequence[int], ends: Sequence[int]
) -> NDArray[np.int32]:
    """int32 (N,): the range that contains each address, -1 if none does.

    Args:
        address: uint64 (N,).
        starts: First address of each of R ranges, ascending.
        ends: One past the last address of each. If two ranges contain an address, the
            later one counts.
    """
    found = np.full(len(address), -1, np.int32)
    if not len(starts):
        return found
    low, high = np.array(starts, np.uint64), np.array(ends, np.uint64)
    # Block by block: positions have eight bytes each.
    for begin in range(0, len(address), _BLOCK_ROWS):
        block = address[begin : begin + _BLOCK_ROWS]
        row = np.searchsorted(low, block, "right") - 1
        inside = (row >= 0) & (block < high[row])
        found[begin : begin + _BLOCK_ROWS] = np.where(inside, row, -1)
    return found
