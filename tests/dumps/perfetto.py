"""Writes traces of Perfetto with heap graphs of the Android Runtime."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JNI_GLOBAL, JAVA_FRAME, STICKY_CLASS, THREAD_OBJECT = 1, 3, 5, 8
NORMAL, NO_REFERENCES, STRING, ARRAY, KIND_CLASS, LOADER = 1, 2, 3, 4, 5, 6
SOFT, WEAK, FINALIZER, PHANTOM = 8, 9, 10, 11
APP, ZYGOTE, IMAGE = 1, 2, 3


def uleb(value: int) -> bytes:
    """A varint, of ten bytes if it is negative."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*values: tuple[int, int | bytes | str | Sequence[int]]) -> bytes:
    """Fields in this order; lists are packed."""
    out = bytearray()
    for number, value in values:
        if isinstance(value, int):
            out += uleb(number << 3) + uleb(value)
            continue
        if isinstance(value, str):
            value = value.encode()
        data = value if isinstance(value, bytes) else b"".join(map(uleb, value))
        out += uleb(number << 3 | 2) + uleb(len(data)) + data
    return bytes(out)


def unpacked(number: int, values: Iterable[int]) -> bytes:
    """A list of numbers, each with its key."""
    return b"".join(message((number, value)) for value in values)


