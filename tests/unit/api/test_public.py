"""What is public: names, signatures, cost of the import, examples, shared memory."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ingest
from ingest.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Ran

PUBLIC = """
Check: findings, is_clean, is_conclusive, verdict, written(form='text')
Compared: comparison, facts(by=()), frame(by=()), markdown(by=(), top=10), page(by=(), \
top=10), rows(by=()), text(by=(), top=10)
Graph: cypher(text, *, dump=None, limit=10000, timeout_s=30.0, **parameters), dumps(), \
load(dump, *, name=None, replace=False, via='auto', **reading), query(query, *, \
dump=None, **parameters), report(*, dump=None), why(subject, *, dump=None, paths=5)
Heap: close(), dominators(), graph, identity, metrics, name, objects(type=None, *, \
columns=None), paths_to_root(subject, k=5), query(query, **parameters), report(), \
summary(*, top=10), suspects(), \
tables, treemap(), types(), what_if(cuts=(), *, best=None, free=100, top=10), \
why(subject, *, paths=5)
capture(program, output=None, *, runtime=None, force=False, timeout_s=None, progress, \
**options)
check(dumps, *, against=(), baseline=None, config=None, strict_baseline=False, \
min_dumps=1, allow_incomplete=False, progress, **reading)
compare(*dumps, progress, **reading)
connect(uri=None, username=None, password=None, database=None, *, progress)
export(dump, folder, *, kind='parquet', name=None, force=False, progress, **reading)
open(dump, *, progress, **reading)
"""
"""A change here is one that users notice: the changelog tells it, and the version."""


def signature(name: str, of: object) -> str:
    """Its parameters, without types; progress has a default that is no value."""
    text = []
    parameters = inspect.signature(of).parameters.values()  # type: ignore[arg-type]
    for parameter in parameters:
        if parameter.name == "self":
            continue
        shown = str(parameter.replace(annotation=inspect.Parameter.empty))
        text.append("progress" if parameter.name == "progress" else shown)
    for at, parameter in enumerate(p for p in parameters if p.name != "self"):
        if parameter.kind is parameter.KEYWORD_ONLY:
            if not any(one.startswith("*") for one in text[:at]):
                text.insert(at, "*")
            break
    return f"{name}({', '.join(text)})"


def described(name: str) -> str:
    found = getattr(ingest, name)
    if not inspect.isclass(found):
        return signature(name, found)
    members = {*vars(found), *getattr(found, "__annotations__", {})}
    if name == "Check":
        members.add("verdict")
    shown = [
        signature(member, getattr(found, member))
        if inspect.isfunction(getattr(found, member, None))
        else member
        for member in sorted(members)
        if not member.startswith("_")
    ]
    return f"{name}: {', '.join(shown)}"


def test_public_names_and_signatures_are_these() -> None:
    names = [name for name in ingest.__all__ if name != "IngestError"]
    assert [described(name) for name in names] == PUBLIC.strip().splitlines()
    assert set(ingest.__all__) <= set(dir(ingest))
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = getattr(ingest, "opne")  # noqa: B009


def test_rooms_do_not_hide_functions_of_their_name() -> None:
    import_module("ingest.compare.changes")
    import_module("ingest.capture.jvm")

    assert callable(ingest.compare)
    assert callable(ingest.capture)


def test_the_import_loads_nothing_and_is_quick() -> None:
    code = (
        "import time; begin = time.process_time(); import ingest; "
        "print(time.process_time() - begin); import sys; "
        "print(*{one.partition('.')[0] for one in sys.modules})"
    )
    took_s, modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert float(took_s) < 0.06
    assert not {"numpy", "polars", "typer", "neo4j", "numba"} & set(modules.split())


FLAG = doctest.register_optionflag("SERVER")
MODULES = ("ingest.api.heap", "ingest.api.calls", "ingest.api.graph")


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("module", MODULES)
def test_examples_do_what_they_say(module: str) -> None:
    ran = failed = 0
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for one in doctest.DocTestFinder().find(import_module(module)):
        one.examples = [
            example for example in one.examples if FLAG not in example.options
        ]
        one.globs = {"ingest": ingest, "heap": ingest.open("example.gclog")}
        said: list[str] = []
        result = runner.run(one, out=said.append)
        assert not result.failed, "".join(said)
        ran, failed = ran + result.attempted, failed + result.failed
    assert ran or module.endswith("graph")


def test_every_public_function_has_an_example() -> None:
    for name in ("check", "compare", "connect", "export", "open"):
        assert ">>> " in (getattr(ingest, name).__doc__ or ""), name


@pytest.mark.usefixtures("example")
def test_frames_share_the_memory_of_the_columns() -> None:
    heap = ingest.open("example.gclog")
    objects, tree = heap.objects(), heap.dominators()

    for name in ("retained_bytes", "retained_count"):
        column = getattr(heap.metrics, name)
        assert np.shares_memory(objects[name].to_numpy(), column), name
    n = heap.graph.object_count
    assert np.shares_memory(
        objects["shallow_bytes"][:n].to_numpy(), heap.graph.shallow_bytes
    )
    assert heap.types()["retained_bytes"].to_list() == list(
        heap.metrics.type_retained_bytes
    )
    assert tree.height == int((heap.metrics.dominator != -2).sum())
    with pytest.raises(ValueError, match="read-only"):
        heap.graph.shallow_bytes[0] = 1


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_the_interface_and_the_commands_say_the_same(
    ingest: Callable[..., Ran],
) -> None:
    import ingest as api

    heap = api.open("example.gclog")
    assert str(heap.summary()) == ingest("info", "example.gclog")[1]
    assert (
        heap.summary().to_json() + "\n" == ingest("info", "example.gclog", "--json")[1]
    )
    assert str(heap.suspects()) in ingest("info", "example.gclog")[1]
    assert (
        str(heap.why("LevelScreen"))
        == ingest("why", "LevelScreen", "--in", "example.gclog")[1]
    )
    assert str(heap.report()) == ingest("report", "--in", "example.gclog")[1]
    assert (
        str(heap.what_if(["LevelScreen"]))
        == ingest("what-if", "example.gclog", "--cut", "LevelScreen")[1]
    )
    both = ("earlier.gclog", "example.gclog")
    assert str(api.compare(*both)) == ingest("compare", *both)[1]
    code, out, _ = ingest("check", *both)
    assert (code, out) == (20, str(api.check(both)))


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_cells_of_a_notebook_are_frames_that_load_nothing() -> None:
    heap = ingest.open("example.gclog")
    for shown in (
        heap,
        heap.summary(),
        heap.suspects(),
        heap.treemap(),
        heap.paths_to_root("LevelScreen"),
        heap.why("0x1c3291"),
        heap.report(),
        ingest.compare("earlier.gclog", "example.gclog"),
    ):
        cell = shown._repr_html_()
        assert cell.startswith('<iframe sandbox="allow-scripts"')
        assert cell.count("<iframe") == 1
        assert not re.search(r"(?:src|href)=&quot;(?:https?:)?//", cell)
    assert "Dominator tree" in heap.treemap()._repr_html_()


@pytest.mark.usefixtures("example")
def test_wrong_options_are_refused() -> None:
    for given, said in (
        ({"parts": 1}, "no option parts"),
        ({"layout": "1/2"}, "layout takes HEADER"),
        ({"runtime": "perl"}, "runtime is one of"),
        ({"hash_types": ["A"]}, "needs --redact"),
        ({"max_memory": "a lot"}, "takes a size"),
    ):
        with pytest.raises(BadParameter, match=said):
            ingest.open("example.gclog", **given)
    with pytest.raises(BadParameter, match="isolate is for dart"):
        ingest.capture(1, runtime="jvm", isolate="main")
    with pytest.raises(BadParameter, match="target is for chrome and node, and"):
        ingest.capture(1, runtime="python", target="main")
    with pytest.raises(BadParameter, match="name the host too"):
        ingest.capture(9222, runtime="chrome")
    with pytest.raises(BadParameter, match="no dump is named"):
        ingest.compare()


def test_a_heap_can_be_closed(example: Path) -> None:
    heap = ingest.open(str(example / "example.gclog"))
    kept = heap.types()
    heap.close()

    assert kept.height > 10
    with pytest.raises(AssertionError):
        heap.types()


def test_time_is_not_spent_twice(example: Path) -> None:
    heap = ingest.open(str(example / "example.gclog"))
    _ = heap.metrics
    begin = time.perf_counter()
    assert heap.metrics is heap.metrics
    assert time.perf_counter() - begin < 0.1
