"""A Python program with one of each: what a test then looks for in its heap.

python sessions.py MODE PATH [--no-values]
"""

import atexit
import contextvars
import functools
import gc
import signal
import sys
import threading
import weakref
from collections import OrderedDict, deque, namedtuple

sys.path.insert(0, __file__.rsplit("tests", 1)[0] + "ingest/capture/python")

from heaproots_dump import dump

Point = namedtuple("Point", "x y")


class Session:
    kind = None

    def __init__(self, number):
        self.number = number
        self.user = "user %d" % number
        self.rows = [number, number + 1]


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left):
        self.left = left


class Hostile(type):
    """A metaclass whose everything raises."""

    def __getattribute__(cls, name):
        raise RuntimeError(name)

    def __instancecheck__(cls, other):
        raise RuntimeError("instancecheck")

    def __hash__(cls):
        raise RuntimeError("hash")

    def __eq__(cls, other):
        raise RuntimeError("eq")


RAN = []


class Nasty(metaclass=Hostile):
    def __getattribute__(self, name):
        RAN.append(name)
        raise RuntimeError(name)

    def __sizeof__(self):
        RAN.append("sizeof")
        return -1

    def __eq__(self, other):
        RAN.append("eq")
        raise RuntimeError("eq")

    __hash__ = None

    def __repr__(self):
        RAN.append("repr")
        raise RuntimeError("repr")

    def __del__(self):
        RAN.append("del")

    @property
    def __class__(self):
        RAN.append("class")
        raise RuntimeError("class")

    @property
    def __dict__(self):
        RAN.append("dict")
        raise RuntimeError("dict")


class Registry(dict):
    pass


class Stack(list):
    pass


def make(rows):
    def handler():
        return rows

    return handler


@functools.lru_cache(maxsize=None)
def render(number):
    return Session(number)


def fail():
    local = Session(-2)
    raise KeyError(local.number)


SESSIONS = {"s%d" % i: Session(i) for i in range(500)}
SLOTTED = [Slotted(Session(-1)) for _ in range(20)]
NASTY = [Nasty() for _ in range(3)]
REGISTRY = Registry(one=Session(1000))
REGISTRY.owner = "somebody"
STACK = Stack([Session(1001)])
STACK.owner = "somebody else"
POINTS = [Point(Session(1002), 2)]
HANDLER = make([Session(1003)])
QUEUE = deque([Session(1004)], maxlen=3)
ORDERED = OrderedDict(a=Session(1005))
WEAK = weakref.WeakValueDictionary(a=SESSIONS["s1"])
HUGE = 1 << 80
SECRET = "the password is swordfish"
render(1)
try:
    fail()
except KeyError as error:
    LAST_ERROR = error


class Cycle:
    def __init__(self):
        self.me = self


def lose():
    Cycle()


gc.disable()  # so that it waits for the collector
lose()


class Local(threading.local):
    def __init__(self):
        STARTED.append(threading.current_thread().name)


STARTED = []
LOCALS = {}
CURRENT = contextvars.ContextVar("current session")
OTHERS = [contextvars.ContextVar("other %d" % number) for number in range(50)]


def worker(ready, done):
    in_thread = Session(-3)
    LOCALS["plain"], LOCALS["own"] = threading.local(), Local()
    LOCALS["plain"].session = LOCALS["own"].session = Session(-5)
    ready.set()
    done.wait()
    return in_thread


def main(mode, path, values=True):
    in_main = Session(-4)
    CURRENT.set(Session(-6))
    for variable in OTHERS:
        variable.set(Session(-7))
    signal.signal(signal.SIGUSR1, functools.partial(print, Session(-8)))
    atexit.register(functools.partial(len, [None]))
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=worker, args=(ready, done), name="worker 7")
    thread.start()
    ready.wait()
    sizes = [object.__sizeof__(s) for s in SESSIONS.values()]
    try:
        found = dump(path, mode, values=values)
    finally:
        done.set()
        thread.join()
    assert sizes == [object.__sizeof__(s) for s in SESSIONS.values()]
    assert not RAN, RAN
    assert STARTED == ["worker 7"], STARTED  # none for the thread that wrote the dump
    print(found["mode"], found["objects"], in_main.number)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--no-values" not in sys.argv)