@dataclass
class HeapGraph:
    """The content of a dump, in pieces that packets take; one to three pieces each."""

    pid: int = 7
    pieces: list[bytes] = field(default_factory=list)
    last_id: int = 0

    def cls(
        self,
        ident: int,
        name: str,
        fields: Sequence[int] = (),
        *,
        size: int = 0,
        above: int = 0,
        kind: int = 0,
        location: int = 0,
        loader: int = 0,
    ) -> HeapGraph:
        """A type, with the ids of the fields that it declares."""
        values: list[tuple[int, int | str | Sequence[int]]] = [(1, ident)]
        values += [(2, location)] if location else []
        values += [(3, name)]
        for number, value in ((4, size), (5, above), (7, kind), (8, loader)):
            values += [(number, value)] if value else []
        values += [(6, fields)] if fields else []
        self.pieces.append(message((9, message(*values))))
        return self

    def name(self, ident: int, text: str) -> HeapGraph:
        """A field, such as ``int[] app.Order.lines``."""
        self.pieces.append(message((4, message((1, ident), (2, text)))))
        return self

    def location(self, ident: int, path: str) -> HeapGraph:
        self.pieces.append(message((8, message((1, ident), (2, path)))))
        return self

    def root(self, kind: int, *held: int) -> HeapGraph:
        self.pieces.append(message((7, message((2, kind), (1, held)))))
        return self

    def obj(
        self,
        ident: int,
        of: int,
        refs: Sequence[int] = (),
        *,
        size: int = 0,
        fields: Sequence[int] = (),
        space: int = 0,
        base: int = 0,
        runtime: Sequence[int] = (),
        more: bytes = b"",
    ) -> HeapGraph:
        """An object, whose id is written as the difference to the one before."""
        delta = self.last_id and ident > self.last_id
        values: list[tuple[int, int | Sequence[int]]] = [
            (7, ident - self.last_id) if delta else (1, ident), (2, of)
        ]  # fmt: skip
        self.last_id = ident
        values += [(3, size)] if size else []
        values += [(6, base)] if base else []
        values += [(4, fields)] if fields else []
        values += [(5, [one - base if one else 0 for one in refs])] if refs else []
        values += [(9, space)] if space else []
        values += [(10, runtime)] if runtime else []
        self.pieces.append(message((2, message(*values) + more)))
        return self

    def packets(
        self,
        many: int = 1,
        *,
        sequence: int = 1,
        time: int = 10,
        lost: Iterable[int] = (),
        unfinished: bool = False,
    ) -> list[bytes]:
        """The dump as so many packets, without those that are lost."""
        size = -(-len(self.pieces) // many) or 1
        found = []
        for index in range(many):
            more = index < many - 1 or unfinished
            content = b"".join(self.pieces[index * size : (index + 1) * size])
            graph = message((1, self.pid)) + content
            graph += message((5, int(more)), (6, index))
            head = [(8, time)] if time >= 0 else []
            packet = message(*head, (56, graph), (10, sequence))
            if index not in lost:
                found.append(packet)
        return found


def process(pid: int, name: str) -> bytes:
    """A packet with the name of a process."""
    return message((2, message((1, message((1, pid), (3, name))))), (3, 1000))


def mapping(package: str, classes: dict[tuple[str, str], dict[str, str]]) -> bytes:
    """A packet with original names of classes and of their fields."""
    values: list[tuple[int, str | bytes]] = [(1, package)]
    for (short, name), fields in classes.items():
        members = [(3, message((1, one), (2, other))) for one, other in fields.items()]
        values.append((3, message((1, short), (2, name), *members)))
    return message((8, 9), (64, message(*values)))


def trace(*packets: bytes) -> bytes:
    return message(*((1, packet) for packet in packets))


def compressed(*packets: bytes, zstd: bool = False) -> bytes:
    """A packet with others."""
    content = trace(*packets)
    if zstd:
        return message((133, zstandard.ZstdCompressor().compress(content)), (10, 1))
    return message((50, zlib.compress(content)), (10, 1))


OBJECT, CLASS, STRINGS, LIST, ARRAYS = 1, 2, 3, 4, 5
REFERENCE, WEAK_REFERENCE, PHANTOM_REFERENCE, CLEANER, THUNK, REGISTRY = range(6, 12)
ACTIVITY, MAIN, BITMAP, LOADERS, FRAGMENT = range(12, 17)
_OF = 100
"""Added to the id of a type: the type of its class object."""


def classes(heap: HeapGraph) -> HeapGraph:
    """Types of a small program, and their class objects at 0x100 + 2 x id."""
    heap.location(1, "/apex/com.android.art/javalib/core-oj.jar")
    heap.location(2, "/data/app/~~AB==/com.example.shop-CD==/base.apk")
    names = {
        1: "java.lang.Class java.lang.Class.superClass",
        2: "java.lang.ClassLoader java.lang.Class.classLoader",
        3: "java.lang.Object java.lang.ref.Reference.referent",
        4: "java.lang.ref.ReferenceQueue java.lang.ref.Reference.queue",
        5: "java.lang.Object[] java.util.ArrayList.elementData",
        6: "sun.misc.Cleaner sun.misc.Cleaner.next",
        7: "java.lang.Runnable sun.misc.Cleaner.thunk",
        8: "libcore.util.NativeAllocationRegistry "
        "libcore.util.NativeAllocationRegistry$CleanerThunk.this$0",
        9: "android.graphics.Bitmap android.app.Activity.picture",
        10: "java.lang.String com.example.shop.MainActivity.title",
        11: "java.util.List com.example.shop.MainActivity.SHOWN",
        12: "java.lang.Object android.app.Fragment.mFragmentManager",
        13: "sun.misc.Cleaner sun.misc.Cleaner.first",
    }
    for ident, text in names.items():
        heap.name(ident, text)
    heap.cls(OBJECT, "java.lang.Object", kind=NO_REFERENCES, size=8, location=1)
    heap.cls(CLASS, "java.lang.Class", (1, 2), kind=KIND_CLASS, above=1, location=1)
    heap.cls(STRINGS, "java.lang.String", kind=STRING, above=1, location=1)
    heap.cls(LIST, "java.util.ArrayList", (5,), kind=NORMAL, size=24, above=1)
    heap.cls(ARRAYS, "java.lang.Object[]", kind=ARRAY, above=1, location=1)
    heap.cls(REFERENCE, "java.lang.ref.Reference", (4, 3), kind=NORMAL, above=1)
    heap.cls(WEAK_REFERENCE, "java.lang.ref.WeakReference", kind=WEAK, size=24, above=6)
    heap.cls(PHANTOM_REFERENCE, "java.lang.ref.PhantomReference", kind=PHANTOM, above=6)
    heap.cls(CLEANER, "sun.misc.Cleaner", (6, 7), kind=PHANTOM, size=40, above=8)
    thunk = "libcore.util.NativeAllocationRegistry$CleanerThunk"
    heap.cls(THUNK, thunk, (8,), kind=NORMAL, size=24, above=1)
    heap.cls(REGISTRY, "libcore.util.NativeAllocationRegistry", size=32, above=1)
    heap.cls(ACTIVITY, "android.app.Activity", (9,), kind=NORMAL, size=200, above=1)
    main = "com.example.shop.MainActivity"
    heap.cls(MAIN, main, (10,), kind=NORMAL, size=208, above=ACTIVITY, location=2,
        loader=0x300)  # fmt: skip
    heap.cls(BITMAP, "android.graphics.Bitmap", kind=NO_REFERENCES, size=48, above=1)
    heap.cls(LOADERS, "dalvik.system.PathClassLoader", kind=LOADER, size=40, above=1)
    heap.cls(FRAGMENT, "android.app.Fragment", (12,), kind=NORMAL, size=80, above=1)
    for of, name, place in (
        (OBJECT, "java.lang.Object", 1), (ACTIVITY, "android.app.Activity", 0),
        (MAIN, main, 2), (CLEANER, "sun.misc.Cleaner", 0),
        (FRAGMENT, "android.app.Fragment", 0),
    ):  # fmt: skip
        heap.cls(_OF + of, f"java.lang.Class<{name}>", location=place)
    return heap


def at_class(of: int) -> int:
    """The id of the class object of a type."""
    return 0x100 + 2 * of


def shop(activities: int = 3, pid: int = 7) -> HeapGraph:
    """A program that has put its destroyed activities into a static list."""
    heap = classes(HeapGraph(pid))
    heap.root(STICKY_CLASS, at_class(OBJECT)).root(THREAD_OBJECT, 0x301)
    heap.root(JAVA_FRAME, 0x303)
    heap.obj(at_class(OBJECT), _OF + OBJECT, (0, 0), fields=(1, 2), size=300,
        space=IMAGE)  # fmt: skip
    for of, above, held, name in (
        (CLEANER, OBJECT, 0x400, 13), (ACTIVITY, OBJECT, 0, 9),
        (MAIN, ACTIVITY, 0x310, 11), (FRAGMENT, OBJECT, 0, 9),
    ):  # fmt: skip
        space = APP if of == MAIN else ZYGOTE
        loader = 0x300 if of == MAIN else 0
        heap.obj(at_class(of), _OF + of, (at_class(above), loader, held), size=320,
            fields=(1, 2, name), space=space)  # fmt: skip
    heap.obj(0x200, STRINGS, size=40, space=ZYGOTE)
    heap.obj(0x300, LOADERS, (), space=APP, runtime=(at_class(MAIN),))
    heap.obj(0x301, OBJECT).obj(0x302, OBJECT)
    heap.obj(0x303, WEAK_REFERENCE, (0, 0x304)).obj(0x304, OBJECT)
    heap.obj(0x310, LIST, (0x311,))
    pages = [0x1000 + 16 * i for i in range(activities)]
    heap.obj(0x311, ARRAYS, (0, *pages), size=16 + 4 * activities, base=0xFFF)
    # A cleaner in use, and one that has run.
    heap.obj(0x400, CLEANER, (0, 0x401, 0, pages[0] + 2)).obj(0x401, THUNK, (0x402,))
    heap.obj(0x402, REGISTRY, more=message((8, 500_001)))
    heap.obj(0x403, CLEANER, (0x403, 0x401, 0, 0x302))
    for page in pages:
        heap.obj(page, MAIN, (page + 1, page + 2)).obj(page + 1, STRINGS, size=56)
        heap.obj(page + 2, BITMAP, more=message((13, 640), (14, 480)))
    heap.obj(0x2000, FRAGMENT, (0,))
    return heap


def example() -> bytes:
    """A trace with two dumps of a program and one of another, in a few packets."""
    main, other = shop().packets(3), shop(1, pid=8).packets(2, sequence=2, time=11)
    after = shop(5).packets(2, time=20)
    names = mapping("com.example.shop", {("a", "app.Order"): {"b": "lines"}})
    return trace(
        process(7, "com.example.shop"), process(8, "system_server"), main[0], other[0],
        compressed(*main[1:]), other[1], compressed(*after, zstd=True), names,
    )  # fmt: skip


def large_trace(objects: int, references: int, seed: int = 1) -> bytes:
    """A dump of so many objects: a wide tree and more references, of 50 types."""
    rng = Random(seed)
    heap = HeapGraph()
    held: list[list[int]] = [[] for _ in range(objects)]
    for row in range(1, objects):
        held[row // 3].append(row)
    for _ in range(references - objects + 1):
        held[rng.randrange(objects)].append(rng.randrange(objects))
    fields = range(1, 40)
    for one in fields:
        heap.name(one, f"java.lang.Object app.Base.field{one}")
    heap.cls(1, "java.lang.Object", kind=NO_REFERENCES, size=8)
    heap.cls(2, "app.Base", fields, kind=NORMAL, size=64, above=1)
    for kind in range(50):
        heap.cls(3 + kind, f"app.Thing{kind}", kind=NORMAL, size=16 + kind, above=2)
    heap.root(JNI_GLOBAL, 0x1000000)
    for row, targets in enumerate(held):
        refs = [0x1000000 + 2 * one for one in targets]
        base = min(refs) - 1 if len(refs) > 1 else 0
        heap.obj(0x1000000 + 2 * row, 3 + row % 50, refs, base=base, space=not row)
    return trace(*heap.packets(max(1, objects // 5000)))
