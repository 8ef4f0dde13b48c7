"""What the gate finds in snapshots of V8, and what it leaves alone."""

from __future__ import annotations

import pytest

from ingest.gate.findings import judge
from ingest.gate.rules import Rules
from tests.bench.gate import compared
from tests.dumps.v8 import V8Heap


@pytest.mark.parametrize(
    ("root", "is_found"), [("DevTools console", False), ("Cache", True)]
)
def test_what_a_debugger_keeps_of_what_is_printed_does_not_grow(
    root: str, *, is_found: bool
) -> None:
    """It has come with the first dump, and keeps the last thousand lines."""
    dumps = []
    for step in (1, 2, 3):
        heap = V8Heap()
        heap.node("synthetic", "", 0, [("element", 1, 1), ("shortcut", "1", 3)])
        heap.node("synthetic", "(GC roots)", 0, [("element", 1, 2)])
        heap.node("synthetic", "(Global handles)", 0)
        heap.node("object", "global", 40)
        for at in range(100 * step):
            line = heap.node("string", f"line {at}", 400)
            heap.edge(2, "internal", f"{at + 1} / {root}", line)
        dumps.append(compared(heap.bytes(), step))

    assert bool(judge(dumps, Rules(suspects=False)).findings) is is_found
