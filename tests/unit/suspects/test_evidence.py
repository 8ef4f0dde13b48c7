"""What one dump tells of a suspect besides its size: flags, bounds, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.suspects.find import find_suspects
from tests.dumps.hprof import BOOLEAN, BYTE, OBJECT, SYSTEM_CLASS, Hprof, jdk
from tests.dumps.v8 import V8Heap

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.heap.graph import HeapGraph
    from ingest.suspects.suspect import Suspect

_OBJECT = "java/lang/Object"
_SESSIONS = 400
_PENDING = "is not done, and keeps what waits for it until it is."


def graph_of(dump: Hprof | V8Heap, folder: Path) -> HeapGraph:
    path = folder / "x.dump"
    path.write_bytes(dump.bytes())
    with open_source(str(path)) as source:
        return read(source, ReadOptions(), silent)


def suspect_of(dump: Hprof | V8Heap, folder: Path) -> Suspect:
    graph = graph_of(dump, folder)
    (found,) = find_suspects(graph, analyse(graph)).suspects
    return found


def sessions(closed: int, *, is_root: bool = True) -> Hprof:
    """An array has sessions, so many of which are closed."""
    dump = jdk()
    fields = {"closed": BOOLEAN, "user": OBJECT, "key": OBJECT}
    dump.cls("app/Session", 0x2000, _OBJECT, fields)
    dump.cls("[Lapp/Session;", 0x2010, _OBJECT, {})
    at = [0x10000 + 64 * i for i in range(_SESSIONS)]
    for i, address in enumerate(at):
        dump.obj(address, "app/Session", closed=int(i < closed))
    dump.array(0x90000, "[Lapp/Session;", at)
    if is_root:
        dump.root(SYSTEM_CLASS, 0x90000)
    return dump


@pytest.mark.parametrize(
    ("closed", "signs"),
    [
        (_SESSIONS,
            ("All of them are closed, as the dump shows, and still held.",)),
        (_SESSIONS * 3 // 4,
            ("75% of them are closed, as the dump shows, and still held.",)),
        (_SESSIONS // 4, ()),
    ],
)  # fmt: skip
def test_objects_that_are_closed_and_held(
    closed: int, signs: tuple[str, ...], tmp_path: Path
) -> None:
    found = suspect_of(sessions(closed), tmp_path)

    assert found.object_count == _SESSIONS
    assert found.signs == signs


def cache(owner: str, *, linked: bool, key: str) -> Hprof:
    """A map of a class has entries, each with a key of a type."""
    dump = jdk()
    node = "java/util/LinkedHashMap$Entry" if linked else "java/util/HashMap$Node"
    if linked:
        dump.cls(node, 0x2000, "java/util/HashMap$Node", {"before": OBJECT})
    if owner != "java/util/HashMap":
        dump.cls(owner, 0x2020, "java/util/HashMap", {"head": OBJECT})
    dump.cls("app/Page", 0x2030, _OBJECT, {name: OBJECT for name in "abcdefgh"})
    dump.cls("java/util/Locale", 0x2040, _OBJECT, {})
    nodes = []
    for i in range(_SESSIONS):
        at = 0x10000 + 256 * i
        dump.obj(at, "app/Page")
        dump.obj(at + 128, key)
        nodes.append(dump.obj(at + 192, node, key=at + 128, value=at))
    dump.array(0x90000, "[Ljava/util/HashMap$Node;", nodes)
    dump.obj(0x9F000, owner, table=0x90000)
    dump.root(SYSTEM_CLASS, 0x9F000)
    return dump


@pytest.mark.parametrize(
    ("owner", "linked", "key", "doubt"),
    [
        ("java/util/HashMap", False, "java/lang/Integer", ""),
        ("java/util/LinkedHashMap", True, "java/lang/Integer", ""),
        ("app/Pages$1", True, "java/lang/Integer", "extends LinkedHashMap"),
        ("app/LruCache", False, "java/lang/Integer", "has the name of a cache"),
        ("java/util/HashMap", False, "java/util/Locale",
            "Its keys are of type Locale, of which a program has a limited number."),
    ],
)  # fmt: skip
def test_caches_with_a_bound_and_keys_of_which_there_are_few(
    owner: str, linked: bool, key: str, doubt: str, tmp_path: Path
) -> None:
    found = suspect_of(cache(owner, linked=linked, key=key), tmp_path)

    assert len(found.doubts) == bool(doubt)
    assert doubt in "".join(found.doubts)
    assert found.signs == ()


def page(nodes: int, *, detached: bool) -> V8Heap:
    """A window whose listeners each hold a node of the page, through a closure."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("synthetic", "(Global handles)", 0, [("internal", "1 / context", 2)])
    window = heap.node("native", "Window / file://", 40)
    listeners = heap.node("native", "EventTargetData", 40)
    heap.edge(window, "element", 24, listeners)
    script = heap.node("code", "system / Script / file:///srv/a.html", 100)
    code = heap.node("code", "onResize", 56, [
        ("internal", "script_or_debug_info", script),
    ])  # fmt: skip
    for number in range(nodes):
        node = heap.node("native", "<div>", 200, detachedness=2 if detached else 1)
        scope = heap.node("object", "system / Context", 24, [("context", "row", node)])
        closure = heap.node("closure", "onResize", 64, [
            ("internal", "context", scope), ("internal", "shared", code),
        ])  # fmt: skip
        heap.place(closure, 1, 22, 55)
        listener = heap.node("native", "V8EventListener", 40, [
            ("element", 1, closure),
        ])  # fmt: skip
        heap.edge(listeners, "element", number + 1, listener)
    return heap


