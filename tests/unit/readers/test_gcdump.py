"""The gcdump reader against dumps that say what they hold."""

from __future__ import annotations

import struct
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import SegmentKind
from ingest.heap.read_options import Fold, ReadOptions
from ingest.progress import silent
from ingest.readers.gcdump import sniff
from ingest.readers.gcdump.assembly import NO_ADDRESS, as_runtime
from ingest.readers.gcdump.reader import read
from ingest.readers.gcdump.roots import static_of
from ingest.runtimes import DOTNET, TypeClass
from tests.deep import cuts
from tests.dumps.gcdump import GcDump, i32, number, program, text
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

    from ingest.heap.graph import HeapGraph

    Reading = Callable[..., HeapGraph]


def small() -> GcDump:
    """A root, and two objects below it."""
    dump = GcDump()
    root, thing = dump.type("[.NET Roots]", 0), dump.type("App.Thing", 16)
    dump.node(root, 0, [1])
    dump.node(thing, 0x100, [2])
    dump.node(thing, 0x200)
    return dump


def test_everything_that_a_dump_tells(reading: Reading) -> None:
    graph = reading(program().file())

    row = by_id(graph)
    assert graph.format_name == "gcdump"
    assert graph.producer == "dotnet-gcdump"
    assert graph.domains[0].name == "App"
    assert list(row) == [0x10010, 0x12000, 0x40000, 0x1F000, 0x30000, 0x7FFF0000]
    assert (graph.object_count, graph.missing_count) == (5, 1)
    assert [graph.type_name(i) for i in range(6)] == [
        "App.Cache",
        "System.Object[]",
        "System.Object[]",
        "System.String",
        "App.Cache",
        "<missing>",
    ]
    assert graph.type_names == ("App.Cache", "System.Object[]", "System.String")
    assert graph.shallow_bytes.tolist() == [32, 48, 20_000, 24, 32, 0]
    assert targets(graph, row[0x10010]) == [0x12000, 0x1F000]
    assert targets(graph, row[0x12000]) == [0x40000, 0x1F000, 0x1F000, 0x7FFF0000]
    assert targets(graph, row[0x40000]) == [0x10010]
    assert sorted(roots(graph)) == [
        (0x10010, "internal", ""),
        (0x10010, "other", ".appdomain App"),
        (0x10010, "static", "App.Cache.<App.ICache.Entries>k__BackingField"),
        (0x12000, "static", "App.Cache.<App.ICache.Entries>k__BackingField"),
        (0x1F000, "finalizer_queue", ""),
        (0x1F000, "local", ""),
        (0x1F000, "other", ".COM/WinRT Objects"),
        (0x40000, "handle pinned", ""),
        (0x7FFF0000, "local", ""),
    ]
    assert alive(graph) == {0x10010, 0x12000, 0x40000, 0x1F000, 0x7FFF0000}
    assert warnings(graph) == {"missing_object": 1}


def test_segments_and_generations(reading: Reading) -> None:
    graph = reading(program().file())

    assert [(s.start, s.end, s.kind) for s in graph.segments] == [
        (0x10000, 0x20000, SegmentKind.EPHEMERAL),
        (0x30000, 0x38000, SegmentKind.GEN2),
        (0x40000, 0x50000, SegmentKind.LOH),
        (0x60000, 0x70000, SegmentKind.POH),
    ]
    assert graph.segment_index is not None
    assert graph.segment_index.tolist() == [0, 0, 2, 0, 1, -1]
    assert graph.generation is not None
    assert graph.generation.tolist() == [2, 1, 3, 0, 2, -1]


def test_a_segment_larger_than_any_memory_is_none(reading: Reading) -> None:
    dump = small()
    dump.segments = [(0x100, 0x180, 0, 0, 0x180, 0, 0), (0, 1 << 63, 0, 0, 0, 0, 0)]

    graph = reading(dump.file())

    assert [(s.start, s.end) for s in graph.segments] == [(0x100, 0x180)]
    assert warnings(graph)["impossible_segment"] == 1


