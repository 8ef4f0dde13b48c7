"""Suspects of V8 whose objects are held by those of libraries and of the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.suspects.test_v8_leaks import (
    _MANY,
    class_of,
    closure,
    holding,
    orders,
    program,
    suspects_of,
    weak_entry,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_all_blocks_of_a_queue_are_one_pile(tmp_path: Path) -> None:
    heap = program()
    held = orders(heap)
    newest = heap.node("object", "FixedCircularBuffer", 40, [
        ("property", "list", holding(heap, "Array", held[370:])),
    ])  # fmt: skip
    oldest = heap.node("object", "FixedCircularBuffer", 40, [
        ("property", "list", holding(heap, "Array", held[:370])),
        ("property", "next", newest),
    ])  # fmt: skip
    queue = heap.node("object", "FixedQueue", 40, [
        ("property", "head", newest), ("property", "tail", oldest),
    ])  # fmt: skip
    native = heap.node("object", "system / NativeContext", 40)
    scope = heap.node("object", "system / Context", 40, [
        ("context", "unconsumed", queue), ("internal", "previous", native),
    ])  # fmt: skip
    shop = heap.node("object", "Shop", 40)
    heap.edge(1, "property", "shop", shop)
    for name in ("error", "reading"):
        listener = closure(heap, name, "node:events")
        heap.edge(listener, "internal", "context", scope)
        heap.edge(shop, "property", name, listener)
    for number in range(9):  # what else the shop has
        heap.edge(shop, "property", f"p{number}", heap.node("object", "Page", 4000))

    suspect, *_ = suspects_of(heap, tmp_path)

    assert suspect.object_count == len(held)
    assert suspect.cut.endswith(" -> FixedQueue")


def test_what_is_in_objects_of_a_class_of_a_library_is_told(tmp_path: Path) -> None:
    """Some of them also have the state that they began with."""
    heap = program()
    class_of(heap, "Query", "/srv/node_modules/query-core/query.js")
    class_of(heap, "Order", "/srv/shop.js")
    held = []
    for at, order in enumerate(orders(heap)):
        state = heap.node("object", "{data, error}", 400, [("property", "data", order)])
        query = heap.node("object", "Query", 40, [("property", "state", state)])
        if at % 40 == 0:
            begun = heap.node("object", "{data, error}", 400)
            heap.edge(query, "property", "begun", begun)
        held.append(query)
    client = heap.node("object", "Client", 40, [
        ("property", "queries", holding(heap, "Array", held)),
    ])  # fmt: skip
    heap.edge(1, "property", "client", client)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{len(held)} Query (")
    assert f" with {len(held)} Order are held " in suspect.sentence


def test_entries_are_to_be_removed_from_collections_not_from_functions(
    tmp_path: Path,
) -> None:
    """Each subscriber refers to a function, whose view has a list."""
    heap = program()
    for name in ("Order", "Subscriber", "View"):
        class_of(heap, name, "/srv/shop.js")
    held, several = [], orders(heap)
    for at in range(0, len(several), 20):
        view = heap.node("object", "View", 40, [
            ("property", "bars", holding(heap, "Array", several[at : at + 20])),
        ])  # fmt: skip
        scope = heap.node("object", "system / Context", 40, [
            ("context", "this", view),
        ])  # fmt: skip
        call = closure(heap, "next", "/srv/shop.js")
        heap.edge(call, "internal", "context", scope)
        held.append(heap.node("object", "Subscriber", 40, [("property", "next", call)]))
    subject = heap.node("object", "Subject", 40, [
        ("property", "observers", holding(heap, "Array", held)),
    ])  # fmt: skip
    heap.edge(1, "property", "subject", subject)

    (suspect,) = suspects_of(heap, tmp_path)

    assert f" with {len(several)} Order in View.bars are held " in suspect.sentence
    assert suspect.advice.endswith(
        "; or keep them, and remove entries at View.bars -> Array."
    )


@pytest.mark.parametrize("own_bytes", [100, 400])
def test_what_has_more_than_the_objects_themselves_is_told(
    own_bytes: int, tmp_path: Path
) -> None:
    heap = program()
    held = []
    for order in orders(heap):
        label = heap.node("object", "Label", 150)
        held.append(heap.node("object", "Observer", own_bytes, [
            ("property", "order", order), ("property", "label", label),
        ]))  # fmt: skip
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "observers", holding(heap, "Array", held))
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    is_told = f" with {len(held)} Order are held " in suspect.sentence
    assert is_told is (own_bytes < 200)


@pytest.mark.parametrize("is_attached", [True, False])
def test_a_variable_that_leads_into_a_document_does_not_hold_it(
    tmp_path: Path, *, is_attached: bool
) -> None:
    heap = program()
    names = ("<body>", "<div>") if is_attached else ("Body", "Part")
    body = heap.node("native", names[0], 100)
    heap.edge(body, "internal", "1", holding(heap, "Array", orders(heap)))
    heap.edge(1, "internal", "2", body)
    shown = heap.node("native", names[1], 100, [("internal", "1", body)])
    heap.edge(body, "internal", "3", shown)
    scope = heap.node("object", "system / Context", 40, [("context", "now", shown)])
    native = heap.node("object", "system / NativeContext", 40)
    heap.edge(scope, "internal", "previous", native)
    opened = closure(heap, "open", "/srv/shop.js")
    heap.edge(opened, "internal", "context", scope)
    heap.edge(1, "property", "open", opened)

    (suspect,) = suspects_of(heap, tmp_path)

    assert ("module-level now of" in suspect.sentence) is not is_attached


def test_a_collection_in_a_weak_map_is_told_without_its_field(tmp_path: Path) -> None:
    heap = program()
    held = heap.node("object", "Map", 40)
    table = heap.node("array", "", 64)
    heap.edge(held, "internal", "table", table)
    for at, order in enumerate(orders(heap)):
        heap.edge(table, "internal", str(at), order)
    store = heap.node("object", "Object", 40)
    weak_map = heap.node("object", "WeakMap", 40)
    entries = heap.node("array", "", 64)
    heap.edge(weak_map, "internal", "table", entries)
    weak_entry(heap, ("Object", store), ("Map", held), entries)
    native = heap.node("object", "system / NativeContext", 40)
    scope = heap.node("object", "system / Context", 40, [
        ("context", "store", store), ("internal", "previous", native),
    ])  # fmt: skip
    serve = closure(heap, "serve", "/srv/shop.js")
    heap.edge(serve, "internal", "context", scope)
    heap.edge(1, "property", "serve", serve)
    heap.edge(1, "property", "map", weak_map)

    (suspect,) = suspects_of(heap, tmp_path)

    assert "remove entries of Map in a weak map at module-level store" in suspect.advice


def test_what_a_symbol_names_is_no_holder(tmp_path: Path) -> None:
    """As the state of a stream that `tee()` has divided in two."""
    heap = program()
    queue = holding(heap, "Array", orders(heap))
    state = heap.node("object", "Object", 40, [("property", "queue", queue)])
    control = heap.node("object", "ReadableStreamDefaultController", 40, [
        ("property", "<symbol kState>", state),
    ])  # fmt: skip
    feed = heap.node("object", "Feed", 40)
    heap.edge(1, "property", "feed", feed)
    for field in ("audit", "live"):
        branch = heap.node("object", "ReadableStream", 40, [
            ("property", "controller", control),
        ])  # fmt: skip
        heap.edge(feed, "property", field, branch)

    (found,) = suspects_of(heap, tmp_path)

    assert "held in a list by Feed.audit" in found.sentence
    assert "Feed.live; clearing only one of them frees nothing" in found.sentence


def test_frames_that_are_asked_for_again_and_again_are_told(tmp_path: Path) -> None:
    heap = program()
    callbacks = []
    for modal in [heap.node("object", "Modal", 200) for _ in range(400)]:
        tick = closure(heap, "tick", "file:///srv/page.html")
        bound = [
            ("internal", "bound_this", modal),
            ("internal", "bound_function", tick),
        ]
        held = heap.node("closure", "native_bind", 64, bound)
        callbacks.append(
            heap.node("native", "V8FrameRequestCallback", 16, [("element", 1, held)])
        )
    backing = holding(heap, "HeapVectorBacking<FrameCallback>", callbacks)
    name = "ScriptedAnimationController"
    frames = heap.node("native", name, 16, [("element", 2, backing)])
    heap.edge(1, "element", 25, frames)

    (found,) = suspects_of(heap, tmp_path)

    assert " are held through timers by requestAnimationFrame." in found.sentence
    assert "; the function that holds one of them is tick page.html:" in found.advice


def test_detached_elements_that_handlers_of_jquery_hold_are_told(
    tmp_path: Path,
) -> None:
    heap = program()
    held = orders(heap)
    for order in held:
        element = heap.node("native", "<li>", 100, detachedness=2)
        heap.edge(order, "property", "element", element)
    events = heap.node("object", "Object", 40, [
        ("property", "mousedown", holding(heap, "Array", held)),
    ])  # fmt: skip
    data = heap.node("object", "Object", 40, [("property", "events", events)])
    document = heap.node("object", "HTMLDocument", 40, [
        ("property", "jQuery36040912", data),
    ])  # fmt: skip
    heap.edge(1, "property", "document", document)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.signs == (
        "They hold 400 elements that are detached from all documents.",
    )
    assert suspect.advice == (
        "To free them, remove what jQuery keeps (with off() or removeData()), of Array "
        "['mousedown']: HTMLDocument.jQuery36040912 -> Object."
    )


def test_observers_of_what_stays_in_the_document_are_to_be_disconnected(
    tmp_path: Path,
) -> None:
    heap = program()
    data = heap.node("native", "NodeRareData", 40)
    body = heap.node("native", "<body>", 40)
    heap.edge(body, "element", 1, data)
    heap.edge(1, "property", "body", body)
    for at, order in enumerate(orders(heap)):
        observer = heap.node("native", "MutationObserver", 40)
        heap.edge(observer, "element", 1, order)
        entry = heap.node("native", "MutationObserverRegistration", 40)
        heap.edge(entry, "element", 1, observer)
        heap.edge(data, "element", at + 1, entry)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith("400 MutationObserver (")
    assert suspect.advice.startswith("To free them, call disconnect() of each, or ")


def test_listeners_of_deno_are_event_handlers_of_the_programs_signal(
    tmp_path: Path,
) -> None:
    heap = program()
    class_of(heap, "AbortSignal", "ext:deno_web/03_abort_signal.js")
    class_of(heap, "Crawl", "file:///srv/app.ts")
    listeners = [
        heap.node("object", "{callback, options, signal, abortListener}", 40, [
            ("property", "callback", order),
        ]) for order in orders(heap)
    ]  # fmt: skip
    events = heap.node("object", "Object", 40, [
        ("property", "abort", holding(heap, "Array", listeners)),
    ])  # fmt: skip
    signal = heap.node("object", "AbortSignal", 40, [("property", "<symbol>", events)])
    crawl = heap.node("object", "Crawl", 40, [("property", "stop", signal)])
    heap.edge(1, "property", "crawl", crawl)

    suspect, *_ = suspects_of(heap, tmp_path)

    assert " as event handlers by Crawl.stop" in suspect.sentence
    assert suspect.advice.startswith(
        "To free them, remove the handlers of ['abort'] at Crawl.stop -> "
    )


def test_what_the_runtime_itself_awaits_may_be_under_way(tmp_path: Path) -> None:
    heap = program()
    ring = holding(heap, "Array", [heap.promise(order) for order in orders(heap)])
    native = heap.node("object", "system / NativeContext", 40)
    scope = heap.node("object", "system / Context", 40, [
        ("context", "promiseRing", ring), ("internal", "previous", native),
    ])  # fmt: skip
    opened = closure(heap, "opAsync", "ext:core/00_infra.js")
    heap.edge(opened, "internal", "context", scope)
    heap.edge(1, "property", "opAsync", opened)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.signs == ()
    assert suspect.doubts == (
        "What waits for an operation of the runtime is freed when that ends: it may be "
        "work under way.",
    )


def test_the_receivers_of_a_librarys_listeners_are_told(tmp_path: Path) -> None:
    heap = program()
    class_of(heap, "View", "/srv/shop.js")
    listeners = []
    for order in orders(heap):
        parts = holding(heap, "Array", [order, heap.node("object", "Order", 200)])
        view = heap.node("object", "View", 40, [("property", "parts", parts)])
        listeners.append(
            heap.node("object", "{fn, ctx}", 40, [("property", "ctx", view)])
        )
    events = heap.node("object", "Object", 40, [
        ("property", "moved", holding(heap, "Array", listeners)),
    ])  # fmt: skip
    store = heap.node("object", "Store", 40, [("property", "_events", events)])
    heap.edge(1, "property", "store", store)

    (suspect,) = suspects_of(heap, tmp_path)

    assert " with 400 View are held through event handlers by " in suspect.sentence


def test_the_collection_below_what_is_cut_is_named(tmp_path: Path) -> None:
    heap = program()
    class_of(heap, "PubSub", "/srv/node_modules/pubsub/index.js")
    class_of(heap, "Shop", "/srv/shop.js")
    hub = heap.node("object", "PubSub", 40, [
        ("property", "waiting", holding(heap, "Array", orders(heap))),
    ])  # fmt: skip
    shop = heap.node("object", "Shop", 40, [("property", "hub", hub)])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.advice == (
        "To free them, remove entries of Array PubSub.waiting at Shop.hub -> PubSub."
    )


def test_what_a_class_or_a_function_has_is_its_property(tmp_path: Path) -> None:
    """More than one place has the class itself, and none of them is to be cleared."""
    heap = program()
    shop = closure(heap, "Shop", "/srv/shop.js")
    heap.edge(shop, "property", "orders", holding(heap, "Array", orders(heap)))
    prototype = heap.node("object", "Shop", 40, [("property", "constructor", shop)])
    heap.edge(shop, "property", "prototype", prototype)
    items = [
        heap.node("object", "Item", 40, [("property", "__proto__", prototype)])
        for _ in range(9)
    ]
    heap.edge(1, "property", "items", holding(heap, "Array", items))
    heap.edge(1, "property", "Shop", shop)

    (found,) = suspects_of(heap, tmp_path)

    assert "held in a list by static property Shop.orders" in found.sentence
    assert found.cut == "static property Shop.orders -> Array"


def test_the_handlers_of_an_emitter_are_told_as_such(tmp_path: Path) -> None:
    heap = program()
    handlers = []
    for order in orders(heap):
        handlers.append(closure(heap, "onChange", "/srv/shop.js"))
        heap.edge(handlers[-1], "property", "order", order)
    events = heap.node("object", "Object", 40, [
        ("property", "change", holding(heap, "Array", handlers)),
    ])  # fmt: skip
    hub = heap.node("object", "Hub", 40, [("property", "_events", events)])
    heap.edge(1, "property", "hub", hub)

    (found,) = suspects_of(heap, tmp_path)

    assert "are held as event handlers by Hub._events" in found.sentence
    assert found.advice.startswith(
        "To free them, remove the handlers of ['change'] at Hub._events -> Object"
    )


def test_an_object_with_keys_alone_may_be_larger_than_these(tmp_path: Path) -> None:
    """A set of texts as programs make one: each property is ``true``, which is none."""
    heap = program()
    keys = [heap.node("string", f"id-{at}", 24) for at in range(_MANY)]
    table = heap.node("array", "", 0)
    seen = heap.node("object", "Object", 40 * _MANY, [
        ("internal", "properties", table),
    ])  # fmt: skip
    for at, key in enumerate(keys):
        heap.edge(table, "internal", str(at), key)
    shop = heap.node("object", "Shop", 40, [("property", "seen", seen)])
    heap.edge(1, "property", "shop", shop)

    (found,) = suspects_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} (string) (")
    assert found.cut == "Shop.seen -> Object"


def test_a_chain_of_promises_is_no_metadata_of_the_engine(tmp_path: Path) -> None:
    """An async function that returns itself: each promise waits for the next one."""
    heap = program()
    below = heap.node("object", "Promise", 200)
    for _ in range(400):
        handler = heap.node("closure", "", 64)
        scope = heap.node("object", "system / Context", 24, [
            ("internal", "extension", below),
        ])  # fmt: skip
        heap.edge(handler, "internal", "context", scope)
        below = heap.promise(handler, size=200)
    shop = heap.node("object", "Shop", 40, [("property", "watched", below)])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith("401 Promise (")
    assert suspect.cut == "Shop.watched -> Promise"
    assert suspect.share > 0.9
    assert suspect.signs == (
        "The Promise is not done, and keeps what waits for it until it is.",
    )


def test_a_tree_of_maps_is_no_linked_list(tmp_path: Path) -> None:
    """As the index of words of a library: each map has further ones."""
    heap = program()
    maps = [
        heap.node("object", "Map", 400, [
            ("internal", "table", heap.node("array", "", 64))
        ])
        for _ in range(400)
    ]  # fmt: skip
    for at, map_ in enumerate(maps[1:]):  # three in each
        heap.edge(maps[at // 3] - 1, "internal", str(at % 3), map_)
    shop = heap.node("object", "Shop", 40, [("property", "words", maps[0])])
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert "400 Map (" in suspect.sentence
    assert " are held in a map by Shop.words" in suspect.sentence


def test_what_is_in_the_list_is_named_before_what_that_has_of_a_class(
    tmp_path: Path,
) -> None:
    """As the tasks of a library: each has an object that has what the program gave."""
    heap = program()
    for name in ("Task", "ScheduledTask"):
        class_of(heap, name, "/srv/node_modules/node-cron/index.js")
    tasks = []
    for _ in range(_MANY):
        given = heap.node("object", "{user, text}", 200)
        inner = heap.node("object", "Task", 100, [("property", "given", given)])
        scope = heap.node(
            "object", "system / Context", 40, [("context", "task", inner)]
        )
        tasks.append(heap.node("object", "ScheduledTask", 50))
        for name in ("start", "stop"):
            function = closure(heap, name, "/srv/node_modules/node-cron/index.js")
            heap.edge(function, "internal", "context", scope)
            heap.edge(tasks[-1], "property", name, function)
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "tasks", holding(heap, "Array", tasks))
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert suspect.sentence.startswith(f"{_MANY} ScheduledTask (")
    assert suspect.cut == "Shop.tasks -> Array"


def test_the_class_of_a_library_that_each_record_refers_to_is_told(
    tmp_path: Path,
) -> None:
    heap = program()
    class_of(heap, "Pool", "/srv/node_modules/pools/pool.js")
    records = []
    for _ in range(_MANY):
        pool = heap.node("object", "Pool", 300)
        made = heap.node("object", "Date", 100)
        records.append(heap.node("object", "{pool, made}", 40, [
            ("property", "pool", pool), ("property", "made", made),
        ]))  # fmt: skip
    shop = heap.node("object", "Shop", 40)
    heap.edge(shop, "property", "pools", holding(heap, "Array", records))
    heap.edge(1, "property", "shop", shop)

    (suspect,) = suspects_of(heap, tmp_path)

    assert f"{_MANY} {{pool, made}} (" in suspect.sentence
    assert f" with {_MANY} Pool are held in a list by Shop.pools" in suspect.sentence


def test_small_objects_in_maps_of_a_map_are_told_with_what_leads_to_them(
    tmp_path: Path,
) -> None:
    """Their keys and the tables of the maps have more than three times as much."""
    heap = program()
    inner = []
    for _ in range(2):
        held = [heap.node("object", "Token", 32) for _ in range(_MANY)]
        keys = [heap.node("string", "key", 64) for _ in held]
        table = heap.node("array", "", 10_000, [
            ("internal", str(at), one) for at, one in enumerate(held)
        ])  # fmt: skip
        map_ = heap.node("object", "Map", 32, [("internal", "table", table)])
        for at, key in enumerate(keys):
            heap.edge(map_, "internal", str(at), key)
        inner.append(map_)
    outer = heap.node("array", "", 64, [
        ("internal", str(at), one) for at, one in enumerate(inner)
    ])  # fmt: skip
    tenants = heap.node("object", "Map", 32, [("internal", "table", outer)])
    registry = heap.node("object", "Registry", 40, [("property", "tenants", tenants)])
    heap.edge(1, "property", "registry", registry)

    found = suspects_of(heap, tmp_path)

    (suspect,) = (one for one in found if "Token" in one.sentence)
    assert suspect.cut == "Registry.tenants -> Map"
    assert suspect.sentence.startswith(f"{2 * _MANY} Token (")
    assert " are held in 2 maps in a map by Registry.tenants" in suspect.sentence
