"""Columns about where objects come from: their age, and what allocated them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.tables.regions import Sums, sums
from ingest.tables.series import addresses, from_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.heap.history import Allocations

    Slices = Callable[[slice], pl.Series]

BETWEEN_FRAMES = " < "
_MAX_FRAMES, _MAX_NAME = 32, 200
"""Frames of a stack that are stored, and characters of each; logs may have more."""


class OriginColumns:
    """Columns of objects and of allocation sites; placeholders have no rows."""

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self._graph = graph
        self._metrics = metrics

    # ------------------------------------------------------------ age

    @property
    def known_since_gc(self) -> Slices | None:
        """Number of the first collection that has each object."""
        origins = self._metrics.origins
        if origins is None:
            return None
        return lambda rows: self._number(origins.known_since[rows])

    @property
    def born_in_gc(self) -> Slices | None:
        """The same, but null for objects that were allocated before the trace."""
        origins = self._metrics.origins
        if origins is None:
            return None
        return lambda rows: _where(
            origins.is_born[rows], self._number(origins.known_since[rows])
        )

    @property
    def known_at(self) -> Slices | None:
        """Address of each object when that collection began."""
        origins = self._metrics.origins
        if origins is None:
            return None
        return lambda rows: _where(
            origins.known_since[rows] >= 0, addresses(origins.known_at[rows])
        )

    @property
    def collections_survived(self) -> NDArray[np.int32] | None:
        """Collections that each object survived."""
        origins = self._metrics.origins
        return None if origins is None else origins.survived

    def _number(self, since: NDArray[np.int32]) -> pl.Series:
        """The runtime's numbers of collections; null where negative."""
        numbers = self._numbers
        return numbers.gather(from_end(since, len(numbers)))

    @cached_property
    def _numbers(self) -> pl.Series:
        assert self._graph.history is not None
        numbers = [one.number for one in self._graph.history.collections]
        return pl.Series([*numbers, None], dtype=pl.Int64)

    # ------------------------------------------------------------ allocation

    @property
    def allocated_ms(self) -> Slices | None:
        """Clock of the log at each object's allocation."""
        made, allocations = self._metrics.allocation, self._allocations
        if made is None or allocations is None or allocations.allocated_ms is None:
            return None
        clock = pl.Series(allocations.allocated_ms)
        return lambda rows: _where(
            made[rows] >= 0, clock.gather(np.maximum(made[rows], 0).astype(np.uint32))
        )

    @cached_property
    def site(self) -> NDArray[np.int32] | None:
        """int32 (N,). Row of ``allocation_sites`` of each object, or -1."""
        made, allocations = self._metrics.allocation, self._allocations
        if made is None or allocations is None:
            return None
        of = np.full(self._graph.object_count, -1, np.int32)
        known = made >= 0
        of[known] = np.searchsorted(self._used_sites, allocations.site[made[known]])
        return of

    @property
    def site_names(self) -> list[str]:
        """The innermost function of each site."""
        return [stack[0] if stack else "unknown" for stack in self._stacks]

    @property
    def site_stacks(self) -> list[str]:
        """The innermost functions of each site, joined."""
        return [BETWEEN_FRAMES.join(stack) for stack in self._stacks]

    @cached_property
    def sites(self) -> Sums:
        """Objects by site."""
        return sums(self._graph, self._metrics, self.site, self.site_count)

    @property
    def site_count(self) -> int:
        """Allocation sites that objects of the dump have."""
        return len(self._used_sites)

    @property
    def _allocations(self) -> Allocations | None:
        history = self._graph.history
        return None if history is None else history.allocations

    @cached_property
    def _used_sites(self) -> NDArray[np.int32]:
        """Sites of the log that objects of the dump have, rising."""
        made, allocations = self._metrics.allocation, self._allocations
        if made is None or allocations is None:
            return np.empty(0, np.int32)
        return np.unique(allocations.site[made[made >= 0]])

    @cached_property
    def _stacks(self) -> list[list[str]]:
        allocations = self._allocations
        if allocations is None:
            return []
        return [
            [_short(name) for name in allocations.sites[site][:_MAX_FRAMES]]
            for site in self._used_sites.tolist()
        ]


def _where(flags: NDArray[np.bool_], values: pl.Series) -> pl.Series:
    return pl.select(pl.when(pl.Series(flags)).then(values)).to_series()


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
