"""A program of the world in the making, at one of several moments of its life."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.answers import model
from tests.bench.answers.dart import Dart
from tests.bench.answers.dotnet import DotNet
from tests.bench.answers.formats import WRITERS
from tests.bench.answers.jvm import Jvm
from tests.bench.answers.model import Heap

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 3
"""Dumps of a program; a leak has its full size in the last one."""


class Leak(NamedTuple):
    """What a program leaks.

    Attributes:
        types: Any of these names it: what piles up, or what wraps each.
        holders: Who has the pile.
        shared_types: These name it together with a holder: types that others have too.
    """

    types: tuple[str, ...]
    holders: tuple[str, ...] = ()
    shared_types: tuple[str, ...] = ()


@dataclass
class App:
    """A heap, and words for what is put there.

    Attributes:
        step: Which dump of the program it is.
        random: The same for all dumps of a program, so that they begin alike.
        now: For what differs from dump to dump.
        leaked_bytes: What was added within `leaking`.
        leaked: How many objects of each type those are.
    """

    format: str
    step: int
    random: Random
    now: Random
    heap: Heap = field(default_factory=Heap)
    leaked_bytes: int = 0
    leaked: Counter[str] = field(default_factory=Counter)
    _fields: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _booleans: dict[bool, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.format == "hprof":
            self.java = Jvm(self.heap)
        elif self.format == "dartheap":
            self.dart = Dart(self.heap)
        else:
            style = "csharp" if self.format == "gcdump" else "long"
            self.net = DotNet(self.heap, style, table=self.format == "gcdump")

    def declare(self, *told: str) -> None:
        """Declare types: ``Name: field other count:I closed:Z``."""
        for one in told:
            if self.format == "hprof":
                self.java.declare(one)
                continue
            name, _, listed = one.rpartition(": ")
            fields = [tuple((each + ":L").split(":")[:2]) for each in listed.split()]
            self._fields[name] = fields  # type: ignore[assignment]
            if self.format == "dartheap":
                names = [each for each, code in fields if code in "LZ"]
                self.dart.type(name, names)

    def new(self, name: str, /, **values: int) -> int:
        """An instance; .NET's formats have no numbers, Dart's none but booleans."""
        if self.format == "hprof":
            return self.java.new(name, **values)
        fields = self._fields.get(name, [])
        unknown = values.keys() - {each for each, _ in fields}
        if unknown:
            raise ValueError(f"{name} has no {', '.join(sorted(unknown))}")
        extra = 8 * sum(code not in "LZ" for _, code in fields)
        if self.format != "dartheap":
            held = [values[n] for n, code in fields if code == "L" and n in values]
            absent = len([n for n, code in fields if code == "L"]) - len(held)
            return self.net.object(name, held, 8 + extra + 8 * absent)
        targets = []
        for each, code in fields:
            if code == "Z":
                targets.append(self._boolean(bool(values.get(each, 0))))
            elif code == "L":
                targets.append(values.get(each, self.dart.null))
        return self.dart.object(name, targets, 8 + extra)

    def _boolean(self, value: bool) -> int:
        """Dart's ``true`` or ``false``, of which there is one each."""
        if value not in self._booleans:
            number = self.heap.add("dart:core::bool", 16)
            self.heap.values[number] = value
            self.heap.root(number, model.RUNTIME)
            self._booleans[value] = number
        return self._booleans[value]

    @contextmanager
    def leaking(self) -> Iterator[None]:
        """What is added meanwhile is the leak."""
        before, first = self.heap.total_bytes, len(self.heap.kinds)
        yield
        self.leaked.update(self.heap.types[kind] for kind in self.heap.kinds[first:])
        self.leaked_bytes += self.heap.total_bytes - before

    def grown(self, count: int) -> int:
        """So many in the last dump, fewer in those before."""
        return count * (self.step + 1) // STEPS

    def about(self, count: int) -> int:
        """So many, a few percent more or less in each dump."""
        return max(1, round(count * self.now.uniform(0.97, 1.03)))

    @property
    def leaked_share(self) -> float:
        return self.leaked_bytes / self.heap.total_bytes

    def dump(self) -> bytes:
        self.heap.shuffle(self.now)
        return WRITERS[self.format](self.heap)


Maker = Callable[[App], Leak | None]


@dataclass(frozen=True)
class Ordinary:
    """A program of the world, and how its dumps are written."""

    make: Maker
    format: str

    @property
    def name(self) -> str:
        return self.make.__name__.replace("_", " ")

    def program(self, seed: int, step: int) -> tuple[App, Leak | None]:
        """The program after so many steps, and what it leaks."""
        begin = f"{seed} {self.name} {self.format}"
        app = App(self.format, step, Random(begin), Random(f"{begin} {step}"))
        leak = self.make(app)
        SURROUNDINGS[self.format](app)
        return app, leak


