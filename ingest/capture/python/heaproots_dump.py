"""Writes the heap of a running CPython program into a file that ``ingest`` reads.

    from heaproots_dump import dump, install

    dump("app.hrpy")                                # now
    install(signal.SIGUSR2, "/tmp/app-{n}.hrpy")    # at each signal

One file without dependencies, for CPython 3.8 and later. It runs no code of the
program: it reads no attribute through the program's classes, and calls no ``__repr__``,
``__sizeof__`` or ``__eq__`` of them. It follows no weak reference, and changes neither
objects nor settings for good.

``mode="fork"`` copies the process and writes from the copy, so that the program is
paused only for the copy; that needs as much free memory as the heap has. ``"stop"``
writes in the program itself, which waits. While it writes, other threads may run, so
with several threads such a dump is not of one moment. ``"auto"`` forks where there is
memory enough.

The format, ``.hrpy``, is described in ``ingest/readers/README.md``.
"""

import gc
import sys
import time
from array import array
from itertools import chain, filterfalse, islice, repeat
from itertools import compress as _chosen

try:  # what a program may have replaced in `os` is not called
    import posix
except ImportError:
    import nt as posix

if __name__ != "__heaproots__":
    # `ingest capture python` lists all objects before it compiles this text, so that
    # nothing of it is in the dump.
    _BEFORE, _ASKED = [], None

__all__ = ["DumpRefused", "dump", "install"]

VERSION = "1.0"
_MOST_FRAMES = 100000
_SMALL = 50
_TRACED = set()  # ids of frames of functions that are traced just now
_OWN_REFERENCES = 3  # to a snapshot of locals: its frame, a variable, an argument
_AT_A_TIME = 32768  # objects that are let go
_BEGIN_SECONDS = 5.0

# Flags of a type in CPython.
_INLINE_VALUES, _MANAGED_DICT, _HEAP_TYPE, _HAVE_GC = 1 << 2, 1 << 4, 1 << 9, 1 << 14
_LIST, _TUPLE, _DICT, _TYPE_OBJECT = 1 << 25, 1 << 26, 1 << 29, 1 << 31

_PY = sys.version_info[:2]

_refcount, _referents, _tracked = sys.getrefcount, gc.get_referents, gc.is_tracked
_attribute = object.__getattribute__
_missing = object()


class DumpRefused(Exception):
    """No dump can be written here; the message says why."""


_Module, _Builtin = type(sys), type(len)

_TYPE = type.__dict__
_flags_of = _TYPE["__flags__"].__get__
_module_dict = _Module.__dict__["__dict__"].__get__


def _is_text(o):
    return type(o) is str


def _quoted(text):
    """A text as JSON; lone surrogates stay as they are spelled."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"' + text + '"'
    units = text.encode("utf-16-le", "surrogatepass")
    out = []
    for at in range(0, len(units), 2):
        unit = units[at] | units[at + 1] << 8
        plain = 32 <= unit < 127 and unit not in (34, 92)
        out.append(chr(unit) if plain else "\\u%04x" % unit)
    return '"' + "".join(out) + '"'


def _json(value):
    """JSON; the module is not imported into a program that does not have it."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is str:
        return _quoted(value)
    if type(value) is dict:
        items = (_quoted(k) + ":" + _json(v) for k, v in value.items())
        return "{" + ",".join(items) + "}"
    if type(value) in (list, tuple):
        return "[" + ",".join(map(_json, value)) + "]"
    return repr(value)


def _code_name(o):
    name = o.co_qualname if _PY >= (3, 11) else o.co_name
    return "%s (%s:%d)" % (name, o.co_filename, o.co_firstlineno)


def _value_or_missing(get, *arguments):
    try:
        return get(*arguments)
    except Exception:
        return _missing


def _threads(kept):
    """The stacks of all threads, with the ids of what their locals refer to.

    Args:
        kept: Filled with what the locals refer to.
    """
    names = {}
    module = sys.modules.get("threading")
    if type(module) is _Module:
        active = _module_dict(module).get("_active")
        for ident, thread in list(active.items()) if type(active) is dict else ():
            name = _value_or_missing(_attribute, thread, "_name")
            if _is_text(name):
                names[ident] = name
    _TRACED.clear()
    threads, this = [], id(sys._getframe())
    for ident, frame in list(sys._current_frames().items()):
        frames, above = [], []
        if id(frame) == this:
            if _ASKED:
                continue  # it was made to write this
            frame = _skipped(frame)
        while frame is not None and len(frames) < _MOST_FRAMES:
            code = frame.f_code
            frames.append(
                {
                    "function": _code_name(code).rsplit(" (", 1)[0],
                    "file": code.co_filename,
                    "line": frame.f_lineno or 0,
                    "locals": _locals(frame, kept, above),
                }
            )
            frame = frame.f_back
        threads.append({"ident": ident, "name": names.get(ident, ""), "frames": frames})
    frame = None  # it may be the one of this function
    return threads


def _own_frames(frame):
    """The frames of this text, and of the line that runs it if one does."""
    mine, found = _own_frames.__globals__, []
    is_injected = __name__ == "__heaproots__"
    while frame is not None and (
        frame.f_globals is mine
        or (is_injected and frame.f_code.co_filename == "<heaproots>")
    ):
        found.append(frame)
        frame = frame.f_back
    if is_injected and frame is not None:
        found.append(frame)
    return found


def _skipped(frame):
    """The frame below those of this text."""
    own = _own_frames(frame)
    return own[-1].f_back if own else frame


def _own_namespaces():
    """The namespaces of this text, if it is injected: no module refers to them."""
    if __name__ != "__heaproots__":
        return []
    spaces = [frame.f_globals for frame in _own_frames(sys._getframe())]
    names = (None, "__heaproots__")
    return [id(space) for space in spaces if space.get("__name__") in names]


def _locals(frame, kept, above):
    """Names and ids of the locals of a function; none of a module or class body.

    Args:
        frame: Its frame.
        kept: Filled with what the locals refer to.
        above: The values of the function that it has called. One that traces or
            profiles it has its frame as an argument.
    """
    given = [one for one in above if type(one) is tuple]
    if any(one is frame for one in chain(above, *given)):
        _TRACED.add(id(frame))
    pairs = _local_pairs(frame)
    above[:] = [value for _, value in pairs]
    kept += above
    return [[name, id(value)] for name, value in pairs]


def _local_pairs(frame):
    if not frame.f_code.co_flags & 1:  # its locals are a namespace that is found
        return []
    space = frame.f_locals
    found = [pair for pair in list(space.items()) if _is_text(pair[0])]
    is_ours = id(frame) not in _TRACED and sys.getrefcount(space) <= _OWN_REFERENCES
    if _PY < (3, 13) and is_ours:
        # A snapshot, which would keep what the function no longer refers to. One that
        # the program has got from ``locals()`` is the program's; and the variables of a
        # function that is traced are set from it when the tracing one returns.
        space.clear()
    return found


def _locals_of_threads():
    """What keeps the dicts of each ``threading.local`` in a copy of the process.

    A copy has one thread. When those of the others are cleared, so are their dicts in
    all locals, unless something refers to the objects by which these are found there.
    Locals are looked for in variables of modules, and one step from there.
    """
    base, weak = _of_module("_thread", "_local"), _of_module("_weakref", "ref")
    if type(base) is not type:
        return []
    kinds, todo = set(), [base]
    while todo:
        kind = todo.pop()
        if id(kind) not in kinds:
            kinds.add(id(kind))
            todo += _TYPE["__subclasses__"](kind)
    found, near = [], {}
    told = dict.fromkeys(kinds, found)  # of each type, where its objects go
    for module in list(sys.modules.values()):
        variables = _module_dict(module).values() if type(module) is _Module else ()
        for o in list(variables):
            k = id(type(o))
            into = told.get(k, _missing)
            if into is _missing:
                flags = _flags_of(type(o)) & (_HEAP_TYPE | _TYPE_OBJECT)
                is_near = type(o) is dict or flags == _HEAP_TYPE
                into = told[k] = near if is_near else None
            if into is found:
                found.append(o)
            elif into is not None:
                near[id(o)] = o
    for o in near.values():
        found += [v for v in _near(o) if id(type(v)) in kinds]
    # The keys of the dicts, or what a set has; some of them weak references.
    tables = filter(_is_table, chain.from_iterable(map(_referents, found)))
    keys = chain.from_iterable(map(list, tables))
    return [key() if type(key) is weak else key for key in keys]


def _is_table(o):
    return type(o) is dict or type(o) is set


def _near(o):
    """The targets of a small dict, or of an object and its dict."""
    if type(o) is dict:
        return list(o.values()) if len(o) < _SMALL else []
    found = _referents(o)
    if len(found) > _SMALL:
        return []
    for d in filter(_is_dict, found[:]):
        found += list(d.values()) if len(d) < _SMALL else []
    return found


def _of_module(name, variable):
    module = sys.modules.get(name)
    return _module_dict(module).get(variable) if type(module) is _Module else None


def _is_dict(o):
    return type(o) is dict


def _handlers(kept):
    """The handlers of signals, which C holds: what each is, and its id."""
    found, ask = [], _of_module("_signal", "getsignal")
    if type(ask) is not _Builtin:
        return found
    for number in range(1, 65):
        try:
            handler = ask(number)
        except Exception:  # there is no such signal
            continue
        if handler is not None and type(handler) is not int:
            found.append(["handler of signal %d" % number, id(handler)])
            kept.append(handler)
    return found


class _Compared:
    """Equal to nothing; keeps the objects it is compared with."""

    __hash__ = None

    def __init__(self, found):
        self.found = found

    def __eq__(self, other):
        self.found.append(other)
        return False


