"""The line of source of a finding, where a dump says it."""

from __future__ import annotations

import pytest

from ingest.compare.dumps import of_heap
from ingest.gate.findings import SourcePlace, judge
from ingest.gate.places import place_of, with_examples
from ingest.gate.rules import Rules
from ingest.readers.hrpy.chunks import Flag
from tests.bench.gate import tables_of
from tests.dumps.hrpy import HrpyHeap
from tests.dumps.ruby import ARRAY, OBJECT, RubyHeap
from tests.dumps.v8 import V8Heap


def sources(dumps: list[bytes]) -> list[SourcePlace | None]:
    """The places of what grew in some dumps."""
    tables = [tables_of(dump, path_rows=True) for dump in dumps]
    compared = [of_heap(str(at), one, None) for at, one in enumerate(tables)]
    found = judge(compared, Rules()).findings
    return [one.source for one in with_examples(found, tables[-1])[0]]


@pytest.mark.parametrize(
    ("text", "file", "line", "column"),
    [
        ("onTick store.js:12:3 (/srv/app)", "/srv/app/store.js", 12, 3),
        ("get a b store.js:12:3", "store.js", 12, 3),
        ("f x.js:2:1 (file:///srv/my app)", "file:///srv/my app/x.js", 2, 1),
        ("/srv/my app/shop.py:7", "/srv/my app/shop.py", 7, 0),
        ("shop.rb:7 in new", "shop.rb", 7, 0),
        ("block in shop.rb:9", "shop.rb", 9, 0),
    ],
)
def test_places(text: str, file: str, line: int, column: int) -> None:
    assert place_of(text) == SourcePlace(file, line, column)


@pytest.mark.parametrize(
    "text",
    [
        "emit node:events:5:1", "Shop.Order.Add()", "", "<frozen os>:7", "new Map",
        "/x/site-packages/a/b.py:7", "/usr/lib/python3.12/json/decoder.py:3",
        "f a.js:1:1 (/srv/node_modules/a)", "/usr/lib/ruby/3.1.0/set.rb:3 in add",
    ],
)  # fmt: skip
def test_no_places_of_the_program(text: str) -> None:
    assert place_of(text) is None


def script(items: int, *, is_module: bool, tracks: bool = False) -> bytes:
    """A program whose items are in a variable of a module or a function."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1), ("shortcut", "1", 2)])
    heap.node("synthetic", "(GC roots)", 0)
    heap.node("object", "global", 40, [
        ("property", "go", 3), ("internal", "native_context", 4),
    ])  # fmt: skip
    heap.node(
        "closure", "go", 64, [("internal", "context", 5), ("internal", "shared", 8)]
    )
    heap.node("hidden", "system / NativeContext", 100)
    heap.node("object", "system / Context", 32, [
        ("context", "later", 6), ("internal", "previous", 4 if is_module else 7),
    ])  # fmt: skip
    heap.node("object", "Array", 16)
    heap.node("object", "system / Context", 32, [("internal", "previous", 4)])
    heap.node("code", "go", 56, [("internal", "script_or_debug_info", 9)])
    heap.node("code", "/srv/app/store.js", 144)
    heap.place(3, 7, 11, 2)
    for at in range(items):
        item = heap.node("object", "Item", 400, call=3 if tracks else 0)
        heap.edge(6, "element", at, item)
    if tracks:
        heap.function("(root)", "", 0, 0)
        heap.function("emit", "node:events", 5, 1)
        heap.function("add", "/srv/app/add.js", 7, 3)
        heap.calls = [1, 0, 0, 0, [2, 2, 0, 0, [3, 1, items, 400 * items, []]]]
    return heap.bytes()


def test_the_module_of_a_variable_has_no_line() -> None:
    (place,) = sources([script(20 * n, is_module=True) for n in (1, 2, 3)])

    assert place == SourcePlace("/srv/app/store.js", 0)


def test_the_function_of_a_scope() -> None:
    (place,) = sources([script(20 * n, is_module=False) for n in (1, 2, 3)])

    assert place == SourcePlace("/srv/app/store.js", 12, 3)


def test_where_objects_were_made_comes_first() -> None:
    dumps = [script(20 * n, is_module=True, tracks=True) for n in (1, 2, 3)]

    assert sources(dumps) == [SourcePlace("/srv/app/add.js", 7, 3)]


def test_lines_of_ruby() -> None:
    dumps = []
    for count in (20, 40, 60):
        heap = RubyHeap().root("vm", OBJECT, 0x2000, 0x4000).core()
        heap.module(0x2000, "Order")
        orders = range(0x8000, 0x8000 + 0x40 * count, 0x40)
        heap.obj(0x4000, "ARRAY", ARRAY, *orders, length=count)
        for ident in orders:
            heap.obj(ident, "OBJECT", 0x2000, file="shop.rb", line=7, memsize=400)
        dumps.append(heap.bytes())

    assert sources(dumps) == [SourcePlace("shop.rb", 7)]


def test_growth_in_each_of_many_objects_is_told_with_their_field() -> None:
    tables = []
    for step in range(3):
        heap, rooms, lists, held = HrpyHeap().variable("ROOMS", 0x9000), [], [], []
        for at in range(10):
            rooms.append(0x50000 + 64 * at)
            lists.append(0x20000 + 64 * at)
            held.append([0x100000 + 6400 * at + 64 * n for n in range(9 + 9 * step)])
        heap.chunk("list", [0x9000], rest=[rooms], lengths=[10], flags=Flag.ELEMENTS)
        heap.chunk("shop.Message", [one for some in held for one in some], size=600)
        lengths = list(map(len, held))
        heap.chunk("list", lists, rest=held, lengths=lengths, flags=Flag.ELEMENTS)
        heap.chunk("shop.Room", rooms, size=80, named={"history": lists})
        tables.append(tables_of(heap.bytes(), path_rows=True))
    compared = [of_heap(str(at), one, None) for at, one in enumerate(tables)]

    (found,), _ = with_examples(judge(compared, Rules()).findings, tables[-1])

    assert found.sentence == "270 Message are held in a list by Room.history."
