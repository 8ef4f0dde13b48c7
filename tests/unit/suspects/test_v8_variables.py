"""Suspects of programs of V8 by what holds them: variables of functions and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.what_if.cut_parser import CutParser
from tests.dumps.v8 import V8Heap
from tests.unit.suspects.test_v8_leaks import (
    _MANY,
    closure,
    findings_of,
    graph_of,
    holding,
    orders,
    program,
    suspects_of,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_an_exported_variable_of_a_module_is_named(tmp_path: Path) -> None:
    heap = program()
    sessions = holding(heap, "Object", orders(heap))
    cell = heap.node("hidden", "system / Cell", 16, [("internal", "value", sessions)])
    name = heap.node("string", "sessions", 24)
    exported = [("internal", "7", name), ("internal", "8", cell)]
    table = heap.node("array", "", 64, exported)
    module = heap.node("hidden", "system / SourceTextModule", 80, [
        ("hidden", 0, table),
    ])  # fmt: skip
    native = heap.node("object", "system / NativeContext", 40)
    scope = heap.node("object", "system / Context", 40, [
        ("internal", "extension", module), ("internal", "previous", native),
    ])  # fmt: skip
    opened = closure(heap, "open", "file:///srv/shop.mjs")
    heap.edge(opened, "internal", "context", scope)
    heap.edge(1, "property", "open", opened)

    (suspect,) = suspects_of(heap, tmp_path)

    assert "by module-level sessions of srv/shop.mjs" in suspect.sentence
    assert suspect.cut == "module-level sessions of srv/shop.mjs -> Object"


def test_the_variable_that_leads_to_a_librarys_field_is_named(tmp_path: Path) -> None:
    heap = program()
    held = holding(heap, "Array", orders(heap))
    events = heap.node("object", "Events", 40, [("property", "tick", held)])
    hub = heap.node("object", "Emitter", 40, [("property", "_events", events)])
    scope = heap.node("object", "system / Context", 40, [("context", "hub", hub)])
    native = heap.node("object", "system / NativeContext", 40)
    heap.edge(scope, "internal", "previous", native)
    opened = closure(heap, "open", "/srv/shop.js")
    heap.edge(opened, "internal", "context", scope)
    heap.edge(1, "property", "open", opened)

    (suspect,) = suspects_of(heap, tmp_path)

    assert "by Events.tick, from module-level hub of srv/shop.js." in suspect.sentence


def test_the_scope_around_another_one_is_no_variable(tmp_path: Path) -> None:
    heap = program()
    scope = heap.node("object", "system / Context", 40)
    inner = heap.node("object", "system / Context", 40)
    heap.edge(
        scope, "internal", "previous", heap.node("object", "system / NativeContext", 40)
    )
    heap.edge(inner, "internal", "previous", scope)
    opened = closure(heap, "open", "/srv/shop.js")
    heap.edge(opened, "internal", "context", inner)
    heap.edge(1, "property", "open", opened)
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "orders", holding(heap, "Array", orders(heap)))
    heap.edge(scope, "internal", "extension", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert "previous" not in suspect.sentence


def scope_of(heap: V8Heap, function: int, outer: int) -> int:
    """The scope of a function, in another one or in that of all scripts."""
    scope = heap.node("object", "system / Context", 40)
    heap.edge(scope, "internal", "previous", outer)
    heap.edge(function, "internal", "context", scope)
    return scope


@pytest.mark.parametrize("variable", ["recent", "previous"])
def test_a_variable_of_a_function_is_named_where_several_places_lead_to_it(
    variable: str, tmp_path: Path
) -> None:
    """Also one with the name of the engine's link to the scope around another one."""
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    module = scope_of(heap, closure(heap, "start", "/srv/shop.js"), native)
    add = closure(heap, "add", "/srv/shop.js")
    scope = scope_of(heap, add, module)
    heap.edge(scope, "context", variable, holding(heap, "Array", orders(heap)))
    for name in ("Shop", "Exports"):
        owner = heap.node("object", name, 40, [("property", "add", add)])
        heap.edge(1, "property", name, owner)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.cut == f"variable {variable} of a function in srv/shop.js -> Array"
    assert suspect.advice.endswith("that holds one of them is add shop.js:10:5.")
    assert suspect.retained_bytes == 200 * _MANY + 16


def test_a_collection_in_a_scope_that_several_functions_share_is_named(
    tmp_path: Path,
) -> None:
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    module = scope_of(heap, closure(heap, "start", "/srv/shop.js"), native)
    add, size = (closure(heap, name, "/srv/shop.js") for name in ("add", "size"))
    scope = scope_of(heap, add, module)
    heap.edge(size, "internal", "context", scope)
    heap.edge(scope, "context", "recent", holding(heap, "Array", orders(heap)))
    fields = [("property", "add", add), ("property", "size", size)]
    store = heap.node("object", "Object", 40, fields)
    shop = heap.node("object", "Shop", 40, [("property", "store", store)])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert " entries of Array recent at Shop.store -> Object;" in suspect.advice


