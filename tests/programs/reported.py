"""Python programs that leak as public reports tell: python reported.py KIND [DUMP].

Each prints "ready" and waits, or dumps itself. The truth of each kind is in
reported.toml.
"""

import asyncio
import atexit
import contextvars
import functools
import gc
import logging
import queue
import sys
import threading
import weakref
from collections import OrderedDict, UserDict, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor


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
        atexit.register(len, Invoice(number).lines)
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


KINDS = {
    name.replace("_", "-"): made
    for name, made in list(globals().items())
    if callable(made) and not isinstance(made, type) and name != "ready"
}

if __name__ == "__main__":
    KINDS[sys.argv[1]]()