def _at_exit(kept):
    """Functions called at exit, which C holds: what each is, and its id.

    To unregister a function, it is compared with each that is registered.
    """
    found, unregister = [], _of_module("atexit", "unregister")
    if type(unregister) is _Builtin:
        unregister(_Compared(found))
    kept += found
    return [["callback of atexit", id(o)] for o in found]


def _modules():
    rows = []
    for name, module in list(sys.modules.items()):
        if not _is_text(name):
            continue
        space = _module_dict(module) if type(module) is _Module else None
        rows.append([name, id(module), id(space) if type(space) is dict else 0])
    return rows


class _Moment:
    """What is read before a copy is made: objects, stacks, modules."""

    def __init__(self, is_copy):
        self.started, self.pid = time.time(), posix.getpid()
        self.memory, self.collects = _memory(), True
        # In a copy of several threads, what they held goes away, unless something here
        # holds it. One of a single thread lists its objects by itself.
        self.lists_later = is_copy and not _BEFORE and _is_alone()
        self.objects = _BEFORE
        if not _BEFORE and not self.lists_later:
            self.objects = gc.get_objects()
        self.kept = []
        self.threads = _threads(self.kept)
        self.modules = _modules()
        self.held = _handlers(self.kept)
        if is_copy or not _ASKED:  # a comparison may be the program's own
            self.held += _at_exit(self.kept)
        several = is_copy and not _ASKED and len(self.threads) > 1
        self.of_threads = _locals_of_threads() if several else []
        self.is_frozen = bool(gc.get_freeze_count())
        self.is_copy = is_copy
        # Of objects by type; in a copy those that are written are never freed, for that
        # would run the program's code.
        self.buckets, self.written = {}, []

    def list_in_copy(self):
        """List what is not listed yet."""
        if self.lists_later:
            if self.is_frozen:
                gc.unfreeze()
            self.objects = gc.get_objects()
        elif self.is_frozen:
            before = set(map(id, gc.get_objects()))
            gc.unfreeze()
            for o in gc.get_objects():  # a comprehension would be a function among them
                if id(o) not in before and o is not before:
                    self.objects.append(o)

    def hidden(self):
        """Ids of listed objects that this text made."""
        found = {id(self), id(vars(self)), id(self.objects), id(self.kept)}
        found |= {id(_BEFORE), id(self.of_threads), id(self.buckets), id(self.written)}
        found.add(id(self.memory))
        found.update(_own_namespaces())
        todo = [self.threads, self.modules, self.held]
        while todo:
            o = todo.pop()
            found.add(id(o))
            for part in o.values() if type(o) is dict else o:
                if type(part) is dict or type(part) is list:
                    todo.append(part)
        return found


def _is_alone():
    """Whether the process has only one thread, counting threads without Python."""
    try:
        return len(posix.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _text_of(path):
    """A small file of the kernel; the program may have replaced `open`."""
    fd = posix.open(path, posix.O_RDONLY)
    try:
        return posix.read(fd, 1 << 16).decode("ascii", "replace")
    finally:
        posix.close(fd)


def _free_bytes():
    """Memory that a copy may take: of the system, and of the control group."""
    free = None
    try:
        for line in _text_of("/proc/meminfo").splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) << 10
        group = "/"
        for line in _text_of("/proc/self/cgroup").splitlines():
            if line.startswith("0::"):
                group = line.strip()[3:]
        for base in ("/sys/fs/cgroup" + group, "/sys/fs/cgroup"):
            try:
                most = _text_of(base + "/memory.max").strip()
                used = int(_text_of(base + "/memory.current"))
                left = int(most) - used if most != "max" else None
            except (OSError, ValueError):
                continue
            if left is not None:
                free = left if free is None else min(free, left)
            break
    except (OSError, ValueError):
        pass
    return free


def _pages_bytes(field):
    """Bytes of memory: 0 for all that has addresses, 1 for what is resident."""
    try:
        pages = int(_text_of("/proc/self/statm").split()[field])
        return pages * posix.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _memory():
    """Bytes of memory by kind: resident in all, of no file, and swapped out."""
    names = {"VmRSS": "resident", "RssAnon": "anonymous", "VmSwap": "swapped"}
    found = {}
    try:
        for line in _text_of("/proc/self/status").splitlines():
            name, _, rest = line.partition(":")
            if name in names:
                found[names[name]] = int(rest.split()[0]) << 10
    except (OSError, ValueError):
        pass
    return found


def _allocators():
    """Bytes that allocators have from the system, in use and free; only in a copy.

    CPython's own tells the standard error; the C library's has been asked before.
    """
    found, names = {}, {"# bytes in allocated blocks": "blocks"}
    ask, create = _of_module("sys", "_debugmallocstats"), _of_posix("memfd_create")
    try:
        if type(ask) is _Builtin and create is not None:
            told, before = create("heaproots"), posix.dup(2)
            posix.dup2(told, 2)
            ask()
            posix.dup2(before, 2)
            text = posix.pread(told, 1 << 16, 0).decode("ascii", "replace")
            for line in text.splitlines():
                name, _, number = line.rpartition("=")
                is_sum = name.rstrip().endswith("bytes/arena")
                name = "arenas" if is_sum else names.get(name.strip())
                if name:
                    found[name] = int(number.replace(",", ""))
        at = _ASKED.get("malloc_at") if _ASKED else 0
        if at:  # a struct mallinfo2
            data = posix.pread(posix.open("/proc/self/mem", posix.O_RDONLY), 80, at)
            words = memoryview(data).cast("N").tolist()
            found["malloc"] = words[0] + words[4]
            found["malloc_free"] = words[8]
    except (OSError, ValueError):
        pass
    return found


def _of_posix(name):
    return vars(posix).get(name)


def _mode(mode):
    if mode not in ("auto", "fork", "stop"):
        raise ValueError("mode is 'auto', 'fork' or 'stop', not %r" % (mode,))
    if mode != "auto":
        return mode
    if _interpreters() > 1:  # a copy would not run
        return "stop"
    if sys.platform != "linux":  # elsewhere a copied process may not even write
        return "stop"
    free, needed = _free_bytes(), _pages_bytes(1)
    if free is None or needed is None or free < needed + (64 << 20):
        return "stop"
    return "fork"


def _check():
    if sys.implementation.name != "cpython":
        raise DumpRefused("only the heap of CPython can be dumped; PyPy has its own")
    is_locked = getattr(sys, "_is_gil_enabled", None)
    if is_locked is not None and not is_locked():
        raise DumpRefused(
            "a free-threaded Python cannot be dumped; start it with -X gil=1"
        )
    if not hasattr(sys, "getrefcount") or not hasattr(gc, "get_objects"):
        raise DumpRefused("this Python does not tell its objects")


def dump(path, mode="auto", *, values=True, compress=None, wait=True):
    """Write the heap of this program to ``path``, which appears when it is whole.

    Args:
        path: Path of the file, usually ``NAME.hrpy`` or ``NAME.hrpy.gz``.
        mode: ``fork``, ``stop``, or ``auto``.
        values: Whether to write the contents of strings and numbers. Names in the
            program's code are always written.
        compress: Whether to compress with gzip; ``None`` if ``path`` ends in ``.gz``.
        wait: Whether to return only when the file is there, if another process writes.

    Returns:
        ``mode``, ``pause_seconds`` for which the program stood still, ``interpreters``
        (of several, only this one is in the dump; 0 if that is not known), and unless
        it is still being written ``objects``, ``references`` and ``bytes``.

    Raises:
        DumpRefused: This Python cannot be dumped, or the copy of it has failed.
        OSError: The file cannot be written.
    """
    _check()
    path = posix.fspath(path)
    if compress is None:
        compress = path.endswith(".gz")
    mode = _mode(mode)
    partial = "%s.%d.part" % (path, posix.getpid())
    began = time.perf_counter()
    was_enabled = gc.isenabled()
    gc.disable()  # a collection would run the program's finalizers
    moment = None
    try:
        moment = _Moment(mode == "fork")
        moment.collects = was_enabled
        fd = _opened(partial)
        try:
            if mode == "fork":
                found = _forked(moment, fd, partial, path, values, compress, wait)
                pause = found.pop("until", time.perf_counter()) - began
            else:
                found = _write(
                    moment, fd, values=values, compress=compress, mode="stop"
                )
                posix.rename(partial, path)
                pause = time.perf_counter() - began
        except BaseException:
            _remove(partial)
            raise
        finally:
            posix.close(fd)
    finally:
        # It is among its own objects: garbage that would hold all of them until the
        # next collection, and be in the next dump.
        _let_go(_BEFORE)
        if moment is not None:
            _let_go(moment.objects)
            del moment.kept[:], moment.of_threads[:]
            moment.buckets.clear()
        if was_enabled:
            gc.enable()
    return dict(found, mode=mode, pause_seconds=pause, interpreters=_interpreters())


def _opened(path):
    """A new file, which only this user can read."""
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL
    return posix.open(path, flags | getattr(posix, "O_CLOEXEC", 0), 0o600)


def _let_go(objects):
    """Empty a list of all objects, some at a time, between which other threads can run.

    It writes to the counts of all: pages that a copy of the process shares are copied.
    """
    while len(objects) > _AT_A_TIME:
        del objects[-_AT_A_TIME:]
    del objects[:]


