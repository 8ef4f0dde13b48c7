"""First sentences for shapes of Java programs that public reports tell of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ingest.analysis.distances import ROOT
from ingest.analysis.metrics import analyse
from ingest.analysis.types import rows_where
from ingest.heap.completeness import Irregularity
from ingest.reports.suspects import notes
from ingest.suspects.find import find_suspects
from ingest.suspects.pile import Pile
from ingest.suspects.piles import PileSearch
from tests.dumps.hprof import BYTE, LONG, OBJECT, SYSTEM_CLASS, THREAD_OBJECT, jdk
from tests.unit.suspects.test_evidence import graph_of

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.suspects.find import Findings

_OBJECT = "java/lang/Object"
JAVA_FRAME = 3
_MAP, _NODE = "java/util/HashMap", "java/util/HashMap$Node"


class Program:
    """A Java program that is written as a dump; classes are made as they are named."""

    def __init__(self) -> None:
        self.dump = jdk()
        self._class, self._object = 0x4000, 0x100000

    def cls(self, name: str, *fields: str, above: str = _OBJECT, **statics: int) -> int:
        self._class += 16
        of_class: dict[str, tuple[int, float]] = {
            field: (OBJECT, at) for field, at in statics.items()
        }
        declared = dict.fromkeys(fields, OBJECT)
        return self.dump.cls(name, self._class, above, declared, of_class)

    def main(self, **statics: int) -> None:
        """The program's main class, which is loaded."""
        self.cls("app/Main", above=_OBJECT, **statics)
        self.dump.root(SYSTEM_CLASS, self.dump.classes["app/Main"])

    def _next(self) -> int:
        self._object += 0x20000
        return self._object

    def make(self, name: str, /, **fields: int) -> int:
        return self.dump.obj(self._next(), name, **fields)

    def array(self, name: str, items: list[int]) -> int:
        return self.dump.array(self._next(), name, items)

    def data(self, size: int) -> int:
        return self.dump.numbers(self._next(), BYTE, bytes(size))

    def map_of(self, values: list[int], name: str = _MAP, node: str = _NODE) -> int:
        nodes = [self.make(node, value=value) for value in values]
        return self.make(name, table=self.array("[Ljava/util/HashMap$Node;", nodes))

    def found(self, folder: Path) -> Findings:
        graph = graph_of(self.dump, folder)
        return find_suspects(graph, analyse(graph))


def with_archives(opened: int, of_loader: int) -> Program:
    """So many open archives, some of which are those of the class path."""
    shop = Program()
    shop.cls("java/util/zip/ZipFile$Source", "cen")
    shop.cls("jdk/internal/loader/URLClassPath$JarLoader", "jar")
    shop.cls("[Ljdk/internal/loader/URLClassPath$JarLoader;")
    cens = [shop.data(60_000) for _ in range(opened)]
    sources = [shop.make("java/util/zip/ZipFile$Source", cen=cen) for cen in cens]
    loaders = [
        shop.make("jdk/internal/loader/URLClassPath$JarLoader", jar=source)
        for source in sources[:of_loader]
    ]
    shop.main(
        FILES=shop.map_of(sources),
        LOADERS=shop.array("[Ljdk/internal/loader/URLClassPath$JarLoader;", loaders),
    )
    return shop


def test_archives_of_the_class_path_are_data_of_the_runtime(tmp_path: Path) -> None:
    found = with_archives(opened=40, of_loader=40).found(tmp_path)

    assert found.suspects == ()
    assert found.metadata_bytes > 40 * 60_000


def test_many_archives_that_the_program_has_opened_are_suspect(tmp_path: Path) -> None:
    (found,) = with_archives(opened=90, of_loader=30).found(tmp_path).suspects

    assert found.sentence.startswith("60 ZipFile$Source (")
    assert found.cut == "static field Main.FILES -> HashMap"


