"""A small writer of heaps of CPython, and programs that write real ones."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingest.readers.hrpy import MAGIC, VERSION
from ingest.readers.hrpy.chunks import NEVER, Flag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

AS_LENGTHS = NEVER - 1


def record(tag: bytes, payload: bytes) -> bytes:
    return tag + struct.pack("<Q", len(payload)) + payload


def facts(tag: bytes, told: object) -> bytes:
    return record(tag, json.dumps(told).encode())


def words(values: Iterable[int]) -> bytes:
    return b"".join(struct.pack("<I", value) for value in values)


def longs(values: Iterable[int]) -> bytes:
    return b"".join(struct.pack("<Q", value) for value in values)


def texts_of(texts: Sequence[str | None]) -> bytes:
    found = [None if t is None else t.encode("utf-8", "surrogatepass") for t in texts]
    blob = b"".join(filter(None, found))
    sizes = words(NEVER if t is None else len(t) for t in found)
    return struct.pack("<Q", len(blob)) + sizes + blob


@dataclass
class HrpyHeap:
    """One heap; types and names are declared as they are used."""

    records: list[bytes] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    header: dict[str, Any] = field(
        default_factory=lambda: {
            "format": "hrpy", "version": 1, "python": "3.12.1", "align_bytes": 16,
            "own_references": 2, "immortal_references": 1 << 30, "mode": "fork",
            "frames_are_objects": False,
        }
    )  # fmt: skip
    roots: dict[str, Any] = field(
        default_factory=lambda: {"threads": [], "modules": []}
    )
    objects: int = 0

    def type(self, name: str, ident: int = 0) -> int:
        if name not in self.types:
            number = len(self.types)
            row = [number, ident or 0x10000 + 64 * number, name, 0, 16]
            self.types.append(name)
            self.records.append(facts(b"TYPE", [row]))
        return self.types.index(name)

    def name(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
            self.records.append(facts(b"NAME", [name]))
        return self.names.index(name)

    def chunk(
        self,
        kind: str,
        ids: Sequence[int],
        *,
        size: int = 32,
        counts: Sequence[int] | None = None,
        named: dict[str, Sequence[int]] | None = None,
        rest: Sequence[Sequence[int]] | None = None,
        lengths: Sequence[int] | None = None,
        flags: int = 0,
        values: bytes = b"",
        extra: int = 0,
    ) -> HrpyHeap:
        """Add objects: references by name, then others, row by row."""
        number = self.type(kind)
        columns = named or {}
        names = [self.name(name) for name in columns]
        others = rest if rest is not None else [[] for _ in ids]
        flags |= Flag.LENGTHS if lengths is not None else 0
        total = sum(map(len, others))
        payload = struct.pack(
            "<6IQ", number, flags, len(ids), extra, len(names), NEVER, total
        )
        payload += words(names) + longs(ids)
        payload += words(counts if counts is not None else [3] * len(ids))
        payload += longs([size])
        payload += words(lengths) if lengths is not None else b""
        payload += b"".join(longs(column) for column in columns.values())
        payload += words(map(len, others)) + longs(i for row in others for i in row)
        self.records.append(record(b"OBJS", payload + values))
        self.objects += len(ids)
        return self

    def texts(self, ids: Sequence[int], texts: Sequence[str]) -> HrpyHeap:
        return self.chunk(
            "str", ids, lengths=[len(t) for t in texts], flags=Flag.TEXTS,
            values=texts_of(texts),
        )  # fmt: skip

    def dict(
        self, ident: int, entries: dict[int, int], counts: Sequence[int] = (3,)
    ) -> HrpyHeap:
        pairs = [i for pair in entries.items() for i in pair]
        return self.chunk(
            "dict", [ident], size=64, counts=counts, rest=[pairs],
            lengths=[len(entries)], flags=Flag.PAIRS,
        )  # fmt: skip

    def module(self, name: str, ident: int, space: int) -> HrpyHeap:
        self.roots["modules"].append([name, ident, space])
        return self

    def variable(self, name: str, held: int) -> HrpyHeap:
        """A module with one variable, named ``shop``."""
        self.texts([0x100], [name])
        self.dict(0x200, {0x100: held})
        self.chunk(
            "module", [0x210], rest=[[0x200]], flags=Flag.OWNER | Flag.TEXTS,
            counts=[2], values=texts_of(["shop"]),
        )  # fmt: skip
        return self.module("shop", 0x210, 0x200)

    def bytes(self, *, ended: bool = True) -> bytes:
        made = [MAGIC, bytes([VERSION]), facts(b"HEAD", self.header)]
        made += [facts(b"ROOT", self.roots), *self.records]
        if ended:
            made.append(facts(b"DONE", {"objects": self.objects}))
        return b"".join(made)


def program() -> HrpyHeap:
    """A module with a cache of sessions, a class, a function, a thread, and garbage."""
    heap = HrpyHeap()
    heap.texts([0x100, 0x110], ["SESSIONS", "ключ"]).texts([0x120], ["user"])
    heap.chunk(
        "int", [0x130, 0x138], flags=Flag.INTEGERS, counts=[NEVER, NEVER],
        values=struct.pack("<2q", 7, -5),
    )  # fmt: skip
    heap.chunk("float", [0x140], flags=Flag.FLOATS, values=struct.pack("<d", 2.5))
    heap.dict(0x200, {0x100: 0x300})
    heap.chunk(
        "module", [0x210], rest=[[0x200]], flags=Flag.OWNER | Flag.TEXTS,
        counts=[2], values=texts_of(["app.cache"]),
    )  # fmt: skip
    heap.dict(0x300, {0x110: 0x400, 0x130: 0x410})
    heap.type("app.Session", 0x500)
    heap.chunk(
        "app.Session", [0x400, 0x410], size=56, extra=16, counts=[3, 4],
        named={"user": [0x140, 0]}, rest=[[], [0x420]],
        flags=Flag.OWNER | Flag.TYPED,
    )  # fmt: skip
    heap.dict(0x420, {0x120: 0x140})
    heap.chunk("type", [0x500], size=1000, counts=[6])
    heap.chunk("list", [0x600], rest=[[0x610, 0x400]], lengths=[2], flags=Flag.ELEMENTS)
    heap.chunk("list", [0x610], rest=[[0x610]], lengths=[1], flags=Flag.ELEMENTS)
    heap.module("app.cache", 0x210, 0x200)
    heap.roots["threads"].append(
        {
            "ident": 1,
            "name": "MainThread",
            "frames": [
                {
                    "function": "work", "file": "app.py", "line": 3,
                    "locals": [["rows", 0x600]],
                }
            ],
        }
    )  # fmt: skip
    return heap


def example() -> bytes:
    return program().bytes()


def large_dump(objects: int, references: int, seed: int = 1) -> bytes:
    """So many objects: a wide tree and more references, texts in a quarter."""
    rng = random.Random(seed)
    heap = HrpyHeap()
    ids = [0x1000 + 64 * row for row in range(objects)]
    held: list[list[int]] = [[] for _ in ids]
    holders = [row for row in range(objects) if row % 4 or not row]
    for row in range(1, objects):
        held[holders[(row - 1) // 3 % len(holders)]].append(ids[row])
    for _ in range(references - objects + 1):
        held[rng.choice(holders)].append(rng.choice(ids))
    kinds = [f"app.Thing{i}" for i in range(min(300, objects // 4 + 1))]
    step = 1000
    for begin in range(0, objects, step):
        rows = range(begin, min(begin + step, objects))
        text = [row for row in rows if row % 4 == 0 and row]
        if text:
            heap.texts([ids[r] for r in text], [f"value {r % 99}" for r in text])
        other = [row for row in rows if row % 4 or not row]
        kind = kinds[begin // step % len(kinds)]
        heap.chunk(kind, [ids[r] for r in other], rest=[held[r] for r in other])
    heap.module("app", ids[0], 0)
    return heap.bytes()