def test_variables_that_together_hold_what_refers_to_one_another_are_named(
    tmp_path: Path,
) -> None:
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    start = closure(heap, "start", "/srv/bootstrap.js")
    heap.edge(1, "property", "start", start)
    module = scope_of(heap, start, native)
    for number in range(80):  # too many places to name hold the scope of the script
        function = closure(heap, f"f{number}", "/srv/bootstrap.js")
        heap.edge(function, "internal", "context", module)
        heap.edge(1, "property", f"f{number}", function)
    entries, handlers = [], []
    for order in orders(heap):
        tip = heap.node("object", "Tip", 40, [("property", "_element", order)])
        entries += [order, tip]
        handler = closure(heap, "handler", "/srv/bootstrap.js")
        heap.edge(scope_of(heap, handler, module), "context", "element", order)
        heap.edge(handler, "property", "delegate", tip)
        handlers.append(handler)
    table = heap.node(
        "array", "", 40, [("internal", str(at), one) for at, one in enumerate(entries)]
    )
    by_element = heap.node("object", "Map", 16, [("internal", "table", table)])
    heap.edge(module, "context", "byElement", by_element)
    heap.edge(module, "context", "registry", holding(heap, "Object", handlers))

    (suspect,) = suspects_of(heap, tmp_path)

    assert set(suspect.cut.split(" and ")) == {
        "module-level byElement of srv/bootstrap.js -> Map",
        "module-level registry of srv/bootstrap.js -> Object",
    }
    assert suspect.object_count == _MANY


def test_the_hidden_class_of_a_scope_is_no_variable(tmp_path: Path) -> None:
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    start = closure(heap, "start", "/srv/shop.js")
    heap.edge(1, "property", "start", start)
    shape = heap.node("object shape", "system / Map", 40, [("internal", "context", 1)])
    heap.edge(scope_of(heap, start, native), "internal", "map", shape)
    waiting = heap.node("object", "Promise", 40)
    heap.edge(waiting, "internal", "result", holding(heap, "Array", orders(heap)))
    heap.edge(1, "property", "first", waiting)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.endswith("held in a list by global.first.")


def test_the_name_of_a_script_makes_no_cache_of_its_variables(tmp_path: Path) -> None:
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    start = closure(heap, "start", "/srv/cache.js")
    heap.edge(1, "property", "start", start)
    held = holding(heap, "Array", orders(heap))
    heap.edge(scope_of(heap, start, native), "context", "pool", held)

    (suspect,) = suspects_of(heap, tmp_path)

    assert " in a list by module-level pool of " in suspect.sentence


def test_all_variables_are_named_that_lead_to_objects_with_one_field(
    tmp_path: Path,
) -> None:
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    start = closure(heap, "start", "/srv/shop.js")
    heap.edge(1, "property", "start", start)
    module, every = scope_of(heap, start, native), orders(heap)
    for name, some in (("active", every[:360]), ("closed", every[360:])):
        room = heap.node("object", "Room", 40, [
            ("property", "held", holding(heap, "Array", some)),
        ])  # fmt: skip
        heap.edge(module, "context", name, room)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.cut == "Room.held -> Array"
    assert suspect.sentence.endswith(
        " by Room.held, from module-level active of srv/shop.js and module-level "
        "closed of srv/shop.js."
    )


def test_the_function_is_told_whose_suspended_variable_has_the_objects(
    tmp_path: Path,
) -> None:
    heap = program()
    poll = closure(heap, "poll", "/srv/shop.js")
    held = holding(heap, "Array", orders(heap))
    registers = heap.node("array", "", 64, [("element", 0, held)])
    suspended = heap.node("object", "Generator", 80, [
        ("internal", "function", poll),
        ("internal", "parameters_and_registers", registers),
    ])  # fmt: skip
    waiting = heap.node("object", "Promise", 40)
    heap.edge(waiting, "internal", "result", suspended)
    heap.edge(1, "property", "first", waiting)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.advice.endswith("that holds one of them is poll shop.js:10:5.")


@pytest.mark.parametrize(
    ("folder", "count"), [("/srv/node_modules/yjs", 0), ("/srv/lib", 1)]
)
def test_variables_of_scripts_of_libraries_are_no_small_group(
    folder: str, count: int, tmp_path: Path
) -> None:
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    functions = [closure(heap, f"f{at}", f"{folder}/y.js") for at in range(120)]
    for function in functions:
        text = heap.node("string", "x", 60)
        heap.edge(scope_of(heap, function, native), "context", "text", text)
    methods = holding(heap, "Array", functions)
    library = heap.node("object", "Doc", 40, [("property", "methods", methods)])
    heap.edge(1, "property", "doc", library)
    shop = heap.node("object", "Shop", 40)
    held = [heap.node("object", "Order", 2000) for _ in range(_MANY)]
    heap.edge(shop, "property", "orders", holding(heap, "Array", held))
    heap.edge(1, "property", "shop", shop)

    smaller = findings_of(heap, tmp_path).smaller

    assert [one.object_count for one in smaller] == [120] * count


