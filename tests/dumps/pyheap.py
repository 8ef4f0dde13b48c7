"""A small writer of PyHeap files, of heaps that a test describes and of its own.

It needs nothing but the standard library, so that any program can write its heap.
"""

from __future__ import annotations

import gc
import inspect
import random
import struct
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import FrameType

MAGIC = struct.pack(">Q", 123_000_321)
KNOWN = (
    "list", "tuple", "dict", "set", "str", "bytes", "bytearray", "int", "bool",
    "float", "object", "type", "NoneType",
)  # fmt: skip
CONTAINERS = ("dict", "list", "set", "tuple")


def u32(value: int) -> bytes:
    return struct.pack(">I", value)


def ids(values: Iterable[int]) -> bytes:
    return b"".join(struct.pack(">Q", value) for value in values)


def text(value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")
    return struct.pack(">H", len(data)) + data


def short(value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")
    return struct.pack(">h", len(data)) + data


@dataclass
class PyHeap:
    """One heap.

    Attributes:
        texts: Whether objects have texts.
        types: Names by ids; those of `KNOWN` have ids from 0x10 on.
        frequent: Names of attributes that are written as numbers.
        common: Names of types whose objects have no attributes.
        threads: Each with its name and its frames: file, line, function, locals.
    """

    texts: bool = True
    types: dict[int, str] = field(
        default_factory=lambda: {0x10 + n: name for n, name in enumerate(KNOWN)}
    )
    frequent: list[str] = field(default_factory=list)
    common: list[str] = field(default_factory=list)
    threads: list[tuple[str, list[tuple[str, int, str, list[tuple[str, int]]]]]] = (
        field(default_factory=list)
    )
    objects: list[bytes] = field(default_factory=list)
    version: int = 1

    def type(self, name: str) -> int:
        """The id of the type of that name, which is declared if it is new."""
        for ident, known in self.types.items():
            if known == name:
                return ident
        self.types[0x1000 + 0x10 * len(self.types)] = name
        return self.type(name)

    def obj(
        self,
        ident: int,
        kind: str,
        *others: int,
        size: int = 32,
        content: Sequence[int] = (),
        attributes: Sequence[tuple[str, int]] = (),
        told: str = "",
    ) -> PyHeap:
        """Add an object; ``content`` of a dict has keys and values by turns."""
        made = ids([ident, self.type(kind)]) + u32(size)
        if kind in CONTAINERS:
            made += u32(len(content) // (2 if kind == "dict" else 1)) + ids(content)
        made += u32(len(others)) + ids(others)
        if kind not in self.common:
            made += self._attributes(attributes)
        if self.texts and kind not in CONTAINERS:
            made += text(told)
        self.objects.append(made)
        return self

    def string(self, ident: int, told: str) -> PyHeap:
        return self.obj(ident, "str", told=told, size=49 + len(told))

    def _attributes(self, attributes: Sequence[tuple[str, int]]) -> bytes:
        made = u32(len(attributes))
        for name, value in attributes:
            if name in self.frequent:
                made += struct.pack(">h", -1 - self.frequent.index(name))
            else:
                made += short(name)
            made += ids([value])
        return made

    def head(self) -> bytes:
        """All before the objects."""
        made = [MAGIC, u32(self.version), text("2026-08-13T12:00:00+00:00")]
        made += [ids([int(self.texts)]), u32(len(KNOWN))]
        for ident, name in list(self.types.items())[: len(KNOWN)]:
            made += [text(name), ids([ident])]
        made.append(u32(len(self.threads)))
        for name, frames in self.threads:
            made += [text(name), b"\1\0", u32(len(frames))]
            for file, line, function, local in frames:
                made += [text(file), u32(line), text(function), u32(len(local))]
                made += [text(key) + ids([value]) for key, value in local]
        made += [u32(len(self.frequent)), *map(short, self.frequent)]
        made.append(u32(len(self.common)))
        for name in self.common:
            made += [ids([self.type(name)]), self._attributes([])]
        return b"".join(made)

    def bytes(self, types: dict[int, str] | None = None) -> bytes:
        told = self.types if types is None else types
        made = [self.head(), u32(len(self.objects)), *self.objects, u32(len(told))]
        made += [ids([ident]) + text(name) for ident, name in told.items()]
        return b"".join(made) + MAGIC


def program() -> PyHeap:
    """A module with a cache of sessions, a closure, a thread, garbage, and what C has.

    The first session has its attributes itself, the second one in its ``__dict__``.
    """
    heap = PyHeap(frequent=["__class__", "__dict__", "user"], common=["int", "str"])
    heap.string(0x100, "SESSIONS").string(0x110, "ключ").string(0x120, "user")
    heap.string(0x128, "handler").obj(0x130, "int", told="7", size=28)
    heap.obj(0x138, "int", told=str(1 << 80)).obj(0x140, "float", told="2.5")
    heap.obj(0x148, "bool", told="True").obj(0x150, "NoneType", told="None")
    space = [0x100, 0x300, 0x128, 0x700, 0x120, 0x500]
    heap.obj(0x200, "dict", content=space)
    heap.obj(0x210, "module", 0x200, told="<module 'app.cache' from '/app/cache.py'>")
    heap.obj(0x300, "dict", content=[0x110, 0x400, 0x130, 0x410])
    kind = heap.type("Session")
    heap.obj(kind, "type", told="<class 'app.cache.Session'>", size=1000)
    slots = [("__class__", 0x10), ("__dict__", 0x20), ("__doc__", 0x150)]
    own = [*slots, ("none", 0x150), ("number", 0x130), ("user", 0x120)]
    heap.obj(0x400, "Session", 0x130, 0x120, 0x150, kind, attributes=own, size=48,
        told="<app.cache.Session object at 0x400>")  # fmt: skip
    heap.obj(0x410, "Session", 0x420, kind, attributes=own, told="<app.cache.Session>")
    heap.obj(0x420, "dict", content=[0x120, 0x140, 0x128, 0x148], size=64)
    heap.obj(0x500, "set", content=[0x400, 0x138])
    told = "<function make.<locals>.handler at 0x7f00>"
    heap.obj(0x700, "function", 0x710, 0x200, 0x720, told=told, attributes=slots)
    told = '<code object handler at 0x7f10, file "/app/cache.py", line 9>'
    heap.obj(0x710, "code", told=told).obj(0x720, "tuple", content=[0x730])
    heap.obj(0x730, "cell", 0x600, told="<cell at 0x730>")
    heap.obj(0x600, "list", content=[0x400, 0x410])
    heap.obj(0x800, "list", content=[0x810]).obj(0x810, "list", content=[0x800])
    heap.obj(0x820, "Capsule", 0x830, told="<capsule>").obj(0x830, "bytearray")
    frames = [
        ("/app/cache.py", 42, "work", [("rows", 0x600), ("gone", 0x999)]),
        ("/app/cache.py", 50, "<module>", [("SESSIONS", 0x300), ("mine", 0x810)]),
    ]
    heap.threads.append(("MainThread", frames))
    return heap


def example() -> bytes:
    return program().bytes()


def large_dump(objects: int, references: int, seed: int = 1) -> bytes:
    """So many objects: a wide tree and more references, texts in a quarter."""
    rng = random.Random(seed)
    heap = PyHeap(frequent=["__class__", "value"], common=["str"])
    numbers = [0x100000 + 64 * row for row in range(objects)]
    held: list[list[int]] = [[] for _ in numbers]
    holders = [row for row in range(objects) if row % 4 or not row]
    for row in range(1, objects):
        held[holders[(row - 1) // 3 % len(holders)]].append(numbers[row])
    for _ in range(references - objects + 1):
        held[rng.choice(holders)].append(rng.choice(numbers))
    kinds = [f"Thing{i}" for i in range(min(300, objects // 4 + 1))]
    for row, ident in enumerate(numbers):
        if row % 4 == 0 and row:
            heap.string(ident, f"value {row % 99}")
        else:
            heap.obj(ident, kinds[row // 1000 % len(kinds)], *held[row])
    heap.threads.append(("MainThread", [("app.py", 1, "main", [("all", numbers[0])])]))
    return heap.bytes()


def live(path: str, longest_text: int = 1000) -> None:
    """Write the heap of this program, as PyHeap does, with all that it asks objects."""
    heap = PyHeap(types={id(t): t.__name__ for t in _known_types()})
    heap.frequent, heap.common = sorted({*dir(object), *dir(type)}), ["int", "str"]
    todo: list[Any] = gc.get_objects()
    active, stacks = threading._active, sys._current_frames()  # type: ignore[attr-defined]
    for ident, innermost in stacks.items():
        frame: FrameType | None = innermost
        frames = []
        while frame is not None:
            code, values = frame.f_code, dict(frame.f_locals)
            if code.co_filename != __file__:
                local = [(name, id(value)) for name, value in values.items()]
                line = frame.f_lineno or 0
                frames.append((code.co_filename, line, code.co_name, local))
                todo += values.values()
            frame = frame.f_back
        heap.threads.append((active[ident].name, frames))
    todo += _known_types()
    seen = {id(todo), id(heap), id(heap.__dict__), id(heap.objects), id(heap.threads)}
    while todo:
        o = todo.pop()
        if id(o) not in seen:
            seen.add(id(o))
            _add_live(heap, o, todo, longest_text)
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(heap.bytes())


def _known_types() -> list[type]:
    return [
        list, tuple, dict, set, str, bytes, bytearray, int, bool, float, object, type,
        type(None),
    ]  # fmt: skip


def _add_live(heap: PyHeap, o: Any, todo: list[Any], longest: int) -> None:  # noqa: ANN401
    kind, referents = type(o), gc.get_referents(o)
    todo += referents
    held: set[int] = {id(r) for r in referents}
    content: list[int] = []
    if kind is dict:
        content = [id(one) for pair in o.items() for one in pair]
        todo += o
    elif kind in (list, set, tuple):
        content = list(map(id, o))
    held -= set(content)
    attributes = []
    if kind not in (int, str):
        for name in dir(o):
            try:
                value = inspect.getattr_static(o, name)
            except (AttributeError, ValueError):
                continue
            todo.append(value)
            attributes.append((name, id(value)))
    heap.types[id(kind)] = kind.__name__
    made = ids([id(o), id(kind)]) + u32(sys.getsizeof(o))
    if kind in (dict, list, set, tuple):
        made += u32(len(content) // (2 if kind is dict else 1)) + ids(content)
    made += u32(len(held)) + ids(held)
    if kind not in (int, str):
        made += heap._attributes(attributes)
    if kind not in (dict, list, set, tuple):
        try:
            told = str(o)[:longest]
        except Exception:
            told = "<ERROR on __str__>"
        made += text(told)
    heap.objects.append(made)
