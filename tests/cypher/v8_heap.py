"""A small known heap of V8: what queries about JavaScript look for."""

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
    from tests.dumps.v8 import Edge, V8Heap

GLOBAL, NATIVE_CONTEXT, MODULE, SESSION, DIV, ARRAY, SCRIPT = 4, 5, 6, 9, 19, 22, 15
"""Nodes of the example."""


def v8_heap() -> HeapGraph:
    """The example, with a detached tree, and closures with contexts of their own."""
    heap = program()
    text = heap.node("native", "#text", 40, detachedness=2)
    heap.edge(DIV, "internal", "1", text)
    heap.edge(DIV, "internal", "2", heap.node("native", "<b>", 30))
    heap.edge(MODULE, "context", "root", DIV)
    _more_detached(heap)
    on_tick = _Function(heap, "onTick", 20)
    for number in range(3):
        heap.edge(ARRAY, "element", 2 + number, on_tick.closure())
    heap.edge(GLOBAL, "property", "isArray", heap.node("closure", "isArray", 56, [
        ("internal", "context", NATIVE_CONTEXT),
    ]))  # fmt: skip
    _listeners(heap, on_tick)
    _timers(heap)
    _promises(heap)
    _maps(heap)
    _buffers(heap)
    _strings(heap)
    _fibers(heap)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "heap"
        path.write_bytes(heap.bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(), silent)


class _Function:
    """One function of the script, whose closures have contexts of their own."""

    def __init__(self, heap: V8Heap, name: str, line: int) -> None:
        self._heap, self._name, self._line = heap, name, line
        self._code = heap.node("code", name, 56, [
            ("internal", "script_or_debug_info", SCRIPT),
        ])  # fmt: skip

    def closure(self, *edges: Edge, own_bytes: int = 0) -> int:
        """A closure, with something of that size that only its context has."""
        heap = self._heap
        context: list[Edge] = [
            ("internal", "previous", MODULE), ("context", "data", SESSION),
        ]  # fmt: skip
        if own_bytes:
            own = heap.node("object", "Own", own_bytes)
            context.append(("context", "own", own))
        scope = heap.node("object", "system / Context", 24, context)
        closure = heap.node("closure", self._name, 64, [
            ("internal", "context", scope), ("internal", "shared", self._code), *edges,
        ])  # fmt: skip
        heap.place(closure, 7, self._line, 4)
        return closure


def _more_detached(heap: V8Heap) -> None:
    """An array of a variable has two trees, and what is no node of a page."""
    trees = [
        heap.node("native", '<div class="row">', 72, [
            ("element", 1, heap.node("native", "<i>", 50, detachedness=2)),
        ], detachedness=2)
        for _ in range(2)
    ]  # fmt: skip
    trees.append(heap.node("native", "Node / BindingData", 500, detachedness=2))
    rows = heap.node("object", "Array", 16, [
        ("element", at, tree) for at, tree in enumerate(trees)
    ])  # fmt: skip
    heap.edge(MODULE, "context", "rows", rows)


def _listeners(heap: V8Heap, on_tick: _Function) -> None:
    """Emitters of Node.js, an EventTarget of it, and a target of a page."""
    alone, wrapped = _Function(heap, "alone", 30), _Function(heap, "onEnd", 31)
    for count in (3, 2):
        several = heap.node("object", "Array", 16, [
            ("element", at, on_tick.closure(own_bytes=40 + at)) for at in range(count)
        ])  # fmt: skip
        once = heap.node("closure", "bound onceWrapper", 56, [
            ("property", "listener", wrapped.closure(own_bytes=8)),
            ("internal", "context", NATIVE_CONTEXT),
        ])  # fmt: skip
        events = heap.node("object", "Object", 56, [
            ("property", "tick", several), ("property", "end", once),
            ("property", "single", alone.closure()), ("property", "other", SESSION),
            ("property", "__proto__", on_tick.closure()),
        ])  # fmt: skip
        heap.edge(GLOBAL, "property", f"bus{count}", heap.node(
            "object", "EventEmitter", 104, [("property", "_events", events)],
        ))  # fmt: skip
    one = alone.closure(own_bytes=300)
    heap.edge(GLOBAL, "property", "target", heap.node("object", "Listener", 64, [
        ("property", "callback", one), ("property", "listener", one),
        ("property", "next", SESSION),
    ]))  # fmt: skip
    heap.edge(GLOBAL, "element", 7, heap.node("native", "V8EventListener", 40, [
        ("element", 1, wrapped.closure(own_bytes=100)), ("element", 2, SESSION),
    ]))  # fmt: skip


def _timers(heap: V8Heap) -> None:
    later, often = _Function(heap, "later", 40), _Function(heap, "often", 41)
    timers = [
        heap.node("object", "Timeout", 120, [
            ("property", "_onTimeout", later.closure(own_bytes=10 * at)),
            ("property", "_timerArgs", later.closure()),
        ])
        for at in range(3)
    ]  # fmt: skip
    timers.append(heap.node("object", "Immediate", 90, [
        ("property", "_onImmediate", often.closure()),
    ]))  # fmt: skip
    timers.append(heap.node("object", "Timeout", 120, [
        ("property", "_onTimeout", SESSION),
    ]))  # fmt: skip
    wrapper = heap.node("native", "V8Function", 40, [("element", 1, often.closure())])
    action = heap.node("native", "ScheduledAction", 40, [("element", 2, wrapper)])
    timers.append(heap.node("native", "DOMTimer", 80, [("element", 1, action)]))
    for at, timer in enumerate(timers):
        heap.edge(GLOBAL, "property", f"timer{at}", timer)


