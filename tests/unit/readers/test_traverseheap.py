"""The reader of SOS's heap dumps in XML: both writers, and bad input."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import clrprofiler, gclog
from ingest.readers.traverseheap import sniff
from ingest.readers.traverseheap.reader import read
from tests.deep import THOROUGH, sampled
from tests.dumps.clrprofiler import large_xml, sos_heap
from tests.unit.readers.shared import Pieces, alive, roots, same, targets, warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph

    Reading = Callable[..., HeapGraph]

NEW = sos_heap().sos_xml()
OLD = sos_heap().sos_xml_of_old()


def small(more: str = "", objects: str = "") -> str:
    """A dump with a type and an object; what is put in stands in lines 3 and 6."""
    return (
        '<gcheap><types>\n<type id="1" name="T"/>\n'
        f'{more}\n</types><roots><root kind="stack" address="0x10"/></roots><objects>\n'
        '<object address="0x10" typeid="1" size="16"><member address="0x10"/>'
        "</object>\n"
        f"{objects}\n</objects></gcheap>\n"
    )


@pytest.mark.parametrize("data", [NEW, OLD], ids=["new", "old"])
def test_what_sos_writes(reading: Reading, data: bytes) -> None:
    graph = reading(data)

    assert graph.format_name == "traverseheap"
    assert graph.producer == "SOS"
    assert graph.part is None
    assert graph.object_id.tolist() == [0x2000, 0x2020, 0x2050, 0x2070, 0x7FFF0000]
    assert graph.shallow_bytes.tolist() == [32, 48, 20, 16, 0]
    assert [graph.type_name(row) for row in range(4)] == [
        "App.Cache<App.Key>", "App.Entry[]", "System.String", "Free",
    ]  # fmt: skip
    assert targets(graph, 0) == [0x2020, 0x2050]
    assert targets(graph, 1) == [0x2000, 0x7FFF0000]
    assert graph.null_reference_count == 1
    assert roots(graph) == [(0x2000, "local", ""), (0x2050, "finalizer_queue", "")]
    assert warnings(graph) == {"missing_object": 1, "root_without_object": 1}
    assert alive(graph) == {0x2000, 0x2020, 0x2050, 0x7FFF0000}


def test_it_says_what_the_log_of_the_same_heap_says(reading: Reading) -> None:
    one, two = reading(NEW), reading(sos_heap().sos_log())

    for name in ("object_id", "type_index", "shallow_bytes", "ref_start", "ref_target"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert one.type_names == two.type_names


def test_what_only_the_old_one_tells(reading: Reading) -> None:
    graph = reading(
        small(
            objects='<object address="0x20" typeid="1" size="-2147483648">'
            '<loaderallocator address="0x10"/>'
            '<member address="0x20" dependentHandle="1"/>'
            '<member address="0x10"/></object>'
        )
    )

    assert targets(graph, 1) == [0x10, 0x20, 0x10]
    assert graph.ref_field is not None
    assert graph.field_names == ("(ephemeron)",)
    assert [row >= 0 for row in graph.ref_field.tolist()] == [False, False, True, False]
    assert graph.shallow_bytes.tolist() == [16, 1 << 31]
    assert warnings(graph) == {"size_out_of_range": 1}


def test_names(reading: Reading) -> None:
    heap = sos_heap()
    heap.types = {2: "Größe<A, B>&\"'", 3: "\x02obfuscated\x1f", 4: "😀"}

    for data in (heap.sos_xml(), b"\xef\xbb\xbf" + heap.sos_xml("utf-8")):
        graph = reading(data)
        assert graph.type_names[:3] == ("Größe<A, B>&\"'", "?obfuscated?", "😀")
    heap.types[4] = ""
    graph = reading(heap.sos_xml_of_old())
    assert graph.type_names == (
        "Größe<A, B>&\"'", "?obfuscated?", "<unnamed 4>", "<type 1>",
    )  # fmt: skip
    assert warnings(graph)["undeclared_type"] == 1
    assert reading(heap.sos_xml().decode().encode("utf-16")).type_names[0] == (
        "Größe<A, B>&\"'"
    )


@pytest.mark.parametrize(
    ("more", "objects", "kind"),
    [
        ("<what/>", "", "unknown_element"),
        ('<type id="1" name="U"/>', "", "conflicting_type"),
        ('<type id="x" name="U"/>', "", "malformed_element"),
        ('<type id="-1" name="U"/>', "", "malformed_element"),
        ('<type name="U"/>', "", "malformed_element"),
        ('<root kind="other" address="0x10"/>', "", "unknown_root_kind"),
        ('<root kind="stack" address="0x99"/>', "", "root_without_object"),
        ('<root kind="stack"/>', "", "malformed_element"),
        ('<root kind="stack" address="-1"/>', "", "malformed_element"),
        ('<member address="0x10"/>', "", "member_outside_object"),
        ("", '<object address="0x10" typeid="1" size="8"/>', "repeated_object"),
        ("", '<object address="0x0" typeid="1" size="8"/>', "zero_object_id"),
        ("", '<object address="zz" typeid="1" size="8"/>', "malformed_element"),
        ("", '<object address="0x20" size="8"/>', "malformed_element"),
        ("", '<object address="0x20" typeid="7" size="8"/>', "undeclared_type"),
        ("", f'<object address="{2**64:#x}" typeid="1" size="8"/>',
         "malformed_element"),
        ("", f'<object address="0x20" typeid="{2**64}" size="8"/>',
         "malformed_element"),
        ("", f'<object address="0x20" typeid="1" size="{2**64}"/>',
         "size_out_of_range"),
        ("", f'<object address="0x20" typeid="1" size="{"9" * 9999}"/>',
         "malformed_element"),
        ("", '<object address="0x20" typeid="1" size="8"><member/></object>',
         "malformed_reference"),
        ("", '<object address="0x20" typeid="1" size="8"><member address="-1"/>'
         "</object>",
         "malformed_reference"),
        ("", '<object address="0x20" typeid="1" size="8"><member address="0x99"/>'
         "</object>", "missing_object"),
    ],
)  # fmt: skip
def test_irregularities_are_counted_and_strict_refuses(
    reading: Reading, more: str, objects: str, kind: str
) -> None:
    text = small(more, objects)

    graph = reading(text)

    assert warnings(graph) == {kind: 1}
    assert graph.irregularities[0].line == (3 if more else 6)
    assert graph.object_id[0] == 0x10
    with pytest.raises(DumpError, match=r"line [36]"):
        reading(text, strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (small() + "<more/>", "it is not XML .junk after document element."),
        (small("<a></b>"), "it is not XML .mismatched tag."),
        (small("&lol;"), "it is not XML .undefined entity."),
        (small('<type id="2" id="3"/>'), "it is not XML .duplicate attribute."),
        (small("<" + "a" * (2 << 20)), "a tag of more than 1 MiB"),
        ("<gcheap/>", "it has no objects"),
    ],
)
def test_what_is_no_dump_is_refused_with_its_place(
    reading: Reading, text: str, message: str
) -> None:
    with pytest.raises(DumpError, match=message) as refused:
        reading(text)
    if "objects" not in message:
        assert refused.value.offset is not None
        assert "byte" in str(refused.value) or "line" in str(refused.value)


def test_a_document_type_is_refused() -> None:
    bomb = '<!DOCTYPE gcheap [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    text = (bomb + small("&b;")).encode()

    assert not sniff(text)
    with pytest.raises(MalformedDump, match=r"line 1.*declares a document type"):
        read(Pieces(text, 100), ReadOptions(), silent)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", sampled(range(len(b"<gcheap>"), len(NEW)), 53))
def test_a_truncated_file_gives_what_it_has(reading: Reading, length: int) -> None:
    kept = NEW[:length]
    heads = kept.count(b'size="') - (kept.rfind(b">") < kept.rfind(b'size="'))
    if not heads:
        with pytest.raises(DumpError, match="no objects"):
            reading(kept)
        return

    graph = reading(kept)

    assert graph.object_count == heads
    assert warnings(graph)["truncated_document"] == 1
    with pytest.raises(TruncatedDump):
        reading(b"\n".join(small().encode().split(b"\n")[:5]), strict=True)


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_pieces_may_be_cut_anywhere(reading: Reading, size: int) -> None:
    heap = sos_heap()
    heap.types[3] = "Größe>"
    for data in (heap.sos_xml(), heap.sos_xml_of_old()):
        graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]
        assert same(graph, reading(data))


def parsed(text: str, size: int) -> HeapGraph:
    return read(Pieces(text.encode(), size), ReadOptions(), silent)  # type: ignore[arg-type]


_HEX = st.sampled_from(["0x10", "0x20", "0x0", "0xFfF", "0X30", "16", "zz", "0x", ""])
_SPACE = st.sampled_from([" ", "  ", "\n", "\r\n", "\t"])
_MORE = st.sampled_from(["", " ", ' x="1"', "\n"])
_MEMBERS = st.builds(
    lambda space, address, more, end: f'<member{space}address="{address}"{more}{end}',
    _SPACE, _HEX, _MORE,
    st.sampled_from(["/>", "></member>", ' dependentHandle="1"/>']),
)  # fmt: skip
_OBJECTS = st.builds(
    lambda s, address, kind, size, more, members, between: (
        f'<object{s}address="{address}"{s}typeid="{kind}" size="{size}"{more}'
        + (f">{between}{between.join(members)}</object>" if members else "/>")
        + between
    ),
    _SPACE,
    _HEX,
    st.sampled_from(["1", "2", "-1", "9" * 19]),
    st.sampled_from(["8", "-8", "0", "9" * 19, "x"]),
    _MORE,
    st.lists(_MEMBERS | st.just("<!-- <member/> -->") | st.just("text"), max_size=4),
    st.sampled_from(["", "\n", " \r\n", "t", "<loaderallocator address='0x10'/>\n"]),
)


@pytest.mark.parametrize("comment", ["", "<!-- for the parser -->"])
def test_nulls_of_a_repeated_object_are_dropped_with_it(comment: str) -> None:
    null = '<member address="0x0"/>'
    one = f'<object address="0x30" typeid="1" size="8">{null}</object>'
    two = f'<object address="0x20" typeid="1" size="8">{null}{null}</object>'

    graph = parsed(small(objects=comment + one + one + two), 10_000)

    assert graph.null_reference_count == 3


@THOROUGH
@given(st.lists(_OBJECTS, max_size=12), st.sampled_from([5, 40, 10_000]))
def test_what_is_skimmed_is_what_a_parser_reads(objects: list[str], size: int) -> None:
    """A comment in front makes the parser read all."""
    text = small(objects="".join(objects))

    one = parsed(text, size)
    two = parsed(text.replace("<types>", "<types><!-- -->"), size)

    def told(graph: HeapGraph) -> list[tuple[str, int, int | None]]:
        return [(i.kind, i.count, i.line) for i in graph.irregularities]

    assert told(one) == told(two)
    for name in ("object_id", "type_index", "shallow_bytes", "ref_start", "ref_target"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert one.null_reference_count == two.null_reference_count


def test_objects_in_comments_are_none(reading: Reading) -> None:
    commented = '<object address="0x20" typeid="1" size="8"/>'

    graph = reading(small(objects=f"<!-- {commented} -->{commented}"))

    assert graph.object_id.tolist() == [0x10, 0x20]


def test_a_fault_behind_much_has_its_place() -> None:
    text = large_xml(5000, 12_000).replace(b"</objects>", b"</object>")

    with pytest.raises(MalformedDump, match="mismatched tag") as refused:
        read(Pieces(text, 50_000), ReadOptions(), silent)  # type: ignore[arg-type]

    assert refused.value.offset == text.rindex(b"</object>") + 2
    assert refused.value.line == text.count(b"\n") + 1


def test_a_large_dump_needs_little_besides_its_columns(reading: Reading) -> None:
    data = large_xml(20_000, 50_000)
    reading(NEW)
    tracemalloc.start()
    try:
        graph = reading(data, strict=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (graph.object_count, graph.reference_count) == (20_000, 50_000)
    assert len(alive(graph)) == 20_000
    assert peak < 16 << 20


def test_sniffing() -> None:
    for head in (
        NEW, OLD, b"\xef\xbb\xbf" + NEW, b'<?xml version="1.0"?>\n<gcheap >',
        b"  <!-- by SOS -->\n<gcheap>", NEW.decode().encode("utf-16"),
    ):  # fmt: skip
        assert sniff(head)
        assert not gclog.sniff(head)
        assert not clrprofiler.sniff(head)
    for head in (b"", b"<html>", b"<gcheaps>", b"gcheap", b"<!--" * 10_000, b"\0" * 99):
        assert not sniff(head)


@given(st.sampled_from([NEW, OLD]), st.data())
def test_damage_is_refused_or_read_never_worse(
    good: bytes, data: st.DataObject
) -> None:
    broken = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        graph = read(Pieces(bytes(broken), 99), ReadOptions(), silent)  # type: ignore[arg-type]
    except DumpError as error:
        if error.offset is None and "no objects" not in str(error):
            raise
        return
    analyse(graph)
    assert len(np.unique(graph.object_id)) == len(graph.object_id)