def test_what_functions_of_node_and_promises_have_is_no_metadata(
    tmp_path: Path,
) -> None:
    """As events that wait to be read, and what goes on when a promise is kept."""
    heap = program()
    native = heap.node("object", "system / NativeContext", 40)
    listener = closure(heap, "on", "node:events")
    events = scope_of(heap, closure(heap, "(module)", "node:events"), native)
    scope = scope_of(heap, listener, events)
    heap.edge(scope, "context", "unread", heap.node("object", "Array", 30_000))
    heap.edge(1, "property", "listener", listener)
    insert = closure(heap, "insert", "node:timers")
    timers = scope_of(heap, insert, native)
    heap.edge(1, "property", "insert", insert)
    called = closure(heap, "later", "/srv/shop.js")
    shop = scope_of(heap, closure(heap, "(module)", "/srv/shop.js"), native)
    later = scope_of(heap, called, shop)
    heap.edge(later, "context", "rows", heap.node("object", "Array", 30_000))
    heap.edge(timers, "context", "list", called)
    reaction = heap.node("hidden", "system / PromiseReaction", 24)
    heap.edge(reaction, "internal", "fulfill", heap.node("object", "Array", 30_000))
    promise = heap.node("object", "Promise", 24)
    heap.edge(promise, "internal", "reactions_or_result", reaction)
    heap.edge(1, "property", "promise", promise)

    assert findings_of(heap, tmp_path).metadata_bytes < 30_000


def test_what_a_list_of_a_module_of_node_has_is_told(tmp_path: Path) -> None:
    """As each AsyncLocalStorage that was not disabled."""
    heap = program()
    run = closure(heap, "run", "node:async_hooks")
    native = heap.node("object", "system / NativeContext", 40)
    module = scope_of(heap, run, native)
    storages = [heap.node("object", "AsyncLocalStorage", 400) for _ in range(_MANY)]
    listed = holding(heap, "Array", storages)
    heap.edge(module, "context", "storageList", listed)
    heap.edge(listed, "internal", "map", heap.node("object shape", "", 8))
    heap.edge(1, "property", "run", run)

    found = findings_of(heap, tmp_path)

    (suspect,) = found.suspects
    assert suspect.cut == "module-level storageList of node:async_hooks -> Array"
    assert f"{_MANY:,} AsyncLocalStorage" in suspect.sentence
    assert found.metadata_bytes < 400 * _MANY


@pytest.mark.parametrize("is_folded", [True, False])
def test_an_emptied_array_is_told_with_its_room(
    is_folded: bool, tmp_path: Path
) -> None:
    """Its elements are apart in a heap of Deno, and refer to what is undefined."""
    heap = program()
    undefined = heap.node("hidden", "system / Oddball", 0)
    elements = [("element", at, undefined) for at in range(9_000)]
    slots = heap.node("object", "Array", 80_000 if is_folded else 32, elements)
    if not is_folded:
        room = heap.node("array", "", 80_000)
        heap.edge(slots, "internal", "elements", room)
    shop = heap.node("object", "Shop", 40, [("property", "slots", slots)])
    heap.edge(1, "property", "shop", shop)

    (found,) = suspects_of(heap, tmp_path)

    assert found.sentence.startswith("One Array (")
    assert found.cut == "Shop.slots -> Array"
    assert found.signs == (
        "Nearly all of it is its own room for elements, most of which refer to no "
        "object: they are numbers, booleans or empty.",
    )


@pytest.mark.parametrize(("names", "words"), [
    (["Window [JSGlobalObject] / "], "globalThis.orders"),
    (["DedicatedWorkerGlobalScope [JSGlobalObject] / http://a"], "globalThis.orders"),
    (["Window [JSGlobalObject] / http://a", "Window / http://a"], "window.orders"),
    # Of two pages the name of the type tells whose it is.
    (["Window / http://a", "Window / http://b"], "Window / http://a.orders"),
])  # fmt: skip
def test_a_property_of_the_global_object_is_named_as_its_programs_do(
    names: list[str], words: str, tmp_path: Path
) -> None:
    heap = program()
    for name in names:
        heap.edge(1, "property", "page", heap.node("object", name, 40))
    heap.edge(2, "property", "orders", holding(heap, "Array", orders(heap)))

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.endswith(f" are held in a list by {words}.")
    assert suspect.cut == f"{words} -> Array"
    cut = CutParser(graph_of(heap, tmp_path)).cut(suspect.cut)
    assert cut.references.sum() == 1
