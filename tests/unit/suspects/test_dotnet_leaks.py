"""First sentences for shapes of .NET programs that public reports tell of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.runtimes import TypeClass
from ingest.runtimes.dotnet import DOTNET
from ingest.suspects.find import find_suspects
from tests.dumps.gcdump import GcDump

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.suspects.find import Findings

_LIST = "System.Collections.Generic.List"


class Program:
    """A .NET program that is written as dotnet-gcdump would."""

    def __init__(self) -> None:
        self._types: dict[str, int] = {}
        self._objects: list[tuple[str, int, list[int]]] = []
        self._roots: dict[str, list[int]] = {}

    def make(self, name: str, size: int, *to: int) -> int:
        """Add an object that refers to others; returns its number."""
        self._objects.append((name, size, list(to)))
        return len(self._objects) - 1

    def root(self, name: str, *to: int) -> None:
        """Add roots below a pseudo node, or below one that has another above it."""
        self._roots.setdefault(name, []).extend(to)

    def list_of(self, name: str, items: list[int]) -> int:
        array = self.make(f"{name}[]", 24 + 8 * len(items), *items)
        return self.make(f"{_LIST}<{name}>", 32, array)

    def things(self, name: str, count: int, size: int = 500) -> list[int]:
        return [
            self.make(name, 32, self.make("System.Byte[]", size)) for _ in range(count)
        ]

    def found(self, folder: Path) -> Findings:
        dump = GcDump(tool="dotnet-gcdump")

        def kind(name: str) -> int:
            if name not in self._types:
                module, _, own = name.rpartition("!")
                self._types[name] = dump.type(own, -1, f"{module or 'App'}.dll")
            return self._types[name]

        at = 0x10000
        for name, size, to in self._objects:
            dump.node(kind(name), at, to, size)
            at += size + 7 & ~7
        tops: list[int] = []
        for name, held in self._roots.items():
            to = held
            for part in name.split("/")[::-1]:
                to = [dump.node(kind(part), 0, to, 0)]
            tops += to
        dump.root = dump.node(kind("[.NET Roots]"), 0, tops, 0)
        path = folder / "app.gcdump"
        path.write_bytes(dump.file())
        with open_source(str(path)) as source:
            graph = read(source, ReadOptions(), silent)
        return find_suspects(graph, analyse(graph))


def test_a_list_of_delegates_is_no_event(tmp_path: Path) -> None:
    shop = Program()
    jobs = [
        shop.make("System.Action", 64, job)
        for job in shop.things("App.Jobs+<>c__DisplayClass0_0", 300)
    ]
    shop.root("[static var App.Jobs.Queue]", shop.list_of("System.Action", jobs))
    (found,) = shop.found(tmp_path).suspects

    assert "are held in a list by static field Jobs.Queue." in found.sentence
    assert "remove entries at static field Jobs.Queue" in found.advice


def test_handlers_of_an_event_are_still_such(tmp_path: Path) -> None:
    shop = Program()
    handlers = [
        shop.make("System.EventHandler", 64, page)
        for page in shop.things("App.Page", 300)
    ]
    every = shop.make("System.Object[]", 2424, *handlers)
    shop.root(
        "[static var App.Bus.Raised]", shop.make("System.EventHandler", 64, every)
    )
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Page (")
    assert "are held as event handlers by static field Bus.Raised." in found.sentence


def test_sorted_dictionaries_in_a_list_are_maps(tmp_path: Path) -> None:
    """A set of pairs is inside of each."""
    shop, name = (
        Program(),
        "System.Collections.Generic.SortedDictionary<App.Id,App.Price>",
    )
    of_pairs = "<System.Collections.Generic.KeyValuePair<App.Id,App.Price>>"
    books = []
    for _ in range(30):
        node = 0
        for price in shop.things("App.Price", 50):
            node = shop.make(f"Node{of_pairs}", 48, price, *filter(None, [node]))
        pairs = shop.make(f"System.Collections.Generic.TreeSet{of_pairs}", 48, node)
        books.append(shop.make(name, 32, pairs))
    shop.root("[static var App.Shop.Books]", shop.list_of(name, books))
    (found,) = shop.found(tmp_path).suspects

    assert (
        " are held in 30 maps in a list by static field Shop.Books." in found.sentence
    )
    assert found.advice.startswith("To free them, remove entries of the 30 maps at ")


def test_load_contexts_are_unloaded(tmp_path: Path) -> None:
    """The runtime has a handle of each until then, which no program can free."""
    shop = Program()
    contexts = shop.things("App.PluginLoadContext", 40)
    shop.root("[Strong Handles]", *contexts)
    (found,) = shop.found(tmp_path).suspects

    assert found.advice == (
        "To free them, unload the load contexts (AssemblyLoadContext.Unload): "
        "GC handles -> PluginLoadContext."
    )


def test_what_waits_for_the_finalizer_is_held_by_nobody(tmp_path: Path) -> None:
    shop = Program()
    shop.root("[finalizer Handles]", *shop.things("App.Connection", 300))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Connection (")
    assert found.sentence.endswith("wait for the finalizer thread.")
    assert "once the finalizer has ended with them" in found.advice


def test_a_table_of_structures_is_named(tmp_path: Path) -> None:
    """Its entries are no objects."""
    shop = Program()
    ticks = "System.Int64,App.Tick"
    entries = shop.make(
        f"System.Collections.Generic.Dictionary+Entry<{ticks}>[]", 90000
    )
    buckets = shop.make("System.Int32[]", 9000)
    name = f"System.Collections.Generic.Dictionary<{ticks}>"
    table = shop.make(name, 80, entries, buckets)
    shop.root("[static var App.Book.Ticks]", table)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("One Dictionary+Entry<Int64,Tick>[] (")
    assert "in a map by static field Book.Ticks." in found.sentence
    assert found.cut.startswith("static field Book.Ticks -> Dictionary")


def test_the_paths_of_the_runtimes_own_assemblies_are_no_suspect(
    tmp_path: Path,
) -> None:
    shop = Program()
    paths = [shop.make("System.String", 3000) for _ in range(12)]
    table = shop.make(
        "System.Collections.Generic.Dictionary<System.String>", 80, *paths
    )
    shop.root("[static var System.AppContext.s_dataStore]", table)

    assert shop.found(tmp_path).suspects == ()


def test_interned_texts_are_a_suspect(tmp_path: Path) -> None:
    """The runtime has them in the arrays that also have its static fields."""
    shop = Program()
    tables = [
        shop.make(
            "System.Object[]",
            8024,
            *[shop.make("System.String", 60) for _ in range(1000)],
        )
        for _ in range(2)
    ]
    shop.root("[Pinned handles]", *tables)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("2,000 String (")
    assert "by the runtime's table of interned values." in found.sentence
    assert found.cut == "a static field that the dump does not name -> String"


def test_a_part_of_a_larger_suspect_is_none_of_its_own(tmp_path: Path) -> None:
    shop = Program()
    rows = shop.things("System.Data.DataRow", 900, 240)
    pages = [
        shop.make("App.Page", 1600, shop.make("App.Mark", 900), *rows[at::40])
        for at in range(40)
    ]
    index = shop.make("App.Index", 40, shop.make("App.Page[]", 344, *pages))
    table = shop.make(
        "System.Data.DataTable",
        400,
        index,
        shop.make("System.Data.DataRow[]", 7224, *rows),
    )
    shop.root("[static var App.Shop.Orders]", table)
    suspects = shop.found(tmp_path).suspects

    assert [found.sentence.split(" (")[0] for found in suspects] == ["900 DataRow"]


def test_the_box_of_an_async_method_is_named_by_the_method(tmp_path: Path) -> None:
    shop = Program()
    """A trace does not name the outer type of a nested one."""
    result = "System.Threading.Tasks.VoidTaskResult"
    box = f"AsyncStateMachineBox<{result},App.Orders+<HandleAsync>d__7>"
    boxes = [shop.make(box, 144, one) for one in shop.things("System.Object", 300)]
    tasks = [
        shop.make("System.Threading.Tasks.Task<System.Boolean>", 72, one)
        for one in boxes
    ]
    name = "System.Threading.Tasks.Task<System.Boolean>"
    shop.root("[static var App.Bus.Waiting]", shop.list_of(name, tasks))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 AsyncStateMachineBox of Orders.HandleAsync (")


@pytest.mark.parametrize("cache", ["App.LruCache<System.String,App.Image>", "LruCache"])
def test_a_generic_cache_with_a_bound_in_its_name(cache: str, tmp_path: Path) -> None:
    shop = Program()
    items = shop.list_of("App.Image", shop.things("App.Image", 300))
    shop.root("[static var App.Shop.Images]", shop.make(cache, 40, items))
    (found,) = shop.found(tmp_path).suspects

    assert "has the name of a cache with a bound" in found.doubts[0]


def test_a_plug_in_that_was_loaded_again_and_again(tmp_path: Path) -> None:
    """Each load context has types of its own, which are kept by one of them."""
    shop = Program()
    kept = []
    for at in range(20):
        name = f"plugin{at}!Plugin.State"
        states = [
            shop.make(name, 24, shop.make("System.String", 90)) for _ in range(40)
        ]
        allocator = shop.make(
            "System.Reflection.LoaderAllocator",
            48,
            shop.make("System.Object[]", 344, *states),
        )
        kept.append(shop.make("System.RuntimeType", 40, allocator))
    shop.root("[static var Host.Known]", shop.list_of("System.RuntimeType", kept))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("800 State (")
    assert found.sentence.endswith("by static field Host.Known.")
    assert found.signs == ("Their type was loaded 20 times, and is not unloaded.",)


def test_thread_static_fields_are_named_as_such(tmp_path: Path) -> None:
    shop = Program()
    for _ in range(8):
        buffers = shop.list_of("App.Buffer", shop.things("App.Buffer", 40))
        shop.root("[thread static vars]/[static var App.Pool.Buffers]", buffers)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("320 Buffer (")
    assert "in a list by thread-static field Pool.Buffers." in found.sentence
    assert found.cut == "thread-static field Pool.Buffers -> List<Buffer>"


@pytest.mark.parametrize("name", ["Entry", "Node", "Tables", "LinkedSlot", "Slot"])
def test_nested_types_of_collections_have_either_brackets(name: str) -> None:
    """A trace does not name the outer type, and dotnet-gcdump changes the brackets."""
    names = [f"{name}[App.Row]", f"{name}<App.Row>"]

    assert DOTNET.type_classes(names).tolist() == [TypeClass.CONTAINER] * 2


def test_the_event_of_a_collection_is_not_its_entries(tmp_path: Path) -> None:
    kind = "System.Collections.Specialized.NotifyCollectionChangedEventHandler"
    name = "System.Collections.ObjectModel.ObservableCollection<App.Track>"
    shop = Program()
    tracks = shop.list_of("App.Track", shop.things("App.Track", 300, 400))
    handlers = [shop.make(kind, 64, one) for one in shop.things("App.View", 300)]
    event = shop.make(kind, 64, shop.make("System.Object[]", 2424, *handlers))
    playlist = shop.make("App.Playlist", 24, shop.make(name, 56, tracks, event))
    shop.root("[static var App.Player.Current]", playlist)
    views, entries = shop.found(tmp_path).suspects

    assert views.sentence.startswith("300 View (")
    assert "are held as event handlers by Playlist" in views.sentence
    assert views.cut == "NotifyCollectionChangedEventHandler -> Object[]"
    assert entries.sentence.startswith("300 Track (")
    assert "are held in a list by Playlist" in entries.sentence
    assert entries.cut == "List<Track> -> Track[]"


def test_functions_that_wrap_one_another_are_no_event(tmp_path: Path) -> None:
    shop = Program()
    wrapped: list[int] = []
    for _ in range(300):
        closure = shop.make(
            "App.Steps+<>c__DisplayClass0_0",
            32,
            shop.make("System.Byte[]", 300),
            *wrapped,
        )
        wrapped = [shop.make("System.Func<System.String>", 64, closure)]
    shop.root("[static var App.Steps.Pipeline]", *wrapped)
    (found,) = shop.found(tmp_path).suspects

    assert "are held in a linked list by static field Steps.Pipeline" in found.sentence


def test_a_chain_of_which_a_map_has_the_first_is_a_linked_list(tmp_path: Path) -> None:
    """As descriptions of a type, each of which asks the one before it."""
    shop, chain = Program(), list[int]()
    for _ in range(300):
        chain = [shop.make("App.Node", 48, *shop.things("App.Text", 1), *chain)]
    buckets = shop.make("System.Collections.Hashtable+bucket[]", 96, *chain)
    table = shop.make("System.Collections.Hashtable", 88, buckets)
    shop.root("[static var App.Types.Table]", table)
    (found,) = shop.found(tmp_path).suspects

    assert " are held in a linked list by static field Types.Table" in found.sentence


def test_queries_that_wrap_one_another_are_containers(tmp_path: Path) -> None:
    shop = Program()
    at = 0
    for item in shop.things("App.Item", 300):
        at = shop.make("System.Linq!Concat2Iterator<Item>", 56, at, item)
        at = shop.make("System.Linq!WhereEnumerableIterator<Item>", 56, at)
    shop.root("[static vars]/[static var App.Main.VIEW]", shop.make("App.View", 24, at))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Item (")
    assert found.cut == "View -> WhereEnumerableIterator<Item>"


def test_the_queues_of_a_bag_are_its_own(tmp_path: Path) -> None:
    shop = Program()
    queues = []
    for _ in range(4):
        items = shop.things("App.Sample", 100)
        array = shop.make("App.Sample[]", 24 + 8 * len(items), *items)
        queues.append(shop.make("WorkStealingQueue<Sample>", 40, array))
    bag = shop.make("System.Collections.Concurrent.ConcurrentBag<Sample>", 32, *queues)
    shop.root("[static vars]/[static var App.Metrics.BAG]", bag)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Sample (")
    assert "in a queue by static field" in found.sentence


def test_events_of_several_objects_are_named_not_what_has_these(tmp_path: Path) -> None:
    """Each page listens to all articles, which the shop needs."""
    shop = Program()
    handler = "App.ArticleChangedEventHandler"
    pages = [shop.make(handler, 64, page) for page in shop.things("App.Page", 200)]
    articles = [
        shop.make("App.Article", 32, shop.make(handler, 64, every))
        for every in (shop.make("System.Object[]", 1624, *pages) for _ in range(7))
    ]
    shop.root("[static var App.Shop.Articles]", shop.list_of("App.Article", articles))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("200 Page (")
    held = "are held as event handlers by Article, from static field Shop.Articles."
    assert held in found.sentence
    assert found.cut == "Article -> ArticleChangedEventHandler"


def test_operations_that_are_not_stopped_are_a_list_of_an_async_local(
    tmp_path: Path,
) -> None:
    """Each is the parent of the next one, and has its tags in a list of its own."""
    shop, parent = Program(), 0
    for _ in range(300):
        tags = shop.make("KeyValueListNode", 40)
        to = (parent, tags) if parent else (tags,)
        parent = shop.make("System.Diagnostics.Activity", 500, *to)
    values = "System.Threading.AsyncLocalValueMap+OneElementAsyncLocalValueMap"
    context = shop.make(
        "System.Threading.ExecutionContext", 32, shop.make(values, 32, parent)
    )
    thread = shop.make("System.Threading.Thread", 72, context)
    shop.root("[strong handle]", thread)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Activity (")
    assert " are held in a linked list by " in found.sentence
    assert found.advice.startswith("To free them, reset the AsyncLocal that leads ")


def test_the_domain_holds_handlers_and_is_no_container() -> None:
    (kind,) = DOTNET.type_classes(["System.AppDomain"])

    assert kind == TypeClass.LIBRARY


def test_callbacks_of_native_code_are_no_timers(tmp_path: Path) -> None:
    shop = Program()
    callback = "System.Threading._ThreadPoolWaitOrTimerCallback"
    waits = [shop.make(callback, 40, job) for job in shop.things("App.Job", 300)]
    shop.root("[strong handle]", *waits)
    (found,) = shop.found(tmp_path).suspects

    assert found.pattern == "handles"
    assert found.advice == (
        "To free them, unregister the waits of the thread pool "
        "(RegisteredWaitHandle.Unregister): GC handles -> "
        "_ThreadPoolWaitOrTimerCallback."
    )


def test_locks_by_key_are_what_is_held_not_the_keys(tmp_path: Path) -> None:
    shop = Program()
    nodes = [
        shop.make(
            "System.Collections.Concurrent.ConcurrentDictionary+Node<String>",
            40,
            shop.make("System.String", 60),
            shop.make("System.Threading.SemaphoreSlim", 56, shop.make("System.Box", 8)),
        )
        for _ in range(500)
    ]
    table = shop.make("System.Collections.Concurrent.Node[]", 4024, *nodes)
    all_ = shop.make("System.Collections.Concurrent.ConcurrentDictionary", 40, table)
    shop.root("[static var App.Locks.ALL]", all_)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("500 SemaphoreSlim (")


def test_the_list_of_each_object_is_a_cut_though_no_field_is_known(
    tmp_path: Path,
) -> None:
    shop = Program()
    rooms = [
        shop.make("App.Room", 40, shop.list_of("App.Line", shop.things("App.Line", 30)))
        for _ in range(40)
    ]
    shop.root("[static var App.Lobby.Rooms]", shop.list_of("App.Room", rooms))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("40 Room (")
    assert " with 1,200 Line are held in a list by" in found.sentence
    assert found.advice.endswith(
        "; or keep them, and remove entries at Room -> List<Line>."
    )


def test_timers_that_have_run_are_entries_of_their_list(tmp_path: Path) -> None:
    shop = Program()
    timers = []
    for order in shop.things("App.Order", 400):
        call = shop.make("System.Threading.TimerCallback", 64, order)
        inner = shop.make("System.Threading.TimerQueueTimer", 96, call)
        holder = shop.make("System.Threading.TimerHolder", 24, inner)
        timers.append(shop.make("System.Threading.Timer", 24, holder))
    list_ = shop.list_of("System.Threading.Timer", timers)
    shop.root("[static var App.Shop.Timers]", list_)
    (found,) = shop.found(tmp_path).suspects

    assert " are held in a list by static field" in found.sentence
    assert found.advice.startswith("To free them, remove entries at static field")
    assert len(found.signs) == 1


def test_thread_static_fields_are_told_together(tmp_path: Path) -> None:
    shop = Program()
    tables = [
        shop.make("System.Object[]", 80, shop.list_of("App.Export", held))
        for held in (shop.things("App.Export", 50) for _ in range(8))
    ]
    shop.root("[other Handles]/[strong Handles]", *tables)
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Export (")
    assert "of them directly" not in found.sentence
    assert any("thread-static fields" in sign for sign in found.signs)


def test_linked_sources_with_timers_are_disposed_not_cancelled(tmp_path: Path) -> None:
    """The registration with the source that they are linked to holds them as well."""
    shop = Program()
    timers = []
    for request in shop.things("App.Request", 300):
        node = shop.make("System.Threading.CancellationTokenSource+CallbackNode", 80,
            shop.make("System.Action", 64, request))  # fmt: skip
        source = shop.make(
            "System.Threading.CancellationTokenSource+Linked1CancellationTokenSource",
            80, node,
        )  # fmt: skip
        timers.append(shop.make("System.Threading.TimerQueueTimer", 80, source))
    shop.root(
        "[static var System.Threading.TimerQueue.Instances]",
        shop.make("System.Threading.TimerQueue", 80, *timers),
    )
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Request (")
    assert "dispose the registrations and linked sources" in found.advice


@pytest.mark.parametrize(("calls", "is_doubt"), [(8, True), (300, False)])
def test_a_few_calls_that_wait_for_timers_may_be_under_way(
    calls: int, is_doubt: bool, tmp_path: Path
) -> None:
    shop = Program()
    timers = []
    for _ in range(calls):
        box = shop.make(
            "App.Etl+<Work>d__1", 80, *shop.things("App.Row", 2400 // calls)
        )
        delay = shop.make("System.Threading.Tasks.Task+DelayPromise", 80, box)
        timers.append(shop.make("System.Threading.TimerQueueTimer", 80, delay))
    shop.root(
        "[static var System.Threading.TimerQueue.Instances]",
        shop.make("System.Threading.TimerQueue", 80, *timers),
    )
    (found,) = shop.found(tmp_path).suspects

    assert bool(found.doubts) == is_doubt
    assert bool(found.signs) != is_doubt


def test_a_task_that_is_not_done_keeps_its_continuations(tmp_path: Path) -> None:
    shop, tasks = Program(), "System.Threading.Tasks"
    waiting = [
        shop.make(f"{tasks}.StandardTaskContinuation", 40, batch)
        for batch in shop.things("App.Batch", 300)
    ]
    task = shop.make(
        f"{tasks}.Task<System.Boolean>", 72, shop.list_of("System.Object", waiting)
    )
    source = shop.make(f"{tasks}.TaskCompletionSource<System.Boolean>", 24, task)
    shop.root(
        "[static var App.Program.ingester]", shop.make("App.Ingester", 32, source)
    )
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Batch (")
    assert found.signs == ("The Task<Boolean> is not done, and keeps what waits for "
        "it until it is.",)  # fmt: skip
    assert found.advice.startswith("To free them, finish the Task<Boolean>, or remove")


def test_waiters_of_a_semaphore_are_freed_by_its_release(tmp_path: Path) -> None:
    shop = Program()
    waiter = None
    for _ in range(300):
        has = shop.things("App.Call", 1)
        waiter = shop.make("System.Threading.SemaphoreSlim+TaskNode", 88, *has, *(
            [] if waiter is None else [waiter]))  # fmt: skip
    assert waiter is not None
    gate = shop.make("System.Threading.SemaphoreSlim", 64, waiter)
    shop.root("[static var App.Program.client]", shop.make("App.Client", 32, gate))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Call (")
    assert "are held as waiters of a lock by Client, from" in found.sentence
    assert found.advice == (
        "To free them, have what has the lock of Client release it."
    )


def test_two_chains_of_waiting_methods_are_in_no_map(tmp_path: Path) -> None:
    """Each of two agents has a map with the first one, which the others wait for."""
    shop = Program()
    agents = []
    for _ in range(2):
        chain = list[int]()
        for _ in range(300):
            chain = [shop.make("App.Step", 48, *shop.things("App.Try", 1), *chain)]
        array = shop.make("Entry<System.Int32,App.Step>[]", 96, *chain)
        table = shop.make("System.Collections.Generic.Dictionary<App.Step>", 80, array)
        agents.append(shop.make("App.Stream", 24, table))
    shop.root("[static var App.Hub.Agents]", shop.list_of("App.Stream", agents))
    (found,) = shop.found(tmp_path).suspects

    assert " are held in a linked list by Stream" in found.sentence
