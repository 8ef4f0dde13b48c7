"""Columns of the roots."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ingest.analysis.distances import holding_roots
from ingest.heap.graph import RootFlag, RootKind
from ingest.tables.origins import BETWEEN_FRAMES
from ingest.tables.series import texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

    Flags = NDArray[np.bool_]
    Slices = Callable[[slice], pl.Series]


class RootSetColumns:
    """What holds objects from outside of the heap, a slice of rows at a time.

    Args:
        graph: The heap.
        metrics: Its measures.
    """

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics) -> None:
        self._graph = graph
        self._metrics = metrics

    def kind(self, rows: slice) -> pl.Series:
        """Kinds of roots, by name."""
        labels = pl.Series([kind.label for kind in RootKind])
        return labels.gather(self._graph.root_kind[rows].astype(np.uint32))

    def pinned(self, rows: slice) -> Flags:
        """Which roots are pinned."""
        return RootFlag.PINNED.is_in(self._graph.root_flags[rows])

    def weak(self, rows: slice) -> Flags:
        """Which roots are weak."""
        return RootFlag.WEAK.is_in(self._graph.root_flags[rows])

    @cached_property
    def holding(self) -> Flags:
        """Bool (R,): which roots hold their object."""
        return holding_roots(self._graph, self._metrics.strength)

    def holds(self, rows: slice) -> Flags:
        """Which roots hold their object."""
        return self.holding[rows]

    def interior(self, rows: slice) -> Flags:
        """Which roots point into their objects."""
        return RootFlag.INTERIOR.is_in(self._graph.root_flags[rows])

    @property
    def weak_count(self) -> int:
        """Weak roots."""
        return int(np.count_nonzero(RootFlag.WEAK.is_in(self._graph.root_flags)))

    @property
    def field(self) -> Slices | None:
        """Static fields of roots, by name."""
        graph = self._graph
        if (fields := graph.root_field) is None:
            return None
        return lambda rows: texts_of(fields[rows], graph.field_names)

    @property
    def owner(self) -> Slices | None:
        """Owners of roots, by name."""
        graph = self._graph
        if (owners := graph.root_owner) is None:
            return None
        return lambda rows: texts_of(owners[rows], graph.owners)

    @property
    def frame(self) -> Slices | None:
        """Frames of locals."""
        graph = self._graph
        if (frames := graph.root_frame) is None or graph.stacks is None:
            return None
        texts = graph.stacks.frames
        return lambda rows: texts_of(frames[rows], texts)

    @property
    def frame_number(self) -> Slices | None:
        """Numbers of those frames in their stack."""
        graph = self._graph
        frames, owners, stacks = graph.root_frame, graph.root_owner, graph.stacks
        if frames is None or owners is None or stacks is None:
            return None
        first = np.array([*stacks.start, 0], np.int32)  # -1 is no owner
        return lambda rows: pl.Series(
            np.where(frames[rows] < 0, -1, frames[rows] - first[owners[rows]])
        )

    @property
    def stack(self) -> Slices | None:
        """Stacks of threads."""
        graph = self._graph
        owners, stacks = graph.root_owner, graph.stacks
        if owners is None or stacks is None:
            return None
        spans = list(zip(stacks.start, stacks.end, strict=True))
        distinct = {span: number for number, span in enumerate(dict.fromkeys(spans))}
        texts = [_stack_text(stacks.frames, *span) or None for span in distinct]
        of_owner = np.array([*(distinct[span] for span in spans), -1], np.int32)

        def part(rows: slice) -> pl.Series:
            is_thread = graph.root_kind[rows] == RootKind.THREAD
            return texts_of(np.where(is_thread, of_owner[owners[rows]], -1), texts)

        return part

    def name(self, rows: slice) -> pl.Series:
        """Names of roots; equal combinations of parts are named once."""
        graph = self._graph
        of = graph.root_kind[rows].astype(np.int64)
        first = np.empty(0, np.int64)
        for column in (
            graph.root_type, graph.root_field, graph.root_owner, graph.root_frame,
        ):  # fmt: skip
            if column is not None:
                part = np.maximum(column[rows].astype(np.int64), -1) + 1
                key = of * (part.max(initial=0) + 1) + part
                _, first, of = np.unique(key, return_index=True, return_inverse=True)
        texts = [graph.root_name(rows.start + at) for at in first.tolist()]
        return pl.Series(texts, dtype=pl.String).gather(of.astype(np.uint32))


_MOST_FRAMES = 1024
"""Innermost frames of a stack that are shown; endless recursion has more."""


def _stack_text(frames: Sequence[str], begin: int, end: int) -> str:
    """A stack as one text."""
    shown = list(frames[begin : min(end, begin + _MOST_FRAMES)])
    if left := end - begin - len(shown):
        shown.append(f"and {left:,} more")
    return BETWEEN_FRAMES.join(shown)
