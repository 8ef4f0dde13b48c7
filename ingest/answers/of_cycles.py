"""Shortest cycles of references through the objects that retain most.

What leads to a candidate is found first, by a pass over all references for each step.
Then a search from each candidate follows nothing that leads to none of them in time. As
in `ingest.analysis.shortest`, of several shortest cycles it finds the first by rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.shortest import sort_rows
from ingest.answers.view import (
    MANY_REFERENCES,
    VALUE_LENGTH,
    bits_of,
    largest,
    row_of,
)
from ingest.arrays.compiled import kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.distances import ReferenceColumns
    from ingest.answers.frames import HeapView, Values
    from ingest.answers.view import Row
    from ingest.arrays.compiled import Bytes, Ints

_LONGEST = 8
"""The most references of a cycle."""

_FAR = 255
"""Marks objects that lead to no candidate in time."""


@kernel
def _step_back(
    references: ReferenceColumns,
    is_near: Bytes,
    step: int,
    steps: Bytes,
    first: int,
    end: int,
) -> int:
    """Find objects whose references ``first`` to ``end`` lead to near ones.

    Args:
        references: The references that are followed.
        is_near: From `bits_of`.
        step: Number for the objects found, unless they have one.
        steps: uint8 (N + M,). Steps of each object, or `_FAR`.
        first: The first reference.
        end: Where they end.

    Returns:
        How many objects were found.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped, found, row = len(skipped) > 0, 0, 0
    for ref in range(first, end):
        target = targets[ref]
        if is_near[target >> 3] >> (target & 7) & 1 and not (
            some_skipped and skipped[ref]
        ):
            row = row_of(start, ref, row)
            if steps[row] == _FAR:
                steps[row] = step
                found += 1
    return found


@kernel
def _find_cycle(
    references: ReferenceColumns,
    steps: Bytes,
    candidate: int,
    stamp: int,
    seen: Ints,
    queue: Ints,
    origin: Ints,
    cycle: Ints,
) -> int:
    """Find the first of the shortest cycles through an object.

    Args:
        references: The references that are followed.
        steps: See `_step_back`.
        candidate: The object.
        stamp: What ``seen`` has of no object yet; then of those that are visited.
        seen: int32 (N + M,). Stamps.
        queue: int32 (N + M,). Room for what is visited, in order.
        origin: int32 (N + M,). Room for the place in ``queue`` of what led to it.
        cycle: Room for the objects; ``candidate`` is the last one.

    Returns:
        How many objects the cycle has; 0 if there is none.
    """
    start, targets, skipped = references.start, references.target, references.skipped
    some_skipped = len(skipped) > 0
    queue[0], origin[0] = candidate, -1
    head, tail = 0, 1
    for length in range(1, len(cycle) + 1):
        left, end = len(cycle) - length, tail
        while head < end:
            source, first = queue[head], tail
            for ref in range(start[source], start[source + 1]):
                target = targets[ref]
                if target == candidate and not (some_skipped and skipped[ref]):
                    cycle[length - 1], at = candidate, head
                    for place in range(length - 2, -1, -1):
                        cycle[place], at = queue[at], origin[at]
                    return length
                if (
                    steps[target] <= left
                    and seen[target] != stamp
                    and not (some_skipped and skipped[ref])
                ):
                    seen[target] = stamp
                    queue[tail], origin[tail] = target, head
                    tail += 1
            sort_rows(queue, first, tail)
            head += 1
    return 0


def _candidates(heap: HeapView, values: Values) -> list[int]:
    """Rows of the objects to start from."""
    name, most = values["type"], values["candidates"]
    if name:
        return largest(heap.instances(name), [heap.retained_bytes], most)
    held = heap.retained_bytes
    return largest(np.flatnonzero(held >= _least(held, most)), [held], most)


def _least(column: NDArray[np.int64], count: int) -> int:
    """A number that at least ``count`` values reach, if as many are positive."""
    least = 1 << 40
    while least and np.count_nonzero(column >= least) < count:
        least >>= 4
    return least


def _steps_to(heap: HeapView, candidates: list[int]) -> Bytes:
    """uint8 (N + M,): steps from each object to the next candidate, or `_FAR`."""
    steps = np.full(heap.row_count, _FAR, np.uint8)
    steps[candidates] = 0
    for step in range(1, _LONGEST):
        is_near = bits_of(steps == step - 1)
        look = partial(_step_back, heap.references, is_near, step, steps)
        if not any(in_ranges(look, 0, len(heap.ref_target), least=MANY_REFERENCES)):
            break
    return steps


def cycles(heap: HeapView, values: Values) -> list[Row]:
    candidates = _candidates(heap, values)
    steps = _steps_to(heap, candidates)
    seen = np.zeros(heap.row_count, np.int32)
    queue, origin = np.empty((2, heap.row_count), np.int32)
    cycle, circles = np.empty(_LONGEST, np.int32), set[tuple[int, ...]]()
    for stamp, candidate in enumerate(candidates, start=1):
        length = _find_cycle(
            heap.references, steps, candidate, stamp, seen, queue, origin, cycle
        )
        if length:
            circle = cycle[:length].tolist()
            first = circle.index(min(circle))
            circles.add((*circle[first:], *circle[:first]))
    found = sorted(
        (-max(map(heap.retained, circle)), len(circle), circle) for circle in circles
    )[: values["limit"]]
    return [
        {
            "length": length,
            "retained_bytes": -retained,
            "alive": heap.distance(circle[0]) is not None,
            "members": _members(heap, circle),
        }
        for retained, length, circle in found
    ]


def _members(heap: HeapView, circle: tuple[int, ...]) -> list[str]:
    """Short name of the type, address and value of each object."""
    own = heap.frame("objects", circle, ["address", "value"])
    return [
        f"{heap.short_type(row)} {address}"
        + ("" if value is None else f' "{value[:VALUE_LENGTH]}"')
        for row, (address, value) in zip(circle, own.iter_rows(), strict=True)
    ]
