"""The reader of heap graphs in traces of Perfetto, and figures of its own tests."""

from __future__ import annotations

import itertools
import zlib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import FINDINGS, DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import RefKind, RootKind
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers.perfetto import sniff
from ingest.readers.perfetto.reader import parts, read, read_all
from ingest.suspects.find import find_suspects
from tests.deep import cuts
from tests.dumps.perfetto import (
    ARRAY,
    IMAGE,
    JAVA_FRAME,
    JNI_GLOBAL,
    NO_REFERENCES,
    NORMAL,
    PHANTOM,
    STICKY_CLASS,
    ZYGOTE,
    HeapGraph,
    at_class,
    classes,
    compressed,
    example,
    large_trace,
    mapping,
    message,
    process,
    shop,
    trace,
    uleb,
    unpacked,
)
from tests.hints import ran
from tests.unit.readers.shared import (
    Pieces,
    alive,
    by_id,
    references,
    root_names,
    same,
    value,
    warnings,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph as Graph


def graph_of(data: bytes, size: int = 1 << 20, **options: Any) -> Graph:  # noqa: ANN401
    return read(Pieces(data, size), ReadOptions(**options), silent)  # type: ignore[arg-type]


def dump_of(heap: HeapGraph, many: int = 1, **options: Any) -> Graph:  # noqa: ANN401
    return graph_of(trace(*heap.packets(many, **options)))


def kind(graph: Graph, ident: int) -> str:
    return graph.type_name(by_id(graph)[ident])


def test_pieces_and_packets_do_not_matter() -> None:
    graph = dump_of(shop())

    assert (graph.format_name, graph.runtime, graph.incomplete) == (
        "perfetto", "jvm", "",
    )  # fmt: skip
    assert warnings(graph) == {}
    assert graph.notes[0].startswith("Numbers, texts and flags")
    for many in (2, 5, 40):
        assert same(graph, dump_of(shop(), many))
    data = trace(*shop().packets(4))
    for size in (1, 7, 100, 1000):
        assert same(graph, graph_of(data, size))
    for zstd in (False, True):
        packed = trace(process(1, "init"), compressed(*shop().packets(4), zstd=zstd))
        assert sniff(packed)
        assert same(graph, graph_of(packed))


def test_types_fields_and_strengths() -> None:
    graph = dump_of(shop())

    assert kind(graph, 0x1000) == "com.example.shop.MainActivity"
    assert kind(graph, at_class(13)) == "java.lang.Class"
    assert value(graph, at_class(13)) == "com.example.shop.MainActivity"
    assert value(graph, 0x1002) == "640 x 480"
    assert references(graph, 0x1000) == [(0x1001, "title"), (0x1002, "picture")]
    assert references(graph, 0x311) == [
        (0x1000, "[1]"), (0x1010, "[2]"), (0x1020, "[3]"),
    ]  # fmt: skip
    assert references(graph, at_class(13)) == [
        (at_class(12), "<super>"), (0x300, "<loader>"),
    ]  # fmt: skip
    assert references(graph, 0x300) == [(at_class(13), "<runtime>")]
    rows = by_id(graph)
    sizes = {ident: int(graph.shallow_bytes[rows[ident]]) for ident in (0x1000, 0x1001)}
    assert sizes == {0x1000: 208, 0x1001: 56}
    row = graph.type_names.index("com.example.shop.MainActivity")
    assert graph.type_object is not None
    assert graph.type_loader is not None
    assert graph.type_object[row] == rows[at_class(13)]
    assert graph.type_loader[row] == rows[0x300]
    assert graph.ref_kind is not None
    at = int(graph.ref_start[rows[0x303]])
    assert (graph.ref_kind[at], graph.field_name(at)) == (RefKind.WEAK, "referent")
    assert graph.null_reference_count == 13


def test_static_fields_are_roots_and_so_is_what_the_zygote_made() -> None:
    graph = dump_of(shop())

    assert root_names(graph, 0x310) == ["static root in MainActivity.SHOWN"]
    assert root_names(graph, at_class(1)) == ["system class root"]
    assert root_names(graph, 0x200) == ["internal root"]
    assert root_names(graph, 0x301) == ["thread root"]
    assert graph.spaces == ("app", "zygote", "image")
    assert graph.space is not None
    found = {ident: int(graph.space[row]) for ident, row in by_id(graph).items()}
    assert (found[at_class(1)], found[0x200], found[0x1000]) == (2, 1, 0)
    # Weakly held, not held, and in an object that has no field for its manager.
    assert not {0x304, 0x302, 0x2000} & alive(graph)
    assert {0x1000, 0x1022, 0x200, at_class(16)} <= alive(graph)


def test_what_the_zygote_made_needs_no_root_where_something_holds_it() -> None:
    heap = HeapGraph().root(JNI_GLOBAL, 1).cls(1, "A", (1,), kind=NORMAL, size=8)
    heap.cls(2, "B", kind=PHANTOM, above=3).name(1, "A A.next").name(2, "x A.other")
    heap.cls(3, "java.lang.ref.Reference", (3,), kind=NORMAL)
    heap.name(3, "java.lang.Object java.lang.ref.Reference.referent")
    heap.obj(1, 1, (2,)).obj(2, 1, (0,), space=ZYGOTE).obj(3, 1, (4,), space=IMAGE)
    heap.obj(4, 2, (5,)).obj(5, 1)

    graph = dump_of(heap)
    assert [root_names(graph, one) for one in (1, 2, 3, 4, 5)] == [
        ["jni global root"], [], ["internal root"], [], ["internal root"],
    ]  # fmt: skip


def test_native_memory_is_that_of_cleaners_that_have_not_run() -> None:
    graph = dump_of(shop())

    assert graph.external is not None
    (row,) = graph.external.object_index.tolist()
    assert graph.object_id[row] == 0x1002
    # The lowest bit tells which allocator it is of.
    assert graph.external.size_bytes.tolist() == [500_000]


def test_kinds_of_older_traces_follow_from_names() -> None:
    heap = HeapGraph().root(JAVA_FRAME, 1, 5)
    heap.cls(1, "java.lang.ref.Reference", (7,)).cls(2, "app.Old", above=3)
    heap.cls(3, "java.lang.ref.SoftReference", above=1).cls(4, "int[][]")
    heap.name(7, "java.lang.ref.Reference.referent").name(8, "app.Old.other")
    heap.obj(1, 2, (2, 3), size=9, fields=(7, 8)).obj(2, 4, (0, 3), size=16)
    heap.obj(3, 4, size=5).obj(5, 2, (2, 2), size=9, fields=(8,))

    graph = dump_of(heap)
    assert graph.ref_kind is not None
    assert graph.ref_kind.tolist() == [RefKind.SOFT, 0, 0, 0, 0]
    assert references(graph, 1) == [(2, "referent"), (3, "other")]
    assert references(graph, 2) == [(3, "[1]")]
    assert references(graph, 5) == [(2, None), (2, None)]
    assert warnings(graph) == {"malformed_reference": 1}


def test_lists_need_not_be_packed() -> None:
    heap = HeapGraph().root(JNI_GLOBAL, 1).cls(1, "A", size=8)
    heap.name(1, "A A.a").name(2, "A A.b").cls(2, "B", (1, 2), kind=NORMAL, size=8)
    plain = message((1, 1), (2, 1)) + unpacked(5, (0, 2, 3)) + unpacked(4, (1, 1, 2))
    other = message((1, 2), (2, 2)) + unpacked(5, (3, 0)) + unpacked(10, (1,))
    heap.pieces += [message((2, plain)), message((2, other))]
    heap.pieces.append(message((7, unpacked(1, (2, 3)) + message((2, STICKY_CLASS)))))
    heap.obj(3, 1)

    graph = dump_of(heap)
    assert references(graph, 1) == [(2, "a"), (3, "b")]
    assert references(graph, 2) == [(3, "a"), (1, "<runtime>")]
    assert root_names(graph, 3) == ["system class root"]


def test_names_may_follow_what_they_are_of_and_types_may_be_missing() -> None:
    heap = HeapGraph().root(JNI_GLOBAL, 1).obj(1, 9, (2, 3)).obj(2, 8, (1,))
    heap.cls(8, "A", (4,), kind=NORMAL, size=24).name(4, "A A.back")

    graph = dump_of(heap, 4)
    assert (kind(graph, 1), kind(graph, 3)) == ("<type 9>", "<missing>")
    assert references(graph, 2) == [(1, "back")]
    assert warnings(graph) == {"undeclared_type": 1, "missing_object": 1}


# ---------------------------------------------------------------- several dumps


def test_a_trace_has_its_dumps_as_parts() -> None:
    data = example()
    found = parts(Pieces(data, 999), silent)  # type: ignore[arg-type]

    assert [(one.number, one.process, one.is_default) for one in found] == [
        (0, "com.example.shop (7)", True), (1, "system_server (8)", False),
        (2, "com.example.shop (7)", False),
    ]  # fmt: skip
    assert same(graph_of(trace(*shop(1, pid=8).packets(1))), graph_of(data, part=1))
    assert graph_of(data, part=2).object_count == found[2].object_count
    assert warnings(graph_of(data)) == {"other_heap_dump": 2}
    both = [
        (one.part.number, one.graph().object_count)
        for one in read_all(Pieces(data, 999), ReadOptions(), silent)  # type: ignore[arg-type]
        if one.part is not None
    ]
    assert both == [(0, found[0].object_count), (2, found[2].object_count)]
    with pytest.raises(DumpError, match="no heap graph 3"):
        graph_of(data, part=3)


def test_the_first_dump_with_objects_is_read() -> None:
    empty = HeapGraph().root(JNI_GLOBAL, 1)
    data = trace(*empty.packets(1, time=5), *shop().packets(2))

    assert graph_of(data).object_count == dump_of(shop()).object_count
    for nothing in (
        trace(*empty.packets()),
        trace(process(1, "init"), process(2, "b")),
    ):
        with pytest.raises(DumpError, match=r"no heap graph; record .*java_hprof"):
            graph_of(nothing)


def test_a_dump_ends_where_another_process_or_time_begins() -> None:
    first = shop().packets(3, unfinished=True)
    data = trace(*first, *shop(5).packets(2, time=20))

    found = parts(Pieces(data, 1 << 20), silent)  # type: ignore[arg-type]
    whole = [dump_of(shop(many)).object_count for many in (3, 5)]
    assert [one.object_count for one in found] == whole
    assert "truncated_heap_dump" in warnings(graph_of(data, part=0))
    assert graph_of(data, part=1).incomplete == ""


@pytest.mark.parametrize(("lost", "count"), [((0,), 1), ((2, 3), 2), ((1, 5), 2)])
def test_a_dump_without_some_packets_is_incomplete(
    lost: tuple[int, ...], count: int
) -> None:
    graph = dump_of(shop(), 8, lost=lost)

    assert warnings(graph)["lost_packet"] == count
    assert "lost while the dump was written" in graph.incomplete
    with pytest.raises(MalformedDump, match="lost packet"):
        graph_of(trace(*shop().packets(8, lost=lost)), strict=True)


def test_a_dump_without_its_last_packet_is_incomplete() -> None:
    graph = dump_of(shop(), 8, lost=(7,))

    assert "truncated_heap_dump" in warnings(graph)
    assert graph.incomplete.startswith("the file ends too early")


# ---------------------------------------------------------------- original names


def obfuscated(place: str) -> HeapGraph:
    heap = HeapGraph().root(JNI_GLOBAL, 1).location(1, place)
    heap.cls(1, "a.b", (1, 2), kind=NORMAL, size=24, location=1)
    heap.cls(2, "a.b[]", kind=ARRAY, location=1)
    heap.cls(3, "java.lang.Class<a.b>", location=1)
    heap.name(1, "a.b[] a.b.a").name(2, "java.lang.Object a.b.c")
    heap.name(3, "a.b a.b.d")
    heap.obj(1, 1, (2, 3)).obj(2, 2, (1,), size=20)
    return heap.obj(3, 3, (1,), size=99, fields=(3,))


MEMBERS = {"a": "app.Base.lines", "d": "last"}


@pytest.mark.parametrize(
    ("place", "is_renamed"),
    [
        ("/data/app/~~AB==/com.shop-CD==/base.apk", True),
        ("/data/app/com.shop-1/base.apk", True),
        ("base.apk!classes.dex", True),
        ("/data/app/~~AB==/com.other-CD==/base.apk", False),
    ],
)
def test_a_trace_can_have_original_names(place: str, *, is_renamed: bool) -> None:
    names = mapping("com.shop", {("a.b", "app.Order"): MEMBERS})
    graph = graph_of(trace(*obfuscated(place).packets(2), names))

    name = "app.Order" if is_renamed else "a.b"
    assert graph.type_names == (name, f"{name}[]", "java.lang.Class")
    assert value(graph, 3) == name
    fields = ["lines", "c"] if is_renamed else ["a", "c"]
    assert [field for _, field in references(graph, 1)] == fields
    static = "static root in Order.last" if is_renamed else "static root in b.d"
    assert root_names(graph, 1) == ["jni global root", static]


def test_a_mapping_has_original_names(tmp_path: Path) -> None:
    path = tmp_path / "mapping.txt"
    path.write_text("app.Order -> a.b:\n    app.Order[] lines -> a\n", "utf-8")
    data = trace(*obfuscated("").packets(2))

    graph = graph_of(data, mapping=str(path))
    assert kind(graph, 2) == "app.Order[]"
    assert references(graph, 1)[0] == (2, "lines")
    path.write_text("app.Other -> z.z:\n", "utf-8")
    with pytest.raises(DumpError, match="renames no class"):
        graph_of(data, mapping=str(path))


# ---------------------------------------------------------------- figures of others


class Dominated(NamedTuple):
    """A row of the table of dominators."""

    above: str
    many: int
    size: int
    depth: int


GRAPH = {
    "A": "D", "B": "A D E", "C": "F G", "D": "L", "E": "H", "F": "I", "G": "I J",
    "H": "E K", "I": "K", "J": "I", "K": "I R", "L": "H", "M": "O P", "N": "Q T",
    "O": "U V W", "P": "", "Q": "", "R": "A B C", "S": "M N", "T": "", "U": "", "V": "",
    "W": "", "sun.misc.Cleaner": "N",
}  # fmt: skip
"""The example of Lengauer and Tarjan, and a tree."""
SIZES = {
    "M": 2, "N": 4, "O": 8, "P": 16, "Q": 32, "S": 1, "T": 64, "U": 128, "V": 256,
    "W": 512, "sun.misc.Cleaner": 1024,
}  # fmt: skip
PUBLISHED = {
    "A": Dominated("R", 1, 3, 2), "B": Dominated("R", 1, 3, 2),
    "C": Dominated("R", 4, 12, 2), "D": Dominated("R", 2, 6, 2),
    "E": Dominated("R", 1, 3, 2), "F": Dominated("C", 1, 3, 3),
    "G": Dominated("C", 2, 6, 3), "H": Dominated("R", 1, 3, 2),
    "I": Dominated("R", 1, 3, 2), "J": Dominated("G", 1, 3, 4),
    "K": Dominated("R", 1, 3, 2), "L": Dominated("D", 1, 3, 3),
    "M": Dominated("S", 6, 922, 2), "N": Dominated("S", 3, 100, 2),
    "O": Dominated("M", 4, 904, 3), "P": Dominated("M", 1, 16, 3),
    "Q": Dominated("N", 1, 32, 3), "R": Dominated("", 13, 39, 1),
    "S": Dominated("", 10, 1023, 1), "T": Dominated("N", 1, 64, 3),
    "U": Dominated("O", 1, 128, 4), "V": Dominated("O", 1, 256, 4),
    "W": Dominated("O", 1, 512, 4), "sun.misc.Cleaner": Dominated("", 1, 1024, 1),
}  # fmt: skip
"""What the test of Perfetto's own table of dominators expects of it."""


def published() -> HeapGraph:
    """Each object of a type of its own, and one that nothing holds."""
    heap = HeapGraph(2)
    rows = {name: at for at, name in enumerate(GRAPH, 1)}
    for name, held in GRAPH.items():
        refs = [rows[one] for one in held.split()]
        heap.obj(rows[name], rows[name], refs, size=SIZES.get(name, 3))
    heap.obj(len(rows) + 1, 1, size=1024)
    heap.root(JNI_GLOBAL, rows["R"], rows["S"], rows["sun.misc.Cleaner"])
    heap.location(1, "/data/app/~~ASDFG==/invalid.test.android-SDASD/test.apk")
    for name, at in rows.items():
        is_cleaner = name == "sun.misc.Cleaner"
        heap.cls(at, name, (123,) if is_cleaner else (), size=64, location=1,
            kind=PHANTOM if is_cleaner else 0)  # fmt: skip
    return heap.name(123, "java.lang.ref.Reference.referent")


def dominated(graph: Graph) -> dict[str, Dominated]:
    metrics = analyse(graph)
    above = metrics.dominator.tolist()
    count, depth = np.zeros(len(above), int), np.zeros(len(above), int)
    for row in range(graph.object_count):
        at = row
        while metrics.root_distance[row] > 0 and at >= 0:
            count[at] += 1
            depth[row] += 1
            at = above[at]
    return {
        graph.type_name(row): Dominated(
            graph.type_name(above[row]) if above[row] >= 0 else "",
            int(count[row]), int(metrics.retained_bytes[row]), int(depth[row]),
        )
        for row in np.flatnonzero(metrics.root_distance > 0).tolist()
    }  # fmt: skip


@pytest.mark.parametrize("many", [1, 2, 9])
def test_dominators_are_those_that_trace_processor_publishes(many: int) -> None:
    assert dominated(dump_of(published(), many)) == PUBLISHED


def test_types_have_the_sizes_that_trace_processor_publishes() -> None:
    heap = HeapGraph(2).root(JNI_GLOBAL, 1, 4)
    heap.obj(1, 1, (2, 3)).obj(2, 1, (5,)).obj(3, 2).obj(4, 3, size=666)
    heap.obj(5, 3, size=10_000)
    heap.cls(1, "A", size=100).cls(2, "B", size=1000).cls(3, "java.lang.String")
    graph = dump_of(heap, 2)
    metrics = analyse(graph)

    found = {
        name: (int(metrics.instance_count[row]), int(metrics.type_shallow_bytes[row]),
            int(metrics.type_retained_bytes[row]))
        for row, name in enumerate(graph.type_names)
    }  # fmt: skip
    assert found == {
        "A": (2, 200, 11_200), "B": (1, 1000, 1000),
        "java.lang.String": (2, 10_666, 10_666),
    }  # fmt: skip


@cache
def _library() -> Any:  # noqa: ANN401
    """The class of traces that the library of Google makes of the definition."""
    descriptor_pb2, descriptor_pool, message_factory = (
        pytest.importorskip(
            f"google.protobuf.{name}",
            reason="traces by protobuf: the library is not here",
        )
        for name in ("descriptor_pb2", "descriptor_pool", "message_factory")
    )
    numbers = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="t.proto", package="t", syntax="proto2"
    )
    u64, u32, i32, text, flag = (
        numbers.TYPE_UINT64, numbers.TYPE_UINT32, numbers.TYPE_INT32,
        numbers.TYPE_STRING, numbers.TYPE_BOOL,
    )  # fmt: skip
    for name, fields in {
        "Named": {"iid": (1, u64), "str": (2, text)},
        "Root": {"ids": (1, [u64]), "kind": (2, i32)},
        "Type": {
            "id": (1, u64), "location": (2, u64), "name": (3, text), "size": (4, u64),
            "above": (5, u64), "fields": (6, [u64]), "kind": (7, i32),
            "loader": (8, u64),
        },
        "Object": {
            "id": (1, u64), "of": (2, u64), "size": (3, u64), "fields": (4, [u64]),
            "refs": (5, [u64]), "base": (6, u64), "delta": (7, u64),
        },
        "Graph": {
            "pid": (1, i32), "objects": (2, ["Object"]), "names": (4, ["Named"]),
            "continued": (5, flag), "index": (6, u64), "roots": (7, ["Root"]),
            "locations": (8, ["Named"]), "types": (9, ["Type"]),
        },
        "Packet": {"ts": (8, u64), "sequence": (10, u32), "graph": (56, "Graph")},
        "Trace": {"packet": (1, ["Packet"])},
    }.items():  # fmt: skip
        made = file.message_type.add(name=name)
        for field, (number, of) in fields.items():
            one = of[0] if isinstance(of, list) else of
            added = made.field.add(name=field, number=number, label=1 + 2 * (of != one))
            if isinstance(one, str):
                added.type, added.type_name = numbers.TYPE_MESSAGE, f".t.{one}"
            else:
                added.type = one
                added.options.packed = of != one
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Trace"))


