"""Row numbers of the ids of a dump: sparse ids (addresses), or dense ones.

Collectors that walk the heap write addresses that ascend, or a few such sequences, with
few gaps in between. A bit for each possible address of an object finds such ids, in
words of 64 bits; each word has the row of its first id. Pages of the address space
without objects have no words. All other ids are hashed.

Ids may be scoped to a section of the file (an application domain): then the same id in
two sections names two things. An id that is missing in its own section is looked up in
the others, where the first match counts.

Source: the bits and their ranks are those of Jacobson, Space-efficient Static Trees and
Graphs (1989).
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.system.memory import in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ids, Ints, Number
    from ingest.readers.shared.columns import Folding

ABSENT, NULL, FOLDED = -1, -2, -3
"""Stored in place of a row: the id is unknown, or null, or its object is left out."""

_MIXED = 1 << 40
"""Stored in place of the first row of a word whose rows are not consecutive."""

_MOST_MIXED = 8
"""Ids are hashed if more than one in this many is in such a word."""

_PAGES = 1 << 10
"""The maximum of pages; a larger table has a page for each `_IDS_PER_PAGE` ids."""

_IDS_PER_PAGE = 8

_MANY_KEYS = 1 << 20
"""With at least so many keys, two processors look them up."""


@kernel
def _slot(key: Number, scope: Number, seed: Number, mask: int) -> Number:
    """The first slot, int64, of uint64 ``key`` in ``scope``; ``mask`` is 2^k - 1.

    The constants mix the bits so that neighbouring keys get distant slots.
    """
    mixed = np.uint64(key) ^ np.uint64(seed)
    mixed += np.uint64(scope) * np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed & np.uint64(mask))


@kernel
def _ones(word: Number) -> Number:
    """How many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _range(ids: Ids, found: Ids) -> Number:
    """Write the least id, the highest, and the bits in which ids differ to ``found``.

    Returns:
        How many ids are not higher than the one before.
    """
    low = high = np.uint64(ids[0])
    differing = np.uint64(0)
    before = low
    descents: Number = 0
    for row in range(1, len(ids)):
        one = np.uint64(ids[row])
        descents += one <= before
        low, high = min(low, one), max(high, one)
        differing |= one ^ before
        before = one
    found[0], found[1], found[2] = low, high, differing
    return descents


@kernel
def _number_pages(
    ids: Ids, low: Number, shift: Number, page_bits: Number, pages: Ints
) -> int:
    """Number the pages that have an id from 0 on, in ``pages``, initially -1.

    Args:
        ids: The ids.
        low: The least id.
        shift: Number of the lowest bits, which are equal in all ids.
        page_bits: Number of the following bits that tell ids within a page apart. The
            sum of both can exceed 63, so it is no shift.
        pages: Filled.

    Returns:
        How many pages have an id.
    """
    for row in range(len(ids)):
        pages[(np.uint64(ids[row]) - low) >> shift >> page_bits] = 0
    count = 0
    for page in range(len(pages)):
        if pages[page] == 0:
            pages[page] = count
            count += 1
    return count


@kernel
def _word_of(place: Number, pages: Ints, page_bits: Number) -> Number:
    """The position of the word of a bit; negative if its page has no words."""
    page = np.int64(pages[np.int64(place >> page_bits)])
    within = place & ((np.uint64(1) << page_bits) - np.uint64(1))
    return ((page << np.int64(page_bits)) + np.int64(within)) >> 6 << 1


@kernel
def _fill_words(
    ids: Ids, low: Number, shift: Number, pages: Ints, page_bits: Number, words: Ids
) -> int:
    """Set the bit of each id, and the first row of each word or `_MIXED`.

    Returns:
        The most ids that can be in mixed words; -1 if an id repeats.
    """
    mixed = 0
    one = np.uint64(1)
    for row in range(len(ids)):
        place = (np.uint64(ids[row]) - low) >> shift
        at = _word_of(place, pages, page_bits)
        bit = place & np.uint64(63)
        seen = words[at]
        if seen == 0:
            words[at + 1] = row
        elif (seen >> bit) & one:
            return -1
        elif words[at + 1] == _MIXED:
            mixed += 1
        else:
            known = _ones(seen)
            if (seen >> bit) != 0 or np.int64(words[at + 1]) + known != row:
                words[at + 1] = _MIXED
                mixed += known + 1
        words[at] = seen | (one << bit)
    return mixed


@kernel
def _list_mixed(
    ids: Ids,
    low: Number,
    shift: Number,
    pages: Ints,
    page_bits: Number,
    words: Ids,
    keys: Ids,
    rows: Ints,
) -> None:
    """List the ids in mixed words, and their rows."""
    used = 0
    for row in range(len(ids)):
        at = _word_of((np.uint64(ids[row]) - low) >> shift, pages, page_bits)
        if words[at + 1] == _MIXED:
            keys[used] = ids[row]
            rows[used] = row
            used += 1


