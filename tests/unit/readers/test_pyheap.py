"""The reader of PyHeap files against files that say what they hold."""

from __future__ import annotations

import gzip
import hashlib
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.errors import DumpError, MalformedDump, TruncatedDump
from ingest.heap.read_options import DEFAULTS, Fold, ReadOptions
from ingest.progress import silent
from ingest.readers import open_source
from ingest.readers import read as read_any
from ingest.readers.pyheap.reader import read
from ingest.suspects.find import find_suspects
from tests.deep import cuts
from tests.dumps.pyheap import KNOWN, PyHeap, example, ids, program, text, u32
from tests.pythons import installed
from tests.unit.readers.shared import (
    Pieces,
    alive,
    by_id,
    references,
    root_names,
    value,
    warnings,
)

if TYPE_CHECKING:
    from ingest.heap.graph import HeapGraph

PROGRAMS = Path(__file__).parents[2] / "programs"


def graph_of(heap: PyHeap | bytes, size: int = 1 << 20, **options: object) -> HeapGraph:
    data = heap if isinstance(heap, bytes) else heap.bytes()
    asked = ReadOptions(**options)  # type: ignore[arg-type]
    return read(Pieces(data, size), asked, silent)  # type: ignore[arg-type]


def kind(graph: HeapGraph, ident: int) -> str:
    return graph.type_name(by_id(graph)[ident])


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_all_of_a_heap_is_read(size: int) -> None:
    graph = graph_of(program(), size)

    assert (graph.format_name, graph.runtime) == ("pyheap", "python")
    assert warnings(graph) == {"missing_object": 1}
    assert value(graph, 0x110) == "ключ"
    assert value(graph, 0x130) == "7"
    assert value(graph, 0x138) is None
    assert value(graph, 0x140) == "2.5"
    assert value(graph, 0x148) == "true"
    assert value(graph, 0x150) is None
    assert graph.length is not None
    assert graph.length[by_id(graph)[0x300]] == 2
    assert references(graph, 0x300) == [
        (0x110, "(key)"), (0x400, "['ключ']"), (0x130, "(key)"), (0x410, "[7]"),
    ]  # fmt: skip
    assert references(graph, 0x600) == [(0x400, "[0]"), (0x410, "[1]")]
    assert [name for _, name in references(graph, 0x500)] == [None, None]
    assert graph.shallow_bytes[by_id(graph)[0x400]] == 48


def test_types_have_the_module_that_their_objects_tell() -> None:
    graph = graph_of(program())

    assert kind(graph, 0x400) == "app.cache.Session"
    assert kind(graph, 0x820) == "Capsule"
    assert kind(graph, 0x130) == "int"
    heap = program()
    heap.obj(0x8000, "type", told="<class 'evil.Other'>")
    heap.types[0x8000] = "Mine"
    heap.obj(0x8100, "Mine", told="x")
    assert kind(graph_of(heap), 0x8100) == "Mine"


def test_objects_of_the_runtime_have_their_names() -> None:
    graph = graph_of(program())

    assert value(graph, 0x210) == "app.cache"
    assert value(graph, 0x700) == "make.<locals>.handler"
    assert value(graph, 0x710) == "handler (/app/cache.py:9)"
    session = next(i for i, name in program().types.items() if name == "Session")
    assert value(graph, session) == "app.cache.Session"


@pytest.mark.parametrize(
    ("name", "told", "expected"),
    [
        ("function", "<function f at 0xDEAD>", "f"),
        ("builtin_function_or_method", "<built-in function len>", "len"),
        ("coroutine", "<coroutine object serve at 0x7f>", "serve"),
        ("async_generator", "<async_generator object a.b at 0x7f>", "a.b"),
        ("frame", "<frame at 0x7f, file '/a.py', line 3, code f>", "f (/a.py:3)"),
        ("Task", "<Task pending name='T-1' coro=<serve() running at a>>", "serve"),
        ("function", "<function f", None),
        ("frame", "<ERROR on __str__>", None),
        ("float", "1.2.3", None),
        ("int", "99999999999999999999", None),
        ("int", "9" * 200, None),
        ("bool", "maybe", None),
        ("Session", "<app.Session object at 0x7f>", None),
    ],
)
def test_a_text_tells_the_name_of_an_object(
    name: str, told: str, expected: str | None
) -> None:
    assert value(graph_of(program().obj(0x8000, name, told=told)), 0x8000) == expected


