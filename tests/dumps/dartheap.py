"""A small writer of Dart heap snapshots: tests write the dumps that they read."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NULL, BOOL, INT, DOUBLE, LATIN1, UTF16, LENGTH, NAME = range(1, 9)
"""Tags of data; 0 is none."""


def uleb(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sleb(value: int) -> bytes:
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value & 0x7F])


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return uleb(len(data)) + data


def number(value: int) -> bytes:
    return bytes([INT]) + uleb(value)


def signed(value: int) -> bytes:
    return bytes([INT]) + sleb(value)


def double(value: float) -> bytes:
    return bytes([DOUBLE]) + struct.pack("<d", value)


def latin1(value: str, length: int | None = None) -> bytes:
    data = value.encode("latin-1")
    return (
        bytes([LATIN1])
        + uleb(len(data) if length is None else length)
        + uleb(len(data))
        + data
    )


def utf16(value: str) -> bytes:
    data = value.encode("utf-16-le", "surrogatepass")
    return bytes([UTF16]) + 2 * uleb(len(data) // 2) + data


def named(value: str | bytes) -> bytes:
    return bytes([NAME]) + text(value)


def sized(length: int) -> bytes:
    return bytes([LENGTH]) + uleb(length)


def boolean(value: bool) -> bytes:
    return bytes([BOOL, value])


@dataclass
class DartHeap:
    """One snapshot; classes and objects are numbered from 1 as they are added."""

    name: str = "main"
    classes: list[bytes] = field(default_factory=list)
    class_ids: dict[str, int] = field(default_factory=dict)
    objects: list[bytes] = field(default_factory=list)
    external: list[bytes] = field(default_factory=list)
    hashes: list[int] | None = None
    reference_count: int = 0
    shallow_bytes: int = 0

    def cls(
        self, name: str, library: str = "", fields: Iterable[str | None] = ()
    ) -> int:
        """Add a class; a field of ``None`` is a place that no field declares."""
        declared = [(i, text_) for i, text_ in enumerate(fields) if text_ is not None]
        self.classes.append(
            b"".join(
                [uleb(0), text(name), text(""), text(library), text("")]
                + [uleb(len(declared))]
                + [uleb(1) + uleb(i) + text(f) + text("") for i, f in declared]
            )
        )
        self.class_ids.setdefault(name, len(self.classes))
        return len(self.classes)

    def obj(
        self,
        cls: int | str,
        size: int,
        references: Iterable[int] = (),
        data: bytes = b"\0",
    ) -> int:
        """Add an object and tell its id."""
        held = list(references)
        kind = cls if isinstance(cls, int) else self.class_ids[cls]
        self.objects.append(
            uleb(kind) + uleb(size) + data + uleb(len(held)) + b"".join(map(uleb, held))
        )
        self.reference_count += len(held)
        self.shallow_bytes += size
        return len(self.objects)

    def outside(self, owner: int, size: int, name: str) -> None:
        self.external.append(uleb(owner) + uleb(size) + text(name))

    def head(self, classes: int | None = None) -> bytes:
        count = uleb(len(self.classes) if classes is None else classes)
        sizes = 3 * uleb(self.shallow_bytes)
        start = b"dartheap" + uleb(0) + text(self.name) + sizes
        return start + count + b"".join(self.classes)

    def bytes(self, objects: int | None = None) -> bytes:
        """The whole file; ``objects`` is what it claims there are."""
        return b"".join(
            [
                self.head(),
                uleb(self.reference_count),
                uleb(len(self.objects) if objects is None else objects),
                *self.objects,
                uleb(len(self.external)),
                *self.external,
                *map(uleb, self.hashes or []),
            ]
        )


def program() -> DartHeap:
    """A little of all that a real snapshot has.

    Object 1 is the root, 2 read-only pages, 3 the isolate, 4 null, 5 `7` (a small
    integer), 6 a list of [9, null, 5], 7 the class Cache, 8 its library, 9 the
    cache, 10 its name, 11 the library's address, 12 the static field, 13 its id,
    14 garbage.
    """
    heap = DartHeap()
    heap.cls("Root")
    heap.cls("Read-Only Pages")
    heap.cls("Isolate", fields=[None, "_cache", "_limit"])
    heap.cls("Null", "dart:core")
    heap.cls("_Smi", "dart:core")
    heap.cls("_List", "dart:core", ["type_arguments_", "length_"])
    heap.cls("Class", fields=["name_", "library_"])
    heap.cls("Library", fields=["name_", "url_"])
    heap.cls("Cache", "package:app/cache.dart", ["entries", "name", "size"])
    heap.cls("_OneByteString", "dart:core")
    heap.cls("Field", fields=["name_", "owner_", "type_", "host_offset_or_field_id_"])
    heap.cls("")
    heap.obj("Root", 0, [2, 3, 4, 7, 12])
    heap.obj("Read-Only Pages", 0)
    heap.obj("Isolate", 0, [4, 9, 5, 6], named("4711"))
    heap.obj("Null", 0, data=bytes([NULL]))
    heap.obj("_Smi", 0, data=number(7))
    heap.obj("_List", 40, [4, 5, 9, 4, 5], sized(3))
    heap.obj("Class", 100, [10, 8], named("Cache"))
    heap.obj("Library", 80, [10, 11], named("app"))
    heap.obj("Cache", 32, [6, 10, 0])
    heap.obj("_OneByteString", 24, data=latin1("Café"))
    heap.obj("_OneByteString", 48, data=latin1("package:app/cache.dart"))
    heap.obj("Field", 64, [10, 7, 4, 13], named("_cache"))
    heap.obj("_Smi", 0, data=number(1))
    heap.obj("Cache", 32, [9, 4, 0])
    heap.outside(9, 1000, "Picture")
    heap.outside(9, 24, "Picture")
    heap.hashes = [0, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 77]
    return heap


def large_snapshot(
    objects: int, references: int, seed: int = 1, kinds: int = 3000
) -> bytes:
    """So many objects: a wide tree and more references, texts in a quarter."""
    rng = random.Random(seed)
    heap = DartHeap()
    heap.cls("Root")
    heap.cls("Isolate", fields=[f"static{i}" for i in range(100)])
    for i in range(kinds):
        fields = [f"field{j}" for j in range(4)]
        heap.cls(f"Thing{i}", f"package:app/part{i % 300}.dart", fields)
    text_kind = heap.cls("_OneByteString", "dart:core")
    heap.obj("Root", 0, [2, 3])
    heap.obj("Isolate", 0, [rng.randint(3, objects) for _ in range(120)], named("1"))
    held: list[list[int]] = [[] for _ in range(objects + 1)]
    holders = [i for i in range(3, objects + 1) if i % 4]
    for i in range(4, objects + 1):
        held[holders[(i - 4) // 4]].append(i)
    for _ in range(references - objects):
        held[rng.choice(holders)].append(rng.randint(3, objects))
    for i in range(3, objects + 1):
        if i % 4:
            heap.obj(rng.randint(3, kinds + 2), rng.randrange(16, 64, 8), held[i])
        else:
            value = latin1(f"value {rng.randrange(objects // 8)} of things")
            heap.obj(text_kind, 32, data=value)
    heap.hashes = [rng.randrange(1 << 30) if i % 3 else 0 for i in range(objects)]
    return heap.bytes()
