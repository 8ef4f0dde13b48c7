"""A small writer of V8 heap snapshots: tests write the dumps that they read."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

NODE_FIELDS = [
    "type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness",
]  # fmt: skip
NODE_TYPES = [
    "hidden", "array", "string", "object", "code", "closure", "regexp", "number",
    "native", "synthetic", "concatenated string", "sliced string", "symbol", "bigint",
    "object shape", "wasm object",
]  # fmt: skip
EDGE_TYPES = [
    "context", "element", "property", "internal", "hidden", "shortcut", "weak",
]  # fmt: skip

Edge = tuple[str, str | int, int]
"""Type, name or index, and the number of the node that it leads to."""


@dataclass
class V8Heap:
    """One snapshot; nodes are numbered from 0 as they are added."""

    node_fields: list[str] = field(default_factory=lambda: list(NODE_FIELDS))
    node_types: list[str] = field(default_factory=lambda: list(NODE_TYPES))
    edge_types: list[str] = field(default_factory=lambda: list(EDGE_TYPES))
    location_fields: list[str] = field(
        default_factory=lambda: ["object_index", "script_id", "line", "column"]
    )
    to_type: str = "node"
    extra_native_bytes: int = 0
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[list[Edge]] = field(default_factory=list)
    locations: list[tuple[int, ...]] = field(default_factory=list)
    functions: list[tuple[int, ...]] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)
    strings: dict[str, int] = field(default_factory=lambda: {"<dummy>": 0})

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def node(
        self,
        kind: str,
        name: str,
        size: int = 0,
        edges: Iterable[Edge] = (),
        *,
        number: int | None = None,
        detachedness: int = 0,
        call: int = 0,
    ) -> int:
        """Add a node and tell its number; ids are odd, as those of V8."""
        self.nodes.append(
            {
                "type": self.node_types.index(kind),
                "name": self.string(name),
                "id": 2 * len(self.nodes) + 1 if number is None else number,
                "self_size": size,
                "trace_node_id": call,
                "detachedness": detachedness,
            }
        )
        self.edges.append(list(edges))
        return len(self.nodes) - 1

    def promise(self, waits: int, size: int = 40) -> int:
        """Add a promise that is not done, for which an object waits."""
        reaction = self.node("hidden", "system / PromiseReaction", 24, [
            ("internal", "fulfill_handler", waits),
        ])  # fmt: skip
        return self.node("object", "Promise", size, [
            ("internal", "reactions_or_result", reaction),
        ])  # fmt: skip

    def edge(self, source: int, kind: str, name: str | int, to: int) -> None:
        self.edges[source].append((kind, name, to))

    def place(self, node: int, script: int, line: int, column: int) -> None:
        """Say where a function is in its script, counted from 0."""
        self.locations.append((node, script, line, column))

    def function(self, name: str, script: str, line: int, column: int) -> int:
        """Add a function that allocates; its place is counted from 1."""
        texts = self.string(name), self.string(script)
        self.functions.append((len(self.functions), *texts, 7, line, column))
        return len(self.functions) - 1

    def document(self) -> dict[str, Any]:
        """The snapshot as JSON has it."""
        nodes, edges = [], []
        stride = len(self.node_fields)
        for node, own in zip(self.nodes, self.edges, strict=True):
            known = node | {"edge_count": len(own)}
            nodes += [known[name] for name in self.node_fields]
            for kind, name, to in own:
                shown = self.string(name) if isinstance(name, str) else name
                edges += [self.edge_types.index(kind), shown, to * stride]
        rest = ["number"] * (stride - 2)
        meta = {
            "node_fields": self.node_fields,
            "node_types": [self.node_types, "string", *rest],
            "edge_fields": ["type", "name_or_index", "to_node"],
            "edge_types": [self.edge_types, "string_or_number", self.to_type],
            "location_fields": self.location_fields,
            "trace_function_info_fields": [
                "function_id", "name", "script_name", "script_id", "line", "column",
            ],
            "trace_node_fields": [
                "id", "function_info_index", "count", "size", "children",
            ],
        }  # fmt: skip
        snapshot = {
            "meta": meta,
            "node_count": len(self.nodes),
            "edge_count": len(edges) // 3,
            "trace_function_count": len(self.functions),
        }
        if self.extra_native_bytes:
            snapshot["extra_native_bytes"] = self.extra_native_bytes
        locations = [
            number
            for node, *others in self.locations
            for number in (node * stride, *others)
        ]
        return {
            "snapshot": snapshot,
            "nodes": nodes,
            "edges": edges,
            "trace_function_infos": [n for one in self.functions for n in one],
            "trace_tree": self.calls,
            "samples": [],
            "locations": locations,
            "strings": list(self.strings),
        }

    def bytes(self) -> bytes:
        """The file, with line ends where V8 writes them."""
        return written(self.document())


def written(document: dict[str, Any]) -> bytes:
    """A document as V8 writes it: rows of numbers on lines of their own."""
    parts = []
    for name, value in document.items():
        if name in ("nodes", "edges", "strings"):
            inner = "\n,".join(json.dumps(one) for one in value)
            parts.append(f'"{name}":[{inner}]')
        else:
            parts.append(f'"{name}":{json.dumps(value, separators=(",", ":"))}')
    return ("{" + ",\n".join(parts) + "}").encode()


def program() -> V8Heap:
    """A little of all that a real snapshot has.

    Nodes: 0 the root, 1 GC roots, 2 handles, 3 the stack, 4 the global object, 5 the
    native context, 6 the context of app/store.js with the map of sessions, 7 that map,
    8 its table, 9 and 10 sessions, 11 and 12 their names, 13 a function of the script,
    14 what describes it, 15 the script, 16 a WeakMap, 17 its table, 18 a value in it,
    19 a detached <div>, 20 a plain object like 21, 22 an array with its elements 23,
    24 what only a weak reference has, 25 what only the stack has.
    """
    heap = V8Heap(extra_native_bytes=4096)
    heap.node("synthetic", "", 0, [
        ("element", 1, 1), ("shortcut", "1", 4), ("weak", "2", 24),
    ])  # fmt: skip
    heap.node("synthetic", "(GC roots)", 0, [("element", 1, 2), ("element", 2, 3)])
    heap.node("synthetic", "(Global handles)", 0, [
        ("internal", "1", 9), ("internal", "2 / DevTools console", 19),
    ])  # fmt: skip
    heap.node("synthetic", "(Stack roots)", 0, [("internal", "1", 25)])
    heap.node("object", "global", 40, [
        ("property", "store", 13), ("internal", "native_context", 5),
        ("property", "weak", 16), ("property", "options", 20),
        ("property", "items", 22),
    ])  # fmt: skip
    heap.node("hidden", "system / NativeContext", 100)
    heap.node("object", "system / Context", 32, [
        ("context", "sessions", 7), ("internal", "previous", 5), ("hidden", 3, 4),
    ])  # fmt: skip
    heap.node("object", "Map", 32, [("internal", "table", 8)])
    heap.node("array", "", 200, [("internal", "3", 9), ("internal", "4", 10)])
    heap.node("object", "Session", 48, [("property", "name", 11), ("weak", "x", 24)])
    heap.node("object", "Session", 48, [("property", "name", 12)])
    heap.node("string", "Ärger \U0001f600", 24)
    heap.node("string", "x" * 1024, 2000)
    heap.node("closure", "open", 64, [
        ("internal", "context", 6), ("internal", "shared", 14),
        ("shortcut", "bound", 7), ("property", "self", 13),
    ])  # fmt: skip
    heap.node("code", "open", 56, [("internal", "script_or_debug_info", 15)])
    heap.node("code", "/srv/app/store.js", 144)
    pair = (
        " / part of key (Session @19) -> value (Note @37) pair in WeakMap (table @35)"
    )
    heap.node("object", "WeakMap", 32, [("internal", "table", 17)])
    heap.node("array", "", 80, [
        ("weak", "3", 9), ("internal", "4" + pair, 18),
    ])  # fmt: skip
    heap.edge(9, "internal", "2" + pair, 18)
    heap.node("object", "Note", 24)
    heap.node("native", '<div id="a" class="b">', 72, detachedness=2)
    heap.node("object", "Object", 28, [("property", "id", 11), ("property", "to", 21)])
    heap.node("object", "Object", 28, [("property", "id", 11), ("property", "to", 9)])
    heap.node("object", "Array", 16, [
        ("element", 0, 9), ("element", 1, 10), ("internal", "elements", 23),
    ])  # fmt: skip
    heap.node("array", "(object elements)", 32, [("hidden", 2, 9)])
    heap.node("object", "Late", 12)
    heap.node("object", "Local", 12)
    heap.place(13, 7, 11, 2)
    return heap


def example() -> bytes:
    """A snapshot with all that it can have."""
    return program().bytes()


def with_many_properties() -> V8Heap:
    """A snapshot in which an object has its properties in a table, too."""
    heap = program()
    held = heap.node("object", "Order", 24)
    table = heap.node("array", "(object properties)", 64, [("internal", "7", held)])
    shop = heap.node("object", "Shop", 40, [
        ("property", "order", held), ("internal", "properties", table),
    ])  # fmt: skip
    heap.edge(1, "property", "shop", shop)
    return heap


def julia() -> V8Heap:
    """A snapshot as Julia writes it: ids are addresses, and edges are never weak."""
    heap = V8Heap(
        node_fields=NODE_FIELDS[:5],
        node_types=["synthetic", "jl_task_t", "jl_array_t", "object", "String"],
        edge_types=["internal", "property", "element", "hidden"],
        location_fields=[],
        to_type="from_node",
    )
    heap.node("synthetic", "", 0, [("internal", "main", 1)], number=0)
    heap.node("jl_task_t", "Task", 376, [("hidden", 3, 2)], number=0x7F0000001000)
    heap.node("jl_array_t", "Vector{Any}", 40, [("element", 1, 3)], number=0x7F01)
    heap.node("object", "Main.Order", 16, [("property", "name", 4)], number=0x7F02)
    heap.node("String", "first", 13, number=0x7F03)
    return heap


def bun(sessions: int = 3) -> V8Heap:
    """A snapshot as Bun writes it: a map has no edges to the sessions in it.

    Each session and its items refer to one another.
    """
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 0, 1), ("shortcut", "", 2)])
    heap.node("synthetic", "(GC roots)", 0, [("internal", "", 2), ("internal", "", 3)])
    heap.node("object", "GlobalObject", 9908, [("property", "process", 3)])
    heap.node("object", "system / JSModuleEnvironment", 64, [("context", "open", 4)])
    heap.node("object", "Map", 32, [("internal", "", 5)])
    heap.node("hidden", "Cell Butterfly", 163904)
    for _ in range(sessions):
        session = heap.node("object", "Session", 32)
        for _ in range(2):
            item = heap.node("object", "Item", 16, [("property", "of", session)])
            heap.edge(session, "property", "items", item)
    return heap


def tracked() -> V8Heap:
    """A heap whose objects 2 to 5 were allocated by calls 3, 4, 9 and 1 of its tree."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", i, i) for i in range(1, 7)])
    heap.node("object", "Before", 16)
    for call in (3, 4, 9, 1):
        heap.node("object", "Session", 16, call=call)
    heap.node("object", "Unknown", 16, call=77)
    heap.function("(root)", "", 0, 0)
    heap.function("serve", "/srv/app.js", 7, 3)
    heap.function("", "/srv/app.js", 9, 1)
    heap.calls = [1, 0, 0, 0, [
        2, 1, 0, 0, [3, 2, 1, 16, [9, 8, 1, 16, []]],
        4, 1, 1, 16, [],
    ]]  # fmt: skip
    return heap


def large_snapshot(objects: int, references: int, seed: int = 1) -> bytes:
    """So many nodes: a wide tree and more references, texts in a quarter."""
    rng = random.Random(seed)
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    for row in range(1, objects):
        if row % 4 or row < 4:
            heap.node("object", f"Thing{row % 300}", rng.randrange(16, 64, 8))
        else:
            heap.node("string", f"value {rng.randrange(objects)}", 24)
    for row in range(2, objects):
        heap.edge(max(row // 3, 1) // 4 * 4 + 1, "property", f"field{row % 40}", row)
    for _ in range(references - objects + 1):
        heap.edge(rng.randrange(1, objects), "element", 1, rng.randrange(1, objects))
    return heap.bytes()
