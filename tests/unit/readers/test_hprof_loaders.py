"""What holds the classes of a Java program, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.graph import RootKind
from ingest.runtimes import named
from ingest.suspects.find import find_suspects
from ingest.suspects.holders import Paths
from ingest.what_if.cut_parser import CutParser
from tests.dumps.hprof import OBJECT, SYSTEM_CLASS
from tests.dumps.plugins import CLASS, LOADER, host, plugin
from tests.unit.readers.shared import by_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph

    Reading = Callable[..., HeapGraph]


def _alive(graph: HeapGraph, *addresses: int) -> list[bool]:
    distance, rows = analyse(graph).root_distance, by_id(graph)
    return [bool(distance[rows[address]] >= 0) for address in addresses]


def _static_roots(graph: HeapGraph) -> list[str]:
    kinds = (RootKind.STATIC, RootKind.RUNTIME)
    return [
        graph.root_name(root)
        for root, kind in enumerate(graph.root_kind.tolist())
        if kind in kinds
    ]


def test_an_instance_holds_its_class_and_loader_and_a_dropped_one_does_not(
    reading: Reading,
) -> None:
    dump = host({"HELD": 0x15000})
    plugin(dump, 0x10, "app/Held")
    plugin(dump, 0x20, "app/Dead")

    graph = reading(dump.bytes())

    for at, is_alive in ((0x10000, True), (0x20000, False)):
        parts = (LOADER, CLASS, 0x5000, 0x6000, 0x7000)
        assert _alive(graph, *(at + part for part in parts)) == [is_alive] * 5
    assert _static_roots(graph) == ["static root in Main.HELD"]
    metrics, rows = analyse(graph), by_id(graph)
    path = [0x16000]  # what is in the static field
    while metrics.path_parent[rows[path[0]]] >= 0:
        parent = int(metrics.path_parent[rows[path[0]]])
        path.insert(0, int(graph.object_id[parent]))
    assert path == [0x15000, 0x12100, 0x16000]
    assert metrics.retained_bytes[rows[0x15000]] == sum(
        int(graph.shallow_bytes[rows[at]])
        for at in (0x15000, 0x12100, 0x13000, 0x16000, 0x17000, 0x18000)
    )


@pytest.mark.parametrize("names", [("app/Web", "app/Web"), ("app/Chat", "app/Map")])
def test_a_loader_that_is_kept_holds_its_classes_and_they_all_they_have(
    names: tuple[str, str], reading: Reading
) -> None:
    """Two of one application, or of plug-ins: what keeps one may be the leak."""
    dump = host({"A": 0x13000, "B": 0x23000})
    for number, name in zip((0x10, 0x20), names, strict=True):
        plugin(dump, number, name)

    graph = reading(dump.bytes())

    assert _alive(graph, 0x12100, 0x16000, 0x22100, 0x26000) == [True] * 4
    assert _static_roots(graph) == ["static root in Main.A", "static root in Main.B"]


@pytest.mark.parametrize("count", [10, 2000])
def test_static_fields_of_the_only_loader_with_such_classes_are_roots(
    count: int, reading: Reading
) -> None:
    """As those of a fat JAR. Its many instances cost no reference each."""
    dump = host({"LOADER": 0x13000})
    plugin(dump, 0x10, "app/Fat")
    for i in range(count):
        dump.obj(0x100000 + 16 * i, "app/Fat")

    graph = reading(dump.bytes())

    assert "static root in Fat.CACHE" in _static_roots(graph)
    assert "runtime root in Fat.<resolved_references>" in _static_roots(graph)
    assert _alive(graph, 0x16000, 0x17000) == [True, True]
    assert graph.reference_count < 100


@pytest.mark.parametrize(
    ("loader", "version"),
    [
        ("jdk/internal/loader/ClassLoaders$AppClassLoader", "1.0.2"),
        ("sun/misc/Launcher$AppClassLoader", "1.0.1"),
        ("dalvik/system/PathClassLoader", "1.0.3"),
    ],
)
def test_the_vm_keeps_its_own_loaders_and_android_all(
    loader: str, version: str, reading: Reading
) -> None:
    dump = host({}, version=version)
    dump.cls(loader, 0x2040, "java/lang/Object")
    plugin(dump, 0x10, "app/Main2", loader=loader)

    graph = reading(dump.bytes())

    assert "static root in Main2.CACHE" in _static_roots(graph)
    assert _alive(graph, 0x16000) == [True]


def test_the_loader_of_the_program_and_system_classes_are_kept(
    reading: Reading,
) -> None:
    dump = host({})
    scl: dict[str, tuple[int, float]] = {"scl": (OBJECT, 0x13000)}
    dump.cls("java/lang/ClassLoader", 0x2060, "java/lang/Object", statics=scl)
    plugin(dump, 0x10, "app/OfProgram")
    plugin(dump, 0x20, "app/System")
    dump.root(SYSTEM_CLASS, CLASS + 0x20000)
    dump.root(SYSTEM_CLASS, 0x2060)

    graph = reading(dump.bytes())

    assert {"static root in OfProgram.CACHE", "static root in System.CACHE"} <= set(
        _static_roots(graph)
    )


def test_a_class_is_no_holder_and_its_static_fields_are(reading: Reading) -> None:
    dump = host({"SCRIPTS": 0x4000})
    dump.array(0x4000, "[Ljava/lang/Object;", range(0x105000, 0x205000, 0x10000))
    for number in range(0x100, 0x200, 0x10):
        plugin(dump, number, "app/Script")
    graph = reading(dump.bytes())
    classes = named(graph.runtime).type_classes(graph.type_names)
    rows, paths = by_id(graph), Paths(graph, analyse(graph), classes)

    def held_by(address: int) -> tuple[str | None, str | None]:
        row = rows[address]
        members = np.array([row], np.int32)
        found = paths.holder(int(graph.type_index[row]), members)
        assert found is not None
        return found.type_name, found.reference

    cut = CutParser(graph).cut("Script.CACHE -> Object")
    assert set(graph.ref_target[cut.references].tolist()) == {
        rows[0x6000 + 0x1000 * number] for number in range(0x100, 0x200, 0x10)
    }
    assert held_by(0x103000) == ("app.Main", "SCRIPTS")  # a loader
    assert held_by(0x106000) == ("app.Script", "CACHE")


def test_what_many_loaders_have_of_one_name_is_one_suspect(reading: Reading) -> None:
    dump = host({"SCRIPTS": 0x4000})
    dump.array(0x4000, "[Ljava/lang/Object;", range(0x105000, 0x605000, 0x10000))
    for number in range(0x100, 0x600, 0x10):
        plugin(dump, number, "app/Script")
    graph = reading(dump.bytes())

    (suspect, *_) = find_suspects(graph, analyse(graph)).suspects

    assert (suspect.object_count, suspect.reference) == (80, "SCRIPTS")
    assert graph.type_names[suspect.type_index] == "app.Script"
    assert suspect.holder == "app.Main"
    assert suspect.share > 0.9
