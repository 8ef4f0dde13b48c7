"""A small known .NET heap, as a trace tells it: what only its runtime has."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import Sampling
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.nettrace import NetTrace

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph

STACK, FINALIZER, HANDLE = 0, 1, 2
PINNED, WEAK = 1, 2
OLD, YOUNG, LARGE = 0x10000, 0x30000, 0x40000
"""Where segments begin."""

EVENT, CLICK = "System.EventHandler", "System.EventHandler`1[App.Click]"
BOX = (
    "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1"
    "+AsyncStateMachineBox`1[System.Int32,App.Loader+<LoadAsync>d__3]"
)
HANDLER_LIST, TIMER = "System.Object[]", "System.Threading.TimerQueueTimer"


@dataclass
class Program:
    """Objects with their types by name; each new one lies behind the one before."""

    objects: dict[int, tuple[str, int, list[int]]] = field(default_factory=dict)
    roots: list[tuple[int, int, int]] = field(default_factory=list)
    statics: list[tuple[int, int, str]] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    types: dict[str, int] = field(default_factory=dict)
    at: int = OLD

    def add(self, kind: str, size: int, *held: int, gap: int = 0) -> int:
        """An object, so many bytes behind the last one; its address."""
        address = self.at + gap
        self.types.setdefault(kind, 0x1000 + len(self.types))
        self.objects[address] = (kind, size, list(held))
        self.at = address + size
        return address

    def refer(self, address: int, *held: int) -> None:
        """Let an object refer to more."""
        self.objects[address][2].extend(held)

    def handler(self, kind: str, target: int) -> int:
        """A delegate that calls ``target``."""
        return self.add(kind, 64, target)

    def multicast(self, kind: str, *handlers: int) -> int:
        """A delegate of several: to itself, a list with room, the last one's target."""
        handlers_list = self.add(HANDLER_LIST, 16 + 8 * len(handlers), *handlers, 0)
        made = self.add(kind, 64, handlers_list)
        self.refer(made, made, self.objects[handlers[-1]][2][0])
        return made

    def static(self, address: int, name: str, *, of_thread: bool = False) -> None:
        self.statics.append((address, int(of_thread), name))

    def root(self, address: int, kind: int = STACK, flags: int = 0) -> None:
        self.roots.append((address, kind, flags))

    def graph(self) -> HeapGraph:
        trace = NetTrace()
        trace.types({number: name for name, number in self.types.items()})
        trace.start(2)
        trace.statics(
            [
                (at, self.types[self.objects[at][0]], flags, name)
                for at, flags, name in self.statics
            ]
        )
        trace.roots(self.roots)
        trace.dependent(self.pairs)
        trace.nodes(
            (at, size, self.types[kind], len(held))
            for at, (kind, size, held) in self.objects.items()
        )
        trace.edges(to for _, _, held in self.objects.values() for to in held)
        for number, start, used in ((2, OLD, 0x8000), (0, YOUNG, 0x1000)):
            trace.generation(number, start, used, 0x10000)
        trace.generation(3, LARGE, 0x8000, 0x10000)
        trace.generation(4, 0x60000, 0, 0x10000)
        trace.end(2)
        trace.point()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "dump.nettrace"
            path.write_bytes(trace.file())
            with open_source(str(path)) as source:
                return read(source, ReadOptions(), silent)


def dotnet_heap() -> HeapGraph:
    """Events, timers, tasks, dependent handles, thread statics, pins, finalizers."""
    program = Program()
    windows = _events(program)
    _timers(program)
    _tasks(program)
    _dependent(program, windows)
    _finalizers(program)
    program.at = YOUNG
    _young(program)
    program.at = LARGE
    _large(program)
    graph = program.graph()
    # No trace is a sample: this one is made one after reading.
    kinds = np.arange(len(graph.type_names))
    sampling = Sampling(1 + kinds / 4, 1 + kinds / 8, 2.25, 1.375)
    # What a trace tells of the time before has a heap of its own.
    return replace(graph, sampling=sampling, history=None)


def _events(p: Program) -> list[int]:
    """A static event with a list, an event of an object, odd handlers."""
    windows = [p.add("App.UI.Window", 300 + i) for i in range(4)]
    handlers = [p.handler(EVENT, w) for w in (*windows[:3], windows[0])]
    changed = p.multicast(EVENT, *handlers)
    p.static(changed, "Changed")
    # A list that shares a handler with the one above, held by two of one type.
    other = p.multicast(EVENT, handlers[2], p.handler(EVENT, windows[3]))
    for size in (40, 41):
        p.root(p.add("App.Publisher", size, other, p.handler(CLICK, windows[0])))
    p.root(windows[0])
    # One without a target, one with a method, one of a delegate, one of nobody known.
    p.root(p.add("App.Button", 32, alone := p.add(CLICK, 64)))
    p.refer(alone, alone)
    method = p.add("System.Reflection.RuntimeMethodInfo", 80)
    called = p.add("App.Model", 48)
    p.static(p.add("System.Action", 64, method, called), "<>9__1_0")
    p.root(p.handler("System.Func`1[System.Int32]", p.handler(CLICK, called)))
    p.root(p.handler("App.DoneCallback", 0x7FFF0000))
    # An array that only has delegates, one that is no list, and what nobody has.
    p.root(p.add("System.EventHandler[]", 40, p.handler(EVENT, called)))
    p.root(p.add(HANDLER_LIST, 40, p.handler(EVENT, called), called))
    p.handler(EVENT, windows[3])
    return windows


