"""What speaks for and against a suspect being a leak, as far as one dump can tell.

Size alone proves nothing: a catalogue that is loaded once and needed is as large as a
leak. Growth between dumps does. What one dump has besides is listed here.

Source: that objects whose own flag says that they are closed or destroyed should not be
held is the idea of LeakCanary.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.heap.graph import RefKind, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects import bounds, weak
from ingest.suspects.ended import said_of
from ingest.suspects.joints import KEY_FIELDS, some_of
from ingest.suspects.ownership import unloads_types
from ingest.what_if.places import OF_THREADS, target_of
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Holder

DOUBTED = 0.5
"""Factor of the score of a suspect if something speaks against it."""

_KEPT = "finished"
"""A word that records of a history also have, which are held on purpose."""
_TRACEBACK_FIELD = "__traceback__"
_LONG_TRACEBACK = 100
"""Entries that one exception has on the way to an object, from which on it is told."""

_ENTRIES = 20
_OF_ENTRY = 8
"""References of an entry of a map, at most."""

_SPARSE, _WORD = 16, 8
"""An array with fewer references than this part of its slots is nearly empty."""

_SOME_OBJECTS = re.compile(r"\bList(?:`1)?[<\[](?:System\.)?Object[>\]]$|Object\[\]$")

_LEAST_SOFT, _NEARLY_ALL_SOFT = 0.25, 0.9
"""Shares of what is freed, from which on that soft references hold it is told."""

_THREADS = 100
"""Objects whose threads, or calls, are looked at."""

_COPIES = 5
"""So often is no type loaded for parts of a program that are there side by side."""

_PERIOD = re.compile(r"\[(\d{1,9})\]")
"""The key of a list of timers."""

_SOON_MS = 10_000
"""Work that waits no longer than this is under way."""

_NOTHING = ("null", "false")

_FEW_DELAYS = 100
"""So do no more than so many of which the dump does not tell how long they wait."""

_PATTERNS = {
    "event handlers": "Event handlers are held until they are removed.",
    "listeners": "Listeners are held until they are unregistered.",
    "registrations": "A registration, or a linked source, is held by its token until "
    "it is disposed.",
    "lazy list": "A lazy list keeps what was read of it while something has its head.",
    "lock": "What waits for a lock is held until the lock is released.",
    "timer": "What a timer calls is held until the timer is cancelled.",
}


class Wait(NamedTuple):
    """What objects wait for.

    Attributes:
        future: The type of a future that is not done, and that nothing soon ends;
            empty if there is none.
        end: What soon ends the wait, in words, as a timer; empty if nothing does.
    """

    future: str
    end: str


class Evidence(NamedTuple):
    """Facts of one dump about a suspect, besides its size.

    Attributes:
        signs: Sentences that speak for a leak.
        doubts: Sentences that speak against one.
        is_done: Whether most of the objects say of themselves that their work is done,
            and nobody keeps such objects on purpose.
    """

    signs: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    is_done: bool = False

    @property
    def factor(self) -> float:
        """Factor of the suspect's score."""
        return DOUBTED if self.doubts and not self.signs else 1.0


