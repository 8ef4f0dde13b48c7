"""A small language for CLR Profiler logs, in the spelling of either writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from tests.dumps.trace import SITES, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.heap.history import Bounds
    from tests.dumps.trace import Heap as Traced

QUOTE = {'"': "&quot;"}
NATIVE = "f 0 NATIVE FUNCTION ( UNKNOWN ARGUMENTS ) 0 0"


def pointer(address: int) -> str:
    """As ``%p`` spells it on Windows: upper case, as wide as a pointer."""
    return f"0x{address:016X}"


@dataclass
class Log:
    """Lines of a log as the profiler writes them."""

    lines: list[str] = field(default_factory=lambda: [NATIVE])

    def line(self, text: str) -> Log:
        self.lines.append(text)
        return self

    def type(self, ident: int, name: str, finalizable: int | None = 0) -> Log:
        flag = "" if finalizable is None else f"{finalizable} "
        return self.line(f"t {ident} {flag}{name}")

    def function(self, ident: int, name: str, signature: str = "void ()") -> Log:
        return self.line(f"f {ident} {name} {signature} {pointer(0x400)} 20 1 0")

    def site(
        self,
        ident: int,
        frames: Iterable[int],
        *,
        type: tuple[int, int] | None = (1, 24),
        prefix: tuple[int, int] | None = None,
    ) -> Log:
        """A stack; with a type and size, or without; perhaps it begins like another.

        Args:
            ident: Its id.
            frames: Functions, the outermost first.
            type: Of an allocation.
            prefix: So many frames of that stack come first.
        """
        flags = (1 if type else 0) | (prefix[0] << 2 if prefix else 0)
        numbers = [ident, flags, *(type or ()), *([prefix[1]] if prefix else [])]
        return self.line("n " + " ".join(map(str, [*numbers, *frames])))

    def allocation(self, address: int, site: int, thread: int | None = 4242) -> Log:
        if thread is None:
            return self.line(f"a 0x{address:x} {site}")
        return self.line(f"! {thread} 0x{address:x} {site}")

    def clock(self, milliseconds: int) -> Log:
        return self.line(f"i {milliseconds}")

    def begin(
        self,
        generation: int = 2,
        bounds: Sequence[tuple[int, int, int, int]] = (),
        *,
        induced: int = 0,
    ) -> Log:
        return self._bounds(1, induced, generation, bounds)

    def end(
        self, generation: int = 2, bounds: Sequence[tuple[int, int, int, int]] = ()
    ) -> Log:
        return self._bounds(0, 0, generation, bounds)

    def _bounds(
        self,
        before: int,
        induced: int,
        generation: int,
        bounds: Sequence[tuple[int, int, int, int]],
    ) -> Log:
        told = "".join(
            f" {pointer(start)} {used} {reserved} {number}"
            for start, used, reserved, number in bounds
        )
        return self.line(f"b {before} {induced} {generation}{told}")

    def moved(self, old: int, new: int, length: int) -> Log:
        return self.line(f"u 0x{old:x} 0x{new:x} {length}")

    def survived(self, start: int, length: int) -> Log:
        return self.line(f"v 0x{start:x} {length}")

    def counts(self, *counts: int) -> Log:
        return self.line("g " + " ".join(map(str, counts)))

    def root(
        self, address: int, kind: int = 3, flags: int = 0, place: int = 0xFF00
    ) -> Log:
        return self.line(f"e {pointer(address)} {kind} 0x{flags:08X} {pointer(place)}")

    def stack_root(self, address: int, function: int, flags: int = 0) -> Log:
        return self.line(f"e {pointer(address)} 1 0x{flags:08X} {function}")

    def plain_roots(self, *addresses: int) -> Log:
        return self.line("r " + " ".join(pointer(a) for a in addresses))

    def object(
        self, address: int, kind: int, size: int, references: Iterable[int] = ()
    ) -> Log:
        told = "".join(f" 0x{target:x}" for target in references)
        return self.line(f"o 0x{address:x} {kind} {size}{told}")

    def text(self, end: str = "\r\n") -> str:
        return "".join(line + end for line in self.lines)

    def bytes(self, end: str = "\r\n", encoding: str = "cp1252") -> bytes:
        return self.text(end).encode(encoding)


@dataclass
class Heap:
    """What a debugger's extension knows of a heap, for it to write."""

    types: dict[int, str] = field(
        default_factory=lambda: {
            1: "Free",
            2: "App.Cache<App.Key>",
            3: "App.Entry[]",
            4: "System.String",
        }
    )
    roots: list[tuple[str, int]] = field(default_factory=list)
    objects: list[tuple[int, int, int, list[int]]] = field(default_factory=list)

    def sos_log(self, end: str = "\n") -> bytes:
        """As ``!traverseheap`` writes it."""
        lines = [f"t {ident} 0 {name}" for ident, name in self.types.items()]
        lines += ["", "r" + "".join(f" 0x{a:016x}" for _, a in self.roots)]
        for row, (address, kind, size, references) in enumerate(self.objects, 1):
            told = "".join(f" 0x{target:016x}" for target in references)
            lines += [
                f"n {row} 1 {kind} {size}",
                f"! 1 0x{address:016x} {row}",
                f"o 0x{address:016x} {kind} {size} {told}",
            ]
        return "".join(line + end for line in lines).encode()

    def sos_xml(self, encoding: str = "utf-8") -> bytes:
        """As ``!traverseheap -xml`` of .NET writes it."""
        lines = ["<gcheap>", "  <types>"]
        lines += [
            f"    <type id={quoteattr(str(ident))} name={quoteattr(name)} />"
            for ident, name in self.types.items()
        ]
        lines += ["  </types>", "<roots>"]
        lines += [
            f'  <root kind="{kind}" address="0x{address:016x}" />'
            for kind, address in self.roots
        ]
        lines += ["</roots>", "<objects>"]
        for address, kind, size, references in self.objects:
            head = f'  <object address="0x{address:016x}" typeid="{kind}" size="{size}"'
            members = [f'    <member address="0x{a:016x}" />' for a in references]
            lines += (
                [head + ">", *members, "  </object>"] if members else [head + " />"]
            )
        return "\n".join([*lines, "</objects></gcheap>"]).encode(encoding)

    def sos_xml_of_old(self, encoding: str = "cp1252") -> bytes:
        """As that of the .NET Framework writes it, in the machine's code page."""
        lines = ["<gcheap>", "<types>"]
        lines += [
            f'<type id="{ident}" name="{escape(name, QUOTE)}"/>'
            for ident, name in self.types.items()
        ]
        lines += ["</types>", "<roots>"]
        lines += [f'<root kind="{k}" address="{pointer(a)}"/>' for k, a in self.roots]
        lines += ["</roots>", "<objects>"]
        for address, kind, size, references in self.objects:
            lines += [
                f'<object address="{pointer(address)}" typeid="{kind}" size="{size}">',
                *(f'    <member address="{pointer(a)}"/>' for a in references),
                "</object>",
            ]
        lines += ["</objects>", "</gcheap>", ""]
        return "\r\n".join(lines).encode(encoding)


