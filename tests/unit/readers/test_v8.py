"""The reader of V8 snapshots against dumps that say what they hold."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.distances import ROOT
from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, UnknownFormat
from ingest.heap.graph import EPHEMERON, HeapGraph, RootKind
from ingest.heap.read_options import Fold, ReadOptions
from ingest.progress import silent
from ingest.readers.v8 import sniff
from ingest.readers.v8.naming import label
from ingest.readers.v8.reader import read
from ingest.runtimes import V8, TypeClass
from ingest.suspects.find import find_suspects
from ingest.tables.heap_tables import HeapTables
from ingest.what_if.cut_parser import CutParser
from ingest.what_if.freed import WhatIf
from tests.deep import cuts
from tests.dumps.v8 import V8Heap, bun, julia, program, tracked, written
from tests.unit.readers.shared import Pieces, alive, by_id, roots, same, warnings, weak

if TYPE_CHECKING:
    from collections.abc import Callable

    Reading = Callable[..., HeapGraph]


def number(node: int) -> int:
    """The id that the writer gives a node."""
    return 2 * node + 1


def references(graph: HeapGraph, row: int) -> list[tuple[str | None, int, bool]]:
    """Fields, nodes and weakness of what an object refers to."""
    begin, end = graph.ref_start[row : row + 2].tolist()
    return [
        (
            graph.field_name(at),
            int(graph.object_id[graph.ref_target[at]]) // 2,
            weak(graph, at),
        )
        for at in range(begin, end)
    ]


def value(graph: HeapGraph, node: int) -> str | None:
    assert graph.values is not None
    row = by_id(graph)[number(node)]
    return graph.values.pick(np.array([row]))[0]


def test_everything_that_a_snapshot_tells(reading: Reading) -> None:
    graph = reading(program().bytes(), strict=True)
    row = by_id(graph)

    def kind(node: int) -> str:
        return graph.type_name(row[number(node)])

    assert (graph.format_name, graph.runtime, graph.producer) == ("v8", "v8", "V8")
    assert graph.object_count == 22
    assert graph.folded.object_count == 4
    assert [kind(n) for n in (4, 5, 6, 7, 8, 9)] == [
        "global", "(system)", "module /srv/app/store.js", "Map", "(array)", "Session",
    ]  # fmt: skip
    assert [kind(n) for n in (11, 13, 14, 19, 20, 21)] == [
        "(string)", "Function", "(compiled code)", "Detached <div>", "{id, to}",
        "{id, to}",
    ]  # fmt: skip
    assert references(graph, row[number(6)]) == [
        ("sessions", 7, False), ("previous", 5, False), (None, 4, False),
    ]  # fmt: skip
    assert references(graph, row[number(13)]) == [
        ("context", 6, False), ("shared", 14, False), ("bound", 7, True),
        ("self", 13, False),
    ]  # fmt: skip
    assert references(graph, row[number(22)]) == [
        ("[0]", 9, False), ("[1]", 10, False), ("elements", 23, False),
    ]  # fmt: skip
    assert roots(graph) == [
        (number(4), "other", ""),
        (number(24), "other weak", ""),
        (number(9), "handle weak", ".(Global handles)"),
        (number(19), "handle", ".DevTools console"),
        (number(25), "local", ".(Stack roots)"),
    ]
    assert value(graph, 11) == "Ärger \U0001f600"
    assert value(graph, 12) == "x" * 128
    assert value(graph, 13) == "open store.js:12:3 (/srv/app)"
    assert value(graph, 15) == "/srv/app/store.js"
    assert value(graph, 19) == '<div id="a" class="b">'
    assert value(graph, 9) is None
    assert graph.length is not None
    # V8 cuts strings at 1,024 characters: how long that one is, it does not say.
    assert graph.length[[row[number(n)] for n in (11, 12, 9)]].tolist() == [8, -1, -1]
    assert graph.space is not None
    assert graph.spaces[graph.space[row[number(7)]]] == "object"
    assert graph.irregularities == ()
    assert any("4.0 KiB of native memory" in note for note in graph.notes)


def test_weak_is_what_devtools_does_not_count_as_retaining(reading: Reading) -> None:
    graph = reading(program().bytes())
    metrics = analyse(graph)
    row = by_id(graph)

    assert number(24) not in alive(graph)
    assert metrics.weak_only_count == 1
    # The stack holds what the program does not.
    assert number(25) in alive(graph)
    # A handle of the runtime does not count for what the program itself holds.
    assert metrics.dominator[row[number(9)]] == row[number(4)]


def test_the_stack_comes_last(reading: Reading) -> None:
    """What it has is gone at the next call, and often the last thing that was used."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1), ("element", 2, 2)])
    stack = heap.node("synthetic", "(Stack roots)", 0)
    for place, of in enumerate((4, 6, 8, 7)):
        heap.edge(stack, "element", place, of)
    heap.node("synthetic", "(Global handles)", 0, [("element", 1, 3)])
    heap.node("object", "Module", 16, [("property", "bus", 4)])
    heap.node("object", "Bus", 16, [("property", "session", 5)])
    heap.node("object", "Session", 16)
    heap.node("object", "Local", 16, [("property", "session", 5)])
    heap.node("object", "system / Context", 32, [
        ("context", "cache", 8), ("internal", "previous", 12),
    ])  # fmt: skip
    heap.node("object", "Cache", 16)
    heap.node("closure", "open", 64, [
        ("internal", "context", 7), ("internal", "shared", 10),
    ])  # fmt: skip
    heap.node("code", "open", 56, [("internal", "script_or_debug_info", 11)])
    heap.node("code", "/srv/app/store.js", 144)
    heap.node("hidden", "system / NativeContext", 100)
    heap.place(9, 7, 11, 2)

    graph = reading(heap.bytes())
    metrics = analyse(graph)

    rows = {graph.type_name(row): row for row in range(graph.object_count)}
    names = ("Module", "Bus", "Session", "Local", "module /srv/app/store.js", "Cache")
    far = [int(metrics.root_distance[rows[name]]) for name in names]
    assert far == [1, 2, 3, 1, 1, 2]
    assert metrics.path_parent[rows["Session"]] == rows["Bus"]
    assert metrics.dominator[rows["Bus"]] == ROOT, "both roots still hold it"