def test_an_array_that_is_nearly_empty_is_made_smaller(tmp_path: Path) -> None:
    shop = Program()
    items = shop.array("[Ljava/lang/Object;", [shop.make(_OBJECT)] + [0] * 199_999)
    # A full array tells that references have 8 bytes, or 4.
    full = shop.array("[Ljava/lang/Object;", [shop.make(_OBJECT) for _ in range(9)])
    shop.cls("app/Batch", FULL=full, ITEMS=items)
    shop.dump.root(SYSTEM_CLASS, shop.dump.classes["app/Batch"])
    (found,) = shop.found(tmp_path).suspects

    assert found.signs == ("Only 1 of its 200,000 slots is used.",)
    assert found.advice == (
        "To free it, make it smaller, or clear static field Batch.ITEMS -> Object[]: "
        "removing entries frees nothing."
    )


def test_a_collection_that_cannot_grow_is_doubted(tmp_path: Path) -> None:
    shop = Program()
    fixed = "java/util/ImmutableCollections$MapN"
    shop.cls(fixed, "table")
    shop.cls("app/City", "name")
    cities = [shop.make("app/City", name=shop.data(200)) for _ in range(400)]
    table = shop.array("[Ljava/lang/Object;", cities)
    shop.main(CITIES=shop.make(fixed, table=table))
    (found,) = shop.found(tmp_path).suspects

    assert found.pattern == "map"
    assert found.doubts == (
        "ImmutableCollections$MapN cannot grow, so this may be what the program needs.",
    )


