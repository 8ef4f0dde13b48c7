"""Writes heap dumps of Ruby, line by line, as ObjectSpace.dump_all does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

CLASS, MODULE, OBJECT, STRING, ARRAY, HASH, PROC = (
    0x1000, 0x1040, 0x1080, 0x10C0, 0x1100, 0x1140, 0x1180,
)  # fmt: skip
KNOWN = {
    OBJECT: "Object", STRING: "String", ARRAY: "Array", HASH: "Hash", PROC: "Proc",
    MODULE: "Module", CLASS: "Class",
}  # fmt: skip
"""Classes that `RubyHeap.core` writes."""


def at(number: int) -> str:
    """An address as Ruby writes it."""
    return f"{number:#x}"


@dataclass
class RubyHeap:
    """Lines of one dump."""

    lines: list[bytes] = field(default_factory=list)

    def line(self, **values: Any) -> RubyHeap:  # noqa: ANN401
        """A line with these keys; ``of`` is ``class``, ``refs`` are ``references``."""
        values = {{"of": "class", "refs": "references"}.get(k, k): v
            for k, v in values.items()}  # fmt: skip
        for key in ("address", "class", "superclass"):
            if isinstance(values.get(key), int):
                values[key] = at(values[key])
        if isinstance(values.get("references"), list | tuple):
            values["references"] = [
                at(one) if isinstance(one, int) else one for one in values["references"]
            ]
        self.lines.append(json.dumps(values, ensure_ascii=False).encode())
        return self

    def root(self, kind: str, *held: int) -> RubyHeap:
        return self.line(type="ROOT", root=kind, refs=held)

    def obj(self, ident: int, kind: str, of: int, *refs: int, **more: Any) -> RubyHeap:  # noqa: ANN401
        """An object of a class; 0 for none."""
        values: dict[str, Any] = {"address": ident, "type": kind}
        values |= {"of": of} if of else {}
        values |= {"refs": refs} if refs else {}
        more.setdefault("memsize", 40)
        flags = {"wb_protected": True, "old": True}
        return self.line(**values, **more, flags=flags)

    def module(
        self, ident: int, name: str, *refs: int, of: int = CLASS, **more: Any  # noqa: ANN401
    ) -> RubyHeap:  # fmt: skip
        """A class, with the superclass Object, or a module."""
        kind = more.pop("kind", "CLASS")
        more |= {"name": name} if name else {}
        if kind == "CLASS":
            more.setdefault("superclass", OBJECT)
        return self.obj(ident, kind, of, *refs, **more)

    def text(self, ident: int, value: str, **more: Any) -> RubyHeap:  # noqa: ANN401
        return self.obj(ident, "STRING", STRING, value=value, **more)

    def core(self) -> RubyHeap:
        """The classes of Ruby itself."""
        for ident, name in KNOWN.items():
            self.module(ident, name)
        return self

    def bytes(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)


def shop() -> RubyHeap:
    """A dump with all that one can have, of Ruby 3.2 and later."""
    heap = RubyHeap().root("vm", OBJECT, 0x2000, 0x3000).root("machine_context", 0x3100)
    heap.root("global_tbl", 0x3200).root("end_proc", 0x3300)
    shapes = ((0, None, None), (1, 0, "@name"), (2, 1, "@tags"), (3, 0, "@cache"))
    for ident, parent, edge in shapes:
        more = {} if parent is None else {"parent_id": parent, "edge_name": edge}
        heap.line(address=0x90 + ident, type="SHAPE", id=ident, **more, memsize=24)
    heap.core()
    # The module Shop has two constants, an array and a class; a third is a number.
    heap.module(
        0x2000, "Shop", 0x3000, 0x2800, 0x2100, 0x2800, 0x2800, 0x2900,
        of=MODULE, kind="MODULE",
    )  # fmt: skip
    heap.text(0x2800, "shop.rb").text(0x2900, "Shop")
    heap.module(
        0x2100, "Shop::Order", OBJECT, 0x2500, of=0x2200, file="shop.rb", line=2
    )
    heap.obj(0x2500, "IMEMO", 0x2100, 0x2600, imemo_type="ment")
    heap.obj(0x2600, "IMEMO", 0, imemo_type="iseq")
    heap.module(0x2200, "", OBJECT, 0x2100, singleton=True, real_class_name="Class")
    heap.module(0x2300, "Shop::Cache", OBJECT, 0x3400, shape_id=3)
    heap.obj(0x2400, "ICLASS", 0x2000, OBJECT, superclass=OBJECT)
    site = {"file": "shop.rb", "line": 7, "method": "new", "generation": 3}
    heap.obj(0x3000, "ARRAY", ARRAY, 0x3100, 0x3110, length=2)
    heap.obj(0x3100, "OBJECT", 0x2100, 0x3500, 0x3600, shape_id=2, ivars=2, **site)
    heap.obj(0x3110, "OBJECT", 0x2100, 0x3510, shape_id=2, ivars=2, **site, memsize=0)
    heap.module(0x2700, "", 0x2100, singleton=True, superclass=0x2400)
    heap.obj(0x3120, "OBJECT", 0x2700, slot_size=80, memsize=0, frozen=True)
    heap.obj(0x3200, "DATA", OBJECT, struct="ObjectTracing/allocation_info_tracer")
    heap.obj(0x3300, "DATA", PROC, 0x3310, struct="proc", **(site | {"line": 9}))
    heap.obj(0x3310, "IMEMO", 0, 0x3100, imemo_type="env")
    heap.obj(0x3400, "HASH", HASH, 0x3500, 0x3100, size=1)
    heap.text(0x3500, 'a "quoted" näme\n').text(0x3510, "ключ 🔑", frozen=True)
    heap.obj(0x3520, "STRING", STRING, broken=True, bytesize=3, fstring=True)
    heap.obj(0x3530, "STRING", STRING, 0x3510, shared=True)
    heap.obj(0x3600, "ARRAY", 0, length=0).obj(0x3610, "SYMBOL", 0x9000, value="s")
    heap.lines.append(
        b'{"address":"0x3540", "type":"STRING", "class":"0x10c0", "value":"a\xff\\u00e9'
        b'\\ud83d\\udd11\\/", "memsize":40}'
    )
    heap.line(address=0x3700, type="NONE").line(address=0x3710, type="ZOMBIE")
    return heap


def example() -> bytes:
    return shop().bytes()


def large_dump(objects: int, references: int, seed: int = 1) -> bytes:
    """So many objects: a wide tree and more references, traced, texts in a quarter."""
    rng = Random(seed)
    numbers = [0x100000 + 40 * row for row in range(objects)]
    held: list[list[int]] = [[] for _ in numbers]
    classes = min(300, objects // 4 + 1)
    holders = [row for row in range(classes, objects) if row % 4] or [0]
    for row in range(1, objects):
        held[holders[(row - 1) // 3 % len(holders)]].append(numbers[row])
    # Each object also refers to its class.
    for _ in range(references - 2 * objects + 1):
        held[rng.choice(holders)].append(rng.choice(numbers))
    heap = RubyHeap().root("vm", *numbers[:classes], numbers[holders[0]])
    for row, ident in enumerate(numbers):
        if row < classes:
            heap.module(ident, f"Thing{row}", *held[row], of=numbers[0])
            continue
        site = {"file": "a.rb", "line": row % 900, "method": "new", "generation": 3}
        of = numbers[row // 1000 % classes]
        if row % 4 == 0:
            heap.obj(ident, "STRING", of, value=f"value {row % 99}", **site)
        else:
            heap.obj(ident, "OBJECT", of, *held[row], **site)
    return heap.bytes()
