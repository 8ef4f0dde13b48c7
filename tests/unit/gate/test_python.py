"""What the gate finds in dumps of CPython, and what it leaves alone."""

from __future__ import annotations

import pytest

from ingest.gate.findings import Finding, judge
from ingest.gate.rules import Rules
from ingest.readers.hrpy.chunks import Flag
from tests.bench.gate import compared
from tests.dumps.hrpy import HrpyHeap

_OWNER, _MAP, _TABLE, _LIST = 0x1000, 0x2000, 0x3000, 0x4000


def some(first: int, count: int) -> list[int]:
    return [first + 64 * number for number in range(count)]


def found(dumps: list[HrpyHeap]) -> list[Finding]:
    every = [compared(heap.bytes(), at) for at, heap in enumerate(dumps)]
    return judge(every, Rules(suspects=False)).findings


@pytest.mark.parametrize(
    ("kind", "is_kept"),
    [("weakref.WeakValueDictionary", False), ("shop.References", True)],
)
def test_entries_of_a_weak_collection_are_no_growth_of_their_own(
    kind: str, *, is_kept: bool
) -> None:
    dumps = []
    for step in range(3):
        heap, count = HrpyHeap().variable("SHOP", _OWNER), 100 + 50 * step
        pages = some(0x100000, count)
        heap.chunk("shop.Page", pages, size=900)
        heap.chunk("list", [_LIST], rest=[pages], lengths=[count], flags=Flag.ELEMENTS)
        keys, references = some(0x300000, count), some(0x400000, count)
        heap.texts(keys, [f"page {number}" for number in range(count)])
        heap.chunk("weakref.KeyedRef", references, size=80)
        heap.dict(_TABLE, dict(zip(keys, references, strict=True)))
        heap.chunk(kind, [_MAP], named={"data": [_TABLE]})
        heap.chunk("shop.Shop", [_OWNER], named={"all": [_MAP], "open": [_LIST]})
        dumps.append(heap)

    types = {one.path[-1] for one in found(dumps)}

    assert "Page" in types
    assert ("KeyedRef" in types) is is_kept
    assert "str" not in types


def test_keys_and_larger_values_of_the_runtime_are_one_finding() -> None:
    dumps = []
    for step in range(3):
        heap, count = HrpyHeap().variable("SHOP", _OWNER), 100 + 50 * step
        keys, values = some(0x300000, count), some(0x400000, count)
        heap.texts(keys, [f"page {number}" for number in range(count)])
        heap.chunk("bytearray", values, size=900)
        heap.dict(_TABLE, dict(zip(keys, values, strict=True)))
        heap.chunk("shop.Shop", [_OWNER], named={"pages": [_TABLE]})
        dumps.append(heap)

    (one,) = found(dumps)

    assert one.path[-1] == "bytearray"
    assert one.below == ("str",)


@pytest.mark.parametrize(
    ("kind", "is_found"), [("weakref.ReferenceType", False), ("shop.Note", True)]
)
def test_a_few_weak_references_more_are_a_note(kind: str, *, is_found: bool) -> None:
    """As each further step of a study has a dozen in its table."""
    dumps = []
    for step in range(3):
        heap, count = HrpyHeap().variable("STUDY", _OWNER), 20 + 12 * step
        heap.chunk("bytearray", [_TABLE], size=4 << 20)
        held = some(0x300000, count)
        heap.chunk(kind, held, size=72)
        heap.chunk("list", [_LIST], rest=[held], lengths=[count], flags=Flag.ELEMENTS)
        heap.chunk("shop.Study", [_OWNER], named={"of": [_LIST], "raw": [_TABLE]})
        dumps.append(heap)

    assert bool(found(dumps)) is is_found
