"""Programs that leak, in many ways; what each returns are the right answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model
from tests.bench.answers.cases import Case, Program, Truth

if TYPE_CHECKING:
    from tests.bench.answers.cases import Maker


def items(
    program: Program, count: int, kind: str = "", *, parts: int = 1, extra: int = 16
) -> tuple[str, list[int]]:
    """So many objects of a type, each with a few others below."""
    runtime, names = program.runtime, program.names
    kind = kind or program.new_type(*(names.field() + str(row) for row in range(parts)))
    length = program.random.randint(4, 40)
    made = []
    for _ in range(count):
        held = [runtime.string(length) for _ in range(parts)]
        made.append(runtime.object(kind, held, extra))
    return kind, made


def static_list(program: Program) -> list[Truth]:
    kind, made = items(program, program.objects(8_000, 15_000))
    return [Truth(kind, *program.static(program.runtime.list(kind, made)))]


def static_map(program: Program) -> list[Truth]:
    kind, made = items(program, program.objects(6_000, 12_000), parts=2)
    runtime = program.runtime
    pairs = [(runtime.string(20), each) for each in made]
    pile = runtime.map(runtime.string_type, kind, pairs)
    return [Truth(kind, *program.static(pile))]


def field_list(program: Program) -> list[Truth]:
    """In a field of an object that a static holds."""
    kind, made = items(program, program.objects(8_000, 15_000))
    owner, *truth = program.held_by(program.runtime.list(kind, made))
    program.static(owner)
    return [Truth(kind, *truth)]


def field_map(program: Program) -> list[Truth]:
    kind, made = items(program, program.objects(5_000, 9_000), parts=2)
    runtime = program.runtime
    pairs = [(runtime.string(20), each) for each in made]
    owner, *truth = program.held_by(runtime.map(runtime.string_type, kind, pairs))
    program.static(owner)
    return [Truth(kind, *truth)]


def subscribers(program: Program, count: int) -> tuple[str, int]:
    """Objects whose methods an event calls, each with a buffer; and the event."""
    runtime = program.runtime
    kind = program.new_type("_buffer", "_title")
    made = [
        runtime.object(kind, [runtime.bytes(200), runtime.string(12)])
        for _ in range(count)
    ]
    handler = program.new_type() if program.random.random() < 0.5 else ""
    name = (handler + "EventHandler",) if handler else ()
    return kind, runtime.event(made, *name)


def event_of_object(program: Program) -> list[Truth]:
    kind, event = subscribers(program, program.objects(2_000, 6_000))
    owner, *truth = program.held_by(event)
    program.static(owner)
    return [Truth(kind, *truth)]


def static_event(program: Program) -> list[Truth]:
    kind, event = subscribers(program, program.objects(2_000, 6_000))
    return [Truth(kind, *program.static(event))]


def few_screens(program: Program) -> list[Truth]:
    """Few closed screens, each with much below, that an event keeps."""
    runtime = program.runtime
    screen = program.new_type("_texture", "_sprites")
    sprite, image = program.new_type("_name"), program.new_type("_pixels")
    made = []
    for _ in range(program.objects(20, 45)):
        _, sprites = items(program, program.objects(80, 150), sprite)
        texture = runtime.object(image, [runtime.bytes(30_000)])
        made.append(runtime.object(screen, [texture, runtime.list(sprite, sprites)]))
    owner, *truth = program.held_by(runtime.event(made))
    program.static(owner)
    return [Truth(screen, *truth)]


def chain(program: Program) -> list[Truth]:
    """A linked list of the program's own nodes, which only grows."""
    runtime = program.runtime
    kind = program.new_type("_next", "_text")
    made: list[int] = []
    for _ in range(program.objects(15_000, 30_000)):
        made.append(runtime.object(kind, [*made[-1:], runtime.string(10)]))
    owner, *truth = program.held_by(made[-1])
    program.static(owner)
    return [Truth(kind, *truth)]


def queue_of_jobs(program: Program) -> list[Truth]:
    kind, made = items(program, program.objects(9_000, 15_000), parts=2)
    owner, *truth = program.held_by(program.runtime.queue(kind, made))
    program.static(owner)
    return [Truth(kind, *truth)]


def timers(program: Program) -> list[Truth]:
    """Objects that timers call; the runtime's queue holds the timers."""
    kind, made = items(program, program.objects(3_000, 6_000), parts=2)
    program.runtime.timers(made)
    return [Truth(kind, None)]


def many_holders(program: Program) -> list[Truth]:
    """Some hundred objects, each with a list that grows."""
    runtime = program.runtime
    kind, field = program.new_type("_text"), program.names.field()
    each_holder = program.new_type(field)
    holders = []
    for _ in range(program.objects(300, 600)):
        _, made = items(program, program.objects(20, 50), kind)
        holders.append(runtime.object(each_holder, [runtime.list(kind, made)]))
    owner, *truth = program.held_by(runtime.list(each_holder, holders))
    program.static(owner)
    return [
        Truth(kind, each_holder, program.field_of(field)),
        Truth(each_holder, *truth),
    ]


