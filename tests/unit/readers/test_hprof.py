"""HPROF files: objects, names, values, roots and sizes; damaged and hostile ones."""

from __future__ import annotations

import re
import struct
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import HeapGraph
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.hprof import MAGICS, reader
from ingest.readers.hprof.names import java_name, modified_utf8
from ingest.runtimes import JVM, TypeClass
from ingest.suspects.find import find_suspects
from tests.deep import cuts
from tests.dumps.hprof import (
    BYTE,
    CHAR,
    INT,
    LONG,
    OBJECT,
    SYSTEM_CLASS,
    Hprof,
    jdk,
    large_dump,
    program,
)
from tests.samples import SAMPLES, needs
from tests.unit.readers.shared import (
    Pieces,
    alive,
    by_id,
    roots,
    same,
    targets,
    warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = SAMPLES / "hprof/farm-jdk17.hprof.gz"


def read_pieces(data: bytes, size: int) -> HeapGraph:
    source: Any = Pieces(data, size)
    return reader.read(source, ReadOptions(), silent)


def fields(graph: HeapGraph, address: int) -> list[tuple[str | None, int]]:
    """Field and target of each reference of an object."""
    row = by_id(graph)[address]
    begin, end = graph.ref_start[row], graph.ref_start[row + 1]
    names = [graph.field_name(at) for at in range(begin, end)]
    return list(zip(names, targets(graph, row), strict=True))


def value(graph: HeapGraph, address: int) -> str | None:
    assert graph.values is not None
    rows, texts = graph.values.between(0, len(graph.object_id))
    return dict(zip(rows.tolist(), texts, strict=True)).get(by_id(graph)[address])


@pytest.mark.parametrize("version", ["1.0", "1.0.1", "1.0.2", "1.0.3"])
@pytest.mark.parametrize("id_size", [4, 8])
def test_a_program(
    version: str, id_size: int, reading: Callable[..., HeapGraph]
) -> None:
    dump = program(version, id_size)
    if version == "1.0.1":
        dump.in_one()

    graph = reading(dump.bytes(), strict=True)

    rows = by_id(graph)
    assert graph.object_count == 9 + len(dump.classes)
    names = {address: graph.type_name(row) for address, row in rows.items()}
    assert names[0x10000] == "app.Chapter"
    assert names[0x10040] == "java.lang.Object[]"
    assert names[0x10080] == "byte[]"
    assert names[0x2000] == "java.lang.Class"
    assert fields(graph, 0x10000) == [
        ("notes", 0x10040),
        ("next", 0x10020),
        ("title", 0x10060),
    ]
    assert fields(graph, 0x10040) == [("[1]", 0x10020), ("[2]", 0x100A0)]
    assert fields(graph, 0x2010) == [("<super>", 0x2000)]
    assert value(graph, 0x10060) == "Café"
    assert value(graph, 0x100E0) == "-7"
    assert value(graph, 0x10100) == "Café"
    assert value(graph, 0x2010) == "app.Chapter"
    assert graph.length is not None
    assert graph.length[[rows[0x10040], rows[0x10060], rows[0x10080]]].tolist() == [
        3,
        4,
        4,
    ]
    assert roots(graph) == [
        (0x1000, "system_class", ""),
        (0x10020, "jni_global", ""),
        (0x10020, "java_frame", ""),
        (0x10100, "thread", ""),
        (0x10000, "static", "app.Book.first"),
        (0x10040, "runtime", "app.Book.<resolved_references>"),
    ]
    assert graph.owners == ("Café",)
    assert graph.root_owner is not None
    assert graph.root_owner.tolist() == [-1, -1, 0, 0, -1, -1]
    assert 0x100E0 in alive(graph)
    assert 0x100C0 not in alive(graph)  # a weak reference alone refers to it


def test_classes_may_follow_their_objects(reading: Callable[..., HeapGraph]) -> None:
    dump = program()
    late = program()
    late.segments = [late.segments[1], late.segments[0]]

    one, two = reading(dump.bytes()), reading(late.bytes(), strict=True)

    assert sorted(by_id(one)) == sorted(by_id(two))
    for address in by_id(one):
        assert fields(one, address) == fields(two, address)
        assert value(one, address) == value(two, address)
        row, other = by_id(one)[address], by_id(two)[address]
        assert one.type_name(row) == two.type_name(other)
        assert one.shallow_bytes[row] == two.shallow_bytes[other]


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_pieces_do_not_matter(size: int) -> None:
    dump = program()
    dump.array(0x30000, "[Ljava/lang/Object;", [0x10000] * 3000)
    dump.numbers(0x40000, LONG, bytes(20_000))
    dump.obj(0x50000, "java/lang/Integer", value=1)
    data = dump.bytes()

    assert same(read_pieces(data, size), read_pieces(data, len(data)))


def test_texts_of_all_versions(reading: Callable[..., HeapGraph]) -> None:
    dump = jdk(compact=False)
    chars = "grün €uro".encode("utf-16-be")
    dump.numbers(0x20000, CHAR, chars)
    dump.obj(0x10000, "java/lang/String", value=0x20000, offset=5, count=2)
    dump.obj(0x10020, "java/lang/String", value=0x20000, offset=0, count=900)
    old = reading(dump.bytes())
    dump = jdk()
    dump.numbers(0x20000, BYTE, "grün €uro".encode("utf-16-le"))
    dump.obj(0x10000, "java/lang/String", value=0x20000, coder=1)
    dump.numbers(0x30000, BYTE, b"x" * 1000)
    dump.obj(0x10020, "java/lang/String", value=0x30000)
    new = reading(dump.bytes())

    assert value(old, 0x10000) == "€u"
    assert value(old, 0x10020) == value(new, 0x10000) == "grün €uro"
    assert re.fullmatch(r"x{239}\.\.\. #\w{12}", value(new, 0x10020) or "")
    assert new.length is not None
    assert new.length[by_id(new)[0x10020]] == 1000


def test_boxes(reading: Callable[..., HeapGraph]) -> None:
    dump = jdk()
    boxes = {
        "Long": -(2**63), "Short": -2, "Byte": -3, "Character": 0x20AC,
        "Boolean": 1, "Float": 0.5, "Double": -1e300,
    }  # fmt: skip
    for i, (name, number) in enumerate(boxes.items()):
        dump.obj(0x10000 + 16 * i, f"java/lang/{name}", value=number)

    graph = reading(dump.bytes())

    assert [value(graph, 0x10000 + 16 * i) for i in range(len(boxes))] == [
        str(-(2**63)), "-2", "-3", "€", "true", "0.5", "-1e+300",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("java/lang/String", "java.lang.String"),
        ("[[Ljava/lang/String;", "java.lang.String[][]"),
        ("[J", "long[]"),
        ("java.lang.String[]", "java.lang.String[]"),
        ("a/B$$Lambda$14/0x00007f01", "a.B$$Lambda$14/0x00007f01"),
        ("a/B$$Lambda+0x00007f01", "a.B$$Lambda/0x00007f01"),
        ("a/B$$Lambda$3/812", "a.B$$Lambda$3/812"),
    ],
)
def test_names_are_spelled_as_in_java(name: str, spelled: str) -> None:
    assert java_name(name) == spelled


