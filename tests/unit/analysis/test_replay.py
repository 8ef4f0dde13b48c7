"""Objects through collections: the worked example, and a naive twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.heap.history import LARGE, OLDEST, PINNED, UNKNOWN, Bounds, Survival
from tests.unit.analysis.replay import LIVES, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

Range = tuple[int, int, int]


def ids(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


def bounds(ranges: Sequence[tuple[int, int, int]]) -> Bounds:
    """From (start, end, generation)."""
    return Bounds(
        ids([start for start, _, _ in ranges]),
        ids([end for _, end, _ in ranges]),
        np.array([age for _, _, age in ranges], np.int8),
    )


def collection(
    ranges: Sequence[Range],
    generation: int = 0,
    before: Bounds | None = None,
    after: Bounds | None = None,
    *,
    has_ranges: bool = True,
) -> Survival:
    old, new, size = (ids([entry[at] for entry in ranges]) for at in range(3))
    return Survival(1, generation, old, new, size, before, after, has_ranges)


def ages(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.array(values, np.int8)


def test_the_worked_example_of_the_profiling_api() -> None:
    """Ten objects, three of them garbage, told object by object and as blocks."""
    before = [8, 9, 10, 12, 13, 15, 16, 17, 18, 19]
    after = [7, None, 8, 10, None, 11, 12, 13, 14, None]
    one_each = [
        (old, new, 1 if old not in (10,) else 2)
        for old, new in zip(before, after, strict=True)
        if new is not None
    ]
    # The table of blocks says (10, 8, 2), which ends before 12: its object at 12
    # moved by two as well, so the block has four bytes.
    blocks = [(8, 7, 1), (10, 8, 3), (15, 11, 4)]
    for ranges in (one_each, blocks):
        fate = replay(ids(before), ages(*[0] * 10), [collection(ranges)])

        assert [
            int(at) if lives else None
            for at, lives in zip(fate.address, fate.lives, strict=True)
        ] == after


def test_ranges_apply_at_once_and_not_one_after_the_other() -> None:
    fate = replay(
        ids([10, 20, 30]),
        ages(0, 0, 0),
        [collection([(10, 20, 5), (20, 30, 5), (30, 10, 5)])],
    )

    assert fate.address.tolist() == [20, 30, 10]
    assert fate.lives.all()


@pytest.mark.parametrize(
    ("condemned", "survivors"),
    [
        (0, {1, OLDEST, LARGE, PINNED, UNKNOWN}),
        (1, {OLDEST, LARGE, PINNED, UNKNOWN}),
        (OLDEST, {UNKNOWN}),
    ],
)
def test_only_condemned_generations_lose_what_no_range_has(
    condemned: int, survivors: set[int]
) -> None:
    every = [0, 1, OLDEST, LARGE, PINNED, UNKNOWN]

    fate = replay(ids(range(6)), ages(*every), [collection([], condemned)])

    lives = {age for age, there in zip(every, fate.lives, strict=True) if there}
    assert lives == survivors
    assert set(fate.died_in.tolist()) <= {0, LIVES}


def test_bounds_before_say_who_is_condemned_and_bounds_after_what_became() -> None:
    young = bounds([(0, 100, 0), (100, 200, 1)])
    grown = bounds([(0, 100, 1), (100, 200, OLDEST)])

    fate = replay(
        ids([150, 50, 10]),
        None,
        [collection([(50, 60, 8)], 0, young, grown), collection([], 0)],
    )

    assert fate.died_in.tolist() == [LIVES, LIVES, 0]
    assert fate.address.tolist() == [150, 60, 10]
    assert fate.generation.tolist() == [OLDEST, 1, 0]


def test_a_collection_that_tells_nothing_kills_nothing() -> None:
    fate = replay(ids([5]), ages(0), [collection([], OLDEST, has_ranges=False)])

    assert fate.lives.all()


@st.composite
def histories(
    draw: st.DrawFn,
) -> tuple[list[int], list[int], list[Survival]]:
    """Objects, generations, and collections with disjoint ranges before each."""
    addresses = draw(
        st.lists(st.integers(0, 200), min_size=1, max_size=15, unique=True)
    )
    known = [draw(st.sampled_from([UNKNOWN, 0, 1, 2, LARGE])) for _ in addresses]
    found = []
    for _ in range(draw(st.integers(0, 4))):
        cuts = sorted(draw(st.sets(st.integers(0, 260), max_size=8)))
        ranges, targets = [], draw(st.permutations(range(len(cuts) // 2)))
        # Each moved to a place of its own: the runtime never piles them up.
        for at, place in enumerate(targets):
            start, end = cuts[2 * at], cuts[2 * at + 1]
            moves = draw(st.booleans())
            ranges.append((start, 300 * place + start if moves else start, end - start))
        ranges = [*draw(st.permutations(ranges))]
        edges = sorted(draw(st.sets(st.integers(0, 1200), max_size=6)))
        after = bounds(
            [
                (edges[i], edges[i + 1], draw(st.integers(0, 3)))
                for i in range(0, len(edges) - 1, 2)
            ]
        )
        found.append(collection(ranges, draw(st.integers(0, 2)), None, after))
    return addresses, known, found


@given(histories())
def test_replay_is_what_the_ranges_say_object_by_object(
    history: tuple[list[int], list[int], list[Survival]],
) -> None:
    addresses, known, found = history

    fate = replay(ids(addresses), ages(*known), found)

    for i, (at, age) in enumerate(zip(addresses, known, strict=True)):
        died = LIVES
        for index, one in enumerate(found):
            hit = [
                (int(old), int(new))
                for old, new, size in zip(
                    one.old_start, one.new_start, one.length, strict=True
                )
                if old <= at < old + size
            ]
            if hit:
                at += hit[0][1] - hit[0][0]
            elif 0 <= age <= one.generation or (
                age > OLDEST and one.generation == OLDEST
            ):
                died = index
                break
            assert one.after is not None
            for start, end, of in zip(
                one.after.start, one.after.end, one.after.generation, strict=True
            ):
                if start <= at < end:
                    age = int(of)
        assert (fate.died_in[i], fate.address[i], fate.generation[i]) == (died, at, age)


def test_ranges_that_lie_over_one_another_do_no_harm() -> None:
    fate = replay(
        ids([10, 11, 12, 13]),
        None,
        [
            collection([(10, 50, 2), (12, 50, 2)]),
            collection([(50, 10, 1)]),
            collection([(2**64 - 1, 2**64 - 1, 2**64 - 1), (0, 2**63, 2**64 - 1)]),
        ],
    )

    assert fate.lives.all()