def test_nodes_of_a_page_that_are_in_no_document(tmp_path: Path) -> None:
    found = suspect_of(page(_SESSIONS, detached=True), tmp_path)

    assert found.sentence.endswith(" are held as event handlers by window.")
    assert found.sentence.startswith("400 Detached <div> (")
    assert found.signs == (
        "They are detached from all documents, and still held.",
        "Event handlers are held until they are removed.",
    )
    assert found.advice == (
        "To free them, remove the handlers at window -> EventTargetData; the "
        "function that holds one of them is onResize a.html:23:56."
    )


def test_what_nodes_in_no_document_hold_is_held_by_what_is_over(
    tmp_path: Path,
) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global", 40)
    points = [heap.node("object", "Point", 400) for _ in range(_SESSIONS)]
    held = [("element", at, point) for at, point in enumerate(points)]
    canvas = heap.node("native", "<canvas>", 40, [
        ("property", "points", heap.node("object", "Array", 40, held)),
    ], detachedness=2)  # fmt: skip
    heap.edge(1, "property", "canvas", canvas)

    found = suspect_of(heap, tmp_path)

    assert " are held in a list by Detached <canvas>.points" in found.sentence
    assert found.signs == (
        "Their holder is detached from all documents, and still held.",
    )


def test_nodes_that_are_in_a_document_are_in_use(tmp_path: Path) -> None:
    found = suspect_of(page(_SESSIONS, detached=False), tmp_path)

    assert found.signs == ("Event handlers are held until they are removed.",)


def test_objects_in_a_heap_without_any_value(tmp_path: Path) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "Store", 24, [("property", "all", 2)])
    heap.node("array", "", 8_000)
    for row in range(1_000):
        heap.edge(2, "element", row, heap.node("object", "Session", 48))
    # The only value belongs to a node that is left out, for another one has its id.
    heap.edge(1, "property", "text", heap.node("string", "text", 24, number=5))
    found = suspect_of(heap, tmp_path)
    assert found.sentence.startswith("1,000 Session (")


