"""Objects traced back, against simulated heaps that know the identity of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.tracking import (
    NOT_RECORDED,
    Origins,
    allocation_at,
    allocation_of,
    trace_back,
)
from ingest.heap.history import OLDEST, Allocations, Bounds, Survival
from tests.dumps.trace import Thing, live


@given(
    st.integers(0, 1 << 30),
    st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 3]), max_size=12),
)
def test_each_object_has_one_identity_in_all_dumps(seed: int, steps: list[int]) -> None:
    heap = live(seed, steps)
    seen: dict[tuple[int, int], Thing] = {}
    names: dict[int, tuple[int, int]] = {}
    for dump in heap.dumps:
        where = np.array([seen.at for seen in dump.objects], np.uint64)
        origins = trace_back(where, heap.collections[: dump.upto])
        for row, (thing, _, survived, _) in enumerate(dump.objects):
            name = (int(origins.known_since[row]), int(origins.known_at[row]))
            assert name[0] != NOT_RECORDED
            assert seen.setdefault(name, thing) is thing
            assert names.setdefault(id(thing), name) == name
            assert origins.survived[row] == survived
            assert name[0] == thing.born
            assert origins.is_born[row] == (thing.born > 0)


@given(
    st.integers(0, 1 << 30),
    st.lists(st.sampled_from([0, 0, 1, 2, 3, 4]), max_size=12),
)
def test_background_collections_lead_to_the_same_identities(
    seed: int, steps: list[int]
) -> None:
    heap = live(seed, steps)
    seen: dict[tuple[int, int], Thing] = {}
    names: dict[int, tuple[int, int]] = {}
    for dump in heap.dumps:
        where = np.array([seen.at for seen in dump.objects], np.uint64)
        origins = trace_back(where, heap.collections[: dump.upto])
        for row, (thing, _, _, _) in enumerate(dump.objects):
            name = (int(origins.known_since[row]), int(origins.known_at[row]))
            assert seen.setdefault(name, thing) is thing
            assert names.setdefault(id(thing), name) == name


def test_nothing_is_traced_beyond_a_full_collection_without_ranges() -> None:
    """Which objects survived such a collection is not recorded."""
    none = np.empty(0, np.uint64)
    some = np.array([100], np.uint64), np.array([200], np.uint64)
    length = np.array([50], np.uint64)
    moves = Survival(1, OLDEST, *some, length)
    unrecorded = Survival(2, OLDEST, none, none, none, has_ranges=False)
    back = Survival(3, OLDEST, some[1], some[0], length)

    origins = trace_back(np.array([110, 300], np.uint64), [moves, unrecorded, back])

    assert origins.known_since.tolist() == [2, NOT_RECORDED]
    assert origins.known_at.tolist() == [210, 300]
    assert origins.is_born.tolist() == [False, True]
    assert origins.survived.tolist() == [1, 0]


def test_generations_not_collected_are_traced_beyond_a_collection_without_ranges() -> (
    None
):
    none = np.empty(0, np.uint64)
    both = np.array([100, 300], np.uint64)
    bounds = Bounds(both, both + np.uint64(50), np.array([2, 0], np.int8))
    unrecorded = Survival(1, 0, none, none, none, bounds, has_ranges=False)
    full = Survival(2, OLDEST, both, both, np.array([50, 50], np.uint64))

    origins = trace_back(np.array([110, 310], np.uint64), [full, unrecorded, full])

    assert origins.known_since.tolist() == [0, 2]
    assert origins.is_born.tolist() == [False, False]
    assert origins.survived.tolist() == [2, 1]


YOUNG = Bounds(
    np.array([90], np.uint64), np.array([400], np.uint64), np.array([0], np.int8)
)


@pytest.mark.parametrize(
    ("generation", "before", "is_born"),
    [(0, None, False), (1, None, False), (-1, YOUNG, False), (0, YOUNG, True)],
)
def test_no_object_is_mistaken_for_another_with_too_little_recorded(
    generation: int, before: Bounds | None, *, is_born: bool
) -> None:
    """Whether an address held the same object before is not recorded."""
    at = np.array([100], np.uint64)
    length = np.array([50], np.uint64)
    both = np.array([100, 300], np.uint64)

    origins = trace_back(
        np.array([110, 300], np.uint64),
        [
            Survival(1, generation, at, at, length, before),
            Survival(2, 2, both, both, np.array([50, 50], np.uint64)),
        ],
    )

    assert origins.known_since.tolist() == [0, 1]
    assert origins.is_born.tolist() == [False, is_born]


@given(st.data())
def test_arbitrary_ranges_are_accepted(data: st.DataObject) -> None:
    """Even of a hostile trace no two objects have the same origin."""
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
    recorded = origins.known_since != NOT_RECORDED
    names = list(
        zip(origins.known_since[recorded], origins.known_at[recorded], strict=True)
    )
    assert len(set(names)) == len(names)


def test_overlapping_ranges_give_no_two_objects_the_same_origin() -> None:
    new = np.array([1000, 2000, 3000], np.uint64)
    old, length = np.full(3, 100, np.uint64), np.full(3, 50, np.uint64)

    origins = trace_back(
        np.array([1010, 2010, 3020], np.uint64), [Survival(1, 2, old, new, length)]
    )

    assert origins.known_since.tolist() == [NOT_RECORDED, NOT_RECORDED, 0]


def test_the_worked_example_of_the_profiling_api_backwards() -> None:
    """Blocks of ten objects, three of which were garbage."""
    old, new = np.array([8, 10, 15], np.uint64), np.array([7, 8, 11], np.uint64)
    length = np.array([1, 3, 4], np.uint64)
    after = np.array([14, 7, 8, 13, 10, 11, 12], np.uint64)

    origins = trace_back(after, [Survival(1, 2, old, new, length)])

    assert origins.known_at.tolist() == [18, 8, 10, 17, 12, 15, 16]
    assert origins.survived.tolist() == [1] * 7


@given(st.data())
def test_allocations_are_found_by_collection_and_address(data: st.DataObject) -> None:
    few = st.integers(0, 4)
    recorded = data.draw(st.lists(st.tuples(few, few), max_size=20))
    asked = data.draw(st.lists(st.tuples(st.integers(-1, 4), few), max_size=20))
    rows = range(len(recorded))
    allocations = Allocations(
        np.array([heap for heap, _ in recorded], np.int32),
        np.array([at for _, at in recorded], np.uint64),
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
        same = [i for i in rows if recorded[i] == pair]
        assert row == (same[-1] if same else NOT_RECORDED)


@given(st.lists(st.integers(0, 6), max_size=20), st.lists(st.integers(0, 6)))
def test_allocations_without_collections_are_found_by_the_address_in_the_dump(
    recorded: list[int], asked: list[int]
) -> None:
    rows = range(len(recorded))
    allocations = Allocations(
        np.zeros(len(recorded), np.int32),
        np.array(recorded, np.uint64),
        np.array(rows, np.int32),
        None,
        (),
    )

    found = allocation_at(np.array(asked, np.uint64), allocations)

    for address, row in zip(asked, found.tolist(), strict=True):
        same = [i for i in rows if recorded[i] == address]
        assert row == (same[-1] if same else NOT_RECORDED)
