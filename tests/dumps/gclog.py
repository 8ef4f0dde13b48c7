"""A small language for gclogs: tests write the dumps that they read."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass
class Gclog:
    """Lines of one gclog; every number is written in hexadecimal."""

    lines: list[str] = field(default_factory=list)

    def domain(self, name: str, clock: int | None = None, version: int = 2) -> Gclog:
        return self._line(f"a {version} {name}", clock)

    def close(self, name: str, clock: int | None = None) -> Gclog:
        return self._line(f"c {name}", clock)

    def type(self, number: int, name: str) -> Gclog:
        return self._line(f"t {number:x} {name}")

    def object(
        self, number: int, kind: int, size: int, references: Iterable[int] = ()
    ) -> Gclog:
        targets = "".join(f" {target:x}" for target in references)
        return self._line(f"o {number:x} {kind:x} {size:x}{targets}")

    def root(
        self, number: int, kind: int = 1, flags: int = 0, container: int | None = None
    ) -> Gclog:
        return self._line(f"r {number:x} {kind:x} {flags:x}", container)

    def _line(self, text: str, last: int | None = None) -> Gclog:
        self.lines.append(text if last is None else f"{text} {last:x}")
        return self

    def text(self, end: str = "\n") -> str:
        return "".join(line + end for line in self.lines)

    def bytes(self, end: str = "\n", encoding: str = "utf-8") -> bytes:
        return self.text(end).encode(encoding)


TYPES = ("System.String", *(f"App.Part{i % 5}.Thing{i}" for i in range(1, 30)))


def large_gclog(objects: int, references: int, seed: int = 1) -> bytes:
    """One dump of so many: a wide tree with cross references, garbage and hubs.

    The last tenth of the objects is garbage. Nine of ten types are of the program;
    strings are leaves, and three of them are shared by many.
    """
    random = Random(seed)
    alive = objects * 9 // 10
    held: list[list[int]] = [[] for _ in range(objects)]
    for row in range(1, objects):
        if row != alive:
            first = 0 if row < alive else alive
            held[first + (row - first - 1) // 4].append(row)
    for _ in range(references - (objects - 2)):
        source = random.randrange(objects)
        hub = random.random() < 0.2
        among = alive if source < alive else objects
        held[source].append(random.randrange(3 if hub else among - 1) + hub)
    log = Gclog().domain("App.exe", clock=1)
    for number, name in enumerate(TYPES, start=1):
        log.type(number, name)
    for row, targets in enumerate(held):
        kind = 1 if not targets else 2 + row % (len(TYPES) - 1)
        size = random.randrange(2, 40) * 8
        log.object(
            0x1000 + 0x20 * row, kind, size, (0x1000 + 0x20 * t for t in targets)
        )
    log.root(0x1000, 4, container=2)
    for row in range(5, alive, 97):
        log.root(0x1000 + 0x20 * row, 1 + row % 3)
    return log.close("App.exe", clock=9).bytes()