def test_an_entry_of_a_weakmap_is_held_by_its_key(reading: Reading) -> None:
    graph = reading(program().bytes())
    row = by_id(graph)

    assert references(graph, row[number(17)]) == [
        ("[3]", 9, True),
        ("(value)", 18, True),
    ]
    assert references(graph, row[number(9)])[-1] == (EPHEMERON, 18, False)
    assert analyse(graph).dominator[row[number(18)]] == row[number(9)]


@pytest.mark.parametrize("holder", ["(Stack roots)", "(Global handles)"])
def test_a_key_that_no_global_holds_holds_its_entry(
    holder: str, reading: Reading
) -> None:
    """A module has the WeakMap; only the stack or a handle of a socket has the key."""
    pair = " / part of key (Socket @9) -> value (Array @11) pair in WeakMap (table @7)"
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 5), ("shortcut", "1", 1)])
    heap.node("object", "global", 16, [("property", "inbox", 2)])
    heap.node("object", "WeakMap", 32, [("internal", "table", 3)])
    heap.node("array", "", 80, [("weak", "3", 4), ("internal", "4" + pair, 6)])
    heap.node("object", "Socket", 64, [("internal", "2" + pair, 6)], number=9)
    heap.node("synthetic", holder, 0, [("element", 0, 4)], number=13)
    heap.node("object", "Array", 16, [("element", 0, 7)], number=11)
    heap.node("object", "Message", 24)

    graph = reading(heap.bytes(), strict=True)
    row = by_id(graph)

    assert references(graph, row[9]) == [(EPHEMERON, 5, False)]
    assert references(graph, row[7])[-1] == ("(value)", 5, True)
    assert number(7) in alive(graph)
    assert analyse(graph).dominator[row[11]] == row[9]
    cut = CutParser(graph).cut(f"Socket.{EPHEMERON} -> Array")
    assert WhatIf(graph).freed([cut]).shallow_bytes == 40


