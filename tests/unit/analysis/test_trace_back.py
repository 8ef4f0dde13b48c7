"""Objects of dumps traced back: heaps that know which object is which."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.tracking import (
    LIVES,
    UNTOLD,
    Origins,
    allocation_of,
    replay,
    trace_back,
)
from ingest.history import LARGE, OLDEST, Allocations, Bounds, Survival

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOM = 4000


@dataclass(slots=True, eq=False)
class Thing:
    """An object that knows who it is."""

    at: int
    size: int
    generation: int
    born: int
    survived: int = 0
    is_garbage: bool = False


@dataclass(slots=True, eq=False)
class Heap:
    """A heap in which objects are born, die and move; dead ones lie until collected."""

    chance: random.Random
    things: list[Thing] = field(default_factory=list)
    collections: list[Survival] = field(default_factory=list)
    dumps: list[tuple[int, list[tuple[int, Thing]]]] = field(default_factory=list)

    def allocate(self, many: int) -> None:
        for _ in range(many):
            size = self.chance.choice([8, 16, 24])
            old = self.chance.random() < 0.1
            thing = Thing(0, size, LARGE if old else 0, len(self.collections))
            if self.place(thing):
                self.things.append(thing)

    def place(self, thing: Thing) -> bool:
        taken = {
            at
            for other in self.things
            for at in range(other.at, other.at + other.size, 8)
        }
        for _ in range(50):
            at = 8 * self.chance.randrange(1, ROOM // 8)
            if taken.isdisjoint(range(at, at + thing.size, 8)):
                thing.at = at
                return True
        return False

    def bounds(self) -> Bounds:
        things = sorted(self.things, key=lambda thing: thing.at)
        return Bounds(
            np.array([t.at for t in things], np.uint64),
            np.array([t.at + t.size for t in things], np.uint64),
            np.array([t.generation for t in things], np.int8),
        )

    def collect(self, generation: int, *, background: bool = False) -> None:
        before = self.bounds()
        youngest = OLDEST if background else 0
        for thing in self.things:
            thing.is_garbage |= self.chance.random() < 0.3

        def condemned(thing: Thing) -> bool:
            return thing.generation >= youngest and (
                thing.generation <= generation or generation >= OLDEST
            )

        survivors = [t for t in self.things if condemned(t) and not t.is_garbage]
        rest = [t for t in self.things if not condemned(t)]
        ranges = []
        moves = not background and self.chance.random() < 0.7
        self.things = [*rest, *(t for t in survivors if not moves)]
        for thing in survivors:
            was = thing.at
            if moves and not self.place(thing):
                continue
            if moves:
                self.things.append(thing)
            thing.survived += 1
            if thing.generation < OLDEST:
                thing.generation += 1
            ranges.append((was, thing.at, thing.size))
        self.chance.shuffle(ranges)
        old, new, length = (
            np.array([entry[at] for entry in ranges], np.uint64) for at in range(3)
        )
        self.collections.append(
            Survival(
                len(self.collections) + 1, generation, old, new, length,
                None if background else before, self.bounds(), youngest=youngest,
            )
        )  # fmt: skip

    def dump(self) -> None:
        """A dump is what a full collection has left alive."""
        self.collect(OLDEST)
        found = [(thing.survived, thing) for thing in self.things]
        self.chance.shuffle(found)
        self.dumps.append((len(self.collections), found))
        self.where.append([thing.at for _, thing in found])

    where: list[list[int]] = field(default_factory=list)


def live(seed: int, steps: Sequence[int]) -> Heap:
    heap = Heap(random.Random(seed))
    heap.allocate(30)
    for step in steps:
        heap.allocate(heap.chance.randrange(20))
        if step == 3:
            heap.dump()
        elif step == 4:
            heap.collect(OLDEST, background=True)
        else:
            heap.collect(step)
    heap.dump()
    return heap


@given(
    st.integers(0, 1 << 30),
    st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 3]), max_size=12),
)
def test_each_object_is_known_again_and_only_it(seed: int, steps: list[int]) -> None:
    heap = live(seed, steps)
    seen: dict[tuple[int, int], Thing] = {}
    names: dict[int, tuple[int, int]] = {}
    for (upto, found), where in zip(heap.dumps, heap.where, strict=True):
        origins = trace_back(np.array(where, np.uint64), heap.collections[:upto])
        for row, (survived, thing) in enumerate(found):
            name = (int(origins.known_since[row]), int(origins.known_at[row]))
            assert name[0] != UNTOLD
            assert seen.setdefault(name, thing) is thing
            assert names.setdefault(id(thing), name) == name
            assert origins.survived[row] == survived
            assert name[0] == thing.born
            assert origins.is_born[row] == (thing.born > 0)


@given(
    st.integers(0, 1 << 30),
    st.lists(st.sampled_from([0, 0, 1, 2, 3, 4]), max_size=12),
)
def test_background_collections_lead_to_the_same_objects_too(
    seed: int, steps: list[int]
) -> None:
    heap = live(seed, steps)
    seen: dict[tuple[int, int], Thing] = {}
    names: dict[int, tuple[int, int]] = {}
    for (upto, found), where in zip(heap.dumps, heap.where, strict=True):
        origins = trace_back(np.array(where, np.uint64), heap.collections[:upto])
        for row, (_, thing) in enumerate(found):
            name = (int(origins.known_since[row]), int(origins.known_at[row]))
            assert seen.setdefault(name, thing) is thing
            assert names.setdefault(id(thing), name) == name


@given(
    st.integers(0, 1 << 30),
    st.lists(st.sampled_from([0, 0, 1, 2]), max_size=12),
)
def test_back_and_forth_say_the_same(seed: int, steps: list[int]) -> None:
    heap = live(seed, [3, *steps])
    (first, older), (last, newer) = heap.dumps[0], heap.dumps[-1]
    fate = replay(
        np.array(heap.where[0], np.uint64), None, heap.collections[first:last]
    )
    back = [
        trace_back(np.array(where, np.uint64), heap.collections[:upto])
        for where, upto in ((heap.where[0], first), (heap.where[-1], last))
    ]
    by_name = {
        (int(a), int(b)): at
        for a, b, at in zip(
            back[1].known_since, back[1].known_at, heap.where[-1], strict=True
        )
    }
    for row in range(len(older)):
        name = int(back[0].known_since[row]), int(back[0].known_at[row])
        if fate.died_in[row] == LIVES:
            assert by_name.get(name) == int(fate.address[row])
        else:
            assert name not in by_name
    assert len(by_name) == len(newer)


def test_what_told_nothing_is_a_wall() -> None:
    """Nobody knows what was before a collection that did not tell what survived it."""
    none = np.empty(0, np.uint64)
    some = np.array([100], np.uint64), np.array([200], np.uint64)
    length = np.array([50], np.uint64)
    moves = Survival(1, OLDEST, *some, length)
    silent = Survival(2, OLDEST, none, none, none, has_ranges=False)
    back = Survival(3, OLDEST, some[1], some[0], length)

    origins = trace_back(np.array([110, 300], np.uint64), [moves, silent, back])

    assert origins.known_since.tolist() == [2, UNTOLD]
    assert origins.known_at.tolist() == [210, 300]
    assert origins.is_born.tolist() == [False, True]
    assert origins.survived.tolist() == [1, 0]


@pytest.mark.parametrize("generation", [0, 1])
def test_without_bounds_nobody_knows_who_is_old(generation: int) -> None:
    at = np.array([100], np.uint64)
    length = np.array([50], np.uint64)

    origins = trace_back(
        np.array([110, 300], np.uint64),
        [Survival(1, generation, at, at, length), Survival(2, 2, at, at, length)],
    )

    assert origins.known_since.tolist() == [0, UNTOLD]
    assert origins.is_born.tolist() == [False, True]


@given(st.data())
def test_any_ranges_at_all_are_put_up_with(data: st.DataObject) -> None:
    """A hostile trace says anything; no address is known twice, and it ends."""
    ids = st.lists(st.integers(0, 2**64 - 1), max_size=8)
    one = st.tuples(ids, ids, ids, ids, ids)
    collections = []
    for number, columns in enumerate(data.draw(st.lists(one, max_size=4))):
        old, new, length = (
            np.resize(np.array(c or [0], np.uint64), len(columns[0]))
            for c in columns[:3]
        )
        start, end = (
            np.resize(np.array(c or [0], np.uint64), len(columns[3]))
            for c in columns[3:]
        )
        ages = np.arange(len(start)).astype(np.int8)
        generation = data.draw(st.integers(-1, 127))
        collections.append(
            Survival(number, generation, old, new, length, Bounds(start, end, ages))
        )
    address = np.array(data.draw(ids), np.uint64)

    origins = trace_back(address, collections)

    assert len(origins.known_at) == len(address)
    assert (origins.known_since < max(len(collections), 1)).all()


@given(st.data())
def test_allocations_are_found_by_time_and_place(data: st.DataObject) -> None:
    few = st.integers(0, 4)
    told = data.draw(st.lists(st.tuples(few, few), max_size=20))
    asked = data.draw(st.lists(st.tuples(st.integers(-1, 4), few), max_size=20))
    rows = range(len(told))
    allocations = Allocations(
        np.array([heap for heap, _ in told], np.int32),
        np.array([at for _, at in told], np.uint64),
        np.array(rows, np.int32),
        np.array(rows, np.int64),
        (),
    )
    origins = Origins(
        np.array([since for since, _ in asked], np.int32),
        np.array([at for _, at in asked], np.uint64),
        np.zeros(len(asked), np.bool_),
        np.zeros(len(asked), np.int32),
    )

    found = allocation_of(origins, allocations)

    for pair, row in zip(asked, found.tolist(), strict=True):
        same = [i for i in rows if told[i] == pair]
        assert row == (same[-1] if same else UNTOLD)