def test_a_trace_by_the_library_of_google_is_read_the_same() -> None:
    made = _library()()
    rows = {name: at for at, name in enumerate(GRAPH, 1)}
    for index in range(2):
        packet = made.packet.add(ts=10, sequence=999)
        graph = packet.graph
        graph.pid, graph.index, graph.continued = 2, index, index == 0
        if index:
            for name, at in rows.items():
                is_cleaner = name == "sun.misc.Cleaner"
                graph.types.add(id=at, name=name, size=64, location=1,
                    kind=PHANTOM if is_cleaner else 0,
                    fields=[123] if is_cleaner else [])  # fmt: skip
            graph.names.add(iid=123, str="java.lang.ref.Reference.referent")
            continue
        graph.roots.add(kind=1, ids=[rows["R"], rows["S"], rows["sun.misc.Cleaner"]])
        for name, held in GRAPH.items():
            at, size = rows[name], SIZES.get(name, 3)
            refs = [rows[one] for one in held.split()]
            base = min(refs, default=1) - 1
            one = graph.objects.add(of=at, size=size, base=base)
            one.refs.extend(ref - base for ref in refs)
            if at % 2:
                one.id = at
            else:
                one.delta = 1

    found = graph_of(made.SerializeToString())
    assert dominated(found) == PUBLISHED
    # And the other way: the library reads what our writer has written.
    theirs = _library().FromString(trace(*published().packets(2)))
    told = [one for packet in theirs.packet for one in packet.graph.objects]
    assert len(told) == len(GRAPH) + 1
    assert sum(len(one.refs) for one in told) == sum(
        len(held.split()) for held in GRAPH.values()
    )
    assert theirs.packet[1].graph.types[-1].name == "sun.misc.Cleaner"


