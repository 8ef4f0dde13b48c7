"""A small language for gclogs: tests write the dumps that they read."""

from __future__ import annotations

from dataclasses import dataclass, field
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
