"""What is known of each runtime, and which heaps are of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ingest.errors import InvalidGraph
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read, read_all
from ingest.readers.gclog.example import example_gclog
from ingest.runtimes import (
    CPYTHON,
    DART,
    DOTNET,
    JAVASCRIPT,
    JVM,
    NAMES,
    RUNTIMES,
    UNKNOWN,
    Runtime,
    TypeClass,
    named,
    of_types,
)
from tests.dumps.gclog import Gclog
from tests.unit.graphs import graph_of

if TYPE_CHECKING:
    from pathlib import Path

STRINGS = {
    "dotnet": "System.String",
    "jvm": "java.lang.String",
    "dart": "dart:core::_OneByteString",
    "javascript": "(Type String)",
    "v8": "(string)",
    "bun": "(string)",
    "python": "str",
    "ruby": "String",
}


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)
def test_each_runtime_is_described(runtime: Runtime) -> None:
    assert re.fullmatch("[a-z][a-z0-9]*", runtime.name)
    assert named(runtime.name) is runtime
    assert runtime.program.split()[0] in ("a", "an")
    kinds = runtime.type_classes([STRINGS[runtime.name], "App.Order"])
    assert kinds.tolist() == [TypeClass.LIBRARY, TypeClass.PROGRAM]


def test_what_the_browser_has_for_elements_is_not_the_programs_own() -> None:
    names = [
        "Detached <canvas>", "Detached HTMLDocument", "Detached FrameShapeCache",
        "Detached HeapHashTableBacking<Font>",
    ]  # fmt: skip
    assert named("v8").type_classes(names).tolist() == [
        TypeClass.PROGRAM, TypeClass.PROGRAM, TypeClass.LIBRARY, TypeClass.CONTAINER,
    ]  # fmt: skip


def test_names_are_those_of_the_registry() -> None:
    assert {"", *(runtime.name for runtime in RUNTIMES)} == NAMES
    assert len(NAMES) == len(RUNTIMES) + 1


def test_of_an_unknown_runtime_all_is_the_programs() -> None:
    names = list(STRINGS.values())

    assert not UNKNOWN.type_classes(names).any()
    java = [name.startswith("java.") for name in names]
    assert UNKNOWN.type_classes(names, ["!java.*"]).astype(bool).tolist() == java
    assert not UNKNOWN.type_classes([], ["A"]).size


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], DOTNET),
        (["System.String", "App.Dart"], DOTNET),
        (["dart:core::_List", "Root"], DART),
        (["[JS Roots]"], JAVASCRIPT),
        (["System.String", "[] (Type  JSArray)"], JAVASCRIPT),
    ],
)
def test_a_converted_heap_is_known_by_its_types(
    names: list[str], expected: Runtime
) -> None:
    assert of_types(names, DOTNET) == expected.name


def test_objects_of_dotnet_in_a_heap_of_javascript() -> None:
    names = ["[JS Roots]", "[] (Type  JSArray)", "System.String", "App.Order[]"]

    assert JAVASCRIPT.type_classes(names).tolist() == [
        TypeClass.ROOTS,
        TypeClass.CONTAINER,
        TypeClass.LIBRARY,
        TypeClass.CONTAINER,
    ]
    assert not JVM.has_signs(names)


def test_a_heap_has_a_known_runtime() -> None:
    graph = graph_of([1], [], roots=[0])

    assert graph.runtime == ""
    assert replace(graph, runtime="jvm").runtime == "jvm"
    with pytest.raises(InvalidGraph, match="runtime is 'cobol'"):
        replace(graph, runtime="cobol")


def test_the_user_knows_better(tmp_path: Path) -> None:
    path = tmp_path / "example.gclog"
    path.write_text(example_gclog(), encoding="utf-8")

    def runtimes(asked: str | None) -> set[str]:
        options = ReadOptions(runtime=asked)
        with open_source(str(path)) as source:
            one = read(source, options, silent)
        with open_source(str(path)) as source:
            (pending,) = read_all(source, options, silent)
            return {one.runtime, pending.graph().runtime}

    assert runtimes(None) == {"dotnet"}
    assert runtimes("dart") == {"dart"}
    assert runtimes("") == {""}


def test_a_gclog_of_the_dart_vm_is_of_dart(tmp_path: Path) -> None:
    log = Gclog().domain("App").type(1, "dart:core::_List").object(0x10, 1, 24, [])
    path = tmp_path / "dart.gclog"
    path.write_bytes(log.close("App").bytes())

    with open_source(str(path)) as source:
        assert read(source, ReadOptions(), silent).runtime == "dart"


def test_types_that_each_python_program_has_are_not_its_own() -> None:
    names = ["Token.MISSING", "_abc_data", "_distutils_hack.DistutilsMetaFinder"]

    assert CPYTHON.type_classes(names).all()


def test_what_wakes_a_task_leads_only_to_it() -> None:
    """Until CPython 3.11 the names of these types have no module."""
    names = ["TaskStepMethWrapper", "TaskWakeupMethWrapper", "_asyncio.Task"]
    assert (CPYTHON.type_classes(names) == TypeClass.CONTAINER).all()