def test_segments_before_pinned_objects_had_their_own(reading: Reading) -> None:
    dump = program()
    dump.segment_version = 0

    graph = reading(dump.file())

    assert [s.kind for s in graph.segments][3] is SegmentKind.UNKNOWN
    assert graph.generation is not None
    assert graph.generation.tolist() == [2, 1, 3, 0, 2, -1]


def test_what_is_folded_is_counted(reading: Reading) -> None:
    dump = program()
    graph = reading(dump.file())
    whole = reading(dump.file(), fold=Fold.NONE)

    assert whole.object_count + whole.missing_count == len(dump.nodes)
    assert whole.reference_count == dump.edge_count
    assert len(whole.type_names) == len(dump.types)
    assert graph.folded.object_count == 9
    assert graph.object_count + graph.missing_count + graph.folded.object_count == len(
        dump.nodes
    )
    assert (
        graph.reference_count + graph.folded.reference_count + len(graph.root_object)
        == dump.edge_count
    )
    assert graph.shallow_bytes.sum() == whole.shallow_bytes.sum()
    assert roots(whole) == [(NO_ADDRESS, "internal", "")]
    assert len(by_id(whole)) == len(dump.nodes)
    assert targets(whole, 4) == [0x40000]


def test_a_pseudo_node_that_the_root_does_not_lead_to_is_an_object(
    reading: Reading,
) -> None:
    dump = small()
    dump.nodes.pop()
    dump.addresses.pop()
    stray = dump.type("[stray]", 0)
    dump.node(stray, 0, [1])
    dump.node(dump.type("[RCW App.Thing RefCnt: 1]", 1000), 0x300)

    graph = reading(dump.file())

    assert graph.folded.object_count == 1
    assert [graph.type_name(row) for row in range(3)] == [
        "App.Thing",
        "[stray]",
        "[RCW App.Thing RefCnt: 1]",
    ]
    assert graph.object_id[1] == NO_ADDRESS + 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("[static vars]", "static"),
        ("[thread static vars]", "thread_static"),
        ("[Pinned local vars]", "local pinned"),
        ("[AsyncPinned handles]", "handle pinned"),
        ("[pinning Handles]", "handle pinned"),
        ("[strong Handles]", "handle"),
        ("[Dependent Handles]", "dependent_handle"),
        ("[other roots]", "other"),
        ("[unknown roots]", "other"),
        ("[appdomain App]", "internal"),
    ],
)
def test_names_of_pseudo_nodes_tell_kinds(
    reading: Reading, name: str, kind: str
) -> None:
    dump = small()
    dump.nodes[0] = number(1 << 1) + number(1) + number(3)
    dump.node(dump.type(name, 0), 0, [4])
    dump.node(dump.type("[appdomain X]", 0), 0, [1])

    named = ".appdomain X" if kind in ("other", "internal") else ""
    assert roots(reading(dump.file())) == [(0x100, kind, named)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("[static var App.Cache.entries]", ("App.Cache", "entries")),
        ("[static var A.B<C.D>.e]", ("A.B<C.D>", "e")),
        ("[static var A.<I.P>k__BackingField]", ("A", "<I.P>k__BackingField")),
        ("[thread static var A.b]", ("A", "b")),
        ("[static var b]", ("", "b")),
        ("[Static Var A\n.b]", ("A\n", "b")),
        ("[static vars]", None),
        ("[local vars]", None),
    ],
)
def test_a_static_variable_has_a_type_and_a_field(
    name: str, expected: tuple[str, str] | None
) -> None:
    assert static_of(name) == expected


def test_the_type_of_a_static_variable_needs_no_instance(reading: Reading) -> None:
    dump = small()
    dump.nodes[0] = number(1 << 1) + number(1) + number(3)
    dump.node(dump.type("[static var App.Statics.thing]", 0), 0, [1])

    graph = reading(dump.file())

    assert roots(graph) == [(0x100, "static", "App.Statics.thing")]
    assert graph.type_names == ("App.Thing", "App.Statics")


