"""The Dart reader against dumps that say what they hold."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump
from ingest.heap.graph import NO_FIELD, RefKind, RootKind
from ingest.heap.read_options import Fold, ReadOptions
from ingest.progress import silent
from ingest.readers.dart import sniff
from ingest.readers.dart.reader import read
from tests.deep import cuts
from tests.dumps.dartheap import (
    DartHeap,
    boolean,
    double,
    latin1,
    named,
    number,
    program,
    signed,
    sized,
    text,
    uleb,
    utf16,
)
from tests.unit.readers.shared import Pieces, alive, by_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph

    Reading = Callable[..., HeapGraph]


def references(graph: HeapGraph, row: int) -> list[tuple[int, str, bool]]:
    """Ids, fields and weakness of what an object refers to."""
    assert graph.ref_field is not None
    found = []
    for at in range(graph.ref_start[row], graph.ref_start[row + 1]):
        field = int(graph.ref_field[at])
        name = f"[{-1 - field}]" if field < 0 else graph.field_names[field]
        weak = graph.ref_kind is not None and graph.ref_kind[at] == RefKind.WEAK
        target = int(graph.object_id[graph.ref_target[at]])
        found.append((target, "" if field == NO_FIELD else name, bool(weak)))
    return found


def value(graph: HeapGraph, row: int) -> str | None:
    assert graph.values is not None
    return graph.values.pick(np.array([row]))[0]


def roots(graph: HeapGraph) -> list[tuple[int, str, str, str]]:
    """Object's id, kind, static's class and field."""
    assert graph.root_field is not None
    return [
        (
            int(graph.object_id[graph.root_object[r]]),
            RootKind(graph.root_kind[r]).label,
            graph.type_names[graph.root_type[r]] if graph.root_type[r] >= 0 else "",
            graph.field_names[graph.root_field[r]] if graph.root_field[r] >= 0 else "",
        )
        for r in range(len(graph.root_object))
    ]


def test_everything_that_a_snapshot_tells(reading: Reading) -> None:
    graph = reading(program().bytes(), strict=True)

    row = by_id(graph)
    assert graph.format_name == "dartheap"
    assert list(row) == [6, 7, 8, 9, 10, 11, 12, 14]
    assert graph.domains[0].name == "main"
    assert [graph.type_name(row[i]) for i in (6, 7, 9)] == [
        "dart:core::_List",
        "Class",
        "package:app/cache.dart::Cache",
    ]
    assert graph.type_names[-1] == "<class 12>"
    assert graph.shallow_bytes.tolist() == [40, 100, 80, 32, 24, 48, 64, 32]
    assert references(graph, row[6]) == [(9, "[0]", False)]
    assert references(graph, row[9]) == [(6, "entries", False), (10, "name", False)]
    assert roots(graph) == [
        (7, "internal", "", ""),
        (12, "internal", "", ""),
        (9, "static", "package:app/cache.dart::Cache", "_cache"),
        (6, "other", "", ""),
    ]
    assert graph.root_owner is not None
    assert [graph.owners[o] if o >= 0 else "" for o in graph.root_owner.tolist()] == [
        "", "", "main", "main",
    ]  # fmt: skip
    assert value(graph, row[10]) == "Café"
    assert value(graph, row[12]) == "_cache"
    assert value(graph, row[9]) is None
    assert graph.length is not None
    assert graph.length[[row[6], row[10], row[9]]].tolist() == [3, 4, -1]
    assert graph.external is not None
    assert graph.external.object_index.tolist() == [row[9]]
    assert graph.external.size_bytes.tolist() == [1024]
    assert graph.external.names == ("Picture",)
    assert graph.identity_hash is not None
    assert graph.identity_hash[[row[9], row[14], row[6]]].tolist() == [99, 77, 0]
    assert alive(graph) == {6, 7, 8, 9, 10, 11, 12}


def test_what_is_folded_is_counted(reading: Reading) -> None:
    heap = program()
    graph = reading(heap.bytes())
    whole = reading(heap.bytes(), fold=Fold.NONE)

    assert graph.object_count + graph.folded.object_count == whole.object_count == 14
    assert whole.reference_count + whole.null_reference_count == heap.reference_count
    assert (
        graph.reference_count
        + graph.null_reference_count
        + graph.folded.reference_count
        + len(graph.root_object)
        == heap.reference_count
    )
    # [null, null] in the list, 0 and null in the caches, and the field's type.
    assert graph.null_reference_count == 6
    assert whole.null_reference_count == 2
    assert graph.shallow_bytes.sum() == whole.shallow_bytes.sum() == heap.shallow_bytes
    assert roots(whole) == [(1, "internal", "", "")]
    assert references(whole, 2) == [
        (4, "", False),
        (9, "_cache", False),
        (5, "_limit", False),
        (6, "[0]", False),
    ]
    assert alive(whole) == set(range(1, 14))


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (signed(-8640000000000000), "_Mint", "-8640000000000000"),
        (signed(2**62), "_Mint", str(2**62)),
        (signed(32), "_Mint", "32"),
        (signed(-33), "_Mint", "-33"),
        (double(-0.1), "_Double", "-0.1"),
        (boolean(True), "bool", "true"),
        (utf16("ℵ\U0001f600"), "_TwoByteString", "ℵ\U0001f600"),
        (utf16("a\ud800"), "_TwoByteString", "a�"),
        (latin1("x" * 300, 300), "_OneByteString", "x" * 128),
        (named(b"f\xff\0"), "Function", "f�\0"),
        (b"\0", "_List", None),
        (sized(3), "_List", None),
    ],
)
def test_values(reading: Reading, data: bytes, kind: str, expected: str | None) -> None:
    heap = DartHeap()
    heap.cls(kind, "dart:core")
    heap.obj(kind, 16, data=data)

    assert value(reading(heap.bytes()), 0) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([1, 2**32 - 663, 2**32 - 2**30], ["1", "-663", str(-(2**30))]),
        ([1, 2**64 - 663], ["1", "-663"]),
        ([2**32 - 663, 2**40], [str(2**32 - 663), str(2**40)]),
        ([2**30 - 1, 5], [str(2**30 - 1), "5"]),
    ],
)
def test_small_integers_have_the_signs_of_their_machine(
    reading: Reading, words: list[int], expected: list[str]
) -> None:
    heap = DartHeap()
    heap.cls("_Smi", "dart:core")
    for word in words:
        heap.obj("_Smi", 0, data=number(word))

    graph = reading(heap.bytes(), fold=Fold.NONE)

    assert [value(graph, row) for row in range(len(words))] == expected


def test_a_file_without_identity_hashes(reading: Reading) -> None:
    heap = program()
    heap.hashes = None

    graph = reading(heap.bytes(), strict=True)

    assert graph.identity_hash is None
    assert graph.object_count == 8


def test_an_old_vm_without_pseudo_classes(reading: Reading) -> None:
    heap = DartHeap()
    heap.cls("Thing", "package:a/b.dart", ["next"])
    heap.cls("Root", "package:a/b.dart")
    heap.obj("Thing", 8, [2])
    heap.obj("Root", 8)
    heap.obj("Thing", 8, [2])

    graph = reading(heap.bytes())

    assert roots(graph) == [(1, "internal", "", "")]
    assert alive(graph) == {1, 2}


def test_null_with_external_memory_stays_an_object(reading: Reading) -> None:
    heap = program()
    heap.outside(4, 16, "Picture")

    graph = reading(heap.bytes())

    null = graph.object_id.tolist().index(4)
    assert null < graph.object_count
    assert null in graph.ref_target


def test_each_isolate_owns_its_roots(reading: Reading) -> None:
    heap = DartHeap()
    heap.cls("Root")
    heap.cls("Isolate", fields=["one"])
    heap.cls("Thing", "package:a/b.dart")
    heap.obj("Root", 0, [2, 3])
    heap.obj("Isolate", 0, [4], named("17"))
    heap.obj("Isolate", 0, [5, 4], named("18"))
    heap.obj("Thing", 8)
    heap.obj("Thing", 8)

    graph = reading(heap.bytes())

    assert graph.owners == ("isolate 17", "isolate 18")
    assert graph.root_owner is not None
    assert graph.root_owner.tolist() == [0, 1, 1]
    assert [r[:2] for r in roots(graph)] == [(4, "static"), (5, "static"), (4, "other")]


def test_a_static_that_two_classes_could_have_is_in_none(reading: Reading) -> None:
    heap = program()
    heap.obj("Class", 100, [10, 8], named("Other"))
    heap.obj("Field", 64, [10, 15, 4, 13], named("_cache"))
    heap.hashes = None

    graph = reading(heap.bytes())

    assert roots(graph)[2] == (9, "static", "", "_cache")


def test_a_variable_of_no_class_is_named_with_its_library(reading: Reading) -> None:
    heap = program()
    heap.objects[6] = heap.objects[6].replace(named("Cache"), named("::"))

    graph = reading(heap.bytes())

    assert roots(graph)[2] == (9, "static", "", "package:app/cache.dart::_cache")


def weak_heap() -> DartHeap:
    heap = DartHeap()
    heap.cls("Thing", "package:a/b.dart", ["a", "b", "c", "d"])
    heap.cls("_WeakReference", "dart:core", ["target_", "type_arguments_"])
    heap.cls("WeakArray", "", ["length_"])
    heap.cls(
        "FinalizerEntry",
        "dart:_internal",
        ["value_", "detach_", "token_", "finalizer_", "next_"],
    )
    heap.cls("_WeakProperty", "dart:core", ["key_", "value_"])
    heap.cls("WeakArray", "package:a/b.dart", [])
    return heap


def test_weak_references_keep_nothing(reading: Reading) -> None:
    heap = weak_heap()
    heap.obj("Thing", 8, [2, 3, 4, 12])
    heap.obj("_WeakReference", 8, [5, 6])
    heap.obj("WeakArray", 8, [6, 7])
    heap.obj("FinalizerEntry", 8, [8, 9, 10, 11, 0])
    for _ in range(7):
        heap.obj("Thing", 8)
    heap.obj(6, 8, [13])  # a program's own class of that name is none of the VM's
    heap.obj("Thing", 8)

    graph = reading(heap.bytes())

    assert alive(graph) == {1, 2, 3, 4, 6, 10, 12, 13}
    assert references(graph, by_id(graph)[3]) == [
        (6, "length_", False),
        (7, "[0]", True),
    ]
    metrics = analyse(graph)
    assert (metrics.weak_only_count, metrics.weak_only_bytes) == (5, 40)


def test_a_weak_property_holds_its_value_while_its_key_lives(reading: Reading) -> None:
    heap = weak_heap()
    heap.obj("Thing", 8, [2, 3, 4])
    heap.obj("_WeakProperty", 8, [4, 5])  # 4 lives: so does 5
    heap.obj("_WeakProperty", 8, [6, 7])  # 6 is seen by nothing else
    heap.obj("Thing", 8, [1])
    heap.obj("Thing", 8)
    heap.obj("Thing", 8)
    heap.obj("Thing", 8)
    heap.obj("_WeakProperty", 8, [4, 9])  # itself garbage: holds nothing
    heap.obj("Thing", 8)

    graph = reading(heap.bytes())
    row = by_id(graph)

    assert alive(graph) == {1, 2, 3, 4, 5}
    assert {*references(graph, row[4])} == {(1, "a", False), (5, "(ephemeron)", False)}
    assert references(graph, row[2]) == [(4, "key_", True)]
    assert references(graph, row[8]) == [(4, "key_", True), (9, "value_", False)]
    assert graph.reference_count == heap.reference_count


def same(one: HeapGraph, two: HeapGraph) -> bool:
    columns = ("object_id", "type_index", "shallow_bytes", "ref_start", "ref_target")
    assert one.values is not None
    assert two.values is not None
    return (
        all(np.array_equal(getattr(one, name), getattr(two, name)) for name in columns)
        and one.values.between(0, 99)[1] == two.values.between(0, 99)[1]
        and np.array_equal(one.identity_hash, two.identity_hash)  # type: ignore[arg-type]
        and one.irregularities == two.irregularities
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_the_pieces_of_a_file_do_not_matter(reading: Reading, size: int) -> None:
    data = program().bytes()

    graph = read(Pieces(data, size), ReadOptions(), silent)  # type: ignore[arg-type]

    assert same(graph, reading(data))


def test_a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused(
    reading: Reading,
) -> None:
    heap = program()
    data, hashes = heap.bytes(), heap.hashes or []
    first_object = data.index(heap.objects[0], len(heap.head()))
    second_object = first_object + len(heap.objects[0])
    # An older VM writes no hashes: where they would begin, a file may end.
    whole_of_an_older_vm = len(data) - len(hashes)
    for end in cuts(8, len(data), every=11):
        if end == whole_of_an_older_vm:
            continue
        with pytest.raises(DumpError, match=r"byte \d+"):
            reading(data[:end], strict=True)
        if end < second_object:
            with pytest.raises(DumpError, match=r"byte \d+"):
                reading(data[:end])
        else:
            graph = reading(data[:end])
            analyse(graph)
            assert graph.irregularities[0].kind.startswith("truncated_")


def test_objects_that_a_cut_file_lacks_are_missing(reading: Reading) -> None:
    heap = DartHeap()
    heap.cls("Thing", "package:a/b.dart")
    heap.obj("Thing", 8, [2, 5, 9, 5])
    heap.obj("Thing", 8)

    graph = reading(heap.bytes(objects=9)[:-1])

    assert graph.object_count == 2
    assert graph.object_id.tolist() == [1, 2, 5, 9]
    assert references(graph, 0) == [
        (2, "[0]", False), (5, "[1]", False), (9, "[2]", False), (5, "[3]", False),
    ]  # fmt: skip
    assert {i.kind: i.count for i in graph.irregularities} == {
        "truncated_objects": 7,
        "missing_object": 2,
    }


def claims(what: str) -> bytes:
    """Small files that claim the impossible."""
    huge = uleb(2**60)
    heap = DartHeap()
    heap.cls("Thing", "package:a/b.dart")
    head = heap.head() + uleb(0)
    return {
        "name": b"dartheap" + uleb(0) + huge + b"x" * 100,
        "classes": b"dartheap" + uleb(0) + text("m") + 3 * uleb(0) + huge + b"\0" * 99,
        "class name": heap.head(2)[:-1] + b"\0" + uleb(0) + huge,
        "fields": DartHeap().head(1) + uleb(0) + 4 * text("") + huge,
        "places": DartHeap().head(1)
        + uleb(0) + 4 * text("") + uleb(1) + uleb(1) + huge + 2 * text(""),
        "objects": head + huge,
        "references": head + uleb(1) + uleb(1) + uleb(8) + b"\0" + huge,
        "size": head + uleb(1) + uleb(1) + huge + b"\0" + uleb(0),
        "text": head + uleb(1) + uleb(1) + uleb(8) + b"\5" + huge + huge + b"abc",
        "target": head + uleb(1) + uleb(1) + uleb(8) + b"\0" + uleb(1) + huge,
        "class": head + uleb(1) + uleb(9) + uleb(8) + b"\0" + uleb(0),
        "no class": head + uleb(1) + b"\0" * 50,
        "tag": head + uleb(1) + uleb(1) + uleb(8) + uleb(9) + uleb(0),
        "long number": head + uleb(1) + b"\xff" * 30,
        "outside": head + uleb(1) + uleb(1) + uleb(8) + b"\0\0" + uleb(1) + uleb(1)
        + huge + text("x"),
        "owner": head + uleb(1) + uleb(1) + uleb(8) + b"\0\0" + uleb(1) + uleb(7)
        + uleb(1) + text("x"),
    }[what]  # fmt: skip


CLAIMS = (
    "name", "classes", "class name", "fields", "places", "objects", "references",
    "size", "text", "target", "class", "no class", "tag", "long number", "outside",
    "owner",
)  # fmt: skip


@pytest.mark.parametrize("what", CLAIMS)
def test_what_a_file_claims_costs_nothing(reading: Reading, what: str) -> None:
    reading(program().bytes())
    tracemalloc.start()
    try:
        with pytest.raises(DumpError) as caught:
            reading(claims(what))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert caught.value.offset is not None
    assert peak < 16 << 20


def test_external_memory_that_many_objects_claim_is_cut(reading: Reading) -> None:
    heap = program()
    data = heap.bytes()
    tail = uleb(2) + b"".join(heap.external) + b"".join(map(uleb, heap.hashes or []))

    graph = reading(data[: -len(tail)] + uleb(2**60) + heap.external[0])

    assert [i.kind for i in graph.irregularities] == ["truncated_external_memory"]
    with pytest.raises(MalformedDump):
        reading(data + b"more", strict=True)


@given(st.data())
def test_no_flipped_bits_do_harm(data: st.DataObject) -> None:
    good = bytearray(program().bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(good) - 1))
        good[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        graph = read(Pieces(bytes(good), 50), ReadOptions(), silent)  # type: ignore[arg-type]
    except DumpError:
        return
    analyse(graph)
    assert graph.values is not None
    graph.values.between(0, graph.object_count)


def test_it_is_known_by_its_first_bytes() -> None:
    assert sniff(program().bytes()[:100])
    assert not sniff(b"dartheaq")
    assert not sniff(b"dart")
