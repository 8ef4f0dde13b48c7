"""Lists of named values, one for each class record: fields, static fields, links."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ingest.compiled import Ints, Longs


class DistinctNames:
    """Names, numbered in the order in which they are first used.

    Attributes:
        all: The name of each number.
    """

    def __init__(self) -> None:
        self.all: list[str] = []
        self._number: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of a name."""
        found = self._number.setdefault(name, len(self.all))
        if found == len(self.all):
            self.all.append(name)
        return found


class NamedValues(NamedTuple):
    """Some of the lists, one after the other.

    Attributes:
        sizes: int64. How many values each list has.
        name: int32. Number of the name of each value.
        value: The values.
    """

    sizes: Longs
    name: Ints
    value: NDArray[Any]


class NamedLists:
    """A list of named values for each record.

    Args:
        code: Type code of the values, as of `array`.
        names: Of the values.
    """

    def __init__(self, code: str, names: DistinctNames) -> None:
        self._names = names
        self._end = array("I", [0])
        self._name = array("i")
        self._value: array[int] = array(code)

    def add(self, name: str, value: int) -> None:
        """Add a value to the list of the next record."""
        self._name.append(self._names.number(name))
        self._value.append(value)

    def close(self) -> None:
        """End the list of the next record."""
        self._end.append(len(self._name))

    def of(self, record: int) -> Iterator[tuple[str, int]]:
        """Names and values of a record."""
        begin, end = self._end[record], self._end[record + 1]
        for at in range(begin, end):
            yield self._names.all[self._name[at]], self._value[at]

    def of_all(self, records: Ints) -> NamedValues:
        """The lists of some records."""
        end = np.array(self._end, np.int64)
        begin, count = end[records], end[records + 1] - end[records]
        ahead = np.cumsum(count) - count
        at = np.repeat(begin - ahead, count)
        at += np.arange(len(at))
        name, value = np.array(self._name, np.int32), np.array(self._value)
        return NamedValues(count, name[at], value[at])