def test_objects_inside_wrappers_of_a_library_are_told(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("lib/Subscriber", "target")
    shop.cls("[Llib/Subscriber;")
    shop.cls("app/Presenter", "view")
    subscribers = [
        shop.make("lib/Subscriber", target=shop.make("app/Presenter", view=view))
        for view in (shop.data(900) for _ in range(300))
    ]
    shop.cls("app/Model", CHANGES=shop.array("[Llib/Subscriber;", subscribers))
    shop.dump.root(SYSTEM_CLASS, shop.dump.classes["app/Model"])
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Subscriber (")
    assert " with 300 Presenter are held in a list by " in found.sentence


def test_what_the_buckets_of_a_table_have_is_the_suspect(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("lib/Bucket", "head")
    shop.cls("[Llib/Bucket;")
    shop.cls("lib/Wheel", "wheel")
    shop.cls("lib/Timeout", "next", "data")
    buckets = []
    for _ in range(64):
        head = 0
        for _ in range(12):
            head = shop.make("lib/Timeout", next=head, data=shop.data(500))
        buckets.append(shop.make("lib/Bucket", head=head))
    wheel = shop.make("lib/Wheel", wheel=shop.array("[Llib/Bucket;", buckets))
    shop.main(TIMER=wheel)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("768 Timeout (")
    assert "Wheel.wheel, from static field Main.TIMER" in found.sentence


def test_two_maps_of_one_factory_are_both_named(tmp_path: Path) -> None:
    """Entries of a linked map refer to one another: each is as good as all."""
    shop = Program()
    linked = "java/util/LinkedHashMap$Entry"
    shop.cls(linked, "before", "after", above=_NODE)
    shop.cls("java/util/LinkedHashMap", "head", above=_MAP)
    shop.cls("app/Job", "work")
    shop.cls("lib/Factory", "singletons", "disposables")
    shop.cls("lib/Context", "factory", "listeners")
    jobs = [shop.make("app/Job", work=shop.data(900)) for _ in range(300)]
    first = last = 0
    entries: list[int] = []
    for at, job in enumerate(jobs):
        place = 0x9000000 + 4096 * at
        after = place + 4096 if at + 1 < len(jobs) else 0
        last = shop.dump.obj(place, linked, value=job, before=last, after=after)
        first = first or last
        entries.append(last)
    table = shop.array("[Ljava/util/HashMap$Node;", entries)
    factory = shop.make(
        "lib/Factory",
        singletons=shop.map_of(jobs),
        disposables=shop.make("java/util/LinkedHashMap", table=table, head=first),
    )
    context = shop.make("lib/Context", factory=factory)
    shop.main(ctx=context, other=shop.make("lib/Context", factory=factory))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Job (")
    assert set(found.cut.split(" and ")) == {
        "Factory.disposables -> LinkedHashMap",
        "Factory.singletons -> HashMap",
    }
    assert "; clearing only one of them frees nothing but" in found.sentence


def test_a_cut_that_frees_as_much_else_is_none(tmp_path: Path) -> None:
    """To drop one of two indexes frees its keys, which are as large as the values."""
    shop = Program()
    shop.cls("app/Job", "work")
    shop.cls("app/Store", "byId", "byName")
    jobs = [shop.make("app/Job", work=shop.data(700)) for _ in range(300)]
    named = [shop.make(_NODE, key=shop.data(900), value=job) for job in jobs]
    table = shop.array("[Ljava/util/HashMap$Node;", named)
    store = shop.make(
        "app/Store", byId=shop.map_of(jobs), byName=shop.make(_MAP, table=table)
    )
    shop.main(STORE=store)
    first = shop.found(tmp_path).suspects[0]

    assert first.sentence.startswith("300 Job (")
    assert set(first.cut.split(" and ")) == {
        "Store.byId -> HashMap",
        "Store.byName -> HashMap",
    }


@pytest.mark.parametrize(("bound", "doubts"), [
    (-1, ()),
    (300, ("LocalCache drops entries beyond its maxWeight of 300, so this may be its "
        "normal size.",)),
])  # fmt: skip
def test_the_bound_of_a_cache_is_read_in_it(
    bound: int, doubts: tuple[str, ...], tmp_path: Path
) -> None:
    shop = Program()
    place = "com/google/common/cache/LocalCache"
    fields = {"maxWeight": LONG, "segments": OBJECT}
    shop.dump.cls(place, 0x3000, _OBJECT, fields)
    shop.cls(f"{place}$Segment", "table")
    shop.cls(f"[L{place}$Segment;")
    shop.cls(f"{place}$StrongEntry", "value")
    shop.cls("app/Profile", "photo")
    segments = []
    for _ in range(4):
        profiles = [shop.make("app/Profile", photo=shop.data(900)) for _ in range(75)]
        entries = [shop.make(f"{place}$StrongEntry", value=one) for one in profiles]
        table = shop.array("[Ljava/lang/Object;", entries)
        segments.append(shop.make(f"{place}$Segment", table=table))
    array = shop.array(f"[L{place}$Segment;", segments)
    cache = shop.make(place, maxWeight=bound, segments=array)
    shop.main(PROFILES=cache)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Profile (")
    assert found.sentence.endswith("held in a cache by static field Main.PROFILES.")
    assert found.doubts == doubts


def test_a_chain_of_futures_is_cut_at_its_first_one(tmp_path: Path) -> None:
    shop = Program()
    future = "java/util/concurrent/CompletableFuture"
    shop.cls(future, "stack")
    shop.cls(f"{future}$UniRun", "dep", "fn")
    shop.cls("app/Step", "data")
    shop.cls("app/Worker", "first", "last")
    last = at = shop.make(future)
    for _ in range(300):
        step = shop.make("app/Step", data=shop.data(900))
        at = shop.make(future, stack=shop.make(f"{future}$UniRun", dep=at, fn=step))
    worker = shop.make("app/Worker", first=at, last=last)
    shop.main(WORKER=worker)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Step (")
    assert found.cut == "Worker.first -> CompletableFuture"
    advice = f"finish the CompletableFuture, or remove the reference {found.cut}."
    assert found.advice == f"To free them, {advice}"


def test_links_of_a_library_that_never_end_are_counted(tmp_path: Path) -> None:
    """As of `anyOf` with a future that never completes, and nothing of the program."""
    shop = Program()
    future = "java/util/concurrent/CompletableFuture"
    shop.cls(future, "stack")
    shop.cls(f"{future}$AnyOf", "next", "dep")
    at = 0
    for _ in range(300):
        at = shop.make(f"{future}$AnyOf", next=at, dep=shop.make(future))
    shop.main(SHUTDOWN=shop.make(future, stack=at))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 CompletableFuture$AnyOf (")
    cut = "static field Main.SHUTDOWN -> CompletableFuture"
    advice = f"finish the CompletableFuture, or remove the reference {cut}."
    assert found.advice == f"To free them, {advice}"


@pytest.mark.parametrize(("managers", "found"), [(1, 0), (2, 1)])
def test_the_certificates_that_the_runtime_trusts(
    managers: int, found: int, tmp_path: Path
) -> None:
    shop = Program()
    shop.cls("sun/security/x509/X509CertImpl", "data")
    shop.cls("sun/security/ssl/X509TrustManagerImpl", "trustedCerts")
    shop.cls("app/Client", "manager")
    clients = []
    for _ in range(managers):
        certificates = [
            shop.make("sun/security/x509/X509CertImpl", data=shop.data(4000))
            for _ in range(140)
        ]
        trusted = shop.map_of(certificates)
        manager = shop.make("sun/security/ssl/X509TrustManagerImpl",
            trustedCerts=trusted)  # fmt: skip
        clients.append(shop.make("app/Client", manager=manager))
    shop.main(CLIENTS=shop.array("[Ljava/lang/Object;", clients))

    assert len(shop.found(tmp_path).suspects) == found


def test_the_list_that_has_all_of_a_map_is_named(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("app/Bus", "subscribers")
    shop.cls("app/Panel", "data")
    panels = [shop.make("app/Panel", data=shop.data(500)) for _ in range(300)]
    array = shop.array("[Ljava/lang/Object;", panels)
    several = shop.make("java/util/ArrayList", elementData=array)
    bus = shop.make("app/Bus", subscribers=shop.map_of([several]))
    shop.main(BUS=bus)
    (found,) = shop.found(tmp_path).suspects

    assert found.advice == (
        "To free them, remove entries of ArrayList at Bus.subscribers -> HashMap."
    )


def test_a_session_with_several_tables_of_them_is_named(tmp_path: Path) -> None:
    shop = Program()
    tables = ("Loaded", "Changed", "Inserted")
    for name in tables:
        shop.cls(f"org/orm/{name}", "entity")
        shop.cls(f"org/orm/{name}s", "all")
    shop.cls("org/orm/Session", *(name.lower() for name in tables))
    shop.cls("app/Item", "data")
    items = [shop.make("app/Item", data=shop.data(500)) for _ in range(300)]
    held = {}
    for name in tables:
        every = [shop.make(f"org/orm/{name}", entity=item) for item in items]
        held[name.lower()] = shop.make(f"org/orm/{name}s", all=shop.map_of(every))
    shop.main(SESSION=shop.make("org/orm/Session", **held))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Item (")
    assert found.cut == "static field Main.SESSION -> Session"


class Threads(Program):
    """A program with threads, each with objects of its own in a local or a table."""

    def text(self, letters: str) -> int:
        data = self.dump.numbers(self._next(), BYTE, letters.encode())
        return self.make("java/lang/String", value=data)

    def thread(
        self,
        number: int,
        local: int,
        table: int = 0,
        *,
        called: str = "",
        trace: int = 0,
    ) -> int:
        name = self.text(called or f"exec-{number}")
        thread = self.make("java/lang/CarrierThread", name=name, table=table)
        self.dump.root(THREAD_OBJECT, thread, number, trace)
        if local:
            self.dump.root(JAVA_FRAME, local, number, 0)
        return thread


def test_what_frames_of_many_threads_hold_is_one_suspect(tmp_path: Path) -> None:
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Line", "text")
    for number in range(1, 7):
        lines = [shop.make("app/Line", text=shop.data(90)) for _ in range(60)]
        shop.thread(number, shop.array("[Ljava/lang/Object;", lines))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("360 Line (")
    assert found.sentence.endswith("held in a list by frames of threads exec-#.")


@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_finalizer_that_rests_has_ended_with_all(
    is_at_work: bool, tmp_path: Path
) -> None:
    """What it holds then has been found by the collection before the dump."""
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("java/lang/ref/ReferenceQueue")
    shop.cls("java/lang/ref/Finalizer", above="java/lang/ref/FinalReference")
    shop.cls("app/Socket", "data")
    sockets = [shop.make("app/Socket", data=shop.data(900)) for _ in range(300)]
    waiting = [shop.make("java/lang/ref/Finalizer", referent=one) for one in sockets]
    shop.thread(
        1, shop.array("[Ljava/lang/Object;", waiting), called="Finalizer", trace=1
    )
    frames = [
        shop.dump.frame(0x51, "java/lang/Object", "wait", -3),
        shop.dump.frame(0x52, "java/lang/ref/ReferenceQueue", "remove", 155),
    ]
    if is_at_work:
        frames.insert(1, shop.dump.frame(0x53, "app/Socket", "finalize", 9))
    shop.dump.trace(1, 1, frames)
    suspects = shop.found(tmp_path).suspects

    assert len(suspects) == is_at_work
    if is_at_work:
        assert "in app.Socket.finalize(" in suspects[0].sentence


def test_values_that_thread_locals_have_left_in_threads(tmp_path: Path) -> None:
    """The keys are gone, so that no static field tells whose they were."""
    shop = Threads()
    locals_ = "java/lang/ThreadLocal$ThreadLocalMap"
    shop.cls("java/lang/ThreadLocal")
    shop.cls(locals_, "table")
    entry = f"{locals_}$Entry"
    shop.cls(entry, "value", above="java/lang/ref/WeakReference")
    shop.cls(f"[L{entry};")
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    for number in range(1, 41):
        left = shop.make(entry, value=shop.data(5000))
        table = shop.make(locals_, table=shop.array(f"[L{entry};", [left]))
        shop.thread(number, 0, table)
    words = shop.array("[Ljava/lang/Object;", [shop.data(40) for _ in range(300)])
    shop.main(WORDS=words)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("40 byte[] (")
    assert found.sentence.endswith(" by CarrierThread.table, from threads exec-#.")
    assert found.signs == (
        "Their ThreadLocals are gone, and the threads still have them.",
    )


def test_a_linked_collection_that_also_holds_all_is_named(tmp_path: Path) -> None:
    """All nodes of a skip list are reached from one another."""
    shop = Program()
    skip_list = "java/util/concurrent/ConcurrentSkipListMap"
    shop.cls(skip_list, "head")
    shop.cls(f"{skip_list}$Node", "next", "val")
    shop.cls("app/Channel", "data")
    channels = [shop.make("app/Channel", data=shop.data(500)) for _ in range(300)]
    node = 0
    for channel in channels:
        node = shop.make(f"{skip_list}$Node", next=node, val=channel)
    all_ = shop.make(skip_list, head=node)
    shop.main(CHANNELS=shop.map_of(channels), ALL=all_)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Channel (")
    assert set(found.cut.split(" and ")) == {
        "static field Main.ALL -> ConcurrentSkipListMap",
        "static field Main.CHANNELS -> HashMap",
    }


def test_the_key_of_the_large_list_of_a_map_is_named(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("app/Panel", "data")
    panels = [shop.make("app/Panel", data=shop.data(500)) for _ in range(300)]
    array = shop.array("[Ljava/lang/Object;", panels)
    several = shop.make("java/util/ArrayList", elementData=array)
    text = shop.dump.numbers(shop._next(), BYTE, b"acme")
    key = shop.make("java/lang/String", value=text)
    node = shop.make(_NODE, key=key, value=several)
    by_name = shop.make(_MAP, table=shop.array("[Ljava/util/HashMap$Node;", [node]))
    shop.main(BY_NAME=by_name)
    (found,) = shop.found(tmp_path).suspects

    assert "remove entries of ArrayList ['acme'] at static field" in found.advice


def test_what_classes_have_by_class_value_is_no_garbage(tmp_path: Path) -> None:
    """No JVM writes the field by which a class object refers to them."""
    shop = Program()
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("java/lang/ClassValue$ClassValueMap", "cacheArray")
    shop.cls("java/lang/ClassValue$Entry", "value")
    shop.cls("[Ljava/lang/ClassValue$Entry;")
    shop.cls("app/Meta", "data")
    every = [shop.make("app/Meta", data=shop.data(500)) for _ in range(300)]
    list_ = shop.make(
        "java/util/ArrayList", elementData=shop.array("[Ljava/lang/Object;", every)
    )
    entry = shop.make("java/lang/ClassValue$Entry", value=list_)
    entries = shop.array("[Ljava/lang/ClassValue$Entry;", [entry])
    shop.make("java/lang/ClassValue$ClassValueMap", cacheArray=entries)
    shop.main()
    findings = shop.found(tmp_path)
    (found,) = findings.suspects

    assert "Meta" not in "".join(findings.garbage)
    assert found.sentence.startswith("300 Meta (")
    assert "cacheArray, from a value of a class (ClassValue)." in found.sentence


@pytest.mark.parametrize("lost", [0, 60, 300])
def test_entries_of_a_weak_map_that_have_lost_their_keys(
    lost: int, tmp_path: Path
) -> None:
    """They go when the map is used again."""
    shop = Program()
    node = "java/util/WeakHashMap$Entry"
    shop.cls(node, "value", above="java/lang/ref/WeakReference")
    shop.cls("java/util/WeakHashMap", "table")
    shop.cls("app/Meta", "data")
    shop.cls("app/Key")
    keys = [shop.make("app/Key") for _ in range(300)]
    nodes = [
        shop.make(
            node,
            value=shop.make("app/Meta", data=shop.data(500)),
            referent=0 if at < lost else key,
        )
        for at, key in enumerate(keys)
    ]
    table = shop.array("[Ljava/lang/Object;", nodes)
    shop.main(
        META=shop.make("java/util/WeakHashMap", table=table),
        KEYS=shop.array("[Ljava/lang/Object;", keys),
    )
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Meta (")
    expected = "The keys of 100% of them are gone: the weak map drops such entries "
    assert [doubt[: len(expected)] for doubt in found.doubts] == (
        [expected] if lost == 300 else []
    )


def test_collections_of_a_library_are_named_by_their_holder(tmp_path: Path) -> None:
    shop = Program()
    queue = "org/jctools/queues/MpscUnboundedArrayQueue"
    shop.cls(queue, "consumerBuffer")
    shop.cls("app/Message", "body")
    shop.cls("app/Bus", "queue")
    messages = [shop.make("app/Message", body=shop.data(90)) for _ in range(300)]
    buffer = shop.array("[Ljava/lang/Object;", messages)
    shop.main(BUS=shop.make("app/Bus", queue=shop.make(queue, consumerBuffer=buffer)))
    (found,) = shop.found(tmp_path).suspects

    assert found.cut == "Bus.queue -> MpscUnboundedArrayQueue"
    assert " are held in a queue by Bus.queue" in found.sentence


def test_little_is_no_suspect_where_roots_are_lost(tmp_path: Path) -> None:
    """A file that ends too early has lost its roots, and not most of its objects."""
    shop = Program()
    shop.cls("app/Event", "body")
    shop.cls("app/Writer", "buffer")
    for _ in range(300):
        shop.make("app/Event", body=shop.data(500))
    shop.main(OUT=shop.make("app/Writer", buffer=shop.data(4000)))
    graph = graph_of(shop.dump, tmp_path)

    assert find_suspects(graph, analyse(graph)).suspects
    cut = Irregularity("truncated_record", 1, None)
    graph = replace(graph, irregularities=(cut,))
    found = find_suspects(graph, analyse(graph))
    assert found.suspects == ()
    assert found.garbage[0] == "300 Event"
    (_, said) = notes(600, 160_000, 9, 5_000, 0, incomplete="it is cut",
        garbage_types=found.garbage)  # fmt: skip
    assert "that no root reaches, among them 300 Event. What holds" in said


def test_what_a_compiler_has_made_is_no_holder(tmp_path: Path) -> None:
    """An inner class refers to the object around it, as a listener does."""
    shop = Program()
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("java/util/concurrent/ConcurrentLinkedDeque", "head")
    shop.cls("app/Screen", "pixels")
    shop.cls("app/Screen$1", "this$0")
    shop.cls("app/Clock", "listeners")
    shop.cls("app/Battery", "waiting")
    screens = [shop.make("app/Screen", pixels=shop.data(500)) for _ in range(300)]
    inner = [shop.make("app/Screen$1", **{"this$0": screen}) for screen in screens]
    listeners = shop.array("[Ljava/lang/Object;", inner)
    listeners = shop.make("java/util/ArrayList", elementData=listeners)
    waiting = shop.array("[Ljava/lang/Object;", screens)
    waiting = shop.make("java/util/concurrent/ConcurrentLinkedDeque", head=waiting)
    shop.main(
        CLOCK=shop.make("app/Clock", listeners=listeners),
        BATTERY=shop.make("app/Battery", waiting=waiting),
    )
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Screen (")
    assert set(found.cut.split(" and ")) == {
        "Clock.listeners -> ArrayList",
        "Battery.waiting -> ConcurrentLinkedDeque",
    }


def test_a_deque_is_a_queue(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("java/util/concurrent/ConcurrentLinkedDeque", "head")
    shop.cls("java/util/concurrent/ConcurrentLinkedDeque$Node", "item", "next")
    shop.cls("app/Board", "moves")
    shop.cls("app/Move", "cards")
    at = 0
    for _ in range(300):
        move = shop.make("app/Move", cards=shop.data(300))
        at = shop.make("java/util/concurrent/ConcurrentLinkedDeque$Node", item=move,
            next=at)  # fmt: skip
    moves = shop.make("java/util/concurrent/ConcurrentLinkedDeque", head=at)
    shop.main(BOARD=shop.make("app/Board", moves=moves))
    (found,) = shop.found(tmp_path).suspects

    assert " are held in a queue by Board.moves" in found.sentence
    assert found.advice.startswith("To free them, remove entries at Board.moves")


@pytest.mark.parametrize("is_of_part", [False, True])
def test_what_each_object_collects_is_told_with_its_field(
    tmp_path: Path, is_of_part: bool
) -> None:
    """Texts or objects of the program; in it, or in an object that it has."""
    shop = Program()
    shop.cls("app/Order", "data")
    shop.cls("app/Pool", "waiting")
    shop.cls("app/Queue", "waiting", "pool")
    queues = []
    for _ in range(30):
        kind, size = ("app/Order", 700) if is_of_part else ("java/lang/String", 700)
        field = "data" if is_of_part else "value"
        items = [shop.make(kind, **{field: shop.data(size)}) for _ in range(40)]
        waiting = shop.map_of(items)
        pool = shop.make("app/Pool", waiting=waiting) if is_of_part else 0
        queues.append(
            shop.make("app/Queue", waiting=0 if is_of_part else waiting, pool=pool)
        )
    shop.main(QUEUES=shop.map_of(queues))
    (found,) = shop.found(tmp_path).suspects

    what = "Order in Pool" if is_of_part else "String in Queue"
    assert found.sentence.startswith("30 Queue (")
    assert f" with 1,200 {what}.waiting are held" in found.sentence
    inner = f"{'Pool' if is_of_part else 'Queue'}.waiting -> HashMap"
    assert found.advice.endswith(f"; or keep them, and remove entries at {inner}.")


@pytest.mark.parametrize("is_one", [False, True])
def test_the_place_where_threads_wait_is_told(is_one: bool, tmp_path: Path) -> None:
    """Of one that has them all in its frames, the path tells it."""
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "bound", above="java/lang/Thread")
    shop.cls("app/Request", "data")
    shop.cls("app/Gate")
    frames = [
        shop.dump.frame(0x51, "java/lang/Object", "wait", -3),
        shop.dump.frame(0x52, "app/Gate", "enter", 9),
    ]
    shop.dump.trace(1, 1, frames)
    for number in range(1, 61):
        request = shop.make("app/Request", data=shop.data(900))
        if is_one:
            shop.dump.root(JAVA_FRAME, request, 1, 1)
        if is_one and number > 1:
            continue
        thread = shop.make(
            "java/lang/CarrierThread",
            name=shop.text(f"req-{number}"),
            bound=0 if is_one else request,
        )
        shop.dump.root(THREAD_OBJECT, thread, number, 1)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("60 Request (")
    place = "; most of the threads are in app.Gate.enter(Gate.java:9)."
    assert found.advice.endswith(place) is not is_one
    assert ("the threads" in found.advice) is not is_one


def test_a_collection_of_a_library_is_known_by_what_it_extends(tmp_path: Path) -> None:
    """It is neither the holder, nor are its entries what piles up."""
    shop = Program()
    shop.cls("java/util/AbstractMap")
    map_ = "org/lib/BoundedMap"
    shop.cls(map_, "segments", above="java/util/AbstractMap")
    shop.cls(f"{map_}$Segment", "table")
    shop.cls(f"{map_}$HashEntry", "value")
    shop.cls(f"[L{map_}$Segment;")
    shop.cls("app/Plan", "data")
    shop.cls("app/Engine", "plans")
    segments = []
    for _ in range(8):
        plans = [shop.make("app/Plan", data=shop.data(300)) for _ in range(50)]
        entries = [shop.make(f"{map_}$HashEntry", value=plan) for plan in plans]
        table = shop.array("[Ljava/lang/Object;", entries)
        segments.append(shop.make(f"{map_}$Segment", table=table))
    plans_ = shop.make(map_, segments=shop.array(f"[L{map_}$Segment;", segments))
    shop.main(ENGINE=shop.make("app/Engine", plans=plans_))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Plan (")
    assert "in a map by Engine.plans, from static field Main.ENGINE" in found.sentence
    assert found.cut == "Engine.plans -> BoundedMap"
    assert found.doubts[0].startswith("BoundedMap has the name of a cache with a bound")


def test_the_key_at_which_each_object_has_collected_is_told(tmp_path: Path) -> None:
    shop = Threads()
    entry = "java/util/concurrent/ConcurrentHashMap$Node"
    shop.cls(entry, "key", "val")
    shop.cls("app/Cart", "data")
    shop.cls("app/Partition", "maps")
    parts = []
    for _ in range(20):
        carts = [shop.make("app/Cart", data=shop.data(300)) for _ in range(30)]
        at = shop.make(entry, key=shop.text("carts"), val=shop.map_of(carts))
        table = shop.array("[Ljava/util/HashMap$Node;", [at])
        parts.append(shop.make("app/Partition", maps=shop.make(_MAP, table=table)))
    shop.main(PARTS=shop.array("[Ljava/lang/Object;", parts))
    (found,) = shop.found(tmp_path).suspects

    told = "with 600 Cart in Partition.maps ['carts'] are held"
    assert told in found.sentence
    assert found.advice.endswith("remove entries at Partition.maps -> HashMap.")


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_tasks_that_were_cancelled_and_are_still_in_their_queue(
    tmp_path: Path, is_cancelled: bool
) -> None:
    shop = Program()
    timer = "java/util/concurrent/ScheduledThreadPoolExecutor"
    shop.cls(timer, "workQueue")
    shop.cls(f"{timer}$DelayedWorkQueue", "queue")
    shop.cls(f"{timer}$ScheduledFutureTask", "callable", "time", "heapIndex")
    shop.cls("java/util/concurrent/Executors$RunnableAdapter")
    call = shop.make("java/util/concurrent/Executors$RunnableAdapter")
    call = 0 if is_cancelled else call
    tasks = [
        shop.make(f"{timer}$ScheduledFutureTask", callable=call) for _ in range(400)
    ]
    queue = shop.array("[Ljava/lang/Object;", tasks)
    work = shop.make(f"{timer}$DelayedWorkQueue", queue=queue)
    shop.main(TIMER=shop.make(timer, workQueue=work))
    (found,) = shop.found(tmp_path).suspects

    says_so = "They are cancelled, and their queue has them until their turn."
    assert (says_so in found.signs) == is_cancelled
    assert ("cancel the timers" in found.advice) != is_cancelled


def test_objects_of_which_a_place_holds_most_are_told_so(tmp_path: Path) -> None:
    shop = Program()
    for name, field in (("Order", "page"), ("Basket", "draft")):
        shop.cls(f"app/{name}", field)
    shop.cls("app/Page", "data")
    for at in range(300):
        page = shop.make("app/Page", data=shop.data(500))
        owner = ("app/Order", "page") if at % 3 else ("app/Basket", "draft")
        shop.dump.root(1, shop.make(owner[0], **{owner[1]: page}), 99)
    graph = graph_of(shop.dump, tmp_path)
    search = PileSearch(graph, analyse(graph), ())
    kind = graph.type_names.index("app.Page")
    pages = rows_where(graph.type_index == kind)
    size = int(search.metrics.retained_bytes[pages].sum())
    held = search.held(Pile(kind, len(pages), size, pages, -1, ROOT), 64)

    assert held is not None
    assert (held.cut.text, held.holder.words) == ("Page", "Order.page")
    assert held.is_mostly