# ---------------------------------------------------------------- files at fault


@pytest.mark.parametrize("cut", cuts(1, len(example()), every=71))
def test_a_trace_that_is_cut_anywhere(cut: int) -> None:
    data = example()[:cut]
    try:
        graph = graph_of(data, 500)
    except DumpError:
        assert not any(one.object_count for one in parts(Pieces(data, 99), silent))  # type: ignore[arg-type]
        return
    found = warnings(graph)
    is_between = not {"truncated_packet", "truncated_heap_dump"} & set(found)
    if not is_between:
        assert "ends too early" in graph.incomplete
        with pytest.raises((TruncatedDump, MalformedDump)):
            graph_of(data, 500, strict=True)


def test_a_packet_that_contradicts_the_format_is_counted() -> None:
    whole = shop().packets(4)
    graph = graph_of(trace(*whole))
    for bad in (b"\x0b", b"\x42\xff", b"\x40" + b"\xff" * 11, b"\xc2\x03\x90\x01"):
        found = graph_of(trace(*whole[:2], bad, *whole[2:]))
        assert warnings(found) == {"malformed_record": 1, "unread_bytes": len(bad) + 2}
        assert np.array_equal(found.ref_target, graph.ref_target)
    found = graph_of(trace(*whole) + b"\x12\x00" + bytes(9))
    assert warnings(found) == {"unknown_record": 1, "unread_bytes": 11}
    broken = message((56, zlib.compress(b"no packets")))
    assert warnings(graph_of(trace(*whole, message((50, b"no"))))) == {
        "malformed_record": 1, "unread_bytes": 2,
    }  # fmt: skip
    assert "malformed_record" in warnings(graph_of(trace(*whole, broken)))