def evidence(
    graph: HeapGraph,
    metrics: HeapMetrics,
    holder: Holder,
    members: NDArray[np.int32],
    pattern: str,
    known: Sequence[str],
    wait: Wait,
    cancelled: str,
) -> Evidence:
    """What speaks for and against a leak.

    Args:
        graph: The heap.
        metrics: Its metrics.
        holder: What holds the objects.
        members: int32. The objects.
        pattern: How they are held.
        known: What `unused_slots` and `ingest.suspects.ended` say of them.
        wait: What `wait_of` says of the holder.
        cancelled: What `cancelled_tasks` says of the objects.
    """
    word, ended = said_of(graph, members)
    signs = [*filter(None, (ended, *known, _unused(graph, holder, members)))]
    doubts = [*filter(None, [weak.stale_entries(graph, metrics, members)])]
    signs += weak.signs(graph, metrics, holder, members)
    copies = graph.type_names.count(graph.type_name(int(members[0])))
    if copies >= _COPIES and unloads_types(graph):
        signs.append(f"Their type was loaded {copies:,} times, and is not unloaded.")
    further = (
        _by_exceptions(graph, holder),
        _workers(graph, holder),
        _own_executors(graph, metrics, members),
        named(graph.runtime).root_signs.get(holder.root_kind),
    )
    signs += filter(None, further)
    if done := _tasks_done(graph, metrics, members):
        signs.append(done)
    elif awaited := _awaited(graph, metrics, members):
        signs.append(awaited)
    elif wait.future:
        signs.append(
            f"The {wait.future} is not done, and keeps what waits for it until it is."
        )
    if wait.end:
        doubts.append(
            f"What waits for {wait.end} is freed when that ends: it may be work under "
            "way."
        )
    if word == _KEPT:
        doubts.append("A history of finished work is held on purpose.")
    if holder.is_shared:
        signs.append(
            "The table has the literals of the code, and what is interned, for as long "
            "as the process runs."
        )
    is_thread = holder.index < 0 and holder.root_kind == RootKind.THREAD.label
    in_heap = named(graph.runtime).stacks_in_heap
    if is_thread and not holder.between and graph.type_name(int(members[0])) != in_heap:
        each = "It" if len(members) == 1 else "Each"
        signs.append(f"{each} also has a stack outside the heap, which is not counted.")
    if _are_thread_statics(graph, holder):
        signs.append(
            "In such arrays the runtime keeps the thread-static fields of its threads."
        )
    if cancelled:
        signs.append(cancelled)
    elif pattern in _PATTERNS and not wait.end:
        signs.append(_PATTERNS[pattern])
    over, bounded = bounds.of_cache(graph, metrics, holder, members)
    signs += filter(None, [over])
    bounded = bounded or bounds.fixed(graph, metrics, holder, members)
    against = (
        bounded or bounds.full(graph, metrics, holder, members),
        _few_keys(graph, metrics, members),
        stacks_of(graph, metrics, members),
    )
    doubts += filter(None, against)
    return Evidence(tuple(signs), tuple(doubts), bool(ended) and word != _KEPT)


def finalizer(graph: HeapGraph) -> str:
    """The thread of the finalizer, with the place where it is if that is known."""
    frames = _finalizer_frames(graph)
    of_program = [frame for frame in frames if ".finalize(" in frame]
    if frames:
        return f"the finalizer thread, which is in {(of_program or frames)[0]}"
    return "the finalizer thread"


def finalizer_rests(graph: HeapGraph) -> bool:
    """Whether the finalizer has ended with all, and waits for more.

    What only it holds then was found with the collection before the dump.
    """
    frames, rests = _finalizer_frames(graph), named(graph.runtime).finalizer_rests
    is_at_work = any(".finalize(" in frame for frame in frames)
    return bool(rests) and not is_at_work and any(rests in frame for frame in frames)


def _finalizer_frames(graph: HeapGraph) -> Sequence[str]:
    """Where the thread of the finalizer is, the innermost first; empty if unknown."""
    stacks = graph.stacks
    for at, name in enumerate(graph.owners if stacks is not None else ()):
        if name in named(graph.runtime).finalizer_threads:
            assert stacks is not None
            frames = stacks.frames[stacks.start[at] : stacks.end[at]]
            if frames:
                return frames
    return ()


def unused_slots(graph: HeapGraph, members: NDArray[np.int32]) -> str:
    """A sentence if the only object is an array which is nearly empty."""
    at = int(members[0])
    if len(members) > 1 or not graph.type_name(at).endswith("[]"):
        return ""
    used, size = int(np.diff(graph.ref_start[at : at + 2])[0]), graph.shallow_bytes
    if not used or _SPARSE * 8 * used > size[at]:
        return ""
    # Where some array has more references than slots of 8 bytes, they have 4.
    kinds = [name.endswith("[]") for name in graph.type_names]
    rows = np.flatnonzero(np.array([*kinds, False])[graph.type_index])
    counts = np.diff(graph.ref_start)[rows[rows < graph.object_count]]
    is_narrow = bool((8 * counts > size[rows[: len(counts)]]).any())
    slots = int(size[at] - 2 * _WORD) // (_WORD // 2 if is_narrow else _WORD)
    verb = "is" if used == 1 else "are"
    return f"Only {used:,} of its {slots:,} slots {verb} used."


