"""The resolver against its definition, for every kind of id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import MalformedDump
from ingest.heap.graph import RootFlag
from ingest.readers.shared.columns import (
    Folding,
    InteriorRoots,
    ObjectColumns,
    RootColumns,
)
from ingest.readers.shared.id_table import IdTable
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.resolver import HeapResolver
from ingest.readers.shared.type_table import TypeTable
from tests.unit.readers.shared import warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph


@dataclass
class Recorded:
    """Objects as a dump records them: id, type, size, and what each refers to."""

    objects: list[tuple[int, int, int, list[int]]]
    roots: list[int] = field(default_factory=list)
    dtype: str = "u8"

    def columns(self, first: int = 0, end: int | None = None) -> ObjectColumns:
        """Those from ``first`` to ``end`` as one piece."""
        rows = self.objects[first:end]
        ids = [target for *_, targets in rows for target in targets]
        return ObjectColumns(
            id=np.array([row[0] for row in rows], self.dtype),
            type_id=np.array([row[1] for row in rows], np.uint64),
            size_bytes=np.array([row[2] for row in rows], np.int64),
            ref_count=np.array([len(row[3]) for row in rows], np.int32),
            ref_id=[np.array(ids, self.dtype)],
        )

    def root_columns(self, **more: Any) -> RootColumns:  # noqa: ANN401
        return RootColumns(
            id=np.array(self.roots, self.dtype),
            kind=np.zeros(len(self.roots), np.uint8),
            flags=more.pop("flags", np.zeros(len(self.roots), np.uint8)),
            **more,
        )

    def graph(
        self,
        pieces: list[ObjectColumns] | None = None,
        *,
        roots: RootColumns | None = None,
        **options: Any,  # noqa: ANN401
    ) -> HeapGraph:
        counter = IrregularityCounter(strict=False, name="test")
        types = TypeTable(counter)
        types.declare(1, "Thing")
        heap = HeapResolver(pieces or [self.columns()], types, counter, **options)
        return heap.graph(roots or self.root_columns(), format_name="test")


def referred(graph: HeapGraph) -> list[list[int]]:
    """What each object refers to, by id."""
    ids = graph.object_id[graph.ref_target]
    return [part.tolist() for part in np.split(ids, graph.ref_start[1:-1])]


DUMPS = st.lists(
    st.tuples(
        st.integers(1, 12), st.integers(0, 2), st.integers(0, 99),
        st.lists(st.integers(0, 15), max_size=4),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


@given(
    DUMPS,
    st.lists(st.integers(1, 15), max_size=5),
    st.booleans(),
    st.sampled_from(["u4", "u8"]),
    st.integers(0, 12),
)
def test_sparse_ids_are_found_whatever_their_order_and_width(
    objects: list[tuple[int, int, int, list[int]]],
    roots: list[int],
    ascending: bool,
    dtype: str,
    cut: int,
) -> None:
    if ascending:
        objects = sorted(objects)
    recorded = Recorded(objects, roots, dtype)
    cut = min(cut, len(objects))

    graph = recorded.graph([recorded.columns(0, cut), recorded.columns(cut)])

    first: dict[int, tuple[int, list[int]]] = {}
    for number, _, size, targets in objects:
        first.setdefault(number, (size, [target for target in targets if target]))
    wanted = [t for _, targets in first.values() for t in targets] + roots
    missing = sorted(set(wanted) - set(first))
    assert graph.object_id.tolist() == [*first, *missing]
    assert graph.object_id.dtype == np.uint64
    assert graph.shallow_bytes.tolist()[: len(first)] == [s for s, _ in first.values()]
    assert referred(graph) == [t for _, t in first.values()] + [[] for _ in missing]
    assert graph.object_id[graph.root_object].tolist() == roots
    kept = list({number: row for row, (number, *_) in enumerate(objects)})
    assert len(kept) == len(first)
    found = warnings(graph)
    assert found.get("repeated_object", 0) == len(objects) - len(first)
    assert found.get("missing_object", 0) == len(missing)


@given(DUMPS, st.sets(st.integers(0, 11)), st.integers(0, 1))
def test_row_numbers_are_found_and_objects_are_folded(
    objects: list[tuple[int, int, int, list[int]]], folded: set[int], first: int
) -> None:
    """References of folded objects are counted, those to null where they stay."""
    recorded = Recorded(objects, [first, first + len(objects) + 2], "i4")
    columns = recorded.columns()
    columns.id = None
    stays = np.array([row not in folded for row in range(len(objects))])

    graph = recorded.graph([columns], by_row_number=first, folding=Folding(stays))

    kept = [row for row in range(len(objects)) if row not in folded]
    expected, nulls, lost = [], 0, 0
    for row, (*_, targets) in enumerate(objects):
        rows = [target - first for target in targets]
        if row in folded:
            lost += len(rows)
            continue
        nulls += sum(target < 0 for target in rows)
        lost += sum(target in folded and target < len(objects) for target in rows)
        expected.append(
            [r + first for r in rows if r >= 0 and (r >= len(objects) or r in kept)]
        )
    count = graph.object_count
    assert graph.object_id[:count].tolist() == [row + first for row in kept]
    assert referred(graph)[:count] == expected
    assert graph.null_reference_count == nulls
    assert graph.folded.object_count == len(objects) - len(kept)
    assert graph.folded.reference_count == lost
    assert graph.folded.shallow_bytes == sum(
        objects[row][2] for row in folded if row < len(objects)
    )
    assert len(graph.root_object) == 2 - (0 in folded)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=8),
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
)
def test_roots_into_the_middle_of_objects(
    objects: list[tuple[int, int]], roots: list[int]
) -> None:
    recorded = Recorded([(i, 1, size, []) for i, size in objects], roots)

    graph = recorded.graph(roots=recorded.root_columns(interior=InteriorRoots.ANY))

    size_of = dict(reversed(objects))
    for root, row, flags in zip(
        roots, graph.root_object.tolist(), graph.root_flags.tolist(), strict=True
    ):
        nearest = max((i for i in size_of if i <= root), default=0)
        inside = root in size_of or 0 < root - nearest < size_of.get(nearest, 0)
        assert graph.object_id[row] == (nearest if inside else root)
        assert flags == (RootFlag.INTERIOR if inside and root not in size_of else 0)


def test_only_flagged_roots_may_be_interior() -> None:
    recorded = Recorded([(0x10, 1, 16, [])], [0x18, 0x18])
    flags = np.array([RootFlag.INTERIOR, 0], np.uint8)

    graph = recorded.graph(
        roots=recorded.root_columns(interior=InteriorRoots.FLAGGED, flags=flags)
    )

    assert graph.object_id[graph.root_object].tolist() == [0x10, 0x18]


def test_a_root_that_is_a_location_needs_an_object() -> None:
    recorded = Recorded([(0x10, 1, 16, [])], [0x10, 0x99, 0x98])
    places = np.array([True, True, False])

    graph = recorded.graph(roots=recorded.root_columns(is_location=places))

    assert graph.object_id[graph.root_object].tolist() == [0x10, 0x98]
    assert warnings(graph) == {"root_without_object": 1, "missing_object": 1}


def test_further_columns_follow_their_objects() -> None:
    recorded = Recorded([(9, 1, 8, [7]), (9, 1, 8, []), (3, 1, 8, [])])
    columns = recorded.columns()
    columns.further["length"] = np.array([5, 6, 7], np.int64), -1
    columns.ref_field = np.zeros(1, np.int32)
    columns.ref_kind = np.ones(1, np.uint8)
    counter = IrregularityCounter(strict=False, name="test")
    types = TypeTable(counter)

    heap = HeapResolver([columns], types, counter)
    heap.add_references(np.array([1]), np.array([9]), 0)
    graph = heap.graph(recorded.root_columns(), format_name="t", field_names=("next",))

    assert graph.object_id.tolist() == [9, 3, 7]
    assert graph.length is not None
    assert graph.length.tolist() == [5, 7, -1]
    assert referred(graph) == [[7], [9], []]
    assert graph.ref_kind is not None
    assert graph.ref_kind.tolist() == [1, 0]
    assert graph.type_names == ("<type 1>",)


def test_added_references_stand_in_front_of_the_recorded_ones_or_behind() -> None:
    recorded = Recorded([(1, 1, 8, [2, 3]), (2, 1, 8, [1]), (3, 1, 8, [])])
    counter = IrregularityCounter(strict=False, name="test")
    heap = HeapResolver([recorded.columns()], TypeTable(counter), counter)

    heap.add_references(
        np.array([1, 0, 0]),
        np.array([3, 2, 9]),
        np.array([0, 1, 2], np.int32),
        is_first=np.array([True, False, True]),
        instead_of=np.array([0]),
    )
    names = ("a", "b", "c")
    graph = heap.graph(recorded.root_columns(), format_name="t", field_names=names)

    assert referred(graph) == [[9, 3, 2], [3, 1], [], []]
    assert graph.ref_field is not None
    assert [max(f, -1) for f in graph.ref_field.tolist()] == [2, -1, 1, 0, -1]


def test_absurd_sizes_are_an_error() -> None:
    with pytest.raises(MalformedDump, match="add up"):
        Recorded([(i, 1, (1 << 62) - 1, []) for i in (1, 2)]).graph()


def test_ascending_ids_far_apart_take_no_more_memory() -> None:
    """A table is never larger than its ids ask for, wherever they lie."""
    ids = np.array([1, 2, 3, 1 << 63, (1 << 64) - 1], np.uint64)

    table = IdTable(ids)

    assert table.ascends
    assert table.find(ids)[0].tolist() == [0, 1, 2, 3, 4]
    assert table.find(np.array([0, 4, 1 << 62], np.uint64))[0].tolist() == [-1] * 3


def test_ids_are_found_that_differ_in_one_bit() -> None:
    """However high that bit is."""
    for bit in range(1, 64):
        ids = np.array([1, 1 ^ 1 << bit] + [1] * 40, np.uint64)

        table = IdTable(ids)

        assert table.find(ids)[0].tolist() == [0, 1] + [0] * 40
        assert table.duplicate_of.tolist() == [-1, -1] + [0] * 40


def test_ids_that_ascend_in_sequences_are_found_like_any_other() -> None:
    """Of an id that repeats, the first row counts."""
    rng = np.random.default_rng(1)
    sequences = [np.sort(rng.integers(1, 5000, 400)) for _ in range(20)]
    ids = np.concatenate(sequences).astype(np.uint64)
    first: dict[int, int] = {}
    for row, key in enumerate(ids.tolist()):
        first.setdefault(key, row)

    table = IdTable(ids)

    assert not table.ascends
    assert table.find(ids)[0].tolist() == [first[key] for key in ids.tolist()]
    assert table.find(np.array([0, 5000], np.uint64))[0].tolist() == [-1, -1]
    repeats = np.flatnonzero(table.duplicate_of >= 0)
    assert len(repeats) == len(ids) - len(first)
    assert table.duplicate_of[repeats].tolist() == [first[key] for key in ids[repeats]]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("step", [1, 8, 24])
def test_ids_are_found_where_few_are_out_of_order(step: int, dtype: type) -> None:
    """Runs of ids in any order, of which some share a word with those before."""
    rng = np.random.default_rng(step)
    numbers = np.arange(1, 4001)
    numbers[1000:1100] = numbers[1000:1100][::-1]
    order = np.concatenate([numbers[2037:], numbers[:2037]])
    ids: NDArray[Any] = (5 + order * step).astype(dtype)
    absent = np.setdiff1d(rng.integers(0, 4100 * step, 3000), ids)

    table = IdTable(ids)

    assert not table.ascends
    assert len(table._mixed) > 90
    assert table.find(ids)[0].tolist() == list(range(4000))
    assert len(absent) > 100 or step == 1
    assert set(table.find(absent.astype(dtype))[0].tolist()) <= {-1}


@pytest.mark.parametrize("gap", [1 << 12, 1 << 28, 1 << 45])
def test_ids_are_found_where_there_are_gaps_between_them(gap: int) -> None:
    """As between the segments of a heap: no table grows with the gap."""
    numbers = np.arange(20_000, dtype=np.uint64) * np.uint64(16)
    ids = numbers + np.arange(20_000, dtype=np.uint64) // np.uint64(7000) * np.uint64(
        gap
    )
    between = ids[[6999, 13_999]] + np.uint64(gap // 2)

    table = IdTable(ids)

    # The more ids there are, the larger the gaps may be.
    assert bool(len(table._words)) == (gap < 1 << 45)
    assert len(table._words) < 20_000
    assert table.find(ids)[0].tolist() == list(range(20_000))
    assert table.find(between)[0].tolist() == [-1, -1]
    assert table.find(ids + np.uint64(8))[0].tolist() == [-1] * 20_000


def test_ids_in_no_order_are_found() -> None:
    ids = np.random.default_rng(1).permutation(5000).astype(np.uint64) + np.uint64(7)

    table = IdTable(ids)

    assert not len(table._words)
    assert table.find(ids)[0].tolist() == list(range(5000))