def test_the_type_of_an_object_does_not_declare_what_holds_it(
    reading: Reading,
) -> None:
    """As the runtime's events have it, and so producers that rely on them."""
    dump = small()
    dump.nodes[0] = number(1 << 1) + number(2) + number(3) + number(4)
    dump.node(dump.type("[static var App.Thing.thing]", 0), 0, [1])
    dump.node(dump.type("[static var App.Lost.other]", 0), 0, [6])
    dump.node(dump.type("App.Thing (Bytes > 1K)", -1), 0x300, [], 2000)
    dump.missing(0x400)
    data = dump.file()

    graph = reading(data)

    assert roots(graph) == [(0x100, "static", ".thing"), (0x400, "static", ".other")]
    assert graph.type_names == ("App.Thing",)
    dump.node(dump.type("App.Other", 16), 0x500)
    dump.nodes[3] = number(3 << 1) + number(2) + number(1 - 3) + number(7 - 3)
    assert roots(reading(dump.file())) == [
        (0x100, "static", "App.Thing.thing"),
        (0x500, "static", "App.Thing.thing"),
        (0x400, "static", "App.Lost.other"),
    ]


def test_a_script_heap_has_its_own_root(reading: Reading) -> None:
    dump = GcDump()
    dump.node(dump.type("[JS Roots]", 0), 0, [1])
    dump.node(dump.type("[] (Type  JSArray)", 16), 0x100, [1])

    graph = reading(dump.file(), strict=True)

    assert roots(graph) == [(0x100, "internal", "")]
    assert graph.folded.object_count == 1


def test_a_root_that_is_an_object(reading: Reading) -> None:
    dump = GcDump(root=1)
    thing = dump.type("App.Thing", 16)
    dump.node(thing, 0x100)
    dump.node(thing, 0x200, [0])

    graph = reading(dump.file(), strict=True)

    assert roots(graph) == [(0x200, "internal", "")]
    assert alive(graph) == {0x100, 0x200}


def test_a_dump_without_a_root(reading: Reading) -> None:
    dump = small()
    dump.root = -1

    graph = reading(dump.file())

    assert roots(graph) == []
    assert warnings(graph) == {"no_root": 1}


@pytest.mark.parametrize("version", [4, 5, 6, 7, 9, 10, 11])
def test_versions(reading: Reading, version: int) -> None:
    dump = program()
    dump.version, dump.least_reader = version, min(version, 10)
    dump.tool = dump.tool if version > 8 else None

    graph = reading(dump.file())

    assert warnings(graph) == {"missing_object": 1}
    assert graph.object_count == 5
    assert graph.domains[0].name == ("App" if version > 4 else "")
    assert len(graph.segments) == (4 if version > 5 else 0)


@pytest.mark.parametrize(
    ("version", "least", "what"),
    [(8, 8, "newer program"), (3, 0, "newer program"), (12, 11, "update ingest")],
)
def test_versions_that_cannot_be_read(
    reading: Reading, version: int, least: int, what: str
) -> None:
    dump = small()
    dump.version, dump.least_reader = version, least

    with pytest.raises(MalformedDump, match=f"version {version} .*{what}") as caught:
        reading(dump.file())
    assert caught.value.offset is not None


def test_types_without_names_have_numbers(reading: Reading) -> None:
    dump = small()
    dump.graph_version = dump.graph_reader = 1
    dump.types[2] = (None, 16, None)
    dump.deferred = [(0, "", ""), (0, "", ""), (-2, "C:\\app\\App.dll", "[]")]

    graph = reading(dump.file(), strict=True)

    assert graph.type_names == ("<App.dll!0xfffffffe>[]",)
    dump.later = b"what a later version puts behind them"
    assert reading(dump.file(), strict=True).object_count == 2
    dump.later = b""
    without_end = reading(dump.file()[:-1])
    assert without_end.type_names == graph.type_names


def test_what_later_versions_add_is_passed_over(reading: Reading) -> None:
    dump = small()
    dump.interop = b"\xee nothing that is known"
    dump.extra = b"".join(
        [
            b"\x08\x01\x09\x01\x02\x0a\1\2\3\4\x0b\1\2\3\4\5\6\7\x08",
            b"\x0d" + text("älter"),
            b"\x0d" + text(None),
            b"\x0e" + i32(3) + b"abc",
            b"\x01\x02" + i32(4),
        ]
    )

    graph = reading(dump.file(), strict=True)

    assert graph.object_count == 2