def traced(heap: Traced) -> Log:
    """The whole life of a heap: allocations, collections, dumps."""
    log = Log()
    for ident, name in enumerate(TYPES):
        log.type(ident + 1, name)
    functions = sorted({name for stack in SITES for name in stack})
    for ident, name in enumerate(functions, 1):
        log.function(ident, name)
    sites = sorted({(thing.type, thing.size, thing.site) for thing in heap.made})
    for ident, (kind, size, site) in enumerate(sites, 1):
        frames = [functions.index(name) + 1 for name in reversed(SITES[site])]
        log.site(ident, frames, type=(kind + 1, size))
    dumps = {dump.upto: dump for dump in heap.dumps}
    for row, one in enumerate(heap.collections):
        log.clock(1000 * row)
        for thing in heap.made:
            if thing.born == row:
                site = sites.index((thing.type, thing.size, thing.site)) + 1
                log.allocation(thing.born_at, site)
        log.begin(one.generation, _bounds(one.before))
        for columns in zip(one.old_start, one.new_start, one.length, strict=True):
            log.moved(*map(int, columns))
        if dump := dumps.get(row + 1):
            log.root(dump.objects[0].at)
            for seen in dump.objects:
                log.object(seen.at, seen.thing.type + 1, seen.thing.size)
        log.end(one.generation, _bounds(one.after))
    return log


def _bounds(told: Bounds | None) -> list[tuple[int, int, int, int]]:
    assert told is not None
    columns = zip(
        told.start.tolist(), told.end.tolist(), told.generation.tolist(), strict=True
    )
    return [(start, end - start, end - start, age) for start, end, age in columns]