def _interpreters():
    """Number of interpreters, if the program has loaded a module that tells it."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        module = sys.modules.get(name)
        if type(module) is _Module:
            list_all = _module_dict(module).get("list_all")
            if type(list_all) is _Builtin:
                try:
                    return len(list_all())
                except Exception:
                    pass
    return 0


def _remove(path):
    try:
        posix.unlink(path)
    except OSError:
        pass


def _forked(moment, fd, partial, path, values, compress, wait):
    """Write from a copy of this process.

    The copy ends by `_exit`, so that no handler of the program runs in it.
    """
    read_end, write_end = posix.pipe()
    child = posix.fork()
    if child == 0:
        try:
            posix.write(write_end, b"+")
            posix.close(read_end)
            # Not waited for: another copy writes, which the program never sees.
            if not wait and posix.fork():
                posix._exit(0)
            told = _copied(moment, fd, partial, path, values, compress)
            posix.write(write_end, told.encode("utf-8", "replace")[:4000])
        except BaseException:
            pass
        finally:
            posix._exit(0)
    posix.close(write_end)
    del moment.kept[:]
    try:
        if not _has_begun(read_end):
            posix.kill(child, 9)
            posix.waitpid(child, 0)
            raise DumpRefused("no copy of this process can run; use mode='stop'")
        until = time.perf_counter()
        if not wait:
            posix.waitpid(child, 0)
            return {"until": until}
        told = b""
        while True:
            piece = posix.read(read_end, 4096)
            if not piece:
                break
            told += piece
    except ChildProcessError:  # the program ignores its children
        return {}
    finally:
        posix.close(read_end)
    try:
        posix.waitpid(child, 0)
    except ChildProcessError:
        pass
    text = told.decode("utf-8", "replace")
    if not text.startswith("ok "):
        raise DumpRefused(text or "the copy of the process has ended; use mode='stop'")
    keys = ("objects", "references", "bytes")
    return dict(zip(keys, map(int, text.split()[1:])), until=until)


def _has_begun(read_end):
    """Whether a copy of this process says that it runs.

    Some stop in what the program does after the copying. With other interpreters in the
    process, the copy waits for itself or is ended.
    """
    until = time.perf_counter() + _BEGIN_SECONDS
    posix.set_blocking(read_end, False)
    try:
        while time.perf_counter() < until:
            try:
                return posix.read(read_end, 1) == b"+"
            except BlockingIOError:
                posix.sched_yield()
        return False
    finally:
        posix.set_blocking(read_end, True)


def _copied(moment, fd, partial, path, values, compress):
    try:
        moment.list_in_copy()  # before anything is made that it could find
        footer = _write(moment, fd, values=values, compress=compress, mode="fork")
        posix.rename(partial, path)
    except BaseException as error:
        _remove(partial)
        return "%s: %s" % (type(error).__name__, error)
    return "ok %d %d %d" % (footer["objects"], footer["references"], footer["bytes"])


def install(signal_number, pattern, mode="auto", *, values=True):
    """Write a dump whenever a signal arrives; call it in the main thread.

    Args:
        signal_number: Such as `signal.SIGUSR2`.
        pattern: Path of the files. ``{n}`` is their number, ``{pid}`` the process.
        mode: See `dump`.
        values: See `dump`.
    """
    import signal

    number = [0]

    def write(_signal, _frame):
        number[0] += 1
        path = pattern.replace("{n}", str(number[0]))
        path = path.replace("{pid}", str(posix.getpid()))
        try:
            dump(path, mode, values=values, wait=False)
        except Exception as error:  # the program goes on whatever happens here
            text = "heaproots_dump: %s\n" % (error,)
            posix.write(2, text.encode("utf-8", "replace"))

    signal.signal(signal_number, write)


def _told(folder, name, text):
    """Write a message for ``ingest``, whole or not at all."""
    path = folder + "/" + name
    fd = _opened(path + ".new")
    posix.write(fd, text.encode("utf-8", "replace"))
    posix.close(fd)
    posix.rename(path + ".new", path)


def _answer(asked):
    """Write the dump that ``ingest capture python`` asks for; once only.

    In a copy of the program or in a thread of its own, in which nothing is raised.
    """
    folder, path = asked["folder"], asked["path"]
    is_copy = asked["mode"] == "fork"
    moment = None
    try:
        posix.close(_opened(folder + "/started"))  # asked twice, or no longer: an error
        try:
            _check()
            began = time.perf_counter()
            moment = _Moment(is_copy)
            moment.collects = asked["collects"]
            partial = path + ".part"
            fd = _opened(partial)
            try:
                _lock(fd)
                _told(folder, "writer", str(posix.getpid()))
                found = _write(
                    moment, fd, values=asked["values"], compress=asked["compress"],
                    mode=asked["mode"],
                )  # fmt: skip
                pause = time.perf_counter() - began
                found.update(pause_seconds=pause, interpreters=_interpreters())
                _told(folder, "told", _json(found))
                posix.rename(partial, path)
            except BaseException:
                _remove(partial)
                raise
            finally:
                posix.close(fd)
        except Exception as error:
            _told(folder, "failed", "%s: %s" % (type(error).__name__, error))
    except Exception:  # nobody waits any more, or can be told
        pass
    finally:
        if not is_copy:
            _let_go(_BEFORE)
            if moment is not None:
                _let_go(moment.objects)
                del moment.kept[:]
                moment.buckets.clear()
            del moment
            _forget(globals())


def _lock(fd):
    """Tell ``ingest`` that this process writes, by a lock that ends with it."""
    try:
        posix.lockf(fd, posix.F_TLOCK, 0)
    except OSError:  # a file system without locks
        pass


def _forget(space):
    """Break cycles that this text made, which would wait for the collector."""
    for made in list(space.values()):
        if type(made) is type and made.__module__ == "__heaproots__":
            for name in list(vars(made)):
                try:
                    delattr(made, name)
                except (AttributeError, TypeError):
                    pass
    space.clear()


MAGIC = b"\x89HRPY\r\n\x01"

_CHUNK = 4096
_PENDING = 16384
_PART = 16384  # references or objects that are looked at together
_LISTED = _MOST_REFERENCES = 65536
_BUFFER_BYTES = 1 << 20
_TEXT_LENGTH = 200
_EXEMPLARS = 8
_NEVER = 0xFFFFFFFF
_NO_INTEGER = -(1 << 63)
_MOST_INLINE = 29
# Bytes of code: a tuple and bytes that nothing gives, mostly of one block.
_NAMES_OF_LOCALS = 96

# Flags of a chunk.
_SIZES, _LENGTHS, _ELEMENTS, _PAIRS, _TYPED, _TEXTS, _INTS, _FLOATS, _OWNER, _SITES = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512,
)  # fmt: skip
_OUTSIDE = 1024

# More flags of a type.
_MANAGED_WEAK = 1 << 3  # from 3.12 on
_EXCEPTION, _READY = 1 << 30, 1 << 12

_VALUES = _PY >= (3, 11)  # attributes are in no dict until somebody asks for one
_INLINE = _PY >= (3, 13)  # they are in the object itself
_IMMORTAL = 1 << 30


def _closure():
    variable = 0
    return lambda: variable


_Function, _Code, _Cell = type(_closure), type(_closure.__code__), type(
    _closure().__closure__[0]
)  # fmt: skip
_Frame, _Method = type(sys._getframe()), type(DumpRefused("").__reduce__)
_MethodDescriptor, _Slot = type(list.append), type(object.__init__)
_Member, _GetSet = type(_Function.__globals__), type(_Function.__code__)
_Proxy = type(type.__dict__)


class _Class:
    def method(self):
        yield


_Bound, _Generator = type(_Class().method), type(_Class().method())


def _hides_dicts():
    """Whether the collector does not see dicts whose values are in their objects.

    As in CPython 3.13.0: neither of the dict by its object, nor of the values by it.
    """
    o = _Class()
    o.attribute = _Class
    return vars(o) and not gc.get_referents(vars(o))


_HIDES_DICTS = _hides_dicts()


async def _coroutine():
    yield


_AsyncGenerator = type(_coroutine())
_unstarted = None


async def _awaitable():
    pass


_unstarted = _awaitable()
_Coroutine = type(_unstarted)
_unstarted.close()
del _unstarted
_basic_of = _TYPE["__basicsize__"].__get__
_item_of = _TYPE["__itemsize__"].__get__
_dict_at, _weak_at = _TYPE["__dictoffset__"].__get__, _TYPE["__weakrefoffset__"].__get__
_mro_of = _TYPE["__mro__"].__get__
_get_dict = _TYPE["__dict__"].__get__
_qualname_of = _TYPE["__qualname__"].__get__
_module_of = _TYPE["__module__"].__get__
_get_fget = property.__dict__["fget"].__get__


def _by_id(table):
    return {id(t): told for t, told in table.items()}


# References of objects of the runtime's own types that have a name, and can be read
# without running anything.
_NAMED = _by_id({
    _Function: ("__code__", "__globals__", "__defaults__", "__kwdefaults__",
                "__closure__", "__builtins__"),
    _Bound: ("__func__", "__self__"),
    _Builtin: ("__self__",),
    _Cell: ("cell_contents",),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    _Generator: ("gi_code",),
    _Coroutine: ("cr_code", "cr_await"),
    _AsyncGenerator: ("ag_code",),
})  # fmt: skip
_NAMED_BY_NAME = {
    "traceback": ("tb_next", "tb_frame"),
    "frame": ("f_code", "f_globals"),
    "functools.partial": ("func", "args", "keywords"),
    "_asyncio.Task": ("_coro", "_fut_waiter", "_loop", "_result", "_exception"),
    "_asyncio.Future": ("_loop", "_result", "_exception"),
}
_HAMT = ("hamt_bitmap_node", "hamt_collision_node")  # what contexts have variables in
_THREADS = "(threads)"
_BASE_EXCEPTION = ("__traceback__", "__context__", "__cause__", "args")
# The collector is told nothing of greenlets that have begun, nor that they are tracked.
_OF_GREENLET = ("parent", "gr_context", "run", "args", "kwargs", "value", "_links")
_OF_GREENLET += ("__dict__",) if _PY >= (3, 11) else ("__dict__", "gr_frame")
_OF_TYPES = ("__mro__", "__bases__", "__base__")
_OF_CODE = ("co_consts", "co_names", "co_filename", "co_name")
if _PY >= (3, 11):
    _OF_CODE += ("co_qualname", "co_linetable", "co_exceptiontable")
else:
    _OF_CODE += ("co_varnames", "co_freevars", "co_cellvars", "co_code", "co_lnotab")
    _OF_CODE += ("co_linetable",)


def _dict_of(t):
    """The dict of a class, to read; empty if the type is not ready yet."""
    found = _get_dict(t)
    return {} if found is None else found


def _in_mro(t, name):
    """The attribute ``name`` of the classes of ``t``, or `_missing`; no code runs."""
    for k in _mro_of(t) or (t,):
        found = _dict_of(k).get(name, _missing)
        if found is not _missing:
            return found
    return _missing


def _type_name(t):
    try:
        name, module = _qualname_of(t), _module_of(t)
    except Exception:  # a half-made type
        return "?"
    if not _is_text(name):
        return "?"
    if not _is_text(module) or module == "builtins":
        return name
    return module + "." + name


class _Out:
    """The file: buffered, and compressed if asked."""

    def __init__(self, fd, compress):
        self._fd, self._parts, self._bytes, self.written = fd, [], 0, 0
        self._zip = None
        if compress:
            import zlib

            self._zip = zlib.compressobj(1, zlib.DEFLATED, 31)
        self.add(MAGIC)

    def add(self, data):
        if len(data) > _BUFFER_BYTES:  # as it is, without a copy
            self.flush()
            view = memoryview(data)
            for at in range(0, len(view), _BUFFER_BYTES):
                self._put(view[at : at + _BUFFER_BYTES])
            return
        self._parts.append(data)
        self._bytes += len(data)
        if self._bytes >= _BUFFER_BYTES:
            self.flush()

    def record(self, tag, parts):
        size = sum(map(len, parts))
        self.add(tag + size.to_bytes(8, "little"))
        for part in parts:
            self.add(part)

    def flush(self):
        data = b"".join(self._parts)
        self._parts, self._bytes = [], 0
        self._put(data)

    def end(self):
        self.flush()
        if self._zip is not None:
            data, self._zip = self._zip.flush(), None
            self._put(data)

    def _put(self, data):
        if self._zip is not None:
            data = self._zip.compress(data)
        view = memoryview(data)
        while view:
            done = posix.write(self._fd, view)
            self.written += done
            view = view[done:]


if sys.byteorder == "little":

    def _bytes_of(column):
        return memoryview(column).cast("B") if column else b""
else:

    def _bytes_of(column):
        column = column[:]
        column.byteswap()
        return column.tobytes()


_WORD = next(code for code in "IL" if array(code).itemsize == 4)


def _words(values):
    """A column of 4 bytes a row; what is larger is `_NEVER`."""
    try:
        return _bytes_of(array(_WORD, values))
    except OverflowError:
        return _bytes_of(array(_WORD, [min(max(v, 0), _NEVER) for v in values]))


def _longs(values, code="Q"):
    return _bytes_of(array(code, values))


def _number(value, size=4):
    return value.to_bytes(size, "little")


class _Kind:
    """Facts about a type, before its objects are written."""

    def __init__(self, writer, t):
        self.type, self.flags = t, _flags_of(t)
        self.name = _type_name(t)
        self.number = len(writer.kinds)
        self.basic = _basic_of(t)
        self.names, self.getters, self.told = [], [], True
        # By id: the hash of a type may be the program's.
        self.texts = _TEXT_OF.get(id(t))
        self.write = writer.write_others
        exact = _WRITERS.get(id(t))
        if exact is not None:
            self.write = getattr(writer, exact)
        names = _NAMED.get(id(t)) or _NAMED_BY_NAME.get(self.name, ())
        if self.flags & _TYPE_OBJECT:
            names, self.texts = _OF_TYPES, _type_name
        elif self.flags & _EXCEPTION:
            names = _BASE_EXCEPTION
        if t is _Code:
            names, self.told = _OF_CODE, False
        self.is_greenlet = _base_named(t, "greenlet.greenlet") is not None
        if self.is_greenlet:
            names = _OF_GREENLET
        for name in names:
            found = _in_mro(t, name)
            if type(found) is _Member or type(found) is _GetSet:
                self._add(writer, name, found.__get__)
        if self.name == "functools._lru_cache_wrapper":
            self.texts = _wrapped_name
        elif self.name == "_asyncio.Task" and len(self.getters) == 5:
            self.texts = _task_name(self.getters[0])
        elif _base_named(t, "collections.deque") is not None:
            found = _in_mro(t, "maxlen")
            if type(found) is _GetSet:
                self.texts = _bound_text(found.__get__)
        elif self.name in ("ContextVar", "_contextvars.ContextVar"):
            found = _in_mro(t, "name")
            if type(found) is _Member:
                self.texts = _qualname(found.__get__)
        elif self.name in _HAMT:
            self.texts = _context_name
        elif _base_named(t, "_thread._local") is not None:
            self._add(writer, _THREADS, _threads_of_local)
            if self.name == "_thread._local":
                self.texts = _local_name
        self.array = _base_named(t, "numpy.ndarray", is_static=True)
        if self.array is not None:
            self._add(writer, "base", _array_member(self.array, "base"))
            self._add(writer, "dtype", _array_member(self.array, "dtype"))
            self.texts = _array_name(self.array)
        tensor = _base_named(t, *_TENSORS, is_static=True)
        self.is_tensor = writer.is_copy and tensor is not None
        if self.is_tensor:
            self._add(writer, "storage", _storage_of(writer, tensor))
            self._add(writer, "grad", _gradient_of(writer, tensor))
        storage = _base_named(t, "torch._C.StorageBase", is_static=True)
        if storage is not None:
            self.texts = _device_of(storage)
        self.outside = _outside(t, self.array, storage)
        self.has_locals = self.is_greenlet or (
            t is _Frame or t is _Generator or t is _Coroutine or t is _AsyncGenerator
        )
        self.is_instance = bool(self.flags & _HEAP_TYPE)
        self.needs_names = self.is_instance or not self.told
        self.lessons = 0 if self.has_locals else _EXEMPLARS
        self.owns = bool(_dict_at(t))
        if not self.needs_names:
            self._find_dict(writer)
        self._sizes(writer)

    def _add(self, writer, name, get):
        self.names.append(writer.name(name))
        self.getters.append(get)

    def _find_dict(self, writer):
        """How to tell the dict of an object from others that it has."""
        t = self.type
        if not self.owns or t is _Module:
            return
        if self.flags & (_LIST | _TUPLE | _DICT | _TYPE_OBJECT):
            return  # these have further dicts only as elements
        named = sum(get is not None for get in self.getters)
        named += sum(at > 0 for at in (_dict_at(t), _weak_at(t)))
        if _basic_of(t) > _basic_of(object) + 8 * named:
            # C has parts in it that have no name, and may be dicts.
            self.owns = False
            if writer.name("__dict__") not in self.names:
                self._add(writer, "__dict__", _own_dict)

    def _sizes(self, writer):
        """The function that tells sizes: only C, whatever the program defines."""
        self.sizeof = None
        for k in _mro_of(self.type) or (self.type,):
            found = _dict_of(k).get("__sizeof__", _missing)
            if type(found) is _MethodDescriptor:
                self.sizeof = found
                break
        self._extra()
        if self.sizeof is None or self.sizeof is object.__dict__["__sizeof__"]:
            if not _item_of(self.type):
                self.sizeof = None

    def _extra(self):
        """Bytes of each object that its ``__sizeof__`` leaves out."""
        flags, item = self.flags, _item_of(self.type)
        managed = _MANAGED_DICT if _VALUES else 0
        managed |= _MANAGED_WEAK if _PY >= (3, 12) else 0
        self.extra = (16 if flags & _HAVE_GC else 0) + (16 if flags & managed else 0)
        if self.type is _Code and _VALUES:
            self.extra += _NAMES_OF_LOCALS
        if item:
            # The last of the items that the allocator of classes makes is not used.
            is_made = flags & _HEAP_TYPE and _PY < (3, 14)
            self.extra += item if is_made or flags & _TYPE_OBJECT else 0
        elif not (_INLINE and flags & _INLINE_VALUES):
            # What more there is has memory of its own, and both are rounded up.
            self.extra += -(self.basic + self.extra) % 16

    def _add_values(self, found, exemplars):
        """Add the memory in which objects without a dict have their attributes."""
        flags = self.flags
        if not flags & _HEAP_TYPE or (_INLINE and not flags & _INLINE_VALUES):
            return
        many, slots = len(found), len(self.getters)
        if all(_flags_of(k) & _HEAP_TYPE for k in (_mro_of(self.type) or ())[:-1]):
            for o in exemplars:
                told = [v for v in _referents(o) if v is not self.type]
                if not found and len(told) == 1 and type(told[0]) is dict:
                    told = told[0]  # it has one by now
                many = max(many, len(told) - slots)
        elif not _INLINE:
            return  # only `object` makes room for them
        many = min(many + 1, _MOST_INLINE)
        if _INLINE:
            self.extra += 8 * (many + 1) + (many + 7 & ~7)
        else:
            self.extra += 8 * many + (many + 2 + 7 & ~7) + 15 & ~15

    def learn(self, writer, part):
        """Find the names of attributes, from a few objects of the type."""
        self.needs_names = False
        t = self.type
        for k in _mro_of(t) or (t,):
            for name, found in list(_dict_of(k).items()):
                if type(found) is _Member and _is_text(name):
                    if _flags_of(k) & _HEAP_TYPE and not name.startswith("__"):
                        self._add(writer, name, found.__get__)
        if not (_VALUES and self.flags & _MANAGED_DICT):
            return
        step = max(len(part) // _EXEMPLARS, 1)
        exemplars = part[::step][:_EXEMPLARS]
        found = {}
        _try_names(t, exemplars, _candidates(t), found)
        slots = len(self.getters)
        untold = [o for o in exemplars if len(_referents(o)) - 1 > len(found) + slots]
        if writer.is_copy:
            for o in untold:
                for name in writer.asked(t, o):
                    found.setdefault(name)
        elif untold and len(found) < _MOST_INLINE:
            _try_names(t, untold, writer.names_around(t), found)
        self._add_values(found, exemplars)
        self._add_names(writer, found)

    def learn_more(self, writer, part):
        """Find names that only few objects have, as the parent of what is alike.

        Returns:
            Whether there are new ones.
        """
        if not (_VALUES and self.flags & _MANAGED_DICT and self.lessons):
            return False
        self.lessons -= 1
        known = dict.fromkeys(writer.texts_of(self.names))
        found = dict(known)
        _try_names(self.type, part[:_EXEMPLARS], _candidates(self.type), found)
        self._add_names(writer, [name for name in found if name not in known])
        return len(found) > len(known)

    def _add_names(self, writer, found):
        for name in found:
            at = _in_mro(self.type, name)
            if at is _missing:
                self._add(writer, name, None)
            elif _in_mro(type(at), "__get__") is _missing:
                # The class has a value of that name too; see `_without_untold`.
                self._add(writer, name, None)


def _try_names(t, exemplars, names, found):
    """Add those names that an object has as an attribute of its own."""
    for name in names:
        if name in found or _in_mro(t, name) is not _missing:
            continue
        for o in exemplars:
            try:
                _attribute(o, name)
            except AttributeError:
                continue
            found[name] = None
            break


def _candidates(t):
    """Names that the code of a class assigns, and others that it declares."""
    names = {}
    for k in _mro_of(t) or (t,):
        if not _flags_of(k) & _HEAP_TYPE:
            continue
        of_class = _dict_of(k)
        told = of_class.get("__static_attributes__")
        if type(told) is tuple:
            names.update(dict.fromkeys(filter(_is_text, told)))
        for declared in ("__annotations__", "__dataclass_fields__"):
            told = of_class.get(declared)
            if type(told) is dict:
                names.update(dict.fromkeys(filter(_is_text, list(told))))
        annotate = of_class.get("__annotate_func__")  # 3.14; never called
        if type(annotate) is _Function:
            names.update(dict.fromkeys(filter(_is_text, annotate.__code__.co_consts)))
        for value in list(of_class.values()):
            if type(value) is property:
                value = _get_fget(value)
            elif type(value) is staticmethod or type(value) is classmethod:
                value = type(value).__dict__["__func__"].__get__(value)
            if type(value) is _Function:
                _names_in(value.__code__, names)
    return names


def _names_in(code, names):
    names.update(dict.fromkeys(code.co_names))
    for value in code.co_consts:
        if type(value) is _Code:
            _names_in(value, names)


def _function_name(o):
    # That of what it wraps, as the name beside it; it is in the globals of the wrapper.
    module = _Function.__dict__["__module__"].__get__(o)
    name = _Function.__dict__["__qualname__"].__get__(o)
    return module + "." + name if _is_text(module) else name


def _frame_name(o):
    code = o.f_code
    name = code.co_qualname if _PY >= (3, 11) else code.co_name
    return "%s (%s:%s)" % (name, code.co_filename, o.f_lineno or 0)


def _module_name(o):
    space = _module_dict(o)
    name = space.get("__name__") if type(space) is dict else None
    return name if _is_text(name) else None


def _context_name(_node):
    return "context"


def _local_name(_local):
    return "threading.local"


def _threads_of_local(o):
    """The dict in which a ``threading.local`` keeps the dict of each thread."""
    for d in _referents(o):
        if type(d) is dict and d:
            kinds = set(map(type, d.values()))
            if kinds == {dict} and str not in map(type, d):
                return d
    return _missing


def _wrapped_name(o):
    """The function whose results a ``functools.lru_cache`` keeps."""
    for d in _referents(o):
        if type(d) is dict and len(d) < 100 and all(map(_is_text, list(d))):
            found = d.get("__wrapped__")
            if type(found) is _Function:
                return _function_name(found)
    return None


def _task_name(get_coroutine):
    """A function that tells which coroutine a task runs."""

    def name(o):
        coroutine = get_coroutine(o)
        text = _TEXT_OF.get(id(type(coroutine)))
        return None if text is None else text(coroutine)

    return name


def _bound_text(get_maxlen):
    """A function that tells how many elements a deque has at most."""

    def text(o):
        found = get_maxlen(o)
        return "maxlen %d" % found if type(found) is int else None

    return text


def _qualname(get):
    def name(o):
        found = get(o)
        return found if _is_text(found) else None

    return name


_TEXT_OF = _by_id({
    _Function: _function_name, _Code: _code_name, _Frame: _frame_name,
    _Module: _module_name,
    _Generator: _qualname(_Generator.__dict__["__qualname__"].__get__),
    _Coroutine: _qualname(_Coroutine.__dict__["__qualname__"].__get__),
    _AsyncGenerator: _qualname(_AsyncGenerator.__dict__["__qualname__"].__get__),
    _Builtin: _qualname(_Builtin.__dict__["__qualname__"].__get__),
})  # fmt: skip

_WRITERS = _by_id({
    str: "write_texts", int: "write_integers", bool: "write_integers",
    float: "write_floats", list: "write_elements", tuple: "write_elements",
    dict: "write_dicts", bytes: "write_leaves", complex: "write_leaves",
    type(None): "write_leaves", bytearray: "write_leaves",
})  # fmt: skip


class _References:
    """What the objects of a chunk refer to.

    Ids by name, one of each object, then further ones: so many of each, or a number.
    """

    __slots__ = ("columns", "counts", "names", "rest", "typed")

    def __init__(self, rest, counts, columns=(), names=(), typed=False):
        self.rest, self.counts, self.typed = rest, counts, typed
        self.columns, self.names = columns, names


_NONE = _References(array("Q"), 0)


class _Bucket:
    """Objects of a type, and what they refer to, before that is ordered in chunks."""

    __slots__ = (
        "columns", "counts", "elements", "kind", "lists", "names", "part", "typed",
    )  # fmt: skip

    def __init__(self, kind, part, counts):
        self.kind, self.part, self.counts = kind, part, counts
        self.names = list(kind.names)

    @property
    def own_type(self):
        """The type, if objects tell that they refer to it."""
        return (id(self.kind.type),) if self.typed and _PY >= (3, 9) else ()

    def let_go(self):
        """Refer to no object any more."""
        del self.part, self.lists, self.columns, self.elements


class _Writer:
    """One dump: finds objects type by type, and writes them in chunks."""

    def __init__(self, out, *, values, is_copy, is_frozen):
        self.out, self.values, self.is_copy = out, values, is_copy
        self.kinds, self._by_type = [], {}
        self._names, self._all_names, self._new_names = {}, [], []
        self._told_types, self._most_bytes = 0, _pages_bytes(0) or 1 << 47
        self._site_of, self._sites, self._new_sites = _traced(), {}, []
        # A byte for each place where an object may begin, in parts of 16 KiB.
        self._pages, self._is_all_new = {}, is_frozen
        self._pending, self._pending_count = {}, 0
        self._late, self._is_flushing = {}, False
        self._program_names, self._around, self._greenlets = set(), {}, set()
        self.objects = self.references = 0
        self._own = _own_count()
        silent = _of_module("torch._C", "DisableTorchFunctionSubclass")
        if is_copy and silent is not None:  # no class of the program answers for it
            self._silent = silent()
            _in_mro(silent, "__enter__")(self._silent)

    def name(self, text):
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            self._new_names.append(text)
            self._all_names.append(text)
        return number

    def texts_of(self, numbers):
        return [self._all_names[number] for number in numbers]

    def kind(self, t):
        found = self._by_type.get(id(t))
        if found is None:
            found = _Kind(self, t)
            self._by_type[id(t)] = found
            self.kinds.append(found)
        return found

    def asked(self, t, o):
        """The attributes of an object, by making its dict; only in a copy."""
        for k in _mro_of(t) or (t,):
            get = _dict_of(k).get("__dict__", _missing)
            if type(get) is _GetSet:
                there = set(map(id, _referents(o)))
                found = get.__get__(o)
                if type(found) is dict:
                    # One that was there is found as any other object is. One whose
                    # values are in the object is left out; see `write_dicts`.
                    is_new = id(found) not in there and not _HIDES_DICTS
                    if is_new and self.see(id(found)):
                        self._put(found)
                    return list(filter(_is_text, list(found)))
        return []

    def made(self, o):
        """An object that the collector may not have listed, for it was just made.

        PyTorch keeps it as long as the tensor.
        """
        if o is None or o is _missing:
            return _missing
        if self.see(id(o)):
            self._put(o)
        return o

    def names_around(self, t):
        """Names that code around a class may have set as attributes of its instances.

        They come from the module of the class and from running code. They are tried on
        instances whose dict does not exist yet: only a copy of the program may make it.
        """
        module = _module_of(t)
        key = module if _is_text(module) else None
        found = self._around.get(key)
        if found is None:
            found = self._around[key] = {}
            module = sys.modules.get(key) if key is not None else None
            space = _module_dict(module) if type(module) is _Module else {}
            for value in list(space.values()) if type(space) is dict else ():
                if type(value) is _Function:
                    _names_in(value.__code__, found)
            for frame in sys._current_frames().values():
                while frame is not None:
                    if frame.f_globals is space:
                        _names_in(frame.f_code, found)
                    frame = frame.f_back
        return found

    # Finding objects.

    def _put(self, o):
        t = type(o)
        pending = self._pending if self.values or t is not str else self._late
        bucket = pending.get(id(t))
        if bucket is None:
            pending[id(t)] = [o]
        else:
            bucket.append(o)
        self._pending_count += 1

    def see(self, i):
        """Whether the object of an id is seen for the first time."""
        page = self._pages.get(i >> 14)
        if page is None:
            page = self._pages[i >> 14] = bytearray(1024)
        if page[i >> 4 & 1023]:
            return False
        page[i >> 4 & 1023] = 1
        return True

    def found(self, children):
        """Take objects that the collector does not list, each once."""
        rest = iter(children)
        for _ in range(0, len(children), _PART):
            part = islice(rest, _PART)
            part = list(part if self._is_all_new else filterfalse(_tracked, part))
            new = dict(zip(map(id, part), part))
            del part
            self._take(new)

    def _take(self, new):
        pages, count = self._pages, 0
        pending, late = self._pending, self._pending if self.values else self._late
        for i, o in new.items():
            page = pages.get(i >> 14)  # as `see`, whose call would take as long
            if page is None:
                page = pages[i >> 14] = bytearray(1024)
            at = i >> 4 & 1023
            if page[at]:
                continue
            page[at] = 1
            k = id(type(o))
            into = late if k == _STR else pending
            if k in into:
                into[k].append(o)
            else:
                into[k] = [o]
            count += 1
        self._pending_count += count

    def write_listed(self, moment):
        """Write the objects that the collector lists, and remove them from the list."""
        buckets, hidden = moment.buckets, moment.hidden()
        objects = moment.objects
        objects.reverse()
        while objects:
            part = objects[-_LISTED:]
            del objects[-_LISTED:]
            part.reverse()
            o = None
            for k, o in zip(map(id, map(type, part)), part):
                if k in buckets:
                    buckets[k].append(o)
                else:
                    buckets[k] = [o]
            del part, o
            for k in list(buckets):
                if len(buckets[k]) < _CHUNK and objects:
                    continue
                bucket = buckets.pop(k)
                if k in _HIDDEN:
                    bucket = [o for o in bucket if id(o) not in hidden]
                if bucket:
                    self.write_bucket(bucket)
                if moment.is_copy:
                    moment.written.append(bucket)

    def flush_pending(self, least=0):
        self._is_flushing = True
        while self._pending_count > least and self._pending:
            _, bucket = self._pending.popitem()
            self._pending_count -= len(bucket)
            self.write_bucket(bucket)
            del bucket
        self._is_flushing = False

    def finish(self):
        self.flush_pending()
        while self._late or self._pending:
            if self._late:
                _, bucket = self._late.popitem()
                self.write_bucket(bucket)
            self.flush_pending()

    def write_bucket(self, bucket):
        """Write all objects of a type; here only ``bucket`` refers to them."""
        kind = self.kind(type(bucket[0]))
        if not kind.flags & _HEAP_TYPE or _PY < (3, 9):
            self.found([kind.type])
        if kind.is_greenlet:
            bucket[:] = [o for o in bucket if id(o) not in self._greenlets]
            self._greenlets.update(map(id, bucket))
        for at in range(0, len(bucket), _CHUNK):
            kind.write(kind, bucket[at : at + _CHUNK])
            if self._pending_count > _PENDING and not self._is_flushing:
                self.flush_pending(_PENDING // 2)

    # Writing chunks.

    def _tell(self):
        """Write the names and types that a chunk needs first."""
        if self._new_names:
            self.out.record(b"NAME", [_json(self._new_names).encode("ascii")])
            self._new_names = []
        if self._new_sites:
            rows = [["%s:%d" % frame for frame in site] for site in self._new_sites]
            self.out.record(b"SITE", [_json(rows).encode("ascii")])
            self._new_sites = []
        if self._told_types < len(self.kinds):
            rows = [
                (k.number, id(k.type), k.name, k.flags, k.basic)
                for k in self.kinds[self._told_types :]
            ]
            self._told_types = len(self.kinds)
            self.out.record(b"TYPE", [_json(rows).encode("ascii")])

    def _sizes(self, kind, part):
        """Bytes of each object; without items where there is not so much memory."""
        try:
            found = array("Q", map(kind.sizeof, part))
        except Exception:  # a half-made object
            found = array("Q", map(_size_or_none, repeat(kind), part))
        # Nuitka's frames tell a pointer.
        most = self._most_bytes
        if id(kind.type) not in _WRITERS and max(found, default=0) > most:
            return array("Q", [kind.basic if many > most else many for many in found])
        return found

    def chunk(
        self, kind, part, counts, references=_NONE, *, flags=0, lengths=None, values=()
    ):  # fmt: skip
        sites = None if self._site_of is None else self._numbers_of_sites(part)
        self._tell()
        n = len(part)
        sizes = [_longs([kind.basic])]
        if kind.sizeof is not None:
            flags |= _SIZES
            sizes = [_bytes_of(self._sizes(kind, part))]
        if lengths is not None:
            flags |= _LENGTHS
        if references.typed:
            flags |= _TYPED
        if sites is not None:
            flags |= _SITES
        outside = []
        if kind.outside is not None:
            outside = [_value_or_missing(kind.outside, o) for o in part]
            outside = [0 if many is _missing else many for many in outside]
            flags |= _OUTSIDE if any(outside) else 0
        rest, rest_counts = references.rest, references.counts
        fixed = _NEVER
        if isinstance(rest_counts, int):
            fixed, rest_counts = rest_counts, None
        parts = [
            b"".join(
                _number(value)
                for value in (
                    kind.number,
                    flags,
                    n,
                    kind.extra,
                    len(references.names),
                    fixed,
                )
            ),
            _number(len(rest), 8),
            _words(references.names),
            _longs(map(id, part)),
            _words(counts),
            *sizes,
        ]
        if lengths is not None:
            parts.append(_words(lengths))
        for column in references.columns:
            is_made = type(column) is array
            parts.append(_bytes_of(column) if is_made else _longs(column))
        if rest_counts is not None:
            parts.append(_words(rest_counts))
        parts.append(_bytes_of(rest))
        parts += values
        if sites is not None:
            parts.append(_words(sites))
        if flags & _OUTSIDE:
            parts.append(_longs(outside))
        self.out.record(b"OBJS", parts)
        self.objects += n
        self.references += len(rest)

    def _numbers_of_sites(self, part):
        """Where tracemalloc says that objects were made; `None` if it knows of none."""
        numbers, known = [], self._sites
        for site in map(self._site_of, part):
            if site is None:
                numbers.append(_NEVER)
                continue
            number = known.get(site)
            if number is None:
                number = known[site] = len(known)
                self._new_sites.append(site)
            numbers.append(number)
        return numbers if min(numbers) != _NEVER else None

    def write_leaves(self, kind, part):
        counts = list(map(_refcount, part))
        self.chunk(kind, part, counts)

    def write_texts(self, kind, part):
        counts = list(map(_refcount, part))
        lengths = list(map(len, part))
        values = []
        if not self.values:
            known = self._program_names
            shown = [s if s in known else "" for s in part]
            values = self._texts(shown)
        elif max(lengths) > _TEXT_LENGTH:
            values = self._texts([s[:_TEXT_LENGTH] for s in part])
        else:
            joined = "".join(part)
            if joined.isascii():
                values = [_words(lengths), joined.encode("ascii")]
                values.insert(0, _number(len(joined), 8))
            else:
                values = self._texts(part)
        self.chunk(kind, part, counts, flags=_TEXTS, lengths=lengths, values=values)

    def _texts(self, texts):
        """A column of texts, absent where one is ``None``."""
        found = [
            None if s is None else s.encode("utf-8", "surrogatepass") for s in texts
        ]
        blob = b"".join(filter(None, found))
        sizes = [_NEVER if s is None else len(s) for s in found]
        return [_number(len(blob), 8), _words(sizes), blob]

    def write_integers(self, kind, part):
        counts = list(map(_refcount, part))
        values, flags = [], 0
        if self.values:
            flags = _INTS
            try:
                values = [_longs(part, "q")]
            except OverflowError:
                shown = [v if abs(v) < 1 << 63 else _NO_INTEGER for v in part]
                values = [_longs(shown, "q")]
        self.chunk(kind, part, counts, flags=flags, values=values)

    def write_floats(self, kind, part):
        counts = list(map(_refcount, part))
        values = [_longs(part, "d")] if self.values else []
        flags = _FLOATS if values else 0
        self.chunk(kind, part, counts, flags=flags, values=values)

    def write_elements(self, kind, part):
        self._write_collections(kind, part, list(map(_refcount, part)), _ELEMENTS)

    def _write_collections(self, kind, part, counts, flag):
        """Lists and tuples, or dicts, whose references are ``length`` elements each."""
        factor = 2 if flag == _PAIRS else 1
        half = len(part) // 2
        if half and factor * sum(map(len, part)) > _MOST_REFERENCES:
            for rows in (slice(0, half), slice(half, None)):
                self._write_collections(kind, part[rows], counts[rows], flag)
            return
        if flag == _ELEMENTS:
            part, counts = self._without_holes(kind, part, counts)
            half = len(part) // 2
            if not part:
                return
        while True:
            # Each is one step, between which other threads may change them.
            lengths = list(map(len, part))
            rest = array("Q", map(id, _elements_of(part, flag)))
            if factor * sum(lengths) == len(rest):
                break
        references = _References(rest, _NEVER - 1)
        self.chunk(kind, part, counts, references, flags=flag, lengths=lengths)
        del rest, references
        if half or len(part[0]) <= _PART:
            children = list(_elements_of(part, flag))
            del part
            self.found(children)
            return
        for children in _parts_of(part[0], flag):
            self.found(children)
            del children
            if self._pending_count > _PENDING and not self._is_flushing:
                self.flush_pending(_PENDING // 2)

    def _without_holes(self, kind, part, counts):
        """Those without empty places, which nothing may read; the others are written.

        Such as the stack of the parser of XML, and what `zip` is about to fill.
        """
        if len(_referents(*part)) >= sum(map(len, part)):
            return part, counts
        rows = [_referents(o) for o in part]
        whole = [len(found) >= len(o) for o, found in zip(part, rows)]
        holed = [at for at, is_whole in enumerate(whole) if not is_whole]
        if holed:
            there = [rows[at] for at in holed]
            rest = array("Q", map(id, chain.from_iterable(there)))
            self.chunk(
                kind, [part[at] for at in holed], [counts[at] for at in holed],
                _References(rest, list(map(len, there))),
            )  # fmt: skip
            self.found(list(chain.from_iterable(there)))
        return list(_chosen(part, whole)), list(_chosen(counts, whole))

    def write_dicts(self, kind, part):
        counts = list(map(_refcount, part))
        if _HIDES_DICTS:
            # Such a dict is a part of its object, which refers to its values. Where
            # nothing else refers to it, it is left out.
            told = []
            for count, d in zip(counts, part):
                is_hidden = bool(d) and not _referents(d)
                if not is_hidden or count - 1 > self._own:
                    told.append((count - is_hidden, d))
            if not told:
                return
            counts, part = map(list, zip(*told))
            del told
        self._write_collections(kind, part, counts, _PAIRS)

    def write_others(self, kind, part, counts=None):
        """Objects of any other type: named references, then what is left."""
        if kind.flags & _TYPE_OBJECT:
            part = self._ready(kind, part)
            if not part:
                return
        if counts is None:
            counts = list(map(_refcount, part))
        if kind.needs_names:
            kind.learn(self, part)
            kind._find_dict(self)
        if kind.has_locals and len(part) > 1:
            for at, o in enumerate(part):
                self.write_others(kind, [o], counts[at : at + 1])
            return
        bucket = _Bucket(kind, part, counts)
        del part
        first = self._read(bucket)
        lists, is_plain = bucket.lists, bucket.elements is None and kind.texts is None
        if is_plain and kind.told and self._write_named(bucket):
            children = list(chain.from_iterable(lists))
        elif is_plain and not bucket.columns and not bucket.typed:
            many = list(map(len, lists))
            rest = array("Q", map(id, chain.from_iterable(lists)))
            references = _References(rest, many[0] if len(set(many)) == 1 else many)
            flags = self._owns(kind)
            self.chunk(kind, bucket.part, counts, references, flags=flags)
            children = lists.pop() if len(lists) == 1 else []
            children.extend(chain.from_iterable(lists))
        else:
            self._write_mixed(bucket, first)
            children = list(chain.from_iterable(lists))
            if bucket.elements is not None and not kind.flags & _LIST:
                children += chain.from_iterable(bucket.elements)
            if not kind.told:
                columns = chain.from_iterable(bucket.columns)
                children += filter(lambda o: o is not _missing, columns)
        bucket.let_go()
        del lists
        self.found(children)

    def _ready(self, kind, part):
        """Without the types that nobody has used yet, which may have no bases."""
        unready = [t for t in part if not _flags_of(t) & _READY]
        if unready:
            self.write_leaves(kind, unready)
            part = [t for t in part if _flags_of(t) & _READY]
        return part

    def _read(self, bucket):
        """Read all references of a bucket; how many of each are elements."""
        kind, part = bucket.kind, bucket.part
        if kind.type is _Module or kind.flags & _TYPE_OBJECT:
            lists = [self._referents_of(kind, o) for o in part]
        else:
            lists = list(map(_referents, part))
        columns = self._columns(kind, part)
        if kind.array is not None or kind.is_tensor:
            # The collector is told nothing of them.
            told = zip(*columns[:2])
            lists = [
                found + [o for o in more if o is not _missing]
                for found, more in zip(lists, told)
            ]
        if kind.has_locals:
            self._add_locals(kind, part[0], columns, bucket.names)
        if kind.is_greenlet:
            told = set(map(id, lists[0])) | {_MISSING_ID}
            values = chain.from_iterable(columns)
            lists[0] += [o for o in values if id(o) not in told]
        first, bucket.elements = self._elements(kind, part)
        bucket.lists, bucket.columns = lists, columns
        bucket.typed = kind.is_instance and (
            _PY < (3, 9) or any(o is kind.type for o in lists[0])
        )
        return first

    def _write_named(self, bucket):
        """Write objects of which all that they refer to has a name, as most have.

        Returns:
            Whether it is so; if not, nothing is written.
        """
        own_type = bucket.own_type
        ids = [array("Q", map(id, column)) for column in bucket.columns]
        many = list(map(len, bucket.lists))
        if (
            many.count(len(own_type) + len(ids)) != len(many)
            or any(_MISSING_ID in column for column in ids)
            or not all(map(_are_named(own_type), bucket.lists, zip(*ids)))
        ):
            return False
        references = _References(array("Q"), 0, ids, bucket.names, bucket.typed)
        flags = self._owns(bucket.kind)
        self.chunk(bucket.kind, bucket.part, bucket.counts, references, flags=flags)
        return True

    def _write_mixed(self, bucket, first):
        """Write objects of which some have references without a name, in two chunks."""
        kind, lists, elements = bucket.kind, bucket.lists, bucket.elements
        own_type = bucket.own_type
        ids = [list(map(id, column)) for column in bucket.columns]
        same = [False] * len(lists)
        if kind.told and (ids or elements is not None or bucket.typed):
            there = [len(own_type)] * len(lists)
            if elements is not None:
                there = [len(own_type) + many for many in first]
            for column in ids:
                there = [many + (i != _MISSING_ID) for many, i in zip(there, column)]
            same = list(map(int.__eq__, there, map(len, lists)))
            are_named = _are_named(own_type)
            for at, is_same in enumerate(same):
                if is_same and ids:
                    named = [column[at] for column in ids]
                    named += map(id, elements[at]) if elements is not None else ()
                    same[at] = are_named(lists[at], named)
        if kind.lessons and not all(same):
            rare = [o for o, is_same in zip(bucket.part, same) if not is_same]
            if kind.learn_more(self, rare):
                bucket.names = list(kind.names)
                bucket.columns = self._columns(kind, bucket.part)
                self._write_mixed(bucket, first)
                return
        for fits in (True, False):
            rows = [at for at, is_same in enumerate(same) if is_same == fits]
            if rows:
                self._write_rows(bucket, ids, rows, fits)

    def _write_rows(self, bucket, ids, rows, fits):
        """One chunk: of objects whose references all have names, or of the others."""
        kind, elements = bucket.kind, bucket.elements
        chosen = [bucket.part[at] for at in rows]
        rest, rest_counts = array("Q"), []
        columns = [
            [0 if column[at] == _MISSING_ID else column[at] for at in rows]
            for column in ids
        ]
        flags, lengths = self._owns(kind), None
        if elements is not None:
            flags |= _PAIRS if kind.flags & _DICT else _ELEMENTS
            factor = 2 if kind.flags & _DICT else 1
            lengths = [len(elements[at]) // factor for at in rows]
        for row, at in enumerate(rows):
            listed = list(map(id, elements[at])) if elements is not None else []
            others = [] if fits else self._others(bucket, at, listed, columns, row)
            rest_counts.append(len(listed) + len(others))
            rest.extend(listed)
            rest.extend(others)
        if len(set(rest_counts)) == 1:
            rest_counts = rest_counts[0]
        values = []
        if kind.texts is not None:
            values = self._texts([_text_or_none(kind.texts, o) for o in chosen])
            flags |= _TEXTS
        self._note_names(kind, chosen)
        self.chunk(
            kind, chosen, [bucket.counts[at] for at in rows],
            _References(rest, rest_counts, columns, bucket.names, bucket.typed),
            flags=flags, lengths=lengths, values=values,
        )  # fmt: skip

    def _others(self, bucket, at, listed, columns, row):
        """Ids of what an object refers to that is no element and has no name.

        Named ones that it does not refer to itself are taken out of the columns.
        """
        kind = bucket.kind
        if not kind.told:
            return []
        told = bucket.lists[at]
        others, own = list(map(id, told)), {}
        if _INLINE and not kind.has_locals:
            own = {
                self._all_names[kind.names[number]]: column[row]
                for number, column in enumerate(columns)
                if column[row] and kind.getters[number] is None
            }
        has_dict = any(_is_dict_of(o, own) for o in told)
        for i in listed:
            if i in others:
                others.remove(i)
        for number, column in enumerate(columns):
            value = column[row]
            if not value:
                continue
            if value not in others:
                column[row] = 0  # of the class, or of a dict
                continue
            others.remove(value)
            if has_dict and kind.getters[number] is None:
                column[row] = 0  # the dict has it too
        if bucket.typed and id(kind.type) in others:
            others.remove(id(kind.type))
        return others

    def _owns(self, kind):
        """The flag of objects whose dict is a part of them."""
        return _OWNER if kind.owns else 0

    def _note_names(self, kind, part):
        """Names in the program's code, which are written even without values."""
        if self.values:
            return
        for o in part:
            if kind.type is _Code:
                self._program_names.update(o.co_names, o.co_varnames)
            elif kind.flags & _TYPE_OBJECT:
                self._program_names.update(filter(_is_text, list(_dict_of(o))))
            elif kind.type is _Module:
                self._program_names.update(filter(_is_text, list(_module_dict(o))))

    def _referents_of(self, kind, o):
        if kind.type is _Module and _ASYNCIO_FAULT and _module_name(o) == "_asyncio":
            # https://github.com/python/cpython/issues/122695
            return [_module_dict(o)]
        found = _referents(o)
        if kind.flags & _TYPE_OBJECT and not found:
            return _referents(_dict_of(o))  # a static type has no traverse function
        return found

    def _columns(self, kind, part):
        """The targets of each name of the type; `_missing` if there is none."""
        columns = []
        for number, get in zip(kind.names, kind.getters):
            if get is None:
                name = self._all_names[number]
                arguments = (_attribute, part, repeat(name))
            else:
                arguments = (get, part)
            try:
                column = list(map(*arguments))
            except Exception:  # one that has none, or a half-made object
                column = [_value_or_missing(*one) for one in zip(
                    repeat(arguments[0]), *arguments[1:]
                )]  # fmt: skip
            columns.append(column)
        return columns

    def _add_locals(self, kind, o, columns, names):
        """The targets of a kept frame's locals, with their names."""
        if type(o) is not _Frame:
            if not self.is_copy:  # it would make a frame, which stays
                return
            o = None if _PY < (3, 11) and kind.is_greenlet else _suspended_frame(o)
        while o is not None:
            for name, value in _local_pairs(o):
                columns.append([value])
                names.append(self.name(name))
            o = o.f_back if kind.is_greenlet else None

    def _elements(self, kind, part):
        """The elements of objects that extend a collection, or are an array of objects.

        Returns:
            How many references each has of them, and they.
        """
        flags = kind.flags
        if flags & _TUPLE:
            found = [list(tuple.__iter__(o)) for o in part]
        elif flags & _LIST:
            found = [list(list.__iter__(o)) for o in part]
        elif flags & _DICT:
            found = []
            for o in part:
                keys, values = list(dict.keys(o)), list(dict.values(o))
                pairs = list(chain.from_iterable(zip(keys, values)))
                found.append(pairs)
            # Keys that are texts may be untold: then all goes by hand.
            return [-1 - 2 * len(p) for p in found], found
        elif kind.array is not None:
            found = [_array_elements(kind.array, o) for o in part]
            if not any(found):
                return [], None
            return [_NEVER] * len(part), found
        else:
            return [], None
        return list(map(len, found)), found