@pytest.mark.parametrize(
    "name", ["", "Ns.T`1[Über.Ärger]", "ℵ", "\U0001f600 and \u00e9", "x" * 70_000]
)
def test_names_in_any_script(reading: Reading, name: str) -> None:
    dump = small()
    dump.types[2] = (name, 16, None)

    assert reading(dump.file()).type_names == (name,)


def test_half_a_character_is_replaced(reading: Reading) -> None:
    dump = small()
    dump.types[2] = ("a\ud800b", 16, None)

    assert reading(dump.file()).type_names == ("a\ufffdb",)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 8191, 8192, 2**31 - 1])
def test_sizes(reading: Reading, size: int) -> None:
    dump = small()
    dump.node(2, 0x300, [1, 2, 3], size)

    graph = reading(dump.file(), strict=True)

    assert graph.shallow_bytes.tolist() == [16, 16, size]
    assert targets(graph, 2) == [0x100, 0x200, 0x300]


def test_a_size_below_nothing_is_none(reading: Reading) -> None:
    dump = small()
    dump.node(2, 0x300, [], -1)

    graph = reading(dump.file())

    assert graph.shallow_bytes.tolist() == [16, 16, 0]
    assert warnings(graph) == {"negative_size": 1}


def test_a_size_that_was_cast_to_32_bits_is_restored(reading: Reading) -> None:
    dump = small()
    dump.node(2, 0x300, [], 3_000_000_000 - 2**32)
    dump.node(2, 0x400, [], -(2**31))

    graph = reading(dump.file(), strict=True)

    assert graph.shallow_bytes.tolist() == [16, 16, 3_000_000_000, 2**31]
    assert not graph.incomplete
    assert [note.partition(":")[0] for note in graph.notes] == [
        "2 sizes of 2 GiB and more"
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("App.Page+[]c__DisplayClass3_0", "App.Page+<>c__DisplayClass3_0"),
        ("App.Page+[]c[]", "App.Page+<>c[]"),
        ("[]f__AnonymousType0<Int32,Byte[]>", "<>f__AnonymousType0<Int32,Byte[]>"),
        ("System.Int32<,>[]", "System.Int32[,][]"),
        ("App.Map<Byte[],Int32[]>", "App.Map<Byte[],Int32[]>"),
        ("App.Service+<Run>d__7[]", "App.Service+<Run>d__7[]"),
        ("[static var App.Page+[]c.[]9__0_1]", "[static var App.Page+<>c.<>9__0_1]"),
    ],
)
def test_names_are_spelled_as_the_runtime_does(name: str, expected: str) -> None:
    assert as_runtime(name) == expected


def test_what_a_dependent_handle_holds_owns_nothing_that_has_an_owner(
    reading: Reading,
) -> None:
    """The key of such a handle is not recorded, and its value often refers to it."""
    dump = small()
    dump.nodes[0] = number(1 << 1) + number(2) + number(3) + number(4)
    dump.node(dump.type("[static var App.Registry.Open]", 0), 0, [1])
    dump.node(dump.type("[Dependent Handles]", 0), 0, [5, 2])
    dump.node(dump.type("App.State", 40), 0x300, [2, 6])
    dump.node(dump.type("System.Byte[]", 900), 0x400)

    graph = reading(dump.file())
    metrics = analyse(graph)
    row = by_id(graph)

    assert roots(graph) == [
        (0x100, "static", "App.Registry.Open"),
        (0x300, "dependent_handle", ""),
        (0x200, "dependent_handle weak", ""),
    ]
    assert metrics.dominator[row[0x200]] == row[0x100]
    assert metrics.retained_bytes[row[0x300]] == 940
    assert alive(graph) == {0x100, 0x200, 0x300, 0x400}


