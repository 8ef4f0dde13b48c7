"""What is freed with the objects of a suspect, and which of its fields have them."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.fingerprints import is_inside_collection, normalised_type
from ingest.analysis.types import count_by, rows_where, sum_by
from ingest.arrays.compiled import kernel
from ingest.runtimes import TypeClass, named
from ingest.suspects.covers import ENOUGH, MOST_LEVELS
from ingest.suspects.joints import is_key, nearest_above, some_of
from ingest.suspects.own import collection_below, family, is_collection
from ingest.suspects.words import collections_word, counted_objects
from ingest.what_if.cut_parser import AND
from ingest.what_if.places import target_of
from ingest.words.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.arrays.compiled import Bools, Ints, Longs
    from ingest.heap.graph import HeapGraph
    from ingest.suspects.holders import Paths
    from ingest.suspects.pile import Held, Pile

_LEAST_INSIDE = 0.2
"""Share of what objects without a class, or of a library, retain, from which on those
inside are told."""

_LEAST_OF_EACH = 0.1
"""The same where each object without a class refers to one that has a class."""

_LEAST_OTHER = 1 / 3
"""The same of objects of another type, which own more than the pile itself."""

_COLLECTED, _MOST_INSIDE = 5, 0.5
"""Each object of a pile has so many inside, which have this share of all."""

_BESIDE = 0.1
"""Share of what is freed that as many objects beside the pile own, from which on they
are told: the keys of a map."""

_BOTH = 0.25
"""Of keys and of values there is at least this share, where both are told."""

_OWN = (TypeClass.PROGRAM,)
_VALUES = (*_OWN, TypeClass.LIBRARY)

_MANY_VALUES = 20
"""Of the runtime's values each object of a pile has so many, as texts in its queue."""

_MOST_FIELDS, _SAMPLE = 3, 64

_SEVERAL_LOADERS = 3
"""So many class loaders of one type are told, each of which has classes of its own."""


@kernel
def _sum_owned(
    dominator: Ints,
    kinds: Ints,
    is_own: Bools,
    most: int,
    sizes: Longs,
    rows: Ints,
    sums: Longs,
) -> None:
    """Add the size of some objects to the type of the nearest of the program's own.

    That is at or above them, at most so many steps. The last entries of ``is_own`` and
    ``sums`` are for objects without a type.
    """
    for at in range(len(rows)):
        row = rows[at]
        for _ in range(most):
            if is_own[kinds[row]] or dominator[row] < 0:
                break
            row = dominator[row]
        sums[kinds[row]] += sizes[rows[at]]


def _listed(names: Sequence[str]) -> str:
    """Several names in words: ``head, table and tail``."""
    *most, last = map(printable, names)
    return f"{', '.join(most)} and {last}"


class _Freed(NamedTuple):
    """What a cut frees.

    Attributes:
        rows: int32. The objects, ascending.
        kinds: int32. The type of each.
        size_bytes: Their size.
    """

    rows: NDArray[np.int32]
    kinds: NDArray[np.int32]
    size_bytes: int