def _own_dict(o):
    """The ``__dict__`` of an object that may have further dicts, or `_missing`.

    What is in it is an attribute of the object. To ask for it would make one.
    """
    for d in _referents(o):
        if type(d) is not dict:
            continue
        for name in filter(_is_text, list(islice(d, _SMALL))):
            if _in_mro(type(o), name) is _missing:
                value = _value_or_missing(_attribute, o, name)
                if value is not _missing and value is d.get(name, _missing):
                    return d
                break
    return _missing


def _is_dict_of(o, attributes):
    """Whether this is the dict of an object with these attributes, names and ids."""
    if type(o) is not dict or not attributes or len(o) < len(attributes):
        return False
    if not all(map(_is_text, list(o))):
        return False
    return all(id(o.get(name, _missing)) == i for name, i in attributes.items())


def _are_named(more):
    """A check that each target of an object is a named one, or one of ``more``.

    Comparing numbers is not enough: a future may refer to other objects than its names.
    """

    def are_named(referents, ids):
        return not set(map(id, referents)).difference(ids, more)

    return are_named


def _elements_of(part, flag):
    """The elements of all, or the keys and values, each key before its value."""
    if flag != _PAIRS:
        return chain.from_iterable(part)
    return chain.from_iterable(chain.from_iterable(map(dict.items, part)))


