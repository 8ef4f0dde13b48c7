"""What the gate finds in snapshots of V8, and what it leaves alone."""

from __future__ import annotations

import pytest

from ingest.gate.findings import judge
from ingest.gate.rules import Rules
from tests.bench.gate import compared
from tests.dumps.v8 import V8Heap


@pytest.mark.parametrize(
    ("list_", "root", "is_found"),
    [
        ("(Global handles)", "DevTools console", False),
        ("(Internalized strings)", "", False),
        ("(Global handles)", "Cache", True),
    ],
)
def test_roots_that_say_nothing_of_growth(
    list_: str, root: str, *, is_found: bool
) -> None:
    """A debugger keeps the last lines printed, V8 each name of a property, weakly."""
    dumps = []
    for step in (1, 2, 3):
        heap = V8Heap()
        heap.node("synthetic", "", 0, [("element", 1, 1), ("shortcut", "1", 3)])
        heap.node("synthetic", "(GC roots)", 0, [("element", 1, 2)])
        heap.node("synthetic", list_, 0)
        heap.node("object", "global", 40)
        for at in range(100 * step):
            line = heap.node("string", f"line {at}", 400)
            name = f"{at + 1} / {root}" if root else str(at + 1)
            heap.edge(2, "internal", name, line)
        dumps.append(compared(heap.bytes(), step))

    assert bool(judge(dumps, Rules(suspects=False)).findings) is is_found


def test_what_the_global_object_has_grows_though_a_debugger_refers_to_it() -> None:
    """As what it has evaluated in a page keeps the page's window."""
    dumps = []
    for step in (1, 2, 3):
        heap = V8Heap()
        heap.node("synthetic", "", 0, [("element", 1, 1)])
        heap.node("synthetic", "(GC roots)", 0, [("element", 1, 2)])
        heap.node("synthetic", "(Global handles)", 0)
        heap.edge(
            2, "internal", "1 / DevTools console", heap.node("object", "Tool", 40)
        )
        window = heap.node("object", "Window / https://shop.example", 40)
        heap.edge(3, "property", "global", window)
        rows = [heap.node("object", "Row", 400) for _ in range(100 * step)]
        heap.edge(window, "property", "rows", heap.node("object", "Array", 16, [
            ("element", at, row) for at, row in enumerate(rows)
        ]))  # fmt: skip
        dumps.append(compared(heap.bytes(), step))

    (finding,) = judge(dumps, Rules(suspects=False)).findings

    assert finding.counts == (100, 200, 300)