def test_modified_utf8() -> None:
    assert modified_utf8(b"a\xc0\x80b\xc3\xa9") == "a\0bé"
    assert modified_utf8(b"\xed\xa0\xbd\xed\xb8\x80") == "😀"
    assert modified_utf8(b"\xff") == "�"


LAYOUTS = {
    "object header 12, array header 16, reference 4": (12, 4, 16, 8),
    "object header 12, array header 16, reference 8": (12, 8, 16, 8),
    "object header 16, array header 24, reference 8": (16, 8, 24, 8),
    "object header 8, array header 12, reference 4": (8, 4, 12, 8),
    "object header 12, array header 16, reference 4 ": (12, 4, 16, 16),
}


@pytest.mark.parametrize(("shown", "layout"), LAYOUTS.items(), ids=LAYOUTS)
def test_the_layout_is_inferred_from_gaps(
    shown: str, layout: tuple[int, ...], reading: Callable[..., HeapGraph]
) -> None:
    header, reference, array, alignment = layout
    dump = jdk()
    dump.cls("A", 0x2000, "java/lang/Object", {"x": INT, "a": OBJECT, "b": OBJECT})
    dump.cls("B", 0x2010, "java/lang/Object", {"a": OBJECT})
    dump.cls("C", 0x2020, "B", {"x": INT})  # may fit before the reference
    at, sizes = 0x100000, {}
    for i in range(200):
        items = i % 7
        wanted = [header + 4 + 2 * reference, header + reference]
        wanted += [header + 4 + reference, array + items * reference]
        for kind, size in zip("ABC[", wanted, strict=True):
            if kind == "[":
                dump.array(at, "[Ljava/lang/Object;", [0] * items)
            else:
                dump.obj(at, kind)
            sizes[at] = -(-size // alignment) * alignment
            at += sizes[at]

    graph = reading(dump.bytes())

    assert shown.strip() in graph.producer
    assert (
        f"alignment {alignment} bytes (fits 100.0% of the gaps between objects)"
        in graph.producer
    )
    rows = by_id(graph)
    assert {a: int(graph.shallow_bytes[rows[a]]) for a in sizes} == sizes


def test_a_class_with_other_fields_in_the_vm_has_one_vote(
    reading: Callable[..., HeapGraph],
) -> None:
    """Most objects are of a class that is smaller in this VM than its dump says."""
    dump = jdk()
    dump.cls("A", 0x2000, "java/lang/Object", {"a": OBJECT, "b": OBJECT})
    dump.cls("B", 0x2010, "java/lang/Object", {"a": OBJECT, "x": INT, "y": INT})
    odd = {name: OBJECT for name in "abcde"}
    dump.cls("Odd", 0x2020, "java/lang/Object", odd)
    at = 0x100000
    for i in range(400):
        kind, size = ("Odd", 48) if i % 4 else ("A", 32) if i % 8 else ("B", 32)
        dump.obj(at, kind)
        at += size
        if i % 8 == 1:
            dump.array(at, "[Ljava/lang/Object;", [0] * (i % 5))
            at += 24 + i % 5 * 8

    graph = reading(dump.bytes())

    assert "header 16, array header 24, reference 8" in graph.producer
    assert "(fits 75.0% of the gaps between objects)" in graph.producer


def test_a_layout_that_few_gaps_fit_is_uncertain(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = jdk()
    dump.cls("A", 0x2000, "java/lang/Object", {name: OBJECT for name in "abcde"})
    for i in range(300):  # garbage is between most
        dump.obj(0x100000 + 64 * i - (24 if i % 3 == 1 else 0), "A")

    graph = reading(dump.bytes())

    assert "(uncertain: fits only 33.4% of the gaps between objects)" in graph.producer


def test_gaps_that_fit_several_layouts_do_not_choose_one(
    reading: Callable[..., HeapGraph],
) -> None:
    """An Integer takes 16 bytes whether headers and references are small or large."""
    dump = jdk()
    for i in range(300):
        dump.obj(0x100000 + 64 * i, "java/lang/Integer")

    graph = reading(dump.bytes())

    assert "alignment 8 bytes (assumed: several layouts fit equally well)" in (
        graph.producer
    )
    rows = [by_id(graph)[0x100000 + 64 * i] for i in range(300)]
    assert set(graph.shallow_bytes[rows].tolist()) == {16}


def test_the_layout_is_assumed_of_few_objects_and_recorded_on_android(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = jdk("1.0.3", 4)
    dump.cls("A", 0x2000, "java/lang/Object", {"a": INT}, size=37)
    dump.obj(0x10000, "A")
    android = reading(dump.bytes())
    far = jdk()
    far.obj(1 << 40, "java/lang/Integer")

    assert android.shallow_bytes[by_id(android)[0x10000]] == 40
    assert "Android Runtime" in android.producer
    assert "reference 4 bytes, alignment 8 bytes (assumed)" in (
        reading(program().bytes()).producer
    )
    assert "reference 8 bytes" in reading(far.bytes()).producer


def test_the_boot_loader_s_classes_are_roots_if_none_are_named(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = jdk()
    dump.cls("app/Own", 0x2000, "java/lang/Object", loader=0x3000)
    dump.obj(0x3000, "java/lang/Object")

    graph = reading(dump.bytes())

    held = {address for address, kind, _ in roots(graph) if kind == "system_class"}
    assert held == set(dump.classes.values()) - {0x2000}
    assert fields(graph, 0x2000)[1] == ("<loader>", 0x3000)


def test_lengths_of_0_and_modulo_2_32_and_beyond_the_segment(
    reading: Callable[..., HeapGraph],
) -> None:
    def one() -> Hprof:
        dump = program("1.0.1")
        dump.in_one()
        return dump

    expected = reading(one().bytes())
    unknown = reading(one().bytes(size=0), strict=True)
    short = reading(one().bytes(size=100))
    cut = program()
    data = cut.bytes()
    wanted = struct.pack(">I", len(b"".join(cut.segments[0])))
    data = data.replace(
        wanted, struct.pack(">I", len(b"".join(cut.segments[0])) - 9), 1
    )
    overrun = reading(data)

    assert by_id(unknown) == by_id(short) == by_id(expected) == by_id(overrun)
    assert warnings(overrun) == {"record_beyond_segment": 1}


def test_a_file_cut_anywhere_is_read_as_far_as_it_goes() -> None:
    dump = program()
    data = dump.bytes()
    first = data.index(b"\x21" + dump.id(0x10000))
    complete = read_pieces(data, len(data)).object_count
    counts, refused = [], 0

    for end in cuts(len(MAGICS[2]), len(data), every=29):
        try:
            graph = read_pieces(data[:end], 1 << 20)
        except DumpError:
            refused = end
            continue
        assert warnings(graph), end
        counts.append(graph.object_count)

    assert refused < first + 60
    assert counts == sorted(counts)
    assert counts[-1] == complete


def test_strict_rejects_a_truncated_file(reading: Callable[..., HeapGraph]) -> None:
    data = program().bytes()

    with pytest.raises(TruncatedDump, match="truncated record"):
        reading(data[:-40], strict=True)
    assert warnings(reading(data[:-40]))["truncated_record"] == 1


def hostile() -> dict[str, bytes]:
    """Files that claim more than they have, each behind a few objects."""
    start = program()
    start.segments[1] = start.segments[1][:3]
    head = start.bytes()[: -len(start.record(0x2C, b""))]
    many = b"\xff\xff\xff\xff"
    at, kind, none = start.id(0x90000), start.id(0x10000), bytes(4)
    array = start.id(start.classes["[Ljava/lang/Object;"])
    page = start.id(start.classes["app/Page"])
    claims = {
        "object array": b"\x22" + at + none + many + array + kind * 3,
        "array of numbers": b"\x23" + at + none + many + b"\x0b" + kind * 3,
        "array of bytes": b"\x23" + at + none + many + b"\x08" + kind * 3,
        "instance": b"\x21" + at + none + page + many + kind * 9,
        "unknown class": b"\x21" + at + none + kind + many + kind * 9,
        "statics": b"\x20" + at + bytes(4 + 48 + 4 + 2) + b"\xff\xff" + kind * 3,
        "unknown": b"\x77" + kind * 3,
        "element type": b"\x23" + at + none + many + b"\x63" + kind * 3,
    }
    files = {
        name: head + start.record(0x1C, data, 0xFFFFFFF0)
        for name, data in claims.items()
    }
    files["name"] = head + start.record(1, kind * 9, 0xFFFFFFFF)
    files["frame"] = head + start.record(4, kind * 9, 0xFFFFFFFF)
    files["segment"] = head + start.record(0x1C, b"", 0xFFFFFFFF)
    return files


@pytest.mark.parametrize("name", hostile())
def test_hostile_lengths_and_counts_cost_nothing(name: str) -> None:
    data = hostile()[name]
    read_pieces(data, 1 << 20)
    tracemalloc.start()
    try:
        graph = read_pieces(data, 1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert by_id(graph).keys() >= {0x10000, 0x10020, 0x10040}
    assert warnings(graph)
    assert peak < 4 << 20


@pytest.mark.parametrize("size", [0, 3, 2**31])
def test_ids_of_another_size_are_refused(size: int) -> None:
    data = b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", size, 0) + bytes(50)

    with pytest.raises(MalformedDump, match="not 4 or 8"):
        read_pieces(data, 100)


def test_a_file_without_a_heap_is_refused() -> None:
    dump = Hprof()
    dump.name("x")

    with pytest.raises(MalformedDump, match="no heap dump with objects"):
        read_pieces(dump.head() + dump.records[0], 100)


def test_broken_classes(reading: Callable[..., HeapGraph]) -> None:
    dump = jdk()
    dump.loaded("app/One", 0x2000)
    dump.loaded("app/Two", 0x2010)
    dump.loaded("app/Gone", 0x2020)
    dump.cls("app/One", 0x2000, "app/Two", {"a": OBJECT})
    dump.cls("app/Two", 0x2010, "app/One", {"b": OBJECT})
    dump.cls("app/Below", 0x2030, "app/Gone", {"c": OBJECT})
    dump.cls("app/Short", 0x2040, "", {"d": OBJECT, "e": OBJECT})
    dump.fields["app/One"] = {"a": OBJECT}, ""
    dump.fields["app/Below"] = {"c": OBJECT}, ""
    dump.obj(0x10000, "app/One", a=0x10000)
    dump.obj(0x10010, "app/Below", c=0x10000)
    dump.fields["app/Short"] = {"d": OBJECT}, ""
    dump.obj(0x10020, "app/Short", d=0x10000)
    dump.classes["?"], dump.fields["?"] = 0x9990, ({"f": OBJECT}, "")
    dump.obj(0x10030, "?", f=0x10000)

    graph = reading(dump.bytes())

    assert fields(graph, 0x10000) == [("a", 0x10000)]
    assert fields(graph, 0x10010) == [("c", 0x10000)]
    assert fields(graph, 0x10020) == [("d", 0x10000)]
    assert fields(graph, 0x10030) == []
    assert graph.type_name(by_id(graph)[0x10030]) == "<class 0x9990>"
    assert warnings(graph) == {
        "cyclic_superclass": 2,
        "missing_superclass": 1,
        "short_instance": 1,
        "missing_object": 1,  # the class object of app.Gone
        "missing_class": 1,
    }


def test_repeated_objects_keep_the_values_of_the_others(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = program()
    dump.numbers(0x10080, BYTE, b"again")
    dump.numbers(0x30000, BYTE, b"later")
    dump.obj(0x10060, "java/lang/String", value=0x30000)
    dump.obj(0x30020, "java/lang/String", value=0x30000)
    dump.obj(0x1010, "java/lang/Class", name=0x30020)

    graph = reading(dump.bytes())

    assert warnings(graph) == {"repeated_object": 2}
    assert (value(graph, 0x10060), value(graph, 0x30020)) == ("Café", "later")
    # The class object is recorded twice, as the format allows, and counted once.
    assert fields(graph, 0x1010) == [("name", 0x30020), ("<super>", 0x1000)]


def test_nulls_of_repeated_objects_are_dropped_with_them(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = program()
    dump.array(0x40000, "[Ljava/lang/Object;", [0, 0x10060, 0, 0])
    dump.obj(0x40020, "java/lang/String")
    before = reading(dump.bytes()).null_reference_count
    for _ in range(2):
        dump.array(0x40000, "[Ljava/lang/Object;", [0] * 300)
        dump.obj(0x40020, "java/lang/String")

    graph = reading(dump.bytes())

    assert warnings(graph) == {"repeated_object": 4}
    assert graph.null_reference_count == before
    dump = program()
    assert before == reading(dump.bytes()).null_reference_count + 4


def test_an_array_that_repeats_the_id_of_an_instance_is_no_text(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = program()
    dump.obj(0x30000, "java/lang/Object")
    dump.numbers(0x30010, BYTE, b"text")
    dump.numbers(0x30000, BYTE, b"of another")
    dump.obj(0x30020, "java/lang/String", value=0x30010)
    dump.obj(0x30030, "java/lang/String", value=0x30000)

    graph = reading(dump.bytes())

    assert warnings(graph) == {"repeated_object": 1}
    assert (value(graph, 0x30020), value(graph, 0x30030)) == ("text", "")


def test_a_string_that_repeats_the_id_of_an_array_leaves_its_text_to_others(
    reading: Callable[..., HeapGraph],
) -> None:
    dump = program()
    dump.numbers(0x30000, BYTE, b"whole")
    dump.numbers(0x30020, BYTE, b"s")
    dump.obj(0x30000, "java/lang/String", value=0x30020)
    dump.obj(0x30040, "java/lang/String", value=0x30000)

    graph = reading(dump.bytes())

    assert warnings(graph) == {"repeated_object": 1}
    assert (value(graph, 0x30000), value(graph, 0x30040)) == ("s", "whole")


def test_a_leak_in_a_static_map_is_named(reading: Callable[..., HeapGraph]) -> None:
    dump = jdk()
    dump.cls("app/Session", 0x2000, "java/lang/Object", {"data": OBJECT})
    dump.cls(
        "app/Sessions", 0x2010, "java/lang/Object", statics={"ALL": (OBJECT, 0x10000)}
    )
    many = range(1000)
    dump.obj(0x10000, "java/util/HashMap", table=0x10100, size=len(many))
    nodes = [0x100000 + 0x1000 * i for i in many]
    dump.array(0x10100, "[Ljava/util/HashMap$Node;", nodes)
    for at in nodes:
        dump.obj(at, "java/util/HashMap$Node", key=at + 0x40, value=at + 0x80)
        dump.obj(at + 0x40, "java/lang/Integer", value=at)
        dump.obj(at + 0x80, "app/Session", data=at + 0x100)
        dump.numbers(at + 0x100, BYTE, bytes(500))
    dump.root(SYSTEM_CLASS, 0x1000)
    graph = reading(dump.bytes())

    (suspect, *_) = find_suspects(graph, analyse(graph)).suspects

    assert graph.type_names[suspect.type_index] == "app.Session"
    static = [r for r, name in enumerate(roots(graph)) if name[2]]
    assert [graph.root_name(r) for r in static] == ["static root in Sessions.ALL"]


def test_types_of_the_java_runtime() -> None:
    names = {
        "app.Session": TypeClass.PROGRAM,
        "app.Session[]": TypeClass.CONTAINER,
        "byte[]": TypeClass.LIBRARY,
        "java.util.concurrent.ConcurrentHashMap$Node": TypeClass.CONTAINER,
        "java.lang.Class": TypeClass.METADATA,
        "jdk.internal.loader.ClassLoaders$AppClassLoader": TypeClass.METADATA,
        "app.Main$$Lambda$1/0x0000": TypeClass.CONTAINER,
        "kotlin.collections.ArrayDeque": TypeClass.CONTAINER,
        "android.graphics.Bitmap": TypeClass.LIBRARY,
        "java.lang.String": TypeClass.LIBRARY,
    }

    assert JVM.type_classes(list(names)).tolist() == list(names.values())


@needs(SAMPLE)
def test_the_figures_of_the_sample() -> None:
    with open_source(str(SAMPLE)) as source:
        graph = read(source, ReadOptions(strict=True), silent)

    # 9,997 instances, 1,875 arrays of objects, 3,210 of numbers, 692 classes.
    assert graph.object_count == 9_997 + 1_875 + 3_210 + 692
    assert graph.missing_count == 0
    kinds = [kind for _, kind, name in roots(graph) if not name]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "system_class": 564,
        "jni_global": 40,
        "java_frame": 19,
        "thread": 8,
    }
    assert "array header 16, reference 4 bytes, alignment 8 bytes" in graph.producer
    assert "main" in graph.owners
    names = [graph.type_name(row) for row in range(graph.object_count)]
    assert names.count("Farm$Cow") + names.count("Farm$Animal") >= 200


def test_a_large_dump_is_read() -> None:
    graph = read_pieces(large_dump(5000, 20_000), 1 << 16)

    assert (graph.object_count, graph.reference_count) == (5000, 20_000)
    assert len(alive(graph)) == 5000 - len(jdk().classes)


def test_classes_of_one_name_and_far_below_others_have_their_values(
    reading: Callable[..., HeapGraph],
) -> None:
    """Fields are found in the nearest class, by those below others without them."""
    dump = jdk()
    dump.cls("above", 0x2000, "java/lang/Object", {"value": INT, "other": INT})
    dump.cls("between", 0x2010, "above", {"x": INT})
    for address, above in ((0x2020, "between"), (0x2030, "above")):
        dump.classes["java/lang/Long"] = address
        dump.records.append(
            dump.record(
                2,
                struct.pack(">I", 99)
                + dump.id(address)
                + bytes(4)
                + dump.id(dump.name("java/lang/Integer")),
            )
        )
        dump.fields["java/lang/Long"] = {}, above
        dump.sub(
            b"\x20" + dump.id(address) + bytes(4) + dump.id(dump.classes[above])
            + 5 * dump.id(0) + struct.pack(">IHHH", 0, 0, 0, 0)
        )  # fmt: skip
        dump.obj(address << 8, "java/lang/Long", value=address)

    graph = reading(dump.bytes())

    assert value(graph, 0x2020 << 8) == str(0x2020)
    assert value(graph, 0x2030 << 8) == str(0x2030)
