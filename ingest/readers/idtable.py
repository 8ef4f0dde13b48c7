"""From a dump's own ids to row numbers, by hashing, within a scope.

Ids are scoped to a section (an application domain): the same id in two sections
is two things. What is not found in its own section is looked for in the whole
file, where the first one counts.
"""

from __future__ import annotations

import secrets
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
def _fill(ids: Ids, scopes: Ints, seed: Number, table: Ints, twin: Ints) -> int:
    """Enter all rows; ``twin[i]`` is the earlier row of the same id, or -1."""
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
    table: Ints,
    keys: Ids,
    wanted: Ints,
    out: Ints,
) -> int:
    """Ints of ``keys``, -1 where there is none; returns how many there are none."""
    mask = len(table) - 1
    scoped = len(scopes) > 0
    absent = 0
    for k in range(len(keys)):
        key = keys[k]
        scope = wanted[k] if scoped else 0
        at = _slot(key, scope, seed, mask)
        row: Number = -1
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
    """Looks up the rows of ids.

    The hash is seeded at random, so that no dump can be built to make it slow.

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
        self._table = self._new_table()
        self._anywhere: Ints | None = None
        self.twin = np.empty(0, np.int32)
        if _fill(ids, self._scopes, self._seed, self._table, self.twin):
            self.twin = np.full(len(ids), -1, np.int32)
            self._table[:] = -1
            _fill(ids, self._scopes, self._seed, self._table, self.twin)

    def _new_table(self) -> Ints:
        size = 1 << max(3, (2 * len(self._ids)).bit_length())
        return np.full(size, -1, np.int32)

    def find(self, keys: Ids, scopes: Ints | None = None) -> tuple[Ints, Ints]:
        """Ints of ``keys``, and where another section had to help.

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
            self._ids, self._scopes, self._seed, self._table, keys, wanted, rows
        )
        if not absent or not len(self._scopes):
            return rows, none
        if self._anywhere is None:
            self._anywhere = self._new_table()
            _fill(self._ids, none, self._seed, self._anywhere, none)
        at = np.flatnonzero(rows < 0).astype(np.int32)
        found = np.empty(len(at), np.int32)
        _find(self._ids, none, self._seed, self._anywhere, keys[at], none, found)
        rows[at] = found
        return rows, at[found >= 0]