def program() -> Log:
    """A little of all that a real log has.

    Two collections; the second has the dump. 0x2000 is a cache that refers to its
    entries 0x2020, a string 0x2050 and nothing; the entries refer to the cache and to
    0x7fff0000, which is not there; 0x9000 is a large array, 0x2070 free.
    """
    log = Log()
    log.line(f"y 4242 {pointer(0x77)} App, Version=1.0.0.0")
    log.line(f"m 1 C:\\Program Files\\App 0x\\App.exe {pointer(0x400000)} 0")
    log.type(1, "App.Cache").type(2, "App.Entry []").type(3, "System.String", 1)
    log.type(4, "System.Byte []")
    log.function(1, "App.Program::Main", "static void (String[])")
    log.function(2, "App.Cache::.ctor")
    log.site(10, [1], type=None).site(11, [2], prefix=(1, 10)).site(
        12, [1], type=(3, 20)
    )
    log.clock(5).line("c 4242 10")
    log.allocation(0x1000, 11).clock(7).allocation(0x1020, 12).allocation(0x1050, 12)
    log.clock(10).begin(0, [(0x1000, 0x100, 0x1000, 0), (0x9000, 0x100, 0x100, 3)])
    log.moved(0x1000, 0x1800, 0x50).clock(12)
    log.end(0, [(0x1800, 0x50, 0x800, 1), (0x9000, 0x100, 0x100, 3)])
    log.counts(1, 0, 0)
    log.line(f"h 4242 {pointer(0xFF00)} {pointer(0x1800)} 10").clock(15)
    log.allocation(0x1900, 11)
    log.clock(20).begin(2, [(0x1800, 0x200, 0x800, 0)], induced=1)
    log.moved(0x1800, 0x2000, 0x50).moved(0x1900, 0x2050, 0x18)
    log.survived(0x9000, 0x40)
    log.plain_roots(0x2000, 0x2050)
    log.stack_root(0x2000, 1).root(0x2050, 3, 1).root(0x2020, 3, 2).root(0x2050, 2)
    log.root(0x9010, 1, 4).root(0x2000, 0, 8).root(0, 3)
    log.object(0x2000, 1, 32, [0x2020, 0x2050, 0])
    log.object(0x2020, 2, 48, [0x2000, 0x7FFF0000])
    log.object(0x2050, 3, 20).object(0x2070, 0, 16).object(0x9000, 4, 64)
    log.clock(30).end(2, [(0x2000, 0x80, 0x800, 2), (0x9000, 0x40, 0x100, 3)])
    log.counts(2, 1, 1)
    log.line(f"l 1 {pointer(0x2050)}").line(f"j 4242 {pointer(0xFF00)} 10")
    return log.line("z the end")


def sos_heap() -> Heap:
    """The heap of `program`, as SOS sees it; a root is told by its place."""
    heap = Heap()
    heap.roots = [("stack", 0x2000), ("handle", 0xFF00), ("finalizer", 0x2050)]
    heap.objects = [
        (0x2000, 2, 32, [0x2020, 0x2050, 0]),
        (0x2020, 3, 48, [0x2000, 0x7FFF0000]),
        (0x2050, 4, 20, []),
        (0x2070, 1, 16, []),
    ]
    return heap


def large_log(objects: int, references: int, seed: int = 1) -> bytes:
    """A log with one dump of so many objects: a wide tree and some more."""
    rng = np.random.default_rng(seed)
    more = rng.integers(0, objects, (2, references + 1 - objects))
    source = np.concatenate([np.arange(1, objects) // 3, more[0]])
    target = np.concatenate([np.arange(1, objects), more[1]])
    target = target[np.argsort(source, kind="stable")]
    start = np.zeros(objects + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=objects), out=start[1:])
    log = Log()
    for ident in range(1, 201):
        log.type(ident, f"App.Thing{ident}")
    log.function(1, "App.Program::Main").clock(10).begin()
    log.survived(0x7000_0000_0000, 24 * objects).stack_root(0x7000_0000_0000, 1)
    address = [f"0x{0x7000_0000_0000 + 24 * row:x}" for row in range(objects)]
    kinds = rng.integers(1, 201, objects).tolist()
    sizes = rng.integers(24, 200, objects).tolist()
    held = [address[row] for row in target.tolist()]
    starts = start.tolist()
    log.lines += [
        f"o {address[row]} {kinds[row]} {sizes[row]} "
        + " ".join(held[starts[row] : starts[row + 1]])
        for row in range(objects)
    ]
    log.clock(900).end()
    return log.bytes()


def large_xml(objects: int, references: int, seed: int = 1) -> bytes:
    """The same as XML of SOS."""
    heap = Heap({ident: f"App.Thing{ident}" for ident in range(1, 201)})
    heap.roots = [("stack", 0x7000_0000_0000)]
    for line in large_log(objects, references, seed).splitlines():
        if line.startswith(b"o"):
            address, kind, size, *held = line.split()[1:]
            targets = [int(target, 16) for target in held]
            heap.objects.append((int(address, 16), int(kind), int(size), targets))
    return heap.sos_xml()
