"""From a dump's own ids to row numbers, within a scope.

A collector that walks its heap writes ascending ids. Those are found by their high
bits, in which neighbours stay neighbours; all others are hashed.

Ids are scoped to a section (an application domain): the same id in two sections
is two things. What is not found in its own section is looked for in the whole
file, where the first one counts.
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ingest.compiled import kernel

if TYPE_CHECKING:
    from ingest.compiled import Ids, Ints, Number


@kernel
def _slot(key: Number, scope: Number, seed: Number, mask: int) -> Number:
    x = np.uint64(key) ^ np.uint64(seed)
    x += np.uint64(scope) * np.uint64(0xD6E8FEB86659FD93)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    return np.int64(x & np.uint64(mask))


@kernel
def _fill(
    ids: Ids, scopes: Ints, seed: Number, shift: int, table: Ints, twin: Ints
) -> int:
    """Enter all rows; ``twin[i]`` is the earlier row of the same id, or -1.

    With a ``shift`` the ids ascend, and those whose high bits are b stand in the
    rows from ``table[b]`` up to ``table[b + 1]``.
    """
    if shift >= 0:
        bucket = 0
        for i in range(len(ids)):
            own = np.int64((ids[i] - ids[0]) >> np.uint64(shift))
            while bucket <= own:
                table[bucket] = i
                bucket += 1
        while bucket < len(table):
            table[bucket] = len(ids)
            bucket += 1
        return 0
    mask = len(table) - 1
    scoped = len(scopes) > 0
    twins = 0
    for i in range(len(ids)):
        scope = scopes[i] if scoped else 0
        at = _slot(ids[i], scope, seed, mask)
        while table[at] >= 0:
            j = table[at]
            if ids[j] == ids[i] and (not scoped or scopes[j] == scope):
                break
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = i
        else:
            if len(twin):
                twin[i] = table[at]
            twins += 1
    return twins


@kernel
def _find(
    ids: Ids,
    scopes: Ints,
    seed: Number,
    shift: int,
    table: Ints,
    keys: Ids,
    wanted: Ints,
    out: Ints,
) -> int:
    """Rows of ``keys``, -1 where there is none; returns how many there are none."""
    absent = 0
    row: Number
    if shift >= 0:
        low, high = ids[0], ids[-1]
        for k in range(len(keys)):
            key = keys[k]
            row = -1
            if low <= key <= high:
                bucket = np.int64((key - low) >> np.uint64(shift))
                first, last = table[bucket], table[bucket + 1]
                while last - first > 8:
                    middle = (first + last) // 2
                    if ids[middle] <= key:
                        first = middle
                    else:
                        last = middle
                for i in range(first, last):
                    if ids[i] == key:
                        row = i
                        break
            out[k] = row
            absent += row < 0
        return absent
    mask = len(table) - 1
    scoped = len(scopes) > 0
    for k in range(len(keys)):
        key = keys[k]
        scope = wanted[k] if scoped else 0
        at = _slot(key, scope, seed, mask)
        row = -1
        while table[at] >= 0:
            j = table[at]
            if ids[j] == key and (not scoped or scopes[j] == scope):
                row = j
                break
            at = (at + 1) & mask
        out[k] = row
        absent += row < 0
    return absent


class IdTable:
    """Looks up the rows of ids; several threads may do so at once.

    The hash is seeded at random, so that no dump can be built to make it slow.
    Memory: 4 to 8 bytes an id where they ascend, else 8 to 16.

    Args:
        ids: uint64 (N,). The ids, row by row.
        scopes: int32 (N,). The section of each row; ``None`` for one section.

    Attributes:
        twin: int32 (N,) or empty. Row of the first entry with the same id and
            section, -1 for the first itself; empty where no id repeats.
    """

    def __init__(self, ids: Ids, scopes: Ints | None = None) -> None:
        self._ids = ids
        self._scopes = np.empty(0, np.int32) if scopes is None else scopes
        self._seed = np.uint64(secrets.randbits(64))
        self._anywhere: Ints | None = None
        self._lock = Lock()
        self.twin = np.empty(0, np.int32)
        self._shift = -1
        if scopes is None and len(ids) and bool((ids[1:] > ids[:-1]).all()):
            spread = int(ids[-1]) - int(ids[0])
            self._shift = max(0, spread.bit_length() - len(ids).bit_length())
            self._table = np.empty((spread >> self._shift) + 2, np.int32)
        else:
            self._table = self._new_table()
        if self._enter(self._scopes, self._shift, self._table):
            self.twin = np.full(len(ids), -1, np.int32)
            self._table[:] = -1
            self._enter(self._scopes, self._shift, self._table)

    def _enter(self, scopes: Ints, shift: int, table: Ints) -> int:
        return _fill(self._ids, scopes, self._seed, shift, table, self.twin)

    def _new_table(self) -> Ints:
        size = 1 << max(3, (2 * len(self._ids)).bit_length())
        return np.full(size, -1, np.int32)

    def find(self, keys: Ids, scopes: Ints | None = None) -> tuple[Ints, Ints]:
        """Rows of ``keys``, and where another section had to help.

        Args:
            keys: uint64 (K,).
            scopes: int32 (K,). The section that each key is used in; needed iff
                the table is scoped.

        Returns:
            int32 (K,) rows, -1 where nothing has the id; and int32 positions in
            ``keys`` of those found in another section only.
        """
        none = np.empty(0, np.int32)
        rows = np.empty(len(keys), np.int32)
        wanted = none if scopes is None else scopes
        absent = _find(
            self._ids,
            self._scopes,
            self._seed,
            self._shift,
            self._table,
            keys,
            wanted,
            rows,
        )
        if not absent or not len(self._scopes):
            return rows, none
        with self._lock:
            if self._anywhere is None:
                self._anywhere = self._new_table()
                _fill(self._ids, none, self._seed, -1, self._anywhere, none)
        at = np.flatnonzero(rows < 0).astype(np.int32)
        found = np.empty(len(at), np.int32)
        _find(self._ids, none, self._seed, -1, self._anywhere, keys[at], none, found)
        rows[at] = found
        return rows, at[found >= 0]
