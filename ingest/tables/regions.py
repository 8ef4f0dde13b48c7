"""Tables of what the objects of a heap lie in: domains, segments, generations.

Collections, which went over all of them, are here too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ingest.analysis.types import count_by, sum_by
from ingest.heap.graph import GENERATIONS
from ingest.tables.series import not_negative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

    Columns = dict[str, pl.Series | NDArray[Any]]

_AGES = ("gen 0", "gen 1", "gen 2", "large objects", "pinned objects")


class Regions:
    """Makes the tables' columns.

    Attributes:
        ages: Generations that have objects.
    """

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self.graph = graph
        self.metrics = metrics
        told = graph.generation
        young = [] if told is None else np.unique(told[: graph.object_count]).tolist()
        self.ages = [age for age in young if age >= 0]

    def domains(self, begin: int, end: int) -> Columns:
        """Rows of the table ``domains``."""
        domains = self.graph.domains[begin:end]
        counts, shallow, reachable, _ = self._of_domains
        return {
            "ordinal": np.arange(begin, end, dtype=np.int32),
            "name": pl.Series([domain.name for domain in domains], dtype=pl.String),
            "started_ms": pl.Series([d.started_ms for d in domains], dtype=pl.Int64),
            "ended_ms": pl.Series([d.ended_ms for d in domains], dtype=pl.Int64),
            "duration_ms": pl.Series([d.duration_ms for d in domains], dtype=pl.Int64),
            "complete": np.array([domain.complete for domain in domains], np.bool_),
            "object_count": counts[begin:end],
            "shallow_bytes": shallow[begin:end],
            "reachable_bytes": reachable[begin:end],
        }

    def segments(self, begin: int, end: int) -> Columns:
        """Rows of the table ``segments``."""
        segments = self.graph.segments[begin:end]
        counts, shallow, reachable, _ = self._of_segments
        names = [f"{s.kind} segment {i}" for i, s in enumerate(segments, begin)]
        return {
            "ordinal": np.arange(begin, end, dtype=np.int32),
            "name": pl.Series(names, dtype=pl.String),
            "kind": pl.Series([str(s.kind) for s in segments], dtype=pl.String),
            "start": _hexadecimal([s.start for s in segments]),
            "end": _hexadecimal([s.end for s in segments]),
            "reserved_end": _hexadecimal([s.reserved_end for s in segments]),
            "used_bytes": pl.Series(
                [s.end - s.start for s in segments], dtype=pl.Int64
            ),
            "object_count": counts[begin:end],
            "shallow_bytes": shallow[begin:end],
            "reachable_bytes": reachable[begin:end],
        }

    def generations(self, begin: int, end: int) -> Columns:
        """Rows of the table ``generations``."""
        ages = np.array(self.ages[begin:end], np.int64)
        counts, shallow, reachable, live = self._of_generations
        return {
            "generation": np.arange(begin, end, dtype=np.int32),
            "number": ages,
            "name": pl.Series([_AGES[age] for age in ages.tolist()], dtype=pl.String),
            "object_count": counts[ages],
            "shallow_bytes": shallow[ages],
            "reachable_count": live[ages],
            "reachable_bytes": reachable[ages],
        }

    def collections(self, begin: int, end: int) -> Columns:
        """Rows of the table ``collections``."""
        every, found = self.graph.collections, self.graph.collections[begin:end]
        row = np.arange(begin, end, dtype=np.int32)
        names = [f"GC {one.number}" for one in found]
        told = {
            column: pl.Series([getattr(one, column) for one in found], dtype=pl.Int64)
            for column in (
                "number",
                "generation",
                "started_us",
                "duration_us",
                "heap_bytes",
                "promoted_bytes",
                "moved_bytes",
                "kept_bytes",
            )
        }
        return {
            "collection": row,
            "next": not_negative(np.where(row + 1 < len(every), row + 1, -1)),
            "name": pl.Series(names, dtype=pl.String),
            "reason": pl.Series([one.reason for one in found], dtype=pl.String),
            "mode": pl.Series([one.mode for one in found], dtype=pl.String),
            "is_dump": np.array([one.is_dump for one in found], np.bool_),
            "tells_survivors": pl.Series(
                [self._told.get(one.number) for one in found], dtype=pl.Boolean
            ),
            **told,
        }

    @cached_property
    def _told(self) -> dict[int, bool]:
        """By number, whether a collection told all that outlived it."""
        history = self.graph.history
        return {
            one.number: one.has_ranges
            for one in (() if history is None else history.collections)
        }

    # A table is made for each place that it is written to, its sums only once.

    @cached_property
    def _of_domains(self) -> tuple[NDArray[np.int64], ...]:
        where = self.graph.domain_index
        if where is None:
            where = np.zeros(len(self.graph.object_id), np.int32)
        return sums(self.graph, self.metrics, where, len(self.graph.domains))

    @cached_property
    def _of_segments(self) -> tuple[NDArray[np.int64], ...]:
        return sums(
            self.graph, self.metrics, self.graph.segment_index, len(self.graph.segments)
        )

    @cached_property
    def _of_generations(self) -> tuple[NDArray[np.int64], ...]:
        told = self.graph.generation
        where = None if told is None else told.astype(np.int32)
        return sums(self.graph, self.metrics, where, GENERATIONS)


def sums(
    graph: HeapGraph, metrics: HeapMetrics, where: NDArray[np.int32] | None, many: int
) -> tuple[NDArray[np.int64], ...]:
    """Objects, their bytes, and bytes and number of the reachable ones, by place.

    Args:
        graph: The heap.
        metrics: Which of its objects are reachable.
        where: int32 (N,) or longer. Place of each object; negative for none.
        many: How many places there are.
    """
    n = graph.object_count
    index = np.full(n, -1, np.int32) if where is None else where[:n]
    live = np.where(metrics.root_distance[:n] > 0, index, -1)
    live, size = live.astype(np.int32), graph.shallow_bytes[:n]
    return (
        count_by(index, many),
        sum_by(index, size, many),
        sum_by(live, size, many),
        count_by(live, many),
    )


def _hexadecimal(values: Sequence[int | None]) -> pl.Series:
    return pl.Series([v if v is None else hex(v) for v in values], dtype=pl.String)
