"""Small known heaps that have every case a query of the library asks about."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from ingest.heap.graph import (
    GarbageCollection,
    HeapGraph,
    RefKind,
    Segment,
    SegmentKind,
)
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.gclog import Gclog

LOCAL, FINALIZER_QUEUE, HANDLE, STATIC, RUNTIME = 1, 2, 3, 4, 5
PINNED, WEAK, INTERIOR = 1, 2, 4

STLONG, SESSION, DICTIONARY, ARRAY, CACHE, SETTINGS = 1, 2, 3, 4, 5, 6
NODE, HANDLER, WINDOW, BYTES, TIMER, ITEM = 7, 8, 9, 0xA, 0xB, 0xC
PAIR, GLOBAL, ACTION, TREE, EVENTS, UNUSED, UNDECLARED = 0xD, 0xE, 0xF, 16, 17, 18, 99
LONG = 19

NAMES = {
    STLONG: "System.String",
    SESSION: "App.Session",
    DICTIONARY: "System.Collections.Generic.Dictionary`2"
    "[[System.String, mscorlib], [App.Session, App, Version=1.0]]",
    ARRAY: "System.Object[]",
    CACHE: "App.Cache",
    SETTINGS: "App.Settings",
    NODE: "App.Node",
    HANDLER: "System.EventHandler",
    WINDOW: "App.UI.Window",
    BYTES: "System.Byte[]",
    TIMER: "System.Threading.Timer",
    ITEM: "App.Model.Item",
    PAIR: "App.Pair",
    GLOBAL: "Listener",
    ACTION: "System.Action`1[[App.Event, App]]",
    TREE: "App.Tree",
    EVENTS: "App.Events",
    UNUSED: "App.Unused",
    LONG: "App.Long",
}

WEAK_REFERENCES = ((0x212, 0x110), (0x212, 0x602))
"""gclog knows no weak references: these are made weak after reading."""


def main_heap() -> HeapGraph:
    """One domain, every case."""
    log = Gclog().domain("App.exe", clock=0x10)
    for number, name in NAMES.items():
        log.type(number, name)
    _cache(log)
    _events(log)
    _lists(log)
    _roots(log)
    _circles(log)
    _crowd(log)
    graph = _weakened(read_log(log.close("App.exe", clock=0x74)), WEAK_REFERENCES)
    return _placed(graph)


def _cache(log: Gclog) -> None:
    """A static dictionary that holds most: the single suspect."""
    log.object(0x100, DICTIONARY, 48, [0x101, 0]).root(0x100, STATIC, container=CACHE)
    log.object(0x101, ARRAY, 64, [*range(0x110, 0x116), 0])
    shared = {0: [0x140, 0x140], 1: [0x140], 2: [0x141], 3: [0x141]}
    for i in range(6):
        own = [0x120 + i, *shared.get(i, [])]
        log.object(0x110 + i, SESSION, 2000 + i, own)
        log.object(0x120 + i, STLONG, 40 + 2 * i)
    log.object(0x140, STLONG, 1200).object(0x141, STLONG, 90)
    # Two references of two kinds of holder, one of them from a static.
    log.object(0x200, SETTINGS, 32, [0x201, 0x140, 0x720, 0x800, 0x217])
    log.root(0x200, STATIC, container=SETTINGS)
    log.object(0x201, STLONG, 26)
    log.root(0x201, STATIC, container=SETTINGS).root(0x201, STATIC)


def _events(log: Gclog) -> None:
    """A publisher whose handlers alone keep their targets."""
    log.object(0x212, EVENTS, 24, [0x213, 0x110, 0x602])
    log.root(0x212, STATIC, container=EVENTS)
    log.object(0x213, ARRAY, 40, [0x214, 0x219])
    log.object(0x214, HANDLER, 32, [0x215])
    log.object(0x215, WINDOW, 300, [0x216])
    log.object(0x216, BYTES, 3000)
    log.object(0x219, HANDLER, 32, [0x210])
    log.object(0x217, ACTION, 28, [0x218])
    log.object(0x218, GLOBAL, 18)
    log.object(0x210, WINDOW, 310).root(0x210, HANDLE)


def _lists(log: Gclog) -> None:
    """A linked list with a load at its end, and a tree."""
    for i in range(6):
        log.object(0x300 + i, NODE, 24, [0x301 + i])
    log.object(0x306, BYTES, 1999).root(0x300, LOCAL)
    for i in range(24):
        log.object(0x340 + i, LONG, 16, [0x341 + i] if i < 23 else [])
    log.root(0x340, LOCAL)
    log.object(0x310, TREE, 20, [0x311, 0x312]).object(0x311, TREE, 20, [0x313])
    log.object(0x312, TREE, 20).object(0x313, TREE, 20).root(0x310, LOCAL, INTERIOR)


def _roots(log: Gclog) -> None:
    """Pinned, finalizer queue, weak, unknown kinds; missing objects."""
    log.object(0x400, BYTES, 1024)
    log.root(0x400, HANDLE, PINNED).root(0x400, LOCAL, PINNED)
    log.object(0x401, BYTES, 512).root(0x401, HANDLE, PINNED)
    log.object(0x500, TIMER, 36, [0x501]).object(0x501, STLONG, 44)
    log.object(0x502, TIMER, 37).root(0x502, STATIC, container=EVENTS)
    log.root(0x500, FINALIZER_QUEUE).root(0x502, FINALIZER_QUEUE)
    log.root(0x110, HANDLE, WEAK)
    log.object(0x600, SESSION, 1900, [0x601]).object(0x601, STLONG, 70)
    log.root(0x600, HANDLE, WEAK).root(0x600, HANDLE, WEAK | PINNED)
    log.object(0x602, WINDOW, 290)
    log.object(0xA00, UNDECLARED, 52).root(0xA00, 9).root(0xA00, 0)
    log.root(0x801, RUNTIME).root(0x802, HANDLE, WEAK)


def _circles(log: Gclog) -> None:
    """Circles, live and dead; objects that several hold."""
    log.object(0x700, PAIR, 16, [0x701]).object(0x701, PAIR, 17, [0x700])
    log.object(0x702, PAIR, 18, [0x702])
    log.object(0x703, PAIR, 19, [0x110, 0x800, 0x803])
    log.object(0x710, PAIR, 20, [0x711]).object(0x711, PAIR, 21, [0x712, 0x720])
    log.object(0x712, PAIR, 22, [0x710]).root(0x710, LOCAL)
    log.object(0x720, BYTES, 1500).root(0x720, LOCAL)
    log.object(0x721, STLONG, 60).root(0x721, LOCAL).root(0x721, RUNTIME)
    log.object(0x730, ARRAY, 28, [0x731, 0x732]).root(0x730, LOCAL)
    log.object(0x731, PAIR, 23, [0x733]).object(0x732, PAIR, 25, [0x733])
    log.object(0x733, BYTES, 1300, [0x731])


def _crowd(log: Gclog) -> None:
    """Many of one type that only roots hold, and one that is a suspect alone."""
    for i in range(6):
        log.object(0x900 + i, ITEM, 700 + i, [0x910]).root(0x900 + i, LOCAL)
    log.object(0x906, ITEM, 5000, [0x910]).root(0x906, LOCAL)
    log.object(0x910, STLONG, 1100)


def two_domains() -> HeapGraph:
    """Two domains that use the same ids and names for different objects."""
    log = Gclog()
    for name, size in (("one", 100), ("two", 160)):
        log.domain(name).type(1, "App.Session").type(2, "App.Owner")
        log.object(0x100, 2, 24, [0x110, 0x111]).root(0x100, STATIC, container=2)
        log.object(0x110, 1, size, [0x112]).object(0x111, 1, size + 1, [0x112])
        log.object(0x112, 1, size + 2, [0x113]).object(0x120, 1, 8, [0x113])
        if name == "one":
            log.close(name)
    return read_log(log)


def reasons() -> HeapGraph:
    """Referrers that are no reason why an object is alive, and some that are."""
    log = Gclog().domain("App.exe").type(NODE, "App.Node").type(ITEM, "App.Item")

    def path(*ids: int) -> None:
        for one, other in pairwise(ids):
            log.object(one, NODE, 10 + one, [other])
        log.root(ids[0], LOCAL)

    # More children that refer back than the limit, nearer than the second holder.
    log.object(0x100, ITEM, 50, range(0x110, 0x129))
    for child in range(0x110, 0x129):
        log.object(child, ITEM, 20, [0x100])
    path(0x101, 0x100)
    path(0x102, 0x103, 0x104, 0x105, 0x100)
    # A holder that is nearest through the object, but has a longer path of its own.
    path(0x201, 0x200)
    log.object(0x200, ITEM, 51, [0x202]).object(0x202, ITEM, 52, [0x200])
    path(0x203, 0x204, 0x205, 0x206, 0x202)
    # A back reference, garbage and the object itself are no second referrer.
    log.object(0x300, ITEM, 53, [0x300, 0x301]).object(0x301, ITEM, 54, [0x300])
    log.object(0x302, ITEM, 55, [0x300]).object(0x303, ITEM, 56, [0x300, 0x300])
    path(0x304, 0x303)
    path(0x305, 0x303)
    return read_log(log.close("App.exe"))


def lattice() -> HeapGraph:
    """Pairs in a row, of which each object refers to both of the next: 16,384 paths.

    The order of the references is not the one of the dump.
    """
    log, chance = Gclog().domain("App.exe").type(NODE, "App.Node"), Random(3)
    pairs = [(0x100 + 16 * i, 0x108 + 16 * i) for i in range(14)]
    log.object(0x90, NODE, 8, pairs[0]).root(pairs[0][1], LOCAL).root(0x90, LOCAL)
    for here, there in pairwise([*pairs, (0x80,)]):
        for one in chance.sample(here, 2):
            log.object(one, NODE, 10, chance.sample(there, len(there)))
    log.root(pairs[0][0], LOCAL)
    return read_log(log.object(0x80, NODE, 12).close("App.exe"))


def ladder(rungs: int) -> HeapGraph:
    """Two lists beside each other; each object refers to the next one of both."""
    log, chance = Gclog().domain("App.exe").type(NODE, "App.Node"), Random(5)
    for rung in range(rungs):
        here, there = 0x1000 + 32 * rung, 0x1010 + 32 * rung
        below = (here + 32, there + 32) if rung + 1 < rungs else ()
        for one in chance.sample((here, there), 2):
            log.object(one, NODE, 10, chance.sample(below, len(below)))
    return read_log(log.root(0x1000, LOCAL).root(0x1010, LOCAL).close("App.exe"))


def read_log(log: Gclog) -> HeapGraph:
    """The heap of a log."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "heap.gclog"
        path.write_bytes(log.bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(), silent)