def test_types_that_the_runtime_sent_no_names_of_are_told(reading: Reading) -> None:
    dump = small()
    dump.node(dump.type("UNKNOWN 0x7ffa12345678", 64), 0x300)

    graph = reading(dump.file())

    assert any("no names for 1 type with 64 B" in note for note in graph.notes)
    (kind,) = DOTNET.type_classes(["UNKNOWN 0x7ffa12345678"])
    assert kind == TypeClass.LIBRARY


def test_children_far_away(reading: Reading) -> None:
    dump = small()
    for row in range(3, 40_000):
        dump.node(2, 0x1000 * row)
    dump.node(2, 0x88, [1, 39_999, 20_000])

    graph = reading(dump.file(), strict=True)

    assert targets(graph, graph.object_count - 1) == [
        0x100, 0x1000 * 39_999, 0x1000 * 20_000,
    ]  # fmt: skip


def test_a_sample_says_so_and_tells_what_each_type_stands_for(reading: Reading) -> None:
    dump = small()
    large = dump.type("App.Thing (Bytes > 1K)", -1)
    dump.node(large, 0x300, [], 4000)
    dump.type("App.Never", -1)
    dump.average = (2.5, 1.5)
    dump.by_type = [1, 1, 3.5, 1]

    graph = reading(dump.file())

    assert warnings(graph) == {"sampled_one_in": 2}
    assert graph.object_count == 3
    sampling = graph.sampling
    assert sampling is not None
    assert (sampling.average_count, sampling.average_size) == (2.5, 1.5)
    # Two of 16 bytes that stand for 3.5 each, and one of 4000 for itself.
    assert graph.type_names == ("App.Thing", "App.Never")
    assert sampling.count[0] * 3 == pytest.approx(2 * 3.5 + 1)
    assert sampling.size[0] * 4032 == pytest.approx(2 * 16 * 3.5 + 4000)
    assert (sampling.count[1], sampling.size[1]) == (1, 1)
    with pytest.raises(MalformedDump, match="sampled one in"):
        reading(dump.file(), strict=True)


def test_a_sample_may_have_averages_only(reading: Reading) -> None:
    dump = small()
    dump.average = (4.0, 8.0)

    sampling = reading(dump.file()).sampling

    assert sampling is not None
    assert (sampling.count.tolist(), sampling.size.tolist()) == ([4.0], [8.0])


@pytest.mark.parametrize(
    "average", [(0.0, 1.0), (float("nan"), -1.0), (1e15, float("inf"))]
)
def test_impossible_multipliers_are_none(
    reading: Reading, average: tuple[float, float]
) -> None:
    dump = small()
    dump.average = average

    graph = reading(dump.file())

    assert graph.sampling is None
    assert "impossible_multiplier" in warnings(graph)


def test_two_objects_at_one_address_are_told_of(reading: Reading) -> None:
    dump = small()
    dump.node(2, 0x100)

    assert warnings(reading(dump.file())) == {"repeated_address": 1}


def test_a_very_large_graph_is_refused_as_such(reading: Reading) -> None:
    dump = small()
    for row in range(100):
        dump.node(2, 0x1000 + row)
    narrow = dump.graph()
    begin = narrow.index(i32(len(dump.nodes)))
    offsets = struct.unpack_from(f"<{len(dump.nodes)}i", narrow, begin + 4)
    rest = narrow[begin + 4 + 4 * len(dump.nodes) :]
    wide = struct.pack(f"<{len(offsets) + 1}q", len(offsets), *offsets) + rest

    with pytest.raises(MalformedDump, match="very large graphs"):
        reading(dump.file(lambda: narrow[:begin] + wide))


def test_a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused(
    reading: Reading,
) -> None:
    dump = program()
    data = dump.file()
    addresses = dump.places["end of graph"]
    for end in cuts(60, len(data), every=29):
        with pytest.raises(DumpError, match=r"byte \d+"):
            reading(data[:end], strict=True)
        if end < addresses:
            with pytest.raises(TruncatedDump, match=r"byte \d+"):
                reading(data[:end])
            continue
        try:
            graph = reading(data[:end])
        except TruncatedDump:
            assert end <= addresses + 3  # the graph's own end is not there
        else:
            assert graph.object_count == 5
            assert "truncated_trailer" in warnings(graph)


