"""Containers without an object of the program that several places hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.readers.hrpy.chunks import Flag
from ingest.suspects.covers import MAX_PLACES
from ingest.suspects.edges import MANY
from tests.dumps.hrpy import HrpyHeap
from tests.unit.suspects.test_python_heaps import suspect_of
from tests.unit.suspects.test_v8_leaks import holding, program, suspects_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MANY = 400


@pytest.mark.parametrize("kind", ["dict", "tuple", "collections.deque", "weakref"])
def test_rows_that_two_objects_have_are_a_pile(kind: str, tmp_path: Path) -> None:
    heap = HrpyHeap().variable("SHOP", 0x1000).variable("LOG", 0x2000)
    rows = [0x100000 + 64 * at for at in range(_MANY)]
    by_id, by_day = 0x200000, 0x200040
    heap.chunk(kind, rows, size=600)
    heap.chunk(
        "list", [by_id, by_day], rest=[rows, rows[1:]], lengths=[_MANY, _MANY - 1],
        flags=Flag.ELEMENTS,
    )  # fmt: skip
    heap.chunk("shop.Shop", [0x1000], named={"by_id": [by_id]})
    heap.chunk("shop.Log", [0x2000], named={"by_day": [by_day]})

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} {kind.rpartition('.')[2]} (")
    assert found.cut == "Shop.by_id -> list and Log.by_day -> list"


def test_a_field_of_an_event_loop_that_many_share_is_a_place(tmp_path: Path) -> None:
    """All tasks refer to the loop, and its list of timers has a name nevertheless."""
    heap = HrpyHeap().variable("SHOP", 0x1000)
    timers = [0x100000 + 64 * at for at in range(_MANY)]
    locks = [0x200000 + 64 * at for at in range(MANY + 1)]
    heap.chunk("asyncio.events.TimerHandle", timers, size=6000)
    loop, listed = 0x300000, [0x300040, 0x300080, 0x3000C0]
    for at, rows in zip(listed, (timers, timers, locks), strict=True):
        heap.chunk("list", [at], rest=[rows], lengths=[len(rows)], flags=Flag.ELEMENTS)
    heap.chunk(
        "asyncio.unix_events._UnixSelectorEventLoop", [loop],
        named={"_scheduled": listed[:1]},
    )  # fmt: skip
    heap.chunk("asyncio.locks.Lock", locks, named={"_loop": [loop] * len(locks)})
    heap.chunk(
        "shop.Shop", [0x1000], named={"handlers": listed[1:2], "locks": listed[2:]}
    )

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} TimerHandle (")
    assert found.cut == (
        "Shop.handlers -> list and _UnixSelectorEventLoop._scheduled -> list"
    )


def test_the_field_of_an_event_loop_that_many_variables_have_is_a_place(
    tmp_path: Path,
) -> None:
    """Each timer has a copy of the context in which it was made, with a job."""
    timers, contexts, nodes, jobs = (
        [at + 64 * row for row in range(_MANY)]
        for at in (0x100000, 0x200000, 0x300000, 0x400000)
    )
    loop, listed = 0x500000, 0x500040
    heap = HrpyHeap()
    frames = [
        {
            "function": f"run_{at:c}", "file": "/lib/python3.10/base_events.py",
            "line": 1871, "locals": [["self", loop]],
        }
        for at in range(ord("a"), ord("b") + MAX_PLACES)
    ]  # fmt: skip
    heap.roots["threads"] = [{"ident": 1, "name": "MainThread", "frames": frames}]
    heap.chunk(
        "asyncio.unix_events._UnixSelectorEventLoop", [loop],
        named={"_scheduled": [listed]},
    )  # fmt: skip
    heap.chunk("list", [listed], rest=[timers], lengths=[_MANY], flags=Flag.ELEMENTS)
    named: dict[str, Sequence[int]] = {
        "_loop": [loop] * _MANY, "_context": contexts,
    }  # fmt: skip
    heap.chunk("asyncio.events.TimerHandle", timers, named=named)
    heap.chunk("Context", contexts, named={"node": nodes})
    heap.chunk("hamt_bitmap_node", nodes, named={"current_job": jobs})
    heap.chunk("shop.Job", jobs, size=6000)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} Job (")
    assert "#" not in found.sentence
    assert "(/lib/python3.10/base_events.py:1871)" in found.sentence
    assert found.cut == "_UnixSelectorEventLoop._scheduled -> list"


def test_rows_that_the_entries_of_a_collection_lead_to_are_a_pile(
    tmp_path: Path,
) -> None:
    """What has each of them in the other place is an object of its own."""
    heap = program()
    rows = [heap.node("object", "Array", 600) for _ in range(_MANY)]
    held = [
        heap.node("object", "Promise", 16, [("property", "row", at)]) for at in rows
    ]
    log = holding(heap, "Array", rows)
    heap.edge(1, "property", "log", heap.node("object", "Log", 16, [
        ("property", "rows", log),
    ]))  # fmt: skip
    heap.edge(1, "property", "jobs", heap.node("object", "Jobs", 16, [
        ("property", "all", holding(heap, "Array", held)),
    ]))  # fmt: skip

    (found,) = suspects_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} Array (")
    assert found.cut == "Log.rows -> Array and Jobs.all -> Array"


def test_weak_references_to_what_is_gone_are_told(tmp_path: Path) -> None:
    heap = program()
    live = heap.node("object", "View", 16)
    heap.edge(1, "property", "view", live)
    found = [heap.node("object", "WeakRef", 600) for _ in range(_MANY)]
    for one in found[:40]:
        heap.edge(one, "weak", "target", live)
    heap.edge(1, "property", "hub", heap.node("object", "Hub", 16, [
        ("property", "views", holding(heap, "Array", found)),
    ]))  # fmt: skip

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} WeakRef (")
    assert suspect.signs == (
        "The objects that 90% of these weak references had are gone.",
    )
