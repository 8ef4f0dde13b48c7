"""Names of plain objects by the properties that they have: ``{id, name}``.

A definition is made of the properties of an object, in their order, as many as a name
has room for. It counts if enough objects begin with them. An object gets the definition
with the most properties among those whose properties it all has; among equals, the one
with the most objects.

Source: Chrome DevTools, HeapSnapshot.ts, inferInterfaceDefinitions and
applyInterfaceDefinitions.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Ids, Ints, Number
    from ingest.readers.v8.document import Texts
    from ingest.readers.v8.rules import Edges

_LONGEST_NAME = 120
_LEAST_COUNT, _LEAST_SHARE = 2, 1000
_SPECIAL = re.compile("[,'\"{}]")
_PROTO = b"__proto__"


@kernel
def _mixed(value: int) -> Number:
    """A hash of a number, uint64, whose bits all depend on all bits of it."""
    mixed = np.uint64(value + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))


@kernel
def _beginnings(
    rows: Ints, edges: Edges, kind: int, length: Ints, key: Ids, count: Ints
) -> None:
    """Hash, in order, the properties of each object that fit into a name.

    Args:
        rows: int32. Plain objects.
        edges: The edges.
        kind: The type of properties.
        length: int32 (S,). Length of each property as it is written; -1 to leave out.
        key: uint64. Filled with the hash of each object's properties.
        count: int32. Filled with how many properties were hashed.
    """
    for i in range(len(rows)):
        size = 1
        hashed = np.uint64(0)
        many = 0
        for e in range(edges.start[rows[i]], edges.start[rows[i] + 1]):
            if edges.type[e] != kind or length[edges.name[e]] < 0:
                continue
            more = length[edges.name[e]]
            if size > 1 and size + more > _LONGEST_NAME:
                break
            size += more + (2 if size != 1 else 0)
            hashed = hashed * np.uint64(0x100000001B3) + _mixed(edges.name[e])
            many += 1
        key[i] = hashed
        count[i] = many


@kernel
def _known_properties(
    rows: Ints, edges: Edges, kind: int, is_known: Bools, key: Ids
) -> None:
    """Hash, in any order, the properties of each object that any definition has."""
    for i in range(len(rows)):
        hashed = np.uint64(0)
        for e in range(edges.start[rows[i]], edges.start[rows[i] + 1]):
            if edges.type[e] == kind and is_known[edges.name[e]]:
                hashed += _mixed(edges.name[e])
        key[i] = hashed


class _Definition(NamedTuple):
    """An interface: its name, and the rows of the strings of its properties."""

    name: str
    properties: frozenset[int]


def formatted(name: str) -> str:
    """A property as it is written in the name of an interface."""
    if not _SPECIAL.search(name):
        return name
    return json.dumps(name, ensure_ascii=False)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Interfaces:
    """The interfaces of the plain objects of a snapshot.

    Args:
        rows: int32. The plain objects.
        edges: The edges.
        kind: The type of properties; their names are rows of ``strings``.
        strings: The strings.
    """

    def __init__(self, rows: Ints, edges: Edges, kind: int, strings: Texts) -> None:
        self._rows, self._edges, self._kind = rows, edges, kind
        self._strings = strings
        self._written: dict[int, str] = {}

    def names(self) -> tuple[list[str], NDArray[np.int32]]:
        """The names, and int32: the row of each object's name, or -1 for none."""
        definitions = self._definitions()
        if not definitions:
            return [], np.full(len(self._rows), -1, np.int32)
        is_known = np.zeros(len(self._strings), np.bool_)
        for definition in definitions:
            is_known[list(definition.properties)] = True
        key = np.empty(len(self._rows), np.uint64)
        _known_properties(self._rows, self._edges, self._kind, is_known, key)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        by_property: dict[int, list[int]] = {}
        for at, definition in enumerate(definitions):
            by_property.setdefault(min(definition.properties), []).append(at)
        best = np.array(
            [
                _best(self._properties(int(row)), definitions, by_property)
                for row in self._rows[first].tolist()
            ],
            np.int32,
        )
        return [one.name for one in definitions], best[inverse]

    def _properties(self, row: int) -> list[int]:
        begin, end = self._edges.start[row : row + 2].tolist()
        names = self._edges.name[begin:end]
        found: list[int] = names[self._edges.type[begin:end] == self._kind].tolist()
        return found

    def _definitions(self) -> Sequence[_Definition]:
        """The interfaces that count, those of most objects first."""
        rows, edges = self._rows, self._edges
        length = np.full(len(self._strings), -1, np.int32)
        used = np.unique(edges.name[edges.type == self._kind])
        for name in used[used < len(length)].tolist():
            if self._strings.raw(name) != _PROTO:
                self._written[name] = formatted(self._strings.text(name))
                length[name] = _units(self._written[name])
        key, count = np.empty(len(rows), np.uint64), np.empty(len(rows), np.int32)
        _beginnings(rows, edges, self._kind, length, key, count)
        some = np.flatnonzero(count > 0)
        _, first, number = np.unique(key[some], return_index=True, return_counts=True)
        least = max(_LEAST_COUNT, len(rows) / _LEAST_SHARE)
        chosen = np.flatnonzero(number >= least)
        order = np.lexsort((first[chosen], -number[chosen]))
        found = []
        for at in some[first[chosen[order]]].tolist():
            names = [n for n in self._properties(int(rows[at])) if length[n] >= 0]
            names = names[: int(count[at])]
            text = ", ".join(self._written[name] for name in names)
            found.append(_Definition(f"{{{text}}}", frozenset(names)))
        return found


def _best(
    properties: list[int],
    definitions: Sequence[_Definition],
    by_property: dict[int, list[int]],
) -> int:
    """The definition with the most of these properties, or -1."""
    have = set(properties)
    best = -1
    for name in have:
        for at in by_property.get(name, ()):
            size = len(definitions[at].properties)
            if best >= 0:
                known = len(definitions[best].properties)
                if size < known or (size == known and at > best):
                    continue
            if definitions[at].properties <= have:
                best = at
    return best