def _parts_of(o, flag):
    """The elements of a large collection, some at a time, in lists."""
    if flag != _PAIRS:
        for at in range(0, len(o), _PART):
            yield list(o[at : at + _PART])
        return
    rest = _elements_of([o], flag)
    try:
        while True:
            part = [list(islice(rest, _PART))]
            if not part[0]:
                return
            yield part.pop()
    except RuntimeError:  # another thread has changed it meanwhile
        yield list(_elements_of([o], flag))


def _base_named(t, *names, is_static=False):
    """The class of one of these names that a type is or extends; `None` if none.

    A static one is made in C, as no class of the program is.
    """
    for k in _mro_of(t) or ():
        if not (is_static and _flags_of(k) & _HEAP_TYPE) and _type_name(k) in names:
            return k
    return None


def _array_member(array, name):
    """A function that reads a C member of an array, if it is an object."""
    get = _dict_of(array)[name].__get__

    def member(o):
        found = get(o)
        return _missing if found is None else found

    return member


def _array_name(array):
    """A function that tells an array's type of elements, and its shape."""
    space = _dict_of(array)
    dtype, shape = space["dtype"].__get__, space["shape"].__get__
    return lambda o: "%s %s" % (dtype(o).str, shape(o))


def _array_elements(array, o):
    """The elements of an array of objects, unless they are another array's."""
    space = _dict_of(array)
    try:
        is_view = space["base"].__get__(o) is not None
        if is_view or space["dtype"].__get__(o).kind != "O":
            return []
        found = space["tolist"](o)
        if not space["ndim"].__get__(o):
            return [found]
        for _ in range(space["ndim"].__get__(o) - 1):
            found = list(chain.from_iterable(found))
        return found
    except Exception:  # a half-made object
        return []


