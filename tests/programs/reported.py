"""Python programs that leak as public reports tell: python reported.py KIND [DUMP].

Each prints "ready" and waits, or dumps itself. The truth of each kind is in
reported.toml.
"""

import asyncio
import atexit
import contextlib
import contextvars
import functools
import gc
import io
import itertools
import json
import logging
import logging.handlers
import multiprocessing
import queue
import sys
import threading
import types
import weakref
from collections import OrderedDict, UserDict, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from unittest import mock
from xml.etree import ElementTree


def ready():
    if len(sys.argv) > 2:
        from heaproots_dump import dump

        dump(sys.argv[2])
        return
    print("ready", flush=True)
    sys.stdin.readline()


sys.path.insert(0, __file__.rsplit("tests", 1)[0] + "ingest/capture/python")


class Invoice:
    def __init__(self, number):
        self.number = number
        self.lines = bytearray(900)

    def close(self):
        pass


class History(OrderedDict):
    """A dict of one's own, filled by key."""


HISTORY = History()


def ordered_subclass():
    for number in range(4000):
        HISTORY[number] = Invoice(number)
    ready()


class Basket(list):
    """A list of one's own."""


class Shop:
    def __init__(self):
        self.basket = Basket()
        self.waiting = set()
        self.errors = deque()
        self.handlers = defaultdict(list)
        self.jobs = queue.Queue()
        self.pool = None


shop = Shop()


def list_subclass():
    shop.basket.extend(map(Invoice, range(4000)))
    ready()


class Settings(UserDict):
    """A mapping that has a dict."""


def user_dict():
    shop.settings = Settings()
    for number in range(4000):
        shop.settings[f"invoice {number}"] = Invoice(number)
    ready()


def pending_tasks():
    async def reserve(number, event):
        invoice = Invoice(number)
        await event.wait()
        return invoice

    async def main():
        event = asyncio.Event()
        for number in range(3000):
            shop.waiting.add(asyncio.create_task(reserve(number, event)))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(ready)

    asyncio.run(main())


def lost_tasks():
    """Tasks that only what they wait for holds."""

    async def reserve(number, gate):
        invoice = Invoice(number)
        await gate
        return invoice

    async def main():
        shop.gate = asyncio.get_running_loop().create_future()
        for number in range(3000):
            asyncio.create_task(reserve(number, shop.gate))  # noqa: RUF006
        await asyncio.sleep(0.1)
        await asyncio.to_thread(ready)

    asyncio.run(main())


def delayed_calls():
    async def main():
        loop = asyncio.get_running_loop()
        for number in range(4000):
            loop.call_later(3600, print, Invoice(number))
        await asyncio.to_thread(ready)

    asyncio.run(main())


def kept_errors():
    def parse(invoice):
        scratch = bytearray(2000)
        raise ValueError(invoice.number, len(scratch))

    for number in range(3000):
        try:
            parse(Invoice(number))
        except ValueError as error:
            shop.errors.append(error)
    ready()


@functools.lru_cache(maxsize=None)
def rendered(number):
    return Invoice(number)


def unbounded_cache():
    for number in range(4000):
        rendered(number)
    ready()


class Plugin:
    registry = []  # noqa: RUF012

    def __init_subclass__(cls):
        Plugin.registry.append(cls)


def class_registry():
    for number in range(2000):
        type(f"Plugin{number}", (Plugin,), {"run": lambda self: None})
    ready()


class ModelBase(type):
    def __new__(mcs, name, bases, body):
        cls = super().__new__(mcs, name, bases, body)
        cls._instances = []
        return cls

    def __call__(cls, *args):
        made = super().__call__(*args)
        cls._instances.append(made)
        return made


class Ticket(metaclass=ModelBase):
    def __init__(self, number):
        self.number = number
        self.text = bytearray(900)


def metaclass_instances():
    for number in range(4000):
        Ticket(number)
    ready()


class Singletons(type):
    made = {}  # noqa: RUF012

    def __call__(cls, *args):
        if (cls, args) not in Singletons.made:
            Singletons.made[cls, args] = super().__call__(*args)
        return Singletons.made[cls, args]


