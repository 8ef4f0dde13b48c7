"""A program in the state that its argument names, which notices what is done to it.

It says ``ready``, and at SIGUSR1 ``right`` and ends, if all that it computed and got
from the system was right. Every other line that it prints says what was not. It runs on
each CPython from 3.8 on.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time


class Kept:
    pass


KEPT = [Kept() for _ in range(1000)]
libc = ctypes.CDLL(None, use_errno=True)
write, end = os.write, os._exit  # not what greenlets put in their place


def say(*words):
    write(1, (" ".join(map(str, words)) + "\n").encode())


def told(number, frame):
    say("right" if sum(type(one) is Kept for one in KEPT) == 1000 else "lost objects")
    end(0)


def expect(is_so, *words):
    if not is_so:
        say(*words)


def compute():
    pairs = [(number, number + 1) for number in range(500)]
    expect(sum(b - a for a, b in pairs) == 500, "integers")
    expect(sum(float(i) * 1.5 for i in range(40)) == 1170.0, "floats")


def sleeping():
    say("ready")
    while True:
        begin = time.monotonic()
        time.sleep(0.3)
        expect(0.3 <= time.monotonic() - begin, "slept too short")


def asleep():
    say("ready")
    time.sleep(1e6)
    say("sleep ended")


def busy():
    say("ready")
    while True:
        compute()


def threads():
    lock, counts = threading.Lock(), [0]

    def work():
        while True:
            compute()
            with lock:
                before = counts[0]
                counts[0] = before + 1
                expect(counts[0] == before + 1, "a lock that two threads had")

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    say("ready")
    work()


def locked():
    lock = threading.Lock()
    lock.acquire()
    say("ready")
    lock.acquire()
    say("a lock that was not free")


def joining():
    thread = threading.Thread(target=busy)
    thread.start()
    thread.join()


def polling():
    reading, _ = os.pipe()
    poll = select.epoll()
    poll.register(reading)
    say("ready")
    while True:
        expect(poll.poll(100) == [], "an event that was none")


def forking():
    say("ready")
    while True:
        child = os.fork()
        if child == 0:
            end(3)
        expect(os.waitpid(child, 0) == (child, 3 << 8), "another child")


def running():
    say("ready")
    while True:
        done = subprocess.run([sys.executable, "-S", "-c", "print(7)"], stdout=-1)
        expect((done.returncode, done.stdout) == (0, b"7\n"), done)


def reaping():
    """Whatever child there is, ``os.wait`` finds it."""
    if os.fork() == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        time.sleep(1e6)
    say("ready")
    while True:
        say("a child", os.wait())


def children():
    def ended(number, frame):
        say("SIGCHLD")

    signal.signal(signal.SIGCHLD, ended)
    asleep()


def alarmed():
    """What a handler raises reaches the line that it interrupts, each time."""

    class Alarm(Exception):
        pass

    raised = [0]

    def ring(number, frame):
        raised[0] += 1
        raise Alarm

    signal.signal(signal.SIGALRM, ring)
    say("ready")
    caught = 0
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            time.sleep(5)
            say("an alarm that was lost")
        except Alarm:
            caught += 1
        expect(caught == raised[0], "raised", raised[0], "caught", caught)


def traced():
    def trace(frame, event, argument):
        if frame.f_code.co_filename != __file__:
            say("traced", frame.f_code)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    begun = time.monotonic()
    say("ready")
    while True:
        expect(time.monotonic() >= begun, "time")


def masked():
    """As long as ``ppoll`` lasts, only SIGTERM is blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    signals = (ctypes.c_ulong * 16)(1 << (signal.SIGTERM - 1))
    say("ready")
    libc.ppoll(None, 0, None, ctypes.byref(signals))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    expect(blocked == {signal.SIGHUP}, "blocked", blocked)


def in_c():
    """``sleep`` of the C library returns what is left when a signal ends it."""
    say("ready")
    left = libc.sleep(1000)
    say("sleep returned", left)


def sigwaiting():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    say("ready")
    told(signal.sigwait([signal.SIGUSR1]), None)