def _outside(t, array, storage):
    """A function that tells memory that no object's size includes, or `None`.

    The size of an array that owns its data includes them, and an array made from an
    object of Python refers to that object. Other data belong to a library in C.
    """
    if array is not None:
        space = _dict_of(array)
        flags, base, size = (
            space[name].__get__ for name in ("flags", "base", "nbytes")
        )

        def data(o):
            found, below = flags(o), base(o)
            is_own = type(found).__dict__["owndata"].__get__(found)
            is_of_c = below is None or _type_name(type(below)) == "PyCapsule"
            return 0 if is_own or not is_of_c else int(size(o))

        return data
    if storage is not None:
        return _storage_bytes(storage)
    mapped = _base_named(t, "mmap.mmap")
    length = None if mapped is None else _dict_of(mapped).get("__len__")
    return length if type(length) is _Slot else None


_TENSORS = ("torch._C.TensorBase", "torch._C._TensorBase")


def _in_c(k, name):
    """A method or attribute in C of a class, unbound; `None` if it has none."""
    found = _dict_of(k).get(name)
    if type(found) is _GetSet:
        return found.__get__
    return found if type(found) is _MethodDescriptor else None


def _storage_of(writer, tensor):
    """A function that tells the storage of a tensor; only in a copy.

    PyTorch makes one object for it, which all tensors with this storage have.
    """
    get = _in_c(tensor, "untyped_storage")
    return lambda o: writer.made(_value_or_missing(get, o))  # a sparse one has none


