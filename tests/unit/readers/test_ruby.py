"""The reader of Ruby's heap dumps, against files that say what they hold."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pytest

import ingest
from ingest.analysis.metrics import analyse
from ingest.errors import FINDINGS, DumpError, MalformedDump, TruncatedDump
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers.ruby.reader import read
from ingest.suspects.find import find_suspects
from tests.deep import cuts
from tests.dumps.ruby import CLASS, MODULE, OBJECT, RubyHeap, example, large_dump, shop
from tests.hints import ran
from tests.samples import SAMPLES, needs
from tests.unit.readers.shared import (
    Pieces,
    alive,
    by_id,
    references,
    root_names,
    same,
    targets,
    value,
    warnings,
)
from tests.waiting import wait_until

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph

LEAKING = Path(__file__).parents[2] / "programs/leaking_shop.rb"


def graph_of(heap: RubyHeap | bytes, size: int = 1 << 20, **options: Any) -> HeapGraph:  # noqa: ANN401
    data = heap if isinstance(heap, bytes) else heap.bytes()
    return read(Pieces(data, size), ReadOptions(**options), silent)  # type: ignore[arg-type]


def kind(graph: HeapGraph, ident: int) -> str:
    return graph.type_name(by_id(graph)[ident])


def bytes_of(graph: HeapGraph, ident: int) -> int:
    return int(graph.shallow_bytes[by_id(graph)[ident]])


def test_all_pieces_of_a_dump_make_one_graph() -> None:
    graph = graph_of(shop())

    assert (graph.format_name, graph.runtime) == ("ruby", "ruby")
    assert warnings(graph) == {"undeclared_type": 1, "missing_object": 1}
    assert graph.notes == ()
    for size in (1, 7, 100, 1000):
        assert same(graph, graph_of(shop(), size))


def test_types_are_what_ruby_calls_the_classes() -> None:
    graph = graph_of(shop())

    found = {ident: kind(graph, ident) for ident in by_id(graph) if ident >= 0x2000}
    assert found == {
        0x2000: "Module", 0x2100: "Class", 0x2200: "Class", 0x2300: "Class",
        0x2400: "(iclass)", 0x2500: "(imemo ment)", 0x2600: "(imemo iseq)",
        0x2700: "Class", 0x2800: "String", 0x2900: "String",
        0x3000: "Array", 0x3100: "Shop::Order", 0x3110: "Shop::Order",
        0x3120: "Object", 0x3200: "(data objecttracing/allocation_info_tracer)",
        0x3300: "Proc", 0x3310: "(imemo env)", 0x3400: "Hash", 0x3500: "String",
        0x3510: "String", 0x3520: "String", 0x3530: "String", 0x3540: "String",
        0x3600: "(array)", 0x3610: "<type 0x9000>", 0x9000: "<missing>",
    }  # fmt: skip
    described = graph.type_object
    assert described is not None
    row = int(described[graph.type_names.index("Shop::Order")])
    assert graph.object_id[row] == 0x2100


def test_an_instance_of_a_singleton_is_of_the_class_above_it() -> None:
    heap = shop().obj(0x4000, "OBJECT", 0x4100)
    heap.module(0x4100, "", singleton=True, superclass=0x4200)
    heap.obj(0x4200, "ICLASS", 0x2000, superclass=0x2100)

    graph = graph_of(heap)
    assert kind(graph, 0x4000) == "Shop::Order"
    assert value(graph, 0x4100) == "#<Class:#<Shop::Order>>"


def test_a_class_without_a_name_has_its_address() -> None:
    heap = shop().obj(0x4000, "OBJECT", 0x4100)
    heap.module(0x4100, "")

    assert kind(graph_of(heap), 0x4000) == "#<Class:0x4100>"


def test_names_with_halves_of_characters_are_texts() -> None:
    heap = shop()
    heap.lines.append(
        b'{"address":"0x4000", "type":"CLASS", "class":"0x1000", "name":"A\\ud83d", '
        b'"file":"\\udc00.rb", "line":3}'
    )
    heap.obj(0x4100, "OBJECT", 0x4000)

    graph = graph_of(heap)
    assert kind(graph, 0x4100) == "A\N{REPLACEMENT CHARACTER}"
    assert graph.history is not None
    assert graph.history.allocations is not None
    sites = graph.history.allocations.sites
    assert ("\N{REPLACEMENT CHARACTER}.rb:3",) in sites


def test_singletons_in_a_circle_end() -> None:
    heap = shop().obj(0x4000, "OBJECT", 0x4100)
    heap.module(0x4100, "", singleton=True, superclass=0x4100)

    assert kind(graph_of(heap), 0x4000) == "<type 0x4100>"


def test_references_have_their_names() -> None:
    graph = graph_of(shop())

    assert references(graph, 0x3000) == [
        (0x1100, "<class>"), (0x3100, "[0]"), (0x3110, "[1]"),
    ]  # fmt: skip
    assert references(graph, 0x3100) == [
        (0x2100, "<class>"), (0x3500, "@name"), (0x3600, "@tags"),
    ]  # fmt: skip
    assert references(graph, 0x3110)[1:] == [(0x3510, "@name or @tags")]
    assert references(graph, 0x2000) == [
        (MODULE, "<class>"), (0x3000, "(constant)"), (0x2800, "(file)"),
        (0x2100, "(constant)"), (0x2800, "(file)"), (0x2800, "(file)"),
        (0x2900, "(internal)"),
    ]  # fmt: skip
    assert references(graph, 0x2100) == [
        (0x2200, "<class>"), (OBJECT, "<superclass>"), (0x2500, "(method)"),
    ]  # fmt: skip
    assert references(graph, 0x2300) == [
        (CLASS, "<class>"), (OBJECT, "<superclass>"), (0x3400, "@cache"),
    ]  # fmt: skip
    assert references(graph, 0x3530)[1:] == [(0x3510, None)]


def test_a_method_keeps_its_class_and_other_internals_do_not() -> None:
    heap = shop().obj(0x4000, "IMEMO", 0x2100, imemo_type="callcache")
    heap.obj(0x4010, "IMEMO", 8, imemo_type="cref")
    graph = graph_of(heap)

    assert targets(graph, by_id(graph)[0x2500]) == [0x2100, 0x2600]
    assert targets(graph, by_id(graph)[0x4000]) == []
    assert targets(graph, by_id(graph)[0x4010]) == []


def test_without_shapes_variables_have_no_names() -> None:
    heap = shop()
    heap.lines = [line for line in heap.lines if b"SHAPE" not in line]
    graph = graph_of(heap)

    assert references(graph, 0x3100)[1:] == [(0x3500, None), (0x3600, None)]
    assert references(graph, 0x2300)[2] == (0x3400, "(variable)")
    assert "3.2" in graph.notes[0]


def test_shapes_in_a_circle_end() -> None:
    heap = shop()
    for ident, parent in ((10, 11), (11, 10), (12, 12)):
        heap.line(
            address=0x99, type="SHAPE", id=ident, parent_id=parent, edge_name="@a"
        )
        heap.obj(0x4000 + ident * 8, "OBJECT", 0x2100, 0x3500, shape_id=ident)

    assert references(graph_of(heap), 0x4060)[1] == (0x3500, "@a")


def test_values_are_texts_names_and_lines() -> None:
    graph = graph_of(shop())

    assert value(graph, 0x3500) == 'a "quoted" näme\n'
    assert value(graph, 0x3510) == "ключ 🔑"
    assert value(graph, 0x3540) == "a\N{REPLACEMENT CHARACTER}é🔑/"
    assert [value(graph, one) for one in (0x3520, 0x3530)] == [None, None]
    assert value(graph, 0x2100) == "Shop::Order"
    assert value(graph, 0x2200) == "#<Class:Shop::Order>"
    assert value(graph, 0x2700) == "#<Class:#<Object>>"
    assert value(graph, 0x3300) == "block in shop.rb:9"


@pytest.mark.parametrize("letter", ["x", "é", "ж", "🔑"])
def test_a_long_text_is_cut_and_has_a_digest(letter: str) -> None:
    heap = shop().text(0x4000, letter * 64)
    for i in range(2):
        heap.text(0x4100 + i * 40, letter * 300 + str(i))
    graph = graph_of(heap)

    assert value(graph, 0x4000) == letter * 64
    one, two = (str(value(graph, 0x4100 + i * 40)) for i in range(2))
    assert one[:133] == two[:133] == letter * 128 + "... #"
    assert one != two
    assert len(one) == len(two) == 128 + 17


def test_sizes_are_those_of_memory_or_else_of_slots() -> None:
    heap = shop().text(0x4000, "huge", memsize=1 << 60)
    graph = graph_of(heap)

    sizes = [bytes_of(graph, one) for one in (0x3100, 0x3110, 0x3120, 0x4000)]
    assert sizes == [40, 40, 80, 0]
    assert warnings(graph)["size_out_of_range"] == 1
    assert graph.length is not None
    lengths = [int(graph.length[by_id(graph)[one]]) for one in (0x3000, 0x3400, 0x3500)]
    assert lengths == [2, 1, -1]


def test_roots_are_of_their_kinds() -> None:
    graph = graph_of(shop())

    kinds = [root_names(graph, one) for one in (OBJECT, 0x3100, 0x3200, 0x3300)]
    assert kinds == [
        ["internal root"],
        ["local root"],
        ["static root"],
        ["runtime root blocks of at_exit"],
    ]
    assert 0x3540 not in alive(graph)
    assert 0x3610 not in alive(graph)


def test_allocations_are_sites_and_identities() -> None:
    graph = graph_of(shop())

    assert graph.history is not None
    made = graph.history.allocations
    assert made is not None
    found = dict(zip(made.address.tolist(), made.site.tolist(), strict=True))
    assert {at: made.sites[site] for at, site in found.items()} == {
        0x2100: ("shop.rb:2",),
        0x3100: ("shop.rb:7 in new",),
        0x3110: ("shop.rb:7 in new",),
        0x3300: ("shop.rb:9 in new",),
    }
    assert graph.identity_hash is not None
    known = [int(graph.identity_hash[by_id(graph)[one]]) for one in (0x3100, 0x3500)]
    assert known[0] > 0
    assert known[1] == 0


def test_an_address_that_is_used_again_is_another_object() -> None:
    one, two = (
        graph_of(shop().text(0x4000, "a", file="a.rb", line=1, generation=number))
        for number in (3, 4)
    )
    assert one.identity_hash is not None
    assert two.identity_hash is not None
    row = by_id(one)[0x4000]
    assert one.identity_hash[row] != two.identity_hash[row]
    assert (one.identity_hash[:row] == two.identity_hash[:row]).all()


def test_without_tracing_a_note_says_so() -> None:
    graph = graph_of(RubyHeap().root("vm", OBJECT).core())

    assert graph.history is None
    assert graph.identity_hash is None
    assert "not traced" in graph.notes[0]


MALFORMED = [
    b"[]",
    b"{",
    b"nothing",
    b"{}",
    b'{"type":"STRING"}',
    b'{"address":"0x4000"}',
    b'{"address":"0x0", "type":"STRING"}',
    b'{"address":16384, "type":"STRING"}',
    b'{"address":"4000", "type":"STRING"}',
    b'{"address":"0x", "type":"STRING"}',
    b'{"address":"0x10000000000000000", "type":"STRING"}',
    b'{"address":"0x4000", "type":7}',
    b'{"address":"0x4000", "type":"STRING", "memsize":"8"}',
    b'{"address":"0x4000", "type":"STRING", "memsize":-8}',
    b'{"address":"0x4000", "type":"STRING", "memsize":1.5}',
    b'{"address":"0x4000", "type":"STRING", "value":["a"]}',
    b'{"address":"0x4000", "type":"STRING", "value":"a',
    b'{"address":"0x4000", "type":"STRING", "value":"a\\"}',
    b'{"address":"0x4000", "type":"STRING", "references":"0x10c0"}',
    b'{"address":"0x4000", "type":"STRING", "references":["0x10c0"}',
    b'{"address":"0x4000", "type":"STRING", "references":["0x10c0",]}',
    b'{"address":"0x4000", "type":"STRING", "references":["0x10c0" "0x10c0"]}',
    b'{"address":"0x4000", "type":"STRING", "references":[4096]}',
    b'{"address":"0x4000", "type":"STRING", "flags":{"old":true}',
    b'{"address":"0x4000", "type":"STRING", "flags":}',
    b'{"address":"0x4000", "type":"STRING"} {}',
    b'{"address":"0x4000" "type":"STRING"}',
    b'{"address" "0x4000", "type":"STRING"}',
    b'{"address":"0x4000", "type":"STRING",}',
    b'{"type":"ROOT", "references":["0x10c0"]}',
    b'{"type":"ROOT", "root":["vm"]}',
    b'{"address":"0x4000", "type":"SHAPE"}',
    b'{"address":"0x4000", "type":"CLASS", "singleton":1}',
    b'{"address":"0x4000", "type":"STRING", "x":' + b"[" * 100_000,
]


@pytest.mark.parametrize("line", MALFORMED, ids=range(len(MALFORMED)))
def test_a_line_that_is_no_record_is_skipped_and_counted(line: bytes) -> None:
    heap = shop()
    whole = graph_of(heap)
    heap.lines.insert(12, line)
    graph = graph_of(heap)

    found = warnings(graph)
    assert found.pop("malformed_record") == 1
    assert found.pop("unread_bytes") == len(line) + 1
    assert found == warnings(whole)
    (told,) = (one for one in graph.irregularities if one.kind == "malformed_record")
    assert told.line == 13
    assert graph.object_id.tolist() == whole.object_id.tolist()
    assert graph.ref_target.tolist() == whole.ref_target.tolist()
    with pytest.raises(MalformedDump, match="line 13"):
        graph_of(heap, strict=True)


def test_null_is_as_if_it_were_not_there() -> None:
    heap = RubyHeap().root("vm", OBJECT).core()
    for key in ("name", "memsize", "class", "references", "file", "unknown"):
        heap.lines.append(
            b'{ "address" : "0x%x" ,\t"type":"STRING", "%s" : null } \r'
            % (0x4000 + len(heap.lines), key.encode())
        )
    heap.lines.append(b"  ")

    assert set(warnings(graph_of(heap))) == set()


@pytest.mark.parametrize("cut", cuts(1, len(example()), every=97))
def test_a_file_that_is_cut_anywhere(cut: int) -> None:
    data = example()[:cut]
    is_whole = data.endswith(b"\n") or example()[cut : cut + 1] == b"\n"
    if not any(b'"CLASS"' in line and _is_json(line) for line in data.splitlines()):
        with pytest.raises(DumpError):
            graph_of(data)
        return
    graph = graph_of(data, 100)
    assert ("truncated_line" in warnings(graph)) == (not is_whole)
    if not is_whole:
        assert "ends too early" in graph.incomplete
        with pytest.raises((TruncatedDump, MalformedDump)):
            graph_of(data, strict=True)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_an_address_that_repeats_is_dropped_with_all_that_it_has() -> None:
    whole = graph_of(shop())
    heap = shop()
    for line in list(heap.lines[4:]):
        heap.lines.insert(4, line)  # in the other order
    heap.lines = [*shop().lines[:20], *heap.lines]
    graph = graph_of(heap)

    assert warnings(graph)["repeated_object"] > whole.object_count
    assert set(by_id(graph)) == set(by_id(whole))
    for ident in (0x3000, 0x3100, 0x3110, 0x2000, 0x2300):
        assert references(graph, ident) == references(whole, ident)
        assert kind(graph, ident) == kind(whole, ident)
    for ident in (0x2100, 0x2200, 0x3300, 0x3500, 0x3510):
        assert value(graph, ident) == value(whole, ident)


def test_a_file_without_objects_is_refused() -> None:
    for heap in (
        RubyHeap().root("vm", 0x1000),
        RubyHeap().line(type="ROOT", root="vm"),
    ):
        with pytest.raises(DumpError, match="no objects"):
            graph_of(heap)


def test_tables_of_texts_types_and_sites_grow() -> None:
    heap = RubyHeap().core()
    count = 5000
    for i in range(1, count):
        site = {
            "file": f"file{i}.rb",
            "line": i,
            "method": f"method{i}",
            "generation": 1,
        }
        heap.module(0x100000 + i * 40, f"C{i}")
        heap.obj(0x500000 + i * 40, "OBJECT", 0x100000 + i * 40, **site)
    graph = graph_of(heap, 60_000)

    assert graph.type_names[-1] == f"C{count - 1}"
    rows = by_id(graph)
    for i in range(1, count):
        assert graph.type_name(rows[0x500000 + i * 40]) == f"C{i}"
    assert graph.history is not None
    made = graph.history.allocations
    assert made is not None
    told = [made.sites[site][0] for site in made.site.tolist()]
    assert told == [f"file{i}.rb:{i} in method{i}" for i in range(1, count)]


def _twin(data: bytes) -> tuple[list[int], list[int], list[list[int]]]:
    """Addresses, sizes and references as plain Python reads them."""
    ids, sizes, held = [], [], []
    for line in data.splitlines():
        one = json.loads(line)
        if one["type"] in ("ROOT", "SHAPE"):
            continue
        ids.append(int(one["address"], 16))
        sizes.append(one["memsize"])
        of = [one["class"]] if "class" in one else []
        held.append([int(ref, 16) for ref in of + one.get("references", [])])
    return ids, sizes, held


def test_it_reads_what_plain_json_says() -> None:
    data = large_dump(400, 1200)
    graph = graph_of(data, 5000)
    ids, sizes, held = _twin(data)

    assert warnings(graph) == {}
    assert graph.object_id.tolist() == ids
    assert graph.shallow_bytes.tolist() == sizes
    assert [targets(graph, row) for row in range(len(ids))] == held


FARM = SAMPLES / "ruby/farm-ruby31.jsonl.gz"


@needs(FARM)
def test_a_dump_by_ruby_has_the_counts_of_its_readme() -> None:
    data = gzip.decompress(FARM.read_bytes())
    lines = [json.loads(line) for line in data.splitlines()]
    graph = graph_of(data)

    assert (len(lines), graph.object_count) == (7055, 7051)
    named = sum(len(line.get("references", ())) for line in lines)
    classes = sum(name == "<class>" for name in _fields(graph))
    recorded = graph.reference_count - classes + len(graph.root_object)
    assert named == recorded == 10_892
    assert warnings(graph) == {}
    rows = by_id(graph)
    objects = [int(one["address"], 16) for one in lines if one["type"] == "OBJECT"]
    assert len(objects) == 208
    found = {kind(graph, ident) for ident in objects}
    assert {"Animal", "Cow"} <= found
    broken = [int(one["address"], 16) for one in lines if one.get("broken")]
    assert [value(graph, one) for one in broken] == [None]
    assert int(graph.shallow_bytes.sum()) == sum(
        one.get("memsize", 40) for one in lines if "address" in one
    )
    assert len(rows) == graph.object_count


def _fields(graph: HeapGraph) -> list[str | None]:
    return [graph.field_name(at) for at in range(graph.reference_count)]


def leak(shape: int) -> RubyHeap:
    """An array that a constant refers to, and a class-level cache."""
    heap = shop()
    many = list(range(0x100000, 0x100000 + 64 * 2000, 64))
    heap.module(
        0x8000, "App", 0x8100, 0x2800, of=MODULE, kind="MODULE"
    ).obj(0x8100, "ARRAY", 0x1100, *many, length=len(many))  # fmt: skip
    heap.module(0x8200, "App::User", OBJECT).module(0x8300, "App::Session", OBJECT)
    heap.module(0x8400, "App::Cache", OBJECT, 0x8500, shape_id=shape)
    heap.root("vm", 0x8000, 0x8200, 0x8300, 0x8400)
    for ident in many:
        heap.obj(ident, "OBJECT", 0x8200)
    others = [ident + 32 for ident in many]
    heap.obj(0x8500, "HASH", 0x1140, *others, size=len(others))
    for ident in others:
        heap.obj(ident, "OBJECT", 0x8300)
    return heap


@pytest.mark.parametrize(
    ("shape", "words"),
    [(3, "@cache of App::Cache"), (99, "a class-level variable of App::Cache")],
)
def test_holders_are_constants_and_class_level_variables(
    shape: int, words: str
) -> None:
    graph = graph_of(leak(shape))

    told = [one.sentence for one in find_suspects(graph, analyse(graph)).suspects]
    assert any("2,000 User" in one and "a constant of App" in one for one in told)
    assert any("2,000 Session" in one and words in one for one in told)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("ruby") is None, reason="heaps by Ruby: it is not here"
)
def test_the_leaks_of_a_program_are_named(tmp_path: Path) -> None:
    path = tmp_path / "moment"
    # By its name alone: tables fold a path where the width of a terminal ends.
    words = ["ruby", "--disable-gems", LEAKING.name, str(path)]
    subprocess.run(words, check=True, timeout=120, cwd=LEAKING.parent)
    dumps = [f"{path}{moment}.jsonl" for moment in (1, 2, 3)]

    _, screen = ran(["info", dumps[2]])
    screen = " ".join(screen.split())
    for what, holder in (
        ("3,000 Event", "variable"),
        ("3,000 User", "variable"),
        ("3,000 Price", "variable"),
        ("3,000 Order", "constant"),
    ):
        at = screen.index(f"{what} (")
        assert holder in screen[at : at + 200]
    assert "leaking_shop.rb:46 in" in screen
    code, text = ran(["compare", *dumps])
    assert code == 0
    assert "1,000 → 2,000 → 3,000" in text
    code, text = ran(["check", dumps[0], dumps[2]])
    assert code == FINDINGS
    assert "Order" in text
    assert _survivors(dumps)["Shop::Order"] == 1000
    _, text = ran(["query", "allocation-files", "--in", dumps[2]])
    assert "(program)" in text
    words = ["query", "allocation-files", "-p", "library=(program)", "--in", dumps[2]]
    assert "leaking_shop.rb" in ran(words)[1]


@pytest.mark.skipif(
    shutil.which("ruby") is None, reason="heaps by Ruby: it is not here"
)
def test_a_program_writes_its_heap_at_a_signal_as_the_page_says(tmp_path: Path) -> None:
    page = (Path(ingest.__file__).parent / "readers/README.md").read_text("utf-8")
    (handler,) = re.findall(r"```ruby\n(.*?)```", page, re.DOTALL)
    handler = handler.replace('"/tmp/', f'"{tmp_path}/')
    program = "class Order; end\nKEPT = Array.new(1000) { Order.new }\n"
    program = f"{handler}\n{program}puts 1\n$stdout.flush\ngets"
    with subprocess.Popen(
        ["ruby", "--disable-gems", "-e", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGUSR2)
        wait_until(lambda: bool(list(tmp_path.iterdir())))
        (path,) = tmp_path.iterdir()
        of_program = psutil.Process(running.pid)
        wait_until(lambda: str(path) not in str(of_program.open_files()))
        running.kill()
    graph = graph_of(path.read_bytes())
    types = [graph.type_name(row) for row in range(graph.object_count)]

    assert path.name.startswith(f"heap-{running.pid}-")
    assert types.count("Order") == 1000


def _survivors(dumps: list[str]) -> dict[str, int]:
    """Objects allocated between the first two dumps that are in the third, by type."""
    first, second, third = (graph_of(Path(dump).read_bytes()) for dump in dumps)
    assert first.identity_hash is not None
    assert second.identity_hash is not None
    assert third.identity_hash is not None
    made = np.setdiff1d(second.identity_hash, first.identity_hash)
    rows = np.flatnonzero(np.isin(third.identity_hash, made))
    names, counts = np.unique(
        [third.type_name(row) for row in rows.tolist()], return_counts=True
    )
    return dict(zip(names.tolist(), counts.tolist(), strict=True))
