"""Programs that do not leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model
from tests.bench.answers.background import Background
from tests.bench.answers.cases import Case, Program

if TYPE_CHECKING:
    from tests.bench.answers.cases import Truth


def _filled(program: Program, size: int) -> list[Truth]:
    background = Background(
        program.heap, program.runtime, program.names, program.random
    )
    background.fill(size)
    return []


def spread(program: Program) -> list[Truth]:
    """Thousands of pieces of many types."""
    return _filled(program, program.objects(3_000_000, 5_000_000))


def small(program: Program) -> list[Truth]:
    """Some hundred objects."""
    return _filled(program, 30_000)


def metadata(program: Program) -> list[Truth]:
    """Half of the heap is what the runtime knows of its types, and literals."""
    runtime, heap = program.runtime, program.heap
    for _ in range(program.objects(4_000, 6_000)):
        method = heap.add("System.Reflection.RuntimeMethodInfo", 104)
        cache = heap.add("System.RuntimeType+RuntimeTypeCache", 152, [method])
        heap.root(heap.add("System.RuntimeType", 40, [cache]), model.RUNTIME)
    for _ in range(20):
        texts = [runtime.string(program.objects(4, 40)) for _ in range(300)]
        heap.root(runtime.array("System.Object", texts, 1020), model.PINNED)
    return _filled(program, heap.total_bytes)


def virtual_machine(program: Program) -> list[Truth]:
    """Half of the heap is the Dart VM's: functions, code and sources of libraries."""
    runtime, heap = program.runtime, program.heap
    nothing = heap.add("dart:core::Null", 0)
    for _ in range(program.objects(300, 500)):
        functions = []
        for _ in range(20):
            code = runtime.object("Code", [nothing] * 2, 100)
            name = runtime.string(program.objects(4, 30))
            functions.append(runtime.object("Function", [name, nothing, code], 64))
        script = runtime.object(
            "Script", [runtime.string(40), runtime.string(program.objects(500, 5_000))]
        )
        table = runtime.array("", [*functions, script])
        heap.root(runtime.object("Library", [runtime.string(20), table]), model.RUNTIME)
    return _filled(program, heap.total_bytes)


def interface(program: Program) -> list[Truth]:
    """One window: a tree of elements of forty types, an evenly large part each."""
    runtime, random = program.runtime, program.random
    kinds = [program.new_type("_parent", "_text") for _ in range(40)]
    top = runtime.object(kinds[0], [], 64)
    made = [top]
    for _ in range(program.objects(15_000, 20_000)):
        parent = made[random.randrange(max(0, len(made) - 300), len(made))]
        kind = random.choice(kinds)
        child = runtime.object(kind, [parent, runtime.string(random.randint(3, 20))])
        program.heap.held[parent].append(child)
        made.append(child)
    program.static(top)
    return _filled(program, program.heap.total_bytes)


def garbage(program: Program) -> list[Truth]:
    """Two thirds are garbage that no collection has freed yet."""
    for _ in range(400):
        kind = program.new_type("_text")
        runtime = program.runtime
        made = [runtime.object(kind, [runtime.string(20)]) for _ in range(60)]
        runtime.list(kind, made)
    return _filled(program, program.heap.total_bytes // 2)


def empty(program: Program) -> list[Truth]:
    """A domain without objects."""
    return []


HEALTHY = (
    Case(spread, "gclog"),
    Case(spread, "gcdump"),
    Case(spread, "nettrace"),
    Case(spread, "dartheap"),
    Case(spread, "v8"),
    Case(small, "gclog"),
    Case(small, "dartheap"),
    Case(small, "v8"),
    Case(metadata, "gclog"),
    Case(virtual_machine, "dartheap"),
    Case(interface, "gclog"),
    Case(interface, "gcdump"),
    Case(interface, "v8"),
    Case(garbage, "gclog"),
    Case(empty, "gclog"),
)
