"""Suspects of programs of V8: the runtime's own objects, and several holders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.suspects.find import find_suspects
from ingest.suspects.piles import PileSearch
from tests.dumps.v8 import V8Heap

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph
    from ingest.suspects.find import Findings
    from ingest.suspects.suspect import Suspect

_MANY = 400


def graph_of(heap: V8Heap, folder: Path) -> HeapGraph:
    path = folder / "x.heapsnapshot"
    path.write_bytes(heap.bytes())
    with open_source(str(path)) as source:
        return read(source, ReadOptions(), silent)


def findings_of(heap: V8Heap, folder: Path) -> Findings:
    graph = graph_of(heap, folder)
    return find_suspects(graph, analyse(graph))


def suspects_of(heap: V8Heap, folder: Path) -> tuple[Suspect, ...]:
    return findings_of(heap, folder).suspects


def program() -> V8Heap:
    """A heap with a global object, node 1."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 40)
    return heap


def closure(heap: V8Heap, name: str, script: str) -> int:
    source = heap.node("code", f"system / Script / {script}", 100)
    code = heap.node("code", name, 56, [("internal", "script", source)])
    found = heap.node("closure", name, 64, [("internal", "shared", code)])
    heap.place(found, 1, 9, 4)
    return found


def orders(heap: V8Heap) -> list[int]:
    return [heap.node("object", "Order", 200) for _ in range(_MANY)]


def weak_entry(
    heap: V8Heap, key: tuple[str, int], value: tuple[str, int], table: int
) -> None:
    """An entry of a WeakMap: names and nodes of its key and value, its table."""
    pair = (
        f"1 / part of key ({key[0]} @{2 * key[1] + 1}) -> value ({value[0]} "
        f"@{2 * value[1] + 1}) pair in WeakMap (table @{2 * table + 1})"
    )
    for source in (key[1], table):
        heap.edge(source, "internal", pair, value[1])


def holding(heap: V8Heap, name: str, held: list[int]) -> int:
    return heap.node(
        "object", name, 16, [("element", at, one) for at, one in enumerate(held)]
    )


@pytest.mark.parametrize(
    "library", ["node:internal/webstreams", "/srv/node_modules/rxjs/Subject.js"]
)
def test_a_class_of_a_library_is_no_holder_of_the_program(
    library: str, tmp_path: Path
) -> None:
    heap = program()
    for name, script in (
        ("Controller", library), ("Shop", "/srv/a.js"),
    ):  # fmt: skip
        constructor = closure(heap, name, script)
        prototype = heap.node("object", name, 32)
        heap.edge(constructor, "property", "prototype", prototype)
        heap.edge(prototype, "property", "constructor", constructor)
        heap.edge(1, "property", name, constructor)
    queue = holding(heap, "Array", orders(heap))
    controller = heap.node("object", "Controller", 40, [("property", "queue", queue)])
    shop = heap.node("object", "Shop", 40, [("property", "stream", controller)])
    heap.edge(1, "property", "shop", shop)

    (found,) = suspects_of(heap, tmp_path)

    assert found.cut == "Shop.stream -> Controller"
    assert (found.object_count, found.retained_bytes) == (_MANY, 200 * _MANY + 56)


def test_both_variables_that_hold_all_objects_are_named(tmp_path: Path) -> None:
    heap = program()
    shop = heap.node("object", "Shop", 40)
    heap.edge(1, "property", "shop", shop)
    held = orders(heap)
    for name in ("cache", "listeners"):
        heap.edge(shop, "property", name, holding(heap, "Array", held))
    for number in range(9):  # what else the shop has
        heap.edge(shop, "property", f"p{number}", heap.node("object", "Page", 900))

    (found,) = suspects_of(heap, tmp_path)

    assert found.cut == "Shop.cache -> Array and Shop.listeners -> Array"
    assert found.sentence.endswith("clearing only one of them frees nothing.")
    assert found.retained_bytes == 200 * _MANY + 32


