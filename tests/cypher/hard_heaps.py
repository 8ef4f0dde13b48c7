"""Heaps of shapes on which a careless query never ends.

Types and fields are those that queries look for, in turn, so that each query walks
along the shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.graph import Domain, HeapGraph, RootKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Reference = tuple[int, int, str]

JAVASCRIPT = (
    "Function",
    "Array",
    "Map",
    "ArrayBuffer",
    "Timeout",
    "FiberNode",
    "V8EventListener",
    "Detached <div>",
    "(sliced string)",
    "(concatenated string)",
    "system / PromiseReaction",
)
"""Types that queries about JavaScript look for."""

PYTHON = (
    "function",
    "tuple",
    "cell",
    "frame",
    "coroutine",
    "functools._lru_cache_wrapper",
    "logging.LogRecord",
    "str",
    "_thread._local",
    "dict",
    "_contextvars.ContextVar",
    "hamt_bitmap_node",
    "numpy.ndarray",
)
"""Types that queries about Python look for."""

TYPES = (
    "App.Node",
    "java.util.HashMap$Node",
    "java.util.WeakHashMap$Entry",
    "java.util.HashMap$Node[]",
    "java.util.WeakHashMap$Entry[]",
    "java.util.HashMap",
    "java.util.WeakHashMap",
    "java.lang.ref.Finalizer",
    "java.lang.ThreadLocal$ThreadLocalMap$Entry",
    "android.app.Activity",
    "System.EventHandler",
    "System.Object[]",
    "System.Threading.TimerQueueTimer",
    "System.String",
    "dart:core::_Closure",
    *JAVASCRIPT,
    *PYTHON,
)
VIA_PYTHON = (
    "__closure__", "tb_frame", "cr_await", "_coro", "name", "msg", "(threads)", "base",
    "__mro__", "[0]",
)  # fmt: skip
VIA_JAVASCRIPT = (
    "[0]",
    "_events",
    "_onTimeout",
    "listener",
    "context",
    "extension",
    "function",
    "table",
    "parent",
    "buffer",
    "backing_store",
    "return",
    "type",
)
FIELDS = (
    "next",
    "first",
    "<super>",
    "table",
    "key",
    "referent",
    "value",
    "threadLocals",
    "(ephemeron)",
    "context_",
    *(field for field in VIA_JAVASCRIPT if field != "table"),
    *VIA_PYTHON[:-1],
)
NODE, HASH_NODE, WEAK_ENTRY, HASH_TABLE, WEAK_TABLE, HASH_MAP, WEAK_MAP = range(7)
STATIC, QUEUE, THREAD = RootKind.STATIC, RootKind.FINALIZER_QUEUE, RootKind.THREAD


def hard_heap(
    kinds: Sequence[int],
    references: Iterable[Reference],
    roots: Sequence[tuple[int, int]] = ((0, STATIC),),
    runtime: str = "jvm",
) -> HeapGraph:
    """A heap of objects of 16 bytes.

    Args:
        kinds: Type of each object, a row of `TYPES`.
        references: (source, target, field), in any order.
        roots: (object, kind).
        runtime: Of the program.
    """
    n, ordered = len(kinds), sorted(references, key=lambda one: one[0])
    sources = np.array([source for source, _, _ in ordered], np.int64)
    return HeapGraph(
        format_name="hard",
        runtime=runtime,
        object_count=n,
        object_id=0x1000 + 16 * np.arange(n, dtype=np.uint64),
        type_index=np.array(kinds, np.int32),
        shallow_bytes=np.full(n, 16, np.int64),
        length=np.full(n, 16, np.int64),
        ref_start=np.searchsorted(sources, np.arange(n + 1)).astype(np.int64),
        ref_target=np.array([target for _, target, _ in ordered], np.int32),
        ref_field=np.array([FIELDS.index(f) for _, _, f in ordered], np.int32),
        field_names=FIELDS,
        root_object=np.array([at for at, _ in roots], np.int32),
        root_kind=np.array([kind for _, kind in roots], np.uint8),
        root_flags=np.zeros(len(roots), np.uint8),
        root_type=np.full(len(roots), -1, np.int32),
        type_names=TYPES,
        type_domain=np.zeros(len(TYPES), np.int32),
        type_object=np.arange(len(TYPES), dtype=np.int32) % n,
        type_loader=np.full(len(TYPES), -1, np.int32),
        domains=(Domain("hard"),),
    )


def _in_turn(n: int) -> list[int]:
    return [i % (len(TYPES) - len(JAVASCRIPT) - len(PYTHON)) for i in range(n)]


def _via(i: int) -> str:
    return FIELDS[i % FIELDS.index(VIA_JAVASCRIPT[0])]


def _some_roots(n: int) -> list[tuple[int, int]]:
    """A static field at the start, and finalizers that wait at 50 places."""
    return [(0, STATIC), *((i, QUEUE) for i in range(n // 50, n, max(n // 50, 1)))]


def chain(n: int) -> HeapGraph:
    """Each object refers to the next one."""
    references = [(i, i + 1, _via(i)) for i in range(n - 1)]
    return hard_heap(_in_turn(n), references, _some_roots(n))


def plain_list(n: int) -> HeapGraph:
    """A list of one type through one field, which one root holds."""
    return hard_heap([NODE] * n, [(i, i + 1, "next") for i in range(n - 1)])


def two_way_list(n: int) -> HeapGraph:
    """A list of one type: each node refers to the next, the last and the list."""
    references = [(i, i + 1, "next") for i in range(n - 1)]
    references += [(i, i - 1, "first") for i in range(2, n)]
    references += [(i, 0, "table") for i in range(1, n)]
    return hard_heap([HASH_MAP] + [NODE] * (n - 1), references)


def mixed_two_way_list(n: int) -> HeapGraph:
    """The same of all types, through all fields."""
    references = [(i, i + 1, _via(i)) for i in range(n - 1)]
    references += [(i, i - 1, _via(i + 1)) for i in range(1, n)]
    references += [(i, 0, _via(i + 2)) for i in range(1, n)]
    return hard_heap(_in_turn(n), references, _some_roots(n))


def clique(n: int) -> HeapGraph:
    """Each object refers to each other one, twice."""
    references = [
        (i, j, _via(i + j + twice))
        for i in range(n)
        for j in range(n)
        for twice in range(2)
    ]
    return hard_heap(_in_turn(n), references)


def clique_of_next(n: int) -> HeapGraph:
    """Nodes of which each refers to each through ``next``, below a table."""
    nodes = range(2, n)
    references = [(0, 1, "table"), *((1, i, "key") for i in nodes)]
    references += [(i, j, "next") for i in nodes for j in nodes]
    return hard_heap([HASH_MAP, HASH_TABLE] + [HASH_NODE] * (n - 2), references)


def clique_of_classes(n: int) -> HeapGraph:
    """Each is a superclass of each."""
    references = [(i, j, "<super>") for i in range(n) for j in range(n)]
    return hard_heap([TYPES.index("android.app.Activity")] * n, references)


def clique_of_javascript(n: int) -> HeapGraph:
    """The same of the types and fields of JavaScript, of each type several objects."""
    return _clique_of(n, JAVASCRIPT, VIA_JAVASCRIPT, "v8")


def clique_of_python(n: int) -> HeapGraph:
    """The same of the types and fields of Python."""
    return _clique_of(n, PYTHON, VIA_PYTHON, "python")


def _clique_of(
    n: int, types: Sequence[str], fields: Sequence[str], runtime: str
) -> HeapGraph:
    references = [
        (i, j, fields[(i + j * 3 + i // len(types)) % len(fields)])
        for i in range(n)
        for j in range(n)
    ]
    begin = TYPES.index(types[0])
    kinds = [begin + i % len(types) for i in range(n)]
    return hard_heap(kinds, references, runtime=runtime)


def twin_chain(n: int) -> HeapGraph:
    """Pairs in a row, each object referring to both of the next pair, twice."""
    references = [
        (2 * rung + side, 2 * rung + 2 + other, _via(rung + twice))
        for rung in range(n // 2 - 1)
        for side in range(2)
        for other in range(2)
        for twice in range(2)
    ]
    roots = [(0, int(STATIC)), (1, int(THREAD))]
    return hard_heap(_in_turn(n // 2 * 2), references, roots)


def star(n: int) -> HeapGraph:
    """One object refers to all others, and each of them to it."""
    references = [(0, i, _via(i)) for i in range(1, n)]
    references += [(i, 0, _via(i + 1)) for i in range(1, n)]
    return hard_heap(_in_turn(n), references, _some_roots(n))


def hash_map(keys: int) -> HeapGraph:
    """One whose keys are all in one bucket."""
    kinds = [HASH_MAP, HASH_TABLE] + [HASH_NODE] * keys + [NODE] * keys
    references = [(0, 1, "table"), (1, 2, "key")]
    references += [(i, i + 1, "next") for i in range(2, keys + 1)]
    references += [(i, i + keys, "key") for i in range(2, keys + 2)]
    return hard_heap(kinds, references)


def weak_map(keys: int) -> HeapGraph:
    """One whose keys are gone: all entries wait in one bucket and in one queue.

    Both lists are fields named ``next``; the last of the queue refers to itself.
    """
    references = [(0, 1, "table"), (1, 2, "key")]
    for entry in range(2, keys + 2):
        last = entry == keys + 1
        references += [(entry, entry + 1, "next")] * (not last)
        references += [(entry, entry if last else entry + 1, "next")]
    return hard_heap([WEAK_MAP, WEAK_TABLE] + [WEAK_ENTRY] * keys, references)


SHAPES: dict[str, tuple[Callable[[int], HeapGraph], int, int]] = {
    "chain": (chain, 300, 100_000),
    "list": (plain_list, 300, 100_000),
    "two-way list": (two_way_list, 300, 100_000),
    "two-way, mixed": (mixed_two_way_list, 300, 100_000),
    "twin chain": (twin_chain, 300, 2_000),
    "clique": (clique, 40, 100),
    "clique of next": (clique_of_next, 40, 300),
    "clique of classes": (clique_of_classes, 40, 300),
    "clique of JavaScript": (clique_of_javascript, 66, 330),
    "clique of Python": (clique_of_python, 64, 320),
    "star": (star, 300, 5_000),
    "hash map": (hash_map, 300, 100_000),
    "weak map": (weak_map, 60, 100_000),
}
"""Each with a size for tests and one to measure."""