def one_array(program: Program) -> list[Truth]:
    kind, made = items(program, program.objects(20_000, 30_000), parts=0, extra=24)
    owner, *truth = program.held_by(program.runtime.array(kind, made))
    program.static(owner)
    return [Truth(kind, *truth)]


def captured(program: Program) -> list[Truth]:
    """A list that a closure captures, which a static event calls."""
    kind, made = items(program, program.objects(8_000, 12_000))
    runtime = program.runtime
    inside = program.new_type()
    closure = runtime.closure(inside, [runtime.list(kind, made), runtime.string(9)])
    holder, reference = program.static(closure)
    truths = [Truth(kind, holder, reference)]
    if not program.has_fields:
        scope = runtime.nested(inside, "<>c__DisplayClass4_0")
        truths += [Truth(kind, scope), Truth(kind, inside)]
    return truths


def thread_static(program: Program) -> list[Truth]:
    kind, made = items(program, program.objects(8_000, 12_000))
    runtime = program.runtime
    pile = runtime.list(kind, made)
    owner, name = program.new_type(), program.names.field()
    if program.format == "gclog":
        table = runtime.array("System.Object", [pile], 64)
        program.heap.held[runtime.thread()].append(table)
        return [Truth(kind, None)]
    program.heap.root(pile, model.THREAD_STATIC, owner, name)
    return [
        Truth(
            kind,
            owner if program.has_statics else None,
            name if program.has_static_names else None,
        )
    ]


def handles(program: Program) -> list[Truth]:
    """A GC handle for each object, never freed."""
    kind, made = items(program, program.objects(6_000, 12_000), parts=2)
    for each in made:
        program.heap.root(each, model.HANDLE)
    return [Truth(kind, None)]


def pinned_buffers(program: Program) -> list[Truth]:
    runtime = program.runtime
    for _ in range(program.objects(1_000, 2_000)):
        program.heap.root(runtime.bytes(1_500), model.PINNED)
    return [Truth(runtime.bytes_type, None)]


def weak_decoy(program: Program) -> list[Truth]:
    """As much again is known to weak handles only, and is no leak."""
    truth = field_list(program)
    _, made = items(program, program.objects(8_000, 12_000))
    for each in made:
        program.heap.root(each, model.WEAK)
    return truth


def beside_a_buffer(program: Program) -> list[Truth]:
    """One healthy array is smaller than the leak, but bigger than any one of it."""
    truth = field_list(program)
    size = int(program.heap.total_bytes * 0.7)
    owner, _, _ = program.held_by(program.runtime.bytes(size))
    program.static(owner)
    return truth


def beside_a_cache(program: Program) -> list[Truth]:
    """A cache of few large pictures is smaller than the leak."""
    truth = field_list(program)
    runtime = program.runtime
    size = program.heap.total_bytes // 60
    picture = program.new_type("_pixels")
    pairs = [
        (runtime.string(20), runtime.object(picture, [runtime.bytes(size)]))
        for _ in range(32)
    ]
    owner, _, _ = program.held_by(runtime.map(runtime.string_type, picture, pairs))
    program.static(owner)
    return truth


def wrapped(program: Program) -> list[Truth]:
    """Below several layers of objects that have one each."""
    kind, made = items(program, program.objects(8_000, 12_000))
    pile = program.runtime.list(kind, made)
    below, *truth = program.held_by(pile, program.runtime.string(20))
    for _ in range(5):
        below, _, _ = program.held_by(below, program.runtime.string(20))
    program.static(below)
    return [Truth(kind, *truth)]


