"""Values in fields: what ``--values`` keeps of the types that it names."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.analysis.types import supertypes
from ingest.errors import DumpError
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.hrpy.chunks import Flag
from ingest.tables.column import FLOAT, INT64
from ingest.tables.field_values import grouped, property_name
from ingest.tables.heap_tables import HeapTables
from ingest.tables.schema import label
from tests.dumps.dartheap import NULL, DartHeap, boolean, double, latin1
from tests.dumps.dartheap import number as dart_number
from tests.dumps.hprof import DOUBLE, INT, OBJECT, SYSTEM_CLASS, add_tasks, jdk
from tests.dumps.hrpy import HrpyHeap, longs, texts_of
from tests.dumps.perfetto import example
from tests.dumps.v8 import V8Heap, bun
from tests.unit.graphs import graph_of

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph
    from tests.dumps.hprof import Hprof

    _Dump = Hprof | HrpyHeap | V8Heap | DartHeap


def heap_of(dump: _Dump, folder: Path, *values: str) -> HeapGraph:
    path = folder / "dump"
    path.write_bytes(dump.bytes())
    with open_source(str(path)) as source:
        return read(source, ReadOptions(values=values), silent)


def shop() -> Hprof:
    dump = jdk()
    for task in add_tasks(dump, 0x20000):
        dump.root(SYSTEM_CLASS, task)
    return dump


def kept(graph: HeapGraph) -> dict[int, dict[str, object]]:
    """Values by address and property, as the tables have them."""
    tables = HeapTables(graph, analyse(graph))
    found: dict[int, dict[str, object]] = {}
    for _, frame in grouped(tables):
        for row in frame.to_dicts():
            at = int(graph.object_id[row.pop("object")])
            found[at] = {name: one for name, one in row.items() if one is not None}
    return found


def test_numbers_and_constants_of_the_types_asked_for(tmp_path: Path) -> None:
    graph = heap_of(shop(), tmp_path, "shop*.Task", "*.Special")

    found = kept(graph)

    assert found[0x20000] == {
        "field_status": 3, "field_done": True, "field_weight": 0.5, "field_mark": "x",
        "field_state": "OPEN", "field_price": 7, "field_id": -(2**63),
        "field_small": -1, "field_a%60%7D%20b": 9, "field_ratio": 1e300,
    }  # fmt: skip
    assert found[0x20100]["field_weight"] == math.inf
    assert "field_state" not in found[0x20100]
    assert "field_id" not in found[0x20200]  # a field of Special hides it, and is null
    assert math.isnan(cast("float", found[0x20200]["field_ratio"]))
    assert found[0x20200]["field_mark"] == "\n"
    assert 0x20300 not in found


def test_nothing_is_kept_unasked(tmp_path: Path) -> None:
    assert heap_of(shop(), tmp_path).field_values is None
    nothing = heap_of(shop(), tmp_path, "Nosuch").field_values
    assert nothing is not None
    assert not len(nothing.bits)


def test_a_format_without_values_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    path.write_bytes(example())
    with open_source(str(path)) as source, pytest.raises(DumpError, match="--values"):
        read(source, ReadOptions(values=("*",)), silent)


def test_names_are_no_names_of_the_model_and_no_syntax() -> None:
    known = [column.name for column in label("Object").properties]

    assert not any(name.startswith("field_") for name in known)
    for name in (
        "`} DETACH DELETE o //",
        "a:long",
        'x"',
        "a,b",
        "Größe",
        "\n",
        "\ud800",
    ):
        assert re.fullmatch(r"field_[\w.~%-]*", property_name(name), re.ASCII), name


def test_fields_of_two_kinds_are_imported_apart(tmp_path: Path) -> None:
    dump = shop()
    dump.cls("shop/Twin", 0x8100, "java/lang/Object", {"status": DOUBLE})
    dump.root(SYSTEM_CLASS, dump.obj(0x40000, "shop/Twin", status=2.5))
    graph = heap_of(dump, tmp_path, "shop.*")

    groups = [header for header, _ in grouped(HeapTables(graph, analyse(graph)))]

    found_types = {header.get("field_status") for header in groups}
    assert found_types == {INT64, FLOAT, None}
    found = kept(graph)
    assert (found[0x20300], found[0x40000]) == (
        {"field_status": 3}, {"field_status": 2.5}
    )  # fmt: skip


def test_too_many_fields_are_refused(tmp_path: Path) -> None:
    dump = jdk()
    fields = {f"f{i}": INT for i in range(1001)}
    dump.cls("shop/Wide", 0x8100, "java/lang/Object", fields)
    dump.root(SYSTEM_CLASS, dump.obj(0x40000, "shop/Wide"))
    with pytest.raises(DumpError, match="1,001 different fields"):
        heap_of(dump, tmp_path, "shop.*")


def test_supertypes_are_those_of_the_classes(tmp_path: Path) -> None:
    graph = heap_of(shop(), tmp_path)
    types, above = supertypes(graph)
    names = graph.type_names
    found = {(names[one], names[two]) for one, two in zip(types, above, strict=True)}

    assert {("shop.Special", "shop.Task"), ("shop.State$1", "shop.State"),
            ("shop.Task", "java.lang.Object")} <= found  # fmt: skip
    assert not [one for one, _ in found if one == "java.lang.Object"]


def test_a_class_without_a_type_is_looked_through_and_circles_end() -> None:
    graph = graph_of([1], [2], [1], [0, 2], roots=[0], types=[0, 0, 0, 1])
    graph = replace(
        graph,
        runtime="jvm",
        field_names=("<super>",),
        ref_field=np.zeros(graph.reference_count, np.int32),
        type_object=np.array([2, 0], np.int32),
    )
    assert [one.tolist() for one in supertypes(graph)] == [[1], [0]]


def test_a_null_hides_what_a_superclass_has(tmp_path: Path) -> None:
    dump = jdk()
    dump.cls("shop/Base", 0x8000, "java/lang/Object", {"n": OBJECT, "m": OBJECT})
    dump.cls("shop/Below", 0x8010, "shop/Base", {"n": OBJECT})
    own, hidden = (
        dump.obj(0x40000 + 0x100 * i, "java/lang/Integer", value=i) for i in (1, 2)
    )
    for at, first in ((0x50000, own), (0x50100, 0)):
        fields = (dump.id(one) for one in (first, hidden, hidden))
        dump.sub(_instance(dump, at, "shop/Below", b"".join(fields)))
        dump.root(SYSTEM_CLASS, at)

    found = kept(heap_of(dump, tmp_path, "shop.*"))

    assert found[0x50000] == {"field_n": 1, "field_m": 2}
    assert found[0x50100] == {"field_m": 2}


def _instance(dump: Hprof, at: int, name: str, body: bytes) -> bytes:
    head = b"\x21" + dump.id(at) + bytes(4) + dump.id(dump.classes[name])
    return head + len(body).to_bytes(4, "big") + body


def test_attributes_of_python(tmp_path: Path) -> None:
    heap = HrpyHeap()
    heap.type("shop.Task", 0x100)
    heap.type("shop.Urgent", 0x110)
    heap.type("shop.State", 0x120)
    bases, ids = [0x200, 0x210, 0x220], [0x100, 0x110, 0x120]
    heap.chunk("enum.EnumType", [0x120], named={"__bases__": [0x220]})
    heap.chunk("type", [0x100, 0x110], named={"__bases__": bases[:2]})
    heap.chunk("tuple", bases, rest=[[0x300], [0x100, 0x300], [0x300]])
    heap.chunk("type", [0x300])
    heap.chunk("str", [0x400], flags=Flag.TEXTS, values=texts_of(["OPEN"]))
    heap.chunk("shop.State", [0x410], named={"_name_": [0x400]})
    heap.chunk("int", [0x420], flags=Flag.INTEGERS, values=longs([3]))
    heap.chunk("shop.Task", [0x500], named={"status": [0x420], "state": [0x410]})
    heap.chunk("shop.Urgent", [0x510], named={"status": [0x420], "name": [0x400]})
    heap.chunk("list", [0x600], rest=[[*ids, 0x500, 0x510]])

    graph = heap_of(heap, tmp_path, "shop.*")

    found = kept(graph)
    assert found[0x500] == {"field_status": 3, "field_state": "OPEN"}
    assert found[0x510] == {"field_status": 3}
    types, above = supertypes(graph)
    names = graph.type_names
    assert [
        (names[one], names[two]) for one, two in zip(types, above, strict=True)
    ] == [("shop.Urgent", "shop.Task")]


def test_properties_of_javascript(tmp_path: Path) -> None:
    heap = V8Heap()
    root, task = heap.node("synthetic", ""), heap.node("object", "Task", 40)
    other = heap.node("object", "Other", 24)
    heap.edge(root, "element", 1, task)
    heap.edge(root, "element", 2, other)
    for name, kind, text in (
        ("status", "smi number", "3"), ("weight", "heap number", "-0.5"),
        ("big", "heap number", "1e+21"), ("most", "heap number", "9007199254740992"),
        ("none", "heap number", "NaN"), ("odd", "heap number", "?"),
    ):  # fmt: skip
        told = heap.node("string", text)
        one = heap.node("number", kind, edges=[("internal", "value", told)])
        heap.edge(task, "property", name, one)
        heap.edge(other, "property", name, one)
    old = heap.node("hidden", "system / Oddball", 48)
    heap.edge(old, "hidden", 0, heap.node("string", "true", 16))
    heap.edge(task, "property", "old", old)
    heap.edge(task, "property", "new", heap.node("hidden", "false"))
    heap.edge(task, "property", "nothing", heap.node("hidden", "null"))
    heap.edge(task, "property", "any", heap.node("number", "heap number", 16))
    heap.edge(task, "element", 0, one)

    graph = heap_of(heap, tmp_path, "Task")

    ((address, found),) = kept(graph).items()
    assert address == 3
    assert math.isnan(cast("float", found.pop("field_none")))
    assert found == {
        "field_status": 3, "field_weight": -0.5, "field_big": 1e21,
        "field_most": 2**53, "field_old": True, "field_new": False,
    }  # fmt: skip
    assert graph.values is not None
    values = graph.values.pick(np.arange(graph.object_count))
    assert values.count("-0.5") == 1  # the number, not its text
    assert "?" not in values
    assert not any("numeric" in note for note in graph.notes)


def test_a_snapshot_without_numbers_says_so(tmp_path: Path) -> None:
    heap = V8Heap()
    root, task = heap.node("synthetic", ""), heap.node("object", "Task", 40)
    heap.edge(root, "element", 1, task)
    heap.edge(task, "property", "done", heap.node("hidden", "true"))
    heap.edge(task, "property", "any", heap.node("number", "heap number", 16))

    graph = heap_of(heap, tmp_path, "Task")

    assert kept(graph) == {3: {"field_done": True}}
    assert "taken without numeric values" in graph.notes[-1]
    with pytest.raises(DumpError, match="Bun records no values of fields"):
        heap_of(bun(), tmp_path, "*")


def test_fields_of_dart(tmp_path: Path) -> None:
    heap = DartHeap()
    shop = "package:shop/task.dart"
    for name, library, fields in (
        ("Root", "", []), ("Null", "", []), ("_Smi", "dart:core", []),
        ("_Double", "dart:core", []), ("bool", "dart:core", []),
        ("_OneByteString", "dart:core", []), ("State", shop, ["index", "_name"]),
        ("Task", shop, ["status", None, "done", "weight", "state", "size", "_x"]),
        ("Urgent", shop, ["status", None, "done", "weight", "state", "size", "_x",
                          "_x"]),
    ):  # fmt: skip
        heap.cls(name, library, fields)
    # Root, null, -3, true, 0.5, OPEN, the name of that, two tasks
    heap.obj("Root", 0, [8, 9])
    heap.obj("Null", 0, data=bytes([NULL]))
    heap.obj("_Smi", 0, data=dart_number(2**32 - 3))
    heap.obj("bool", 0, data=boolean(True))
    heap.obj("_Double", 16, data=double(0.5))
    heap.obj("State", 16, [3, 7])
    heap.obj("_OneByteString", 16, data=latin1("OPEN"))
    heap.obj("Task", 48, [3, 3, 4, 5, 6, 0, 3])
    heap.obj("Urgent", 48, [3, 3, 2, 2, 2, 0, 3, 2])

    graph = heap_of(heap, tmp_path, "*::Task", "*::Urgent")

    task, urgent = kept(graph).values()
    assert task == {
        "field_status": -3, "field_done": True, "field_weight": 0.5,
        "field_state": "OPEN", "field__x": -3,
    }  # fmt: skip
    assert urgent == {"field_status": -3}
    assert graph.notes[-1].endswith(f": {shop}::Task.size, {shop}::Urgent.size")
    assert heap_of(heap, tmp_path).notes == ()
