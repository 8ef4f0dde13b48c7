"""Writes a `Heap` of `JavaScript` as a snapshot of V8."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import javascript, model
from tests.dumps.v8 import V8Heap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.answers.model import Heap
    from tests.dumps.v8 import Edge

_LISTS = {
    model.RUNTIME: "(Strong roots)",
    model.HANDLE: "(Global handles)",
    model.LOCAL: "(Stack roots)",
}
_KINDS = {
    "(string)": "string", "Function": "closure", javascript.SHARED: "code",
    javascript.SCRIPT: "code", javascript.ELEMENTS: "array", javascript.TABLE: "array",
    javascript.NATIVE_CONTEXT: "hidden", javascript.DATA: "native",
}  # fmt: skip
"""Of all other types: ``object``."""

_NAMES = {javascript.TABLE: "", "Function": "", javascript.SHARED: ""}


def v8(heap: Heap) -> bytes:
    """Fields, variables and elements by name; module-level variables in contexts."""
    out = V8Heap()
    first = 2 + len(_LISTS)
    out.node("synthetic", "", 0, [("element", 1, 1)])
    lists = [("element", 1 + row, 2 + row) for row in range(len(_LISTS))]
    out.node("synthetic", "(GC roots)", 0, lists)
    for of_list, name in _LISTS.items():
        held = [first + root.object for root in heap.roots if root.kind == of_list]
        numbered = [("internal", str(1 + row), to) for row, to in enumerate(held)]
        out.node("synthetic", name, 0, numbered)
    for row, (kind, size) in enumerate(zip(heap.kinds, heap.sizes, strict=True)):
        name = heap.types[kind]
        shown = _NAMES.get(name, name)
        if name == "(string)":
            shown = f"text {row}"
        elif name == javascript.SCRIPT:
            shown = heap.values[row]
        edges: list[Edge] = [
            (*edge, first + to)
            for edge, to in zip(_labels(heap, row), heap.held[row], strict=False)
            if to >= 0
        ]
        out.node(_KINDS.get(name, "object"), shown, size, edges)
    return out.bytes()


def _labels(heap: Heap, row: int) -> Iterator[tuple[str, str | int]]:
    """Type and name of each reference of an object, without end."""
    name = heap.types[heap.kinds[row]]
    internal = javascript.INTERNAL_FIELDS.get(name, ())
    yield from (("internal", each) for each in internal)
    if name != javascript.SCRIPT:
        kind = "context" if name == javascript.CONTEXT else "property"
        names = heap.values.get(row, heap.fields.get(name, ()))
        yield from ((kind, each) for each in names)
    numbered = "internal" if _KINDS.get(name) == "array" else "element"
    number = 0
    while True:
        yield numbered, str(number) if numbered == "internal" else number
        number += 1
