"""What piles of objects consist of, by type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.types import count_by, sum_by
from ingest.compiled import kernel
from ingest.text import human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.compiled import Bytes, Ints
    from ingest.heap.graph import HeapGraph

_MAX_CONTENTS = 5


@kernel
def _mark(dominator: Ints, mark: Bytes, links: Ints) -> None:
    """Give each object the mark of the nearest marked object that dominates it.

    ``mark`` is 0 where it is not known; 255 is for none. ``links`` is scratch.
    """
    for first in range(len(dominator)):
        row, below = first, -1
        while row >= 0 and mark[row] == 0:
            links[row] = below
            below, row = row, dominator[row]
        found = mark[row] if row >= 0 else 255
        while below >= 0:
            mark[below] = found
            below = links[below]


def marked(
    metrics: HeapMetrics, piles: Sequence[NDArray[np.int64]]
) -> NDArray[np.uint8]:
    """uint8 (N + M,): 1 + the pile that an object is in, 255 for none.

    Args:
        metrics: The metrics of the heap.
        piles: Objects of at most 254 piles; a pile includes all that they dominate.
    """
    mark = np.zeros(len(metrics.dominator), np.uint8)
    for number, members in enumerate(piles, start=1):
        mark[members] = number
    _mark(metrics.dominator, mark, np.empty(len(mark), np.int32))
    return mark


def contents_of(
    graph: HeapGraph, metrics: HeapMetrics, piles: Sequence[NDArray[np.int64]]
) -> list[list[str]]:
    """The types that have most bytes of each pile, as ``1,200 Tile, 3.1 MiB``.

    Args:
        graph: The heap.
        metrics: Its metrics.
        piles: Objects of each pile; a pile includes all that they dominate.
    """
    if not piles:
        return []
    mark = marked(metrics, piles)
    types, listed = len(graph.type_names), []
    for number in range(1, len(piles) + 1):
        rows = np.flatnonzero(mark == number)
        kinds = graph.type_index[rows]
        size = sum_by(kinds, graph.shallow_bytes[rows], types)
        count = count_by(kinds, types)
        order = np.argsort(-size, kind="stable")[:_MAX_CONTENTS]
        listed.append(
            [
                f"{count[kind]:,} "
                f"{printable(graph.captions.of(graph.type_names[kind]))}, "
                f"{human_bytes(int(size[kind]))}"
                for kind in order.tolist()
                if size[kind]
            ]
        )
    return listed