def test_a_collection_that_several_places_share_is_named(tmp_path: Path) -> None:
    heap = program()
    queue = holding(heap, "Array", orders(heap))
    for name in ("Shop", "Clerk"):
        owner = heap.node("object", name, 40, [("property", "queue", queue)])
        heap.edge(1, "property", name.lower(), owner)

    (found,) = suspects_of(heap, tmp_path)

    assert set(found.cut.split(" and ")) == {
        "Shop.queue -> Array", "Clerk.queue -> Array",
    }  # fmt: skip
    assert found.advice == (
        "To free them, remove entries of the Array that these places share, or remove "
        f"the references {found.cut}."
    )


def test_one_more_of_a_type_does_not_hide_what_holds_the_chain(tmp_path: Path) -> None:
    heap = program()
    below: list[int] = []
    for _ in range(_MANY):
        links = [("property", "before", one) for one in below]
        below = [heap.node("object", "Step", 200, links)]
    more = heap.node("object", "Step", 40)
    scope = heap.node("object", "Scope", 40, [("property", "previous", below[0])])
    parts = [("property", "scope", scope), ("property", "next", more)]
    module = heap.node("object", "Module", 40, parts)
    heap.edge(1, "property", "module", module)
    graph = graph_of(heap, tmp_path)
    search = PileSearch(graph, analyse(graph), ())
    heads = np.array([below[0], more], np.int32) - 1  # the root is no object

    target = search.paths.cuts._joint(heads, 200 * _MANY)

    assert target == heads[0]


def test_observers_are_ended_by_their_method(tmp_path: Path) -> None:
    heap = program()
    observers = [heap.node("object", "ResizeObserver", 200) for _ in range(_MANY)]
    backing = holding(heap, "HeapHashTableBacking<HashTable<...>>", observers)
    table = "DataFieldWrapper<BasicHeapHashMap<...>>"
    wrapper = heap.node("native", table, 16, [("element", 1, backing)])
    page = heap.node("object", "Page", 40, [("property", "seen", wrapper)])
    heap.edge(1, "property", "page", page)

    (found,) = suspects_of(heap, tmp_path)

    assert found.object_count == _MANY
    assert found.advice.startswith("To free them, call disconnect() of each, or ")
    assert found.advice.endswith(f" {found.cut}.")
    assert "BasicHeapHashMap<...>> at" not in found.advice


def test_types_that_follow_one_another_in_turn_are_written_once(
    tmp_path: Path,
) -> None:
    heap = program()
    below: list[int] = []
    for order in orders(heap):
        cell = heap.node("object", "Cell", 16, [("property", "order", order)])
        for rest in below:
            heap.edge(cell, "property", "rest", rest)
        below = [heap.node("object", "Link", 16, [("property", "cell", cell)])]
    shop = heap.node("object", "Shop", 40, [("property", "all", below[0])])
    heap.edge(1, "property", "shop", shop)

    (found, *_) = suspects_of(heap, tmp_path)

    types = [step.split(" 0x")[0] for step in found.path]
    types = types[types.index("all: Link") :]
    fold = types.pop(2)
    assert fold.startswith("… ")
    assert fold.endswith(" more steps")
    assert types == ["all: Link", "cell: Cell", "cell: Cell", "rest: Link"]


def test_objects_that_refer_to_what_holds_them_do_not_count_as_its_holders(
    tmp_path: Path,
) -> None:
    heap = program()
    shop = heap.node("object", "Shop", 40)
    heap.edge(1, "property", "shop", shop)
    held = orders(heap)
    for name in ("tasks", "waiters"):
        of = holding(heap, "Array", held)
        heap.edge(shop, "property", name, of)
        for one in held:
            heap.edge(one, "property", name, of)

    (found,) = suspects_of(heap, tmp_path)

    assert found.cut == "Shop.tasks -> Array and Shop.waiters -> Array"


def test_functions_of_node_are_no_suspect(tmp_path: Path) -> None:
    heap = program()
    codes = heap.node("object", "Object", 40)
    heap.edge(1, "property", "codes", codes)
    for number in range(_MANY):
        heap.edge(
            codes, "property", f"E{number}", closure(heap, "E", "node:internal/errors")
        )
    assert suspects_of(heap, tmp_path) == ()


