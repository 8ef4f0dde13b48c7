"""A pile: objects of one type below one owner, and what holds them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ingest.suspects.edges import Verified
    from ingest.suspects.holders import Holder

FEW = 3
"""Fewer objects in a container are no pile of their own."""

FEW_WITHOUT_CONTAINER = 10
"""Fewer objects that an owner's fields refer to are no pile of their own."""


class Pile(NamedTuple):
    """Objects of one type below one owner.

    Attributes:
        type_index: Their type.
        object_count: Their number.
        retained_bytes: Retained size of those that no other one dominates.
        members: Those, the one that retains most first.
        entry: The container below the owner that all are in, or -1.
        owner: The owner, or `ROOT`.
        is_run: Whether its objects retain one another, as those of a linked list.
        counted_bytes: What of the retained size is compared with other piles; ``None``
            for all of it. Values of the runtime may retain objects of the program,
            which are, or are not, piles of their own.
        waits: Whether its objects wait for the finalizer, and nothing else holds them.
    """

    type_index: int
    object_count: int
    retained_bytes: int
    members: NDArray[np.int32]
    entry: int
    owner: int
    is_run: bool = False
    counted_bytes: int | None = None
    waits: bool = False

    @property
    def compared_bytes(self) -> int:
        """Bytes that are compared with other piles."""
        if self.counted_bytes is None:
            return self.retained_bytes
        return min(self.counted_bytes, self.retained_bytes)

    @property
    def is_many(self) -> bool:
        """Whether there are enough objects for a pile, not only parts of one object."""
        heads = len(self.members)
        return self.is_run or heads >= (
            FEW if self.entry >= 0 else FEW_WITHOUT_CONTAINER
        )

    @property
    def score(self) -> float:
        """Compared bytes, weighed by how much they look like a pile.

        One large object counts a third, a thousand objects count in full.
        """
        weight = 0.34 + 0.22 * math.log10(self.object_count if self.is_many else 1)
        return self.compared_bytes * min(weight, 1.0)


class Held(NamedTuple):
    """A pile, what holds it, and the cut that frees it.

    Attributes:
        pile: Its objects and bytes are those that the cut frees.
        holder: What to name as the holder.
        cut: The cut.
        is_group: Whether many places of one role hold the objects, each its own.
        is_mostly: Whether they hold most of them only.
    """

    pile: Pile
    holder: Holder
    cut: Verified
    is_group: bool
    is_mostly: bool = False
