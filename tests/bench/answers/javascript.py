"""The objects that V8 and Node.js make for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.answers.model import Heap

CONTEXT, NATIVE_CONTEXT, SHARED, SCRIPT, ELEMENTS, TABLE, DATA = (
    "system / Context", "system / NativeContext", "(shared function info)",
    "(script)", "(object elements)", "(table)", "system / JSArrayBufferData",
)  # fmt: skip
INTERNAL_FIELDS = {
    "Array": ("elements",), "Map": ("table",), "Set": ("table",),
    "Function": ("context", "shared"), "ArrayBuffer": ("backing_store",),
    "Uint8Array": ("buffer",), SHARED: ("script_or_debug_info",),
    CONTEXT: ("previous",),
}  # fmt: skip
"""By type: the names of its first references, which V8 has as internal ones."""

_FIELDS = {
    "Module": ("exports",),
    "Timeout": ("_idlePrev", "_idleNext", "_onTimeout"),
    "TimersList": ("_idleNext", "_idlePrev"),
    "EventEmitter": ("_events",),
}
_LOADER = "node:internal/modules/cjs/loader"
_TIMERS = "node:internal/timers"


class JavaScript:
    """Adds objects of Node.js to a heap.

    Names that only one object has, such as the variables of a context or the keys of a
    plain object, are the object's ``values``; so is the text of a script.
    """

    string_type, bytes_type = "(string)", "Uint8Array"

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        heap.fields.update(_FIELDS)
        self._native = heap.add(NATIVE_CONTEXT, 1_000)
        heap.root(self._native, model.RUNTIME)
        self._modules: dict[str, int] = {}
        self._shared: dict[int, int] = {}
        # Modules of the program are entries of the loader's cache.
        self._cache = self.plain()
        self.static(_LOADER, "cache", self._cache)

    def module(self, owner: str) -> str:
        """The type of the context that has the variables of such a static's script."""
        return f"module {_path(owner)}"

    def type(self, name: str, fields: Sequence[str] = ()) -> str:
        self.heap.fields[name] = tuple(fields)
        return name

    def nested(self, outer: str, name: str) -> str:
        return f"{outer}{name}"

    def object(self, name: str, held: Iterable[int] = (), extra: int = 8) -> int:
        targets = list(held)
        return self.heap.add(name, 16 + 8 * len(targets) + extra, targets)

    def plain(self, **fields: int) -> int:
        """A plain object."""
        number = self.object("Object", fields.values())
        self.heap.values[number] = list(fields)
        return number

    def string(self, length: int) -> int:
        return self.heap.add(self.string_type, (16 + length + 7) // 8 * 8)

    def bytes(self, length: int) -> int:
        buffer = self.object("ArrayBuffer", [self.heap.add(DATA, length)], 64)
        return self.object(self.bytes_type, [buffer], 80)

    def array(self, _: str, held: Sequence[int], capacity: int = 0) -> int:
        room = max(len(held), capacity)
        elements = self.heap.add(ELEMENTS, 16 + 8 * room, held)
        return self.heap.add("Array", 32, [elements, *held])

    def list(self, element: str, held: Sequence[int]) -> int:
        return self.array(element, held, len(held) + len(held) // 2 + 16)

    queue = linked_list = list

    def map(self, key: str, value: str, pairs: Sequence[tuple[int, int]]) -> int:
        return self._hashed("Map", [each for pair in pairs for each in pair])

    concurrent_map = map

    def _hashed(self, name: str, held: Sequence[int]) -> int:
        table = self.heap.add(TABLE, 40 + 12 * len(held), held)
        return self.heap.add(name, 32, [table])

    def delegate(self, target: int, name: str = "") -> int:
        """A function that captures one object."""
        return self._function(self._main(), {"self": target})

    def event(self, targets: Sequence[int], name: str = "") -> int:
        """An emitter with a listener for each."""
        listeners = self.list("", [self.delegate(each) for each in targets])
        return self.object("EventEmitter", [self.plain(change=listeners)], 40)

    def closure(self, inside: str, captured: Sequence[int]) -> int:
        names = {f"captured{row}": each for row, each in enumerate(captured)}
        return self._function(self._main(), names)

    def timers(self, callbacks: Sequence[int]) -> None:
        heap = self.heap
        made = [
            self.object("Timeout", [-1, -1, self.delegate(each)], 64)
            for each in callbacks
        ]
        ring = [self.object("TimersList", [-1, -1], 40), *made]
        for row, each in enumerate(ring):
            following, before = ring[(row + 1) % len(ring)], ring[row - 1]
            heap.held[each][:2] = [before, following] if row else [following, before]
        lists = self.plain(**{"60000": ring[0]})
        self.static(_TIMERS, "timerListMap", lists)

    def static(self, owner: str, name: str, held: int) -> None:
        """A variable of a script that its functions use."""
        context = self._context_of(owner)
        self.heap.held[context].append(held)
        self.heap.values[context].append(name)

    def thread(self, held: Sequence[int] = ()) -> int:
        """What the stack refers to are roots; a thread has no object."""
        for each in held:
            self.heap.root(each, model.LOCAL)
        return self._native

    def metadata(self, length: int) -> int:
        """What V8 knows of a function, with its name."""
        return self.heap.add(SHARED, 64, [-1, self.string(length)])

    def _main(self) -> int:
        return self._context_of("main")

    def _context_of(self, owner: str) -> int:
        """The context of a script, whose module exports a function."""
        if (known := self._modules.get(owner)) is not None:
            return known
        heap, path = self.heap, _path(owner)
        script = heap.add(SCRIPT, 144)
        heap.values[script] = path
        context = heap.add(CONTEXT, 64, [self._native])
        heap.values[context] = []
        shared = heap.add(SHARED, 64, [script])
        function = self.object("Function", [context, shared], 32)
        if path.startswith("node:"):
            heap.root(function, model.RUNTIME)
        else:
            # Each module exports other names: those of one class would be a pile.
            exports = self.plain(**{f"use{owner}": function})
            module = self.object("Module", [exports], 80)
            heap.held[self._cache].append(module)
            heap.values[self._cache].append(path)
        self._modules[owner], self._shared[context] = context, shared
        return context

    def _function(self, outer: int, captured: dict[str, int]) -> int:
        """A function with a context of its own, declared in the script of ``outer``."""
        context = self.heap.add(
            CONTEXT, 24 + 8 * len(captured), [outer, *captured.values()]
        )
        self.heap.values[context] = list(captured)
        return self.object("Function", [context, self._shared[outer]], 32)


def _path(owner: str) -> str:
    return owner if owner.startswith("node:") else f"/srv/app/{owner}.js"
