"""Original names of the variables of minified scripts.

A source map names the words of a script, but does not say whose they are: a minifier
gives one short name to variables of many functions. What V8 records of a variable is
the context that it is in, and closures of that context, which are in the function or
block that declares it, or in one within. So the names count that its words have there,
if a function within has them, too: else no context would have the variable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.arrays.compiled import Longs
    from ingest.readers.v8.functions import ScriptFunctions
    from ingest.readers.v8.source_map import SourceMap

_WORD = re.compile(r"[\w$\u200c\u200d]+")
_LEAST_WORDS = 0.9
"""This share of the names of a map has to stand at words of the script."""
_DOT, _COLON, _COMMA, _BRACE = b".:,{"


class Variables:
    """The variables of a script by the functions and blocks that have their words.

    Args:
        functions: Those of the script.
        known: Its map.

    Raises:
        ValueError: the script is not that of the map.
    """

    def __init__(self, functions: ScriptFunctions, known: SourceMap) -> None:
        self._functions = functions
        self._names = known.names
        lines, columns, names = known.named()
        places = functions.places(lines, columns)
        words = [
            found[0] if place >= 0 and (found := _WORD.match(functions.text, place))
            else "" for place in places.tolist()
        ]  # fmt: skip
        sizes = np.array([len(word) for word in words], np.int64)
        if not len(sizes) or np.count_nonzero(sizes) < _LEAST_WORDS * len(sizes):
            raise ValueError("its words are not where the map has names")
        units = np.append(functions.units, [0, 0, 0])
        before, after = units[places - 1], units[places + sizes]
        is_property = (before == _DOT) & (units[places - 2] != _DOT)
        is_property |= (after == _COLON) & ((before == _COMMA) | (before == _BRACE))
        chosen = np.flatnonzero((sizes > 0) & ~is_property)
        self._rows: dict[str, int] = {}
        word = [self._rows.setdefault(words[at], len(self._rows)) for at in chosen]
        pairs = np.array(word, np.int64) << 32 | names[chosen]
        pairs, of = np.unique(pairs, return_inverse=True)
        self._pair_word, self._pair_name = pairs >> 32, pairs & 0xFFFFFFFF
        self._width = len(pairs) + 1
        scopes = functions.scopes(places[chosen])
        self._in_scope = np.unique(scopes * self._width + of)
        in_function = np.unique(functions.function[scopes] * self._width + of)
        self._in_function = in_function
        self._within = self._all_within(in_function)

    def _all_within(self, in_function: Longs) -> Longs:
        """int64, ascending: what `in_function` has, for all functions around those."""
        above, function = self._functions.above, self._functions.function
        found, todo = np.empty(0, np.int64), in_function
        while len(todo):
            outer = above[todo // self._width]
            outer[outer >= 0] = function[outer[outer >= 0]]
            todo = (outer * self._width + todo % self._width)[outer >= 0]
            todo = np.setdiff1d(todo, found)
            found = np.union1d(found, todo)
        return found

    def _of(self, keys: Longs, scope: int, pairs: tuple[int, int]) -> set[str]:
        """Names of a word in a scope that functions within have, too."""
        first, end = (scope * self._width + pair for pair in pairs)
        there = keys[slice(*np.searchsorted(keys, (first, end)))] - scope * self._width
        function = int(self._functions.function[scope])
        wanted = function * self._width + there
        at = np.searchsorted(self._within, wanted)
        at[at == len(self._within)] = 0
        there = there[self._within[at] == wanted] if len(self._within) else there[:0]
        return {self._names[row] for row in self._pair_name[there].tolist()}

    def _around(self, places: Longs) -> list[int]:
        """Scopes that all places are in, the innermost first."""
        common: list[int] = []
        for scope in np.unique(self._functions.scopes(places - 1)).tolist():
            chain = []
            at = scope
            while at >= 0:
                chain.append(at)
                at = int(self._functions.above[at])
            common = [one for one in common if one in set(chain)] if common else chain
        return common

    def names(
        self, lines: Longs, columns: Longs, variables: Iterable[str]
    ) -> dict[str, str]:
        """The original names of variables of a context, where they are known.

        Args:
            lines: Where closures of the context are in the script, from 0.
            columns: Likewise.
            variables: Their names in the script.
        """
        places = self._functions.places(lines, columns)
        places = np.unique(places[places >= 0])
        if not len(places):
            return {}
        around = self._around(places)
        found = {}
        for variable in variables:
            row = self._rows.get(variable)
            if row is None:
                continue
            first, end = np.searchsorted(self._pair_word, (row, row + 1)).tolist()
            if name := self._name(around, (first, end)):
                found[variable] = name
        return found

    def _name(self, around: list[int], pairs: tuple[int, int]) -> str:
        """The one name of a word in the innermost scope that has it; empty for none."""
        hidden: set[str] = set()
        for scope in around:
            names = self._of(self._in_scope, scope, pairs)
            if not names and self._functions.function[scope] == scope:
                # ``var`` in a block that the closures are not in.
                hidden |= self._of(self._in_function, scope, pairs)
            elif names:
                names |= hidden
                return names.pop() if len(names) == 1 else ""
        return hidden.pop() if len(hidden) == 1 else ""
