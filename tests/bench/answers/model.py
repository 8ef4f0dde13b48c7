"""A heap as plain lists, which a writer turns into a dump of any format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

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
    """Objects are numbered from 0 as they are added; a reference to -1 is null.

    Attributes:
        types: Names of types, by number.
        fields: Names of a type's fields, in the order of its references; references
            beyond them are elements.
        kinds: Type of each object.
        sizes: Bytes of each object.
        held: References of each object.
        roots: Roots, in any order.
        classes: Of a Java heap: the type above each class, and its fields' types by
            name; ``L`` is a reference, other letters are those of descriptors.
        values: What an object has besides references, where a format has it: numbers
            in the order of the fields of a Java class, bytes of an array, a boolean.
    """

    types: list[str] = field(default_factory=list)
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    classes: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)
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

    def shuffle(self, random: Random) -> None:
        """Put the objects in another order, as if a collector had moved them."""
        order = list(range(len(self.kinds)))
        random.shuffle(order)
        now = [-1] * (len(order) + 1)  # the last one is for null
        for new, old in enumerate(order):
            now[old] = new
        self.kinds = [self.kinds[old] for old in order]
        self.sizes = [self.sizes[old] for old in order]
        self.held = [[now[target] for target in self.held[old]] for old in order]
        self.roots = [root._replace(object=now[root.object]) for root in self.roots]
        self.values = {now[old]: value for old, value in self.values.items()}
