"""Which place a first sentence names, where several could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dumps.hprof import SYSTEM_CLASS, THREAD_OBJECT
from tests.unit.suspects.test_java_leaks import JAVA_FRAME, Program, Threads

if TYPE_CHECKING:
    from pathlib import Path

_MAP = "java/lang/ThreadLocal$ThreadLocalMap"
_ENTRY = f"{_MAP}$Entry"
_MAP_OF_SET = "java/util/concurrent/ConcurrentHashMap"


def test_the_field_of_an_object_names_its_thread_local(tmp_path: Path) -> None:
    """Each searcher has one, and its values refer to the searcher."""
    shop = Threads()
    shop.cls("java/lang/ThreadLocal")
    shop.cls(_MAP, "table")
    shop.cls(_ENTRY, "value", above="java/lang/ref/WeakReference")
    shop.cls(f"[L{_ENTRY};")
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Searcher", "scratch")
    shop.cls("app/Scratch", "owner", "data")
    for number in range(1, 5):
        entries = []
        for _ in range(100):
            local = shop.make("java/lang/ThreadLocal")
            owner = shop.make("app/Searcher", scratch=local)
            scratch = shop.make("app/Scratch", owner=owner, data=shop.data(500))
            entries.append(shop.make(_ENTRY, referent=local, value=scratch))
        table = shop.make(_MAP, table=shop.array(f"[L{_ENTRY};", entries))
        shop.thread(number, 0, table)
    shop.main()
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Scratch (")
    assert found.sentence.endswith(
        " by ThreadLocal Searcher.scratch, from threads exec-#."
    )
    assert found.cut == "ThreadLocal Searcher.scratch -> Scratch"
    assert found.signs == (
        "4 threads have all of them, and of each ThreadLocal a thread has one value: "
        "new ones are made again and again.",
        "Each value refers to its own ThreadLocal, so none ever goes.",
    )


def test_thread_locals_that_share_their_values_are_named(tmp_path: Path) -> None:
    shop = Threads()
    shop.cls("java/lang/ThreadLocal")
    shop.cls(_MAP, "table")
    shop.cls(_ENTRY, "value", above="java/lang/ref/WeakReference")
    shop.cls(f"[L{_ENTRY};")
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Rule", "memo")
    shop.cls("app/Row", "data")
    rows = [shop.make("app/Row", data=shop.data(500)) for _ in range(300)]
    entries = []
    for _ in range(3):
        local = shop.make("java/lang/ThreadLocal")
        shop.make("app/Rule", memo=local)
        entries.append(shop.make(_ENTRY, referent=local, value=shop.map_of(rows)))
    shop.thread(1, 0, shop.make(_MAP, table=shop.array(f"[L{_ENTRY};", entries)))
    shop.main()
    (found,) = shop.found(tmp_path).suspects

    assert ", as by ThreadLocal Rule.memo, from thread exec-1" in found.sentence


@pytest.mark.parametrize("count", [1, 8])
def test_the_fields_that_share_their_keys_are_named(count: int, tmp_path: Path) -> None:
    """A list has one connection, or some: three maps of each have the same keys."""
    shop = Program()
    fields = ("received", "sent", "waiting")
    shop.cls("app/Key", "data")
    shop.cls("app/Buffer", "key")
    shop.cls("app/Handler", *fields)
    shop.cls("app/Host", "handlers")
    shop.cls("java/util/ArrayList", "elementData")
    made = []
    for _ in range(count):
        keys = [shop.make("app/Key", data=shop.data(500)) for _ in range(300)]
        buffers = [shop.make("app/Buffer", key=key) for key in keys]
        maps = [shop.map_of(held) for held in (keys, keys, buffers)]
        made.append(shop.make("app/Handler", **dict(zip(fields, maps, strict=True))))
    held = shop.array("[Ljava/lang/Object;", made)
    handlers = shop.make("java/util/ArrayList", elementData=held)
    shop.main(HOST=shop.make("app/Host", handlers=handlers))
    (found,) = shop.found(tmp_path).suspects

    if count == 1:
        assert (
            " are held in the fields received, sent and waiting of one Handler, in a "
            "list by Host.handlers"
        ) in found.sentence
        assert found.advice.startswith(
            "To free them, remove entries of received, sent and waiting of the Handler "
        )
        return
    assert found.sentence.startswith("8 Handler (")
    assert (
        " with 2,400 Key in the fields received, sent and waiting are held in a list "
        "by Host.handlers"
    ) in found.sentence
    cut = " and ".join(f"Handler.{field} -> HashMap" for field in fields)
    assert found.advice.endswith(f"; or keep them, and remove entries at {cut}.")


def test_weak_references_without_referents_are_told(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("app/Ref", "data", above="java/lang/ref/WeakReference")
    shop.cls("app/View")
    view = shop.make("app/View")
    found = [
        shop.make("app/Ref", data=shop.data(500), referent=view if at < 30 else 0)
        for at in range(300)
    ]
    shop.main(REFS=shop.array("[Ljava/lang/Object;", found), VIEW=view)
    (suspect,) = shop.found(tmp_path).suspects

    assert suspect.sentence.startswith("300 Ref (")
    assert suspect.signs == (
        "The objects that 90% of these weak references had are gone.",
    )


def test_a_static_field_is_named_before_what_a_compiler_has_made(
    tmp_path: Path,
) -> None:
    """A coroutine has its worker in two fields, and is nearer to it."""
    shop = Program()
    shop.cls("app/Worker", "data")
    shop.cls("app/Worker$run$1", "this$0", "L$0")
    shop.cls("java/util/ArrayList", "elementData")
    workers = [shop.make("app/Worker", data=shop.data(500)) for _ in range(60)]
    jobs = [
        shop.make("app/Worker$run$1", **{"this$0": at, "L$0": at}) for at in workers
    ]
    shop.cls("kotlinx/coroutines/ChildHandleNode", "child", "next")
    following = 0
    for job in jobs:
        following = shop.make(
            "kotlinx/coroutines/ChildHandleNode", child=job, next=following
        )
    array = shop.array("[Ljava/lang/Object;", workers)
    shop.main(
        SCOPE=following, WORKERS=shop.make("java/util/ArrayList", elementData=array)
    )
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("60 Worker (")
    assert found.sentence.endswith(
        " are held in a list by static field Main.WORKERS, and by Worker$run$1.this$0,"
        " and by Worker$run$1.L$0; clearing only one of them frees nothing."
    )


def test_what_was_read_of_a_lazy_list_is_kept_by_its_head(tmp_path: Path) -> None:
    shop, place = Program(), "scala/collection/immutable/LazyList"
    shop.cls(place, "state")
    shop.cls(f"{place}$State$Cons", "head", "tail")
    shop.cls("app/Tick", "data")
    shop.cls("app/Ticker", "history")
    rest = shop.make(place)
    for _ in range(300):
        tick = shop.make("app/Tick", data=shop.data(500))
        cons = shop.make(f"{place}$State$Cons", head=tick, tail=rest)
        rest = shop.make(place, state=cons)
    shop.main(TICKER=shop.make("app/Ticker", history=rest))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Tick (")
    assert "are held in a lazy list by Ticker.history" in found.sentence
    assert found.signs == ("A lazy list keeps what was read of it while something has "
        "its head.",)  # fmt: skip
    assert found.advice == (
        "To free them, clear the reference Ticker.history -> LazyList."
    )


def test_what_the_runtime_has_read_of_its_own_image_is_no_suspect(
    tmp_path: Path,
) -> None:
    shop, place = Program(), "jdk/internal/jimage/ImageReader"
    shop.cls(place, "nodes")
    shop.cls(f"{place}$Resource", "name")
    some = [shop.make(f"{place}$Resource", name=shop.data(100)) for _ in range(900)]
    at = shop.make(place, nodes=shop.map_of(some))
    at = shop.cls("sun/net/www/protocol/jrt/JavaRuntimeURLConnection", reader=at)
    shop.dump.root(SYSTEM_CLASS, at)
    shop.cls("app/Order", "data")
    orders = [shop.make("app/Order", data=shop.data(100)) for _ in range(300)]
    shop.main(ORDERS=shop.array("[Ljava/lang/Object;", orders))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Order (")


def test_the_function_that_has_an_atom_of_clojure_is_named(tmp_path: Path) -> None:
    """The atom and its map only lead to what is memoized."""
    shop = Program()
    lang = "clojure/lang"
    shop.cls(f"{lang}/Var", "root")
    shop.cls(f"{lang}/Atom", "state")
    shop.cls(f"{lang}/PersistentHashMap", "root")
    shop.cls(f"{lang}/PersistentHashMap$ArrayNode", "array")
    shop.cls(f"{lang}/Namespace", "mappings")
    shop.cls("clojure/core$memoize$fn__1", "mem")
    shop.cls("app/core/Op", "data")
    ops = shop.array(
        "[Ljava/lang/Object;",
        [shop.make("app/core/Op", data=shop.data(500)) for _ in range(300)],
    )
    node = shop.make(f"{lang}/PersistentHashMap$ArrayNode", array=ops)
    state = shop.make(f"{lang}/PersistentHashMap", root=node)
    atom = shop.make(f"{lang}/Atom", state=state)
    parse = shop.make("clojure/core$memoize$fn__1", mem=atom)
    shop.main(PARSE=shop.make(f"{lang}/Var", root=parse))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Op (")
    assert " by core$memoize$fn__1.mem, from static field Main.PARSE." in found.sentence


def test_subscribers_of_a_publisher_are_event_handlers(tmp_path: Path) -> None:
    shop, place = Program(), "java/util/concurrent/SubmissionPublisher"
    shop.cls(place, "clients")
    shop.cls(f"{place}$BufferedSubscription", "subscriber", "next")
    shop.cls("app/View", "data")
    following = 0
    for _ in range(300):
        view = shop.make("app/View", data=shop.data(500))
        following = shop.make(
            f"{place}$BufferedSubscription", subscriber=view, next=following
        )
    shop.main(QUOTES=shop.make(place, clients=following))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 View (")
    assert found.advice == (
        "To free them, remove the handlers at static field Main.QUOTES -> "
        "SubmissionPublisher."
    )


def test_weak_references_in_a_set_are_what_piles_up(tmp_path: Path) -> None:
    shop, weak = Program(), "java/lang/ref/WeakReference"
    shop.cls(_MAP_OF_SET, "table")
    shop.cls(f"{_MAP_OF_SET}$Node", "key")
    shop.cls("app/Configuration", "seen")
    nodes = [
        shop.make(f"{_MAP_OF_SET}$Node", key=shop.make(weak, referent=0))
        for _ in range(3000)
    ]
    table = shop.array("[Ljava/lang/Object;", nodes)
    seen = shop.make(_MAP_OF_SET, table=table)
    shop.main(CONFIG=shop.make("app/Configuration", seen=seen))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("3,000 WeakReference (")
    assert " are held in a map by Configuration.seen, from " in found.sentence
    assert found.signs == ("The objects that these weak references had are gone.",)


@pytest.mark.parametrize("is_caught", [False, True])
def test_the_root_of_objects_that_two_lists_have_is_told(
    is_caught: bool, tmp_path: Path
) -> None:
    """Both lead through an object for each, so that the cut is the type.

    What a coroutine that waits has at hand refers to each as well.
    """
    shop = Program()
    shop.cls("app/Model", "data")
    shop.cls("app/Emit", "$model")
    shop.cls("app/Repository", "prices")
    continuation = "kotlinx/coroutines/CancellableContinuationImpl"
    shop.cls(continuation, "model", "delegate")
    waiting = []
    for _ in range(300):
        model = shop.make("app/Model", data=shop.data(500))
        emit = shop.make("app/Emit", **{"$model": model if is_caught else 0})
        waiting.append(shop.make(continuation, model=model, delegate=emit))
    prices = shop.array("[Ljava/lang/Object;", waiting)
    shop.cls("kotlinx/coroutines/ChildHandleNode", "child", "next")
    following = 0
    for at in waiting:
        node = "kotlinx/coroutines/ChildHandleNode"
        following = shop.make(node, child=at, next=following)
    shop.main(REPO=shop.make("app/Repository", prices=prices), JOB=following)
    (found,) = shop.found(tmp_path).suspects

    others = "Emit.$model" if is_caught else "others"
    assert found.sentence.endswith(
        f" by Repository.prices, from static field Main.REPO, and by {others}."
    )
    assert found.advice == (
        "To free them, cancel the coroutines that wait, or their scope, or remove "
        "entries at Repository.prices, and clear whatever else refers to Model."
    )


def test_callbacks_of_a_promise_that_is_not_done(tmp_path: Path) -> None:
    shop, place = Program(), "scala/concurrent/impl/Promise"
    shop.cls(f"{place}$DefaultPromise", "value")
    shop.cls(f"{place}$ManyCallbacks", "first", "rest")
    shop.cls("app/Callback", "data")
    shop.cls("app/Server", "stopped")
    rest = 0
    for _ in range(300):
        first = shop.make("app/Callback", data=shop.data(500))
        rest = shop.make(f"{place}$ManyCallbacks", first=first, rest=rest)
    stopped = shop.make(f"{place}$DefaultPromise", value=rest)
    shop.main(SERVER=shop.make("app/Server", stopped=stopped))
    (found,) = shop.found(tmp_path).suspects

    assert found.signs == (
        "The Promise$DefaultPromise is not done, and keeps what waits for it until it "
        "is.",
    )
    assert found.advice.startswith("To free them, finish the Promise$DefaultPromise, ")


def test_entries_of_a_library_are_not_the_programs_to_remove(tmp_path: Path) -> None:
    """The static field of the program tells that the meter is of a library."""
    shop = Program()
    shop.cls("org/metrics/Meter", "callbacks")
    shop.cls("org/metrics/Callback", "data")
    shop.cls("app/Bot", "meter")
    calls = [shop.make("org/metrics/Callback", data=shop.data(500)) for _ in range(300)]
    meter = shop.make("org/metrics/Meter", callbacks=shop.map_of(calls))
    shop.main(BOT=shop.make("app/Bot", meter=meter))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.endswith(
        " are held in a map by Meter.callbacks in Bot.meter, from static field "
        "Main.BOT."
    )
    assert found.advice == (
        "To free them, have Meter remove entries at Meter.callbacks -> HashMap, for "
        "example by closing or unregistering them."
    )
    assert found.cut == "Meter.callbacks -> HashMap"


def test_what_has_many_of_a_library_does_not_act_for_each(tmp_path: Path) -> None:
    """A context has all beans in a list, and no access to what is in one of them."""
    shop = Program()
    shop.cls("org/beans/Context", "beans")
    shop.cls("org/beans/Retry", "delegates")
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("app/Bot", "context")
    shop.cls("app/Job", "data")
    jobs = [shop.make("app/Job", data=shop.data(500)) for _ in range(300)]
    retry = shop.make("org/beans/Retry", delegates=shop.map_of(jobs))
    beans = shop.array("[Ljava/lang/Object;", [retry, shop.make("app/Job")])
    beans = shop.make("java/util/ArrayList", elementData=beans)
    context = shop.make("org/beans/Context", beans=beans)
    shop.main(BOT=shop.make("app/Bot", context=context))
    (found,) = shop.found(tmp_path).suspects

    assert " by Retry.delegates in Bot.context, from " in found.sentence
    how = "To free them, remove entries at Retry.delegates -> HashMap."
    assert found.advice == how


def test_maps_of_what_has_the_objects_are_named_before_its_fields(
    tmp_path: Path,
) -> None:
    """A scope and its session each have a call; the scope is in one map of both."""
    shop = Program()
    shop.cls("app/Scopes", "every")
    shop.cls("app/Factory", "values")
    shop.cls("app/Scope", "source")
    shop.cls("app/Session", "call")
    shop.cls("app/Call", "data")
    scopes, sessions = [], []
    for _ in range(300):
        call = shop.make("app/Call", data=shop.data(500))
        scopes.append(shop.make("app/Scope", source=call))
        sessions.append(shop.make("app/Session", call=call))
    scopes_ = shop.make("app/Scopes", every=shop.map_of(scopes))
    factory = shop.make("app/Factory", values=shop.map_of(sessions))
    shop.main(SCOPES=scopes_, FACTORY=factory)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Call (")
    assert set(found.cut.split(" and ")) == {
        "Scopes.every -> HashMap", "Factory.values -> HashMap",
    }  # fmt: skip


def test_the_only_object_that_has_a_tree_is_needed(tmp_path: Path) -> None:
    """As loggers, which a map has as well; of a tree alone its root is told."""
    shop = Program()
    shop.cls("log/Context", "root", "cache")
    shop.cls("log/Logger", "children", "data")
    shop.cls("log/Handler", "root")
    shop.cls("log/Service", "context")
    shop.cls("java/util/ArrayList", "elementData")
    loggers = [shop.make("log/Logger", data=shop.data(90)) for _ in range(300)]
    array = shop.array("[Ljava/lang/Object;", loggers)
    children = shop.make("java/util/ArrayList", elementData=array)
    root = shop.make("log/Logger", children=children)
    cache = shop.map_of([root, *loggers])
    context = shop.make("log/Context", root=root, cache=cache)
    service = shop.make("log/Service", context=context)
    shop.main(SERVICE=service, HANDLER=shop.make("log/Handler", root=root))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Logger (")
    assert set(found.cut.split(" and ")) == {
        "Context.cache -> HashMap", "Logger.children -> ArrayList",
    }  # fmt: skip


def test_a_coroutine_that_waits_is_cancelled(tmp_path: Path) -> None:
    """What only the runtime has made refers to what waits."""
    shop = Program()
    shop.cls("app/Checkout$run$1", "completion")
    shop.cls("app/Job", "data")
    jobs = [shop.make("app/Job", data=shop.data(500)) for _ in range(300)]
    waits = shop.make("app/Checkout$run$1", completion=shop.map_of(jobs))
    shop.main(RUN=waits)
    suspect, *_ = shop.found(tmp_path).suspects

    assert suspect.advice == (
        "To free them, cancel the coroutines that wait, or their scope: "
        "Checkout$run$1.completion -> HashMap."
    )


def test_a_var_of_clojure_is_named(tmp_path: Path) -> None:
    shop, lang = Threads(), "clojure/lang"
    shop.cls(f"{lang}/Symbol", "name")
    shop.cls(f"{lang}/Namespace", "name")
    shop.cls(f"{lang}/Var", "ns", "sym", "root")
    shop.cls(f"{lang}/Atom", "watches")
    shop.cls("feed/core$subscribe$fn__154", "data")
    watches = shop.map_of(
        [
            shop.make("feed/core$subscribe$fn__154", data=shop.data(500))
            for _ in range(300)
        ]
    )
    name = shop.make(f"{lang}/Symbol", name=shop.text("feed.core"))
    var = shop.make(
        f"{lang}/Var",
        ns=shop.make(f"{lang}/Namespace", name=name),
        sym=shop.make(f"{lang}/Symbol", name=shop.text("prices")),
        root=shop.make(f"{lang}/Atom", watches=watches),
    )
    shop.main(const__10=var)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.endswith(" are held in a map by var feed.core/prices.")
    assert found.cut == "var feed.core/prices -> Atom"


def test_a_var_above_the_holder_is_named_not_a_constant(tmp_path: Path) -> None:
    shop, lang = Threads(), "clojure/lang"
    shop.cls(f"{lang}/Symbol", "name")
    shop.cls(f"{lang}/Namespace", "name")
    shop.cls(f"{lang}/Var", "ns", "sym", "root")
    shop.cls(f"{lang}/MultiFn", "methodCache")
    shop.cls("fhir/core/Resource", "data")
    cache = shop.map_of(
        [shop.make("fhir/core/Resource", data=shop.data(500)) for _ in range(300)]
    )
    name = shop.make(f"{lang}/Symbol", name=shop.text("fhir.core"))
    multi = shop.make(f"{lang}/MultiFn", methodCache=cache)
    validate, alias = (
        shop.make(
            f"{lang}/Var",
            ns=shop.make(f"{lang}/Namespace", name=name),
            sym=shop.make(f"{lang}/Symbol", name=shop.text(text)),
            root=multi,
        )
        for text in ("validate", "alias")
    )
    shop.main(const__8=validate, const__9=alias)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.endswith(
        " in a cache by MultiFn.methodCache, from var fhir.core/validate."
    )


def test_receivers_of_android_are_unregistered(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("android/app/LoadedApk", "mReceivers")
    shop.cls("app/Sync", "data")
    receivers = [shop.make("app/Sync", data=shop.data(500)) for _ in range(30)]
    loaded = shop.make("android/app/LoadedApk", mReceivers=shop.map_of(receivers))
    shop.main(APK=loaded)
    (found,) = shop.found(tmp_path).suspects

    assert found.advice.startswith("To free them, unregister the receivers, ")


def test_animators_of_android_are_cancelled(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("android/animation/AnimationHandler", "mAnimationCallbacks")
    shop.cls("app/Pulse", "data")
    pulses = [shop.make("app/Pulse", data=shop.data(500)) for _ in range(30)]
    callbacks = shop.array("[Ljava/lang/Object;", pulses)
    handler = "android/animation/AnimationHandler"
    shop.main(HANDLER=shop.make(handler, mAnimationCallbacks=callbacks))
    (found,) = shop.found(tmp_path).suspects

    assert found.advice.startswith("To free them, cancel the animators: ")


def test_fields_of_one_object_that_all_have_them_are_named(tmp_path: Path) -> None:
    # A graph of a library, and a table of all that are in it.
    shop = Program()
    shop.cls("lib/Graph", "edges")
    kinds = [f"lib/{name}" for name in ("Box", "Edge", "Pair", "Step", "Turn")]
    for kind in kinds:
        shop.cls(kind, "source")
    shop.cls("app/Planner", "grid", "network", "name")
    shop.cls("app/Crossing", "data")
    crossings = [shop.make("app/Crossing", data=shop.data(200)) for _ in range(300)]
    edges = [shop.make(kind, source=one) for one in crossings for kind in kinds]
    graph = shop.make("lib/Graph", edges=shop.map_of(edges))
    grid = shop.array("[Ljava/lang/Object;", crossings)
    planner = shop.make("app/Planner", grid=grid, network=graph, name=shop.data(9))
    shop.main(PLANNER=planner)
    found, *_ = shop.found(tmp_path).suspects

    assert found.sentence.endswith(
        " are held in the fields grid and network by static field Main.PLANNER."
    )
    assert found.advice == (
        "To free them, remove entries of grid and network at static field Main.PLANNER "
        "-> Planner."
    )


@pytest.mark.parametrize("lists", [10, 100])
def test_lists_inside_of_a_map_that_grow_are_told(lists: int, tmp_path: Path) -> None:
    shop = Program()
    shop.cls("java/util/ArrayList", "elementData")
    shop.cls("app/Offset", "data")
    several = []
    for _ in range(lists):
        some = [
            shop.make("app/Offset", data=shop.data(60)) for _ in range(600 // lists)
        ]
        array = shop.array("[Ljava/lang/Object;", some)
        several.append(shop.make("java/util/ArrayList", elementData=array))
    shop.main(OFFSETS=shop.map_of(several))
    (found,) = shop.found(tmp_path).suspects

    where, of = ("in 10 lists in a map", " of the 10 lists") if lists == 10 else (
        "in a map", ""
    )  # fmt: skip
    assert found.sentence.endswith(f" are held {where} by static field Main.OFFSETS.")
    assert found.advice == (
        f"To free them, remove entries{of} at static field Main.OFFSETS -> HashMap."
    )


def test_the_only_one_of_a_type_is_named_before_one_of_many(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("app/Logger", "next", "data")
    shop.cls("app/Channel", "logger")
    shop.cls("app/Provider", "first")
    at = 0
    for _ in range(400):
        at = shop.make("app/Logger", next=at, data=shop.data(90))
    channels = [shop.make("app/Channel", logger=at) for _ in range(20)]
    shop.main(
        CHANNELS=shop.array("[Ljava/lang/Object;", channels),
        PROVIDER=shop.make("app/Provider", first=at),
    )
    (found,) = shop.found(tmp_path).suspects

    assert "held in a linked list by Provider.first, from static " in found.sentence
    assert ", and by Channel.logger, each by the next of another" in found.sentence


def test_the_others_of_a_list_are_counted(tmp_path: Path) -> None:
    """Some of it are held elsewhere, too, so that the cut does not free them."""
    shop = Program()
    shop.cls("app/Order", "data")
    orders = [shop.make("app/Order", data=shop.data(300)) for _ in range(400)]
    every = shop.array("[Ljava/lang/Object;", orders)
    urgent = shop.map_of(orders[:40])
    shop.main(ORDERS=every, URGENT=urgent)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("360 of 400 Order (")
    assert found.object_count == 360


def test_objects_that_are_threads_are_not_held_by_one(tmp_path: Path) -> None:
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("lib/Reaper", "tracker", above="java/lang/Thread")
    for number in range(1, 301):
        name = shop.text("File Reaper")
        reaper = shop.make("lib/Reaper", name=name, tracker=shop.data(900))
        shop.dump.root(THREAD_OBJECT, reaper, number, 0)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Reaper (")
    assert found.sentence.endswith(" are threads that have not ended: File Reaper.")
    assert found.cut == "thread File Reaper"


@pytest.mark.parametrize("is_much_else", [False, True])
def test_many_threads_of_a_pool_have_not_ended(
    is_much_else: bool, tmp_path: Path
) -> None:
    """Frames have them as well, and their group; that ends with them."""
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("java/lang/ThreadGroup", "threads")
    threads = [
        shop.thread(number, 0, shop.data(900), called=f"pool-{number}-thread-1")
        for number in range(1, 61)
    ]
    group = shop.make(
        "java/lang/ThreadGroup", threads=shop.array("[Ljava/lang/Object;", threads)
    )
    for number in range(1, 61):
        shop.dump.root(JAVA_FRAME, group, number, 0)
    shop.main(TABLE=shop.data(6_000_000 if is_much_else else 90))
    findings = shop.found(tmp_path)
    found = findings.smaller[0] if is_much_else else findings.suspects[0]

    words = " are threads that have not ended: pool-#-thread-1."
    assert found.sentence.startswith("60 CarrierThread (")
    assert found.sentence.endswith(words)
    assert found.cut == "threads pool-#-thread-1"
    assert "shut down the executors that have them" in found.advice


def test_threads_have_what_their_frames_have(tmp_path: Path) -> None:
    """Virtual threads that wait are told with it; their stacks are in the heap."""
    shop = Threads()
    kind = "java/lang/VirtualThread"
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("java/lang/BaseVirtualThread", above="java/lang/Thread")
    shop.cls(kind, "data", above="java/lang/BaseVirtualThread")
    for number in range(1, 301):
        name = shop.text(f"retry-1-{number}")
        thread = shop.make(kind, name=name, data=shop.data(300))
        shop.dump.root(THREAD_OBJECT, thread, number, 0)
        shop.dump.root(JAVA_FRAME, shop.data(500), number, 0)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 VirtualThread (")
    assert found.sentence.endswith(" threads that have not ended: retry-1-#.")
    assert found.cut == "threads retry-1-#"
    assert found.retained_bytes > 300 * 800
    assert found.signs == ()


def test_a_thread_that_a_local_variable_has_is_itself_the_root(tmp_path: Path) -> None:
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Page", "data")
    pages = [shop.make("app/Page", data=shop.data(900)) for _ in range(300)]
    table = shop.map_of(pages)
    shop.thread(1, 0)
    name = shop.text("ui")
    thread = shop.make("java/lang/CarrierThread", name=name, table=table)
    shop.dump.root(JAVA_FRAME, thread, 1, 0)
    shop.dump.root(THREAD_OBJECT, thread, 2, 0)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.endswith(" by CarrierThread.table, from thread ui.")


def test_what_two_elements_of_a_list_share_has_no_key(tmp_path: Path) -> None:
    """The array dominates it, and refers to it only by way of the elements."""
    shop = Program()
    shop.cls("app/Line", "code")
    shop.cls("app/Unit", "lines")
    shop.cls("app/Part", "unit")
    shop.cls("app/Rule", "parts")
    shop.cls("java/util/ArrayList", "elementData")
    rules = []
    for _ in range(200):
        lines = [shop.make("app/Line", code=shop.data(60)) for _ in range(20)]
        unit = shop.make("app/Unit", lines=shop.array("[Ljava/lang/Object;", lines))
        parts = [shop.make("app/Part", unit=unit) for _ in range(2)]
        array = shop.array("[Ljava/lang/Object;", parts)
        rules.append(
            shop.make(
                "app/Rule", parts=shop.make("java/util/ArrayList", elementData=array)
            )
        )
    shop.main(RULES=shop.map_of(rules))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("200 Rule (")
    assert " with 4,000 Line in Rule.parts are held in a map by " in found.sentence


def test_the_frame_of_a_local_variable_is_named(tmp_path: Path) -> None:
    """A variable has no entries: the collection that it refers to does."""
    shop = Threads()
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Order", "data")
    shop.cls("app/Import")
    orders = [shop.make("app/Order", data=shop.data(300)) for _ in range(400)]
    shop.dump.trace(1, 1, [shop.dump.frame(0x51, "app/Import", "run", 12)])
    shop.thread(1, shop.map_of(orders), called="main", trace=1)
    (found,) = shop.found(tmp_path).suspects

    assert found.advice == (
        "To free them, remove entries of the HashMap that a local variable of "
        "app.Import.run(Import.java:12) has: a frame of thread main -> HashMap."
    )


def test_what_a_lambda_has_captured_is_told_as_its_own(tmp_path: Path) -> None:
    """No source has the name of its class, or of its field."""
    name = "app/Hub$$Lambda$14/0x00007f0a40000c18"
    shop = Threads()
    shop.cls("java/lang/ThreadLocal")
    shop.cls(_MAP, "table")
    shop.cls(_ENTRY, "value", above="java/lang/ref/WeakReference")
    shop.cls(f"[L{_ENTRY};")
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Row", "data")
    shop.cls(name, "arg$1")
    rows = [shop.make("app/Row", data=shop.data(500)) for _ in range(300)]
    local = shop.make("java/lang/ThreadLocal")
    shop.main(TASK=shop.make(name, **{"arg$1": local}))
    entry = shop.make(_ENTRY, referent=local, value=shop.map_of(rows))
    shop.thread(1, 0, shop.make(_MAP, table=shop.array(f"[L{_ENTRY};", [entry])))
    (found,) = shop.found(tmp_path).suspects

    assert " by a ThreadLocal of a lambda of Hub, from thread" in found.sentence
    assert f"ThreadLocal {name[4:]}.arg$1 -> HashMap" in found.advice


@pytest.mark.parametrize("maps", [1, 2, 40])
def test_locks_in_maps_of_a_map_are_told(maps: int, tmp_path: Path) -> None:
    """They are no values of a library, but have parts of their own; keys are texts."""
    shop, inner = Program(), "java/util/concurrent/locks/ReentrantReadWriteLock"
    shop.cls(inner, "sync", "reader")
    for part in ("Sync", "ReadLock"):
        shop.cls(f"{inner}${part}")
    locks = [
        shop.make(
            inner,
            sync=shop.make(f"{inner}$Sync"),
            reader=shop.make(f"{inner}$ReadLock"),
        )
        for _ in range(400)
    ]
    found = [shop.map_of(locks[at::maps]) for at in range(maps)]
    shop.cls("app/Locks", of_names=shop.map_of(found))
    shop.main()
    shop.dump.root(SYSTEM_CLASS, shop.dump.classes["app/Locks"])

    (suspect,) = shop.found(tmp_path).suspects

    assert suspect.sentence.startswith("400 ReentrantReadWriteLock (")
    assert suspect.sentence.endswith(" by static field Locks.of_names.")
    assert suspect.cut == "static field Locks.of_names -> HashMap"