def _gradient_of(writer, tensor):
    """A function that tells the gradient of a leaf; only in a copy."""
    is_leaf, get = _in_c(tensor, "is_leaf"), _in_c(tensor, "grad")
    return lambda o: writer.made(_value_or_missing(get, o) if is_leaf(o) else None)


def _device_of(storage):
    get = _in_c(storage, "device")
    return lambda o: str(get(o))


def _storage_bytes(storage):
    """What a storage has of its own: none of memory that it shares, as numpy's."""
    resizable, nbytes = _in_c(storage, "resizable"), _in_c(storage, "nbytes")
    device = _device_of(storage)
    return lambda o: int(nbytes(o)) if resizable(o) and device(o) != "meta" else 0


def _text_or_none(text, o):
    try:
        return text(o)
    except Exception:  # a half-made object
        return None


def _size_or_none(kind, o):
    try:
        return kind.sizeof(o)
    except Exception:
        return kind.basic


_MISSING_ID, _STR = id(_missing), id(str)
_ASYNCIO_FAULT = (3, 12, 0) <= sys.version_info[:3] < (3, 12, 6)


def _own_count():
    """`sys.getrefcount` of an object to which only a bucket here refers."""
    bucket = [object()]
    part = bucket[0:1]
    (count,) = map(_refcount, part)
    return count


