"""Columns about where objects come from: their age, and what allocated them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ingest.tables.regions import sums
from ingest.tables.series import addresses, from_end, not_negative, nulls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.heap.history import Allocations

    Columns = dict[str, pl.Series | NDArray[Any]]

_AGES: dict[str, type[pl.DataType]] = {
    "born_in_gc": pl.Int64,
    "collections_survived": pl.Int64,
    "known_since_gc": pl.Int64,
    "known_at": pl.String,
}
_SITES: dict[str, type[pl.DataType]] = {"allocated_ms": pl.Int64, "site": pl.Int32}
_BETWEEN = " < "
_MOST_FRAMES, _LONGEST_NAME = 32, 200
"""Of a stack what is kept, frames and characters of each: logs say anything."""


class OriginColumns:
    """Makes them.

    Attributes:
        absent: Columns of the table ``objects`` that nothing is told for.
        site_count: Rows of the table ``allocation_sites``.
    """

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self._graph = graph
        self._metrics = metrics
        self.absent: set[str] = set()
        if metrics.origins is None:
            self.absent |= set(_AGES)
        if metrics.allocation is None:
            self.absent |= set(_SITES)
        self.site_count = len(self._stacks)

    def objects(self, begin: int, end: int) -> Columns:
        """Columns of some rows of the table ``objects``; placeholders have none."""
        rows = end - begin
        real = slice(begin, min(end, self._graph.object_count))
        found: Columns = {}
        if (origins := self._metrics.origins) is not None:
            since = origins.known_since[real]
            told = pl.Series(since >= 0)
            number = pl.Series(self._numbers, dtype=pl.Int64)
            known = number.gather(from_end(since, len(number)))
            columns = {
                "born_in_gc": _where(pl.Series(origins.is_born[real]) & told, known),
                "collections_survived": pl.Series(origins.survived[real]),
                "known_since_gc": known,
                "known_at": _where(told, addresses(origins.known_at[real])),
            }
            found |= {
                name: _lengthened(column.cast(_AGES[name]), rows)
                for name, column in columns.items()
            }
        made, allocations = self._metrics.allocation, self._allocations
        if made is not None and allocations is not None:
            at = not_negative(made[real]).cast(pl.UInt32)
            clock = pl.Series(allocations.allocated_ms).gather(at)
            found["allocated_ms"] = _lengthened(clock, rows)
            site = not_negative(self._site_of[real])
            found["site"] = _lengthened(site, rows)
        return found | {
            name: nulls(rows, dtype)
            for name, dtype in (_AGES | _SITES).items()
            if name not in found
        }

    def sites(self, begin: int, end: int) -> Columns:
        """Rows of the table ``allocation_sites``."""
        stacks = self._stacks[begin:end]
        counts, shallow, reachable, live = self._of_sites
        shown = [[_short(name) for name in stack[:_MOST_FRAMES]] for stack in stacks]
        names = [stack[0] if stack else "unknown" for stack in shown]
        return {
            "site": np.arange(begin, end, dtype=np.int32),
            "name": pl.Series(names, dtype=pl.String),
            "stack": pl.Series([_BETWEEN.join(s) for s in shown], dtype=pl.String),
            "object_count": counts[begin:end],
            "shallow_bytes": shallow[begin:end],
            "reachable_count": live[begin:end],
            "reachable_bytes": reachable[begin:end],
        }

    @property
    def _allocations(self) -> Allocations | None:
        history = self._graph.history
        return None if history is None else history.allocations

    @property
    def _numbers(self) -> list[int | None]:
        """The runtime's number of each collection, then none."""
        assert self._graph.history is not None
        return [*(one.number for one in self._graph.history.collections), None]

    @cached_property
    def _used(self) -> NDArray[np.int32]:
        """Sites that objects of the dump have, rising."""
        made, allocations = self._metrics.allocation, self._allocations
        if made is None or allocations is None:
            return np.empty(0, np.int32)
        return np.unique(allocations.site[made[made >= 0]])

    @cached_property
    def _stacks(self) -> list[tuple[str, ...]]:
        allocations = self._allocations
        if allocations is None:
            return []
        return [allocations.sites[site] for site in self._used.tolist()]

    @cached_property
    def _of_sites(self) -> tuple[NDArray[np.int64], ...]:
        return sums(self._graph, self._metrics, self._site_of, self.site_count)

    @cached_property
    def _site_of(self) -> NDArray[np.int32]:
        """int32 (N,). Row of ``allocation_sites`` of each object, or -1."""
        of = np.full(self._graph.object_count, -1, np.int32)
        made, allocations = self._metrics.allocation, self._allocations
        if made is not None and allocations is not None:
            told = made >= 0
            sites = allocations.site[made[told]]
            of[told] = np.searchsorted(self._used, sites)
        return of


def _where(flags: pl.Series, values: pl.Series) -> pl.Series:
    return pl.select(pl.when(flags).then(values)).to_series()


def _lengthened(column: pl.Series, rows: int) -> pl.Series:
    """The column with nulls at its end."""
    missing = rows - len(column)
    return column.append(nulls(missing, column.dtype)) if missing else column


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