def cancelled_tasks(
    graph: HeapGraph, holder: Holder, members: NDArray[np.int32]
) -> str:
    """A sentence if most of the objects are tasks of a queue that call nothing more."""
    tasks = named(graph.runtime).queued_tasks
    field, queue = tasks.get(graph.type_name(int(members[0])), ("", ""))
    if not field or queue not in map(graph.type_name, holder.path):
        return ""
    sample = some_of(members, _THREADS).tolist()
    done = [at for at in sample if target_of(graph, at, field) is None]
    if 2 * len(done) <= len(sample):
        return ""
    which = "They are" if len(done) == len(sample) else "Most of them are"
    return f"{which} cancelled, and their queue has them until their turn."


def _workers(graph: HeapGraph, holder: Holder) -> str:
    """A sentence on where the workers of the executor are whose queue has them."""
    runtime, of_thread = named(graph.runtime), _owners_of_threads(graph)
    if not of_thread or runtime.worker not in graph.type_names:
        return ""
    kind = graph.type_names.index(runtime.worker)
    places: list[str] = []
    for row in np.flatnonzero(graph.type_index == kind).tolist():
        targets = set(graph.targets(row).tolist())
        if targets.isdisjoint(holder.path):
            continue
        for at in (of_thread[one] for one in targets if one in of_thread):
            places += _own_frames(graph, at)[:1]
    if not places:
        return ""
    place = max(places, key=places.count)
    count = places.count(place)
    which = "one of its workers is" if count == 1 else f"{count:,} of its workers are"
    return f"Its queue is not emptied while {which} in {place}."