def test_sizes_are_counted_with_owners_unless_folding_is_off(reading: Reading) -> None:
    graph = reading(program().bytes())
    whole = reading(program().bytes(), fold=Fold.NONE)
    row, all_rows = by_id(graph), by_id(whole)

    chosen = [row[number(node)] for node in (7, 8, 22, 23, 4)]
    assert graph.shallow_bytes[chosen].tolist() == [232, 0, 48, 0, 40]
    assert whole.shallow_bytes[[all_rows[number(n)] for n in (7, 8)]].tolist() == [
        32,
        200,
    ]
    assert graph.shallow_bytes.sum() == whole.shallow_bytes.sum()
    assert whole.object_count == 26
    assert roots(whole) == [(1, "internal", "")]
    assert value(whole, 2) == "(Global handles)"


def test_detached_nodes_pass_it_on_to_native_nodes_only(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "Window", 8, [("property", "a", 2), ("property", "b", 6)])
    heap.node("native", "<p>", 8, [
        ("internal", "1", 3), ("internal", "2", 5), ("internal", "3", 4),
    ], detachedness=2)  # fmt: skip
    heap.node("native", "<b>", 8)
    heap.node("object", "Thing", 8)
    heap.node("native", "<i>", 8)
    heap.node("native", "Document", 8, [("internal", "1", 5)], detachedness=1)

    graph = reading(heap.bytes())

    assert [graph.type_name(row) for row in range(graph.object_count)] == [
        "Window", "Detached <p>", "Detached <b>", "Thing", "<i>", "Document",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("node_name", "kind", "function"),
    [
        ("system / Script / file:///srv/a.html", "module file:///srv/a.html",
            "open a.html:12:3 (file:///srv)"),
        ("system / Script", "system / Context", "open"),
    ],
)  # fmt: skip
def test_newer_versions_say_that_a_script_is_one(
    reading: Reading, node_name: str, kind: str, function: str
) -> None:
    heap = program()
    heap.nodes[15]["name"] = heap.string(node_name)
    graph = reading(heap.bytes())

    assert graph.type_name(by_id(graph)[number(6)]) == kind
    assert value(graph, 13) == function


def test_roots_are_named_without_their_places(reading: Reading) -> None:
    """The same handle has another place in the next snapshot."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("synthetic", "(Global handles)", 0, [
        ("internal", "1 / a / b", 2), ("internal", "2 / c", 2), ("internal", "3", 2),
        ("internal", "10 / c", 3),
    ])  # fmt: skip
    heap.node("object", "A", 12, [("internal", "2 / c", 3)])
    heap.node("object", "B", 12)
    graph = reading(heap.bytes())

    assert roots(graph) == [
        (number(2), "handle", ".a / b"), (number(2), "handle", ".c"),
        (number(2), "handle", ".(Global handles)"), (number(3), "handle", ".c"),
    ]  # fmt: skip
    assert references(graph, by_id(graph)[number(2)]) == [("2 / c", 3, False)]


def test_only_interfaces_of_several_objects_count(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0)

    def plain(*names: str) -> None:
        edges = [("property", name, 0) for name in ("__proto__", *names)]
        node = heap.node("object", "Object", 16, [(k, n, 1) for k, n, _ in edges])
        heap.edge(0, "element", node, node)

    for names in (("a", "b"), ("a", "b"), ("b", "a", "c"), ("a",), ("q,",), ("q,",)):
        plain(*names)
    long = [f"property_with_a_long_name_{i}" for i in range(9)]
    plain(*long)
    plain(*long, "more")
    plain()

    graph = reading(heap.bytes(), fold=Fold.NONE)

    assert [graph.type_name(row) for row in range(1, graph.object_count)] == [
        "{a, b}", "{a, b}", "{a, b}", "Object", '{"q,"}', '{"q,"}',
        "{" + ", ".join(long[:4]) + "}", "{" + ", ".join(long[:4]) + "}", "Object",
    ]  # fmt: skip


@pytest.mark.parametrize("fields", [
    ["type", "name", "id", "self_size", "edge_count", "trace_node_id"],
    ["type", "name", "id", "self_size", "edge_count"],
    ["type", "name", "id", "self_size", "edge_count", "detachedness"],
    ["detachedness", "edge_count", "self_size", "trace_node_id", "id", "name", "type"],
])  # fmt: skip
def test_fields_are_found_by_their_names(reading: Reading, fields: list[str]) -> None:
    heap = program()
    heap.node_fields = fields
    expected = reading(program().bytes())

    graph = reading(heap.bytes())

    columns = ("object_id", "shallow_bytes", "ref_start", "ref_target")
    for name in columns:
        assert np.array_equal(getattr(graph, name), getattr(expected, name))


def test_types_that_are_not_known_have_their_own_names(reading: Reading) -> None:
    heap = V8Heap(node_types=["synthetic", "object", "quantum object", "string"])
    heap.node("synthetic", "", 0, [("element", 0, 1)])
    heap.node("object", "A", 8, [("property", "q", 2)])
    heap.node("quantum object", "Schrödinger", 8)

    graph = reading(heap.bytes())

    assert [graph.type_name(row) for row in range(2)] == ["A", "(quantum object)"]


def pollers(contexts: int) -> V8Heap:
    """Functions of one script, each in a context of its own, and no other context."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global / ", 16, [("internal", "native_context", 2)])
    heap.node("hidden", "system / NativeContext", 64)
    heap.node("code", "poll", 56, [("internal", "script_or_debug_info", 4)])
    heap.node("code", "/srv/app/timers.js", 144)
    for _ in range(contexts):
        context = heap.node("object", "system / Context", 32)
        heap.edge(context, "internal", "previous", 2)
        function = heap.node("closure", "poll", 64)
        heap.edge(function, "internal", "context", context)
        heap.edge(function, "internal", "shared", 3)
        heap.edge(1, "property", f"poll{context}", function)
    return heap