class Connection(metaclass=Singletons):
    def __init__(self, port):
        self.port = port
        self.buffer = bytearray(900)


def singletons():
    for port in range(4000):
        Connection(port)
    ready()


class Uploader(logging.Handler):
    def __init__(self, number):
        super().__init__()
        self.pending = bytearray(1500)
        self.number = number

    def emit(self, record):
        pass


def logger_handlers():
    for number in range(2000):
        logging.getLogger("shop.audit").addHandler(Uploader(number))
    ready()


request = contextvars.ContextVar("request")


def context_variables():
    def handle(number):
        request.set(Invoice(number))

    for number in range(3000):
        context = contextvars.copy_context()
        context.run(handle, number)
        shop.basket.append(context)
    ready()


spans = contextvars.ContextVar("spans")


def list_of_context():
    spans.set([])
    for number in range(3000):
        spans.get().append(Invoice(number))
    ready()


class Node:
    def __init__(self, number):
        self.parent = None
        self.children = []
        self.page = bytearray(900)


def cycles_without_collector():
    gc.disable()
    for number in range(4000):
        root, leaf = Node(number), Node(number)
        root.children.append(leaf)
        leaf.parent = root
    ready()


def queued_work():
    shop.pool = ThreadPoolExecutor(max_workers=2)
    gate = threading.Event()

    def send(invoice):
        gate.wait()

    for number in range(4000):
        shop.pool.submit(send, Invoice(number))
    ready()
    gate.set()


def unread_queue():
    for number in range(4000):
        shop.jobs.put(Invoice(number))
    ready()


def partial_handlers():
    for number in range(4000):
        shop.handlers["paid"].append(functools.partial(print, Invoice(number)))
    ready()


def bound_handlers():
    class Screen(Invoice):
        def paint(self):
            pass

    for number in range(4000):
        shop.handlers["resize"].append(Screen(number).paint)
    ready()


def suspended_generators():
    def rows(number):
        invoice = Invoice(number)
        yield invoice.number
        yield len(invoice.lines)

    shop.cursors = []
    for number in range(4000):
        cursor = rows(number)
        next(cursor)
        shop.cursors.append(cursor)
    ready()


def exit_handlers():
    for number in range(4000):
        atexit.register(Invoice(number).close)
    ready()


local = threading.local()


def thread_locals():
    def work(number):
        local.page = [bytearray(900) for _ in range(100)]
        done.set()
        gate.wait()

    gate = threading.Event()
    for number in range(30):
        done = threading.Event()
        threading.Thread(target=work, args=(number,), daemon=True).start()
        done.wait()
    ready()


SEEN = weakref.WeakKeyDictionary()


def weak_keys():
    class Page:
        pass

    for _ in range(3000):
        page = Page()
        SEEN[page] = {"page": page, "text": bytearray(900)}
    ready()


class Quote:
    __slots__ = ("number", "text")

    def __init__(self, number, text):
        self.number = number
        self.text = text


class Index:
    by_day = defaultdict(dict)  # noqa: RUF012


def nested_maps():
    for number in range(9000):
        Index.by_day[number % 90][number] = Quote(number, f"quote {number} " * 20)
    ready()


def local_of_main():
    invoices = {}
    for number in range(4000):
        invoices[number] = Invoice(number)
    ready()
    return invoices


def finalizers():
    shop.live = []

    def close(invoice):
        pass

    for number in range(4000):
        connection = Basket()
        shop.live.append(connection)
        weakref.finalize(connection, close, Invoice(number))
    ready()


def array_views():
    import numpy

    shop.samples = [numpy.random.rand(60_000)[:10] for _ in range(60)]
    ready()


def finished_tasks():
    async def fetch(number):
        return Invoice(number)

    async def main():
        shop.requests = []
        for number in range(4000):
            task = asyncio.create_task(fetch(number))
            await task
            shop.requests.append(task)
        await asyncio.to_thread(ready)

    asyncio.run(main())


class Database:
    """A connection that remembers its statements, for debugging."""

    def __init__(self):
        self.queries_log = deque()

    def execute(self, number):
        sql = f"SELECT * FROM invoice WHERE number = {number} AND state = 'open' "
        self.queries_log.append({"sql": sql + "OR paid " * 60, "time": f"{number}.0"})