def _of_java(app: App) -> None:
    """Loaders, loggers, properties, threads and requests at work."""
    java = app.java
    pairs = [(java.string(30), java.new("java.lang.Object")) for _ in range(250)]
    loader = java.new(
        "java.net.URLClassLoader", name=java.text("app"),
        parallelLockMap=java.concurrent_map("", "", pairs),
    )  # fmt: skip
    java.static("java.lang.Thread", "systemLoader", loader)
    texts = [(java.string(24), java.string(40)) for _ in range(90)]
    java.static("java.lang.System", "props", java.map("", "", texts))
    app.declare(
        "ch.qos.logback.classic.Logger: name level parent childrenList aai additive:Z "
        "loggerContext",
        "ch.qos.logback.classic.LoggerContext: root loggerCache turboFilterList",
        "org.apache.catalina.connector.Request: coyoteRequest attributes secure:Z",
        "org.apache.tomcat.util.buf.ByteChunk: buff start:I end:I isSet:Z",
        "org.apache.coyote.Request: inputBuffer uri headers",
    )
    root = java.new("ch.qos.logback.classic.Logger", name=java.text("ROOT"))
    loggers = [
        java.new("ch.qos.logback.classic.Logger", name=java.string(35), parent=root)
        for _ in range(160)
    ]
    java.set(root, childrenList=java.copied_list(loggers))
    cache = [(java.string(35), each) for each in loggers]
    context = java.new(
        "ch.qos.logback.classic.LoggerContext",
        root=root, loggerCache=java.concurrent_map("", "", cache),
    )  # fmt: skip
    java.static("org.slf4j.LoggerFactory", "FACTORY", context)
    for row in range(8):
        made = []
        for _ in range(app.now.randint(1, 4)):
            chunk = java.new(
                "org.apache.tomcat.util.buf.ByteChunk", buff=java.bytes(2048), isSet=1
            )
            coyote = java.new("org.apache.coyote.Request", inputBuffer=chunk)
            made.append(
                java.new("org.apache.catalina.connector.Request", coyoteRequest=coyote)
            )
        java.thread(made, f"http-nio-8080-exec-{row}", contextClassLoader=loader)
    for _ in range(app.now.randint(100, 200)):  # garbage
        java.list("", [java.string(30)])


def _of_net(app: App) -> None:
    """What the runtime knows of types, literals, requests at work."""
    net, heap = app.net, app.heap
    for _ in range(120):
        cache = heap.add("System.RuntimeType+RuntimeTypeCache", 152)
        heap.root(heap.add("System.RuntimeType", 40, [cache]), model.RUNTIME)
    texts = [net.string(20) for _ in range(300)]
    heap.root(net.array("System.Object", texts, 1020), model.PINNED)
    for _ in range(app.now.randint(4, 7)):
        name = "Microsoft.AspNetCore.Http.DefaultHttpContext"
        items = [net.heap.add(name, 152, [net.string(30)]) for _ in range(3)]
        net.thread(items)
    services = [
        (net.heap.add("System.RuntimeType", 40), net.object("System.Object"))
        for _ in range(60)
    ]
    place = "Microsoft.Extensions.DependencyInjection.ServiceLookup."
    inside = net.map("System.Type", "System.Object", services)
    net.static(
        "Program", "_root", heap.add(f"{place}ServiceProviderEngineScope", 64, [inside])
    )
    for _ in range(app.now.randint(100, 200)):  # garbage
        net.list(net.string_type, [net.string(20)])


def _of_dart(app: App) -> None:
    """Functions, code and sources of libraries; what a frame of the screen needs."""
    dart, heap = app.dart, app.heap
    for _ in range(25):
        functions = []
        for _ in range(12):
            code = dart.object("Code", [dart.null] * 2, 100)
            functions.append(
                dart.object("Function", [dart.string(20), dart.null, code], 64)
            )
        script = dart.object("Script", [dart.string(40), dart.string(900)])
        table = dart.array("", [*functions, script])
        heap.root(dart.object("Library", [dart.string(20), table]), model.RUNTIME)
    dart.thread(
        [dart.list("", [dart.string(20) for _ in range(app.now.randint(5, 30))])]
    )


SURROUNDINGS: dict[str, Callable[[App], None]] = {
    "hprof": _of_java,
    "gclog": _of_net,
    "gcdump": _of_net,
    "dartheap": _of_dart,
}
