"""First sentences for objects of Java libraries that hold one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dumps.hprof import LONG, OBJECT, SYSTEM_CLASS, THREAD_OBJECT
from tests.unit.suspects.test_java_leaks import JAVA_FRAME, Program, Threads

if TYPE_CHECKING:
    from pathlib import Path

_CONCURRENT = "java/util/concurrent"


def grouped(count: int) -> Program:
    """A flow with so many open groups, each of which has its seat in an array."""
    shop = Program()
    shop.cls("lib/Group", "seat", "queue")
    shop.cls("lib/FlatMap$Seat", "group", "total")
    shop.cls("[Llib/FlatMap$Seat;")
    shop.cls("lib/GroupBy", "groups")
    shop.cls("lib/FlatMap", "seats")
    groups, seats = [], []
    for at in range(count):
        place = 0x9000000 + 4096 * at
        groups.append(
            shop.dump.obj(place, "lib/Group", seat=place + 2048, queue=shop.data(900))
        )
        seats.append(
            shop.dump.obj(
                place + 2048, "lib/FlatMap$Seat", group=place, total=shop.data(300)
            )
        )
    flow = shop.make("lib/GroupBy", groups=shop.map_of(groups))
    array = shop.array("[Llib/FlatMap$Seat;", seats)
    shop.main(FLOW=flow, MERGED=shop.make("lib/FlatMap", seats=array))
    return shop


def test_objects_that_refer_to_one_another_are_held_by_what_is_outside(
    tmp_path: Path,
) -> None:
    (found,) = grouped(400).found(tmp_path).suspects

    assert found.sentence.startswith("400 Group (")
    assert set(found.cut.split(" and ")) == {
        "GroupBy.groups -> HashMap",
        "FlatMap.seats -> FlatMap$Seat[]",
    }
    assert "; clearing only one of them frees nothing but" in found.sentence


def test_one_object_that_refers_back_is_a_place(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("app/Page", "owner", "text")
    shop.cls("app/Screen", "page")
    pages = []
    for at in range(400):
        place, owner = 0x9000000 + 4096 * at, 0x8000000 if not at else 0
        pages.append(shop.dump.obj(place, "app/Page", owner=owner, text=shop.data(900)))
    screen = shop.dump.obj(0x8000000, "app/Screen", page=pages[0])
    shop.main(SCREEN=screen, PAGES=shop.map_of(pages))
    (found,) = shop.found(tmp_path).suspects

    assert found.cut == "static field Main.PAGES -> HashMap"


def test_a_nested_class_of_what_is_called_a_map_is_none(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("lib/FlatMap$Seat", "total")
    shop.cls("[Llib/FlatMap$Seat;")
    seats = [shop.make("lib/FlatMap$Seat", total=shop.data(300)) for _ in range(400)]
    shop.cls("lib/FlatMap", "seats")
    array = shop.array("[Llib/FlatMap$Seat;", seats)
    shop.main(MERGED=shop.make("lib/FlatMap", seats=array))
    (found,) = shop.found(tmp_path).suspects

    assert found.pattern == "list"


def test_what_waits_for_a_lock_is_freed_when_it_is_released(tmp_path: Path) -> None:
    shop = Program()
    lock = "kotlinx/coroutines/sync/MutexImpl"
    shop.cls(lock, "waiters")
    shop.cls("app/Ledger", "mutex")
    shop.cls("app/Ledger$post$1", "entry")
    posts = [shop.make("app/Ledger$post$1", entry=shop.data(300)) for _ in range(400)]
    mutex = shop.make(lock, waiters=shop.array("[Ljava/lang/Object;", posts))
    shop.main(LEDGER=shop.make("app/Ledger", mutex=mutex))
    (found,) = shop.found(tmp_path).suspects

    assert " are held as waiters of a lock by Ledger.mutex" in found.sentence
    assert found.advice == (
        "To free them, have what has the lock Ledger.mutex release it."
    )
    assert found.signs == ("What waits for a lock is held until the lock is released.",)


def test_the_threads_of_objects_in_two_places_are_told_as_many(tmp_path: Path) -> None:
    """A frame has the request, and what the thread runs: each thread its own."""
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "task", above="java/lang/Thread")
    shop.cls("app/Request", "data")
    shop.cls("app/Task", "request")
    shop.cls("app/Exchange", "request")
    for number in range(1, 61):
        request = shop.make("app/Request", data=shop.data(900))
        task = shop.make("app/Task", request=request)
        name = shop.text(f"req-{number}")
        thread = shop.make("java/lang/CarrierThread", name=name, task=task)
        shop.dump.root(THREAD_OBJECT, thread, number, 0)
        exchange = shop.make("app/Exchange", request=request)
        shop.dump.root(JAVA_FRAME, exchange, number, 0)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("60 Request (")
    assert "by Exchange.request" in found.sentence
    assert "by Task.request" in found.sentence
    assert "req-1" not in found.sentence
    assert "req-#" in found.sentence


@pytest.mark.parametrize("is_virtual", [False, True])
def test_a_few_threads_have_what_the_program_made_not_its_largest_part(
    is_virtual: bool, tmp_path: Path
) -> None:
    """Each has an eighth of the heap in one array, which is a suspect by itself."""
    kind = "VirtualThread" if is_virtual else "CarrierThread"
    shop = Threads()
    shop.cls(f"java/lang/{kind}", above="java/lang/Thread")
    shop.cls("app/Export", "buffer")
    for number in range(1, 9):
        export = shop.make("app/Export", buffer=shop.data(12_000))
        name = 0 if is_virtual else shop.text(f"exec-{number}")
        thread = shop.make(f"java/lang/{kind}", name=name)
        shop.dump.root(THREAD_OBJECT, thread, number, number)
        shop.dump.root(JAVA_FRAME, export, number, 0)
        frame = shop.dump.frame(0x50 + number, "app/Export", "write", 12)
        shop.dump.trace(number, number, [frame])
    (found,) = shop.found(tmp_path).suspects
    threads = "virtual threads" if is_virtual else "threads exec-#"

    assert found.sentence.startswith("8 Export (")
    assert found.sentence.endswith(f" are held by frames of {threads}.")
    assert found.cut == f"frames of {threads} -> Export"
    assert found.advice.endswith(
        "most of the threads are in app.Export.write(Export.java:12)."
    )


@pytest.mark.parametrize("ref", ["cats/effect/kernel/SyncRef", "zio/Ref$Atomic"])
def test_references_of_effects_are_named_by_their_field(
    ref: str, tmp_path: Path
) -> None:
    shop = Program()
    shop.cls(ref, "ar")
    shop.cls("cats/effect/IO$Delay", "thunk")
    shop.cls("app/Conn", "buffer")
    shop.cls("app/Client", "finalizers")
    ios = [
        shop.make(
            "cats/effect/IO$Delay", thunk=shop.make("app/Conn", buffer=shop.data(300))
        )
        for _ in range(400)
    ]
    finalizers = shop.make(ref, ar=shop.map_of(ios))
    shop.main(CLIENT=shop.make("app/Client", finalizers=finalizers))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Conn (")
    assert "by Client.finalizers" in found.sentence


def test_parts_of_metaclasses_of_groovy_are_not_the_program_s(tmp_path: Path) -> None:
    shop, index = Program(), "org/codehaus/groovy/runtime/metaclass/MetaMethodIndex"
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("groovy/lang/ExpandoMetaClass", "index")
    shop.cls(f"{index}$Entry", "methods")
    shop.cls(f"[L{index}$Entry;")
    found = [
        shop.make(
            "groovy/lang/ExpandoMetaClass",
            index=shop.array(
                f"[L{index}$Entry;",
                [shop.make(f"{index}$Entry", methods=shop.data(40)) for _ in range(9)],
            ),
        )
        for _ in range(100)
    ]
    items = shop.array("[Ljava/lang/Object;", found)
    shop.main(PATCHED=shop.make("java/util/ArrayList", elementData=items))
    (suspect,) = shop.found(tmp_path).suspects

    assert suspect.sentence.startswith("100 ExpandoMetaClass (")


@pytest.mark.parametrize(
    ("name", "pattern"), [("BufferedChannel", "queue"), ("ProducerCoroutine", "list")]
)
def test_only_a_channel_of_coroutines_is_a_queue(
    name: str, pattern: str, tmp_path: Path
) -> None:
    shop, of = Program(), f"kotlinx/coroutines/channels/{name}"
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls(of, "parent")
    shop.cls("app/Page", "data")
    pages = [shop.make("app/Page", data=shop.data(500)) for _ in range(300)]
    channel = shop.make(of, parent=shop.array("[Ljava/lang/Object;", pages))
    items = shop.array("[Ljava/lang/Object;", [channel])
    shop.main(LISTENERS=shop.make("java/util/ArrayList", elementData=items))
    (found,) = shop.found(tmp_path).suspects

    assert found.pattern == pattern


@pytest.mark.parametrize(("maximum", "signs", "doubts"), [
    (300, (), ("SSMS drops entries beyond its maximum of 300, so this may be its "
        "normal size.",)),
    (100, ("SSMS has far more entries than its maximum of 100.",), ()),
])  # fmt: skip
def test_a_cache_of_caffeine_is_held_to_its_maximum(
    maximum: int, signs: tuple[str, ...], doubts: tuple[str, ...], tmp_path: Path
) -> None:
    """It drops no entry whose future is not complete."""
    shop = Program()
    place = "com/github/benmanes/caffeine/cache"
    fields = {"maximum": LONG, "data": OBJECT}
    shop.dump.cls(f"{place}/SSMS", 0x3000, "java/lang/Object", fields)
    shop.cls(f"{place}/PSMS", "value")
    shop.cls("app/Download", "data")
    downloads = [shop.make("app/Download", data=shop.data(500)) for _ in range(300)]
    entries = [shop.make(f"{place}/PSMS", value=one) for one in downloads]
    data = shop.map_of(entries)
    shop.main(FILES=shop.make(f"{place}/SSMS", maximum=maximum, data=data))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Download (")
    assert (found.signs, found.doubts) == (signs, doubts)


@pytest.mark.parametrize("is_static", [False, True])
def test_time_zones_that_the_runtime_reads_once(
    is_static: bool, tmp_path: Path
) -> None:
    # The program refers to each of them as well.
    shop = Program()
    shop.cls("java/time/ZoneRegion", "rules")
    shop.cls("java/time/zone/ZoneRules", "transitions")
    shop.cls("java/time/LocalDateTime", "date")
    shop.cls("[Ljava/time/LocalDateTime;")
    shop.cls("app/Office", "zone")

    def transitions() -> int:
        dates = [
            shop.make("java/time/LocalDateTime", date=shop.data(20)) for _ in range(9)
        ]
        return shop.array("[Ljava/time/LocalDateTime;", dates)

    rules = [
        shop.make("java/time/zone/ZoneRules", transitions=transitions())
        for _ in range(300)
    ]
    zones = [shop.make("java/time/ZoneRegion", rules=one) for one in rules]
    offices = [shop.make("app/Office", zone=zone) for zone in zones]
    table, fields = shop.map_of(rules), dict[str, int]()
    if is_static:
        shop.cls("sun/util/calendar/ZoneInfoFile", zones=table)
        of_zones = shop.dump.classes["sun/util/calendar/ZoneInfoFile"]
        shop.dump.root(SYSTEM_CLASS, of_zones)
    else:
        shop.cls("java/time/zone/TzdbZoneRulesProvider", "regionToRules")
        fields["PROVIDER"] = shop.make("java/time/zone/TzdbZoneRulesProvider",
            regionToRules=table)  # fmt: skip
    shop.main(OFFICES=shop.array("[Ljava/lang/Object;", offices), **fields)

    assert shop.found(tmp_path).suspects == ()


def test_what_groovy_knows_of_classes_is_of_the_runtime(tmp_path: Path) -> None:
    shop = Program()
    info, meta = "org/codehaus/groovy/reflection/ClassInfo", "groovy/lang/MetaClassImpl"
    shop.cls(meta, "index")
    shop.cls(info, "metaClass")
    shop.cls("app/Watcher", "metaClass")
    infos = [
        shop.make(info, metaClass=shop.make(meta, index=shop.data(900)))
        for _ in range(120)
    ]
    array = shop.array("[Ljava/lang/Object;", infos)
    shop.main(WATCHER=shop.make("app/Watcher", metaClass=shop.make(meta, index=array)))

    assert shop.found(tmp_path).suspects == ()


def test_tables_of_a_parser_inside_groovy_are_not_the_programs(tmp_path: Path) -> None:
    shop = Program()
    antlr = "groovyjarjarantlr4/v4/runtime/atn"
    shop.cls(f"{antlr}/BasicState", "transitions")
    shop.cls(f"{antlr}/ATN", "states")
    states = [
        shop.make(f"{antlr}/BasicState", transitions=shop.data(200)) for _ in range(900)
    ]
    parser = "org/apache/groovy/parser/antlr4/GroovyParser"
    atn = shop.make(f"{antlr}/ATN", states=shop.array("[Ljava/lang/Object;", states))
    shop.cls(parser, _ATN=atn)
    shop.dump.root(SYSTEM_CLASS, shop.dump.classes[parser])
    found = shop.found(tmp_path)

    assert found.suspects == found.smaller == ()


def test_empty_queues_of_the_threads_of_a_pool_are_no_suspects(tmp_path: Path) -> None:
    shop = Threads()
    pool = "akka/dispatch/forkjoin/ForkJoinPool"
    shop.cls("[Lakka/dispatch/forkjoin/ForkJoinTask;")
    shop.cls(f"{pool}$WorkQueue", "array")
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    for number in range(1, 15):
        tasks = shop.array("[Lakka/dispatch/forkjoin/ForkJoinTask;", [0] * 8192)
        queue = shop.make(f"{pool}$WorkQueue", array=tasks)
        shop.thread(number, 0, queue)
    shop.main(REST=shop.data(400_000))
    found = shop.found(tmp_path)

    assert not [one for one in found.suspects if "ForkJoin" in one.sentence]


def test_what_threads_of_one_name_run_ends_with_these(tmp_path: Path) -> None:
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "target", above="java/lang/Thread")
    shop.cls("io/lib/Worker", "buffer", "exporter")
    shop.cls("app/Exporter", "data")
    for number in range(1, 41):
        exporter = shop.make("app/Exporter", data=shop.data(300))
        worker = shop.make("io/lib/Worker", buffer=shop.data(900), exporter=exporter)
        name = shop.text("Worker-1")
        thread = shop.make("java/lang/CarrierThread", name=name, target=worker)
        shop.dump.root(THREAD_OBJECT, thread, number, 0)
        shop.dump.root(JAVA_FRAME, worker, number, 0)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("40 Worker (")
    assert found.sentence.endswith(
        "with 40 Exporter are held by CarrierThread.target, from threads Worker-1, "
        "and meanwhile by frames of threads Worker-1."
    )
    assert found.advice == (
        "To free them, end the threads, by shutting down what has started these: "
        "CarrierThread.target -> Worker and a frame of thread Worker-1 -> Worker."
    )


def test_lambdas_that_a_few_objects_have_collected_are_told(tmp_path: Path) -> None:
    """Each connection has a future, whose listeners are never called."""
    shop = Program()
    kind = "app/Pool$$Lambda$14/0x00007f0a40000c18"
    shop.cls(kind, "arg$1")
    shop.cls("lib/Channel", "closed")
    shop.cls("lib/CloseFuture", "listeners")
    channels = []
    for _ in range(4):
        calls = [shop.make(kind, **{"arg$1": shop.data(90)}) for _ in range(300)]
        array = shop.array("[Ljava/lang/Object;", calls)
        closed = shop.make("lib/CloseFuture", listeners=array)
        channels.append(shop.make("lib/Channel", closed=closed))
    shop.main(CHANNELS=shop.map_of(channels))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("4 Channel (")
    of_each = " with 1,200 lambdas of Pool in CloseFuture.listeners are held in "
    assert of_each in found.sentence
    cut = "CloseFuture.listeners -> Object[]"
    assert found.advice.endswith(f"; or keep them, and remove entries at {cut}.")


@pytest.mark.parametrize("is_one", [False, True])
def test_what_waits_in_the_queues_of_executors_goes_with_their_threads(
    is_one: bool, tmp_path: Path
) -> None:
    """Each call has made an executor of its own, or all have the same."""
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "task", above="java/lang/Thread")
    executor, worker = f"{_CONCURRENT}/ThreadPoolExecutor", "ThreadPoolExecutor$Worker"
    shop.cls(executor, "workQueue")
    shop.cls(f"{_CONCURRENT}/{worker}", "this$0")
    shop.cls(f"{_CONCURRENT}/LinkedBlockingQueue", "head")
    shop.cls("app/Get", "data")
    for number in range(1, 61):
        if number == 1 or not is_one:
            gets = [shop.make("app/Get", data=shop.data(90)) for _ in range(9)]
            array = shop.array("[Ljava/lang/Object;", gets)
            queue = shop.make(f"{_CONCURRENT}/LinkedBlockingQueue", head=array)
            pool = shop.make(executor, workQueue=queue)
        task = shop.make(f"{_CONCURRENT}/{worker}", **{"this$0": pool})
        name = shop.text(f"call-{number}-thread-1")
        thread = shop.make("java/lang/CarrierThread", name=name, task=task)
        shop.dump.root(THREAD_OBJECT, thread, number, 0)
        shop.dump.root(JAVA_FRAME, queue, number, 0)
    found = shop.found(tmp_path).suspects[0]

    own = "Each of the threads belongs to a ThreadPoolExecutor of its own."
    assert (own in found.signs) is not is_one
    if not is_one:
        assert found.sentence.startswith("540 Get (")
        assert found.sentence.endswith(" in a queue by threads call-#-thread-1.")
        assert found.cut == "threads call-#-thread-1"
        how = "To free them, shut down the executors that have threads call-#-thread-1."
        assert found.advice == how


@pytest.mark.parametrize("way", ["array", "list", "beans", "inside"])
def test_what_listeners_refer_to_is_held_as_listeners(way: str, tmp_path: Path) -> None:
    shop = Program()
    # A lambda of the class, as JavaFX keeps them in arrays of the interface.
    entry = "app/OnChangeListener" if way == "list" else "app/Check$$Lambda$2"
    shop.cls("app/Check", "data")
    shop.cls(entry, "arg$1")
    shop.cls("app/Model", "helper")
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("javax/swing/event/EventListenerList", "listenerList")
    shop.cls("lib/Helper", "changeListeners")
    shop.cls("[Llib/ChangeListener;")
    checks = [shop.make("app/Check", data=shop.data(300)) for _ in range(200)]
    if way == "inside":  # of one listener: what it has collected
        checks = [shop.array("[Ljava/lang/Object;", checks)]
    entries = [shop.make(entry, **{"arg$1": check}) for check in checks]
    several = shop.array("[Ljava/lang/Object;", entries)
    if way == "list":
        helper = shop.make("java/util/ArrayList", elementData=several)
    elif way == "beans":
        helper = shop.make("javax/swing/event/EventListenerList", listenerList=several)
    else:
        several = shop.array("[Llib/ChangeListener;", entries)
        helper = shop.make("lib/Helper", changeListeners=several)
    shop.main(MODEL=shop.make("app/Model", helper=helper))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("200 ")
    assert ("held as listeners by" in found.sentence) is (way != "inside")
    if way != "inside":
        assert found.signs == ("Listeners are held until they are unregistered.",)
        assert found.advice.startswith("To free them, unregister the listeners at ")


@pytest.mark.parametrize("name", ["app/Callback", "app/Order"])
def test_a_set_is_told_as_one_and_values_cannot_be_closed(
    name: str, tmp_path: Path
) -> None:
    shop = Program()
    shop.cls("java/util/HashSet", "map")
    shop.cls("org/metrics/Meter", "seen")
    shop.cls(f"{name}", "data")
    shop.cls("app/Bot", "meter")
    entries = [shop.make(name, data=shop.data(500)) for _ in range(300)]
    found_in = shop.make("java/util/HashSet", map=shop.map_of(entries))
    meter = shop.make("org/metrics/Meter", seen=found_in)
    shop.main(BOT=shop.make("app/Bot", meter=meter))
    (found,) = shop.found(tmp_path).suspects

    assert " are held in a set by Meter.seen in Bot.meter, " in found.sentence
    how = "To free them, have Meter remove entries at Meter.seen -> HashSet"
    can_be = ", for example by closing or unregistering them"
    assert found.advice == f"{how}{can_be if name == 'app/Callback' else ''}."


def test_keys_and_values_of_one_type_are_told_as_both(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("java/lang/Long", above="java/lang/Number")
    shop.cls("java/util/TreeMap", "root")
    shop.cls("java/util/TreeMap$Entry", "key", "value", "left")
    at = 0
    for _ in range(900):
        key, value = shop.make("java/lang/Long"), shop.make("java/lang/Long")
        at = shop.make("java/util/TreeMap$Entry", key=key, value=value, left=at)
    shop.main(SEEN=shop.make("java/util/TreeMap", root=at))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("1,800 Long (")
    assert " are held as keys and values in a map by static field " in found.sentence


def test_what_each_reference_of_a_library_has_is_told(tmp_path: Path) -> None:
    """A request tells more than the stream in it, which has most bytes."""
    shop = Program()
    shop.cls("lib/Refs$Ref", "value")
    shop.cls("app/Request", "stream", "headers")
    shop.cls("lib/Stream", "buffer")
    refs = []
    for _ in range(300):
        stream = shop.make("lib/Stream", buffer=shop.data(900))
        request = shop.make("app/Request", stream=stream, headers=shop.data(90))
        refs.append(shop.make("lib/Refs$Ref", value=request))
    shop.main(REFS=shop.map_of(refs))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Refs$Ref (")
    assert " with 300 Request are held in a map by " in found.sentence


@pytest.mark.parametrize("known_by", ["the stack", "a property", "nothing"])
def test_the_programs_own_is_known_by_its_main_class(
    known_by: str, tmp_path: Path
) -> None:
    """The field that holds a library's table, and what the program has put in that."""
    shop = Threads()
    shop.cls("com/shop/Main")
    shop.cls("com/shop/Order", "name")
    shop.cls("com/shop/Service", "table")
    shop.cls("org/lib/Column", "value", "data")
    shop.cls("org/lib/Table", "columns")
    columns = [
        shop.make(
            "org/lib/Column", value=shop.make("com/shop/Order"), data=shop.data(900)
        )
        for _ in range(300)
    ]
    table = shop.array("[Ljava/lang/Object;", columns)
    service = shop.make(
        "com/shop/Service", table=shop.make("org/lib/Table", columns=table)
    )
    shop.cls("org/lib/Registry", ENTRIES=shop.map_of([service]))
    shop.dump.root(SYSTEM_CLASS, shop.dump.classes["org/lib/Registry"])
    if known_by == "the stack":
        shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
        shop.dump.trace(1, 1, [shop.dump.frame(1, "com/shop/Main", "main", 9)])
        shop.thread(1, 0, called="main", trace=1)
    elif known_by == "a property":
        shop.cls("java/util/Properties", "map")
        entry = "java/util/HashMap$Node"
        key, value = shop.text("sun.java.command"), shop.text("com.shop.Main --fast")
        node = shop.make(entry, key=key, value=value)
        properties = shop.make(
            "java/util/Properties", map=shop.array("[Ljava/util/HashMap$Node;", [node])
        )
        shop.cls("java/lang/System", props=properties)
        shop.dump.root(SYSTEM_CLASS, shop.dump.classes["java/lang/System"])
    (found,) = shop.found(tmp_path).suspects

    is_known = known_by != "nothing"
    assert found.sentence.startswith("300 Column (")
    assert (" with 300 Order are held" in found.sentence) == is_known
    assert ("by Table.columns in Service.table, from" in found.sentence) == is_known
    assert ("have Table remove entries" in found.advice) == is_known


