"""Dumps of small programs as time passes: some leak, some only work.

Each dump is a gclog. Objects are written in a new order under new addresses every time,
as if a compacting collector had moved them. Ten objects a step is all that a leak adds.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INTERNAL, LOCAL, FINALIZER, HANDLE, STATIC, RUNTIME = range(6)
LEAKED = 10
"""Objects that a leak adds from one dump to the next."""


@dataclass
class Program:
    """The heap of a program at one time.

    Attributes:
        step: Which dump of the program it is, from 0: the warm-up.
        chance: The same for all dumps of a program, so that they begin alike.
        now: For what differs from dump to dump.
    """

    step: int
    chance: random.Random
    now: random.Random
    objects: list[tuple[str, int, list[int]]] = field(default_factory=list)
    roots: list[tuple[int, int, str]] = field(default_factory=list)

    def obj(self, name: str, size: int, *to: int) -> int:
        """Add an object that refers to others; returns its number."""
        self.objects.append((name, size, list(to)))
        return len(self.objects) - 1

    def root(self, number: int, kind: int, owner: str = "") -> None:
        """Add a root; ``owner`` declares the static field."""
        self.roots.append((number, kind, owner))

    def array(self, name: str, items: list[int]) -> int:
        """An array with room for more, as lists and maps have."""
        room = 4
        while room < len(items):
            room *= 2
        return self.obj(f"{name}[]", 16 + 8 * room, *items)

    def list_of(self, name: str, items: list[int]) -> int:
        """A list."""
        kind = f"System.Collections.Generic.List`1[[{name}, Shop]]"
        return self.obj(kind, 32, self.array(name, items))

    def map_of(self, name: str, items: list[int]) -> int:
        """A dictionary by text."""
        kind = (
            "System.Collections.Generic.Dictionary`2[[System.String, mscorlib],"
            f"[{name}, Shop]]"
        )
        held = []
        for item in items:
            held += [self.text(), item]
        buckets = self.obj("System.Int32[]", 16 + 4 * len(items))
        entries = self.array(f"{kind}+Entry", held)
        return self.obj(kind, 80, buckets, entries)

    def text(self) -> int:
        """A string."""
        return self.obj("System.String", self.now.randrange(20, 80, 2))

    def things(self, name: str, count: int) -> list[int]:
        """Objects with a text each."""
        return [self.obj(name, 48, self.text()) for _ in range(count)]

    def dump(self) -> str:
        """The heap as a gclog, in a random order."""
        order = list(range(len(self.objects)))
        self.now.shuffle(order)
        address = {}
        at = 0x100000 * self.now.randrange(1, 50)
        for number in order:
            at += 3 * self.now.randrange(1, 4)
            address[number] = at
        kinds: dict[str, int] = {}
        lines = ["a 1 Shop.exe 0"]

        def kind_of(name: str) -> int:
            if name not in kinds:
                kinds[name] = len(kinds) + 1
                lines.append(f"t {kinds[name]:x} {name}")
            return kinds[name]

        for number in order:
            name, size, to = self.objects[number]
            kind = kind_of(name)
            held = "".join(f" {address[target]:x}" for target in to)
            lines.append(f"o {address[number]:x} {kind:x} {size:x}{held}")
        for number, root, owner in self.roots:
            of = f" {kind_of(owner):x}" if owner else ""
            lines.append(f"r {address[number]:x} {root:x} 0{of}")
        lines.append("c Shop.exe 1")
        return "\n".join(lines) + "\n"


def background(program: Program, objects: int) -> int:
    """What every program has: services, a catalogue, a tree of a user interface."""
    services = program.things("Shop.Service", 20)
    count = max((objects - 200) // 6, 1)
    products = [
        program.obj("Shop.Product", 56, program.text(), program.obj("Shop.Price", 24))
        for _ in range(count)
    ]
    catalogue = program.map_of("Shop.Product", products)
    controls: list[int] = []
    for _ in range(count):
        below = [controls.pop() for _ in range(program.chance.randrange(3)) if controls]
        controls.append(program.obj("Shop.Control", 64, program.text(), *below))
    window = program.obj("Shop.Window", 96, program.list_of("Shop.Control", controls))
    app = program.obj(
        "Shop.App", 64, catalogue, window, program.list_of("Shop.Service", services)
    )
    program.root(app, STATIC, "Shop.App")
    program.root(app, LOCAL)
    return app


# ------------------------------------------------------------------ leaks


def leaked(program: Program, name: str) -> list[int]:
    """The objects that have leaked so far: some before the first dump, too."""
    return program.things(name, 40 + LEAKED * program.step)


def static_list(program: Program) -> None:
    items = leaked(program, "Shop.Order")
    program.root(program.list_of("Shop.Order", items), STATIC, "Shop.History")


def event_handler(program: Program) -> None:
    handlers = [
        program.obj("Shop.PriceChangedHandler", 64, one)
        for one in leaked(program, "Shop.PriceView")
    ]
    event = program.obj(
        "Shop.PriceChangedHandler", 64, program.array("System.Object", handlers)
    )
    program.root(event, STATIC, "Shop.Prices")


def cache_without_bound(program: Program) -> None:
    cache = program.map_of("Shop.Thumbnail", leaked(program, "Shop.Thumbnail"))
    holder = program.obj("Shop.ThumbnailCache", 32, cache)
    program.root(holder, STATIC, "Shop.ThumbnailCache")


def closure(program: Program) -> None:
    actions = [
        program.obj(
            "System.Action",
            64,
            program.obj("Shop.Checkout+<>c__DisplayClass3_0", 32, one),
        )
        for one in leaked(program, "Shop.Basket")
    ]
    later = program.obj("Shop.Later", 24, program.list_of("System.Action", actions))
    program.root(later, STATIC, "Shop.Later")


def thread_local(program: Program) -> None:
    held = program.list_of("Shop.Scratch", leaked(program, "Shop.Scratch"))
    slots = program.array("System.Object", [held])
    thread = program.obj("System.Threading.Thread", 72, slots)
    program.root(thread, LOCAL)


def timer(program: Program) -> None:
    chain = 0
    for one in leaked(program, "Shop.Poller"):
        callback = program.obj("System.Threading.TimerCallback", 64, one)
        further = [chain] if chain else []
        chain = program.obj("System.Threading.TimerQueueTimer", 88, callback, *further)
    queue = program.obj("System.Threading.TimerQueue", 64, chain)
    program.root(queue, STATIC, "System.Threading.TimerQueue")


def detached_node(program: Program) -> None:
    dialogs = [
        program.obj("Shop.Dialog", 96, one) for one in leaked(program, "Shop.Button")
    ]
    focus = program.obj("Shop.FocusHistory", 32, program.array("Shop.Dialog", dialogs))
    program.root(focus, HANDLE)


def linked_list(program: Program) -> None:
    head = program.obj("Shop.UndoStep", 40)
    for one in leaked(program, "Shop.Edit"):
        head = program.obj("Shop.UndoStep", 40, one, head)
    program.root(program.obj("Shop.Undo", 24, head), STATIC, "Shop.Editor")


def map_keyed_by_mutable(program: Program) -> None:
    kind = "System.Collections.Generic.Dictionary`2[[Shop.Key, Shop],[Shop.Tax, Shop]]"
    held = []
    for one in leaked(program, "Shop.Tax"):
        held += [program.obj("Shop.Key", 24), one]
    entries = program.array(f"{kind}+Entry", held)
    program.root(program.obj(kind, 80, entries), STATIC, "Shop.Taxes")


def resurrecting_finalizer(program: Program) -> None:
    items = leaked(program, "Shop.Connection")
    for one in items[-3:]:
        program.root(one, FINALIZER)
    pool = program.obj("Shop.Pool", 32, program.array("Shop.Connection", items))
    program.root(pool, STATIC, "Shop.Pool")


LEAKS: tuple[Callable[[Program], None], ...] = (
    static_list,
    event_handler,
    cache_without_bound,
    closure,
    thread_local,
    timer,
    detached_node,
    linked_list,
    map_keyed_by_mutable,
    resurrecting_finalizer,
)

LEAKING = {
    "static_list": "Shop.Order",
    "event_handler": "Shop.PriceChangedHandler",
    "cache_without_bound": "Shop.Thumbnail",
    "closure": "Shop.Basket",
    "thread_local": "Shop.Scratch",
    "timer": "Shop.Poller",
    "detached_node": "Shop.Dialog",
    "linked_list": "Shop.UndoStep",
    "map_keyed_by_mutable": "Shop.Tax",
    "resurrecting_finalizer": "Shop.Connection",
}
"""The type of the program that each leak accumulates, topmost."""


# ------------------------------------------------------------------ steady work


def requests(program: Program) -> None:
    """What stacks hold: any number of requests, each with its own objects."""
    for one in program.things("Shop.Request", program.now.randrange(60)):
        body = program.obj("Shop.Body", 64, *program.things("Shop.Field", 4), one)
        program.root(body, LOCAL)


def workers(program: Program) -> None:
    """Eight threads, each with a current job or none."""
    for _ in range(8):
        jobs = program.things("Shop.Job", program.now.randrange(2))
        program.root(program.obj("Shop.Worker", 64, *jobs), LOCAL)


def sessions(program: Program) -> None:
    """A table whose sessions come and go: two percent more or less."""
    usual = program.chance.randrange(50, 400)
    count = round(usual * program.now.uniform(0.98, 1.02))
    table = program.map_of("Shop.Session", program.things("Shop.Session", count))
    program.root(table, STATIC, "Shop.Sessions")


def full_cache(program: Program) -> None:
    """A cache with a bound: always full, always with other objects."""
    size = program.chance.randrange(50, 500)
    cache = program.map_of("Shop.Image", program.things("Shop.Image", size))
    program.root(cache, STATIC, "Shop.Images")


def resizing_map(program: Program) -> None:
    """A map that doubles its table between two dumps."""
    room = 16 << (program.step + program.chance.randrange(3))
    items = program.things("Shop.Setting", 12)
    name = "System.Collections.Generic.Dictionary`2[[System.String],[Shop.Setting]]"
    entries = program.obj(f"{name}+Entry[]", 16 + 24 * room, *items)
    program.root(program.obj(name, 80, entries), STATIC, "Shop.Settings")


def warm_cache(program: Program) -> None:
    """A cache that fills once, before the dump after the warm-up or before the next."""
    full = program.chance.randrange(1, 3)
    size = program.chance.randrange(20, 300)
    items = program.things("Shop.Font", size if program.step >= full else size // 9)
    program.root(program.list_of("Shop.Font", items), STATIC, "Shop.Fonts")


def moved(program: Program) -> None:
    """Objects that go from one list to another: orders that are shipped."""
    total, share = program.chance.randrange(60, 200), program.step / 4
    items = program.things("Shop.Parcel", total)
    done = round(total * share)
    out = program.obj("Shop.Shipped", 24, program.array("Shop.Parcel", items[:done]))
    left = program.obj("Shop.Waiting", 24, program.array("Shop.Parcel", items[done:]))
    program.root(out, STATIC, "Shop.Depot")
    program.root(left, STATIC, "Shop.Depot")


def late_static(program: Program) -> None:
    """A static field that is set when it is first needed."""
    if program.step >= program.chance.randrange(1, 4):
        items = program.things("Shop.Country", program.chance.randrange(5, 200))
        program.root(program.list_of("Shop.Country", items), STATIC, "Shop.Countries")


def fluctuating(program: Program) -> None:
    """A cache whose size moves by up to ten percent, whatever the work was."""
    usual = program.chance.randrange(200, 1000)
    count = round(usual * program.now.uniform(0.9, 1.1))
    cache = program.map_of("Shop.Quote", program.things("Shop.Quote", count))
    program.root(cache, STATIC, "Shop.Quotes")


def filling(program: Program) -> None:
    """A cache with a bound that fills more slowly the fuller it is."""
    bound = program.chance.randrange(300, 1500)
    pace = program.chance.uniform(0.5, 4)
    count = round(bound * (1 - math.exp(-(program.step + 1) / pace)))
    cache = program.map_of("Shop.Page", program.things("Shop.Page", count))
    program.root(cache, STATIC, "Shop.Pages")


def shared(program: Program) -> None:
    """Objects that come to be referred to from a second place, nearer to a root."""
    usual = program.chance.randrange(200, 600)
    count = round(usual * program.now.uniform(0.98, 1.02))
    items = program.things("Shop.Seat", count)
    rows = program.list_of("Shop.Seat", items)
    program.root(program.obj("Shop.Hall", 24, rows), STATIC, "Shop.Halls")
    seen = items[: count // 8 * (program.step + 1)]
    program.root(program.array("Shop.Seat", seen), STATIC, "Shop.Views")


def garbage(program: Program) -> None:
    """What nothing holds any more."""
    program.things("Shop.Order", program.now.randrange(200))


def finalizers(program: Program) -> None:
    """Objects that wait for their finalizer."""
    for one in program.things("Shop.Stream", program.now.randrange(30)):
        program.root(one, FINALIZER)


STEADY: tuple[Callable[[Program], None], ...] = (
    requests,
    workers,
    sessions,
    full_cache,
    resizing_map,
    warm_cache,
    moved,
    late_static,
    garbage,
    finalizers,
)


UNSTEADY = (fluctuating, filling, resizing_map, shared)
"""Caches and collections that change from dump to dump and leak nothing."""


def programs_of(
    parts: tuple[Callable[[Program], None], ...],
    objects: int,
    seed: int,
    steps: int = 3,
) -> list[Program]:
    """One program as time passes."""
    found = []
    for step in range(steps):
        program = Program(step, random.Random(seed), random.Random(1000 * seed + step))
        background(program, objects)
        for part in parts:
            part(program)
        found.append(program)
    return found


def dumps_of(
    parts: tuple[Callable[[Program], None], ...],
    objects: int,
    seed: int,
    steps: int = 3,
) -> list[str]:
    """Dumps of one program as time passes, the first one being the warm-up."""
    return [program.dump() for program in programs_of(parts, objects, seed, steps)]
