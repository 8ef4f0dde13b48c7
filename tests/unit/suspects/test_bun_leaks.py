"""Suspects of programs of Bun, whose dumps do not record what collections hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.suspects import next_step
from ingest.what_if.cut_parser import CutParser
from tests.dumps.v8 import bun
from tests.unit.suspects.test_v8_leaks import (
    _MANY,
    findings_of,
    graph_of,
    holding,
    orders,
    suspects_of,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_field_of_a_holder_that_bun_does_not_record_is_named(
    tmp_path: Path,
) -> None:
    heap = bun(0)
    held = holding(heap, "Array", orders(heap))
    heap.node("object", "Depot", 40, [("property", "orders", held)])

    (suspect, *_) = suspects_of(heap, tmp_path)

    assert "held in a list by Depot.orders, from a Map, Set or var" in suspect.sentence


def test_a_table_of_bun_is_not_told_again_as_a_suspect(tmp_path: Path) -> None:
    heap = bun(400)
    store = heap.node("object", "Store", 40)
    table = heap.node("hidden", "Cell Butterfly", 17_000)
    map_ = heap.node("object", "Map", 32, [("internal", "", table)])
    heap.edge(store, "property", "cache", map_)
    heap.edge(3, "context", "store", store)
    heap.edge(3, "internal", "", store)  # as Bun repeats what it has named

    found = suspects_of(heap, tmp_path)

    assert [one.sentence.split(" (")[0] for one in found] == ["400 Session"]
    about = {"format": "v8", "runtime": "bun", "producer": "Bun", "incomplete": ""}
    step = next_step(about, "x.heapsnapshot")
    assert "another dump (in the program, writeHeapSnapshot() of node:v8)" in step.text


def test_what_has_a_table_of_bun_is_not_told_beside_its_entries(
    tmp_path: Path,
) -> None:
    heap = bun(4000)
    heap.nodes[5]["self_size"] = 96  # an empty map
    table = heap.node("hidden", "Cell Butterfly", 25_000)
    held = heap.node("object", "Set", 32, [("internal", "", table)])
    container = heap.node("object", "Container", 40, [("property", "all", held)])
    environments = [
        heap.node("object", "system / JSModuleEnvironment", 4000) for _ in range(5)
    ]
    heap.edge(environments[0], "context", "container", container)
    heap.edge(2, "property", "moduleLoader", holding(heap, "Array", environments))

    found = suspects_of(heap, tmp_path)

    assert [one.sentence.split(" (")[0] for one in found] == ["4,000 Session"]


def test_a_map_of_lists_in_bun_needs_room_for_the_lists(tmp_path: Path) -> None:
    heap = bun(0)
    holding(heap, "Array", orders(heap))
    for _ in range(90):
        holding(heap, "Array", [heap.node("object", "Order", 20)])

    (suspect, *_) = suspects_of(heap, tmp_path)

    assert "with room for about 4,096." in suspect.advice


def test_a_variable_of_a_module_of_bun_is_named(tmp_path: Path) -> None:
    heap = bun(0)
    held = holding(heap, "Array", orders(heap))
    heap.edge(3, "context", "waiting", held)
    heap.edge(3, "internal", "", held)

    (suspect, *_) = suspects_of(heap, tmp_path)

    assert "400 Order" in suspect.sentence
    assert "held in a list by module-level waiting" in suspect.sentence
    assert suspect.cut == "module-level waiting -> Array"
    assert suspect.retained_bytes == 200 * _MANY + 16


def test_the_variable_whose_function_has_the_objects_is_named(tmp_path: Path) -> None:
    """Functions of Bun do not tell their script, as built-in ones of V8 do not."""
    heap = bun(0)
    registry = heap.node("object", "Object", 40, [
        ("property", "instances", holding(heap, "Array", orders(heap))),
    ])  # fmt: skip
    scope = heap.node("object", "system / JSLexicalEnvironment", 40, [
        ("context", "registry", registry),
    ])  # fmt: skip
    use = heap.node("closure", "use", 64, [("internal", "", scope)])
    loader = heap.node("hidden", "ModuleLoader", 40, [
        ("internal", "", heap.node("object", "system / JSModuleEnvironment", 64, [
            ("context", "use", use),
        ])),
    ])  # fmt: skip
    heap.edge(2, "internal", "", loader)

    (suspect, *_) = suspects_of(heap, tmp_path)

    assert f"{_MANY} Order" in suspect.sentence
    assert suspect.sentence.endswith(" are held in a list by module-level use.")


def test_the_class_of_an_object_is_no_reference_of_the_program(tmp_path: Path) -> None:
    """By it each object leads to the variables of its functions."""
    heap = bun(0)
    cached = heap.node("object", "Object", 40)
    for at, order in enumerate(orders(heap)):
        heap.edge(cached, "property", f"query {at}", order)
    library = heap.node("object", "system / JSLexicalEnvironment", 40, [
        ("context", "docCache", cached),
    ])  # fmt: skip
    parse = heap.node("closure", "parse", 64, [("internal", "", library)])
    scope = heap.node("object", "system / JSLexicalEnvironment", 40, [
        ("context", "parse", parse),
    ])  # fmt: skip
    query = heap.node("closure", "query", 64, [("internal", "", scope)])
    prototype = heap.node("object", "Api", 40, [("property", "query", query)])
    shape = heap.node("object shape", "Structure", 96, [("internal", "", prototype)])
    api = heap.node("object", "Api", 32, [("internal", "", shape)])
    heap.edge(2, "property", "api", api)

    (suspect, *_) = suspects_of(heap, tmp_path)

    assert f"{_MANY} Order" in suspect.sentence
    assert suspect.sentence.endswith(" in a cache by variable docCache of a function.")
    cut = CutParser(graph_of(heap, tmp_path)).cut(suspect.cut)
    assert suspect.cut == "variable docCache of a function -> Object"
    assert cut.references.sum() == 1


def test_loaded_modules_of_bun_are_not_objects_of_the_program(tmp_path: Path) -> None:
    heap = bun(0)
    for kind in ("Module (CommonJS)", "ModuleNamespaceObject", "{default}"):
        for _ in range(_MANY):
            loaded = heap.node("object", kind, 600)
            heap.edge(2, "internal", "", loaded)

    found = findings_of(heap, tmp_path)

    told = [one.sentence for one in (*found.suspects, *found.smaller)]
    assert not [one for one in told if "Module" in one or "default" in one]


def test_sets_in_a_map_of_bun_are_a_suspect(tmp_path: Path) -> None:
    """Each has numbers, which the dump does not record either."""
    heap = bun(0)
    for _ in range(_MANY):
        table = heap.node("hidden", "Cell Butterfly", 608)
        heap.node("object", "Set", 32, [("internal", "", table)])

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith("400 Set (")
    assert "it may be module-level open, a Map with room for about" in suspect.advice


def test_what_is_in_maps_of_a_map_of_bun_may_be_in_all_of_these(tmp_path: Path) -> None:
    heap = bun(0)
    heap.nodes[5]["self_size"] = 2_000
    orders(heap)
    for _ in range(40):
        table = heap.node("hidden", "Cell Butterfly", 560)
        heap.node("object", "Map", 32, [("internal", "", table)])

    (suspect, *_) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith("400 Order (")
    assert suspect.advice.endswith(
        " it may be 40 Maps with room for about 480 in all, perhaps in module-level "
        "open."
    )
