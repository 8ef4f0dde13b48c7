"""A small writer of HPROF files: tests write the dumps that they read."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

OBJECT, BOOLEAN, CHAR, FLOAT, DOUBLE, BYTE, SHORT, INT, LONG = (
    2,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
WIDTHS = {BOOLEAN: 1, CHAR: 2, FLOAT: 4, DOUBLE: 8, BYTE: 1, SHORT: 2, INT: 4, LONG: 8}
_FORMATS = {BOOLEAN: "?", CHAR: "H", FLOAT: "f", DOUBLE: "d", BYTE: "b", SHORT: "h"}
_FORMATS |= {INT: "i", LONG: "q"}

NAME, LOAD_CLASS, FRAME, TRACE = 1, 2, 4, 5
HEAP_DUMP, SEGMENT, HEAP_DUMP_END = 0x0C, 0x1C, 0x2C
JNI_GLOBAL, SYSTEM_CLASS, THREAD_OBJECT = 1, 5, 8

Fields = dict[str, int]
"""Type codes by name, in the order of declaration."""


@dataclass
class Hprof:
    """One file; classes are named by name, objects by address.

    ``segments`` are sub-records, which the caller may change before `bytes`.
    """

    version: str = "1.0.2"
    id_size: int = 8
    records: list[bytes] = field(default_factory=list)
    segments: list[list[bytes]] = field(default_factory=lambda: [[]])
    names: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    fields: dict[str, tuple[Fields, str]] = field(default_factory=dict)

    def id(self, value: int) -> bytes:
        return value.to_bytes(self.id_size, "big")

    def record(self, tag: int, data: bytes, size: int | None = None) -> bytes:
        claimed = len(data) if size is None else size
        return struct.pack(">BII", tag, 0, claimed) + data

    def name(self, text: str | bytes) -> int:
        """The id of a name."""
        data = text.encode() if isinstance(text, str) else text
        key = data.decode("latin-1")
        if key not in self.names:
            self.names[key] = 0x70000 + len(self.names)
            self.records.append(self.record(NAME, self.id(self.names[key]) + data))
        return self.names[key]

    def sub(self, data: bytes) -> None:
        self.segments[-1].append(data)

    def value(self, code: int, value: float) -> bytes:
        if code == OBJECT:
            return self.id(int(value))
        return struct.pack(">" + _FORMATS[code], value)

    def loaded(self, name: str, class_id: int) -> None:
        serial = len(self.classes) + 1
        self.classes[name] = class_id
        data = struct.pack(">I", serial) + self.id(class_id) + bytes(4)
        self.records.append(self.record(LOAD_CLASS, data + self.id(self.name(name))))

    def cls(
        self,
        name: str,
        class_id: int,
        above: str = "",
        fields: Fields | None = None,
        statics: dict[str, tuple[int, float]] | None = None,
        *,
        loader: int = 0,
        size: int = 0,
        is_written: bool = True,
    ) -> int:
        """Add a class; ``statics`` are codes and values by name."""
        declared = fields or {}
        if name not in self.classes:
            self.loaded(name, class_id)
        self.fields[name] = declared, above
        data = [b"\x20", self.id(class_id), bytes(4)]
        data += [self.id(self.classes.get(above, 0)), self.id(loader)]
        data += [4 * self.id(0), struct.pack(">IH", size, 0)]
        data.append(struct.pack(">H", len(statics or {})))
        for text, (code, value) in (statics or {}).items():
            data += [self.id(self.name(text)), bytes([code]), self.value(code, value)]
        data.append(struct.pack(">H", len(declared)))
        data += [self.id(self.name(t)) + bytes([code]) for t, code in declared.items()]
        if is_written:
            self.sub(b"".join(data))
        return class_id

    def obj(self, address: int, name: str, /, **values: float) -> int:
        """Add an instance; fields that are not given are 0."""
        body, above = b"", name
        while above:
            declared, over = self.fields[above]
            for text, code in declared.items():
                body += self.value(code, values.get(text, 0))
            above = over
        head = b"\x21" + self.id(address) + bytes(4) + self.id(self.classes[name])
        self.sub(head + struct.pack(">I", len(body)) + body)
        return address

    def array(self, address: int, name: str, items: Iterable[int]) -> int:
        ids = [self.id(item) for item in items]
        head = b"\x22" + self.id(address) + struct.pack(">II", 0, len(ids))
        self.sub(head + self.id(self.classes[name]) + b"".join(ids))
        return address

    def numbers(self, address: int, code: int, data: bytes) -> int:
        many = len(data) // WIDTHS[code]
        head = b"\x23" + self.id(address) + struct.pack(">IIB", 0, many, code)
        self.sub(head + data)
        return address

    def root(self, tag: int, address: int, *further: int) -> None:
        data = b"".join(struct.pack(">I", number) for number in further)
        if tag == 1:
            data = self.id(further[0])
        self.sub(bytes([tag]) + self.id(address) + data)

    def frame(self, frame_id: int, name: str, method: str, line: int) -> int:
        """A stack frame in a class; its source is that of the class."""
        source = self.name(name.rpartition("/")[2] + ".java")
        serial = list(self.classes).index(name) + 1
        ids = (frame_id, self.name(method), self.name("()V"), source)
        data = b"".join(map(self.id, ids)) + struct.pack(">Ii", serial, line)
        self.records.append(self.record(FRAME, data))
        return frame_id

    def trace(self, serial: int, thread: int, frames: Iterable[int]) -> None:
        """The stack of a thread, innermost frame first."""
        ids = [self.id(frame) for frame in frames]
        head = struct.pack(">III", serial, thread, len(ids))
        self.records.append(self.record(TRACE, head + b"".join(ids)))

    def space(self, number: int, name: str) -> None:
        """Part of the heap that the next objects of the segment are in."""
        self.sub(b"\xfe" + struct.pack(">I", number) + self.id(self.name(name)))

    def segment(self) -> None:
        """Begin another segment."""
        self.segments.append([])

    def in_one(self) -> None:
        """Join all segments."""
        self.segments = [[sub for segment in self.segments for sub in segment]]

    def head(self) -> bytes:
        start = f"JAVA PROFILE {self.version}\0".encode()
        return start + struct.pack(">IQ", self.id_size, 0)

    def bytes(self, *, size: int | None = None) -> bytes:
        """The whole file; ``size`` is the length that its segments claim."""
        whole = self.version != "1.0.1"
        tag = SEGMENT if whole else HEAP_DUMP
        segments = [self.record(tag, b"".join(subs), size) for subs in self.segments]
        end = self.record(HEAP_DUMP_END, b"") if whole else b""
        return self.head() + b"".join([*self.records, *segments, end])


_BOXES = {
    "Integer": INT, "Long": LONG, "Short": SHORT, "Byte": BYTE, "Character": CHAR,
    "Boolean": BOOLEAN, "Float": FLOAT, "Double": DOUBLE,
}  # fmt: skip


def jdk(version: str = "1.0.2", id_size: int = 8, *, compact: bool = True) -> Hprof:
    """A file with the classes that the reader knows; with strings of JDK 9 or 6."""
    dump = Hprof(version, id_size)
    text: Fields = {"value": OBJECT, "hash": INT, "coder": BYTE}
    if not compact:
        text = {"value": OBJECT, "offset": INT, "count": INT, "hash": INT}
    base = 0x1000
    names = [
        ("java/lang/Object", "", {}),
        ("java/lang/Class", "java/lang/Object", {"name": OBJECT}),
        ("java/lang/String", "java/lang/Object", text),
        ("java/lang/Number", "java/lang/Object", {}),
        ("java/lang/Thread", "java/lang/Object", {"name": OBJECT}),
        (
            "java/lang/ref/Reference",
            "java/lang/Object",
            {"referent": OBJECT, "queue": OBJECT},
        ),
        ("java/lang/ref/WeakReference", "java/lang/ref/Reference", {}),
        ("java/lang/ref/FinalReference", "java/lang/ref/Reference", {}),
        ("java/lang/ref/SoftReference", "java/lang/ref/Reference", {}),
        ("java/lang/ref/PhantomReference", "java/lang/ref/Reference", {}),
        ("java/util/HashMap", "java/lang/Object", {"table": OBJECT, "size": INT}),
        (
            "java/util/HashMap$Node",
            "java/lang/Object",
            {"hash": INT, "key": OBJECT, "value": OBJECT, "next": OBJECT},
        ),
        *((f"[{code}", "java/lang/Object", {}) for code in "ZCFDBSIJ"),
        ("[Ljava/lang/Object;", "java/lang/Object", {}),
        ("[Ljava/util/HashMap$Node;", "java/lang/Object", {}),
        *(
            (f"java/lang/{name}", "java/lang/Number", {"value": code})
            for name, code in _BOXES.items()
        ),
    ]  # fmt: skip
    for i, (name, above, fields) in enumerate(names):
        dump.cls(name, base + 16 * i, above, fields)
    return dump


def program(version: str = "1.0.2", id_size: int = 8) -> Hprof:
    """A little of all that a real file has; objects begin at 0x10000."""
    dump = jdk(version, id_size)
    page = {"next": OBJECT, "title": OBJECT, "number": INT}
    dump.cls("app/Page", 0x2000, "java/lang/Object", page)
    dump.cls("app/Chapter", 0x2010, "app/Page", {"notes": OBJECT})
    dump.cls(
        "app/Book",
        0x2020,
        "java/lang/Object",
        statics={
            "first": (OBJECT, 0x10000),
            "count": (INT, 7),
            "none": (OBJECT, 0),
            "<resolved_references>": (OBJECT, 0x10040),
        },
    )
    dump.cls("app/Tag", 0x2030, "java/lang/ref/WeakReference", {"label": OBJECT})
    dump.segment()
    dump.obj(0x10000, "app/Chapter", next=0x10020, title=0x10060, notes=0x10040)
    dump.obj(0x10020, "app/Page", next=0x10000, number=3)
    dump.array(0x10040, "[Ljava/lang/Object;", [0, 0x10020, 0x100A0])
    dump.obj(0x10060, "java/lang/String", value=0x10080)
    dump.numbers(0x10080, BYTE, "Café".encode("latin-1"))
    dump.obj(0x100A0, "app/Tag", referent=0x100C0, label=0x100E0)
    dump.obj(0x100C0, "app/Page")
    dump.obj(0x100E0, "java/lang/Integer", value=-7)
    dump.obj(0x10100, "java/lang/Thread", name=0x10060)
    dump.root(SYSTEM_CLASS, 0x1000)
    dump.root(1, 0x10020, 99)
    dump.root(3, 0x10020, 5, 0)
    dump.root(THREAD_OBJECT, 0x10100, 5, 0)
    return dump


_TASK: Fields = {
    "status": INT, "done": BOOLEAN, "weight": FLOAT, "mark": CHAR, "state": OBJECT,
    "price": OBJECT, "id": LONG, "small": BYTE, "a`} b": SHORT, "ratio": DOUBLE,
}  # fmt: skip


def add_tasks(dump: Hprof, at: int) -> list[int]:
    """Objects with values of every kind, 0x100 apart, of ``shop.Task`` and below it.

    The fields of the third are null, and hide those of its superclass.
    """
    place, base = iter(range(0x7000, 0x8000, 16)), "java/lang/Object"
    dump.cls("java/lang/Enum", next(place), base, {"name": OBJECT, "ordinal": INT})
    dump.cls("shop/State", next(place), "java/lang/Enum")
    dump.cls("shop/State$1", next(place), "shop/State")
    dump.cls("shop/Task", next(place), base, _TASK)
    dump.cls("shop/Special", next(place), "shop/Task", {"id": OBJECT, "status": OBJECT})
    dump.cls("shop/Other", next(place), base, {"status": INT})
    text = dump.numbers(at + 0x10, BYTE, b"OPEN")
    name = dump.obj(at + 0x30, "java/lang/String", value=text)
    state = dump.obj(at + 0x50, "shop/State$1", name=name)
    price = dump.obj(at + 0x80, "java/lang/Integer", value=7)
    first = dump.obj(at, "shop/Task", status=3, done=True, weight=0.5, mark=ord("x"),
        state=state, price=price, id=-(2**63), small=-1, ratio=1e300,
        **{"a`} b": 9})  # fmt: skip
    second = dump.obj(at + 0x100, "shop/Task", status=4, weight=float("inf"))
    third = dump.obj(at + 0x200, "shop/Special", ratio=float("nan"), mark=ord("\n"))
    other = dump.obj(at + 0x300, "shop/Other", status=3)
    return [first, second, third, other]


def large_dump(objects: int, references: int, seed: int = 1) -> bytes:
    """So many objects and references: class objects, then a wide tree of arrays."""
    rng = np.random.default_rng(seed)
    dump = jdk()
    objects -= len(dump.classes)
    references -= len(dump.classes) - 1
    index = np.arange(1, objects)
    more = references + 1 - objects
    sources = np.concatenate([index // 3, rng.integers(0, objects, more)])
    targets = np.concatenate([index, rng.integers(0, objects, more)])
    order = np.argsort(sources, kind="stable")
    rows = np.split(targets[order], np.searchsorted(sources[order], index))
    for row, held in enumerate(rows):
        items = (held * 64 + (1 << 20)).tolist()
        dump.array(row * 64 + (1 << 20), "[Ljava/lang/Object;", items)
    dump.root(SYSTEM_CLASS, 1 << 20)
    return dump.bytes()
