"""Leak suspects of small programs, each with a leak that is known."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.analysis.distances import ROOT, UNREACHABLE
from ingest.analysis.metrics import analyse
from ingest.analysis.trees import marked
from ingest.heap.graph import RefKind
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source
from ingest.readers.gclog.reader import read
from ingest.runtimes import DART, DOTNET, TypeClass
from ingest.suspects.find import find_suspects
from ingest.suspects.ownership import ownership
from ingest.suspects.piles import PileSearch
from ingest.what_if.cut_parser import CutParser
from ingest.what_if.freed import WhatIf
from tests.bench.answers.healthy import HEALTHY
from tests.bench.answers.leaks import LEAKS
from tests.bench.answers.verdict import ask
from tests.deep import THOROUGH
from tests.dumps.gclog import Gclog
from tests.unit.graphs import small_graphs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ingest.heap.graph import HeapGraph
    from ingest.suspects.find import Findings

LOCAL, FINALIZER_QUEUE, HANDLE, STATIC = 1, 2, 3, 4
PINNED, WEAK = 1, 2


class Program:
    """Objects of a program by the names of their types, written as a gclog."""

    def __init__(self) -> None:
        self.log = Gclog().domain("App.exe")
        self._objects, self._types = count(0x1000), count(1)
        self._type = cache(self._new_type)

    def _new_type(self, name: str) -> int:
        number = next(self._types)
        self.log.type(number, name)
        return number

    def make(self, name: str, size: int = 24, targets: Iterable[int] = ()) -> int:
        number = next(self._objects)
        self.log.object(number, self._type(name), size, targets)
        return number

    def many(self, number: int, name: str, size: int = 100) -> list[int]:
        return [self.make(name, size) for _ in range(number)]

    def root(self, target: int, kind: int, flags: int = 0, within: str = "") -> None:
        container = self._type(within) if within else None
        self.log.root(target, kind, flags, container)

    def a_list(self, items: Iterable[int]) -> int:
        array = self.make("System.Object[]", 1000, items)
        return self.make("System.Collections.ArrayList", 24, [array])

    def background(self) -> None:
        """A healthy part: twenty types of which none has more than the others."""
        for kind in range(20):
            items = self.a_list(self.many(30, f"App.Part{kind}", 40))
            owner = self.make(f"App.Owner{kind}", 40, [items])
            self.root(owner, STATIC, within=f"App.Module{kind}")

    def graph(self, folder: Path) -> HeapGraph:
        path = folder / "program.gclog"
        path.write_bytes(self.log.close("App.exe").bytes())
        with open_source(str(path)) as source:
            return read(source, ReadOptions(), silent)

    def findings(self, folder: Path, own: tuple[str, ...] = ()) -> Findings:
        graph = self.graph(folder)
        return find_suspects(graph, analyse(graph), own)


@pytest.fixture
def program() -> Program:
    program = Program()
    program.background()
    return program


def test_a_healthy_heap_has_none(program: Program, tmp_path: Path) -> None:
    assert program.findings(tmp_path).suspects == ()


def test_a_leak_that_has_begun_is_a_smaller_group(
    program: Program, tmp_path: Path
) -> None:
    """Beside a large healthy table, whose rows are no group of their own."""
    rows = [program.make("App.Row", 300, [cell]) for cell in program.many(900, "App.C")]
    catalogue = program.make("App.Catalogue", 40, [program.a_list(rows)])
    program.root(catalogue, STATIC, within="App.Tables")
    sessions = program.a_list(program.many(150, "App.Session", 60))
    server = program.make("App.Server", 40, [sessions])
    program.root(server, STATIC, within="App.Main")
    for each in program.many(200, "App.Loose", 60):  # held one by one
        one = program.make(f"App.By{each}", 10, [each])
        program.root(one, STATIC, within="App.Main")
    found = program.findings(tmp_path)

    assert [one.holder for one in found.suspects] == ["App.Catalogue"]
    assert [(one.object_count, one.holder) for one in found.smaller] == [
        (150, "App.Server")
    ]
    assert "150 Session" in found.smaller[0].sentence


def test_what_weak_handles_alone_hold_is_no_suspect(
    program: Program, tmp_path: Path
) -> None:
    for each in program.many(500, "App.Cached", 100):
        program.root(each, HANDLE, WEAK)

    assert program.findings(tmp_path).suspects == ()


def test_a_list_of_the_programs_objects(program: Program, tmp_path: Path) -> None:
    orders = [
        program.make("App.Order", 60, program.many(3, "System.String", 80))
        for _ in range(200)
    ]
    shop = program.make("App.Shop", 40, [program.a_list(orders)])
    program.root(shop, STATIC, within="App.Main")

    (found,) = program.findings(tmp_path).suspects

    assert found.sentence == (
        "200 Order (59.6 KiB, 57% of the reachable heap) are held in a list by Shop, "
        "from a static field of Main."
    )
    assert found.advice == "To free them, remove entries at Shop -> ArrayList."
    assert (found.signs, found.doubts) == ((), ())
    bytes_of_orders = 200 * (60 + 3 * 80)
    assert (found.object_count, found.retained_bytes) == (200, bytes_of_orders + 1024)
    assert (found.holder, found.reference, found.pattern) == ("App.Shop", None, "list")
    assert (found.root_kind, found.root_name) == ("static", "Main")
    assert found.path[0] == "static root in Main"
    assert found.path[found.cut_step or 0].startswith("ArrayList 0x")
    assert found.contents[0] == "600 String, 46.9 KiB"


@pytest.mark.parametrize("handler", ["App.ClosedEventHandler", "App.Xq7"])
def test_subscribers_of_an_event(
    program: Program, tmp_path: Path, handler: str
) -> None:
    """Delegates of the program's own types are no pile, whatever their name."""
    screens = program.many(40, "App.Screen", 2000)
    delegates = [program.make(handler, 32, [screen]) for screen in screens]
    array = program.make("System.Object[]", 400, delegates)
    event = program.make(handler, 32, [array])
    program.root(event, STATIC, within="App.Events")

    (found,) = program.findings(tmp_path).suspects

    assert (found.object_count, found.holder) == (40, "App.Events")
    assert found.path[-1].startswith("Screen 0x")
    if "Handler" in handler:
        assert found.pattern == "event handlers"