def test_an_object_that_contradicts_the_format_is_left_out() -> None:
    heap = HeapGraph().root(JNI_GLOBAL, 1).cls(1, "A", size=8).obj(1, 1, (2, 0x3FFF))
    for bad in (
        message((2, 1)), message((1, 0), (5, b"\xff")), message((5, b"\x80" * 11)),
        message((1, 9))[:-1], b"\x0d\x00",
    ):  # fmt: skip
        heap.pieces.append(message((2, bad)))
    heap.obj(2, 1, size=1 << 60)

    graph = dump_of(heap)
    assert graph.object_count == 2
    found = warnings(graph)
    assert (found["malformed_record"], found["size_out_of_range"]) == (5, 1)


def test_superclasses_in_a_circle_end_and_do_not_repeat() -> None:
    heap = HeapGraph().root(JNI_GLOBAL, 1)
    for at in range(1, 5):
        heap.cls(at, f"C{at}", (at,), kind=NORMAL, size=8, above=at % 3 + 1)
        heap.name(at, f"x C{at}.f{at}")
    heap.cls(9, "C9", (9,), above=9).cls(4, "again")
    heap.obj(1, 4, (1,) * 9).obj(2, 9, (1,) * 3)

    graph = dump_of(heap)
    assert [field for _, field in references(graph, 1)] == [
        "f4", "f2", "f3", *(6 * [None]),
    ]  # fmt: skip
    assert warnings(graph) == {"cyclic_superclass": 2, "repeated_class": 1}


