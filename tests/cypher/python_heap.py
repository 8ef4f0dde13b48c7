"""A small known heap of CPython: what queries about Python look for."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.hrpy.chunks import Flag
from tests.dumps.hrpy import HrpyHeap, facts, longs, texts_of, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.heap.graph import HeapGraph

MODULE, SPACE, NAME, LIST = 0x10, 0x20, 0x30, 0x40
VIEWS, VIEWS_SPACE, NAMES = 0x50, 0x60, (0x70, 0x80, 0x90, 0xA0)


class _Program:
    """Objects, and a list of the module that holds those that are held.

    Attributes:
        next: Id of the next object.
    """

    def __init__(self) -> None:
        self.heap = HrpyHeap()
        self.held: list[int] = []
        self.next = 0x1000

    def add(
        self,
        kind: str,
        value: str | None = None,
        *,
        named: dict[str, int] | None = None,
        rest: Sequence[int] = (),
        size: int = 32,
        outside: int = 0,
        held: bool = False,
        dead: bool = False,
    ) -> int:
        """An object, and whether the module has it in its list.

        What neither that nor another object refers to must be ``dead``: each other one
        counts one reference.
        """
        own = self.next
        self.next += 0x10
        flags = Flag.TEXTS if value else Flag(0)
        told = texts_of([value]) if value else b""
        if outside:
            flags, told = flags | Flag.OUTSIDE, told + longs([outside])
        self.heap.chunk(
            kind, [own], size=size, rest=[rest], counts=[2 if dead else 3],
            named={name: [to] for name, to in (named or {}).items()},
            flags=flags, values=told,
        )  # fmt: skip
        if held:
            self.held.append(own)
        return own

    def own(self, size: int) -> int:
        return self.add("bytearray", size=size)

    def cell(self, content: int) -> int:
        return self.add("cell", named={"cell_contents": content})


def python_heap() -> HeapGraph:
    """The example: what is held, what others hold too, and what is dead."""
    made = _Program()
    none, shared = made.add("NoneType"), made.own(5000)
    made.held.append(shared)
    _caches(made, shared)
    _closures(made, shared)
    _frames(made, shared)
    _coroutines(made, none)
    _records(made, none)
    _modules(made, shared)
    _finalizable(made)
    _layouts(made)
    _contexts(made)
    _locals(made)
    _arrays(made, shared)
    _traced(made, shared)
    heap = made.heap
    heap.texts([NAME], ["HELD"])
    heap.chunk(
        "list", [LIST], rest=[made.held], lengths=[len(made.held)],
        flags=Flag.ELEMENTS,
    )  # fmt: skip
    heap.dict(SPACE, {NAME: LIST})
    heap.chunk(
        "module", [MODULE], rest=[[SPACE]], flags=Flag.OWNER | Flag.TEXTS,
        values=texts_of(["app"]),
    )  # fmt: skip
    heap.module("app", MODULE, SPACE)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "heap"
        path.write_bytes(heap.bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(), silent)


def _traced(made: _Program, shared: int) -> None:
    """Objects with sites in libraries and files, some below others of the same one."""
    files = (
        "/app/shop.py", "/app/cart.py", "/gems/3.1.0/gems/web-2.1/lib/web.rb",
        "/gems/3.1.0/gems/web-2.1/lib/web/cache.rb", "/py/site-packages/orm/a.py",
        "/usr/lib/ruby/3.1.0/set.rb", "/usr/lib/python3.11/re.py", "<internal:gc>",
    )  # fmt: skip
    sites = [[f"{file}:{line}"] for file in files for line in (7, 12)]
    sites[5] = [sites[5][0] + " in find in new"]
    sites += [["main"], ["make store.js:12:3 (/srv)"]]
    made.heap.records.append(facts(b"SITE", sites))
    first = made.next
    many = len(sites)
    ids = [first + 0x10 * at for at in range(3 * many)]
    made.next = ids[-1] + 0x10
    # Each has the one before, three to a chain; the last one of each is shared.
    rest = [[ids[at - 1]] if at % 3 else [shared] for at in range(len(ids))]
    made.heap.chunk(
        "app.Traced", ids, size=100, rest=rest, counts=[3] * len(ids),
        flags=Flag.SITES, values=words((at // 2) % many for at in range(len(ids))),
    )  # fmt: skip
    made.held += [one for at, one in enumerate(ids) if at % 3 == 2 and at % 4]


def _caches(made: _Program, shared: int) -> None:
    """One cache, two of one function, one without a function, and a dead one."""
    kind = "functools._lru_cache_wrapper"
    results = [made.own(300), shared]
    made.add(kind, "app.render", rest=results, held=True)
    for size in (100, 900):
        made.add(kind, "app.view", rest=[made.own(size)], held=True)
    made.add(kind, held=True)
    made.add(kind, "app.view", rest=[made.own(7000)], dead=True)


def _closures(made: _Program, shared: int) -> None:
    """Two that share a cell, one whose variable others have, and plain functions."""
    common = made.cell(made.own(400))
    for size in (50, 70):
        cells = [common, made.cell(made.own(size))]
        closure = made.add("tuple", rest=cells)
        made.add(
            "function", "app.make.<locals>.handler", held=True,
            named={"__closure__": closure},
        )  # fmt: skip
    closure = made.add("tuple", rest=[made.cell(shared)])
    made.add("function", "app.other", named={"__closure__": closure}, held=True)
    defaults = made.add("tuple", rest=[made.own(20)])
    made.add("function", "app.plain", named={"__defaults__": defaults}, held=True)
    closure = made.add("tuple", rest=[made.cell(made.own(600))])
    made.add("function", "app.other", named={"__closure__": closure}, dead=True)


def _frames(made: _Program, shared: int) -> None:
    """Two of one line, one of them of two tracebacks, and one of a generator."""
    line = "work (app.py:3)"
    frames = [
        made.add("frame", line, named={"rows": made.own(size), "all": shared})
        for size in (800, 60)
    ]
    for frame in (*frames, frames[0]):
        trace = made.add("traceback", named={"tb_frame": frame})
        made.add("KeyError", named={"__traceback__": trace}, held=True)
    made.add("traceback", named={"tb_frame": frames[1]}, dead=True)
    made.add("frame", "step (app.py:9)", named={"row": made.own(90)}, held=True)


def _coroutines(made: _Program, none: int) -> None:
    """Tasks that wait for a future by way of another coroutine, and generators."""
    for number in range(3):
        future = made.add("_asyncio.Future")
        inner = made.add(
            "coroutine", "wait", named={"cr_await": future, "n": made.own(10 + number)}
        )
        outer = made.add("coroutine", "serve", named={"cr_await": inner})
        made.add("_asyncio.Task", "serve", named={"_coro": outer}, held=True)
    made.add("coroutine", "serve", named={"cr_await": none}, held=True)
    inner = made.add("generator", "rows", named={"row": made.own(30)})
    made.add("generator", "pages", named={"gi_yieldfrom": inner}, held=True)
    dead = made.add("coroutine", "serve", named={"cr_await": none})
    made.add("_asyncio.Task", "serve", named={"_coro": dead}, dead=True)


def _records(made: _Program, none: int) -> None:
    name, text = made.add("str", "app.web"), made.add("str", "took %d ms")
    for size in (40, 80):
        args = made.add("tuple", rest=[made.own(size)])
        named = {"name": name, "msg": text, "args": args}
        made.add("logging.LogRecord", named=named, held=True)
    made.add("logging.LogRecord", named={"name": name, "msg": none}, held=True)
    made.add("logging.LogRecord", named={"name": name, "msg": text}, dead=True)


def _modules(made: _Program, shared: int) -> None:
    """Variables of another module: two of one object, one that others hold too."""
    cache, small = made.own(2000), made.own(10)
    heap = made.heap
    heap.texts([*NAMES], ["CACHE", "alias", "shared", "small"])
    heap.dict(VIEWS_SPACE, dict(zip(NAMES, (cache, cache, shared, small), strict=True)))
    heap.chunk(
        "module", [VIEWS], rest=[[VIEWS_SPACE]], flags=Flag.OWNER | Flag.TEXTS,
        values=texts_of(["app.views"]),
    )  # fmt: skip
    heap.module("app.views", VIEWS, VIEWS_SPACE)


def _finalizable(made: _Program) -> None:
    """Dead cycles of classes with a finalizer, with that of a base, and without."""
    finalizer = made.add("function", "app.Base.__del__")
    order = made.add("tuple")  # of no class
    base = made.add("type", named={"__mro__": order, "__del__": finalizer}, held=True)
    mro = made.add("tuple", rest=[base])
    derived = made.add("type", named={"__mro__": mro}, held=True)
    below = made.add("tuple", rest=[derived, base])
    further = made.add("type", named={"__mro__": below}, held=True)
    plain = made.add("type", named={"__mro__": order}, held=True)
    for name, kind, count in (
        ("app.Derived", derived, 3),
        ("app.Further", further, 3),
        ("app.Plain", plain, 2),
    ):
        for _ in range(count):
            made.add(name, rest=[made.next, kind], size=48)
    made.add("app.Derived", rest=[derived], held=True)


def _layouts(made: _Program) -> None:
    """Of a class: three with the same attributes, two with more, one bare, one dead."""
    one, other = made.own(16), made.own(16)
    made.held += [one, other]
    kind = "app.Order"
    made.add(kind, named={"total": one, "items": other}, held=True, size=64)
    made.add(kind, named={"items": one, "total": other}, held=True, size=64)
    made.add(kind, named={"items": one, "total": one}, rest=[other], held=True, size=48)
    for size in (32, 48):
        named = {"items": one, "total": other, "error": one}
        made.add(kind, named=named, held=True, size=size)
    made.add(kind, held=True)
    made.add(kind, named={"gone": one}, dead=True)


def _contexts(made: _Program) -> None:
    """Two variables of one name with several values, another one, and a dead value."""
    user, request, unused = (
        made.add("_contextvars.ContextVar", name, held=True)
        for name in ("user", "request", "unused")
    )
    same = made.add("_contextvars.ContextVar", "user", held=True)
    small, large, third = made.own(60), made.own(700), made.own(80)
    below = made.add("hamt_bitmap_node", rest=[small, user, third, same])
    node = made.add("hamt_bitmap_node", rest=[below, large, user, third, request])
    table = made.add("hamt", rest=[node])
    made.add("_contextvars.Context", rest=[table], held=True)
    made.add("hamt_bitmap_node", rest=[made.own(9000), unused], dead=True)


def _locals(made: _Program) -> None:
    """One of two threads, one of a class that extends it, an unused and a dead one."""
    base = made.add("type", "_thread._local", held=True)
    made.heap.type("_thread._local", base)
    order = made.next
    own = made.add("type", "app.Local", named={"__mro__": order + 0x10}, held=True)
    made.add("tuple", rest=[own, base])
    made.heap.type("app.Local", own)
    keys = [made.next, made.next + 0x10]
    made.next += 0x20
    made.heap.texts(keys, ["session", "count"])

    def dicts(*entries: dict[int, int]) -> int:
        found = []
        for entry in entries:
            found.append(made.next)
            made.next += 0x10
            made.heap.dict(found[-1], entry)
        table = made.next
        made.next += 0x10
        made.heap.dict(table, {made.add("_thread._localdummy"): d for d in found})
        return table

    shared = made.own(30)
    several = dicts(
        {keys[0]: made.own(500), keys[1]: shared},
        {keys[0]: made.own(90), keys[1]: shared},
    )
    made.add("_thread._local", named={"(threads)": several}, held=True)
    of_own = dicts({keys[0]: made.own(50)})
    made.add("app.Local", rest=[own], named={"(threads)": of_own}, held=True)
    made.add("_thread._local", held=True)
    gone = dicts({keys[0]: made.own(5000)})
    made.add("_thread._local", named={"(threads)": gone}, dead=True)


def _arrays(made: _Program, shared: int) -> None:
    """Two of a frame, one of views, one that much holds, and a dead one."""
    kind = "numpy.ndarray"
    for number in range(2):
        array = made.add(kind, f"<f8 ({number},)", size=8000 + number)
        block = made.add("pandas._libs.internals.Block", named={"values": array})
        frame = made.add("pandas.core.frame.DataFrame", rest=[block])
        made.add("app.Report", named={"table": frame}, held=True)
    owner = made.add(kind, "|u1 (3000,)", size=3000)
    view = made.add(kind, named={"base": owner}, size=112)
    made.add("app.Report", named={"line": view}, held=True)
    several = made.add(kind, size=900, held=True)
    for _ in range(2):
        made.add(kind, named={"base": several}, size=112, held=True)
    made.add(kind, rest=[shared], size=200, held=True)
    of_c = made.add("PyCapsule")
    made.add(kind, named={"base": of_c}, size=112, outside=6000, held=True)
    made.add("mmap.mmap", outside=70_000, held=True)
    made.add(kind, "<i4 (9,)", size=99_000, dead=True)