def test_a_long_text_is_cut_between_characters() -> None:
    graph = graph_of(PyHeap().string(0x100, "я" * 300).string(0x200, "x" * 60_000))

    assert value(graph, 0x100) == "я" * 128


def test_references_have_names_of_attributes_only_where_they_are_values() -> None:
    graph = graph_of(program())
    session = next(i for i, name in program().types.items() if name == "Session")

    # `__doc__` of the class has the same value as `none`, which it does not name.
    assert references(graph, 0x400) == [
        (0x130, "number"), (0x120, "user"), (0x150, "none"), (session, None),
    ]  # fmt: skip
    assert references(graph, 0x700) == [
        (0x710, "__code__"), (0x200, "__globals__"), (0x720, "__closure__"),
    ]  # fmt: skip
    assert references(graph, 0x730) == [(0x600, "cell_contents")]


def test_a_dict_of_one_object_becomes_part_of_it() -> None:
    graph = graph_of(program())
    session = next(i for i, name in program().types.items() if name == "Session")

    assert 0x420 not in by_id(graph)
    assert references(graph, 0x410) == [
        (session, None), (0x120, "(key)"), (0x140, "user"), (0x128, "(key)"),
        (0x148, "handler"),
    ]  # fmt: skip
    assert graph.shallow_bytes[by_id(graph)[0x410]] == 32 + 64
    assert 0x200 in by_id(graph)  # a function refers to it too
    whole = graph_of(program(), fold=Fold.NONE)
    assert references(whole, 0x410)[0] == (0x420, "__dict__")


def test_a_function_that_is_alone_does_not_own_its_globals() -> None:
    heap = PyHeap(frequent=["__dict__"]).string(0x100, "x")
    heap.obj(0x200, "dict", content=[0x100, 0x100])
    heap.obj(0x300, "function", 0x200, attributes=[("__dict__", 0x10)])

    assert references(graph_of(heap), 0x300) == [(0x200, "__globals__")]


def test_modules_stacks_and_what_nothing_refers_to_are_roots() -> None:
    graph = graph_of(program())

    assert root_names(graph, 0x300) == ["static root app.cache.SESSIONS"]
    assert root_names(graph, 0x700) == ["static root app.cache.handler"]
    assert root_names(graph, 0x210) == ["static root app.cache"]
    assert root_names(graph, 0x600) == ["local root in work (/app/cache.py:42) rows"]
    assert root_names(graph, 0x810) == [
        "local root in <module> (/app/cache.py:50) mine"
    ]
    assert root_names(graph, 0x820) == ["runtime root"]
    assert root_names(graph, 0x138) == []
    assert graph.owners == ("MainThread",)
    assert 0x830 in alive(graph)
    heap = program()
    heap.threads.clear()
    assert {0x800, 0x810} & alive(graph_of(heap)) == set()


def test_what_the_format_lacks_is_said() -> None:
    notes = " ".join(graph_of(program()).notes)
    assert "no roots but the locals" in notes
    assert "sys.getsizeof" in notes
    assert "without texts" not in notes
    assert "4 GiB" not in notes
    heap = program().obj(0x900, "bytes", size=(1 << 32) - 1, told="b''")
    assert "4 GiB" in " ".join(graph_of(heap).notes)


def test_a_file_without_texts() -> None:
    heap = PyHeap(texts=False)
    heap.obj(0x100, "str").obj(0x200, "dict", content=[0x100, 0x300])
    heap.obj(0x300, "list").obj(0x400, "module", 0x200)
    graph = graph_of(heap)

    assert "without texts" in " ".join(graph.notes)
    assert root_names(graph, 0x400) == ["static root module 0x400"]
    assert references(graph, 0x400) == [(0x100, "(key)"), (0x300, "[0]")]