def test_a_librarys_own_table_is_a_collection(tmp_path: Path) -> None:
    """It extends nothing, and has a table of entries of its own."""
    shop = Program()
    shop.cls("lib/IdentityMap", "buckets")
    shop.cls("lib/IdentityMap$Entry", "key", "value", "next")
    shop.cls("[Llib/IdentityMap$Entry;")
    shop.cls("lib/Config", "readers")
    shop.cls("app/Type", "data")
    entries = [
        shop.make("lib/IdentityMap$Entry", key=shop.make("app/Type", data=data))
        for data in (shop.data(300) for _ in range(400))
    ]
    buckets = shop.array("[Llib/IdentityMap$Entry;", entries)
    table = shop.make("lib/IdentityMap", buckets=buckets)
    shop.main(CONFIG=shop.make("lib/Config", readers=table))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Type (")
    assert " are held in a map by Config.readers, from" in found.sentence
    assert found.cut == "Config.readers -> IdentityMap"


def test_what_has_the_slices_of_a_buffer_is_named(tmp_path: Path) -> None:
    """All refer to its array by a field that no program can clear."""
    shop = Program()
    shop.cls("java/nio/HeapByteBuffer", "hb")
    data = shop.data(90_000)
    slices = [shop.make("java/nio/HeapByteBuffer", hb=data) for _ in range(300)]
    shop.main(SLICES=shop.map_of(slices))
    (found,) = shop.found(tmp_path).suspects

    assert found.cut == "static field Main.SLICES -> HashMap"


def test_threads_that_only_a_condition_has_are_its_waiters(tmp_path: Path) -> None:
    """As virtual ones, which are no roots: they are in no queue of the program."""
    shop, queue = Program(), "java/util/concurrent/locks/AbstractQueuedSynchronizer"
    shop.cls("java/util/concurrent/LinkedBlockingQueue", "notEmpty")
    shop.cls(f"{queue}$ConditionObject", "firstWaiter")
    shop.cls(f"{queue}$ConditionNode", "nextWaiter", "waiter")
    shop.cls("java/lang/VirtualThread", "runContinuation")
    shop.cls("app/Session", "data")
    node = 0
    for _ in range(400):
        session = shop.make("app/Session", data=shop.data(300))
        thread = shop.make("java/lang/VirtualThread", runContinuation=session)
        node = shop.make(f"{queue}$ConditionNode", nextWaiter=node, waiter=thread)
    waits = shop.make(f"{queue}$ConditionObject", firstWaiter=node)
    shop.main(
        JOBS=shop.make("java/util/concurrent/LinkedBlockingQueue", notEmpty=waits)
    )
    (found,) = shop.found(tmp_path).suspects

    words = " are held as waiters of the AbstractQueuedSynchronizer$ConditionObject by "
    assert words + "static field Main.JOBS." in found.sentence
    assert found.advice == f"To free them, cancel what waits: {found.cut}."


@pytest.mark.parametrize("is_cached", [False, True])
def test_many_generated_classes_without_instances_are_told(
    is_cached: bool, tmp_path: Path
) -> None:
    """No object is of one of them, so no suspect has them: as scripts in a cache."""
    shop = Program()
    shop.cls("app/Step", "scripts")
    made = []
    for number in range(600):
        name = f"app/Order$ByteBuddy$q{number}Z"
        shop.cls(name)
        made.append(shop.dump.classes[name])
        if not is_cached:
            shop.dump.root(SYSTEM_CLASS, made[-1])
    step = shop.make("app/Step", scripts=shop.map_of(made if is_cached else []))
    shop.main(DATA=shop.data(900), STEP=step)
    (said,) = shop.found(tmp_path).generated

    held = ", and are held by Step.scripts" if is_cached else ""
    assert said.startswith("600 classes such as Order$ByteBuddy$q")
    assert f"have no instances{held}. Classes also take memory outside the" in said


def test_sets_of_texts_that_are_shared_are_entries_of_a_map(tmp_path: Path) -> None:
    """None has anything of its own: its map, with one key that all have."""
    shop = Program()
    shop.cls("java/util/HashSet", "map")
    shop.cls("app/Beans", "of", "by")
    key = shop.make("java/lang/String", value=shop.data(20))
    sets = [shop.make("java/util/HashSet", map=shop.map_of([key])) for _ in range(300)]
    beans = shop.make("app/Beans", of=shop.map_of(sets), by=shop.map_of([key]))
    shop.main(BEANS=beans)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 HashSet (")
    assert " in a map by Beans.of, " in found.sentence
    assert found.cut == "Beans.of -> HashMap"
