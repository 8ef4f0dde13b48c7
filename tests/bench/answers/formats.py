"""Writers of a `Heap`, one for each dump format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model
from tests.bench.answers.hprof_format import hprof
from tests.bench.answers.v8_format import v8
from tests.dumps.clrprofiler import Heap as SosHeap
from tests.dumps.clrprofiler import Log
from tests.dumps.dartheap import DartHeap, boolean, latin1, named, number
from tests.dumps.gcdump import GcDump
from tests.dumps.gclog import Gclog
from tests.dumps.nettrace import NetTrace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.answers.model import Heap

_BASE = 0x2000_0000


def gclog(heap: Heap) -> bytes:
    """Types by name, statics by their declaring type; no names of fields."""
    log = Gclog().domain("Program.exe", 0x763F9D2)
    for row, name in enumerate(heap.types, 1):
        log.type(row, name)
    ids = [0x1C15D2 + 3 * row for row in range(len(heap.kinds))]
    for row, kind in enumerate(heap.kinds):
        log.object(
            ids[row], kind + 1, heap.sizes[row], [ids[t] for t in heap.held[row]]
        )
    kinds = {
        model.THREAD_STATIC: (0, 0), model.HANDLE: (3, 0), model.PINNED: (3, 1),
        model.WEAK: (3, 2), model.LOCAL: (1, 0), model.FINALIZER: (2, 0),
        model.RUNTIME: (5, 0),
    }  # fmt: skip
    for root in heap.roots:
        if root.kind == model.STATIC:
            log.root(ids[root.object], 4, 0, heap.type(root.owner) + 1)
        else:
            log.root(ids[root.object], *kinds[root.kind])
    return log.close("Program.exe", 0x763FBEF).bytes("\r\n")


def gcdump(heap: Heap) -> bytes:
    """Statics by type and field; only what is reachable, as .NET's tool writes it."""
    dump = GcDump(tool="dotnet-gcdump", process="Program")
    sections = {
        model.STATIC: "[static vars]", model.THREAD_STATIC: "[thread static vars]",
        model.HANDLE: "[strong Handles]", model.PINNED: "[pinning Handles]",
        model.LOCAL: "[local vars]", model.FINALIZER: "[finalizer Handles]",
        model.RUNTIME: "[other roots]",
    }  # fmt: skip
    statics = [
        root for root in heap.roots if root.kind in (model.STATIC, model.THREAD_STATIC)
    ]
    first = 1 + len(sections) + len(statics)
    top = dump.type("[.NET Roots]", 0)
    dump.node(top, 0, range(1, 1 + len(sections)))
    for kind, name in sections.items():
        children = [first + r.object for r in heap.roots if r.kind == kind]
        if kind in (model.STATIC, model.THREAD_STATIC):
            children = [
                1 + len(sections) + row
                for row, root in enumerate(statics)
                if root.kind == kind
            ]
        dump.node(dump.type(name, 0), 0, children)
    for root in statics:
        word = "thread static" if root.kind == model.THREAD_STATIC else "static"
        name = f"[{word} var {root.owner}.{root.field}]"
        dump.node(dump.type(name, 0), 0, [first + root.object])
    types = [dump.type(name, -1, "Program.dll") for name in heap.types]
    for row, address in enumerate(_addresses(heap)):
        held = [first + target for target in heap.held[row]]
        dump.node(types[heap.kinds[row]], address, held, heap.sizes[row])
    return dump.file()


def nettrace(heap: Heap) -> bytes:
    """Statics by field; which type declares them is not recorded."""
    trace = NetTrace()
    numbers = [0x7000_0000 + 0x80 * row for row in range(len(heap.types))]
    names = dict(zip(numbers, heap.types, strict=True))
    for begin in range(0, len(numbers), 200):
        trace.types({n: names[n] for n in numbers[begin : begin + 200]})
    trace.start(2)
    address = list(_addresses(heap))
    kinds = {
        model.LOCAL: (0, 0), model.FINALIZER: (1, 0), model.HANDLE: (2, 0),
        model.PINNED: (2, 1), model.WEAK: (2, 2), model.RUNTIME: (3, 0),
    }  # fmt: skip
    statics = [
        (address[r.object], numbers[heap.kinds[r.object]],
         int(r.kind == model.THREAD_STATIC), r.field)
        for r in heap.roots
        if r.kind in (model.STATIC, model.THREAD_STATIC)
    ]  # fmt: skip
    for begin in range(0, len(statics), 200):
        trace.statics(statics[begin : begin + 200])
    roots = [(address[r.object], *kinds[r.kind]) for r in heap.roots if r.kind in kinds]
    for index, begin in enumerate(range(0, len(roots), 2000)):
        trace.roots(roots[begin : begin + 2000], index)
    for index, begin in enumerate(range(0, len(address), 1000)):
        rows = range(begin, min(begin + 1000, len(address)))
        trace.nodes(
            [
                (address[row], heap.sizes[row], numbers[heap.kinds[row]],
                 len(heap.held[row]))
                for row in rows
            ],
            index,
        )  # fmt: skip
    edges = [address[target] for held in heap.held for target in held]
    for index, begin in enumerate(range(0, len(edges), 4000)):
        trace.edges(edges[begin : begin + 4000], index)
    trace.end(2)
    trace.point()
    return trace.file()