def _placed(graph: HeapGraph) -> HeapGraph:
    """``graph`` in three segments: old, young and large objects; some in none."""
    segments = (
        Segment(0x100, 0x230, 0x300, SegmentKind.GEN2),
        Segment(0x300, 0x720, None, SegmentKind.EPHEMERAL),
        Segment(0x720, 0x910, None, SegmentKind.LOH),
    )
    ids = graph.object_id.astype(np.int64)
    index = np.full(len(ids), -1, np.int32)
    for ordinal, segment in enumerate(segments):
        index[(ids >= segment.start) & (ids < segment.end)] = ordinal
    index[graph.object_count :] = -1
    generation = np.array([2, 0, 3, -1], np.int8)[index]
    generation[(index == 1) & (ids >= 0x500)] = 1
    collections = (
        GarbageCollection(7, 0, "induced", "blocking", 10, 5, 900, 80, 70, 10),
        GarbageCollection(8, 2, "low memory", "background", 90),
        GarbageCollection(9, None, "", "", 120, 0, is_dump=True),
    )
    return replace(
        graph,
        segments=segments,
        segment_index=index,
        generation=generation,
        collections=collections,
    )


def _weakened(graph: HeapGraph, pairs: tuple[tuple[int, int], ...]) -> HeapGraph:
    """``graph`` with all references between these addresses weak."""
    ids = graph.object_id.tolist()
    sources = np.repeat(np.arange(len(ids)), np.diff(graph.ref_start)).tolist()
    kinds = [
        RefKind.WEAK if (ids[source], ids[target]) in pairs else RefKind.STRONG
        for source, target in zip(sources, graph.ref_target.tolist(), strict=True)
    ]
    return replace(graph, ref_kind=np.array(kinds, np.uint8))