def test_an_id_twice_and_a_type_that_nothing_declares_are_counted() -> None:
    heap = program().obj(0x400, "list", content=[0x999])
    heap.objects.append(ids([0x900, 0x7777]) + u32(8) + u32(0) + u32(0) + text("x"))
    graph = graph_of(heap)

    assert warnings(graph) == {
        "repeated_object": 1, "undeclared_type": 1, "missing_object": 1,
    }  # fmt: skip
    assert kind(graph, 0x400) == "app.cache.Session"
    assert kind(graph, 0x900) == "<type 0x7777>"


def test_a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused() -> None:
    data = example()
    seen = set()
    for end in cuts(12, len(data), every=11):
        try:
            graph = graph_of(data[:end])
        except DumpError as error:
            seen.add("refused" if error.offset is not None else "refused nowhere")
            continue
        assert "truncated_record" in warnings(graph)
        assert "ends too early" in graph.incomplete
        with pytest.raises(TruncatedDump):
            graph_of(data[:end], strict=True)
        seen.add("read")
    assert seen == {"refused", "read"}


def test_what_is_known_without_the_table_of_types_is_named() -> None:
    heap = program()
    data = heap.head() + u32(len(heap.objects)) + b"".join(heap.objects)
    graph = graph_of(data)

    assert kind(graph, 0x300) == "dict"
    assert kind(graph, 0x400) == "app.cache.Session"
    assert kind(graph, 0x820).startswith("<type 0x")


def _objects(data: bytes, claimed: int = 1) -> bytes:
    return PyHeap().head() + u32(claimed) + data


_TABLES = len(PyHeap().head()) - 8 - 4
"""Where the number of threads is, in a file without names."""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (PyHeap(version=2).bytes(), "version 2 of the format"),
        (PyHeap().bytes(), "claims no objects"),
        (example() + b"more", None),
        (example()[:-8] + bytes(8), "does not end with its magic number"),
        (_objects(b"", 10**9), "ends before its first object"),
        (_objects(b"", (1 << 32) - 1), "claims 4,294,967,295 objects"),
        (_objects(ids([1, 0x12]) + u32(8) + u32(1 << 31)), "more elements"),
        (_objects(ids([1, 0x10]) + u32(8) + u32(1 << 31)), "more elements"),
        (_objects(ids([1, 2]) + u32(8) + u32((1 << 32) - 1)), "more elements"),
        (_objects(ids([1, 2]) + u32(8) + u32(1 << 30)), "first object"),
        (
            _objects(
                ids([1, 2])
                + u32(8)
                + u32(0)
                + u32(1)
                + struct.pack(">h", -1)
                + ids([1])
            ),
            "a name that is not declared",
        ),
        (PyHeap().head()[:_TABLES] + u32((1 << 32) - 1), "ends within"),
        (PyHeap().head()[: _TABLES + 4] + u32(1 << 16), "65,536 names"),
        (
            PyHeap().head()[: _TABLES + 4] + u32(1) + struct.pack(">h", -1),
            "negative length",
        ),
        (PyHeap().head()[: _TABLES + 8] + u32((1 << 32) - 1), "common types"),
        (
            PyHeap().head()[: _TABLES + 8] + u32(1) + ids([1]) + u32(1) + b"\xff\xff",
            "a name that is not declared",
        ),
    ],
)
def test_what_contradicts_the_format_is_refused_with_its_byte(
    data: bytes, said: str | None
) -> None:
    if said is None:
        assert warnings(graph_of(data)) == {"missing_object": 1, "trailing_bytes": 4}
        return
    began = time.process_time()
    with pytest.raises((MalformedDump, TruncatedDump), match=said) as told:
        graph_of(data)
    assert told.value.offset
    assert time.process_time() - began < 5


@pytest.mark.deep
def test_many_attributes_and_many_references_take_no_square_of_time() -> None:
    many = 30_000
    heap = PyHeap()
    attributes = [(f"a{n % 10}", 0x10_0000 + n) for n in range(many)]
    heap.obj(1, "Wide", *range(0x20_0000, 0x20_0000 + many), attributes=attributes)
    heap.obj(2, "Wide", *range(50), attributes=attributes)
    for n in range(300):
        heap.obj(0x50 + n, "module", 0x400, told=f"<module 'm{n}'>")
    heap.obj(0x400, "dict", content=[3, 4] * many)
    graph_of(heap)
    began = time.process_time()
    graph_of(heap)

    assert time.process_time() - began < 5