class Companions:
    """What is beside and inside of the piles of one heap.

    Args:
        graph: The heap.
        metrics: Its metrics.
        classes: uint8 (T,). The `TypeClass` of each type.
        paths: Paths from roots.
        main: What `ingest.suspects.own.main_type` says.
    """

    def __init__(
        self,
        graph: HeapGraph,
        metrics: HeapMetrics,
        classes: NDArray[np.uint8],
        paths: Paths,
        main: str,
    ) -> None:
        self._graph, self._metrics = graph, metrics
        self._classes, self._paths = classes, paths
        self._own_family = family(main) if main else None

    def inner(self, held: Held) -> tuple[str, str]:
        """What has a pile below what the cut refers to: a collection, or fields.

        Returns:
            Words for it, empty if there is none; and where they are held, with ``{}``
            for how the cut holds it, empty if that tells all.
        """
        if found := self._paths.inner(held.holder, held.cut.freed_bytes):
            return found, ""
        if several := self._several(held):
            return f"the {several}", f"in {several} {{}}"
        between = held.holder.between
        if between and (fields := self._fields(held, between[0])):
            return fields, f"in the fields {fields}"
        if (part := self._part(held)) >= 0:
            words = printable(self._graph.captions.of(self._graph.type_name(part)))
            if fields := self._fields(held, part):
                of = f"{fields} of the {words}"
                return of, f"in the fields {fields} of one {words}, {{}}"
            return "", f"through one {words}, {{}}"
        graph, classes = self._graph, self._classes
        return collection_below(graph, classes, held.holder, held.cut.text), ""

    @cached_property
    def _are_collections(self) -> Bools:
        """Bool (T + 1,): the types of collections, without their parts."""
        found = [
            is_collection(self._graph, self._classes, kind)
            and not is_inside_collection(normalised_type(name))
            for kind, name in enumerate(self._graph.type_names)
        ]
        return np.array([*found, False], np.bool_)

    def _several(self, held: Held) -> str:
        """The collections inside of one that together have a pile, as ``30 lists``.

        Empty if they have few objects each: then their number may be what grows.
        """
        graph, members, is_one = self._graph, held.pile.members, self._are_collections
        kinds, target = graph.type_index, held.holder.target
        if held.is_group or not is_one[kinds[target]]:
            return ""
        dominator = self._metrics.dominator
        heads = nearest_above(dominator, kinds, members, ~is_one, MOST_LEVELS)
        found = np.unique(heads[(heads >= 0) & is_one[kinds[heads]]])
        outer = np.unique(dominator[found])
        if (
            len(outer) == len(found)
            and (outer >= 0).all()
            and is_one[kinds[outer]].all()
        ):
            found = outer  # of sets with a map inside of each, or of maps with a set
        types = np.unique(kinds[found])
        is_all = bool((heads >= 0).all()) and target not in found
        if not is_all or len(types) != 1 or len(found) == 1:
            return ""
        if len(members) < _MANY_VALUES * len(found):
            return ""
        words = collections_word(graph.type_names[types[0]], graph.runtime)
        return f"{len(found):,} {words}"

    def _part(self, held: Held) -> int:
        """The one entry of the cut's collection that has a pile; -1 for none."""
        graph, kinds = self._graph, self._graph.type_index
        least = ENOUGH * held.cut.freed_bytes
        for at in () if held.is_group else held.holder.between:
            kind, name = int(kinds[at]), graph.type_name(at)
            if kind < 0 or self._metrics.retained_bytes[at] < least:
                break
            if self._classes[kind] == TypeClass.PROGRAM:
                is_in = at != held.holder.between[0] and kind != held.pile.type_index
                return at if is_in else -1
            is_inside = name.endswith("[]")
            is_inside |= is_inside_collection(normalised_type(name))
            if not (is_inside or is_collection(graph, self._classes, kind)):
                break
        return -1

    def _fields(self, held: Held, at: int) -> str:
        """The fields of an object that together hold a pile, if the cut is above it."""
        pile, kind = held.pile, self._graph.type_index[at]
        is_object = kind >= 0 and self._classes[kind] in (
            # What is private in a library is no matter of the program.
            _OWN if named(self._graph.runtime).has_private_fields else _VALUES
        )
        if held.is_group or not is_object or kind == pile.type_index:
            return ""
        size = int(self._metrics.retained_bytes[pile.members].sum())
        found = self._paths.cuts.fields(pile.type_index, pile.members, size)
        least = ENOUGH * held.cut.freed_bytes
        if not found and self._metrics.retained_bytes[at] >= least:
            found = self._paths.cuts.fields_above(at, pile.members)
        return _listed(found) if 1 < len(found) <= _MOST_FIELDS else ""

    def in_collection(self, held: Held) -> tuple[int, int]:
        """How many of a pile are in its collection themselves, and how many there are.

        The others of the pile are parts of these, as the elements of documents. The
        others of the collection are held elsewhere as well. Each is 0 where that is
        not so, or not known.
        """
        graph, pile, between = self._graph, held.pile, held.holder.between
        if held.is_group or not between or pile.object_count == 1:
            return 0, 0
        entries = np.unique(graph.targets(between[-1]))
        entries = entries[graph.type_index[entries] == pile.type_index]
        freed = int(np.count_nonzero(held.cut.lost[entries]))
        are_parts = np.isin(pile.members, entries).all()
        are_parts &= 1 < freed <= pile.object_count // 2
        is_whole = freed == pile.object_count < len(entries)
        return freed if are_parts else 0, len(entries) if is_whole else 0

    def are_keys_too(self, pile: Pile) -> bool:
        """Whether objects of a pile are keys of entries, and their values as well."""
        graph, sample = self._graph, some_of(pile.members, _SAMPLE)
        above = self._metrics.path_parent[sample]
        found: dict[int, list[bool]] = defaultdict(list)
        for row, entry in zip(sample.tolist(), above.tolist(), strict=True):
            found[int(graph.type_index[entry])].append(is_key(graph, entry, row))
        many = max(found.values(), key=len, default=[])
        share = sum(many) / len(sample)
        return _BOTH <= share <= 1 - _BOTH and len(many) >= (1 - _BOTH) * len(sample)

    def told(self, held: Held) -> tuple[str, str]:
        """The objects that are freed with a pile, if they are more than the pile.

        Also those inside of it that have most of its bytes as their own; and the cut
        that frees these alone, if each object of the pile has collected many of them.
        """
        graph, metrics, pile = self._graph, self._metrics, held.pile
        own = int(metrics.retained_bytes[pile.members].sum())
        lost = held.cut.lost
        rows = rows_where(lost)
        freed = _Freed(rows, graph.type_index[rows], held.cut.freed_bytes)
        kinds = freed.kinds
        if loaders := self._loaders(pile, freed):
            return loaders, ""
        kind = self._of_each(pile, lost)
        if kind is None:
            kind = self._inside(pile, freed, held.holder.between)
        if kind is not None:
            found = self._collected(held, kind, rows[kinds == kind])
            if found is None and (elements := self._elements(pile, freed)) is not None:
                found = self._collected(held, *elements)
            if found is None and (boxed := self._boxed(pile)) is not None:
                kind = boxed
            found = found or self._spread(held, freed, kind)
            return found or self._told_inside(pile, kind, rows[kinds == kind])
        if (elements := self._elements(pile, freed)) is not None:
            found = self._collected(held, *elements)
            if found is not None:
                return found
        if (spread := self._spread(held, freed, None)) is not None:
            return spread
        if (beside := self._beside(pile, freed)) is not None:
            return self._with_keys(beside[0], rows, beside[1]), ""
        if 2 * own >= freed.size_bytes:
            return "", ""
        classes = np.append(self._classes, np.uint8(TypeClass.METADATA))
        is_value = classes[kinds] <= TypeClass.LIBRARY
        rows, kinds = rows[is_value], kinds[is_value]
        # Without mere bytes, and without what has them itself.
        is_value = graph.ref_start[rows] < graph.ref_start[rows + 1]
        is_value &= ~np.isin(rows, held.holder.between)
        rows, kinds = rows[is_value], kinds[is_value]
        sizes = sum_by(kinds, metrics.retained_bytes[rows], len(graph.type_names))
        sizes[pile.type_index] = 0
        kind = int(np.argmax(sizes))
        if sizes[kind] <= own:
            return "", ""
        return self._with_keys(
            kind, rows, int(np.count_nonzero(freed.kinds == kind))
        ), ""

    def _loaders(self, pile: Pile, freed: _Freed) -> str:
        """The program's class loaders that are freed with values, if there are several.

        As of plug-ins, whose classes have the values in static fields.
        """
        graph, search = self._graph, re.compile(named(self._graph.runtime).loaders)
        if self._classes[pile.type_index] == TypeClass.PROGRAM:
            return ""
        many = count_by(freed.kinds, len(graph.type_names))
        many[self._classes != TypeClass.PROGRAM] = 0
        for kind in np.flatnonzero(many >= _SEVERAL_LOADERS).tolist():
            if search.search(graph.type_names[kind]):
                return self._counted(kind, int(many[kind]))
        return ""

    def _with_keys(self, kind: int, rows: NDArray[np.int32], count: int) -> str:
        """How many objects of some rows are of a type, and whether they are keys."""
        graph, parent = self._graph, self._metrics.path_parent
        rows = some_of(rows[graph.type_index[rows] == kind], _SAMPLE)
        are_keys = len(rows) > 0 and all(
            is_key(graph, *pair)
            for pair in zip(parent[rows].tolist(), rows.tolist(), strict=True)
        )
        return self._counted(kind, count) + (" as keys" if are_keys else "")

    def _told_inside(
        self, pile: Pile, kind: int, rows: NDArray[np.int32]
    ) -> tuple[str, str]:
        """Objects that those of a pile have, in words, without a cut."""
        told = self._counted(kind, len(rows))
        part = self._paths.part_inside(pile.type_index, rows)
        return f"{told} in {part}" if part else told, ""

    def _collected(
        self, held: Held, kind: int, rows: NDArray[np.int32]
    ) -> tuple[str, str] | None:
        """Many objects that a field of each of a pile has, and the cut of the field."""
        graph, pile, paths = self._graph, held.pile, self._paths
        if len(rows) < _COLLECTED * pile.object_count:
            return None
        if (found := paths.inside(pile.type_index, rows)) is None:
            return None
        edge, key = found
        field = graph.field_name(edge.row)
        place = paths.places.holder(edge.source, field)
        text = f"{place} -> {graph.captions.of(graph.type_name(edge.below[0]))}"
        cut = paths.cuts.of_text(text, [edge], rows, held.cut.freed_bytes, _MOST_INSIDE)
        if cut is None:
            return None
        told = self._counted(kind, int(np.count_nonzero(cut.lost[rows])))
        if field is None and graph.type_index[edge.source] == pile.type_index:
            return told, text
        return f"{told} in {place} {key}".rstrip(), text

    def _spread(
        self, held: Held, freed: _Freed, only: int | None
    ) -> tuple[str, str] | None:
        """Many objects that several fields of each of a pile have, and their cut.

        As streams that several maps of each connection have as keys. They are of one
        type, if that is known, or of one of those with the most objects.
        """
        graph, pile, paths = self._graph, held.pile, self._paths
        classes = np.append(self._classes, np.uint8(TypeClass.METADATA))
        if classes[pile.type_index] != TypeClass.PROGRAM or pile.object_count == 1:
            return None
        many = count_by(freed.kinds, len(graph.type_names))
        many[(self._classes != TypeClass.PROGRAM) | paths.cuts.has_no_class] = 0
        many[pile.type_index] = 0
        least = max(_MANY_VALUES * pile.object_count, int(many.max()) // 2)
        most = np.argsort(-many, kind="stable")[:_MOST_FIELDS].tolist()
        for kind in most if only is None else (only,):
            if many[kind] < least:
                break
            rows = freed.rows[freed.kinds == kind]
            owner, fields = self._fields_of_each(pile.type_index, rows)
            if not 1 < len(fields) <= _MOST_FIELDS:
                continue
            targets = [target_of(graph, owner, field) for field in fields]
            edges = [paths.cuts.edge(owner, at) for at in targets if at is not None]
            text = AND.join(
                f"{paths.places.holder(owner, field)} -> "
                f"{graph.captions.of(graph.type_name(edge.below[0]))}"
                for field, edge in zip(fields, edges, strict=True)
            )
            size = held.cut.freed_bytes
            if paths.cuts.of_text(text, edges, rows, size, _MOST_INSIDE) is not None:
                told = self._counted(kind, int(many[kind]))
                told += f" in the fields {_listed(fields)}"
                ends = {int(graph.type_index[edge.below[0]]) for edge in edges}
                return told, text if all(map(self._has_entries, ends)) else ""
        return None

    def _has_entries(self, kind: int) -> bool:
        """Whether objects of a type may have entries, which a function has not."""
        is_called = named(self._graph.runtime).is_called(self._graph.type_names[kind])
        return self._classes[kind] == TypeClass.CONTAINER and not is_called

    def _fields_of_each(
        self, kind: int, rows: NDArray[np.int32]
    ) -> tuple[int, list[str]]:
        """An object of a type that has some objects, and the fields by which it does.

        No fields if not all are below objects of the type, or if these differ.
        """
        kinds, sample = self._graph.type_index, some_of(rows, _SAMPLE)
        is_other = np.arange(len(self._classes) + 1) != kind
        heads = nearest_above(
            self._metrics.dominator, kinds, sample, is_other, MOST_LEVELS
        )
        if (heads < 0).any() or (kinds[heads] != kind).any():
            return -1, []
        owners = np.unique(heads)[:_MOST_FIELDS].tolist()
        found = [
            self._paths.cuts.fields_above(owner, sample[heads == owner])
            for owner in owners
        ]
        return owners[0], found[0] if found.count(found[0]) == len(found) else []

    def _elements(
        self, pile: Pile, freed: _Freed
    ) -> tuple[int, NDArray[np.int32]] | None:
        """The type of the runtime's values in collections that has most freed bytes.

        As texts in a queue of each object of the pile.
        """
        graph, metrics = self._graph, self._metrics
        classes = np.append(self._classes, np.uint8(TypeClass.METADATA))
        if classes[pile.type_index] != TypeClass.PROGRAM:
            return None
        rows = freed.rows[classes[freed.kinds] == TypeClass.LIBRARY]
        above = metrics.dominator[rows]
        is_in = classes[graph.type_index[above]] == TypeClass.CONTAINER
        rows = rows[is_in & (above >= 0)]
        kinds = graph.type_index[rows]
        sizes = sum_by(kinds, metrics.retained_bytes[rows], len(graph.type_names))
        kind = int(np.argmax(sizes))
        rows = rows[kinds == kind]
        is_much = 2 * int(sizes[kind]) >= freed.size_bytes
        is_many = len(rows) >= _MANY_VALUES * pile.object_count
        return self._captured(kind, rows) if is_much and is_many else None

    def _captured(
        self, kind: int, rows: NDArray[np.int32]
    ) -> tuple[int, NDArray[np.int32]]:
        """Some values of a type; or if lambdas of the program have them, these."""
        above = np.unique(self._metrics.dominator[rows])
        of = int(self._graph.type_index[above[0]])
        runtime = named(self._graph.runtime)
        found = re.match(runtime.lambdas or "(?!)", self._graph.type_names[of])
        if found is None or (self._graph.type_index[above] != of).any():
            return kind, rows
        (of_class,) = runtime.type_classes([found[1]])
        return (of, above) if of_class == TypeClass.PROGRAM else (kind, rows)

    def _beside(self, pile: Pile, freed: _Freed) -> tuple[int, int] | None:
        """Another type of the program that has as many objects outside of the pile's.

        As the keys of a map, which is told by its values; and how many there are.
        """
        if pile.object_count == 1:
            return None
        graph, metrics, rows = self._graph, self._metrics, freed.rows
        types, kinds = len(graph.type_names), freed.kinds
        many = count_by(kinds, types)
        sizes = sum_by(kinds, metrics.retained_bytes[rows], types)
        is_key = (self._classes == TypeClass.PROGRAM) & ~self._paths.cuts.has_no_class
        is_key &= np.abs(many - pile.object_count) <= pile.object_count // 10
        is_key[pile.type_index] = False
        kind = int(np.argmax(np.where(is_key, sizes, 0)))
        if not is_key[kind] or sizes[kind] < _BESIDE * freed.size_bytes:
            return None
        above = rows[kinds == kind][:_SAMPLE]
        for _ in range(MOST_LEVELS):
            above = metrics.dominator[above]
            above = above[above >= 0]
            if (graph.type_index[above] == pile.type_index).any():
                return None
        return kind, int(many[kind])

    def _boxed(self, pile: Pile) -> int | None:
        """The class of which each object of a pile has one, and nothing besides.

        As the references of a library, in which it keeps whatever a program has made.
        """
        graph, metrics = self._graph, self._metrics
        found = set[int]()
        for member in some_of(pile.members, _SAMPLE).tolist():
            rows = graph.targets(member)
            kinds = graph.type_index[rows]
            rows = rows[(kinds < 0) | (self._classes[kinds] != TypeClass.METADATA)]
            if len(rows) != 1 or metrics.dominator[rows[0]] != member:
                return None
            found.add(int(graph.type_index[rows[0]]))
        kind = found.pop()
        is_own = kind >= 0 and self._classes[kind] == TypeClass.PROGRAM
        tells = is_own and not self._paths.cuts.has_no_class[kind]
        return kind if tells and not found and kind != pile.type_index else None

    def _of_each(self, pile: Pile, lost: Bools) -> int | None:
        """The class of which each object of a pile without a class refers to one.

        As the receivers that a library's records of listeners have.
        """
        graph, sizes = self._graph, self._metrics.retained_bytes
        has_no_class = self._paths.cuts.has_no_class
        if pile.object_count == 1 or not has_no_class[pile.type_index]:
            return None
        is_class = (self._classes <= TypeClass.LIBRARY) & ~self._paths.cuts.has_no_name
        is_class &= ~np.isin(graph.type_names, named(graph.runtime).library)
        is_class = np.append(is_class & ~has_no_class, False)
        sample, found = some_of(pile.members, _SAMPLE), dict[int, set[int]]()
        for member in sample.tolist():
            rows = graph.targets(member)
            for row in rows[lost[rows] & is_class[graph.type_index[rows]]].tolist():
                found.setdefault(int(graph.type_index[row]), set()).add(row)
        least = _LEAST_OF_EACH * int(sizes[sample].sum())
        owned = {
            kind: size
            for kind, some in found.items()
            if 2 * len(some) > len(sample)
            and (size := int(sizes[list(some)].sum())) >= least
        }
        return max(owned, key=owned.__getitem__, default=None)

    def _inside(self, pile: Pile, freed: _Freed, between: Sequence[int]) -> int | None:
        """The other type of the program whose objects own most freed bytes."""
        graph = self._graph
        is_own = np.append(self._classes == TypeClass.PROGRAM, np.False_)
        columns = self._metrics.dominator, graph.type_index, is_own
        sums = np.zeros(len(is_own), np.int64)
        _sum_owned(*columns, MOST_LEVELS, graph.shallow_bytes, freed.rows, sums)
        sizes, many = sums[:-1], count_by(freed.kinds, len(is_own) - 1)
        # What is above is not freed, or has all of it.
        above = count_by(graph.type_index[list(between)], len(is_own) - 1)
        sizes[many <= above] = 0
        least = _LEAST_OTHER * freed.size_bytes
        has_no_class = self._paths.cuts.has_no_class
        if has_no_class[pile.type_index] or not is_own[pile.type_index]:
            # Those that have a class tell what they are for.
            tells = ~has_no_class & is_own[:-1]
            sizes[~tells | (2 * many < pile.object_count)] = 0
            least = _LEAST_INSIDE * freed.size_bytes
        kind = self._of_others(pile, sizes, many, freed.size_bytes)
        if kind is not None:
            return kind
        kind = int(np.argmax(sizes))
        is_of_program = bool(is_own[kind]) and kind != pile.type_index
        if not is_of_program or int(sizes[kind]) < least:
            return None
        return kind

    def _of_others(
        self,
        pile: Pile,
        sizes: NDArray[np.int64],
        many: NDArray[np.int64],
        freed_bytes: int,
    ) -> int | None:
        """A type of others than those of the pile's, of which each of a pile has one.

        As what a program gives to each worker of a library; if it is known to be the
        program's own, however small.

        Args:
            pile: The pile.
            sizes: int64 (T,). Freed bytes that objects of each type own.
            many: int64 (T,). How many of them are freed.
            freed_bytes: All that is freed.
        """
        names, types = self._graph.type_names, named(self._graph.runtime)
        if pile.object_count == 1 or not types.has_private_fields:
            return None
        is_it = (self._classes == TypeClass.PROGRAM) & (many == pile.object_count)
        is_it &= sizes > 0
        own, main = family(names[pile.type_index]), self._own_family
        found = [
            at
            for at in np.flatnonzero(is_it).tolist()
            if family(names[at]) != own and not re.search(types.loaders, names[at])
            if sizes[at] >= _BESIDE * freed_bytes or family(names[at]) == main
        ]
        return max(
            found, key=lambda at: (family(names[at]) == main, sizes[at]), default=None
        )

    def _counted(self, kind: int, count: int) -> str:
        """How many objects are of a type, with its name."""
        name = self._graph.captions.of(self._graph.type_names[kind])
        return counted_objects(count, named(self._graph.runtime).speak(name))
