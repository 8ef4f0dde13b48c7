"""A small known Java heap: loaders, threads, thread-locals, maps, boxes, strengths."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.dumps.hprof import (
    BOOLEAN,
    BYTE,
    INT,
    LONG,
    OBJECT,
    SYSTEM_CLASS,
    THREAD_OBJECT,
    Fields,
    Hprof,
    add_tasks,
    jdk,
)

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph

_OBJECT, _REFERENCE = "java/lang/Object", "java/lang/ref/Reference"
_JAVA_FRAME = 3
_CLASSES: tuple[tuple[str, str, Fields], ...] = (
    ("java/util/ArrayList", _OBJECT, {"elementData": OBJECT, "size": INT}),
    ("java/util/LinkedList", _OBJECT, {"first": OBJECT}),
    ("java/util/concurrent/ConcurrentHashMap", _OBJECT, {"table": OBJECT}),
    (
        "java/util/concurrent/ConcurrentHashMap$Node",
        _OBJECT,
        {"key": OBJECT, "val": OBJECT, "next": OBJECT},
    ),
    (
        "java/util/concurrent/ConcurrentHashMap$TreeBin",
        "java/util/concurrent/ConcurrentHashMap$Node",
        {"first": OBJECT},
    ),
    ("java/lang/ThreadLocal", _OBJECT, {}),
    ("java/lang/ThreadLocal$ThreadLocalMap", _OBJECT, {"table": OBJECT}),
    (
        "java/lang/ThreadLocal$ThreadLocalMap$Entry",
        "java/lang/ref/WeakReference",
        {"value": OBJECT},
    ),
    ("java/lang/ref/ReferenceQueue", _OBJECT, {}),
    ("java/lang/ref/ReferenceQueue$Null", "java/lang/ref/ReferenceQueue", {}),
    (
        "java/lang/ref/Finalizer",
        "java/lang/ref/FinalReference",
        {"next": OBJECT, "prev": OBJECT},
    ),
    ("[Ljava/util/concurrent/ConcurrentHashMap$Node;", _OBJECT, {}),
    ("[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;", _OBJECT, {}),
    ("app/PluginLoader", _OBJECT, {"parent": OBJECT}),
    ("app/Slow", _OBJECT, {"data": OBJECT}),
    ("app/Key", _OBJECT, {"number": INT}),
    ("app/Worker", "java/lang/Thread", {"threadLocals": OBJECT}),
    ("java/nio/Buffer", _OBJECT, {"mark": INT, "capacity": INT}),
    (
        "java/nio/DirectByteBuffer",
        "java/nio/Buffer",
        {"att": OBJECT, "cleaner": OBJECT},
    ),
    ("android/app/Activity", _OBJECT, {"mTitle": OBJECT, "mDestroyed": BOOLEAN}),
    ("app/MainActivity", "android/app/Activity", {"count": LONG, "view": OBJECT}),
    ("androidx/fragment/app/Fragment", _OBJECT, {"mFragmentManager": OBJECT}),
    ("app/ListFragment", "androidx/fragment/app/Fragment", {"view": OBJECT}),
    ("androidx/lifecycle/ViewModel", _OBJECT, {"mCleared": BOOLEAN}),
    ("app/CartModel", "androidx/lifecycle/ViewModel", {"items": OBJECT}),
    ("android/graphics/Bitmap", _OBJECT, {"mWidth": INT, "mHeight": INT}),
)


class _Program:
    """Objects one after the other, 0x40 apart."""

    def __init__(self) -> None:
        self.dump: Hprof = jdk()
        for i, (name, above, fields) in enumerate(_CLASSES):
            self.dump.cls(name, 0x4000 + 16 * i, above, fields)
        self._next = 0x10000

    def new(self, name: str, /, **values: float) -> int:
        return self.dump.obj(self._place(), name, **values)

    def array(self, name: str, *items: int) -> int:
        return self.dump.array(self._place(8 * len(items)), f"[L{name};", items)

    def data(self, text: bytes) -> int:
        return self.dump.numbers(self._place(len(text)), BYTE, text)

    def text(self, text: str) -> int:
        return self.new("java/lang/String", value=self.data(text.encode("latin-1")))

    def _place(self, more: int = 0) -> int:
        address = self._next
        self._next += 0x40 + (more + 0x3F) // 0x40 * 0x40
        return address

    def static(self, name: str, class_id: int, **held: int) -> None:
        statics = {field: (OBJECT, float(at)) for field, at in held.items()}
        self.dump.cls(name, class_id, _OBJECT, statics=statics)


def jvm_heap() -> HeapGraph:
    program = _Program()
    dump = program.dump
    dump.segment()
    dump.space(65, "app")
    held = _maps(program) + _lists(program) + _boxes(program) + _loaders(program)
    held += _references(program) + _android(program)
    held += add_tasks(dump, 0x900000)
    everything = program.array(_OBJECT, *held)
    local = program.new("java/lang/ThreadLocal")
    dump.space(90, "zygote")
    threads = _threads(program, local)
    program.static("app/Main", 0x6000, everything=everything, BUFFERS=local)
    dump.root(SYSTEM_CLASS, 0x1000)
    frame = dump.frame(0x7F000, "app/Main", "run", 12)
    for serial, thread in enumerate(threads, 1):
        dump.trace(serial, serial, [frame])
        dump.root(THREAD_OBJECT, thread, serial, serial)
    big, shared = program.data(bytes(900)), held[0]
    dump.root(_JAVA_FRAME, big, 1, 0)
    dump.root(_JAVA_FRAME, program.data(bytes(40)), 1, 0)
    dump.root(_JAVA_FRAME, shared, 2, 0)
    dump.root(_JAVA_FRAME, threads[1], 2, 0)
    program.data(bytes(500))  # garbage
    with TemporaryDirectory() as folder:
        path = Path(folder) / "app.hprof"
        path.write_bytes(dump.bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(values=("shop.Task", "shop.S*")), silent)


def _maps(program: _Program) -> list[int]:
    """A map with a long chain, one with a tree, one without keys, one without table."""
    node, found = 0, []
    for i in range(5):
        key = program.new("app/Key", number=i)
        node = program.new("java/util/HashMap$Node", key=key, next=node)
    other = program.new("java/util/HashMap$Node", key=program.text("k"))
    table = program.array("java/util/HashMap$Node", 0, node, 0, other, *[0] * 12)
    found.append(program.new("java/util/HashMap", table=table, size=6))
    kind = "java/util/concurrent/ConcurrentHashMap"
    node = 0
    for i in range(4):
        key = program.new("java/lang/Long", value=i)
        node = program.new(f"{kind}$Node", key=key, val=key, next=node)
    tree = program.new(f"{kind}$TreeBin", first=node)
    table = program.array(f"{kind}$Node", tree, 0)
    found.append(program.new(kind, table=table))
    table = program.array("java/util/HashMap$Node", *[0] * 16)
    found.append(program.new("java/util/HashMap", table=table))
    found.append(program.new("java/util/HashMap"))
    return found


def _lists(program: _Program) -> list[int]:
    """Lists with many, few and no elements; two that share an array; a linked one."""
    found = []
    for many, room in ((0, 10), (1, 10), (3, 4), (0, 0)):
        items = [program.text("same") for _ in range(many)] + [0] * (room - many)
        array = program.array(_OBJECT, *items)
        found.append(program.new("java/util/ArrayList", elementData=array, size=many))
    shared = program.array(_OBJECT, *[0] * 8)
    found += [program.new("java/util/ArrayList", elementData=shared) for _ in range(2)]
    found.append(program.new("java/util/LinkedList"))
    found.append(program.new("java/util/LinkedList", first=program.text("node")))
    return found


def _boxes(program: _Program) -> list[int]:
    numbers = [program.new("java/lang/Integer", value=v) for v in (7, 7, 7, 8)]
    numbers += [program.new("java/lang/Long", value=v) for v in (1 << 40, 1 << 40)]
    program.new("java/lang/Long", value=5)  # garbage
    return [*numbers, program.new("java/lang/Boolean", value=True)]


def _loaders(program: _Program) -> list[int]:
    """Two loaders with the same class, of which one has another one too."""
    dump, instances = program.dump, []
    loaders = [program.new("app/PluginLoader") for _ in range(2)]
    for i, loader in enumerate(loaders):
        at = 0x5000 + 0x100 * i
        if i:
            dump.loaded("app/Plugin", at)
        dump.cls("app/Plugin", at, _OBJECT, {"size": LONG}, loader=loader)
        instances.append(program.new("app/Plugin"))
    dump.cls("app/Extra", 0x5200, _OBJECT, {"on": BOOLEAN}, loader=loaders[1])
    instances.append(program.new("app/Extra"))
    return instances


def _references(program: _Program) -> list[int]:
    """Soft, weak and finalizer references to what only they have, and to others."""
    soft = program.new("java/lang/ref/SoftReference", referent=program.data(bytes(99)))
    weak = program.new("java/lang/ref/WeakReference", referent=program.data(bytes(30)))
    both = program.data(bytes(10))
    queues = [
        program.new("java/lang/ref/ReferenceQueue"),
        program.new("java/lang/ref/ReferenceQueue$Null"),
    ]
    finalizers: list[int] = []
    slow: list[int] = []
    for i in range(3):
        slow.append(program.new("app/Slow", data=program.data(bytes(70 + i))))
        finalizers.append(
            program.new(
                "java/lang/ref/Finalizer",
                referent=slow[-1],
                queue=queues[i > 0],
                next=finalizers[-1] if finalizers else 0,
            )
        )
    return [
        soft,
        weak,
        both,
        program.new("java/lang/ref/SoftReference", referent=both),
        finalizers[-1],
        slow[0],
    ]


def _android(program: _Program) -> list[int]:
    """Direct buffers, bitmaps, and screens that are destroyed or not."""
    cleaner = program.new(_OBJECT)
    buffer = program.new("java/nio/DirectByteBuffer", capacity=1 << 20, cleaner=cleaner)
    found = [buffer, program.new("java/nio/DirectByteBuffer", capacity=9, att=buffer)]
    found += [
        program.new("android/graphics/Bitmap", mWidth=width, mHeight=height)
        for width, height in ((100, 50), (1080, 1920), (100, 50))
    ]
    for gone in (1, 0, 1):
        view = program.data(bytes(64 * gone))
        found.append(program.new("app/MainActivity", mDestroyed=gone, view=view))
        manager = 0 if gone else cleaner
        found.append(program.new("app/ListFragment", mFragmentManager=manager))
        found.append(program.new("app/CartModel", mCleared=gone, items=view))
    program.new("app/MainActivity", mDestroyed=1)  # garbage
    return found


def _threads(program: _Program, local: int) -> list[int]:
    """Two with thread-locals, of which one is stale, and one without."""
    entry, found = "java/lang/ThreadLocal$ThreadLocalMap$Entry", []
    stale = program.new("java/lang/ThreadLocal")
    for i, locals_ in enumerate(([local, stale, 0], [local], [])):
        map_ = 0
        if locals_:
            entries = [
                program.new(entry, referent=of, value=program.data(bytes(100 * i + n)))
                for n, of in enumerate(locals_, 1)
            ]
            table = program.array(entry, 0, *entries)
            map_ = program.new("java/lang/ThreadLocal$ThreadLocalMap", table=table)
        name = program.text(f"worker {i}")
        found.append(program.new("app/Worker", name=name, threadLocals=map_))
    return found
