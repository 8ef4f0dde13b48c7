"""The objects that the .NET runtime and its library make for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.answers.model import Heap

STRING, OBJECT, BYTES = "System.String", "System.Object", "System.Byte[]"
_LIBRARY = "System.Collections.Generic."


class DotNet:
    """Adds objects of the runtime to a heap.

    Args:
        heap: Where to.
        style: How the format spells generic types: ``long`` with assemblies (gclog),
            ``short`` (traces), ``csharp`` (gcdump).
        table: Whether statics are also in the runtime's own pinned array.
    """

    string_type, bytes_type = STRING, BYTES

    def __init__(self, heap: Heap, style: str = "long", *, table: bool) -> None:
        self.heap, self._style = heap, style
        self._table = heap.add(OBJECT + "[]", 8184) if table else None
        if self._table is not None:
            heap.root(self._table, model.PINNED)

    def generic(self, name: str, *arguments: str) -> str:
        """A generic type's name."""
        if self._style == "csharp":
            return f"{name}<{','.join(arguments)}>"
        head = f"{name}`{len(arguments)}"
        if self._style == "short":
            return f"{head}[{','.join(arguments)}]"
        told = ",".join(f"[{a}, {a.split('.')[0]}]" for a in arguments)
        return f"{head}[{told}]"

    def type(self, name: str, fields: Sequence[str] = ()) -> str:
        """Declare the fields of a type of the program."""
        self.heap.fields[name] = tuple(fields)
        return name

    def nested(self, outer: str, name: str) -> str:
        """A type within another, which may be generic; a trace has its name alone."""
        at = min((outer.find(mark) for mark in "`<" if mark in outer), default=None)
        if self._style == "short":
            return name + ("" if at is None else outer[outer.index("[", at) :])
        if self._style == "csharp" and at is not None:
            return f"{outer[:at]}+{name}{outer[at:]}"
        return f"{outer}+{name}"

    def object(self, name: str, held: Iterable[int] = (), extra: int = 8) -> int:
        """An instance with a pointer for each reference and so many bytes more."""
        targets = list(held)
        return self.heap.add(name, 16 + 8 * len(targets) + extra, targets)

    def string(self, length: int) -> int:
        return self.heap.add(STRING, (22 + 2 * length + 7) // 8 * 8)

    def bytes(self, length: int) -> int:
        return self.heap.add(BYTES, (24 + length + 7) // 8 * 8)

    def array(self, element: str, held: Sequence[int], capacity: int = 0) -> int:
        room = max(len(held), capacity)
        return self.heap.add(element + "[]", 24 + 8 * room, held)

    def list(self, element: str, held: Sequence[int]) -> int:
        items = self.array(element, held, 1 << max(2, (len(held) - 1).bit_length()))
        return self.heap.add(self.generic(_LIBRARY + "List", element), 32, [items])

    def map(self, key: str, value: str, pairs: Sequence[tuple[int, int]]) -> int:
        name = self.generic(_LIBRARY + "Dictionary", key, value)
        return self._hashed(name, [each for pair in pairs for each in pair], len(pairs))

    def set(self, element: str, held: Sequence[int]) -> int:
        return self._hashed(
            self.generic(_LIBRARY + "HashSet", element), held, len(held)
        )

    def _hashed(self, name: str, held: Sequence[int], count: int) -> int:
        room = count * 5 // 4 + 3
        buckets = self.heap.add("System.Int32[]", 24 + 4 * room)
        entries = self.array(self.nested(name, "Entry"), held, 3 * room)
        return self.heap.add(name, 80, [buckets, entries])

    def concurrent_map(
        self, key: str, value: str, pairs: Sequence[tuple[int, int]]
    ) -> int:
        """Tables, buckets, and chains of nodes."""
        name = self.generic(
            "System.Collections.Concurrent.ConcurrentDictionary", key, value
        )
        room, node_type = max(31, len(pairs) // 2), self.nested(name, "Node")
        buckets: list[int] = []
        for row, (one, other) in enumerate(pairs):
            after = [buckets[row % room]] if row >= room else []
            node = self.heap.add(node_type, 48, [one, other, *after])
            if row < room:
                buckets.append(node)
            else:
                buckets[row % room] = node
        nodes = self.array(node_type, buckets, room)
        locks = [self.heap.add(OBJECT, 24) for _ in range(4)]
        tables = self.heap.add(f"{name}+Tables", 48, [nodes, self.array(OBJECT, locks)])
        return self.heap.add(name, 64, [tables])

    def queue(self, element: str, held: Sequence[int]) -> int:
        items = self.array(element, held, 1 << max(2, (len(held) - 1).bit_length()))
        return self.heap.add(self.generic(_LIBRARY + "Queue", element), 40, [items])

    def linked_list(self, element: str, held: Sequence[int]) -> int:
        """Nodes in a ring, each of which refers to the list."""
        node = self.generic(_LIBRARY + "LinkedListNode", element)
        heap = self.heap
        head = heap.add(self.generic(_LIBRARY + "LinkedList", element), 48)
        nodes = [heap.add(node, 48, [head, each]) for each in held]
        for row, each in enumerate(nodes):
            heap.held[each] += [nodes[(row + 1) % len(nodes)], nodes[row - 1]]
        heap.held[head] = nodes[:1]
        return head

    def delegate(self, target: int, name: str = "System.EventHandler") -> int:
        return self.heap.add(name, 64, [target])

    def event(self, targets: Sequence[int], name: str = "System.EventHandler") -> int:
        """A delegate of many, as ``event`` makes it."""
        room = 1 << max(2, (len(targets) - 1).bit_length())
        calls = self.array(OBJECT, [self.delegate(t, name) for t in targets], room)
        head = self.heap.add(name, 64, [calls])
        self.heap.held[head].append(head)
        return head

    def closure(self, inside: str, captured: Sequence[int]) -> int:
        """A delegate, and the object with the variables that it captures."""
        scope = self.object(self.nested(inside, "<>c__DisplayClass4_0"), captured, 0)
        return self.delegate(scope, "System.Action")

    def timers(self, callbacks: Sequence[int]) -> None:
        """One queue of the runtime's timers, held by a static."""
        after: list[int] = []
        for each in callbacks:
            holder = self.heap.add("System.Threading.TimerCallback", 64, [each])
            after = [self.heap.add("System.Threading.TimerQueueTimer", 96,
                                   [holder, *after])]  # fmt: skip
        queue = self.heap.add("System.Threading.TimerQueue", 64, after)
        queues = self.array("System.Threading.TimerQueue", [queue])
        self.static("System.Threading.TimerQueue", "<Instances>k__BackingField", queues)

    def static(self, owner: str, name: str, held: int) -> None:
        """A static field."""
        if self._table is not None:
            self.heap.held[self._table].append(held)
        self.heap.root(held, model.STATIC, owner, name)
        self.heap.type(owner)

    def thread(self, held: Sequence[int] = ()) -> int:
        """A thread; what its stack refers to are roots."""
        thread = self.heap.add("System.Threading.Thread", 104, [self.string(16)])
        self.heap.root(thread, model.HANDLE)
        for each in held:
            self.heap.root(each, model.LOCAL)
        return thread