def tree(program: Program) -> list[Truth]:
    """A tree of the program's own nodes, of which each has a few children."""
    runtime = program.runtime
    kind = program.new_type("_text", "_first", "_second")
    made: list[int] = []
    for _ in range(program.objects(20_000, 30_000)):
        made.append(runtime.object(kind, [runtime.string(8)], 16))
        if len(made) > 1:
            program.heap.held[made[len(made) // 2 - 1]].append(made[-1])
    owner, *truth = program.held_by(made[0])
    program.static(owner)
    return [Truth(kind, *truth)]


def strings(program: Program) -> list[Truth]:
    runtime = program.runtime
    made = [runtime.string(60) for _ in range(program.objects(15_000, 25_000))]
    owner, *truth = program.held_by(runtime.list(runtime.string_type, made))
    program.static(owner)
    return [Truth(runtime.string_type, *truth)]


def byte_arrays(program: Program) -> list[Truth]:
    """Buffers by name, of very different sizes."""
    runtime, random = program.runtime, program.random
    pairs = [
        (runtime.string(18), runtime.bytes(int(random.paretovariate(1.5) * 800)))
        for _ in range(program.objects(800, 1_600))
    ]
    pile = runtime.map(runtime.string_type, runtime.bytes_type, pairs)
    owner, *truth = program.held_by(pile)
    program.static(owner)
    return [Truth(runtime.bytes_type, *truth)]


def sessions(program: Program) -> list[Truth]:
    """Sessions with messages, in a map for many threads."""
    runtime = program.runtime
    kind, message = program.new_type("_messages", "_user"), program.new_type("_text")
    pairs = []
    for _ in range(program.objects(800, 1_400)):
        _, made = items(program, program.objects(3, 12), message)
        session = runtime.object(kind, [runtime.list(message, made), runtime.string(9)])
        pairs.append((runtime.string(32), session))
    pile = runtime.concurrent_map(runtime.string_type, kind, pairs)
    owner, *truth = program.held_by(pile)
    program.static(owner)
    return [Truth(kind, *truth)]


def library_chain(program: Program) -> list[Truth]:
    """A linked list of the library."""
    kind, made = items(program, program.objects(8_000, 14_000))
    owner, *truth = program.held_by(program.runtime.linked_list(kind, made))
    program.static(owner)
    return [Truth(kind, *truth)]


def local_list(program: Program) -> list[Truth]:
    """What a method that never ends has in a variable."""
    kind, made = items(program, program.objects(8_000, 14_000))
    program.runtime.thread([program.runtime.list(kind, made)])
    return [Truth(kind, None)]


def finalizers(program: Program) -> list[Truth]:
    """Objects that wait for a finalizer that hangs."""
    runtime = program.runtime
    kind = program.new_type("_buffer")
    for _ in range(program.objects(3_000, 5_000)):
        waiting = runtime.object(kind, [runtime.bytes(120)])
        program.heap.root(waiting, model.FINALIZER)
    return [Truth(kind, None)]


def two_leaks(program: Program) -> list[Truth]:
    """Two of about one size: either may come first."""
    return [*field_list(program), *queue_of_jobs(program)]


def two_indexes(program: Program) -> list[Truth]:
    """A list and a map of one object hold the same things."""
    runtime = program.runtime
    kind, made = items(program, program.objects(8_000, 12_000))
    pairs = [(runtime.string(12), each) for each in made]
    one, other = program.names.field() + "1", program.names.field() + "2"
    holder = program.new_type(one, other)
    by_name = runtime.map(runtime.string_type, kind, pairs)
    program.static(runtime.object(holder, [runtime.list(kind, made), by_name]))
    return [Truth(kind, holder, program.field_of(name)) for name in (one, other)]


def two_holders(program: Program) -> list[Truth]:
    """Lists of two objects hold the same things, so that neither dominates them."""
    kind, made = items(program, program.objects(10_000, 15_000), parts=2)
    truths = []
    for _ in range(2):
        owner, *truth = program.held_by(program.runtime.list(kind, list(made)))
        program.static(owner)
        truths.append(Truth(kind, *truth))
    return truths


_CASES: tuple[tuple[Maker, float, tuple[str, ...]], ...] = (
    (static_list, 0.5, ("gclog", "gcdump", "nettrace", "dartheap", "v8")),
    (static_map, 0.3, ("gcdump", "dartheap", "v8")),
    (field_list, 0.05, ("gclog",)),
    (field_list, 0.12, ("gcdump",)),
    (field_map, 0.35, ("dartheap", "v8")),
    (event_of_object, 0.4, ("gclog", "traverseheap", "dartheap", "v8")),
    (static_event, 0.6, ("gcdump", "v8")),
    (few_screens, 0.7, ("gclog", "v8")),
    (chain, 0.3, ("gclog", "dartheap", "v8")),
    (queue_of_jobs, 0.25, ("nettrace",)),
    (timers, 0.3, ("gclog", "dartheap", "v8")),
    (many_holders, 0.4, ("traverseheap", "dartheap", "v8")),
    (one_array, 0.3, ("clrprofiler", "v8")),
    (captured, 0.3, ("gclog", "dartheap", "v8")),
    (thread_static, 0.4, ("gcdump", "gclog")),
    (handles, 0.3, ("nettrace",)),
    (pinned_buffers, 0.4, ("gclog",)),
    (weak_decoy, 0.4, ("gclog",)),
    (beside_a_buffer, 0.6, ("gclog", "gcdump")),
    (beside_a_cache, 0.6, ("gclog", "dartheap", "v8")),
    (wrapped, 0.4, ("gclog", "dartheap", "v8")),
    (tree, 0.4, ("gcdump", "dartheap", "v8")),
    (strings, 0.3, ("gclog", "dartheap", "v8")),
    (byte_arrays, 0.5, ("nettrace", "v8")),
    (sessions, 0.4, ("nettrace", "gclog", "v8")),
    (library_chain, 0.3, ("clrprofiler",)),
    (local_list, 0.4, ("gclog",)),
    (finalizers, 0.3, ("gclog",)),
    (two_leaks, 0.6, ("gclog",)),
    (two_indexes, 0.4, ("dartheap", "gclog", "v8")),
    (two_holders, 0.4, ("gclog", "gcdump")),
)
LEAKS = tuple(
    Case(make, written, share, scale=min(1, 4 * share))
    for make, share, formats in _CASES
    for written in formats
)
