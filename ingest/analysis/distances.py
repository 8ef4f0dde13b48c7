"""Which objects the roots reach, how strongly, how far away, and by which path.

A path is as strong as its weakest reference, and an object as its strongest path. A
reference *holds* its target where the best path through it is as strong as the target:
a soft reference to an object that is strongly reachable does not hold it, and neither
does a strong reference of a softly reachable object. References that hold make up the
graph in which distances, dominators and retained sizes are computed. So what is weakly
reachable never changes what a strongly reachable object retains.

Distances are those of shortest paths. Leak suspects prefer the path from a better
owner, and then the shorter path. Static fields of the program are the best owners; then
come those of libraries, modules, threads and all roots that are not named here, then
handles, and frames last, since a frame soon returns. So the path of an object does not
depend on whether a thread happens to look at the object while the dump is taken.

A program that writes its own heap, as Node.js can, has on the stack whatever it did
last, beside the variables of the module that runs. So the search always takes the stack
of V8 last, as Chrome DevTools does, and the modules first within the stack. Roots that
are not recorded come last, too.

Source: `java.lang.ref` of the Java API for the order of strengths; M. Pollack, "The
maximum capacity through a network" (1960), for the strongest paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.heap.graph import RefKind, RootFlag, RootKind
from ingest.heap.read_options import StrengthPolicy
from ingest.runtimes import named
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ints, Starts
    from ingest.heap.graph import HeapGraph

ROOT = -1
"""In a column of objects: the super-root above all roots."""

UNREACHABLE = -2
"""In a column of objects: no root reaches this object."""

NOT_REACHED = 255
"""In a column of strengths: no root reaches this object."""


_HANDLES = (RootKind.HANDLE, RootKind.JNI_GLOBAL, RootKind.FINALIZER_QUEUE)
_BLOCKS = (RootKind.THREAD_BLOCK, RootKind.MONITOR)
_FRAMES = (
    RootKind.LOCAL, RootKind.JNI_LOCAL, RootKind.JAVA_FRAME, RootKind.NATIVE_STACK
)  # fmt: skip
"""The weakest owners, the weakest one last: a frame soon returns."""


class ReferenceColumns(NamedTuple):
    """The references and roots that a search follows.

    Attributes:
        start, target: Columns ``ref_start`` and ``ref_target`` of the graph.
        skipped: bool (E,). References to ignore; empty if there are none.
        roots: int32. Objects that roots refer to, in the order of the dump.
    """

    start: Starts
    target: Ints
    skipped: Bools
    roots: Ints


class Reach(NamedTuple):
    """What the roots reach, of N + M objects and placeholders.

    Attributes:
        distance: int32 (N + M,). Length of a shortest path of references that hold,
            1 for an object that a root refers to; -1 if unreachable. The path may be
            longer in heaps of V8, and if ``by_owner`` was asked for.
        parent: int32 (N + M,). The previous object on that path, `ROOT`, or
            `UNREACHABLE`.
        strength: uint8 (N + M,). `RefKind` of the weakest reference on the strongest
            path, `NOT_REACHED` if there is none; ``None`` where all references and
            roots are strong.
    """

    distance: NDArray[np.int32]
    parent: NDArray[np.int32]
    strength: NDArray[np.uint8] | None


@kernel
def _search(
    start: Starts,
    targets: Ints,
    kinds: Bytes,
    level: int,
    seeds: Ints,
    seed_distance: Ints,
    seed_parent: Ints,
    reach: tuple[Ints, Ints, Bytes],
    is_found: Bytes,
    queue: Ints,
    origin: Ints,
) -> None:
    """Breadth-first search from the seeds, along paths as strong as ``level``.

    Seeds are sorted by distance. ``kinds`` is empty if all references are strong.
    ``is_found`` has one bit for each object, so that it stays in a cache; no branch
    depends on it, for half of such branches would be predicted wrong. ``queue`` and
    ``origin``, what each object in it was found from, need room for one more.
    """
    distance, parent, strength = reach
    some_weaker, notes = len(kinds) > 0, len(strength) > 0
    seed = head = tail = 0
    step = 0
    while seed < len(seeds) or head < tail:
        step = step + 1 if head < tail else seed_distance[seed]
        while seed < len(seeds) and seed_distance[seed] == step:
            row = seeds[seed]
            if not is_found[row >> 3] >> (row & 7) & 1:
                is_found[row >> 3] |= 1 << (row & 7)
                queue[tail], origin[tail] = row, seed_parent[seed]
                tail += 1
            seed += 1
        end = tail
        while head < end:
            # Each look-up needs the one before, so they are prefetched in turn.
            fetch(start, queue[min(head + 4 * AHEAD, tail - 1)])
            fetch(targets, start[queue[min(head + 2 * AHEAD, tail - 1)]])
            source = queue[head]
            head += 1
            distance[source], parent[source] = step, origin[head - 1]
            if notes:
                strength[source] = level
            for ref in range(start[source], start[source + 1]):
                row = targets[ref]
                is_new = 1 - (is_found[row >> 3] >> (row & 7) & 1)
                if some_weaker:
                    is_new &= kinds[ref] <= level
                is_found[row >> 3] |= is_new << (row & 7)
                queue[tail], origin[tail] = row, source
                tail += is_new


def _weaker(graph: HeapGraph, policy: StrengthPolicy) -> tuple[Bytes, Bools]:
    """The kinds of references, empty where all are strong, and which roots are weak."""
    if policy is not StrengthPolicy.STRONGEST:
        return np.empty(0, np.uint8), np.zeros(len(graph.root_object), np.bool_)
    kinds = np.empty(0, np.uint8) if graph.ref_kind is None else graph.ref_kind
    return kinds, RootFlag.WEAK.is_in(graph.root_flags)


def search_roots(
    graph: HeapGraph,
    policy: StrengthPolicy = StrengthPolicy.STRONGEST,
    *,
    best: NDArray[np.bool_] | None = None,
) -> Reach:
    """Breadth-first search from the roots, the strongest paths first.

    Args:
        graph: The heap.
        policy: ``mat`` takes all references and roots for strong ones.
        best: Bool (R,). The best of owners; ``None`` for shortest paths.
    """
    n = len(graph.object_id)
    kinds, is_weak = _weaker(graph, policy)
    all_strong = not kinds.any() and not is_weak.any()
    reach = (
        np.full(n, -1, np.int32),
        np.full(n, UNREACHABLE, np.int32),
        np.full(0 if all_strong else n, NOT_REACHED, np.uint8),
    )
    distance, parent, strength = reach
    apart = np.empty(0, np.int32) if best is None else _apart(graph, ~is_weak)
    is_found = np.zeros(n // 8 + 1, np.uint8)
    np.bitwise_or.at(is_found, apart >> 3, (1 << (apart & 7)).astype(np.uint8))
    queue, origin = np.empty((2, n + 1), np.int32)

    def follow(level: int, seeds: Ints, far: Ints, parents: Ints) -> None:
        _search(
            graph.ref_start, graph.ref_target, kinds, level, seeds, far, parents,
            reach, is_found, queue, origin,
        )  # fmt: skip

    def at_roots(objects: Ints) -> tuple[Ints, Ints, Ints]:
        ones = np.ones(len(objects), np.int32)
        return objects, ones, np.full(len(objects), ROOT, np.int32)

    first, *others = _in_turn(graph, ~is_weak, best)
    follow(RefKind.STRONG, *at_roots(graph.root_object[first]))
    if len(apart):
        # What is apart was left out, and a module may be in nothing but a variable: so
        # the best roots have a second turn.
        is_found = np.packbits(parent != UNREACHABLE, bitorder="little")
        others.append(first)
    for some in others:
        follow(RefKind.STRONG, *at_roots(graph.root_object[some]))
    if all_strong:
        return Reach(distance, parent, None)
    weaker = np.flatnonzero(kinds)
    source = graph.sources(weaker).astype(np.int32)
    for level in list(RefKind)[1:]:
        chosen = (kinds[weaker] == level) & (strength[source] < level)
        seeds, parents = graph.ref_target[weaker[chosen]], source[chosen]
        far = distance[parents] + np.int32(1)
        if level == RefKind.WEAK:
            roots = at_roots(graph.root_object[is_weak])
            pairs = zip(roots, (seeds, far, parents), strict=True)
            seeds, far, parents = (np.concatenate(pair) for pair in pairs)
        order = np.argsort(far, kind="stable")
        follow(level, seeds[order], far[order], parents[order])
    return Reach(distance, parent, strength)


def owner_ranks(graph: HeapGraph, best: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """uint8 (R,): when the search for owners comes to a root; 0 for the best ones."""
    turns = list(_in_turn(graph, np.ones(len(graph.root_object), np.bool_), best))
    found = np.full(len(graph.root_object), len(turns), np.uint8)
    for rank, some in enumerate(turns):
        found[some] = np.minimum(found[some], rank)
    return found


def _apart(graph: HeapGraph, strong: NDArray[np.bool_]) -> NDArray[np.int32]:
    """int32: live threads, and modules with their dicts of variables.

    They are there without the fields and imports that refer to them, directly or by
    way of other threads and modules.
    """
    runtime, names = named(graph.runtime), graph.type_names
    # A type can lack a name, and a runtime has "" where it has no such type.
    module = runtime.module_type or None
    is_module = np.array([*(name == module for name in names), False])
    is_space = np.array([*(name in runtime.namespaces for name in names), False])
    threads = graph.root_object[strong & (graph.root_kind == RootKind.THREAD)]
    modules = graph.root_object[strong & is_module[graph.type_index[graph.root_object]]]
    found = [threads, modules]
    for module in modules.tolist():
        held = graph.targets(module)
        found.append(held[is_space[graph.type_index[held]]])
    return np.unique(np.concatenate(found))


def _in_turn(
    graph: HeapGraph, strong: NDArray[np.bool_], best: NDArray[np.bool_] | None
) -> Iterator[NDArray[np.bool_]]:
    """Bool (R,): groups of strong roots, each searched from at once.

    Roots that are not recorded come last: they explain least.
    """
    kinds, by_owner = graph.root_kind, best is not None
    unrecorded = strong & (kinds == RootKind.NOT_RECORDED)
    strong = strong & ~unrecorded
    prefix = named(graph.runtime).module_prefix
    on_stack = strong & np.isin(kinds, _FRAMES if by_owner or prefix else ())
    blocks = strong & np.isin(kinds, _BLOCKS if by_owner else ())
    # Static fields of .NET may be in pinned arrays.
    handles = strong & np.isin(kinds, _HANDLES if by_owner else ())
    handles &= ~RootFlag.PINNED.is_in(graph.root_flags)
    others = strong & ~(on_stack | blocks | handles)
    if best is not None:
        yield others & best
        others &= ~best
    yield others
    yield handles
    yield blocks
    if prefix:
        modules = [name.startswith(prefix) for name in graph.type_names]
        is_module = np.array([*modules, False])[graph.type_index[graph.root_object]]
        yield on_stack & is_module
        on_stack &= ~is_module
    yield on_stack
    yield unrecorded


@kernel
def _skip(
    start: Starts,
    targets: Ints,
    kinds: Bytes,
    strength: Bytes,
    first: int,
    end: int,
    skipped: Bools,
) -> None:
    """Mark the references of objects from ``first`` to ``end`` that do not hold."""
    for source in range(first, end):
        own = strength[source]
        for ref in range(start[source], start[source + 1]):
            kind = kinds[ref] if len(kinds) > 0 else 0
            if own == NOT_REACHED:
                skipped[ref] = kind > 0
            else:
                skipped[ref] = max(own, kind) != strength[targets[ref]]


def holding_references(
    graph: HeapGraph, strength: NDArray[np.uint8] | None
) -> ReferenceColumns:
    """The references and roots of ``graph`` that hold what the roots reach.

    Args:
        graph: The heap.
        strength: From `search_roots`.
    """
    skipped = np.empty(0, np.bool_)
    if strength is not None:
        skipped = np.zeros(graph.reference_count, np.bool_)
        kinds = np.empty(0, np.uint8) if graph.ref_kind is None else graph.ref_kind
        columns = graph.ref_start, graph.ref_target, kinds, strength
        in_ranges(
            lambda first, end: _skip(*columns, first, end, skipped), 0, len(strength)
        )
    roots = graph.root_object[holding_roots(graph, strength)]
    return ReferenceColumns(graph.ref_start, graph.ref_target, skipped, roots)


def holding_roots(
    graph: HeapGraph, strength: NDArray[np.uint8] | None
) -> NDArray[np.bool_]:
    """Bool (R,): the roots that hold; a weak root of a strong object does not."""
    if strength is None:
        return np.ones(len(graph.root_object), np.bool_)
    is_weak = RootFlag.WEAK.is_in(graph.root_flags)
    return np.asarray(~is_weak | (strength[graph.root_object] == RefKind.WEAK))


def holds(
    graph: HeapGraph,
    strength: NDArray[np.uint8] | None,
    rows: slice,
    sources: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Bool: which references hold their target.

    A reference of an unreachable object holds its target if the reference is strong.

    Args:
        graph: The heap.
        strength: From `search_roots`.
        rows: Rows of the references.
        sources: int32. The object that has each reference.
    """
    if strength is None:
        return np.ones(len(sources), np.bool_)
    own = strength[sources]
    kinds = np.zeros(len(own), np.uint8)
    if graph.ref_kind is not None:
        kinds = graph.ref_kind[rows]
    as_strong = np.maximum(own, kinds) == strength[graph.ref_target[rows]]
    return np.asarray(np.where(own == NOT_REACHED, kinds == RefKind.STRONG, as_strong))