def _timers(p: Program) -> None:
    """A queue of three: one of a pool, one of a job, one that has only a state."""
    timers = [p.add(TIMER, 88) for _ in range(3)]
    for one, next_ in pairwise(timers):
        p.refer(one, next_)
    p.refer(timers[1], timers[0])
    queue = p.add("System.Threading.TimerQueue", 60, timers[0])
    p.static(queue, "Instances")
    job = p.add("App.Job", 900)
    outer = p.add("System.Timers.Timer", 70)
    p.refer(outer, p.handler("System.Timers.ElapsedEventHandler", job), timers[1])
    callback = "System.Threading.TimerCallback"
    context = p.add("System.Threading.ExecutionContext", 33)
    poller = p.add("App.Poller", 120)
    p.refer(timers[0], p.handler(callback, poller), poller, context)
    p.refer(timers[1], p.handler(callback, outer), p.add("System.Object", 24))
    nobody = p.add(callback, 64)
    p.refer(nobody, nobody)
    p.refer(timers[2], nobody, p.add("App.Job", 500), 0x7FFF0008, timers[2], queue)
    p.add(TIMER, 88, p.handler(callback, job))


def _tasks(p: Program) -> None:
    """Three calls of one method, a nested name, an iterator; an array and garbage."""
    calls = [p.add(BOX, 120 + i, p.add("System.String", 40)) for i in range(3)]
    p.root(p.add("System.Collections.Generic.List`1[T]", 32, *calls[:2]))
    p.root(p.add("<<Main>g__Run|0_0>d__1", 56, calls[0]))
    p.root(p.add("<Walk>d__7", 48))
    p.root(p.add("<Walk>d__7[]", 24))


def _dependent(p: Program, windows: list[int]) -> None:
    """Values of windows: one that refers back, one that another has too; a dead key."""
    extra = "App.UI.Extra"
    back = p.add(extra, 77, windows[1])
    shared = p.add(extra, 78)
    p.root(shared)
    dead = p.add("App.Gone", 20)
    text = p.add("System.String", 40)
    p.pairs = [
        (windows[1], back),
        (windows[2], shared),
        (windows[3], shared),
        (windows[2], text),
        (dead, p.add(extra, 79)),
        (dead, 0x7FFF0000),
    ]


def _finalizers(p: Program) -> None:
    """A file with its handle, a pair, a chain; some that something else holds."""
    file, handle = "System.IO.FileStream", "Microsoft.Win32.SafeHandles.SafeFileHandle"
    queued = [p.add(handle, 40)]
    queued.append(p.add(file, 100, queued[0], p.add("System.Byte[]", 500)))
    pair = [p.add(file, 101), p.add(file, 102)]
    p.refer(pair[0], pair[1])
    p.refer(pair[1], pair[0], pair[1])
    chain = [p.add("App.Link", 30)]
    for _ in range(3):
        chain.append(p.add("App.Link", 31, chain[-1]))
    p.root(p.add("App.Owner", 50, chain[1]))
    steps = [p.add("App.Step", 30)]
    for _ in range(4):
        steps.append(p.add("App.Step", 32, p.add("App.Between", 20, steps[-1])))
    # What two of the queue hold together holds a third.
    third = p.add(handle, 41)
    between = p.add("App.Between", 35, third)
    queued += [third, p.add(file, 103, between), p.add(file, 104, between)]
    held = p.add(file, 105)
    p.root(held)
    p.root(held, HANDLE, WEAK)
    weak = p.add(file, 106)
    p.root(weak, HANDLE, WEAK)
    p.add("App.Dead", 20, weak)
    for address in (*queued, *pair, *chain, *steps, held, weak, 0x7FFF0010):
        p.root(address, FINALIZER)


def _young(p: Program) -> None:
    """Pins with holes between them, and what a thread keeps."""
    buffers = [p.add("System.Byte[]", 64, gap=gap) for gap in (16, 200, 0, 900)]
    for buffer in (buffers[0], buffers[2], buffers[3]):
        p.root(buffer, HANDLE, PINNED)
    p.root(buffers[0], STACK, PINNED)
    p.root(buffers[1], HANDLE, PINNED | WEAK)
    for size in (50, 60):
        cache = p.add("App.Cache", size, p.add("System.String", 40))
        p.static(cache, "t_cache", of_thread=True)
    p.static(buffers[2], "t_buffer", of_thread=True)
    p.static(cache, "t_last", of_thread=True)
    for length in (5, 9, 9):
        p.root(p.add("System.String", 22 + 2 * length))


def _large(p: Program) -> None:
    """Holes that are told, one that is not, garbage."""
    p.root(p.add("System.Byte[]", 9000))
    p.add("Free", 3000)
    p.root(p.add("System.Byte[]", 8000), HANDLE, PINNED)
    p.add("Free", 24)
    p.add("System.Byte[]", 8500, gap=100)