def test_ids_may_have_64_bits_and_repeat() -> None:
    high = (1 << 64) - 16
    heap = HeapGraph().root(JNI_GLOBAL, high).cls((1 << 64) - 1, "A", size=8)
    heap.obj(high, (1 << 64) - 1, (high + 1, 5)).obj(high + 1, (1 << 64) - 1)
    heap.obj(5, (1 << 64) - 1).obj(5, (1 << 64) - 1, (high,))

    graph = dump_of(heap)
    assert sorted(by_id(graph)) == [5, high, high + 1]
    assert kind(graph, high) == "A"
    assert references(graph, high) == [(high + 1, None), (5, None)]
    assert warnings(graph) == {"repeated_object": 1}


def test_packets_that_expand_too_much_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ingest.readers.perfetto.trace.EXPANSION_FREE_BYTES", 1 << 20)
    data = trace(*shop().packets(), compressed(message((11, bytes(3 << 20)))))

    with pytest.raises(DumpError, match="allow-any-expansion"):
        graph_of(data)
    assert warnings(graph_of(data, any_expansion=True)) == {}


def test_large_lists_and_many_types_fit() -> None:
    heap = HeapGraph().root(JNI_GLOBAL, 1).cls(1, "A[]", kind=ARRAY)
    many = 20_000
    heap.obj(1, 1, range(2, many), size=4 * many)
    for at in range(2, many):
        heap.cls(at, f"T{at}", kind=NO_REFERENCES, size=8).obj(at, at)
    heap.root(JAVA_FRAME, *range(1, many))

    graph = dump_of(heap)
    assert graph.ref_target.tolist() == list(range(1, many - 1))
    assert graph.type_name(many - 2) == f"T{many - 1}"
    kinds = np.bincount(graph.root_kind)
    assert kinds[RootKind.JAVA_FRAME] == many - 1