def test_a_linked_list_counts_all_nodes(program: Program, tmp_path: Path) -> None:
    node = program.make("App.Node", 400)
    for _ in range(999):
        node = program.make("App.Node", 400, [node])
    queue = program.make("App.Queue", 24, [node])
    program.root(queue, LOCAL)

    (found,) = program.findings(tmp_path).suspects

    assert (found.object_count, found.retained_bytes) == (1000, 400_000)
    assert (found.holder, found.pattern) == ("App.Queue", "linked list")


def test_strings_that_only_the_runtime_holds(program: Program, tmp_path: Path) -> None:
    """Values of the runtime are a pile where no object of the program has them."""
    values = program.many(300, "System.String", 300)
    entries = program.make("System.Collections.Hashtable+bucket[]", 3000, values)
    table = program.make("System.Collections.Hashtable", 50, [entries])
    program.root(table, STATIC, within="App.TextCache")

    (found,) = program.findings(tmp_path).suspects

    assert (found.object_count, found.holder) == (300, "App.TextCache")
    assert found.pattern == "cache"


def test_objects_that_handles_hold_one_by_one(program: Program, tmp_path: Path) -> None:
    for image in program.many(100, "App.Image", 900):
        program.root(image, HANDLE)

    (found,) = program.findings(tmp_path).suspects

    assert (found.object_count, found.holder, found.root_kind) == (100, None, "handle")
    assert "are held by GC handles" in found.sentence


def test_static_fields_of_many_types_are_no_pile(
    program: Program, tmp_path: Path
) -> None:
    for number, value in enumerate(program.many(100, "App.Property", 900)):
        program.root(value, STATIC, within=f"App.Control{number}")

    assert program.findings(tmp_path).suspects == ()


def test_a_statics_table_and_a_pseudo_root_are_looked_through(
    program: Program, tmp_path: Path
) -> None:
    leak = program.a_list(program.many(300, "App.Job", 300))
    table = program.make("System.Object[]", 800, [leak, program.make("App.Other")])
    program.root(table, HANDLE, PINNED)

    (found,) = program.findings(tmp_path).suspects

    assert (found.object_count, found.holder) == (300, None)
    assert "a static field that the dump does not name" in found.sentence