@kernel
def _fill_hashed(
    ids: Ids, scopes: Ints, seed: Number, table: Ints, duplicate_of: Ints
) -> int:
    """Enter all rows; return how many repeat the id of an earlier row.

    ``duplicate_of``, unless empty, gets the earlier row for these.
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
def _find_words(
    low: Number,
    high: Number,
    shift: Number,
    pages: Ints,
    page_bits: Number,
    words: Ids,
    mixed: Ids,
    mixed_row: Ints,
    keys: Ids,
    found: Ints,
) -> None:
    """Rows of ``keys``, `ABSENT` for none."""
    row: Number
    word: Number
    one = np.uint64(1)
    odd = (one << shift) - one
    last = len(keys) - 1
    for at in range(len(keys)):
        ahead = np.uint64(keys[min(at + 2 * AHEAD, last)])
        if low <= ahead <= high:
            fetch(words, _word_of((ahead - low) >> shift, pages, page_bits))
        key = np.uint64(keys[at])
        row = ABSENT
        if low <= key <= high and ((key - low) & odd) == 0:
            place = (key - low) >> shift
            word = _word_of(place, pages, page_bits)
            bit = place & np.uint64(63)
            seen, first = words[max(word, 0)], words[max(word, 0) + 1]
            if word >= 0 and (seen >> bit) & one:
                if first != _MIXED:
                    row = np.int64(first) + _ones(seen & ((one << bit) - one))
                else:
                    begin, end = 0, len(mixed) - 1
                    while begin < end:
                        middle = (begin + end) // 2
                        if mixed[middle] < key:
                            begin = middle + 1
                        else:
                            end = middle
                    row = mixed_row[begin]
        found[at] = row


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
    """Find the rows of ``keys``, `ABSENT` for none; return how many are absent."""
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

    The hash is seeded at random, so that no dump can be built to make it slow. Memory:
    at most 16 bytes an id, less than 1 if gaps are few; 12 more for ids out of order.
    Hashed ids take 8 to 16 bytes.

    Args:
        ids: uint64 or uint32 (N,). The ids, row by row.
        scopes: int32 (N,). The section of each row; ``None`` for one section.

    Attributes:
        duplicate_of: int32 (N,). Row of the first entry with the same id and section;
            -1 for that entry itself; empty if no id repeats.
        ascends: Whether the ids ascend.
    """

    def __init__(self, ids: NDArray[Any], scopes: Ints | None = None) -> None:
        self._dtype = ids.dtype
        self._scopes = np.empty(0, np.int32) if scopes is None else scopes
        self._seed = np.uint64(secrets.randbits(64))
        self._anywhere: Ints | None = None
        self._lock = Lock()
        self.duplicate_of = np.empty(0, np.int32)
        self.ascends = True
        self._words = np.empty(0, np.uint64)
        if len(ids):
            bounds = np.zeros(3, np.uint64)
            self.ascends = _range(ids, bounds) == 0
            if scopes is None and self._enter_words(ids, bounds):
                return
        self._ids = ids
        self._table = self._new_table()
        if self._fill():
            self.duplicate_of = np.full(len(ids), -1, np.int32)
            self._table[:] = -1
            self._fill()

    def _enter_words(self, ids: NDArray[Any], bounds: Ids) -> bool:
        """Enter ids by their bits; return whether that was possible and worth it."""
        low, high, differing = bounds.tolist()
        # The lowest bit in which ids differ, since objects are aligned.
        shift = max((differing & -differing).bit_length() - 1, 0)
        last = (high - low) >> shift
        for most in (_PAGES, max(_PAGES, len(ids) // _IDS_PER_PAGE)):
            page_bits = max(6, last.bit_length() - most.bit_length() + 1)
            pages = np.full((last >> page_bits) + 1, -1, np.int32)
            numbers = np.uint64(low), np.uint64(shift), np.uint64(page_bits)
            count = _number_pages(ids, *numbers, pages)
            count <<= page_bits - 6
            if count <= len(ids) + 1:
                break
        else:
            return False
        words = np.zeros(2 * count, np.uint64)
        self._bounds = np.uint64(low), np.uint64(high), np.uint64(shift)
        self._pages = pages, np.uint64(page_bits)
        placed = np.uint64(low), np.uint64(shift), *self._pages, words
        mixed = _fill_words(ids, *placed)
        if mixed < 0 or mixed * _MOST_MIXED > len(ids):
            return False
        keys, rows = np.empty(mixed, ids.dtype), np.empty(mixed, np.int32)
        if mixed:
            _list_mixed(ids, *placed, keys, rows)
            order = np.argsort(keys)
            keys, rows = keys[order], rows[order]
        self._words, self._mixed, self._mixed_row = words, keys, rows
        return True

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
        """Rows of ``keys``, and which of these are in another section.

        Args:
            keys: (K,), of the ids' dtype.
            scopes: int32 (K,). The section that each key is used in; needed iff
                the table is scoped.
            found: int32 (K,). Filled and returned; a new array if ``None``.

        Returns:
            int32 (K,) rows, `ABSENT` if nothing has the id; and int32 positions in
            ``keys`` of those found only in another section.
        """
        none = np.empty(0, np.int32)
        rows = np.empty(len(keys), np.int32) if found is None else found
        keys = keys.astype(self._dtype, copy=False)
        if len(self._words):
            pages, page_bits = self._pages
            words = self._words, self._mixed, self._mixed_row
            table = *self._bounds, pages, page_bits, *words

            def find(first: int, end: int) -> None:
                _find_words(*table, keys[first:end], rows[first:end])

            in_ranges(find, 0, len(keys), least=_MANY_KEYS)
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