def test_timers_are_told_with_the_function_of_the_program_not_with_that_of_node(
    tmp_path: Path,
) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 40)

    def closure(name: str, script: str, line: int, context: int) -> int:
        source = heap.node("code", f"system / Script / {script}", 100)
        code = heap.node("code", name, 56, [("internal", "script", source)])
        found = heap.node("closure", name, 64, [
            ("internal", "context", context), ("internal", "shared", code),
        ])  # fmt: skip
        heap.place(found, 1, line - 1, 4)
        return found

    timers = heap.node("object", "TimersList", 40)
    module = heap.node("object", "system / Context", 40, [("context", "lists", timers)])
    heap.edge(1, "property", "setImmediate", closure(
        "setImmediate", "node:timers", 282, module,
    ))  # fmt: skip
    # It is given what it holds, and is itself not on the way to that.
    later = closure("later", "/srv/app.js", 20, heap.node("object", "Job", 24))
    before = timers
    for _ in range(_SESSIONS):
        session = heap.node("object", "Session", 200)
        given = heap.node("object", "Array", 16, [("element", 0, session)])
        timer = heap.node("object", "Timeout", 88, [
            ("property", "_onTimeout", later), ("property", "_timerArgs", given),
        ])  # fmt: skip
        heap.edge(before, "property", "_idlePrev", timer)
        before = timer

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_SESSIONS} Session (")
    assert found.advice.endswith("holds one of them is later app.js:20:5.")


@pytest.mark.parametrize(("period_ms", "is_doubt"), [(15, True), (3_600_000, False)])
def test_what_a_timer_soon_ends_may_be_under_way(
    period_ms: int, is_doubt: bool, tmp_path: Path
) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 40)
    rows = [heap.node("object", "Row", 200) for _ in range(_SESSIONS)]
    batch = heap.node(
        "array", "", 16, [("element", i, at) for i, at in enumerate(rows)]
    )
    promise = heap.promise(batch)
    timer = heap.node("object", "Timeout", 88, [("property", "_onTimeout", promise)])
    timers = heap.node("object", "TimersList", 40, [("property", "_idleNext", timer)])
    lists = heap.node("object", "Object", 40, [("element", period_ms, timers)])
    module = heap.node("object", "system / Context", 40, [
        ("context", "timerListMap", lists),
    ])  # fmt: skip
    heap.edge(1, "property", "timers", module)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_SESSIONS} Row (")
    assert any("timer of 15 ms" in doubt for doubt in found.doubts) == is_doubt
    assert bool(found.signs) != is_doubt
    assert ("finish the Promise" in found.advice) != is_doubt


@pytest.mark.parametrize(
    ("delay_ms", "again", "is_doubt"),
    [(15, "false", True), (3_600_000, "false", False), (15, "true", False)],
)
def test_a_timer_that_fires_once_tells_its_delay(
    delay_ms: int, again: str, is_doubt: bool, tmp_path: Path
) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 40)
    timers = []
    for _ in range(_SESSIONS):
        row = heap.node("object", "Row", 200)
        promise = heap.promise(row)
        number = heap.node("number", "smi number", 0, [
            ("internal", "value", heap.node("string", str(delay_ms), 0)),
        ])  # fmt: skip
        timers.append(heap.node("object", "Timeout", 88, [
            ("property", "_onTimeout", promise), ("property", "_idleTimeout", number),
            ("property", "_repeat", heap.node("native", again, 0)),
        ]))  # fmt: skip
    table = heap.node(
        "object", "Array", 16, [("element", i, at) for i, at in enumerate(timers)]
    )
    heap.edge(1, "property", "active", table)

    found = suspect_of(heap, tmp_path)

    assert any("timer of 15 ms" in doubt for doubt in found.doubts) == is_doubt
    assert bool(found.signs) != is_doubt


def test_of_many_futures_each_is_to_be_finished(tmp_path: Path) -> None:
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("shortcut", "1", 1)])
    heap.node("object", "global", 40)
    promises = []
    for _ in range(_SESSIONS):
        row = heap.node("object", "Row", 200)
        promises.append(heap.promise(row))
    calls = heap.node(
        "object", "Array", 16, [("element", i, at) for i, at in enumerate(promises)]
    )
    shop = heap.node("object", "Shop", 16, [("property", "calls", calls)])
    heap.edge(1, "property", "shop", shop)

    found = suspect_of(heap, tmp_path)

    assert found.advice.startswith("To free them, finish the Promise of each, or ")


def strong_root(name: str, type_name: str) -> V8Heap:
    """A heap of which most is one array that V8 itself refers to."""
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1), ("shortcut", "1", 2)])
    heap.node("synthetic", "(GC roots)", 0, [("element", 1, 3)])
    heap.node("object", "global", 400)
    heap.node("synthetic", "(Strong roots)", 0, [("internal", name, 4)])
    heap.node("array" if type_name == "(array)" else "object", type_name, 40_000)
    return heap


def test_a_table_of_the_runtime_is_no_leak_of_the_program(tmp_path: Path) -> None:
    cache = graph_of(strong_root("number_string_cache", "(array)"), tmp_path)
    assert find_suspects(cache, analyse(cache)).suspects == ()
    assert suspect_of(strong_root("entry", "Session"), tmp_path).object_count == 1


def held_by(name: str, above: str) -> Hprof:
    """An array of references of a type, each to a row, or with one as its value."""
    dump = jdk()
    dump.cls("app/Row", 0x2000, _OBJECT, {"key": OBJECT, "text": OBJECT})
    dump.cls("app/Key", 0x2010, _OBJECT, {})
    dump.cls(name, 0x2020, f"java/lang/ref/{above}", {"value": OBJECT})
    at = [0x10000 + 192 * i for i in range(_SESSIONS)]
    for address in at:
        row, key = address + 64, address + 128
        dump.obj(key, "app/Key")
        dump.obj(row, "app/Row", key=key)
        if above == "WeakReference":
            dump.obj(address, name, referent=key, value=row)
        else:
            dump.obj(address, name, referent=row)
    dump.array(0x90000, "[Ljava/lang/Object;", at)
    dump.root(SYSTEM_CLASS, 0x90000)
    return dump