connections = threading.local()


def query_log():
    connections.default = Database()
    for number in range(6000):
        connections.default.execute(number)
    ready()


class Counter:
    """A metric with a child for each combination of labels."""

    def __init__(self, *names):
        self.names = names
        self.children = {}
        self.lock = threading.Lock()

    def labels(self, *values):
        if values not in self.children:
            self.children[values] = child = Counter()
            child.labelled = values
        return self.children[values]


SEEN_TASKS = Counter("task", "key")


def metric_labels():
    for number in range(9000):
        SEEN_TASKS.labels("mail", f"2026-11-27T06:00:00.{number:06}")
    ready()


class Signal:
    """A signal whose receivers are found by a key."""

    def __init__(self):
        self.receivers = []

    def connect(self, receiver):
        self.receivers.append(((id(receiver), id(self)), receiver))


granted = Signal()


def signal_receivers():
    def view(request):
        def notify(sender):
            return request.lines

        granted.connect(notify)

    for number in range(4000):
        view(Invoice(number))
    ready()


def buffered_records():
    log = logging.getLogger("shop.orders")
    log.propagate = False
    log.setLevel(logging.DEBUG)
    log.addHandler(logging.handlers.MemoryHandler(10**6, logging.CRITICAL + 1))
    for number in range(4000):
        log.info("paid %s", Invoice(number))
    ready()


def loaded_modules():
    for number in range(40):
        module = types.ModuleType(f"job_{number}")
        module.ROWS = [Invoice(row) for row in range(100)]
        sys.modules[module.__name__] = module
    ready()


def recorded_calls():
    shop.mailer = mock.Mock()
    for number in range(800):
        shop.mailer.send(Invoice(number))
    ready()


def unread_process_queue():
    shop.exports = multiprocessing.Queue()
    for number in range(4000):
        shop.exports.put(Invoice(number))
    ready()


class Row:
    def __init__(self, number):
        self.number = number
        self.text = f"row {number} " * 60


class Session:
    """Keeps all that it has loaded, by class and key."""

    def __init__(self):
        self.identity_map = {}

    def get(self, kind, number):
        return self.identity_map.setdefault((kind, (number,)), kind(number))


class Registry:
    """A session for each thread."""

    def __init__(self):
        self.sessions = {}

    def __call__(self):
        return self.sessions.setdefault(threading.get_ident(), Session())


scoped = Registry()


def identity_map():
    for number in range(5000):
        scoped().get(Row, number)
    ready()


def kept_futures():
    pool = ThreadPoolExecutor(max_workers=2)
    shop.futures = [pool.submit(Invoice, number) for number in range(4000)]
    for future in shop.futures:
        future.result()
    ready()


class RetryError(Exception):
    def __init__(self, number):
        super().__init__(number)
        self.reply = bytearray(900)


def chained_errors():
    shop.last_error = None
    for number in range(900):
        try:
            raise RetryError(number) from shop.last_error
        except RetryError as error:
            shop.last_error = error.with_traceback(None)
    ready()


def blocked_threads():
    def serve(number):
        page = [Invoice(row) for row in range(100)]
        begun.set()
        gate.wait()
        return page, number

    gate = threading.Event()
    for number in range(40):
        begun = threading.Event()
        threading.Thread(target=serve, args=(number,), daemon=True).start()
        begun.wait()
    ready()


class Report:
    def __init__(self, number):
        self.number = number

    @functools.cached_property
    def table(self):
        return [f"{self.number} {row} " * 6 for row in range(60)]


def cached_properties():
    shop.reports = {number: Report(number) for number in range(400)}
    for report in shop.reports.values():
        len(report.table)
    ready()


def unread_branch():
    shop.replay, invoices = itertools.tee(Invoice(number) for number in range(4000))
    for invoice in invoices:
        len(invoice.lines)
    ready()


def unread_async_queue():
    async def main():
        shop.inbox = asyncio.Queue()
        for number in range(4000):
            await shop.inbox.put(Invoice(number))
        await asyncio.to_thread(ready)

    asyncio.run(main())


