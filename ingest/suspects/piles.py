"""Piles: objects of one type that one owner holds.

The dominator tree is searched from its top for many objects of one type below one
owner, in one container, or for one very large object. Objects of the runtime's own
types lead to piles, and are piles only where no object of the program is below them.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.analysis.trees import marked, outermost
from ingest.analysis.types import count_by, largest_first, rows_of, rows_where, sum_by
from ingest.arrays.array_files import release_pages
from ingest.heap.graph import RefKind, RootFlag, RootKind, starts_type
from ingest.runtimes import TypeClass, named
from ingest.suspects.classes import classes_of
from ingest.suspects.ended import components, detached
from ingest.suspects.groups import number_groups, sum_heads
from ingest.suspects.heads import by_owners
from ingest.suspects.holders import Holder, Paths
from ingest.suspects.joints import is_key, nearest_above, some_of
from ingest.suspects.own import are_functions_of_library, is_whole_collection
from ingest.suspects.ownership import Ownership, owned, ownership, texts_of_code
from ingest.suspects.pile import Held, Pile
from ingest.system.memory import beside
from ingest.what_if.places import UNNAMED_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools
    from ingest.heap.graph import HeapGraph

SAMPLE = 1000
"""The most members of a pile whose paths are compared."""

PILE_SHARE = 0.04
"""Compared piles have at least this share of the reachable bytes without metadata."""

MOST = 0.7
"""An object that retains at least this share of its pile is followed."""

SHORT_RUN = 20
"""Fewer objects that retain one another, as in a linked list, are no pile."""

RUN_SHARE = 0.1
"""Share of a list's or tree's objects of the program that have its own type."""

_MUCH_MORE, _FEWEST_PARTS = 3, 4

_LEAST_OF_ROWS = 0.25
"""Share of a container that its rows have at least, if no other values have half."""

_SEVERAL, _MANY_VALUES = 3, 20
"""Values of one type that each row of a table has, at least and at most."""

_SAMPLED = 64
"""Objects that are asked whether they are keys."""

_NEARLY_ALL, _STEPS_ABOVE = 0.95, 3
_LEAST_ROWS, _MANY_SHARED, _LEAST_ENDED = 100, 1000, 0.01

_MAX_SEARCHES, _MAX_ENTRIES, _MAX_PARTS = 200, 200, 8

_HANDLES = (RootKind.HANDLE, RootKind.JNI_GLOBAL, RootKind.FINALIZER_QUEUE)


class PileSearch:
    """The search for piles in one heap.

    Attributes:
        graph, metrics: The heap and its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        program: Owners of objects that are of the program's types.
        metadata: uint8. Bits of the objects that are the runtime's metadata.
        metadata_bytes: Reachable bytes of the runtime's metadata.
        base: Reachable bytes without metadata, at least 1.
        inside: The share of these bytes that is in the heap, not outside of it.
        least: Bytes of the smallest pile.
        paths: Paths from roots.
        ended: int32. Components that the system has ended.
    """

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        own: Sequence[str],
        inside: float = 1.0,
    ) -> None:
        self.graph, self.metrics, self.inside = graph, metrics, inside
        self.classes = classes_of(graph, metrics, own)
        self.paths = Paths(graph, metrics, self.classes, own)
        release_pages(graph.shallow_bytes)  # sizes were summed up
        # Seldom is there no container of the runtime's values, which needs both. Of
        # the second only owners and entries are used.
        stands = self.paths.places.stands
        owners = partial(ownership, graph, metrics, self.classes, stands)
        with beside(lambda: owners(libraries_own=True)) as libraries:
            self.program = owners()
            self._libraries = libraries()._replace(is_metadata=np.empty(0, np.bool_))
        texts, has_no_other = texts_of_code(graph)
        self.program.is_metadata[texts[has_no_other]] = True
        self._of_code = frozenset(texts.tolist())
        self.metadata_bytes = int(graph.shallow_bytes[self.program.is_metadata].sum())
        self.base = max(metrics.reachable_bytes - self.metadata_bytes, 1)
        self.least = max(int(inside * PILE_SHARE * self.base), 1)
        self.metadata = np.packbits(self.program.is_metadata)
        release_pages(graph.shallow_bytes)
        self._searches = 0
        self.ended, self.detached = components(graph, self.classes), detached(graph)

    def held(self, pile: Pile, most: int = SAMPLE) -> Held | None:
        """The pile without what others hold, and its cut; ``None`` if it has none.

        The elements of a table of static fields have nothing in common, and a table
        of the runtime's own is no leak of the program. At most ``most`` objects are
        looked at.
        """
        cuts = self.paths.cuts
        pile = by_owners(self.graph, self.metrics, self.classes, cuts, pile)
        members = pile.members
        is_code = not pile.is_many and members[0] in self._of_code
        if is_code or are_functions_of_library(self.graph, members):
            return None
        is_shared = pile.entry in self.paths.places.table_objects
        if pile.waits or is_shared:
            cut = cuts.of_dominator(pile.type_index, members)
        else:
            own = self.graph.type_index[pile.owner] if pile.owner >= 0 else -1
            cut = cuts.of(
                pile.type_index, members, pile.retained_bytes,
                is_of_own_type=bool(own == pile.type_index),
            )  # fmt: skip
        found, is_mostly = None, False
        if cut is None or not cut.is_named or cuts.are_native(cut.edges):
            found = cuts.of_group(pile.type_index, members, most)
        if found is not None:
            cut, members, is_mostly = found
        if cut is None:
            return None
        is_group = found is not None
        holder = self.paths.of(cut.edges[0], cuts.member_below(cut.edges[0], members))
        is_of_table = holder.is_statics_table and len(holder.path) == 1
        if is_of_table and not is_shared:
            return None
        if self._is_kept_weakly(pile.type_index, holder):
            return None
        is_unclear = holder.words == UNNAMED_ROOT
        first = self.graph.type_index[cut.edges[0].below[0]]
        is_like = pile.is_many and first == pile.type_index
        is_unclear &= is_like or cuts.has_no_class[pile.type_index]
        if is_unclear and cut.freed_bytes > _NEARLY_ALL * self.metrics.reachable_bytes:
            return None  # what hangs at the global object, or others of its type
        is_own, edge = self.classes[pile.type_index] == TypeClass.PROGRAM, cut.edges[0]
        is_direct = edge.below == (holder.member,)
        if not is_own and not is_direct and cuts.is_of_runtime(edge):
            return None
        if not pile.is_many and self._is_of_runtime(holder, pile.type_index):
            return None
        pile = pile._replace(
            members=members,
            object_count=self._count(pile, cut.lost),
            retained_bytes=cut.freed_bytes,
        )
        return Held(pile, holder, cut, is_group, is_mostly)

    def _count(self, pile: Pile, lost: Bools) -> int:
        """How many objects of a pile's type a cut frees; of texts, whole ones."""
        kinds, kind = self.graph.type_index, pile.type_index
        rows = np.flatnonzero(lost & (kinds == kind))
        if self.classes[kind] == TypeClass.CONTAINER:
            if pile.object_count > 1:
                return pile.object_count
            # Others as large may be freed with one, as all threads of a list.
            size = self.metrics.retained_bytes
            return int(np.count_nonzero(2 * size[rows] >= size[pile.members[0]]))
        if not self._is_text(kind):
            return len(rows)
        above = self.metrics.dominator[rows]
        return int(np.count_nonzero((above < 0) | (kinds[above] != kind)))

    def _is_text(self, kind: int) -> bool:
        """Whether a type is one of texts, some of which are made of others."""
        is_string = "string" in self.graph.type_names[kind]
        return is_string and bool(self.classes[kind] == TypeClass.LIBRARY)

    def _is_kept_weakly(self, kind: int, holder: Holder) -> bool:
        """Whether weak references are in a collection that drops them by itself."""
        runtime, type_name = named(self.graph.runtime), self.graph.type_name
        is_weak = runtime.is_weak_collection
        return self.graph.type_names[kind] in runtime.weak_references and any(
            is_weak(type_name(at)) for at in holder.path[:-1]
        )

    def _is_of_runtime(self, holder: Holder, kind: int) -> bool:
        """Whether one of the runtime's own objects is held by nothing but itself.

        Such as V8's cache of the texts of numbers, which no program can clear.
        """
        is_own = self.classes[kind] != TypeClass.PROGRAM
        is_held = holder.root_kind == RootKind.RUNTIME.label
        return bool(is_own and is_held and len(holder.path) == 1)

    def forget_owners(self) -> None:
        """Free most memory of the search; no more piles can be found then."""
        del self.program, self._libraries

    def piles(self) -> Iterator[Pile]:
        """Piles of at least `least` bytes, none within another one."""
        self._large = rows_where(self.metrics.retained_bytes >= self.least)
        yield from self._piles_of(self.program, TypeClass.PROGRAM, [ROOT])
        yield from self._ended()
        yield from self._values_of_handles()
        yield from self._values_of_tables()
        yield from self._waiting()

    def _ended(self) -> Iterator[Pile]:
        """Components that the system has ended, and that are held all the same."""
        rows = self.ended[self.metrics.root_distance[self.ended] >= 0]
        rows = outermost(self.metrics.dominator, rows)
        least = int(_LEAST_ENDED * self.base)
        for pile in self._one_by_one(rows, least, is_any=True):
            if pile.is_many or pile.object_count == 1:
                yield pile
                continue
            for at in range(pile.object_count):
                one = pile.members[at : at + 1]
                size = int(self.metrics.retained_bytes[one[0]])
                if size >= least:
                    yield pile._replace(
                        object_count=1, retained_bytes=size, members=one
                    )

    def _values_of_handles(self) -> Iterator[Pile]:
        """Values of the runtime that handles or the finalizer queue hold one by one.

        Or its collections, by roots for what the file does not record.
        """
        graph, unrecorded = self.graph, (RootKind.NOT_RECORDED,)
        both = (TypeClass.LIBRARY, _HANDLES), (TypeClass.CONTAINER, unrecorded)
        holds = ~RootFlag.WEAK.is_in(graph.root_flags)
        for own, by in both:
            rows = np.unique(graph.root_object[holds & np.isin(graph.root_kind, by)])
            kinds = graph.type_index[rows]
            chosen = (kinds >= 0) & (self.metrics.dominator[rows] == ROOT)
            chosen &= self.classes[kinds] == own
            yield from self._one_by_one(rows[chosen])

    def _values_of_tables(self) -> Iterator[Pile]:
        """Values in the runtime's tables of static fields, as texts that it shares."""
        kinds, dominator = self.graph.type_index, self.metrics.dominator
        tables = np.array(sorted(self.paths.places.table_objects), np.int32)
        if len(tables):
            rows = rows_of(tables, dominator).astype(np.int32)
            rows = rows[kinds[rows] >= 0]
            rows = rows[self.classes[kinds[rows]] == TypeClass.LIBRARY]
            for pile in self._one_by_one(rows):
                if pile.object_count >= _MANY_SHARED:
                    yield pile._replace(entry=int(dominator[pile.members[0]]))

    def _waiting(self) -> Iterator[Pile]:
        """Objects that wait for the finalizer."""
        strength, dominator = self.metrics.strength, self.metrics.dominator
        if strength is None:
            return
        rows = rows_where(strength == RefKind.FINALIZER)
        above = dominator[rows]
        is_inner = (above >= 0) & (strength[above] == RefKind.FINALIZER)
        rows = rows[~is_inner]
        for pile in self._one_by_one(rows[self.graph.type_index[rows] >= 0]):
            yield pile._replace(waits=True)

    def _one_by_one(
        self, rows: NDArray[np.int32], least: int = 0, *, is_any: bool = False
    ) -> Iterator[Pile]:
        """Piles of objects that nothing of the program holds, by type.

        Args:
            rows: int32. The objects.
            least: Bytes of the smallest pile, 0 for the usual ones.
            is_any: Whether a few objects are a pile, too.
        """
        kinds = self.graph.type_index[rows]
        retained = self.metrics.retained_bytes[rows]
        sums = sum_by(kinds, retained, len(self.classes))
        for kind in np.flatnonzero(sums >= (least or self.least)).tolist():
            members = rows[kinds == kind]
            members = largest_first(members, self.metrics.retained_bytes)
            pile = Pile(kind, len(members), int(sums[kind]), members, -1, ROOT)
            if pile.is_many or is_any:
                yield pile

    def _piles_of(
        self, level: Ownership, owning: TypeClass, owners: list[int]
    ) -> Iterator[Pile]:
        """Piles among what an object owns.

        Args:
            level: Owners of objects.
            owning: Class of the types that are searched for.
            owners: The object and those of its type that it retains, or `ROOT`.
        """
        self._searches += 1
        rows, entry, is_inner = owned(level, owners)
        if self._searches > _MAX_SEARCHES or not len(rows):
            return
        slots, entries = self._large_entries(rows, entry, owning)
        found: dict[int, int] = defaultdict(int)
        piles = self._groups(rows, is_inner, slots[entry], entries, owning, owners[0])
        # What follows may search below a pile: only what is used again stays.
        del rows, entry, is_inner, slots
        for pile in piles:
            found[pile.entry] += pile.retained_bytes
            yield from self._followed(level, owning, pile)
        if owning is TypeClass.PROGRAM:
            for container in entries:
                for pile in self._values(level, container, owners):
                    # Values beside objects of the program only lead to these.
                    if pile.compared_bytes > _MUCH_MORE * found[container]:
                        yield pile

    def _large_entries(
        self, rows: NDArray[np.int32], entry: NDArray[np.int32], owning: TypeClass
    ) -> tuple[NDArray[np.uint8], list[int]]:
        """Containers that an owner dominates and that retain enough for a pile.

        Returns:
            uint8 (N + M,): 1 + the row of a container in the list, 0 for other objects;
            and that list.
        """
        at = np.minimum(np.searchsorted(rows, self._large), len(rows) - 1)
        tops = rows[at[(rows[at] == self._large) & (entry[at] == self._large)]]
        kinds = self.graph.type_index[tops]
        tops = tops[(kinds >= 0) & (self.classes[kinds] != owning)][:_MAX_ENTRIES]
        slots = np.zeros(len(self.graph.type_index), np.uint8)
        slots[tops] = np.arange(1, len(tops) + 1)
        return slots, tops.tolist()

    def _groups(
        self,
        rows: NDArray[np.int32],
        is_inner: NDArray[np.bool_],
        slot: NDArray[np.uint8],
        entries: list[int],
        owning: TypeClass,
        owner: int,
    ) -> Iterator[Pile]:
        """Objects of owning types by container and type, if they retain enough."""
        types = len(self.graph.type_names)
        count = (len(entries) + 1) * types
        key = np.empty(len(rows), starts_type(count))
        left_out = np.empty(0, np.bool_)
        if owning is TypeClass.LIBRARY:
            left_out = self.program.is_metadata
        owns = np.asarray(self.classes == owning)
        number_groups(rows, slot, self.graph.type_index, owns, left_out, key)
        del slot
        numbers, place = np.arange(count), key
        if count > len(rows):
            numbers, place = np.unique(key, return_inverse=True)
            place[key < 0] = -1
        sums = np.zeros(len(numbers), np.int64)
        sum_heads(place, rows, is_inner, self.metrics.retained_bytes, sums)
        del place
        large = (sums >= self.least) & (numbers >= 0)
        for group, size in zip(
            numbers[large].tolist(), sums[large].tolist(), strict=True
        ):
            at = group // types
            if owning is TypeClass.LIBRARY and not at and owner == ROOT:
                continue  # shared strings and the like, which nothing has in common
            found = key == group
            count = int(np.count_nonzero(found))
            inner, members = rows[found & is_inner], rows[found & ~is_inner]
            del found
            if (of_one := self._children(group % types, inner, members)) is not None:
                yield of_one
                continue
            yield Pile(
                type_index=group % types,
                object_count=count,
                retained_bytes=size,
                members=largest_first(members, self.metrics.retained_bytes),
                entry=entries[at - 1] if at else -1,
                owner=owner,
                is_run=self._is_run(members, count),
            )

    def _children(
        self, kind: int, inner: NDArray[np.int32], heads: NDArray[np.int32]
    ) -> Pile | None:
        """Objects of one type that one of their own type has, as a metric's children.

        Args:
            kind: Their type.
            inner: int32. Those that others of the type dominate.
            heads: int32. The others.

        Returns:
            ``None`` if they are a list or a tree, or held in another way.
        """
        if len(inner) < max(SHORT_RUN, len(heads)):
            return None
        dominator, kinds = self.metrics.dominator, self.graph.type_index
        is_other = np.arange(len(self.classes) + 1) != kind
        heads_of = nearest_above(dominator, kinds, inner, is_other, _STEPS_ABOVE)
        parent = int(np.bincount(np.maximum(heads_of, 0)).argmax())
        if np.count_nonzero(heads_of == parent) < MOST * (len(inner) + len(heads)):
            return None
        members, retained = inner[heads_of == parent], self.metrics.retained_bytes
        size, members = int(retained[members].sum()), largest_first(members, retained)
        return Pile(kind, len(members), size, members, -1, parent)

    def _is_run(self, members: NDArray[np.int32], count: int) -> bool:
        """Whether so many objects are a list or tree with little else in it.

        A large structure of many types, such as that of a user interface, also has
        objects that retain others of their type.
        """
        kind = int(self.graph.type_index[members[0]])
        if count - len(members) < SHORT_RUN or self._is_text(kind):
            return False  # of texts each is made of others
        own, mark = self.classes[kind], marked(self.metrics.dominator, [members])
        kinds = self.graph.type_index[mark == 1]
        others = np.count_nonzero(self.classes[kinds[kinds >= 0]] <= own)
        return bool(count >= RUN_SHARE * others)

    def _followed(
        self, level: Ownership, owning: TypeClass, pile: Pile
    ) -> Iterator[Pile]:
        """The pile, or those below its largest object if that has most of it."""
        largest = int(pile.members[0])
        retained = int(self.metrics.retained_bytes[largest])
        if pile.is_many and retained < MOST * pile.retained_bytes:
            inner = self._in_parts(level, owning, pile)
            yield from inner or [pile]
            return
        is_one = retained >= MOST * pile.retained_bytes  # else as peers with queues
        owners = [largest] if is_one else pile.members.tolist()
        if pile.object_count > len(pile.members):
            entry = int(level.entry[largest])
            same = level.entry == (-1 - entry if entry >= 0 else entry)
            same &= self.graph.type_index == pile.type_index
            owners += np.flatnonzero(same)[:SHORT_RUN].tolist()
        below = list(self._piles_of(level, owning, owners))
        found = sum(inner.compared_bytes for inner in below)
        if pile.is_many and found < retained // 2:
            yield pile
        elif below:
            yield from below
        elif (values := self._own_values(level, owning, owners)) is not None:
            yield values
        elif 2 * self.graph.shallow_bytes[largest] >= retained:
            yield pile

    def _own_values(
        self, level: Ownership, owning: TypeClass, owners: list[int]
    ) -> Pile | None:
        """The values of one type that have most of an object which is a collection.

        Such as texts or rows in a class of the program that extends a dict.
        """
        if owning is not TypeClass.PROGRAM:
            return None
        size = int(self.metrics.retained_bytes[owners[0]])
        if (table := self._rows(level, owners, -1, size, MOST)) is not None:
            return table
        rows, _, _ = owned(level, owners)
        kinds = self.graph.type_index[rows]
        is_value = (kinds >= 0) & ~self.program.is_metadata[rows]
        is_value[is_value] = self.classes[kinds[is_value]] == TypeClass.LIBRARY
        rows, kinds = rows[is_value], kinds[is_value]
        types, metrics = len(self.classes), self.metrics
        sizes = sum_by(kinds, metrics.retained_bytes[rows], types)
        kind = int(np.argmax(sizes))
        found = rows[kinds == kind]
        if len(found) < _LEAST_ROWS or 2 * sizes[kind] < size:
            return None
        return self._pile_of(found, size, -1, owners[0])

    def _in_parts(self, level: Ownership, owning: TypeClass, pile: Pile) -> list[Pile]:
        """Piles below all objects of a pile, if these are the parts of a table.

        Such as the buckets of a table of timers: an array of their type, as long as a
        power of two, and full.
        """
        graph, array, count = self.graph, pile.entry, len(pile.members)
        if owning is not TypeClass.PROGRAM or array < 0 or count & (count - 1):
            return []
        name = f"{graph.type_names[pile.type_index]}[]"
        begin, end = graph.ref_start[array : array + 2].tolist()
        is_full = end - begin == count >= _FEWEST_PARTS
        if not is_full or graph.type_name(array) != name:
            return []
        below = list(self._piles_of(level, owning, pile.members.tolist()))
        found = sum(inner.compared_bytes for inner in below)
        return below if 2 * found >= pile.retained_bytes else []

    def _values(
        self, level: Ownership, container: int, owners: list[int]
    ) -> Iterator[Pile]:
        """The pile of the runtime's values in a container, if it is one.

        Args:
            level: Owners of objects.
            container: What the owner dominates.
            owners: The owners, as in `_piles_of`.
        """
        values, _, _ = owned(level, owners, container)
        kinds = self.graph.type_index[values]
        is_value = (kinds >= 0) & (self.classes[kinds] != TypeClass.PROGRAM)
        is_value &= ~self.program.is_metadata[values]
        values = values[is_value]
        del kinds, is_value  # what follows takes as much again
        size = int(self.graph.shallow_bytes[values].sum())
        release_pages(self.graph.shallow_bytes)
        if size < self.least:
            return
        level_of_program, level = level, self._libraries
        owner = owners[0]
        rows, _, is_inner = owned(level, owners, container)
        slot = np.ones(len(rows), np.uint8)
        found = [
            inner._replace(counted_bytes=size)
            for pile in self._groups(
                rows, is_inner, slot, [container], TypeClass.LIBRARY, owner
            )
            for inner in self._followed(level, TypeClass.LIBRARY, pile)
        ]
        kinds = self.graph.type_index[values]
        by_type = sum_by(kinds, self.graph.shallow_bytes[values], len(self.classes))
        release_pages(self.graph.shallow_bytes)
        is_value = self.classes == TypeClass.LIBRARY
        sizes = [int(by_type[is_value].max(initial=0))]
        most = max(sizes + [one.retained_bytes for one in found])
        table = self._rows(level_of_program, owners, container, size, MOST)
        largest = int(np.argmax(by_type))
        if table is not None:
            # Each of several values, as a record has, is not what was added.
            many = np.count_nonzero(kinds == largest) / table.object_count
            is_record = _SEVERAL <= many <= _MANY_VALUES
            is_record &= self._are_entries(table.members, container)
            if is_record or 2 * most < table.retained_bytes:
                yield table
                return
        first = max(found, key=lambda pile: pile.compared_bytes, default=None)
        # What is empty, as sets, has no more than its keys.
        keys = values[kinds == largest] if first is None else first.members
        are_keys = table is None and self._are_keys(keys)
        if table is None and (are_keys or 2 * most < size):
            table = self._rows(
                level_of_program, owners, container, size, _LEAST_OF_ROWS
            )
            if table is not None:
                are_plain = is_whole_collection(self.graph.type_names[table.type_index])
                if are_keys or not are_plain or 2 * most < table.retained_bytes:
                    yield table
                if are_keys:
                    return
        if first is not None:
            yield first
            return
        if 2 * by_type[largest] >= size:
            pile = self._pile_of(values[kinds == largest], size, container, owner)
            is_run = self._is_run(pile.members, pile.object_count)
            yield pile._replace(is_run=is_run)

    def _are_entries(self, members: NDArray[np.int32], container: int) -> bool:
        """Whether most of some objects are entries of a container itself."""
        sample, found = some_of(members, SAMPLE), 0
        for at in sample.tolist():
            for _ in range(_STEPS_ABOVE):
                at = int(self.metrics.dominator[at])
                name = normalised_type(self.graph.type_name(at)) if at >= 0 else ""
                if at == container or not is_inside_collection(name):
                    break
            found += at == container
        return found >= MOST * len(sample)

    def _are_keys(self, members: NDArray[np.int32]) -> bool:
        """Whether most of some objects are keys of entries of a map."""
        sample = some_of(members, _SAMPLED)
        above = self.metrics.path_parent[sample].tolist()
        pairs = zip(above, sample.tolist(), strict=True)
        return 2 * sum(is_key(self.graph, *pair) for pair in pairs) > len(sample)

    @cached_property
    def _is_whole(self) -> Bools:
        """Bool (T,): types that may have parts of their own, as locks and promises.

        No entries or tables of a map, and nothing that is known by its contents alone.
        """
        is_whole = [
            not is_inside_collection(normalised_type(name)) and name[-2:] != "[]"
            for name in self.graph.type_names
        ]
        return np.array(is_whole, np.bool_) & ~self.paths.cuts.has_no_name

    def _rows(
        self,
        level: Ownership,
        owners: list[int],
        container: int,
        size_bytes: int,
        share: float,
    ) -> Pile | None:
        """What is in a container and leads to others: rows of a table, or locks.

        Of several types, that of which there are most; ``None`` for few.

        Args:
            level: Owners of objects.
            owners: The owners, as in `_piles_of`.
            container: What the owner dominates, or -1.
            size_bytes: What its values have.
            share: The least share of that which they retain.
        """
        found, _, _ = owned(level, owners, container)
        kinds = self.graph.type_index[found]
        is_row = (kinds >= 0) & (self.classes[kinds] == TypeClass.CONTAINER)
        is_row &= found != container
        found, kinds = found[is_row], kinds[is_row]
        many = count_by(kinds, len(self.classes))
        # Of sets, each with a map of its own, the sets.
        sizes = sum_by(kinds, self.metrics.retained_bytes[found], len(self.classes))
        runtime, names = named(self.graph.runtime), self.graph.type_names
        known = {*runtime.collections, *runtime.awaits}  # or tasks with their results
        for kind in np.lexsort((-sizes, -many)).tolist():
            if many[kind] < _LEAST_ROWS:
                break
            if not (self._is_whole[kind] or names[kind] in known):
                continue
            rows, place = found[kinds == kind], (size_bytes, container, owners[0])
            pile = self._pile_of(rows, *place)
            if len(pile.members) < _LEAST_ROWS < len(rows):  # tables themselves
                pile = self._pile_of(np.setdiff1d(rows, pile.members), *place)
            # A row may have a few of its own, as parsed JSON does; a tree has one top.
            is_large = pile.retained_bytes >= share * size_bytes
            if is_large and _MAX_PARTS * len(pile.members) >= many[kind]:
                return pile._replace(object_count=len(pile.members))
        return None

    def _pile_of(
        self, found: NDArray[np.int32], counted_bytes: int, container: int, owner: int
    ) -> Pile:
        """The pile of objects of one type, some of which may dominate others."""
        heads = outermost(self.metrics.dominator, found)
        retained = self.metrics.retained_bytes[heads]
        order = np.lexsort((-self.graph.shallow_bytes[heads], -retained))
        release_pages(self.graph.shallow_bytes)
        return Pile(
            int(self.graph.type_index[heads[0]]),
            len(found),
            int(retained.sum()),
            heads[order],
            container,
            owner,
            counted_bytes=counted_bytes,
        )