def test_one_huge_array_is_worth_less_than_a_pile(
    program: Program, tmp_path: Path
) -> None:
    image = program.make("System.Byte[]", 60_000)
    program.root(program.make("App.Skin", 24, [image]), STATIC, within="App.Ui")
    jobs = program.a_list(program.many(500, "App.Job", 100))
    program.root(program.make("App.Worker", 24, [jobs]), STATIC, within="App.Work")

    first, second = program.findings(tmp_path).suspects

    assert (first.object_count, first.holder) == (500, "App.Worker")
    assert second.sentence.startswith("One Byte[] (58.6 KiB, ")


def test_the_users_patterns_decide_what_is_the_programs_own(
    program: Program, tmp_path: Path
) -> None:
    rows = [
        program.make("App.Row", 100, program.many(1, "System.Drawing.Bitmap", 2000))
        for _ in range(100)
    ]
    program.root(program.a_list(rows), STATIC, within="App.Grid")

    def types(*own: str) -> list[str]:
        graph = program.graph(tmp_path)
        found = find_suspects(graph, analyse(graph), own).suspects
        return [graph.type_names[suspect.type_index] for suspect in found]

    assert types() == ["App.Row"]
    assert types("!App.Row") == ["App.Row"]
    assert types("!App.Row", "System.Drawing.*") == ["System.Drawing.Bitmap"]


def test_the_runtimes_metadata_is_summed_apart() -> None:
    names = ("Class", "Script", "dart:core::_OneByteString", "package:app::Page")

    assert DART.type_classes(names).tolist() == [
        TypeClass.METADATA,
        TypeClass.METADATA,
        TypeClass.LIBRARY,
        TypeClass.PROGRAM,
    ]


def test_generic_types_of_the_program_are_no_arrays() -> None:
    names = ("Farm.Barn`1[Farm.Cow]", "Farm.Cow[]", "Farm.Cow[,]", "System.Byte[]")

    assert DOTNET.type_classes(names).tolist() == [
        TypeClass.PROGRAM,
        TypeClass.CONTAINER,
        TypeClass.CONTAINER,
        TypeClass.LIBRARY,
    ]


@given(small_graphs())
def test_owners_are_those_of_the_definition(graph: HeapGraph) -> None:
    classes = np.array(
        [
            (TypeClass.PROGRAM, TypeClass.LIBRARY, TypeClass.ROOTS)[i % 3]
            for i in range(len(graph.type_names))
        ],
        np.uint8,
    )
    metrics = analyse(graph)
    kinds = [*classes.tolist()]

    def class_of(row: int) -> int:
        kind = int(graph.type_index[row])
        return TypeClass.LIBRARY if kind < 0 else kinds[kind]

    def owner_and_entry(row: int) -> tuple[int, int, bool]:
        """Owner, entry, and whether an owner of the same type is above."""
        entry, above = row, int(metrics.dominator[row])
        while above >= 0:
            if class_of(above) == TypeClass.PROGRAM:
                if class_of(row) == TypeClass.PROGRAM and (
                    graph.type_index[above] == graph.type_index[row]
                ):
                    owner, entry, _ = owner_and_entry(above)
                    return owner, entry, True
                return above, entry, False
            over = owner_and_entry(above)
            if class_of(above) == TypeClass.ROOTS and over[:2] == (ROOT, above):
                return ROOT, entry, False
            entry, above = above, int(metrics.dominator[above])
        return above, entry, False

    found = ownership(graph, metrics, classes, np.zeros(len(classes) + 1, np.bool_))

    freed = (RefKind.WEAK, RefKind.FINALIZER, RefKind.PHANTOM)
    for row in range(len(graph.object_id)):
        if metrics.dominator[row] == UNREACHABLE or (
            metrics.strength is not None and metrics.strength[row] in freed
        ):
            assert found.owner[row] == UNREACHABLE
            continue
        owner, entry, is_inner = owner_and_entry(row)
        assert found.owner[row] == owner
        assert found.entry[row] == (-1 - entry if is_inner else entry)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("static event", "gcdump"),
        ("thread static", "gcdump"),
        ("queue of jobs", "nettrace"),
        ("field map", "dartheap"),
        ("spread", "dartheap"),
    ],
)
def test_the_first_suspect_names_a_known_leak(
    name: str, format_name: str, tmp_path: Path
) -> None:
    """Some of the heaps of ``make bench-answers``, which measures all of them."""
    (case,) = [
        case
        for case in (*LEAKS, *HEALTHY)
        if (case.name, case.format) == (name, format_name)
    ]
    program, truths = case.program(seed=1)
    path = tmp_path / f"{name}.{format_name}"
    path.write_bytes(program.dump())

    asked = ask(name, format_name, path, truths)

    assert asked.passes, asked.row()
    assert asked.sentence is None or asked.sentence_is_good, asked.sentence


