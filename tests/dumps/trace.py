"""A heap that is born, moves and dies as collections say, and knows which is which."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.heap.graph import Domain, GarbageCollection, HeapGraph, Part, RootKind
from ingest.heap.history import LARGE, OLDEST, Allocations, Bounds, History, Survival

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOM = 4000


TYPES = ("App.Session", "System.String", "App.Order", "System.Byte[]")
SITES = (("App.Make", "App.Main"), ("App.Fill", "App.Make", "App.Main"))


@dataclass(slots=True, eq=False)
class Thing:
    """An object that knows who it is.

    Attributes:
        at: Where it is.
        born: Collections before it was allocated.
        born_at: Where it was then.
        survived: Collections that looked at it and left it alive.
    """

    at: int
    size: int
    generation: int
    born: int
    type: int
    site: int
    born_at: int = 0
    survived: int = 0
    is_garbage: bool = False


class Seen(NamedTuple):
    """An object as one dump has it."""

    thing: Thing
    at: int
    survived: int
    generation: int


@dataclass(frozen=True)
class Dump:
    """What a full collection left alive.

    Attributes:
        upto: Collections until then, this one too.
        objects: In the order of the dump.
    """

    upto: int
    objects: list[Seen]


@dataclass(slots=True, eq=False)
class Heap:
    """A heap in which objects are born, die and move; dead ones lie until collected."""

    chance: random.Random
    things: list[Thing] = field(default_factory=list)
    collections: list[Survival] = field(default_factory=list)
    dumps: list[Dump] = field(default_factory=list)
    made: list[Thing] = field(default_factory=list)

    def allocate(self, many: int) -> None:
        for _ in range(many):
            size = self.chance.choice([8, 16, 24])
            old = self.chance.random() < 0.1
            thing = Thing(
                0, size, LARGE if old else 0, len(self.collections),
                self.chance.randrange(len(TYPES)), self.chance.randrange(len(SITES)),
            )  # fmt: skip
            if self.place(thing):
                thing.born_at = thing.at
                self.things.append(thing)
                self.made.append(thing)

    def place(self, thing: Thing) -> bool:
        taken = {
            at
            for other in self.things
            for at in range(other.at, other.at + other.size, 8)
        }
        for _ in range(50):
            at = 8 * self.chance.randrange(1, ROOM // 8)
            if taken.isdisjoint(range(at, at + thing.size, 8)):
                thing.at = at
                return True
        return False

    def bounds(self) -> Bounds:
        things = sorted(self.things, key=lambda thing: thing.at)
        return Bounds(
            np.array([t.at for t in things], np.uint64),
            np.array([t.at + t.size for t in things], np.uint64),
            np.array([t.generation for t in things], np.int8),
        )

    def collect(self, generation: int, *, background: bool = False) -> None:
        before = self.bounds()
        youngest = OLDEST if background else 0
        for thing in self.things:
            thing.is_garbage |= self.chance.random() < 0.3

        def condemned(thing: Thing) -> bool:
            return thing.generation >= youngest and (
                thing.generation <= generation or generation >= OLDEST
            )

        survivors = [t for t in self.things if condemned(t) and not t.is_garbage]
        rest = [t for t in self.things if not condemned(t)]
        ranges = []
        moves = not background and self.chance.random() < 0.7
        self.things = [*rest, *(t for t in survivors if not moves)]
        for thing in survivors:
            was = thing.at
            if moves and not self.place(thing):
                continue
            if moves:
                self.things.append(thing)
            thing.survived += 1
            if thing.generation < OLDEST:
                thing.generation += 1
            ranges.append((was, thing.at, thing.size))
        self.chance.shuffle(ranges)
        old, new, length = (
            np.array([entry[at] for entry in ranges], np.uint64) for at in range(3)
        )
        self.collections.append(
            Survival(
                len(self.collections) + 1, generation, old, new, length,
                None if background else before, self.bounds(), youngest=youngest,
            )
        )  # fmt: skip

    def dump(self) -> None:
        """A dump is what a full collection has left alive."""
        self.collect(OLDEST)
        found = [Seen(t, t.at, t.survived, t.generation) for t in self.things]
        self.chance.shuffle(found)
        self.dumps.append(Dump(len(self.collections), found))


def live(seed: int, steps: Sequence[int]) -> Heap:
    """A heap's life, and a dump at its end.

    Args:
        seed: Of its chances.
        steps: Collections of generation 0, 1 or 2; 3 for a dump, 4 for a background
            collection.
    """
    heap = Heap(random.Random(seed))
    heap.allocate(30)
    for step in steps:
        heap.allocate(heap.chance.randrange(20))
        if step == 3:
            heap.dump()
        elif step == 4:
            heap.collect(OLDEST, background=True)
        else:
            heap.collect(step)
    heap.dump()
    return heap


def graphs(heap: Heap) -> list[HeapGraph]:
    """Its dumps as a reader makes them.

    References, which make no circle, and roots are by chance.
    """
    return [_graph(heap, dump) for dump in heap.dumps]


def _graph(heap: Heap, dump: Dump) -> HeapGraph:
    n, chance = len(dump.objects), random.Random(dump.upto)
    counts = [chance.randrange(2) if row < n - 1 else 0 for row in range(n)]
    targets = [chance.randrange(row + 1, n) for row in range(n) if counts[row]]
    roots = [row for row in range(n) if chance.random() < 0.3]
    made = heap.made
    return HeapGraph(
        format_name="trace",
        object_count=n,
        object_id=np.array([seen.at for seen in dump.objects], np.uint64),
        type_index=np.array([seen.thing.type for seen in dump.objects], np.int32),
        shallow_bytes=np.array([seen.thing.size for seen in dump.objects], np.int64),
        ref_start=np.cumsum([0, *counts]).astype(np.int64),
        ref_target=np.array(targets, np.int32),
        root_object=np.array(roots, np.int32),
        root_kind=np.full(len(roots), RootKind.HANDLE, np.uint8),
        root_flags=np.zeros(len(roots), np.uint8),
        root_type=np.full(len(roots), -1, np.int32),
        type_names=TYPES,
        type_domain=np.zeros(len(TYPES), np.int32),
        domains=(Domain("process 1"),),
        generation=np.array([seen.generation for seen in dump.objects], np.int8),
        collections=tuple(
            GarbageCollection(
                one.number, one.generation, "induced", "blocking", 1000 * one.number,
                is_dump=row == dump.upto - 1,
            )
            for row, one in enumerate(heap.collections)
        ),
        history=History(
            tuple(heap.collections[: dump.upto]),
            Allocations(
                np.array([thing.born for thing in made], np.int32),
                np.array([thing.born_at for thing in made], np.uint64),
                np.array([thing.site for thing in made], np.int32),
                np.arange(len(made), dtype=np.int64),
                SITES,
            ),
        ),
        part=Part(heap.collections[dump.upto - 1].number, len(dump.objects)),
        other_parts=tuple(
            Part(heap.collections[other.upto - 1].number, len(other.objects))
            for other in heap.dumps
            if other is not dump
        ),
    )  # fmt: skip
