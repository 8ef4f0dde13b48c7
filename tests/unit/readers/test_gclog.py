"""The gclog reader against its slow twin, the papers' excerpts, and bad input."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import DumpError, MalformedDump, TruncatedDump, UnknownFormat
from ingest.heap.graph import Domain, RootKind
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source
from ingest.readers.gclog import sniff
from ingest.readers.gclog.pieces import GclogScanner
from ingest.readers.shared.irregularities import IrregularityCounter
from ingest.readers.shared.lines import complete_lines, to_utf8
from tests.deep import THOROUGH, sampled
from tests.dumps.gclog import Gclog
from tests.unit.readers import gclog_twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph

EXCERPT = """\
a 2 bubblecs.exe 763f9d2
t 2 System.RuntimeType
o 7c79f 2 64
t 1 System.NullReferenceException
o 7cb42 2 64
o 1ce004 1 18
t 3 System.OutOfMemoryException
o 1ce056 1d 118 1ce11f 1ce14c 1ce079 1ce113 1ce116 1ce267 1ce26a 1ce26d
r 22c81b 5 0
o 22c81e 1b 24
r 22c81e 5 0
o 22c823 1b 28
r 22c823 5 0
c bubblecs.exe 763fbef
"""


def odd(graph: HeapGraph) -> dict[str, int]:
    return {i.kind: i.count for i in graph.irregularities}


def test_the_excerpt_of_the_papers(reading: Callable[..., HeapGraph]) -> None:
    graph = reading(EXCERPT)

    assert graph.object_count == 6
    assert [hex(i) for i in graph.object_id[:6].tolist()] == [
        "0x7c79f", "0x7cb42", "0x1ce004", "0x1ce056", "0x22c81e", "0x22c823",
    ]  # fmt: skip
    assert graph.shallow_bytes[:6].tolist() == [0x64, 0x64, 0x18, 0x118, 0x24, 0x28]
    assert graph.type_name(0) == "System.RuntimeType"
    assert graph.type_name(3) == "<type 0x1d>"
    assert graph.missing_count == 9  # eight references, and the root 22c81b
    assert graph.reference_count == 8
    assert len(graph.root_object) == 3
    assert set(graph.root_kind.tolist()) == {RootKind.RUNTIME}
    assert graph.domains == (Domain("bubblecs.exe", 0x763F9D2, 0x763FBEF),)
    assert graph.domains[0].duration_ms == 541
    assert odd(graph) == {"undeclared_type": 3, "missing_object": 8}
    assert graph.irregularities[0].line == 8


def test_repeated_declarations_take_no_memory() -> None:
    scanner = GclogScanner("dump")
    lines = b"t 1 T\nt 1 U\n" + 1000 * b"t 1 T\n"
    list(scanner.scan([b"a 2 x\n" + lines, lines, b"c x\na 2 x\n" + lines]))
    assert scanner.types == {(0, 1): b"T", (1, 1): b"T"}
    assert (scanner.conflict_count, scanner.conflict_line) == (3, 3)


@pytest.mark.parametrize("text", [EXCERPT, EXCERPT[:-1], EXCERPT[:-60]])
def test_a_small_file_starts_no_threads(
    text: str, reading: Callable[..., HeapGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("gclog.pieces", "shared.resolver"):
        monkeypatch.setattr(f"ingest.readers.{module}.threads", None)

    assert reading(text).object_count > 4


def test_the_excerpt_without_clocks(reading: Callable[..., HeapGraph]) -> None:
    graph = reading(EXCERPT.replace(" 763f9d2", "").replace(" 763fbef", ""))

    assert graph.domains == (Domain("bubblecs.exe"),)


def test_every_number_is_hexadecimal(reading: Callable[..., HeapGraph]) -> None:
    graph = reading("a 2 x\nt 10 T\no 1c15d2 10 1c 1c15db\nr B2753 4 0 13C\nc x\n")

    assert graph.shallow_bytes[0] == 28
    assert graph.type_name(0) == "T"
    assert "<type 0x13c>" in graph.type_names
    assert graph.root_kind.tolist() == [RootKind.STATIC]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-bom"])
def test_line_ends_and_encodings(
    reading: Callable[..., HeapGraph], end: str, encoding: str
) -> None:
    text = EXCERPT.replace("RuntimeType", "Größe").replace("\n", end)
    if encoding == "utf-16-be-bom":
        content = b"\xfe\xff" + text.encode("utf-16-be")
    else:
        content = text.encode(encoding)

    graph = reading(content)

    assert graph.object_count == 6
    assert graph.type_name(0) == "System.Größe"
    assert graph.irregularities[0].line == 8


def test_an_old_windows_code_page(reading: Callable[..., HeapGraph]) -> None:
    graph = reading("a 2 x\nt 1 Größe\no 1 1 10\nc x\n".encode("cp1252"))

    assert graph.type_name(0) == "Größe"


def test_type_names_keep_blanks_and_generics(
    reading: Callable[..., HeapGraph],
) -> None:
    name = "System.Collections.Generic.Dictionary`2[[System.String, mscorlib],[A+B[]]]"

    graph = reading(f"a 2 x\nt a1 {name}\no 1 a1 10\nt 2 \nt 3\no 2 2 10\nc x\n")

    assert graph.type_name(0) == name
    assert graph.type_name(1) == "<unnamed 0x2>"


@pytest.mark.parametrize(
    ("opening", "closing", "expected"),
    [
        ("my game.exe 7d2", "my game.exe 7ef", ("my game.exe", 0x7D2, 0x7EF)),
        ("my face", "my face", ("my", 0xFACE, 0xFACE)),
        ("my face", "my", ("my", 0xFACE, None)),
        ("my face 12", "my face", ("my face", 0x12, None)),
        ("deadbeef", "deadbeef", ("deadbeef", None, None)),
        ("x 123456789", "x 123456789", ("x 123456789", None, None)),
    ],
)  # fmt: skip
def test_domain_names_that_look_like_clocks(
    reading: Callable[..., HeapGraph],
    opening: str,
    closing: str,
    expected: tuple[str, int | None, int | None],
) -> None:
    graph = reading(f"a 2 {opening}\no 1 1 10\nc {closing}\n")

    assert graph.domains == (Domain(*expected),)


def test_the_clock_wraps(reading: Callable[..., HeapGraph]) -> None:
    graph = reading("a 2 x fffffff0\no 1 1 10\nc x 10\n")

    assert graph.domains[0].duration_ms == 32


def test_two_domains_scope_their_ids(reading: Callable[..., HeapGraph]) -> None:
    first = Gclog().domain("one").type(1, "A").object(16, 1, 8).root(16).close("one")
    both = first.domain("two").type(1, "B").object(16, 1, 9).object(17, 2, 9, [16, 18])
    both.close("two").domain("three").object(18, 2, 4).root(17).close("three")

    graph = reading(both.text())

    assert [d.name for d in graph.domains] == ["one", "two", "three"]
    assert [graph.type_name(i) for i in range(4)] == [
        "A", "B", "<type 0x2>", "<type 0x2>",
    ]  # fmt: skip
    assert graph.ref_target.tolist() == [1, 3]
    assert graph.root_object.tolist() == [0, 2]
    assert graph.domain_index is not None
    assert graph.domain_index.tolist() == [0, 1, 1, 2]
    assert odd(graph) == {
        "undeclared_type": 2, "cross_domain_reference": 1, "cross_domain_root": 1,
    }  # fmt: skip


def test_records_outside_a_domain_are_kept(reading: Callable[..., HeapGraph]) -> None:
    graph = reading("o 1 1 10 2\na 2 x\no 2 1 10\nt 1 T\nc x\nr 1 1 0\n")

    assert graph.object_count == 2
    assert [d.name for d in graph.domains] == ["", "x", ""]
    assert graph.ref_target.tolist() == [1]
    assert graph.root_object.tolist() == [0]
    assert odd(graph)["outside_domain"] == 2


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("x 1 2 3", "unknown_record"),
        ("oo 1 2 3", "unknown_record"),
        ("o 1 1", "malformed_record"),
        ("o 1 1 zz", "malformed_record"),
        ("o 0x1 1 10", "malformed_record"),
        ("o 123456789012345678901234567890 1 10", "malformed_record"),
        ("o 9 1 123456789012345678901234567890", "malformed_record"),
        ("o 9 1 7fffffffffffffff", "size_out_of_range"),
        ("o 9 1 10 5 zz 5", "malformed_reference"),
        ("o 0 1 10", "zero_object_id"),
        ("o 5 1 11", "conflicting_object"),
        ("t 1 Other", "conflicting_type"),
        ("t zz Name", "malformed_record"),
        ("r 5 9 0", "unknown_root_kind"),
        ("r 5 1 8", "unknown_root_flags"),
        ("r 5 4 0", "static_without_container"),
        ("r 5 1 0 1", "container_without_static"),
        ("r 5 4 0 1 7", "extra_elements"),
        ("r 0 1 0", "null_root"),
        ("r 5 1", "malformed_record"),
        ("a 2 again", "unclosed_domain"),
        ("o 9 77 10", "undeclared_type"),
        ("o 9 1 10 99", "missing_object"),
    ],
)
def test_irregularities_are_counted_and_strict_refuses(
    reading: Callable[..., HeapGraph], line: str, kind: str
) -> None:
    text = f"a 2 x\nt 1 T\no 5 1 10\n{line}\nr 5 1 0\nc x\n"

    graph = reading(text)

    assert odd(graph).get(kind) == 1
    found = next(i for i in graph.irregularities if i.kind == kind)
    assert found.line == 4
    assert "T" in graph.type_names
    assert graph.object_count >= 1
    with pytest.raises(DumpError, match="line 4: ") as refused:
        reading(text, strict=True)
    assert refused.value.line == 4


def test_identical_duplicates_are_no_irregularity(
    reading: Callable[..., HeapGraph],
) -> None:
    text = (
        "a 2 x\nt 1 T\nt 1 T\no 5 1 10 5\no 5 1 10 5\nr 5 1 0\nr 5 3 2\nr 5 1 0\nc x\n"
    )

    graph = reading(text, strict=True)

    assert (graph.object_count, graph.reference_count) == (1, 1)
    assert len(graph.root_object) == 3


def test_of_two_records_of_one_object_the_first_counts(
    reading: Callable[..., HeapGraph],
) -> None:
    graph = reading("a 2 x\nt 1 T\no 5 1 10 6\no 6 1 8\no 5 1 20 5 5\nc x\n")

    assert graph.shallow_bytes.tolist() == [16, 8]
    assert graph.ref_target.tolist() == [1]
    assert odd(graph) == {"conflicting_object": 1}


def test_double_references_stay_and_nulls_are_counted(
    reading: Callable[..., HeapGraph],
) -> None:
    graph = reading("a 2 x\nt 1 T\no 5 1 10 5 0 5 0 0 5\nc x\n")

    assert graph.ref_target.tolist() == [0, 0, 0]
    assert graph.null_reference_count == 3


def test_nulls_of_a_repeated_record_are_dropped_with_it(
    reading: Callable[..., HeapGraph],
) -> None:
    graph = reading("a 2 x\nt 1 T\no 5 1 10 0\no 5 1 10 0\no 6 1 10 0 0\nc x\n")

    assert graph.null_reference_count == 3


CUTTABLE = "a 2 x 12\nt 1 Type\no 51 1 10 52\no 52 1 123\nr 51 1 0\nc x 15\n"


@pytest.mark.parametrize(
    "length", sampled(range(CUTTABLE.index("\n") + 1, len(CUTTABLE)), 11)
)
def test_a_truncated_file_gives_what_it_has(
    reading: Callable[..., HeapGraph], length: int
) -> None:
    kept = CUTTABLE[:length]

    graph = reading(kept)

    whole = kept[: kept.rfind("\n") + 1]
    closed = "\nc x" in kept
    expected = gclog_twin.read(kept if closed else whole)
    assert graph.object_count == len(expected.objects)
    assert graph.domains[0].complete is closed
    assert ("unclosed_domain" in odd(graph)) is not closed
    assert ("truncated_line" in odd(graph)) is (not closed and whole != kept)
    if not closed:
        with pytest.raises((TruncatedDump, MalformedDump)):
            reading(kept, strict=True)


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\x03" * 1000,
        b"hello world\n",
        b"a quick brown fox\njumps over\n",
        b"\xff\xfe\x00\xd8" * 50,
        b"<html>" + b"a" * 10_000_000,
        b"\n\n \n",
    ],
    ids=["noise", "text", "prose", "surrogates", "long line", "blank"],
)
def test_what_is_no_gclog_is_refused(
    reading: Callable[..., HeapGraph], content: bytes
) -> None:
    with pytest.raises(UnknownFormat, match="not a heap dump of a supported format"):
        reading(content)


def test_an_empty_file_and_a_folder(
    reading: Callable[..., HeapGraph], tmp_path: Path
) -> None:
    with pytest.raises(DumpError, match="empty"):
        reading(b"")
    with pytest.raises(DumpError, match="folder"), open_source(str(tmp_path)):
        pass
    with pytest.raises(DumpError, match="no such file"), open_source("/no/such"):
        pass
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    for bad in (str(file / "below"), "x" * 5000):
        with pytest.raises(DumpError, match="cannot be read"), open_source(bad):
            pass


def test_an_object_with_a_very_long_line(reading: Callable[..., HeapGraph]) -> None:
    many = 1_500_000
    targets = " 1" * many

    graph = reading(f"o 1 1 10{targets}\n" + "o 2 1 10\n")

    assert graph.reference_count == many
    assert graph.object_count == 2


def test_an_absurd_sum_of_sizes_is_an_error(
    reading: Callable[..., HeapGraph],
) -> None:
    lines = "".join(f"o {i:x} 1 7fffffffffff\n" for i in range(1, 40_000))

    with pytest.raises(MalformedDump, match="add up"):
        reading("a 2 x\nt 1 T\n" + lines + "c x\n")


def test_sniffing_needs_whole_records() -> None:
    assert sniff(EXCERPT.encode())
    assert sniff(b"\r\n\r\n" + EXCERPT.encode())
    assert sniff(b"o 1 1 10 " + b"1 " * 20_000)
    assert not sniff(b"a cat\n")


_NUMBERS = st.sampled_from(["0", "1", "2", "3", "A", "b", "10", "zz", "0x1", "f" * 17])
_BLANK = st.sampled_from([" ", "  ", "\t", " \t "])
_RECORDS = st.one_of(
    st.builds(lambda n: f"a 2 d{n}", st.integers(0, 2)),
    st.builds(lambda n: f"c d{n}", st.integers(0, 2)),
    st.builds(
        lambda n, name: f"t {n} {name}",
        _NUMBERS,
        st.sampled_from(["A", "B b", "C`1[[A, x]]"]),
    ),
    st.builds(
        lambda blank, parts: blank.join(["o", *parts]),
        _BLANK,
        st.lists(_NUMBERS, max_size=7),
    ),
    st.builds(
        lambda letter, parts: " ".join([letter, *parts]),
        st.sampled_from(["r", "R"]),
        st.lists(_NUMBERS, max_size=5),
    ),
    st.sampled_from(["", "x 1", "o", "r", " ", "ob 1 2 3"]),
)


@THOROUGH
@given(
    st.lists(_RECORDS, max_size=25),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 40),
)
def test_the_reader_agrees_with_its_twin(
    lines: list[str], end: str, piece: int
) -> None:
    """Whatever the records, and wherever the pieces of the file are cut."""
    from ingest.readers.gclog.reader import read as read_gclog

    text = "".join(line + end for line in ["a 2 d0", *lines])
    expected = gclog_twin.read(text)

    class Cut:
        name = "test"
        truncated = False

        def chunks(self, _progress: object) -> list[bytes]:
            data = text.encode()
            return [data[i : i + piece] for i in range(0, len(data), piece)]

    graph = read_gclog(Cut(), ReadOptions(), silent)  # type: ignore[arg-type]

    keys = list(expected.objects)
    section = (
        [0] * len(graph.object_id)
        if graph.domain_index is None
        else graph.domain_index.tolist()
    )
    rows = list(zip(section, graph.object_id.tolist(), strict=True))
    assert rows[: graph.object_count] == keys
    assert len(set(rows)) == len(rows)
    assert graph.null_reference_count == expected.nulls
    assert len(graph.domains) == expected.sections
    known, declared = set(keys), set(expected.types)
    for i, (where, _) in enumerate(keys):
        kind, size, targets = expected.objects[keys[i]]
        assert graph.shallow_bytes[i] == size
        part = graph.ref_target[graph.ref_start[i] : graph.ref_start[i + 1]]
        assert [rows[j] for j in part] == [
            gclog_twin.place(known, where, target) for target in targets
        ]
        at = gclog_twin.place(declared, where, kind)
        name = expected.types.get(at, f"<type {kind:#x}>") or f"<unnamed {kind:#x}>"
        assert graph.type_name(i) == name
    assert [
        (rows[i], k, f, None if t < 0 else graph.type_names[t])
        for i, k, f, t in zip(
            graph.root_object.tolist(),
            graph.root_kind.tolist(),
            graph.root_flags.tolist(),
            graph.root_type.tolist(),
            strict=True,
        )
    ] == [
        (
            gclog_twin.place(known, where, wanted),
            kind,
            flags,
            None
            if container is None
            else expected.types.get(
                gclog_twin.place(declared, where, container),
                f"<type {container:#x}>",
            ),
        )
        for where, wanted, kind, flags, container in expected.roots
    ]
    found = Counter(odd(graph))
    for kind_ in expected.odd:
        assert found[kind_] == expected.odd[kind_], kind_


@given(st.binary(max_size=300))
def test_noise_behind_a_record_never_breaks_the_reader(noise: bytes) -> None:
    from ingest.readers.gclog.reader import read as read_gclog

    class Noise:
        name = "noise"
        truncated = False

        def chunks(self, _progress: object) -> list[bytes]:
            return [b"a 2 x\no 1 1 10 2\n" + noise]

    graph = read_gclog(Noise(), ReadOptions(), silent)  # type: ignore[arg-type]

    assert graph.object_count >= 1


def test_a_hole_is_missing_although_it_is_one_line(
    reading: Callable[..., HeapGraph],
) -> None:
    lines = ["a 2 app.exe", "t 1 T", *(f"o {i:x} 1 10" for i in range(1, 900))]
    text = "\n".join([*lines, "r 1 1 0", "c app.exe", ""]).encode()
    hole = text[:2000] + bytes(4000) + text[6000:]

    assert reading(text).incomplete == ""
    assert reading(hole).incomplete.startswith("3.9 KiB of 9.4 KiB could not")


@given(st.text("ab\r\n", max_size=40), st.integers(1, 7))
def test_pieces_end_at_line_ends_and_lose_nothing(text: str, size: int) -> None:
    data = text.encode()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]

    counter = IrregularityCounter(strict=False, name="test")
    lines = list(complete_lines(to_utf8(pieces), counter))

    assert b"".join(lines) == data
    for before, after in pairwise(lines):
        assert before.endswith((b"\n", b"\r"))
        assert not (before.endswith(b"\r") and after.startswith(b"\n"))