def test_a_text_that_is_made_of_others_counts_once(tmp_path: Path) -> None:
    heap = program()
    store = heap.node("object", "Store", 40)
    heap.edge(1, "property", "store", store)
    for number in range(_MANY):
        text = heap.node("string", f"text {number}", 400)
        for _ in range(3):
            text = heap.node(
                "concatenated string", "(concatenated string)", 32,
                [("internal", "first", text)],
            )  # fmt: skip
        heap.edge(store, "property", f"s{number}", text)

    (found,) = suspects_of(heap, tmp_path)

    assert found.object_count == _MANY
    assert found.pattern == "object"


def test_of_two_objects_the_one_that_has_nearly_all_is_told(tmp_path: Path) -> None:
    heap = program()
    shop = heap.node("object", "Shop", 40)
    heap.edge(1, "property", "shop", shop)
    for name, size in (("first", 40_000), ("other", 40)):
        ring = heap.node("object", "Ring", size)
        heap.edge(shop, "property", name, ring)

    (found,) = suspects_of(heap, tmp_path)

    assert found.object_count == 1
    assert found.sentence.startswith("One Ring (39.1 KiB")


def test_what_has_the_objects_without_a_class_is_named(tmp_path: Path) -> None:
    heap = program()
    replies = []
    for _ in range(_MANY):
        headers = heap.node("object", "{etag, length}", 200)
        replies.append(heap.node("object", "ServerResponse", 100, [
            ("property", "headers", headers),
        ]))  # fmt: skip
    held = holding(heap, "Array", replies)
    state = heap.node("object", "{replies}", 24, [("property", "replies", held)])
    shop = heap.node("object", "Shop", 40, [("property", "state", state)])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} ServerResponse (")
    assert "by Shop.state" in suspect.sentence


@pytest.mark.parametrize("is_class", [True, False])
def test_classes_are_told_by_themselves_not_by_static_fields(
    is_class: bool, tmp_path: Path
) -> None:
    """As those that are keys of a map, in which a library has what it knows of each."""
    heap = program()
    entries = []
    for _ in range(_MANY):
        function = closure(heap, "Model", "file:///app/models.js")
        if is_class:
            prototype = heap.node("object", "Model", 30)
            heap.edge(function, "property", "prototype", prototype)
            heap.edge(prototype, "property", "constructor", function)
        fields = [heap.node("object", "{id, name}", 60) for _ in range(5)]
        heap.edge(function, "property", "fields", holding(heap, "Array", fields))
        entries.append(function)
    table = heap.node("array", "", 400, [
        ("internal", str(at), one) for at, one in enumerate(entries)
    ])  # fmt: skip
    models = heap.node("object", "Map", 40, [("internal", "table", table)])
    registry = heap.node("object", "Registry", 40, [("property", "models", models)])
    heap.edge(1, "property", "registry", registry)

    (suspect,) = suspects_of(heap, tmp_path)

    what = f"{_MANY} Function (" if is_class else f"{5 * _MANY:,} {{id, name}} ("
    assert suspect.sentence.startswith(what)
    assert suspect.sentence.endswith(" are held in a map by Registry.models.")
    if is_class:
        assert suspect.advice.endswith("; one of them is Model models.js:10:5.")


def test_what_only_has_the_same_fields_is_no_example(tmp_path: Path) -> None:
    heap = program()
    schemas = [heap.node("object", "{type, fields}", 200) for _ in range(_MANY)]
    more = heap.node("array", "", 900)
    odd = heap.node("object", "{type, fields}", 200, [("internal", "rest", more)])
    rules = heap.node("object", "Object", 40, [("property", "keywords", odd)])
    validator = heap.node("object", "Validator", 40, [
        ("property", "rules", rules),
        ("property", "cache", holding(heap, "Array", schemas)),
        ("property", "scope", holding(heap, "Array", schemas)),
    ])  # fmt: skip
    heap.edge(1, "property", "validator", validator)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} {{type, fields}} (")
    assert suspect.cut == "Validator.cache -> Array and Validator.scope -> Array"
    assert not any("keywords" in step for step in suspect.path)


def test_objects_of_a_class_in_those_without_one_are_named(tmp_path: Path) -> None:
    heap = program()
    jobs = []
    for order in orders(heap):
        rest = heap.node("array", "", 400)
        jobs.append(heap.node("object", "{run, a, b, c, and, many, more, fields}", 40, [
            ("property", "run", order), ("internal", "rest", rest),
        ]))  # fmt: skip
    queue = heap.node("object", "Queue", 40, [
        ("property", "jobs", holding(heap, "Array", jobs)),
    ])  # fmt: skip
    heap.edge(1, "property", "queue", queue)

    (suspect,) = suspects_of(heap, tmp_path)

    assert f" with {_MANY} Order are held in a list by Queue.jobs" in suspect.sentence


def test_what_only_the_global_object_has_in_common_is_not_cut_there(
    tmp_path: Path,
) -> None:
    """Two properties hold each task, so that only the global dominates them."""
    heap = program()
    for number, order in enumerate(orders(heap)):
        task = heap.node("object", "Runner", 40, [("property", "task", order)])
        for list_ in ("timers", "tasks"):
            heap.edge(1, "property", f"{list_}{number}", task)
        page = heap.node("object", f"Page{number % 50}", 900)
        heap.edge(1, "property", f"page{number}", page)

    (found, *_) = suspects_of(heap, tmp_path)

    assert (found.object_count, found.retained_bytes) == (_MANY, 200 * _MANY)
    assert found.cut == "Runner.task -> Order"


def test_the_event_the_key_and_the_static_field_are_named(tmp_path: Path) -> None:
    heap = program()
    ticks = holding(heap, "Array", orders(heap))
    events = heap.node("object", "Object", 40, [("property", "tick", ticks)])
    bus = heap.node("object", "EventEmitter", 40, [("property", "_events", events)])
    lists = holding(heap, "Array", orders(heap))
    key = heap.node("string", "acme", 24)
    entries = [("internal", "5", key), ("internal", "6", lists)]
    table = heap.node("array", "", 64, entries)
    map_ = heap.node("object", "Map", 40, [("internal", "table", table)])
    archive = closure(heap, "Archive", "/srv/a.js")
    heap.edge(archive, "property", "#all", map_)
    for field, held in (("bus", bus), ("archive", archive)):
        shop = heap.node("object", f"Shop{field}", 40, [("property", field, held)])
        heap.edge(1, "property", f"_{field}", shop)

    texts = " ".join(one.advice for one in suspects_of(heap, tmp_path))

    assert "the handlers of ['tick'] at Shopbus.bus -> EventEmitter." in texts
    assert "entries of Array ['acme'] in Map #all at Shoparchive.archive ->" in texts


def test_what_a_library_made_of_a_listener_tells_its_function(tmp_path: Path) -> None:
    heap = program()
    entries = []
    for order in orders(heap):
        listener = closure(heap, "listen", "/srv/shop.js")
        heap.edge(listener, "property", "order", order)
        wrapped = closure(heap, "wrap", "/srv/node_modules/bus/index.js")
        entries.append(heap.node("object", "{run, once}", 40, [
            ("property", "once", wrapped), ("property", "run", listener),
        ]))  # fmt: skip
    hub = heap.node("object", "Hub", 40)
    heap.edge(hub, "property", "all", holding(heap, "Array", entries))
    heap.edge(1, "property", "hub", hub)

    (found, *_) = suspects_of(heap, tmp_path)

    assert found.advice.endswith("; one of them calls listen shop.js:10:5.")


def test_of_a_queue_with_many_holders_the_entries_are_cut(tmp_path: Path) -> None:
    heap = program()
    queue = holding(heap, "Array", orders(heap))
    for number in range(6):
        worker = heap.node("object", f"Worker{number}", 40)
        heap.edge(worker, "property", "queue", queue)
        heap.edge(1, "property", f"w{number}", worker)

    (found,) = suspects_of(heap, tmp_path)

    assert found.cut == "Worker0.queue -> Array -> *"
    assert found.retained_bytes == 200 * _MANY


def test_timers_and_what_they_call_are_one_suspect(tmp_path: Path) -> None:
    """The engine holds each timer, and so does a table of the library."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("synthetic", "(Global handles)", 0)
    table = heap.node("array", "", 64)
    heap.edge(1, "element", 0, heap.node("object", "Map", 40, [
        ("internal", "table", table),
    ]))  # fmt: skip
    for at, order in enumerate(orders(heap)):
        call = closure(heap, "open", "/srv/shop.js")
        heap.edge(call, "property", "order", order)
        state = heap.node("object", "{idle, repeat}", 200)
        timer = heap.node("object", "Timeout", 40, [
            ("property", "_onTimeout", call), ("property", "_timer", state),
        ])  # fmt: skip
        heap.edge(table, "internal", str(at), timer)
        heap.edge(1, "element", at + 1, timer)

    (found,) = suspects_of(heap, tmp_path)

    assert "400 Order" in found.sentence
    assert found.sentence.endswith(" are held through timers by native handles.")
    assert found.advice.startswith("To free them, cancel the timers that have Order;")


def test_what_a_cancelled_timer_has_is_held_by_what_has_the_timer(
    tmp_path: Path,
) -> None:
    """It calls nothing any more, and to cancel it again frees nothing."""
    heap = program()
    null = heap.node("hidden", "system / Oddball", 24)
    timers = []
    for order in orders(heap):
        argument = holding(heap, "Array", [order])
        timers.append(heap.node("object", "Timeout", 40, [
            ("property", "_onTimeout", null), ("property", "_timerArgs", argument),
        ]))  # fmt: skip
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "handles", holding(heap, "Array", timers))
    heap.edge(1, "property", "shop", shop)

    (found,) = suspects_of(heap, tmp_path)

    assert found.sentence.endswith(" are held in a list by Shop.handles.")
    assert found.advice == "To free them, remove entries at Shop.handles -> Array."


def test_timers_of_several_periods_are_one_suspect(tmp_path: Path) -> None:
    """Node has a list for each, in a table and in a queue."""
    heap = program()
    table, queue, held = heap.node("object", "Object", 40), [], orders(heap)
    for period in range(4):
        timers = []
        for order in held[period::4]:
            call = closure(heap, "open", "/srv/shop.js")
            heap.edge(call, "property", "order", order)
            timers.append(
                heap.node("object", "Timeout", 40, [("property", "_onTimeout", call)])
            )
        queue.append(holding(heap, "TimersList", timers))
        heap.edge(table, "element", 1000 * period, queue[-1])
    heap.edge(1, "property", "timerListMap", table)
    heap.edge(1, "property", "timerListQueue", holding(heap, "Array", queue))

    (found,) = suspects_of(heap, tmp_path)

    assert "400 Order" in found.sentence
    assert found.cut == "TimersList"
    assert found.advice.startswith("To free them, cancel the timers of TimersList;")
    assert "TimersList" in found.path[found.cut_step or 0]


@pytest.mark.parametrize("has_more", [False, True])
@pytest.mark.parametrize("folder", ["", "node_modules/poll/"])
def test_timers_are_named_whatever_share_of_a_heap_they_hold(
    folder: str, tmp_path: Path, *, has_more: bool
) -> None:
    """If nearly all, the global object retains little more than they do."""
    heap = program()
    if has_more:
        pages = [heap.node("object", f"Page{at}", 900) for at in range(2000)]
        heap.edge(1, "property", "pages", holding(heap, "Array", pages))
    script = f"/srv/{folder}shop.js"
    constructor = closure(heap, "Poller", script)
    prototype = heap.node("object", "Poller", 32)
    heap.edge(constructor, "property", "prototype", prototype)
    heap.edge(prototype, "property", "constructor", constructor)
    timers = []
    for _ in range(_MANY):
        call = closure(heap, "open", script)
        heap.edge(call, "property", "me", heap.node("object", "Poller", 2000))
        timers.append(
            heap.node("object", "Timeout", 40, [("property", "_onTimeout", call)])
        )
    list_ = holding(heap, "TimersList", timers)
    for name, kind in (("timerListMap", "Object"), ("timerListQueue", "PriorityQueue")):
        heap.edge(1, "property", name, holding(heap, kind, [list_]))

    (found,) = suspects_of(heap, tmp_path)

    assert "400 Poller" in found.sentence
    assert "held through timers by global." in found.sentence
    assert found.advice.startswith("To free them, cancel the timers that have Poller")
    assert " and " not in found.advice


def test_maps_that_share_their_keys_are_both_told(tmp_path: Path) -> None:
    """A cut of what has both would free as much: three places lead to that."""
    heap = program()
    keys, bot = orders(heap), heap.node("object", "Bot", 40)
    for name in ("Storage", "Isolation"):
        parts = [heap.node("object", f"{name}Part", 300) for _ in keys]
        table = heap.node("array", "", 16, [
            ("internal", str(at), one) for at, one in enumerate(keys + parts)
        ])  # fmt: skip
        map_ = heap.node("object", "Map", 40, [("internal", "table", table)])
        owner = heap.node("object", name, 40, [("property", "entries", map_)])
        heap.edge(bot, "property", name.lower(), owner)
    for number in range(3):
        user = heap.node("object", f"User{number}", 40, [("property", "bot", bot)])
        heap.edge(1, "property", f"user{number}", user)

    found = suspects_of(heap, tmp_path)

    (words,) = (one for one in found if "400 Order" in one.sentence)
    assert words.cut == "Storage.entries -> Map and Isolation.entries -> Map"
    assert words.sentence.endswith(
        "clearing only one of them frees nothing but what it alone holds, at most "
        "117 KiB."
    )


def test_an_entry_of_a_weak_map_is_told_as_one(tmp_path: Path) -> None:
    heap = program()
    held = holding(heap, "Array", orders(heap))
    editor = heap.node("object", "Editor", 40)
    weak_map = heap.node("object", "WeakMap", 40)
    table = heap.node("array", "", 64)
    heap.edge(weak_map, "internal", "table", table)
    weak_entry(heap, ("Editor", editor), ("Array", held), table)
    for field, one in (("editor", editor), ("map", weak_map)):
        heap.edge(1, "property", field, one)

    (found,) = suspects_of(heap, tmp_path)

    assert "held in a list by Editor's entry in a weak map" in found.sentence
    assert found.cut == "Editor's entry in a weak map -> Array"


def test_values_that_weak_maps_have_for_one_key_are_cut_there(tmp_path: Path) -> None:
    """Each map is held by its own value; the key is needed."""
    heap = program()
    window = heap.node("object", "MainWindow", 40)
    heap.edge(1, "property", "window", window)
    for order in orders(heap):
        weak_map = heap.node("object", "WeakMap", 40)
        table = heap.node("array", "", 64)
        heap.edge(weak_map, "internal", "table", table)
        heap.edge(order, "property", "map", weak_map)
        weak_entry(heap, ("MainWindow", window), ("Order", order), table)

    (found,) = suspects_of(heap, tmp_path)

    assert "400 Order" in found.sentence
    assert "are held by MainWindow's entry in a weak map" in found.sentence
    assert found.advice.startswith(
        "To free them, remove MainWindow from the weak maps that have them: "
        "MainWindow's entry in a weak map -> Order"
    )


def test_all_of_what_has_the_objects_are_counted(tmp_path: Path) -> None:
    heap = program()
    errors = [
        heap.node("object", "Error", 900, [("property", "order", order)])
        for order in orders(heap)
    ]
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "failed", holding(heap, "Array", errors))
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} Order (")
    assert f" with {_MANY} Error are held in a list by Shop.failed" in suspect.sentence


def class_of(heap: V8Heap, name: str, script: str) -> None:
    constructor = closure(heap, name, script)
    prototype = heap.node("object", name, 32)
    heap.edge(constructor, "property", "prototype", prototype)
    heap.edge(prototype, "property", "constructor", constructor)
    heap.edge(1, "property", f"{name} of {script}", constructor)


@pytest.mark.parametrize("is_own", [True, False])
def test_a_class_of_the_program_may_have_the_name_of_one_of_the_runtime(
    tmp_path: Path, *, is_own: bool
) -> None:
    heap = program()
    script = "/srv/shop.js" if is_own else "node:internal/deps/undici"
    class_of(heap, "Request", script)
    class_of(heap, "Order", "/srv/shop.js")
    requests = [
        heap.node("object", "Request", 900, [("property", "order", order)])
        for order in orders(heap)
    ]
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "open", holding(heap, "Array", requests))
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} {'Request' if is_own else 'Order'} (")


def test_a_class_of_node_is_none_of_the_program_where_another_one_is_built_in(
    tmp_path: Path,
) -> None:
    heap = program()
    class_of(heap, "Zlib", "node:zlib")
    native = heap.node("closure", "Zlib", 64)
    prototype = heap.node("object", "Zlib", 32, [("property", "constructor", native)])
    heap.edge(native, "property", "prototype", prototype)
    heap.edge(1, "property", "native", native)
    handles = [heap.node("object", "Zlib", 4000) for _ in range(_MANY)]
    streams = [
        heap.node("object", "Upload", 40, [("property", "_handle", handle)])
        for handle in handles
    ]
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "open", holding(heap, "Array", streams))
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} Upload (")
    assert " with " not in suspect.sentence


@pytest.mark.parametrize("is_element", [True, False])
def test_an_object_with_a_field_for_each_is_a_map(
    tmp_path: Path, *, is_element: bool
) -> None:
    heap = program()
    byname = heap.node("object", "Object", 40)
    for number, order in enumerate(orders(heap)):
        if is_element:
            heap.edge(byname, "element", number, order)
        else:
            heap.edge(byname, "property", f"order{number}", order)
    shop = heap.node("object", "Shop", 40, [("property", "orders", byname)])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert " are held in a map by Shop.orders" in suspect.sentence
    assert suspect.advice == "To free them, remove entries at Shop.orders -> Object."


@pytest.mark.parametrize("kind", ["(object properties)", "system / PropertyArray"])
def test_a_table_of_properties_is_no_second_place(kind: str, tmp_path: Path) -> None:
    heap = program()
    held = holding(heap, "Array", orders(heap))
    table = heap.node("array", kind, 64, [("hidden", 7, held)])
    shop = heap.node("object", "Shop", 40, [
        ("property", "orders", held), ("internal", "properties", table),
    ])  # fmt: skip
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.cut == "Shop.orders -> Array"
    assert "frees nothing" not in suspect.sentence


@pytest.mark.parametrize("has_it", [False, True])
def test_the_text_of_code_is_no_suspect_for_its_parts(
    tmp_path: Path, *, has_it: bool
) -> None:
    """A library that asks its functions for their text has parts of it.

    What has the whole text, as a lexer its input, is no place to free it at.
    """
    heap = program()
    heap.edge(1, "property", "orders", holding(heap, "Array", orders(heap)))
    text = heap.node("string", "function lodash() {}", 100_000)
    script = heap.node("code", "/srv/lodash.js", 144, [("internal", "source", text)])
    heap.edge(1, "internal", "script", script)
    part = heap.node("sliced string", "function", 20, [("internal", "parent", text)])
    heap.edge(1, "property", "part", part)
    if has_it:
        heap.edge(1, "property", "text", text)

    found = suspects_of(heap, tmp_path)

    assert {one.sentence.split(" (")[0] for one in found} == {"400 Order"}


def test_the_global_object_is_no_suspect_with_those_of_contexts(tmp_path: Path) -> None:
    """Each script in a context of its own has one, which a timer may keep."""
    heap = program()
    held = [heap.node("object", "Order", 200) for _ in range(_MANY)]
    rules = heap.node("object", "Object", 16)
    heap.edge(1, "property", "rules", rules)
    for at, order in enumerate(held):
        context = heap.node("object", "global", 400, [("property", "order", order)])
        heap.edge(rules, "property", f"rule{at}", context)
        heap.edge(1, "property", f"rule{at}", context)

    found = suspects_of(heap, tmp_path)

    assert "a root -> global" not in {one.cut for one in found}


def test_what_handlers_have_is_no_handler(tmp_path: Path) -> None:
    heap = program()
    value = heap.node("number", "7", 16)
    handlers = []
    for _ in range(_MANY):
        row = heap.node("object", "Object", 200, [("property", "id", value)])
        scope = heap.node("object", "system / Context", 24, [("context", "row", row)])
        handlers.append(closure(heap, "onReload", "/srv/app.js"))
        heap.edge(handlers[-1], "internal", "context", scope)
    listeners = holding(heap, "Array", handlers)
    bus = heap.node("object", "EventEmitter", 40, [("property", "_events", listeners)])
    shop = heap.node("object", "Shop", 40, [("property", "bus", bus)])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith("400 {id} (")
    assert " are held through event handlers by " in suspect.sentence


def test_objects_in_the_map_that_each_entry_of_a_list_has_are_in_the_list(
    tmp_path: Path,
) -> None:
    heap = program()
    plans = []
    for order in orders(heap):
        table = heap.node("array", "", 40, [("internal", "1", order)])
        map_ = heap.node("object", "Map", 16, [("internal", "table", table)])
        plans.append(heap.node("object", "Object", 16, [("property", "plans", map_)]))
    listeners = holding(heap, "Array", plans)
    bus = heap.node("object", "{emit, on}", 16, [("property", "_calls", listeners)])
    shop = heap.node("object", "Shop", 40, [("property", "bus", bus)])
    heap.edge(1, "property", "shop", shop)

    (found,) = suspects_of(heap, tmp_path)

    assert "400 Order" in found.sentence
    assert " are held in a list by Shop.bus" in found.sentence
    assert found.advice == (
        "To free them, remove entries of Array ['_calls'] at Shop.bus -> {emit, on}."
    )


def test_messages_in_the_queues_of_a_few_peers_are_one_suspect(tmp_path: Path) -> None:
    """Each peer is held by its own socket, and has entries of its own."""
    heap = program()
    messages = orders(heap)
    handles = heap.node("synthetic", "(Global handles)", 0)
    heap.edge(0, "element", "1", handles)
    for at in range(3):
        entries = [
            heap.node("object", "Inflight", 48, [("property", "message", one)])
            for one in messages
        ]
        queue = holding(heap, "Array", entries)
        peer = heap.node("object", "Peer", 40, [("property", "queue", queue)])
        socket = heap.node("object", "TCP", 40, [("property", "owner", peer)])
        heap.edge(handles, "element", str(at), socket)

    (found,) = suspects_of(heap, tmp_path)

    assert found.sentence.startswith("1,200 Inflight (")
    assert "with 400 Order are held in a list by Peer.queue." in found.sentence
    assert found.cut == "Peer.queue -> Array"
    assert found.retained_bytes == 200 * _MANY + 3 * (48 * _MANY + 16)


def test_timers_of_a_page_are_told_as_such(tmp_path: Path) -> None:
    """Beside what jQuery keeps: each is ended in its own way."""
    heap = program()
    views = [heap.node("object", "View", 200) for _ in range(_MANY)]
    kept = holding(heap, "Array", views)
    timers = holding(heap, "blink::HeapVectorBacking<DOMTimer>", views)
    coordinator = "blink::(anonymous namespace)::DOMTimerCoordinator"
    page = heap.node("object", "Window", 40, [
        ("element", 1, heap.node("native", coordinator, 40, [("element", 1, timers)])),
        ("property", "jQuery3601", kept),
    ])  # fmt: skip
    heap.edge(1, "property", "page", page)

    (suspect,) = suspects_of(heap, tmp_path)

    assert "and by the timers of the page" in suspect.sentence
    assert "the timers of the page -> *" in suspect.cut
    assert "removeData()): Window.jQuery3601 -> Array" in suspect.advice
    assert "or clearInterval()): the timers of the page -> *" in suspect.advice


@pytest.mark.parametrize("is_scheduled", [False, True])
def test_timers_that_have_run_are_held_by_what_has_them(
    tmp_path: Path, *, is_scheduled: bool
) -> None:
    """No list of the runtime has them any more: to cancel them frees nothing."""
    heap = program()
    timers = []
    for order in orders(heap):
        call = closure(heap, "open", "/srv/shop.js")
        heap.edge(call, "property", "order", order)
        timers.append(
            heap.node("object", "Timeout", 40, [("property", "_onTimeout", call)])
        )
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "handles", holding(heap, "Array", timers))
    heap.edge(1, "property", "shop", shop)
    if is_scheduled:
        lists = holding(heap, "Object", [holding(heap, "TimersList", timers)])
        heap.edge(1, "property", "timerListMap", lists)

    (found, *_) = suspects_of(heap, tmp_path)

    sign = (
        "None of their timers is scheduled: a timer that has run, or was cancelled, is "
        "held by the program alone."
    )
    assert (sign in found.signs) is not is_scheduled
    assert "cancel the timers" not in found.advice
    assert found.advice.startswith("To free them, remove entries at Shop.handles")
