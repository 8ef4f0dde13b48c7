"""Row numbers of the ids of a dump: sparse ids (addresses), or dense ones.

Collectors that walk the heap write ascending addresses, or some sequences of those.
They are found through their high bits, in which neighbours stay neighbours; all others
are hashed.

Ids may be scoped to a section of the file (an application domain): then the same id
in two sections names two things. An id that its own section lacks is looked up in the
other ones, where the first match counts.
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.compiled import Ids, Ints, Number
    from ingest.readers.shared.columns import Folding

ABSENT, NULL, FOLDED = -1, -2, -3
"""In place of a row: no object has the id, it is null, its object is left out."""

_SCANNED_ROWS = 8
"""Buckets of at most so many rows are scanned linearly."""

_SORTED_ROWS = 16
"""Ids are sorted if ascending sequences have so many rows on average."""


@kernel
def _slot(key: Number, scope: Number, seed: Number, mask: int) -> Number:
    mixed = np.uint64(key) ^ np.uint64(seed)
    mixed += np.uint64(scope) * np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed & np.uint64(mask))


@kernel
def _fill_sorted(ids: Ids, shift: int, table: Ints) -> None:
    """Enter ascending ids: high bits b are in rows ``table[b]`` to ``table[b + 1]``."""
    bucket = 0
    for row in range(len(ids)):
        own = np.int64((ids[row] - ids[0]) >> np.uint64(shift))
        while bucket <= own:
            table[bucket] = row
            bucket += 1
    while bucket < len(table):
        table[bucket] = len(ids)
        bucket += 1


@kernel
def _fill_hashed(
    ids: Ids, scopes: Ints, seed: Number, table: Ints, duplicate_of: Ints
) -> int:
    """Enter all rows; returns how many repeat the id of an earlier one.

    ``duplicate_of``, unless it is empty, gets the earlier row for those.
    """
    mask = len(table) - 1
    scoped = len(scopes) > 0
    repeated = 0
    for row in range(len(ids)):
        scope = scopes[row] if scoped else 0
        at = _slot(ids[row], scope, seed, mask)
        while table[at] >= 0:
            other = table[at]
            if ids[other] == ids[row] and (not scoped or scopes[other] == scope):
                break
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = row
        else:
            if len(duplicate_of):
                duplicate_of[row] = table[at]
            repeated += 1
    return repeated


@kernel
def _find_sorted(
    ids: Ids, order: Ints, shift: int, table: Ints, keys: Ids, found: Ints
) -> int:
    """Rows of ``keys``, `ABSENT` for none; returns how many are absent.

    ``order`` has the rows of the ids; it is empty where they ascend by themselves.
    """
    absent = 0
    row: Number
    low, high = ids[0], ids[-1]
    for at in range(len(keys)):
        key = keys[at]
        row = ABSENT
        if low <= key <= high:
            bucket = np.int64((key - low) >> np.uint64(shift))
            first, last = table[bucket], table[bucket + 1]
            while last - first > _SCANNED_ROWS:
                middle = (first + last) // 2
                if ids[middle] <= key:
                    first = middle
                else:
                    last = middle
            for candidate in range(first, last):
                if ids[candidate] == key:
                    row = order[candidate] if len(order) > 0 else candidate
                    break
        found[at] = row
        absent += row < 0
    return absent


@kernel
def _find_hashed(
    ids: Ids,
    scopes: Ints,
    seed: Number,
    table: Ints,
    keys: Ids,
    wanted: Ints,
    found: Ints,
) -> int:
    """Rows of ``keys``, `ABSENT` for none; returns how many are absent."""
    absent = 0
    row: Number
    mask = len(table) - 1
    scoped = len(scopes) > 0
    for at in range(len(keys)):
        key = keys[at]
        scope = wanted[at] if scoped else 0
        slot = _slot(key, scope, seed, mask)
        row = ABSENT
        while table[slot] >= 0:
            candidate = table[slot]
            if ids[candidate] == key and (not scoped or scopes[candidate] == scope):
                row = candidate
                break
            slot = (slot + 1) & mask
        found[at] = row
        absent += row < 0
    return absent


class IdTable:
    """Rows of sparse ids; several threads may look up at once.

    The hash is seeded at random, so that no dump can be built to make it slow.
    Memory: 4 to 8 bytes an id where they ascend, else up to 20.

    Args:
        ids: uint64 or uint32 (N,). The ids, row by row.
        scopes: int32 (N,). The section of each row; ``None`` for one section.

    Attributes:
        duplicate_of: int32 (N,). Row of the first entry with the same id and
            section, -1 for the first itself; empty where no id repeats.
        ascends: Whether the ids ascend.
    """

    def __init__(self, ids: NDArray[Any], scopes: Ints | None = None) -> None:
        self._ids = ids
        self._scopes = np.empty(0, np.int32) if scopes is None else scopes
        self._seed = np.uint64(secrets.randbits(64))
        self._anywhere: Ints | None = None
        self._lock = Lock()
        self._shift = -1
        self.duplicate_of = np.empty(0, np.int32)
        descents = int(np.count_nonzero(ids[1:] <= ids[:-1]))
        self.ascends = descents == 0
        self._order = np.empty(0, np.int32)
        if scopes is None and len(ids) and descents * _SORTED_ROWS <= len(ids):
            if descents:
                self._sort()
            self._enter_sorted()
            return
        self._table = self._new_table()
        if self._fill():
            self.duplicate_of = np.full(len(ids), -1, np.int32)
            self._table[:] = -1
            self._fill()

    def _sort(self) -> None:
        """Sort the ids, of which the first entry of each is used."""
        ids = self._ids
        order = np.argsort(ids, kind="stable").astype(np.int32)
        ids = ids[order]
        is_first = np.ones(len(ids), np.bool_)
        np.not_equal(ids[1:], ids[:-1], out=is_first[1:])
        if not is_first.all():
            repeats = np.flatnonzero(~is_first)
            first = np.searchsorted(ids, ids[repeats])
            self.duplicate_of = np.full(len(ids), -1, np.int32)
            self.duplicate_of[order[repeats]] = order[first]
            ids, order = ids[is_first], order[is_first]
        self._ids, self._order = ids, order

    def _enter_sorted(self) -> None:
        ids = self._ids
        spread = int(ids[-1]) - int(ids[0])
        self._shift = max(0, spread.bit_length() - len(ids).bit_length())
        self._table = np.empty((spread >> self._shift) + 2, np.int32)
        _fill_sorted(ids, self._shift, self._table)

    def _fill(self) -> int:
        return _fill_hashed(
            self._ids, self._scopes, self._seed, self._table, self.duplicate_of
        )

    def _new_table(self) -> Ints:
        size = 1 << max(3, (2 * len(self._ids)).bit_length())
        return np.full(size, -1, np.int32)

    def find(
        self,
        keys: NDArray[Any],
        scopes: Ints | None = None,
        found: Ints | None = None,
    ) -> tuple[Ints, Ints]:
        """Rows of ``keys``, and which of them another section has.

        Args:
            keys: Of the ids' dtype (K,).
            scopes: int32 (K,). The section that each key is used in; needed iff
                the table is scoped.
            found: int32 (K,). Filled and returned; without it a new array is.

        Returns:
            int32 (K,) rows, `ABSENT` where nothing has the id; and int32 positions
            in ``keys`` of those found in another section only.
        """
        none = np.empty(0, np.int32)
        rows = np.empty(len(keys), np.int32) if found is None else found
        keys = keys.astype(self._ids.dtype, copy=False)
        if self._shift >= 0:
            _find_sorted(self._ids, self._order, self._shift, self._table, keys, rows)
            return rows, none
        wanted = none if scopes is None else scopes
        absent = self._find(self._scopes, self._table, keys, wanted, rows)
        if not absent or not len(self._scopes):
            return rows, none
        with self._lock:
            if self._anywhere is None:
                self._anywhere = self._new_table()
                _fill_hashed(self._ids, none, self._seed, self._anywhere, none)
        at = np.flatnonzero(rows < 0).astype(np.int32)
        elsewhere = np.empty(len(at), np.int32)
        self._find(none, self._anywhere, keys[at], none, elsewhere)
        rows[at] = elsewhere
        return rows, at[elsewhere >= 0]

    def _find(
        self, scopes: Ints, table: Ints, keys: NDArray[Any], wanted: Ints, found: Ints
    ) -> int:
        return _find_hashed(self._ids, scopes, self._seed, table, keys, wanted, found)


class RowNumbers:
    """Rows of dense ids: the numbers of a dump's objects, in its order.

    Args:
        count: N.
        first: Number of the first object; smaller ones are null.
        folding: Which objects are left out; ``None`` for none.

    Attributes:
        new_row: int32 (N,). The row of each object in the graph, negative for none.
        object_count: Objects that stay.
        placeholder_count: Placeholders, whose rows are after all objects.
    """

    ascends = False

    def __init__(self, count: int, *, first: int, folding: Folding | None) -> None:
        self._rows = np.empty(first + count, np.int32)
        self._rows[:first] = NULL
        self.new_row = self._rows[first:]
        self.object_count, self.placeholder_count = count, 0
        if folding is None:
            self.new_row[:] = np.arange(count, dtype=np.int32)
            return
        stays, objects = folding.stays, folding.stays
        if folding.placeholder is not None:
            objects = stays & ~folding.placeholder
        np.cumsum(objects, out=self.new_row)
        self.new_row -= 1
        self.object_count = int(np.count_nonzero(objects))
        self.new_row[~stays] = FOLDED
        if folding.placeholder is not None:
            at = np.flatnonzero(stays & folding.placeholder)
            self.placeholder_count = len(at)
            self.new_row[at] = self.object_count + np.arange(len(at), dtype=np.int32)
        if folding.null_row >= 0:
            self.new_row[folding.null_row] = NULL

    def find(
        self,
        keys: NDArray[Any],
        scopes: Ints | None = None,
        found: Ints | None = None,
    ) -> tuple[Ints, Ints]:
        """Rows of ``keys``, which may be ``found`` itself; see `IdTable.find`."""
        rows = np.empty(len(keys), np.int32) if found is None else found
        beyond = keys >= len(self._rows)
        if beyond.any():
            rows[:] = np.where(beyond, ABSENT, self._rows.take(keys, mode="clip"))
        else:
            rows[:] = self._rows[keys]
        return rows, np.empty(0, np.int32)
