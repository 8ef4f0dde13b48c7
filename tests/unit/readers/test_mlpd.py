"""The reader of logs of Mono's profiler, against what their writers say."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ingest.errors import FINDINGS, DumpError, MalformedDump, TruncatedDump
from ingest.heap.graph import RootKind
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers.mlpd.reader import parts, read, read_all
from tests.deep import cuts
from tests.dumps import mlpd
from tests.dumps.mlpd import (
    CLASS,
    HEAP,
    LIST,
    ORDER,
    STACK,
    STACKS,
    Buffer,
    classes,
    example,
    log,
    shop,
    vtable,
)
from tests.hints import ran
from tests.samples import SAMPLES, needs
from tests.unit.readers.shared import (
    Pieces,
    references,
    root_names,
    same,
    warnings,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph

FORMATS = range(13, 18)
REPORTED = SAMPLES / "mlpd/farm-heapshot-mono68.mlpd"
MOVED = SAMPLES / "mlpd/farm-roots-moves-mono68.mlpd"


def graph_of(data: bytes, size: int = 1 << 20, **options: Any) -> HeapGraph:  # noqa: ANN401
    return read(Pieces(data, size), ReadOptions(**options), silent)  # type: ignore[arg-type]


def both(data: bytes) -> tuple[HeapGraph, HeapGraph]:
    pending = read_all(Pieces(data, 1 << 20), ReadOptions(), silent)  # type: ignore[arg-type]
    first, last = (one.graph() for one in pending)
    return first, last


@pytest.mark.parametrize("version", FORMATS)
def test_heapshots_are_parts(version: int) -> None:
    first, last = both(log(*shop(version), version=version))

    assert (first.format_name, first.runtime) == ("mlpd", "dotnet")
    assert (first.object_count, last.object_count) == (302, 602)
    assert (first.missing_count, last.missing_count) == (0, 0)
    assert first.shallow_bytes.sum() == 40 + 8032 + 150 * 64
    assert Counter(map(first.type_name, range(302))) == {
        mlpd.NAMES[LIST]: 1, "System.Object[]": 1, "Shop.Order": 150,
        "System.String": 150,
    }  # fmt: skip
    assert first.producer.endswith("linux x86-64")
    assert first.part is not None
    assert [part.number for part in first.other_parts] == [1]
    assert warnings(first) == warnings(last) == {}
    assert first.notes == last.notes == ()


def test_all_pieces_of_a_log_make_one_graph() -> None:
    whole = graph_of(example())

    assert warnings(whole) == {"other_heap_dump": 1}
    for size in (1, 7, 1000):
        assert same(whole, graph_of(example(), size))


def test_a_part_is_read_alone_as_with_the_others() -> None:
    alone = [graph_of(example(), part=number) for number in (0, 1)]

    for one, other in zip(alone, both(example()), strict=True):
        assert same(one, other)
        assert one.identity_hash is not None
        assert other.identity_hash is not None
        assert np.array_equal(one.identity_hash, other.identity_hash)
    told = parts(Pieces(example(), 100), silent)  # type: ignore[arg-type]
    assert [(part.number, part.object_count) for part in told] == [(0, 302), (1, 602)]


def test_the_last_whole_heapshot_is_read() -> None:
    (_, last), data = both(example()), example()
    read_alone = graph_of(data)

    assert read_alone.part is not None
    assert (read_alone.part.number, read_alone.part.is_default) == (1, True)
    assert np.array_equal(read_alone.object_id, last.object_id)
    assert read_alone.identity_hash is not None
    assert last.identity_hash is not None
    assert np.array_equal(read_alone.identity_hash, last.identity_hash)
    begun = next(
        cut for cut in map(graph_of, (data[:-size] for size in range(300, 9000, 300)))
        if cut.part is not None and cut.other_parts
        and cut.part.number == 0
    )  # fmt: skip
    assert begun.object_count == 302


def test_references_are_of_all_pieces_by_their_offsets() -> None:
    graph = graph_of(example(), part=0)
    array = HEAP + (1000 << 24)

    assert references(graph, HEAP) == [(array, "+16")]
    held = [(HEAP + 0x10000 + 64 * at, None) for at in range(150)]
    assert references(graph, array) == held


def test_roots_are_what_the_region_around_them_is() -> None:
    graph = graph_of(example())

    assert root_names(graph, HEAP) == ["static root in Program"]
    assert root_names(graph, HEAP + 0x10000) == ["local root", "handle root"]


def test_roots_without_a_region_and_those_of_old_formats_are_of_their_kind() -> None:
    shots = [buffer for buffer in shop() if buffer.thread == 1]
    assert root_names(graph_of(log(*shots)), HEAP) == ["other root"]

    old = graph_of(log(*shop(14), version=14))
    assert root_names(old, HEAP) == ["other root"]
    assert root_names(old, HEAP + 0x10000) == ["local root"]
    assert old.root_flags.tolist() == [0, 1]


def test_an_old_format_may_have_roots_of_the_new_layout() -> None:
    buffer = Buffer(version=14).begin().region(STACKS, 8, STACK).roots((STACKS, HEAP))
    classes(buffer.obj(HEAP, CLASS + 64 * LIST, 40).end())

    graph = graph_of(log(buffer, version=14))
    assert (graph.object_count, len(graph.root_kind)) == (1, 1)
    assert warnings(graph) == {}


def test_moves_make_the_same_object_of_two_addresses() -> None:
    first, last = both(example())

    one, two = ({n: g.object_id[row] for row, n in enumerate(g.identity_hash.tolist())}
                for g in (first, last) if g.identity_hash is not None)  # fmt: skip
    assert sorted(one) == list(range(1, 303))
    assert len(one.keys() - two.keys()) == 1
    changed = {(one[n], two[n]) for n in one.keys() & two.keys() if one[n] != two[n]}
    assert changed == set()  # the array has moved, but grown: it is another one
    assert two.keys() - one.keys() == set(range(303, 604))


def test_of_moved_objects_only_those_alike_are_the_same() -> None:
    before = Buffer().begin().roots((STACKS, HEAP))
    for at in range(4):
        before.obj(HEAP + 32 * at, vtable(ORDER), 32)
    after = Buffer(began_ns=5000)
    after.moves((HEAP, HEAP + 320), (HEAP + 32, HEAP + 352))
    after.moves((HEAP + 320, HEAP + 640), (HEAP + 960, HEAP + 64))
    after.begin().roots((STACKS, HEAP + 640))
    after.obj(HEAP + 640, vtable(ORDER), 32)  # the first, moved twice
    after.obj(HEAP + 352, vtable(LIST), 32)  # of another type than the second
    after.obj(HEAP + 64, vtable(ORDER), 32)  # a new one, moved to where the third was
    after.obj(HEAP + 96, vtable(ORDER), 32)  # the fourth, where it was
    after.obj(HEAP, vtable(ORDER), 32)  # a new one, from where the first went
    after.obj(HEAP + 32, vtable(ORDER), 32, young=True)  # likewise
    after.obj(HEAP + 2048, vtable(ORDER), 32, young=True)  # pinned, or new
    classes(before.end())

    _, last = both(log(before, after.end()))
    assert last.identity_hash is not None
    assert last.identity_hash.tolist() == [1, 5, 6, 4, 7, 8, 0]


def test_without_moves_and_roots_it_says_so() -> None:
    buffer = classes(Buffer().begin().obj(HEAP, vtable(ORDER), 32).end())
    graph = graph_of(log(buffer))

    assert graph.identity_hash is None
    assert [note.split(":")[0] for note in graph.notes] == [
        "Roots are not recorded",
        "Moves of objects are not recorded, so that nothing tells which of them are "
        "the same in two heapshots",
    ]
    # What is there is alive: heapshots are taken after a collection.
    assert [RootKind(kind).label for kind in graph.root_kind.tolist()] == [
        "not_recorded"
    ]


def test_other_events_are_passed_by() -> None:
    number, name = b"\x80\1", b"name\0"
    stack = b"\2" + number * 2
    passed = {
        (0, 0): number * 3, (0, 1): number * 3 + stack, (1, 1): b"\0\1", (1, 2): number,
        (1, 4): number * 3, (1, 6): number * 3 + stack, (1, 5): number * 2,
        (1, 7): number * 2 + stack, (1, 8): b"", (1, 9): b"", (1, 10): number,
        (1, 11): number, (3, 1): number, (3, 2): number, (3, 3): number,
        (3, 4): number * 3 + name, (4, 7): number, (4, 8): number + stack,
        (4, 1): b"\0" + number * 3, (5, 7): b"\1" + number,
        (5, 8): b"\1" + number + stack, (7, 0): number + stack + stack,
        (7, 1): number * 2 + name, (7, 2): number * 3 + name,
        (7, 3): b"\2\1" + name + number * 4 + b"\x80\x80\2" + name * 2 + number * 4,
        (7, 4): b"\1\1\5\1\5" + bytes(8) + b"\1\6\0\1\6\1" + name + b"\1\2\5\0",
        (8, 1): b"\5" + number * 2 + name, (10, 0): b"\1", (10, 1): name,
    }  # fmt: skip
    buffer = Buffer()
    for (kind, more), content in passed.items():
        buffer.event(kind, more, content)
    for told in (
        b"\2" + number + name * 2, b"\3" + number * 2 + name, b"\4" + number,
        b"\5" + number, b"\6" + number * 2,
    ):  # fmt: skip
        buffer.event(2, 2, told)
    buffer.event(2, 0, b"\5" + number + name).event(8, 1, b"\1" + number * 2)
    buffer.begin().obj(HEAP, vtable(ORDER), 32).end()

    graph = graph_of(log(classes(buffer)))
    assert graph.object_count == 1
    assert warnings(graph) == {}


def test_what_cannot_be_decoded_costs_the_rest_of_its_buffer() -> None:
    one, two, three, four = shop()
    bad = Buffer(thread=5).event(9, 0, bytes(20))

    graph = graph_of(log(one, bad, two, three, four), part=0)
    assert graph.object_count == 302
    assert warnings(graph) == {"malformed_record": 1, "unread_bytes": len(bad.events)}
    with pytest.raises(MalformedDump):
        graph_of(log(one, bad, two, three, four), strict=True)


def test_types_without_a_name_have_their_address() -> None:
    graph = graph_of(log(*(one for one in shop() if one.thread == 1)), part=0)

    assert graph.type_name(0) == f"<type {vtable(LIST):#x}>"
    assert warnings(graph)["undeclared_type"] == 302


def test_a_log_that_is_cut_anywhere_is_told_so() -> None:
    data = log(*shop(many=3))
    reasons: Counter[str] = Counter()
    for size in cuts(0, len(data), every=7):
        try:
            graph = graph_of(data[:size])
        except DumpError as error:
            reasons[type(error).__name__] += 1
        else:
            assert graph.object_count <= 14
            told = warnings(graph).keys()
            assert told & {"truncated_buffer", "truncated_heap_dump", "other_heap_dump"}
        with pytest.raises((TruncatedDump, MalformedDump, DumpError)):
            graph_of(data[:size], strict=True, part=1)
    assert reasons.keys() == {"TruncatedDump", "DumpError"}


def test_other_versions_are_refused() -> None:
    with pytest.raises(DumpError, match="format 12 of Mono's log profiler is not read"):
        graph_of(log(*shop(), version=12))
    with pytest.raises(DumpError, match="the log has no heapshot; record one: mono"):
        graph_of(log(Buffer()))
    with pytest.raises(DumpError, match="has no heapshot 7 with objects"):
        graph_of(example(), part=7)


def test_leaked_orders_are_named_and_found_by_the_gate(tmp_path: Path) -> None:
    path = tmp_path / "shop.mlpd.gz"
    path.write_bytes(gzip.compress(log(*shop(many=2000))))

    _, screen = ran(["info", str(path)])
    screen = " ".join(screen.split())
    assert "3,999 Order" in screen  # of the last heapshot; one has a handle, too
    assert "The file has 2 heap dumps; compare them:" in screen
    assert "static" in screen
    assert "Program" in screen
    code, told = ran(["compare", str(path), "--json"])
    assert code == 0
    lived = {one["key"]: one for one in json.loads(told)["lives"]["types"]}
    assert lived["Shop.Order"]["survived"][0] == lived["Shop.Order"]["born"][0] == 2000
    code, told = ran(["check", str(path)])
    assert code == FINDINGS
    assert "Order" in told


@needs(REPORTED)
def test_counts_are_those_of_the_profilers_own_report() -> None:
    data = REPORTED.read_bytes()
    report = (SAMPLES / "mlpd/farm-heapshot-mono68.mprof-report.txt").read_text("utf-8")

    graphs = both(data)
    told = re.split(r"\tHeap shot \d", report)[1:]
    for graph, text in zip(graphs, told, strict=True):
        size, count = re.findall(r"size: (\d+), object count: (\d+)", text)[0]
        assert graph.object_count == int(count)
        assert graph.shallow_bytes.sum() == int(size)
        assert graph.missing_count == 0
        rows = re.findall(r"^\s+(\d+) +(\d+) +\d+ (.+?)(?: \(bytes.*)?$", text, re.M)
        assert len(rows) > 20
        found = Counter(map(graph.type_name, range(graph.object_count)))
        for _, many, name in rows:
            assert found[name] == int(many), name
    first, last = graphs
    assert first.identity_hash is not None
    assert last.identity_hash is not None
    kinds = dict(
        zip(
            first.identity_hash.tolist(), map(first.type_name, range(3128)), strict=True
        )
    )
    lasting = [row for row, n in enumerate(last.identity_hash.tolist()) if n in kinds]
    assert len(lasting) > 1100
    numbers = last.identity_hash.tolist()
    alike = [kinds[numbers[row]] == last.type_name(row) for row in lasting]
    assert alike.count(False) <= numbers.count(0)


@needs(MOVED)
def test_the_second_sample_has_its_counts() -> None:
    data = MOVED.read_bytes()

    found = [(one.object_count, int(one.shallow_bytes.sum())) for one in both(data)]
    assert found == [(1403, 279_032), (1119, 263_536)]
    assert all(one.missing_count == 0 for one in both(data))


def test_heapshots_need_not_be_in_the_order_of_their_times() -> None:
    late, early = (Buffer(began_ns=at).begin().moves((8, 16)) for at in (9000, 1000))
    for buffer in (late, early):
        buffer.obj(HEAP, vtable(ORDER), 32).end()

    data = log(classes(late), early)
    assert [one.identity_hash for one in both(data)] == [[1], [1]]
    assert graph_of(data).identity_hash == [1]