def _twin(data: bytes) -> dict[int, list[int]]:
    """Ids of objects and of what they refer to, by plain Python."""

    def walk(data: bytes) -> list[tuple[int, Any]]:
        at, found = 0, []

        def number() -> int:
            nonlocal at
            value = shift = 0
            while True:
                value |= (data[at] & 127) << shift
                at, shift = at + 1, shift + 7
                if data[at - 1] < 128:
                    return value

        while at < len(data):
            key = number()
            value: int | bytes = number()
            if key & 7 == 2:
                at += int(value)
                value = data[at - int(value) : at]
            found.append((key >> 3, value))
        return found

    def numbers(data: bytes) -> list[int]:
        found, value, shift = [], 0, 0
        for byte in data:
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                found.append(value)
                value = shift = 0
        return found

    objects: dict[int, list[int]] = {}
    last = 0
    for _, packet in walk(data):
        for field, graph in walk(packet):
            for inner, one in walk(graph) if field == 56 else ():
                if inner == 2:
                    known = dict(walk(one))
                    last = known[1] if 1 in known else last + known[7]
                    base = known.get(6, 0)
                    objects[last] = [ref + base for ref in numbers(known.get(5, b""))]
    return objects


def test_it_reads_what_plain_python_reads() -> None:
    data = large_trace(6000, 15_000)
    graph = graph_of(data, 5000)

    held = _twin(data)
    assert warnings(graph) == {}
    assert graph.object_id.tolist() == list(held)
    starts = graph.ref_start.tolist()
    found = graph.object_id[graph.ref_target].tolist()
    assert [found[a:b] for a, b in itertools.pairwise(starts)] == [*held.values()]