def exit_stack():
    shop.cleanup = contextlib.ExitStack()
    for number in range(4000):
        shop.cleanup.callback(Invoice(number).lines.clear)
    ready()


def thread_timers():
    for number in range(60):
        invoices = [Invoice(row) for row in range(number, number + 60)]
        timer = threading.Timer(3600, print, invoices)
        timer.daemon = True
        timer.start()
    ready()


def wrapped_again():
    def traced(function, note):
        @functools.wraps(function)
        def call(*args):
            return function(*args), note

        return call

    Shop.pay = lambda self: None
    for _ in range(3000):
        Shop.pay = traced(Shop.pay, bytearray(900))
    ready()


class Screen(Invoice):
    def __init__(self, number):
        super().__init__(number)
        self.on_close = None


def weak_callbacks():
    shop.watched = {}
    for number in range(4000):
        screen = Screen(number)
        screen.on_close = weakref.ref(shop, lambda _, screen=screen: screen.lines)
        shop.watched[number] = screen.on_close
    ready()


def waiting_clients():
    """Clients that each refer to what they wait for, which refers to them."""

    async def serve(number, changed):
        invoice = Invoice(number)
        async with changed:
            await changed.wait()
        return invoice

    async def main():
        shop.changed, shop.clients = asyncio.Condition(), {}
        for number in range(2500):
            client = asyncio.create_task(serve(number, shop.changed))
            shop.clients[number] = client
        await asyncio.sleep(0.3)
        await asyncio.to_thread(ready)

    asyncio.run(main())


class Subscriber:
    def __init__(self):
        self.unsent = asyncio.Queue()


def slow_subscribers():
    async def main():
        shop.subscribers = [Subscriber() for _ in range(40)]
        for number in range(3000):
            for subscriber in shop.subscribers[:2]:
                subscriber.unsent.put_nowait(Invoice(number))
        await asyncio.to_thread(ready)

    asyncio.run(main())


def parsed_rows():
    """Rows of parsed JSON, which are no objects of the program's."""
    shop.prices = {
        day: json.loads(json.dumps([{"sku": f"{day}-{i}", "price": i * 1.5,
            "stock": i * 1000, "cost": i + 0.5} for i in range(500)]))
        for day in range(20)
    }  # fmt: skip
    ready()


def loggers_of_connections():
    for number in range(6000):
        logging.getLogger(f"shop.connection.{number}")
    ready()


class Wrapper:
    """A cache of one's own, as libraries have it: a function that has a dict."""

    def __init__(self, called):
        functools.update_wrapper(self, called)
        self.cache = {}

    def __call__(self, number):
        return self.cache.setdefault(number, self.__wrapped__(number))


@Wrapper
def priced(number):
    return Invoice(number)


def wrapped_cache():
    for number in range(4000):
        priced(number)
    ready()


@functools.lru_cache(maxsize=50_000)
def shipped(number):
    return Invoice(number)


def large_cache():
    for number in range(4000):
        shipped(number)
    ready()


def kept_feed():
    feed = io.StringIO("<feed>" + "<item><price>1</price></item>" * 20_000 + "</feed>")
    events = ElementTree.iterparse(feed, events=("start", "end"))
    shop.feed = next(events)[1]
    for _ in events:
        pass
    ready()


class Recent(OrderedDict):
    """Drops the oldest entries."""

    max_entries = 2000

    def keep(self, key, value):
        self.limit = self.max_entries
        self[key] = value
        while len(self) > self.limit:
            self.popitem(last=False)


RECENT = Recent()


def full_collection():
    for number in range(6000):
        RECENT.keep(number, Invoice(number))
    ready()


class Hits(dict):
    """How often each page was asked for."""


def texts_of_requests():
    shop.hits = Hits()
    for number in range(9000):
        shop.hits[f"/search?q={number}&session={number:032}"] = 1
    ready()


def joined_iterators():
    shop.feed = iter(())
    for number in range(4000):
        shop.feed = itertools.chain(shop.feed, [Invoice(number)])
    ready()


KINDS = {
    name.replace("_", "-"): made
    for name, made in list(globals().items())
    if callable(made) and not isinstance(made, type) and name != "ready"
}

if __name__ == "__main__":
    KINDS[sys.argv[1]]()
