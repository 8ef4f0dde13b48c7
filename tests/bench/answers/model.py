"""A heap as plain lists, which a writer turns into a dump of any format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

STATIC, THREAD_STATIC, HANDLE, PINNED, WEAK, LOCAL, FINALIZER, RUNTIME = (
    "static", "thread static", "handle", "pinned", "weak", "local", "finalizer",
    "runtime",
)  # fmt: skip


class Root(NamedTuple):
    """A root; ``owner`` and ``field`` are the type and name of a static field."""

    object: int
    kind: str
    owner: str = ""
    field: str = ""


@dataclass
class Heap:
    """Objects are numbered from 0 as they are added.

    Attributes:
        types: Names of types, by number.
        fields: Names of a type's fields, in the order of its references; references
            beyond them are elements.
        kinds: Type of each object.
        sizes: Bytes of each object.
        held: References of each object.
        roots: Roots, in any order.
    """

    types: list[str] = field(default_factory=list)
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    total_bytes: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    def type(self, name: str) -> int:
        """Number of a type."""
        if name not in self._numbers:
            self._numbers[name] = len(self.types)
            self.types.append(name)
        return self._numbers[name]

    def add(self, type_name: str, size: int, held: Iterable[int] = ()) -> int:
        """Add an object and return its number."""
        self.kinds.append(self.type(type_name))
        self.sizes.append(size)
        self.held.append(list(held))
        self.total_bytes += size
        return len(self.kinds) - 1

    def root(self, number: int, kind: str, owner: str = "", name: str = "") -> None:
        """Add a root."""
        self.roots.append(Root(number, kind, owner, name))
