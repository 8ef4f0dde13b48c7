"""The objects with the most references to them, and from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.distances import ReferenceColumns, holding_references
from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ints
    from ingest.heap.graph import HeapGraph

MOST = 10_000
"""Objects whose counts are known: enough for any list that is read."""


class Counted(NamedTuple):
    """Some objects and a count of each.

    Attributes:
        rows: int32, ascending. The objects; at most `MOST`.
        counts: int32, > 0.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int32]


@kernel
def _count(references: ReferenceColumns, incoming: Ints, outgoing: Ints) -> None:
    """Add the references and the roots of each object to int32 (N + M,) columns."""
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    for source in range(len(outgoing)):
        for ref in range(start[source], start[source + 1]):
            if not (some_skipped and skipped[ref]):
                incoming[targets[ref]] += 1
                outgoing[source] += 1
    for root in references.roots:
        incoming[root] += 1


def most_connected(
    graph: HeapGraph, strength: NDArray[np.uint8] | None
) -> tuple[Counted, Counted]:
    """Count references that hold their target, those of roots included.

    Args:
        graph: The heap.
        strength: From `ingest.analysis.distances.search_roots`.

    Returns:
        The objects with the most references to them, and those with the most
        references from them. Of equals, the first ones in the dump.
    """
    n = len(graph.object_id)
    incoming, outgoing = np.zeros(n, np.int32), np.zeros(n, np.int32)
    _count(holding_references(graph, strength), incoming, outgoing)
    return _highest(incoming), _highest(outgoing)


def _highest(counts: NDArray[np.int32]) -> Counted:
    least = 1
    if len(counts) > MOST:
        least = max(1, int(np.partition(counts, -MOST)[-MOST]))
    above = np.flatnonzero(counts > least)
    equal = np.flatnonzero(counts == least)[: max(0, MOST - len(above))]
    rows = np.sort(np.concatenate([above, equal])).astype(np.int32)
    return Counted(rows, counts[rows])