def test_a_script_has_one_outermost_scope_or_none(reading: Reading) -> None:
    def kinds(contexts: int) -> list[str]:
        graph = reading(pollers(contexts).bytes(), strict=True)
        names = map(graph.type_name, range(graph.object_count))
        return [name for name in names if "timers.js" in name]

    assert kinds(1) == ["module /srv/app/timers.js"]
    assert kinds(3) == 3 * ["scope in /srv/app/timers.js"]


@pytest.mark.parametrize(("column", "kind"), [(0, "module"), (20, "scope in")])
def test_a_script_with_a_function_in_no_scope_has_none(
    column: int, kind: str, reading: Reading
) -> None:
    """The script itself is such a function, too, from its first character."""
    heap = pollers(1)
    function = heap.node("closure", "Poller", 64, [
        ("internal", "context", 2), ("internal", "shared", 3),
    ])  # fmt: skip
    heap.edge(1, "property", "Poller", function)
    heap.place(function, 7, 0, column)

    graph = reading(heap.bytes(), strict=True)

    names = map(graph.type_name, range(graph.object_count))
    assert [name for name in names if "timers.js" in name] == [
        f"{kind} /srv/app/timers.js"
    ]


def test_a_prototype_is_no_instance(reading: Reading) -> None:
    """V8 calls it by its constructor, or by that of the class it extends."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global", 16, [("property", "Kid", 2), ("property", "one", 4)])
    heap.node("closure", "Kid", 64, [("property", "prototype", 3)])
    heap.node("object", "Base", 32, [("property", "constructor", 2)])
    heap.node("object", "Kid", 32, [("property", "__proto__", 3)])
    heap.edge(1, "property", "Other", 5)
    heap.node("closure", "Other", 64, [("property", "prototype", 6)])
    heap.node("object", "Shared", 32, [("property", "constructor", 2)])

    graph = reading(heap.bytes(), strict=True)

    names = [graph.type_name(row) for row in range(graph.object_count)]
    assert names == ["global", "Function", "(prototype)", "Kid", "Function", "Shared"]
    assert value(graph, 3) == "Kid"
    (kind,) = V8.type_classes(["(prototype)"])
    assert kind == TypeClass.METADATA


def test_a_prototype_may_tell_its_constructor_by_a_getter(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("closure", "NodeError", 64, [("property", "prototype", 2)])
    heap.node("object", "Error", 32, [("property", "get constructor", 3)])
    heap.node("closure", "get", 64)

    graph = reading(heap.bytes(), strict=True)

    assert graph.type_name(1) == "(prototype)"


def test_what_emitters_have_for_their_listeners_is_no_type(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", at, at) for at in range(1, 7)])
    for at in range(3):
        heap.node("object", "Socket", 64, [("property", "_events", 4 + at)])
    for _ in range(3):
        heap.node("object", "Object", 32, [("property", "close", 1)])

    graph = reading(heap.bytes(), strict=True)

    assert [graph.type_name(row) for row in (0, 3, 5)] == ["Socket", "Object", "Object"]


def test_what_a_finalization_registry_passes_on_is_named(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "FinalizationRegistry", 32, [("hidden", 4, 2)])
    heap.node("hidden", "system / WeakCell", 64, [
        ("weak", "target", 4), ("hidden", 0, 1), ("hidden", 2, 3), ("hidden", 3, 5),
    ])  # fmt: skip
    heap.node("object", "Stream", 16, [("property", "owner", 4)])
    heap.node("object", "Response", 16)
    heap.node("hidden", "system / WeakCell", 64)

    graph = reading(heap.bytes(), strict=True)

    assert references(graph, by_id(graph)[number(2)]) == [
        ("target", 4, True), (None, 1, False), ("held value", 3, False),
        (None, 5, False),
    ]  # fmt: skip


def test_a_global_that_is_recorded_twice_is_one_reference(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global / ", 16, [
        ("internal", "global_proxy", 2), ("property", "done", 5),
        ("internal", "properties", 3),
    ])  # fmt: skip
    heap.node("object", "global", 16)
    heap.node("array", "(object properties)", 32, [("internal", "0", 4)])
    heap.edge(3, "internal", "1", 6)
    heap.node("hidden", "system / PropertyCell", 32, [("internal", "value", 5)])
    heap.node("object", "Done", 64)
    heap.node("hidden", "system / PropertyCell", 32, [("internal", "value", 7)])
    heap.node("object", "Lexical", 64)

    graph = reading(heap.bytes(), strict=True)
    row = by_id(graph)

    assert references(graph, row[number(4)]) == [("value", 5, True)]
    assert references(graph, row[number(6)]) == [("value", 7, False)]
    cut = CutParser(graph).cut("global.done -> Done")
    assert WhatIf(graph).freed([cut]).shallow_bytes == 64


def test_a_path_goes_through_an_accessor_of_a_global_only_if_no_other_is_as_short(
    reading: Reading,
) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global / ", 16, [
        ("property", "get process", 3), ("property", "tick", 4),
        ("internal", "global_proxy", 2),
    ])  # fmt: skip
    heap.node("object", "global", 16)
    heap.node("closure", "get process", 32, [("internal", "context", 5)])
    heap.node("closure", "tick", 32, [("internal", "context", 5)])
    heap.node("object", "process", 64)

    graph = reading(heap.bytes(), strict=True)
    row = by_id(graph)

    parent = analyse(graph).path_parent
    assert parent[row[number(5)]] == row[number(4)]


def test_what_bun_leaves_out_hangs_below_roots_that_are_not_recorded(
    reading: Reading,
) -> None:
    graph = reading(bun().bytes(), strict=True)
    metrics = analyse(graph)
    row = by_id(graph)

    assert (graph.runtime, graph.producer) == ("bun", "Bun")
    assert roots(graph)[-3:] == [
        (number(node), "not_recorded", "") for node in (6, 9, 12)
    ]
    assert alive(graph) == {int(known) for known in graph.object_id}
    assert metrics.retained_bytes[row[number(6)]] == 64
    room = "Map JSModuleEnvironment.open for about 4,096"
    assert any(room in note for note in graph.notes)


def test_what_bun_leaves_out_is_a_suspect_whose_cut_frees_it(reading: Reading) -> None:
    graph = reading(bun(4000).bytes(), strict=True)
    metrics = analyse(graph)

    (suspect, *_) = find_suspects(graph, metrics).suspects

    assert suspect.sentence.endswith(
        "are held by a Map, Set or variable, whose contents Bun does not record."
    )
    assert suspect.advice.endswith(
        "tell; it may be module-level open, a Map with room for about 4,096."
    )
    assert (suspect.object_count, suspect.retained_bytes) == (4000, 4000 * 64)
    cut = CutParser(graph).cut(suspect.cut)
    assert cut.roots.sum() == 4000


def test_what_julia_writes(reading: Reading) -> None:
    graph = reading(julia().bytes(), strict=True)

    assert (graph.runtime, graph.producer) == ("", "Julia")
    assert graph.object_id.tolist() == [0x7F0000001000, 0x7F01, 0x7F02, 0x7F03]
    assert [graph.type_name(row) for row in range(4)] == [
        "Task", "Vector{Any}", "Main.Order", "(String)",
    ]  # fmt: skip
    assert [graph.field_name(at) for at in range(3)] == [None, "[1]", "name"]
    assert analyse(graph).retained_bytes.tolist() == [445, 69, 29, 13]


def test_vectors_that_julia_does_not_root_are_alive(reading: Reading) -> None:
    heap = julia()
    heap.node("jl_array_t", "Vector{Any}", 40, [("element", 1, 6)], number=0x7F04)
    heap.node("object", "Main.Order", 16, number=0x7F05)
    graph = reading(heap.bytes(), strict=True)

    assert roots(graph)[-1] == (0x7F04, "not_recorded", "")
    assert analyse(graph).retained_bytes.tolist() == [445, 69, 29, 13, 56, 16]


def test_what_a_file_lacks_that_is_cut_has_no_root(reading: Reading) -> None:
    data = bun().bytes()
    graph = reading(data[: data.index(b'"strings"')])

    assert "truncated" in graph.incomplete
    assert not (graph.root_kind == RootKind.NOT_RECORDED).any()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 4096])
def test_the_pieces_of_a_file_do_not_matter(reading: Reading, size: int) -> None:
    data = program().bytes()

    graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]

    assert same(graph, reading(data))
    assert graph.values is not None
    whole = reading(data).values
    assert whole is not None
    assert graph.values.between(0, 99)[1] == whole.between(0, 99)[1]


@pytest.mark.slow(every=6)
@pytest.mark.parametrize(
    "text",
    [
        "plain", "", 'a "quote" and \\ and \t', "é", "Ā", "\U0001f600", "\ud800",
        "\udc00x", "\x00\x7f",
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_escaped", [True, False])
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_strings_are_read_whole_however_they_are_written(
    text: str, is_escaped: bool, size: int
) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("string", text, 16)
    document = json.dumps(heap.document(), ensure_ascii=is_escaped)
    data = document.encode("utf-8", "surrogatepass")

    graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]

    shown = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert value(graph, 1) == shown
    assert graph.length is not None
    assert graph.length[0] == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_invalid_utf8_and_long_strings_do_no_harm(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "NAME", 16, [("property", "p", 2)])
    heap.node("string", "TEXT", 16)
    data = heap.bytes().replace(b"NAME", b"\xff\xc3(" + b"n" * 9000)

    graph = reading(data.replace(b"TEXT", b"a\x80\xf0\x9f" + b"t" * 9000))

    assert graph.type_name(0).startswith("\ufffd\ufffd(nnn")
    assert len(graph.type_name(0)) < 4100
    assert value(graph, 2) is not None


@pytest.mark.slow
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused(
    reading: Reading,
) -> None:
    data = program().bytes()
    read_whole = 0
    for end in cuts(14, len(data) - 1, every=29):
        with pytest.raises(DumpError, match=r"byte \d+"):
            reading(data[:end], strict=True)
        try:
            graph = reading(data[:end])
        except DumpError:
            assert end < len(data) // 2
            continue
        read_whole += 1
        analyse(graph)
        assert graph.incomplete, end
        assert any(name.startswith("truncated_") for name in warnings(graph))
    assert read_whole


def changed(**parts: Any) -> bytes:  # noqa: ANN401
    return written(program().document() | parts)


def faulty(what: str) -> bytes:
    """Files that contradict themselves."""
    data, document = program().bytes(), program().document()
    nodes, edges = document["nodes"], document["edges"]
    meta = document["snapshot"]["meta"]
    return {
        "two": data + data,
        "nodes": changed(nodes=nodes[:-1]),
        "no nodes": changed(nodes=[]),
        "edges": changed(edges=edges[:-3]),
        "more edges": changed(edges=edges + edges[-3:]),
        "to_node": changed(edges=[*edges[:-1], edges[-1] + 1]),
        "to nobody": changed(edges=[*edges[:-1], 10**9]),
        "kind": changed(nodes=[99, *nodes[1:]]),
        "edge kind": changed(edges=[99, *edges[1:]]),
        "size": changed(nodes=[*nodes[:3], 2**60, *nodes[4:]]),
        "negative": changed(nodes=[*nodes[:3], -1, *nodes[4:]]),
        "digits": changed(nodes=[*nodes[:2], 10**30, *nodes[3:]]),
        "float": changed(nodes=[1.5, *nodes[1:]]),
        "nested": changed(nodes=[nodes]),
        "deep": changed(nodes=[]).replace(b'"nodes":[]', b'"nodes":' + b"[" * 100_000),
        "text": changed(nodes=["a", *nodes[1:]]),
        "numbers": changed(strings=[1, 2]),
        "no meta": changed(snapshot={"node_count": 1}),
        "meta": changed(snapshot={"meta": meta | {"node_fields": ["type", "name"]}}),
        "kinds": changed(snapshot={"meta": meta | {"node_types": [["a"] * 300]}}),
        "large meta": changed(snapshot={"meta": meta, "x": "y" * (2 << 20)}),
        "order": written({"snapshot": document["snapshot"], "edges": edges}),
        "twice": data[:-1] + b',"nodes":[]}',
        "name": b'{"snapshot":{"meta":1},' + b'"' + b"n" * 10_000,
        "colon": b'{"snapshot" {',
    }[what]


FAULTS = (
    "two", "nodes", "no nodes", "edges", "more edges", "to_node", "to nobody", "kind",
    "edge kind", "size", "negative", "digits", "float", "nested", "deep", "text",
    "numbers", "no meta", "meta", "kinds", "large meta", "order", "twice", "name",
)  # fmt: skip


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("what", FAULTS)
def test_what_contradicts_itself_is_refused_with_its_byte(
    reading: Reading, what: str
) -> None:
    reading(program().bytes())
    tracemalloc.start()
    try:
        with pytest.raises(DumpError) as caught:
            reading(faulty(what))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert caught.value.offset is not None
    assert peak < 32 << 20


def test_the_byte_is_that_of_the_number(reading: Reading) -> None:
    data = program().bytes()
    at = data.index(b"]", data.index(b'"edges":['))
    start = data.rindex(b",", 0, at) + 1

    with pytest.raises(MalformedDump) as caught:
        reading(data[:start] + b"12345" + data[at:])

    assert caught.value.offset == start


def test_counts_and_ids_that_are_wrong_are_counted(reading: Reading) -> None:
    heap = program()
    heap.nodes[10]["id"] = number(9)
    document = heap.document()
    document["snapshot"]["node_count"] = 7

    graph = reading(written(document))

    assert warnings(graph) == {"wrong_node_count": 1, "repeated_object": 1}
    assert graph.object_count == 21


def test_strings_that_a_file_lacks_are_not_made_up(reading: Reading) -> None:
    document = program().document()
    document["strings"] = document["strings"][:5]

    graph = reading(written(document))

    assert "(name not recorded)" in graph.type_names
    assert warnings(graph) == {"missing_name": 20}
    analyse(graph)


def test_members_that_are_not_known_are_skipped(reading: Reading) -> None:
    document = program().document()
    first = document.pop("snapshot")
    more = {
        "snapshot": first, "a": 1, "b": "x]}", "c": [{"d": ["\\"]}], "e": None,
        **document,
    }  # fmt: skip

    assert same(reading(written(more)), reading(program().bytes()))


def test_other_profiles_are_named(tmp_path: Any) -> None:  # noqa: ANN401
    from ingest.readers import open_source
    from ingest.readers import read as read_any

    path = tmp_path / "a.heapsnapshot"
    path.write_bytes(b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}]}')
    with (
        open_source(str(path)) as source,
        pytest.raises(UnknownFormat, match="CPU profile"),
    ):
        read_any(source, ReadOptions(), silent)


def test_it_is_known_by_its_first_bytes() -> None:
    assert sniff(program().bytes()[:100])
    assert sniff(b' {\n "snapshot" : {')
    assert not sniff(b'{"snapshot": 1')
    assert not sniff(b'{"nodes":[')


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", "f"),
        ("/a/b/c.js", "f c.js:2:3 (/a/b)"),
        ("C:\\a\\c.js", "f c.js:2:3 (C:/a)"),
        ("node:internal/timers", "f node:internal/timers:2:3"),
        ("ext:deno_web/02_event.js", "f ext:deno_web/02_event.js:2:3"),
        ("https://a.b/c.js?v=/1", "f c.js:2:3 (https://a.b)"),
    ],
)
def test_how_a_function_is_called(script: str, expected: str) -> None:
    assert label("f", script, 2, 3) == expected


@given(st.data())
def test_no_changed_bytes_do_harm(data: st.DataObject) -> None:
    good = bytearray(program().bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(1, len(good) - 1))
        good[at] = data.draw(st.sampled_from(b'0123456789,[]{}"\\-u \xff'))
    try:
        graph = read(Pieces(bytes(good), 50), ReadOptions(), silent)  # type: ignore[arg-type]
    except DumpError:
        return
    analyse(graph)
    if graph.values is not None:
        graph.values.between(0, graph.object_count)


def test_objects_that_are_marked_as_detached_have_their_class(reading: Reading) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "Session", 24, detachedness=2)
    graph = reading(heap.bytes())
    assert graph.type_name(by_id(graph)[number(1)]) == "Session"


def stacks(graph: HeapGraph) -> dict[int, tuple[str, ...] | None]:
    """The call stack that allocated each object, by the number of its node."""
    assert graph.history is not None
    made = graph.history.allocations
    assert made is not None
    rows = zip(made.address.tolist(), made.site.tolist(), strict=True)
    of = {key: made.sites[site] for key, site in rows}
    return {int(key) // 2: of.get(int(key)) for key in graph.object_id}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_the_calls_that_allocated_objects(reading: Reading, size: int) -> None:
    pieces: Any = Pieces(tracked().bytes(), size)
    graph = read(pieces, ReadOptions(strict=True), silent)

    serve, inner = "serve app.js:7:3 (/srv)", "(anonymous) app.js:9:1 (/srv)"
    assert stacks(graph) == {
        1: None,
        2: (inner, serve),
        3: (serve,),
        4: ("<function 8>", inner, serve),
        5: (),
        6: None,
    }
    tables = HeapTables(graph, analyse(graph))
    found = (
        tables.lazy("allocation_sites").select("name", "object_count").collect().rows()
    )
    assert sorted(found) == [
        ("(anonymous) app.js:9:1 (/srv)", 1),
        ("<function 8>", 1),
        ("serve app.js:7:3 (/srv)", 1),
        ("unknown", 1),
    ]


def test_a_heap_without_tracked_allocations_has_no_sites(reading: Reading) -> None:
    heap = tracked()
    heap.functions.clear()
    graph = reading(heap.bytes(), strict=True)
    assert graph.history is None
    assert not HeapTables(graph, analyse(graph)).rows("allocation_sites")


@pytest.mark.parametrize(
    "calls",
    [
        [1, 0, 0, 0],
        [1, 0, 0, [], 0],
        [1, 0, 0, 0, 5],
        [1, 0, 0, 0, [], []],
        [[1, 0, 0, 0, []]],
        [1, 0, -1, 0, []],
        [1, 0, "a", 0, []],
        [10**30, 0, 0, 0, []],
        {"id": 1},
    ],
)
def test_a_tree_of_allocations_that_is_none_is_refused(
    reading: Reading, calls: object
) -> None:
    heap = tracked()
    heap.calls = calls  # type: ignore[assignment]
    with pytest.raises(MalformedDump, match=r"tree of allocations|should be here"):
        reading(heap.bytes())


def test_a_tree_of_any_depth_is_read_without_recursion(reading: Reading) -> None:
    deep = 100_000
    heap = tracked()
    text = "".join(f"{call},1,0,0,[" for call in range(1, deep + 1)) + "]" * deep
    data = heap.bytes().replace(
        json.dumps(heap.calls, separators=(",", ":")).encode(), f"[{text}]".encode()
    )
    found = stacks(reading(data, strict=True))
    assert found[2] == ("serve app.js:7:3 (/srv)",) * 3
    assert [len(stack or ()) for stack in found.values()] == [0, 3, 4, 9, 1, 32]
