"""Kernels over references whose targets are known: add some, drop some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.heap.graph import NO_FIELD, starts_type
from ingest.readers.shared.columns import shortened
from ingest.readers.shared.id_table import NULL

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Ints, Starts


class AddedReferences(NamedTuple):
    """References that objects have besides their recorded ones.

    Attributes:
        owner: int32 (A,). Rows of the objects that refer.
        target: int32 (A,). Rows of the objects to which they refer.
        field: int32 (A,). As in the graph.
        is_first: bool (A,). Whether the reference is inserted before, not after, the
            owner's recorded references.
    """

    owner: Ints
    target: Ints
    field: Ints
    is_first: Bools


@dataclass(slots=True, eq=False)
class References:
    """References between objects as compressed rows; see `HeapGraph`.

    Attributes:
        start: int32 or int64 (N + 1,), wide enough for what is added.
        target: int32 (E,). Rows; negative for references to drop.
        field: int32 (E,), or ``None``.
        kind: uint8 (E,), or ``None``.
    """

    start: Starts
    target: Ints
    field: Ints | None
    kind: Bytes | None

    def insert(self, added: AddedReferences) -> None:
        """Add strong references."""
        order = np.lexsort((~added.is_first, added.owner))
        owner, target, field, is_first = (column[order] for column in added)
        at = self.start[owner + ~is_first]
        if self.field is None:
            self.field = np.full(len(self.target), NO_FIELD, np.int32)
        self.field = np.insert(self.field, at, field)
        self.target = np.insert(self.target, at, target)
        if self.kind is not None:
            self.kind = np.insert(self.kind, at, 0)
        more = np.bincount(owner, minlength=len(self.start) - 1)
        self.start[1:] += np.cumsum(more).astype(self.start.dtype)

    def append(self, owner: Ints, target: Ints, field: Ints) -> None:
        """Add strong references after the recorded ones of their objects."""
        room = starts_type(len(self.target) + len(owner))
        self.start = self.start.astype(room, copy=False)
        self.insert(
            AddedReferences(owner, target, field, np.zeros(len(owner), np.bool_))
        )

    def drop(self, stays: Bools | None) -> int:
        """Drop references with a negative target, and those of folded objects.

        Args:
            stays: bool (N,). Objects that stay; ``None`` for all.

        Returns:
            How many references of objects that stay were `NULL`.
        """
        objects = len(self.start) - 1 if stays is None else int(stays.sum())
        nulls = _compact(
            self.start,
            self.target,
            np.empty(0, np.int32) if self.field is None else self.field,
            np.empty(0, np.uint8) if self.kind is None else self.kind,
            np.empty(0, np.bool_) if stays is None else stays,
        )
        self.start = shortened(self.start, objects + 1)
        count = int(self.start[-1])
        self.target = shortened(self.target, count)
        if self.field is not None:
            self.field = shortened(self.field, count)
        if self.kind is not None:
            self.kind = shortened(self.kind, count)
        return int(nulls)


@kernel
def _compact(
    start: Starts, target: Ints, field: Ints, kind: Bytes, stays: Bools
) -> int:
    """Drop references in place; see `References.drop`. Absent columns are empty."""
    nulls = 0
    row = 0
    stored = 0
    begin = start[0]
    for i in range(len(start) - 1):
        end = start[i + 1]
        if len(stays) == 0 or stays[i]:
            for at in range(begin, end):
                if target[at] >= 0:
                    target[stored] = target[at]
                    if len(field):
                        field[stored] = field[at]
                    if len(kind):
                        kind[stored] = kind[at]
                    stored += 1
                elif target[at] == NULL:
                    nulls += 1
            row += 1
            start[row] = stored
        begin = end
    return nulls