def writing():
    path = "/tmp/states-%d" % os.getpid()
    with open(path, "w+") as out:
        os.unlink(path)
        say("ready")
        while True:
            out.seek(0)
            out.write("line\n" * 2000)
            out.seek(0)
            expect(out.read() == "line\n" * 2000, "a file")


def sockets():
    """Who is at the other end sees at once that a connection is closed."""
    server = socket.create_server(("127.0.0.1", 0))
    say("ready")
    while True:
        with socket.create_connection(server.getsockname()) as here:
            there, _ = server.accept()
            there.close()
            begin = time.monotonic()
            expect(here.recv(1) == b"", "a byte")
            took = time.monotonic() - begin
            expect(took < 3, "closed after %.1f s" % took)


def deep():
    sys.setrecursionlimit(10**6)
    threading.stack_size(512 << 20)

    def down(left):
        if left:
            return 1 + down(left - 1)
        say("ready")
        while True:
            time.sleep(0.01)

    thread = threading.Thread(target=down, args=(10000,))
    thread.start()
    thread.join()


def frozen():
    import gc

    gc.freeze()
    gc.disable()
    say("ready")
    while True:
        compute()
        expect(not gc.isenabled(), "collects")
        expect(gc.get_freeze_count() > 1000, "unfrozen")


def full():
    """No file can be opened."""
    import resource

    say("ready")
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", 0))
    except OSError:
        pass
    while True:
        compute()
        time.sleep(0.001)
        expect(all(os.fstat(one).st_rdev == 259 for one in taken), "another file")


def hooked():
    """What a program puts in the place of functions, and at forks, is not called."""
    import builtins

    for name in ("before", "after_in_parent", "after_in_child"):
        os.register_at_fork(**{name: lambda name=name: say("at fork", name)})
    for name in ("fork", "waitpid", "_exit", "open", "close", "rename"):
        setattr(os, name, lambda *given, name=name: say("os", name))
    builtins.open = lambda *given: say("open", given)
    sys.excepthook = lambda *given: say("excepthook", given)
    asleep()


def asynchronous(run=None):
    import asyncio

    async def echo(reader, writer):
        while True:
            writer.write(await reader.read(100))
            await writer.drain()

    async def child():
        while True:
            words = (sys.executable, "-S", "-c", "import sys; sys.exit(3)")
            one = await asyncio.create_subprocess_exec(*words)
            code = await one.wait()
            expect(code == 3, "a child ended with", code)

    async def client(place):
        reader, writer = await asyncio.open_connection(*place)
        number = 0
        while True:
            number += 1
            writer.write(b"%09d" % number)
            expect(await reader.readexactly(9) == b"%09d" % number, "an echo")

    async def main():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        place = server.sockets[0].getsockname()
        works = asyncio.gather(child(), *(client(place) for _ in range(5)))
        await asyncio.sleep(0.3)
        say("ready")
        await works

    (run or asyncio.run)(main())


def uvloop():
    import asyncio

    import uvloop

    uvloop.install()
    asynchronous(asyncio.run)


def gevent_idle():
    from gevent import monkey

    monkey.patch_all()
    import gevent

    def waits():
        while True:
            time.sleep(0.01)

    for _ in range(10):
        gevent.spawn(waits)
    say("ready")
    while True:
        time.sleep(30)


def gevent_busy():
    """No greenlet runs where there is no switch."""
    from gevent import monkey

    monkey.patch_all()
    import gevent

    inside = [False]

    def waits():
        while True:
            expect(not inside[0], "switched inside")
            time.sleep(0.001)

    for _ in range(10):
        gevent.spawn(waits)
    say("ready")
    while True:
        inside[0] = True
        for _ in range(20):
            compute()
        inside[0] = False
        time.sleep(0)


def eventlet():
    import eventlet

    eventlet.monkey_patch()

    def waits():
        while True:
            time.sleep(0.01)

    for _ in range(10):
        eventlet.spawn(waits)
    say("ready")
    while True:
        time.sleep(30)


signal.signal(signal.SIGUSR1, told)
globals()[sys.argv[1]]()
