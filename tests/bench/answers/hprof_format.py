"""The writer of a `Heap` of Java objects, as HotSpot of JDK 17 dumps it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.bench.answers import model
from tests.dumps.hprof import (
    BOOLEAN,
    BYTE,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    OBJECT,
    SHORT,
    SYSTEM_CLASS,
    THREAD_OBJECT,
    Hprof,
)

if TYPE_CHECKING:
    from tests.bench.answers.model import Heap

_BASE = 0x7_0000_0000
_MIRROR_BYTES = 112
_CODES = {
    "L": OBJECT, "Z": BOOLEAN, "C": CHAR, "F": FLOAT, "D": DOUBLE, "B": BYTE,
    "S": SHORT, "I": INT, "J": LONG,
}  # fmt: skip
_FORMATS = dict(zip("LZCFDBSIJ", "Q?Hfdbhiq", strict=True))
_PRIMITIVES = {
    "boolean": "Z", "char": "C", "float": "F", "double": "D", "byte": "B", "short": "S",
    "int": "I", "long": "J",
}  # fmt: skip
_LOADER = "jdk.internal.loader.ClassLoaders$AppClassLoader"
_OF_THE_JDK = ("java.", "javax.", "jdk.", "sun.")


def binary(name: str) -> str:
    """A type's name in the dump."""
    if not name.endswith("[]"):
        return name.replace(".", "/")
    element = name[:-2]
    if element in _PRIMITIVES:
        return "[" + _PRIMITIVES[element]
    inner = binary(element)
    return "[" + (inner if inner.startswith("[") else f"L{inner};")


def hprof(heap: Heap) -> bytes:
    """Fields with their numbers, statics, threads and what their stacks hold.

    Classes of the JDK are roots. Those of the program are held by the loader of the
    program, which the JDK holds.
    """
    dump = Hprof()
    names = sorted(
        {*heap.classes, *heap.types, "java.lang.Object[]"},
        key=lambda name: (_depth(heap, name), name),
    )
    first = _BASE + _MIRROR_BYTES * len(names)
    ids, at = [], first
    for size in heap.sizes:
        ids.append(at)
        at += size
    ids.append(0)  # null is -1
    loader, holders = at, {}
    for name in names:
        holders[name] = 0 if _is_of_jdk(name) else loader
    statics: dict[str, dict[str, tuple[int, float]]] = {}
    for root in heap.roots:
        if root.kind == model.STATIC:
            there = statics.setdefault(root.owner, {})
            there[root.field] = OBJECT, ids[root.object]
    statics.setdefault("java.lang.ClassLoader", {})["scl"] = OBJECT, loader
    for row, name in enumerate(names):
        above, fields = heap.classes.get(name, ("java.lang.Object", {}))
        declared = {text: _CODES[code] for text, code in fields.items()}
        mirror = _BASE + _MIRROR_BYTES * row
        dump.cls(
            binary(name), mirror, binary(above), declared, statics.get(name),
            loader=holders[name],
        )  # fmt: skip
        if not holders[name]:
            dump.root(SYSTEM_CLASS, mirror)
    dump.segment()
    mirrors = [dump.classes[binary(name)] for name in names if holders[name]]
    _objects(dump, heap, ids)
    classes = dump.obj(
        loader + 96, "java/util/ArrayList", elementData=loader + 120, size=len(mirrors)
    )
    dump.obj(loader, binary(_LOADER), classes=classes)
    dump.array(loader + 120, "[Ljava/lang/Object;", mirrors)
    _roots(dump, heap, ids)
    return dump.bytes()


def _depth(heap: Heap, name: str) -> int:
    """How many classes are above one: those come first."""
    count = 0
    while name:
        name = heap.classes.get(name, ("java.lang.Object", {}))[0]
        count += 1
    return count


def _is_of_jdk(name: str) -> bool:
    return name.startswith(_OF_THE_JDK) or name.removesuffix("[]") in _PRIMITIVES


def _objects(dump: Hprof, heap: Heap, ids: list[int]) -> None:
    """All instances and arrays; those of one type have one layout."""
    plans: list[tuple[bytes, struct.Struct | None, list[int], str]] = []
    for name in heap.types:
        class_id = dump.id(dump.classes[binary(name)])
        plan, at = None, name
        codes: list[str] = []
        if not name.endswith("[]"):
            while at:
                above, fields = heap.classes[at]
                codes += fields.values()
                at = above
            plan = struct.Struct(">" + "".join(_FORMATS[code] for code in codes))
        order, references, numbers = [], 0, 0
        for code in codes:
            if code == "L":
                order.append(references)
                references += 1
            else:
                numbers += 1
                order.append(-numbers)
        plans.append((class_id, plan, order, name.removesuffix("[]")))
    head = struct.Struct(">BQI")
    for row, kind in enumerate(heap.kinds):
        class_id, plan, order, element = plans[kind]
        held, value = heap.held[row], heap.values.get(row)
        if plan is not None:
            numbers_of = value or ()
            body = plan.pack(
                *(
                    ids[held[i]] if i >= 0
                    else numbers_of[-1 - i] if numbers_of else 0
                    for i in order
                )
            )  # fmt: skip
            start = head.pack(0x21, ids[row], 0) + class_id
            dump.sub(start + struct.pack(">I", plan.size) + body)
        elif element in _PRIMITIVES:
            dump.numbers(ids[row], _CODES[_PRIMITIVES[element]], value or b"")
        else:
            start = head.pack(0x22, ids[row], 0) + struct.pack(">I", len(held))
            items = struct.pack(f">{len(held)}Q", *(ids[target] for target in held))
            dump.sub(start + class_id + items)


def _roots(dump: Hprof, heap: Heap, ids: list[int]) -> None:
    """Threads, each with what its stack refers to, and handles of native code."""
    serial = 0
    for root in heap.roots:
        at = ids[root.object]
        if root.kind == model.RUNTIME:
            serial += 1
            dump.root(THREAD_OBJECT, at, serial, 0)
        elif root.kind == model.LOCAL:
            dump.root(3, at, max(1, serial), 0)
        elif root.kind == model.HANDLE:
            dump.root(1, at, 99)