def patched(place: str, more: bytes, behind: int = 0) -> bytes:
    """A good file with other bytes in a place, or so many bytes behind it."""
    dump = small()
    good = dump.file()
    at = dump.places[place] + behind
    return good[:at] + more + good[at + len(more) :]


def first_node(*numbers: int) -> bytes:
    dump = small()
    dump.nodes[0] = b"".join(map(number, numbers))
    return dump.file()


HUGE, LESS = i32(2**31 - 1), i32(-1)
TYPES = sum(len(text(name)) + 8 for name, _, _ in small().types)
NODES = 16 + TYPES
CLAIMS = {
    "root": patched("fields of graph", i32(77), 8),
    "types": patched("fields of graph", HUGE, 12),
    "no types": patched("fields of graph", LESS, 12),
    "name": patched("fields of graph", HUGE, 16),
    "name not encoded": patched("fields of graph", b"\xf0", 20),
    "nodes": patched("fields of graph", HUGE, NODES),
    "no nodes": patched("fields of graph", LESS, NODES),
    "offset": patched("fields of graph", LESS, NODES + 4),
    "bytes": patched("fields of graph", HUGE, NODES + 16),
    "no bytes": patched("fields of graph", LESS, NODES + 16),
    "addresses": patched("addresses", i32(2)),
    "more addresses": patched("addresses", HUGE),
    "type": first_node(99 << 1, 0),
    "negative type": first_node(-2, 0),
    "children": first_node(2, 2**31 - 1),
    "no children": first_node(2, -1),
    "child": first_node(2, 1, 50),
    "child before": first_node(2, 1, -1),
    "long number": first_node(2, 1, 2**40),
    "entry refers": small().file()[:24] + b"\2" + small().file()[25:],
    "entry is null": small().file()[:24] + b"\1" + small().file()[25:],
    "no type": patched("graph", b"\6", 1),
    "no such type": patched("graph", b"\2\xff\xff\xff\x7f", 1),
    "type of type": patched("graph", b"\2", 2),
    "endless type": patched("graph", b"\7", 33),
    "another type": patched("graph", b"Graphs.MemoryGrape", 15),
    "graph is null": patched("graph", b"\1"),
    "graph is itself": patched("graph", b"\2" + i32(small().file().find(b"Gra") - 15)),
    "graph is the dump": patched("graph", b"\2" + i32(24)),
    "graph is nowhere": patched("graph", b"\2" + LESS),
    "graph ends later": patched("end of graph", b"\x63"),
    "no end": small().file()[:-4],
}  # fmt: skip


