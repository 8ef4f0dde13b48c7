"""The CLR Profiler reader: both writers, many dumps, and bad input."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump, UnknownFormat
from ingest.heap.graph import Part, SegmentKind
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import gclog
from ingest.readers.clrprofiler import pieces as clrprofiler_pieces
from ingest.readers.clrprofiler import sniff
from ingest.readers.clrprofiler.reader import read
from tests.deep import THOROUGH, sampled
from tests.dumps.clrprofiler import NATIVE, Log, large_log, program, sos_heap
from tests.dumps.gclog import Gclog
from tests.unit.readers import clrprofiler_twin
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

PROGRAM = program().bytes()
HUGE = 2**64 - 1


def small(*lines: str, end: str = "\r\n") -> bytes:
    """A log with a type, an object and a root, and these lines in the fifth place."""
    log = Log().type(1, "T").root(0x10).object(0x10, 1, 16)
    log.lines += lines
    return log.bytes(end)


def test_a_program(reading: Reading) -> None:
    graph = reading(PROGRAM)

    assert graph.format_name == "clrprofiler"
    assert graph.producer == "CLR Profiler"
    assert graph.part == Part(0, graph.object_count, is_default=True)
    assert graph.object_id.tolist() == [
        0x2000, 0x2020, 0x2050, 0x2070, 0x9000, 0x7FFF0000,
    ]  # fmt: skip
    assert graph.shallow_bytes.tolist() == [32, 48, 20, 16, 64, 0]
    assert [graph.type_name(row) for row in range(5)] == [
        "App.Cache", "App.Entry []", "System.String", "Free Space", "System.Byte []",
    ]  # fmt: skip
    assert targets(graph, 0) == [0x2020, 0x2050]
    assert targets(graph, 1) == [0x2000, 0x7FFF0000]
    assert graph.null_reference_count == 1
    assert graph.missing_count == 1
    assert warnings(graph) == {"missing_object": 1}
    assert (
        graph.irregularities[0].line
        == PROGRAM[: PROGRAM.index(b"o 0x2020")].count(b"\n") + 1
    )
    assert alive(graph) == {0x2000, 0x2020, 0x2050, 0x9000, 0x7FFF0000}


def test_roots_have_their_kinds_and_the_functions_of_their_frames(
    reading: Reading,
) -> None:
    assert roots(reading(PROGRAM)) == [
        (0x2000, "local", ".App.Program::Main"),
        (0x2050, "handle pinned", ""),
        (0x2020, "handle weak", ""),
        (0x2050, "finalizer_queue", ""),
        (0x9000, "local interior", ""),
        (0x2000, "other", ""),
    ]


def test_generations_are_those_behind_the_collection(reading: Reading) -> None:
    graph = reading(PROGRAM)

    assert graph.generation is not None
    assert graph.generation.tolist() == [2, 2, 2, 2, 3, -1]
    assert [(s.start, s.end, s.kind) for s in graph.segments] == [
        (0x2000, 0x2080, SegmentKind.GEN2), (0x9000, 0x9040, SegmentKind.LOH),
    ]  # fmt: skip


def test_a_collection_without_end_has_generations_of_its_begin(
    reading: Reading,
) -> None:
    log = Log().type(1, "T").begin(2, [(0x10, 0x100, 0x100, 1)])

    graph = reading(log.root(0x10).object(0x10, 1, 16).bytes())

    assert graph.generation is not None
    assert graph.generation.tolist() == [1]
    assert warnings(graph) == {"truncated_heap_dump": 1}


def test_nulls_of_a_repeated_record_are_dropped_with_it(reading: Reading) -> None:
    log = "t 1 0 T\nr 0x10\no 0x10 1 8 0x0\no 0x10 1 8 0x0\no 0x20 1 8 0x0 0x0\n"

    assert reading(log).null_reference_count == 3


def test_what_sos_writes(reading: Reading) -> None:
    graph = reading(sos_heap().sos_log())

    assert graph.producer == "SOS"
    assert graph.object_id.tolist() == [0x2000, 0x2020, 0x2050, 0x2070, 0x7FFF0000]
    assert graph.type_name(0) == "App.Cache<App.Key>"
    assert graph.type_name(3) == "Free"
    assert targets(graph, 0) == [0x2020, 0x2050]
    assert graph.null_reference_count == 1
    assert graph.history is None
    assert graph.collections == ()
    # Of a handle the address is told, and nobody knows what it holds.
    assert roots(graph) == [(0x2000, "other", ""), (0x2050, "other", "")]
    assert warnings(graph) == {"missing_object": 1, "root_without_object": 1}


def test_roots_by_name(reading: Reading) -> None:
    log = small(
        "s 0x10 instance App.Cache 0 App.exe",
        "s 0x10 current T 7 App.exe",
        "s 0x10 table System.Lookup<System.String, T []> 0 App.exe",
        "L 0x10 args Main App.Program 9 App.exe",
        "M App.Cache C:\\App.exe",
        "L 1 0x10",
        "s 0x10 nothing",
    )

    graph = reading(log)

    assert roots(graph)[1:] == [
        (0x10, "static", "App.Cache.instance"),
        (0x10, "local", "T.current"),
        (0x10, "static", "System.Lookup<System.String, T []>.table"),
        (0x10, "local", ".App.Program.Main args"),
    ]
    assert graph.root_owner is not None
    assert graph.owners == ("thread 7", "thread 9")
    assert graph.root_owner.tolist() == [-1, -1, 0, -1, 1]
    assert warnings(graph) == {"malformed_record": 1}


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_any_line_end(reading: Reading, end: str) -> None:
    assert same(reading(program().bytes(end)), reading(PROGRAM))


def test_numbers_tell_their_base_and_letters_may_be_large(reading: Reading) -> None:
    text = small("O 0X000000000000002A 0x1 0x10 42 0X2a\t016 -1 99").decode()

    graph = reading(text)

    assert by_id(graph) == {0x10: 0, 42: 1}
    assert targets(graph, 1) == [42, 42, 16]
    assert graph.shallow_bytes.tolist() == [16, 16]
    assert not graph.irregularities


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (b"Gr\xf6\xdfe", "Größe"),
        ("Größe".encode(), "Größe"),
        (rb"Gr\u00f6\u00dfe\\x", "Größe\\x"),
        (rb"\ud83d\ude00 []", "😀 []"),
        (rb"half \ud83d", "half �"),
        (rb"C\q\u12", r"C\q\u12"),
        (b"A<B, C>+D [] []", "A<B, C>+D [] []"),
        (b"", "<unnamed 5>"),
        (b"X" * 1023, "X" * 1023),
    ],
)
def test_names_of_types(reading: Reading, told: bytes, name: str) -> None:
    graph = reading(small("o 0x20 5 8").replace(b"t 1 0 T", b"t 5 1 " + told))

    assert graph.type_name(1) == name


def test_an_old_form_of_types_lacks_a_flag(reading: Reading) -> None:
    log = Log().type(1, "Old.Name []", None).type(2, "2nd", None).type(3, "", 1)

    graph = reading(log.root(1).object(1, 1, 1).object(2, 2, 1).object(3, 3, 1).bytes())

    assert [graph.type_name(row) for row in range(3)] == [
        "Old.Name []", "2nd", "<unnamed 3>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("f 5 App::Run void (int32 a) 0x0 0 1 0", "App::Run void (int32 a)"),
        ("f 5 <Module>::less<unsigned int>.() bool  (int, int) 0x0 0 1 0",
         "<Module>::less<unsigned int>.() bool (int, int)"),
        (r"f 5 A\ B::C\u00e9 void () 0x0 0 1 0", "A B::Cé void ()"),
        ("f 5 " + "a" * 200 + "<b" + " c" * 40 + " void () 0x0 0 1 0",
         "a" * 200 + "<b" + " c" * 27 + " c c"),
        ("f 5 Lonely", "Lonely"),
        ("f 6 Other void () 0 0 1 0", "<function 5>"),
        ("f 5", "<function 5>"),
    ],
)  # fmt: skip
def test_names_of_functions(reading: Reading, line: str, name: str) -> None:
    log = Log().type(1, "T").line(line).site(3, [5]).allocation(0x10, 3)

    graph = reading(log.root(0x10).object(0x10, 1, 16).bytes())

    assert graph.history is not None
    assert graph.history.allocations is not None
    assert graph.history.allocations.sites[0][0].startswith(name)


def three_dumps() -> Log:
    log = Log().type(1, "T")
    for many in (1, 2, 3):
        log.begin().root(0x10).root(0x10)
        for row in range(many):
            log.object(0x10 + 16 * row, 1, 16)
        log.end()
    return log


def test_the_last_of_several_dumps_is_read(reading: Reading) -> None:
    graph = reading(three_dumps().bytes())

    assert graph.object_count == 3
    assert graph.part == Part(2, 3, is_default=True)
    assert warnings(graph) == {"other_heap_dump": 2}
    assert [c.is_dump for c in graph.collections] == [False, False, True]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_another_dump_can_be_asked_for(reading: Reading, index: int) -> None:
    graph = reading(three_dumps().bytes(), part=index)

    assert graph.object_count == index + 1
    assert graph.part == Part(index, index + 1)
    assert len(graph.root_object) == 2
    assert not graph.irregularities
    assert [c.is_dump for c in graph.collections].index(True) == index
    assert graph.history is not None
    assert len(graph.history.collections) == index + 1


def test_a_dump_that_is_not_there(reading: Reading) -> None:
    log = three_dumps().begin().root(0x10).end()

    with pytest.raises(
        DumpError,
        match=r"dump 4 does not exist; choose --part from: 0 \(1 object\), 1",
    ):
        reading(log.bytes(), part=4)
    with pytest.raises(DumpError, match="heap dump 3 has no objects"):
        reading(log.bytes(), part=3)
    with pytest.raises(DumpError, match="the log has no heap dump; let the profiler"):
        reading(Log().begin().end().bytes())


def test_a_dump_that_is_cut_gives_way_to_a_whole_one(reading: Reading) -> None:
    data = three_dumps().bytes()
    cut = data[: data.rindex(b"o 0x30")] + b"o 0x30 1"

    graph = reading(cut)

    assert graph.part == Part(1, 2, is_default=True)
    assert warnings(graph) == {"truncated_line": 1, "other_heap_dump": 2}
    graph = reading(cut, part=2)
    assert graph.object_count == 2
    assert warnings(graph) == {"truncated_line": 1, "truncated_heap_dump": 1}
    with pytest.raises(TruncatedDump, match="line"):
        reading(cut, strict=True)


def test_a_dump_is_not_cut_by_other_lines_at_its_place(reading: Reading) -> None:
    log = Log().type(1, "T").root(0x10).clock(3).root(0x10).object(0x10, 1, 16)
    log.clock(4).type(2, "U").object(0x20, 2, 16)

    graph = reading(log.bytes())

    assert graph.object_count == 2
    assert len(graph.root_object) == 2
    assert not graph.irregularities


def test_objects_without_roots_are_a_dump(reading: Reading) -> None:
    graph = reading(b"o 0x10 1 16 0x10\nt 1 0 T\n")

    assert graph.object_count == 1
    assert warnings(graph) == {"objects_without_roots": 1}


def test_roots_without_kinds_count_only_alone(reading: Reading) -> None:
    log = Log().type(1, "T").plain_roots(0x10, 0, 0x20, 0x10)
    log.object(0x10, 1, 16).object(0x20, 1, 8)

    assert roots(reading(log.bytes())) == [
        (0x10, "other", ""), (0x20, "other", ""), (0x10, "other", ""),
    ]  # fmt: skip
    log.lines.insert(2, "e 0x20 3 0x0 0x5")
    assert roots(reading(log.bytes())) == [(0x20, "handle", "")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("x 1 2 3", "unknown_record"),
        ("oo 0x1 2 3", "unknown_record"),
        ("o 0x1 1", "malformed_record"),
        ("o 0x1 -1 3", "malformed_record"),
        ("o 0xg 1 3", "malformed_record"),
        ("o 0x 1 3", "malformed_record"),
        ("o 1f 1 3", "malformed_record"),
        ("o 0x12345678901234567 1 3", "malformed_record"),
        ("o 18446744073709551616 1 3", "malformed_record"),
        ("o 99999999999999999999999 1 3", "malformed_record"),
        ("o 0x9 1 140737488355328", "size_out_of_range"),
        ("o 0x9 1 -5", "size_out_of_range"),
        ("o 0x9 1 10 0x10 zz 0x10", "malformed_reference"),
        ("o 0x0 1 10", "zero_object_id"),
        ("o 0x10 1 99", "repeated_object"),
        ("o 0x9 77 10", "undeclared_type"),
        ("o 0x9 1 10 0x99", "missing_object"),
        ("t 1 0 Other", "conflicting_type"),
        ("t one Name", "malformed_record"),
        ("f one Name", "malformed_record"),
        ("i", "malformed_record"),
        ("i 99999999999999", "malformed_record"),
        ("u 0x1 0x2", "malformed_record"),
        ("v 0x1 999999999999999999", "malformed_range"),
        ("u 0x1 0xffffffffffffffff 9", "malformed_range"),
        ("b 0 0 2", "collection_without_begin"),
        ("b", "malformed_record"),
        ("b 1 0 2 0x10 5", "malformed_range"),
        ("g", "malformed_record"),
        ("! 1 0x10", "malformed_record"),
        ("a 0x10 x", "malformed_record"),
        ("n 5", "malformed_record"),
        ("n 5 99999999999", "malformed_record"),
        ("s 5 x", "malformed_reference"),
        ("s 0x10 field", "malformed_record"),
    ],
)
def test_irregularities_are_counted_and_strict_refuses(
    reading: Reading, line: str, kind: str
) -> None:
    text = small(line, "b 1 0 2", "b 0 0 2")

    graph = reading(text)

    assert warnings(graph).get(kind) == 1
    found = next(i for i in graph.irregularities if i.kind == kind)
    assert found.line == 5
    assert graph.object_id[0] == 0x10
    with pytest.raises(DumpError, match="line 5") as refused:
        reading(text, strict=True)
    assert refused.value.line == 5


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("e 0x10 9 0x0 0x0", "unknown_root_kind"),
        ("e 0x10 1 0x10 0x0", "unknown_root_flags"),
        ("e 0x10 1", "malformed_record"),
        ("e 0x99 1 0x0 0x0", "missing_object"),
        ("e zz 1 0x0 0x0", "malformed_record"),
        ("r zz", "malformed_reference"),
    ],
)
def test_irregular_roots(reading: Reading, line: str, kind: str) -> None:
    text = Log().type(1, "T").line(line).root(0x10).object(0x10, 1, 16).bytes()

    graph = reading(text)

    assert warnings(graph) == {kind: 1}
    assert graph.irregularities[0].line == 3
    with pytest.raises(DumpError, match="line 3"):
        reading(text, strict=True)


def test_a_size_of_32_bits_with_a_sign(reading: Reading) -> None:
    graph = reading(small("o 0x20 1 -2147483648"))

    assert graph.shallow_bytes.tolist() == [16, 1 << 31]


def test_known_lines_are_skipped(reading: Reading) -> None:
    graph = reading(
        small(
            "c 1 2", "z remark", "h 1 0x1 0x2 3", "j 1 0x1 3", "l 0 0x10", "L 1 0x10",
            "m 1 a b 0x4 2", "M T a b", "y 1 0x2 App", "d 1 0x2 App", "", "   ",
        ),
        strict=True,
    )  # fmt: skip

    assert graph.object_count == 1


@pytest.mark.parametrize(
    "line",
    [
        f"o {HUGE} {HUGE} 1 {HUGE}",
        f"e {HUGE} {HUGE} {HUGE} {HUGE}",
        f"t {10**19 - 1} 0 T",
        f"f {10**19 - 1} A::B void ()",
        f"n {HUGE} {2**31 - 1} {HUGE} {HUGE} {HUGE} {HUGE}",
        f"! {HUGE} {HUGE} {HUGE}",
        f"b 1 {HUGE} {HUGE} {HUGE} {HUGE} {HUGE} {HUGE}",
        f"g {HUGE} {HUGE} {HUGE}",
        f"u {HUGE} {HUGE} {HUGE}",
        f"i {HUGE}",
        f"s 0xffffffffffffffff f T {10**19 - 1} d",
        "s 0x10 a b " + "9" * 10000,
    ],
)
def test_what_a_line_claims_costs_nothing(reading: Reading, line: str) -> None:
    reading(PROGRAM)
    tracemalloc.start()
    try:
        analyse(reading(small(line)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 << 20


def test_an_absurd_sum_of_sizes_is_an_error(reading: Reading) -> None:
    lines = [f"o {i:#x} 1 140737488355327" for i in range(100, 40_000)]

    with pytest.raises(MalformedDump, match="add up"):
        reading(small(*lines))


def test_an_object_with_a_very_long_line(reading: Reading) -> None:
    many = 1_000_000

    graph = reading(b"o 0x1 1 10" + b" 0x1" * many + b"\no 0x2 1 10\n")

    assert graph.reference_count == many
    assert graph.object_count == 2


CUTTABLE = b"".join(
    line + b"\r\n" for line in PROGRAM.split(b"\r\n") if not line.startswith(b"y")
)
FIRST_OBJECT = CUTTABLE.index(b"\r\n", CUTTABLE.index(b"o 0x2000")) + 2


@pytest.mark.parametrize("length", sampled(range(len(NATIVE) + 2, len(CUTTABLE)), 53))
def test_a_truncated_file_gives_what_it_has(reading: Reading, length: int) -> None:
    kept = CUTTABLE[:length]
    if length < FIRST_OBJECT - 1:
        with pytest.raises(DumpError, match=r"no heap dump|not a dump"):
            reading(kept)
        return

    graph = reading(kept)

    whole = kept[: max(kept.rfind(b"\r"), kept.rfind(b"\n")) + 1]
    assert graph.object_count == whole.count(b"\no 0x")
    assert ("truncated_line" in warnings(graph)) is (whole != kept)
    analyse(graph)


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_pieces_may_be_cut_anywhere(reading: Reading, size: int) -> None:
    data = three_dumps().bytes() + PROGRAM
    whole = reading(data)

    graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]

    assert same(graph, whole)
    assert graph.collections == whole.collections


def test_a_large_log(reading: Reading) -> None:
    graph = reading(large_log(20_000, 50_000), strict=True)

    assert (graph.object_count, graph.reference_count) == (20_000, 50_000)
    assert len(alive(graph)) == 20_000


def test_sniffing(reading: Reading) -> None:
    sos = sos_heap().sos_log()
    types = b"".join(b"t %d 0 System.Name%d\n" % (i, i) for i in range(1, 3000))
    mine = [
        PROGRAM, sos, types + sos, PROGRAM[PROGRAM.index(b"\ne 0x") :], NATIVE.encode(),
        PROGRAM[PROGRAM.index(b"o 0x") :], b"\r\n" + PROGRAM, b"\xef\xbb\xbf" + sos,
        b"r" + b" 0x0000000000001000" * 5000, PROGRAM.decode().encode("utf-16"),
        b"o 0x1 1 1" + b" 0x10" * 20_000, small(end="\r"),
    ]  # fmt: skip
    for head in mine:
        assert sniff(head[:65536])
        assert not gclog.sniff(head[:65536])
    others = [
        Gclog().domain("x").type(1, "A").object(16, 1, 8).root(16).close("x").bytes(),
        b"t 1 System.String\nt 2 Name\no 1 1 10 2\n", b"t a1 Foo\nr 10 1 0\n",
        b"hello world\n", b"a quick brown fox\n", b"i 5\ni 6\n", b"", b"\n\n",
        b"<gcheap><types/></gcheap>", b"\0" * 100, b"x" * 100_000,
    ]  # fmt: skip
    for head in others:
        assert not sniff(head[:65536])
    with pytest.raises(UnknownFormat):
        reading(b"i 5\ni 6\n")


@given(st.sampled_from([PROGRAM, sos_heap().sos_log()]), st.data())
def test_damage_is_refused_or_read_never_worse(
    good: bytes, data: st.DataObject
) -> None:
    broken = bytearray(good)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        graph = read(Pieces(bytes(broken), 999), ReadOptions(), silent)  # type: ignore[arg-type]
    except DumpError as error:
        if "no heap dump" not in str(error):
            raise
        return
    analyse(graph)
    assert len(np.unique(graph.object_id)) == len(graph.object_id)


_NUMBERS = st.sampled_from(
    ["0", "1", "2", "-1", "0x10", "0X20", "18446744073709551615", "zz", "16"]
)
_LINES = st.builds(
    lambda letter, numbers: " ".join([letter, *numbers]),
    st.sampled_from(list("oerbuvgntfsaiL!Mxc")),
    st.lists(_NUMBERS, max_size=9),
)


@THOROUGH
@given(st.lists(_LINES, max_size=40))
def test_any_records_make_a_graph(lines: list[str]) -> None:
    text = small(*lines)

    graph = read(Pieces(text, 50), ReadOptions(), silent)  # type: ignore[arg-type]

    analyse(graph)
    assert len(np.unique(graph.object_id)) == len(graph.object_id)


_TWIN_NUMBERS = st.sampled_from(
    ["0", "1", "2", "3", "0x10", "0X20", "0x1f", "-1", "-0x5", "-7", "zz", "0x", "1f",
     "4294967296", "140737488355328", "18446744073709551615", "18446744073709551616"]
)  # fmt: skip
_TWIN_LINES = st.one_of(
    st.builds(
        lambda letter, blank, numbers: blank.join([letter, *numbers]),
        st.sampled_from(["o", "O", "o", "e", "E", "r", "b", "g", "xo", "i"]),
        st.sampled_from([" ", "  ", "\t "]),
        st.lists(_TWIN_NUMBERS, max_size=6),
    ),
    st.sampled_from(["t 1 0 A", "t 2 1 B []", "t 0x3 Old", "t x", "", " "]),
)


@THOROUGH
@given(
    st.lists(_TWIN_LINES, max_size=25),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 60),
)
def test_the_reader_agrees_with_its_twin(lines: list[str], end: str, size: int) -> None:
    """Whatever the records, and wherever the pieces of the file are cut."""
    text = "".join(line + end for line in [*lines, "o 0xf0 1 8"])
    expected = clrprofiler_twin.read(text)
    assert expected.dumps

    for index, dump in enumerate(expected.dumps):
        if not dump.objects:
            continue
        options = ReadOptions(part=index)
        pieces = Pieces(text.encode(), size)
        graph = read(pieces, options, silent)  # type: ignore[arg-type]
        told = list(dump.objects.items())
        n = graph.object_count
        assert graph.object_id[:n].tolist() == [address for address, _ in told]
        assert graph.null_reference_count == dump.nulls
        for row, (_, (kind, shallow, held)) in enumerate(told):
            name = expected.types.get(kind, f"<type {kind}>" if kind else "Free Space")
            assert graph.type_name(row) == name
            assert graph.shallow_bytes[row] == shallow
            assert targets(graph, row) == held
        wanted = []
        for address, kind_, flags in dump.held():
            # Objects do not overlap: the last one in front has it, or none.
            before = max((a for a, _ in told if a <= address), default=0)
            size_bytes = dump.objects.get(before, (0, 0, []))[1]
            inside = [before] if address < before + size_bytes else []
            if address in dump.objects or (not inside and dump.roots):
                wanted.append((address, kind_, flags))
            elif inside:
                wanted.append((before, kind_, flags | 4))
        labels = [(address, words.split()[0]) for address, words, _ in roots(graph)]
        assert labels == [(address, kind_) for address, kind_, _ in wanted]
        assert graph.root_flags.tolist() == [flags for *_, flags in wanted]
        found = warnings(graph)
        for kind_ in expected.odd:
            if kind_ != "malformed_record":
                assert found.get(kind_, 0) == expected.odd[kind_], kind_


def test_collections_are_kept_up_to_a_number(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clrprofiler_pieces, "MOST_EVENTS", 5)
    data = three_dumps().bytes()

    for size in (30, 100_000):
        graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]
        assert len(graph.collections) == 3
        assert warnings(graph)["too_many_collections"] == 1