def check_sizes(search: PileSearch) -> int:
    """Hold the size of each pile, and of what is said of it, against its objects."""
    sizes = search.graph.shallow_bytes
    checked = 0
    for pile in search.piles():
        mark = marked(search.metrics.dominator, [pile.members])
        assert pile.retained_bytes == int(sizes[mark == 1].sum())
        assert 0 < pile.compared_bytes <= pile.retained_bytes
        checked += 1
        if (found := search.held(pile)) is not None:
            assert found.cut.freed_bytes == int(sizes[found.cut.lost].sum()) > 0
    return checked


@pytest.mark.slow
@given(small_graphs(), st.sampled_from([(), ("*",), ("!*",), ("*0",), ("!*1", "*")]))
@THOROUGH
def test_a_pile_retains_what_its_objects_dominate(
    graph: HeapGraph, own: tuple[str, ...]
) -> None:
    for runtime in ("dotnet", "jvm", "dart"):
        heap = replace(graph, runtime=runtime)
        check_sizes(PileSearch(heap, analyse(heap), own))


def test_values_of_the_runtime_retain_the_programs_objects(tmp_path: Path) -> None:
    program = Program()
    node = program.make("App.Node", 8192)
    table = program.make("System.Collections.Hashtable", 36864, [node])
    program.root(program.make("App.Box", 40, [table]), STATIC, within="App.Box")
    graph = program.graph(tmp_path)
    metrics = analyse(graph)

    (suspect,) = find_suspects(graph, metrics).suspects

    assert suspect.retained_bytes == 36864 + 8192
    assert suspect.retained_bytes == metrics.retained_bytes[suspect.object_index]
    assert check_sizes(PileSearch(graph, metrics, ())) == 2


def test_values_that_retain_one_another_count_once(tmp_path: Path) -> None:
    """Half of the bytes are strings; each also retains the next one."""
    program = Program()
    below: list[int] = []
    for _ in range(30):
        below = [program.make("System.String", 400, below)]
    others = program.many(30, "System.Int32", 60)
    items = program.a_list([*below, *others])
    program.root(program.make("App.Box", 40, [items]), STATIC, within="App.Box")
    graph = program.graph(tmp_path)

    assert check_sizes(PileSearch(graph, analyse(graph), ())) >= 1


def test_static_fields_of_what_the_user_calls_a_library_are_named_last(
    tmp_path: Path,
) -> None:
    program = Program()
    items = program.a_list(program.many(300, "App.Page", 400))
    program.root(items, STATIC, within="Vendor.Registry")
    program.root(items, STATIC, within="App.Site")
    graph = program.graph(tmp_path)

    (suspect,) = find_suspects(graph, analyse(graph), ["!Vendor.*"]).suspects

    assert suspect.root_name == "Site"


_AT = re.compile(r".* (0x[0-9a-f]+)").fullmatch
"""The address of an object in a step of a path, if the step is one."""


@pytest.mark.slow
@given(small_graphs())
@THOROUGH
def test_each_printed_cut_frees_what_is_printed(graph: HeapGraph) -> None:
    """What a suspect prints is given back to ``what-if``, as its user would."""
    for runtime in ("", "dotnet", "jvm", "v8", "python"):
        heap = replace(graph, runtime=runtime)
        found = find_suspects(heap, analyse(heap))
        for suspect in (*found.suspects, *found.smaller):
            what_if, cut = WhatIf(heap), CutParser(heap).cut(suspect.cut)
            assert what_if.freed([cut]).shallow_bytes == suspect.retained_bytes
            if suspect.cut_step is not None:
                steps = suspect.path[suspect.cut_step - 1 : suspect.cut_step + 1]
                ids = [int(at[1], 16) for step in steps if (at := _AT(step))]
                is_lost = what_if.lost(cut)[[*map(heap.object_id.tolist().index, ids)]]
                assert is_lost.tolist() == [False, True][-len(ids) :]