def _own_executors(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> str:
    """A sentence if an executor of its own has each of the threads that have objects.

    Such as one that is made for each call, and not shut down.
    """
    worker, executors, threads = named(graph.runtime).worker, set[int](), set[int]()
    if worker not in graph.type_names:
        return ""
    kind = graph.type_names.index(worker)
    for at in some_of(members, _THREADS).tolist():
        below = -1
        while at >= 0:
            if graph.type_index[at] == kind and below >= 0:
                executors.add(below)
            below, at = at, int(metrics.path_parent[at])
        threads.add(below)
    if len(executors) < 2 or len(executors) < len(threads):
        return ""
    name = graph.captions.of(graph.type_name(min(executors)))
    return f"Each of the threads belongs to a {name} of its own."


def place_of_threads(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> str:
    """The innermost frame of the program's that most threads have that hold objects.

    Empty if they are in several places, if it is one thread, or if the dump does not
    tell.
    """
    of_thread = _owners_of_threads(graph)
    tops = _tops(metrics, members) if of_thread else ()
    owners = {of_thread[row] for row in tops if row in of_thread}
    places = {at: "".join(_own_frames(graph, at)[:1]) for at in owners}
    if len(places) < 2:
        return ""
    found = list(places.values())
    place = max(found, key=found.count)
    return place if 2 * found.count(place) > len(found) else ""


def have_many_roots(metrics: HeapMetrics, members: NDArray[np.int32]) -> bool:
    """Whether the paths to most of several objects begin at an object each."""
    tops = _tops(metrics, members)
    return len(tops) > 1 and 2 * len(set(tops)) > len(tops)


def have_one_root(metrics: HeapMetrics, members: NDArray[np.int32]) -> bool:
    """Whether the paths to all of some objects begin at the same one."""
    return len(set(_tops(metrics, members))) == 1


def _tops(metrics: HeapMetrics, members: NDArray[np.int32]) -> list[int]:
    """Where the paths to some objects begin."""
    found: list[int] = []
    for row in some_of(members, _THREADS).tolist():
        at = row
        while at >= 0:
            row, at = at, int(metrics.path_parent[at])
        found.append(row)
    return found


def _owners_of_threads(graph: HeapGraph) -> dict[int, int]:
    """The row of each thread's name and stack by the thread; empty without stacks."""
    if graph.stacks is None or graph.root_owner is None:
        return {}
    kinds = [kind for kind in RootKind if kind.label in OF_THREADS]
    is_thread = np.isin(graph.root_kind, kinds)
    threads, owners = graph.root_object[is_thread], graph.root_owner[is_thread]
    return dict(zip(threads.tolist(), owners.tolist(), strict=True))


def _own_frames(graph: HeapGraph, owner: int) -> list[str]:
    """The program's frames on the stack of a thread, the innermost first."""
    assert graph.stacks is not None
    frames = graph.stacks.frames[graph.stacks.start[owner] : graph.stacks.end[owner]]
    types = [frame.partition("(")[0].rpartition(".")[0] for frame in frames]
    classes = named(graph.runtime).type_classes(types) if types else ()
    is_own = [kind == TypeClass.PROGRAM for kind in classes]
    return [frame for frame, own in zip(frames, is_own, strict=True) if own]


def _pending_future(graph: HeapGraph, holder: Holder) -> str:
    """The type of a future that is not done and has what waits for it, if any.

    Of several, as in the queue of an event, that of each.
    """
    path = holder.path
    if holder.target not in path:
        return ""
    above = -1
    for future, waits in pairwise(path[path.index(holder.target) :]):
        source, above = above, future
        if _has_waiting(graph, future, graph.between(future, waits).tolist()):
            beside = graph.targets(max(source, 0))
            like = graph.type_index[beside] == graph.type_index[future]
            of_each = " of each" if source >= 0 and np.count_nonzero(like) > 1 else ""
            return f"{graph.captions.of(graph.type_name(future))}{of_each}"
    every = range(*graph.ref_start[holder.member :][:2].tolist())
    is_it = holder.member == holder.target  # no entry of a collection of futures
    if is_it and _has_waiting(graph, holder.member, every):
        return graph.captions.of(graph.type_name(holder.member))
    return _future_with_continuation(graph, path[path.index(holder.target) :])


def _has_waiting(graph: HeapGraph, future: int, rows: Iterable[int]) -> bool:
    """Whether references of an object, if it is a future, lead to what waits for it."""
    field, *kinds = named(graph.runtime).waiting.get(graph.type_name(future), (None,))
    return any(
        graph.field_name(row) == field
        and ("" in kinds or graph.type_name(int(graph.ref_target[row])) in kinds)
        for row in (rows if kinds else ())
    )


def _future_with_continuation(graph: HeapGraph, path: Sequence[int]) -> str:
    """The type of a future on a path of which what waits for it is the next object.

    If more than one waits, a list has them.
    """
    runtime, future = named(graph.runtime), ""
    for name in map(graph.type_name, path) if runtime.futures else ():
        if future and re.match(runtime.continuations, name):
            return graph.captions.of(future)
        if re.match(runtime.futures, name):
            future = name
        elif not re.search(_SOME_OBJECTS, name):
            future = ""
    return ""


def _are_thread_statics(graph: HeapGraph, holder: Holder) -> bool:
    """Whether handles have arrays as the runtime does for fields of several threads."""
    array, root = named(graph.runtime).statics_table, RootKind.HANDLE
    if not array or holder.index >= 0 or holder.root_kind != root.label:
        return False
    if not graph.type_name(holder.target).startswith(array):
        return False
    holds = (graph.root_kind == root) & (graph.root_flags == 0)
    kinds = graph.type_index[graph.root_object[holds]]
    return bool(np.count_nonzero(kinds == graph.type_index[holder.target]) > 1)


def stacks_of(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> str:
    """A sentence on threads whose stacks are most of what they retain."""
    name = graph.type_name(int(members[0]))
    own = int(graph.shallow_bytes[members].sum())
    if name != named(graph.runtime).stack_of or (
        2 * own < int(metrics.retained_bytes[members].sum())
    ):
        return ""
    each = human_bytes(own // len(members))
    return f"Most of it is the stack that each thread has of its own, about {each}."


def wait_of(graph: HeapGraph, metrics: HeapMetrics, holder: Holder) -> Wait:
    """What the objects of a holder wait for, as far as the dump tells."""
    future = _pending_future(graph, holder)
    end = _fires_soon(graph, metrics, holder, future)
    if future and not end and _is_of_runtime(graph, holder):
        end = "an operation of the runtime"
    return Wait("" if end else future, end)


def _is_of_runtime(graph: HeapGraph, holder: Holder) -> bool:
    """Whether the holder is a variable of one of the runtime's own scripts."""
    runtime, name = named(graph.runtime), holder.type_name or ""
    prefixes = filter(None, (runtime.module_prefix, runtime.scope_prefix))
    if not name.startswith(tuple(prefixes)):
        return False
    return bool(runtime.type_classes([name])[0] == TypeClass.METADATA)


def _fires_soon(
    graph: HeapGraph, metrics: HeapMetrics, holder: Holder, future: str
) -> str:
    """The timer in words that soon ends a wait which has the objects; empty if none.

    It is below the holder: on the way to that there may be others.

    Args:
        graph: The heap.
        metrics: Its metrics.
        holder: What holds the objects.
        future: What `_pending_future` says of the holder.
    """
    runtime, path = named(graph.runtime), holder.path
    first = path.index(holder.target) if holder.target in path else len(path)
    for above, below in pairwise(path[max(first - 1, 0) :]):
        kind, name = int(graph.type_index[below]), graph.type_name(below)
        if runtime.delays and re.search(runtime.delays, name):
            is_one_of_few = metrics.type_reachable_count[kind] <= _FEW_DELAYS
            return "a timer" if is_one_of_few else ""
        if not future:
            continue
        if (delay := _delay_of(graph, below)) is not None and delay <= _SOON_MS:
            return f"a timer of {delay:,} ms"
        if name != runtime.timers_by_ms:
            continue
        for field in map(graph.field_name, graph.between(above, below).tolist()):
            found = _PERIOD.fullmatch(field or "")
            if found and int(found[1]) <= _SOON_MS:
                return f"a timer of {int(found[1]):,} ms"
    return ""


def calls_nothing(graph: HeapGraph, index: int) -> bool:
    """Whether an object is a timer that has been cancelled, and is held all the same.

    What it has is held by what has the timer.
    """
    runtime, name = named(graph.runtime), graph.type_name(index)
    if name not in runtime.timer_calls:
        return False
    called = target_of(graph, index, runtime.timer_calls[name])
    return called is not None and graph.type_name(called) != runtime.function_type


def _delay_of(graph: HeapGraph, timer: int) -> int | None:
    """The delay in ms of a timer that fires once; ``None`` of all else, or unknown."""
    fields = named(graph.runtime).one_shots.get(graph.type_name(timer))
    if fields is None or graph.values is None:
        return None
    delay, again = (target_of(graph, timer, field) for field in fields)
    if delay is None or again is None or graph.type_name(again) not in _NOTHING:
        return None
    (text,) = graph.values.pick(np.array([delay], np.int32))
    return int(text) if text and text.isdecimal() else None


def _referrers(graph: HeapGraph, target: int) -> list[tuple[int, int]]:
    """The references to an object, as rows, and the objects that they are of."""
    rows = np.flatnonzero(graph.ref_target == target)
    return list(zip(rows.tolist(), graph.sources(rows).tolist(), strict=True))


def _task_of(graph: HeapGraph, metrics: HeapMetrics, at: int) -> int:
    """The task that an object is, or that has it; negative if there is none."""
    tasks = named(graph.runtime).awaits
    for _ in range(_OF_ENTRY if tasks else 0):
        if at < 0 or graph.type_name(at) in tasks:
            return at
        at = int(metrics.path_parent[at])
    return -1


def _tasks_done(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> str:
    """A sentence if the objects are, or are in, tasks most of which are done.

    What a map has for a key may be asked for again, as in a cache of results.
    """
    results, done = named(graph.runtime).results, 0
    sample = some_of(members, _THREADS).tolist()
    for task in (_task_of(graph, metrics, at) for at in sample):
        above = int(metrics.path_parent[task]) if task >= 0 else -1
        if above >= 0 and "dict" in graph.type_name(above).lower():
            continue
        for row in range(*graph.ref_start[task:][:2].tolist()) if task >= 0 else ():
            name = graph.type_name(int(graph.ref_target[row]))
            if graph.field_name(row) in results or name in results:
                done += 1
                break
    if 2 * done <= len(sample):
        return ""
    which = "All" if done == len(sample) else f"{done / len(sample):.0%}"
    return (
        f"{which} of their tasks are done, and keep their results for as long as they "
        "are held."
    )


def _awaited(graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]) -> str:
    """A sentence on what the tasks wait for that have the objects, as for a lock.

    A task refers to the future of its turn, which is in a queue of what it waits for.
    """
    runtime, at = named(graph.runtime), _task_of(graph, metrics, int(members[0]))
    field = runtime.awaits[graph.type_name(at)] if at >= 0 else ""
    future = target_of(graph, at, field) if field else None
    for _, queue in [] if future is None else _referrers(graph, future):
        waiting = int(np.diff(graph.ref_start[queue : queue + 2])[0])
        if 2 * waiting < len(members):
            continue
        for row, lock in _referrers(graph, queue):
            if graph.field_name(row) is None:
                continue
            fields = [
                f"{graph.captions.of(graph.type_name(owner))}.{graph.field_name(held)}"
                for held, owner in _referrers(graph, lock)
                if runtime.type_classes([graph.type_name(owner)])[0]
                == TypeClass.PROGRAM
            ]
            name = graph.captions.of(graph.type_name(lock))
            what = f"the {name} {fields[0]}" if fields else f"one {name}"
            return f"{waiting:,} tasks wait for {what}."
    return ""


def _unused(graph: HeapGraph, holder: Holder, members: NDArray[np.int32]) -> str:
    """A sentence if the type of the objects or of their holder says: not used now."""
    over = named(graph.runtime).over
    if what := over(graph.type_name(int(members[0]))):
        they_are = "It is" if len(members) == 1 else "They are"
        return f"{they_are} {what}, and still held."
    what = over(holder.type_name or "")
    return f"Their holder is {what}, and still held." if what else ""


def held_softly(graph: HeapGraph, metrics: HeapMetrics, lost: NDArray[np.bool_]) -> str:
    """What is freed before memory runs out, of what a cut frees; empty for little.

    The entries of a map whose values are held so stay.
    """
    if metrics.strength is None:
        return ""
    rows = np.flatnonzero(lost)
    sizes = graph.shallow_bytes[rows]
    soft = int(sizes[metrics.strength[rows] == RefKind.SOFT].sum())
    if soft < _LEAST_SOFT * int(sizes.sum()):
        return ""
    if soft >= _NEARLY_ALL_SOFT * int(sizes.sum()):
        return "Only soft references hold them: they are freed before memory runs out."
    return (
        f"Only soft references hold {human_bytes(soft)} of this, which is freed before "
        "memory runs out; the rest stays."
    )


def _by_exceptions(graph: HeapGraph, holder: Holder) -> str:
    """That exceptions which are kept hold the objects, by their tracebacks."""
    names = [graph.type_name(index) for index in holder.between]
    traceback = named(graph.runtime).traceback_type
    if not traceback or traceback not in names:
        return ""
    at = names.index(traceback)
    if at == 0 and (holder.index < 0 or holder.reference != _TRACEBACK_FIELD):
        return ""
    kind = names[at - 1] if at else graph.type_name(holder.index)
    where = f" kept in {holder.reference}" if at and holder.reference else ""
    found = (
        f"Each {graph.captions.of(kind)}{where} holds the frames of its traceback, and "
        "these hold what was in their variables."
    )
    if _is_long_chain(graph, holder.between[at]):
        found += (
            f" The traceback has more than {_LONG_TRACEBACK:,} entries: one exception "
            "that is raised again gets more each time."
        )
    return found


def _is_long_chain(graph: HeapGraph, index: int) -> bool:
    """Whether more objects than a traceback has refer to the next one of their type."""
    for _ in range(_LONG_TRACEBACK):
        targets = graph.targets(index)
        below = targets[graph.type_index[targets] == graph.type_index[index]]
        if not len(below):
            return False
        index = int(below[0])
    return True


def _few_keys(
    graph: HeapGraph, metrics: HeapMetrics, members: NDArray[np.int32]
) -> str:
    """A sentence if the keys of a map are of a type with few instances."""
    runtime = named(graph.runtime)
    keys: list[str] = []
    for member in members[:_ENTRIES].tolist():
        entry = int(metrics.path_parent[member])
        if entry < 0:
            return ""
        begin, end = graph.ref_start[entry : entry + 2].tolist()
        if end - begin > _OF_ENTRY:
            return ""
        found = [
            name
            for row in range(begin, end)
            if (graph.field_name(row) or "") in KEY_FIELDS
            and runtime.is_limited(name := graph.type_name(int(graph.ref_target[row])))
        ]
        if not found:
            return ""
        keys.append(found[0])
    if len(set(keys)) != 1:
        return ""
    name = graph.captions.of(keys[0])
    return f"Its keys are of type {name}, of which a program has a limited number."