@pytest.mark.parametrize("what", CLAIMS)
def test_what_a_file_claims_costs_nothing(reading: Reading, what: str) -> None:
    reading(small().file())
    tracemalloc.start()
    try:
        with pytest.raises(DumpError, match=r"byte [\d]+") as caught:
            reading(CLAIMS[what], strict=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.offset is not None
    assert peak < 8 << 20


@pytest.mark.parametrize(
    "last", [b"\x84", b"\5\x80", b"\4\x80", b"\4\2\0", b"\4\1\xff"]
)
def test_a_node_may_not_end_behind_its_bytes(reading: Reading, last: bytes) -> None:
    dump = small()
    dump.nodes[-1] = last

    with pytest.raises(MalformedDump, match="a node ends after the node data"):
        reading(dump.file())


def test_nodes_may_not_share_their_bytes(reading: Reading) -> None:
    """Else a small file has as many references as it likes."""
    dump = GcDump()
    thing = dump.type("App.Thing", 8)
    many = 1000
    for row in range(many):
        dump.node(thing, 8 + 8 * row, [0] * many if row == 0 else [])
    graph = dump.graph()
    begin = graph.index(i32(many)) + 4
    shared = graph[:begin] + many * i32(2) + graph[begin + 4 * many :]

    with pytest.raises(MalformedDump, match="nodes overlap"):
        reading(dump.file(lambda: shared))


BROKEN_ENDS = {
    "region ends before it begins": patched("table", i32(1) + i32(40)),
    "region ends behind the file": patched("table", i32(1) + LESS),
    "no such region": patched("region", i32(9)),
    "table is none": small().file()[:-8] + b"\xff" * 8,
    "table is the trailer": small().file()[:-8] + 2 * i32(len(small().file()) - 8),
    "table is long": patched("table", HUGE),
    "multipliers": patched("multipliers", HUGE),
    "less multipliers": patched("multipliers", LESS),
    "heap is itself": patched("heap", b"\2" + i32(len(small().file()) - 200)),
    "log": patched("heap", HUGE, 1),
}


@pytest.mark.parametrize("what", BROKEN_ENDS)
def test_what_is_behind_the_graph_may_be_broken(reading: Reading, what: str) -> None:
    data = BROKEN_ENDS[what]

    graph = reading(data)

    assert graph.object_count == 2
    kinds = set(warnings(graph))
    assert kinds
    assert kinds <= {
        "malformed_information", "truncated_information", "truncated_trailer",
    }  # fmt: skip
    with pytest.raises(DumpError, match=r"byte \d+"):
        reading(data, strict=True)


def with_table(data: bytes, *labels: int) -> bytes:
    """A file, which ends in an end, with a table of forward references behind it."""
    table = i32(len(labels)) + b"".join(map(i32, labels))
    return data + table + i32(len(data)) + i32(len(data) + len(table))


@pytest.mark.parametrize("tag", [b"\2", b"\3"])
def test_references_that_lead_to_each_other_end(reading: Reading, tag: bytes) -> None:
    """What should tell of the heap refers to itself."""
    dump = small()
    good = dump.file()
    at = dump.places["heap"]
    kind = b"\2" + i32(dump.places["graph"] + 1)
    itself = tag + (i32(at) if tag == b"\2" else i32(0) + kind)
    data = good[:at] + itself + good[at + 1 : dump.places["table"]]

    assert set(warnings(reading(with_table(data, at)))) == {"malformed_information"}


@pytest.mark.parametrize("tag", [b"\2", b"\3", b"\7"])
def test_references_to_what_stands_elsewhere(reading: Reading, tag: bytes) -> None:
    """Two segments are the first one again; or it stands behind the dump."""
    dump = small()
    dump.segments = [(0x100, 0x180, 0, 0, 0x180, 0, 0)]
    good = dump.file()
    begin = dump.places["segment"]
    end = begin + 12 + len(text("GCHeapDumpSegment")) + 7 * 8 + 1
    segment, behind = good[begin:end], good[end : dump.places["table"]]
    other = b"\2" + i32(begin)
    if tag != b"\2":
        other = b"\3" + i32(1) + b"\2" + i32(begin + 1)
    data = good[: begin - 4] + i32(3) + segment + 2 * other + behind
    region = dump.places["region"] + 2 * len(other) + 5
    forward = begin
    if tag == b"\7":
        forward = len(data) - 1
        again = b"\4\2" + i32(begin + 1) + segment[-57:]
        data = data[:-1] + b"\7" + i32(1) + again + b"\6"

    graph = reading(with_table(data, region, forward), strict=True)

    assert [(s.start, s.end) for s in graph.segments] == 3 * [(0x100, 0x180)]
    assert graph.generation is not None
    assert graph.generation.tolist() == [2, -1]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_the_pieces_of_a_file_do_not_matter(reading: Reading, size: int) -> None:
    data = program().file()

    graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]

    assert same(graph, reading(data))


GOOD = program().file()


@given(st.data())
def test_damage_is_refused_or_read_never_worse(data: st.DataObject) -> None:
    broken = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(24, len(broken) - 1))
        broken[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        graph = read(Pieces(bytes(broken), 99), ReadOptions(), silent)  # type: ignore[arg-type]
    except DumpError as error:
        if error.offset is None:
            raise
        return
    analyse(graph)


def test_it_is_known_by_its_first_bytes() -> None:
    assert sniff(GOOD[:100])
    assert not sniff(GOOD[1:100])
    assert not sniff(b"Nettrace\x14\0\0\0!FastSerialization.1")
    assert not sniff(GOOD[:24] + b"\4\4\1\0\0\0\0\0\0\0\0\5\0\0\0Other")
