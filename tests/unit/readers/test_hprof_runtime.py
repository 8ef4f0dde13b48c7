"""What the JVM and Android record besides objects: strengths, threads, parts."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import polars as pl
import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, IngestError
from ingest.heap.graph import RefKind
from ingest.heap.read_options import LayoutOption, ReadOptions
from ingest.readers import open_source, parts, read_all
from ingest.tables.heap_tables import HeapTables
from tests.deep import cuts
from tests.dumps.hprof import (
    BYTE,
    HEAP_DUMP_END,
    INT,
    OBJECT,
    SEGMENT,
    Hprof,
    jdk,
    program,
)
from tests.heaps import measure
from tests.unit.readers.shared import by_id, targets, warnings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ingest.heap.graph import HeapGraph

    Reading = Callable[..., HeapGraph]


def test_referents_are_as_strong_as_their_reference(reading: Reading) -> None:
    dump = jdk()
    dump.cls("app/Entry", 0x2000, "java/lang/ref/PhantomReference", {"next": OBJECT})
    names = ("SoftReference", "WeakReference", "FinalReference", "PhantomReference")
    for i, kind in enumerate(names):
        at = 0x10000 + 0x100 * i
        dump.obj(at, f"java/lang/ref/{kind}", referent=0x20000, queue=0x20000)
    dump.obj(0x10400, "app/Entry", referent=0x20000, next=0x10000)
    dump.obj(0x20000, "java/lang/Object")

    graph = reading(dump.bytes())

    assert graph.ref_kind is not None
    found = []
    for address in range(0x10000, 0x10500, 0x100):
        begin, end = graph.ref_start[by_id(graph)[address] :][:2]
        found.append(graph.ref_kind[begin:end].tolist())
    strong = RefKind.STRONG
    assert found == [
        [RefKind.SOFT, strong],
        [RefKind.WEAK, strong],
        [RefKind.FINALIZER, strong],
        [RefKind.PHANTOM, strong],
        [strong, RefKind.PHANTOM],  # what a cleaner's list holds is not its referent
    ]


def test_the_list_of_the_collector_holds_nothing(reading: Reading) -> None:
    """By ``discovered``, one reference of a thread-local would hold the next one."""
    dump = Hprof()
    base, above = "java/lang/ref/Reference", "java/lang/Object"
    dump.cls(above, 0x1000)
    dump.cls(base, 0x1010, above, {"discovered": OBJECT})
    dump.cls("java/lang/ref/WeakReference", 0x1020, base)
    dump.obj(0x10000, "java/lang/ref/WeakReference", discovered=0x10100)
    dump.obj(0x10100, "java/lang/ref/WeakReference")

    graph = reading(dump.bytes())

    assert graph.ref_kind is not None
    begin, end = graph.ref_start[by_id(graph)[0x10000] :][:2]
    assert graph.ref_kind[begin:end].tolist() == [RefKind.WEAK]


def test_a_softly_held_cache_belongs_to_its_reference(reading: Reading) -> None:
    dump = jdk()
    dump.cls(
        "app/Cache", 0x2000, "java/lang/Object", statics={"soft": (OBJECT, 0x10000)}
    )
    dump.obj(0x10000, "java/lang/ref/SoftReference", referent=0x20000)
    dump.array(0x20000, "[Ljava/lang/Object;", [0x30000, 0])
    dump.obj(0x30000, "java/lang/Object")

    graph = reading(dump.bytes())
    metrics = analyse(graph)

    rows = by_id(graph)
    assert metrics.dominator[rows[0x20000]] == rows[0x10000]
    assert metrics.retained_count[rows[0x10000]] == 3
    assert metrics.count_by_strength[RefKind.SOFT] == 2


def test_threads_have_stacks_and_their_locals_frames(reading: Reading) -> None:
    dump = program()
    dump.frame(0x501, "app/Page", "turn", 12)
    dump.frame(0x502, "app/Book", "read", -3)
    dump.trace(7, 5, [0x501, 0x502])
    dump.segments[1] = dump.segments[1][:-2]
    dump.root(3, 0x10020, 5, 1)
    dump.root(2, 0x10040, 5, 9)  # a frame that the stack does not have
    dump.root(8, 0x10100, 5, 7)
    dump.root(8, 0x10000, 6, 8)  # a thread without stack

    graph = reading(dump.bytes(), strict=True)

    assert graph.stacks is not None
    assert graph.root_frame is not None
    assert graph.owners == ("Café", "thread 6")
    assert graph.stacks.stack(0) == (
        "app.Page.turn(Page.java:12)",
        "app.Book.read(Native Method)",
    )
    assert graph.stacks.stack(1) == ()
    assert graph.root_frame.tolist() == [-1, -1, 1, -1, -1, -1, -1, -1]
    assert [graph.root_name(row) for row in (2, 3, 4)] == [
        "java frame root in app.Book.read(Native Method)",
        "jni local root",
        "thread root Café",
    ]


def test_types_have_their_class_object_and_loader(reading: Reading) -> None:
    dump = jdk()
    for i, loader in enumerate((0x3000, 0x3010)):
        dump.classes.pop("app/Twice", None)
        dump.cls("app/Twice", 0x2000 + 16 * i, "java/lang/Object", loader=loader)
        dump.obj(loader, "java/lang/Object")
        dump.obj(0x4000 + 16 * i, "app/Twice")

    graph = reading(dump.bytes())

    assert graph.type_object is not None
    assert graph.type_loader is not None
    twice = [t for t, name in enumerate(graph.type_names) if name == "app.Twice"]
    rows = by_id(graph)
    assert graph.type_object[twice].tolist() == [rows[0x2000], rows[0x2010]]
    assert graph.type_loader[twice].tolist() == [rows[0x3000], rows[0x3010]]
    assert [int(graph.type_index[rows[at]]) for at in (0x4000, 0x4010)] == twice


@pytest.mark.parametrize("late", [False, True], ids=["classes first", "classes last"])
def test_android_names_parts_of_the_heap(late: bool, reading: Reading) -> None:
    dump = program("1.0.3", 4)
    objects = dump.segments[1]
    dump.segments[1] = []
    dump.space(ord("A"), "app")
    dump.segments[1] += objects[:4]
    dump.space(ord("Z"), "zygote")
    dump.segments[1] += objects[4:]
    if late:
        dump.segments.reverse()

    graph = reading(dump.bytes(), strict=True)

    assert graph.space is not None
    assert graph.spaces == ("app", "zygote")
    rows = by_id(graph)
    found = graph.space[[rows[0x10000], rows[0x10080], rows[0x100A0], rows[0x1000]]]
    assert found.tolist() == [0, 1, 1, -1]


def several() -> bytes:
    """Two dumps in segments; the second one has one object more."""
    dump, other = program(), program()
    other.obj(0x50000, "app/Page")
    more = [other.record(SEGMENT, b"".join(subs)) for subs in other.segments]
    return dump.bytes() + b"".join(more) + dump.record(HEAP_DUMP_END, b"")


def test_one_of_several_dumps_is_read(reading: Reading) -> None:
    first, second = reading(several()), reading(several(), part=1, strict=True)

    assert warnings(first) == {"other_heap_dump": 1}
    assert second.object_count == first.object_count + 1
    assert targets(second, by_id(second)[0x10000])
    assert second.part is not None
    assert (second.part.number, second.other_parts[0].number) == (1, 0)
    assert reading(program().bytes()).part is None
    with pytest.raises(DumpError, match="no heap dump 2"):
        reading(several(), part=2)


def test_all_dumps_of_a_file_are_listed_and_read(tmp_path: Path) -> None:
    path = tmp_path / "two.hprof"
    path.write_bytes(several())

    with open_source(str(path)) as source:
        listed = parts(source, lambda *_: None)
    with open_source(str(path)) as source:
        pending = list(read_all(source, ReadOptions(), lambda *_: None))

    recorded = program().bytes().count(b"\x21")
    assert [(part.number, part.is_default) for part in listed] == [
        (0, True),
        (1, False),
    ]
    assert listed[1].object_count == listed[0].object_count + 1 <= recorded
    counts = [dump.graph().object_count for dump in pending]
    assert counts[1] == counts[0] + 1


def test_the_layout_can_be_given(tmp_path: Path) -> None:
    dump = jdk()
    dump.cls("A", 0x2000, "java/lang/Object", {"x": INT, "a": OBJECT})
    dump.obj(0x10000, "A")
    dump.array(0x10100, "[Ljava/lang/Object;", [0] * 3)
    path = tmp_path / "a.hprof"
    path.write_bytes(dump.bytes())

    for text, expected in (("16/8/24", (32, 48)), ("8/4/12/16", (16, 32))):
        layout = LayoutOption.parse(text)
        assert layout is not None
        graph, _, _ = measure(str(path), ReadOptions(layout=layout))
        rows = by_id(graph)
        sizes = graph.shallow_bytes[[rows[0x10000], rows[0x10100]]]
        assert tuple(sizes.tolist()) == expected
        assert "as given" in graph.producer
    for text in ("", "12", "12/4", "12/5/16", "a/b/c", "12/4/16/7", "-1/4/16"):
        assert LayoutOption.parse(text) is None


@pytest.mark.parametrize("odd", [False, True])
def test_layouts_that_were_tried_are_shown_where_none_is_certain(
    reading: Reading, *, odd: bool
) -> None:
    dump = jdk()
    for i in range(200):
        at = 0x100000 + 40 * i - (16 if odd and i % 2 else 0)
        dump.array(at, "[Ljava/lang/Object;", [0] * (5 + i % 2))

    notes = reading(dump.bytes()).notes

    assert bool(notes) is odd
    assert all(note.startswith("layout tried: object header") for note in notes)
    assert all("of the gaps between objects" in note for note in notes)


def test_flipped_bits_end_in_an_error_or_a_graph(tmp_path: Path) -> None:
    data = program().bytes()
    path = tmp_path / "flipped.hprof"
    head = len(b"JAVA PROFILE 1.0.2\0")

    graphs = 0
    for at in cuts(8 * head, 8 * len(data), every=997):
        flipped = bytearray(data)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            graph, _, _ = measure(str(path), ReadOptions())
        except IngestError:
            continue
        graphs += 1
        assert graph.object_count <= len(data)
    assert graphs > 20


@pytest.mark.parametrize("tag", [b"", b"\x01"], ids=["pairs", "tagged pairs"])
@pytest.mark.parametrize("at", ["before", "behind"])
def test_arrays_of_values_have_the_class_of_these(
    tag: bytes, at: str, reading: Reading
) -> None:
    """As of JDK 28, which records their bytes."""
    dump = jdk()
    dump.cls("app/Point", 0x2000, "java/lang/Object", {"x": INT, "y": INT})
    dump.cls("app/Line", 0x2010, "java/lang/Object", {"name": OBJECT})
    dump.cls("[Lapp/Line;", 0x2020, "java/lang/Object")
    for i in range(3):
        dump.numbers(0x10000 + 64 * i, BYTE, bytes(16))
    given = ((0x10000, 0x2000), (0x10080, 0x2010))
    body = b"".join(tag + dump.id(one) + dump.id(kind) for one, kind in given)
    flat, fields = dump.record(0x12, body), dump.record(0x13, bytes(20))
    if at == "before":
        dump.records.append(flat + fields)
    data = dump.bytes() + (flat + fields if at == "behind" else b"")

    graph = reading(data)

    rows = by_id(graph)
    names = [graph.type_name(rows[0x10000 + 64 * i]) for i in range(3)]
    assert names == ["app.Point[]", "byte[]", "app.Line[]"]
    assert graph.length is not None
    assert graph.length[rows[0x10040]] == 16
    assert warnings(graph) == {}
    assert "1 array of values" in graph.notes[0]


@pytest.mark.parametrize("damage", ["sub-record", "record", "zeros"])
def test_what_is_skipped_is_missing_however_few_records_it_is(
    damage: str, reading: Reading
) -> None:
    dump = program()
    for part in range(3):
        dump.segment()
        for i in range(50):
            dump.obj(0x100000 * (part + 1) + 16 * i, "java/lang/Object")
    whole = dump.bytes()
    head = b"\x21" + dump.id(0x200000 if damage == "record" else 0x200100)
    at = whole.index(head) - (9 if damage == "record" else 0)
    filler = bytes(9) if damage == "zeros" else b"\x77"

    graph = reading(whole[:at] + filler + whole[at + len(filler) :])

    lost = 50 if damage == "record" else 34
    assert reading(whole).incomplete == ""
    assert graph.object_count == reading(whole).object_count - lost
    assert by_id(graph).keys() >= {0x100000 + 16 * i for i in range(50)}
    assert by_id(graph).keys() >= {0x300000 + 16 * i for i in range(50)}
    record = 1 + 8 + 4 + 8 + 4
    skipped = lost * record + (9 if damage == "record" else 0)
    assert warnings(graph) == {"unknown_record": 1, "unread_bytes": skipped}
    assert graph.incomplete.endswith(
        f"KiB could not be read, first at byte {at + 9 * (damage == 'record'):,}"
    )


def test_a_large_array_that_compresses_well_is_read(tmp_path: Path) -> None:
    dump = program()
    dump.numbers(0x90000, BYTE, bytes(32 << 20))
    dump.array(0xA0000, "[Ljava/lang/Object;", [0] * (1 << 20))
    path = tmp_path / "large.hprof.gz"
    path.write_bytes(gzip.compress(dump.bytes(), 9))

    graph, _, _ = measure(str(path), ReadOptions())

    assert path.stat().st_size < (40 << 20) // 560
    row = by_id(graph)[0x90000]
    assert graph.length is not None
    assert graph.length[row] == 32 << 20
    assert graph.null_reference_count >= 1 << 20


def test_threads_share_a_long_stack(reading: Reading) -> None:
    dump = program()
    dump.frame(0x501, "app/Page", "turn", 12)
    dump.trace(7, 5, [0x501] * 2000)
    dump.root(8, 0x10000, 5, 7)
    dump.root(8, 0x10100, 6, 7)

    graph = reading(dump.bytes())
    roots = HeapTables(graph, analyse(graph)).part("roots", 0, len(graph.root_kind))

    assert graph.stacks is not None
    assert len(graph.stacks.frames) == 2000
    stacks = roots.filter(pl.col("kind") == "thread")["stack"].to_list()
    frame = "app.Page.turn(Page.java:12)"
    assert stacks[-2] == stacks[-1] == " < ".join([frame] * 1024 + ["and 976 more"])
    assert roots.filter(pl.col("kind") != "thread")["stack"].null_count() > 0
