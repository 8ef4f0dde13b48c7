"""What `heaproots_dump` writes of real programs, read back."""

from __future__ import annotations

import gzip
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.graph import RootKind
from ingest.heap.read_options import DEFAULTS
from ingest.progress import silent
from ingest.readers import open_source, read
from tests.pythons import PYTHONS, python

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.heap.graph import HeapGraph

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests/programs/sessions.py"
ARRAYS = ROOT / "tests/programs/arrays.py"
WRITER = ROOT / "ingest/capture/python"


def dump_of(path: Path) -> HeapGraph:
    with open_source(str(path)) as source:
        return read(source, DEFAULTS, silent)


def run(python: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [python, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Truth:
    """A graph, asked by names."""

    def __init__(self, graph: HeapGraph) -> None:
        self.graph = graph
        self.metrics = analyse(graph)

    def of_type(self, name: str) -> list[int]:
        kinds = [i for i, n in enumerate(self.graph.type_names) if n == name]
        return np.flatnonzero(np.isin(self.graph.type_index, kinds)).tolist()

    def variable(self, name: str) -> int:
        assert self.graph.root_field is not None
        row = self.graph.field_names.index(name)
        (at,) = np.flatnonzero(self.graph.root_field == row)
        return int(self.graph.root_object[at])

    def fields(self, row: int) -> dict[str | None, int]:
        begin, end = self.graph.ref_start[row : row + 2]
        return {
            self.graph.field_name(at): int(self.graph.ref_target[at])
            for at in range(begin, end)
        }

    def value(self, row: int) -> str | None:
        assert self.graph.values is not None
        return self.graph.values.pick(np.array([row]))[0]

    def name(self, row: int) -> str:
        return self.graph.type_name(row)

    def alive(self, row: int) -> bool:
        return bool(self.metrics.root_distance[row] >= 0)


@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_a_program_is_told_as_it_is(python: str, mode: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions.hrpy"
    mode_told, count, _ = run(python, PROGRAM, mode, path).split()
    truth = Truth(graph := dump_of(path))

    assert mode_told == mode
    assert graph.object_count + graph.folded.object_count == int(count)
    assert len(truth.of_type("__main__.Session")) == 583
    sessions = truth.variable("__main__.SESSIONS")
    assert graph.length is not None
    assert graph.length[sessions] == 500
    session = truth.fields(truth.fields(sessions)["['s7']"])
    assert truth.value(session["number"]) == "7"
    assert truth.value(session["user"]) == "user 7"
    assert truth.value(truth.fields(session["rows"])["[1]"]) == "8"
    slotted = truth.fields(truth.fields(truth.variable("__main__.SLOTTED"))["[3]"])
    assert truth.name(slotted["left"]) == "__main__.Session"
    assert "right" not in slotted
    registry = truth.fields(truth.variable("__main__.REGISTRY"))
    assert truth.value(registry["owner"]) == "somebody"
    assert truth.name(registry["['one']"]) == "__main__.Session"
    stack = truth.fields(truth.variable("__main__.STACK"))
    assert truth.name(stack["[0]"]) == "__main__.Session"
    assert truth.value(stack["owner"]) == "somebody else"
    handler = truth.variable("__main__.HANDLER")
    assert truth.value(handler) == "__main__.make.<locals>.handler"
    cell = truth.fields(truth.fields(handler)["__closure__"])["[0]"]
    rows = truth.fields(cell)["cell_contents"]
    assert truth.name(truth.fields(rows)["[0]"]) == "__main__.Session"
    assert truth.value(truth.variable("__main__.render")) == "__main__.render"
    assert truth.value(truth.variable("__main__.HUGE")) is None
    assert truth.alive(truth.variable("__main__.POINTS"))


@pytest.mark.parametrize("python", PYTHONS)
def test_locals_garbage_and_errors_are_where_they_are(
    python: str, tmp_path: Path
) -> None:
    path = tmp_path / "sessions.hrpy"
    run(python, PROGRAM, "fork", path)
    truth = Truth(graph := dump_of(path))

    names = {graph.root_name(at) for at in range(len(graph.root_object))}
    assert any("local root in worker (" in n and "in_thread" in n for n in names)
    assert any("local root in main (" in n and "in_main" in n for n in names)
    assert "worker 7" in graph.owners
    (cycle,) = truth.of_type("__main__.Cycle")
    assert not truth.alive(cycle)
    error = truth.fields(truth.variable("__main__.LAST_ERROR"))
    frame = truth.fields(error["__traceback__"])
    while "tb_next" in frame:
        frame = truth.fields(frame["tb_next"])
    frame_row = frame["tb_frame"]
    assert (truth.value(frame_row) or "").startswith("fail (")
    held = truth.fields(frame_row)
    assert truth.name(held["local"]) == "__main__.Session"
    unreachable = np.count_nonzero(truth.metrics.root_distance < 0)
    assert unreachable < 0.01 * graph.object_count
    held_by_c = np.count_nonzero(graph.root_kind == RootKind.RUNTIME)
    assert held_by_c < 0.1 * graph.object_count
    assert graph.missing_count < 0.01 * graph.object_count


@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_locals_of_threads_and_contexts_and_handlers_have_their_names(
    python: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "sessions.hrpy"
    run(python, PROGRAM, mode, path)
    truth = Truth(graph := dump_of(path))

    local = truth.fields(truth.variable("__main__.LOCALS"))
    for name in ("['plain']", "['own']"):
        threads = truth.fields(truth.fields(local[name])["(threads)"])
        session = truth.fields(threads["[0]"])["['session']"]
        assert truth.value(truth.fields(session)["number"]) == "-5"
    nodes = [row for kind in _NODES for row in truth.of_type(kind)]
    of_variables = {
        truth.value(truth.fields(truth.fields(row)[name])["number"])
        for row in nodes
        for name in truth.fields(row)
        if name in ("current session", "other 7", "other 49")
    }
    assert of_variables == {"-6", "-7"}
    names = {graph.root_name(at) for at in range(len(graph.root_object))}
    assert "runtime root context of a thread" in names
    assert "runtime root handler of signal 10" in names
    assert "runtime root callback of atexit" in names


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stop", "fork"])
def test_arrays_have_their_elements_and_what_owns_their_memory(
    mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "arrays.hrpy"
    run(sys.executable, ARRAYS, mode, path)
    truth = Truth(graph := dump_of(path))
    items = truth.of_type("__main__.Item")
    of = {name: truth.variable(f"__main__.{name}") for name in _ARRAYS}

    assert len(items) == 205 + len(truth.of_type("pandas.core.frame.DataFrame"))
    assert all(map(truth.alive, items))
    held_by_c = graph.root_object[graph.root_kind == RootKind.RUNTIME]
    assert not {*items, *of.values()} & {*held_by_c.tolist()}
    assert graph.shallow_bytes[of["LARGE"]] == 8_000_112
    assert truth.value(of["LARGE"]) == "<f8 (1000000,)"
    owner = truth.fields(of["VIEW"])["base"]
    assert graph.shallow_bytes[owner] > 800_000
    elements = truth.fields(of["ITEMS"])
    assert truth.value(truth.fields(elements["[3]"])["number"]) == "2"
    assert set(truth.fields(of["SOME"])) == {"base", "dtype"}
    assert truth.fields(of["SOME"])["base"] == of["ITEMS"]
    assert (
        truth.value(truth.fields(truth.fields(of["SCALAR"])["[0]"])["number"]) == "-3"
    )
    assert truth.name(truth.fields(of["NESTED"])["[0]"]) == "numpy.ndarray"
    assert truth.value(truth.fields(of["SUB"])["label"]) == "mine"
    assert graph.external is not None
    told = zip(graph.external.object_index, graph.external.size_bytes, strict=True)
    assert {(at, size) for at, size in told if at in of.values()} == {
        (of["MAPPED"], 300_000), (of["OF_C"], 560_000),
    }  # fmt: skip
    names = [graph.external.names[at] for at in graph.external.name_index]
    assert set(names) == {"mapped memory", "data of an array"}


_ARRAYS = (
    "LARGE", "VIEW", "ITEMS", "SOME", "SCALAR", "NESTED", "SUB", "SUB_ITEMS", "MAPPED",
    "OF_MAPPED", "OF_C",
)  # fmt: skip
_NODES = ("hamt_bitmap_node", "hamt_array_node", "hamt_collision_node")


def test_without_values_only_names_of_the_program_are_written(tmp_path: Path) -> None:
    path = tmp_path / "sessions.hrpy"
    run(sys.executable, PROGRAM, "fork", path, "--no-values")
    data = path.read_bytes()
    truth = Truth(dump_of(path))

    assert b"swordfish" not in data
    assert b"user 7" not in data
    session = truth.fields(truth.of_type("__main__.Session")[0])
    assert {"number", "user", "rows"} <= set(session)
    assert truth.value(session["number"]) is None


def test_a_compressed_dump_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sessions.hrpy.gz"
    run(sys.executable, PROGRAM, "stop", path)

    assert gzip.decompress(path.read_bytes()).startswith(b"\x89HRPY")
    assert len(Truth(dump_of(path)).of_type("__main__.Session")) == 583
    assert [one.name for one in tmp_path.iterdir()] == ["sessions.hrpy.gz"]


_SLOTS = """
import sys
sys.path.insert(0, {writer!r})
import heaproots_dump
class Base:
    __slots__ = ("loop",)
class Direct(Base): pass
class Further(Direct):
    __slots__ = ("own",)
KEPT = [Direct(), Further()]
for one in KEPT: one.loop = [1]
KEPT[1].own = [2]
heaproots_dump.dump({path!r}, "fork")
"""


def test_slots_of_all_bases_have_names(tmp_path: Path) -> None:
    path = tmp_path / "slots.hrpy"
    program = _SLOTS.format(writer=str(WRITER), path=str(path))
    run(sys.executable, "-c", program)
    truth = Truth(dump_of(path))

    (direct,), (further,) = map(truth.of_type, ("__main__.Direct", "__main__.Further"))
    assert "loop" in truth.fields(direct)
    assert {"loop", "own"} <= set(truth.fields(further))


_RARE = """
import sys
sys.path.insert(0, {writer!r})
import heaproots_dump
class Metric:
    def __init__(self, parent):
        if parent is None:
            self.children = {{}}
        self.parent = parent
TOP = Metric(None)
for number in range(40):
    TOP.children[object(), number] = Metric(TOP)
heaproots_dump.dump({path!r}, "stop")
"""


def test_attributes_that_only_few_objects_of_a_class_have_are_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rare.hrpy"
    run(sys.executable, "-c", _RARE.format(writer=str(WRITER), path=str(path)))
    truth = Truth(dump_of(path))

    assert any(
        "children" in truth.fields(at) for at in truth.of_type("__main__.Metric")
    )


_FROZEN = """
import gc, sys
sys.path.insert(0, {writer!r})
import heaproots_dump
class Thing: pass
THINGS = [Thing() for _ in range(100)]
if {freeze}:
    gc.freeze()
gc.disable()
before = gc.get_freeze_count(), gc.isenabled(), gc.get_threshold()
modules = set(sys.modules)
heaproots_dump.dump({path!r}, {mode!r})
assert before == (gc.get_freeze_count(), gc.isenabled(), gc.get_threshold())
left = [o for o in gc.get_objects() if type(o).__module__ == "heaproots_dump"]
assert not left, "garbage that would be in the next dump"
print(sorted(set(sys.modules) - modules))
"""


@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_what_the_collector_does_not_list_is_found_and_it_is_not_changed(
    python: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "frozen.hrpy"
    text = _FROZEN.format(writer=str(WRITER), path=str(path), mode=mode, freeze=True)

    assert run(python, "-c", text) == "[]\n"
    assert len(Truth(dump_of(path)).of_type("__main__.Thing")) == 100


_LAZY = """
import sys
sys.path.insert(0, {writer!r})
import heaproots_dump
RAN = []
def ran():
    RAN.append(1)
class Declared:
    amount: ran()
    owner: list[ran()]
THINGS = [Declared() for _ in range(50)]
for thing in THINGS:
    for name in ("am" + "ount", "ow" + "ner", "un" + "told"):
        setattr(thing, name, [name])
top: ran()
def function(argument: ran()) -> ran(): pass
heaproots_dump.dump({path!r}, {mode!r})
assert not RAN, "the program's code was run"
assert "__annotations_cache__" not in vars(Declared)
print(function.__annotate__ is not None, "__annotations__" in globals())
"""


@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", [python(14)])
def test_annotations_that_wait_to_be_asked_for_name_attributes_and_are_not_run(
    python: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "lazy.hrpy"
    text = _LAZY.format(writer=str(WRITER), path=str(path), mode=mode)

    assert run(python, "-c", text) == "True False\n"
    truth = Truth(dump_of(path))
    fields = truth.fields(truth.of_type("__main__.Declared")[7])
    assert truth.value(truth.fields(fields["amount"])["[0]"]) == "amount"
    assert truth.value(truth.fields(fields["owner"])["[0]"]) == "owner"


_TRACED = """
import sys, tracemalloc
sys.path.insert(0, {writer!r})
import heaproots_dump
class Thing:
    __slots__ = ("value",)
BEFORE = Thing()
tracemalloc.start(2)
def make():
    return Thing()
THINGS = [make() for _ in range(100)]
heaproots_dump.dump({path!r}, {mode!r})
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_objects_have_their_sites_where_the_program_traces_them(
    python: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "traced.hrpy"
    run(python, "-c", _TRACED.format(writer=str(WRITER), path=str(path), mode=mode))
    truth = Truth(graph := dump_of(path))

    assert graph.history is not None
    made = graph.history.allocations
    assert made is not None
    of = dict(zip(made.address.tolist(), made.site.tolist(), strict=True))
    things = [
        of.get(int(graph.object_id[row])) for row in truth.of_type("__main__.Thing")
    ]
    assert things.count(None) == 1  # made before
    (site,) = {made.sites[at] for at in things if at is not None}
    assert site[:2] == ("<string>:10", "<string>:11")


_HOLED = """
import sys
import xml.etree.ElementTree as ET
sys.path.insert(0, {writer!r})
import heaproots_dump
class Thing: pass
THINGS = [Thing()]
parser = ET.XMLParser()
parser.feed("<feed><item>")  # whose stack has room for further ones
def second():
    yield 1
    heaproots_dump.dump({path!r}, {mode!r})  # while `zip` waits for its second element
pairs = zip([1, Thing()], second())
first = next(pairs)
next(pairs, None)
"""


@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_places_that_c_has_not_filled_yet_are_not_read(
    python: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "holed.hrpy"
    run(python, "-c", _HOLED.format(writer=str(WRITER), path=str(path), mode=mode))
    truth = Truth(dump_of(path))

    assert len(truth.of_type("__main__.Thing")) == 2
    assert len(truth.of_type("xml.etree.ElementTree.Element")) == 2
    unreachable = truth.metrics.root_distance[truth.of_type("__main__.Thing")] < 0
    assert not unreachable.any()


_TOUCHED = """
import functools, sys, typing
sys.path.insert(0, {writer!r})
import heaproots_dump
class Thing:
    def __init__(self, number):
        self.number, self.rows = number, [number]
THINGS = [Thing(number) for number in range(300)]
KEPT = [vars(thing) for thing in THINGS[100:]][:10]
class Set:
    pass
SET = [Set() for _ in range(30)]
for at, one in enumerate(SET):
    setattr(one, "a" + str(at % 5), [at])
    vars(one) if at % 2 else None
class Wrapper:
    def __init__(self, called):
        functools.update_wrapper(self, called)
        self.rows = [called]
WRAPPER = Wrapper(lambda: None)
heaproots_dump.dump({path!r}, {mode!r})
"""


ODD_SIZES = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import heaproots_dump

class Frame:
    __slots__ = ("first", "second")

frames = [Frame() for _ in range(3)]
frames[0].first = "where a size is expected"
items = ctypes.c_ssize_t.from_address(id(Frame) + 40)  # tp_itemsize
items.value = 1
assert sys.getsizeof(frames[0]) > 1 << 40
heaproots_dump.dump(sys.argv[2], mode="stop")
items.value = 0
"""


def test_an_object_is_not_larger_than_all_memory(tmp_path: Path) -> None:
    """As frames of Nuitka say, where a pointer stands in place of their length."""
    run(sys.executable, "-c", ODD_SIZES, WRITER, tmp_path / "odd.hrpy")

    truth = Truth(dump_of(tmp_path / "odd.hrpy"))

    sizes = truth.graph.shallow_bytes[truth.of_type("__main__.Frame")]
    assert len(sizes) == 3
    assert sizes.max() < 100


@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_objects_whose_dict_was_asked_for_hold_what_they_have(
    python: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "touched.hrpy"
    run(python, "-c", _TOUCHED.format(writer=str(WRITER), path=str(path), mode=mode))
    truth = Truth(graph := dump_of(path))

    assert "repeated_object" not in {found.kind for found in graph.irregularities}
    held_by_c = graph.root_object[graph.root_kind == RootKind.RUNTIME]
    dicts = {*truth.of_type("dict")} & {*held_by_c.tolist()}
    assert not [row for row in dicts if "['rows']" in truth.fields(row)]
    for row in truth.of_type("__main__.Thing")[:100]:
        rows = truth.fields(row).get("rows")
        if rows is not None:  # else in its dict, which something has too
            assert truth.metrics.dominator[rows] == row


_SIGNALLED = """
import signal, sys, time
sys.path.insert(0, {writer!r})
from heaproots_dump import install
install(signal.SIGUSR2, {pattern!r})
print("ready", flush=True)
while True:
    time.sleep(30)
"""


def test_a_signal_writes_a_dump_each_time(tmp_path: Path) -> None:
    pattern = str(tmp_path / "{pid}-{n}.hrpy")
    text = _SIGNALLED.format(writer=str(WRITER), pattern=pattern)
    program = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        for number in (1, 2):
            os.kill(program.pid, signal.SIGUSR2)
            path = tmp_path / f"{program.pid}-{number}.hrpy"
            until = time.monotonic() + 20
            while not path.exists() and time.monotonic() < until:
                time.sleep(0.02)
            assert dump_of(path).object_count > 1000
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        if children.exists():
            assert not children.read_text().split()
        assert program.poll() is None
    finally:
        program.kill()
        program.communicate()


_FULL = """
import sys
sys.path.insert(0, {writer!r})
import heaproots_dump
try:
    heaproots_dump.dump({path!r}, {mode!r})
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("mode", ["stop", "fork"])
def test_nothing_remains_where_the_file_cannot_be_written(
    mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "x.hrpy"
    text = _FULL.format(writer=str(WRITER), path=str(path), mode=mode)

    assert run(sys.executable, "-c", text) == "FileNotFoundError\n"
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    path.parent.mkdir()
    told = run(sys.executable, "-c", limited + text)
    assert told in ("OSError\n", "DumpRefused\n")
    assert not list(path.parent.iterdir())


_COSTS = """
import gc, resource, sys
sys.path.insert(0, {writer!r})
import heaproots_dump
class Order:
    def __init__(self, number):
        self.number, self.lines = number, [number, (number, "line %d" % number)]
ORDERS = {{number: Order(number) for number in range(60_000)}}
if {freeze}:
    gc.freeze()
def costs():
    with open("/proc/self/status") as lines:
        (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before, faults = costs()
heaproots_dump.dump({path!r}, {mode!r})
after, more_faults = costs()
print(before, after, more_faults - faults)
"""


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("python", PYTHONS)
def test_the_program_itself_writes_with_little_memory(
    python: str, tmp_path: Path, *, freeze: bool
) -> None:
    path = str(tmp_path / "x.hrpy")
    text = _COSTS.format(writer=str(WRITER), path=path, mode="stop", freeze=freeze)
    before, after, _ = map(int, run(python, "-c", text).split())

    assert after - before < 0.35 * before


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_a_copy_of_one_thread_leaves_the_memory_of_the_program_as_it_is(
    python: str, tmp_path: Path
) -> None:
    """Each page that the program writes to is copied; counting references writes."""
    path = str(tmp_path / "x.hrpy")
    text = _COSTS.format(writer=str(WRITER), path=path, mode="fork", freeze=False)
    before, _, copied = map(int, run(python, "-c", text).split())

    assert copied * os.sysconf("SC_PAGE_SIZE") < 0.2 * before * 1024


_MANY = """
import collections, dataclasses, gc, sys
sys.path[:0] = [{writer!r}, {programs!r}]
import heaproots_dump
from allocators import allocated
class Order:
    def __init__(self, number):
        self.number, self.customer, self.lines = number, str(number), [number]
class Wide:
    def __init__(self):
        for number in range(12):
            setattr(self, "a%d" % number, None)
@dataclasses.dataclass
class Row:
    left: int
    right: str
    weight: float = 1.5
class Extended(dict):
    pass
class Slotted:
    __slots__ = ("left", "__dict__")
Point = collections.namedtuple("Point", "x y z")
class Error(Exception):
    pass
def make(number):
    slotted = Slotted()
    slotted.left = slotted.right = {{number, None}}
    slotted.next = collections.defaultdict(list, a=[])
    return (Order(number), Wide(), Row(1, "b"), Extended(a=number), slotted,
        Point(1, 2, 3), Error(number), lambda: number)
KEPT = [make(number) for number in range(15_000)]
gc.collect()
before = allocated()
heaproots_dump.dump({path!r}, "fork")
print(before)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    platform.libc_ver() < ("glibc", "2.33"), reason="mallinfo2 is of glibc 2.33"
)
@pytest.mark.parametrize("python", PYTHONS)
def test_sizes_add_up_to_what_is_allocated(python: str, tmp_path: Path) -> None:
    path = tmp_path / "x.hrpy"
    text = _MANY.format(
        writer=str(WRITER), programs=str(PROGRAM.parent), path=str(path)
    )
    allocated = int(run(python, "-c", text))

    found = int(dump_of(path).shallow_bytes.sum()) / allocated
    assert 0.95 < found < 1.01, found


_DICTS = """
import collections, functools, sys
sys.path.insert(0, {writer!r})
import heaproots_dump
class Queue(collections.deque):
    pass
@functools.lru_cache(maxsize=None)
def page(number: int, kind: str = "plain"):
    return {{"page": number}}
@functools.lru_cache(maxsize=50)
def bounded(number: int):
    return {{"page": number}}
for number in range(20):
    page(number), bounded(number)
QUEUE = Queue([{{"page": 1}}])
QUEUE.mine = [2]
ASKED = functools.partial(print, end="")
ASKED.mine = [3]
END = StopIteration({{"page": 4}})
heaproots_dump.dump({path!r}, "fork")
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_only_its_own_dict_is_a_part_of_an_object(python: str, tmp_path: Path) -> None:
    path = tmp_path / "x.hrpy"
    run(python, "-c", _DICTS.format(writer=str(WRITER), path=str(path)))
    graph = dump_of(path)
    assert graph.values is not None

    found: dict[str, set[str | None]] = {}
    for row, kind in enumerate(graph.type_index[: graph.object_count].tolist()):
        (text,) = graph.values.pick(np.array([row], np.int32))
        name = f"{graph.type_names[kind]} {text or ''}".strip()
        rows = range(*graph.ref_start[row : row + 2].tolist())
        found.setdefault(name, set()).update(map(graph.field_name, rows))
    assert {"__wrapped__", "cache_parameters"} < found[f"{_CACHE} __main__.page"]
    assert {"__wrapped__", "cache_parameters"} < found[f"{_CACHE} __main__.bounded"]
    assert "mine" in found["__main__.Queue"]
    assert "mine" in found["functools.partial"]
    own = found.keys() - {"dict"}
    assert not any("page" in found[name] for name in own if name != "module __main__")


_CACHE = "functools._lru_cache_wrapper"


_DEEP = """
import sys
sys.path.insert(0, {writer!r})
import heaproots_dump
sys.setrecursionlimit(1_010_000)
def down(depth):
    local = [depth]
    if depth:
        return down(depth - 1) + 1
    heaproots_dump.dump({path!r}, {mode!r})
    return 0
print(down(1_000_000))
"""


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS[-5:])
def test_a_million_frames(python: str, mode: str, tmp_path: Path) -> None:
    """From 3.11 on; before, C's stack would be at its end."""
    path = tmp_path / "deep.hrpy"
    text = _DEEP.format(writer=str(WRITER), path=str(path), mode=mode)

    assert run(python, "-c", text) == "1000000\n"
    truth = Truth(graph := dump_of(path))
    assert len(truth.of_type("list")) >= 100_000
    assert graph.stacks is not None
    assert len(graph.stacks.frames) == 100_000


_ASYNC = """
import asyncio, gc, sys
sys.path.insert(0, {writer!r})
import heaproots_dump
async def work(number):
    await asyncio.sleep(0)
    return number
async def main():
    before = asyncio.current_task()
    for number in range(5):
        heaproots_dump.dump({path!r}, {mode!r})
        gc.collect()
        found = await asyncio.gather(*[work(n) for n in range(200)])
        assert found == list(range(200)), found
        assert asyncio.current_task() is before
    print("right")
asyncio.run(main())
gc.collect()
"""


SNAPSHOTS = """
import sys
sys.path.insert(0, sys.argv[1])
import heaproots_dump

def dump(*_):
    sys.settrace(None)
    sys.setprofile(None)
    heaproots_dump.dump(sys.argv[2], "stop")
def called(first, *others):
    return first, others
def keeps(first):
    kept = locals()
    dump()
    return kept["first"]
for watch in (sys.settrace, sys.setprofile):
    watch(dump)
    assert called(1, 2) == (1, (2,))
assert keeps(1) == 1
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_variables_of_the_program_stay_as_they_are(python: str, tmp_path: Path) -> None:
    """Before 3.13, those of a traced function are set from the snapshot of them."""
    run(python, "-c", SNAPSHOTS, WRITER, tmp_path / "x.hrpy")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_a_program_of_tasks_goes_on(python: str, mode: str, tmp_path: Path) -> None:
    """CPython 3.12.0 to 3.12.5 spoils its free list if its module is traversed."""
    path = tmp_path / "tasks.hrpy"
    text = _ASYNC.format(writer=str(WRITER), path=str(path), mode=mode)

    assert run(python, "-c", text) == "right\n"
    assert Truth(dump_of(path)).of_type("_asyncio.Task")


_UNLOCKED = """
import sys
sys.path.insert(0, {writer!r})
import heaproots_dump
sys._is_gil_enabled = lambda: False
try:
    heaproots_dump.dump({path!r})
except heaproots_dump.DumpRefused as refused:
    print(refused)
"""


def test_a_free_threaded_python_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.hrpy"
    text = _UNLOCKED.format(writer=str(WRITER), path=str(path))

    told = run(sys.executable, "-c", text)
    assert told.startswith("a free-threaded Python cannot be dumped")
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a quarter of a MiB, in memory."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("this container may not mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["stop", "fork"])
@pytest.mark.parametrize("python", PYTHONS)
def test_nothing_remains_on_a_full_disk(
    python: str, mode: str, small_disk: Path
) -> None:
    path = small_disk / "x.hrpy"
    text = _FULL.format(writer=str(WRITER), path=str(path), mode=mode)
    text += "    print(error)\n"

    told = run(python, "-c", text)
    assert told.splitlines()[0] in ("OSError", "DumpRefused")
    assert "No space left on device" in told
    assert not list(small_disk.iterdir())


def test_c_holds_no_greenlet(tmp_path: Path) -> None:
    """The collector does not tell of them, so they are found in lists."""
    pytest.importorskip("greenlet")
    lines = """
import greenlet, sys
sys.path.insert(0, sys.argv[1])
import heaproots_dump
class Green(greenlet.greenlet): pass
ENDED = [Green(int) for _ in range(200)]
for one in ENDED:
    one.switch()
heaproots_dump.dump(sys.argv[2])
"""
    path = tmp_path / "x.hrpy"
    run(sys.executable, "-c", lines, str(WRITER), path)
    graph = dump_of(path)

    rows = Truth(graph).of_type("__main__.Green")
    assert len(rows) == 200
    held_by_c = graph.root_object[graph.root_kind == RootKind.RUNTIME]
    assert not np.isin(rows, held_by_c).any()