def test_other_files_are_no_traces() -> None:
    assert sniff(example())
    assert sniff(trace(message((8, 1), (11, bytes(1 << 17))))[: 1 << 16])
    for other in (
        b"", b"\n", b"\n\n\n\n", b"\n\x04hello", b"\n\x04\x08\x01\x10\x02" * 9,
        b"\n" + uleb(1 << 70), b"\n\x00" * 50, b"\n\x02\x0b\x00",
    ):  # fmt: skip
        assert not sniff(other)


def leaking(pages: int) -> bytes:
    """An Android program whose static list has so many activities with pictures."""
    heap = classes(HeapGraph())
    heap.root(STICKY_CLASS, at_class(1))
    heap.obj(at_class(1), 101, (0, 0), fields=(1, 2), size=300, space=IMAGE)
    heap.obj(at_class(13), 113, (at_class(1), 0x300, 0x310), fields=(1, 2, 11),
        size=400, space=1)  # fmt: skip
    heap.obj(0x300, 15).obj(0x310, 4, (0x311,))
    first = 0x10000
    heap.obj(0x311, 5, range(first, first + 4 * pages, 4), size=16 + 4 * pages)
    for at in range(first, first + 4 * pages, 4):
        heap.obj(at, 13, (at + 1, at + 2)).obj(at + 1, 3, size=1056).obj(at + 2, 14)
    for at in range(0x8000, 0x8000 + 2000):
        heap.obj(at, 3, size=40, space=ZYGOTE)
    names = process(7, "com.example.shop")
    return trace(names, *heap.packets(4))


