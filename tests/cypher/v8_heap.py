"""A small known heap of V8: variables of a script, detached nodes, closures."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.v8 import program

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph


def v8_heap() -> HeapGraph:
    """The example, with a detached tree, and closures with contexts of their own."""
    heap = program()
    text = heap.node("native", "#text", 40, detachedness=2)
    heap.edge(19, "internal", "1", text)
    heap.edge(19, "internal", "2", heap.node("native", "<b>", 30))
    heap.edge(6, "context", "root", 19)
    code = heap.node("code", "onTick", 56, [("internal", "script_or_debug_info", 15)])
    for number in range(3):
        own = heap.node("object", "system / Context", 24, [
            ("internal", "previous", 6), ("context", "data", 9),
        ])  # fmt: skip
        closure = heap.node("closure", "onTick", 64, [
            ("internal", "context", own), ("internal", "shared", code),
        ])  # fmt: skip
        heap.place(closure, 7, 20, 4)
        heap.edge(22, "element", 2 + number, closure)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "heap"
        path.write_bytes(heap.bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(), silent)
