"""Python programs that do not leak: each works, and writes a dump, three times.

python healthy.py KIND PREFIX
"""

import ast
import asyncio
import concurrent.futures
import dataclasses
import functools
import heapq
import io
import json
import os
import random
import sys
import threading
import unittest
import xml.etree.ElementTree
from collections import OrderedDict, deque
from pathlib import Path

sys.path.insert(0, __file__.rsplit("tests", 1)[0] + "ingest/capture/python")

from heaproots_dump import dump

TIMES = 3
random.seed(1)


def echoes():
    """A server and its clients."""
    loop = asyncio.new_event_loop()

    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    async def ask(port, number):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello %d\n" % number)
        assert await reader.readline() == b"HELLO %d\n" % number
        writer.close()

    async def serve():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for _ in range(10):
            await asyncio.gather(*[ask(port, number) for number in range(20)])
        server.close()
        await server.wait_closed()

    return lambda: loop.run_until_complete(serve())


@functools.lru_cache(maxsize=2000)
def squares(number):
    return {"number": number, "squares": [number * number] * 5}


RECENT = OrderedDict()


def caches():
    """Caches that have a limit, and have reached it."""

    def work():
        for _ in range(20000):
            key = random.randrange(5000)
            squares(key)
            RECENT[key] = [key] * 3
            RECENT.move_to_end(key)
            if len(RECENT) > 1000:
                RECENT.popitem(last=False)

    work()
    return work


def parsers():
    """Trees that are made and dropped."""
    files = sorted(Path(os.__file__).parent.glob("[a-d]*.py"))[:10]

    def work():
        for path in files:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert sum(1 for _ in ast.walk(tree))
        text = "<a>" + '<b c="1">x</b>' * 5000 + "</a>"
        assert len(xml.etree.ElementTree.fromstring(text).findall("b")) == 5000

    return work


@dataclasses.dataclass(order=True)
class Event:
    time: float
    who: int = dataclasses.field(compare=False, default=0)


AGENTS = {n: {"place": (0, 0), "history": deque(maxlen=20)} for n in range(1000)}


def simulation():
    """A heap of events, and histories that have a limit."""
    events = [Event(random.random(), number) for number in range(1000)]
    heapq.heapify(events)

    def work():
        for _ in range(40000):
            event = heapq.heappop(events)
            agent = AGENTS[event.who]
            agent["history"].append(event.time)
            agent["place"] = (event.time, event.who)
            heapq.heappush(events, Event(event.time + random.random(), event.who))

    work()
    return work


LOCAL = threading.local()


def threads():
    """A pool whose threads have buffers of their own."""
    pool = concurrent.futures.ThreadPoolExecutor(8)
    all_are_there = threading.Barrier(8)

    def job(number):
        if not hasattr(LOCAL, "buffer"):
            LOCAL.buffer = bytearray(1 << 16)
        return json.loads(json.dumps({"number": number, "more": list(range(50))}))

    def first(number):
        all_are_there.wait()
        return job(number)

    def work():
        for number, found in enumerate(list(pool.map(job, range(2000)))):
            assert found["number"] == number

    assert len(list(pool.map(first, range(8)))) == 8
    return work


def suite():
    """Tests that make what they need."""

    class Tests(unittest.TestCase):
        def setUp(self):
            self.data = {str(number): [number] * 5 for number in range(100)}

    for number in range(200):

        def test(self, number=number):
            assert self.data[str(number % 100)] == [number % 100] * 5

        setattr(Tests, "test_%d" % number, test)

    def work():
        tests = unittest.defaultTestLoader.loadTestsFromTestCase(Tests)
        assert unittest.TextTestRunner(stream=io.StringIO()).run(tests).wasSuccessful()

    return work


if __name__ == "__main__":
    work = {f.__name__: f for f in (
        echoes, caches, parsers, simulation, threads, suite,
    )}[sys.argv[1]]()  # fmt: skip
    for number in range(TIMES):
        work()
        dump("%s-%d.hrpy" % (sys.argv[2], number), "fork")