def test_a_compressed_file_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(gzip.compress(example()))
    with open_source(str(path)) as source:
        assert read_any(source, DEFAULTS, silent).format_name == "pyheap"


def test_types_known_by_name_need_not_be_all() -> None:
    heap = program()
    for ident in list(heap.types)[: len(KNOWN)]:
        heap.types[ident] += "?"

    # Then a list is an object like others, of which the file has no content.
    with pytest.raises(DumpError):
        graph_of(heap)


_LIVE = """
import sys
sys.path[:0] = [{programs!r}, {dumps!r}]
import pyheap, types
sys.modules["heaproots_dump"] = types.SimpleNamespace(dump=lambda p, _: pyheap.live(p))
sys.argv[1:] = [{kind!r}, {path!r}]
with open({programs!r} + "/leaks.py") as file:
    text = file.read()
exec(compile(text.replace("__file__", repr({programs!r} + "/leaks.py")), "leaks.py",
    "exec"), globals())
"""

_PYTHONS = list(filter(None, [sys.executable, installed(8)]))
_HELD = {
    "module_dict": "are held in dict __main__.SESSIONS",
    "instance_attribute": "Registry.members, from global variable __main__.REGISTRY",
    "closure": "the closure of make.<locals>.handler",
    "traceback": "the frame of fail (",
    "running_local": "local variable kept of main (",
}


@pytest.mark.deep
@pytest.mark.parametrize("leak", _HELD)
@pytest.mark.parametrize("python", _PYTHONS)
def test_a_real_program_is_read(python: str, leak: str, tmp_path: Path) -> None:
    path = tmp_path / "live.pyheap"
    dumps = str(PROGRAMS.parent / "dumps")
    program = _LIVE.format(
        programs=str(PROGRAMS), dumps=dumps, kind=leak, path=str(path)
    )
    subprocess.run([python, "-c", program], check=True, timeout=120)
    with open_source(str(path)) as source:
        graph = read_any(source, DEFAULTS, silent)
    metrics = analyse(graph)
    first, *_ = find_suspects(graph, metrics).suspects

    assert first.sentence.startswith("4,000 Session (")
    assert _HELD[leak] in first.sentence
    assert np.count_nonzero(metrics.root_distance < 0) < 0.02 * graph.object_count


def test_a_file_of_pydump_is_read() -> None:
    heap = PyHeap(types={0x1000 + n: name for n, name in enumerate(KNOWN)})
    frame = ("/app/main.py", 42, "run", [("payload", 0x2000)])
    heap.threads.append(("MainThread", [frame]))
    heap.obj(0x2000, "list", size=64, content=[0x3000, 0x4000])
    heap.obj(0x3000, "object", size=16, told="<object at 0x3000>")
    heap.obj(0x4000, "object", 0x3000, size=32, told="<object at 0x4000>")
    heap.obj(0x5000, "object", 0x3000, size=8, told="<object at 0x5000>")
    heap.obj(0x6000, "set", size=48, content=[0x4000, 0x3000])
    heap.obj(0x7000, "tuple", size=40, content=[0x3000])
    heap.obj(0x8000, "dict", size=80, content=[0x3000, 0x4000])
    used = {i: heap.types[i] for i in (0x1000, 0x1001, 0x1002, 0x1003, 0x100A)}
    data = heap.bytes(types=used)
    graph = graph_of(data)

    # The file, and the figures, that its project has for tests of other readers.
    assert hashlib.sha256(data).hexdigest() == (
        "6fd07af74817a21c2b16591cd27351f3520a8d086282123d38fac2cd808b7d51"
    )
    assert not graph.irregularities
    assert (graph.object_count, graph.reference_count) == (7, 9)
    assert graph.shallow_bytes.sum() == 288
    assert root_names(graph, 0x2000) == ["local root in run (/app/main.py:42) payload"]
