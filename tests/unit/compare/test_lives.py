"""Which objects were born and which died, where dumps record identity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.dumps.dartheap import DartHeap, program
from tests.dumps.v8 import V8Heap
from tests.unit.readers.test_nettrace_history import two_dumps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


def test_a_trace_tells_survivors_from_newborns(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    """Of 0x110 and 0x130 a collection moves one, and both dumps have two objects."""
    path = tmp_path / "day.nettrace"
    path.write_bytes(two_dumps().file())

    code, out, _ = ingest("compare", str(path), "--json")

    assert code == 0
    lives = json.loads(out)["lives"]
    assert lives["first"].endswith("part1")
    (of_type,) = lives["types"]
    assert of_type["key"] == "App.Thing"
    assert of_type["survived"] == [1, 16]
    assert of_type["died"][0] + of_type["survived"][0] == lives["known"][0]
    assert of_type["born"][0] + of_type["survived"][0] == lives["known"][1]


def _snapshot(path: Path, change: Callable[[DartHeap], None]) -> str:
    heap = program()
    change(heap)
    path.write_bytes(heap.bytes())
    return str(path)


def test_objects_with_hash_codes_are_told_apart(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    def numbered(heap: DartHeap) -> None:
        heap.hashes = [i + 100 for i in range(14)]

    def other(heap: DartHeap) -> None:
        heap.hashes = [78 if i == 6 else i + 100 for i in range(14)]

    before = _snapshot(tmp_path / "a.dartheap", numbered)
    same = _snapshot(tmp_path / "b.dartheap", numbered)
    after = _snapshot(tmp_path / "c.dartheap", other)

    lives = json.loads(ingest("compare", before, same, "--json")[1])["lives"]
    assert all(one["born"] == one["died"] == [0, 0] for one in lives["types"])
    code, out, _ = ingest("compare", before, after)

    assert code == 0
    assert "Born and died, by type" in out
    lives = json.loads(ingest("compare", before, after, "--json")[1])["lives"]
    assert sum(one["born"][0] for one in lives["types"]) == 1
    assert sum(one["died"][0] for one in lives["paths"]) == 1


def _v8(
    path: Path, orders: int, first_id: int, *, run: str = "", last: str = ""
) -> str:
    """A snapshot with so many orders, numbered after so many other objects.

    Args:
        path: Where to.
        orders: How many.
        first_id: Of the parts.
        run: What the program's texts have of the process.
        last: What the name of the last part begins with.
    """
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 8)
    for number in range(20):
        name = f"{last if number == 19 else ''}Part{number}"
        node = heap.node("object", name, 8, number=first_id + 2 * number)
        heap.edge(1, "property", f"part{number}", node)
        text = f"{run}{number}"
        node = heap.node("string", text, 16, number=first_id + 1000 + 2 * number)
        heap.edge(1, "property", f"text{number}", node)
    for number in range(orders):
        node = heap.node("object", "Order", 24, number=9001 + 2 * number)
        heap.edge(1, "element", number, node)
    path.write_bytes(heap.bytes())
    return str(path)


def test_objects_of_one_process_of_v8_have_their_ids(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    before = _v8(tmp_path / "a.heapsnapshot", 3, 101)
    after = _v8(tmp_path / "b.heapsnapshot", 5, 101)
    elsewhere = _v8(tmp_path / "c.heapsnapshot", 5, 103)

    lives = json.loads(ingest("compare", before, after, "--json")[1])["lives"]
    (orders,) = [one for one in lives["types"] if one["key"] == "Order"]
    assert orders["survived"] == [3, 72]
    assert orders["born"] == [2, 48]
    assert "numbering" not in ingest("compare", before, after)[1]
    # Its type is another one meanwhile, as that of a node that has been detached.
    changed = _v8(tmp_path / "d.heapsnapshot", 5, 101, last="Late")
    lives = json.loads(ingest("compare", before, changed, "--json")[1])["lives"]
    assert sum(one["born"][0] for one in lives["types"]) == 2
    # In another run of the program types have the same numbers, and texts do not.
    again = _v8(tmp_path / "e.heapsnapshot", 5, 101, run="e")
    assert json.loads(ingest("compare", before, again, "--json")[1])["lives"] is None
    # The same numbers are other objects there: it is another process.
    assert (
        json.loads(ingest("compare", before, elsewhere, "--json")[1])["lives"] is None
    )
    assert "nothing shows that their ids are of one numbering" in " ".join(
        ingest("compare", before, elsewhere)[1].split()
    )


def test_dumps_without_identity_say_nothing(
    ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.gclog").write_text("a 1 A 0\nt 1 T\no 9 1 10\nc A 1\n")

    files = [str(tmp_path / f"{name}.gclog") for name in "ab"]
    assert json.loads(ingest("compare", *files, "--json")[1])["lives"] is None