def test_what_waits_for_the_finalizer_is_told(tmp_path: Path) -> None:
    found = suspect_of(held_by("java/lang/ref/Finalizer", "FinalReference"), tmp_path)

    assert found.sentence.startswith("400 Row (")
    assert found.sentence.endswith(" wait for the finalizer thread.")
    assert found.cut == "Row"


def test_entries_stay_where_soft_references_hold_their_values(tmp_path: Path) -> None:
    found = suspect_of(held_by("java/util/SoftMap$Entry", "SoftReference"), tmp_path)

    assert found.doubts == (
        "Only soft references hold 15.6 KiB of this, which is freed before memory runs "
        "out; the rest stays.",
    )


def test_what_only_soft_references_hold_is_doubted(tmp_path: Path) -> None:
    dump = jdk()
    dump.cls("app/Text", 0x2000, _OBJECT, {"data": OBJECT})
    dump.cls("app/Soft", 0x2020, "java/lang/ref/SoftReference", {})
    at = [0x10000 + 2048 * i for i in range(_SESSIONS)]
    for address in at:
        dump.numbers(address + 192, BYTE, bytes(900))
        dump.obj(address + 64, "app/Text", data=address + 192)
        dump.obj(address, "app/Soft", referent=address + 64)
    dump.array(0x90000000, "[Ljava/lang/Object;", at)
    dump.root(SYSTEM_CLASS, 0x90000000)

    assert suspect_of(dump, tmp_path).doubts == (
        "Only soft references hold them: they are freed before memory runs out.",
    )


def test_values_of_a_weak_map_that_hold_its_keys_are_a_sign(tmp_path: Path) -> None:
    dump = held_by("java/util/WeakHashMap$Entry", "WeakReference")
    found = suspect_of(dump, tmp_path)

    assert found.sentence.startswith("400 Row (")
    assert found.signs == (
        "The values of the weak map refer to their own keys, so no entry ever goes.",
    )


def test_where_the_workers_are_whose_queue_grows_is_told(tmp_path: Path) -> None:
    dump = jdk()
    pool = "java/util/concurrent/ThreadPoolExecutor"
    dump.cls(pool, 0x2000, _OBJECT, {"workers": OBJECT, "queue": OBJECT})
    dump.cls(f"{pool}$Worker", 0x2010, _OBJECT, {"pool": OBJECT, "thread": OBJECT})
    dump.cls("java/lang/Thread", 0x2020, _OBJECT, {"name": OBJECT})
    dump.cls("app/Order", 0x2030, _OBJECT, {"text": OBJECT})
    dump.cls("app/Shop", 0x2040, _OBJECT, {}, {"pool": (OBJECT, 0x70000)})
    orders = [0x10000 + 64 * i for i in range(_SESSIONS)]
    for address in orders:
        dump.obj(address, "app/Order")
    dump.array(0x60000, "[Ljava/lang/Object;", orders)
    dump.obj(0x80000, "java/lang/Thread")
    dump.obj(0x81000, f"{pool}$Worker", pool=0x70000, thread=0x80000)
    dump.array(0x61000, "[Ljava/lang/Object;", [0x81000])
    dump.obj(0x70000, pool, queue=0x60000, workers=0x61000)
    dump.root(8, 0x80000, 1, 1)
    dump.frame(1, "java/lang/Thread", "sleep", 9)
    dump.frame(2, "app/Order", "ship", 3)
    dump.trace(1, 1, [1, 2])

    found = suspect_of(dump, tmp_path)

    assert "by static field Shop.pool" in found.sentence
    (sign,) = found.signs
    assert sign.endswith(" one of its workers is in app.Order.ship(Order.java:3).")


@pytest.mark.parametrize(
    ("field", "signs"),
    [
        ("stack", (f"The CompletableFuture {_PENDING}",)),
        ("result", ()),
    ],
)
def test_what_waits_for_a_future_that_is_not_done_is_a_sign(
    field: str, signs: tuple[str, ...], tmp_path: Path
) -> None:
    dump = sessions(0, is_root=False)
    future = "java/util/concurrent/CompletableFuture"
    dump.cls(future, 0x2020, _OBJECT, {"stack": OBJECT, "result": OBJECT})
    dump.cls("app/Shop", 0x2040, _OBJECT, {}, {"open": (OBJECT, 0x70000)})
    dump.obj(0x70000, future, **{field: 0x90000})

    assert suspect_of(dump, tmp_path).signs == signs
