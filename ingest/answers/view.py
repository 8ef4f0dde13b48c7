"""A heap as the queries of the library see it: rows, by numbers of rows."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from ingest.analysis.distances import (
    ROOT,
    UNREACHABLE,
    ReferenceColumns,
)
from ingest.analysis.types import listed
from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.heap.graph import MISSING_TYPE_NAME
from ingest.system.memory import in_ranges
from ingest.tables.heap_tables import SLICE_ROWS
from ingest.tables.stored_heap import starts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs, Starts
    from ingest.tables.mapping import Tables

    Row = dict[str, Any]

_FEW = 50
"""Up to so many rows of a table are made one by one."""

MANY_REFERENCES = 1 << 20
"""With at least so many references, two processors search them."""

_STRIDE = 32
"""Rows that a search for the one of a reference leaps over."""

VALUE_LENGTH = 40
"""The most characters of a value in a path."""


NOT_SEEN = -1
"""Place of an object whose place is unknown."""

_ABOVE_ALL = 2**31 - 1
"""The place of the super-root."""


@kernel
def _climb(dominator: Ints, rows: Longs, place: Ints) -> None:
    """Give rows, and objects on the way up, the place to which the way leads."""
    for first in rows:
        row = first
        while row >= 0 and place[row] == NOT_SEEN:
            row = dominator[row]
        found = place[row] if row >= 0 else _ABOVE_ALL
        row = first
        while row >= 0 and place[row] == NOT_SEEN:
            place[row] = found
            row = dominator[row]


def bits_of(chosen: NDArray[np.bool_]) -> Bytes:
    """One bit for each row, eight to a byte, so that all stay in a cache."""
    return np.packbits(chosen, bitorder="little")


@kernel
def _count_into(targets: Ints, bits: Bytes, first: int, end: int) -> int:
    """Count those of the references from ``first`` to ``end`` to a row with its bit."""
    count = 0
    for ref in range(first, end):
        count += bits[targets[ref] >> 3] >> (targets[ref] & 7) & 1
    return count


@kernel
def _list_into(targets: Ints, bits: Bytes, first: int, end: int, found: Longs) -> None:
    """List those references, ascending."""
    used = 0
    for ref in range(first, end):
        if bits[targets[ref] >> 3] >> (targets[ref] & 7) & 1:
            found[used] = ref
            used += 1


@kernel
def _list_from(start: Starts, skipped: Bools, rows: Longs, found: Longs) -> int:
    """List references of some rows, but for those that are skipped; return how many."""
    some_skipped, used = len(skipped) > 0, 0
    for row in rows:
        for ref in range(start[row], start[row + 1]):
            if not (some_skipped and skipped[ref]):
                found[used] = ref
                used += 1
    return used


@kernel
def row_of(start: Starts, ref: int, row: int) -> int:
    """The row that has a reference, given a row that is not after it."""
    while row + _STRIDE < len(start) and start[row + _STRIDE] <= ref:
        row += _STRIDE
    while start[row + 1] <= ref:
        row += 1
    return row


@kernel
def _follow(
    start: Starts, others: Ints, rows: Longs, ones: Longs, found: Longs
) -> None:
    """List ``rows``, in order, each with all of its ``others``."""
    used = 0
    for row in rows:
        for at in range(start[row], start[row + 1]):
            ones[used], found[used] = row, others[at]
            used += 1


def followed(
    start: Starts, others: Ints, rows: NDArray[np.int64]
) -> tuple[Longs, Longs]:
    """Pairs of a row and one of its others, for rows in order.

    Args:
        start: Integers (N + 1,). The first of ``others`` of each of N rows.
        others: int32. What belongs to them.
        rows: Some of them.
    """
    count = int((start[rows + 1] - start[rows]).sum(dtype=np.int64))
    ones, found = np.empty((2, count), np.int64)
    _follow(start, others, rows, ones, found)
    return ones, found


_MANY_ROWS = 1 << 20
"""From this number of objects on, two processors look for what leads to them."""


@kernel
def _find_parents(
    source: Ints,
    targets: Ints,
    skipped: Bools,
    distance: Ints,
    first: int,
    end: int,
    found: Ints,
) -> None:
    """Find the first object that leads to each row from ``first`` to ``end``.

    All references are read, since looking up distances at random takes the time.
    """
    for row in range(first, end):
        found[row] = ROOT if distance[row] > 0 else UNREACHABLE
    some_skipped, last = len(skipped) > 0, len(targets) - 1
    above, at = -1, -1
    for ref in range(len(targets)):
        later = targets[min(ref + 2 * AHEAD, last)]
        if first <= later < end:
            fetch(distance, later)
        if source[ref] != at:
            at = source[ref]
            above = distance[at]
        target = targets[ref]
        if (
            first <= target < end
            and above > 0
            and distance[target] == above + 1
            and found[target] == ROOT
            and not (some_skipped and skipped[ref])
        ):
            found[target] = at


class HeapLookup:
    """A heap, and what is looked up in it; its columns come from a subclass.

    N objects and M placeholders, E references, R roots, T types.

    Attributes:
        tables: Its tables; their columns are the properties of the graph.
        row_count: N + M.
        object_count: N.
        type_names: Full names of all types.
        captions: Short names of all types, then the one of placeholders.
        type_index: int32 (N + M,). Row of the type of each object, -1 of placeholders.
        shallow_bytes: int64 (N + M,), bytes.
        lengths: int64 (N + M,). Length of texts and collections, else -1.
        dominator: int32 (N + M,). See `ingest.analysis.metrics`, as for the following.
        root_distance, path_parent: int32 (N + M,).
        retained_bytes, retained_count: int64 (N + M,).
        dominated: int32. Reachable rows, those of one dominator together.
        dominating: int32. The dominator of each of those, ascending.
        ref_start: Integers (N + M + 1,). First reference of each object.
        source: int32 (E,). Row of the object that has each reference.
        ref_target: int32 (E,). Row of the target of each reference.
        skipped: Bool (E,). References that do not hold; empty if all do.
        root_object: int32 (R,). Row of the object of each root.
        root_holds: Bool (R,). Which roots hold it.
    """

    row_count: int
    object_count: int
    type_names: Sequence[str]
    captions: pl.Series
    type_index: NDArray[np.int32]
    shallow_bytes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    dominator: NDArray[np.int32]
    root_distance: NDArray[np.int32]
    path_parent: NDArray[np.int32]
    retained_bytes: NDArray[np.int64]
    retained_count: NDArray[np.int64]
    dominated: NDArray[np.int32]
    dominating: NDArray[np.int32]
    ref_start: NDArray[np.int64 | np.int32]
    source: NDArray[np.int32]
    ref_target: NDArray[np.int32]
    skipped: NDArray[np.bool_]
    root_object: NDArray[np.int32]
    root_holds: NDArray[np.bool_]

    COLUMNS: ClassVar[Mapping[str, Callable[[Any], object]]] = {}
    """Functions for attributes that are made when first used."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name not in self.COLUMNS:
            raise AttributeError(name)
        found = self.COLUMNS[name](self)
        setattr(self, name, found)
        return found

    def span_of(self, row: int) -> tuple[int, int]:
        """The first reference of an object, and where they end."""
        return int(self.ref_start[row]), int(self.ref_start[row + 1])

    def sources(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the objects that have some references."""
        raise NotImplementedError

    def address(self, row: int) -> str:
        """Address of an object."""
        raise NotImplementedError

    def objects_at(self, address: str) -> list[int]:
        """Rows of the objects of an address; each domain can have one."""
        raise NotImplementedError

    def objects_at_each(self, addresses: Sequence[str]) -> list[list[int]]:
        """Rows of the objects of each of some addresses."""
        return [self.objects_at(one) for one in addresses]

    def addresses(self, rows: Sequence[int]) -> list[str]:
        """Addresses of some objects."""
        return self.frame("objects", rows, ["address"])["address"].to_list()

    def has(self, table: str, column: str) -> bool:
        """Whether the heap has the data of a column."""
        return column not in self.tables.absent(table)

    def properties(self) -> dict[str, object]:
        """Properties of the Dump node."""
        raise NotImplementedError

    def of_types(self, column: str) -> pl.Series:
        """A column of the table of types."""
        return whole(self, "types", [column])[column]

    # ------------------------------------------------------------ names

    def known(self, address: str, name: str) -> tuple[bool, bool]:
        """Whether there is an object of that address, and a type of that name."""
        return bool(len(self.objects_at(address))), name in self._types_by_name

    def instance_counts(self) -> dict[str, int]:
        """Instances of each type by full name, those of all domains together."""
        counts = self.of_types("instance_count").to_numpy()
        return {
            name: int(counts[rows].sum())
            for name, rows in sorted(self._types_by_name.items())
        }

    def caption(self, name: str) -> str:
        """The short name of a type."""
        return str(self.captions[self.types_named(name)[0]])

    def elsewhere(self, text: str, address: str = "") -> str:
        """Empty: the dump was opened alone, so there is no other."""
        del text, address
        return ""

    @cached_property
    def _types_by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self.type_names):
            found.setdefault(name, []).append(row)
        return found

    # ------------------------------------------------------------ rows

    def types_named(self, name: str) -> list[int]:
        """Rows of the types of a full name; each domain can have one."""
        return self._types_by_name.get(name, [])

    def instances(self, name: str) -> NDArray[np.int64]:
        """Rows of the objects of a type."""
        return self.instances_of(self.types_named(name))

    def instances_of(self, types: Sequence[int]) -> NDArray[np.int64]:
        """Rows of the objects of some types, by the rows of these."""
        chosen = np.zeros(len(self.type_names) + 1, np.bool_)
        chosen[types] = True
        return np.flatnonzero(chosen[self.type_index])

    def frame(
        self, name: str, rows: Sequence[int], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Some rows of a table, in that order."""
        if len(rows) <= _FEW:
            parts = [self.tables.part(name, row, row + 1, columns) for row in rows]
            return pl.concat(parts) if parts else self.tables.part(name, 0, 0, columns)
        wanted = np.asarray(rows, np.int64)
        order = np.argsort(wanted, kind="stable")
        parts, ordered = [], wanted[order]
        for begin in np.unique(ordered // SLICE_ROWS).tolist():
            first, last = np.searchsorted(
                ordered, [begin * SLICE_ROWS, (begin + 1) * SLICE_ROWS]
            ).tolist()
            some = ordered[first:last]
            low = int(some[0])
            part = self.tables.part(name, low, int(some[-1]) + 1, columns)
            parts.append(part[some - low])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return pl.concat(parts)[back]

    def object(self, row: int) -> Row:
        """Properties of an object."""
        (found,) = self.tables.part("objects", row, row + 1).to_dicts()
        return found

    def full_type(self, row: int) -> str:
        """Full name of an object's type, or the name of placeholders."""
        kind = int(self.type_index[row])
        return MISSING_TYPE_NAME if kind < 0 else self.type_names[kind]

    def declared_type(self, row: int) -> str | None:
        """Full name of an object's type; ``None`` for a placeholder."""
        kind = int(self.type_index[row])
        return None if kind < 0 else self.type_names[kind]

    def short_type(self, row: int) -> str:
        """Short name of an object's type."""
        return str(self.captions[int(self.type_index[row])])

    def value(self, row: int) -> str:
        """Start of an object's value; empty where it has none."""
        (found,) = self.tables.part("objects", row, row + 1, ["value"])["value"]
        return "" if found is None else str(found)[:VALUE_LENGTH]

    def retained(self, row: int) -> int:
        """Bytes that are freed with an object."""
        return int(self.retained_bytes[row])

    def distance(self, row: int) -> int | None:
        """References from the nearest root; ``None`` if no root reaches it."""
        found = int(self.root_distance[row])
        return None if found < 0 else found

    # ------------------------------------------------------------ references

    @cached_property
    def root_names(self) -> pl.Series:
        """Names of all roots."""
        return self.tables.part("roots", 0, self.tables.rows("roots"), ["name"])["name"]

    @cached_property
    def references(self) -> ReferenceColumns:
        """References and roots that hold their target."""
        roots = self.root_object[self.root_holds]
        return ReferenceColumns(self.ref_start, self.ref_target, self.skipped, roots)

    def references_from(
        self, rows: NDArray[np.int64], *, weak: bool = False
    ) -> NDArray[np.int64]:
        """Rows of `references` from some objects.

        Args:
            rows: The objects.
            weak: Whether also those that do not hold their target.
        """
        if not len(rows):  # as of a query about another runtime: no column is read
            return np.empty(0, np.int64)
        start = self.ref_start
        count = (start[rows + 1] - start[rows]).sum(dtype=np.int64)
        found = np.empty(int(count), np.int64)
        skipped = np.empty(0, np.bool_) if weak else self.skipped
        return found[: _list_from(start, skipped, rows, found)]

    def references_to(
        self, rows: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Rows of `references` to any of some objects."""
        if len(rows) == 1:
            return np.flatnonzero(self.ref_target == rows[0])
        wanted = np.zeros(self.row_count, np.bool_)
        wanted[np.asarray(rows, np.int64)] = True
        columns, count = (self.ref_target, bits_of(wanted)), len(self.ref_target)
        return listed(
            partial(_count_into, *columns), partial(_list_into, *columns),
            count, np.int64, least=MANY_REFERENCES,
        )  # fmt: skip

    def holding(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some references that hold their target."""
        if not len(self.skipped):
            return references
        return references[~self.skipped[references]]

    def holding_rows(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some references of reachable objects that hold their target."""
        references = self.holding(references)
        reachable = self.root_distance[self.sources(references)] >= 0
        return references[reachable]

    def roots_of(self, row: int) -> list[int]:
        """Rows of the roots that hold an object."""
        is_root = (self.root_object == row) & self.root_holds
        return np.flatnonzero(is_root).tolist()

    def dominators(self, row: int) -> list[int]:
        """An object and its dominators, up to the roots; none if it is unreachable."""
        found = []
        while row >= 0:
            found.append(row)
            row = int(self.dominator[row])
        return found if row == ROOT else []

    def dominated_by(self, rows: NDArray[np.int64]) -> pl.DataFrame:
        """What some objects immediately dominate: ``above`` and ``below``."""
        above, below = followed(self.dominated_start, self.dominated, rows)
        return pl.DataFrame({"above": above, "below": below})

    @cached_property
    def dominated_start(self) -> Starts:
        """Integers (N + M + 1,). First row of `dominated` of each dominator."""
        return starts_of(self.dominating, self.row_count)

    def places_above(
        self, rows: NDArray[np.int64], place: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The place that going up the dominator tree first leads to from each row.

        Args:
            rows: The objects.
            place: int32 (N + M,). Places of some objects, `NOT_SEEN` of all others,
                which may get those that they lead to: the highest of all if to none.
        """
        _climb(self.dominator, rows, place)
        return place[rows]

    @cached_property
    def first_holders(self) -> NDArray[np.int32]:
        """int32 (N + M,): the first of the objects that are nearer to a root by one.

        It has the values of `path_parent`.
        """
        found = np.empty(self.row_count, np.int32)
        columns = self.source, self.ref_target, self.skipped, self.root_distance
        in_ranges(
            lambda first, end: _find_parents(*columns, first, end, found),
            0, self.row_count, least=_MANY_ROWS,
        )  # fmt: skip
        return found

    def live(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some objects that roots reach."""
        return rows[self.root_distance[rows] >= 0]

    def is_reachable(self, row: int) -> bool:
        """Whether a root reaches an object."""
        return bool(self.dominator[row] != UNREACHABLE)


def numbered(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Texts as numbers, which are many times faster to compare and to group by.

    Returns:
        Int64: a row of the other one for each; and the texts, each once, ascending.
    """
    return texts.rank("dense").cast(pl.Int64) - 1, texts.unique().sort()


def whole(
    heap: HeapLookup, name: str, columns: Sequence[str], most: int | None = None
) -> pl.DataFrame:
    """Some columns of a table, of ``most`` rows or all, with the numbers as ``row``."""
    rows = heap.tables.rows(name)
    end = rows if most is None else min(most, rows)
    frame = heap.tables.part(name, 0, end, columns)
    found = frame.with_row_index("row").cast({"row": pl.Int64})
    return found.cast({"object": pl.Int64}) if name == "roots" else found


def largest(
    rows: NDArray[np.int64], keys: Sequence[NDArray[np.int64]], limit: int
) -> list[int]:
    """Rows with the largest keys, of equal ones the first.

    Args:
        rows: Ascending.
        keys: Columns of all objects, the most important first.
        limit: The most rows.
    """
    first = keys[0][rows]
    if 0 < limit < len(rows):
        rows = rows[first >= np.partition(first, len(rows) - limit)[len(rows) - limit]]
    order = np.lexsort([rows, *(-key[rows] for key in reversed(keys))])
    found: list[int] = rows[order[:limit]].tolist()
    return found
