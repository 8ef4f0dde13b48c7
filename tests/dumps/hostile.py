"""Files made to cost a reader much more than their size: none of them is a real dump.

Each function writes about ``size`` bytes. `HOSTILE` has them by name, and `BOMBS` those
that are small only because they are compressed.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.dumps import mlpd
from tests.dumps.clrprofiler import Log
from tests.dumps.dartheap import DartHeap, text, uleb
from tests.dumps.gcdump import GcDump, i32, i64, number
from tests.dumps.gcdump import text as string
from tests.dumps.hprof import THREAD_OBJECT, Hprof, jdk
from tests.dumps.nettrace import NetTrace
from tests.dumps.perfetto import HeapGraph, mapping, message, trace

if TYPE_CHECKING:
    from collections.abc import Callable

_FUNCTION = b"f 0 NATIVE FUNCTION ( UNKNOWN ARGUMENTS ) 0 0\n"
_XML = '<gcheap><types><type id="1" name="A"/></types>'
_ELEMENT = '<object address="0x10" typeid="1" size="8"/>'


def _log(size: int) -> bytes:
    """What a CLR Profiler log begins with, and is recognised by."""
    return _FUNCTION + b"t 1 0 A\n" * min(size // 100, 2000)


def type_lines(size: int) -> bytes:
    """A gclog of one type, declared again and again."""
    return b"a 2 x\n" + b"t 1 X\n" * (size // 6)


def conflicting_types(size: int) -> bytes:
    """A gclog of one type under many names."""
    lines = (b"t 1 %x\n" % name for name in range(size // 10))
    return b"a 2 x\n" + b"".join(lines)


def gclog_roots(size: int) -> bytes:
    """A gclog of the shortest roots."""
    return b"a 2 x\no 1 1 1\n" + b"r 1 1 0\n" * (size // 8) + b"c x\n"


def domains(size: int) -> bytes:
    """A gclog of domains without content."""
    return b"a 2\nc x\n" * (size // 8) + b"o 1 1 1\n"


def log_roots(size: int) -> bytes:
    """A CLR Profiler log of the shortest roots."""
    return _log(size) + b"e 1 1 1\n" * (size // 8) + b"o 1 1 1\n"


def log_collections(size: int) -> bytes:
    """A CLR Profiler log of collections, and one object."""
    return _log(size) + b"b 1 0 0\nb 0 0 0\n" * (size // 16) + b"o 1 1 1\n"


def log_dumps(size: int) -> bytes:
    """A CLR Profiler log of dumps with one object each."""
    return _log(size) + b"g 1\no 1 1 1\n" * (size // 12)


def log_functions(size: int) -> bytes:
    """A CLR Profiler log of functions that nothing uses."""
    lines = (b"f %d a b\n" % ident for ident in range(size // 12))
    return _log(size) + b"".join(lines) + b"o 1 1 1\n"


def xml_nested(size: int) -> bytes:
    """SOS's XML with elements inside of one another."""
    return (_XML + "<objects>" + _ELEMENT + "<a>" * (size // 3)).encode()


def xml_names(size: int) -> bytes:
    """SOS's XML with elements that all have names of their own."""
    names = (f"<a{at:x}/>" for at in range(size // 9))
    return (_XML + "<objects>" + _ELEMENT + "".join(names)).encode()


def xml_attributes(size: int) -> bytes:
    """SOS's XML with an element of many attributes."""
    names = (f"a{at:x}='' " for at in range(min(size, 900_000) // 11))
    return (_XML + "<objects>" + _ELEMENT + f"<a {''.join(names)}/>").encode()


def xml_roots(size: int) -> bytes:
    """SOS's XML with roots."""
    root = '<root kind="stack" address="0x10"/>'
    roots = f"<roots>{root * (size // len(root))}</roots>"
    return f"{_XML}{roots}<objects>{_ELEMENT}</objects></gcheap>".encode()


def gcdump_nodes(size: int) -> bytes:
    """A ``.gcdump`` of nodes that are all zeros, and share one record."""
    count = size // 12

    def graph() -> bytes:
        types = i32(1) + string("A") + i32(0) + string("")
        return (
            i64(0) + i32(0) + types + i32(count) + bytes(4 * count) + i32(2) + b"\0\0"
        )

    dump = GcDump()
    dump.addresses = [0] * count
    return dump.file(graph)


def gcdump_types(size: int) -> bytes:
    """A ``.gcdump`` of types that are all zeros."""
    count = size // 12
    dump = GcDump()
    return dump.file(
        lambda: i64(0) + i32(-1) + i32(count) + bytes(12 * count) + i32(0) + i32(0)
    )


def gcdump_children(size: int) -> bytes:
    """A ``.gcdump`` of one node that refers to itself, in one byte each time."""
    return _one_record("A", size, b"\0")


def gcdump_roots(size: int) -> bytes:
    """A ``.gcdump`` of one pseudo node, all of whose references are roots."""
    return _one_record("[static vars]", size, b"\1")


def _one_record(name: str, size: int, child: bytes) -> bytes:
    record = number(2) + number(size) + child * size
    other = number(4) + number(0)

    def graph() -> bytes:
        types = i32(3)
        for each in ("UNDEFINED", name, "B"):
            types += string(each) + i32(0) + string("")
        return b"".join(
            [
                i64(0), i32(0), types, i32(2), i32(0), i32(len(record)),
                i32(len(record) + len(other)), record, other,
            ]
        )  # fmt: skip

    dump = GcDump()
    dump.addresses = [0, 0x10]
    return dump.file(graph)


def dart_slots(size: int) -> bytes:
    """A Dart snapshot of classes whose one field has a place far behind."""
    place = uleb(1) + uleb(1) + uleb(1 << 20) + text("f") + text("")
    heap = DartHeap()
    heap.cls("Root")
    heap.classes += [uleb(0) + 4 * text("") + place] * min(size // 12, 15)
    heap.obj(1, 0)
    return heap.bytes()


def dart_objects(size: int) -> bytes:
    """A Dart snapshot of the smallest objects that are not folded."""
    heap = DartHeap()
    heap.cls("Root")
    heap.obj(1, 0)
    count = size // 4
    tail = uleb(0) + uleb(count + 1) + heap.objects[0] + b"\1\1\0\0" * count + uleb(0)
    return heap.head() + tail


def dart_external(size: int) -> bytes:
    """A Dart snapshot whose external memory all belongs to few objects."""
    heap = DartHeap()
    heap.cls("Root")
    for _ in range(100):
        heap.obj(1, 1)
    for at in range(size // 10):
        heap.outside(at % 100 + 1, 1, f"{at:x}")
    return heap.bytes()


def trace_collections(size: int) -> bytes:
    """A ``.nettrace`` of collections, and one object."""
    trace = NetTrace()
    count = size // 55
    for at in range(1, count + 1):
        trace.start(at, 0, 0)
        trace.end(at)
        if at % 1000 == 0:
            trace.flush()
    trace.types({1: "A"})
    trace.start(count + 1)
    trace.nodes([(0x10, 8, 1, 0)])
    trace.edges([])
    trace.end(count + 1)
    return trace.file()


def trace_roots(size: int) -> bytes:
    """A ``.nettrace`` of roots."""
    trace = NetTrace()
    trace.types({1: "A"})
    trace.start(1)
    rows = (struct.pack("<QBIQ", 0x10, 0, 0, 0),) * 40_000
    for at in range(max(1, size // (21 * len(rows)))):
        trace.bulk(16, at, rows)
        trace.flush()
    trace.nodes([(0x10, 8, 1, 0)])
    trace.edges([])
    trace.end(1)
    return trace.file()


def log_ranges(size: int) -> bytes:
    """A CLR Profiler log of ranges that survive a collection."""
    log = Log().type(1, "T").begin(0)
    lines = b"".join(b"v %d 8\n" % (16 * at) for at in range(size // 13))
    end = Log().end(0).plain_roots(16).bytes("\n")
    return _log(size) + log.bytes("\n") + lines + end + b"o 16 1 8\n"


def _java(size: int, sub: bytes, record: bytes = b"") -> bytes:
    """A Java dump whose one segment repeats a sub-record, or that repeats a record."""
    dump = Hprof(id_size=4)
    dump.cls("java/lang/Object", 0x10)
    dump.obj(0x20, "java/lang/Object")
    if sub:
        dump.sub(sub * max(1, size // len(sub)))
    else:
        dump.records += [record] * (size // len(record))
    return dump.bytes()


def hprof_roots(size: int) -> bytes:
    """A Java dump of the shortest roots."""
    return _java(size, b"\xff" + struct.pack(">I", 0x20))


def hprof_objects(size: int) -> bytes:
    """A Java dump of one object, again and again."""
    return _java(size, b"\x21" + struct.pack(">IIII", 0x20, 0, 0x10, 0))


def hprof_classes(size: int) -> bytes:
    """A Java dump of classes that nothing names."""
    head = (b"\x20" + struct.pack(">I", at) for at in range(16, 16 + size // 43))
    return _java(size, b"".join(one + bytes(38) for one in head))


def hprof_fields(size: int) -> bytes:
    """A Java dump of classes with a constant, a static field and a field each."""
    lists = struct.pack(">HHBI", 1, 1, 2, 0x20) + struct.pack(">HIBI", 1, 0x70, 2, 0x20)
    tail = lists + struct.pack(">HIB", 1, 0x70, 2)
    heads = (
        struct.pack(">BIIIIIIIII", 0x20, at, 0, 0x20, 0x20, 0, 0, 0, 0, 8)
        for at in range(64, 64 + size // 64)
    )
    return _java(size, b"".join(head + tail for head in heads))


def hprof_references(size: int) -> bytes:
    """A Java dump of one array that refers to one object only."""
    many = size // 4
    head = b"\x22" + struct.pack(">IIII", 0x30, 0, many, 0x10)
    return _java(size, head + struct.pack(">I", 0x20) * many)


def hprof_names(size: int) -> bytes:
    """A Java dump of empty names."""
    return _java(size, b"", struct.pack(">BIII", 1, 0, 4, 0x70))


def hprof_loads(size: int) -> bytes:
    """A Java dump that loads one class again and again."""
    return _java(size, b"", struct.pack(">BIIIIII", 2, 0, 16, 7, 0x50, 0, 0x70))


def hprof_class_names(size: int) -> bytes:
    """A Java dump of classes that share one long name."""
    dump = Hprof(id_size=4)
    long = dump.name("a/" + "x" * 65_000)
    dump.cls("java/lang/Object", 0x10)
    loads = (
        dump.record(2, struct.pack(">IIII", at, at << 4, 0, long))
        for at in range(2, 2 + size // 140)
    )
    dump.records += loads
    for at in range(2, 2 + size // 140):
        dump.sub(struct.pack(">BIIIIIIIIIHHH", 0x20, at << 4, 0, 0x10, *[0] * 9))
        dump.sub(struct.pack(">BIIII", 0x21, (1 << 24) + (at << 4), 0, at << 4, 0))
    return dump.bytes()


def hprof_stacks(size: int) -> bytes:
    """A Java dump of threads that share one long stack trace."""
    dump = jdk(id_size=4)
    frame = dump.frame(0x90000, "java/lang/Thread", "run", 1)
    dump.trace(1, 1, [frame] * min(131_000, size // 8))
    for at in range(size // 100):
        dump.obj((1 << 24) + 64 * at, "java/lang/Thread")
        dump.root(THREAD_OBJECT, (1 << 24) + 64 * at, at + 1, 1)
        dump.root(3, (1 << 24) + 64 * at, at + 1, 1)
    return dump.bytes()


def hprof_chains(size: int) -> bytes:
    """A Java dump of strings whose class is below a long chain of others."""
    dump = Hprof(id_size=4)
    text = dump.name("java/lang/String")
    dump.cls("java/lang/Object", 0x10)
    for at in range(2, 2 + size // 100):
        above = at - 1 if at < 1000 else 999
        dump.records.append(dump.record(2, struct.pack(">IIII", at, at << 4, 0, text)))
        fields = struct.pack(">HIB", 1, text, 10)
        head = struct.pack(">BIIIIIIIIIHH", 0x20, at << 4, 0, above << 4, *[0] * 8)
        dump.sub(head + fields)
        dump.sub(struct.pack(">BIIII", 0x21, (1 << 24) + (at << 4), 0, at << 4, 0))
    return dump.bytes()


def hprof_segments(size: int) -> bytes:
    """A Java dump of empty segments."""
    return _java(size, b"", struct.pack(">BII", 0x1C, 0, 0))


def hprof_small_segments(size: int) -> bytes:
    """A Java dump of segments with one root each."""
    return _java(size, b"", struct.pack(">BIIBI", 0x1C, 0, 5, 0xFF, 0x20))


def hprof_spaces(size: int) -> bytes:
    """An Android dump of heaps with a number each."""
    dump = Hprof("1.0.3", 4)
    dump.cls("java/lang/Object", 0x10)
    for at in range(size // 26):
        dump.sub(b"\xfe" + struct.pack(">II", at % (1 << 32), 0))
        dump.sub(struct.pack(">BIIII", 0x21, (1 << 24) + 16 * at, 0, 0x10, 0))
    return dump.bytes()


def gclog_dumps(size: int) -> bytes:
    """A gclog of dumps, one after the other."""
    one = b"a 1 p g.exe 0\nt 1 A\no 10 1 40\nr 10 4 0 1\nc g.exe\n"
    return one * (size // len(one))


def _graph(*pieces: bytes) -> bytes:
    """A trace with one packet of an object, its type and root, and these pieces."""
    heap = HeapGraph().cls(1, "A", size=8).root(1, 1).obj(1, 1)
    heap.pieces += pieces
    return trace(*heap.packets())


def perfetto_objects(size: int) -> bytes:
    """A heap graph of one object, again and again."""
    return _graph(message((2, message((1, 1 << 28)))) * (size // 8))


_ADDRESS = b"\x81\x80\x80\x80\0"
"""1, in as many bytes as an address takes."""


def perfetto_references(size: int) -> bytes:
    """A heap graph of one object that refers to the first, again and again."""
    held = _ADDRESS * (size // len(_ADDRESS))
    return _graph(message((2, message((1, 2), (2, 1), (5, held)))))


def perfetto_roots(size: int) -> bytes:
    """A heap graph of roots of one object."""
    held = _ADDRESS * (size // len(_ADDRESS))
    return _graph(message((7, message((1, held), (2, 1)))))


def perfetto_types(size: int) -> bytes:
    """A heap graph of class objects' types that nothing uses, without ends."""
    made = (
        message((9, message((1, at), (3, "java.lang.Class<A>"), (5, at + 1))))
        for at in range(2, 2 + size // 32)
    )
    return _graph(*made)


def perfetto_chains(size: int) -> bytes:
    """A heap graph of a long chain of types, and objects of the last with fields."""
    many = size // 40
    chain = [
        message((9, message((1, at), (3, "B"), (5, at - 1), (6, (at,)), (7, 1))))
        for at in range(2, 2 + many)
    ]
    one = message((2, many), (5, b"\1" * 1000))
    objects = [message((2, message((1, 2 + at)) + one)) for at in range(size // 20_000)]
    return _graph(*chain, *objects)


def perfetto_names(size: int) -> bytes:
    """A heap graph of names of fields that are all different."""
    made = (
        message((4, message((1, at), (2, f"A A.a{at:x}")))) for at in range(size // 18)
    )
    return _graph(*made)


def perfetto_dumps(size: int) -> bytes:
    """A trace of heap graphs with an object each."""
    one = HeapGraph().root(1, 1).obj(1, 1).packets()
    return trace(*one) * min(size // 31, 60_000)


def perfetto_packets(size: int) -> bytes:
    """A trace of empty packets, and one heap graph."""
    return _graph() + b"\n\0" * (size // 2)


def perfetto_mapping(size: int) -> bytes:
    """A trace of a heap graph and original names of classes that it does not have."""
    names = {(f"a{at:x}", "A"): {"b": "c"} for at in range(size // 22)}
    return _graph() + trace(mapping("", names))


def mlpd_objects(size: int) -> bytes:
    """A log of one object, again and again."""
    shot = mlpd.Buffer().begin()
    one = mlpd.Buffer().obj(mlpd.HEAP, mlpd.CLASS, 8).events
    shot.events += one * (size // len(one))
    return mlpd.log(shot)


def mlpd_references(size: int) -> bytes:
    """A log of one object that refers to itself, again and again."""
    held = [(at, mlpd.HEAP) for at in range(size // 8)]
    return mlpd.log(mlpd.Buffer().begin().obj(mlpd.HEAP, mlpd.CLASS, 8, *held).end())


def mlpd_moves(size: int) -> bytes:
    """A log of moves of one object around two heapshots."""
    one = mlpd.Buffer().begin().obj(mlpd.HEAP, mlpd.CLASS, 8).end()
    moved = [(mlpd.HEAP + 8 * at, mlpd.HEAP + 8 * at + 8) for at in range(size // 8)]
    two = mlpd.Buffer(began_ns=9000).moves(*moved).begin()
    return mlpd.log(one, two.obj(mlpd.HEAP, mlpd.CLASS, 8).end())


def mlpd_heapshots(size: int) -> bytes:
    """A log of heapshots with an object each."""
    shots = mlpd.Buffer()
    one = mlpd.Buffer().begin().obj(mlpd.HEAP, mlpd.CLASS, 8).events
    shots.events += one * min(size // len(one), 60_000)
    return mlpd.log(shots)


def mlpd_regions(size: int) -> bytes:
    """A log of regions that come and go, of roots in them, and of classes."""
    shot = mlpd.Buffer()
    for at in range(size // 60):
        shot.region(mlpd.STATICS + at, 9, 3, mlpd.CLASS + at).no_region(mlpd.STATICS)
        shot.cls(mlpd.CLASS + at, f"A{at}")
    shot.begin().roots(*((mlpd.STATICS + at, mlpd.HEAP) for at in range(size // 60)))
    return mlpd.log(shot.obj(mlpd.HEAP, mlpd.CLASS, 8).end())


HOSTILE: dict[str, Callable[[int], bytes]] = {
    f"{made.__name__.replace('_', '-')}": made
    for made in (
        type_lines, conflicting_types, gclog_roots, domains, log_roots,
        log_collections, log_dumps, log_functions, log_ranges, xml_nested, xml_names,
        xml_attributes, xml_roots, gcdump_nodes, gcdump_types, gcdump_children,
        gcdump_roots, dart_slots, dart_objects, dart_external, trace_collections,
        trace_roots, hprof_roots, hprof_objects, hprof_classes, hprof_fields,
        hprof_references, hprof_names, hprof_loads, hprof_class_names, hprof_stacks,
        hprof_chains, hprof_segments, hprof_small_segments, hprof_spaces, gclog_dumps,
        perfetto_objects, perfetto_references, perfetto_roots, perfetto_types,
        perfetto_chains, perfetto_names, perfetto_dumps, perfetto_packets,
        perfetto_mapping, mlpd_objects, mlpd_references, mlpd_moves, mlpd_heapshots,
        mlpd_regions,
    )
}  # fmt: skip
"""By name: each makes a file of about so many bytes."""