def sos_xml(heap: Heap) -> bytes:
    """Roots with their kinds; no statics, no names of fields."""
    out = SosHeap(dict(enumerate(heap.types, 1)))
    address = list(_addresses(heap))
    kinds = {model.LOCAL: "stack", model.FINALIZER: "finalizer"}
    # A static is told by the runtime's array alone.
    out.roots = [
        (kinds.get(root.kind, "handle"), address[root.object])
        for root in heap.roots
        if root.kind not in (model.STATIC, model.WEAK)
    ]
    out.objects = [
        (address[row], kind + 1, heap.sizes[row], [address[t] for t in heap.held[row]])
        for row, kind in enumerate(heap.kinds)
    ]
    return out.sos_xml()


def clrprofiler(heap: Heap) -> bytes:
    """A log with one dump; no statics, no names of fields."""
    log = Log()
    for row, name in enumerate(heap.types, 1):
        log.type(row, name.replace("[]", " []"))
    log.function(1, "Program.Main").clock(10).begin()
    address = list(_addresses(heap))
    flags = {model.PINNED: (3, 1), model.WEAK: (3, 2), model.FINALIZER: (2, 0)}
    for root in heap.roots:
        if root.kind == model.LOCAL:
            log.stack_root(address[root.object], 1)
        elif root.kind != model.STATIC:
            log.root(address[root.object], *flags.get(root.kind, (3, 0)))
    for row, kind in enumerate(heap.kinds):
        held = [address[target] for target in heap.held[row]]
        log.object(address[row], kind + 1, heap.sizes[row], held)
    return log.clock(900).end().bytes()


def dart(heap: Heap) -> bytes:
    """Fields and statics by name, through the VM's own classes and fields."""
    out = DartHeap()
    statics = [root for root in heap.roots if root.kind == model.STATIC]
    for name in ("dart:core::_OneByteString", "dart:core::_Smi", *_VM_FIELDS):
        heap.type(name)
    heap.fields.update(_VM_FIELDS)
    out.cls("Root")
    out.cls("Isolate", fields=[root.field for root in statics])
    kinds = {}
    for name in heap.types:
        library, _, simple = name.rpartition("::")
        kinds[name] = out.cls(simple, library, heap.fields.get(name, ()))
    text = heap.type("dart:core::_OneByteString")
    first, owners = 3, sorted({root.owner for root in statics})
    classes = first + len(heap.kinds)
    class_of = {owner: classes + 4 * row for row, owner in enumerate(owners)}
    fields = classes + 4 * len(owners)
    others = [first + r.object for r in heap.roots if r.kind != model.STATIC]
    field_rows = range(fields, fields + 3 * len(statics), 3)
    out.obj("Root", 0, [2, *class_of.values(), *field_rows, *others])
    out.obj("Isolate", 0, [first + root.object for root in statics], named("4711"))
    types = [kinds[name] for name in heap.types]
    for row, kind in enumerate(heap.kinds):
        data = latin1("text") if kind == text else b"\0"
        if row in heap.values:
            data = boolean(heap.values[row])
        out.obj(types[kind], heap.sizes[row], [first + t for t in heap.held[row]], data)
    for owner, at in class_of.items():
        library, _, simple = owner.rpartition("::")
        out.obj(kinds["Class"], 120, [at + 1, at + 2], named(simple))
        out.obj(types[text], 32, data=latin1(simple))
        out.obj(kinds["Library"], 96, [at + 3, at + 3], named(library))
        out.obj(types[text], 64, data=latin1(library))
    for row, (root, at) in enumerate(zip(statics, field_rows, strict=True)):
        held = [at + 1, class_of[root.owner], 0, at + 2]
        out.obj(kinds["Field"], 64, held, named(root.field))
        out.obj(types[text], 32, data=latin1(root.field))
        out.obj(kinds["dart:core::_Smi"], 0, data=number(row))
    return out.bytes()


_VM_FIELDS = {
    "Class": ("name_", "library_"),
    "Library": ("name_", "url_"),
    "Field": ("name_", "owner_", "type_", "host_offset_or_field_id_"),
}
WRITERS = {
    "gclog": gclog,
    "gcdump": gcdump,
    "nettrace": nettrace,
    "traverseheap": sos_xml,
    "clrprofiler": clrprofiler,
    "dartheap": dart,
    "hprof": hprof,
    "v8": v8,
}


def _addresses(heap: Heap) -> Iterator[int]:
    """One object after the other."""
    at = _BASE
    for size in heap.sizes:
        yield at
        at += (size + 7) // 8 * 8
