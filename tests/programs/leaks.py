"""Ways in which Python programs leak: each keeps 4,000 sessions.

python leaks.py KIND PATH
"""

import asyncio
import atexit
import contextvars
import functools
import logging
import signal
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict, deque

sys.path.insert(0, __file__.rsplit("tests", 1)[0] + "ingest/capture/python")

from heaproots_dump import dump

COUNT = 4000


class Session:
    def __init__(self, number):
        self.number = number
        self.payload = "payload of session %d" % number
        self.rows = [number] * 10


def sessions():
    return [Session(number) for number in range(COUNT)]


KEPT = None
LAST_ERROR = None


def module_dict():
    global SESSIONS
    SESSIONS = {"s%d" % s.number: s for s in sessions()}


def module_list():
    global HISTORY
    HISTORY = sessions()


def module_set():
    global SEEN
    SEEN = set(sessions())


def module_deque():
    global RECENT
    RECENT = deque(sessions())


def ordered():
    global ORDERED
    ORDERED = OrderedDict((s.number, s) for s in sessions())


def by_default():
    global GROUPS
    GROUPS = defaultdict(list)
    for s in sessions():
        GROUPS[s.number % 100].append(s)


class Registry:
    instances = []  # noqa: RUF012

    def __init__(self):
        self.members = {}


def class_attribute():
    Registry.instances.extend(sessions())


def instance_attribute():
    global REGISTRY
    REGISTRY = Registry()
    REGISTRY.members.update((s.number, s) for s in sessions())


@functools.lru_cache(maxsize=None)
def render(number):
    return Session(number)


def lru_cache():
    for number in range(COUNT):
        render(number)


def make(rows):
    def handler():
        return rows

    return handler


def closure():
    global HANDLER
    HANDLER = make(sessions())


def accumulate(item, into=[]):  # noqa: B006
    into.append(item)


def default_argument():
    for s in sessions():
        accumulate(s)


def fail():
    local = sessions()
    raise KeyError(len(local))


def traceback():
    global LAST_ERROR
    try:
        fail()
    except KeyError as error:
        LAST_ERROR = error


class Listener:
    def __init__(self, session):
        self.session = session

    def on_event(self):
        return self.session


def bound_methods():
    global LISTENERS
    LISTENERS = [Listener(s).on_event for s in sessions()]


def lambdas():
    global CALLBACKS
    CALLBACKS = [lambda s=s: s for s in sessions()]


class Handler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


def log_records():
    logger = logging.getLogger("app")
    logger.propagate = False
    logger.addHandler(Handler())
    for s in sessions():
        logger.warning("session %s", s)


def thread_local():
    global LOCAL
    LOCAL = threading.local()
    LOCAL.sessions = sessions()


def context_variable():
    global CURRENT
    CURRENT = contextvars.ContextVar("current")
    CURRENT.set(sessions())


def suspended():
    held = sessions()
    yield len(held)
    yield held


def generator():
    global PENDING
    PENDING = suspended()
    next(PENDING)


async def never(rows):
    await asyncio.Future()
    return rows


def task():
    async def main():
        global TASK
        TASK = asyncio.ensure_future(never(sessions()))
        await asyncio.sleep(0)

    global LOOP
    LOOP = asyncio.new_event_loop()
    LOOP.run_until_complete(main())


def at_exit():
    atexit.register(len, sessions())


def signal_handler():
    rows = sessions()
    signal.signal(signal.SIGUSR1, lambda *_: rows)


def c_reference():
    import ctypes

    rows = sessions()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(rows))


def weak_keys():
    global BY_OWNER
    BY_OWNER = weakref.WeakKeyDictionary()
    BY_OWNER[Registry] = sessions()


class Node:
    def __init__(self, session, after):
        self.session, self.after = session, after


def linked():
    global HEAD
    HEAD = None
    for s in sessions():
        HEAD = Node(s, HEAD)


def partials():
    global JOBS
    JOBS = [functools.partial(print, s) for s in sessions()]


def running_local():
    return sessions()


KINDS = [
    module_dict, module_list, module_set, module_deque, ordered, by_default,
    class_attribute, instance_attribute, lru_cache, closure, default_argument,
    traceback, bound_methods, lambdas, log_records, thread_local, context_variable,
    generator, task, at_exit, signal_handler, c_reference, weak_keys, linked, partials,
    running_local,
]  # fmt: skip


def main(kind, path):
    kept = globals()[kind]()
    dump(path, "fork")
    del kept


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print(" ".join(one.__name__ for one in KINDS))
    else:
        main(sys.argv[1], sys.argv[2])