def _promises(heap: V8Heap) -> None:
    """Two reactions of one promise, an async function that waits, and what is done."""
    then, work = _Function(heap, "then", 50), _Function(heap, "work", 51)
    last = heap.node("hidden", "system / PromiseReaction", 48, [
        ("hidden", 1, then.closure(own_bytes=20)),
    ])  # fmt: skip
    first = heap.node("hidden", "system / PromiseReaction", 48, [
        ("hidden", 1, last), ("hidden", 2, then.closure(own_bytes=30)),
        ("hidden", 3, heap.node("closure", "isArray", 56, [
            ("internal", "context", NATIVE_CONTEXT),
        ])),
    ])  # fmt: skip
    heap.edge(GLOBAL, "property", "waits", heap.node("object", "Promise", 48, [
        ("internal", "reactions_or_result", first),
    ]))  # fmt: skip
    heap.edge(GLOBAL, "property", "done", heap.node("object", "Promise", 48, [
        ("internal", "reactions_or_result", SESSION),
    ]))  # fmt: skip
    generator = heap.node("object", "Generator", 96, [
        ("internal", "function", work.closure()), ("internal", "context", MODULE),
    ])  # fmt: skip
    context = heap.node("object", "system / Context", 24, [
        ("internal", "extension", generator), ("internal", "previous", NATIVE_CONTEXT),
    ])  # fmt: skip
    handlers = [
        heap.node("closure", "", 64, [("internal", "context", context)])
        for _ in range(2)
    ]
    awaited = heap.node("hidden", "system / PromiseReaction", 48, [
        ("hidden", at, handler) for at, handler in enumerate(handlers)
    ])  # fmt: skip
    heap.edge(GLOBAL, "property", "awaited", heap.node("object", "Promise", 48, [
        ("internal", "reactions_or_result", awaited),
    ]))  # fmt: skip


def _maps(heap: V8Heap) -> None:
    table = heap.node("array", "", 96, [
        ("internal", "5", SESSION), ("internal", "map", ARRAY),
    ])  # fmt: skip
    found = heap.node("object", "Set", 32, [("internal", "table", table)])
    heap.edge(ARRAY, "element", 9, found)


def _buffers(heap: V8Heap) -> None:
    """A buffer with two views, one that nothing views, and one without data."""
    data = [heap.node("native", "system / JSArrayBufferData", n) for n in (4096, 900)]
    viewed = heap.node("object", "ArrayBuffer", 88, [
        ("internal", "backing_store", data[0]),
    ])  # fmt: skip
    for name in ("Uint8Array", "Buffer"):
        view = heap.node("object", name, 96, [("internal", "buffer", viewed)])
        heap.edge(GLOBAL, "property", f"view of {name}", view)
    shared = heap.node("object", "SharedArrayBuffer", 88, [
        ("internal", "backing_store", data[1]),
    ])  # fmt: skip
    only = heap.node("object", "Buffer", 96, [("internal", "buffer", shared)])
    heap.edge(SESSION, "property", "body", only)
    heap.edge(GLOBAL, "property", "empty", heap.node("object", "ArrayBuffer", 88))


def _strings(heap: V8Heap) -> None:
    """Slices of two strings, of which one is referred to by others; and a chain."""
    bodies = [heap.node("string", letter * 300, 320) for letter in "ab"]
    for at, body in enumerate((*bodies, bodies[0])):
        cut = heap.node("sliced string", "cut", 32, [("internal", "parent", body)])
        heap.edge(ARRAY, "element", 20 + at, cut)
    heap.edge(GLOBAL, "property", "body", bodies[1])
    chain = heap.node("string", "first", 24)
    for at in range(3):
        chain = heap.node("concatenated string", "", 32, [
            ("internal", "first", chain),
            ("internal", "second", heap.node("string", f"part {at}", 24)),
        ])  # fmt: skip
    heap.edge(MODULE, "context", "page", chain)


def _fibers(heap: V8Heap) -> None:
    """A component with an element, twice, and once without what is above it."""
    row = _Function(heap, "Row", 60).closure()
    name = heap.node("string", "li", 24)
    host = heap.node("object", "FiberNode", 160)
    heap.edge(GLOBAL, "property", "host", host)
    for number in range(3):
        fiber = heap.node("object", "FiberNode", 160, [("property", "type", row)])
        if number:
            heap.edge(fiber, "property", "return", host)
        heap.edge(fiber, "property", "child", heap.node("object", "FiberNode", 160, [
            ("property", "type", name), ("property", "return", fiber),
        ]))  # fmt: skip
        heap.edge(GLOBAL, "property", f"fiber{number}", fiber)
