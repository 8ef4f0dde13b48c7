"""Stacks of the threads that own roots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, eq=False)
class ThreadStacks:
    """The stack of each owner of roots, one after the other.

    Attributes:
        frames: F frames as the runtime prints them, innermost first in each stack.
        start: O + 1 rows: the stack of owner i is ``frames[start[i]:start[i + 1]]``.
    """

    frames: tuple[str, ...]
    start: tuple[int, ...]

    @classmethod
    def of(cls, stacks: Sequence[Sequence[str]]) -> ThreadStacks:
        """The stacks, one for each owner."""
        start = [0]
        for stack in stacks:
            start.append(start[-1] + len(stack))
        return cls(tuple(frame for stack in stacks for frame in stack), tuple(start))

    def stack(self, owner: int) -> tuple[str, ...]:
        """The frames of an owner; empty if none are recorded."""
        return self.frames[self.start[owner] : self.start[owner + 1]]
