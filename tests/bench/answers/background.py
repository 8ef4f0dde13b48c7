"""What a healthy program has in its heap: many things, and much of none of them.

A piece is a small structure of one or two types of the program. Pieces hang from
statics, stacks and each other, and each is a small part of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model
from tests.bench.answers.dotnet import DotNet
from tests.bench.answers.javascript import JavaScript

if TYPE_CHECKING:
    from random import Random

    from tests.bench.answers.dart import Dart
    from tests.bench.answers.model import Heap
    from tests.bench.answers.names import Names

_PIECE_SHARE = 1 / 120
"""Of a heap, at the most: what a piece has."""


class Background:
    """Adds pieces to a heap until it has enough."""

    def __init__(
        self,
        heap: Heap,
        runtime: DotNet | Dart | JavaScript,
        names: Names,
        random: Random,
    ) -> None:
        self._heap, self._runtime = heap, runtime
        self._names, self._random = names, random
        self._types: list[str] = []
        self._holders: list[int] = []
        self._strings: list[int] = []

    def fill(self, target_bytes: int) -> None:
        """Add pieces of so many bytes in all."""
        heap, random = self._heap, self._random
        end = heap.total_bytes + target_bytes
        most = max(400, int(target_bytes * _PIECE_SHARE))
        self._threads()
        self._strings = self._intern(max(5, target_bytes // 30_000))
        shapes = [
            self._records, self._settings, self._services, self._screen, self._buffers,
            self._listeners, self._chain, self._metadata, self._garbage,
        ]  # fmt: skip
        while heap.total_bytes < end:
            limit = min(end - heap.total_bytes, most)
            self._attach(random.choice(shapes)(int(limit * random.uniform(0.2, 1))))

    def _type(self) -> str:
        """One of the program's types, often one that was used before."""
        if self._types and self._random.random() < 0.5:
            return self._random.choice(self._types)
        name = self._runtime.type(
            self._names.type(), [self._names.field() for _ in range(3)]
        )
        self._types.append(name)
        return name

    def _attach(self, piece: int | None) -> None:
        """Let a static, a stack or another piece hold this one."""
        if piece is None:
            return
        runtime, random = self._runtime, self._random
        if random.random() < 0.1:
            runtime.static(self._type(), self._names.field(), piece)
            return
        owner = runtime.object(self._type(), [piece, random.choice(self._strings)])
        if random.random() < 0.25 or not self._holders:
            runtime.static(self._type(), self._names.field(), owner)
        elif random.random() < 0.1:
            self._heap.root(owner, random.choice([model.LOCAL, model.HANDLE]))
        else:
            self._heap.held[random.choice(self._holders)].append(owner)
        self._holders.append(owner)

    def _threads(self) -> None:
        for _ in range(self._random.randint(3, 9)):
            self._runtime.thread()

    def _intern(self, count: int) -> list[int]:
        """Literals, which the runtime holds, and others may share."""
        strings = [self._runtime.string(self._length()) for _ in range(count)]
        for begin in range(0, count, 500):
            held = strings[begin : begin + 500]
            if isinstance(self._runtime, DotNet):
                table = self._runtime.array("System.Object", held, 1020)
                self._heap.root(table, model.PINNED)
            else:
                self._heap.root(self._runtime.array("", held), model.RUNTIME)
        return strings

    def _length(self) -> int:
        return min(400, int(self._random.paretovariate(1.3) * 6))

    def _room(self, limit: int) -> int:
        return self._heap.total_bytes + limit

    def _record(self, kind: str) -> int:
        held = [self._random.choice(self._strings)]
        if self._random.random() < 0.6:
            held.append(self._runtime.string(self._length()))
        return self._runtime.object(kind, held, self._random.choice([0, 8, 24]))

    def _records(self, limit: int) -> int:
        """A list or a queue of records."""
        kind, end, made = self._type(), self._room(limit), []
        while self._heap.total_bytes < end:
            made.append(self._record(kind))
        if self._random.random() < 0.3:
            return self._runtime.queue(kind, made)
        return self._runtime.list(kind, made)

    def _settings(self, limit: int) -> int:
        """A dictionary by name."""
        kind, end, pairs = self._type(), self._room(limit), []
        plain = self._random.random() < 0.4
        runtime = self._runtime
        while self._heap.total_bytes < end:
            value = runtime.string(self._length()) if plain else self._record(kind)
            pairs.append((runtime.string(self._length()), value))
        return runtime.map(
            runtime.string_type, runtime.string_type if plain else kind, pairs
        )

    def _services(self, limit: int) -> int:
        """Single objects of many types that refer to each other."""
        end, made = self._room(limit), [self._runtime.object(self._type())]
        while self._heap.total_bytes < end:
            held = self._random.sample(made, min(len(made), self._random.randint(1, 3)))
            made.append(self._runtime.object(self._type(), held, 40))
            if self._random.random() < 0.5:
                self._heap.held[made[0]].append(made[-1])
        return made[-1]

    def _screen(self, limit: int) -> int:
        """A tree of elements of several types; a child refers to its parent."""
        kinds = [self._type() for _ in range(5)]
        top = self._runtime.object(kinds[0], [], 64)
        made, end = [top], self._room(limit)
        while self._heap.total_bytes < end:
            parent = made[self._random.randrange(max(0, len(made) - 12), len(made))]
            child = self._runtime.object(self._random.choice(kinds), [parent], 48)
            self._heap.held[parent].append(child)
            made.append(child)
        return top

    def _buffers(self, limit: int) -> int:
        """A pool of a few byte arrays."""
        count = self._random.randint(2, 6)
        made = [self._runtime.bytes(limit // count) for _ in range(count)]
        return self._runtime.list(self._runtime.bytes_type, made)

    def _listeners(self, limit: int) -> int:
        """An object with an event that a few others listen to."""
        count = self._random.randint(2, 5)
        targets = [self._record(self._type()) for _ in range(count)]
        targets.append(self._records(limit // 2))
        return self._runtime.object(self._type(), [self._runtime.event(targets)])

    def _chain(self, limit: int) -> int:
        """A list of nodes that refer to each other."""
        kind, end, made = self._type(), self._room(limit // 2), []
        while self._heap.total_bytes < end:
            made.append(self._record(kind))
        return self._runtime.linked_list(kind, made or [self._record(kind)])

    def _metadata(self, limit: int) -> None:
        """What the runtime knows of the program's types."""
        end, runtime, heap = self._room(limit), self._runtime, self._heap
        while heap.total_bytes < end:
            if isinstance(runtime, DotNet):
                method = heap.add("System.Reflection.RuntimeMethodInfo", 104)
                cache = heap.add("System.RuntimeType+RuntimeTypeCache", 152, [method])
                number = heap.add("System.RuntimeType", 40, [cache])
                heap.held[method].append(number)
            elif isinstance(runtime, JavaScript):
                number = runtime.metadata(self._length())
            else:
                code = heap.add("Code", 144, [runtime.null, runtime.null])
                name = runtime.string(self._length())
                number = heap.add("Function", 88, [name, runtime.null, code])
            heap.root(number, model.RUNTIME)

    def _garbage(self, limit: int) -> None:
        """Objects that nothing holds."""
        self._records(limit // 2)
