"""Who holds the objects of a suspect: a path from a root, and its holder."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT, holding_roots, holds
from ingest.heap.graph import OF_CLASS, RootKind
from ingest.runtimes import TypeClass, named
from ingest.suspects.ownership import described_types, statics_tables
from ingest.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.heap.graph import HeapGraph

SAMPLE = 1000
"""Members of a pile whose paths are compared."""

_MAX_STEPS = 24
"""Steps of a path that are written; the middle of a longer one is folded."""

_RUN = 3
"""Objects of one type in a row, from which on they are folded."""

_MAX_VALUE = 40
"""Characters of a value that are shown in a path."""

_MAX_FUNCTION = 80

_PLACED = re.compile(r".*?:\d+:\d+(?= \()")
"""The name and place of a function, without the folder of its script."""


@dataclass(frozen=True, slots=True)
class Holder:
    """What refers to the objects of a pile.

    Attributes:
        member: The object of the pile whose path this is.
        type_name: Full name of the holder's type, or of the one that declares the
            static field; ``None`` where only the runtime refers to them.
        index: The holder, or -1 if it is a static field or a root.
        name: What part of the program the holder stands for, such as a function; see
            `ingest.runtimes.base.Runtime.holders`. ``None`` for none.
        reference: Its field; ``None`` if not recorded.
        target: The object that the reference leads to.
        between: Objects from that one down to the member, without it.
        path: Objects from a root to the member.
        root: Row of the root that the path begins at.
        root_kind: Name of its kind.
        root_name: Its static field, its type or its thread; ``None`` if not recorded.
        root_field: Its static field alone; ``None`` if not recorded.
        root_owner: Its thread or isolate; ``None`` if not recorded.
        is_thread_static: Whether the root is a static field of which each thread has
            one of its own.
        is_statics_table: Whether the root is a pinned array, in which the runtime
            has its static fields.
    """

    member: int
    type_name: str | None
    index: int
    name: str | None
    reference: str | None
    target: int
    between: tuple[int, ...]
    path: tuple[int, ...]
    root: int
    root_kind: str
    root_name: str | None
    root_field: str | None
    root_owner: str | None
    is_thread_static: bool
    is_statics_table: bool


def shortest_path(metrics: HeapMetrics, index: int) -> tuple[int, ...]:
    """Objects from one that a root refers to to ``index``; empty if unreachable."""
    if metrics.root_distance[index] < 0:
        return ()
    path = []
    while index != ROOT:
        path.append(index)
        index = int(metrics.path_parent[index])
    return tuple(reversed(path))


class Paths:
    """Shortest paths of one heap, and the program's types on them."""

    def __init__(
        self, graph: HeapGraph, metrics: HeapMetrics, classes: NDArray[np.uint8]
    ) -> None:
        self._graph, self._metrics, self._classes = graph, metrics, classes
        stand_for = named(graph.runtime).holders
        self._stands = np.array([name in stand_for for name in graph.type_names])
        self._tables = statics_tables(graph)
        self._roots = holding_roots(graph, metrics.strength)
        self._described = described_types(graph)
        self._root_of: dict[int, int] = {}

    def holder(
        self,
        type_index: int,
        members: NDArray[np.int32],
        entry: int,
        most: int = SAMPLE,
    ) -> tuple[Holder, NDArray[np.int32]] | None:
        """What holds most objects of a pile; ``None`` if nothing does.

        Args:
            type_index: The type of the pile.
            members: int32. Its objects, the one that retains most first.
            entry: The container that all are in, or -1.
            most: How many are looked at.

        Returns:
            The holder, and the objects that it holds, in their order: all of them if
            there are more than ``most``.
        """
        if entry >= 0:
            return self._holder(int(members[0]), type_index, entry), members
        sample = members
        if len(members) > most:
            sample = members[np.linspace(0, len(members) - 1, most).astype(int)]
        holders = [self._holder(index, type_index, -1) for index in sample.tolist()]
        keys = [_key(holder) for holder in holders]
        common, count = Counter(keys).most_common(1)[0]
        if 2 * count < len(keys):
            return None
        held = np.array([key == common for key in keys])
        # Members come by descending retained size.
        first = holders[int(np.argmax(held))]
        return first, members[held] if sample is members else members

    def _holder(self, member: int, type_index: int, entry: int) -> Holder:
        """The last object of the program's on the path to a member."""
        graph = self._graph
        path = shortest_path(self._metrics, member)
        at = path.index(entry) if entry >= 0 else len(path) - 1
        # The member itself, and others of its type, do not hold it.
        holder = self._part_below(path, at)
        if holder < 0:
            holder = at - 1
        while holder >= 0:
            kind = int(graph.type_index[path[holder]])
            if self._declares(path, holder) or (
                kind != type_index
                and self._is_holder(path[holder], kind)
                # That an object holds its class is no reference that a program has.
                and self.field(path[holder], path[holder + 1]) != OF_CLASS
            ):
                break
            holder -= 1
        root = self._root(path[0])
        kind = RootKind(int(graph.root_kind[root]))
        declaring = int(graph.root_type[root])
        if holder >= 0:
            described = self._described.get(path[holder])
            name: str | None = (
                graph.type_name(path[holder])
                if described is None
                else graph.type_names[described]
            )
            reference = self.field(path[holder], path[holder + 1])
        else:
            name = graph.type_names[declaring] if declaring >= 0 else None
            reference = self._static_field(root)
        return Holder(
            member=member,
            type_name=name,
            index=path[holder] if holder >= 0 else -1,
            name=self._part(path[holder]) if holder >= 0 else None,
            reference=reference,
            target=path[holder + 1],
            between=path[holder + 1 : -1],
            path=path,
            root=root,
            root_kind=kind.label,
            root_name=self._root_name(root),
            root_field=self._static_field(root),
            root_owner=self._owner(root),
            is_thread_static=kind is RootKind.THREAD_STATIC,
            is_statics_table=bool(self._tables[root]),
        )

    def _declares(self, path: Sequence[int], at: int) -> bool:
        """Whether what a path goes on with is in a static field of a class object."""
        if path[at] not in self._described:
            return False
        field = self.field(path[at], path[at + 1])
        return field is not None and not field.startswith("<")

    def _part_below(self, path: Sequence[int], at: int) -> int:
        """The last object from ``at`` on that stands for a part of the program, or -1.

        Such an object may be, or be in, the container that has all members.
        """
        for holder in range(len(path) - 2, at - 1, -1):
            kind = int(self._graph.type_index[path[holder]])
            if self._stands[kind] and self._part(path[holder]) is not None:
                return holder
        return -1

    def _is_holder(self, index: int, kind: int) -> bool:
        if self._stands[kind]:
            return self._part(index) is not None
        return bool(self._classes[kind] == TypeClass.PROGRAM)

    def _part(self, index: int) -> str | None:
        """The part of the program that an object of the runtime stands for."""
        graph = self._graph
        if graph.values is None or not self._stands[graph.type_index[index]]:
            return None
        return graph.values.pick(np.array([index], np.int32))[0]

    def function(self, holder: Holder) -> str | None:
        """The last function of the program's that holds what a holder holds.

        It is between both, or what a timer there calls, with its place.
        """
        for index in reversed((*holder.between, holder.member)):
            for at in (index, *self._called_by(index)):
                value = self._function(at)
                if value is not None:
                    placed = _PLACED.match(value)
                    return printable(placed[0] if placed else value)[:_MAX_FUNCTION]
        return None

    def _called_by(self, index: int) -> list[int]:
        """The functions that a timer refers to; none for what is no timer."""
        graph = self._graph
        timer = named(graph.runtime).patterns.get("timer")
        if timer is None or re.match(timer, graph.type_name(index)) is None:
            return []
        begin, end = graph.ref_start[index : index + 2].tolist()
        return [int(at) for at in graph.ref_target[begin:end]]

    def _function(self, index: int) -> str | None:
        """Name and place of a function of the program's; ``None`` for other objects."""
        graph, runtime = self._graph, named(self._graph.runtime)
        if graph.values is None or graph.type_name(index) != runtime.function_type:
            return None
        (value,) = graph.values.pick(np.array([index], np.int32))
        if value is None or re.search(runtime.library_functions, value):
            return None
        return value

    def _root(self, index: int) -> int:
        """The root that holds an object and says most: a static field, if any."""
        # Many paths begin at the same few objects.
        if index not in self._root_of:
            self._root_of[index] = self._find_root(index)
        return self._root_of[index]

    def _find_root(self, index: int) -> int:
        graph = self._graph
        says_less = np.full(len(graph.root_object), 2, np.uint8)
        says_less[graph.root_kind == RootKind.STATIC] = 0
        says_less += graph.root_type < 0
        says_less[~self._roots | (graph.root_object != index)] = 4
        return int(says_less.argmin())

    def _static_field(self, root: int) -> str | None:
        graph = self._graph
        if graph.root_field is None or graph.root_field[root] < 0:
            return None
        return graph.field_names[int(graph.root_field[root])]

    def _root_name(self, root: int) -> str | None:
        graph = self._graph
        field, declaring = self._static_field(root), int(graph.root_type[root])
        is_local = graph.root_kind[root] == RootKind.LOCAL
        if field is not None and is_local:
            return f"{field} of {self._frame(root)}"
        names = (
            [] if declaring < 0 else [graph.captions.of(graph.type_names[declaring])]
        )
        names += [] if field is None else [field]
        return ".".join(names) or self._owner(root)

    def _frame(self, root: int) -> str:
        graph = self._graph
        at = -1 if graph.root_frame is None else int(graph.root_frame[root])
        if at < 0 or graph.stacks is None:
            return self._owner(root) or "a thread"
        return graph.stacks.frames[at]

    def _owner(self, root: int) -> str | None:
        graph = self._graph
        if graph.root_owner is None or graph.root_owner[root] < 0:
            return None
        return graph.owners[int(graph.root_owner[root])]

    def field(self, source: int, target: int) -> str | None:
        """The field that holds an object, the first by name if there are several."""
        graph = self._graph
        begin, end = graph.ref_start[source : source + 2].tolist()
        found = graph.ref_target[begin:end] == target
        owner = np.full(end - begin, source, np.int32)
        found &= holds(graph, self._metrics.strength, slice(begin, end), owner)
        names = [graph.field_name(begin + at) for at in np.flatnonzero(found).tolist()]
        return min((name for name in names if name is not None), default=None)

    def steps(self, holder: Holder) -> tuple[tuple[str, ...], int | None]:
        """The path of a holder as text, and which step its reference leads to.

        The root comes first, then objects, each after the field that refers to it.
        """
        graph, path = self._graph, holder.path
        steps, cut = [printable(graph.root_name(holder.root))], None
        for at, left_out in _folded(graph.type_index[list(path)].tolist()):
            if left_out:
                name = printable(graph.captions.of(graph.type_name(path[at])))
                steps.append(f"… {left_out:,} more {name}")
            if path[at] == holder.target:
                cut = len(steps)
            steps.append(self._step(path, at))
        if len(steps) <= _MAX_STEPS:
            return tuple(steps), cut
        half, left_out = _MAX_STEPS // 2, len(steps) - _MAX_STEPS + 1
        fold = f"… {left_out:,} more steps"
        if cut is not None and cut >= half:
            cut = cut - left_out + 1 if cut >= half + left_out else None
        return (*steps[:half], fold, *steps[half + left_out :]), cut

    def _step(self, path: Sequence[int], at: int) -> str:
        graph, index = self._graph, path[at]
        field = self.field(path[at - 1], index) if at else None
        value = None
        if graph.values is not None:
            (value,) = graph.values.pick(np.array([index], np.int32))
        # The elements of a list are read by the importer, so no control characters.
        return printable(
            (f"{field}: " if field else "")
            + f"{graph.captions.of(graph.type_name(index))} {graph.address(index)}"
            + ("" if value is None else f' "{value[:_MAX_VALUE]}"')
        )


def _key(holder: Holder) -> tuple[object, ...]:
    """Equal for members that are held in the same way."""
    if holder.is_statics_table and len(holder.path) == 2:
        return (holder.member,)  # each in a field of its own
    if holder.type_name is None:
        return (holder.root_kind, holder.root_name, holder.is_statics_table)
    return (holder.type_name, holder.name, holder.reference)


def _folded(kinds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Positions to write of a path, each with the number left out before it.

    Of a run of one type the first and the last are written.
    """
    at = 0
    for _, run in groupby(kinds):
        length = len(list(run))
        if length <= _RUN:
            yield from ((at + i, 0) for i in range(length))
        else:
            yield at, 0
            yield at + length - 1, length - 2
        at += length