def _suspended_frame(o):
    """The frame of a generator, coroutine or greenlet, made if it has none."""
    for name in ("gi_frame", "cr_frame", "ag_frame", "gr_frame"):
        found = _in_mro(type(o), name)
        if type(found) is _GetSet:
            return found.__get__(o)
    return None


def _traced():
    """A function that tells where an object was made; `None` without tracemalloc."""
    is_tracing = _of_module("_tracemalloc", "is_tracing")
    if type(is_tracing) is not _Builtin or not is_tracing():
        return None
    return _of_module("_tracemalloc", "_get_object_traceback")


_HIDDEN = (id(list), id(dict), id(set), id(_Moment))


def _write(moment, fd, *, values, compress, mode):
    """Write the dump of a moment to an open file; return the footer."""
    began = time.process_time()
    is_frozen = moment.is_frozen and not moment.is_copy
    out = _Out(fd, compress)
    if moment.is_copy:
        moment.memory.update(_allocators())
    header = {
        "format": "hrpy", "version": 1, "writer": "heaproots_dump " + VERSION,
        "implementation": sys.implementation.name, "python": sys.version.split()[0],
        "pid": moment.pid, "started": moment.started, "mode": mode,
        "values": bool(values), "byteorder": sys.byteorder, "align_bytes": 16,
        "own_references": _own_count(), "immortal_references": _IMMORTAL,
        "frames_are_objects": _PY < (3, 11), "thread_count": len(moment.threads),
        "platform": sys.platform, "memory": moment.memory, "collects": moment.collects,
    }  # fmt: skip
    out.record(b"HEAD", [_json(header).encode("ascii")])
    roots = {
        "threads": moment.threads, "modules": moment.modules, "held": moment.held,
    }  # fmt: skip
    out.record(b"ROOT", [_json(roots).encode("ascii")])
    writer = _Writer(out, values=values, is_copy=moment.is_copy, is_frozen=is_frozen)
    try:
        if is_frozen:
            for i in map(id, moment.objects):
                writer.see(i)
            writer.found([sys.modules])
        writer.found(moment.kept)
        del moment.kept[:]
        writer.write_listed(moment)
        writer.finish()
        footer = {
            "objects": writer.objects, "references": writer.references,
            "types": len(writer.kinds), "cpu_seconds": time.process_time() - began,
        }  # fmt: skip
    finally:
        if not moment.is_copy:  # a circle that would wait for the collector
            vars(writer).clear()
    out.record(b"DONE", [_json(footer).encode("ascii")])
    out.end()
    footer["bytes"] = out.written
    return footer


if __name__ == "__heaproots__":
    _answer(_ASKED)