def test_the_first_screen_of_a_leaking_program(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{many}.pftrace") for many in (300, 600, 1200)]
    for path, many in zip(paths, (300, 600, 1200), strict=True):
        (tmp_path / path).write_bytes(leaking(many))

    _, text = ran(["info", paths[2]])
    screen = " ".join(text.split())
    assert "1,200 MainActivity" in screen.split("2. ")[0]
    assert "MainActivity.SHOWN" in screen.split("2. ")[0]
    assert "Android Runtime, com.example.shop (7)" in screen
    code, text = ran(["compare", *paths])
    assert code == 0
    assert "300 → 600 → 1,200" in text
    code, text = ran(["check", paths[0], paths[2]])
    assert code == FINDINGS
    assert "MainActivity" in text


def test_a_list_whose_type_has_no_name_holds_like_any_other() -> None:
    found = []
    heap = graph_of(leaking(300))
    for shown in ("java.util.ArrayList", ""):
        names = [shown if "List" in name else name for name in heap.type_names]
        heap = replace(heap, type_names=tuple(names))
        found.append(find_suspects(heap, analyse(heap)).suspects[0].sentence)
    assert found[0] == found[1]
    assert "MainActivity.SHOWN" in found[0]


def test_parts_of_a_trace_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "two.pftrace"
    path.write_bytes(example())

    code, text = ran(["info", str(path)])
    assert code == 0
    assert "com.example.shop (7)" in text
    code, text = ran(["compare", str(path)])
    assert code == 0
    assert "MainActivity" in text


def test_activities_without_a_record_of_the_main_thread_are_destroyed() -> None:
    record, field, pages = 60, 30, [0x1000, 0x1010, 0x1020]
    heap = shop()
    before = graph_of(trace(*heap.packets()))
    assert [value(before, page) for page in pages] == [None] * 3  # there are no records

    heap.name(field, "android.app.Activity android.app.Record.activity")
    name = "android.app.ActivityThread$ActivityClientRecord"
    heap.cls(record, name, (field,), kind=NORMAL, size=80, above=1)
    heap.root(JNI_GLOBAL, 0x3000).obj(0x3000, record, (pages[1],))

    graph = graph_of(trace(*heap.packets()))
    assert [value(graph, page) for page in pages] == ["destroyed", None, "destroyed"]
